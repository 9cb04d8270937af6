//! The table of `bristle run --sensitivities`: time, channels, and one column `d(channel)/d(path)` for each pair.

use crate::{Outcome, target};
use anyhow::Result;
use bristle::{Error, Scene, Simulation, csv};
use std::io::{self, Write};
use std::path::Path;

/// Runs the scene with its derivatives and writes the table; the name of the file.
pub fn write(scene: &Scene, paths: &[String], file: &Path, inputs: &[&Path]) -> Result<String> {
    target::check(file, inputs)?;
    let paths: Vec<&str> = paths.iter().map(|path| path.trim()).collect();
    let run = Simulation::sensitivities(scene, &paths)?;
    let mut names = vec!["t".to_owned()];
    names.extend(run.channels.iter().cloned());
    let pairs = paths.iter().flat_map(|path| run.channels.iter().map(move |channel| format!("d({channel})/d({path})")));
    names.extend(pairs);
    target::write(file, |out| {
        csv::write_header(&names, &mut *out)?;
        let (mut row, mut text) = (Vec::new(), Vec::new());
        for (i, &t) in run.t.iter().enumerate() {
            row.clear();
            row.push(t);
            row.extend(run.values.row(i).iter());
            run.derivatives.iter().for_each(|of| row.extend(of.row(i).iter()));
            text.clear();
            csv::push_row(&row, &mut text);
            out.write_all(&text)?;
        }
        Ok(())
    })?;
    Ok(file.display().to_string())
}

/// Whether the input was refused, or the run or the writing of its table failed.
pub fn outcome(error: &anyhow::Error) -> Outcome {
    match error.downcast_ref::<Error>() {
        Some(error) if !error.is_refusal() => Outcome::Failed,
        None if error.root_cause().is::<io::Error>() => Outcome::Failed,
        _ => Outcome::Refused,
    }
}

//! `bristle plot`: results as a picture, curves over time, drawn by [`bristle_report::plot`].

use crate::Outcome;
use crate::target;
use bristle::Scene;
use bristle_report::plot::{Format, Selection, drawn, events};
use bristle_report::results::Results;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Draw results as curves over time.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle plot out.csv
  bristle plot out.csv --channels '*.velocity' --out velocities.png
  bristle plot out.npz --channels 'elbow.*,energy.balance' --from 1 --to 2.5
  bristle plot out.csv --scene scenes/double_pendulum_coulomb.ron
  bristle plot out.csv --list

In a pattern * stands for any characters and ? for one. Channels that measure the same share a panel. Without
--channels: positions, velocities, friction and energies. Units of joint channels are certain only with --scene: a
table does not say which joints turn and which slide.

Exit codes: 0 done, 1 the picture could not be written, 2 the input was refused.")]
pub struct Plot {
    /// Results: a .csv, .npz or .json file
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Channels by name or pattern, separated by commas; may be given again
    #[arg(short, long, value_name = "A,B", value_delimiter = ',')]
    channels: Vec<String>,
    /// Picture to write, .svg or .png; the name of the results with .svg if left out
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The scene the results came from, for units
    #[arg(long, value_name = "SCENE")]
    scene: Option<PathBuf>,
    /// Changes of mode, as `run --events` writes them; without them a .csv file shows stick phases to a row
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Show from this time on, s
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    from: Option<f64>,
    /// Show up to this time, s
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    to: Option<f64>,
    /// Title over the picture; the name of the file if left out
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// List the channels of the results and draw nothing
    #[arg(long)]
    list: bool,
}

impl Plot {
    /// Reads the results, draws them, writes the picture.
    pub fn execute(self) -> Outcome {
        let refuse = |error: anyhow::Error| {
            say!("error: {error:#}");
            Outcome::Refused
        };
        let mut results = match Results::read(&self.result) {
            Ok(results) => results,
            Err(error) => return refuse(error),
        };
        match self.events.as_deref().map(events::read) {
            None => {}
            Some(Ok(events)) => results.events = events,
            Some(Err(error)) => return refuse(error),
        }
        if self.list {
            crate::print(&(results.names.join("\n") + "\n"));
            return Outcome::Done;
        }
        let out = self.out.clone().unwrap_or_else(|| self.result.with_extension("svg"));
        let format = match Format::of(&out) {
            Ok(format) => format,
            Err(error) => return refuse(error),
        };
        let inputs = std::iter::once(&self.result).chain(&self.events).chain(&self.scene);
        if let Err(error) = target::check_inputs(&out, &inputs.map(PathBuf::as_path).collect::<Vec<_>>()) {
            return refuse(error);
        }
        let known = match self.scene.as_ref().map(Scene::load) {
            None => Selection::default(),
            Some(Ok(scene)) => {
                let logs = scene.log_files();
                if let Err(error) = target::check_inputs(&out, &logs.iter().map(PathBuf::as_path).collect::<Vec<_>>()) {
                    return refuse(error);
                }
                Selection::of(&scene)
            }
            Some(Err(error)) => {
                say!("{error}");
                return Outcome::Refused;
            }
        };
        let name = self.result.file_name().map(|name| name.to_string_lossy().into_owned());
        let title = self.title.or(name).unwrap_or_default();
        let selection = Selection { patterns: self.channels, title, from: self.from, to: self.to, ..known };
        match drawn(&results, &selection, format) {
            Err(error) => refuse(error.context(self.result.display().to_string())),
            Ok(picture) => match target::write(&out, |file| Ok(file.write_all(&picture)?)) {
                Ok(()) => {
                    say!("picture in {}", out.display());
                    Outcome::Done
                }
                Err(error) => {
                    say!("error: {error:#}");
                    Outcome::Failed
                }
            },
        }
    }
}

//! Files of a run: their names, and the order in which they get them.
//!
//! Rows grow in a partial file, which is renamed when the run is complete; columns (.npz, .json) are made of rows at
//! the end.

use crate::collect::{Collector, Rows};
use crate::summary::Summary;
use crate::target;
use anyhow::{Context, Result};
use bristle_report::results::{self, Columns, Format, ResultEvent, Table};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a name stands for standard output.
pub(super) fn is_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The file in which rows grow. Columns come of rows, at the end.
pub(super) fn rows_name(out: &Path, format: Format) -> PathBuf {
    target::partial_name(out, if format == Format::Csv { None } else { Some("csv") })
}

/// Ends the file of results: under its name if the run is complete. Returns where the results are.
///
/// Rows are locked until the results have their name, and as many must come out as were recorded.
pub(super) fn write_rows(
    rows: Rows,
    names: &[String],
    collected: &Collector,
    out: Option<&(PathBuf, Format)>,
    is_complete: bool,
) -> Result<Option<PathBuf>> {
    match (rows, out) {
        (Rows::File(stream), Some((path, Format::Csv))) => {
            let partial = stream.path().to_owned();
            let written = match is_complete {
                true => target::complete(stream, collected.n_rows, path).map(|()| path.clone()),
                false => stream.finish().map(|_| partial.clone()).map_err(anyhow::Error::from),
            };
            if written.is_err() {
                say!("the rows that could be written are kept in {}", partial.display());
            }
            written.map(Some)
        }
        (Rows::File(stream), Some((path, format))) => {
            let rows = stream.finish()?;
            let beside = target::partial_name(path, Some("columns"));
            let events = collected.events.iter().map(ResultEvent::from).collect();
            let columns = Columns::of_csv(rows.file(), names, events, beside);
            let columns = columns.with_context(|| format!("cannot make columns of {}", rows.path().display()));
            let written = columns.and_then(|columns| {
                let (n, expected) = (columns.n_rows(), collected.n_rows);
                anyhow::ensure!(n == expected, "{n} rows in {} of {expected} recorded", rows.path().display());
                let write = |file: &mut io::BufWriter<&File>| results::write(&columns, *format, file);
                if is_complete {
                    target::write(path, write).map(|()| path.clone())
                } else {
                    let partial = target::partial_name(path, None);
                    target::write_partial(&partial, write).map(|()| partial)
                }
            });
            // the rows are safe elsewhere, or this is where they are
            match &written {
                Ok(_) => rows.discard(),
                Err(_) => say!("the rows are kept in {}", rows.path().display()),
            }
            written.map(Some)
        }
        (Rows::Output(mut out), _) => match out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
            _ => Ok(None),
        },
        (Rows::File(_) | Rows::None, _) => Ok(None),
    }
}

/// Writes a file, under the name of an incomplete one if the run is not complete, and lists it.
pub(super) fn write_file(path: &Path, content: &[u8], what: &str, summary: &mut Summary) -> Result<()> {
    write_file_by(path, &target::partial_name(path, None), content, what, summary)
}

/// The same with another name for the incomplete file.
pub(super) fn write_file_by(
    path: &Path,
    partial: &Path,
    content: &[u8],
    what: &str,
    summary: &mut Summary,
) -> Result<()> {
    let write = |file: &mut io::BufWriter<&File>| Ok(file.write_all(content)?);
    let path = if summary.completed {
        target::write_by(path, partial, write)?;
        path
    } else {
        target::write_partial(partial, write)?;
        partial
    };
    summary.files.push((what.into(), path.display().to_string()));
    Ok(())
}

/// `scenes/arm.ron` → `arm.results.csv`
pub(super) fn default_name(scene: &Path, ending: &str) -> PathBuf {
    let stem = scene.file_stem().map_or_else(|| "scene".into(), |stem| stem.to_string_lossy());
    format!("{stem}.{ending}").into()
}

//! `bristle plot`: results as a picture, curves over time.
//!
//! ```text
//! Results ─select─▶ panels ─draw─▶ chart ─▶ Picture ─svg─▶ .svg
//!    └──phases─▶ stick phases ─┘              └─raster─▶ pixels ─png─▶ .png
//! ```
//!
//! Charts are drawn by [`bristle_plot`].

mod draw;
mod events;
mod font;
pub mod phases;
mod png;
pub mod quantity;
mod raster;
pub mod select;

pub use select::Selection;

use crate::Outcome;
use crate::results::Results;
use crate::target;
use anyhow::{Context, Result, bail};
use bristle::Scene;
use bristle_plot::{decimate, path, picture, style};
use clap::Args;
use picture::Picture;
use quantity::Motions;
use std::io::Write;
use std::path::{Path, PathBuf};

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
        let (motions, bristles) = match self.scene.as_ref().map(Scene::load) {
            None => (Motions::default(), Vec::new()),
            Some(Ok(scene)) => (Motions::of(&scene), phases::bristles(&scene)),
            Some(Err(error)) => {
                say!("{error}");
                return Outcome::Refused;
            }
        };
        let name = self.result.file_name().map(|name| name.to_string_lossy().into_owned());
        let title = self.title.or(name).unwrap_or_default();
        let selection = Selection { patterns: self.channels, motions, bristles, title, from: self.from, to: self.to };
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

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines, areas and letters, sharp at any size.
    Svg,
    /// Pixels.
    Png,
}

impl Format {
    /// By the extension of a file name.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => bail!("{}: pictures are written as .svg or .png", path.display()),
        }
    }
}

/// A selection of results as the content of a file.
pub fn drawn(results: &Results, selection: &Selection, format: Format) -> Result<Vec<u8>> {
    let picture = picture(results, selection)?;
    match format {
        Format::Svg => Ok(bristle_plot::svg(&picture).into_bytes()),
        Format::Png => png::png(&picture),
    }
}

/// A selection of results as a picture.
fn picture(results: &Results, selection: &Selection) -> Result<Picture> {
    let t = times(results)?;
    let panels = select::panels(results, selection)?;
    if panels.is_empty() {
        bail!("there is no channel besides `t`");
    }
    let (first, last) = (t[0], t[t.len() - 1]);
    let (from, to) = (selection.from.unwrap_or(first), selection.to.unwrap_or(last));
    for (what, value) in [("--from", from), ("--to", to)] {
        if !value.is_finite() {
            bail!("{what} is {value}; it must be a finite time, s");
        }
    }
    if from > last || to < first {
        bail!("there is nothing to show; the results run from {first} s to {last} s");
    }
    if from > to {
        bail!("the time shown would end at {to} s, before it begins at {from} s");
    }
    // one instant has no extent
    let window = if from < to { (from, to) } else { (from - 0.5, to + 0.5) };
    let mut phases = phases::phases(results, t);
    phases.extend(phases::slow(results, t, &selection.bristles));
    let data = draw::Data { t, columns: &results.columns, phases: &phases, window };
    Ok(draw::draw(&selection.title, &panels, &data))
}

/// The times of the rows: there, finite, not backwards.
pub fn times(results: &Results) -> Result<&[f64]> {
    let t = results.channel("t").context("there is no channel `t`; this is not a table of results")?;
    if t.is_empty() {
        bail!("the results have no rows");
    }
    if let Some(bad) = t.iter().find(|t| !decimate::is_drawable(**t)) {
        bail!("a time is {bad}");
    }
    if let Some(pair) = t.windows(2).find(|pair| pair[1] < pair[0]) {
        bail!("time runs backwards from {} s to {} s", pair[0], pair[1]);
    }
    Ok(t)
}

#[cfg(test)]
mod tests;

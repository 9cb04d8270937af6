//! `bristle plot`: results as a picture, curves over time.
//!
//! ```text
//! Results ─select─▶ panels ─decimate─▶ rows to draw ─draw─▶ SVG
//!    └──phases─▶ when joints were stuck ──────────────┘
//! ```

pub mod decimate;
mod draw;
mod events;
pub mod palette;
pub mod phases;
pub mod quantity;
pub mod select;
pub mod ticks;

pub use draw::{escape, style as picture_style, tenth};
pub use select::Selection;

use crate::Outcome;
use crate::results::Results;
use crate::target;
use anyhow::{Context, Result, bail};
use bristle::Scene;
use clap::Args;
use quantity::Motions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Draw results as curves over time.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle plot out.csv
  bristle plot out.csv --channels '*.velocity' --out velocities.svg
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
    /// Picture to write, .svg; the name of the results with this extension if left out
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
        if let Err(error) = check_picture_name(&out) {
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
        match svg(&results, &selection) {
            Err(error) => refuse(error.context(self.result.display().to_string())),
            Ok(picture) => match target::write(&out, |file| Ok(file.write_all(picture.as_bytes())?)) {
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

/// A selection of results as SVG.
pub fn svg(results: &Results, selection: &Selection) -> Result<String> {
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

/// Refuses names of pictures that are not SVG.
pub fn check_picture_name(path: &Path) -> Result<()> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("svg") => Ok(()),
        Some("png") => {
            let svg = path.with_extension("svg");
            bail!(
                "{}: pictures are written as .svg, not .png; browsers, LaTeX and office programs take them as they are; for a .png name {} and \
                 convert it, `rsvg-convert -z 2 {1} -o {0}`",
                path.display(),
                svg.display()
            )
        }
        _ => bail!("{}: pictures are written as .svg", path.display()),
    }
}

#[cfg(test)]
mod tests;

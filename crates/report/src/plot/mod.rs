//! Results as a picture, curves over time.
//!
//! ```text
//! Results ─select─▶ panels ─draw─▶ chart ─▶ Picture ─svg─▶ .svg
//!    └──phases─▶ stick phases ─┘              └─raster─▶ pixels ─png─▶ .png
//! ```
//!
//! Charts are drawn by [`bristle_plot`].

mod draw;
pub mod events;
mod font;
pub mod phases;
mod png;
pub mod quantity;
mod raster;
pub mod select;

pub use select::Selection;

use crate::results::Results;
use anyhow::{Context, Result, bail};
use bristle_plot::{decimate, path, picture, style};
use picture::Picture;
use std::path::Path;

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
    let contacts = phases::contacts(results, t);
    let data = draw::Data { t, columns: &results.columns, phases: &phases, contacts: &contacts, window };
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

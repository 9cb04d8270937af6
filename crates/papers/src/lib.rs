//! Published experiments repeated, each number beside the printed one, and measurements of the engine: the library of
//! `bristle reproduce` and `bristle bench`.
//!
//! ```text
//! scenes/papers ─Experiment─▶ Found ─series, chart─▶ Document ─▶ report.md, figures, data, results.json
//!                                                                            ─▶ scoreboard.md, index.html
//! ```
//!
//! [`report`] makes the report on a paper, [`write_report`], [`write_scoreboard`] and [`write_index`] write it into a
//! folder. Measurements of the engine are in [`mod@bench`].

mod aberger2002;
mod acho2004;
pub mod bench;
mod do2007;
mod document;
mod dymore;
mod experiment;
mod index;
mod lee1997;
mod random;
mod scoreboard;
mod series;
#[cfg(test)]
mod tests;

pub use document::Document;

use anyhow::{Context, Result};
use scoreboard::{Origin, Scoreboard};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A paper whose experiments are run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paper {
    /// Do, Ferri, Bauchau 2007.
    Do2007,
    /// Lee, Hesterman, Jones 1997.
    Lee1997,
    /// Aberger, Otter 2002.
    Aberger2002,
    /// Acho, Moreno, Guerra 2004.
    Acho2004,
    /// The Dymore manual.
    Dymore,
}

impl Paper {
    /// All of them, in the order of the index.
    pub const ALL: [Self; 5] = [Self::Do2007, Self::Lee1997, Self::Aberger2002, Self::Acho2004, Self::Dymore];

    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Do2007 => "do2007",
            Self::Lee1997 => "lee1997",
            Self::Aberger2002 => "aberger2002",
            Self::Acho2004 => "acho2004",
            Self::Dymore => "dymore",
        }
    }
}

/// The extent of the experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Everything, as finely as the papers.
    Full,
    /// The part that the tests use.
    Short,
}

/// Reports the present experiment to the caller.
pub struct Progress<'a>(pub &'a dyn Fn(&str));

impl Progress<'_> {
    fn say(&self, text: &str) {
        (self.0)(text);
    }
}

/// Runs the experiments of a paper.
pub fn report(paper: Paper, effort: Effort, progress: &Progress) -> Result<Document, bristle::Error> {
    let report = match paper {
        Paper::Do2007 => do2007::report,
        Paper::Lee1997 => lee1997::report,
        Paper::Aberger2002 => aberger2002::report,
        Paper::Acho2004 => acho2004::report,
        Paper::Dymore => dymore::report,
    };
    let mut document = report(effort, progress)?;
    if effort == Effort::Short {
        document.mark_shortened();
    }
    Ok(document)
}

/// Writes the folder of a paper into `out`; returns the path of the report.
pub fn write_report(document: &Document, out: &Path) -> Result<PathBuf> {
    let folder = out.join(document.name);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join("report.md");
    write_file(&path, &document.markdown())?;
    for (name, svg) in document.figures() {
        write_file(&folder.join(name), svg)?;
    }
    for data in &document.data {
        write_file(&folder.join(&data.name), &data.text)?;
    }
    let Document { name, title, is_shortened, quantities, claims, .. } = document;
    let json = serde_json::json!({
        "paper": name,
        "title": title,
        "shortened": is_shortened,
        "origin": Origin::here(),
        "claims": claims,
        "quantities": quantities,
    });
    write_file(&folder.join("results.json"), &(serde_json::to_string_pretty(&json)? + "\n"))?;
    Ok(path)
}

/// Writes the scoreboard of all papers in `out`; returns its path.
pub fn write_scoreboard(out: &Path) -> Result<PathBuf> {
    let path = out.join("scoreboard.md");
    write_file(&path, &Scoreboard::read(out, Paper::ALL.into_iter().map(Paper::name)).markdown())?;
    Ok(path)
}

/// Writes one page with all reports into `out`; returns its path.
pub fn write_index(documents: &[Document], out: &Path) -> Result<PathBuf> {
    let path = out.join("index.html");
    write_file(&path, &index::page(out, documents))?;
    Ok(path)
}

/// Writes a file by way of `NAME.partial.EXT`, so that it is complete under its own name.
fn write_file(path: &Path, text: &str) -> Result<()> {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let partial = path.with_file_name(format!("{}.partial.{}", part(path.file_stem()), part(path.extension())));
    bristle::atomic_file::write(path, &partial, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

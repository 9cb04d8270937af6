//! `bristle reproduce`: the published experiments the engine answers, run again, each number beside the printed one.
//!
//! ```text
//! scenes/papers ─Experiment─▶ Found ─series, chart─▶ Document ─▶ report.md, figures, data, results.json ─▶ index.html
//! ```

mod aberger2002;
mod acho2004;
mod chart;
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

use crate::{Outcome, target};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use document::Document;
use scoreboard::{Origin, Scoreboard};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run the experiments of a paper again.
#[derive(Args)]
#[command(after_help = "\
Writes a folder for each paper: report.md with every table and figure, the figures as SVG, tables and curves as CSV, and
results.json with every claim and its verdict, and each number beside the printed one. scoreboard.md is made from the
results.json of all papers in the folder. `all` adds index.html, one page that shows everything and needs nothing else.

Examples:
  bristle reproduce all
  bristle reproduce do2007 --out /tmp/papers

Exit codes: 0 done, 1 an experiment failed or a file could not be written, 2 the input was refused.")]
pub struct Reproduce {
    /// Which paper
    #[arg(value_name = "PAPER")]
    which: Which,
    /// Folder to write into
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    out: PathBuf,
    /// Shorter experiments, for a first look: some figures are coarser, and the reports say so
    #[arg(long)]
    quick: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// A paper, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Do, Ferri, Bauchau 2007: LuGre slider, explicit and implicit methods, step rules
    Do2007,
    /// Lee, Hesterman, Jones 1997: pendulums with load-dependent pin friction
    Lee1997,
    /// Aberger, Otter 2002: LuGre bearing, clutches and one-way clutch, and a gearbox
    Aberger2002,
    /// Acho, Moreno, Guerra 2004: second-order LuGre, five experiments and two bounds
    Acho2004,
    /// Dymore manual: regularised Coulomb, LuGre, and two rules for the step against error control
    Dymore,
    /// All of them, and a page that shows everything
    All,
}

/// How much trouble to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Everything, as finely as the papers.
    Full,
    /// What the tests look at.
    Short,
}

/// Makes the report on a paper.
type Reporter = fn(Effort, &Progress) -> Result<Document, bristle::Error>;

/// The papers, in the order of the index.
const PAPERS: [(Which, Reporter); 5] = [
    (Which::Do2007, do2007::report),
    (Which::Lee1997, lee1997::report),
    (Which::Aberger2002, aberger2002::report),
    (Which::Acho2004, acho2004::report),
    (Which::Dymore, dymore::report),
];

/// Their folders.
const NAMES: [&str; 5] = ["do2007", "lee1997", "aberger2002", "acho2004", "dymore"];

impl Reproduce {
    /// Runs and writes.
    pub fn execute(self) -> Outcome {
        let effort = if self.quick { Effort::Short } else { Effort::Full };
        let progress = Progress { is_shown: !self.quiet && io::stderr().is_terminal() };
        let mut documents = Vec::new();
        for (_, report) in PAPERS.iter().filter(|(which, _)| self.which == Which::All || *which == self.which) {
            let start = Instant::now();
            let written = report(effort, &progress).map_err(anyhow::Error::from).and_then(|mut document| {
                if effort == Effort::Short {
                    document.mark_shortened();
                }
                let folder = self.out.join(document.name);
                write_document(&document, &folder)?;
                progress.clear();
                if !self.quiet {
                    let seconds = start.elapsed().as_secs_f64();
                    say!("{}: {} in {seconds:.1} s", document.name, folder.join("report.md").display());
                }
                documents.push(document);
                Ok(())
            });
            if let Err(error) = written {
                progress.clear();
                say!("error: {}", crate::run::told(&error));
                return Outcome::Failed;
            }
        }
        if let Err(error) = self.write_scoreboard() {
            say!("error: {error:#}");
            return Outcome::Failed;
        }
        if self.which == Which::All {
            let path = self.out.join("index.html");
            if let Err(error) = write_file(&path, &index::page(&self.out, &documents)) {
                say!("error: {error:#}");
                return Outcome::Failed;
            }
            if !self.quiet {
                say!("everything on one page: {}", path.display());
            }
        }
        Outcome::Done
    }

    /// The scoreboard of everything that lies in the folder.
    fn write_scoreboard(&self) -> Result<()> {
        let board = Scoreboard::read(&self.out, NAMES.into_iter())?;
        let path = self.out.join("scoreboard.md");
        write_file(&path, &board.markdown())?;
        if !self.quiet {
            say!("scoreboard: {}", path.display());
        }
        Ok(())
    }
}

/// The folder of a paper.
fn write_document(document: &Document, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    write_file(&folder.join("report.md"), &document.markdown())?;
    for (name, svg) in document.figures() {
        write_file(&folder.join(name), svg)?;
    }
    for data in &document.data {
        write_file(&folder.join(&data.name), &data.text)?;
    }
    let Document { name, title, is_shortened, quantities, claims, .. } = document;
    let origin = Origin::here();
    let json = serde_json::json!({
        "paper": name, "title": title, "shortened": is_shortened, "origin": origin, "claims": claims, "quantities": quantities,
    });
    write_file(&folder.join("results.json"), &(serde_json::to_string_pretty(&json)? + "\n"))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    target::write(path, |file| Ok(file.write_all(text.as_bytes())?))
}

/// What is being done, on one line of a terminal; nothing elsewhere.
pub struct Progress {
    is_shown: bool,
}

impl Progress {
    /// Says what is being done.
    pub fn say(&self, what: &str) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r{what}\x1b[K");
        }
    }

    fn clear(&self) {
        self.say("");
    }
}

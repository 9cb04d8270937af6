//! `bristle reproduce`: the published experiments the engine answers, run again; the work is in [`bristle_papers`].

use crate::Outcome;
use anyhow::Result;
use bristle_papers::{Effort, Paper, Progress, report, write_index, write_report, write_scoreboard};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
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

impl Which {
    fn papers(self) -> Vec<Paper> {
        match self {
            Self::Do2007 => vec![Paper::Do2007],
            Self::Lee1997 => vec![Paper::Lee1997],
            Self::Aberger2002 => vec![Paper::Aberger2002],
            Self::Acho2004 => vec![Paper::Acho2004],
            Self::Dymore => vec![Paper::Dymore],
            Self::All => Paper::ALL.to_vec(),
        }
    }
}

impl Reproduce {
    /// Runs and writes.
    pub fn execute(self) -> Outcome {
        match self.run() {
            Ok(()) => Outcome::Done,
            Err(error) => {
                show("");
                say!("error: {}", crate::error_text::with_causes(&error));
                Outcome::Failed
            }
        }
    }

    fn run(&self) -> Result<()> {
        let effort = if self.quick { Effort::Short } else { Effort::Full };
        let progress = |text: &str| {
            if !self.quiet {
                show(text);
            }
        };
        let mut documents = Vec::new();
        for paper in self.which.papers() {
            let start = Instant::now();
            let document = report(paper, effort, &Progress(&progress))?;
            let path = write_report(&document, &self.out)?;
            progress("");
            if !self.quiet {
                say!("{}: {} in {:.1} s", paper.name(), path.display(), start.elapsed().as_secs_f64());
            }
            documents.push(document);
        }
        let path = write_scoreboard(&self.out)?;
        if !self.quiet {
            say!("scoreboard: {}", path.display());
        }
        if self.which == Which::All {
            let path = write_index(&documents, &self.out)?;
            if !self.quiet {
                say!("everything on one page: {}", path.display());
            }
        }
        Ok(())
    }
}

/// A text on one line of a terminal, over the one before; nothing elsewhere.
pub fn show(text: &str) {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr().lock(), "\r{text}\x1b[K");
    }
}

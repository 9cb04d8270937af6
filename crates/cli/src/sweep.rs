//! `bristle sweep`: one scene, many values; a table with one row per point of the grid.
//!
//! Points are numbered with the last range running fastest. Every row has every column: number of the point, values of
//! the ranges, every channel at the end of the run, and `error`, which is empty where the run came to its end; where it
//! did not, or where the scene with these values was refused, `error` says why and the channels are empty. So is a
//! channel that the machine does not have with these values, such as the heat of a joint whose damping is 0. A killed
//! sweep keeps its finished points (see [`table`]): started again it repeats only the unfinished ones.

mod grid;
mod table;
mod work;

use crate::Outcome;
use crate::interrupt::Interrupt;
use crate::progress::clock;
use crate::settings::Settings;
use crate::target;
use bristle::batch::MAX_THREADS;
use bristle::urdf::Import;
use bristle::{Error, Simulation};
use bristle_plot::format::count;
use bristle_report::sweep::{in_a_line, last_row, merge};
use clap::Args;
pub use grid::Range;
use grid::{Grid, Points};
use std::path::{Path, PathBuf};
use std::time::Instant;
use table::{Contents, Table};
use work::{Progress, fill};

/// Points looked at, at most, for one that can be run.
const MAX_TRIED: usize = 1000;

#[derive(Args)]
#[command(after_help = "\
Each --set PATH=FROM:TO:N is a range of N values, both ends included; PATH=VALUE holds one value. Values between the
ends are short decimals where the range has such: 0.1:0.3:5 has 0.15, not 0.15000000000000002.
A row has the number of its point, the values of the ranges, every channel at the end of the run, and `error`, the
reason why a point failed. Rows are in order; those completed early wait in NAME.ahead.csv beside the table, and a
file of that name that the sweep has not made itself is refused.

Examples:
  bristle sweep scenes/double_pendulum_coulomb.ron --set joints.elbow.friction.coulomb=0.1:0.3:5 --out sweep.csv
  bristle sweep scenes/arm_3dof.ron --set joints.yaw.damping=0:1:10 --shard 2/8 --out part2.csv

Exit codes: 0 done, 1 a point failed (its row says why), 2 the input was refused. An interrupted sweep continues when it
is started again.")]
pub struct Sweep {
    /// A scene (RON) or robot (URDF)
    scene: PathBuf,
    /// The table (CSV); its existing rows are kept, and missing ones added
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Threads; as many as there are cores by default
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Only every n-th point, beginning with the i-th: parts of one sweep on several machines
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    /// No summary, no warnings, no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    settings: Settings,
}

/// `i/n` with 1 ≤ i ≤ n.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i, n)),
        _ => Err("write it as i/n with i from 1 to n, such as 2/8".into()),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=MAX_THREADS).contains(&n) => Ok(n),
        _ => Err(format!("give a whole number from 1 to {MAX_THREADS}; this machine has {} cores", cores())),
    }
}

/// Why a sweep ended early.
enum End {
    /// No point of the grid has a machine: a whole message, with its place in the scene.
    Scene(String),
    Refused(String),
    Failed(String),
}

impl Sweep {
    pub fn execute(self) -> Outcome {
        let end = match self.run() {
            Ok(outcome) => return outcome,
            Err(end) => end,
        };
        let (message, outcome) = match end {
            End::Scene(message) if bristle::memory::has_run_out() => (message, Outcome::Failed),
            End::Scene(message) => (message, Outcome::Refused),
            End::Refused(reason) => (format!("error: {reason}"), Outcome::Refused),
            End::Failed(reason) => (format!("error: {reason}"), Outcome::Failed),
        };
        say!("{message}");
        outcome
    }

    fn run(mut self) -> Result<Outcome, End> {
        let start = Instant::now();
        let ranges = self.settings.take_ranges().map_err(End::Refused)?;
        let grid = Grid::new(ranges).map_err(End::Refused)?;
        let points = Points::new(grid.len(), self.shard.unwrap_or((1, 1)));
        let inputs: Vec<_> = std::iter::once(self.scene.as_path()).chain(self.settings.friction_file()).collect();
        target::check(&self.out, &inputs).map_err(|error| End::Refused(format!("{error:#}")))?;
        let names = self.channels(&grid).map_err(End::Scene)?;
        let path = self.out.display();

        // what is there already
        let header = header(&grid, &names);
        let row = |i: usize| self.row(&grid, &names, points.point(i));
        let contents =
            Contents { header: &header, points, start: &|i| row_start(&grid, points.point(i)), row: &|i| row(i) };
        let mut table =
            Table::open(&self.out, &contents).map_err(|reason| End::Refused(format!("{path}: {reason}")))?;
        let n_found = table.n_done();
        if n_found > 0 && !self.quiet {
            say!("{path}: {n_found} of {} points are there already", points.len());
        }

        let mut progress = Progress::new(points.len(), n_found, self.quiet);
        let interrupt = Interrupt::listen().map_err(|error| End::Failed(format!("{error:#}")))?;
        let threads = self.threads.unwrap_or_else(cores).min(points.len() - n_found);
        let filled = fill(&mut table, points.len(), threads, &row, &mut progress, &interrupt);
        progress.clear();
        filled.and_then(|()| table.finish()).map_err(|error| End::Failed(format!("{path}: {error}")))?;

        let n_failed = table.n_failed();
        if !self.quiet {
            let failed = if n_failed == 0 { "none failed".to_owned() } else { format!("{n_failed} failed") };
            say!("{path}: {}, {failed}, {}", count(points.len(), "point"), clock(start.elapsed().as_secs_f64()));
        }
        if n_failed == 0 {
            return Ok(Outcome::Done);
        }
        say!("error: {n_failed} of {} failed: the column `error` of {path} says why", count(points.len(), "point"));
        Ok(Outcome::Failed)
    }

    /// Names of the channels. Some are there only with some values, such as heat with damping above 0: all that the
    /// first, the last and the middle point have between them, or else those of any point that can be run. Where none
    /// can, for one and the same reason, or where the scene itself cannot, there is nothing to sweep.
    fn channels(&self, grid: &Grid) -> Result<Vec<String>, String> {
        let last = grid.len() - 1;
        let tried = grid.len().min(MAX_TRIED);
        let evenly = (0..tried).map(|j| j * last / (tried - 1).max(1));
        let (mut names, mut reasons): (Vec<String>, Vec<Error>) = (Vec::new(), Vec::new());
        for (j, k) in [0, last, grid.middle()].into_iter().chain(evenly).enumerate() {
            if j >= 3 && !names.is_empty() {
                break;
            }
            match self.simulation(grid, k) {
                Ok((import, sim)) => {
                    if names.is_empty() {
                        self.say(&import);
                    }
                    let logs = import.scene.log_files();
                    let logs: Vec<&Path> = logs.iter().map(PathBuf::as_path).collect();
                    target::check_inputs(&self.out, &logs).map_err(|error| format!("error: {error:#}"))?;
                    merge(&mut names, sim.recording().names());
                }
                Err(error) => reasons.push(error),
            }
        }
        if !names.is_empty() {
            return Ok(names);
        }
        let same = |a: &Error, b: &Error| without_numbers(&in_a_line(a)) == without_numbers(&in_a_line(b));
        let Some(first) = reasons.first() else { return Err("error: the grid has no points".into()) };
        if reasons.iter().all(|reason| same(reason, first)) {
            let all = if grid.len() > 1 { "\nthe other points are refused for the same reason" } else { "" };
            return Err(crate::error_text::message(first, &self.scene) + all);
        }
        // each point has its own reason: the table says so, with the channels of the scene as it is
        let alone = self.settings.import(&self.scene).map_err(Error::from);
        let alone = alone.and_then(|import| Ok((self.settings.simulation(&import.scene)?, import)));
        let (sim, import) = alone.map_err(|error| crate::error_text::message(&error, &self.scene))?;
        self.say(&import);
        Ok(sim.recording().names().to_vec())
    }

    /// Prints the notes on a robot and the warnings of the scene.
    fn say(&self, import: &Import) {
        if !self.quiet {
            import.notes.iter().for_each(|note| say!("{note}"));
            import.scene.warnings().iter().for_each(|warning| say!("{warning}\n"));
        }
    }

    /// Scene and machine at point `k`.
    fn simulation(&self, grid: &Grid, k: usize) -> bristle::Result<(Import, Simulation)> {
        let mut settings = self.settings.clone();
        for (range, value) in grid.ranges.iter().zip(grid.values(k)) {
            settings.put(&range.path, format!("{value:?}"));
        }
        let import = settings.import(&self.scene)?;
        let sim = settings.simulation(&import.scene)?;
        Ok((import, sim))
    }

    /// The row of point `k`.
    fn row(&self, grid: &Grid, names: &[String], k: usize) -> String {
        let mut row = row_start(grid, k);
        match self.finish(grid, names, k) {
            Ok(values) => {
                for value in values {
                    value.iter().for_each(|value| row.push_str(&format!("{value:?}")));
                    row.push(',');
                }
                row.push('\n');
            }
            Err(reason) => {
                row.push_str(&",".repeat(names.len()));
                row.push_str(&line_of(&[reason]));
            }
        }
        row
    }

    /// Every channel at the end of the run; nothing for those that the machine does not have with these values.
    fn finish(&self, grid: &Grid, names: &[String], k: usize) -> Result<Vec<Option<f64>>, String> {
        let (import, mut sim) = self.simulation(grid, k).map_err(|error| in_a_line(&error))?;
        last_row(&mut sim, import.scene.duration, names)
    }
}

/// The line of names.
fn header(grid: &Grid, names: &[String]) -> String {
    let paths = grid.ranges.iter().map(|range| range.path.clone());
    let all = std::iter::once("point".to_owned()).chain(paths).chain(names.iter().cloned()).chain(["error".to_owned()]);
    line_of(&all.collect::<Vec<_>>())
}

/// A line of words, in quotes where they must be.
fn line_of(words: &[String]) -> String {
    let mut line = Vec::new();
    // memory takes everything
    let _ = bristle::csv::write_header(words, &mut line);
    String::from_utf8_lossy(&line).into_owned()
}

/// Number and values of point `k`.
fn row_start(grid: &Grid, k: usize) -> String {
    let values: String = grid.values(k).iter().map(|value| format!("{value:?},")).collect();
    format!("{k},{values}")
}

/// A reason but for its numbers.
fn without_numbers(reason: &str) -> String {
    reason.split(|c: char| c.is_ascii_digit()).map(|part| part.trim_end_matches(['.', '-', 'e'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_the_same_but_for_their_numbers() {
        assert_eq!(without_numbers("`a` is -1.5e-7, less than 0"), without_numbers("`a` is 2.0, less than 0"));
        assert_ne!(without_numbers("`a` is 1"), without_numbers("`b` is 1"));
    }
}

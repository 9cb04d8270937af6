//! Results on their way out of a run: into a file as they come, into memory where something needs all of them, and what
//! the summary says of them.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::limits::Limits;
use crate::progress::Progress;
use bristle::csv;
use bristle::memory;
use bristle::stream::CsvStream;
use bristle::{Error, Event, Record, Recording};
use bristle_report::results::MAX_KEPT;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Where rows go as they come.
pub enum Rows {
    /// Nowhere.
    None,
    /// Into a file that gets its name at the end.
    File(CsvStream),
    /// To standard output.
    Output(io::BufWriter<io::StdoutLock<'static>>),
}

/// Takes rows and events from a run.
pub struct Collector {
    rows: Rows,
    /// All of them, where something needs them together and they are not too many.
    kept: Option<Recording>,
    /// Why they are not, if there was no memory for them.
    pub shortage: Option<String>,
    /// Changes of mode.
    pub events: Vec<Event>,
    /// The last row.
    pub last: Vec<f64>,
    /// Number of rows.
    pub n_rows: usize,
    /// Largest |energy.balance| of any row, J.
    pub worst_balance: f64,
    /// Energies that were turned over.
    pub turnover: Turnover,
    progress: Progress,
    /// Causes that end the run early.
    pub limits: Limits,
    /// Scratch: a row as text.
    line: Vec<u8>,
}

impl Collector {
    /// Writes the names of the channels and waits for rows.
    pub fn new(
        names: &[String],
        mut rows: Rows,
        is_kept: bool,
        progress: Progress,
        limits: Limits,
    ) -> io::Result<Self> {
        if let Rows::Output(out) = &mut rows {
            csv::write_header(names, out)?;
        }
        Ok(Self {
            rows,
            kept: is_kept.then(|| Recording::new(names.to_vec())),
            shortage: None,
            events: Vec::new(),
            last: Vec::new(),
            n_rows: 0,
            worst_balance: 0.0,
            turnover: Turnover::of(names),
            progress,
            limits,
            line: Vec::new(),
        })
    }

    /// Gives up what is kept where there is no memory for it: rows that go to a file or to standard output go on.
    fn keep(&mut self, kept: Result<(), Error>) -> Result<(), Error> {
        match kept {
            Err(shortage @ Error::Memory { .. }) if !matches!(self.rows, Rows::None) => {
                self.kept = None;
                self.shortage = Some(shortage.to_string());
                Ok(())
            }
            kept => kept,
        }
    }

    /// The run is over: where its rows went, and all of them if they were kept.
    pub fn finish(&mut self) -> (Rows, Option<Recording>) {
        self.progress.clear();
        (std::mem::replace(&mut self.rows, Rows::None), self.kept.take())
    }
}

/// Scale of an error of the energy balance: the largest energies of any row, J.
#[derive(Default)]
pub struct Turnover {
    /// Change of the stored energy since the start, work put in, and heat.
    pub moved: f64,
    /// Energy in play: what was put in and dissipated, the energy of motion, of springs and of bristles, and by how
    /// much that of height has
    /// changed, whose zero means nothing. A pendulum exchanges what it does not lose; a body in flight has its energy
    /// though it exchanges none.
    pub in_play: f64,
    /// Energy of any kind, by which the others are rounded.
    pub largest: f64,
    /// Columns of what is stored, of which those of height come last, and of the rest.
    stored: Vec<usize>,
    n_motion: usize,
    others: Vec<usize>,
    /// The first row.
    first: Vec<f64>,
}

impl Turnover {
    fn of(names: &[String]) -> Self {
        let columns = |kinds: &[&str]| {
            let is_one = |name: &str| name.strip_prefix("energy.").is_some_and(|kind| kinds.contains(&kind));
            names.iter().enumerate().filter(|(_, name)| is_one(name)).map(|(k, _)| k).collect()
        };
        let mut stored: Vec<usize> = columns(&["kinetic", "elastic", "bristle"]);
        let n_motion = stored.len();
        stored.append(&mut columns(&["potential"]));
        Self { stored, n_motion, others: columns(&["load", "input", "dissipated"]), ..Self::default() }
    }

    fn row(&mut self, row: &[f64]) {
        if self.first.is_empty() {
            self.first.extend_from_slice(row);
        }
        let change = |k: &usize| row[*k] - self.first[*k];
        let others: f64 = self.others.iter().map(|k| change(k).abs()).sum();
        let moved = self.stored.iter().map(change).sum::<f64>().abs() + others;
        let (motion, height) = self.stored.split_at(self.n_motion);
        let motion: f64 = motion.iter().map(|k| row[*k].abs()).sum();
        let in_play = motion + height.iter().map(|k| change(k).abs()).sum::<f64>() + others;
        let largest = self.stored.iter().chain(&self.others).map(|k| row[*k].abs()).fold(0.0, f64::max);
        self.moved = self.moved.max(moved);
        self.in_play = self.in_play.max(in_play);
        self.largest = self.largest.max(largest);
    }
}

impl Record for Collector {
    fn row(&mut self, row: &[f64]) -> Result<(), Error> {
        match &mut self.rows {
            Rows::None => {}
            Rows::File(stream) => stream.row(row)?,
            Rows::Output(out) => {
                self.line.clear();
                csv::push_row(row, &mut self.line);
                let written = out.write_all(&self.line);
                written.map_err(|source| Error::Io { path: PathBuf::from("standard output"), source })?;
            }
        }
        // rows at every step are not counted beforehand
        if self.n_rows.saturating_add(1).saturating_mul(row.len()) > MAX_KEPT {
            self.kept = None;
        }
        let kept = self.kept.as_mut().map_or(Ok(()), |kept| kept.row(row));
        self.keep(kept)?;
        self.last.clear();
        self.last.extend_from_slice(row);
        self.n_rows = self.n_rows.saturating_add(1);
        // the last channel is the balance
        self.worst_balance = row.last().map_or(0.0, |balance| balance.abs()).max(self.worst_balance);
        self.turnover.row(row);
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), Error> {
        let kept = self.kept.as_mut().map_or(Ok(()), |kept| kept.event(event.clone()));
        self.keep(kept)?;
        if memory::grow("the changes of mode", &mut self.events, 1).is_err() {
            // the run ends at this step, with its rows
            memory::note_shortage();
            return Ok(());
        }
        self.events.push(event);
        Ok(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        // what was gathered so far is safe from a sudden end
        if self.progress.at(t, self.events.len())
            && let Rows::File(stream) = &mut self.rows
        {
            // a failure shows with the next row
            let _ = stream.flush();
        }
        self.limits.count_step();
        if self.limits.is_met() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn is_stopped(&self) -> bool {
        self.limits.is_met()
    }
}

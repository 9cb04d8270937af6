//! Results: a table of named channels over time.
//!
//! The first channel is `t`; then per joint `NAME.position`, `NAME.velocity`, `NAME.acceleration` and its further
//! channels; then the energies. Joints are in model order. Written as text, every number reads back as the same `f64`.

use crate::atomic_file::write_whole;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::StopChange;
use crate::record::csv;
use bristle_friction::Mode;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// Largest number of values in a recording: 8 GB of memory.
pub(crate) const MAX_NUMBERS: usize = 1_000_000_000;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum EventKind {
    /// A change of mode: the joint sticks, breaks away or reverses.
    #[default]
    Mode,
    /// The joint hits a stop, or its bounces end in contact.
    Stop,
    /// The joint leaves a stop on which it rested.
    Open,
}

impl EventKind {
    /// Of a change at a stop.
    pub(crate) fn of_stop(change: &StopChange) -> Self {
        if change.is_release { Self::Open } else { Self::Stop }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Stop => "stop",
            Self::Open => "open",
        }
    }
}

/// An event of a joint: a change of mode, an impact on a stop, or the release from one.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Time, s.
    pub t: f64,
    /// Name of the joint.
    pub joint: String,
    /// Mode before; of a stop, the direction of motion.
    pub from: Mode,
    /// Mode after.
    pub to: Mode,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Receives the results of a run row by row; see [`Simulation::run_with`](crate::Simulation::run_with).
///
/// An error ends the run, which returns it.
pub trait Record {
    /// A row: one value per channel, time first.
    fn row(&mut self, row: &[f64]) -> Result<()>;

    /// A change of mode.
    fn event(&mut self, event: Event) -> Result<()>;

    /// Time after every step of the integration; `Break` ends the run there.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Whether the run is to end. This is also called between the rows of one step and between attempts at it, either
    /// of which may take long. The remaining rows of that step are not recorded.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Record for Recording {
    fn row(&mut self, row: &[f64]) -> Result<()> {
        debug_assert_eq!(row.len(), self.names.len());
        if self.values.len() > MAX_NUMBERS {
            let range = "at most 1e9: write rows as they come, or fewer of them";
            return Err(Error::number("recording", "number of values", self.values.len() as f64, range));
        }
        memory::grow("a recording", &mut self.values, row.len())?;
        self.values.extend_from_slice(row);
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<()> {
        memory::grow("the events of a recording", &mut self.events, 1)?;
        self.events.push(event);
        Ok(())
    }
}

/// A table of channels, one row per instant, and the events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    names: Vec<String>,
    column_of: HashMap<String, usize>,
    /// Row by row.
    values: Vec<f64>,
    events: Vec<Event>,
}

impl Recording {
    /// An empty table with these channels, `t` first.
    pub fn new(names: Vec<String>) -> Self {
        let column_of = names.iter().enumerate().map(|(k, name)| (name.clone(), k)).collect();
        Self { names, column_of, values: Vec::new(), events: Vec::new() }
    }

    /// Names of the channels, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.names.len()).unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Rows, in order of time.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> + DoubleEndedIterator {
        self.values.chunks_exact(self.names.len().max(1))
    }

    /// A channel over time.
    pub fn channel(&self, name: &str) -> Result<impl ExactSizeIterator<Item = f64> + DoubleEndedIterator + '_> {
        let column = self.column(name)?;
        Ok(self.rows().map(move |row| row[column]))
    }

    /// Last value of a channel.
    pub fn last(&self, name: &str) -> Result<f64> {
        self.channel(name)?.next_back().ok_or_else(|| Error::Unknown {
            what: "row",
            name: "last".into(),
            known: "none: the recording is empty".into(),
        })
    }

    /// Mode changes of joints with event-driven friction, impacts on stops and releases, in order of time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Writes the events as CSV: see [`csv::write_events`].
    pub fn write_events_to(&self, mut out: impl Write) -> io::Result<()> {
        csv::write_events(&self.events, &mut out)?;
        out.flush()
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.column_of.get(name).copied().ok_or_else(|| {
            // channels of the same joint, or the first ones
            let joint = name.rsplit_once('.').map_or(name, |parts| parts.0);
            let prefix = format!("{joint}.");
            let mut near: Vec<&str> =
                self.names.iter().filter(|n| n.starts_with(&prefix)).map(String::as_str).collect();
            if near.is_empty() {
                near = self.names.iter().take(8).map(String::as_str).collect();
            }
            Error::Unknown { what: "channel", name: name.into(), known: near.join(", ") }
        })
    }

    /// Writes the table as CSV: into a file beside `path` first, renamed when complete.
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), |file| self.write_csv_to(file))
    }

    /// Writes the events as CSV, in the same way: see [`Recording::write_events_to`].
    pub fn write_events(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), |file| self.write_events_to(file))
    }

    /// Writes the table as CSV: see [`csv`].
    pub fn write_csv_to(&self, mut out: impl Write) -> io::Result<()> {
        csv::write_header(&self.names, &mut out)?;
        let mut line = Vec::new();
        for row in self.rows() {
            line.clear();
            csv::push_row(row, &mut line);
            out.write_all(&line)?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Recording {
        let mut table = Recording::new(vec!["t".into(), "a, b.position".into(), "hinge.velocity".into()]);
        let hard =
            [f64::MIN_POSITIVE, 5e-324, f64::MAX, -0.0, 0.1 + 0.2, 1.0 / 3.0, 1e21, 1e-7, 123_456_789.123_456_79];
        for (k, x) in hard.iter().enumerate() {
            table.row(&[k as f64, *x, -x]).unwrap();
        }
        table
    }

    #[test]
    fn csv_reads_back_bit_for_bit() {
        let table = table();
        let mut text = Vec::new();
        table.write_csv_to(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("t,\"a, b.position\",hinge.velocity"));
        let mut n = 0;
        for (line, row) in lines.zip(table.rows()) {
            let read: Vec<u64> = line.split(',').map(|x| x.parse::<f64>().unwrap().to_bits()).collect();
            assert_eq!(read, row.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            n += 1;
        }
        assert_eq!(n, 9);
    }

    #[test]
    fn channels_by_name() {
        let table = table();
        assert_eq!(table.len(), 9);
        assert_eq!(table.last("t").unwrap(), 8.0);
        assert_eq!(table.channel("hinge.velocity").unwrap().nth(2), Some(-f64::MAX));
        let message = table.last("hinge.speed").unwrap_err().to_string();
        assert_eq!(message, "there is no channel `hinge.speed`; there is hinge.velocity");
        assert!(Recording::new(vec!["t".into()]).last("t").is_err());
    }
}

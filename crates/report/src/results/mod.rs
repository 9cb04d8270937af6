//! Tables of results as files: columns by name over time, and the changes of mode on the way.
//!
//! | extension | contents | events |
//! |---|---|---|
//! | `.csv` | a header, then one row per instant | none: `--events` has a file for them |
//! | `.npz` | one array per channel, for NumPy | arrays `events.t`, `.joint`, `.from`, `.to` and `.event` |
//! | `.json` | `{"channels": {name: [numbers]}, "events": [{t, joint, from, to, event}]}` | in it |
//!
//! Whatever is written reads back as the same numbers, bit for bit.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod columns;
mod counts;
mod csv;
mod json;
mod npz;

pub use columns::Columns;
pub use counts::EventCounts;

use anyhow::{Context, Result, bail};
use bristle::{Event, EventKind, Recording, memory};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::Path;

/// Numbers in memory for pictures at most: twice 8 bytes each are 4 GB; and where nobody asked for a picture.
pub const MAX_KEPT: usize = 250_000_000;

/// A change of mode of one joint, an impact on a stop or a release.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ResultEvent {
    /// When, s.
    pub t: f64,
    /// Name of the joint.
    pub joint: String,
    /// Mode before: −1, 0 (stuck), 1.
    pub from: i8,
    /// Mode after.
    pub to: i8,
    /// Kind of the event; files of older versions have changes of mode alone.
    #[serde(default)]
    pub event: EventKind,
}

impl From<&Event> for ResultEvent {
    fn from(event: &Event) -> Self {
        let (from, to) = (event.from.direction() as i8, event.to.direction() as i8);
        Self { t: event.t, joint: event.joint.clone(), from, to, event: event.kind }
    }
}

/// A table of results read back from, or on its way to, a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Names of the channels; time is called `t`.
    pub names: Vec<String>,
    /// Values of each channel, all of the same length.
    pub columns: Vec<Vec<f64>>,
    /// Changes of mode in order of time, where the file has them.
    pub events: Vec<ResultEvent>,
}

/// A table that can be written as a file: columns that come in pieces.
pub trait Table {
    /// Names of the channels.
    fn names(&self) -> &[String];

    /// Values in each channel.
    fn n_rows(&self) -> usize;

    /// Changes of mode.
    fn events(&self) -> &[ResultEvent];

    /// The values of a channel, in order, as many at a time as there are at hand.
    fn column(&self, k: usize, piece: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()>;
}

impl Table for Results {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn n_rows(&self) -> usize {
        self.len()
    }

    fn events(&self) -> &[ResultEvent] {
        &self.events
    }

    fn column(&self, k: usize, piece: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        piece(&self.columns[k])
    }
}

/// Writes a table in a format made of columns.
pub fn write(table: &impl Table, format: Format, out: impl Write) -> Result<()> {
    match format {
        Format::Csv => csv::write(table, out),
        Format::Npz => npz::write(table, out),
        Format::Json => json::write(table, out),
    }
}

/// How results are written down, by the extension of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, one row per instant.
    Csv,
    /// Arrays for NumPy.
    Npz,
    /// One JSON object.
    Json,
}

impl Format {
    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("npz") => Ok(Self::Npz),
            Some("json") => Ok(Self::Json),
            Some(other) => bail!("{}: unknown format `.{other}`; results are .csv, .npz or .json", path.display()),
            None => bail!("{}: the name has no extension; results are .csv, .npz or .json", path.display()),
        }
    }
}

impl Results {
    /// The columns of a recording.
    pub fn from_recording(recording: &Recording) -> Result<Self> {
        let names = recording.names().to_vec();
        memory::check("the columns of a recording", memory::bytes::<f64>(&[recording.len(), names.len()]))?;
        let mut columns = vec![Vec::with_capacity(recording.len()); names.len()];
        for row in recording.rows() {
            columns.iter_mut().zip(row).for_each(|(column, &value)| column.push(value));
        }
        let events = recording.events().iter().map(ResultEvent::from).collect();
        Ok(Self { names, columns, events })
    }

    /// Reads a file in the format of its extension.
    pub fn read(path: &Path) -> Result<Self> {
        let format = Format::of(path)?;
        let file = File::open(path).with_context(|| path.display().to_string())?;
        Self::parse(format, BufReader::new(file)).with_context(|| path.display().to_string())
    }

    /// Reads the content of a file.
    pub fn parse(format: Format, content: impl BufRead + Seek) -> Result<Self> {
        let read = match format {
            Format::Csv => csv::read(content),
            Format::Npz => npz::read(content),
            Format::Json => json::read(content),
        };
        read.and_then(Self::checked)
    }

    /// A channel by name.
    pub fn channel(&self, name: &str) -> Option<&[f64]> {
        let k = self.names.iter().position(|known| known == name)?;
        Some(&self.columns[k])
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A table one can work with: named columns of one length, time among them and never running backwards.
    fn checked(self) -> Result<Self> {
        let mut sorted: Vec<&str> = self.names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("there are two channels `{}`", pair[0]);
        }
        if let Some(name) = self.names.iter().find(|name| name.chars().any(char::is_control)) {
            bail!("channel `{}`: a name cannot hold line ends or control characters", name.escape_debug());
        }
        for (name, column) in self.names.iter().zip(&self.columns) {
            if column.len() != self.len() {
                bail!("channel `{name}` has {} values where `{}` has {}", column.len(), self.names[0], self.len());
            }
            if let Some(k) = column.iter().position(|value| !value.is_finite()) {
                bail!("channel `{name}` is {} in row {}; results are finite numbers", column[k], k.saturating_add(1));
            }
        }
        let Some(t) = self.channel("t") else { bail!("there is no channel `t`; this is not a table of results") };
        if let Some(pair) = t.windows(2).find(|pair| pair[1] < pair[0]) {
            bail!("time runs backwards from {:?} to {:?}", pair[0], pair[1]);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Results {
        let hard =
            vec![f64::MIN_POSITIVE, 5e-324, f64::MAX, -0.0, 0.1 + 0.2, 1.0 / 3.0, 1e21, 1e-7, 123_456_789.123_456_79];
        let event = |t, joint: &str, from, to| ResultEvent { t, joint: joint.into(), from, to, event: EventKind::Mode };
        Results {
            names: vec!["t".into(), "a, \"b\".position".into(), "Gelenk ü.velocity".into()],
            columns: vec![(0..9).map(|k| f64::from(k) / 100.0).collect(), hard.iter().map(|x| -x).collect(), hard],
            events: vec![event(0.5, "a, \"b\"", -1, 0), event(0.75, "Gelenk ü", 0, 1)],
        }
    }

    fn bits(results: &Results) -> Vec<Vec<u64>> {
        results.columns.iter().map(|column| column.iter().map(|x| x.to_bits()).collect()).collect()
    }

    fn back(format: Format, table: &Results) -> Results {
        let mut file = Vec::new();
        write(table, format, &mut file).unwrap();
        Results::parse(format, std::io::Cursor::new(file)).unwrap()
    }

    #[test]
    fn every_format_reads_back_bit_for_bit() {
        let table = table();
        for format in [Format::Csv, Format::Npz, Format::Json] {
            let read = back(format, &table);
            assert_eq!((&read.names, bits(&read)), (&table.names, bits(&table)), "{format:?}");
            if format != Format::Csv {
                assert_eq!(read.events, table.events, "{format:?}");
            }
        }
    }

    #[test]
    fn tables_without_rows_or_events_survive() {
        let empty = Results { names: vec!["t".into(), "x".into()], columns: vec![Vec::new(); 2], events: Vec::new() };
        for format in [Format::Csv, Format::Npz, Format::Json] {
            assert_eq!(back(format, &empty), empty, "{format:?}");
        }
    }

    #[test]
    fn formats_go_by_extension() {
        assert_eq!(Format::of(Path::new("a/b.CSV")).unwrap(), Format::Csv);
        let message = Format::of(Path::new("out.xls")).unwrap_err().to_string();
        assert_eq!(message, "out.xls: unknown format `.xls`; results are .csv, .npz or .json");
        assert!(Format::of(Path::new("out")).is_err());
    }

    #[test]
    fn other_files_are_refused() {
        let read = |text: &str| csv::read(text.as_bytes()).and_then(Results::checked).unwrap_err();
        for (text, reason) in [
            ("", "no channel `t`"),
            ("a,b\n1,2\n", "no channel `t`"),
            ("t,x\n0,1\n1\n", "line 3: 1 values for 2 channels"),
            ("t,x\n0,one\n", "line 2: `one` in channel `x` is not a number"),
            ("t,x\n0,NaN\n", "channel `x` is NaN in row 1"),
            ("t,x,x\n0,1,1\n", "two channels `x`"),
            ("t,\x1b[31mred\n0,1\n", "channel `\\u{1b}[31mred`: a name cannot hold"),
            ("t\n1\n0\n", "time runs backwards from 1.0 to 0.0"),
        ] {
            let message = format!("{:#}", read(text));
            assert!(message.contains(reason), "{text:?}: {message}");
        }
        let ragged = json::read(&br#"{"channels": {"t": [0, 1], "x": [1]}, "events": []}"#[..]);
        assert!(ragged.and_then(Results::checked).unwrap_err().to_string().contains("1 values where `t` has 2"));
        assert!(json::read(&b"{\"channels\": [}"[..]).is_err());
        assert!(npz::read(std::io::Cursor::new(b"PK nothing of the kind")).is_err());
    }
}

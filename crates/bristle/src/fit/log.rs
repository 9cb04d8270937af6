//! Logs: tables of measurements with their clock, the inputs that a scene takes from them and the channels to compare.

use super::filter::median_step;
use crate::error::{Error, Result};
use crate::scene::load::read_text;
use crate::scene::span::{Source, Sources, Span};
use crate::scene::{Problem, SceneError};
use std::path::Path;
use std::sync::Arc;

/// Median sampling time from which a clock is hardly one of seconds, s.
const SLOW: f64 = 0.5;

/// Columns of numbers with names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The file, as the caller names it.
    pub file: String,
    /// Names of the columns.
    pub names: Vec<String>,
    /// The columns.
    pub columns: Vec<Vec<f64>>,
}

impl Table {
    /// Reads a CSV file whose first row names its columns.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let (text, file) = read_text(path.as_ref(), "logs are tables of numbers (CSV)", "run.csv")?;
        Self::parse(&text, &file)
    }

    /// The same from a text; `file` is the name it goes by in messages.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        // spreadsheets begin a table in UTF-8 with a mark
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut offset = mark;
        let mut lines = text[mark..].split_inclusive('\n').map(|line| {
            let at = offset;
            offset += line.len();
            (at, line.trim_end_matches(['\n', '\r']))
        });
        let Some((_, head)) = lines.next().filter(|(_, head)| !head.trim().is_empty()) else {
            return Err(place(file, text, 0..0, "the table is empty", "the first row names the columns"));
        };
        let names: Vec<String> = head.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect();
        if names.iter().any(|name| name.chars().any(char::is_control)) {
            let help = "the first row names the columns, separated by commas";
            return Err(place(file, text, mark..mark + head.len(), "a name cannot hold control characters", help));
        }
        let mut columns = vec![Vec::new(); names.len()];
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let mut cell_at = at;
            let mut n = 0;
            for cell in line.split(',') {
                let span = cell_at..cell_at + cell.len();
                cell_at += cell.len() + 1;
                let number = cell.trim().parse::<f64>().ok().filter(|x| x.is_finite());
                let Some(number) = number else {
                    let reason = format!("`{}` is no finite number", cell.trim());
                    return Err(place(file, text, span, &reason, "leave out rows that lack a value"));
                };
                if let Some(column) = columns.get_mut(n) {
                    column.push(number);
                }
                n += 1;
            }
            if n != names.len() {
                let reason = format!("this row has {n} values, the first row {} names", names.len());
                return Err(place(file, text, at..at + line.len(), &reason, ""));
            }
        }
        Ok(Self { file: file.to_owned(), names, columns })
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Result<&[f64]> {
        let known = || Error::unknown("column", name, self.names.iter().map(String::as_str));
        let mut found = self.names.iter().zip(&self.columns).filter(|(other, _)| *other == name);
        let (_, column) = found.next().ok_or_else(known)?;
        match found.next() {
            None => Ok(column),
            Some(_) => Err(refusal(&self.file, format!("two columns have the name `{name}`"), "rename one of them")),
        }
    }
}

/// A refusal of a file as a whole.
fn refusal(file: &str, reason: String, help: &str) -> Error {
    SceneError::from(Problem::without_place(file, "", reason, help.to_owned())).into()
}

/// A refusal at a place of a file.
pub(crate) fn place(file: &str, text: &str, at: std::ops::Range<usize>, reason: &str, help: &str) -> Error {
    let sources = Sources(vec![Source::new(file.to_owned(), text.to_owned())]);
    let span = Span { source: 0, start: at.start as u32, end: at.end as u32 };
    SceneError::from(Problem::at(&sources, span, reason.to_owned(), help.to_owned())).into()
}

/// How an input goes between the rows of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    /// Linear.
    #[default]
    Linear,
    /// The last value.
    Last,
}

/// A signal of the scene that follows a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Path of the signal, as `joints.slide.drive.target`.
    pub path: String,
    /// The column.
    pub column: String,
    /// Between rows.
    pub hold: Hold,
}

/// A channel of the scene that a column measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Compare {
    /// The channel, as `slide.position`; `NAME.drive` is the effort of a drive.
    pub channel: String,
    /// The column.
    pub column: String,
    /// Corner frequency of a zero-phase low-pass on both, Hz.
    pub band: Option<f64>,
    /// Standard deviation of the measurement in its unit; found from the residuals if left out.
    pub noise: Option<f64>,
}

/// The start of a simulated log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Initial {
    /// At the measured positions (and velocities, where a column measures them) of the first row.
    #[default]
    Measured,
    /// The same as a start of the fit: positions and velocities of the compared joints are free.
    Estimated,
    /// As in the scene.
    Scene,
}

/// A measured run and its part in a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The table.
    pub table: Arc<Table>,
    /// Name of the column of time, s.
    pub time: String,
    /// Time at its start that is simulated but not compared, s.
    pub skip: f64,
    /// Signals from columns.
    pub inputs: Vec<Input>,
    /// Values of the scene that this run has, by path, as they would be written in the scene.
    pub values: Vec<(String, String)>,
    /// Measured channels.
    pub compare: Vec<Compare>,
    /// Where the simulation starts.
    pub initial: Initial,
}

impl Log {
    /// Reads a CSV file; time is the column `t`, or the first one.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(Table::read(path)?))
    }

    /// A log of a table.
    pub fn new(table: Table) -> Self {
        let time = table.names.iter().find(|name| *name == "t").or(table.names.first()).cloned().unwrap_or_default();
        Self {
            table: Arc::new(table),
            time,
            skip: 0.0,
            inputs: vec![],
            values: vec![],
            compare: vec![],
            initial: Initial::default(),
        }
    }

    /// Names the column of time, s.
    #[must_use]
    pub fn time(mut self, column: &str) -> Self {
        self.time = column.to_owned();
        self
    }

    /// A signal of the scene follows a column, linearly between rows.
    #[must_use]
    pub fn input(mut self, path: &str, column: &str) -> Self {
        self.inputs.push(Input { path: path.to_owned(), column: column.to_owned(), hold: Hold::Linear });
        self
    }

    /// A signal of the scene keeps the last value of a column.
    #[must_use]
    pub fn held(mut self, path: &str, column: &str) -> Self {
        self.inputs.push(Input { path: path.to_owned(), column: column.to_owned(), hold: Hold::Last });
        self
    }

    /// This run has another value at a path of the scene.
    #[must_use]
    pub fn value(mut self, path: &str, value: &str) -> Self {
        self.values.push((path.to_owned(), value.to_owned()));
        self
    }

    /// A channel that a column measures, with noise of unknown size.
    #[must_use]
    pub fn compare(mut self, channel: &str, column: &str) -> Self {
        let (channel, column) = (channel.to_owned(), column.to_owned());
        self.compare.push(Compare { channel, column, band: None, noise: None });
        self
    }

    /// Leaves the first `skip` seconds out of the comparison.
    #[must_use]
    pub fn skip(mut self, skip: f64) -> Self {
        self.skip = skip;
        self
    }

    /// Where the simulation starts.
    #[must_use]
    pub fn initial(mut self, initial: Initial) -> Self {
        self.initial = initial;
        self
    }

    /// Inputs, values, channels and start as another log has them, with the table of this one.
    #[must_use]
    pub fn like(mut self, other: &Log) -> Self {
        self = Self { table: self.table, ..other.clone() };
        self
    }

    /// Times since the first row, s.
    pub fn times(&self) -> Result<Vec<f64>> {
        let t = self.table.column(&self.time)?;
        let first = t.first().copied().unwrap_or(0.0);
        Ok(t.iter().map(|t| t - first).collect())
    }

    /// Refuses a log that cannot be simulated: too few rows, a clock that does not advance, unknown columns.
    pub fn check(&self) -> Result<()> {
        let file = &self.table.file;
        let refuse = |reason: String, help: &str| -> Result<()> { Err(refusal(file, reason, help)) };
        let t = self.times()?;
        if t.len() < 3 {
            return refuse(format!("{} rows are too few", t.len()), "a fit needs a measured run");
        }
        if let Some(k) = t.windows(2).position(|pair| pair[1] <= pair[0]) {
            let (a, b) = (t[k], t[k + 1]);
            let reason = format!(
                "the clock `{}` goes back or stands still: row {} has {a} s and row {} {b} s after the start",
                self.time,
                k + 2,
                k + 3
            );
            return refuse(reason, "sort the rows by time and leave out rows of the same time");
        }
        let span = t.last().copied().unwrap_or(0.0);
        if !span.is_finite() {
            return refuse(format!("the clock `{}` spans more than a number can hold", self.time), "give times in s");
        }
        if !(0.0..=span).contains(&self.skip) || t.len() - t.partition_point(|t| *t < self.skip) < 3 {
            let reason = format!("`skip: {:?}` leaves fewer than three of {} rows to compare", self.skip, t.len());
            return refuse(reason, &format!("the log spans {span} s; give a time from 0 on that leaves rows"));
        }
        for Compare { channel, band, noise, .. } in &self.compare {
            if let Some(band) = band.filter(|band| !(*band > 0.0 && band.is_finite())) {
                let reason = format!("the band of `{channel}` is {band:?} Hz");
                return refuse(reason, "give a positive number, or leave `band` out");
            }
            // residuals are divided by it and squared
            if let Some(noise) = noise.filter(|noise| !(*noise > 0.0 && (noise * noise).is_normal())) {
                let reason = format!("the noise of `{channel}` is {noise:?}");
                return refuse(reason, "give a positive standard deviation, or leave `noise` out: it is found then");
            }
        }
        for column in self.inputs.iter().map(|input| &input.column).chain(self.compare.iter().map(|c| &c.column)) {
            self.table.column(column)?;
        }
        for Compare { channel, column, .. } in &self.compare {
            if !self.table.column(column)?.iter().map(|x| x * x).sum::<f64>().is_finite() {
                let reason = format!("values of `{column}` are too large for the squares that a fit adds");
                return refuse(reason, &format!("are they in the unit of `{channel}`?"));
            }
        }
        if self.compare.is_empty() {
            return refuse(
                "no channel is compared with this log".into(),
                "name one: `compare: [Compare(channel: …, column: …)]`",
            );
        }
        Ok(())
    }

    /// Doubtful features of the log that do not keep it from being fitted: gaps, saturation.
    pub fn warnings(&self) -> Result<Vec<String>> {
        let (t, mut found) = (self.times()?, Vec::new());
        let step = median_step(&t);
        if step >= SLOW {
            found.push(format!(
                "{}: the clock `{}` advances by {step} a row, and is taken as seconds: is it in milliseconds \
                 (factor 1000)?",
                self.table.file, self.time
            ));
        }
        let gaps: Vec<usize> = (1..t.len()).filter(|&k| t[k] - t[k - 1] > 5.0 * step).collect();
        if let Some(&k) = gaps.first() {
            found.push(format!(
                "{}: {} gap(s) of more than five sampling times ({step:.4} s): the first after {} s lasts {:.4} s; \
                 inputs are interpolated across it",
                self.table.file,
                gaps.len(),
                t[k - 1],
                t[k] - t[k - 1]
            ));
        }
        let mut columns: Vec<&String> =
            self.compare.iter().map(|c| &c.column).chain(self.inputs.iter().map(|i| &i.column)).collect();
        columns.dedup();
        for name in columns {
            let x = self.table.column(name)?;
            let (low, high) = x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
            if low == high {
                found.push(format!("{}: column `{name}` is constant ({low})", self.table.file));
                continue;
            }
            // an extreme value that is met and kept several times is a limit; a reference that waits is met once or
            // twice
            for (limit, end) in [(low, "lower"), (high, "upper")] {
                let at: Vec<bool> = x.iter().map(|x| *x == limit).collect();
                let stays = at.windows(3).filter(|three| three.iter().all(|at| *at)).count();
                let visits = at.windows(2).filter(|two| !two[0] && two[1]).count();
                let is_input = self.inputs.iter().any(|input| input.column == *name);
                if visits >= 3 && stays >= 3 * visits && limit != 0.0 && !is_input {
                    found.push(format!(
                        "{}: column `{name}` stays at {limit} for {stays} rows in {visits} places: is this the {end} \
                         end of its range (saturation)?",
                        self.table.file
                    ));
                }
            }
        }
        Ok(found)
    }
}

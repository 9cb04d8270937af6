//! A signal from two columns of a CSV file: times and values, read once.
//!
//! ```text
//! Linear       straight lines between samples, constant beyond both ends: as `Table`
//! Previous     each value from its time on, the first one before: as `Steps`
//! ```
//!
//! The first line that is not empty and does not begin with `#` names the columns. They are separated by commas, or by
//! semicolons or tabs where it has no commas. Times increase. Only the two columns are kept, 16 bytes a row; a file is
//! read line by line.
//!
//! A sample that lies on the line through its neighbours, to rounding, is no corner and is dropped: a reference that
//! rests or rises steadily has few corners left.

use super::Signal;
#[cfg(feature = "scene")]
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Rows at most: 160 MB.
const MAX_ROWS: usize = 10_000_000;

/// Bytes in a line at most.
const MAX_LINE: usize = 1_000_000;

/// Names of columns that an error lists at most.
const MAX_LISTED: usize = 12;

/// Interpolation of a log between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
pub enum Hold {
    /// Straight lines between samples.
    #[default]
    Linear,
    /// The previous sample.
    Previous,
}

/// The samples of a log, shared by all copies of the signal; none before the file has been read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples(Option<Arc<Recorded>>);

#[derive(Debug, PartialEq)]
struct Recorded {
    points: Vec<(f64, f64)>,
    largest: f64,
}

impl Samples {
    /// Times and values, corners only.
    pub(super) fn points(&self) -> &[(f64, f64)] {
        self.0.as_ref().map_or(&[], |recorded| &recorded.points)
    }

    /// The largest magnitude.
    pub(super) fn largest(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |recorded| recorded.largest)
    }

    /// The same samples, later by `delay`, s.
    pub(super) fn delayed(&self, delay: f64) -> Self {
        Self(self.0.as_ref().map(|recorded| {
            let points = recorded.points.iter().map(|&(t, y)| (t + delay, y)).collect();
            Arc::new(Recorded { points, largest: recorded.largest })
        }))
    }

    /// Samples from times and values, in order.
    pub(super) fn new(points: &[(f64, f64)], hold: Hold) -> Self {
        let largest = points.iter().fold(0.0_f64, |largest, point| largest.max(point.1.abs()));
        let points = match hold {
            Hold::Linear => corners(points, largest),
            Hold::Previous => {
                let mut kept: Vec<(f64, f64)> = Vec::new();
                for &point in points {
                    if kept.last().is_none_or(|last| last.1 != point.1) {
                        kept.push(point);
                    }
                }
                kept
            }
        };
        Self(Some(Arc::new(Recorded { points, largest })))
    }
}

/// The points without those on the line through the last corner and their successor.
fn corners(points: &[(f64, f64)], largest: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (i, &(t, y)) in points.iter().enumerate() {
        let (Some(&(t0, y0)), Some(&(t2, y2))) = (kept.last(), points.get(i + 1)) else {
            kept.push((t, y));
            continue;
        };
        // the run since the corner is straight, so its first step has the slope; times rounded in the file tilt it
        let on_line = |from: (f64, f64)| from.1 + (y2 - from.1) * ((t - from.0) / (t2 - from.0));
        let rounding = 8.0 * f64::EPSILON * largest;
        let is_flat = y0 == y && y == y2;
        if !is_flat && (on_line((t0, y0)) - y).abs() > rounding {
            kept.push((t, y));
        }
    }
    kept
}

impl Signal {
    /// A signal from columns `time` and `column` of a CSV file. The error is a sentence with the file and, where there
    /// is one, the line.
    pub fn log(path: impl AsRef<Path>, column: &str, time: &str, hold: Hold) -> Result<Signal, String> {
        let path = path.as_ref();
        let points = read(path, column, time)?;
        Ok(Signal::Log {
            file: path.display().to_string(),
            column: column.into(),
            time: time.into(),
            hold,
            samples: Samples::new(&points, hold),
        })
    }

    /// Reads the files of all logs in it, relative to `folder`; hands errors over with the path of the log.
    #[cfg(feature = "scene")]
    pub(crate) fn read_logs(&mut self, folder: &Path, path: &str, refuse: &mut dyn FnMut(String, String)) {
        match self {
            Signal::Log { file, column, time, hold, samples } => match read(&folder.join(&*file), column, time) {
                Ok(points) => *samples = Samples::new(&points, *hold),
                Err(reason) => refuse(path.to_owned(), reason),
            },
            Signal::Piecewise(parts) => {
                for (i, (_, part)) in parts.iter_mut().enumerate() {
                    part.read_logs(folder, &format!("{path}.{i}.1"), refuse);
                }
            }
            Signal::Sum(terms) => {
                for (i, term) in terms.iter_mut().enumerate() {
                    term.read_logs(folder, &format!("{path}.{i}"), refuse);
                }
            }
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Sine { .. } | Signal::Table(_) | Signal::Steps(_) => {}
        }
    }

    /// The files of all logs in it, as they are written.
    #[cfg(feature = "scene")]
    pub(crate) fn log_files<'s>(&'s self, found: &mut Vec<&'s str>) {
        match self {
            Signal::Log { file, .. } => found.push(file),
            Signal::Piecewise(parts) => parts.iter().for_each(|(_, part)| part.log_files(found)),
            Signal::Sum(terms) => terms.iter().for_each(|term| term.log_files(found)),
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Sine { .. } | Signal::Table(_) | Signal::Steps(_) => {}
        }
    }

    /// Gives logs without samples those of the same logs in `other`, a signal of the same structure.
    pub(crate) fn adopt_samples(&mut self, other: &Signal) {
        match (self, other) {
            (
                Signal::Log { file, column, time, hold, samples },
                Signal::Log { file: file_1, column: column_1, time: time_1, hold: hold_1, samples: known },
            ) if (&*file, &*column, &*time, &*hold) == (file_1, column_1, time_1, hold_1) => samples.clone_from(known),
            (Signal::Piecewise(parts), Signal::Piecewise(others)) => {
                parts.iter_mut().zip(others).for_each(|((_, part), (_, other))| part.adopt_samples(other));
            }
            (Signal::Sum(terms), Signal::Sum(others)) => {
                terms.iter_mut().zip(others).for_each(|(term, other)| term.adopt_samples(other));
            }
            _ => {}
        }
    }
}

/// Times and values from two columns of a file.
fn read(path: &Path, column: &str, time: &str) -> Result<Vec<(f64, f64)>, String> {
    let name = path.display();
    let unreadable = |error: std::io::Error| format!("cannot read `{name}`: {error}");
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(format!("`{name}` is a directory; a log is a CSV file"));
    }
    let mut reader = BufReader::new(file);
    let (mut line, mut number) = (Vec::new(), 0_usize);
    let mut places: Option<(char, usize, usize)> = None;
    let mut points: Vec<(f64, f64)> = Vec::new();
    loop {
        line.clear();
        let length = (&mut reader).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        number += 1;
        if length > MAX_LINE {
            return Err(format!("{name}:{number}: the line is longer than {MAX_LINE} bytes; is it a CSV file?"));
        }
        let text = std::str::from_utf8(&line).map_err(|_| format!("{name}:{number}: this is not UTF-8 text"))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let Some((separator, t_place, place)) = places else {
            places = Some(find_columns(text, column, time).map_err(|reason| format!("{name}:{number}: {reason}"))?);
            continue;
        };
        let number_at = |place: usize, column: &str| {
            let cell = text.split(separator).nth(place).map_or("", |cell| unquoted(cell));
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| match cell {
                "" => format!("{name}:{number}: there is no number in column `{column}`"),
                cell => format!("{name}:{number}: `{cell}` in column `{column}` is not a finite number"),
            })
        };
        let (t, value) = (number_at(t_place, time)?, number_at(place, column)?);
        if let Some(&(before, _)) = points.last().filter(|last| t <= last.0) {
            return Err(format!("{name}:{number}: times must increase: {t:?} comes after {before:?}"));
        }
        if points.len() == MAX_ROWS {
            return Err(format!("{name}:{number}: the file has more than {MAX_ROWS} rows; cut it, or take fewer"));
        }
        points.push((t, value));
    }
    if places.is_none() {
        return Err(format!("`{name}` is empty: its first line must name the columns"));
    }
    if points.is_empty() {
        return Err(format!("`{name}` has no rows under the names of its columns"));
    }
    Ok(points)
}

/// The separator of the line that names the columns, and the numbers of two of them.
fn find_columns(header: &str, column: &str, time: &str) -> Result<(char, usize, usize), String> {
    let separator = [',', ';', '\t'].into_iter().find(|&separator| header.contains(separator)).unwrap_or(',');
    let place = |wanted: &str| {
        let mut found = header.split(separator).enumerate().filter(|(_, name)| unquoted(name) == wanted);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(format!("there are two columns `{wanted}`")),
            (None, _) => {
                let names: Vec<String> = header.split(separator).map(|name| format!("`{}`", unquoted(name))).collect();
                let more = if names.len() > MAX_LISTED { ", …" } else { "" };
                let names = names[..names.len().min(MAX_LISTED)].join(", ");
                Err(format!("there is no column `{wanted}`; there are {names}{more}"))
            }
        }
    };
    Ok((separator, place(time)?, place(column)?))
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Piece;

    fn written(name: &str, text: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("bristle_log_{}_{name}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_log_says_what_its_table_would() {
        let text =
            "# a comment\n\"t_s\", force_N ,x\n0.0,1.0,9\n0.5,2.0,9\r\n\n1.0,3.0,9\n1.5,3.0,9\n2.0,3.0,9\n3,-1,9\n";
        let path = written("table", text);
        let table = Signal::Table(vec![(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (1.5, 3.0), (2.0, 3.0), (3.0, -1.0)]);
        let log = Signal::log(&path, "force_N", "t_s", Hold::Linear).unwrap();
        for k in -10..=40 {
            let t = 0.1 * f64::from(k);
            assert!((log.value(t) - table.value(t)).abs() < 1e-15, "{t}");
        }
        // corners only: (0.5, 2) and (1.5, 3) lie on lines
        assert_eq!(log.next_corner(0.0), Some(1.0));
        assert_eq!(log.next_corner(1.0), Some(2.0));
        assert_eq!(log.next_corner(3.0), None);
        let held = Signal::log(&path, "force_N", "t_s", Hold::Previous).unwrap();
        assert_eq!([-1.0, 0.4, 0.5, 1.7, 2.9, 3.0].map(|t| held.value(t)), [1.0, 1.0, 2.0, 3.0, 3.0, -1.0]);
        assert_eq!(held.value_before(3.0), 3.0);
        assert_eq!(held.sample(2.5, Piece::After(2.5)).derivative, 0.0);
        assert_eq!(held.first_jump(), Some(0.5));
        assert_eq!(log.first_jump(), None);
        assert!(log.validate().is_empty());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn unreadable_logs_are_refused_with_their_line() {
        let refused = |name: &str, text: &str| {
            let path = written(name, text);
            let reason = Signal::log(&path, "x", "t", Hold::Linear).unwrap_err();
            std::fs::remove_file(path).unwrap();
            reason
        };
        assert!(refused("column", "t,y\n0,1\n").contains(":1: there is no column `x`; there are `t`, `y`"));
        assert!(refused("twice", "t,x,x\n0,1,1\n").contains("two columns `x`"));
        assert!(refused("word", "t,x\n0,1\n1,high\n").contains(":3: `high` in column `x` is not a finite number"));
        assert!(refused("nan", "t;x\n0;1\n1;nan\n").contains(":3: `nan`"));
        assert!(refused("short", "t,x\n0,1\n1\n").contains(":3: there is no number in column `x`"));
        assert!(refused("back", "t,x\n0,1\n0.0,2\n").contains(":3: times must increase: 0.0 comes after 0.0"));
        assert!(refused("empty", "\n# nothing\n").contains("is empty"));
        assert!(refused("rows", "t,x\n").contains("no rows"));
        let missing = Signal::log("no such file.csv", "x", "t", Hold::Linear).unwrap_err();
        assert!(missing.contains("cannot read `no such file.csv`"), "{missing}");
        // a log that nobody has read has no values
        let unread = Signal::Log {
            file: "x.csv".into(),
            column: "x".into(),
            time: "t".into(),
            hold: Hold::Linear,
            samples: Samples::default(),
        };
        assert!(unread.validate()[0].reason.contains("has not been read"));
    }
}

//! Tables as comma-separated text: a line of names, then a line per instant.
//!
//! A number has the fewest digits that read back as the same `f64`. A name with a comma, a quote or a line end is in
//! quotes, its own quotes doubled.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::record::Event;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes the line of names.
pub fn write_header(names: &[String], mut out: impl Write) -> io::Result<()> {
    for (k, name) in names.iter().enumerate() {
        if k > 0 {
            out.write_all(b",")?;
        }
        out.write_all(quoted(name).as_bytes())?;
    }
    out.write_all(b"\n")
}

/// Largest number of bytes of a number with its comma: `-2.2250738585072014e-308,`.
const LONGEST: usize = 25;

/// Appends the line of one instant to a text.
pub fn push_row(row: &[f64], text: &mut Vec<u8>) {
    text.reserve(row.len().saturating_mul(LONGEST).saturating_add(1));
    let mut digits = zmij::Buffer::new();
    for (k, value) in row.iter().enumerate() {
        if k > 0 {
            text.push(b',');
        }
        // many energies are 0
        let written = if value.to_bits() == 0 { "0.0" } else { digits.format(*value) };
        text.extend_from_slice(written.as_bytes());
    }
    text.push(b'\n');
}

/// Writes events: time, joint, the modes before and after as −1, 0 (stuck), 1, and what happened.
pub fn write_events(events: &[Event], mut out: impl Write) -> io::Result<()> {
    out.write_all(b"t,joint,from,to,event\n")?;
    let mut digits = zmij::Buffer::new();
    for Event { t, joint, from, to, kind } in events {
        let (from, to, kind) = (from.direction(), to.direction(), kind.name());
        writeln!(out, "{},{},{from},{to},{kind}", digits.format(*t), quoted(joint))?;
    }
    Ok(())
}

/// A name as written to the file.
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

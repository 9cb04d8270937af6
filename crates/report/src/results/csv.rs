//! Results as comma-separated text: a header of names, then a row per instant. Numbers have the fewest digits that read
//! back as the same `f64`; names with commas or quotes stand in quotes.

use super::{Results, Table};
use anyhow::{Context, Result, bail};
use bristle::csv::{push_row, write_header};
use bristle::memory;
use std::io::{BufRead, Write};

/// Writes the table; its columns are held together for that. A run writes its rows as they come instead.
pub fn write(table: &impl Table, mut out: impl Write) -> Result<()> {
    write_header(table.names(), &mut out)?;
    memory::check("a table", memory::bytes::<f64>(&[table.n_rows(), table.names().len()]))?;
    let mut columns = vec![Vec::with_capacity(table.n_rows()); table.names().len()];
    for (k, column) in columns.iter_mut().enumerate() {
        table.column(k, &mut |piece| {
            column.extend_from_slice(piece);
            Ok(())
        })?;
    }
    let (mut row, mut line) = (Vec::with_capacity(columns.len()), Vec::new());
    for k in 0..table.n_rows() {
        row.clear();
        row.extend(columns.iter().map(|column| column[k]));
        line.clear();
        push_row(&row, &mut line);
        out.write_all(&line)?;
    }
    Ok(out.flush()?)
}

/// Reads a table.
pub fn read(input: impl BufRead) -> Result<Results> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input);
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let mut columns = vec![Vec::new(); names.len()];
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != names.len() {
            bail!("line {line}: {} values for {} channels", record.len(), names.len());
        }
        for ((field, name), column) in record.iter().zip(&names).zip(&mut columns) {
            let value = field.trim().parse::<f64>();
            memory::grow("a channel", column, 1)?;
            column.push(value.with_context(|| format!("line {line}: `{field}` in channel `{name}` is not a number"))?);
        }
    }
    Ok(Results { names, columns, events: Vec::new() })
}

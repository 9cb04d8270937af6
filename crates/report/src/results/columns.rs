//! Columns of a table that grew row by row in a file, without holding it in memory.
//!
//! A table of rows is turned over once, block by block, into a file beside it: the first rows of every column, then the
//! next rows of every column, and so on. A column is then read piece by piece.

use super::{ResultEvent, Table};
use anyhow::{Context, Result, ensure};
use bristle::atomic_file::PartialFile;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Rows in a block at most: pieces of 64 kB.
const BLOCK: usize = 8192;
/// Numbers in a block at most, 32 MB: there are fewer rows in it where columns are many.
const MAX_NUMBERS: usize = 1 << 22;

/// A table on disk, by columns. The file is gone when this is dropped.
pub struct Columns {
    names: Vec<String>,
    events: Vec<ResultEvent>,
    n_rows: usize,
    /// Rows in a block.
    block: usize,
    file: PartialFile,
}

impl Columns {
    /// Turns over the rows of a CSV file, open for reading, whose first line is a header.
    pub fn of_csv(csv: &File, names: &[String], events: Vec<ResultEvent>, path: PathBuf) -> Result<Self> {
        let file = PartialFile::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let block = MAX_NUMBERS.checked_div(names.len()).unwrap_or(BLOCK).clamp(1, BLOCK);
        let mut columns = Self { names: names.to_vec(), events, n_rows: 0, block, file };
        columns.fill(csv)?;
        Ok(columns)
    }

    fn fill(&mut self, mut csv: &File) -> Result<()> {
        csv.seek(SeekFrom::Start(0))?;
        let mut rows = BufReader::with_capacity(1 << 16, csv);
        let mut out = BufWriter::with_capacity(1 << 16, self.file.file());
        let mut block = vec![Vec::with_capacity(self.block); self.names.len()];
        let mut line = String::new();
        // the header
        rows.read_line(&mut line)?;
        loop {
            line.clear();
            let is_over = rows.read_line(&mut line)? == 0;
            if is_over || block.first().is_some_and(|column| column.len() == self.block) {
                for column in &mut block {
                    for value in column.drain(..) {
                        out.write_all(&f64::to_le_bytes(value))?;
                    }
                }
            }
            if is_over {
                break;
            }
            let mut n = 0usize;
            for (text, column) in line.trim_end().split(',').zip(&mut block) {
                column.push(text.parse::<f64>().with_context(|| format!("`{text}` is not a number"))?);
                n = n.saturating_add(1);
            }
            ensure!(n == self.names.len(), "{n} values for {} channels", self.names.len());
            self.n_rows = self.n_rows.saturating_add(1);
        }
        Ok(out.flush()?)
    }
}

impl Table for Columns {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn events(&self) -> &[ResultEvent] {
        &self.events
    }

    fn column(&self, k: usize, piece: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        let (n, mut file) = (self.names.len(), self.file.file());
        let size = size_of::<f64>();
        let mut bytes = Vec::with_capacity(self.block.saturating_mul(size));
        let mut values = Vec::with_capacity(self.block);
        for first in (0..self.n_rows).step_by(self.block) {
            let rows = self.block.min(self.n_rows.saturating_sub(first));
            // all columns of the blocks before, and the columns before in this one
            let before = n.saturating_mul(first).saturating_add(k.saturating_mul(rows));
            file.seek(SeekFrom::Start(before.saturating_mul(size) as u64))?;
            bytes.clear();
            file.take(rows.saturating_mul(size) as u64).read_to_end(&mut bytes)?;
            ensure!(bytes.len() == rows.saturating_mul(size), "the file of the columns is cut short");
            values.clear();
            values.extend(bytes.as_chunks::<8>().0.iter().map(|value| f64::from_le_bytes(*value)));
            piece(&values)?;
        }
        Ok(())
    }
}

impl Drop for Columns {
    fn drop(&mut self) {
        self.file.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Format, Results, write};
    use bristle::EventKind;

    /// More rows than a block, and not a multiple of it.
    #[test]
    fn transposed_table_on_disk_equals_memory() {
        let n = 2 * BLOCK + 17;
        let t = (0..n).map(|k| k as f64 * 0.01).collect();
        let x: Vec<f64> = (0..n).map(|k| (k as f64).sin() / 3.0).collect();
        let events = vec![ResultEvent { t: 0.25, joint: "a".into(), from: -1, to: 0, event: EventKind::Stop }];
        let names = ["t", "a, b", "c"].map(str::to_owned).to_vec();
        let table = Results { names, columns: vec![t, x.clone(), x.iter().map(|x| -x).collect()], events };

        let folder = std::env::temp_dir();
        let [csv, own] = ["csv", "own"].map(|end| folder.join(format!("bristle-columns-{}.{end}", std::process::id())));
        write(&table, Format::Csv, File::create(&csv).unwrap()).unwrap();
        let columns =
            Columns::of_csv(&File::open(&csv).unwrap(), &table.names, table.events.clone(), own.clone()).unwrap();
        assert_eq!(columns.n_rows(), n);
        for format in [Format::Npz, Format::Json] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            write(&table, format, &mut one).unwrap();
            write(&columns, format, &mut other).unwrap();
            assert!(one == other, "{format:?}");
        }
        drop(columns);
        assert!(!own.exists());
        std::fs::remove_file(csv).unwrap();
    }
}

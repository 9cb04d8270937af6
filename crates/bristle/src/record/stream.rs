//! Writes rows into a CSV file during a run, so that the run needs no memory for them and loses none of them.
//!
//! Text is buffered and written in blocks. Where a block does not fit on the disk it is cut after the last row that
//! does: the file always consists of whole rows. The stream has exclusive use of the file, from its creation until the
//! result of [`CsvStream::finish`] is dropped: see [`atomic_file`](crate::atomic_file). If another process removes or
//! replaces the file, the next block is an error.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::atomic_file::PartialFile;
use crate::error::{Error, Result};
use crate::record::{Event, Record, csv};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes of a block.
const PIECE: usize = 1 << 16;

/// A CSV file that grows row by row. See the [module](self).
///
/// ```
/// use bristle::prelude::*;
/// use bristle::stream::CsvStream;
///
/// # std::env::set_current_dir("../..").unwrap();
/// let scene = Scene::load("scenes/single_pendulum.ron")?;
/// let mut sim = Simulation::new(&scene)?;
/// # std::env::set_current_dir(std::env::temp_dir()).unwrap();
/// let mut rows = CsvStream::create("pendulum_stream.csv", sim.recording().names())?;
/// sim.run_with(1.0, &mut rows)?;
/// rows.finish()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct CsvStream {
    file: PartialFile,
    /// Rows that are not yet in the file.
    text: Vec<u8>,
    /// Bytes in the file.
    written: u64,
    /// Rows so far.
    n_rows: usize,
}

impl CsvStream {
    /// A new file with the names of the channels. A file that another stream is writing, in this process or another, is
    /// refused, and so is a path that is not a regular file.
    pub fn create(path: impl Into<PathBuf>, names: &[String]) -> Result<Self> {
        let path = path.into();
        let start = || -> io::Result<_> {
            let mut text = Vec::with_capacity(PIECE + 4096);
            csv::write_header(names, &mut text)?;
            Ok((PartialFile::create(&path)?, text))
        };
        match start() {
            Ok((file, text)) => Ok(Self { file, text, written: 0, n_rows: 0 }),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Rows so far.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Whether the file is still at its path.
    pub fn is_in_place(&self) -> bool {
        self.file.is_in_place()
    }

    /// Writes the buffer; if that fails, as many whole rows as there is room for.
    pub fn flush(&mut self) -> Result<()> {
        let result = self.file.check_in_place().and_then(|()| self.file.file().write_all(&self.text));
        let fits = match &result {
            Ok(()) => self.text.len(),
            Err(_) => self.cut(),
        };
        self.written = self.written.saturating_add(fits as u64);
        self.text.clear();
        result.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Io { path: self.path().to_owned(), source }
    }

    /// Cuts the file after the last whole row of `text` in it. Returns the number of bytes of `text` that remain.
    fn cut(&mut self) -> usize {
        let length = self.file.file().metadata().map_or(self.written, |about| about.len());
        let there = usize::try_from(length.saturating_sub(self.written)).unwrap_or(0).min(self.text.len());
        let whole = self.text[..there].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end.saturating_add(1));
        // a device cannot be cut, and stores nothing
        let _ = self.file.file().set_len(self.written.saturating_add(whole as u64));
        whole
    }

    /// Writes the rest and returns the file, which contains exactly the rows.
    pub fn finish(mut self) -> Result<PartialFile> {
        self.flush()?;
        let length = self.file.file().metadata().map_err(|source| self.failed(source))?.len();
        if length != self.written {
            let reason = format!("{length} bytes where {} were written: somebody else writes this file", self.written);
            return Err(self.failed(io::Error::other(reason)));
        }
        Ok(self.file)
    }
}

impl Record for CsvStream {
    fn row(&mut self, row: &[f64]) -> Result<()> {
        csv::push_row(row, &mut self.text);
        self.n_rows = self.n_rows.saturating_add(1);
        if self.text.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// A table has no events.
    fn event(&mut self, _event: Event) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_equals_table() {
        let names: Vec<String> = ["t", "x, y", "z"].map(String::from).to_vec();
        let path = std::env::temp_dir().join(format!("bristle-stream-{}.csv", std::process::id()));
        let (mut stream, mut table) = (CsvStream::create(&path, &names).unwrap(), crate::Recording::new(names));
        for k in 0..10_000 {
            let row = [f64::from(k) / 100.0, f64::from(k).sin(), 1e-300 / f64::from(k + 1)];
            stream.row(&row).unwrap();
            table.row(&row).unwrap();
        }
        stream.finish().unwrap();
        let mut expected = Vec::new();
        table.write_csv_to(&mut expected).unwrap();
        assert!(std::fs::read(&path).unwrap() == expected);
        std::fs::remove_file(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn replaced_file_ends_stream() {
        let names = vec!["t".to_owned()];
        let path = std::env::temp_dir().join(format!("bristle-replaced-{}.csv", std::process::id()));
        let mut stream = CsvStream::create(&path, &names).unwrap();
        stream.row(&[0.1]).unwrap();
        stream.flush().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "of somebody else").unwrap();
        let error = (0..PIECE).find_map(|_| stream.row(&[0.1]).err()).unwrap();
        assert!(error.to_string().contains("replaced while it was being written"), "{error}");
        // writes by others are detected, too
        let own = path.with_extension("own.csv");
        let stream = CsvStream::create(&own, &names).unwrap();
        std::fs::write(&own, "t\n1\n2\n").unwrap();
        assert!(stream.finish().unwrap_err().to_string().contains("somebody else"), "");
        [path, own].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_ends_stream() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let file = PartialFile::of(full, "/dev/full".into());
        let mut stream = CsvStream { file, text: Vec::new(), written: 0, n_rows: 0 };
        let error = (0..PIECE).find_map(|_| stream.row(&[0.1]).err()).unwrap();
        assert!(error.to_string().contains("/dev/full: No space left"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_missing_folders_are_refused() {
        let names = vec!["t".to_owned()];
        for (path, reason) in [("/dev/full", "a device"), ("/nowhere/at/all.csv", "No such file")] {
            let error = CsvStream::create(path, &names).unwrap_err().to_string();
            assert!(error.contains(path) && error.contains(reason), "{error}");
        }
    }
}

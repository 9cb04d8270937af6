//! Rows into a CSV file as they come, so that a run needs no memory for them and loses none of them.
//!
//! Text is gathered and written by the piece. Where a piece does not fit on the disk it is cut after the last row that does:
//! the file holds whole rows always.

use crate::csv;
use crate::error::{Error, Result};
use crate::record::{Event, Record};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
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
    path: PathBuf,
    file: File,
    /// Rows that are not yet in the file.
    text: Vec<u8>,
    /// Bytes in the file.
    written: u64,
}

/// An empty file that no other stream is writing: two runs of the same name must not mix their rows.
fn create_alone(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        // where files cannot be locked, nobody is kept out
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run is writing this file; name another one",
            ));
        }
        // one that has got its final name in between is left alone
        if is_at(&file, path) {
            // devices have no length
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            return Ok(file);
        }
    }
}

/// Whether an open file is still the one of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |about: io::Result<std::fs::Metadata>| about.map(|about| (about.dev(), about.ino())).ok();
    identity(file.metadata()) == identity(std::fs::metadata(path))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

impl CsvStream {
    /// A new file with the names of the channels. One that another stream is writing, in this program or another, is refused.
    pub fn create(path: impl Into<PathBuf>, names: &[String]) -> Result<Self> {
        let path = path.into();
        let start = || -> io::Result<_> {
            let mut text = Vec::with_capacity(PIECE + 4096);
            csv::write_header(names, &mut text)?;
            Ok((create_alone(&path)?, text))
        };
        match start() {
            Ok((file, text)) => Ok(Self { path, file, text, written: 0 }),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what was gathered; if that fails, as many whole rows as there is room for.
    pub fn flush(&mut self) -> Result<()> {
        let result = self.file.write_all(&self.text);
        let fits = match &result {
            Ok(()) => self.text.len(),
            Err(_) => self.cut(),
        };
        self.written += fits as u64;
        self.text.clear();
        result.map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    /// Cuts the file after the last whole row of `text` in it. Returns how much of `text` that leaves.
    fn cut(&mut self) -> usize {
        let length = self.file.metadata().map_or(self.written, |about| about.len());
        let there = usize::try_from(length.saturating_sub(self.written)).unwrap_or(0).min(self.text.len());
        let whole = self.text[..there].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        // a device cannot be cut, and keeps nothing
        let _ = self.file.set_len(self.written + whole as u64);
        whole
    }

    /// Writes the rest and returns the file.
    pub fn finish(mut self) -> Result<File> {
        self.flush()?;
        Ok(self.file)
    }
}

impl Record for CsvStream {
    fn row(&mut self, row: &[f64]) -> Result<()> {
        csv::push_row(row, &mut self.text);
        if self.text.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// A table has no place for events.
    fn event(&mut self, _event: Event) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_table() {
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_that_is_full_ends_the_stream_with_its_reason() {
        let names = vec!["t".to_owned()];
        let mut stream = CsvStream::create("/dev/full", &names).unwrap();
        let error = (0..PIECE).find_map(|_| stream.row(&[0.1]).err()).unwrap();
        assert!(error.to_string().contains("/dev/full"), "{error}");
        let error = CsvStream::create("/nowhere/at/all.csv", &names).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all.csv"), "{error}");
    }
}

//! Rows into a CSV file as they come, so that a run needs no memory for them and loses none of them.
//!
//! Turning numbers into digits and digits into a file is left to a thread of its own: a run hands it a block of rows now and
//! then and goes on. A block that does not fit on the disk is cut off again, so that the file holds whole rows always.

use crate::csv;
use crate::error::{Error, Result};
use crate::record::{Event, Record};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Numbers handed over at once, and blocks that may wait: 256 kB at most.
const BLOCK: usize = 2048;
const WAITING: usize = 16;

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
    n_columns: usize,
    block: Vec<f64>,
    /// Gone once the thread has ended.
    to: Option<SyncSender<Vec<f64>>>,
    writer: Option<JoinHandle<io::Result<File>>>,
}

impl CsvStream {
    /// A new file with the names of the channels.
    pub fn create(path: impl Into<PathBuf>, names: &[String]) -> Result<Self> {
        let path = path.into();
        let start = || -> io::Result<_> {
            let mut file = File::create(&path)?;
            let mut header = Vec::new();
            csv::write_header(names, &mut header)?;
            file.write_all(&header)?;
            let (to, blocks) = sync_channel(WAITING);
            let (n, written) = (names.len(), header.len() as u64);
            let writer =
                thread::Builder::new().name("results".into()).spawn(move || write(file, written, n, &blocks))?;
            Ok((to, writer))
        };
        let (to, writer) = start().map_err(|source| Error::Io { path: path.clone(), source })?;
        let block = Vec::with_capacity(BLOCK + names.len());
        Ok(Self { path, n_columns: names.len(), block, to: Some(to), writer: Some(writer) })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over what was gathered.
    pub fn flush(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + self.n_columns));
        match &self.to {
            Some(to) if to.send(block).is_ok() => Ok(()),
            // the thread has ended: it could not write
            _ => self.join().map(drop),
        }
    }

    /// Waits until everything is in the file, and returns it.
    pub fn finish(mut self) -> Result<File> {
        self.flush()?;
        self.join()
    }

    fn join(&mut self) -> Result<File> {
        self.to = None;
        let ended = self.writer.take().map(JoinHandle::join);
        let result = match ended {
            Some(Ok(result)) => result,
            // said already, or a panic in the thread
            Some(Err(_)) | None => Err(io::Error::other("the file is no longer written")),
        };
        result.map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

impl Record for CsvStream {
    fn row(&mut self, row: &[f64]) -> Result<()> {
        debug_assert_eq!(row.len(), self.n_columns);
        self.block.extend_from_slice(row);
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// A table has no place for events.
    fn event(&mut self, _event: Event) -> Result<()> {
        Ok(())
    }
}

/// Writes blocks of rows of `n` numbers until there are no more; `written` bytes are in the file.
fn write(mut file: File, mut written: u64, n: usize, blocks: &Receiver<Vec<f64>>) -> io::Result<File> {
    let mut text = Vec::new();
    for block in blocks {
        text.clear();
        block.chunks_exact(n.max(1)).try_for_each(|row| csv::write_row(row, &mut text))?;
        if let Err(error) = file.write_all(&text) {
            // no half rows; a device cannot be cut, and keeps nothing
            let _ = file.set_len(written);
            return Err(error);
        }
        written += text.len() as u64;
    }
    Ok(file)
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
        // room for the header alone: the device refuses the first byte, so the header too
        assert!(matches!(CsvStream::create("/dev/full", &names), Err(Error::Io { .. })));
        let error = CsvStream::create("/nowhere/at/all.csv", &names).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all.csv"), "{error}");
    }
}

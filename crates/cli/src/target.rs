//! Files that stand under their name only when they are complete.
//!
//! What is written goes to `NAME.partial.EXT` beside the target, which takes the target's name at the end. A run that
//! fails, is interrupted or killed, or a disk that is full, leaves the partial file, whose name says what it is, and
//! whatever stood under the final name before.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// `out.csv` → `out.partial.csv`
pub fn partial_name(path: &Path, extension: Option<&str>) -> PathBuf {
    let own = path.extension().map(|extension| extension.to_string_lossy());
    let extension = extension.map(str::to_owned).or(own.map(|own| own.into_owned()));
    let extension = extension.map_or_else(String::new, |extension| format!(".{extension}"));
    let stem = path.file_stem().map_or_else(|| "results".into(), |stem| stem.to_string_lossy());
    path.with_file_name(format!("{stem}.partial{extension}"))
}

/// Refuses, before there is anything to write, a path that nothing can be written to.
pub fn check(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!("{}: this is a directory; name a file", path.display());
    }
    if path.file_name().is_none() {
        bail!("{}: this is not the name of a file", path.display());
    }
    let partial = partial_name(path, None);
    let is_new = !partial.exists();
    let opened = File::options().create(true).append(true).open(&partial);
    opened.with_context(|| format!("cannot write {}", path.display()))?;
    if is_new {
        let _ = fs::remove_file(&partial);
    }
    Ok(())
}

/// Writes all of a file at once.
pub fn write(path: &Path, content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>) -> Result<()> {
    let partial = partial_name(path, None);
    write_as(&partial, content)
        .and_then(|()| Ok(fs::rename(&partial, path)?))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The same under the name of an incomplete file, which is returned.
pub fn write_partial(path: &Path, content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>) -> Result<PathBuf> {
    let partial = partial_name(path, None);
    write_as(&partial, content).with_context(|| format!("cannot write {}", partial.display()))?;
    Ok(partial)
}

fn write_as(path: &Path, content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut file = io::BufWriter::with_capacity(1 << 16, File::create(path)?);
    content(&mut file)?;
    sync(&file.into_inner().map_err(io::IntoInnerError::into_error)?)
}

/// Onto the disk, where the file is on one.
fn sync(file: &File) -> Result<()> {
    match file.sync_all() {
        // devices and pipes have nothing to synchronise
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => Ok(result?),
    }
}

/// Bytes gathered before they are written.
const CHUNK: usize = 1 << 16;

/// A file that grows by whole pieces: where there is no room for all of a piece, there is none of it.
pub struct Stream {
    /// Where it stands while it grows.
    pub partial: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes in the file.
    written: u64,
}

impl Stream {
    /// An empty file beside `path`, with another extension if one is given.
    pub fn create(path: &Path, extension: Option<&str>) -> Result<Self> {
        let partial = partial_name(path, extension);
        let file = File::create(&partial).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { partial, file, buffer: Vec::with_capacity(2 * CHUNK), written: 0 })
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        piece(&mut self.buffer)?;
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered. On failure the file is cut to the pieces that were there before.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let result = self.file.write_all(&self.buffer);
        match &result {
            Ok(()) => self.written += self.buffer.len() as u64,
            // a device cannot be cut, and keeps nothing
            Err(_) => drop(self.file.set_len(self.written)),
        }
        self.buffer.clear();
        result
    }

    /// All there will be: the file takes its name.
    pub fn complete(mut self, path: &Path) -> Result<()> {
        let all = |stream: &mut Self| -> Result<()> {
            stream.flush()?;
            sync(&stream.file)?;
            Ok(fs::rename(&stream.partial, path)?)
        };
        all(&mut self).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The file is not needed any more.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.partial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_names_say_so_and_keep_their_kind() {
        assert_eq!(partial_name(Path::new("a/out.csv"), None), Path::new("a/out.partial.csv"));
        assert_eq!(partial_name(Path::new("out"), None), Path::new("out.partial"));
        assert_eq!(partial_name(Path::new("out.npz"), Some("csv")), Path::new("out.partial.csv"));
    }
}

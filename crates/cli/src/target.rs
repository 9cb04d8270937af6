//! Files that stand under their name only when they are complete.
//!
//! What is written goes to `NAME.partial.EXT` beside the target, which takes the target's name at the end. A run that
//! fails, is interrupted or killed, or a disk that is full, leaves the partial file, whose name says what it is, and
//! whatever stood under the final name before.

use anyhow::{Context, Result, bail};
use bristle::stream::CsvStream;
use std::fs::{self, File};
use std::io;
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
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        bail!(
            "{}: this is a device or a pipe, which a file cannot replace; `--out -` writes to standard output",
            path.display()
        );
    }
    let partial = partial_name(path, None);
    if partial.is_dir() {
        bail!(
            "{}: this is a directory, and {} goes by that name until it is complete; name another file",
            partial.display(),
            path.display()
        );
    }
    let is_new = !partial.exists();
    let opened = File::options().create(true).append(true).open(&partial);
    opened.with_context(|| format!("cannot write {}", path.display()))?;
    if is_new {
        let _ = fs::remove_file(&partial);
    }
    Ok(())
}

/// The file that a link leads to: the link stays one.
fn destination(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether two names are those of one file, which need not be there yet.
pub fn is_same(a: &Path, b: &Path) -> bool {
    place(a) == place(b)
}

/// The file itself, however it is spelt and whatever links lead to it.
fn place(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return destination(path),
    };
    let among = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(among).unwrap_or_else(|| path.to_owned())
}

/// Writes all of a file at once.
pub fn write(path: &Path, content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>) -> Result<()> {
    write_by(path, &partial_name(path, None), content)
}

/// The same by way of an incomplete file of another name than the usual one.
pub fn write_by(
    path: &Path,
    partial: &Path,
    content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>,
) -> Result<()> {
    write_partial(partial, content).with_context(|| format!("cannot write {}", path.display()))?;
    let renamed = fs::rename(partial, destination(path));
    renamed.with_context(|| format!("cannot rename {} to {}", partial.display(), path.display()))
}

/// Writes all of an incomplete file. One that cannot be written is not left behind.
pub fn write_partial(partial: &Path, content: impl FnOnce(&mut io::BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut file = io::BufWriter::with_capacity(1 << 16, File::create(partial)?);
    let written = content(&mut file).and_then(|()| sync(&file.into_inner().map_err(io::IntoInnerError::into_error)?));
    if written.is_err() {
        remove(partial);
    }
    written
}

/// Onto the disk, where the file is on one.
fn sync(file: &File) -> Result<()> {
    match file.sync_all() {
        // devices and pipes have nothing to synchronise
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => Ok(result?),
    }
}

/// Whether an earlier run has left rows under the name of an incomplete file.
pub fn is_left(partial: &Path) -> bool {
    fs::metadata(partial).is_ok_and(|about| about.is_file() && about.len() > 0)
}

/// All rows are there: the table takes its name.
pub fn complete(stream: CsvStream, path: &Path) -> Result<()> {
    let partial = stream.path().to_owned();
    // nobody else may write it before it has its name
    let file = stream.finish()?;
    sync(&file).with_context(|| format!("cannot write {}", partial.display()))?;
    let renamed = fs::rename(&partial, destination(path));
    drop(file);
    renamed.with_context(|| format!("cannot rename {} to {}", partial.display(), path.display()))
}

/// The table is not needed any more.
pub fn discard(stream: CsvStream) {
    let partial = stream.path().to_owned();
    // what could not be written is not wanted either
    let _ = stream.finish();
    remove(&partial);
}

/// A file that was made on the way is not needed any more.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
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

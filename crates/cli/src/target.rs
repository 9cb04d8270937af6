//! Names of files that stand under their name only when they are complete, and what is refused before anything is
//! written.
//!
//! Everything a command writes goes to `NAME.partial.EXT` beside the target, which takes the target's name at the end:
//! see [`bristle::atomic_file`]. A run that fails, is interrupted or killed, or a disk that is full, leaves the partial
//! file, whose name says what it is, and whatever stood under the final name before. A file that a command reads is
//! never one that it writes.

use anyhow::{Context, Result, bail, ensure};
use bristle::atomic_file::{self, PartialFile, destination};
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

/// Refuses, before there is anything to write, a path that nothing can be written to, or that is one of the files that
/// are read.
pub fn check(path: &Path, inputs: &[&Path]) -> Result<()> {
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
    check_inputs(path, inputs)?;
    let partial = partial_name(path, None);
    check_partial(&partial, path)?;
    // a file of no other's can be made there
    let probe = path.with_file_name(format!(".bristle-{}-{:?}", std::process::id(), std::thread::current().id()));
    let probed = PartialFile::create(probe).with_context(|| format!("cannot write {}", path.display()))?;
    probed.discard();
    Ok(())
}

/// Refuses a file that is read, also as the one that the output goes by on its way.
pub fn check_inputs(path: &Path, inputs: &[&Path]) -> Result<()> {
    if inputs.iter().any(|input| is_same(path, input)) {
        bail!("{}: this is the file that is read; name another file for the output", path.display());
    }
    let partial = partial_name(path, None);
    if inputs.iter().any(|input| is_same(&partial, input)) {
        bail!(
            "{}: this is the file that is read, and {} goes by that name until it is complete; name another file",
            partial.display(),
            path.display()
        );
    }
    Ok(())
}

/// Refuses what stands under the name of a file on its way to `path` and is no file.
pub fn check_partial(partial: &Path, path: &Path) -> Result<()> {
    match atomic_file::check_regular(partial) {
        Ok(_) => Ok(()),
        Err(error) => {
            bail!("{}: {error} ({} goes by that name until it is complete)", partial.display(), path.display())
        }
    }
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
pub fn write(path: &Path, content: impl FnOnce(&mut io::BufWriter<&File>) -> Result<()>) -> Result<()> {
    write_by(path, &partial_name(path, None), content)
}

/// The same by way of an incomplete file of another name than the usual one.
pub fn write_by(
    path: &Path,
    partial: &Path,
    content: impl FnOnce(&mut io::BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    atomic_file::write(path, partial, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes all of an incomplete file. One that cannot be written is not left behind.
pub fn write_partial(partial: &Path, content: impl FnOnce(&mut io::BufWriter<&File>) -> Result<()>) -> Result<()> {
    atomic_file::write_partial(partial, content)
        .map(drop)
        .with_context(|| format!("cannot write {}", partial.display()))
}

/// Whether an earlier run has left rows under the name of an incomplete file.
pub fn is_left(partial: &Path) -> bool {
    fs::symlink_metadata(partial).is_ok_and(|about| about.is_file() && about.len() > 0)
}

/// All rows are there, `n_rows` of them: the table takes its name.
pub fn complete(stream: CsvStream, n_rows: usize, path: &Path) -> Result<()> {
    ensure!(stream.n_rows() == n_rows, "{} rows written of {n_rows} recorded", stream.n_rows());
    let file = stream.finish()?;
    file.commit(path).with_context(|| format!("cannot rename {} to {}", file.path().display(), path.display()))
}

/// The table is not needed any more.
pub fn discard(stream: CsvStream) {
    // what could not be written is not wanted either
    if let Ok(file) = stream.finish() {
        file.discard();
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

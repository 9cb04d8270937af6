//! Files that stand under their name only when they are complete.
//!
//! Content goes to a partial file beside the target, which takes the target's name by one `rename` at the end:
//! whoever opens the target sees the old content or the new, never half of it. The order is write, `fsync` of the
//! file, `rename`, `fsync` of the directory, so that a power cut leaves one of the two as well.
//!
//! The partial file is the writer's alone:
//! - it is created (`O_EXCL`), and locked until it has its final name. One that another writer has locked is refused;
//!   one that an earlier writer has left is removed first, never written into, so that another name (hard link) of it
//!   keeps its content;
//! - whatever stands under its name and is no regular file (a symbolic link, a pipe, a device, a directory) is
//!   refused and not opened through (`O_NOFOLLOW`) nor waited for (`O_NONBLOCK`);
//! - a partial file that is removed or replaced by somebody while it grows is noticed: [`PartialFile::is_in_place`].
//!
//! Where files cannot be locked (some network file systems) the last of these is what remains.

use crate::error::Error;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Times that other writers may come and go under the same name while a file is created.
const MAX_TRIES: usize = 100;

/// A file on its way to its name: open for reading and writing, locked. Dropped, it stays where it is.
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    path: PathBuf,
}

impl PartialFile {
    /// An empty file of this name that nobody else writes. See the [module](self).
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        for _ in 0..MAX_TRIES {
            match open(&path, true) {
                Ok(file) => {
                    lock(&file)?;
                    let created = Self { file, path: path.clone() };
                    if created.is_in_place() {
                        return Ok(created);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove_left(&path)?,
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// The one that an earlier writer has left, to be continued.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        check_regular(&path)?;
        let file = open(&path, false)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(not_regular(about.file_type()));
        }
        lock(&file)?;
        Ok(Self { file, path })
    }

    /// Any file, for tests.
    #[cfg(test)]
    pub(crate) fn of(file: File, path: PathBuf) -> Self {
        Self { file, path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether the name is still that of this file: not so once somebody has removed or replaced it.
    pub fn is_in_place(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// An error if the file was removed or replaced.
    pub fn check_in_place(&self) -> io::Result<()> {
        check_at(&self.file, &self.path)
    }

    /// Content is complete: the file takes the name `path`, for good. A symbolic link of that name is replaced, and
    /// the file it leads to stays as it is: the partial file stands beside the link, and a link may lead anywhere.
    pub fn commit(&self, path: &Path) -> io::Result<()> {
        let replaces = fs::symlink_metadata(path).map(|about| about.file_type());
        if replaces.is_ok_and(|kind| !kind.is_file() && !kind.is_symlink()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "only a regular file can be replaced"));
        }
        self.sync()?;
        self.check_in_place()?;
        fs::rename(&self.path, path)?;
        sync_directory(path)
    }

    /// Onto the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The file is not needed any more. One that somebody has put in its place stays.
    pub fn discard(&self) {
        if self.is_in_place() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes all of a file by way of the partial file `partial`, which is gone afterwards, whether that went well or not.
pub fn write<E: From<io::Error>>(
    path: &Path,
    partial: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), E> {
    let file = write_partial(partial, content)?;
    let renamed = file.commit(path);
    if renamed.is_err() {
        file.discard();
    }
    Ok(renamed?)
}

/// [`write`] by way of `PATH.partial`.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    write(path, partial.as_ref(), content).map_err(|source| Error::Io { path: path.into(), source })
}

/// Writes all of a partial file, onto the disk. One that cannot be written is not left behind.
pub fn write_partial<E: From<io::Error>>(
    partial: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<PartialFile, E> {
    let partial = PartialFile::create(partial)?;
    let mut out = BufWriter::with_capacity(1 << 16, partial.file());
    let written = content(&mut out).and_then(|()| Ok(out.flush()?)).and_then(|()| Ok(partial.sync()?));
    drop(out);
    match written {
        Ok(()) => Ok(partial),
        Err(error) => {
            partial.discard();
            Err(error)
        }
    }
}

/// The file that a link leads to.
pub fn destination(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Refuses what is no regular file. `Ok(false)` if there is nothing of that name.
pub fn check_regular(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => Ok(true),
        Ok(about) => Err(not_regular(about.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn not_regular(kind: fs::FileType) -> io::Error {
    let what = match kind {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        _ => "a device or a pipe",
    };
    let reason =
        format!("this is {what}, which is neither written through nor removed; remove it or name another file");
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another run is writing this file; name another one")
}

/// Removes a regular file that an earlier writer has left and nobody is writing.
fn remove_left(path: &Path) -> io::Result<()> {
    match PartialFile::open(path) {
        // one that has got its final name in between is left alone
        Ok(left) if left.is_in_place() => fs::remove_file(path),
        Ok(_) => Ok(()),
        // gone in the meantime
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn open(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(is_new);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

/// Where files cannot be locked, nobody is kept out.
fn lock(file: &File) -> io::Result<()> {
    if let Err(TryLockError::WouldBlock) = file.try_lock() { Err(busy()) } else { Ok(()) }
}

/// An error if an open file is not the one of that name any more, which is no link.
pub fn check_at(file: &File, path: &Path) -> io::Result<()> {
    if is_at(file, path) {
        Ok(())
    } else {
        Err(io::Error::other("this file was removed or replaced while it was being written"))
    }
}

/// Whether an open file is still the one of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(own), Ok(there)) => identity(own) == identity(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// A name is on the disk when its directory is.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // one that may be written but not read, or a file system that has no such thing, leaves it to chance
    let Ok(directory) = File::open(directory) else { return Ok(()) };
    match directory.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

/// Nothing, where directories cannot be synchronised.
#[cfg(not(unix))]
pub fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, gone when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("bristle-atomic-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn put(path: &Path, partial: &Path, text: &str) -> io::Result<()> {
        write(path, partial, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn a_failed_write_leaves_the_old_content() {
        let folder = Folder::new("fails");
        let (path, partial) = (folder.0.join("a.txt"), folder.0.join("a.partial.txt"));
        put(&path, &partial, "old").unwrap();
        let failed = write(&path, &partial, |file| {
            file.write_all(b"half of the ne")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), folder.names()), ("old", vec!["a.txt".to_owned()]));
        put(&path, &partial, "new").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), folder.names().len()), ("new", 1));
    }

    #[test]
    fn a_partial_file_has_one_writer() {
        let folder = Folder::new("one");
        let (path, partial) = (folder.0.join("a.txt"), folder.0.join("a.partial.txt"));
        let first = PartialFile::create(&partial).unwrap();
        first.file().write_all(b"first").unwrap();
        assert_eq!(PartialFile::create(&partial).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        first.commit(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        // one that was left behind is replaced
        fs::write(&partial, "left").unwrap();
        put(&path, &partial, "second").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), folder.names().len()), ("second", 1));
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_devices_are_refused() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        let (path, partial, victim) =
            (folder.0.join("a.txt"), folder.0.join("a.partial.txt"), folder.0.join("victim.txt"));
        fs::write(&victim, "precious").unwrap();
        for target in [victim.as_path(), Path::new("/dev/full"), Path::new("nowhere")] {
            symlink(target, &partial).unwrap();
            assert!(put(&path, &partial, "x").unwrap_err().to_string().contains("a symbolic link"));
            assert!(fs::symlink_metadata(&partial).unwrap().is_symlink());
            fs::remove_file(&partial).unwrap();
        }
        assert!(std::process::Command::new("mkfifo").arg(&partial).status().unwrap().success());
        assert!(put(&path, &partial, "x").unwrap_err().to_string().contains("a pipe"));
        fs::remove_file(&partial).unwrap();
        // another name of a file: only this one is taken away
        fs::hard_link(&victim, &partial).unwrap();
        put(&path, &partial, "x").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(folder.names(), ["a.txt", "victim.txt"]);
        // a link of the final name gives way to the file, wherever it leads
        for target in [victim.as_path(), Path::new("/dev/full"), Path::new("nowhere")] {
            fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            put(&path, &partial, "y").unwrap();
            assert!(fs::symlink_metadata(&path).unwrap().is_file());
            assert_eq!(fs::read_to_string(&path).unwrap(), "y");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_partial_file_is_noticed() {
        let folder = Folder::new("replaced");
        let (path, partial) = (folder.0.join("a.txt"), folder.0.join("a.partial.txt"));
        let own = PartialFile::create(&partial).unwrap();
        fs::remove_file(&partial).unwrap();
        fs::write(&partial, "of somebody else").unwrap();
        assert!(!own.is_in_place());
        assert!(own.commit(&path).unwrap_err().to_string().contains("replaced"));
        assert_eq!((fs::read_to_string(&partial).unwrap().as_str(), path.exists()), ("of somebody else", false));
    }
}

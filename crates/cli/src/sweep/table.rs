//! The table of a sweep, which a killed sweep finds again.
//!
//! Rows stand in the order of the points, so that the file is the same for any number of threads. A row that is done
//! before one that comes earlier waits for it in a second file, `NAME.ahead.EXT`, so that no point that is done is lost
//! with the program; when all rows are in their places, that file is gone. Its first line says that it is such a file:
//! one of that name without that line is somebody else's, and the sweep is refused.

use super::grid::Points;
use bristle::atomic_file::{PartialFile, check_at, check_regular, sync_directory};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const OTHER: &str = "this is the table of another sweep, or of another scene; give a new file";

/// A table that grows row by row.
pub struct Table {
    path: PathBuf,
    file: File,
    ahead: Ahead,
    /// Rows in their places.
    n_written: usize,
    /// Rows that wait for others, by their place.
    waiting: BTreeMap<usize, String>,
    /// Rows in the file or waiting that tell of a failure.
    n_failed: usize,
}

/// Contents of a table.
pub struct Contents<'a> {
    /// The line of names.
    pub header: &'a str,
    /// The points of its rows.
    pub points: Points,
    /// First fields of row `i`: number and values of its point.
    pub start: &'a dyn Fn(usize) -> String,
    /// Row `i`, computed.
    pub row: &'a dyn Fn(usize) -> String,
}

/// Whether a row tells of a failure: its last column is not empty.
pub fn is_failure(row: &str) -> bool {
    !row.ends_with(",\n")
}

impl Table {
    /// Opens a file and takes what is in it of the same table; a line without its end is dropped. The last whole row is
    /// computed again and must come out the same: else the file is refused and stays as it is.
    pub fn open(path: &Path, wanted: &Contents) -> Result<Self, String> {
        let said = |error: io::Error| error.to_string();
        let (ahead_path, mark) = (ahead_name(path), mark(path));
        Ahead::left(&ahead_path, &mark)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(said)?;
        let path = path.to_owned();
        // a sweep that was killed a moment ago may still be on its way out; where files cannot be locked, nobody is
        // kept out
        let mut tries = 20;
        while let Err(TryLockError::WouldBlock) = file.try_lock() {
            if tries == 0 {
                return Err("another sweep is at work on this file".into());
            }
            tries -= 1;
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(said)?;
        let left = Ahead::left(&ahead_path, &mark)?;

        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let Some(rows) = whole.strip_prefix(wanted.header) else {
            if !wanted.header.starts_with(&text) {
                return Err("there is something else in this file; give a new one".into());
            }
            // a new table: rows beside it are those of one that was deleted
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(said)?;
            file.write_all(wanted.header.as_bytes()).map_err(said)?;
            let ahead = Ahead::new(ahead_path, mark + wanted.header).map_err(said)?;
            return Ok(Self { path, file, ahead, n_written: 0, waiting: BTreeMap::new(), n_failed: 0 });
        };

        // rows in their places
        let rows: Vec<&str> = rows.split_inclusive('\n').collect();
        if rows.len() > wanted.points.len()
            || !rows.iter().enumerate().all(|(i, row)| row.starts_with(&(wanted.start)(i)))
        {
            return Err(OTHER.into());
        }
        let n_written = rows.len();
        // and rows that waited for others
        let waiting = waiting_in(left.strip_prefix(&mark).unwrap_or(""), wanted, n_written);
        let last = rows.last().map(|row| (n_written - 1, *row));
        let sample = last.or_else(|| waiting.first_key_value().map(|(&i, row)| (i, row.as_str())));
        if let Some((i, row)) = sample
            && (wanted.row)(i) != row
        {
            return Err(OTHER.into());
        }

        let n_failed = rows.iter().copied().chain(waiting.values().map(String::as_str)).filter(|row| is_failure(row));
        let n_failed = n_failed.count();
        file.set_len(whole.len() as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(said)?;
        let ahead = if waiting.is_empty() {
            Ahead::new(ahead_path, mark + wanted.header)
        } else {
            Ahead::continued(ahead_path, mark + wanted.header, left.rfind('\n').map_or(0, |end| end + 1))
        };
        let ahead = ahead.map_err(said)?;
        let mut table = Self { path, file, ahead, n_written, waiting, n_failed };
        table.write_ready().map_err(said)?;
        Ok(table)
    }

    /// Puts row `i` where it is safe: in its place if all before it are there.
    pub fn put(&mut self, i: usize, row: String) -> io::Result<()> {
        self.n_failed += usize::from(is_failure(&row));
        if i != self.n_written {
            self.ahead.push(&row)?;
        }
        self.waiting.insert(i, row);
        self.write_ready()
    }

    /// Writes the waiting rows that follow the written ones.
    fn write_ready(&mut self) -> io::Result<()> {
        let mut text = String::new();
        while let Some(row) = self.waiting.remove(&self.n_written) {
            text.push_str(&row);
            self.n_written += 1;
        }
        check_in_place(&self.file, &self.path)?;
        self.file.write_all(text.as_bytes())?;
        if self.waiting.is_empty() { self.ahead.clear() } else { Ok(()) }
    }

    /// All rows are in their places: onto the disk.
    pub fn finish(&self) -> io::Result<()> {
        check_in_place(&self.file, &self.path)?;
        self.file.sync_all()?;
        sync_directory(&self.path)
    }

    /// The name it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows in their places: all before this one.
    pub fn n_written(&self) -> usize {
        self.n_written
    }

    /// Rows that are done.
    pub fn n_done(&self) -> usize {
        self.n_written + self.waiting.len()
    }

    /// Rows that tell of a failure.
    pub fn n_failed(&self) -> usize {
        self.n_failed
    }

    /// Whether row `i` is done.
    pub fn has(&self, i: usize) -> bool {
        i < self.n_written || self.waiting.contains_key(&i)
    }
}

/// An error if the table was removed or replaced. It may be a link to a file elsewhere.
fn check_in_place(file: &File, path: &Path) -> io::Result<()> {
    check_at(file, &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

/// Whole rows of the second file that are not in the first, by their place. They count only with the names of this
/// table.
fn waiting_in(text: &str, wanted: &Contents, n_written: usize) -> BTreeMap<usize, String> {
    let rows = text.strip_prefix(wanted.header).unwrap_or("").split_inclusive('\n');
    rows.filter(|row| row.ends_with('\n'))
        .filter_map(|row| {
            let i = wanted.points.place(row.split(',').next()?.parse().ok()?)?;
            (i >= n_written && row.starts_with(&(wanted.start)(i))).then(|| (i, row.to_owned()))
        })
        .collect()
}

/// `sweep.csv` → `sweep.ahead.csv`
fn ahead_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().map_or_else(|| "sweep".into(), |stem| stem.to_string_lossy());
    let extension = path.extension().map_or_else(String::new, |own| format!(".{}", own.to_string_lossy()));
    path.with_file_name(format!("{stem}.ahead{extension}"))
}

/// The first line of the second file: a table never begins so.
fn mark(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| "sweep".into(), |name| name.to_string_lossy());
    format!("# rows of {} that are done before their turn: `bristle sweep` takes them from here\n", name.escape_debug())
}

/// The second file: there while rows wait.
struct Ahead {
    path: PathBuf,
    /// Its first line.
    header: String,
    file: Option<PartialFile>,
}

impl Ahead {
    /// Text left there by an earlier sweep of this table; any other file is refused.
    fn left(path: &Path, mark: &str) -> Result<String, String> {
        let refused = |reason: &str| {
            format!(
                "{}: {reason}; rows that are done before their turn go by that name: give another table",
                path.display()
            )
        };
        match check_regular(path) {
            Ok(false) => return Ok(String::new()),
            Ok(true) => {}
            Err(error) => return Err(refused(&error.to_string())),
        }
        let text = fs::read(path).map_err(|error| refused(&error.to_string()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.starts_with(mark) || mark.starts_with(&text) {
            Ok(text)
        } else {
            Err(refused("this file is not of this sweep"))
        }
    }

    /// None so far; what an earlier sweep of this table left is taken away.
    fn new(path: PathBuf, header: String) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(Self { path, header, file: None }),
        }
    }

    /// The one there is, up to the end of its last whole row.
    fn continued(path: PathBuf, header: String, length: usize) -> io::Result<Self> {
        let file = PartialFile::open(&path)?;
        file.file().set_len(length as u64)?;
        file.file().seek(SeekFrom::End(0))?;
        Ok(Self { path, header, file: Some(file) })
    }

    fn push(&mut self, row: &str) -> io::Result<()> {
        match &mut self.file {
            Some(file) => {
                file.check_in_place()?;
                file.file().write_all(row.as_bytes())
            }
            None => {
                let file = PartialFile::create(&self.path)?;
                file.file().write_all((self.header.clone() + row).as_bytes())?;
                self.file = Some(file);
                Ok(())
            }
        }
    }

    fn clear(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.discard();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "point,x,t,error\n";

    fn start(i: usize) -> String {
        format!("{i},{:?},", i as f64 / 4.0)
    }

    fn row(i: usize) -> String {
        if i == 3 { start(i) + ",\"no, it failed\"\n" } else { start(i) + "1.5,\n" }
    }

    /// A table of six rows; which of them were computed again.
    fn open(path: &Path) -> Result<(Table, Vec<usize>), String> {
        let again = std::cell::RefCell::new(Vec::new());
        let compute = |i: usize| {
            again.borrow_mut().push(i);
            row(i)
        };
        let contents = Contents { header: HEADER, points: Points::new(6, (1, 1)), start: &start, row: &compute };
        let table = Table::open(path, &contents)?;
        Ok((table, again.take()))
    }

    /// A folder of this test's own, gone when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("bristle-table-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rows_survive_a_kill_at_any_time() {
        let folder = Folder::new("kill");
        let (path, ahead) = (folder.0.join("sweep.csv"), folder.0.join("sweep.ahead.csv"));
        let whole: String = HEADER.to_owned() + &(0..6).map(row).collect::<String>();
        for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [1, 0, 3, 5, 2, 4], [3, 1, 5, 0, 4, 2]] {
            let _ = fs::remove_file(&path);
            for done in 0..=6_usize {
                // what is done so far is there, in the table up to the first row that is missing; then the program ends
                let (mut table, again) = open(&path).unwrap();
                assert_eq!(table.n_done(), done.saturating_sub(1), "{order:?}");
                assert!(again.len() <= 1);
                assert!((0..6).all(|i| table.has(i) == order[..table.n_done()].contains(&i)), "{order:?} {done}");
                for &i in &order[table.n_done()..done] {
                    table.put(i, row(i)).unwrap();
                }
                let known = &order[..done];
                let n = (0..6).take_while(|i| known.contains(i)).count();
                assert_eq!(
                    fs::read_to_string(&path).unwrap(),
                    whole.split_inclusive('\n').take(n + 1).collect::<String>()
                );
                assert_eq!(table.n_failed(), usize::from(known.contains(&3)));
                assert_eq!(ahead.exists(), n < done, "{order:?} {done}");
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        }
    }

    #[test]
    fn torn_rows_are_dropped_and_strangers_refused() {
        let folder = Folder::new("torn");
        let (path, ahead) = (folder.0.join("sweep.csv"), folder.0.join("sweep.ahead.csv"));
        let two = HEADER.to_owned() + &row(0) + &row(1);
        for torn in [two.clone() + "2,0.", two.clone() + "2", two.clone()] {
            fs::write(&path, torn).unwrap();
            fs::write(&ahead, mark(&path) + HEADER + &row(4) + &row(3)[..9]).unwrap();
            let (mut table, again) = open(&path).unwrap();
            assert_eq!((table.n_written(), table.n_done(), again), (2, 3, vec![1]));
            table.put(2, row(2)).unwrap();
            table.put(3, row(3)).unwrap();
            assert_eq!((table.n_written(), table.n_failed()), (5, 1));
            assert!(!ahead.exists());
        }
        // other values, other results, other names: the file stays as it is
        for other in [
            two.replace("0.25", "0.35"),
            two.replace("1.5", "1.6"),
            two.replace("point,x", "point,y"),
            HEADER.to_owned() + &row(1),
            "something".into(),
        ] {
            fs::write(&path, &other).unwrap();
            let refused = open(&path).err().unwrap();
            assert!(refused.contains("give a new"), "{refused}");
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        // rows beside a table that was deleted, or of other results, are not taken over
        fs::write(&ahead, mark(&path) + HEADER + &row(4)).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(open(&path).unwrap().0.n_done(), 0);
        fs::write(&ahead, mark(&path) + HEADER + &row(4).replace("1.5", "1.6")).unwrap();
        assert!(open(&path).is_err());
        // a file that this sweep has not made is refused, and stays: a table of the same points, or anything else
        for other in [HEADER.to_owned() + &row(4), "precious,data\n1,2\n".into(), mark(&ahead) + HEADER + &row(4)] {
            fs::write(&ahead, &other).unwrap();
            for is_new in [false, true] {
                let refused = open(&path).err().unwrap();
                assert!(refused.contains("not of this sweep"), "{refused}");
                assert_eq!(fs::read_to_string(&ahead).unwrap(), other);
                if !is_new {
                    let _ = fs::remove_file(&path);
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_table_that_is_removed_or_replaced_ends_the_sweep() {
        let folder = Folder::new("removed");
        let (path, target, link) = (folder.0.join("sweep.csv"), folder.0.join("target.csv"), folder.0.join("link.csv"));
        let mut table = open(&path).unwrap().0;
        table.put(0, row(0)).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(table.put(1, row(1)).unwrap_err().to_string().contains("removed or replaced"));
        assert!(table.finish().is_err());
        fs::write(&path, "of somebody else").unwrap();
        assert!(table.put(2, row(2)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "of somebody else");
        // a link to a table elsewhere is followed, as long as it leads there
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut table = open(&link).unwrap().0;
        table.put(0, row(0)).unwrap();
        table.finish().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), HEADER.to_owned() + &row(0));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(table.put(1, row(1)).is_err());
    }

    #[test]
    fn one_table_has_one_writer() {
        let folder = Folder::new("lock");
        let path = folder.0.join("sweep.csv");
        let held = open(&path).unwrap();
        assert!(open(&path).err().unwrap().contains("another sweep"));
        drop(held);
        assert!(open(&path).is_ok());
    }
}

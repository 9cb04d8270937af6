//! The memory of a run as bytes, written and read by one description, so that the two cannot differ.
//!
//! ```text
//!     archived!(Euler { n, h, fresh, y0, … })   ─▶   every field in turn, out of it or into it
//! ```
//!
//! A description names every field, or it does not compile: a field that is added to a stepper later is part of its
//! memory too. Numbers are stored by their bits, eight bytes each, little-endian; the length of a list comes before it,
//! and is that of the list it is read into, except where a list grows and shrinks ([`Archive::list`]). Numbers that
//! count something have a condition (`fits`). Bytes that end too early or violate a condition make the archive *bad*
//! ([`Archive::is_good`]); values read before are in place. Archives that are stored need a version and a checksum
//! around them.

/// Beyond any real count: counts below it can be added without overflow.
pub const MOST: usize = usize::MAX / 4;

/// Bytes being written, or being read. See the [module](self).
#[derive(Debug)]
pub struct Archive<'b> {
    written: Vec<u8>,
    /// Bytes left to read; `None` while writing.
    unread: Option<&'b [u8]>,
    is_bad: bool,
}

impl<'b> Archive<'b> {
    /// Appends to `bytes`.
    pub fn writing(bytes: Vec<u8>) -> Self {
        Self { written: bytes, unread: None, is_bad: false }
    }

    /// Reads `bytes`.
    pub fn reading(bytes: &'b [u8]) -> Self {
        Self { written: Vec::new(), unread: Some(bytes), is_bad: false }
    }

    /// Whether it is being read.
    pub fn is_reading(&self) -> bool {
        self.unread.is_some()
    }

    /// Marks the archive as bad: it is inconsistent.
    pub fn refuse(&mut self) {
        self.is_bad = true;
    }

    /// Whether everything was consistent, and nothing is left over.
    pub fn is_good(&self) -> bool {
        !self.is_bad && self.unread.is_none_or(<[u8]>::is_empty)
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.written
    }

    /// Eight bytes; 0 where there are none left.
    pub fn word(&mut self, word: &mut u64) {
        let Some(unread) = &mut self.unread else {
            self.written.extend_from_slice(&word.to_le_bytes());
            return;
        };
        let Some((bytes, rest)) = unread.split_first_chunk::<8>() else {
            (self.is_bad, *word) = (true, 0);
            return;
        };
        *word = u64::from_le_bytes(*bytes);
        *unread = rest;
    }

    /// Bytes with their number before them.
    pub fn bytes(&mut self, bytes: &mut Vec<u8>) {
        let mut n = bytes.len() as u64;
        self.word(&mut n);
        let Some(unread) = &mut self.unread else {
            self.written.extend_from_slice(bytes);
            return;
        };
        bytes.clear();
        match usize::try_from(n).ok().and_then(|n| unread.split_at_checked(n)) {
            Some((head, rest)) => {
                bytes.extend_from_slice(head);
                *unread = rest;
            }
            None => self.is_bad = true,
        }
    }

    /// A list that may have any length.
    pub fn list<T: Archived + Default>(&mut self, list: &mut Vec<T>) {
        let mut n = list.len();
        n.archive(self);
        if let Some(unread) = self.unread {
            // every entry takes a word at least
            if n > unread.len() / 8 {
                return self.refuse();
            }
            list.resize_with(n, T::default);
        }
        list.iter_mut().for_each(|entry| entry.archive(self));
    }

    /// One of several values, by its number.
    pub fn choice<T: Copy + PartialEq>(&mut self, value: &mut T, all: &[T]) {
        let mut k = all.iter().position(|one| one == value).unwrap_or(0) as u64;
        self.word(&mut k);
        if self.is_reading() {
            match usize::try_from(k).ok().and_then(|k| all.get(k)) {
                Some(one) => *value = *one,
                None => self.is_bad = true,
            }
        }
    }
}

/// A value that can be written and read back.
pub trait Archived {
    /// Writes itself, or reads itself.
    fn archive(&mut self, archive: &mut Archive<'_>);
}

impl Archived for f64 {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let mut bits = self.to_bits();
        archive.word(&mut bits);
        *self = f64::from_bits(bits);
    }
}

impl Archived for usize {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let mut word = *self as u64;
        archive.word(&mut word);
        match usize::try_from(word) {
            Ok(word) => *self = word,
            Err(_) => archive.refuse(),
        }
    }
}

impl Archived for bool {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        archive.choice(self, &[false, true]);
    }
}

impl Archived for i8 {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        archive.choice(self, &[0, 1, -1]);
    }
}

impl<T: Archived> Archived for Vec<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let mut n = self.len();
        n.archive(archive);
        if n != self.len() {
            return archive.refuse();
        }
        self.iter_mut().for_each(|entry| entry.archive(archive));
    }
}

impl<T: Archived, const N: usize> Archived for [T; N] {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.iter_mut().for_each(|entry| entry.archive(archive));
    }
}

impl<T: Archived + Default> Archived for Option<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let mut is_some = self.is_some();
        is_some.archive(archive);
        if archive.is_reading() {
            *self = is_some.then(T::default);
        }
        if let Some(value) = self {
            value.archive(archive);
        }
    }
}

impl<A: Archived, B: Archived> Archived for (A, B) {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.0.archive(archive);
        self.1.archive(archive);
    }
}

impl<T: Archived + ?Sized> Archived for Box<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        (**self).archive(archive);
    }
}

/// A struct by all of its fields; those after `without` are settings or scratch. The values read must
/// be so that it `fits`.
macro_rules! archived {
    ($name:ty { $($field:ident),* $(,)? } $(without $($left_out:ident),+)? $(; fits |$it:ident| $fits:expr)?) => {
        impl $crate::archive::Archived for $name {
            fn archive(&mut self, archive: &mut $crate::archive::Archive<'_>) {
                let Self { $($field,)* $($($left_out: _,)+)? } = self;
                $($crate::archive::Archived::archive($field, archive);)*
                $(
                    let $it = &*self;
                    if archive.is_reading() && !$fits {
                        archive.refuse();
                    }
                )?
            }
        }
    };
}
pub(crate) use archived;

#[cfg(test)]
mod tests {
    use super::*;

    fn written<T: Archived>(mut value: T) -> Vec<u8> {
        let mut archive = Archive::writing(Vec::new());
        value.archive(&mut archive);
        archive.into_bytes()
    }

    #[test]
    fn round_trip_keeps_all_bits() {
        type Thing = (Vec<(f64, usize)>, [Option<bool>; 2]);
        let thing: Thing = (vec![(-0.0, 3), (f64::NAN, 0), (5e-324, usize::MAX)], [None, Some(true)]);
        let bytes = written(thing.clone());
        let mut back: Thing = (vec![(1.0, 1); 3], [Some(false), None]);
        let mut archive = Archive::reading(&bytes);
        back.archive(&mut archive);
        assert!(archive.is_good());
        assert_eq!(written(back.clone()), bytes);
        assert_eq!(back.1, thing.1);
    }

    #[test]
    fn inconsistent_bytes_are_refused() {
        let bytes = written(vec![1.0, 2.0]);
        let read = |bytes: &[u8]| {
            let (mut back, mut archive) = (vec![0.0; 2], Archive::reading(bytes));
            back.archive(&mut archive);
            let (mut list, mut other) = (Vec::<f64>::new(), Archive::reading(bytes));
            other.list(&mut list);
            assert_eq!(archive.is_good(), other.is_good());
            archive.is_good()
        };
        assert!(read(&bytes));
        assert!((0..bytes.len()).all(|n| !read(&bytes[..n])));
        assert!(!read(&[&bytes[..], &[0]].concat()));
        // a list that has another length, and one longer than memory
        let mut archive = Archive::reading(&bytes);
        vec![0.0; 3].archive(&mut archive);
        assert!(!archive.is_good());
        assert!(!read(&written(usize::MAX)));
        let mut truth = Archive::reading(&[2, 0, 0, 0, 0, 0, 0, 0]);
        true.archive(&mut truth);
        assert!(!truth.is_good());
    }
}

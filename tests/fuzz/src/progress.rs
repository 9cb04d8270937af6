//! A small file in which a child reports its progress to its parent.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Content of the file.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of the case that is being tried.
    pub case: u64,
    /// Cases that have been tried.
    pub tried: u64,
    /// Of these, the ones that were read, not refused.
    pub accepted: u64,
    /// Of these, the ones that have been saved as findings.
    pub found: u64,
}

impl Progress {
    pub fn write(self, path: &Path) -> io::Result<()> {
        fs::write(path, self.bytes())
    }

    /// Into the open file: one system call.
    pub fn note(self, file: &File) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(file, &self.bytes(), 0)
    }

    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or_default();
        Ok(Self { case: next(), tried: next(), accepted: next(), found: next() })
    }

    fn bytes(self) -> Vec<u8> {
        [self.case, self.tried, self.accepted, self.found].iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

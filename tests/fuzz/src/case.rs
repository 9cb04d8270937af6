//! Cases by number.

use crate::mutate::mutate;
use crate::target::Target;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fs;
use std::path::{Path, PathBuf};

/// All cases of a seed.
pub struct Cases {
    pub target: &'static Target,
    pub seed: u64,
    /// Inputs to begin with.
    pub corpus: Vec<Vec<u8>>,
}

impl Cases {
    pub fn new(target: &'static Target, seed: u64) -> anyhow::Result<Self> {
        let mut corpus = (target.made)();
        for folder in target.folders {
            for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))? {
                let mut bytes = target.prefix(&path).to_vec();
                bytes.extend(fs::read(&path)?);
                corpus.push(bytes);
            }
        }
        anyhow::ensure!(!corpus.is_empty(), "no inputs to begin with");
        Ok(Self { target, seed, corpus })
    }

    /// The first cases are the inputs themselves, the others are mutations of them.
    pub fn make(&self, number: u64) -> Vec<u8> {
        if let Some(own) = usize::try_from(number).ok().and_then(|k| self.corpus.get(k)) {
            return own.clone();
        }
        let mut random = Pcg64::seed_from_u64(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = self.corpus[random.random_range(0..self.corpus.len())].clone();
        // few changes keep most of an input valid, many do not
        for _ in 0..1 + random.random_range(0..3) * random.random_range(0..3) {
            mutate(&mut bytes, &self.corpus, self.target, &mut random);
        }
        bytes
    }

    /// Saves a case, and prints how to run it again.
    pub fn save(&self, number: u64, reason: &str) -> anyhow::Result<()> {
        let (name, folder) = (self.target.name, crate::findings());
        fs::create_dir_all(&folder)?;
        let file: PathBuf = folder.join(format!("{name}-{}-{number}", self.seed));
        fs::write(&file, self.make(number))?;
        println!("FOUND by {name}, seed {}, case {number}: {reason}", self.seed);
        println!("  cargo run -p bristle-fuzz -- {name} --replay {}", file.display());
        Ok(())
    }
}

/// Files of a folder and its folders, in order of their names.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| ["ron", "urdf", "csv", "json", "npz", "bin"].iter().any(|x| e == *x))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

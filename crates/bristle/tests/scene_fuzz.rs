//! The scene reader under damage: whatever the text, it is read or refused with a place, and nothing else.
//!
//! Good and bad scenes are cut, spliced and sprinkled with tokens by a generator of fixed seed. Every text that is
//! read must say the same after saving. `cargo test` tries some thousands; a long run is
//!
//!     SCENE_FUZZ=1000000 cargo test -p bristle --test scene_fuzz -- --nocapture
//!
//! A text that fails is kept in `scenes_fuzz/`, and every text there is tried anew by each test run.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bristle::scene::Scene;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const TOKENS: [&str; 44] = [
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "-",
    "1e999",
    "NaN",
    "inf",
    "None",
    "Some(",
    "é",
    "\0",
    "r#\"",
    "world",
    "Link",
    "Free",
    "Fixed",
    "-1",
    "0",
    "\u{feff}",
    "'",
    "{",
    "}",
    "#",
    "=",
    "\r\n",
    "\\u{",
    "0x",
    "Sum([",
    "1e-320",
    "18446744073709551616",
    "Piecewise([(0,",
    "\u{202e}",
    "#![enable(",
    "r\"",
    "🦀",
    "LoopJoint(",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The scenes in a folder, in order of their names.
fn texts(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ron"));
    files.sort();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Reads a text with and without overrides. Returns whether it is a scene.
fn read(bytes: &[u8], path: &str, value: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let _ = Scene::parse_with(&text, "damaged.ron", &[(path, value)]).map_err(|error| error.to_string());
    match Scene::parse(&text, "damaged.ron") {
        Ok(scene) => {
            let saved = scene.to_ron().unwrap();
            let again = Scene::parse(&saved, "saved.ron").unwrap_or_else(|error| panic!("saved and refused: {error}"));
            assert_eq!(again, scene, "saving changed what the scene says");
            let _: Vec<String> = scene.warnings().iter().map(ToString::to_string).collect();
            true
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            let said = error.to_string();
            assert!(said.contains("damaged.ron") && said.contains("error: "), "{said}");
            for problem in &error.problems {
                // a place that is one
                if let Some(position) = problem.position {
                    let lines = text.split('\n').count();
                    assert!(position.line >= 1 && position.line <= lines && position.column >= 1, "{said}");
                }
            }
            false
        }
    }
}

/// One piece of damage.
fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Pcg64) {
    let at = rng.random_range(0..=bytes.len());
    let end = (at + rng.random_range(0..40)).min(bytes.len());
    match rng.random_range(0..8) {
        0 if at < bytes.len() => bytes[at] = rng.random(),
        1 => drop(bytes.drain(at..end)),
        2 => drop(bytes.splice(at..at, TOKENS[rng.random_range(0..TOKENS.len())].bytes())),
        3 => bytes.truncate(at.max(1)),
        4 => {
            let piece = bytes[at..end].to_vec();
            let to = rng.random_range(0..=bytes.len());
            drop(bytes.splice(to..to, piece));
        }
        5 => {
            // a number in place of what stands there
            let number = format!("{:e}", f64::from_bits(rng.random()));
            drop(bytes.splice(at..end.min(at + 6), number.bytes()));
        }
        6 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
        _ => {
            let other = &corpus[rng.random_range(0..corpus.len())];
            let from = rng.random_range(0..=other.len());
            let piece = other[from..(from + 60).min(other.len())].to_vec();
            drop(bytes.splice(at..end, piece));
        }
    }
}

#[test]
fn past_failures_stay_mended() {
    let corpus = texts("tests/scenes_fuzz");
    assert!(!corpus.is_empty());
    for bytes in corpus {
        for token in TOKENS {
            read(&bytes, token, token);
            read(&bytes, &format!("joints.{token}.{token}"), token);
        }
    }
}

#[test]
fn damaged_scenes_are_read_or_refused() {
    let mut corpus = texts("../../scenes");
    corpus.extend(texts("tests/scenes_good"));
    let n_good = corpus.len();
    corpus.extend(texts("tests/scenes_bad"));
    corpus.extend(texts("tests/scenes_fuzz"));
    let n: u32 = std::env::var("SCENE_FUZZ").map_or(10_000, |n| n.parse().expect("SCENE_FUZZ is a number"));
    let mut rng = Pcg64::seed_from_u64(2026);
    let (mut good, mut failed) = (0, Vec::new());
    for k in 0..n {
        // half of them good before the damage
        let among = if rng.random() { n_good } else { corpus.len() };
        let mut bytes = corpus[rng.random_range(0..among)].clone();
        for _ in 0..rng.random_range(1..5) {
            damage(&mut bytes, &corpus, &mut rng);
        }
        let (token, value) = (TOKENS[rng.random_range(0..TOKENS.len())], TOKENS[rng.random_range(0..TOKENS.len())]);
        let path = if k % 2 == 0 { token.to_owned() } else { format!("joints.{}.{token}", k % 3) };
        match catch_unwind(AssertUnwindSafe(|| read(&bytes, &path, value))) {
            Ok(is_scene) => good += u32::from(is_scene),
            Err(_) => {
                let file = folder("tests/scenes_fuzz").join(format!("failure_{k}.ron"));
                fs::write(&file, &bytes).unwrap();
                failed.push((file, path, value));
            }
        }
    }
    println!("{n} texts tried: {good} read, {} refused, {} failed", n - good - failed.len() as u32, failed.len());
    assert!(failed.is_empty(), "kept with the override they failed with: {failed:?}");
    assert!(good > n / 100 && good < n, "damage too hard or too soft: {good} of {n} are scenes");
}

//! The crate knows equations, not machines: its source has no word of friction.

use std::fs;
use std::path::Path;

const FOREIGN: [&str; 9] = ["friction", "bristle", "contact", "slip", "stick", "coulomb", "lugre", "stribeck", "joint"];

fn check(folder: &Path, n_files: &mut usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check(&path, n_files);
            continue;
        }
        *n_files += 1;
        // the name of the crate itself
        let text = fs::read_to_string(&path).unwrap().to_lowercase().replace("bristle_integrate", "");
        for word in FOREIGN {
            assert!(!text.contains(word), "{}: `{word}`", path.display());
        }
    }
}

#[test]
fn source_has_no_word_of_friction() {
    let mut n_files = 0;
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut n_files);
    assert!(n_files > 30, "{n_files} files read");
}

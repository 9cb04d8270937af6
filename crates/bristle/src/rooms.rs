//! The rooms of this crate, and the imports that each may have: arrows point one way.

use std::path::{Path, PathBuf};

/// Rooms that any other may import: they know nothing of machines.
const LEAVES: [&str; 8] = ["atomic_file", "error", "memory", "modes", "parallel", "signal", "solver", "stop"];

/// Each room with the rooms that it may import besides the leaves.
const ROOMS: [(&str, &[&str]); 12] = [
    ("scene", &["world", "model"]),
    ("urdf", &["scene"]),
    ("world", &["scene"]),
    ("model", &["scene", "world"]),
    ("constraint", &["dynamics", "model"]),
    ("dynamics", &["constraint", "model", "scene", "world"]),
    ("real_time", &["constraint", "model", "world"]),
    ("stick_slip", &["constraint", "dynamics", "model", "real_time", "scene", "world"]),
    ("record", &["model"]),
    ("run", &["constraint", "dynamics", "model", "real_time", "record", "scene", "stick_slip", "urdf", "world"]),
    ("fit", &["run", "scene", "urdf"]),
    ("error", &["scene"]),
];

/// Files that may use the world: its description, its compilation, and the types that users hold. All others are
/// numerical.
const OF_THE_WORLD: [&str; 7] =
    ["error.rs", "lib.rs", "model/compile", "run/mechanics.rs", "run/simulation", "run/write_back.rs", "world"];

/// The code of every file but tests, line by line, with its path.
fn code() -> Vec<(String, Vec<String>)> {
    fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut all = Vec::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        if file.ends_with("tests.rs") || file.contains("tests/") || file == "rooms.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // unit tests below the code may use anything
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect();
        all.push((file, lines));
    }
    assert!(all.len() > 100, "{}", all.len());
    all
}

#[test]
fn imports_point_one_way() {
    for (file, lines) in code() {
        let room = file.split('/').next().unwrap().trim_end_matches(".rs");
        if room == "lib" {
            continue;
        }
        let allowed = ROOMS.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, rooms)| rooms);
        for line in &lines {
            for imported in line.split("crate::").skip(1) {
                let imported = imported.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                // re-exports of the crate's root: `crate::Error`
                let is_room = ROOMS.iter().any(|(name, _)| *name == imported);
                assert!(
                    !is_room || imported == room || LEAVES.contains(&imported) || allowed.contains(&imported),
                    "{file} imports {imported}: {line}"
                );
            }
        }
    }
}

#[test]
fn nothing_numerical_queries_the_world() {
    let mut n_numerical = 0;
    for (file, lines) in code() {
        if OF_THE_WORLD.iter().any(|world| file.starts_with(world)) {
            continue;
        }
        n_numerical += 1;
        for line in &lines {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            assert!(!words.any(|word| ["hecs", "World", "Entity"].contains(&word)), "{file} queries the world: {line}");
        }
    }
    assert!(n_numerical > 60, "{n_numerical}");
}

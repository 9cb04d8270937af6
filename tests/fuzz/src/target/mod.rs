//! Targets: one function of bytes for each kind of input. It returns whether the bytes were accepted and panics where a
//! property is violated. `fn(&[u8])` is the shape that libFuzzer calls, too.

mod calls;
mod fits;
mod friction;
mod machine;
mod robots;
mod scenes;
mod snapshots;
mod tables;

use bristle::scene::SceneError;
use std::path::Path;

/// A kind of input.
pub struct Target {
    pub name: &'static str,
    /// Tries one input; whether it was accepted.
    pub run: fn(&[u8]) -> bool,
    /// Folders of inputs to begin with, from the folder of this crate.
    pub folders: &'static [&'static str],
    /// Inputs that are made by the program.
    pub made: fn() -> Vec<Vec<u8>>,
    /// Words of the format.
    pub tokens: &'static [&'static str],
}

impl Target {
    /// Prefix of the content of a file in a case: the format of a table, which a file has in its extension.
    pub fn prefix(&self, path: &Path) -> &'static [u8] {
        if self.name != "tables" {
            return &[];
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => b"c",
            Some("json") => b"j",
            _ => b"z",
        }
    }
}

static TARGETS: [&Target; 7] = [
    &scenes::TARGET,
    &robots::TARGET,
    &friction::TARGET,
    &tables::TARGET,
    &snapshots::TARGET,
    &calls::TARGET,
    &fits::TARGET,
];

pub fn find(name: &str) -> anyhow::Result<&'static Target> {
    let names = || TARGETS.map(|target| target.name).join(", ");
    TARGETS
        .into_iter()
        .find(|target| target.name == name)
        .ok_or_else(|| anyhow::anyhow!("there is no target `{name}`; there are {}", names()))
}

fn nothing() -> Vec<Vec<u8>> {
    Vec::new()
}

/// A refusal has a reason and a place within the file; its text contains no control character.
fn check_refusal(error: &SceneError, text: &str) {
    assert!(!error.problems.is_empty(), "refused without a reason");
    let n_lines = text.split('\n').count();
    for problem in &error.problems {
        assert!(!problem.reason.is_empty(), "a problem without a reason");
        if let Some(position) = problem.position {
            assert!((1..=n_lines).contains(&position.line) && position.column >= 1, "a place outside: {position:?}");
        }
    }
    let said = bristle::scene::printable(&error.to_string()).to_string();
    assert!(!said.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "control characters are printed");
}

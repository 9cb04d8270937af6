//! The command as its users meet it.

mod compare;
mod dynamics;
mod endless;
mod files;
mod fit;
mod help;
mod hostile;
mod import;
mod lost;
#[cfg(target_os = "linux")]
mod memory;
mod plot;
mod run;
mod said;
mod sensitivities;
mod sweep;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bristle(arguments: &[&str]) -> Output {
    bristle_in(&root(), arguments)
}

fn bristle_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bristle")).args(arguments).current_dir(folder).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file or folder of this test's own, gone when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("bristle-{}-{name}", std::process::id())))
    }

    fn with(name: &str, text: &str) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, text).unwrap();
        file
    }

    fn folder(name: &str) -> Self {
        let folder = Self::new(name);
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Commit and compiler of a build, for the header of reports.

use std::process::Command;

fn main() {
    let first_line = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
    };
    let commit = first_line("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| first_line(&rustc, &["--version"]));
    println!("cargo::rustc-env=BRISTLE_COMMIT={commit}");
    println!("cargo::rustc-env=BRISTLE_COMPILER={}", compiler.unwrap_or_else(|| "unknown".into()));
    println!("cargo::rerun-if-changed=build.rs");
    // the log of HEAD has a line for every commit
    if let Some(log) = first_line("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

//! Every example in the help of a command, and every command in the README, typed as it stands there.

use super::{Temporary, bristle, root, stderr};
use std::process::Command;

/// Commands whose examples take minutes.
const LONG: [&str; 2] = ["bench", "reproduce"];

/// A line as a shell takes it, with `bristle` in its path.
fn typed(folder: &Temporary, line: &str) {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_bristle"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", line]).current_dir(&folder.0).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{line}: {:?}\n{}", output.status.code(), stderr(&output));
}

#[cfg(unix)]
#[test]
fn commands_in_the_readme_work_in_their_order() {
    let folder = Temporary::folder("readme");
    for part in ["scenes", "crates"] {
        std::os::unix::fs::symlink(root().join(part), folder.0.join(part)).unwrap();
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1).map(|after| after.split("```").next().unwrap());
    let mut n = 0;
    for line in blocks.flat_map(str::lines) {
        let line = line.replace("cargo run --release -- ", "bristle ");
        if line.starts_with("cargo")
            || line.starts_with("pip")
            || LONG.iter().any(|long| line.contains(&format!("bristle {long}")))
        {
            continue;
        }
        typed(&folder, &line);
        n += 1;
    }
    assert!(n >= 12, "only {n} commands");
}

#[cfg(unix)]
#[test]
fn examples_in_the_help_work_as_they_stand() {
    let folder = Temporary::folder("examples");
    let examples = root().join("crates/bristle/examples");
    std::os::unix::fs::symlink(root().join("scenes"), folder.0.join("scenes")).unwrap();
    for file in ["robot.urdf", "friction.ron"] {
        std::fs::copy(examples.join(file), folder.0.join(file)).unwrap();
    }
    std::fs::write(folder.0.join("states.jsonl"), "{\"position\": {\"elbow\": 0.1}}\n").unwrap();
    // results that examples speak of
    let tables = [("out.csv", "out.npz"), ("old.csv", "new.npz"), ("reference.csv", "out.csv")];
    for file in tables.iter().flat_map(|pair| [pair.0, pair.1]) {
        let out = folder.0.join(file);
        let run = ["run", "scenes/double_pendulum_coulomb.ron", "-q", "--until", "3", "--out", out.to_str().unwrap()];
        assert!(bristle(&run).status.success());
    }

    let mut n = 0;
    for command in ["", "run", "check", "plot", "dynamics", "import", "compare", "sweep", "list"] {
        let arguments: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let help = String::from_utf8(bristle(&arguments).stdout).unwrap();
        let (_, after) = help.split_once("Examples:").unwrap_or_else(|| panic!("`{command}` has no examples"));
        for example in after.lines().map(str::trim).filter(|line| line.contains("bristle ") && !line.starts_with('`')) {
            let needs_more = example.contains("| jq") || LONG.iter().any(|long| example.contains(long));
            if needs_more {
                continue;
            }
            typed(&folder, example);
            n += 1;
        }
    }
    assert!(n >= 30, "only {n} examples");
    for command in LONG {
        let help = String::from_utf8(bristle(&[command, "--help"]).stdout).unwrap();
        assert!(help.contains("Examples:\n  bristle "), "{help}");
    }
}

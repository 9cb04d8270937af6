//! Nothing is lost: failed, interrupted and unwritable runs.

use super::{Temporary, bristle, bristle_in, root, stderr};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Steps far beyond what the method can bear.
const DIVERGING: &str = "Scene(links: [Link(name: \"a\", mass: 1.0)], joints: [Joint(name: \"slide\", \
    parent: \"world\", child: \"a\", kind: \
         Prismatic(axis: (1.0, 0.0, 0.0)), position: 1.0, spring: Spring(stiffness: 1.0e6))], solver: Solver(method: \
         Euler, \
         control: Constant(step: 0.1)), duration: 1000.0, output: Output(interval: 0.1))";

#[test]
fn failed_run_exits_with_one_and_keeps_rows() {
    let scene = Temporary::with("stiff.ron", DIVERGING);
    let (out, partial) = (Temporary::new("failed.csv"), Temporary::new("failed.partial.csv"));
    let output = bristle(&["run", scene.path(), "--out", out.path()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("the simulation stood at t = ") && message.contains("slide.position"), "{message}");
    assert!(!out.0.exists() && partial.0.exists() && message.contains(partial.path()), "{message}");
    assert!(std::fs::read_to_string(partial.path()).unwrap().lines().count() > 10);
}

#[test]
fn a_failed_run_tells_of_one_instant() {
    // steps of 0.1 s, rows every 0.7 s: it fails between two rows, and what lies between joints is of the same instant
    // as the joints
    let text = "Scene(links: [Link(name: \"a\", mass: 1.0), Link(name: \"b\", mass: 1.0)], joints: \
        [Joint(name: \"p\", parent: \"world\", child: \"a\", \
         kind: Prismatic(axis: (1.0, 0.0, 0.0)), position: 1.0, spring: Spring(stiffness: 1.0e6)), Joint(name: \"q\", \
         parent: \"world\", child: \"b\", \
         kind: Prismatic(axis: (1.0, 0.0, 0.0)))], couplings: [SpringDamper(name: \"s\", joints: (\"p\", \"q\"), \
         stiffness: 1.0, damping: 0.1), \
         Brake(name: \"k\", joint: \"q\", friction: Tanh(coulomb: 0.1, stribeck_velocity: 1.0)), Clutch(name: \"c\", \
         joints: (\"q\", \"p\"), friction: \
         Tanh(coulomb: 0.1, stribeck_velocity: 1.0))], solver: Solver(method: Euler, control: Constant(step: 0.1)), \
         duration: 1000.0, \
         output: Output(interval: 0.7))";
    let (scene, out) = (Temporary::with("instant.ron", text), Temporary::new("instant.csv"));
    let output = bristle(&["run", scene.path(), "--out", out.path(), "--json"]);
    let _partial = Temporary::new("instant.partial.csv");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let at = |name: &str| said["final_state"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {said}"));
    for what in ["position", "velocity"] {
        let [p, q] = ["p", "q"].map(|joint| at(&format!("{joint}.{what}")));
        assert_eq!(at(&format!("s.{what}")), p - q);
        assert_eq!(at(&format!("c.{what}")), q - p);
        assert_eq!(at(&format!("k.{what}")), q);
        assert!(p.abs() > 1e10);
    }
}

#[test]
fn unwritable_results_are_refused_first() {
    let directory = std::env::temp_dir();
    for out in ["/nowhere/at/all.csv", directory.to_str().unwrap()] {
        let output = bristle(&["run", "scenes/single_pendulum.ron", "--until", "0.1", "--out", out]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(out) && !stderr(&output).contains("real time"), "{}", stderr(&output));
    }
}

#[test]
fn other_formats_keep_what_they_had_too() {
    let scene = Temporary::with("stiff2.ron", DIVERGING);
    for extension in ["npz", "json"] {
        let out = Temporary::new(&format!("failed2.{extension}"));
        let partial = Temporary::new(&format!("failed2.partial.{extension}"));
        let stream = Temporary::new("failed2.partial.csv");
        let output = bristle(&["run", scene.path(), "--out", out.path(), "--json"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(!out.0.exists() && partial.0.exists() && !stream.0.exists(), "{}", stderr(&output));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["completed"].as_bool(), Some(false));
        assert!(said["error"].as_str().unwrap().contains("no finite number"), "{said}");
    }
}

/// A run that would take for ever.
pub fn endless(out: &str) -> std::process::Child {
    let arguments =
        ["run", "scenes/double_pendulum_coulomb.ron", "--until", "1e7", "--set", "output.interval=0.5", "--out", out];
    Command::new(env!("CARGO_BIN_EXE_bristle"))
        .args(arguments)
        .current_dir(root())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub fn wait_for_rows(path: &std::path::Path) {
    let start = Instant::now();
    while std::fs::metadata(path).map_or(0, |about| about.len()) < 10_000 {
        assert!(start.elapsed() < Duration::from_secs(60), "no rows in {}", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whole rows, each with as many values as there are names.
fn assert_whole_rows(path: &std::path::Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let n = text.lines().next().unwrap().split(',').count();
    assert!(text.ends_with('\n') && text.lines().count() > 3);
    assert!(text.lines().all(|line| line.split(',').count() == n));
}

#[cfg(unix)]
#[test]
fn interrupted_run_keeps_its_rows() {
    for signal in ["-INT", "-TERM"] {
        let out = Temporary::new(&format!("interrupted{signal}.csv"));
        let partial = Temporary::new(&format!("interrupted{signal}.partial.csv"));
        let child = endless(out.path());
        wait_for_rows(&partial.0);
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(message.contains("stopped at t = ") && message.contains("elbow.position"), "{message}");
        assert!(message.contains(partial.path()) && !out.0.exists(), "{message}");
        assert_whole_rows(&partial.0);
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_the_rows_written_so_far() {
    let out = Temporary::new("killed.csv");
    let partial = Temporary::new("killed.partial.csv");
    let mut child = endless(out.path());
    wait_for_rows(&partial.0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.0.exists());
    // killed in the middle of writing, at worst: the last row may be cut, no other
    let text = std::fs::read_to_string(&partial.0).unwrap();
    let (whole, _) = text.rsplit_once('\n').unwrap();
    let n = whole.lines().next().unwrap().split(',').count();
    assert!(whole.lines().count() > 3 && whole.lines().all(|line| line.split(',').count() == n));
}

/// The command with files of so many blocks at most, and an error instead of a signal beyond: a disk that is full.
#[cfg(target_os = "linux")]
pub fn bristle_on_a_full_disk(folder: &std::path::Path, blocks: usize, arguments: &[&str]) -> std::process::Output {
    let command = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" \"$@\"");
    let mut bash = Command::new("bash");
    bash.args(["-c", &command, env!("CARGO_BIN_EXE_bristle")]).args(arguments).current_dir(folder).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_keeps_old_results() {
    let folder = Temporary::folder("full-disk");
    for out in ["full.csv", "full.npz", "full.json"] {
        let path = folder.0.join(out);
        std::fs::write(&path, "the results of yesterday\n").unwrap();
        let output = bristle_on_a_full_disk(&folder.0, 0, &["run", PENDULUM, "--out", out, "-q"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("File too large") && stderr(&output).contains("full.partial.csv"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "the results of yesterday\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn disk_full_during_run_keeps_whole_rows() {
    for extension in ["csv", "npz"] {
        let (out, partial) = (Temporary::new(&format!("fills.{extension}")), Temporary::new("fills.partial.csv"));
        let arguments = ["run", "scenes/double_pendulum_coulomb.ron", "--until", "1000", "--out", out.path()];
        let output = bristle_on_a_full_disk(&root(), 64, &arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let message = stderr(&output);
        assert!(message.contains("File too large") && message.contains(partial.path()), "{message}");
        assert!(message.contains("stood at t = ") && !out.0.exists(), "{message}");
        assert_whole_rows(&partial.0);
        let _ = std::fs::remove_file(out.0.with_file_name(format!("fills.partial.{extension}")));
    }
}

#[cfg(unix)]
#[test]
fn closed_pipe_ends_the_run() {
    let mut child = endless("-");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn inputs_devices_and_link_targets_are_kept() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/single_pendulum.ron")).unwrap();
    let scene = Temporary::with("own.ron", &text);
    for flag in ["--events", "--stats"] {
        let output = bristle(&["run", scene.path(), "--until", "0.1", "--out", "-", flag, scene.path()]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("the scene itself"), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(scene.path()).unwrap(), text);
    }
    #[cfg(unix)]
    {
        let output = bristle(&["run", scene.path(), "--until", "0.1", "--out", "-", "--stats", "/dev/null"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let (target, link) = (Temporary::with("target.csv", "old"), Temporary::new("link.csv"));
        std::os::unix::fs::symlink(target.path(), link.path()).unwrap();
        let output = bristle(&["run", scene.path(), "--until", "0.1", "--out", link.path()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        // the link gives way, the file it leads to stays
        assert!(std::fs::symlink_metadata(link.path()).unwrap().is_file());
        assert!(std::fs::read_to_string(link.path()).unwrap().starts_with("t,"));
        assert_eq!(std::fs::read_to_string(target.path()).unwrap(), "old");
    }
}

#[test]
fn two_runs_of_one_name_do_not_mix_their_rows() {
    let folder = Temporary::folder("one-name");
    let out = folder.0.join("same.csv");
    let out = out.to_str().unwrap();
    let arguments =
        ["run", "scenes/double_pendulum_coulomb.ron", "--method", "Rk4", "--step", "1e-4", "--out", out, "-q"];
    let start = |until: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        command.args(arguments).args(["--until", until]).current_dir(root()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let first = start("60");
    let partial = folder.0.join("same.partial.csv");
    while !partial.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let second = start("1").wait_with_output().unwrap();
    let first = first.wait_with_output().unwrap();
    let rows = std::fs::read_to_string(out).unwrap();
    let fields = rows.lines().next().unwrap().split(',').count();
    assert!(rows.lines().all(|row| row.split(',').count() == fields));
    // a file exists for an instant before it is locked: either run may get it, and the other is refused
    let refused = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.matches("another run is writing this file").count(), 1, "{said}");
    };
    match (first.status.success(), second.status.success()) {
        (true, false) => refused(&second),
        (false, true) => refused(&first),
        // the second came after the first was done
        (true, true) => {}
        (false, false) => panic!("both runs were refused"),
    }
    let expected = if second.status.success() { 102 } else { 6002 };
    assert_eq!(rows.lines().count(), expected);
}

/// A closed standard error (`2>&1 | head`) does not end the run, its results or its exit code.
#[test]
fn nobody_has_to_read_messages() {
    let out = Temporary::new("unread.csv");
    let mut run = Command::new(env!("CARGO_BIN_EXE_bristle"))
        .args(["run", "scenes/papers/aberger2002/bearing.ron", "--out", out.path()])
        .current_dir(root())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(run.stderr.take());
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_to_string(out.path()).unwrap().lines().count(), 2502);
}

const PENDULUM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum_coulomb.ron");

#[test]
fn outputs_of_one_file_are_refused() {
    let folder = Temporary::folder("spellings");
    let full = folder.0.join("k.csv");
    let said = |arguments: &[&str]| {
        let output = bristle_in(&folder.0, &[&["run", PENDULUM, "--until", "0.1", "-q"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        stderr(&output)
    };
    std::fs::create_dir(folder.0.join("below")).unwrap();
    for events in ["k.csv", "./k.csv", "below/../k.csv", full.to_str().unwrap()] {
        assert!(said(&["--out", "k.csv", "--events", events]).contains("two outputs cannot share a file"), "{events}");
    }
    assert!(said(&["--out", "k.json", "--stats", "./k.json"]).contains("two outputs cannot share a file"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".", folder.0.join("here")).unwrap();
        assert!(said(&["--out", "k.csv", "--events", "here/k.csv"]).contains("two outputs cannot share a file"));
        std::fs::write(folder.0.join("one.csv"), "old").unwrap();
        std::os::unix::fs::symlink("one.csv", folder.0.join("two.csv")).unwrap();
        assert!(said(&["--out", "one.csv", "--events", "two.csv"]).contains("two outputs cannot share a file"));
    }
    // nor may one stand where another is on its way
    for out in ["k.csv", "k.npz"] {
        let said = said(&["--out", out, "--events", "./k.partial.csv"]);
        assert!(said.contains(&format!("{out} goes by that name until it is complete")), "{said}");
    }
    std::fs::create_dir(folder.0.join("q.partial.csv")).unwrap();
    assert!(said(&["--out", "q.csv"]).contains("q.partial.csv: this is a directory"));
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('k')), "{left:?}");
}

#[test]
fn columns_and_events_have_separate_files() {
    let folder = Temporary::folder("meet");
    let run = |more: &[&str]| {
        let names = ["--out", "x.npz", "--events", "x.csv"];
        bristle_in(&folder.0, &[&["run", PENDULUM, "--until", "1"], &names[..], more].concat())
    };
    let is_there = |name: &str| folder.0.join(name).exists();
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
    assert!(is_there("x.npz") && is_there("x.csv"));

    // columns that do not fit: their rows are kept, and the events have their own file
    #[cfg(target_os = "linux")]
    {
        for name in ["x.npz", "x.csv"] {
            std::fs::remove_file(folder.0.join(name)).unwrap();
        }
        // 6 kB of rows fit, 11 kB of columns with a header each do not
        let names = ["run", PENDULUM, "--until", "0.2", "--out", "x.npz", "--events", "x.csv"];
        let output = bristle_on_a_full_disk(&folder.0, 8, &names);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("the rows are kept in x.partial.csv"), "{}", stderr(&output));
        let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
        assert!(
            read("x.partial.csv").starts_with("t,shoulder.position") && read("x.partial.csv").lines().count() == 22
        );
        assert!(read("x.csv").starts_with("t,joint,from,to"));
        assert!(!is_there("x.partial.npz") && !is_there("x.partial.events.csv"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_output_leaves_the_others() {
    let folder = Temporary::folder("others");
    let outputs = ["--out", "k.csv", "--events", "e.csv", "--plot", "p.svg", "--report", "r.html", "--stats", "s.json"];
    // room for rows, events and statistics, not for pictures
    let arguments = [&["run", PENDULUM, "--until", "0.2", "-q"], &outputs[..]].concat();
    let output = bristle_on_a_full_disk(&folder.0, 8, &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    for name in ["p.svg", "r.html"] {
        assert_eq!(said.matches(&format!("error: cannot write {name}: File too large")).count(), 1, "{said}");
    }
    let mut left: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["e.csv", "k.csv", "s.json"]);
}

#[test]
fn replaced_partial_rows_are_reported() {
    let folder = Temporary::folder("earlier");
    let run = |out: &str| {
        std::fs::write(folder.0.join("k.partial.csv"), "t,x\n0.0,1.0\n").unwrap();
        let output = bristle_in(&folder.0, &["run", PENDULUM, "--until", "0.1", "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output).contains("k.partial.csv of an earlier run is replaced\n")
    };
    assert!(run("k.csv") && run("k.npz"));
    std::fs::remove_file(folder.0.join("k.csv")).unwrap();
    assert!(!run("other.csv"));
}

//! The command as its users meet it: exit codes, files, messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn bristle(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_bristle")).args(arguments).current_dir(root).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of this test's own, gone when dropped.
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

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn run_writes_a_table_and_a_summary() {
    let out = Temporary::new("run.csv");
    let output = bristle(&["run", "scenes/double_pendulum.ron", "--until", "0.5", "--out", out.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let text = std::fs::read_to_string(out.path()).unwrap();
    assert!(
        text.starts_with("t,shoulder.position,shoulder.velocity,shoulder.acceleration,elbow.position,"),
        "{text:.99}"
    );
    assert_eq!(text.lines().count(), 52);
    assert!(text.lines().next_back().unwrap().starts_with("0.5,"));
    let summary = stderr(&output);
    for part in ["× real time", "steps", "evaluations", "elbow.position", "energy balance", "51 rows"] {
        assert!(summary.contains(part), "no `{part}` in: {summary}");
    }
}

#[test]
fn results_go_to_standard_output_without_out() {
    let quiet = bristle(&["run", "scenes/single_pendulum.ron", "--until", "0.1", "-q"]);
    assert_eq!((quiet.status.code(), stderr(&quiet).as_str()), (Some(0), ""));
    let table = String::from_utf8(quiet.stdout).unwrap();
    assert_eq!(table.lines().count(), 12);
}

#[test]
fn options_change_method_and_tolerance() {
    let last = |options: &[&str]| -> Vec<f64> {
        let mut arguments = vec!["run", "scenes/single_pendulum.ron", "-q"];
        arguments.extend(options);
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let table = String::from_utf8(output.stdout).unwrap();
        table.lines().next_back().unwrap().split(',').map(|x| x.parse().unwrap()).collect()
    };
    // BENCHMARKS A01: x = −cos(position) at t = 10 s
    let error = |row: &[f64]| (-row[1].cos() + 0.275087462576122).abs();
    let tight = error(&last(&["--method", "Radau5", "--rtol", "1e-11", "--atol", "1e-11"]));
    let loose = error(&last(&["--rtol", "1e-4", "--atol", "1e-6"]));
    let fixed = error(&last(&["--method", "Rk4", "--step", "0.001"]));
    assert!(tight < 1e-8 && fixed < 1e-7 && loose > 1e-6 && loose < 0.1, "{tight:e} {fixed:e} {loose:e}");
}

#[test]
fn refusals_leave_with_two_and_point_at_the_place() {
    let friction = Temporary::with(
        "friction.ron",
        "Scene(\n links: [Link(name: \"a\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],\n joints: [Joint(name: \"j\", parent: \
         \"world\", child: \"a\", kind: Revolute(axis: (0.0, 0.0, 1.0)),\n  drive: Motion(Constant(0.3)))],\n)",
    );
    let place = format!("{}:4:10", friction.path());
    for (arguments, expected) in [
        (vec!["run", friction.path()], place.as_str()),
        (vec!["check", "scenes/single_pendulum.ron", friction.path()], "drive `Motion` of joint `j`"),
        (vec!["run", "nowhere.ron"], "nowhere.ron"),
        (vec!["run", "scenes/single_pendulum.ron", "--method", "Rk5"], "unknown method `Rk5`"),
        (vec!["run", "scenes/single_pendulum.ron", "--until", "-1"], "duration"),
        (vec!["run", "scenes/single_pendulum.ron", "--step", "0"], "step"),
        (vec!["run", "scenes/single_pendulum.ron", "--rtol", "x"], "rtol"),
        (vec!["run", "scenes/single_pendulum.ron", "--until", "1e15"], "would record"),
        (vec!["run", "scenes/single_pendulum.ron", "--wrong"], "--wrong"),
        (vec!["walk"], "walk"),
    ] {
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: no `{expected}` in {}", stderr(&output));
        // nothing that could be taken for results
        assert!(!String::from_utf8_lossy(&output.stdout).contains("energy"), "{arguments:?}");
    }
}

#[test]
fn a_failed_run_leaves_with_one_and_keeps_what_it_had() {
    let scene = Temporary::with(
        "stiff.ron",
        "Scene(links: [Link(name: \"a\", mass: 1.0)], joints: [Joint(name: \"slide\", parent: \"world\", child: \"a\", kind: \
         Prismatic(axis: (1.0, 0.0, 0.0)), position: 1.0, spring: Spring(stiffness: 1.0e6))], solver: Solver(method: Euler, \
         control: Constant(step: 0.1)), duration: 1000.0, output: Output(interval: 0.1))",
    );
    let (out, partial) = (Temporary::new("failed.csv"), Temporary::new("failed.partial.csv"));
    let output = bristle(&["run", scene.path(), "--out", out.path()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("the simulation stood at t = ") && message.contains("slide.position"), "{message}");
    assert!(!out.0.exists() && partial.0.exists(), "{message}");
    assert!(std::fs::read_to_string(partial.path()).unwrap().lines().count() > 10);
}

#[test]
fn results_that_cannot_be_written_are_refused_before_the_run() {
    let directory = std::env::temp_dir();
    for out in ["/nowhere/at/all.csv", directory.to_str().unwrap()] {
        let output = bristle(&["run", "scenes/single_pendulum.ron", "--until", "0.1", "--out", out]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(out) && !stderr(&output).contains("real time"), "{}", stderr(&output));
    }
}

#[test]
fn check_says_what_it_found() {
    let output = bristle(&["check", "scenes/double_pendulum.ron", "scenes/single_pendulum.ron"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains("scenes/double_pendulum.ron: 2 joints, 2 degrees of freedom"), "{text}");
}

#[test]
fn changes_of_mode_go_into_a_file_of_their_own() {
    let (out, events) = (Temporary::new("modes.csv"), Temporary::new("events.csv"));
    let arguments =
        ["run", "scenes/belt_oscillator.ron", "--until", "2", "--out", out.path(), "--events", events.path()];
    let output = bristle(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(events.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "t,joint,from,to"));
    assert!(lines[1].starts_with("1.5") && lines[1].ends_with(",slide,0,-1"), "{text}");
    assert!(lines[2].starts_with("1.85363") && lines[2].ends_with(",slide,-1,0"), "{text}");
}

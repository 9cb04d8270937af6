//! Nothing hangs: searches are bounded, limits are met and said, signals are heard also inside one long step.

use super::{Temporary, bristle, root, stderr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A mass that nothing acts on: one step spans all of its rows.
const FREE: &str = "Scene(links: [Link(name: \"a\", mass: 1.0)], joints: [Joint(name: \"slide\", parent: \"world\", \
    child: \"a\", \
    kind: Prismatic(axis: (1, 0, 0)), velocity: 1.0)], gravity: (0, 0, 0), duration: 1e5, output: Output(interval: \
    1e-3))";

#[test]
fn dithers_late_in_a_run_come_to_their_end() {
    for (scene, rows) in [("dither_10kHz_500s", 503), ("sum_signal_late", 100_004)] {
        let out = Temporary::new(&format!("{scene}.csv"));
        let path = format!("tests/data/defects/{scene}.ron");
        let output = bristle(&["run", &path, "--out", out.path(), "--max-time", "30"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(out.path()).unwrap().lines().count(), rows);
    }
}

#[test]
fn limits_end_a_run_and_say_so() {
    let (out, partial) = (Temporary::new("limits.csv"), Temporary::new("limits.partial.csv"));
    let run = |limit: &[&str]| {
        let arguments = ["run", "scenes/single_pendulum.ron", "--until", "1e5", "--out", out.path(), "-q"];
        let output = bristle(&[&arguments[..], limit].concat());
        (output.status.code(), stderr(&output))
    };
    let start = Instant::now();
    for (limit, reason) in [
        (["--max-steps", "1000"], "the limit of 1000 steps is met (--max-steps)"),
        (["--max-time", "0.3"], "the limit of 0.3 s on the clock is met (--max-time)"),
    ] {
        let (code, said) = run(&limit);
        assert!(code == Some(1) && said.contains(reason) && said.contains(partial.path()), "{said}");
        assert!(partial.0.exists() && !out.0.exists());
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(run(&["--max-time", "-1"]).0, Some(2));
}

#[cfg(unix)]
#[test]
fn one_long_step_of_many_rows_hears_a_signal() {
    let scene = Temporary::with("one-step.ron", FREE);
    let (out, partial) = (Temporary::new("one-step.csv"), Temporary::new("one-step.partial.csv"));
    let child = Command::new(env!("CARGO_BIN_EXE_bristle"))
        .args(["run", scene.path(), "--out", out.path()])
        .current_dir(root())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    super::lost::wait_for_rows(&partial.0);
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
    // 1e8 rows take minutes
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let text = std::fs::read_to_string(&partial.0).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() < 50_000_000);
}

/// Modes of thousands of reaction-loaded joints take long to choose at the start.
#[test]
fn the_start_of_a_large_machine_hears_the_clock() {
    let links: String = (0..2000)
        .map(|i| format!("Link(name:\"l{i}\",mass:1,center_of_mass:(0.1,0,0),inertia:Diagonal(0.01,0.01,0.01)),"))
        .collect();
    let joint = |i: usize| {
        let parent = if i == 0 { "world".to_owned() } else { format!("l{}", i - 1) };
        format!(
            "Joint(name:\"j{i}\",parent:\"{parent}\",child:\"l{i}\",kind:Revolute(axis:(0,1,0)),\
             placement:Placement(translation:(0.2,0,0)),friction:Coulomb(coulomb:0.3,stiction:0.3),\
             load:Pin(radius:0.01)),"
        )
    };
    let joints: String = (0..2000).map(joint).collect();
    let scene = Temporary::with("pins.ron", &format!("Scene(links:[{links}],joints:[{joints}],duration:1000)"));
    let out = Temporary::new("pins.csv");
    let start = Instant::now();
    let output = bristle(&["run", scene.path(), "--out", out.path(), "-q", "--max-time", "1.5"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("the limit of 1.5 s on the clock is met (--max-time)"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

//! `run` and `check`: exit codes, files, messages.

use super::{Temporary, bristle, bristle_in, stderr};

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
fn results_go_to_standard_output_for_a_dash() {
    let quiet = bristle(&["run", "scenes/single_pendulum.ron", "--until", "0.1", "-q", "--out", "-"]);
    assert_eq!((quiet.status.code(), stderr(&quiet).as_str()), (Some(0), ""));
    let table = String::from_utf8(quiet.stdout).unwrap();
    assert_eq!(table.lines().count(), 12);
}

#[test]
fn options_change_method_and_tolerance() {
    let last = |options: &[&str]| -> Vec<f64> {
        let mut arguments = vec!["run", "scenes/single_pendulum.ron", "-q", "--out", "-"];
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
fn refusals_exit_with_two_and_a_place() {
    let friction = Temporary::with(
        "friction.ron",
        "Scene(\n links: [Link(name: \"a\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],\n joints: \
        [Joint(name: \"j\", parent: \
         \"world\", child: \"a\", kind: Revolute(axis: (0.0, 0.0, 1.0)),\n  drive: Motion(Steps([(0.0, 0.0), (1.0, \
         1.0)])))],\n)",
    );
    let place = format!("{}:4:10", friction.path());
    for (arguments, expected) in [
        (vec!["run", friction.path()], place.as_str()),
        (vec!["check", "scenes/single_pendulum.ron", friction.path()], "joint `j` cannot follow a position that jumps"),
        (vec!["run", "nowhere.ron"], "nowhere.ron"),
        (vec!["run", "scenes/single_pendulum.ron", "--method", "Rk5"], "unknown method `Rk5`"),
        (vec!["run", "scenes/single_pendulum.ron", "--until", "-1"], "duration"),
        (vec!["run", "scenes/single_pendulum.ron", "--step", "0"], "step"),
        (vec!["run", "scenes/single_pendulum.ron", "--rtol", "x"], "rtol"),
        (vec!["run", "scenes/single_pendulum.ron", "--until", "1e15"], "would record"),
        (vec!["run", "scenes/single_pendulum.ron", "--wrong"], "--wrong"),
        (vec!["run", "scenes/single_pendulum.ron", "--out", "out.xls"], "unknown format `.xls`"),
        (vec!["run", "scenes/single_pendulum.ron", "--out", "out"], "no extension"),
        (vec!["run", "scenes/single_pendulum.ron", "--out", "o.csv", "--events", "o.csv"], "cannot share a file"),
        (vec!["run", "scenes/single_pendulum.ron", "--plot", "out.pdf"], ".svg or .png"),
        (vec!["run", "scenes/single_pendulum.ron", "--json", "--out", "-"], "both want standard output"),
        (vec!["run", "scenes/single_pendulum.ron", "--control", "Error(rtol: -1)"], "rtol"),
        (vec!["run", "scenes/single_pendulum.ron", "--control", "Errr(rtol: 1e-3)"], "did you mean `Error`?"),
        (vec!["run", "scenes/single_pendulum.ron", "--formulation", "Jerck"], "did you mean `Jerk`?"),
        (vec!["run", "scenes/single_pendulum.ron", "--set", "joints.hinge.dampin=0.1"], "did you mean `damping`?"),
        (vec!["run", "scenes/single_pendulum.ron", "--set", "joints.hing.damping=0.1"], "did you mean `hinge`?"),
        (vec!["run", "scenes/single_pendulum.ron", "--set", "joint.hinge.damping=0.1"], "did you mean `joints`?"),
        (vec!["run", "scenes/single_pendulum.ron", "--set", "links.bob.mass=-1"], "mass"),
        (vec!["run", "scenes/single_pendulum.ron", "--set", "links.bob.mass"], "path=value"),
        (vec!["walk"], "walk"),
    ] {
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: no `{expected}` in {}", stderr(&output));
        assert!(arguments.len() < 4 || arguments[2] != "--set" || stderr(&output).contains(arguments[3]));
        // nothing that could be taken for results
        assert!(!String::from_utf8_lossy(&output.stdout).contains("energy"), "{arguments:?}");
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
    assert_eq!((lines.len(), lines[0]), (3, "t,joint,from,to,event"));
    assert!(lines[1].starts_with("1.5") && lines[1].ends_with(",slide,0,-1,mode"), "{text}");
    assert!(lines[2].starts_with("1.85363") && lines[2].ends_with(",slide,-1,0,mode"), "{text}");
}

#[test]
fn default_output_names() {
    let folder = Temporary::folder("default");
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum.ron");
    let output = bristle_in(&folder.0, &["run", scene, "--until", "0.2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("double_pendulum.results.csv (21 rows"), "{}", stderr(&output));
    assert!(stderr(&output).contains("double_pendulum.results.svg"), "{}", stderr(&output));
    assert!(stderr(&output).contains("double_pendulum.report.html"), "{}", stderr(&output));
    assert!(folder.0.join("double_pendulum.results.csv").exists());
    assert!(folder.0.join("double_pendulum.report.html").exists());
    assert!(std::fs::read_to_string(folder.0.join("double_pendulum.results.svg")).unwrap().starts_with("<svg"));
    assert!(!folder.0.join("double_pendulum.results.partial.csv").exists());
}

#[test]
fn set_changes_what_the_scene_says() {
    let out = Temporary::new("set.csv");
    let arguments = ["run", "scenes/double_pendulum_coulomb.ron", "--until", "0.5", "--out", out.path()];
    let shown = |more: &[&str]| {
        let output = bristle(&[&arguments[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        std::fs::read_to_string(out.path()).unwrap()
    };
    // without gravity nothing moves; a joint of little friction lets go at once
    let still = shown(&["--set", "gravity=(0, 0, 0)"]);
    assert_eq!(still.lines().nth(1).unwrap().split(',').nth(1), still.lines().last().unwrap().split(',').nth(1));
    let (stiff, loose) =
        (shown(&[]), shown(&["--set", "joints.elbow.friction.coulomb=0", "--set", "joints.elbow.friction.stiction=0"]));
    let elbow = |text: &str| {
        let k = text.lines().next().unwrap().split(',').position(|name| name == "elbow.velocity").unwrap();
        text.lines().nth(8).unwrap().split(',').nth(k).unwrap().parse::<f64>().unwrap()
    };
    assert!(elbow(&stiff) == 0.0 && elbow(&loose) != 0.0);
}

#[test]
fn the_summary_can_be_read_by_programs() {
    let (out, stats) = (Temporary::new("json.csv"), Temporary::new("stats.json"));
    let output =
        bristle(&["run", "scenes/stick_slip_coulomb.ron", "--json", "--out", out.path(), "--stats", stats.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["completed"].as_bool(), said["simulated"].as_f64()), (Some(true), Some(25.0)));
    assert_eq!(said["rows"].as_u64(), Some(2501));
    assert!(said["stats"]["n_accepted"].as_u64().unwrap() > 10 && said["worst_balance"].as_f64().unwrap() < 1e-6);
    assert!(said["mode_changes"].as_u64().unwrap() >= 5);
    assert_eq!(said["files"]["results"].as_str(), Some(out.path()));
    // the last row of the file is the final state
    let text = std::fs::read_to_string(out.path()).unwrap();
    let last: f64 = text.lines().last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert_eq!(said["final_state"]["slide.position"].as_f64(), Some(last));
    let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(stats.path()).unwrap()).unwrap();
    assert_eq!(file["stats"], said["stats"]);
}

#[test]
fn list_names_everything_and_the_scenes() {
    let output = bristle(&["list"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["LuGre(sigma0", "Pin(radius", "Radau5", "DymoreLuGre(", "Ramp(", "Pid(", "scenes/double_pendulum.ron"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(text.contains("A frictionless double pendulum"), "{text}");
    assert_eq!(bristle(&["list", "scenes", "--folder", "nowhere"]).status.code(), Some(2));
}

#[test]
fn every_command_has_examples() {
    for command in ["run", "check", "plot", "compare", "list", "import"] {
        let output = bristle(&[command, "--help"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Examples:\n  bristle "), "{text}");
    }
}

#[test]
fn report_is_one_page_with_overrides() {
    let folder = Temporary::folder("report");
    let (out, report) = (folder.0.join("out.csv"), folder.0.join("report.html"));
    let (out, report) = (out.to_str().unwrap(), report.to_str().unwrap());
    let scene = "scenes/double_pendulum_coulomb.ron";
    let output =
        bristle(&["run", scene, "--until", "1", "--set", "joints.elbow.damping=0.1", "--out", out, "--report", report]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(report), "{}", stderr(&output));
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 1_000_000);
    assert!(page.contains("joints.elbow.damping=0.1") && page.contains("duration=1"));
    let refused = bristle(&["run", scene, "--report", "report.pdf"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("reports are written as .html"), "{}", stderr(&refused));
}

#[test]
fn non_scenes_of_any_size_are_refused() {
    let large = Temporary::with("large.ron", &"Link(name: \"a\"),\n".repeat(3_300_000));
    let deep = Temporary::with("deep.ron", &format!("Scene(links: {}", "[(".repeat(2_000_000)));
    let empty = Temporary::with("empty.ron", "");
    for (file, reason) in [(&large, "the limit is 50 MB"), (&deep, "nested more than"), (&empty, "error: ")] {
        let output = bristle(&["check", file.path()]);
        assert_eq!(output.status.code(), Some(2), "{}", file.path());
        let message = stderr(&output);
        assert!(message.contains(reason) && message.contains(file.path()) && message.len() < 2000, "{message:.400}");
    }
}

#[test]
fn warnings_met_on_the_way_are_in_the_summary() {
    // a pin that could hold any of two accelerations: c = 1.4 in the comment of the scene
    let out = Temporary::new("jam.csv");
    let arguments = [
        "run",
        "scenes/unbalanced_rotor.ron",
        "--set",
        "joints.rotor.friction=Coulomb(coulomb: 3.5)",
        "--set",
        "joints.rotor.drive=Effort(Constant(20))",
        "--set",
        "joints.rotor.velocity=4",
        "--until",
        "0.02",
        "--out",
        out.path(),
    ];
    let output = bristle(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: joint `rotor` is near jamming at t = "), "{}", stderr(&output));
    let output = bristle(&[&arguments[..], &["--json"]].concat());
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(said["warnings"][0].as_str().unwrap().contains("near jamming"), "{said}");
}

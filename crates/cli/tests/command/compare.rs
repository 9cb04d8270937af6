//! `compare`, and formats that hold the same numbers.

use super::{Temporary, bristle, stderr};

fn run(scene: &str, out: &Temporary, more: &[&str]) {
    let arguments = ["run", scene, "-q", "--out", out.path()];
    let output = bristle(&[&arguments[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn formats_hold_the_same_bits() {
    let scene = "scenes/double_pendulum_coulomb.ron";
    let files = ["bits.csv", "bits.npz", "bits.json"].map(Temporary::new);
    files.iter().for_each(|file| run(scene, file, &["--until", "2"]));
    for other in &files[1..] {
        let output = bristle(&["compare", files[0].path(), other.path(), "--tolerance", "0"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(String::from_utf8(output.stdout).unwrap().contains("201 instants from 0 to 2 s"));
    }
}

#[test]
fn values_in_a_csv_are_the_simulated_ones() {
    use bristle::prelude::*;
    let out = Temporary::new("same.csv");
    run("scenes/stick_slip_lugre.ron", &out, &["--until", "9"]);
    let scene = Scene::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/stick_slip_lugre.ron")).unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(9.0).unwrap();
    let text = std::fs::read_to_string(out.path()).unwrap();
    assert_eq!(text.lines().next().unwrap(), recording.names().join(","));
    assert_eq!(text.lines().count(), recording.len() + 1);
    for (line, row) in text.lines().skip(1).zip(recording.rows()) {
        let read: Vec<u64> = line.split(',').map(|x| x.parse::<f64>().unwrap().to_bits()).collect();
        assert_eq!(read, row.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
}

#[test]
fn two_methods_differ_by_their_tolerances() {
    let scene = "scenes/single_pendulum.ron";
    let differs = |more: &[&str]| bristle(&[&["compare", scene], more].concat()).status.code();
    let tight = ["--with", "method=Radau5,rtol=1e-11,atol=1e-12", "--until", "2"];
    assert_eq!(differs(&[&tight[..], &["--tolerance", "1e-6"]].concat()), Some(0));
    assert_eq!(differs(&[&tight[..], &["--tolerance", "1e-14"]].concat()), Some(1));
    let loose = ["--with", "method=Rk4,step=0.05", "--with", "rtol=1e-11", "--until", "2"];
    assert_eq!(differs(&[&loose[..], &["--tolerance", "1e-7"]].concat()), Some(1));
    assert_eq!(differs(&[&loose[..], &["--tolerance", "1e-2"]].concat()), Some(0));

    let output = bristle(&[&["compare", scene, "--json"], &loose[..]].concat());
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["instants"].as_u64(), said["interpolated"].as_u64()), (Some(201), Some(0)));
    assert_eq!(said["channels"][0]["channel"].as_str(), Some("hinge.position"));
}

#[test]
fn different_grids_are_interpolated() {
    let scene = "scenes/single_pendulum.ron";
    let (fine, odd) = (Temporary::new("fine.csv"), Temporary::new("odd.csv"));
    run(scene, &fine, &["--until", "2"]);
    run(scene, &odd, &["--until", "2.5", "--set", "output.interval=0.013"]);
    let output = bristle(&["compare", fine.path(), odd.path()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("which was interpolated there") && text.contains("from 0 to 2 s"), "{text}");
    let position = text.lines().find(|line| line.starts_with("hinge.position")).unwrap();
    let largest: f64 = position.split_whitespace().nth(1).unwrap().parse().unwrap();
    // h⁴/384 of a fourth derivative of some hundred
    assert!(largest < 1e-7, "{position}");
}

#[test]
fn incomparable_results_are_refused() {
    for (option, value, wanted) in [
        ("--with", "foo=1", "--> --with:1:1"),
        ("--with", "method=Rk4", "= write `step=1e-3`"),
        ("--tolerance", "-1", "--tolerance must not be negative"),
    ] {
        let output = bristle(&["compare", "scenes/single_pendulum.ron", option, value]);
        assert_eq!(output.status.code(), Some(2), "{value}: {}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{value}: {}", stderr(&output));
    }
    let text = Temporary::with("notes.csv", "a,b\n1,2\n");
    for (arguments, expected) in [
        (vec!["compare", "scenes/single_pendulum.ron"], "nothing to compare with"),
        (vec!["compare", "nowhere.csv", "nowhere.csv"], "nowhere.csv"),
        (vec!["compare", text.path(), text.path()], "no channel `t`"),
        (vec!["compare", "scenes/single_pendulum.ron", "--with", "method=Rk5"], "unknown method `Rk5`"),
        (vec!["compare", "scenes/single_pendulum.ron", "--with", "step=1,rtol=1"], "exclude one another"),
    ] {
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn interrupted_comparison_exits_with_one() {
    use std::process::{Command, Stdio};
    let folder = Temporary::folder("compared");
    let scene = super::root().join("scenes/double_pendulum_coulomb.ron");
    // the second run would take for ever; the first is over at once
    let second = "duration=1e7,output.interval=5,solver.method=Rk4,solver.control=Constant(step: 1e-3)";
    for (signal, settings, run) in [
        ("-INT", ["duration=1e7,output.interval=5", "method=Rk4,step=1e-3"], "1 of 2"),
        ("-TERM", ["duration=0.1", second], "2 of 2"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        command.args(["compare", scene.to_str().unwrap(), "--with", settings[0], "--with", settings[1]]);
        let child = command.current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // time enough to load, run the short one and be under way with the long one
        std::thread::sleep(std::time::Duration::from_millis(1000));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("stopped at t = ") && said.contains(run) && said.contains("nothing was compared"),
            "{said}"
        );
        assert!(output.stdout.is_empty());
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "files were left");
    }
}

#[test]
fn missing_channels_exceed_any_tolerance() {
    let folder = Temporary::folder("compare-lacking");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let whole = path("whole.csv");
    assert!(bristle(&["run", "scenes/double_pendulum.ron", "--until", "1", "--out", &whole]).status.success());
    let text = std::fs::read_to_string(&whole).unwrap();
    let half: Vec<&str> = text.lines().take(40).collect();
    std::fs::write(path("half.csv"), half.join("\n") + "\n").unwrap();
    let few: Vec<String> = text.lines().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    std::fs::write(path("few.csv"), few.join("\n") + "\n").unwrap();
    for (other, code, words) in
        [("whole.csv", 0, ""), ("half.csv", 1, "more time than the other"), ("few.csv", 1, "in one of the tables only")]
    {
        let output = bristle(&["compare", &whole, &path(other), "--tolerance", "1e-9"]);
        assert_eq!(output.status.code(), Some(code), "{other}");
        assert!(stderr(&output).contains(words), "{other}: {}", stderr(&output));
    }
}

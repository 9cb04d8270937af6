//! Messages of the command, their stream, and its exit code.

use super::{Temporary, bristle, bristle_in, root, stderr};
use std::fs::File;
use std::process::{Command, Stdio};

const PENDULUM: &str = "scenes/single_pendulum.ron";

/// The command with its data going to a file or device.
#[cfg(target_os = "linux")]
fn onto_full_disk(arguments: &[&str]) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
    let output = command.args(arguments).current_dir(root()).stdout(full).output().unwrap();
    (output.status.code(), stderr(&output))
}

#[cfg(target_os = "linux")]
#[test]
fn data_that_cannot_be_printed_are_an_error() {
    let out = Temporary::new("full.csv");
    for arguments in [
        &["run", PENDULUM, "--until", "0.1", "--json", "--out", out.path()][..],
        &["list"],
        &["check", PENDULUM, PENDULUM],
        &["compare", PENDULUM, "--with", "method=Radau5", "--until", "0.1"],
        &["plot", "--help"],
        &["--help"],
        &["--version"],
    ] {
        let (code, said) = onto_full_disk(arguments);
        let times = said.matches("standard output").count();
        assert!(code == Some(1) && times == 1, "{arguments:?}: {code:?} {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    for arguments in [&["list"][..], &["--help"], &["check", PENDULUM]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        let child = command.args(arguments).current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn lists_without_scenes_are_lists_all_the_same() {
    let folder = Temporary::folder("nothing-here");
    let output = bristle_in(&folder.0, &["list"]);
    let listed = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for word in ["Revolute(axis", "exponent: 2.0", "damping_velocity", "RealTime", "OneWayClutch"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    assert!(stderr(&output).starts_with("note: no scenes here"), "{}", stderr(&output));
    // who asks for scenes alone is told that there are none
    assert_eq!(bristle_in(&folder.0, &["list", "scenes"]).status.code(), Some(2));
}

#[test]
fn option_errors_name_the_option() {
    let said = |arguments: &[&str]| {
        let output = bristle(&[&["run", PENDULUM, "--out", "never.csv"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        stderr(&output)
    };
    for (arguments, wanted) in [
        (&["--method", "Rk4"][..], &["--> --method:1:15", "give `--step 1e-3`"][..]),
        (&["--method", "Rk5"], &["--> --method:1:15", "did you mean `Rk4`?"]),
        (&["--formulation", "Residual"], &["--> --formulation:", "give `--method Radau5`"]),
        (&["--formulation", "Jerk", "--method", "RealTime"], &["--formulation", "give `--formulation Implicit`"]),
        (&["--rtol", "1e-30"], &["--> --rtol:", "at least 1e-14"]),
        (&["--atol", "-1"], &["--> --atol:", "`atol` is -1.0"]),
        (&["--step", "-1"], &["--> --step:", "`step` is -1.0"]),
        (&["--control", "Eror()"], &["--> --control:", "did you mean `Error`?"]),
        (&["--until", "0"], &["--> --until:", "`duration` is 0.0"]),
        (&["--set", "joints.nope.damping=1"], &["--> --set:", "there is no `nope`"]),
    ] {
        let said = said(arguments);
        assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{arguments:?}: {said}");
    }
}

#[test]
fn start_errors_have_a_place() {
    let joint = |more: &str| {
        format!(
            "Scene(\n    links: [Link(name: \"a\", mass: 1.0, center_of_mass: (0.0, 1.0, 0.0))],\n    joints: \
            [Joint(name: \"j\", \
             parent: \"world\", child: \"a\", kind: Prismatic(axis: (1.0, 0.0, 0.0)),\n        {more})],\n)"
        )
    };
    let text = joint("friction: Coulomb(coulomb: 0.9), load: Guide(length: 0.1), velocity: 1.0");
    let jam = Temporary::with("jam.ron", &text);
    let output = bristle(&["check", jam.path()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("jam.ron:4:") && stderr(&output).contains("joint `j`"), "{}", stderr(&output));

    // numbers that nothing can be made of are what is pointed at
    for (more, place, words) in [
        ("damping: 1e308, velocity: 1e308", "large.ron:4:18", "`damping` is 1e308"),
        ("velocity: 1e200", "large.ron:4:19", "`velocity` is 1e200"),
    ] {
        let large = Temporary::with("large.ron", &joint(more));
        let output = bristle(&["run", large.path(), "--out", "never.csv"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(place) && said.contains(words) && !said.contains("aba"), "{said}");
    }

    let text = joint("").replace("\n)", "\n    solver: Solver(control: Error(rtol: 1e-30)),\n)");
    let small = Temporary::with("small.ron", &text);
    let output = bristle(&["check", small.path()]);
    assert!(stderr(&output).contains("small.ron:5:41"), "{}", stderr(&output));
}

/// Two wheels on shafts of their own; what is said of the shafts, and of what couples them.
fn wheels(shafts: [&str; 2], couplings: &str) -> String {
    let link = |name: &str| format!("Link(name: \"{name}\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))");
    let joint = |name: &str, child: &str, more: &str| {
        let kind = "kind: Revolute(axis: (0.0, 0.0, 1.0))";
        format!(
            "\n        Joint(name: \"{name}\", parent: \"world\", child: \"{child}\", {kind},\n            {more}),"
        )
    };
    let joints = [joint("one", "a", shafts[0]), joint("two", "b", shafts[1])].concat();
    format!(
        "Scene(\n    links: [{}, {}],\n    joints: [{joints}\n    ],\n    couplings: [\n        {couplings}\n    ],\n)",
        link("a"),
        link("b")
    )
}

#[test]
fn coupling_errors_have_a_place() {
    let gear = "Gear(name: \"g\", joints: (\"one\", \"two\"), ratio: 3.0),";
    let two = format!("{gear}\n        Gear(name: \"h\", joints: (\"one\", \"two\"), ratio: 2.0),");
    let sum = "Linear(name: \"l\", terms: [(\"one\", 1.0), (\"two\", -2.0)]),";
    let led = "drive: Motion(Sine(amplitude: 1.0, frequency: 1.0))";
    let rubs = "friction: Coulomb(coulomb: 1.0)";
    for (shafts, couplings, place, words) in [
        // start velocities and positions that the ratio forbids
        (
            ["velocity: 1.0", "velocity: 1.0"],
            gear,
            "5:23",
            "`one`: its velocity is 1.0, but its couplings put it at 3.0",
        ),
        (
            ["position: 1.0", "position: 1.0"],
            gear,
            "5:23",
            "`one`: its position is 1.0, but its couplings put it at 3.0",
        ),
        (
            ["velocity: 1.0", "velocity: 1.0"],
            sum,
            "5:23",
            "`one`: its velocity is 1.0, but its couplings put it at 2.0",
        ),
        // two joints led on one gear; a joint led and tied to the ground
        ([led, led], gear, "10:33", "`g`: `one` and `two` have a `Motion` already"),
        ([led, ""], "Linear(name: \"l\", terms: [(\"one\", 1.0)]),", "10:34", "`l`: `one` has a `Motion` already"),
        // two ratios of the same wheels
        ([rubs, rubs], &two, "11:9", "`h`: it contradicts `g`"),
        // a drive that begins elsewhere
        (["velocity: 2.0, drive: Motion(Constant(0.0))", ""], gear, "5:23", "joint `one` starts at velocity 2.0"),
    ] {
        let scene = Temporary::with("contradiction.ron", &wheels(shafts, couplings));
        for command in ["check", "run"] {
            let output = bristle(&[command, scene.path()]);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            let at = format!("contradiction.ron:{place}\n");
            assert!(said.contains(&at) && said.contains(words), "{command}, {at}: {said}");
        }
    }
}

#[test]
fn saved_scene_has_overrides() {
    let saved = Temporary::new("saved.ron");
    let arguments =
        ["check", "scenes/double_pendulum_lugre.ron", "--set", "joints.elbow.damping=0.25", "--rtol", "1e-9"];
    let output = bristle(&[&arguments[..], &["--save", saved.path()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let again = bristle::Scene::load(saved.path()).unwrap();
    let file = root().join("scenes/double_pendulum_lugre.ron");
    let mut scene = bristle::Scene::load(file).unwrap();
    assert_ne!(again, scene);
    scene.joints.iter_mut().find(|joint| joint.name == "elbow").unwrap().damping = 0.25;
    let bristle::scene::Control::Error { atol, .. } = scene.control() else { panic!("by error") };
    scene.solver.control = Some(bristle::scene::Control::Error { rtol: 1e-9, atol });
    assert_eq!(again, scene);
    // never over the scene itself, and one at a time
    for more in
        [&["scenes/chain_10.ron", "--save", "scenes/chain_10.ron"][..], &[PENDULUM, PENDULUM, "--save", "x.ron"]]
    {
        assert_eq!(bristle(&[&["check"], more].concat()).status.code(), Some(2), "{more:?}");
    }
}

#[test]
fn failed_run_leaves_partial_names() {
    let scene = "Scene(links: [Link(name: \"a\", mass: 1.0)], joints: [Joint(name: \"slide\", parent: \"world\", \
        child: \"a\", kind: \
                 Prismatic(axis: (1.0, 0.0, 0.0)), position: 1.0, spring: Spring(stiffness: 1.0e6))], solver: \
                 Solver(method: Euler, \
                 control: Constant(step: 0.1)), duration: 1000.0, output: Output(interval: 0.1))";
    let folder = Temporary::folder("failed-stats");
    std::fs::write(folder.0.join("stiff.ron"), scene).unwrap();
    let output = bristle_in(&folder.0, &["run", "stiff.ron", "--out", "out.csv", "--stats", "stats.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(folder.0.join("stats.partial.json").exists() && !folder.0.join("stats.json").exists());
    let said = stderr(&output);
    assert!(said.contains("of joint `slide` runs away after t = ") && said.contains("smaller step"), "{said}");
}

/// Steps that are far too long for the bristles: the motion goes on, and is another one.
#[test]
fn a_hopeless_energy_balance_is_said() {
    let folder = Temporary::folder("balance");
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum_lugre.ron");
    let run = |more: &[&str]| {
        let output = bristle_in(&folder.0, &[&["run", scene, "--until", "0.5", "--out", "k.csv"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        output
    };
    let coarse =
        ["--method", "Dopri5", "--control", "Velocity(inside: 1e-4, outside: 1e-3, range: (0.1, 5.0))", "--json"];
    let said: serde_json::Value = serde_json::from_slice(&run(&coarse).stdout).unwrap();
    let warnings = said["warnings"].as_array().unwrap();
    let last = warnings.last().unwrap().as_str().unwrap();
    assert!(last.contains("the energy balance is off by 0.960 J") && last.contains("smaller step"), "{last}");
    assert!(stderr(&run(&coarse[..4])).contains("the energy balance is off by"));
    assert!(!stderr(&run(&[])).contains("the energy balance is off by"));
    // what loses nothing is measured by what it exchanges
    let free = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum.ron");
    for (step, is_said) in [("1e-3", false), ("0.2", true)] {
        let arguments = ["run", free, "--until", "2", "--method", "Rk4", "--step", step, "--out", "k.csv"];
        let said = stderr(&bristle_in(&folder.0, &arguments));
        assert_eq!(said.contains("J are in play"), is_said, "{step}: {said}");
    }
    // a body in flight has energy though it exchanges none: an error of a millionth of it is small
    let flight = r#"Scene(gravity: (0, 0, 0), links: [Link(name: "b", mass: 1, inertia: Diagonal(0.1, 0.2, 0.3))],
        joints: [Joint(name: "f", parent: "world", child: "b", kind: Free,
            velocity: Twist(angular: (1, 2, 3), linear: (1, 0, 0)))],
        solver: Solver(method: Rk4, control: Constant(step: 0.05)), duration: 10.0)"#;
    std::fs::write(folder.0.join("flight.ron"), flight).unwrap();
    for (step, is_said) in [("0.05", false), ("1.0", true)] {
        let said = stderr(&bristle_in(&folder.0, &["run", "flight.ron", "--step", step, "--out", "k.csv"]));
        assert_eq!(said.contains("J are in play"), is_said, "{step}: {said}");
    }
}

#[test]
fn standard_output_takes_one_thing() {
    let folder = Temporary::folder("dash");
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum_coulomb.ron");
    let run = |more: &[&str]| bristle_in(&folder.0, &[&["run", scene, "--until", "1"], more].concat());
    let printed = |more: &[&str]| {
        let output = run(more);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(printed(&["--out", "k.csv", "--events", "-"]).starts_with("t,joint,from,to,event\n"));
    let stats: serde_json::Value = serde_json::from_str(&printed(&["--out", "k.csv", "--stats", "-"])).unwrap();
    assert_eq!(stats["completed"].as_bool(), Some(true));
    assert!(!folder.0.join("-").exists());
    for (arguments, wanted) in [
        (&["--out", "-", "--events", "-"][..], "--out - and --events - both want standard output"),
        (&["--events", "-", "--stats", "-"], "--events - and --stats - both want standard output"),
        (&["--json", "--stats", "-"], "--json and --stats - both want standard output"),
        (&["--events", "e.json"], "e.json: events are written as .csv"),
        (&["--stats", "s.txt"], "s.txt: statistics are written as .json"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(wanted), "{arguments:?}: {}", stderr(&output));
    }
}

//! `bristle dynamics`: against other engines, against formulas, and what it says when it cannot.

use super::{Temporary, bristle, stderr};
use serde_json::{Value, json};

/// Answers for states.
fn dynamics(name: &str, model: &str, states: &[Value], options: &[&str]) -> Vec<Value> {
    let text: Vec<String> = states.iter().map(Value::to_string).collect();
    let file = Temporary::with(&format!("dynamics-{name}.jsonl"), &text.join("\n"));
    let mut arguments = vec!["dynamics", model, "--states", file.path()];
    arguments.extend(options);
    let output = bristle(&arguments);
    assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Largest difference, relative to the largest entry.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / scale
}

#[test]
fn sixteen_robots_agree_with_three_other_engines() {
    let oracle: Value = serde_json::from_str(include_str!("../../../multibody/tests/data/trees_oracle.json")).unwrap();
    let mut compared = 0;
    for case in oracle["cases"].as_array().unwrap() {
        let name = case["model"].as_str().unwrap();
        let by_name = |field: &str| -> Value {
            let joints = case["joint_order"].as_array().unwrap();
            let pairs = joints.iter().zip(case[field].as_array().unwrap());
            Value::Object(pairs.map(|(joint, x)| (joint.as_str().unwrap().to_owned(), x.clone())).collect())
        };
        let (position, velocity) = (by_name("q"), by_name("v"));
        let states = [
            json!({"position": position, "velocity": velocity, "effort": by_name("tau")}),
            json!({"position": position, "velocity": velocity, "acceleration": by_name("a_inverse")}),
        ];
        let model = format!("crates/bristle/tests/urdf/trees/{name}.urdf");
        let answers = dynamics(name, &model, &states, &["-q"]);

        // theirs in the order of `joints`
        let order: Vec<usize> = answers[0]["joints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|joint| case["joint_order"].as_array().unwrap().iter().position(|j| j == joint).unwrap())
            .collect();
        let theirs = |field: &str| -> Vec<f64> {
            let values = numbers(&case[field]);
            order.iter().map(|&k| values[k]).collect()
        };
        let allowed = 50.0 * f64::EPSILON * case["mass_matrix_cond"].as_f64().unwrap().max(1.0);
        assert!(difference(&numbers(&answers[0]["acceleration"]), &theirs("qdd_forward")) < allowed, "{name}");
        assert!(difference(&numbers(&answers[1]["effort"]), &theirs("tau_inverse")) < allowed, "{name}");
        assert_eq!(numbers(&answers[0]["effort"]), theirs("tau"));
        for (energy, scale) in [("kinetic", 0.0), ("potential", 1.0)] {
            let theirs = case[energy].as_f64().unwrap();
            let ours = answers[0][energy].as_f64().unwrap();
            assert!((ours - theirs).abs() < 1e-13 * theirs.abs().max(scale), "{name} {energy}");
        }
        let square: f64 = answers[0]["mass_matrix"].as_array().unwrap().iter().flat_map(numbers).map(|x| x * x).sum();
        let frobenius = case["mass_matrix_frobenius"].as_f64().unwrap();
        assert!((square.sqrt() - frobenius).abs() < 1e-13 * frobenius, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 16);
}

/// A point mass m on a massless rod of length l, hanging from a hinge along y; angle 0 points down.
const PENDULUM: &str = r#"Scene(
    links: [Link(name: "bob", mass: 2.0, center_of_mass: (0.0, 0.0, -0.5))],
    joints: [Joint(name: "hinge", parent: "world", child: "bob", kind: Revolute(axis: (0.0, 1.0, 0.0)), damping: 0.3,
        friction: Coulomb(coulomb: 0.4, stiction: 0.6), drive: Effort(Constant(5.0)))],
)"#;

#[test]
fn a_pendulum_does_what_the_formula_says() {
    let (m, l, g) = (2.0, 0.5, 9.81);
    let scene = Temporary::with("dynamics-pendulum.ron", PENDULUM);
    let states = [
        json!({"position": {"hinge": 0.7}, "velocity": {"hinge": 2.0}, "effort": {"hinge": 1.5}}),
        json!({"position": {"hinge": 0.7}, "velocity": {"hinge": 2.0}, "acceleration": {"hinge": -3.0}}),
        json!({}),
        json!({
            "position": {"hinge": 0.7}, "velocity": {"hinge": 2.0}, "effort": {"hinge": 1.5},
            "acceleration": {"hinge": -3.0},
        }),
        json!({"position": {"hinge": 0.02}}),
        json!({"position": {"hinge": 0.7}}),
    ];
    // m l² a + m g l sin q = τ − friction
    let weight = |q: f64| m * g * l * q.sin();
    let inertia = m * l * l;
    for (options, resistance) in [(vec!["-q"], 0.0), (vec!["-q", "--friction"], 0.3 * 2.0 + 0.4)] {
        let name = format!("pendulum{}", options.len());
        let answers = dynamics(&name, scene.path(), &states, &options);
        let first = |k: usize, field: &str| answers[k][field][0].as_f64().unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-13, "{a} {b}");
        let forward = (1.5 - weight(0.7) - resistance) / inertia;
        near(first(0, "acceleration"), forward);
        assert_eq!(first(0, "effort"), 1.5);
        near(first(1, "effort"), inertia * -3.0 + weight(0.7) + resistance);
        assert_eq!(first(1, "acceleration"), -3.0);
        near(first(3, "acceleration"), forward);
        near(first(3, "effort"), first(1, "effort"));

        // energies; the reaction is what accelerates the bob and holds it, in the axes of the bob
        near(answers[0]["kinetic"].as_f64().unwrap(), 0.5 * inertia * 4.0);
        near(answers[0]["potential"].as_f64().unwrap(), -m * g * l * 0.7_f64.cos());
        near(answers[0]["mass_matrix"][0][0].as_f64().unwrap(), inertia);
        let force = numbers(&answers[0]["reactions"]["hinge"]["force"]);
        near(force[0], -m * l * forward - m * g * 0.7_f64.sin());
        near(force[1], 0.0);
        near(force[2], m * l * 4.0 + m * g * 0.7_f64.cos());
        near(numbers(&answers[0]["reactions"]["hinge"]["moment"])[1], 1.5 - resistance);

        // at rest: hanging, held by friction, let go
        near(first(2, "acceleration"), 0.0);
        let stuck = if resistance > 0.0 { 0.0 } else { -weight(0.02) / inertia };
        near(first(4, "acceleration"), stuck);
        let kinetic = if resistance > 0.0 { 0.4 } else { 0.0 };
        near(first(5, "acceleration"), (kinetic - weight(0.7)) / inertia);
    }
}

#[test]
fn left_out_joints_are_reported() {
    let scene = Temporary::with("dynamics-said.ron", PENDULUM);
    let states = Temporary::with("dynamics-said.jsonl", "{}\n\n{}\n");
    let ideal = bristle(&["dynamics", scene.path(), "--states", states.path()]);
    assert_eq!(String::from_utf8_lossy(&ideal.stdout).lines().count(), 2);
    let said = stderr(&ideal);
    for part in ["friction of 1 joint is left out", "damping of 1 joint", "the drive of 1 joint"] {
        assert!(said.contains(part), "{said}");
    }
    let whole = stderr(&bristle(&["dynamics", scene.path(), "--states", states.path(), "--friction"]));
    assert!(!whole.contains("damping") && whole.contains("the drive"), "{whole}");
}

#[test]
fn a_floating_robot_falls_and_turns() {
    let robot = Temporary::with(
        "dynamics-box.urdf",
        r#"<robot name="box"><link name="body"><inertial><mass value="3"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial></link></robot>"#,
    );
    // turned by a right angle about x: the body's y points up
    let (c, s) = (0.5_f64.sqrt(), 0.5_f64.sqrt());
    let states = [json!({
        "position": {"world_to_body": [1.0, 2.0, 3.0, c, s, 0.0, 0.0]},
        "velocity": {"world_to_body": [0.5, 0.0, 2.0, 0.0, 0.0, 0.0]},
        "effort": {"world_to_body": [0.0, 0.0, 0.0, 0.0, 6.0, 0.0]},
    })];
    let answers = dynamics("box", robot.path(), &states, &["-q", "--floating"]);
    let joints: Vec<&str> = answers[0]["joints"].as_array().unwrap().iter().map(|j| j.as_str().unwrap()).collect();
    assert_eq!(joints, ["wx", "wy", "wz", "vx", "vy", "vz"].map(|part| format!("world_to_body.{part}")));
    let a = numbers(&answers[0]["acceleration"]);
    // Euler: I_y ẇ_y = (I_z − I_x) w_z w_x; 6 N along y against 9.81 m/s² down
    let expected = [0.0, (0.25 - 0.1) * 2.0 * 0.5 / 0.2, 0.0, 0.0, 6.0 / 3.0 - 9.81, 0.0];
    assert!(a.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {expected:?}");
    assert!((answers[0]["potential"].as_f64().unwrap() - 3.0 * 9.81 * 3.0).abs() < 1e-12);
    // with friction asked for where there is none: the same by another way
    let again = dynamics("box2", robot.path(), &states, &["-q", "--floating", "--friction"]);
    let b = numbers(&again[0]["acceleration"]);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
}

/// A gripper: two fingers on slides, the second does what the first does, at half the pace.
const GRIPPER: &str = r#"<robot name="gripper"><link name="palm"/>
<link name="one"><inertial><mass value="0.2"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<link name="two"><inertial><mass value="0.4"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="leader" type="prismatic"><parent link="palm"/><child link="one"/><axis xyz="0 0 1"/>
<dynamics damping="3" friction="0.5"/>
<limit lower="0" upper="1" effort="9" velocity="1"/></joint>
<joint name="finger" type="prismatic"><parent link="palm"/><child link="two"/><axis xyz="0 0 1"/>
<mimic joint="leader" multiplier="0.5"/>
<limit lower="0" upper="1" effort="9" velocity="1"/></joint></robot>"#;

#[test]
fn a_finger_that_mimics_is_carried_by_its_leader() {
    let robot = Temporary::with("dynamics-gripper.urdf", GRIPPER);
    // m₁ a + m₂ a/4 = τ − (m₁ + m₂/2) g − friction; what is left out of the state goes where the leader puts it
    let (inertia, weight, resistance) = (0.2 + 0.4 * 0.25, (0.2 + 0.4 * 0.5) * 9.81, 3.0 * 0.2 + 0.5);
    let states = [
        json!({"velocity": {"leader": 0.2}, "acceleration": {"leader": 2.0}}),
        json!({"velocity": {"finger": 0.1}, "acceleration": {"finger": 1.0}}),
        json!({"velocity": {"leader": 0.2}, "effort": {"leader": 7.0}}),
        json!({"velocity": {"leader": 0.2}, "effort": {"finger": 14.0}}),
    ];
    for (options, resistance) in [(vec!["-q"], 0.0), (vec!["-q", "--friction"], resistance)] {
        let answers = dynamics(&format!("gripper{}", options.len()), robot.path(), &states, &options);
        let leader = answers[0]["joints"].as_array().unwrap().iter().position(|j| j == "leader").unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-13, "{a} {b}");
        for answer in &answers[..2] {
            near(answer["effort"][leader].as_f64().unwrap(), inertia * 2.0 + weight + resistance);
            assert_eq!(answer["effort"][1 - leader], 0.0);
            near(answer["acceleration"][1 - leader].as_f64().unwrap(), 1.0);
            assert_eq!(answer["independent"], json!(["leader"]));
            near(answer["reduced_mass_matrix"][0][0].as_f64().unwrap(), inertia);
        }
        for answer in &answers[2..] {
            near(answer["acceleration"][leader].as_f64().unwrap(), (7.0 - weight - resistance) / inertia);
            near(answer["acceleration"][1 - leader].as_f64().unwrap(), (7.0 - weight - resistance) / inertia / 2.0);
        }
    }
    // what the pair cannot do is refused by the name of the tie
    for (k, bad) in
        [r#"{"acceleration": {"leader": 2.0, "finger": 2.0}}"#, r#"{"position": {"leader": 1.0, "finger": 1.0}}"#]
            .into_iter()
            .enumerate()
    {
        let states = Temporary::with(&format!("dynamics-gripper-bad{k}.jsonl"), bad);
        let output = bristle(&["dynamics", robot.path(), "--states", states.path(), "-q"]);
        assert!(output.status.code() != Some(0) && stderr(&output).contains("finger"), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{}:1", states.path())), "{}", stderr(&output));
    }
}

#[test]
fn refusals_name_the_line_and_the_joint() {
    let scene = Temporary::with("dynamics-bad.ron", PENDULUM);
    for (k, (line, expected)) in [
        (r#"{"position": {"hing": 1.0}}"#, "there is no joint `hing`; there is hinge"),
        (r#"{"positon": {"hinge": 1.0}}"#, "unknown field `positon`"),
        (r#"{"position": {"hinge": 1.0, "hinge": 2.0}}"#, "`hinge` is given twice"),
        (r#"{"position": {"hinge": "up"}}"#, "a number"),
        (r#"{"position": {"hinge": null}}"#, "a number"),
        (r#"{"position": {"hinge": [1.0, 2.0]}}"#, "has 2 numbers; it takes one"),
        (r#"{"position": {"hinge": 1e999}}"#, "out of range"),
        (r#"{"position": [1.0]}"#, "an object"),
        ("[]", "expected an object, such as {\"position\": {\"elbow\": 0.1}}, found a list"),
        ("[{}, {}, null, null]", "found a list"),
        ("3", "found a number"),
        ("\"{}\"", "found text"),
        (r#"{"position": {"hinge": 1.0}"#, "the line ends before its object does"),
        ("nonsense", "this is not JSON"),
    ]
    .into_iter()
    .enumerate()
    {
        let states = Temporary::with(&format!("dynamics-bad{k}.jsonl"), &format!("{{}}\n{line}\n{{}}\n"));
        let output = bristle(&["dynamics", scene.path(), "--states", states.path(), "-q"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(expected) && said.contains(&format!("{}:2", states.path())), "{line}: {said}");
        assert!(!said.contains("line 1") && !said.contains("struct"), "{said}");
        // the others are answered, and this one says in its place that it is not
        let answers: Vec<Value> =
            String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((answers.len(), &answers[0], &answers[1]["line"]), (3, &answers[2], &json!(2)), "{line}");
        assert!(answers[1]["error"].as_str().unwrap().contains(expected) && answers[0]["error"].is_null(), "{line}");
    }
    let output = bristle(&["dynamics", scene.path(), "--states", "nowhere.jsonl"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("nowhere.jsonl"));
}

#[test]
fn bad_states_do_not_stop_others() {
    let scene = Temporary::with("dynamics-far.ron", PENDULUM);
    let far = r#"{"velocity": {"hinge": 1e200}}"#;
    let states = Temporary::with("dynamics-far.jsonl", &format!("{far}\n\n{{}}\n{far}\n{{}}\n"));
    let output = bristle(&["dynamics", scene.path(), "--states", states.path(), "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("far.jsonl:1") && stderr(&output).contains("far.jsonl:4"), "{}", stderr(&output));
    let answers: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<Option<u64>> = answers.iter().map(|answer| answer["line"].as_u64()).collect();
    assert_eq!(lines, [Some(1), None, Some(4), None]);
    assert!(answers[1] == answers[3] && answers[1]["joints"] == json!(["hinge"]));

    // many of them are all in the output, the first on standard error
    let many = Temporary::with("dynamics-many.jsonl", &format!("{far}\n").repeat(50));
    let output = bristle(&["dynamics", scene.path(), "--states", many.path(), "-q"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 50);
    let said = stderr(&output);
    assert!(said.contains("50 lines have no answer") && said.matches("-->").count() == 20, "{said}");
}

#[test]
fn friction_is_optional() {
    // the same hinge without friction of its own, which a file gives it
    let smooth = PENDULUM.replace("friction: Coulomb(coulomb: 0.4, stiction: 0.6), ", "");
    let smooth = Temporary::with("dynamics-smooth.ron", &smooth);
    let scene = Temporary::with("dynamics-rough.ron", PENDULUM);
    let file =
        Temporary::with("dynamics-friction.ron", "{ \"hinge\": (friction: Coulomb(coulomb: 0.4, stiction: 0.6)) }");
    let states =
        Temporary::with("dynamics-friction.jsonl", r#"{"position": {"hinge": 0.7}, "velocity": {"hinge": 2.0}}"#);
    let answer = |arguments: &[&str]| {
        let output = bristle(&[&["dynamics", "-q", "--states", states.path()], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["acceleration"][0].as_f64().unwrap()
    };
    let (ideal, rough) = (answer(&[scene.path()]), answer(&[scene.path(), "--friction"]));
    // m l² = 0.5 kg·m²: friction 0.4 N·m and damping 0.3 · 2 N·m
    assert!((ideal - rough - (0.4 + 0.6) / 0.5).abs() < 1e-12, "{ideal} {rough}");
    assert_eq!(answer(&[smooth.path(), "--friction", file.path()]), rough);
    assert_eq!(answer(&[smooth.path(), &format!("--friction={}", file.path())]), rough);
    // the flag before the model, as a flag
    assert_eq!(answer(&["--friction", scene.path()]), rough);
    assert_eq!(answer(&["--friction", file.path(), smooth.path()]), rough);
    for (arguments, words) in [
        (&["--friction"][..], "no MODEL"),
        (&[], "<MODEL>"),
        (&[smooth.path(), "--friction", "nowhere.ron"], "nowhere.ron"),
    ] {
        let output = bristle(&[&["dynamics", "-q", "--states", states.path()], arguments].concat());
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

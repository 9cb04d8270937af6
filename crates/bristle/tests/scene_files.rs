//! Good scenes: what they say, that saving keeps it, that damage to them is survived.

use std::fs;
use std::path::PathBuf;

use bristle::scene::*;
use bristle_friction as friction;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn everything() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenes_good/everything.ron")).unwrap()
}

/// The scenes that ship with the project, and the one that says everything.
fn good_scenes() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ron"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(path).unwrap());
    files.into_iter().map(read).chain([("everything.ron".into(), everything())]).collect()
}

fn parse(text: &str) -> Scene {
    Scene::parse(text, "test.ron").unwrap_or_else(|error| panic!("{error}\n\n{text}"))
}

#[test]
fn a_scene_says_what_is_written() {
    let scene = parse(&everything());
    assert_eq!(scene.name, "every\thing ✓");
    assert_eq!((scene.duration, scene.gravity, scene.links.len()), (6.0, [0.0, -9.81, 0.0], 10));
    assert_eq!(scene.links[3], Link { name: "b".into(), mass: 16.0, ..Link::default() });
    assert_eq!(scene.links[2].mass, 1000.5);
    assert_eq!((scene.method(), scene.formulation), (Method::Dopri5, Formulation::Jerk));

    let joint = |name: &str| scene.joints.iter().find(|joint| joint.name == name).unwrap();
    assert_eq!(joint("elbow").placement.translation, [0.0, -1.0, 0.0]);
    assert_eq!(joint("shoulder").load, Load::Pin { radius: 0.08 });
    assert_eq!(joint("slide").load, Load::Guide { length: None });
    assert_eq!(joint("slide").spring, None);
    assert_eq!(joint("slide").drive, Some(Drive::Motion(Signal::Ramp { rate: 0.1, start: 0.5 })));
    assert_eq!(joint("base").position.placement().translation, [1.0, 2.0, 3.0]);
    assert_eq!(joint("base").velocity.twist().angular, [0.1, 0.2, 0.3]);
    let half = Load::Signal { max: 20.0, signal: Signal::Constant(0.5), geometry: 0.1 };
    assert_eq!(joint("h").load, half);
    let Some(Drive::Effort(Signal::Piecewise(parts))) = &joint("f").drive else { panic!("{:?}", joint("f").drive) };
    let sine = Signal::Sine { amplitude: 0.1, frequency: 6.0, phase: 0.0, offset: 0.0 };
    assert_eq!(parts[1], (1.0, Signal::Sum(vec![Signal::Ramp { rate: 2.0, start: 1.0 }, sine])));
    assert_eq!(scene.couplings.len(), 7);
}

#[test]
fn left_out_fields_have_their_defaults() {
    let text = r#"(links: [(name: "a", mass: 1)], joints: [(name: "j", parent: "world", child: "a", kind: Free)])"#;
    let scene = parse(text);
    assert_eq!((scene.version, scene.gravity), (1, [0.0, 0.0, -9.81]));
    assert_eq!(scene.formulation, Formulation::Implicit);
    assert_eq!((scene.method(), scene.control()), (Method::Dopri5, Control::Error { rtol: 1e-8, atol: 1e-10 }));
    assert_eq!(scene.output, Output { interval: 0.01, steps: false });
    assert_eq!(scene.joints[0], Joint::new("j", "world", "a", Kind::Free));

    let with = |overrides: &[(&str, &str)]| Scene::parse_with(text, "test.ron", overrides).unwrap();
    let bristles =
        with(&[("joints.j.kind", "Revolute(axis: (0, 0, 1))"), ("joints.j.friction", "Dahl(coulomb: 1, sigma0: 1e4)")]);
    assert_eq!(bristles.method(), Method::Radau5);
    let alpha = with(&[("solver.method", "GeneralizedAlpha")]);
    assert_eq!(alpha.method(), Method::GeneralizedAlpha { spectral_radius: 0.8 });
}

#[test]
fn rpy_turns_about_fixed_axes() {
    // x → y by yaw of a quarter turn; rolled first: y → z, and z stays under yaw
    let turned = |r: Rotation, p: [f64; 3]| {
        let [w, x, y, z] = r.quaternion();
        let q = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
        q * nalgebra::Vector3::from(p)
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    let r = Rotation::Rpy(quarter, 0.0, quarter);
    assert!((turned(r, [1.0, 0.0, 0.0]) - nalgebra::Vector3::y()).norm() < 1e-15);
    assert!((turned(r, [0.0, 1.0, 0.0]) - nalgebra::Vector3::z()).norm() < 1e-15);
    let long = Rotation::Quaternion { w: 1e200, x: 0.0, y: 0.0, z: 1e200 };
    assert!((turned(long, [1.0, 0.0, 0.0]) - nalgebra::Vector3::y()).norm() < 1e-15);
}

#[test]
fn saving_and_loading_is_the_identity() {
    for (file, text) in good_scenes() {
        let scene = Scene::parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        let saved = scene.to_ron().unwrap();
        let again = parse(&saved);
        assert_eq!(again, scene, "{file}");
        assert_eq!(again.to_ron().unwrap(), saved, "{file}");
        // and it is RON to others too
        ron::from_str::<ron::Value>(&saved).unwrap_or_else(|error| panic!("{file}: {error}\n{saved}"));
    }
}

#[test]
fn saving_and_loading_random_scenes_is_the_identity() {
    let mut rng = Pcg64::seed_from_u64(6);
    for _ in 0..300 {
        let scene = random_scene(&mut rng);
        scene.validate().unwrap_or_else(|error| panic!("{error}"));
        let saved = scene.to_ron().unwrap();
        assert_eq!(parse(&saved), scene);
    }
}

#[test]
fn scenes_made_in_code_are_checked_too() {
    let mut scene = random_scene(&mut Pcg64::seed_from_u64(1));
    scene.links[0].mass = f64::NAN;
    scene.joints[0].kind = Kind::Revolute { axis: [0.0; 3] };
    scene.joints[0].parent = scene.links[0].name.clone();
    let error = scene.validate().unwrap_err();
    let paths: Vec<&str> = error.problems.iter().map(|p| p.path.as_str()).collect();
    assert!(paths.contains(&"links.link 0.mass") && paths.contains(&"joints.joint 0.kind.axis"), "{paths:?}");
    assert!(error.to_string().contains("--> scene: links.link 0.mass"), "{error}");
}

#[test]
fn suspicious_values_are_warned_of() {
    let scene = parse(&everything());
    let warnings = scene.warnings();
    let places: Vec<_> = warnings.iter().map(|w| w.path.as_str()).collect();
    assert_eq!(places, ["joints.elbow.friction.sigma1", "couplings.free.friction"]);
    let said = warnings[0].to_string();
    assert!(said.starts_with("warning: not passive") && said.contains("test.ron:23:52"), "{said}");

    let text = everything();
    let idle = Scene::parse_with(&text, "test.ron", &[("joints.shoulder.friction", "None")]).unwrap();
    assert_eq!(idle.warnings()[0].path, "joints.shoulder.load");
}

#[test]
fn paths_lead_to_places() {
    let text = everything();
    let scene = parse(&text);
    let at = |path: &str| {
        let Position { line, column } = scene.span_of(path).unwrap_or_else(|| panic!("no {path}"));
        text.lines().nth(line - 1).unwrap().chars().skip(column - 1).collect::<String>()
    };
    assert!(at("joints.elbow.friction").starts_with("LuGre("));
    assert!(at("joints.elbow.friction.sigma1").starts_with("316.0"));
    assert!(at("joints.elbow.drive.amplitude").starts_with("0.2"));
    assert!(at("joints.slide.load").starts_with("Guide, drive"));
    assert!(at("joints.slide.2.load").starts_with("Guide(length"));
    assert!(at("couplings.stage").starts_with("Gear("));
    assert!(at("couplings.4.load.signal").starts_with("Sine("));
    assert!(at("gravity.1").starts_with("-9.81"));
    assert_eq!(scene.span_of("joints.elbow.colour"), None);

    // what is not written is reported at the nearest place that is
    let problem = scene.problem("joints.shoulder.drive", "this one must be driven", "");
    assert_eq!((problem.position, problem.path.as_str()), (scene.span_of("joints.shoulder"), "joints.shoulder.drive"));
}

#[test]
fn overrides_replace_add_and_reach_into_values() {
    let text = everything();
    let with = |overrides: &[(&str, &str)]| {
        Scene::parse_with(&text, "test.ron", overrides).unwrap_or_else(|error| panic!("{error}"))
    };
    let scene = with(&[
        ("joints.shoulder.friction.coulomb", "0.3"),
        ("joints.elbow.drive.amplitude", "7"),
        ("joints.slide.load.length", "0.4"),
        ("joints.slide.2.position", "-0.25"),
        ("joints.base.damping", "0"),
        ("gravity.1", "-1.62"),
        ("solver", "(method: Radau5)"),
        ("solver.control", "Constant(step: 1e-3)"),
        ("solver.control.step", "2e-3"),
        ("links.0.mass", "3"),
        ("name", "tuned"),
    ]);
    let joint = |name: &str| scene.joints.iter().find(|joint| joint.name == name).unwrap();
    let Some(friction::Law::Coulomb(law)) = &joint("shoulder").friction else { panic!() };
    assert_eq!((law.coulomb, law.stiction), (0.3, 0.6));
    assert_eq!(joint("slide").load, Load::Guide { length: Some(0.4) });
    assert_eq!(joint("slide.2").position, Coordinate::Scalar(-0.25));
    assert_eq!((scene.gravity[1], scene.links[0].mass, scene.name.as_str()), (-1.62, 3.0, "tuned"));
    assert_eq!((scene.method(), scene.control()), (Method::Radau5, Control::Constant { step: 2e-3 }));

    // a later override of the same place wins; the place of a problem is the override
    assert_eq!(with(&[("duration", "1"), ("duration", "2")]).duration, 2.0);
    let error = Scene::parse_with(&text, "test.ron", &[("joints.shoulder.friction.stiction", "0.1")]).unwrap_err();
    let problem = &error.problems[0];
    assert_eq!((problem.file.as_str(), problem.line.as_str()), ("override", "joints.shoulder.friction.stiction=0.1"));
}

fn number(rng: &mut Pcg64) -> f64 {
    match rng.random_range(0..6) {
        0 => 0.0,
        1 => f64::from(rng.random_range(-5_i32..5)),
        2 => rng.random_range(-1.0..1.0) * 10.0_f64.powi(rng.random_range(-300..300)),
        _ => rng.random_range(-10.0..10.0),
    }
}

fn positive(rng: &mut Pcg64) -> f64 {
    rng.random_range(0.01..10.0) * 10.0_f64.powi(rng.random_range(-6..6))
}

fn vector(rng: &mut Pcg64) -> [f64; 3] {
    [number(rng), number(rng), number(rng)]
}

fn placement(rng: &mut Pcg64) -> Placement {
    let rotation = if rng.random() {
        Rotation::Rpy(number(rng), number(rng), number(rng))
    } else {
        Rotation::Quaternion { w: positive(rng), x: number(rng), y: number(rng), z: number(rng) }
    };
    Placement { translation: vector(rng), rotation }
}

fn signal(rng: &mut Pcg64, depth: u32) -> Signal {
    let mut t = number(rng).clamp(-1e3, 1e3);
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..rng.random_range(1..4) {
        times.push(t);
        t += rng.random_range(0.1..2.0);
    }
    match rng.random_range(0..if depth == 0 { 5 } else { 7 }) {
        0 => Signal::Constant(number(rng)),
        1 => Signal::Ramp { rate: number(rng), start: number(rng) },
        2 => Signal::Sine { amplitude: number(rng), frequency: number(rng), phase: number(rng), offset: number(rng) },
        3 => Signal::Table(times.into_iter().map(|t| (t, number(rng))).collect()),
        4 => Signal::Steps(times.into_iter().map(|t| (t, number(rng))).collect()),
        5 => Signal::Piecewise(times.into_iter().map(|t| (t, signal(rng, depth - 1))).collect()),
        _ => Signal::Sum(times.iter().map(|_| signal(rng, depth - 1)).collect()),
    }
}

fn law(rng: &mut Pcg64) -> friction::Law {
    let coulomb = positive(rng);
    let (stiction, stribeck_velocity) =
        if rng.random() { (coulomb, None) } else { (coulomb * 1.5, Some(positive(rng))) };
    let damping_velocity = rng.random::<bool>().then(|| positive(rng));
    let (sigma0, sigma1, sigma2) = (positive(rng), positive(rng), positive(rng));
    let exponent = rng.random_range(0.5..2.0);
    let lugre =
        friction::LuGre { sigma0, sigma1, sigma2, coulomb, stiction, stribeck_velocity, exponent, damping_velocity };
    let (viscous, peak) = (positive(rng), rng.random_range(1.0..2.0));
    match rng.random_range(0..7) {
        0 => friction::Coulomb { coulomb, stiction, viscous }.into(),
        1 => friction::Stribeck { coulomb, stiction, stribeck_velocity, exponent, viscous, peak }.into(),
        2 => friction::Table { points: vec![(0.0, coulomb), (positive(rng), stiction)], peak }.into(),
        3 => friction::Tanh { coulomb, stribeck_velocity: positive(rng), viscous }.into(),
        4 => friction::Dahl { coulomb, sigma0 }.into(),
        5 => lugre.into(),
        _ => friction::LuGre2 { lugre, alpha: positive(rng), beta: positive(rng) }.into(),
    }
}

fn load(rng: &mut Pcg64, kind: Option<&Kind>) -> Load {
    match (rng.random_range(0..5), kind) {
        (0, _) => Load::Unit,
        (1, _) => Load::Constant(positive(rng)),
        (2, Some(Kind::Revolute { .. })) => Load::Pin { radius: positive(rng) },
        (3, Some(Kind::Revolute { .. })) => Load::Thrust { radius: positive(rng) },
        (2, Some(Kind::Prismatic { .. })) => Load::Guide { length: None },
        (3, Some(Kind::Prismatic { .. })) => Load::Guide { length: Some(positive(rng)) },
        _ => Load::Signal { max: positive(rng), signal: signal(rng, 2), geometry: positive(rng) },
    }
}

fn random_scene(rng: &mut Pcg64) -> Scene {
    let mut scene = Scene { name: "random \"quoted\" \\ scène\n".into(), gravity: vector(rng), ..Scene::default() };
    for i in 0..rng.random_range(1..8) {
        let mut link = Link { name: format!("link {i}"), mass: positive(rng), ..Link::default() };
        link.center_of_mass = vector(rng);
        let (a, b) = (positive(rng), positive(rng));
        link.inertia = match rng.random_range(0..3) {
            0 => Inertia::default(),
            1 => Inertia::Diagonal(a, a + b, b),
            _ => Inertia::Full { ixx: 1.0, iyy: 1.1, izz: 0.9, ixy: 0.1, ixz: rng.random_range(-0.2..0.2), iyz: 0.0 },
        };

        let parent = match rng.random_range(0..=scene.links.len()) {
            0 => "world".into(),
            n => scene.links[n - 1].name.clone(),
        };
        let axis = [positive(rng), number(rng), number(rng)];
        let kind = match rng.random_range(0..6) {
            0 => Kind::Fixed,
            1 => Kind::Free,
            2 => Kind::Prismatic { axis },
            _ => Kind::Revolute { axis },
        };
        let mut joint = Joint::new(format!("joint {i}"), parent, link.name.clone(), kind);
        joint.placement = placement(rng);
        if kind == Kind::Free {
            joint.position = Coordinate::Placement(placement(rng));
            joint.velocity = Rate::Twist(Twist { angular: vector(rng), linear: vector(rng) });
        }
        if kind.is_single() {
            joint.position = Coordinate::Scalar(number(rng));
            joint.velocity = Rate::Scalar(number(rng));
            joint.damping = number(rng).abs();
            joint.armature = number(rng).abs();
            joint.spring = rng.random::<bool>().then(|| Spring { stiffness: positive(rng), rest: number(rng) });
            joint.friction = rng.random::<bool>().then(|| law(rng));
            joint.load = load(rng, Some(&kind));
            if let Some(friction::Law::LuGre(_)) = joint.friction {
                joint.bristle = Some(Bristle { z: number(rng), w: 0.0 });
            }
            joint.drive = match rng.random_range(0..5) {
                0 => Some(Drive::Effort(signal(rng, 2))),
                1 => Some(Drive::Pull { stiffness: positive(rng), target: signal(rng, 1) }),
                2 => Some(Drive::Pid { kp: positive(rng), ki: 0.0, kd: positive(rng), target: signal(rng, 1) }),
                3 => Some(Drive::Motion(signal(rng, 3))),
                _ => None,
            };
        }
        scene.links.push(link);
        scene.joints.push(joint);
    }

    let single: Vec<&Joint> = scene.joints.iter().filter(|joint| joint.kind.is_single()).collect();
    if let [a, b, ..] = single[..] {
        let joints = [a.name.clone(), b.name.clone()];
        let name = "coupling".to_owned();
        let (friction, load) = (law(rng), load(rng, None));
        let open = if rng.random_range(0..2) == 0 { Open::Law } else { Open::Frozen };
        scene.couplings.push(match rng.random_range(0..6) {
            0 => Coupling::Gear {
                name,
                joints,
                ratio: -2.5,
                offset: number(rng),
                efficiency: [1.0; 2],
                friction: [0.0; 2],
            },
            1 => {
                Coupling::Linear { name, terms: joints.into_iter().map(|j| (j, positive(rng))).collect(), offset: 0.0 }
            }
            2 => Coupling::SpringDamper { name, joints, stiffness: positive(rng), damping: 0.0, rest: number(rng) },
            3 => Coupling::Clutch { name, joints, friction, load, open },
            4 => Coupling::Brake { name, joint: b.name.clone(), friction, load, open },
            _ if matches!(friction, friction::Law::LuGre2(_)) => {
                Coupling::Clutch { name, joints, friction, load, open }
            }
            _ => Coupling::OneWayClutch { name, joints, friction, load, lock_factor: 100.0 },
        });
    }
    // a tie needs a joint that it can move
    if let Some(Coupling::Gear { .. } | Coupling::Linear { .. }) = scene.couplings.first() {
        let first = scene.joints.iter_mut().find(|joint| joint.kind.is_single());
        first.into_iter().for_each(|joint| joint.drive = None);
    }

    scene.formulation = if rng.random() { Formulation::Jerk } else { Formulation::Implicit };
    let (min, max, v_min, t_s) = (1e-4, 1e-3, positive(rng), positive(rng));
    scene.solver.control = match rng.random_range(0..8) {
        0 => Some(Control::Constant { step: positive(rng) }),
        1 => Some(Control::Error { rtol: positive(rng), atol: 0.0 }),
        2 => Some(Control::DymoreCoulomb { min, max, v_min, t_s }),
        3 => Some(Control::DymoreLuGre { min, v_min, alpha: 1.2, t_s }),
        4 => Some(Control::Velocity { inside: min, outside: max, range: (0.1, 5.0) }),
        5 => Some(Control::TimeConstant { max, fraction: positive(rng) }),
        6 => Some(Control::TimeConstantSwitch { threshold: t_s, below: min, above: max }),
        _ => None,
    };
    scene.solver.method = match rng.random_range(0..10) {
        0 => Some(Method::Rk4),
        1 => Some(Method::Dopri5),
        2 => Some(Method::Trapezoidal),
        3 => Some(Method::Radau3),
        4 => Some(Method::Radau5),
        5 => Some(Method::GeneralizedAlpha { spectral_radius: rng.random_range(0.0..1.0) }),
        6 => Some(Method::Euler),
        7 => Some(Method::MixedEuler),
        8 => Some(Method::LinearlyImplicitEuler),
        _ => None,
    };
    // what does not fit together is refused
    let is_by_error = scene.control().is_by_error();
    let is_by_friction = !is_by_error && !matches!(scene.control(), Control::Constant { .. });
    let has_lugre = scene
        .joints
        .iter()
        .any(|joint| matches!(&joint.friction, Some(friction::Law::LuGre(law)) if law.stribeck_velocity.is_some()));
    if is_by_error && !scene.method().has_error_estimate() || is_by_friction && !has_lugre {
        scene.solver.control = Some(Control::Constant { step: positive(rng) });
    }
    scene.duration = rng.random_range(0.1..100.0);
    scene.output.interval = rng.random_range(0.001..0.1);
    scene
}

#[test]
fn suspicious_couplings_are_warned_of() {
    let scene = |formulation: &str, coupling: &str| {
        let text = format!(
            "Scene(links: [Link(name: \"la\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), \
             Link(name: \"lb\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))], \
             joints: [Joint(name: \"a\", parent: \"world\", child: \"la\", kind: Revolute(axis: (0, 0, 1))), \
             Joint(name: \"b\", parent: \"world\", child: \"lb\", kind: Revolute(axis: (0, 0, 1)))],\ncouplings: \
             [{coupling}], formulation: {formulation})"
        );
        Scene::parse(&text, "test.ron").unwrap_or_else(|error| panic!("{error}")).warnings()
    };
    let one_way = |load: &str| {
        scene(
            "Implicit",
            &format!(
                "OneWayClutch(name: \"f\", joints: (\"a\", \"b\"), friction: Coulomb(coulomb: 0.5), load: {load})"
            ),
        )
    };
    // free both ways, whatever the signal does
    for load in ["Constant(0.0)", "Signal(max: 0.0, signal: Constant(1.0))"] {
        let warnings = one_way(load);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let said = warnings[0].to_string();
        assert!(said.contains("`f` is free both ways") && said.contains("test.ron:2:"), "{said}");
    }
    // a freewheel
    assert!(one_way("Signal(max: 2.0, signal: Constant(0.0))").is_empty() && one_way("Unit").is_empty());
    let clutch = "Clutch(name: \"c\", joints: (\"a\", \"b\"), friction: Dahl(coulomb: 0.5, sigma0: 100.0))";
    assert!(scene("Implicit", clutch).is_empty());
    let said = scene("Jerk", clutch)[0].to_string();
    assert!(said.contains("`c`") && said.contains("Implicit") && said.contains("test.ron:2:"), "{said}");
}

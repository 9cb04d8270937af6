//! Friction that depends on the reaction, against closed forms and independent integrations, in all three formulations.

use crate::stick_slip::{TIGHT, assert_near, simulation};
use bristle::prelude::*;

/// Formulations, with a stepper each.
const WAYS: [(&str, &str); 4] =
    [("Implicit", "Dopri5"), ("Implicit", "Radau5"), ("Jerk", "Dopri5"), ("Residual", "Radau5")];

/// Tolerance at which the formulations are compared with references and with each other.
const CLOSE: &str = "Error(rtol: 1e-10, atol: 1e-12)";

fn by(fields: &str, formulation: &str, method: &str, control: &str) -> Simulation {
    simulation(&format!("{fields}, formulation: {formulation}"), method, control)
}

/// The fields of a scene file without those that the test gives.
fn fields_of(scene: &str) -> String {
    let inner = scene.split_once("Scene(").unwrap().1.rsplit_once(')').unwrap().0;
    let kept = inner.lines().filter(|line| {
        let line = line.trim();
        !["solver:", "formulation:", "version:", "name: \"double", "name: \"single"].iter().any(|f| line.starts_with(f))
    });
    let text: Vec<&str> = kept.collect();
    text.join("\n").trim().trim_end_matches(',').to_owned()
}

const SINGLE: &str = include_str!("../scenes/single_pendulum_pin.ron");
const DOUBLE: &str = include_str!("../scenes/double_pendulum_pin.ron");

/// A table: names of the columns, rows.
fn table(text: &str) -> (Vec<&str>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let names = lines.next().unwrap().split(',').collect();
    (names, lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect())
}

/// Largest differences in position, velocity, acceleration, load and friction from the reference rows.
fn compare(recording: &Recording, joints: &[&str], reference: &str) -> [f64; 5] {
    let (names, rows) = table(reference);
    let mut worst = [0.0_f64; 5];
    let times: Vec<f64> = recording.channel("t").unwrap().collect();
    for (j, joint) in joints.iter().enumerate() {
        let channels = ["position", "velocity", "acceleration", "load", "friction"];
        for (k, (channel, column)) in channels.iter().zip(["q", "v", "a", "n", "tau"]).enumerate() {
            let column = names.iter().position(|name| *name == format!("{column}{}", j + 1)).unwrap();
            let ours: Vec<f64> = recording.channel(&format!("{joint}.{channel}")).unwrap().collect();
            for row in &rows {
                let i = times.partition_point(|t| *t < row[0] - 1e-9);
                if i >= times.len() || (times[i] - row[0]).abs() > 1e-9 {
                    continue;
                }
                let sign = if k == 4 { -1.0 } else { 1.0 };
                worst[k] = worst[k].max((ours[i] - sign * row[column]).abs());
            }
        }
    }
    worst
}

/// Events against a list of time, joint number, mode before and after.
fn assert_mode_changes(recording: &Recording, joints: &[&str], expected: &str, tolerance: f64) {
    let expected: Vec<Vec<&str>> = expected.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(recording.events().len(), expected.len(), "{:?}", recording.events());
    for (event, expected) in recording.events().iter().zip(&expected) {
        let [t, joint, from, to] = expected[..] else { panic!("{expected:?}") };
        assert_eq!(event.joint, joints[joint.parse::<usize>().unwrap() - 1]);
        assert_eq!(event.from.direction(), from.parse::<f64>().unwrap(), "{event:?}");
        assert_eq!(event.to.direction(), to.parse::<f64>().unwrap(), "{event:?}");
        assert_near("time of an event", event.t, t.parse().unwrap(), tolerance);
    }
}

#[test]
fn single_pendulum_on_pin_follows_reference() {
    for (formulation, method) in WAYS {
        let mut sim = by(&fields_of(SINGLE), formulation, method, CLOSE);
        let recording = sim.run_until(8.0).unwrap();
        let worst = compare(&recording, &["hinge"], include_str!("data/single_pendulum_pin.csv"));
        println!("{formulation} {method}: {worst:?} {:?} {:?}", sim.stats(), sim.counters());
        // accelerations are about ten times the angles, and follow them
        assert!(worst[0] < 1e-7 && worst[1] < 1e-7 && worst[2] < 1e-6 && worst[3] < 1e-6, "{formulation}: {worst:?}");
        assert_mode_changes(&recording, &["hinge"], include_str!("data/single_pendulum_pin.events"), 1e-8);
        let last = recording.last("hinge.position").unwrap();
        assert_near("angle at rest", last, -0.0370979359, 1e-9);
        assert_eq!(recording.last("hinge.velocity").unwrap(), 0.0);
        assert!(recording.last("energy.balance").unwrap().abs() < 1e-8, "{:?}", recording.last("energy.balance"));
        assert_eq!(sim.stats().n_difference_columns, 0);
    }
}

#[test]
fn double_pendulum_on_pins_follows_reference() {
    let mut ends: Vec<Vec<f64>> = Vec::new();
    for (formulation, method) in WAYS {
        let mut sim = by(&fields_of(DOUBLE), formulation, method, CLOSE);
        let recording = sim.run_until(6.0).unwrap();
        let joints = ["shoulder", "elbow"];
        let worst = compare(&recording, &joints, include_str!("data/double_pendulum_pin.csv"));
        println!("{formulation} {method}: {worst:?} {:?} {:?}", sim.stats(), sim.counters());
        assert!(worst[0] < 1e-7 && worst[1] < 1e-7, "{formulation}: {worst:?}");
        assert_mode_changes(&recording, &joints, include_str!("data/double_pendulum_pin.events"), 1e-8);
        assert!(recording.last("energy.balance").unwrap().abs() < 1e-8, "{:?}", recording.last("energy.balance"));
        ends.push(recording.rows().next_back().unwrap()[1..3].to_vec());
        assert_eq!(sim.stats().n_difference_columns, 0);
        if formulation == "Residual" {
            // accelerations were solved for only at the start, at events, for stuck joints and for results
            assert_eq!(sim.counters().n_jerks, 0);
        }
    }
    for end in &ends[1..] {
        for (a, b) in end.iter().zip(&ends[0]) {
            assert_near("formulations", *a, *b, 1e-8);
        }
    }
}

/// A rotor of 0.05 kg·m² about its pin, 2 kg at an eccentricity of 0.1 m; c = μ r m e/J.
fn rotor(c: f64, velocity: f64, rest: &str) -> String {
    let radius = c * 0.05 / (0.5 * 2.0 * 0.1);
    format!(
        "gravity: (0.0, 0.0, 0.0), links: [Link(name: \"disc\", mass: 2.0, center_of_mass: (0.1, 0.0, 0.0), \
         inertia: Diagonal(0.015, 0.015, 0.03))], \
         joints: [Joint(name: \"rotor\", parent: \"world\", child: \"disc\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
         velocity: {velocity:?}, friction: Coulomb(coulomb: 0.5), load: Pin(radius: {radius:?}), {rest})]"
    )
}

#[test]
fn unbalanced_rotor_follows_closed_form() {
    // F05: a = −κ ω²
    let (c, omega) = (0.2_f64, 40.0);
    let kappa = c / (1.0 - c * c).sqrt();
    for (formulation, method) in WAYS {
        let recording = by(&rotor(c, omega, ""), formulation, method, TIGHT).run_until(2.0).unwrap();
        let a = recording.channel("rotor.acceleration").unwrap().next().unwrap();
        assert_near("acceleration at the start", a, -326.598632371090, 1e-9);
        for row in recording.rows() {
            let at = 1.0 + kappa * omega * row[0];
            assert_near("angle", row[1], at.ln() / kappa, 1e-9);
            assert_near("velocity", row[2], omega / at, 1e-9);
        }
    }
}

#[test]
fn unbalanced_rotor_without_a_solution_jams() {
    // c ≥ 1: no deceleration is consistent with its friction
    for c in [1.0, 1.2] {
        let text = format!("Scene({})", rotor(c, 40.0, ""));
        let scene = Scene::parse(&text, "test").unwrap();
        let error = Simulation::new(&scene).err().expect("there is no solution");
        // a machine that jams at the start is refused, with its place in the scene
        assert!(error.is_refusal());
        let message = error.to_string();
        assert!(message.contains("`rotor`") && message.contains("jam"), "{message}");
    }
}

#[test]
fn continuous_branch_is_taken_with_warning() {
    // c = 1.4 with a driving torque has the roots −226 and −24 at this speed: J a = T − c J √(ω⁴ + a²)
    let (c, omega, torque) = (1.4, 10.0, 5.0);
    let fields = rotor(c, omega, &format!("drive: Effort(Constant({torque:?}))"));
    let mut sim = simulation(&fields, "Dopri5", TIGHT);
    let a = sim.accelerations()[0];
    let left = 0.05 * a - torque + c * 0.05 * (omega.powi(4) + a * a).sqrt();
    assert!(left.abs() < 1e-9, "{a}: {left}");
    // by hand: a = T/J with c = 0, followed as c grows
    let mut followed = torque / 0.05;
    for k in 1..=100_000 {
        let c = 1.4 * f64::from(k) / 1e5;
        for _ in 0..3 {
            let root = (omega.powi(4) + followed * followed).sqrt();
            followed -= (followed - torque / 0.05 + c * root) / (1.0 + c * followed / root);
        }
    }
    assert_near("branch", a, followed, 1e-6);
    sim.step(1e-3).unwrap();
    assert_eq!(sim.warnings().len(), 1, "{:?}", sim.warnings());
    assert!(sim.warnings()[0].contains("`rotor`"));
}

#[test]
fn balanced_rotor_stops_on_pin() {
    // F06
    let fields = "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"disc\", mass: 5.0, \
             inertia: Diagonal(0.05, 0.05, 0.08))], \
             joints: [Joint(name: \"rotor\", parent: \"world\", child: \"disc\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 30.0, friction: Coulomb(coulomb: 0.15), \
             load: Pin(radius: 0.02))], output: Output(interval: 0.5)";
    for (formulation, method) in WAYS {
        let recording = by(fields, formulation, method, CLOSE).run_until(20.0).unwrap();
        let a = recording.channel("rotor.acceleration").unwrap().next().unwrap();
        assert_near("deceleration", a, -1.839375, 1e-12);
        assert_eq!(recording.events().len(), 1);
        assert_near("stop", recording.events()[0].t, 16.309887869520896, 1e-8);
        assert_near("angle", recording.last("rotor.position").unwrap(), 244.648318042813, 1e-7);
        assert_eq!(recording.last("rotor.velocity").unwrap(), 0.0);
    }
}

#[test]
fn released_pendulum_rests_after_51_turns() {
    // F07
    let fields = "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"bar\", mass: 1.5, center_of_mass: (0.0, -0.4, 0.0), \
             inertia: Diagonal(0.02, 0.0, 0.02))], \
             joints: [Joint(name: \"hinge\", parent: \"world\", child: \"bar\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             position: 2.2, friction: Coulomb(coulomb: 0.25, stiction: 0.3), load: Pin(radius: 0.02))]";
    let (names, rows) = table(include_str!("data/pin_pendulum_release.csv"));
    assert_eq!(names, ["t", "theta", "omega", "dissipated_energy"]);
    for (formulation, method) in WAYS {
        let recording = by(fields, formulation, method, CLOSE).run_until(41.0).unwrap();
        let turns = recording.events();
        assert_eq!(turns.len(), 51, "it sticks at the last turn: {turns:?}");
        for (k, t) in [0.9203406832885, 1.8001878803944, 2.6499123323344].into_iter().enumerate() {
            assert_near("turn", turns[k].t, t, 1e-8);
        }
        assert_near("rest angle", recording.last("hinge.position").unwrap(), 0.005511671477, 1e-8);
        assert_near("heat", recording.last("energy.dissipated").unwrap(), 9.349828172, 1e-7);
        let times: Vec<f64> = recording.channel("t").unwrap().collect();
        let ours: Vec<&[f64]> = recording.rows().collect();
        for row in &rows {
            let i = times.partition_point(|t| *t < row[0] - 1e-9);
            if i < times.len() && (times[i] - row[0]).abs() < 1e-9 {
                assert_near("angle", ours[i][1], row[1], 1e-7);
            }
        }
    }
}

#[test]
fn block_on_guide_accelerates_or_jams() {
    // F11
    let scene = |offset: f64, push: f64| {
        let offset = format!("(0.0, {offset:?}, 0.0)");
        let push = format!("Effort(Constant({push:?}))");
        let text = include_str!("../scenes/guide_block.ron");
        let given: [(&str, &str); 2] = [("joints.jack.placement.translation", &offset), ("joints.jack.drive", &push)];
        Scene::parse_with(text, "guide_block.ron", &given).unwrap_or_else(|error| panic!("{error}"))
    };
    for e in [0.0, 0.05, 0.12, 0.2, 0.28] {
        let mut sim = Simulation::new(&scene(e, 50.0)).unwrap();
        let recording = sim.run_until(0.1).unwrap();
        let expected = 50.0 * (1.0 - 2.0 * 0.35 * e / 0.2) / 4.0;
        assert_near("acceleration", recording.last("slide.acceleration").unwrap(), expected, 1e-10);
        assert_near("load", recording.last("slide.load").unwrap(), 2.0 * 50.0 * e / 0.2, 1e-9);
    }
    for push in [1.0, 50.0, 1e6] {
        let mut sim = Simulation::new(&scene(0.3, push)).unwrap();
        let recording = sim.run_until(0.1).unwrap();
        assert_eq!(recording.last("slide.velocity").unwrap(), 0.0);
        assert_eq!(recording.last("slide.position").unwrap(), 0.0);
    }
    // a centre of mass that far beside the guide: deceleration produces more friction than it needs
    let text = "Scene(gravity: (0.0, 0.0, 0.0), links: [Link(name: \"block\", mass: 4.0, \
             center_of_mass: (0.0, 0.3, 0.0), inertia: Diagonal(0.02, 0.02, 0.02))], \
             joints: [Joint(name: \"slide\", parent: \"world\", child: \"block\", \
             kind: Prismatic(axis: (1.0, 0.0, 0.0)), velocity: 1.0, friction: Coulomb(coulomb: 0.35), \
             load: Guide(length: 0.2), drive: Effort(Constant(-10.0)))])";
    let scene = Scene::parse(text, "test").unwrap();
    let error = Simulation::new(&scene).err().expect("it jams").to_string();
    assert!(error.contains("`slide`") && error.contains("jam"), "{error}");
}

#[test]
fn formulations_agree_on_pin_with_bristles() {
    let friction =
        "LuGre(sigma0: 2000.0, sigma1: 5.0, sigma2: 0.4, coulomb: 0.4, stiction: 0.6, stribeck_velocity: 0.01)";
    let fields = fields_of(DOUBLE).replace("Coulomb(coulomb: 0.4, stiction: 0.6)", friction);
    let mut ends: Vec<Vec<f64>> = Vec::new();
    for (formulation, method) in
        [("Implicit", "Radau5"), ("Implicit", "Dopri5"), ("Jerk", "Dopri5"), ("Residual", "Radau5")]
    {
        let mut sim = by(&fields, formulation, method, CLOSE);
        let recording = sim.run_until(2.0).unwrap();
        let turned = recording.last("energy.dissipated").unwrap();
        let worst = recording.channel("energy.balance").unwrap().fold(0.0_f64, |worst, b| worst.max(b.abs()));
        println!("{formulation} {method}: balance {worst:e} of {turned}, {:?} {:?}", sim.stats(), sim.counters());
        assert!(worst < 1e-8 * turned, "{formulation}: {worst:e} of {turned}");
        assert!(recording.last("energy.load").unwrap() != 0.0);
        ends.push(recording.rows().next_back().unwrap()[1..3].to_vec());
    }
    for end in &ends[1..] {
        assert_near("angle", end[0], ends[0][0], 1e-8);
        assert_near("velocity", end[1], ends[0][1], 1e-8);
    }
}

#[test]
fn thrust_load_is_axial_weight() {
    // a disc on a vertical axis: friction μ r m g; a joint under it in free fall carries nothing
    let fields = "links: [Link(name: \"disc\", mass: 3.0, inertia: Diagonal(0.05, 0.05, 0.08))], \
             joints: [Joint(name: \"rotor\", parent: \"world\", child: \"disc\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 10.0, friction: Coulomb(coulomb: 0.2), \
             load: Thrust(radius: 0.05))]";
    for (formulation, method) in WAYS {
        let recording = by(fields, formulation, method, TIGHT).run_until(1.0).unwrap();
        let a = -0.2 * 0.05 * 3.0 * 9.81 / 0.08;
        assert_near("deceleration", recording.last("rotor.acceleration").unwrap(), a, 1e-12);
        assert_near("velocity", recording.last("rotor.velocity").unwrap(), 10.0 + a, 1e-10);
    }
}

#[test]
fn unloaded_pin_has_no_friction() {
    // no load: no gravity, balanced, and a chain of two of them
    let fields = "gravity: (0.0, 0.0, 0.0), links: [Link(name: \"a\", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1)), \
             Link(name: \"b\", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1))], \
             joints: [Joint(name: \"p\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             velocity: 1.0, friction: Coulomb(coulomb: 0.5), load: Pin(radius: 0.1)), \
             Joint(name: \"r\", parent: \"a\", child: \"b\", kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: -0.5, \
             friction: Coulomb(coulomb: 0.5), load: Pin(radius: 0.1))]";
    for (formulation, method) in WAYS {
        let recording = by(fields, formulation, method, CLOSE).run_until(3.0).unwrap();
        assert_near("angle", recording.last("p.position").unwrap(), 3.0, 1e-9);
        assert_near("angle", recording.last("r.position").unwrap(), -1.5, 1e-9);
        assert_eq!(recording.last("p.load").unwrap(), 0.0);
    }
}

#[test]
fn sliding_may_add_load() {
    // stuck: N = m g = 9.81, limit 5.886 < 6; sliding: N = 2 m a e/L = 6 a, a = 6 − 0.3 · 6 a. A limit of 0.6 · 12.86
    // is no reason to stick
    let fields = "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"b\", mass: 1.0, center_of_mass: (0.0, 0.6, 0.0))], \
             joints: [Joint(name: \"x\", parent: \"world\", child: \"b\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
             friction: Coulomb(coulomb: 0.3, stiction: 0.6), load: Guide(length: 0.2), drive: Effort(Constant(6.0)))]";
    for (formulation, method) in WAYS {
        let recording = by(fields, formulation, method, CLOSE).run_until(1.0).unwrap();
        assert_near("acceleration", recording.last("x.acceleration").unwrap(), 6.0 / 2.8, 1e-9);
    }
}

#[test]
fn many_contacts_beyond_stiction_slide_at_once() {
    // the same ten times over, too many for an enumeration of modes: the limits of the sliding ones are no reason to
    // stick
    let (mut links, mut joints) = (String::new(), String::new());
    for k in 0..10 {
        links += &format!("Link(name: \"b{k}\", mass: 1.0, center_of_mass: (0.0, 0.6, 0.0)), ");
        joints += &format!(
            "Joint(name: \"x{k}\", parent: \"world\", child: \"b{k}\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
             friction: Coulomb(coulomb: 0.3, stiction: 0.6), load: Guide(length: 0.2), \
             drive: Effort(Constant({:?}))), ",
            6.0 + 0.1 * f64::from(k)
        );
    }
    let fields = format!("gravity: (0.0, -9.81, 0.0), links: [{links}], joints: [{joints}]");
    for (formulation, method) in WAYS {
        let recording = by(&fields, formulation, method, CLOSE).run_until(0.1).unwrap();
        for k in 0..10 {
            let a = (6.0 + 0.1 * f64::from(k)) / 2.8;
            assert_near("acceleration", recording.last(&format!("x{k}.acceleration")).unwrap(), a, 1e-9);
        }
    }
}

#[test]
fn residual_form_leaves_rest_without_acceleration() {
    // a sliding level that equals stiction at v = 0: the acceleration at break-away is zero
    let fields = "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"p\", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), \
             inertia: Diagonal(0.08, 0.08, 0.08))], \
             joints: [Joint(name: \"h\", parent: \"world\", child: \"p\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             friction: Stribeck(coulomb: 0.4, stiction: 0.8, stribeck_velocity: 0.02), load: Pin(radius: 0.1), \
             drive: Effort(Ramp(rate: 1.0, start: 0.0)))]";
    let ends = WAYS.map(|(formulation, method)| {
        let recording = by(fields, formulation, method, CLOSE).run_until(3.0).unwrap();
        recording.last("h.position").unwrap()
    });
    ends.iter().for_each(|end| assert_near("angle", *end, ends[0], 1e-7));
}

#[test]
fn residual_form_jam_names_joint() {
    let fields = rotor(7.0, 1.0, "drive: Effort(Table([(0.0, 1.0), (2.0, 0.0)]))");
    for (formulation, method) in [("Implicit", "Dopri5"), ("Residual", "Radau5")] {
        let error = by(&fields, formulation, method, CLOSE).run_until(2.0).unwrap_err().to_string();
        assert!(error.contains("`rotor`") && error.contains("jam"), "{formulation}: {error}");
    }
}

#[test]
fn generalized_alpha_integrates_residual_form() {
    let mut sim =
        by(&fields_of(SINGLE), "Residual", "GeneralizedAlpha(spectral_radius: 0.8)", "Error(rtol: 1e-8, atol: 1e-9)");
    let recording = sim.run_until(4.0).unwrap();
    let worst = compare(&recording, &["hinge"], include_str!("data/single_pendulum_pin.csv"));
    println!("{worst:?} {:?}", sim.stats());
    // second order: a thousand times the tolerance after four turns
    assert!(worst[0] < 1e-4 && worst[1] < 1e-3, "{worst:?}");
    assert_eq!(recording.events().len(), 4);
    assert_eq!((sim.stats().n_difference_columns, sim.stats().n_rhs), (0, 0));
}

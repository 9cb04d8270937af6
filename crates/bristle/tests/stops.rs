//! Joint stops against independent references, closed forms and the energy ledger.
//!
//! `data/stops` has scenes and figures of two independent programs (event-driven with Gauss–Legendre integration, and
//! closed forms by elliptic functions or roots of polynomials) that agree with each other to 1e-12 and better: impacts
//! with the speed before, ends of bounces, releases, positions, velocities, and the heat of friction and impacts.

use bristle::friction::{Coulomb, Law, Mode};
use bristle::prelude::*;
use bristle::scene::{Formulation, Method};
use bristle::{Event, EventKind};
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops").join(name)
}

/// A line of the reference: what, time, joint, value.
struct Figure {
    what: String,
    t: f64,
    joint: String,
    value: f64,
}

fn figures(case: &str) -> Vec<Figure> {
    let text = std::fs::read_to_string(data("reference.csv")).unwrap();
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        let [of, what, t, joint, value] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if of == case {
            let (t, value) = (t.parse().unwrap(), value.parse().unwrap());
            found.push(Figure { what: what.into(), t, joint: joint.into(), value });
        }
    }
    found
}

/// Runs a case and compares event for event. Times hold 1e-9, positions 1e-8: the tolerance is 1e-11.
fn check(case: &str, formulation: Formulation, method: Method) {
    let mut scene = Scene::load(data(&format!("{case}.ron"))).unwrap();
    scene.formulation = formulation;
    scene.solver.method = Some(method);
    let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
    let (figures, events) = (figures(case), recording.events());
    let at = |figure: &Figure, kind: EventKind| {
        let times = events.iter().filter(|event| event.kind == kind && event.joint == figure.joint);
        times.map(|event| (event.t - figure.t).abs()).fold(f64::INFINITY, f64::min)
    };
    let t: Vec<f64> = recording.channel("t").unwrap().collect();
    for figure in &figures {
        let label = format!("{case} {formulation:?} {method:?}: {} of {} at {}", figure.what, figure.joint, figure.t);
        match figure.what.as_str() {
            // slower impacts of a sequence are summed
            "impact" if figure.value.abs() > 1e-2 => assert!(at(figure, EventKind::Stop) < 1e-9, "{label}"),
            "impact" => {}
            "rest" => assert!(at(figure, EventKind::Stop) < 1e-9, "{label}: {:e}", at(figure, EventKind::Stop)),
            "open" => assert!(at(figure, EventKind::Open) < 1e-9, "{label}: {:e}", at(figure, EventKind::Open)),
            "heat" => {
                let heat = recording.last("energy.dissipated").unwrap();
                assert!((heat - figure.value).abs() < 1e-8, "{label}: {heat} {}", figure.value);
            }
            what => {
                let Some(row) = t.iter().position(|t| (t - figure.t).abs() < 1e-9) else { panic!("{label}: no row") };
                // at the instant of an impact there are two velocities
                let is_impact = events.iter().any(|event| (event.t - figure.t).abs() < 1e-9);
                let value = recording.channel(&format!("{}.{what}", figure.joint)).unwrap().nth(row).unwrap();
                let is_near = (value - figure.value).abs() < 1e-8;
                assert!(is_near || is_impact && what == "velocity", "{label}: {value} {}", figure.value);
            }
        }
    }
    // and no impact that the reference does not have: summed bounces end within a hundred microseconds of its last
    let is_known = |event: &Event| {
        figures.iter().any(|f| ["impact", "rest"].contains(&f.what.as_str()) && (f.t - event.t).abs() < 1e-4)
    };
    for event in events.iter().filter(|event| event.kind == EventKind::Stop) {
        assert!(is_known(event), "{case}: {event:?}");
    }
    let balance = recording.channel("energy.balance").unwrap().fold(0.0, |most: f64, b| most.max(b.abs()));
    assert!(balance < 1e-8, "{case}: balance {balance:e}");
}

const CASES: [&str; 14] = [
    "S1_pendulum_stop",
    "S1z_pendulum_stop_rest",
    "S2_bouncing_slider",
    "S3_slider_two_stops",
    "S4_reversing_force",
    "S4b_reversing_force_bounce",
    "S4f_reversing_force_friction",
    "S5_double_pendulum_stops",
    "S6_two_blocks",
    "S6b_two_pendulums",
    "S6c_resting_stop",
    "S7_pin_stop",
    "S7b_double_pin_stop",
    "S7s_pin_stop_stays",
];

#[test]
fn reference_cases_event_for_event() {
    CASES.iter().for_each(|case| check(case, Formulation::Implicit, Method::Dopri5));
}

#[test]
fn reference_cases_in_the_jerk_form() {
    CASES.iter().for_each(|case| check(case, Formulation::Jerk, Method::Radau5));
}

#[test]
fn reference_cases_in_the_residual_form() {
    CASES.iter().for_each(|case| check(case, Formulation::Residual, Method::Radau5));
}

/// Instants of `NAME.events`, each with the modes of all joints after it: 0 stuck or at rest on a stop.
fn instants(case: &str) -> Vec<(f64, Vec<i8>)> {
    let mut found: Vec<(f64, Vec<i8>)> = Vec::new();
    for line in std::fs::read_to_string(data(&format!("{case}.events"))).unwrap().lines().skip(1) {
        let t: f64 = line.split(' ').next().unwrap().parse().unwrap();
        if found.last().is_none_or(|last| last.0 != t) {
            found.push((t, Vec::new()));
        }
        if let Some((modes, _)) = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
            found.last_mut().unwrap().1 = modes.split(' ').map(|mode| mode.parse().unwrap()).collect();
        }
    }
    found
}

/// Every instant of the references, changes of mode included, and none besides; the modes after each. Of slow bounces,
/// whose sum is an event of its own, the reference has a hundred microseconds more.
#[test]
fn modes_change_at_the_instants_of_the_references() {
    let (mut n_instants, mut n_modes) = (0, 0);
    for case in CASES {
        let scene = Scene::load(data(&format!("{case}.ron"))).unwrap();
        let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
        let (events, mut reference) = (recording.events(), instants(case));
        let mut modes = reference.remove(0).1;
        let is_rest = |event: &&Event| event.kind == EventKind::Stop && event.to == Mode::Stuck;
        for event in events {
            assert!(reference.iter().any(|(t, _)| (t - event.t).abs() < 1e-9), "{case}: {event:?}");
        }
        for (t, expected) in reference {
            let mut here = events.iter().filter(|event| (event.t - t).abs() < 1e-9).peekable();
            let is_summed = events.iter().filter(is_rest).any(|event| (1e-9..1e-4).contains(&(event.t - t)));
            assert!(is_summed || here.peek().is_some(), "{case}: nothing happens at {t}");
            for event in here.filter(|event| event.kind == EventKind::Mode) {
                let joint = scene.joints.iter().position(|joint| joint.name == event.joint).unwrap();
                modes[joint] = event.to.direction() as i8;
            }
            if is_summed {
                continue;
            }
            for (joint, (mode, expected)) in scene.joints.iter().zip(modes.iter().zip(&expected)) {
                assert!(
                    joint.friction.is_none() || mode == expected,
                    "{case}: {} at {t}: {mode} {expected}",
                    joint.name
                );
                n_modes += usize::from(joint.friction.is_some());
            }
            n_instants += 1;
        }
    }
    assert!(n_instants > 190 && n_modes > 140, "{n_instants} {n_modes}");
}

fn block(mass: f64) -> LinkInertia {
    LinkInertia { mass, center_of_mass: [0.0; 3].into(), inertia: Default::default() }
}

/// A block pressed against its stop by a force F, with Coulomb friction f: up with (F + f)/m, down with (F − f)/m; the
/// bounces are a geometric sequence with the ratio e √(a₂/a₁).
#[test]
fn bounces_with_friction_end_at_a_geometric_sum() {
    for (e, friction) in [(0.2, 0.0), (0.5, 0.7), (0.9, 0.3), (1.0, 0.5)] {
        let (m, force, height) = (1.3, 4.0, 0.2);
        let mut world = World::new();
        world.set_gravity([0.0; 3]);
        let link = world.spawn_link("block", block(m));
        let law = Law::Coulomb(Coulomb { coulomb: friction, stiction: friction, viscous: 0.0 });
        let joint = prismatic("slider", [1.0, 0.0, 0.0]).to(link).position(height).effort(-force);
        world.spawn_joint(joint.friction(law).limits(0.0, f64::INFINITY).restitution(e));
        let mut sim = Simulation::from_world(world).unwrap();
        let (up, down) = ((force + friction) / m, (force - friction) / m);
        let fall = (2.0 * height / down).sqrt();
        let (u, ratio) = (e * down * fall, e * (down / up).sqrt());
        let rest = fall + u * (1.0 / up + 1.0 / (up * down).sqrt()) / (1.0 - ratio);
        let recording = sim.run_until(rest + 1.0).unwrap();
        let last = recording.events().iter().rfind(|event| event.kind == EventKind::Stop).unwrap();
        assert!((last.t - rest).abs() < 1e-9 * rest, "e = {e}: {} {rest}", last.t);
        assert_eq!(
            (recording.last("slider.position").unwrap(), recording.last("slider.velocity").unwrap()),
            (0.0, 0.0)
        );
        // friction first, the stop takes the rest
        let share = recording.last("slider.stop").unwrap() - recording.last("slider.friction").unwrap();
        assert!((share - force).abs() < 1e-12, "{share}");
    }
}

/// A block that a force presses against its stop: friction carries its level, and the stop the rest.
#[test]
fn friction_at_a_stop_is_within_its_level() {
    for (force, friction) in [(-4.0, 0.7), (4.0, 0.7), (-0.5, 0.7)] {
        let mut world = World::new();
        world.set_gravity([0.0; 3]);
        let link = world.spawn_link("block", block(1.3));
        let law = Law::Coulomb(Coulomb { coulomb: friction, stiction: friction, viscous: 0.0 });
        let joint = prismatic("slider", [1.0, 0.0, 0.0]).to(link).position(0.1 * f64::signum(force)).effort(force);
        world.spawn_joint(joint.friction(law).limits(-0.1, 0.1));
        let recording = Simulation::from_world(world).unwrap().run_until(0.1).unwrap();
        let [carried, stop] = ["slider.friction", "slider.stop"].map(|channel| recording.last(channel).unwrap());
        // friction opposes motion, the stop acts as an effort
        let (level, rest) = (force.clamp(-friction, friction), force - force.clamp(-friction, friction));
        assert!((carried - level).abs() < 1e-12 && (stop + rest).abs() < 1e-12, "{force}: {carried} {stop}");
    }
}

/// A motor of inertia 0.1 geared 5 : 1 to an arm of inertia 2 with a stop: 2 + 25·0.1 = 4.5 at the arm, whichever of
/// the two joints depends on the other.
#[test]
fn a_geared_joint_bounces_off_its_stop() {
    for (joints, ratio) in [("\"motor\", \"elbow\"", 5.0), ("\"elbow\", \"motor\"", 0.2)] {
        let text = format!(
            r#"Scene(gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "rotor", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1)),
                Link(name: "arm", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))],
        joints: [
            Joint(name: "motor", parent: "world", child: "rotor", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                drive: Effort(Constant(1.0))),
            Joint(name: "elbow", parent: "world", child: "arm", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                limits: Limits(upper: 1.0, restitution: 0.5)),
        ],
        couplings: [Gear(name: "stage", joints: ({joints}), ratio: {ratio:?})])"#
        );
        let a: f64 = 5.0 / 4.5;
        // bounces with e = 0.5: flights e, e², … of twice the first fall
        let fall = (2.0 / a).sqrt();
        let mut sim = Simulation::new(&Scene::parse(&text, "gear.ron").unwrap()).unwrap();
        let recording = sim.run_until(3.5 * fall).unwrap();
        let stops: Vec<f64> =
            recording.events().iter().filter(|event| event.kind == EventKind::Stop).map(|event| event.t).collect();
        assert!((stops[0] - fall).abs() < 1e-9 && (stops[1] - 2.0 * fall).abs() < 1e-9, "{stops:?} {fall}");
        assert!((stops.last().unwrap() - 3.0 * fall).abs() < 1e-9, "{stops:?} {fall}");
        assert_eq!(recording.last("elbow.velocity").unwrap(), 0.0);
        assert!((recording.last("elbow.position").unwrap() - 1.0).abs() < 1e-15);
        assert!((recording.last("elbow.stop").unwrap() + 5.0).abs() < 1e-9);
        let balance = recording.channel("energy.balance").unwrap().fold(0.0, |most: f64, b| most.max(b.abs()));
        assert!(balance < 1e-8, "{balance:e}");
    }
}

/// Blocks of 1, 20 and 0.5 kg in line, each sliding on the one before. The first hits its stop while the second leaves
/// its own: the impacts throw them back in turn, 20/21 as fast each time, without end and without time. Both rest, and
/// the last block keeps its momentum.
#[test]
fn stops_that_excite_one_another_come_to_rest_at_once() {
    let (masses, v) = ([1.0, 20.0, 0.5], [1.0, -0.4, 0.7]);
    for restitution in [[0.0, 0.0], [0.3, 0.3], [0.5, 0.2], [0.1, 0.6]] {
        let mut world = World::new();
        world.set_gravity([0.0; 3]);
        let mut parent = None;
        for i in 0..3 {
            let link = world.spawn_link(&format!("block{i}"), block(masses[i]));
            let mut joint = prismatic(&format!("slider{i}"), [1.0, 0.0, 0.0]).to(link).velocity(v[i]);
            if i < 2 {
                joint = joint.limits(-1.0, 0.0).restitution(restitution[i]);
            }
            if let Some(parent) = parent {
                joint = joint.from(parent);
            }
            world.spawn_joint(joint);
            parent = Some(link);
        }
        let mut sim = Simulation::from_world(world).unwrap();
        let recording = sim.run_until(0.5).unwrap();
        let last = |channel: &str| recording.last(channel).unwrap();
        for name in ["slider0", "slider1"] {
            let at = |what: &str| last(&format!("{name}.{what}"));
            assert_eq!((at("position"), at("velocity")), (0.0, 0.0), "{restitution:?}: {name}");
        }
        let u: f64 = v.iter().sum();
        assert!((last("slider2.velocity") - u).abs() < 1e-9, "{restitution:?}: {}", last("slider2.velocity"));
        // speeds of the blocks: 1, 0.6, 1.3
        let heat = 0.5 * (1.0 + 20.0 * 0.6 * 0.6);
        assert!((last("energy.dissipated") - heat).abs() < 1e-9, "{restitution:?}: {}", last("energy.dissipated"));
        let stops: Vec<&Event> = recording.events().iter().filter(|event| event.kind == EventKind::Stop).collect();
        assert!(stops.len() == 2 && stops.iter().all(|stop| stop.t < 1e-9), "{restitution:?}: {stops:?}");
    }
}

#[test]
fn a_snapshot_between_bounces_continues() {
    let scene = Scene::load(data("S5_double_pendulum_stops.ron")).unwrap();
    let mut sim = Simulation::new(&scene).unwrap();
    // in the middle of the bounces of the elbow
    sim.run_until(0.858).unwrap();
    let bytes = sim.snapshot().unwrap();
    sim.run_until(3.0).unwrap();
    let mut other = Simulation::new(&scene).unwrap();
    other.restore(&bytes).unwrap();
    other.run_until(3.0).unwrap();
    assert_eq!(sim.positions(), other.positions());
    assert_eq!(sim.velocities(), other.velocities());
}

/// Random chains with stops, friction, springs and drives: the ledger closes, no joint passes a stop, no impact heats
/// by less than nothing.
#[test]
fn the_ledger_closes_on_random_machines_with_stops() {
    let mut seed = 7_u64;
    let mut next = move |low: f64, high: f64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    for machine in 0..200 {
        let mut world = World::new();
        world.set_gravity([0.0, -9.81, 0.0]);
        let n = 1 + machine % 4;
        let (mut parent, mut limits) = (None, Vec::new());
        for i in 0..n {
            let link = world
                .spawn_link(&format!("l{i}"), LinkInertia::rod(next(0.3, 2.0), [next(-0.3, 0.3), -0.5, 0.1].into()));
            let (name, axis) = (format!("j{i}"), [next(-1.0, 1.0), next(-1.0, 1.0), 1.0]);
            let mut joint = if next(0.0, 1.0) < 0.7 { revolute(&name, axis) } else { prismatic(&name, axis) };
            if let Some(parent) = parent {
                joint = joint.from(parent).at([0.0, -0.5, 0.0]);
            }
            let q = next(-0.5, 0.5);
            let (lower, upper) = (q - next(0.0, 0.5), q + next(0.05, 0.5));
            limits.push((name, lower, upper));
            joint = joint.to(link).position(q).velocity(next(-3.0, 3.0)).limits(lower, upper);
            joint = joint.restitution(if next(0.0, 1.0) < 0.4 { 0.0 } else { next(0.0, 1.0) });
            if next(0.0, 1.0) < 0.5 {
                let coulomb = next(0.0, 1.0);
                joint = joint.friction(Law::Coulomb(Coulomb { coulomb, stiction: 1.3 * coulomb, viscous: 0.0 }));
            }
            if next(0.0, 1.0) < 0.3 {
                joint = joint.spring(next(0.0, 30.0), q).damping(next(0.0, 0.3));
            }
            world.spawn_joint(joint);
            parent = Some(link);
        }
        let mut sim = Simulation::from_world(world).unwrap();
        let recording = sim.run_until(1.0).unwrap_or_else(|error| panic!("machine {machine}: {error}"));
        let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
        let size = |name: &str| channel(name).into_iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let energy = size("energy.kinetic") + size("energy.potential") + size("energy.elastic");
        // a hundred times the tolerance of the integration, 1e-8
        assert!(size("energy.balance") < 1e-6 * energy, "machine {machine}: {:e}", size("energy.balance"));
        for (name, lower, upper) in &limits {
            let q = channel(&format!("{name}.position"));
            assert!(q.iter().all(|q| (lower - 1e-12..=upper + 1e-12).contains(q)), "machine {machine}, {name}");
            let heat = channel(&format!("{name}.dissipated"));
            assert!(heat.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9 * energy), "machine {machine}, {name}");
            // a stop pushes into the range, and only where the joint rests on it
            for ((q, stop), v) in
                q.iter().zip(channel(&format!("{name}.stop"))).zip(channel(&format!("{name}.velocity")))
            {
                let is_right = stop == 0.0 || v == 0.0 && (q == lower && stop > 0.0 || q == upper && stop < 0.0);
                assert!(is_right, "machine {machine}, {name}: {q} {stop} {v}");
            }
        }
    }
}

#[test]
fn unusable_limits_are_refused_with_their_place() {
    let text = r#"Scene(
        links: [Link(name: "rod", mass: 1.0, center_of_mass: (0.0, 0.0, -1.0))],
        joints: [Joint(name: "hinge", parent: "world", child: "rod", kind: Revolute(axis: (0.0, 1.0, 0.0)),
            position: 0.5, FIELDS)])"#;
    for (fields, expected) in [
        ("limits: Limits(lower: -1.0, upper: 0.4)", "x.ron:4:23: `hinge` starts at 0.5, outside its limits"),
        ("limits: Limits(lower: 1.0, upper: -1.0)", "there is no room"),
        ("limits: Limits(restitution: 0.5)", "have no bound"),
        ("limits: Limits(lower: 0.0, restitution: 1.5)", "it must be from 0 to 1"),
        ("limits: Limits(lowest: 0.0)", "unknown field `lowest`"),
    ] {
        let error = Scene::parse(&text.replace("FIELDS", fields), "x.ron").unwrap_err().to_string();
        let flat = error.replace("\n  --> ", " ");
        assert!(flat.contains(expected) || error.contains(expected.rsplit(": ").next().unwrap()), "{fields}: {error}");
    }
    let motion = "drive: Motion(Sine(amplitude: 1.0, frequency: 2.0, offset: 0.5)), limits: Limits(upper: 1.0)";
    let error = Scene::parse(&text.replace("FIELDS", motion), "x.ron").unwrap_err().to_string();
    // 0.5 + sin 2t = 1 at t = π/12
    let t: f64 = error
        .split("leaves its limits at t = ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    assert!((t - std::f64::consts::PI / 12.0).abs() < 1e-14 && error.contains("beyond 1.0, to 1.5"), "{error}");
    // an override is checked like the file
    let text = text.replace("FIELDS", "limits: Limits(upper: 1.0)");
    let scene = Scene::parse_with(&text, "x.ron", &[("joints.hinge.limits.restitution", "0.5")]).unwrap();
    assert_eq!(scene.joints[0].limits.unwrap().restitution, 0.5);
    assert_eq!(Scene::parse(&scene.to_ron().unwrap(), "y.ron").unwrap(), scene);
    assert!(Scene::parse_with(&text, "x.ron", &[("joints.hinge.limits.restitution", "2")]).is_err());
}

/// A double pendulum whose shoulder rests on its stop, or is fixed there; the elbow swings.
fn resting(is_fixed: bool, method: &str) -> Simulation {
    let shoulder = if is_fixed {
        r#"kind: Fixed, placement: Placement(rotation: Rpy(0.0, 0.3, 0.0))"#
    } else {
        r#"kind: Revolute(axis: (0.0, 1.0, 0.0)), position: 0.3, limits: Limits(lower: 0.3), friction: Coulomb(coulomb:
            0.05)"#
    };
    let text = format!(
        r#"Scene(
            links: [
                Link(name: "upper", mass: 1.0, center_of_mass: (0.0, 0.0, -0.5), inertia: Diagonal(0.08, 0.08, 0.001)),
                Link(name: "lower", mass: 0.5, center_of_mass: (0.0, 0.0, -0.4), inertia: Diagonal(0.03, 0.03, 0.001)),
            ],
            joints: [
                Joint(name: "shoulder", parent: "world", child: "upper", {shoulder}),
                Joint(name: "elbow", parent: "upper", child: "lower", kind: Revolute(axis: (0.0, 1.0, 0.0)),
                    placement: Placement(translation: (0.0, 0.0, -1.0)), position: -0.2, velocity: 0.4, damping: 0.1),
            ],
            solver: Solver({method}),
        )"#
    );
    let mut sim = Simulation::new(&Scene::parse(&text, "resting.ron").unwrap()).unwrap();
    sim.step(0.01).unwrap();
    sim
}

/// A closed stop is a constraint: the machine is linearised as one whose joint is fixed there.
#[test]
fn closed_stops_are_fixed_joints_in_linearizations() {
    for method in ["", "method: RealTime, control: Constant(step: 1e-3)"] {
        let (mut stopped, mut fixed) = (resting(false, method), resting(true, method));
        assert_eq!((stopped.positions()[0], stopped.velocities()[0]), (0.3, 0.0));
        let (stopped, fixed) = (stopped.linearize().unwrap(), fixed.linearize().unwrap());
        assert_eq!(stopped.unknowns, ["elbow.position", "elbow.velocity"]);
        assert_eq!(stopped.unknowns, fixed.unknowns);
        // both machines have been integrated for 0.01 s at rtol 1e-8 or the same steps
        assert!((&stopped.a - &fixed.a).amax() < 1e-6, "{} {}", stopped.a, fixed.a);
        assert_eq!(stopped.b.column(0).amax(), 0.0);
        assert!((stopped.b.column(1) - fixed.b.column(0)).amax() < 1e-6, "{} {}", stopped.b, fixed.b);
    }
}

#[test]
fn a_coupled_start_outside_the_limits_is_refused() {
    let text = r#"Scene(gravity: (0.0, 0.0, 0.0), links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)),
            Link(name: "b", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],
        joints: [Joint(name: "x", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                velocity: 2.0, limits: Limits(lower: 0.4, upper: 0.5)),
            Joint(name: "y", parent: "world", child: "b", kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 1.0)],
        couplings: [Gear(name: "g", joints: ("x", "y"), ratio: 2.0, offset: 0.3)])"#;
    for method in [Method::Dopri5, Method::RealTime] {
        let mut scene = Scene::parse(text, "gear.ron").unwrap();
        scene.solver.method = Some(method);
        scene.solver.control = (method == Method::RealTime).then_some(bristle::scene::Control::Constant { step: 1e-3 });
        let error = Simulation::new(&scene).and_then(|mut sim| sim.step(1e-2)).unwrap_err().to_string();
        assert!(error.contains("joint `x` is at 0.3, outside its limits: the stop is at 0.4"), "{error}");
    }
}

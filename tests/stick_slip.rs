//! Event-driven friction against closed forms and independent integrations: modes and times of events.

use bristle::friction::Mode::{self, Backward, Forward, Stuck};
use bristle::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI};

pub const TIGHT: &str = "Error(rtol: 1e-12, atol: 1e-13)";

/// A block on a rail along x, without gravity; `joint` gives further fields of its joint.
pub fn slider(mass: f64, joint: &str) -> String {
    format!(
        "links: [Link(name: \"block\", mass: {mass:?})], gravity: (0.0, 0.0, 0.0), \
         joints: [Joint(name: \"slide\", parent: \"world\", child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
         {joint})]"
    )
}

/// A simulation of a scene given by its fields.
pub fn simulation(fields: &str, method: &str, control: &str) -> Simulation {
    let text = format!("Scene({fields}, solver: Solver(method: {method}, control: {control}))");
    let scene = Scene::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(&scene).unwrap_or_else(|error| panic!("{error}"))
}

/// A run at tight tolerance.
pub fn run(fields: &str, until: f64) -> Recording {
    simulation(fields, "Dopri5", TIGHT).run_until(until).unwrap_or_else(|error| panic!("{error}"))
}

/// Times and modes of all events, all of one joint.
fn changes(recording: &Recording) -> Vec<(f64, Mode, Mode)> {
    recording.events().iter().map(|event| (event.t, event.from, event.to)).collect()
}

pub fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance,
        "{what}: {value:?}, expected {expected:?}, off by {:e}",
        value - expected
    );
}

/// Events as expected: the same number, modes and, to `tolerance`, times.
fn assert_events(recording: &Recording, expected: &[(f64, Mode, Mode)], tolerance: f64) {
    let found = changes(recording);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.1, found.2), (expected.1, expected.2), "{found:?}");
        assert_near("time of an event", found.0, expected.0, tolerance);
    }
}

const OSCILLATOR: &str = "position: 0.19, spring: Spring(stiffness: 100.0), friction: Coulomb(coulomb: 2.0)";

#[test]
fn coulomb_oscillator_loses_equal_amplitudes_and_stops() {
    // five half periods, each turning point 2F/k nearer; the block stops where the spring cannot move it: F01
    let half = PI / 10.0;
    for method in ["Dopri5", "Radau5"] {
        let recording = simulation(&slider(1.0, OSCILLATOR), method, TIGHT).run_until(6.0).unwrap();
        let expected: Vec<_> = (1..=5)
            .map(|k| {
                let (from, to) = if k % 2 == 1 { (Backward, Forward) } else { (Forward, Backward) };
                (half * f64::from(k), from, if k == 5 { Stuck } else { to })
            })
            .collect();
        assert_events(&recording, &expected, 1e-9);
        let (t, x, v): (Vec<f64>, Vec<f64>, Vec<f64>) = (
            recording.channel("t").unwrap().collect(),
            recording.channel("slide.position").unwrap().collect(),
            recording.channel("slide.velocity").unwrap().collect(),
        );
        for (k, &t) in t.iter().enumerate() {
            // between turning points a cosine about ±F/k
            let n = (t / half).floor();
            let exact = if n >= 5.0 {
                0.01
            } else {
                let centre = if n as i64 % 2 == 0 { 0.02 } else { -0.02 };
                let amplitude = 0.17 - 0.04 * n;
                centre + amplitude * (10.0 * t).cos()
            };
            assert_near("position", x[k], exact, 1e-10);
            if t > 5.0 * half {
                assert_eq!((x[k].to_bits(), v[k].to_bits()), (x[x.len() - 1].to_bits(), 0), "creep at {t}");
            }
        }
        // F times the path, 0.9 m
        assert_near("heat", recording.last("slide.dissipated").unwrap(), 1.8, 1e-9);
        assert_near("friction at the end", recording.last("slide.friction").unwrap(), -1.0, 1e-8);
    }
}

#[test]
fn every_stepper_lands_on_the_events() {
    for (method, step, tolerance) in [
        ("Rk4", 1e-3, 1e-8),
        ("Dopri5", 1e-3, 1e-9),
        ("Radau5", 1e-3, 1e-9),
        ("Radau3", 1e-3, 1e-5),
        ("Trapezoidal", 1e-4, 1e-5),
        ("GeneralizedAlpha()", 1e-4, 1e-4),
        ("Euler", 1e-5, 1e-2),
        ("MixedEuler", 1e-5, 1e-2),
        ("LinearlyImplicitEuler", 1e-5, 1e-2),
    ] {
        let mut sim = simulation(&slider(1.0, OSCILLATOR), method, &format!("Constant(step: {step:?})"));
        let recording = sim.run_until(2.0).unwrap_or_else(|error| panic!("{method}: {error}"));
        let found = changes(&recording);
        assert_eq!(found.len(), 5, "{method}: {found:?}");
        assert_near(method, found[4].0, FRAC_PI_2, tolerance);
        assert_near(method, recording.last("slide.position").unwrap(), 0.01, tolerance);
        assert_eq!(recording.last("slide.velocity").unwrap().to_bits(), 0, "{method}");
    }
}

#[test]
fn rotor_breaks_away_under_ramp() {
    // F02, all rational: breaks at 2, turns at 25 rad/s at 3, stops at 4
    let fields = "links: [Link(name: \"rotor\", mass: 1.0, inertia: Diagonal(0.02, 0.02, 0.02))], \
             joints: [Joint(name: \"slide\", parent: \"world\", child: \"rotor\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)), friction: Coulomb(coulomb: 0.5, stiction: 0.8), \
             drive: Effort(Piecewise([(0.0, Ramp(rate: 0.4)), (3.0, Constant(0.0))])))]";
    let recording = run(fields, 5.0);
    assert_events(&recording, &[(2.0, Stuck, Forward), (4.0, Forward, Stuck)], 1e-9);
    let at = |t: f64, name: &str| recording.channel(name).unwrap().nth((100.0 * t).round() as usize).unwrap();
    assert_near("velocity at 3 s", at(3.0, "slide.velocity"), 25.0, 1e-9);
    assert_near("angle at 3 s", at(3.0, "slide.position"), 65.0 / 6.0, 1e-9);
    assert_near("angle at the end", recording.last("slide.position").unwrap(), 70.0 / 3.0, 1e-9);
    assert_eq!(at(1.99, "slide.position").to_bits(), 0);
}

#[test]
fn block_slides_up_and_down_incline() {
    // F12: 30°, μ = 0.3
    let (g, angle) = (9.81, PI / 6.0);
    let fields = format!(
        "links: [Link(name: \"block\", mass: 2.0)], \
         joints: [Joint(name: \"slide\", parent: \"world\", child: \"block\", \
         kind: Prismatic(axis: ({:?}, 0.0, {:?})), velocity: 4.0, friction: Coulomb(coulomb: 0.3), \
         load: Constant({:?}))]",
        angle.cos(),
        angle.sin(),
        2.0 * g * angle.cos()
    );
    let (up, back) = (0.536645310465236, 0.954463993444490);
    let recording = run(&fields, up + back);
    assert_events(&recording, &[(up, Forward, Backward)], 1e-9);
    assert_near("back at the start", recording.last("slide.position").unwrap(), 0.0, 1e-9);
    assert_near("speed at the start", recording.last("slide.velocity").unwrap(), -2.248991325607073, 1e-9);
    let top = simulation(&fields, "Dopri5", TIGHT).run_until(up).unwrap().last("slide.position").unwrap();
    assert_near("highest point", top, 1.073290620930472, 1e-9);
}

#[test]
fn block_and_plank_reach_common_speed() {
    // F13: 2 kg at 5 m/s on 3 kg at rest, μ = 0.25; after that they move together without loss
    let fields = "gravity: (0.0, 0.0, 0.0), links: [Link(name: \"plank\", mass: 3.0), \
             Link(name: \"block\", mass: 2.0)], joints: [Joint(name: \"floor\", parent: \"world\", child: \"plank\", \
             kind: Prismatic(axis: (1.0, 0.0, 0.0))), \
             Joint(name: \"slide\", parent: \"plank\", child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
             velocity: 5.0, friction: Coulomb(coulomb: 0.25), load: Constant(19.62))]";
    let recording = run(fields, 2.0);
    assert_events(&recording, &[(1.223241590214067, Forward, Stuck)], 1e-9);
    assert_near("common speed", recording.last("floor.velocity").unwrap(), 2.0, 1e-10);
    assert_near("slide", recording.last("slide.position").unwrap(), 3.058103975535169, 1e-9);
    assert_near("heat", recording.last("energy.dissipated").unwrap(), 15.0, 1e-9);
    assert_eq!(recording.last("slide.velocity").unwrap(), 0.0);
}

#[test]
fn brake_stops_mass() {
    // M03: 1 kg at 1 m/s, from 0.1 s on 2 N on a brake with μ = 0.5
    let joint = "velocity: 1.0, friction: Coulomb(coulomb: 0.5), load: Signal(max: 2.0, signal: Steps([(0.1, 1.0)]))";
    let recording = run(&slider(1.0, joint), 3.0);
    assert_events(&recording, &[(1.1, Forward, Stuck)], 1e-9);
    assert_near("place", recording.last("slide.position").unwrap(), 0.6, 1e-10);
    let load: Vec<f64> = recording.channel("slide.load").unwrap().collect();
    assert_eq!((load[9], load[12]), (0.0, 2.0));
}

#[test]
fn brake_closing_at_rest_has_no_effect() {
    // without load there is no friction; a load that grows from zero must not accelerate
    let load = "load: Signal(max: 2.0, signal: Table([(0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (3.0, 0.0), (5.0, 0.0), \
            (6.0, 1.0)]))";
    let recording = run(&slider(1.0, &format!("friction: Coulomb(coulomb: 0.5), {load}")), 7.0);
    assert!(recording.channel("slide.velocity").unwrap().all(|v| v.to_bits() == 0));
    assert_eq!(recording.last("slide.mode").unwrap(), 0.0);
    // pushed with 0.25 N: it moves until the brake locks, again when the brake opens, and is stopped again
    let recording =
        run(&slider(1.0, &format!("friction: Coulomb(coulomb: 0.5), {load}, drive: Effort(Constant(0.25))")), 9.0);
    let modes: Vec<_> = changes(&recording).iter().map(|change| (change.1, change.2)).collect();
    assert_eq!(modes, [(Forward, Stuck), (Stuck, Forward), (Forward, Stuck)]);
    // μN = 2·0.5·(3 − t) = 0.25 as the brake opens
    assert_near("let go", changes(&recording)[1].0, 2.75, 1e-9);
}

#[test]
fn stribeck_block_under_sine_force() {
    // M04: an independent integration with DOP853 at 1e-12
    let joint = "friction: Stribeck(coulomb: 5.0, stiction: 15.0, stribeck_velocity: 0.5, exponent: 1.0, viscous: 1.0, \
             peak: 1.001), drive: Effort(Sine(amplitude: 25.0, frequency: 1.5707963267948966))";
    let recording = run(&slider(1.0, joint), 5.0);
    let expected =
        [(0.4101431286349, Stuck, Forward), (2.4426904203564, Forward, Backward), (4.4419424314548, Backward, Forward)];
    assert_events(&recording, &expected, 1e-8);
    assert_near("place", recording.last("slide.position").unwrap(), 1.768489612779, 1e-8);
    assert_near("speed", recording.last("slide.velocity").unwrap(), 6.864840341601, 1e-8);
}

#[test]
fn bearing_under_sine_torque() {
    // M06: breaks away where 10 sin 2πt = 1, with an acceleration that begins at zero
    let joint =
        format!("friction: Coulomb(coulomb: 1.0), drive: Effort(Sine(amplitude: 10.0, frequency: {:?}))", 2.0 * PI);
    let recording = run(&slider(1.0, &joint), 1.1);
    let breaks = 0.1_f64.asin() / (2.0 * PI);
    assert_events(&recording, &[(breaks, Stuck, Forward), (0.8302847744890, Forward, Backward)], 1e-9);
    assert_near("angle", recording.last("slide.position").unwrap(), 1.078281469695, 1e-9);
    assert_near("speed", recording.last("slide.velocity").unwrap(), -0.248646256466, 1e-9);
}

#[test]
fn belt_block_sticks_and_slips() {
    // F03 in the frame of the belt: with A = (F_s − F_k)/k and φ = atan(v_b/ωA), slip lasts (π + 2φ)/ω and stick 2A/v_b
    let joint =
        "friction: Coulomb(coulomb: 10.0, stiction: 15.0), drive: Pull(stiffness: 100.0, target: Ramp(rate: -0.1))";
    let recording = run(&slider(1.0, joint), 20.0);
    let slip = (PI + 2.0 * (0.1_f64 / (10.0 * 0.05)).atan()) / 10.0;
    assert_near("slip", slip, 0.353638377328955, 1e-14);
    let mut expected = Vec::new();
    let mut t = 1.5;
    while t < 20.0 {
        expected.push((t, Stuck, Backward));
        expected.push((t + slip, Backward, Stuck));
        t += slip + 1.0;
    }
    expected.retain(|event| event.0 < 20.0);
    assert_events(&recording, &expected, 1e-9);
    // on the ground: sticks between 0.05 and 0.15, swings to 0.15099 and 0.04901
    let ground: Vec<f64> = recording.rows().map(|row| row[1] + 0.1 * row[0]).collect();
    let (least, most) = ground[200..].iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    // rows are 0.01 s apart: the extremes lie between them
    assert!((0.049009804864072..0.0491).contains(&least) && (0.1509..0.150990195135929).contains(&most));
    // heat per cycle, from one moment of sticking to the same a cycle later
    let heat = |t: f64| {
        let mut sim = simulation(&slider(1.0, joint), "Dopri5", TIGHT);
        sim.run_until(t).unwrap().last("slide.dissipated").unwrap()
    };
    assert_near("heat of a cycle", heat(2.0 + slip + 1.0) - heat(2.0), 1.353638377328956, 1e-9);
}

#[test]
fn stick_slip_with_a_friction_table() {
    // P3: an independent event-driven integration
    let joint = "friction: Table(points: [(0.0, 1.0), (1.0, 1.4)], peak: 1.5), \
             drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))";
    let recording = run(&slider(1.0, joint), 25.0);
    let expected = [
        (7.5, Stuck, Forward),
        (10.313743717936136, Forward, Stuck),
        (13.953932708291296, Stuck, Forward),
        (16.767676426227393, Forward, Stuck),
        (20.407865416582496, Stuck, Forward),
        (23.221609134518644, Forward, Stuck),
    ];
    assert_events(&recording, &expected, 1e-9);
}

#[test]
fn den_hartog_amplitudes() {
    // F04: X = √(V² − (F U)²), V = 1/(1 − r²), U = sin(π/r)/(r (1 + cos(π/r)))
    for (r, f) in [(0.6, 0.2), (0.8, 0.3)] {
        let v = 1.0 / (1.0 - r * r);
        let u = (PI / r).sin() / (r * (1.0 + (PI / r).cos()));
        let amplitude = (v * v - f * f * u * u).sqrt();
        let joint = format!(
            "position: {amplitude:?}, spring: Spring(stiffness: 1.0), friction: Coulomb(coulomb: {f:?}), \
             drive: Effort(Sine(amplitude: 1.0, frequency: {r:?}, phase: {FRAC_PI_2:?}))"
        );
        let fields = format!("{}, output: Output(interval: 1e-3)", slider(1.0, &joint));
        let mut sim = simulation(&fields, "Dopri5", "Error(rtol: 1e-10, atol: 1e-11)");
        let period = 2.0 * PI / r;
        sim.step(119.0 * period).unwrap();
        let recording = sim.run_until(sim.time() + period).unwrap();
        let most = recording.channel("slide.position").unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert_near("amplitude", most, amplitude, 1e-6);
        assert!(recording.events().iter().all(|event| event.to != Stuck), "no stops: {:?}", recording.events());
        assert_eq!(recording.events().len(), 2);
    }
}

#[test]
fn double_pendulum_with_dry_hinges() {
    // F08: an independent integration, self-consistent to 5e-9
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum_coulomb.ron");
    let scene = Scene::load_with(path, &[("solver.control", TIGHT)]).unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(8.0).unwrap();
    let at = |t: f64, name: &str| recording.channel(name).unwrap().nth((100.0 * t).round() as usize).unwrap();
    for (t, name, expected) in [
        (1.0, "shoulder.position", -1.036233774448),
        (1.0, "elbow.position", -0.658997321233),
        (1.0, "shoulder.velocity", 1.687798870092),
        (1.0, "elbow.velocity", -3.762734062289),
        (3.0, "shoulder.position", -0.445954392179),
        (3.0, "elbow.position", -0.308046801153),
        (8.0, "shoulder.position", -0.322663693727),
        (8.0, "elbow.position", -0.167398162214),
        (8.0, "shoulder.velocity", 0.627931836754),
    ] {
        assert_near(name, at(t, name), expected, 3e-8);
    }
    assert_eq!(recording.last("elbow.velocity").unwrap(), 0.0);
    assert_near("energy lost", recording.last("energy.dissipated").unwrap(), 14.406466567 - 3.355057157, 1e-7);

    // every change of mode, at its time
    let mut modes = [-1.0, 0.0];
    let mut events = recording.events().iter();
    for line in include_str!("data/double_pendulum_coulomb.events").lines() {
        let numbers: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();
        for k in 0..2 {
            if modes[k] != numbers[1 + k] {
                let event = events.next().unwrap();
                assert_eq!(event.joint, ["shoulder", "elbow"][k]);
                assert_eq!((event.from.direction(), event.to.direction()), (modes[k], numbers[1 + k]), "{event:?}");
                assert_near("event", event.t, numbers[0], 3e-8);
                modes[k] = numbers[1 + k];
            }
        }
    }
    assert_eq!(events.next(), None);
}

#[test]
fn peak_above_stiction_is_found() {
    let force = "drive: Effort(Sine(amplitude: 1.001, frequency: 2.0))";
    let breaks = (1.0_f64 / 1.001).asin() / 2.0;
    for method in ["Dopri5", "Radau5"] {
        let joint = format!("friction: Coulomb(coulomb: 1.0), {force}");
        let recording = simulation(&slider(1.0, &joint), method, "Error()").run_until(1.5).unwrap();
        let first = &recording.events()[0];
        assert_eq!((first.from, first.to), (Stuck, Forward));
        assert_near(method, first.t, breaks, 1e-9);
    }
    // and a peak just below holds, for a thousand periods
    let joint = "friction: Coulomb(coulomb: 1.0), drive: Effort(Sine(amplitude: 0.9999, frequency: 2.0))";
    let recording = simulation(&slider(1.0, joint), "Dopri5", "Error()").run_until(1000.0 * PI).unwrap();
    assert_eq!(recording.events().len(), 0);
    assert_eq!(recording.last("slide.position").unwrap().to_bits(), 0);
}

#[test]
fn joint_at_its_limit_stays_stuck() {
    // for ever under a constant force
    let recording =
        run(&slider(1.0, "friction: Coulomb(coulomb: 0.5, stiction: 0.8), drive: Effort(Constant(0.8))"), 100.0);
    assert_eq!((recording.events().len(), recording.last("slide.position").unwrap()), (0, 0.0));
    // at once under a growing one; towards rest under a falling one
    for (rate, expected) in [(0.1, Some(Forward)), (-0.1, None)] {
        let force = format!("drive: Effort(Sum([Constant(0.8), Ramp(rate: {rate:?})]))");
        let recording = run(&slider(1.0, &format!("friction: Coulomb(coulomb: 0.5, stiction: 0.8), {force}")), 10.0);
        assert_eq!(recording.events().first().map(|event| event.to), expected);
        if let Some(event) = recording.events().first() {
            assert_near("leaves", event.t, 0.0, 1e-12);
        }
    }
}

#[test]
fn stuck_arm_holds_load_for_a_million_seconds() {
    use bristle::friction::Coulomb;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/robot_arm_6dof.ron");
    let position = [0.3, -0.7, 1.1, 0.4, -0.9, 0.2];
    let described = |gravity: f64, levels: Option<&[f64]>, efforts: Option<&[f64]>| {
        let scene = Scene::load(path).unwrap();
        let mut world = World::new();
        bristle::spawn(&scene, &mut world).unwrap();
        world.set_gravity([0.0, 0.0, -gravity]);
        let compiled = bristle::compile(&world).unwrap();
        assert_eq!(compiled.model.tree.n_v, 6);
        for (i, joint) in compiled.model.index.joints() {
            let k = compiled.model.tree.v_index[i];
            // the arm alone, without its springs and drives
            let _ = world.remove_one::<Drive>(joint);
            let _ = world.remove_one::<Spring>(joint);
            world.insert_one(joint, JointState { position: position[k], velocity: 0.0 }).unwrap();
            if let Some(levels) = levels {
                let law = Coulomb { coulomb: 0.8 * levels[k], stiction: levels[k], viscous: 0.0 };
                world.insert_one(joint, Friction(law.into())).unwrap();
            }
            if let Some(efforts) = efforts {
                world.insert_one(joint, Effort(efforts[k])).unwrap();
            }
        }
        (world, compiled)
    };
    // the effort of gravity on each joint, by inverse dynamics
    let (_, compiled) = described(9.81, None, None);
    let mut work = bristle::multibody::Work::new(&compiled.model.tree);
    let load =
        bristle::multibody::bias_efforts(&compiled.model.tree, &mut work, &position, &[0.0; 6]).unwrap().to_vec();
    assert!(load.iter().filter(|load| load.abs() > 0.01).count() >= 3, "{load:?}");
    let pushed: Vec<f64> = load.iter().map(|load| -load).collect();
    for (margin, is_held) in [(1.05, true), (0.95, false)] {
        // an axis along gravity has no load: its level is arbitrary
        let levels: Vec<f64> = load.iter().map(|load| margin * load.abs() + 1e-3).collect();
        for (gravity, efforts) in [(9.81, None), (0.0, Some(&pushed[..]))] {
            let (world, _) = described(gravity, Some(&levels), efforts);
            let settings = Settings { interval: 1000.0, ..Settings::default() };
            let mut sim = Simulation::with_settings(world, settings).unwrap();
            let modes: Vec<Mode> = sim.world().query::<&SlipMode>().iter().map(|mode| mode.0).collect();
            assert_eq!(modes.iter().all(|mode| *mode == Stuck), is_held, "{modes:?}");
            if is_held {
                let recording = sim.run_until(1e6).unwrap();
                assert_eq!(recording.len(), 1001);
                assert_eq!(recording.events(), []);
                for (q, start) in sim.positions().iter().zip(position) {
                    assert_eq!(q.to_bits(), start.to_bits());
                }
                assert!(sim.velocities().iter().all(|v| v.to_bits() == 0));
                // stuck joints do no work
                assert!(sim.stats().n_rhs < 10_000, "{:?}", sim.stats());
            }
        }
    }
}

#[test]
fn efforts_between_steps_release_joint() {
    let mut sim = simulation(&slider(2.0, "friction: Coulomb(coulomb: 1.0, stiction: 1.5)"), "Dopri5", TIGHT);
    let slide = sim.joint("slide").unwrap();
    let mode = |sim: &Simulation| sim.world().get::<&SlipMode>(slide).unwrap().0;
    sim.set_effort(slide, 1.4).unwrap();
    sim.step(1.0).unwrap();
    assert_eq!((mode(&sim), sim.positions()[0]), (Stuck, 0.0));
    assert_eq!(sim.world().get::<&FrictionEffort>(slide).unwrap().0, 1.4);
    sim.set_effort(slide, 3.0).unwrap();
    sim.step(1.0).unwrap();
    // (3 − 1)/2 over one second
    assert_eq!(mode(&sim), Forward);
    assert_near("velocity", sim.velocities()[0], 1.0, 1e-12);
    sim.set_effort(slide, -1.0).unwrap();
    sim.step(2.0).unwrap();
    // braked by 2 N: stops after one second and cannot be pulled back by 1 N
    assert_eq!((mode(&sim), sim.velocities()[0]), (Stuck, 0.0));
    assert_near("place", sim.positions()[0], 1.0, 1e-12);
    sim.world_mut().get::<&mut JointState>(slide).unwrap().velocity = -0.5;
    sim.step(1e-3).unwrap();
    assert_eq!(mode(&sim), Backward);
}

#[test]
fn break_away_by_rotation_is_found() {
    // a balanced wheel turns at constant speed, so that error control sees nothing; friction of its hinge holds an arm
    // on it against gravity: the load is m g l |sin(ω t)|
    let scene = |speed: f64, level: f64, method: &str| {
        format!(
            "Scene(gravity: (0.0, 0.0, -9.81), links: [\
                Link(name: \"wheel\", mass: 1.0, center_of_mass: (-0.5, 0.0, 0.0), inertia: Diagonal(1.0, 1.0, 1.0)), \
                Link(name: \"arm\", mass: 1.0, center_of_mass: (0.5, 0.0, 0.0), inertia: Diagonal(0.01, 0.01, 0.01))], \
             joints: [\
                Joint(name: \"axle\", parent: \"world\", child: \"wheel\", kind: Revolute(axis: (0.0, 1.0, 0.0)), \
                      position: 1.5707963267948966, velocity: {speed:?}), \
                Joint(name: \"hinge\", parent: \"wheel\", child: \"arm\", kind: Revolute(axis: (0.0, 1.0, 0.0)), \
                      friction: Coulomb(coulomb: {level:?}))], \
             solver: Solver(method: {method}, control: Error(rtol: 1e-8, atol: 1e-10)), duration: 100.0)"
        )
    };
    for (speed, level) in [(10.0, 4.4145), (1.0, 4.4145), (1.0, 4.9001), (100.0, 4.9001)] {
        for method in ["Dopri5", "Radau5", "GeneralizedAlpha(spectral_radius: 0.8)"] {
            let scene = Scene::parse(&scene(speed, level, method), "wheel").unwrap();
            let breaks = (level / (9.81 * 0.5)).asin() / speed;
            let recording = Simulation::new(&scene).unwrap().run_until(breaks + 0.1 / speed).unwrap();
            let first = recording.events().first().unwrap();
            assert_eq!((first.joint.as_str(), first.from), ("hinge", Stuck));
            assert_near("breaks away", first.t, breaks, 1e-7 / speed.min(1.0));
        }
    }
}

#[test]
fn jumping_brake_locks_joint_at_rest() {
    // no load until 1 s, then limits 1.0 (static) and 0.3 (sliding) against an effort of 0.5 that begins at the same
    // instant
    let joint = "friction: Coulomb(coulomb: 0.3, stiction: 1.0), \
                 load: Signal(max: 1.0, signal: Steps([(1.0, 1.0)])), drive: Effort(Steps([(1.0, 0.5)]))";
    let mut sim = simulation(&slider(1.0, joint), "Dopri5", TIGHT);
    let recording = sim.run_until(3.0).unwrap();
    assert_eq!(recording.last("slide.position").unwrap(), 0.0);
    assert_eq!(recording.last("slide.velocity").unwrap(), 0.0);
    // and after a real stop
    let joint = "velocity: 1.0, friction: Coulomb(coulomb: 1.0, stiction: 2.0), \
             load: Signal(max: 1.0, signal: Steps([(0.0, 1.0), (2.0, 0.0), (3.0, 1.0)])), \
             drive: Effort(Steps([(3.0, 1.5)]))";
    let mut sim = simulation(&slider(1.0, joint), "Dopri5", TIGHT);
    let recording = sim.run_until(4.0).unwrap();
    assert_near("rests", recording.last("slide.position").unwrap(), 0.5, 1e-9);
    assert_eq!(recording.last("slide.velocity").unwrap(), 0.0);
}

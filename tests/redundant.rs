//! Dry friction that holds the same thing many times over: shafts with gears, clutches and brakes made up at random, by events and in fixed steps.

use crate::real_time_couplings::{real_time, shafts};
use crate::stick_slip::{assert_near, simulation};
use bristle::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const TIGHT: &str = "Error(rtol: 1e-9, atol: 1e-11)";

/// Three to five shafts, a gear and a planetary set or none, up to six clutches and brakes with loads that come and go.
fn random_holders(rng: &mut Pcg64) -> String {
    let n = rng.random_range(3..=5_usize);
    let dry = |rng: &mut Pcg64, least: f64, most: f64| {
        let coulomb = rng.random_range(least..most);
        let stiction = coulomb * [1.0, 1.0, 1.3][rng.random_range(0..3)];
        format!("friction: Coulomb(coulomb: {coulomb:?}, stiction: {stiction:?})")
    };
    let mut kept = Vec::new();
    for k in 0..n {
        let mut joint = String::new();
        if k == 0 || rng.random_range(0..3) == 0 {
            let [amplitude, frequency] = [rng.random_range(1.0..12.0), rng.random_range(0.5..5.0)];
            joint += &format!("drive: Effort(Sine(amplitude: {amplitude:?}, frequency: {frequency:?}, offset: 0.3)), ");
        }
        if rng.random_range(0..5) < 2 {
            joint += &(dry(rng, 0.2, 2.0) + ", ");
        }
        kept.push((rng.random_range(0.1..2.0), joint + "damping: 0.2"));
    }
    let mut couplings = String::new();
    if rng.random_range(0..5) < 3 {
        let ratio = [1.0, -1.6, 2.3, 0.7][rng.random_range(0..4)];
        couplings += &format!("Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: {ratio:?}), ");
    }
    if n > 3 && rng.random() {
        couplings += "Planetary(name: \"p\", sun: \"j2\", ring: \"j3\", carrier: \"j4\", ratio: 2.1), ";
    }
    for k in 0..rng.random_range(2..=6) {
        let (a, b) = (rng.random_range(1..=n), rng.random_range(1..n));
        let b = if b >= a { b + 1 } else { b };
        let load = [
            "Constant(1.3)",
            "Signal(max: 1.5, signal: Steps([(0.0, 1.0), (0.7, 0.0), (1.2, 1.0)]))",
            "Signal(max: 1.5, signal: Sine(amplitude: 0.6, frequency: 4.0, offset: 0.5))",
        ][rng.random_range(0..3)];
        let friction = dry(rng, 0.3, 4.0);
        couplings += &if rng.random_range(0..3) == 0 {
            format!("Brake(name: \"k{k}\", joint: \"j{a}\", {friction}, load: {load}), ")
        } else {
            format!("Clutch(name: \"k{k}\", joints: (\"j{a}\", \"j{b}\"), {friction}, load: {load}), ")
        };
    }
    let kept: Vec<(f64, &str)> = kept.iter().map(|(inertia, rest)| (*inertia, rest.as_str())).collect();
    format!("{}, output: Output(interval: 0.01)", shafts(&kept, &couplings))
}

/// Slip of every contact that is stuck.
fn assert_no_slip(recording: &Recording, fields: &str) {
    for mode in recording.names().iter().filter(|name| name.ends_with(".mode")) {
        let slip = mode.replace(".mode", ".velocity");
        for (mode, slip) in recording.channel(mode).unwrap().zip(recording.channel(&slip).unwrap()) {
            assert!(mode != 0.0 || slip == 0.0, "slips by {slip:e}\n{fields}");
        }
    }
}

#[test]
fn what_is_held_many_times_moves_alike_by_events_and_in_fixed_steps() {
    let mut near = 0;
    for seed in 0..40 {
        let fields = random_holders(&mut Pcg64::seed_from_u64(seed));
        let tight = simulation(&fields, "Dopri5", TIGHT).run_until(1.6);
        let tight = tight.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{fields}"));
        assert_no_slip(&tight, &fields);
        let found = real_time(&fields, 2.5e-4).run_until(1.6);
        let found = found.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{fields}"));
        assert_no_slip(&found, &fields);
        let names = found.names().iter().filter(|name| name.starts_with('j') && name.ends_with(".position"));
        let off = names.map(|name| (found.last(name).unwrap() - tight.last(name).unwrap()).abs()).fold(0.0, f64::max);
        let balance = tight.last("energy.balance").unwrap().abs();
        println!("seed {seed}: {off:e}, balance {balance:e}");
        assert!(balance < 1e-6, "seed {seed}: {balance:e}\n{fields}");
        near += usize::from(off < 5e-3);
        // where stiction exceeds the sliding level a break-away may go one way or the other by a hair
        assert!(off < 0.05, "seed {seed}: {off:e}\n{fields}");
    }
    assert!(near >= 38, "{near} of 40");
}

#[test]
fn a_one_way_clutch_lets_go_when_nothing_pushes_whatever_its_signal_does() {
    // the wheel is pushed by 3 sin 2t; the load is 0 all the time, by a constant and by a sine that has an extremum just before
    let release = |signal: &str, method: &str, control: &str| {
        let clutch = format!(
            "OneWayClutch(name: \"f\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 0.5), load: Signal(max: 2.0, signal: {signal}))"
        );
        let fields =
            shafts(&[(1.0, "damping: 0.1"), (0.5, "drive: Effort(Sine(amplitude: 3.0, frequency: 2.0))")], &clutch);
        let recording = simulation(&fields, method, control).run_until(2.0).unwrap();
        recording.events().first().unwrap().t
    };
    let expected = release("Constant(0.0)", "Dopri5", TIGHT);
    let sine = "Sine(amplitude: 0.6, frequency: 1.0, offset: -0.7)";
    assert_near("by events", release(sine, "Dopri5", TIGHT), expected, 1e-8);
    assert_near("in fixed steps", release(sine, "RealTime", "Constant(step: 1e-4)"), expected, 2e-4);
}

#[test]
fn what_opens_leaves_its_share_to_those_that_can_hold_it() {
    // a clutch carries over to a second brake; the third opens at 0.5 s, when the two left can still hold: until 5 t = 1.4 + 1.1
    let couplings = "Clutch(name: \"c\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 20.0)), \
         Brake(name: \"b1\", joint: \"j1\", friction: Coulomb(coulomb: 0.9, stiction: 1.4)), \
         Brake(name: \"b2\", joint: \"j2\", friction: Coulomb(coulomb: 1.1)), \
         Brake(name: \"b3\", joint: \"j2\", friction: Coulomb(coulomb: 3.0), load: Signal(max: 1.0, signal: Steps([(0.0, 1.0), (0.4, 0.0)])))";
    let fields = shafts(&[(0.5, "drive: Effort(Ramp(rate: 5.0))"), (0.5, "")], couplings);
    for (sim, near) in [(simulation(&fields, "Dopri5", TIGHT), 1e-9), (real_time(&fields, 1e-4), 2e-4)] {
        let mut sim = sim;
        let recording = sim.run_until(0.6).unwrap();
        let moved = recording.events().iter().find(|event| event.joint == "b1").unwrap();
        assert_near("break-away", moved.t, 0.5, near);
    }
}

#[test]
fn clutches_side_by_side_let_go_on_time_whatever_is_recorded() {
    // 5 t on a shaft of 1 kg·m², which takes another of 2 along: the clutches carry 10 t / 3, and hold 1.5 + 4
    let scene = |settings: &str| {
        let text = format!(
            r#"Scene(version: 1, name: "side by side", gravity: (0.0, 0.0, 0.0),
            links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), Link(name: "b", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))],
            joints: [
                Joint(name: "a", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)), drive: Effort(Ramp(rate: 5.0))),
                Joint(name: "b", parent: "world", child: "b", kind: Revolute(axis: (0.0, 0.0, 1.0))),
            ],
            couplings: [
                Clutch(name: "k1", joints: ("a", "b"), friction: Coulomb(coulomb: 1.0, stiction: 1.5)),
                Clutch(name: "k2", joints: ("b", "a"), friction: Coulomb(coulomb: 3.0, stiction: 4.0)),
            ],
            duration: 2.0, {settings})"#
        );
        Scene::parse(&text, "scene").unwrap()
    };
    for method in ["Dopri5", "Radau5"] {
        for interval in [0.01, 0.033, 0.7] {
            let solver = format!("solver: Solver(method: {method}), output: Output(interval: {interval:?})");
            let recording = Simulation::new(&scene(&solver)).unwrap().run_until(2.0).unwrap();
            let first = &recording.events()[0];
            assert!((first.t - 1.65).abs() < 1e-6, "{method}, {interval}: {:?}", first.t);
        }
    }
}

#[test]
fn a_one_way_clutch_that_holds_shows_the_load_that_holds() {
    for solver in ["Dopri5", "RealTime"] {
        let text = format!(
            r#"Scene(version: 1, name: "held back", gravity: (0.0, 0.0, 0.0),
            links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],
            joints: [
                Joint(name: "a", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)), drive: Effort(Constant(-3.0))),
                Joint(name: "case", parent: "world", child: "c", kind: Revolute(axis: (0.0, 0.0, 1.0)), drive: Motion(Constant(0.0))),
            ],
            couplings: [OneWayClutch(name: "f", joints: ("a", "case"), friction: Coulomb(coulomb: 0.5), load: Constant(2.0), lock_factor: 50.0)],
            solver: Solver(method: {solver}), duration: 0.1)"#
        );
        let text =
            text.replace("links: [", r#"links: [Link(name: "c", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), "#);
        let mut sim = Simulation::new(&Scene::parse(&text, "scene").unwrap()).unwrap();
        let recording = sim.run_until(0.1).unwrap();
        assert!((recording.last("f.friction").unwrap() + 3.0).abs() < 1e-12, "{solver}");
        assert_eq!(recording.last("f.load").unwrap(), 100.0, "{solver}");
    }
}

#[test]
fn a_one_way_clutch_across_a_gear_lets_go_with_all_that_hold_beside_it() {
    // two bearings and the clutch hold one wheel train; all of them are at their limits when it moves, the clutch in its weak direction
    let couplings = "OneWayClutch(name: \"f\", joints: (\"j3\", \"j1\"), friction: Coulomb(coulomb: 0.851), load: Constant(1.448), lock_factor: 100.0), \
         Gear(name: \"g\", joints: (\"j1\", \"j3\"), ratio: 3.68), \
         Planetary(name: \"p\", sun: \"j3\", ring: \"j2\", carrier: \"j1\", ratio: 2.188)";
    let shafts = shafts(
        &[
            (1.828, "drive: Effort(Constant(-3.989))"),
            (0.282, "drive: Effort(Sine(amplitude: 4.349, frequency: 18.884)), friction: Coulomb(coulomb: 1.832)"),
            (
                0.623,
                "drive: Effort(Sine(amplitude: 3.592, frequency: 16.966)), friction: Coulomb(coulomb: 0.393), damping: 0.121",
            ),
        ],
        couplings,
    );
    for method in ["Dopri5", "Radau5"] {
        let tight = simulation(&shafts, method, TIGHT).run_until(2.0).unwrap();
        let steps = real_time(&shafts, 1e-4).run_until(2.0).unwrap();
        for joint in ["j1", "j2", "j3"] {
            let at = |recording: &Recording| recording.last(&format!("{joint}.position")).unwrap();
            assert_near(joint, at(&steps), at(&tight), 1e-3);
        }
    }
}

//! Redundant dry friction: random shafts with gears, clutches and brakes, event-driven and in fixed steps.

use crate::real_time_couplings::{real_time, shafts};
use crate::stick_slip::{assert_near, simulation};
use bristle::friction::Mode;
use bristle::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const TIGHT: &str = "Error(rtol: 1e-9, atol: 1e-11)";

/// A random machine: its fields, and the limit of each contact per unit load.
struct Made {
    fields: String,
    strengths: Vec<(String, f64)>,
}

/// Three to six shafts, a gear and a planetary set or none, up to six clutches and brakes with loads that vanish and
/// return; with `is_wild` one-way clutches, bearings whose load is their reaction, springs and ramps too.
fn random_holders(rng: &mut Pcg64, is_wild: bool) -> Made {
    let n = rng.random_range(3..=if is_wild { 6_usize } else { 5 });
    let mut strengths = Vec::new();
    let mut dry = |rng: &mut Pcg64, name: String, least: f64, most: f64| {
        let coulomb = rng.random_range(least..most);
        let stiction = coulomb * [1.0, 1.0, 1.3][rng.random_range(0..3)];
        strengths.push((name, stiction));
        format!("friction: Coulomb(coulomb: {coulomb:?}, stiction: {stiction:?})")
    };
    let mut kept = Vec::new();
    for k in 0..n {
        let mut joint = String::new();
        if k == 0 || rng.random_range(0..3) == 0 {
            let [amplitude, frequency] = [rng.random_range(1.0..12.0), rng.random_range(0.5..5.0)];
            joint += &if is_wild && rng.random_range(0..4) == 0 {
                format!("drive: Effort(Ramp(rate: {:?})), ", amplitude - 6.0)
            } else {
                format!("drive: Effort(Sine(amplitude: {amplitude:?}, frequency: {frequency:?}, offset: 0.3)), ")
            };
        }
        if is_wild && rng.random_range(0..4) == 0 {
            joint += "spring: Spring(stiffness: 20.0, rest: 0.2), ";
        }
        if rng.random_range(0..5) < 2 {
            joint += &(dry(rng, format!("j{}", k + 1), 0.2, 2.0) + ", ");
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
            "Signal(max: 1.5, signal: Ramp(rate: 0.4))",
            "Signal(max: 1.5, signal: Constant(0.0))",
        ][rng.random_range(0..if is_wild { 5 } else { 3 })];
        let friction = dry(rng, format!("k{k}"), 0.3, 4.0);
        let kind = rng.random_range(0..if is_wild { 4 } else { 3 });
        couplings += &match kind {
            0 => format!("Brake(name: \"k{k}\", joint: \"j{a}\", {friction}, load: {load}), "),
            3 => format!("OneWayClutch(name: \"k{k}\", joints: (\"j{a}\", \"j{b}\"), {friction}, load: {load}), "),
            _ => format!("Clutch(name: \"k{k}\", joints: (\"j{a}\", \"j{b}\"), {friction}, load: {load}), "),
        };
    }
    let kept: Vec<(f64, &str)> = kept.iter().map(|(inertia, rest)| (*inertia, rest.as_str())).collect();
    Made { fields: format!("{}, output: Output(interval: 0.01)", shafts(&kept, &couplings)), strengths }
}

/// Excess of the effort of stuck contacts over their limits, relative to the limit under a unit load.
fn most_over_limit(recording: &Recording, strengths: &[(String, f64)]) -> f64 {
    let mut most = 0.0_f64;
    for (name, strength) in strengths {
        let channel = |what: &str| recording.channel(&format!("{name}.{what}")).unwrap().collect::<Vec<f64>>();
        for ((mode, friction), load) in channel("mode").into_iter().zip(channel("friction")).zip(channel("load")) {
            if mode == 0.0 {
                most = most.max(friction.abs() / strength - load);
            }
        }
    }
    most
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
fn redundant_groups_agree_in_events_and_fixed_steps() {
    let mut near = 0;
    for seed in 0..40 {
        let Made { fields, .. } = random_holders(&mut Pcg64::seed_from_u64(seed), false);
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
        // where stiction exceeds the sliding level rounding may decide the direction of a break-away
        assert!(off < 0.05, "seed {seed}: {off:e}\n{fields}");
    }
    assert!(near >= 38, "{near} of 40");
}

#[test]
fn unloaded_one_way_clutch_releases() {
    // the wheel is pushed by 3 sin 2t; the load is always 0, by a constant and by a sine that has an extremum just
    // before
    let release = |signal: &str, method: &str, control: &str| {
        let clutch = format!(
            "OneWayClutch(name: \"f\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 0.5), \
             load: Signal(max: 2.0, signal: {signal}))"
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
fn opening_clutch_passes_load_to_others() {
    // a clutch connects a second brake; the third opens at 0.5 s, when the other two still stick: until 5 t = 1.4 + 1.1
    let couplings = "Clutch(name: \"c\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 20.0)), \
             Brake(name: \"b1\", joint: \"j1\", friction: Coulomb(coulomb: 0.9, stiction: 1.4)), \
             Brake(name: \"b2\", joint: \"j2\", friction: Coulomb(coulomb: 1.1)), \
             Brake(name: \"b3\", joint: \"j2\", friction: Coulomb(coulomb: 3.0), \
             load: Signal(max: 1.0, signal: Steps([(0.0, 1.0), (0.4, 0.0)])))";
    let fields = shafts(&[(0.5, "drive: Effort(Ramp(rate: 5.0))"), (0.5, "")], couplings);
    for (sim, near) in [(simulation(&fields, "Dopri5", TIGHT), 1e-9), (real_time(&fields, 1e-4), 2e-4)] {
        let mut sim = sim;
        let recording = sim.run_until(0.6).unwrap();
        let moved = recording.events().iter().find(|event| event.joint == "b1").unwrap();
        assert_near("break-away", moved.t, 0.5, near);
    }
}

#[test]
fn parallel_clutches_break_away_on_time() {
    // 5 t on a shaft of 1 kg·m², which drives another of 2: the clutches carry 10 t / 3, their limits are 1.5 + 4
    let scene = |settings: &str| {
        let text = format!(
            r#"Scene(version: 1, name: "side by side", gravity: (0.0, 0.0, 0.0),
            links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)),
                Link(name: "b", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))],
            joints: [
                Joint(name: "a", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                    drive: Effort(Ramp(rate: 5.0))),
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
fn stuck_one_way_clutch_records_active_load() {
    for solver in ["Dopri5", "RealTime"] {
        let text = format!(
            r#"Scene(version: 1, name: "held back", gravity: (0.0, 0.0, 0.0),
            links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],
            joints: [
                Joint(name: "a", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                    drive: Effort(Constant(-3.0))),
                Joint(name: "case", parent: "world", child: "c", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                    drive: Motion(Constant(0.0))),
            ],
            couplings: [OneWayClutch(name: "f", joints: ("a", "case"), friction: Coulomb(coulomb: 0.5),
                load: Constant(2.0), lock_factor: 50.0)],
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
fn one_way_clutch_across_gear_breaks_away_with_group() {
    // two bearings and the clutch lock one wheel train; all are at their limits when it moves, the clutch in its weak
    // direction
    let couplings = "OneWayClutch(name: \"f\", joints: (\"j3\", \"j1\"), friction: Coulomb(coulomb: 0.851), \
             load: Constant(1.448), lock_factor: 100.0), Gear(name: \"g\", joints: (\"j1\", \"j3\"), ratio: 3.68), \
             Planetary(name: \"p\", sun: \"j3\", ring: \"j2\", carrier: \"j1\", ratio: 2.188)";
    let shafts = shafts(
        &[
            (1.828, "drive: Effort(Constant(-3.989))"),
            (0.282, "drive: Effort(Sine(amplitude: 4.349, frequency: 18.884)), friction: Coulomb(coulomb: 1.832)"),
            (
                0.623,
                "drive: Effort(Sine(amplitude: 3.592, frequency: 16.966)), friction: Coulomb(coulomb: 0.393), \
                 damping: 0.121",
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

#[test]
fn stuck_efforts_stay_within_limits() {
    // regression: the last two chattered and broke away late
    let seeds: Vec<u64> = (1000..1300).chain([20489, 20653]).collect();
    let mut near = 0;
    for &seed in &seeds {
        let Made { fields, strengths } = random_holders(&mut Pcg64::seed_from_u64(seed), true);
        let mut sim = simulation(&fields, "Dopri5", "Error(rtol: 1e-8, atol: 1e-10)");
        let tight = sim.run_until(1.6).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{fields}"));
        assert_no_slip(&tight, &fields);
        let over = most_over_limit(&tight, &strengths);
        assert!(over < 1e-8, "seed {seed}: {over:e} more than it can\n{fields}");
        let (n_landings, n_events) = (sim.stats().n_landings, tight.events().len());
        assert!(n_landings < 50 + 10 * n_events, "seed {seed}: {n_landings} landings, {n_events} events\n{fields}");
        // shorter steps where the first are too long
        let names: Vec<&String> =
            tight.names().iter().filter(|name| name.starts_with('j') && name.ends_with(".position")).collect();
        near += usize::from([1e-3, 2.5e-4, 6.25e-5].into_iter().any(|h| {
            let is_near = |found: Recording| {
                names.iter().all(|name| (found.last(name).unwrap() - tight.last(name).unwrap()).abs() < 5e-3)
            };
            real_time(&fields, h).run_until(1.6).is_ok_and(is_near)
        }));
    }
    // where stiction exceeds the sliding level rounding may decide the direction of a break-away
    assert!(near >= seeds.len() - 3, "{near} of {}", seeds.len());
}

#[test]
fn one_way_clutch_does_not_hide_break_away() {
    // the freewheel locks j3 = 0.5 j2; the effort on j1 falls to the limit of both clutches, 0.8294 + 1.368, at 0.8 − 3
    // t
    let couplings = "Gear(name: \"g\", joints: (\"j3\", \"j2\"), ratio: 0.5), \
             Clutch(name: \"k1\", joints: (\"j1\", \"j3\"), friction: Coulomb(coulomb: 0.8294)), \
             Clutch(name: \"k2\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 1.368)), \
             OneWayClutch(name: \"f\", joints: (\"j3\", \"j2\"), friction: Coulomb(coulomb: 1.0), \
             load: Signal(max: 2.0, signal: Constant(0.0)))";
    let joints = [
        (0.3, "drive: Effort(Table([(0.0, 0.8), (2.0, -5.2)]))"),
        (1.0, "drive: Effort(Constant(8.2))"),
        (0.3, "drive: Effort(Constant(10.0))"),
    ];
    let recording = simulation(&shafts(&joints, couplings), "Dopri5", TIGHT).run_until(2.0).unwrap();
    let events: Vec<_> = recording.events().iter().map(|event| (event.joint.as_str(), event.t)).collect();
    assert_eq!(events.len(), 2, "{events:?}");
    for (name, t) in events {
        assert_near(name, t, (0.8 + 0.8294 + 1.368) / 3.0, 1e-9);
    }
}

#[test]
fn unrelated_contacts_stay_stuck() {
    // brakes on j1 and j2 = 3.7 j1 carry 9.5 of 4 + 3.7 · 2; j3 breaks away at 2 s
    let couplings = "Gear(name: \"g\", joints: (\"j2\", \"j1\"), ratio: 3.7), \
         Brake(name: \"k1\", joint: \"j1\", friction: Coulomb(coulomb: 4.0)), \
         Brake(name: \"k2\", joint: \"j2\", friction: Coulomb(coulomb: 1.0, stiction: 2.0))";
    let joints = [
        (1.0, "drive: Effort(Table([(0.0, 0.0), (1.0, 9.5)]))"),
        (1.0, ""),
        (1.0, "friction: Coulomb(coulomb: 1.0), drive: Effort(Ramp(rate: 0.5))"),
    ];
    let recording = simulation(&shafts(&joints, couplings), "Dopri5", TIGHT).run_until(4.0).unwrap();
    let events: Vec<_> = recording.events().iter().map(|event| (event.joint.as_str(), event.t)).collect();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_near("break-away", events[0].1, 2.0, 1e-9);
    assert_eq!(recording.last("j1.velocity").unwrap(), 0.0);
}

/// Runs a file of `tests/data` event-driven at `control`, and in steps of 1e-4 s.
fn run_both(text: &str, control: &str, until: f64) -> (Recording, usize, Recording) {
    let run = |method: &str, control: &str| {
        let mut sim = simulation(text.trim(), method, control);
        let recording = sim.run_until(until).unwrap_or_else(|error| panic!("{error}"));
        (recording, sim.stats().n_landings)
    };
    let (found, n_landings) = run("Dopri5", control);
    (found, n_landings, run("RealTime", "Constant(step: 1e-4)").0)
}

#[test]
fn redundant_pair_breaks_away_together() {
    // parallel clutches between shafts of a drivetrain; a bearing and a brake on one shaft, with a parallel clutch
    for (text, names, t) in [
        (include_str!("data/stuck_in_parallel.ron"), ["E1", "E2"], 0.869472),
        (include_str!("data/stuck_by_bearing_and_brake.ron"), ["c", "E1"], 0.131306),
    ] {
        let (found, _, steps) = run_both(text, TIGHT, 1.2);
        for name in names {
            let lets_go = |r: &Recording| {
                r.events().iter().find(|e| e.joint == name && e.from == bristle::friction::Mode::Stuck).map(|e| e.t)
            };
            assert_near(name, lets_go(&found).unwrap(), t, 1e-5);
            assert_near(name, lets_go(&steps).unwrap(), t, 5e-4);
        }
        for joint in ["b", "c"] {
            let at = |r: &Recording| r.last(&format!("{joint}.position")).unwrap();
            assert_near(joint, at(&steps), at(&found), 2e-3);
        }
    }
}

#[test]
fn contacts_at_limits_cause_no_landings() {
    // seven shafts; several contacts are at their limits for tenths of a second while the others stick
    let (found, n_landings, steps) =
        run_both(include_str!("data/stuck_at_limits.ron"), "Error(rtol: 1e-6, atol: 1e-8)", 2.0);
    assert!(n_landings < 60, "{n_landings} landings, {} events", found.events().len());
    for joint in ["a", "c", "d", "g"] {
        let at = |r: &Recording| r.last(&format!("{joint}.position")).unwrap();
        assert_near(joint, at(&steps), at(&found), 2e-3);
    }
}

/// Two clutches side by side turn a shaft against a brake that slips: a = (10 − 2)/2 rad/s², and the clutches, which
/// carry 6 N·m together, are both stuck, whatever the limit of the weaker one.
#[test]
fn clutches_that_cannot_move_are_stuck() {
    for weak in [1e-3, 0.1, 1.0, 5.9] {
        for order in [[weak, 20.0], [20.0, weak]] {
            let [one, two] = order.map(|level| format!("friction: Coulomb(coulomb: {level:?})"));
            let couplings = format!(
                "Clutch(name: \"c1\", joints: (\"j1\", \"j2\"), {one}), Clutch(name: \"c2\", joints: (\"j1\", \"j2\"), \
                 {two}), Brake(name: \"b\", joint: \"j2\", friction: Coulomb(coulomb: 2.0))"
            );
            let fields = shafts(&[(1.0, "drive: Effort(Constant(10.0))"), (1.0, "")], &couplings);
            let recording = simulation(&fields, "Dopri5", TIGHT).run_until(0.5).unwrap();
            for (channel, mode) in [("c1.mode", 0.0), ("c2.mode", 0.0), ("b.mode", 1.0)] {
                assert!(recording.channel(channel).unwrap().all(|value| value == mode), "{order:?}: {channel}");
            }
            let [one, two] = ["c1.friction", "c2.friction"].map(|channel| recording.last(channel).unwrap());
            // up to the rounding of 6 N·m
            let is_within = one.abs() <= order[0] + 1e-12 && two.abs() <= order[1] + 1e-12;
            assert!(is_within && (one + two - 6.0).abs() < 1e-9, "{one} {two}");
            assert_near("velocity", recording.last("j2.velocity").unwrap(), 2.0, 1e-9);
        }
    }
}

/// A brake without load beside a bearing that is stuck: it sticks from the instant at which its load begins to grow,
/// and the bearing need not break away for it.
#[test]
fn brake_closes_where_its_load_begins() {
    let bearing = "friction: Coulomb(coulomb: 1.0), drive: Effort(Ramp(rate: 0.5))";
    let brake = "Brake(name: \"b\", joint: \"j1\", friction: Coulomb(coulomb: 1.0), \
                 load: Signal(max: 50.0, signal: Table([(0.0, 0.0), (1.0, 0.0), (3.0, 10.0)])))";
    let recording = simulation(&shafts(&[(1.0, bearing)], brake), "Dopri5", TIGHT).run_until(3.0).unwrap();
    let events: Vec<_> = recording.events().iter().map(|event| (event.t, event.joint.as_str(), event.to)).collect();
    assert_eq!(events, [(1.0, "b", Mode::Stuck)]);
    assert_eq!(recording.last("j1.position").unwrap(), 0.0);
}

//! Random machines: every recorded row is checked by equations that share no code with the engine.
//!
//! Kinematics and Newton–Euler are written out in world coordinates, link by link, without recursions on articulated
//! bodies:
//!
//! ```text
//! F = m (a_c − g),   N = I α + ω × I ω,   reaction of a joint = Σ over the links beyond it,   Q = axis · reaction
//! Q + armature a = drive − damping v − stiffness (q − rest) − friction + gears                              (1)
//! ```
//!
//! At every row and any tolerance (1) holds; a stuck contact has velocity 0.0 and friction within its limit; a sliding
//! one has the friction of its law and its own reaction, and moves in the direction of its mode; geared joints move
//! together.

use crate::inconsistent_modes::has_consistent_modes;
use crate::newton_euler::{Row, lever_load, motion, reactions};
use bristle::prelude::*;
use nalgebra::Vector3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::HashMap;

type V3 = Vector3<f64>;

pub const GRAVITY: [f64; 3] = [0.3, -0.8, -9.7];

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Free,
    Revolute,
    Prismatic,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Bearing {
    Unit,
    Pin(f64),
    Thrust(f64),
    Guide,
    Edges(f64),
}

/// Dry friction: levels per load, and the source of the load.
#[derive(Clone, Copy)]
pub struct Dry {
    pub coulomb: f64,
    pub stiction: f64,
    pub bearing: Bearing,
}

pub struct Joint {
    pub parent: Option<usize>,
    pub kind: Kind,
    pub axis: V3,
    pub translation: V3,
    pub rpy: [f64; 3],
    pub armature: f64,
    pub damping: f64,
    pub stiffness: f64,
    /// Amplitude, frequency, phase.
    pub drive: [f64; 3],
    pub dry: Option<Dry>,
    pub mass: f64,
    pub center: V3,
    pub inertia: V3,
}

/// A clutch between two joints, or a brake.
pub struct Element {
    pub a: usize,
    pub b: Option<usize>,
    pub dry: Dry,
}

pub struct Machine {
    pub joints: Vec<Joint>,
    /// q_a = ratio · q_b.
    pub gears: Vec<(usize, usize, f64)>,
    pub elements: Vec<Element>,
    pub start: Vec<[f64; 2]>,
}

fn vector(rng: &mut Pcg64, size: f64) -> V3 {
    V3::from_fn(|_, _| rng.random_range(-size..size))
}

impl Machine {
    /// A tree of `n` joints, with a free base or without, some of them with friction from their own reactions, gears
    /// and clutches.
    pub fn random(rng: &mut Pcg64, n: usize, is_free: bool, is_coupled: bool) -> Self {
        let mut joints = Vec::new();
        let mut start = Vec::new();
        for k in 0..n {
            let kind = match (k, rng.random_range(0..4)) {
                (0, _) if is_free => Kind::Free,
                (_, 0) => Kind::Prismatic,
                _ => Kind::Revolute,
            };
            let dry = (kind != Kind::Free && rng.random_range(0..4) > 0).then(|| {
                let bearing = match (kind, rng.random_range(0..5)) {
                    (_, 0 | 1) => Bearing::Unit,
                    (Kind::Revolute, 2) => Bearing::Thrust(rng.random_range(0.01..0.04)),
                    (Kind::Revolute, _) => Bearing::Pin(rng.random_range(0.01..0.04)),
                    (_, 2) => Bearing::Edges(rng.random_range(0.5..1.0)),
                    _ => Bearing::Guide,
                };
                let level: f64 = match bearing {
                    Bearing::Unit => rng.random_range(0.5..8.0),
                    Bearing::Edges(_) | Bearing::Guide => rng.random_range(0.05..0.3),
                    _ => rng.random_range(0.3..1.0),
                };
                Dry { coulomb: level, stiction: level * [1.0, 1.3][rng.random_range(0..2)], bearing }
            });
            let is_still = rng.random_range(0..3) == 0;
            start.push([rng.random_range(-1.0..1.0), if is_still { 0.0 } else { rng.random_range(-2.0..2.0) }]);
            let size = rng.random_range(0.02..0.1);
            joints.push(Joint {
                parent: (k > 0).then(|| rng.random_range(k.saturating_sub(3)..k)),
                kind,
                axis: vector(rng, 1.0).normalize(),
                translation: vector(rng, 0.4),
                rpy: [0; 3].map(|_| rng.random_range(-1.0..1.0)),
                armature: if rng.random() { 0.05 } else { 0.0 },
                damping: rng.random_range(0.0..0.3),
                stiffness: if rng.random_range(0..3) == 0 { rng.random_range(1.0..30.0) } else { 0.0 },
                drive: [rng.random_range(0.0..6.0), rng.random_range(1.0..8.0), rng.random_range(0.0..6.0)],
                dry,
                mass: rng.random_range(0.5..2.0),
                center: vector(rng, 0.2),
                inertia: V3::from_fn(|_, _| size * rng.random_range(1.0..1.9)),
            });
        }
        let mut machine = Self { joints, gears: Vec::new(), elements: Vec::new(), start };
        let first = usize::from(is_free);
        if is_coupled && n >= first + 2 {
            let pair = |rng: &mut Pcg64| {
                let a = rng.random_range(first..n);
                let b = rng.random_range(first..n - 1);
                (a, if b >= a { b + 1 } else { b })
            };
            if rng.random() {
                let (a, b) = pair(rng);
                let ratio = [1.0, -1.5, 2.0][rng.random_range(0..3)];
                machine.start[a] = machine.start[b].map(|x| ratio * x);
                machine.gears.push((a, b, ratio));
            }
            for _ in 0..rng.random_range(1..=2) {
                let (a, b) = pair(rng);
                let coulomb = rng.random_range(0.5..8.0);
                let dry = Dry { coulomb, stiction: coulomb * 1.2, bearing: Bearing::Unit };
                machine.elements.push(Element { a, b: rng.random::<bool>().then_some(b), dry });
            }
        }
        machine
    }

    /// The scene of it.
    pub fn fields(&self) -> String {
        let triple = |v: &V3| format!("({:?}, {:?}, {:?})", v.x, v.y, v.z);
        let law = |dry: &Dry| format!("friction: Coulomb(coulomb: {:?}, stiction: {:?})", dry.coulomb, dry.stiction);
        let (mut links, mut joints, mut couplings) = (String::new(), String::new(), String::new());
        for (k, j) in self.joints.iter().enumerate() {
            links += &format!(
                "Link(name: \"l{k}\", mass: {:?}, center_of_mass: {}, inertia: Diagonal{}), ",
                j.mass,
                triple(&j.center),
                triple(&j.inertia)
            );
            let parent = j.parent.map_or("world".to_owned(), |p| format!("l{p}"));
            let [q, v] = self.start[k];
            let kind = match j.kind {
                Kind::Free => "Free".to_owned(),
                Kind::Revolute => format!("Revolute(axis: {})", triple(&j.axis)),
                Kind::Prismatic => format!("Prismatic(axis: {})", triple(&j.axis)),
            };
            joints += &format!("Joint(name: \"j{k}\", parent: \"{parent}\", child: \"l{k}\", kind: {kind}, ");
            joints += &format!(
                "placement: Placement(translation: {}, rotation: Rpy({:?}, {:?}, {:?})), ",
                triple(&j.translation),
                j.rpy[0],
                j.rpy[1],
                j.rpy[2]
            );
            if j.kind == Kind::Free {
                joints += &format!("velocity: Twist(angular: ({v:?}, 0.3, -0.2), linear: (0.1, {q:?}, 0.4))), ");
                continue;
            }
            let [amplitude, frequency, phase] = j.drive;
            joints +=
                &format!("position: {q:?}, velocity: {v:?}, armature: {:?}, damping: {:?}, ", j.armature, j.damping);
            joints += &format!("spring: Spring(stiffness: {:?}, rest: 0.1), ", j.stiffness);
            joints +=
                &format!("drive: Effort(Sine(amplitude: {amplitude:?}, frequency: {frequency:?}, phase: {phase:?})), ");
            if let Some(dry) = &j.dry {
                joints += &law(dry);
                joints += &match dry.bearing {
                    Bearing::Unit => String::new(),
                    Bearing::Pin(radius) => format!(", load: Pin(radius: {radius:?})"),
                    Bearing::Thrust(radius) => format!(", load: Thrust(radius: {radius:?})"),
                    Bearing::Guide => ", load: Guide".to_owned(),
                    Bearing::Edges(length) => format!(", load: Guide(length: {length:?})"),
                };
            }
            joints += "), ";
        }
        for (k, (a, b, ratio)) in self.gears.iter().enumerate() {
            couplings +=
                &format!("Gear(name: \"g{k}\", joints: (\"j{a}\", \"j{b}\"), ratio: {ratio:?}, offset: 0.0), ");
        }
        for (k, element) in self.elements.iter().enumerate() {
            let (a, law) = (element.a, law(&element.dry));
            couplings += &match element.b {
                Some(b) => format!("Clutch(name: \"c{k}\", joints: (\"j{a}\", \"j{b}\"), {law}), "),
                None => format!("Brake(name: \"c{k}\", joint: \"j{a}\", {law}), "),
            };
        }
        let [x, y, z] = GRAVITY;
        format!("gravity: ({x:?}, {y:?}, {z:?}), links: [{links}], joints: [{joints}], couplings: [{couplings}]")
    }
}

/// Limits, signs, exact zeros of one contact.
fn check_contact(at: &str, row: &Row, name: &str, dry: &Dry, arm_load: f64, slack: f64) {
    let x = |what: &str| row.get(&format!("{name}.{what}"));
    let (mode, v, f) = (x("mode"), x("velocity"), x("friction"));
    let (level, limit) = (arm_load * dry.coulomb, arm_load * dry.stiction);
    if mode == 0.0 {
        assert_eq!(v, 0.0, "{at}: {name} is stuck");
        assert!(f.abs() <= limit * (1.0 + 1e-7) + 1e-9, "{at}: {name} holds {f} of {limit}");
    } else {
        assert!((f - mode * level).abs() <= 1e-8 * (1.0 + level), "{at}: {name} slides with {f}, law {}", mode * level);
        assert!(v * mode >= -slack, "{at}: {name} slides at {v} in mode {mode}");
    }
}

/// Checks every row of a run by (1) and the rules of dry friction. Returns the number of rows with stuck contacts.
fn check(machine: &Machine, label: &str, recording: &Recording, rtol: f64, accuracy: f64) -> usize {
    let columns: HashMap<String, usize> = recording.names().iter().cloned().zip(0..).collect();
    let mut n_stuck = 0;
    for values in recording.rows() {
        let row = Row { columns: &columns, values };
        let at = format!("{label}, t = {}", row.get("t"));
        let links = motion(machine, &row);
        let through = reactions(machine, &links);
        let n = machine.joints.len();
        // the residual of (1), and the size of its terms
        let (mut left, mut size) = (vec![0.0; n], vec![0.0_f64; n]);
        for (k, j) in machine.joints.iter().enumerate() {
            let (force, moment) = through[k];
            if j.kind == Kind::Free {
                let scale = 1.0 + force.norm() + moment.norm() + through.iter().map(|f| f.0.norm()).fold(0.0, f64::max);
                assert!(force.norm() + moment.norm() <= accuracy * scale, "{at}: free base {force} {moment}");
                continue;
            }
            let x = |name: &str| row.get(&format!("j{k}.{name}"));
            let required = links[k].axis.dot(if j.kind == Kind::Revolute { &moment } else { &force });
            let [amplitude, frequency, phase] = j.drive;
            let drive = amplitude * (frequency * row.get("t") + phase).sin();
            let spring = -j.stiffness * (x("position") - 0.1);
            let friction = j.dry.map_or(0.0, |_| x("friction"));
            let terms =
                [required, j.armature * x("acceleration"), -drive, j.damping * x("velocity"), -spring, friction];
            left[k] = terms.iter().sum();
            size[k] = terms.iter().map(|term| term.abs()).sum::<f64>() + force.norm() + moment.norm();
            if let Some(dry) = &j.dry {
                let arm_load = lever_load(dry.bearing, links[k].axis, through[k]);
                check_contact(&at, &row, &format!("j{k}"), dry, arm_load, 3.0 * rtol);
                n_stuck += usize::from(x("mode") == 0.0);
            }
        }
        for (k, element) in machine.elements.iter().enumerate() {
            let f = row.get(&format!("c{k}.friction"));
            left[element.a] += f;
            if let Some(b) = element.b {
                left[b] -= f;
            }
            check_contact(&at, &row, &format!("c{k}"), &element.dry, 1.0, 3.0 * rtol);
            n_stuck += usize::from(row.get(&format!("c{k}.mode")) == 0.0);
        }
        for &(a, b, ratio) in &machine.gears {
            for what in ["velocity", "acceleration"] {
                let (a, b) = (row.get(&format!("j{a}.{what}")), row.get(&format!("j{b}.{what}")));
                assert!((a - ratio * b).abs() <= 1e-12 * (a.abs() + 1e-3), "{at}: {what} {a} and {b} of geared joints");
            }
            // the gear does no work: λ on a, −ratio λ on b
            let lambda = std::mem::take(&mut left[a]);
            left[b] += ratio * lambda;
            size[b] += lambda.abs() * ratio.abs();
        }
        let largest = size.iter().fold(1.0_f64, |most, size| most.max(*size));
        for (k, left) in left.iter().enumerate() {
            assert!(left.abs() <= accuracy * largest, "{at}: j{k} is out of balance by {left} of {largest}");
        }
    }
    n_stuck
}

/// Runs a machine at a tolerance and checks it.
fn run(machine: &Machine, label: &str, rest: &str, rtol: f64, duration: f64, accuracy: f64) -> usize {
    let interval = duration / 40.0;
    let fields =
        format!("{}, {rest}, duration: {duration:?}, output: Output(interval: {interval:?})", machine.fields());
    let scene = Scene::parse(&format!("Scene({fields})"), label).unwrap_or_else(|error| panic!("{label}: {error}"));
    let mut sim = match Simulation::new(&scene) {
        Ok(sim) => sim,
        Err(Error::Jam { .. } | Error::NoAcceleration { .. }) => return 0,
        Err(error) => panic!("{label}: {error}\n{fields}"),
    };
    let recording = match sim.run_until(duration) {
        Ok(recording) => recording,
        // several solutions or none: jams have tests of their own
        Err(Error::Jam { .. } | Error::NoAcceleration { .. }) => return 0,
        // no modes are consistent: the dense search agrees
        Err(Error::Modes { t, reason, .. }) if reason.contains("Painlevé") => {
            let (q, v) = (sim.positions(), sim.velocities());
            assert!(!has_consistent_modes(machine, t, q, v), "{label}: modes exist at t = {t}\n{fields}");
            return 0;
        }
        Err(error) => panic!("{label}: {error}\n{fields}"),
    };
    check(machine, label, &recording, rtol, accuracy)
}

pub fn error_controlled(method: &str, formulation: &str, rtol: f64) -> String {
    let atol = rtol * 1e-2;
    format!(
        "formulation: {formulation}, solver: Solver(method: {method}, control: Error(rtol: {rtol:e}, atol: {atol:e}))"
    )
}

/// Checks machines of seeds from `first` on: `n` of them, or the number in `BRISTLE_MACHINES`. Returns the sum of the
/// counts of `check`; all failures are named.
fn for_seeds(first: u64, n: u64, check: impl Fn(u64, f64) -> usize + std::panic::RefUnwindSafe) -> usize {
    let n = std::env::var("BRISTLE_MACHINES").ok().and_then(|n| n.parse().ok()).unwrap_or(n);
    let (mut count, mut failed) = (0, Vec::new());
    for seed in first..first + n {
        let rtol = TOLERANCES[seed as usize % TOLERANCES.len()];
        match std::panic::catch_unwind(|| check(seed, rtol)) {
            Ok(counted) => count += counted,
            Err(_) => failed.push(seed),
        }
    }
    assert!(failed.is_empty(), "{} of {n} machines failed: {failed:?}", failed.len());
    count
}

pub const TOLERANCES: [f64; 5] = [1e-2, 1e-3, 1e-5, 1e-7, 1e-9];

#[test]
fn trees_obey_newton_euler_and_coulomb() {
    let n_stuck = for_seeds(0, 100, |seed, rtol| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(1..=7);
        let machine = Machine::random(&mut rng, n, seed % 7 == 4, false);
        let solver = error_controlled("Dopri5", "Implicit", rtol);
        run(&machine, &format!("tree {seed}"), &solver, rtol, 1.0, 1e-9)
    });
    assert!(n_stuck > 200, "{n_stuck}: the machines hardly ever stick");
}

#[test]
fn coupled_machines_obey_newton_euler_and_coulomb() {
    let n_stuck = for_seeds(10_000, 100, |seed, rtol| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(2..=6);
        let machine = Machine::random(&mut rng, n, seed % 7 == 5, true);
        let solver = error_controlled("Dopri5", "Implicit", rtol);
        run(&machine, &format!("coupled {seed}"), &solver, rtol, 1.0, 1e-9)
    });
    assert!(n_stuck > 200, "{n_stuck}: the machines hardly ever stick");
}

#[test]
fn other_formulations_obey_newton_euler_and_coulomb() {
    for_seeds(20_000, 40, |seed, rtol| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(2..=5);
        let machine = Machine::random(&mut rng, n, seed % 7 == 4, seed % 2 == 0);
        let mut n_stuck = 0;
        for (method, formulation) in [("Radau5", "Implicit"), ("Radau5", "Residual"), ("Dopri5", "Jerk")] {
            let solver = error_controlled(method, formulation, rtol);
            // integrated accelerations have the accuracy of the steps
            let accuracy = if formulation == "Jerk" { 100.0 * rtol } else { 1e-9 };
            n_stuck += run(&machine, &format!("{formulation} {method} {seed}"), &solver, rtol, 0.6, accuracy);
        }
        n_stuck
    });
}

#[test]
fn long_trees_obey_newton_euler_and_coulomb() {
    for (seed, n) in [(300, 30), (301, 50), (302, 80)] {
        let mut rng = Pcg64::seed_from_u64(seed);
        let machine = Machine::random(&mut rng, n, seed == 301, false);
        let solver = error_controlled("Dopri5", "Implicit", 1e-4);
        run(&machine, &format!("tree of {n}"), &solver, 1e-4, 0.2, 1e-8);
    }
}

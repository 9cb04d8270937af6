//! Units do not matter: a machine whose masses, lengths and times are scaled by powers of two moves as before, to the
//! last bit.
//!
//! With masses scaled by M = 2^a, lengths by L = 2^b and times by T = 2^c every quantity scales by its dimension:
//! forces by F = M L/T², inertias by M L², gravity by L/T². Of a revolute joint: velocities 1/T, efforts, friction
//! levels, stiffness and σ₀ F L, damping, viscous parts, σ₁ and σ₂ F L T, v_s 1/T. Of a prismatic one: positions L,
//! velocities and v_s L/T, efforts and levels F, stiffness and σ₀ F/L, damping, viscous parts, σ₁ and σ₂ F T/L. On a
//! pin, radius L: levels 1, v_s L/T, viscous parts T/L. Frequencies 1/T; steps, intervals and ends T.
//!
//! The absolute tolerance is one number for angles, lengths, their velocities and friction, and belongs to the caller:
//! no scaling of lengths or times leaves it the same for all of them. Runs under error control therefore use one that
//! is negligible beside all of them.

use bristle::component::{Coupling, Drive, Friction, Gravity, Name};
use bristle::friction::{Coulomb, Dahl, Law, LuGre, Stribeck, Tanh};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Factors of mass, length and time.
#[derive(Debug, Clone, Copy)]
struct Scale {
    mass: f64,
    length: f64,
    time: f64,
}

impl Scale {
    const ONE: Self = Self { mass: 1.0, length: 1.0, time: 1.0 };

    fn random(rng: &mut Pcg64) -> Self {
        let mut power = || f64::from(rng.random_range(-24..=24)).exp2();
        Self { mass: power(), length: power(), time: power() }
    }

    /// Times unscaled.
    fn timeless(rng: &mut Pcg64) -> Self {
        Self { time: 1.0, ..Self::random(rng) }
    }

    /// Times and moments unscaled, so that states of bristles of revolute joints are unscaled, too.
    fn same_moments(rng: &mut Pcg64) -> Self {
        let Self { length, .. } = Self::random(rng);
        Self { mass: 1.0 / (length * length), length, time: 1.0 }
    }

    /// The 6 × 6 inertia of a free joint is factorised with square roots, exact for even powers, or with pivots that
    /// are chosen among masses and inertias: there lengths stay, and masses are scaled by squares.
    fn floating(rng: &mut Pcg64) -> Self {
        let Self { mass, time, .. } = Self::random(rng);
        Self { mass: mass * mass, length: 1.0, time }
    }

    fn force(&self) -> f64 {
        self.mass * self.length / (self.time * self.time)
    }

    /// Of the coordinate, and of the effort, of a joint that slides or turns.
    fn of(&self, slides: bool) -> (f64, f64) {
        if slides { (self.length, self.force()) } else { (1.0, self.force() * self.length) }
    }
}

fn number(rng: &mut Pcg64, size: f64) -> f64 {
    rng.random_range(-size..size)
}

fn vector(rng: &mut Pcg64, size: f64) -> Vector3<f64> {
    Vector3::new(number(rng, size), number(rng, size), number(rng, size))
}

/// Which joints a random machine has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kinds {
    Both,
    Turning,
    Sliding,
}

/// Options of a random machine.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kit {
    kinds: Kinds,
    bristles: bool,
    couplings: bool,
    floats: bool,
    motions: bool,
}

/// A friction law whose levels are `level` of the unit effort; slip in units of `q` per time.
fn law(rng: &mut Pcg64, kit: Kit, q: f64, effort: f64, time: f64) -> Law {
    let f = effort * rng.random_range(0.05..1.0);
    let (v_s, viscous) = (0.1 * q / time, 0.02 * effort * time / q);
    let (sigma0, sigma1) = (2e3 * effort / q, 3.0 * effort * time / q);
    match rng.random_range(0..if kit.bristles { 6 } else { 3 }) {
        0 => Coulomb { coulomb: f, stiction: 1.5 * f, viscous }.into(),
        1 => Coulomb { coulomb: f, stiction: f, viscous: 0.0 }.into(),
        2 => {
            Stribeck { coulomb: f, stiction: 1.3 * f, stribeck_velocity: Some(v_s), exponent: 2.0, viscous, peak: 1.0 }
                .into()
        }
        3 => Dahl { coulomb: f, sigma0 }.into(),
        4 => Tanh { coulomb: f, stribeck_velocity: v_s, viscous }.into(),
        _ => LuGre {
            sigma0,
            sigma1,
            sigma2: viscous,
            coulomb: f,
            stiction: 1.3 * f,
            stribeck_velocity: Some(v_s),
            exponent: 2.0,
            damping_velocity: None,
        }
        .into(),
    }
}

/// A motion that reverses at rounded times and has a corner in its velocity.
fn motion(rng: &mut Pcg64, q: f64, time: f64) -> Signal {
    let frequency = rng.random_range(8.0..20.0) / time;
    let wave = Signal::Sine { amplitude: 0.1 * q, frequency, phase: rng.random_range(-3.0..3.0), offset: 0.2 * q };
    let (start, rate) = (rng.random_range(0.1..0.4) * time, number(rng, 1.0) * q / time);
    match rng.random_range(0..3) {
        0 => wave,
        1 => Signal::Sum(vec![wave, Signal::Ramp { rate, start }]),
        _ => Signal::Table(vec![(0.0, 0.1 * q), (start, 0.3 * q), (2.0 * start, 0.2 * q), (3.0 * start, 0.2 * q)]),
    }
}

/// The random machine of a seed, at a scale.
fn machine(seed: u64, kit: Kit, s: Scale) -> World {
    let rng = &mut Pcg64::seed_from_u64(seed);
    let mut world = World::new();
    world.spawn((Gravity(vector(rng, 10.0) * (s.length / (s.time * s.time))),));
    let (mut links, mut turning) = (Vec::new(), Vec::new());
    let n = rng.random_range(2..6);
    for i in 0..n {
        let [a, b, c] = [0.1, 0.2, 0.4].map(|size: f64| size * rng.random_range(0.5..1.5));
        let m = rng.random_range(0.3..3.0);
        let moment = |b: f64, c: f64| m / 12.0 * (b * b + c * c) * s.mass * s.length * s.length;
        let inertia =
            LinkInertia::diagonal(m * s.mass, vector(rng, 0.2) * s.length, moment(b, c), moment(a, c), moment(a, b));
        let link = world.spawn_link(&format!("link{i}"), inertia);
        let at = vector(rng, 0.4) * s.length;
        if i == 0 && kit.floats {
            let place = Translation3::from(vector(rng, 1.0) * s.length);
            let pose = Isometry3::from_parts(place, UnitQuaternion::new(vector(rng, 2.0)));
            let (angular, linear) = (vector(rng, 4.0) / s.time, vector(rng, 2.0) * (s.length / s.time));
            world.spawn_joint(free("base").to(link).at(at).pose(pose).twist(angular, linear));
            links.push(link);
            continue;
        }
        let slides = match kit.kinds {
            Kinds::Both => rng.random_range(0..3) == 0,
            kinds => kinds == Kinds::Sliding,
        };
        let (q, effort) = s.of(slides);
        let (name, axis) = (format!("j{i}"), vector(rng, 1.0));
        let mut joint = if slides { prismatic(&name, axis) } else { revolute(&name, axis) };
        if !links.is_empty() {
            joint = joint.from(links[rng.random_range(0..links.len())]);
        }
        joint = joint.to(link).at(at).position(number(rng, 0.5) * q).velocity(number(rng, 1.0) * q / s.time);
        if rng.random_range(0..4) == 0 && !slides && !kit.couplings {
            let [v_s, viscous] = [0.01 * s.length / s.time, 0.1 * s.time / s.length];
            let stribeck = Stribeck {
                coulomb: 0.2,
                stiction: 0.3,
                stribeck_velocity: Some(v_s),
                exponent: 2.0,
                viscous,
                peak: 1.0,
            };
            joint = joint.friction(stribeck.into()).load(Load::Pin { radius: 0.03 * s.length });
        } else {
            joint = joint.friction(law(rng, kit, q, effort, s.time));
        }
        if slides || rng.random_range(0..2) == 0 {
            joint = joint.spring(rng.random_range(5.0..50.0) * effort / q, 0.1 * q);
        }
        joint = joint.damping(0.05 * effort * s.time / q);
        // the last joint of a machine with motions is prescribed, and friction on it is that of a signal
        if kit.motions && i == n - 1 {
            joint = joint.drive(Drive::Motion(motion(rng, q, s.time)));
        } else if rng.random_range(0..3) == 0 {
            let wave = Signal::Sine {
                amplitude: 2.0 * effort,
                frequency: rng.random_range(2.0..9.0) / s.time,
                phase: 0.3,
                offset: 0.0,
            };
            joint = joint.drive(Drive::Effort(wave));
        }
        let joint = world.spawn_joint(joint);
        if !slides {
            turning.push(joint);
        }
        links.push(link);
    }
    if kit.couplings && turning.len() > 1 {
        let joints = [turning[0], turning[1]];
        let effort = s.of(false).1;
        let spring = Coulomb { coulomb: 0.2 * effort, stiction: 0.3 * effort, viscous: 0.0 };
        world.spawn((Name("clutch".into()), Coupling::Clutch { joints }, Friction(spring.into())));
        if turning.len() > 2 {
            let joints = [turning[1], turning[2]];
            let spring =
                Coupling::SpringDamper { joints, stiffness: 4.0 * effort, damping: 0.1 * effort * s.time, rest: 0.1 };
            world.spawn((Name("spring".into()), spring));
        }
    }
    world
}

/// Results of a run, in the units of the scale: velocities, positions, times of events, steps.
#[derive(Debug, PartialEq)]
struct Came {
    positions: Vec<f64>,
    velocities: Vec<f64>,
    events: Vec<(f64, String)>,
    steps: (usize, usize, usize),
}

/// Rows at sixteenths: decimal intervals would have rounded times, which do not matter to the motion.
fn run(seed: u64, kit: Kit, s: Scale, method: Method, control: &dyn Fn(Scale) -> Control) -> Result<Came, Error> {
    let settings =
        Settings { method, control: control(s), interval: s.time / 16.0, max_steps: 1_000_000, ..Settings::default() };
    let mut sim = Simulation::with_settings(machine(seed, kit, s), settings)?;
    let recording = sim.run_until(0.5 * s.time)?;
    let model = &sim.compiled().model.tree;
    let (mut positions, mut velocities) = (Vec::new(), Vec::new());
    for (k, v) in sim.velocities().iter().enumerate() {
        velocities.push(v * s.time / if model.turns(k) { 1.0 } else { s.length });
    }
    for i in 1..model.n_bodies() {
        let range = model.q_range(i);
        let unit = |k: usize| if range.len() == 7 { k < 3 } else { !model.turns(model.v_index[i]) };
        positions.extend(range.clone().map(|k| {
            let q = sim.positions()[k];
            if unit(k - range.start) { q / s.length } else { q }
        }));
    }
    let events = recording.events().iter().map(|e| (e.t / s.time, format!("{} {:?}", e.joint, e.to))).collect();
    let stats = sim.stats();
    Ok(Came { positions, velocities, events, steps: (stats.n_accepted, stats.n_rejected, stats.n_events) })
}

/// Runs machines at random scales and compares; returns the number of events.
fn compare(
    seeds: std::ops::Range<u64>,
    kit: Kit,
    scale: fn(&mut Pcg64) -> Scale,
    method: Method,
    control: &dyn Fn(Scale) -> Control,
) -> usize {
    let (mut n_events, mut n_done, mut off) = (0, 0, Vec::new());
    for seed in seeds {
        let scale = scale(&mut Pcg64::seed_from_u64(seed + 1000));
        let (one, other) = (run(seed, kit, Scale::ONE, method, control), run(seed, kit, scale, method, control));
        match (one, other) {
            (Ok(one), Ok(other)) => {
                n_done += 1;
                n_events += one.events.len();
                if one != other {
                    println!("{seed} {kit:?} {method:?} {scale:?}\n{one:?}\n{other:?}");
                    off.push(seed);
                }
            }
            // refused or jammed at any scale
            (Err(one), Err(_)) => println!("{seed} {kit:?}: {one}"),
            (one, other) => {
                println!("{seed} {kit:?} {method:?} {scale:?}\n{one:?}\n{other:?}");
                off.push(seed);
            }
        }
    }
    println!("{kit:?} {method:?}: {n_done} done, {n_events} events, off {off:?}");
    assert!(off.is_empty() && n_done > 0, "{kit:?} {method:?}: seeds {off:?} of {n_done}");
    n_events
}

const PLAIN: Kit = Kit { kinds: Kinds::Both, bristles: false, couplings: false, floats: false, motions: false };

#[test]
fn real_time_steps_do_not_depend_on_units() {
    let control = |s: Scale| Control::Constant { step: 1e-3 * s.time };
    let mut n_events = 0;
    for (bristles, couplings, floats) in
        [(false, false, false), (true, false, false), (true, true, false), (true, false, true), (true, true, true)]
    {
        n_events +=
            compare(0..12, Kit { bristles, couplings, floats, ..PLAIN }, Scale::random, Method::RealTime, &control);
    }
    assert!(n_events > 50, "{n_events}");
}

/// With a negligible absolute tolerance masses, lengths and times may all be scaled.
#[test]
fn relative_tolerances_do_not_depend_on_units() {
    let control = |_: Scale| Control::Error { rtol: 1e-6, atol: 1e-280 };
    let n_events = compare(0..16, PLAIN, Scale::random, Method::Dopri5, &control)
        + compare(0..8, Kit { floats: true, ..PLAIN }, Scale::floating, Method::Dopri5, &control);
    assert!(n_events > 20, "{n_events}");
}

/// With the usual tolerances masses and lengths may be scaled, tolerances of lengths with them.
#[test]
fn absolute_tolerances_do_not_depend_on_scales() {
    let turning = |_: Scale| Control::Error { rtol: 1e-6, atol: 1e-8 };
    let sliding = |s: Scale| Control::Error { rtol: 1e-6, atol: 1e-8 * s.length };
    let mut n_events = 0;
    for method in [Method::Dopri5, Method::Radau5] {
        n_events += compare(0..12, Kit { kinds: Kinds::Turning, ..PLAIN }, Scale::timeless, method, &turning);
        n_events += compare(0..12, Kit { kinds: Kinds::Sliding, ..PLAIN }, Scale::timeless, method, &sliding);
        let bristles = Kit { kinds: Kinds::Turning, bristles: true, ..PLAIN };
        n_events += compare(0..12, bristles, Scale::same_moments, method, &turning);
    }
    assert!(n_events > 50, "{n_events}");
}

/// Prescribed motions: signals reverse and have corners, at which contacts follow them, in any units.
#[test]
fn prescribed_motions_do_not_depend_on_units() {
    let control = |_: Scale| Control::Error { rtol: 1e-6, atol: 1e-280 };
    let kit = Kit { motions: true, ..PLAIN };
    let fixed = |s: Scale| Control::Constant { step: s.time / 1024.0 };
    let n_events = compare(100..116, kit, Scale::random, Method::Dopri5, &control)
        + compare(100..116, kit, Scale::random, Method::Rk4, &fixed)
        + compare(100..116, kit, Scale::random, Method::RealTime, &fixed);
    assert!(n_events > 50, "{n_events}");
}

/// Steps of one length have no tolerance: with explicit steppers masses, lengths and times may be scaled. Newton of the
/// implicit ones has an absolute tolerance of its own, for angles and their velocities: masses and lengths may be
/// scaled.
#[test]
fn steps_of_one_length_do_not_depend_on_units() {
    let control = |s: Scale| Control::Constant { step: s.time / 2048.0 };
    let mut n_events = 0;
    for method in [Method::Rk4, Method::Euler] {
        n_events += compare(0..10, PLAIN, Scale::random, method, &control);
        let coupled = Kit { kinds: Kinds::Turning, couplings: true, ..PLAIN };
        n_events += compare(0..6, coupled, Scale::random, method, &control);
        n_events += compare(0..6, Kit { floats: true, ..PLAIN }, Scale::floating, method, &control);
    }
    for method in [Method::GeneralizedAlpha { spectral_radius: 0.8 }, Method::Trapezoidal, Method::Radau5] {
        n_events += compare(0..6, Kit { kinds: Kinds::Turning, ..PLAIN }, Scale::timeless, method, &control);
        let bristles = Kit { kinds: Kinds::Turning, bristles: true, ..PLAIN };
        n_events += compare(0..6, bristles, Scale::same_moments, method, &control);
    }
    assert!(n_events > 50, "{n_events}");
}

/// A gear whose joints start apart by a share of their positions or velocities: the verdict depends on that fraction,
/// not on units, and its limit lies between 1e-11 and 1e-7.
#[test]
fn inconsistent_gear_start_is_refused_in_any_units() {
    let mut n_refused = 0;
    for seed in 0..60 {
        let rng = &mut Pcg64::seed_from_u64(seed);
        let (q, v, ratio) = (number(rng, 1.0), number(rng, 1.0), 2.5 * number(rng, 1.0));
        let (share, is_velocity) = (10_f64.powi(-rng.random_range(5..14)), rng.random::<bool>());
        let slides = [rng.random(), rng.random()];
        let scales = [Scale::ONE, Scale::random(rng)];
        let verdicts = scales.map(|s| {
            let [q_a, q_b] = slides.map(|slides| s.of(slides).0);
            let mut world = World::new();
            let off = |on: bool| if on { 1.0 + share } else { 1.0 };
            let joints = [(q_a, ratio * q * off(!is_velocity), ratio * v * off(is_velocity)), (q_b, q, v)];
            let mut index = 0;
            let joints = joints.map(|(unit, q, v)| {
                let slides = slides[index];
                index += 1;
                let inertia = 0.1 * s.mass * s.length * s.length;
                let link = LinkInertia::diagonal(s.mass, Vector3::zeros(), inertia, inertia, inertia);
                let link = world.spawn_link(&format!("link{index}"), link);
                let (name, axis) = (format!("j{index}"), Vector3::z());
                let joint = if slides { prismatic(&name, axis) } else { revolute(&name, axis) };
                world.spawn_joint(joint.to(link).position(q * unit).velocity(v * unit / s.time))
            });
            let gear = Coupling::Gear { joints, ratio: ratio * q_a / q_b, offset: 0.0 };
            world.spawn((Name("gear".into()), gear));
            Simulation::with_settings(world, Settings::default()).is_err()
        });
        assert_eq!(verdicts[0], verdicts[1], "seed {seed}: {share:e} {slides:?} {scales:?}");
        assert!(share > 1e-11 || !verdicts[0], "seed {seed}: {share:e} refused");
        assert!(share < 1e-7 || verdicts[0], "seed {seed}: {share:e} accepted");
        n_refused += usize::from(verdicts[0]);
    }
    assert!((10..50).contains(&n_refused), "{n_refused}");
}

/// A scene of `tests/data/defects`.
fn defect(name: &str) -> Simulation {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/defects/").to_owned() + name;
    Simulation::new(&Scene::load(path).unwrap()).unwrap()
}

/// 1 µg on 1000 N/m: 500 turning points, as many as at 1 kg on 1 N/m, π/ω apart.
#[test]
fn fast_resonator_has_all_turning_points() {
    let mut sim = defect("event_budget_mems.ron");
    let recording = sim.run_until(3e-3).unwrap();
    assert_eq!(recording.events().len(), 500);
    for (k, event) in recording.events().iter().enumerate() {
        let expected = std::f64::consts::PI * (k + 1) as f64 * 1e-6;
        assert!((event.t - expected).abs() < 1e-6 * expected, "{k}: {} {expected}", event.t);
    }
    assert_eq!(sim.velocity("s").unwrap(), 0.0);
}

#[test]
fn decoupled_rotor_does_not_shorten_steps() {
    let mut sim = defect("slow_turn_limit.ron");
    sim.run_until(10.0).unwrap();
    assert!(sim.stats().n_accepted < 40, "{:?}", sim.stats());
    assert_eq!(sim.position("b").unwrap(), 0.0);
    // nor does a balanced rotor on the stuck arm, though its weight loads the arm
    let on_arm = |offset: f64| {
        let scene = format!(
            r#"gravity: (0, -9.81, 0), links: [
                Link(name: "arm", mass: 1, center_of_mass: (0.5, 0, 0)),
                Link(name: "rotor", mass: 0.1, center_of_mass: ({offset:?}, 0, 0), inertia: Diagonal(0.01, 0.01, 0.02)),
            ], joints: [
                Joint(name: "shoulder", parent: "world", child: "arm", kind: Revolute(axis: (0, 0, 1)),
                    friction: Coulomb(coulomb: 20)),
                Joint(name: "spin", parent: "arm", child: "rotor", kind: Revolute(axis: (0, 0, 1)),
                    placement: Placement(translation: (1, 0, 0)), velocity: 1000),
            ]"#
        );
        let mut sim = crate::stick_slip::simulation(&scene, "Dopri5", "Error(rtol: 1e-8, atol: 1e-10)");
        sim.run_until(1.0).unwrap();
        sim.stats().n_accepted
    };
    let (balanced, unbalanced) = (on_arm(0.0), on_arm(1e-5));
    assert!(balanced < 40 && unbalanced >= 8000, "{balanced} {unbalanced}");
}

/// A wheel that turns at constant speed carries a weight whose moment acts on the stuck brake of the arm: its peak is
/// 0.1 % above the limit of the brake. The wheel is turned by a gear from a slow, balanced shaft.
#[test]
fn geared_rotation_loads_stuck_joint() {
    // the shaft is so heavy that the wheel turns at ω = 2 rad/s throughout; about the brake, d/dt of its angular
    // momentum less its weight:
    let (m, g, l, r, omega) = (1.0, 9.81_f64, 0.5, 0.2, 2.0_f64);
    let moment = |phi: f64| m * g * (l + r * phi.cos()) - m * omega * omega * r * l * phi.sin();
    let peak = m * g * l + m * r * (g * g + (l * omega * omega).powi(2)).sqrt();
    let limit = peak / 1.001;
    let scene = format!(
        r#"gravity: (0, -{g:?}, 0), links: [
            Link(name: "arm", mass: 0.001), Link(name: "wheel", mass: {m:?}, center_of_mass: ({r:?}, 0, 0)),
            Link(name: "shaft", mass: 1, inertia: Diagonal(1e9, 1e9, 1e9)),
        ], joints: [
            Joint(name: "brake", parent: "world", child: "arm", kind: Revolute(axis: (0, 0, 1)),
                friction: Coulomb(coulomb: {limit:?})),
            Joint(name: "spin", parent: "arm", child: "wheel", kind: Revolute(axis: (0, 0, 1)),
                placement: Placement(translation: ({l:?}, 0, 0)), position: 1, velocity: 2),
            Joint(name: "shaft", parent: "world", child: "shaft", kind: Revolute(axis: (0, 0, 1)),
                position: 0.05, velocity: 0.1),
        ], couplings: [Gear(name: "gear", joints: ("spin", "shaft"), ratio: 20)]"#
    );
    let mut sim = crate::stick_slip::simulation(&scene, "Dopri5", "Error(rtol: 1e-6, atol: 1e-8)");
    let recording = sim.run_until(4.0).unwrap();
    // the first angle at which the moment is the limit, by bisection up to its peak
    let top = 2.0 * std::f64::consts::PI - (l * omega * omega / g).atan();
    let (mut low, mut high) = (1.0, top);
    while high - low > 1e-12 {
        let middle = 0.5 * (low + high);
        if moment(middle) < limit { low = middle } else { high = middle }
    }
    // moments fall from 1 rad on, and rise to the peak
    assert!(top - high > 0.05 && moment(top) > limit);
    let first = recording.events().first().unwrap();
    assert!((first.t - (high - 1.0) / omega).abs() < 1e-5, "{} {}", first.t, (high - 1.0) / omega);
    assert_eq!(first.joint, "brake");
}

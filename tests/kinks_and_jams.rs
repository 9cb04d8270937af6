//! Loads through zero, corners of tables, jams, and impulses of prescribed motions: by closed forms and by an
//! independent dense solution.

use crate::stick_slip::{TIGHT, assert_near, simulation, slider};
use bristle::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const DEFAULT: &str = "Error(rtol: 1e-8, atol: 1e-10)";
const WAYS: [(&str, &str); 4] =
    [("Implicit", "Dopri5"), ("Implicit", "Radau5"), ("Jerk", "Dopri5"), ("Residual", "Radau5")];

/// ∫₀ᵀ |g − a sin ωt| dt, between the zeros.
fn shaken(g: f64, a: f64, omega: f64, end: f64) -> f64 {
    let whole = |t: f64| g * t + a / omega * (omega * t).cos();
    let first = (g / a).asin();
    let turns = (0..10).flat_map(|k| {
        let turn = 2.0 * std::f64::consts::PI * k as f64;
        [turn + first, turn + std::f64::consts::PI - first]
    });
    let mut ends: Vec<f64> = turns.map(|phase| phase / omega).filter(|t| *t < end).collect();
    ends.insert(0, 0.0);
    ends.push(end);
    ends.windows(2).map(|pair| (whole(pair[1]) - whole(pair[0])).abs()).sum()
}

/// A body on a lift that moves up and down by 1 m at 5 rad/s: its weight passes through zero.
fn lift(joint: &str) -> String {
    format!(
        "links: [Link(name: \"lift\", mass: 1.0), \
         Link(name: \"body\", mass: 1.0, inertia: Diagonal(0.05, 0.05, 0.05))], \
         joints: [Joint(name: \"l\", parent: \"world\", child: \"lift\", kind: Prismatic(axis: (0.0, 0.0, 1.0)), \
         drive: Motion(Sine(amplitude: 1.0, frequency: 5.0))), \
         Joint(name: \"j\", parent: \"lift\", child: \"body\", {joint})]"
    )
}

#[test]
fn zero_loads_are_events_in_every_formulation() {
    let lost = shaken(9.81, 25.0, 5.0, 3.0);
    // v̇ = −c |g + z̈|, c = μ r m/J or μ; the load of a pin or guide has one component that is zero all the time
    let bodies = [
        (0.6, "kind: Revolute(axis: (0.0, 0.0, 1.0)), friction: Coulomb(coulomb: 0.3), load: Thrust(radius: 0.1)"),
        (0.6, "kind: Revolute(axis: (0.0, 1.0, 0.0)), friction: Coulomb(coulomb: 0.3), load: Pin(radius: 0.1)"),
        (0.3, "kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: Coulomb(coulomb: 0.3), load: Guide"),
        (0.3, "kind: Prismatic(axis: (0.6, 0.8, 0.0)), friction: Coulomb(coulomb: 0.3), load: Guide(length: 0.2)"),
    ];
    for (c, joint) in bodies {
        for (formulation, method) in WAYS {
            let fields = format!("{}, formulation: {formulation}", lift(&format!("{joint}, velocity: 50.0")));
            let mut sim = simulation(&fields, method, DEFAULT);
            let recording = sim.run_until(3.0).unwrap();
            assert!(recording.events().is_empty(), "no mode changes");
            assert_near(
                &format!("{joint} {formulation} {method}"),
                recording.last("j.velocity").unwrap(),
                50.0 - c * lost,
                2e-8,
            );
            // both edges of a sleeve at once
            let parts = if joint.contains("length") { 2 } else { 1 };
            assert!((5..=5 * parts).contains(&sim.stats().n_events), "{joint} {:?}", sim.stats().n_events);
        }
    }
}

/// The lift in slow and in fast motion: negligible loads depend on the steps, not on the unit of time.
#[test]
fn zero_loads_are_events_in_any_time_unit() {
    let expected = 50.0 - 0.6 * shaken(9.81, 25.0, 5.0, 3.0);
    for slower in [f64::exp2(-30.0), 1.0, f64::exp2(30.0)] {
        let (g, omega, v, atol) = (9.81 / (slower * slower), 5.0 / slower, 50.0 / slower, 1e-10 / slower);
        let joint = format!(
            "kind: Revolute(axis: (0.0, 0.0, 1.0)), friction: Coulomb(coulomb: 0.3), load: Thrust(radius: 0.1), \
             velocity: {v:?}"
        );
        let fields = lift(&joint).replacen("frequency: 5.0", &format!("frequency: {omega:?}"), 1);
        let (fields, interval) = (format!("gravity: (0.0, 0.0, -{g:?}), {fields}"), 0.1 * slower);
        let fields = format!("{fields}, duration: {:?}, output: Output(interval: {interval:?})", 3.0 * slower);
        let mut sim = simulation(&fields, "Dopri5", &format!("Error(rtol: 1e-8, atol: {atol:e})"));
        let recording = sim.run_until(3.0 * slower).unwrap();
        assert_near(&format!("{slower}"), slower * recording.last("j.velocity").unwrap(), expected, 2e-8);
        assert_eq!(sim.stats().n_events, 5, "{slower}");
    }
}

/// A block on the lift is stuck by friction, μ m |g + z̈|, against a push that changes its direction near the zeros of
/// its weight: there the limit is a narrow valley, and the break-away is found in closed form.
#[test]
fn break_away_in_load_valley_is_found() {
    let rng = &mut Pcg64::seed_from_u64(7);
    let (mut n_in_valley, mut missed) = (0, Vec::new());
    for k in 0..200 {
        let (mu, push) = (rng.random_range(0.3..1.0), rng.random_range(0.2..3.0));
        let (omega, phase) = (rng.random_range(2.0..8.0_f64), rng.random_range(-3.0..3.0_f64));
        let room = |t: f64| mu * (9.81 - 25.0 * (5.0 * t).sin()).abs() - (push * (omega * t + phase).sin()).abs();
        if room(0.0) <= 0.0 {
            continue;
        }
        // the first root: the valley at zero weight is below zero for push/(μ 25 · 5) s and more, unless the push is
        // zero
        let Some(past) = (1..1_000_000).map(|k| 1e-6 * f64::from(k)).find(|t| room(*t) < 0.0) else { continue };
        let joint = format!(
            "kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: Coulomb(coulomb: {mu:?}), load: Guide, \
             drive: Effort(Sine(amplitude: {push:?}, frequency: {omega:?}, phase: {phase:?}))"
        );
        let mut sim = simulation(&lift(&joint), "Dopri5", "Error(rtol: 1e-2, atol: 1e-2)");
        let recording = sim.run_until(1.0).unwrap();
        let found = recording.events().iter().find(|event| event.joint == "j").map_or(f64::INFINITY, |event| event.t);
        n_in_valley += usize::from(past < 1.0);
        if (found - past).abs() > 2e-6 {
            missed.push((k, found, past));
        }
    }
    assert!(missed.is_empty() && n_in_valley > 100, "{} of {n_in_valley}: {missed:?}", missed.len());
}

#[test]
fn rotating_load_has_no_kink() {
    // a flywheel on a horizontal pin: in its own axes the weight turns, a hundred times in the time of a step
    let fields = "links: [Link(name: \"wheel\", mass: 2.0, inertia: Diagonal(0.5, 0.5, 0.5))], \
             joints: [Joint(name: \"pin\", parent: \"world\", child: \"wheel\", kind: Revolute(axis: (1.0, 0.0, 0.0)), \
             velocity: 400.0, friction: Coulomb(coulomb: 0.2), load: Pin(radius: 0.01))]";
    let mut sim = simulation(fields, "Dopri5", DEFAULT);
    let recording = sim.run_until(20.0).unwrap();
    assert_near(
        "velocity",
        recording.last("pin.velocity").unwrap(),
        400.0 - 0.2 * 0.01 * 2.0 * 9.81 / 0.5 * 20.0,
        1e-9,
    );
    assert_eq!(sim.stats().n_events, 0);
    // and without load there is no kink
    let fields = fields.replacen("links", "gravity: (0.0, 0.0, 0.0), links", 1);
    let mut sim = simulation(&fields, "Dopri5", DEFAULT);
    assert_near("velocity", sim.run_until(20.0).unwrap().last("pin.velocity").unwrap(), 400.0, 1e-12);
    assert_eq!(sim.stats().n_events, 0);
}

#[test]
fn table_corners_are_events() {
    // m v̇ = −L(v), m = 2: from 3 m/s down over the corners at 2, 1 and 0.5 m/s, each segment L = c + k v in closed
    // form
    let points = [(0.0, 2.0), (0.5, 1.0), (1.0, 1.4), (2.0, 1.4), (4.0, 3.0)];
    let (mut t, mut v, end) = (0.0, 3.0_f64, 3.8);
    for pair in points.windows(2).rev() {
        let k = (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0) / 2.0;
        let c = pair[0].1 / 2.0 - k * pair[0].0;
        let after = |h: f64| if k == 0.0 { v - c * h } else { (v + c / k) * (-k * h).exp() - c / k };
        let needed = if k == 0.0 { (v - pair[0].0) / c } else { ((v + c / k) / (pair[0].0 + c / k)).ln() / k };
        if t + needed > end {
            v = after(end - t);
            break;
        }
        (t, v) = (t + needed, pair[0].0);
    }
    assert!(v > 0.0 && v < 0.5);
    let law = format!("velocity: 3.0, friction: Table(points: {points:?})");
    for (formulation, method) in WAYS {
        let fields = format!("{}, formulation: {formulation}", slider(2.0, &law));
        let mut sim = simulation(&fields, method, DEFAULT);
        let recording = sim.run_until(end).unwrap();
        assert!(recording.events().is_empty(), "no mode changes");
        assert_eq!(sim.stats().n_events, 3, "{formulation} {method}");
        assert_near(&format!("{formulation} {method}"), recording.last("slide.velocity").unwrap(), v, 2e-8);
    }
}

fn defect(text: &str) -> Result<Simulation, Error> {
    Simulation::new(&Scene::parse(text, "defect.ron").unwrap())
}

#[test]
fn free_base_prevents_jam() {
    // accelerations of the branch followed in steps of 1/400 of the friction, with a mass matrix from vectors in world
    // axes: the base slides backward; stuck or forward it is not consistent
    let sim = defect(include_str!("data/defects/false_jam_1080.ron")).unwrap();
    assert_near("j0", sim.accelerations()[0], -18.67730922, 1e-7);
    assert_near("j1", sim.accelerations()[1], -4.14079953, 1e-7);
}

#[test]
fn jam_names_joints_and_branch_end() {
    // by the same route det M_P vanishes at 0.98604 of the friction
    let error = defect(include_str!("data/defects/false_jam_1063.ron")).err().unwrap().to_string();
    assert!(error.contains("`j0`") && error.contains("at 98.6 % of it"), "{error}");
    let error = defect(include_str!("data/defects/jam_names_free_joint.ron")).err().unwrap().to_string();
    assert!(error.contains("joint `j1` jams") && !error.contains("`free`"), "{error}");
}

#[test]
fn rotor_jams_without_consistent_acceleration() {
    // an unbalanced rotor, c = μ r m e/J = 1.4, driven by τ: x = τ/J − c √(x² + ω⁴) has two solutions or none
    let rotor = |torque: f64| {
        format!(
            "gravity: (0.0, 0.0, 0.0), links: [Link(name: \"rotor\", mass: 2.0, center_of_mass: (0.1, 0.0, 0.0), \
             inertia: Diagonal(0.03, 0.03, 0.03))], \
             joints: [Joint(name: \"rotor\", parent: \"world\", child: \"rotor\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 10.0, friction: Coulomb(coulomb: 0.35), \
             load: Pin(radius: 1.0), drive: Effort(Constant({torque:?})))]"
        )
    };
    for torque in [0.0, 1.0, 4.0, 6.0, 20.0] {
        let (inertia, c) = (0.05, 0.35 * 2.0 * 0.1 / 0.05);
        let roots = |x: f64| x - torque / inertia + c * (x * x + 1e4_f64).sqrt();
        let is_solvable = (-100_000..100_000).map(|k| f64::from(k) * 0.01).any(|x| roots(x) <= 0.0);
        let error = defect(&format!("Scene({})", rotor(torque))).err().map(|error| error.to_string());
        match error {
            None => assert!(is_solvable, "{torque}"),
            Some(error) => assert!(!is_solvable && error.contains("no accelerations were found"), "{torque}: {error}"),
        }
    }
}

/// A bob of 1 kg at 0.5 m on a carriage whose velocity jumps by 1 m/s after a nanosecond; κ = μ r.
fn struck(velocity: f64, kappa: f64) -> String {
    format!(
        "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"carriage\", mass: 3.0), \
         Link(name: \"bob\", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), inertia: Diagonal(0.01, 0.01, 0.01))], \
         joints: [Joint(name: \"rail\", parent: \"world\", child: \"carriage\", \
         kind: Prismatic(axis: (1.0, 0.0, 0.0)), drive: Motion(Ramp(rate: 1.0, start: 1e-9))), \
         Joint(name: \"hinge\", parent: \"carriage\", child: \"bob\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
         velocity: {velocity:?}, friction: Coulomb(coulomb: {kappa:?}), load: Pin(radius: 1.0))]"
    )
}

#[test]
fn motion_corner_has_friction_impulse() {
    // per λ: (J + m l²) ω' + m l + sign(ω) κ m |1 + l ω'| = 0, linear where 1 + l ω' > 0
    let slope = |kappa: f64| -(0.5 + kappa) / (0.26 + 0.5 * kappa);
    for (omega, kappa) in [(3.0, 0.02), (1.0, 0.02), (1.0, 0.51), (0.0, 0.02), (0.0, 0.51), (-1.0, 0.02)] {
        let forward: f64 = slope(kappa);
        assert!(1.0 + 0.5 * forward > 0.0 && 1.0 + 0.5 * slope(-0.02) > 0.0);
        let stops = if omega > 0.0 { (-omega / forward).min(1.0) } else { 0.0 };
        // the rest of the jump reverses it, or it sticks: m l < κ m
        let back = if kappa > 0.5 { 0.0 } else { slope(-kappa) };
        let after = if stops == 1.0 { omega + forward } else { omega.min(0.0) + (1.0 - stops) * back };
        let heat = kappa
            * ((1.0 + 0.5 * forward) * stops * 0.5 * (omega.max(0.0) + if stops == 1.0 { after } else { 0.0 })
                + (1.0 + 0.5 * back) * (1.0 - stops) * 0.5 * (omega.min(0.0) + after.min(0.0)).abs());
        for (formulation, method) in WAYS {
            let fields = format!("{}, formulation: {formulation}", struck(omega, kappa));
            let recording = simulation(&fields, method, TIGHT).run_until(2e-9).unwrap();
            let what = format!("{omega} {kappa} {formulation} {method}");
            // a nanosecond before and one after
            assert_near(&what, recording.last("hinge.velocity").unwrap(), after, 2e-6);
            assert_near(&what, recording.last("hinge.dissipated").unwrap(), heat, 2e-6);
            assert_near(&what, recording.last("energy.balance").unwrap(), 0.0, 1e-12);
        }
    }
}

#[test]
fn jerk_form_bristle_passes_zero_slip() {
    // steps shrank to 3e-15 s where the slip of the clutch passes zero; the witness is `Implicit` at the same tolerance
    let recording = defect(include_str!("data/defects/jerk_radau5_lugre_clutch.ron")).unwrap().run_until(1.2).unwrap();
    assert_near("j0", recording.last("j0.velocity").unwrap(), -0.517218133694, 1e-8);
    assert_near("j1", recording.last("j1.velocity").unwrap(), 0.027051518025, 1e-8);
}

/// Pushed with 2 − t from rest against 1 N, 1 kg: v = t − t²/2, which every step integrates exactly. The block stops at
/// v = 0, t = 2, not where it has passed zero by a fraction of the absolute tolerance, however large.
#[test]
fn contact_stops_again_after_leaving_rest() {
    let joint = "friction: Coulomb(coulomb: 1.0), drive: Effort(Sum([Constant(2.0), Ramp(rate: -1.0)]))";
    for atol in ["1.0", "1e-3", "1e-9"] {
        let mut sim = simulation(&slider(1.0, joint), "Dopri5", &format!("Error(rtol: 1e-3, atol: {atol})"));
        let recording = sim.run_until(2.5).unwrap();
        let stop = recording.events().iter().find(|event| event.to == bristle::friction::Mode::Stuck).unwrap();
        assert_near(atol, stop.t, 2.0, 1e-12);
        assert_near(atol, recording.last("slide.position").unwrap(), 2.0 / 3.0, 1e-12);
    }
}

//! Faults that one wrong line makes and no other test sees (`tests/mutations`): each against a closed form.

use crate::real_time_couplings::real_time;
use crate::stick_slip::{assert_near, simulation, slider};
use bristle::friction::Mode::Stuck;
use bristle::prelude::*;
use bristle::scene::{Control, Method};

#[test]
fn load_that_jumps_puts_energy_into_bent_bristles() {
    // sliding at 1 m/s and more, s = f_c = 1, so each jump of the load by ΔN books ΔN f_c²/(2σ₀)
    let (sigma0, steps) = (1e3, [(0.0, 0.2), (0.3, 1.0), (0.6, 0.5)]);
    let joint = format!(
        "velocity: 3.0, friction: Dahl(coulomb: 1.0, sigma0: {sigma0:?}), load: Signal(max: 2.0, signal: Steps({steps:?}))"
    );
    for (until, signal) in [(0.2, 0.2), (0.5, 1.0), (0.9, 0.5)] {
        for method in ["Dopri5", "Radau5"] {
            let recording =
                simulation(&slider(1.0, &joint), method, "Error(rtol: 1e-10, atol: 1e-12)").run_until(until);
            let recording = recording.unwrap();
            let expected = 2.0 * (signal - 0.2) / (2.0 * sigma0);
            assert_near(method, recording.last("energy.load").unwrap(), expected, 1e-12);
            assert_near(method, recording.last("energy.balance").unwrap(), 0.0, 1e-9);
        }
        // bent backward the same
        let mirrored = joint.replace("velocity: 3.0", "velocity: -3.0");
        let recording =
            simulation(&slider(1.0, &mirrored), "Dopri5", "Error(rtol: 1e-10, atol: 1e-12)").run_until(until);
        assert_near("mirrored", recording.unwrap().last("energy.load").unwrap(), (signal - 0.2) / sigma0, 1e-12);
    }
}

#[test]
fn real_time_books_the_work_of_forces_and_moments_on_links() {
    // q₁ = q₀ + h v₁: the work h M v₁ of a constant moment is M times the angle, of a constant force F times the way, to rounding
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let carriage = world.spawn_link("carriage", LinkInertia::point(2.0, [0.0; 3].into()));
    let rotor = world.spawn_link("rotor", LinkInertia::diagonal(1.0, [0.0; 3].into(), 0.2, 0.2, 0.5));
    world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(carriage));
    // the hinge turns about −z of the carriage, from a quarter turn on: link axes are not the world's
    world.spawn_joint(revolute("hinge", [0.0, 0.0, -1.0]).from(carriage).to(rotor).position(0.5));
    world
        .insert_one(carriage, ExternalWrench { moment: [4.0, 5.0, 6.0].into(), force: [3.0, 7.0, 0.0].into() })
        .unwrap();
    world.insert_one(rotor, ExternalWrench { moment: [8.0, 9.0, -2.5].into(), force: [0.0; 3].into() }).unwrap();
    let settings =
        Settings { method: Method::RealTime, control: Control::Constant { step: 0.01 }, ..Settings::default() };
    let recording = Simulation::with_settings(world, settings).unwrap().run_until(1.0).unwrap();
    let (way, angle) = (recording.last("slide.position").unwrap(), recording.last("hinge.position").unwrap() - 0.5);
    // 100 steps: Σ k h² a = 0.505 a
    assert_near("way", way, 0.505 * 3.0 / 3.0, 1e-12);
    assert_near("angle", angle, 0.505 * 2.5 / 0.5, 1e-12);
    assert_near("work", recording.last("energy.input").unwrap(), 3.0 * way + 2.5 * angle, 1e-12);
}

#[test]
fn real_time_wrench_turns_with_its_link() {
    // a force along the arm's own y, 2 m from a hinge in its parent, does F r φ; the middle joint is welded by a motion that stands still
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let arm = world.spawn_link("arm", LinkInertia::point(0.5, [2.0, 0.0, 0.0].into()));
    let tip = world.spawn_link("tip", LinkInertia::diagonal(0.1, [0.0; 3].into(), 0.01, 0.01, 0.01));
    world.spawn_joint(revolute("hinge", [0.0, 0.0, 1.0]).to(arm));
    let still = Drive::Motion(bristle::signal::Signal::Constant(0.0));
    world.spawn_joint(revolute("wrist", [0.0, 0.0, 1.0]).from(arm).to(tip).at([2.0, 0.0, 0.0]).drive(still));
    world.insert_one(tip, ExternalWrench { moment: [0.0; 3].into(), force: [5.0, 3.0, 1.0].into() }).unwrap();
    let settings =
        Settings { method: Method::RealTime, control: Control::Constant { step: 1e-3 }, ..Settings::default() };
    let recording = Simulation::with_settings(world, settings).unwrap().run_until(1.0).unwrap();
    let angle = recording.last("hinge.position").unwrap();
    assert!(angle > 1.0, "{angle}");
    assert_near("work", recording.last("energy.input").unwrap(), 3.0 * 2.0 * angle, 1e-9);
}

#[test]
fn real_time_reads_signals_at_the_end_of_the_step() {
    // v₁ = v₀ + h f(t₁)/m, q₁ = q₀ + h v₁, whatever the step; by hand
    let (h, n) = (0.02, 50);
    let by_hand = |f: &dyn Fn(f64, f64, f64) -> f64, gain: f64, mut v: f64| {
        let mut q = 0.0;
        for k in 1..=n {
            v = (v + h * f(k as f64 * h, q, v)) / (1.0 + gain);
            q += h * v;
        }
        (q, v)
    };
    let table = |t: f64| if t < 0.5 { 2.0 * t } else { 1.5 - t };
    type Force<'a> = &'a dyn Fn(f64, f64, f64) -> f64;
    let cases: [(&str, Force, f64, f64); 5] = [
        ("drive: Effort(Ramp(rate: 3.0))", &|t, _, _| 3.0 * t, 0.0, 0.0),
        (
            "drive: Effort(Sine(amplitude: 2.0, frequency: 9.0, phase: 0.4))",
            &|t, _, _| 2.0 * (9.0 * t + 0.4).sin(),
            0.0,
            0.0,
        ),
        ("drive: Effort(Table([(0.0, 0.0), (0.5, 1.0), (1.0, 0.5)]))", &|t, _, _| table(t), 0.0, 0.0),
        ("drive: Pull(stiffness: 30.0, target: Ramp(rate: 3.0))", &|t, q, _| 30.0 * (3.0 * t - q), h * h * 30.0, 0.0),
        // the load of a brake: friction of a block that does not stop
        (
            "velocity: 5.0, friction: Coulomb(coulomb: 1.0), load: Signal(max: 2.0, signal: Ramp(rate: 0.4))",
            &|t, _, _| -2.0 * 0.4 * t,
            0.0,
            5.0,
        ),
    ];
    for (joint, force, gain, v0) in cases {
        let recording = real_time(&slider(1.0, joint), h).run_until(h * f64::from(n)).unwrap();
        let (q, v) = by_hand(force, gain, v0);
        assert_near(joint, recording.last("slide.position").unwrap(), q, 1e-12);
        assert_near(joint, recording.last("slide.velocity").unwrap(), v, 1e-12);
    }
}

#[test]
fn stuck_hinge_on_a_turning_wheel_breaks_away_in_the_first_turn() {
    // a wheel with a vertical axle turns at constant speed, so error control sees nothing and steps grow as long as they may. Its axle is
    // carried by a stuck rocker with a horizontal hinge in the plane of the eccentric mass: m g r sin(ωt) on the hinge, and no centrifugal moment
    let (m, r, g) = (2.0, 0.25, 9.81);
    let scene = |speed: f64, level: f64, method: &str| {
        format!(
            "gravity: (0.0, 0.0, -9.81), links: [\
                Link(name: \"rocker\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), \
                Link(name: \"wheel\", mass: {m:?}, center_of_mass: ({r:?}, 0.0, 0.0), inertia: Diagonal(0.1, 0.1, 0.1))], \
             joints: [\
                Joint(name: \"hinge\", parent: \"world\", child: \"rocker\", kind: Revolute(axis: (1.0, 0.0, 0.0)), \
                      friction: Coulomb(coulomb: {level:?})), \
                Joint(name: \"axle\", parent: \"rocker\", child: \"wheel\", kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: {speed:?})], \
             output: Output(interval: 50.0)|{method}"
        )
    };
    for (speed, share) in [(1.0, 0.999), (7.0, 0.9), (40.0, 0.9995)] {
        for method in ["Dopri5", "Radau5", "GeneralizedAlpha(spectral_radius: 0.8)"] {
            let text = scene(speed, share * m * g * r, method);
            let (fields, method) = text.split_once('|').unwrap();
            let recording =
                simulation(fields, method, "Error(rtol: 1e-8, atol: 1e-10)").run_until(200.0 / speed).unwrap();
            let first = recording.events().first().unwrap_or_else(|| panic!("{method} at {speed} rad/s: never"));
            assert_eq!((first.joint.as_str(), first.from), ("hinge", Stuck));
            assert_near(method, first.t, f64::asin(share) / speed, 1e-6 / speed);
        }
    }
}

//! Limits of joint efforts: closed forms with located corners, formulations and steppers against each other, energies.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::{Batch, Recording, Simulation};

/// A slider of 2 kg with the given drive and more fields.
fn slider(fields: &str, duration: f64) -> Scene {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"m\", mass: 2.0, inertia: Diagonal(1, 1, 1))], joints: \
         [Joint(name: \"j\", parent: \"world\", child: \"m\", kind: Prismatic(axis: (1, 0, 0)), {fields})], duration: \
         {duration:?}, output: Output(interval: 0.01))"
    );
    Scene::parse(&text, "slider.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scene: &Scene) -> Recording {
    Simulation::new(scene).unwrap().run_until(scene.duration).unwrap()
}

/// Position, relative to the target, of 2 kg on a spring of 100 N/m that pulls with 30 N at most, from rest at −1 m:
/// a parabola up to −0.3 m, a sine up to 0.3 m, a parabola up to 1 m, and back.
fn pulled(t: f64) -> f64 {
    let (a, omega) = (15.0_f64, 50.0_f64.sqrt());
    let t1 = (2.0 * 0.7 / a).sqrt();
    let v1 = a * t1;
    let (amplitude, phase) = (0.3_f64.hypot(v1 / omega), (0.3 * omega / v1).atan());
    let half = 2.0 * t1 + 2.0 * phase / omega;
    let (n, t) = ((t / half).floor(), t.rem_euclid(half));
    let e = if t < t1 {
        -1.0 + 0.5 * a * t * t
    } else if t < half - t1 {
        amplitude * f64::sin(omega * (t - 0.5 * half))
    } else {
        1.0 - 0.5 * a * (half - t).powi(2)
    };
    if n as i64 % 2 == 0 { e } else { -e }
}

const PULL: &str = "drive: Pull(stiffness: 100.0, target: Constant(1.0)), effort_limit: 30.0";

#[test]
fn a_limited_pull_follows_its_closed_form() {
    let controlled = |rtol: f64| Control::Error { rtol, atol: 1e-2 * rtol };
    // the reason of the bounds: rtol 1e-10 over eight swings; generalized-α is of order two; corners inside fixed steps
    // of 0.5 ms leave errors of order two
    for (method, control, bound) in [
        (Method::Dopri5, controlled(1e-10), 1e-8),
        (Method::Radau5, controlled(1e-10), 1e-8),
        (Method::GeneralizedAlpha { spectral_radius: 0.8 }, controlled(1e-7), 1e-4),
        (Method::Rk4, Control::Constant { step: 5e-4 }, 1e-4),
        (Method::Radau3, Control::Constant { step: 5e-4 }, 1e-4),
        (Method::Trapezoidal, Control::Constant { step: 5e-4 }, 1e-3),
    ] {
        for formulation in [Formulation::Implicit, Formulation::Jerk, Formulation::Residual] {
            if formulation == Formulation::Residual && matches!(method, Method::Dopri5 | Method::Rk4) {
                continue;
            }
            let mut scene = slider(PULL, 7.0);
            scene.formulation = formulation;
            scene.solver.method = Some(method);
            scene.solver.control = Some(control);
            let recording = run(&scene);
            let (t, q) = (recording.channel("t").unwrap(), recording.channel("j.position").unwrap());
            for (t, q) in t.zip(q) {
                assert!((q - 1.0 - pulled(t)).abs() < bound, "{method:?} {formulation:?} t = {t}: {q}");
            }
            let balance = recording.channel("energy.balance").unwrap().fold(0.0, |most: f64, e| most.max(e.abs()));
            assert!(balance < 100.0 * bound, "{method:?} {formulation:?}: {balance}");
        }
    }
}

#[test]
fn the_effort_that_acts_never_exceeds_its_limit() {
    let recording = run(&slider(PULL, 7.0));
    let (q, effort) = (recording.channel("j.position").unwrap(), recording.channel("j.effort").unwrap());
    for ((q, effort), drive) in q.zip(effort).zip(recording.channel("j.drive").unwrap()) {
        let demand = 100.0 * (1.0 - q);
        assert!((drive - demand).abs() < 1e-9);
        // θ of the corner is 1e-10 of the limit
        assert!((effort - demand.clamp(-30.0, 30.0)).abs() < 1e-8, "{effort} {demand}");
    }
    // two corners in each half swing
    let mut sim = Simulation::new(&slider(PULL, 7.0)).unwrap();
    sim.run_until(7.0).unwrap();
    let half = (1..).map(|k| 1e-3 * f64::from(k)).find(|&t| pulled(t) >= 1.0 - 1e-5).unwrap_or(f64::NAN);
    let corners = 2.0 * (7.0 / half);
    assert!((sim.stats().n_events as f64 - corners).abs() <= 2.0, "{} {corners}", sim.stats().n_events);
}

#[test]
fn a_limited_pid_follows_its_closed_form() {
    // 2 v̇ = clamp(80 (1 − q) − 8 v + 4, ±20): a parabola until 80 (1 − 5 t²) − 80 t + 4 = 20, then ë + 4 ė + 40 e = 0
    // about 1.05
    let t1 = (-80.0 + f64::sqrt(80.0 * 80.0 + 4.0 * 400.0 * 64.0)) / 800.0;
    let (q1, v1) = (5.0 * t1 * t1, 10.0 * t1);
    let position = |t: f64| {
        if t < t1 {
            return 5.0 * t * t;
        }
        let (t, omega) = (t - t1, 6.0);
        let (a, b) = (q1 - 1.05, (v1 + 2.0 * (q1 - 1.05)) / omega);
        1.05 + f64::exp(-2.0 * t) * (a * f64::cos(omega * t) + b * f64::sin(omega * t))
    };
    let fields = "drive: Pid(kp: 80.0, kd: 8.0, target: Constant(1.0)), effort_limit: 20.0";
    for method in [Method::Dopri5, Method::Radau5] {
        let mut scene = slider(fields, 1.0);
        scene.solver.method = Some(method);
        scene.solver.control = Some(Control::Error { rtol: 1e-10, atol: 1e-12 });
        let mut sim = Simulation::new(&scene).unwrap();
        sim.set_effort("j", 4.0).unwrap();
        // up to 0.45 s, before it saturates the other way
        for k in 1..=45 {
            sim.step(0.01).unwrap();
            let (q, t) = (sim.position("j").unwrap(), f64::from(k) * 0.01);
            assert!((q - position(t)).abs() < 1e-9, "{method:?} {t}: {q} {}", position(t));
        }
        assert!(sim.energy().unwrap().balance.abs() < 1e-8);
    }
}

#[test]
fn the_effort_of_a_caller_is_limited() {
    for method in [Method::Dopri5, Method::RealTime] {
        let mut scene = slider("effort_limit: 30.0, offset: 2.0, damping: 0.5", 1.0);
        scene.solver.method = Some(method);
        if method == Method::RealTime {
            scene.solver.control = Some(Control::Constant { step: 1e-3 });
        }
        let mut sim = Simulation::new(&scene).unwrap();
        let mut tau = [0.0];
        sim.efforts_for(&[100.0], &mut tau).unwrap();
        assert_eq!(tau, [198.0]);
        assert!(tau[0] > sim.effort_limit("j").unwrap());
        sim.set_efforts(&tau).unwrap();
        sim.step(1e-3).unwrap();
        assert_eq!(sim.effort("j").unwrap(), 30.0);
        assert!((sim.acceleration("j").unwrap() - 16.0).abs() < 1e-2, "{method:?}");
        // no small change of the effort has an effect, the offset and the damper act
        let linear = sim.linearize().unwrap();
        assert_eq!(linear.b.amax(), 0.0, "{method:?}");
        assert!((linear.a[(1, 1)] + 0.25).abs() < 1e-9);
        // the demand of inverse dynamics does not depend on the effort that acts now
        sim.efforts_for(&[1.0], &mut tau).unwrap();
        assert!((tau[0] - 0.5 * sim.velocity("j").unwrap()).abs() < 1e-12, "{tau:?}");
        sim.set_effort("j", -5.0).unwrap();
        sim.step(1e-3).unwrap();
        assert_eq!(sim.effort("j").unwrap(), -5.0);
        assert!(sim.linearize().unwrap().b.amax() > 0.49);
    }
}

#[test]
fn a_saturated_drive_has_no_gain() {
    let mut sim = Simulation::new(&slider(PULL, 1.0)).unwrap();
    assert_eq!(sim.linearize().unwrap().a[(1, 0)], 0.0);
    sim.run_until(0.4).unwrap();
    assert!((sim.linearize().unwrap().a[(1, 0)] + 50.0).abs() < 1e-9);
}

/// Largest error of `RealTime` steps of length `h`.
fn real_time_error(h: f64) -> f64 {
    let mut scene = slider(PULL, 1.5);
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step: h });
    let recording = run(&scene);
    let (t, q) = (recording.channel("t").unwrap(), recording.channel("j.position").unwrap());
    let limits = recording.channel("j.effort").unwrap();
    assert!(limits.fold(0.0, |most: f64, effort| most.max(effort.abs())) <= 30.0);
    t.zip(q).map(|(t, q)| (q - 1.0 - pulled(t)).abs()).fold(0.0, f64::max)
}

#[test]
fn real_time_steps_converge() {
    let errors = [1e-3, 5e-4, 2.5e-4].map(real_time_error);
    // saturation begins within a step: the last ratio varies
    assert!(errors[0] < 1e-4 && errors[2] < errors[0] / 4.0, "{errors:?}");
}

#[test]
fn stiff_limited_drives_are_stable_in_real_time() {
    // gains far beyond 1/h² and 1/h: saturated up to the line v = 10 (0.1 − q), then along it to the target
    let fields = "drive: Pid(kp: 1e9, kd: 1e8, target: Constant(0.1)), effort_limit: 30.0";
    let mut scene = slider(fields, 3.0);
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step: 1e-3 });
    let mut sim = Simulation::new(&scene).unwrap();
    for _ in 0..3000 {
        sim.step(1e-3).unwrap();
        assert!(sim.effort("j").unwrap().abs() <= 30.0);
        assert!(sim.position("j").unwrap() < 0.3);
    }
    assert!((sim.position("j").unwrap() - 0.1).abs() < 1e-4);
}

#[test]
fn copies_of_a_batch_are_limited_as_one_machine_is() {
    for fields in ["effort_limit: 3.0", "effort_limit: 3.0, drive: Effort(Sine(amplitude: 5.0, frequency: 20.0))", PULL]
    {
        let mut scene = slider(fields, 1.0);
        scene.solver.method = Some(Method::RealTime);
        scene.solver.control = Some(Control::Constant { step: 1e-3 });
        let mut batch = Batch::new(&mut Simulation::new(&scene).unwrap(), 9).unwrap();
        let mut single: Vec<_> = (0..9).map(|_| Simulation::new(&scene).unwrap()).collect();
        for (k, sim) in single.iter_mut().enumerate() {
            batch.efforts_mut()[k] = k as f64 - 4.0;
            sim.set_effort("j", k as f64 - 4.0).unwrap();
        }
        for _ in 0..50 {
            batch.step(1e-3).unwrap();
            single.iter_mut().for_each(|sim| sim.step(1e-3).unwrap());
        }
        for (k, sim) in single.iter_mut().enumerate() {
            let v = batch.velocities()[k];
            assert!((v - sim.velocity("j").unwrap()).abs() < 1e-12, "{fields} {k}: {v}");
            let (of_batch, own) = (batch.energy(k).unwrap(), sim.energy().unwrap());
            assert!((of_batch.input - own.input).abs() < 1e-12, "{fields}: {} {}", of_batch.input, own.input);
        }
    }
}

#[test]
fn snapshots_keep_the_regime() {
    let mut sim = Simulation::new(&slider(PULL, 7.0)).unwrap();
    sim.step(0.1).unwrap();
    let snapshot = sim.snapshot().unwrap();
    sim.step(0.5).unwrap();
    let mut other = Simulation::new(&slider(PULL, 7.0)).unwrap();
    other.restore(&snapshot).unwrap();
    other.step(0.5).unwrap();
    assert_eq!(sim.positions(), other.positions());
    let mut without = Simulation::new(&slider("drive: Pull(stiffness: 100.0, target: Constant(1.0))", 7.0)).unwrap();
    assert!(without.restore(&snapshot).is_err());
}

#[test]
fn formulations_agree_on_a_limited_arm_with_pins() {
    let text = "Scene(links: [Link(name: \"a\", mass: 2.0, center_of_mass: (0.2, 0, 0), inertia: Diagonal(0.01, 0.02, \
        0.02)), \
        Link(name: \"b\", mass: 1.0, center_of_mass: (0.2, 0, 0), inertia: Diagonal(0.01, 0.01, 0.01))], joints: [\
        Joint(name: \"s\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0, 1, 0)), friction: \
        Coulomb(coulomb: \
        0.2), load: Pin(radius: 0.05), drive: Pid(kp: 200.0, ki: 20.0, kd: 10.0, target: Constant(-1.0)), \
        effort_limit: 12.0), \
        Joint(name: \"e\", parent: \"a\", child: \"b\", kind: Revolute(axis: (0, 1, 0)), placement: \
        Placement(translation: \
        (0.4, 0, 0)), friction: Coulomb(coulomb: 0.2), load: Pin(radius: 0.05), drive: Servo(kp: 100.0, kd: 2.0, \
        target: \
        Sine(amplitude: 1.0, frequency: 6.0), voltage_limit: 4.0), effort_limit: 3.0)], duration: 1.5, solver: Solver(\
        control: Error(rtol: 1e-9, atol: 1e-11)))";
    let runs = [
        (Formulation::Implicit, Method::Dopri5),
        (Formulation::Implicit, Method::Radau5),
        (Formulation::Jerk, Method::Dopri5),
        (Formulation::Jerk, Method::Radau5),
        (Formulation::Residual, Method::Radau5),
    ];
    let ends = runs.map(|(formulation, method)| {
        let mut scene = Scene::parse(text, "arm.ron").unwrap_or_else(|error| panic!("{error}"));
        scene.formulation = formulation;
        scene.solver.method = Some(method);
        let recording = run(&scene);
        for (joint, limit) in [("s", 12.0), ("e", 3.0)] {
            let efforts = recording.channel(&format!("{joint}.effort")).unwrap().map(f64::abs).collect::<Vec<_>>();
            assert!(efforts.iter().all(|&effort| effort <= limit * (1.0 + 1e-9)));
            assert!(efforts.contains(&limit) && efforts.iter().any(|&effort| effort < limit), "{joint}");
        }
        assert!(recording.last("energy.balance").unwrap().abs() < 1e-6, "{formulation:?} {method:?}");
        ["s.position", "e.position", "e.velocity"].map(|channel| recording.last(channel).unwrap())
    });
    for end in &ends[1..] {
        end.iter().zip(&ends[0]).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{ends:?}"));
    }
}

#[test]
fn an_impact_changes_the_regime_with_the_velocity() {
    // kd v jumps with v at the stop: 2 kg, −40 v, limit 10 N, against a stop at 0.1 m at 3 m/s and back at 1.5 m/s
    let fields = "drive: Pid(kd: 40.0, target: Constant(0.0)), effort_limit: 10.0, velocity: 3.0, limits: \
        Limits(upper: \
                  0.1, restitution: 0.05)";
    let recording = run(&slider(fields, 0.2));
    let (v, effort) = (recording.channel("j.velocity").unwrap(), recording.channel("j.effort").unwrap());
    for (v, effort) in v.zip(effort) {
        assert!((effort - (-40.0 * v).clamp(-10.0, 10.0)).abs() < 1e-8, "{v} {effort}");
    }
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-8);
}

#[test]
fn a_prescribed_motion_has_no_limit() {
    for (fields, message) in [
        ("drive: Motion(Constant(0.0)), effort_limit: 1.0", "prescribed motion"),
        ("effort_limit: 0.0", "greater than 0"),
        ("effort_limit: -3.0", "greater than 0"),
    ] {
        let text = format!(
            "Scene(links: [Link(name: \"m\", mass: 2.0)], joints: [Joint(name: \"j\", parent: \"world\", child: \"m\", \
             kind: Prismatic(axis: (1, 0, 0)), {fields})], duration: 1.0)"
        );
        let error = Scene::parse(&text, "slider.ron").unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("slider.ron:1:"), "{error}");
    }
    let mut world = World::new();
    let link = world.spawn_link("m", LinkInertia::rod(1.0, [0.1, 0.0, 0.0].into()));
    world.spawn_joint(prismatic("j", [1.0, 0.0, 0.0]).to(link).effort_limit(-1.0));
    assert!(Simulation::from_world(world).is_err());
}

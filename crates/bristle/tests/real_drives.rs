//! Friction and drives of real axes with every method, formulation, in batches, in the ledger and linearised.
//!
//! ```text
//! every way of solving the equations ends where the tightest does; work in = heat + change of energy
//! A = ∂a/∂(q, v)         by central differences of accelerations at displaced starts
//! ```

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use std::fmt::Write as _;

const MOTOR: &str =
    "constant: 0.4, resistance: 2.0, target: Sum([Sine(amplitude: 0.5, frequency: 2.1), Constant(0.4)])";

/// Fields of a hinge, and whether `Jerk` has its rates.
fn features() -> Vec<(&'static str, String, bool)> {
    let effort = "drive: Effort(Sine(amplitude: 1.4, frequency: 2.3, phase: 0.4))";
    let coulomb = |level: f64, viscous: f64| {
        format!("Coulomb(coulomb: {level:?}, stiction: {:?}, viscous: {viscous:?})", 1.3 * level)
    };
    let pair = |law: &str| law.replace("FORWARD", &coulomb(0.3, 0.1)).replace("BACKWARD", &coulomb(0.5, 0.05));
    let lugre = |level: f64| {
        format!(
            "LuGre(sigma0: 300.0, sigma1: 2.0, sigma2: 0.05, coulomb: {level:?}, stiction: {:?}, \
             stribeck_velocity: 0.1)",
            1.2 * level
        )
    };
    vec![
        (
            "Directional",
            format!("friction: {}, {effort}", pair("Directional(forward: FORWARD, backward: BACKWARD)")),
            true,
        ),
        (
            "Directional bristles",
            format!("friction: Directional(forward: {}, backward: {}), {effort}", lugre(0.3), lugre(0.4)),
            true,
        ),
        (
            "viscous_exponent",
            format!("friction: Coulomb(coulomb: 0.3, viscous: 0.3, viscous_exponent: 0.6), {effort}"),
            false,
        ),
        ("offset", format!("offset: 0.4, friction: {}, {effort}", coulomb(0.3, 0.1)), true),
        (
            "Transmitted",
            format!(
                "armature: 0.1, friction: Coulomb(coulomb: 1.0, stiction: 1.2), load: Transmitted(preload: 0.1, \
                 driving: 0.2, back_driving: 0.3, driving_squared: 0.05, back_driving_squared: 0.02), {effort}"
            ),
            true,
        ),
        (
            "Servo",
            format!(
                "armature: 0.05, friction: {}, drive: Servo(kp: 30.0, kd: 0.05, voltage_limit: 9.0, {MOTOR})",
                coulomb(0.2, 0.1)
            ),
            true,
        ),
        (
            "sampled Servo",
            format!(
                "armature: 0.05, friction: {}, drive: Servo(kp: 12.0, kd: 0.02, difference: 2, period: 0.02, delay: \
                 0.01, supply: Sine(amplitude: 0.3, frequency: 3.0, offset: 9.0), duty_limit: 0.9, error_gain: 0.1, \
                 enable: Steps([(0.0, 1.0), (1.3, 0.0)]), {MOTOR})",
                coulomb(0.2, 0.1)
            ),
            true,
        ),
        (
            "Log",
            format!(
                "friction: {}, drive: Effort(Log(file: \"effort.csv\", column: \"tau\", hold: Linear))",
                coulomb(0.3, 0.1)
            ),
            true,
        ),
        (
            "held Log",
            format!(
                "friction: {}, drive: Effort(Log(file: \"effort.csv\", column: \"tau\", hold: Previous))",
                coulomb(0.3, 0.1)
            ),
            true,
        ),
    ]
}

/// A folder with a log, for the scenes that read one.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bristle-real-drives-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let mut text = "t,tau\n".to_owned();
        for k in 0..101 {
            let t = 0.02 * f64::from(k);
            let _ = writeln!(text, "{t:?},{:?}", 1.5 * (2.3 * t + 0.4).sin());
        }
        std::fs::write(path.join("effort.csv"), text).unwrap();
        Self(path)
    }

    fn scene(&self, fields: &str, set: &[(&str, &str)]) -> Scene {
        let text = format!(
            "Scene(links: [Link(name: \"a\", mass: 0.8, center_of_mass: (0.0, 0.0, -0.15), inertia: Diagonal(0.02, \
             0.02, 0.02))], joints: [Joint(name: \"j\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0, 1, \
             0)), position: 0.3, velocity: 0.7, {fields})], output: (interval: 0.02), duration: 1.7)"
        );
        let file = self.0.join("scene.ron");
        std::fs::write(&file, text).unwrap();
        Scene::load_with(&file, set).unwrap_or_else(|error| panic!("{fields}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The last position, and the largest miss of the ledger.
fn end(scene: &Scene, method: Method, formulation: Formulation, control: Option<Control>) -> (f64, f64) {
    let mut scene = scene.clone();
    (scene.solver.method, scene.formulation, scene.solver.control) = (Some(method), formulation, control);
    let run = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap_or_else(|error| panic!("{error}"));
    let miss = run.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    (run.last("j.position").unwrap(), miss)
}

#[test]
fn every_method_and_formulation_ends_at_the_same_place() {
    let folder = Folder::new("ways");
    let alpha = Method::GeneralizedAlpha { spectral_radius: 0.8 };
    let tight = Some(Control::Error { rtol: 1e-11, atol: 1e-13 });
    for (name, fields, has_jerk) in features() {
        let scene = folder.scene(&fields, &[]);
        let (reference, _) = end(&scene, Method::Radau5, Formulation::Implicit, tight);
        let mut ways = vec![
            (Method::Dopri5, Formulation::Implicit, None, 2e-6),
            (Method::Radau5, Formulation::Implicit, None, 2e-6),
            (Method::Radau5, Formulation::Residual, None, 2e-6),
            (alpha, Formulation::Implicit, None, 2e-5),
            (alpha, Formulation::Residual, None, 2e-5),
            (Method::Rk4, Formulation::Implicit, Some(Control::Constant { step: 1e-4 }), 1e-4),
        ];
        if has_jerk {
            ways.push((Method::Dopri5, Formulation::Jerk, None, 2e-5));
        }
        for (method, formulation, control, tolerance) in ways {
            let (position, miss) = end(&scene, method, formulation, control);
            let off = (position - reference).abs();
            println!("{name:<20} {method:?} {formulation:?}: {off:.1e} {miss:.1e}");
            assert!(off < tolerance && miss < 1e-4, "{name}, {method:?} {formulation:?}: {off:e}, ledger {miss:e}");
        }
        let coarse = |step: f64| end(&scene, Method::RealTime, Formulation::Implicit, Some(Control::Constant { step }));
        let errors = [2e-3, 2.5e-4].map(|step| (coarse(step).0 - reference).abs());
        println!("{name:<20} RealTime {errors:?}");
        // order 1
        assert!(errors[0] < 0.05 && errors[1] < 0.3 * errors[0].max(1e-3), "{name}: {errors:?}");
    }
}

#[test]
fn copies_of_a_batch_are_simulations() {
    let folder = Folder::new("batch");
    for (name, fields, _) in features() {
        for method in ["Dopri5", "RealTime"] {
            let scene = folder.scene(&fields, &[("solver.method", method)]);
            let mut sim = Simulation::new(&scene).unwrap();
            let mut batch = Batch::new(&mut Simulation::new(&scene).unwrap(), 3).unwrap();
            for _ in 0..60 {
                sim.step(0.02).unwrap();
                batch.step(0.02).unwrap();
            }
            for copy in 0..3 {
                let off = (batch.positions()[copy] - sim.positions()[0]).abs();
                // to the tolerance: copies step together
                assert!(off < 1e-6, "{name}, {method}: {off:e}");
            }
        }
    }
}

#[test]
fn linearisations_are_differences_of_accelerations() {
    let folder = Folder::new("linear");
    for (name, fields, _) in features().into_iter().filter(|(name, ..)| !name.contains("bristles")) {
        let mut sim = Simulation::new(&folder.scene(&fields, &[])).unwrap();
        let found = sim.linearize().unwrap();
        let row = found.unknowns.iter().position(|unknown| unknown == "j.velocity").unwrap();
        for (what, at) in [("position", 0.3), ("velocity", 0.7)] {
            let column = found.unknowns.iter().position(|unknown| *unknown == format!("j.{what}")).unwrap();
            let path = format!("joints.j.{what}");
            let acceleration = |x: f64| {
                let sim = Simulation::new(&folder.scene(&fields, &[(&path, &format!("{x:?}"))])).unwrap();
                sim.accelerations()[0]
            };
            let slope = (acceleration(at + 1e-5) - acceleration(at - 1e-5)) / 2e-5;
            // a held sample does not follow the state, a displaced start has another one
            if name != "sampled Servo" {
                let off = (found.a[(row, column)] - slope).abs();
                assert!(off < 1e-5 * (1.0 + slope.abs()), "{name} {what}: {} {slope}", found.a[(row, column)]);
            }
            assert!(found.a.iter().chain(found.b.iter()).chain(found.p.iter()).all(|x| x.is_finite()), "{name}");
        }
    }
}

/// A gear with losses on the shaft of a motor, which has couplings of its own.
#[test]
fn a_lossy_gear_steps_in_batches_as_alone() {
    let text = "Scene(gravity: (0, 0, 0), links: [Link(name: \"m\", mass: 1, inertia: Diagonal(1, 1, 1e-3)), \
                Link(name: \"a\", mass: 1, inertia: Diagonal(1, 1, 0.4))], joints: [Joint(name: \"motor\", parent: \
                \"world\", child: \"m\", kind: Revolute(axis: (0, 0, 1)), drive: Effort(Sine(amplitude: 0.5, \
                frequency: 3.0))), Joint(name: \"arm\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0, 0, \
                1)))], couplings: [Gear(name: \"g\", joints: (\"motor\", \"arm\"), ratio: 20.0, efficiency: (0.9, \
                0.7), friction: (0.01, 0.2))], output: (interval: 0.02), duration: 1.7)";
    for method in ["Dopri5", "RealTime"] {
        let scene = Scene::parse_with(text, "gear.ron", &[("solver.method", method)]).unwrap();
        let mut sim = Simulation::new(&scene).unwrap();
        let mut batch = Batch::new(&mut Simulation::new(&scene).unwrap(), 2).unwrap();
        for _ in 0..60 {
            sim.step(0.02).unwrap();
            batch.step(0.02).unwrap();
        }
        assert!(sim.positions()[1].abs() > 1e-3);
        for copy in 0..2 {
            let off = (batch.positions()[2 + copy] - sim.positions()[1]).abs();
            assert!(off < 1e-6, "{method}: {off:e}");
        }
    }
}

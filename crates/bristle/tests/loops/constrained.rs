//! The constrained equations (index 3 and 2) beside the reduced form, and the table of work against error.

use crate::references::{bricard, n_four_bar, reference, tip_of_bricard};
use bristle::prelude::*;
use bristle::scene::{Constraints, Control, Method};
use std::path::{Path, PathBuf};

fn andrews() -> Scene {
    Scene::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/andrews.ron")).unwrap()
}

/// A four-bar with smooth friction under the reactions of its pins.
fn pins() -> Scene {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops/four_bar_pin.ron");
    let law = "friction: Tanh(coulomb: 0.3, stribeck_velocity: 0.5), load: Pin(radius: 0.05),";
    let text = std::fs::read_to_string(path).unwrap();
    let (mut lines, mut has_load) = (Vec::new(), false);
    for line in text.lines() {
        if line.contains("friction:") {
            lines.push(law);
            has_load = true;
        } else if !line.trim_start().starts_with("load:") {
            lines.push(line);
        }
    }
    assert!(has_load);
    Scene::parse(&lines.join("\n"), "pins").unwrap_or_else(|error| panic!("{error}"))
}

const ALPHA: Method = Method::GeneralizedAlpha { spectral_radius: 0.8 };

fn run(
    scene: &Scene,
    method: Method,
    control: Control,
    constraints: Constraints,
    until: f64,
) -> (Recording, Simulation) {
    let mut scene = scene.clone();
    (scene.solver.method, scene.solver.control) = (Some(method), Some(control));
    scene.solver.constraints = constraints;
    let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{error}"));
    let recording = sim.run_until(until).unwrap_or_else(|error| panic!("{method:?} {constraints:?}: {error}"));
    (recording, sim)
}

const fn error(rtol: f64) -> Control {
    Control::Error { rtol, atol: 0.01 * rtol }
}

/// The largest difference of channels that end in `what`.
fn difference(a: &Recording, b: &Recording, what: &str) -> f64 {
    let names = a.names().iter().filter(|name| name.ends_with(what));
    let worst = |name: &String| {
        let pairs = a.channel(name).unwrap().zip(b.channel(name).unwrap());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    names.map(worst).fold(0.0, f64::max)
}

#[test]
fn constrained_equations_move_like_the_reduced_form() {
    for (scene, until, tolerance) in [(pins(), 1.0, 1e-5), (bricard(), 1.0, 1e-5)] {
        let (reduced, _) = run(&scene, Method::Dopri5, error(1e-10), Constraints::Reduced, until);
        for constraints in [Constraints::Index3, Constraints::Index2] {
            let (found, _) = run(&scene, Method::Radau5, error(1e-8), constraints, until);
            let miss = difference(&reduced, &found, ".position");
            assert!(miss < tolerance, "{constraints:?}: {miss:e}");
            let miss = difference(&reduced, &found, ".load");
            assert!(miss < 1e-2, "{constraints:?}: loads {miss:e}");
        }
    }
}

/// Generalized-α at index 3 is of order 2 in positions, and satisfies the closures at the end of every step.
#[test]
fn generalized_alpha_at_index_three_is_of_order_two() {
    let scene = pins();
    let (reduced, _) = run(&scene, Method::Dopri5, error(1e-11), Constraints::Reduced, 0.5);
    let errors = [2e-3, 1e-3, 5e-4].map(|step| {
        let (found, _) = run(&scene, ALPHA, Control::Constant { step }, Constraints::Index3, 0.5);
        let channel = |name: &str| found.channel(name).unwrap().collect::<Vec<f64>>();
        let [a, b, d] = ["a", "b", "d"].map(|name| channel(&format!("{name}.position")));
        for k in 0..a.len() {
            let x = 0.25 * a[k].cos() + 0.55 * (a[k] + b[k]).cos() - 0.4 * d[k].cos() - 0.6;
            assert!(x.abs() < 1e-8, "{x:e}");
        }
        difference(&reduced, &found, ".position")
    });
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    assert!(orders.iter().all(|order| (1.7..2.4).contains(order)), "{orders:?} {errors:?}");
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops/four_bar.ron");
    let mut dry = Scene::load(path).unwrap();
    dry.solver.constraints = Constraints::Index3;
    dry.solver.method = Some(Method::Radau5);
    let error = Simulation::new(&dry).err().unwrap().to_string();
    assert!(error.contains("dry friction") && error.contains("Index3"), "{error}");
    let mut explicit = pins();
    explicit.solver.constraints = Constraints::Index3;
    explicit.solver.method = Some(Method::Dopri5);
    let error = Simulation::new(&explicit).err().unwrap().to_string();
    assert!(error.contains("Radau5"), "{error}");
}

/// Prints the table of `benches/LOOPS.md`: `cargo test --test loops table -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn table_of_work_against_error() {
    let error_of =
        |name: &str, recording: &Recording| -> f64 {
            let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
            let file = match name {
                "N-four-bar, N = 2, 10 s" => "n_four_bar_2",
                "Andrews, 30 ms" => "andrews",
                _ => "bricard_frictionless",
            };
            let columns = reference(file);
            let t = channel("t");
            let quantities: Vec<(&str, Vec<f64>)> = match file {
                "n_four_bar_2" => {
                    let q = channel("a0.position");
                    vec![("B0x", q.iter().map(|q| q.cos()).collect()), ("B0y", q.iter().map(|q| q.sin()).collect())]
                }
                "andrews" => ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"]
                    .map(|name| (name, channel(&format!("{name}.position"))))
                    .into(),
                _ => (0..3).map(|k| (["P3x", "P3y", "P3z"][k], tip_of_bricard(recording, k))).collect(),
            };
            let mut worst = 0.0_f64;
            for (name, values) in &quantities {
                for (expected, at) in columns[*name].iter().zip(&columns["t"]) {
                    if let Ok(row) = t.binary_search_by(|t| {
                        if (t - at).abs() < 1e-9 { std::cmp::Ordering::Equal } else { t.total_cmp(at) }
                    }) {
                        worst = worst.max((values[row] - expected).abs());
                    }
                }
            }
            worst
        };
    let scenes = [
        ("N-four-bar, N = 2, 10 s", n_four_bar(2, "", "Solver()", 10.0), 10.0, [1e-2, 1e-3]),
        ("Andrews, 30 ms", andrews(), 0.03, [1e-4, 1e-5]),
        ("Bricard, 10 s", bricard(), 10.0, [1e-2, 1e-3]),
    ];
    for (name, scene, until, steps) in scenes {
        let mut cases: Vec<(String, Method, Control, Constraints)> = Vec::new();
        for rtol in [1e-6, 1e-8, 1e-10] {
            cases.push((format!("Dopri5, reduced, rtol {rtol:e}"), Method::Dopri5, error(rtol), Constraints::Reduced));
        }
        for rtol in [1e-6, 1e-8] {
            cases.push((format!("Radau5, reduced, rtol {rtol:e}"), Method::Radau5, error(rtol), Constraints::Reduced));
            cases.push((format!("Radau5, index 2, rtol {rtol:e}"), Method::Radau5, error(rtol), Constraints::Index2));
            cases.push((format!("Radau5, index 3, rtol {rtol:e}"), Method::Radau5, error(rtol), Constraints::Index3));
        }
        for step in steps {
            let control = Control::Constant { step };
            cases.push((format!("generalized-α, reduced, h {step:e}"), ALPHA, control, Constraints::Reduced));
            cases.push((format!("generalized-α, index 3, h {step:e}"), ALPHA, control, Constraints::Index3));
        }
        for (label, method, control, constraints) in cases {
            let mut scene = scene.clone();
            (scene.solver.method, scene.solver.control) = (Some(method), Some(control));
            scene.solver.constraints = constraints;
            let started = user_time();
            let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{error}"));
            let line = match sim.run_until(until) {
                Ok(recording) => {
                    let stats = sim.stats();
                    let n = stats.n_rhs + stats.n_residual + stats.n_difference_columns;
                    let miss = error_of(name, &recording);
                    let worst =
                        |name: &str| recording.channel(name).unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
                    format!(
                        "{} | {n} | {:.1e} | {:.1e} | {:.2} s",
                        stats.n_accepted,
                        miss,
                        worst("energy.balance"),
                        user_time() - started
                    )
                }
                Err(error) => format!("fails: {error}"),
            };
            println!("| {name} | {label} | {line} |");
        }
    }
}

/// User time of this process, s.
fn user_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse::<f64>().ok());
    ticks.unwrap_or(f64::NAN) / 100.0
}

//! Stops of joints in closed loops.
//!
//! The four-bar of `S8_fourbar_stop` hits the stop of its rocker twice and comes to rest by friction. Its figures are
//! those of two independent programs, in maximal and in minimal coordinates, that agree to 2e-13.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::{Event, EventKind};
use std::path::PathBuf;

fn scene() -> Scene {
    Scene::load(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops/S8_fourbar_stop.ron")).unwrap()
}

struct Figure {
    what: String,
    t: f64,
    joint: String,
    value: f64,
}

fn figures() -> Vec<Figure> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops/S8_fourbar_stop.csv");
    let text = std::fs::read_to_string(at).unwrap();
    let figure = |line: &str| {
        let [what, t, joint, value] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        Figure { what: what.into(), t: t.parse().unwrap(), joint: joint.into(), value: value.parse().unwrap() }
    };
    text.lines().skip(1).map(figure).collect()
}

/// Largest gap of the loop, from the lengths of the scene: the tips of coupler and rocker, and their rates.
fn gaps(recording: &Recording) -> [f64; 2] {
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.position")));
    let [va, vb, vc, vd] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.velocity")));
    let mut worst = [0.0_f64; 2];
    for k in 0..a.len() {
        let at = |length: f64, angle: f64| [length * angle.cos(), length * angle.sin()];
        let [crank, coupler, rocker] = [at(0.25, a[k]), at(0.55, a[k] + b[k]), at(0.4, d[k])];
        let x = crank[0] + coupler[0] - rocker[0] - 0.6;
        let y = crank[1] + coupler[1] - rocker[1] - 0.05;
        worst[0] = worst[0].max(x.abs()).max(y.abs()).max((a[k] + b[k] + c[k] - d[k]).abs());
        let [w, u] = [va[k] + vb[k], vd[k]];
        let x = -crank[1] * va[k] - coupler[1] * w + rocker[1] * u;
        let y = crank[0] * va[k] + coupler[0] * w - rocker[0] * u;
        worst[1] = worst[1].max(x.abs()).max(y.abs()).max((va[k] + vb[k] + vc[k] - vd[k]).abs());
    }
    worst
}

fn check(formulation: Formulation, method: Method) {
    let mut scene = scene();
    scene.formulation = formulation;
    scene.solver.method = Some(method);
    let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
    let (figures, events) = (figures(), recording.events());
    let t: Vec<f64> = recording.channel("t").unwrap().collect();
    let missing = |figure: &Figure, fits: &dyn Fn(&Event) -> bool| {
        let same = events.iter().filter(|event| event.joint == figure.joint && fits(event));
        same.map(|event| (event.t - figure.t).abs()).fold(f64::INFINITY, f64::min)
    };
    for figure in &figures {
        let label = format!("{formulation:?} {method:?}: {} of {} at {}", figure.what, figure.joint, figure.t);
        let at_event = match figure.what.as_str() {
            "impact" => missing(figure, &|event| event.kind == EventKind::Stop),
            "mode" => missing(figure, &|event| event.kind == EventKind::Mode && event.to.direction() == figure.value),
            "heat" => {
                let heat = recording.last("energy.dissipated").unwrap();
                assert!((heat - figure.value).abs() < 1e-8, "{label}: {heat} {}", figure.value);
                continue;
            }
            what => {
                let row = t.iter().position(|t| (t - figure.t).abs() < 1e-9).unwrap();
                let value = recording.channel(&format!("{}.{what}", figure.joint)).unwrap().nth(row).unwrap();
                let tolerance = if what == "position" { 1e-8 } else { 1e-7 };
                assert!((value - figure.value).abs() < tolerance, "{label}: {value} {}", figure.value);
                continue;
            }
        };
        assert!(at_event < 1e-9, "{label}: {at_event:e}");
    }
    let hits: Vec<&Event> = events.iter().filter(|event| event.kind == EventKind::Stop).collect();
    assert_eq!(hits.len(), figures.iter().filter(|figure| figure.what == "impact").count(), "{hits:?}");
    let largest = |name: &str| recording.channel(name).unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
    assert!(largest("energy.balance") < 1e-8, "balance {:e}", largest("energy.balance"));
    assert!(recording.channel("d.position").unwrap().all(|d| d <= 2.75 + 1e-12));
    let gaps = gaps(&recording);
    assert!(gaps[0] < 1e-13 && gaps[1] < 1e-12, "{gaps:?}");
}

#[test]
fn a_four_bar_bounces_off_the_stop_of_its_rocker() {
    check(Formulation::Implicit, Method::Dopri5);
}

/// Mean errors of positions fall with h; no row lies past the stop, and loops are closed at every row.
#[test]
fn a_four_bar_bounces_in_fixed_steps_of_order_one() {
    let figures = figures();
    let errors = [2e-3, 1.25e-4].map(|step| {
        let mut scene = scene();
        scene.solver.method = Some(Method::RealTime);
        scene.solver.control = Some(Control::Constant { step });
        let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
        let t: Vec<f64> = recording.channel("t").unwrap().collect();
        let (mut sum, mut n) = (0.0, 0.0);
        for figure in figures.iter().filter(|figure| figure.what == "position") {
            let row = t.iter().position(|t| (t - figure.t).abs() < 1e-9).unwrap();
            let value = recording.channel(&format!("{}.position", figure.joint)).unwrap().nth(row).unwrap();
            (sum, n) = (sum + (value - figure.value).abs(), n + 1.0);
        }
        assert!(recording.channel("d.position").unwrap().all(|d| d <= 2.75), "{step}");
        assert!(recording.last("d.velocity").unwrap() == 0.0 && recording.last("d.mode").unwrap() == 0.0);
        let gaps = gaps(&recording);
        assert!(gaps[0] < 1e-12 && gaps[1] < 1e-12, "{step}: {gaps:?}");
        let hits = recording.events().iter().filter(|event| event.kind == EventKind::Stop).count();
        assert!(hits >= 2, "{step}: {hits}");
        sum / n
    });
    // sixteen times shorter steps
    assert!(errors[0] < 2e-2 && errors[1] < errors[0] / 6.0, "{errors:?}");
}

/// A stop without restitution under gravity: the machine comes to rest on it, to the last bit, and a torque lifts it
/// off when it exceeds what weight and friction hold, found here from the virtual work of the crank's angle.
#[test]
fn a_four_bar_rests_on_its_stop_and_leaves_it() {
    let text =
        std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops/S8_fourbar_stop.ron"))
            .unwrap();
    // no friction: it swings on to the stop, stays, and a ramp of torque on the crank lifts it off
    let mut plain = String::new();
    for line in text.lines().filter(|line| !line.contains("friction: Coulomb")) {
        plain += &line.replace("upper: 2.75, restitution: 0.5", "upper: 2.75");
        plain += "\n";
    }
    let push = "position: 1.0, velocity: 0.0,\n drive: Effort(Piecewise([(0.0, Constant(-3.0)), \
                (2.0, Sum([Constant(-3.0), Ramp(rate: 2.0, start: 2.0)]))])),";
    let plain = plain.replacen("position: 1.0, velocity: 0.0,", push, 1);
    for solver in [None, Some((Method::RealTime, Control::Constant { step: 1e-3 }))] {
        let mut scene = Scene::parse(&plain, "rest.ron").unwrap_or_else(|error| panic!("{error}"));
        if let Some((method, control)) = solver {
            (scene.solver.method, scene.solver.control) = (Some(method), Some(control));
        }
        let recording = Simulation::new(&scene).unwrap().run_until(5.0).unwrap();
        let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
        let (t, d, stop) = (channel("t"), channel("d.position"), channel("d.stop"));
        let rest = (0..t.len()).find(|&k| t[k] > 1.9).unwrap();
        assert_eq!(channel("a.velocity")[rest], 0.0, "{:?}", scene.solver.method);
        assert!((d[rest] - 2.75).abs() < 1e-14 && stop[rest] < 0.0, "{} {}", d[rest], stop[rest]);
        // balance of virtual work along the crank's angle: gravity, torque and stop
        let (a, b) = (channel("a.position")[rest], channel("b.position")[rest]);
        let height = |a: f64, b: f64, d: f64| {
            let coupler = 0.25 * a.sin() + 0.26 * (a + b).sin() + 0.06 * (a + b).cos();
            9.81 * (0.8 * 0.125 * a.sin() + 1.1 * coupler + 0.9 * 0.2 * d.sin())
        };
        // rates of b and d per rate of a, from the closure
        let (p, r) = (0.55, 0.4);
        let (s1, c1, s2, c2, s3, c3) = (a.sin(), a.cos(), (a + b).sin(), (a + b).cos(), d[rest].sin(), d[rest].cos());
        // −0.25 s1 − p s2 (1 + b') + r s3 d' = 0,   0.25 c1 + p c2 (1 + b') − r c3 d' = 0
        let det = -p * s2 * -r * c3 - r * s3 * p * c2;
        let w = (0.25 * s1 * -r * c3 - r * s3 * -0.25 * c1) / det;
        let rate_d = (-p * s2 * -0.25 * c1 - p * c2 * 0.25 * s1) / det;
        let h = 1e-6;
        let weight = (height(a + h, b + h * (w - 1.0), d[rest] + h * rate_d)
            - height(a - h, b - h * (w - 1.0), d[rest] - h * rate_d))
            / (2.0 * h);
        let expected = -(-3.0 - weight) / rate_d;
        assert!((stop[rest] - expected).abs() < 1e-6 * expected.abs(), "{} {expected}", stop[rest]);
        // it opens when the torque carries the weight
        let open = recording.events().iter().find(|event| event.kind == EventKind::Open).unwrap();
        let at = 2.0 + (weight + 3.0) / 2.0;
        let tolerance = if solver.is_none() { 1e-8 } else { 2e-3 };
        assert!((open.t - at).abs() < tolerance, "{} {at}", open.t);
    }
}

/// An impact at the very start, in loops of 1 to 3 degrees of freedom: M Δv = P in maximal coordinates, where a unit
/// torque on a joint at rest without gravity gives the response to a unit impulse.
#[test]
fn impacts_agree_with_maximal_coordinates() {
    use crate::random::{maximal, random, text};
    use nalgebra::Vector2;
    use rand::{RngExt, SeedableRng};
    let mut n_compared = 0;
    for seed in 0..60 {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(7000 + seed);
        let n = rng.random_range(3..6);
        let (mut bars, corners) = random(&mut rng, n);
        let given: Vec<f64> =
            (0..n - 2).map(|_| rng.random_range(0.5..2.0) * [-1.0, 1.0][rng.random_range(0..2)]).collect();
        let (bound, e) = (bars[0].angle, rng.random_range(0.0..1.0));
        let end = if given[0] > 0.0 { "upper" } else { "lower" };
        let limits = format!("name: \"j0\", limits: Limits({end}: {bound:?}, restitution: {e:?}), parent");
        let text = text(&bars, &corners, &given, "damping: 0.0", "Solver(control: Error(rtol: 1e-10, atol: 1e-12))");
        let text = text
            .replacen("name: \"j0\", parent", &limits, 1)
            .replace("duration: 0.001, output: Output(interval: 0.001)", "output: Output(interval: 0.000001)");
        let scene = Scene::parse(&text, "random loop").unwrap_or_else(|error| panic!("{error}"));
        let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let recording = sim.run_until(2e-6).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(recording.events().iter().any(|event| event.kind == EventKind::Stop), "seed {seed}");
        let names: Vec<String> = (0..n).map(|k| format!("j{k}")).collect();
        let rates = |row: usize| -> Vec<f64> {
            let of = |j: &String| recording.channel(&format!("{j}.velocity")).unwrap().nth(row).unwrap();
            names.iter().map(of).collect()
        };
        let (before, after) = (rates(0), rates(2));
        bars.iter_mut().for_each(|bar| bar.rate = 0.0);
        let unit = |joint: usize, _: f64| if joint == 0 { 1.0 } else { 0.0 };
        let Some((response, _)) = maximal(&bars, Vector2::zeros(), unit) else { continue };
        let impulse = -(1.0 + e) * before[0] / response[0];
        let size = before.iter().chain(&response).fold(1.0_f64, |most, x| most.max(x.abs() * impulse.abs().max(1.0)));
        if size > 100.0 {
            continue; // nearly singular
        }
        let (mut found, mut expected) = (0.0, 0.0);
        for (k, response) in response.iter().enumerate() {
            (found, expected) = (found + after[k], expected + before[k]);
            let miss = (found - expected - impulse * response).abs();
            assert!(miss < 2e-4 * size, "seed {seed}, bar {k}: {found} {}", expected + impulse * response);
        }
        n_compared += 1;
    }
    assert!(n_compared > 35, "{n_compared}");
}

/// Pins that rub under their reactions, and a stop: the formulations agree, and fixed steps converge towards them.
#[test]
fn a_bouncing_four_bar_agrees_in_all_formulations() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops/S8_fourbar_stop.ron");
    let text = std::fs::read_to_string(path).unwrap();
    let pin = "friction: Coulomb(coulomb: 0.3, stiction: 0.35), load: Pin(radius: 0.02),";
    let lines: Vec<&str> = text.lines().map(|line| if line.contains("friction:") { pin } else { line }).collect();
    for e in ["0.5", "0.0"] {
        let text = lines.join("\n").replace("restitution: 0.5", &format!("restitution: {e}"));
        let scene = Scene::parse(&text, "pins").unwrap();
        let run = |formulation, method, control: Option<Control>| {
            let mut scene = scene.clone();
            scene.formulation = formulation;
            scene.solver.method = Some(method);
            scene.solver.control = control.or(Some(Control::Error { rtol: 1e-9, atol: 1e-11 }));
            let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{error}"));
            let recording = sim.run_until(2.0).unwrap_or_else(|error| panic!("{formulation:?} {method:?}: {error}"));
            let largest = recording.channel("energy.balance").unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(method == Method::RealTime || largest < 1e-6, "{formulation:?}: balance {largest:e}");
            assert!(recording.channel("d.position").unwrap().all(|d| d <= 2.75 + 1e-10));
            recording
        };
        let position = |r: &Recording| r.channel("a.position").unwrap().collect::<Vec<f64>>();
        let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64;
        let first = run(Formulation::Implicit, Method::Dopri5, None);
        assert!(first.events().iter().any(|event| event.kind == EventKind::Stop));
        for (formulation, method) in [(Formulation::Jerk, Method::Dopri5), (Formulation::Residual, Method::Radau5)] {
            let other = run(formulation, method, None);
            let miss = mean(&position(&first), &position(&other));
            assert!(miss < 1e-6, "e = {e}, {formulation:?}: {miss:e}");
        }
        let errors = [1e-3, 1.25e-4].map(|step| {
            let other = run(Formulation::Implicit, Method::RealTime, Some(Control::Constant { step }));
            mean(&position(&first), &position(&other))
        });
        assert!(errors[1] < 1e-2 && errors[1] < 0.4 * errors[0], "e = {e}: {errors:?}");
    }
}

fn random_machine(name: &str) -> Recording {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops").join(name);
    let scene = Scene::load(path).unwrap();
    Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap()
}

/// The bounces of a four-bar with a pin end where the geometric series of its last flights ends.
#[test]
fn bounces_of_a_loop_end_at_their_limit() {
    let recording = random_machine("bounces.ron");
    assert!(recording.events().len() < 300, "{}", recording.events().len());
    let of_stop: Vec<&Event> = recording.events().iter().filter(|event| event.kind == EventKind::Stop).collect();
    let rest = of_stop.iter().position(|event| event.to.direction() == 0.0).unwrap();
    let [a, b, c] = [3, 2, 1].map(|k| of_stop[rest - k].t);
    let ratio = (c - b) / (b - a);
    let expected = c + (c - b) * ratio / (1.0 - ratio);
    assert!((of_stop[rest].t - expected).abs() < 5e-9, "{} {expected}", of_stop[rest].t);
}

/// Bounces that are lower than the tolerance do not go on by the errors of the steps.
#[test]
fn bounces_below_the_tolerance_end() {
    let recording = random_machine("bounces_coarse.ron");
    assert!(recording.events().len() < 2000, "{}", recording.events().len());
}

/// Loads and distributions of friction of a five-bar that go to and fro under plain iteration.
#[test]
fn loads_of_a_held_five_bar_are_found() {
    let recording = random_machine("five_bar_shares.ron");
    assert!((recording.last("t").unwrap() - 3.0).abs() < 1e-12);
}

//! The comment at the head of each scene is true.

use bristle::prelude::*;

struct Run {
    recording: Recording,
    interval: f64,
}

impl Run {
    fn of(name: &str) -> Self {
        let path = format!("{}/../../scenes/{name}.ron", env!("CARGO_MANIFEST_DIR"));
        let scene = Scene::load(path).unwrap_or_else(|error| panic!("{error}"));
        let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
        Self { recording, interval: scene.output.interval }
    }

    fn channel(&self, name: &str) -> Vec<f64> {
        self.recording.channel(name).unwrap().collect()
    }

    /// The value recorded at an instant.
    fn at(&self, name: &str, t: f64) -> f64 {
        self.channel(name)[(t / self.interval).round() as usize]
    }

    /// Times at which a joint goes from one mode to another.
    fn changes(&self, joint: &str) -> Vec<(f64, f64, f64)> {
        let own = self.recording.events().iter().filter(|event| event.joint == joint);
        own.map(|event| (event.t, event.from.direction(), event.to.direction())).collect()
    }
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} to {tolerance:e}");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn every_scene_has_a_header() {
    for path in crate::scenes::scene_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let comment: String = text.lines().map_while(|line| line.strip_prefix("//")).collect();
        assert!(comment.len() > 100, "{}: {comment}", path.display());
        assert!(
            comment.to_lowercase().contains("look for") || comment.contains("Plot"),
            "{}: {comment}",
            path.display()
        );
    }
}

#[test]
fn single_pendulum_follows_elliptic_functions() {
    let run = Run::of("single_pendulum");
    let q = run.at("hinge.position", 10.0);
    near(-q.cos(), -0.275087462576122, 1e-8);
    near(-q.sin(), -0.961419205099124, 1e-8);
}

#[test]
fn frictionless_double_pendulum_conserves_energy() {
    let run = Run::of("double_pendulum");
    let (kinetic, potential) = (run.channel("energy.kinetic"), run.channel("energy.potential"));
    let start = kinetic[0] + potential[0];
    assert!(kinetic.iter().zip(&potential).all(|(k, p)| (k + p - start).abs() < 1e-6));
    assert!(largest(&kinetic) > 5.0);
}

#[test]
fn dry_hinges_stick_and_slip() {
    let run = Run::of("double_pendulum_coulomb");
    assert_eq!(run.recording.events().len(), 36);
    near(run.changes("elbow")[0].0, 0.130488, 1e-6);
    near(run.at("elbow.position", 8.0), -0.167398, 1e-6);
    assert_eq!((run.at("elbow.velocity", 8.0), run.at("elbow.mode", 8.0)), (0.0, 0.0));
}

#[test]
fn bristles_and_dry_friction_agree() {
    let (coulomb, lugre) = (Run::of("double_pendulum_coulomb"), Run::of("double_pendulum_lugre"));
    for joint in ["shoulder.position", "elbow.position"] {
        let apart: Vec<f64> =
            coulomb.channel(joint).iter().zip(lugre.channel(joint)).map(|(a, b)| (a - b).abs()).collect();
        assert!(largest(&apart) < 0.018, "{joint}: {}", largest(&apart));
    }
    // a stuck hinge is now a stiff spring
    for k in 0..=10 {
        near(lugre.at("elbow.position", f64::from(k) / 100.0), 0.9, 2e-4);
    }
    assert!(lugre.at("elbow.position", 0.1) != 0.9);
}

#[test]
fn table_stick_slip_is_on_time() {
    let changes = Run::of("stick_slip_coulomb").changes("slide");
    near(changes[0].0, 7.5, 1e-10);
    near(changes[1].0, 10.313744, 1e-6);
    // away again, every 6.453933 s
    near(changes[2].0 - changes[0].0, changes[3].0 - changes[1].0, 1e-6);
    near(changes[3].0 - changes[1].0, 6.453933, 1e-6);
}

#[test]
fn bristle_stick_slip_reaches_published_position() {
    let run = Run::of("stick_slip_lugre");
    let (t, x) = (run.channel("t"), run.channel("slide.position"));
    let force: Vec<f64> = t.iter().zip(&x).map(|(t, x)| 2.0 * (0.1 * t - x)).collect();
    // rows are 0.01 s apart and the spring gains 0.2 N/s
    near(largest(&force), 1.507988, 2e-3);
    near(largest(&run.channel("slide.velocity")), 0.369816, 1e-3);
    near(run.at("slide.position", 20.0), 1.272596, 1e-6);
    near(largest(&run.channel("slide.z")), 1.5e-5, 1e-6);
}

#[test]
fn second_state_converges_to_root() {
    // ẇ = v − (w³/3 − w) is at rest for w³ = 3w, v small
    let run = Run::of("stick_slip_lugre2");
    near(run.at("slide.w", 5.0), 0.0, 0.2);
    near(run.at("slide.w", 15.0).abs(), 3.0_f64.sqrt(), 0.1);
}

#[test]
fn presliding_is_hysteresis_of_micrometres() {
    let run = Run::of("presliding");
    for (t, micrometres) in [(20.0, 44.89), (40.0, 45.12), (80.0, -9.79), (120.0, 44.98)] {
        near(run.at("slide.position", t) * 1e6, micrometres, 0.01);
    }
}

#[test]
fn controlled_mass_hunts_about_target() {
    let run = Run::of("pid_hunting");
    let x = run.channel("slide.position");
    near(largest(&x), 1.5005, 1e-4);
    // rests, where it is still for a second, after the first half minute: off the target by the same on both sides
    let second = (1.0 / run.interval).round() as usize;
    let rests: Vec<f64> =
        x.windows(second + 1).skip(2500).filter(|w| (w[second] - w[0]).abs() < 1e-4).map(|w| w[0]).collect();
    let (above, below): (Vec<f64>, Vec<f64>) = rests.iter().partition(|x| **x > 1.0);
    assert!(above.len() > second && below.len() > second);
    assert!(above.iter().all(|x| (x - 1.0639).abs() < 2e-4) && below.iter().all(|x| (x - 0.9361).abs() < 3e-4));
}

#[test]
fn belt_block_follows_limit_cycle() {
    let run = Run::of("belt_oscillator");
    let changes = run.changes("slide");
    near(changes[0].0, 1.5, 1e-10);
    near(changes[1].0 - changes[0].0, 0.353638, 1e-6);
    near(changes[2].0 - changes[1].0, 1.0, 1e-6);
    // from the ground: the belt runs at 0.1 m/s
    let ground: Vec<f64> =
        run.channel("t").iter().zip(run.channel("slide.position")).map(|(t, s)| 0.1 * t + s).collect();
    near(largest(&ground[150..]), 0.150990, 2e-5);
    near(-largest(&ground[150..].iter().map(|x| -x).collect::<Vec<_>>()), 0.049010, 2e-5);
}

#[test]
fn arm_sticks_until_pushed() {
    let run = Run::of("robot_arm_6dof");
    for joint in ["waist", "shoulder", "elbow", "roll", "pitch", "flange"] {
        let position = run.channel(&format!("{joint}.position"));
        assert!(position[..=200].iter().all(|q| q.to_bits() == position[0].to_bits()), "{joint}");
        assert_eq!(run.at(&format!("{joint}.velocity"), 8.0), 0.0);
        let moves = usize::from(joint == "shoulder" || joint == "waist");
        assert_eq!(run.changes(joint).len(), 2 * moves, "{joint}");
    }
    // friction carries the weight: the moment of all links beyond the joint, by inverse dynamics
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/robot_arm_6dof.ron");
    let sim = Simulation::new(&Scene::load(path).unwrap()).unwrap();
    let model = &sim.compiled().model.tree;
    let mut work = bristle::multibody::Work::new(model);
    let v = vec![0.0; model.n_v];
    let weight = bristle::multibody::bias_efforts(model, &mut work, sim.positions(), &v).unwrap().to_vec();
    for (joint, moment) in [("shoulder", 59.85), ("elbow", 24.99)] {
        let k = model.v_index[model.joint(joint).unwrap()];
        near(run.at(&format!("{joint}.friction"), 1.0), -weight[k], 1e-9);
        near(run.at(&format!("{joint}.friction"), 1.0), moment, 0.005);
    }
    near(run.changes("shoulder")[1].0, 2.9169, 1e-4);
    near(run.at("waist.position", 8.0), 0.270264, 1e-6);
}

#[test]
fn chain_loses_the_heat_of_its_pins() {
    let run = Run::of("chain_10");
    let stored = |t: f64| run.at("energy.kinetic", t) + run.at("energy.potential", t);
    let lost = stored(0.0) - stored(10.0);
    near(run.at("energy.dissipated", 10.0), lost, 1e-6 * lost.abs());
    let each: f64 = (0..10).map(|k| run.at(&format!("pin{k}.dissipated"), 10.0)).sum();
    near(each, run.at("energy.dissipated", 10.0), 1e-12 * each);
    assert!(lost > 0.0);
    let lash = |k: usize| run.channel(&format!("pin{k}.velocity")).iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    near((0..10).map(lash).fold(0.0, f64::max), 107.3, 0.1);
    let heat = |t: f64| run.at("energy.dissipated", t) / run.at("energy.dissipated", 10.0);
    near(heat(2.36) - heat(1.86), 0.444, 1e-3);
}

//! Every scene runs, and its energy adds up.

use bristle::friction::{FrictionLaw, Law};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use std::path::{Path, PathBuf};

/// `scenes/*.ron` and those of the papers below, sorted.
pub fn scene_files() -> Vec<PathBuf> {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let entries = |directory: PathBuf| std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let papers = entries(scenes.join("papers")).flat_map(entries);
    let mut files: Vec<PathBuf> = entries(scenes).chain(papers).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ron"));
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    files
}

/// Energy exchanged: largest change of kinetic energy, input and output.
fn turnover(recording: &Recording) -> f64 {
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<_>>();
    let kinetic = channel("energy.kinetic");
    let range = kinetic.iter().fold(0.0_f64, |most, k| most.max((k - kinetic[0]).abs()));
    range + channel("energy.dissipated").last().unwrap() + channel("energy.input").last().unwrap().abs()
}

#[test]
fn energy_balance_of_every_scene_closes() {
    for path in scene_files() {
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let recording = sim.run_until(scene.duration).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // the end is a row, whether an interval ends there or not
        let rows = (scene.duration / scene.output.interval - 1e-9).ceil() as usize + 1;
        assert_eq!(recording.len(), rows, "{}", path.display());
        assert_eq!(sim.stats().n_difference_columns, 0, "{}: derivatives are analytic", path.display());
        assert!(
            !sim.warnings().iter().any(|warning| warning.contains("stiff")),
            "{}: {:?}",
            path.display(),
            sim.stats()
        );
        assert_eq!(recording.last("t").unwrap(), scene.duration);
        assert!(recording.rows().flatten().all(|x| x.is_finite()), "{}", path.display());
        let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
        let turnover = turnover(&recording);
        assert!(turnover > 0.0, "{}: nothing moves", path.display());
        // error control at rtol 1e-8 leaves about 1e-6 of the energy exchanged
        assert!(worst < 1e-6 * turnover, "{}: balance {worst:e} J of {turnover:e} J", path.display());
        // dissipation never decreases, where a law is passive
        let laws: Vec<&Law> = scene.joints.iter().filter_map(|joint| joint.friction.as_ref()).collect();
        if laws.iter().any(|law| matches!(law, Law::LuGre2(_)) || !law.warnings().is_empty()) {
            continue;
        }
        for channel in recording.names().iter().filter(|name| name.ends_with("dissipated")) {
            let heat: Vec<f64> = recording.channel(channel).unwrap().collect();
            assert!(heat.windows(2).all(|w| w[1] >= w[0] - 1e-12 * turnover), "{}: {channel}", path.display());
        }
    }
}

#[test]
fn methods_agree_on_a_driven_arm() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/arm_3dof.ron");
    let scene = Scene::load(path).unwrap();
    let run = |method, control| {
        let mut scene = scene.clone();
        (scene.solver.method, scene.solver.control, scene.duration) = (Some(method), Some(control), 1.0);
        let mut sim = Simulation::new(&scene).unwrap();
        sim.run_until(1.0).unwrap();
        sim.positions().to_vec()
    };
    let tight = Control::Error { rtol: 1e-11, atol: 1e-11 };
    let reference = run(Method::Dopri5, tight);
    for (method, control, tolerance) in [
        (Method::Radau5, tight, 1e-9),
        (Method::Rk4, Control::Constant { step: 1e-3 }, 1e-9),
        (Method::Radau3, Control::Constant { step: 1e-3 }, 1e-7),
        (Method::Trapezoidal, Control::Constant { step: 1e-3 }, 1e-5),
        (Method::GeneralizedAlpha { spectral_radius: 0.8 }, Control::Constant { step: 1e-3 }, 1e-4),
        (Method::Euler, Control::Constant { step: 1e-5 }, 1e-3),
    ] {
        for (q, exact) in run(method, control).iter().zip(&reference) {
            assert!((q - exact).abs() < tolerance, "{method:?}: {:e}", q - exact);
        }
    }
}

#[test]
fn csv_of_a_run_reads_back_bit_for_bit() {
    let scene = Scene::load(&scene_files()[0]).unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(0.5).unwrap();
    let path = std::env::temp_dir().join(format!("bristle-csv-{}.csv", std::process::id()));
    recording.write_csv(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap().split(',').collect::<Vec<_>>(), recording.names());
    assert_eq!(lines.clone().count(), recording.len());
    for (line, row) in lines.zip(recording.rows()) {
        let bits: Vec<u64> = line.split(',').map(|x| x.parse::<f64>().unwrap().to_bits()).collect();
        assert_eq!(bits, row.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
    // a path that cannot be written is an error with its name
    let error = recording.write_csv("/nowhere/at/all.csv").unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all.csv"), "{error}");
}

#[test]
fn channels_have_the_documented_names_and_order() {
    let text = r#"Scene(
        links: [Link(name: "a", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), Link(name: "b", mass: 1.0),
            Link(name: "c", mass: 1.0)],
        joints: [
            Joint(name: "float", parent: "world", child: "a", kind: Free),
            Joint(name: "weld", parent: "a", child: "b", kind: Fixed),
            Joint(name: "hinge", parent: "b", child: "c", kind: Revolute(axis: (0.0, 1.0, 0.0)), damping: 0.1,
                armature: 0.1),
        ],
    )"#;
    let sim = Simulation::new(&Scene::parse(text, "test").unwrap()).unwrap();
    let expected = "t float.position.x float.position.y float.position.z float.position.qw float.position.qx \
        float.position.qy float.position.qz float.velocity.wx float.velocity.wy float.velocity.wz float.velocity.vx \
        float.velocity.vy float.velocity.vz float.acceleration.wx float.acceleration.wy float.acceleration.wz \
        float.acceleration.vx float.acceleration.vy float.acceleration.vz hinge.position hinge.velocity \
        hinge.acceleration hinge.dissipated energy.kinetic energy.potential energy.elastic energy.bristle energy.load \
        energy.input energy.dissipated energy.balance";
    assert_eq!(sim.recording().names(), expected.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn failed_run_keeps_rows_and_names_time() {
    // explicit Euler steps far too large for a stiff spring: the motion diverges
    let mut world = World::new();
    let block = world.spawn_link("block", LinkInertia::point(1.0, [0.0; 3].into()));
    world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(block).position(1.0).spring(1e6, 0.0));
    let settings = Settings {
        method: Method::Euler,
        control: Control::Constant { step: 0.1 },
        interval: 0.1,
        ..Settings::default()
    };
    let mut sim = Simulation::with_settings(world, settings).unwrap();
    let mut recording = sim.recording();
    let error = sim.run_into(1000.0, &mut recording).unwrap_err();
    assert!(!error.is_refusal());
    let message = error.to_string();
    assert!(message.contains("t = ") && (message.contains("`slide`") || message.contains("not finite")), "{message}");
    assert!(recording.len() > 10 && recording.last("slide.position").unwrap().is_finite());
    assert!(sim.time() > 1.0 && sim.time() < 1000.0);
}

#[test]
fn file_order_changes_no_bit() {
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(11);
    for path in scene_files() {
        let mut scene = Scene::load(&path).unwrap();
        let run = |scene: &Scene| Simulation::new(scene).unwrap().run_until(0.5).unwrap();
        let expected = run(&scene);
        for _ in 0..3 {
            scene.links.shuffle(&mut rng);
            scene.joints.shuffle(&mut rng);
            let recording = run(&scene);
            assert_eq!(recording.names(), expected.names(), "{}", path.display());
            let same =
                recording.rows().flatten().zip(expected.rows().flatten()).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same && recording.len() == expected.len(), "{}", path.display());
        }
    }
}

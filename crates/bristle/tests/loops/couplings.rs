//! Couplings that name a loop joint, and efforts for wanted accelerations under reaction loads.

use bristle::mechanics::Mechanics;
use bristle::prelude::*;
use std::path::PathBuf;

fn five_bar() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops/five_bar.ron");
    std::fs::read_to_string(path).unwrap()
}

fn run(text: &str) -> Recording {
    let scene = Scene::parse(text, "five-bar").unwrap_or_else(|error| panic!("{error}"));
    let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{error}"));
    sim.run_until(1.0).unwrap_or_else(|error| panic!("{error}"))
}

/// In a plane loop c = e + d − a − b: a coupling of c is one of these four.
#[test]
fn couplings_may_name_loop_joints() {
    let text = five_bar();
    let scene = Scene::parse(&text, "five-bar").unwrap();
    let start = Simulation::new(&scene).unwrap();
    let at = |name: &str| start.positions()[start.coordinates().iter().find(|c| c.name == name).unwrap().q];
    let (ratio, c) = (0.4, at("e") + at("d") - at("a") - at("b"));
    assert!((c - at("c")).abs() < 1e-12, "{c} {}", at("c"));
    let offset = c - ratio * at("a");
    let with = |coupling: &str| {
        let text = text.replacen("couplings: [", &format!("couplings: [{coupling},"), 1);
        text.replacen("friction: Coulomb(coulomb: 0.9)", "friction: Coulomb(coulomb: 0.1)", 1)
    };
    let gear = format!("Gear(name: \"g\", joints: (\"c\", \"a\"), ratio: {ratio:?}, offset: {offset:?})");
    let terms = format!("[(\"e\", 1.0), (\"d\", 1.0), (\"b\", -1.0), (\"a\", {:?})]", -1.0 - ratio);
    let linear = format!("Linear(name: \"g\", terms: {terms}, offset: {offset:?})");
    let pairs = [
        (gear, linear),
        (
            "SpringDamper(name: \"s\", joints: (\"c\", \"a\"), stiffness: 3.0, damping: 0.2, rest: 0.5), \
             Brake(name: \"k\", joint: \"c\", friction: Coulomb(coulomb: 0.1))"
                .to_owned(),
            "SpringDamper(name: \"s\", joints: (\"c\", \"a\"), stiffness: 3.0, damping: 0.2, rest: 0.5)".to_owned(),
        ),
    ];
    for (k, (first, second)) in pairs.iter().enumerate() {
        let first = run(&with(first));
        // a brake on c adds to its friction
        let second = with(second);
        let second = if k == 1 { second.replace("coulomb: 0.2)", "coulomb: 0.30000000000000004)") } else { second };
        let second = run(&second);
        for name in ["a", "b", "c", "d", "e"] {
            let name = format!("{name}.position");
            let moved =
                first.channel(&name).unwrap().map(|x| (x - first.channel(&name).unwrap().next().unwrap()).abs());
            assert!(moved.fold(0.0, f64::max) > 1e-3, "{name}");
            let pairs = first.channel(&name).unwrap().zip(second.channel(&name).unwrap());
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-8, "{name}: {worst:e}");
        }
    }
}

/// Inverse dynamics under reaction loads: the efforts found give the accelerations back.
#[test]
fn inverse_dynamics_includes_pin_friction() {
    let law = "friction: Coulomb(coulomb: 0.3), load: Pin(radius: 0.05),";
    let text = five_bar();
    let lines: Vec<&str> =
        text.lines().map(|line| if line.contains("friction: Coulomb") { law } else { line }).collect();
    let scene = Scene::parse(&lines.join("\n"), "pins").unwrap();
    let mut sim = Simulation::new(&scene).unwrap();
    sim.run_until(0.05).unwrap();
    let (q, v) = (sim.positions().to_vec(), sim.velocities().to_vec());
    assert!(v.iter().all(|v| v.abs() > 1e-3), "{v:?}");
    let mut mechanics = Mechanics::new(&scene, true).unwrap();
    let n = v.len();
    let free = mechanics.forward(&q, &v, &vec![0.0; n]).unwrap();
    for k in 0..4 {
        let efforts: Vec<f64> = (0..n).map(|i| 0.3 * ((i * 3 + k * 7) as f64).sin()).collect();
        let a = mechanics.forward(&q, &v, &efforts).unwrap();
        assert!(a.iter().zip(&free).any(|(a, b)| (a - b).abs() > 0.1));
        let tau = mechanics.inverse(&q, &v, &a).unwrap();
        let again = mechanics.forward(&q, &v, &tau).unwrap();
        let size = a.iter().fold(1.0_f64, |most, a| most.max(a.abs()));
        for (a, b) in a.iter().zip(&again) {
            assert!((a - b).abs() < 1e-9 * size, "{a} {b}");
        }
    }
}

/// The mass matrix over the independent velocities gives the kinetic energy of the whole machine.
#[test]
fn reduced_mass_matrix_of_a_loop() {
    let scene = Scene::parse(&five_bar(), "five-bar").unwrap();
    let mut sim = Simulation::new(&scene).unwrap();
    for t in [0.3, 1.1, 3.0] {
        sim.run_until(t).unwrap();
        let independent = sim.independent();
        assert_eq!((independent.len(), sim.freedom()), (2, 2));
        let (mass, reduced) = (sim.mass_matrix().unwrap(), sim.reduced_mass_matrix().unwrap());
        let v = nalgebra::DVector::from_column_slice(sim.velocities());
        let own = nalgebra::DVector::from_iterator(2, independent.iter().map(|&k| v[k]));
        let (whole, part) = (v.dot(&(&mass * &v)), own.dot(&(&reduced * &own)));
        assert!((whole - part).abs() <= 1e-12 * whole, "{t}: {whole} {part}");
        assert!(reduced.symmetric_eigenvalues().min() > 0.0, "{t}");
        let mut mechanics = Mechanics::new(&scene, false).unwrap();
        let again = mechanics.reduced_mass_matrix(sim.positions()).unwrap();
        assert_eq!(again.nrows(), 2, "{again}");
    }
}

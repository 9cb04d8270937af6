//! Time is counted, results are finite or an error, and a refusal changes nothing.

use crate::embedding::MACHINES;
use bristle::prelude::*;

/// A mass on a slide, with a spring.
fn slide(solver: &str, output: &str) -> Simulation {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"a\", mass: 1)], \
         joints: [Joint(name: \"j\", parent: \"world\", child: \"a\", kind: Prismatic(axis: (1, 0, 0)), position: 1, \
         spring: Spring(stiffness: 4))], {solver}, duration: 1, {output})"
    );
    Simulation::new(&Scene::parse(&text, "slide.ron").unwrap()).unwrap()
}

const FIXED: [&str; 3] = [
    "solver: Solver(method: RealTime, control: Constant(step: 1e-3))",
    "solver: Solver(method: Rk4, control: Constant(step: 1e-3))",
    "solver: Solver(method: Dopri5)",
];
const STEPS: &str = "output: Output(steps: true)";

/// A sum of 1e5 steps of 1 ms is off by 1e-9 s: time is n·dt to a rounding or two, in any kind of run.
#[test]
fn steps_of_one_length_are_counted() {
    let n = 100_000;
    for solver in FIXED {
        let mut sim = slide(solver, "");
        (0..n).for_each(|_| sim.step(1e-3).unwrap());
        assert_eq!(sim.time(), 100.0, "{solver}");
        // another length begins a new count; a refused step is not counted
        assert!(sim.step(f64::NAN).is_err() && sim.step(-1.0).is_err());
        (0..n).for_each(|_| sim.step(1e-4).unwrap());
        assert!((sim.time() - 110.0).abs() <= 2.0 * f64::EPSILON * 110.0, "{solver}: {:?}", sim.time());
    }
    // one run: every row is at a multiple of the step
    for solver in &FIXED[..2] {
        let recording = slide(solver, STEPS).run_until(100.0).unwrap();
        assert_eq!(recording.len(), n + 1, "{solver}");
        for (k, t) in recording.channel("t").unwrap().enumerate() {
            let expected = k as f64 * 1e-3;
            assert!((t - expected).abs() <= f64::EPSILON * expected, "{solver}: {t} for {expected}");
        }
    }
    let mut batch = Batch::new(&mut slide(FIXED[1], ""), 2).unwrap();
    (0..n).for_each(|_| batch.step(1e-3).unwrap());
    assert_eq!([0, 1].map(|copy| batch.time(copy).unwrap()), [100.0; 2]);
}

#[test]
fn snapshot_continues_step_count() {
    for solver in FIXED {
        let [mut one, mut two] = [slide(solver, ""), slide(solver, "")];
        (0..1234).for_each(|_| one.step(1e-3).unwrap());
        let snapshot = one.snapshot().unwrap();
        two.restore(&snapshot).unwrap();
        for _ in 0..4321 {
            one.step(1e-3).unwrap();
            two.step(1e-3).unwrap();
            assert_eq!(one.time().to_bits(), two.time().to_bits(), "{solver}");
        }
        assert_eq!(one.time(), 5.555);
        assert_eq!(one.positions(), two.positions());
    }
}

/// A body so heavy, or so fast, that its energy overflows, while its state does not.
#[test]
fn energies_and_matrices_must_be_finite() {
    let mut sim = slide(FIXED[1], "");
    sim.set_joint("j", 1e200, 0.0).unwrap();
    let error = sim.energy().unwrap_err().to_string();
    assert!(error.contains("no finite number"), "{error}");
    // and the machine continues from another state
    sim.set_joint("j", 1.0, 0.0).unwrap();
    assert_eq!(sim.energy().unwrap().elastic, 2.0);

    let text = "Scene(gravity: (0, 0, 0), links: [Link(name: \"a\", mass: 1, inertia: Diagonal(0.1, 0.1, 0.1)), \
             Link(name: \"b\", mass: 1, inertia: Diagonal(0.1, 0.1, 0.1))], \
             joints: [Joint(name: \"r\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0, 0, 1))), \
             Joint(name: \"s\", parent: \"a\", child: \"b\", kind: Prismatic(axis: (1, 0, 0)))], duration: 1)";
    let mut mechanics = bristle::mechanics::Mechanics::new(&Scene::parse(text, "arm.ron").unwrap(), false).unwrap();
    assert!(mechanics.mass_matrix(&[0.0, 1e150]).is_ok());
    let error = mechanics.mass_matrix(&[0.0, 1e160]).unwrap_err().to_string();
    assert!(error.contains("finite"), "{error}");
    assert!(mechanics.energies(&[0.0, 0.0], &[0.0, 1e200]).is_err());
}

/// A diverging run keeps its rows up to the last one that is finite.
#[test]
fn rows_of_diverging_run_are_finite() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/defects/ledger_runs_away.ron"));
    let mut sim = Simulation::new(&Scene::parse(&text.unwrap(), "ledger_runs_away.ron").unwrap()).unwrap();
    let mut recording = sim.recording();
    let error = sim.run_into(1.0, &mut recording).unwrap_err();
    assert!(!error.is_refusal() && error.to_string().contains("no finite number"), "{error}");
    assert!(recording.len() >= 3 && recording.rows().flatten().all(|x| x.is_finite()));
}

/// FNV-1a of everything but the checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let all = bytes[..32].iter().chain(&bytes[40..]);
    all.fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Every word of a snapshot replaced by an impossible value, with a correct checksum: if refused, it does not change
/// the simulation.
#[test]
fn refused_snapshot_changes_nothing() {
    for machine in MACHINES {
        let mut sim = machine();
        sim.step(0.01).unwrap();
        let snapshot = sim.snapshot().unwrap();
        sim.step(0.01).unwrap();
        let before = (sim.snapshot().unwrap(), sim.time().to_bits());
        let mut n_refused = 0;
        for k in (40..snapshot.len() - 7).step_by(8) {
            for word in [f64::NAN.to_bits(), f64::INFINITY.to_bits(), u64::MAX, f64::MAX.to_bits()] {
                let mut forged = snapshot.clone();
                forged[k..k + 8].copy_from_slice(&word.to_le_bytes());
                let sum = checksum(&forged);
                forged[32..40].copy_from_slice(&sum.to_le_bytes());
                match sim.restore(&forged) {
                    Ok(()) => sim.restore(&before.0).unwrap(),
                    Err(_) => {
                        n_refused += 1;
                        assert!((sim.snapshot().unwrap(), sim.time().to_bits()) == before, "word {k}");
                    }
                }
                assert!(sim.positions().iter().chain(sim.velocities()).all(|x| x.is_finite()), "word {k}");
            }
        }
        assert!(n_refused > 20, "{n_refused}");
        sim.step(0.01).unwrap();
    }
}

#[test]
fn very_long_steps_do_not_overflow_counters() {
    let mut sim = slide("solver: Solver(method: Dopri5)", "");
    sim.set_joint("j", 0.0, 0.0).unwrap();
    let _ = sim.step(1e18);
    let _ = sim.run_until(sim.time());
    let _ = sim.run_until(sim.time() + 1.0);
    let path = vec!["a"; 200_000].join(".");
    assert!(Scene::parse_with("Scene()", "x", &[(&path, "1")]).is_err());
}

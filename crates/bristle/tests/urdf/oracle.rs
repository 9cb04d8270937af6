//! Sixteen open trees, from their URDF files, on which three other engines agree (Pinocchio, Drake, MuJoCo).

use bristle::hecs;
use bristle::multibody::{Work, aba, crba, kinetic_energy, potential_energy, rnea};
use bristle::{compile, spawn};
use nalgebra::DMatrix;
use serde_json::Value;

const ORACLE: &str = include_str!("../../../multibody/tests/data/trees_oracle.json");

/// Largest difference, relative to the largest entry.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    let scale = theirs.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    ours.iter().zip(theirs).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / scale
}

#[test]
fn sixteen_trees_agree_with_three_engines() {
    let oracle: Value = serde_json::from_str(ORACLE).unwrap();
    let mut worst = [0.0_f64; 3];
    let cases = oracle["cases"].as_array().unwrap();
    for case in cases {
        let name = case["model"].as_str().unwrap();
        let path = format!("{}/tests/urdf/trees/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
        let scene = bristle::urdf::load(&path, &Default::default()).unwrap().scene;
        // the world is the one of the scene saved and read again
        assert_eq!(bristle::Scene::parse(&scene.to_ron().unwrap(), "saved.ron").unwrap(), scene, "{name}");
        let mut world = hecs::World::new();
        spawn(&scene, &mut world).unwrap();
        let model = compile(&world).unwrap().model.tree.clone();
        let mut work = Work::new(&model);

        // theirs in our order
        let order: Vec<usize> = case["joint_order"]
            .as_array()
            .unwrap()
            .iter()
            .map(|joint| model.v_index[model.joint(joint.as_str().unwrap()).unwrap()])
            .collect();
        let ours = |field: &str| {
            let mut x = vec![0.0; model.n_v];
            for (&k, value) in order.iter().zip(case[field].as_array().unwrap()) {
                x[k] = value.as_f64().unwrap();
            }
            x
        };
        let (q, v, a) = (ours("q"), ours("v"), ours("a_inverse"));

        // 50 ε cond(M), as the oracle's own engines differ
        let allowed = 50.0 * f64::EPSILON * case["mass_matrix_cond"].as_f64().unwrap().max(1.0);
        let forward = difference(aba(&model, &mut work, &q, &v, &ours("tau")).unwrap(), &ours("qdd_forward"));
        let inverse = difference(rnea(&model, &mut work, &q, &v, &a).unwrap(), &ours("tau_inverse"));
        assert!(forward < allowed && inverse < allowed, "{name}: {forward:e}, {inverse:e}, {allowed:e}");

        let mut mass = DMatrix::zeros(model.n_v, model.n_v);
        crba(&model, &mut work, &q, &mut mass).unwrap();
        let norm = case["mass_matrix_frobenius"].as_f64().unwrap();
        assert!((mass.norm() - norm).abs() < 1e-13 * norm, "{name}");
        let kinetic = case["kinetic"].as_f64().unwrap();
        assert!((kinetic_energy(&model, &mut work, &q, &v).unwrap() - kinetic).abs() < 1e-13 * kinetic, "{name}");
        let potential = case["potential"].as_f64().unwrap();
        let height = potential_energy(&model, &mut work, &q).unwrap();
        assert!((height - potential).abs() < 1e-13 * potential.abs().max(1.0), "{name}");
        worst = [worst[0].max(forward / allowed), worst[1].max(inverse / allowed), worst[2].max(inverse)];
    }
    println!("worst, in units of 50 ε cond(M): forward {:.3}, inverse {:.3} ({:e})", worst[0], worst[1], worst[2]);
    assert_eq!(cases.len(), 16);
}

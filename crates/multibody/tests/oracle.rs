//! Sixteen open trees on which three other engines agree (Pinocchio, Drake, MuJoCo).

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

mod support;

use bristle_multibody::*;
use nalgebra::{DMatrix, Vector3};
use serde_json::Value;
use support::{machines, numbers, text};

/// Largest relative difference, in the scale of the largest entry.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    let scale = theirs.iter().fold(0.0_f64, |m, x| m.max(x.abs())).max(1e-300);
    ours.iter().zip(theirs).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / scale
}

#[test]
fn sixteen_trees_agree_with_three_other_engines() {
    let oracle: Value = serde_json::from_str(include_str!("data/trees_oracle.json")).expect("JSON");
    let trees = machines(include_str!("data/trees.json"));
    let mut compared = 0;
    for case in oracle["cases"].as_array().expect("cases") {
        let name = text(&case["model"]);
        let model = &trees.iter().find(|(n, _)| *n == name).expect("its tree").1;
        let mut work = Work::new(model);
        let g = numbers(&case["gravity"]);
        work.outside.gravity = Vector3::new(g[0], g[1], g[2]);

        // their joint order to ours and back
        let order: Vec<usize> = case["joint_order"]
            .as_array()
            .expect("order")
            .iter()
            .map(|j| model.v_index[model.joint(&text(j)).expect("joint")])
            .collect();
        let ours = |field: &str| {
            let theirs = numbers(&case[field]);
            let mut x = vec![0.0; model.n_v];
            order.iter().zip(theirs).for_each(|(&k, value)| x[k] = value);
            x
        };
        let (q, v, tau) = (ours("q"), ours("v"), ours("tau"));

        // 50 ε cond(M) for solutions, a few hundred ε for sums
        let cond = case["mass_matrix_cond"].as_f64().expect("cond");
        let (solved, summed) = (50.0 * f64::EPSILON * cond.max(1.0), 1e-13);
        assert!(difference(aba(model, &mut work, &q, &v, &tau).unwrap(), &ours("qdd_forward")) < solved, "{name}");
        let a = ours("a_inverse");
        assert!(difference(rnea(model, &mut work, &q, &v, &a).unwrap(), &ours("tau_inverse")) < summed, "{name}");

        let mut M = DMatrix::zeros(model.n_v, model.n_v);
        crba(model, &mut work, &q, &mut M).unwrap();
        let frobenius = case["mass_matrix_frobenius"].as_f64().expect("norm");
        assert!((M.norm() - frobenius).abs() < summed * frobenius, "{name}");
        if let Some(rows) = case["mass_matrix"].as_array() {
            for (i, row) in rows.iter().enumerate() {
                for (j, entry) in numbers(row).iter().enumerate() {
                    assert!((M[(order[i], order[j])] - entry).abs() < summed * frobenius, "{name} M[{i}, {j}]");
                }
            }
        }
        let kinetic = case["kinetic"].as_f64().expect("energy");
        assert!((kinetic_energy(model, &mut work, &q, &v).unwrap() - kinetic).abs() < summed * kinetic);
        let potential = case["potential"].as_f64().expect("energy");
        assert!(
            (potential_energy(model, &mut work, &q).unwrap() - potential).abs() < summed * potential.abs().max(1.0)
        );
        compared += 1;
    }
    assert_eq!(compared, 16);
}

//! The mass matrix as an operator, against `crba`.

use super::*;

/// Products, diagonal, bias, solutions and efforts of locked joints: recursions in world axes against the matrix.
#[test]
fn mass_operator_equals_mass_matrix() {
    let (mut n_locked, mut n_free) = (0, 0);
    on_random_trees(200, Mix::Everything, |random, model, work, q, v| {
        let n = model.n_v;
        let mut A = mass_matrix(model, work, q);
        let mut armature = model.armature().to_vec();
        for k in 0..n {
            // a free joint has none
            if model.v_range(model.joint_of_velocity(k)).len() == 1 {
                let more = random.real(0.0, 2.0);
                (armature[k], A[(k, k)]) = (armature[k] + more, A[(k, k)] + more);
            } else {
                n_free += 1;
            }
        }
        let mut operator = MassOperator::new(model);
        operator.place(model, q).unwrap();
        let (x, mut product, mut sizes) = (random.reals(n, 1.0), vec![0.0; n], vec![0.0; n]);
        operator.multiply_with_sizes(model, &armature, &x, &mut product, &mut sizes).unwrap();
        let expected = &A * DVector::from_column_slice(&x);
        for k in 0..n {
            assert!((product[k] - expected[k]).abs() <= 50.0 * EPS * sizes[k]);
            // a bound of the terms, and no wild one
            let terms: f64 = (0..n).map(|j| (A[(k, j)] * x[j]).abs()).sum();
            assert!(sizes[k] >= 0.999 * expected[k].abs() && sizes[k] <= 1e3 * (terms + A.norm() * norm(&x)));
        }
        let mut diagonal = vec![0.0; n];
        operator.diagonal(model, &armature, &mut diagonal).unwrap();
        (0..n).for_each(|k| assert!((diagonal[k] - A[(k, k)]).abs() <= 50.0 * EPS * A[(k, k)]));

        work.outside.set_wrench(model, model.n_bodies() - 1, random_wrench(random, 1.0)).unwrap();
        let mut bias = vec![0.0; n];
        operator.bias(model, &work.outside, v, &mut bias).unwrap();
        let expected = bias_efforts(model, work, q, v).unwrap();
        assert!(distance(&bias, expected) <= 200.0 * EPS * norm(expected), "{bias:?} {expected:?}");
        work.outside.clear_wrenches();

        // some joints locked at given values
        let is_one = |k: usize| model.v_range(model.joint_of_velocity(k)).len() == 1;
        let locked: Vec<bool> = (0..n).map(|k| is_one(k) && random.below(3) == 0).collect();
        let (b, mut x, mut effort) = (random.reals(n, 1.0), random.reals(n, 1.0), vec![0.0; n]);
        let given = x.clone();
        operator.factor(model, &armature, &locked).unwrap();
        operator.solve(model, &b, &mut x, &mut effort).unwrap();
        let left = &A * DVector::from_column_slice(&x);
        let slack = 100.0 * EPS * condition(&A) * (norm(&b) + A.norm() * norm(&x));
        for k in 0..n {
            if locked[k] {
                n_locked += 1;
                assert_eq!(x[k], given[k]);
                assert!((effort[k] + armature[k] * x[k] - left[k]).abs() <= slack);
            } else {
                assert!((left[k] - b[k]).abs() <= slack, "{} {}", left[k], b[k]);
            }
        }
    });
    assert!(n_locked > 100 && n_free > 100, "{n_locked} {n_free}");
}

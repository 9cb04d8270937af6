//! Joints that read their reaction along rows of the caller's, on random trees of 20 joints: revolute, prismatic, fixed
//! and free, some locked, rows a little off the axes. The dense matrix beside it comes from inverse dynamics, a unit of
//! acceleration at a time.
//!
//! 100 trees by default; `BRISTLE_TREES=5000 cargo test -p bristle-multibody --release` for more.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

mod support;

use bristle_multibody::spatial::{Force, Motion};
use bristle_multibody::*;
use nalgebra::{DMatrix, DVector, Vector3};
use support::*;

fn trees() -> u64 {
    std::env::var("BRISTLE_TREES").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// A tree, a state, rows and locks.
struct Case {
    model: Model,
    work: Work,
    q: Vec<f64>,
    v: Vec<f64>,
    rows: Vec<Motion>,
    locked: Vec<bool>,
}

/// Runs `check` on random trees. `off` is how far the rows are from the axes.
fn on_random_trees(off: f64, check: impl Fn(&mut Random, &mut Case)) {
    for seed in 0..trees() {
        let mut random = Random::new(seed);
        let model = random_tree(&mut random, 20, Mix::Everything);
        let q = random_position(&mut random, &model);
        let v = random.reals(model.n_v, 2.0);
        let rows = (0..model.n_bodies())
            .map(|i| axis_row(&model, i) + Motion::new(random.vector(off), random.vector(off)))
            .collect();
        let locked = (0..model.n_bodies()).map(|_| random.below(5) == 0).collect();
        check(&mut random, &mut Case { work: Work::new(&model), model, q, v, rows, locked });
    }
}

/// The rows of the velocities: P of one-degree joints, unit motions of free ones.
fn projectors(model: &Model, rows: &[Motion]) -> Vec<(usize, Motion)> {
    (0..model.n_v)
        .map(|k| {
            let i = model.joint_of_velocity(k);
            (i, if model.v_range(i).len() == 6 { Motion::unit(k - model.v_index[i]) } else { rows[i] })
        })
        .collect()
}

/// Armature of each velocity: the part of the effort that the reaction does not contain.
fn armature(case: &mut Case) -> Vec<f64> {
    let Case { model, work, q, .. } = case;
    let (rest, ones) = (vec![0.0; model.n_v], vec![1.0; model.n_v]);
    let tau = rnea(model, work, q, &rest, &ones).unwrap().to_vec();
    (0..model.n_v)
        .map(|k| {
            let i = model.joint_of_velocity(k);
            let own = if model.v_range(i).len() == 6 { Motion::unit(k - model.v_index[i]) } else { axis_row(model, i) };
            tau[k] - own.dot(&work.reaction(i))
        })
        .collect()
}

/// M_P by columns of inverse dynamics; locked rows and columns are those of the identity.
fn dense(case: &mut Case) -> DMatrix<f64> {
    let armature = armature(case);
    let Case { model, work, q, rows, locked, .. } = case;
    let gravity = std::mem::replace(&mut work.outside.gravity, Vector3::zeros());
    let rest = vec![0.0; model.n_v];
    let mut M = DMatrix::identity(model.n_v, model.n_v);
    for j in (0..model.n_v).filter(|&j| !locked[model.joint_of_velocity(j)]) {
        let mut e = rest.clone();
        e[j] = 1.0;
        rnea(model, work, q, &rest, &e).unwrap();
        for (k, (i, P)) in projectors(model, rows).into_iter().enumerate() {
            if !locked[i] {
                M[(k, j)] = P.dot(&work.reaction(i)) + if j == k { armature[k] } else { 0.0 };
            }
        }
    }
    work.outside.gravity = gravity;
    M
}

/// Right-hand sides that mean nothing to locked joints.
fn without_locked(model: &Model, locked: &[bool], b: &[f64]) -> DVector<f64> {
    DVector::from_fn(b.len(), |k, _| if locked[model.joint_of_velocity(k)] { 0.0 } else { b[k] })
}

/// ‖x − y‖ is small beside ‖y‖ times the condition of the matrix it was solved with, or beside `slack` at best.
fn close(x: &DVector<f64>, y: &DVector<f64>, M: &DMatrix<f64>, slack: f64) -> bool {
    (x - y).norm() <= slack.max(20.0 * f64::EPSILON * condition(M)) * y.norm()
}

/// The factorisation at the rows of the case; `false` if they jam, which few do.
fn factored(case: &mut Case) -> bool {
    let Case { model, work, q, rows, locked, .. } = case;
    match factor_rows(model, work, q, rows, locked) {
        Ok(()) => true,
        Err(Error::Jam { inertia, .. }) => {
            assert!(inertia < 1e-9, "{inertia:e}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn loaded_recursion_solves_the_dense_equations() {
    on_random_trees(0.03, |random, case| {
        let b = random.reals(case.model.n_v, 5.0);
        let M = dense(case);
        if !factored(case) {
            return;
        }
        let Case { model, work, locked, .. } = case;
        let expected = M.clone().lu().solve(&without_locked(model, locked, &b)).unwrap();
        let x = DVector::from_column_slice(solve_rows(model, work, &b).unwrap());
        assert!(close(&x, &expected, &M, 1e-11), "{}", (&x - &expected).norm() / expected.norm());
        (0..model.n_v).filter(|&k| locked[model.joint_of_velocity(k)]).for_each(|k| assert_eq!(x[k], 0.0));
    });
}

#[test]
fn force_changes_match_inverse_dynamics() {
    on_random_trees(0.03, |random, case| {
        if !factored(case) {
            return;
        }
        let Case { model, work, q, v, .. } = case;
        let (a, b) = (random.reals(model.n_v, 3.0), random.reals(model.n_v, 5.0));
        let x = solve_rows(model, work, &b).unwrap().to_vec();
        let change: Vec<Force> = (0..model.n_bodies()).map(|i| work.force_change(i)).collect();
        let sum: Vec<f64> = a.iter().zip(&x).map(|(a, x)| a + x).collect();
        rnea(model, work, q, v, &sum).unwrap();
        let after: Vec<Force> = (0..model.n_bodies()).map(|i| work.reaction(i)).collect();
        rnea(model, work, q, v, &a).unwrap();
        // added to the reactions before, the changes give those after
        let size = after.iter().chain(&change).map(|f| norm(&f.to_array())).fold(0.0, f64::max);
        work.add_force_changes();
        for (i, after) in after.iter().enumerate() {
            assert!(norm(&(work.reaction(i) - *after).to_array()) <= 1e-11 * size, "joint {i}");
        }
    });
}

#[test]
fn loaded_recursion_satisfies_every_joint() {
    on_random_trees(0.03, |random, case| {
        let armature = armature(case);
        if !factored(case) {
            return;
        }
        let Case { model, work, q, v, rows, locked } = case;
        let (a, tau) = (random.reals(model.n_v, 3.0), random.reals(model.n_v, 5.0));
        let a: Vec<f64> = without_locked(model, locked, &a).data.into();
        rnea(model, work, q, v, &a).unwrap();
        let rows_of = projectors(model, rows);
        let effort = |work: &Work, a: &[f64]| -> Vec<f64> {
            rows_of.iter().zip(a).zip(&armature).map(|(((i, P), a), m)| P.dot(&work.reaction(*i)) + m * a).collect()
        };
        // the rows of inverse dynamics before the step; transforms are those of `rnea`
        let b: Vec<f64> = effort(work, &a).iter().zip(&tau).map(|(had, tau)| tau - had).collect();
        factor_rows_at(model, work, rows, locked).unwrap();
        let x = solve_rows(model, work, &b).unwrap().to_vec();
        let sum: Vec<f64> = a.iter().zip(&x).map(|(a, x)| a + x).collect();
        let inner = (0..model.n_bodies()).map(|i| norm(&work.force_change(i).to_array())).fold(0.0, f64::max);
        rnea(model, work, q, v, &sum).unwrap();
        for (k, (got, tau)) in effort(work, &sum).iter().zip(&tau).enumerate() {
            let size = inner + norm(&work.reaction(rows_of[k].0).to_array());
            assert!(locked[rows_of[k].0] || (got - tau).abs() <= 1e-11 * size, "velocity {k}");
        }
    });
}

#[test]
fn axes_for_rows_give_the_ordinary_machine() {
    on_random_trees(0.0, |random, case| {
        let slack = (20.0 * f64::EPSILON * condition(&dense(case))).max(1e-12);
        let Case { model, work, q, locked, rows, .. } = case;
        let mut axes = vec![Motion::ZERO; model.n_bodies()];
        unloaded_rows(model, &mut axes).unwrap();
        assert_eq!(axes, *rows);
        let b = random.reals(model.n_v, 5.0);
        factor(model, work, q, locked).unwrap();
        let expected = solve(model, work, &b).unwrap().to_vec();
        factor_rows(model, work, q, rows, locked).unwrap();
        let x = solve_rows(model, work, &b).unwrap().to_vec();
        assert!(distance(&x, &expected) <= slack * norm(&expected), "{:e}", distance(&x, &expected) / norm(&expected));
        for (i, S) in axes.iter().enumerate() {
            assert_eq!(work.pivot_value(i), work.pivot_unloaded(i));
            let (U, D) = (work.pivot_force(i), work.pivot_value(i));
            assert!(D == 0.0 || S.dot(&U) > 0.0 && S.dot(&U) <= D);
        }
    });
}

/// One Newton step from rest: the accelerations of joints that read their forces along fixed rows.
fn accelerations_of(case: &mut Case, q: &[f64], v: &[f64], tau: &[f64]) -> Vec<f64> {
    let Case { model, work, rows, locked, .. } = case;
    rnea(model, work, q, v, &vec![0.0; model.n_v]).unwrap();
    let b: Vec<f64> =
        projectors(model, rows).iter().zip(tau).map(|((i, P), tau)| tau - P.dot(&work.reaction(*i))).collect();
    factor_rows_at(model, work, rows, locked).unwrap();
    solve_rows(model, work, &b).unwrap().to_vec()
}

fn condition(M: &DMatrix<f64>) -> f64 {
    let s = M.singular_values();
    if s.is_empty() { 1.0 } else { s.max() / s.min() }
}

#[test]
fn jerk_rows_match_acceleration_rate() {
    on_random_trees(0.03, |random, case| {
        let cond = condition(&dense(case));
        if !factored(case) {
            return;
        }
        let (q, v) = (case.q.clone(), case.v.clone());
        let (tau, tau_rate) = (random.reals(v.len(), 5.0), random.reals(v.len(), 5.0));
        let a = accelerations_of(case, &q, &v, &tau);
        let Case { model, work, rows, locked, .. } = case;
        jerk_begin(model, work, &q, &v, &a).unwrap();
        let j = jerk_rows(model, work, &tau_rate, rows, locked).unwrap().to_vec();
        let rate: Vec<Force> = (0..model.n_bodies()).map(|i| work.reaction_rate(i)).collect();

        // a locked joint moves on at constant speed
        let h = 1e-5;
        let mut later = |t: f64| {
            let q = moved(&case.model, &q, &v, &a, t);
            let v: Vec<f64> = v.iter().zip(&a).zip(&j).map(|((v, a), j)| v + t * a + 0.5 * t * t * j).collect();
            let tau: Vec<f64> = tau.iter().zip(&tau_rate).map(|(tau, rate)| tau + t * rate).collect();
            let a = accelerations_of(case, &q, &v, &tau);
            rnea(&case.model, &mut case.work, &q, &v, &a).unwrap();
            (a, (0..case.model.n_bodies()).map(|i| case.work.reaction(i)).collect::<Vec<_>>())
        };
        let (ahead, behind) = (later(h), later(-h));
        let difference: Vec<f64> = ahead.0.iter().zip(&behind.0).map(|(x, y)| (x - y) / (2.0 * h)).collect();
        // third derivatives grow with the cube of the speeds reached: the quotient's own error
        let speed = 1.0 + norm(&v) + norm(&a).sqrt();
        let slack = 20.0 * f64::EPSILON * cond / h;
        assert!(
            distance(&difference, &j) <= (1e-6 + slack) * (1.0 + norm(&j) + norm(&a)) + h * h * speed.powi(5),
            "{:e}",
            distance(&difference, &j) / norm(&j)
        );
        // the forces change as their rates say
        let size = rate.iter().chain(&ahead.1).map(|f| norm(&f.to_array())).fold(0.0, f64::max);
        for (i, rate) in rate.iter().enumerate() {
            let difference = (ahead.1[i] - behind.1[i]) * (0.5 / h);
            let error = norm(&(difference - *rate).to_array());
            assert!(error <= (1e-6 + slack + h * h * speed.powi(4)) * size, "joint {i}: {error:e} of {size:e}");
        }
    });
}

#[test]
fn jerk_along_the_axes_is_the_ordinary_jerk() {
    on_random_trees(0.0, |random, case| {
        let slack = (20.0 * f64::EPSILON * condition(&dense(case))).max(1e-12);
        let Case { model, work, q, v, rows, locked } = case;
        let i = 1 + random.below(model.n_joints());
        work.outside.set_wrench(model, i, random_wrench(random, 5.0)).unwrap();
        work.outside.set_wrench_rate(model, i, random_wrench(random, 5.0)).unwrap();
        work.outside.gravity_rate = random.vector(5.0);
        let (a, tau_rate) = (random.reals(model.n_v, 5.0), random.reals(model.n_v, 5.0));
        let expected = jerk(model, work, q, v, &a, &tau_rate, locked).unwrap().to_vec();
        jerk_begin(model, work, q, v, &a).unwrap();
        let j = jerk_rows(model, work, &tau_rate, rows, locked).unwrap().to_vec();
        assert!(distance(&j, &expected) <= slack * norm(&expected));
        // and the efforts change at the rates asked for
        let (mut worst, mut size) = (0f64, 0f64);
        for (k, (i, S)) in projectors(model, rows).into_iter().enumerate().filter(|(_, (i, _))| !locked[*i]) {
            let rate = work.reaction_rate(i);
            size = size.max(norm(&rate.to_array()));
            // a free joint has no armature
            if model.v_range(i).len() == 6 {
                worst = worst.max((S.dot(&rate) - tau_rate[k]).abs());
            }
        }
        assert!(worst <= 1e-11 * size);
        // twice from one beginning is the same
        assert_eq!(jerk_rows(model, work, &tau_rate, rows, locked).unwrap(), j);
    });
}

#[test]
fn mass_rows_are_columns_of_inverse_dynamics() {
    on_random_trees(0.5, |random, case| {
        case.locked.fill(false);
        let expected = dense(case);
        let Case { model, work, q, rows, .. } = case;
        let mut M = DMatrix::zeros(model.n_v, model.n_v);
        mass_rows(model, work, q, rows, &mut M).unwrap();
        assert!((&M - &expected).norm() <= 1e-12 * M.norm());
        unloaded_rows(model, rows).unwrap();
        mass_rows(model, work, q, rows, &mut M).unwrap();
        let mut symmetric = M.clone();
        crba(model, work, q, &mut symmetric).unwrap();
        assert!((&M - &symmetric).norm() <= 1e-13 * M.norm());

        // any number of rows to a body
        let mut listed: Vec<Row> = (0..2 * model.n_joints())
            .map(|_| Row {
                body: 1 + random.below(model.n_joints()),
                projector: Motion::new(random.vector(1.0), random.vector(1.0)),
            })
            .collect();
        listed.sort_by_key(|r| r.body);
        let mut A = DMatrix::zeros(listed.len(), model.n_v);
        rnea_inertia_rows(model, work, q, &listed, &mut A).unwrap();
        work.outside.gravity = Vector3::zeros();
        let (rest, a) = (vec![0.0; model.n_v], random.reals(model.n_v, 1.0));
        rnea(model, work, q, &rest, &a).unwrap();
        let product = &A * DVector::from_column_slice(&a);
        for (row, product) in listed.iter().zip(product.iter()) {
            assert!((row.projector.dot(&work.reaction(row.body)) - product).abs() <= 1e-12 * A.norm() * norm(&a));
        }
    });
}

#[test]
fn derivatives_along_rows_match_differences() {
    on_random_trees(0.03, |random, case| {
        let M = dense(case);
        let cond = condition(&M);
        if !factored(case) {
            return;
        }
        let (q, v, n) = (case.q.clone(), case.v.clone(), case.model.n_v);
        let i = 1 + random.below(case.model.n_joints());
        case.work.outside.set_wrench(&case.model, i, random_wrench(random, 5.0)).unwrap();
        let tau = random.reals(n, 5.0);
        let a = accelerations_of(case, &q, &v, &tau);
        let zeros = || DMatrix::zeros(n, n);
        let (mut dq, mut dv, mut dtau) = (zeros(), zeros(), zeros());
        let Case { model, work, rows, locked, .. } = case;
        // rows of locked joints are not read
        let mut unread = rows.clone();
        unread.iter_mut().zip(&*locked).filter(|(_, locked)| **locked).for_each(|(row, _)| *row = *row * f64::NAN);
        rows_derivatives(model, work, &q, &v, &a, &unread, locked, [&mut dq, &mut dv, &mut dtau]).unwrap();

        let h = 1e-5;
        let size = norm(&a);
        let slack = |D: &DMatrix<f64>| 1e-6 * (1.0 + D.amax()) + 20.0 * f64::EPSILON * cond * (1.0 + size) / h;
        for k in 0..n {
            let shifted = |x: &[f64], d: f64| {
                let mut x = x.to_vec();
                x[k] += d;
                x
            };
            let nudged = [h, -h].map(|h| nudged(&case.model, &q, k, h));
            let mut at = |q: &[f64], v: &[f64], tau: &[f64]| DVector::from_vec(accelerations_of(case, q, v, tau));
            let by_q = (at(&nudged[0], &v, &tau) - at(&nudged[1], &v, &tau)) / (2.0 * h);
            assert!((by_q - dq.column(k)).amax() < slack(&dq), "∂/∂q_{k}");
            let by_v = (at(&q, &shifted(&v, h), &tau) - at(&q, &shifted(&v, -h), &tau)) / (2.0 * h);
            assert!((by_v - dv.column(k)).amax() < slack(&dv), "∂/∂v_{k}");
        }
        // M_P⁻¹ without the rows and columns of locked joints
        let open = |k: usize| if case.locked[case.model.joint_of_velocity(k)] { 0.0 } else { 1.0 };
        let free = DMatrix::from_diagonal(&DVector::from_fn(n, |k, _| open(k)));
        let inverse = &free * M.try_inverse().unwrap() * &free;
        assert!((&dtau - &inverse).norm() <= (1e-12 + 20.0 * f64::EPSILON * cond) * inverse.norm());
    });
}

#[test]
fn prescribed_jerks_of_locked_joints() {
    on_random_trees(0.03, |random, case| {
        let (armature, M) = (armature(case), dense(case));
        if !factored(case) {
            return;
        }
        let Case { model, work, q, v, rows, locked } = case;
        let (a, tau_rate) = (random.reals(model.n_v, 3.0), random.reals(model.n_v, 5.0));
        let held = |k: usize| locked[model.joint_of_velocity(k)];
        let given: Vec<f64> = (0..model.n_v).map(|k| if held(k) { random.real(-5.0, 5.0) } else { 0.0 }).collect();
        rnea_rate(model, work, q, v, &a, &given).unwrap();
        let j = jerk_rows(model, work, &tau_rate, rows, locked).unwrap().to_vec();
        let rate: Vec<Force> = (0..model.n_bodies()).map(|i| work.reaction_rate(i)).collect();
        // near a jam jerks are large, and forces differences of larger ones
        let size = rate.iter().map(|f| norm(&f.to_array())).fold(1.0, f64::max) + 1e-2 * M.norm() * norm(&j);
        // the rates of the forces are those of inverse dynamics at the jerks of all joints, and read as asked for
        let all: Vec<f64> = given.iter().zip(&j).map(|(given, j)| given + j).collect();
        let efforts = rnea_rate(model, work, q, v, &a, &all).unwrap();
        for (k, (i, P)) in projectors(model, rows).into_iter().enumerate() {
            let S = if model.v_range(i).len() == 6 { P } else { axis_row(model, i) };
            assert!((S.dot(&rate[i]) + armature[k] * all[k] - efforts[k]).abs() <= 1e-10 * size);
            assert!(held(k) || (P.dot(&rate[i]) + armature[k] * j[k] - tau_rate[k]).abs() <= 1e-10 * size);
        }
    });
}

#[test]
fn products_are_those_of_the_dense_matrix() {
    on_random_trees(0.3, |random, case| {
        case.locked.fill(false);
        let M = dense(case);
        let Case { model, work, q, v, rows, .. } = case;
        let x = random.reals(model.n_v, 1.0);
        // any function that takes q leaves its transforms
        kinematics(model, work, q, v).unwrap();
        let mut product = vec![0.0; model.n_v];
        multiply_rows(model, work, rows, &x, &mut product).unwrap();
        let expected = M * DVector::from_column_slice(&x);
        let error = distance(&product, expected.as_slice());
        assert!(error <= 1e-12 * norm(expected.as_slice()), "{error:e}");
    });
}

#[test]
fn armatures_add_to_the_diagonal() {
    on_random_trees(0.0, |random, case| {
        case.locked.fill(false);
        let mut M = dense(case);
        let Case { model, work, q, locked, .. } = case;
        let one_degree = |k: usize| model.v_range(model.joint_of_velocity(k)).len() == 1;
        let mut armature = model.armature().to_vec();
        for k in (0..model.n_v).filter(|&k| one_degree(k)) {
            let added = 10.0_f64.powf(random.real(-3.0, 6.0));
            armature[k] += added;
            M[(k, k)] += added;
        }
        let b = random.reals(model.n_v, 1.0);
        factor_with_armature(model, work, q, locked, &armature).unwrap();
        let x = DVector::from_column_slice(solve(model, work, &b).unwrap());
        let left = distance((&M * &x).as_slice(), &b);
        assert!(left <= 1e-9 * norm(&b), "{left:e}");
    });
}

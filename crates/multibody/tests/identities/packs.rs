//! Packs of machines against one machine.

use super::*;
use bristle_multibody::spatial::{Mask, Pack4, Pack8, Scalar};

/// Lane k of every number.
fn lane<S: Scalar>(x: &[S], k: usize) -> Vec<f64> {
    x.iter().map(|x| x.lane(k)).collect()
}

/// Numbers of several machines as packs.
fn packed<S: Scalar>(x: &[Vec<f64>]) -> Vec<S> {
    (0..x[0].len()).map(|i| S::from_lanes(|k| x[k][i])).collect()
}

/// One machine for each lane: every lane has the bits of the same kernel on one machine, whatever its neighbours do,
/// and those of `aba` and `rnea` to rounding. Lanes have other states, armatures and locked joints.
#[test]
fn lanes_of_a_pack_are_machines_of_their_own() {
    compare_lanes::<Pack4>();
    compare_lanes::<Pack8>();
}

fn compare_lanes<S: Scalar>() {
    let mut n_mixed = 0;
    on_random_trees(60, Mix::Everything, |random, model, work, _, _| {
        let n = model.n_v;
        let mut numbers = |size: f64| -> Vec<Vec<f64>> { (0..S::LANES).map(|_| random.reals(n, size)).collect() };
        let (v, a, b, given, more) = (numbers(2.0), numbers(1.0), numbers(1.0), numbers(1.0), numbers(1.0));
        let q: Vec<Vec<f64>> = (0..S::LANES).map(|_| random_position(random, model)).collect();
        let is_one = |k: usize| model.v_range(model.joint_of_velocity(k)).len() == 1;
        let armature: Vec<Vec<f64>> = more
            .iter()
            .map(|more| (0..n).map(|k| model.armature()[k] + if is_one(k) { more[k].abs() } else { 0.0 }).collect())
            .collect();
        let locked: Vec<Vec<bool>> =
            (0..S::LANES).map(|_| (0..n).map(|k| is_one(k) && random.below(3) == 0).collect()).collect();
        let masks: Vec<S::Mask> = (0..n).map(|i| S::Mask::from_lanes(|k| locked[k][i])).collect();
        n_mixed += masks.iter().filter(|mask| mask.any() && !mask.all()).count();

        let mut pack = MassOperator::<S>::new(model);
        let zeros = || vec![S::ZERO; n];
        let (mut forward, mut inverse, mut bias, mut product) = (zeros(), zeros(), zeros(), zeros());
        let (mut x, mut effort, mut diagonal) = (packed(&given), zeros(), zeros());
        pack.place(model, &packed(&q)).unwrap();
        pack.forward_dynamics(model, &packed(&v), &packed(&b), &mut forward).unwrap();
        pack.inverse_dynamics(model, &packed(&v), &packed(&a), &mut inverse).unwrap();
        pack.bias_efforts(model, &model.gravity, &packed(&v), &mut bias).unwrap();
        pack.multiply(model, &packed(&armature), &packed(&a), &mut product).unwrap();
        pack.diagonal(model, &packed(&armature), &mut diagonal).unwrap();
        pack.factor(model, &packed(&armature), &masks).unwrap();
        pack.solve(model, &packed(&b), &mut x, &mut effort).unwrap();

        let mut one = MassOperator::new(model);
        for k in 0..S::LANES {
            let mut out = vec![0.0; n];
            one.place(model, &q[k]).unwrap();
            one.forward_dynamics(model, &v[k], &b[k], &mut out).unwrap();
            assert_eq!(lane(&forward, k), out);
            let exact = aba(model, work, &q[k], &v[k], &b[k]).unwrap().to_vec();
            let M = mass_matrix(model, work, &q[k]);
            let left = &M * DVector::from_column_slice(&out) - &M * DVector::from_column_slice(&exact);
            let slack = 100.0 * EPS * (condition(&M) * norm(&b[k]) + M.norm() * norm(&exact) * condition(&M));
            assert!(left.norm() <= slack, "{} {slack}", left.norm());

            one.inverse_dynamics(model, &v[k], &a[k], &mut out).unwrap();
            assert_eq!(lane(&inverse, k), out);
            let exact = rnea(model, work, &q[k], &v[k], &a[k]).unwrap();
            assert!(distance(&out, exact) <= 500.0 * EPS * (norm(exact) + M.norm() * norm(&a[k])), "{out:?} {exact:?}");
            one.bias_efforts(model, &model.gravity, &v[k], &mut out).unwrap();
            assert_eq!(lane(&bias, k), out);
            one.multiply(model, &armature[k], &a[k], &mut out).unwrap();
            assert_eq!(lane(&product, k), out);
            one.diagonal(model, &armature[k], &mut out).unwrap();
            assert_eq!(lane(&diagonal, k), out);

            let (mut alone, mut held) = (given[k].clone(), vec![0.0; n]);
            one.factor(model, &armature[k], &locked[k]).unwrap();
            one.solve(model, &b[k], &mut alone, &mut held).unwrap();
            assert_eq!(lane(&x, k), alone);
            (0..n).filter(|&i| locked[k][i]).for_each(|i| assert_eq!(effort[i].lane(k), held[i]));
        }
    });
    assert!(n_mixed > 100, "{n_mixed}");
}

/// A machine without inertia, or far away, is no number; the others do not notice.
#[test]
fn a_lane_without_inertia_leaves_the_others_alone() {
    let mut builder = ModelBuilder::new();
    builder.link("rod", LinkInertia::diagonal(1.0, Vector3::new(0.3, 0.0, 0.0), 0.0, 0.01, 0.01));
    builder.joint(JointSpec::revolute("hinge", "world", "rod", Vector3::x()));
    let model = builder.build().unwrap();
    let mut pack = MassOperator::<Pack4>::new(&model);
    pack.place(&model, &[Pack4::from_slice(&[0.1, 1e7, f64::NAN, -2.0])]).unwrap();
    let (mut x, mut effort) = ([Pack4::ZERO], [Pack4::ZERO]);
    pack.factor(&model, &[Pack4::from_slice(&[1.0, 2.0, 1.0, 0.0])], &[Mask::splat(false)]).unwrap();
    pack.solve(&model, &[Pack4::splat(3.0)], &mut x, &mut effort).unwrap();
    let x: [f64; 4] = std::array::from_fn(|k| x[0].lane(k));
    assert!((x[0] - 3.0).abs() <= 4.0 * EPS && (x[1] - 1.5).abs() <= 4.0 * EPS, "{x:?}");
    assert!(x[2].is_nan() && x[3].is_nan(), "{x:?}");
}

/// Sine and cosine of a pack are those of one number, to the bit, also where a lane is beyond the reduction.
#[test]
fn sine_of_a_pack_has_the_bits_of_one() {
    let mut random = Random::new(1);
    for size in [1.0, 100.0, 1e6, 1e9] {
        for _ in 0..1000 {
            let x = Pack8::from_lanes(|_| random.real(-size, size));
            let (s, c) = x.sin_cos();
            (0..8).for_each(|k| assert_eq!((s.lane(k), c.lane(k)), sin_cos(x.lane(k))));
        }
    }
}

//! Margins and distributions against enumeration.

use super::*;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A group with limits [up, down]; the strength is the larger limit; rows of β and −A.
fn group(limits: &[[f64; 2]], rows: &[&[f64]]) -> LimitAnalysis {
    let mut group = LimitAnalysis::new(limits.len());
    group.fill(rows.len(), limits.iter().map(|&[up, down]| ([up, down], up.max(down))), |i, j| rows[i][j]);
    group
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-13, "{value}, expected {expected}");
}

#[test]
fn parallel_contacts_share_by_strength() {
    // f1 + f2 = 2 of 4
    let mut group = group(&[[1.0, 1.0], [3.0, 3.0]], &[&[2.0, -1.0]]);
    assert_near(group.largest_margin(), 0.5);
    assert!(group.slip[1] > 0.0 && group.slip[2] == group.slip[1], "{:?}", group.slip);
    group.distribute();
    assert_near(group.value[1], 0.5);
    assert_near(group.value[2], 1.5);
}

#[test]
fn geared_contact_reaches_its_limit_first() {
    // f1 + 3.7 f2 = 9.5, limits 4 and 2: the capacity is 11.4
    let mut group = group(&[[4.0, 4.0], [2.0, 2.0]], &[&[9.5, -3.7]]);
    assert_near(group.largest_margin(), 1.0 - 9.5 / 11.4);
    group.distribute();
    assert_near(group.value[1] + 3.7 * group.value[2], 9.5);
    // the unconstrained minimum of f1²/4 + f2²/2 has f2 = 1.85 f1, beyond the limit of the second
    assert_near(group.value[2], 2.0);
}

#[test]
fn one_way_contact_slips_on_load_reversal() {
    // f1 + f2 = load; f1 holds only backward, f2 holds 1 in both directions: capacity 1 forward and 11 backward,
    // continuous
    for (load, holds) in [(-11.1, false), (-10.9, true), (-0.1, true), (0.0, true), (0.9, true), (1.1, false)] {
        let mut group = group(&[[0.0, 10.0], [1.0, 1.0]], &[&[load, -1.0]]);
        assert_eq!(group.largest_margin() > 0.0, holds, "{load}");
        assert!(group.slip[1..].iter().all(|slip| *slip != 0.0), "{:?}", group.slip);
    }
    // where f2 is open in the other direction as well, the load may not reverse
    for (load, largest_margin) in [(-2.0, 0.1), (-1e-9, 5e-11), (1e-9, -5e-11)] {
        let mut group = group(&[[0.0, 10.0], [0.0, 10.0]], &[&[load, -1.0]]);
        assert_near(group.largest_margin(), largest_margin);
    }
}

#[test]
fn distribution_is_the_least_cost() {
    let mut n_at_limit = 0;
    for seed in 0..500 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(3..=10);
        let n_basic = rng.random_range(1..=n / 2);
        let limits: Vec<[f64; 2]> = (0..n).map(|_| [0; 2].map(|_| rng.random_range(0.5..3.0))).collect();
        // loads for which the efforts are near their limits
        let near = |[up, down]: &[f64; 2], x: f64| if x < 0.0 { (x - 0.001) * down } else { (x - 0.001) * up };
        let carried: Vec<f64> = limits
            .iter()
            .map(|limit| near(limit, rng.random_range(0.6..1.0_f64) * [1.0, -1.0][rng.random_range(0..2)]))
            .collect();
        let mut row = |i: usize| {
            let others: Vec<f64> = (n_basic..n).map(|_| rng.random_range(-2.0..2.0)).collect();
            let given: f64 = others.iter().zip(&carried[n_basic..]).map(|(a, f)| a * f).sum();
            std::iter::once(carried[i] - given).chain(others).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = (0..n_basic).map(&mut row).collect();
        let mut group = group(&limits, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
        if group.largest_margin() < 1e-6 {
            continue;
        }
        group.distribute();
        let cost =
            |f: &[f64]| -> f64 { f.iter().zip(&limits).map(|(f, limit)| f * f / limit[usize::from(*f < 0.0)]).sum() };
        let found = group.value[1..].to_vec();
        let is_within = |f: &[f64]| f.iter().zip(&limits).all(|(f, [up, down])| (-down..=*up).contains(f));
        // contacts at a limit, and the direction away from it
        let inward = |c: usize| f64::from(i8::from(found[c] == -limits[c][1]) - i8::from(found[c] == limits[c][0]));
        let at_limit: Vec<usize> = (0..n).filter(|&c| inward(c) != 0.0).collect();
        n_at_limit += at_limit.len();
        let follows = |c: usize, j: usize| match c < n_basic {
            true => rows[c][1 + j],
            false => f64::from(u8::from(c == n_basic + j)),
        };
        let normals = DMatrix::from_fn(at_limit.len(), n - n_basic, |r, j| follows(at_limit[r], j));
        let svd = (!at_limit.is_empty()).then(|| normals.clone().svd(true, true));
        for _ in 0..100 {
            // (1) along any change of the nonbasic efforts that leads away from the limits
            let mut given = DVector::from_fn(n - n_basic, |_, _| rng.random_range(-1.0..1.0));
            if let Some(svd) = &svd {
                let back = at_limit.iter().map(|&c| inward(c) * 10.0_f64.powf(rng.random_range(-4.0..0.0)));
                let back = DVector::from_iterator(at_limit.len(), back);
                given += svd.solve(&(back - &normals * &given), 1e-10).unwrap();
            }
            let change = |c: usize| (0..n - n_basic).map(|j| follows(c, j) * given[j]).sum::<f64>();
            for length in [1e-4, 1e-3, 1e-2, 0.1] {
                let other: Vec<f64> = (0..n).map(|c| found[c] + length * change(c)).collect();
                assert!(!is_within(&other) || cost(&other) >= cost(&found) - 1e-12, "seed {seed}: {found:?} {other:?}");
            }
        }
    }
    assert!(n_at_limit > 50, "{n_at_limit}");
}

#[test]
fn contact_at_its_limit_on_the_way_returns_from_it() {
    // a search among 200,000 groups found the limits: on its way the first contact meets its limit of 0.677
    let limits = [[0.677, 0.799], [1.267, 2.923], [6.252, 3.761], [0.34, 0.682], [0.134, 5.479]];
    let rows: [&[f64]; 3] = [&[0.621, -0.6, 0.8], &[0.179, 1.0, 0.2], &[4.236, 0.3, -2.0]];
    let mut group = group(&limits, &rows);
    assert!(group.largest_margin() > 0.1);
    group.distribute();
    let f = &group.value[1..];
    assert!(f.iter().zip(&limits).all(|(f, [up, down])| -0.99 * down < *f && *f < 0.99 * up), "{f:?}");
    // inside all limits the least sum has vanishing slopes in both nonbasic efforts
    let share = |c: usize| f[c] / limits[c][usize::from(f[c] < 0.0)];
    for j in 0..2 {
        assert_near(share(3 + j) + (0..3).map(|c| share(c) * rows[c][1 + j]).sum::<f64>(), 0.0);
    }
}

#[test]
fn zero_load_gives_zero_efforts() {
    let mut group = group(&[[1.0, 1.0], [3.0, 3.0]], &[&[0.0, -1.0]]);
    assert_near(group.largest_margin(), 1.0);
    group.distribute();
    assert_eq!(group.value[1..], [0.0, 0.0]);
}

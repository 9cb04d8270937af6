//! Chains with marginal joints and nearly singular matrices.

use super::*;

/// Delassus matrix of a straight hanging chain of `n` links: M_ij = Σ m_k (x_k − x_i)(x_k − x_j) over the links beyond
/// both joints, and the inertias of the links themselves.
fn chain_delassus(rng: &mut Pcg64, n: usize) -> DMatrix<f64> {
    let links: Vec<(f64, f64)> = (0..n).map(|_| (rng.random_range(0.05..0.5), rng.random_range(0.05..0.3))).collect();
    let joint: Vec<f64> = (0..n).map(|i| links[..i].iter().map(|link| link.1).sum()).collect();
    let mass = DMatrix::from_fn(n, n, |i, j| {
        let beyond = (i.max(j)..n).map(|k| {
            let ((m, length), centre) = (links[k], joint[k] + 0.5 * links[k].1);
            m * ((centre - joint[i]) * (centre - joint[j]) + length * length / 12.0)
        });
        beyond.sum()
    });
    let w = mass.cholesky().unwrap().inverse();
    (&w + w.transpose()) * 0.5
}

/// A problem with equal levels constructed from its solution: joints that stick well within their limits, joints that
/// slide and, for the fraction `marginal`, joints at their limits without acceleration.
fn made_from_solution(rng: &mut Pcg64, w: DMatrix<f64>, marginal: f64) -> (Problem, Vec<f64>, Vec<Option<Mode>>) {
    let n = w.nrows();
    let is_equal = rng.random_bool(0.5);
    let kinetic: Vec<f64> = (0..n).map(|_| if is_equal { 0.7 } else { rng.random_range(0.1..2.0) }).collect();
    let (mut f, mut a, mut modes) = (vec![0.0; n], DVector::zeros(n), vec![None; n]);
    let loaded = rng.random_range(0.0..1.0);
    for i in 0..n {
        let side = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        f[i] = side * kinetic[i];
        if rng.random_bool(marginal) {
            continue;
        }
        if rng.random_bool(loaded) {
            a[i] = side * w[(i, i)] * kinetic[i] * rng.random_range(0.01..1.0);
            modes[i] = Some(Mode::of_sign(side));
        } else {
            f[i] *= rng.random_range(0.0..0.9);
            modes[i] = Some(Stuck);
        }
    }
    let a0 = a + &w * DVector::from_column_slice(&f);
    let breaking = (0..n).filter(|&i| modes[i].is_none()).take(rng.random_range(0..=1)).collect();
    (Problem { a0: a0.as_slice().to_vec(), w, stiction: kinetic.clone(), kinetic, breaking }, f, modes)
}

#[test]
fn chains_with_marginal_joints_recover_their_solution() {
    let mut rng = Pcg64::seed_from_u64(9);
    let (mut most_rounds, mut worst) = (0, 0.0_f64);
    for k in 0..300 {
        let n = rng.random_range(2..=80);
        let w = chain_delassus(&mut rng, n);
        let eigenvalues = w.symmetric_eigenvalues();
        let condition = eigenvalues.max() / eigenvalues.min();
        let (p, f, modes) = made_from_solution(&mut rng, w, [0.0, 0.1, 0.6][k % 3]);
        let chosen = p.select().unwrap();
        most_rounds = most_rounds.max(chosen.n_factor);
        worst = worst.max(condition);
        for i in 0..n {
            // rounding in W is as good as rounding in the load
            let error = (chosen.friction[i] - f[i]).abs();
            assert!(
                error <= 1e-16 * n as f64 * condition,
                "{i} of {n}: {} ≠ {}, {condition:e}",
                chosen.friction[i],
                f[i]
            );
            assert!(chosen.friction[i].abs() <= p.kinetic[i] * (1.0 + 1e-9));
            if let Some(mode) = modes[i] {
                assert_eq!(chosen.mode[i], mode, "{i} of {n}, problem {k}");
            }
            if p.breaking.contains(&i) {
                assert_eq!(chosen.mode[i], Mode::of_sign(f[i]), "{i} of {n} breaks away");
            }
        }
    }
    println!("condition up to {worst:.1e}, {most_rounds} rounds at most");
    assert!(worst > 1e9 && most_rounds < 400, "condition {worst:e}, {most_rounds} rounds");
}

#[test]
fn nearly_singular_matrices_are_decided() {
    // units of joints apart by up to 1e6, then almost dependent joints: the conditions hold to rounding in the terms
    // of (1)
    let mut rng = Pcg64::seed_from_u64(10);
    for k in 0..400 {
        let n = rng.random_range(2..=40);
        let b = DMatrix::from_fn(n, n, |_, _| rng.random_range(-1.0..1.0));
        let small = 10.0_f64.powf(rng.random_range(-12.0..-2.0));
        let low = b.columns(0, n.div_ceil(2));
        let units: Vec<f64> = (0..n).map(|_| 10.0_f64.powf(rng.random_range(-3.0..3.0))).collect();
        let w = low * low.transpose() + DMatrix::from_diagonal_element(n, n, small);
        let w = DMatrix::from_fn(n, n, |r, c| w[(r, c)] * units[r] * units[c]);
        let mut limit: Vec<f64> = units.iter().map(|unit| rng.random_range(0.1..2.0) / unit).collect();
        (0..n / 5).for_each(|_| limit[rng.random_range(0..n)] = 0.0);
        let load = DVector::from_fn(n, |i, _| rng.random_range(-2.0..2.0) / units[i]);
        let a0 = (&w * load).as_slice().to_vec();
        let p = Problem { w, a0, stiction: limit.clone(), kinetic: limit, breaking: vec![] };
        let chosen = p.select().unwrap();
        let a = p.acceleration(&chosen.friction);
        for i in 0..n {
            let (f, mode) = (chosen.friction[i], chosen.mode[i]);
            let size = p.a0[i].abs() + (0..n).map(|j| (p.w[(i, j)] * chosen.friction[j]).abs()).sum::<f64>();
            let place = || format!("{i} of {n}, problem {k}: {mode:?} f {f:e} a {:e} size {size:e}", a[i]);
            match mode {
                Stuck => assert!(f.abs() <= p.kinetic[i] * (1.0 + 1e-9) && a[i].abs() <= 1e-10 * size, "{}", place()),
                _ => {
                    assert_eq!(f, mode.direction() * p.kinetic[i], "{}", place());
                    assert!(a[i] * mode.direction() >= -1e-10 * size, "{}", place());
                }
            }
        }
    }
}

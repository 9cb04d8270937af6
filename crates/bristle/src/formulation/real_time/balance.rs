//! All contacts of a step at once.
//!
//! ```text
//! ω = ω* − D λ,     λ_c = λ_c(ω_c)                D = W A⁻¹ Wᵀ                                     (1)
//! ```
//!
//! With the map of one contact, λ_c = met_c(y_c), y_c = ω*_c − Σ_{d≠c} D_cd λ_d, (1) is a fixed point. Newton on it:
//!
//! ```text
//! (1 + S (D − diag D)) δ = met(y) − λ,            S_cc = d met_c/dy = λ'/(1 + D_cc λ')             (2)
//! ```
//!
//! S_cc = 1/D_cc for a contact that is stuck. Every λ_c(ω) rises, so (1) is the optimality condition of a convex problem: its
//! solution ω is unique. Where a Newton step brings no progress a sweep of Gauss–Seidel takes its place, which does descend: one
//! contact after the other takes its own best answer to the others. Contacts that do the same work twice (two stuck clutches side by
//! side) share it in one of many ways; ω is the same in all of them.

use super::grip::Met;

/// Rounds in all, Newton or sweep. Two or three are usual.
pub(super) const MOST_ROUNDS: usize = 200;

/// Error in ω, relative to the terms of (1), at which the contacts are balanced.
const BALANCED: f64 = 1e-12;

/// What of 1/D_cc a stuck contact may count for in (2): the rest keeps the matrix regular where contacts do the same work.
const NEARLY: f64 = 1.0 - 1e-9;

/// Contacts of a step and their impulses; arrays are made once. See the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct Balance {
    n: usize,
    /// D, n × n.
    pub delassus: Vec<f64>,
    /// ω*.
    pub free: Vec<f64>,
    /// Where each contact stands; λ of the last call to begin with.
    pub met: Vec<Met>,
    /// λ of which `met` is the image.
    lambda: Vec<f64>,
    /// met − λ.
    gap: Vec<f64>,
    /// The same at the end of a Newton step.
    trial: Vec<f64>,
    trial_met: Vec<Met>,
    trial_gap: Vec<f64>,
    /// (2) and its right-hand side, then its solution.
    matrix: Vec<f64>,
    step: Vec<f64>,
}

impl Balance {
    pub fn new(n: usize) -> Self {
        Self {
            n,
            delassus: vec![0.0; n * n],
            free: vec![0.0; n],
            met: vec![Met::default(); n],
            lambda: vec![0.0; n],
            gap: vec![0.0; n],
            trial: vec![0.0; n],
            trial_met: vec![Met::default(); n],
            trial_gap: vec![0.0; n],
            matrix: vec![0.0; n * n],
            step: vec![0.0; n],
        }
    }

    /// Solves (1); `meet(c, y, D_cc, guess)` is the map of contact c. Rounds it took, or the contact furthest from balance.
    pub fn solve(&mut self, meet: impl Fn(usize, f64, f64, f64) -> Met) -> Result<usize, usize> {
        let Self { n, delassus, free, met, lambda, gap, trial, trial_met, trial_gap, matrix, step } = self;
        let n = *n;
        if n == 0 {
            return Ok(0);
        }
        lambda.iter_mut().zip(&*met).for_each(|(lambda, met)| *lambda = met.lambda);
        let evaluate = |lambda: &[f64], met: &mut [Met], gap: &mut [f64]| {
            let mut worst = (0.0, 0);
            for c in 0..n {
                let (y, size) = felt(delassus, free, lambda, c);
                let d = delassus[c * n + c];
                met[c] = meet(c, y, d, met[c].omega);
                gap[c] = met[c].lambda - lambda[c];
                let off = d * gap[c].abs() / (size + d * (lambda[c].abs() + met[c].size) + f64::MIN_POSITIVE);
                // NaN counts as far off
                if off > worst.0 || off.is_nan() {
                    worst = (off, c);
                }
            }
            worst
        };
        let mut worst = evaluate(lambda, met, gap);
        for round in 1..=MOST_ROUNDS {
            if worst.0 <= BALANCED {
                return Ok(round);
            }
            // (2)
            for c in 0..n {
                let d = delassus[c * n + c];
                let s = match met[c].slope {
                    _ if d == 0.0 => 0.0,
                    f64::INFINITY => NEARLY / d,
                    slope => slope / (1.0 + d * slope),
                };
                for other in 0..n {
                    matrix[c * n + other] = if other == c { 1.0 } else { s * delassus[c * n + other] };
                }
            }
            step.copy_from_slice(gap);
            if eliminate(matrix, step, n) {
                (0..n).for_each(|c| trial[c] = lambda[c] + step[c]);
                trial_met.copy_from_slice(met);
                let reached = evaluate(trial, trial_met, trial_gap);
                if reached.0 <= 0.9 * worst.0 {
                    worst = reached;
                    std::mem::swap(lambda, trial);
                    std::mem::swap(met, trial_met);
                    std::mem::swap(gap, trial_gap);
                    continue;
                }
            }
            // a sweep: each contact in turn
            for c in 0..n {
                let (y, _) = felt(delassus, free, lambda, c);
                met[c] = meet(c, y, delassus[c * n + c], met[c].omega);
                lambda[c] = met[c].lambda;
            }
            worst = evaluate(lambda, met, gap);
        }
        if worst.0 <= BALANCED { Ok(MOST_ROUNDS) } else { Err(worst.1) }
    }
}

/// y_c, and the size of its terms.
fn felt(delassus: &[f64], free: &[f64], lambda: &[f64], c: usize) -> (f64, f64) {
    let n = free.len();
    let (mut y, mut size) = (free[c], free[c].abs());
    for (other, lambda) in lambda.iter().enumerate() {
        if other != c {
            let part = delassus[c * n + other] * lambda;
            y -= part;
            size += part.abs();
        }
    }
    (y, size)
}

/// Gaussian elimination with row pivoting, in place; `false` where a pivot vanishes.
fn eliminate(matrix: &mut [f64], x: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let mut p = k;
        for i in k + 1..n {
            if matrix[i * n + k].abs() > matrix[p * n + k].abs() {
                p = i;
            }
        }
        let pivot = matrix[p * n + k];
        if pivot == 0.0 || pivot.is_nan() {
            return false;
        }
        if p != k {
            (0..n).for_each(|j| matrix.swap(k * n + j, p * n + j));
            x.swap(k, p);
        }
        for i in k + 1..n {
            let factor = matrix[i * n + k] / pivot;
            if factor != 0.0 {
                for j in k + 1..n {
                    matrix[i * n + j] -= factor * matrix[k * n + j];
                }
                x[i] -= factor * x[k];
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| matrix[k * n + j] * x[j]).sum();
        x[k] = (x[k] - sum) / matrix[k * n + k];
    }
    x.iter().all(|x| x.is_finite())
}

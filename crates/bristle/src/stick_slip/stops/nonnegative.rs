//! The linear complementarity problem of impulses that only push:
//!
//! ```text
//! u = W p + b,        0 ≤ u ⊥ p ≥ 0                                          (1)
//! ```
//!
//! with W symmetric and positive semidefinite: the optimality conditions of min ½ pᵀW p + bᵀp over p ≥ 0. The
//! active-set method of Lawson and Hanson (*Solving Least Squares Problems*, 1974, chapter 23): the index with the
//! most negative u joins the set S of positive p; p moves towards W_SS p_S = −b_S, up to the first p that vanishes,
//! which leaves S.
//!
//! Where the row of the new index depends on those of S, the motion has a direction in which u_S does not change: p
//! moves along it until one of S vanishes. Rows that depend on one another belong to stops between which couplings
//! leave one motion; the stop with the larger restitution then acts alone.
//!
//! *Bilateral* indices have u = 0 and p of either sign: they belong to S from the beginning and do not leave it.

use crate::modes::{factorise, solve_factorised};

/// u below this, relative to its terms, counts as zero.
const ROUNDING: f64 = 1e-12;

/// Scratch; grows to the largest problem seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Nonnegative {
    /// p.
    pub value: Vec<f64>,
    /// S, increasing; whether each index is bilateral, and whether it was refused for lack of progress.
    set: Vec<usize>,
    is_bilateral: Vec<bool>,
    is_refused: Vec<bool>,
    factor: Vec<f64>,
    step: Vec<f64>,
    /// S without the new index, and their part of a direction.
    others: Vec<usize>,
    change: Vec<f64>,
}

impl Nonnegative {
    /// Room for `n` unknowns.
    pub fn new(n: usize) -> Self {
        let (list, numbers) = (|| Vec::with_capacity(n), || Vec::with_capacity(n));
        Self {
            value: list(),
            set: numbers(),
            is_bilateral: Vec::with_capacity(n),
            is_refused: Vec::with_capacity(n),
            factor: Vec::with_capacity(n * n),
            step: list(),
            others: numbers(),
            change: list(),
        }
    }

    /// Solves (1); `w` is W row by row. Whether it was solved: `false` if W is not positive semidefinite. A bilateral
    /// index whose row depends on those before it is locked by them.
    pub fn solve(&mut self, w: &[f64], b: &[f64], bilateral: &[bool]) -> bool {
        let n = b.len();
        self.value.clear();
        self.value.resize(n, 0.0);
        self.is_refused.clear();
        self.is_refused.resize(n, false);
        self.factor.resize(n * n, 0.0);
        self.step.resize(n, 0.0);
        self.set.clear();
        self.is_bilateral.clear();
        self.is_bilateral.resize(n, false);
        for i in (0..n).filter(|&i| bilateral[i]) {
            self.is_bilateral[i] = self.join(w, b, i, true);
        }
        // each set occurs at most once
        for _ in 0..(1_usize << n.min(16)) {
            let Some(i) = self.most_negative(w, b) else { return true };
            if w[i * n + i] <= 0.0 {
                return false;
            }
            if !self.join(w, b, i, false) {
                self.is_refused[i] = true;
            } else {
                self.is_refused.fill(false);
            }
        }
        false
    }

    /// u of index i, and the magnitude of its terms.
    fn slack(&self, w: &[f64], b: &[f64], i: usize) -> (f64, f64) {
        let n = b.len();
        self.set.iter().fold((b[i], b[i].abs()), |(u, size), &j| {
            let term = w[i * n + j] * self.value[j];
            (u + term, size + term.abs())
        })
    }

    /// The index outside S with the most negative u, relative to its terms.
    fn most_negative(&self, w: &[f64], b: &[f64]) -> Option<usize> {
        let (mut most, mut found) = (ROUNDING, None);
        for i in (0..b.len()).filter(|i| !self.set.contains(i) && !self.is_refused[*i]) {
            let (u, size) = self.slack(w, b, i);
            if -u > most * size {
                (most, found) = (-u / size, Some(i));
            }
        }
        found
    }

    /// Index i joins S, bilateral if `is_free`; p moves until u_S = 0. Whether it is in S then.
    fn join(&mut self, w: &[f64], b: &[f64], i: usize, is_free: bool) -> bool {
        let n = b.len();
        let place = self.set.partition_point(|&j| j < i);
        self.set.insert(place, i);
        while !self.set.is_empty() {
            let m = self.set.len();
            let set = &self.set;
            let is_regular = factorise(m, &mut self.factor, |r, c| w[set[r] * n + set[c]]).is_ok();
            if is_regular {
                for (step, &j) in self.step.iter_mut().zip(set) {
                    *step = -b[j];
                }
                solve_factorised(m, &self.factor, &mut self.step[..m]);
                for (step, &j) in self.step.iter_mut().zip(set) {
                    *step -= self.value[j];
                }
            } else if is_free || !self.null_direction(w, n, i) {
                self.set.retain(|&j| j != i);
                self.value[i] = 0.0;
                return false;
            }
            // the first p that vanishes
            let mut reach = if is_regular { 1.0 } else { f64::INFINITY };
            let mut leaves = None;
            for (&step, &j) in self.step.iter().zip(&self.set) {
                let is_bounded = !self.is_bilateral[j] && !is_free;
                if is_bounded && step < 0.0 && -self.value[j] / step < reach {
                    (reach, leaves) = (-self.value[j] / step, Some(j));
                }
            }
            if !reach.is_finite() {
                return false;
            }
            for (&step, &j) in self.step.iter().zip(&self.set) {
                self.value[j] += reach * step;
            }
            let Some(leaves) = leaves else { break };
            self.value[leaves] = 0.0;
            self.set.retain(|&j| j != leaves);
        }
        self.set.contains(&i)
    }

    /// The direction of motion of p in which p_i grows and u_S does not change. Whether there is one.
    fn null_direction(&mut self, w: &[f64], n: usize, i: usize) -> bool {
        let Self { set, others, change, factor, step, .. } = self;
        others.clear();
        others.extend(set.iter().filter(|&&j| j != i));
        let m = others.len();
        if factorise(m, factor, |r, c| w[others[r] * n + others[c]]).is_err() {
            return false;
        }
        change.clear();
        change.extend(others.iter().map(|&j| -w[j * n + i]));
        solve_factorised(m, factor, change);
        let mut change = change.iter();
        for (step, &j) in step.iter_mut().zip(&*set) {
            *step = if j == i { 1.0 } else { change.next().copied().unwrap_or(0.0) };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(w: &[f64], b: &[f64]) -> Vec<f64> {
        let mut problem = Nonnegative::new(b.len());
        assert!(problem.solve(w, b, &vec![false; b.len()]));
        problem.value.clone()
    }

    #[test]
    fn two_blocks_push_together() {
        // masses 2 and 1 in series (reference S6): W of the relative coordinates
        let w = [0.5, -0.5, -0.5, 1.5];
        let p = solve(&w, &[-1.5, -0.75]);
        assert!((p[0] - 5.25).abs() < 1e-13 && (p[1] - 2.25).abs() < 1e-13, "{p:?}");
    }

    #[test]
    fn the_larger_restitution_of_dependent_stops_acts() {
        for order in [[-1.5, -1.0], [-1.0, -1.5]] {
            let p = solve(&[1.0, 1.0, 1.0, 1.0], &order);
            let larger = if order[0] < order[1] { 0 } else { 1 };
            assert!((p[larger] - 1.5).abs() < 1e-15 && p[1 - larger] == 0.0, "{p:?}");
        }
    }

    #[test]
    fn random_problems_satisfy_complementarity() {
        let mut seed = 1_u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / f64::from(1_u32 << 31) * 2.0 - 1.0
        };
        for n in 1..8_usize {
            for rank in [n, n.div_ceil(2)] {
                for _ in 0..50 {
                    // W = G Gᵀ, b = G v: feasible, since p = 0 is optimal for some shift of v
                    let g: Vec<f64> = (0..n * rank).map(|_| next()).collect();
                    let v: Vec<f64> = (0..rank).map(|_| next()).collect();
                    let dot =
                        |r: usize, x: &dyn Fn(usize) -> f64| (0..rank).map(|k| g[r * rank + k] * x(k)).sum::<f64>();
                    let w: Vec<f64> = (0..n * n).map(|at| dot(at / n, &|k| g[at % n * rank + k])).collect();
                    let b: Vec<f64> = (0..n).map(|r| dot(r, &|k| v[k])).collect();
                    let p = solve(&w, &b);
                    for i in 0..n {
                        let u = (0..n).fold(b[i], |u, j| u + w[i * n + j] * p[j]);
                        assert!(p[i] >= 0.0 && u >= -1e-9 && (p[i] * u).abs() < 1e-8, "{n} {rank}: {p:?} {u}");
                    }
                }
            }
        }
    }
}

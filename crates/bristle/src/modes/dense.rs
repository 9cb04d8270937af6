//! The problem with its Delassus matrix W given, dense, and L D Lᵀ factors of symmetric matrices.

use super::{AtRest, ModeError, ModeWork, Response, RestDynamics};

/// The operations with W given.
pub(super) struct Dense<'a> {
    pub rest: &'a AtRest<'a>,
    /// Factors of W_SS, see [`factorise`]; n × n.
    pub factor: &'a mut [f64],
}

impl RestDynamics for Dense<'_> {
    fn lock_stuck(
        &mut self,
        stuck: &[usize],
        f: &[f64],
        step: &mut [f64],
        response: &mut [Response],
    ) -> Result<(), ModeError> {
        let (m, n, w) = (stuck.len(), f.len(), self.rest.delassus);
        factorise(m, self.factor, |r, c| w[stuck[r] * n + stuck[c]])
            .map_err(|k| ModeError::Dependent { joint: stuck[k] })?;
        for (step, &i) in step.iter_mut().zip(stuck) {
            *step = acceleration(self.rest, f, i).0;
        }
        solve_factorised(m, self.factor, &mut step[..m]);
        for (i, response) in response.iter_mut().enumerate() {
            let (mut a, mut size) = acceleration(self.rest, f, i);
            for (step, &j) in step.iter().zip(stuck) {
                let term = w[i * n + j] * step;
                a -= term;
                size += term.abs();
            }
            *response = Response { acceleration: a, size, inertia: 1.0 / w[i * n + i] };
        }
        Ok(())
    }

    /// (1 + √Θ W √Θ) y = √Θ (a₀ − W f − g), Δf = √Θ y; locked joints have W itself.
    fn newton(
        &mut self,
        theta: &[f64],
        f: &[f64],
        g: &[f64],
        step: &mut [f64],
        a: &mut [f64],
        is_new: bool,
    ) -> Result<(), ModeError> {
        let (n, w) = (f.len(), self.rest.delassus);
        let root = |i: usize| if theta[i].is_finite() { theta[i].sqrt() } else { 1.0 };
        if is_new {
            let own = |i: usize| if theta[i].is_finite() { 1.0 } else { 0.0 };
            let entry = |r: usize, c: usize| root(r) * w[r * n + c] * root(c) + if r == c { own(r) } else { 0.0 };
            factorise(n, self.factor, entry).map_err(|joint| ModeError::Dependent { joint })?;
        }
        for i in 0..n {
            step[i] = root(i) * (acceleration(self.rest, f, i).0 - g[i]);
        }
        solve_factorised(n, self.factor, step);
        (0..n).for_each(|i| step[i] *= root(i));
        for i in 0..n {
            let change = dot(&w[i * n..(i + 1) * n], step);
            a[i] = if theta[i].is_finite() { acceleration(self.rest, f, i).0 - change } else { 0.0 };
        }
        Ok(())
    }
}

/// (1) for one joint: its acceleration, and the magnitude of its terms.
pub(super) fn acceleration(rest: &AtRest, f: &[f64], i: usize) -> (f64, f64) {
    let (mut a, mut size) = (rest.free_acceleration[i], rest.free_acceleration[i].abs());
    for (w, f) in rest.delassus[i * f.len()..].iter().zip(f) {
        a -= w * f;
        size += (w * f).abs();
    }
    (a, size)
}

/// W of (1) from the mass matrix of the whole machine (n × n, row by row): the rows and columns `at_rest` of its
/// inverse, into `out`. Joints not listed are free.
pub fn delassus(
    mass_matrix: &[f64],
    n: usize,
    at_rest: &[usize],
    work: &mut ModeWork,
    out: &mut [f64],
) -> Result<(), ModeError> {
    work.resize(n.max(at_rest.len()));
    let factor = &mut work.factor;
    factor.resize(factor.len().max(n * n), 0.0);
    factorise(n, factor, |r, c| mass_matrix[r * n + c]).map_err(|joint| ModeError::Dependent { joint })?;
    for (c, &j) in at_rest.iter().enumerate() {
        let column = &mut work.step[..n];
        column.fill(0.0);
        column[j] = 1.0;
        solve_factorised(n, factor, column);
        for (r, &i) in at_rest.iter().enumerate() {
            out[r * at_rest.len() + c] = column[i];
        }
    }
    Ok(())
}

/// A = L D Lᵀ for a symmetric m × m matrix given by its entries: L below the diagonal, D on it, row by row. There are
/// no square roots, so that one division decides a single joint. The error is the row whose pivot vanishes.
pub(crate) fn factorise(m: usize, l: &mut [f64], a: impl Fn(usize, usize) -> f64) -> Result<(), usize> {
    for r in 0..m {
        let diagonal = a(r, r);
        let mut pivot = diagonal;
        // row r of L D, then of L
        for c in 0..r {
            l[r * m + c] = a(r, c) - dot(&l[r * m..r * m + c], &l[c * m..c * m + c]);
        }
        for c in 0..r {
            let entry = l[r * m + c] / l[c * m + c];
            pivot -= entry * l[r * m + c];
            l[r * m + c] = entry;
        }
        // rounding error of this pivot, a sum of r terms
        if pivot.is_nan() || pivot <= 4.0 * (r + 1) as f64 * f64::EPSILON * diagonal.abs() {
            return Err(r);
        }
        l[r * m + r] = pivot;
    }
    Ok(())
}

/// Σ aᵢ bᵢ; long ones in four independent sums, for pipelining.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours_a, fours_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours_a.remainder().iter().zip(fours_b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours_a.zip(fours_b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Solves L D Lᵀ x = b in place.
pub(crate) fn solve_factorised(m: usize, l: &[f64], x: &mut [f64]) {
    for r in 0..m {
        let dot: f64 = (0..r).map(|c| l[r * m + c] * x[c]).sum();
        x[r] -= dot;
    }
    for r in (0..m).rev() {
        let dot: f64 = (r + 1..m).map(|k| l[k * m + r] * x[k]).sum();
        x[r] = x[r] / l[r * m + r] - dot;
    }
}

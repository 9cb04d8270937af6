//! Newton's method on all stages of a collocation method at once, each with a Jacobian of its own in every iteration:
//!
//! ```text
//!     Σₖ (A⁻¹)ₛₖ M/h Δzₖ − Jₛ Δzₛ = Rₛ,        s = 1 … S
//! ```
//!
//! a real system of S·n unknowns. It is expensive, and converges where the simplified iteration with one Jacobian does
//! not: where the equations change within one step. It serves steps of a prescribed length; under error control a
//! shorter step is cheaper.

use crate::linear::{Lu, Shortage};
use crate::newton::{Iteration, Linearised};
use crate::{Failure, Form, Stats, Step, System};

/// Scratch and coefficients. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct CoupledStages<const S: usize> {
    /// Nodes.
    c: [f64; S],
    /// A⁻¹.
    inverse: [[f64; S]; S],
    pub lu: Lu,
    /// Defects, then corrections, stage after stage; S·`n_max`.
    r: Vec<f64>,
    /// Yₛ and Ẏₛ; `n_max` each.
    stage: Vec<f64>,
    rate: Vec<f64>,
}

impl<const S: usize> CoupledStages<S> {
    /// For the nodes `c` and the inverse of the Runge–Kutta matrix.
    pub fn new(n_max: usize, c: [f64; S], inverse: [[f64; S]; S]) -> Self {
        let zeros = || vec![0.0; n_max];
        Self { c, inverse, lu: Lu::new(S * n_max), r: vec![0.0; S * n_max], stage: zeros(), rate: zeros() }
    }

    /// Bytes of its matrix.
    pub fn bytes(&self) -> u64 {
        self.lu.bytes()
    }

    /// Makes room for it.
    pub fn reserve(&mut self) -> Result<(), Shortage> {
        self.lu.reserve()
    }

    /// Stage increments z of a step, from the present ones; the number of iterations. J and M
    /// of `linear` are overwritten.
    pub fn solve<Y: System>(
        &mut self,
        system: &mut Y,
        linear: &mut Linearised,
        step: Step<'_>,
        z: &mut [Vec<f64>; S],
        stats: &mut Stats,
    ) -> Result<usize, Failure> {
        let Step { t, h, y, tolerance } = step;
        let n = y.len();
        let is_explicit = linear.form() == Form::Explicit;
        let mut iteration = Iteration::default();
        loop {
            for s in 0..S {
                for i in 0..n {
                    self.stage[i] = y[i] + z[s][i];
                    let weighted = |k: usize| self.inverse[s][k] * z[k][i];
                    self.rate[i] = (1..S).fold(weighted(0), |sum, k| sum + weighted(k)) / h;
                }
                let (t, stage, rate) = (t + self.c[s] * h, &self.stage[..n], &self.rate[..n]);
                linear.update(system, t, stage, rate, stats)?;
                linear.defect(system, t, stage, rate, &mut self.r[s * n..(s + 1) * n], stats)?;
                // block row s: (A⁻¹)ₛₖ M/h, and −Jₛ on the diagonal
                let matrix = self.lu.matrix_mut(S * n);
                for i in 0..n {
                    for j in 0..n {
                        let mass = if is_explicit { f64::from(u8::from(i == j)) } else { linear.mass[(i, j)] };
                        for k in 0..S {
                            matrix[(s * n + i, k * n + j)] = self.inverse[s][k] / h * mass;
                        }
                        matrix[(s * n + i, s * n + j)] -= linear.jac[(i, j)];
                    }
                }
            }
            stats.n_factor += 1;
            self.lu.factor()?;
            self.lu.solve(&mut self.r[..S * n]);
            stats.n_solve += 1;
            stats.n_newton += 1;
            let mut norm = 0.0_f64;
            for s in 0..S {
                let correction = &self.r[s * n..(s + 1) * n];
                for (i, d) in correction.iter().enumerate() {
                    z[s][i] += d;
                    self.stage[i] = y[i] + z[s][i];
                }
                norm = norm.max(tolerance.norm(correction, y, &self.stage[..n]));
            }
            if iteration.is_done(norm)? {
                return Ok(iteration.n());
            }
        }
    }
}

//! Newton on all three stages at once, each with its own Jacobian, new in every iteration:
//!
//! ```text
//!     (A⁻¹)ₛₖ M/h Δzₖ − Jₛ Δzₛ = Rₛ,        s = 1, 2, 3
//! ```
//!
//! A system of 3n real unknowns, dear, and convergent where the simplified iteration is not: bristles that give way within one step have
//! other Jacobians at its end than at its start. For steps that are prescribed; where errors control the step a shorter one is cheaper.

use super::{AI, C, Radau5, TI};
use crate::linear::Lu;
use crate::newton::Iteration;
use crate::stepper::Tolerance;
use crate::{Failure, Form, Stats, System};

/// Room for it; see the [module](self).
#[derive(Clone, Debug)]
pub(super) struct AllStages {
    pub(super) lu: Lu,
    /// Defects, then corrections, stage after stage; 3 `n_max`.
    r: Vec<f64>,
}

impl AllStages {
    pub fn new(n_max: usize) -> Self {
        Self { lu: Lu::new(3 * n_max), r: vec![0.0; 3 * n_max] }
    }
}

/// Where an iteration starts.
#[derive(Clone, Copy)]
enum Start {
    /// On the tangent.
    Tangent,
    /// Where the step starts.
    Rest,
}

impl Radau5 {
    /// Iterates from each start in turn until one converges; the number of iterations. Nothing where there is no room for it.
    pub(super) fn newton_of_all_stages<S: System>(
        &mut self,
        system: &mut S,
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Option<Result<usize, Failure>> {
        let mut all = self.all.take()?;
        let mut result = Err(Failure::Newton { factor: 0.5 });
        for start in [Start::Tangent, Start::Rest] {
            result = self.iterate(system, &mut all, start, tolerance, stats);
            if !matches!(result, Err(Failure::Newton { .. } | Failure::NonFinite { .. } | Failure::Singular { .. })) {
                break;
            }
        }
        self.all = Some(all);
        // what the simplified iteration knows is of no use for the next step
        (self.is_slow, self.eta) = (true, 1.0);
        Some(result)
    }

    fn iterate<S: System>(
        &mut self,
        system: &mut S,
        all: &mut AllStages,
        start: Start,
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<usize, Failure> {
        let (n, t, h) = (self.n, self.t, self.h);
        let is_explicit = self.linear.form() == Form::Explicit;
        for (z, c) in self.z.iter_mut().zip(C) {
            for (z, rate) in z[..n].iter_mut().zip(&self.f0) {
                *z = if let Start::Tangent = start { c * h * rate } else { 0.0 };
            }
        }
        // the Jacobian kept is overwritten
        (self.has_jacobian, self.lu_h) = (false, 0.0);
        let mut iteration = Iteration::default();
        for k in 1.. {
            for s in 0..3 {
                for i in 0..n {
                    self.stage[i] = self.y0[i] + self.z[s][i];
                    self.rate[i] = super::rate(s, h, self.z[0][i], self.z[1][i], self.z[2][i]);
                }
                let (stage, rate) = (&self.stage[..n], &self.rate[..n]);
                self.linear.update(system, t + C[s] * h, stage, rate, stats)?;
                self.linear.defect(system, t + C[s] * h, stage, rate, &mut all.r[s * n..(s + 1) * n], stats)?;
                let matrix = all.lu.matrix_mut(3 * n);
                for i in 0..n {
                    for j in 0..n {
                        let mass = if is_explicit { f64::from(u8::from(i == j)) } else { self.linear.mass[(i, j)] };
                        for k in 0..3 {
                            matrix[(s * n + i, k * n + j)] = AI[s][k] / h * mass;
                        }
                        matrix[(s * n + i, s * n + j)] -= self.linear.jac[(i, j)];
                    }
                }
            }
            stats.n_factor += 1;
            stats.n_solve += 1;
            stats.n_newton += 1;
            all.lu.factor()?;
            all.lu.solve(&mut all.r[..3 * n]);
            let mut norm = 0.0_f64;
            for s in 0..3 {
                let correction = &all.r[s * n..(s + 1) * n];
                for (i, d) in correction.iter().enumerate() {
                    self.z[s][i] += d;
                    self.stage[i] = self.y0[i] + self.z[s][i];
                }
                norm = norm.max(tolerance.norm(correction, &self.y0[..n], &self.stage[..n]));
            }
            if iteration.is_done(norm)? {
                for i in 0..n {
                    for (w, ti) in self.w.iter_mut().zip(TI) {
                        w[i] = ti[0] * self.z[0][i] + ti[1] * self.z[1][i] + ti[2] * self.z[2][i];
                    }
                }
                return Ok(k);
            }
        }
        Err(Failure::Newton { factor: 0.5 })
    }
}

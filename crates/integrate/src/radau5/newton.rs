//! Newton's iterations of Radau5: the simplified one, and the coupled one for prescribed steps.
//!
//! With z = T w the simplified iteration, whose J is that at the start of the step, falls apart into one real and one
//! complex system of the size of y:
//!
//! ```text
//!     (γ̂/h M − J) Δw₁ = (T⁻¹R)₁            ((α̂ + iβ̂)/h M − J)(Δw₂ + iΔw₃) = (T⁻¹R)₂ + i(T⁻¹R)₃
//! ```
//!
//! It stops when θ/(1−θ) ‖Δw‖ ≤ κ, θ being the observed rate of convergence, and is abandoned as soon as θ shows that
//! the iterations that are left cannot reach κ.

use super::Radau5;
use super::tableau::{ALPHA, BETA, C, GAMMA, T, TI, rate};
use crate::linear::Complex;
use crate::{Failure, Form, Stats, Step, System};

/// Newton iterations allowed.
pub(super) const MAX_NEWTON: usize = 7;
/// J is computed anew if Newton converges more slowly than this, and needed more than two iterations.
const THETA_JACOBIAN: f64 = 5e-3;
impl Radau5 {
    /// T⁻¹R at the present stages: the real part into `r[0]`, the others into `complex`.
    fn transformed_defect<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        let (n, t, h) = (self.n, self.t, self.h);
        let is_residual = self.linear.form() == Form::Residual;
        for s in 0..3 {
            let stage = &mut self.stage[..n];
            for ((stage, y), z) in stage.iter_mut().zip(&self.y0).zip(&self.z[s]) {
                *stage = y + z;
            }
            if is_residual {
                for i in 0..n {
                    self.rate[i] = rate(s, h, self.z[0][i], self.z[1][i], self.z[2][i]);
                }
                self.linear.defect(system, t + C[s] * h, stage, &self.rate[..n], &mut self.r[s][..n], stats)?;
            } else {
                stats.n_rhs += 1;
                system.rhs(t + C[s] * h, stage, &mut self.r[s][..n])?;
            }
        }
        let (gamma, alpha, beta) = (GAMMA / h, ALPHA / h, BETA / h);
        let [r1, r2, r3] = &mut self.r;
        let (r1, r2, r3) = (&mut r1[..n], &mut r2[..n], &mut r3[..n]);
        for i in 0..n {
            let r = [r1[i], r2[i], r3[i]];
            let transformed = |k: usize| TI[k][0] * r[0] + TI[k][1] * r[1] + TI[k][2] * r[2];
            (r1[i], r2[i], r3[i]) = (transformed(0), transformed(1), transformed(2));
        }
        // f − M A⁻¹z/h: in transformed variables M diag(…) w
        let [w1, w2, w3] = &self.w;
        match self.linear.form() {
            Form::Residual => {}
            Form::Explicit => {
                for i in 0..n {
                    r1[i] -= gamma * w1[i];
                    r2[i] -= alpha * w2[i] - beta * w3[i];
                    r3[i] -= alpha * w3[i] + beta * w2[i];
                }
            }
            Form::Mass => {
                let rate = &mut self.rate[..n];
                (0..n).for_each(|i| rate[i] = gamma * w1[i]);
                self.linear.subtract_mass_times(rate, r1);
                (0..n).for_each(|i| rate[i] = alpha * w2[i] - beta * w3[i]);
                self.linear.subtract_mass_times(rate, r2);
                (0..n).for_each(|i| rate[i] = alpha * w3[i] + beta * w2[i]);
                self.linear.subtract_mass_times(rate, r3);
            }
        }
        for i in 0..n {
            self.complex[i] = Complex::new(r2[i], r3[i]);
        }
        Ok(())
    }

    /// Simplified Newton; the number of iterations.
    pub(super) fn newton<S: System>(
        &mut self,
        system: &mut S,
        kappa: f64,
        stats: &mut Stats,
    ) -> Result<usize, Failure> {
        let (n, h) = (self.n, self.h);
        self.eta = self.eta.max(f64::EPSILON).powf(0.8);
        let mut theta = THETA_JACOBIAN;
        let mut norm_old = 0.0;
        let mut rate_old = 0.0;
        for iteration in 1..=MAX_NEWTON {
            self.transformed_defect(system, stats)?;
            self.linear.solve(GAMMA / h, &self.lu_real, &mut self.r[0][..n]);
            self.linear.solve(Complex::new(ALPHA / h, BETA / h), &self.lu_complex, &mut self.complex[..n]);
            stats.n_solve += 1;
            stats.n_newton += 1;

            // norm of the correction, over all three stages
            let mut sum = 0.0;
            for i in 0..n {
                let (d1, d) = (self.r[0][i], self.complex[i]);
                sum += (d1 * d1 + d.re * d.re + d.im * d.im) * (self.weight[i] * self.weight[i]);
            }
            let norm = (sum / (3 * n) as f64).sqrt();
            if !norm.is_finite() {
                let bad = (0..n).find(|&i| !(self.r[0][i] + self.complex[i].re + self.complex[i].im).is_finite());
                return Err(Failure::NonFinite { component: bad.unwrap_or(0) });
            }

            // rate of convergence: stop as soon as the remaining iterations cannot reach the tolerance
            if iteration > 1 && iteration < MAX_NEWTON {
                let rate = norm / norm_old;
                theta = if iteration == 2 { rate } else { (rate * rate_old).sqrt() };
                rate_old = rate;
                if theta >= 0.99 {
                    return Err(Failure::Newton { factor: 0.5 });
                }
                self.eta = theta / (1.0 - theta);
                let left = (MAX_NEWTON - 1 - iteration) as i32;
                let expected = self.eta * norm * theta.powi(left) / kappa;
                if expected >= 1.0 {
                    let factor = 0.8 * expected.clamp(1e-4, 20.0).powf(-1.0 / f64::from(4 + left));
                    return Err(Failure::Newton { factor });
                }
            }
            norm_old = norm.max(f64::EPSILON);

            // w ← w + Δw, z ← T w
            for i in 0..n {
                let w1 = self.w[0][i] + self.r[0][i];
                let w2 = self.w[1][i] + self.complex[i].re;
                let w3 = self.w[2][i] + self.complex[i].im;
                (self.w[0][i], self.w[1][i], self.w[2][i]) = (w1, w2, w3);
                self.z[0][i] = T[0][0] * w1 + T[0][1] * w2 + T[0][2] * w3;
                self.z[1][i] = T[1][0] * w1 + T[1][1] * w2 + T[1][2] * w3;
                self.z[2][i] = T[2][0] * w1 + w2;
            }
            if self.eta * norm <= kappa {
                self.is_slow = iteration > 2 && theta > THETA_JACOBIAN;
                return Ok(iteration);
            }
        }
        Err(Failure::Newton { factor: 0.5 })
    }

    /// Newton on all stages at once, from the tangent and then from the start of the step, until one converges. `None`
    /// where there is no room for it.
    pub(super) fn coupled_newton<S: System>(
        &mut self,
        system: &mut S,
        step: Step<'_>,
        stats: &mut Stats,
    ) -> Option<Result<usize, Failure>> {
        let coupled = self.coupled.as_mut()?;
        let (n, h) = (self.n, self.h);
        // the Jacobian is overwritten, and the rate of the simplified iteration does not apply to the next step
        (self.has_jacobian, self.lu_h, self.is_slow, self.eta) = (false, 0.0, true, 1.0);
        let mut result = Err(Failure::Newton { factor: 0.5 });
        for is_tangent in [true, false] {
            for (z, c) in self.z.iter_mut().zip(C) {
                for (z, rate) in z[..n].iter_mut().zip(&self.f0) {
                    *z = if is_tangent { c * h * rate } else { 0.0 };
                }
            }
            result = coupled.solve(system, &mut self.linear, step, &mut self.z, stats);
            if !matches!(result, Err(Failure::Newton { .. } | Failure::NonFinite { .. } | Failure::Singular { .. })) {
                break;
            }
        }
        if result.is_ok() {
            for i in 0..n {
                for (w, ti) in self.w.iter_mut().zip(TI) {
                    w[i] = ti[0] * self.z[0][i] + ti[1] * self.z[1][i] + ti[2] * self.z[2][i];
                }
            }
        }
        Some(result)
    }
}

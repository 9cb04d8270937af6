//! Error estimate of Radau5.
//!
//! The embedded formula of Hairer's `radau5`,
//!
//! ```text
//!     v = (γ̂/h M − J)⁻¹ R(t, y, −Σ eᵢzᵢ/h) = O(h⁴),
//! ```
//!
//! is filtered once more in the first step and after a rejection. It is sound for stiff components and two orders too
//! large for the others. The error that a step really makes is that of the stages, O(h⁴), which enters through (hJ)²
//! and saturates where hJ is large, and that of the Radau quadrature, O(h⁶):
//!
//! ```text
//!     Q² v,   Q = (γ̂/h M − J)⁻¹ J            h⁶/600 · y'[t₋+c₁h₋, t₋+c₂h₋, t, t+c₁h, t+c₂h, t+h]
//! ```
//!
//! On y' = λy the second is a tenth of the true error (hλ)⁶/7200. The estimate is the smaller of ‖v‖ and
//!
//! ```text
//!     8 (‖Q²v‖ + 10 ‖quadrature‖);
//! ```
//!
//! the factor 8 makes rtol = atol = 10⁻¹⁰ give seven digits on the whole open integrator set. It costs two real
//! substitutions, no evaluation, and saves up to two fifths of the steps.

use super::tableau::{C, DD, GAMMA, rate};
use super::{Last, Radau5};
use crate::{Failure, Form, Stats, System};

impl Radau5 {
    /// Filtered error estimate in units of the tolerance.
    pub(super) fn estimate<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<f64, Failure> {
        let (n, t, h) = (self.n, self.t, self.h);
        let is_residual = self.linear.form() == Form::Residual;
        // −Σ eᵢzᵢ/h, the embedded formula's y'(t)
        for i in 0..n {
            self.rate[i] = -(DD[0] * self.z[0][i] + DD[1] * self.z[1][i] + DD[2] * self.z[2][i]) / h;
        }
        if is_residual {
            self.linear.defect(system, t, &self.y0[..n], &self.rate[..n], &mut self.error[..n], stats)?;
        } else {
            self.error[..n].copy_from_slice(&self.f0[..n]);
            self.linear.subtract_mass_times(&self.rate[..n], &mut self.error[..n]);
        }
        self.linear.solve(GAMMA / h, &self.lu_real, &mut self.error[..n]);
        let mut error = self.error_norm();

        // once more at y + error, where stiff components of the estimate die out
        if error >= 1.0 && (self.is_first || self.last == Last::Rejected) {
            for i in 0..n {
                self.stage[i] = self.y0[i] + self.error[i];
            }
            self.linear.defect(system, t, &self.stage[..n], &self.rate[..n], &mut self.error[..n], stats)?;
            self.linear.solve(GAMMA / h, &self.lu_real, &mut self.error[..n]);
            error = self.error_norm();
        }
        Ok(if self.poly_h != 0.0 { error.min(self.sharp_error()) } else { error })
    }

    /// 8 (‖Q²v‖ + 10 ‖quadrature‖) with v in `error`; needs the polynomial of the step before.
    fn sharp_error(&mut self) -> f64 {
        let (n, h, h_old) = (self.n, self.h, self.poly_h);
        // Q v = (γ̂/h M − J)⁻¹ J v = (γ̂/h M − J)⁻¹ (γ̂/h M v) − v, twice
        for _ in 0..2 {
            for i in 0..n {
                self.stage[i] = self.error[i];
                self.rate[i] = -GAMMA / h * self.error[i];
                self.error[i] = 0.0;
            }
            self.linear.subtract_mass_times(&self.rate[..n], &mut self.error[..n]);
            self.linear.solve(GAMMA / h, &self.lu_real, &mut self.error[..n]);
            (0..n).for_each(|i| self.error[i] -= self.stage[i]);
        }
        let stages = self.error_norm();

        // h⁶/600 times the fifth divided difference of y' at c₁, c₂, 1 of the old step and of this
        let (c1, c2) = (C[0] - 1.0, C[1] - 1.0);
        let x = [c1 * h_old, c2 * h_old, 0.0, C[0] * h, C[1] * h, h];
        let [p1, p2, p3] = &self.poly;
        for i in 0..n {
            let slope = |s: f64| {
                let inner = p2[i] + (s - c1) * p3[i];
                (p1[i] + (2.0 * s - c2) * inner + s * (s - c2) * p3[i]) / h_old
            };
            let (z1, z2, z3) = (self.z[0][i], self.z[1][i], self.z[2][i]);
            let new = [0, 1, 2].map(|s| rate(s, h, z1, z2, z3));
            let mut d = [slope(c1), slope(c2), slope(0.0), new[0], new[1], new[2]];
            for k in 1..6 {
                for j in (k..6).rev() {
                    d[j] = (d[j] - d[j - 1]) / (x[j] - x[j - k]);
                }
            }
            self.error[i] = h.powi(6) / 600.0 * d[5];
        }
        8.0 * (stages + 10.0 * self.error_norm())
    }

    fn error_norm(&self) -> f64 {
        let n = self.n;
        let sum: f64 = self.error[..n].iter().zip(&self.weight).map(|(e, w)| (e * w) * (e * w)).sum();
        (sum / n.max(1) as f64).sqrt().max(1e-10)
    }
}

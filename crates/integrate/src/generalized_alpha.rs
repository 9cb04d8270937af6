//! Generalized-α for r(t, q, v, a, z) = 0 with first-order states ż beside it (Chung & Hulbert 1993; Jansen, Whiting & Hulbert 2000), in
//! the form of Arnold & Brüls (2007; *Brüls & Arnold, J. Comput. Nonlinear Dyn.* 3, 2008).
//!
//! The equations hold exactly at the end of the step, with the true a₁ and ż₁; auxiliary rates b and w carry the numerical damping:
//!
//! ```text
//!     r(t₁, q₁, v₁, a₁, z₁) = 0                              s(t₁, q₁, v₁, z₁, ż₁) = 0
//!     (1−α_m) b₁ + α_m b₀ = (1−α_f) a₁ + α_f a₀              (1−α̃_m) w₁ + α̃_m w₀ = (1−α_f) ż₁ + α_f ż₀
//!     q₁ = q₀ + h v₀ + h² ((½−β) b₀ + β b₁)
//!     v₁ = v₀ + h ((1−γ) b₀ + γ b₁)                          z₁ = z₀ + h ((1−γ̃) w₀ + γ̃ w₁)
//!
//!     α_f = ρ/(1+ρ)    α_m = (2ρ−1)/(1+ρ)                    α̃_m = (3ρ−1)/(2(1+ρ))
//!     γ = ½ + α_f − α_m    β = ¼(½+γ)²                       γ̃ = ½ + α_f − α̃_m
//! ```
//!
//! with ρ = ρ∞ the spectral radius at infinite frequency, the same for both parts: 1 dissipates nothing (Newmark's trapezoidal rule),
//! 0 annihilates. Order 2 in q, v, a and z, A-stable, one system of the size of (a, z) a step.
//!
//! **Variable steps.** b is the acceleration at t + δh, δ = α_m − α_f, of the step it belongs to. What is remembered is the slope
//! c = (b₀ − a₀)/h, and b₀ = a₀ + h c is formed anew for each h: order 2 survives any change of step. At a start, and after a step so short
//! that its slope is mostly round-off, c is unknown; putting b on the line through a₀ and a₁ turns the equations for v and z into the
//! trapezoidal rule, so that is what the first step is.
//!
//! **Error estimate.** The difference to the integrals of the parabola through the last three rates, O(h³), filtered by the Newton matrix
//! so that stiff components do not count what the next step will damp: q, v and z together, because what z and q do not
//! share is never damped. With ρ∞ near 1 little is damped, and stiff components ring: see [`System::misfit`].
//!
//! **Interpolant.** Cubic Hermite on both ends, O(h⁴); a stiff component that rings by δ at the ends does so by δ h|λ|/8
//! between them.
//!
//! Choose it for residual formulations (load-dependent friction without an inner solve), for fixed steps of mechanical systems, and
//! where high frequencies should be damped by a known amount. For accuracy beyond 1e-4 [`crate::Radau5`] costs less.

use crate::linear::{Lu, Shortage};
use crate::newton::Linearised;
use crate::rk4::hermite;
use crate::stepper::check_finite;
use crate::{Attempt, Error, Failure, Form, Stats, Stepper, System, Tolerance};

/// Newton iterations allowed, and among them such that do worse than the one before (they cross kinks).
const MAX_NEWTON: usize = 30;
const MAX_GROWING: usize = 4;
/// Newton stops at this fraction of the tolerance.
const KAPPA: f64 = 0.01;
/// A Jacobian is kept while Newton converges faster than this.
const THETA_KEEP: f64 = 0.03;
/// … and computed anew within an iteration that converges more slowly than this.
const THETA_SLOW: f64 = 0.1;
/// A step longer than this many times the last one does not trust its slopes.
const MAX_RATIO: f64 = 8.0;

/// How one kind of rate, a or ż, is advanced.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coefficients {
    alpha_m: f64,
    alpha_f: f64,
    beta: f64,
    gamma: f64,
}

impl Coefficients {
    fn new(alpha_m: f64, alpha_f: f64) -> Self {
        let gamma = 0.5 + alpha_f - alpha_m;
        Coefficients { alpha_m, alpha_f, beta: 0.25 * (0.5 + gamma) * (0.5 + gamma), gamma }
    }

    /// For a: Chung & Hulbert.
    fn second_order(rho: f64) -> Self {
        Self::new((2.0 * rho - 1.0) / (1.0 + rho), rho / (1.0 + rho))
    }

    /// For ż: Jansen, Whiting & Hulbert.
    fn first_order(rho: f64) -> Self {
        Self::new((3.0 * rho - 1.0) / (2.0 * (1.0 + rho)), rho / (1.0 + rho))
    }

    /// ∂a₁/∂b₁.
    fn mu(&self) -> f64 {
        (1.0 - self.alpha_m) / (1.0 - self.alpha_f)
    }

    /// a₁ from b₁, b₀, a₀.
    fn rate(&self, b1: f64, b0: f64, a0: f64) -> f64 {
        ((1.0 - self.alpha_m) * b1 + self.alpha_m * b0 - self.alpha_f * a0) / (1.0 - self.alpha_f)
    }

    /// b₁ from a₁, b₀, a₀.
    fn auxiliary(&self, a1: f64, b0: f64, a0: f64) -> f64 {
        ((1.0 - self.alpha_f) * a1 + self.alpha_f * a0 - self.alpha_m * b0) / (1.0 - self.alpha_m)
    }
}

/// Generalized-α. See the [module](self).
#[derive(Clone, Debug)]
pub struct GeneralizedAlpha {
    /// Of a and of ż, from ρ∞.
    damped: [Coefficients; 2],
    /// The same for ρ∞ = 1: first steps.
    trapezoidal: [Coefficients; 2],
    n: usize,
    /// n₂: leading pairs (q, v) with q̇ = v.
    n2: usize,
    t: f64,
    h: f64,
    /// Ends of the last attempt: y₀, y₁ and their derivatives; `n` each.
    y0: Vec<f64>,
    y1: Vec<f64>,
    dy0: Vec<f64>,
    dy1: Vec<f64>,
    /// Derivatives one step before y₀, and that step; 0 if there was none.
    dy_old: Vec<f64>,
    h_old: f64,
    /// c = (b₀ − a₀)/h for v and z; `n − n2`, as everything that follows (b, w).
    slope: Vec<f64>,
    b0: Vec<f64>,
    b1: Vec<f64>,
    /// The last attempt was a first step.
    is_first: bool,
    has_rates: bool,
    is_set_up: bool,
    linear: Linearised,
    lu: Lu,
    /// The step and coefficients the factors were made for.
    lu_for: Option<(f64, bool)>,
    has_jacobian: bool,
    /// Rate of convergence of the last Newton iteration.
    theta: f64,
    defect: Vec<f64>,
    error: Vec<f64>,
    filtered: Vec<f64>,
    /// Quadrature rates at both ends; `n_quad` each.
    quad0: Vec<f64>,
    quad1: Vec<f64>,
}

crate::archive::archived!(GeneralizedAlpha {
    n, n2, t, h, y0, y1, dy0, dy1, dy_old, h_old, slope, b0, b1, is_first, has_rates, is_set_up, linear, lu, lu_for, has_jacobian,
    theta, defect, error, filtered, quad0, quad1
} without damped, trapezoidal; fits |it| {
    let is_factored = it.lu_for.is_none() || it.is_set_up && it.lu.is_for(it.linear.m());
    let is_for = it.linear.is_for(it.n) && it.n.checked_sub(it.n2) == Some(it.linear.m());
    it.n <= it.y0.len() && (!it.is_set_up || is_for) && is_factored
});

impl GeneralizedAlpha {
    /// Room for `n_max` unknowns and `n_quad` quadratures; `spectral_radius` is ρ∞, 0 … 1.
    pub fn new(n_max: usize, n_quad: usize, spectral_radius: f64) -> Self {
        let zeros = || vec![0.0; n_max];
        let both = |rho| [Coefficients::second_order(rho), Coefficients::first_order(rho)];
        GeneralizedAlpha {
            damped: both(spectral_radius),
            trapezoidal: both(1.0),
            n: n_max,
            n2: 0,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            dy0: zeros(),
            dy1: zeros(),
            dy_old: zeros(),
            h_old: 0.0,
            slope: zeros(),
            b0: zeros(),
            b1: zeros(),
            is_first: true,
            has_rates: false,
            is_set_up: false,
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
            lu_for: None,
            has_jacobian: false,
            theta: 1.0,
            defect: zeros(),
            error: zeros(),
            filtered: zeros(),
            quad0: vec![0.0; n_quad],
            quad1: vec![0.0; n_quad],
        }
    }

    /// Refuses a spectral radius outside 0 … 1.
    pub fn check(spectral_radius: f64) -> Result<(), Error> {
        if (0.0..=1.0).contains(&spectral_radius) {
            return Ok(());
        }
        Err(Error::Input {
            what: "spectral_radius",
            value: spectral_radius,
            reason: "from 0 (all damping) to 1 (none)",
        })
    }

    /// ẏ = (v, a, ż) at the end of the last accepted step; it satisfies the equations there.
    pub fn rates(&self) -> &[f64] {
        &self.dy0[..self.n]
    }

    /// Coefficients of unknown k of (b, w) in the present step.
    #[inline]
    fn coefficients(&self, k: usize) -> Coefficients {
        let table = if self.is_first { &self.trapezoidal } else { &self.damped };
        table[usize::from(k >= self.n2)]
    }

    /// y₁ and ẏ₁ from b₁.
    fn advance(&mut self) {
        let (n, n2, h) = (self.n, self.n2, self.h);
        for k in 0..n - n2 {
            let c = self.coefficients(k);
            let (b0, b1, i) = (self.b0[k], self.b1[k], n2 + k);
            self.y1[i] = self.y0[i] + h * ((1.0 - c.gamma) * b0 + c.gamma * b1);
            self.dy1[i] = c.rate(b1, b0, self.dy0[i]);
            if k < n2 {
                self.y1[k] = self.y0[k] + h * (self.y0[i] + h * ((0.5 - c.beta) * b0 + c.beta * b1));
                self.dy1[k] = self.y1[i];
            }
        }
    }

    /// The Newton matrix for (b₁, w₁). With F = (r, s), J = −∂F/∂y and M = ∂F/∂ẏ as in [`Linearised`], µ = ∂a₁/∂b₁:
    ///
    /// ```text
    ///            b₁                                   w₁
    ///     r   | µ M_rv − hγ J_rv − h²β J_rq  |  µ̃ M_rz − hγ̃ J_rz |
    ///     s   | µ M_sv − hγ J_sv − h²β J_sq  |  µ̃ M_sz − hγ̃ J_sz |
    /// ```
    fn factor(&mut self, stats: &mut Stats) -> Result<(), Failure> {
        let (n, n2, h) = (self.n, self.n2, self.h);
        let m = n - n2;
        let table = if self.is_first { self.trapezoidal } else { self.damped };
        let form = self.linear.form();
        let matrix = self.lu.matrix_mut(m);
        for i in 0..m {
            let jac = self.linear.jac.row(n2 + i);
            let row = matrix.row_mut(i);
            for (k, entry) in row.iter_mut().enumerate() {
                let c = &table[usize::from(k >= n2)];
                // − hγ J, and through q₁ − h²β J
                *entry = -h * c.gamma * jac[n2 + k];
                if k < n2 {
                    *entry -= h * h * c.beta * jac[k];
                }
                // µ M; in the residual form also through q̇₁ = v₁
                match form {
                    Form::Explicit => *entry += if k == i { c.mu() } else { 0.0 },
                    Form::Mass => *entry += c.mu() * self.linear.mass[(n2 + i, n2 + k)],
                    Form::Residual => {
                        *entry += c.mu() * self.linear.mass[(n2 + i, n2 + k)];
                        if k < n2 {
                            *entry += h * c.gamma * self.linear.mass[(n2 + i, k)];
                        }
                    }
                }
            }
        }
        stats.n_factor += 1;
        self.lu.factor()?;
        self.lu_for = Some((h, self.is_first));
        Ok(())
    }

    /// Newton from the present b₁; the number of iterations.
    fn newton<S: System>(
        &mut self,
        system: &mut S,
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<usize, Failure> {
        let (n, n2, h) = (self.n, self.n2, self.h);
        // the first correction is judged by the rate of the step before, trusted less each time (HW II, IV.8)
        self.theta = self.theta.max(f64::EPSILON).powf(0.8);
        let mut norm_old = 0.0;
        let mut n_growing = 0;
        for iteration in 1..=MAX_NEWTON {
            self.linear.defect(system, self.t + h, &self.y1[..n], &self.dy1[..n], &mut self.defect[..n], stats)?;
            self.lu.solve(&mut self.defect[n2..n]);
            stats.n_solve += 1;
            stats.n_newton += 1;
            check_finite(&self.defect[n2..n])?;

            // what the correction does to y₁
            for k in 0..n - n2 {
                let c = self.coefficients(k);
                let correction = self.defect[n2 + k];
                self.b1[k] += correction;
                self.error[n2 + k] = h * c.gamma * correction;
                if k < n2 {
                    self.error[k] = h * h * c.beta * correction;
                }
            }
            self.advance();
            let norm = tolerance.norm(&self.error[..n], &self.y0[..n], &self.y1[..n]);
            let is_round_off =
                self.error[..n].iter().zip(&self.y1).all(|(change, y)| change.abs() <= 4.0 * f64::EPSILON * y.abs());
            if iteration > 1 {
                self.theta = norm / norm_old;
            }
            let theta = self.theta;
            // a tenth of the tolerance that no longer shrinks is round-off too
            let is_stalled = iteration > 2 && theta > 0.3 && norm <= 0.1;
            if is_round_off || is_stalled || norm == 0.0 || theta < 1.0 && theta / (1.0 - theta) * norm <= KAPPA {
                if iteration == 1 && is_round_off {
                    // nothing to correct: the rate is unknown, but J serves
                    self.theta = self.theta.min(0.5 * THETA_KEEP);
                }
                return Ok(iteration);
            }
            // slow: J where the iteration is now; hopeless if that happens too often
            n_growing += usize::from(iteration > 1 && theta >= 1.0);
            if n_growing == MAX_GROWING {
                break;
            }
            if iteration > 1 && theta > THETA_SLOW {
                self.linear.update(system, self.t + h, &self.y1[..n], &self.dy1[..n], stats)?;
                self.factor(stats)?;
            }
            norm_old = norm;
        }
        Err(Failure::Newton { factor: 0.5 })
    }

    /// Filtered error estimate in units of the tolerance.
    fn estimate<S: System>(&mut self, system: &S, tolerance: &Tolerance, stats: &mut Stats) -> f64 {
        let (n, n2, h) = (self.n, self.n2, self.h);
        for k in 0..n - n2 {
            let i = n2 + k;
            let (a0, a1) = (self.dy0[i], self.dy1[i]);
            // s = ä/2 of the parabola; at a start only the rise is known: as if ä = 2ȧ/h, which errs on the safe side
            let s = if self.is_first {
                (a1 - a0) / (h * h)
            } else {
                ((a1 - a0) / h - (a0 - self.dy_old[i]) / self.h_old) / (h + self.h_old)
            };
            self.error[i] = self.y1[i] - self.y0[i] - h * (0.5 * (a0 + a1) - h * h / 6.0 * s);
            if k < n2 {
                let double_integral = h * h * (a0 / 3.0 + a1 / 6.0 - h * h / 12.0 * s);
                self.error[k] = self.y1[k] - self.y0[k] - h * self.y0[i] - double_integral;
            }
        }

        self.filter();
        stats.n_solve += 1;
        // unknowns of higher index: their errors are larger by 1/h, 1/h² without doing harm
        if self.linear.form() != Form::Explicit {
            for (i, error) in self.error[..n].iter_mut().enumerate() {
                *error *= h.powi(i32::from(system.index(i)) - 1);
            }
        }
        tolerance.norm(&self.error[..n], &self.y0[..n], &self.y1[..n])
    }

    /// Filters `error`: e = (e_q, e_w) with w = (v, z) becomes x with
    ///
    /// ```text
    ///     x_q = e_q + h β/γ x_v          (µM − hγ J_w) x_w − hγ J_q x_q = µM e_w
    ///     ⇒ S x_w = µM e_w + hγ J_q e_q,   S the Newton matrix
    /// ```
    ///
    /// Errors that stiff forces undo vanish. An error of q that z does not share stays whole: β/γ = γ̃/µ̃ for every ρ∞, so
    /// that x_q − x_z = e_q − e_z where ż = v. A bristle that bends by less than its joint has moved has slipped, and no
    /// force brings that back.
    fn filter(&mut self) {
        let (n, n2, h) = (self.n, self.n2, self.h);
        let table = if self.is_first { self.trapezoidal } else { self.damped };
        let gamma = table[0].gamma;
        for i in 0..n - n2 {
            let weighted = |k: usize| table[usize::from(k >= n2)].mu() * self.error[n2 + k];
            let inertial = if self.linear.form() == Form::Explicit {
                weighted(i)
            } else {
                (0..n - n2).map(|k| self.linear.mass[(n2 + i, n2 + k)] * weighted(k)).sum()
            };
            let jac = self.linear.jac.row(n2 + i);
            self.filtered[i] = inertial + h * gamma * (0..n2).map(|k| jac[k] * self.error[k]).sum::<f64>();
        }
        self.lu.solve(&mut self.filtered[..n - n2]);
        self.error[n2..n].copy_from_slice(&self.filtered[..n - n2]);
        for k in 0..n2 {
            self.error[k] += h * table[0].beta / gamma * self.filtered[k];
        }
    }
}

impl Stepper for GeneralizedAlpha {
    fn order(&self) -> usize {
        2
    }

    fn error_exponent(&self) -> Option<f64> {
        Some(3.0)
    }

    fn matrix_bytes(&self) -> u64 {
        [self.linear.bytes(), self.lu.bytes()].into_iter().fold(0, u64::saturating_add)
    }

    fn reserve(&mut self) -> Result<(), Shortage> {
        self.linear.reserve()?;
        self.lu.reserve()
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.has_rates = false;
        self.is_set_up = false;
        self.h_old = 0.0;
        self.lu_for = None;
        self.has_jacobian = false;
    }

    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<Attempt, Failure> {
        let n = self.n;
        (self.t, self.h) = (t, h);
        self.y0[..n].copy_from_slice(y);
        if !self.is_set_up {
            self.n2 = system.second_order();
            self.linear.restart(system, n);
            self.is_set_up = true;
        }
        let n2 = self.n2;
        if !self.has_rates {
            self.linear.initial_rates(system, t, y, &mut self.dy0[..n], &mut self.lu, stats)?;
            (self.has_jacobian, self.lu_for) = (false, None);
            if !self.quad0.is_empty() {
                stats.n_quadrature += 1;
                system.quadratures(t, y, &self.dy0[..n], &mut self.quad0)?;
            }
            self.has_rates = true;
        }
        self.is_first = h.abs() > MAX_RATIO * self.h_old.abs();

        // b₀ for this step, and b₁ from rates extrapolated
        for k in 0..n - n2 {
            let i = n2 + k;
            let a0 = self.dy0[i];
            let (slope, rise) =
                if self.is_first { (0.0, 0.0) } else { (self.slope[k], h / self.h_old * (a0 - self.dy_old[i])) };
            self.b0[k] = a0 + h * slope;
            self.b1[k] = self.coefficients(k).auxiliary(a0 + rise, self.b0[k], a0);
        }
        self.advance();

        // Newton, with the old Jacobian while it serves
        let keeps_jacobian = self.has_jacobian && self.theta < THETA_KEEP;
        if !keeps_jacobian {
            self.linear.update(system, t + h, &self.y1[..n], &self.dy1[..n], stats)?;
            self.has_jacobian = true;
            self.theta = 1.0;
            self.lu_for = None;
        }
        if self.lu_for != Some((h, self.is_first)) {
            self.factor(stats)?;
        }
        let mut outcome = self.newton(system, tolerance, stats);
        if keeps_jacobian && matches!(outcome, Err(Failure::Newton { .. } | Failure::NonFinite { .. })) {
            self.b1[..n - n2].copy_from_slice(&self.b0[..n - n2]);
            self.advance();
            self.linear.update(system, t + h, &self.y1[..n], &self.dy1[..n], stats)?;
            self.theta = 1.0;
            self.factor(stats)?;
            outcome = self.newton(system, tolerance, stats);
        }
        if outcome.is_err() {
            self.has_jacobian = false;
        }
        let iterations = outcome?;
        check_finite(&self.y1[..n])?;

        let error = self.estimate(system, tolerance, stats);
        // slow Newton, smaller next step
        let safety = 0.9 * 21.0 / (20 + iterations) as f64;
        Ok(Attempt { error, safety })
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        if !self.quad1.is_empty() {
            let n = self.n;
            stats.n_quadrature += 1;
            system.quadratures(self.t + self.h, &self.y1[..n], &self.dy1[..n], &mut self.quad1)?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            let rise = self.y1[i] - self.y0[i];
            *y = self.y0[i] + hermite(theta, rise, self.h * self.dy0[i], self.h * self.dy1[i]);
        }
    }

    // trapezoidal rule: what the method makes of a rate that it knows at both ends
    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        for (i, quad) in quad.iter_mut().enumerate() {
            let (r0, r1) = (self.quad0[i], self.quad1[i]);
            *quad = self.h * theta * (r0 + 0.5 * theta * (r1 - r0));
        }
    }

    fn accept(&mut self) {
        let (n2, h) = (self.n2, self.h);
        for k in 0..self.n - n2 {
            let (a0, a1) = (self.dy0[n2 + k], self.dy1[n2 + k]);
            let c = self.damped[usize::from(k >= n2)];
            self.slope[k] = if self.is_first { (c.alpha_m - c.alpha_f) * (a1 - a0) / h } else { (self.b1[k] - a1) / h };
        }
        // dy_old ← dy0 ← dy1
        std::mem::swap(&mut self.dy_old, &mut self.dy0);
        std::mem::swap(&mut self.dy0, &mut self.dy1);
        std::mem::swap(&mut self.quad0, &mut self.quad1);
        self.h_old = h;
    }

    // a step that grows by less than a fifth is not worth new factors
    fn settle(&self, h: f64, h_new: f64) -> f64 {
        if self.theta < THETA_KEEP && (1.0..1.2).contains(&(h_new / h)) { h } else { h_new }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalError;
    use crate::linear::Matrix;

    /// A pendulum-like joint whose friction depends on its own acceleration, with a smooth bristle and one quadrature:
    ///
    /// ```text
    ///     (2 + cos q) a + 0.2 z √(1 + a²) + sin q + 0.1 v = cos t,      ż = v − √(v² + 0.1) z
    /// ```
    #[derive(Clone)]
    struct Joint {
        form: Form,
        analytic: bool,
    }

    impl Joint {
        fn equation(t: f64, y: &[f64], a: f64) -> f64 {
            (2.0 + y[0].cos()) * a + 0.2 * y[2] * (1.0 + a * a).sqrt() + y[0].sin() + 0.1 * y[1] - t.cos()
        }

        fn d_a(y: &[f64], a: f64) -> f64 {
            2.0 + y[0].cos() + 0.2 * y[2] * a / (1.0 + a * a).sqrt()
        }

        fn bristle(y: &[f64]) -> f64 {
            y[1] - (y[1] * y[1] + 0.1).sqrt() * y[2]
        }
    }

    impl System for Joint {
        fn dim(&self) -> usize {
            3
        }

        fn second_order(&self) -> usize {
            1
        }

        fn form(&self) -> Form {
            self.form
        }

        fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
            let mut a = 0.0;
            for _ in 0..12 {
                a -= Self::equation(t, y, a) / Self::d_a(y, a);
            }
            dy.copy_from_slice(&[y[1], a, Self::bristle(y)]);
            Ok(())
        }

        fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
            r.copy_from_slice(&[dy[0] - y[1], Self::equation(t, y, dy[1]), dy[2] - Self::bristle(y)]);
            Ok(())
        }

        fn residual_jacobian(
            &mut self,
            _t: f64,
            y: &[f64],
            dy: &[f64],
            df_dy: &mut Matrix,
            df_ddy: &mut Matrix,
        ) -> Result<bool, EvalError> {
            let (q, v, z, a) = (y[0], y[1], y[2], dy[1]);
            let speed = (v * v + 0.1).sqrt();
            #[rustfmt::skip]
            df_dy.as_mut_slice().copy_from_slice(&[
                0.0, -1.0, 0.0,
                q.cos() - q.sin() * a, 0.1, 0.2 * (1.0 + a * a).sqrt(),
                0.0, v / speed * z - 1.0, speed,
            ]);
            df_ddy.as_mut_slice().copy_from_slice(&[1.0, 0.0, 0.0, 0.0, Self::d_a(y, a), 0.0, 0.0, 0.0, 1.0]);
            Ok(self.analytic)
        }

        fn n_quadratures(&self) -> usize {
            1
        }

        fn quadratures(&mut self, _t: f64, y: &[f64], _dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
            rate[0] = y[1] * y[1];
            Ok(())
        }
    }

    const RESIDUAL: Joint = Joint { form: Form::Residual, analytic: true };

    fn tight() -> Tolerance {
        Tolerance::new(1e-12, vec![1e-12; 3])
    }

    /// State, derivative and quadrature at t = 2 after `n` steps; with `uneven`, steps alternate in the ratio 3 : 1.
    fn run(mut system: Joint, rho: f64, n: usize, uneven: bool) -> [f64; 7] {
        let mut stepper = GeneralizedAlpha::new(3, 1, rho);
        let mut stats = Stats::default();
        stepper.restart(3);
        let mut y = vec![1.0, 0.0, 0.2];
        let (mut t, mut work) = (0.0, 0.0);
        for i in 0..n {
            let h = 2.0 / n as f64 * if uneven { [1.5, 0.5][i % 2] } else { 1.0 };
            stepper.step(&mut system, t, h, &y, &tight(), &mut stats).unwrap();
            stepper.finish(&mut system, &mut stats).unwrap();
            let mut quad = [0.0];
            stepper.interpolate_quadratures(1.0, &mut quad);
            work += quad[0];
            y.copy_from_slice(stepper.y_new());
            stepper.accept();
            t += h;
        }
        let dy = stepper.rates();
        [y[0], y[1], y[2], dy[0], dy[1], dy[2], work]
    }

    /// The same by the classical Runge–Kutta method.
    fn reference() -> [f64; 7] {
        let mut system = Joint { form: Form::Explicit, analytic: false };
        let mut stepper = crate::rk4::Rk4::new(3, 1);
        let mut stats = Stats::default();
        stepper.restart(3);
        let (n, mut y, mut work) = (2000, vec![1.0, 0.0, 0.2], 0.0);
        let h = 2.0 / n as f64;
        for i in 0..n {
            stepper.step(&mut system, i as f64 * h, h, &y, &tight(), &mut stats).unwrap();
            stepper.finish(&mut system, &mut stats).unwrap();
            let mut quad = [0.0];
            stepper.interpolate_quadratures(1.0, &mut quad);
            work += quad[0];
            y.copy_from_slice(stepper.y_new());
            stepper.accept();
        }
        let mut dy = [0.0; 3];
        system.rhs(2.0, &y, &mut dy).unwrap();
        [y[0], y[1], y[2], dy[0], dy[1], dy[2], work]
    }

    fn assert_order_two(system: &Joint, rho: f64, uneven: bool) {
        let exact = reference();
        let (coarse, fine) = (run(system.clone(), rho, 400, uneven), run(system.clone(), rho, 1600, uneven));
        for (i, name) in ["q", "v", "z", "v again", "a", "ż", "quadrature"].iter().enumerate() {
            let (e1, e2) = ((coarse[i] - exact[i]).abs(), (fine[i] - exact[i]).abs());
            let order = (e1 / e2).log2() / 2.0;
            assert!((order - 2.0).abs() < 0.2, "ρ∞ = {rho}: {name} has order {order:.2}, errors {e1:.1e} {e2:.1e}");
        }
    }

    #[test]
    fn every_quantity_converges_with_order_two() {
        for rho in [0.0, 0.5, 0.8, 1.0] {
            assert_order_two(&RESIDUAL, rho, false);
        }
    }

    #[test]
    fn unequal_steps_keep_order_two() {
        for rho in [0.0, 0.5, 0.8, 1.0] {
            assert_order_two(&RESIDUAL, rho, true);
        }
    }

    #[test]
    fn forms_and_jacobians_agree() {
        let residual = run(RESIDUAL, 0.8, 100, true);
        let differences = run(Joint { form: Form::Residual, analytic: false }, 0.8, 100, true);
        let explicit = run(Joint { form: Form::Explicit, analytic: false }, 0.8, 100, true);
        for i in 0..7 {
            assert!((residual[i] - differences[i]).abs() < 1e-11, "{i}");
            assert!((residual[i] - explicit[i]).abs() < 1e-11, "{i}");
        }
    }

    #[test]
    fn interpolant_is_as_good_as_the_ends() {
        let mut system = RESIDUAL;
        let mut stepper = GeneralizedAlpha::new(3, 1, 0.8);
        let mut stats = Stats::default();
        stepper.restart(3);
        let y = [1.0, 0.0, 0.2];
        let h = 0.1;
        let mut step = |stepper: &mut GeneralizedAlpha, h: f64| {
            stepper.step(&mut system, 0.0, h, &y, &tight(), &mut stats).unwrap();
            stepper.finish(&mut system, &mut stats).unwrap();
        };
        step(&mut stepper, h);
        let mut middle = [0.0; 3];
        stepper.interpolate(0.5, &mut middle);
        let mut ends = [0.0; 3];
        stepper.interpolate(1.0, &mut ends);
        assert_eq!(ends, stepper.y_new());
        // the same point by a real step: both are O(h³)
        step(&mut stepper, 0.5 * h);
        for (a, b) in middle.iter().zip(stepper.y_new()) {
            assert!((a - b).abs() < h * h * h);
        }
    }

    #[test]
    fn amplification_at_infinity_is_the_spectral_radius() {
        /// Two stiff modes far beyond the step: a = −ω² q and ż = −λ z.
        struct Stiff;
        impl System for Stiff {
            fn dim(&self) -> usize {
                3
            }
            fn second_order(&self) -> usize {
                1
            }
            fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
                dy.copy_from_slice(&[y[1], -1e12 * y[0], -1e8 * y[2]]);
                Ok(())
            }
            fn jacobian(&mut self, _t: f64, _y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
                jac.as_mut_slice().copy_from_slice(&[0.0, 1.0, 0.0, -1e12, 0.0, 0.0, 0.0, 0.0, -1e8]);
                Ok(true)
            }
        }
        for rho in [0.5, 0.8, 0.9] {
            let mut stepper = GeneralizedAlpha::new(3, 0, rho);
            let mut stats = Stats::default();
            let tolerance = Tolerance::new(1e-10, vec![1e-200; 3]);
            stepper.restart(3);
            let mut y = vec![1.0, 0.0, 1.0];
            let mut sizes = vec![];
            for i in 0..100 {
                stepper.step(&mut Stiff, i as f64, 1.0, &y, &tolerance, &mut stats).unwrap();
                y.copy_from_slice(stepper.y_new());
                stepper.accept();
                sizes.push((y[0].abs(), y[2].abs()));
            }
            // repeated eigenvalues −ρ∞ grow like a power of n before they decay: measure late
            let rate = |a: f64, b: f64| (b / a).powf(1.0 / 40.0);
            let ((q0, z0), (q1, z1)) = (sizes[59], sizes[99]);
            assert!((rate(z0, z1) - rho).abs() < 0.02, "z: {} for ρ∞ = {rho}", rate(z0, z1));
            assert!(rate(q0, q1) < rho + 0.05, "q: {} for ρ∞ = {rho}", rate(q0, q1));
        }
    }

    #[test]
    fn the_estimate_follows_the_local_error() {
        let mut system = RESIDUAL;
        let mut errors = vec![];
        for h in [0.04, 0.02] {
            let mut stepper = GeneralizedAlpha::new(3, 0, 0.8);
            let mut stats = Stats::default();
            let tolerance = Tolerance::new(1e-9, vec![1e-9; 3]);
            stepper.restart(3);
            let mut y = vec![1.0, 0.0, 0.2];
            let (mut t, mut error) = (0.0, 0.0);
            while t < 0.999 {
                error = stepper.step(&mut system, t, h, &y, &tolerance, &mut stats).unwrap().error;
                y.copy_from_slice(stepper.y_new());
                stepper.accept();
                t += h;
            }
            errors.push(error);
        }
        let exponent = (errors[0] / errors[1]).log2();
        assert!((exponent - 3.0).abs() < 0.3, "exponent {exponent}");
    }

    #[test]
    fn a_spectral_radius_outside_its_range_is_refused() {
        assert!(GeneralizedAlpha::check(0.0).is_ok() && GeneralizedAlpha::check(1.0).is_ok());
        let message = GeneralizedAlpha::check(1.1).unwrap_err().to_string();
        assert_eq!(message, "spectral_radius = 1.1 cannot be used; wanted: from 0 (all damping) to 1 (none)");
        assert!(GeneralizedAlpha::check(f64::NAN).is_err());
    }
}

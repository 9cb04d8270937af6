//! Generalized-α for r(t, q, v, a, z) = 0 with first-order states ż beside it (Chung & Hulbert 1993; Jansen, Whiting &
//! Hulbert 2000), in the form of Arnold & Brüls (2007; *Brüls & Arnold, J. Comput. Nonlinear Dyn.* 3, 2008).
//!
//! The equations hold exactly at the end of the step, with the true a₁ and ż₁; auxiliary rates b and w carry the
//! numerical damping:
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
//! with ρ = ρ∞ the spectral radius at infinite frequency, the same for both parts: 1 dissipates nothing (Newmark's
//! trapezoidal rule), 0 annihilates. Order 2 in q, v, a and z, A-stable, one system of the size of (a, z) a step.
//!
//! **Variable steps.** b is the acceleration at t + δh, δ = α_m − α_f, of the step it belongs to. The slope c = (b₀ −
//! a₀)/h is kept, and b₀ = a₀ + h c is formed for each h: order 2 survives any change of step. At a start, and after a
//! step so short that its slope is mostly round-off, c is unknown; putting b on the line through a₀ and a₁ turns the
//! equations for v and z into the trapezoidal rule, which is therefore the first step.
//!
//! **Error estimate.** The difference to the integrals of the parabola through the last three rates, O(h³), filtered by
//! the Newton matrix so that stiff components that the next step will damp do not count: q, v and z together, because a
//! difference between z and q is never damped. With ρ∞ near 1 little is damped, and stiff components ring: see
//! [`step_rules`](crate::step_rules).
//!
//! **Interpolant.** Cubic Hermite on both ends, O(h⁴); a stiff component that rings by δ at the ends does so by δ
//! h|λ|/8 between them.
//!
//! Choose it for residual formulations, for fixed steps of mechanical systems, and where high frequencies should be
//! damped by a known amount. For accuracy beyond 1e-4 [`crate::Radau5`]
//! costs less.

mod coefficients;

use crate::hermite::{HermiteInterpolant, interpolated_by};
use crate::linear::Lu;
use crate::newton::{Linearised, matrices};
use crate::stepper::check_finite;
use crate::{Attempt, Error, Failure, Form, Stats, Step, Stepper, System, Tolerance};
use coefficients::Coefficients;

/// Newton iterations allowed, and among them iterations with a larger correction than the one before (they cross
/// kinks).
const MAX_NEWTON: usize = 30;
const MAX_GROWING: usize = 4;
/// Newton stops at this fraction of the tolerance.
const KAPPA: f64 = 0.01;
/// A Jacobian is kept while Newton converges faster than this.
const THETA_KEEP: f64 = 0.03;
/// … and computed anew within an iteration that converges more slowly than this.
const THETA_SLOW: f64 = 0.1;
/// A step longer than this many times the last one does not use its slopes.
const MAX_RATIO: f64 = 8.0;

/// Generalized-α. See the [module](self).
#[derive(Clone, Debug)]
pub struct GeneralizedAlpha {
    /// Of a and of ż, from ρ∞.
    damped: [Coefficients; 2],
    /// The same for ρ∞ = 1: first steps.
    trapezoidal: [Coefficients; 2],
    /// Ends of the last attempt: y₀, y₁, ẏ₀ and ẏ₁.
    ends: HermiteInterpolant,
    /// Derivatives one step before y₀, and that step; 0 if there was none.
    dy_old: Vec<f64>,
    h_old: f64,
    /// c = (b₀ − a₀)/h for v and z; `n − n2`, as everything that follows (b, w).
    slope: Vec<f64>,
    b0: Vec<f64>,
    b1: Vec<f64>,
    /// The last attempt was a first step.
    is_first: bool,
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
}

crate::archive::archived!(GeneralizedAlpha {
    ends, dy_old, h_old, slope, b0, b1, is_first, linear, lu, lu_for, has_jacobian, theta, defect, error, filtered
} without damped, trapezoidal; fits |it| {
    let is_factored = it.lu_for.is_none() || it.linear.is_set_up() && it.lu.is_for(it.linear.m());
    it.linear.fits(it.ends.n) && is_factored
});

impl GeneralizedAlpha {
    /// Room for `n_max` unknowns and `n_quad` quadratures; `spectral_radius` is ρ∞, 0 … 1.
    pub fn new(n_max: usize, n_quad: usize, spectral_radius: f64) -> Self {
        let zeros = || vec![0.0; n_max];
        let both = |rho| [Coefficients::second_order(rho), Coefficients::first_order(rho)];
        GeneralizedAlpha {
            damped: both(spectral_radius),
            trapezoidal: both(1.0),
            ends: HermiteInterpolant::new(n_max, n_quad),
            dy_old: zeros(),
            h_old: 0.0,
            slope: zeros(),
            b0: zeros(),
            b1: zeros(),
            is_first: true,
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
            lu_for: None,
            has_jacobian: false,
            theta: 1.0,
            defect: zeros(),
            error: zeros(),
            filtered: zeros(),
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
        &self.ends.dy0[..self.ends.n]
    }

    /// n, n₂ and h of the present step.
    fn sizes(&self) -> (usize, usize, f64) {
        (self.ends.n, self.linear.second_order(), self.ends.h)
    }

    /// Coefficients of unknown k of (b, w) in the present step.
    #[inline]
    fn coefficients(&self, k: usize) -> Coefficients {
        let table = if self.is_first { &self.trapezoidal } else { &self.damped };
        table[usize::from(k >= self.linear.second_order())]
    }

    /// y₁ and ẏ₁ from b₁.
    fn advance(&mut self) {
        let (n, n2, h) = self.sizes();
        for k in 0..n - n2 {
            let c = self.coefficients(k);
            let (b0, b1, i) = (self.b0[k], self.b1[k], n2 + k);
            self.ends.y1[i] = self.ends.y0[i] + h * ((1.0 - c.gamma) * b0 + c.gamma * b1);
            self.ends.dy1[i] = c.rate(b1, b0, self.ends.dy0[i]);
            if k < n2 {
                self.ends.y1[k] = self.ends.y0[k] + h * (self.ends.y0[i] + h * ((0.5 - c.beta) * b0 + c.beta * b1));
                self.ends.dy1[k] = self.ends.y1[i];
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
        let (n, n2, h) = self.sizes();
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
        let (n, n2, h) = self.sizes();
        // the first correction is judged by the rate of the step before, trusted less each time (HW II, IV.8)
        self.theta = self.theta.max(f64::EPSILON).powf(0.8);
        let mut norm_old = 0.0;
        let mut n_growing = 0;
        for iteration in 1..=MAX_NEWTON {
            self.linear.defect(
                system,
                self.ends.t + h,
                &self.ends.y1[..n],
                &self.ends.dy1[..n],
                &mut self.defect[..n],
                stats,
            )?;
            self.lu.solve(&mut self.defect[n2..n]);
            stats.n_solve += 1;
            stats.n_newton += 1;
            check_finite(&self.defect[n2..n])?;

            // the change of y₁
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
            let is_round_off = self.error[..n]
                .iter()
                .zip(&self.ends.y1)
                .all(|(change, y)| change.abs() <= 4.0 * f64::EPSILON * y.abs());
            self.weigh_by_index(system);
            let norm = tolerance.norm(&self.error[..n], &self.ends.y0[..n], &self.ends.y1[..n]);
            if iteration > 1 {
                self.theta = norm / norm_old;
            }
            let theta = self.theta;
            // a tenth of the tolerance that no longer shrinks is round-off too
            let is_stalled = iteration > 2 && theta > 0.3 && norm <= 0.1;
            if is_round_off || is_stalled || norm == 0.0 || theta < 1.0 && theta / (1.0 - theta) * norm <= KAPPA {
                if iteration == 1 && is_round_off {
                    // nothing to correct: the rate is unknown, but J is good enough
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
                self.linear.update(system, self.ends.t + h, &self.ends.y1[..n], &self.ends.dy1[..n], stats)?;
                self.factor(stats)?;
            }
            norm_old = norm;
        }
        Err(Failure::Newton { factor: 0.5 })
    }

    /// Errors and corrections of unknowns of higher index are larger by 1/h, 1/h² without effect on the solution.
    fn weigh_by_index<S: System>(&mut self, system: &S) {
        let (n, _, h) = self.sizes();
        if self.linear.form() != Form::Explicit {
            for (i, error) in self.error[..n].iter_mut().enumerate() {
                *error *= h.powi(i32::from(system.index(i)) - 1);
            }
        }
    }

    /// Filtered error estimate in units of the tolerance.
    fn estimate<S: System>(&mut self, system: &S, tolerance: &Tolerance, stats: &mut Stats) -> f64 {
        let (n, n2, h) = self.sizes();
        for k in 0..n - n2 {
            let i = n2 + k;
            let (a0, a1) = (self.ends.dy0[i], self.ends.dy1[i]);
            // s = ä/2 of the parabola; at a start only the rise is known: as if ä = 2ȧ/h, which errs on the safe side
            let s = if self.is_first {
                (a1 - a0) / (h * h)
            } else {
                ((a1 - a0) / h - (a0 - self.dy_old[i]) / self.h_old) / (h + self.h_old)
            };
            self.error[i] = self.ends.y1[i] - self.ends.y0[i] - h * (0.5 * (a0 + a1) - h * h / 6.0 * s);
            if k < n2 {
                let double_integral = h * h * (a0 / 3.0 + a1 / 6.0 - h * h / 12.0 * s);
                self.error[k] = self.ends.y1[k] - self.ends.y0[k] - h * self.ends.y0[i] - double_integral;
            }
        }

        self.filter();
        stats.n_solve += 1;
        self.weigh_by_index(system);
        tolerance.norm(&self.error[..n], &self.ends.y0[..n], &self.ends.y1[..n])
    }

    /// Filters `error`: e = (e_q, e_w) with w = (v, z) becomes x with
    ///
    /// ```text
    ///     x_q = e_q + h β/γ x_v          (µM − hγ J_w) x_w − hγ J_q x_q = µM e_w
    ///     ⇒ S x_w = µM e_w + hγ J_q e_q,   S the Newton matrix
    /// ```
    ///
    /// Errors that stiff forces undo vanish. An error of q that z does not share stays whole: β/γ = γ̃/µ̃ for every ρ∞,
    /// so that x_q − x_z = e_q − e_z where ż = v: no force reduces the difference q − z.
    fn filter(&mut self) {
        let (n, n2, h) = self.sizes();
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
    matrices!(linear, lu);
    interpolated_by!(ends);

    fn order(&self) -> usize {
        2
    }

    fn error_exponent(&self) -> Option<f64> {
        Some(3.0)
    }

    fn restart(&mut self, n: usize) {
        self.ends.restart(n);
        self.linear.restart();
        self.h_old = 0.0;
        self.lu_for = None;
        self.has_jacobian = false;
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, tolerance, .. } = step;
        self.linear.set_up(system, self.ends.n);
        let (n, n2) = (self.ends.n, self.linear.second_order());
        if self.ends.begin(system, step, &mut self.linear, &mut self.lu, stats)? {
            (self.has_jacobian, self.lu_for) = (false, None);
        }
        self.is_first = h.abs() > MAX_RATIO * self.h_old.abs();

        // b₀ for this step, and b₁ from rates extrapolated
        for k in 0..n - n2 {
            let i = n2 + k;
            let a0 = self.ends.dy0[i];
            let (slope, rise) =
                if self.is_first { (0.0, 0.0) } else { (self.slope[k], h / self.h_old * (a0 - self.dy_old[i])) };
            self.b0[k] = a0 + h * slope;
            self.b1[k] = self.coefficients(k).auxiliary(a0 + rise, self.b0[k], a0);
        }
        self.advance();

        // Newton, with the old Jacobian while it converges
        let keeps_jacobian = self.has_jacobian && self.theta < THETA_KEEP;
        if !keeps_jacobian {
            self.linear.update(system, t + h, &self.ends.y1[..n], &self.ends.dy1[..n], stats)?;
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
            self.linear.update(system, t + h, &self.ends.y1[..n], &self.ends.dy1[..n], stats)?;
            self.theta = 1.0;
            self.factor(stats)?;
            outcome = self.newton(system, tolerance, stats);
        }
        if outcome.is_err() {
            self.has_jacobian = false;
        }
        let iterations = outcome?;
        check_finite(&self.ends.y1[..n])?;

        let error = self.estimate(system, tolerance, stats);
        // slow Newton, smaller next step
        let safety = 0.9 * 21.0 / (20 + iterations) as f64;
        Ok(Attempt { error, safety })
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        self.ends.finish(system, stats)
    }

    fn accept(&mut self) {
        let (n, n2, h) = self.sizes();
        for k in 0..n - n2 {
            let (a0, a1) = (self.ends.dy0[n2 + k], self.ends.dy1[n2 + k]);
            let c = self.damped[usize::from(k >= n2)];
            self.slope[k] = if self.is_first { (c.alpha_m - c.alpha_f) * (a1 - a0) / h } else { (self.b1[k] - a1) / h };
        }
        // dy_old ← dy0 ← dy1
        std::mem::swap(&mut self.dy_old, &mut self.ends.dy0);
        self.ends.shift();
        self.h_old = h;
    }

    // a step that grows by less than a fifth is not worth new factors
    fn adjust_step(&self, h: f64, h_new: f64) -> f64 {
        if self.theta < THETA_KEEP && (1.0..1.2).contains(&(h_new / h)) { h } else { h_new }
    }
}

#[cfg(test)]
mod tests;

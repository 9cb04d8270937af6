//! Radau IIA with three stages, order 5, after Hairer & Wanner (*Solving ODEs II*, section IV.8; their code `radau5`).
//!
//! The stages Yᵢ = y + zᵢ at t + cᵢh, c = ((4−√6)/10, (4+√6)/10, 1), satisfy collocation, R(t + cᵢh, Yᵢ, Ẏᵢ) = 0 with Ẏ
//! = A⁻¹z/h and the defect R of the `newton` module. With T⁻¹A⁻¹T = diag(γ̂, α̂ ± iβ̂) and z = T w a simplified Newton
//! iteration falls apart into one real and one complex system of the size of y:
//!
//! ```text
//!     (γ̂/h M − J) Δw₁ = (T⁻¹R)₁            ((α̂ + iβ̂)/h M − J)(Δw₂ + iΔw₃) = (T⁻¹R)₂ + i(T⁻¹R)₃
//! ```
//!
//! - Newton stops when θ/(1−θ) ‖Δw‖ ≤ κ, θ the observed rate; it is abandoned as soon as the rate forbids convergence.
//!   J is kept while θ ≤ 5·10⁻³, the factors while h is kept (h⁺/h in 0.87 … 1.25 counts as kept). A step that fails
//!   with an old J is tried again with a new one.
//! - Error: see `error_estimate`.
//! - Interpolant: the collocation polynomial, error O(h⁴). Extended beyond the step, it starts the next Newton
//!   iteration.
//! - Differential-algebraic systems: errors in unknowns of index 2 and 3 are weighed with h and h².
//!
//! L-stable, stiffly accurate. The method to choose for stiff equations and for unsolved (residual)
//! equations.

mod error_estimate;
mod newton;
mod tableau;

use crate::coupled_stages::CoupledStages;
use crate::linear::{Complex, ComplexLu, Lu, Shortage};
use crate::newton::Linearised;
use crate::{Attempt, Failure, Form, Stats, Step, Stepper, System, Tolerance};
use newton::MAX_NEWTON;
use tableau::{AI, ALPHA, BETA, C, GAMMA, TI, rate, start_rate};

/// Steps that differ by less than this use the same factors.
const SAME_STEP: f64 = 1e-9;

/// A next step in this range of the present one is replaced by it, which saves factors: `radau5` keeps 1 … 1.2; this
/// range costs no steps and less than half the factorisations on van der Pol.
const KEPT_RATIO: std::ops::RangeInclusive<f64> = 0.87..=1.25;

/// Where a step comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Last {
    /// The step before was accepted, or there was none.
    Accepted,
    /// The attempt before, from the same point, was computed and is being shortened.
    Computed,
    /// The attempt before, from the same point, was rejected or failed.
    Rejected,
}

impl crate::archive::Archived for Last {
    fn archive(&mut self, archive: &mut crate::archive::Archive<'_>) {
        archive.choice(self, &[Last::Accepted, Last::Computed, Last::Rejected]);
    }
}

/// Three-stage Radau IIA. See the [module](self).
#[derive(Clone, Debug)]
pub struct Radau5 {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    y1: Vec<f64>,
    /// f(t, y0), or y' at the start in the residual form.
    f0: Vec<f64>,
    has_f0: bool,
    /// Stage increments zᵢ; `n` each.
    z: [Vec<f64>; 3],
    /// w = T⁻¹z.
    w: [Vec<f64>; 3],
    /// f or defects at the stages; then transformed.
    r: [Vec<f64>; 3],
    stage: Vec<f64>,
    rate: Vec<f64>,
    complex: Vec<Complex>,
    error: Vec<f64>,
    /// 1/tolerance of each unknown.
    weight: Vec<f64>,
    linear: Linearised,
    lu_real: Lu,
    lu_complex: ComplexLu,
    /// The step the factors were made for; 0 if there are none.
    lu_h: f64,
    has_jacobian: bool,
    /// J belongs to the present point.
    is_jacobian_current: bool,
    /// Newton of the last step was slow: J is due.
    is_slow: bool,
    /// θ/(1−θ) of the last iteration, the first guess for the next step.
    eta: f64,
    last: Last,
    is_first: bool,
    /// Divided differences of the last accepted step's collocation polynomial, and its step; 0 if there is none.
    poly: [Vec<f64>; 3],
    poly_h: f64,
    /// The same for the last attempt, filled by `finish`.
    trial: [Vec<f64>; 3],
    trial_h: f64,
    /// Quadrature rates at the stages; `n_quad` each.
    quad: [Vec<f64>; 3],
    /// Quadrature rates at the start of the step; `n_quad`.
    quad0: Vec<f64>,
    /// For prescribed steps: the iteration that is tried where the simplified one fails.
    coupled: Option<Box<CoupledStages<3>>>,
}

crate::archive::archived!(Radau5 {
    n, t, h, y0, y1, f0, has_f0, z, w, r, stage, rate, complex, error, weight, linear, lu_real, lu_complex, lu_h,
    has_jacobian, is_jacobian_current, is_slow, eta, last, is_first, poly, poly_h, trial, trial_h, quad, quad0
} without coupled; fits |it| {
    let m = it.linear.m();
    let is_factored = it.lu_h == 0.0 || it.linear.is_set_up() && it.lu_real.is_for(m) && it.lu_complex.is_for(m);
    it.n <= it.y0.len() && it.linear.fits(it.n) && is_factored
});

impl Radau5 {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        let triple = || std::array::from_fn(|_| zeros());
        Radau5 {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            f0: zeros(),
            has_f0: false,
            z: triple(),
            w: triple(),
            r: triple(),
            stage: zeros(),
            rate: zeros(),
            complex: vec![Complex::default(); n_max],
            error: zeros(),
            weight: zeros(),
            linear: Linearised::new(n_max),
            lu_real: Lu::new(n_max),
            lu_complex: ComplexLu::new(n_max),
            lu_h: 0.0,
            has_jacobian: false,
            is_jacobian_current: false,
            is_slow: false,
            eta: 1.0,
            last: Last::Accepted,
            is_first: true,
            poly: triple(),
            poly_h: 0.0,
            trial: triple(),
            trial_h: 0.0,
            quad: std::array::from_fn(|_| vec![0.0; n_quad]),
            quad0: vec![0.0; n_quad],
            coupled: None,
        }
    }

    /// The same for prescribed steps: where the simplified Newton iteration fails, the coupled one is tried.
    pub fn prescribed(n_max: usize, n_quad: usize) -> Self {
        Radau5 { coupled: Some(Box::new(CoupledStages::new(n_max, C, AI))), ..Radau5::new(n_max, n_quad) }
    }

    /// Weights of the error norm, and κ of the Newton iteration.
    fn set_weights<S: System>(&mut self, system: &S, h: f64, y: &[f64], tolerance: &Tolerance) -> f64 {
        for i in 0..self.n {
            self.weight[i] = 1.0 / tolerance.scale(i, y[i].abs());
        }
        if self.linear.form() != Form::Explicit {
            for i in 0..self.n {
                match system.index(i) {
                    3 => self.weight[i] *= h * h,
                    2 => self.weight[i] *= h,
                    _ => {}
                }
            }
        }
        // the tolerance of a prescribed step is Newton's own, and near round-off already
        if self.coupled.is_some() {
            return 1e-2;
        }
        let rtol = if tolerance.rtol > 0.0 { tolerance.rtol } else { tolerance.atol[0] };
        rtol.sqrt().min(0.03).max(10.0 * f64::EPSILON / rtol)
    }

    /// Starting values of z and w.
    fn predict(&mut self, h: f64) {
        let n = self.n;
        // a shortened step: the polynomial just found; otherwise that of the step before, beyond its end
        let (poly, ratio, offset) = match self.last {
            Last::Computed => (&self.trial, h / self.trial_h, -1.0),
            _ if self.poly_h != 0.0 => (&self.poly, h / self.poly_h, 0.0),
            _ => {
                // equations that are not linear in y' start from a y' that satisfies them
                let is_known = self.has_f0 && self.linear.form() == Form::Residual;
                for s in 0..3 {
                    for (z, rate) in self.z[s][..n].iter_mut().zip(&self.f0) {
                        *z = if is_known { C[s] * h * rate } else { 0.0 };
                    }
                }
                for i in 0..n {
                    for (k, ti) in TI.iter().enumerate() {
                        self.w[k][i] = ti[0] * self.z[0][i] + ti[1] * self.z[1][i] + ti[2] * self.z[2][i];
                    }
                }
                return;
            }
        };
        let [p1, p2, p3] = poly;
        let at = |s: f64, i: usize| s * (p1[i] + (s - (C[1] - 1.0)) * (p2[i] + (s - (C[0] - 1.0)) * p3[i]));
        let s: [f64; 3] = C.map(|c| c * ratio + offset);
        for i in 0..n {
            // the polynomial is written from the end of its step
            let base = if offset == 0.0 { 0.0 } else { at(-1.0, i) };
            let z = s.map(|s| at(s, i) - base);
            for k in 0..3 {
                self.z[k][i] = z[k];
                self.w[k][i] = TI[k][0] * z[0] + TI[k][1] * z[1] + TI[k][2] * z[2];
            }
        }
    }

    /// J at the start of the step; the factors are void.
    fn refresh<S: System>(&mut self, system: &mut S, y: &[f64], stats: &mut Stats) -> Result<(), Failure> {
        self.lu_h = 0.0;
        self.linear.update(system, self.t, y, &self.f0[..self.n], stats)?;
        (self.has_jacobian, self.is_jacobian_current) = (true, true);
        Ok(())
    }

    fn factor(&mut self, stats: &mut Stats) -> Result<(), Failure> {
        let h = self.h;
        self.lu_h = 0.0;
        stats.n_factor += 1;
        self.linear.factor(GAMMA / h, &mut self.lu_real)?;
        self.linear.factor(Complex::new(ALPHA / h, BETA / h), &mut self.lu_complex)?;
        self.lu_h = h;
        Ok(())
    }

    fn attempt<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let (n, Step { t, h, y, tolerance }) = (self.n, step);
        let kappa = self.set_weights(system, h, y, tolerance);
        if !self.has_f0 {
            if self.linear.form() == Form::Residual {
                self.linear.initial_rates(system, t, y, &mut self.f0[..n], &mut self.lu_real, stats)?;
            } else {
                stats.n_rhs += 1;
                system.rhs(t, y, &mut self.f0[..n])?;
            }
            self.has_f0 = true;
        }
        self.predict(h);

        // J where it is missing or too old, factors where J or h has changed
        let is_stale = match self.last {
            Last::Accepted => self.is_slow,
            Last::Computed => false,
            Last::Rejected => !self.is_jacobian_current,
        };
        if !self.has_jacobian || is_stale {
            self.refresh(system, y, stats)?;
        }
        if (h - self.lu_h).abs() > SAME_STEP * h {
            self.factor(stats)?;
        }

        // the old J may be the reason: try once more with a new one before the step is abandoned
        let mut result = self.newton(system, kappa, stats);
        if matches!(result, Err(Failure::Newton { .. })) && !self.is_jacobian_current {
            self.refresh(system, y, stats)?;
            self.factor(stats)?;
            self.predict(h);
            result = self.newton(system, kappa, stats);
        }
        if matches!(result, Err(Failure::Newton { .. } | Failure::NonFinite { .. }))
            && let Some(found) = self.coupled_newton(system, step, stats)
        {
            // a prescribed step has no error estimate
            found?;
            (0..n).for_each(|i| self.y1[i] = y[i] + self.z[2][i]);
            return Ok(Attempt { error: 0.0, safety: 0.9 });
        }
        let n_newton = result?;
        let error = self.estimate(system, stats)?;
        for i in 0..n {
            self.y1[i] = y[i] + self.z[2][i];
        }
        // slow Newton, smaller next step
        let safety = 0.9 * (2 * MAX_NEWTON + 1) as f64 / (2 * MAX_NEWTON + n_newton) as f64;
        Ok(Attempt { error, safety })
    }
}

impl Stepper for Radau5 {
    fn order(&self) -> usize {
        5
    }

    fn error_exponent(&self) -> Option<f64> {
        // h⁴ where the error is that of stiff stages, h⁶ elsewhere
        Some(5.0)
    }

    fn matrix_bytes(&self) -> u64 {
        let coupled = self.coupled.as_ref().map_or(0, |coupled| coupled.bytes());
        let all = [self.linear.bytes(), self.lu_real.bytes(), self.lu_complex.bytes(), coupled];
        all.into_iter().fold(0, u64::saturating_add)
    }

    fn reserve(&mut self) -> Result<(), Shortage> {
        self.linear.reserve()?;
        self.lu_real.reserve()?;
        self.lu_complex.reserve()?;
        self.coupled.as_mut().map_or(Ok(()), |coupled| coupled.reserve())
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.linear.restart();
        self.has_f0 = false;
        self.has_jacobian = false;
        self.lu_h = 0.0;
        self.eta = 1.0;
        self.last = Last::Accepted;
        self.is_first = true;
        self.poly_h = 0.0;
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        if self.n == 0 {
            (self.t, self.h) = (t, h);
            return Ok(Attempt { error: 0.0, safety: 0.9 });
        }
        self.linear.set_up(system, self.n);
        (self.t, self.h) = (t, h);
        self.y0[..self.n].copy_from_slice(y);
        let attempt = self.attempt(system, step, stats);
        self.last = match attempt {
            Ok(Attempt { error, .. }) if error < 1.0 => Last::Computed,
            _ => Last::Rejected,
        };
        attempt
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        let n = self.n;
        // divided differences of the collocation polynomial on 1, c₂, c₁, 0
        for i in 0..n {
            let (z1, z2, z3) = (self.z[0][i], self.z[1][i], self.z[2][i]);
            let last = (z2 - z3) / (C[1] - 1.0);
            let middle = (z1 - z2) / (C[0] - C[1]);
            let first = (middle - z1 / C[0]) / C[1];
            let second = (middle - last) / (C[0] - 1.0);
            (self.trial[0][i], self.trial[1][i], self.trial[2][i]) = (last, second, second - first);
        }
        self.trial_h = self.h;
        self.last = Last::Computed;
        if self.quad[0].is_empty() {
            return Ok(());
        }
        // at the start, for dense output: y' is known there, or else it is the slope of the collocation polynomial
        let is_known = self.has_f0 && self.linear.form() != Form::Mass;
        for i in 0..n {
            let (z1, z2, z3) = (self.z[0][i], self.z[1][i], self.z[2][i]);
            self.rate[i] = if is_known { self.f0[i] } else { start_rate(self.h, z1, z2, z3) };
        }
        stats.n_quadrature += 1;
        system.quadratures(self.t, &self.y0[..n], &self.rate[..n], &mut self.quad0)?;
        for s in 0..3 {
            for i in 0..n {
                self.stage[i] = self.y0[i] + self.z[s][i];
                self.rate[i] = rate(s, self.h, self.z[0][i], self.z[1][i], self.z[2][i]);
            }
            stats.n_quadrature += 1;
            system.quadratures(self.t + C[s] * self.h, &self.stage[..n], &self.rate[..n], &mut self.quad[s])?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        let s = theta - 1.0;
        let [p1, p2, p3] = &self.trial;
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.y1[i] + s * (p1[i] + (s - (C[1] - 1.0)) * (p2[i] + (s - (C[0] - 1.0)) * p3[i]));
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        // the integral of the cubic through the rates at c₁, c₂, 1 and 0; the last term is orthogonal to 1 on the whole
        // step, so that the end is that of the Radau quadrature
        let [r1, r2, r3] = &self.quad;
        let (s1, s2, s3) = (theta * theta / 2.0, theta.powi(3) / 3.0, theta.powi(4) / 4.0);
        let (sum, product) = (C[0] + C[1], C[0] * C[1]);
        let cubic = s3 - (sum + 1.0) * s2 + (product + sum) * s1 - product * theta;
        for (i, quad) in quad.iter_mut().enumerate() {
            let d12 = (r2[i] - r1[i]) / (C[1] - C[0]);
            let d23 = (r3[i] - r2[i]) / (C[2] - C[1]);
            let d123 = (d23 - d12) / (C[2] - C[0]);
            let parabola = s2 - (C[0] + C[1]) * s1 + C[0] * C[1] * theta;
            let d230 = (d23 - (r3[i] - self.quad0[i])) / C[1];
            let d1230 = (d123 - d230) / C[0];
            *quad = self.h * (r1[i] * theta + d12 * (s1 - C[0] * theta) + d123 * parabola + d1230 * cubic);
        }
    }

    fn accept(&mut self) {
        std::mem::swap(&mut self.poly, &mut self.trial);
        self.poly_h = self.h;
        if self.linear.form() == Form::Residual {
            for i in 0..self.n {
                self.f0[i] = rate(2, self.h, self.z[0][i], self.z[1][i], self.z[2][i]);
            }
        } else {
            self.has_f0 = false;
        }
        self.is_jacobian_current = false;
        self.is_first = false;
        self.last = Last::Accepted;
    }

    fn adjust_step(&self, h: f64, h_new: f64) -> f64 {
        let is_kept = !self.is_slow && KEPT_RATIO.contains(&(h_new / h));
        if is_kept { h } else { h_new }
    }
}

//! The step to try: that of the control, and at a start an estimate of it.
//!
//! Hairer, Nørsett & Wanner, *Solving ODEs I*, section II.4: an explicit Euler step that changes y by a hundredth gives
//! the second derivative, and with k the exponent of the error estimate
//!
//! ```text
//!     h₀ = 0.01 ‖y‖/‖f‖,     h₁ = u (0.01/max( u‖f‖, u²‖ÿ‖ ))^(1/k),     h = min( 100 h₀, h₁ )
//! ```
//!
//! with the unit of time u = 1. Here u is a time scale of the solution, so that the step does not depend on the unit in
//! which time is measured.

use super::Driver;
use crate::{Control, Error, EvalError, Form, StepRules, Stepper, System};

impl Driver {
    /// The step to try first.
    pub(super) fn plan<S: System>(&mut self, system: &mut S, t_stop: f64) -> Result<f64, Error> {
        let n = self.n;
        let rest = t_stop - self.t;
        let wanted = match self.options.control {
            Control::Constant { step } => step,
            Control::Prescribed => {
                system.step_rules().map_or(f64::INFINITY, |rules| rules.prescribed_step(self.t, &self.y[..n]))
            }
            Control::Error { .. } | Control::Elementary { .. } => {
                if self.h_next == 0.0 {
                    self.h_next = self.estimate_step(system, rest)?;
                }
                let h_max = system.step_rules().map_or(f64::INFINITY, |rules| rules.max_step(self.t, &self.y[..n]));
                // no shorter than time resolves: a step that is then too long for the tolerance is rejected, an error
                self.h_next.min(h_max).max(16.0 * f64::EPSILON * self.t.abs())
            }
        };
        let wanted = wanted.min(std::mem::replace(&mut self.h_cap, f64::INFINITY));
        if wanted.is_nan() || wanted <= 0.0 {
            return Err(Error::Input { what: "step", value: wanted, reason: "positive" });
        }
        Ok(wanted.min(self.options.max_step))
    }

    /// The first step of a run, or after a change of dimension.
    fn estimate_step<S: System>(&mut self, system: &mut S, rest: f64) -> Result<f64, Error> {
        let n = self.n;
        if n == 0 {
            return Ok(rest);
        }
        if system.form() != Form::Explicit {
            // y' is not at hand: start small and let the controller grow
            return Ok(1e-5 * rest);
        }
        let Driver { t, y, y_at, f0, f1, tolerance, stats, .. } = self;
        let (y, moved, f0, f1) = (&y[..n], &mut y_at[..n], &mut f0[..n], &mut f1[..n]);
        // an unknown at zero without an absolute tolerance has no scale yet and does not count
        let norm = |x: &[f64]| {
            let known = (0..n).filter(|&i| tolerance.is_known(i, y[i].abs()));
            let sum: f64 = known.map(|i| (x[i] / tolerance.scale(i, y[i].abs())).powi(2)).sum();
            (sum / n as f64).sqrt()
        };
        let exponent = self.stepper.error_exponent().unwrap_or(5.0);
        let mut estimate = || -> Result<f64, EvalError> {
            stats.n_rhs += 2;
            system.rhs(*t, y, f0)?;
            let (d0, d1) = (norm(y), norm(f0));
            let is_known = d0 >= 1e-5 && d1 * rest >= 1e-5;
            let h = if is_known { (0.01 * d0 / d1).min(rest) } else { 1e-6 * rest };
            (0..n).for_each(|i| moved[i] = y[i] + h * f0[i]);
            system.rhs(*t + h, moved, f1)?;
            f1.iter_mut().zip(f0.iter()).for_each(|(f1, f0)| *f1 -= f0);
            let d2 = norm(f1) / h;
            // the unit of time: y by ẏ or √(y/ÿ), whichever is longer; else the time in which ẏ changes, or the
            // remaining time. The factor 4 is a calibration, not a result: it makes the unit about the 1 s of the book
            // for HIRES, whose end errors scatter with the first step by as much as the slopes in
            // `tests/steppers/slopes.rs` allow
            let units = [4.0 * (d0 / d1).max((d0 / d2).sqrt()), d1 / d2, rest];
            let unit = units.into_iter().find(|unit| *unit > 0.0 && unit.is_finite()).unwrap_or(rest);
            let steepest = (unit * d1).max(unit * unit * d2);
            let h1 = if steepest <= 1e-15 {
                (1e-3 * h).max(1e-6 * rest)
            } else {
                unit * (0.01 / steepest).powf(1.0 / exponent)
            };
            Ok((100.0 * h).min(h1).min(rest))
        };
        match estimate() {
            Ok(h) if h > 0.0 => Ok(h),
            Ok(_) | Err(EvalError::Retry) => Ok(1e-6 * rest),
            Err(error) => Err(self.failed(error.into(), 0.0)),
        }
    }
}

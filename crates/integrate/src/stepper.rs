//! The interface of a stepper: one step with error estimate, acceptance and interpolant.
//!
//! The order of calls is
//!
//! ```text
//!     restart ─▶ step … step ─▶ finish ─▶ interpolate … ─▶ accept ─▶ step …
//!                 ▲    │ rejected or shortened
//!                 └────┘
//! ```
//!
//! A stepper owns its scratch, sized at construction for the largest dimension; `restart` sets the active one.

use crate::linear::Shortage;
use crate::{EvalError, Stats, System};

/// The finest relative tolerance that rounding leaves room for.
pub(crate) const FINEST_RTOL: f64 = 1e-14;

/// Tolerances in force, per component.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerances; at least the active dimension.
    pub atol: Vec<f64>,
    /// Bounds on the tolerance of each unknown at the present point,
    /// [`StepRules::bound_tolerances`](crate::StepRules::bound_tolerances); as many.
    pub bound: Vec<f64>,
}

crate::archive::archived!(Tolerance { rtol, atol } without bound);

impl Tolerance {
    /// No tolerance is smaller: its square and inverse square do not overflow.
    const LEAST: f64 = 1e-150;

    /// Without bounds.
    pub fn new(rtol: f64, atol: Vec<f64>) -> Self {
        let bound = vec![f64::INFINITY; atol.len()];
        Tolerance { rtol, atol, bound }
    }

    /// Bounds at `y` for a stepper that [estimates its own error](Stepper::estimates_itself), O(h³) in a step: an
    /// eighth of each halves the steps and leaves a quarter of the accumulated error. None is finer than the finest
    /// `rtol`, in units of y.
    pub(crate) fn halve_steps(&mut self, y: &[f64]) {
        for (bound, y) in self.bound.iter_mut().zip(y) {
            *bound = bound.min((0.125 * *bound).max(FINEST_RTOL * y.abs()));
        }
    }

    /// Tolerance of unknown i of this size.
    #[inline]
    pub fn scale(&self, i: usize, size: f64) -> f64 {
        (self.atol[i] + self.rtol * size).min(self.bound[i]).max(Self::LEAST)
    }

    /// Whether unknown i of this size has a tolerance of its own.
    #[inline]
    pub fn is_known(&self, i: usize, size: f64) -> bool {
        self.atol[i] + self.rtol * size > Self::LEAST
    }

    /// √(mean((eᵢ/min(atolᵢ + rtol·max(|aᵢ|, |bᵢ|), boundᵢ))²)): the norm in which 1 is the tolerance.
    pub fn norm(&self, e: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..e.len() {
            let scaled = e[i] / self.scale(i, a[i].abs().max(b[i].abs()));
            sum += scaled * scaled;
        }
        (sum / e.len().max(1) as f64).sqrt()
    }
}

/// A step to be computed.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its start.
    pub t: f64,
    /// Its length.
    pub h: f64,
    /// The state at its start; active dimension.
    pub y: &'a [f64],
    /// Tolerances of its error, or of Newton's iteration where the step is prescribed.
    pub tolerance: &'a Tolerance,
}

/// A step that was computed; step control accepts or rejects it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// Estimated local error in units of the tolerance; 0 for a method without estimate.
    pub error: f64,
    /// Safety factor for the next step: 0.9, less after many Newton iterations.
    pub safety: f64,
}

impl Attempt {
    /// An explicit step with this error.
    pub fn explicit(error: f64) -> Self {
        Attempt { error, safety: 0.9 }
    }
}

/// A step that could not be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// Newton did not converge; the step might be multiplied by `factor` < 1.
    Newton {
        /// Suggested reduction.
        factor: f64,
    },
    /// No pivot in this column.
    Singular {
        /// The column.
        column: usize,
    },
    /// Something is not finite, first in this component.
    NonFinite {
        /// The component.
        component: usize,
    },
    /// The system could not be evaluated.
    System(EvalError),
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        Failure::System(error)
    }
}

impl From<crate::linear::Singular> for Failure {
    fn from(singular: crate::linear::Singular) -> Self {
        Failure::Singular { column: singular.column }
    }
}

/// One-step methods. See the [module](self) for the order of calls.
pub trait Stepper {
    /// Order p of the solution: local error O(h^(p+1)).
    fn order(&self) -> usize;

    /// The estimate behaves like h^k with this k; `None` if there is no estimate.
    fn error_exponent(&self) -> Option<f64> {
        None
    }

    /// Whether the estimate is the error of the solution itself, k = p + 1. Others estimate the error of a solution
    /// of lower order than the one they advance, which is closer. With this one a step makes the error that is allowed,
    /// and in periodic motion, where all errors have one sign, they accumulate.
    fn estimates_itself(&self) -> bool {
        self.error_exponent().is_some_and(|k| k > self.order() as f64)
    }

    /// Sets the active dimension and discards the memory of earlier steps.
    fn restart(&mut self, n: usize);

    /// Bytes of the matrices it needs before its first step.
    fn matrix_bytes(&self) -> u64 {
        0
    }

    /// Makes room for them.
    fn reserve(&mut self) -> Result<(), Shortage> {
        Ok(())
    }

    /// Computes a step. May be called again from the same point with another length.
    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure>;

    /// Prepares the interpolant and the quadratures of the last step.
    fn finish<S: System>(&mut self, _system: &mut S, _stats: &mut Stats) -> Result<(), Failure> {
        Ok(())
    }

    /// y at the end of the last step.
    fn y_new(&self) -> &[f64];

    /// The interpolant at t + θh, 0 ≤ θ ≤ 1; `y` has the active dimension.
    fn interpolate(&self, theta: f64, y: &mut [f64]);

    /// Increments of the quadratures from t to t + θh; at θ = 1 with the method's weights.
    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]);

    /// Whether states within a step are as meaningful as those at its end.
    fn has_dense_output(&self) -> bool {
        true
    }

    /// The stiffest unknown, where stability and not accuracy limited the last accepted step, as far as the method can
    /// tell.
    fn stiff_component(&self) -> Option<usize> {
        None
    }

    /// The last step is accepted: keeps its data for the next.
    fn accept(&mut self) {}

    /// The length of the next step where the controller proposes `h_new` after an accepted step of length `h`: a
    /// stepper with factors for `h` may keep `h`.
    fn adjust_step(&self, _h: f64, h_new: f64) -> f64 {
        h_new
    }
}

/// Index of the first non-finite entry.
pub(crate) fn check_finite(values: &[f64]) -> Result<(), Failure> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(component) => Err(Failure::NonFinite { component }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dopri5, GeneralizedAlpha, Radau5};

    #[test]
    fn estimates_of_the_solution_itself_halve_steps() {
        assert!(GeneralizedAlpha::new(1, 0, 0.8).estimates_itself());
        assert!(!Dopri5::new(1, 0).estimates_itself());
        assert!(!Radau5::new(1, 0).estimates_itself());
        let mut tolerance = Tolerance::new(1e-2, vec![1e-2; 4]);
        tolerance.bound.copy_from_slice(&[f64::INFINITY, 8e-6, 2e-14, 1e-15]);
        tolerance.halve_steps(&[1.0; 4]);
        // none finer than 1e-14 of y, unless the system asked for it
        assert_eq!(tolerance.bound, [f64::INFINITY, 1e-6, 1e-14, 1e-15]);
    }
}

//! What every stepper offers the driver: one step with error estimate, acceptance and interpolant.
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

/// Tolerances in force, per component.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerances; at least the active dimension.
    pub atol: Vec<f64>,
    /// Bounds on the tolerance of each unknown at the present point, [`System::resolution`]; as many.
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

/// A step that was computed; whether it is good enough is for the controller to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// Estimated local error in units of the tolerance; 0 for a method without estimate.
    pub error: f64,
    /// Safety factor for the next step: 0.9, less if Newton had to work.
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
    /// The system said so.
    System(EvalError),
}

impl From<EvalError> for Failure {
    fn from(trouble: EvalError) -> Self {
        Failure::System(trouble)
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
    fn error_exponent(&self) -> Option<f64>;

    /// Sets the active dimension and forgets whatever was remembered of earlier steps.
    fn restart(&mut self, n: usize);

    /// Bytes of the matrices it needs before its first step.
    fn matrix_bytes(&self) -> u64 {
        0
    }

    /// Makes room for them.
    fn reserve(&mut self) -> Result<(), Shortage> {
        Ok(())
    }

    /// One step from (t, y) of size h. May be called again from the same point with another h.
    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<Attempt, Failure>;

    /// Prepares the interpolant and the quadratures of the last step.
    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure>;

    /// y at the end of the last step.
    fn y_new(&self) -> &[f64];

    /// The interpolant at t + θh, 0 ≤ θ ≤ 1; `y` has the active dimension.
    fn interpolate(&self, theta: f64, y: &mut [f64]);

    /// Increments of the quadratures from t to t + θh; at θ = 1 with the method's weights.
    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]);

    /// The stiffest unknown, where the last accepted step was held down by stability rather than by accuracy, as far as the method can tell.
    fn stiff_component(&self) -> Option<usize> {
        None
    }

    /// The last step stands: remember what helps the next.
    fn accept(&mut self);

    /// The controller proposes `h_new` after an accepted step of size `h`: a stepper that holds factors for `h` may prefer to keep it.
    fn settle(&self, _h: f64, h_new: f64) -> f64 {
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

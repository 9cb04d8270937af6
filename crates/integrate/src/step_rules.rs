//! Step rules: bounds on a step that a system knows and an error estimate does not.
//!
//! An estimate sees a solution at the points it was computed from, within tolerances that the user chose. A system may
//! know more: the time in which a hidden quantity changes, the scale over which its equations bend, an invariant. With
//! u the interpolant of a step of length h from (t₀, y₀), error control then requires
//!
//! ```text
//!     h ≤ h_max(t₀, y₀)                                            max_step
//!     |eᵢ| ≤ min( atolᵢ + rtol |yᵢ|, bᵢ(t₀, h, y₀) )               bound_tolerances
//!     χ(t, h, y₀, u(t), u̇(t)) ≤ 1   for t in (t₀, t₀ + h]          violation: a larger χ rejects the step
//! ```
//!
//! and every accepted step may be followed by a projection y₁ ← P(t₁, y₁) ([`StepRules::accepted`]). Under
//! [`Control::Prescribed`](crate::Control::Prescribed) there is no error control, and h = h(t₀, y₀) is
//! [`StepRules::prescribed_step`].
//!
//! A system has step rules if its [`System::step_rules`] returns them, as a rule itself:
//!
//! ```
//! use bristle_integrate::{EvalError, StepRules, System};
//!
//! /// y' = cos t, with an event that no error estimate foresees: a step spans a tenth of a period at most.
//! struct Hidden;
//!
//! impl StepRules for Hidden {
//!     fn max_step(&self, _t: f64, _y: &[f64]) -> f64 {
//!         0.1 * std::f64::consts::TAU
//!     }
//! }
//!
//! impl System for Hidden {
//!     fn dim(&self) -> usize {
//!         1
//!     }
//!     fn rhs(&mut self, t: f64, _y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
//!         dy[0] = t.cos();
//!         Ok(())
//!     }
//!     fn step_rules(&mut self) -> Option<&mut impl StepRules> {
//!         Some(self)
//!     }
//! }
//! ```

use crate::stepper::Stepper;
use crate::{EvalError, System};

/// Bounds on steps that a system adds to the error estimate. See the [module](self).
pub trait StepRules {
    /// h_max(t, y): no error-controlled step from (t, y) is longer. Infinite by default.
    fn max_step(&self, _t: f64, _y: &[f64]) -> f64 {
        f64::INFINITY
    }

    /// b(t, h, y) into `each`, every entry: bounds on the tolerances of an error-controlled step. Infinite by default.
    fn bound_tolerances(&mut self, _t: f64, _h: f64, _y: &[f64], _each: &mut [f64]) {}

    /// Called before an attempt at a step of length `h` from `t`, not before the shorter ones that land on its events.
    fn attempt(&mut self, _t: f64, _h: f64) {}

    /// Whether [`StepRules::violation`] may exceed 0; constant.
    fn has_violation(&self) -> bool {
        false
    }

    /// χ(t, h, y₀, y, ẏ) at a point (t, y) of the interpolant of an error-controlled step, ẏ being the derivative of
    /// the interpolant: the violation of an invariant or of an equation, in units of the violation allowed.
    fn violation(&mut self, _t: f64, _h: f64, _y0: &[f64], _y: &[f64], _dy: &[f64]) -> f64 {
        0.0
    }

    /// The step from (t, y) under [`Control::Prescribed`](crate::Control::Prescribed); an infinite one ends at the time
    /// that was asked for.
    fn prescribed_step(&mut self, _t: f64, _y: &[f64]) -> f64 {
        f64::INFINITY
    }

    /// Called after every accepted step, before the next. May change `y` (a projection onto an invariant, a change of
    /// chart); returns whether it did.
    fn accepted(&mut self, _t: f64, _y: &mut [f64]) -> Result<bool, EvalError> {
        Ok(false)
    }

    /// Called after an accepted step to `t` of length `h` that stability limits instead of accuracy: unknown
    /// `component` is the stiffest.
    fn stability_limited(&mut self, _t: f64, _h: f64, _component: usize) {}
}

/// No rules: those of a system that does not name any.
#[derive(Clone, Copy, Debug)]
pub enum NoStepRules {}

impl StepRules for NoStepRules {}

/// Points of a step, in units of its length, at which χ is evaluated.
const POINTS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// Half the distance, in the same units, of the central difference that gives u̇: interpolants are polynomials of
/// degree five at most, so that 1e-4 leaves an error of 1e-8 of the rate, and rounding less.
const HALF_DISTANCE: f64 = 1e-4;

/// The largest χ at [`POINTS`] of the step from (t, y) of length `h` that `stepper` has finished; three slices of
/// scratch.
pub(crate) fn violation<S: System>(
    system: &mut S,
    stepper: &impl Stepper,
    t: f64,
    h: f64,
    y: &[f64],
    [y_at, rate, before]: [&mut [f64]; 3],
) -> f64 {
    let Some(rules) = system.step_rules().filter(|rules| rules.has_violation()) else { return 0.0 };
    let mut largest = 0.0_f64;
    for theta in POINTS {
        // at the end of the step the polynomial is extrapolated
        stepper.interpolate(theta - HALF_DISTANCE, before);
        stepper.interpolate(theta + HALF_DISTANCE, rate);
        rate.iter_mut().zip(&*before).for_each(|(rate, before)| *rate = (*rate - before) / (2.0 * HALF_DISTANCE * h));
        if theta < 1.0 {
            stepper.interpolate(theta, y_at);
        } else {
            y_at.copy_from_slice(stepper.y_new());
        }
        largest = largest.max(rules.violation(t + theta * h, h, y, y_at, rate));
    }
    largest
}

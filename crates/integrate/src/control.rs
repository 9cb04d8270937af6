//! Step-size control: the length of the next step, apart from the way a step is made.
//!
//! **Error control** ([`Control::Error`]) compares a stepper's error estimate with a tolerance. With
//!
//! ```text
//!     err = √( 1/n Σ (eᵢ / (atolᵢ + rtol |yᵢ|))² ) ~ h^k
//! ```
//!
//! an explicit stepper uses the PI rule, an implicit one Gustafsson's predictive rule ([`ErrorControl`]):
//!
//! ```text
//!     PI           h⁺ = fac h err^(−1/k + 0.75 b) err₋^b,   b = 0.04             HW II, IV.2; DOPRI5
//!     predictive   h⁺ = h min( fac err^(−1/k), 0.9 (h/h₋) (err₋/err²)^(1/k) )    Gustafsson 1994; HW II, IV.8; RADAU5
//!     elementary   h⁺ = 0.8 h err^(−1/k)                                         Control::Elementary, for comparison
//! ```
//!
//! with fac = 0.9, or less after many Newton iterations. The other controls prescribe the step: a constant, or a
//! function of the state that the system knows ([`StepRules::prescribed_step`](crate::StepRules::prescribed_step)).
//!
//! HW II: Hairer & Wanner, *Solving Ordinary Differential Equations II*, second edition.

use crate::Attempt;
use crate::Error;
use crate::method::Method;
use crate::stepper::FINEST_RTOL;

/// The choice of the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// The same step throughout.
    Constant {
        /// s.
        step: f64,
    },
    /// The largest step whose estimated error stays below the tolerance.
    Error {
        /// Relative tolerance.
        rtol: f64,
        /// Absolute tolerance, from which [`crate::System::absolute_tolerance`] derives that of each unknown.
        atol: f64,
    },
    /// The same by the elementary rule, which has no memory. For comparison: where stability bounds the step, it
    /// overshoots, is rejected, and oscillates. No [step rules](crate::step_rules) bound tolerances or reject steps.
    Elementary {
        /// Relative tolerance.
        rtol: f64,
        /// Absolute tolerance, from which [`crate::System::absolute_tolerance`] derives that of each unknown.
        atol: f64,
    },
    /// The system prescribes each step: [`StepRules::prescribed_step`](crate::StepRules::prescribed_step).
    Prescribed,
}

impl Default for Control {
    /// `Error` with rtol 1e-8 and atol 1e-10.
    fn default() -> Self {
        Control::error(1e-8, 1e-10)
    }
}

impl Control {
    /// The rule of error control with this method.
    pub fn rule(&self, method: Method) -> Rule {
        if let Control::Elementary { .. } = self { Rule::Elementary } else { method.rule() }
    }

    /// Control by the error estimate.
    pub fn error(rtol: f64, atol: f64) -> Self {
        Control::Error { rtol, atol }
    }

    /// Whether step rules of the system bound tolerances and reject steps, beside the error estimate.
    pub fn is_guarded(&self) -> bool {
        matches!(self, Control::Error { .. })
    }

    /// Relative and absolute tolerance; `None` where the step is prescribed.
    pub fn tolerances(&self) -> Option<(f64, f64)> {
        match *self {
            Control::Error { rtol, atol } | Control::Elementary { rtol, atol } => Some((rtol, atol)),
            Control::Constant { .. } | Control::Prescribed => None,
        }
    }

    /// Refuses parameters out of range.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let check = |what, value, is_valid, reason| {
            if is_valid { Ok(()) } else { Err(Error::Input { what, value, reason }) }
        };
        match *self {
            Control::Constant { step } => check("step", step, step > 0.0 && step.is_finite(), "positive and finite"),
            Control::Error { rtol, atol } | Control::Elementary { rtol, atol } => {
                // rounding in a step alone leaves a relative error of a few dozen ulps
                let is_reachable = rtol == 0.0 || (FINEST_RTOL..1.0).contains(&rtol);
                check("rtol", rtol, is_reachable, "0 or at least 1e-14, and below 1")?;
                check("atol", atol, is_valid_atol(atol, rtol), ATOL)
            }
            Control::Prescribed => Ok(()),
        }
    }
}

/// The range of an absolute tolerance, in words.
pub(crate) const ATOL: &str = "finite and positive, or 0 with a positive `rtol`";

pub(crate) fn is_valid_atol(atol: f64, rtol: f64) -> bool {
    atol.is_finite() && (atol > 0.0 || atol == 0.0 && rtol > 0.0)
}

/// The rule of error control, by its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Proportional-integral, for explicit steppers.
    Pi,
    /// Gustafsson's predictive rule, for implicit steppers.
    Predictive,
    /// None: the textbook rule.
    Elementary,
}

/// Error control: the next step from the error of this one and of the one before.
#[derive(Clone, Debug)]
pub struct ErrorControl {
    rule: Rule,
    /// h₋ and err₋ of the last accepted step; none at a start.
    last: Option<(f64, f64)>,
    is_after_rejection: bool,
}

crate::archive::archived!(ErrorControl { last, is_after_rejection } without rule);

impl ErrorControl {
    const SAFETY: f64 = 0.9;
    const TEXTBOOK_SAFETY: f64 = 0.8;
    /// b of the PI rule.
    const B: f64 = 0.04;
    /// err₋ is not taken below this: an error that was nearly zero does not predict the next (DOPRI5 and RADAU5).
    const PI_FLOOR: f64 = 1e-4;
    const PREDICTIVE_FLOOR: f64 = 1e-2;

    /// At a start.
    pub fn new(rule: Rule) -> Self {
        ErrorControl { rule, last: None, is_after_rejection: false }
    }

    /// Forgets the past, as after an event.
    pub fn reset(&mut self) {
        *self = ErrorControl::new(self.rule);
    }

    /// Whether the error is within the tolerance; NaN is not.
    pub fn accepts(&self, error: f64) -> bool {
        error <= 1.0
    }

    /// The step after an accepted one of size `h` whose error behaves like h^k.
    pub fn accepted(&mut self, h: f64, attempt: &Attempt, k: f64) -> f64 {
        let Attempt { error, safety } = *attempt;
        let (shrink, grow) = self.bounds();
        let (mut factor, floor) = match self.rule {
            Rule::Pi => {
                let error_old = self.last.map_or(Self::PI_FLOOR, |(_, error)| error);
                let factor = safety * error.powf(0.75 * Self::B - 1.0 / k) * error_old.powf(Self::B);
                (factor, Self::PI_FLOOR)
            }
            Rule::Predictive => {
                let mut factor = safety * error.powf(-1.0 / k);
                // the trend of the error, from the second step on
                if let Some((h_old, error_old)) = self.last {
                    factor = factor.min(Self::SAFETY * (h / h_old) * (error_old / (error * error)).powf(1.0 / k));
                }
                (factor, Self::PREDICTIVE_FLOOR)
            }
            Rule::Elementary => (Self::TEXTBOOK_SAFETY * error.powf(-1.0 / k), Self::PI_FLOOR),
        };
        factor = factor.clamp(shrink, grow);
        // a step that follows a rejection does not grow
        if self.is_after_rejection {
            factor = factor.min(1.0);
        }
        self.last = Some((h, error.max(floor)));
        self.is_after_rejection = false;
        h * factor
    }

    /// The step to try instead of a rejected one of size `h`.
    pub fn rejected(&mut self, h: f64, attempt: &Attempt, k: f64) -> f64 {
        let (shrink, _) = self.bounds();
        self.is_after_rejection = true;
        // nothing is known at a start: go well below, as RADAU5 does
        if self.last.is_none() && self.rule == Rule::Predictive {
            return 0.1 * h;
        }
        let factor = attempt.safety * attempt.error.powf(-1.0 / k);
        // not a number: as small as allowed
        if factor >= shrink { h * factor.min(Self::SAFETY) } else { h * shrink }
    }

    /// Bounds of h⁺/h, those of DOPRI5 and RADAU5.
    fn bounds(&self) -> (f64, f64) {
        match self.rule {
            Rule::Pi => (0.2, 10.0),
            Rule::Predictive => (0.2, 8.0),
            Rule::Elementary => (0.1, 5.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-14 * expected.abs(), "{value} instead of {expected}");
    }

    #[test]
    fn refusals_name_parameter_and_range() {
        let message = |control: Control| control.validate().unwrap_err().to_string();
        assert_eq!(message(Control::Constant { step: 0.0 }), "step = 0.0 cannot be used; wanted: positive and finite");
        assert_eq!(
            message(Control::error(-1.0, 1e-8)),
            "rtol = -1.0 cannot be used; wanted: 0 or at least 1e-14, and below 1"
        );
        assert_eq!(
            message(Control::Elementary { rtol: 0.0, atol: 0.0 }),
            "atol = 0.0 cannot be used; wanted: finite and positive, or 0 with a positive `rtol`"
        );
        for control in [Control::Constant { step: f64::NAN }, Control::error(f64::NAN, 1.0), Control::error(0.0, 0.0)] {
            assert!(control.validate().is_err(), "{control:?}");
        }
        Control::error(1e-8, 1e-10).validate().unwrap();
    }

    fn attempt(error: f64) -> Attempt {
        Attempt { error, safety: 0.9 }
    }

    #[test]
    fn pi_rule_by_hand() {
        // k = 5: exponent 0.2 − 0.03
        let mut control = ErrorControl::new(Rule::Pi);
        assert_close(control.accepted(1.0, &attempt(1.0), 5.0), 0.9 * 1e-4f64.powf(0.04));
        assert_close(control.accepted(2.0, &attempt(0.5), 5.0), 2.0 * 0.9 * 0.5f64.powf(-0.17));
        assert_close(control.rejected(1.0, &attempt(32.0), 5.0), 0.45); // 32^0.2 = 2
        // after a rejection no growth, then growth at most tenfold
        assert_close(control.accepted(0.45, &attempt(1e-9), 5.0), 0.45);
        assert_close(control.accepted(0.45, &attempt(0.0), 5.0), 4.5);
        assert_close(control.rejected(1.0, &attempt(f64::NAN), 5.0), 0.2);
        assert_close(control.rejected(1.0, &attempt(f64::INFINITY), 5.0), 0.2);
        assert!(control.accepts(1.0) && !control.accepts(1.1) && !control.accepts(f64::NAN));
    }

    #[test]
    fn predictive_rule_by_hand() {
        let mut control = ErrorControl::new(Rule::Predictive);
        assert_close(control.accepted(1.0, &attempt(0.0625), 4.0), 1.8);
        // err from 1/16 to 1 while h doubled: trend 0.9 · 2 · (1/16)^¼ = 0.9, as the plain rule
        assert_close(control.accepted(2.0, &attempt(1.0), 4.0), 1.8);
        // the error halves at equal steps: trend 0.9 · (4)^¼, plain 0.9 · 2^¼, the smaller wins
        assert_close(control.accepted(2.0, &attempt(0.5), 4.0), 1.8 * 2f64.powf(0.25));
        // it doubles again: trend 0.9 · (1/2)^¼, plain 0.9
        assert_close(control.accepted(2.0, &attempt(1.0), 4.0), 1.8 * 0.5f64.powf(0.25));
        assert_close(control.rejected(1.0, &attempt(16.0), 4.0), 0.45);
        assert_close(control.accepted(0.45, &attempt(1e-9), 4.0), 0.45);
        // an error of zero: eightfold, no more
        assert_close(control.accepted(0.45, &attempt(0.0), 4.0), 3.6);
        control.reset();
        assert_close(control.rejected(1.0, &attempt(2.0), 4.0), 0.1);
    }
}

//! Step-size control: what the next step should be, apart from how a step is made.
//!
//! Two kinds. **Error control** ([`Control::Error`]) compares a stepper's error estimate with a tolerance. With
//!
//! ```text
//!     err = √( 1/n Σ (e_i / (atol_i + rtol |y_i|))² ) ~ h^k
//! ```
//!
//! an explicit stepper uses the PI rule, an implicit one Gustafsson's predictive rule ([`ErrorControl`]):
//!
//! ```text
//!     PI           h⁺ = fac h err^(−1/k + 0.75 b) err₋^b,   b = 0.04                  [HW II, IV.2; DOPRI5]
//!     elementary   h⁺ = 0.8 h err^(−1/k)                                             [[`Control::Elementary`], for comparison]
//!     predictive   h⁺ = h min( fac err^(−1/k), 0.9 (h/h₋) (err₋/err²)^(1/k) )         [Gustafsson 1994; HW II, IV.8; RADAU5]
//! ```
//!
//! with fac = 0.9 or what is left of it after Newton's labour.
//!
//! **Friction rules** know only how fast each joint slips and how fast its bristles relax ([`Slip`]); the smallest step over all
//! joints wins. They come from the Dymore manual and from Do, Ferri & Bauchau (2007); ν = |V|/(v_s v̄_min), Ω = σ₀ v_s/μ_k:
//!
//! ```text
//!     DymoreCoulomb        Δt = min( T_s, Δt_min + (Δt_max − Δt_min) tanh⁴ ν )
//!     DymoreLuGre          Ω Δt = min( T̄_s, Δτ_min max(1, ν)^α )
//!     Velocity             Δt = inside while lo ≤ |V|/v_s < hi, else outside
//!     TimeConstant         Δt = min( max, fraction T_c )
//!     TimeConstantSwitch   Δt = below while T_c < threshold, else above
//! ```
//!
//! The manual prints the second Coulomb default as "c₂ = Δt_min": it is Δt_max. It lists T_s without defining it: here it is a cap.
//!
//! HW II: Hairer & Wanner, *Solving Ordinary Differential Equations II*, second edition.

use crate::method::Method;
use crate::stepper::FINEST_RTOL;
use crate::{Attempt, Slip};

/// How the step size is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum Control {
    /// The same step throughout.
    Constant {
        /// s.
        step: f64,
    },
    /// The largest step whose estimated error stays below the tolerance.
    Error {
        /// Relative tolerance.
        #[cfg_attr(feature = "serde", serde(default = "default::rtol"))]
        rtol: f64,
        /// Absolute tolerance, from which the system derives each unknown's own ([`crate::System::absolute_tolerance`]).
        #[cfg_attr(feature = "serde", serde(default = "default::atol"))]
        atol: f64,
    },
    /// The same by the textbook rule, h⁺ = 0.8 h err^(−1/k), which has no memory. For comparison: where stability bounds the step it
    /// overshoots, is thrown back, and rings. The tolerances are taken as they are: the system is asked for no resolution and no misfit.
    Elementary {
        /// Relative tolerance.
        #[cfg_attr(feature = "serde", serde(default = "default::rtol"))]
        rtol: f64,
        /// Absolute tolerance, from which the system derives each unknown's own ([`crate::System::absolute_tolerance`]).
        #[cfg_attr(feature = "serde", serde(default = "default::atol"))]
        atol: f64,
    },
    /// Dymore's rule for regularised Coulomb friction.
    DymoreCoulomb {
        /// Δt_min, s.
        #[cfg_attr(feature = "serde", serde(default = "default::coulomb_min"))]
        min: f64,
        /// Δt_max, s.
        #[cfg_attr(feature = "serde", serde(default = "default::coulomb_max"))]
        max: f64,
        /// v̄_min: speeds of this many v_s count as small.
        #[cfg_attr(feature = "serde", serde(default = "default::v_min"))]
        v_min: f64,
        /// T_s: no step is longer, s.
        #[cfg_attr(feature = "serde", serde(default = "default::coulomb_t_s"))]
        t_s: f64,
    },
    /// Dymore's rule for LuGre friction.
    DymoreLuGre {
        /// Δτ_min, in units of 1/Ω.
        #[cfg_attr(feature = "serde", serde(default = "default::lugre_min"))]
        min: f64,
        /// v̄_min: speeds of this many v_s count as small.
        #[cfg_attr(feature = "serde", serde(default = "default::v_min"))]
        v_min: f64,
        /// Growth of the step with speed, Δτ ∝ ν^α.
        #[cfg_attr(feature = "serde", serde(default = "default::lugre_alpha"))]
        alpha: f64,
        /// T̄_s: no step is longer, in units of 1/Ω.
        #[cfg_attr(feature = "serde", serde(default = "default::lugre_t_s"))]
        t_s: f64,
    },
    /// One step inside a range of slip speeds, another outside (Do, Ferri & Bauchau).
    Velocity {
        /// Step while any joint slips at a speed in `range`, s.
        inside: f64,
        /// Step otherwise, s.
        outside: f64,
        /// Half-open range of |V|/v_s: `range.0 <= |V|/v_s < range.1`.
        range: (f64, f64),
    },
    /// A fraction of the fastest bristle's time constant (Do, Ferri & Bauchau).
    TimeConstant {
        /// No step is longer, s.
        max: f64,
        /// Step over T_c.
        #[cfg_attr(feature = "serde", serde(default = "default::fraction"))]
        fraction: f64,
    },
    /// One step while some bristle is faster than a threshold, another otherwise (Do, Ferri & Bauchau).
    TimeConstantSwitch {
        /// Compared with T_c, s.
        threshold: f64,
        /// Step while `T_c < threshold` for any joint, s.
        below: f64,
        /// Step otherwise, s.
        above: f64,
    },
}

/// Parameters that a scene leaves out; those of Dymore's rules are its manual's.
#[cfg(feature = "serde")]
mod default {
    macro_rules! numbers {
        ($($name:ident = $value:expr),* $(,)?) => { $(pub fn $name() -> f64 { $value })* };
    }
    numbers! {
        rtol = 1e-8, atol = 1e-10, fraction = 0.333, v_min = 5.0,
        coulomb_min = 1e-4, coulomb_max = 1e-3, coulomb_t_s = 1.0,
        lugre_min = 0.02, lugre_alpha = 1.2, lugre_t_s = 5.0,
    }
}

impl Default for Control {
    /// `Error` with rtol 1e-8 and atol 1e-10.
    fn default() -> Self {
        Control::error(1e-8, 1e-10)
    }
}

/// A parameter out of its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{control}: {parameter} = {value}, must be {range}")]
pub struct InvalidControl {
    /// The controller, as spelled in a scene.
    pub control: &'static str,
    /// The parameter.
    pub parameter: String,
    /// What was given.
    pub value: f64,
    /// What is allowed, in words.
    pub range: &'static str,
}

impl Control {
    /// The memory that error control with this method has.
    pub fn rule(&self, method: Method) -> Rule {
        if let Control::Elementary { .. } = self { Rule::Elementary } else { method.rule() }
    }

    /// Control by the error estimate.
    pub fn error(rtol: f64, atol: f64) -> Self {
        Control::Error { rtol, atol }
    }

    /// `DymoreCoulomb` with the manual's defaults.
    pub const DYMORE_COULOMB: Control = Control::DymoreCoulomb { min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 1.0 };

    /// `DymoreLuGre` with the manual's defaults.
    pub const DYMORE_LUGRE: Control = Control::DymoreLuGre { min: 0.02, v_min: 5.0, alpha: 1.2, t_s: 5.0 };

    /// Whether the system's own resolution and misfit bound the steps, beside the tolerances.
    pub fn is_guarded(&self) -> bool {
        matches!(self, Control::Error { .. })
    }

    /// Relative and absolute tolerance; `None` for rules.
    pub fn tolerances(&self) -> Option<(f64, f64)> {
        match *self {
            Control::Error { rtol, atol } | Control::Elementary { rtol, atol } => Some((rtol, atol)),
            _ => None,
        }
    }

    /// Whether the error estimate chooses the steps.
    pub fn is_by_error(&self) -> bool {
        self.tolerances().is_some()
    }

    /// The step prescribed by a rule, s; `None` for error control. A `DymoreLuGre` that sees no bristles sets no bound: infinite.
    pub fn rule_step(&self, slips: &[Slip]) -> Option<f64> {
        let step = match *self {
            Control::Error { .. } | Control::Elementary { .. } => return None,
            Control::Constant { step } => step,
            Control::DymoreCoulomb { min, max, v_min, t_s } => slips
                .iter()
                .map(|slip| min + (max - min) * (slip.speed / v_min).tanh().powi(4))
                .fold(max.min(t_s), f64::min),
            Control::DymoreLuGre { min, v_min, alpha, t_s } => slips
                .iter()
                .filter(|slip| slip.rate.is_finite()) // a rigid law has no bristles to follow
                .map(|slip| (min * (slip.speed / v_min).max(1.0).powf(alpha)).min(t_s) / slip.rate)
                .fold(f64::INFINITY, f64::min),
            Control::Velocity { inside, outside, range: (lo, hi) } => {
                let is_inside = |slip: &Slip| (lo..hi).contains(&slip.speed);
                if slips.iter().any(is_inside) { inside } else { outside }
            }
            Control::TimeConstant { max, fraction } => {
                slips.iter().map(|slip| fraction * slip.time_constant).fold(max, f64::min)
            }
            Control::TimeConstantSwitch { threshold, below, above } => {
                if slips.iter().any(|slip| slip.time_constant < threshold) { below } else { above }
            }
        };
        Some(step)
    }

    /// Refuses parameters out of range.
    pub fn validate(&self) -> Result<(), InvalidControl> {
        const POSITIVE: &str = "positive and finite";
        let positive = |value: f64| value > 0.0 && value.is_finite();
        match self {
            Control::Constant { step } => check("Constant", "step", *step, positive(*step), POSITIVE),
            Control::Error { rtol, atol } => validate_tolerances("Error", *rtol, *atol),
            Control::Elementary { rtol, atol } => validate_tolerances("Elementary", *rtol, *atol),
            Control::DymoreCoulomb { min, max, v_min, t_s } => {
                let control = "DymoreCoulomb";
                check(control, "min", *min, positive(*min), POSITIVE)?;
                check(control, "max", *max, positive(*max) && max >= min, "finite and not below `min`")?;
                check(control, "v_min", *v_min, positive(*v_min), POSITIVE)?;
                check(control, "t_s", *t_s, *t_s >= *min, "at least `min`")
            }
            Control::DymoreLuGre { min, v_min, alpha, t_s } => {
                let control = "DymoreLuGre";
                check(control, "min", *min, positive(*min), POSITIVE)?;
                check(control, "v_min", *v_min, positive(*v_min), POSITIVE)?;
                check(control, "alpha", *alpha, *alpha >= 0.0 && alpha.is_finite(), "finite and not negative")?;
                check(control, "t_s", *t_s, *t_s >= *min, "at least `min`")
            }
            Control::Velocity { inside, outside, range: (lo, hi) } => {
                let control = "Velocity";
                check(control, "inside", *inside, positive(*inside), POSITIVE)?;
                check(control, "outside", *outside, positive(*outside), POSITIVE)?;
                check(control, "range.0", *lo, *lo >= 0.0 && lo.is_finite(), "finite and not negative")?;
                check(control, "range.1", *hi, hi > lo, "above `range.0`")
            }
            Control::TimeConstant { max, fraction } => {
                check("TimeConstant", "max", *max, positive(*max), POSITIVE)?;
                check("TimeConstant", "fraction", *fraction, positive(*fraction), POSITIVE)
            }
            Control::TimeConstantSwitch { threshold, below, above } => {
                let control = "TimeConstantSwitch";
                check(control, "threshold", *threshold, positive(*threshold), POSITIVE)?;
                check(control, "below", *below, positive(*below), POSITIVE)?;
                check(control, "above", *above, positive(*above), POSITIVE)
            }
        }
    }
}

fn check(
    control: &'static str,
    parameter: &str,
    value: f64,
    is_valid: bool,
    range: &'static str,
) -> Result<(), InvalidControl> {
    if is_valid { Ok(()) } else { Err(InvalidControl { control, parameter: parameter.to_owned(), value, range }) }
}

fn validate_tolerances(control: &'static str, rtol: f64, atol: f64) -> Result<(), InvalidControl> {
    // a relative error of a few dozen ulps is what the round-off of a step alone leaves
    let is_reachable = rtol == 0.0 || (FINEST_RTOL..1.0).contains(&rtol);
    check(control, "rtol", rtol, is_reachable, "0 or at least 1e-14, and below 1")?;
    check(control, "atol", atol, is_valid_atol(atol, rtol), ATOL)
}

/// The range of an absolute tolerance, in words.
pub(crate) const ATOL: &str = "finite and positive, or 0 with a positive `rtol`";

pub(crate) fn is_valid_atol(atol: f64, rtol: f64) -> bool {
    atol.is_finite() && (atol > 0.0 || atol == 0.0 && rtol > 0.0)
}

/// Which memory error control has.
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
    /// err₋ is not taken below this: an error that was nearly zero says nothing of the next (DOPRI5 and RADAU5).
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

    /// Is the error within the tolerance? Not a number is not.
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

    fn slip(speed: f64) -> Slip {
        // do2007: σ₀ = 1e5, v_s = 1e-3, μ_k = 1, so Ω = 100 and T_c = 1e-2 v_s/|V| well above v_s
        Slip { speed, time_constant: 1e-2 / speed, rate: 100.0 }
    }

    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-14 * expected.abs(), "{value} instead of {expected}");
    }

    #[test]
    fn dymore_coulomb_goes_from_min_to_max_with_tanh_to_the_fourth() {
        let rule = Control::DYMORE_COULOMB;
        assert_eq!(rule.rule_step(&[slip(0.0)]), Some(1e-4));
        // ν = 1: tanh 1 = 0.7615941559557649, to the fourth 0.33642942
        assert_close(rule.rule_step(&[slip(5.0)]).unwrap(), 1e-4 + 9e-4 * 0.7615941559557649f64.powi(4));
        assert_eq!(rule.rule_step(&[slip(1e3)]), Some(1e-3));
        // the slowest joint decides; no joint leaves the largest step; T_s caps it
        assert_eq!(rule.rule_step(&[slip(1e3), slip(0.0)]), Some(1e-4));
        assert_eq!(rule.rule_step(&[]), Some(1e-3));
        let capped = Control::DymoreCoulomb { min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 5e-4 };
        assert_eq!(capped.rule_step(&[slip(1e3)]), Some(5e-4));
    }

    #[test]
    fn dymore_lugre_grows_with_a_power_of_speed_up_to_its_cap() {
        let rule = Control::DYMORE_LUGRE;
        // below ν = 1: 0.02/Ω
        assert_close(rule.rule_step(&[slip(0.0)]).unwrap(), 2e-4);
        assert_close(rule.rule_step(&[slip(5.0)]).unwrap(), 2e-4);
        // ν = 32: 32^1.2 = 2⁶ = 64
        assert_close(rule.rule_step(&[slip(160.0)]).unwrap(), 64.0 * 2e-4);
        // ν = 1024: 2¹² · 0.02 = 81.92, capped at 5
        assert_close(rule.rule_step(&[slip(5120.0)]).unwrap(), 0.05);
        assert_close(rule.rule_step(&[slip(160.0), slip(1.0)]).unwrap(), 2e-4);
        let rigid = Slip { rate: f64::INFINITY, ..slip(0.0) };
        assert_eq!(rule.rule_step(&[rigid]), Some(f64::INFINITY));
    }

    #[test]
    fn velocity_range_is_half_open() {
        let rule = Control::Velocity { inside: 1e-4, outside: 1e-3, range: (0.25, 4.0) };
        let step = |ratio: f64| rule.rule_step(&[slip(ratio)]).unwrap();
        assert_eq!(step(0.2), 1e-3);
        assert_eq!(step(0.25), 1e-4);
        assert_eq!(step(3.999), 1e-4);
        assert_eq!(step(4.0), 1e-3);
        assert_eq!(rule.rule_step(&[slip(1e3), slip(1.0)]), Some(1e-4));
    }

    #[test]
    fn time_constants_bound_the_step() {
        let rule = Control::TimeConstant { max: 1e-3, fraction: 0.25 };
        assert_eq!(rule.rule_step(&[slip(0.0)]), Some(1e-3)); // T_c infinite
        assert_close(rule.rule_step(&[slip(100.0)]).unwrap(), 2.5e-5); // T_c = 1e-4
        let switch = Control::TimeConstantSwitch { threshold: 1e-4, below: 1e-2, above: 5e-2 };
        assert_eq!(switch.rule_step(&[slip(200.0)]), Some(1e-2));
        assert_eq!(switch.rule_step(&[slip(50.0)]), Some(5e-2));
        assert_eq!(switch.rule_step(&[slip(50.0), slip(200.0)]), Some(1e-2));
        assert_eq!(switch.rule_step(&[]), Some(5e-2));
    }

    #[test]
    fn refusals_name_parameter_and_range() {
        let message = |control: Control| control.validate().unwrap_err().to_string();
        assert_eq!(message(Control::Constant { step: 0.0 }), "Constant: step = 0, must be positive and finite");
        assert_eq!(message(Control::error(-1.0, 1e-8)), "Error: rtol = -1, must be 0 or at least 1e-14, and below 1");
        assert_eq!(
            message(Control::error(0.0, 0.0)),
            "Error: atol = 0, must be finite and positive, or 0 with a positive `rtol`"
        );
        assert_eq!(
            message(Control::DymoreCoulomb { min: 1e-3, max: 1e-4, v_min: 5.0, t_s: 1.0 }),
            "DymoreCoulomb: max = 0.0001, must be finite and not below `min`"
        );
        assert_eq!(
            message(Control::Velocity { inside: 1.0, outside: 1.0, range: (2.0, 1.0) }),
            "Velocity: range.1 = 1, must be above `range.0`"
        );
        for control in [
            Control::Constant { step: f64::NAN },
            Control::error(f64::NAN, 1.0),
            Control::error(0.0, 0.0),
            Control::DymoreLuGre { min: 0.02, v_min: 5.0, alpha: -1.0, t_s: 5.0 },
            Control::DymoreLuGre { min: 0.02, v_min: 0.0, alpha: 1.2, t_s: 5.0 },
            Control::TimeConstant { max: 1e-3, fraction: 0.0 },
            Control::TimeConstantSwitch { threshold: 1.0, below: f64::INFINITY, above: 1.0 },
        ] {
            assert!(control.validate().is_err(), "{control:?}");
        }
        for control in [Control::DYMORE_COULOMB, Control::DYMORE_LUGRE, Control::error(1e-8, 1e-10)] {
            control.validate().unwrap();
        }
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

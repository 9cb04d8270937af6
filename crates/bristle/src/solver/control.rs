//! Step control of a scene: error control, a constant step, or rules that follow friction.
//!
//! The rules take the step from the slip speed V of each contact and from the relaxation time T_c of its bristle; the
//! smallest step over all contacts applies. They come from the Dymore manual and from Do, Ferri & Bauchau (2007); with
//! ν = |V|/(v_s v̄_min) and Ω = σ₀ v_s/μ_k:
//!
//! ```text
//!     DymoreCoulomb        Δt = min( T_s, Δt_min + (Δt_max − Δt_min) tanh⁴ ν )
//!     DymoreLuGre          Ω Δt = min( T̄_s, Δτ_min max(1, ν)^α )
//!     Velocity             Δt = inside while lo ≤ |V|/v_s < hi, else outside
//!     TimeConstant         Δt = min( max, fraction T_c )
//!     TimeConstantSwitch   Δt = below while T_c < threshold, else above
//! ```
//!
//! The manual prints the second Coulomb default as "c₂ = Δt_min": it is Δt_max. It lists T_s without defining it:
//! here it is the longest step.

use crate::error::{Error, Result};
#[cfg(feature = "scene")]
use serde::{Deserialize, Serialize};

/// The choice of the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub enum Control {
    /// The same step throughout.
    Constant {
        /// s.
        step: f64,
    },
    /// The largest step whose estimated error stays below the tolerance.
    Error {
        /// Relative tolerance.
        #[cfg_attr(feature = "scene", serde(default = "default::rtol"))]
        rtol: f64,
        /// Absolute tolerance, scaled to the units of each unknown.
        #[cfg_attr(feature = "scene", serde(default = "default::atol"))]
        atol: f64,
    },
    /// The same by the elementary rule h⁺ = 0.8 h err^(−1/k), for comparison; bristles bound neither tolerances nor
    /// steps.
    Elementary {
        /// Relative tolerance.
        #[cfg_attr(feature = "scene", serde(default = "default::rtol"))]
        rtol: f64,
        /// Absolute tolerance, scaled to the units of each unknown.
        #[cfg_attr(feature = "scene", serde(default = "default::atol"))]
        atol: f64,
    },
    /// Dymore's rule for regularised Coulomb friction.
    DymoreCoulomb {
        /// Δt_min, s.
        #[cfg_attr(feature = "scene", serde(default = "default::coulomb_min"))]
        min: f64,
        /// Δt_max, s.
        #[cfg_attr(feature = "scene", serde(default = "default::coulomb_max"))]
        max: f64,
        /// v̄_min: speeds of this many v_s count as small.
        #[cfg_attr(feature = "scene", serde(default = "default::v_min"))]
        v_min: f64,
        /// T_s: no step is longer, s. The manual does not define T_s; that it caps the step is a guess.
        #[cfg_attr(feature = "scene", serde(default = "default::coulomb_t_s"))]
        t_s: f64,
    },
    /// Dymore's rule for LuGre friction.
    DymoreLuGre {
        /// Δτ_min, in units of 1/Ω.
        #[cfg_attr(feature = "scene", serde(default = "default::lugre_min"))]
        min: f64,
        /// v̄_min: speeds of this many v_s count as small.
        #[cfg_attr(feature = "scene", serde(default = "default::v_min"))]
        v_min: f64,
        /// Growth of the step with speed, Δτ ∝ ν^α.
        #[cfg_attr(feature = "scene", serde(default = "default::lugre_alpha"))]
        alpha: f64,
        /// T̄_s: no step is longer, in units of 1/Ω. The manual does not define T̄_s; that it caps the step is a guess.
        #[cfg_attr(feature = "scene", serde(default = "default::lugre_t_s"))]
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
        #[cfg_attr(feature = "scene", serde(default = "default::fraction"))]
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

/// Default parameters; those of Dymore's rules are its manual's.
#[cfg_attr(not(feature = "scene"), expect(dead_code, reason = "a scene leaves fields out, code does not"))]
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
        Control::Error { rtol: default::rtol(), atol: default::atol() }
    }
}

/// Input of a rule from one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slip {
    /// |V|/v_s: slip speed over the Stribeck velocity, 1.
    pub speed: f64,
    /// Ω = σ₀ v_s/μ_k, 1/s; infinite for a rigid law.
    pub rate: f64,
    /// Relaxation time T_c of the bristle, s; infinite without one.
    pub time_constant: f64,
}

/// A parameter of a control, and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// As spelled in a scene.
    pub key: &'static str,
    /// In a pair, which of the two.
    pub index: Option<usize>,
    pub value: f64,
    /// Whether the value, if finite, is in its range.
    pub is_valid: bool,
    /// The range, in words.
    pub range: &'static str,
}

impl Parameter {
    fn new(key: &'static str, value: f64, is_valid: bool, range: &'static str) -> Self {
        Self { key, index: None, value, is_valid, range }
    }

    fn positive(key: &'static str, value: f64) -> Self {
        Self::new(key, value, value > 0.0, "greater than 0")
    }

    fn not_negative(key: &'static str, value: f64) -> Self {
        Self::new(key, value, value >= 0.0, "0 or more")
    }
}

impl Control {
    /// Whether the error estimate chooses the steps.
    pub fn is_by_error(&self) -> bool {
        matches!(self, Control::Error { .. } | Control::Elementary { .. })
    }

    /// Its name as spelled in a scene.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Control::Constant { .. } => "Constant",
            Control::Error { .. } => "Error",
            Control::Elementary { .. } => "Elementary",
            Control::DymoreCoulomb { .. } => "DymoreCoulomb",
            Control::DymoreLuGre { .. } => "DymoreLuGre",
            Control::Velocity { .. } => "Velocity",
            Control::TimeConstant { .. } => "TimeConstant",
            Control::TimeConstantSwitch { .. } => "TimeConstantSwitch",
        }
    }

    /// All parameters with their ranges.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let (positive, not_negative) = (Parameter::positive, Parameter::not_negative);
        let above_min = |t_s: f64, min: f64| Parameter::new("t_s", t_s, t_s >= min, "at least `min`");
        match *self {
            Control::Constant { step } => vec![positive("step", step)],
            Control::Error { rtol, atol } | Control::Elementary { rtol, atol } => {
                vec![not_negative("rtol", rtol), not_negative("atol", atol)]
            }
            Control::DymoreCoulomb { min, max, v_min, t_s } => vec![
                positive("v_min", v_min),
                above_min(t_s, min),
                positive("min", min),
                Parameter::new("max", max, max >= min, "at least `min`"),
            ],
            Control::DymoreLuGre { min, v_min, alpha, t_s } => {
                vec![positive("min", min), positive("v_min", v_min), above_min(t_s, min), not_negative("alpha", alpha)]
            }
            Control::Velocity { inside, outside, range: (from, to) } => vec![
                positive("inside", inside),
                positive("outside", outside),
                Parameter { index: Some(0), ..not_negative("range", from) },
                Parameter { index: Some(1), ..Parameter::new("range", to, to > from, "above the first of the pair") },
            ],
            Control::TimeConstant { max, fraction } => vec![positive("max", max), positive("fraction", fraction)],
            Control::TimeConstantSwitch { threshold, below, above } => {
                vec![positive("threshold", threshold), positive("below", below), positive("above", above)]
            }
        }
    }

    /// Refuses rules with parameters out of range; the integrator itself refuses steps and tolerances.
    pub(crate) fn check_rule(&self) -> Result<()> {
        if bristle_integrate::Control::from(*self) != bristle_integrate::Control::Prescribed {
            return Ok(());
        }
        match self.parameters().iter().find(|parameter| !(parameter.is_valid && parameter.value.is_finite())) {
            Some(Parameter { key, value, range, .. }) => Err(Error::number(self.name(), key, *value, range)),
            None => Ok(()),
        }
    }

    /// The step prescribed by a rule, s; infinite for other controls, and for a `DymoreLuGre` without bristles to
    /// follow.
    pub(crate) fn rule_step(&self, slips: impl Iterator<Item = Slip>) -> f64 {
        let mut slips = slips;
        match *self {
            Control::Constant { .. } | Control::Error { .. } | Control::Elementary { .. } => f64::INFINITY,
            Control::DymoreCoulomb { min, max, v_min, t_s } => {
                slips.map(|slip| min + (max - min) * (slip.speed / v_min).tanh().powi(4)).fold(max.min(t_s), f64::min)
            }
            Control::DymoreLuGre { min, v_min, alpha, t_s } => slips
                .filter(|slip| slip.rate.is_finite())
                .map(|slip| (min * (slip.speed / v_min).max(1.0).powf(alpha)).min(t_s) / slip.rate)
                .fold(f64::INFINITY, f64::min),
            Control::Velocity { inside, outside, range: (from, to) } => {
                if slips.any(|slip| (from..to).contains(&slip.speed)) { inside } else { outside }
            }
            Control::TimeConstant { max, fraction } => {
                slips.map(|slip| fraction * slip.time_constant).fold(max, f64::min)
            }
            Control::TimeConstantSwitch { threshold, below, above } => {
                if slips.any(|slip| slip.time_constant < threshold) { below } else { above }
            }
        }
    }
}

/// The integrator's part: rules are the machine's.
impl From<Control> for bristle_integrate::Control {
    fn from(control: Control) -> Self {
        match control {
            Control::Constant { step } => Self::Constant { step },
            Control::Error { rtol, atol } => Self::Error { rtol, atol },
            Control::Elementary { rtol, atol } => Self::Elementary { rtol, atol },
            Control::DymoreCoulomb { .. }
            | Control::DymoreLuGre { .. }
            | Control::Velocity { .. }
            | Control::TimeConstant { .. }
            | Control::TimeConstantSwitch { .. } => Self::Prescribed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(control: Control, slips: &[Slip]) -> f64 {
        control.rule_step(slips.iter().copied())
    }

    fn slip(speed: f64) -> Slip {
        // do2007: σ₀ = 1e5, v_s = 1e-3, μ_k = 1, so Ω = 100 and T_c = 1e-2 v_s/|V| well above v_s
        Slip { speed, time_constant: 1e-2 / speed, rate: 100.0 }
    }

    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-14 * expected.abs(), "{value} instead of {expected}");
    }

    #[test]
    fn dymore_coulomb_steps() {
        let rule = ron::from_str("DymoreCoulomb()").unwrap();
        assert_eq!(step(rule, &[slip(0.0)]), 1e-4);
        // ν = 1: tanh 1 = 0.7615941559557649, to the fourth 0.33642942
        assert_close(step(rule, &[slip(5.0)]), 1e-4 + 9e-4 * 0.7615941559557649f64.powi(4));
        assert_eq!(step(rule, &[slip(1e3)]), 1e-3);
        // the slowest joint decides; no joint leaves the largest step; T_s caps it
        assert_eq!(step(rule, &[slip(1e3), slip(0.0)]), 1e-4);
        assert_eq!(step(rule, &[]), 1e-3);
        let capped = Control::DymoreCoulomb { min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 5e-4 };
        assert_eq!(step(capped, &[slip(1e3)]), 5e-4);
    }

    #[test]
    fn dymore_lugre_steps() {
        let rule = ron::from_str("DymoreLuGre()").unwrap();
        // below ν = 1: 0.02/Ω
        assert_close(step(rule, &[slip(0.0)]), 2e-4);
        assert_close(step(rule, &[slip(5.0)]), 2e-4);
        // ν = 32: 32^1.2 = 2⁶ = 64
        assert_close(step(rule, &[slip(160.0)]), 64.0 * 2e-4);
        // ν = 1024: 2¹² · 0.02 = 81.92, capped at 5
        assert_close(step(rule, &[slip(5120.0)]), 0.05);
        assert_close(step(rule, &[slip(160.0), slip(1.0)]), 2e-4);
        let rigid = Slip { rate: f64::INFINITY, ..slip(0.0) };
        assert_eq!(step(rule, &[rigid]), f64::INFINITY);
    }

    #[test]
    fn velocity_range_is_half_open() {
        let rule = Control::Velocity { inside: 1e-4, outside: 1e-3, range: (0.25, 4.0) };
        let at = |ratio: f64| step(rule, &[slip(ratio)]);
        assert_eq!(at(0.2), 1e-3);
        assert_eq!(at(0.25), 1e-4);
        assert_eq!(at(3.999), 1e-4);
        assert_eq!(at(4.0), 1e-3);
        assert_eq!(step(rule, &[slip(1e3), slip(1.0)]), 1e-4);
    }

    #[test]
    fn time_constants_bound_the_step() {
        let rule = Control::TimeConstant { max: 1e-3, fraction: 0.25 };
        assert_eq!(step(rule, &[slip(0.0)]), 1e-3); // T_c infinite
        assert_close(step(rule, &[slip(100.0)]), 2.5e-5); // T_c = 1e-4
        let switch = Control::TimeConstantSwitch { threshold: 1e-4, below: 1e-2, above: 5e-2 };
        assert_eq!(step(switch, &[slip(200.0)]), 1e-2);
        assert_eq!(step(switch, &[slip(50.0)]), 5e-2);
        assert_eq!(step(switch, &[slip(50.0), slip(200.0)]), 1e-2);
        assert_eq!(step(switch, &[]), 5e-2);
    }

    #[test]
    fn defaults_are_those_of_the_manual() {
        let coulomb = Control::DymoreCoulomb { min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 1.0 };
        let lugre = Control::DymoreLuGre { min: 0.02, v_min: 5.0, alpha: 1.2, t_s: 5.0 };
        assert_eq!(ron::from_str::<Control>("DymoreCoulomb()").unwrap(), coulomb);
        assert_eq!(ron::from_str::<Control>("DymoreLuGre()").unwrap(), lugre);
        assert_eq!(
            ron::from_str::<Control>("DymoreCoulomb(max: 0.01)").unwrap(),
            Control::DymoreCoulomb { min: 1e-4, max: 0.01, v_min: 5.0, t_s: 1.0 }
        );
        for control in [coulomb, lugre] {
            control.check_rule().unwrap();
        }
    }

    #[test]
    fn refused_rules_name_parameter_and_range() {
        let message = |control: Control| control.check_rule().unwrap_err().to_string();
        assert_eq!(
            message(Control::DymoreCoulomb { min: 1e-3, max: 1e-4, v_min: 5.0, t_s: 1.0 }),
            "max of `DymoreCoulomb` is 0.0001; it must be at least `min`"
        );
        assert_eq!(
            message(Control::Velocity { inside: 1.0, outside: 1.0, range: (2.0, 1.0) }),
            "range of `Velocity` is 1; it must be above the first of the pair"
        );
        for control in [
            Control::DymoreLuGre { min: 0.02, v_min: 5.0, alpha: -1.0, t_s: 5.0 },
            Control::DymoreLuGre { min: 0.02, v_min: 0.0, alpha: 1.2, t_s: 5.0 },
            Control::DymoreLuGre { min: 0.02, v_min: 1.0, alpha: 1.2, t_s: 0.01 },
            Control::TimeConstant { max: 1e-3, fraction: 0.0 },
            Control::TimeConstantSwitch { threshold: 1.0, below: f64::INFINITY, above: 1.0 },
        ] {
            assert!(control.check_rule().is_err(), "{control:?}");
        }
    }
}

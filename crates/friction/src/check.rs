//! What is wrong, or doubtful, about a law's parameters: returned as data, so that a scene reader can point at the place.

use std::fmt;

/// One parameter and what is to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The parameter, as spelled in a scene: `"stribeck_velocity"`.
    pub parameter: &'static str,
    /// Its value; NaN where it was left out.
    pub value: f64,
    /// A sentence that names the allowed range, in terms of the other parameters' values where it depends on them.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_nan() {
            write!(f, "{}: {}", self.parameter, self.reason)
        } else {
            write!(f, "{} = {}: {}", self.parameter, self.value, self.reason)
        }
    }
}

/// The parameter must be finite and ≥ 0.
pub(crate) fn not_negative(found: &mut Vec<Finding>, parameter: &'static str, value: f64) {
    if !(value >= 0.0 && value.is_finite()) {
        found.push(Finding { parameter, value, reason: format!("{parameter} must be a finite number, 0 or more") });
    }
}

/// The parameter must be finite and > 0.
pub(crate) fn positive(found: &mut Vec<Finding>, parameter: &'static str, value: f64) {
    if !(value > 0.0 && value.is_finite()) {
        found.push(Finding { parameter, value, reason: format!("{parameter} must be a finite number greater than 0") });
    }
}

/// Stiction must be finite and at least the Coulomb level.
pub(crate) fn stiction(found: &mut Vec<Finding>, coulomb: f64, stiction: f64) {
    if !stiction.is_finite() || stiction < coulomb {
        found.push(Finding {
            parameter: "stiction",
            value: stiction,
            reason: format!(
                "stiction must be a finite number, at least coulomb = {coulomb} (left out, it equals coulomb)"
            ),
        });
    }
}

/// The Stribeck velocity must be positive; it may be left out where there is no weakening to scale.
pub(crate) fn stribeck_velocity(found: &mut Vec<Finding>, coulomb: f64, stiction: f64, v_s: Option<f64>) {
    match v_s {
        Some(v_s) => positive(found, "stribeck_velocity", v_s),
        None if stiction > coulomb => found.push(Finding {
            parameter: "stribeck_velocity",
            value: f64::NAN,
            reason: format!(
                "stribeck_velocity is required, and greater than 0, because stiction = {stiction} exceeds coulomb = {coulomb}"
            ),
        }),
        None => {}
    }
}

/// The ratio of the stuck level to the sliding level at zero speed: below 1 a joint at rest could neither hold nor slide.
pub(crate) fn peak(found: &mut Vec<Finding>, peak: f64) {
    if !(peak >= 1.0 && peak.is_finite()) {
        found.push(Finding {
            parameter: "peak",
            value: peak,
            reason: "peak must be a finite number, 1 or more".into(),
        });
    }
}

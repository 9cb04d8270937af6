//! Errors and warnings about a law's parameters, returned as data, so that a scene reader can point at the place.

use std::fmt;

/// An error or a warning about one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The parameter, as spelled in a scene: `"stribeck_velocity"`.
    pub parameter: &'static str,
    /// Its value; NaN where it was left out.
    pub value: f64,
    /// Which number of a list of points: the point, then 0 for its speed or 1 for its level.
    pub point: Option<(usize, usize)>,
    /// Parameters that set its range.
    pub range_of: &'static [&'static str],
    /// A sentence with the value and the allowed range, in terms of the other parameters' values where it depends on
    /// them.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Finding {
    pub(crate) fn new(parameter: &'static str, value: f64, reason: impl Into<String>) -> Self {
        Self { parameter, value, point: None, range_of: &[], reason: reason.into() }
    }

    /// A value out of its range.
    pub(crate) fn range(parameter: &'static str, value: f64, range: &str) -> Self {
        Self::new(parameter, value, out_of_range(&format!("`{parameter}`"), value, range))
    }
}

/// The message for a value out of its range.
pub(crate) fn out_of_range(what: &str, value: f64, range: &str) -> String {
    if value.is_finite() {
        format!("{what} is {value:?}; it must be {range}")
    } else {
        format!("{what} is {value}: numbers must be finite")
    }
}

/// To seven digits, for a message.
pub(crate) fn rounded(x: f64) -> f64 {
    format!("{x:.6e}").parse().unwrap_or(x)
}

/// The parameter must be finite and ≥ 0.
pub(crate) fn not_negative(found: &mut Vec<Finding>, parameter: &'static str, value: f64) {
    if !(value >= 0.0 && value.is_finite()) {
        found.push(Finding::range(parameter, value, "0 or more"));
    }
}

/// The parameter must be finite and > 0.
pub(crate) fn positive(found: &mut Vec<Finding>, parameter: &'static str, value: f64) {
    if !(value > 0.0 && value.is_finite()) {
        found.push(Finding::range(parameter, value, "greater than 0"));
    }
}

/// Stiction must be finite and at least the Coulomb level.
pub(crate) fn stiction(found: &mut Vec<Finding>, coulomb: f64, stiction: f64) {
    if !stiction.is_finite() || stiction < coulomb {
        let range = format!("at least `coulomb`, {coulomb:?} (left out, it equals `coulomb`)");
        found.push(Finding { range_of: &["coulomb"], ..Finding::range("stiction", stiction, &range) });
    }
}

/// The Stribeck velocity must be positive; it may be left out where there is no weakening to scale.
pub(crate) fn stribeck_velocity(found: &mut Vec<Finding>, coulomb: f64, stiction: f64, v_s: Option<f64>) {
    match v_s {
        Some(v_s) => positive(found, "stribeck_velocity", v_s),
        None if stiction > coulomb => {
            let reason = format!(
                "`stribeck_velocity` is missing: `stiction`, {stiction:?}, exceeds `coulomb`, {coulomb:?}, and \
                falls to it over this speed"
            );
            let range_of = &["coulomb", "stiction"];
            found.push(Finding { range_of, ..Finding::new("stribeck_velocity", f64::NAN, reason) });
        }
        None => {}
    }
}

/// The ratio of the stuck level to the sliding level at zero speed: below 1 a joint at rest could neither hold nor
/// slide.
pub(crate) fn peak(found: &mut Vec<Finding>, peak: f64) {
    if !(peak >= 1.0 && peak.is_finite()) {
        found.push(Finding::range("peak", peak, "1 or more"));
    }
}

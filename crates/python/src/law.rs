//! Friction laws, loads and drives from Python: whole, as a scene spells them, or single parameters of the present one.

use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A law, load or drive as a scene spells it, such as `Coulomb(coulomb: 0.3)`.
pub fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    options.from_str(text).map_err(|error| refused(format!("{what} `{text}`: {error}")))
}

/// A law, load or drive of which single parameters are changed.
pub struct Template {
    what: &'static str,
    kind: String,
    parameters: Map<String, Value>,
}

impl Template {
    /// The present one; `what` is its name in messages.
    pub fn new<T: Serialize>(what: &'static str, present: &T) -> PyResult<Self> {
        let value = serde_json::to_value(present).map_err(|error| refused(error.to_string()))?;
        if let Value::Object(kinds) = value
            && let Some((kind, Value::Object(parameters))) = kinds.into_iter().next()
        {
            return Ok(Self { what, kind, parameters });
        }
        Err(refused(format!("this {what} has no named parameters: give a whole {what}, as a scene spells it")))
    }

    /// With other parameters. `stiction` that was `coulomb` stays so unless it is given.
    pub fn with<T: DeserializeOwned>(&self, parameters: &[(String, f64)]) -> PyResult<T> {
        let mut all = self.parameters.clone();
        let is_given = |name: &str| parameters.iter().any(|(given, _)| given == name);
        if is_given("coulomb") && !is_given("stiction") && all.get("stiction") == all.get("coulomb") {
            all.remove("stiction");
        }
        for (name, value) in parameters {
            // a count, such as `difference` of a `Servo`, stays one
            let is_count = all.get(name).is_some_and(Value::is_u64) && value.fract() == 0.0;
            let number =
                if is_count { format!("{value:.0}").parse().ok() } else { serde_json::Number::from_f64(*value) };
            let number = number.ok_or_else(|| refused(format!("`{name}` is {value}; it must be finite")))?;
            all.insert(name.clone(), Value::Number(number));
        }
        let whole = Value::Object([(self.kind.clone(), Value::Object(all))].into_iter().collect());
        serde_json::from_value(whole).map_err(|error| refused(format!("{} `{}`: {error}", self.what, self.kind)))
    }
}

/// Keyword arguments as numbers.
pub fn parameters(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, f64)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    given.iter().map(|(name, value)| Ok((name.extract::<String>()?, value.extract::<f64>()?))).collect()
}

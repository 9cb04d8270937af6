//! Parameters of laws and loads for some copies of a batch.

use crate::arrays::{as_floats, wrong_shape};
use crate::law::Template;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Values for some copies: one for all of them, or one each.
pub struct PerCopy<'py> {
    name: String,
    values: PyReadonlyArray1<'py, f64>,
}

impl PerCopy<'_> {
    fn of(&self, k: usize) -> f64 {
        let values = self.values.as_array();
        if values.len() == 1 { values[0] } else { values[k] }
    }
}

/// Keyword arguments: one value, or one per copy.
pub fn given<'py>(given: Option<&Bound<'py, PyDict>>, m: usize) -> PyResult<Vec<PerCopy<'py>>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let of = |(name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
        let name: String = name.extract()?;
        let wrong = || wrong_shape(&name, &value, &format!("() or ({m},)"));
        let array = value.py().import("numpy")?.call_method1("atleast_1d", (as_floats(&value)?,))?;
        let values = array.extract::<PyReadonlyArray1<'py, f64>>().map_err(|_| wrong())?;
        if values.len() != 1 && values.len() != m {
            return Err(wrong());
        }
        Ok(PerCopy { name, values })
    };
    given.iter().map(of).collect()
}

/// A law or load with the parameters of the `k`-th copy.
pub fn changed<T>(what: &'static str, present: &T, parameters: &[PerCopy<'_>], k: usize) -> PyResult<T>
where
    T: Clone + serde::Serialize + serde::de::DeserializeOwned,
{
    if parameters.is_empty() {
        return Ok(present.clone());
    }
    let values: Vec<(String, f64)> = parameters.iter().map(|given| (given.name.clone(), given.of(k))).collect();
    Template::new(what, present)?.with(&values)
}

//! Python values as a scene spells them (RON).

use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

/// `True` → `true`, `0.3` → `0.3`, `(0, 0, -1.62)` → `(0, 0, -1.62)`; a `str` stands as it is: `"Radau5"` → `Radau5`.
pub fn ron(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let list = |items: Vec<Bound<'_, PyAny>>| -> PyResult<String> {
        Ok(items.iter().map(ron).collect::<PyResult<Vec<_>>>()?.join(", "))
    };
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().to_string());
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(value.to_str()?.to_owned());
    }
    if let Ok(value) = value.cast::<PyInt>() {
        return Ok(value.str()?.to_str()?.to_owned());
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        return Ok(format!("({})", list(items.iter().collect())?));
    }
    if let Ok(items) = value.cast::<PyList>() {
        return Ok(format!("[{}]", list(items.iter().collect())?));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(format!("{number:?}"));
    }
    // an array of numbers is a vector
    if value.hasattr("tolist")?
        && let Ok(items) = value.call_method0("tolist")?.cast::<PyList>()
    {
        return Ok(format!("({})", list(items.iter().collect())?));
    }
    let name = value.get_type().name()?;
    Err(refused(format!("a {name} is no value of a scene: give a number, a bool, a str, or a tuple or list of those")))
}

/// Paths and values of a `dict`.
pub fn overrides(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    set.iter().map(|(path, value)| Ok((path.extract::<String>()?, ron(&value)?))).collect()
}

//! Tables of measurements: CSV files, or arrays by name.

use crate::arrays::column;
use crate::error::{Raise, refused};
use bristle::fit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Columns of numbers: a file, or anything with names and arrays (a dict, a data frame, a recording).
#[derive(FromPyObject)]
pub enum Columns<'py> {
    File(PathBuf),
    Arrays(Bound<'py, PyAny>),
}

impl Columns<'_> {
    /// The table.
    pub fn read(&self) -> PyResult<fit::Table> {
        match self {
            Self::File(path) => fit::Table::read(path).raised(),
            Self::Arrays(arrays) => {
                let (mut names, mut columns) = (Vec::new(), Vec::<Vec<f64>>::new());
                for name in names_of(arrays)? {
                    columns.push(column(&name, &arrays.get_item(&name)?)?);
                    names.push(name);
                }
                if let Some(k) = columns.iter().position(|column| column.len() != columns[0].len()) {
                    let [n, first] = [columns[k].len(), columns[0].len()];
                    return Err(refused(format!("column `{}` has {n} values, `{}` {first}", names[k], names[0])));
                }
                if let Some(k) = columns.iter().position(|column| column.iter().any(|x| !x.is_finite())) {
                    return Err(refused(format!(
                        "column `{}` has values that are not finite: leave out rows that lack a value",
                        names[k]
                    )));
                }
                Ok(fit::Table { file: "arrays".into(), names, columns })
            }
        }
    }
}

/// Names of the columns: keys of a dict, of a recording or of a data frame of pandas, `columns` of polars,
/// `column_names` of pyarrow.
fn names_of(table: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let names = if let Ok(dict) = table.cast::<PyDict>() {
        dict.keys().into_any()
    } else if table.hasattr("keys")? {
        table.call_method0("keys")?
    } else if table.hasattr("column_names")? {
        table.getattr("column_names")?
    } else if table.hasattr("columns")? {
        table.getattr("columns")?
    } else {
        let given = table.get_type().name()?;
        return Err(refused(format!("`table` is a {given}: give the name of a CSV file, or arrays by name")));
    };
    names.try_iter()?.map(|name| name?.extract()).collect()
}

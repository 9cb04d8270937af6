//! Tables of measurements: CSV files, or arrays by name.

use crate::arrays::column;
use crate::error::{Raise, refused};
use bristle::fit;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use std::path::PathBuf;

/// Columns of numbers: a file, or arrays by name.
#[derive(FromPyObject)]
pub enum Columns<'py> {
    Arrays(Bound<'py, PyMapping>),
    File(PathBuf),
}

impl Columns<'_> {
    /// The table.
    pub fn read(&self) -> PyResult<fit::Table> {
        match self {
            Self::File(path) => fit::Table::read(path).raised(),
            Self::Arrays(arrays) => {
                let (mut names, mut columns) = (Vec::new(), Vec::<Vec<f64>>::new());
                for item in arrays.items()?.iter() {
                    let (name, array): (String, Bound<'_, PyAny>) = item.extract()?;
                    columns.push(column(&name, &array)?);
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

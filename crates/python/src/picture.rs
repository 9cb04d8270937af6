//! Pictures of results, and files that get their name when they are complete.

use crate::error::Raise;
use bristle::atomic_file;
use bristle_report::plot::{Format, Selection, drawn};
use bristle_report::results::Results;
use pyo3::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A picture of curves over time. A notebook shows it; `save` writes `.svg` or `.png`.
#[pyclass(frozen, module = "bristle")]
pub struct Picture {
    results: Results,
    selection: Selection,
    svg: String,
}

impl Picture {
    /// Draws a selection.
    pub fn new(results: Results, selection: Selection) -> PyResult<Self> {
        let svg = drawn(&results, &selection, Format::Svg).raised()?;
        Ok(Self { results, selection, svg: String::from_utf8_lossy(&svg).into_owned() })
    }

    /// The picture as SVG.
    pub fn into_svg(self) -> String {
        self.svg
    }
}

#[pymethods]
impl Picture {
    /// The picture as SVG.
    #[getter]
    fn svg(&self) -> &str {
        &self.svg
    }

    /// Writes a file, `.svg` or `.png` by its extension.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let format = Format::of(&path).raised()?;
        let content = py.detach(|| drawn(&self.results, &self.selection, format)).raised()?;
        write(&path, &content)
    }

    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        format!("<Picture {:?}>", self.selection.title)
    }
}

/// Writes a file whole, by rename.
pub fn write(path: &Path, content: &[u8]) -> PyResult<()> {
    let extension = path.extension().map_or_else(String::new, |own| format!(".{}", own.to_string_lossy()));
    let stem = path.file_stem().map_or_else(|| "out".into(), |stem| stem.to_string_lossy());
    let partial = path.with_file_name(format!("{stem}.partial{extension}"));
    let written = atomic_file::write(path, &partial, |file| file.write_all(content));
    written.map_err(|source| bristle::Error::Io { path: path.into(), source }).raised()
}

//! The result of a fit: values with deviations, errors of channels, the fitted scene.

use crate::columns::Columns;
use crate::error::{Raise, refused};
use crate::scene::Scene;
use bristle::fit;
use bristle_report::report::escape;
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A fitted parameter.
#[pyclass(frozen, get_all, module = "bristle")]
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Its path in the scene.
    path: String,
    /// Its value; an excess where the fit asked for one.
    value: f64,
    /// Standard deviation with correlated residuals allowed for; infinite where it is not identifiable.
    deviation: f64,
    /// The same by the formula for white noise.
    white_deviation: f64,
    /// Start of the fit.
    start: f64,
    /// Bounds.
    bounds: (f64, f64),
    /// The number beside it that its value is an excess over.
    over: Option<String>,
    /// Whether it is identifiable at all; otherwise the value is the start.
    is_identifiable: bool,
}

#[pymethods]
impl Estimate {
    fn __repr__(&self) -> String {
        format!("{} = {:.6} ± {:.2e}", self.path, self.value, self.deviation)
    }
}

impl From<&fit::Estimate> for Estimate {
    fn from(estimate: &fit::Estimate) -> Self {
        let fit::Estimate { path, over, value, deviation, white_deviation, start, bounds, is_identifiable } =
            estimate.clone();
        Self { path, value, deviation, white_deviation, start, bounds, over, is_identifiable }
    }
}

/// Errors of one channel over a log.
#[pyclass(frozen, module = "bristle")]
pub struct Errors {
    error: fit::ChannelError,
}

impl From<fit::ChannelError> for Errors {
    fn from(error: fit::ChannelError) -> Self {
        Self { error }
    }
}

#[pymethods]
impl Errors {
    /// File of the log.
    #[getter]
    fn file(&self) -> &str {
        &self.error.file
    }

    /// The channel.
    #[getter]
    fn channel(&self) -> &str {
        &self.error.channel
    }

    /// Root mean square, in the unit of the channel.
    #[getter]
    fn rms(&self) -> f64 {
        self.error.rms
    }

    /// 100 ‖simulated − measured‖/‖measured‖, per cent.
    #[getter]
    fn relative(&self) -> f64 {
        self.error.relative
    }

    /// Times of the rows, s.
    #[getter]
    fn t<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.error.t)
    }

    /// The measured column.
    #[getter]
    fn measured<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.error.measured)
    }

    /// The simulated channel.
    #[getter]
    fn simulated<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.error.simulated)
    }

    fn __repr__(&self) -> String {
        let fit::ChannelError { file, channel, rms, relative, .. } = &self.error;
        format!("<Errors of {channel} in {file}: rms {rms:.3e}, {relative:.2} %>")
    }
}

/// Parameters with their deviations, errors of all channels, the fitted scene.
///
/// `fitted[path]` is a value. A notebook shows a table.
#[pyclass(frozen, module = "bristle")]
pub struct Fitted {
    pub fitted: fit::Fitted,
    pub fit: fit::Fit,
}

impl Fitted {
    /// A fit and its result.
    pub fn new(fitted: fit::Fitted, fit: fit::Fit) -> Self {
        Self { fitted, fit }
    }
}

#[pymethods]
impl Fitted {
    /// The parameters.
    #[getter]
    fn parameters(&self) -> Vec<Estimate> {
        self.fitted.parameters().iter().map(Estimate::from).collect()
    }

    fn __getitem__(&self, path: &str) -> PyResult<f64> {
        let found = self.fitted.parameters().iter().find(|estimate| estimate.path == path);
        let known = || self.fitted.parameters().iter().map(|estimate| estimate.path.as_str()).collect::<Vec<_>>();
        let unknown = || PyKeyError::new_err(format!("`{path}` was not free; there is {}", known().join(", ")));
        Ok(found.ok_or_else(unknown)?.value)
    }

    /// Values by path.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for estimate in self.fitted.parameters() {
            dict.set_item(&estimate.path, estimate.value)?;
        }
        Ok(dict)
    }

    /// The scene with the fitted values.
    #[getter]
    fn scene(&self) -> PyResult<Scene> {
        Scene::of_text(self.fitted.scene().to_ron().raised()?, "fitted.ron")
    }

    /// Errors of every channel of every log fitted to.
    #[getter]
    fn errors(&self) -> Vec<Errors> {
        self.fitted.errors().iter().cloned().map(Errors::from).collect()
    }

    /// Errors of the logs that were held out.
    #[getter]
    fn hold_out_errors(&self) -> Vec<Errors> {
        self.fitted.hold_out_errors().iter().cloned().map(Errors::from).collect()
    }

    /// Errors of another table at the fitted values, with inputs and channels as the log number `like` has them.
    #[pyo3(signature = (table, *, like=0))]
    fn evaluate(&self, py: Python<'_>, table: Columns<'_>, like: usize) -> PyResult<Vec<Errors>> {
        let logs = self.fit.logs();
        let unknown = || refused(format!("there is no log {like}: the fit has {}", logs.len()));
        let log = fit::Log::new(table.read()?).like(logs.get(like).ok_or_else(unknown)?);
        log.check().raised()?;
        let errors = py.detach(|| self.fitted.evaluate(&log)).raised()?;
        Ok(errors.into_iter().map(Errors::from).collect())
    }

    /// Doubts about logs and parameters.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.fitted.warnings().to_vec()
    }

    /// Whether it was stopped before it converged.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.fitted.is_stopped()
    }

    /// Number of starts that ended in the best minimum, and of all starts.
    #[getter]
    fn starts(&self) -> (usize, usize) {
        (self.fitted.n_same(), self.fitted.outcomes().len())
    }

    /// Number of residuals, and of the independent ones that they are worth.
    #[getter]
    fn samples(&self) -> (usize, f64) {
        self.fitted.samples()
    }

    /// Singular values of the scaled derivatives, largest first: changes of the curves in units of their noise.
    #[getter]
    fn singular_values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.fitted.identifiability().singular_values)
    }

    /// The least identifiable direction of the parameters: scaled components by path, largest first.
    #[getter]
    fn weakest(&self) -> Vec<(String, f64)> {
        self.fitted.identifiability().weakest.clone()
    }

    /// Writes the fitted scene.
    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        crate::picture::write(&path, self.fitted.scene().to_ron().raised()?.as_bytes())
    }

    /// A `pandas.DataFrame` of the parameters.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns = PyDict::new(py);
        let estimates = self.fitted.parameters();
        columns.set_item("path", estimates.iter().map(|e| e.path.clone()).collect::<Vec<_>>())?;
        let put = |name: &str, of: fn(&fit::Estimate) -> f64| {
            columns.set_item(name, estimates.iter().map(of).collect::<Vec<_>>())
        };
        put("value", |e| e.value)?;
        put("deviation", |e| e.deviation)?;
        put("white_deviation", |e| e.white_deviation)?;
        put("start", |e| e.start)?;
        py.import("pandas")?.call_method1("DataFrame", (columns,))
    }

    fn _repr_html_(&self) -> String {
        let mut html = String::from("<table><tr><th>parameter</th><th>value</th><th>±</th><th>start</th></tr>");
        for estimate in self.fitted.parameters() {
            let fit::Estimate { path, value, deviation, start, .. } = estimate;
            html += &format!(
                "<tr><td>{}</td><td>{value:.6}</td><td>{deviation:.2e}</td><td>{start}</td></tr>",
                escape(path)
            );
        }
        html += "</table><table><tr><th>log</th><th>channel</th><th>rms</th><th>%</th></tr>";
        for error in self.fitted.errors().iter().chain(self.fitted.hold_out_errors()) {
            let (file, channel) = (escape(&error.file), escape(&error.channel));
            html += &format!(
                "<tr><td>{file}</td><td>{channel}</td><td>{:.3e}</td><td>{:.2}</td></tr>",
                error.rms, error.relative
            );
        }
        html += "</table>";
        for warning in self.fitted.warnings() {
            html += &format!("<p>warning: {}</p>", escape(warning));
        }
        html
    }

    fn __repr__(&self) -> String {
        let values: Vec<String> = self
            .fitted
            .parameters()
            .iter()
            .map(|e| format!("{} = {:.6} ± {:.2e}", e.path, e.value, e.deviation))
            .collect();
        format!("<Fitted: {}>", values.join(", "))
    }
}

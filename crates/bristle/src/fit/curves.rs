//! The curves that a fit compares, and their derivatives: what the solver uses.

use super::model::FitModel;
use super::parameter::{Parameter, Role, expand, refusal};
use super::{Initial, Log};
use crate::error::Result;
use crate::scene::Scene;
use nalgebra::DMatrix;

impl Scene {
    /// The compared channels of a run with the inputs and the start of a log, one row per row of the log and one column
    /// per comparison, and their derivatives in numbers of this scene, one matrix per path; jumps at events are
    /// included.
    ///
    /// Paths are those of [`super::Fitted::paths`]: numbers of the scene, a pattern with `*` for a number that several
    /// places share, `logs.0.delay` for the delay of the log, `logs.0.joints.x.position` for its start. A stiction is
    /// one that is given by itself. Both are low-passed where a comparison has a `band`.
    ///
    /// ```
    /// use bristle::fit::*;
    ///
    /// let scene = Scene::parse(r#"Scene(
    ///     gravity: (0.0, 0.0, 0.0),
    ///     links: [Link(name: "body", mass: 2.0)],
    ///     joints: [Joint(name: "slide", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
    ///         velocity: 3.0, friction: Coulomb(coulomb: 4.0))],
    /// )"#, "slide.ron")?;
    /// let log = Log::new(Table::parse("t,x\n0,0\n0.5,1.2\n1,2.1\n", "run.csv")?).compare("slide.position", "x");
    /// let (y, dy) = scene.sensitivities(&log, ["joints.slide.friction.coulomb"])?;
    /// // x = 3 t − ½ (4/2) t²: ∂x/∂coulomb = −½ t²/2
    /// assert!((y[(2, 0)] - 2.0).abs() < 1e-9 && (dy[0][(2, 0)] + 0.25).abs() < 1e-9);
    /// # Ok::<(), bristle::Error>(())
    /// ```
    pub fn sensitivities<P: AsRef<str>>(
        &self,
        log: &Log,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<(DMatrix<f64>, Vec<DMatrix<f64>>)> {
        let parameters =
            paths.into_iter().map(|path| self.parameter(log, path.as_ref())).collect::<Result<Vec<_>>>()?;
        let p: Vec<f64> = parameters.iter().map(|parameter| parameter.start).collect();
        let model = FitModel::new(self, parameters, std::slice::from_ref(log), None)?;
        let run = model.residuals(0, &p, true, &crate::stop::is_asked)?;
        let prepared = &model.logs[0];
        let (n, m) = (prepared.t.len(), run.r.len());
        let y = DMatrix::from_fn(n, m, |i, c| run.r[c][i] + prepared.measured[c][i]);
        let dy = (0..p.len()).map(|k| DMatrix::from_fn(n, m, |i, c| run.jacobian[c][(i, k)])).collect();
        Ok((y, dy))
    }

    /// A parameter at its value in this scene.
    fn parameter(&self, log: &Log, path: &str) -> Result<Parameter> {
        let of_log = path.strip_prefix("logs.").and_then(|rest| rest.split_once('.')).map(|(_, what)| what);
        let (start, role) = match of_log {
            Some("delay") => (0.0, Role::Delay(vec![0])),
            Some(what) => {
                let measured = if log.initial == Initial::Scene { vec![] } else { log.start(self)? };
                let found = measured.iter().find(|start| start.path == what).map(|start| start.value);
                (found.map_or_else(|| self.number(what), Ok)?, Role::Initial { log: 0, path: what.to_owned() })
            }
            None => {
                let paths = expand(self, path)?;
                let Some(first) = paths.first() else {
                    return Err(refusal(self, path, format!("`{path}` stands for nothing"), "name a number"));
                };
                (self.number(first)?, Role::Paths(paths))
            }
        };
        let bounds = (f64::NEG_INFINITY, f64::INFINITY);
        Ok(Parameter { path: path.to_owned(), start, bounds, prior: None, role })
    }
}

//! Fitting the parameters of a scene to measurements.
//!
//! ```text
//! min over p   Σ_logs Σ_channels Σ_i ((y(t_i; p) − measured_i)/σ)²
//! ```
//!
//! y is a simulation of the scene, with its inputs and its start from the log (output error); derivatives are exact,
//! jumps at events included ([`crate::sensitivities`]). A first estimate comes from inverse dynamics where a log
//! measures the effort of a drive: efforts of the measured motion against measured efforts, without simulation.
//!
//! ```
//! use bristle::fit::{Fit, Log, Table};
//! use bristle::Scene;
//!
//! let scene = Scene::parse(r#"Scene(
//!     gravity: (0.0, 0.0, 0.0),
//!     links: [Link(name: "body", mass: 2.0)],
//!     joints: [Joint(name: "slide", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
//!         velocity: 3.0, friction: Coulomb(coulomb: 1.0))],
//! )"#, "slide.ron")?;
//! // a body that a friction of 4 N slows down
//! let rows: String = (0..50).map(|k| f64::from(k) * 0.02).map(|t| format!("{t},{}\n", 3.0 * t - t * t)).collect();
//! let log = Log::new(Table::parse(&format!("t,x\n{rows}"), "run.csv")?).compare("slide.position", "x");
//! let fitted = Fit::new(&scene).log(log).free("joints.slide.friction.coulomb", 1.0, 0.1..=20.0).solve()?;
//! assert!((fitted.parameters()[0].value - 4.0).abs() < 1e-6);
//! # Ok::<(), bristle::Error>(())
//! ```

mod coupled;
mod curves;
mod doubts;
mod file;
mod filter;
mod fitted;
mod growth;
mod inverse;
mod linear;
mod log;
mod model;
mod parameter;
mod signals;
mod solve;
mod statistics;
mod windows;

pub use file::{FitFile, scene};
pub use fitted::{ChannelError, Estimate, Fitted};
pub use log::{Compare, Hold, Initial, Input, Log, Table};
pub use parameter::Parameter;
pub use solve::{Outcome, Progress, Watch};
pub use statistics::Identifiability;

use crate::error::Result;
pub use crate::scene::Scene;
use coupled::Start;
use model::FitModel;
use parameter::{Role, expand, refusal};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Starts at most: each is a fit of its own.
const MAX_STARTS: usize = 100_000;

/// How a fit is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Simulations against measurements, from the start of every log to its end.
    OutputError,
    /// Efforts of the measured motion against measured efforts, nothing simulated; low-pass of corner `band` Hz on
    /// both.
    InverseDynamics {
        /// Corner frequency, Hz.
        band: f64,
    },
}

/// A freedom as it was asked for: a pattern of paths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Freedom {
    pub path: String,
    pub start: f64,
    pub bounds: (f64, f64),
    /// One value for all paths of the pattern.
    pub is_tied: bool,
    /// Above the number of this name beside it.
    pub over: Option<String>,
}

/// A fit that is ready to be solved. See the [module](self).
#[derive(Debug, Clone)]
pub struct Fit {
    scene: Scene,
    logs: Vec<Log>,
    hold_out: Vec<Log>,
    freedoms: Vec<Freedom>,
    priors: Vec<(String, (f64, f64))>,
    starts: usize,
    seed: u64,
    method: Method,
    window: Option<f64>,
}

impl Fit {
    /// A fit of a scene, from one start, without logs and free parameters.
    pub fn new(scene: &Scene) -> Self {
        Self {
            scene: scene.clone(),
            logs: vec![],
            hold_out: vec![],
            freedoms: vec![],
            priors: vec![],
            starts: 1,
            seed: 1,
            method: Method::OutputError,
            window: None,
        }
    }

    /// Adds a log to fit to, or a copy of one: `log(&log)`.
    #[must_use]
    pub fn log(mut self, log: impl Borrow<Log>) -> Self {
        self.logs.push(log.borrow().clone());
        self
    }

    /// Adds a log that is not fitted to: its errors judge the result.
    #[must_use]
    pub fn hold_out(mut self, log: impl Borrow<Log>) -> Self {
        self.hold_out.push(log.borrow().clone());
        self
    }

    /// Frees a number of the scene; `*` in place of a name frees one each. `logs.0.delay` (or `logs.*.delay`) is the
    /// time, s, by which all inputs of a log act late.
    #[must_use]
    pub fn free(self, path: &str, start: f64, bounds: RangeInclusive<f64>) -> Self {
        self.freedom(path, start, bounds, false, None)
    }

    /// The same as one number for all paths of a pattern.
    #[must_use]
    pub fn tied(self, path: &str, start: f64, bounds: RangeInclusive<f64>) -> Self {
        self.freedom(path, start, bounds, true, None)
    }

    /// Frees the excess of a number over another one beside it: `excess("joints.x.friction.stiction", "coulomb", …)`.
    #[must_use]
    pub fn excess(self, path: &str, over: &str, start: f64, bounds: RangeInclusive<f64>) -> Self {
        self.freedom(path, start, bounds, false, Some(over.to_owned()))
    }

    fn freedom(
        mut self,
        path: &str,
        start: f64,
        bounds: RangeInclusive<f64>,
        is_tied: bool,
        over: Option<String>,
    ) -> Self {
        let bounds = (*bounds.start(), *bounds.end());
        self.freedoms.push(Freedom { path: path.to_owned(), start, bounds, is_tied, over });
        self
    }

    /// Mean and standard deviation that are known of a parameter beforehand.
    #[must_use]
    pub fn prior(mut self, path: &str, mean: f64, deviation: f64) -> Self {
        self.priors.push((path.to_owned(), (mean, deviation)));
        self
    }

    /// Number of starts: the given one, and others at random in the bounds.
    #[must_use]
    pub fn starts(mut self, starts: usize) -> Self {
        self.starts = starts.max(1);
        self
    }

    /// Seed of the random starts.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How it is done.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Simulates windows of so many seconds, each from its measured state, in place of whole logs.
    #[must_use]
    pub fn windows(mut self, seconds: f64) -> Self {
        self.window = Some(seconds);
        self
    }

    /// The same fit of another scene: other laws, the same logs.
    #[must_use]
    pub fn with_scene(mut self, scene: &Scene) -> Self {
        self.scene = scene.clone();
        self
    }

    /// Start and bounds of a number that is free by its own path.
    pub fn freed(&self, path: &str) -> Option<(f64, RangeInclusive<f64>)> {
        let found = self.freedoms.iter().find(|freedom| freedom.path == path);
        found.map(|freedom| (freedom.start, freedom.bounds.0..=freedom.bounds.1))
    }

    /// The scene that is fitted.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The logs that are fitted to.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// The logs that judge the result.
    pub fn held_out(&self) -> &[Log] {
        &self.hold_out
    }

    /// Leaves out free parameters whose path the scene does not have: for comparisons of laws.
    #[must_use]
    pub fn keep_known(mut self) -> Self {
        let fit = self.clone();
        let exists = |freedom: &Freedom| {
            let known = |parameters: Vec<Parameter>| parameters.iter().try_for_each(|p| fit.exists(p)).is_ok();
            fit.expand(freedom).is_ok_and(known)
        };
        self.freedoms.retain(exists);
        let freedoms = &self.freedoms;
        self.priors.retain(|(path, _)| freedoms.iter().any(|freedom| freedom.path == *path));
        self
    }

    /// Minimises the residuals.
    pub fn solve(&self) -> Result<Fitted> {
        self.solve_with(&Watch::NONE)
    }

    /// The same with progress and a way to stop it, which keeps the best so far.
    pub fn solve_with(&self, watch: &Watch<'_>) -> Result<Fitted> {
        let window = self.window.filter(|_| self.method == Method::OutputError);
        fitted::solve(self, self.model(window)?, watch)
    }

    /// Warnings about the logs and their units at the start values, and the identifiable parameters of each; no fit.
    pub fn check(&self) -> Result<Vec<String>> {
        self.check_with(&Watch::NONE)
    }

    /// The same with a way to stop it.
    pub fn check_with(&self, watch: &Watch<'_>) -> Result<Vec<String>> {
        let mut model = self.model(None)?;
        if let Method::InverseDynamics { band } = self.method {
            model.inverse = Some(band);
        }
        doubts::check(self, &model, watch)
    }

    /// Warnings about the logs and their units at the start values alone.
    pub fn doubts_with(&self, watch: &Watch<'_>) -> Result<Vec<String>> {
        let mut model = self.model(None)?;
        if let Method::InverseDynamics { band } = self.method {
            model.inverse = Some(band);
        }
        doubts::before(self, &model, watch)
    }

    /// Parameters in place of patterns, and the logs as arrays.
    fn model(&self, window: Option<f64>) -> Result<FitModel> {
        let mut parameters = Vec::new();
        for freedom in &self.freedoms {
            parameters.extend(self.expand(freedom)?);
        }
        for (k, log) in self.logs.iter().enumerate().filter(|(_, log)| log.initial == Initial::Estimated) {
            for Start { path, value: start, .. } in
                log.start(&self.scene)?.into_iter().filter(|start| start.is_measured)
            {
                let size = start.abs().max(1.0);
                parameters.push(Parameter {
                    path: format!("logs.{k}.{path}"),
                    start,
                    bounds: (start - 10.0 * size, start + 10.0 * size),
                    prior: None,
                    role: Role::Initial { log: k, path },
                });
            }
        }
        for (path, prior) in &self.priors {
            let found = parameters.iter_mut().find(|parameter| parameter.path == *path);
            let help = "priors belong to free parameters: name it in `free`, too";
            let parameter = found.ok_or_else(|| refusal(&self.scene, path, format!("`{path}` is not free"), help))?;
            parameter.prior = Some(*prior);
        }
        if parameters.is_empty() {
            return Err(refusal(
                &self.scene,
                "free",
                "no parameter is free".into(),
                "name one: `Free(start, (low, high))`",
            ));
        }
        if self.logs.is_empty() {
            return Err(refusal(&self.scene, "logs", "there is no log to fit to".into(), "name one: `Log(file: …)`"));
        }
        parameters.iter().try_for_each(|parameter| parameter.check(&self.scene))?;
        self.refuse_unusable(&parameters)?;
        let model = FitModel::new(&self.scene, parameters, &self.logs, window)?;
        // paths and inputs that the scene does not have are refused here
        let start: Vec<f64> = model.parameters.iter().map(|parameter| parameter.start).collect();
        (0..model.logs.len()).try_for_each(|log| model.scene_of(log, &start).map(drop))?;
        Ok(model)
    }

    /// Refuses numbers that two parameters move, delays beyond a log, and settings without a meaning.
    fn refuse_unusable(&self, parameters: &[Parameter]) -> Result<()> {
        let mut moved = HashSet::new();
        for parameter in parameters {
            for what in parameter.moves() {
                if !moved.insert(what.clone()) {
                    let help = "a number is free once: leave one of them out, or tie them";
                    return Err(refusal(&self.scene, &parameter.path, format!("`{what}` is free twice"), help));
                }
            }
            let Role::Delay(logs) = &parameter.role else { continue };
            let spans = logs.iter().map(|&log| Ok(self.logs[log].times()?.last().copied().unwrap_or(0.0)));
            let shortest = spans.collect::<Result<Vec<f64>>>()?.into_iter().fold(f64::INFINITY, f64::min);
            let (low, high) = parameter.bounds;
            if low.abs().max(high.abs()) > shortest {
                let reason =
                    format!("the bounds ({low:?}, {high:?}) of `{}` exceed a log of {shortest} s", parameter.path);
                return Err(refusal(&self.scene, &parameter.path, reason, "give narrower bounds"));
            }
        }
        if self.starts > MAX_STARTS {
            let reason = format!("{} starts are too many; the limit is {MAX_STARTS}", self.starts);
            return Err(refusal(&self.scene, "method", reason, "a few dozen find what more would find"));
        }
        if let Method::InverseDynamics { band } = self.method
            && !(band > 0.0 && band.is_finite())
        {
            let reason = format!("the band of inverse dynamics is {band:?} Hz");
            return Err(refusal(&self.scene, "method", reason, "give a positive number"));
        }
        Ok(())
    }

    fn expand(&self, freedom: &Freedom) -> Result<Vec<Parameter>> {
        let Freedom { path, start, bounds, is_tied, over } = freedom;
        let parameter = |path: &str, role: Role| Parameter {
            path: path.to_owned(),
            start: *start,
            bounds: *bounds,
            prior: None,
            role,
        };
        if let Some(which) = path.strip_prefix("logs.").and_then(|rest| rest.strip_suffix(".delay")) {
            let n = self.logs.len();
            let one = |k: usize| parameter(&format!("logs.{k}.delay"), Role::Delay(vec![k]));
            return match which {
                "*" if *is_tied => Ok(vec![parameter(path, Role::Delay((0..n).collect()))]),
                "*" => Ok((0..n).map(one).collect()),
                number => match number.parse::<usize>() {
                    Ok(k) if k < n => Ok(vec![one(k)]),
                    _ => Err(refusal(&self.scene, path, format!("there is no log `{number}`"), "logs count from 0")),
                },
            };
        }
        let paths = expand(&self.scene, path)?;
        let beside = |path: &String| {
            let folder = path.rsplit_once('.').map_or("", |(folder, _)| folder);
            (path.clone(), over.as_ref().map_or_else(String::new, |over| format!("{folder}.{over}")))
        };
        let role = |paths: &[String]| match over {
            Some(_) => Role::Excess(paths.iter().map(beside).collect()),
            None => Role::Paths(paths.to_vec()),
        };
        if *is_tied {
            return Ok(vec![parameter(path, role(&paths))]);
        }
        Ok(paths.iter().map(|path| parameter(path, role(std::slice::from_ref(path)))).collect())
    }
}

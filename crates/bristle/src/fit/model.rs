//! From parameters to scenes, and from scenes to residuals: simulated channels minus measured columns.
//!
//! ```text
//! r_i = y(t_i − delay; p) − measured_i        ∂r_i/∂p by sensitivities        ∂r_i/∂delay = −ẏ(t_i − delay)
//! ```
//!
//! All inputs of a log act later by its delay: the machine is the same at all times, so that its response is later by
//! the same. Both sides of a compared channel pass the same low-pass filter.

use super::filter::{low_pass, median_step};
use super::log::{Compare, Hold, Initial, Log};
use super::parameter::{Parameter, Role, refusal};
use super::signals::signals_mut;
use super::windows::{Columns, Unknown};
use crate::error::{Error, Result};
use crate::run::sensitivities::{Pair, Request, curves};
use crate::scene::Scene;
use crate::signal::Signal;
use nalgebra::{DMatrix, DVector};

/// Relative half-width of the differences of scenes: see `run::sensitivities`.
const WIDTH: f64 = 1e-5;

/// A log with the arrays that do not change in a fit.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub log: Log,
    /// Number of its log: of a window, that of the whole.
    pub of: usize,
    /// Time of the log at which it starts, s: of a window, its own.
    pub start: f64,
    /// Compared rows: their times from there and, per channel, filtered measurements.
    pub t: Vec<f64>,
    pub measured: Vec<Vec<f64>>,
    /// The same without the filter.
    pub raw: Vec<Vec<f64>>,
    /// Median sampling time, s.
    pub dt: f64,
    pub(super) channels: Vec<String>,
    pub(super) signals: Vec<Signal>,
    /// Text of the scene's numbers that belong to this log.
    pub(super) own: Vec<(String, String)>,
    /// Of a window: the state at its beginning, eliminated from its residuals, with the weights of the channels there.
    pub(super) unknown: Vec<Unknown>,
    pub(super) weights: Vec<f64>,
}

impl Prepared {
    pub fn new(scene: &Scene, log: &Log) -> Result<Self> {
        log.check()?;
        let times = log.times()?;
        let dt = median_step(&times);
        let from = times.partition_point(|t| *t < log.skip);
        let column = |name: &str| Ok::<_, Error>(log.table.column(name)?[from..].to_vec());
        let raw = log.compare.iter().map(|compare| column(&compare.column)).collect::<Result<Vec<_>>>()?;
        let mut measured = raw.clone();
        for (x, compare) in measured.iter_mut().zip(&log.compare) {
            compare.band.into_iter().for_each(|band| low_pass(x, band, dt));
        }
        let mut own = log.values.clone();
        let mut signals = Vec::new();
        for input in &log.inputs {
            let mut with_it: Vec<(&str, &str)> = log.values.iter().map(|(p, x)| (p.as_str(), x.as_str())).collect();
            with_it.push((&input.path, "Constant(0.0)"));
            if let Err(error) = scene.with_overrides(&with_it) {
                let reason = error.to_string();
                let reason = reason.lines().next().unwrap_or_default().trim_start_matches("error: ");
                let reason = format!("column `{}` cannot be the input `{}`: {reason}", input.column, input.path);
                let help = "inputs are signals: `joints.x.drive.target`, or `joints.x.drive.0` of an `Effort`";
                return Err(refusal(scene, &input.path, reason, help));
            }
            let points = times.iter().copied().zip(log.table.column(&input.column)?.iter().copied()).collect();
            own.push((input.path.clone(), format!("Constant({:?})", placeholder(signals.len()))));
            signals.push(if input.hold == Hold::Linear { Signal::Table(points) } else { Signal::Steps(points) });
        }
        if log.initial != Initial::Scene {
            own.extend(log.start(scene)?.into_iter().map(|start| (start.path, format!("{:?}", start.value))));
        }
        let channels = log.compare.iter().map(|compare| compare.channel.clone()).collect();
        let t = times[from..].to_vec();
        let weight = |(x, compare): (&Vec<f64>, &Compare)| {
            let sigma = compare.noise.unwrap_or_else(|| deviation(x));
            if sigma > 0.0 { sigma.recip() } else { 1.0 }
        };
        let weights = measured.iter().zip(&log.compare).map(weight).collect();
        let log = log.clone();
        Ok(Self { log, of: 0, start: 0.0, t, measured, raw, dt, channels, signals, own, unknown: vec![], weights })
    }
}

/// Standard deviation about the mean.
fn deviation(x: &[f64]) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64).sqrt()
}

/// A number in place of input `k` until its signal is known; no scene has it.
fn placeholder(k: usize) -> f64 {
    -8.765_432_109_876e-290 * (k + 1) as f64
}

/// Residuals of one log, one list per compared channel, not weighted, and their derivatives in p.
#[derive(Debug, Clone)]
pub(crate) struct Residuals {
    pub r: Vec<Vec<f64>>,
    /// The same without filters.
    pub raw: Vec<Vec<f64>>,
    /// One matrix per channel, rows × parameters; none if they were not asked for.
    pub jacobian: Vec<DMatrix<f64>>,
    /// Numbers of the state at the beginning that are eliminated.
    pub n_eliminated: usize,
}

/// A scene with free parameters and its logs.
#[derive(Debug, Clone)]
pub(crate) struct FitModel {
    pub base: Scene,
    pub parameters: Vec<Parameter>,
    pub logs: Vec<Prepared>,
    /// Corner frequency of inverse dynamics, Hz; simulations if there is none.
    pub inverse: Option<f64>,
    /// Whether inverse dynamics takes efforts that the scene tells from time and motion beside measured ones: as a
    /// start.
    pub knows_drives: bool,
    /// Length of the windows that `logs` are, s; whole logs if there is none.
    pub window: Option<f64>,
}

impl FitModel {
    pub fn new(scene: &Scene, parameters: Vec<Parameter>, logs: &[Log], window: Option<f64>) -> Result<Self> {
        let base = scene.with_origin()?;
        let logs = Self::prepare(&base, logs, window)?;
        let model = Self { base, parameters, logs, inverse: None, knows_drives: false, window };
        let start: Vec<f64> = model.parameters.iter().map(|parameter| parameter.start).collect();
        model.check_windows(&mut model.scene_of(0, &start)?)?;
        Ok(model)
    }

    /// Whether any parameter is known beforehand.
    pub fn has_prior(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.prior.is_some())
    }

    /// The arrays of logs, or of their windows.
    pub fn prepare(scene: &Scene, logs: &[Log], window: Option<f64>) -> Result<Vec<Prepared>> {
        let mut all = Vec::new();
        for (of, log) in logs.iter().enumerate() {
            match window {
                Some(length) => all.extend(Prepared::windows(scene, log, of, length)?),
                None => all.push(Prepared { of, ..Prepared::new(scene, log)? }),
            }
        }
        Ok(all)
    }

    /// Numbers of the scene at `p`: those of all logs, and those of log number `log`.
    fn numbers(&self, p: &[f64], log: Option<usize>) -> Vec<(String, String)> {
        let mut numbers: Vec<(String, f64)> = Vec::new();
        for (parameter, &p) in self.parameters.iter().zip(p) {
            match &parameter.role {
                Role::Paths(paths) => numbers.extend(paths.iter().map(|path| (path.clone(), p))),
                Role::Initial { log: of, path } if Some(*of) == log => numbers.push((path.clone(), p)),
                _ => {}
            }
        }
        let mut texts: Vec<(String, String)> =
            numbers.iter().map(|(path, x)| (path.clone(), format!("{x:?}"))).collect();
        for (parameter, &p) in self.parameters.iter().zip(p) {
            let Role::Excess(pairs) = &parameter.role else { continue };
            for (path, over) in pairs {
                let given = numbers.iter().rev().find(|(other, _)| other == over).map(|(_, x)| *x);
                let base = given.or_else(|| self.base.number(over).ok()).unwrap_or(0.0);
                texts.push((path.clone(), format!("{:?}", base + p)));
            }
        }
        texts
    }

    /// The scene at `p`, without a log.
    pub fn scene(&self, p: &[f64]) -> Result<Scene> {
        let numbers = self.numbers(p, None);
        let overrides: Vec<(&str, &str)> = numbers.iter().map(|(path, x)| (path.as_str(), x.as_str())).collect();
        self.base.with_overrides(&overrides)
    }

    /// The scene of log number `log` at `p`.
    pub fn scene_of(&self, log: usize, p: &[f64]) -> Result<Scene> {
        self.scene_with(log, p, None)
    }

    /// The same with another number at a path.
    fn scene_with(&self, log: usize, p: &[f64], moved: Option<(&str, f64)>) -> Result<Scene> {
        let Prepared { own, signals, of, .. } = &self.logs[log];
        let mut numbers = self.numbers(p, Some(*of));
        numbers.extend(moved.map(|(path, x)| (path.to_owned(), format!("{x:?}"))));
        let all = own.iter().chain(&numbers);
        let overrides: Vec<(&str, &str)> = all.map(|(path, x)| (path.as_str(), x.as_str())).collect();
        let mut scene = self.base.with_overrides(&overrides)?;
        let mut n_placed = 0;
        for signal in signals_mut(&mut scene) {
            for (k, from_log) in signals.iter().enumerate() {
                if *signal == Signal::Constant(placeholder(k)) {
                    *signal = from_log.clone();
                    n_placed += 1;
                }
            }
        }
        if n_placed == signals.len() {
            return Ok(scene);
        }
        // no signal of a drive or a load: as text, which the scene accepts or refuses
        let as_text: Vec<(String, String)> = self.logs[log]
            .log
            .inputs
            .iter()
            .zip(signals)
            .map(|(input, signal)| (input.path.clone(), ron::to_string(signal).unwrap_or_default()))
            .collect();
        let all = own.iter().chain(&as_text).chain(&numbers);
        let overrides: Vec<(&str, &str)> = all.map(|(path, x)| (path.as_str(), x.as_str())).collect();
        self.base.with_overrides(&overrides)
    }

    /// Half-width of differences in parameter `k` at `p`.
    pub(super) fn half(&self, k: usize, p: f64) -> f64 {
        let parameter = &self.parameters[k];
        WIDTH * if p == 0.0 { parameter.slope(p).abs().min(1.0) } else { p.abs() }
    }

    /// Residuals of log number `log` at `p`.
    pub fn residuals(
        &self,
        log: usize,
        p: &[f64],
        has_jacobian: bool,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Residuals> {
        if let Some(band) = self.inverse {
            return self.inverse_residuals(log, p, band, has_jacobian);
        }
        let prepared = &self.logs[log];
        let (mut delay, mut delays, mut moving) = (0.0, Vec::new(), Vec::new());
        for (k, parameter) in self.parameters.iter().enumerate() {
            match &parameter.role {
                Role::Delay(logs) if logs.contains(&prepared.of) => {
                    delay += p[k];
                    delays.push(k);
                }
                Role::Delay(_) => {}
                Role::Initial { log: of, .. } if *of != prepared.of => {}
                _ => moving.push(k),
            }
        }
        let base = self.scene_of(log, p)?;
        let mut pairs: Vec<Pair> = Vec::new();
        if has_jacobian {
            for &k in &moving {
                let at = |by: f64| {
                    let mut moved = p.to_vec();
                    moved[k] += by;
                    self.scene_of(log, &moved)
                };
                pairs.push(Scene::pair_of(at, self.half(k, p[k]))?);
            }
        }
        for Unknown { path, x, size } in &prepared.unknown {
            let half = WIDTH * if *size > 0.0 { *size } else { 1.0 };
            pairs.push(Scene::pair_of(|by| self.scene_with(log, p, Some((path, x + by))), half)?);
        }
        let times: Vec<f64> = prepared.t.iter().map(|t| t - delay).collect();
        let has_rates = has_jacobian && !delays.is_empty();
        let request = Request { channels: &prepared.channels, times: &times, has_rates, is_stopped };
        let run = curves(&base, &pairs, &request)?;
        let compares = &prepared.log.compare;
        let filter =
            |c: usize, x: &mut [f64]| compares[c].band.into_iter().for_each(|band| low_pass(x, band, prepared.dt));
        let (mut r, mut raw, mut jacobian) = (Vec::new(), Vec::new(), Vec::new());
        let of_state = |c: usize, slopes: &DMatrix<f64>| {
            let raw = slopes.column(c).into_owned();
            let mut filtered = raw.clone();
            filter(c, filtered.as_mut_slice());
            (filtered, raw)
        };
        let states = run.derivatives[pairs.len() - prepared.unknown.len()..].iter().map(|slopes| {
            let (filtered, raw): (Vec<DVector<f64>>, Vec<DVector<f64>>) =
                (0..compares.len()).map(|c| of_state(c, slopes)).unzip();
            Columns { filtered, raw }
        });
        let states: Vec<Columns> = states.collect();
        for c in 0..compares.len() {
            let simulated: Vec<f64> = run.values.column(c).iter().copied().collect();
            raw.push(simulated.iter().zip(&prepared.raw[c]).map(|(y, x)| y - x).collect::<Vec<f64>>());
            let mut filtered = simulated;
            filter(c, &mut filtered);
            r.push(filtered.iter().zip(&prepared.measured[c]).map(|(y, x)| y - x).collect::<Vec<f64>>());
            if has_jacobian {
                let mut columns = DMatrix::zeros(times.len(), p.len());
                let mut put = |k: usize, slopes: Vec<f64>, sign: f64| {
                    let mut slopes = slopes;
                    filter(c, &mut slopes);
                    slopes.iter().enumerate().for_each(|(i, x)| columns[(i, k)] = sign * x);
                };
                for (&k, slopes) in moving.iter().zip(&run.derivatives) {
                    put(k, slopes.column(c).iter().copied().collect(), 1.0);
                }
                if let Some(rates) = &run.rates {
                    delays.iter().for_each(|&k| put(k, rates.column(c).iter().copied().collect(), -1.0));
                }
                jacobian.push(columns);
            }
        }
        let mut residuals = Residuals { r, raw, jacobian, n_eliminated: 0 };
        if !states.is_empty() {
            residuals.eliminate(states, &prepared.weights);
        }
        Ok(residuals)
    }
}

//! The result of a fit: values with deviations, errors, the fitted scene, warnings.

use super::doubts::{doubts, unit_doubts};
use super::growth::approach;
use super::model::{FitModel, Prepared, Residuals};
use super::parameter::Role;
use super::solve::{
    At, Descent, Noise, Outcome, Progress, Watch, best_of, candidates, cost, descend, evaluate, map, n_residuals,
    prior_cost,
};
use super::statistics::{Deviations, Identifiability, deviations, identifiability};
use super::{Fit, Log, Method};
use crate::error::{Error, Result};
use crate::scene::Scene;

/// Costs closer than this, relative to each other, are one minimum.
const SAME_MINIMUM: f64 = 1e-2;

/// Relative change of the cost by which a parameter without influence may differ from its start.
const UNCHANGED: f64 = 1e-6;

/// Default corner frequency of the first estimate by inverse dynamics, as a fraction of the sampling frequency.
const INVERSE_BAND: f64 = 0.04;

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Its path in the scene.
    pub path: String,
    /// The number beside it that its value is an excess over.
    pub over: Option<String>,
    /// Its value.
    pub value: f64,
    /// Standard deviation with correlated residuals allowed for; infinite where it is not identifiable.
    pub deviation: f64,
    /// The same by the formula for white noise.
    pub white_deviation: f64,
    /// Start of the fit.
    pub start: f64,
    /// Bounds.
    pub bounds: (f64, f64),
    /// Whether it is identifiable at all; otherwise the value is the start.
    pub is_identifiable: bool,
}

/// Errors of one channel over a log, residuals unfiltered.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelError {
    /// File of the log.
    pub file: String,
    /// The channel.
    pub channel: String,
    /// Root mean square, in the channel's unit.
    pub rms: f64,
    /// 100 ‖simulated − measured‖/‖measured‖, per cent; infinite where the measurement is zero throughout.
    pub relative: f64,
    /// The same after the low-pass of the comparison, if it has one.
    pub filtered: Option<f64>,
    /// Times of the rows, s.
    pub t: Vec<f64>,
    /// The measured column.
    pub measured: Vec<f64>,
    /// The simulated channel.
    pub simulated: Vec<f64>,
}

/// A fitted scene with its parameters, deviations and diagnostics.
#[derive(Debug, Clone)]
pub struct Fitted {
    model: FitModel,
    p: Vec<f64>,
    estimates: Vec<Estimate>,
    scene: Scene,
    errors: Vec<ChannelError>,
    hold_out: Vec<ChannelError>,
    outcomes: Vec<Outcome>,
    n_same: usize,
    identifiability: Identifiability,
    samples: usize,
    effective: f64,
    warnings: Vec<String>,
    is_stopped: bool,
}

impl Fitted {
    /// The parameters.
    pub fn parameters(&self) -> &[Estimate] {
        &self.estimates
    }

    /// Their paths, in order.
    pub fn paths(&self) -> Vec<&str> {
        self.estimates.iter().map(|estimate| estimate.path.as_str()).collect()
    }

    /// The scene with the fitted values.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Errors of every channel of every log fitted to.
    pub fn errors(&self) -> &[ChannelError] {
        &self.errors
    }

    /// Errors of the logs that were held out.
    pub fn hold_out_errors(&self) -> &[ChannelError] {
        &self.hold_out
    }

    /// The starts, in order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Number of starts that ended in the best minimum.
    pub fn n_same(&self) -> usize {
        self.n_same
    }

    /// The least identifiable directions of the parameters.
    pub fn identifiability(&self) -> &Identifiability {
        &self.identifiability
    }

    /// Residuals, and the number of independent ones that they are worth.
    pub fn samples(&self) -> (usize, f64) {
        (self.samples, self.effective)
    }

    /// Doubts about logs and parameters.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether it was stopped before it converged.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Errors of another log at the fitted values.
    pub fn evaluate(&self, log: &Log) -> Result<Vec<ChannelError>> {
        errors_of(&self.model, &self.p, std::slice::from_ref(log), &Watch::NONE)
    }
}

pub(super) fn solve(fit: &Fit, mut model: FitModel, watch: &Watch<'_>) -> Result<Fitted> {
    let mut warnings = Vec::new();
    for log in fit.logs.iter().chain(&fit.hold_out) {
        warnings.extend(log.warnings()?);
    }
    if let Method::InverseDynamics { band } = fit.method {
        model.inverse = Some(band);
    }
    let drawn = candidates(&model, fit.starts, fit.seed);
    let n_starts = drawn.len();
    let run = |k: usize| {
        let note = |iteration, error| (watch.progress)(Progress { start: k, starts: n_starts, iteration, error });
        if (watch.is_stopped)() {
            return (drawn[k].first().cloned().unwrap_or_default(), Err(Error::Stopped { t: 0.0 }));
        }
        let start = best_of(&model, &drawn[k], watch);
        let nearer = first_estimate(fit, &model, &start, watch);
        // the given start is meant
        let (start, from) = match k {
            0 => {
                let start = nearer.unwrap_or(start);
                (start.clone(), start)
            }
            _ => {
                let nearer = nearer.unwrap_or_else(|| start.clone());
                (start, approach(&model, &nearer, watch))
            }
        };
        (start, descend(&model, &from, watch, &note))
    };
    let (all, descents): (Vec<Vec<f64>>, Vec<Result<Descent>>) = map(n_starts, &run).into_iter().unzip();
    let best = (0..n_starts)
        .filter(|&k| descents[k].is_ok())
        .min_by(|&a, &b| score(&model, &descents[a]).total_cmp(&score(&model, &descents[b])));
    let Some(best) = best else {
        return Err(descents.into_iter().find_map(Result::err).unwrap_or(Error::Stopped { t: 0.0 }));
    };
    let Ok(Descent { at, noise, .. }) = &descents[best] else {
        return Err(Error::Stopped { t: 0.0 });
    };
    let outcomes: Vec<Outcome> =
        all.iter().zip(&descents).map(|(start, descent)| outcome(&model, start, descent, noise)).collect();
    let lowest = outcomes[best].error;
    let n_same = outcomes.iter().filter(|o| o.failure.is_none() && o.error <= lowest * (1.0 + SAME_MINIMUM)).count();
    let is_stopped = (watch.is_stopped)();
    // what takes a simulation is left out once an end is asked for
    let deviations = deviations(&model, at, noise);
    let identifiability = identifiability(&model, at, noise, watch)?;
    let p = without_influence(&model, at, noise, &deviations, watch);
    warnings.extend(doubts(&model, &p, &deviations, &identifiability));
    let estimates = model.parameters.iter().enumerate().map(|(k, parameter)| Estimate {
        path: parameter.path.clone(),
        over: match &parameter.role {
            Role::Excess(pairs) => pairs.first().map(|(_, over)| over.clone()),
            _ => None,
        },
        value: p[k],
        deviation: deviations.deviation[k],
        white_deviation: deviations.white[k],
        start: parameter.start,
        bounds: parameter.bounds,
        is_identifiable: !deviations.is_unidentifiable[k],
    });
    let estimates = estimates.collect();
    let simulated = |logs: &[Log]| match errors_of(&model, &p, logs, watch) {
        Err(Error::Stopped { .. } | Error::OutOfMemory { .. }) => Ok(None),
        result => result.map(Some),
    };
    let (errors, mut hold_out) = match model.inverse {
        Some(_) => (inverse_errors(&model, at), Some(vec![])),
        None => (simulated(&fit.logs)?.unwrap_or_else(|| errors_at(&model, at)), Some(vec![])),
    };
    if model.inverse.is_none() && !fit.hold_out.is_empty() {
        hold_out = simulated(&fit.hold_out)?;
    }
    let hold_out = hold_out.unwrap_or_else(|| {
        warnings.push("the fit was stopped before the logs that are held out were looked at".into());
        vec![]
    });
    warnings.extend(unit_doubts(&errors));
    let scene = model.scene(&p)?;
    Ok(Fitted {
        p,
        estimates,
        scene,
        errors,
        hold_out,
        outcomes,
        n_same,
        identifiability,
        samples: deviations.samples,
        effective: deviations.effective,
        warnings,
        is_stopped,
        model,
    })
}

/// The start by inverse dynamics, where the logs allow it and it is better.
fn first_estimate(fit: &Fit, model: &FitModel, start: &[f64], watch: &Watch<'_>) -> Option<Vec<f64>> {
    if model.inverse.is_some() {
        return None;
    }
    let logs = FitModel::prepare(&model.base, &fit.logs, None).ok()?;
    let dt = logs.iter().map(|prepared| prepared.dt).fold(0.0, f64::max);
    let inverse =
        FitModel { inverse: Some(INVERSE_BAND / dt), knows_drives: true, window: None, logs, ..model.clone() };
    if !inverse.has_inverse(start) {
        return None;
    }
    let found = descend(&inverse, start, watch, &|_, _| {}).ok()?.at.p;
    let [before, after] = [start, &found].map(|p| evaluate(model, p, false, watch).ok());
    let noise = super::solve::spread(model);
    let after = after.map(|at| cost(model, &at, &noise))?;
    before.is_none_or(|at| after < cost(model, &at, &noise)).then_some(found)
}

/// The end of the fit, with parameters without influence at their starts; where one has gone to a value at which it has
/// no influence any more, as a level that tends to zero, it stays there.
fn without_influence(model: &FitModel, at: &At, noise: &Noise, deviations: &Deviations, watch: &Watch<'_>) -> Vec<f64> {
    let (mut p, least) = (at.p.clone(), cost(model, at, noise));
    for (k, parameter) in model.parameters.iter().enumerate().filter(|(k, _)| deviations.is_unidentifiable[*k]) {
        let mut trial = p.clone();
        trial[k] = parameter.start;
        let is_same = |at: At| cost(model, &at, noise) <= least * (1.0 + UNCHANGED);
        if evaluate(model, &trial, false, watch).is_ok_and(is_same) {
            p = trial;
        }
    }
    p
}

/// −2 ln likelihood, constants aside: weights found from residuals differ between starts.
fn score(model: &FitModel, descent: &Result<Descent>) -> f64 {
    let Ok(Descent { at, noise, .. }) = descent else { return f64::INFINITY };
    if model.has_prior() && model.logs.iter().flat_map(|prepared| &prepared.log.compare).all(|c| c.noise.is_none()) {
        // the least over all σ: those beside priors are not of all rows
        let channels = at.logs.iter().flat_map(|log| &log.r).filter(|r| !r.is_empty());
        let each = channels.map(|r| r.len() as f64 * (r.iter().map(|r| r * r).sum::<f64>() / r.len() as f64).ln());
        return each.sum::<f64>() + prior_cost(model, &at.p);
    }
    let mut sum = cost(model, at, noise);
    for ((residuals, noise), prepared) in at.logs.iter().zip(noise).zip(&model.logs) {
        for ((r, sigma), compare) in residuals.r.iter().zip(noise).zip(&prepared.log.compare) {
            if compare.noise.is_none() {
                sum += 2.0 * r.len() as f64 * sigma.ln();
            }
        }
    }
    sum
}

fn outcome(model: &FitModel, start: &[f64], descent: &Result<Descent>, noise: &Noise) -> Outcome {
    match descent {
        Ok(Descent { at, iterations, is_converged, .. }) => Outcome {
            start: start.to_vec(),
            end: at.p.clone(),
            error: (cost(model, at, noise) / n_residuals(at).max(1) as f64).sqrt(),
            iterations: *iterations,
            is_converged: *is_converged,
            failure: None,
        },
        Err(error) => Outcome {
            start: start.to_vec(),
            end: start.to_vec(),
            error: f64::INFINITY,
            iterations: 0,
            is_converged: false,
            failure: Some(error.to_string()),
        },
    }
}

/// Errors of logs at values of the parameters.
fn errors_of(model: &FitModel, p: &[f64], logs: &[Log], watch: &Watch<'_>) -> Result<Vec<ChannelError>> {
    let prepared = FitModel::prepare(&model.base, logs, model.window)?;
    let model = FitModel { logs: prepared, inverse: None, ..model.clone() };
    let at = evaluate(&model, p, false, watch)?;
    Ok(errors_at(&model, &at))
}

/// Errors of the logs of a model from their residuals.
pub(super) fn errors_at(model: &FitModel, at: &At) -> Vec<ChannelError> {
    let mut errors = Vec::new();
    let n_logs = model.logs.last().map_or(0, |prepared| prepared.of + 1);
    for of in 0..n_logs {
        // the windows of a log in a row
        let its = || model.logs.iter().zip(&at.logs).filter(|(prepared, _)| prepared.of == of);
        let Some((Prepared { log, .. }, _)) = its().next() else { continue };
        for (c, compare) in log.compare.iter().enumerate() {
            let join = |of: &dyn Fn(&Prepared, &Residuals) -> Vec<f64>| -> Vec<f64> {
                its().flat_map(|(prepared, residuals)| of(prepared, residuals)).collect()
            };
            let raw = join(&|_, residuals| residuals.raw[c].clone());
            let measured = join(&|prepared, _| prepared.raw[c].clone());
            let filtered = compare.band.map(|_| {
                let r = join(&|_, residuals| residuals.r[c].clone());
                relative(&r, &join(&|prepared, _| prepared.measured[c].clone()))
            });
            errors.push(ChannelError {
                file: log.table.file.clone(),
                channel: compare.channel.clone(),
                rms: norm(&raw) / (raw.len() as f64).sqrt(),
                relative: relative(&raw, &measured),
                filtered,
                t: join(&|prepared, _| prepared.t.iter().map(|t| prepared.start + t).collect()),
                simulated: raw.iter().zip(&measured).map(|(r, x)| r + x).collect(),
                measured,
            });
        }
    }
    errors
}

/// Errors of inverse dynamics: efforts after the filter.
pub(super) fn inverse_errors(model: &FitModel, at: &At) -> Vec<ChannelError> {
    let mut errors = Vec::new();
    for (prepared, residuals) in model.logs.iter().zip(&at.logs) {
        for (c, compare) in prepared.log.compare.iter().enumerate().filter(|(c, _)| !residuals.r[*c].is_empty()) {
            let r = &residuals.r[c];
            let stride = prepared.t.len().div_ceil(r.len()).max(1);
            let mut measured = prepared.raw[c].clone();
            if let Some(band) = model.inverse {
                super::filter::low_pass(&mut measured, band, prepared.dt);
            }
            let measured: Vec<f64> = measured.into_iter().step_by(stride).take(r.len()).collect();
            errors.push(ChannelError {
                file: prepared.log.table.file.clone(),
                channel: format!("{} (inverse dynamics)", compare.channel),
                rms: norm(r) / (r.len() as f64).sqrt(),
                relative: relative(r, &measured),
                filtered: None,
                t: prepared.t.iter().step_by(stride).take(r.len()).copied().collect(),
                simulated: r.iter().zip(&measured).map(|(r, x)| r + x).collect(),
                measured,
            });
        }
    }
    errors
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn relative(r: &[f64], measured: &[f64]) -> f64 {
    let size = norm(r);
    if size == 0.0 { 0.0 } else { 100.0 * size / norm(measured) }
}

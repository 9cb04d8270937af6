//! Levenberg–Marquardt with bounds, from several starts.
//!
//! ```text
//! min ½ Σ (r_i/σ)² + ½ Σ ((p − prior)/deviation)²        u within bounds
//! (H + λ diag H) δu = −g      H = JᵀJ,  g = Jᵀ r,  J = ∂r/∂u      over the u that are at no bound
//! ```
//!
//! σ of a channel is its noise where that is given. Else it is found from the residuals: after convergence each
//! channel is weighted by the root mean square of its residuals, and the fit goes on (maximum likelihood with unknown
//! variances). Starts and logs run on all cores; sums are taken in their order, so that the bits do not depend on the
//! number of threads.

use super::model::{FitModel, Residuals};
use super::statistics::correlation;
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// Iterations of one start.
const MAX_ITERATIONS: usize = 60;

/// Relative decrease of the cost below which a start has converged.
const CONVERGED: f64 = 1e-9;

/// The same of a fit to a part of the logs.
const NEARLY: f64 = 1e-3;

/// Longest step of a scaled parameter: a factor e, or one scale.
const LONGEST: f64 = 1.0;

/// Random points of which a start is the best: far from the truth a machine may not move at all, and has no gradient.
const CANDIDATES: usize = 8;

/// Rounds of weighting by residuals.
const ROUNDS: usize = 3;

/// Progress of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of the start.
    pub start: usize,
    /// Number of starts.
    pub starts: usize,
    /// Iterations of this start so far.
    pub iteration: usize,
    /// Root mean square of the weighted residuals.
    pub error: f64,
}

/// Requests and messages while a fit runs, from any thread.
pub struct Watch<'a> {
    /// Whether the fit is to end with what it has.
    pub is_stopped: &'a (dyn Fn() -> bool + Sync),
    /// Called after every iteration.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Watch<'_> {
    /// Nobody watches.
    pub const NONE: Watch<'static> = Watch { is_stopped: &|| false, progress: &|_| {} };
}

/// Result of one start.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where it started, and where it ended: values of the parameters.
    pub start: Vec<f64>,
    /// Values of the parameters at its end.
    pub end: Vec<f64>,
    /// Sum of squares of the weighted residuals over their number at its end; weights are those of the best start.
    pub error: f64,
    /// Iterations.
    pub iterations: usize,
    /// Whether it converged, ended at the limit of iterations, or was stopped.
    pub is_converged: bool,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// Residuals of all logs at a point.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub p: Vec<f64>,
    pub logs: Vec<Residuals>,
}

/// All logs, on all cores.
pub(crate) fn evaluate(model: &FitModel, p: &[f64], has_jacobian: bool, watch: &Watch<'_>) -> Result<At> {
    let is_stopped = watch.is_stopped;
    let one = |log: usize| {
        // thousands of starts may follow a request
        if is_stopped() {
            return Err(Error::Stopped { t: 0.0 });
        }
        let run = model.residuals(log, p, has_jacobian, &|| is_stopped());
        // the thread of a stopped run
        if is_stopped() { Err(Error::Stopped { t: 0.0 }) } else { run }
    };
    let logs = map(model.logs.len(), &one).into_iter().collect::<Result<Vec<_>>>()?;
    Ok(At { p: p.to_vec(), logs })
}

/// `f(0)`, `f(1)`, … in order, on all cores with the feature `parallel`.
pub(crate) fn map<T: Send>(n: usize, f: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        (0..n).into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    {
        (0..n).map(f).collect()
    }
}

/// σ of every compared channel of every log; channels of one name share theirs.
pub(crate) type Noise = Vec<Vec<f64>>;

/// σ by the spread of the measurements, as a start.
pub(crate) fn spread(model: &FitModel) -> Noise {
    by_channel(model, &|log, c| {
        let x = &model.logs[log].measured[c];
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>(), x.len())
    })
}

/// σ by the residuals. Beside priors a log counts as many rows as it has independent ones: σ² is n/n_eff times that of
/// the residuals.
pub(crate) fn residual_noise(model: &FitModel, at: &At) -> Noise {
    let has_prior = model.has_prior();
    by_channel(model, &|log, c| {
        let r = &at.logs[log].r[c];
        let inflation = if has_prior { correlation(r).1 } else { 1.0 };
        (inflation * r.iter().map(|r| r * r).sum::<f64>(), r.len())
    })
}

/// Root mean squares over all logs with a channel of the same name; the given noise where there is one.
fn by_channel(model: &FitModel, sum: &dyn Fn(usize, usize) -> (f64, usize)) -> Noise {
    let mut groups: Vec<(&str, f64, usize)> = Vec::new();
    for (l, prepared) in model.logs.iter().enumerate() {
        for (c, compare) in prepared.log.compare.iter().enumerate() {
            let (squares, n) = sum(l, c);
            match groups.iter_mut().find(|group| group.0 == compare.channel) {
                Some(group) => {
                    group.1 += squares;
                    group.2 += n;
                }
                None => groups.push((&compare.channel, squares, n)),
            }
        }
    }
    let of = |channel: &str| {
        groups.iter().find(|group| group.0 == channel).map_or(1.0, |(_, squares, n)| (squares / *n as f64).sqrt())
    };
    let positive = |x: f64| if x > 0.0 && x.is_finite() { x } else { 1.0 };
    let each = |compare: &super::log::Compare| compare.noise.unwrap_or_else(|| positive(of(&compare.channel)));
    model.logs.iter().map(|prepared| prepared.log.compare.iter().map(each).collect()).collect()
}

/// Sum of squares of weighted residuals and priors.
pub(crate) fn cost(model: &FitModel, at: &At, noise: &Noise) -> f64 {
    let mut sum = 0.0;
    for (residuals, noise) in at.logs.iter().zip(noise) {
        for (r, sigma) in residuals.r.iter().zip(noise) {
            sum += r.iter().map(|r| r * r).sum::<f64>() / (sigma * sigma);
        }
    }
    sum + prior_cost(model, &at.p)
}

/// The part of the priors.
pub(crate) fn prior_cost(model: &FitModel, p: &[f64]) -> f64 {
    let known = model.parameters.iter().zip(p).filter_map(|(parameter, p)| Some((p, parameter.prior?)));
    known.map(|(p, (mean, deviation))| ((p - mean) / deviation).powi(2)).sum()
}

/// Number of residuals.
pub(crate) fn n_residuals(at: &At) -> usize {
    at.logs.iter().flat_map(|log| &log.r).map(Vec::len).sum()
}

/// H = JᵀJ and g = Jᵀr in scaled parameters.
pub(crate) fn normal_equations(model: &FitModel, at: &At, noise: &Noise) -> (DMatrix<f64>, DVector<f64>) {
    let n = model.parameters.len();
    let (mut h, mut g) = (DMatrix::zeros(n, n), DVector::zeros(n));
    for (residuals, noise) in at.logs.iter().zip(noise) {
        for ((r, jacobian), sigma) in residuals.r.iter().zip(&residuals.jacobian).zip(noise) {
            let weight = 1.0 / (sigma * sigma);
            h += weight * jacobian.tr_mul(jacobian);
            g += weight * jacobian.tr_mul(&DVector::from_column_slice(r));
        }
    }
    for (k, (parameter, &p)) in model.parameters.iter().zip(&at.p).enumerate() {
        if let Some((mean, deviation)) = parameter.prior {
            h[(k, k)] += 1.0 / (deviation * deviation);
            g[k] += (p - mean) / (deviation * deviation);
        }
    }
    // to scaled parameters
    let slopes: Vec<f64> = model.parameters.iter().zip(&at.p).map(|(parameter, &p)| parameter.slope(p)).collect();
    for i in 0..n {
        g[i] *= slopes[i];
        (0..n).for_each(|j| h[(i, j)] *= slopes[i] * slopes[j]);
    }
    (h, g)
}

/// The end of one start.
#[derive(Debug, Clone)]
pub(crate) struct Descent {
    pub at: At,
    pub noise: Noise,
    pub iterations: usize,
    pub is_converged: bool,
}

/// One start.
pub(crate) fn descend(
    model: &FitModel,
    start: &[f64],
    watch: &Watch<'_>,
    note: &dyn Fn(usize, f64),
) -> Result<Descent> {
    let mut at = evaluate(model, start, true, watch)?;
    if model.inverse.is_some() {
        let (found, is_linear) = super::linear::solve(model, &at, watch)?;
        if is_linear {
            note(1, (cost(model, &found.at, &found.noise) / n_residuals(&found.at) as f64).sqrt());
            return Ok(found);
        }
        at = evaluate(model, &found.at.p, true, watch)?;
    }
    let mut noise = spread(model);
    let is_automatic = model.logs.iter().any(|prepared| prepared.log.compare.iter().any(|c| c.noise.is_none()));
    // one channel without a prior: its weight is a common factor
    let n_channels = model.logs.iter().map(|prepared| prepared.log.compare.len()).max().unwrap_or(1);
    let rounds = if is_automatic && (n_channels > 1 || model.has_prior()) { ROUNDS } else { 1 };
    let (mut iterations, mut is_converged) = (0, false);
    for round in 0..rounds {
        if round > 0 {
            noise = residual_noise(model, &at);
        }
        let mut lambda = 1e-3;
        is_converged = false;
        let mut now = cost(model, &at, &noise);
        if !now.is_finite() {
            return Err(Error::NotFinite { t: 0.0, what: "the sum of the squared residuals".into() });
        }
        while iterations < MAX_ITERATIONS * (round + 1) && !is_converged {
            iterations += 1;
            let (h, g) = normal_equations(model, &at, &noise);
            let step = match try_steps(model, &at, (&h, &g, &noise), now, &mut lambda, watch) {
                Ok(step) => step,
                Err(Error::Stopped { .. }) => return Ok(Descent { at, noise, iterations, is_converged: false }),
                Err(error) => return Err(error),
            };
            let Some((p, after)) = step else {
                is_converged = true;
                break;
            };
            is_converged = now - after <= CONVERGED * now;
            now = after;
            match evaluate(model, &p, true, watch) {
                Ok(next) => at = next,
                Err(Error::Stopped { .. }) => return Ok(Descent { at, noise, iterations, is_converged: false }),
                Err(error) => return Err(error),
            }
            note(iterations, (now / n_residuals(&at) as f64).sqrt());
        }
    }
    Ok(Descent { at, noise, iterations, is_converged })
}

/// The end of a few iterations with weights by the spread of the measurements.
pub(super) fn descend_briefly(
    model: &FitModel,
    start: &[f64],
    iterations: usize,
    watch: &Watch<'_>,
) -> Result<Vec<f64>> {
    let mut at = evaluate(model, start, true, watch)?;
    let noise = spread(model);
    let (mut now, mut lambda) = (cost(model, &at, &noise), 1e-2);
    for k in 0..iterations {
        let (h, g) = normal_equations(model, &at, &noise);
        let Some((p, after)) = try_steps(model, &at, (&h, &g, &noise), now, &mut lambda, watch)? else { break };
        let is_done = k + 1 == iterations || now - after <= NEARLY * now;
        now = after;
        if is_done {
            return Ok(p);
        }
        at = evaluate(model, &p, true, watch)?;
    }
    Ok(at.p)
}

/// A step that lowers the cost, and the cost after it; none where no step does.
fn try_steps(
    model: &FitModel,
    at: &At,
    (h, g, noise): (&DMatrix<f64>, &DVector<f64>, &Noise),
    now: f64,
    lambda: &mut f64,
    watch: &Watch<'_>,
) -> Result<Option<(Vec<f64>, f64)>> {
    let n = at.p.len();
    let u: Vec<f64> = model.parameters.iter().zip(&at.p).map(|(parameter, &p)| parameter.scaled(p)).collect();
    let largest = (0..n).fold(0.0_f64, |most, k| most.max(h[(k, k)]));
    for _ in 0..12 {
        // parameters at a bound that the gradient pushes against, and those without influence, stay
        let mut free: Vec<usize> = (0..n)
            .filter(|&k| {
                let (low, high) = model.parameters[k].bounds;
                let is_held = at.p[k] <= low && g[k] > 0.0 || at.p[k] >= high && g[k] < 0.0;
                !is_held && h[(k, k)] > 1e-20 * largest
            })
            .collect();
        let mut step = vec![0.0; n];
        let mut is_solved = true;
        // a step that a bound cuts is repeated without that parameter
        loop {
            if free.is_empty() {
                return Ok(None);
            }
            let m = free.len();
            let mut matrix = DMatrix::from_fn(m, m, |i, j| h[(free[i], free[j])]);
            (0..m).for_each(|i| matrix[(i, i)] *= 1.0 + *lambda);
            let right = DVector::from_fn(m, |i, _| {
                -g[free[i]] - (0..n).filter(|k| !free.contains(k)).map(|k| h[(free[i], k)] * step[k]).sum::<f64>()
            });
            let Some(solved) = matrix.cholesky().map(|factor| factor.solve(&right)) else {
                is_solved = false;
                break;
            };
            free.iter().enumerate().for_each(|(i, &k)| step[k] = solved[i].clamp(-LONGEST, LONGEST));
            let cut = free.iter().position(|&k| {
                let (low, high) = model.parameters[k].bounds;
                let (low, high) = (model.parameters[k].scaled(low), model.parameters[k].scaled(high));
                let is_cut = u[k] + step[k] < low || u[k] + step[k] > high;
                if is_cut {
                    step[k] = (u[k] + step[k]).clamp(low, high) - u[k];
                }
                is_cut
            });
            match cut {
                Some(i) => drop(free.remove(i)),
                None => break,
            }
        }
        if !is_solved {
            // parameters that act together: singular but for λ
            *lambda = (*lambda * 8.0).max(1e-6);
            continue;
        }
        let p: Vec<f64> = model
            .parameters
            .iter()
            .zip(u.iter().zip(&step))
            .map(|(parameter, (u, step))| parameter.unscaled(u + step))
            .collect();
        if step.iter().all(|step| step.abs() < 1e-10) {
            return Ok(None);
        }
        match evaluate(model, &p, false, watch) {
            Ok(trial) => {
                let after = cost(model, &trial, noise);
                if after < now {
                    *lambda = (*lambda * 0.2).max(1e-12);
                    return Ok(Some((p, after)));
                }
            }
            Err(stopped @ Error::Stopped { .. }) => return Err(stopped),
            // no machine, or none that runs: a shorter step
            Err(_) => {}
        }
        *lambda = (*lambda * 8.0).max(1e-6);
    }
    Ok(None)
}

/// Points to start from: the first as given, for each other one some at random in the bounds.
pub(crate) fn candidates(model: &FitModel, n: usize, seed: u64) -> Vec<Vec<Vec<f64>>> {
    let n_candidates = if model.inverse.is_some() { 1 } else { CANDIDATES };
    let mut drawn = draw(model, 1 + n.saturating_sub(1) * n_candidates, seed);
    let others = drawn.split_off(1);
    std::iter::once(drawn).chain(others.chunks(n_candidates).map(<[_]>::to_vec)).collect()
}

/// The best of some points: the first where none can be simulated.
pub(crate) fn best_of(model: &FitModel, points: &[Vec<f64>], watch: &Watch<'_>) -> Vec<f64> {
    let noise = spread(model);
    let costs = map(if points.len() > 1 { points.len() } else { 0 }, &|k| {
        evaluate(model, &points[k], false, watch).map_or(f64::INFINITY, |at| cost(model, &at, &noise))
    });
    let best = points.iter().zip(&costs).min_by(|a, b| a.1.total_cmp(b.1)).map(|(point, _)| point);
    best.or(points.first()).cloned().unwrap_or_default()
}

/// The given point and others at random in the bounds (in scaled parameters, at most a factor 10 or ten scales from the
/// given one).
fn draw(model: &FitModel, n: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut state = seed;
    // SplitMix64 (Steele, Lea, Flood 2014)
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let first: Vec<f64> = model.parameters.iter().map(|parameter| parameter.start).collect();
    let mut all = vec![first];
    while all.len() < n.max(1) {
        let one = model.parameters.iter().map(|parameter| {
            let [low, high] = [parameter.bounds.0, parameter.bounds.1].map(|p| parameter.scaled(p));
            let middle = parameter.scaled(parameter.start);
            let reach = if parameter.is_log() { std::f64::consts::LN_10 } else { 10.0 };
            let (low, high) = (low.max(middle - reach), high.min(middle + reach));
            parameter.unscaled(low + (high - low) * uniform())
        });
        let one = one.collect();
        all.push(one);
    }
    all
}

//! Residuals that are linear in the parameters: inverse dynamics in masses, levels, damping and armatures.
//!
//! ```text
//! r(p + δ) = r + J δ        δ = −(JᵀJ)⁻¹ Jᵀ r within bounds        J is that of every p
//! ```
//!
//! One derivative and one solution suffice, where the log scale of other fits takes dozens. Whether the residuals were
//! linear is seen at the solution; if they were not, the fit goes on from there.

use super::model::FitModel;
use super::solve::{At, Descent, Noise, Watch, cost, evaluate, normal_equations, residual_noise, spread};
use crate::error::Result;
use nalgebra::{DMatrix, DVector};

/// Residuals at the solution that differ from the linear ones by less than this, relative to their norm, are linear.
const LINEAR: f64 = 1e-6;

/// Weights of channels from the residuals of the round before.
const ROUNDS: usize = 4;

/// The least-squares solution from `at`, with derivatives there; whether the residuals are linear up to it.
pub(super) fn solve(model: &FitModel, at: &At, watch: &Watch<'_>) -> Result<(Descent, bool)> {
    let mut noise = spread(model);
    let mut end = at.clone();
    for round in 0..ROUNDS {
        if round > 0 {
            noise = residual_noise(model, &end);
        }
        end = moved(model, at, &step(model, at, &noise));
    }
    let found = evaluate(model, &end.p, false, watch)?;
    let norm = |a: &At, b: Option<&At>| -> f64 {
        let each = a.logs.iter().enumerate().flat_map(|(l, log)| {
            let noise = &noise[l];
            log.r.iter().enumerate().map(move |(c, r)| {
                let other = |i: usize| b.map_or(0.0, |b| b.logs[l].r[c][i]);
                r.iter().enumerate().map(|(i, r)| ((r - other(i)) / noise[c]).powi(2)).sum::<f64>()
            })
        });
        each.sum::<f64>().sqrt()
    };
    let is_linear = norm(&found, Some(&end)) <= LINEAR * norm(at, None);
    // the derivatives are those of the start
    for (log, found) in end.logs.iter_mut().zip(found.logs) {
        (log.r, log.raw) = (found.r, found.raw);
    }
    let noise = residual_noise(model, &end);
    let is_better = cost(model, &end, &noise) < cost(model, at, &noise);
    let at = if is_better { end } else { at.clone() };
    Ok((Descent { at, noise, iterations: 1, is_converged: is_linear && is_better }, is_linear))
}

/// r + J δ.
fn moved(model: &FitModel, at: &At, step: &DVector<f64>) -> At {
    let mut end = at.clone();
    for (k, p) in end.p.iter_mut().enumerate() {
        let (low, high) = model.parameters[k].bounds;
        *p = (*p + step[k]).clamp(low, high);
    }
    for log in &mut end.logs {
        for (r, jacobian) in log.r.iter_mut().zip(&log.jacobian) {
            let change = jacobian * step;
            r.iter_mut().zip(change.iter()).for_each(|(r, change)| *r += change);
        }
    }
    end
}

/// δ in the parameters themselves; one that would leave its bounds ends there, and the others are solved for again.
fn step(model: &FitModel, at: &At, noise: &Noise) -> DVector<f64> {
    let n = at.p.len();
    let (mut h, mut g) = normal_equations(model, at, noise);
    let slopes: Vec<f64> = model.parameters.iter().zip(&at.p).map(|(parameter, &p)| parameter.slope(p)).collect();
    for i in 0..n {
        g[i] /= slopes[i];
        (0..n).for_each(|j| h[(i, j)] /= slopes[i] * slopes[j]);
    }
    let mut step = DVector::zeros(n);
    let mut free: Vec<usize> = (0..n).filter(|&k| h[(k, k)] > 0.0).collect();
    while !free.is_empty() {
        let m = free.len();
        let size: Vec<f64> = free.iter().map(|&k| h[(k, k)].sqrt()).collect();
        let matrix = DMatrix::from_fn(m, m, |i, j| h[(free[i], free[j])] / (size[i] * size[j]));
        let right = DVector::from_fn(m, |i, _| {
            let fixed = (0..n).filter(|k| !free.contains(k)).map(|k| h[(free[i], k)] * step[k]).sum::<f64>();
            (-g[free[i]] - fixed) / size[i]
        });
        // directions without identifiability keep their values
        let Ok(solved) = matrix.svd(true, true).solve(&right, 1e-12) else { break };
        (0..m).for_each(|i| step[free[i]] = solved[i] / size[i]);
        let beyond = |k: usize| {
            let (low, high) = model.parameters[k].bounds;
            let to = (at.p[k] + step[k]).clamp(low, high);
            (to != at.p[k] + step[k]).then_some(to - at.p[k])
        };
        let cut: Vec<(usize, f64)> = free.iter().filter_map(|&k| Some((k, beyond(k)?))).collect();
        if cut.is_empty() {
            break;
        }
        cut.iter().for_each(|(k, to)| step[*k] = *to);
        free.retain(|k| cut.iter().all(|(other, _)| other != k));
    }
    step
}

//! Deviations of fitted parameters, and their identifiability.
//!
//! ```text
//! white residuals     cov = s² H⁻¹                              s² = Σ (r/σ)²/(n − m)
//! correlated ones     cov = H⁻¹ (Σ_b S_b S_bᵀ) H⁻¹              S_b = Σ_{i in block b} J_iᵀ r_i/σ²
//! with priors         cov = H⁻¹ (s² (H − P) + P) H⁻¹            H = JᵀJ/σ² + P, P = 1/deviation²; P joins Σ S_b S_bᵀ
//! effective samples   n / (1 + 2 Σ ρ_l)
//! ```
//!
//! Residuals of a model that is not the machine are correlated in time: the white formula is then too small. Blocks
//! (batch means) are four times longer than the time in which the correlation of residuals ρ_l falls below 0.1. The
//! singular values of J in scaled parameters, over √n, are changes of the curves in units of noise per factor e of a
//! parameter; the direction of the smallest is simulated to see whether it moves anything. Where the logs hardly tell
//! it, the largest of its parameters is moved, and the others follow to where the curves are most alike.

use super::model::FitModel;
use super::solve::{At, Noise, Watch, cost, descend_briefly, evaluate, n_residuals, normal_equations, prior_cost};
use crate::error::Result;
use nalgebra::{DMatrix, DVector};

/// ρ below which residuals count as uncorrelated.
const UNCORRELATED: f64 = 0.1;

/// Blocks of a channel at least.
const MIN_BLOCKS: usize = 20;

/// Step along the weakest direction, in scaled parameters: ten per cent.
const TRIED: f64 = 0.1;

/// Mean square of weighted residuals that is rounding.
const ROUNDING: f64 = 1e-32;

/// Scaled deviation of the weakest direction above which its parameters are said to act together.
pub(super) const WEAK: f64 = 0.3;

/// Iterations of the others where the largest of them is moved.
const FOLLOWED: usize = 6;

/// Scaled deviation above which a parameter is not identifiable: a factor e, or one scale.
const UNTOLD: f64 = 1.0;

/// Deviations and correlations at a minimum.
#[derive(Debug, Clone)]
pub(crate) struct Deviations {
    /// With correlated residuals, per parameter.
    pub deviation: Vec<f64>,
    /// By the formula for white noise.
    pub white: Vec<f64>,
    /// Residuals, and how many independent ones they are worth.
    pub samples: usize,
    pub effective: f64,
    /// The parameters whose column of J is too small to identify them.
    pub is_unidentifiable: Vec<bool>,
}

/// A direction of parameters in which the curves hardly change.
#[derive(Debug, Clone, PartialEq)]
pub struct Identifiability {
    /// Singular values of J over √n in scaled parameters, largest first: changes of the curves in units of their noise.
    pub singular_values: Vec<f64>,
    /// Scaled components of the weakest direction, by path, largest first.
    pub weakest: Vec<(String, f64)>,
    /// Values of the parameters a step along it.
    pub tried: Vec<(String, f64)>,
    /// Largest change of a compared channel in that step, in its unit, by simulation; with the channel.
    pub largest_change: Option<(String, f64)>,
    /// Deviation of the parameters along it, in scaled units; above 1 it is not identifiable.
    pub deviation: f64,
}

/// Lag at which the correlation of residuals is below [`UNCORRELATED`], and 1 + 2 Σ ρ up to there.
pub(super) fn correlation(r: &[f64]) -> (usize, f64) {
    let n = r.len();
    let power: f64 = r.iter().map(|r| r * r).sum();
    let mut inflation = 1.0;
    if power == 0.0 {
        return (1, inflation);
    }
    for lag in 1..n / 4 {
        let rho = r[lag..].iter().zip(r).map(|(a, b)| a * b).sum::<f64>() / power;
        if rho < UNCORRELATED {
            return (lag, inflation);
        }
        inflation += 2.0 * rho;
    }
    ((n / 4).max(1), inflation)
}

pub(crate) fn deviations(model: &FitModel, at: &At, noise: &Noise) -> Deviations {
    let n = model.parameters.len();
    let (h, _) = normal_equations(model, at, noise);
    let (told, known) = information(model, at, noise);
    let samples = n_residuals(at);
    let slopes: Vec<f64> = model.parameters.iter().zip(&at.p).map(|(parameter, &p)| parameter.slope(p)).collect();
    let is_unidentifiable: Vec<bool> =
        (0..n).map(|k| h[(k, k)] <= 0.0 || (told[(k, k)] + known[(k, k)]).recip().sqrt() >= UNTOLD).collect();
    let identifiable: Vec<usize> = (0..n).filter(|&k| !is_unidentifiable[k]).collect();

    // blocks of scores
    let mut meat = DMatrix::zeros(n, n);
    let mut effective = 0.0;
    for (residuals, noise) in at.logs.iter().zip(noise) {
        for ((r, jacobian), sigma) in residuals.r.iter().zip(&residuals.jacobian).zip(noise) {
            let (lag, inflation) = correlation(r);
            effective += r.len() as f64 / inflation;
            let length = (4 * lag).min(r.len() / MIN_BLOCKS).max(1);
            let length = if lag == 1 { 1 } else { length };
            // a window is short, and begins anew
            let length = if model.window.is_some() { r.len().max(1) } else { length };
            for block in (0..r.len()).collect::<Vec<_>>().chunks(length) {
                let mut score = DVector::<f64>::zeros(n);
                for &i in block {
                    let weight = r[i] / (sigma * sigma);
                    (0..n).for_each(|k| score[k] += weight * jacobian[(i, k)] * slopes[k]);
                }
                meat += &score * score.transpose();
            }
        }
    }
    let mut result = Deviations {
        deviation: vec![f64::INFINITY; n],
        white: vec![f64::INFINITY; n],
        samples,
        effective,
        is_unidentifiable,
    };
    let part = |matrix: &DMatrix<f64>| {
        DMatrix::from_fn(identifiable.len(), identifiable.len(), |i, j| matrix[(identifiable[i], identifiable[j])])
    };
    let Some(inverse) = pseudo_inverse(part(&h)) else { return result };
    // scores of the residuals by the white formula, and those of priors, which vary by their own information
    let white = (&h - &known) * mean_square(model, at, noise) + &known;
    let white = &inverse * part(&white) * &inverse;
    let sandwich = &inverse * part(&(meat + &known)) * &inverse;
    for (i, &k) in identifiable.iter().enumerate() {
        result.white[k] = slopes[k] * white[(i, i)].max(0.0).sqrt();
        result.deviation[k] = slopes[k] * sandwich[(i, i)].max(0.0).sqrt();
    }
    result
}

/// s²; of noise that is given, not less than it says.
fn mean_square(model: &FitModel, at: &At, noise: &Noise) -> f64 {
    let n_fitted = model.parameters.len() + at.logs.iter().map(|log| log.n_eliminated).sum::<usize>();
    let n = n_residuals(at).saturating_sub(n_fitted).max(1);
    let square = (cost(model, at, noise) - prior_cost(model, &at.p)) / n as f64;
    let is_given = model.logs.iter().flat_map(|prepared| &prepared.log.compare).all(|compare| compare.noise.is_some());
    if is_given { square.max(1.0) } else { square }
}

/// Information of the rows by the white formula, H/s² without priors, and that of the priors, in scaled parameters.
fn information(model: &FitModel, at: &At, noise: &Noise) -> (DMatrix<f64>, DMatrix<f64>) {
    let (h, _) = normal_equations(model, at, noise);
    let diagonal =
        model.parameters.iter().zip(&at.p).map(|(parameter, &p)| {
            parameter.prior.map_or(0.0, |(_, deviation)| (parameter.slope(p) / deviation).powi(2))
        });
    let known = DMatrix::from_diagonal(&DVector::from_iterator(model.parameters.len(), diagonal));
    let told = (h - &known) / mean_square(model, at, noise).max(ROUNDING);
    (told, known)
}

/// H⁻¹, scaled to a unit diagonal first.
fn pseudo_inverse(h: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let n = h.nrows();
    let d: Vec<f64> = (0..n).map(|k| h[(k, k)].sqrt()).collect();
    let scaled = DMatrix::from_fn(n, n, |i, j| h[(i, j)] / (d[i] * d[j]));
    let inverse =
        scaled.clone().cholesky().map(|factor| factor.inverse()).or_else(|| scaled.pseudo_inverse(1e-14).ok())?;
    Some(DMatrix::from_fn(n, n, |i, j| inverse[(i, j)] / (d[i] * d[j])))
}

/// The weakest direction, tried by simulation.
pub(crate) fn identifiability(model: &FitModel, at: &At, noise: &Noise, watch: &Watch<'_>) -> Result<Identifiability> {
    let n = model.parameters.len();
    let samples = n_residuals(at).max(1);
    let (told, known) = information(model, at, noise);
    let eigen = (told + known).symmetric_eigen();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let singular = |k: usize| (eigen.eigenvalues[k].max(0.0) / samples as f64).sqrt();
    let singular_values: Vec<f64> = order.iter().map(|&k| singular(k)).collect();
    let Some(&last) = order.last() else {
        return Ok(Identifiability {
            singular_values,
            weakest: vec![],
            tried: vec![],
            largest_change: None,
            deviation: 0.0,
        });
    };
    let direction: Vec<f64> = eigen.eigenvectors.column(last).iter().copied().collect();
    let mut weakest: Vec<(String, f64)> =
        model.parameters.iter().zip(&direction).map(|(parameter, x)| (parameter.path.clone(), *x)).collect();
    weakest.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));

    // a step to either side that bounds allow more of
    let moved = |by: f64| -> Vec<f64> {
        let each = model.parameters.iter().zip(at.p.iter().zip(&direction));
        each.map(|(parameter, (&p, x))| parameter.unscaled(parameter.scaled(p) + by * x)).collect()
    };
    let length = |p: &[f64]| {
        let each = model.parameters.iter().zip(p.iter().zip(&at.p));
        each.map(|(parameter, (a, b))| (parameter.scaled(*a) - parameter.scaled(*b)).powi(2)).sum::<f64>()
    };
    let (plus, minus) = (moved(TRIED), moved(-TRIED));
    let mut p = if length(&plus) >= length(&minus) { plus } else { minus };
    let deviation = eigen.eigenvalues[last].max(f64::MIN_POSITIVE).recip().sqrt();
    if deviation > WEAK {
        // parameters that act together lie on a curve, not on its tangent
        let largest = direction.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map_or(0, |x| x.0);
        let mut others = model.clone();
        others.parameters[largest].bounds = (p[largest], p[largest]);
        others.parameters.iter_mut().for_each(|parameter| parameter.prior = None);
        p = descend_briefly(&others, &p, FOLLOWED, watch).unwrap_or(p);
    }
    let mut largest_change = None;
    if let Ok(trial) = evaluate(model, &p, false, watch) {
        let mut worst = 0.0;
        for (l, (before, after)) in at.logs.iter().zip(&trial.logs).enumerate() {
            for (c, (a, b)) in before.r.iter().zip(&after.r).enumerate() {
                let change = a.iter().zip(b).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
                if change / noise[l][c] >= worst {
                    worst = change / noise[l][c];
                    largest_change = Some((model.logs[l].log.compare[c].channel.clone(), change));
                }
            }
        }
    }
    let tried = model.parameters.iter().zip(&p).map(|(parameter, p)| (parameter.path.clone(), *p)).collect();
    Ok(Identifiability { singular_values, weakest, tried, largest_change, deviation })
}

//! Matrix and right-hand side of a step, in all velocities and in the independent ones.
//!
//! ```text
//! A = M + h d + h² K,      r = τ − c − K (q₀ + h v₀ − rest) − d v₀         in all velocities              (1)
//! R = Tᵀ A T,              b = Tᵀ (h r − A u_p)                           in the independent ones         (2)
//! ```
//!
//! u_p is the change of the prescribed velocities, and of the dependent ones because of them.

#![expect(non_snake_case, reason = "symbols follow the equations above")]

use super::reduced_coordinates::{ReducedCoordinates, dot};
use super::{SignalTime, Start};
use crate::component::Drive;
use crate::model::Compiled;
use crate::signal::Sample;
use bristle_multibody::{Error, Work, bias_efforts, crba};
use nalgebra::DMatrix;

/// (1) and (2) of one step; the arrays are made once.
#[derive(Debug, Clone)]
pub(super) struct StepEquations {
    /// A and r in all velocities.
    pub A: DMatrix<f64>,
    pub r: Vec<f64>,
    /// The bias c in r, and the mean velocities at which [`correct_bias`] evaluates it.
    bias: Vec<f64>,
    v_mean: Vec<f64>,
    /// u_p.
    pub u_prescribed: Vec<f64>,
    /// Signals of the drives at the end of the step.
    pub samples: Vec<Sample>,
    /// R, row by row, and b in the independent velocities.
    pub R: Vec<f64>,
    pub b: Vec<f64>,
}

impl StepEquations {
    /// For n independent velocities.
    pub fn new(compiled: &Compiled, n: usize) -> Self {
        let n_v = compiled.model.tree.n_v;
        Self {
            A: DMatrix::zeros(n_v, n_v),
            r: vec![0.0; n_v],
            bias: vec![0.0; n_v],
            v_mean: vec![0.0; n_v],
            u_prescribed: vec![0.0; n_v],
            samples: vec![Sample::default(); compiled.inputs.drives.len()],
            R: vec![0.0; n * n],
            b: vec![0.0; n],
        }
    }
}

/// Fills A, r and the prescribed changes of velocity.
pub(super) fn assemble(
    equations: &mut StepEquations,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
) -> Result<(), Error> {
    let Start { q, xi, v, .. } = start;
    let StepEquations { A, r, bias, u_prescribed, samples, .. } = equations;
    // inertia, bias, efforts set by the caller
    crba(&compiled.model.tree, work, q, A)?;
    bias.copy_from_slice(bias_efforts(&compiled.model.tree, work, q, v)?);
    r.iter_mut().zip(&compiled.inputs.effort).zip(&*bias).for_each(|((r, effort), bias)| *r = effort - bias);
    // dampers and springs
    for d in &compiled.inputs.dampers {
        r[d.v] -= d.damping * v[d.v];
        A[(d.v, d.v)] += h * d.damping;
    }
    for s in &compiled.inputs.springs {
        r[s.v] -= s.stiffness * (q[s.q] + h * v[s.v] - s.rest);
        A[(s.v, s.v)] += h * h * s.stiffness;
    }
    for s in &compiled.model.coupled.springs {
        let rate = v[s.a] - v[s.b];
        let effort = s.stiffness * (xi[s.a] - xi[s.b] + h * rate - s.rest) + s.damping * rate;
        r[s.a] -= effort;
        r[s.b] += effort;
        let gain = h * (s.damping + h * s.stiffness);
        A[(s.a, s.a)] += gain;
        A[(s.b, s.b)] += gain;
        A[(s.a, s.b)] -= gain;
        A[(s.b, s.a)] -= gain;
    }
    // drives
    u_prescribed.fill(0.0);
    let mut integrals = start.integrals.iter();
    for (drive, sample) in compiled.inputs.drives.iter().zip(samples) {
        let signal = drive.signal().sample(at.t, at.piece);
        *sample = signal;
        let (k, ahead) = (drive.v, q[drive.q] + h * v[drive.v]);
        match drive.drive {
            Drive::Motion(_) if at.is_first => u_prescribed[k] = h * signal.second_derivative,
            Drive::Motion(_) => u_prescribed[k] = (signal.value - xi[k]) / h - v[k],
            Drive::Effort(_) | Drive::Pull { .. } => r[k] += drive.effort(&signal, ahead, v[k], 0.0),
            Drive::Pid { .. } => {
                let integral = integrals.next().map_or(0.0, |integral| integral + h * (signal.value - ahead));
                r[k] += drive.effort(&signal, ahead, v[k], integral);
            }
        }
        // gains of the wrong sign stay explicit, so that A is positive definite
        let [in_q, in_v, in_integral] = drive.slopes();
        A[(k, k)] += h * (h * (h * in_integral - in_q).max(0.0) + (-in_v).max(0.0));
    }
    Ok(())
}

/// Replaces the bias in r by the bias at the mean of `v` and `v1`. Returns whether r has changed.
pub(super) fn correct_bias(
    equations: &mut StepEquations,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    v1: &[f64],
) -> Result<bool, Error> {
    let StepEquations { r, bias, v_mean, .. } = equations;
    v_mean.iter_mut().zip(start.v).zip(v1).for_each(|((mean, v), v1)| *mean = 0.5 * (v + v1));
    let mut differs = false;
    for ((r, bias), &mean) in r.iter_mut().zip(bias).zip(bias_efforts(&compiled.model.tree, work, start.q, v_mean)?) {
        *r += *bias - mean;
        differs |= (*bias - mean).abs() > 1e-14 * (bias.abs() + mean.abs());
        *bias = mean;
    }
    Ok(differs)
}

/// R of (2), and u_p of the dependent velocities.
pub(super) fn reduce_matrix(equations: &mut StepEquations, coordinates: &ReducedCoordinates) {
    let StepEquations { A, R, u_prescribed, .. } = equations;
    let n = coordinates.independent.len();
    for dependent in &coordinates.dependent {
        u_prescribed[dependent.v] = dot(&coordinates.rows_prescribed[dependent.v], u_prescribed);
    }
    if coordinates.is_identity {
        // T = 1, and A is symmetric: its columns are its rows
        R.copy_from_slice(A.as_slice());
        return;
    }
    R.fill(0.0);
    for (k, row) in coordinates.rows.iter().enumerate() {
        for &(i, c) in row {
            for (other, &a) in coordinates.rows.iter().zip(A.column(k).iter()) {
                for &(j, d) in other {
                    R[i * n + j] += c * d * a;
                }
            }
        }
    }
}

/// b of (2).
pub(super) fn reduce_efforts(equations: &mut StepEquations, coordinates: &ReducedCoordinates, h: f64) {
    let StepEquations { A, b, r, u_prescribed, .. } = equations;
    if coordinates.is_identity {
        b.iter_mut().zip(&*r).for_each(|(b, r)| *b = h * r);
        return;
    }
    let is_any_prescribed = u_prescribed.iter().any(|&u| u != 0.0);
    b.fill(0.0);
    for (k, row) in coordinates.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let mut impulse = h * r[k];
        if is_any_prescribed {
            impulse -= A.column(k).iter().zip(&*u_prescribed).map(|(a, u)| a * u).sum::<f64>();
        }
        row.iter().for_each(|&(i, c)| b[i] += c * impulse);
    }
}

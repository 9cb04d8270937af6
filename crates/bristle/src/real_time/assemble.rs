//! Matrix and right-hand side of a step, in all velocities and in the independent ones.
//!
//! ```text
//! A = M + h d + h² K,      r = τ − c − K (q₀ + h v₀ − rest) − d v₀         in all velocities              (1)
//! R = Tᵀ A T,              b = Tᵀ (h r − A u_p)                           in the independent ones         (2)
//! ```
//!
//! u_p is the change of the prescribed velocities, and of the dependent ones because of them.

use super::effort_limits::LimitedEfforts;
use super::reduced_coordinates::{ReducedCoordinates, dot};
use super::step_matrix::{MatrixForm, StepMatrix};
use super::{LoopStep, SignalTime, Start, StepError};
use crate::model::Compiled;
use crate::model::servo::DriveSample;
use crate::world::component::Drive;
use bristle_multibody::{Error, Work};

/// (1) and (2) of one step; the arrays are made once.
#[derive(Debug, Clone)]
pub(super) struct StepEquations {
    /// A and R, and r in all velocities.
    pub matrix: StepMatrix,
    pub r: Vec<f64>,
    /// The bias c in r, and the mean velocities and the bias there that [`correct_bias`] evaluates.
    bias: Vec<f64>,
    v_mean: Vec<f64>,
    mean_bias: Vec<f64>,
    /// u_p.
    pub u_prescribed: Vec<f64>,
    /// Signals of the drives at the end of the step.
    pub samples: Vec<DriveSample>,
    /// Efforts with limits.
    pub limited: LimitedEfforts,
    /// b in the independent velocities.
    pub b: Vec<f64>,
    /// A u_p.
    prescribed_impulse: Vec<f64>,
}

impl StepEquations {
    pub fn new(compiled: &Compiled, coordinates: &ReducedCoordinates, form: MatrixForm) -> Self {
        let (n_v, n) = (compiled.model.tree.n_v, coordinates.independent.len());
        Self {
            matrix: StepMatrix::new(compiled, coordinates, form),
            r: vec![0.0; n_v],
            bias: vec![0.0; n_v],
            v_mean: vec![0.0; n_v],
            mean_bias: vec![0.0; n_v],
            u_prescribed: vec![0.0; n_v],
            samples: vec![DriveSample::default(); compiled.inputs.drives.len()],
            limited: LimitedEfforts::new(compiled),
            b: vec![0.0; n],
            prescribed_impulse: vec![0.0; n_v],
        }
    }
}

/// Fills A, r and the prescribed changes of velocity. In a `new` step the limits of efforts follow from those at v₀;
/// otherwise those in force stay.
pub(super) fn assemble(
    (equations, loops): (&mut StepEquations, Option<&mut LoopStep>),
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
    is_new: bool,
) -> Result<(), StepError> {
    let Start { q, xi, v, .. } = start;
    let StepEquations { matrix, r, bias, u_prescribed, samples, limited, .. } = equations;
    // inertia, bias, efforts set by the caller
    matrix.set_inertia(compiled, work, q)?;
    match loops {
        Some(loops) => loops.bias(compiled, work, q, v, bias)?,
        None => matrix.bias(compiled, work, q, v, bias)?,
    }
    let given = compiled.inputs.effort.iter().zip(&compiled.inputs.offset);
    r.iter_mut().zip(given).zip(&*bias).for_each(|((r, (effort, offset)), bias)| *r = effort + offset - bias);
    // dampers and springs
    for d in &compiled.inputs.dampers {
        r[d.v] -= d.damping * v[d.v];
        matrix.add(d.v, h * d.damping);
    }
    for s in &compiled.inputs.springs {
        r[s.v] -= s.stiffness * (q[s.q] + h * v[s.v] - s.rest);
        matrix.add(s.v, h * h * s.stiffness);
    }
    for (spring, s) in compiled.model.coupled.springs.iter().enumerate() {
        let rate = v[s.a] - v[s.b];
        let effort = s.stiffness * (xi[s.a] - xi[s.b] + h * rate - s.rest) + s.damping * rate;
        r[s.a] -= effort;
        r[s.b] += effort;
        matrix.add_spring(spring, s.a, s.b, h * (s.damping + h * s.stiffness));
    }
    // drives
    u_prescribed.fill(0.0);
    let mut integrals = start.integrals.iter();
    for (((drive, sample), servo), terms) in
        compiled.inputs.drives.iter().zip(samples).zip(start.servos).zip(&mut limited.drives)
    {
        let (k, ahead) = (drive.v, q[drive.q] + h * v[drive.v]);
        *sample = drive.sample(at.t, at.piece, servo, Some((ahead, v[k])));
        let signal = sample.signal;
        terms[0] = match drive.drive {
            Drive::Motion(_) if at.is_first => {
                u_prescribed[k] = h * signal.second_derivative;
                0.0
            }
            Drive::Motion(_) => {
                u_prescribed[k] = (signal.value - xi[k]) / h - v[k];
                0.0
            }
            Drive::Effort(_) | Drive::Pull { .. } | Drive::Servo { .. } => drive.effort(sample, ahead, v[k], 0.0),
            Drive::Pid { .. } => {
                let integral = integrals.next().map_or(0.0, |integral| integral + h * (signal.value - ahead));
                drive.effort(sample, ahead, v[k], integral)
            }
        };
        // gains of the wrong sign stay explicit, so that A is positive definite
        let [in_q, in_v, in_integral] = drive.slopes(sample);
        terms[1] = h * (h * in_integral - in_q).max(0.0) + (-in_v).max(0.0);
    }
    limited.set_demands(compiled, is_new);
    for (k, (drive, [effort, slope])) in compiled.inputs.drives.iter().zip(&limited.drives).enumerate() {
        r[drive.v] += effort;
        let limit = compiled.inputs.effort_limits.iter().position(|limit| limit.drive == Some(k));
        if limit.and_then(|limit| limited.cut(limit)).is_none() {
            matrix.add(drive.v, h * slope);
        }
    }
    for (k, limit) in compiled.inputs.effort_limits.iter().enumerate() {
        r[limit.v] += limited.cut(k).unwrap_or(0.0);
    }
    Ok(())
}

/// Replaces the bias in r by the bias at the mean of `v` and `v1`. Returns whether r has changed.
pub(super) fn correct_bias(
    (equations, loops): (&mut StepEquations, Option<&mut LoopStep>),
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    v1: &[f64],
) -> Result<bool, StepError> {
    let StepEquations { matrix, r, bias, v_mean, mean_bias, .. } = equations;
    v_mean.iter_mut().zip(start.v).zip(v1).for_each(|((mean, v), v1)| *mean = 0.5 * (v + v1));
    match loops {
        Some(loops) => loops.bias(compiled, work, start.q, v_mean, mean_bias)?,
        None => matrix.bias(compiled, work, start.q, v_mean, mean_bias)?,
    }
    let mut differs = false;
    for ((r, bias), &mean) in r.iter_mut().zip(bias).zip(&*mean_bias) {
        *r += *bias - mean;
        differs |= (*bias - mean).abs() > 1e-14 * (bias.abs() + mean.abs());
        *bias = mean;
    }
    Ok(differs)
}

/// R of (2), u_p of the dependent velocities, and A u_p.
pub(super) fn reduce_matrix(
    equations: &mut StepEquations,
    coordinates: &ReducedCoordinates,
    compiled: &Compiled,
) -> Result<(), Error> {
    let StepEquations { matrix, u_prescribed, prescribed_impulse, .. } = equations;
    for dependent in &coordinates.dependent {
        u_prescribed[dependent.v] = dot(&coordinates.rows_prescribed[dependent.v], u_prescribed);
    }
    matrix.reduce(coordinates);
    if u_prescribed.iter().all(|&u| u == 0.0) {
        prescribed_impulse.fill(0.0);
        return Ok(());
    }
    matrix.multiply_all(compiled, u_prescribed, prescribed_impulse)
}

/// b of (2).
pub(super) fn reduce_efforts(equations: &mut StepEquations, coordinates: &ReducedCoordinates, h: f64) {
    let StepEquations { b, r, prescribed_impulse, .. } = equations;
    if coordinates.is_identity {
        b.iter_mut().zip(&*r).for_each(|(b, r)| *b = h * r);
        return;
    }
    b.fill(0.0);
    for (k, row) in coordinates.rows.iter().enumerate() {
        row.iter().for_each(|&(i, c)| b[i] += c * (h * r[k] - prescribed_impulse[k]));
    }
}

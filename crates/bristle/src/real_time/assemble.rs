//! Matrix and right-hand side of a step, in all velocities and in the independent ones.
//!
//! ```text
//! A = M + h θ d + h² β K,   r = τ − c − K (q₀ + h (α + β) v₀ − rest) − d v₀      in all velocities          (1)
//! R = Tᵀ A T,              b = Tᵀ (h r − A u_p)                           in the independent ones         (2)
//! ```
//!
//! M and c are those at the middle of the step, τ too; α, β and θ are those of `weights`. u_p is the change of the
//! prescribed velocities, and of the dependent ones because of them.

use super::effort_limits::LimitedEfforts;
use super::reduced_coordinates::{ReducedCoordinates, dot};
use super::step_matrix::{MatrixForm, StepMatrix};
use super::weights::Weights;
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
    pub v_mean: Vec<f64>,
    mean_bias: Vec<f64>,
    /// u_p.
    pub u_prescribed: Vec<f64>,
    /// Whether every force acts at the end of the step: order one, see `closed_loops`.
    pub is_order_one: bool,
    /// M_kk, and the weights of springs, dampers, springs between joints, and drives.
    inertia: Vec<f64>,
    pub springs: Vec<Weights>,
    dampers: Vec<Weights>,
    between: Vec<Weights>,
    drives: Vec<Weights>,
    /// Signals of the drives at the middle of the step; of prescribed motions at its end.
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
            is_order_one: !compiled.model.coupled.closures.is_empty(),
            inertia: vec![0.0; n_v],
            springs: vec![Weights::END; compiled.inputs.springs.len()],
            dampers: vec![Weights::END; compiled.inputs.dampers.len()],
            between: vec![Weights::END; compiled.model.coupled.springs.len()],
            drives: vec![Weights::END; compiled.inputs.drives.len()],
            samples: vec![DriveSample::default(); compiled.inputs.drives.len()],
            limited: LimitedEfforts::new(compiled),
            b: vec![0.0; n],
            prescribed_impulse: vec![0.0; n_v],
        }
    }

    /// The part of v₁ in the mean velocities v̄ that move positions.
    pub fn share_of_end(&self) -> f64 {
        if self.is_order_one { 1.0 } else { 0.5 }
    }

    /// Effort of drive k at the end of a step with velocities `v1`, as it has acted in it; `integral` at its start.
    pub fn drive_effort(
        &self,
        compiled: &Compiled,
        start: Start<'_>,
        k: usize,
        (v1, h): (&[f64], f64),
        integral: Option<f64>,
    ) -> f64 {
        let (drive, sample, weights) = (&compiled.inputs.drives[k], &self.samples[k], &self.drives[k]);
        let (v0, v1) = (start.v[drive.v], v1[drive.v]);
        let q = weights.position(start.xi[drive.v], h * v0, h * v1);
        let integral = integral.map_or(0.0, |integral| integral + weights.eta * h * (sample.signal.value - q));
        drive.effort(sample, q, weights.velocity(v0, v1), integral)
    }

    /// Weights of all forces that depend on positions and velocities.
    fn set_weights(&mut self, compiled: &Compiled, h: f64) -> Result<(), Error> {
        let Self { matrix, inertia, springs, dampers, between, .. } = self;
        let (inputs, coupled) = (&compiled.inputs, &compiled.model.coupled);
        let has_forces = !springs.is_empty() || !dampers.is_empty() || !between.is_empty();
        if self.is_order_one || !has_forces && inputs.drives.is_empty() {
            return Ok(());
        }
        matrix.inertias(compiled, inertia)?;
        for (weights, s) in springs.iter_mut().zip(&inputs.springs) {
            *weights = Weights::new(h, s.stiffness, 0.0, inertia[s.v]);
        }
        for (weights, d) in dampers.iter_mut().zip(&inputs.dampers) {
            *weights = Weights::new(h, 0.0, d.damping, inertia[d.v]);
        }
        for (weights, s) in between.iter_mut().zip(&coupled.springs) {
            let (a, b) = (inertia[s.a], inertia[s.b]);
            *weights = Weights::new(h, s.stiffness, s.damping, a * b / (a + b));
        }
        Ok(())
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
    let Start { q, middle, xi, v, .. } = start;
    // inertia, bias, efforts set by the caller
    equations.matrix.set_inertia(compiled, work, middle)?;
    equations.set_weights(compiled, h)?;
    let StepEquations {
        matrix,
        r,
        bias,
        u_prescribed,
        samples,
        limited,
        inertia,
        springs,
        dampers,
        between,
        drives: weights,
        is_order_one,
        ..
    } = equations;
    match loops {
        Some(loops) => loops.bias(compiled, work, middle, v, bias)?,
        None => matrix.bias(compiled, work, middle, v, bias)?,
    }
    let given = compiled.inputs.effort.iter().zip(&compiled.inputs.offset);
    r.iter_mut().zip(given).zip(&*bias).for_each(|((r, (effort, offset)), bias)| *r = effort + offset - bias);
    // dampers and springs
    for (d, weights) in compiled.inputs.dampers.iter().zip(dampers) {
        r[d.v] -= d.damping * v[d.v];
        matrix.add(d.v, h * weights.theta * d.damping);
    }
    for (s, weights) in compiled.inputs.springs.iter().zip(springs) {
        let h_v = h * v[s.v];
        r[s.v] -= s.stiffness * (weights.position(q[s.q], h_v, h_v) - s.rest);
        matrix.add(s.v, h * h * weights.beta * s.stiffness);
    }
    for (spring, (s, weights)) in compiled.model.coupled.springs.iter().zip(between).enumerate() {
        let (rate, turn) = (v[s.a] - v[s.b], xi[s.a] - xi[s.b]);
        let effort = s.stiffness * (weights.position(turn, h * rate, h * rate) - s.rest) + s.damping * rate;
        r[s.a] -= effort;
        r[s.b] += effort;
        matrix.add_spring(spring, s.a, s.b, h * (weights.theta * s.damping + h * weights.beta * s.stiffness));
    }
    // drives
    u_prescribed.fill(0.0);
    let mut integrals = start.integrals.iter();
    let share = if *is_order_one { 1.0 } else { 0.5 };
    for ((((drive, sample), servo), terms), weights) in
        compiled.inputs.drives.iter().zip(samples).zip(start.servos).zip(&mut limited.drives).zip(weights)
    {
        let (k, h_v) = (drive.v, h * v[drive.v]);
        let is_at_end = *is_order_one || matches!(drive.drive, Drive::Motion(_));
        let (t, piece) = if is_at_end { (at.t, at.piece) } else { at.middle };
        *sample = drive.sample(t, piece, servo, Some((q[drive.q] + share * h_v, v[k])));
        let signal = sample.signal;
        let [in_q, in_v, in_integral] = drive.slopes(sample);
        if !*is_order_one {
            let stiffness = (h * in_integral - in_q).max(0.0);
            *weights = Weights::new(h, stiffness, (-in_v).max(0.0), inertia[k]);
        }
        let ahead = weights.position(q[drive.q], h_v, h_v);
        terms[0] = match drive.drive {
            Drive::Motion(_) if at.is_first => {
                u_prescribed[k] = h * signal.second_derivative;
                0.0
            }
            Drive::Motion(_) => {
                u_prescribed[k] = if *is_order_one { (signal.value - xi[k]) / h } else { signal.derivative } - v[k];
                0.0
            }
            Drive::Effort(_) | Drive::Pull { .. } | Drive::Servo { .. } => drive.effort(sample, ahead, v[k], 0.0),
            Drive::Pid { .. } => {
                let error = weights.eta * h * (signal.value - ahead);
                let integral = integrals.next().map_or(0.0, |integral| integral + error);
                drive.effort(sample, ahead, v[k], integral)
            }
        };
        // gains of the wrong sign stay explicit, so that A is positive definite
        let of_position = (weights.eta * h * in_integral - in_q).max(0.0);
        terms[1] = h * weights.beta * of_position + weights.theta * (-in_v).max(0.0);
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

/// Replaces the bias in r by the bias at the mean of `v` and `v1`, both at the middle of the step. Returns whether r
/// has changed.
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
        Some(loops) => loops.bias(compiled, work, start.middle, v_mean, mean_bias)?,
        None => matrix.bias(compiled, work, start.middle, v_mean, mean_bias)?,
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

//! (1) as a residual, for steppers that solve it together with their own equations (a DAE solver).
//!
//! ```text
//! ξ̇ − v = 0    S_iᵀ f_i(q, v, a) + armature a_i + κ_i N(f_i) − τ_i = 0    ṡ − rates = 0    İ − (target − q) = 0
//! ```
//!
//! This takes inverse dynamics only: no evaluation solves for accelerations.

use super::Dynamics;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::jacobian::{assemble_residual, load_rows};
use super::point::Point;
use crate::model::{Compiled, Model};
use bristle_integrate::EvalError;
use bristle_integrate::linear::Matrix;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{JointKind, Row, Work, mass_rows, rnea, rnea_derivatives_rows};
use nalgebra::DMatrix;

/// Scratch of the residual form.
#[derive(Debug, Clone)]
pub(crate) struct ResidualWork {
    /// Residual of (1); `n_v`.
    pub residual: Vec<f64>,
    /// Rates of the unknowns.
    rates: Vec<f64>,
    /// Rows of the derivatives, by velocity.
    row_list: Vec<Row>,
}

impl ResidualWork {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, inputs) = (compiled.model.tree.n_v, &compiled.inputs);
        let n_unknowns = 2 * n_v + 2 * inputs.contacts.len() + inputs.drives.len();
        let rates = Vec::with_capacity(n_unknowns);
        Self { residual: vec![0.0; n_v], rates, row_list: Vec::with_capacity(n_v) }
    }
}

impl Dynamics {
    /// F(t, y, y') into `r`.
    pub(crate) fn fill_residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        let n = self.coordinates.active.len();
        self.scatter(t, y);
        self.place().map_err(|e| self.record_failure(e))?;
        self.take_accelerations(dy);
        self.efforts(t);
        let found = if self.is_constrained() {
            self.unbalanced_with_multipliers()
        } else if self.has_loaded_loops() {
            self.unbalanced_in_loops()
        } else {
            let Self { compiled, point, work, residual, .. } = self;
            unbalanced(compiled, point, work, &mut residual.residual).map(drop)
        };
        found.map_err(|e| self.record_failure(e))?;
        if self.coordinates.dependent.is_empty() {
            self.coordinates.active.iter().enumerate().for_each(|(k, &i)| r[n + k] = self.residual.residual[i]);
        } else {
            // Tᵀ F
            r[n..2 * n].fill(0.0);
            for v in 0..self.point.v.len() {
                self.coordinates.unknowns_of(v).for_each(|(k, c)| r[n + k] += c * self.residual.residual[v]);
            }
        }
        // the other rows as in the explicit form
        let (head, tail) = r.split_at_mut(2 * n);
        let mut rates = std::mem::take(&mut self.residual.rates);
        rates.resize(dy.len(), 0.0);
        let filled = self.fill_rates(t, &mut rates);
        for k in 0..n {
            head[k] = dy[k] - rates[k];
        }
        tail.iter_mut().zip(&dy[2 * n..]).zip(&rates[2 * n..]).for_each(|((r, dy), rate)| *r = dy - rate);
        self.residual.rates = rates;
        self.fill_closures(r);
        filled
    }

    /// The same with the constraint forces of closed loops, which friction under reactions reads.
    fn unbalanced_in_loops(&mut self) -> Result<(), Failure> {
        self.find_closure_forces()?;
        self.apply_closure_forces()?;
        let Self { compiled, point, work, residual, .. } = self;
        let result = unbalanced(compiled, point, work, &mut residual.residual).map(drop);
        self.apply_wrenches();
        result
    }

    /// ∂F/∂y and ∂F/∂y', or `false` where no analytic ones are available.
    pub(crate) fn fill_residual_jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        if !self.compiled.model.free.is_empty() || self.loops.is_any() {
            return Ok(false);
        }
        self.scatter(t, y);
        self.take_accelerations(dy);
        self.place().map_err(|e| self.record_failure(e))?;
        self.efforts(t);
        let mut matrices = self.take_matrices();
        let Self { compiled, scheme, state, point, coordinates, work, newton, residual, .. } = self;
        let result = derive_residual(compiled, point, work, newton, residual, &mut matrices);
        if result.is_ok() {
            assemble_residual((compiled, scheme), state, point, coordinates, t, &matrices, [df_dy, df_ddy]);
        }
        self.derivatives = Some(matrices);
        result.map_err(|e| self.record_failure(e))?;
        Ok(true)
    }
}

/// Residual of (1) at the accelerations in `a`, with the reaction loads there; `residual` itself.
pub(super) fn unbalanced<'r>(
    compiled: &Compiled,
    point: &mut Point,
    work: &mut Work,
    residual: &'r mut [f64],
) -> Result<&'r [f64], Failure> {
    let Point { q, v, a, tau, motor, force, load, friction, kappa, .. } = point;
    residual.copy_from_slice(rnea(&compiled.model.tree, work, q, v, a)?);
    residual.iter_mut().zip(&*tau).for_each(|(residual, tau)| *residual -= tau);
    for &c in &compiled.model.reaction_loaded {
        let contact = &compiled.inputs.contacts[c];
        let Some(bearing) = contact.bearing else { continue };
        force[c] = bearing.reaction(work, contact.joint, motor[contact.v], a[contact.v]);
        load[c] = bearing.normal_load(&force[c], kappa[c]).0;
        friction[c] = kappa[c] * load[c];
        residual[contact.v] += friction[c];
    }
    Ok(residual)
}

/// Pᵀ∂f/∂q, Pᵀ∂f/∂v and M_P.
pub(super) fn derive_residual(
    compiled: &Compiled,
    point: &mut Point,
    work: &mut Work,
    newton: &mut NewtonWork,
    ResidualWork { residual, row_list, .. }: &mut ResidualWork,
    [dq, dv, mass]: &mut [DMatrix<f64>; 3],
) -> Result<(), Failure> {
    unbalanced(compiled, point, work, residual)?;
    let rows = load_rows(compiled, point, work, &mut newton.rows, 1.0);
    let (Model { tree, joint_of, .. }, Point { q, v, a, .. }) = (&*compiled.model, &*point);
    row_list.clear();
    row_list.extend(joint_of.iter().enumerate().map(|(k, &body)| {
        // a free joint takes all six components of its force
        let is_free = tree.kinds[body] == JointKind::Free;
        Row { body, projector: if is_free { Motion::unit(k - tree.v_index[body]) } else { rows[body] } }
    }));
    rnea_derivatives_rows(tree, work, q, v, a, row_list, dq, dv)?;
    mass_rows(tree, work, q, rows, mass)?;
    Ok(())
}

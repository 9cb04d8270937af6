//! (1) differentiated once: accelerations are unknowns, and their rates follow from one sweep.
//!
//! ```text
//! P_iᵀ ḟ_i + armature q⃛_i = τ̇_i − κ̇_i N_i           P_i = S_i + κ_i n̂(f_i)           f from (q, v, a)
//! ```
//!
//! Linear in q⃛: no iteration. This is index reduction by differentiation. Accelerations are solved for at the start
//! and after every event; in between (1) is an invariant. Its drift is checked after every step, and a projection
//! removes it where it exceeds half of the relative tolerance (1e-6 without error control). Efforts set by a caller
//! are constant between calls.

use super::Dynamics;
use super::efforts::effort_rates;
use super::failure::Failure;
use super::point::Point;
use super::scheme::{Scheme, TIGHT};
use super::state::State;
use crate::constraint::Constraints;
use crate::constraint::coordinates::Coordinates;
use crate::model::{Compiled, Model};
use bristle_integrate::EvalError;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Work, jerk_rows, rnea_rate};

/// Accepted drift, in units of the relative tolerance.
const DRIFT: f64 = 0.5;

/// Scratch of the differentiated equations.
#[derive(Debug, Clone)]
pub(crate) struct JerkWork {
    /// q⃛, and the rates of the efforts; `n_v`.
    pub jerk: Vec<f64>,
    pub effort_rate: Vec<f64>,
}

impl JerkWork {
    pub fn new(n_v: usize) -> Self {
        Self { jerk: vec![0.0; n_v], effort_rate: vec![0.0; n_v] }
    }
}

impl Dynamics {
    /// q⃛ of the joints that can move, at (q, v, a), into `dy`. Needs `efforts`.
    pub(crate) fn fill_jerks(&mut self, t: f64, dy: &mut [f64]) -> Result<(), EvalError> {
        self.jerks(t).map_err(|failure| self.record_failure(failure))?;
        for (dy, &i) in dy.iter_mut().zip(&self.coordinates.active) {
            *dy = self.jerk.jerk[i];
        }
        Ok(())
    }

    /// q⃛ of all joints.
    fn jerks(&mut self, t: f64) -> Result<(), Failure> {
        self.diagnostics.counters.n_jerks += 1;
        if self.loops.is_any() {
            return self.jerks_in_loops(t);
        }
        let Self { compiled, scheme, state, point, coordinates, constraints, work, newton, jerk, .. } = self;
        let scratch = (work, &mut *newton.rows, jerk);
        match sweep((compiled, scheme), state, point, (&*coordinates, constraints), scratch, t)? {
            true => Ok(()),
            false => self.jerk_densely(t),
        }
    }

    /// Relative residual of (1) at (q, v, a).
    pub(crate) fn drift(&mut self, t: f64) -> Result<f64, Failure> {
        self.place()?;
        self.efforts(t);
        if self.loops.is_any() {
            return self.drift_in_loops();
        }
        self.read_reactions()?;
        if self.compiled.model.reaction_loaded.is_empty()
            && self.compiled.model.prescribed.is_empty()
            && !self.coordinates.is_stuck
            && !self.constraints.is_coupled()
        {
            let Self { compiled, work, required, point: Point { q, v, a, .. }, .. } = self;
            required.copy_from_slice(bristle_multibody::rnea(&compiled.model.tree, work, q, v, a)?);
        }
        let Self { compiled, point, coordinates, required, .. } = self;
        Ok(relative_residual(compiled, point, &coordinates.active, required))
    }

    /// Checks the drift after a step to (t, y), and projects where it is too large; whether it did.
    pub(crate) fn correct_drift(&mut self, t: f64) -> Result<bool, Failure> {
        let drift = self.drift(t)?;
        self.diagnostics.counters.drift = self.diagnostics.counters.drift.max(drift);
        let most = if self.scheme.is_controlled { DRIFT * 100.0 * self.scheme.accuracy } else { 1e-6 };
        if drift <= most {
            return Ok(false);
        }
        self.efforts(t);
        self.solve_accelerations(TIGHT)?;
        self.diagnostics.counters.n_projections += 1;
        Ok(true)
    }
}

/// q⃛ of all joints of a tree into `jerk`, with the loads at (q, v, a) in `point`; whether all pivots are positive.
fn sweep(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    point: &mut Point,
    (coordinates, constraints): (&Coordinates, &mut Constraints),
    (work, rows, JerkWork { jerk, effort_rate }): (&mut Work, &mut [Motion], &mut JerkWork),
    t: f64,
) -> Result<bool, Failure> {
    let Model { tree, prescribed, reaction_loaded, joint_of, .. } = &*compiled.model;
    jerk.fill(0.0);
    prescribed.iter().zip(&point.drive_jerk).for_each(|(joint, given)| jerk[joint.v] = *given);
    // reactions, and their rates with the given jerks
    rnea_rate(tree, work, &point.q, &point.v, &point.a, jerk)?;
    for &c in reaction_loaded {
        let contact = &compiled.inputs.contacts[c];
        let Some(bearing) = contact.bearing else { continue };
        let kappa = point.kappa[c];
        point.force[c] = bearing.reaction(work, contact.joint, point.motor[contact.v], point.a[contact.v]);
        let (n, n_hat) = bearing.normal_load(&point.force[c], kappa);
        point.load[c] = n;
        point.friction[c] = kappa * n;
        rows[contact.joint] = bearing.set_row(&n_hat, kappa, (tree, work), (contact.joint, contact.v));
    }
    effort_rates(compiled, scheme, state, point, t, effort_rate);
    match jerk_rows(tree, work, effort_rate, rows, &coordinates.locked) {
        Ok(jerks) => jerk.copy_from_slice(jerks),
        Err(bristle_multibody::Error::Jam { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    if !coordinates.dependent.is_empty() {
        // rates of the dependent accelerations due to prescribed joints alone
        prescribed.iter().zip(&point.drive_jerk).for_each(|(joint, given)| jerk[joint.v] = *given);
        constraints.factor_each(coordinates, tree, work, joint_of)?;
        constraints.correct_each(coordinates, joint_of, jerk, effort_rate);
    }
    Ok(true)
}

/// Largest residual of (1) relative to the largest effort, where `required` are the efforts that `a` requires. Adds
/// reaction-loaded friction to `tau`, which does not contain it.
fn relative_residual(compiled: &Compiled, point: &mut Point, active: &[usize], required: &[f64]) -> f64 {
    let Point { tau, kappa, load, friction, .. } = point;
    let (mut worst, mut scale) = (0.0_f64, f64::MIN_POSITIVE);
    for &c in &compiled.model.reaction_loaded {
        tau[compiled.inputs.contacts[c].v] -= kappa[c] * load[c];
        scale = scale.max(friction[c].abs());
    }
    for &i in active {
        worst = worst.max((tau[i] - required[i]).abs());
        scale = scale.max(tau[i].abs()).max(required[i].abs());
    }
    worst / scale
}

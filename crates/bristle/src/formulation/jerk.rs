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

use super::diagnostics::Failure;
use super::machine::{Machine, TIGHT};
use super::point::Point;
use crate::model::Model;
use bristle_integrate::EvalError;
use bristle_multibody::{axis_row, jerk_rows, rnea_rate};

/// Accepted drift, in units of the relative tolerance.
const DRIFT: f64 = 0.5;

impl Machine {
    /// q⃛ of the joints that can move, at (q, v, a), into `dy`. Needs `efforts`.
    pub(super) fn fill_jerks(&mut self, t: f64, dy: &mut [f64]) -> Result<(), EvalError> {
        self.jerks(t).map_err(|failure| self.trouble(failure))?;
        for (dy, &i) in dy.iter_mut().zip(&self.coordinates.active) {
            *dy = self.b[i];
        }
        Ok(())
    }

    /// q⃛ into `b`.
    fn jerks(&mut self, t: f64) -> Result<(), Failure> {
        self.diagnostics.counters.n_jerks += 1;
        self.b.fill(0.0);
        for (prescribed, jerk) in self.compiled.model.prescribed.iter().zip(&self.point.drive_jerk) {
            self.b[prescribed.v] = *jerk;
        }
        let Self { compiled, work, b, point: Point { q, v, a, .. }, .. } = self;
        let model = &compiled.model.tree;
        // reactions, and their rates with the given jerks
        rnea_rate(model, work, q, v, a, b)?;
        for &c in &compiled.model.reaction_loaded {
            let contact = &compiled.inputs.contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            self.point.force[c] = work.reaction(contact.joint);
            let (n, n_hat) = bearing.normal_load(&self.point.force[c]);
            self.point.load[c] = n;
            self.point.friction[c] = self.point.kappa[c] * n;
            self.rows[contact.joint] = axis_row(model, contact.joint) + n_hat * self.point.kappa[c];
        }
        self.effort_rates(t);
        let Self { compiled, work, b, rows, constraints, x, coordinates, .. } = self;
        let Model { joint_of, .. } = &*compiled.model;
        let is_jam = match jerk_rows(&compiled.model.tree, work, b, rows, &coordinates.locked) {
            Ok(jerks) => {
                x.copy_from_slice(jerks);
                false
            }
            Err(bristle_multibody::Error::Jam { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        if is_jam {
            self.jerk_densely(t)?;
            self.b.copy_from_slice(&self.x);
            return Ok(());
        }
        if !coordinates.dependent.is_empty() {
            // rates of the dependent accelerations due to prescribed joints alone
            for (prescribed, jerk) in compiled.model.prescribed.iter().zip(&self.point.drive_jerk) {
                x[prescribed.v] = *jerk;
            }
            constraints.factor_each(coordinates, &compiled.model.tree, work, joint_of)?;
            constraints.correct_each(coordinates, joint_of, x, b);
        }
        b.copy_from_slice(x);
        Ok(())
    }

    /// Relative residual of (1) at (q, v, a).
    pub(super) fn drift(&mut self, t: f64) -> Result<f64, Failure> {
        self.place()?;
        self.efforts(t);
        self.read_reactions()?;
        if self.compiled.model.reaction_loaded.is_empty()
            && self.compiled.model.prescribed.is_empty()
            && !self.coordinates.is_stuck
            && !self.constraints.is_coupled()
        {
            let Self { compiled, work, b, point: Point { q, v, a, .. }, .. } = self;
            b.copy_from_slice(bristle_multibody::rnea(&compiled.model.tree, work, q, v, a)?);
        }
        // reaction-loaded friction, which `tau` does not contain
        for &c in &self.compiled.model.reaction_loaded {
            let contact = &self.compiled.inputs.contacts[c];
            self.point.tau[contact.v] -= self.point.kappa[c] * self.point.load[c];
        }
        let (mut worst, mut scale) = (0.0_f64, f64::MIN_POSITIVE);
        for &i in &self.coordinates.active {
            worst = worst.max((self.point.tau[i] - self.b[i]).abs());
            scale = scale.max(self.point.tau[i].abs()).max(self.b[i].abs());
        }
        for &c in &self.compiled.model.reaction_loaded {
            scale = scale.max(self.point.friction[c].abs());
        }
        Ok(worst / scale)
    }

    /// Checks the drift after a step to (t, y), and projects where it is too large; whether it did.
    pub(super) fn correct_drift(&mut self, t: f64) -> Result<bool, Failure> {
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

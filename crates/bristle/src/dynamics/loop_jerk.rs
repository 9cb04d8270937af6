//! The differentiated equations of machines with closed loops.
//!
//! Accelerations a = T a_i + γ are known, and constraint forces λ follow from the rows of the dependent velocities.
//! With P = S + κ n̂ as in `jerk`, J_P as in (11) of `loop_reactions`, and q⃛ = T q⃛_i + γ₂ (see `constraint::loops`),
//!
//! ```text
//! T₀ᵀ (M_P T y − J_Pᵀ λ̇) = T₀ᵀ (τ̇ − κ̇ N − Pᵀ ḟ° − M_P γ₂)          q⃛_i = y                              (15)
//! ```
//!
//! ḟ° are the rates of the reactions at q⃛ = 0 and constant λ, whose wrenches turn with the links: the wrench of a
//! constraint force that is constant in the world has the rate −ω × in the axes of a link. One matrix, that of (11),
//! and no iteration but for λ. Without reaction loads λ̇ has no part in y, since T₀ᵀ Jᵀ is orthogonal to T.

use super::Dynamics;
use super::closed_loops::LoopWork;
use super::efforts::effort_rates;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::jerk::JerkWork;
use bristle_multibody::{axis_row, rnea_rate};

impl Dynamics {
    /// q⃛ of all joints by (15).
    pub(crate) fn jerks_in_loops(&mut self, t: f64) -> Result<(), Failure> {
        // reactions and loads too
        self.find_closure_forces()?;
        self.load_loop_rows(1.0)?;
        let mut scratch = self.take_loop_work();
        let result = self.differentiate_in_loops(t, &mut scratch);
        self.loop_work = Some(scratch);
        self.apply_wrenches();
        result
    }

    fn differentiate_in_loops(&mut self, t: f64, scratch: &mut LoopWork) -> Result<(), Failure> {
        self.apply_closure_forces()?;
        let Self {
            compiled,
            scheme,
            state,
            point,
            work,
            newton: NewtonWork { rows, residual: rest, zero, .. },
            jerk: JerkWork { jerk, effort_rate },
            coordinates,
            chart,
            loops,
            ..
        } = self;
        let (model, contacts) = (&*compiled.model, &compiled.inputs.contacts);
        let tree = &model.tree;
        loops.apply_rates(model, work, &point.closure_force)?;
        rest.copy_from_slice(rnea_rate(tree, work, &point.q, &point.v, &point.a, zero)?);
        for &c in &model.reaction_loaded {
            let contact = &contacts[c];
            point.friction[c] = point.kappa[c] * point.load[c];
            let n_hat = rows[contact.joint] - axis_row(tree, contact.joint);
            rest[contact.v] += n_hat.dot(&work.force_rate(contact.joint));
        }
        effort_rates(compiled, scheme, state, point, t, effort_rate);
        rest.iter_mut().zip(&*effort_rate).for_each(|(rest, rate)| *rest = rate - *rest);

        // the jerks without those of the independent joints
        jerk.fill(0.0);
        model.prescribed.iter().zip(&point.drive_jerk).for_each(|(joint, given)| jerk[joint.v] = *given);
        coordinates.rates(jerk);
        loops.add_jerk_drift(model, work, chart, coordinates, jerk)?;
        self.factor_in_loops(scratch)?;
        let Self {
            newton: NewtonWork { residual: rest, correction: x, .. },
            jerk: JerkWork { jerk, .. },
            coordinates,
            chart,
            ..
        } = self;
        let (n, n_d) = (coordinates.active.len(), chart.dependent.len());
        let LoopWork { mass, lu, y, .. } = scratch;
        y[..n + n_d].fill(0.0);
        for (i, rest) in rest.iter().enumerate() {
            let given: f64 = jerk.iter().enumerate().map(|(j, jerk)| mass[(i, j)] * jerk).sum();
            chart.base.unknowns_of(i).for_each(|(r, t_r)| y[r] += t_r * (rest - given));
        }
        lu.solve(&mut y[..n + n_d]);
        x.fill(0.0);
        coordinates.active.iter().zip(&*y).for_each(|(&i, y)| x[i] = *y);
        coordinates.rates(x);
        jerk.iter_mut().zip(x).for_each(|(jerk, x)| *jerk += *x);
        Ok(())
    }

    /// Relative residual of (1) at the accelerations in `a`, with the constraint forces that suit them.
    pub(crate) fn drift_in_loops(&mut self) -> Result<f64, Failure> {
        self.find_closure_forces()?;
        let mut scratch = self.take_loop_work();
        let result = self.apply_closure_forces().map_err(Failure::from);
        let result = result.and_then(|()| self.residual_in_loops(1.0, &mut scratch, |_| true));
        self.loop_work = Some(scratch);
        self.apply_wrenches();
        result
    }
}

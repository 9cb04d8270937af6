//! Impacts on stops: the derivative of the velocities after in those before.
//!
//! ```text
//! x⁺ = R(x⁻, p):       q⁺ = q⁻,       v⁺ = v⁻ − M⁻¹ dᵀ W⁻¹ (1 + e) d v⁻                                       (1)
//! ```
//!
//! with the stops that act in the impact of the run, their directions d, W = d M⁻¹ dᵀ and Newton's restitution e, 0
//! where a sequence of bounces is summed. Which stops act is an inequality that holds beside the parameters of the run
//! too, where one joint alone meets its stop: others that lie on theirs go on with the same impulses or leave. Joints
//! that meet their stops at one instant do so one after the other with other parameters, in either order: there is no
//! derivative then.
//!
//! δx⁻ + f⁻ δt* lies in the surface of the stop: the joint is at its bound. R is linear in v, and smooth in q; its
//! derivative is a central difference of (1), in the *probe*, and in p of the *twins*.

use super::{Refusal, Tangents, Twin};
use crate::dynamics::Failure;
use crate::model::End;
use crate::stick_slip::machine::Machine;
use bristle_integrate::EvalError;
use nalgebra::{DMatrix, DVector};

impl Tangents {
    /// Whether a joint starts at rest on a stop that is elsewhere with other parameters: it starts off the stop there,
    /// or outside its range.
    pub(crate) fn is_start_on_moving_stop(&self, machine: &Machine) -> bool {
        let closed = |c: usize| machine.dynamics.state.stops[c].closed;
        let bound = |machine: &Machine, c: usize, end: End| {
            machine.dynamics.compiled.inputs.contacts[c].stops.map(|stops| stops.bound(end))
        };
        let contacts = machine.dynamics.compiled.inputs.contacts.iter().enumerate();
        contacts.filter_map(|(c, contact)| Some((c, contact, closed(c)?))).any(|(c, contact, end)| {
            let is_moving = |twin: &Twin| bound(&twin.plus, c, end) != bound(&twin.minus, c, end);
            self.dx.iter().any(|dx| dx[contact.v] != 0.0) || self.twins.iter().any(is_moving)
        })
    }

    /// R_x (δx⁻ + f⁻ δt*) + R_p in place of δx⁻, if the last event of `machine` was an impact; whether it was.
    pub(super) fn strike(&mut self, machine: &Machine) -> Result<bool, Refusal> {
        let Some(n_struck) = machine.impact.n_struck(machine.dynamics.compiled()) else { return Ok(false) };
        if n_struck > 1 || self.before.n_fired > 1 {
            return Err(Refusal::Simultaneous);
        }
        let acting: Vec<(usize, End, bool)> = machine.impact.acting().collect();
        let n_v = self.probe.dynamics.point.v.len();
        let x = std::mem::take(&mut self.before.x);
        for p in 0..self.dx.len() {
            let shift = self.before.shift[p];
            self.dx[p].iter_mut().zip(&self.before.rates).for_each(|(dx, rate)| *dx += rate * shift);
            let along = self.dx[p].clone();
            let reach = self.reach(&along);
            let mut after = vec![0.0; n_v];
            let at = |by: f64| -> Vec<f64> { x.iter().zip(&along).map(|(x, along)| x + by * along).collect() };
            for side in [reach, -reach].into_iter().filter(|reach| *reach != 0.0) {
                let v = self.probe.struck(&at(side), &acting)?;
                after.iter_mut().zip(v).for_each(|(after, v)| *after += v / (2.0 * side));
            }
            let twin = &mut self.twins[p];
            for (twin, width) in [(&mut twin.plus, twin.width), (&mut twin.minus, -twin.width)] {
                let v = twin.struck(&x, &acting)?;
                after.iter_mut().zip(v).for_each(|(after, v)| *after += v / width);
            }
            self.dx[p][n_v..2 * n_v].copy_from_slice(&after);
        }
        Ok(true)
    }
}

impl Machine {
    /// Velocities after an impact at x in which the given stops act: (1).
    fn struck(&mut self, x: &[f64], acting: &[(usize, End, bool)]) -> Result<Vec<f64>, Refusal> {
        let failed = |_: Failure| Refusal::Failed(EvalError::Retry);
        self.put_full(x);
        let responses = self.impulse_responses(acting.iter().map(|&(c, end, _)| (c, end))).map_err(failed)?;
        let contacts = &self.dynamics.compiled.inputs.contacts;
        let mut v = self.dynamics.point.v.clone();
        let n = acting.len();
        let delassus = DMatrix::from_fn(n, n, |i, k| {
            let ((of, end, _), (_, other, _)) = (acting[i], acting[k]);
            end.inward() * other.inward() * responses[k][contacts[of].v]
        });
        let approach = DVector::from_fn(n, |i, _| {
            let (c, end, is_last) = acting[i];
            let e = contacts[c].stops.filter(|_| !is_last).map_or(0.0, |stops| stops.restitution);
            -(1.0 + e) * end.inward() * v[contacts[c].v]
        });
        let impulses = delassus.lu().solve(&approach).ok_or(Refusal::Failed(EvalError::Retry))?;
        for ((&(_, end, _), response), impulse) in acting.iter().zip(&responses).zip(impulses.iter()) {
            v.iter_mut().zip(response).for_each(|(v, response)| *v += end.inward() * impulse * response);
        }
        Ok(v)
    }
}

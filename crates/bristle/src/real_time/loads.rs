//! Normal loads and impulse laws of the contacts during a step.
//!
//! Loads given in time are known beforehand. Reaction loads follow from the accelerations of the step by a fixed-point
//! iteration. The load of a one-way clutch with bristles depends on the side to which they are bent.

use super::impulse_law::ImpulseLaw;
use super::{RealTime, SignalTime, Start, StepError};
use crate::model::{Compiled, Contact};
use crate::signal::{Sample, Signal};
use bristle_friction::{FrictionLaw, State};
use bristle_multibody::{Work, rnea};

/// Relative change of a reaction load at which it has converged.
const LOAD_TOLERANCE: f64 = 1e-9;

/// Relative change of a reaction load in the last iteration above which it is reported.
const UNCONVERGED: f64 = 1e-6;

/// Impulse laws of the contacts and the loads they are made of.
#[derive(Debug, Clone)]
pub(super) struct Contacts {
    pub laws: Vec<ImpulseLaw>,
    /// Normal loads for forward and backward slip at the present iterate, and those in `laws`.
    pub normal: Vec<[f64; 2]>,
    pub normal_in_law: Vec<[f64; 2]>,
    /// Load of the bent bristles at the end of the last step.
    pub bristle_load: Vec<f64>,
    /// Whether a one-way clutch with bristles has changed sides within the step.
    pub has_changed_side: Vec<bool>,
}

impl Contacts {
    /// Makes the impulse law of contact c under its present loads.
    pub fn set_law(&mut self, c: usize, contact: &Contact, start: Start<'_>, h: f64) {
        let slip = contact.arm * contact.rate(start.v);
        self.laws[c] = ImpulseLaw::new(contact, h, start.modes[c], slip, start.bristles[c], self.normal[c]);
        self.normal_in_law[c] = self.normal[c];
    }

    /// States of contact c at the end of a step with rate ω.
    pub fn state_after(&self, c: usize, contact: &Contact, omega: f64, state: State) -> State {
        if contact.law.n_states() == 0 || contact.is_frozen(self.normal[c][0], 0.0) {
            return state;
        }
        self.laws[c].state_after(&contact.law, omega, state)
    }
}

/// Signal of a load, clamped to its range.
pub(super) fn load_signal(signal: Option<&Signal>, at: SignalTime) -> Sample {
    signal.map_or(Sample::default(), |signal| signal.sample_clamped(at.t, at.piece))
}

/// Loads of a contact for forward and backward slip; bristles have the load of the side to which they are bent, and a
/// reaction load starts at `last`.
pub(super) fn normal_loads(contact: &Contact, last: f64, is_bent_backward: bool, at: SignalTime) -> [f64; 2] {
    if contact.bearing.is_some() {
        return [last; 2];
    }
    let signal = load_signal(contact.signal(), at);
    let towards = |is_backward| contact.normal_towards(is_backward, &signal).0;
    if contact.law.n_states() == 0 { [towards(false), towards(true)] } else { [towards(is_bent_backward); 2] }
}

/// Gives one-way clutches whose bristles end the step on the other side the load of that side, once in a step. Returns
/// whether there were none.
///
/// A clutch that was bent backward, with the larger load, and moves forward goes further forward with the smaller load.
/// A clutch that was bent forward and is pushed back may be stopped before the turn by the larger load; then it ends
/// the step within rounding of that side.
pub(super) fn update_sides(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, at: SignalTime) -> bool {
    let RealTime { contacts, solver, .. } = rt;
    let mut agree = true;
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        if !contact.bends_two_ways() || contacts.has_changed_side[c] {
            continue;
        }
        let state = start.bristles[c];
        let is_backward = contacts.state_after(c, contact, solver.states[c].omega, state)[0] < 0.0;
        if is_backward != (state[0] < 0.0) {
            contacts.has_changed_side[c] = true;
            contacts.normal[c] = normal_loads(contact, start.loads[c], is_backward, at);
            agree = false;
        }
    }
    agree
}

/// Reaction loads from the accelerations of the step. Returns whether they agree with the loads it was solved with. In
/// the last iteration those loads stay, and the ones that had not converged are reported.
pub(super) fn update_loads(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    is_last: bool,
) -> Result<bool, StepError> {
    let RealTime { contacts, end, .. } = rt;
    rnea(&compiled.model.tree, work, start.q, start.v, &end.a)?;
    let mut is_converged = true;
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let Some(bearing) = contact.bearing else { continue };
        let n = bearing.normal_load(&work.reaction(contact.joint)).0;
        let last = contacts.normal[c][0];
        let change = (n - last).abs();
        // a NaN has not converged
        is_converged &= change <= LOAD_TOLERANCE * n;
        if !is_last {
            contacts.normal[c] = [n; 2];
        } else if change > UNCONVERGED * n.max(last) {
            end.unconverged.push((c, change / n.max(last)));
        }
    }
    Ok(is_converged)
}

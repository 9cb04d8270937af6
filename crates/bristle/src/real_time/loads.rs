//! Normal loads and impulse laws of the contacts during a step.
//!
//! Loads given in time are known beforehand. Reaction loads follow from the accelerations of the step by a fixed-point
//! iteration. The load of a one-way clutch with bristles depends on the side to which they are bent.

use super::assemble::StepEquations;
use super::impulse_law::ImpulseLaw;
use super::ledger::lacking_impulses;
use super::{RealTime, SignalTime, Start, StepError};
use crate::model::{Compiled, Contact};
use crate::signal::{Sample, Signal};
use bristle_friction::{FrictionLaw, State};
use bristle_multibody::{Work, rnea};

/// Relative change of a reaction load at which it has converged.
const LOAD_TOLERANCE: f64 = 1e-9;

/// Relative change of a reaction load in the last iteration above which it is reported.
const UNCONVERGED: f64 = 1e-6;

/// Largest slope of a load in itself for which the secant is trusted.
const MAX_SLOPE: f64 = 0.95;

/// Impulse laws of the contacts and the loads they are made of.
#[derive(Debug, Clone)]
pub(super) struct Contacts {
    pub laws: Vec<ImpulseLaw>,
    /// Normal loads for forward and backward slip at the present iterate, and those in `laws`.
    pub normal: Vec<[f64; 2]>,
    pub normal_in_law: Vec<[f64; 2]>,
    /// The load that a contact had in the last iteration, and the one that followed from it.
    pub iterate: Vec<[f64; 2]>,
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

/// Effort of drives and callers on velocity `v`, as it acts in the step.
fn motor_effort(equations: &StepEquations, compiled: &Compiled, start: Start<'_>, v1: &[f64], v: usize, h: f64) -> f64 {
    let (mut effort, mut integrals) = (compiled.inputs.effort[v], start.integrals.iter());
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let integral = if drive.has_integral() { integrals.next().copied() } else { None };
        if drive.v == v {
            effort += equations.drive_effort(compiled, start, k, (v1, h), integral);
        }
    }
    let limit = compiled.inputs.effort_limits.iter().position(|at| at.v == v);
    limit.and_then(|k| equations.limited.fixed(k)).unwrap_or(effort)
}

/// Reaction loads from the accelerations of the step. Returns whether they agree with the loads it was solved with. In
/// the last iteration those loads stay, and the ones that had not converged are reported.
pub(super) fn update_loads(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    (h, is_last): (f64, bool),
) -> Result<bool, StepError> {
    if rt.loops.is_some() {
        lacking_impulses(rt, compiled, h)?;
    }
    let RealTime { contacts, end, equations, solver, loops, impulse_residual, .. } = rt;
    match loops {
        Some(loops) => {
            loops.find_forces(impulse_residual, h)?;
            loops.react(compiled, work, start, &end.a)?;
        }
        None => {
            let mean = &mut equations.v_mean;
            mean.iter_mut().zip(start.v).zip(&end.v).for_each(|((mean, v), v1)| *mean = 0.5 * (v + v1));
            rnea(&compiled.model.tree, work, start.middle, mean, &end.a).map(|_| ())?;
        }
    }
    let mut is_converged = true;
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let Some(bearing) = contact.bearing else { continue };
        let v = contact.v;
        let motor = if bearing.is_transmitted() { motor_effort(equations, compiled, start, &end.v, v, h) } else { 0.0 };
        let f = bearing.reaction(work, contact.joint, motor, end.a[v]);
        let is_backward =
            solver.states[c].omega < 0.0 || solver.states[c].omega == 0.0 && solver.states[c].lambda < 0.0;
        let (sides, side) = (bearing.sides(&f), usize::from(is_backward));
        let (n, last) = (sides[side], contacts.normal[c][side]);
        let change = (n - last).abs();
        // a NaN has not converged
        is_converged &= change <= LOAD_TOLERANCE * n;
        if !is_last {
            // secant through the last two iterations: the load of a reducer depends on its own friction
            let [before, found] = contacts.iterate[c];
            let slope = if bearing.is_transmitted() { (n - found) / (last - before) } else { 0.0 };
            let factor = if slope.abs() < MAX_SLOPE { 1.0 / (1.0 - slope) } else { 1.0 };
            contacts.iterate[c] = [last, n];
            contacts.normal[c] = sides;
            if factor != 1.0 {
                contacts.normal[c][side] = (last + (n - last) * factor).max(0.0);
            }
        } else if change > UNCONVERGED * n.max(last) {
            end.unconverged.push((c, change / n.max(last)));
        }
    }
    Ok(is_converged)
}

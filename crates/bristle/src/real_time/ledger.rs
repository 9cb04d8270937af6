//! Constraint forces and energy ledger of a step, at its mean velocities v̄.
//!
//! ```text
//! work   h (τᵀ v̄ + Σ f_ext · v_link)                       drives with their efforts as they have acted
//! heat   h d v̄²,   λ ω̄ − N (E(s₁) − E(s₀))                E = s²/(2σ₀); none of dry friction that stops its slip or
//!        turns it round in the step: there λ ω̄ has either sign, and the balance keeps it
//!        −½ P d (v₀ + v₁) of stops, and λ (ω₀ + ω)/2 of contacts in the step of an impact
//! load   N₁ E(s₁) − N₀ E(s₀) − N (E(s₁) − E(s₀))          N₀, N₁ the loads of the bristles before and after
//!        −N (E(s₁) − E(s₀)) where N is a reaction: the stored energy is added when the ledger is read
//! ```

use super::factor::dot_all;
use super::loads::{Contacts, load_signal};
use super::{End, RealTime, SignalTime, Start, StepError};
use crate::model::Compiled;
use bristle_friction::FrictionLaw;
use bristle_multibody::{Error, Poses, Work, kinematics, point_velocity, poses};
use nalgebra::Vector3;

/// Impulses that (3) lacks in all velocities: those of couplings, loops and prescribed motions.
pub(super) fn lacking_impulses(rt: &mut RealTime, compiled: &Compiled, h: f64) -> Result<(), Error> {
    let RealTime { equations, solver, end, impulse_residual: residual, .. } = rt;
    equations.matrix.multiply_all(compiled, &end.change, residual)?;
    residual.iter_mut().zip(&equations.r).for_each(|(residual, r)| *residual -= h * r);
    for (contact, state) in compiled.inputs.contacts.iter().zip(&solver.states) {
        contact.take(residual, -state.impulse());
    }
    Ok(())
}

/// Forces of constraints and prescribed motions: the residual of the equations of motion in the rows of dependent and
/// prescribed velocities.
pub(super) fn constraint_forces(rt: &mut RealTime, compiled: &Compiled, h: f64) -> Result<(), StepError> {
    if rt.coordinates.prescribed.is_empty() && rt.coordinates.couplings.is_empty() {
        return Ok(());
    }
    lacking_impulses(rt, compiled, h)?;
    let RealTime { coordinates, end, loops, impulse_residual: residual, .. } = rt;
    for (effort, joint) in end.prescribed_effort.iter_mut().zip(&coordinates.prescribed) {
        let through_dependent = coordinates.dependent.iter().map(|dependent| {
            let factor = dependent.of.iter().find(|term| term.0 == joint.v).map_or(0.0, |term| term.1);
            factor * residual[dependent.v]
        });
        *effort = (residual[joint.v] + through_dependent.sum::<f64>()) / h;
    }
    if let Some(loops) = loops.as_deref_mut().filter(|_| !coordinates.couplings.is_empty()) {
        loops.find_forces(residual, h)?;
    }
    for (k, force) in end.constraint_force.iter_mut().enumerate() {
        let parts = coordinates.couplings.iter().map(|dependent| {
            let part = dependent.from.iter().find(|term| term.0 == k).map_or(0.0, |term| term.1);
            part * residual[dependent.v]
        });
        *force = parts.sum::<f64>() / h;
    }
    compiled.model.remove_transferred_force(&end.a, &mut end.constraint_force);
    Ok(())
}

/// Adds work, heat and work of changing loads over the step to `quad`.
pub(super) fn add_energies(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
    quad: &mut [f64],
) -> Result<(), Error> {
    let RealTime { coordinates, equations, contacts, solver, stops, end, poses: places, .. } = rt;
    let Contacts { normal, bristle_load, .. } = contacts;
    let End { v: v1, mean, bristles, prescribed_effort, .. } = &*end;
    // work of wrenches, of efforts set by the caller, of prescribed motions, of drives
    quad[0] += h * wrench_power(compiled, work, places, start.middle, mean)?;
    quad[0] += h * (dot_all(&compiled.inputs.effort, mean) + dot_all(&compiled.inputs.offset, mean));
    let prescribed = coordinates.prescribed.iter().zip(prescribed_effort);
    quad[0] += h * prescribed.map(|(joint, effort)| effort * mean[joint.v]).sum::<f64>();
    let mut integrals = start.integrals.iter();
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let integral = if drive.has_integral() { integrals.next().copied() } else { None };
        let effort = equations.drive_effort(compiled, start, k, (v1, h), integral);
        equations.limited.drives[k][0] = effort;
        quad[0] += h * effort * mean[drive.v];
    }
    // the part of their efforts that does not act
    for (k, limit) in compiled.inputs.effort_limits.iter().enumerate() {
        let Some(acting) = equations.limited.fixed(k) else { continue };
        let of_drive = limit.drive.map_or(0.0, |drive| equations.limited.drives[drive][0]);
        quad[0] -= h * (compiled.inputs.effort[limit.v] + of_drive - acting) * mean[limit.v];
    }
    // heat of dampers
    let heat = &mut quad[2..];
    for d in &compiled.inputs.dampers {
        let at = compiled.model.heat_of_joint(d.joint);
        heat[at] += h * d.damping * mean[d.v] * mean[d.v];
    }
    for s in &compiled.model.coupled.springs {
        let rate = mean[s.a] - mean[s.b];
        heat[compiled.model.heat_of_element(s.element)] += h * s.damping * rate * rate;
    }
    // heat of contacts, energy of bristles
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let (state, n) = (solver.states[c], normal[c][0]);
        // dry friction that stops its slip or turns it round in the step may have either sign
        let is_mixed = contact.is_event_driven() && (state.omega == 0.0 || state.omega * contact.rate(start.v) < 0.0);
        // in the step of an impact velocities jump, and so may bristles: all impulses act at mean velocities
        let rate = match equations.is_order_one {
            _ if stops.is_impact => 0.5 * (contact.rate(start.v) + state.omega),
            true => state.omega,
            false if is_mixed => 0.0,
            false => contact.rate(mean),
        };
        let mut dissipated = state.lambda * rate;
        if contact.law.n_states() > 0 {
            let (before, after) =
                (contact.law.stored_energy(start.bristles[c]), contact.law.stored_energy(bristles[c]));
            let stored = n * (after - before);
            dissipated -= stored;
            quad[1] -= stored;
            if contact.bearing.is_none() {
                let signal = load_signal(contact.signal(), at);
                let load = contact.normal_towards(bristles[c][0] < 0.0, &signal).0;
                quad[1] += load * after - bristle_load[c] * before;
                bristle_load[c] = load;
            }
        }
        // a stop acts at the mean velocity of its impact
        dissipated += 0.5 * state.stop * (start.v[contact.v] + v1[contact.v]);
        quad[2 + compiled.model.heat_of(contact)] += dissipated;
    }
    Ok(())
}

/// Power of the wrenches that callers apply, at positions `q` and velocities `v`.
fn wrench_power(compiled: &Compiled, work: &mut Work, places: &mut Poses, q: &[f64], v: &[f64]) -> Result<f64, Error> {
    let model = &compiled.model.tree;
    if compiled.inputs.wrenches.is_empty() {
        return Ok(0.0);
    }
    kinematics(model, work, q, v)?;
    poses(model, work, places)?;
    let mut power = 0.0;
    for w in &compiled.inputs.wrenches {
        let rotation = places.link(model, w.body)?.rotation;
        let velocity = point_velocity(model, work, places, w.body, &Vector3::zeros())?;
        // velocities have world axes, wrenches those of the link
        power += velocity.linear().dot(&(rotation * w.wrench.force()));
        power += velocity.angular().dot(&(rotation * w.wrench.moment()));
    }
    Ok(power)
}

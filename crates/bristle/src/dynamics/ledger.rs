//! Energy ledger: stored energies, work and heat.
//!
//! The quadratures are integrated by the method of the motion: first the work of efforts, drives and external
//! wrenches, Ẇ = τᵀ v + Σ f_ext · v_link; then the energy that changing loads put into bristles, Σ ½ Ṅ s²/σ₀; then
//! the heat of each joint with a damper or friction, Q̇ = d v² + N · (dissipated power of the law). The spring of a
//! `Pull` belongs to the drive: the ledger counts its effort on the joint.
//!
//! Where N is a reaction, Ṅ would require the jerk. With E = s²/(2σ₀), integration by parts gives
//!
//! ```text
//! ∫ Ṅ E dt = N E − N₀ E₀ − ∫ N Ė dt,      Ė = s ṡ/σ₀
//! ```
//!
//! which includes jumps of N at events. The quadrature is that of −N Ė; readers of the ledger add the stored energy.

use super::Dynamics;
use super::effort_limits::excess;
use super::efforts::{drive_sample, load_signal};
use super::point::Point;
use super::scheme::Scheme;
use super::snapshot::Snapshot;
use super::state::State;
use crate::error::{Error, Result};
use crate::model::{Compiled, Model};
use crate::signal::Piece;
use crate::solver::Formulation;
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_multibody::{
    Model as Tree, Poses, Work, kinematics, kinetic_energy, point_velocity, poses, potential_energy,
};
use nalgebra::Vector3;

/// Stored energies, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// Kinetic energy, armature included.
    pub kinetic: f64,
    /// Potential energy of gravity, zero at the world origin.
    pub potential: f64,
    /// Energy of springs.
    pub elastic: f64,
    /// Energy of bristles.
    pub bristle: f64,
    /// Part of it in reaction-loaded contacts.
    pub reaction_loaded: f64,
}

impl Energies {
    /// The sum.
    pub fn stored(&self) -> f64 {
        self.kinetic + self.potential + self.elastic + self.bristle
    }
}

/// The error for numbers too large to be squared, with the fastest joint.
fn diverged(tree: &Tree, t: f64, v: &[f64], is_controlled: bool) -> Error {
    let fastest = v.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map_or(0, |v| v.0);
    let joint = tree.joint_names[tree.joint_of_velocity(fastest)].clone();
    Error::Diverged { quantity: "velocity", joint, t, step: 0.0, is_controlled }
}

impl Dynamics {
    /// Stored energies at a snapshot. Reaction loads are those found last: evaluate there first.
    pub fn energies(&mut self, at: &Snapshot) -> Result<Energies> {
        let is_controlled = self.scheme.is_controlled;
        let Self { compiled, work, state: State { piece, .. }, point: Point { load, .. }, .. } = self;
        let state = &at.mechanics;
        let failed = |source| match source {
            bristle_multibody::Error::NonFinite { .. } => {
                diverged(&compiled.model.tree, state.t, &state.v, is_controlled)
            }
            source => Error::Mechanics { t: state.t, source },
        };
        let elastic = |s: &crate::model::SpringAt| 0.5 * s.stiffness * (state.q[s.q] - s.rest).powi(2);
        let model = &compiled.model.tree;
        let at_velocity = |v: usize| state.q[model.q_index[model.joint_of_velocity(v)]];
        let between = compiled
            .model
            .coupled
            .springs
            .iter()
            .map(|s| 0.5 * s.stiffness * (at_velocity(s.a) - at_velocity(s.b) - s.rest).powi(2));
        let (mut bristle, mut reaction_loaded) = (0.0, 0.0);
        for ((contact, at), load) in compiled.inputs.contacts.iter().zip(&at.bristles).zip(load) {
            let per_load = contact.law.stored_energy(contact.law.state_of(at.z, at.w));
            if contact.bearing.is_some() {
                reaction_loaded += *load * per_load;
            } else {
                let signal = load_signal(contact.signal(), state.t, *piece);
                bristle += contact.normal_towards(at.z < 0.0, &signal).0 * per_load;
            }
        }
        Ok(Energies {
            kinetic: kinetic_energy(&compiled.model.tree, work, &state.q, &state.v).map_err(failed)?,
            potential: potential_energy(&compiled.model.tree, work, &state.q).map_err(failed)?,
            // from +0: an empty sum is −0
            elastic: compiled.inputs.springs.iter().map(elastic).chain(between).fold(0.0, std::ops::Add::add),
            bristle: bristle + reaction_loaded,
            reaction_loaded,
        })
    }

    /// Rates of the quadratures at (t, y), for the rates `dy` of the unknowns.
    pub(crate) fn fill_ledger(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        rate: &mut [f64],
    ) -> std::result::Result<(), EvalError> {
        // explicit steppers call this after the right-hand side, which has found the loads but not the efforts of
        // drives
        if !(self.compiled.model.prescribed.is_empty() && self.knows(t, y)) {
            self.scatter(t, y);
            let needs_reactions =
                !(self.compiled.model.reaction_loaded.is_empty() && self.compiled.model.prescribed.is_empty());
            if needs_reactions || !(self.compiled.inputs.wrenches.is_empty() && self.compiled.inputs.drives.is_empty())
            {
                self.place().map_err(|e| self.record_failure(e))?;
            }
            if needs_reactions {
                if self.scheme.formulation != Formulation::Jerk {
                    self.take_accelerations(dy);
                }
                self.efforts(t);
                if self.has_loaded_loops() && !self.is_constrained() {
                    self.find_closure_forces().map_err(|e| self.record_failure(e))?;
                }
                self.read_reactions().map_err(|e| self.record_failure(e))?;
            }
        }
        let Self { compiled, scheme, state, point, work, poses, .. } = self;
        let power = power((compiled, scheme), state, point, (work, poses), t);
        fill_heat(compiled, state, point, t, rate);
        rate[0] = power.map_err(|e| self.record_failure(e.into()))?;
        Ok(())
    }

    /// Energy that a jump of the loads at `t` puts into bristles; `before` is the piece that ends there.
    pub(crate) fn load_jump(&self, t: f64, before: Piece) -> f64 {
        let jumps = self.compiled.inputs.contacts.iter().zip(&self.point.bristles).map(|(contact, state)| {
            let normal = |piece| contact.normal_towards(state[0] < 0.0, &load_signal(contact.signal(), t, piece)).0;
            (normal(self.state.piece) - normal(before)) * contact.law.stored_energy(*state)
        });
        jumps.sum()
    }
}

/// Rates of the energy that changing loads put into bristles, and of the heat of each joint and element; 0 for the
/// work.
fn fill_heat(compiled: &Compiled, state: &State, point: &Point, t: f64, rate: &mut [f64]) {
    let Point { v, bristles, load, .. } = point;
    rate.fill(0.0);
    for spring in &compiled.model.coupled.springs {
        let rate_of = v[spring.a] - v[spring.b];
        rate[2 + compiled.model.heat_of_element(spring.element)] += spring.damping * rate_of * rate_of;
    }
    for d in &compiled.inputs.dampers {
        rate[2 + compiled.model.heat_of_joint(d.joint)] += d.damping * v[d.v] * v[d.v];
    }
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        let slip = contact.arm * contact.rate(v);
        let n = if contact.bearing.is_some() {
            let n = load[c];
            if contact.law.n_states() > 0 {
                rate[1] -= n * bristles[c][0] * contact.law.rates(slip, bristles[c])[0] / contact.law.sigma0();
            }
            n
        } else {
            let is_backward = contact.acts_backward(state.mode[c], state.backward[c]);
            let (n, n_rate) = contact.normal_towards(is_backward, &load_signal(contact.signal(), t, state.piece));
            rate[1] += n_rate * contact.law.stored_energy(bristles[c]);
            n
        };
        rate[2 + compiled.model.heat_of(contact)] += n * match contact.law.event_driven() {
            Some(law) => law.sliding(state.mode[c], slip).0 * slip,
            None => contact.law.dissipated_power(slip, bristles[c]),
        };
    }
}

/// Power of drives and of the inputs of callers.
fn power(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    point: &Point,
    (work, places): (&mut Work, &mut Poses),
    t: f64,
) -> std::result::Result<f64, bristle_multibody::Error> {
    let limits = compiled.inputs.effort_limits.iter().enumerate();
    let cut: f64 = limits.map(|(k, at)| excess((compiled, scheme), state, point, k, t) * point.v[at.v]).sum();
    let Point { q, v, integral, drive_effort, .. } = point;
    let Model { prescribed, .. } = &*compiled.model;
    let given = compiled.inputs.effort.iter().zip(&compiled.inputs.offset);
    let mut power: f64 = given.zip(v).map(|((effort, offset), v)| (effort + offset) * v).sum();
    power -= cut;
    power += prescribed.iter().zip(drive_effort).map(|(joint, effort)| effort * v[joint.v]).sum::<f64>();
    let mut integrals = integral.iter();
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let integral = if drive.has_integral() { integrals.next().copied() } else { None };
        let (q, v) = (q[drive.q], v[drive.v]);
        let sample = drive_sample((compiled, scheme), state, k, t, q, v);
        power += drive.effort(&sample, q, v, integral.unwrap_or(0.0)) * v;
    }
    if !compiled.inputs.wrenches.is_empty() {
        let model = &compiled.model.tree;
        kinematics(model, work, q, v)?;
        poses(model, work, places)?;
        for w in &compiled.inputs.wrenches {
            let rotation = places.link(model, w.body)?.rotation;
            let velocity = point_velocity(model, work, places, w.body, &Vector3::zeros())?;
            // both in world axes
            let [wx, wy, wz, vx, vy, vz] = velocity.to_array();
            let [mx, my, mz, fx, fy, fz] = w.wrench.to_array();
            power += Vector3::new(vx, vy, vz).dot(&(rotation * Vector3::new(fx, fy, fz)));
            power += Vector3::new(wx, wy, wz).dot(&(rotation * Vector3::new(mx, my, mz)));
        }
    }
    Ok(power)
}

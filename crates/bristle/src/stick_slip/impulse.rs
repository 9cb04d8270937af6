//! Corners of prescribed motions: velocities jump, and reactions are impulses.
//!
//! At a corner of the signal of a `Motion` the velocity of its joint jumps by Δ. Finite forces have no impulse in an
//! instant: gravity, springs, drives, dampers, centrifugal forces, friction under a given load; stuck contacts under
//! a given load slip. A load that is a reaction becomes an impulse like the reaction, and so does its friction. With
//! f the impulses through the joints per λ, where λ from 0 to 1 is the completed fraction of the jump,
//!
//! ```text
//! dv_p/dλ = Δ          S_iᵀ f_i + armature_i dv_i/dλ + κ_i N(f_i) = 0          f = inertias · dv/dλ
//! ```
//!
//! This is (1) without velocities and efforts, with v in the place of q̇ and λ in that of t: the same Newton
//! iteration, and the same mode selection. It **assumes** that the corner is the limit of a short ramp in which all
//! prescribed velocities that jump at this instant do so in proportion (Routh's construction for impacts), and that
//! positions and bristles do not move in it. N is homogeneous of degree one and inertias are constant: with constant
//! κ, dv/dλ is constant up to the point where a sliding bearing comes to rest. There it sticks, slides on or
//! reverses, and the remaining jump follows. Where κ depends on the slip speed, the midpoint rule with [`PIECES`]
//! parts takes κ at the middle of each.
//!
//! The ledger: work of the drives ∫ P_p v_p dλ, P_p being the impulse that the jump requires of them, and heat ∫ κ N
//! v dλ. Over one part both are exactly products with the mean velocity.

use super::machine::Machine;
use crate::dynamics::ContactEvent;
use crate::dynamics::Dynamics;
use crate::dynamics::failure::Failure;
use crate::dynamics::point::Point;
use crate::model::Compiled;
use crate::world::component::Drive;
use bristle_friction::{FrictionLaw, Mode};

/// Parts of a jump where κ depends on the slip speed: the error of the midpoint rule is then 1e-4 of the change of κ.
const PIECES: f64 = 32.0;

/// Limit of the parts: each bearing sticks, slips and reverses a few times.
const MAX_PARTS: usize = 4096;

/// Jumps below this, relative to the largest, are rounding errors.
const ROUNDED: f64 = 1e-14;

/// Scratch of a jump.
#[derive(Debug, Clone)]
pub(super) struct JumpWork {
    /// Δ of each prescribed motion.
    jump: Vec<f64>,
    /// Velocities before a part of the jump; `n_v`.
    start: Vec<f64>,
    /// Whether a prescribed velocity has jumped at the last event.
    pub has_jumped: bool,
}

impl JumpWork {
    pub fn new(compiled: &Compiled) -> Self {
        let n_prescribed = compiled.inputs.drives.iter().filter(|at| matches!(at.drive, Drive::Motion(_))).count();
        Self { jump: vec![0.0; n_prescribed], start: vec![0.0; compiled.model.tree.n_v], has_jumped: false }
    }
}

impl Machine {
    /// Applies the jumps of prescribed velocities at `t` to the whole machine, and adds work and heat to `quad`;
    /// whether there were any.
    pub(super) fn take_impulse(&mut self, t: f64, quad: &mut [f64]) -> Result<bool, Failure> {
        // the velocities before, then Δ
        for (jump, joint) in self.jump.jump.iter_mut().zip(&self.dynamics.compiled.model.prescribed) {
            *jump = self.dynamics.point.v[joint.v];
        }
        self.dynamics.place()?;
        self.dynamics.prescribe(t);
        let mut is_jump = false;
        for (jump, joint) in self.jump.jump.iter_mut().zip(&self.dynamics.compiled.model.prescribed) {
            let (before, after) = (*jump, self.dynamics.point.v[joint.v]);
            *jump = after - before;
            is_jump |= jump.abs() > self.dynamics.compiled.inputs.drives[joint.drive].signal().slope_rounding(t);
            self.dynamics.point.v[joint.v] = before;
        }
        if !is_jump {
            self.dynamics.prescribe(t);
            return Ok(false);
        }
        self.transition.modes_before.copy_from_slice(&self.dynamics.state.mode);
        let gravity = std::mem::take(&mut self.dynamics.work.outside.gravity);
        self.dynamics.work.outside.clear_wrenches();
        self.dynamics.scheme.is_impulsive = true;
        // a is dv/dλ in between: neither is a start value for the other
        self.dynamics.point.a.fill(0.0);
        let taken = self.jump(t, quad);
        self.dynamics.point.a.fill(0.0);
        self.dynamics.scheme.is_impulsive = false;
        self.dynamics.work.outside.gravity = gravity;
        self.dynamics.apply_wrenches();
        taken?;
        // contacts that move now are not at rest, whatever their event was
        for (contact, contact_event) in
            self.dynamics.compiled.inputs.contacts.iter().zip(&mut self.dynamics.state.contact_event)
        {
            if contact.rate(&self.dynamics.point.v) != 0.0 {
                *contact_event = ContactEvent::No;
            }
        }
        self.dynamics.prescribe(t);
        Ok(true)
    }

    /// The jump, part by part.
    fn jump(&mut self, t: f64, quad: &mut [f64]) -> Result<(), Failure> {
        let mut left = 1.0_f64;
        self.dynamics.state.contact_event.fill(ContactEvent::No);
        for _ in 0..MAX_PARTS {
            self.prescribe_jump();
            self.resolve_modes(t)?;
            let largest = self.dynamics.point.a.iter().fold(0.0_f64, |most, a| most.max(a.abs()));
            self.dynamics.point.a.iter_mut().filter(|a| a.abs() <= ROUNDED * largest).for_each(|a| *a = 0.0);

            // up to the next contact that comes to rest
            let is_curved = self.dynamics.compiled.model.reaction_loaded.iter().any(|&c| self.depends_on_speed(c));
            let (mut part, mut stops) = (if is_curved { left.min(1.0 / PIECES) } else { left }, None);
            for &c in &self.dynamics.compiled.model.reaction_loaded {
                let contact = &self.dynamics.compiled.inputs.contacts[c];
                let (rate, slope) = (contact.rate(&self.dynamics.point.v), contact.rate(&self.dynamics.point.a));
                let at = -rate / slope;
                if contact.is_event_driven() && rate * slope < 0.0 && at <= part {
                    (part, stops) = (at, Some(c));
                }
            }
            self.jump.start.copy_from_slice(&self.dynamics.point.v);
            if is_curved {
                // κ at the middle
                self.dynamics.point.v.iter_mut().zip(&self.dynamics.point.a).for_each(|(v, a)| *v += 0.5 * part * a);
                self.dynamics.efforts(t);
                self.dynamics.solve_accelerations(crate::dynamics::TIGHT)?;
                self.dynamics.read_reactions()?;
            }
            let Self {
                dynamics: Dynamics { compiled, point: Point { v, a, .. }, .. },
                jump: JumpWork { start: jump_start, .. },
                ..
            } = self;
            v.iter_mut().zip(&*jump_start).zip(&*a).for_each(|((v, start), a)| *v = start + part * a);
            let mean = |k: usize| part * (jump_start[k] + 0.5 * part * a[k]);
            for (joint, effort) in compiled.model.prescribed.iter().zip(&self.dynamics.point.drive_effort) {
                quad[0] += effort * mean(joint.v);
            }
            for &c in &compiled.model.reaction_loaded {
                let contact = &compiled.inputs.contacts[c];
                quad[2 + compiled.model.heat_of(contact)] +=
                    self.dynamics.point.kappa[c] * self.dynamics.point.load[c] * mean(contact.v);
            }
            left -= part;
            self.dynamics.state.contact_event.fill(ContactEvent::No);
            if let Some(c) = stops {
                self.dynamics.state.contact_event[c] = ContactEvent::ComesToRest;
                self.dynamics.point.v[compiled.inputs.contacts[c].v] = 0.0;
            }
            if left <= f64::EPSILON {
                return Ok(());
            }
        }
        Err(Failure::NoAcceleration)
    }

    /// dv/dλ of the joints whose motion is prescribed.
    fn prescribe_jump(&mut self) {
        for (joint, jump) in self.dynamics.compiled.model.prescribed.iter().zip(&self.jump.jump) {
            self.dynamics.point.a[joint.v] = *jump;
        }
    }

    /// Whether κ of a sliding bearing depends on its slip speed.
    fn depends_on_speed(&self, c: usize) -> bool {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let slip = contact.arm * contact.rate(&self.dynamics.point.v);
        match contact.law.event_driven() {
            Some(law) => {
                let (mode, end) =
                    (self.dynamics.state.mode[c], slip + contact.arm * contact.rate(&self.dynamics.point.a));
                let [from, to] = [slip, end].map(|v| law.sliding(mode, mode.direction() * v.abs()).0);
                mode != Mode::Stuck && from != to
            }
            None => {
                contact.rate(&self.dynamics.point.a) != 0.0
                    && contact.law.evaluate(slip, self.dynamics.point.bristles[c]).effort_v != 0.0
            }
        }
    }
}

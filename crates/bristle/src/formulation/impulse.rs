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

use super::diagnostics::Failure;
use super::machine::Machine;
use super::point::Point;
use super::transition::ContactEvent;
use bristle_friction::{FrictionLaw, Mode};

/// Parts of a jump where κ depends on the slip speed: the error of the midpoint rule is then 1e-4 of the change of κ.
const PIECES: f64 = 32.0;

/// Limit of the parts: each bearing sticks, slips and reverses a few times.
const MAX_PARTS: usize = 4096;

/// Jumps below this, relative to the largest, are rounding errors.
const ROUNDED: f64 = 1e-14;

impl Machine {
    /// Applies the jumps of prescribed velocities at `t` to the whole machine, and adds work and heat to `quad`;
    /// whether there were any.
    pub(super) fn take_impulse(&mut self, t: f64, quad: &mut [f64]) -> Result<bool, Failure> {
        // Δ, in `b`
        for prescribed in &self.prescribed {
            self.b[prescribed.v] = -self.point.v[prescribed.v];
        }
        self.place()?;
        self.prescribe(t);
        let mut is_jump = false;
        for prescribed in &mut self.prescribed {
            let before = -self.b[prescribed.v];
            self.b[prescribed.v] += self.point.v[prescribed.v];
            prescribed.jump = self.b[prescribed.v];
            is_jump |= prescribed.jump.abs() > 1e-12 * (1.0 + self.point.v[prescribed.v].abs());
            self.point.v[prescribed.v] = before;
        }
        if !is_jump {
            self.prescribe(t);
            return Ok(false);
        }
        self.transition.modes_before.copy_from_slice(&self.state.mode);
        let gravity = std::mem::take(&mut self.work.outside.gravity);
        self.work.outside.clear_wrenches();
        self.is_impulsive = true;
        let taken = self.jump(t, quad);
        self.is_impulsive = false;
        self.work.outside.gravity = gravity;
        self.apply_wrenches();
        taken?;
        // contacts that move now are not at rest, whatever their event was
        for (contact, contact_event) in self.compiled.contacts.iter().zip(&mut self.state.contact_event) {
            if contact.rate(&self.point.v) != 0.0 {
                *contact_event = ContactEvent::No;
            }
        }
        self.prescribe(t);
        Ok(true)
    }

    /// The jump, part by part.
    fn jump(&mut self, t: f64, quad: &mut [f64]) -> Result<(), Failure> {
        let mut left = 1.0_f64;
        self.state.contact_event.fill(ContactEvent::No);
        for _ in 0..MAX_PARTS {
            self.prescribe_jump();
            self.resolve_modes(t)?;
            let largest = self.point.a.iter().fold(0.0_f64, |most, a| most.max(a.abs()));
            self.point.a.iter_mut().filter(|a| a.abs() <= ROUNDED * largest).for_each(|a| *a = 0.0);

            // up to the next contact that comes to rest
            let is_curved = self.reaction_loaded.iter().any(|&c| self.depends_on_speed(c));
            let (mut part, mut stops) = (if is_curved { left.min(1.0 / PIECES) } else { left }, None);
            for &c in &self.reaction_loaded {
                let contact = &self.compiled.contacts[c];
                let (rate, slope) = (contact.rate(&self.point.v), contact.rate(&self.point.a));
                let at = -rate / slope;
                if contact.is_event_driven() && rate * slope < 0.0 && at <= part {
                    (part, stops) = (at, Some(c));
                }
            }
            self.jump_start.copy_from_slice(&self.point.v);
            if is_curved {
                // κ at the middle
                self.point.v.iter_mut().zip(&self.point.a).for_each(|(v, a)| *v += 0.5 * part * a);
                self.efforts(t);
                self.solve_accelerations(super::machine::TIGHT)?;
                self.read_reactions()?;
            }
            let Self { compiled, jump_start, point: Point { v, a, .. }, .. } = self;
            v.iter_mut().zip(&*jump_start).zip(&*a).for_each(|((v, start), a)| *v = start + part * a);
            let mean = |k: usize| part * (jump_start[k] + 0.5 * part * a[k]);
            for prescribed in &self.prescribed {
                quad[0] += prescribed.effort * mean(prescribed.v);
            }
            for &c in &self.reaction_loaded {
                let contact = &compiled.contacts[c];
                quad[2 + compiled.heat_of(contact)] += self.point.kappa[c] * self.point.load[c] * mean(contact.v);
            }
            left -= part;
            self.state.contact_event.fill(ContactEvent::No);
            if let Some(c) = stops {
                self.state.contact_event[c] = ContactEvent::ComesToRest;
                self.point.v[self.compiled.contacts[c].v] = 0.0;
            }
            if left <= f64::EPSILON {
                return Ok(());
            }
        }
        Err(Failure::NoAcceleration)
    }

    /// dv/dλ of the joints whose motion is prescribed.
    fn prescribe_jump(&mut self) {
        for prescribed in &self.prescribed {
            self.point.a[prescribed.v] = prescribed.jump;
        }
    }

    /// Whether κ of a sliding bearing depends on its slip speed.
    fn depends_on_speed(&self, c: usize) -> bool {
        let contact = &self.compiled.contacts[c];
        let slip = contact.arm * contact.rate(&self.point.v);
        match contact.law.event_driven() {
            Some(law) => {
                let levels =
                    [slip, slip + contact.arm * contact.rate(&self.point.a)].map(|v| law.kinetic_level(v.abs()).0);
                self.state.mode[c] != Mode::Stuck && levels[0] != levels[1]
            }
            None => {
                contact.rate(&self.point.a) != 0.0 && contact.law.evaluate(slip, self.point.bristles[c]).effort_v != 0.0
            }
        }
    }
}

//! Contacts at rest in closed loops: Delassus matrix, and limits under reactions by the rule of impending motion.

use super::machine::Machine;
use crate::dynamics::Dynamics;
use crate::dynamics::{ContactEvent, Failure};
use crate::model::Contact;
use bristle_friction::Mode;

/// Accelerations of impending motion below this, relative to those without friction, are rounding.
const IMPENDING: f64 = 1e-11;

impl Machine {
    /// Modes of the contacts at rest by (12).
    pub(super) fn resolve_loaded_loops(&mut self, t: f64) -> Result<(), Failure> {
        let is_breaking = (0..self.dynamics.state.mode.len()).find(|&c| {
            self.dynamics.state.contact_event[c] == ContactEvent::BreaksAway && self.transition.contacts.contains(&c)
        });
        let way = match is_breaking {
            Some(c) => self.dynamics.direction_of(c, self.transition.leaving[c]),
            None => {
                let [forward, backward, scale] = self.impending(t)?;
                match () {
                    () if forward > IMPENDING * scale => 1.0,
                    () if -backward > IMPENDING * scale => -1.0,
                    () => 0.0,
                }
            }
        };
        self.set_loop_modes(way);
        self.dynamics.lock();
        self.dynamics.place()?;
        self.dynamics.efforts(t);
        self.dynamics.accelerate_from_frictionless()?;
        self.dynamics.read_reactions()?;
        self.set_slack();
        Ok(())
    }

    /// Modes of the contacts at rest for motion along `way`, or all stuck where it is 0. Needs coordinates without
    /// stuck contacts.
    fn set_loop_modes(&mut self, way: f64) {
        for k in 0..self.transition.contacts.len() {
            let c = self.transition.contacts[k];
            self.dynamics.state.mode[c] = Mode::of_sign(way * self.dynamics.loop_rate(c));
        }
    }

    /// Accelerations of the one independent velocity with every contact at rest at its static limit against forward and
    /// backward motion, infinitely against a closed stop, and the magnitude without friction. Leaves coordinates
    /// without stuck contacts.
    fn impending(&mut self, t: f64) -> Result<[f64; 3], Failure> {
        self.dynamics.unlock();
        self.dynamics.place()?;
        let Some(&i) = self.dynamics.coordinates.active.first() else { return Ok([0.0, 0.0, 1.0]) };
        let mut found = [0.0; 3];
        for (k, way) in [(0, 1.0), (1, -1.0)] {
            if self.is_stopped(way) {
                found[k] = -way * f64::INFINITY;
                continue;
            }
            self.set_loop_modes(way);
            self.dynamics.efforts(t);
            self.raise_to_stiction();
            self.dynamics.newton_in_loops(0.0, crate::dynamics::TIGHT)?;
            found[2] = f64::max(found[2], self.dynamics.point.a[i].abs());
            self.dynamics.newton_in_loops(1.0, crate::dynamics::TIGHT)?;
            found[k] = self.dynamics.point.a[i];
        }
        let finite = found.iter().copied().filter(|a| a.is_finite());
        found[2] = finite.fold(0.0, |most, a| f64::max(most, a.abs()));
        Ok(found)
    }

    /// Whether motion along `way` would leave the range of a joint on its stop. Needs coordinates without stuck
    /// contacts.
    fn is_stopped(&self, way: f64) -> bool {
        self.transition.contacts.iter().any(|&c| {
            let closed = self.dynamics.state.stops[c].closed;
            closed.is_some_and(|end| end.inward() * way * self.dynamics.loop_rate(c) < 0.0)
        })
    }

    /// Friction of the contacts at rest from the sliding level to the static one, in the direction of their modes.
    fn raise_to_stiction(&mut self) {
        let Self { dynamics: Dynamics { compiled, state, point, .. }, transition, .. } = self;
        for &c in &transition.contacts {
            let contact = &compiled.inputs.contacts[c];
            let Some(law) = contact.law.event_driven() else { continue };
            let limit = contact.arm * law.stiction_level() * state.mode[c].direction();
            if contact.bearing.is_none() {
                let friction = limit * point.load[c];
                contact.take(&mut point.tau, friction - point.friction[c]);
                point.friction[c] = friction;
            }
            point.kappa[c] = limit;
        }
    }

    /// Margin (12) of a machine at rest, for the event function of its stuck contacts.
    pub(super) fn margin_of_loaded_loops(&mut self, t: f64) -> Result<(), Failure> {
        if !self.dynamics.is_loop_held() {
            return Ok(());
        }
        let mut contacts = std::mem::take(&mut self.transition.contacts);
        contacts.clear();
        contacts.extend((0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.sticks(c)));
        self.transition.contacts = contacts;
        let found = self.impending(t);
        let [forward, backward, scale] = *found.as_ref().unwrap_or(&[0.0; 3]);
        let nearer = (-forward).min(backward);
        let margin = if scale > 0.0 && nearer.is_finite() { nearer / scale } else { 1.0 };
        let way = if -forward <= backward { 1.0 } else { -1.0 };
        self.transition.a0.clear();
        for k in 0..self.transition.contacts.len() {
            let c = self.transition.contacts[k];
            let slip = way * self.dynamics.loop_rate(c);
            self.transition.a0.push(slip);
            self.dynamics.state.mode[c] = Mode::Stuck;
        }
        self.dynamics.lock();
        found?;
        self.dynamics.place()?;
        self.dynamics.efforts(t);
        self.dynamics.constraints.set_group(&self.transition.contacts, margin, &self.transition.a0);
        Ok(())
    }

    /// a₀ and W of the contacts at rest: see `coupled_delassus`. The coordinates are those without stuck contacts.
    pub(super) fn loop_delassus(&mut self) -> Result<(), Failure> {
        self.dynamics.place()?;
        self.dynamics.accelerate_loops()?;
        let rate = |contacts: &[Contact], c: usize, x: &[f64]| contacts[c].rate(x);
        self.transition.a0.clear();
        self.transition.delassus.clear();
        for k in 0..self.transition.contacts.len() {
            let c = self.transition.contacts[k];
            let a0 = rate(&self.dynamics.compiled.inputs.contacts, c, &self.dynamics.point.a);
            self.transition.a0.push(a0);
            self.dynamics.newton.residual.fill(0.0);
            self.dynamics.compiled.inputs.contacts[c].take(&mut self.dynamics.newton.residual, -1.0);
            self.dynamics.solve_loops();
            for l in 0..self.transition.contacts.len() {
                let other = self.transition.contacts[l];
                let w = rate(&self.dynamics.compiled.inputs.contacts, other, &self.dynamics.newton.correction);
                self.transition.delassus.push(w);
            }
        }
        Ok(())
    }
}

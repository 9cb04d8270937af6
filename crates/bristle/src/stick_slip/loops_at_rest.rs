//! Contacts at rest in closed loops: Delassus matrix, and limits under reactions by the rule of impending motion.
//!
//! **Loads of a held machine.** A machine of one degree of freedom that is held has more stuck joints than equations.
//! Of the distributions of friction that carry its load, the recorded one lets every contact bear the same share σ of
//! its static limit, against the direction in which the machine would move off without friction:
//!
//! ```text
//! f = σ κ N(λ),     a(σ) = 0,     0 ≤ σ ≤ 1                                                              (15)
//! ```
//!
//! Loads N, friction f and constraint forces λ are those of one equilibrium then. There is one: a(0) is along that
//! direction, and by (12) a(1) is not. A closed stop bears what friction at its limits leaves.

use super::machine::Machine;
use crate::dynamics::Dynamics;
use crate::dynamics::{ContactEvent, Failure};
use crate::model::Contact;
use bristle_friction::Mode;

/// Bracketing steps for the share of (15): the width halves at least in every third.
const MAX_BRACKETS: usize = 150;

/// Accelerations of (15) below this, relative to those without friction, are rounding.
const BALANCED: f64 = 1e-14;

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
            self.raise_to_stiction(1.0);
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

    /// Friction of the contacts at rest from the sliding level to a share of the static one, in the direction of their
    /// modes.
    fn raise_to_stiction(&mut self, share: f64) {
        let Self { dynamics: Dynamics { compiled, state, point, .. }, transition, .. } = self;
        for &c in &transition.contacts {
            let contact = &compiled.inputs.contacts[c];
            let Some(law) = contact.law.event_driven() else { continue };
            let limit = share * contact.arm * law.stiction_level() * state.mode[c].direction();
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

    /// Friction, loads and constraint forces of a held machine by (15), for its results.
    pub(super) fn balance_held_loops(&mut self, t: f64) -> Result<(), Failure> {
        if !self.dynamics.is_loop_held() || self.dynamics.is_constrained() {
            return Ok(());
        }
        let mut contacts = std::mem::take(&mut self.transition.contacts);
        contacts.clear();
        contacts.extend((0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.sticks(c)));
        self.transition.contacts = contacts;
        self.dynamics.unlock();
        let found = self.dynamics.place().and_then(|()| self.find_share(t));
        let point = &self.dynamics.point;
        let balanced = (point.friction.clone(), point.load.clone(), point.force.clone(), point.closure_force.clone());
        for k in 0..self.transition.contacts.len() {
            self.dynamics.state.mode[self.transition.contacts[k]] = Mode::Stuck;
        }
        self.dynamics.lock();
        found?;
        self.dynamics.place()?;
        self.dynamics.efforts(t);
        let point = &mut self.dynamics.point;
        (point.friction, point.load, point.force, point.closure_force) = balanced;
        self.dynamics.take_least_forces();
        Ok(())
    }

    /// Solves (15) by bisection and false position (Illinois). Needs coordinates without stuck contacts; leaves
    /// friction and loads in the point.
    fn find_share(&mut self, t: f64) -> Result<(), Failure> {
        let Some(&i) = self.dynamics.coordinates.active.first() else {
            return self.acceleration_at_share(t, (0.0, 1.0), None).map(|_| ());
        };
        let free = self.acceleration_at_share(t, (0.0, 1.0), Some(i))?;
        let way = if free < 0.0 { -1.0 } else { 1.0 };
        let is_balanced = |a: f64| a.abs() <= BALANCED * free.abs();
        let mut low = (0.0, free.abs());
        let mut high = (1.0, way * self.acceleration_at_share(t, (1.0, way), Some(i))?);
        if is_balanced(low.1) {
            return self.acceleration_at_share(t, (0.0, way), Some(i)).map(|_| ());
        }
        if high.1 > IMPENDING * low.1 && self.is_stopped(way) {
            return self.carry_by_stop(t, way, i);
        }
        let (mut weight, mut last) = ([1.0, 1.0], 0.0);
        for k in 0..MAX_BRACKETS {
            if high.1 >= 0.0 {
                // at the limit, to the accuracy of event location
                break;
            }
            let (a, b) = (weight[0] * low.1, weight[1] * high.1);
            let bisected = 0.5 * (low.0 + high.0);
            let share = if k % 3 == 2 { bisected } else { (low.0 * b - high.0 * a) / (b - a) };
            if high.0 - low.0 <= 2.0 * f64::EPSILON || share <= low.0 || share >= high.0 {
                break;
            }
            let found = way * self.acceleration_at_share(t, (share, way), Some(i))?;
            if is_balanced(found) {
                return Ok(());
            }
            // the end that stays twice counts half
            let side = if found > 0.0 { 1.0 } else { -1.0 };
            if found > 0.0 {
                (low, weight[0]) = ((share, found), 1.0);
                weight[1] *= if side == last { 0.5 } else { 1.0 };
            } else {
                (high, weight[1]) = ((share, found), 1.0);
                weight[0] *= if side == last { 0.5 } else { 1.0 };
            }
            last = side;
        }
        let nearer = if low.1 < -high.1 { low.0 } else { high.0 };
        self.acceleration_at_share(t, (nearer, way), Some(i)).map(|_| ())
    }

    /// The acceleration of independent velocity `i`, with a share of the static limits against a way.
    fn acceleration_at_share(&mut self, t: f64, (share, way): (f64, f64), i: Option<usize>) -> Result<f64, Failure> {
        self.set_loop_modes(way);
        self.dynamics.efforts(t);
        self.raise_to_stiction(share);
        self.newton_at_rest()?;
        Ok(i.map_or(0.0, |i| self.dynamics.point.a[i]))
    }

    /// Accelerations and loads with the present efforts, and the friction of the loads.
    fn newton_at_rest(&mut self) -> Result<(), Failure> {
        self.dynamics.newton_in_loops(0.0, crate::dynamics::TIGHT)?;
        match self.dynamics.newton_in_loops(1.0, crate::dynamics::TIGHT) {
            Err(Failure::NoAcceleration) => self.dynamics.follow_in_loops(crate::dynamics::TIGHT)?,
            result => result?,
        }
        let Dynamics { compiled, point, .. } = &mut self.dynamics;
        compiled.model.reaction_loaded.iter().for_each(|&c| point.friction[c] = point.kappa[c] * point.load[c]);
        Ok(())
    }

    /// The effort of the closed stop that blocks a way, with friction at its static limits against it: by secants,
    /// since loads are nearly linear in it. It is part of the friction of its contact, see `share_stops`.
    fn carry_by_stop(&mut self, t: f64, way: f64, i: usize) -> Result<(), Failure> {
        let blocks = |machine: &Self, c: usize| {
            let closed = machine.dynamics.state.stops[c].closed;
            closed.is_some_and(|end| end.inward() * way * machine.dynamics.loop_rate(c) < 0.0)
        };
        let Some(c) = self.transition.contacts.iter().copied().find(|&c| blocks(self, c)) else { return Ok(()) };
        let unit = self.dynamics.point.friction.iter().fold(1.0_f64, |most, f| most.max(f.abs()));
        let mut at = |effort: f64| -> Result<f64, Failure> {
            self.set_loop_modes(way);
            self.dynamics.efforts(t);
            self.raise_to_stiction(1.0);
            let Dynamics { compiled, point, .. } = &mut self.dynamics;
            compiled.inputs.contacts[c].take(&mut point.tau, -effort);
            self.newton_at_rest()?;
            self.dynamics.point.friction[c] -= effort;
            Ok(self.dynamics.point.a[i])
        };
        let (mut before, mut effort) = ((0.0, at(0.0)?), unit);
        let scale = before.1.abs();
        for _ in 0..MAX_BRACKETS {
            let found = at(effort)?;
            if found.abs() <= BALANCED * scale || found == before.1 {
                return Ok(());
            }
            let next = effort - found * (effort - before.0) / (found - before.1);
            before = (effort, found);
            effort = next;
        }
        Err(Failure::NoAcceleration)
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

//! The contacts at rest.

use super::TransitionWork;
use crate::dynamics::ContactEvent;
use crate::stick_slip::machine::Machine;
use bristle_friction::Mode;

impl Machine {
    /// Finds the contacts at rest.
    ///
    /// Rest is structure, not a threshold. The event names the contacts that come to rest. Their rows join those of
    /// the stuck contacts and of the couplings, and a projection of the velocities onto all rows makes every velocity
    /// of a rigid group that stops exactly 0.0. A contact is at rest if these rows imply its own, or if it has not
    /// moved since it left rest at this instant.
    pub(super) fn find_at_rest(&mut self, t: f64) {
        if self.dynamics.constraints.is_coupled() {
            // relative velocities are differences: rounding must not return a contact that has just left rest
            let fastest = self.dynamics.point.v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            self.dynamics.state.leaving = self.dynamics.state.leaving.max(64.0 * f64::EPSILON * fastest);
        }
        self.open_moving_stops();
        self.transition.contacts.clear();
        self.transition.standing.clear();
        self.transition.is_resolved = false;
        self.transition.dropped.fill(false);
        self.transition.mode_before.copy_from_slice(&self.dynamics.state.mode);
        for c in 0..self.dynamics.state.mode.len() {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let is_finite = contact.bearing.is_none() && !self.dynamics.is_closed(c);
            if !contact.is_event_driven() || self.dynamics.scheme.is_impulsive && is_finite {
                continue;
            }
            let rate = contact.rate(&self.dynamics.point.v);
            let is_open = contact.is_open(t);
            self.dynamics.state.was_open[c] = std::mem::replace(&mut self.dynamics.state.open[c], is_open);
            // a contact of prescribed motion follows its signal, or stands still with it: signals turn back at times
            // that are rounded, to velocities a δt and those of rounding
            if self.dynamics.is_prescribed(c) {
                let a = contact.rate(&self.dynamics.point.a);
                let inputs = &self.dynamics.compiled.inputs;
                let signals =
                    self.dynamics.compiled.model.prescribed.iter().map(|joint| inputs.drives[joint.drive].signal());
                let delta = signals.map(|signal| signal.time_rounding(t)).fold(0.0, f64::max);
                let error = |v: usize| {
                    self.dynamics.point.a[v].abs() * delta + 4.0 * f64::EPSILON * self.dynamics.point.v[v].abs()
                };
                let is_moving = a == 0.0 || rate.abs() > error(contact.v) + contact.b.map_or(0.0, error);
                self.dynamics.state.mode[c] = Mode::of_sign(if is_moving { rate } else { a });
                continue;
            }
            // a contact without load or without dry friction does not stick
            if !self.may_stick(c) {
                if rate == 0.0 {
                    self.transition.standing.push(c);
                }
                if rate != 0.0 || self.dynamics.state.mode[c] == Mode::Stuck {
                    self.dynamics.state.mode[c] = if rate < 0.0 { Mode::Backward } else { Mode::Forward };
                }
                continue;
            }
            // a contact that has just left rest reverses by less than the threshold of its event function
            if !self.dynamics.state.armed[c]
                && self.dynamics.state.mode[c].direction() * rate < 0.0
                && rate.abs() <= self.dynamics.state.leaving
            {
                self.dynamics.state.contact_event[c] = ContactEvent::ComesToRest;
            }
            // an impact that ends on a stop is no dead centre
            let may_turn = !self.dynamics.is_closed(c) && !self.dynamics.can_stick_in_loop(c);
            if self.dynamics.state.contact_event[c] == ContactEvent::ComesToRest && may_turn {
                self.turn_at_dead_centre(c);
            } else if self.dynamics.state.contact_event[c] == ContactEvent::ComesToRest {
                self.dynamics.state.mode[c] = Mode::Stuck;
            } else if rate != 0.0
                && (self.dynamics.state.mode[c] != Mode::Stuck || !contact.is_rounding(&self.dynamics.point.v))
            {
                // the contact slides, or an impulse has moved it
                self.dynamics.state.mode[c] = Mode::of_sign(rate);
            }
        }
        // project the velocities onto the rows of the contacts at rest; a contact whose sign this reverses comes to
        // rest, too
        loop {
            self.dynamics.lock();
            let mut is_any = false;
            for c in 0..self.dynamics.state.mode.len() {
                let rate = self.dynamics.compiled.inputs.contacts[c].rate(&self.dynamics.point.v);
                if self.may_stick(c) && self.dynamics.state.mode[c].direction() * rate < 0.0 {
                    if !self.dynamics.can_stick_in_loop(c) {
                        self.turn_at_dead_centre(c);
                        continue;
                    }
                    self.dynamics.state.contact_event[c] = ContactEvent::ComesToRest;
                    self.dynamics.state.mode[c] = Mode::Stuck;
                    is_any = true;
                }
            }
            if !is_any {
                break;
            }
        }
        for c in 0..self.dynamics.state.mode.len() {
            if !self.may_stick(c) {
                continue;
            }
            let (contact, mode) = (&self.dynamics.compiled.inputs.contacts[c], self.dynamics.state.mode[c]);
            // exactly at a dead centre its rate is zero whatever the motion: it slides, and does not stand
            let has_turned = mode.direction() * self.transition.mode_before[c].direction() < 0.0
                && !self.dynamics.is_closed(c)
                && !self.dynamics.can_stick_in_loop(c);
            if has_turned {
                continue;
            }
            let is_implied = self.dynamics.constraints.is_coupled() && self.is_immobile(contact.v, contact.b);
            if mode == Mode::Stuck || is_implied || contact.rate(&self.dynamics.point.v) == 0.0 {
                self.transition.contacts.push(c);
                if is_implied && mode != Mode::Stuck && self.dynamics.state.contact_event[c] == ContactEvent::No {
                    self.dynamics.state.contact_event[c] = ContactEvent::ComesToRest;
                }
            }
        }
        let TransitionWork { was, contacts, mode_before, .. } = &mut self.transition;
        was.clear();
        was.extend(contacts.iter().map(|&c| mode_before[c]));
    }

    /// A contact of a moving loop passes zero velocity: it changes its direction.
    fn turn_at_dead_centre(&mut self, c: usize) {
        self.dynamics.state.contact_event[c] = ContactEvent::No;
        self.dynamics.state.mode[c] = match self.transition.mode_before[c] {
            Mode::Forward => Mode::Backward,
            _ => Mode::Forward,
        };
        self.dynamics.state.armed[c] = false;
    }

    /// Whether locked joints, couplings and stuck contacts immobilise v_a − v_b.
    pub(in crate::stick_slip) fn is_immobile(&self, a: usize, b: Option<usize>) -> bool {
        let model = &self.dynamics.compiled.model;
        let is_locked = |v: usize| self.dynamics.coordinates.locked[model.joint_of[v]] && !model.is_prescribed(v);
        self.dynamics.coordinates.is_still(a, b, is_locked)
    }

    /// Whether a contact has dry friction and a load to stick with, or a closed stop, and its motion is not prescribed.
    pub(super) fn may_stick(&self, c: usize) -> bool {
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let has_load =
            !self.dynamics.state.open[c] && (!self.dynamics.scheme.is_impulsive || contact.bearing.is_some());
        let may_hold = has_load && !contact.never_sticks() || self.dynamics.is_closed(c);
        contact.is_event_driven() && !self.dynamics.is_prescribed(c) && may_hold
    }
}

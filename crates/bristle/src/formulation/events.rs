//! State events: the event functions, whose zero crossings the locator finds, and the mode transition at an event.

use super::diagnostics::ModeChange;
use super::failure::Failure;
use super::kinks::KinkEvent;
use super::machine::Machine;
use super::stops::limits_at_rest;
use super::transition::ContactEvent;
use crate::model::End;
use crate::scene::{Control, Formulation, Kinks};
use crate::signal::{Piece, Signal};
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::{EvalError, FiredEvent, Restart};

/// Largest rotation per step, rad, of the moving joints that affect the load of a stuck joint (`turning`). The event
/// locator samples the break-away function four times a step. A load that follows the sine of an angle, or of twice
/// that angle, and peaks 0.1 % above the limit exceeds it for 0.089 or 0.045 rad.
const TURN: f64 = 0.125;

/// A bristle deflection below this, relative to the Coulomb level, has not changed its sign: a few rounding errors.
const MIN_BEND: f64 = 1e-15;

/// Rounding error of the margin of a group of redundant contacts.
const ROUNDED: f64 = 1e-13;

/// Distance of `f` from the limits of a stuck contact; continuous in f, also where the limits differ.
fn room([up, down]: [f64; 2], f: f64) -> f64 {
    (up - f).min(down + f)
}

impl Machine {
    /// Selects the pieces of the signals that are valid just after `t`.
    pub(crate) fn enter_piece(&mut self, t: f64) {
        self.state.piece = Piece::After(t);
        self.update_servos(t);
        let drives = self.compiled.inputs.drives.iter().filter_map(|drive| drive.next_corner(t));
        let loads = self.compiled.inputs.contacts.iter().filter_map(|c| c.signal()?.next_corner_clamped(t));
        self.state.next_corner = drives.chain(loads).reduce(f64::min);
    }

    /// Limits of a stuck contact for the load found last: see [`Contact::limits`](crate::model::Contact::limits).
    pub(super) fn limits(&self, c: usize) -> [f64; 2] {
        limits_at_rest(&self.compiled.inputs.contacts[c], &self.state.stops[c], self.point.load[c])
    }

    /// The limit in the direction of its friction.
    pub(super) fn limit(&self, c: usize) -> f64 {
        self.limits(c)[usize::from(self.point.friction[c] < 0.0)]
    }

    /// Shifts the event functions of stuck contacts, so that none starts at zero: rounding does not matter, nor do a
    /// limit and an effort that both start from zero. Accelerations and reactions are those of the modes in force.
    pub(super) fn set_slack(&mut self) {
        self.state.slack.fill(0.0);
        // the largest force and the largest moment
        let mut efforts = [0.0_f64; 2];
        for (k, tau) in self.point.tau.iter().enumerate() {
            let effort = &mut efforts[usize::from(self.compiled.model.tree.turns(k))];
            *effort = effort.max(tau.abs());
        }
        for c in 0..self.state.slack.len() {
            if self.sticks(c) {
                // a contact of a redundant group exceeds its limit by so little that the group still sticks: the next
                // event comes when the excess has grown, not at every rounding error
                let times = if self.state.contact_event[c] == ContactEvent::BreaksAway { 8.0 } else { 1.0 };
                if let Some((margin, _)) = self.constraints.margin(c) {
                    self.state.slack[c] = times * ((-margin).max(0.0) + ROUNDED);
                    continue;
                }
                let contact = &self.compiled.inputs.contacts[c];
                let strength = contact.arm * contact.law.event_driven().map_or(0.0, |law| law.stiction_level());
                let ([up, down], f) = (self.limits(c), self.point.friction[c]);
                let effort = efforts[usize::from(self.compiled.model.tree.turns(contact.v))];
                let limits = [up, down].into_iter().filter(|limit| limit.is_finite()).fold(f.abs(), f64::max);
                let size = limits.max(effort).max(strength * contact.largest());
                let beyond = (-room([up, down], f)).max(0.0);
                self.state.slack[c] = times * (beyond + 4.0 * f64::EPSILON * size);
            }
        }
    }

    /// The contact of an event function. Contacts with modes come first, with those whose kinks are events; then
    /// one-way clutches without modes, whose load changes where the bristle deflection, or the slip of a smooth law,
    /// changes its sign.
    fn contact_of_event(&self, index: usize) -> Option<usize> {
        let bends = (0..self.state.mode.len()).filter(|&c| self.compiled.inputs.contacts[c].has_two_sides());
        (0..self.state.mode.len()).filter(|&c| self.has_event(c)).chain(bends).nth(index)
    }

    /// Number of event functions.
    pub(super) fn count_events(&self) -> usize {
        self.first_kink() + self.count_kinks() + self.count_gaps()
    }

    /// Number of event functions before those of `kinks`.
    fn first_kink(&self) -> usize {
        let bends = self.compiled.inputs.contacts.iter().filter(|contact| contact.has_two_sides()).count();
        (0..self.state.mode.len()).filter(|&c| self.has_event(c)).count() + bends
    }

    /// The kink of an event function, if it belongs to one.
    fn kink_of(&self, index: usize) -> Option<KinkEvent> {
        self.kink_of_event(index.checked_sub(self.first_kink())?)
    }

    /// The stop of an event function, if it belongs to one.
    fn gap_of(&self, index: usize) -> Option<(usize, End)> {
        self.gap_of_event(index.checked_sub(self.first_kink() + self.count_kinks())?)
    }

    /// Name of the joint or coupling whose friction or stop an event concerns.
    pub(crate) fn name_of_event(&self, index: usize) -> String {
        let kink = self.kink_of(index).and_then(KinkEvent::contact).or(self.gap_of(index).map(|gap| gap.0));
        self.contact_of_event(index).or(kink).map_or("", |c| self.compiled.contact_name(c)).to_owned()
    }

    pub(super) fn has_event(&self, c: usize) -> bool {
        let contact = &self.compiled.inputs.contacts[c];
        contact.is_event_driven() || (self.scheme.kink_tolerance.is_some() && contact.law.n_states() > 0)
    }

    /// The quantity that changes sign at a kink of the contact's law: the slip rate, or the rate of the deflection.
    pub(super) fn kink_value(&self, c: usize, rate: f64) -> f64 {
        let contact = &self.compiled.inputs.contacts[c];
        if self.scheme.kinks != Kinks::Deflection || contact.law.n_states() == 0 {
            return rate;
        }
        contact.law.rates(contact.arm * rate, self.point.bristles[c])[0] / contact.law.sigma0()
    }

    /// Sets the rule of prescribed steps.
    pub(crate) fn set_step_control(&mut self, control: Control) {
        self.scheme.step_control = control;
    }

    /// Selects which kinks of bristle laws are events, if any are.
    pub(crate) fn set_kinks(&mut self, kink: Kinks) {
        self.scheme.kinks = kink;
        if kink == Kinks::Off {
            self.scheme.kink_tolerance = None;
        }
    }

    /// Event functions at (t, y).
    pub(super) fn fill_events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        self.scatter(t, y);
        if self.coordinates.is_stuck || self.needs_reactions() {
            self.place().map_err(|e| self.record_failure(e))?;
            self.efforts(t);
            self.evaluate_stuck(t).map_err(|e| self.record_failure(e))?;
        }
        let mut g = g.iter_mut();
        for c in 0..self.state.mode.len() {
            let contact = &self.compiled.inputs.contacts[c];
            let v = contact.rate(&self.point.v);
            let value = match (self.state.mode[c], contact.is_event_driven()) {
                // friction without load has no direction
                (_, true) if (self.state.open[c] || contact.is_stop_alone()) && !self.is_closed(c) => 1.0,
                // two prescribed joints stick to each other while their relative velocity is zero
                (Mode::Stuck, true) if self.is_prescribed(c) => self.state.leaving - v.abs(),
                (Mode::Stuck, true) => match self.constraints.margin(c) {
                    // the first contact of a redundant group represents it
                    Some((margin, leader)) if leader == c => margin + self.state.slack[c],
                    Some(_) => 1.0,
                    // the other limit has an event of its own: see `kinks`
                    None if self.has_two_limits(c) => match self.limits(c)[0] {
                        f64::INFINITY => 1.0,
                        limit => limit - self.point.friction[c] + self.state.slack[c],
                    },
                    None => room(self.limits(c), self.point.friction[c]) + self.state.slack[c],
                },
                (sliding, true) => sliding.direction() * v + if self.state.armed[c] { 0.0 } else { self.state.leaving },
                (_, false) => match self.scheme.kink_tolerance {
                    Some(theta) if contact.law.n_states() > 0 => {
                        self.state.heading[c] * self.kink_value(c, v) + self.kink_threshold(c, theta)
                    }
                    _ => continue,
                },
            };
            if let Some(g) = g.next() {
                *g = value;
            }
        }
        for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
            if contact.has_two_sides()
                && let Some(g) = g.next()
            {
                let has_bristles = contact.law.n_states() > 0;
                let effort = || contact.law.effort(contact.arm * contact.rate(&self.point.v), self.point.bristles[c]);
                let side = if has_bristles { self.point.bristles[c][0] } else { effort() };
                let least = (MIN_BEND * contact.law.coulomb_level()).max(f64::MIN_POSITIVE);
                *g = if self.state.backward[c] { -side } else { side } + least;
            }
        }
        self.fill_kinks(t, &mut g);
        self.fill_gaps(g);
        Ok(())
    }

    /// The longest step for which no break-away remains undetected, and for which the quadrature of the work of
    /// prescribed motions is accurate: no error estimate controls it while nothing else moves.
    pub(super) fn longest(&self, y: &[f64]) -> f64 {
        // a prescribed joint that rotates makes sines of its angle
        let turning =
            self.compiled.model.prescribed.iter().filter(|prescribed| self.compiled.model.tree.turns(prescribed.v));
        let fastest = turning.map(|prescribed| self.point.v[prescribed.v].abs()).fold(0.0, f64::max);
        let motion_step = self.scheme.motion_step.min(self.scheme.motion_angle / fastest);
        if !self.coordinates.is_stuck {
            return motion_step;
        }
        // rotation in a step h: |v| h + ½ |a| h² = TURN, summed over all joints that affect a stuck contact
        let mut shortest = motion_step;
        for part in 0..self.compiled.model.turning.n_parts {
            let holds = |c: usize| {
                self.sticks(c) && self.compiled.model.turning.part_of[self.compiled.inputs.contacts[c].v] == part
            };
            if !(0..self.state.mode.len()).any(holds) {
                continue;
            }
            let (mut speed, mut growth) = (0.0, 0.0);
            let affects_dynamics =
                |i: usize| self.compiled.model.turning.affects_dynamics(i, !self.compiled.inputs.wrenches.is_empty());
            let counts = |i: usize| self.compiled.model.turning.part_of[i] == part && affects_dynamics(i);
            let n = self.coordinates.active.len();
            for i in (0..self.point.v.len()).filter(|&i| counts(i)) {
                let rate = self.coordinates.unknowns_of(i).map(|(k, coefficient)| coefficient * y[n + k]).sum::<f64>();
                speed += rate.abs();
                let is_locked = self.coordinates.locked[self.compiled.model.joint_of[i]];
                growth += if rate == 0.0 && is_locked { 0.0 } else { self.point.a[i].abs() };
            }
            for prescribed in self.compiled.model.prescribed.iter().filter(|prescribed| counts(prescribed.v)) {
                speed += self.point.v[prescribed.v].abs();
                growth += self.point.a[prescribed.v].abs();
            }
            shortest = shortest.min(2.0 * TURN / (speed + (speed * speed + 2.0 * growth * TURN).sqrt()));
        }
        shortest
    }

    /// Performs the mode transition of the events at (t, y).
    pub(super) fn pass_events(
        &mut self,
        t: f64,
        y: &mut [f64],
        quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, Failure> {
        self.scatter(t, y);
        self.diagnostics.changes.clear();
        self.diagnostics.stop_changes.clear();
        self.impact.hit.clear();
        self.impact.closed_before.iter_mut().zip(&self.state.stops).for_each(|(before, stop)| *before = stop.closed);
        self.state.contact_event.fill(ContactEvent::No);
        let breaks = |fired: &FiredEvent| match *fired {
            FiredEvent::Root { index, .. } => match self.kink_of(index) {
                Some(KinkEvent::Backward { .. }) => true,
                Some(_) => false,
                None => self.contact_of_event(index).is_some_and(|c| self.sticks(c)),
            },
            FiredEvent::Time => false,
        };
        if self.constraints.is_coupled() && fired.iter().any(breaks) {
            // the margins and slips of redundant groups
            self.place()?;
            self.efforts(t);
            self.evaluate_stuck(t)?;
        }
        let (mut is_fresh, mut is_touched, mut is_hit) = (false, false, false);
        for fired in fired {
            match *fired {
                FiredEvent::Time => {
                    let before = self.state.piece;
                    let servos = self.state.servos.len();
                    is_fresh |= (0..servos).any(|k| self.is_sample_due(k, t));
                    self.enter_piece(t);
                    // an extremum of a signal changes nothing; a corner or a jump does
                    is_fresh |= !self.is_smooth(t, before);
                    quad[1] += self.load_jump(t, before);
                    if !self.compiled.model.prescribed.is_empty() {
                        is_fresh = true;
                        is_hit |= self.take_impulse(t, quad)?;
                    }
                }
                FiredEvent::Root { index, .. } => {
                    if let Some(kink) = self.kink_of(index) {
                        is_fresh = true;
                        if let KinkEvent::Backward { contact } = kink {
                            is_touched = true;
                            self.break_away(contact);
                        }
                        self.pass_kink(t, kink);
                        continue;
                    }
                    if let Some(gap) = self.gap_of(index) {
                        is_fresh = true;
                        is_touched = true;
                        self.impact.hit.push(gap);
                        continue;
                    }
                    let Some(c) = self.contact_of_event(index) else { continue };
                    is_fresh = true;
                    if index >= (0..self.state.mode.len()).filter(|&c| self.has_event(c)).count() {
                        self.state.backward[c] = !self.state.backward[c];
                    } else if self.compiled.inputs.contacts[c].is_event_driven() {
                        is_touched = true;
                        if self.sticks(c) {
                            self.break_away(c);
                        } else {
                            self.state.contact_event[c] = ContactEvent::ComesToRest;
                        }
                    } else {
                        self.state.heading[c] = -self.state.heading[c];
                    }
                }
            }
        }
        self.pass_rests(t);
        if !is_fresh {
            return Ok(Restart::unchanged(self.n_unknowns(self.coordinates.active.len())));
        }
        if is_touched || fired.contains(&FiredEvent::Time) {
            self.point_open();
            if !is_hit {
                self.transition.modes_before.copy_from_slice(&self.state.mode);
            }
            if !self.impact.hit.is_empty() {
                self.take_impacts(t, quad)?;
            }
            self.resolve_modes(t)?;
            self.note_releases();
            self.shift_gaps();
            for (contact, (&from, &to)) in self.transition.modes_before.iter().zip(&self.state.mode).enumerate() {
                let is_open = self.state.open[contact] && self.state.was_open[contact];
                if from != to && !is_open && !self.compiled.inputs.contacts[contact].is_stop_alone() {
                    self.diagnostics.changes.push(ModeChange { contact, from, to });
                }
            }
            self.gather(y);
        }
        self.place_segments();
        self.record_loop_motion();
        Ok(Restart::fresh(self.n_unknowns(self.coordinates.active.len())))
    }

    /// Stuck contact `c` breaks away, together with the contacts that slip in the mechanism of its redundant group.
    pub(super) fn break_away(&mut self, c: usize) {
        let Some((_, leader)) = self.constraints.margin(c) else {
            self.state.contact_event[c] = ContactEvent::BreaksAway;
            let away = self.state.stops[c].closed.map(|end| Mode::of_sign(end.inward()));
            self.transition.leaving[c] = away.unwrap_or(Mode::of_sign(self.point.friction[c]));
            return;
        };
        for other in 0..self.state.mode.len() {
            let is_one = self.constraints.margin(other).is_some_and(|(_, of)| of == leader);
            let slip = Mode::of_sign(self.constraints.slip(other));
            if is_one && slip != Mode::Stuck {
                self.state.contact_event[other] = ContactEvent::BreaksAway;
                self.transition.leaving[other] = slip;
            }
        }
    }

    /// Gives open contacts the mode of their present direction: no event function does.
    pub(super) fn point_open(&mut self) {
        for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
            let rate = contact.rate(&self.point.v);
            if self.state.open[c] && contact.is_event_driven() && rate != 0.0 {
                self.state.mode[c] = Mode::of_sign(rate);
            }
        }
    }

    /// Whether no signal has a corner at `t` that makes the rates of the unknowns jump; `before` is the piece that ends
    /// there.
    fn is_smooth(&self, t: f64, before: Piece) -> bool {
        let after = self.state.piece;
        let is_jerk = self.scheme.formulation == Formulation::Jerk;
        // the step ends at a corner; where the effort does not jump there, the rates of the unknowns are the same on
        // both sides
        let mut drives = self.compiled.inputs.drives.iter();
        let mut loads = self.compiled.inputs.contacts.iter().filter_map(|contact| contact.signal());
        let is_same = |s: &Signal| s.sample(t, before) == s.sample(t, after);
        // a clamped signal has corners where it reaches 0 or 1, from either side
        drives.all(|drive| drive.is_smooth(t, before, after, is_jerk))
            && loads.all(is_same)
            && self.compiled.inputs.contacts.iter().filter_map(|contact| contact.signal()).all(|s| {
                let value = s.sample(t, after).value;
                (1e-9..=1.0 - 1e-9).contains(&value) || s.derivative(t) == 0.0
            })
    }

    /// Stores the failure. A shorter step may avoid some failures; the others are final.
    pub(super) fn record_failure(&mut self, failure: Failure) -> EvalError {
        use bristle_multibody::Error::{Jam, NonFinite};
        let may_go_away = matches!(
            failure,
            Failure::Mechanics(NonFinite { .. } | Jam { .. })
                | Failure::NoAcceleration
                | Failure::Jam(_)
                | Failure::Loop(_)
        );
        self.diagnostics.failure = Some(failure);
        if may_go_away { EvalError::Retry } else { EvalError::Fatal { code: 0 } }
    }
}

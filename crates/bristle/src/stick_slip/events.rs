//! State events: the event functions, whose zero crossings the locator finds, and the mode transition at an event.

use super::kinks::KinkEvent;
use super::machine::Machine;
use crate::dynamics::ContactEvent;
use crate::dynamics::diagnostics::ModeChange;
use crate::dynamics::failure::Failure;
use crate::model::End;
use crate::signal::{Piece, Signal};
use crate::solver::{Control, Formulation, Kinks};
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
    /// Shifts the event functions of stuck contacts, so that none starts at zero: rounding does not matter, nor do a
    /// limit and an effort that both start from zero. Accelerations and reactions are those of the modes in force.
    pub(super) fn set_slack(&mut self) {
        self.dynamics.state.slack.fill(0.0);
        // the largest force and the largest moment
        let mut efforts = [0.0_f64; 2];
        for (k, tau) in self.dynamics.point.tau.iter().enumerate() {
            let effort = &mut efforts[usize::from(self.dynamics.compiled.model.tree.turns(k))];
            *effort = effort.max(tau.abs());
        }
        for c in 0..self.dynamics.state.slack.len() {
            if self.dynamics.sticks(c) {
                // a contact of a redundant group exceeds its limit by so little that the group still sticks: the next
                // event comes when the excess has grown, not at every rounding error
                let times = if self.dynamics.state.contact_event[c] == ContactEvent::BreaksAway { 8.0 } else { 1.0 };
                if let Some((margin, _)) = self.dynamics.constraints.margin(c) {
                    self.dynamics.state.slack[c] = times * ((-margin).max(0.0) + ROUNDED);
                    continue;
                }
                let contact = &self.dynamics.compiled.inputs.contacts[c];
                let strength = contact.arm * contact.law.event_driven().map_or(0.0, |law| law.stiction_level());
                let ([up, down], f) = (self.dynamics.limits(c), self.dynamics.point.friction[c]);
                let effort = efforts[usize::from(self.dynamics.compiled.model.tree.turns(contact.v))];
                let limits = [up, down].into_iter().filter(|limit| limit.is_finite()).fold(f.abs(), f64::max);
                let size = limits.max(effort).max(strength * contact.largest());
                let beyond = (-room([up, down], f)).max(0.0);
                self.dynamics.state.slack[c] = times * (beyond + 4.0 * f64::EPSILON * size);
            }
        }
    }

    /// The contact of an event function. Contacts with modes come first, with those whose kinks are events; then
    /// one-way clutches without modes, whose load changes where the bristle deflection, or the slip of a smooth law,
    /// changes its sign.
    fn contact_of_event(&self, index: usize) -> Option<usize> {
        let bends =
            (0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.compiled.inputs.contacts[c].has_two_sides());
        (0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.has_event(c)).chain(bends).nth(index)
    }

    /// Number of event functions.
    pub(super) fn count_events(&self) -> usize {
        self.first_kink() + self.count_kinks() + self.count_gaps()
    }

    /// Number of event functions before those of `kinks`.
    fn first_kink(&self) -> usize {
        let bends = self.dynamics.compiled.inputs.contacts.iter().filter(|contact| contact.has_two_sides()).count();
        (0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.has_event(c)).count() + bends
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
        self.contact_of_event(index).or(kink).map_or("", |c| self.dynamics.compiled.contact_name(c)).to_owned()
    }

    /// Whether an event is that of a stop which is struck.
    pub(crate) fn is_stop_event(&self, index: usize) -> bool {
        self.gap_of(index).is_some()
    }

    /// Sets the rule of prescribed steps.
    pub(crate) fn set_step_control(&mut self, control: Control) {
        self.dynamics.scheme.step_control = control;
    }

    /// Selects which kinks of bristle laws are events, if any are.
    pub(crate) fn set_kinks(&mut self, kink: Kinks) {
        self.dynamics.scheme.kinks = kink;
        if kink == Kinks::Off {
            self.dynamics.scheme.kink_tolerance = None;
        }
    }

    /// Event functions at (t, y).
    pub(super) fn fill_events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        self.dynamics.scatter(t, y);
        if self.dynamics.coordinates.is_stuck || self.needs_reactions() {
            self.dynamics.place().map_err(|e| self.dynamics.record_failure(e))?;
            self.dynamics.efforts(t);
            self.evaluate_stuck(t).map_err(|e| self.dynamics.record_failure(e))?;
        }
        let mut g = g.iter_mut();
        for c in 0..self.dynamics.state.mode.len() {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let v = contact.rate(&self.dynamics.point.v);
            let value = match (self.dynamics.state.mode[c], contact.is_event_driven()) {
                // friction without load has no direction
                (_, true)
                    if (self.dynamics.state.open[c] || contact.is_stop_alone()) && !self.dynamics.is_closed(c) =>
                {
                    1.0
                }
                // two prescribed joints stick to each other while their relative velocity is zero
                (Mode::Stuck, true) if self.dynamics.is_prescribed(c) => self.dynamics.state.leaving - v.abs(),
                (Mode::Stuck, true) => match self.dynamics.constraints.margin(c) {
                    // the first contact of a redundant group represents it
                    Some((margin, leader)) if leader == c => margin + self.dynamics.state.slack[c],
                    Some(_) => 1.0,
                    // the other limit has an event of its own: see `kinks`
                    None if self.has_two_limits(c) => match self.dynamics.limits(c)[0] {
                        f64::INFINITY => 1.0,
                        limit => limit - self.dynamics.point.friction[c] + self.dynamics.state.slack[c],
                    },
                    None => {
                        room(self.dynamics.limits(c), self.dynamics.point.friction[c]) + self.dynamics.state.slack[c]
                    }
                },
                (sliding, true) => {
                    sliding.direction() * v
                        + if self.dynamics.state.armed[c] { 0.0 } else { self.dynamics.state.leaving }
                }
                (_, false) => match self.dynamics.scheme.kink_tolerance {
                    Some(theta) if contact.law.n_states() > 0 => {
                        self.dynamics.state.heading[c] * self.dynamics.kink_value(c, v) + self.kink_threshold(c, theta)
                    }
                    _ => continue,
                },
            };
            if let Some(g) = g.next() {
                *g = value;
            }
        }
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            if contact.has_two_sides()
                && let Some(g) = g.next()
            {
                let has_bristles = contact.law.n_states() > 0;
                let effort = || {
                    contact
                        .law
                        .effort(contact.arm * contact.rate(&self.dynamics.point.v), self.dynamics.point.bristles[c])
                };
                let side = if has_bristles { self.dynamics.point.bristles[c][0] } else { effort() };
                let least = (MIN_BEND * contact.law.coulomb_level()).max(f64::MIN_POSITIVE);
                *g = if self.dynamics.state.backward[c] { -side } else { side } + least;
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
        let turning = self
            .dynamics
            .compiled
            .model
            .prescribed
            .iter()
            .filter(|prescribed| self.dynamics.compiled.model.tree.turns(prescribed.v));
        let fastest = turning.map(|prescribed| self.dynamics.point.v[prescribed.v].abs()).fold(0.0, f64::max);
        let motion_step = self.dynamics.scheme.motion_step.min(self.dynamics.scheme.motion_angle / fastest);
        if !self.dynamics.coordinates.is_stuck {
            return motion_step;
        }
        // rotation in a step h: |v| h + ½ |a| h² = TURN, summed over all joints that affect a stuck contact
        let mut shortest = motion_step;
        for part in 0..self.dynamics.compiled.model.turning.n_parts {
            let holds = |c: usize| {
                self.dynamics.sticks(c)
                    && self.dynamics.compiled.model.turning.part_of[self.dynamics.compiled.inputs.contacts[c].v] == part
            };
            if !(0..self.dynamics.state.mode.len()).any(holds) {
                continue;
            }
            let (mut speed, mut growth) = (0.0, 0.0);
            let affects_dynamics = |i: usize| {
                self.dynamics
                    .compiled
                    .model
                    .turning
                    .affects_dynamics(i, !self.dynamics.compiled.inputs.wrenches.is_empty())
            };
            let counts = |i: usize| self.dynamics.compiled.model.turning.part_of[i] == part && affects_dynamics(i);
            let n = self.dynamics.coordinates.active.len();
            for i in (0..self.dynamics.point.v.len()).filter(|&i| counts(i)) {
                let rate = self
                    .dynamics
                    .coordinates
                    .unknowns_of(i)
                    .map(|(k, coefficient)| coefficient * y[n + k])
                    .sum::<f64>();
                speed += rate.abs();
                let is_locked = self.dynamics.coordinates.locked[self.dynamics.compiled.model.joint_of[i]];
                growth += if rate == 0.0 && is_locked { 0.0 } else { self.dynamics.point.a[i].abs() };
            }
            for prescribed in self.dynamics.compiled.model.prescribed.iter().filter(|prescribed| counts(prescribed.v)) {
                speed += self.dynamics.point.v[prescribed.v].abs();
                growth += self.dynamics.point.a[prescribed.v].abs();
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
        self.dynamics.scatter(t, y);
        self.dynamics.diagnostics.changes.clear();
        self.dynamics.diagnostics.stop_changes.clear();
        self.impact.hit.clear();
        self.impact
            .closed_before
            .iter_mut()
            .zip(&self.dynamics.state.stops)
            .for_each(|(before, stop)| *before = stop.closed);
        self.dynamics.state.contact_event.fill(ContactEvent::No);
        let breaks = |fired: &FiredEvent| match *fired {
            FiredEvent::Root { index, .. } => match self.kink_of(index) {
                Some(KinkEvent::Backward { .. }) => true,
                Some(_) => false,
                None => self.contact_of_event(index).is_some_and(|c| self.dynamics.sticks(c)),
            },
            FiredEvent::Time => false,
        };
        if self.dynamics.constraints.is_coupled() && fired.iter().any(breaks) {
            // the margins and slips of redundant groups
            self.dynamics.place()?;
            self.dynamics.efforts(t);
            self.evaluate_stuck(t)?;
        }
        let (mut is_fresh, mut is_touched, mut is_hit) = (false, false, false);
        for fired in fired {
            match *fired {
                FiredEvent::Time => {
                    let before = self.dynamics.state.piece;
                    let servos = self.dynamics.state.servos.len();
                    is_fresh |= (0..servos).any(|k| self.dynamics.is_sample_due(k, t));
                    self.dynamics.enter_piece(t);
                    // an extremum of a signal changes nothing; a corner or a jump does
                    is_fresh |= !self.is_smooth(t, before);
                    quad[1] += self.dynamics.load_jump(t, before);
                    if !self.dynamics.compiled.model.prescribed.is_empty() {
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
                    if index >= (0..self.dynamics.state.mode.len()).filter(|&c| self.dynamics.has_event(c)).count() {
                        self.dynamics.state.backward[c] = !self.dynamics.state.backward[c];
                    } else if self.dynamics.compiled.inputs.contacts[c].is_event_driven() {
                        is_touched = true;
                        if self.dynamics.sticks(c) {
                            self.break_away(c);
                        } else {
                            self.dynamics.state.contact_event[c] = ContactEvent::ComesToRest;
                        }
                    } else {
                        self.dynamics.state.heading[c] = -self.dynamics.state.heading[c];
                    }
                }
            }
        }
        self.jump.has_jumped = is_hit;
        self.pass_rests(t);
        if !is_fresh {
            return Ok(Restart::unchanged(self.dynamics.n_unknowns(self.dynamics.coordinates.active.len())));
        }
        if is_touched || fired.contains(&FiredEvent::Time) {
            self.point_open();
            if !is_hit {
                self.transition.modes_before.copy_from_slice(&self.dynamics.state.mode);
            }
            if !self.impact.hit.is_empty() {
                self.take_impacts(t, quad)?;
            }
            if is_hit || !self.impact.hit.is_empty() {
                // demands jump with velocities
                self.dynamics.set_regimes(t);
            }
            self.resolve_modes(t)?;
            self.note_releases();
            self.shift_gaps();
            for (contact, (&from, &to)) in
                self.transition.modes_before.iter().zip(&self.dynamics.state.mode).enumerate()
            {
                let is_open = self.dynamics.state.open[contact] && self.dynamics.state.was_open[contact];
                if from != to && !is_open && !self.dynamics.compiled.inputs.contacts[contact].is_stop_alone() {
                    self.dynamics.diagnostics.changes.push(ModeChange { contact, from, to });
                }
            }
            self.dynamics.gather(y);
        }
        self.place_segments();
        self.dynamics.record_loop_motion();
        Ok(Restart::fresh(self.dynamics.n_unknowns(self.dynamics.coordinates.active.len())))
    }

    /// Stuck contact `c` breaks away, together with the contacts that slip in the mechanism of its redundant group.
    pub(super) fn break_away(&mut self, c: usize) {
        let Some((_, leader)) = self.dynamics.constraints.margin(c) else {
            self.dynamics.state.contact_event[c] = ContactEvent::BreaksAway;
            let away = self.dynamics.state.stops[c].closed.map(|end| Mode::of_sign(end.inward()));
            self.transition.leaving[c] = away.unwrap_or(Mode::of_sign(self.dynamics.point.friction[c]));
            return;
        };
        for other in 0..self.dynamics.state.mode.len() {
            let is_one = self.dynamics.constraints.margin(other).is_some_and(|(_, of)| of == leader);
            let slip = Mode::of_sign(self.dynamics.constraints.slip(other));
            if is_one && slip != Mode::Stuck {
                self.dynamics.state.contact_event[other] = ContactEvent::BreaksAway;
                self.transition.leaving[other] = slip;
            }
        }
    }

    /// Gives open contacts the mode of their present direction: no event function does.
    pub(super) fn point_open(&mut self) {
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            let rate = contact.rate(&self.dynamics.point.v);
            if self.dynamics.state.open[c] && contact.is_event_driven() && rate != 0.0 {
                self.dynamics.state.mode[c] = Mode::of_sign(rate);
            }
        }
    }

    /// Whether no signal has a corner at `t` that makes the rates of the unknowns jump; `before` is the piece that ends
    /// there.
    fn is_smooth(&self, t: f64, before: Piece) -> bool {
        let after = self.dynamics.state.piece;
        let is_jerk = self.dynamics.scheme.formulation == Formulation::Jerk;
        // the step ends at a corner; where the effort does not jump there, the rates of the unknowns are the same on
        // both sides
        let mut drives = self.dynamics.compiled.inputs.drives.iter();
        let mut loads = self.dynamics.compiled.inputs.contacts.iter().filter_map(|contact| contact.signal());
        let is_same = |s: &Signal| s.sample(t, before) == s.sample(t, after);
        // a clamped signal has corners where it reaches 0 or 1, from either side
        drives.all(|drive| drive.is_smooth(t, before, after, is_jerk))
            && loads.all(is_same)
            && self.dynamics.compiled.inputs.contacts.iter().filter_map(|contact| contact.signal()).all(|s| {
                let value = s.sample(t, after).value;
                (1e-9..=1.0 - 1e-9).contains(&value) || s.derivative(t) == 0.0
            })
    }
}

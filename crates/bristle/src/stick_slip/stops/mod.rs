//! Joint stops: gaps, resting contact, release.
//!
//! ```text
//! open      gap g > 0                            falls through 0: impact, see `impact`
//! closed    0 ≤ λ ⊥ d a ≥ 0                      λ falls through 0, beyond what friction holds: release
//! ```
//!
//! d is the direction into the range. A closed stop shares the contact of its joint: the joint is locked, its position
//! is the bound and its velocity 0.0; one of the two limits of the contact is infinite. Mode selection, event functions
//! and redundant groups need no more than that. A joint without friction has a contact of level zero for its stops
//! ([`crate::model::Stops`]). The effort of the contact is friction up to its own limit, and λ for the rest: how both
//! share a resting load is not determined.
//!
//! **No event function starts at zero.** A joint that has just left its stop has g = 0: its event function is g + ε
//! until g exceeds ε. After a rebound ε is a rounding error of the bound: a larger one would delay the next of many
//! fast bounces. A joint that leaves from rest has no speed yet: ε is then the *resolution* of gaps, a thousandth of
//! the absolute tolerance.

mod cascade;
mod impact;
mod nonnegative;
mod rests;

use super::machine::Machine;
use crate::dynamics::event_state::StopState;
use crate::dynamics::{Failure, StopChange};
use crate::error::{Error, Result};
use crate::model::{End, Stops};
use bristle_friction::Mode;
pub(super) use impact::ImpactWork;

/// Distance past a stop after an accepted step that is an error: in tolerances of a position,
const PAST: f64 = 10.0;
/// and relative to the bound where steps are not error-controlled.
const ROUNDED_PAST: f64 = 1e-10;

/// A start outside the limits by less than this, in resolutions of the gap, is a start at the bound.
const OUTSIDE: f64 = 2.0;

/// Resolution of gaps, as a fraction of the absolute tolerance of positions.
const RESOLUTION: f64 = 1e-3;

impl Machine {
    /// The stops of a contact.
    fn stops(&self, c: usize) -> Option<Stops> {
        self.dynamics.compiled.inputs.contacts[c].stops
    }

    /// Gap at an end of the range of a contact.
    fn gap(&self, c: usize, stops: &Stops, end: End) -> f64 {
        stops.gap(end, self.dynamics.point.xi[self.dynamics.compiled.inputs.contacts[c].v])
    }

    /// ε of a gap.
    fn gap_resolution(&self, stops: &Stops) -> f64 {
        let tolerance = RESOLUTION * self.dynamics.scheme.kink_tolerance.unwrap_or(0.0);
        tolerance.max(8.0 * stops.rounding()).max(f64::MIN_POSITIVE)
    }

    /// The stops with event functions, in order.
    fn gap_events(&self) -> impl Iterator<Item = (usize, Stops, End)> + '_ {
        let contacts = self.dynamics.compiled.inputs.contacts.iter().enumerate();
        contacts
            .filter_map(|(c, contact)| contact.stops.map(|stops| (c, stops)))
            .flat_map(|(c, stops)| stops.ends().map(move |end| (c, stops, end)))
    }

    /// Number of these event functions.
    pub(super) fn count_gaps(&self) -> usize {
        self.gap_events().count()
    }

    /// The stop of the event function `index`, counted from the first of a gap.
    pub(super) fn gap_of_event(&self, index: usize) -> Option<(usize, End)> {
        self.gap_events().nth(index).map(|(c, _, end)| (c, end))
    }

    /// Event functions of the gaps.
    pub(super) fn fill_gaps<'a>(&self, g: impl Iterator<Item = &'a mut f64>) {
        for (g, (c, stops, end)) in g.zip(self.gap_events()) {
            let StopState { closed, shift, .. } = &self.dynamics.state.stops[c];
            *g = if *closed == Some(end) { 1.0 } else { self.gap(c, &stops, end) + shift[end as usize] };
        }
    }

    /// Stops at the start: a joint at rest at its bound has a closed stop.
    pub(super) fn begin_stops(&mut self) {
        for c in 0..self.dynamics.state.stops.len() {
            let Some(stops) = self.stops(c) else { continue };
            let resolution = self.gap_resolution(&stops);
            let mut state = StopState::default();
            for end in stops.ends() {
                let (v, gap) = (self.dynamics.compiled.inputs.contacts[c].v, self.gap(c, &stops, end));
                state.shift[end as usize] = if gap > resolution { 0.0 } else { resolution };
                // farther outside, the start is refused
                if gap <= stops.rounding() && gap >= -OUTSIDE * resolution {
                    self.dynamics.point.xi[v] = stops.bound(end);
                    if self.dynamics.point.v[v] == 0.0 && !self.dynamics.is_prescribed(c) {
                        state.closed = Some(end);
                    }
                }
            }
            self.dynamics.state.stops[c] = state;
        }
        self.dynamics.state.is_any_gap_unarmed = self.dynamics.state.stops.iter().any(|stop| stop.shift != [0.0; 2]);
    }

    /// Refuses a start outside the limits.
    pub(super) fn check_within_limits(&self) -> Result<()> {
        for (c, stops, end) in self.gap_events() {
            let joint = || self.dynamics.compiled.contact_name(c).to_owned();
            let (gap, bound) = (self.gap(c, &stops, end), stops.bound(end));
            if gap < -OUTSIDE * self.gap_resolution(&stops) {
                let position = self.dynamics.point.xi[self.dynamics.compiled.inputs.contacts[c].v];
                return Err(Error::OutsideLimits { joint: joint(), position, bound });
            }
        }
        Ok(())
    }

    /// Refuses a joint that is past its stop after an accepted step: an event was missed.
    pub(super) fn check_stops(&self) -> std::result::Result<(), Failure> {
        for (c, stops, end) in self.gap_events() {
            let bound = stops.bound(end);
            let shift = self.dynamics.state.stops[c].shift[end as usize];
            let tolerance = PAST * self.dynamics.scheme.position_tolerance(bound) + 2.0 * shift;
            if self.gap(c, &stops, end) < -tolerance.max(ROUNDED_PAST * (1.0 + bound.abs())) {
                let position = self.dynamics.point.xi[self.dynamics.compiled.inputs.contacts[c].v];
                return Err(Failure::PastStop { contact: c, position, bound });
            }
        }
        Ok(())
    }

    /// Opens the stops of joints that move.
    pub(super) fn open_moving_stops(&mut self) {
        self.open_stops(|machine, c| machine.dynamics.point.v[machine.dynamics.compiled.inputs.contacts[c].v] != 0.0);
    }

    /// Opens the stops of joints whose selected modes leave them.
    pub(super) fn open_left_stops(&mut self) {
        self.open_stops(|machine, c| machine.dynamics.state.mode[c] != Mode::Stuck);
    }

    fn open_stops(&mut self, is_open: impl Fn(&Self, usize) -> bool) {
        for c in 0..self.dynamics.state.stops.len() {
            let (Some(stops), Some(end)) = (self.stops(c), self.dynamics.state.stops[c].closed) else { continue };
            if is_open(self, c) {
                self.dynamics.state.stops[c].closed = None;
                self.dynamics.state.stops[c].shift[end as usize] = self.gap_resolution(&stops);
                self.dynamics.state.is_any_gap_unarmed = true;
            }
        }
    }

    /// Makes the event functions of all open stops positive: the position of a dependent joint may be beyond its
    /// bound by rounding.
    pub(super) fn shift_gaps(&mut self) {
        for c in 0..self.dynamics.state.stops.len() {
            let Some(stops) = self.stops(c) else { continue };
            let v = self.dynamics.compiled.inputs.contacts[c].v;
            let rounding = stops.rounding()
                + 4.0 * f64::EPSILON * self.dynamics.coordinates.size(v, &self.dynamics.point.xi, true);
            for end in stops.ends() {
                let gap = self.gap(c, &stops, end);
                if self.dynamics.state.stops[c].closed != Some(end) && gap <= rounding {
                    let shift = &mut self.dynamics.state.stops[c].shift[end as usize];
                    *shift = shift.max(rounding - 2.0 * gap.min(0.0)).max(f64::MIN_POSITIVE);
                    self.dynamics.state.is_any_gap_unarmed = true;
                }
            }
        }
    }

    /// Arms the gaps that exceed their ε; whether any is not armed yet.
    pub(super) fn arm_gaps(&mut self) -> bool {
        let mut is_any_left = false;
        for c in 0..self.dynamics.state.stops.len() {
            let Some(stops) = self.stops(c) else { continue };
            for end in stops.ends() {
                let shift = self.dynamics.state.stops[c].shift[end as usize];
                if shift != 0.0 && self.gap(c, &stops, end) > shift {
                    self.dynamics.state.stops[c].shift[end as usize] = 0.0;
                } else {
                    is_any_left |= shift != 0.0 && self.dynamics.state.stops[c].closed != Some(end);
                }
            }
        }
        is_any_left
    }

    /// The next end of a summed sequence of bounces.
    pub(super) fn next_rest(&self) -> f64 {
        self.dynamics.state.stops.iter().fold(f64::INFINITY, |next, stop| next.min(stop.rest_at))
    }

    /// Records the sequences of bounces that end at `t`.
    pub(super) fn pass_rests(&mut self, t: f64) {
        for c in 0..self.dynamics.state.stops.len() {
            let stop = &mut self.dynamics.state.stops[c];
            if stop.rest_at > t {
                continue;
            }
            stop.rest_at = f64::INFINITY;
            if let Some(end) = stop.closed {
                let from = Mode::of_sign(-end.inward());
                let change = StopChange { contact: c, end, is_release: false, from, to: Mode::Stuck };
                self.dynamics.diagnostics.stop_changes.push(change);
            }
        }
    }

    /// Records the stops that have opened since the event began. A joint that leaves its stop in the instant of a
    /// plastic impact has not come to rest.
    pub(super) fn note_releases(&mut self) {
        for change in &mut self.dynamics.diagnostics.stop_changes {
            let is_closed = self.dynamics.state.stops[change.contact].closed == Some(change.end);
            if !change.is_release && change.to == Mode::Stuck && !is_closed {
                change.to = Mode::of_sign(change.end.inward());
            }
        }
        for c in 0..self.dynamics.state.stops.len() {
            let (before, now) = (self.impact.closed_before[c], self.dynamics.state.stops[c].closed);
            if let Some(end) = before.filter(|_| now.is_none()) {
                self.dynamics.state.stops[c].rest_at = f64::INFINITY;
                let change = StopChange {
                    contact: c,
                    end,
                    is_release: true,
                    from: Mode::Stuck,
                    to: Mode::of_sign(end.inward()),
                };
                self.dynamics.diagnostics.stop_changes.push(change);
            }
        }
    }

    /// Separates the effort of contacts with closed stops: friction up to its limit, and the stop for the rest.
    pub(super) fn share_stops(&mut self) {
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            self.dynamics.point.stop_effort[c] = 0.0;
            if let (Some(_), Some(end)) = (contact.stops, self.dynamics.state.stops[c].closed) {
                let point = &self.dynamics.point;
                let [up, down] = contact.limits(contact.sides(point.load[c], &point.force[c]));
                // a stop pushes into the range: beyond the other limit there is a rounding error alone
                let friction = match end {
                    End::Lower => self.dynamics.point.friction[c].max(-down),
                    End::Upper => self.dynamics.point.friction[c].min(up),
                };
                self.dynamics.point.stop_effort[c] = friction - self.dynamics.point.friction[c];
                self.dynamics.point.friction[c] = friction;
            }
        }
    }
}

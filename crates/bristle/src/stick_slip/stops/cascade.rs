//! Impacts that follow one another at one instant.
//!
//! Two or more joints may be in touch with their stops while some of them leave: the impact of one throws the other
//! back. Between such impacts the joints move by less than the tolerance, and their order in time is not resolved.
//! With gaps of zero all of them happen at one instant:
//!
//! ```text
//! v⁻ → v¹ → v² → …       each by the complementarity problem of the stops approached, see `impact`        (1)
//! ```
//!
//! A joint that leaves its stop so slowly that its speed is nothing beside the one with which it is thrown back rests
//! there as far as this impact is concerned, and takes part in it: it has come from rest within the resolution.
//!
//! The sequence ends when no joint in touch approaches its stop any more. Where impacts excite one another it does not
//! end, but converges: with n stops in touch whose joints come to rest, and impulses on these joints alone, the
//! momenta of the other joints are conserved, so that the limit is known,
//!
//! ```text
//! d v = 0 on the n stops,       M Δv = dᵀP                                                                 (2)
//! ```
//!
//! whatever the restitutions. (2) is solved once the approaching joints have lost all but the fraction [`SPENT`] of
//! their speeds.

use super::Machine;
use crate::dynamics::StopChange;
use crate::dynamics::failure::Failure;
use crate::model::End;
use bristle_friction::Mode;

/// Fraction of the largest speed at the same instant below which a joint has come to rest: that of a rounding error,
/// with room for the errors of some hundred impacts.
const SPENT: f64 = 1e-10;

/// Speed of a joint that leaves its stop, relative to the one with which it is thrown back, below which it rests there.
const RESTING: f64 = 1e-6;

/// Approaches below this, relative to the speed before, are rounding errors.
const ROUNDED: f64 = 1e-12;

/// Limit of the impacts at one instant. A sequence that loses half a percent of its speed in each is spent by then.
const MAX_IMPACTS: usize = 4096;

impl Machine {
    /// Performs the impacts on the stops in `impact.hit`, and those that follow from them at the same instant; adds
    /// their heat to `quad`. Modes are selected afterwards.
    pub(in crate::stick_slip) fn take_impacts(&mut self, t: f64, quad: &mut [f64]) -> Result<(), Failure> {
        self.impact.n_followed = 0;
        self.impact.is_last = false;
        self.impact.fastest.fill(0.0);
        self.find_touching()?;
        for n in 0..MAX_IMPACTS {
            if self.impact.stops.is_empty() {
                break;
            }
            self.impact.n_followed = n;
            self.take_impact(t, quad)?;
            if self.impact.is_last || !self.is_thrown_back() {
                break;
            }
            self.impact.is_last = self.is_spent();
            self.find_touching()?;
        }
        Ok(())
    }

    /// The stops in touch, whether approached or not.
    fn in_touch(&self) -> impl Iterator<Item = (usize, End)> + '_ {
        let contacts = self.dynamics.compiled.inputs.contacts.iter().enumerate();
        let stops = contacts.filter_map(|(c, contact)| contact.stops.map(|stops| (c, stops)));
        let ends = stops.flat_map(|(c, stops)| stops.ends().map(move |end| (c, stops, end)));
        ends.filter(|&(c, stops, end)| self.is_in_touch(c, &stops, end)).map(|(c, _, end)| (c, end))
    }

    /// Whether the last impact has thrown a joint that was leaving its stop back to it.
    fn is_thrown_back(&self) -> bool {
        self.in_touch().any(|(c, end)| {
            let v = self.dynamics.compiled.inputs.contacts[c].v;
            let [before, after] = [self.impact.before[v], self.dynamics.point.v[v]].map(|v| end.inward() * v);
            before > 0.0 && after < -ROUNDED * before
        })
    }

    /// Adds the stops on which joints rest, to the resolution, that the impulses found throw back; whether there are
    /// any. The impact is to be solved again.
    pub(super) fn include_resting(&mut self) -> bool {
        let contacts = &self.dynamics.compiled.inputs.contacts;
        let is_included = |&(c, end): &(usize, End)| {
            let v = contacts[c].v;
            let [before, after] = [self.impact.before[v], self.dynamics.point.v[v]].map(|v| end.inward() * v);
            before > 0.0 && after < 0.0 && before <= -RESTING * after && !self.impact.stops.contains(&(c, end))
        };
        let Some(stop) = self.in_touch().find(is_included) else { return false };
        let n = self.impact.n_stops;
        self.impact.stops.insert(n, stop);
        self.impact.rests.insert(n, None);
        self.impact.n_stops += 1;
        true
    }

    /// Whether all joints that approach stops in touch have lost their speeds.
    fn is_spent(&mut self) -> bool {
        let mut is_spent = true;
        for c in 0..self.dynamics.state.stops.len() {
            let v = self.dynamics.compiled.inputs.contacts[c].v;
            let fastest = self.dynamics.point.v[v].abs().max(self.impact.before[v].abs());
            self.impact.fastest[c] = self.impact.fastest[c].max(fastest);
        }
        for (c, end) in self.in_touch() {
            let approach = -end.inward() * self.dynamics.point.v[self.dynamics.compiled.inputs.contacts[c].v];
            is_spent &= approach <= SPENT * self.impact.fastest[c];
        }
        is_spent
    }

    /// Whether a joint that leaves its stop comes to rest there, by (2).
    pub(super) fn is_spent_at(&self, c: usize, v: f64) -> bool {
        self.impact.is_last && v.abs() <= SPENT.sqrt() * self.impact.fastest[c]
    }

    /// Records an impact. Several of one stop at one instant are one.
    pub(super) fn note_impact(&mut self, change: StopChange) {
        let changes = &mut self.dynamics.diagnostics.stop_changes;
        let is_same = |former: &&mut StopChange| {
            !former.is_release && former.contact == change.contact && former.end == change.end
        };
        match changes.iter_mut().find(is_same).filter(|_| self.impact.n_followed > 0) {
            Some(former) => former.to = change.to,
            None => changes.push(change),
        }
    }

    /// Direction of motion after impact number i at t. The later end of a summed sequence of bounces has a record of
    /// its own.
    pub(super) fn direction_after(&self, t: f64, i: usize) -> Mode {
        let (_, end) = self.impact.stops[i];
        let is_at_rest = self.impact.rests[i].map_or(self.impact.restitution[i] == 0.0, |rest| t + rest <= t);
        if is_at_rest { Mode::Stuck } else { Mode::of_sign(end.inward()) }
    }
}

//! Impacts on stops: velocities jump, several stops at one instant.
//!
//! With P the impulses of the stops that are in touch and whose joints approach or rest, d the directions into the
//! ranges, W the Delassus matrix of the machine and Newton's restitution e,
//!
//! ```text
//! M Δv = dᵀP,       0 ≤ d (v⁺ + e v⁻) ⊥ P ≥ 0                               (1)
//! ΔT = ½ Σ P d (1 − e) v⁻ ≤ 0                                               (2)
//! ```
//!
//! a linear complementarity problem (`nonnegative`). Couplings and prescribed motions are constraints. Friction is
//! finite: it has no impulse, and a stuck contact is not locked during an impact. (2) is the heat of each joint.
//!
//! Joints whose further bounces are summed, and contacts that an impact sets free for less than the resolution, are
//! *held*: see `rests`.

use super::nonnegative::Nonnegative;
use crate::dynamics::Dynamics;
use crate::dynamics::event_state::StopState;
use crate::dynamics::failure::Failure;
use crate::dynamics::implicit::NewtonWork;
use crate::dynamics::{ContactEvent, StopChange};
use crate::model::{Compiled, End, Stops};
use crate::stick_slip::machine::Machine;
use bristle_friction::Mode;
use bristle_multibody::{axis_row, rnea, solve_rows};

/// Stops within this fraction of the tolerance of positions are in touch with one that is hit: the order of their
/// impacts is not resolved.
const TOGETHER: f64 = 1e-2;

/// Changes of velocities below this, relative to their terms, are rounding errors.
const ROUNDED: f64 = 1e-14;

/// Velocities of loops below this, relative to those whose difference they are, are rounding: a machine that an impact
/// stops must not creep on.
const CANCELLED: f64 = 1e-13;

/// A joint on which others depend more steeply than this, in scaled coordinates, is near a dead centre: moving it by
/// the error of an event, some 1e-13, would move the others by more than the tolerance of that event.
const DEAD_CENTRE: f64 = 1e4;

/// Rows of (1) for which there is room from the start. More of them at one instant take memory n² when they occur.
const MAX_READY: usize = 100;

/// Scratch of an impact.
#[derive(Debug, Clone)]
pub(in crate::stick_slip) struct ImpactWork {
    /// The stops hit; the stops of (1).
    pub hit: Vec<(usize, End)>,
    pub(super) stops: Vec<(usize, End)>,
    /// M⁻¹ of the unit effort on each, row by row; W; b; e.
    columns: Vec<f64>,
    delassus: Vec<f64>,
    approach: Vec<f64>,
    pub(super) restitution: Vec<f64>,
    /// T of each stop whose bounces end here; whether it is held.
    pub(super) rests: Vec<Option<f64>>,
    held: Vec<bool>,
    /// Number of stops in `stops`; contacts that stay stuck follow.
    pub(super) n_stops: usize,
    /// Number of impacts before this one at the same instant; whether it brings all joints in touch to rest; the
    /// largest speed at this instant, one per contact: see `cascade`.
    pub(super) n_followed: usize,
    pub(super) is_last: bool,
    pub(super) fastest: Vec<f64>,
    problem: Nonnegative,
    /// Velocities before; modes, events and armed contacts before; `n_v`, one per contact.
    pub(super) before: Vec<f64>,
    pub(super) mode: Vec<Mode>,
    contact_event: Vec<ContactEvent>,
    armed: Vec<bool>,
    open: Vec<bool>,
    pub(super) stops_before: Vec<StopState>,
    /// Whether the joint of each velocity is in touch; `n_v`.
    is_touching: Vec<bool>,
    /// Closed stops before the event.
    pub closed_before: Vec<Option<End>>,
}

impl ImpactWork {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, contacts) = (compiled.model.tree.n_v, &compiled.inputs.contacts);
        let n_contacts = contacts.len();
        let n_stops = contacts.iter().filter(|contact| contact.stops.is_some()).count();
        // each contact once, and once more for the second end of a range; none without stops
        let n = if n_stops == 0 { 0 } else { (n_contacts + n_stops).min(MAX_READY) };
        Self {
            hit: Vec::with_capacity(n),
            stops: Vec::with_capacity(n),
            columns: Vec::with_capacity(n * n_v),
            delassus: Vec::with_capacity(n * n),
            approach: Vec::with_capacity(n),
            restitution: Vec::with_capacity(n),
            rests: Vec::with_capacity(n),
            held: Vec::with_capacity(n),
            n_stops: 0,
            n_followed: 0,
            is_last: false,
            fastest: vec![0.0; n_contacts],
            problem: Nonnegative::new(n),
            before: vec![0.0; n_v],
            mode: vec![Mode::Stuck; n_contacts],
            contact_event: vec![ContactEvent::No; n_contacts],
            armed: vec![false; n_contacts],
            open: vec![false; n_contacts],
            stops_before: vec![StopState::default(); n_contacts],
            is_touching: vec![false; n_v],
            closed_before: vec![None; n_contacts],
        }
    }

    /// Contacts that stay stuck are rows of (1), like stops with e = 0 that are held.
    pub(super) fn keep_stuck(&mut self, c: usize) {
        self.stops.push((c, End::Lower));
        self.rests.push(Some(0.0));
    }

    /// Whether the last event was an impact, and the number of joints that approached their stops.
    #[cfg(feature = "scene")]
    pub fn n_struck(&self, compiled: &Compiled) -> Option<usize> {
        let is_approached = |stop: &&(usize, End)| self.before[compiled.inputs.contacts[stop.0].v] != 0.0;
        let is_impact = !self.hit.is_empty() && !self.stops.is_empty();
        is_impact.then(|| self.n_followed + self.stops.iter().filter(is_approached).count())
    }

    /// The stops that acted in the last impact, and whether a sequence of bounces has been summed there.
    #[cfg(feature = "scene")]
    pub fn acting(&self) -> impl Iterator<Item = (usize, End, bool)> + '_ {
        let all = self.stops.iter().zip(&self.problem.value).zip(&self.rests);
        all.filter(|((_, p), rest)| **p > 0.0 || rest.is_some()).map(|((&(c, end), _), rest)| (c, end, rest.is_some()))
    }
}

impl Machine {
    /// Performs the impact on the stops in `impact.stops` and adds its heat to `quad`.
    pub(super) fn take_impact(&mut self, t: f64, quad: &mut [f64]) -> Result<(), Failure> {
        self.impact.n_stops = self.impact.stops.len();
        self.impact.rests.clear();
        self.impact.rests.resize(self.impact.stops.len(), self.impact.is_last.then_some(0.0));
        self.fill_impact()?;
        self.keep_before();
        self.solve_impact()?;
        while self.include_resting() {
            self.fill_impact()?;
            self.solve_impact()?;
        }
        while self.find_rests(t)? {
            self.solve_impact()?;
        }
        self.book_impacts(t, quad);
        Ok(())
    }

    /// Whether a stop is hit, closed, or so near that the order of impacts is not resolved.
    pub(super) fn is_in_touch(&self, c: usize, stops: &Stops, end: End) -> bool {
        let near = TOGETHER * self.dynamics.scheme.position_tolerance(stops.bound(end)) + self.gap_resolution(stops);
        let is_hit = self.impact.hit.contains(&(c, end));
        is_hit || self.dynamics.state.stops[c].closed == Some(end) || self.gap(c, stops, end) <= near
    }

    /// The stops of (1): in touch, approached or at rest. Joints that are hit are at their bounds exactly.
    pub(super) fn find_touching(&mut self) -> Result<(), Failure> {
        self.dynamics.unlock();
        self.impact.stops.clear();
        let mut is_any_approached = false;
        for c in 0..self.dynamics.state.stops.len() {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let Some(stops) = contact.stops else { continue };
            for end in stops.ends() {
                let v = self.dynamics.point.v[contact.v];
                let is_left = end.inward() * v > 0.0 && !self.is_spent_at(c, v);
                if !self.is_in_touch(c, &stops, end) || is_left {
                    continue;
                }
                let is_fixed = self.dynamics.is_prescribed(c) || self.is_immobile(contact.v, None);
                if is_fixed && v != 0.0 {
                    return Err(Failure::MotionIntoStop { contact: c, bound: stops.bound(end) });
                }
                if is_fixed {
                    continue;
                }
                is_any_approached |= v != 0.0;
                self.impact.stops.push((c, end));
                if self.dynamics.coordinates.place(contact.v).is_some() && !self.dynamics.loops.is_any() {
                    self.dynamics.point.xi[contact.v] = stops.bound(end);
                }
            }
        }
        if self.dynamics.loops.is_any() {
            self.place_in_loops();
        } else {
            self.dynamics.coordinates.positions(&mut self.dynamics.point.xi);
            self.place_dependent();
        }
        if !is_any_approached {
            self.impact.stops.clear();
        }
        Ok(())
    }

    /// Moves dependent joints in touch to their bounds, by a joint of theirs that is not in touch itself. The
    /// distance is the error of the located event; without this, errors of bounces would add up.
    fn place_dependent(&mut self) {
        let Dynamics { compiled, coordinates, point, .. } = &mut self.dynamics;
        let contacts = &compiled.inputs.contacts;
        let stops = &self.impact.stops;
        for &(c, end) in stops {
            let v = contacts[c].v;
            let (Some(d), Some(range)) = (coordinates.dependent.iter().position(|&d| d == v), contacts[c].stops) else {
                continue;
            };
            let is_free = |term: &&(usize, f64)| {
                !compiled.model.is_prescribed(term.0) && !stops.iter().any(|&(c, _)| contacts[c].v == term.0)
            };
            let terms = coordinates.terms_of(d).iter().filter(is_free);
            if let Some(&(i, factor)) = terms.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) {
                point.xi[i] += (range.bound(end) - point.xi[v]) / factor;
                coordinates.positions(&mut point.xi);
            }
        }
    }

    /// Moves joints in touch to their bounds, as many as loops leave independent of one another. The distance is the
    /// error of the located event. A joint near a dead centre stays where it is.
    fn place_in_loops(&mut self) {
        let Self { dynamics, impact, .. } = self;
        let velocity = |dynamics: &Dynamics, c: usize| dynamics.compiled.inputs.contacts[c].v;
        impact.is_touching.fill(false);
        impact.stops.iter().for_each(|&(c, _)| impact.is_touching[velocity(dynamics, c)] = true);
        dynamics.lock_loops(false, |v| !impact.is_touching[v]);
        if dynamics.loops.failure.is_some() || dynamics.loops.steepness() > DEAD_CENTRE {
            return dynamics.unlock();
        }
        for &(c, end) in &impact.stops {
            let v = velocity(dynamics, c);
            if let (Some(_), Some(stops)) = (dynamics.coordinates.place(v), dynamics.compiled.inputs.contacts[c].stops)
            {
                dynamics.point.xi[v] = stops.bound(end);
            }
        }
        dynamics.close_loops();
    }

    /// W, and the response of the whole machine to each impulse: couplings and prescribed motions are constraints.
    pub(super) fn fill_impact(&mut self) -> Result<(), Failure> {
        self.dynamics.place()?;
        if self.dynamics.loops.is_any() {
            self.respond_in_loops()?;
            self.assemble_impact();
            return Ok(());
        }
        let Self { dynamics: Dynamics { compiled, work, constraints, newton, point, coordinates, .. }, impact, .. } =
            self;
        let NewtonWork { rows, residual: b, correction: x, zero, .. } = newton;
        let (model, contacts) = (&compiled.model.tree, &compiled.inputs.contacts);
        let joint_of = &compiled.model.joint_of;
        for &c in &compiled.model.reaction_loaded {
            rows[contacts[c].joint] = axis_row(model, contacts[c].joint);
        }
        rnea(model, work, &point.q, zero, zero)?;
        constraints.factor(coordinates, (model, work, rows), joint_of)?;
        impact.columns.clear();
        for &(c, _) in &impact.stops {
            b.fill(0.0);
            b[contacts[c].v] = 1.0;
            x.copy_from_slice(solve_rows(model, work, b)?);
            constraints.correct(coordinates, (model, work, rows), joint_of, x, b)?;
            impact.columns.extend_from_slice(x);
        }
        self.assemble_impact();
        Ok(())
    }

    /// M⁻¹ of the unit effort on the joint of each stop, at the present positions.
    #[cfg(feature = "scene")]
    pub(in crate::stick_slip) fn impulse_responses(
        &mut self,
        stops: impl Iterator<Item = (usize, End)>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        self.dynamics.unlock();
        self.impact.stops.clear();
        self.impact.stops.extend(stops);
        self.fill_impact()?;
        Ok(self.impact.columns.chunks_exact(self.dynamics.point.v.len()).map(<[f64]>::to_vec).collect())
    }

    /// The response of a machine with closed loops to each impulse.
    fn respond_in_loops(&mut self) -> Result<(), Failure> {
        self.dynamics.begin_loop_responses()?;
        self.impact.columns.clear();
        for k in 0..self.impact.stops.len() {
            let v = self.dynamics.compiled.inputs.contacts[self.impact.stops[k].0].v;
            self.dynamics.newton.residual.fill(0.0);
            self.dynamics.newton.residual[v] = 1.0;
            self.dynamics.solve_loops();
            self.impact.columns.extend_from_slice(&self.dynamics.newton.correction);
        }
        Ok(())
    }

    /// W and the restitutions from the responses.
    fn assemble_impact(&mut self) {
        let Self { dynamics: Dynamics { compiled, .. }, impact, .. } = self;
        let (contacts, n_v) = (&compiled.inputs.contacts, compiled.model.tree.n_v);
        impact.delassus.clear();
        impact.restitution.clear();
        let given = impact.stops.iter().map(|&(c, _)| contacts[c].stops.map_or(0.0, |stops| stops.restitution));
        // none where a sequence of bounces ends
        let is_resting = |i: usize| matches!(impact.rests.get(i), Some(Some(_)));
        impact.restitution.extend(given.enumerate().map(|(i, e)| if is_resting(i) { 0.0 } else { e }));
        let n = impact.stops.len();
        for r in 0..n {
            for k in 0..n {
                let ((of, end), (by, other)) = (impact.stops[r], impact.stops[k]);
                // symmetric, by both columns
                let both = impact.columns[k * n_v + contacts[of].v] + impact.columns[r * n_v + contacts[by].v];
                impact.delassus.push(0.5 * end.inward() * other.inward() * both);
            }
        }
    }

    fn keep_before(&mut self) {
        let Self { dynamics: Dynamics { state, point, .. }, impact, .. } = self;
        impact.before.copy_from_slice(&point.v);
        impact.mode.copy_from_slice(&state.mode);
        impact.contact_event.copy_from_slice(&state.contact_event);
        impact.armed.copy_from_slice(&state.armed);
        impact.open.copy_from_slice(&state.open);
        impact.stops_before.copy_from_slice(&state.stops);
    }

    fn rollback_impact(&mut self) {
        let Self { dynamics: Dynamics { state, point, .. }, impact, .. } = self;
        point.v.copy_from_slice(&impact.before);
        state.mode.copy_from_slice(&impact.mode);
        state.contact_event.copy_from_slice(&impact.contact_event);
        state.armed.copy_from_slice(&impact.armed);
        state.open.copy_from_slice(&impact.open);
        state.stops.copy_from_slice(&impact.stops_before);
    }

    /// Solves (1), sets the velocities after the impact, and closes or opens the stops.
    pub(super) fn solve_impact(&mut self) -> Result<(), Failure> {
        self.rollback_impact();
        let Self { dynamics: Dynamics { compiled, state, point, coordinates, loops, .. }, impact, .. } = self;
        let contacts = &compiled.inputs.contacts;
        let ImpactWork {
            stops, columns, delassus, approach, restitution, rests, held, n_stops, problem, before, ..
        } = impact;
        approach.clear();
        approach.extend(
            stops.iter().zip(&*restitution).map(|(&(c, end), e)| end.inward() * (1.0 + e) * before[contacts[c].v]),
        );
        held.clear();
        held.extend(rests.iter().map(Option::is_some));
        if !problem.solve(delassus, approach, held) {
            let contact = stops.first().map_or(0, |stop| stop.0);
            let source = crate::modes::ModeError::Dependent { joint: 0 };
            return Err(Failure::Modes { contact, source });
        }
        let n_v = point.v.len();
        for k in 0..n_v {
            let (mut change, mut size) = (0.0, 0.0);
            for (i, &(_, end)) in stops.iter().enumerate() {
                let term = end.inward() * problem.value[i] * columns[i * n_v + k];
                (change, size) = (change + term, f64::max(size, term.abs()));
            }
            if change.abs() > ROUNDED * size {
                let rounding = if loops.is_any() { CANCELLED * (point.v[k].abs() + size) } else { 0.0 };
                let after = point.v[k] + change;
                point.v[k] = if after.abs() <= rounding { 0.0 } else { after };
            }
        }
        for (i, &(c, end)) in stops.iter().enumerate() {
            let v = contacts[c].v;
            if problem.value[i] > 0.0 || held[i] {
                // exactly, without a negative zero
                point.v[v] = 0.0 - restitution[i] * before[v];
            }
            if i >= *n_stops {
                continue;
            }
            let stop = &mut state.stops[c];
            let is_at_rest = point.v[v] == 0.0;
            stop.closed = is_at_rest.then_some(end).or(stop.closed.filter(|&closed| closed != end));
            let rounding = contacts[c].stops.map_or(0.0, |stops| stops.rounding());
            stop.shift[end as usize] = rounding.max(f64::MIN_POSITIVE);
            if is_at_rest {
                // a locked joint keeps its position, and dependent ones follow; those of loops are placed
                if !loops.is_any() {
                    point.xi[v] = contacts[c].stops.map_or(point.xi[v], |stops| stops.bound(end));
                }
                state.mode[c] = Mode::Stuck;
                state.contact_event[c] = ContactEvent::ComesToRest;
            }
        }
        state.is_any_gap_unarmed = true;
        coordinates.rates(&mut point.v);
        // a dependent joint that rests has velocity 0.0, not a rounding error of its terms
        for &(c, _) in stops[..*n_stops].iter().filter(|&&(c, end)| state.stops[c].closed == Some(end)) {
            point.v[contacts[c].v] = 0.0;
        }
        // a contact that the impulse moves is not at rest, whatever its event was
        for (c, contact) in contacts.iter().enumerate() {
            let is_moved = contact.rate(&point.v) != contact.rate(before);
            if is_moved && contact.rate(&point.v) != 0.0 {
                state.contact_event[c] = ContactEvent::No;
            }
        }
        Ok(())
    }

    /// Heat of the impacts by (2), their records, and the sequences of bounces.
    fn book_impacts(&mut self, t: f64, quad: &mut [f64]) {
        for i in 0..self.impact.n_stops {
            let (c, end) = self.impact.stops[i];
            let (begun, to) = (self.begun(t, i), self.direction_after(t, i));
            let Self { dynamics: Dynamics { compiled, state, .. }, impact, .. } = self;
            let contact = &compiled.inputs.contacts[c];
            let (before, p) = (impact.before[contact.v], impact.problem.value[i]);
            let e = impact.restitution[i];
            quad[2 + compiled.model.heat_of_joint(contact.joint)] -= 0.5 * end.inward() * p * (1.0 - e) * before;
            if before == 0.0 || p == 0.0 {
                continue;
            }
            let stop = &mut state.stops[c];
            (stop.bouncing, stop.begun, stop.last, stop.speed) = (Some(end), begun, t, before.abs());
            // an end of bounces that is now needs no event
            stop.rest_at = impact.rests[i].map_or(f64::INFINITY, |rest| t + rest);
            if stop.rest_at <= t {
                stop.rest_at = f64::INFINITY;
            }
            self.note_impact(StopChange { contact: c, end, is_release: false, from: Mode::of_sign(before), to });
        }
    }
}

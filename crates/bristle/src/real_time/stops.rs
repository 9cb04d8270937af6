//! Joint stops in a step: unilateral constraints on velocities (Moreau 1988, Jean 1999).
//!
//! With g the gap of a stop at the start of the step, d the direction into the range, e Newton's restitution,
//!
//! ```text
//! open, or closed       0 ≤ P ⊥ d v₁ + g/h ≥ 0             no joint passes its stop: d (q₁ − bound) = g + h d v₁   (1)
//! hit and approached    0 ≤ P ⊥ d (v₁ + e v₀) ≥ 0          P: the impulse of the stop                              (2)
//! heat of the stop      −½ P d (v₀ + v₁)                                                                           (3)
//! ```
//!
//! Both are set-valued monotone laws, and the problem of the step stays convex. The step is solved with (1) first.
//! Stops that push then, or that are reached to rounding, get (2), and the step is solved again, until no more are
//! hit: stops that are hit in one step are hit at one instant, as in the event-driven form.
//!
//! **Positions.** A step without an impact has q₁ = q₀ + ½ h (v₀ + v₁), which stays in the range because both v₀ and v₁
//! do. With an impact at t_c, g = t_c |v₀|, velocities are those of its start before and those of its end after it,
//!
//! ```text
//! q₁ = q₀ + t_c v₀ + (h − t_c) v₁                                                                                (4)
//! ```
//!
//! for all joints, with the earliest t_c where there are several; without a rebound t_c = 0, so that (1) is exact.
//!
//! **Rest.** A rebound that the acceleration of the last step without impacts reverses within a step is none: (1)
//! stays, the joint lands on its bound exactly, and the stop is *closed*: from the next step on g = 0 and (1) alone
//! holds, so that the velocity is 0.0 until the joint is moved away. The same holds for e = 0.
//!
//! Dry friction has no impulse of the order of P, and normal loads that are reactions keep the values of the last step
//! without an impact: the reactions of an impact are impulses.

use super::convex_solver::ConvexSolver;
use super::impulse_law::{ContactState, ImpulseLaw};
use super::reduced_coordinates::ReducedCoordinates;
use super::{RealTime, Start, StepError};
use crate::model::{Compiled, End, StopChange, Stops};
use bristle_friction::{Law, Mode};
use bristle_integrate::archive::{Archive, Archived};

/// A stop that a step reaches to this part of its approach is hit: rounding decides whether it pushes.
const REACHED: f64 = 1e-9;

/// Distance past a stop that is an error, relative to the motion of the joint in a step.
const PAST: f64 = 1e-9;

/// Impulse of the stops of a contact at the rate ω, as an augmented Lagrangian: λ̂ + ρ (ω − ω_bound) where it pushes
/// into the range. It has the sign of friction: positive against forward motion. Returns the impulse and its slope.
pub(super) fn stop_impulse([low, high]: [f64; 2], omega: f64, multiplier: f64, penalty: f64) -> (f64, f64) {
    if low.is_finite() {
        let lambda = multiplier.min(0.0) + penalty * (omega - low);
        if lambda < 0.0 {
            return (lambda, penalty);
        }
    }
    if high.is_finite() {
        let lambda = multiplier.max(0.0) + penalty * (omega - high);
        if lambda > 0.0 {
            return (lambda, penalty);
        }
    }
    (0.0, 0.0)
}

/// Friction and stops of a contact at the rate ω; λ̂ and ρ of friction, λ̂ and ρ of its stops.
pub(super) fn contact_at(law: &ImpulseLaw, friction: &Law, bounds: [f64; 2], omega: f64, at: [f64; 4]) -> ContactState {
    let [multiplier, penalty, stop_multiplier, stop_penalty] = at;
    let state = law.at(friction, omega, multiplier, penalty);
    let (stop, slope) = stop_impulse(bounds, omega, stop_multiplier, stop_penalty);
    if slope == 0.0 {
        return state;
    }
    ContactState {
        stop,
        slope: state.slope + slope,
        magnitude: state.magnitude + stop_multiplier.abs(),
        on_stop: Some(if stop < 0.0 { End::Lower } else { End::Upper }),
        ..state
    }
}

/// Sets the rate of a contact on its stop exactly, and shares its impulse: friction first, the stop for the rest.
pub(super) fn share(state: &mut ContactState, law: &ImpulseLaw, bound: f64) {
    state.omega = bound;
    let ([low, high], total) = (friction_interval(law, bound), state.impulse());
    state.lambda = total.max(low).min(high);
    state.stop = total - state.lambda;
}

/// The interval of impulses that dry friction may have at the rate ω.
pub(super) fn friction_interval(law: &ImpulseLaw, omega: f64) -> [f64; 2] {
    match *law {
        ImpulseLaw::Dry { forward, backward, .. } if omega == 0.0 => [-backward[0], forward[0]],
        ImpulseLaw::Dry { .. } => {
            let is_backward = omega < 0.0;
            let lambda = law.slide(is_backward, omega.abs()).0;
            [if is_backward { -lambda } else { lambda }; 2]
        }
        _ => [0.0; 2],
    }
}

/// Stop of one contact between steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Memory {
    /// The closed stop.
    pub closed: Option<End>,
    /// Change of the velocity of the joint in the last step without an impact.
    pub drift: f64,
}

impl Archived for Memory {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        archive.choice(&mut self.closed, &[None, Some(End::Lower), Some(End::Upper)]);
        self.drift.archive(archive);
    }
}

/// The stops of a machine during a step; the arrays are made once. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct StepStops {
    /// The contacts with stops.
    pub of: Vec<usize>,
    /// Bounds of the rate of each contact by (1) or (2); infinite without a stop, and where nothing can be pushed.
    pub bounds: Vec<[f64; 2]>,
    /// State between steps, one per contact.
    pub memory: Vec<Memory>,
    /// Gaps at the start of the step; the stop of each contact that has (2).
    gaps: Vec<[f64; 2]>,
    rebounds: Vec<Option<End>>,
    /// Whether a stop has an impulse of an impact.
    pub is_impact: bool,
    /// Efforts of the stops at the end of the step as they act, and impacts and releases.
    pub effort: Vec<f64>,
    pub changes: Vec<StopChange>,
}

impl RealTime {
    /// Efforts of the stops, impacts and releases of the last step, and the closed stops.
    pub fn stop_results(
        &self,
        effort: &mut [f64],
        changes: &mut Vec<StopChange>,
        mut set_closed: impl FnMut(usize, Option<End>),
    ) {
        effort.copy_from_slice(&self.stops.effort);
        changes.clone_from(&self.stops.changes);
        self.stops.of.iter().for_each(|&c| set_closed(c, self.stops.memory[c].closed));
    }
}

impl StepStops {
    pub fn new(compiled: &Compiled) -> Self {
        let n = compiled.inputs.contacts.len();
        let of: Vec<usize> = compiled.with_stops().collect();
        Self {
            changes: Vec::with_capacity(2 * of.len()),
            of,
            bounds: vec![[f64::NEG_INFINITY, f64::INFINITY]; n],
            memory: vec![Memory::default(); n],
            gaps: vec![[f64::INFINITY; 2]; n],
            rebounds: vec![None; n],
            is_impact: false,
            effort: vec![0.0; n],
        }
    }

    /// Forgets former steps: a stop is closed if its joint rests on it.
    pub fn reset(&mut self, compiled: &Compiled, coordinates: &ReducedCoordinates, start: Start<'_>) {
        for &c in &self.of {
            let (Some(stops), v) = (compiled.inputs.contacts[c].stops, compiled.inputs.contacts[c].v) else { continue };
            let rounding = rounding(&stops, coordinates, start, v);
            let is_on = |end: &End| start.v[v] == 0.0 && stops.gap(*end, start.xi[v]) <= rounding;
            self.memory[c] = Memory { closed: stops.ends().find(is_on), drift: 0.0 };
        }
    }

    /// (1) for a step of length h. The first, very short step has the closed stops alone.
    pub fn begin(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        start: Start<'_>,
        h: f64,
        is_first: bool,
    ) {
        self.is_impact = false;
        self.changes.clear();
        for &c in &self.of {
            let Some(stops) = compiled.inputs.contacts[c].stops else { continue };
            let v = compiled.inputs.contacts[c].v;
            let rounding = rounding(&stops, coordinates, start, v);
            self.rebounds[c] = None;
            self.bounds[c] = [f64::NEG_INFINITY, f64::INFINITY];
            for end in stops.ends() {
                let gap = stops.gap(end, start.xi[v]);
                let gap = if gap <= rounding { 0.0 } else { gap };
                self.gaps[c][end as usize] = gap;
                let is_idle = is_first && self.memory[c].closed != Some(end);
                if !is_idle && !coordinates.contacts[c].is_empty() {
                    // no negative zero
                    self.bounds[c][end as usize] = 0.0 - end.inward() * gap / h;
                }
            }
        }
    }

    /// Gives (2) to stops that the solution hits. Returns whether there are new ones: the step has to be solved again.
    pub fn find_rebounds(&mut self, compiled: &Compiled, solver: &ConvexSolver, start: Start<'_>, h: f64) -> bool {
        let mut is_any = false;
        for &c in &self.of {
            let Some(stops) = compiled.inputs.contacts[c].stops else { continue };
            let (v0, state) = (start.v[compiled.inputs.contacts[c].v], solver.states[c]);
            for end in stops.ends() {
                let (d, gaps, Memory { closed, drift }) = (end.inward(), self.gaps[c], self.memory[c]);
                let (approach, gap) = (-d * v0, gaps[end as usize]);
                let is_reached = gap + h * d * state.omega <= REACHED * h * approach;
                let is_hit = approach > 0.0 && (d * state.stop < 0.0 || is_reached);
                let rebound = stops.restitution * approach;
                let is_short = rebound <= -d * drift;
                let is_idle = self.bounds[c][end as usize].is_infinite() || self.rebounds[c].is_some();
                if is_idle || !is_hit || closed == Some(end) || rebound <= 0.0 || is_short {
                    continue;
                }
                // a range that is shorter than the step
                let room = gaps[1 - end as usize] / h;
                self.bounds[c][end as usize] = d * rebound.min(room);
                self.rebounds[c] = Some(end);
                is_any = true;
            }
        }
        is_any
    }

    /// Gives up all rebounds: (1) always has a solution. Returns whether there were any.
    pub fn forget_rebounds(&mut self, h: f64) -> bool {
        let mut is_any = false;
        for &c in &self.of {
            if let Some(end) = self.rebounds[c].take() {
                self.bounds[c][end as usize] = 0.0 - end.inward() * self.gaps[c][end as usize] / h;
                is_any = true;
            }
        }
        is_any
    }

    /// The part of v₁ in the velocities that move positions, if a joint comes to its stop in this step, or would with
    /// its velocity at the start: see (4).
    pub fn share_of_end(&self, compiled: &Compiled, solver: &ConvexSolver, start: Start<'_>, h: f64) -> Option<f64> {
        let mut share = None;
        for &c in &self.of {
            let Some(stops) = compiled.inputs.contacts[c].stops else { continue };
            let v0 = compiled.inputs.contacts[c].rate(start.v);
            for end in stops.ends() {
                let (approach, gap) = (-end.inward() * v0, self.gaps[c][end as usize]);
                let acts = solver.states[c].on_stop == Some(end);
                if acts && self.rebounds[c] == Some(end) {
                    let after = (1.0 - gap / (h * approach)).max(0.0);
                    share = Some(share.unwrap_or(0.0_f64).max(after));
                } else if h * approach > gap || acts && (v0 != 0.0 || self.bounds[c][end as usize] != 0.0) {
                    return Some(1.0);
                }
            }
        }
        share
    }

    /// Whether the stop of contact c holds its joint at velocity 0.
    pub fn holds(&self, c: usize, end: Option<End>) -> bool {
        end.is_some_and(|end| self.bounds[c][end as usize] == 0.0)
    }

    /// Sets velocities of joints at stops to their bounds, to the last bit, where they are independent.
    pub fn set_velocities(
        &self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        solver: &ConvexSolver,
        v: &mut [f64],
    ) {
        for &c in &self.of {
            let k = compiled.inputs.contacts[c].v;
            if let (Some(end), true) = (solver.states[c].on_stop, is_independent(coordinates, c, k)) {
                v[k] = self.bounds[c][end as usize];
            }
        }
    }

    /// Whether the solution has the impulse of an impact; then loads stay as they are.
    pub fn find_impact(&mut self, compiled: &Compiled, solver: &ConvexSolver, start: Start<'_>) -> bool {
        let is_impact = |&c: &usize| {
            let v0 = start.v[compiled.inputs.contacts[c].v];
            solver.states[c].on_stop.is_some_and(|end| v0 != 0.0 || self.bounds[c][end as usize] != 0.0)
        };
        self.is_impact = self.of.iter().any(is_impact);
        self.is_impact
    }

    /// Positions at the end of the step: joints that land are on their bounds, to the last bit where they are
    /// independent. A joint past a stop by more than rounding is an error.
    pub fn set_positions(
        &self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        start: Start<'_>,
        h: f64,
        v1: &[f64],
        xi: &mut [f64],
    ) -> Result<(), StepError> {
        for &c in &self.of {
            let k = compiled.inputs.contacts[c].v;
            let Some(stops) = compiled.inputs.contacts[c].stops else { continue };
            let rounding = 16.0 * rounding(&stops, coordinates, start, k) + PAST * h * (start.v[k].abs() + v1[k].abs());
            for end in stops.ends() {
                let gap = stops.gap(end, xi[k]);
                if gap < -rounding {
                    let bound = stops.bound(end);
                    return Err(if coordinates.contacts[c].is_empty() {
                        StepError::MotionIntoStop { contact: c, bound }
                    } else {
                        StepError::PastStop { contact: c, position: xi[k], bound }
                    });
                }
                let has_landed = self.bounds[c][end as usize] == v1[k] && self.rebounds[c] != Some(end);
                if is_independent(coordinates, c, k) && (gap < 0.0 || has_landed) {
                    xi[k] = stops.bound(end);
                }
            }
        }
        Ok(())
    }

    /// Bounds of the joints that have landed at the velocities `v1` or are beyond them, into `target`; whether any
    /// position differs from its bound. A prescribed joint beyond its stop is an error.
    pub fn landings(
        &self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        v1: &[f64],
        xi: &[f64],
        target: &mut [f64],
    ) -> Result<bool, StepError> {
        let mut is_any = false;
        for &c in &self.of {
            let k = compiled.inputs.contacts[c].v;
            let Some(stops) = compiled.inputs.contacts[c].stops else { continue };
            for end in stops.ends() {
                let (gap, bound) = (stops.gap(end, xi[k]), stops.bound(end));
                let is_idle = coordinates.contacts[c].is_empty();
                if is_idle && gap < -PAST * (1.0 + bound.abs()) {
                    return Err(StepError::MotionIntoStop { contact: c, bound });
                }
                let has_landed = self.bounds[c][end as usize] == v1[k] && self.rebounds[c] != Some(end);
                if !is_idle && (gap < 0.0 || has_landed) {
                    target[k] = bound;
                    is_any |= xi[k] != bound;
                }
            }
        }
        Ok(is_any)
    }

    /// Efforts of the stops, their state after the step, and its impacts and releases.
    pub fn finish(&mut self, compiled: &Compiled, solver: &ConvexSolver, start: Start<'_>, v1: &[f64], h: f64) {
        for &c in &self.of {
            let k = compiled.inputs.contacts[c].v;
            let (state, memory, v0) = (solver.states[c], &mut self.memory[c], start.v[k]);
            self.effort[c] = 0.0 - state.stop / h;
            let before = memory.closed;
            let from = Mode::of_sign(v0);
            let change = |end: End, is_release: bool, to: Mode| StopChange { contact: c, end, is_release, from, to };
            match state.on_stop {
                Some(end) if self.rebounds[c] == Some(end) => {
                    memory.closed = None;
                    self.changes.push(change(end, false, Mode::of_sign(end.inward())));
                }
                Some(end) => {
                    memory.closed = Some(end);
                    if before != Some(end) {
                        self.changes.push(change(end, false, Mode::Stuck));
                    }
                }
                None => {
                    memory.closed = before.filter(|end| end.inward() * v1[k] <= 0.0);
                    if let (Some(end), None) = (before, memory.closed) {
                        self.changes.push(change(end, true, Mode::of_sign(v1[k])));
                    }
                }
            }
            if !self.is_impact {
                memory.drift = v1[k] - v0;
            }
        }
    }
}

/// Whether the joint of a contact has an independent velocity of its own.
fn is_independent(coordinates: &ReducedCoordinates, c: usize, v: usize) -> bool {
    matches!(coordinates.contacts[c][..], [(i, _)] if coordinates.independent[i] == v)
}

/// Rounding error of a gap at the start of a step: that of the bound and, for a dependent joint, of its terms.
fn rounding(stops: &Stops, coordinates: &ReducedCoordinates, start: Start<'_>, v: usize) -> f64 {
    let dependent = coordinates.dependent.iter().find(|dependent| dependent.v == v);
    let size = dependent.map_or(0.0, |dependent| {
        dependent.of.iter().fold(dependent.offset.abs(), |size, &(k, c)| size + (c * start.xi[k]).abs())
    });
    stops.rounding() + 4.0 * f64::EPSILON * (size + start.xi[v].abs())
}

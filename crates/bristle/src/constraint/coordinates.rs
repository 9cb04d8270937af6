//! The coordinates of the present modes: which velocities are unknowns, which joints are locked, and the dependence of
//! all others, by the elimination of `constraints`:
//!
//! ```text
//! q_d = offset_d + Σ T_di q_i        v_d = Σ T_di v_i        a_d = Σ T_di a_i                            (5)
//! ```
//!
//! with i among the unknowns and the joints of prescribed motion; locked joints enter the offset. All of it follows
//! from the modes, and [`lock`] is the one function that finds it; a rollback copies it back nevertheless, since
//! offsets found anew would differ by rounding.

use super::{ABSENT, Elimination, NEGLIGIBLE};
use crate::dynamics::archive::saved;
use crate::dynamics::point::Point;
use crate::dynamics::scheme::Scheme;
use crate::dynamics::state::State;
use crate::model::{Compiled, Model};
use crate::modes::MAX_EAGER;
use bristle_friction::Mode;

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Coordinates {
    /// Velocities that are unknowns, in order.
    pub active: Vec<usize>,
    /// Joints that are stuck or of prescribed motion; `n_bodies`.
    pub locked: Vec<bool>,
    /// Whether any is stuck.
    pub is_stuck: bool,
    /// The dependent velocities.
    pub dependent: Vec<usize>,
    /// Index of each velocity among the unknowns.
    place: Vec<usize>,
    /// Index of the first term of each dependent velocity; its offset; the terms (i, T_di).
    pub start: Vec<usize>,
    pub constant: Vec<f64>,
    pub terms: Vec<(usize, f64)>,
    /// Index of each velocity in `dependent`.
    pub number: Vec<usize>,
    /// Acceleration of each dependent velocity that its terms do not give, γ of `loops`; empty without loops.
    pub drift: Vec<f64>,
}

impl Coordinates {
    /// Every velocity is an unknown.
    pub fn new(compiled: &Compiled) -> Self {
        let constraints = &compiled.model.coupled.constraints;
        let n_rows = constraints.len() + compiled.inputs.contacts.iter().filter(|contact| contact.b.is_some()).count();
        Self::over(compiled.model.tree.n_v, compiled.model.tree.n_bodies(), n_rows)
    }

    /// The same of `n_v` velocities, with room for `n_rows` dependent ones.
    pub fn over(n_v: usize, n_bodies: usize, n_rows: usize) -> Self {
        // small machines allocate here, so that a step allocates nothing
        let n_terms = if n_v <= MAX_EAGER { n_rows * n_v } else { 0 };
        Self {
            active: (0..n_v).collect(),
            locked: vec![false; n_bodies],
            is_stuck: false,
            dependent: Vec::with_capacity(n_rows),
            place: (0..n_v).collect(),
            start: Vec::with_capacity(n_rows + 1),
            constant: Vec::with_capacity(n_rows),
            terms: Vec::with_capacity(n_terms),
            number: vec![ABSENT; n_v],
            drift: Vec::new(),
        }
    }

    /// Makes every velocity an unknown again.
    pub fn clear(&mut self) {
        let Self { active, locked, is_stuck, dependent, place, start, constant, terms, number, drift } = self;
        active.clear();
        active.extend(0..place.len());
        place.iter_mut().enumerate().for_each(|(v, place)| *place = v);
        locked.fill(false);
        *is_stuck = false;
        number.fill(ABSENT);
        dependent.clear();
        start.clear();
        constant.clear();
        terms.clear();
        drift.clear();
    }

    /// Index of a velocity among the unknowns.
    pub fn place(&self, v: usize) -> Option<usize> {
        Some(self.place[v]).filter(|&place| place != ABSENT)
    }

    /// Dependent velocities without terms: the constraints immobilise these joints.
    pub fn immovable(&self) -> impl Iterator<Item = usize> + '_ {
        self.dependent.iter().enumerate().filter(|&(d, _)| self.terms_of(d).is_empty()).map(|(_, &v)| v)
    }

    /// The unknowns on which velocity `v` depends, with their coefficients: itself, the terms of (5), or none.
    pub fn unknowns_of(&self, v: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.place(v).map(|place| (place, 1.0));
        let others = self.number.get(v).filter(|&&d| d != ABSENT).map_or(&[][..], |&d| self.terms_of(d));
        own.into_iter().chain(others.iter().filter_map(|&(i, c)| self.place(i).map(|place| (place, c))))
    }

    /// Whether q_a − q_b depends on prescribed joints and on no unknown.
    pub fn is_prescribed(&self, a: usize, b: Option<usize>, is_prescribed: impl Fn(usize) -> bool) -> bool {
        self.is_still(a, b, &is_prescribed) && !self.is_still(a, b, |v| !is_prescribed(v))
    }

    /// Whether q_a − q_b is constant: every joint on which it depends is locked (`is_locked`), or its coefficients
    /// cancel.
    pub fn is_still(&self, a: usize, b: Option<usize>, is_locked: impl Fn(usize) -> bool) -> bool {
        let part = |v: usize, i: usize| match self.number[v] {
            ABSENT => f64::from(u8::from(v == i)),
            d => self.terms_of(d).iter().filter(|term| term.0 == i).map(|term| term.1).sum(),
        };
        let is_nothing = |i: usize| {
            let (a, b) = (part(a, i), b.map_or(0.0, |b| part(b, i)));
            is_locked(i) || (a - b).abs() <= NEGLIGIBLE * (a.abs() + b.abs())
        };
        [Some(a), b].into_iter().flatten().all(|v| match self.number[v] {
            ABSENT => is_nothing(v),
            d => self.terms_of(d).iter().all(|term| is_nothing(term.0)),
        })
    }

    /// Sum of the magnitudes of the terms of velocity `v` in (5); of a position, the offset is one of them.
    pub fn size(&self, v: usize, x: &[f64], has_constant: bool) -> f64 {
        let ABSENT = self.number[v] else {
            let d = self.number[v];
            let constant = if has_constant { self.constant[d].abs() } else { 0.0 };
            return self.terms_of(d).iter().fold(constant, |size, &(i, c)| size + (c * x[i]).abs());
        };
        x[v].abs()
    }

    pub fn terms_of(&self, d: usize) -> &[(usize, f64)] {
        &self.terms[self.start[d]..self.start[d + 1]]
    }

    /// Dependent positions, by (5).
    pub fn positions(&self, q: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            q[v] = self.terms_of(d).iter().fold(self.constant[d], |sum, &(i, c)| sum + c * q[i]);
        }
    }

    /// Dependent accelerations, by (5) and the drift of loops.
    pub fn accelerations(&self, a: &mut [f64]) {
        self.rates(a);
        self.dependent.iter().zip(&self.drift).for_each(|(&v, drift)| a[v] += drift);
    }

    /// Dependent velocities, or changes of acceleration, by (5).
    pub fn rates(&self, x: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            x[v] = self.terms_of(d).iter().fold(0.0, |sum, &(i, c)| sum + c * x[i]);
        }
    }

    /// Tᵀτ: transfers the efforts on dependent joints to the joints on which they depend.
    pub fn gather_efforts(&self, tau: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            let taken = std::mem::take(&mut tau[v]);
            self.terms_of(d).iter().for_each(|&(i, c)| tau[i] += c * taken);
        }
    }

    /// Whether every index is in range: of a machine that was read from bytes.
    pub fn fits(&self) -> bool {
        let (n_v, n) = (self.place.len(), self.dependent.len());
        let is_start = self.start.is_empty() && n == 0
            || self.start.len() == n + 1 && self.start.is_sorted() && self.start[n] <= self.terms.len();
        let mut places = self.place.iter().enumerate().filter(|(_, place)| **place != ABSENT);
        let is_placed = places.all(|(v, &place)| self.active.get(place) == Some(&v));
        self.active.windows(2).all(|pair| pair[0] < pair[1])
            && self.active.last().is_none_or(|&last| last < n_v)
            && is_start
            && is_placed
            && self.constant.len() == n
            && (self.drift.is_empty() || self.drift.len() == n)
            && n <= n_v
            && self.dependent.iter().chain(self.terms.iter().map(|term| &term.0)).all(|&v| v < n_v)
            && self.number.iter().all(|&d| d == ABSENT || d < n)
    }

    /// Lists the unknowns: velocities that are neither locked nor dependent.
    pub fn fill_active(&mut self, joint_of: &[usize]) {
        let Self { active, locked, place, number, .. } = self;
        active.clear();
        for v in 0..place.len() {
            let is_unknown = !locked[joint_of[v]] && number[v] == ABSENT;
            place[v] = if is_unknown { active.len() } else { ABSENT };
            if is_unknown {
                active.push(v);
            }
        }
    }

    /// G_d x over the joints that can move; x is 0 for the others.
    pub fn across(&self, d: usize, x: &[f64]) -> f64 {
        self.terms_of(d).iter().fold(x[self.dependent[d]], |sum, &(i, c)| sum - c * x[i])
    }

    /// Makes changes satisfy (5) to the last bit; locked joints do not change.
    pub fn rates_of_change(&self, x: &mut [f64], joint_of: &[usize]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            let moving = self.terms_of(d).iter().filter(|&&(i, _)| !self.locked[joint_of[i]]);
            x[v] = moving.fold(0.0, |sum, &(i, c)| sum + c * x[i]);
        }
    }
}

/// Whether a contact is stuck: locked by its own friction.
pub(crate) fn sticks((compiled, scheme): (&Compiled, &Scheme), state: &State, c: usize) -> bool {
    let contact = &compiled.inputs.contacts[c];
    // an impulse overcomes the friction of a contact under a given, finite load
    let can_hold = !scheme.is_impulsive || contact.bearing.is_some() || state.stops[c].closed.is_some();
    contact.is_event_driven() && state.mode[c] == Mode::Stuck && !state.prescribed_contacts[c] && can_hold
}

/// Finds the coordinates of the modes in `state`: the locked joints, the dependent coordinates, and hence the
/// velocities that are unknowns. No contact sticks unless `may_stick`. Velocities and accelerations of `point`
/// satisfy them then.
pub(crate) fn lock(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    point: &mut Point,
    coordinates: &mut Coordinates,
    elimination: &mut Elimination,
    may_stick: bool,
) {
    let (Model { coupled, joint_of, prescribed, .. }, contacts) = (&*compiled.model, &*compiled.inputs.contacts);
    let Point { xi, v, a, known, .. } = point;
    *known = None;
    coordinates.locked.fill(false);
    coordinates.is_stuck = false;
    prescribed.iter().for_each(|prescribed| coordinates.locked[prescribed.joint] = true);
    for (c, contact) in contacts.iter().enumerate() {
        if may_stick && sticks((compiled, scheme), state, c) {
            coordinates.is_stuck = true;
            if contact.b.is_none() {
                coordinates.locked[contact.joint] = true;
                v[contact.v] = 0.0;
                a[contact.v] = 0.0;
            }
        }
    }
    if elimination.columns.is_empty() {
        return coordinates.fill_active(joint_of);
    }
    let locked = std::mem::take(&mut coordinates.locked);
    let is_known = |v: usize| locked[joint_of[v]];
    elimination.clear();
    for (constraint, &offset) in coupled.constraints.iter().zip(&state.coupling_offset) {
        // a redundant row adds nothing
        let _ = elimination.add(&constraint.terms, offset, is_known);
    }
    let may_couple = may_stick && !scheme.is_impulsive;
    for ((contact, mode), is_prescribed) in contacts.iter().zip(&state.mode).zip(&state.prescribed_contacts) {
        let Some(b) = contact.b else { continue };
        if may_couple && contact.is_event_driven() && *mode == Mode::Stuck && !is_prescribed {
            let added = elimination.add(&[(contact.v, 1.0), (b, -1.0)], xi[contact.v] - xi[b], is_known);
            // a row between locked and prescribed joints alone is no constraint: the two may separate
            if added.map_or_else(|left| left.is_implied, |()| true) {
                elimination.group(contact.v, b);
            }
        }
    }
    let is_constant = |v: usize| is_known(v) && !compiled.model.is_prescribed(v);
    elimination.finish(coordinates, xi, is_constant);
    coordinates.locked = locked;
    coordinates.fill_active(joint_of);
    coordinates.rates(v);
    coordinates.accelerations(a);
}

saved!(Coordinates { locked, is_stuck, place, number } lists { active, dependent, start, constant, terms, drift });

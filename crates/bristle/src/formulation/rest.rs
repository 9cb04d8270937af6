//! The joints at rest, gathered for [`crate::modes::select`].
//!
//! At rest is a joint that is stuck, that has just come to rest, or whose velocity is zero. With a₀ the accelerations of the whole
//! machine without their friction, every joint free to move, and W the rows and columns of M⁻¹ that belong to them, the choice is
//! made on arrays. Joints in motion take part by the friction of their direction.
//!
//! Where limits are reactions, choice and reactions follow from each other: see `Machine::settle`.

use super::efforts::load_signal;
use super::machine::{Failure, Machine};
use crate::modes::{AtRest, Hold, Levels, MANY, MAX_EAGER, ModeError, ModeWork, select, select_with};
use crate::scene::Formulation;
use crate::signal::Sample;
use bristle_friction::Mode;
use bristle_multibody::{Model, Work, aba, aba_hybrid, axis_row, factor_rows_at, rnea, solve, solve_rows};

/// A load that begins at nothing is taken for what it is this much later, s: enough to decide who holds, too little to hold anything.
const BEGINNING: f64 = 1e-9;

/// Relative velocities of coupled joints below this, relative to the fastest, are at rest where one of them has come to rest.
const NEAR: f64 = 1e-11;

/// Efforts beyond the limit by less than this, relative to it, are held.
const HOLDING: f64 = 1e-10;

/// The same for those that hold together, relative to what they hold.
const OVERLOADED: f64 = 1e-8;

/// Efforts below the limit by less than this, relative to it, have reached it: what event location leaves.
const AT_LIMIT: f64 = 1e-6;

/// How much contacts that hold the same thing yield, relative to the largest acceleration per effort: enough to share, too little to move.
const YIELDING: f64 = 1e-9;

/// How often what they yield is taken back, each time leaving so small a part of it.
const TAKEN_BACK: usize = 2;

/// Accelerations beyond this, relative to the terms they are the difference of, are more than rounding there.
const MOVING: f64 = 1e-9;

/// Choices in a row, each with the reactions of the one before.
const MOST_ROUNDS: usize = 64;

/// What an event has to do with a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touched {
    /// Nothing.
    No,
    /// Its velocity has passed zero.
    ComesToRest,
    /// It cannot hold any longer.
    BreaksAway,
}

/// Scratch: what [`AtRest`] is made of.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    /// What the event has to do with each contact.
    pub touched: Vec<Touched>,
    /// Whether each contact has no load up to the next corner of its signal: it is free, whether it moves or not.
    pub open: Vec<bool>,
    /// The same before this event: one at rest has then not left, it was free.
    pub was_open: Vec<bool>,
    /// Where each contact that breaks away goes.
    pub leaving: Vec<Mode>,
    /// Contacts that are free, or have no dry friction, and stand still.
    standing: Vec<usize>,
    /// Contacts at rest, in order.
    contacts: Vec<usize>,
    /// Their modes before this event, and those that were tried last.
    was: Vec<Mode>,
    tried: Vec<Mode>,
    /// Whether a choice has been made.
    is_settled: bool,
    /// Contacts that could not hold in one of the choices so far: they are not raised again.
    dropped: Vec<bool>,
    /// Of them, those that break away: places in `contacts`.
    breaking: Vec<usize>,
    delassus: Vec<f64>,
    a0: Vec<f64>,
    stiction: Vec<Levels>,
    kinetic: Vec<Levels>,
    /// Where some hold what others hold: the levels in force; what each yields; a₀ with what they have yielded.
    limit: Vec<Levels>,
    yields: Vec<f64>,
    shifted: Vec<f64>,
    /// The choice.
    chosen: Vec<Mode>,
    /// A unit effort; `n_v`.
    unit: Vec<f64>,
    /// For [`Tree`]: who is locked, `n_bodies`; efforts with friction, and accelerations, `n_v`.
    locked: Vec<bool>,
    pushed: Vec<f64>,
    a: Vec<f64>,
    /// Joint and place in `v` of those at rest.
    place: Vec<(usize, usize)>,
    work: ModeWork,
}

/// What it takes to hold joints of a tree, in O(n): their accelerations are locked and the efforts read off,
///
/// ```text
/// a = M⁻¹(τ − f_B − c) with a_S = 0 (aba, S locked)        f_S = τ_S − (M a + c)_S (rnea)
/// ```
struct Tree<'a> {
    model: &'a Model,
    work: &'a mut Work,
    q: &'a [f64],
    v: &'a [f64],
    /// Without the friction of those at rest.
    tau: &'a [f64],
    /// Joint and place in `v` of those at rest.
    place: &'a [(usize, usize)],
    locked: &'a mut [bool],
    pushed: &'a mut [f64],
    a: &'a mut [f64],
}

impl Hold for Tree<'_> {
    fn hold(&mut self, _: &AtRest, stuck: &[usize], f: &[f64], step: &mut [f64]) -> Result<(), ModeError> {
        let Self { model, work, q, v, tau, place, locked, pushed, a } = self;
        locked.fill(false);
        pushed.copy_from_slice(tau);
        for (&(_, k), f) in place.iter().zip(f) {
            pushed[k] -= f;
        }
        stuck.iter().for_each(|&i| locked[place[i].0] = true);
        let failed = |_| ModeError::Unusable { joint: stuck.first().copied().unwrap_or(0) };
        a.copy_from_slice(aba_hybrid(model, work, q, v, pushed, locked).map_err(failed)?);
        let required = rnea(model, work, q, v, a).map_err(failed)?;
        for (step, &i) in step.iter_mut().zip(stuck) {
            let k = place[i].1;
            *step = tau[k] - required[k] - f[i];
        }
        Ok(())
    }
}

impl Rest {
    pub fn new(n_contacts: usize, n_v: usize, n_bodies: usize) -> Self {
        Self {
            touched: vec![Touched::No; n_contacts],
            open: vec![false; n_contacts],
            was_open: vec![false; n_contacts],
            leaving: vec![Mode::Stuck; n_contacts],
            standing: Vec::with_capacity(n_contacts),
            contacts: Vec::with_capacity(n_contacts),
            was: Vec::with_capacity(n_contacts),
            tried: Vec::with_capacity(n_contacts),
            is_settled: false,
            dropped: vec![false; n_contacts],
            breaking: Vec::with_capacity(n_contacts),
            delassus: if n_contacts <= MAX_EAGER { Vec::with_capacity(n_contacts * n_contacts) } else { Vec::new() },
            a0: Vec::with_capacity(n_contacts),
            stiction: Vec::with_capacity(n_contacts),
            kinetic: Vec::with_capacity(n_contacts),
            limit: Vec::with_capacity(n_contacts),
            yields: Vec::with_capacity(n_contacts),
            shifted: Vec::with_capacity(n_contacts),
            chosen: Vec::with_capacity(n_contacts),
            unit: vec![0.0; n_v],
            locked: vec![false; n_bodies],
            pushed: vec![0.0; n_v],
            a: vec![0.0; n_v],
            place: Vec::with_capacity(n_contacts),
            work: ModeWork::new(n_contacts),
        }
    }
}

impl Rest {
    /// The choice, by the arrays at hand.
    fn select(&mut self) -> Result<(), ModeError> {
        let at_rest = AtRest {
            delassus: &self.delassus,
            free_acceleration: &self.a0,
            stiction: &self.stiction,
            kinetic: &self.kinetic,
            breaking: &self.breaking,
        };
        let found = select(&at_rest, &mut self.work)?;
        self.chosen.clone_from(&found.mode);
        Ok(())
    }

    /// The choice where some hold what others hold already: all keep their static levels as long as they do not move. They yield a little, in
    /// proportion to their strength, so that there is one solution; what they yield is taken back by going on from there.
    fn select_shared(&mut self) -> Result<(), ModeError> {
        let n = self.contacts.len();
        let largest = (0..n).map(|k| self.delassus[k * n + k]).fold(0.0, f64::max);
        // ties alone hold all of them
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let strongest = self.stiction.iter().flatten().fold(f64::MIN_POSITIVE, |most, s| most.max(*s));
        self.yields.clear();
        for k in 0..n {
            let strength = self.stiction[k][0].max(self.stiction[k][1]).max(1e-6 * strongest);
            self.yields.push(YIELDING * largest * strongest / strength);
            self.delassus[k * n + k] += self.yields[k];
        }
        self.limit.clear();
        self.limit.extend_from_slice(&self.stiction);
        for &k in &self.breaking {
            self.limit[k] = self.kinetic[k];
        }
        for _ in 0..=n {
            self.shifted.clone_from(&self.a0);
            for _ in 0..=TAKEN_BACK {
                let at_rest = AtRest {
                    delassus: &self.delassus,
                    free_acceleration: &self.shifted,
                    stiction: &self.limit,
                    kinetic: &self.limit,
                    breaking: &[],
                };
                let found = select(&at_rest, &mut self.work)?;
                for k in 0..n {
                    self.shifted[k] = self.a0[k] + self.yields[k] * found.friction[k];
                }
            }
            let found = self.work.selection();
            let mut is_settled = true;
            self.chosen.clear();
            for k in 0..n {
                let (f, a) = (found.friction[k], found.acceleration[k]);
                let terms = self.delassus[k * n..(k + 1) * n].iter().zip(&found.friction);
                let size = terms.fold(self.a0[k].abs(), |size, (w, f)| size + (w * f).abs());
                let c = self.contacts[k];
                let is_told = self.touched[c] == Touched::BreaksAway && self.leaving[c] != Mode::Stuck;
                let way = if is_told { self.leaving[c] } else { Mode::of_sign(f) };
                let limit = self.limit[k][usize::from(way == Mode::Backward)];
                let moves = a.abs() > MOVING * size;
                if moves && self.limit[k] != self.kinetic[k] {
                    self.limit[k] = self.kinetic[k];
                    is_settled = false;
                }
                let is_at_limit = way.direction() * f >= (1.0 - AT_LIMIT) * limit - HOLDING * strongest;
                self.chosen.push(match () {
                    () if moves || self.limit[k] == [0.0; 2] => found.mode[k],
                    () if is_at_limit && self.breaking.contains(&k) => way,
                    () => Mode::Stuck,
                });
            }
            if is_settled {
                break;
            }
        }
        Ok(())
    }
}

impl Machine {
    /// Chooses the modes of all joints at rest, locks those that stick, and finds accelerations and reactions that go with it.
    ///
    /// Limits that follow from reactions follow from the choice. It is made with the reactions at hand, those with everything at rest
    /// locked to begin with, and made again with the reactions that it brings, until it is its own consequence. A joint that could not
    /// hold in one round is not raised in the next, whatever its load has become. Choices are finite in number but could go
    /// round in circles: after [`MOST_ROUNDS`] that is an error with joint and time.
    pub(super) fn settle(&mut self, t: f64) -> Result<(), Failure> {
        self.find_at_rest(t);
        self.settle_at_rest(t)?;
        // what is free goes where it is pushed
        for k in 0..self.rest.standing.len() {
            let c = self.rest.standing[k];
            let contact = &self.compiled.contacts[c];
            let a = contact.rate(&self.a);
            let size = self.a[contact.v].abs() + contact.b.map_or(0.0, |b| self.a[b].abs());
            if a.abs() > NEAR * size {
                self.mode[c] = Mode::of_sign(a);
            }
        }
        Ok(())
    }

    /// The same once it is known who is at rest.
    fn settle_at_rest(&mut self, t: f64) -> Result<(), Failure> {
        if self.rest.contacts.is_empty() || self.pressed.is_empty() {
            self.set_levels(t);
            if !self.rest.contacts.is_empty() && !self.all_hold(t)? {
                self.choose(t)?;
            }
            self.take_up(t)?;
            // what is beyond by too little to be told from rounding in the choice
            for _ in 0..self.rest.contacts.len() {
                if !self.break_overloaded() {
                    break;
                }
                self.set_levels(t);
                self.choose(t)?;
                self.take_up(t)?;
            }
            return Ok(());
        }
        // everything at rest locked
        for k in 0..self.rest.contacts.len() {
            self.mode[self.rest.contacts[k]] = Mode::Stuck;
        }
        self.take_up(t)?;
        for _ in 0..MOST_ROUNDS {
            self.rest.tried.clear();
            self.rest.tried.extend(self.rest.contacts.iter().map(|&c| self.mode[c]));
            self.set_levels(t);
            self.choose(t)?;
            let is_same = self.rest.contacts.iter().zip(&self.rest.tried).all(|(&c, &tried)| self.mode[c] == tried);
            if is_same && self.rest.is_settled {
                return self.take_up(t);
            }
            self.rest.is_settled = true;
            for k in 0..self.rest.contacts.len() {
                let c = self.rest.contacts[k];
                self.rest.dropped[c] |= self.mode[c] != Mode::Stuck;
            }
            self.take_up(t)?;
        }
        let changing = self.rest.contacts.iter().zip(&self.rest.tried).find(|(c, tried)| self.mode[**c] != **tried);
        Err(Failure::Unsettled { contact: changing.map_or(0, |(&c, _)| c) })
    }

    /// Whether everything at rest can stay there, found in O(n): then nothing is to be chosen. Leaves the modes at `Stuck`.
    fn all_hold(&mut self, t: f64) -> Result<bool, Failure> {
        // where others may hold what is open, it carries nothing
        let is_open = self.rest.stiction.iter().any(|levels| levels.contains(&0.0));
        if !self.rest.breaking.is_empty() || is_open && !self.ties.is_coupled() {
            return Ok(false);
        }
        self.take_up(t)?;
        let holds = |&c: &usize| self.friction[c].abs() <= self.limit(c) * (1.0 + HOLDING);
        Ok(self.rest.contacts.iter().all(holds))
    }

    /// Lets go of those that hold together and are beyond what they can. Whether there were any that had not been told to.
    fn break_overloaded(&mut self) -> bool {
        let mut is_any = false;
        for c in 0..self.mode.len() {
            let is_beyond = self.ties.margin(c).is_some_and(|(margin, leader)| leader == c && margin < -OVERLOADED);
            if !is_beyond || !self.sticks(c) {
                continue;
            }
            let told = |rest: &Rest| rest.touched.iter().filter(|touched| **touched == Touched::BreaksAway).count();
            let before = told(&self.rest);
            self.break_away(c);
            is_any |= told(&self.rest) > before;
        }
        is_any
    }

    /// Accelerations and reactions that go with the modes.
    fn take_up(&mut self, t: f64) -> Result<(), Failure> {
        self.lock();
        let is_plain = self.pressed.is_empty() && self.driven.is_empty() && !self.ties.is_coupled();
        let is_wanted = self.formulation == Formulation::Jerk || !self.rest.standing.is_empty();
        if self.is_stuck || !is_plain || is_wanted {
            self.place()?;
            self.efforts(t);
            self.accelerate_afresh()?;
            self.read_reactions()?;
        }
        self.set_slack();
        Ok(())
    }

    /// Who is at rest, and who of them breaks away.
    fn find_at_rest(&mut self, t: f64) {
        let is_coupled = self.ties.is_coupled();
        let fastest = self.v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let near = NEAR * (1.0 + fastest);
        if is_coupled {
            // relative velocities are differences: rounding must not call back what has just left
            self.leaving = self.leaving.max(64.0 * f64::EPSILON * fastest);
        }
        self.rest.contacts.clear();
        self.rest.standing.clear();
        self.rest.is_settled = false;
        self.rest.dropped.fill(false);
        for c in 0..self.mode.len() {
            let contact = &self.compiled.contacts[c];
            if !contact.is_event_driven() {
                continue;
            }
            let rate = contact.rate(&self.v);
            let is_open = contact.is_open(t);
            self.rest.was_open[c] = std::mem::replace(&mut self.rest.open[c], is_open);
            // one that is led goes where its signal goes, or stands still with it
            if self.is_led(c) {
                let a = contact.rate(&self.a);
                let is_moving = a == 0.0 || rate.abs() > 1e-12 * a.abs().sqrt();
                self.mode[c] = Mode::of_sign(if is_moving { rate } else { a });
                continue;
            }
            // what can hold nothing does not stick
            if is_open || contact.never_sticks() {
                if rate == 0.0 {
                    self.rest.standing.push(c);
                }
                if rate != 0.0 || self.mode[c] == Mode::Stuck {
                    self.mode[c] = if rate < 0.0 { Mode::Backward } else { Mode::Forward };
                }
                continue;
            }
            // past zero by less than its event tells: another event came at the same instant; or tied to one that comes to rest
            let is_past = self.mode[c].direction() * rate < 0.0 && rate.abs() <= self.leaving;
            // but not one that has just left and goes on
            let onward = self.mode[c].direction();
            let is_leaving = onward * rate > 0.0 && onward * contact.rate(&self.a) > 0.0;
            let is_near = is_coupled && rate.abs() <= near && !is_leaving;
            if rate != 0.0 && (is_past || is_near) {
                if self.mode[c] != Mode::Stuck {
                    self.rest.touched[c] = Touched::ComesToRest;
                }
                self.v[contact.v] = contact.b.map_or(0.0, |b| self.v[b]);
            }
            if self.rest.touched[c] == Touched::ComesToRest {
                self.v[contact.v] = contact.b.map_or(0.0, |b| self.v[b]);
            }
            let rate = contact.rate(&self.v);
            if rate != 0.0 {
                self.mode[c] = Mode::of_sign(rate);
                continue;
            }
            self.rest.contacts.push(c);
        }
        let Self { rest, mode, .. } = self;
        rest.was.clear();
        rest.was.extend(rest.contacts.iter().map(|&c| mode[c]));
    }

    /// Efforts that those at rest can hold, and that they slide with; and who of them breaks away.
    fn set_levels(&mut self, t: f64) {
        let Self { compiled, rest, mode, piece, load, .. } = self;
        rest.breaking.clear();
        rest.stiction.clear();
        rest.kinetic.clear();
        for (k, &c) in rest.contacts.iter().enumerate() {
            let contact = &compiled.contacts[c];
            let Some(law) = contact.law.event_driven() else { continue };
            let n = if contact.bearing.is_some() {
                load[c]
            } else {
                let normal = |t| contact.normal(&load_signal(contact.signal(), t, *piece)).0;
                let now = normal(t);
                if now == 0.0 { normal(t + BEGINNING) } else { now }
            };
            let n = contact.arm * n;
            // against backward motion a one-way clutch has another load
            let reverse = if contact.reverse.is_some() {
                contact.arm * contact.normal_towards(true, &Sample::default()).0
            } else {
                n
            };
            let kinetic = n.max(reverse) * law.kinetic_level(0.0).0;
            // one that has left rest at this very instant is not called back
            let is_leaving =
                rest.was[k] != Mode::Stuck && rest.touched[c] == Touched::No && kinetic > 0.0 && !rest.was_open[c];
            if rest.touched[c] == Touched::BreaksAway || is_leaving || rest.dropped[c] {
                rest.breaking.push(k);
            }
            rest.stiction.push([n, reverse].map(|n| n * law.stiction_level()));
            rest.kinetic.push([n, reverse].map(|n| n * law.kinetic_level(0.0).0));
            mode[c] = Mode::Stuck;
        }
    }

    /// a₀ and W, then the choice.
    fn choose(&mut self, t: f64) -> Result<(), Failure> {
        self.place()?;
        self.efforts(t);
        // those in motion go on with the reactions at hand
        for &c in &self.pressed {
            self.tau[self.compiled.contacts[c].v] -= self.kappa[c] * self.load[c];
        }
        if self.driven.is_empty() && !self.ties.is_coupled() {
            self.weigh_tree()?;
        } else {
            self.weigh_coupled()?;
        }
        let is_tree = self.driven.is_empty() && !self.ties.is_coupled();
        if is_tree && self.rest.contacts.len() > MANY {
            let chosen = self.select_in_tree();
            return self.take_choice(chosen);
        }
        // where rounding alone would tell them apart, too
        let at_rest = std::mem::take(&mut self.rest.contacts);
        let is_shared = self.ties.is_coupled() && self.holds_twice(&at_rest);
        self.rest.contacts = at_rest;
        let chosen = if is_shared { self.rest.select_shared() } else { self.rest.select() };
        self.take_choice(chosen)
    }

    /// The choice among many joints of a tree.
    fn select_in_tree(&mut self) -> Result<(), ModeError> {
        let Self { compiled, work, rest, q, v, tau, .. } = self;
        let Rest {
            contacts,
            delassus,
            a0,
            stiction,
            kinetic,
            breaking,
            locked,
            pushed,
            a,
            place,
            chosen,
            work: modes,
            ..
        } = rest;
        place.clear();
        place.extend(contacts.iter().map(|&c| (compiled.contacts[c].joint, compiled.contacts[c].v)));
        let at_rest = AtRest { delassus, free_acceleration: a0, stiction, kinetic, breaking };
        let mut tree = Tree { model: &compiled.model, work, q, v, tau, place, locked, pushed, a };
        let found = select_with(&at_rest, modes, &mut tree)?;
        chosen.clone_from(&found.mode);
        Ok(())
    }

    /// Sets the modes that were chosen.
    fn take_choice(&mut self, chosen: Result<(), ModeError>) -> Result<(), Failure> {
        let Self { rest, mode, .. } = self;
        if let Err(source) = chosen {
            let (ModeError::Unusable { joint } | ModeError::Dependent { joint } | ModeError::Cycle { joint }) = source;
            let contact = rest.contacts.get(joint).copied().unwrap_or(0);
            return Err(Failure::Modes { contact, source });
        }
        for (&c, &chosen) in rest.contacts.iter().zip(&rest.chosen) {
            mode[c] = chosen;
        }
        if self.ties.is_coupled() {
            self.catch_held();
        }
        Ok(())
    }

    /// One that is at its limit and cannot move, because others hold what it holds, is stuck with them.
    fn catch_held(&mut self) {
        self.lock();
        let strongest = self.rest.stiction.iter().flatten().fold(0.0_f64, |most, level| most.max(*level));
        for (k, &c) in self.rest.contacts.iter().enumerate() {
            let contact = &self.compiled.contacts[c];
            // one whose load has just gone is free
            let has_strength = self.rest.stiction[k].iter().any(|level| *level > HOLDING * strongest);
            let is_held = |v: usize| self.held[self.joint_of[v]] && !self.driven.iter().any(|driven| driven.v == v);
            if self.mode[c] != Mode::Stuck && has_strength && self.ties.is_still(contact.v, contact.b, is_held) {
                self.mode[c] = Mode::Stuck;
            }
        }
        // an event that changes nothing would come again: then it slides, at rest as it is
        let is_same = self.rest.contacts.iter().all(|&c| self.mode[c] == Mode::Stuck);
        if is_same && self.rest.touched.contains(&Touched::BreaksAway) {
            self.rest.contacts.iter().zip(&self.rest.chosen).for_each(|(&c, &chosen)| self.mode[c] = chosen);
        }
    }

    /// a₀ and W of a tree.
    fn weigh_tree(&mut self) -> Result<(), Failure> {
        let Self { compiled, work, rest, q, v, tau, .. } = self;
        let model = &compiled.model;
        let at = |c: &usize| compiled.contacts[*c].v;
        let a = aba(model, work, q, v, tau)?;
        rest.a0.clear();
        rest.a0.extend(rest.contacts.iter().map(|c| a[at(c)]));
        // W is symmetric: its columns are its rows
        rest.delassus.clear();
        for c in &rest.contacts {
            rest.unit[at(c)] = 1.0;
            let column = solve(model, work, &rest.unit)?;
            rest.delassus.extend(rest.contacts.iter().map(|c| column[at(c)]));
            rest.unit[at(c)] = 0.0;
        }
        Ok(())
    }

    /// The same where coordinates depend on others or are led: nothing sticks, all ties hold.
    fn weigh_coupled(&mut self) -> Result<(), Failure> {
        self.unlock();
        let Self { compiled, work, rest, ties, q, v, tau, held, joint_of, active, a, b, x, rows, .. } = self;
        let (model, contacts) = (&compiled.model, &compiled.contacts);
        for &c in &self.pressed {
            rows[contacts[c].joint] = axis_row(model, contacts[c].joint);
        }
        active.iter().for_each(|&i| a[i] = 0.0);
        ties.rates(a);
        let required = rnea(model, work, q, v, a)?;
        b.iter_mut().zip(&*tau).zip(required).for_each(|((b, tau), required)| *b = tau - required);
        factor_rows_at(model, work, rows, held)?;
        ties.factor(model, work, held, joint_of)?;
        x.copy_from_slice(solve_rows(model, work, b)?);
        ties.correct(held, joint_of, x, b);
        a.iter_mut().zip(&*x).for_each(|(a, x)| *a += x);
        rest.a0.clear();
        rest.a0.extend(rest.contacts.iter().map(|&c| contacts[c].rate(a)));
        rest.delassus.clear();
        for &c in &rest.contacts {
            b.fill(0.0);
            contacts[c].take(b, -1.0);
            x.copy_from_slice(solve_rows(model, work, b)?);
            ties.correct(held, joint_of, x, b);
            rest.delassus.extend(rest.contacts.iter().map(|&c| contacts[c].rate(x)));
        }
        Ok(())
    }
}

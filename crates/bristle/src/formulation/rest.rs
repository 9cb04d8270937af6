//! The joints at rest, gathered for [`crate::modes::select`].
//!
//! At rest is a joint that is stuck, that has just come to rest, or whose velocity is zero. With a₀ the accelerations of the whole
//! machine without their friction, every joint free to move, and W the rows and columns of M⁻¹ that belong to them, the choice is
//! made on arrays. Joints in motion take part by the friction of their direction.
//!
//! Where limits are reactions, choice and reactions follow from each other: see `Machine::settle`.

use super::efforts::load_signal;
use super::machine::{Failure, Machine};
use crate::modes::{AtRest, ModeWork, select};
use crate::scene::Formulation;
use bristle_friction::Mode;
use bristle_multibody::{aba, factor, rnea, solve};

/// A load that begins at nothing is taken for what it is this much later, s: enough to decide who holds, too little to hold anything.
const BEGINNING: f64 = 1e-9;

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
    /// Whether each contact had no load when it was last looked at: one at rest has then not left, it was free.
    free: Vec<bool>,
    /// The same before this event.
    was_free: Vec<bool>,
    /// Contacts at rest, in order.
    contacts: Vec<usize>,
    /// Their modes before this event, and those that were tried last.
    was: Vec<Mode>,
    tried: Vec<Mode>,
    /// Whether a choice has been made.
    is_settled: bool,
    /// Of them, those that break away: places in `contacts`.
    breaking: Vec<usize>,
    delassus: Vec<f64>,
    a0: Vec<f64>,
    stiction: Vec<f64>,
    kinetic: Vec<f64>,
    /// A unit effort; `n_v`.
    unit: Vec<f64>,
    work: ModeWork,
}

impl Rest {
    pub fn new(n_contacts: usize, n_v: usize) -> Self {
        Self {
            touched: vec![Touched::No; n_contacts],
            free: vec![false; n_contacts],
            was_free: vec![false; n_contacts],
            contacts: Vec::with_capacity(n_contacts),
            was: Vec::with_capacity(n_contacts),
            tried: Vec::with_capacity(n_contacts),
            is_settled: false,
            breaking: Vec::with_capacity(n_contacts),
            delassus: Vec::with_capacity(n_contacts * n_contacts),
            a0: Vec::with_capacity(n_contacts),
            stiction: Vec::with_capacity(n_contacts),
            kinetic: Vec::with_capacity(n_contacts),
            unit: vec![0.0; n_v],
            work: ModeWork::new(n_contacts),
        }
    }
}

impl Machine {
    /// Chooses the modes of all joints at rest, locks those that stick, and finds accelerations and reactions that go with it.
    ///
    /// Limits that follow from reactions follow from the choice. It is made with the reactions at hand, those with everything at rest
    /// locked to begin with, and made again with the reactions that it brings, until it is its own consequence. Choices are finite
    /// in number but could go round in circles: after [`MOST_ROUNDS`] that is an error with joint and time.
    pub(super) fn settle(&mut self, t: f64) -> Result<(), Failure> {
        self.find_at_rest();
        if self.rest.contacts.is_empty() || self.pressed.is_empty() {
            self.set_levels(t);
            if !self.rest.contacts.is_empty() {
                self.choose(t)?;
            }
            return self.take_up(t);
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
                // the choice of before, which accelerations and reactions belong to
                self.lock();
                self.set_slack();
                return Ok(());
            }
            self.rest.is_settled = true;
            self.take_up(t)?;
        }
        let changing = self.rest.contacts.iter().zip(&self.rest.tried).find(|(c, tried)| self.mode[**c] != **tried);
        let joint = changing.map_or(0, |(&c, _)| self.compiled.contacts[c].joint);
        Err(Failure::Unsettled { joint })
    }

    /// Accelerations and reactions that go with the modes.
    fn take_up(&mut self, t: f64) -> Result<(), Failure> {
        self.lock();
        if self.is_stuck || !self.pressed.is_empty() || self.formulation == Formulation::Jerk || !self.driven.is_empty()
        {
            self.place()?;
            self.efforts(t);
            self.accelerate_afresh()?;
            self.read_reactions()?;
        }
        self.set_slack();
        Ok(())
    }

    /// Who is at rest, and who of them breaks away.
    fn find_at_rest(&mut self) {
        let Self { compiled, rest, v, a, mode, leaving, driven, .. } = self;
        rest.contacts.clear();
        rest.is_settled = false;
        for (c, contact) in compiled.contacts.iter().enumerate() {
            if !contact.is_event_driven() {
                continue;
            }
            // one that is led goes where its signal goes, or stands still with it
            if driven.iter().any(|driven| driven.joint == contact.joint) {
                let (v, a) = (v[contact.v], a[contact.v]);
                mode[c] = Mode::of_sign(if v.abs() > 1e-12 * a.abs().sqrt() { v } else { a });
                continue;
            }
            // past zero by less than its event tells: another event came at the same instant
            if mode[c].direction() * v[contact.v] < 0.0 && v[contact.v].abs() <= *leaving {
                rest.touched[c] = Touched::ComesToRest;
            }
            if rest.touched[c] == Touched::ComesToRest {
                v[contact.v] = 0.0;
            }
            if v[contact.v] != 0.0 {
                mode[c] = Mode::of_sign(v[contact.v]);
                continue;
            }
            rest.contacts.push(c);
        }
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
            let kinetic = n * law.kinetic_level(0.0).0;
            // one that has left rest at this very instant is not called back
            let was_free =
                if rest.is_settled { rest.was_free[c] } else { std::mem::replace(&mut rest.free[c], n == 0.0) };
            rest.was_free[c] = was_free;
            let is_leaving = rest.was[k] != Mode::Stuck && rest.touched[c] == Touched::No && kinetic > 0.0 && !was_free;
            if rest.touched[c] == Touched::BreaksAway || is_leaving {
                rest.breaking.push(k);
            }
            rest.stiction.push(n * law.stiction_level());
            rest.kinetic.push(kinetic);
            mode[c] = Mode::Stuck;
        }
    }

    /// a₀ and W, then the choice.
    fn choose(&mut self, t: f64) -> Result<(), Failure> {
        self.place()?;
        self.efforts(t);
        let Self { compiled, work, rest, q, v, tau, mode, held, driven, a, b, .. } = self;
        let model = &compiled.model;
        // those in motion go on with the reactions at hand
        for &c in &self.pressed {
            tau[compiled.contacts[c].v] -= self.kappa[c] * self.load[c];
        }
        let at = |c: &usize| compiled.contacts[*c].v;
        rest.a0.clear();
        if driven.is_empty() {
            let a = aba(model, work, q, v, tau)?;
            rest.a0.extend(rest.contacts.iter().map(|c| a[at(c)]));
        } else {
            // everything free but what is led
            held.fill(false);
            b.fill(0.0);
            for driven in &*driven {
                held[driven.joint] = true;
                b[driven.v] = a[driven.v];
            }
            let required = rnea(model, work, q, v, b)?;
            b.iter_mut().zip(&*tau).zip(required).for_each(|((b, tau), required)| *b = tau - required);
            factor(model, work, q, held)?;
            let a = solve(model, work, b)?;
            rest.a0.extend(rest.contacts.iter().map(|c| a[at(c)]));
        }

        // W is symmetric: its columns are its rows
        rest.delassus.clear();
        for c in &rest.contacts {
            rest.unit[at(c)] = 1.0;
            let column = solve(model, work, &rest.unit)?;
            rest.delassus.extend(rest.contacts.iter().map(|c| column[at(c)]));
            rest.unit[at(c)] = 0.0;
        }
        let at_rest = AtRest {
            delassus: &rest.delassus,
            free_acceleration: &rest.a0,
            stiction: &rest.stiction,
            kinetic: &rest.kinetic,
            breaking: &rest.breaking,
        };
        let selection = select(&at_rest, &mut rest.work).map_err(|source| {
            let (crate::modes::ModeError::Unusable { joint }
            | crate::modes::ModeError::Dependent { joint }
            | crate::modes::ModeError::Cycle { joint }) = source;
            let joint = rest.contacts.get(joint).map_or(0, |&c| compiled.contacts[c].joint);
            Failure::Modes { joint, source }
        })?;
        for (&c, &chosen) in rest.contacts.iter().zip(&selection.mode) {
            mode[c] = chosen;
        }
        Ok(())
    }
}

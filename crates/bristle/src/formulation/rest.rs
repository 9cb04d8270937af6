//! The joints at rest, gathered for [`crate::modes::select`].
//!
//! At rest is a joint that is stuck, that has just come to rest, or whose velocity is zero. With a₀ the accelerations of the whole
//! machine without their friction, every joint free to move, and W the rows and columns of M⁻¹ that belong to them, the choice is
//! made on arrays. Joints in motion take part by the friction of their direction.

use super::machine::{Failure, Machine, load_signal};
use crate::modes::{AtRest, ModeWork, select};
use bristle_friction::Mode;
use bristle_multibody::{aba, solve};

/// A load that begins at nothing is taken for what it is this much later, s: enough to decide who holds, too little to hold anything.
const BEGINNING: f64 = 1e-9;

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
    /// Contacts at rest, in order.
    contacts: Vec<usize>,
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
            contacts: Vec::with_capacity(n_contacts),
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
    /// Chooses the modes of all joints at rest, and locks those that stick.
    pub(super) fn settle(&mut self, t: f64) -> Result<(), Failure> {
        self.find_at_rest(t);
        if !self.rest.contacts.is_empty() {
            self.choose(t)?;
        }
        self.lock();
        self.set_slack(t).map_err(Failure::Mechanics)
    }

    /// Who is at rest, and who of them breaks away.
    fn find_at_rest(&mut self, t: f64) {
        let Self { compiled, rest, v, mode, piece, leaving, .. } = self;
        rest.contacts.clear();
        rest.breaking.clear();
        rest.stiction.clear();
        rest.kinetic.clear();
        for (c, contact) in compiled.contacts.iter().enumerate() {
            let Some(law) = contact.law.event_driven() else { continue };
            // past zero by less than its event tells: another event came at the same instant
            if mode[c].direction() * v[contact.v] < 0.0 && v[contact.v].abs() <= *leaving {
                rest.touched[c] = Touched::ComesToRest;
            }
            let touched = rest.touched[c];
            if touched == Touched::ComesToRest {
                v[contact.v] = 0.0;
            }
            if v[contact.v] != 0.0 {
                mode[c] = Mode::of_sign(v[contact.v]);
                continue;
            }
            // efforts that it can hold, and that it slides with
            let normal = |t| contact.normal(&load_signal(contact.signal(), t, *piece)).0;
            let now = normal(t);
            let n = contact.arm * if now == 0.0 { normal(t + BEGINNING) } else { now };
            let kinetic = n * law.kinetic_level(0.0).0;
            // one that has left rest at this very instant is not called back
            let was_free = std::mem::replace(&mut rest.free[c], n == 0.0);
            let is_leaving = mode[c] != Mode::Stuck && touched == Touched::No && kinetic > 0.0 && !was_free;
            if touched == Touched::BreaksAway || is_leaving {
                rest.breaking.push(rest.contacts.len());
            }
            rest.contacts.push(c);
            rest.stiction.push(n * law.stiction_level());
            rest.kinetic.push(kinetic);
            mode[c] = Mode::Stuck;
        }
    }

    /// a₀ and W, then the choice.
    fn choose(&mut self, t: f64) -> Result<(), Failure> {
        self.place().map_err(Failure::Mechanics)?;
        self.efforts(t);
        let Self { compiled, work, rest, q, v, tau, mode, .. } = self;
        let model = &compiled.model;
        let at = |c: &usize| compiled.contacts[*c].v;
        let a = aba(model, work, q, v, tau).map_err(Failure::Mechanics)?;
        rest.a0.clear();
        rest.a0.extend(rest.contacts.iter().map(|c| a[at(c)]));

        // W is symmetric: its columns are its rows
        rest.delassus.clear();
        for c in &rest.contacts {
            rest.unit[at(c)] = 1.0;
            let column = solve(model, work, &rest.unit).map_err(Failure::Mechanics)?;
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

//! The arrays of a mode transition, and the selection from them.

use super::{AT_LIMIT, HOLDING};
use crate::dynamics::ContactEvent;
use crate::modes::{AtRest, Levels, MAX_EAGER, ModeError, ModeWork, select};
use bristle_friction::Mode;

/// Compliance of redundant contacts, relative to the largest diagonal entry of W: the regularisation makes the
/// distribution unique, and is too small to cause motion.
const COMPLIANCE: f64 = 1e-9;

/// Corrections of the regularisation (proximal point iterations): each reduces its error by the factor above.
const N_CORRECTIONS: usize = 2;

/// Accelerations above this, relative to the terms of their difference, are not rounding errors.
const MOVING: f64 = 1e-9;

/// Level of a closed stop in a redundant group, relative to the largest effort in it.
const STRONG: f64 = 1e4;

/// Scratch of a mode transition: the data of [`AtRest`].
#[derive(Debug, Clone)]
pub(in crate::stick_slip) struct TransitionWork {
    /// Modes before the last mode transition.
    pub modes_before: Vec<Mode>,
    /// Direction in which each contact breaks away.
    pub leaving: Vec<Mode>,
    /// Contacts at zero velocity that cannot stick: open, or without dry friction.
    pub standing: Vec<usize>,
    /// Contacts at rest, in order.
    pub contacts: Vec<usize>,
    /// Modes of all contacts before this event; of the contacts at rest; the modes tried last.
    pub mode_before: Vec<Mode>,
    pub was: Vec<Mode>,
    pub tried: Vec<Mode>,
    /// Whether modes have been selected.
    pub is_resolved: bool,
    /// Contacts that slipped in an earlier selection of this event: they keep the sliding level.
    pub dropped: Vec<bool>,
    /// The contacts that break away, as indices into `contacts`.
    pub breaking: Vec<usize>,
    pub delassus: Vec<f64>,
    pub a0: Vec<f64>,
    pub stiction: Vec<Levels>,
    pub kinetic: Vec<Levels>,
    /// For redundant contacts: the levels in force; the compliances; a₀ shifted by the proximal point iteration.
    pub limit: Vec<Levels>,
    pub compliance: Vec<f64>,
    pub shifted: Vec<f64>,
    /// The selected modes.
    pub chosen: Vec<Mode>,
    /// For [`TreeProblem`]: locked bodies, `n_bodies`; efforts with friction, accelerations, armatures, efforts less
    /// the bias, `n_v`.
    pub locked: Vec<bool>,
    pub pushed: Vec<f64>,
    pub a: Vec<f64>,
    pub armature: Vec<f64>,
    pub net: Vec<f64>,
    /// Joint and velocity index of each contact at rest.
    pub place: Vec<(usize, usize)>,
    pub work: ModeWork,
}

impl TransitionWork {
    pub fn new(n_contacts: usize, n_v: usize, n_bodies: usize) -> Self {
        Self {
            modes_before: vec![Mode::Stuck; n_contacts],
            leaving: vec![Mode::Stuck; n_contacts],
            standing: Vec::with_capacity(n_contacts),
            contacts: Vec::with_capacity(n_contacts),
            mode_before: vec![Mode::Stuck; n_contacts],
            was: Vec::with_capacity(n_contacts),
            tried: Vec::with_capacity(n_contacts),
            is_resolved: false,
            dropped: vec![false; n_contacts],
            breaking: Vec::with_capacity(n_contacts),
            delassus: if n_contacts <= MAX_EAGER { Vec::with_capacity(n_contacts * n_contacts) } else { Vec::new() },
            a0: Vec::with_capacity(n_contacts),
            stiction: Vec::with_capacity(n_contacts),
            kinetic: Vec::with_capacity(n_contacts),
            limit: Vec::with_capacity(n_contacts),
            compliance: Vec::with_capacity(n_contacts),
            shifted: Vec::with_capacity(n_contacts),
            chosen: Vec::with_capacity(n_contacts),
            locked: vec![false; n_bodies],
            pushed: vec![0.0; n_v],
            a: vec![0.0; n_v],
            armature: vec![0.0; n_v],
            net: vec![0.0; n_v],
            place: Vec::with_capacity(n_contacts),
            work: ModeWork::new(n_contacts),
        }
    }
}

#[cfg(test)]
impl TransitionWork {
    /// Sweeps, or factorisations, of the last selection.
    pub fn n_sweeps(&self) -> usize {
        self.work.selection().n_factor
    }

    /// Convex problems of the last selection.
    pub fn n_problems(&self) -> usize {
        self.work.selection().n_problems
    }
}

impl TransitionWork {
    /// Selects the modes from the arrays.
    pub fn select(&mut self) -> Result<(), ModeError> {
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

    /// Replaces the infinite levels of closed stops by finite ones far above all efforts: the regularised problem needs
    /// numbers of comparable size.
    fn bound_stops(&mut self) {
        let n = self.contacts.len();
        let finite = self.stiction.iter().flatten().filter(|level| level.is_finite());
        let most = finite.fold(0.0_f64, |most, level| most.max(*level));
        let needed = (0..n).map(|k| self.a0[k].abs() / self.delassus[k * n + k]).filter(|f| f.is_finite());
        let enough = STRONG * needed.fold(most, f64::max).max(f64::MIN_POSITIVE);
        let levels = self.stiction.iter_mut().chain(&mut self.kinetic).flatten();
        levels.filter(|level| level.is_infinite()).for_each(|level| *level = enough);
    }

    /// Selects the modes of redundant contacts. Each keeps its static level while it does not move. A compliance
    /// in inverse proportion to its strength regularises the problem, so that the solution is unique; a proximal point
    /// iteration removes its effect.
    pub fn select_shared(&mut self, contact_event: &[ContactEvent]) -> Result<(), ModeError> {
        self.bound_stops();
        let n = self.contacts.len();
        let largest = (0..n).map(|k| self.delassus[k * n + k]).fold(0.0, f64::max);
        // the constraints alone immobilise all of them
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let strongest = self.stiction.iter().flatten().fold(f64::MIN_POSITIVE, |most, s| most.max(*s));
        self.compliance.clear();
        for k in 0..n {
            let strength = self.stiction[k][0].max(self.stiction[k][1]).max(1e-6 * strongest);
            self.compliance.push(COMPLIANCE * largest * strongest / strength);
            self.delassus[k * n + k] += self.compliance[k];
        }
        self.limit.clear();
        self.limit.extend_from_slice(&self.stiction);
        for &k in &self.breaking {
            self.limit[k] = self.kinetic[k];
        }
        for _ in 0..=n {
            self.shifted.clone_from(&self.a0);
            for _ in 0..=N_CORRECTIONS {
                let at_rest = AtRest {
                    delassus: &self.delassus,
                    free_acceleration: &self.shifted,
                    stiction: &self.limit,
                    kinetic: &self.limit,
                    breaking: &[],
                };
                let found = select(&at_rest, &mut self.work)?;
                for k in 0..n {
                    self.shifted[k] = self.a0[k] + self.compliance[k] * found.friction[k];
                }
            }
            let found = self.work.selection();
            let mut is_resolved = true;
            self.chosen.clear();
            for k in 0..n {
                let (f, a) = (found.friction[k], found.acceleration[k]);
                let terms = self.delassus[k * n..(k + 1) * n].iter().zip(&found.friction);
                let size = terms.fold(self.a0[k].abs(), |size, (w, f)| size + (w * f).abs());
                let c = self.contacts[k];
                let has_direction = contact_event[c] == ContactEvent::BreaksAway && self.leaving[c] != Mode::Stuck;
                let way = if has_direction { self.leaving[c] } else { Mode::of_sign(f) };
                let limit = self.limit[k][usize::from(way == Mode::Backward)];
                let moves = a.abs() > MOVING * size;
                if moves && self.limit[k] != self.kinetic[k] {
                    self.limit[k] = self.kinetic[k];
                    is_resolved = false;
                }
                let is_at_limit = way.direction() * f >= (1.0 - AT_LIMIT) * limit - HOLDING * strongest;
                self.chosen.push(match () {
                    () if moves || self.limit[k] == [0.0; 2] => found.mode[k],
                    () if is_at_limit && self.breaking.contains(&k) => way,
                    () => Mode::Stuck,
                });
            }
            if is_resolved {
                break;
            }
        }
        Ok(())
    }
}

//! Modes by exhaustive enumeration, where the iteration of limits and reactions in `transition` does not converge.
//!
//! Limits that are reactions make mode selection a nonlinear complementarity problem: modes determine accelerations,
//! accelerations reactions, and reactions limits. The iteration selects modes for the reactions of the modes before,
//! and can cycle although consistent modes exist. The enumeration then tests every combination of modes with its own
//! accelerations and reactions:
//!
//! ```text
//! stuck        |f| ≤ r N stiction,   f by equilibrium
//! forward       a ≥ 0                f = +r N kinetic
//! backward      a ≤ 0                f = −r N kinetic
//! ```
//!
//! The order of the combinations follows the selection rule: first those in which every contact of the event slips,
//! then fewer slipping contacts before more, then by index. The first consistent one is applied. If there is none,
//! the state has no solution with finite forces, which is a Painlevé paradox, and the error says so.

use super::machine::Machine;
use super::transition::{IMPENDING, OVERLOADED};
use crate::dynamics::ContactEvent;
use crate::dynamics::failure::Failure;
use bristle_friction::Mode;

/// Largest number of contacts at rest for an enumeration: 3⁹ = 19,683 combinations.
const MAX_ENUMERATED: usize = 9;

/// Accelerations against the direction of slip below this, relative to the largest of their kind, are rounding errors.
/// Well below the effect of [`IMPENDING`] on a contact that breaks away.
const ROUNDING: f64 = 1e-11;

/// Mode number `k` of a contact in a combination, a number with base 3.
fn mode_of(combination: usize, k: u32) -> Mode {
    match combination / 3_usize.pow(k) % 3 {
        0 => Mode::Stuck,
        1 => Mode::Forward,
        _ => Mode::Backward,
    }
}

impl Machine {
    /// Tries all combinations of modes of the contacts at rest, and applies the first that is consistent.
    pub(super) fn enumerate_modes(&mut self, t: f64) -> Result<(), Failure> {
        let contacts = std::mem::take(&mut self.transition.contacts);
        let found = self.enumerate_modes_of(t, &contacts);
        let failure =
            || Failure::Inconsistent { contacts: contacts.clone(), is_exhaustive: contacts.len() <= MAX_ENUMERATED };
        let result = found.and_then(|found| if found { Ok(()) } else { Err(failure()) });
        self.transition.contacts = contacts;
        result
    }

    fn enumerate_modes_of(&mut self, t: f64, contacts: &[usize]) -> Result<bool, Failure> {
        if contacts.len() > MAX_ENUMERATED {
            return Ok(false);
        }
        let n = contacts.len() as u32;
        let breaks = |machine: &Self, k: u32| {
            machine.dynamics.state.contact_event[contacts[k as usize]] == ContactEvent::BreaksAway
        };
        for keeps_event in [true, false] {
            for n_slipping in 0..=contacts.len() {
                for combination in 0..3_usize.pow(n) {
                    let modes = || (0..n).map(|k| mode_of(combination, k));
                    let follows = (0..n).all(|k| !breaks(self, k) || mode_of(combination, k) != Mode::Stuck);
                    let is_beyond = |k: u32| {
                        let closed = self.dynamics.state.stops[contacts[k as usize]].closed;
                        closed.is_some_and(|end| end.inward() * mode_of(combination, k).direction() < 0.0)
                    };
                    if (0..n).any(is_beyond) {
                        continue;
                    }
                    if modes().filter(|mode| *mode != Mode::Stuck).count() != n_slipping || follows != keeps_event {
                        continue;
                    }
                    for (&c, mode) in contacts.iter().zip(modes()) {
                        self.dynamics.state.mode[c] = mode;
                    }
                    if self.is_consistent(t, contacts)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether the modes of the contacts at rest are consistent with their accelerations and reactions, which are
    /// left in place.
    fn is_consistent(&mut self, t: f64, contacts: &[usize]) -> Result<bool, Failure> {
        // directions: for the impending motion
        if !self.has_solution(t, IMPENDING)? {
            return Ok(false);
        }
        let mut largest = [0.0_f64; 2];
        for (k, a) in self.dynamics.point.a.iter().enumerate() {
            let largest = &mut largest[usize::from(self.dynamics.compiled.model.tree.turns(k))];
            *largest = largest.max(a.abs());
        }
        let goes = |&c: &usize| {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let rounding = ROUNDING * largest[usize::from(self.dynamics.compiled.model.tree.turns(contact.v))];
            self.dynamics.state.mode[c].direction() * contact.rate(&self.dynamics.point.a) >= -rounding
        };
        if !contacts.iter().all(goes) || !self.has_solution(t, 0.0)? {
            return Ok(false);
        }
        let holds = |&c: &usize| match self.dynamics.constraints.margin(c) {
            _ if self.dynamics.state.mode[c] != Mode::Stuck => true,
            Some((margin, _)) => margin >= -OVERLOADED,
            None => {
                let [up, down] = self.dynamics.limits(c);
                let f = self.dynamics.point.friction[c];
                f <= up * (1.0 + OVERLOADED) && -f <= down * (1.0 + OVERLOADED)
            }
        };
        Ok(contacts.iter().all(holds))
    }

    /// Accelerations and reactions of the modes, with reduced friction of contacts that break away; `false` where
    /// they jam.
    fn has_solution(&mut self, t: f64, reduction: f64) -> Result<bool, Failure> {
        match self.apply_modes_reduced(t, reduction) {
            Ok(()) => Ok(true),
            Err(Failure::Jam(_) | Failure::NoAcceleration) => Ok(false),
            Err(Failure::Mechanics(bristle_multibody::Error::Jam { .. })) => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

//! Mode transitions: the contacts at rest, gathered for [`crate::modes::select`].
//!
//! A contact is at rest if it is stuck, if it has just come to rest, or if its velocity is zero. The selection works
//! on two arrays: a₀, the accelerations of the whole machine without the friction of these contacts, every joint free
//! to move; and the Delassus matrix W, their rows and columns of M⁻¹. Sliding contacts act by the friction of their
//! direction.
//!
//! Where limits depend on reactions, modes and reactions depend on each other: see `Machine::resolve_modes`.

use crate::constraint::coordinates::Coordinates;
use crate::dynamics::Dynamics;
use crate::dynamics::failure::Failure;
mod at_rest;
mod tree_problem;
mod work;

use super::machine::Machine;
use crate::dynamics::efforts::load_signal;
use crate::dynamics::implicit::NewtonWork;
use crate::dynamics::point::Point;
use crate::dynamics::state::State;
use crate::dynamics::{ContactEvent, TIGHT};
use crate::model::Model;
use crate::model::stops::with_stop;
use crate::modes::{Levelled, ModeError, select_with};
use crate::solver::Formulation;
use bristle_friction::Mode;
use bristle_multibody::{axis_row, rnea, solve_rows};
use tree_problem::TreeProblem;
pub(super) use work::TransitionWork;

/// A load that starts from zero at a corner of its signal is evaluated after this fraction of the time to the next
/// corner: large enough to decide which contacts stick, too small to carry a load.
const BEGINNING: f64 = 1e-9;

/// Accelerations of coupled joints below this, relative to the two terms of their difference, count as zero.
const NEAR: f64 = 1e-11;

/// A stuck contact sticks while its effort exceeds the limit by less than this, relative to the limit.
const HOLDING: f64 = 1e-10;

/// The same for a group of redundant contacts, relative to the strength of the group.
pub(super) const OVERLOADED: f64 = 1e-8;

/// An effort below the limit by less than this, relative to the limit, has reached it: accuracy of event location.
const AT_LIMIT: f64 = 1e-6;

/// Relative reduction of the sliding level of a contact that breaks away, where loads are reactions: see
/// [`Machine::resolve_modes`]. Well above [`MOVING`] and rounding, well below [`AT_LIMIT`].
pub(super) const IMPENDING: f64 = 1e-7;

/// Limit of the successive selections, each with the reactions of the one before.
const MAX_ROUNDS: usize = 64;

impl Machine {
    /// Selects the modes of all contacts at rest, locks the stuck joints, and computes the accelerations and reactions.
    ///
    /// Limits that depend on reactions depend on the modes. The first selection uses the reactions with all contacts
    /// at rest locked; each further one uses the reactions of the modes before, until modes and reactions are
    /// consistent. A contact that slipped in one round keeps the sliding level in the next, whatever its load. The
    /// number of modes is finite, but the iteration may cycle: after [`MAX_ROUNDS`] all combinations are enumerated,
    /// see `enumerate`.
    ///
    /// With equal levels every acceleration is continuous at a break-away. In a machine at rest without gravity all
    /// accelerations vanish at that instant, and so do the reactions: rounding would decide limits and directions.
    /// The selection therefore anticipates the impending motion: it reduces the friction of the contacts that break
    /// away by the fraction [`IMPENDING`].
    pub(super) fn resolve_modes(&mut self, t: f64) -> Result<(), Failure> {
        if self.dynamics.is_constrained() {
            // there are no modes; the multipliers jump where efforts do
            self.dynamics.place()?;
            self.dynamics.efforts(t);
            return self.dynamics.accelerate(t, TIGHT);
        }
        self.find_at_rest(t);
        self.resolve_at_rest(t)?;
        self.open_left_stops();
        for c in 0..self.dynamics.state.mode.len() {
            let is_onward = self.dynamics.state.mode[c].direction()
                * self.dynamics.compiled.inputs.contacts[c].rate(&self.dynamics.point.v)
                > 0.0;
            self.dynamics.state.armed[c] &= is_onward && self.dynamics.state.mode[c] == self.transition.mode_before[c];
        }
        self.dynamics.state.is_any_unarmed = self.arm_events();
        // contacts that cannot stick follow their acceleration
        for k in 0..self.transition.standing.len() {
            let c = self.transition.standing[k];
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let a = contact.rate(&self.dynamics.point.a);
            let size =
                self.dynamics.point.a[contact.v].abs() + contact.b.map_or(0.0, |b| self.dynamics.point.a[b].abs());
            if a.abs() > NEAR * size {
                self.dynamics.state.mode[c] = Mode::of_sign(a);
            }
        }
        self.begin_kinks();
        Ok(())
    }

    /// The same, once the contacts at rest are known.
    fn resolve_at_rest(&mut self, t: f64) -> Result<(), Failure> {
        let is_one_way = self.dynamics.has_loaded_loops() && self.dynamics.loops.freedom <= 1;
        if is_one_way && !self.transition.contacts.is_empty() {
            return self.resolve_loaded_loops(t);
        }
        if self.transition.contacts.is_empty() || self.dynamics.compiled.model.reaction_loaded.is_empty() {
            self.set_levels(t);
            if !self.transition.contacts.is_empty() && !self.all_hold(t)? {
                self.select_modes(t)?;
            }
            self.apply_modes(t)?;
            // release groups whose overload the selection could not distinguish from rounding
            for _ in 0..self.transition.contacts.len() {
                if !self.break_overloaded() {
                    break;
                }
                self.set_levels(t);
                self.select_modes(t)?;
                self.apply_modes(t)?;
            }
            return Ok(());
        }
        // first estimate: all contacts at rest locked
        for k in 0..self.transition.contacts.len() {
            self.dynamics.state.mode[self.transition.contacts[k]] = Mode::Stuck;
        }
        self.estimate(t, 0.0)?;
        for _ in 0..MAX_ROUNDS {
            self.transition.tried.clear();
            self.transition.tried.extend(self.transition.contacts.iter().map(|&c| self.dynamics.state.mode[c]));
            self.set_levels(t);
            self.select_modes(t)?;
            let is_same = self
                .transition
                .contacts
                .iter()
                .zip(&self.transition.tried)
                .all(|(&c, &tried)| self.dynamics.state.mode[c] == tried);
            if is_same && self.transition.is_resolved {
                return self.apply_modes(t);
            }
            self.transition.is_resolved = true;
            for k in 0..self.transition.contacts.len() {
                let c = self.transition.contacts[k];
                self.transition.dropped[c] |= self.dynamics.state.mode[c] != Mode::Stuck;
            }
            self.estimate(t, IMPENDING)?;
        }
        self.enumerate_modes(t)
    }

    /// Whether all contacts at rest can stick, found in O(n): no selection is necessary then. Leaves the modes at
    /// `Stuck`.
    fn all_hold(&mut self, t: f64) -> Result<bool, Failure> {
        // an open contact carries nothing: it stays at rest only if couplings and other contacts immobilise it
        let is_open = self.transition.stiction.iter().any(|levels| levels.contains(&0.0));
        if !self.transition.breaking.is_empty() || is_open && !self.dynamics.constraints.is_coupled() {
            return Ok(false);
        }
        self.apply_modes(t)?;
        let holds = |&c: &usize| {
            // a prescribed motion may separate two locked joints
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            let a = self.dynamics.point.a[contact.v].abs() + contact.b.map_or(0.0, |b| self.dynamics.point.a[b].abs());
            let is_together = contact.rate(&self.dynamics.point.a).abs() <= NEAR * a;
            is_together && self.dynamics.point.friction[c].abs() <= self.dynamics.limit(c) * (1.0 + HOLDING)
        };
        Ok(self.transition.contacts.iter().all(holds))
    }

    /// Releases overloaded groups of redundant contacts; whether a contact of them did not break away before.
    fn break_overloaded(&mut self) -> bool {
        let mut is_any = false;
        for c in 0..self.dynamics.state.mode.len() {
            let is_beyond =
                self.dynamics.constraints.margin(c).is_some_and(|(margin, leader)| leader == c && margin < -OVERLOADED);
            if !is_beyond || !self.dynamics.sticks(c) {
                continue;
            }
            let n_breaking =
                |state: &State| state.contact_event.iter().filter(|event| **event == ContactEvent::BreaksAway).count();
            let before = n_breaking(&self.dynamics.state);
            self.break_away(c);
            is_any |= n_breaking(&self.dynamics.state) > before;
        }
        is_any
    }

    /// [`Machine::apply_modes_reduced`] for trial modes. If they jam (a joint may jam against another one that is
    /// locked but would slip), the next selection uses the reactions without friction.
    fn estimate(&mut self, t: f64, reduction: f64) -> Result<(), Failure> {
        match self.apply_modes_reduced(t, reduction) {
            Err(Failure::Jam(_)) => self.dynamics.read_reactions(),
            result => result,
        }
    }

    /// Computes the accelerations and reactions of the modes.
    fn apply_modes(&mut self, t: f64) -> Result<(), Failure> {
        self.apply_modes_reduced(t, 0.0)
    }

    /// The same with the friction of the contacts that break away reduced by the fraction `reduction`.
    pub(super) fn apply_modes_reduced(&mut self, t: f64, reduction: f64) -> Result<(), Failure> {
        self.dynamics.lock();
        let is_plain = self.dynamics.compiled.model.reaction_loaded.is_empty()
            && self.dynamics.compiled.model.prescribed.is_empty()
            && !self.dynamics.constraints.is_coupled();
        let is_wanted = self.dynamics.scheme.formulation == Formulation::Jerk || !self.transition.standing.is_empty();
        if self.dynamics.coordinates.is_stuck || !is_plain || is_wanted {
            self.dynamics.place()?;
            self.dynamics.efforts(t);
            if reduction > 0.0 {
                self.reduce_breaking(reduction);
            }
            self.dynamics.accelerate_from_frictionless()?;
            self.dynamics.read_reactions()?;
        }
        self.set_slack();
        Ok(())
    }

    /// Reduces the friction of the contacts that break away by the fraction `reduction`.
    fn reduce_breaking(&mut self, reduction: f64) {
        let Dynamics {
            compiled, state: State { contact_event, .. }, point: Point { tau, kappa, friction, .. }, ..
        } = &mut self.dynamics;
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            if contact_event[c] != ContactEvent::BreaksAway {
                continue;
            }
            kappa[c] *= 1.0 - reduction;
            if contact.bearing.is_none() {
                contact.take(tau, -reduction * friction[c]);
                friction[c] *= 1.0 - reduction;
            }
        }
    }

    /// Arms the event functions of sliding contacts whose velocity exceeds ε; whether any contact is not armed yet.
    pub(super) fn arm_events(&mut self) -> bool {
        let mut is_any_left = false;
        for c in 0..self.dynamics.state.mode.len() {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            if contact.is_event_driven() && !self.dynamics.state.armed[c] && self.dynamics.state.mode[c] != Mode::Stuck
            {
                self.dynamics.state.armed[c] = self.dynamics.state.mode[c].direction()
                    * contact.rate(&self.dynamics.point.v)
                    > self.dynamics.state.leaving;
                is_any_left |= !self.dynamics.state.armed[c];
            }
        }
        is_any_left
    }

    /// Static and sliding levels of the contacts at rest, and the list of those that break away.
    fn set_levels(&mut self, t: f64) {
        // without a further corner the load is that at t
        let soon = self
            .dynamics
            .state
            .next_corner
            .map_or(t, |corner| t + (BEGINNING * (corner - t)).max(4.0 * f64::EPSILON * t.abs()));
        let half_way = self.dynamics.state.next_corner.map_or(t, |corner| t + 0.5 * (corner - t));
        let Self {
            dynamics:
                Dynamics {
                    compiled,
                    scheme,
                    state: State { mode, piece, contact_event, was_open, stops, .. },
                    point: Point { load, force, .. },
                    ..
                },
            transition: rest,
            ..
        } = self;
        let Model { reaction_loaded, .. } = &*compiled.model;
        rest.breaking.clear();
        rest.stiction.clear();
        rest.kinetic.clear();
        for (k, &c) in rest.contacts.iter().enumerate() {
            let contact = &compiled.inputs.contacts[c];
            if !contact.is_event_driven() {
                continue;
            }
            let n = if contact.bearing.is_some() {
                contact.sides(load[c], &force[c])[0]
            } else {
                let normal = |t| contact.normal(&load_signal(contact.signal(), t, *piece)).0;
                // a load that starts with zero slope is still zero at `soon`: a small fraction of its later value
                // replaces it
                let loads = [normal(t), normal(soon), BEGINNING * normal(half_way)];
                loads.into_iter().find(|n| *n > 0.0).unwrap_or(0.0)
            };
            // a one-way clutch and a reducer have another load against backward motion
            let [n, reverse] = contact.sides(n, &force[c]).map(|n| contact.arm * n);
            // finite friction has no impulse
            let is_lost = scheme.is_impulsive && contact.bearing.is_none();
            let (n, reverse) = if is_lost { (0.0, 0.0) } else { (n, reverse) };
            let [stiction, levels] = [contact.stiction(), contact.kinetic()];
            let kinetic = (n * levels[0]).max(reverse * levels[1]);
            // a contact that left rest at this instant does not return
            let is_leaving =
                rest.was[k] != Mode::Stuck && contact_event[c] == ContactEvent::No && kinetic > 0.0 && !was_open[c];
            if contact_event[c] == ContactEvent::BreaksAway || is_leaving || rest.dropped[c] {
                rest.breaking.push(k);
            }
            rest.stiction.push(with_stop([n * stiction[0], reverse * stiction[1]], stops[c].closed));
            let is_impending = contact_event[c] == ContactEvent::BreaksAway && !reaction_loaded.is_empty();
            let left = if is_impending { 1.0 - IMPENDING } else { 1.0 };
            rest.kinetic.push(with_stop([left * n * levels[0], left * reverse * levels[1]], stops[c].closed));
            mode[c] = Mode::Stuck;
        }
    }

    /// Computes a₀ and W, then selects the modes.
    fn select_modes(&mut self, t: f64) -> Result<(), Failure> {
        self.dynamics.place()?;
        self.dynamics.efforts(t);
        // sliding contacts keep the friction of the present reactions
        for &c in &self.dynamics.compiled.model.reaction_loaded {
            self.dynamics.point.tau[self.dynamics.compiled.inputs.contacts[c].v] -=
                self.dynamics.point.kappa[c] * self.dynamics.point.load[c];
        }
        if self.dynamics.compiled.model.prescribed.is_empty() && !self.dynamics.constraints.is_coupled() {
            return self.select_in_tree();
        }
        self.coupled_delassus()?;
        // redundant contacts, also where only rounding distinguishes their rows
        let Self { dynamics: Dynamics { compiled, constraints, loops, .. }, transition, .. } = self;
        let is_shared = constraints.is_coupled() && constraints.has_redundant(compiled, loops, &transition.contacts);
        let chosen = if is_shared {
            self.transition.select_shared(&self.dynamics.state.contact_event)
        } else {
            self.transition.select()
        };
        self.apply_selection(chosen)
    }

    /// Selects the modes in a tree.
    fn select_in_tree(&mut self) -> Result<(), Failure> {
        let Self {
            dynamics: Dynamics { compiled, work, point: Point { q, v, tau, .. }, .. }, transition: rest, ..
        } = self;
        let Model { reaction_loaded, .. } = &*compiled.model;
        let TransitionWork { contacts, stiction, kinetic, breaking, chosen, work: modes, .. } = rest;
        let TransitionWork { locked, pushed, a, armature, net, place, .. } = rest;
        place.clear();
        place.extend(contacts.iter().map(|&c| (compiled.inputs.contacts[c].joint, compiled.inputs.contacts[c].v)));
        let levels = Levelled { stiction, kinetic, breaking, are_given: reaction_loaded.is_empty() };
        let model = &compiled.model.tree;
        let (has_net, error) = (false, None);
        let mut tree = TreeProblem { model, work, q, v, tau, place, locked, pushed, a, armature, net, has_net, error };
        let found = select_with(&levels, modes, &mut tree).map(|found| chosen.clone_from(&found.mode));
        if let (Err(_), Some(error)) = (&found, tree.error) {
            return Err(Failure::Mechanics(error));
        }
        self.apply_selection(found)
    }

    /// Sets the selected modes.
    fn apply_selection(&mut self, chosen: Result<(), ModeError>) -> Result<(), Failure> {
        let Self { dynamics: Dynamics { state: State { mode, .. }, .. }, transition: rest, .. } = self;
        if let Err(source) = chosen {
            let (ModeError::Unusable { joint } | ModeError::Dependent { joint }) = source else {
                return Err(Failure::Stopped);
            };
            let contact = rest.contacts.get(joint).copied().unwrap_or(0);
            return Err(Failure::Modes { contact, source });
        }
        for (&c, &chosen) in rest.contacts.iter().zip(&rest.chosen) {
            mode[c] = chosen;
        }
        if self.dynamics.constraints.is_coupled() {
            self.lock_implied();
        }
        Ok(())
    }

    /// Makes a contact stick that is at its limit but cannot move, because redundant contacts stick.
    fn lock_implied(&mut self) {
        self.dynamics.lock();
        let finite = self.transition.stiction.iter().flatten().filter(|level| level.is_finite());
        let strongest = finite.fold(0.0_f64, |most, level| most.max(*level));
        for (k, &c) in self.transition.contacts.iter().enumerate() {
            let contact = &self.dynamics.compiled.inputs.contacts[c];
            // a contact that has just lost its load is free
            let has_strength = self.transition.stiction[k].iter().any(|level| *level > HOLDING * strongest);
            if self.dynamics.state.mode[c] != Mode::Stuck && has_strength && self.is_immobile(contact.v, contact.b) {
                self.dynamics.state.mode[c] = Mode::Stuck;
            }
        }
        // an event without effect would recur: the contact keeps the selected sliding mode, at zero velocity
        let is_same = self.transition.contacts.iter().all(|&c| self.dynamics.state.mode[c] == Mode::Stuck);
        if is_same && self.dynamics.state.contact_event.contains(&ContactEvent::BreaksAway) {
            self.transition
                .contacts
                .iter()
                .zip(&self.transition.chosen)
                .for_each(|(&c, &chosen)| self.dynamics.state.mode[c] = chosen);
        }
    }

    /// a₀ and W with dependent or prescribed coordinates: no contact sticks, all couplings act.
    fn coupled_delassus(&mut self) -> Result<(), Failure> {
        self.dynamics.unlock();
        if self.dynamics.loops.is_any() {
            return self.loop_delassus();
        }
        let Self {
            dynamics:
                Dynamics {
                    compiled,
                    work,
                    constraints,
                    newton: NewtonWork { rows, residual: b, correction: x, zero, .. },
                    scheme,
                    point: Point { q, v, tau, a, .. },
                    coordinates,
                    ..
                },
            transition: rest,
            ..
        } = self;
        let Model { joint_of, .. } = &*compiled.model;
        let (model, contacts) = (&compiled.model.tree, &compiled.inputs.contacts);
        let Coordinates { active, .. } = &*coordinates;
        for &c in &compiled.model.reaction_loaded {
            rows[contacts[c].joint] = axis_row(model, contacts[c].joint);
            work.change_armature(contacts[c].v, 0.0);
        }
        active.iter().for_each(|&i| a[i] = 0.0);
        coordinates.rates(a);
        let v = if scheme.is_impulsive { zero } else { v };
        let required = rnea(model, work, q, v, a)?;
        b.iter_mut().zip(&*tau).zip(required).for_each(|((b, tau), required)| *b = tau - required);
        constraints.factor(coordinates, (model, work, rows), joint_of)?;
        x.copy_from_slice(solve_rows(model, work, b)?);
        constraints.correct(coordinates, (model, work, rows), joint_of, x, b)?;
        a.iter_mut().zip(&*x).for_each(|(a, x)| *a += x);
        rest.a0.clear();
        rest.a0.extend(rest.contacts.iter().map(|&c| contacts[c].rate(a)));
        rest.delassus.clear();
        for &c in &rest.contacts {
            b.fill(0.0);
            contacts[c].take(b, -1.0);
            x.copy_from_slice(solve_rows(model, work, b)?);
            constraints.correct(coordinates, (model, work, rows), joint_of, x, b)?;
            rest.delassus.extend(rest.contacts.iter().map(|&c| contacts[c].rate(x)));
        }
        Ok(())
    }
}

//! A machine whose modes change at events: the equations of motion (1) to (4) of [`crate::dynamics`], and the scratch
//! of mode transitions.
//!
//! **Modes.** A stuck joint is locked: it leaves the unknowns, its velocity is 0.0 and its position keeps every bit.
//! Its friction follows from equilibrium, τ_f = τ − (M a + c) at the accelerations of the others. A sliding joint
//! follows the branch of its law that belongs to its direction, also a little beyond v = 0. Modes are selected at the
//! start and at events, see `transition`.
//!
//! **Events.** Each contact has an event function, positive between events; a zero crossing is a state event:
//!
//! ```text
//! sliding   direction · v                       falls through 0: the joint comes to rest (+ ε if it just left rest)
//! stuck     r N stiction − |τ_f|                falls through 0: it breaks away
//! open      1                                   N = 0: the contact cannot stick, and has no event
//! bristle   heading · v + θ                     the kink of |v|, only under error control; on request ż in place of v
//! loads through zero, corners of tables         only under error control, see `kinks`
//! ```
//!
//! No event function starts at zero. θ is the absolute tolerance: kinks at smaller speeds do not matter, and a
//! bristle that oscillates about zero velocity causes no events. ε is a thousandth of θ, or the smallest number where
//! steps are not error-controlled. A joint that has just left rest has v = 0, and ε prevents that rounding in an
//! interpolant returns it to rest; once its velocity exceeds ε, its event is v = 0 itself. The event function of a
//! joint stuck exactly at its limit, or beyond it by rounding, is shifted by that rounding. Corners, jumps and
//! extrema of signals are time events.
//!
//! **Prescribed motion.** A joint whose drive prescribes its position is no unknown either: the signal gives position,
//! velocity and acceleration, and (1) gives the effort of the drive. At a corner of the signal the velocity jumps, the
//! reactions are impulses, and bearings whose load is the reaction have an impulse of friction: see `impulse`.

use super::impulse::JumpWork;
use super::stops::ImpactWork;
use super::transition::TransitionWork;
use crate::dynamics::{ContactEvent, Dynamics, Failure, Snapshot, TIGHT, show_locked_loads};
use crate::error::{Error, Result};
use crate::model::Compiled;
use crate::real_time::{self, RealTime};
use crate::solver::Formulation;
use bristle_friction::Mode;
use bristle_integrate::archive::{Archive, Archived};
use bristle_multibody::axis_row;

/// Relative residual of (1) in event functions, for any tolerance: a hundredth of the accuracy that mode selection
/// expects of event location (`modes::LOCATED`).
const EVENT_ACCURACY: f64 = 1e-8;

/// The equations of motion, and the scratch of mode transitions.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The equations of motion between events.
    pub dynamics: Dynamics,
    /// Scratch of each stage of a mode transition.
    pub(super) transition: TransitionWork,
    pub(super) jump: JumpWork,
    pub(super) impact: ImpactWork,
    /// The fixed-step method, where the system makes its own steps, and its state at the last checkpoint.
    pub(super) real_time: Option<Box<RealTime>>,
    pub(super) real_time_before: real_time::State,
}

impl Machine {
    /// The machine of `compiled`: see [`Dynamics::new`].
    pub fn new(compiled: Compiled, formulation: Formulation, tolerances: Option<(f64, f64)>) -> Self {
        let (n_contacts, tree) = (compiled.inputs.contacts.len(), &compiled.model.tree);
        Self {
            transition: TransitionWork::new(n_contacts, tree.n_v, tree.n_bodies()),
            jump: JumpWork::new(&compiled),
            impact: ImpactWork::new(&compiled),
            real_time: None,
            real_time_before: real_time::State::default(),
            dynamics: Dynamics::new(compiled, formulation, tolerances),
        }
    }

    /// Copies the state for [`Machine::rollback`]; allocates on first use only.
    pub(crate) fn checkpoint(&mut self) {
        self.dynamics.checkpoint();
        if let Some(real_time) = &self.real_time {
            real_time.save(&mut self.real_time_before);
        }
    }

    /// Copies back the state of the last [`Machine::checkpoint`] after an operation was refused.
    pub(crate) fn rollback(&mut self) {
        self.dynamics.rollback();
        if let Some(real_time) = &mut self.real_time {
            real_time.restore(&self.real_time_before);
        }
    }

    /// Sets the state of a snapshot without a mode selection: see [`Dynamics::load_motion`].
    pub(crate) fn load_state(&mut self, from: &Snapshot) -> Result<()> {
        self.dynamics.load_motion(from)?;
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            let v = contact.rate(&self.dynamics.point.v);
            self.dynamics.point.bristles[c] = contact.law.state_of(from.bristles[c].z, from.bristles[c].w);
            self.dynamics.state.bent[c] = self.dynamics.point.bristles[c][0].abs();
            self.dynamics.state.heading[c] = if self.dynamics.kink_value(c, v) < 0.0 { -1.0 } else { 1.0 };
            self.dynamics.state.backward[c] =
                self.dynamics.point.bristles[c][0] < 0.0 || (self.dynamics.point.bristles[c][0] == 0.0 && v < 0.0);
            let is_moving = contact.is_event_driven() && !contact.is_rounding(&self.dynamics.point.v);
            self.dynamics.state.mode[c] = if is_moving { Mode::of_sign(v) } else { Mode::Stuck };
            self.dynamics.state.armed[c] = false;
        }
        self.begin_stops();
        Ok(())
    }

    /// Starts from a snapshot: selects the modes and fills the unknowns `y` (`max_dim`).
    pub fn begin(&mut self, from: &Snapshot, y: &mut [f64]) -> Result<()> {
        self.load_state(from)?;
        self.check_within_limits()?;
        let t = &from.mechanics.t;
        if self.dynamics.is_real_time() {
            return self.begin_real_time(*t, y).map_err(|failure| self.dynamics.explain(*t, failure));
        }
        self.dynamics.state.contact_event.fill(ContactEvent::No);
        self.resolve_modes(*t).map_err(|failure| self.dynamics.explain(*t, failure))?;
        self.dynamics.check_resistance().map_err(|source| self.dynamics.explain(*t, Failure::Mechanics(source)))?;
        self.dynamics.gather(y);
        Ok(())
    }

    /// Selects the modes again at (t, y) after a sudden change of the inputs. `y` has length `max_dim`.
    pub fn reselect_modes(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        if self.dynamics.is_real_time() {
            // every step selects its contact states anew
            return Ok(());
        }
        self.dynamics.scatter(t, y);
        self.dynamics.set_regimes(t);
        self.dynamics.state.contact_event.fill(ContactEvent::No);
        self.resolve_modes(t).map_err(|failure| self.dynamics.explain(t, failure))?;
        self.dynamics.gather(y);
        Ok(())
    }

    /// Evaluates all results at (t, y).
    pub fn evaluate_at(&mut self, t: f64, y: &[f64]) -> Result<()> {
        self.dynamics.scatter(t, y);
        if self.dynamics.is_real_time() {
            self.close_loops_of_row();
        }
        match &self.real_time {
            Some(rt) => rt.lock(&mut self.dynamics.point.v),
            None => self.point_open(),
        }
        let result = self.dynamics.place().and_then(|()| {
            if self.dynamics.is_real_time() {
                // the other quantities are those of the last step
                return Ok(());
            }
            self.dynamics.efforts(t);
            self.dynamics.accelerate(t, TIGHT)?;
            self.dynamics.read_reactions()?;
            if self.dynamics.has_loaded_loops() {
                self.balance_held_loops(t)?;
            } else if !self.dynamics.is_constrained() {
                self.dynamics.take_least_forces();
            }
            show_locked_loads(&self.dynamics.compiled, &self.dynamics.state, &mut self.dynamics.point);
            self.share_stops();
            Ok(())
        });
        // at the centre of the chart the configuration is exactly `q_ref`
        let model = &self.dynamics.compiled.model.tree;
        for &k in &self.dynamics.compiled.model.free {
            if self.dynamics.point.xi[k..k + 6].iter().all(|&xi| xi == 0.0) {
                let range = model.q_range(self.dynamics.compiled.model.joint_of[k]);
                self.dynamics.point.q[range.clone()].copy_from_slice(&self.dynamics.state.q_ref[range]);
            }
        }
        result.map_err(|failure| self.dynamics.explain(t, failure))
    }

    /// A copy of the machine in the implicit form at (t, y), charts centred there, and its unknowns.
    pub(crate) fn solved_at(&self, t: f64, y: &[f64]) -> Result<(Self, Vec<f64>)> {
        let mut machine = self.clone();
        machine.real_time = None;
        let y = machine.dynamics.solve_at(t, y)?;
        Ok((machine, y))
    }

    /// Accelerations, loads and the friction of stuck joints, for their event functions. Needs `efforts`.
    pub(super) fn evaluate_stuck(&mut self, t: f64) -> std::result::Result<(), Failure> {
        self.dynamics.accelerate(t, self.dynamics.scheme.accuracy.min(EVENT_ACCURACY))?;
        if self.dynamics.has_loaded_loops() {
            self.dynamics.read_reactions()?;
            return self.margin_of_loaded_loops(t);
        }
        let is_plain = self.dynamics.compiled.model.prescribed.is_empty() && !self.dynamics.constraints.is_coupled();
        if self.dynamics.scheme.formulation == Formulation::Jerk
            || self.dynamics.compiled.model.reaction_loaded.is_empty()
            || !is_plain
        {
            return self.dynamics.read_reactions();
        }
        // the reactions are those of Newton's solution
        for c in 0..self.dynamics.state.mode.len() {
            if self.dynamics.sticks(c) {
                let contact = &self.dynamics.compiled.inputs.contacts[c];
                let axis = axis_row(&self.dynamics.compiled.model.tree, contact.joint);
                self.dynamics.point.friction[c] =
                    self.dynamics.point.tau[contact.v] - axis.dot(&self.dynamics.work.reaction(contact.joint));
            }
        }
        Ok(())
    }

    /// The jam at or near (t, y), if any: among several possible accelerations, the joint with the smallest pivot.
    pub(crate) fn near_jam(&mut self, t: f64, y: &[f64]) -> Option<Error> {
        if self.dynamics.compiled.model.reaction_loaded.is_empty() {
            return None;
        }
        match self.evaluate_at(t, y) {
            Ok(()) => {}
            Err(jam @ (Error::Jam { .. } | Error::NoAcceleration { .. })) => return Some(jam),
            Err(_) => return None,
        }
        let near = self
            .dynamics
            .compiled
            .model
            .reaction_loaded
            .iter()
            .filter(|&&c| self.dynamics.margin(c) <= 0.0)
            .map(|&c| self.dynamics.compiled.inputs.contacts[c].joint);
        let share = |joint: usize| self.dynamics.work.pivot_value(joint) / self.dynamics.work.pivot_unloaded(joint);
        let joint = near.min_by(|&a, &b| share(a).total_cmp(&share(b)))?;
        let joint = self.dynamics.compiled.model.tree.joint_names[joint].clone();
        Some(Error::Jam { t, joint, with: Vec::new(), share: 1.0 })
    }
}

impl Archived for Machine {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.dynamics.archive(archive);
        if let Some(real_time) = &mut self.real_time {
            real_time.archive(archive);
        }
    }
}

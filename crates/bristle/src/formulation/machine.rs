//! A machine with friction: an ordinary differential equation whose unknowns change at events.
//!
//! ```text
//! M(q) a + c(q, v) = τ − d v − k (q − q_rest) − τ_f               (1)
//! ξ̇ = chart rate of v at ξ,   v̇ = a                               (2)
//! τ_f = r N law(r v, s),      ṡ = rates of the law                (3)
//! İ = target − q                                                  (4)
//! ```
//!
//! The load N is given as a signal, or it is the reaction in the joint, which depends on a: then a stands on both sides
//! of (1), and (1) to (4) are a DAE of index 1. The *formulation* says how (1) is solved:
//!
//! | | unknowns y | solution of (1) |
//! |---|---|---|
//! | `Implicit` | (ξ, v, s, I) | Newton at every evaluation, see `implicit` |
//! | `Jerk` | (ξ, v, a, s, I) | none: (1) is differentiated once, and one sweep gives ȧ, see `jerk` |
//! | `Residual` | (ξ, v, s, I) | the implicit stepper, together with its own equations, see `residual` |
//!
//! **Unknowns**: positions and velocities of the joints that can move, bristle states s = σ₀ z and w of all
//! contacts, integrals of the controllers. ξ are the positions themselves, except for free joints, where they are chart
//! coordinates about `q_ref`; accepted steps move the centre of the chart along with the motion.
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

use crate::component::{BristleState, Drive};
use crate::constraint::Constraints;
use crate::constraint::coordinates::Coordinates;
use crate::constraint::loops::{Chart, Loops};
use crate::error::{Error, Result};
use crate::formulation::archive::Checkpoint;
use crate::formulation::branch::Branch;
use crate::formulation::closed_loops::LoopWork;
use crate::formulation::diagnostics::{Counters, Diagnostics, ModeChange, NearJam, Stiff, UnconvergedLoad};
use crate::formulation::efforts::show_locked_loads;
use crate::formulation::failure::Failure;
use crate::formulation::implicit::NewtonWork;
use crate::formulation::impulse::JumpWork;
use crate::formulation::jacobian::Reduction;
use crate::formulation::jerk::JerkWork;
use crate::formulation::point::Point;
use crate::formulation::residual::ResidualWork;
use crate::formulation::state::State;
use crate::formulation::stops::ImpactWork;
use crate::formulation::transition::{ContactEvent, TransitionWork};
use crate::model::{Compiled, Inputs};
use crate::real_time::RealTime;
use crate::scene::{Control, Formulation, Kinks};
use bristle_friction::Mode;
use bristle_multibody::{self as multibody, Poses, Reaction, Work, kinematics, poses, reactions};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Relative residual of (1) for accelerations where no other accuracy is given.
pub(super) const TIGHT: f64 = 1e-13;

/// State of a machine in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Time, positions, velocities.
    pub mechanics: multibody::State,
    /// Bristles, one per contact.
    pub bristles: Vec<BristleState>,
    /// Integrals of the controllers, in order.
    pub integrals: Vec<f64>,
}

impl Snapshot {
    /// All positions 0, at rest, bristles undeflected.
    pub fn rest(compiled: &Compiled) -> Self {
        Self {
            mechanics: multibody::State::rest(&compiled.model.tree),
            bristles: vec![BristleState::default(); compiled.inputs.contacts.len()],
            integrals: vec![0.0; compiled.inputs.drives.iter().filter(|drive| drive.has_integral()).count()],
        }
    }

    /// Copies the numbers of another snapshot of the same machine.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { mechanics, bristles, integrals } = self;
        mechanics.t = other.mechanics.t;
        mechanics.q.copy_from_slice(&other.mechanics.q);
        mechanics.v.copy_from_slice(&other.mechanics.v);
        bristles.copy_from_slice(&other.bristles);
        integrals.copy_from_slice(&other.integrals);
    }
}

/// How the equations are solved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    pub formulation: Formulation,
    /// Whether an error estimate controls the steps.
    pub is_controlled: bool,
    /// Its relative and absolute tolerance.
    pub tolerances: Option<(f64, f64)>,
    /// The rule of prescribed steps, if the control is one.
    pub step_control: Control,
    /// Accepted residual of (1) during steps.
    pub accuracy: f64,
    /// θ of the event functions of kinks; `None` where kinks are no events.
    pub kink_tolerance: Option<f64>,
    /// Which kinks are events.
    pub kinks: Kinks,
    /// Upper bound of the rotation of a prescribed joint in one step, rad.
    pub motion_angle: f64,
    /// Upper bound of the phase of the fastest oscillation of prescribed motions in one step, rad.
    pub motion_phase: f64,
    /// The same as a step, s, for the quadrature of the work of prescribed motions.
    pub motion_step: f64,
    /// Whether (1) is the equation of impulses, without velocities, gravity and finite efforts: see `impulse`.
    pub is_impulsive: bool,
}

impl Scheme {
    /// Tolerance of a position, rad or m; 0 where steps are not error-controlled.
    pub fn position_tolerance(&self, q: f64) -> f64 {
        self.tolerances.map_or(0.0, |(relative, absolute)| absolute + relative * q.abs())
    }

    /// Largest remaining time of a sequence of bounces that is summed, as a fraction of the elapsed one: see `stops`.
    pub fn zeno_fraction(&self) -> f64 {
        self.tolerances.map_or(1e-10, |(relative, _)| relative).clamp(1e-10, 1e-8).sqrt()
    }

    /// `tolerances` are the relative and the absolute one if steps are error-controlled.
    fn new(formulation: Formulation, tolerances: Option<(f64, f64)>) -> Self {
        let relative = tolerances.map(|(relative, _)| relative);
        Self {
            formulation,
            is_controlled: tolerances.is_some(),
            tolerances,
            step_control: Control::default(),
            accuracy: relative.map_or(1e-12, |relative| (0.01 * relative).max(TIGHT)),
            kink_tolerance: tolerances.map(|(_, absolute)| absolute),
            kinks: Kinks::Velocity,
            motion_angle: relative.map_or(f64::INFINITY, |relative| 2.0 * relative.powf(0.2)),
            motion_phase: 2.0 * relative.unwrap_or(1.0).powf(0.2),
            motion_step: f64::INFINITY,
            is_impulsive: false,
        }
    }
}

/// Equations (1) to (4) of a compiled machine; see the module.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) compiled: Compiled,
    pub(super) scheme: Scheme,
    pub(super) state: State,
    pub(super) point: Point,
    pub(super) coordinates: Coordinates,
    pub(super) diagnostics: Diagnostics,
    pub(super) work: Work,
    /// Constraints, with the velocities that depend on the unknowns.
    pub(super) constraints: Constraints,
    /// Closed loops: the choice of their dependent velocities, and scratch.
    pub(super) chart: Chart,
    pub(super) loops: Loops,
    pub(super) loop_work: Option<Box<LoopWork>>,
    /// Coordinates of the couplings alone, without stuck contacts; see `inverse`.
    pub(super) couplings: Option<Arc<Coordinates>>,

    /// Scratch of each stage.
    pub(super) newton: NewtonWork,
    pub(super) jerk: JerkWork,
    pub(super) residual: ResidualWork,
    /// Efforts that inverse dynamics requires, with couplings those beyond the given ones; `n_v`.
    pub(super) required: Vec<f64>,
    /// Accelerations wanted of all joints; `n_v`.
    pub(super) wanted: Vec<f64>,
    /// Rates of the chart coordinates; `n_v`.
    pub(super) xi_rate: Vec<f64>,

    pub(super) poses: Poses,
    pub(super) reactions: Vec<Reaction>,
    pub(super) transition: TransitionWork,
    /// Derivatives of accelerations or of efforts in q, v and τ or a; allocated on first use.
    pub(super) derivatives: Option<Box<[DMatrix<f64>; 3]>>,
    /// The same reduced to independent coordinates.
    pub(super) reduction: Option<Box<Reduction>>,
    /// Scratch of the continuation; allocated on first use.
    pub(super) branch: Option<Box<Branch>>,
    pub(super) jump: JumpWork,
    pub(super) impact: ImpactWork,
    /// State before an operation that may be refused; allocated on first use.
    pub(super) checkpoint: Option<Box<Checkpoint>>,
    /// The fixed-step method, where the system makes its own steps.
    pub(super) real_time: Option<Box<RealTime>>,
}

impl Machine {
    /// The equations of `compiled`. `tolerances` are the relative and the absolute one if steps are error-controlled:
    /// kinks of bristle laws are events then, and the accuracy of accelerations is a hundredth of the relative
    /// tolerance.
    pub fn new(compiled: Compiled, formulation: Formulation, tolerances: Option<(f64, f64)>) -> Self {
        let model = &compiled.model.tree;
        let (n_v, n_contacts) = (model.n_v, compiled.inputs.contacts.len());
        let leaving = tolerances.map_or(f64::MIN_POSITIVE, |(_, absolute)| 1e-3 * absolute);
        let mut machine = Self {
            scheme: Scheme::new(formulation, tolerances),
            state: State::new(&compiled, leaving),
            point: Point::new(&compiled),
            coordinates: Coordinates::new(&compiled),
            diagnostics: Diagnostics::new(n_contacts),
            work: Work::new(model),
            constraints: Constraints::new(&compiled),
            chart: Chart::new(&compiled),
            loops: Loops::new(&compiled.model),
            loop_work: None,
            couplings: super::inverse::couplings(&compiled),
            newton: NewtonWork::new(model),
            jerk: JerkWork::new(n_v),
            residual: ResidualWork::new(&compiled),
            required: vec![0.0; n_v],
            wanted: vec![0.0; n_v],
            xi_rate: vec![0.0; n_v],
            poses: Poses::new(model),
            reactions: vec![Reaction::ZERO; model.n_bodies()],
            transition: TransitionWork::new(n_contacts, n_v, model.n_bodies()),
            derivatives: None,
            reduction: None,
            branch: None,
            jump: JumpWork::new(&compiled),
            impact: ImpactWork::new(&compiled),
            checkpoint: None,
            real_time: None,
            compiled,
        };
        machine.apply_wrenches();
        machine.bound_motions();
        machine
    }

    /// Bounds the step for the prescribed motions.
    fn bound_motions(&mut self) {
        let frequencies = self
            .compiled
            .model
            .prescribed
            .iter()
            .map(|prescribed| self.compiled.inputs.drives[prescribed.drive].signal().largest_frequency());
        self.scheme.motion_step =
            frequencies.map(|frequency| self.scheme.motion_phase / frequency).fold(f64::INFINITY, f64::min);
    }

    /// Replaces the parameters or the signal of drive number `k`; its kind stays.
    pub(crate) fn set_drive(&mut self, k: usize, drive: Drive) {
        Arc::make_mut(&mut self.compiled.inputs.drives)[k].drive = drive;
        self.bound_motions();
    }

    /// Whether an error estimate controls the steps.
    pub(crate) fn is_controlled(&self) -> bool {
        self.scheme.is_controlled
    }

    /// The compiled machine.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Sets the effort that a caller applies to velocity `k`.
    pub(crate) fn set_effort(&mut self, k: usize, effort: f64) {
        self.compiled.inputs.effort[k] = effort;
    }

    /// Applies the wrenches of `compiled` from now on.
    pub(crate) fn apply_wrenches(&mut self) {
        let outside = &mut self.work.outside;
        outside.clear_wrenches();
        for w in &self.compiled.inputs.wrenches {
            // the indices of the bodies come from the model
            let applied = outside.set_wrench(&self.compiled.model.tree, w.body, w.wrench);
            debug_assert!(applied.is_ok());
        }
    }

    /// Starts from a snapshot: selects the modes and fills the unknowns `y` (`max_dim`).
    pub fn begin(&mut self, from: &Snapshot, y: &mut [f64]) -> Result<()> {
        self.load_state(from)?;
        self.check_within_limits()?;
        let t = &from.mechanics.t;
        if self.is_real_time() {
            return self.begin_real_time(*t, y).map_err(|failure| self.explain(*t, failure));
        }
        self.state.contact_event.fill(ContactEvent::No);
        self.resolve_modes(*t).map_err(|failure| self.explain(*t, failure))?;
        self.check_resistance().map_err(|source| self.explain(*t, Failure::Mechanics(source)))?;
        self.gather(y);
        Ok(())
    }

    /// Refuses a state at which rounding alone resists the motion of a joint. Couplings may supply what a tree lacks.
    fn check_resistance(&mut self) -> std::result::Result<(), bristle_multibody::Error> {
        if self.constraints.is_coupled() {
            return Ok(());
        }
        let Self { compiled, work, point, coordinates, .. } = self;
        bristle_multibody::factor(&compiled.model.tree, work, &point.q, &coordinates.locked)?;
        bristle_multibody::check_resistance(&compiled.model.tree, work)
    }

    /// Selects the modes again at (t, y) after a sudden change of the inputs. `y` has length `max_dim`.
    pub fn reselect_modes(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        if self.is_real_time() {
            // every step selects its contact states anew
            return Ok(());
        }
        self.scatter(t, y);
        self.state.contact_event.fill(ContactEvent::No);
        self.resolve_modes(t).map_err(|failure| self.explain(t, failure))?;
        self.gather(y);
        Ok(())
    }

    /// Evaluates all results at (t, y).
    pub fn evaluate_at(&mut self, t: f64, y: &[f64]) -> Result<()> {
        self.scatter(t, y);
        match &self.real_time {
            Some(rt) => rt.lock(&mut self.point.v),
            None => self.point_open(),
        }
        let result = self.place().and_then(|()| {
            if self.is_real_time() {
                // the other quantities are those of the last step
                return Ok(());
            }
            self.efforts(t);
            self.accelerate(t, TIGHT)?;
            self.read_reactions()?;
            show_locked_loads(&self.compiled, &self.state, &mut self.point);
            self.share_stops();
            Ok(())
        });
        // at the centre of the chart the configuration is exactly `q_ref`
        let model = &self.compiled.model.tree;
        for &k in &self.compiled.model.free {
            if self.point.xi[k..k + 6].iter().all(|&xi| xi == 0.0) {
                let range = model.q_range(self.compiled.model.joint_of[k]);
                self.point.q[range.clone()].copy_from_slice(&self.state.q_ref[range]);
            }
        }
        result.map_err(|failure| self.explain(t, failure))
    }

    /// Whether positions and velocities evaluated last are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.point.q.iter().chain(&self.point.v).all(|x| x.is_finite())
    }

    /// Stores the state evaluated last.
    pub fn store(&self, t: f64, into: &mut Snapshot) {
        into.mechanics.t = t;
        into.mechanics.q.copy_from_slice(&self.point.q);
        into.mechanics.v.copy_from_slice(&self.point.v);
        into.integrals.copy_from_slice(&self.point.integral);
        for ((bristle, contact), state) in
            into.bristles.iter_mut().zip(self.compiled.inputs.contacts.iter()).zip(&self.point.bristles)
        {
            *bristle = BristleState { z: contact.law.deflection(*state), w: state[1] };
        }
    }

    /// Accelerations at the point evaluated last; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        &self.point.a
    }

    /// Friction efforts there, one per contact; friction opposes slip, and is positive for positive slip.
    pub fn friction(&self) -> &[f64] {
        &self.point.friction[..self.compiled.model.n_frictions]
    }

    /// Normal loads there, one per contact.
    pub fn loads(&self) -> &[f64] {
        &self.point.load[..self.compiled.model.n_frictions]
    }

    /// Constraint forces λ of the couplings there; the effort on each joint is λ times its coefficient.
    pub fn constraint_forces(&self) -> &[f64] {
        &self.point.constraint_force
    }

    /// Effort of spring-damper number `k` there, on its first joint towards its second.
    pub fn spring_effort(&self, k: usize) -> f64 {
        self.compiled.model.coupled.springs[k].effort(&self.point.xi, &self.point.v)
    }

    /// Relative position and velocity there of the two joints of an element.
    pub fn relative(&self, a: usize, b: Option<usize>) -> [f64; 2] {
        let between = |x: &[f64]| x[a] - b.map_or(0.0, |b| x[b]);
        [between(&self.point.xi), between(&self.point.v)]
    }

    /// Modes, one per contact.
    pub fn modes(&self) -> &[Mode] {
        &self.state.mode[..self.compiled.model.n_frictions]
    }

    /// Mode changes of the last event.
    pub fn changes(&self) -> &[ModeChange] {
        &self.diagnostics.changes
    }

    /// Work counters of the accelerations.
    pub fn counters(&self) -> Counters {
        self.diagnostics.counters
    }

    /// Bearings that came near jamming, in order of time.
    pub fn near_jams(&self) -> &[NearJam] {
        &self.diagnostics.near_jams
    }

    /// First instant at which stability limited the step of an explicit stepper, if any.
    pub fn stiff(&self) -> Option<Stiff> {
        self.diagnostics.stiff
    }

    /// Time and contact of the first fixed step with a bristle deflection larger than friction permits.
    pub fn overdeflected(&self) -> Option<(f64, usize)> {
        self.diagnostics.overdeflected
    }

    /// Bearings whose load had not converged in some `RealTime` step so far, each with the first such step.
    pub fn unconverged_loads(&self) -> &[UnconvergedLoad] {
        &self.diagnostics.unconverged_loads
    }

    /// Link poses and joint reactions at the point evaluated last.
    pub(crate) fn poses_and_reactions(&mut self, t: f64) -> Result<(&Compiled, &Poses, &[Reaction])> {
        self.apply_closure_forces().map_err(|source| Error::Mechanics { t, source })?;
        let Self { compiled, work, poses: places, reactions: forces, point: Point { q, v, a, .. }, .. } = self;
        let found = reactions(&compiled.model.tree, work, q, v, a, forces)
            .and_then(|()| poses(&compiled.model.tree, work, places))
            .map_err(|source| Error::Mechanics { t, source });
        self.apply_wrenches();
        found?;
        Ok((&self.compiled, &self.poses, &self.reactions))
    }

    /// Link poses at (q, v), and the velocities of the links in `Work`.
    pub(crate) fn links_at(
        &mut self,
        q: &[f64],
        v: &[f64],
    ) -> std::result::Result<(&Compiled, &Work, &Poses), bristle_multibody::Error> {
        self.point.known = None;
        let Self { compiled, work, poses: places, .. } = self;
        kinematics(&compiled.model.tree, work, q, v)?;
        poses(&compiled.model.tree, work, places)?;
        Ok((compiled, work, places))
    }

    /// Joint reactions of the last call of `poses_and_reactions`; `n_bodies`, the world first.
    pub fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    /// The inputs, for a caller who changes them; changed wrenches act after [`Machine::apply_wrenches`].
    pub(crate) fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.compiled.inputs
    }

    /// The error of the last failed evaluation.
    pub(crate) fn take_failure(&mut self, t: f64) -> Option<Error> {
        self.diagnostics.failure.take().map(|failure| self.explain(t, failure))
    }
}

//! The equations of motion of a machine with friction: an ordinary differential equation between events.
//!
//! ```text
//! M(q) a + c(q, v) = τ − d v − k (q − q_rest) − τ_f               (1)
//! ξ̇ = chart rate of v at ξ,   v̇ = a                               (2)
//! τ_f = r N law(r v, s),      ṡ = rates of the law                (3)
//! İ = target − q                                                  (4)
//! ```
//!
//! The load N is given as a signal, or it is the reaction in the joint, which depends on a: then a is on both sides
//! of (1), and (1) to (4) are a DAE of index 1. The *formulation* selects the solution of (1):
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
//! Modes, their transitions and state events are those of [`crate::stick_slip`].

use super::branch::Branch;
use super::checkpoint::Checkpoint;
use super::closed_loops::LoopWork;
use super::diagnostics::{Counters, Diagnostics, ModeChange, NearJam, Stiff, UnconvergedLoad};
use super::implicit::NewtonWork;
use super::jacobian::Reduction;
use super::jerk::JerkWork;
use super::point::Point;
use super::residual::ResidualWork;
use super::scheme::Scheme;
use super::state::State;
use crate::constraint::Constraints;
use crate::constraint::coordinates::Coordinates;
use crate::constraint::loops::{Chart, Loops};
use crate::error::{Error, Result};
use crate::model::StopChange;
use crate::model::{Compiled, Inputs};
use crate::solver::Formulation;
use crate::world::component::Drive;
use bristle_friction::Mode;
use bristle_multibody::{Poses, Reaction, Work, kinematics, poses, reactions};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Equations (1) to (4) of a compiled machine; see the module.
#[derive(Debug, Clone)]
pub struct Dynamics {
    pub(crate) compiled: Compiled,
    pub(crate) scheme: Scheme,
    pub(crate) state: State,
    pub(crate) point: Point,
    pub(crate) coordinates: Coordinates,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) work: Work,
    /// Constraints, with the velocities that depend on the unknowns.
    pub(crate) constraints: Constraints,
    /// Closed loops: the choice of their dependent velocities, and scratch.
    pub(crate) chart: Chart,
    pub(crate) loops: Loops,
    pub(crate) loop_work: Option<Box<LoopWork>>,
    /// Coordinates of the couplings alone, without stuck contacts; see `inverse`.
    pub(crate) couplings: Option<Arc<Coordinates>>,

    /// Scratch of each stage.
    pub(crate) newton: NewtonWork,
    pub(crate) jerk: JerkWork,
    pub(crate) residual: ResidualWork,
    /// Efforts that inverse dynamics requires, with couplings those beyond the given ones; `n_v`.
    pub(crate) required: Vec<f64>,
    /// Accelerations wanted of all joints; `n_v`.
    pub(crate) wanted: Vec<f64>,
    /// Rates of the chart coordinates; `n_v`.
    pub(crate) xi_rate: Vec<f64>,

    pub(crate) poses: Poses,
    pub(crate) reactions: Vec<Reaction>,
    /// Derivatives of accelerations or of efforts in q, v and τ or a; allocated on first use.
    pub(crate) derivatives: Option<Box<[DMatrix<f64>; 3]>>,
    /// The same reduced to independent coordinates.
    pub(crate) reduction: Option<Box<Reduction>>,
    /// Scratch of the continuation; allocated on first use.
    pub(crate) branch: Option<Box<Branch>>,
    /// State before an operation that may be refused; allocated on first use.
    pub(crate) checkpoint: Option<Box<Checkpoint>>,
}

impl Dynamics {
    /// The equations of `compiled`. `tolerances` are the relative and the absolute one if steps are error-controlled:
    /// kinks of bristle laws are events then, and the accuracy of accelerations is a hundredth of the relative
    /// tolerance.
    pub fn new(compiled: Compiled, formulation: Formulation, tolerances: Option<(f64, f64)>) -> Self {
        let model = &compiled.model.tree;
        let (n_v, n_contacts) = (model.n_v, compiled.inputs.contacts.len());
        let leaving = tolerances.map_or(f64::MIN_POSITIVE, |(_, absolute)| 1e-3 * absolute);
        let mut dynamics = Self {
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
            newton: NewtonWork::new(model, compiled.inputs.contacts.len()),
            jerk: JerkWork::new(n_v),
            residual: ResidualWork::new(&compiled),
            required: vec![0.0; n_v],
            wanted: vec![0.0; n_v],
            xi_rate: vec![0.0; n_v],
            poses: Poses::new(model),
            reactions: vec![Reaction::ZERO; model.n_bodies()],
            derivatives: None,
            reduction: None,
            branch: None,
            checkpoint: None,
            compiled,
        };
        dynamics.apply_wrenches();
        dynamics.bound_motions();
        dynamics
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
        Arc::make_mut(&mut self.compiled.inputs.drives)[k].set(drive);
        self.bound_motions();
    }

    /// Whether an error estimate controls the steps.
    pub(crate) fn is_controlled(&self) -> bool {
        self.scheme.is_controlled
    }

    /// Whether the machine takes `RealTime` steps.
    pub(crate) fn is_real_time(&self) -> bool {
        self.scheme.is_real_time
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

    /// Refuses a state at which rounding alone resists the motion of a joint. Couplings may supply what a tree lacks.
    pub(crate) fn check_resistance(&mut self) -> std::result::Result<(), bristle_multibody::Error> {
        if self.constraints.is_coupled() {
            return Ok(());
        }
        let Self { compiled, work, point, coordinates, .. } = self;
        bristle_multibody::factor(&compiled.model.tree, work, &point.q, &coordinates.locked)?;
        bristle_multibody::check_resistance(&compiled.model.tree, work)
    }

    /// Whether positions and velocities evaluated last are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.point.q.iter().chain(&self.point.v).all(|x| x.is_finite())
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

    /// The inputs, for a caller who changes them; changed wrenches act after [`Dynamics::apply_wrenches`].
    pub(crate) fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.compiled.inputs
    }

    /// The error of the last failed evaluation.
    pub(crate) fn take_failure(&mut self, t: f64) -> Option<Error> {
        self.diagnostics.failure.take().map(|failure| self.explain(t, failure))
    }

    /// Changes of stops at the last event.
    pub fn stop_changes(&self) -> &[StopChange] {
        &self.diagnostics.stop_changes
    }

    /// Efforts of the closed stops at the point evaluated last, as they act; one per contact.
    pub fn stop_efforts(&self) -> &[f64] {
        &self.point.stop_effort
    }
}

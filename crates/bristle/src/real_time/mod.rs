//! # The equations of a step
//!
//! ```text
//! M (v₁ − v₀) = h (τ(t₁) − c(q₀, v̄) − K (q₀ + h v₁ − rest) − d v₁) − Wᵀ λ(W v₁)                   (1)
//! q₁ = q₀ + h v₁,                 free joints by their momentum (`floating`)                       (2)
//! ```
//!
//! c is the bias with gravity; v̄ is v₀ at first and then, once, the mean of v₀ and the v₁ just found. K and d hold
//! springs, dampers, `Pull` and `Pid` drives and the spring-dampers between joints. λ are the contact impulses, W has a
//! row for each contact. With A = M + h d + h² K, which is positive definite, (1) becomes
//!
//! ```text
//! A (v₁ − v₀) + Wᵀ λ(W v₁) = h r,     r = τ − c − K (q₀ + h v₀ − rest) − d v₀                       (3)
//! ```
//!
//! Bristles are eliminated from λ(ω) in closed form, and λ(ω) never falls (`impulse_law`): (3) is the optimality
//! condition of a strictly convex problem and has one solution (`convex_solver`). A stuck contact has slip velocity 0.0
//! exactly (`rigid_groups`), and its position keeps every bit. Couplings and prescribed motions are eliminated first
//! (`reduced_coordinates`): a prescribed joint moves at the velocity that takes it to the value of its signal at t₁. A
//! load that is a reaction is that of the accelerations (v₁ − v₀)/h, found by a short fixed-point iteration. Signals
//! are sampled at t₁, before a jump at t₁; no event is located, and mode changes are recorded at the end of their step.
//!
//! **Order** 1. **Stability**: (3) is stable for any h, stiffness, damping and friction. Gravity and c are not
//! implicit: h has to resolve the swing of pendulums.
//!
//! **Energy.** The ledger holds work, heat and energies of (1) at the velocities v₁. Its balance lacks the numerical
//! dissipation ½ (v₁ − v₀)ᵀ M (v₁ − v₀) + ½ h² v₁ᵀ K v₁ of each step, which is h times the power of accelerations and
//! springs. The change of M and gravity with q within a step contributes the same order with either sign.

mod active_set;
mod assemble;
mod convex_solver;
mod factor;
mod floating;
#[cfg(test)]
mod form_tests;
mod impulse_law;
mod interior_point;
mod ledger;
mod loads;
pub(crate) mod pack;
mod reduced_coordinates;
mod rigid_groups;
mod state;
mod step_matrix;
#[cfg(test)]
mod tests;
mod tree_matrix;
mod velocities;

use crate::memory;
use crate::model::Compiled;
use crate::model::servo::ServoState;
use crate::signal::Piece;
use active_set::ActiveSet;
use assemble::{StepEquations, assemble, correct_bias, reduce_efforts, reduce_matrix};
use bristle_friction::{Mode, State as BristleState};
use bristle_multibody::{Poses, Work};
use convex_solver::{Accuracy, ConvexSolver, Problem, SolverError};
use floating::{float, free_joints};
use impulse_law::ImpulseLaw;
use interior_point::InteriorPoint;
use ledger::{add_energies, constraint_forces};
use loads::{Contacts, load_signal, normal_loads, update_loads, update_sides};
use reduced_coordinates::{ReducedCoordinates, dot};
use rigid_groups::RigidGroups;
pub(crate) use state::State;
use step_matrix::{MatrixForm, StepMatrix};
use velocities::{solve_velocities, start_solver};

/// Solutions of (3) in a step at most, each with the reaction loads of the one before.
const MAX_LOAD_ITERATIONS: usize = 10;

/// Slip of a contact without load that counts as rest, relative to the largest velocity of its unit.
const UNLOADED_SLIP: f64 = 1e-12;

/// Length of the step that yields accelerations and friction at the start, relative to the other steps.
const FIRST_STEP: f64 = 1e-6;

/// Why a step failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepError {
    /// A kernel of the tree dynamics refused.
    Mechanics(bristle_multibody::Error),
    /// The convex solver has not converged; the contact with the largest residual.
    NotConverged { contact: usize },
    /// An end was asked for: see [`crate::stop`].
    Stopped,
}

impl From<bristle_multibody::Error> for StepError {
    fn from(error: bristle_multibody::Error) -> Self {
        Self::Mechanics(error)
    }
}

impl From<SolverError> for StepError {
    fn from(error: SolverError) -> Self {
        match error {
            SolverError::Mechanics(error) => Self::Mechanics(error),
            SolverError::NotConverged { contact } => Self::NotConverged { contact },
            SolverError::Stopped => Self::Stopped,
        }
    }
}

/// State at the start of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    /// Centre of the charts, positions, and chart coordinates about the centre.
    pub q_ref: &'a [f64],
    pub q: &'a [f64],
    pub xi: &'a [f64],
    pub v: &'a [f64],
    /// States and mode of each contact.
    pub bristles: &'a [BristleState],
    pub modes: &'a [Mode],
    /// Normal loads at the end of the last step: where reaction loads start.
    pub loads: &'a [f64],
    /// Integrals of the controllers.
    pub integrals: &'a [f64],
    /// Servos, one per drive of any kind.
    pub servos: &'a [ServoState],
}

/// Where the signals of a step are sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalTime {
    pub t: f64,
    pub piece: Piece,
    /// Whether this is the first, very short step: it takes accelerations of prescribed motions from their signals.
    pub is_first: bool,
}

/// State and results at the end of a step.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// Velocities v₁, v₁ − v₀, accelerations.
    pub v: Vec<f64>,
    change: Vec<f64>,
    pub a: Vec<f64>,
    /// Friction, load and mode of each contact.
    pub friction: Vec<f64>,
    pub load: Vec<f64>,
    pub modes: Vec<Mode>,
    /// Forces of the couplings, and efforts of prescribed motions in the order of their drives.
    pub constraint_force: Vec<f64>,
    pub prescribed_effort: Vec<f64>,
    /// Contacts whose reaction load had not converged, and its relative change in the last iteration.
    pub unconverged: Vec<(usize, f64)>,
    /// Chart coordinates and positions, states of the contacts, integrals.
    pub xi: Vec<f64>,
    q: Vec<f64>,
    pub bristles: Vec<BristleState>,
    pub integrals: Vec<f64>,
}

/// The fixed-step method of one machine; its arrays are made once.
#[derive(Debug, Clone)]
pub(crate) struct RealTime {
    coordinates: ReducedCoordinates,
    equations: StepEquations,
    contacts: Contacts,
    active_set: Option<ActiveSet>,
    solver: ConvexSolver,
    interior_point: InteriorPoint,
    rigid_groups: RigidGroups,
    pub end: End,
    /// Acceleration of the independent velocities in the last step: warm start of the next.
    last_acceleration: Vec<f64>,
    /// Impulses that (3) lacks in the rows of constraints and prescribed motions.
    impulse_residual: Vec<f64>,
    /// Whether each velocity is angular: linear and angular velocities are never compared.
    is_angular: Vec<bool>,
    free: Vec<usize>,
    poses: Poses,
    /// Length of the step that yields the results at the start, s.
    first_step: f64,
}

impl RealTime {
    /// Bytes of the matrices of a step and of the rows of rigid groups, before anything of them is made.
    pub fn matrix_bytes(compiled: &Compiled) -> u64 {
        let coordinates = ReducedCoordinates::new(compiled);
        let form = StepMatrix::form(compiled, &coordinates);
        let rows = memory::bytes::<f64>(&[compiled.model.tree.n_v, compiled.model.coupled.constraints.len()]);
        StepMatrix::bytes(compiled, &coordinates, form).saturating_add(rows)
    }

    /// Method for steps of length `step`, s.
    pub fn new(compiled: &Compiled, step: f64) -> Self {
        let coordinates = ReducedCoordinates::new(compiled);
        let form = StepMatrix::form(compiled, &coordinates);
        Self::with_form(compiled, step, coordinates, form)
    }

    fn with_form(compiled: &Compiled, step: f64, coordinates: ReducedCoordinates, form: MatrixForm) -> Self {
        let (n_v, n_q, n_contacts) = (compiled.model.tree.n_v, compiled.model.tree.n_q, compiled.inputs.contacts.len());
        let n = coordinates.independent.len();
        let n_integrals = compiled.inputs.drives.iter().filter(|drive| drive.has_integral()).count();
        let exchanges_modes = form == MatrixForm::Tree && ActiveSet::applies(compiled, &coordinates);
        let active_set = exchanges_modes.then(|| ActiveSet::new(compiled, &coordinates));
        Self {
            equations: StepEquations::new(compiled, &coordinates, form),
            active_set,
            contacts: Contacts {
                laws: vec![ImpulseLaw::Dry { forward: [0.0; 2], backward: [0.0; 2], power: None }; n_contacts],
                normal: vec![[0.0; 2]; n_contacts],
                normal_in_law: vec![[0.0; 2]; n_contacts],
                bristle_load: vec![0.0; n_contacts],
                has_changed_side: vec![false; n_contacts],
            },
            solver: ConvexSolver::new(n, n_contacts),
            interior_point: InteriorPoint::new(n, n_contacts),
            rigid_groups: RigidGroups::new(compiled),
            end: End {
                v: vec![0.0; n_v],
                change: vec![0.0; n_v],
                a: vec![0.0; n_v],
                friction: vec![0.0; n_contacts],
                load: vec![0.0; n_contacts],
                modes: vec![Mode::Stuck; n_contacts],
                constraint_force: vec![0.0; compiled.model.coupled.constraints.len()],
                prescribed_effort: vec![0.0; coordinates.prescribed.len()],
                unconverged: Vec::with_capacity(n_contacts),
                xi: vec![0.0; n_v],
                q: vec![0.0; n_q],
                bristles: vec![[0.0; 2]; n_contacts],
                integrals: vec![0.0; n_integrals],
            },
            last_acceleration: vec![0.0; n],
            impulse_residual: vec![0.0; n_v],
            is_angular: (0..n_v).map(|k| compiled.model.tree.turns(k)).collect(),
            free: free_joints(&compiled.model.tree),
            poses: Poses::new(&compiled.model.tree),
            first_step: FIRST_STEP * step,
            coordinates,
        }
    }

    /// Forgets all former steps: the next one starts at `start`, where bristles have the loads of `at`. Returns the
    /// length of the very short step that yields accelerations and friction there.
    fn reset(&mut self, compiled: &Compiled, start: Start<'_>, at: SignalTime) -> f64 {
        self.coordinates.set_offsets(start.xi);
        self.solver.last_effort.fill(0.0);
        self.last_acceleration.fill(0.0);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let signal = load_signal(contact.signal(), at);
            self.contacts.bristle_load[c] = contact.normal_towards(start.bristles[c][0] < 0.0, &signal).0;
        }
        self.first_step
    }

    /// Makes the velocities of locked joints equal to the last bit, as they are at the ends of steps.
    pub fn lock(&self, v: &mut [f64]) {
        self.rigid_groups.apply(v);
    }

    /// Rounds of the convex solver in the last step: in all, and in its longest solution.
    pub fn rounds(&self) -> (usize, usize) {
        (self.solver.n_rounds, self.solver.max_rounds)
    }

    /// (3) for the convex solver.
    fn problem<'a>(
        coordinates: &'a ReducedCoordinates,
        b: &'a [f64],
        laws: &'a [ImpulseLaw],
        is_angular: &'a [bool],
        compiled: &'a Compiled,
    ) -> Problem<'a> {
        Problem { b, coordinates, compiled, laws, is_angular }
    }
}

/// The largest of values by velocity, linear and angular velocities apart.
fn max_by_unit(values: impl Iterator<Item = (usize, f64)>, is_angular: &[bool]) -> [f64; 2] {
    let mut max = [0.0_f64; 2];
    for (k, value) in values {
        let max = &mut max[usize::from(is_angular[k])];
        *max = max.max(value);
    }
    max
}

/// Results at the start of a run: those of one very short step, which leaves the state as it is.
pub(crate) fn initialize(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    t: f64,
) -> Result<(), StepError> {
    let at = SignalTime { t, piece: Piece::After(t), is_first: true };
    let h = rt.reset(compiled, start, at);
    solve(rt, compiled, work, start, h, at)?;
    constraint_forces(rt, compiled, h)?;
    read_contacts(rt, compiled, start, h);
    Ok(())
}

/// One step of length h from `start` at time t; `rt.end` receives state and results, `quad` the energies.
pub(crate) fn step(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    at: SignalTime,
    h: f64,
    quad: &mut [f64],
) -> Result<(), StepError> {
    solve(rt, compiled, work, start, h, at)?;
    complete(rt, compiled, work, start, h, at, quad)
}

/// Solves (3) with consistent loads.
fn solve(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
) -> Result<(), StepError> {
    prepare(rt, compiled, work, start, h, at)?;
    // the first solution only corrects the bias and may be coarse, unless loads or sides are read from it
    let has_bearings = compiled.inputs.contacts.iter().any(|contact| contact.bearing.is_some());
    let is_load_known = !has_bearings && !compiled.inputs.contacts.iter().any(|contact| contact.bends_two_ways());
    for iteration in 1..=MAX_LOAD_ITERATIONS {
        for c in 0..compiled.inputs.contacts.len() {
            if rt.contacts.normal[c] != rt.contacts.normal_in_law[c] {
                rt.contacts.set_law(c, &compiled.inputs.contacts[c], start, h);
            }
        }
        if iteration == 1 && is_load_known {
            solve_velocities(rt, compiled, start, h, Accuracy::Coarse)?;
            expand_velocities(rt, start);
            if correct_bias(&mut rt.equations, compiled, work, start, &rt.end.v)? {
                reduce_efforts(&mut rt.equations, &rt.coordinates, h);
            }
            continue;
        }
        solve_velocities(rt, compiled, start, h, Accuracy::Full)?;
        end_velocities(rt, compiled, start, h, at);
        let is_last = iteration == MAX_LOAD_ITERATIONS;
        let mut is_converged = !has_bearings || update_loads(rt, compiled, work, start, is_last)?;
        if is_last {
            break;
        }
        is_converged &= update_sides(rt, compiled, start, at);
        if iteration == 1 && correct_bias(&mut rt.equations, compiled, work, start, &rt.end.v)? {
            reduce_efforts(&mut rt.equations, &rt.coordinates, h);
            is_converged = false;
        }
        if is_converged {
            break;
        }
    }
    Ok(())
}

/// Completes a step that [`solve`] has solved: positions, states, integrals, forces, energies.
fn complete(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
    quad: &mut [f64],
) -> Result<(), StepError> {
    constraint_forces(rt, compiled, h)?;
    let RealTime { coordinates, equations, contacts, solver, end, free, .. } = &mut *rt;
    // (2)
    end.xi.iter_mut().zip(start.xi).zip(&end.v).for_each(|((xi1, xi), v1)| *xi1 = xi + h * v1);
    for joint in &coordinates.prescribed {
        end.xi[joint.v] = equations.samples[joint.drive].signal.value;
    }
    coordinates.set_positions(&mut end.xi);
    float(end, free, &compiled.model.tree, work, start, &compiled.inputs.effort, h)?;
    end.a.iter_mut().zip(&end.change).for_each(|(a, change)| *a = change / h);
    // bristles, energies, integrals
    for c in 0..compiled.inputs.contacts.len() {
        end.bristles[c] =
            contacts.state_after(c, &compiled.inputs.contacts[c], solver.states[c].omega, start.bristles[c]);
    }
    add_energies(rt, compiled, work, start, h, at, quad)?;
    let RealTime { coordinates, equations, solver, end, last_acceleration, .. } = rt;
    end.integrals.copy_from_slice(start.integrals);
    let pids = compiled.inputs.drives.iter().zip(&equations.samples).filter(|(drive, _)| drive.has_integral());
    for (integral, (drive, sample)) in end.integrals.iter_mut().zip(pids) {
        *integral += h * (sample.signal.value - end.xi[drive.v]);
    }
    // warm start of the next step
    for (a, &k) in last_acceleration.iter_mut().zip(&coordinates.independent) {
        *a = end.change[k] / h;
    }
    solver.last_effort.iter_mut().zip(&solver.states).for_each(|(effort, state)| *effort = state.lambda / h);
    read_contacts(rt, compiled, start, h);
    Ok(())
}

/// Assembles (3), its impulse laws and the warm start.
fn prepare(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
) -> Result<(), StepError> {
    let RealTime { coordinates, equations, contacts, solver, .. } = rt;
    rt.end.unconverged.clear();
    assemble(equations, compiled, work, start, h, at)?;
    reduce_matrix(equations, coordinates, compiled)?;
    reduce_efforts(equations, coordinates, h);
    contacts.has_changed_side.fill(false);
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        contacts.normal[c] = normal_loads(contact, start.loads[c], start.bristles[c][0] < 0.0, at);
        contacts.set_law(c, contact, start, h);
        solver.omega0[c] = contact.rate(start.v) + dot(&coordinates.contacts_prescribed[c], &equations.u_prescribed);
    }
    (solver.n_rounds, solver.max_rounds) = (0, 0);
    match &mut rt.active_set {
        Some(active_set) => active_set.start(coordinates, start.modes, h, &rt.last_acceleration),
        None => start_solver(rt, compiled, h)?,
    }
    Ok(())
}

/// v₁ = v₀ + T u + u_p.
fn expand_velocities(rt: &mut RealTime, start: Start<'_>) {
    let RealTime { coordinates, equations, solver, end, .. } = rt;
    for joint in &coordinates.prescribed {
        end.v[joint.v] = start.v[joint.v] + equations.u_prescribed[joint.v];
    }
    let independent = coordinates.independent.iter().zip(&solver.u).map(|(&k, u)| start.v[k] + u);
    coordinates.expand(independent, &mut end.v);
}

/// v₁ and its change, with exact velocities of locked joints; slip velocities of stuck contacts become 0.0.
fn end_velocities(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, h: f64, at: SignalTime) {
    expand_velocities(rt, start);
    let RealTime { coordinates, equations, solver, rigid_groups, end, .. } = rt;
    let End { v: v1, change, a, .. } = end;
    rigid_groups.set_stuck(|c| solver.states[c].is_stuck);
    rigid_groups.apply(v1);
    change.iter_mut().zip(&*v1).zip(start.v).for_each(|((change, v1), v)| *change = v1 - v);
    if at.is_first {
        // over a very short step the difference of velocities would be rounding
        coordinates.prescribed.iter().for_each(|joint| change[joint.v] = equations.u_prescribed[joint.v]);
        coordinates.expand(solver.u.iter().copied(), change);
        rigid_groups.apply(change);
    }
    a.iter_mut().zip(&*change).for_each(|(a, change)| *a = change / h);
    for (c, state) in solver.states.iter_mut().enumerate() {
        // contacts at their limit that others lock, and what the penalty has left of slip
        let is_dry = compiled.inputs.contacts[c].is_event_driven();
        if is_dry && (rigid_groups.is_locked(c) || state.lambda * state.omega < 0.0) {
            state.omega = 0.0;
        }
    }
}

/// Friction, loads and modes of the contacts at the end of the step.
fn read_contacts(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, h: f64) {
    let RealTime { contacts, solver, end, is_angular, .. } = rt;
    let max_speed = max_by_unit(end.v.iter().map(|v| v.abs()).enumerate(), is_angular);
    for (c, state) in solver.states.iter().enumerate() {
        let contact = &compiled.inputs.contacts[c];
        end.friction[c] = state.lambda / h;
        let is_backward = state.omega < 0.0 || (state.omega == 0.0 && state.lambda < 0.0);
        end.load[c] = contacts.normal[c][usize::from(is_backward)];
        // without load the slip of a resting contact is rounding
        let max_speed = max_speed[usize::from(is_angular[contact.v])];
        let is_unloaded = contacts.normal[c] == [0.0; 2] && state.omega.abs() <= UNLOADED_SLIP * max_speed;
        let is_dry = contact.is_event_driven();
        end.modes[c] = if is_dry && !is_unloaded { Mode::of_sign(state.omega) } else { start.modes[c] };
    }
}

//! # The equations of a step
//!
//! ```text
//! M(q̄) (v₁ − v₀) = h (τ(t̄) − c(q̄, v̄) − K (q_s − rest) − d v_θ) − Wᵀ λ(W v₁)                       (1)
//! q₁ = q₀ + h v̄,                  free joints by their momentum (`floating`)                       (2)
//! q̄ = q₀ + ½ h v₀ + ¼ h² a,       v̄ = ½ (v₀ + v₁),      t̄ = ½ (t₀ + t₁)
//! q_s = q₀ + h (α v₀ + β v₁),     v_θ = (1 − θ) v₀ + θ v₁                                          (`weights`)
//! ```
//!
//! c is the bias with gravity; in it v̄ is v₀ at first and then, once, the mean of v₀ and the v₁ just found. q̄ is the
//! mean of q₀ and q₁ as far as it is known: a is the acceleration of the step before. K and d hold springs, dampers,
//! `Pull` and `Pid` drives and the spring-dampers between joints. λ are the contact impulses, W has a row for each
//! contact. With A = M + h θ d + h² β K, which is positive definite, (1) becomes
//!
//! ```text
//! A (v₁ − v₀) + Wᵀ λ(W v₁) = h r,     r = τ − c − K (q₀ + h (α + β) v₀ − rest) − d v₀               (3)
//! ```
//!
//! Bristles are eliminated from λ(ω) in closed form, and λ(ω) never falls (`impulse_law`): (3) is the optimality
//! condition of a strictly convex problem and has one solution (`convex_solver`). A stuck contact has slip velocity 0.0
//! exactly (`rigid_groups`), and its position keeps every bit. Couplings and prescribed motions are eliminated first
//! (`reduced_coordinates`): a prescribed joint has position and velocity of its signal at t₁. A load that is a reaction
//! is that of the accelerations (v₁ − v₀)/h at q̄ and v̄, found by a short fixed-point iteration. Drives are sampled at
//! t̄, loads that are signals at t₁, before a jump at t₁; no event is located, and mode changes are recorded at the end
//! of their step. Stops are bounds of velocities (`stops`): no joint passes its stop. Machines with closed loops have
//! all forces at the end of the step instead, q̄ = q₀ and q₁ = q₀ + h v₁: order 1 (`closed_loops`).
//!
//! **Order** 2 between changes of mode: (1) and (2) are the trapezoidal rule for positions and the midpoint rule for
//! momenta. A dry contact that slides has constant λ in (1), up to the part that grows with speed, which is of order 1,
//! as bristles are. A change of mode within a step is off by part of a step: order 1.
//!
//! **Stability**: (3) is stable for any h, stiffness, damping and friction. Gravity and c are not implicit: h has to
//! resolve the swing of pendulums.
//!
//! **Energy.** Where M is constant the kinetic energy changes by v̄ᵀ (h f − Wᵀ λ), so that the ledger books work and
//! heat at v̄. Friction takes λ ω̄. Let φ be the potential of λ, λ(ω) = φ'(ω), convex and even, and φ* its conjugate:
//!
//! ```text
//! −λ ω̄ + ½ (φ(ω₁) − φ(ω₀)) = −½ (φ*(λ) + φ(−ω₀) + λ ω₀) ≤ 0                        (Fenchel and Young)    (4)
//! ```
//!
//! so that the energy and ½ Σ φ(ω) together do not grow, for any h: neither dry friction nor a damper of order 1 can
//! drive a machine. ½ φ = ½ h F |ω| for dry friction of level F. With springs and dampers the energy of `weights` joins
//! it. The change of M and of gravity with q within a step contributes terms of order 2 with either sign.

mod active_set;
mod assemble;
mod closed_loops;
mod convex_solver;
mod effort_limits;
mod factor;
mod floating;
#[cfg(test)]
mod form_tests;
mod impulse_law;
mod interior_point;
mod ledger;
mod loads;
pub(crate) mod pack;
mod problem;
mod reduced_coordinates;
mod rigid_groups;
mod state;
mod step;
mod step_matrix;
mod stops;
#[cfg(test)]
mod tests;
mod tree_matrix;
mod velocities;
mod weights;

use crate::memory;
use crate::model::Compiled;
use active_set::ActiveSet;
use assemble::{StepEquations, assemble, correct_bias, reduce_efforts, reduce_matrix};
use bristle_friction::Mode;
use bristle_multibody::{Poses, Work};
pub(crate) use closed_loops::LoopStep;
use convex_solver::{Accuracy, ConvexSolver};
use floating::{Floated, float, free_joints};
use impulse_law::ImpulseLaw;
use interior_point::InteriorPoint;
use ledger::{add_energies, constraint_forces};
use loads::{Contacts, load_signal, normal_loads, update_loads, update_sides};
use problem::Problem;
use reduced_coordinates::{ReducedCoordinates, dot};
use rigid_groups::RigidGroups;
pub(crate) use state::State;
use step::middle;
pub(crate) use step::{End, SignalTime, Start, StepError};
use step_matrix::{MatrixForm, StepMatrix};
use stops::StepStops;
use velocities::{
    end_velocities, expand_velocities, read_contacts, solve_velocities, solve_with_impacts, start_solver,
};

/// Solutions of (3) in a step at most, each with the reaction loads of the one before.
const MAX_LOAD_ITERATIONS: usize = 10;

/// Length of the step that yields accelerations and friction at the start, relative to the other steps.
const FIRST_STEP: f64 = 1e-6;

/// The fixed-step method of one machine; its arrays are made once.
#[derive(Debug, Clone)]
pub(crate) struct RealTime {
    coordinates: ReducedCoordinates,
    equations: StepEquations,
    contacts: Contacts,
    active_set: Option<ActiveSet>,
    /// Closed loops of the machine, if it has any.
    pub loops: Option<Box<LoopStep>>,
    solver: ConvexSolver,
    interior_point: InteriorPoint,
    rigid_groups: RigidGroups,
    stops: StepStops,
    pub end: End,
    /// Acceleration of the independent velocities in the last step: warm start of the next.
    last_acceleration: Vec<f64>,
    /// Impulses that (3) lacks in the rows of constraints and prescribed motions.
    impulse_residual: Vec<f64>,
    /// Whether each velocity is angular: linear and angular velocities are never compared.
    is_angular: Vec<bool>,
    free: Vec<usize>,
    /// Their momentum at the end of the last step.
    floated: Vec<Floated>,
    poses: Poses,
    /// Mean positions of a step, read through [`Start`], and their displacements.
    middle: Vec<f64>,
    displacement: Vec<f64>,
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
            loops: LoopStep::new(compiled),
            contacts: Contacts {
                laws: vec![ImpulseLaw::Dry { forward: [0.0; 2], backward: [0.0; 2], power: None }; n_contacts],
                normal: vec![[0.0; 2]; n_contacts],
                normal_in_law: vec![[0.0; 2]; n_contacts],
                iterate: vec![[f64::NAN; 2]; n_contacts],
                bristle_load: vec![0.0; n_contacts],
                has_changed_side: vec![false; n_contacts],
            },
            solver: ConvexSolver::new(n, n_contacts),
            interior_point: InteriorPoint::new(n, n_contacts),
            rigid_groups: RigidGroups::new(compiled),
            stops: StepStops::new(compiled),
            end: End {
                v: vec![0.0; n_v],
                change: vec![0.0; n_v],
                mean: vec![0.0; n_v],
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
            floated: Vec::with_capacity(compiled.model.free.len()),
            poses: Poses::new(&compiled.model.tree),
            middle: vec![0.0; n_q],
            displacement: vec![0.0; n_v],
            first_step: FIRST_STEP * step,
            coordinates,
        }
    }

    /// Forgets all former steps: the next one starts at `start`, where bristles have the loads of `at`. Returns the
    /// length of the very short step that yields accelerations and friction there.
    fn reset(&mut self, compiled: &Compiled, start: Start<'_>, at: SignalTime) -> f64 {
        self.coordinates.set_offsets(start.xi);
        self.stops.reset(compiled, &self.coordinates, start);
        self.solver.last_effort.fill(0.0);
        self.last_acceleration.fill(0.0);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let signal = load_signal(contact.signal(), at);
            self.contacts.bristle_load[c] = contact.normal_towards(start.bristles[c][0] < 0.0, &signal).0;
        }
        self.first_step
    }

    /// Makes room for the independent velocities of closed loops, once they are known.
    pub fn resize(&mut self, compiled: &Compiled) {
        let (n, n_contacts) = (self.coordinates.independent.len(), compiled.inputs.contacts.len());
        self.equations = StepEquations::new(compiled, &self.coordinates, MatrixForm::Dense);
        self.solver = ConvexSolver::new(n, n_contacts);
        self.interior_point = InteriorPoint::new(n, n_contacts);
        self.last_acceleration = vec![0.0; n];
    }

    /// Warm start of the next step from the accelerations `a`.
    pub fn set_last_acceleration(&mut self, a: &[f64]) {
        let independent = &self.coordinates.independent;
        self.last_acceleration.iter_mut().zip(independent).for_each(|(last, &v)| *last = a[v]);
    }

    /// Makes the velocities of locked joints equal to the last bit, as they are at the ends of steps.
    pub fn lock(&self, v: &mut [f64]) {
        // with loops the velocities at the end of a step satisfy rows of other positions
        if self.loops.is_none() {
            self.rigid_groups.apply(v);
        }
    }

    /// Rounds of the convex solver in the last step: in all, and in its longest solution.
    pub fn rounds(&self) -> (usize, usize) {
        (self.solver.n_rounds, self.solver.max_rounds)
    }

    /// (3) for the convex solver.
    fn problem<'a>(
        coordinates: &'a ReducedCoordinates,
        b: &'a [f64],
        contacts: &'a Contacts,
        stops: &'a StepStops,
        is_angular: &'a [bool],
        compiled: &'a Compiled,
    ) -> Problem<'a> {
        Problem { b, coordinates, compiled, laws: &contacts.laws, bounds: &stops.bounds, is_angular }
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
    let at = SignalTime::first(t);
    let h = rt.reset(compiled, start, at);
    with_middle(rt, compiled, start, h, |rt, start| {
        solve(rt, compiled, work, start, h, at)?;
        constraint_forces(rt, compiled, h)?;
        read_contacts(rt, compiled, start, h);
        Ok(())
    })
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
    with_middle(rt, compiled, start, h, |rt, start| {
        solve(rt, compiled, work, start, h, at)?;
        complete(rt, compiled, work, start, h, at, quad)
    })
}

/// Calls a function with the mean positions of a step of length `h`.
fn with_middle(
    rt: &mut RealTime,
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
    call: impl FnOnce(&mut RealTime, Start<'_>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let mut positions = std::mem::take(&mut rt.middle);
    // accelerations of the step before; those of prescribed joints are left out
    rt.displacement.fill(0.0);
    rt.coordinates.expand(rt.last_acceleration.iter().copied(), &mut rt.displacement);
    let called = middle(compiled, start, h, &mut rt.displacement, &mut positions)
        .and_then(|()| call(rt, Start { middle: &positions, ..start }));
    rt.middle = positions;
    called
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
            if correct_bias((&mut rt.equations, rt.loops.as_deref_mut()), compiled, work, start, &rt.end.v)? {
                reduce_efforts(&mut rt.equations, &rt.coordinates, h);
            }
            continue;
        }
        solve_with_impacts(rt, compiled, start, h)?;
        end_velocities(rt, compiled, start, h, at);
        let is_last = iteration == MAX_LOAD_ITERATIONS;
        // the reactions of an impact are impulses: loads stay as they are
        let is_impact = rt.stops.find_impact(compiled, &rt.solver, start);
        let mut is_converged = !has_bearings || is_impact || update_loads(rt, compiled, work, start, (h, is_last))?;
        if is_last {
            break;
        }
        is_converged &= update_sides(rt, compiled, start, at);
        is_converged &= !limit_efforts(rt, compiled, work, start, h, at, iteration)?;
        if iteration == 1 {
            let equations = (&mut rt.equations, rt.loops.as_deref_mut());
            if correct_bias(equations, compiled, work, start, &rt.end.v)? {
                reduce_efforts(&mut rt.equations, &rt.coordinates, h);
                is_converged = false;
            }
        }
        if is_converged {
            break;
        }
    }
    Ok(())
}

/// Changes the limits of efforts in force where the velocities just found ask for it, and the equations with them.
/// Returns whether it has.
fn limit_efforts(
    rt: &mut RealTime,
    compiled: &Compiled,
    work: &mut Work,
    start: Start<'_>,
    h: f64,
    at: SignalTime,
    round: usize,
) -> Result<bool, StepError> {
    if !rt.equations.limited.update(compiled, start, &rt.end.v, round) {
        return Ok(false);
    }
    assemble((&mut rt.equations, rt.loops.as_deref_mut()), compiled, work, start, h, at, false)?;
    correct_bias((&mut rt.equations, rt.loops.as_deref_mut()), compiled, work, start, &rt.end.v)?;
    reduce_matrix(&mut rt.equations, &rt.coordinates, compiled)?;
    reduce_efforts(&mut rt.equations, &rt.coordinates, h);
    start_velocities(rt, compiled, start, h)?;
    Ok(true)
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
    let RealTime { coordinates, equations, contacts, solver, stops, end, free, floated, loops, .. } = &mut *rt;
    // (2)
    let at_impact = stops.share_of_end(compiled, solver, start, h).filter(|_| !equations.is_order_one);
    let share = at_impact.unwrap_or(equations.share_of_end());
    for (k, xi1) in end.xi.iter_mut().enumerate() {
        *xi1 = start.xi[k] + h * (start.v[k] + share * (end.v[k] - start.v[k]));
    }
    for joint in &coordinates.prescribed {
        end.xi[joint.v] = equations.samples[joint.drive].signal.value;
    }
    // the machine closes its loops
    if loops.is_none() {
        coordinates.set_positions(&mut end.xi);
        stops.set_positions(compiled, coordinates, start, h, &end.v, &mut end.xi)?;
        coordinates.set_positions(&mut end.xi);
    }
    float((end, floated), free, &compiled.model.tree, work, start, &compiled.inputs.effort, h)?;
    if !free.is_empty() {
        stops.set_positions(compiled, coordinates, start, h, &end.v, &mut end.xi)?;
    }
    let share = equations.share_of_end();
    end.mean.iter_mut().zip(start.v).zip(&end.v).for_each(|((mean, v), v1)| *mean = v + share * (v1 - v));
    stops.finish(compiled, solver, start, &end.v, h);
    end.a.iter_mut().zip(&end.change).for_each(|(a, change)| *a = change / h);
    if let Some(loops) = loops {
        loops.add_drift(&mut end.a);
    }
    // bristles, energies, integrals
    for c in 0..compiled.inputs.contacts.len() {
        end.bristles[c] =
            contacts.state_after(c, &compiled.inputs.contacts[c], solver.states[c].omega, start.bristles[c]);
    }
    add_energies(rt, compiled, work, start, h, at, quad)?;
    let RealTime { coordinates, equations, solver, stops, end, last_acceleration, .. } = rt;
    end.integrals.copy_from_slice(start.integrals);
    let pids = compiled.inputs.drives.iter().zip(&equations.samples).filter(|(drive, _)| drive.has_integral());
    for (integral, (drive, sample)) in end.integrals.iter_mut().zip(pids) {
        let (xi, xi1) = (start.xi[drive.v], end.xi[drive.v]);
        *integral += h * (sample.signal.value - (xi + equations.share_of_end() * (xi1 - xi)));
    }
    // warm start of the next step; an impact is no acceleration that goes on
    let independent = coordinates.independent.iter().filter(|_| !stops.is_impact);
    for (a, &k) in last_acceleration.iter_mut().zip(independent) {
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
    let RealTime { coordinates, equations, contacts, solver, stops, loops, .. } = rt;
    rt.end.unconverged.clear();
    assemble((equations, loops.as_deref_mut()), compiled, work, start, h, at, true)?;
    reduce_matrix(equations, coordinates, compiled)?;
    reduce_efforts(equations, coordinates, h);
    contacts.has_changed_side.fill(false);
    contacts.iterate.fill([f64::NAN; 2]);
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        contacts.normal[c] = normal_loads(contact, start.loads[c], start.bristles[c][0] < 0.0, at);
        contacts.set_law(c, contact, start, h);
        solver.omega0[c] = contact.rate(start.v) + dot(&coordinates.contacts_prescribed[c], &equations.u_prescribed);
    }
    stops.begin(compiled, coordinates, start, h, at.is_first);
    (solver.n_rounds, solver.max_rounds) = (0, 0);
    start_velocities(rt, compiled, start, h)
}

/// The warm start of (3).
fn start_velocities(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, h: f64) -> Result<(), StepError> {
    match &mut rt.active_set {
        Some(active_set) => {
            active_set.start(&rt.coordinates, start.modes, &rt.stops, h, &rt.last_acceleration);
        }
        None => start_solver(rt, compiled, h)?,
    }
    Ok(())
}

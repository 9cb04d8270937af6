//! Velocities of a step: by exchange of modes where it applies, otherwise, or where the modes do not converge, by the
//! convex solver. And the velocities, friction and modes at the end of the step.

use super::active_set::Equations;
use super::assemble::StepEquations;
use super::convex_solver::Accuracy;
use super::step_matrix::StepMatrix;
use super::stops::share;
use super::{End, RealTime, SignalTime, Start, StepError, max_by_unit};
use crate::model::Compiled;
use bristle_friction::Mode;

/// Slip of a contact without load that counts as rest, relative to the largest velocity of its unit.
pub(super) const UNLOADED_SLIP: f64 = 1e-12;

/// Prepares the convex solver.
pub(super) fn start_solver(rt: &mut RealTime, compiled: &Compiled, h: f64) -> Result<(), StepError> {
    let RealTime { coordinates, equations: StepEquations { matrix, b, .. }, contacts, solver, .. } = rt;
    let problem = RealTime::problem(coordinates, b, contacts, &rt.stops, &rt.is_angular, compiled);
    Ok(solver.start(&problem, matrix, h, &rt.last_acceleration)?)
}

/// Solves (3) with the present impulse laws and the impacts of the step.
pub(super) fn solve_with_impacts(
    rt: &mut RealTime,
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
) -> Result<(), StepError> {
    loop {
        match solve_velocities(rt, compiled, start, h, Accuracy::Full) {
            Ok(()) => {}
            // rebounds that exclude one another
            Err(StepError::NotConverged { .. }) if rt.stops.forget_rebounds(h) => {
                start_solver(rt, compiled, h)?;
                return solve_velocities(rt, compiled, start, h, Accuracy::Full);
            }
            Err(error) => return Err(error),
        }
        if !rt.stops.find_rebounds(compiled, &rt.solver, start, h) {
            return Ok(());
        }
    }
}

/// Solves (3) with the present impulse laws: by exchange of modes where it applies, otherwise by the convex solver.
pub(super) fn solve_velocities(
    rt: &mut RealTime,
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
    accuracy: Accuracy,
) -> Result<(), StepError> {
    let RealTime { coordinates, equations, contacts, stops, solver, active_set, is_angular, .. } = &mut *rt;
    if let (Some(active_set), StepMatrix::Tree(matrix)) = (active_set, &mut equations.matrix) {
        let problem = RealTime::problem(coordinates, &equations.b, contacts, stops, is_angular, compiled);
        let known = Equations { h, r: &equations.r, v: start.v, u_prescribed: &equations.u_prescribed };
        if active_set.solve(&problem, matrix, known, solver, accuracy)? {
            return Ok(());
        }
        start_solver(rt, compiled, h)?;
        if solve_from_interior(rt, compiled, start, h, accuracy)? {
            return Ok(());
        }
        start_solver(rt, compiled, h)?;
    }
    let RealTime { coordinates, equations, contacts, stops, active_set, solver, interior_point, is_angular, .. } =
        &mut *rt;
    let problem = RealTime::problem(coordinates, &equations.b, contacts, stops, is_angular, compiled);
    solver.solve(&problem, &mut equations.matrix, interior_point, accuracy)?;
    if let Some(active_set) = active_set {
        active_set.follow(coordinates, solver);
    }
    Ok(())
}

/// Exchange of modes from those that the interior-point method finds. Returns whether they have settled.
fn solve_from_interior(
    rt: &mut RealTime,
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
    accuracy: Accuracy,
) -> Result<bool, StepError> {
    let RealTime { coordinates, equations, contacts, stops, solver, interior_point, active_set, is_angular, .. } = rt;
    let problem = RealTime::problem(coordinates, &equations.b, contacts, stops, is_angular, compiled);
    solver.approach(&problem, &mut equations.matrix, interior_point)?;
    let (Some(active_set), StepMatrix::Tree(matrix)) = (active_set, &mut equations.matrix) else { return Ok(false) };
    active_set.follow_interior(&problem, solver);
    let known = Equations { h, r: &equations.r, v: start.v, u_prescribed: &equations.u_prescribed };
    Ok(active_set.solve(&problem, matrix, known, solver, accuracy)?)
}

/// v₁ = v₀ + T u + u_p.
pub(super) fn expand_velocities(rt: &mut RealTime, start: Start<'_>) {
    let RealTime { coordinates, equations, solver, end, .. } = rt;
    for joint in &coordinates.prescribed {
        end.v[joint.v] = start.v[joint.v] + equations.u_prescribed[joint.v];
    }
    let independent = coordinates.independent.iter().zip(&solver.u).map(|(&k, u)| start.v[k] + u);
    coordinates.expand(independent, &mut end.v);
}

/// v₁ and its change, with exact velocities of locked joints; slip velocities of stuck contacts become 0.0.
pub(super) fn end_velocities(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, h: f64, at: SignalTime) {
    expand_velocities(rt, start);
    let RealTime { coordinates, equations, contacts, solver, rigid_groups, stops, end, loops, .. } = rt;
    let End { v: v1, change, a, .. } = end;
    if !stops.of.is_empty() {
        stops.set_velocities(compiled, coordinates, solver, v1);
        coordinates.set_velocities(v1);
    }
    rigid_groups.set_stuck(|c| {
        let state = &solver.states[c];
        state.is_stuck && state.on_stop.is_none() || stops.holds(c, state.on_stop)
    });
    rigid_groups.apply(v1);
    change.iter_mut().zip(&*v1).zip(start.v).for_each(|((change, v1), v)| *change = v1 - v);
    if at.is_first {
        // over a very short step the difference of velocities would be rounding
        coordinates.prescribed.iter().for_each(|joint| change[joint.v] = equations.u_prescribed[joint.v]);
        coordinates.expand(solver.u.iter().copied(), change);
        rigid_groups.apply(change);
    }
    a.iter_mut().zip(&*change).for_each(|(a, change)| *a = change / h);
    if let Some(loops) = loops {
        loops.add_drift(a);
    }
    for (c, state) in solver.states.iter_mut().enumerate() {
        // contacts at their limit that others lock, and what the penalty has left of slip
        let is_dry = compiled.inputs.contacts[c].is_event_driven();
        if let Some(end) = state.on_stop {
            share(state, &contacts.laws[c], stops.bounds[c][end as usize]);
        } else if is_dry && (rigid_groups.is_locked(c) || state.lambda * state.omega < 0.0) {
            state.omega = 0.0;
        }
    }
}

/// Friction, loads and modes of the contacts at the end of the step.
pub(super) fn read_contacts(rt: &mut RealTime, compiled: &Compiled, start: Start<'_>, h: f64) {
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

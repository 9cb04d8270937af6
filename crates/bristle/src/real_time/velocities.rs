//! Velocities of a step: by exchange of modes where it applies, otherwise, or where the modes do not settle, by the convex
//! solver.

use super::active_set::Equations;
use super::assemble::StepEquations;
use super::convex_solver::Accuracy;
use super::step_matrix::StepMatrix;
use super::{RealTime, Start, StepError};
use crate::model::Compiled;

/// Prepares the convex solver.
pub(super) fn start_solver(rt: &mut RealTime, compiled: &Compiled, h: f64) -> Result<(), StepError> {
    let RealTime { coordinates, equations: StepEquations { matrix, b, .. }, contacts, solver, .. } = rt;
    let problem = RealTime::problem(coordinates, b, &contacts.laws, &rt.is_angular, compiled);
    Ok(solver.start(&problem, matrix, h, &rt.last_acceleration)?)
}

/// Solves (3) with the present impulse laws: by exchange of modes where it applies, otherwise by the convex solver.
pub(super) fn solve_velocities(
    rt: &mut RealTime,
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
    accuracy: Accuracy,
) -> Result<(), StepError> {
    let RealTime { coordinates, equations, contacts, solver, active_set, is_angular, .. } = &mut *rt;
    if let (Some(active_set), StepMatrix::Tree(matrix)) = (active_set, &mut equations.matrix) {
        let problem = RealTime::problem(coordinates, &equations.b, &contacts.laws, is_angular, compiled);
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
    let RealTime { coordinates, equations, contacts, active_set, solver, interior_point, is_angular, .. } = &mut *rt;
    let problem = RealTime::problem(coordinates, &equations.b, &contacts.laws, is_angular, compiled);
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
    let RealTime { coordinates, equations, contacts, solver, interior_point, active_set, is_angular, .. } = rt;
    let problem = RealTime::problem(coordinates, &equations.b, &contacts.laws, is_angular, compiled);
    solver.approach(&problem, &mut equations.matrix, interior_point)?;
    let (Some(active_set), StepMatrix::Tree(matrix)) = (active_set, &mut equations.matrix) else { return Ok(false) };
    active_set.follow_interior(&problem, solver);
    let known = Equations { h, r: &equations.r, v: start.v, u_prescribed: &equations.u_prescribed };
    Ok(active_set.solve(&problem, matrix, known, solver, accuracy)?)
}

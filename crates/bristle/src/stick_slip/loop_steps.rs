//! Closed loops and `RealTime`: T at the start of a step, and loops closed at its end.
//!
//! The state of `RealTime` holds all velocities. At the start of a step, T and γ of (9) of
//! [`crate::constraint::loops`] are those of its positions, without stuck contacts: the step itself finds these. At its
//! end the contacts that stick are locked, so that their positions keep every bit, and the others close the loops; then
//! velocities satisfy the rows at the new positions. A joint that lands on its stop is brought to its bound: the step
//! has taken its motion as linear.

use super::machine::Machine;
use crate::constraint::coordinates::sticks;
use crate::dynamics::{Dynamics, Failure};
use crate::real_time::{LoopStep, RealTime};

impl Machine {
    /// Starts `RealTime` at a state that the start of the loops has closed.
    pub(super) fn begin_loop_steps(&mut self) -> Result<(), Failure> {
        let Self { dynamics: Dynamics { compiled, loops, chart, coordinates, .. }, real_time, .. } = self;
        let Some(rt) = real_time.as_deref_mut().filter(|_| loops.is_any()) else { return Ok(()) };
        if let Some(step) = &mut rt.loops {
            step.coordinates.copy_from(coordinates);
        }
        coordinates.clear();
        chart.slope.clear();
        chart.v.fill(0.0);
        rt.take_loops(compiled);
        rt.resize(compiled);
        self.begin_loop_step()
    }

    /// T at the present positions. The chart is chosen anew where it has become steep, or where a joint that sticks
    /// while others move depends on them: an independent one keeps velocity 0.0 when T changes.
    pub(super) fn begin_loop_step(&mut self) -> Result<(), Failure> {
        if !self.dynamics.loops.is_any() {
            return Ok(());
        }
        let is_new = self.with_loop_coordinates(|dynamics, step, _| {
            dynamics.close_loops();
            let is_needed = dynamics.loops.is_steep() | mark_stuck(dynamics, &mut step.stuck);
            if dynamics.loops.failure.is_some() || !is_needed {
                return false;
            }
            let n = dynamics.chart.dependent.len();
            step.chart.copy_from(&dynamics.chart);
            let stuck = std::mem::take(&mut dynamics.chart.v);
            dynamics.lock_loops(false, |v| stuck[v] == 0.0);
            dynamics.chart.v = stuck;
            let is_new = dynamics.loops.failure.is_none() && dynamics.chart.dependent.len() == n;
            if !is_new {
                // a singular configuration: the chart before leads through it
                dynamics.chart.copy_from(&step.chart);
                dynamics.close_loops();
            }
            dynamics.chart.slope.clear();
            is_new
        });
        let Self { dynamics: Dynamics { compiled, point, loops, chart, state, scheme, .. }, real_time, .. } = self;
        // the row of a stuck clutch must not change within a step
        let depends = |v: usize| chart.v[v] == 1.0 && chart.dependent.contains(&v);
        let moves = point.v.iter().any(|v| *v != 0.0);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate().filter(|_| moves) {
            if contact.b.is_some_and(|b| depends(contact.v) || depends(b)) && sticks((compiled, scheme), state, c) {
                return Err(Failure::DependentClutch { contact: c });
            }
        }
        if let Some(rt) = real_time {
            rt.take_loops(compiled);
            if is_new {
                rt.set_last_acceleration(&point.a);
            }
        }
        loops.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Closes the loops at the end of a step. Stuck joints keep their positions and velocity 0.0.
    pub(super) fn end_loop_step(&mut self, h: f64) -> Result<(), Failure> {
        if !self.dynamics.loops.is_any() || self.dynamics.point.v.iter().all(|v| *v == 0.0) {
            return Ok(());
        }
        self.with_loop_coordinates(|dynamics, step, at_rest| {
            dynamics.close_loops();
            dynamics.coordinates.rates(&mut dynamics.point.v);
            let mut has_moved = false;
            for c in 0..dynamics.state.mode.len() {
                if !dynamics.sticks(c) {
                    continue;
                }
                let contact = &dynamics.compiled.inputs.contacts[c];
                let point = &mut dynamics.point;
                has_moved |= contact.rate(&point.v) != 0.0;
                for v in [Some(contact.v), contact.b].into_iter().flatten() {
                    has_moved |= point.xi[v] != at_rest[v];
                    point.xi[v] = at_rest[v];
                }
            }
            if has_moved && dynamics.loops.failure.is_none() {
                // a joint that has just come to rest, or that others hold
                close_beside_stuck(dynamics, step, |_| false);
            }
            false
        });
        self.land_on_stops()?;
        let Self { dynamics: Dynamics { compiled, work, state, point, .. }, real_time, .. } = self;
        if let Some(rt) = real_time {
            rt.float_again(compiled, work, &state.q_ref, (&mut point.xi, &mut point.q, &mut point.v), h)?;
        }
        self.dynamics.loops.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Brings joints that have landed on their stops, or passed them by the curvature of a step, to their bounds.
    fn land_on_stops(&mut self) -> Result<(), Failure> {
        // bringing one joint to its bound may take another one past its own
        for _ in 0..self.dynamics.state.stops.len() {
            let Self { dynamics: Dynamics { compiled, point, loops, .. }, real_time, .. } = self;
            let Some(rt) = real_time.as_deref_mut().filter(|_| loops.failure.is_none()) else { return Ok(()) };
            if !rt.find_landings(compiled, &point.xi)? {
                return Ok(());
            }
            self.with_loop_coordinates(|dynamics, step, _| {
                let target = std::mem::take(&mut step.target);
                dynamics.point.xi.iter_mut().zip(&target).filter(|(_, bound)| !bound.is_nan()).for_each(
                    |(xi, bound)| {
                        *xi = *bound;
                    },
                );
                close_beside_stuck(dynamics, step, |v| !target[v].is_nan());
                step.target = target;
                false
            });
        }
        Ok(())
    }

    /// Closes the loops at a row between two steps, whose positions are interpolated.
    pub(super) fn close_loops_of_row(&mut self) {
        let Self { dynamics, .. } = self;
        if !dynamics.loops.is_any() || dynamics.loop_gap().is_ok() && dynamics.loops.is_closed(&dynamics.point.xi) {
            return;
        }
        self.with_loop_coordinates(|dynamics, _, _| {
            dynamics.close_loops();
            dynamics.coordinates.rates(&mut dynamics.point.v);
            false
        });
    }

    /// Calls a function with the positions that the last step has found, while the coordinates are those of the loops.
    fn with_loop_coordinates(&mut self, call: impl FnOnce(&mut Dynamics, &mut LoopStep, &[f64]) -> bool) -> bool {
        let Self { dynamics, real_time, .. } = self;
        let Some(RealTime { loops: Some(step), end, .. }) = real_time.as_deref_mut() else { return false };
        std::mem::swap(&mut dynamics.coordinates, &mut step.coordinates);
        let found = call(dynamics, step, &end.xi);
        std::mem::swap(&mut dynamics.coordinates, &mut step.coordinates);
        found
    }
}

/// Closes the loops while stuck joints, and those that are `placed`, keep their positions, the latter as far as loops
/// permit. The chart stays.
fn close_beside_stuck(dynamics: &mut Dynamics, step: &mut LoopStep, placed: impl Fn(usize) -> bool) {
    std::mem::swap(&mut dynamics.chart, &mut step.chart);
    let before = &step.chart.dependent;
    dynamics.lock_loops(true, |v| before.contains(&v) && !placed(v));
    std::mem::swap(&mut dynamics.chart, &mut step.chart);
}

/// Marks the stuck joints of a moving machine in the chart, those of stuck clutches included: of independent ones the
/// rows are constant. Whether they have changed, and one of them depends on others. `stuck` is scratch.
fn mark_stuck(dynamics: &mut Dynamics, stuck: &mut [f64]) -> bool {
    if dynamics.point.v.iter().all(|v| *v == 0.0) {
        return false;
    }
    stuck.fill(0.0);
    for c in (0..dynamics.state.mode.len()).filter(|&c| dynamics.sticks(c)) {
        let contact = &dynamics.compiled.inputs.contacts[c];
        [Some(contact.v), contact.b].into_iter().flatten().for_each(|v| stuck[v] = 1.0);
    }
    let has_changed = dynamics.chart.v != stuck;
    dynamics.chart.v.copy_from_slice(stuck);
    has_changed && dynamics.chart.dependent.iter().any(|&v| stuck[v] == 1.0)
}

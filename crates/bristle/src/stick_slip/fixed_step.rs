//! `RealTime` steps of a machine: passes the state to [`crate::real_time`] and copies the results.

use super::machine::Machine;
use crate::dynamics::Dynamics;
use crate::dynamics::diagnostics::{ModeChange, UnconvergedLoad};
use crate::dynamics::failure::Failure;
use crate::dynamics::point::Point;
use crate::dynamics::state::State;
use crate::model::Compiled;
use crate::real_time::pack::PackStep;
use crate::real_time::{self, End, RealTime, SignalTime, Start, StepError};
use crate::signal::Piece;
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_multibody::Work;
use bristle_multibody::spatial::Scalar;

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Mechanics(error) => Self::Mechanics(error),
            StepError::Loop(failure) => Self::Loop(failure),
            StepError::NotConverged { contact } => Self::Unbalanced { contact },
            StepError::MotionIntoStop { contact, bound } => Self::MotionIntoStop { contact, bound },
            StepError::PastStop { contact, position, bound } => Self::PastStop { contact, position, bound },
            StepError::Stopped => Self::Stopped,
        }
    }
}

impl Machine {
    /// Makes the machine take `RealTime` steps of this length, s.
    pub(crate) fn make_real_time(&mut self, step: f64) {
        self.real_time = Some(Box::new(RealTime::new(&self.dynamics.compiled, step)));
        self.dynamics.scheme.is_real_time = true;
    }

    /// Starts a run: all velocities are unknowns; a very short step gives accelerations, loads and friction.
    pub(super) fn begin_real_time(&mut self, t: f64, y: &mut [f64]) -> Result<(), Failure> {
        self.begin_loop_steps()?;
        self.dynamics.coordinates.active.clear();
        self.dynamics.coordinates.active.extend(0..self.dynamics.point.v.len());
        self.dynamics.diagnostics.changes.clear();
        let initialize = |rt: &mut RealTime, compiled: &Compiled, work: &mut Work, start: Start<'_>| {
            real_time::initialize(rt, compiled, work, start, t)
        };
        let mut begun = self.call_real_time(t, initialize);
        // a contact that breaks away at once slides from the first row on
        if begun.is_ok() && !self.dynamics.diagnostics.changes.is_empty() {
            begun = self.call_real_time(t, initialize);
            self.dynamics.diagnostics.changes.clear();
        }
        self.dynamics.gather(y);
        begun
    }

    /// One step from (t, y).
    pub(super) fn real_time_step(
        &mut self,
        t: f64,
        h: f64,
        y: &[f64],
        y_new: &mut [f64],
        quad: &mut [f64],
    ) -> Result<(), EvalError> {
        self.take_unknowns(y);
        self.dynamics.state.piece = Piece::After(t);
        self.dynamics.update_servos(t);
        let t1 = t + h;
        let at = SignalTime::of_step(t1, h);
        self.dynamics.state.piece = at.piece;
        let stepped = self.begin_loop_step().and_then(|()| {
            self.call_real_time(t1, |rt, compiled, work, start| real_time::step(rt, compiled, work, start, at, h, quad))
        });
        let stepped = stepped.and_then(|()| {
            self.take_state();
            self.end_loop_step(h)
        });
        if let Err(failure) = stepped {
            self.dynamics.diagnostics.failure = Some(failure);
            return Err(EvalError::Fatal { code: 0 });
        }
        self.dynamics.gather(y_new);
        Ok(())
    }

    /// Centres the charts of free joints after a step.
    pub(super) fn accept_real_time(&mut self, y: &mut [f64]) -> Result<bool, EvalError> {
        if self.dynamics.compiled.model.free.is_empty() {
            return Ok(false);
        }
        self.take_unknowns(y);
        let moved = self.dynamics.move_charts().map_err(|_| EvalError::Retry)?;
        if moved {
            self.dynamics.gather(y);
        }
        Ok(moved)
    }

    /// Copies the unknowns to the arrays, prescribed velocities included.
    fn take_unknowns(&mut self, y: &[f64]) {
        let n = self.dynamics.point.v.len();
        self.dynamics.point.xi.copy_from_slice(&y[..n]);
        self.dynamics.point.v.copy_from_slice(&y[n..2 * n]);
        let mut rest = y[2 * n..].iter();
        for (state, contact) in
            self.dynamics.point.bristles.iter_mut().zip(self.dynamics.compiled.inputs.contacts.iter())
        {
            state[..contact.law.n_states()].iter_mut().zip(&mut rest).for_each(|(s, y)| *s = *y);
        }
        self.dynamics.point.integral.iter_mut().zip(rest).for_each(|(integral, y)| *integral = *y);
    }

    /// Calls the method from the present state and copies its results; the step ends at `t`.
    fn call_real_time<F>(&mut self, t: f64, call: F) -> Result<(), Failure>
    where
        F: FnOnce(&mut RealTime, &Compiled, &mut Work, Start<'_>) -> Result<(), StepError>,
    {
        self.dynamics.place()?;
        let Self {
            dynamics:
                Dynamics {
                    compiled,
                    work,
                    loops,
                    chart,
                    state: State { q_ref, mode, servos, .. },
                    point: Point { q, xi, v, bristles: state, load, integral, .. },
                    ..
                },
            real_time,
            ..
        } = self;
        let Some(rt) = real_time else { return Ok(()) };
        let start = Start {
            q_ref,
            q,
            xi,
            middle: q,
            v,
            bristles: state,
            modes: mode,
            loads: load,
            integrals: integral,
            servos,
        };
        if let Some(step) = &mut rt.loops {
            std::mem::swap(loops, &mut step.loops);
            std::mem::swap(chart, &mut step.chart);
        }
        let called = call(rt, compiled, work, start);
        if let Some(step) = &mut rt.loops {
            std::mem::swap(loops, &mut step.loops);
            std::mem::swap(chart, &mut step.chart);
        }
        let (n_rounds, max_rounds) = rt.rounds();
        self.dynamics.diagnostics.counters.n_rounds += n_rounds;
        self.dynamics.diagnostics.counters.max_rounds = self.dynamics.diagnostics.counters.max_rounds.max(max_rounds);
        self.dynamics.diagnostics.counters.n_unconverged_loads += usize::from(!rt.end.unconverged.is_empty());
        for &(contact, change) in &rt.end.unconverged {
            match self.dynamics.diagnostics.unconverged_loads.iter_mut().find(|load| load.contact == contact) {
                Some(load) => load.largest = load.largest.max(change),
                None => {
                    self.dynamics.diagnostics.unconverged_loads.push(UnconvergedLoad { contact, t, largest: change })
                }
            }
        }
        called?;
        self.take_results();
        Ok(())
    }

    /// Puts the machine into a lane of a pack that it fits.
    pub(crate) fn load_lane<S: Scalar>(&self, pack: &mut PackStep<S>, lane: usize) {
        let Self {
            dynamics:
                Dynamics {
                    compiled,
                    state: State { q_ref, mode, servos, .. },
                    point: Point { xi, v, a, bristles, load, integral, .. },
                    ..
                },
            real_time,
            ..
        } = self;
        let Some(rt) = real_time else { return };
        let start =
            Start { q_ref, q: xi, xi, middle: xi, v, bristles, modes: mode, loads: load, integrals: integral, servos };
        pack.load(lane, compiled, rt, start, a);
    }

    /// Takes over the lane of a pack whose last step, of length `h`, ended at `t`; the unknowns there go to `y`.
    pub(crate) fn take_lane<S: Scalar>(&mut self, pack: &PackStep<S>, lane: usize, t: f64, h: f64, y: &mut [f64]) {
        let Some(rt) = &mut self.real_time else { return };
        rt.take_lane(pack, lane);
        self.dynamics.state.piece = SignalTime::of_step(t, h).piece;
        let (n_rounds, max_rounds) = pack.rounds(lane);
        let counters = &mut self.dynamics.diagnostics.counters;
        counters.n_rounds += n_rounds;
        counters.max_rounds = counters.max_rounds.max(max_rounds);
        self.take_results();
        self.take_state();
        self.dynamics.gather(y);
    }

    /// Copies results and modes at the end of a step.
    fn take_results(&mut self) {
        let Some(rt) = &self.real_time else { return };
        let End { a, friction, load, modes, constraint_force, prescribed_effort, .. } = &rt.end;
        let Dynamics { compiled, point, state, diagnostics, .. } = &mut self.dynamics;
        point.a.copy_from_slice(a);
        point.friction.copy_from_slice(friction);
        point.load.copy_from_slice(load);
        point.constraint_force.copy_from_slice(constraint_force);
        point.drive_effort.copy_from_slice(prescribed_effort);
        rt.stop_results(&mut point.stop_effort, &mut diagnostics.stop_changes, |c, end| state.stops[c].closed = end);
        diagnostics.changes.clear();
        for (contact, (from, &to)) in state.mode.iter_mut().zip(modes).enumerate() {
            if *from != to {
                if !compiled.inputs.contacts[contact].is_stop_alone() {
                    diagnostics.changes.push(ModeChange { contact, from: *from, to });
                }
                *from = to;
            }
        }
    }

    /// Copies the state at the end of a step.
    fn take_state(&mut self) {
        let Some(rt) = &self.real_time else { return };
        self.dynamics.point.xi.copy_from_slice(&rt.end.xi);
        self.dynamics.point.v.copy_from_slice(&rt.end.v);
        self.dynamics.point.bristles.copy_from_slice(&rt.end.bristles);
        self.dynamics.point.integral.copy_from_slice(&rt.end.integrals);
        for (c, contact) in self.dynamics.compiled.inputs.contacts.iter().enumerate() {
            if contact.law.n_states() > 0 {
                self.dynamics.state.backward[c] = self.dynamics.point.bristles[c][0] < 0.0;
            }
        }
    }
}

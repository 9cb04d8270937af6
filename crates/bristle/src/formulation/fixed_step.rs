//! `RealTime` steps of a machine: passes the state to [`crate::real_time`] and copies the results.

use super::diagnostics::{ModeChange, UnconvergedLoad};
use super::failure::Failure;
use super::machine::Machine;
use super::point::Point;
use super::state::State;
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
            StepError::NotConverged { contact } => Self::Unbalanced { contact },
            StepError::Stopped => Self::Stopped,
        }
    }
}

impl Machine {
    /// Makes the machine take `RealTime` steps of this length, s.
    pub(crate) fn make_real_time(&mut self, step: f64) {
        self.real_time = Some(Box::new(RealTime::new(&self.compiled, step)));
    }

    /// Whether the machine takes `RealTime` steps.
    pub(crate) fn is_real_time(&self) -> bool {
        self.real_time.is_some()
    }

    /// Starts a run: all velocities are unknowns; a very short step gives accelerations, loads and friction.
    pub(super) fn begin_real_time(&mut self, t: f64, y: &mut [f64]) -> Result<(), Failure> {
        self.coordinates.active.clear();
        self.coordinates.active.extend(0..self.point.v.len());
        self.diagnostics.changes.clear();
        let initialize = |rt: &mut RealTime, compiled: &Compiled, work: &mut Work, start: Start<'_>| {
            real_time::initialize(rt, compiled, work, start, t)
        };
        let mut begun = self.call_real_time(t, initialize);
        // a contact that breaks away at once slides from the first row on
        if begun.is_ok() && !self.diagnostics.changes.is_empty() {
            begun = self.call_real_time(t, initialize);
            self.diagnostics.changes.clear();
        }
        self.gather(y);
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
        self.state.piece = Piece::After(t);
        self.update_servos(t);
        let t1 = t + h;
        // the sum of the steps differs from the time of a corner by rounding
        self.state.piece = Piece::Before(t1 - 1e-6 * h);
        let at = SignalTime { t: t1, piece: self.state.piece, is_first: false };
        let stepped = self
            .call_real_time(t1, |rt, compiled, work, start| real_time::step(rt, compiled, work, start, at, h, quad));
        if let Err(failure) = stepped {
            self.diagnostics.failure = Some(failure);
            return Err(EvalError::Fatal { code: 0 });
        }
        self.take_state();
        self.gather(y_new);
        Ok(())
    }

    /// Centres the charts of free joints after a step.
    pub(super) fn accept_real_time(&mut self, y: &mut [f64]) -> Result<bool, EvalError> {
        if self.compiled.model.free.is_empty() {
            return Ok(false);
        }
        self.take_unknowns(y);
        let moved = self.move_charts().map_err(|_| EvalError::Retry)?;
        if moved {
            self.gather(y);
        }
        Ok(moved)
    }

    /// Copies the unknowns to the arrays, prescribed velocities included.
    fn take_unknowns(&mut self, y: &[f64]) {
        let n = self.point.v.len();
        self.point.xi.copy_from_slice(&y[..n]);
        self.point.v.copy_from_slice(&y[n..2 * n]);
        let mut rest = y[2 * n..].iter();
        for (state, contact) in self.point.bristles.iter_mut().zip(self.compiled.inputs.contacts.iter()) {
            state[..contact.law.n_states()].iter_mut().zip(&mut rest).for_each(|(s, y)| *s = *y);
        }
        self.point.integral.iter_mut().zip(rest).for_each(|(integral, y)| *integral = *y);
    }

    /// Calls the method from the present state and copies its results; the step ends at `t`.
    fn call_real_time<F>(&mut self, t: f64, call: F) -> Result<(), Failure>
    where
        F: FnOnce(&mut RealTime, &Compiled, &mut Work, Start<'_>) -> Result<(), StepError>,
    {
        self.place()?;
        let Self {
            compiled,
            work,
            real_time,
            state: State { q_ref, mode, servos, .. },
            point: Point { q, xi, v, bristles: state, load, integral, .. },
            ..
        } = self;
        let Some(rt) = real_time else { return Ok(()) };
        let start = Start { q_ref, q, xi, v, bristles: state, modes: mode, loads: load, integrals: integral, servos };
        let called = call(rt, compiled, work, start);
        let (n_rounds, max_rounds) = rt.rounds();
        self.diagnostics.counters.n_rounds += n_rounds;
        self.diagnostics.counters.max_rounds = self.diagnostics.counters.max_rounds.max(max_rounds);
        self.diagnostics.counters.n_unconverged_loads += usize::from(!rt.end.unconverged.is_empty());
        for &(contact, change) in &rt.end.unconverged {
            match self.diagnostics.unconverged_loads.iter_mut().find(|load| load.contact == contact) {
                Some(load) => load.largest = load.largest.max(change),
                None => self.diagnostics.unconverged_loads.push(UnconvergedLoad { contact, t, largest: change }),
            }
        }
        called?;
        self.take_results();
        Ok(())
    }

    /// Puts the machine into a lane of a pack that it fits.
    pub(crate) fn load_lane<S: Scalar>(&self, pack: &mut PackStep<S>, lane: usize) {
        let Self {
            compiled,
            real_time,
            state: State { q_ref, mode, servos, .. },
            point: Point { xi, v, a, bristles, load, integral, .. },
            ..
        } = self;
        let Some(rt) = real_time else { return };
        let start = Start { q_ref, q: xi, xi, v, bristles, modes: mode, loads: load, integrals: integral, servos };
        pack.load(lane, compiled, rt, start, a);
    }

    /// Takes over the lane of a pack whose last step, of length `h`, ended at `t`; the unknowns there go to `y`.
    pub(crate) fn take_lane<S: Scalar>(&mut self, pack: &PackStep<S>, lane: usize, t: f64, h: f64, y: &mut [f64]) {
        let Some(rt) = &mut self.real_time else { return };
        rt.take_lane(pack, lane);
        self.state.piece = Piece::Before(t - 1e-6 * h);
        let (n_rounds, max_rounds) = pack.rounds(lane);
        let counters = &mut self.diagnostics.counters;
        counters.n_rounds += n_rounds;
        counters.max_rounds = counters.max_rounds.max(max_rounds);
        self.take_results();
        self.take_state();
        self.gather(y);
    }

    /// Copies results and modes at the end of a step.
    fn take_results(&mut self) {
        let Some(rt) = &self.real_time else { return };
        let End { a, friction, load, modes, constraint_force, prescribed_effort, .. } = &rt.end;
        self.point.a.copy_from_slice(a);
        self.point.friction.copy_from_slice(friction);
        self.point.load.copy_from_slice(load);
        self.point.constraint_force.copy_from_slice(constraint_force);
        self.point.drive_effort.copy_from_slice(prescribed_effort);
        self.diagnostics.changes.clear();
        for (contact, (from, &to)) in self.state.mode.iter_mut().zip(modes).enumerate() {
            if *from != to {
                self.diagnostics.changes.push(ModeChange { contact, from: *from, to });
                *from = to;
            }
        }
    }

    /// Copies the state at the end of a step.
    fn take_state(&mut self) {
        let Some(rt) = &self.real_time else { return };
        self.point.xi.copy_from_slice(&rt.end.xi);
        self.point.v.copy_from_slice(&rt.end.v);
        self.point.bristles.copy_from_slice(&rt.end.bristles);
        self.point.integral.copy_from_slice(&rt.end.integrals);
        for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
            if contact.law.n_states() > 0 {
                self.state.backward[c] = self.point.bristles[c][0] < 0.0;
            }
        }
    }
}

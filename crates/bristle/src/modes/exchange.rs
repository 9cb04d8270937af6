//! The active-set method: joints change between stuck and sliding until none is on the wrong side of its law.

use super::{
    EQUAL, FEW_CATCHES, LOCATED, MANY, MAX_EXCHANGES, ModeError, ModeWork, ROUNDING, Response, RestDynamics, Side,
    level,
};
use bristle_friction::Mode;

impl ModeWork {
    /// Rounding error of an effort at its limit.
    pub(super) fn tolerance(&self, i: usize) -> f64 {
        // of a closed stop, the limit of friction
        let [up, down] = self.limit[i];
        EQUAL * if up.is_finite() != down.is_finite() { up.min(down) } else { up.max(down) }
    }

    /// Whether `f` exceeds the limit of a stuck joint.
    pub(super) fn is_beyond(&self, i: usize, f: f64) -> bool {
        f.abs() > level(self.limit[i], f) + self.tolerance(i)
    }

    /// Efforts and accelerations with the stuck joints of `hold`; `step` is the change of the efforts.
    pub(super) fn respond_locked<H: RestDynamics>(&mut self, machine: &mut H) -> Result<(), ModeError> {
        if crate::stop::is_asked() {
            return Err(ModeError::Stopped);
        }
        self.stuck.clear();
        self.stuck.extend((0..self.hold.len()).filter(|&i| self.hold[i] == Side::Stuck));
        self.selection.n_factor += 1;
        machine.lock_stuck(&self.stuck, &self.selection.friction, &mut self.step, &mut self.response)
    }

    /// The fraction of its step that takes stuck joint number `k` to its limit, if the whole step would exceed it.
    pub(super) fn reach(&self, k: usize) -> Option<f64> {
        let (i, step) = (self.stuck[k], self.step[k]);
        let f = self.selection.friction[i];
        let room = level(self.limit[i], step) - f * step.signum();
        self.is_beyond(i, f + step).then(|| room.max(0.0) / step.abs())
    }

    /// Sets a joint to the limit on the side of `sign`.
    pub(super) fn release(&mut self, i: usize, sign: f64) {
        self.selection.friction[i] = sign.signum() * level(self.limit[i], sign);
        self.hold[i] = Side::AtLimit(sign.signum());
    }

    /// The acceleration of a joint at its limit against its own friction, if it is more than rounding.
    pub(super) fn wrong_way(&self, i: usize) -> Option<f64> {
        let Side::AtLimit(side) = self.hold[i] else { return None };
        let wrong = -self.response[i].acceleration * side;
        let repeated = (self.catches[i] - FEW_CATCHES).max(0);
        let is_wrong = self.limit[i] != [0.0; 2] && wrong > ROUNDING * self.response[i].size * 2.0_f64.powi(repeated);
        is_wrong.then_some(wrong)
    }
}

/// Exchanges all joints on the wrong side at once, while their number decreases: a few factorisations decide many
/// joints. Returns whether none is left on the wrong side.
pub(super) fn exchange_all<H: RestDynamics>(work: &mut ModeWork, machine: &mut H) -> Result<bool, ModeError> {
    let n = work.hold.len();
    let (mut fewest, mut patience) = (usize::MAX, 3);
    for _ in 0..MAX_EXCHANGES {
        work.respond_locked(machine)?;
        for (&i, step) in work.stuck.iter().zip(&work.step) {
            work.selection.friction[i] += step;
        }
        for i in 0..n {
            work.marked[i] = match work.hold[i] {
                Side::Stuck => work.is_beyond(i, work.selection.friction[i]),
                Side::AtLimit(_) => work.wrong_way(i).is_some(),
            };
        }
        let wrong = work.marked.iter().filter(|marked| **marked).count();
        if wrong < fewest {
            (fewest, patience) = (wrong, 3);
        } else if patience == 0 {
            break;
        } else {
            patience -= 1;
        }
        for i in 0..n {
            match work.hold[i] {
                _ if !work.marked[i] => {}
                Side::Stuck => work.release(i, work.selection.friction[i]),
                Side::AtLimit(_) => work.hold[i] = Side::Stuck,
            }
        }
        if wrong == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Solves (3) with `work.limit` by the active-set method, starting from the efforts and statuses in `work`. After a
/// drop few of many joints change sides; otherwise a common exchange or the interior-point method comes first.
pub(super) fn solve_convex<H: RestDynamics>(work: &mut ModeWork, machine: &mut H) -> Result<(), ModeError> {
    let is_first = work.selection.n_problems == 0;
    work.selection.n_problems += 1;
    if work.hold.len() > MANY {
        if !is_first && work.has_given_limits && exchange_one_by_one(work, machine, MANY)? {
            return Ok(());
        }
        if !exchange_all(work, machine)? && work.has_given_limits {
            work.follow_path(machine);
            // few are wrong now
            work.keep_path();
            if !exchange_all(work, machine)? {
                work.return_to_path();
            }
        }
        // the active-set method starts within the limits
        for i in 0..work.hold.len() {
            let f = work.selection.friction[i];
            if work.hold[i] == Side::Stuck && work.is_beyond(i, f) {
                work.release(i, f);
            }
        }
    }
    exchange_one_by_one(work, machine, usize::MAX).map(|_| ())
}

/// The active-set method with at most `max_rounds`; whether it has terminated.
pub(super) fn exchange_one_by_one<H: RestDynamics>(
    work: &mut ModeWork,
    machine: &mut H,
    max_rounds: usize,
) -> Result<bool, ModeError> {
    let n = work.hold.len();
    work.catches.fill(0);
    work.marked.fill(false);
    // the joint caught in the round before, and its former side
    let mut caught: Option<(usize, f64)> = None;
    for _ in 0..max_rounds {
        work.respond_locked(machine)?;

        // a catch without effect: the joint is marginal
        if let Some((i, side)) = caught.take() {
            let back = work.stuck.iter().zip(&work.step).find(|(k, _)| **k == i).map_or(0.0, |(_, step)| -side * step);
            if back <= work.tolerance(i) {
                work.hold[i] = Side::AtLimit(side);
                work.marked[i] = true;
                continue;
            }
            work.marked.fill(false);
            work.catches[i] += 1;
        }

        // stuck joints: step to vanishing accelerations, or to the first limit
        let share = (0..work.stuck.len()).filter_map(|k| work.reach(k)).reduce(f64::min);
        for k in 0..work.stuck.len() {
            let (i, step) = (work.stuck[k], work.step[k]);
            if share.zip(work.reach(k)).is_some_and(|(share, reach)| reach <= share) {
                work.release(i, step);
            } else {
                work.selection.friction[i] += share.unwrap_or(1.0) * step;
            }
        }
        if share.is_some() {
            work.marked.fill(false);
            continue;
        }

        // joints at their limits: catch the one that alone would reduce (3) most
        let gain = |i: usize| Some((i, work.wrong_way(i)?.powi(2) * work.response[i].inertia));
        let candidates = (0..n).filter(|&i| !work.marked[i]).filter_map(gain);
        let Some((i, _)) = candidates.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(true) };
        if let Side::AtLimit(side) = std::mem::replace(&mut work.hold[i], Side::Stuck) {
            caught = Some((i, side));
        }
    }
    Ok(false)
}

/// Mode, final effort and acceleration of one joint, from the solution of the last convex problem.
pub(super) fn choose_mode(work: &mut ModeWork, i: usize) {
    let f = work.selection.friction[i];
    let Response { acceleration: a, size, .. } = work.response[i];
    let (limit, leaving) = (work.limit[i], work.leaving[i]);
    let (direction, a) = match work.hold[i] {
        // an event located a little early, or a joint that sticks again at once
        Side::Stuck if leaving != 0.0 && limit[0].is_finite() != limit[1].is_finite() => {
            // a stop whose effort vanishes: relative to the efforts that balance
            let near = level(limit, leaving) * (1.0 - LOCATED) - LOCATED * size * work.response[i].inertia;
            (if leaving * f >= near { leaving } else { 0.0 }, 0.0)
        }
        Side::Stuck if leaving != 0.0 && f.abs() >= level(limit, f) * (1.0 - LOCATED) => (f.signum(), 0.0),
        Side::Stuck => (0.0, 0.0),
        Side::AtLimit(side) => {
            let is_limited = limit != [0.0; 2];
            // the accelerations of marginal joints may have the wrong sign by rounding
            let moves = (if is_limited { a * side } else { a.abs() }) > ROUNDING * size;
            let direction = if is_limited {
                side
            } else if moves {
                a.signum()
            } else if leaving != 0.0 {
                leaving
            } else {
                1.0
            };
            // at the limit without motion: the joint sticks unless its event makes it leave
            if moves || leaving != 0.0 || !is_limited {
                (direction, (a * direction).max(0.0) * direction)
            } else {
                (0.0, 0.0)
            }
        }
    };
    work.selection.mode[i] = Mode::of_sign(direction);
    work.selection.acceleration[i] = a;
    if direction != 0.0 {
        work.selection.friction[i] = direction * level(limit, direction);
    }
}

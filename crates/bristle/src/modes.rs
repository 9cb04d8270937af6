//! Mode selection: which joints stick and which slip, decided together for all joints at rest.
//!
//! Joints at rest with friction efforts f accelerate by
//!
//! ```text
//! a = a₀ − W f                                                               (1)
//! ```
//!
//! a₀ being their accelerations without their own friction and W the Delassus matrix (acceleration of one per unit
//! effort at another; symmetric, positive definite) of the machine with all sliding joints free. The selection finds
//! f, a and modes with
//!
//! ```text
//! stuck:     a = 0,  |f| ≤ stiction
//! forward:   a ≥ 0,   f = +kinetic                                           (2)
//! backward:  a ≤ 0,   f = −kinetic
//! ```
//!
//! **Equal levels.** With stiction = kinetic =: ℓ, (1) and (2) are the optimality conditions of a strictly convex
//! problem, min ½(a−a₀)ᵀW⁻¹(a−a₀) + Σ ℓ|a|, or in the efforts
//!
//! ```text
//! min ½ fᵀW f − a₀ᵀf    subject to  −ℓ ≤ f ≤ ℓ                               (3)
//! ```
//!
//! whose solution is unique. (1) and (2) are a linear complementarity problem (LCP), (3) is its QP. An active-set
//! method solves it: the efforts of the stuck joints satisfy W_SS f_S = a₀_S − W_SB f_B; a step towards them ends at
//! the first limit, where the joint is released; a joint at its limit that accelerates against its own friction
//! becomes stuck again (a catch). With many joints the method first exchanges all wrong ones at once, as long as that
//! helps; otherwise an interior-point method approaches the solution in about thirty rounds, for any number of joints
//! (`interior`). The efforts of the stuck joints and the accelerations of the others come from a factorisation of
//! W_SS, O(n³) in each round, or, in a tree, from two sweeps with the stuck joints locked, O(n) and without W.
//!
//! **Termination.** In exact arithmetic each round lowers (3), so no set of stuck joints recurs. W of a long chain
//! has a condition number of 1e8 and more, and rounding decides the sign of an acceleration that vanishes. Three
//! rules guarantee termination all the same:
//!
//! - A stuck joint is released when its effort exceeds its limit by more than 1e-10 of it.
//! - A catch counts only if it reduces the effort from the limit by more than that. Otherwise the joint is *marginal*:
//!   its effort is its limit and its acceleration is zero. It stays as it is until another effort has changed.
//! - A joint that is caught repeatedly has an acceleration dominated by rounding: the acceleration necessary for a
//!   catch doubles each time. It cannot exceed the terms of the difference, so every joint is caught a bounded number
//!   of times.
//!
//! **Stiction above the sliding level** permits several solutions in general. The selection rule:
//!
//! 1. All joints stick without limits, except that joints with equal levels obey (3) from the beginning.
//! 2. The joint whose break-away is the event drops first: its limit in (3) becomes its sliding level.
//! 3. Solve (3). Among the joints whose effort exceeds their stiction, the one with the largest |f|/stiction drops.
//!    Repeat.
//! 4. Joints whose ratios are equal up to rounding drop together, also with the event's joint: symmetry is preserved.
//! 5. A dropped joint moves against the friction that was exceeded, even if its acceleration is zero at this instant;
//!    if the other drops have reduced its effort below its sliding level, it sticks.
//! 6. Without an event, a joint exactly at its limit sticks.
//!
//! Levels may depend on the direction (a one-way clutch): those of f > 0 and of f < 0 are given separately, and every
//! limit above is that of the direction of f.
//!
//! Dropped joints never regain their stiction, so there are at most n + 1 problems (3). A joint with zero limits
//! never sticks.
//!
//! This module works on arrays only: names, loads and time belong to the caller.

mod interior;

use bristle_friction::Mode;
use interior::Interior;
use thiserror::Error;

/// Ratios |f|/stiction closer than this are equal: equal ratios drop together, and a ratio equal to 1 sticks.
/// Rounding in f is 1e-16 times the condition number of W, which is 1e4 to 1e6 for arms and chains.
const EQUAL: f64 = 1e-10;

/// Accelerations smaller than this, relative to the terms of their difference, count as zero; levels that differ by
/// less are equal.
const ROUNDING: f64 = 1e-12;

/// Accuracy of the caller's event location, relative to the limit: the effort at a break-away equals the limit up to
/// this.
const LOCATED: f64 = 1e-6;

/// A level against forward motion (f > 0) and one against backward motion (f < 0).
pub type Levels = [f64; 2];

/// The level of the direction in which `f` acts.
fn level(levels: Levels, f: f64) -> f64 {
    levels[usize::from(f < 0.0)]
}

/// Catches of a joint in one convex problem before the acceleration necessary for a catch doubles: one or two are
/// usual.
const FEW_CATCHES: i32 = 4;

/// More joints than this are first exchanged all at once, in at most so many rounds.
const MANY: usize = 16;
const MAX_EXCHANGES: usize = 40;

/// The joints at rest, n of them. Efforts are N·m or N, loads and lever arms included.
#[derive(Debug, Clone, Copy)]
pub struct AtRest<'a> {
    /// W of (1), row by row; n × n, symmetric positive definite.
    pub delassus: &'a [f64],
    /// a₀ of (1); n.
    pub free_acceleration: &'a [f64],
    /// Stiction levels, against forward and against backward motion; n.
    pub stiction: &'a [Levels],
    /// Friction efforts just after break-away, at most the stiction; n.
    pub kinetic: &'a [Levels],
    /// The joints whose break-away is the event, if it is one. Empty at the start and when a joint comes to rest.
    pub breaking: &'a [usize],
}

/// Filled by [`select`].
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Selected modes; n.
    pub mode: Vec<Mode>,
    /// Friction efforts f, positive against forward motion; n.
    pub friction: Vec<f64>,
    /// Accelerations a; exactly 0 where stuck; n.
    pub acceleration: Vec<f64>,
    /// Number of convex problems solved.
    pub n_problems: usize,
    /// Number of factorisations, or sweeps, in all of them.
    pub n_factor: usize,
}

/// Reason why no modes could be selected. `joint` is an index into the arrays of [`AtRest`].
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ModeError {
    /// A number is not finite, a limit is negative, or the sliding level exceeds the stiction.
    #[error("joint {joint} at rest: accelerations and limits must be finite, with 0 ≤ kinetic ≤ stiction")]
    Unusable {
        /// Index of the joint.
        joint: usize,
    },
    /// W has a vanishing pivot: the constraints of the joints before lock this one, or W is not a Delassus matrix.
    #[error(
        "joint {joint} at rest: the other joints determine its acceleration (Delassus matrix not positive definite)"
    )]
    Dependent {
        /// The joint whose pivot vanished.
        joint: usize,
    },
    /// An end was asked for: see [`crate::stop`].
    #[error("stopped")]
    Stopped,
}

/// The operations of a machine in the convex problem (3).
pub(crate) trait Hold {
    /// For efforts `f` of all joints at rest: the change `step` of the efforts of `stuck` (increasing indices) that
    /// makes their accelerations vanish, and `response`, the accelerations of all joints at rest after this change.
    fn hold(
        &mut self,
        stuck: &[usize],
        f: &[f64],
        step: &mut [f64],
        response: &mut [Response],
    ) -> Result<(), ModeError>;

    /// Newton step of the interior-point method, (5) and (6) of `interior`: Δf into `step` and a⁺ into `a`. Joints
    /// with Θ = ∞ are locked. Unless Θ `is_new`, the factorisation of the previous call is used again.
    fn newton(
        &mut self,
        theta: &[f64],
        f: &[f64],
        g: &[f64],
        step: &mut [f64],
        a: &mut [f64],
        is_new: bool,
    ) -> Result<(), ModeError>;
}

/// Response of a joint at rest to its effort.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Response {
    /// Its acceleration.
    pub acceleration: f64,
    /// Magnitude of the terms of the difference that it is.
    pub size: f64,
    /// Effort per acceleration, the other joints free: decides which of several joints is caught first.
    pub inertia: f64,
}

/// The operations with W given.
struct Dense<'a> {
    rest: &'a AtRest<'a>,
    /// Factors of W_SS, see [`factorise`]; n × n.
    factor: &'a mut [f64],
}

impl Hold for Dense<'_> {
    fn hold(
        &mut self,
        stuck: &[usize],
        f: &[f64],
        step: &mut [f64],
        response: &mut [Response],
    ) -> Result<(), ModeError> {
        let (m, n, w) = (stuck.len(), f.len(), self.rest.delassus);
        factorise(m, self.factor, |r, c| w[stuck[r] * n + stuck[c]])
            .map_err(|k| ModeError::Dependent { joint: stuck[k] })?;
        for (step, &i) in step.iter_mut().zip(stuck) {
            *step = acceleration(self.rest, f, i).0;
        }
        solve_factorised(m, self.factor, &mut step[..m]);
        for (i, response) in response.iter_mut().enumerate() {
            let (mut a, mut size) = acceleration(self.rest, f, i);
            for (step, &j) in step.iter().zip(stuck) {
                let term = w[i * n + j] * step;
                a -= term;
                size += term.abs();
            }
            *response = Response { acceleration: a, size, inertia: 1.0 / w[i * n + i] };
        }
        Ok(())
    }

    /// (1 + √Θ W √Θ) y = √Θ (a₀ − W f − g), Δf = √Θ y; locked joints have W itself.
    fn newton(
        &mut self,
        theta: &[f64],
        f: &[f64],
        g: &[f64],
        step: &mut [f64],
        a: &mut [f64],
        is_new: bool,
    ) -> Result<(), ModeError> {
        let (n, w) = (f.len(), self.rest.delassus);
        let root = |i: usize| if theta[i].is_finite() { theta[i].sqrt() } else { 1.0 };
        if is_new {
            let own = |i: usize| if theta[i].is_finite() { 1.0 } else { 0.0 };
            let entry = |r: usize, c: usize| root(r) * w[r * n + c] * root(c) + if r == c { own(r) } else { 0.0 };
            factorise(n, self.factor, entry).map_err(|joint| ModeError::Dependent { joint })?;
        }
        for i in 0..n {
            step[i] = root(i) * (acceleration(self.rest, f, i).0 - g[i]);
        }
        solve_factorised(n, self.factor, step);
        (0..n).for_each(|i| step[i] *= root(i));
        for i in 0..n {
            let change = dot(&w[i * n..(i + 1) * n], step);
            a[i] = if theta[i].is_finite() { acceleration(self.rest, f, i).0 - change } else { 0.0 };
        }
        Ok(())
    }
}

/// Status of a joint in the active-set method.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    /// Stuck: a = 0, f unknown.
    Stuck,
    /// At its limit on this side, ±1: f given.
    AtLimit(f64),
}

/// Up to this number of contacts, matrices over them (2 MB) are allocated at the start; larger ones when contacts
/// come to rest.
pub(crate) const MAX_EAGER: usize = 512;

/// Scratch for [`select`] and [`delassus`]; grows to the largest n seen and is reused.
#[derive(Debug, Clone, Default)]
pub struct ModeWork {
    selection: Selection,
    /// Limits of (3): infinite for joints that stick without limits; n.
    limit: Vec<Levels>,
    /// Direction (±1) of motion of a dropped joint, or of one at its event; 0 for all others; n.
    leaving: Vec<f64>,
    /// Status of each joint; n.
    hold: Vec<Side>,
    /// Joints that change sides in a common exchange, or marginal joints; n.
    marked: Vec<bool>,
    /// Number of catches of each joint in this convex problem; n.
    catches: Vec<i32>,
    /// Accelerations at the efforts found last; n.
    response: Vec<Response>,
    /// Indices of the stuck joints, increasing.
    stuck: Vec<usize>,
    /// Residual a_S, then the change of f_S that makes it vanish; n.
    step: Vec<f64>,
    /// Factors of a matrix; n × n.
    factor: Vec<f64>,
    /// Whether limits do not depend on reactions: see [`Levelled`].
    has_given_limits: bool,
    interior: Interior,
}

impl ModeWork {
    /// Scratch for `n` joints at rest; matrices only up to `MAX_EAGER` joints, so that steps of such machines
    /// allocate nothing.
    pub fn new(n: usize) -> ModeWork {
        let mut work = ModeWork::default();
        work.resize(n);
        if n <= MAX_EAGER {
            work.factor.resize(n * n, 0.0);
        }
        work
    }

    /// The last selection.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    fn resize(&mut self, n: usize) {
        self.selection.mode.resize(n, Mode::Stuck);
        self.selection.friction.resize(n, 0.0);
        self.selection.acceleration.resize(n, 0.0);
        self.limit.resize(n, [0.0; 2]);
        self.leaving.resize(n, 0.0);
        self.hold.resize(n, Side::Stuck);
        self.marked.resize(n, false);
        self.catches.resize(n, 0);
        self.response.resize(n, Response::default());
        self.stuck.clear();
        self.stuck.reserve(n);
        self.step.resize(n, 0.0);
        if n > MANY {
            self.interior.resize(n);
        }
    }

    /// Reduces the joint's limit to its sliding level; the joint moves in the direction of the friction that was
    /// exceeded.
    fn drop_joint(&mut self, rest: &Levelled, i: usize) {
        self.leaving[i] = Mode::of_sign(self.selection.friction[i]).direction();
        // with equal levels the limit is in force already
        if self.holds(i) {
            self.limit[i] = rest.kinetic[i];
            // a joint without effort is at no limit, even if the event names it
            if self.leaving[i] != 0.0 || self.limit[i] == [0.0; 2] {
                self.selection.friction[i] = self.leaving[i] * level(rest.kinetic[i], self.leaving[i]);
                self.hold[i] = Side::AtLimit(if self.leaving[i] < 0.0 { -1.0 } else { 1.0 });
            }
        }
    }

    /// Whether a joint sticks without limits.
    fn holds(&self, i: usize) -> bool {
        self.limit[i][0].is_infinite()
    }

    /// |f|/stiction.
    fn ratio(&self, rest: &Levelled, i: usize) -> f64 {
        let f = self.selection.friction[i];
        f.abs() / level(rest.stiction[i], f)
    }
}

/// Selects the modes of all joints at rest by the rule of the module. Arrays of different lengths are refused, with
/// the first joint that is missing from one of them.
pub fn select<'w>(rest: &AtRest, work: &'w mut ModeWork) -> Result<&'w Selection, ModeError> {
    let n = rest.free_acceleration.len();
    let rows = rest.delassus.len().checked_div(n).unwrap_or(0);
    let lengths = [rows, rest.stiction.len(), rest.kinetic.len()];
    if rest.delassus.len() != n * n || lengths != [n; 3] {
        return Err(ModeError::Unusable { joint: lengths.into_iter().fold(n, usize::min) });
    }
    let is_finite = |i: usize| {
        let row = &rest.delassus[i * n..(i + 1) * n];
        rest.free_acceleration[i].is_finite() && row.iter().all(|w| w.is_finite())
    };
    if let Some(joint) = (0..n).find(|&i| !is_finite(i)) {
        return Err(ModeError::Unusable { joint });
    }
    let mut factor = std::mem::take(&mut work.factor);
    factor.resize(factor.len().max(n * n), 0.0);
    let AtRest { stiction, kinetic, breaking, .. } = *rest;
    let limits = Levelled { stiction, kinetic, breaking, are_given: true };
    let result = select_with(&limits, work, &mut Dense { rest, factor: &mut factor }).map(|_| ());
    work.factor = factor;
    result.map(|()| &work.selection)
}

/// Limits of the joints at rest, and the event: see [`AtRest`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levelled<'a> {
    pub stiction: &'a [Levels],
    pub kinetic: &'a [Levels],
    pub breaking: &'a [usize],
    /// Whether limits are given, and not estimates from reactions. Far from its ends a long chain has accelerations
    /// and reactions that vanish together: such limits are rounding errors, and so is the solution of the
    /// interior-point method.
    pub are_given: bool,
}

/// [`select`] for any machine.
pub(crate) fn select_with<'w, H: Hold>(
    rest: &Levelled,
    work: &'w mut ModeWork,
    machine: &mut H,
) -> Result<&'w Selection, ModeError> {
    let n = rest.stiction.len();
    if let Some(&joint) = rest.breaking.iter().find(|&&joint| joint >= n) {
        return Err(ModeError::Unusable { joint });
    }
    if let Some(joint) = (0..n).find(|&i| !is_usable(rest, i)) {
        return Err(ModeError::Unusable { joint });
    }
    work.resize(n);
    work.has_given_limits = rest.are_given;
    work.selection.n_problems = 0;
    work.selection.n_factor = 0;

    // 1. all joints stick without limits; equal levels are limits from the beginning
    for i in 0..n {
        let is_equal = (0..2).all(|side| rest.stiction[i][side] <= rest.kinetic[i][side] * (1.0 + ROUNDING));
        work.limit[i] = if is_equal { rest.kinetic[i] } else { [f64::INFINITY; 2] };
        work.leaving[i] = 0.0;
        work.hold[i] = if work.limit[i] == [0.0; 2] { Side::AtLimit(1.0) } else { Side::Stuck };
        work.selection.friction[i] = 0.0;
    }
    solve_convex(work, machine)?;

    // 2. the event's joint drops first, and 4. joints with equal ratios; `step` has the ratios before any of them drops
    if !rest.breaking.is_empty() {
        for i in 0..n {
            work.step[i] = work.ratio(rest, i);
        }
        for i in 0..n {
            if rest.breaking.iter().any(|&e| i == e || (work.step[i] - work.step[e]).abs() <= EQUAL) {
                work.drop_joint(rest, i);
            }
        }
        solve_convex(work, machine)?;
    }

    // 3. the largest violation drops, and 4. joints with equal ratios
    loop {
        let worst = (0..n).filter(|&i| work.holds(i)).map(|i| work.ratio(rest, i)).fold(0.0, f64::max);
        if worst <= 1.0 + EQUAL {
            break;
        }
        for i in 0..n {
            if work.holds(i) && work.ratio(rest, i) >= worst * (1.0 - EQUAL) {
                work.drop_joint(rest, i);
            }
        }
        solve_convex(work, machine)?;
    }

    // 5., 6. modes, all from the same efforts
    for i in 0..n {
        choose_mode(work, i);
    }
    Ok(&work.selection)
}

/// Whether the limits are finite and in order.
fn is_usable(rest: &Levelled, i: usize) -> bool {
    let (kinetic, stiction) = (rest.kinetic[i], rest.stiction[i]);
    (0..2).all(|side| stiction[side].is_finite() && (0.0..=stiction[side] * (1.0 + ROUNDING)).contains(&kinetic[side]))
}

/// (1) for one joint: its acceleration, and the magnitude of its terms.
fn acceleration(rest: &AtRest, f: &[f64], i: usize) -> (f64, f64) {
    let (mut a, mut size) = (rest.free_acceleration[i], rest.free_acceleration[i].abs());
    for (w, f) in rest.delassus[i * f.len()..].iter().zip(f) {
        a -= w * f;
        size += (w * f).abs();
    }
    (a, size)
}

impl ModeWork {
    /// Rounding error of an effort at its limit.
    fn tolerance(&self, i: usize) -> f64 {
        EQUAL * self.limit[i][0].max(self.limit[i][1])
    }

    /// Whether `f` exceeds the limit of a stuck joint.
    fn is_beyond(&self, i: usize, f: f64) -> bool {
        f.abs() > level(self.limit[i], f) + self.tolerance(i)
    }

    /// Efforts and accelerations with the stuck joints of `hold`; `step` is the change of the efforts.
    fn hold_stuck<H: Hold>(&mut self, machine: &mut H) -> Result<(), ModeError> {
        if crate::stop::is_asked() {
            return Err(ModeError::Stopped);
        }
        self.stuck.clear();
        self.stuck.extend((0..self.hold.len()).filter(|&i| self.hold[i] == Side::Stuck));
        self.selection.n_factor += 1;
        machine.hold(&self.stuck, &self.selection.friction, &mut self.step, &mut self.response)
    }

    /// The fraction of its step that takes stuck joint number `k` to its limit, if the whole step would exceed it.
    fn reach(&self, k: usize) -> Option<f64> {
        let (i, step) = (self.stuck[k], self.step[k]);
        let f = self.selection.friction[i];
        let room = level(self.limit[i], step) - f * step.signum();
        self.is_beyond(i, f + step).then(|| room.max(0.0) / step.abs())
    }

    /// Sets a joint to the limit on the side of `sign`.
    fn release(&mut self, i: usize, sign: f64) {
        self.selection.friction[i] = sign.signum() * level(self.limit[i], sign);
        self.hold[i] = Side::AtLimit(sign.signum());
    }

    /// The acceleration of a joint at its limit against its own friction, if it is more than rounding.
    fn wrong_way(&self, i: usize) -> Option<f64> {
        let Side::AtLimit(side) = self.hold[i] else { return None };
        let wrong = -self.response[i].acceleration * side;
        let repeated = (self.catches[i] - FEW_CATCHES).max(0);
        let is_wrong = self.limit[i] != [0.0; 2] && wrong > ROUNDING * self.response[i].size * 2.0_f64.powi(repeated);
        is_wrong.then_some(wrong)
    }
}

/// Exchanges all joints on the wrong side at once, while their number decreases: a few factorisations decide many
/// joints. Returns whether none is left on the wrong side.
fn exchange_all<H: Hold>(work: &mut ModeWork, machine: &mut H) -> Result<bool, ModeError> {
    let n = work.hold.len();
    let (mut fewest, mut patience) = (usize::MAX, 3);
    for _ in 0..MAX_EXCHANGES {
        work.hold_stuck(machine)?;
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
fn solve_convex<H: Hold>(work: &mut ModeWork, machine: &mut H) -> Result<(), ModeError> {
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
fn exchange_one_by_one<H: Hold>(work: &mut ModeWork, machine: &mut H, max_rounds: usize) -> Result<bool, ModeError> {
    let n = work.hold.len();
    work.catches.fill(0);
    work.marked.fill(false);
    // the joint caught in the round before, and its former side
    let mut caught: Option<(usize, f64)> = None;
    for _ in 0..max_rounds {
        work.hold_stuck(machine)?;

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
fn choose_mode(work: &mut ModeWork, i: usize) {
    let f = work.selection.friction[i];
    let Response { acceleration: a, size, .. } = work.response[i];
    let (limit, leaving) = (work.limit[i], work.leaving[i]);
    let (direction, a) = match work.hold[i] {
        // an event located a little early, or a joint that sticks again at once
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

/// W of (1) from the mass matrix of the whole machine (n × n, row by row): the rows and columns `at_rest` of its
/// inverse, into `out`. Joints not listed are free.
pub fn delassus(
    mass_matrix: &[f64],
    n: usize,
    at_rest: &[usize],
    work: &mut ModeWork,
    out: &mut [f64],
) -> Result<(), ModeError> {
    work.resize(n.max(at_rest.len()));
    let factor = &mut work.factor;
    factor.resize(factor.len().max(n * n), 0.0);
    factorise(n, factor, |r, c| mass_matrix[r * n + c]).map_err(|joint| ModeError::Dependent { joint })?;
    for (c, &j) in at_rest.iter().enumerate() {
        let column = &mut work.step[..n];
        column.fill(0.0);
        column[j] = 1.0;
        solve_factorised(n, factor, column);
        for (r, &i) in at_rest.iter().enumerate() {
            out[r * at_rest.len() + c] = column[i];
        }
    }
    Ok(())
}

/// A = L D Lᵀ for a symmetric m × m matrix given by its entries: L below the diagonal, D on it, row by row. There are
/// no square roots, so that one division decides a single joint. The error is the row whose pivot vanishes.
pub(crate) fn factorise(m: usize, l: &mut [f64], a: impl Fn(usize, usize) -> f64) -> Result<(), usize> {
    for r in 0..m {
        let diagonal = a(r, r);
        let mut pivot = diagonal;
        // row r of L D, then of L
        for c in 0..r {
            l[r * m + c] = a(r, c) - dot(&l[r * m..r * m + c], &l[c * m..c * m + c]);
        }
        for c in 0..r {
            let entry = l[r * m + c] / l[c * m + c];
            pivot -= entry * l[r * m + c];
            l[r * m + c] = entry;
        }
        // rounding error of this pivot, a sum of r terms
        if pivot.is_nan() || pivot <= 4.0 * (r + 1) as f64 * f64::EPSILON * diagonal.abs() {
            return Err(r);
        }
        l[r * m + r] = pivot;
    }
    Ok(())
}

/// Σ aᵢ bᵢ; long ones in four independent sums, for pipelining.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours_a, fours_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours_a.remainder().iter().zip(fours_b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours_a.zip(fours_b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Solves L D Lᵀ x = b in place.
pub(crate) fn solve_factorised(m: usize, l: &[f64], x: &mut [f64]) {
    for r in 0..m {
        let dot: f64 = (0..r).map(|c| l[r * m + c] * x[c]).sum();
        x[r] -= dot;
    }
    for r in (0..m).rev() {
        let dot: f64 = (r + 1..m).map(|k| l[k * m + r] * x[k]).sum();
        x[r] = x[r] / l[r * m + r] - dot;
    }
}

#[cfg(test)]
mod tests;

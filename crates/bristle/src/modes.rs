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
//! **Stops.** The level against motion into a closed stop is infinite: 0 ≤ λ ⊥ a ≥ 0 is (2) with such a level. The
//! joint can only leave in the other direction.
//!
//! Dropped joints never regain their stiction, so there are at most n + 1 problems (3). A joint with zero limits
//! never sticks.
//!
//! This module works on arrays only: names, loads and time belong to the caller.

mod dense;
mod exchange;
mod interior;

use bristle_friction::Mode;
use dense::Dense;
pub use dense::delassus;
pub(crate) use dense::{factorise, solve_factorised};
use exchange::{choose_mode, solve_convex};
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
pub(crate) trait RestDynamics {
    /// For efforts `f` of all joints at rest: the change `step` of the efforts of `stuck` (increasing indices) that
    /// makes their accelerations vanish, and `response`, the accelerations of all joints at rest after this change.
    fn lock_stuck(
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
        self.leaving[i] = match rest.stiction[i] {
            [up, f64::INFINITY] if up.is_finite() => 1.0,
            [f64::INFINITY, down] if down.is_finite() => -1.0,
            _ => Mode::of_sign(self.selection.friction[i]).direction(),
        };
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
        self.limit[i] == [f64::INFINITY; 2]
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
pub(crate) fn select_with<'w, H: RestDynamics>(
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
    // the path of the interior-point method has two finite limits, or none
    let is_one_sided = |levels: &Levels| levels[0].is_finite() != levels[1].is_finite();
    work.has_given_limits = rest.are_given && !rest.stiction.iter().any(is_one_sided);
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
    let is_stop = |side: usize| stiction[side] == f64::INFINITY && kinetic[side] == f64::INFINITY;
    let is_finite = |side: usize| stiction[side].is_finite();
    (0..2).all(|side| {
        is_stop(side) || is_finite(side) && (0.0..=stiction[side] * (1.0 + ROUNDING)).contains(&kinetic[side])
    }) && (is_finite(0) || is_finite(1))
}

#[cfg(test)]
mod tests;

//! Which joints stick and which slip, chosen together for all joints at rest.
//!
//! Joints at rest with friction efforts f accelerate by
//!
//! ```text
//! a = a₀ − W f                                                               (1)
//! ```
//!
//! a₀ being their accelerations without friction of their own and W (Delassus matrix: acceleration of one per unit effort at
//! another, symmetric, positive definite) what is left of the machine when all joints in motion are free to follow. Wanted are
//! f, a and modes with
//!
//! ```text
//! stuck:     a = 0,  |f| ≤ stiction
//! forward:   a ≥ 0,   f = +kinetic                                           (2)
//! backward:  a ≤ 0,   f = −kinetic
//! ```
//!
//! **Equal levels.** With stiction = kinetic =: ℓ, (1) and (2) are the optimality conditions of a strictly convex problem,
//! min ½(a−a₀)ᵀW⁻¹(a−a₀) + Σ ℓ|a|, or in the efforts
//!
//! ```text
//! min ½ fᵀW f − a₀ᵀf    subject to  −ℓ ≤ f ≤ ℓ                               (3)
//! ```
//!
//! with one solution. It is found by an active-set method, exact and finite: the efforts of the stuck joints solve W_SS f_S = a₀_S −
//! W_SB f_B; a step towards them ends at the first limit it meets, where the joint lets go; a joint at its limit that
//! accelerates the wrong way is caught again. Each round lowers (3), so no set of stuck joints comes back. Many joints are first
//! exchanged all at once as long as that helps. The efforts of the stuck joints come from a factorisation of W_SS, O(n³) in each
//! round, or from whoever knows the machine: in a tree, two sweeps with these joints locked, O(n).
//!
//! **Stiction above the sliding level** has several answers in general. The selection rule:
//!
//! 1. All joints hold, whatever it takes, except that those with equal levels obey (3) from the beginning.
//! 2. The joint whose break-away is the event drops first: its limit in (3) becomes its sliding level.
//! 3. Solve (3). Of the joints that hold more than their stiction the one with the largest |f|/stiction drops. Repeat.
//! 4. Ratios that are equal up to rounding drop together, also with the event's joint: mirror images stay mirror images.
//! 5. A dropped joint leaves against the friction that could not hold it, even if its acceleration is zero at this instant;
//!    if the other drops have unloaded it to less than its sliding level it stays.
//! 6. Without an event a joint exactly at its limit holds.
//!
//! Levels may differ by direction (a one-way clutch): those of f > 0 and of f < 0 are given apart, and every limit above is that of the
//! direction in which f acts.
//!
//! Dropped joints are never raised again, so there are at most n + 1 problems (3). A joint without any limit never sticks.
//!
//! Only arrays here: names, loads and time belong to the caller.

use bristle_friction::Mode;
use thiserror::Error;

/// Ratios |f|/stiction closer than this are equal: to one another a tie, to 1 a joint that holds. Rounding in f is 1e-16 times the
/// condition of W, which is 1e4 to 1e6 for arms and chains; what matters is not decided in the tenth digit.
const EQUAL: f64 = 1e-10;

/// Accelerations smaller than this, relative to the terms they are the difference of, are none; levels that differ by less are equal.
const ROUNDING: f64 = 1e-12;

/// How precisely the caller locates events, relative to the limit: a joint said to break away has reached its limit up to this.
const LOCATED: f64 = 1e-6;

/// A level against forward motion (f > 0) and one against backward motion (f < 0).
pub type Levels = [f64; 2];

/// The level of the direction in which `f` acts.
fn level(levels: Levels, f: f64) -> f64 {
    levels[usize::from(f < 0.0)]
}

/// More joints than this are first exchanged together, in so many rounds at most.
pub(crate) const MANY: usize = 16;
const MOST_EXCHANGES: usize = 40;

/// The joints at rest, n of them. Efforts are N·m or N, loads and lever arms included.
#[derive(Debug, Clone, Copy)]
pub struct AtRest<'a> {
    /// W of (1), row by row; n × n, symmetric positive definite.
    pub delassus: &'a [f64],
    /// a₀ of (1); n.
    pub free_acceleration: &'a [f64],
    /// Efforts that stuck joints can hold, against forward and against backward motion; n.
    pub stiction: &'a [Levels],
    /// Friction efforts just after break-away, at most the stiction; n.
    pub kinetic: &'a [Levels],
    /// The joints whose break-away is the event, if it is one. Empty at the start and when a joint comes to rest.
    pub breaking: &'a [usize],
}

/// Filled by [`select`].
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Chosen modes; n.
    pub mode: Vec<Mode>,
    /// Friction efforts f, positive against forward motion; n.
    pub friction: Vec<f64>,
    /// Accelerations a; exactly 0 where stuck; n.
    pub acceleration: Vec<f64>,
    /// How many convex problems were solved.
    pub n_problems: usize,
    /// How often efforts that hold were asked for in that: factorisations, or sweeps.
    pub n_factor: usize,
}

/// Why no modes could be chosen. `joint` is an index into the arrays of [`AtRest`].
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum ModeError {
    /// A number is not finite, a limit is negative, or the sliding level exceeds the stiction.
    #[error("joint {joint} at rest: accelerations and limits must be finite, with 0 ≤ kinetic ≤ stiction")]
    Unusable {
        /// The joint it belongs to.
        joint: usize,
    },
    /// W has a vanishing pivot: the joint is locked already by those before it, or W is not a Delassus matrix.
    #[error(
        "joint {joint} at rest: its acceleration is decided by the other joints' (Delassus matrix not positive definite)"
    )]
    Dependent {
        /// The joint whose pivot vanished.
        joint: usize,
    },
    /// The exchange of stuck and slipping joints did not end.
    #[error("joint {joint} at rest: it changes between sticking and slipping without end")]
    Cycle {
        /// The joint exchanged last.
        joint: usize,
    },
}

/// What it takes to hold joints.
pub(crate) trait Hold {
    /// The change of the efforts of `stuck` (increasing indices) that makes their accelerations vanish, `f` being all efforts.
    fn hold(&mut self, rest: &AtRest, stuck: &[usize], f: &[f64], step: &mut [f64]) -> Result<(), ModeError>;
}

/// From W alone.
#[derive(Debug, Clone, Default)]
struct Dense {
    /// Factors of W_SS, see [`factorise`]; n × n.
    factor: Vec<f64>,
}

impl Hold for Dense {
    fn hold(&mut self, rest: &AtRest, stuck: &[usize], f: &[f64], step: &mut [f64]) -> Result<(), ModeError> {
        let (m, n) = (stuck.len(), f.len());
        factorise(m, &mut self.factor, |r, c| rest.delassus[stuck[r] * n + stuck[c]])
            .map_err(|k| ModeError::Dependent { joint: stuck[k] })?;
        for (step, &i) in step.iter_mut().zip(stuck) {
            *step = acceleration(rest, f, i).0;
        }
        solve_factorised(m, &self.factor, &mut step[..m]);
        Ok(())
    }
}

/// What the active-set method knows of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    /// Held: a = 0, f unknown.
    Stuck,
    /// At its limit, f given: on this side, ±1.
    AtLimit(f64),
}

/// Scratch for [`select`] and [`delassus`]; grows to the largest n seen and is reused.
#[derive(Debug, Clone, Default)]
pub struct ModeWork {
    selection: Selection,
    /// Limits of (3): infinite for joints that hold whatever it takes; n.
    limit: Vec<Levels>,
    /// Direction (±1) in which a dropped joint, or one at its event, leaves; 0 for all others; n.
    leaving: Vec<f64>,
    /// n.
    hold: Vec<Side>,
    /// Who changes sides; n.
    leaves: Vec<bool>,
    /// Indices of the stuck joints, increasing.
    stuck: Vec<usize>,
    /// Residual a_S, then the change of f_S that makes it vanish; n.
    step: Vec<f64>,
    dense: Dense,
}

impl ModeWork {
    /// Room for `n` joints at rest.
    pub fn new(n: usize) -> ModeWork {
        let mut work = ModeWork::default();
        work.resize(n);
        work.dense.factor.resize(n * n, 0.0);
        work
    }

    /// What was chosen last.
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
        self.leaves.resize(n, false);
        self.stuck.clear();
        self.stuck.reserve(n);
        self.step.resize(n, 0.0);
    }

    /// The joint's limit becomes its sliding level; it leaves in the direction of the friction that could not hold it.
    fn drop_joint(&mut self, rest: &AtRest, i: usize) {
        self.leaving[i] = Mode::of_sign(self.selection.friction[i]).direction();
        // with equal levels the limit is in force already
        if self.holds(i) {
            self.limit[i] = rest.kinetic[i];
            // a joint that carries nothing is at no limit, whatever the caller says
            if self.leaving[i] != 0.0 || self.limit[i] == [0.0; 2] {
                self.selection.friction[i] = self.leaving[i] * level(rest.kinetic[i], self.leaving[i]);
                self.hold[i] = Side::AtLimit(if self.leaving[i] < 0.0 { -1.0 } else { 1.0 });
            }
        }
    }

    /// Whether a joint holds, whatever it takes.
    fn holds(&self, i: usize) -> bool {
        self.limit[i][0].is_infinite()
    }

    /// |f|/stiction.
    fn ratio(&self, rest: &AtRest, i: usize) -> f64 {
        let f = self.selection.friction[i];
        f.abs() / level(rest.stiction[i], f)
    }
}

/// Chooses the modes of all joints at rest by the rule above. Arrays that differ in length are refused, with the first joint that is
/// missing from one of them.
pub fn select<'w>(rest: &AtRest, work: &'w mut ModeWork) -> Result<&'w Selection, ModeError> {
    let mut dense = std::mem::take(&mut work.dense);
    dense.factor.resize(rest.free_acceleration.len() * rest.free_acceleration.len(), 0.0);
    let result = select_with(rest, work, &mut dense).map(|_| ());
    work.dense = dense;
    result.map(|()| &work.selection)
}

/// The same, with another way to find what it takes to hold joints.
pub(crate) fn select_with<'w, H: Hold>(
    rest: &AtRest,
    work: &'w mut ModeWork,
    holding: &mut H,
) -> Result<&'w Selection, ModeError> {
    let n = rest.free_acceleration.len();
    let rows = rest.delassus.len().checked_div(n).unwrap_or(0);
    let lengths = [rows, rest.stiction.len(), rest.kinetic.len()];
    if rest.delassus.len() != n * n || lengths != [n; 3] {
        return Err(ModeError::Unusable { joint: lengths.into_iter().fold(n, usize::min) });
    }
    if let Some(&joint) = rest.breaking.iter().find(|&&joint| joint >= n) {
        return Err(ModeError::Unusable { joint });
    }
    if let Some(joint) = (0..n).find(|&i| !is_usable(rest, i)) {
        return Err(ModeError::Unusable { joint });
    }
    work.resize(n);
    work.selection.n_problems = 0;
    work.selection.n_factor = 0;

    // 1. all hold, whatever it takes; equal levels are limits from the beginning
    for i in 0..n {
        let is_equal = (0..2).all(|side| rest.stiction[i][side] <= rest.kinetic[i][side] * (1.0 + ROUNDING));
        work.limit[i] = if is_equal { rest.kinetic[i] } else { [f64::INFINITY; 2] };
        work.leaving[i] = 0.0;
        work.hold[i] = if work.limit[i] == [0.0; 2] { Side::AtLimit(1.0) } else { Side::Stuck };
        work.selection.friction[i] = 0.0;
    }
    solve_convex(rest, work, holding)?;

    // 2. the event's joint drops first, and 4. whatever ties with it; `step` keeps the ratios before any of them drops
    if !rest.breaking.is_empty() {
        for i in 0..n {
            work.step[i] = work.ratio(rest, i);
        }
        for i in 0..n {
            if rest.breaking.iter().any(|&e| i == e || (work.step[i] - work.step[e]).abs() <= EQUAL) {
                work.drop_joint(rest, i);
            }
        }
        solve_convex(rest, work, holding)?;
    }

    // 3. the largest violation drops, and 4. whatever ties with it
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
        solve_convex(rest, work, holding)?;
    }

    // 5., 6. modes, all from the same efforts; `step` keeps the sizes of the terms
    for i in 0..n {
        (work.selection.acceleration[i], work.step[i]) = acceleration(rest, &work.selection.friction, i);
    }
    for i in 0..n {
        choose_mode(work, i);
    }
    Ok(&work.selection)
}

/// Finite numbers and limits in order.
fn is_usable(rest: &AtRest, i: usize) -> bool {
    let n = rest.free_acceleration.len();
    let (kinetic, stiction) = (rest.kinetic[i], rest.stiction[i]);
    rest.free_acceleration[i].is_finite()
        && rest.delassus[i * n..(i + 1) * n].iter().all(|w| w.is_finite())
        && (0..2).all(|side| {
            stiction[side].is_finite() && (0.0..=stiction[side] * (1.0 + ROUNDING)).contains(&kinetic[side])
        })
}

/// (1) for one joint: its acceleration, and the size of the terms of which that is the difference.
fn acceleration(rest: &AtRest, f: &[f64], i: usize) -> (f64, f64) {
    let (mut a, mut size) = (rest.free_acceleration[i], rest.free_acceleration[i].abs());
    for (w, f) in rest.delassus[i * f.len()..].iter().zip(f) {
        a -= w * f;
        size += (w * f).abs();
    }
    (a, size)
}

/// Exchanges all joints that are on the wrong side at once, while that leaves fewer of them: many joints are settled in a few
/// factorisations. Where it does not get to the end the exchange one by one goes on from there.
fn exchange_all<H: Hold>(rest: &AtRest, work: &mut ModeWork, holding: &mut H) -> Result<(), ModeError> {
    let n = rest.free_acceleration.len();
    let (mut fewest, mut patience) = (usize::MAX, 3);
    for _ in 0..MOST_EXCHANGES {
        work.stuck.clear();
        work.stuck.extend((0..n).filter(|&i| work.hold[i] == Side::Stuck));
        let (stuck, f) = (&work.stuck, &mut work.selection.friction);
        work.selection.n_factor += 1;
        holding.hold(rest, stuck, f, &mut work.step)?;
        stuck.iter().zip(&work.step).for_each(|(&i, step)| f[i] += step);

        let mut wrong = 0;
        for i in 0..n {
            match work.hold[i] {
                Side::Stuck if f[i].abs() > level(work.limit[i], f[i]) => {
                    wrong += 1;
                    work.leaves[i] = true;
                }
                Side::AtLimit(side) if work.limit[i] != [0.0; 2] => {
                    let (a, size) = acceleration(rest, f, i);
                    work.leaves[i] = -a * side > ROUNDING * size;
                    wrong += usize::from(work.leaves[i]);
                }
                _ => work.leaves[i] = false,
            }
        }
        if wrong < fewest {
            (fewest, patience) = (wrong, 3);
        } else if patience == 0 {
            break;
        } else {
            patience -= 1;
        }
        for i in (0..n).filter(|_| wrong > 0) {
            if !std::mem::take(&mut work.leaves[i]) {
                continue;
            }
            work.hold[i] = match work.hold[i] {
                Side::Stuck => {
                    let side = f[i].signum();
                    f[i] = side * level(work.limit[i], side);
                    Side::AtLimit(side)
                }
                Side::AtLimit(_) => Side::Stuck,
            };
        }
        if wrong == 0 {
            break;
        }
    }
    // whoever holds more than its limit is at it: the exchange one by one starts inside
    for i in 0..n {
        let f = &mut work.selection.friction[i];
        if work.hold[i] == Side::Stuck && f.abs() > level(work.limit[i], *f) {
            let side = f.signum();
            *f = side * level(work.limit[i], side);
            work.hold[i] = Side::AtLimit(side);
        }
    }
    Ok(())
}

/// Solves (3) with `work.limit` by the active-set method, starting from the efforts and holds in `work`.
fn solve_convex<H: Hold>(rest: &AtRest, work: &mut ModeWork, holding: &mut H) -> Result<(), ModeError> {
    let n = rest.free_acceleration.len();
    work.selection.n_problems += 1;
    if n > MANY {
        exchange_all(rest, work, holding)?;
    }
    // a joint is exchanged once or twice as a rule; should rounding send them in circles, the lowest index breaks the pattern
    let (patience, end) = (10 + 10 * n, 100 + 100 * n);
    let mut last = 0;
    for round in 0..end {
        let f = &mut work.selection.friction;

        // stuck joints: the change of their efforts that makes their accelerations vanish
        work.stuck.clear();
        work.stuck.extend((0..n).filter(|&i| work.hold[i] == Side::Stuck));
        let stuck = &work.stuck;
        work.selection.n_factor += 1;
        holding.hold(rest, stuck, f, &mut work.step)?;

        // go there, but not beyond the first limit; who meets it lets go
        let reach = |limit: Levels, f: f64, step: f64| (level(limit, step) - f * step.signum()).max(0.0) / step.abs();
        let share =
            stuck.iter().zip(&work.step).map(|(&i, &step)| reach(work.limit[i], f[i], step)).fold(1.0, f64::min);
        if share < 1.0 {
            for (&i, &step) in stuck.iter().zip(&work.step) {
                if reach(work.limit[i], f[i], step) <= share {
                    f[i] = level(work.limit[i], step) * step.signum();
                    work.hold[i] = Side::AtLimit(step.signum());
                    last = i;
                } else {
                    f[i] += share * step;
                }
            }
            continue;
        }
        for (step, &i) in work.step.iter().zip(stuck) {
            f[i] += step;
        }

        // joints at their limits: the one that most accelerates the wrong way is caught
        let mut caught = None;
        let mut most = 0.0;
        for i in (0..n).filter(|&i| work.limit[i] != [0.0; 2]) {
            let Side::AtLimit(side) = work.hold[i] else { continue };
            let (a, size) = acceleration(rest, f, i);
            let wrong = -a * side;
            // what catching it alone would take off (3)
            let gain = wrong * wrong / rest.delassus[i * n + i];
            if wrong > ROUNDING * size && (gain > most || !gain.is_finite()) {
                (caught, most) = (Some(i), gain);
                if round > patience {
                    break;
                }
            }
        }
        let Some(i) = caught else { return Ok(()) };
        work.hold[i] = Side::Stuck;
        last = i;
    }
    Err(ModeError::Cycle { joint: last })
}

/// Mode, final effort and acceleration of one joint, from the solution of the last convex problem.
fn choose_mode(work: &mut ModeWork, i: usize) {
    let (f, a, size) = (work.selection.friction[i], work.selection.acceleration[i], work.step[i]);
    let (limit, leaving) = (work.limit[i], work.leaving[i]);
    let (direction, a) = match work.hold[i] {
        // a break-away located a little early, or caught on the spot
        Side::Stuck if leaving != 0.0 && f.abs() >= level(limit, f) * (1.0 - LOCATED) => (f.signum(), 0.0),
        Side::Stuck => (0.0, 0.0),
        Side::AtLimit(side) => {
            let moves = a.abs() > ROUNDING * size;
            let direction = if limit != [0.0; 2] {
                side
            } else if moves {
                a.signum()
            } else if leaving != 0.0 {
                leaving
            } else {
                1.0
            };
            // at the limit without moving: stays unless it was told to leave
            if moves || leaving != 0.0 || limit == [0.0; 2] {
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

/// W of (1) from the mass matrix of the whole machine (n × n, row by row): the rows and columns `at_rest` of its inverse, into
/// `out`. Joints not listed are free to follow.
pub fn delassus(
    mass_matrix: &[f64],
    n: usize,
    at_rest: &[usize],
    work: &mut ModeWork,
    out: &mut [f64],
) -> Result<(), ModeError> {
    work.resize(n.max(at_rest.len()));
    let factor = &mut work.dense.factor;
    factor.resize(n * n, 0.0);
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

/// A = L D Lᵀ for a symmetric m × m matrix given by its entries: L below the diagonal, D on it, row by row. No square roots, so
/// that one joint alone is decided by one division. Errors with the row whose pivot vanishes.
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
        // rounding in the r terms that leave this pivot
        if pivot.is_nan() || pivot <= 4.0 * (r + 1) as f64 * f64::EPSILON * diagonal.abs() {
            return Err(r);
        }
        l[r * m + r] = pivot;
    }
    Ok(())
}

/// Σ aᵢ bᵢ; long ones in four sums at a time, which need not wait for one another.
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
mod tests {
    use super::*;
    use Mode::{Backward, Forward, Stuck};
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// A problem that owns its arrays.
    #[derive(Debug, Clone)]
    struct Problem {
        w: DMatrix<f64>,
        a0: Vec<f64>,
        stiction: Vec<f64>,
        kinetic: Vec<f64>,
        breaking: Vec<usize>,
    }

    /// The same levels in both directions.
    fn both(levels: &[f64]) -> Vec<Levels> {
        levels.iter().map(|&level| [level; 2]).collect()
    }

    impl Problem {
        fn select(&self) -> Result<Selection, ModeError> {
            let rest = AtRest {
                delassus: self.w.as_slice(),
                free_acceleration: &self.a0,
                stiction: &both(&self.stiction),
                kinetic: &both(&self.kinetic),
                breaking: &self.breaking,
            };
            select(&rest, &mut ModeWork::default()).cloned()
        }

        fn n(&self) -> usize {
            self.a0.len()
        }

        /// a = a₀ − W f.
        fn acceleration(&self, f: &[f64]) -> DVector<f64> {
            DVector::from_column_slice(&self.a0) - &self.w * DVector::from_column_slice(f)
        }

        /// The conditions (2), to `tolerance` of the accelerations without friction and of the limits.
        fn assert_consistent(&self, chosen: &Selection, tolerance: f64) {
            let a = self.acceleration(&chosen.friction);
            let size = self.a0.iter().fold(1e-300, |m: f64, a| m.max(a.abs()));
            for i in 0..self.n() {
                let (f, mode) = (chosen.friction[i], chosen.mode[i]);
                assert!((a[i] - chosen.acceleration[i]).abs() <= tolerance * size, "(1) at {i}: {self:?} {chosen:?}");
                match mode {
                    Stuck => {
                        assert_eq!(chosen.acceleration[i], 0.0);
                        assert!(
                            f.abs() <= self.stiction[i] * (1.0 + tolerance),
                            "{i} holds too much: {self:?} {chosen:?}"
                        );
                    }
                    _ => {
                        assert_eq!(f, mode.direction() * self.kinetic[i]);
                        assert!(chosen.acceleration[i] * mode.direction() >= 0.0, "{i} goes the wrong way");
                    }
                }
            }
        }
    }

    /// Random symmetric positive definite matrix: joints of a machine coupled by `coupling`.
    fn random_delassus(rng: &mut Pcg64, n: usize, coupling: f64) -> DMatrix<f64> {
        let b = DMatrix::from_fn(n, n, |_, _| rng.random_range(-1.0..1.0));
        &b * b.transpose() * (coupling / n as f64) + DMatrix::from_diagonal_element(n, n, rng.random_range(0.05..1.0))
    }

    fn random_problem(rng: &mut Pcg64, n: usize, stiction_over_kinetic: f64) -> Problem {
        let w = random_delassus(rng, n, 3.0);
        let kinetic: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..2.0)).collect();
        let stiction = kinetic.iter().map(|k| k * rng.random_range(1.0..=stiction_over_kinetic)).collect();
        // loads of the size of the limits: some hold, some do not
        let load = DVector::from_fn(n, |_, _| rng.random_range(-2.0..2.0));
        Problem { a0: (&w * load).as_slice().to_vec(), w, stiction, kinetic, breaking: vec![] }
    }

    /// (3) by projected Gauss–Seidel, run until nothing changes any more.
    fn gauss_seidel(w: &DMatrix<f64>, a0: &[f64], limit: &[f64]) -> Vec<f64> {
        let n = a0.len();
        let mut f = vec![0.0; n];
        for _ in 0..200_000 {
            let mut change: f64 = 0.0;
            for i in 0..n {
                let a = a0[i] - (0..n).map(|j| w[(i, j)] * f[j]).sum::<f64>();
                let next = (f[i] + a / w[(i, i)]).clamp(-limit[i], limit[i]);
                change = change.max((next - f[i]).abs());
                f[i] = next;
            }
            if change < 1e-15 {
                break;
            }
        }
        f
    }

    /// All 3ⁿ combinations of modes with equal levels that satisfy (2).
    fn enumerate(p: &Problem) -> Vec<Vec<Mode>> {
        let n = p.n();
        let mut answers = Vec::new();
        for code in 0..3_usize.pow(n as u32) {
            let modes: Vec<Mode> =
                (0..n).map(|i| [Backward, Stuck, Forward][code / 3_usize.pow(i as u32) % 3]).collect();
            // one linear system in (f where stuck, a where slipping)
            let mut matrix = DMatrix::zeros(n, n);
            let mut rhs = DVector::from_column_slice(&p.a0);
            for j in 0..n {
                if modes[j] == Stuck {
                    matrix.set_column(j, &p.w.column(j));
                } else {
                    matrix[(j, j)] = 1.0;
                    rhs -= p.w.column(j) * (modes[j].direction() * p.kinetic[j]);
                }
            }
            let x = matrix.lu().solve(&rhs).unwrap();
            let holds = |i: usize| match modes[i] {
                Stuck => x[i].abs() <= p.kinetic[i],
                slipping => x[i] * slipping.direction() > 0.0,
            };
            if (0..n).all(holds) {
                answers.push(modes);
            }
        }
        answers
    }

    #[test]
    fn thirty_joints_agree_with_an_independent_solution() {
        let mut rng = Pcg64::seed_from_u64(1);
        let mut modes = [0; 3];
        for _ in 0..200 {
            let p = random_problem(&mut rng, 30, 1.0);
            let chosen = p.select().unwrap();
            p.assert_consistent(&chosen, 1e-11);
            let f = gauss_seidel(&p.w, &p.a0, &p.kinetic);
            for i in 0..30 {
                // Gauss–Seidel stops when its steps are 1e-15; the matrix conditions that to some 1e-13
                assert!((chosen.friction[i] - f[i]).abs() < 1e-11, "{i}: {} ≠ {}", chosen.friction[i], f[i]);
                modes[(chosen.mode[i].direction() + 1.0) as usize] += 1;
            }
            assert_eq!(chosen.n_problems, 1);
        }
        // the loads were neither too small nor too large to decide anything
        assert!(modes.iter().all(|&count| count > 1000), "{modes:?}");
    }

    #[test]
    fn few_joints_agree_with_enumeration() {
        let mut rng = Pcg64::seed_from_u64(2);
        for n in 1..=6 {
            for _ in 0..60 {
                let p = random_problem(&mut rng, n, 1.0);
                assert_eq!(enumerate(&p), [p.select().unwrap().mode]);
            }
        }
    }

    #[test]
    fn accelerations_minimise_the_convex_function() {
        // ½(a−a₀)ᵀW⁻¹(a−a₀) + Σ ℓ|a| is no smaller anywhere nearby
        let mut rng = Pcg64::seed_from_u64(3);
        let p = random_problem(&mut rng, 12, 1.0);
        let m = p.w.clone().try_inverse().unwrap();
        let value = |a: &DVector<f64>| {
            let d = a - DVector::from_column_slice(&p.a0);
            0.5 * d.dot(&(&m * &d)) + a.iter().zip(&p.kinetic).map(|(a, l)| l * a.abs()).sum::<f64>()
        };
        let a = DVector::from_column_slice(&p.select().unwrap().acceleration);
        for _ in 0..10_000 {
            let size = 10_f64.powf(rng.random_range(-5.0..0.5));
            let other = &a + DVector::from_fn(12, |_, _| size * rng.random_range(-1.0..1.0));
            assert!(value(&other) >= value(&a) - 1e-12);
        }
    }

    /// The rule of the header, spelled out naively with Gauss–Seidel for every convex problem.
    fn naive_rule(p: &Problem) -> Vec<Mode> {
        let n = p.n();
        let mut limit: Vec<f64> =
            (0..n).map(|i| if p.stiction[i] > p.kinetic[i] { f64::INFINITY } else { p.kinetic[i] }).collect();
        let mut f = gauss_seidel(&p.w, &p.a0, &limit);
        for &e in &p.breaking {
            limit[e] = p.kinetic[e];
            f = gauss_seidel(&p.w, &p.a0, &limit);
        }
        while let Some(worst) = (0..n)
            .filter(|&i| limit[i].is_infinite() && f[i].abs() > p.stiction[i])
            .max_by(|&i, &j| (f[i].abs() / p.stiction[i]).total_cmp(&(f[j].abs() / p.stiction[j])))
        {
            limit[worst] = p.kinetic[worst];
            f = gauss_seidel(&p.w, &p.a0, &limit);
        }
        (0..n).map(|i| if f[i].abs() < limit[i] { Stuck } else { Mode::of_sign(f[i]) }).collect()
    }

    #[test]
    fn stiction_above_the_sliding_level_follows_the_rule() {
        let mut rng = Pcg64::seed_from_u64(4);
        let (mut problems, mut events) = (0, 0);
        for _ in 0..150 {
            let mut p = random_problem(&mut rng, 12, 1.6);
            let chosen = p.select().unwrap();
            p.assert_consistent(&chosen, 1e-11);
            assert_eq!(chosen.mode, naive_rule(&p));
            problems += chosen.n_problems;
            // the same with a joint brought exactly to its limit by scaling the load
            let hold = gauss_seidel(&p.w, &p.a0, &[f64::INFINITY; 12]);
            let ratio = |i: usize| hold[i].abs() / p.stiction[i];
            let first = (0..12).max_by(|&i, &j| ratio(i).total_cmp(&ratio(j))).unwrap();
            let scale = 1.0 / ratio(first);
            if p.stiction.iter().zip(&p.kinetic).all(|(s, k)| s > k) {
                p.a0.iter_mut().for_each(|a| *a *= scale);
                assert_eq!(p.select().unwrap().mode, [Stuck; 12], "exactly at the limit, without an event, all hold");
                p.breaking = vec![first];
                let chosen = p.select().unwrap();
                p.assert_consistent(&chosen, 1e-11);
                assert_eq!(chosen.mode, naive_rule(&p));
                assert_ne!(chosen.mode[first], Stuck);
                events += 1;
            }
        }
        assert!(problems > 450 && events > 100, "{problems} problems, {events} events");
    }

    #[test]
    fn thirty_joints_with_stiction_are_consistent_however_numbered() {
        let mut rng = Pcg64::seed_from_u64(5);
        for _ in 0..50 {
            let p = random_problem(&mut rng, 30, 1.5);
            let chosen = p.select().unwrap();
            p.assert_consistent(&chosen, 1e-11);
            assert!(chosen.n_problems <= 31);
            // renumbered
            let mut order: Vec<usize> = (0..30).collect();
            for i in (1..30).rev() {
                order.swap(i, rng.random_range(0..=i));
            }
            let pick = |x: &[f64]| order.iter().map(|&i| x[i]).collect::<Vec<_>>();
            let other = Problem {
                w: DMatrix::from_fn(30, 30, |r, c| p.w[(order[r], order[c])]),
                a0: pick(&p.a0),
                stiction: pick(&p.stiction),
                kinetic: pick(&p.kinetic),
                breaking: vec![],
            };
            let modes: Vec<Mode> = order.iter().map(|&i| chosen.mode[i]).collect();
            assert_eq!(other.select().unwrap().mode, modes);
            // mirrored
            let mirror = Problem { a0: p.a0.iter().map(|a| -a).collect(), ..p.clone() };
            let mirrored = mirror.select().unwrap();
            assert_eq!(mirrored.friction, chosen.friction.iter().map(|f| -f).collect::<Vec<_>>());
        }
    }

    fn two(coupling: f64, load: [f64; 2], stiction: [f64; 2], kinetic: [f64; 2], breaking: &[usize]) -> Problem {
        let w = DMatrix::from_row_slice(2, 2, &[1.0, coupling, coupling, 1.0]);
        let a0 = &w * DVector::from_column_slice(&load);
        Problem {
            a0: a0.as_slice().to_vec(),
            w,
            stiction: stiction.to_vec(),
            kinetic: kinetic.to_vec(),
            breaking: breaking.to_vec(),
        }
    }

    #[test]
    fn one_joint_at_its_limit_holds_without_and_leaves_with_an_event() {
        for (stiction, kinetic) in [(1.0, 1.0), (1.0, 0.6)] {
            for side in [1.0, -1.0] {
                let w = DMatrix::from_element(1, 1, 2.0);
                let at = |load: f64, breaking: &[usize]| {
                    let p = Problem {
                        w: w.clone(),
                        a0: vec![2.0 * load * side],
                        stiction: vec![stiction],
                        kinetic: vec![kinetic],
                        breaking: breaking.to_vec(),
                    };
                    let chosen = p.select().unwrap();
                    (chosen.mode[0], chosen.friction[0] * side, chosen.acceleration[0] * side)
                };
                let away = Mode::of_sign(side);
                assert_eq!(at(0.7, &[]), (Stuck, 0.7, 0.0));
                assert_eq!(at(1.0, &[]), (Stuck, 1.0, 0.0));
                assert_eq!(at(1.0, &[0]), (away, kinetic, 2.0 * (1.0 - kinetic)));
                let (mode, friction, a) = at(1.25, &[]);
                assert_eq!((mode, friction), (away, kinetic));
                assert!((a - 2.0 * (1.25 - kinetic)).abs() < 1e-15);
                // an event located a little early or late is an event
                for load in [1.0 - 1e-9, 1.0 + 1e-9] {
                    assert_eq!(at(load, &[0]).0, away);
                }
            }
        }
    }

    #[test]
    fn levels_that_differ_by_rounding_are_equal() {
        for kinetic in [1.0 - 1e-15, 1.0, 1.0 + 1e-15] {
            let p = two(0.3, [1.5, 0.5], [1.0, 1.0], [kinetic, 1.0], &[]);
            let chosen = p.select().unwrap();
            assert_eq!(chosen.mode, [Forward, Stuck]);
            assert_eq!(chosen.n_problems, 1);
        }
    }

    #[test]
    fn a_joint_that_lets_go_may_let_its_neighbour_go() {
        // joint 0 holds 1.0 of 1.0 and drops to 0.4; W couples what it no longer carries, 0.6·0.5, into joint 1 at 0.8
        let p = two(0.5, [1.0, 0.8], [1.0, 1.0], [0.4, 0.5], &[0]);
        let chosen = p.select().unwrap();
        assert_eq!(chosen.mode, [Forward, Forward]);
        p.assert_consistent(&chosen, 1e-14);
        // with more room in joint 1 it holds
        let p = two(0.5, [1.0, 0.6], [1.0, 1.0], [0.4, 0.5], &[0]);
        let chosen = p.select().unwrap();
        assert_eq!(chosen.mode, [Forward, Stuck]);
        assert!((chosen.friction[1] - 0.9).abs() < 1e-15);
    }

    #[test]
    fn the_events_joint_drops_before_a_larger_violation() {
        // joint 1 is 10 % over its stiction, joint 0 exactly at it; strong negative coupling: whoever drops first unloads the other
        let (stiction, kinetic) = ([1.0, 1.0], [0.2, 0.2]);
        let first = two(-0.9, [1.0, 1.1], stiction, kinetic, &[0]).select().unwrap();
        assert_eq!(first.mode, [Forward, Stuck]);
        let second = two(-0.9, [1.0, 1.1], stiction, kinetic, &[]).select().unwrap();
        assert_eq!(second.mode, [Stuck, Forward]);
    }

    #[test]
    fn exact_ties_drop_together() {
        // mirror images: both at 1.2; one alone would unload the other
        for breaking in [&[] as &[usize], &[0], &[1], &[0, 1]] {
            let chosen = two(-0.9, [1.2, 1.2], [1.0, 1.0], [0.8, 0.8], breaking).select().unwrap();
            assert_eq!(chosen.mode, [Forward, Forward], "{breaking:?}");
            assert_eq!(chosen.friction, [0.8, 0.8]);
        }
        // and at the limit exactly, by an event of either
        for kinetic in [0.8, 1.0] {
            for breaking in [&[0], &[1]] {
                let chosen = two(-0.9, [1.0, -1.0], [1.0, 1.0], [kinetic; 2], breaking).select().unwrap();
                assert_eq!(chosen.mode, [Forward, Backward]);
            }
        }
        // rounding does not break a tie
        let chosen = two(-0.9, [1.2, 1.2 * (1.0 + 1e-14)], [1.0, 1.0], [0.8, 0.8], &[]).select().unwrap();
        assert_eq!(chosen.mode, [Forward, Forward]);
    }

    #[test]
    fn a_dropped_joint_unloaded_by_the_others_stays() {
        // 0 drops by 0.05, which overloads 1; 1 drops by 0.46, which overloads 2; 2 drops by 0.75 and unloads 0
        let w = DMatrix::from_row_slice(3, 3, &[1.0, 0.5, -0.4, 0.5, 1.0, 0.5, -0.4, 0.5, 1.0]);
        let load = DVector::from_column_slice(&[1.0, 0.96, 0.85]);
        let a0 = (&w * load).as_slice().to_vec();
        let p = Problem { w, a0, stiction: vec![1.0; 3], kinetic: vec![0.95, 0.5, 0.1], breaking: vec![0] };
        let chosen = p.select().unwrap();
        p.assert_consistent(&chosen, 1e-14);
        assert_eq!(chosen.mode, [Stuck, Forward, Forward]);
        // f₀ = 1 + 0.5·0.46 − 0.4·0.75
        assert!((chosen.friction[0] - 0.93).abs() < 1e-15);
        assert_eq!(chosen.n_problems, 4);
    }

    #[test]
    fn a_joint_without_friction_never_sticks() {
        let p = two(0.5, [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], &[]);
        let chosen = p.select().unwrap();
        assert_eq!(chosen.mode, [Forward, Stuck]);
        assert_eq!(chosen.friction[0], 0.0);
        p.assert_consistent(&chosen, 1e-14);
        // stiction without a sliding level: breaks away free
        let chosen = two(0.0, [-1.0, 0.0], [1.0, 1.0], [0.0, 1.0], &[0]).select().unwrap();
        assert_eq!((chosen.mode[0], chosen.friction[0]), (Backward, 0.0));
    }

    #[test]
    fn nothing_at_rest_is_no_problem() {
        let p = Problem { w: DMatrix::zeros(0, 0), a0: vec![], stiction: vec![], kinetic: vec![], breaking: vec![] };
        assert!(p.select().unwrap().mode.is_empty());
    }

    #[test]
    fn unusable_input_names_the_joint() {
        let good = two(0.5, [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], &[]);
        let mut p = good.clone();
        p.a0[1] = f64::NAN;
        assert_eq!(p.select().unwrap_err(), ModeError::Unusable { joint: 1 });
        let mut p = good.clone();
        p.kinetic[0] = 2.0;
        assert_eq!(p.select().unwrap_err(), ModeError::Unusable { joint: 0 });
        let mut p = good;
        p.w.fill(1.0);
        assert_eq!(p.select().unwrap_err(), ModeError::Dependent { joint: 1 });
    }

    #[test]
    fn degenerate_problems_end() {
        // integer loads, limits and couplings: many efforts land exactly on limits, many accelerations exactly on zero
        let mut rng = Pcg64::seed_from_u64(6);
        for _ in 0..3000 {
            let n = rng.random_range(2..=8);
            let b = DMatrix::from_fn(n, n, |_, _| f64::from(rng.random_range(-1..=1)));
            let w = &b * b.transpose() + DMatrix::identity(n, n);
            let kinetic: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(0..=2))).collect();
            let stiction = kinetic.iter().map(|k| k + f64::from(rng.random_range(0..=1))).collect();
            let load = DVector::from_fn(n, |_, _| f64::from(rng.random_range(-3..=3)));
            let breaking = if rng.random_bool(0.5) { vec![rng.random_range(0..n)] } else { vec![] };
            let p = Problem { a0: (&w * load).as_slice().to_vec(), w, stiction, kinetic, breaking };
            let chosen = p.select().unwrap();
            if p.breaking.is_empty() {
                p.assert_consistent(&chosen, 1e-11);
            }
        }
    }

    #[test]
    fn ill_conditioned_chains_are_decided() {
        // serial chain of 30 equal links hanging sideways: M_ij = Σ over links beyond both joints, cond some 1e6
        let n = 30;
        let mass = DMatrix::from_fn(n, n, |i, j| (i.max(j)..n).map(|k| (k + 1 - i) as f64 * (k + 1 - j) as f64).sum());
        let m: Vec<f64> = mass.as_slice().to_vec();
        let rest: Vec<usize> = (0..n).collect();
        let mut w = vec![0.0; n * n];
        delassus(&m, n, &rest, &mut ModeWork::new(n), &mut w).unwrap();
        // gravity torque at each joint, limits from just above to just below it
        let gravity: Vec<f64> = (0..n).map(|i| (i..n).map(|k| (k + 1 - i) as f64).sum()).collect();
        let w = DMatrix::from_row_slice(n, n, &w);
        let w = (&w + w.transpose()) * 0.5;
        let a0 = (&w * DVector::from_column_slice(&gravity)).as_slice().to_vec();
        let level = |share: f64| gravity.iter().map(|g| share * g).collect::<Vec<_>>();
        let with = |stiction: f64, kinetic: f64| Problem {
            w: w.clone(),
            a0: a0.clone(),
            stiction: level(stiction),
            kinetic: level(kinetic),
            breaking: vec![],
        };
        assert_eq!(with(1.05, 0.8).select().unwrap().mode, [Stuck; 30]);
        let p = with(0.95, 0.95);
        p.assert_consistent(&p.select().unwrap(), 1e-9);
        let p = with(0.99, 0.6);
        p.assert_consistent(&p.select().unwrap(), 1e-9);
    }

    #[test]
    fn delassus_is_the_inverse_of_the_mass_matrix_seen_from_the_joints_at_rest() {
        let mut rng = Pcg64::seed_from_u64(7);
        let m = random_delassus(&mut rng, 7, 2.0);
        let inverse = m.clone().try_inverse().unwrap();
        let rest = [1, 4, 5];
        let mut w = [0.0; 9];
        delassus(m.as_slice(), 7, &rest, &mut ModeWork::default(), &mut w).unwrap();
        for (r, &i) in rest.iter().enumerate() {
            for (c, &j) in rest.iter().enumerate() {
                assert!((w[r * 3 + c] - inverse[(i, j)]).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn work_is_reused_for_problems_of_any_size() {
        let mut rng = Pcg64::seed_from_u64(8);
        let mut work = ModeWork::new(3);
        for n in [3, 17, 1, 8, 17] {
            let p = random_problem(&mut rng, n, 1.3);
            let rest = AtRest {
                delassus: p.w.as_slice(),
                free_acceleration: &p.a0,
                stiction: &both(&p.stiction),
                kinetic: &both(&p.kinetic),
                breaking: &[],
            };
            assert_eq!(select(&rest, &mut work).unwrap().mode, p.select().unwrap().mode);
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let (one, two) = ([[1.0; 2]; 1], [[1.0; 2]; 2]);
        let chosen = |delassus: &[f64], stiction: &[Levels], breaking: &[usize]| {
            let rest = AtRest { delassus, free_acceleration: &[1.0, 1.0], stiction, kinetic: &two, breaking };
            select(&rest, &mut ModeWork::default()).map(|selection| selection.mode.len())
        };
        let identity = [1.0, 0.0, 0.0, 1.0];
        assert_eq!(chosen(&identity, &two, &[]), Ok(2));
        assert_eq!(chosen(&identity, &one, &[]), Err(ModeError::Unusable { joint: 1 }));
        assert_eq!(chosen(&identity[..2], &two, &[]), Err(ModeError::Unusable { joint: 1 }));
        assert_eq!(chosen(&identity, &two, &[7]), Err(ModeError::Unusable { joint: 7 }));
    }
}

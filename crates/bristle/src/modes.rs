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

/// Contacts up to which matrices over them, 2 MB, have their room from the beginning; larger ones when contacts come to rest.
pub(crate) const MAX_EAGER: usize = 512;

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
    /// Room for `n` joints at rest; that of matrices only up to [`MAX_EAGER`] of them, so that steps of such machines allocate nothing.
    pub fn new(n: usize) -> ModeWork {
        let mut work = ModeWork::default();
        work.resize(n);
        if n <= MAX_EAGER {
            work.dense.factor.resize(n * n, 0.0);
        }
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
mod tests;

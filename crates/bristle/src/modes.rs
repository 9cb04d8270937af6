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
//! with one solution. It is found by an active-set method: the efforts of the stuck joints solve W_SS f_S = a₀_S − W_SB f_B; a step
//! towards them ends at the first limit it meets, where the joint is released; a joint at its limit that accelerates against its
//! own friction is caught again. Many joints are first exchanged all at once as long as that helps; where it does not end, an interior
//! path leads near the solution in some thirty rounds, however many joints there are (`interior`). The efforts of the stuck joints and the accelerations of the others come from a factorisation of W_SS, O(n³) in each round, or, in a tree, from two sweeps with
//! the stuck joints locked, O(n) and without W.
//!
//! **Termination.** In exact arithmetic each round lowers (3), so no set of stuck joints comes back. W of a long chain has a condition
//! of 1e8 and more, and rounding decides the sign of an acceleration that vanishes. Three rules end the exchange all the same:
//!
//! - A stuck joint is released when its effort is beyond its limit by more than 1e-10 of it.
//! - A catch counts only if it takes the effort back from the limit by more than that. Otherwise the joint is *marginal*: its effort is
//!   its limit and its acceleration is zero. It stays as it is until another effort has changed.
//! - A joint that is caught again and again has an acceleration dominated by rounding: the acceleration it takes to catch it doubles
//!   each time. It cannot exceed the terms of which it is the difference, so every joint is caught a bounded number of times.
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

mod interior;

use bristle_friction::Mode;
use interior::Interior;
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

/// Catches of a joint in one convex problem before the acceleration that it takes doubles: one or two are the rule.
const FEW_CATCHES: i32 = 4;

/// More joints than this are first exchanged together, in so many rounds at most.
const MANY: usize = 16;
const MAX_EXCHANGES: usize = 40;

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
}

/// What the convex problem (3) asks of a machine.
pub(crate) trait Hold {
    /// `f` being the efforts of all joints at rest: the change `step` of the efforts of `stuck` (increasing indices) that makes their
    /// accelerations vanish, and `response`, the accelerations of all joints at rest after this change.
    fn hold(
        &mut self,
        stuck: &[usize],
        f: &[f64],
        step: &mut [f64],
        response: &mut [Response],
    ) -> Result<(), ModeError>;

    /// Newton's step on the interior path, (5) and (6) of `interior`: Δf into `step` and a⁺ into `a`. Joints with Θ = ∞ are locked. The
    /// factorisation of the call before serves where Θ `is_new` no more.
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

/// How a joint at rest answers its effort.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Response {
    /// Its acceleration.
    pub acceleration: f64,
    /// Size of the terms of which that is the difference.
    pub size: f64,
    /// Effort per acceleration, the other joints free to follow: which of several to catch first.
    pub inertia: f64,
}

/// From W alone.
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
    /// Which joints change sides in a common exchange, or are marginal; n.
    marked: Vec<bool>,
    /// How often each has been caught in this convex problem; n.
    catches: Vec<i32>,
    /// Accelerations at the efforts found last; n.
    response: Vec<Response>,
    /// Indices of the stuck joints, increasing.
    stuck: Vec<usize>,
    /// Residual a_S, then the change of f_S that makes it vanish; n.
    step: Vec<f64>,
    /// Factors of a matrix; n × n.
    factor: Vec<f64>,
    /// Whether limits do not follow from reactions: see [`Levelled`].
    has_given_limits: bool,
    interior: Interior,
}

impl ModeWork {
    /// Room for `n` joints at rest; that of matrices only up to `MAX_EAGER` of them, so that steps of such machines allocate nothing.
    pub fn new(n: usize) -> ModeWork {
        let mut work = ModeWork::default();
        work.resize(n);
        if n <= MAX_EAGER {
            work.factor.resize(n * n, 0.0);
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

    /// The joint's limit becomes its sliding level; it leaves in the direction of the friction that could not hold it.
    fn drop_joint(&mut self, rest: &Levelled, i: usize) {
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
    fn ratio(&self, rest: &Levelled, i: usize) -> f64 {
        let f = self.selection.friction[i];
        f.abs() / level(rest.stiction[i], f)
    }
}

/// Chooses the modes of all joints at rest by the rule above. Arrays that differ in length are refused, with the first joint that is
/// missing from one of them.
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
    /// Whether limits are given, not estimates from reactions. Far from its ends a long chain has accelerations and reactions that vanish
    /// together: such limits are rounding, and so is the end of an interior path between them.
    pub are_given: bool,
}

/// The same for any machine.
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

    // 1. all hold, whatever it takes; equal levels are limits from the beginning
    for i in 0..n {
        let is_equal = (0..2).all(|side| rest.stiction[i][side] <= rest.kinetic[i][side] * (1.0 + ROUNDING));
        work.limit[i] = if is_equal { rest.kinetic[i] } else { [f64::INFINITY; 2] };
        work.leaving[i] = 0.0;
        work.hold[i] = if work.limit[i] == [0.0; 2] { Side::AtLimit(1.0) } else { Side::Stuck };
        work.selection.friction[i] = 0.0;
    }
    solve_convex(work, machine)?;

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
        solve_convex(work, machine)?;
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
        solve_convex(work, machine)?;
    }

    // 5., 6. modes, all from the same efforts
    for i in 0..n {
        choose_mode(work, i);
    }
    Ok(&work.selection)
}

/// Finite limits in order.
fn is_usable(rest: &Levelled, i: usize) -> bool {
    let (kinetic, stiction) = (rest.kinetic[i], rest.stiction[i]);
    (0..2).all(|side| stiction[side].is_finite() && (0.0..=stiction[side] * (1.0 + ROUNDING)).contains(&kinetic[side]))
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

impl ModeWork {
    /// What rounding may add to an effort at its limit.
    fn tolerance(&self, i: usize) -> f64 {
        EQUAL * self.limit[i][0].max(self.limit[i][1])
    }

    /// Whether a stuck joint cannot hold `f`.
    fn is_beyond(&self, i: usize, f: f64) -> bool {
        f.abs() > level(self.limit[i], f) + self.tolerance(i)
    }

    /// Solves for the efforts and accelerations with the joints of `hold` stuck; `step` is what changes the efforts to that.
    fn hold_stuck<H: Hold>(&mut self, machine: &mut H) -> Result<(), ModeError> {
        self.stuck.clear();
        self.stuck.extend((0..self.hold.len()).filter(|&i| self.hold[i] == Side::Stuck));
        self.selection.n_factor += 1;
        machine.hold(&self.stuck, &self.selection.friction, &mut self.step, &mut self.response)
    }

    /// The part of its step that takes stuck joint number `k` to its limit, where the whole step would go beyond.
    fn reach(&self, k: usize) -> Option<f64> {
        let (i, step) = (self.stuck[k], self.step[k]);
        let f = self.selection.friction[i];
        let room = level(self.limit[i], step) - f * step.signum();
        self.is_beyond(i, f + step).then(|| room.max(0.0) / step.abs())
    }

    /// Puts a joint at the limit on the side of `sign`.
    fn release(&mut self, i: usize, sign: f64) {
        self.selection.friction[i] = sign.signum() * level(self.limit[i], sign);
        self.hold[i] = Side::AtLimit(sign.signum());
    }

    /// The acceleration by which a joint at its limit moves against its own friction, where that is more than rounding.
    fn wrong_way(&self, i: usize) -> Option<f64> {
        let Side::AtLimit(side) = self.hold[i] else { return None };
        let wrong = -self.response[i].acceleration * side;
        let repeated = (self.catches[i] - FEW_CATCHES).max(0);
        let is_wrong = self.limit[i] != [0.0; 2] && wrong > ROUNDING * self.response[i].size * 2.0_f64.powi(repeated);
        is_wrong.then_some(wrong)
    }
}

/// Exchanges all joints that are on the wrong side at once, while that leaves fewer of them: many joints are decided in a few
/// factorisations. Whether none was left on the wrong side.
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

/// Solves (3) with `work.limit` by the active-set method, starting from the efforts and holds in `work`. Of many joints few change sides after
/// a drop; otherwise all that are wrong are exchanged at once, or an interior path leads near the solution.
fn solve_convex<H: Hold>(work: &mut ModeWork, machine: &mut H) -> Result<(), ModeError> {
    let is_first = work.selection.n_problems == 0;
    work.selection.n_problems += 1;
    if work.hold.len() > MANY {
        if !is_first && work.has_given_limits && exchange_one_by_one(work, machine, MANY)? {
            return Ok(());
        }
        if !exchange_all(work, machine)? && work.has_given_limits {
            work.follow_path(machine);
            // few are wrong by now
            work.keep_path();
            if !exchange_all(work, machine)? {
                work.return_to_path();
            }
        }
        // the exchange one by one starts inside the limits
        for i in 0..work.hold.len() {
            let f = work.selection.friction[i];
            if work.hold[i] == Side::Stuck && work.is_beyond(i, f) {
                work.release(i, f);
            }
        }
    }
    exchange_one_by_one(work, machine, usize::MAX).map(|_| ())
}

/// The active-set method, in `max_rounds` at most. Whether it has come to its end, which it always does in time.
fn exchange_one_by_one<H: Hold>(work: &mut ModeWork, machine: &mut H, max_rounds: usize) -> Result<bool, ModeError> {
    let n = work.hold.len();
    work.catches.fill(0);
    work.marked.fill(false);
    // the joint caught in the round before, and the side it was on
    let mut caught: Option<(usize, f64)> = None;
    for _ in 0..max_rounds {
        work.hold_stuck(machine)?;

        // a catch that changes nothing: the joint is marginal
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

        // stuck joints: go to where their accelerations vanish, but not beyond the first limit
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

        // joints at their limits: the one whose catch alone would take most off (3) is caught
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
        // a break-away located a little early, or caught on the spot
        Side::Stuck if leaving != 0.0 && f.abs() >= level(limit, f) * (1.0 - LOCATED) => (f.signum(), 0.0),
        Side::Stuck => (0.0, 0.0),
        Side::AtLimit(side) => {
            let is_limited = limit != [0.0; 2];
            // marginal joints may seem to move against their friction
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
            // at the limit without moving: stays unless it was told to leave
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

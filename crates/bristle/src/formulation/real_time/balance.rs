//! All contacts of a step at once.
//!
//! ```text
//! ω = ω* − D λ,     λ_c = λ_c(ω_c)                D = W A⁻¹ Wᵀ                                     (1)
//! ```
//!
//! With the map of one contact, λ_c = met_c(y_c), y_c = ω*_c − Σ_{d≠c} D_cd λ_d, (1) is a fixed point. Newton on it:
//!
//! ```text
//! (1 + S (D − diag D)) δ = met(y) − λ,            S_cc = d met_c/dy = λ'/(1 + D_cc λ')             (2)
//! ```
//!
//! S_cc = 1/D_cc for a contact that is stuck. Where ω* alone has changed since the last solution, (2) with S (ω* − ω*_before) on its right is where to
//! start. Every λ_c(ω) rises, so (1) is the optimality condition of a convex problem: its
//! solution ω is unique. Where a Newton step brings no progress the problem itself is descended on,
//!
//! ```text
//! P(μ) = ½ μᵀ D μ + Σ φ_c(ω_c),   ω = ω* − D μ,   φ' = λ,     dP/dμ = D (μ − λ(ω))               (3)
//! ```
//!
//! stuck contacts giving way a little so that P is smooth: Newton on μ = λ(ω), which has the matrix of (2), with a line search by the sign of
//! the slope of P. What it ends with is where (2) starts again.
//!
//! **Sharing.** Contacts that may do the same work (two stuck clutches side by side) have the same ω however they share it. They share by
//! strength, as everywhere: of all λ that with the least Σ λ²/strength. Each of them yields a little, E = ε D_max · strongest/strength, which
//! decides the sharing, and what they yield is taken back by going on from there,
//!
//! ```text
//! ω = ω* − D λ − E (λ − λ_before),        λ_before = 0 at first, then the λ that was found                  (4)
//! ```
//!
//! until the last term is rounding. Where Newton goes round in circles among those that share, every contact keeps its branch, stuck or
//! sliding either way, and the first that cannot stay on it changes, one at a time: finite, D + E being positive definite (Murty 1974).
//!
//! Who is at its limit while others hold has ω = 0 in the end like them, and is stuck.

mod branches;

use super::cholesky::dot_all;
use super::grip::Met;
use branches::Branches;

/// Rounds in all. Two or three are usual.
pub(super) const MOST_ROUNDS: usize = 200;

/// Error in ω, relative to the terms of (1), at which the contacts are balanced.
const BALANCED: f64 = 1e-12;

/// The same where rounding allows no more: contacts that are stiff and do the same work many times over.
const ROUNDED: f64 = 1e-8;

/// The same from which one Newton step is as good as any.
const NEARBY: f64 = 1e-3;

/// Velocities smaller than this, rad/s or m/s, are none: motion that dies out must not be followed to the smallest number there is.
const NO_VELOCITY: f64 = 1e-60;

/// The same relative to the largest of ω*, where contacts share.
const LEFT_OVER: f64 = 1e-9;

/// The same for (3), where stuck contacts give way by `SOFT` of what they would without friction.
const DESCENDED: f64 = 1e-9;
const SOFT: f64 = 1e-8;

/// Halvings of a line search.
const MOST_HALVINGS: usize = 60;

/// What of 1/D_cc a stuck contact may count for in (2): the rest keeps the matrix regular where contacts do the same work.
const NEARLY: f64 = 1.0 - 1e-9;

/// What contacts that share yield, relative to the largest of D; and how often that is taken back, each time leaving this part of it.
const YIELDING: f64 = 1e-6;
const TAKEN_BACK: usize = 2;

/// Strength below which a contact counts as this strong, relative to the strongest.
const WEAKEST: f64 = 1e-6;

/// A pivot in place is taken unless it is smaller than this.
const SMALL_PIVOT: f64 = 1e-4;

/// Contacts of a step and their impulses; arrays are made once. See the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct Balance {
    n: usize,
    /// D, n × n.
    pub delassus: Vec<f64>,
    /// ω*, and that of the last solution.
    pub free: Vec<f64>,
    free_before: Vec<f64>,
    /// Where each contact stands; λ of the last call to begin with.
    pub met: Vec<Met>,
    /// λ of which `met` is the image.
    lambda: Vec<f64>,
    /// met − λ.
    gap: Vec<f64>,
    /// The same at the end of a Newton step.
    trial: Vec<f64>,
    trial_met: Vec<Met>,
    trial_gap: Vec<f64>,
    /// (2), then its factors; rows that changed places; its right-hand side, then its solution.
    matrix: Vec<f64>,
    swaps: Vec<usize>,
    step: Vec<f64>,
    /// Whether the factors are those of the last solution.
    is_factored: bool,
    /// E of the contacts that share, 0 for the others; whether there is any.
    yields: Vec<f64>,
    is_shared: bool,
    /// ω* while E λ is in `free`.
    apart: Vec<f64>,
    /// Which contacts are dry; where each was met that the straight line it is taken for goes through, and y there.
    dry: Vec<bool>,
    pins: Vec<(Met, f64)>,
}

/// How a solution was wanted, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// Balanced.
    Balanced,
    /// One Newton step from nearby, which nobody has looked at.
    Draft,
}

impl Balance {
    /// For contacts of which some are `dry`.
    pub fn new(dry: Vec<bool>) -> Self {
        let n = dry.len();
        Self {
            n,
            delassus: vec![0.0; n * n],
            free: vec![0.0; n],
            free_before: vec![0.0; n],
            met: vec![Met::default(); n],
            lambda: vec![0.0; n],
            gap: vec![0.0; n],
            trial: vec![0.0; n],
            trial_met: vec![Met::default(); n],
            trial_gap: vec![0.0; n],
            matrix: vec![0.0; n * n],
            swaps: vec![0; n],
            step: vec![0.0; n],
            is_factored: false,
            yields: vec![0.0; n],
            is_shared: false,
            apart: vec![0.0; n],
            pins: vec![(Met::default(), 0.0); n],
            dry,
        }
    }

    /// Lets the contacts that `shares` says share by their strengths, in D as it is filled.
    pub fn share_by(&mut self, shares: &[bool], strength: impl Fn(usize, f64) -> f64) {
        let (n, mut strongest, mut largest) = (self.n, 0.0_f64, 0.0_f64);
        self.is_shared = false;
        let strength = |c: usize| strength(c, self.met[c].lambda);
        for c in (0..n).filter(|&c| shares[c]) {
            strongest = strongest.max(strength(c));
            largest = largest.max(self.delassus[c * n + c]);
        }
        for (c, &shares) in shares.iter().enumerate() {
            let is_one = shares && strongest > 0.0;
            self.yields[c] =
                if is_one { YIELDING * largest * strongest / strength(c).max(WEAKEST * strongest) } else { 0.0 };
            self.delassus[c * n + c] += self.yields[c];
            self.is_shared |= is_one;
        }
    }

    /// Solves (1), and (4) where contacts share. See [`Balance::solve_once`].
    pub fn solve(
        &mut self,
        is_again: bool,
        draft: bool,
        meet: impl Fn(usize, f64, f64, f64) -> Met,
        soften: impl Fn(usize, f64, f64) -> Met,
    ) -> Result<(usize, Found), usize> {
        if !self.is_shared {
            return self.solve_once(is_again, draft, meet, soften);
        }
        let mut rounds = self.solve_once(is_again, false, &meet, &soften)?.0;
        self.apart.copy_from_slice(&self.free);
        for _ in 0..TAKEN_BACK {
            for (c, met) in self.met.iter().enumerate() {
                self.free[c] = self.apart[c] + self.yields[c] * met.lambda;
            }
            let again = self.solve_once(true, false, &meet, &soften);
            self.free.copy_from_slice(&self.apart);
            rounds += again?.0;
        }
        Ok((rounds, Found::Balanced))
    }

    /// Solves (1); `meet(c, y, D_cc, guess)` is the map of contact c, `soften(c, ω, stiffness)` its λ for (3). With `is_again` D is that of
    /// the last solution; where a `draft` will do, one Newton step from nearby is not checked. Rounds it took, or the contact furthest from
    /// balance.
    fn solve_once(
        &mut self,
        is_again: bool,
        draft: bool,
        meet: impl Fn(usize, f64, f64, f64) -> Met,
        soften: impl Fn(usize, f64, f64) -> Met,
    ) -> Result<(usize, Found), usize> {
        let nearly = if self.is_shared { 1.0 } else { NEARLY };
        let Self {
            n,
            delassus,
            free,
            free_before,
            met,
            lambda,
            gap,
            trial,
            trial_met,
            trial_gap,
            matrix,
            swaps,
            step,
            is_shared,
            dry,
            pins,
            ..
        } = self;
        let (n, is_shared) = (*n, *is_shared);
        if n == 0 {
            return Ok((0, Found::Balanced));
        }
        lambda.iter_mut().zip(&*met).for_each(|(lambda, met)| *lambda = met.lambda);
        if is_again && free != free_before {
            if !self.is_factored {
                fill_matrix(matrix, delassus, met, nearly);
                self.is_factored = factor(matrix, swaps, n);
            }
            for c in 0..n {
                step[c] = share(met[c].slope, delassus[c * n + c], nearly) * (free[c] - free_before[c]);
            }
            if self.is_factored && substitute(matrix, swaps, step) {
                lambda.iter_mut().zip(&*step).for_each(|(lambda, step)| *lambda += step);
            }
        }
        free_before.copy_from_slice(free);
        self.is_factored = false;
        // among contacts that share, what cancels leaves rounding of the others
        let largest = free.iter().fold(0.0_f64, |most, free| most.max(free.abs()));
        let none = if is_shared { NO_VELOCITY + LEFT_OVER * largest } else { NO_VELOCITY };
        let evaluate = |lambda: &[f64], met: &mut [Met], gap: &mut [f64]| {
            let mut worst = (0.0, 0);
            for c in 0..n {
                let (y, size) = felt(delassus, free, lambda, c);
                let d = delassus[c * n + c];
                met[c] = meet(c, y, d, met[c].omega);
                gap[c] = met[c].lambda - lambda[c];
                let off = d * gap[c].abs() / (size + d * (lambda[c].abs() + met[c].size) + none);
                // NaN counts as far off
                if off > worst.0 || off.is_nan() {
                    worst = (off, c);
                }
            }
            worst
        };
        let mut worst = evaluate(lambda, met, gap);
        let mut round = 1;
        while round <= MOST_ROUNDS {
            // how contacts share hardly shows in the balance: one step at least
            if worst.0 <= BALANCED && (round > 1 || !is_shared) {
                return Ok((round, Found::Balanced));
            }
            fill_matrix(matrix, delassus, met, nearly);
            step.copy_from_slice(gap);
            let is_solved = factor(matrix, swaps, n) && substitute(matrix, swaps, step);
            if draft && round == 1 && worst.0 <= NEARBY && is_solved {
                for (met, (lambda, step)) in met.iter_mut().zip(lambda.iter().zip(&*step)) {
                    met.lambda = lambda + step;
                }
                self.is_factored = true;
                return Ok((round, Found::Draft));
            }
            round += 1;
            if is_solved {
                (0..n).for_each(|c| trial[c] = lambda[c] + step[c]);
                trial_met.copy_from_slice(met);
                let reached = evaluate(trial, trial_met, trial_gap);
                if reached.0 <= 0.9 * worst.0 || reached.0 <= BALANCED {
                    worst = reached;
                    std::mem::swap(lambda, trial);
                    std::mem::swap(met, trial_met);
                    std::mem::swap(gap, trial_gap);
                    continue;
                }
            }
            if worst.0 <= ROUNDED && !is_shared {
                return Ok((round, Found::Balanced));
            }
            if is_shared {
                let branches = Branches { delassus, free, dry, pins, matrix, swaps, step, slopes: trial_met, none };
                let rounds;
                (rounds, worst) = branches.change(lambda, met, gap, &evaluate);
                round += rounds;
                if worst.0 <= ROUNDED {
                    return Ok((round, Found::Balanced));
                }
            }
            // (3), from the impulses that the contacts answer with
            lambda.iter_mut().zip(&*met).for_each(|(lambda, met)| *lambda = met.lambda);
            let scratch = Descent { delassus, free, met, matrix, swaps, step, rate: trial };
            round += scratch.descend(lambda, &soften, MOST_ROUNDS.saturating_sub(round));
            worst = evaluate(lambda, met, gap);
        }
        if worst.0 <= BALANCED { Ok((MOST_ROUNDS, Found::Balanced)) } else { Err(worst.1) }
    }
}

/// What a descent works on.
struct Descent<'a> {
    delassus: &'a [f64],
    free: &'a [f64],
    met: &'a mut [Met],
    matrix: &'a mut [f64],
    swaps: &'a mut [usize],
    step: &'a mut [f64],
    /// dω along the step.
    rate: &'a mut [f64],
}

impl Descent<'_> {
    /// Descends on (3) from `mu`, in at most `most` rounds, and leaves λ there. The rounds it took.
    fn descend(self, mu: &mut [f64], soften: &impl Fn(usize, f64, f64) -> Met, most: usize) -> usize {
        let Self { delassus, free, met, matrix, swaps, step, rate } = self;
        let n = free.len();
        let soft = |c: usize, omega: f64| {
            let d = delassus[c * n + c];
            soften(c, omega, if d > 0.0 { 1.0 / (SOFT * d) } else { 0.0 })
        };
        let mut rounds = 0;
        while rounds < most {
            rounds += 1;
            let mut worst = 0.0_f64;
            for c in 0..n {
                let (y, size) = felt(delassus, free, mu, c);
                let d = delassus[c * n + c];
                met[c] = soft(c, y - d * mu[c]);
                // (1 − s D) (λ − μ): the right-hand side in the scale of (2)
                step[c] = (met[c].lambda - mu[c]) / (1.0 + d * met[c].slope);
                worst = worst.max(d * step[c].abs() / (size + d * mu[c].abs() + NO_VELOCITY));
            }
            fill_matrix(matrix, delassus, met, NEARLY);
            if worst <= DESCENDED || !(factor(matrix, swaps, n) && substitute(matrix, swaps, step)) {
                break;
            }
            for (c, rate) in rate.iter_mut().enumerate() {
                *rate = -(0..n).map(|other| delassus[c * n + other] * step[other]).sum::<f64>();
            }
            // the slope of P along the step rises: full length if it is still downhill there, otherwise where it is level
            let slope = |alpha: f64| -> f64 {
                let along =
                    |c: usize| rate[c] * (soft(c, met[c].omega + alpha * rate[c]).lambda - mu[c] - alpha * step[c]);
                (0..n).map(along).sum()
            };
            let (start, mut alpha) = (slope(0.0), 1.0);
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..MOST_HALVINGS {
                let here = slope(alpha);
                if here <= 0.0 && alpha == 1.0 || here.abs() <= 0.1 * start.abs() {
                    break;
                }
                if here > 0.0 {
                    high = alpha;
                } else {
                    low = alpha;
                }
                alpha = 0.5 * (low + high);
            }
            mu.iter_mut().zip(&*step).for_each(|(mu, step)| *mu += alpha * step);
        }
        for c in 0..n {
            let (y, _) = felt(delassus, free, mu, c);
            met[c] = soft(c, y - delassus[c * n + c] * mu[c]);
        }
        mu.iter_mut().zip(&*met).for_each(|(mu, met)| *mu = met.lambda);
        rounds
    }
}

/// S_cc of (2).
#[inline]
fn share(slope: f64, d: f64, nearly: f64) -> f64 {
    match slope {
        _ if d == 0.0 => 0.0,
        f64::INFINITY => nearly / d,
        slope => slope / (1.0 + d * slope),
    }
}

/// The matrix of (2).
fn fill_matrix(matrix: &mut [f64], delassus: &[f64], met: &[Met], nearly: f64) {
    let n = met.len();
    for (c, (row, d)) in matrix.chunks_exact_mut(n).zip(delassus.chunks_exact(n)).enumerate() {
        let s = share(met[c].slope, d[c], nearly);
        row.iter_mut().zip(d).for_each(|(m, d)| *m = s * d);
        row[c] = 1.0;
    }
}

/// y_c, and the size of its terms.
#[inline]
fn felt(delassus: &[f64], free: &[f64], lambda: &[f64], c: usize) -> (f64, f64) {
    let n = free.len();
    let row = &delassus[c * n..(c + 1) * n];
    let (mut y, mut size) = (free[c], free[c].abs());
    let others = row[..c].iter().zip(&lambda[..c]).chain(row[c + 1..].iter().zip(&lambda[c + 1..]));
    others.for_each(|(d, lambda)| {
        let part = d * lambda;
        y -= part;
        size += part.abs();
    });
    (y, size)
}

/// Gaussian elimination, in place, factors below the diagonal; `false` where a pivot vanishes.
///
/// Up to the scale of its rows the matrix of (2) is symmetric and positive definite with a diagonal of ones, so that pivots in place, from 1 down, are as
/// good as any. Where contacts do the same work, and one is all but nothing, a row is looked for.
fn factor(matrix: &mut [f64], swaps: &mut [usize], n: usize) -> bool {
    for (k, swap) in swaps.iter_mut().enumerate() {
        let mut p = k;
        if matrix[k * n + k].abs() < SMALL_PIVOT {
            for i in k + 1..n {
                if matrix[i * n + k].abs() > matrix[p * n + k].abs() {
                    p = i;
                }
            }
        }
        *swap = p;
        if p != k {
            let (above, below) = matrix.split_at_mut(p * n);
            above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
        }
        let (above, below) = matrix.split_at_mut((k + 1) * n);
        let row = &above[k * n..];
        let pivot = row[k];
        if pivot == 0.0 || pivot.is_nan() {
            return false;
        }
        let inverse = 1.0 / pivot;
        for other in below.chunks_exact_mut(n) {
            let factor = other[k] * inverse;
            other[k] = factor;
            if factor != 0.0 {
                other[k + 1..].iter_mut().zip(&row[k + 1..]).for_each(|(o, r)| *o -= factor * r);
            }
        }
    }
    true
}

/// Solves with the factors, in place; `false` where the solution is not finite.
fn substitute(matrix: &[f64], swaps: &[usize], x: &mut [f64]) -> bool {
    let n = x.len();
    for (k, &p) in swaps.iter().enumerate() {
        x.swap(k, p);
    }
    for (k, row) in matrix.chunks_exact(n).enumerate() {
        let (before, rest) = x.split_at_mut(k);
        rest[0] -= dot_all(&row[..k], before);
    }
    for (k, row) in matrix.chunks_exact(n).enumerate().rev() {
        let (before, after) = x.split_at_mut(k + 1);
        before[k] = (before[k] - dot_all(&row[k + 1..], after)) / row[k];
    }
    x.iter().all(|x| x.is_finite())
}

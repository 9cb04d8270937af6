//! Limit analysis of a group of redundant stuck contacts, and the distribution of the load within it.
//!
//! The basic efforts f_B of the group follow from the nonbasic ones f_N,
//!
//! ```text
//! f_B = w β − A f_N,            −down ≤ f ≤ up,            w = 1                                        (1)
//! p = up w − σ δ − f ≥ 0,       m = down w − σ δ + f ≥ 0                                                (2)
//! ```
//!
//! **Margin**: the largest δ for which some f satisfies (2), σ being the strength of each contact. All limits may
//! shrink by δ σ before the group gives way, which happens where δ falls through 0. The simplex method finds it; its
//! multipliers at the optimum are the mechanism of collapse: the slip of each contact, with its sign (limit analysis,
//! upper bound theorem). δ is continuous in the load and in the limits. For a single contact it is the distance to
//! the nearer limit; where both limits are equal, one less the used fraction of the limits. **Distribution**: among
//! the solutions of (1), the one with the least Σ f²/limit, by an active set method started from the solution of the
//! linear programme.
//!
//! Both methods work on a tableau, x_B = T x_N, with w, δ, p and m among the x.

use super::NEGLIGIBLE;
use crate::modes::{MAX_EAGER, factorise, solve_factorised};

/// Index of w among the x.
const W: usize = 0;

/// Slopes of δ in a nonbasic variable below this, times the largest strength, count as zero: δ is at its maximum.
const SHORT: f64 = 1e-13;

/// Contacts weaker than this, relative to the strongest, have this strength in (2).
const FAINT: f64 = 1e-6;

/// Slips smaller than this, relative to the largest, count as zero.
const STILL: f64 = 1e-9;

/// Lower bound of the limits in the weights of the distribution, relative to the largest limit.
const WEAKEST: f64 = 1e-3;

/// Slopes of Σ f²/limit smaller than this, relative to their terms, count as zero.
const LEVEL: f64 = 1e-12;

/// (1) and (2) of one group. Scratch; the arrays grow to the size of the largest group.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitAnalysis {
    /// T, row by row; the basic variables (rows) and the nonbasic ones (columns).
    t: Vec<f64>,
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    /// The tableau of (1) before any exchange.
    first: (Vec<f64>, Vec<usize>, Vec<usize>),
    /// [up, down] and strength of each contact.
    limits: Vec<([f64; 2], f64)>,
    /// x: w, f, then δ, p, m; and their bounds.
    pub value: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Slip of each contact, from index 1, in the mechanism of collapse; up to a common factor.
    pub slip: Vec<f64>,
    /// Of the distribution: the active set (variables at a limit); the sign of each f, ±1; the step; slopes and their
    /// matrix.
    is_fixed: Vec<bool>,
    side: Vec<f64>,
    free: Vec<usize>,
    step: Vec<f64>,
    matrix: Vec<f64>,
}

impl LimitAnalysis {
    /// Room for `n` contacts.
    pub fn new(n: usize) -> Self {
        // tableaus of large groups are allocated when such a group occurs
        let n = if n <= MAX_EAGER { n } else { 0 };
        let list = || Vec::with_capacity(3 * n + 2);
        let square = || Vec::with_capacity((n + 1) * (n + 1));
        Self {
            t: Vec::with_capacity(2 * n * (n + 2)),
            basic: list(),
            nonbasic: list(),
            first: (square(), list(), list()),
            limits: Vec::with_capacity(n),
            value: Vec::with_capacity(3 * n + 2),
            low: Vec::with_capacity(3 * n + 2),
            high: Vec::with_capacity(3 * n + 2),
            slip: Vec::with_capacity(n + 1),
            is_fixed: Vec::with_capacity(n + 1),
            side: Vec::with_capacity(n + 1),
            free: list(),
            step: Vec::with_capacity(n + 1),
            matrix: square(),
        }
    }

    /// Sets contacts 1, 2, … with their limits [up, down] and strengths: first the `n_basic` basic ones, then the
    /// nonbasic. `entry(i, j)` is β of basic contact i for j = 0, and −A of i by nonbasic contact j, counted from 1,
    /// otherwise.
    pub fn fill(
        &mut self,
        n_basic: usize,
        limits: impl Iterator<Item = ([f64; 2], f64)>,
        entry: impl Fn(usize, usize) -> f64,
    ) {
        self.limits.clear();
        self.limits.extend(limits);
        let n = self.limits.len() + 1;
        let (t, basic, nonbasic) = &mut self.first;
        basic.clear();
        basic.extend(1..=n_basic);
        nonbasic.clear();
        nonbasic.push(W);
        nonbasic.extend(n_basic + 1..n);
        t.clear();
        for i in 0..n_basic {
            t.extend((0..n - n_basic).map(|j| entry(i, j)));
        }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.t[i * self.nonbasic.len() + j]
    }

    /// Exchanges the basic variable of row i with the nonbasic variable of column j.
    fn exchange(&mut self, i: usize, j: usize) {
        let n = self.nonbasic.len();
        let inverse = 1.0 / self.at(i, j);
        for k in 0..n {
            self.t[i * n + k] *= if k == j { 0.0 } else { -inverse };
        }
        self.t[i * n + j] = inverse;
        for r in (0..self.basic.len()).filter(|&r| r != i) {
            let factor = std::mem::take(&mut self.t[r * n + j]);
            if factor != 0.0 {
                for k in 0..n {
                    self.t[r * n + k] += factor * self.t[i * n + k];
                }
            }
        }
        std::mem::swap(&mut self.basic[i], &mut self.nonbasic[j]);
    }

    /// Distance of `x` from the bound towards which it moves.
    fn room(&self, x: usize, rate: f64) -> f64 {
        let room = if rate > 0.0 { self.high[x] - self.value[x] } else { self.value[x] - self.low[x] };
        room.max(0.0)
    }

    fn limit(&self, x: usize, rate: f64) -> f64 {
        if rate > 0.0 { self.high[x] } else { self.low[x] }
    }

    /// The largest δ. Fills in efforts that carry the load, and slips.
    pub fn largest_margin(&mut self) -> f64 {
        let n = self.limits.len();
        let (delta, p, m) = (n + 1, n + 1, 2 * n + 1);
        let strongest = self.limits.iter().map(|limit| limit.1).fold(f64::MIN_POSITIVE, f64::max);
        // (2) in w, δ and the nonbasic efforts
        let (first, n_basic) = (&self.first.0, self.first.1.len());
        let columns = n - n_basic + 2;
        self.nonbasic.clear();
        self.nonbasic.extend([W, delta].into_iter().chain(n_basic + 1..=n));
        self.basic.clear();
        self.t.clear();
        self.value.clear();
        self.value.resize(3 * n + 2, 0.0);
        self.value[W] = 1.0;
        let mut least = (f64::INFINITY, 0);
        for (side, from) in [(-1.0, p), (1.0, m)] {
            for c in 1..=n {
                let (limit, strength) = self.limits[c - 1];
                let strength = strength.max(FAINT * strongest);
                let of = |j: usize| match c <= n_basic {
                    true => first[(c - 1) * (columns - 1) + j],
                    false => f64::from(u8::from(j > 0 && c == n_basic + j)),
                };
                let room = limit[usize::from(side > 0.0)] + side * of(0);
                let row = self.basic.len();
                self.basic.push(from + c);
                self.t.extend([room, -strength].into_iter().chain((1..columns - 1).map(|j| side * of(j))));
                if room / strength < least.0 {
                    least = (room / strength, row);
                }
            }
        }
        self.low.clear();
        self.low.resize(p + 1, f64::NEG_INFINITY);
        self.low.resize(3 * n + 2, 0.0);
        self.high.clear();
        self.high.resize(3 * n + 2, f64::INFINITY);
        // start with f_N = 0: the tightest limit bounds δ
        self.value[delta] = least.0;
        for i in 0..self.basic.len() {
            self.value[self.basic[i]] = self.at(i, 0) + self.at(i, 1) * least.0;
        }
        for c in 1..=n_basic {
            self.value[c] = first[(c - 1) * (columns - 1)];
        }
        self.value[self.basic[least.1]] = 0.0;
        self.exchange(least.1, 1);
        let row = least.1;
        self.climb(row, strongest);

        self.slip.clear();
        self.slip.resize(n + 1, 0.0);
        let most =
            (0..columns).filter(|&j| self.nonbasic[j] > delta).map(|j| self.at(row, j).abs()).fold(0.0, f64::max);
        for (j, &x) in self.nonbasic.iter().enumerate().filter(|(_, x)| **x > delta) {
            let multiplier = -self.at(row, j);
            if multiplier > STILL * most {
                let (c, side) = if x > m { (x - m, -1.0) } else { (x - p, 1.0) };
                self.slip[c] += side * multiplier;
            }
        }
        // f by (1)
        let largest_margin = self.value[delta];
        for c in n_basic + 1..=n {
            // (p − m)/2 = (up − down)/2 − f
            let [up, down] = self.limits[c - 1].0;
            self.value[c] = 0.5 * (up - down - self.value[p + c] + self.value[m + c]);
        }
        for c in 1..=n_basic {
            let row = &self.first.0[(c - 1) * (columns - 1)..c * (columns - 1)];
            self.value[c] = (1..columns - 1).fold(row[0], |f, j| f + row[j] * self.value[n_basic + j]);
        }
        largest_margin
    }

    /// Increases δ, the basic variable of row `row_of_delta`, to its maximum; it stays basic.
    fn climb(&mut self, row_of_delta: usize, strongest: f64) {
        let (n, columns) = (self.low.len(), self.nonbasic.len());
        // steepest column first; after `patience` pivots the first improving column, which excludes cycling (Bland's
        // rule)
        let (patience, end) = (10 + 4 * n, 100 + 40 * n);
        for round in 0..end {
            let is_careful = round > patience;
            let mut enters = None;
            let mut most = SHORT;
            for j in (0..columns).filter(|&j| self.nonbasic[j] != W) {
                let (x, slope) = (self.nonbasic[j], self.at(row_of_delta, j));
                let gain = slope.abs() * strongest;
                if gain > most && self.room(x, slope) > 0.0 {
                    let is_first = enters.is_none_or(|(other, _): (usize, f64)| x < self.nonbasic[other]);
                    if !is_careful || is_first {
                        enters = Some((j, slope.signum()));
                    }
                    most = if is_careful { SHORT } else { gain };
                }
            }
            let Some((j, direction)) = enters else { break };
            let x = self.nonbasic[j];
            let others = (0..self.basic.len()).filter(|&i| i != row_of_delta);
            let largest = others.clone().map(|i| self.at(i, j).abs()).fold(0.0, f64::max);
            let (mut reach, mut leaves) = (self.room(x, direction), None::<usize>);
            for i in others {
                let rate = direction * self.at(i, j);
                if rate.abs() <= NEGLIGIBLE * largest {
                    continue;
                }
                let here = self.room(self.basic[i], rate) / rate.abs();
                let is_better = leaves.is_none_or(|other| match is_careful {
                    true => self.basic[i] < self.basic[other],
                    false => rate.abs() > self.at(other, j).abs(),
                });
                if here < reach || here == reach && is_better {
                    (reach, leaves) = (here, Some(i));
                }
            }
            if reach.is_infinite() {
                break;
            }
            self.value[x] += direction * reach;
            for i in 0..self.basic.len() {
                let other = self.basic[i];
                self.value[other] += direction * reach * self.at(i, j);
            }
            match leaves {
                None => self.value[x] = self.limit(x, direction),
                Some(i) => {
                    let other = self.basic[i];
                    self.value[other] = self.limit(other, direction * self.at(i, j));
                    self.exchange(i, j);
                }
            }
        }
    }

    fn go_back(&mut self) {
        self.t.clone_from(&self.first.0);
        self.basic.clone_from(&self.first.1);
        self.nonbasic.clone_from(&self.first.2);
    }

    /// The least Σ f²/limit at w = 1, starting from the efforts in `value`, which satisfy the limits up to rounding.
    pub fn distribute(&mut self) {
        self.go_back();
        let n = self.limits.len() + 1;
        self.value.truncate(n);
        self.low.clear();
        self.low.push(0.0);
        self.high.clear();
        self.high.push(f64::INFINITY);
        for x in 1..n {
            let [up, down] = self.limits[x - 1].0;
            self.low.push(self.value[x].min(-down));
            self.high.push(self.value[x].max(up));
        }
        self.is_fixed.clear();
        self.is_fixed.resize(n, false);
        self.is_fixed[W] = true;
        self.side.clear();
        self.side.extend(self.value.iter().map(|value| if *value < 0.0 { -1.0 } else { 1.0 }));
        self.step.resize(n, 0.0);
        let strongest = (1..n).map(|x| self.high[x].max(-self.low[x])).fold(f64::MIN_POSITIVE, f64::max);
        for _ in 0..20 + 10 * n {
            if !self.go_on(strongest) && !self.release(strongest) {
                break;
            }
        }
    }

    /// Weight of f² in the sum, by the limit on the side of its sign.
    fn weight(&self, x: usize, strongest: f64) -> f64 {
        strongest / self.limit(x, self.side[x]).abs().max(WEAKEST * strongest)
    }

    /// Slope of half the sum in the nonbasic variable of column j, and the magnitude of its terms.
    fn slope(&self, j: usize, strongest: f64) -> (f64, f64) {
        let x = self.nonbasic[j];
        let own = self.weight(x, strongest) * self.value[x];
        (0..self.basic.len()).fold((own, own.abs()), |(sum, size), i| {
            let other = self.basic[i];
            let term = self.weight(other, strongest) * self.value[other] * self.at(i, j);
            (sum + term, size + term.abs())
        })
    }

    /// Goes to the minimum of the sum on the active set, or to the first limit or change of sign on the way. Returns
    /// whether one of them came first.
    fn go_on(&mut self, strongest: f64) -> bool {
        self.free.clear();
        self.free.extend((0..self.nonbasic.len()).filter(|&j| !self.is_fixed[self.nonbasic[j]]));
        let m = self.free.len();
        if m == 0 {
            return false;
        }
        self.matrix.resize(m * m, 0.0);
        let mut matrix = std::mem::take(&mut self.matrix);
        let entry = |r: usize, c: usize| {
            let (r, c) = (self.free[r], self.free[c]);
            let own = if r == c { self.weight(self.nonbasic[r], strongest) } else { 0.0 };
            (0..self.basic.len())
                .fold(own, |sum, i| sum + self.weight(self.basic[i], strongest) * self.at(i, r) * self.at(i, c))
        };
        let is_solved = factorise(m, &mut matrix, entry).is_ok();
        for k in 0..m {
            self.step[k] = -self.slope(self.free[k], strongest).0;
        }
        if is_solved {
            solve_factorised(m, &matrix, &mut self.step[..m]);
        }
        self.matrix = matrix;
        if !is_solved {
            return false;
        }
        // the first obstacle: its variable, and whether it is a limit
        let mut reach = 1.0;
        let mut first: Option<(usize, f64, bool)> = None;
        let moving = |i: usize| (0..m).map(|k| self.at(i, self.free[k]) * self.step[k]).sum::<f64>();
        let nonbasic = (0..m).map(|k| (self.nonbasic[self.free[k]], self.step[k]));
        for (x, rate) in nonbasic.chain((0..self.basic.len()).map(|i| (self.basic[i], moving(i)))) {
            if rate == 0.0 || x == W {
                continue;
            }
            // f returns to 0 and changes its sign there
            let turns = self.side[x] * rate < 0.0;
            let (to_limit, to_zero) = (self.room(x, rate) / rate.abs(), (self.value[x] / rate).abs());
            if turns && to_zero < reach && self.high[x] != -self.low[x] {
                (reach, first) = (to_zero, Some((x, rate, false)));
            }
            if to_limit < reach {
                (reach, first) = (to_limit, Some((x, rate, true)));
            }
        }
        for i in 0..self.basic.len() {
            let rate: f64 = (0..m).map(|k| self.at(i, self.free[k]) * self.step[k]).sum();
            let x = self.basic[i];
            self.value[x] += reach * rate;
        }
        for k in 0..m {
            let x = self.nonbasic[self.free[k]];
            self.value[x] += reach * self.step[k];
        }
        match first {
            None => return false,
            Some((x, rate, false)) => {
                self.value[x] = 0.0;
                self.side[x] = rate.signum();
            }
            Some((x, rate, true)) => {
                self.value[x] = self.limit(x, rate);
                self.is_fixed[x] = true;
                // a variable of the active set is nonbasic
                if let Some(i) = self.basic.iter().position(|&basic| basic == x) {
                    let size = |k: &usize| self.at(i, self.free[*k]).abs();
                    let Some(k) = (0..m).max_by(|a, b| size(a).total_cmp(&size(b))) else { return false };
                    self.exchange(i, self.free[k]);
                }
            }
        }
        true
    }

    /// Releases the member of the active set with the largest multiplier of the wrong sign, relative to its terms: the
    /// sum decreases away from its limit. Returns whether there was one.
    fn release(&mut self, strongest: f64) -> bool {
        let (mut most, mut worst) = (LEVEL, None);
        for j in 0..self.nonbasic.len() {
            let x = self.nonbasic[j];
            if x == W || !self.is_fixed[x] {
                continue;
            }
            let (slope, size) = self.slope(j, strongest);
            if self.room(x, -slope) > 0.0 && slope.abs() > most * size {
                (most, worst) = (slope.abs() / size, Some(x));
            }
        }
        let Some(x) = worst else { return false };
        self.is_fixed[x] = false;
        true
    }
}

#[cfg(test)]
mod tests;

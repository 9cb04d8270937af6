//! Location of events: the first sign changes of functions along an interpolant.
//!
//! The locator knows an interpolant and a vector of functions gᵢ(s), 0 ≤ s ≤ h, nothing more. It samples the step at a
//! few points, brackets the first counted sign change of each function, and closes the brackets to a few ulps of t with
//! Chandrupatla's method (*Adv. Eng. Software* 28, 1997: inverse quadratic interpolation where it is safe, bisection
//! where it is not).
//!
//! **Signs.** A function has the sign it last had when it was not zero. A sample of exactly zero has not crossed yet,
//! so a root that falls on the end of a step is found in the next; a function that *starts* at zero has no sign until
//! it leaves zero, and leaving is not an event: it is neither fired at once nor missed when it comes back. The same
//! holds for one that starts just past a root, after an event, except that it has a sign: that it crosses back is an
//! event if its direction counts.
//!
//! **Two roots in one step.** Where a parabola through three neighbouring samples of one sign has its minimum of |g|
//! between them, and near zero or beyond, it is followed to that minimum. A valley with a kink at its bottom, like that
//! of a length |w| which nearly vanishes, is narrower than a parabola shows: where the function is convex it lies above
//! the chords of the neighbouring intervals, extended, and is followed into the corner between them if that is beyond
//! zero.

mod bracket;
mod dips;

use crate::system::Direction;
use bracket::close_bracket;
use dips::{follow_minimum, follow_valley};

/// Bracket of one sign change, in offsets from the start of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crossing {
    /// The function.
    pub index: usize,
    /// From negative to positive?
    pub rising: bool,
    /// g has its old sign here (or is zero).
    pub before: f64,
    /// g has its new sign here: just past the root.
    pub after: f64,
}

crate::archive::archived!(Crossing { index, rising, before, after });

/// Scratch and settings of the search.
#[derive(Clone, Debug)]
pub struct Locator {
    /// Samples per step, the end included.
    samples: usize,
    /// Values at the start and at the samples; row after row, `n_events` each.
    g: Vec<f64>,
    row: Vec<f64>,
    /// Values just past the first root so far.
    past: Vec<f64>,
    /// Last non-zero sign of each function: −1, 0 (not yet known), 1.
    sign: Vec<i8>,
    direction: Vec<Direction>,
    /// Functions whose sign changes on this step were shown to be the interpolant's alone.
    disregarded: Vec<bool>,
    found: Vec<Crossing>,
    n: usize,
}

impl crate::archive::Archived for Locator {
    fn archive(&mut self, archive: &mut crate::archive::Archive<'_>) {
        // values past a root and data of one step are scratch
        let Self { samples: _, past: _, disregarded: _, g, row, sign, direction, found, n } = self;
        g.archive(archive);
        row.archive(archive);
        sign.archive(archive);
        direction.archive(archive);
        archive.list(found);
        n.archive(archive);
        if *n > row.len() || found.iter().any(|crossing| crossing.index >= row.len()) {
            archive.refuse();
        }
    }
}

/// Points, in fractions of a step, at which a function that starts at zero is evaluated to see how it leaves.
const LEAVING: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];

/// The same is done for a function that starts below this fraction of its first sample: just past an event,
/// say.
const NEAR: f64 = 1e-6;

/// A start value is at most this fraction of a value that has certainly crossed: both may be round-off otherwise.
const VISIBLE: f64 = 1e-3;

/// Does a value differ in sign from `sign` (±1)?
fn has_crossed(sign: i8, g: f64) -> bool {
    f64::from(sign) * g < 0.0
}

/// Is this the kind of sign change that was asked for?
pub(crate) fn counts(direction: Direction, rising: bool) -> bool {
    match direction {
        Direction::Any => true,
        Direction::Rising => rising,
        Direction::Falling => !rising,
    }
}

/// The sign of g as −1, 0 or 1.
fn sign_of(g: f64) -> i8 {
    (g > 0.0) as i8 - (g < 0.0) as i8
}

impl Locator {
    /// Room for `n_max` functions, `samples` ≥ 1 points per step.
    pub fn new(n_max: usize, samples: usize) -> Self {
        let samples = samples.max(1);
        Locator {
            samples,
            g: vec![0.0; n_max * (samples + 1)],
            row: vec![0.0; n_max],
            past: vec![0.0; n_max],
            sign: vec![0; n_max],
            direction: vec![Direction::Any; n_max],
            disregarded: vec![false; n_max],
            found: Vec::with_capacity(n_max),
            n: 0,
        }
    }

    /// Number of functions, and room for their values at the start, to be filled before [`Locator::begin`].
    pub fn start_values(&mut self, n: usize) -> &mut [f64] {
        self.n = n;
        &mut self.g[..n]
    }

    /// Number of functions.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Which sign changes of function i count from here on.
    pub fn set_direction(&mut self, i: usize, direction: Direction) {
        self.direction[i] = direction;
    }

    /// Forgets the past: signs are those of the start values.
    pub fn begin(&mut self) {
        for i in 0..self.n {
            self.sign[i] = sign_of(self.g[i]);
        }
    }

    /// Counted sign changes on a step of length `h`, earliest first: those within `together` of the first one are all
    /// that is returned. `g` evaluates all functions at an offset; `resolution` is the width a bracket is closed to.
    /// Brackets are closed of the functions alone that have changed their sign by the first root so far: as a rule, of
    /// one or two.
    pub fn search<E>(
        &mut self,
        h: f64,
        resolution: f64,
        together: f64,
        mut g: impl FnMut(f64, &mut [f64]) -> Result<(), E>,
    ) -> Result<&[Crossing], E> {
        let (n, m) = (self.n, self.samples);
        self.found.clear();
        if n == 0 {
            return Ok(&self.found);
        }
        let at = |k: usize| if k == m { h } else { h * k as f64 / m as f64 };
        for k in 1..=m {
            g(at(k), &mut self.g[k * n..(k + 1) * n])?;
        }

        // the function whose root seems to come first goes first: most others are then evaluated at that root only
        let estimate = |i: usize| {
            let value = |k: usize| self.g[k * n + i];
            let k = (1..=m).find(|&k| has_crossed(self.sign[i], value(k)))?;
            let share = value(k - 1) / (value(k - 1) - value(k));
            let root = at(k - 1) + share * (at(k) - at(k - 1));
            (counts(self.direction[i], self.sign[i] < 0) && !self.disregarded[i]).then_some((i, root))
        };
        let first = (0..n).filter_map(estimate).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i);

        let mut horizon = h;
        for i in first.into_iter().chain((0..n).filter(|&i| Some(i) != first)) {
            if self.disregarded[i] {
                continue;
            }
            let mut sign = self.sign[i];
            // last point known to be on the side of `sign`
            let mut before = (0.0, self.g[i]);
            let mut samples = 1..m + 1;
            // at zero, or so near that the first sample does not show how the function left zero: sample closer, it may
            // have returned
            let first = self.g[n + i];
            if sign == 0 || before.1.abs() < NEAR * first.abs() {
                let visible = before.1.abs() / VISIBLE;
                let mut back = None;
                for s in LEAVING.map(|fraction| fraction * h).into_iter().chain([at(1)]) {
                    let value = if s == at(1) { first } else { component(&mut g, &mut self.row[..n], s, i)? };
                    if sign == 0 {
                        sign = sign_of(value);
                        self.sign[i] = sign;
                    } else if has_crossed(sign, value) {
                        // a value that may be round-off has not crossed
                        if s < at(1) && value.abs() <= visible {
                            continue;
                        }
                        if counts(self.direction[i], sign < 0) {
                            back = Some((s, value));
                            break;
                        }
                        sign = -sign;
                    }
                    if value != 0.0 {
                        before = (s, value);
                    }
                }
                if let Some(after) = back {
                    let row = &mut self.row[..n];
                    let (lo, hi) = close_bracket(sign, before, after, resolution, |s| component(&mut g, row, s, i))?;
                    self.found.push(Crossing { index: i, rising: sign < 0, before: lo, after: hi });
                    if hi + together < horizon {
                        horizon = hi + together;
                        if n > 1 {
                            g(horizon, &mut self.past[..n])?;
                        }
                    }
                    continue;
                }
                samples.start = 2;
            }
            for k in samples {
                let value = self.g[k * n + i];
                if sign == 0 {
                    (sign, before) = (sign_of(value), (at(k), value));
                    continue;
                }
                // a dip that this sample shows may begin two samples before
                if at(k.saturating_sub(2)) > horizon {
                    break;
                }
                let here = (at(k), value);
                // brackets of the sign change and, for a dip between samples, of the return
                let mut brackets = [None, None];
                if has_crossed(sign, value) {
                    brackets[0] = Some((before, here));
                } else {
                    let point = |k: usize| (at(k), self.g[k * n + i]);
                    let row = &mut self.row[..n];
                    let mut dip = None;
                    if k >= 2 {
                        let [a, b, c] = [k - 2, k - 1, k].map(point);
                        if b.1 * c.1 > 0.0 && a.1 * c.1 >= 0.0 {
                            dip = follow_minimum([a, b, c], |s| component(&mut g, row, s, i))?;
                            let from = dip.map(|dip| if dip.0 > b.0 { b } else { a });
                            brackets = [from.zip(dip), dip.map(|dip| (dip, here))];
                        }
                    }
                    let b = point(k - 1);
                    // at the start of a step the chord before is unknown: was the function on its own parabola there,
                    // or falling?
                    let has_come_down = || {
                        let come = if m >= 3 { 3.0 * (point(1).1 - point(2).1) + point(3).1 } else { value };
                        b.1.abs() >= value.abs() || has_crossed(sign, come)
                    };
                    if dip.is_none() && b.1 * value > 0.0 && (k >= 2 || has_come_down()) {
                        let after = (k < m).then(|| point(k + 1));
                        let points = [(k >= 2).then(|| point(k - 2)), Some(b), Some(here), after];
                        dip = follow_valley(points, |s| component(&mut g, row, s, i))?;
                        brackets = [dip.map(|dip| (b, dip)), dip.map(|dip| (dip, here))];
                    }
                }
                let (mut side, mut is_later) = (sign, false);
                for (from, to) in brackets.into_iter().flatten() {
                    // its root is later than the first so far
                    if from.0 >= horizon || horizon < to.0 && !has_crossed(side, self.past[i]) {
                        is_later = true;
                        break;
                    }
                    let rising = side < 0;
                    if counts(self.direction[i], rising) {
                        let row = &mut self.row[..n];
                        let (lo, hi) = close_bracket(side, from, to, resolution, |s| component(&mut g, row, s, i))?;
                        self.found.push(Crossing { index: i, rising, before: lo, after: hi });
                        if hi + together < horizon {
                            horizon = hi + together;
                            if n > 1 {
                                g(horizon, &mut self.past[..n])?;
                            }
                        }
                        break;
                    }
                    side = -side;
                }
                if is_later || self.found.last().is_some_and(|found| found.index == i) {
                    break;
                }
                sign = side;
                if value != 0.0 {
                    before = here;
                }
            }
        }
        self.found.sort_unstable_by(|a, b| a.after.total_cmp(&b.after));
        self.found.retain(|crossing| crossing.after <= horizon);
        Ok(&self.found)
    }

    /// Sign changes found by the last search.
    pub fn found(&self) -> &[Crossing] {
        &self.found
    }

    /// All functions are searched again: another step.
    pub(crate) fn consider_all(&mut self) {
        self.disregarded.fill(false);
    }

    /// Disregards the functions found by the last search that have not changed their sign at `end`. Whether there are
    /// any.
    pub(crate) fn disregard(&mut self, end: &[f64]) -> bool {
        let mut is_any = false;
        for crossing in &self.found {
            let is_real = has_crossed(if crossing.rising { -1 } else { 1 }, end[crossing.index]);
            self.disregarded[crossing.index] |= !is_real;
            is_any |= !is_real;
        }
        is_any
    }

    /// Whether all functions found by the last search have changed their sign at the end of the searched step, too.
    pub(crate) fn is_crossed_at_end(&self) -> bool {
        let end = &self.g[self.samples * self.n..];
        self.found.iter().all(|crossing| has_crossed(if crossing.rising { -1 } else { 1 }, end[crossing.index]))
    }

    /// The step ends where the functions have these values: they become the start values of the next.
    pub fn advance(&mut self, end: &[f64]) {
        self.g[..self.n].copy_from_slice(end);
        self.keep_signs();
    }

    /// [`Locator::advance`] with the values at the end of the last searched step.
    pub fn advance_to_end(&mut self) {
        let last = self.samples * self.n;
        self.g.copy_within(last..last + self.n, 0);
        self.keep_signs();
    }

    /// A zero leaves the sign as it was.
    fn keep_signs(&mut self) {
        for (sign, &g) in self.sign.iter_mut().zip(&self.g[..self.n]) {
            if g != 0.0 {
                *sign = sign_of(g);
            }
        }
    }

    /// Whether function i, now at `value`, has changed its sign, as found by the search or since the start of the step.
    pub fn is_crossed(&self, i: usize, value: f64) -> bool {
        match self.found.iter().find(|crossing| crossing.index == i) {
            Some(crossing) => has_crossed(if crossing.rising { -1 } else { 1 }, value),
            None => has_crossed(self.sign[i], value),
        }
    }
}

/// Function i alone.
fn component<E>(
    g: &mut impl FnMut(f64, &mut [f64]) -> Result<(), E>,
    row: &mut [f64],
    s: f64,
    i: usize,
) -> Result<f64, E> {
    g(s, row)?;
    Ok(row[i])
}

#[cfg(test)]
mod tests;

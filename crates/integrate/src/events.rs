//! Where on an interpolant do functions change sign?
//!
//! The locator knows an interpolant and a vector of functions gᵢ(s), 0 ≤ s ≤ h, nothing more. It samples the step at a few points,
//! brackets the first counted sign change of each function, and closes the brackets to a few ulps of t with Chandrupatla's method
//! (*Adv. Eng. Software* 28, 1997: inverse quadratic interpolation where it is safe, bisection where it is not).
//!
//! **Signs.** A function has the sign it last had when it was not zero. A sample of exactly zero has not crossed yet, so a root that falls
//! on the end of a step is found in the next; a function that *starts* at zero has no sign until it leaves zero, and leaving is not
//! an event: it is neither fired at once nor missed when it comes back. The same holds for one that starts just past a root, after an
//! event, except that it has a sign: that it crosses back is an event if its direction counts.
//!
//! **Two roots in one step.** Where a parabola through three neighbouring samples of one sign has its minimum of |g| between them, and
//! near zero or beyond, it is followed to that minimum. A valley with a kink at its bottom, like that of a length |w| which nearly vanishes,
//! is narrower than a parabola shows: where the function is convex it lies above the chords of the neighbouring intervals, extended, and
//! is followed into the corner between them if that is beyond zero.

use crate::system::Direction;

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
        // values past a root, and what belongs to one step, are scratch
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

/// Where, in fractions of a step, a function that starts at zero is looked at to see how it leaves.
const LEAVING: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];

/// A function is looked at like that, too, if it starts below this fraction of its first sample: just past an event, say.
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

    /// Counted sign changes on a step of length `h`, earliest first: those within `together` of the first one are all that is
    /// returned. `g` evaluates all functions at an offset; `resolution` is the width a bracket is closed to. Brackets are closed of the
    /// functions alone that have changed their sign by the first root so far: as a rule, of one or two.
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

        // the function whose root seems to come first goes first: of most others nothing more is asked then than where they are at that root
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
            // at zero, or so near that the first sample says nothing of how the function left: look closer, it may be back already
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
                        // what may be round-off has not crossed
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
                // brackets of the way across and, for a dip between samples, of the way back
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
                    // at the start of a step the chord before is unknown: had the function come along its own parabola, or down, there?
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

    /// Disregards the functions found by the last search that have not changed their sign at `end`. Whether there are any.
    pub(crate) fn disregard(&mut self, end: &[f64]) -> bool {
        let mut is_any = false;
        for crossing in &self.found {
            let is_real = has_crossed(if crossing.rising { -1 } else { 1 }, end[crossing.index]);
            self.disregarded[crossing.index] |= !is_real;
            is_any |= !is_real;
        }
        is_any
    }

    /// Have all functions found by the last search changed their sign at the end of the searched step, too?
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

    /// Has function i, now at `value`, changed its sign: as the search said it would, or since the start of the step?
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

/// Closes a bracket of a sign change, g(a) on the side of `sign` (or zero), g(b) beyond it, to `resolution`; returns (before, after).
fn close_bracket<E>(
    sign: i8,
    (a, ga): (f64, f64),
    (b, gb): (f64, f64),
    resolution: f64,
    mut g: impl FnMut(f64) -> Result<f64, E>,
) -> Result<(f64, f64), E> {
    // x₁ the newest point, x₂ the other end of the bracket, x₃ the point dropped last
    let (mut x1, mut g1, mut x2, mut g2) = (b, gb, a, ga);
    let mut t = if ga == gb { 0.5 } else { (gb / (gb - ga)).clamp(0.0, 1.0) };
    // bisection alone needs 52 halvings of a step; interpolation needs less than twice that at its very worst
    for _ in 0..120 {
        let width = (x2 - x1).abs();
        let least = 0.5 * resolution / width;
        if least.is_nan() || least >= 0.5 {
            break;
        }
        let x = x1 + t.clamp(least, 1.0 - least) * (x2 - x1);
        if x == x1 || x == x2 {
            break;
        }
        let gx = g(x)?;
        let (x3, g3) = if has_crossed(sign, gx) == has_crossed(sign, g1) {
            (x1, g1)
        } else {
            let dropped = (x2, g2);
            (x2, g2) = (x1, g1);
            dropped
        };
        (x1, g1) = (x, gx);

        // inverse quadratic interpolation where it is monotone (Chandrupatla's criterion)
        let xi = (x1 - x2) / (x3 - x2);
        let phi = (g1 - g2) / (g3 - g2);
        t = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            g1 / (g2 - g1) * g3 / (g2 - g3) + (x3 - x1) / (x2 - x1) * g1 / (g3 - g1) * g2 / (g3 - g2)
        } else {
            0.5
        };
        if !t.is_finite() {
            t = 0.5;
        }
    }
    Ok(if has_crossed(sign, g1) { (x2, x1) } else { (x1, x2) })
}

/// Follows parabolas to the minimum of |g| between three points of one sign; the first point of the other sign, if any.
fn follow_minimum<E>(
    points: [(f64, f64); 3],
    mut g: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<(f64, f64)>, E> {
    let (mut s, mut v) = (points.map(|point| point.0), points.map(|point| point.1));
    let sign = sign_of(v[2]);
    for _ in 0..6 {
        // vertex of the parabola through the three points
        let d01 = (v[1] - v[0]) / (s[1] - s[0]);
        let d12 = (v[2] - v[1]) / (s[2] - s[1]);
        let curvature = (d12 - d01) / (s[2] - s[0]);
        let x = 0.5 * (s[0] + s[1] - d01 / curvature);
        let margin = 1e-6 * (s[2] - s[0]);
        let is_inside = x > s[0] + margin && x < s[2] - margin && x != s[1];
        let is_minimum = f64::from(sign) * curvature > 0.0;
        if !is_inside || !is_minimum {
            return Ok(None);
        }
        // if even a parabola three times as deep stays clear of zero there is no pair of roots
        let depth = f64::from(sign) * (v[1] + d01 * (x - s[1]) + curvature * (x - s[0]) * (x - s[1]));
        let least = v[0].abs().min(v[1].abs()).min(v[2].abs());
        if depth - 2.0 * (least - depth) > 0.0 {
            return Ok(None);
        }
        let value = g(x)?;
        if has_crossed(sign, value) {
            return Ok(Some((x, value)));
        }
        // keep the three points around the smallest |g|
        let is_left = x < s[1];
        if value.abs() < v[1].abs() {
            if is_left {
                (s, v) = ([s[0], x, s[1]], [v[0], value, v[1]]);
            } else {
                (s, v) = ([s[1], x, s[2]], [v[1], value, v[2]]);
            }
        } else if is_left {
            (s[0], v[0]) = (x, value);
        } else {
            (s[2], v[2]) = (x, value);
        }
    }
    Ok(None)
}

/// Evaluations in one valley at most. At a sharp bottom, each of them moves one of the chords onto its side.
const MAX_VALLEY: usize = 8;

/// Follows a convex |g| between the middle two of four points of one sign, those outside being known or not; the first point of the other
/// sign, if any. It lies above the chords of the outer intervals, extended: only where these meet beyond zero is it evaluated.
fn follow_valley<E>(
    [before, from, to, after]: [Option<(f64, f64)>; 4],
    mut g: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<(f64, f64)>, E> {
    let (Some(mut a), Some(mut b)) = (from, to) else { return Ok(None) };
    let sign = f64::from(sign_of(a.1));
    let slope = |a: (f64, f64), b: (f64, f64)| sign * (b.1 - a.1) / (b.0 - a.0);
    // slopes of the chords on both sides; at the ends of a step one is unknown, and the valley as steep as can be
    let mut falling = before.map_or(f64::NEG_INFINITY, |before| slope(before, a));
    let mut rising = after.map_or(f64::INFINITY, |after| slope(b, after));
    let width = b.0 - a.0;
    for _ in 0..MAX_VALLEY {
        if falling >= 0.0 || rising <= 0.0 {
            return Ok(None);
        }
        // each chord, extended, meets zero inside: before x the one, after it the other
        let zeros = [a.0 - a.1.abs() / falling, b.0 - b.1.abs() / rising];
        if zeros[1] - zeros[0] < 1e-6 * width {
            return Ok(None);
        }
        // below where they meet
        let share = if falling.is_finite() && rising.is_finite() { rising / (rising - falling) } else { 0.5 };
        let x = zeros[0] + share * (zeros[1] - zeros[0]);
        if !(x > a.0 && x < b.0) {
            return Ok(None);
        }
        let value = (x, g(x)?);
        if sign * value.1 < 0.0 {
            return Ok(Some(value));
        }
        // the half in which the chords reach further beyond zero
        let (left, right) = (slope(a, value), slope(value, b));
        if right <= 0.0 {
            (a, falling) = (value, left);
        } else if left >= 0.0 {
            (b, rising) = (value, right);
        } else {
            let gap = |a: (f64, f64), b: (f64, f64), falling: f64, rising: f64| {
                (b.0 - b.1.abs() / rising) - (a.0 - a.1.abs() / falling)
            };
            let gaps = [gap(a, value, falling, right), gap(value, b, left, rising)];
            // a chord that is known says more than one that is not
            let is_first = match (falling.is_finite(), rising.is_finite()) {
                (false, true) => gaps[1] <= 0.0,
                (true, false) => gaps[0] > 0.0,
                _ => gaps[0] >= gaps[1],
            };
            if is_first {
                (b, rising) = (value, right);
            } else {
                (a, falling) = (value, left);
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Searches one function on [0, h].
    fn search(h: f64, samples: usize, direction: Direction, f: impl Fn(f64) -> f64) -> (Vec<Crossing>, usize) {
        let mut locator = Locator::new(1, samples);
        locator.start_values(1)[0] = f(0.0);
        locator.begin();
        locator.set_direction(0, direction);
        let mut n = 0;
        let found = locator.search(h, 1e-15, 1e-14, |s, g| {
            n += 1;
            g[0] = f(s);
            Ok::<(), Infallible>(())
        });
        (found.unwrap().to_vec(), n)
    }

    #[test]
    fn a_root_is_bracketed_to_resolution_in_few_evaluations() {
        // cos x = x at 0.739085133215160641655…
        let (found, n) = search(1.0, 4, Direction::Any, |s| s - s.cos());
        assert_eq!(found.len(), 1);
        assert!(found[0].rising && found[0].after > found[0].before);
        assert!(found[0].after - found[0].before <= 1.0e-15);
        assert!((found[0].after - 0.739_085_133_215_160_6).abs() < 3e-15, "{:?}", found[0]);
        assert!(n <= 4 + 10, "{n} evaluations");
    }

    #[test]
    fn hard_functions_are_bracketed_too() {
        // a triple root, a step, a pole-like slope: no interpolation helps, bisection must
        for f in [|s: f64| (s - 0.3).powi(3), |s: f64| if s < 0.3 { -1.0 } else { 1.0 }, |s: f64| (s - 0.3).cbrt()] {
            let (found, n) = search(1.0, 4, Direction::Any, f);
            assert_eq!(found.len(), 1);
            assert!((found[0].after - 0.3).abs() < 1e-14, "{:?}", found[0]);
            assert!(n < 130, "{n} evaluations");
        }
    }

    #[test]
    fn direction_is_respected() {
        let sine = |s: f64| (std::f64::consts::PI * (s + 0.5)).sin(); // falls at 0.5, rises at 1.5
        assert!((search(2.0, 8, Direction::Any, sine).0[0].after - 0.5).abs() < 1e-14);
        assert!((search(2.0, 8, Direction::Falling, sine).0[0].after - 0.5).abs() < 1e-14);
        assert!((search(2.0, 8, Direction::Rising, sine).0[0].after - 1.5).abs() < 1e-14);
        assert!(search(1.0, 8, Direction::Rising, sine).0.is_empty());
    }

    #[test]
    fn two_roots_between_samples_are_found_where_the_samples_show_a_minimum() {
        // roots 0.55 and 0.57 between the samples 0.5 and 0.75: no sample sees a sign change
        let dip = |s: f64| (s - 0.55) * (s - 0.57);
        assert!((search(1.0, 4, Direction::Any, dip).0[0].after - 0.55).abs() < 1e-14);
        assert!((search(1.0, 4, Direction::Rising, dip).0[0].after - 0.57).abs() < 1e-14);
        // a dip that stays clear of zero is not an event
        assert!(search(1.0, 4, Direction::Any, |s| (s - 0.56) * (s - 0.56) + 1e-6).0.is_empty());
        // nor is one that touches it
        assert!(search(1.0, 4, Direction::Any, |s| (s - 0.56) * (s - 0.56)).0.is_empty());
    }

    #[test]
    fn valley_with_a_sharp_bottom_between_samples_is_found() {
        // |s − bottom| of two steepnesses, 0.01 below zero at the bottom: at most 0.02 wide, samples 0.25 apart
        for bottom in [0.1, 0.3, 0.37, 0.55, 0.62, 0.7, 0.9] {
            for steepness in [1.0, 3.0] {
                let valley = |s: f64| {
                    let w = s - bottom;
                    (if w < 0.0 { -w } else { steepness * w }) - 0.01 + 0.02 * w * w
                };
                let (found, n) = search(1.0, 4, Direction::Falling, valley);
                assert_eq!(found.len(), 1, "{bottom}");
                assert!(n < 30, "{n}");
                // the same above zero is no event
                let clear = search(1.0, 4, Direction::Falling, |s| valley(s) + 0.02);
                assert!(clear.0.is_empty() && clear.1 < 16, "{}", clear.1);
            }
        }
    }

    #[test]
    fn a_dip_before_the_root_of_another_function_comes_first() {
        // both in the first of four intervals: roots 0.04 and 0.22 of the dip, 0.08 of the other
        let mut locator = Locator::new(2, 4);
        let f = |s: f64| [0.08 - s, (s - 0.04) * (s - 0.22)];
        for i in 0..2 {
            locator.set_direction(i, Direction::Falling);
        }
        locator.start_values(2).copy_from_slice(&f(0.0));
        locator.begin();
        let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
            g.copy_from_slice(&f(s));
            Ok::<(), Infallible>(())
        });
        let found = found.unwrap();
        assert_eq!(found.iter().map(|crossing| crossing.index).collect::<Vec<_>>(), [1]);
        assert!((found[0].after - 0.04).abs() < 1e-14);
    }

    #[test]
    fn of_many_functions_only_the_first_are_bracketed() {
        // roots 0.26 to 0.74 in mixed order; one root takes some ten evaluations
        let mut locator = Locator::new(97, 4);
        let root = |i: usize| 0.26 + 0.005 * ((96 - i) * 40 % 97) as f64;
        let f = |s: f64, i: usize| (root(i) - s) * (1.0 + s);
        locator.start_values(97).iter_mut().enumerate().for_each(|(i, g)| *g = f(0.0, i));
        locator.begin();
        let mut evaluations = 0;
        let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
            evaluations += 1;
            g.iter_mut().enumerate().for_each(|(i, g)| *g = f(s, i));
            Ok::<(), Infallible>(())
        });
        let found = found.unwrap();
        assert_eq!(found.iter().map(|crossing| crossing.index).collect::<Vec<_>>(), [96]);
        assert!((found[0].after - 0.26).abs() < 1e-14);
        assert!(evaluations < 100, "{evaluations}");
    }

    #[test]
    fn a_function_that_starts_at_zero_fires_when_it_comes_back() {
        let (found, _) = search(1.0, 4, Direction::Any, |s| s * (0.6 - s));
        assert_eq!(found.len(), 1);
        assert!((found[0].after - 0.6).abs() < 1e-14 && !found[0].rising);
        assert!(search(1.0, 4, Direction::Any, |s| s).0.is_empty());
        assert!(search(1.0, 4, Direction::Any, |_| 0.0).0.is_empty());
    }

    #[test]
    fn a_function_that_starts_at_zero_and_is_back_before_the_first_sample_is_not_missed() {
        for back in [0.1, 1e-3, 1e-5, 1e-7] {
            let (found, _) = search(1.0, 4, Direction::Falling, |s| s * (back - s));
            assert_eq!(found.len(), 1, "{back}");
            assert!((found[0].after - back).abs() < 1e-14);
        }
    }

    #[test]
    fn a_function_that_starts_just_past_a_root_is_followed_out_and_back() {
        // a bouncing ball: below the ground by round-off, up at once, down again long before the first sample
        for back in [0.1, 1e-3, 1e-5, 1e-7] {
            let ball = |s: f64| s * (back - s) - 1e-20;
            let (falling, _) = search(1.0, 4, Direction::Falling, ball);
            assert_eq!(falling.len(), 1, "{back}");
            assert!((falling[0].after - back).abs() < 1e-10 && !falling[0].rising);
            let (any, _) = search(1.0, 4, Direction::Any, ball);
            assert!(any.len() == 1 && any[0].rising && any[0].after < 1e-10, "{back}: {any:?}");
        }
        // round-off of either sign around the start is not an event, nor is going on
        let rough = |s: f64| if s < 1e-3 { 5e-18 - 1e-17 * (1e9 * s).cos() } else { -s };
        assert!(search(1.0, 4, Direction::Any, rough).0.is_empty());
        assert!(search(1.0, 4, Direction::Any, |s| -s - 1e-18).0.is_empty());
    }

    #[test]
    fn two_roots_beside_the_ends_of_a_step_are_found() {
        // no sample inside the step is nearer to zero than its end
        for (a, b) in [(0.02, 0.03), (0.1, 0.11), (0.93, 0.95), (0.89, 0.9)] {
            let dip = |s: f64| (s - a) * (s - b) * (1.0 + 0.3 * s);
            let (found, n) = search(1.0, 4, Direction::Any, dip);
            assert!(found.len() == 1 && (found[0].after - a).abs() < 1e-14, "{a} {b}: {found:?}");
            assert!(n < 30, "{n}");
        }
        // smooth functions without a dip cost nothing extra
        for smooth in [|s: f64| 1.0 + s, |s: f64| (-s).exp(), |s: f64| 2.0 - s * s, |s: f64| s * s + 1e-2] {
            assert_eq!(search(1.0, 4, Direction::Any, smooth).1, 4);
        }
    }

    #[test]
    fn a_root_on_the_end_of_a_step_is_found_in_the_next() {
        let f = |s: f64| 1.0 - s;
        let mut locator = Locator::new(1, 4);
        locator.start_values(1)[0] = f(0.0);
        locator.begin();
        let g0 = |s: f64, g: &mut [f64]| {
            g[0] = f(s);
            Ok::<(), Infallible>(())
        };
        assert!(locator.search(1.0, 1e-15, 1e-14, g0).unwrap().is_empty());
        locator.advance_to_end();
        let g1 = |s: f64, g: &mut [f64]| {
            g[0] = f(1.0 + s);
            Ok::<(), Infallible>(())
        };
        let found = locator.search(1.0, 1e-15, 1e-14, g1).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].after < 1e-14);
    }

    #[test]
    fn coincident_roots_come_together_and_later_ones_do_not() {
        let mut locator = Locator::new(3, 4);
        let f = |s: f64| [s - 0.4, 0.8 - 2.0 * s, s - 0.7];
        locator.start_values(3).copy_from_slice(&f(0.0));
        locator.begin();
        let found = locator.search(1.0, 1e-15, 1e-14, |s, g| {
            g.copy_from_slice(&f(s));
            Ok::<(), Infallible>(())
        });
        let mut indices: Vec<_> = found.unwrap().iter().map(|c| c.index).collect();
        indices.sort_unstable();
        assert_eq!(indices, [0, 1]);
    }
}

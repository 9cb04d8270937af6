//! Two roots between samples of one sign: a minimum of |g| that may lie beyond zero.
//!
//! A smooth minimum is followed by parabolas through the three points around the smallest |g|. One with a kink, like
//! that of a length |w| that nearly vanishes, is narrower than a parabola shows: where |g| is convex it lies above the
//! chords of the neighbouring intervals, extended, and is evaluated only where these meet beyond zero.

use super::{has_crossed, sign_of};

/// Follows parabolas to the minimum of |g| between three points of one sign; the first point of the other sign, if any.
pub(super) fn follow_minimum<E>(
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

/// Largest number of evaluations in one valley. At a kink each of them moves one of the chords onto its side.
const MAX_VALLEY: usize = 8;

/// Follows a convex |g| between the middle two of four points of one sign, those outside being known or not; the first
/// point of the other sign, if any. It lies above the chords of the outer intervals, extended: only where these meet
/// beyond zero is it evaluated.
pub(super) fn follow_valley<E>(
    [before, from, to, after]: [Option<(f64, f64)>; 4],
    mut g: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<(f64, f64)>, E> {
    let (Some(mut a), Some(mut b)) = (from, to) else { return Ok(None) };
    let sign = f64::from(sign_of(a.1));
    let slope = |a: (f64, f64), b: (f64, f64)| sign * (b.1 - a.1) / (b.0 - a.0);
    // slopes of the chords on both sides; at the ends of a step one is unknown and taken as infinite
    let mut falling = before.map_or(f64::NEG_INFINITY, |before| slope(before, a));
    let mut rising = after.map_or(f64::INFINITY, |after| slope(b, after));
    let width = b.0 - a.0;
    for _ in 0..MAX_VALLEY {
        if falling >= 0.0 || rising <= 0.0 {
            return Ok(None);
        }
        // each extended chord meets zero inside: the first before x, the second after it
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
            // known chords are preferred
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

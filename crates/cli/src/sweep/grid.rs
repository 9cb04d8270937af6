//! The grid of a sweep: ranges of values, and the points they make.
//!
//!     x_k = from + (to − from) k / (n − 1),   k = 0 … n − 1
//!
//! Both ends are as typed. Between them, a value that is a short decimal but for round-off is that decimal: with
//! s the larger of |from| and |to|, x_k is rounded to 15 digits counted from the first one of s, and if the last three
//! of them are zero, that is taken. So 0.1:0.3:5 has 0.15 and 0.25, not 0.15000000000000002, and 0:1:4 has thirds to
//! the last bit.

use crate::settings::split_outside_brackets;

/// Points of a grid at most.
pub const MAX_POINTS: usize = 100_000_000;

/// Values of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Where they go.
    pub path: String,
    /// The values.
    pub values: Vec<f64>,
}

impl Range {
    /// `FROM:TO:N`; `None` where the text is a value: those have colons only in brackets and quotes.
    pub fn parse(path: &str, text: &str) -> Option<Result<Self, String>> {
        let parts = split_outside_brackets(text, ':');
        if parts.len() == 1 {
            return None;
        }
        let refused = |reason: &str| {
            let help = "a range is FROM:TO:N, N values from FROM to TO, such as 0.1:1.0:10";
            Some(Err(format!("`{path}={text}`: {reason}; {help}")))
        };
        let [from, to, n] = parts[..] else {
            return refused(if parts.len() == 2 { "N is missing" } else { "there are too many colons" });
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let Some(from) = number(from) else { return refused("FROM is not a finite number") };
        let Some(to) = number(to) else { return refused("TO is not a finite number") };
        let Ok(n) = n.trim().parse::<usize>() else { return refused("N is not a whole number") };
        if n == 0 || n > MAX_POINTS {
            return refused(&format!("N is not between 1 and {MAX_POINTS}"));
        }
        Some(Ok(Self { path: path.into(), values: spread(from, to, n) }))
    }
}

/// N values from one number to another.
fn spread(from: f64, to: f64, n: usize) -> Vec<f64> {
    let scale = from.abs().max(to.abs());
    let at = |k: usize| match k {
        0 => from,
        _ if k + 1 == n => to,
        _ => {
            let part = k as f64 / (n - 1) as f64;
            let x = from + (to - from) * k as f64 / (n - 1) as f64;
            // ends so far apart that their distance is no number
            let x = if x.is_finite() { x } else { from * (1.0 - part) + to * part };
            as_typed(x, scale).unwrap_or(x)
        }
    };
    (0..n).map(at).collect()
}

/// The short decimal that `x` is but for round-off at `scale`.
fn as_typed(x: f64, scale: f64) -> Option<f64> {
    const DIGITS: i32 = 15;
    const ZEROS: i32 = 3;
    if x == 0.0 {
        return None;
    }
    let exponent = |x: f64| format!("{x:e}").split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    // digits of x itself down to the last that counts
    let digits = DIGITS - (exponent(scale)? - exponent(x)?);
    if digits < 1 {
        return Some(0.0);
    }
    let rounded = format!("{x:.*e}", (digits - 1) as usize);
    let (mantissa, _) = rounded.split_once('e')?;
    let zeros = mantissa.bytes().rev().filter(|&c| c != b'.').take_while(|&c| c == b'0').count() as i32;
    if zeros >= ZEROS.min(digits) { rounded.parse().ok() } else { None }
}

/// All points of the ranges; the last range runs fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The ranges, in the order of the columns.
    pub ranges: Vec<Range>,
    n_points: usize,
}

impl Grid {
    /// Of ranges with paths of their own, at least one.
    pub fn new(ranges: Vec<Range>) -> Result<Self, String> {
        if ranges.is_empty() {
            return Err("there is nothing to sweep: no --set gives a range FROM:TO:N, such as --set \
                joints.elbow.damping=0:1:5; \
                        `bristle run` runs a scene once"
                .into());
        }
        for (k, range) in ranges.iter().enumerate() {
            if ranges[..k].iter().any(|other| other.path == range.path) {
                return Err(format!("two ranges are given for `{}`: keep one of them", range.path));
            }
        }
        let n_points = ranges.iter().try_fold(1_usize, |n, range| n.checked_mul(range.values.len()));
        match n_points.filter(|&n| n <= MAX_POINTS) {
            Some(n_points) => Ok(Self { ranges, n_points }),
            None => Err(format!("the grid has more than {MAX_POINTS} points")),
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.n_points
    }

    /// The point in the middle of every range.
    pub fn middle(&self) -> usize {
        self.ranges.iter().fold(0, |k, range| k * range.values.len() + range.values.len() / 2)
    }

    /// Values of the ranges at point `k`.
    pub fn values(&self, mut k: usize) -> Vec<f64> {
        let mut values = vec![0.0; self.ranges.len()];
        for (value, range) in values.iter_mut().zip(&self.ranges).rev() {
            *value = range.values[k % range.values.len()];
            k /= range.values.len();
        }
        values
    }
}

/// Every `step`-th point of a grid from `first` on, as many as there are: a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points {
    first: usize,
    step: usize,
    len: usize,
}

impl Points {
    /// The `i`-th of `n` shards of a grid with so many points; 1 ≤ i ≤ n.
    pub fn new(n_points: usize, (i, n): (usize, usize)) -> Self {
        Self { first: i - 1, step: n, len: n_points.saturating_sub(i - 1).div_ceil(n) }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The point in place `i`.
    pub fn point(&self, i: usize) -> usize {
        self.first + i * self.step
    }

    /// The place of a point.
    pub fn place(&self, point: usize) -> Option<usize> {
        let from = point.checked_sub(self.first)?;
        (from.is_multiple_of(self.step) && from / self.step < self.len).then_some(from / self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<f64> {
        Range::parse("x", text).unwrap().unwrap().values
    }

    #[test]
    fn decimal_grids_come_out_as_typed() {
        assert_eq!(values("0.1:0.3:5"), [0.1, 0.15, 0.2, 0.25, 0.3]);
        assert_eq!(values("0.3:0.6:4"), [0.3, 0.4, 0.5, 0.6]);
        assert_eq!(values("-0.1:0.2:4"), [-0.1, 0.0, 0.1, 0.2]);
        assert_eq!(values("1e-7:5e-7:5"), [1e-7, 2e-7, 3e-7, 4e-7, 5e-7]);
        assert_eq!(values("1e20:3e20:3"), [1e20, 2e20, 3e20]);
        assert_eq!(values("0:1:11"), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        // every hundredth, downwards too; plain f64 arithmetic misses some of both
        let up: Vec<f64> = (0..=100).map(|k| format!("0.{k:02}").parse().unwrap()).collect();
        assert_eq!(values("0:0.99:100"), up[..100]);
        assert_eq!(values("0.99:0:100"), up[..100].iter().rev().copied().collect::<Vec<f64>>());
    }

    #[test]
    fn long_values_keep_every_bit() {
        assert_eq!(values("0:1:4"), [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
        assert_eq!(values("-1:1:4")[1], -1.0 + 2.0 * 1.0 / 3.0);
        assert_eq!(values("0.1234567890123456:1:1"), [0.1234567890123456]);
        assert_eq!(values("0.1234567890123456:0.9876543210987654:2"), [0.1234567890123456, 0.9876543210987654]);
        // the ends may be as far apart as numbers go
        assert_eq!(values("-1.7e308:1.7e308:3"), [-1.7e308, 0.0, 1.7e308]);
        assert_eq!(values("0:5e-324:3").len(), 3);
    }

    #[test]
    fn malformed_ranges_are_refused() {
        for text in ["1:2", "a:b:c", "1:2:3:4", "1:2:0", "1:2:x", "1:inf:3", "nan:1:3", "1:2:-3", ":", "1:2:1e3", "::"]
        {
            let refused = Range::parse("x", text).unwrap().unwrap_err();
            assert!(refused.contains("FROM:TO:N") && refused.contains(text), "{refused}");
        }
        for text in ["0.3", "Coulomb(coulomb: 0.3)", "\"a:b\"", "(0, 0, -1.62)"] {
            assert_eq!(Range::parse("x", text), None, "{text}");
        }
    }

    #[test]
    fn shards_share_the_points_among_them() {
        let mut all: Vec<usize> = Vec::new();
        for i in 1..=5 {
            let points = Points::new(12, (i, 5));
            all.extend((0..points.len()).map(|place| points.point(place)));
            assert!((0..points.len()).all(|place| points.place(points.point(place)) == Some(place)));
            assert_eq!((points.place(i), points.place(i + 14)), (None, None));
        }
        all.sort_unstable();
        assert_eq!(all, (0..12).collect::<Vec<_>>());
        assert_eq!(Points::new(2, (3, 3)).len(), 0);
    }

    #[test]
    fn the_last_range_runs_fastest() {
        let range = |path: &str, text: &str| Range::parse(path, text).unwrap().unwrap();
        let grid = Grid::new(vec![range("a", "0:1:2"), range("b", "1:3:3")]).unwrap();
        let points: Vec<Vec<f64>> = (0..grid.len()).map(|k| grid.values(k)).collect();
        assert_eq!(points, [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]);
        assert_eq!(grid.values(grid.middle()), [1.0, 2.0]);
        assert!(Grid::new(Vec::new()).unwrap_err().contains("FROM:TO:N"));
        assert!(Grid::new(vec![range("a", "0:1:2"), range("a", "0:1:3")]).unwrap_err().contains("`a`"));
        assert!(Grid::new(vec![range("a", "0:1:20000"), range("b", "0:1:20000")]).unwrap_err().contains("points"));
    }
}

//! Curves against curves: interpolation, largest and root-mean-square differences.
//!
//! These measure errors as the papers do: a curve at its own instants, against a baseline that is much finer and taken
//! as linear between its points, the mean over time by the trapezoidal rule. `bristle compare` compares two tables of
//! results instead, neither of which is a reference: at common instants, by cubics, with the mean over rows.

/// The value of a curve at `t`, linear between its points. `hint` is the index of the last one: times in ascending
/// order need no search.
pub fn interpolate(t: &[f64], x: &[f64], at: f64, hint: &mut usize) -> f64 {
    let last = t.len().min(x.len()).saturating_sub(1);
    if last == 0 {
        return x.first().copied().unwrap_or(f64::NAN);
    }
    if t[*hint] > at {
        *hint = t.partition_point(|&t| t <= at).saturating_sub(1);
    }
    while *hint + 1 < last && t[*hint + 1] <= at {
        *hint += 1;
    }
    let (k, h) = (*hint, t[*hint + 1] - t[*hint]);
    if h > 0.0 { x[k] + (x[k + 1] - x[k]) * ((at - t[k]) / h).clamp(0.0, 1.0) } else { x[k + 1] }
}

/// Difference of a curve from another, at the times of the first.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Difference {
    /// Largest.
    pub max: f64,
    /// √(1/T ∫ E² dt).
    pub rms: f64,
}

/// The difference of a curve from a baseline. A value that is not finite makes it infinite.
pub fn difference((t, x): (&[f64], &[f64]), (base_t, base_x): (&[f64], &[f64])) -> Difference {
    let mut hint = 0;
    let errors: Vec<f64> =
        t.iter().zip(x).map(|(&t, &x)| (x - interpolate(base_t, base_x, t, &mut hint)).abs()).collect();
    if errors.iter().any(|error| !error.is_finite()) {
        return Difference { max: f64::INFINITY, rms: f64::INFINITY };
    }
    let squares: f64 = (1..errors.len())
        .map(|k| 0.5 * (errors[k] * errors[k] + errors[k - 1] * errors[k - 1]) * (t[k] - t[k - 1]))
        .sum();
    let duration = t.last().zip(t.first()).map_or(0.0, |(end, start)| end - start);
    let rms = if duration > 0.0 { (squares / duration).sqrt() } else { 0.0 };
    Difference { max: errors.iter().fold(0.0, |most: f64, &e| most.max(e)), rms }
}

/// Smallest and largest of some values; (∞, −∞) of none.
pub fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, |(low, high), x| (low.min(x), high.max(x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_lines() {
        let base = ([0.0, 1.0, 4.0], [0.0, 1.0, 4.0]);
        let mut hint = 0;
        let found: Vec<f64> =
            [0.0, 0.5, 2.5, 4.0, 0.25].iter().map(|&t| interpolate(&base.0, &base.1, t, &mut hint)).collect();
        assert_eq!(found, [0.0, 0.5, 2.5, 4.0, 0.25]);
        // a curve that is 2 above everywhere
        let t = [0.0, 0.7, 3.0];
        let found = difference((&t, &t.map(|t| t + 2.0)), (&base.0, &base.1));
        assert!((found.max - 2.0).abs() < 1e-15 && (found.rms - 2.0).abs() < 1e-15, "{found:?}");
        assert_eq!(difference((&t, &[0.0, f64::NAN, 0.0]), (&base.0, &base.1)).max, f64::INFINITY);
    }
}

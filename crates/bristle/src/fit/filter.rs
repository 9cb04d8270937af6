//! Zero-phase low-pass filter, and derivatives of a sampled position.
//!
//! A Butterworth filter of second order, forwards and backwards: no phase, |H|² of fourth order. By the bilinear
//! transform with c = tan(π f/f_s):
//!
//! ```text
//! y_k = b (x_k + 2 x_{k−1} + x_{k−2}) − a₁ y_{k−1} − a₂ y_{k−2}
//! b = c²/d      a₁ = 2 (c² − 1)/d      a₂ = (1 − √2 c + c²)/d      d = 1 + √2 c + c²
//! ```
//!
//! The signal is continued at both ends by its point reflection, so that a filter starts in its steady state.

/// Low-pass of corner frequency `band` Hz over samples every `dt` s, in place. A band above the Nyquist frequency does
/// nothing.
pub fn low_pass(x: &mut [f64], band: f64, dt: f64) {
    let n = x.len();
    if n < 4 || band * dt >= 0.5 {
        return;
    }
    let c = (std::f64::consts::PI * band * dt).tan();
    // a few time constants of the filter
    let pad = ((3.0 / (band * dt)).ceil() as usize).clamp(1, n - 1);
    let mut wide = Vec::with_capacity(n + 2 * pad);
    wide.extend((1..=pad).rev().map(|k| 2.0 * x[0] - x[k]));
    wide.extend_from_slice(x);
    wide.extend((1..=pad).map(|k| 2.0 * x[n - 1] - x[n - 1 - k]));
    pass(&mut wide, c);
    wide.reverse();
    pass(&mut wide, c);
    wide.reverse();
    x.copy_from_slice(&wide[pad..pad + n]);
}

/// The filter in one direction, from its steady state.
fn pass(x: &mut [f64], c: f64) {
    let root = std::f64::consts::SQRT_2 * c;
    let d = 1.0 + root + c * c;
    let (b, a1, a2) = (c * c / d, 2.0 * (c * c - 1.0) / d, (1.0 - root + c * c) / d);
    let [mut x1, mut x2, mut y1, mut y2] = [x[0]; 4];
    for x in x {
        let y = b * (*x + 2.0 * x1 + x2) - a1 * y1 - a2 * y2;
        (x2, x1, y2, y1) = (x1, *x, y1, y);
        *x = y;
    }
}

/// Central differences of samples at times `t`.
pub fn differentiate(t: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let slope = |a: usize, b: usize| (x[b] - x[a]) / (t[b] - t[a]);
    (0..n).map(|k| if n < 2 { 0.0 } else { slope(k.saturating_sub(1), (k + 1).min(n - 1)) }).collect()
}

/// The median distance of successive times, s.
pub fn median_step(t: &[f64]) -> f64 {
    let mut steps: Vec<f64> = t.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_low_and_stops_high_frequencies_without_phase() {
        let dt = 1e-3;
        let wave =
            |f: f64| (0..2000).map(|k| (2.0 * std::f64::consts::PI * f * k as f64 * dt).sin()).collect::<Vec<_>>();
        for (f, gain) in [(2.0, 1.0), (20.0, 0.5), (200.0, 0.0)] {
            let (mut x, y) = (wave(f), wave(f));
            low_pass(&mut x, 20.0, dt);
            // |H(f)|² = 1/(1 + (tan πf dt/tan πf_c dt)⁴), ½ at the corner; the ends are left out
            let worst = (500..1500).map(|k| (x[k] - gain * y[k]).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-3, "{f} Hz: {worst}");
        }
    }
}

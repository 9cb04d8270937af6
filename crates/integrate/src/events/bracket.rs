//! Closing a bracket [a, b] of a sign change by Chandrupatla's method (*Adv. Eng. Software* 28, 1997).
//!
//! With x₁ the newest point, x₂ the other end of the bracket and x₃ the point dropped last, inverse quadratic
//! interpolation through the three is used where it is monotone,
//!
//! ```text
//!     φ² < ξ  and  (1−φ)² < 1−ξ,     ξ = (x₁−x₂)/(x₃−x₂),   φ = (g₁−g₂)/(g₃−g₂),
//! ```
//!
//! and bisection elsewhere.

use super::has_crossed;

/// Closes a bracket of a sign change, g(a) on the side of `sign` (or zero), g(b) beyond it, to `resolution`; returns
/// (before, after).
pub(super) fn close_bracket<E>(
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

//! Sine and cosine together, without a branch on the quadrant.
//!
//! Cody–Waite reduction to |r| ≤ π/4 with π/2 in three parts, then the minimax polynomials of fdlibm (S1…S6, C1…C6;
//! Sun Microsystems 1993). Within one ulp for |x| ≤ 2²⁰, which is half a million turns of a joint; the standard
//! library takes over beyond. Half the instructions of the system's `sincos`, and the same bits on every system.

use crate::spatial::{Mask, Scalar};

/// Beyond this the three parts of π/2 no longer cancel exactly.
const LIMIT: f64 = 1_048_576.0;

/// π/2 = PIO2_1 + PIO2_2 + PIO2_3 + …, the first two with 33 significant bits, so that multiples up to 2²⁰ are exact.
const PIO2_1: f64 = f64::from_bits(0x3FF9_21FB_5440_0000);
const PIO2_2: f64 = f64::from_bits(0x3DD0_B461_1A60_0000);
const PIO2_3: f64 = f64::from_bits(0x3BA3_198A_2E03_7073);

/// 1.5·2⁵²: adding it rounds to the nearest integer and leaves that integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `(sin x, cos x)`.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    if x.abs() <= LIMIT { reduced(x) } else { x.sin_cos() }
}

/// The same for every lane.
#[inline(always)]
pub(crate) fn sin_cos_lanes<S: Scalar>(x: S) -> (S, S) {
    let is_within = x.size().is_at_most(S::splat(LIMIT));
    if is_within.all() { reduced(x) } else { beyond(x) }
}

/// Lanes that lie beyond the limit by the standard library.
#[cold]
fn beyond<S: Scalar>(x: S) -> (S, S) {
    (S::from_lanes(|k| sin_cos(x.lane(k)).0), S::from_lanes(|k| sin_cos(x.lane(k)).1))
}

#[inline(always)]
fn reduced<S: Scalar>(x: S) -> (S, S) {
    let (one, half) = (S::splat(1.0), S::splat(0.5));
    // x = k π/2 + r + r_lo, |r| ≤ π/4
    let quadrant = x.times_add(S::splat(std::f64::consts::FRAC_2_PI), S::splat(ROUND));
    let k = quadrant - S::splat(ROUND);
    let head = k.times_from(S::splat(PIO2_1), x);
    let middle = k * S::splat(PIO2_2);
    let r0 = head - middle;
    let lost = (head - r0) - middle;
    let tail = k.times_less(S::splat(PIO2_3), lost);
    let r = r0 - tail;
    let r_lo = (r0 - r) - tail;

    // polynomials on [−π/4, π/4], with r_lo carried to first order
    let z = r * r;
    let s = z.times_add(S::splat(1.589_690_995_211_55e-10), S::splat(-2.505_076_025_340_686_3e-8));
    let s = z.times_add(s, S::splat(2.755_731_370_707_006_8e-6));
    let s = z.times_add(s, S::splat(-1.984_126_982_985_795e-4));
    let s = z.times_add(s, S::splat(8.333_333_333_322_49e-3));
    let v = z * r;
    let sin = r - v.times_add(S::splat(1.666_666_666_666_663_2e-1), z.times_less(v.times_from(s, half * r_lo), r_lo));
    let c = z.times_add(S::splat(-1.135_964_755_778_819_5e-11), S::splat(2.087_572_321_298_175e-9));
    let c = z.times_add(c, S::splat(-2.755_731_435_139_066_3e-7));
    let c = z.times_add(c, S::splat(2.480_158_728_947_673e-5));
    let c = z.times_add(c, S::splat(-1.388_888_888_887_411e-3));
    let c = z.times_add(c, S::splat(4.166_666_666_666_66e-2));
    let half_z = half * z;
    let w = one - half_z;
    let cos = w + (((one - w) - half_z) + (z * z).times_less(c, r * r_lo));

    // odd quadrants swap, quadrants 1, 2 flip the cosine, 2, 3 the sine
    let odd = quadrant.shift::<63>(0);
    let (s, c) = (cos.where_negative(odd, sin), sin.where_negative(odd, cos));
    (s.flipped(quadrant.shift::<62>(0)), c.flipped(quadrant.shift::<62>(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the exact value, floored at the ulp of 2⁻³⁰ near a zero.
    fn ulps(got: f64, exact: f64) -> f64 {
        let ulp = f64::EPSILON * exact.abs().max(1e-9).log2().floor().exp2();
        (got - exact).abs() / ulp
    }

    #[test]
    fn within_one_ulp_of_std() {
        let mut x = -40.0;
        while x < 40.0 {
            let (s, c) = sin_cos(x);
            assert!(ulps(s, x.sin()) <= 1.0 && ulps(c, x.cos()) <= 1.0, "{x}");
            x += 0.001_234_567;
        }
        for k in -1000..1000 {
            for d in [0.0, 1e-16, -1e-12, 1e-8, 0.785] {
                let x = f64::from(k) * 1048.0 + f64::from(k) * std::f64::consts::FRAC_PI_2 + d;
                let (s, c) = sin_cos(x);
                assert!(ulps(s, x.sin()) <= 1.0 && ulps(c, x.cos()) <= 1.0, "{x}: {s} {}", x.sin());
            }
        }
    }

    #[test]
    fn exact_at_zero_and_nan_beyond_the_numbers() {
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert_eq!(sin_cos(-0.0).0.to_bits(), (-0.0_f64).to_bits());
        assert!(sin_cos(f64::NAN).0.is_nan() && sin_cos(f64::INFINITY).1.is_nan());
        assert_eq!(sin_cos(1e300), 1e300_f64.sin_cos());
    }
}

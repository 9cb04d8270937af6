//! Principal moments of inertia that a body can have.
//!
//! ```text
//! λᵢ = ∫ (r² − xᵢ²) dm = sⱼ + sₖ,        sᵢ = ∫ xᵢ² dm ≥ 0                      (1)
//! sᵢ = (λ₁ + λ₂ + λ₃)/2 − λᵢ                                                   (2)
//! ```
//!
//! By (2) no moment exceeds the sum of the other two (triangle inequality), and then none is negative. Moments that
//! break it have a nearest triple that does not:
//!
//! ```text
//! min |λ' − λ|²   subject to   s(λ') ≥ 0                                       (3)
//! ```
//!
//! A symmetric matrix with these eigenvalues and its own eigenvectors is then nearest in the Frobenius norm, too
//! (Hoffman, Wielandt 1953).

use nalgebra::{Matrix3, SymmetricEigen};

/// Moments may break (2) by this part of their sum: data are rounded to nine digits or more.
const SLACK: f64 = 1e-9;

/// The reason why no body has certain principal moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MomentDefect {
    /// A moment is negative.
    Negative(f64),
    /// The largest moment exceeds the sum of the other two.
    Triangle {
        /// The largest.
        largest: f64,
        /// The sum of the others.
        others: f64,
    },
}

/// Principal axes, as columns, and moments of a rotational inertia whose entries are finite.
pub fn principal_axes(inertia: &Matrix3<f64>) -> (Matrix3<f64>, [f64; 3]) {
    let scale = inertia.amax();
    if scale == 0.0 {
        return (Matrix3::identity(), [0.0; 3]);
    }
    // scaled, so that squares neither overflow nor vanish
    let eigen = SymmetricEigen::new(inertia / scale);
    (eigen.eigenvectors, (eigen.eigenvalues * scale).into())
}

/// The reason why no body has these principal moments, kg·m²; `None` if a body can have them. They are finite.
pub fn moment_defect(moments: [f64; 3]) -> Option<MomentDefect> {
    let scale = moments.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if scale == 0.0 {
        return None;
    }
    // scaled, so that sums do not overflow
    let mut scaled = moments.map(|x| x / scale);
    scaled.sort_by(f64::total_cmp);
    let [a, b, c] = scaled;
    let slack = SLACK * (a + b + c).abs();
    if a < -slack {
        Some(MomentDefect::Negative(a * scale))
    } else if c > a + b + slack {
        Some(MomentDefect::Triangle { largest: c * scale, others: (a + b) * scale })
    } else {
        None
    }
}

/// The nearest principal moments that a body can have: (3).
///
/// At a solution each sᵢ is free or zero, which leaves eight cases; the best feasible one is the solution.
pub fn nearest_moments(moments: [f64; 3]) -> [f64; 3] {
    let [l0, l1, l2] = moments;
    let mut best = ([0.0; 3], l0 * l0 + l1 * l1 + l2 * l2);
    let mut consider = |s: [f64; 3]| {
        let candidate = [s[1] + s[2], s[0] + s[2], s[0] + s[1]];
        let distance: f64 = candidate.iter().zip(moments).map(|(x, y)| (x - y) * (x - y)).sum();
        if s.iter().all(|&s| s >= 0.0) && distance < best.1 {
            best = (candidate, distance);
        }
    };
    for i in 0..3 {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let mut s = [0.0; 3];
        // sᵢ = 0: λ' = (sⱼ + sₖ, sₖ, sⱼ)
        s[j] = (moments[i] + 2.0 * moments[k] - moments[j]) / 3.0;
        s[k] = (moments[i] + 2.0 * moments[j] - moments[k]) / 3.0;
        consider(s);
        // only sᵢ: λ' = (0, sᵢ, sᵢ)
        s = [0.0; 3];
        s[i] = (moments[j] + moments[k]) / 2.0;
        consider(s);
    }
    let half = (l0 + l1 + l2) / 2.0;
    if moments.iter().all(|&l| half - l >= 0.0) { moments } else { best.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_their_moments() {
        for moments in [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 5.0, 5.0], [0.0; 3], [1e-300, 1e-300, 2e-300]] {
            assert_eq!(moment_defect(moments), None);
            assert_eq!(nearest_moments(moments), moments);
        }
    }

    #[test]
    fn nearest_moments_beat_every_neighbour() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut n_broken = 0;
        for _ in 0..2000 {
            let given = [0; 3].map(|_| 2.0 * random() - 0.7);
            if moment_defect(given).is_none() {
                continue;
            }
            n_broken += 1;
            let nearest = nearest_moments(given);
            assert_eq!(moment_defect(nearest), None, "{given:?}");
            let distance = |x: [f64; 3]| x.iter().zip(given).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            // random bodies, near and far: none is nearer
            for reach in [1e-4, 1e-2, 1.0] {
                for _ in 0..50 {
                    let half = nearest.iter().sum::<f64>() / 2.0;
                    let s = nearest.map(|l| (half - l + reach * (2.0 * random() - 1.0)).max(0.0));
                    let other = [s[1] + s[2], s[0] + s[2], s[0] + s[1]];
                    assert!(distance(other) >= distance(nearest) * (1.0 - 1e-12), "{given:?}: {other:?}, {nearest:?}");
                }
            }
        }
        assert!(n_broken > 500, "{n_broken}");
    }

    #[test]
    fn a_rod_of_equal_entries_becomes_a_disc_without_width() {
        // all nine entries 1: moments (3, 0, 0)
        assert_eq!(nearest_moments([3.0, 0.0, 0.0]), [2.0, 1.0, 1.0]);
    }
}

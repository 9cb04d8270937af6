//! Factors H = Lᵀ D L of the symmetric matrix of a step; row by row, lower half only, 1/D on the diagonal.
//!
//! The factorisation runs from the last row to the first. Joints are numbered after their parents, so entries that are
//! zero between branches of a tree stay zero (Featherstone 2008, section 6.5) and are skipped.

#![expect(non_snake_case, reason = "the factor's usual letter")]

/// Σ a b in four partial sums.
#[inline]
pub(super) fn dot_all(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 4];
    for (a, b) in a.chunks_exact(4).zip(b.chunks_exact(4)) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest = n - n % 4;
    let tail = a[rest..].iter().zip(&b[rest..]).fold(0.0, |sum, (a, b)| sum + a * b);
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// x −= c a.
#[inline]
fn take(x: &mut [f64], c: f64, a: &[f64]) {
    x.iter_mut().zip(a).for_each(|(x, a)| *x -= c * a);
}

/// Factorises H in place. The error is the first row whose pivot is not positive; that pivot stays on the diagonal.
pub(super) fn factor(H: &mut [f64], n: usize) -> Result<(), usize> {
    for k in (0..n).rev() {
        let (above, below) = H.split_at_mut(k * n);
        let (row, rest) = below.split_at_mut(k);
        let pivot = rest[0];
        if pivot <= 0.0 || pivot.is_nan() {
            return Err(k);
        }
        let inverse = 1.0 / pivot;
        rest[0] = inverse;
        for (i, other) in above.chunks_exact_mut(n).enumerate() {
            if row[i] != 0.0 {
                take(&mut other[..=i], row[i] * inverse, &row[..=i]);
            }
        }
        row.iter_mut().for_each(|h| *h *= inverse);
    }
    Ok(())
}

/// Replaces x by H⁻¹ x.
pub(super) fn solve(L: &[f64], x: &mut [f64], n: usize) {
    // Lᵀ y = x, D z = y
    for i in (0..n).rev() {
        let (before, rest) = x.split_at_mut(i);
        take(before, rest[0], &L[i * n..i * n + i]);
        rest[0] *= L[i * n + i];
    }
    // L x = z
    for i in 0..n {
        let (before, rest) = x.split_at_mut(i);
        rest[0] -= dot_all(&L[i * n..i * n + i], before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solution_satisfies_its_equation() {
        // rows 3 and 4 are a branch of their own
        #[rustfmt::skip]
        let H = [
            4.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            2.0, 5.0, 0.0, 0.0, 0.0, 0.0,
            -1.0, 0.5, 3.0, 0.0, 0.0, 0.0,
            0.3, 0.0, 0.0, 2.0, 0.0, 0.0,
            0.2, 0.0, 0.0, 0.7, 1.0, 0.0,
            0.1, 0.4, 0.2, 0.0, 0.0, 1.5,
        ];
        let b = [0.0, 7.0, -2.0, 1.0, 0.5, -3.0];
        let (mut L, mut x) = (H, b);
        factor(&mut L, 6).unwrap();
        assert_eq!([L[3 * 6 + 1], L[4 * 6 + 2], L[5 * 6 + 4]], [0.0; 3]);
        solve(&L, &mut x, 6);
        for i in 0..6 {
            let row: f64 = (0..6).map(|j| H[i.max(j) * 6 + i.min(j)] * x[j]).sum();
            assert!((row - b[i]).abs() < 1e-14, "{row} {}", b[i]);
        }
    }

    #[test]
    fn indefinite_matrix_is_refused_with_its_row() {
        assert_eq!(factor(&mut [1.0, 0.0, 2.0, 4.0], 2), Err(0));
        assert_eq!(factor(&mut [f64::NAN], 1), Err(0));
        assert_eq!(factor(&mut [1.0, 0.0, 0.0, -1.0], 2), Err(1));
    }
}

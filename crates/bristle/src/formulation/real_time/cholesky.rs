//! A = L Lᵀ for the small dense matrix of a step; rows one after the other, lower half only, 1/L_ii on the diagonal.

#![expect(non_snake_case, reason = "the factor's usual letter")]

/// Σ a b.
#[inline]
pub(super) fn dot_all(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A = L Lᵀ in place; the row whose pivot is not positive, that pivot being left in its place.
pub(super) fn cholesky(L: &mut [f64], n: usize) -> Result<(), usize> {
    for i in 0..n {
        let (above, below) = L.split_at_mut(i * n);
        let row = &mut below[..=i];
        for (j, other) in above.chunks_exact(n).enumerate() {
            let (before, rest) = row.split_at_mut(j);
            rest[0] = (rest[0] - dot_all(before, &other[..j])) * other[j];
        }
        let pivot = row[i] - dot_all(&row[..i], &row[..i]);
        row[i] = pivot;
        if pivot <= 0.0 || pivot.is_nan() {
            return Err(i);
        }
        row[i] = 1.0 / pivot.sqrt();
    }
    Ok(())
}

/// L⁻¹ x.
pub(super) fn forward(L: &[f64], x: &mut [f64], n: usize) {
    for i in 0..n {
        let row = &L[i * n..i * n + i + 1];
        let (before, rest) = x.split_at_mut(i);
        rest[0] = (rest[0] - dot_all(&row[..i], before)) * row[i];
    }
}

/// L⁻¹ X for `m` right-hand sides at once: X has n rows of m.
pub(super) fn forward_all(L: &[f64], X: &mut [f64], n: usize, m: usize) {
    for i in 0..n {
        let row = &L[i * n..i * n + i + 1];
        let (before, rest) = X.split_at_mut(i * m);
        let here = &mut rest[..m];
        for (l, above) in row.iter().zip(before.chunks_exact(m)) {
            here.iter_mut().zip(above).for_each(|(x, a)| *x -= l * a);
        }
        here.iter_mut().for_each(|x| *x *= row[i]);
    }
}

/// L⁻ᵀ x.
pub(super) fn backward(L: &[f64], x: &mut [f64], n: usize) {
    for i in (0..n).rev() {
        let row = &L[i * n..i * n + i + 1];
        let (before, rest) = x.split_at_mut(i);
        let xi = rest[0] * row[i];
        rest[0] = xi;
        before.iter_mut().zip(row).for_each(|(x, l)| *x -= l * xi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_satisfy_their_equations() {
        let A = [4.0, 0.0, 0.0, 2.0, 5.0, 0.0, -1.0, 0.5, 3.0];
        let mut L = A;
        cholesky(&mut L, 3).unwrap();
        let mut x = [0.0, 7.0, -2.0];
        forward(&L, &mut x, 3);
        // the same beside another
        let mut both = [0.0, 1.0, 7.0, 2.0, -2.0, 3.0];
        forward_all(&L, &mut both, 3, 2);
        assert!((0..3).all(|i| (both[2 * i] - x[i]).abs() < 1e-15));
        backward(&L, &mut x, 3);
        for i in 0..3 {
            let row: f64 = (0..3).map(|j| A[i.max(j) * 3 + i.min(j)] * x[j]).sum();
            assert!((row - [0.0, 7.0, -2.0][i]).abs() < 1e-14);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_refused_with_its_row() {
        assert_eq!(cholesky(&mut [1.0, 0.0, 2.0, 4.0], 2), Err(1));
        assert_eq!(cholesky(&mut [f64::NAN], 1), Err(0));
    }
}

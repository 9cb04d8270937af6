//! A = L Lᵀ for the small dense matrix of a step; rows one after the other, lower half only.

#![expect(non_snake_case, reason = "the factor's usual letter")]

/// Σ a b.
pub(super) fn dot_all(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A = L Lᵀ in the lower half, rows one after the other; the row whose pivot is not positive.
pub(super) fn cholesky(L: &mut [f64], n: usize) -> Result<(), usize> {
    for i in 0..n {
        for j in 0..=i {
            let (above, below) = L.split_at_mut(i * n);
            let row = &mut below[..n];
            if i == j {
                let pivot = row[i] - dot_all(&row[..i], &row[..i]);
                if pivot <= 0.0 || pivot.is_nan() {
                    row[i] = pivot;
                    return Err(i);
                }
                row[i] = pivot.sqrt();
            } else {
                let other = &above[j * n..j * n + j + 1];
                row[j] = (row[j] - dot_all(&row[..j], &other[..j])) / other[j];
            }
        }
    }
    Ok(())
}

/// L⁻¹ x, the first entries of x being zero.
pub(super) fn forward(L: &[f64], x: &mut [f64], n: usize, first: usize) {
    for i in first..n {
        let row = &L[i * n..i * n + i + 1];
        x[i] = (x[i] - dot_all(&row[first..i], &x[first..i])) / row[i];
    }
}

/// L⁻ᵀ x.
pub(super) fn backward(L: &[f64], x: &mut [f64], n: usize) {
    for i in (0..n).rev() {
        let row = &L[i * n..i * n + i + 1];
        x[i] /= row[i];
        let xi = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= l * xi);
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
        forward(&L, &mut x, 3, 1);
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

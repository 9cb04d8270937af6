//! Small dense linear systems: LU with partial pivoting, real and complex, in place.
//!
//! ```text
//!     P A = L U,     A x = b   ⇔   L U x = P b
//! ```
//!
//! Right-looking elimination by rows (Golub & Van Loan, *Matrix Computations*, algorithm 3.4.1); storage is row-major
//! and packed at the *active* dimension `n`, which may shrink and grow below the capacity given at construction.
//! Nothing allocates after construction. Rows are exchanged in memory, L keeps its unit diagonal implicit, and the
//! diagonal of U is stored as its reciprocal, so that a solve divides nowhere.
//!
//! Made for n = 2 … 30: there is no blocking. The kernels are compiled once per dimension up to eight, where loop
//! control would cost more than arithmetic.

mod scalar;

use crate::archive::{Archive, Archived};
use crate::request::handled;
pub use scalar::{Complex, Scalar};
use std::ops::{Index, IndexMut};

/// A matrix without a usable pivot: all remaining entries of this column are zero (or not a number).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("singular matrix: no pivot in column {column}")]
pub struct Singular {
    /// The column of the elimination that has no pivot, counted from 0.
    pub column: usize,
}

/// Matrices up to this dimension, 2 MB, have their room from the beginning, so that a step allocates nothing; larger
/// ones when they are needed.
const MAX_EAGER: usize = 512;

/// There is no memory for a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage;

/// A square matrix, row-major, with an active dimension up to its capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T = f64> {
    n: usize,
    n_max: usize,
    /// `n_max`², or nothing so far.
    data: Vec<T>,
}

impl<T: Archived + Default> Archived for Matrix<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.n.archive(archive);
        archive.list(&mut self.data);
        let is_whole = self.data.len() == self.n_max * self.n_max;
        let is_room = is_whole || self.n_max > MAX_EAGER && self.data.is_empty();
        if !is_room || self.n.checked_mul(self.n).is_none_or(|size| size > self.data.len()) {
            archive.refuse();
        }
    }
}

impl<T: Scalar> Matrix<T> {
    /// A zero matrix of dimension `n_max`, which is also its capacity.
    pub fn new(n_max: usize) -> Self {
        Matrix { n: n_max, n_max, data: vec![T::ZERO; n_max * n_max] }
    }

    /// The same; a large matrix is allocated on first use, and has dimension 0 until then.
    pub fn on_demand(n_max: usize) -> Self {
        if n_max <= MAX_EAGER { Self::new(n_max) } else { Matrix { n: 0, n_max, data: Vec::new() } }
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> u64 {
        (self.n_max as u64).saturating_pow(2).saturating_mul(size_of::<T>() as u64)
    }

    /// Makes its room, where there is memory for it.
    pub fn reserve(&mut self) -> Result<(), Shortage> {
        let size = self.n_max.checked_mul(self.n_max).ok_or(Shortage)?;
        let more = size.saturating_sub(self.data.len());
        handled(|| self.data.try_reserve_exact(more)).map_err(|_| Shortage)?;
        self.data.resize(size, T::ZERO);
        Ok(())
    }

    /// The active dimension.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Sets the active dimension; entries are meaningless until written.
    pub fn resize(&mut self, n: usize) {
        assert!(n <= self.n_max, "dimension {n} is above the capacity");
        if n * n > self.data.len() {
            self.data.resize(self.n_max * self.n_max, T::ZERO);
        }
        self.n = n;
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.as_mut_slice().fill(T::ZERO);
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.n..(i + 1) * self.n]
    }

    /// Row `i`.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.n..(i + 1) * self.n]
    }

    /// All entries, row after row; `n * n`.
    pub fn as_slice(&self) -> &[T] {
        &self.data[..self.n * self.n]
    }

    /// All entries, row after row; `n * n`.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[..self.n * self.n]
    }
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        debug_assert!(i < self.n && j < self.n);
        &self.data[i * self.n + j]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        debug_assert!(i < self.n && j < self.n);
        &mut self.data[i * self.n + j]
    }
}

/// The factors of a matrix: fill [`Lu::matrix_mut`], then [`Lu::factor`], then [`Lu::solve`] any number of times.
#[derive(Clone, Debug)]
pub struct Lu<T = f64> {
    /// Before `factor` A; after it U on and above the diagonal (the diagonal inverted), L below.
    matrix: Matrix<T>,
    /// `pivot[k]`: the row exchanged with row k in step k; `n_max`.
    pivot: Vec<usize>,
}

impl<T: Archived + Default> Archived for Lu<T> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.matrix.archive(archive);
        self.pivot.archive(archive);
        if self.matrix.n > self.pivot.len() {
            archive.refuse();
        }
    }
}

/// Factors of a complex matrix.
pub type ComplexLu = Lu<Complex>;

impl<T: Scalar> Lu<T> {
    /// For dimensions up to `n_max`; the room of a large one is made when it is used.
    pub fn new(n_max: usize) -> Self {
        Lu { matrix: Matrix::on_demand(n_max), pivot: vec![0; n_max] }
    }

    /// The largest dimension there is room for.
    pub fn capacity(&self) -> usize {
        self.pivot.len()
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> u64 {
        self.matrix.bytes()
    }

    /// Makes its room, where there is memory for it.
    pub fn reserve(&mut self) -> Result<(), Shortage> {
        self.matrix.reserve()
    }

    /// Whether these may be factors of dimension `n`.
    pub(crate) fn is_for(&self, n: usize) -> bool {
        self.matrix.n == n && n <= self.pivot.len() && self.pivot[..n].iter().all(|&row| row < n)
    }

    /// The matrix to be factored, at dimension `n`, for the caller to fill completely.
    pub fn matrix_mut(&mut self, n: usize) -> &mut Matrix<T> {
        self.matrix.resize(n);
        &mut self.matrix
    }

    /// Replaces the matrix by its factors.
    pub fn factor(&mut self) -> Result<(), Singular> {
        let n = self.matrix.n;
        let a = self.matrix.as_mut_slice();
        let pivot = &mut self.pivot[..n];
        match n {
            0 => Ok(()),
            1 => factor_rows(a, pivot, 1),
            2 => factor_rows(a, pivot, 2),
            3 => factor_rows(a, pivot, 3),
            4 => factor_rows(a, pivot, 4),
            5 => factor_rows(a, pivot, 5),
            6 => factor_rows(a, pivot, 6),
            7 => factor_rows(a, pivot, 7),
            8 => factor_rows(a, pivot, 8),
            _ => factor_rows(a, pivot, n),
        }
    }

    /// Replaces `b` by the solution of A x = b; `b` has the active dimension.
    pub fn solve(&self, b: &mut [T]) {
        let n = self.matrix.n;
        assert_eq!(b.len(), n, "right-hand side and matrix differ in dimension");
        let a = self.matrix.as_slice();
        let pivot = &self.pivot[..n];
        match n {
            0 => {}
            1 => solve_rows(a, pivot, b, 1),
            2 => solve_rows(a, pivot, b, 2),
            3 => solve_rows(a, pivot, b, 3),
            4 => solve_rows(a, pivot, b, 4),
            5 => solve_rows(a, pivot, b, 5),
            6 => solve_rows(a, pivot, b, 6),
            7 => solve_rows(a, pivot, b, 7),
            8 => solve_rows(a, pivot, b, 8),
            _ => solve_rows(a, pivot, b, n),
        }
    }
}

impl Lu<f64> {
    /// Sign and logarithm of the size of the determinant of the matrix that was factored.
    pub fn determinant(&self) -> (f64, f64) {
        (0..self.matrix.n).fold((1.0, 0.0), |(sign, log), k| {
            // the diagonal is inverted
            let (swap, inverse) = (if self.pivot[k] == k { 1.0 } else { -1.0 }, self.matrix[(k, k)]);
            (sign * swap * inverse.signum(), log - inverse.abs().ln())
        })
    }
}

// Inlined so that a literal `n` at the call becomes a loop bound the compiler knows.
#[inline(always)]
fn factor_rows<T: Scalar>(a: &mut [T], pivot: &mut [usize], n: usize) -> Result<(), Singular> {
    let a = &mut a[..n * n];
    let pivot = &mut pivot[..n];
    for k in 0..n {
        // the largest entry on or below the diagonal of column k
        let mut p = k;
        let mut largest = a[k * n + k].magnitude();
        for i in k + 1..n {
            let size = a[i * n + k].magnitude();
            if size > largest {
                (p, largest) = (i, size);
            }
        }
        let inverse = a[p * n + k].reciprocal();
        if largest == 0.0 || !inverse.magnitude().is_finite() {
            return Err(Singular { column: k });
        }
        pivot[k] = p;
        let (upper, lower) = a.split_at_mut((k + 1) * n);
        let row_k = &mut upper[k * n..(k + 1) * n];
        if p != k {
            let start = (p - k - 1) * n;
            row_k.swap_with_slice(&mut lower[start..start + n]);
        }
        row_k[k] = inverse;

        // rows below: a_i ← a_i − l a_k
        for row_i in lower.chunks_exact_mut(n) {
            let l = row_i[k] * inverse;
            row_i[k] = l;
            for (a_ij, &a_kj) in row_i[k + 1..].iter_mut().zip(&row_k[k + 1..]) {
                *a_ij = *a_ij - l * a_kj;
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn solve_rows<T: Scalar>(a: &[T], pivot: &[usize], b: &mut [T], n: usize) {
    let a = &a[..n * n];
    let pivot = &pivot[..n];
    let b = &mut b[..n];
    for (k, &p) in pivot.iter().enumerate() {
        b.swap(k, p);
    }
    // L y = P b
    for i in 1..n {
        let mut sum = b[i];
        for (&l, &y) in a[i * n..i * n + i].iter().zip(b.iter()) {
            sum = sum - l * y;
        }
        b[i] = sum;
    }
    // U x = y
    for i in (0..n).rev() {
        let mut sum = b[i];
        for (&u, &x) in a[i * n + i + 1..(i + 1) * n].iter().zip(&b[i + 1..]) {
            sum = sum - u * x;
        }
        b[i] = sum * a[i * n + i];
    }
}

#[cfg(test)]
mod tests;

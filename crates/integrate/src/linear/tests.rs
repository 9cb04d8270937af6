//! Backward errors, singular matrices and extreme entries.

use super::*;

/// Marsaglia's xorshift64, scaled to −1 … 1.
struct Random(u64);

impl Random {
    fn real(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn complex(&mut self) -> Complex {
        Complex::new(self.real(), self.real())
    }
}

/// Backward error max |A x − b| / (n max|A| max|x|): a few ulps for partial pivoting, whatever the condition.
fn backward_error<T: Scalar>(a: &Matrix<T>, x: &[T], b: &[T]) -> f64 {
    let size = |values: &[T]| values.iter().map(|v| v.magnitude()).fold(0.0, f64::max);
    let mut worst: f64 = 0.0;
    for (i, &b_i) in b.iter().enumerate() {
        let sum = a.row(i).iter().zip(x).fold(T::ZERO, |sum, (&a, &x)| sum + a * x);
        worst = worst.max((sum - b_i).magnitude());
    }
    worst / (a.n() as f64 * size(a.as_slice()) * size(x))
}

fn solves_random_systems<T: Scalar>(mut entry: impl FnMut() -> T) {
    // one workspace through all dimensions, up and down: the active dimension may change at any time
    let mut lu = Lu::new(30);
    for trial in 0..600 {
        let n = 1 + (trial * 7) % 30;
        let mut a = Matrix::new(n);
        a.as_mut_slice().iter_mut().for_each(|a_ij| *a_ij = entry());
        let b: Vec<T> = (0..n).map(|_| entry()).collect();
        lu.matrix_mut(n).as_mut_slice().copy_from_slice(a.as_slice());
        lu.factor().unwrap();
        let mut x = b.clone();
        lu.solve(&mut x);
        let error = backward_error(&a, &x, &b);
        // growth of partial pivoting on random matrices stays below n^(2/3)
        assert!(error < 20.0 * f64::EPSILON, "n = {n}: {error:e}");
    }
}

#[test]
fn residuals_of_real_systems_are_round_off() {
    let mut random = Random(1);
    solves_random_systems(|| random.real());
}

#[test]
fn residuals_of_complex_systems_are_round_off() {
    let mut random = Random(2);
    solves_random_systems(|| random.complex());
}

#[test]
fn pivoting_gives_the_known_solution() {
    let mut lu = Lu::new(3);
    #[rustfmt::skip]
    lu.matrix_mut(3).as_mut_slice().copy_from_slice(&[
        0.0,  2.0, 1.0,
        1.0, -2.0, 0.0,
        4.0,  1.0, 1.0,
    ]);
    lu.factor().unwrap();
    let mut b = [7.0, -3.0, 9.0]; // x = (1, 2, 3)
    lu.solve(&mut b);
    for (x, exact) in b.iter().zip([1.0, 2.0, 3.0]) {
        assert!((x - exact).abs() < 1e-14);
    }
}

#[test]
fn a_complex_system_equals_its_real_double() {
    // (A + iB)(x + iy) = c + id   ⇔   [A −B; B A] (x, y) = (c, d)
    let mut random = Random(3);
    let n = 6;
    let mut complex = ComplexLu::new(n);
    let mut real = Lu::new(2 * n);
    let (single, double) = (complex.matrix_mut(n), real.matrix_mut(2 * n));
    for i in 0..n {
        for j in 0..n {
            let a = random.complex();
            single[(i, j)] = a;
            double[(i, j)] = a.re;
            double[(i, n + j)] = -a.im;
            double[(n + i, j)] = a.im;
            double[(n + i, n + j)] = a.re;
        }
    }
    complex.factor().unwrap();
    real.factor().unwrap();
    let mut x: Vec<Complex> = (0..n).map(|_| random.complex()).collect();
    let mut xy: Vec<f64> = x.iter().map(|x| x.re).chain(x.iter().map(|x| x.im)).collect();
    complex.solve(&mut x);
    real.solve(&mut xy);
    for i in 0..n {
        assert!((x[i] - Complex::new(xy[i], xy[n + i])).magnitude() < 1e-12);
    }
}

#[test]
fn exactly_singular_matrices_name_their_column() {
    let mut lu = Lu::new(9);
    lu.matrix_mut(9).clear();
    assert_eq!(lu.factor(), Err(Singular { column: 0 }));

    // the third row is the sum of the others, in integers: exact elimination leaves a zero pivot
    #[rustfmt::skip]
    lu.matrix_mut(3).as_mut_slice().copy_from_slice(&[
        1.0, 2.0, 4.0,
        2.0, 4.0, 2.0,
        3.0, 6.0, 6.0,
    ]);
    assert_eq!(lu.factor(), Err(Singular { column: 1 }));

    let mut complex = ComplexLu::new(2);
    let i = Complex::new(0.0, 1.0);
    let one = Complex::new(1.0, 0.0);
    complex.matrix_mut(2).as_mut_slice().copy_from_slice(&[one, i, i, -one]);
    assert_eq!(complex.factor(), Err(Singular { column: 1 }));
}

#[test]
fn not_a_number_is_not_a_pivot() {
    let mut lu = Lu::new(2);
    lu.matrix_mut(2).as_mut_slice().copy_from_slice(&[1.0, 0.0, f64::NAN, 1.0]);
    assert!(lu.factor().is_err());
    lu.matrix_mut(2).as_mut_slice().copy_from_slice(&[f64::NAN, 0.0, 0.0, 1.0]);
    assert_eq!(lu.factor(), Err(Singular { column: 0 }));
}

#[test]
fn tiny_and_huge_entries_are_not_singular() {
    let mut lu = Lu::new(2);
    lu.matrix_mut(2).as_mut_slice().copy_from_slice(&[1e-200, 0.0, 0.0, 1e200]);
    lu.factor().unwrap();
    let mut b = [1e-200, 1e200];
    lu.solve(&mut b);
    assert!((b[0] - 1.0).abs() < 1e-15 && (b[1] - 1.0).abs() < 1e-15);

    let mut complex = ComplexLu::new(1);
    complex.matrix_mut(1)[(0, 0)] = Complex::new(1e200, 1e200);
    complex.factor().unwrap();
    let mut b = [Complex::new(1e200, 1e200)];
    complex.solve(&mut b);
    assert!((b[0] - Complex::new(1.0, 0.0)).magnitude() < 1e-15);
}

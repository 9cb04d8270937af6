//! Real and complex entries of matrices.
//!
//! ```text
//!     1/x = x̄/|x|²
//! ```
//!
//! with x scaled to unit magnitude first, so that |x|² does not overflow.

use std::ops::{Add, Mul, Neg, Sub};

/// A number that elimination can work with: `f64` or [`Complex`].
pub trait Scalar: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Zero.
    const ZERO: Self;
    /// A size to choose pivots by: |x|, for a complex number |re| + |im|.
    fn magnitude(self) -> f64;
    /// 1/x.
    fn reciprocal(self) -> Self;
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.abs()
    }

    #[inline(always)]
    fn reciprocal(self) -> f64 {
        1.0 / self
    }
}

/// A complex number, as far as Newton matrices of Radau methods need one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

crate::archive::archived!(Complex { re, im });

impl Complex {
    /// `re + i im`.
    pub const fn new(re: f64, im: f64) -> Self {
        Complex { re, im }
    }
}

impl Scalar for Complex {
    const ZERO: Complex = Complex::new(0.0, 0.0);

    #[inline(always)]
    fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }

    #[inline(always)]
    fn reciprocal(self) -> Complex {
        let scale = 1.0 / self.magnitude();
        let (re, im) = (self.re * scale, self.im * scale);
        let factor = scale / (re * re + im * im);
        Complex::new(re * factor, -im * factor)
    }
}

impl Add for Complex {
    type Output = Complex;

    #[inline(always)]
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;

    #[inline(always)]
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;

    #[inline(always)]
    fn mul(self, other: Complex) -> Complex {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Mul<f64> for Complex {
    type Output = Complex;

    #[inline(always)]
    fn mul(self, factor: f64) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }
}

impl Neg for Complex {
    type Output = Complex;

    #[inline(always)]
    fn neg(self) -> Complex {
        Complex::new(-self.re, -self.im)
    }
}

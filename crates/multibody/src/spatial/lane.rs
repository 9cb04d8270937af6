//! 3-vectors and 3×3 matrices in four lanes.
//!
//! A 3-vector padded to four numbers fills one 256-bit register: adding, scaling and multiply-adding are one
//! instruction each, a cross product five, a matrix on a vector six. The fourth lane is
//! zero and stays zero.

use super::register;
use nalgebra::{Matrix3, Vector3};
use std::ops::{Add, AddAssign, Index, Mul, Neg, Sub};

/// One number of each of four columns.
#[derive(Clone, Copy)]
pub(crate) struct Four(register::Lanes);

impl Four {
    pub const ZERO: Self = Self::new([0.0; 4]);

    #[inline(always)]
    pub const fn new(lanes: [f64; 4]) -> Self {
        Self(register::new(lanes))
    }

    #[inline(always)]
    pub fn lane(&self, k: usize) -> f64 {
        register::array(&self.0)[k]
    }

    pub fn set_lane(&mut self, k: usize, x: f64) {
        let mut lanes = *register::array(&self.0);
        lanes[k] = x;
        *self = Self::new(lanes);
    }

    /// `self s + c`.
    #[inline(always)]
    pub fn scale_add(self, s: f64, c: Self) -> Self {
        Self(register::mul_add(self.0, register::splat(s), c.0))
    }
}

impl std::fmt::Debug for Four {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        register::array(&self.0).fmt(f)
    }
}

impl Add for Four {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(register::add(self.0, b.0))
    }
}

impl Sub for Four {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(register::sub(self.0, b.0))
    }
}

impl Mul<f64> for Four {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self(register::mul(self.0, register::splat(s)))
    }
}

/// A 3-vector and a zero.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct V3(register::Lanes);

impl V3 {
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);
    pub const Z: Self = Self::new(0.0, 0.0, 1.0);

    #[inline(always)]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self(register::new([x, y, z, 0.0]))
    }

    /// `self s + c`.
    #[inline(always)]
    pub fn scale_add(self, s: f64, c: Self) -> Self {
        Self(register::mul_add(self.0, register::splat(s), c.0))
    }

    /// `self ∘ b + c`, entry by entry.
    #[inline(always)]
    pub fn times_add(self, b: Self, c: Self) -> Self {
        Self(register::mul_add(self.0, b.0, c.0))
    }

    /// `self ∘ b`, entry by entry.
    #[inline(always)]
    pub fn times(self, b: Self) -> Self {
        Self(register::mul(self.0, b.0))
    }

    /// `c − self ∘ b`, entry by entry.
    #[inline(always)]
    pub fn times_from(self, b: Self, c: Self) -> Self {
        Self(register::sub_mul(self.0, b.0, c.0))
    }

    /// (x, x, x), (y, y, y) or (z, z, z). The fourth lane is not zero: a factor, not a vector.
    #[inline(always)]
    pub fn all<const K: usize>(self) -> Self {
        Self(register::all::<K>(self.0))
    }

    /// (y, x, z).
    #[inline(always)]
    pub fn yxz(self) -> Self {
        Self(register::yxz(self.0))
    }

    /// `self × b` = yzx (self ∘ yzx b − yzx self ∘ b).
    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        let turned = register::mul(register::yzx(self.0), b.0);
        Self(register::yzx(register::mul_sub(self.0, register::yzx(b.0), turned)))
    }

    /// |self|, entry by entry.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self(register::abs(self.0))
    }

    /// Sizes of the terms of `self × b`, summed: yzx (|self| ∘ yzx |b| + yzx |self| ∘ |b|).
    #[inline(always)]
    pub fn cross_size(self, b: Self) -> Self {
        let (a, b) = (register::abs(self.0), register::abs(b.0));
        let turned = register::mul(register::yzx(a), b);
        Self(register::yzx(register::mul_add(a, register::yzx(b), turned)))
    }

    #[inline(always)]
    pub fn dot(self, b: Self) -> f64 {
        self.times(b).sum()
    }

    /// As a vector of nalgebra's.
    #[inline(always)]
    pub fn to_vector(self) -> Vector3<f64> {
        Vector3::new(self[0], self[1], self[2])
    }

    /// The sum of its entries.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        self[0] + self[1] + self[2]
    }
}

impl std::fmt::Debug for V3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_vector().fmt(f)
    }
}

impl PartialEq for V3 {
    fn eq(&self, b: &Self) -> bool {
        register::array(&self.0) == register::array(&b.0)
    }
}

impl From<Vector3<f64>> for V3 {
    #[inline(always)]
    fn from(v: Vector3<f64>) -> Self {
        Self::new(v.x, v.y, v.z)
    }
}

impl Index<usize> for V3 {
    type Output = f64;
    #[inline(always)]
    fn index(&self, k: usize) -> &f64 {
        &register::array(&self.0)[k]
    }
}

impl Add for V3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(register::add(self.0, b.0))
    }
}

impl AddAssign for V3 {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sub for V3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(register::sub(self.0, b.0))
    }
}

impl Neg for V3 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(register::sub(register::splat(-0.0), self.0))
    }
}

impl Mul<f64> for V3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self(register::mul(self.0, register::splat(s)))
    }
}

/// A 3×3 matrix by its columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct M3(pub [V3; 3]);

impl M3 {
    pub const ZERO: Self = Self([V3::ZERO; 3]);
    pub const IDENTITY: Self = Self([V3::new(1.0, 0.0, 0.0), V3::new(0.0, 1.0, 0.0), V3::new(0.0, 0.0, 1.0)]);

    /// `s 1`.
    #[inline(always)]
    pub fn scaled_identity(s: f64) -> Self {
        Self(Self::IDENTITY.0.map(|e| e * s))
    }

    /// `self v`.
    #[inline(always)]
    pub fn on(&self, v: V3) -> V3 {
        self.0[0].times_add(v.all::<0>(), self.0[1].times_add(v.all::<1>(), self.0[2].times(v.all::<2>())))
    }

    /// `self v + c`.
    #[inline(always)]
    pub fn on_add(&self, v: V3, c: V3) -> V3 {
        self.0[0].times_add(v.all::<0>(), self.0[1].times_add(v.all::<1>(), self.0[2].times_add(v.all::<2>(), c)))
    }

    /// `self B`.
    #[inline(always)]
    pub fn matrix(&self, b: &Self) -> Self {
        Self([self.on(b.0[0]), self.on(b.0[1]), self.on(b.0[2])])
    }

    /// `self Bᵀ`.
    #[inline(always)]
    pub fn times_transposed(&self, b: &Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, b.0);
        Self([
            a0.times_add(b0.all::<0>(), a1.times_add(b1.all::<0>(), a2.times(b2.all::<0>()))),
            a0.times_add(b0.all::<1>(), a1.times_add(b1.all::<1>(), a2.times(b2.all::<1>()))),
            a0.times_add(b0.all::<2>(), a1.times_add(b1.all::<2>(), a2.times(b2.all::<2>()))),
        ])
    }

    /// `self Rz(θ)`: the first two columns turned about the third; `(s, c)` the sine and cosine of θ.
    #[inline(always)]
    pub fn turned(&self, (s, c): (f64, f64)) -> Self {
        let [x, y, z] = self.0;
        Self([x.scale_add(c, y * s), y.scale_add(c, x * -s), z])
    }

    #[inline(always)]
    pub fn transpose(&self) -> Self {
        let [a, b, c] = &self.0;
        Self([V3::new(a[0], b[0], c[0]), V3::new(a[1], b[1], c[1]), V3::new(a[2], b[2], c[2])])
    }

    /// The sums of its columns' entries: `selfᵀ (1, 1, 1)`.
    #[inline(always)]
    pub fn column_sums(&self) -> V3 {
        let [a, b, c] = self.0;
        V3(register::sums(a.0, b.0, c.0))
    }

    /// `selfᵀ v`.
    #[inline(always)]
    pub fn column_dots(&self, v: V3) -> V3 {
        Self(self.0.map(|column| column.times(v))).column_sums()
    }

    /// |self|, entry by entry.
    pub fn abs(&self) -> Self {
        Self(self.0.map(V3::abs))
    }

    /// The matrix `r×`.
    #[inline(always)]
    pub fn skew(r: V3) -> Self {
        Self([V3::new(0.0, r[2], -r[1]), V3::new(-r[2], 0.0, r[0]), V3::new(r[1], -r[0], 0.0)])
    }

    /// `self r×`: two multiply-adds a column.
    #[inline(always)]
    pub fn times_skew(&self, r: V3) -> Self {
        let [a, b, c] = self.0;
        let (x, y, z) = (r.all::<0>(), r.all::<1>(), r.all::<2>());
        Self([c.times_from(y, b.times(z)), a.times_from(z, c.times(x)), b.times_from(x, a.times(y))])
    }

    /// `r× self`.
    #[inline(always)]
    pub fn crossed(&self, r: V3) -> Self {
        Self(self.0.map(|column| r.cross(column)))
    }

    /// `self − u wᵀ`.
    #[inline(always)]
    pub fn minus_outer(&self, u: V3, w: V3) -> Self {
        let [a, b, c] = self.0;
        Self([u.times_from(w.all::<0>(), a), u.times_from(w.all::<1>(), b), u.times_from(w.all::<2>(), c)])
    }

    /// As a matrix of nalgebra's.
    pub fn to_matrix(self) -> Matrix3<f64> {
        Matrix3::from_columns(&self.0.map(V3::to_vector))
    }
}

impl From<Matrix3<f64>> for M3 {
    fn from(m: Matrix3<f64>) -> Self {
        let column = |k: usize| V3::new(m[(0, k)], m[(1, k)], m[(2, k)]);
        Self([column(0), column(1), column(2)])
    }
}

impl Add for M3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self([self.0[0] + b.0[0], self.0[1] + b.0[1], self.0[2] + b.0[2]])
    }
}

impl AddAssign for M3 {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sub for M3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self([self.0[0] - b.0[0], self.0[1] - b.0[1], self.0[2] - b.0[2]])
    }
}

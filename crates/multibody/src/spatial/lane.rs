//! 3-vectors and 3×3 matrices over a [`Scalar`].
//!
//! For one machine a 3-vector is padded to four numbers and fills one 256-bit register: adding, scaling and
//! multiply-adding are one instruction each, a cross product five, a matrix on a vector six. The fourth lane is zero
//! and stays zero. For a pack of machines it is three registers, and operations are those on its entries.

use super::register;
use super::scalar::Scalar;
use nalgebra::{Matrix3, Vector3};
use std::ops::{Add, AddAssign, Index, Mul, Neg, Sub};

/// Lanes of a scalar at most.
pub(crate) const MAX_LANES: usize = 8;

/// A 3-vector: padded by a zero to one register for `f64`, three packs otherwise.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct V3<S: Scalar = f64>(S::Three);

impl V3 {
    pub const Z: Self = Self::new(0.0, 0.0, 1.0);

    #[inline(always)]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self(register::new([x, y, z, 0.0]))
    }

    /// (y, x, z).
    #[inline(always)]
    pub fn yxz(self) -> Self {
        Self(register::yxz(self.0))
    }

    /// As a vector of nalgebra's.
    #[inline(always)]
    pub fn to_vector(self) -> Vector3<f64> {
        Vector3::new(self[0], self[1], self[2])
    }
}

impl<S: Scalar> V3<S> {
    pub const ZERO: Self = Self(S::ZERO3);

    /// From its entries.
    #[inline(always)]
    pub fn of(x: S, y: S, z: S) -> Self {
        Self(S::three(x, y, z))
    }

    /// The same vector for every machine.
    #[inline(always)]
    pub fn spread(a: &V3) -> Self {
        Self(S::spread3(&a.0))
    }

    /// The vector of machine `k`.
    pub fn lane(&self, k: usize) -> V3 {
        V3::new(self.part(0).lane(k), self.part(1).lane(k), self.part(2).lane(k))
    }

    /// One vector for each machine.
    pub fn from_lanes(mut of: impl FnMut(usize) -> V3) -> Self {
        let lanes: [V3; MAX_LANES] = std::array::from_fn(|k| if k < S::LANES { of(k) } else { V3::ZERO });
        Self::of(S::from_lanes(|k| lanes[k][0]), S::from_lanes(|k| lanes[k][1]), S::from_lanes(|k| lanes[k][2]))
    }

    /// Entry `k`.
    #[inline(always)]
    pub fn part(&self, k: usize) -> S {
        S::part(&self.0, k)
    }

    /// `self s + c`.
    #[inline(always)]
    pub fn scale_add(self, s: S, c: Self) -> Self {
        Self(S::mul_add3(self.0, S::splat3(s), c.0))
    }

    /// `self ∘ b + c`, entry by entry.
    #[inline(always)]
    pub fn times_add(self, b: Self, c: Self) -> Self {
        Self(S::mul_add3(self.0, b.0, c.0))
    }

    /// `self ∘ b`, entry by entry.
    #[inline(always)]
    pub fn times(self, b: Self) -> Self {
        Self(S::mul3(self.0, b.0))
    }

    /// `c − self ∘ b`, entry by entry.
    #[inline(always)]
    pub fn times_from(self, b: Self, c: Self) -> Self {
        Self(S::sub_mul3(self.0, b.0, c.0))
    }

    /// (x, x, x), (y, y, y) or (z, z, z). The fourth lane is not zero: a factor, not a vector.
    #[inline(always)]
    pub fn all<const K: usize>(self) -> Self {
        Self(S::all3::<K>(self.0))
    }

    /// `self × b` = yzx (self ∘ yzx b − yzx self ∘ b).
    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        let turned = S::mul3(S::yzx3(self.0), b.0);
        Self(S::yzx3(S::mul_sub3(self.0, S::yzx3(b.0), turned)))
    }

    /// |self|, entry by entry.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self(S::abs3(self.0))
    }

    /// Sizes of the terms of `self × b`, summed: yzx (|self| ∘ yzx |b| + yzx |self| ∘ |b|).
    #[inline(always)]
    pub fn cross_size(self, b: Self) -> Self {
        let (a, b) = (S::abs3(self.0), S::abs3(b.0));
        let turned = S::mul3(S::yzx3(a), b);
        Self(S::yzx3(S::mul_add3(a, S::yzx3(b), turned)))
    }

    #[inline(always)]
    pub fn dot(self, b: Self) -> S {
        self.times(b).sum()
    }

    /// The sum of its entries.
    #[inline(always)]
    pub fn sum(self) -> S {
        self.part(0) + self.part(1) + self.part(2)
    }
}

impl<S: Scalar> std::fmt::Debug for V3<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        [self.part(0), self.part(1), self.part(2)].fmt(f)
    }
}

impl<S: Scalar> PartialEq for V3<S> {
    fn eq(&self, b: &Self) -> bool {
        (0..3).all(|k| self.part(k) == b.part(k))
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

impl<S: Scalar> Add for V3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(S::add3(self.0, b.0))
    }
}

impl<S: Scalar> AddAssign for V3<S> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<S: Scalar> Sub for V3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(S::sub3(self.0, b.0))
    }
}

impl<S: Scalar> Neg for V3<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(S::sub3(S::splat3(S::splat(-0.0)), self.0))
    }
}

impl<S: Scalar> Mul<S> for V3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: S) -> Self {
        Self(S::mul3(self.0, S::splat3(s)))
    }
}

/// A 3×3 matrix by its columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct M3<S: Scalar = f64>(pub [V3<S>; 3]);

impl M3 {
    pub const IDENTITY: Self = Self([V3::new(1.0, 0.0, 0.0), V3::new(0.0, 1.0, 0.0), V3::new(0.0, 0.0, 1.0)]);

    /// As a matrix of nalgebra's.
    pub fn to_matrix(self) -> Matrix3<f64> {
        Matrix3::from_columns(&self.0.map(V3::to_vector))
    }
}

impl<S: Scalar> M3<S> {
    pub const ZERO: Self = Self([V3::ZERO; 3]);

    /// The same matrix for every machine.
    #[inline(always)]
    pub fn spread(a: &M3) -> Self {
        Self([V3::spread(&a.0[0]), V3::spread(&a.0[1]), V3::spread(&a.0[2])])
    }

    /// The matrix of machine `k`.
    pub fn lane(&self, k: usize) -> M3 {
        M3(self.0.map(|column| column.lane(k)))
    }

    /// `s 1`.
    #[inline(always)]
    pub fn scaled_identity(s: S) -> Self {
        let zero = S::ZERO;
        Self([V3::of(s, zero, zero), V3::of(zero, s, zero), V3::of(zero, zero, s)])
    }

    /// `self v`.
    #[inline(always)]
    pub fn on(&self, v: V3<S>) -> V3<S> {
        self.0[0].times_add(v.all::<0>(), self.0[1].times_add(v.all::<1>(), self.0[2].times(v.all::<2>())))
    }

    /// `self v + c`.
    #[inline(always)]
    pub fn on_add(&self, v: V3<S>, c: V3<S>) -> V3<S> {
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
    pub fn turned(&self, (s, c): (S, S)) -> Self {
        let [x, y, z] = self.0;
        Self([x.scale_add(c, y * s), y.scale_add(c, x * -s), z])
    }

    #[inline(always)]
    pub fn transpose(&self) -> Self {
        let [a, b, c] = &self.0;
        Self([0, 1, 2].map(|k| V3::of(a.part(k), b.part(k), c.part(k))))
    }

    /// The sums of its columns' entries: `selfᵀ (1, 1, 1)`.
    #[inline(always)]
    pub fn column_sums(&self) -> V3<S> {
        let [a, b, c] = self.0;
        V3(S::sums3(a.0, b.0, c.0))
    }

    /// `selfᵀ v`.
    #[inline(always)]
    pub fn column_dots(&self, v: V3<S>) -> V3<S> {
        Self(self.0.map(|column| column.times(v))).column_sums()
    }

    /// |self|, entry by entry.
    pub fn abs(&self) -> Self {
        Self(self.0.map(V3::abs))
    }

    /// The matrix `r×`.
    #[inline(always)]
    pub fn skew(r: V3<S>) -> Self {
        let (x, y, z) = (r.part(0), r.part(1), r.part(2));
        Self([V3::of(S::ZERO, z, -y), V3::of(-z, S::ZERO, x), V3::of(y, -x, S::ZERO)])
    }

    /// `self r×`: two multiply-adds a column.
    #[inline(always)]
    pub fn times_skew(&self, r: V3<S>) -> Self {
        let [a, b, c] = self.0;
        let (x, y, z) = (r.all::<0>(), r.all::<1>(), r.all::<2>());
        Self([c.times_from(y, b.times(z)), a.times_from(z, c.times(x)), b.times_from(x, a.times(y))])
    }

    /// `r× self`.
    #[inline(always)]
    pub fn crossed(&self, r: V3<S>) -> Self {
        Self(self.0.map(|column| r.cross(column)))
    }

    /// `self − u wᵀ`.
    #[inline(always)]
    pub fn minus_outer(&self, u: V3<S>, w: V3<S>) -> Self {
        let [a, b, c] = self.0;
        Self([u.times_from(w.all::<0>(), a), u.times_from(w.all::<1>(), b), u.times_from(w.all::<2>(), c)])
    }
}

impl From<Matrix3<f64>> for M3 {
    fn from(m: Matrix3<f64>) -> Self {
        let column = |k: usize| V3::new(m[(0, k)], m[(1, k)], m[(2, k)]);
        Self([column(0), column(1), column(2)])
    }
}

impl<S: Scalar> Add for M3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self([self.0[0] + b.0[0], self.0[1] + b.0[1], self.0[2] + b.0[2]])
    }
}

impl<S: Scalar> AddAssign for M3<S> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<S: Scalar> Sub for M3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self([self.0[0] - b.0[0], self.0[1] - b.0[1], self.0[2] - b.0[2]])
    }
}

//! The number of the kernels: one `f64`, or a [`Pack`] with one number for each of several machines.
//!
//! A kernel is written once, over a [`Scalar`]. With `f64` a 3-vector is padded to one register and the lanes of that
//! register are its entries; with a [`Pack`] a 3-vector is three registers and lane k of every register belongs to
//! machine k. Machines of a pack share the model and the order of joints, not their numbers: no operation mixes lanes,
//! and all operations on one lane are those of `f64` in the same order.

use super::pack::Pack;
use super::register;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

/// One number for each machine of a kernel: `f64` or [`Pack`].
pub trait Scalar:
    Storage
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + PartialEq
{
    /// A truth value for each machine.
    type Mask: Mask;

    /// Machines: numbers in one scalar.
    const LANES: usize;

    /// Zero for every machine.
    const ZERO: Self;

    /// The same number for every machine.
    fn splat(x: f64) -> Self;

    /// One number for each machine, from its lane.
    fn from_lanes(x: impl FnMut(usize) -> f64) -> Self;

    /// The number of one machine.
    fn lane(&self, k: usize) -> f64;

    /// `self b + c`, rounded once where the target has the instruction.
    fn times_add(self, b: Self, c: Self) -> Self;

    /// `self b − c`, likewise.
    fn times_less(self, b: Self, c: Self) -> Self;

    /// `c − self b`, likewise.
    fn times_from(self, b: Self, c: Self) -> Self;

    /// |self|.
    fn size(self) -> Self;

    /// The larger of two; `b` where one is no number.
    fn larger(self, b: Self) -> Self;

    /// The smaller of two; `b` where one is no number.
    fn smaller(self, b: Self) -> Self;

    /// Sine and cosine: see [`crate::sin_cos`].
    fn sin_cos(self) -> (Self, Self);

    /// Whether `self < b`.
    fn is_below(self, b: Self) -> Self::Mask;

    /// Whether `self ≤ b`; not so where one is no number.
    fn is_at_most(self, b: Self) -> Self::Mask;

    /// Whether `self = b`.
    fn equals(self, b: Self) -> Self::Mask;

    /// `self` where `mask` holds, `b` elsewhere.
    fn or_else(self, mask: Self::Mask, b: Self) -> Self;
}

/// Truth values of the machines of a kernel.
pub trait Mask: Copy + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> + Send + Sync {
    /// The same for every machine.
    fn splat(is: bool) -> Self;

    /// One for each machine, from its lane.
    fn from_lanes(is: impl FnMut(usize) -> bool) -> Self;

    /// Whether it holds for one machine.
    fn lane(self, k: usize) -> bool;

    /// Whether it holds for every machine.
    fn all(self) -> bool;

    /// Whether it holds for a machine.
    fn any(self) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn splat(is: bool) -> Self {
        is
    }

    #[inline(always)]
    fn from_lanes(mut is: impl FnMut(usize) -> bool) -> Self {
        is(0)
    }

    #[inline(always)]
    fn lane(self, _: usize) -> bool {
        self
    }

    #[inline(always)]
    fn all(self) -> bool {
        self
    }

    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

/// Storage of a 3-vector, and the operations on it that depend on the storage. See [`super::V3`] for their meaning.
pub trait Storage: Copy + Debug + Send + Sync + 'static {
    type Three: Copy + Send + Sync;

    fn three(x: Self, y: Self, z: Self) -> Self::Three;
    fn part(a: &Self::Three, k: usize) -> Self;
    fn add3(a: Self::Three, b: Self::Three) -> Self::Three;
    fn sub3(a: Self::Three, b: Self::Three) -> Self::Three;
    fn mul3(a: Self::Three, b: Self::Three) -> Self::Three;
    /// `a b + c`, `a b − c` and `c − a b`.
    fn mul_add3(a: Self::Three, b: Self::Three, c: Self::Three) -> Self::Three;
    fn mul_sub3(a: Self::Three, b: Self::Three, c: Self::Three) -> Self::Three;
    fn sub_mul3(a: Self::Three, b: Self::Three, c: Self::Three) -> Self::Three;
    fn abs3(a: Self::Three) -> Self::Three;
    fn yzx3(a: Self::Three) -> Self::Three;
    /// Entry `K` in every entry.
    fn all3<const K: usize>(a: Self::Three) -> Self::Three;
    /// `s` in every entry.
    fn splat3(s: Self) -> Self::Three;
    /// The sums of three vectors.
    fn sums3(a: Self::Three, b: Self::Three, c: Self::Three) -> Self::Three;
    const ZERO3: Self::Three;
    /// The vector of one machine for all of them.
    fn spread3(a: &register::Lanes) -> Self::Three;

    /// The bits of the number moved up by `BY` places, after `add` was added to them as an integer.
    fn shift<const BY: i32>(self, add: i64) -> Self;
    /// `self` where the sign bit of `sign` is set, `b` elsewhere.
    fn where_negative(self, sign: Self, b: Self) -> Self;
    /// The sign turned where the sign bit of `sign` is set.
    fn flipped(self, sign: Self) -> Self;
}

impl Storage for f64 {
    type Three = register::Lanes;
    const ZERO3: register::Lanes = register::new([0.0; 4]);

    #[inline(always)]
    fn three(x: f64, y: f64, z: f64) -> register::Lanes {
        register::new([x, y, z, 0.0])
    }

    #[inline(always)]
    fn part(a: &register::Lanes, k: usize) -> f64 {
        register::array(a)[k]
    }

    #[inline(always)]
    fn add3(a: register::Lanes, b: register::Lanes) -> register::Lanes {
        register::add(a, b)
    }

    #[inline(always)]
    fn sub3(a: register::Lanes, b: register::Lanes) -> register::Lanes {
        register::sub(a, b)
    }

    #[inline(always)]
    fn mul3(a: register::Lanes, b: register::Lanes) -> register::Lanes {
        register::mul(a, b)
    }

    #[inline(always)]
    fn mul_add3(a: register::Lanes, b: register::Lanes, c: register::Lanes) -> register::Lanes {
        register::mul_add(a, b, c)
    }

    #[inline(always)]
    fn mul_sub3(a: register::Lanes, b: register::Lanes, c: register::Lanes) -> register::Lanes {
        register::mul_sub(a, b, c)
    }

    #[inline(always)]
    fn sub_mul3(a: register::Lanes, b: register::Lanes, c: register::Lanes) -> register::Lanes {
        register::sub_mul(a, b, c)
    }

    #[inline(always)]
    fn abs3(a: register::Lanes) -> register::Lanes {
        register::abs(a)
    }

    #[inline(always)]
    fn yzx3(a: register::Lanes) -> register::Lanes {
        register::yzx(a)
    }

    #[inline(always)]
    fn all3<const K: usize>(a: register::Lanes) -> register::Lanes {
        register::all::<K>(a)
    }

    #[inline(always)]
    fn splat3(s: f64) -> register::Lanes {
        register::splat(s)
    }

    #[inline(always)]
    fn sums3(a: register::Lanes, b: register::Lanes, c: register::Lanes) -> register::Lanes {
        register::sums(a, b, c)
    }

    #[inline(always)]
    fn spread3(a: &register::Lanes) -> register::Lanes {
        *a
    }

    #[inline(always)]
    fn shift<const BY: i32>(self, add: i64) -> f64 {
        f64::from_bits(self.to_bits().wrapping_add_signed(add) << BY)
    }

    #[inline(always)]
    fn where_negative(self, sign: f64, b: f64) -> f64 {
        if sign.is_sign_negative() { self } else { b }
    }

    #[inline(always)]
    fn flipped(self, sign: f64) -> f64 {
        f64::from_bits(self.to_bits() ^ (sign.to_bits() & (-0.0_f64).to_bits()))
    }
}

impl Scalar for f64 {
    type Mask = bool;
    const LANES: usize = 1;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn splat(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn from_lanes(mut x: impl FnMut(usize) -> f64) -> f64 {
        x(0)
    }

    #[inline(always)]
    fn lane(&self, _: usize) -> f64 {
        *self
    }

    #[inline(always)]
    fn times_add(self, b: f64, c: f64) -> f64 {
        register::fma(self, b, c)
    }

    #[inline(always)]
    fn times_less(self, b: f64, c: f64) -> f64 {
        register::fma(self, b, -c)
    }

    #[inline(always)]
    fn times_from(self, b: f64, c: f64) -> f64 {
        register::fma(-self, b, c)
    }

    #[inline(always)]
    fn size(self) -> f64 {
        self.abs()
    }

    #[inline(always)]
    fn larger(self, b: f64) -> f64 {
        if self > b { self } else { b }
    }

    #[inline(always)]
    fn smaller(self, b: f64) -> f64 {
        if self < b { self } else { b }
    }

    #[inline(always)]
    fn sin_cos(self) -> (f64, f64) {
        crate::trig::sin_cos(self)
    }

    #[inline(always)]
    fn is_below(self, b: f64) -> bool {
        self < b
    }

    #[inline(always)]
    fn is_at_most(self, b: f64) -> bool {
        self <= b
    }

    #[inline(always)]
    fn equals(self, b: f64) -> bool {
        self == b
    }

    #[inline(always)]
    fn or_else(self, mask: bool, b: f64) -> f64 {
        if mask { self } else { b }
    }
}

/// Three packs, entry by entry.
#[inline(always)]
fn each<const N: usize>(entry: impl Fn(usize) -> Pack<N>) -> [Pack<N>; 3] {
    [entry(0), entry(1), entry(2)]
}

impl<const N: usize> Storage for Pack<N> {
    type Three = [Pack<N>; 3];
    const ZERO3: [Pack<N>; 3] = [<Pack<N> as Scalar>::ZERO; 3];

    #[inline(always)]
    fn three(x: Pack<N>, y: Pack<N>, z: Pack<N>) -> [Pack<N>; 3] {
        [x, y, z]
    }

    #[inline(always)]
    fn part(a: &[Pack<N>; 3], k: usize) -> Pack<N> {
        a[k]
    }

    #[inline(always)]
    fn add3(a: [Pack<N>; 3], b: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k] + b[k])
    }

    #[inline(always)]
    fn sub3(a: [Pack<N>; 3], b: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k] - b[k])
    }

    #[inline(always)]
    fn mul3(a: [Pack<N>; 3], b: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k] * b[k])
    }

    #[inline(always)]
    fn mul_add3(a: [Pack<N>; 3], b: [Pack<N>; 3], c: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k].times_add(b[k], c[k]))
    }

    #[inline(always)]
    fn mul_sub3(a: [Pack<N>; 3], b: [Pack<N>; 3], c: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k].times_less(b[k], c[k]))
    }

    #[inline(always)]
    fn sub_mul3(a: [Pack<N>; 3], b: [Pack<N>; 3], c: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k].times_from(b[k], c[k]))
    }

    #[inline(always)]
    fn abs3(a: [Pack<N>; 3]) -> [Pack<N>; 3] {
        each(|k| a[k].size())
    }

    #[inline(always)]
    fn yzx3(a: [Pack<N>; 3]) -> [Pack<N>; 3] {
        [a[1], a[2], a[0]]
    }

    #[inline(always)]
    fn all3<const K: usize>(a: [Pack<N>; 3]) -> [Pack<N>; 3] {
        [a[K]; 3]
    }

    #[inline(always)]
    fn splat3(s: Pack<N>) -> [Pack<N>; 3] {
        [s; 3]
    }

    #[inline(always)]
    fn sums3(a: [Pack<N>; 3], b: [Pack<N>; 3], c: [Pack<N>; 3]) -> [Pack<N>; 3] {
        [a[0] + a[1] + a[2], b[0] + b[1] + b[2], c[0] + c[1] + c[2]]
    }

    #[inline(always)]
    fn spread3(a: &register::Lanes) -> [Pack<N>; 3] {
        each(|k| Pack::splat(register::array(a)[k]))
    }

    #[inline(always)]
    fn shift<const BY: i32>(self, add: i64) -> Pack<N> {
        self.shifted_bits::<BY>(add)
    }

    #[inline(always)]
    fn where_negative(self, sign: Pack<N>, b: Pack<N>) -> Pack<N> {
        self.by_sign(sign, b)
    }

    #[inline(always)]
    fn flipped(self, sign: Pack<N>) -> Pack<N> {
        self.turned_sign(sign)
    }
}

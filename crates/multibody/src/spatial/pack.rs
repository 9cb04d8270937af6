//! A pack of lanes: one number for each of several machines, four to a 256-bit register where the target has them.

use super::register;
use super::scalar::{Mask, Scalar};
use crate::trig;
use std::fmt;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

/// One number for each of `4 N` machines, in `N` registers. Recursions over a tree wait for one link after the other:
/// with two registers the second is under way meanwhile.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pack<const N: usize>([register::Lanes; N]);

/// Four machines.
pub type Pack4 = Pack<1>;

/// Eight machines.
pub type Pack8 = Pack<2>;

/// One truth value for each of `4 N` machines.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PackMask<const N: usize>([register::Lanes; N]);

/// One operation on each register.
#[inline(always)]
fn each<const N: usize>(of: impl Fn(usize) -> register::Lanes) -> [register::Lanes; N] {
    let mut out = [register::new([0.0; 4]); N];
    for (k, out) in out.iter_mut().enumerate() {
        *out = of(k);
    }
    out
}

impl Pack<1> {
    /// From the numbers of the lanes.
    #[inline(always)]
    pub(crate) const fn new(lanes: [f64; 4]) -> Self {
        Self([register::new(lanes)])
    }
}

impl<const N: usize> Pack<N> {
    /// From the first numbers of a slice; panics, like a slice, where they are too few.
    #[inline(always)]
    pub fn from_slice(x: &[f64]) -> Self {
        let x = &x[..4 * N];
        Self(each(|k| register::new([x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]])))
    }

    /// Writes the numbers to the first entries of a slice; panics, like a slice, where they are too few.
    #[inline(always)]
    pub fn write(&self, to: &mut [f64]) {
        let to = &mut to[..4 * N];
        for (k, register) in self.0.iter().enumerate() {
            to[4 * k..4 * k + 4].copy_from_slice(register::array(register));
        }
    }

    /// Replaces the number of one lane; panics, like a slice, where there is no such lane.
    pub fn set_lane(&mut self, k: usize, x: f64) {
        let mut lanes = *register::array(&self.0[k / 4]);
        lanes[k % 4] = x;
        self.0[k / 4] = register::new(lanes);
    }

    /// `self s + c`.
    #[inline(always)]
    pub(crate) fn scale_add(self, s: f64, c: Self) -> Self {
        Self(each(|k| register::mul_add(self.0[k], register::splat(s), c.0[k])))
    }

    /// The bits of the numbers moved up by `BY` places, after `add` was added to them as integers.
    #[inline(always)]
    pub(super) fn shifted_bits<const BY: i32>(self, add: i64) -> Self {
        Self(each(|k| register::shift::<BY>(self.0[k], add)))
    }

    /// `self` where the sign bit of `sign` is set, `b` elsewhere.
    #[inline(always)]
    pub(super) fn by_sign(self, sign: Self, b: Self) -> Self {
        Self(each(|k| register::select(sign.0[k], self.0[k], b.0[k])))
    }

    /// The sign turned where the sign bit of `sign` is set.
    #[inline(always)]
    pub(super) fn turned_sign(self, sign: Self) -> Self {
        Self(each(|k| register::xor(self.0[k], register::and(sign.0[k], register::splat(-0.0)))))
    }
}

impl<const N: usize> Scalar for Pack<N> {
    type Mask = PackMask<N>;
    const LANES: usize = 4 * N;
    const ZERO: Self = Self([register::new([0.0; 4]); N]);

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([register::splat(x); N])
    }

    #[inline(always)]
    fn from_lanes(mut x: impl FnMut(usize) -> f64) -> Self {
        let mut out = [register::new([0.0; 4]); N];
        for (k, out) in out.iter_mut().enumerate() {
            *out = register::new(std::array::from_fn(|lane| x(4 * k + lane)));
        }
        Self(out)
    }

    #[inline(always)]
    fn lane(&self, k: usize) -> f64 {
        register::array(&self.0[k / 4])[k % 4]
    }

    #[inline(always)]
    fn times_add(self, b: Self, c: Self) -> Self {
        Self(each(|k| register::mul_add(self.0[k], b.0[k], c.0[k])))
    }

    #[inline(always)]
    fn times_less(self, b: Self, c: Self) -> Self {
        Self(each(|k| register::mul_sub(self.0[k], b.0[k], c.0[k])))
    }

    #[inline(always)]
    fn times_from(self, b: Self, c: Self) -> Self {
        Self(each(|k| register::sub_mul(self.0[k], b.0[k], c.0[k])))
    }

    #[inline(always)]
    fn size(self) -> Self {
        Self(each(|k| register::abs(self.0[k])))
    }

    #[inline(always)]
    fn larger(self, b: Self) -> Self {
        Self(each(|k| register::max(self.0[k], b.0[k])))
    }

    #[inline(always)]
    fn smaller(self, b: Self) -> Self {
        Self(each(|k| register::min(self.0[k], b.0[k])))
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trig::sin_cos_lanes(self)
    }

    #[inline(always)]
    fn is_below(self, b: Self) -> PackMask<N> {
        PackMask(each(|k| register::lt(self.0[k], b.0[k])))
    }

    #[inline(always)]
    fn is_at_most(self, b: Self) -> PackMask<N> {
        PackMask(each(|k| register::le(self.0[k], b.0[k])))
    }

    #[inline(always)]
    fn equals(self, b: Self) -> PackMask<N> {
        PackMask(each(|k| register::eq(self.0[k], b.0[k])))
    }

    #[inline(always)]
    fn or_else(self, mask: PackMask<N>, b: Self) -> Self {
        Self(each(|k| register::select(mask.0[k], self.0[k], b.0[k])))
    }
}

impl<const N: usize> fmt::Debug for Pack<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..4 * N).map(|k| self.lane(k))).finish()
    }
}

impl<const N: usize> PartialEq for Pack<N> {
    fn eq(&self, b: &Self) -> bool {
        self.equals(*b).all()
    }
}

impl<const N: usize> Default for Pack<N> {
    fn default() -> Self {
        Self::ZERO
    }
}

impl<const N: usize> Add for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(each(|k| register::add(self.0[k], b.0[k])))
    }
}

impl<const N: usize> AddAssign for Pack<N> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<const N: usize> Sub for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(each(|k| register::sub(self.0[k], b.0[k])))
    }
}

impl<const N: usize> SubAssign for Pack<N> {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl<const N: usize> Mul for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self(each(|k| register::mul(self.0[k], b.0[k])))
    }
}

impl<const N: usize> Mul<f64> for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self(each(|k| register::mul(self.0[k], register::splat(s))))
    }
}

impl<const N: usize> Div for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        Self(each(|k| register::div(self.0[k], b.0[k])))
    }
}

impl<const N: usize> Neg for Pack<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(each(|k| register::xor(self.0[k], register::splat(-0.0))))
    }
}

impl<const N: usize> Mask for PackMask<N> {
    #[inline(always)]
    fn splat(is: bool) -> Self {
        Self::from_lanes(|_| is)
    }

    #[inline(always)]
    fn from_lanes(mut is: impl FnMut(usize) -> bool) -> Self {
        let mut bits = |k: usize| f64::from_bits(if is(k) { u64::MAX } else { 0 });
        let mut out = [register::new([0.0; 4]); N];
        for (k, out) in out.iter_mut().enumerate() {
            *out = register::new(std::array::from_fn(|lane| bits(4 * k + lane)));
        }
        Self(out)
    }

    #[inline(always)]
    fn lane(self, k: usize) -> bool {
        register::signs(self.0[k / 4]) >> (k % 4) & 1 == 1
    }

    #[inline(always)]
    fn all(self) -> bool {
        self.0.iter().fold(0b1111, |all, register| all & register::signs(*register)) == 0b1111
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(0, |any, register| any | register::signs(*register)) != 0
    }
}

impl<const N: usize> fmt::Debug for PackMask<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..4 * N).map(|k| self.lane(k))).finish()
    }
}

impl<const N: usize> BitAnd for PackMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        Self(each(|k| register::and(self.0[k], b.0[k])))
    }
}

impl<const N: usize> BitOr for PackMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, b: Self) -> Self {
        Self(each(|k| register::or(self.0[k], b.0[k])))
    }
}

impl<const N: usize> Not for PackMask<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        let ones = register::splat(f64::from_bits(u64::MAX));
        Self(each(|k| register::xor(self.0[k], ones)))
    }
}

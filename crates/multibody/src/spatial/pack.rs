//! A pack of lanes: one number for each of four machines, in one 256-bit register where the target has them.

use super::register;
use super::scalar::{Mask, Scalar};
use crate::trig;
use std::fmt;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

/// One number for each of [`Pack::LANES`] machines.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pack(register::Lanes);

/// One truth value for each of [`Pack::LANES`] machines.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PackMask(register::Lanes);

impl Pack {
    /// From the numbers of the lanes.
    #[inline(always)]
    pub const fn new(lanes: [f64; 4]) -> Self {
        Self(register::new(lanes))
    }

    /// The numbers of the lanes.
    #[inline(always)]
    pub fn to_array(self) -> [f64; 4] {
        *register::array(&self.0)
    }

    /// Replaces the number of one lane; panics, like a slice, where there is no such lane.
    pub fn set_lane(&mut self, k: usize, x: f64) {
        let mut lanes = self.to_array();
        lanes[k] = x;
        *self = Self::new(lanes);
    }

    /// `self s + c`.
    #[inline(always)]
    pub(crate) fn scale_add(self, s: f64, c: Self) -> Self {
        Self(register::mul_add(self.0, register::splat(s), c.0))
    }

    /// The bits of the numbers moved up by `BY` places, after `add` was added to them as integers.
    #[inline(always)]
    pub(super) fn shifted_bits<const BY: i32>(self, add: i64) -> Self {
        Self(register::shift::<BY>(self.0, add))
    }

    /// `self` where the sign bit of `sign` is set, `b` elsewhere.
    #[inline(always)]
    pub(super) fn by_sign(self, sign: Self, b: Self) -> Self {
        Self(register::select(sign.0, self.0, b.0))
    }

    /// The sign turned where the sign bit of `sign` is set.
    #[inline(always)]
    pub(super) fn turned_sign(self, sign: Self) -> Self {
        Self(register::xor(self.0, register::and(sign.0, register::splat(-0.0))))
    }
}

impl Scalar for Pack {
    type Mask = PackMask;
    const LANES: usize = 4;
    const ZERO: Self = Self::new([0.0; 4]);

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self(register::splat(x))
    }

    #[inline(always)]
    fn from_lanes(x: impl FnMut(usize) -> f64) -> Self {
        Self::new(std::array::from_fn(x))
    }

    #[inline(always)]
    fn lane(&self, k: usize) -> f64 {
        register::array(&self.0)[k]
    }

    #[inline(always)]
    fn times_add(self, b: Self, c: Self) -> Self {
        Self(register::mul_add(self.0, b.0, c.0))
    }

    #[inline(always)]
    fn times_less(self, b: Self, c: Self) -> Self {
        Self(register::mul_sub(self.0, b.0, c.0))
    }

    #[inline(always)]
    fn times_from(self, b: Self, c: Self) -> Self {
        Self(register::sub_mul(self.0, b.0, c.0))
    }

    #[inline(always)]
    fn size(self) -> Self {
        Self(register::abs(self.0))
    }

    #[inline(always)]
    fn larger(self, b: Self) -> Self {
        Self(register::max(self.0, b.0))
    }

    #[inline(always)]
    fn smaller(self, b: Self) -> Self {
        Self(register::min(self.0, b.0))
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trig::sin_cos_lanes(self)
    }

    #[inline(always)]
    fn is_below(self, b: Self) -> PackMask {
        PackMask(register::lt(self.0, b.0))
    }

    #[inline(always)]
    fn is_at_most(self, b: Self) -> PackMask {
        PackMask(register::le(self.0, b.0))
    }

    #[inline(always)]
    fn equals(self, b: Self) -> PackMask {
        PackMask(register::eq(self.0, b.0))
    }

    #[inline(always)]
    fn or_else(self, mask: PackMask, b: Self) -> Self {
        Self(register::select(mask.0, self.0, b.0))
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_array().fmt(f)
    }
}

impl PartialEq for Pack {
    fn eq(&self, b: &Self) -> bool {
        self.to_array() == b.to_array()
    }
}

impl Default for Pack {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Add for Pack {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self(register::add(self.0, b.0))
    }
}

impl AddAssign for Pack {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sub for Pack {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(register::sub(self.0, b.0))
    }
}

impl SubAssign for Pack {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl Mul for Pack {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self(register::mul(self.0, b.0))
    }
}

impl Mul<f64> for Pack {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self(register::mul(self.0, register::splat(s)))
    }
}

impl Div for Pack {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        Self(register::div(self.0, b.0))
    }
}

impl Neg for Pack {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(register::xor(self.0, register::splat(-0.0)))
    }
}

impl Mask for PackMask {
    #[inline(always)]
    fn splat(is: bool) -> Self {
        Self::from_lanes(|_| is)
    }

    #[inline(always)]
    fn from_lanes(mut is: impl FnMut(usize) -> bool) -> Self {
        let bits = |is: bool| f64::from_bits(if is { u64::MAX } else { 0 });
        Self(register::new(std::array::from_fn(|k| bits(is(k)))))
    }

    #[inline(always)]
    fn lane(self, k: usize) -> bool {
        register::signs(self.0) >> k & 1 == 1
    }

    #[inline(always)]
    fn all(self) -> bool {
        register::signs(self.0) == 0b1111
    }

    #[inline(always)]
    fn any(self) -> bool {
        register::signs(self.0) != 0
    }
}

impl fmt::Debug for PackMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::array::from_fn::<_, 4, _>(|k| self.lane(k)).fmt(f)
    }
}

impl BitAnd for PackMask {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        Self(register::and(self.0, b.0))
    }
}

impl BitOr for PackMask {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, b: Self) -> Self {
        Self(register::or(self.0, b.0))
    }
}

impl Not for PackMask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(register::xor(self.0, register::splat(f64::from_bits(u64::MAX))))
    }
}

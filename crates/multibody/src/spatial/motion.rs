//! Motion vectors: velocities, accelerations, joint axes.

use super::{Force, V3};
use nalgebra::Vector3;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A spatial velocity or acceleration: angular part, and linear part of the point at the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    pub(crate) angular: V3,
    pub(crate) linear: V3,
}

impl Motion {
    /// Nothing.
    pub const ZERO: Self = Self { angular: V3::ZERO, linear: V3::ZERO };

    /// From its two parts.
    pub fn new(angular: Vector3<f64>, linear: Vector3<f64>) -> Self {
        Self { angular: angular.into(), linear: linear.into() }
    }

    #[inline(always)]
    pub(crate) const fn of(angular: V3, linear: V3) -> Self {
        Self { angular, linear }
    }

    /// Angular part, rad/s (rad/s²).
    pub fn angular(&self) -> Vector3<f64> {
        self.angular.to_vector()
    }

    /// Linear part, m/s (m/s²).
    pub fn linear(&self) -> Vector3<f64> {
        self.linear.to_vector()
    }

    /// The six numbers, angular first.
    #[inline(always)]
    pub fn to_array(&self) -> [f64; 6] {
        let (a, l) = (&self.angular, &self.linear);
        [a[0], a[1], a[2], l[0], l[1], l[2]]
    }

    /// From six numbers, angular first.
    #[inline(always)]
    pub fn from_array(e: [f64; 6]) -> Self {
        Self::of(V3::new(e[0], e[1], e[2]), V3::new(e[3], e[4], e[5]))
    }

    /// From a slice of six numbers, angular first; missing ones are 0.
    #[inline(always)]
    pub fn from_slice(e: &[f64]) -> Self {
        Self::from_array(std::array::from_fn(|k| e.get(k).copied().unwrap_or(0.0)))
    }

    /// The `k`-th unit motion, angular first.
    #[inline(always)]
    pub fn unit(k: usize) -> Self {
        Self::from_array(std::array::from_fn(|l| if l == k { 1.0 } else { 0.0 }))
    }

    /// `self × m` (RBDA 2.31): how `m` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross(&self, m: &Self) -> Self {
        Self::of(self.angular.cross(m.angular), self.angular.cross(m.linear) + self.linear.cross(m.angular))
    }

    /// `self ×* f` (RBDA 2.32): how the force `f` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross_force(&self, f: &Force) -> Force {
        Force::of(self.angular.cross(f.moment) + self.linear.cross(f.force), self.angular.cross(f.force))
    }

    /// `self · f`: power of a force on a velocity, effort of a reaction along an axis.
    #[inline(always)]
    pub fn dot(&self, f: &Force) -> f64 {
        self.angular.times_add(f.moment, self.linear.times(f.force)).sum()
    }
}

impl Add for Motion {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::of(self.angular + b.angular, self.linear + b.linear)
    }
}

impl AddAssign for Motion {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sub for Motion {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::of(self.angular - b.angular, self.linear - b.linear)
    }
}

impl SubAssign for Motion {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl Neg for Motion {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::of(-self.angular, -self.linear)
    }
}

impl Mul<f64> for Motion {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self::of(self.angular * s, self.linear * s)
    }
}

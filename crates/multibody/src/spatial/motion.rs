//! Motion vectors: velocities, accelerations, joint axes.

use super::{Force, add_cross, cross, dot};
use nalgebra::Vector3;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A spatial velocity or acceleration: angular part, and linear part of the point at the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Angular part, rad/s (rad/s²).
    pub angular: Vector3<f64>,
    /// Linear part, m/s (m/s²).
    pub linear: Vector3<f64>,
}

impl Motion {
    /// No motion.
    pub const ZERO: Self = Self { angular: Vector3::new(0.0, 0.0, 0.0), linear: Vector3::new(0.0, 0.0, 0.0) };

    /// From its two parts.
    #[inline(always)]
    pub const fn new(angular: Vector3<f64>, linear: Vector3<f64>) -> Self {
        Self { angular, linear }
    }

    /// The `k`-th unit motion, angular first.
    pub fn unit(k: usize) -> Self {
        let mut e = [0.0; 6];
        e[k] = 1.0;
        Self::new(Vector3::new(e[0], e[1], e[2]), Vector3::new(e[3], e[4], e[5]))
    }

    /// `self × m` (RBDA 2.31): how `m` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross(&self, m: &Self) -> Self {
        Self::new(
            cross(&self.angular, &m.angular),
            add_cross(&cross(&self.angular, &m.linear), &self.linear, &m.angular),
        )
    }

    /// `self ×* f` (RBDA 2.32): how the force `f` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross_force(&self, f: &Force) -> Force {
        Force::new(add_cross(&cross(&self.angular, &f.moment), &self.linear, &f.force), cross(&self.angular, &f.force))
    }

    /// `self · f`: power of a force on a velocity, effort of a reaction along an axis.
    #[inline(always)]
    pub fn dot(&self, f: &Force) -> f64 {
        dot(&self.angular, &f.moment) + dot(&self.linear, &f.force)
    }

    /// The six numbers, angular first.
    pub fn to_array(&self) -> [f64; 6] {
        [self.angular.x, self.angular.y, self.angular.z, self.linear.x, self.linear.y, self.linear.z]
    }

    /// From a slice of six numbers, angular first; missing ones are 0.
    #[inline(always)]
    pub fn from_slice(e: &[f64]) -> Self {
        let at = |k: usize| e.get(k).copied().unwrap_or(0.0);
        Self::from_array([at(0), at(1), at(2), at(3), at(4), at(5)])
    }

    /// From six numbers, angular first.
    pub fn from_array(e: [f64; 6]) -> Self {
        Self::new(Vector3::new(e[0], e[1], e[2]), Vector3::new(e[3], e[4], e[5]))
    }
}

impl Add for Motion {
    type Output = Self;
    #[inline(always)]
    fn add(self, m: Self) -> Self {
        Self::new(self.angular + m.angular, self.linear + m.linear)
    }
}

impl AddAssign for Motion {
    #[inline(always)]
    fn add_assign(&mut self, m: Self) {
        *self = *self + m;
    }
}

impl Sub for Motion {
    type Output = Self;
    #[inline(always)]
    fn sub(self, m: Self) -> Self {
        Self::new(self.angular - m.angular, self.linear - m.linear)
    }
}

impl Neg for Motion {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.angular, -self.linear)
    }
}

impl Mul<f64> for Motion {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self::new(self.angular * s, self.linear * s)
    }
}

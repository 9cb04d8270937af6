//! Force vectors: wrenches, reactions, momenta.

use nalgebra::Vector3;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A spatial force: moment about the frame's origin, and force. Also a momentum: angular and linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Force {
    /// Moment about the origin, N·m.
    pub moment: Vector3<f64>,
    /// Force, N.
    pub force: Vector3<f64>,
}

impl Force {
    /// No force.
    pub const ZERO: Self = Self { moment: Vector3::new(0.0, 0.0, 0.0), force: Vector3::new(0.0, 0.0, 0.0) };

    /// From its two parts.
    #[inline(always)]
    pub const fn new(moment: Vector3<f64>, force: Vector3<f64>) -> Self {
        Self { moment, force }
    }

    /// The six numbers, moment first.
    pub fn to_array(&self) -> [f64; 6] {
        [self.moment.x, self.moment.y, self.moment.z, self.force.x, self.force.y, self.force.z]
    }

    /// From a slice of six numbers, moment first; missing ones are 0.
    #[inline(always)]
    pub fn from_slice(e: &[f64]) -> Self {
        let at = |k: usize| e.get(k).copied().unwrap_or(0.0);
        Self::from_array([at(0), at(1), at(2), at(3), at(4), at(5)])
    }

    /// From six numbers, moment first.
    pub fn from_array(e: [f64; 6]) -> Self {
        Self::new(Vector3::new(e[0], e[1], e[2]), Vector3::new(e[3], e[4], e[5]))
    }
}

impl Add for Force {
    type Output = Self;
    #[inline(always)]
    fn add(self, m: Self) -> Self {
        Self::new(self.moment + m.moment, self.force + m.force)
    }
}

impl AddAssign for Force {
    #[inline(always)]
    fn add_assign(&mut self, m: Self) {
        *self = *self + m;
    }
}

impl SubAssign for Force {
    #[inline(always)]
    fn sub_assign(&mut self, m: Self) {
        *self = *self - m;
    }
}

impl Sub for Force {
    type Output = Self;
    #[inline(always)]
    fn sub(self, m: Self) -> Self {
        Self::new(self.moment - m.moment, self.force - m.force)
    }
}

impl Neg for Force {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.moment, -self.force)
    }
}

impl Mul<f64> for Force {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self::new(self.moment * s, self.force * s)
    }
}

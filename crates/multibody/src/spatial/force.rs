//! Force vectors: wrenches, reactions, momenta.

use super::V3;
use nalgebra::Vector3;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A spatial force: moment about the frame's origin, and force. Also a momentum: angular and linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Force {
    pub(crate) moment: V3,
    pub(crate) force: V3,
}

impl Force {
    /// Nothing.
    pub const ZERO: Self = Self { moment: V3::ZERO, force: V3::ZERO };

    /// From its two parts.
    pub fn new(moment: Vector3<f64>, force: Vector3<f64>) -> Self {
        Self { moment: moment.into(), force: force.into() }
    }

    #[inline(always)]
    pub(crate) const fn of(moment: V3, force: V3) -> Self {
        Self { moment, force }
    }

    /// Moment about the origin, N·m.
    pub fn moment(&self) -> Vector3<f64> {
        self.moment.to_vector()
    }

    /// Force, N.
    pub fn force(&self) -> Vector3<f64> {
        self.force.to_vector()
    }

    /// The six numbers, moment first.
    #[inline(always)]
    pub fn to_array(&self) -> [f64; 6] {
        let (a, l) = (&self.moment, &self.force);
        [a[0], a[1], a[2], l[0], l[1], l[2]]
    }

    /// From six numbers, moment first.
    #[inline(always)]
    pub fn from_array(e: [f64; 6]) -> Self {
        Self::of(V3::new(e[0], e[1], e[2]), V3::new(e[3], e[4], e[5]))
    }

    /// From a slice of six numbers, moment first; missing ones are 0.
    #[inline(always)]
    pub fn from_slice(e: &[f64]) -> Self {
        Self::from_array(std::array::from_fn(|k| e.get(k).copied().unwrap_or(0.0)))
    }
}

impl Add for Force {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::of(self.moment + b.moment, self.force + b.force)
    }
}

impl AddAssign for Force {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sub for Force {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::of(self.moment - b.moment, self.force - b.force)
    }
}

impl SubAssign for Force {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl Neg for Force {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::of(-self.moment, -self.force)
    }
}

impl Mul<f64> for Force {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f64) -> Self {
        Self::of(self.moment * s, self.force * s)
    }
}

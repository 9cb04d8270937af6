//! Motion vectors: velocities, accelerations, joint axes.

use super::six::six_vector;
use super::{Force, Scalar, V3};
use nalgebra::Vector3;

/// A spatial velocity or acceleration: angular part, and linear part of the point at the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion<S: Scalar = f64> {
    pub(crate) angular: V3<S>,
    pub(crate) linear: V3<S>,
}

six_vector!(Motion, angular, linear, "Angular part, rad/s (rad/s²).", "Linear part, m/s (m/s²).");

impl Motion {
    /// The `k`-th unit motion, angular first.
    #[inline(always)]
    pub fn unit(k: usize) -> Self {
        Self::from_array(std::array::from_fn(|l| if l == k { 1.0 } else { 0.0 }))
    }
}

impl<S: Scalar> Motion<S> {
    /// `self × m` (RBDA 2.31): how `m` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross(&self, m: &Self) -> Self {
        Self::of(self.angular.cross(m.angular), self.angular.cross(m.linear) + self.linear.cross(m.angular))
    }

    /// `self ×* f` (RBDA 2.32): how the force `f` changes when carried along with velocity `self`.
    #[inline(always)]
    pub fn cross_force(&self, f: &Force<S>) -> Force<S> {
        Force::of(self.angular.cross(f.moment) + self.linear.cross(f.force), self.angular.cross(f.force))
    }

    /// `self · f`: power of a force on a velocity, effort of a reaction along an axis.
    #[inline(always)]
    pub fn dot(&self, f: &Force<S>) -> S {
        self.angular.times_add(f.moment, self.linear.times(f.force)).sum()
    }
}

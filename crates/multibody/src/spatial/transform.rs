//! Plücker transforms: a rotation and a translation (RBDA table 2.2).
//!
//! ```text
//! X v  = (E ω,  E (v − r × ω))                  motion, parent to child
//! Xᵀ f = (Eᵀ n + r × Eᵀ f,  Eᵀ f)              force, child to parent
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{Force, Motion, add_cross, rotate, rotate_back};
use nalgebra::{Matrix3, Vector3};

/// Coordinates of the parent frame to those of the child frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transform {
    /// Rotation: parent coordinates to child coordinates.
    pub E: Matrix3<f64>,
    /// Origin of the child frame in parent coordinates, m.
    pub r: Vector3<f64>,
}

impl Transform {
    /// No change of frame.
    pub const IDENTITY: Self =
        Self { E: Matrix3::new(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), r: Vector3::new(0.0, 0.0, 0.0) };

    /// `X m`: a motion from parent to child coordinates.
    #[inline(always)]
    pub fn motion(&self, m: &Motion) -> Motion {
        let v = add_cross(&m.linear, &m.angular, &self.r);
        Motion::new(rotate(&self.E, &m.angular), rotate(&self.E, &v))
    }

    /// `X⁻¹ m`: a motion from child to parent coordinates.
    #[inline(always)]
    pub fn motion_back(&self, m: &Motion) -> Motion {
        let w = rotate_back(&self.E, &m.angular);
        Motion::new(w, add_cross(&rotate_back(&self.E, &m.linear), &self.r, &w))
    }

    /// `Xᵀ f`: a force from child to parent coordinates.
    #[inline(always)]
    pub fn force_back(&self, f: &Force) -> Force {
        let force = rotate_back(&self.E, &f.force);
        Force::new(add_cross(&rotate_back(&self.E, &f.moment), &self.r, &force), force)
    }

    /// `X⁻ᵀ f`: a force from parent to child coordinates.
    #[inline(always)]
    pub fn force(&self, f: &Force) -> Force {
        let moment = add_cross(&f.moment, &f.force, &self.r);
        Force::new(rotate(&self.E, &moment), rotate(&self.E, &f.force))
    }

    /// `self` after `first`: grandparent to child.
    pub fn after(&self, first: &Self) -> Self {
        Self { E: self.E * first.E, r: first.r + first.E.transpose() * self.r }
    }

    /// A point fixed in the child, in parent coordinates.
    #[inline(always)]
    pub fn point_back(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.r + rotate_back(&self.E, p)
    }
}

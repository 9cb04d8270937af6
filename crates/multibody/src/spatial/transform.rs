//! Plücker transforms: a rotation and a translation (RBDA table 2.2).
//!
//! ```text
//! X v  = (E ω,  E (v − r × ω))                  motion, parent to child
//! Xᵀ f = (Eᵀ n + r × Eᵀ f,  Eᵀ f)              force, child to parent
//! ```
//!
//! `E` is kept twice, as itself and transposed: a matrix times a vector wants columns, whichever way it goes.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{Force, M3, Motion, V3};
use nalgebra::{Matrix3, Vector3};

/// Coordinates of the parent frame to those of the child frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transform {
    /// Rotation: parent coordinates to child coordinates.
    pub(crate) E: M3,
    /// The same, transposed.
    pub(crate) Et: M3,
    /// Origin of the child frame in parent coordinates, m.
    pub(crate) r: V3,
}

impl Transform {
    /// No change of frame.
    pub const IDENTITY: Self = Self { E: M3::IDENTITY, Et: M3::IDENTITY, r: V3::ZERO };

    /// From the rotation that takes parent coordinates to child coordinates, and the child's origin in the parent.
    pub fn new(E: Matrix3<f64>, r: Vector3<f64>) -> Self {
        Self { E: E.into(), Et: E.transpose().into(), r: r.into() }
    }

    /// Rotation: parent coordinates to child coordinates.
    pub fn rotation(&self) -> Matrix3<f64> {
        self.E.to_matrix()
    }

    /// Origin of the child frame in parent coordinates, m.
    pub fn translation(&self) -> Vector3<f64> {
        self.r.to_vector()
    }

    /// `X m`: a motion from parent to child coordinates.
    #[inline(always)]
    pub fn motion(&self, m: &Motion) -> Motion {
        let v = m.angular.cross(self.r) + m.linear;
        Motion::of(self.E.on(m.angular), self.E.on(v))
    }

    /// `X⁻¹ m`: a motion from child to parent coordinates.
    #[inline(always)]
    pub(crate) fn motion_back(&self, m: &Motion) -> Motion {
        let angular = self.Et.on(m.angular);
        Motion::of(angular, self.Et.on_add(m.linear, self.r.cross(angular)))
    }

    /// The same rotation about the parent's origin.
    #[inline(always)]
    pub(crate) fn without_translation(&self) -> Self {
        Self { r: V3::ZERO, ..*self }
    }

    /// `Xᵀ f`: a force from child to parent coordinates.
    #[inline(always)]
    pub fn force_back(&self, f: &Force) -> Force {
        let force = self.Et.on(f.force);
        Force::of(self.Et.on_add(f.moment, self.r.cross(force)), force)
    }

    /// The same rotation turned on by an angle about the child's z: `(s, c)` its sine and cosine.
    #[inline(always)]
    pub(crate) fn turned(&self, (s, c): (f64, f64)) -> Self {
        // (c, c, 1) and (s, −s, 0)
        let (along, across) = (V3::new(1.0, 1.0, 0.0).scale_add(c, V3::Z), V3::new(1.0, -1.0, 0.0) * s);
        Self {
            E: M3(self.E.0.map(|e| e.times_add(along, e.yxz().times(across)))),
            Et: self.Et.turned((s, c)),
            r: self.r,
        }
    }

    /// The same moved on along the child's z.
    #[inline(always)]
    pub(crate) fn slid(&self, q: f64) -> Self {
        Self { r: self.Et.0[2].scale_add(q, self.r), ..*self }
    }

    /// `self` after `first`: grandparent to child.
    pub(crate) fn after(&self, first: &Self) -> Self {
        let E = self.E.matrix(&first.E);
        Self { E, Et: E.transpose(), r: first.Et.on_add(self.r, first.r) }
    }
}

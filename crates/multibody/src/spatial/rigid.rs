//! Inertia of a rigid body: ten numbers (RBDA 2.63).
//!
//! ```text
//! I v = (I ω + h × v,  m v − h × ω)          h = m c
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{ArticulatedInertia, Force, M3, Motion, Scalar, Symmetric3, Transform, V3};
use nalgebra::Vector3;
use std::ops::AddAssign;

/// Mass, first moment and rotational inertia about the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigidInertia<S: Scalar = f64> {
    pub(crate) mass: S,
    /// First moment of mass `m c`.
    pub(crate) h: V3<S>,
    /// Rotational inertia about the origin.
    pub(crate) I: M3<S>,
}

impl RigidInertia {
    /// From mass, centre of mass and inertia about the centre of mass: kg, m, kg·m².
    pub fn about_center(mass: f64, c: Vector3<f64>, I_c: Symmetric3) -> Self {
        let I_c = I_c.to_matrix();
        let point = (nalgebra::Matrix3::identity() * c.norm_squared() - c * c.transpose()) * mass;
        Self { mass, h: (c * mass).into(), I: (I_c + point).into() }
    }

    /// `Xᵀ I X`: the same body seen from the parent frame.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        self.turned(&X.Et).shifted(X.r)
    }
}

impl<S: Scalar> RigidInertia<S> {
    /// Nothing.
    pub const ZERO: Self = Self { mass: S::ZERO, h: V3::ZERO, I: M3::ZERO };

    /// The same body for every machine.
    #[inline(always)]
    pub(crate) fn spread(a: &RigidInertia) -> Self {
        Self { mass: S::splat(a.mass), h: V3::spread(&a.h), I: M3::spread(&a.I) }
    }

    /// `I m`: momentum of a velocity, force of an acceleration.
    #[inline(always)]
    pub fn times(&self, m: &Motion<S>) -> Force<S> {
        Force::of(
            self.I.on_add(m.angular, self.h.cross(m.linear)),
            m.linear.scale_add(self.mass, m.angular.cross(self.h)),
        )
    }

    /// Sizes of the terms of `I m`, summed; `m` has no negative entries.
    #[inline(always)]
    pub(crate) fn size_of(&self, m: &Motion<S>) -> Force<S> {
        Force::of(
            self.I.abs().on_add(m.angular, self.h.cross_size(m.linear)),
            m.linear.scale_add(self.mass, m.angular.cross_size(self.h)),
        )
    }

    /// `I S` of a turn about the unit vector `a`.
    #[inline(always)]
    pub(crate) fn about(&self, a: V3<S>) -> Force<S> {
        Force::of(self.I.on(a), a.cross(self.h))
    }

    /// `I S` of a slide along the unit vector `a`.
    #[inline(always)]
    pub(crate) fn along(&self, a: V3<S>) -> Force<S> {
        Force::of(self.h.cross(a), a * self.mass)
    }

    /// The same body in axes turned by `R` (old axes to new).
    #[inline(always)]
    pub(crate) fn turned(&self, R: &M3<S>) -> Self {
        Self { mass: self.mass, h: R.on(self.h), I: R.matrix(&self.I.times_transposed(R)) }
    }

    /// The same body about an origin from which the old one is seen at `r` (parallel axes, RBDA table 2.8).
    #[inline(always)]
    pub(crate) fn shifted(&self, r: V3<S>) -> Self {
        let h = r.scale_add(self.mass, self.h);
        // with w = ½ (h + h') = ½ m r + h:  I' = I + 2 (r·w) 1 − (r wᵀ + w rᵀ)
        let w = (h + self.h) * S::splat(0.5);
        let I = self.I + M3::scaled_identity(S::splat(2.0) * r.dot(w));
        Self { mass: self.mass, h, I: I.minus_outer(r, w).minus_outer(w, r) }
    }

    /// As an articulated inertia.
    #[inline(always)]
    pub fn articulated(&self) -> ArticulatedInertia<S> {
        ArticulatedInertia { I: self.I, Ht: M3::skew(-self.h), M: M3::scaled_identity(self.mass) }
    }
}

impl<S: Scalar> AddAssign for RigidInertia<S> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        self.mass += b.mass;
        self.h += b.h;
        self.I += b.I;
    }
}

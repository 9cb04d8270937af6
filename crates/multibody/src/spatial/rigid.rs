//! Inertia of a rigid body: ten numbers (RBDA 2.63).
//!
//! ```text
//! I v = (I ω + h × v,  m v − h × ω)          h = m c
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{ArticulatedInertia, Force, M3, Motion, Symmetric3, Transform, V3};
use nalgebra::Vector3;
use std::ops::AddAssign;

/// Mass, first moment and rotational inertia about the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigidInertia {
    pub(crate) mass: f64,
    /// First moment of mass `m c`.
    pub(crate) h: V3,
    /// Rotational inertia about the origin.
    pub(crate) I: M3,
}

impl RigidInertia {
    /// Nothing.
    pub const ZERO: Self = Self { mass: 0.0, h: V3::ZERO, I: M3::ZERO };

    /// From mass, centre of mass and inertia about the centre of mass: kg, m, kg·m².
    pub fn about_center(mass: f64, c: Vector3<f64>, I_c: Symmetric3) -> Self {
        let I_c = I_c.to_matrix();
        let point = (nalgebra::Matrix3::identity() * c.norm_squared() - c * c.transpose()) * mass;
        Self { mass, h: (c * mass).into(), I: (I_c + point).into() }
    }

    /// `I m`: momentum of a velocity, force of an acceleration.
    #[inline(always)]
    pub fn times(&self, m: &Motion) -> Force {
        Force::of(
            self.I.on_add(m.angular, self.h.cross(m.linear)),
            m.linear.scale_add(self.mass, m.angular.cross(self.h)),
        )
    }

    /// `I S` of a turn about z: the third column.
    #[inline(always)]
    pub(crate) fn about_z(&self) -> Force {
        Force::of(self.I.0[2], V3::new(-self.h[1], self.h[0], 0.0))
    }

    /// `I S` of a slide along z: the sixth column.
    #[inline(always)]
    pub(crate) fn along_z(&self) -> Force {
        Force::of(V3::new(self.h[1], -self.h[0], 0.0), V3::Z * self.mass)
    }

    /// `Xᵀ I X`: the same body seen from the parent frame.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        let (m, r) = (self.mass, X.r);
        let h0 = X.Et.on(self.h);
        let h = r.scale_add(m, h0);
        // with w = h + h0 = m r + 2 h0:  I' = Eᵀ I E + (r·w) 1 − ½ (r wᵀ + w rᵀ)   (parallel axes, RBDA table 2.8)
        let w = h + h0;
        let (rw, half) = (r.dot(w), r * 0.5);
        let half_w = w * 0.5;
        let I = X.Et.matrix(&self.I.matrix(&X.E)) + M3::scaled_identity(rw);
        let I = I.minus_outer(half, w).minus_outer(half_w, r);
        Self { mass: m, h, I }
    }

    /// As an articulated inertia.
    #[inline(always)]
    pub fn articulated(&self) -> ArticulatedInertia {
        ArticulatedInertia { I: self.I, Ht: M3::skew(-self.h), M: M3::scaled_identity(self.mass) }
    }
}

impl AddAssign for RigidInertia {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        self.mass += b.mass;
        self.h += b.h;
        self.I += b.I;
    }
}

//! Inertia of a rigid body: ten numbers (RBDA 2.63).
//!
//! ```text
//! I v = (I ω + h × v,  m v − h × ω)          h = m c
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{ArticulatedInertia, Force, Motion, Symmetric3, Transform, add_cross, dot, fma, rotate_back};
use nalgebra::Vector3;
use std::ops::AddAssign;

/// Mass, first moment and rotational inertia about the frame's origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigidInertia {
    /// Mass, kg.
    pub mass: f64,
    /// First moment of mass `m c`, kg·m.
    pub h: Vector3<f64>,
    /// Rotational inertia about the origin, kg·m².
    pub I: Symmetric3,
}

impl RigidInertia {
    /// Nothing.
    pub const ZERO: Self = Self {
        mass: 0.0,
        h: Vector3::new(0.0, 0.0, 0.0),
        I: Symmetric3 { xx: 0.0, xy: 0.0, xz: 0.0, yy: 0.0, yz: 0.0, zz: 0.0 },
    };

    /// From mass, centre of mass and inertia about the centre of mass.
    pub fn about_center(mass: f64, c: Vector3<f64>, I_c: Symmetric3) -> Self {
        Self { mass, h: c * mass, I: I_c + point_inertia(mass, &c) }
    }

    /// `I m`: momentum of a velocity, force of an acceleration.
    #[inline(always)]
    pub fn times(&self, m: &Motion) -> Force {
        let hv = Vector3::new(
            fma(self.h.y, m.linear.z, -(self.h.z * m.linear.y)),
            fma(self.h.z, m.linear.x, -(self.h.x * m.linear.z)),
            fma(self.h.x, m.linear.y, -(self.h.y * m.linear.x)),
        );
        Force::new(self.I.mul_add(&m.angular, &hv), add_cross(&(m.linear * self.mass), &m.angular, &self.h))
    }

    /// `Xᵀ I X`: the same body seen from the parent frame.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        let (m, r) = (self.mass, &X.r);
        let h0 = rotate_back(&X.E, &self.h);
        // I' = I + point inertia of m at r + cross terms of r and h (parallel axes, RBDA table 2.8)
        let h = Vector3::new(fma(m, r.x, h0.x), fma(m, r.y, h0.y), fma(m, r.z, h0.z));
        // with w = h + h0 = m r + 2 h0:  I' = I + (r·w) 1 − ½ (r wᵀ + w rᵀ)
        let w = h + h0;
        let rw = dot(r, &w);
        let I = self.I.rotate_back(&X.E);
        Self {
            mass: m,
            h,
            I: Symmetric3 {
                xx: fma(-r.x, w.x, I.xx + rw),
                xy: fma(-0.5, fma(r.x, w.y, r.y * w.x), I.xy),
                xz: fma(-0.5, fma(r.x, w.z, r.z * w.x), I.xz),
                yy: fma(-r.y, w.y, I.yy + rw),
                yz: fma(-0.5, fma(r.y, w.z, r.z * w.y), I.yz),
                zz: fma(-r.z, w.z, I.zz + rw),
            },
        }
    }

    /// As an articulated inertia.
    pub fn articulated(&self) -> ArticulatedInertia {
        let m = self.mass;
        ArticulatedInertia {
            I: self.I,
            H: super::skew(&self.h),
            M: Symmetric3 { xx: m, yy: m, zz: m, ..Symmetric3::default() },
        }
    }
}

/// `m (c·c 1 − c cᵀ)`: inertia of a point mass about the origin.
fn point_inertia(m: f64, c: &Vector3<f64>) -> Symmetric3 {
    Symmetric3 {
        xx: m * (c.y * c.y + c.z * c.z),
        xy: -m * c.x * c.y,
        xz: -m * c.x * c.z,
        yy: m * (c.x * c.x + c.z * c.z),
        yz: -m * c.y * c.z,
        zz: m * (c.x * c.x + c.y * c.y),
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

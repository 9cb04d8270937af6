//! Inertia of an articulated body: twenty-one numbers (RBDA chapter 7).
//!
//! ```text
//! IA = | I   H |        Xᵀ IA X, after rotating the blocks into the parent's axes:
//!      | Hᵀ  M |            M' = M     H' = H + r× M     I' = I + (r× Hᵀ)ᵀ + r× H'ᵀ
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{Force, Motion, Symmetric3, Transform, fma, rotate, rotate_back};
use nalgebra::{Matrix3, Matrix6, Vector3};
use std::ops::AddAssign;

/// A symmetric map from accelerations to forces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArticulatedInertia {
    /// Rotational block.
    pub I: Symmetric3,
    /// Coupling block.
    pub H: Matrix3<f64>,
    /// Linear block.
    pub M: Symmetric3,
}

impl ArticulatedInertia {
    /// `IA m`.
    #[inline(always)]
    pub fn times(&self, m: &Motion) -> Force {
        Force::new(
            self.I.mul_add(&m.angular, &rotate(&self.H, &m.linear)),
            self.M.mul_add(&m.linear, &rotate_back(&self.H, &m.angular)),
        )
    }

    /// `IA − U Uᵀ s`.
    #[inline(always)]
    pub fn minus_outer(&self, U: &Force, s: f64) -> Self {
        let (n, w) = (&U.moment, -U.force * s);
        let H = &self.H;
        Self {
            I: self.I.minus_outer(n, s),
            H: Matrix3::new(
                fma(n.x, w.x, H.m11),
                fma(n.x, w.y, H.m12),
                fma(n.x, w.z, H.m13),
                fma(n.y, w.x, H.m21),
                fma(n.y, w.y, H.m22),
                fma(n.y, w.z, H.m23),
                fma(n.z, w.x, H.m31),
                fma(n.z, w.y, H.m32),
                fma(n.z, w.z, H.m33),
            ),
            M: self.M.minus_outer(&U.force, s),
        }
    }

    /// `Xᵀ IA X`: the same inertia felt at the parent's origin, in the parent's axes.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        let M = self.M.rotate_back(&X.E);
        let H = back_and_forth(&self.H, &X.E);
        shift(&self.I.rotate_back(&X.E), &H, &M, &X.r)
    }

    /// As a 6×6 matrix.
    pub fn to_matrix(&self) -> Matrix6<f64> {
        let mut A = Matrix6::zeros();
        A.fixed_view_mut::<3, 3>(0, 0).copy_from(&self.I.to_matrix());
        A.fixed_view_mut::<3, 3>(0, 3).copy_from(&self.H);
        A.fixed_view_mut::<3, 3>(3, 0).copy_from(&self.H.transpose());
        A.fixed_view_mut::<3, 3>(3, 3).copy_from(&self.M.to_matrix());
        A
    }
}

/// `Eᵀ H E`.
#[inline(always)]
fn back_and_forth(H: &Matrix3<f64>, E: &Matrix3<f64>) -> Matrix3<f64> {
    let column = |x: f64, y: f64, z: f64| rotate_back(E, &rotate(H, &Vector3::new(x, y, z)));
    let (a, b, c) = (column(E.m11, E.m21, E.m31), column(E.m12, E.m22, E.m32), column(E.m13, E.m23, E.m33));
    Matrix3::new(a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z)
}

/// Blocks already in the parent's axes, moved to the parent's origin.
#[inline(always)]
fn shift(I: &Symmetric3, H: &Matrix3<f64>, M: &Symmetric3, r: &Vector3<f64>) -> ArticulatedInertia {
    // H' = H + r× M, column by column
    let Hp = Matrix3::new(
        fma(r.y, M.xz, fma(-r.z, M.xy, H.m11)),
        fma(r.y, M.yz, fma(-r.z, M.yy, H.m12)),
        fma(r.y, M.zz, fma(-r.z, M.yz, H.m13)),
        fma(r.z, M.xx, fma(-r.x, M.xz, H.m21)),
        fma(r.z, M.xy, fma(-r.x, M.yz, H.m22)),
        fma(r.z, M.xz, fma(-r.x, M.zz, H.m23)),
        fma(r.x, M.xy, fma(-r.y, M.xx, H.m31)),
        fma(r.x, M.yy, fma(-r.y, M.xy, H.m32)),
        fma(r.x, M.yz, fma(-r.y, M.xz, H.m33)),
    );
    // I'_ij = I_ij + (r × row i of H)_j … with H, and (r × row j of H')_i
    ArticulatedInertia {
        I: Symmetric3 {
            xx: fma(r.y, H.m13 + Hp.m13, fma(-r.z, H.m12 + Hp.m12, I.xx)),
            xy: fma(r.z, H.m11, fma(-r.x, H.m13, fma(r.y, Hp.m23, fma(-r.z, Hp.m22, I.xy)))),
            xz: fma(r.x, H.m12, fma(-r.y, H.m11, fma(r.y, Hp.m33, fma(-r.z, Hp.m32, I.xz)))),
            yy: fma(r.z, H.m21 + Hp.m21, fma(-r.x, H.m23 + Hp.m23, I.yy)),
            yz: fma(r.x, H.m22, fma(-r.y, H.m21, fma(r.z, Hp.m31, fma(-r.x, Hp.m33, I.yz)))),
            zz: fma(r.x, H.m32 + Hp.m32, fma(-r.y, H.m31 + Hp.m31, I.zz)),
        },
        H: Hp,
        M: *M,
    }
}

impl AddAssign for ArticulatedInertia {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        self.I += b.I;
        self.H += b.H;
        self.M += b.M;
    }
}

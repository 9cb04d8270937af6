//! Symmetric 3×3 matrices, six numbers.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::fma;
use nalgebra::{Matrix3, Vector3};
use std::ops::{Add, AddAssign};

/// A symmetric 3×3 matrix by its upper triangle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(missing_docs, reason = "the entries are their names")]
pub struct Symmetric3 {
    pub xx: f64,
    pub xy: f64,
    pub xz: f64,
    pub yy: f64,
    pub yz: f64,
    pub zz: f64,
}

impl Symmetric3 {
    /// From the upper triangle of a matrix.
    #[inline(always)]
    pub fn from_upper(A: &Matrix3<f64>) -> Self {
        Self { xx: A.m11, xy: A.m12, xz: A.m13, yy: A.m22, yz: A.m23, zz: A.m33 }
    }

    /// As a full matrix.
    #[inline(always)]
    pub fn to_matrix(&self) -> Matrix3<f64> {
        Matrix3::new(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)
    }

    /// `c + A v`.
    #[inline(always)]
    pub fn mul_add(&self, v: &Vector3<f64>, c: &Vector3<f64>) -> Vector3<f64> {
        Vector3::new(
            fma(self.xx, v.x, fma(self.xy, v.y, fma(self.xz, v.z, c.x))),
            fma(self.xy, v.x, fma(self.yy, v.y, fma(self.yz, v.z, c.y))),
            fma(self.xz, v.x, fma(self.yz, v.y, fma(self.zz, v.z, c.z))),
        )
    }

    /// `Eᵀ A E`.
    #[inline(always)]
    pub fn rotate_back(&self, E: &Matrix3<f64>) -> Self {
        // B = A E, then the upper triangle of Eᵀ B
        let column = |x: f64, y: f64, z: f64| {
            (
                fma(self.xx, x, fma(self.xy, y, self.xz * z)),
                fma(self.xy, x, fma(self.yy, y, self.yz * z)),
                fma(self.xz, x, fma(self.yz, y, self.zz * z)),
            )
        };
        let (b11, b21, b31) = column(E.m11, E.m21, E.m31);
        let (b12, b22, b32) = column(E.m12, E.m22, E.m32);
        let (b13, b23, b33) = column(E.m13, E.m23, E.m33);
        Self {
            xx: fma(E.m11, b11, fma(E.m21, b21, E.m31 * b31)),
            xy: fma(E.m11, b12, fma(E.m21, b22, E.m31 * b32)),
            xz: fma(E.m11, b13, fma(E.m21, b23, E.m31 * b33)),
            yy: fma(E.m12, b12, fma(E.m22, b22, E.m32 * b32)),
            yz: fma(E.m12, b13, fma(E.m22, b23, E.m32 * b33)),
            zz: fma(E.m13, b13, fma(E.m23, b23, E.m33 * b33)),
        }
    }

    /// `A − u uᵀ s`.
    #[inline(always)]
    pub fn minus_outer(&self, u: &Vector3<f64>, s: f64) -> Self {
        let w = -u * s;
        Self {
            xx: fma(u.x, w.x, self.xx),
            xy: fma(u.x, w.y, self.xy),
            xz: fma(u.x, w.z, self.xz),
            yy: fma(u.y, w.y, self.yy),
            yz: fma(u.y, w.z, self.yz),
            zz: fma(u.z, w.z, self.zz),
        }
    }
}

impl Add for Symmetric3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self {
            xx: self.xx + b.xx,
            xy: self.xy + b.xy,
            xz: self.xz + b.xz,
            yy: self.yy + b.yy,
            yz: self.yz + b.yz,
            zz: self.zz + b.zz,
        }
    }
}

impl AddAssign for Symmetric3 {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

//! Symmetric 3×3 matrices as users write them, six numbers.

#![expect(non_snake_case, reason = "a matrix is a capital letter")]

use nalgebra::Matrix3;

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
    pub fn from_upper(A: &Matrix3<f64>) -> Self {
        Self { xx: A.m11, xy: A.m12, xz: A.m13, yy: A.m22, yz: A.m23, zz: A.m33 }
    }

    /// As a full matrix.
    pub fn to_matrix(&self) -> Matrix3<f64> {
        Matrix3::new(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)
    }
}

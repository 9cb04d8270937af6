//! Spatial vectors and inertias (Featherstone 2008, chapter 2), angular part first.
//!
//! Motions and forces are different types and only the products that mean something exist. A transform is a rotation
//! and a translation, an inertia its ten (rigid) or twenty-one (articulated) numbers; no 6×6 matrix is ever formed.
//! Each operation is written once, here, in scalar multiply-adds: 3-vectors do not fill a SIMD register, and the
//! fused form halves the instructions.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

mod articulated;
mod force;
mod motion;
mod rigid;
mod symmetric;
mod transform;

pub use articulated::ArticulatedInertia;
pub use force::Force;
pub use motion::Motion;
pub use rigid::RigidInertia;
pub use symmetric::Symmetric3;
pub use transform::Transform;

use nalgebra::{Matrix3, Vector3};

/// `a b + c`, rounded once where the target has the instruction, twice where it would be a library call.
#[inline(always)]
pub(crate) fn fma(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

/// `a·b`.
#[inline(always)]
pub(crate) fn dot(a: &Vector3<f64>, b: &Vector3<f64>) -> f64 {
    fma(a.x, b.x, fma(a.y, b.y, a.z * b.z))
}

/// `a × b`.
#[inline(always)]
pub(crate) fn cross(a: &Vector3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x)))
}

/// `c + a × b`.
#[inline(always)]
pub(crate) fn add_cross(c: &Vector3<f64>, a: &Vector3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        fma(a.y, b.z, fma(-a.z, b.y, c.x)),
        fma(a.z, b.x, fma(-a.x, b.z, c.y)),
        fma(a.x, b.y, fma(-a.y, b.x, c.z)),
    )
}

/// `E v`.
#[inline(always)]
pub(crate) fn rotate(E: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        fma(E.m11, v.x, fma(E.m12, v.y, E.m13 * v.z)),
        fma(E.m21, v.x, fma(E.m22, v.y, E.m23 * v.z)),
        fma(E.m31, v.x, fma(E.m32, v.y, E.m33 * v.z)),
    )
}

/// `Eᵀ v`.
#[inline(always)]
pub(crate) fn rotate_back(E: &Matrix3<f64>, v: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(
        fma(E.m11, v.x, fma(E.m21, v.y, E.m31 * v.z)),
        fma(E.m12, v.x, fma(E.m22, v.y, E.m32 * v.z)),
        fma(E.m13, v.x, fma(E.m23, v.y, E.m33 * v.z)),
    )
}

/// The matrix `r×`.
pub(crate) fn skew(r: &Vector3<f64>) -> Matrix3<f64> {
    Matrix3::new(0.0, -r.z, r.y, r.z, 0.0, -r.x, -r.y, r.x, 0.0)
}

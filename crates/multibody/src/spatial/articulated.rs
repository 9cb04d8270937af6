//! Inertia of an articulated body (RBDA chapter 7).
//!
//! ```text
//! IA = | I   H |        Xᵀ IA X, after rotating the blocks into the parent's axes:
//!      | Hᵀ  M |            M' = M     H'ᵀ = Hᵀ − M r×     I' = I − H r× + r× H'ᵀ
//! ```
//!
//! The coupling block is kept transposed: both the pivot column of a hinge and the shift read it by the rows of H.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{Force, M3, Motion, Scalar, Transform, V3};
use nalgebra::Matrix6;
use std::ops::Add;

/// A symmetric map from accelerations to forces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArticulatedInertia<S: Scalar = f64> {
    /// Rotational block.
    pub(crate) I: M3<S>,
    /// Coupling block, transposed.
    pub(crate) Ht: M3<S>,
    /// Linear block.
    pub(crate) M: M3<S>,
}

impl<S: Scalar> ArticulatedInertia<S> {
    /// Nothing.
    pub(crate) const ZERO: Self = Self { I: M3::ZERO, Ht: M3::ZERO, M: M3::ZERO };

    /// `IA m`.
    #[inline(always)]
    pub fn times(&self, m: &Motion<S>) -> Force<S> {
        Force::of(
            self.I.on_add(m.angular, self.Ht.transpose().on(m.linear)),
            self.M.on_add(m.linear, self.Ht.on(m.angular)),
        )
    }

    /// `IA − U Uᵀ s`.
    #[inline(always)]
    pub(crate) fn minus_outer(&self, U: &Force<S>, s: S) -> Self {
        let (n, f) = (U.moment * s, U.force * s);
        Self {
            I: self.I.minus_outer(U.moment, n),
            Ht: self.Ht.minus_outer(U.force, n),
            M: self.M.minus_outer(U.force, f),
        }
    }

    /// The same inertia about an origin from which the old one is seen at `r`, parallel axes.
    #[inline(always)]
    pub(crate) fn shifted(&self, r: V3<S>) -> Self {
        let Ht = self.Ht - self.M.times_skew(r);
        Self { I: self.I - self.Ht.transpose().times_skew(r) + Ht.crossed(r), Ht, M: self.M }
    }

    /// The inertia of machine `k`.
    pub(crate) fn lane(&self, k: usize) -> ArticulatedInertia {
        ArticulatedInertia { I: self.I.lane(k), Ht: self.Ht.lane(k), M: self.M.lane(k) }
    }
}

impl ArticulatedInertia {
    /// `Xᵀ IA X`: the same inertia at the parent's origin, in the parent's axes.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        let turned = |A: &M3| X.Et.matrix(&A.matrix(&X.E));
        let turned = Self { I: turned(&self.I), Ht: turned(&self.Ht), M: turned(&self.M) };
        turned.shifted(X.r)
    }

    /// As a 6×6 matrix.
    pub fn to_matrix(&self) -> Matrix6<f64> {
        let mut A = Matrix6::zeros();
        A.fixed_view_mut::<3, 3>(0, 0).copy_from(&self.I.to_matrix());
        A.fixed_view_mut::<3, 3>(0, 3).copy_from(&self.Ht.to_matrix().transpose());
        A.fixed_view_mut::<3, 3>(3, 0).copy_from(&self.Ht.to_matrix());
        A.fixed_view_mut::<3, 3>(3, 3).copy_from(&self.M.to_matrix());
        A
    }
}

impl<S: Scalar> Add for ArticulatedInertia<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { I: self.I + b.I, Ht: self.Ht + b.Ht, M: self.M + b.M }
    }
}

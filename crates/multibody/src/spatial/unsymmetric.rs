//! Inertia of an articulated body whose joints read their reactions along rows other than their axes: not symmetric.
//!
//! ```text
//! IA = | I   H |        Xᵀ IA X, after rotating the blocks into the parent's axes:
//!      | G   M |            M' = M     H' = H + r× M     G' = G − M r×     I' = I − H r× + r× G'
//! ```
//!
//! The body it starts from is rigid, with H = −G = h×; the joints beyond it subtract U Wᵀ/D with U = IA S
//! and Wᵀ = Pᵀ IA.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{ArticulatedInertia, Force, M3, Motion, Transform};
use nalgebra::Matrix6;

/// A map from accelerations to forces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UnsymmetricInertia {
    /// Moment of an angular acceleration.
    pub I: M3,
    /// Moment of a linear acceleration.
    pub H: M3,
    /// Force of an angular acceleration.
    pub G: M3,
    /// Force of a linear acceleration.
    pub M: M3,
}

impl UnsymmetricInertia {
    pub const ZERO: Self = Self { I: M3::ZERO, H: M3::ZERO, G: M3::ZERO, M: M3::ZERO };

    /// A rigid body alone, from the three blocks the model keeps of it.
    #[inline(always)]
    pub fn of_body(body: &ArticulatedInertia) -> Self {
        Self { I: body.I, H: M3::ZERO - body.Ht, G: body.Ht, M: body.M }
    }

    /// `self` and a rigid body.
    #[inline(always)]
    pub fn with_body(&self, body: &ArticulatedInertia) -> Self {
        Self { I: self.I + body.I, H: self.H - body.Ht, G: self.G + body.Ht, M: self.M + body.M }
    }

    /// `self + b`.
    #[inline(always)]
    pub fn plus(&self, b: &Self) -> Self {
        Self { I: self.I + b.I, H: self.H + b.H, G: self.G + b.G, M: self.M + b.M }
    }

    /// `IA m`.
    #[inline(always)]
    pub fn times(&self, m: &Motion) -> Force {
        Force::of(self.I.on_add(m.angular, self.H.on(m.linear)), self.G.on_add(m.angular, self.M.on(m.linear)))
    }

    /// `Pᵀ IA`, to be multiplied with motions.
    #[inline(always)]
    pub fn row(&self, P: &Motion) -> Force {
        let part = |above: &M3, below: &M3| {
            let products = |k: usize| above.0[k].times_add(P.angular, below.0[k].times(P.linear));
            M3([products(0), products(1), products(2)]).column_sums()
        };
        Force::of(part(&self.I, &self.G), part(&self.H, &self.M))
    }

    /// `IA − U Wᵀ s`.
    #[inline(always)]
    pub fn minus_outer(&self, U: &Force, W: &Force, s: f64) -> Self {
        let (w, v) = (W.moment * s, W.force * s);
        Self {
            I: self.I.minus_outer(U.moment, w),
            H: self.H.minus_outer(U.moment, v),
            G: self.G.minus_outer(U.force, w),
            M: self.M.minus_outer(U.force, v),
        }
    }

    /// `Xᵀ IA X`: the same inertia at the parent's origin, in the parent's axes.
    #[inline(always)]
    pub fn back(&self, X: &Transform) -> Self {
        let turned = |A: &M3| X.Et.matrix(&A.matrix(&X.E));
        let (I, H, G, M) = (turned(&self.I), turned(&self.H), turned(&self.G), turned(&self.M));
        let G = G - M.times_skew(X.r);
        Self { I: I - H.times_skew(X.r) + G.crossed(X.r), H: H + M.crossed(X.r), G, M }
    }

    /// As a 6×6 matrix.
    pub fn to_matrix(self) -> Matrix6<f64> {
        let mut A = Matrix6::zeros();
        A.fixed_view_mut::<3, 3>(0, 0).copy_from(&self.I.to_matrix());
        A.fixed_view_mut::<3, 3>(0, 3).copy_from(&self.H.to_matrix());
        A.fixed_view_mut::<3, 3>(3, 0).copy_from(&self.G.to_matrix());
        A.fixed_view_mut::<3, 3>(3, 3).copy_from(&self.M.to_matrix());
        A
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::{RigidInertia, Symmetric3};
    use nalgebra::{Rotation3, Vector3, Vector6};

    /// The four operations of a recursion step beside the same in 6×6 matrices.
    #[test]
    fn blocks_agree_with_six_by_six_matrices() {
        let I_c = Symmetric3 { xx: 0.3, xy: 0.05, xz: -0.02, yy: 0.4, yz: 0.01, zz: 0.5 };
        let body = RigidInertia::about_center(2.0, Vector3::new(0.1, -0.4, 0.3), I_c).articulated();
        let X = Transform::new(Rotation3::from_euler_angles(0.3, -0.8, 1.9).into_inner(), Vector3::new(0.7, -0.2, 0.4));
        let P = Motion::from_array([0.3, -0.2, 1.0, 0.4, 0.1, -0.6]);
        let W = Force::from_array([0.2, 0.5, -0.3, 0.6, -0.1, 0.8]);
        let U = Force::from_array([0.9, -0.7, 0.4, -0.5, 0.3, 0.2]);
        let vector = |a: [f64; 6]| Vector6::from_column_slice(&a);

        let rigid = UnsymmetricInertia::of_body(&body);
        assert_eq!(rigid.to_matrix(), body.to_matrix());
        let IA = rigid.minus_outer(&U, &W, 0.7);
        let A = IA.to_matrix();
        let outer = vector(U.to_array()) * vector(W.to_array()).transpose() * 0.7;
        assert!((A - (body.to_matrix() - outer)).amax() < 1e-15);
        assert!((vector(IA.times(&P).to_array()) - A * vector(P.to_array())).amax() < 1e-14);
        assert!((vector(IA.row(&P).to_array()) - A.transpose() * vector(P.to_array())).amax() < 1e-14);

        // X by its columns
        let columns: Vec<Vector6<f64>> = (0..6).map(|k| vector(X.motion(&Motion::unit(k)).to_array())).collect();
        let matrix = Matrix6::from_columns(&columns);
        let back = matrix.transpose() * A * matrix;
        assert!((IA.back(&X).to_matrix() - back).amax() < 1e-13);
        let both = IA.back(&X).with_body(&body).plus(&rigid).to_matrix();
        assert!((both - (back + body.to_matrix() * 2.0)).amax() < 1e-13);
    }
}

//! Joint kinds. All joints share one outline; the inner loops see the canonical axis z only.
//!
//! | kind | positions | velocities | motion subspace S (child frame) | X_J(q) |
//! |---|---|---|---|---|
//! | fixed | 0 | 0 | – | identity |
//! | revolute | 1 | 1 | e₃ (angular z) | rotation by q about z |
//! | prismatic | 1 | 1 | e₆ (linear z) | translation by q along z |
//! | free | 7 | 6 | identity | position and unit quaternion |

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::spatial::{ArticulatedInertia, Force, Motion, Transform, fma};
use crate::trig::sin_cos;
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// What a joint allows, as its user says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JointKind {
    /// Nothing: the child is part of its parent.
    Fixed,
    /// A turn about `axis`, right-hand rule, child relative to parent.
    Revolute {
        /// Direction in the joint frame; any length but zero.
        axis: Vector3<f64>,
    },
    /// A slide along `axis`, child relative to parent.
    Prismatic {
        /// Direction in the joint frame; any length but zero.
        axis: Vector3<f64>,
    },
    /// Everything.
    Free,
}

/// What the inner loops see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    Fixed,
    Revolute,
    Prismatic,
    Free,
}

impl Kernel {
    pub(crate) fn n_q(self) -> usize {
        [0, 1, 1, 7][self as usize]
    }

    pub(crate) fn n_v(self) -> usize {
        [0, 1, 1, 6][self as usize]
    }

    /// `X_J(q) X_T`: parent coordinates to child coordinates. `X_T` is the constant part.
    #[inline(always)]
    pub(crate) fn transform(self, X_T: &Transform, q: &[f64]) -> Transform {
        let (E, r) = (&X_T.E, &X_T.r);
        match self {
            Self::Fixed => *X_T,
            Self::Revolute => {
                let (s, c) = sin_cos(q[0]);
                Transform {
                    E: Matrix3::new(
                        fma(c, E.m11, s * E.m21),
                        fma(c, E.m12, s * E.m22),
                        fma(c, E.m13, s * E.m23),
                        fma(c, E.m21, -(s * E.m11)),
                        fma(c, E.m22, -(s * E.m12)),
                        fma(c, E.m23, -(s * E.m13)),
                        E.m31,
                        E.m32,
                        E.m33,
                    ),
                    r: *r,
                }
            }
            Self::Prismatic => Transform {
                E: *E,
                r: Vector3::new(fma(q[0], E.m31, r.x), fma(q[0], E.m32, r.y), fma(q[0], E.m33, r.z)),
            },
            Self::Free => {
                let R = quaternion(q).to_rotation_matrix().into_inner();
                let X_J = Transform { E: R.transpose(), r: Vector3::new(q[0], q[1], q[2]) };
                X_J.after(X_T)
            }
        }
    }

    /// `S v`: the joint's share of a motion.
    #[inline(always)]
    pub(crate) fn motion(self, v: &[f64]) -> Motion {
        match self {
            Self::Fixed => Motion::ZERO,
            Self::Revolute => Motion::new(Vector3::new(0.0, 0.0, v[0]), Vector3::zeros()),
            Self::Prismatic => Motion::new(Vector3::zeros(), Vector3::new(0.0, 0.0, v[0])),
            Self::Free => Motion::new(Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5])),
        }
    }

    /// `m + S v`, adding only what is not zero.
    #[inline(always)]
    pub(crate) fn add_motion(self, m: &Motion, v: &[f64]) -> Motion {
        let mut m = *m;
        match self {
            Self::Fixed => {}
            Self::Revolute => m.angular.z += v[0],
            Self::Prismatic => m.linear.z += v[0],
            Self::Free => m += self.motion(v),
        }
        m
    }

    /// `m + u × S v`, multiplying only what is not zero.
    #[inline(always)]
    pub(crate) fn add_cross(self, m: &Motion, u: &Motion, v: &[f64]) -> Motion {
        let (w, l) = (&u.angular, &u.linear);
        match self {
            Self::Fixed => *m,
            Self::Revolute => Motion::new(
                Vector3::new(fma(w.y, v[0], m.angular.x), fma(-w.x, v[0], m.angular.y), m.angular.z),
                Vector3::new(fma(l.y, v[0], m.linear.x), fma(-l.x, v[0], m.linear.y), m.linear.z),
            ),
            Self::Prismatic => Motion::new(
                m.angular,
                Vector3::new(fma(w.y, v[0], m.linear.x), fma(-w.x, v[0], m.linear.y), m.linear.z),
            ),
            Self::Free => *m + u.cross(&self.motion(v)),
        }
    }

    /// `Sᵀ f`, written to the joint's efforts.
    #[inline(always)]
    pub(crate) fn effort(self, f: &Force, tau: &mut [f64]) {
        match self {
            Self::Fixed => {}
            Self::Revolute => tau[0] = f.moment.z,
            Self::Prismatic => tau[0] = f.force.z,
            Self::Free => tau.copy_from_slice(&f.to_array()),
        }
    }

    /// Column `k` of S.
    #[inline(always)]
    pub(crate) fn axis(self, k: usize) -> Motion {
        match self {
            Self::Fixed => Motion::ZERO,
            Self::Revolute => Motion::unit(2),
            Self::Prismatic => Motion::unit(5),
            Self::Free => Motion::unit(k),
        }
    }

    /// `IA S` of a one-degree joint: a column of the inertia.
    #[inline(always)]
    pub(crate) fn column(self, IA: &ArticulatedInertia) -> Force {
        let (I, H, M) = (&IA.I, &IA.H, &IA.M);
        match self {
            Self::Revolute => Force::new(Vector3::new(I.xz, I.yz, I.zz), Vector3::new(H.m31, H.m32, H.m33)),
            Self::Prismatic => Force::new(Vector3::new(H.m13, H.m23, H.m33), Vector3::new(M.xz, M.yz, M.zz)),
            Self::Fixed | Self::Free => Force::ZERO,
        }
    }

    /// `Sᵀ f` of a one-degree joint.
    #[inline(always)]
    pub(crate) fn along(self, f: &Force) -> f64 {
        match self {
            Self::Revolute => f.moment.z,
            Self::Prismatic => f.force.z,
            Self::Fixed | Self::Free => 0.0,
        }
    }
}

/// Orientation of a free joint: child axes to joint axes. Normalised here, so that a state a step away from the unit
/// sphere still means a rotation.
pub(crate) fn quaternion(q: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::new_normalize(Quaternion::new(q[3], q[4], q[5], q[6]))
}

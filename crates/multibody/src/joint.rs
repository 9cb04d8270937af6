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

/// Calls `$body` with `$kernel` bound to a constant, so that one branch per joint chooses among straight-line bodies.
macro_rules! by_kernel {
    ($kernel:ident, $body:expr) => {
        match $kernel {
            $crate::joint::Kernel::Revolute => {
                let $kernel = $crate::joint::Kernel::Revolute;
                $body
            }
            $crate::joint::Kernel::Prismatic => {
                let $kernel = $crate::joint::Kernel::Prismatic;
                $body
            }
            $crate::joint::Kernel::Fixed => {
                let $kernel = $crate::joint::Kernel::Fixed;
                $body
            }
            $crate::joint::Kernel::Free => {
                let $kernel = $crate::joint::Kernel::Free;
                $body
            }
        }
    };
}
pub(crate) use by_kernel;

impl Kernel {
    pub(crate) fn n_q(self) -> usize {
        [0, 1, 1, 7][self as usize]
    }

    pub(crate) fn n_v(self) -> usize {
        [0, 1, 1, 6][self as usize]
    }

    /// `X_J(q) X_T`: parent coordinates to child coordinates. `X_T` is the constant part, `at` where the joint's
    /// positions start in `q`.
    #[inline(always)]
    pub(crate) fn transform(self, X_T: &Transform, q: &[f64], at: usize) -> Transform {
        let (E, r) = (&X_T.E, &X_T.r);
        match self {
            Self::Fixed => *X_T,
            Self::Revolute => {
                let (s, c) = sin_cos(q[at]);
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
                r: Vector3::new(fma(q[at], E.m31, r.x), fma(q[at], E.m32, r.y), fma(q[at], E.m33, r.z)),
            },
            Self::Free => {
                let q = &q[at..at + 7];
                let R = quaternion(q).to_rotation_matrix().into_inner();
                let X_J = Transform { E: R.transpose(), r: Vector3::new(q[0], q[1], q[2]) };
                X_J.after(X_T)
            }
        }
    }

    /// `S v`: the joint's share of a motion; `at` is where the joint's velocities start in `v`.
    #[inline(always)]
    pub(crate) fn motion(self, v: &[f64], at: usize) -> Motion {
        match self {
            Self::Fixed => Motion::ZERO,
            Self::Revolute => Motion::new(Vector3::new(0.0, 0.0, v[at]), Vector3::zeros()),
            Self::Prismatic => Motion::new(Vector3::zeros(), Vector3::new(0.0, 0.0, v[at])),
            Self::Free => Motion::from_slice(&v[at..at + 6]),
        }
    }

    /// `m + S v`, adding only what is not zero.
    #[inline(always)]
    pub(crate) fn add_motion(self, m: &Motion, v: &[f64], at: usize) -> Motion {
        let mut m = *m;
        match self {
            Self::Fixed => {}
            Self::Revolute => m.angular.z += v[at],
            Self::Prismatic => m.linear.z += v[at],
            Self::Free => m += self.motion(v, at),
        }
        m
    }

    /// `m + u × S v`, multiplying only what is not zero.
    #[inline(always)]
    pub(crate) fn add_cross(self, m: &Motion, u: &Motion, v: &[f64], at: usize) -> Motion {
        let (w, l) = (&u.angular, &u.linear);
        match self {
            Self::Fixed => *m,
            Self::Revolute => Motion::new(
                Vector3::new(fma(w.y, v[at], m.angular.x), fma(-w.x, v[at], m.angular.y), m.angular.z),
                Vector3::new(fma(l.y, v[at], m.linear.x), fma(-l.x, v[at], m.linear.y), m.linear.z),
            ),
            Self::Prismatic => Motion::new(
                m.angular,
                Vector3::new(fma(w.y, v[at], m.linear.x), fma(-w.x, v[at], m.linear.y), m.linear.z),
            ),
            Self::Free => *m + u.cross(&self.motion(v, at)),
        }
    }

    /// `Sᵀ f`, written to the joint's efforts.
    #[inline(always)]
    pub(crate) fn effort(self, f: &Force, tau: &mut [f64], at: usize) {
        match self {
            Self::Fixed => {}
            Self::Revolute => tau[at] = f.moment.z,
            Self::Prismatic => tau[at] = f.force.z,
            Self::Free => tau[at..at + 6].copy_from_slice(&f.to_array()),
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

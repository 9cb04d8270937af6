//! Joint kinds. All joints have the same functions; the inner loops see the canonical axis z only.
//!
//! | kind | positions | velocities | motion subspace S (child frame) | X_J(q) |
//! |---|---|---|---|---|
//! | fixed | 0 | 0 | – | identity |
//! | revolute | 1 | 1 | e₃ (angular z) | rotation by q about z |
//! | prismatic | 1 | 1 | e₆ (linear z) | translation by q along z |
//! | free | 7 | 6 | identity | position and unit quaternion |

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::spatial::{ArticulatedInertia, Force, Motion, Transform, V3};
use crate::trig::sin_cos;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

/// The motion that a joint allows, as its user gives it.
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

/// The kind of joint in the inner loops.
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
        match self {
            Self::Fixed => *X_T,
            Self::Revolute => X_T.turned(sin_cos(q[at])),
            Self::Prismatic => X_T.slid(q[at]),
            Self::Free => {
                let q = &q[at..at + 7];
                let R = quaternion(q).to_rotation_matrix().into_inner();
                let X_J = Transform::new(R.transpose(), Vector3::new(q[0], q[1], q[2]));
                X_J.after(X_T)
            }
        }
    }

    /// `S v`: the joint's share of a motion; `at` is where the joint's velocities start in `v`.
    #[inline(always)]
    pub(crate) fn motion(self, v: &[f64], at: usize) -> Motion {
        match self {
            Self::Fixed => Motion::ZERO,
            Self::Revolute => Motion::of(V3::Z * v[at], V3::ZERO),
            Self::Prismatic => Motion::of(V3::ZERO, V3::Z * v[at]),
            Self::Free => Motion::from_slice(&v[at..at + 6]),
        }
    }

    /// `m + S v`, adding only the entries that are not zero.
    #[inline(always)]
    pub(crate) fn add_motion(self, m: &Motion, v: &[f64], at: usize) -> Motion {
        let mut m = *m;
        match self {
            Self::Fixed => {}
            Self::Revolute => m.angular = V3::Z.scale_add(v[at], m.angular),
            Self::Prismatic => m.linear = V3::Z.scale_add(v[at], m.linear),
            Self::Free => m += self.motion(v, at),
        }
        m
    }

    /// `m + u × S v`, multiplying only the entries that are not zero.
    #[inline(always)]
    pub(crate) fn add_cross(self, m: &Motion, u: &Motion, v: &[f64], at: usize) -> Motion {
        // u × z = (u_y, −u_x, 0)
        let by_z = |u: V3, m: V3| u.yxz().times_add(V3::new(1.0, -1.0, 0.0) * v[at], m);
        match self {
            Self::Fixed => *m,
            Self::Revolute => Motion::of(by_z(u.angular, m.angular), by_z(u.linear, m.linear)),
            Self::Prismatic => Motion::of(m.angular, by_z(u.angular, m.linear)),
            Self::Free => *m + u.cross(&self.motion(v, at)),
        }
    }

    /// `Sᵀ f`, written to the joint's efforts.
    #[inline(always)]
    pub(crate) fn effort(self, f: &Force, tau: &mut [f64], at: usize) {
        match self {
            Self::Fixed => {}
            Self::Revolute => tau[at] = f.moment[2],
            Self::Prismatic => tau[at] = f.force[2],
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
        match self {
            Self::Revolute => Force::of(IA.I.0[2], IA.Ht.0[2]),
            Self::Prismatic => Force::of(V3::new(IA.Ht.0[0][2], IA.Ht.0[1][2], IA.Ht.0[2][2]), IA.M.0[2]),
            Self::Fixed | Self::Free => Force::ZERO,
        }
    }

    /// `Sᵀ f` of a one-degree joint.
    #[inline(always)]
    pub(crate) fn along(self, f: &Force) -> f64 {
        match self {
            Self::Revolute => f.moment[2],
            Self::Prismatic => f.force[2],
            Self::Fixed | Self::Free => 0.0,
        }
    }
}

/// Orientation of a free joint: child axes to joint axes. Normalised here, so that a state a step away from the unit
/// sphere still means a rotation.
pub(crate) fn quaternion(q: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::new_normalize(Quaternion::new(q[3], q[4], q[5], q[6]))
}

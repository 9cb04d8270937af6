//! The machine: links and joints in parent-before-child order, built once, then shared by reference.
//!
//! [`LinkInertia`] and [`JointSpec`] describe them; [`ModelBuilder`] lays out the arrays.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

mod builder;
mod description;

use crate::joint::{JointKind, Kernel};
use crate::spatial::{ArticulatedInertia, RigidInertia, Symmetric3, Transform};
pub use builder::ModelBuilder;
pub use description::{JointSpec, LinkInertia, Placement};
use nalgebra::{Matrix3, Vector3};

/// An inertia this small beside those it was computed from is their rounding: a thin rod about its own axis.
pub(crate) const NOISE: f64 = 16.0 * f64::EPSILON;

/// The data of one joint and its body that the sweeps read, side by side in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// Constant part of the transform, canonical parent to canonical child at position 0.
    pub X_T: Transform,
    /// Rigid inertia, canonical frame.
    pub I: RigidInertia,
    /// The same as an articulated inertia: where the backward recursion starts.
    pub IA: ArticulatedInertia,
    pub parent: usize,
    /// First position and first velocity.
    pub q: usize,
    pub v: usize,
    /// Inertia along the joint that is no more than the rounding of the body's own.
    pub noise: f64,
    pub kernel: Kernel,
    /// No body hangs on this one.
    pub leaf: bool,
    /// Of its parent's children the last in order, and so the first on the way from the tips to the base.
    pub first_visited: bool,
    /// First of the bodies that lie before this one without a gap, each the parent of the next, all on joints of one
    /// degree; the body itself if its parent is not among them.
    pub run: usize,
}

/// The machine in flat arrays. Body 0 is the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Parent body of each body; 0 for the world itself.
    pub parent: Vec<usize>,
    /// First position of each joint in `q`.
    pub q_index: Vec<usize>,
    /// First velocity of each joint in `v`.
    pub v_index: Vec<usize>,
    /// Joint names; entry 0 is `"world"`.
    pub joint_names: Vec<String>,
    /// Link names; entry 0 is `"world"`.
    pub link_names: Vec<String>,
    /// Joint kinds as the user gave them.
    pub kinds: Vec<JointKind>,
    /// Gravity, world axes, m/s².
    pub gravity: Vector3<f64>,
    /// Length of `q`.
    pub n_q: usize,
    /// Length of `v`.
    pub n_v: usize,
    /// Joints and bodies as the sweeps read them; `n_bodies`.
    pub(crate) node: Vec<Node>,
    /// Reflected inertia per velocity; `n_v`.
    pub(crate) armature: Vec<f64>,
    /// Rotation from the user's link axes to canonical axes.
    pub(crate) to_canonical: Vec<Matrix3<f64>>,
    /// Body that carries each velocity; `n_v`.
    pub(crate) body_of_v: Vec<usize>,
}

/// Functions of an index panic, like a slice, where the model has no such body or velocity.
impl Model {
    /// Number of joints, fixed ones included.
    pub fn n_joints(&self) -> usize {
        self.parent.len() - 1
    }

    /// Number of bodies, the world included.
    pub fn n_bodies(&self) -> usize {
        self.parent.len()
    }

    /// Range of joint `i` in `q`; empty for a fixed joint.
    #[inline(always)]
    pub fn q_range(&self, i: usize) -> std::ops::Range<usize> {
        self.q_index[i]..self.q_index[i] + self.node[i].kernel.n_q()
    }

    /// Range of joint `i` in `v`; empty for a fixed joint.
    #[inline(always)]
    pub fn v_range(&self, i: usize) -> std::ops::Range<usize> {
        self.v_index[i]..self.v_index[i] + self.node[i].kernel.n_v()
    }

    /// Joint that carries velocity `k`.
    pub fn joint_of_velocity(&self, k: usize) -> usize {
        self.body_of_v[k]
    }

    /// The last body on the way from the base to both bodies.
    pub fn shared_ancestor(&self, bodies: [usize; 2]) -> usize {
        self.walk_between(bodies, |_| {})
    }

    /// Velocities of the joints between two bodies, in order: on the way from the base to one of them alone.
    pub fn velocities_between(&self, bodies: [usize; 2]) -> Vec<usize> {
        let mut joints = Vec::new();
        self.walk_between(bodies, |joint| joints.push(joint));
        joints.sort_unstable();
        joints.into_iter().flat_map(|joint| self.v_range(joint)).collect()
    }

    /// Visits the joints from both bodies down to the body they share, which is returned.
    fn walk_between(&self, [mut a, mut b]: [usize; 2], mut visit: impl FnMut(usize)) -> usize {
        while a != b {
            // parents come before their children
            let farther = if a > b { &mut a } else { &mut b };
            visit(*farther);
            *farther = self.parent[*farther];
        }
        a
    }

    /// Whether velocity `k` is an angular one.
    pub fn turns(&self, k: usize) -> bool {
        let i = self.body_of_v[k];
        match self.node[i].kernel {
            Kernel::Revolute => true,
            Kernel::Free => k < self.v_index[i] + 3,
            Kernel::Fixed | Kernel::Prismatic => false,
        }
    }

    /// Index of a joint by name.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joint_names.iter().skip(1).position(|n| n == name).map(|i| i + 1)
    }

    /// Index of the body of a link by name; the world is 0.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.link_names.iter().position(|n| n == name)
    }

    /// Mass properties of a body in the user's link axes: mass and centre of mass.
    pub fn mass_and_center(&self, i: usize) -> (f64, Vector3<f64>) {
        let I = &self.node[i].I;
        let c = if I.mass > 0.0 { I.h.to_vector() / I.mass } else { Vector3::zeros() };
        (I.mass, self.to_canonical[i].transpose() * c)
    }

    /// Rotational inertia of a body about its centre of mass, user's link axes, kg·m².
    pub fn inertia_about_center(&self, i: usize) -> Matrix3<f64> {
        let I = &self.node[i].I;
        let A = &self.to_canonical[i];
        let c = if I.mass > 0.0 { I.h.to_vector() / I.mass } else { Vector3::zeros() };
        let point = RigidInertia::about_center(I.mass, c, Symmetric3::default()).I;
        A.transpose() * (I.I.to_matrix() - point.to_matrix()) * A
    }

    /// Rotation from the user's axes of link `i` to its canonical axes, in which the joint axis is z.
    pub fn canonical_axes(&self, i: usize) -> &Matrix3<f64> {
        &self.to_canonical[i]
    }
}

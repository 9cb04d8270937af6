//! Joints whose position the rest of the machine does not feel.
//!
//! The equations of motion depend on the position of a joint i through the inertia of the bodies beyond it, seen from
//! its parent, and through the direction of gravity, seen from its child. Neither changes with the position
//!
//! - of a **balanced rotor**: a revolute joint beyond which every rigid piece is symmetric about its axis, h = (0, 0,
//!   h_z) and I = diag(I_t, I_t, I_z) in the joint's canonical frame, pieces being joined by coaxial joints only;
//! - of a joint that carries a **whole branch** of the tree and leaves gravity where it was: a revolute joint whose
//!   axis is parallel to gravity, or any where there is none; a free joint, because uniform gravity is no more than an
//!   acceleration of its base.
//!
//! Springs, drives and couplings that read the coordinate itself are not meant.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::RigidInertia;
use nalgebra::{Matrix3, Vector3};

/// Off-axis moments and offsets below this, relative to their own size, are rounding of turning frames into one
/// another.
const ROUNDING: f64 = 1e-13;

/// The reason why the equations do not depend on a position; external wrenches, which turn with their links, may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignorable {
    /// The bodies beyond it are symmetric about its axis. Wrenches on them matter.
    Balanced,
    /// It carries a whole branch, gravity being the same from everywhere. Wrenches on its links turn with it and do
    /// not matter.
    Whole,
}

/// The reason why the equations do not depend on the position of joint `i`, if they do not.
pub fn ignorable(model: &Model, i: usize) -> Option<Ignorable> {
    let kernel = model.node.get(i)?.kernel;
    if is_first(model, i) && (kernel == Kernel::Free || kernel == Kernel::Revolute && is_upright(model, i)) {
        return Some(Ignorable::Whole);
    }
    (kernel == Kernel::Revolute && is_symmetric(model, i)).then_some(Ignorable::Balanced)
}

/// The body of each body's branch that hangs on the world itself; the world's own is 0.
pub fn branches(model: &Model) -> Vec<usize> {
    let mut branch = vec![0; model.n_bodies()];
    for i in 1..model.n_bodies() {
        let parent = model.parent[i];
        branch[i] = if parent == 0 { i } else { branch[parent] };
    }
    branch
}

/// Whether nothing but fixed joints lies between joint `i` and the world.
fn is_first(model: &Model, i: usize) -> bool {
    let mut at = model.parent[i];
    while at != 0 && model.node[at].kernel == Kernel::Fixed {
        at = model.parent[at];
    }
    at == 0
}

/// Whether the axis of a joint that is the first of its branch is parallel to gravity.
fn is_upright(model: &Model, i: usize) -> bool {
    // z of the canonical frame: a turn about it changes nothing
    let (mut axis, mut at) = (Vector3::z(), i);
    while at != 0 {
        axis = model.node[at].X_T.rotation().transpose() * axis;
        at = model.parent[at];
    }
    axis.cross(&model.gravity).amax() <= ROUNDING * model.gravity.amax()
}

/// Whether all that lies beyond joint `i` is symmetric about its axis, piece by piece.
fn is_symmetric(model: &Model, i: usize) -> bool {
    let mut piece = model.node[i].I;
    if !gather(model, i, &Matrix3::identity(), &Vector3::zeros(), &mut piece) {
        return false;
    }
    let (h, I) = (piece.h.to_vector(), piece.I.to_matrix());
    let (trace, size) = (I.trace(), (piece.mass * I.trace()).sqrt());
    let off = [I[(0, 1)], I[(0, 2)], I[(1, 2)], I[(0, 0)] - I[(1, 1)]];
    h.x.abs().max(h.y.abs()) <= ROUNDING * size && off.iter().all(|off| off.abs() <= ROUNDING * trace)
}

/// Adds to `piece` the bodies fixed to body `b`, which is turned by `R` and displaced by `r` against the piece's frame.
/// Whether every joint on it is coaxial with z of that frame and carries something symmetric.
fn gather(model: &Model, b: usize, R: &Matrix3<f64>, r: &Vector3<f64>, piece: &mut RigidInertia) -> bool {
    (b + 1..model.n_bodies()).filter(|&c| model.parent[c] == b).all(|c| {
        let node = &model.node[c];
        let (R_c, r_c) = (R * node.X_T.rotation().transpose(), r + R * node.X_T.translation());
        match node.kernel {
            Kernel::Fixed => {
                *piece += node.I.turned(&R_c.into()).shifted(r_c.into());
                gather(model, c, &R_c, &r_c, piece)
            }
            Kernel::Revolute | Kernel::Prismatic => {
                let z = R_c.column(2);
                z.x.abs().max(z.y.abs()) <= ROUNDING
                    && r_c.x.abs().max(r_c.y.abs()) <= ROUNDING * r_c.amax()
                    && is_symmetric(model, c)
            }
            Kernel::Free => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JointSpec, LinkInertia, ModelBuilder, Work, rnea};

    /// A wheel on an arm, with a hub that slides and turns on the same axis, a weight fixed to it, and a bob; gravity
    /// along −y.
    fn machine(weight: f64) -> Model {
        let mut builder = ModelBuilder::new();
        builder.gravity(Vector3::new(0.0, -9.81, 0.0));
        let disc = LinkInertia::diagonal(2.0, Vector3::new(0.0, 0.0, 0.1), 0.2, 0.2, 0.3);
        builder.link("arm", LinkInertia::rod(1.0, Vector3::new(0.5, 0.1, 0.0)));
        builder.link("wheel", disc);
        builder.link("hub", LinkInertia::diagonal(0.5, Vector3::new(0.0, 0.0, 0.3), 0.1, 0.1, 0.05));
        builder.link("ring", LinkInertia::diagonal(0.5, Vector3::zeros(), 0.1, 0.1, 0.05));
        builder.link("weight", LinkInertia::point(weight, Vector3::new(0.2, 0.0, 0.0)));
        builder.joint(JointSpec::revolute("shoulder", "world", "arm", Vector3::new(0.3, 0.2, 1.0)));
        let mut spin = JointSpec::revolute("spin", "arm", "wheel", Vector3::z());
        spin.placement.translation.vector = Vector3::new(0.5, 0.1, 0.0);
        builder.joint(spin);
        builder.joint(JointSpec::prismatic("slide", "wheel", "hub", Vector3::z()));
        builder.joint(JointSpec::revolute("turn", "hub", "ring", Vector3::z()));
        builder.joint(JointSpec::new("weld", "wheel", "weight", crate::JointKind::Fixed));
        builder.build().unwrap()
    }

    #[test]
    fn efforts_depend_on_marked_positions_only() {
        for (weight, expected) in [(0.0, Some(Ignorable::Balanced)), (0.01, None)] {
            let model = machine(weight);
            let [spin, shoulder, turn] = ["spin", "shoulder", "turn"].map(|name| model.joint(name).unwrap());
            assert_eq!((ignorable(&model, spin), ignorable(&model, shoulder)), (expected, None));
            assert_eq!(ignorable(&model, turn), Some(Ignorable::Balanced));
            // by inverse dynamics, at any velocities and accelerations
            let (mut work, v, a) = (Work::new(&model), [0.7, -2.0, 3.0, 0.4], [1.0, 0.5, -0.3, 2.0]);
            let mut efforts = |angle: f64| {
                let mut q = [0.3, 0.1, -0.2, 0.5];
                q[model.q_index[spin]] = angle;
                rnea(&model, &mut work, &q, &v, &a).unwrap().to_vec()
            };
            let (first, then) = (efforts(0.1), efforts(1.7));
            let change = first.iter().zip(&then).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert_eq!(change < 1e-13, expected.is_some(), "{change:e}");
        }
    }

    #[test]
    fn an_upright_branch_and_a_free_one_are_not_felt() {
        let mut builder = ModelBuilder::new();
        for name in ["a", "b", "c"] {
            builder.link(name, LinkInertia::rod(1.0, Vector3::new(0.5, 0.1, 0.2)));
        }
        builder.joint(JointSpec::revolute("up", "world", "a", Vector3::z()));
        builder.joint(JointSpec::revolute("on", "a", "b", Vector3::z()));
        builder.joint(JointSpec::new("free", "world", "c", crate::JointKind::Free));
        let model = builder.build().unwrap();
        let why = |name: &str| ignorable(&model, model.joint(name).unwrap());
        assert_eq!([why("up"), why("on"), why("free")], [Some(Ignorable::Whole), None, Some(Ignorable::Whole)]);
    }
}

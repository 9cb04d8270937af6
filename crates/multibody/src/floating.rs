//! Floating trees: the bodies beyond a free joint, down to the next free joints. A free joint transmits no force but
//! the caller's effort, so the momentum of a floating tree changes by external forces alone.
//!
//! Seen from its root link (axes of the root, R to world axes; root at x, turning with ω), with C = x + R c the centre
//! of mass,
//!
//! ```text
//! p   = m Ċ                 Ċ = ẋ + R (ω × c + ċ)       ċ: by the joints, the root at rest
//! L_C = R (I_C ω + l)       l: angular momentum of the joints about C, the root at rest
//! ```
//!
//! Composite inertia and momentum come from the tips as in `momentum`; `I_C` and `l` follow by the parallel-axis
//! theorem.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_body, check_finite, check_length};
use crate::joint::Kernel;
use crate::kinematics::{sweep, transforms};
use crate::model::Model;
use crate::spatial::{Force, Motion};
use crate::work::Work;
use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3};

/// A floating tree with its root at rest, axes of the root link. See the head of this file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatingTree {
    /// m, kg.
    pub mass: f64,
    /// c: from the root's origin to the centre of mass, m.
    pub center: Vector3<f64>,
    /// ċ, m/s.
    pub center_rate: Vector3<f64>,
    /// I_C, all joints locked, about the centre of mass, kg·m².
    pub inertia: Matrix3<f64>,
    /// l, kg·m²/s.
    pub spin: Vector3<f64>,
}

/// Pose and velocity of a link in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkMotion {
    /// Canonical link axes to world axes.
    pub rotation: Matrix3<f64>,
    /// Origin in the world, m.
    pub origin: Vector3<f64>,
    /// Spatial velocity, link axes.
    pub velocity: Motion,
}

/// `Ok` if body `root` hangs on a free joint.
fn check_root(model: &Model, root: usize) -> Result<(), Error> {
    check_body(root, model.n_bodies())?;
    match model.node[root].kernel {
        Kernel::Free => Ok(()),
        _ => Err(Error::NoSuch { what: "free joint at body", index: root, count: model.n_bodies() }),
    }
}

/// The tree that floats on the free joint of body `root`, at `q` and `v`; the six velocities of the free joint itself
/// are not read.
pub fn floating_tree(model: &Model, work: &mut Work, root: usize, q: &[f64], v: &[f64]) -> Result<FloatingTree, Error> {
    work.check(model, q, [("v", v)])?;
    check_root(model, root)?;
    transforms(model, work, q);

    // root to tips: velocities with the root at rest, inertias and momenta
    let end = end_of(model, root);
    work.link[root].vel = Motion::ZERO;
    work.link[root].f = Force::ZERO;
    work.IC[root] = model.node[root].I;
    for i in members(model, root, end) {
        let node = &model.node[i];
        let vel = node.kernel.add_motion(&work.link[i].X.motion(&work.link[node.parent].vel), v, node.v);
        work.link[i].vel = vel;
        work.link[i].f = node.I.times(&vel);
        work.IC[i] = node.I;
    }
    // tips to root
    for i in members(model, root, end).rev() {
        let (parent, X) = (model.parent[i], work.link[i].X);
        let (inertia, momentum) = (work.IC[i].back(&X), X.force_back(&work.link[i].f));
        work.IC[parent] += inertia;
        work.link[parent].f += momentum;
    }

    let (whole, momentum) = (&work.IC[root], &work.link[root].f);
    let mass = whole.mass;
    let per_mass = if mass > 0.0 { 1.0 / mass } else { 0.0 };
    let c = whole.h.to_vector() * per_mass;
    let p = momentum.force();
    let tree = FloatingTree {
        mass,
        center: c,
        center_rate: p * per_mass,
        // I_C = I − m (c·c 1 − c cᵀ), l = n − c × p
        inertia: whole.I.to_matrix() - (Matrix3::identity() * c.norm_squared() - c * c.transpose()) * mass,
        spin: momentum.moment() - c.cross(&p),
    };
    check_finite("floating_tree", &[(tree.inertia.sum() + tree.spin.sum() + tree.center_rate.sum() + c.sum()) * 0.0])?;
    Ok(tree)
}

/// The wrench from outside on the tree that floats on the free joint of body `root`, about the root's origin, axes of
/// the root, without gravity: wrenches on its links, efforts `tau` of its own free joint, and the counter-effort of
/// free joints that hang on it. Transforms are those of the last function that took `q`.
pub fn floating_wrench(model: &Model, work: &mut Work, root: usize, tau: &[f64]) -> Result<Force, Error> {
    check_root(model, root)?;
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    check_length("tau", tau.len(), model.n_v)?;
    let end = end_of(model, root);
    let own = |i: usize| Force::from_slice(&tau[model.v_range(i)]);
    work.link[root].f = work.outside.wrench[root] + own(root);
    for i in root + 1..end {
        // beyond another free joint only its effort is transmitted
        work.link[i].f = match floats_on(model, root, i) {
            Some(first) if first == i => -own(i),
            Some(_) => Force::ZERO,
            None => work.outside.wrench[i],
        };
    }
    for i in (root + 1..end).rev() {
        let seen = work.link[i].X.force_back(&work.link[i].f);
        work.link[model.parent[i]].f += seen;
    }
    Ok(work.link[root].f)
}

/// Pose and velocity of a link at `q`, `v`.
pub fn link_motion(model: &Model, work: &mut Work, i: usize, q: &[f64], v: &[f64]) -> Result<LinkMotion, Error> {
    work.check(model, q, [("v", v)])?;
    check_body(i, model.n_bodies())?;
    sweep::<false>(model, work, q, v, &[]);
    let (mut rotation, mut origin, mut at) = (Matrix3::identity(), Vector3::zeros(), i);
    while at != 0 {
        let X = &work.link[at].X;
        let turn = X.rotation().transpose();
        (rotation, origin) = (turn * rotation, X.translation() + turn * origin);
        at = model.parent[at];
    }
    Ok(LinkMotion { rotation, origin, velocity: work.link[i].vel })
}

/// Positions of the free joint of body `i` in `q` that bring its link to the given place; its parent is where `q` has
/// it.
pub fn set_free_pose(
    model: &Model,
    work: &mut Work,
    i: usize,
    rotation: &Matrix3<f64>,
    origin: &Vector3<f64>,
    q: &mut [f64],
    v: &[f64],
) -> Result<(), Error> {
    check_root(model, i)?;
    let (parent, X_T) = (link_motion(model, work, model.parent[i], q, v)?, &model.node[i].X_T);
    // the joint frame: R_J = R_p E_Tᵀ at x_p + R_p r_T
    let R_J = parent.rotation * X_T.rotation().transpose();
    let p = R_J.transpose() * (origin - parent.origin - parent.rotation * X_T.translation());
    let Q = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(R_J.transpose() * rotation));
    q[model.q_range(i)].copy_from_slice(&[p.x, p.y, p.z, Q.w, Q.i, Q.j, Q.k]);
    Ok(())
}

/// Velocities of the free joint of body `i` in `v` that give its link this spatial velocity, link axes; its parent has
/// that of `v`.
pub fn set_free_velocity(
    model: &Model,
    work: &mut Work,
    i: usize,
    velocity: &Motion,
    q: &[f64],
    v: &mut [f64],
) -> Result<(), Error> {
    check_root(model, i)?;
    let parent = link_motion(model, work, model.parent[i], q, v)?;
    let own = *velocity - work.link[i].X.motion(&parent.velocity);
    v[model.v_range(i)].copy_from_slice(&own.to_array());
    Ok(())
}

/// One past the last body of the subtree of `root`: bodies are numbered depth first.
fn end_of(model: &Model, root: usize) -> usize {
    let mut end = root + 1;
    while end < model.n_bodies() && model.parent[end] >= root {
        end += 1;
    }
    end
}

/// The first free joint on the way from `root` (left out) to `i`, a body of its subtree.
fn floats_on(model: &Model, root: usize, i: usize) -> Option<usize> {
    let (mut at, mut found) = (i, None);
    while at != root {
        if model.node[at].kernel == Kernel::Free {
            found = Some(at);
        }
        at = model.parent[at];
    }
    found
}

/// The bodies of a floating tree after its root.
fn members(model: &Model, root: usize, end: usize) -> impl DoubleEndedIterator<Item = usize> {
    (root + 1..end).filter(move |&i| floats_on(model, root, i).is_none())
}

//! Positions, velocities and accelerations of the links.
//!
//! ```text
//! v_i = X_i v_p + S_i q̇_i
//! a_i = X_i a_p + S_i q̈_i + v_i × S_i q̇_i            a_0 = −g
//! ```
//!
//! Recursion from the base to the tips (RBDA table 5.1, left half). With `a_0 = −g` the accelerations carry gravity;
//! [`accelerations`] gives the true ones, [`poses`] the links in the world.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_body, check_finite, check_length};
use crate::joint::{Kernel, by_kernel};
use crate::model::{Model, Node, Placement};
use crate::spatial::Motion;
use crate::work::{Link, Work};
use nalgebra::{Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};

/// Transforms of all links.
#[inline(always)]
pub(crate) fn transforms(model: &Model, work: &mut Work, q: &[f64]) {
    for (link, node) in work.link.iter_mut().zip(&model.node).skip(1) {
        link.X = node.kernel.transform(&node.X_T, q, node.q);
    }
}

/// The base: at rest, gravity riding on it.
#[inline(always)]
pub(crate) fn start(work: &mut Work) {
    work.link[0].vel = Motion::ZERO;
    work.link[0].acc = Motion::new(Vector3::zeros(), -work.outside.gravity);
}

/// Velocity and acceleration of one link from its parent's. `A` false leaves q̈ = 0.
#[inline(always)]
pub(crate) fn follow<const A: bool>(kernel: Kernel, node: &Node, parent: &Link, link: &mut Link, v: &[f64], a: &[f64]) {
    let X = &link.X;
    let vel = kernel.add_motion(&X.motion(&parent.vel), v, node.v);
    let mut acc = kernel.add_cross(&X.motion(&parent.acc), &vel, v, node.v);
    if A {
        acc = kernel.add_motion(&acc, a, node.v);
    }
    (link.vel, link.acc) = (vel, acc);
}

/// Transforms, velocities and accelerations of all links. Transforms first: they wait for no parent, so that the
/// sines of several joints are under way at once.
#[inline(always)]
pub(crate) fn sweep<const A: bool>(model: &Model, work: &mut Work, q: &[f64], v: &[f64], a: &[f64]) {
    transforms(model, work, q);
    start(work);
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.link.split_at_mut(i);
        let kernel = node.kernel;
        by_kernel!(kernel, follow::<A>(kernel, node, &above[node.parent], &mut below[0], v, a));
    }
}

/// Fills the transforms and velocities of `work` for the functions that read them: [`poses`] (and through it
/// [`crate::jacobian`]) and [`crate::point_velocity`].
pub fn kinematics(model: &Model, work: &mut Work, q: &[f64], v: &[f64]) -> Result<(), Error> {
    work.check(model, q, [("v", v)])?;
    sweep::<false>(model, work, q, v, &[]);
    finite_motion("kinematics", work)
}

/// Fills transforms, velocities and accelerations of `work` for the functions that read them: besides those of
/// [`kinematics`], [`crate::point_acceleration`].
pub fn accelerations(model: &Model, work: &mut Work, q: &[f64], v: &[f64], a: &[f64]) -> Result<(), Error> {
    work.check(model, q, [("v", v), ("a", a)])?;
    sweep::<true>(model, work, q, v, a);
    finite_motion("accelerations", work)
}

/// Every number of a state reaches the motion or the transform of its own link.
fn finite_motion(function: &'static str, work: &Work) -> Result<(), Error> {
    let sum = |link: &Link| {
        let [x, y, z] = link.X.E.0;
        (link.vel.angular + link.vel.linear + link.acc.angular + link.acc.linear + link.X.r + x + y + z).sum()
    };
    let zero: f64 = work.link.iter().map(|link| sum(link) * 0.0).sum();
    check_finite(function, &[zero])
}

/// Links in the world: rotation from canonical axes to world axes, and origin.
#[derive(Debug, Clone)]
pub struct Poses {
    /// `R_WB`, canonical body axes to world axes; `n_bodies`.
    pub(crate) R: Vec<Matrix3<f64>>,
    /// `p_WB`, origin of the body in the world, m; `n_bodies`.
    pub(crate) p: Vec<Vector3<f64>>,
}

impl Poses {
    /// Room for the poses of `model`.
    pub fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        Self { R: vec![Matrix3::identity(); n], p: vec![Vector3::zeros(); n] }
    }

    /// Pose of link `i` in the world, in the user's link axes.
    pub fn link(&self, model: &Model, i: usize) -> Result<Placement, Error> {
        check_body(i, model.n_bodies().min(self.R.len()))?;
        let R = Rotation3::from_matrix_unchecked(self.R[i] * model.to_canonical[i]);
        Ok(Placement::from_parts(Translation3::from(self.p[i]), UnitQuaternion::from_rotation_matrix(&R)))
    }

    /// A point fixed in link `i`, given in the user's link axes, in the world.
    pub fn point(&self, model: &Model, i: usize, point: &Vector3<f64>) -> Result<Vector3<f64>, Error> {
        check_body(i, model.n_bodies().min(self.R.len()))?;
        Ok(self.p[i] + self.R[i] * (model.to_canonical[i] * point))
    }
}

/// Fills `poses` from the transforms of `work`, as left by the last function that took `q`.
pub fn poses(model: &Model, work: &Work, poses: &mut Poses) -> Result<(), Error> {
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    check_length("poses", poses.R.len(), model.n_bodies())?;
    for i in 1..model.n_bodies() {
        let (p, X) = (model.parent[i], &work.link[i].X);
        poses.p[i] = poses.p[p] + poses.R[p] * X.translation();
        poses.R[i] = poses.R[p] * X.rotation().transpose();
    }
    Ok(())
}

//! Inverse dynamics: the recursive Newton–Euler algorithm (RBDA table 5.1).
//!
//! ```text
//! f_i = I_i a_i + v_i ×* I_i v_i − f_ext,i + Σ_children X_jᵀ f_j
//! τ_i = S_iᵀ f_i + armature_i q̈_i
//! ```
//!
//! `f_i` is the force transmitted through joint `i`, parent on child, at the child's origin: the joint reaction.

use crate::error::{Error, check_finite};
use crate::joint::by_kernel;
use crate::kinematics::{follow, start, transforms};
use crate::model::Model;
use crate::work::Work;

/// Motion of every link, and the force that moves it alone, without the forces of its children. Transforms first:
/// they wait for no parent, so that the sines of several joints are under way at once.
#[inline(always)]
pub(crate) fn body_forces<const A: bool>(model: &Model, work: &mut Work, q: &[f64], v: &[f64], a: &[f64]) {
    transforms(model, work, q);
    start(work);
    for ((i, node), wrench) in model.node.iter().enumerate().zip(&work.outside.wrench).skip(1) {
        let (above, below) = work.link.split_at_mut(i);
        let (parent, link, kernel) = (&above[node.parent], &mut below[0], node.kernel);
        by_kernel!(kernel, follow::<A>(kernel, node, parent, link, v, a));
        link.f = node.I.times(&link.acc) + link.vel.cross_force(&node.I.times(&link.vel)) - *wrench;
    }
}

/// Efforts that give the accelerations `a` at `q`, `v`, under gravity and the wrenches of `work.outside`.
pub fn rnea<'w>(model: &Model, work: &'w mut Work, q: &[f64], v: &[f64], a: &[f64]) -> Result<&'w [f64], Error> {
    work.check(model, q, [("v", v), ("a", a)])?;
    body_forces::<true>(model, work, q, v, a);
    collect::<true>(model, work, a);
    check_finite("rnea", &work.tau)?;
    Ok(&work.tau)
}

/// Efforts that keep `q̈ = 0`: gravity, Coriolis and centrifugal terms, less external wrenches.
pub fn bias_efforts<'w>(model: &Model, work: &'w mut Work, q: &[f64], v: &[f64]) -> Result<&'w [f64], Error> {
    work.check(model, q, [("v", v)])?;
    body_forces::<false>(model, work, q, v, &[]);
    collect::<false>(model, work, &[]);
    check_finite("bias_efforts", &work.tau)?;
    Ok(&work.tau)
}

/// From the tips to the base: forces passed on, efforts read off.
#[inline(always)]
fn collect<const A: bool>(model: &Model, work: &mut Work, a: &[f64]) {
    for i in (1..model.node.len()).rev() {
        let node = &model.node[i];
        let (above, below) = work.link.split_at_mut(i);
        let link = &below[0];
        node.kernel.effort(&link.f, &mut work.tau, node.v);
        if node.parent != 0 {
            above[node.parent].f += link.X.force_back(&link.f);
        }
    }
    if A {
        work.tau.iter_mut().zip(&model.armature).zip(a).for_each(|((tau, armature), a)| *tau += armature * a);
    }
}

//! Inverse dynamics: the recursive Newton–Euler algorithm (RBDA table 5.1).
//!
//! ```text
//! f_i = I_i a_i + v_i ×* I_i v_i − f_ext,i + Σ_children X_jᵀ f_j
//! τ_i = S_iᵀ f_i + armature_i q̈_i
//! ```
//!
//! `f_i` is the force transmitted through joint `i`, parent on child, at the child's origin: the joint reaction.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite};
use crate::kinematics::sweep;
use crate::model::Model;
use crate::work::Work;

/// Forces that move each body on its own, without what its children pass on.
#[inline(always)]
pub(crate) fn body_forces<const A: bool>(model: &Model, work: &mut Work, q: &[f64], v: &[f64], a: &[f64]) {
    sweep::<A>(model, work, q, v, a);
    let n = model.n_bodies();
    let (vel, acc, wrench, f) = (&work.vel[..n], &work.acc[..n], &work.outside.wrench[..n], &mut work.f[..n]);
    for i in 1..n {
        let I = &model.I[i];
        f[i] = I.times(&acc[i]) + vel[i].cross_force(&I.times(&vel[i])) - wrench[i];
    }
}

/// Efforts that give the accelerations `a` at `q`, `v`, under gravity and the wrenches of `work.outside`.
pub fn rnea<'w>(model: &Model, work: &'w mut Work, q: &[f64], v: &[f64], a: &[f64]) -> Result<&'w [f64], Error> {
    work.check(model, q, &[("v", v), ("a", a)])?;
    body_forces::<true>(model, work, q, v, a);
    collect::<true>(model, work, a);
    check_finite("rnea", &work.tau)?;
    Ok(&work.tau)
}

/// Efforts that keep `q̈ = 0`: gravity, Coriolis and centrifugal terms, less external wrenches.
pub fn bias_efforts<'w>(model: &Model, work: &'w mut Work, q: &[f64], v: &[f64]) -> Result<&'w [f64], Error> {
    work.check(model, q, &[("v", v)])?;
    body_forces::<false>(model, work, q, v, &[]);
    collect::<false>(model, work, &[]);
    check_finite("bias_efforts", &work.tau)?;
    Ok(&work.tau)
}

/// From the tips to the base: forces passed on, efforts read off.
#[inline(always)]
fn collect<const A: bool>(model: &Model, work: &mut Work, a: &[f64]) {
    let n = model.n_bodies();
    let (X, f) = (&work.X[..n], &mut work.f[..n]);
    for i in (1..n).rev() {
        let (p, kernel, vi) = (model.parent[i], model.kernel[i], model.v_range(i));
        kernel.effort(&f[i], &mut work.tau[vi]);
        if p != 0 {
            let passed = X[i].force_back(&f[i]);
            f[p] += passed;
        }
    }
    if A {
        work.tau.iter_mut().zip(&model.armature).zip(a).for_each(|((tau, armature), a)| *tau += armature * a);
    }
}

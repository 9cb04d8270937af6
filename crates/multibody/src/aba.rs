//! Forward dynamics: the articulated-body algorithm (RBDA table 7.1), with any joints locked.
//!
//! The bias is taken out first: `acc` and `f` are the accelerations and forces at q̈ = 0, and the rest is linear,
//! M q̈ = τ − c. In this form the backward sweep needs no velocity terms, and the same two sweeps serve `aba`, `jerk`
//! and the columns of the derivatives:
//!
//! ```text
//! U = IA S     D = Sᵀ U + armature     u = τ − Sᵀ pA
//! IA_p += Xᵀ (IA − U D⁻¹ Uᵀ) X         pA_p += Xᵀ (pA + U D⁻¹ u)               tips to base
//! δ' = X δ_p     q̈ = D⁻¹ (u − Uᵀ δ')     δ = δ' + S q̈                          base to tips
//! ```
//!
//! A locked or fixed joint has D⁻¹ = 0. A free joint takes all of its body's force: q̈ = IA⁻¹ (τ − pA) − δ', and passes
//! on τ alone. Armature enters D only.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::kinematics::transforms;
use crate::model::{Model, NOISE};
use crate::rnea::body_forces;
use crate::spatial::{ArticulatedInertia, Force, Motion};
use crate::work::{Pivot, Work};
use nalgebra::{Cholesky, U6, Vector6};

/// Accelerations at `q`, `v` under the efforts `tau`, gravity and the wrenches of `work.outside`.
pub fn aba<'w>(model: &Model, work: &'w mut Work, q: &[f64], v: &[f64], tau: &[f64]) -> Result<&'w [f64], Error> {
    work.check(model, q, [("v", v), ("tau", tau)])?;
    work.locked.fill(false);
    forward_dynamics(model, work, q, v, tau)
}

/// The same with the joints marked in `locked` (`n_bodies` entries, the world's is ignored) at q̈ = 0: whatever
/// their velocity is, it stays. Their entries of `tau` have no effect.
pub fn aba_hybrid<'w>(
    model: &Model,
    work: &'w mut Work,
    q: &[f64],
    v: &[f64],
    tau: &[f64],
    locked: &[bool],
) -> Result<&'w [f64], Error> {
    work.check(model, q, [("v", v), ("tau", tau)])?;
    check_length("locked", locked.len(), model.n_bodies())?;
    work.locked.copy_from_slice(locked);
    forward_dynamics(model, work, q, v, tau)
}

#[inline(always)]
fn forward_dynamics<'w>(
    model: &Model,
    work: &'w mut Work,
    q: &[f64],
    v: &[f64],
    tau: &[f64],
) -> Result<&'w [f64], Error> {
    body_forces::<false>(model, work, q, v, &[]);
    for i in (1..model.n_bodies()).rev() {
        eliminate(model, work, i, &model.armature)?;
        reduce(model, work, i, tau);
    }
    substitute(model, work);
    check_finite("aba", &work.a)?;
    Ok(&work.a)
}

/// Factorises the mass matrix at `q` with the joints of `locked` at rest: M⁻¹ is then applied by [`solve`].
pub fn factor(model: &Model, work: &mut Work, q: &[f64], locked: &[bool]) -> Result<(), Error> {
    work.check(model, q, [])?;
    check_length("locked", locked.len(), model.n_bodies())?;
    // the position of a joint on the world moves nothing that is factorised: a look at the numbers themselves
    check_finite("factor", q)?;
    work.locked.copy_from_slice(locked);
    transforms(model, work, q);
    factor_at(model, work)
}

/// The same for M + diag(armature − the model's own): every velocity has the armature given for it, `n_v`, in place of
/// its own. Those of free joints have none.
pub fn factor_with_armature(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    locked: &[bool],
    armature: &[f64],
) -> Result<(), Error> {
    work.check(model, q, [("armature", armature)])?;
    check_length("locked", locked.len(), model.n_bodies())?;
    check_finite("factor_with_armature", q)?;
    work.locked.copy_from_slice(locked);
    transforms(model, work, q);
    (1..model.n_bodies()).rev().try_for_each(|i| eliminate(model, work, i, armature))
}

/// The same at the transforms that `work` already holds.
pub(crate) fn factor_at(model: &Model, work: &mut Work) -> Result<(), Error> {
    (1..model.n_bodies()).rev().try_for_each(|i| eliminate(model, work, i, &model.armature))
}

/// `M⁻¹ b` after [`factor`], [`aba`] or [`aba_hybrid`], at the same `q`; 0 for locked joints.
pub fn solve<'w>(model: &Model, work: &'w mut Work, b: &[f64]) -> Result<&'w [f64], Error> {
    check_length("b", b.len(), model.n_v)?;
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    work.link.iter_mut().for_each(|link| link.f = Force::ZERO);
    for i in (1..model.n_bodies()).rev() {
        reduce(model, work, i, b);
    }
    substitute(model, work);
    check_finite("solve", &work.a)?;
    Ok(&work.a)
}

/// Results of the recursion. Panics, like a slice, where there is no body `i`.
impl Work {
    /// D_i = S_iᵀ IA_i S_i + armature and D_i⁻¹ u_i after [`aba`], [`aba_hybrid`] or [`solve`]: the inertia that joint
    /// `i` has with the joints beyond it free to follow, and the acceleration that it would have if its parent did not
    /// accelerate. Infinite and 0 for joints that cannot move; for one-degree joints only.
    pub fn articulated(&self, model: &Model, i: usize) -> (f64, f64) {
        let D_inv = self.pivot[i].D_inv;
        (1.0 / D_inv, D_inv * self.u[model.v_index[i]])
    }
}

/// One step of the backward sweep for inertias: pivot of joint `i`, and the inertia it propagates to the parent.
#[inline(always)]
fn eliminate(model: &Model, work: &mut Work, i: usize, armature: &[f64]) -> Result<(), Error> {
    let node = &model.node[i];
    let (above, below) = work.IA.split_at_mut(i);
    // a leaf has no children; the first visited child initialises its parent
    let IA = if node.leaf { &node.IA } else { &below[0] };
    let (X, pivot) = (&work.link[i].X, &mut work.pivot[i]);
    *pivot = Pivot { U: Force::ZERO, D_inv: 0.0 };
    let left = match node.kernel {
        Kernel::Fixed => *IA,
        _ if work.locked[i] => *IA,
        Kernel::Free => {
            // nothing is propagated, but the parent must be initialised
            if node.first_visited {
                above[node.parent] = model.node[node.parent].IA;
            }
            work.free_pivot[i] = None;
            let factor = free_pivot(model, i, IA)?;
            work.free_pivot[i] = Some(factor);
            return Ok(());
        }
        Kernel::Revolute | Kernel::Prismatic => {
            let U = node.kernel.column(IA);
            let D = node.kernel.along(&U) + armature[node.v];
            if D <= node.noise {
                return Err(singular(model, i, D));
            }
            *pivot = Pivot { U, D_inv: 1.0 / D };
            IA.minus_outer(&U, pivot.D_inv)
        }
    };
    if node.parent != 0 {
        let propagated = if node.first_visited { &model.node[node.parent].IA } else { &above[node.parent] };
        above[node.parent] = *propagated + left.back(X);
    }
    Ok(())
}

/// One step of the backward sweep for forces.
#[inline(always)]
fn reduce(model: &Model, work: &mut Work, i: usize, tau: &[f64]) {
    let node = &model.node[i];
    let (above, below) = work.link.split_at_mut(i);
    let (link, pivot) = (&below[0], &work.pivot[i]);
    let pA = link.f;
    let passed = match node.kernel {
        Kernel::Free if !work.locked[i] => {
            let tau = Force::from_slice(&tau[node.v..]);
            work.u[model.v_range(i)].copy_from_slice(&(tau - pA).to_array());
            tau
        }
        Kernel::Fixed | Kernel::Free => pA,
        Kernel::Revolute | Kernel::Prismatic => {
            let u = tau[node.v] - node.kernel.along(&pA);
            work.u[node.v] = u;
            pA + pivot.U * (pivot.D_inv * u)
        }
    };
    if node.parent != 0 {
        above[node.parent].f += link.X.force_back(&passed);
    }
}

/// Forward sweep: accelerations from the reduced equations.
#[inline(always)]
fn substitute(model: &Model, work: &mut Work) {
    work.delta[0] = Motion::ZERO;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.delta.split_at_mut(i);
        let propagated = work.link[i].X.motion(&above[node.parent]);
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => {
                let a = &mut work.a[node.v..node.v + 6];
                match &work.free_pivot[i] {
                    Some(factor) if !work.locked[i] => {
                        let x = factor.solve(&Vector6::from_column_slice(&work.u[node.v..node.v + 6]));
                        a.iter_mut()
                            .zip(x.iter())
                            .zip(propagated.to_array())
                            .for_each(|((a, x), propagated)| *a = x - propagated);
                    }
                    _ => a.fill(0.0),
                }
            }
            Kernel::Revolute | Kernel::Prismatic => {
                let pivot = &work.pivot[i];
                work.a[node.v] = pivot.D_inv * (work.u[node.v] - propagated.dot(&pivot.U));
            }
        }
        below[0] = node.kernel.add_motion(&propagated, &work.a, node.v);
    }
}

/// Factorised 6×6 pivot of free joint `i`.
#[inline(always)]
pub(crate) fn free_pivot(model: &Model, i: usize, IA: &ArticulatedInertia) -> Result<Cholesky<f64, U6>, Error> {
    let matrix = IA.to_matrix();
    let Some(factor) = Cholesky::new(matrix) else {
        // NaN has no factors either
        return Err(singular(model, i, matrix.trace() * 0.0));
    };
    // seldom a pivot this small; then a closer look
    let pivot = |k: usize| factor.l_dirty()[(k, k)].powi(2);
    let size = [0, 3].map(|k| matrix[(k, k)] + matrix[(k + 1, k + 1)] + matrix[(k + 2, k + 2)]);
    if (0..6).any(|k| pivot(k) <= 1e-6 * size[k / 3]) {
        let least = least_moment(&factor);
        if least <= NOISE * size[0] {
            return Err(singular(model, i, least));
        }
    }
    Ok(factor)
}

/// About the smallest moment of inertia of a free body about its centre of mass: M⁻¹ turns moments into angular
/// accelerations by its inverse.
#[cold]
fn least_moment(factor: &Cholesky<f64, U6>) -> f64 {
    (0..3).map(|k| factor.solve(&Vector6::ith(k, 1.0))[k]).sum::<f64>().recip()
}

#[cold]
pub(crate) fn singular(model: &Model, i: usize, inertia: f64) -> Error {
    if inertia.is_nan() {
        return Error::NonFinite { function: "aba" };
    }
    Error::Singular { joint: model.joint_names[i].clone(), inertia }
}

//! The equations of motion differentiated once in time, link coordinates.
//!
//! ```text
//! ȧ_i = X_i ȧ_p − (S q̇)× X_i a_p + S q⃛ + a_i × S q̇ + v_i × S q̈                    ȧ_0 = −ġ
//! ḟ_i = I ȧ_i + a_i ×* I v_i + v_i ×* I a_i − ḟ_ext + Σ_children X_jᵀ (ḟ_j + S_j q̇_j ×* f_j)
//! τ̇_i = S_iᵀ ḟ_i + armature_i q⃛_i
//! ```
//!
//! Gravity rides on the base acceleration: `a_i` stands for a_i − g. The gravity terms this leaves in ȧ and in the two
//! cross products cancel (Jacobi's identity), so ḟ and q⃛ are right although ȧ alone is not the spatial jerk.
//!
//! A joint that reads its reaction along a row P (see [`crate::factor_rows`]) obeys, with the row's own change on the
//! right,
//!
//! ```text
//! P_iᵀ ḟ_i + armature_i q⃛_i = τ̇_i
//! ```
//!
//! ḟ_i being the rates of the components in link axes: those of a pin load N = √(f_x² + f_y²) are Ṅ = n̂ᵀ ḟ_i. Rows and
//! effort rates follow from the reactions; so the work is split: [`jerk_begin`], a look at [`Work::reaction`], then
//! [`jerk_rows`].

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::aba::{factor_at, solve};
use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::model::Model;
use crate::rnea::rnea;
use crate::rows::{Scratch, factor_rows_at, solve_rows};
use crate::spatial::{Force, Motion};
use crate::work::{Link, Work};
use nalgebra::Vector3;

/// Effort rates τ̇ that give the jerks `jerk` at `q`, `v`, `a`, with the rates in `work.outside`.
pub fn rnea_rate<'w>(
    model: &Model,
    work: &'w mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    jerk: &[f64],
) -> Result<&'w [f64], Error> {
    check_length("jerk", jerk.len(), model.n_v)?;
    rnea(model, work, q, v, a)?;
    rates::<true>(model, work, v, a, jerk);
    check_finite("rnea_rate", &work.tau)?;
    Ok(&work.tau)
}

/// Jerks q⃛ at `q`, `v`, `a` under the effort rates `tau_rate`, with the joints of `locked` at rest. One sweep, no
/// iteration.
pub fn jerk<'w>(
    model: &Model,
    work: &'w mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    tau_rate: &[f64],
    locked: &[bool],
) -> Result<&'w [f64], Error> {
    check_length("tau_rate", tau_rate.len(), model.n_v)?;
    check_length("locked", locked.len(), model.n_bodies())?;
    rnea(model, work, q, v, a)?;
    rates::<false>(model, work, v, a, &[]);

    // M q⃛ = τ̇ − (rate of the efforts at q⃛ = 0)
    work.locked.copy_from_slice(locked);
    factor_at(model, work)?;
    let mut rest = std::mem::take(&mut work.tau);
    rest.iter_mut().zip(tau_rate).for_each(|(rest, rate)| *rest = rate - *rest);
    let solved = solve(model, work, &rest).map(|_| ());
    work.tau = rest;
    solved?;
    Ok(&work.a)
}

/// Reactions at `q`, `v`, `a` and their rates at q⃛ = 0, with the rates in `work.outside`: the start of [`jerk_rows`]
/// from. Both can be read off `work`, by [`Work::reaction`] and [`Work::reaction_rate`].
pub fn jerk_begin(model: &Model, work: &mut Work, q: &[f64], v: &[f64], a: &[f64]) -> Result<(), Error> {
    rnea(model, work, q, v, a)?;
    rates::<false>(model, work, v, a, &[]);
    work.rows.f_rate.copy_from_slice(&work.f_rate);
    check_finite("jerk_begin", &work.tau)
}

/// Jerks q⃛ of joints that read their reaction along `rows` (see [`crate::factor_rows`]) under the effort rates
/// `tau_rate`, with the joints of `locked` at rest; at the state of the last [`jerk_begin`], which may serve several
/// calls as long as no function with another `q` comes between. One factorisation, no iteration. The rates of the joint
/// forces can then be read by [`Work::reaction_rate`].
///
/// After [`rnea_rate`] in place of [`jerk_begin`] the result is added to the jerks given there: joints
/// whose jerk is prescribed are given it, and locked. (Joints with armature that are not locked are to be given 0.)
pub fn jerk_rows<'w>(
    model: &Model,
    work: &'w mut Work,
    tau_rate: &[f64],
    rows: &[Motion],
    locked: &[bool],
) -> Result<&'w [f64], Error> {
    check_length("tau_rate", tau_rate.len(), model.n_v)?;
    factor_rows_at(model, work, rows, locked)?;

    // M_P q⃛ = τ̇ − Pᵀ (rate of the forces at q⃛ = 0); the pivots have no row of a locked joint
    let mut rest = std::mem::take(&mut work.tau);
    rest.copy_from_slice(tau_rate);
    for ((node, pivot), f_rate) in model.node.iter().zip(&work.rows.pivot).zip(&work.f_rate).skip(1) {
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => {
                rest[node.v..node.v + 6].iter_mut().zip(f_rate.to_array()).for_each(|(rest, f)| *rest -= f);
            }
            Kernel::Revolute | Kernel::Prismatic => rest[node.v] -= pivot.P.dot(f_rate),
        }
    }
    let solved = solve_rows(model, work, &rest).map(|_| ());
    work.tau = rest;
    solved?;
    let Scratch { f, f_rate, .. } = &mut work.rows;
    f_rate.iter_mut().zip(&work.f_rate).zip(&*f).for_each(|((all, rest), change)| *all = *rest + *change);
    Ok(&work.a)
}

impl Work {
    /// ḟ_i at the jerks of the last [`rnea_rate`], canonical axes. Panics, like a slice, where there is no body `i`.
    #[inline(always)]
    pub fn force_rate(&self, i: usize) -> Force {
        self.f_rate[i]
    }

    /// ḟ_i, rates of the components of [`Work::reaction`], canonical axes: at the jerks of the last [`jerk_rows`], or
    /// at q⃛ = 0 while [`jerk_begin`] alone was called. Panics, like a slice, where there is no body `i`.
    #[inline(always)]
    pub fn reaction_rate(&self, i: usize) -> Force {
        self.rows.f_rate[i]
    }
}

/// Both recursions, after `rnea` has filled velocities, accelerations and reactions. `J` false leaves q⃛ = 0.
fn rates<const J: bool>(model: &Model, work: &mut Work, v: &[f64], a: &[f64], jerk: &[f64]) {
    let (link, acc_rate, f_rate) = (&work.link[..], &mut work.delta[..], &mut work.f_rate[..]);
    acc_rate[0] = Motion::new(Vector3::zeros(), -work.outside.gravity_rate);

    // base to tips
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (kernel, I, at, Link { X, vel, acc, .. }) = (node.kernel, &node.I, node.v, &link[i]);
        // −(S q̇) × X a_p = X a_p × S q̇
        let mut rate = X.motion(&acc_rate[node.parent]);
        rate = kernel.add_cross(&rate, &(X.motion(&link[node.parent].acc) + *acc), v, at);
        rate = kernel.add_cross(&rate, vel, a, at);
        if J {
            rate = kernel.add_motion(&rate, jerk, at);
        }
        acc_rate[i] = rate;
        f_rate[i] = I.times(&rate) + acc.cross_force(&I.times(vel)) + vel.cross_force(&I.times(acc))
            - work.outside.wrench_rate[i];
    }

    // tips to base
    for i in (1..model.node.len()).rev() {
        let node = &model.node[i];
        let (kernel, Link { X, f, .. }) = (node.kernel, &link[i]);
        kernel.effort(&f_rate[i], &mut work.tau, node.v);
        if node.parent != 0 {
            let passed = X.force_back(&(f_rate[i] + kernel.motion(v, node.v).cross_force(f)));
            f_rate[node.parent] += passed;
        }
    }
    if J {
        work.tau.iter_mut().zip(&model.armature).zip(jerk).for_each(|((tau, armature), j)| *tau += armature * j);
    }
}

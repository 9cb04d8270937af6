//! The convex problem of mode selection on a tree.

use crate::modes::{ModeError, Response, RestDynamics};
use bristle_multibody::{Model as Tree, Work, aba_hybrid, bias_efforts, factor_with_armature, rnea, solve};

/// The convex problem of a tree without a Delassus matrix, in O(n): aba locks the stuck joints S, rnea gives their
/// efforts,
///
/// ```text
/// a = M⁻¹(τ − f_B − c) with a_S = 0 (aba, S locked)        f_S = τ_S − (M a + c)_S (rnea)
/// ```
pub(super) struct TreeProblem<'a> {
    pub model: &'a Tree,
    pub work: &'a mut Work,
    pub q: &'a [f64],
    pub v: &'a [f64],
    /// Efforts without the friction of the contacts at rest.
    pub tau: &'a [f64],
    /// Joint and velocity index of each contact at rest.
    pub place: &'a [(usize, usize)],
    pub locked: &'a mut [bool],
    pub pushed: &'a mut [f64],
    pub a: &'a mut [f64],
    /// Armatures including Θ; efforts less the bias, τ − c, computed on first use.
    pub armature: &'a mut [f64],
    pub net: &'a mut [f64],
    pub has_net: bool,
    /// Error of the dynamics, if any.
    pub error: Option<bristle_multibody::Error>,
}

impl RestDynamics for TreeProblem<'_> {
    fn lock_stuck(
        &mut self,
        stuck: &[usize],
        f: &[f64],
        step: &mut [f64],
        response: &mut [Response],
    ) -> Result<(), ModeError> {
        let Self { work, model, q, v, tau, place, locked, pushed, a, error, .. } = self;
        locked.fill(false);
        pushed.copy_from_slice(tau);
        for (&(_, k), f) in place.iter().zip(f) {
            pushed[k] -= f;
        }
        stuck.iter().for_each(|&i| locked[place[i].0] = true);
        let mut failed = |source| {
            *error = Some(source);
            ModeError::Unusable { joint: stuck.first().copied().unwrap_or(0) }
        };
        a.copy_from_slice(aba_hybrid(model, work, q, v, pushed, locked).map_err(&mut failed)?);
        for (response, &(joint, k)) in response.iter_mut().zip(*place) {
            // a = D⁻¹ u − (share of the parent's acceleration)
            let (inertia, alone) = work.articulated(model, joint);
            *response = Response { acceleration: a[k], size: a[k].abs() + 2.0 * alone.abs(), inertia };
        }
        let required = rnea(model, work, q, v, a).map_err(&mut failed)?;
        for (step, &i) in step.iter_mut().zip(stuck) {
            let k = place[i].1;
            *step = tau[k] - required[k] - f[i];
        }
        Ok(())
    }

    /// (M + Θ) a⁺ = τ − c − f + Θ g: other armatures, where Θ is finite.
    fn newton(
        &mut self,
        theta: &[f64],
        f: &[f64],
        g: &[f64],
        step: &mut [f64],
        a_next: &mut [f64],
        is_new: bool,
    ) -> Result<(), ModeError> {
        let Self { work, model, q, v, tau, place, locked, pushed, armature, net, has_net, error, .. } = self;
        let mut failed = |source| {
            *error = Some(source);
            ModeError::Unusable { joint: 0 }
        };
        if !*has_net {
            let bias = bias_efforts(model, work, q, v).map_err(&mut failed)?;
            net.iter_mut().zip(*tau).zip(bias).for_each(|((net, tau), bias)| *net = tau - bias);
            *has_net = true;
        }
        pushed.copy_from_slice(net);
        for (i, &(_, k)) in place.iter().enumerate().filter(|(i, _)| theta[*i].is_finite()) {
            pushed[k] += theta[i] * g[i] - f[i];
        }
        if is_new {
            locked.fill(false);
            armature.copy_from_slice(model.armature());
            for (&(joint, k), &theta) in place.iter().zip(theta) {
                locked[joint] = theta.is_infinite();
                armature[k] += if theta.is_finite() { theta } else { 0.0 };
            }
            factor_with_armature(model, work, q, locked, armature).map_err(&mut failed)?;
        }
        let a = solve(model, work, pushed).map_err(&mut failed)?;
        for (i, &(_, k)) in place.iter().enumerate() {
            a_next[i] = a[k];
            // the efforts of locked joints follow after the last iteration
            step[i] = if theta[i].is_finite() { theta[i] * (a[k] - g[i]) } else { 0.0 };
        }
        Ok(())
    }
}

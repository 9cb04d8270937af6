//! Inverse and forward dynamics of a placed [`MassOperator`]: the recursive Newton–Euler algorithm and the
//! articulated-body algorithm with all links in world axes.
//!
//! ```text
//! v_i = v_p + S_i q̇_i     a_i = a_p + S_i q̈_i + v_i × S_i q̇_i     a_0 = −g          (shifted to the link's origin)
//! f_i = I_i a_i + v_i ×* I_i v_i − f_ext,i + Σ_children f_j       τ_i = S_iᵀ f_i + armature_i q̈_i
//! ```

use super::{Body, MassOperator, check_numbers, free_motion};
use crate::error::{Error, check_length};
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{Force, Mask, Motion, Scalar, V3};
use crate::work::Outside;
use nalgebra::Vector3;

impl MassOperator {
    /// Gravity, Coriolis and centrifugal efforts at velocities `v`, less wrenches from outside, into `out`.
    pub fn bias(&mut self, model: &Model, outside: &Outside, v: &[f64], out: &mut [f64]) -> Result<(), Error> {
        check_length("wrenches", outside.wrench.len(), model.n_bodies())?;
        self.check(model, &[("v", v.len()), ("out", out.len())])?;
        self.move_links::<false>(&outside.gravity, v, &[]);
        for (i, wrench) in outside.wrench.iter().enumerate().skip(1).filter(|(_, wrench)| **wrench != Force::ZERO) {
            self.f[i] -= Force::of(self.R[i].on(wrench.moment), self.R[i].on(wrench.force));
        }
        self.collect(out);
        check_numbers("bias", out)
    }
}

impl<S: Scalar> MassOperator<S> {
    /// Efforts that keep q̈ = 0 at velocities `v` under `gravity`, world axes, m/s², into `out`.
    pub fn bias_efforts(&mut self, model: &Model, gravity: &Vector3<f64>, v: &[S], out: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("v", v.len()), ("out", out.len())])?;
        self.move_links::<false>(gravity, v, &[]);
        self.collect(out);
        check_numbers("bias_efforts", out)
    }

    /// Efforts that give the accelerations `a` at velocities `v` under the model's gravity, into `out`: `rnea` where
    /// the operator is placed.
    pub fn inverse_dynamics(&mut self, model: &Model, v: &[S], a: &[S], out: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("v", v.len()), ("a", a.len()), ("out", out.len())])?;
        self.move_links::<true>(&model.gravity, v, a);
        self.collect(out);
        let terms = out.iter_mut().zip(&model.armature).zip(a);
        terms.for_each(|((out, armature), a)| *out += S::splat(*armature) * *a);
        check_numbers("inverse_dynamics", out)
    }

    /// Accelerations under the efforts `tau` and the model's gravity at velocities `v`, into `a`: `aba` where the
    /// operator is placed. A joint without inertia is [`Error::Singular`]; in a pack, the machines that have one get
    /// accelerations that are no numbers.
    pub fn forward_dynamics(&mut self, model: &Model, v: &[S], tau: &[S], a: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("v", v.len()), ("tau", tau.len()), ("a", a.len())])?;
        self.move_links::<false>(&model.gravity, v, &[]);
        self.eliminate(model, |k| S::splat(model.armature[k]), |_| S::Mask::splat(false))?;
        self.reduce(tau, a);
        self.substitute(a, &mut []);
        check_numbers("forward_dynamics", a)
    }

    /// Velocity and acceleration of every link, and the force that moves it alone. `A` false leaves q̈ = 0.
    #[inline(always)]
    pub(super) fn move_links<const A: bool>(&mut self, gravity: &Vector3<f64>, v: &[S], a: &[S]) {
        let Self { body, R, delta: acc, f, vel, .. } = self;
        let rest = Motion::of(V3::ZERO, V3::spread(&V3::from(-gravity)));
        (vel[0], acc[0]) = (Motion::ZERO, rest);
        for (i, body) in body.iter().enumerate().skip(1) {
            let (before, carried) = if body.parent == 0 {
                (Motion::ZERO, rest)
            } else {
                (body.forth(&vel[body.parent]), body.forth(&acc[body.parent]))
            };
            let (now, mut rate) = follow(body, &before, &carried, v, |at| free_motion(&R[i], &v[at..at + 6]));
            if A {
                rate = match body.kernel {
                    Kernel::Fixed => rate,
                    Kernel::Free => rate + free_motion(&R[i], &a[body.v..body.v + 6]),
                    Kernel::Revolute | Kernel::Prismatic => body.add(&rate, a[body.v]),
                };
            }
            (vel[i], acc[i]) = (now, rate);
            f[i] = body.I.times(&rate) + now.cross_force(&body.I.times(&now));
        }
    }
}

/// Velocity and acceleration of a link from those of its parent, seen from its origin: a += v × S q̇.
#[inline(always)]
fn follow<S: Scalar>(
    body: &Body<S>,
    before: &Motion<S>,
    carried: &Motion<S>,
    v: &[S],
    free: impl Fn(usize) -> Motion<S>,
) -> (Motion<S>, Motion<S>) {
    match body.kernel {
        Kernel::Fixed => (*before, *carried),
        Kernel::Free => {
            let own = free(body.v);
            let now = *before + own;
            (now, *carried + now.cross(&own))
        }
        Kernel::Revolute => {
            let own = body.axis * v[body.v];
            let now = Motion::of(before.angular + own, before.linear);
            (now, Motion::of(carried.angular + now.angular.cross(own), carried.linear + now.linear.cross(own)))
        }
        Kernel::Prismatic => {
            let own = body.axis * v[body.v];
            let now = Motion::of(before.angular, before.linear + own);
            (now, Motion::of(carried.angular, carried.linear + now.angular.cross(own)))
        }
    }
}

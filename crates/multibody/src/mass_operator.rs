//! The mass matrix with other armatures, without a matrix: products, factors and solutions in O(n).
//!
//! ```text
//! A = M(q) + diag(armature)
//! A x    inverse dynamics without gravity and velocities              (RBDA section 5.3)
//! A⁻¹ b  the articulated-body recursion, joints locked or free        (RBDA table 7.1)
//! ```
//!
//! The operator is one machine or, over a [`Pack`](crate::spatial::Pack), several: see [`Scalar`].
//!
//! Links keep their own origins but share the world's axes, as in `crba`: of the transforms between joints only the
//! change of origin is left, and inertias are turned once for each q. With r from the parent's origin to the link's and
//! S the axis a in world axes,
//!
//! ```text
//! U = IA S     D = Sᵀ U + armature     u = b − Sᵀ pA     V = (U_n + r × U_f, U_f) / D
//! IA_p += shifted (IA − U D⁻¹ Uᵀ)      pA_p += shifted pA + V u                       tips to base
//! x = D⁻¹ u − Vᵀ δ_p                   δ = shifted δ_p + S x                           base to tips
//! ```
//!
//! A locked joint has a given x in place of D⁻¹ u − Vᵀ δ_p, and passes shifted pA + shifted U x on. Its effort is
//! Uᵀ δ + Sᵀ pA + armature x. A free joint takes all of its body's force: δ = IA⁻¹ (b − pA).

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

mod dynamics;
mod free_pivot;
mod solve;

use crate::error::{Error, check_length};
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{ArticulatedInertia, Force, M3, Mask, Motion, RigidInertia, Scalar, V3};
use free_pivot::FreePivot;

/// A link in world axes, about its own origin.
#[derive(Debug, Clone, Copy)]
struct Body<S: Scalar> {
    /// The joint axis.
    axis: V3<S>,
    /// From the parent's origin to the link's.
    r: V3<S>,
    I: RigidInertia<S>,
    parent: usize,
    /// First velocity.
    v: usize,
    kernel: Kernel,
    /// See the fields of the same names of the model's nodes.
    leaf: bool,
    first_visited: bool,
}

/// Pivot of a joint of one degree.
#[derive(Debug, Clone, Copy)]
struct Pivot<S: Scalar> {
    /// Of a free joint of one degree Xᵀ U D⁻¹, of a locked one Xᵀ U.
    V: Force<S>,
    U: Force<S>,
    D_inv: S,
}

/// A at one configuration; the arrays are made once. See the head of this file.
#[derive(Debug, Clone)]
pub struct MassOperator<S: Scalar = f64> {
    body: Vec<Body<S>>,
    /// Canonical link axes to world axes.
    R: Vec<M3<S>>,
    IA: Vec<ArticulatedInertia<S>>,
    pivot: Vec<Pivot<S>>,
    locked: Vec<S::Mask>,
    free_pivot: Vec<Option<FreePivot<S>>>,
    /// Motions and forces of a sweep.
    delta: Vec<Motion<S>>,
    f: Vec<Force<S>>,
    /// Velocities of [`Self::bias`], composite inertias of [`Self::diagonal`].
    vel: Vec<Motion<S>>,
    IC: Vec<RigidInertia<S>>,
    u: Vec<S>,
}

impl<S: Scalar> Body<S> {
    /// Seen from the parent's origin.
    #[inline(always)]
    fn back(&self, f: &Force<S>) -> Force<S> {
        Force::of(f.moment + self.r.cross(f.force), f.force)
    }

    /// Seen from the link's origin.
    #[inline(always)]
    fn forth(&self, m: &Motion<S>) -> Motion<S> {
        Motion::of(m.angular, m.linear + m.angular.cross(self.r))
    }

    /// `S x` added.
    #[inline(always)]
    fn add(&self, m: &Motion<S>, x: S) -> Motion<S> {
        match self.kernel {
            Kernel::Revolute => Motion::of(self.axis.scale_add(x, m.angular), m.linear),
            Kernel::Prismatic => Motion::of(m.angular, self.axis.scale_add(x, m.linear)),
            Kernel::Fixed | Kernel::Free => *m,
        }
    }

    /// `Sᵀ f` of a joint of one degree.
    #[inline(always)]
    fn along(&self, f: &Force<S>) -> S {
        match self.kernel {
            Kernel::Revolute => self.axis.dot(f.moment),
            Kernel::Prismatic => self.axis.dot(f.force),
            Kernel::Fixed | Kernel::Free => S::ZERO,
        }
    }
}

/// The motion of a free joint with velocities `x` in link axes, world axes.
fn free_motion<S: Scalar>(R: &M3<S>, x: &[S]) -> Motion<S> {
    let x = Motion::from_slice(x);
    Motion::of(R.on(x.angular), R.on(x.linear))
}

/// The six components of a pair of vectors in link axes.
fn in_link_axes<S: Scalar>(R: &M3<S>, first: V3<S>, second: V3<S>) -> [S; 6] {
    let [x, y, z] = R.0;
    [x.dot(first), y.dot(first), z.dot(first), x.dot(second), y.dot(second), z.dot(second)]
}

impl<S: Scalar> MassOperator<S> {
    /// For `model`. The only allocation there is.
    pub fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let body = model.node.iter().map(|node| Body {
            axis: V3::spread(&V3::Z),
            r: V3::ZERO,
            I: RigidInertia::spread(&node.I),
            parent: node.parent,
            v: node.v,
            kernel: node.kernel,
            leaf: node.leaf,
            first_visited: node.first_visited,
        });
        let has_free = model.node.iter().any(|node| node.kernel == Kernel::Free);
        Self {
            body: body.collect(),
            R: vec![M3::spread(&M3::IDENTITY); n],
            IA: vec![RigidInertia::ZERO.articulated(); n],
            pivot: vec![Pivot { V: Force::ZERO, U: Force::ZERO, D_inv: S::ZERO }; n],
            locked: vec![S::Mask::splat(false); n],
            free_pivot: if has_free { vec![None; n] } else { Vec::new() },
            delta: vec![Motion::ZERO; n],
            f: vec![Force::ZERO; n],
            vel: vec![Motion::ZERO; n],
            IC: vec![RigidInertia::ZERO; n],
            u: vec![S::ZERO; model.n_v],
        }
    }

    fn check(&self, model: &Model, per_velocity: &[(&'static str, usize)]) -> Result<(), Error> {
        check_length("operator (made for another model?)", self.body.len(), model.n_bodies())?;
        per_velocity.iter().try_for_each(|&(what, length)| check_length(what, length, model.n_v))
    }

    /// Moves to the configuration `q`.
    pub fn place(&mut self, model: &Model, q: &[S]) -> Result<(), Error> {
        self.check(model, &[])?;
        check_length("q", q.len(), model.n_q)?;
        let mut sum = V3::ZERO;
        for i in 1..model.node.len() {
            let node = &model.node[i];
            let (above, below) = self.R.split_at_mut(i);
            let (R_p, R, body) = (&above[node.parent], &mut below[0], &mut self.body[i]);
            // in the parent's axes; those of a joint on the world are the world's
            let (Et, r) = match node.kernel {
                Kernel::Revolute => (M3::spread(&node.X_T.Et), V3::spread(&node.X_T.r)),
                Kernel::Fixed | Kernel::Prismatic => {
                    let Et = M3::<S>::spread(&node.X_T.Et);
                    let q = if node.kernel == Kernel::Prismatic { q[node.q] } else { S::ZERO };
                    (Et, Et.0[2].scale_add(q, V3::spread(&node.X_T.r)))
                }
                Kernel::Free => {
                    let X = |k: usize| node.kernel.transform(&node.X_T, &by_lane::<S, 7>(&q[node.q..], k), 0);
                    let column = |c: usize| V3::from_lanes(|k| X(k).Et.0[c]);
                    (M3([column(0), column(1), column(2)]), V3::from_lanes(|k| X(k).r))
                }
            };
            let (Et, r) = if node.parent == 0 { (Et, r) } else { (R_p.matrix(&Et), R_p.on(r)) };
            *R = if node.kernel == Kernel::Revolute { Et.turned(q[node.q].sin_cos()) } else { Et };
            body.r = r;
            body.axis = R.0[2];
            body.I = RigidInertia::spread(&node.I).turned(R);
            sum += R.0[0] + R.0[1] + body.r;
        }
        // every position reaches the frame of its joint
        check_numbers("place", &[sum.sum()])
    }

    /// From the tips to the base: forces `f` passed on, efforts read off.
    #[inline(always)]
    fn collect(&mut self, out: &mut [S]) {
        let Self { body, R, f, .. } = self;
        for i in (1..body.len()).rev() {
            let body = &body[i];
            let own = f[i];
            match body.kernel {
                Kernel::Fixed => {}
                Kernel::Free => {
                    out[body.v..body.v + 6].copy_from_slice(&in_link_axes(&R[i], own.moment, own.force));
                }
                Kernel::Revolute => out[body.v] = body.axis.dot(own.moment),
                Kernel::Prismatic => out[body.v] = body.axis.dot(own.force),
            }
            if body.parent != 0 {
                f[body.parent] += body.back(&own);
            }
        }
    }

    /// A x into `out`.
    pub fn multiply(&mut self, model: &Model, armature: &[S], x: &[S], out: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("armature", armature.len()), ("x", x.len()), ("out", out.len())])?;
        let Self { body, R, delta, f, .. } = self;
        delta[0] = Motion::ZERO;
        for (i, body) in body.iter().enumerate().skip(1) {
            let carried = body.forth(&delta[body.parent]);
            let own = match body.kernel {
                Kernel::Fixed => carried,
                Kernel::Free => carried + free_motion(&R[i], &x[body.v..body.v + 6]),
                Kernel::Revolute | Kernel::Prismatic => body.add(&carried, x[body.v]),
            };
            delta[i] = own;
            f[i] = body.I.times(&own);
        }
        self.collect(out);
        out.iter_mut().zip(armature).zip(x).for_each(|((out, armature), x)| *out += *armature * *x);
        check_numbers("multiply", out)
    }

    /// The same, and into `sizes` the sum of the sizes of the terms of each row: rounding errors are ε times that.
    pub fn multiply_with_sizes(
        &mut self,
        model: &Model,
        armature: &[S],
        x: &[S],
        out: &mut [S],
        sizes: &mut [S],
    ) -> Result<(), Error> {
        self.check(model, &[("sizes", sizes.len())])?;
        self.multiply(model, armature, x, out)?;
        let Self { body, R, delta, f, .. } = self;
        // the two sweeps once more, with the size of every term in its place
        for (i, body) in body.iter().enumerate().skip(1) {
            let (above, axis, v) = (&delta[body.parent], body.axis.abs(), body.v);
            let carried = Motion::of(above.angular, above.linear + above.angular.cross_size(body.r));
            delta[i] = match body.kernel {
                Kernel::Fixed => carried,
                Kernel::Free => {
                    let x: [S; 6] = std::array::from_fn(|k| x[v + k].size());
                    carried + free_motion(&R[i].abs(), &x)
                }
                Kernel::Revolute => Motion::of(axis.scale_add(x[v].size(), carried.angular), carried.linear),
                Kernel::Prismatic => Motion::of(carried.angular, axis.scale_add(x[v].size(), carried.linear)),
            };
            f[i] = body.I.size_of(&delta[i]);
        }
        for (i, body) in body.iter().enumerate().skip(1).rev() {
            let (own, axis) = (f[i], body.axis.abs());
            match body.kernel {
                Kernel::Fixed => {}
                Kernel::Free => {
                    let own = in_link_axes(&R[i].abs(), own.moment, own.force);
                    sizes[body.v..body.v + 6].copy_from_slice(&own);
                }
                Kernel::Revolute => sizes[body.v] = axis.dot(own.moment),
                Kernel::Prismatic => sizes[body.v] = axis.dot(own.force),
            }
            if body.parent != 0 {
                f[body.parent] += Force::of(own.moment + own.force.cross_size(body.r), own.force);
            }
        }
        sizes.iter_mut().zip(armature).zip(x).for_each(|((size, armature), x)| *size += (*armature * *x).size());
        Ok(())
    }

    /// The diagonal of A into `out`: composite inertias (RBDA table 6.2).
    pub fn diagonal(&mut self, model: &Model, armature: &[S], out: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("armature", armature.len()), ("out", out.len())])?;
        let Self { body, R, IC, .. } = self;
        IC.iter_mut().zip(&*body).for_each(|(IC, body)| *IC = body.I);
        for (i, body) in body.iter().enumerate().skip(1).rev() {
            let (own, axis, v) = (IC[i], body.axis, body.v);
            match body.kernel {
                Kernel::Fixed => {}
                Kernel::Free => {
                    for (k, axis) in R[i].0.into_iter().enumerate() {
                        (out[v + k], out[v + 3 + k]) = (axis.dot(own.I.on(axis)), own.mass);
                    }
                }
                Kernel::Revolute => out[v] = axis.dot(own.I.on(axis)),
                Kernel::Prismatic => out[v] = own.mass,
            }
            if body.parent != 0 {
                IC[body.parent] += own.shifted(body.r);
            }
        }
        out.iter_mut().zip(armature).for_each(|(out, armature)| *out += *armature);
        check_numbers("diagonal", out)
    }
}

/// The numbers of machine `k`.
fn by_lane<S: Scalar, const N: usize>(x: &[S], k: usize) -> [f64; N] {
    std::array::from_fn(|at| x[at].lane(k))
}

/// `Ok` if every number is finite. A pack has lanes that run on their own: those that are not finite are found by
/// its users.
#[inline(always)]
fn check_numbers<S: Scalar>(function: &'static str, results: &[S]) -> Result<(), Error> {
    let zero = results.iter().fold(S::ZERO, |zero, x| zero + *x * S::ZERO);
    if S::LANES > 1 || zero == S::ZERO { Ok(()) } else { Err(Error::NonFinite { function }) }
}

//! The mass matrix with other armatures, without a matrix: products, factors and solutions in O(n).
//!
//! ```text
//! A = M(q) + diag(armature)
//! A x    inverse dynamics without gravity and velocities              (RBDA section 5.3)
//! A⁻¹ b  the articulated-body recursion, joints locked or free        (RBDA table 7.1)
//! ```
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

use crate::aba::{free_pivot, singular};
use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{ArticulatedInertia, Force, M3, Motion, RigidInertia, V3};
use crate::work::Outside;

/// A link in world axes, about its own origin.
#[derive(Debug, Clone, Copy)]
struct Body {
    /// The joint axis.
    axis: V3,
    /// From the parent's origin to the link's.
    r: V3,
    I: RigidInertia,
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
struct Pivot {
    /// Of a free joint of one degree Xᵀ U D⁻¹, of a locked one Xᵀ U.
    V: Force,
    U: Force,
    D_inv: f64,
}

/// A at one configuration; the arrays are made once. See the head of this file.
#[derive(Debug, Clone)]
pub struct MassOperator {
    body: Vec<Body>,
    /// Canonical link axes to world axes.
    R: Vec<M3>,
    IA: Vec<ArticulatedInertia>,
    pivot: Vec<Pivot>,
    locked: Vec<bool>,
    free_pivot: Vec<Option<FreePivot>>,
    /// Motions and forces of a sweep.
    delta: Vec<Motion>,
    f: Vec<Force>,
    /// Velocities of [`Self::bias`], composite inertias of [`Self::diagonal`].
    vel: Vec<Motion>,
    IC: Vec<RigidInertia>,
    u: Vec<f64>,
}

/// L D Lᵀ of the 6×6 pivot of a free joint: no roots, so that results scale with units of powers of two to the bit.
#[derive(Debug, Clone, Copy)]
struct FreePivot {
    L: [[f64; 6]; 6],
    D_inv: [f64; 6],
}

impl FreePivot {
    fn new(model: &Model, i: usize, IA: &ArticulatedInertia) -> Result<Self, Error> {
        let matrix = IA.to_matrix();
        let (mut L, mut D) = ([[0.0; 6]; 6], [0.0; 6]);
        for r in 0..6 {
            for c in 0..r {
                let sum: f64 = (0..c).map(|k| L[r][k] * D[k] * L[c][k]).sum();
                L[r][c] = (matrix[(r, c)] - sum) / D[c];
            }
            D[r] = matrix[(r, r)] - (0..r).map(|k| L[r][k] * L[r][k] * D[k]).sum::<f64>();
        }
        let size = [0, 3].map(|k| matrix[(k, k)] + matrix[(k + 1, k + 1)] + matrix[(k + 2, k + 2)]);
        // seldom a pivot this small, or none: then a closer look
        if (0..6).any(|k| D[k] <= 1e-6 * size[k / 3] || D[k].is_nan()) {
            free_pivot(model, i, IA)?;
        }
        Ok(Self { L, D_inv: D.map(f64::recip) })
    }

    fn solve(&self, mut x: [f64; 6]) -> [f64; 6] {
        for r in 0..6 {
            x[r] -= (0..r).map(|k| self.L[r][k] * x[k]).sum::<f64>();
        }
        x.iter_mut().zip(self.D_inv).for_each(|(x, D_inv)| *x *= D_inv);
        for r in (0..6).rev() {
            x[r] -= (r + 1..6).map(|k| self.L[k][r] * x[k]).sum::<f64>();
        }
        x
    }
}

impl Body {
    /// Seen from the parent's origin.
    #[inline(always)]
    fn back(&self, f: &Force) -> Force {
        Force::of(f.moment + self.r.cross(f.force), f.force)
    }

    /// Seen from the link's origin.
    #[inline(always)]
    fn forth(&self, m: &Motion) -> Motion {
        Motion::of(m.angular, m.linear + m.angular.cross(self.r))
    }

    /// `S x` added.
    #[inline(always)]
    fn add(&self, m: &Motion, x: f64) -> Motion {
        match self.kernel {
            Kernel::Revolute => Motion::of(self.axis.scale_add(x, m.angular), m.linear),
            Kernel::Prismatic => Motion::of(m.angular, self.axis.scale_add(x, m.linear)),
            Kernel::Fixed | Kernel::Free => *m,
        }
    }

    /// `Sᵀ f` of a joint of one degree.
    #[inline(always)]
    fn along(&self, f: &Force) -> f64 {
        match self.kernel {
            Kernel::Revolute => self.axis.dot(f.moment),
            Kernel::Prismatic => self.axis.dot(f.force),
            Kernel::Fixed | Kernel::Free => 0.0,
        }
    }
}

/// The motion of a free joint with velocities `x` in link axes, world axes.
fn free_motion(R: &M3, x: &[f64]) -> Motion {
    let x = Motion::from_slice(x);
    Motion::of(R.on(x.angular), R.on(x.linear))
}

/// The six components of a pair of vectors in link axes.
fn in_link_axes(R: &M3, first: V3, second: V3) -> [f64; 6] {
    let [x, y, z] = R.0;
    [x.dot(first), y.dot(first), z.dot(first), x.dot(second), y.dot(second), z.dot(second)]
}

impl MassOperator {
    /// For `model`. The only allocation there is.
    pub fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let body = model.node.iter().map(|node| Body {
            axis: V3::Z,
            r: V3::ZERO,
            I: node.I,
            parent: node.parent,
            v: node.v,
            kernel: node.kernel,
            leaf: node.leaf,
            first_visited: node.first_visited,
        });
        let has_free = model.node.iter().any(|node| node.kernel == Kernel::Free);
        Self {
            body: body.collect(),
            R: vec![M3::IDENTITY; n],
            IA: vec![RigidInertia::ZERO.articulated(); n],
            pivot: vec![Pivot { V: Force::ZERO, U: Force::ZERO, D_inv: 0.0 }; n],
            locked: vec![false; n],
            free_pivot: if has_free { vec![None; n] } else { Vec::new() },
            delta: vec![Motion::ZERO; n],
            f: vec![Force::ZERO; n],
            vel: vec![Motion::ZERO; n],
            IC: vec![RigidInertia::ZERO; n],
            u: vec![0.0; model.n_v],
        }
    }

    fn check(&self, model: &Model, per_velocity: &[(&'static str, usize)]) -> Result<(), Error> {
        check_length("operator (made for another model?)", self.body.len(), model.n_bodies())?;
        per_velocity.iter().try_for_each(|&(what, length)| check_length(what, length, model.n_v))
    }

    /// Moves to the configuration `q`.
    pub fn place(&mut self, model: &Model, q: &[f64]) -> Result<(), Error> {
        self.check(model, &[])?;
        check_length("q", q.len(), model.n_q)?;
        let mut sum = V3::ZERO;
        for i in 1..model.node.len() {
            let node = &model.node[i];
            let (above, below) = self.R.split_at_mut(i);
            let (R_p, R, body) = (&above[node.parent], &mut below[0], &mut self.body[i]);
            if node.kernel == Kernel::Revolute {
                *R = R_p.matrix(&node.X_T.Et).turned(crate::trig::sin_cos(q[node.q]));
                body.r = R_p.on(node.X_T.r);
            } else {
                let X = node.kernel.transform(&node.X_T, q, node.q);
                *R = R_p.matrix(&X.Et);
                body.r = R_p.on(X.r);
            }
            body.axis = R.0[2];
            body.I = node.I.turned(R);
            sum += R.0[0] + R.0[1] + body.r;
        }
        // every position reaches the frame of its joint
        check_finite("place", &[sum.sum()])
    }

    /// Gravity, Coriolis and centrifugal efforts at velocities `v`, less wrenches from outside, into `out`.
    pub fn bias(&mut self, model: &Model, outside: &Outside, v: &[f64], out: &mut [f64]) -> Result<(), Error> {
        self.check(model, &[("v", v.len()), ("out", out.len())])?;
        check_length("wrenches", outside.wrench.len(), model.n_bodies())?;
        let Self { body, R, delta: acc, f, vel, .. } = self;
        (vel[0], acc[0]) = (Motion::ZERO, Motion::new(nalgebra::Vector3::zeros(), -outside.gravity));
        for (i, body) in body.iter().enumerate().skip(1) {
            let (before, carried) = (body.forth(&vel[body.parent]), body.forth(&acc[body.parent]));
            // a += v × S q̇
            let (now, rate) = match body.kernel {
                Kernel::Fixed => (before, carried),
                Kernel::Free => {
                    let own = free_motion(&R[i], &v[body.v..body.v + 6]);
                    let now = before + own;
                    (now, carried + now.cross(&own))
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
            };
            (vel[i], acc[i]) = (now, rate);
            f[i] = body.I.times(&rate) + now.cross_force(&body.I.times(&now));
            let wrench = &outside.wrench[i];
            if *wrench != Force::ZERO {
                f[i] -= Force::of(R[i].on(wrench.moment), R[i].on(wrench.force));
            }
        }
        self.collect(out);
        check_finite("bias", out)
    }

    /// From the tips to the base: forces `f` passed on, efforts read off.
    #[inline(always)]
    fn collect(&mut self, out: &mut [f64]) {
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
    pub fn multiply(&mut self, model: &Model, armature: &[f64], x: &[f64], out: &mut [f64]) -> Result<(), Error> {
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
        out.iter_mut().zip(armature).zip(x).for_each(|((out, armature), x)| *out += armature * x);
        check_finite("multiply", out)
    }

    /// The same, and into `sizes` the sum of the sizes of the terms of each row: rounding errors are ε times that.
    pub fn multiply_with_sizes(
        &mut self,
        model: &Model,
        armature: &[f64],
        x: &[f64],
        out: &mut [f64],
        sizes: &mut [f64],
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
                    let x: [f64; 6] = std::array::from_fn(|k| x[v + k].abs());
                    carried + free_motion(&R[i].abs(), &x)
                }
                Kernel::Revolute => Motion::of(axis.scale_add(x[v].abs(), carried.angular), carried.linear),
                Kernel::Prismatic => Motion::of(carried.angular, axis.scale_add(x[v].abs(), carried.linear)),
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
        sizes.iter_mut().zip(armature).zip(x).for_each(|((size, armature), x)| *size += (armature * x).abs());
        Ok(())
    }

    /// The diagonal of A into `out`: composite inertias (RBDA table 6.2).
    pub fn diagonal(&mut self, model: &Model, armature: &[f64], out: &mut [f64]) -> Result<(), Error> {
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
        out.iter_mut().zip(armature).for_each(|(out, armature)| *out += armature);
        check_finite("diagonal", out)
    }

    /// Factorises A with the joints of one degree locked whose velocities are marked in `locked`; [`Self::solve`]
    /// applies A⁻¹ then. Fails with [`Error::Singular`] where a joint has no inertia.
    pub fn factor(&mut self, model: &Model, armature: &[f64], locked: &[bool]) -> Result<(), Error> {
        self.check(model, &[("armature", armature.len()), ("locked", locked.len())])?;
        let Self { body, IA, pivot, locked: is_locked, free_pivot: free, .. } = self;
        let bodies = &*body;
        for (i, body) in bodies.iter().enumerate().skip(1).rev() {
            let (above, below) = IA.split_at_mut(i);
            // a leaf is felt alone; the first child to be felt finds its parent alone
            let own = if body.leaf { body.I.articulated() } else { below[0] };
            let left = match body.kernel {
                Kernel::Fixed => own,
                Kernel::Free => {
                    free[i] = Some(FreePivot::new(model, i, &own)?);
                    ArticulatedInertia::ZERO
                }
                Kernel::Revolute | Kernel::Prismatic => {
                    let U = match body.kernel {
                        Kernel::Revolute => Force::of(own.I.on(body.axis), own.Ht.on(body.axis)),
                        _ => Force::of(own.Ht.column_dots(body.axis), own.M.on(body.axis)),
                    };
                    is_locked[i] = locked[body.v];
                    if is_locked[i] {
                        pivot[i] = Pivot { V: body.back(&U), U, D_inv: 0.0 };
                        own
                    } else {
                        let D = body.along(&U) + armature[body.v];
                        if D <= model.node[i].noise || D.is_nan() {
                            return Err(singular(model, i, D));
                        }
                        let D_inv = 1.0 / D;
                        pivot[i] = Pivot { V: body.back(&U) * D_inv, U, D_inv };
                        own.minus_outer(&U, D_inv)
                    }
                }
            };
            if body.parent != 0 {
                let felt = if body.first_visited { bodies[body.parent].I.articulated() } else { above[body.parent] };
                above[body.parent] = felt + left.shifted(body.r);
            }
        }
        Ok(())
    }

    /// Solves A x = b after [`Self::factor`]. `x` holds the given values of locked joints and receives the others;
    /// `effort` receives (A x)_k without the armature term of every locked joint.
    pub fn solve(&mut self, model: &Model, b: &[f64], x: &mut [f64], effort: &mut [f64]) -> Result<(), Error> {
        self.check(model, &[("b", b.len()), ("x", x.len()), ("effort", effort.len())])?;
        let Self { body, R, pivot, locked, free_pivot: free, delta, f, u, .. } = self;
        f.fill(Force::ZERO);
        for i in (1..body.len()).rev() {
            let (body, pivot, pA) = (&body[i], &pivot[i], f[i]);
            let passed = match body.kernel {
                Kernel::Fixed => body.back(&pA),
                Kernel::Free => {
                    let b = free_force(&R[i], &b[body.v..body.v + 6]);
                    f[i] = b - pA;
                    body.back(&b)
                }
                Kernel::Revolute | Kernel::Prismatic => {
                    let own = if locked[i] { x[body.v] } else { b[body.v] - body.along(&pA) };
                    u[body.v] = own;
                    body.back(&pA) + pivot.V * own
                }
            };
            if body.parent != 0 {
                f[body.parent] += passed;
            }
        }
        delta[0] = Motion::ZERO;
        for (i, body) in body.iter().enumerate().skip(1) {
            let (above, pivot) = (delta[body.parent], &pivot[i]);
            let carried = body.forth(&above);
            delta[i] = match body.kernel {
                Kernel::Fixed => carried,
                Kernel::Free => {
                    let own = free[i].as_ref().map_or([0.0; 6], |factor| factor.solve(f[i].to_array()));
                    let own = Motion::from_array(own);
                    let by_joint = own - carried;
                    let by_joint = in_link_axes(&R[i], by_joint.angular, by_joint.linear);
                    x[body.v..body.v + 6].copy_from_slice(&by_joint);
                    own
                }
                Kernel::Revolute | Kernel::Prismatic => {
                    let v = body.v;
                    if locked[i] {
                        let own = body.add(&carried, x[v]);
                        effort[v] = own.dot(&pivot.U) + body.along(&f[i]);
                        own
                    } else {
                        x[v] = pivot.D_inv * u[v] - above.dot(&pivot.V);
                        body.add(&carried, x[v])
                    }
                }
            };
        }
        check_finite("solve", x)
    }
}

/// A force in link axes, world axes.
fn free_force(R: &M3, b: &[f64]) -> Force {
    let b = Force::from_slice(b);
    Force::of(R.on(b.moment), R.on(b.force))
}

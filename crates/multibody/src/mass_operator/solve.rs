//! Factors and solutions of a [`MassOperator`] by the articulated-body recursion.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::free_pivot::FreePivot;
use super::{MassOperator, Pivot, check_numbers, in_link_axes};
use crate::aba::singular;
use crate::error::Error;
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{ArticulatedInertia, Force, M3, Mask, Motion, Scalar};

impl<S: Scalar> MassOperator<S> {
    /// Factorises A with the joints of one degree locked whose velocities are marked in `locked`; [`Self::solve`]
    /// applies A⁻¹ then. Fails with [`Error::Singular`] where a joint has no inertia; in a pack, solutions of the
    /// machines that have such a joint are no numbers.
    pub fn factor(&mut self, model: &Model, armature: &[S], locked: &[S::Mask]) -> Result<(), Error> {
        self.check(model, &[("armature", armature.len()), ("locked", locked.len())])?;
        self.eliminate(model, |k| armature[k], |k| locked[k])
    }

    /// Solves A x = b after [`Self::factor`]. `x` holds the given values of locked joints and receives the others;
    /// `effort` receives (A x)_k without the armature term of every locked joint.
    pub fn solve(&mut self, model: &Model, b: &[S], x: &mut [S], effort: &mut [S]) -> Result<(), Error> {
        self.check(model, &[("b", b.len()), ("x", x.len()), ("effort", effort.len())])?;
        self.f.fill(Force::ZERO);
        self.reduce(b, x);
        self.substitute(x, effort);
        check_numbers("solve", x)
    }

    /// Pivots and articulated inertias, from the tips to the base.
    #[inline(always)]
    pub(super) fn eliminate(
        &mut self,
        model: &Model,
        armature: impl Fn(usize) -> S,
        locked: impl Fn(usize) -> S::Mask,
    ) -> Result<(), Error> {
        let Self { body, IA, pivot, locked: is_locked, free_pivot: free, .. } = self;
        let bodies = &*body;
        for (i, body) in bodies.iter().enumerate().skip(1).rev() {
            let (above, below) = IA.split_at_mut(i);
            // a leaf propagates alone; the first visited child finds its parent alone
            let own = if body.leaf { body.I.articulated() } else { below[0] };
            let is_on_world = body.parent == 0;
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
                    is_locked[i] = locked(body.v);
                    // the world does not move: V has no effect there
                    let back = if is_on_world { Force::ZERO } else { body.back(&U) };
                    if is_locked[i].all() {
                        pivot[i] = Pivot { V: back, U, D_inv: S::ZERO };
                        own
                    } else {
                        let D = body.along(&U) + armature(body.v);
                        // not so where D is no number
                        let has_inertia = S::splat(model.node[i].noise).is_below(D);
                        if S::LANES == 1 && !has_inertia.all() {
                            return Err(singular(model, i, D.lane(0)));
                        }
                        let D_inv = (S::splat(1.0) / D).or_else(has_inertia, S::splat(f64::NAN));
                        let passed = S::splat(1.0).or_else(is_locked[i], D_inv);
                        let D_inv = S::ZERO.or_else(is_locked[i], D_inv);
                        pivot[i] = Pivot { V: back * passed, U, D_inv };
                        if is_on_world { own } else { own.minus_outer(&U, D_inv) }
                    }
                }
            };
            if !is_on_world {
                let propagated =
                    if body.first_visited { bodies[body.parent].I.articulated() } else { above[body.parent] };
                above[body.parent] = propagated + left.shifted(body.r);
            }
        }
        Ok(())
    }

    /// u = b − Sᵀ pA, or the given x of locked joints, and forces passed on, from the tips to the base; `f` holds
    /// forces that act on the bodies themselves.
    #[inline(always)]
    pub(super) fn reduce(&mut self, b: &[S], x: &[S]) {
        let Self { body, R, pivot, locked, f, u, .. } = self;
        for i in (1..body.len()).rev() {
            let (body, pivot, pA) = (&body[i], &pivot[i], f[i]);
            let is_on_world = body.parent == 0;
            let passed = match body.kernel {
                Kernel::Fixed => body.back(&pA),
                Kernel::Free => {
                    // all of the force moves the free body, and its joint passes on its efforts
                    let b = free_force(&R[i], &b[body.v..body.v + 6]);
                    f[i] = b - pA;
                    body.back(&b)
                }
                Kernel::Revolute | Kernel::Prismatic => {
                    let own = x[body.v].or_else(locked[i], b[body.v] - body.along(&pA));
                    u[body.v] = own;
                    if is_on_world { Force::ZERO } else { body.back(&pA) + pivot.V * own }
                }
            };
            if !is_on_world {
                f[body.parent] += passed;
            }
        }
    }

    /// x, and the efforts of locked joints, from the base to the tips.
    #[inline(always)]
    pub(super) fn substitute(&mut self, x: &mut [S], effort: &mut [S]) {
        let Self { body, R, pivot, locked, free_pivot: free, delta, f, u, .. } = self;
        delta[0] = Motion::ZERO;
        for (i, body) in body.iter().enumerate().skip(1) {
            let (above, pivot, v) = (delta[body.parent], &pivot[i], body.v);
            let carried = body.forth(&above);
            delta[i] = match body.kernel {
                Kernel::Fixed => carried,
                Kernel::Free => {
                    let own = free[i].as_ref().map_or([S::ZERO; 6], |factor| factor.solve(f[i].to_array()));
                    let own = Motion::from_array(own);
                    let by_joint = own - carried;
                    let by_joint = in_link_axes(&R[i], by_joint.angular, by_joint.linear);
                    x[v..v + 6].copy_from_slice(&by_joint);
                    own
                }
                Kernel::Revolute | Kernel::Prismatic => {
                    if !locked[i].all() {
                        x[v] = x[v].or_else(locked[i], pivot.D_inv * u[v] - above.dot(&pivot.V));
                    }
                    let own = body.add(&carried, x[v]);
                    if locked[i].any() {
                        effort[v] = own.dot(&pivot.U) + body.along(&f[i]);
                    }
                    own
                }
            };
        }
    }
}

/// A force in link axes, world axes.
fn free_force<S: Scalar>(R: &M3<S>, b: &[S]) -> Force<S> {
    let b = Force::from_slice(b);
    Force::of(R.on(b.moment), R.on(b.force))
}

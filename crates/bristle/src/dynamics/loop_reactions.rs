//! Friction under reactions in closed loops.
//!
//! Reactions depend on the accelerations and on the constraint forces λ of the closures. With P = S + κ n̂ as in
//! `implicit`, and J_P the closure rows with P in place of the axes, one Newton step solves for both:
//!
//! ```text
//! T₀ᵀ (M_P T y − J_Pᵀ δλ) = T₀ᵀ g(a, λ)          a_i ← a_i + y,     λ ← λ + δλ                            (11)
//! ```
//!
//! In over-constrained loops λ is the solution of least norm: δλ lies in the range of J T₀.
//!
//! **At rest** the reactions depend on how stuck contacts share the load. The rule of impending motion decides without
//! them: a machine of one degree of freedom moves off along s if, with every contact at its static limit against s, an
//! acceleration along s is left,
//!
//! ```text
//! a₊ > 0   or   a₋ < 0          margin = min(−a₊, a₋) relative to the accelerations without friction      (12)
//! ```

use super::Dynamics;
use super::closed_loops::LoopWork;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::point::Point;
use bristle_friction::Mode;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{axis_row, mass_rows, rnea};

/// Limit of the corrections.
const MAX_CORRECTIONS: usize = 60;

/// A relative residual below this that no longer falls is rounding.
const STAGNANT: f64 = 1e-9;

impl Dynamics {
    /// Whether the loads of a machine with loops are reactions.
    pub(crate) fn has_loaded_loops(&self) -> bool {
        self.loops.is_any() && !self.compiled.model.reaction_loaded.is_empty()
    }

    /// Newton by (11), with s κ in place of κ.
    pub(crate) fn newton_in_loops(&mut self, s: f64, accuracy: f64) -> Result<(), Failure> {
        let mut scratch = self.take_loop_work();
        let result = self.iterate_in_loops(s, accuracy, &mut scratch);
        self.loop_work = Some(scratch);
        self.apply_outside();
        result
    }

    /// The wrenches of callers, or none in the equation of impulses.
    fn apply_outside(&mut self) {
        if self.scheme.is_impulsive {
            self.work.outside.clear_wrenches();
        } else {
            self.apply_wrenches();
        }
    }

    fn iterate_in_loops(&mut self, s: f64, accuracy: f64, scratch: &mut LoopWork) -> Result<(), Failure> {
        self.diagnostics.counters.n_acceleration_solves += 1;
        self.coordinates.accelerations(&mut self.point.a);
        self.loops.fill_basis(&self.chart);
        self.loops.take_least(&mut self.point.closure_force);
        let mut before = f64::INFINITY;
        for _ in 0..MAX_CORRECTIONS {
            self.apply_outside();
            self.apply_closure_forces()?;
            let left = self.residual_in_loops(s, scratch)?;
            if left <= accuracy || left <= STAGNANT && left > 0.5 * before {
                return Ok(());
            }
            if !left.is_finite() {
                return Err(bristle_multibody::Error::NonFinite { function: "newton" }.into());
            }
            before = left;
            self.correct_in_loops(s, scratch)?;
        }
        Err(Failure::NoAcceleration)
    }

    /// T₀ᵀ g into the scratch, with reactions and loads; its largest entry relative to its terms.
    fn residual_in_loops(&mut self, s: f64, scratch: &mut LoopWork) -> Result<f64, Failure> {
        let Self {
            compiled,
            work,
            newton: NewtonWork { residual, zero, .. },
            scheme,
            point: Point { q, v, tau, a, force, kappa, load, .. },
            chart,
            loops,
            ..
        } = self;
        let (tree, contacts) = (&compiled.model.tree, &compiled.inputs.contacts);
        let mut largest = 0.0_f64;
        let v = if scheme.is_impulsive { zero } else { v };
        let LoopWork { y, scale, .. } = scratch;
        let required = rnea(tree, work, q, v, a)?;
        let n = chart.base.active.len();
        y[..n].fill(0.0);
        scale[..n].fill(0.0);
        for (k, (residual, (tau, required))) in residual.iter_mut().zip(tau.iter().zip(required)).enumerate() {
            *residual = tau - required;
            let size = tau.abs() + required.abs();
            chart.base.unknowns_of(k).for_each(|(r, t)| scale[r] += (t * size).abs());
        }
        for &c in &compiled.model.reaction_loaded {
            let contact = &contacts[c];
            force[c] = work.reaction(contact.joint);
            load[c] = contact.bearing.map_or(0.0, |bearing| bearing.normal_load(&force[c], kappa[c]).0);
            let friction = s * kappa[c] * load[c];
            residual[contact.v] -= friction;
            chart.base.unknowns_of(contact.v).for_each(|(r, t)| scale[r] += (t * friction).abs());
        }
        // reactions of all joints: one without load has the rounding of its neighbours
        for joint in 1..tree.n_bodies() {
            let [.., fx, fy, fz] = work.reaction(joint).to_array().map(f64::abs);
            largest = largest.max(fx + fy + fz);
        }
        for (k, residual) in residual.iter().enumerate() {
            chart.base.unknowns_of(k).for_each(|(r, t)| y[r] += t * residual);
        }
        // efforts relative to those of the largest reaction at the size of the machine
        let size = loops.size;
        let of_reactions = |v: usize| largest * if tree.turns(v) { size } else { 1.0 };
        let mut left = 0.0_f64;
        for ((y, scale), &v) in y.iter().zip(&*scale).zip(&chart.base.active).filter(|((y, _), _)| **y != 0.0) {
            let relative = y.abs() / (scale + of_reactions(v));
            // a NaN propagates
            if relative > left || relative.is_nan() {
                left = relative;
            }
        }
        Ok(left)
    }

    /// One step of (11) from the residual in the scratch.
    fn correct_in_loops(&mut self, s: f64, scratch: &mut LoopWork) -> Result<(), Failure> {
        let Self {
            compiled,
            work,
            newton: NewtonWork { rows, .. },
            point: Point { q, a, force, kappa, closure_force, .. },
            chart,
            coordinates,
            loops,
            diagnostics,
            ..
        } = self;
        let (model, contacts) = (&*compiled.model, &compiled.inputs.contacts);
        let (tree, n_v) = (&model.tree, model.tree.n_v);
        rows.iter_mut().enumerate().for_each(|(i, row)| *row = axis_row(tree, i));
        for &c in &model.reaction_loaded {
            let contact = &contacts[c];
            let n_hat = contact.bearing.map_or(Motion::ZERO, |bearing| bearing.normal_load(&force[c], kappa[c]).1);
            rows[contact.joint] = axis_row(tree, contact.joint) + n_hat * (s * kappa[c]);
        }
        let LoopWork { mass, lu, y, .. } = scratch;
        mass_rows(tree, work, q, rows, mass)?;
        loops.fill_loaded(model, rows)?;
        let (n, n_d) = (coordinates.active.len(), chart.dependent.len());
        let matrix = lu.matrix_mut(n + n_d);
        matrix.clear();
        for i in 0..n_v {
            for (r, t_r) in chart.base.unknowns_of(i) {
                for j in 0..n_v {
                    coordinates.unknowns_of(j).for_each(|(c, t_c)| matrix[(r, c)] += t_r * mass[(i, j)] * t_c);
                }
                for k in 0..n_d {
                    let through: f64 =
                        (0..loops.n_rows).map(|row| loops.loaded[row * n_v + i] * loops.basis(k, row)).sum();
                    matrix[(r, n + k)] -= t_r * through;
                }
            }
        }
        diagnostics.counters.n_sweeps += 1;
        lu.factor().map_err(|_| Failure::NoAcceleration)?;
        let y = &mut y[..n + n_d];
        lu.solve(y);
        coordinates.active.iter().zip(&*y).for_each(|(&i, y)| a[i] += y);
        coordinates.accelerations(a);
        for (row, force) in closure_force.iter_mut().enumerate() {
            *force += (0..n_d).map(|k| y[n + k] * loops.basis(k, row)).sum::<f64>();
        }
        Ok(())
    }

    /// Direction ±1 of the one degree of freedom in which contact `c` slips in the direction of a mode.
    pub(crate) fn direction_of(&mut self, c: usize, mode: Mode) -> f64 {
        self.unlock();
        let rate = self.loop_rate(c);
        if mode.direction() * rate < 0.0 { -1.0 } else { 1.0 }
    }

    /// Rate of a contact per unit of the one independent velocity.
    pub(crate) fn loop_rate(&self, c: usize) -> f64 {
        let contact = &self.compiled.inputs.contacts[c];
        let of = |v: usize| self.coordinates.unknowns_of(v).map(|made| made.1).sum::<f64>();
        of(contact.v) - contact.b.map_or(0.0, of)
    }
}

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
//!
//! With more degrees of freedom, a redundant group of stuck contacts shares its load by limit analysis under the loads
//! N, and the constraint forces of this distribution f(N) give the loads again,
//!
//! ```text
//! N = N(λ(f(N)))                                                                                        (14)
//! ```
//!
//! by fixed-point iteration, and by Newton where that does not contract: under wide limits loads grow with the friction
//! that they permit, and the iteration may go to and fro. Where the margin of the group vanishes, the contacts of its
//! mechanism of collapse are at their static limits against it: that is the rule of impending motion.

use super::Dynamics;
use super::branch::Jam;
use super::closed_loops::LoopWork;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::point::Point;
use bristle_friction::Mode;
use bristle_multibody::spatial::{Force, Motion};
use bristle_multibody::{axis_row, mass_rows, rnea};
use nalgebra::{DMatrix, DVector};

/// Limit of the corrections.
const MAX_CORRECTIONS: usize = 60;

/// Limits of the iterations of (14), and the change of loads, relative to the largest, that ends them: well below the
/// accuracy of event location.
const MAX_SHARES: usize = 60;
const MAX_NEWTON: usize = 40;
const SHARED: f64 = 1e-12;

/// Plain iteration goes on while changes shrink by this factor: 60 iterations reach 1e-12 then, nearly.
const CONTRACTS: f64 = 0.7;

/// Step of the difference quotients, relative to the largest load; a change that rounding of the distribution permits.
const DIFFERENCE: f64 = 1e-7;
const NEARLY_SHARED: f64 = 1e-10;

/// The shortest step of s on the branch from zero friction.
const SHORTEST: f64 = 1e-4;

/// Relative residual of the constraint forces at given accelerations.
const FORCES: f64 = 1e-13;

/// A relative residual below this that no longer falls is rounding.
const STAGNANT: f64 = 1e-9;

impl Dynamics {
    /// Whether the loads of a machine with loops are reactions.
    pub(crate) fn has_loaded_loops(&self) -> bool {
        self.loops.is_any() && !self.compiled.model.reaction_loaded.is_empty()
    }

    /// Whether contacts hold a machine of one degree of freedom: loads are those of impending motion, (12).
    pub(crate) fn is_loop_held(&self) -> bool {
        self.loops.is_any()
            && self.loops.freedom <= 1
            && self.coordinates.active.is_empty()
            && self.coordinates.is_stuck
    }

    /// Newton by (11), with s κ in place of κ.
    pub(crate) fn newton_in_loops(&mut self, s: f64, accuracy: f64) -> Result<(), Failure> {
        let mut scratch = self.take_loop_work();
        let result = self.iterate_in_loops(s, accuracy, &mut scratch);
        self.loop_work = Some(scratch);
        self.apply_outside();
        result
    }

    /// Loads of the stuck contacts of redundant groups by (14), from the distribution found last: by plain iteration
    /// where it contracts, else by Newton. Loads of a group beyond its limits need not agree with one another.
    pub(crate) fn share_loads(&mut self) -> Result<(), Failure> {
        if !self.has_loaded_loops() {
            return Ok(());
        }
        let mut before = f64::INFINITY;
        for _ in 0..MAX_SHARES {
            let is_any = (0..self.compiled.model.reaction_loaded.len()).any(|k| self.shared(k).is_some());
            if !is_any {
                return Ok(());
            }
            self.react_to_shares()?;
            let (mut change, mut largest) = (0.0_f64, 0.0_f64);
            for k in 0..self.compiled.model.reaction_loaded.len() {
                let Some((c, force, load)) = self.shared(k) else { continue };
                change = change.max((load - self.point.load[c]).abs());
                largest = largest.max(load);
                (self.point.force[c], self.point.load[c]) = (force, load);
            }
            self.apply_outside();
            // false for NaN
            if change <= SHARED * largest {
                return Ok(());
            }
            self.distribute_again();
            if change > CONTRACTS * before {
                break;
            }
            before = change;
        }
        self.newton_of_shares()
    }

    /// Newton by difference quotients for the loads N of (14), with shorter steps where the residual does not fall.
    fn newton_of_shares(&mut self) -> Result<(), Failure> {
        let listed = (0..self.compiled.model.reaction_loaded.len()).filter(|&k| self.shared(k).is_some());
        let contacts: Vec<usize> = listed.map(|k| self.compiled.model.reaction_loaded[k]).collect();
        let n = contacts.len();
        let mut loads = DVector::from_iterator(n, contacts.iter().map(|&c| self.point.load[c]));
        let mut left = self.left_of_shares(&contacts, &loads)?;
        for _ in 0..MAX_NEWTON {
            let largest = loads.amax();
            if left.amax() <= SHARED * largest {
                return Ok(());
            }
            let mut slopes = DMatrix::zeros(n, n);
            for k in 0..n {
                let mut other = loads.clone();
                let step = DIFFERENCE * largest.max(f64::MIN_POSITIVE);
                other[k] += step;
                slopes.set_column(k, &((self.left_of_shares(&contacts, &other)? - &left) / step));
            }
            let Some(step) = slopes.lu().solve(&left) else { break };
            let mut part = 1.0;
            let is_nearer = loop {
                let next = (&loads - &step * part).map(|load| load.max(0.0));
                let found = self.left_of_shares(&contacts, &next)?;
                if found.amax() < left.amax() {
                    (loads, left) = (next, found);
                    break true;
                }
                part *= 0.5;
                if part < SHORTEST {
                    break false;
                }
            };
            if !is_nearer {
                // rounding of the distribution
                left = self.left_of_shares(&contacts, &loads)?;
                break;
            }
        }
        let is_overloaded = |&c: &usize| self.constraints.margin(c).is_some_and(|(margin, _)| margin < 0.0);
        if left.amax() <= NEARLY_SHARED * loads.amax() || contacts.iter().any(is_overloaded) {
            return Ok(());
        }
        Err(Failure::Shares { contacts })
    }

    /// Loads that the distribution under `loads` causes, less these. The distribution and its reactions stay.
    fn left_of_shares(&mut self, contacts: &[usize], loads: &DVector<f64>) -> Result<DVector<f64>, Failure> {
        contacts.iter().zip(loads).for_each(|(&c, &load)| self.point.load[c] = load);
        self.distribute_again();
        self.react_to_shares()?;
        let mut left = DVector::zeros(contacts.len());
        for k in 0..self.compiled.model.reaction_loaded.len() {
            let Some((c, force, load)) = self.shared(k) else { continue };
            let Some(i) = contacts.iter().position(|&other| other == c) else { continue };
            self.point.force[c] = force;
            left[i] = load - loads[i];
        }
        self.apply_outside();
        Ok(left)
    }

    /// Reaction-loaded contact number `k` with its present reaction and load, if it is stuck in a redundant group.
    fn shared(&self, k: usize) -> Option<(usize, Force, f64)> {
        let c = self.compiled.model.reaction_loaded[k];
        let contact = &self.compiled.inputs.contacts[c];
        let bearing = contact.bearing.filter(|_| self.constraints.margin(c).is_some() && self.sticks(c))?;
        let (motor, a) = (self.point.motor[contact.v], self.point.a[contact.v]);
        let force = bearing.reaction(&self.work, contact.joint, motor, a);
        Some((c, force, bearing.normal_load(&force, self.point.kappa[c]).0))
    }

    /// Reactions under the constraint forces of the last distribution.
    fn react_to_shares(&mut self) -> Result<(), Failure> {
        self.apply_closure_forces()?;
        let Self { compiled, work, newton, scheme, point, .. } = self;
        let v = if scheme.is_impulsive { &newton.zero } else { &point.v };
        rnea(&compiled.model.tree, work, &point.q, v, &point.a)?;
        Ok(())
    }

    /// The distribution under the present loads.
    fn distribute_again(&mut self) {
        let Self { compiled, scheme, state, point, constraints, loops, required, .. } = self;
        constraints.distribute((compiled, scheme), state, point, (required, loops));
        loops.take_least(&mut point.closure_force);
    }

    /// The wrenches of callers, or none in the equation of impulses.
    fn apply_outside(&mut self) {
        if self.scheme.is_impulsive {
            self.work.outside.clear_wrenches();
        } else {
            self.apply_wrenches();
        }
    }

    /// Follows the branch that is continuous from zero friction, by steps of s: (11) with s κ from s = 0 to 1.
    pub(crate) fn follow_in_loops(&mut self, accuracy: f64) -> Result<(), Failure> {
        self.newton_in_loops(0.0, accuracy)?;
        let (mut s, mut step) = (0.0_f64, 0.25_f64);
        while s < 1.0 {
            let before = (self.point.a.clone(), self.point.closure_force.clone());
            let next = (s + step).min(1.0);
            match self.newton_in_loops(next, accuracy) {
                Ok(()) => (s, step) = (next, 2.0 * step),
                Err(Failure::NoAcceleration) if step > SHORTEST => {
                    (self.point.a, self.point.closure_force) = before;
                    step *= 0.25;
                }
                Err(Failure::NoAcceleration) => {
                    let loaded = self.compiled.model.reaction_loaded.iter().copied();
                    let contacts = loaded.filter(|&c| self.point.kappa[c] != 0.0).collect();
                    return Err(Failure::Jam(Jam { contacts, share: s, has_others: false }));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
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
            let left = self.residual_in_loops(s, scratch, |_| true)?;
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

    /// Constraint forces of least norm at the present accelerations: (11) with y = 0, by the rows of the dependent
    /// velocities.
    pub(crate) fn find_closure_forces(&mut self) -> Result<(), Failure> {
        let mut scratch = self.take_loop_work();
        let result = self.iterate_forces(&mut scratch);
        self.loop_work = Some(scratch);
        self.apply_outside();
        result
    }

    fn iterate_forces(&mut self, scratch: &mut LoopWork) -> Result<(), Failure> {
        self.loops.fill_basis(&self.chart);
        self.loops.take_least(&mut self.point.closure_force);
        let dependent = std::mem::take(&mut self.chart.dependent);
        let mut before = f64::INFINITY;
        let mut found = Err(Failure::NoAcceleration);
        for _ in 0..MAX_CORRECTIONS {
            self.apply_outside();
            let left = match self.apply_closure_forces() {
                Ok(()) => self.residual_in_loops(1.0, scratch, |v| dependent.contains(&v)),
                Err(error) => Err(error.into()),
            };
            let left = match left {
                Ok(left) => left,
                Err(failure) => {
                    found = Err(failure);
                    break;
                }
            };
            if left <= FORCES || left <= STAGNANT && left > 0.5 * before {
                found = Ok(());
                break;
            }
            before = left;
            if let Err(failure) = self.correct_forces(&dependent, scratch) {
                found = Err(failure);
                break;
            }
        }
        self.chart.dependent = dependent;
        found
    }

    /// One step for the constraint forces alone.
    fn correct_forces(&mut self, dependent: &[usize], scratch: &mut LoopWork) -> Result<(), Failure> {
        self.load_loop_rows(1.0)?;
        let Self { point: Point { closure_force, .. }, chart, loops, compiled, .. } = self;
        let (n_v, n_d) = (compiled.model.tree.n_v, dependent.len());
        let LoopWork { lu, y, right, .. } = scratch;
        let matrix = lu.matrix_mut(n_d);
        matrix.clear();
        let row_of = |r: usize| dependent.iter().position(|&d| chart.base.active[r] == d);
        for i in 0..n_v {
            for (r, t_r) in chart.base.unknowns_of(i) {
                let Some(r) = row_of(r) else { continue };
                for k in 0..n_d {
                    matrix[(r, k)] -= t_r * loops.through(i, k);
                }
            }
        }
        right.clear();
        right.extend(dependent.iter().map(|&d| chart.base.place(d).map_or(0.0, |place| y[place])));
        lu.factor().map_err(|_| Failure::NoAcceleration)?;
        lu.solve(right);
        for (row, force) in closure_force.iter_mut().enumerate() {
            *force += right.iter().enumerate().map(|(k, change)| change * loops.basis(k, row)).sum::<f64>();
        }
        Ok(())
    }

    /// T₀ᵀ g into the scratch, with reactions and loads; the largest entry of velocities that count, relative to its
    /// terms.
    pub(crate) fn residual_in_loops(
        &mut self,
        s: f64,
        scratch: &mut LoopWork,
        counts: impl Fn(usize) -> bool,
    ) -> Result<f64, Failure> {
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
        let moved = y.iter().zip(&*scale).zip(&chart.base.active).filter(|((y, _), v)| **y != 0.0 && counts(**v));
        for ((y, scale), &v) in moved {
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
        self.load_loop_rows(s)?;
        self.factor_in_loops(scratch)?;
        let Self { point: Point { a, closure_force, .. }, chart, coordinates, loops, .. } = self;
        let (n, n_d) = (coordinates.active.len(), chart.dependent.len());
        let y = &mut scratch.y[..n + n_d];
        scratch.lu.solve(y);
        coordinates.active.iter().zip(&*y).for_each(|(&i, y)| a[i] += y);
        coordinates.accelerations(a);
        for (row, force) in closure_force.iter_mut().enumerate() {
            *force += (0..n_d).map(|k| y[n + k] * loops.basis(k, row)).sum::<f64>();
        }
        Ok(())
    }

    /// The rows P at the present reactions, with s κ in place of κ, and J_P.
    pub(crate) fn load_loop_rows(&mut self, s: f64) -> Result<(), Failure> {
        let Self { compiled, newton: NewtonWork { rows, .. }, point: Point { force, kappa, .. }, loops, .. } = self;
        let (model, contacts) = (&*compiled.model, &compiled.inputs.contacts);
        let tree = &model.tree;
        rows.iter_mut().enumerate().for_each(|(i, row)| *row = axis_row(tree, i));
        for &c in &model.reaction_loaded {
            let contact = &contacts[c];
            let n_hat = contact.bearing.map_or(Motion::ZERO, |bearing| bearing.normal_load(&force[c], kappa[c]).1);
            rows[contact.joint] = axis_row(tree, contact.joint) + n_hat * (s * kappa[c]);
        }
        Ok(loops.fill_loaded(model, rows)?)
    }

    /// Factors of the matrix of (11), with M_P in the scratch. Needs `load_loop_rows`.
    pub(crate) fn factor_in_loops(&mut self, scratch: &mut LoopWork) -> Result<(), Failure> {
        let Self {
            compiled,
            work,
            newton: NewtonWork { rows, .. },
            point: Point { q, .. },
            chart,
            coordinates,
            loops,
            ..
        } = self;
        let (tree, n_v) = (&compiled.model.tree, compiled.model.tree.n_v);
        let LoopWork { mass, lu, .. } = scratch;
        mass_rows(tree, work, q, rows, mass)?;
        let (n, n_d) = (coordinates.active.len(), chart.dependent.len());
        let matrix = lu.matrix_mut(n + n_d);
        matrix.clear();
        for i in 0..n_v {
            for (r, t_r) in chart.base.unknowns_of(i) {
                for j in 0..n_v {
                    coordinates.unknowns_of(j).for_each(|(c, t_c)| matrix[(r, c)] += t_r * mass[(i, j)] * t_c);
                }
                for k in 0..n_d {
                    matrix[(r, n + k)] -= t_r * loops.through(i, k);
                }
            }
        }
        self.diagnostics.counters.n_sweeps += 1;
        lu.factor().map_err(|_| Failure::NoAcceleration)
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

//! Inverse dynamics: the efforts that a motion requires.
//!
//! ```text
//! τ° = M a + c + K (q − q₀) + d v + τ_f − τ_drives        required effort of each joint, without couplings   (7)
//! τ_i = τ°_i + Σ_d T_di τ°_d,      τ_d = 0                with couplings q_d = offset + Σ T_di q_i           (8)
//! ```
//!
//! With couplings the efforts of a motion are not unique: a gear transfers effort from one shaft to the other. (8) is
//! the solution in which dependent joints have no effort, as a finger that mimics another has no motor of its own.
//! The dependent joint is the one that a coupling names first: the motor of `Gear(joints: (motor, arm))`, the sun of
//! a `Planetary`, the first term of a `Linear`, the joint that mimics; the next one if that joint is prescribed or
//! depends on others already. Forward dynamics recovers a from these efforts. The inertia of the independent joints
//! is Tᵀ M T.
//!
//! Free joints have no drive. Where the motion of the others is given, theirs follows from their rows of (7),
//!
//! ```text
//! M_ff a_f = −(M_fj a_j + c_f)                            f: velocities of free joints, j: the others            (9)
//! ```

use super::Dynamics;
use super::effort_limits::excess;
use super::point::Point;
use super::scheme::Scheme;
use super::state::State;
use crate::constraint::Elimination;
use crate::constraint::coordinates::Coordinates;
use crate::error::{Error, Result};
use crate::model::bearing::Bearing;
use crate::model::{Compiled, Model};
use crate::world::component::Drive;
use bristle_friction::{FrictionLaw, Mode};
use bristle_multibody::{Work, rnea};
use nalgebra::{DMatrix, DVector, Matrix6, Vector6};
use std::sync::Arc;

/// Accepted violation of a coupling by positions, velocities and accelerations, relative to its terms.
const MISS: f64 = 1e-9;

/// Implicit steps of bristles between two rows of a motion: a bristle that lags behind its steady state by less than a
/// row is told by the mean of its effort.
const BRISTLE_STEPS: usize = 8;

/// Dependences by the couplings of a machine alone, without stuck contacts; `None` without couplings.
pub(crate) fn couplings(compiled: &Compiled) -> Option<Arc<Coordinates>> {
    if compiled.model.coupled.constraints.is_empty() {
        return None;
    }
    let is_prescribed =
        |v: usize| compiled.inputs.drives.iter().any(|at| at.v == v && matches!(at.drive, Drive::Motion(_)));
    let (mut elimination, mut coordinates) = (Elimination::new(compiled), Coordinates::new(compiled));
    for constraint in &compiled.model.coupled.constraints {
        // `start_couplings` refuses redundant couplings
        let _ = elimination.add(&constraint.terms, 0.0, is_prescribed);
    }
    elimination.finish(&mut coordinates, &vec![0.0; compiled.model.tree.n_v], |_| false);
    coordinates.fill_active(&compiled.model.joint_of);
    Some(Arc::new(coordinates))
}

impl Dynamics {
    /// Velocities that do not depend on others through couplings, in order.
    pub(crate) fn independent(&self) -> Vec<usize> {
        let mut is_dependent = vec![false; self.point.v.len()];
        if self.loops.is_any() {
            self.loop_dependence().dependent.iter().for_each(|&v| is_dependent[v] = true);
        }
        let of_couplings = self.couplings.iter().flat_map(|couplings| &couplings.dependent);
        of_couplings.for_each(|&v| is_dependent[v] = true);
        (0..is_dependent.len()).filter(|&v| !is_dependent[v]).collect()
    }

    /// Tᵀ M T over the independent velocities.
    pub(crate) fn reduce_mass(&self, mass: &DMatrix<f64>) -> DMatrix<f64> {
        if self.loops.is_any() {
            return self.reduce_mass_in_loops(mass);
        }
        let Some(coordinates) = &self.couplings else { return mass.clone() };
        let (n_v, n) = (self.point.v.len(), self.point.v.len() - coordinates.dependent.len());
        let mut t = DMatrix::zeros(n_v, n);
        for v in 0..n_v {
            coordinates.unknowns_of(v).for_each(|(place, c)| t[(v, place)] += c);
        }
        t.transpose() * mass * t
    }

    /// Efforts that callers would have to apply for `a` at (q, v), into `tau`; contacts with modes slide in the
    /// direction of their velocity, or of their acceleration at rest. Leaves `work` at this point and restores the
    /// state.
    pub(crate) fn required(&mut self, t: f64, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64]) -> Result<()> {
        refuse_violation(&self.compiled, &self.state.coupling_offset, [q, v, a])?;
        // stuck joints keep position, velocity and mode; `RealTime` keeps the results of its step
        self.checkpoint();
        self.point.q.copy_from_slice(q);
        self.point.v.copy_from_slice(v);
        self.point.a.copy_from_slice(a);
        for (k, &i) in self.compiled.model.joint_of.iter().enumerate() {
            if let [q] = q[self.compiled.model.tree.q_range(i)] {
                self.point.xi[k] = q;
            }
        }
        for (mode, contact) in self.state.mode.iter_mut().zip(self.compiled.inputs.contacts.iter()) {
            let (v, a) = (contact.rate(v), contact.rate(a));
            *mode = Mode::of_sign(if v == 0.0 { a } else { v });
        }
        self.set_regimes(t);
        self.efforts(t);
        let required =
            rnea(&self.compiled.model.tree, &mut self.work, q, v, a).map(|required| tau.copy_from_slice(required));
        for (k, tau) in tau.iter_mut().enumerate() {
            *tau -= self.point.tau[k] - self.compiled.inputs.effort[k];
        }
        for (k, at) in self.compiled.inputs.effort_limits.iter().enumerate() {
            // the effort that is asked for, whatever the limit
            tau[at.v] -= excess((&self.compiled, &self.scheme), &self.state, &self.point, k, t);
        }
        for &c in &self.compiled.model.reaction_loaded {
            let contact = &self.compiled.inputs.contacts[c];
            let Some(bearing) = contact.bearing.filter(|bearing| !bearing.is_transmitted()) else { continue };
            if self.loops.is_any() {
                // the reactions depend on the efforts sought
                continue;
            }
            let (kappa, f) = (self.point.kappa[c], self.work.reaction(contact.joint));
            tau[contact.v] += kappa * bearing.normal_load(&f, kappa).0;
        }
        let Self { compiled, scheme, state, point, couplings, work, .. } = self;
        let dependent = couplings.as_ref().map_or(&[][..], |couplings| &couplings.dependent);
        let add = |tau: &mut [f64], is_dependent: bool| {
            add_transmitted((compiled, scheme), state, point, work, (dependent, is_dependent), (t, a), tau)
        };
        add(tau, true);
        if let Some(couplings) = couplings.as_ref() {
            couplings.gather_efforts(tau);
        }
        let jammed = add(tau, false);
        let least = match (self.loops.is_any(), self.has_loaded_loops()) {
            (false, _) => Ok(()),
            (true, false) => self.least_efforts(t, a, tau),
            (true, true) => self.least_efforts_under_loads(t, (q, v, a), tau),
        };
        self.rollback();
        self.point.known = None;
        let jammed = jammed.map_or(Ok(()), |joint| Err(Error::Jam { t, joint, with: Vec::new(), share: 1.0 }));
        required.map_err(|source| Error::Mechanics { t, source }).and(least).and(jammed)
    }

    /// Bristles as they start at the velocities `v`: steady where there is slip.
    pub(crate) fn start_bristles(&mut self, v: &[f64]) {
        for (bristle, contact) in self.point.bristles.iter_mut().zip(self.compiled.inputs.contacts.iter()) {
            *bristle = contact.law.initial_state(contact.arm * contact.rate(v));
        }
    }

    /// Carries the bristles through `h` seconds in which the velocities go from `before` to `after`.
    pub(crate) fn carry_bristles(&mut self, h: f64, before: &[f64], after: &[f64]) {
        let contacts = self.compiled.inputs.contacts.iter();
        for (bristle, contact) in self.point.bristles.iter_mut().zip(contacts).filter(|(_, c)| c.law.n_states() > 0) {
            let [from, to] = [before, after].map(|v| contact.arm * contact.rate(v));
            let slip = |k: usize| from + (to - from) * k as f64 / BRISTLE_STEPS as f64;
            for k in 1..=BRISTLE_STEPS {
                let step = contact.law.implicit_step(h / BRISTLE_STEPS as f64, slip(k), slip(k - 1), *bristle);
                *bristle = step.state;
            }
        }
    }

    /// Efforts for the accelerations `a` of all joints but the free ones, which follow from (9), at (q, v); those of
    /// free joints are 0.
    pub(crate) fn required_of_joints(
        &mut self,
        t: f64,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        tau: &mut [f64],
    ) -> Result<()> {
        let mut all = std::mem::take(&mut self.wanted);
        all.copy_from_slice(a);
        let done = accelerate_free(&self.compiled.model, &mut self.work, t, (q, v), &mut all);
        let done = done.and_then(|()| self.required(t, q, v, &all, tau));
        self.wanted = all;
        done?;
        // the rest of their rows is rounding
        self.compiled.model.free.iter().for_each(|&k| tau[k..k + 6].fill(0.0));
        Ok(())
    }

    /// Sets accelerations that are 0 to the values that the couplings determine, where they do.
    #[cfg(feature = "scene")]
    pub(crate) fn complete_accelerations(&self, a: &mut [f64]) {
        let Some(couplings) = &self.couplings else { return };
        let (mut coordinates, mut elimination) = (Coordinates::clone(couplings), Elimination::new(&self.compiled));
        for constraint in &self.compiled.model.coupled.constraints {
            let is_found = elimination.add(&constraint.terms, 0.0, |v| a[v] != 0.0).is_ok();
            if !is_found {
                let _ = elimination.add(&constraint.terms, 0.0, |_| false);
            }
        }
        elimination.finish(&mut coordinates, a, |_| false);
        let mut complete = a.to_vec();
        coordinates.rates(&mut complete);
        a.iter_mut().zip(complete).filter(|(a, _)| **a == 0.0).for_each(|(a, found)| *a = found);
    }

    /// Positions and velocities of the state set last, of one-degree joints.
    #[cfg(feature = "scene")]
    pub(crate) fn store_joints(&self, q: &mut [f64], v: &mut [f64]) {
        for (k, &i) in self.compiled.model.joint_of.iter().enumerate() {
            if let [q] = &mut q[self.compiled.model.tree.q_range(i)] {
                *q = self.point.xi[k];
            }
        }
        v.copy_from_slice(&self.point.v);
    }
}

/// Adds the friction of reducers to the efforts that the accelerations `a` require without it, in joints without a
/// motor of their own, or in the others, where the required effort itself passes through the reducer. The name of a
/// joint that no effort drives.
fn add_transmitted(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    point: &Point,
    work: &Work,
    (dependent, is_dependent): (&[usize], bool),
    (t, a): (f64, &[f64]),
    tau: &mut [f64],
) -> Option<String> {
    let mut jammed = None;
    for &c in &compiled.model.reaction_loaded {
        let contact = &compiled.inputs.contacts[c];
        let (v, kappa) = (contact.v, point.kappa[c]);
        let Some(Bearing::Transmitted(reducer)) = contact.bearing else { continue };
        if dependent.contains(&v) != is_dependent {
            continue;
        }
        // τ_t but for the effort sought
        let limit = compiled.inputs.effort_limits.iter().position(|at| at.v == v);
        let beyond = |k| excess((compiled, scheme), state, point, k, t);
        let drive = point.motor[v] + limit.map_or(0.0, beyond) - compiled.inputs.effort[v];
        let given = drive - reducer.inertia() * a[v];
        if is_dependent {
            let f = Bearing::Transmitted(reducer).reaction(work, contact.joint, given, 0.0);
            tau[v] += kappa * Bearing::Transmitted(reducer).normal_load(&f, kappa).0;
        } else if let Some(tau_t) = reducer.transmitted(tau[v] + given, kappa) {
            tau[v] = tau_t - given;
        } else {
            jammed = Some(compiled.model.tree.joint_names[contact.joint].clone());
        }
    }
    jammed
}

/// Sets the accelerations of free joints to those of (9), where the others accelerate by `a` at (q, v).
fn accelerate_free(model: &Model, work: &mut Work, t: f64, (q, v): (&[f64], &[f64]), a: &mut [f64]) -> Result<()> {
    let mechanics = |source| Error::Mechanics { t, source };
    model.free.iter().for_each(|&k| a[k..k + 6].fill(0.0));
    if model.free.len() > 1 {
        return accelerate_many_free(model, work, t, (q, v), a);
    }
    let Some(&k) = model.free.first() else { return Ok(()) };
    let mut rest = Vector6::zeros();
    let mut mass = Matrix6::zeros();
    let tau = rnea(&model.tree, work, q, v, a).map_err(mechanics)?;
    (0..6).for_each(|row| rest[row] = -tau[k + row]);
    for column in 0..6 {
        a[k + column] = 1.0;
        let tau = rnea(&model.tree, work, q, v, a).map_err(mechanics)?;
        (0..6).for_each(|row| mass[(row, column)] = tau[k + row] + rest[row]);
        a[k + column] = 0.0;
    }
    if !mass.lu().solve_mut(&mut rest) {
        return Err(no_free_inertia(model, t, k));
    }
    a[k..k + 6].copy_from_slice(rest.as_slice());
    Ok(())
}

/// The same for several free joints.
fn accelerate_many_free(model: &Model, work: &mut Work, t: f64, (q, v): (&[f64], &[f64]), a: &mut [f64]) -> Result<()> {
    let free: Vec<usize> = model.free.iter().flat_map(|&k| k..k + 6).collect();
    let mechanics = |source| Error::Mechanics { t, source };
    let tau = rnea(&model.tree, work, q, v, a).map_err(mechanics)?;
    let mut rest = DVector::from_iterator(free.len(), free.iter().map(|&k| -tau[k]));
    let mut mass = DMatrix::zeros(free.len(), free.len());
    for (column, &j) in free.iter().enumerate() {
        a[j] = 1.0;
        let tau = rnea(&model.tree, work, q, v, a).map_err(mechanics)?;
        free.iter().enumerate().for_each(|(row, &k)| mass[(row, column)] = tau[k] + rest[row]);
        a[j] = 0.0;
    }
    if !mass.lu().solve_mut(&mut rest) {
        return Err(no_free_inertia(model, t, free[0]));
    }
    free.iter().zip(&rest).for_each(|(&k, &x)| a[k] = x);
    Ok(())
}

fn no_free_inertia(Model { tree, .. }: &Model, t: f64, k: usize) -> Error {
    let joint = tree.joint_names[tree.joint_of_velocity(k)].clone();
    Error::Mechanics { t, source: bristle_multibody::Error::Singular { joint, inertia: 0.0 } }
}

/// Refuses a motion that violates the couplings, by the name of the first violated one.
fn refuse_violation(compiled: &Compiled, offsets: &[f64], [q, v, a]: [&[f64]; 3]) -> Result<()> {
    let Model { tree, coupled, joint_of, .. } = &*compiled.model;
    let q_of = |v: usize| q[tree.q_index[joint_of[v]]];
    for (constraint, &offset) in coupled.constraints.iter().zip(offsets) {
        let sum = |x: &dyn Fn(usize) -> f64, offset: f64| {
            let (sum, size) = constraint.terms.iter().fold((-offset, offset.abs()), |(sum, size), &(v, c)| {
                let term = c * x(v);
                (sum + term, size + term.abs())
            });
            (sum, size)
        };
        let sums = [sum(&q_of, offset), sum(&|k| v[k], 0.0), sum(&|k| a[k], 0.0)];
        for ((miss, size), what) in sums.into_iter().zip(["positions", "velocities", "accelerations"]) {
            // false for NaN
            let fits = miss.abs() <= MISS * size;
            if !fits {
                let names = constraint.terms.iter().map(|term| &tree.joint_names[joint_of[term.0]]);
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                let reason = format!(
                    "it couples {}, and the requested {what} violate it by {miss:e}: \
                     request values that satisfy it",
                    names.join(", ")
                );
                return Err(Error::Coupling { name: coupled.names[constraint.element].clone(), reason });
            }
        }
    }
    Ok(())
}

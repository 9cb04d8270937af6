//! The efforts that a motion takes.
//!
//! ```text
//! τ° = M a + c + K (q − q₀) + d v + τ_f − τ_drives        what each joint takes by itself                (7)
//! τ_i = τ°_i + Σ_d T_di τ°_d,      τ_d = 0                where couplings tie q_d = offset + Σ T_di q_i     (8)
//! ```
//!
//! With ties the efforts of a motion are not unique: a gear takes from one shaft what it gives to the other. (8) is the choice
//! in which joints that depend on others carry nothing, as a finger that mimics has no motor of its own. The one that depends is the one
//! a coupling names first: the motor of `Gear(joints: (motor, arm))`, the sun of a `Planetary`, the first term of a
//! `Linear`, the joint that mimics; the next one where that joint is led or depends already. Forward dynamics makes a of them again.
//! Inertia over the joints that are left is Tᵀ M T.

use super::constraints::Constraints;
use super::machine::{Machine, Snapshot};
use crate::compile::Compiled;
use crate::component::Drive;
use crate::error::{Error, Result};
use bristle_friction::Mode;
use bristle_multibody::{State, rnea};
use nalgebra::DMatrix;

/// What positions, velocities and accelerations may miss a tie by, relative to its terms.
const MISS: f64 = 1e-9;

/// Who depends on whom by the ties of a machine alone, whatever sticks; `None` where nothing is tied.
pub(super) fn coupling_constraints(compiled: &Compiled) -> Option<Box<Constraints>> {
    if compiled.coupled.constraints.is_empty() {
        return None;
    }
    let is_prescribed = |v: usize| compiled.drives.iter().any(|at| at.v == v && matches!(at.drive, Drive::Motion(_)));
    let mut constraints = Constraints::new(compiled);
    for constraint in &compiled.coupled.constraints {
        // one that says nothing new is refused where the machine begins
        let _ = constraints.add(&constraint.terms, 0.0, is_prescribed);
    }
    constraints.finish(&vec![0.0; compiled.model.n_v], |_| false);
    constraints.fill_active(&mut Vec::new(), |_| false);
    Some(Box::new(constraints))
}

/// What a machine has found where it is, put aside while it is asked about somewhere else.
#[derive(Debug, Clone, Default)]
pub(super) struct SavedEvaluation {
    lists: [Vec<f64>; 7],
    modes: Vec<Mode>,
    rates: Vec<bristle_friction::State>,
}

impl SavedEvaluation {
    /// Scratch, when nothing is put aside.
    pub fn lists(&mut self) -> &mut [Vec<f64>; 7] {
        &mut self.lists
    }

    fn keep(&mut self, machine: &Machine) {
        let Machine { v, a, xi, tau, kappa, load, friction, .. } = machine;
        let now = [v, a, xi, tau, kappa, load, friction];
        self.lists.iter_mut().zip(now).for_each(|(list, now)| list.clone_from(now));
        self.modes.clone_from(&machine.mode);
        self.rates.clone_from(&machine.rate);
    }

    fn rollback(&self, machine: &mut Machine) {
        let Machine { v, a, xi, tau, kappa, load, friction, .. } = machine;
        let now = [v, a, xi, tau, kappa, load, friction];
        self.lists.iter().zip(now).for_each(|(list, now)| now.clone_from(list));
        machine.mode.clone_from(&self.modes);
        machine.rate.clone_from(&self.rates);
    }
}

impl Machine {
    /// Velocities that do not depend on others through ties, in order.
    pub(crate) fn independent(&self) -> Vec<usize> {
        let is_dependent =
            |v: &usize| self.coupling_constraints.as_ref().is_some_and(|constraints| constraints.dependent.contains(v));
        (0..self.v.len()).filter(|v| !is_dependent(v)).collect()
    }

    /// Tᵀ M T over the independent velocities.
    pub(crate) fn reduce_mass(&self, mass: &DMatrix<f64>) -> DMatrix<f64> {
        let Some(constraints) = &self.coupling_constraints else { return mass.clone() };
        let (n_v, n) = (self.v.len(), self.v.len() - constraints.dependent.len());
        let mut t = DMatrix::zeros(n_v, n);
        for v in 0..n_v {
            constraints.made_of(v).for_each(|(place, c)| t[(v, place)] += c);
        }
        t.transpose() * mass * t
    }

    /// Efforts that callers would have to apply for `a` at (q, v), into `tau`; joints with modes slide the way they move or are to move.
    /// Leaves the arrays of the machine there: look somewhere else afterwards.
    pub(crate) fn required(&mut self, t: f64, q: &[f64], v: &[f64], a: &[f64], tau: &mut [f64]) -> Result<()> {
        self.refuse_violation(q, v, a)?;
        // what is stuck keeps its place, its velocity and its mode; a real-time step its results
        let mut saved = std::mem::take(&mut self.saved);
        saved.keep(self);
        self.known = None;
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        self.a.copy_from_slice(a);
        for (k, &i) in self.joint_of.iter().enumerate() {
            if let [q] = q[self.compiled.model.q_range(i)] {
                self.xi[k] = q;
            }
        }
        for (mode, contact) in self.mode.iter_mut().zip(&self.compiled.contacts) {
            let (v, a) = (contact.rate(v), contact.rate(a));
            *mode = Mode::of_sign(if v == 0.0 { a } else { v });
        }
        self.efforts(t);
        let required =
            rnea(&self.compiled.model, &mut self.work, q, v, a).map(|required| tau.copy_from_slice(required));
        for (k, tau) in tau.iter_mut().enumerate() {
            *tau -= self.tau[k] - self.compiled.effort[k];
        }
        for &c in &self.reaction_loaded {
            let contact = &self.compiled.contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            tau[contact.v] += self.kappa[c] * bearing.normal_load(&self.work.reaction(contact.joint)).0;
        }
        if let Some(constraints) = &self.coupling_constraints {
            constraints.gather_efforts(tau);
        }
        saved.rollback(self);
        self.saved = saved;
        required.map_err(|source| Error::Mechanics { t, source })
    }

    /// Refuses a motion that the ties do not allow, by the name of the first that does not.
    fn refuse_violation(&self, q: &[f64], v: &[f64], a: &[f64]) -> Result<()> {
        let coupled = &self.compiled.coupled;
        let q_of = |v: usize| q[self.compiled.model.q_index[self.joint_of[v]]];
        for (constraint, &offset) in coupled.constraints.iter().zip(&self.constraints.offset) {
            let sum = |x: &dyn Fn(usize) -> f64, offset: f64| {
                let (sum, size) =
                    constraint.terms.iter().fold((-offset, 1.0 + offset.abs()), |(sum, size), &(v, c)| {
                        let term = c * x(v);
                        (sum + term, size + term.abs())
                    });
                (sum, size)
            };
            let sums = [sum(&q_of, offset), sum(&|k| v[k], 0.0), sum(&|k| a[k], 0.0)];
            for ((miss, size), what) in sums.into_iter().zip(["positions", "velocities", "accelerations"]) {
                // a NaN does not
                let fits = miss.abs() <= MISS * size;
                if !fits {
                    let names =
                        constraint.terms.iter().map(|term| &self.compiled.model.joint_names[self.joint_of[term.0]]);
                    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                    let reason = format!(
                        "it ties {}, and the {what} asked for miss it by {miss:e}: ask for some that it allows",
                        names.join(", ")
                    );
                    return Err(Error::Coupling { name: coupled.elements[constraint.element].name.clone(), reason });
                }
            }
        }
        Ok(())
    }

    /// Puts accelerations that are left at 0 where the ties want them, as long as there is a way.
    pub(crate) fn complete_accelerations(&self, a: &mut [f64]) {
        let Some(coupling_constraints) = &self.coupling_constraints else { return };
        let mut constraints = coupling_constraints.clone();
        constraints.clear();
        for constraint in &self.compiled.coupled.constraints {
            let is_found = constraints.add(&constraint.terms, 0.0, |v| a[v] != 0.0).is_ok();
            if !is_found {
                let _ = constraints.add(&constraint.terms, 0.0, |_| false);
            }
        }
        constraints.finish(a, |_| false);
        let mut told = a.to_vec();
        constraints.rates(&mut told);
        a.iter_mut().zip(told).filter(|(a, _)| **a == 0.0).for_each(|(a, told)| *a = told);
    }

    /// Goes to a snapshot without choosing modes; joints that ties leave no choice and that are at 0 go where they belong.
    pub(crate) fn load_state(&mut self, from: &Snapshot) -> Result<()> {
        let model = &self.compiled.model;
        let State { t, q, v } = &from.mechanics;
        for i in 1..model.n_bodies() {
            let (q, xi) = (&q[model.q_range(i)], &mut self.xi[model.v_range(i)]);
            if let [q] = q {
                xi[0] = *q;
            } else {
                self.q_ref[model.q_range(i)].copy_from_slice(q);
                xi.fill(0.0);
            }
        }
        self.v.copy_from_slice(v);
        self.integral.copy_from_slice(&from.integrals);
        self.enter_piece(*t);
        self.prescribe(*t);
        self.begin_constraints()?;
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let v = contact.rate(&self.v);
            self.state[c] = contact.law.state_of(from.bristles[c].z, from.bristles[c].w);
            self.bent[c] = self.state[c][0].abs();
            self.heading[c] = if self.kink_value(c, v) < 0.0 { -1.0 } else { 1.0 };
            self.backward[c] = self.state[c][0] < 0.0 || (self.state[c][0] == 0.0 && v < 0.0);
            let is_moving = contact.is_event_driven() && !contact.is_rounding(&self.v);
            self.mode[c] = if is_moving { Mode::of_sign(v) } else { Mode::Stuck };
            self.armed[c] = false;
        }
        Ok(())
    }

    /// Positions and velocities where it went, of one-degree joints.
    pub(crate) fn store_joints(&self, q: &mut [f64], v: &mut [f64]) {
        for (k, &i) in self.joint_of.iter().enumerate() {
            if let [q] = &mut q[self.compiled.model.q_range(i)] {
                *q = self.xi[k];
            }
        }
        v.copy_from_slice(&self.v);
    }
}

//! The unknowns in their order: positions and velocities of the active joints, accelerations in the jerk form, states
//! of the friction laws, integrals of the controllers.

use super::constraints::{Constraints, Left};
use super::machine::Machine;
use super::point::Point;
use super::state::State;
use crate::error::Error;
use crate::model::Model;
use crate::scene::Formulation;
use bristle_friction::{FrictionLaw, Mode};
use bristle_multibody::chart_point;

impl Machine {
    /// Unknowns per velocity: 3 in the jerk form.
    pub(super) fn per_velocity(&self) -> usize {
        if self.scheme.formulation == Formulation::Jerk { 3 } else { 2 }
    }

    /// Number of unknowns with `n` velocities among them.
    pub(super) fn n_unknowns(&self, n: usize) -> usize {
        let n_states: usize = self.compiled.inputs.contacts.iter().map(|contact| contact.law.n_states()).sum();
        self.per_velocity() * n + n_states + self.point.integral.len()
    }

    /// Name of the kind of unknown number `k`, and its joint.
    pub(crate) fn unknown(&self, k: usize) -> (&'static str, usize) {
        let n = self.coordinates.active.len();
        if k < self.per_velocity() * n {
            return (
                ["position", "velocity", "acceleration"][k / n],
                self.compiled.model.joint_of[self.coordinates.active[k % n]],
            );
        }
        let states = self.compiled.inputs.contacts.iter().flat_map(|c| (0..c.law.n_states()).map(move |_| c.joint));
        let integrals = self.compiled.inputs.drives.iter().filter(|d| d.has_integral()).map(|d| d.joint);
        let mut joints = states.map(|j| ("bristle state", j)).chain(integrals.map(|j| ("integral", j)));
        joints.nth(k - self.per_velocity() * n).unwrap_or(("unknown", 0))
    }

    /// The joint of unknown number `k`, and the contact if it is a friction state.
    pub(crate) fn owner(&self, k: usize) -> (usize, Option<usize>) {
        let mut next = self.per_velocity() * self.coordinates.active.len();
        for (c, contact) in self.compiled.inputs.contacts.iter().enumerate() {
            if (next..next + contact.law.n_states()).contains(&k) {
                return (contact.joint, Some(c));
            }
            next += contact.law.n_states();
        }
        (self.unknown(k).1, None)
    }

    /// Among the smooth laws that act on the velocity of unknown `k`, the one with the steepest effort.
    pub(super) fn steepest(&self, k: usize) -> Option<usize> {
        let place = k.checked_rem(self.coordinates.active.len())?;
        let rise = |c: usize| {
            let contact = &self.compiled.inputs.contacts[c];
            if contact.is_event_driven() || contact.law.n_states() > 0 {
                return 0.0;
            }
            let own =
                |v: usize| self.coordinates.unknowns_of(v).find(|made| made.0 == place).map_or(0.0, |made| made.1);
            let share = own(contact.v) - contact.b.map_or(0.0, own);
            let slip = contact.arm * contact.rate(&self.point.v);
            let slope = contact.law.implicit_step(0.0, slip, slip, self.point.bristles[c]).effort_v;
            share * share * contact.arm * contact.arm * self.point.load[c] * slope
        };
        let steepest = (0..self.compiled.inputs.contacts.len()).max_by(|&a, &b| rise(a).total_cmp(&rise(b)))?;
        (rise(steepest) > 0.0).then_some(steepest)
    }

    /// Copies the unknowns to the arrays. Stuck joints keep their position; prescribed joints follow their signal.
    pub(super) fn scatter(&mut self, t: f64, y: &[f64]) {
        self.point.known = None;
        let n = self.coordinates.active.len();
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            self.point.xi[i] = y[k];
            self.point.v[i] = y[n + k];
        }
        if self.scheme.formulation == Formulation::Jerk {
            for (k, &i) in self.coordinates.active.iter().enumerate() {
                self.point.a[i] = y[2 * n + k];
            }
        }
        let mut next = self.per_velocity() * n;
        for (state, contact) in self.point.bristles.iter_mut().zip(self.compiled.inputs.contacts.iter()) {
            for s in &mut state[..contact.law.n_states()] {
                *s = y[next];
                next += 1;
            }
        }
        let n_integrals = self.point.integral.len();
        self.point.integral.copy_from_slice(&y[next..next + n_integrals]);
        self.prescribe(t);
        self.coordinates.positions(&mut self.point.xi);
        self.coordinates.rates(&mut self.point.v);
        if self.scheme.formulation == Formulation::Jerk {
            self.coordinates.rates(&mut self.point.a);
        }
    }

    /// Whether the arrays hold the results of the last right-hand side, and that was at (t, y).
    pub(super) fn knows(&self, t: f64, y: &[f64]) -> bool {
        let (n, m) = (self.coordinates.active.len(), self.per_velocity());
        let is_jerk = self.scheme.formulation == Formulation::Jerk;
        let same = |k: usize, i: usize| self.point.xi[i] == y[k] && self.point.v[i] == y[n + k];
        self.point.known == Some(t)
            && self
                .coordinates
                .active
                .iter()
                .enumerate()
                .all(|(k, &i)| same(k, i) && (!is_jerk || self.point.a[i] == y[2 * n + k]))
            && (self.point.bristles.iter().zip(self.compiled.inputs.contacts.iter()))
                .flat_map(|(state, contact)| &state[..contact.law.n_states()])
                .chain(&self.point.integral)
                .eq(&y[m * n..])
    }

    /// Copies the arrays to the unknowns.
    pub(super) fn gather(&self, y: &mut [f64]) {
        let n = self.coordinates.active.len();
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            y[k] = self.point.xi[i];
            y[n + k] = self.point.v[i];
        }
        if self.scheme.formulation == Formulation::Jerk {
            for (k, &i) in self.coordinates.active.iter().enumerate() {
                y[2 * n + k] = self.point.a[i];
            }
        }
        let mut next = self.per_velocity() * n;
        for (state, contact) in self.point.bristles.iter().zip(self.compiled.inputs.contacts.iter()) {
            for s in &state[..contact.law.n_states()] {
                y[next] = *s;
                next += 1;
            }
        }
        y[next..next + self.point.integral.len()].copy_from_slice(&self.point.integral);
    }

    /// Position, velocity and acceleration of the joints whose motion is prescribed.
    pub(super) fn prescribe(&mut self, t: f64) {
        for (prescribed, jerk) in self.compiled.model.prescribed.iter().zip(&mut self.point.drive_jerk) {
            let signal = self.compiled.inputs.drives[prescribed.drive].signal().sample(t, self.state.piece);
            self.point.xi[prescribed.v] = signal.value;
            self.point.v[prescribed.v] = signal.derivative;
            self.point.a[prescribed.v] = signal.second_derivative;
            *jerk = signal.third_derivative;
        }
    }

    /// Copies the accelerations from the rates of the unknowns, `dy`.
    pub(super) fn take_accelerations(&mut self, dy: &[f64]) {
        let n = self.coordinates.active.len();
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            self.point.a[i] = dy[n + k];
        }
        self.coordinates.rates(&mut self.point.a);
    }

    /// Finds the stuck joints, the dependent coordinates, and hence the velocities that are unknowns.
    pub(super) fn lock(&mut self) {
        self.lock_if(true);
    }

    /// The same as if no contact stuck.
    pub(super) fn unlock(&mut self) {
        self.lock_if(false);
    }

    fn lock_if(&mut self, may_stick: bool) {
        let may_couple = may_stick && !self.is_impulsive;
        self.point.known = None;
        self.coordinates.locked.fill(false);
        self.coordinates.is_stuck = false;
        for prescribed in &self.compiled.model.prescribed {
            self.coordinates.locked[prescribed.joint] = true;
        }
        for c in 0..self.state.mode.len() {
            if may_stick && self.sticks(c) {
                self.coordinates.is_stuck = true;
                let contact = &self.compiled.inputs.contacts[c];
                if contact.b.is_none() {
                    self.coordinates.locked[contact.joint] = true;
                    self.point.v[contact.v] = 0.0;
                    self.point.a[contact.v] = 0.0;
                }
            }
        }
        if !self.constraints.is_coupled() {
            return self.coordinates.fill_active(&self.compiled.model.joint_of);
        }
        let Self {
            compiled,
            constraints: Constraints { elimination, .. },
            coordinates,
            point: Point { xi, v, a, .. },
            state: State { mode, prescribed_contacts, coupling_offset, .. },
            ..
        } = self;
        let Model { joint_of, prescribed, .. } = &*compiled.model;
        let locked = std::mem::take(&mut coordinates.locked);
        let is_known = |v: usize| locked[joint_of[v]];
        elimination.clear();
        for (constraint, &offset) in compiled.model.coupled.constraints.iter().zip(&*coupling_offset) {
            // a redundant row adds nothing
            let _ = elimination.add(&constraint.terms, offset, is_known);
        }
        for ((contact, mode), prescribed_contacts) in
            compiled.inputs.contacts.iter().zip(&*mode).zip(&*prescribed_contacts)
        {
            let Some(b) = contact.b else { continue };
            if may_couple && contact.is_event_driven() && *mode == Mode::Stuck && !prescribed_contacts {
                let added = elimination.add(&[(contact.v, 1.0), (b, -1.0)], xi[contact.v] - xi[b], is_known);
                // a row between locked and prescribed joints alone is no constraint: the two may separate
                if added.map_or_else(|left| left.is_implied, |()| true) {
                    elimination.group(contact.v, b);
                }
            }
        }
        let is_constant = |v: usize| is_known(v) && !prescribed.iter().any(|prescribed| prescribed.v == v);
        elimination.finish(coordinates, xi, is_constant);
        coordinates.locked = locked;
        coordinates.fill_active(joint_of);
        coordinates.rates(v);
        coordinates.rates(a);
    }

    /// Right-hand sides of the couplings. A dependent joint at 0 gets its coupled position and velocity; any other
    /// must have them.
    pub(super) fn begin_constraints(&mut self) -> Result<(), Error> {
        if self.constraints.is_coupled() {
            self.unlock_for_constraints()?;
        }
        let is_prescribed = |v: usize| self.compiled.model.prescribed.iter().any(|prescribed| prescribed.v == v);
        for (is_contact_prescribed, contact) in
            self.state.prescribed_contacts.iter_mut().zip(self.compiled.inputs.contacts.iter())
        {
            *is_contact_prescribed = if self.constraints.is_coupled() {
                self.coordinates.is_prescribed(contact.v, contact.b, is_prescribed)
            } else {
                is_prescribed(contact.v)
            };
        }
        if self.coordinates.dependent.is_empty() {
            return Ok(());
        }
        let [xi_required, v_required] = &mut self.constraints.required;
        xi_required.clone_from(&self.point.xi);
        v_required.clone_from(&self.point.v);
        self.coordinates.positions(xi_required);
        self.coordinates.rates(v_required);
        for &d in &self.coordinates.dependent {
            for (given, (required, what)) in [&mut self.point.xi, &mut self.point.v]
                .into_iter()
                .zip([(&*xi_required, "position"), (&*v_required, "velocity")])
            {
                let size = self.coordinates.size(d, required, what == "position");
                let (given, required) = (&mut given[d], required[d]);
                // nine digits relative to the terms of the coupling, in any units
                if (*given - required).abs() > 1e-9 * size && *given != 0.0 {
                    let coupled = &self.compiled.model.coupled;
                    let its =
                        coupled.constraints.iter().filter(|constraint| constraint.terms.iter().any(|term| term.0 == d));
                    let its: Vec<&str> = its.map(|constraint| coupled.names[constraint.element].as_str()).collect();
                    let joint = self.compiled.model.tree.joint_names[self.compiled.model.joint_of[d]].clone();
                    let couplings = list(&its);
                    return Err(Error::NotCoupled { joint, what, given: *given, required, couplings });
                }
                *given = required;
            }
        }
        Ok(())
    }

    /// Eliminates with the compiled couplings alone; refuses redundant and contradictory ones.
    fn unlock_for_constraints(&mut self) -> Result<(), Error> {
        let Self { compiled, constraints, coordinates, state, point, .. } = self;
        let Model { prescribed, joint_of, .. } = &*compiled.model;
        let Point { xi, v: v_given, .. } = point;
        let (elimination, offset) = (&mut constraints.elimination, &mut state.coupling_offset);
        let is_prescribed = |v: usize| prescribed.iter().any(|prescribed| prescribed.v == v);
        elimination.clear();
        for (k, constraint) in compiled.model.coupled.constraints.iter().enumerate() {
            let sum = constraint.terms.iter().map(|&(v, c)| c * xi[v]).sum();
            offset[k] = constraint.offset.unwrap_or(sum);
            // joints at 0 take the position that the others determine
            let is_given = |v: usize| is_prescribed(v) || xi[v] != 0.0 || v_given[v] != 0.0;
            if elimination.add(&constraint.terms, offset[k], is_given).is_ok() {
                continue;
            }
            if let Err(Left { offset: left, .. }) = elimination.add(&constraint.terms, offset[k], is_prescribed) {
                let name = compiled.model.coupled.names[constraint.element].clone();
                let others: Vec<&str> = compiled.model.coupled.constraints[..k]
                    .iter()
                    .filter(|other| other.terms.iter().any(|a| constraint.terms.iter().any(|b| a.0 == b.0)))
                    .map(|other| compiled.model.coupled.names[other.element].as_str())
                    .collect();
                let prescribed_joints = constraint
                    .terms
                    .iter()
                    .filter(|term| is_prescribed(term.0))
                    .map(|term| compiled.model.tree.joint_names[joint_of[term.0]].as_str());
                let prescribed_joints: Vec<&str> = prescribed_joints.collect();
                if prescribed_joints.len() == constraint.terms.len() {
                    let have = if prescribed_joints.len() == 1 { "has" } else { "have" };
                    let reason = format!(
                        "{} {have} a `Motion` already, which leaves it nothing to move",
                        list(&prescribed_joints)
                    );
                    return Err(Error::Coupling { name, reason });
                }
                let with: Vec<&str> = others.into_iter().chain(prescribed_joints).collect();
                let size = constraint.terms.iter().map(|&(v, c)| (c * xi[v]).abs()).sum::<f64>() + offset[k].abs();
                let is_consistent = constraint.offset.is_none() || left.abs() <= 1e-9 * size;
                let reason = if is_consistent {
                    let imply = if with.len() == 1 { "implies" } else { "imply" };
                    format!("it is redundant: {} {imply} it already; take one of them out", list(&with))
                } else {
                    format!("it contradicts {}: no positions satisfy them together", list(&with))
                };
                return Err(Error::Coupling { name, reason });
            }
        }
        elimination.finish(coordinates, xi, |_| false);
        self.refuse_locked()
    }

    /// Refuses couplings that immobilise a joint: several that contradict one another (two gears of different ratio
    /// between the same joints), or one with that joint alone.
    fn refuse_locked(&self) -> Result<(), Error> {
        let Self { compiled, coordinates, .. } = self;
        let Model { joint_of, .. } = &*compiled.model;
        let locked: Vec<usize> = coordinates.immovable().collect();
        let touches =
            |constraint: &&crate::coupled::ConstraintRow| constraint.terms.iter().any(|term| locked.contains(&term.0));
        let mut of_them: Vec<_> = compiled.model.coupled.constraints.iter().filter(touches).collect();
        let name =
            |constraint: &crate::coupled::ConstraintRow| compiled.model.coupled.names[constraint.element].as_str();
        if let Some((constraint, v)) = of_them
            .iter()
            .find_map(|constraint| if let [(v, _)] = constraint.terms[..] { Some((constraint, v)) } else { None })
        {
            let reason = format!(
                "it leaves `{}` no motion: make the joint `Fixed`",
                compiled.model.tree.joint_names[joint_of[v]]
            );
            return Err(Error::Coupling { name: name(constraint).to_owned(), reason });
        }
        let Some(last) = of_them.pop() else { return Ok(()) };
        let others: Vec<&str> = of_them.into_iter().map(name).collect();
        let joints: Vec<&str> = locked.iter().map(|&v| compiled.model.tree.joint_names[joint_of[v]].as_str()).collect();
        let reason = if others.is_empty() {
            format!("its coefficients are of such different magnitude that rounding locks {}", list(&joints))
        } else {
            format!("it contradicts {}: together they lock {}", list(&others), list(&joints))
        };
        Err(Error::Coupling { name: name(last).to_owned(), reason })
    }

    /// Whether a contact is stuck: locked by its own friction.
    pub(super) fn sticks(&self, c: usize) -> bool {
        let contact = &self.compiled.inputs.contacts[c];
        // an impulse overcomes the friction of a contact under a given, finite load
        let can_hold = !self.is_impulsive || contact.bearing.is_some();
        contact.is_event_driven() && self.state.mode[c] == Mode::Stuck && !self.is_prescribed(c) && can_hold
    }

    /// Whether the motion of a contact is prescribed.
    pub(super) fn is_prescribed(&self, c: usize) -> bool {
        self.state.prescribed_contacts[c]
    }

    /// Positions from chart coordinates.
    pub(super) fn place(&mut self) -> Result<(), bristle_multibody::Error> {
        chart_point(&self.compiled.model.tree, &self.state.q_ref, &self.point.xi, &mut self.point.q)
    }
}

/// The quoted names as part of a sentence.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

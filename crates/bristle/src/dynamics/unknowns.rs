//! The unknowns in their order: positions and velocities of the active joints, accelerations in the jerk form, states
//! of the friction laws, integrals of the controllers.

use super::Dynamics;
use super::failure::Failure;
use crate::constraint::coordinates::{lock, sticks};
use crate::solver::Formulation;
use bristle_friction::FrictionLaw;
use bristle_multibody::chart_point;

impl Dynamics {
    /// Unknowns per velocity: 3 in the jerk form.
    pub(crate) fn per_velocity(&self) -> usize {
        if self.scheme.formulation == Formulation::Jerk { 3 } else { 2 }
    }

    /// Number of unknowns with `n` velocities among them.
    pub(crate) fn n_unknowns(&self, n: usize) -> usize {
        let n_states: usize = self.compiled.inputs.contacts.iter().map(|contact| contact.law.n_states()).sum();
        self.per_velocity() * n + n_states + self.point.integral.len() + self.n_multipliers()
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
        let other = joints.nth(k - self.per_velocity() * n);
        let multiplier = || {
            let row = self.loops.selected.get((k + self.n_multipliers()).checked_sub(self.n_unknowns(n))?)?;
            let closure = &self.compiled.model.coupled.closures[self.loops.closure_of(*row)];
            Some(("multiplier", closure.bodies[0].max(closure.bodies[1])))
        };
        other.or_else(multiplier).unwrap_or(("unknown", 0))
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
    pub(crate) fn steepest(&self, k: usize) -> Option<usize> {
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
    pub(crate) fn scatter(&mut self, t: f64, y: &[f64]) {
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
        if self.is_constrained() {
            self.scatter_multipliers(&y[next + n_integrals..]);
        } else if self.loops.is_any() {
            // the positions of `RealTime` are closed
            if !self.is_real_time() {
                self.close_loops();
            }
        } else {
            self.coordinates.positions(&mut self.point.xi);
        }
        self.coordinates.rates(&mut self.point.v);
        if self.scheme.formulation == Formulation::Jerk {
            self.coordinates.rates(&mut self.point.a);
        }
    }

    /// Whether the arrays hold the results of the last right-hand side, and that was at (t, y).
    pub(crate) fn knows(&self, t: f64, y: &[f64]) -> bool {
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
    pub(crate) fn gather(&self, y: &mut [f64]) {
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
        let end = next + self.point.integral.len();
        y[next..end].copy_from_slice(&self.point.integral);
        let multipliers = self.loops.selected.iter().filter(|_| self.is_constrained());
        y[end..].iter_mut().zip(multipliers).for_each(|(y, &row)| *y = self.point.closure_force[row]);
    }

    /// Position, velocity and acceleration of the joints whose motion is prescribed.
    pub(crate) fn prescribe(&mut self, t: f64) {
        for (prescribed, jerk) in self.compiled.model.prescribed.iter().zip(&mut self.point.drive_jerk) {
            let signal = self.compiled.inputs.drives[prescribed.drive].signal().sample(t, self.state.piece);
            self.point.xi[prescribed.v] = signal.value;
            self.point.v[prescribed.v] = signal.derivative;
            self.point.a[prescribed.v] = signal.second_derivative;
            *jerk = signal.third_derivative;
        }
    }

    /// Copies the accelerations from the rates of the unknowns, `dy`.
    pub(crate) fn take_accelerations(&mut self, dy: &[f64]) {
        let n = self.coordinates.active.len();
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            self.point.a[i] = dy[n + k];
        }
        self.coordinates.accelerations(&mut self.point.a);
    }

    /// Finds the coordinates of the present modes: see [`lock`].
    pub(crate) fn lock(&mut self) {
        self.lock_if(true);
    }

    /// The same as if no contact stuck.
    pub(crate) fn unlock(&mut self) {
        self.lock_if(false);
    }

    fn lock_if(&mut self, may_stick: bool) {
        if self.loops.is_any() && !self.is_constrained() {
            return self.lock_loops(may_stick, |_| true);
        }
        let Self { compiled, scheme, state, point, coordinates, constraints, .. } = self;
        lock((compiled, scheme), state, point, coordinates, &mut constraints.elimination, may_stick);
    }

    /// Whether a contact is stuck: see [`sticks`].
    pub(crate) fn sticks(&self, c: usize) -> bool {
        sticks((&self.compiled, &self.scheme), &self.state, c)
    }

    /// Whether the motion of a contact is prescribed.
    pub(crate) fn is_prescribed(&self, c: usize) -> bool {
        self.state.prescribed_contacts[c]
    }

    /// Positions from chart coordinates, and the drift of loops.
    pub(crate) fn place(&mut self) -> Result<(), Failure> {
        chart_point(&self.compiled.model.tree, &self.state.q_ref, &self.point.xi, &mut self.point.q)?;
        if !self.loops.is_any() || self.is_real_time() || self.is_constrained() {
            return Ok(());
        }
        self.drift_loops()?;
        if self.scheme.formulation == Formulation::Jerk {
            self.coordinates.accelerations(&mut self.point.a);
        }
        Ok(())
    }
}

//! The unknowns and their order: positions and velocities that are free, accelerations where they are integrated, states of the
//! laws, integrals of the controllers.

use super::machine::Machine;
use crate::scene::Formulation;
use bristle_friction::{FrictionLaw, Mode};
use bristle_multibody::chart_point;

impl Machine {
    /// Unknowns per velocity: 3 where accelerations are integrated too.
    pub(super) fn per_velocity(&self) -> usize {
        if self.formulation == Formulation::Jerk { 3 } else { 2 }
    }

    /// Number of unknowns with `n` velocities among them.
    pub(super) fn n_unknowns(&self, n: usize) -> usize {
        let n_states: usize = self.compiled.contacts.iter().map(|contact| contact.law.n_states()).sum();
        self.per_velocity() * n + n_states + self.integral.len()
    }

    /// Unknown number `k` in words, and its joint.
    pub(crate) fn unknown(&self, k: usize) -> (&'static str, usize) {
        let n = self.active.len();
        if k < self.per_velocity() * n {
            return (["position", "velocity", "acceleration"][k / n], self.joint_of[self.active[k % n]]);
        }
        let states = self.compiled.contacts.iter().flat_map(|c| (0..c.law.n_states()).map(move |_| c.joint));
        let integrals = self.compiled.drives.iter().filter(|d| d.has_integral()).map(|d| d.joint);
        let mut joints = states.map(|j| ("bristle state", j)).chain(integrals.map(|j| ("integral", j)));
        joints.nth(k - self.per_velocity() * n).unwrap_or(("unknown", 0))
    }

    /// Unknowns to arrays; what is stuck keeps its place, what is driven goes where it is told.
    pub(super) fn scatter(&mut self, t: f64, y: &[f64]) {
        self.known = None;
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            self.xi[i] = y[k];
            self.v[i] = y[n + k];
        }
        if self.formulation == Formulation::Jerk {
            for (k, &i) in self.active.iter().enumerate() {
                self.a[i] = y[2 * n + k];
            }
        }
        let mut next = self.per_velocity() * n;
        for (state, contact) in self.state.iter_mut().zip(&self.compiled.contacts) {
            for s in &mut state[..contact.law.n_states()] {
                *s = y[next];
                next += 1;
            }
        }
        let n_integrals = self.integral.len();
        self.integral.copy_from_slice(&y[next..next + n_integrals]);
        self.prescribe(t);
    }

    /// Whether the arrays hold what the right-hand side found at (t, y), the last that was looked at.
    pub(super) fn knows(&self, t: f64, y: &[f64]) -> bool {
        let (n, m) = (self.active.len(), self.per_velocity());
        let is_jerk = self.formulation == Formulation::Jerk;
        let same = |k: usize, i: usize| self.xi[i] == y[k] && self.v[i] == y[n + k];
        self.known == Some(t)
            && self.active.iter().enumerate().all(|(k, &i)| same(k, i) && (!is_jerk || self.a[i] == y[2 * n + k]))
            && (self.state.iter().zip(&self.compiled.contacts))
                .flat_map(|(state, contact)| &state[..contact.law.n_states()])
                .chain(&self.integral)
                .eq(&y[m * n..])
    }

    /// Arrays to unknowns.
    pub(super) fn gather(&self, y: &mut [f64]) {
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            y[k] = self.xi[i];
            y[n + k] = self.v[i];
        }
        if self.formulation == Formulation::Jerk {
            for (k, &i) in self.active.iter().enumerate() {
                y[2 * n + k] = self.a[i];
            }
        }
        let mut next = self.per_velocity() * n;
        for (state, contact) in self.state.iter().zip(&self.compiled.contacts) {
            for s in &state[..contact.law.n_states()] {
                y[next] = *s;
                next += 1;
            }
        }
        y[next..next + self.integral.len()].copy_from_slice(&self.integral);
    }

    /// Position, velocity and acceleration of the joints whose motion is prescribed.
    pub(super) fn prescribe(&mut self, t: f64) {
        for driven in &mut self.driven {
            let signal = self.compiled.drives[driven.drive].signal().sample(t, self.piece);
            self.xi[driven.v] = signal.value;
            self.v[driven.v] = signal.derivative;
            self.a[driven.v] = signal.second_derivative;
            driven.jerk = signal.third_derivative;
        }
    }

    /// Accelerations as they stand in rates of the unknowns, `dy`.
    pub(super) fn take_accelerations(&mut self, dy: &[f64]) {
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            self.a[i] = dy[n + k];
        }
    }

    /// Which joints are stuck, and so which velocities are unknowns.
    pub(super) fn lock(&mut self) {
        self.known = None;
        self.held.fill(false);
        self.is_stuck = false;
        for driven in &self.driven {
            self.held[driven.joint] = true;
        }
        for (contact, mode) in self.compiled.contacts.iter().zip(&self.mode) {
            if contact.is_event_driven() && *mode == Mode::Stuck && !self.held[contact.joint] {
                self.held[contact.joint] = true;
                self.is_stuck = true;
                self.v[contact.v] = 0.0;
                self.a[contact.v] = 0.0;
            }
        }
        self.active.clear();
        self.active.extend((0..self.v.len()).filter(|&k| !self.held[self.joint_of[k]]));
    }

    /// Whether a contact is stuck: locked by its own friction.
    pub(super) fn sticks(&self, c: usize) -> bool {
        let contact = &self.compiled.contacts[c];
        contact.is_event_driven() && self.mode[c] == Mode::Stuck && !self.is_driven(contact.joint)
    }

    pub(super) fn is_driven(&self, joint: usize) -> bool {
        self.driven.iter().any(|driven| driven.joint == joint)
    }

    /// Positions from chart coordinates.
    pub(super) fn place(&mut self) -> Result<(), bristle_multibody::Error> {
        chart_point(&self.compiled.model, &self.q_ref, &self.xi, &mut self.q)
    }
}

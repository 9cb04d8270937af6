//! The unknowns and their order: positions and velocities that are free, accelerations where they are integrated, states of the
//! laws, integrals of the controllers.

use super::machine::Machine;
use super::ties::Left;
use crate::error::Error;
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

    /// The joint of unknown number `k`, and the contact if it is a state of one.
    pub(crate) fn owner(&self, k: usize) -> (usize, Option<usize>) {
        let mut next = self.per_velocity() * self.active.len();
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            if (next..next + contact.law.n_states()).contains(&k) {
                return (contact.joint, Some(c));
            }
            next += contact.law.n_states();
        }
        (self.unknown(k).1, None)
    }

    /// Of the smooth laws that act on the velocity of unknown `k`, the one whose effort rises most with it.
    pub(super) fn steepest(&self, k: usize) -> Option<usize> {
        let place = k.checked_rem(self.active.len())?;
        let rise = |c: usize| {
            let contact = &self.compiled.contacts[c];
            if contact.is_event_driven() || contact.law.n_states() > 0 {
                return 0.0;
            }
            let own = |v: usize| self.ties.made_of(v).find(|made| made.0 == place).map_or(0.0, |made| made.1);
            let share = own(contact.v) - contact.b.map_or(0.0, own);
            let slip = contact.arm * contact.rate(&self.v);
            let slope = contact.law.implicit_step(0.0, slip, slip, self.state[c]).effort_v;
            share * share * contact.arm * contact.arm * self.load[c] * slope
        };
        let steepest = (0..self.compiled.contacts.len()).max_by(|&a, &b| rise(a).total_cmp(&rise(b)))?;
        (rise(steepest) > 0.0).then_some(steepest)
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
        self.ties.positions(&mut self.xi);
        self.ties.rates(&mut self.v);
        if self.formulation == Formulation::Jerk {
            self.ties.rates(&mut self.a);
        }
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
        self.ties.rates(&mut self.a);
    }

    /// Which joints are stuck, which coordinates depend on others, and so which velocities are unknowns.
    pub(super) fn lock(&mut self) {
        self.lock_if(true);
    }

    /// The same as if nothing stuck.
    pub(super) fn unlock(&mut self) {
        self.lock_if(false);
    }

    fn lock_if(&mut self, may_stick: bool) {
        let may_couple = may_stick && !self.is_impulsive;
        self.known = None;
        self.held.fill(false);
        self.is_stuck = false;
        for driven in &self.driven {
            self.held[driven.joint] = true;
        }
        for c in 0..self.mode.len() {
            if may_stick && self.sticks(c) {
                self.is_stuck = true;
                let contact = &self.compiled.contacts[c];
                if contact.b.is_none() {
                    self.held[contact.joint] = true;
                    self.v[contact.v] = 0.0;
                    self.a[contact.v] = 0.0;
                }
            }
        }
        let Self { compiled, ties, held, joint_of, driven, active, xi, v, a, mode, led, .. } = self;
        let is_known = |v: usize| held[joint_of[v]];
        if ties.is_coupled() {
            ties.clear();
            for (k, tie) in compiled.coupled.ties.iter().enumerate() {
                // implied by what is held already: it adds nothing
                let _ = ties.add(&tie.terms, ties.offset[k], is_known);
            }
            for ((contact, mode), led) in compiled.contacts.iter().zip(&*mode).zip(&*led) {
                let Some(b) = contact.b else { continue };
                if may_couple && contact.is_event_driven() && *mode == Mode::Stuck && !led {
                    let added = ties.add(&[(contact.v, 1.0), (b, -1.0)], xi[contact.v] - xi[b], is_known);
                    // a row between locked and prescribed joints alone binds nothing: they may be pulled apart
                    if added.map_or_else(|left| left.is_implied, |()| true) {
                        ties.group(contact.v, b);
                    }
                }
            }
            ties.finish(xi, |v| is_known(v) && !driven.iter().any(|driven| driven.v == v));
            ties.fill_active(active, is_known);
            ties.rates(v);
            ties.rates(a);
        } else {
            ties.fill_active(active, is_known);
        }
    }

    /// Right-hand sides of the ties; dependent joints that are left at 0 are put where they belong, others must be there.
    pub(super) fn begin_ties(&mut self) -> Result<(), Error> {
        if self.ties.is_coupled() {
            self.unlock_for_ties()?;
        }
        let is_led = |v: usize| self.driven.iter().any(|driven| driven.v == v);
        for (led, contact) in self.led.iter_mut().zip(&self.compiled.contacts) {
            *led =
                if self.ties.is_coupled() { self.ties.is_led(contact.v, contact.b, is_led) } else { is_led(contact.v) };
        }
        if self.ties.dependent.is_empty() {
            return Ok(());
        }
        let [xi_told, v_told, ..] = self.aside.lists();
        xi_told.clone_from(&self.xi);
        v_told.clone_from(&self.v);
        self.ties.positions(xi_told);
        self.ties.rates(v_told);
        for &d in &self.ties.dependent {
            for (given, (told, what)) in
                [&mut self.xi, &mut self.v].into_iter().zip([(&*xi_told, "position"), (&*v_told, "velocity")])
            {
                let size = self.ties.size(d, told, what == "position");
                let (given, told) = (&mut given[d], told[d]);
                // nine digits of what the couplings add up, whatever the units
                if (*given - told).abs() > 1e-9 * size && *given != 0.0 {
                    let coupled = &self.compiled.coupled;
                    let its = coupled.ties.iter().filter(|tie| tie.terms.iter().any(|term| term.0 == d));
                    let its: Vec<&str> = its.map(|tie| coupled.elements[tie.element].name.as_str()).collect();
                    let joint = self.compiled.model.joint_names[self.joint_of[d]].clone();
                    let couplings = list(&its);
                    return Err(Error::NotCoupled { joint, what, given: *given, required: told, couplings });
                }
                *given = told;
            }
        }
        Ok(())
    }

    /// Eliminates with the ties alone; refuses those that say nothing new, or what cannot be.
    fn unlock_for_ties(&mut self) -> Result<(), Error> {
        let Self { compiled, ties, driven, xi, v: v_given, joint_of, .. } = self;
        let is_led = |v: usize| driven.iter().any(|driven| driven.v == v);
        ties.clear();
        for (k, tie) in compiled.coupled.ties.iter().enumerate() {
            let sum = tie.terms.iter().map(|&(v, c)| c * xi[v]).sum();
            ties.offset[k] = tie.offset.unwrap_or(sum);
            // those that are left at 0 are put where the others want them
            let is_given = |v: usize| is_led(v) || xi[v] != 0.0 || v_given[v] != 0.0;
            if ties.add(&tie.terms, ties.offset[k], is_given).is_ok() {
                continue;
            }
            if let Err(Left { offset: left, .. }) = ties.add(&tie.terms, ties.offset[k], is_led) {
                let name = compiled.coupled.elements[tie.element].name.clone();
                let others: Vec<&str> = compiled.coupled.ties[..k]
                    .iter()
                    .filter(|other| other.terms.iter().any(|a| tie.terms.iter().any(|b| a.0 == b.0)))
                    .map(|other| compiled.coupled.elements[other.element].name.as_str())
                    .collect();
                let led = tie
                    .terms
                    .iter()
                    .filter(|term| is_led(term.0))
                    .map(|term| compiled.model.joint_names[joint_of[term.0]].as_str());
                let led: Vec<&str> = led.collect();
                if led.len() == tie.terms.len() {
                    let have = if led.len() == 1 { "has" } else { "have" };
                    let reason = format!("{} {have} a `Motion` already, which leaves it nothing to move", list(&led));
                    return Err(Error::Coupling { name, reason });
                }
                let with: Vec<&str> = others.into_iter().chain(led).collect();
                let size = tie.terms.iter().map(|&(v, c)| (c * xi[v]).abs()).sum::<f64>() + ties.offset[k].abs();
                let is_consistent = tie.offset.is_none() || left.abs() <= 1e-9 * size;
                let reason = if is_consistent {
                    let tie = if with.len() == 1 { "ties" } else { "tie" };
                    format!("it ties what {} {tie} already: take one of them out", list(&with))
                } else {
                    format!("it contradicts {}: no positions satisfy them together", list(&with))
                };
                return Err(Error::Coupling { name, reason });
            }
        }
        ties.finish(xi, |_| false);
        self.refuse_locked()
    }

    /// Ties that leave a joint no motion at all (two gears of different ratio between the same joints) contradict one another, or one is of that
    /// joint alone.
    fn refuse_locked(&self) -> Result<(), Error> {
        let Self { compiled, ties, joint_of, .. } = self;
        let locked: Vec<usize> = ties.immovable().collect();
        let touches = |tie: &&crate::coupled::Tie| tie.terms.iter().any(|term| locked.contains(&term.0));
        let mut of_them: Vec<_> = compiled.coupled.ties.iter().filter(touches).collect();
        let name = |tie: &crate::coupled::Tie| compiled.coupled.elements[tie.element].name.as_str();
        if let Some((tie, v)) =
            of_them.iter().find_map(|tie| if let [(v, _)] = tie.terms[..] { Some((tie, v)) } else { None })
        {
            let reason =
                format!("it leaves `{}` no motion: make the joint `Fixed`", compiled.model.joint_names[joint_of[v]]);
            return Err(Error::Coupling { name: name(tie).to_owned(), reason });
        }
        let Some(last) = of_them.pop() else { return Ok(()) };
        let others: Vec<&str> = of_them.into_iter().map(name).collect();
        let joints: Vec<&str> = locked.iter().map(|&v| compiled.model.joint_names[joint_of[v]].as_str()).collect();
        let reason = if others.is_empty() {
            format!("its coefficients are so far apart that rounding lets {} not move at all", list(&joints))
        } else {
            format!("it contradicts {}: together they let {} not move at all", list(&others), list(&joints))
        };
        Err(Error::Coupling { name: name(last).to_owned(), reason })
    }

    /// Whether a contact is stuck: locked by its own friction.
    pub(super) fn sticks(&self, c: usize) -> bool {
        let contact = &self.compiled.contacts[c];
        // impulses tear loose what holds by a given load
        let can_hold = !self.is_impulsive || contact.bearing.is_some();
        contact.is_event_driven() && self.mode[c] == Mode::Stuck && !self.is_led(c) && can_hold
    }

    /// Whether the motion of a contact is prescribed.
    pub(super) fn is_led(&self, c: usize) -> bool {
        self.led[c]
    }

    /// Positions from chart coordinates.
    pub(super) fn place(&mut self) -> Result<(), bristle_multibody::Error> {
        chart_point(&self.compiled.model, &self.q_ref, &self.xi, &mut self.q)
    }
}

/// Names in a sentence.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}

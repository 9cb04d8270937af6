//! Rows of a recording, made from the interpolant of a run.

use super::ledger::{Ledger, Past, ledger};
use crate::dynamics::Snapshot;
use crate::error::{Error, Result};
use crate::model::Contact;
use crate::record::{Event, EventKind, Record, Samples, channels};
use crate::stick_slip::Machine;
use bristle_friction::FrictionLaw;
use bristle_integrate::{FiredEvent, Sink};

/// Friction and load of a contact, its mode where it has one, its bristles.
fn push_contact(row: &mut Vec<f64>, system: &Machine, state: &Snapshot, c: usize, contact: &Contact) {
    row.extend([system.dynamics.friction()[c], system.dynamics.loads()[c]]);
    if contact.is_event_driven() {
        row.push(system.dynamics.modes()[c].direction());
    }
    let bristle = state.bristles[c];
    row.extend_from_slice(&[bristle.z, bristle.w][..contact.law.n_states()]);
}

/// Channels of joints and couplings, without time and energies. Heat is that of `quad` and `past`.
pub(super) fn push_channels(row: &mut Vec<f64>, system: &Machine, state: &Snapshot, quad: &[f64], past: &Past) {
    let compiled = system.dynamics.compiled();
    let (model, a) = (&compiled.model.tree, system.dynamics.accelerations());
    let mut contacts = compiled.inputs.frictions().iter().enumerate().peekable();
    let mut drives = compiled.inputs.drives.iter().peekable();
    let mut limits = compiled.inputs.effort_limits.iter().peekable();
    let mut heats = compiled.model.heated.iter().zip(quad[2..].iter().zip(&past.quad[2..])).peekable();
    for i in 1..model.n_bodies() {
        row.extend_from_slice(&state.mechanics.q[model.q_range(i)]);
        row.extend_from_slice(&state.mechanics.v[model.v_range(i)]);
        row.extend_from_slice(&a[model.v_range(i)]);
        if let Some(drive) = drives.next_if(|drive| drive.joint == i) {
            row.push(system.dynamics.drive_effort(state.mechanics.t, drive.v));
        }
        if let Some(limit) = limits.next_if(|limit| limit.joint == i) {
            row.push(system.dynamics.acting_effort(state.mechanics.t, limit.v));
        }
        if let Some((c, contact)) = contacts.next_if(|(_, c)| c.joint == i && c.element.is_none()) {
            push_contact(row, system, state, c, contact);
        }
        if let Some(c) = compiled.with_stops().find(|&c| compiled.inputs.contacts[c].joint == i) {
            row.push(system.dynamics.stop_efforts()[c]);
        }
        if let Some((_, (now, past))) = heats.next_if(|heat| *heat.0 == i) {
            row.push(now + past);
        }
    }
    let heat = |k: usize| {
        let k = 2 + compiled.model.heat_of_element(k);
        quad[k] + past.quad[k]
    };
    let coupled = &compiled.model.coupled;
    for k in 0..coupled.names.len() {
        if let Some(constraint) = coupled.constraints.iter().position(|constraint| constraint.element == k) {
            row.push(system.dynamics.constraint_forces()[constraint]);
        } else if let Some(c) = compiled.inputs.contacts.iter().position(|contact| contact.element == Some(k)) {
            let contact = &compiled.inputs.contacts[c];
            row.extend(system.dynamics.relative(contact.v, contact.b));
            push_contact(row, system, state, c, contact);
            row.push(heat(k));
        } else if let Some(s) = coupled.springs.iter().position(|spring| spring.element == k) {
            row.extend(system.dynamics.relative(coupled.springs[s].a, Some(coupled.springs[s].b)));
            row.extend([system.dynamics.spring_effort(s), heat(k)]);
        }
    }
}

/// A sink that makes rows from the interpolant.
pub(super) struct Recorder<'r> {
    output: &'r mut dyn Record,
    past: Past,
    samples: Samples,
    /// Number of the instant after `next`.
    k: u64,
    next: f64,
    end: f64,
    state: Snapshot,
    row: Vec<f64>,
    /// The output has ended the run.
    is_stopped: bool,
    error: Option<Error>,
}

impl<'r> Recorder<'r> {
    /// Rows over a span of time, its start included.
    pub fn new(
        output: &'r mut dyn Record,
        past: Past,
        samples: Samples,
        state: &Snapshot,
        span: std::ops::Range<f64>,
    ) -> Self {
        let (k, next, end) = (samples.after(span.start), span.start, span.end);
        Recorder {
            output,
            past,
            samples,
            k,
            next,
            end,
            state: state.clone(),
            row: vec![],
            is_stopped: false,
            error: None,
        }
    }

    /// The first error of recording.
    pub fn into_error(self) -> Option<Error> {
        self.error
    }

    /// The instant after `next`: the last one is the end, exactly.
    pub fn plan(&mut self) {
        if self.next >= self.end || self.samples.is_every_step() {
            self.next = f64::INFINITY;
            return;
        }
        let at = self.samples.at(self.k);
        self.k = self.k.saturating_add(1);
        self.next = if at >= self.end || self.samples.coincide(at, self.end) { self.end } else { at };
    }

    fn record(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) -> Result<()> {
        let Self { state, row, past, .. } = self;
        system.evaluate_at(t, y)?;
        system.dynamics.store(t, state);
        let ledger = ledger(system, state, quad, past)?;
        row.clear();
        row.push(t);
        push_channels(row, system, state, quad, past);
        let Ledger { kinetic, potential, elastic, bristle, load, input, dissipated, balance } = ledger;
        row.extend([kinetic, potential, elastic, bristle, load, input, dissipated, balance]);
        // rows that are not finite could not be read back
        if let Some(k) = row.iter().position(|x| !x.is_finite()) {
            let what = format!("`{}`", channels(system.dynamics.compiled())[k]);
            return Err(Error::NotFinite { t, what });
        }
        self.output.row(row)
    }

    fn note_changes(&mut self, system: &Machine, t: f64) {
        let compiled = system.dynamics.compiled();
        for change in system.dynamics.changes() {
            let joint = compiled.contact_name(change.contact).to_owned();
            let (from, to, kind) = (change.from, change.to, EventKind::Mode);
            let recorded = self.output.event(Event { t, joint, from, to, kind });
            self.error = self.error.take().or(recorded.err());
        }
        for change in system.dynamics.stop_changes() {
            let joint = compiled.contact_name(change.contact).to_owned();
            let (from, to, kind) = (change.from, change.to, EventKind::of_stop(change));
            let recorded = self.output.event(Event { t, joint, from, to, kind });
            self.error = self.error.take().or(recorded.err());
        }
    }
}

impl Sink<Machine> for Recorder<'_> {
    fn next_sample(&self) -> f64 {
        self.next
    }

    fn sample(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) {
        if self.error.is_none() {
            self.error = self.record(system, t, y, quad).err();
        }
        self.plan();
    }

    fn step(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) {
        if self.samples.is_every_step() && self.error.is_none() {
            self.error = self.record(system, t, y, quad).err();
        }
        if system.dynamics.is_real_time() {
            // a real-time step has no events: its mode changes are recorded at its end
            self.note_changes(system, t);
        }
        self.is_stopped |= self.output.step(t).is_break();
    }

    fn event(&mut self, system: &mut Machine, t: f64, _y: &[f64], _quad: &[f64], _fired: &[FiredEvent]) {
        self.note_changes(system, t);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped || self.error.is_some() || self.output.is_stopped()
    }
}

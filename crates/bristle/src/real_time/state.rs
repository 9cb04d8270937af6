//! The state of `RealTime` between steps: what a snapshot holds and a refused event restores.

use super::RealTime;
use super::stops::Memory;
use bristle_integrate::archive::{Archive, Archived};

/// State of the method between steps: a rollback copies it.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    last_effort: Vec<f64>,
    last_acceleration: Vec<f64>,
    bristle_load: Vec<f64>,
    offsets: Vec<f64>,
    stuck: Vec<bool>,
    stops: Vec<Memory>,
}

impl Archived for RealTime {
    /// The warm start of the next step, loads of bent bristles, offsets of dependent positions, stuck contacts, stops.
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.solver.last_effort.archive(archive);
        self.last_acceleration.archive(archive);
        self.contacts.bristle_load.archive(archive);
        self.coordinates.couplings.iter_mut().for_each(|dependent| dependent.offset.archive(archive));
        self.rigid_groups.archive(archive);
        self.stops.memory.iter_mut().for_each(|memory| memory.archive(archive));
    }
}

impl RealTime {
    /// Copies the state between steps.
    pub fn save(&self, into: &mut State) {
        into.last_effort.clone_from(&self.solver.last_effort);
        into.last_acceleration.clone_from(&self.last_acceleration);
        into.bristle_load.clone_from(&self.contacts.bristle_load);
        into.offsets.clear();
        into.offsets.extend(self.coordinates.couplings.iter().map(|dependent| dependent.offset));
        into.stuck.clear();
        into.stuck.extend_from_slice(self.rigid_groups.stuck());
        into.stops.clone_from(&self.stops.memory);
    }

    /// Copies it back.
    pub fn restore(&mut self, from: &State) {
        self.solver.last_effort.clone_from(&from.last_effort);
        self.last_acceleration.clone_from(&from.last_acceleration);
        self.contacts.bristle_load.clone_from(&from.bristle_load);
        self.coordinates.couplings.iter_mut().zip(&from.offsets).for_each(|(dependent, at)| dependent.offset = *at);
        self.rigid_groups.set_stuck(|c| from.stuck[c]);
        self.stops.memory.clone_from(&from.stops);
    }
}

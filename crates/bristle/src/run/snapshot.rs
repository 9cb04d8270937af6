//! A run as bytes.
//!
//! ```text
//!     "bristle\n" | version | fingerprint | length | checksum | inputs | memory
//! ```
//!
//! Words of eight bytes, little-endian. The *fingerprint* identifies links, joints, method, tolerances and formulation:
//! a snapshot can be restored into a simulation of the same description, in this process or another one. *SavedInputs*:
//! efforts, wrenches, dampers, springs, laws, loads and drives; of a custom law its name, and the simulation must have
//! a law of that name in that place. *Memory*: time, states, modes, energies, and all data that the next step uses,
//! from the step-size controller and the factors of an implicit stepper to the start values of Newton's method. The run
//! therefore continues bit for bit as without the snapshot.
//!
//! The checksum is FNV-1a, 64 bits: h ← (h xor byte) · p with p odd, one to one in h and in the byte, so that it
//! detects every change within one byte, and any other change except once in 2⁶⁴.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::inputs::{Parameters, SavedInputs};
use super::ledger::Past;
use super::settings::Solver;
use super::{Pending, Run};
use crate::dynamics::Snapshot;
use crate::error::{Error, Result};
use crate::model::Contact;
use bristle_friction::FrictionLaw;
use bristle_integrate::System;
use bristle_integrate::archive::{Archive, Archived};
use std::fmt::Write;

const MAGIC: [u8; 8] = *b"bristle\n";
const VERSION: u64 = 9;
/// Why bytes with the right checksum are refused.
#[cfg(feature = "scene")]
const UNFIT: &str = "its parts do not fit together";
#[cfg(not(feature = "scene"))]
const UNFIT: &str = "its parts do not fit together, or its friction or drives are not those that act: this program \
    was built \
                     without the feature `scene`, by which snapshots hold them";
/// Magic, version, fingerprint, length, checksum.
const HEADER: usize = 40;

impl Archived for SavedInputs {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { effort, offset, damping, springs, wrenches, parameters } = self;
        archive.list(effort);
        archive.list(offset);
        archive.list(damping);
        archive.list(springs);
        archive.list(wrenches);
        archive_parameters(parameters, archive);
    }
}

/// Friction and drives as RON.
#[cfg(feature = "scene")]
fn archive_parameters(parameters: &mut Parameters, archive: &mut Archive<'_>) {
    let mut text =
        if archive.is_reading() { Vec::new() } else { ron::to_string(parameters).unwrap_or_default().into() };
    archive.bytes(&mut text);
    if archive.is_reading() {
        match ron::de::from_bytes(&text) {
            Ok(read) => *parameters = read,
            Err(_) => archive.refuse(),
        }
    }
}

/// Without RON: friction and drives are compared with the present ones, and stay.
#[cfg(not(feature = "scene"))]
fn archive_parameters(parameters: &mut Parameters, archive: &mut Archive<'_>) {
    let present = format!("{parameters:?}").into_bytes();
    let mut text = if archive.is_reading() { Vec::new() } else { present.clone() };
    archive.bytes(&mut text);
    if text != present {
        archive.refuse();
    }
}

impl SavedInputs {
    /// The bytes for comparisons: −0.0 is not 0.0.
    pub(super) fn bits(&self) -> Vec<u8> {
        let mut archive = Archive::writing(Vec::new());
        self.clone().archive(&mut archive);
        archive.into_bytes()
    }
}

impl Archived for Past {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { initial, reaction_loaded, quad, heat, stats, counters } = self;
        initial.archive(archive);
        reaction_loaded.archive(archive);
        quad.archive(archive);
        heat.archive(archive);
        stats.archive(archive);
        counters.archive(archive);
    }
}

impl Run {
    /// Everything but scratch.
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { driver, system, state, past, pending, max_steps: _, y: _ } = self;
        driver.archive(archive);
        system.archive(archive);
        state.archive(archive);
        past.archive(archive);
        let mut has_inputs = matches!(pending, Pending::Inputs | Pending::Restart);
        let mut is_restart = pending.is_restart();
        has_inputs.archive(archive);
        is_restart.archive(archive);
        *pending = if is_restart { Pending::Failure } else { Pending::Nothing };
        if has_inputs {
            *pending = pending.with_inputs();
        }
    }

    /// Whether time and state are finite.
    fn is_finite(&self) -> bool {
        let Snapshot { mechanics, bristles, integrals, .. } = &self.state;
        let bristles = bristles.iter().flat_map(|bristle| [&bristle.z, &bristle.w]);
        let states = mechanics.q.iter().chain(&mechanics.v).chain(integrals).chain(bristles);
        [self.driver.t(), mechanics.t].iter().chain(self.driver.y()).chain(states).all(|x| x.is_finite())
    }

    /// As bytes: see the header of this file for their order.
    pub(super) fn write(&mut self, fingerprint: u64) -> Vec<u8> {
        let mut archive = Archive::writing(Vec::with_capacity(4096));
        let mut header = [u64::from_le_bytes(MAGIC), VERSION, fingerprint, 0, 0];
        header.iter_mut().for_each(|word| archive.word(word));
        SavedInputs::of(self.compiled()).archive(&mut archive);
        self.archive(&mut archive);
        let mut bytes = archive.into_bytes();
        let length = bytes.len() as u64;
        bytes[24..32].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&bytes);
        bytes[32..40].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// From bytes; returns whether inputs have changed. Other bytes are refused, and nothing changes.
    pub(super) fn read(&mut self, fingerprint: u64, bytes: &[u8]) -> Result<bool> {
        let refuse = |reason: &str| Err(Error::Snapshot { reason: reason.into() });
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
            return refuse("it is shorter than its own header");
        };
        let (words, _) = header.as_chunks::<8>();
        let [magic, version, print, length, sum] = std::array::from_fn(|k| u64::from_le_bytes(words[k]));
        if magic != u64::from_le_bytes(MAGIC) {
            return refuse("these bytes are no snapshot");
        }
        if version != VERSION {
            let reason = format!("it is of version {version}, this program reads version {VERSION}");
            return Err(Error::Snapshot { reason });
        }
        if length != bytes.len() as u64 || sum != checksum(bytes) {
            return refuse("its bytes are damaged: the checksum is another");
        }
        if print != fingerprint {
            return refuse("it is of another machine, or of another method, tolerance or formulation");
        }
        let mut archive = Archive::reading(body);
        let mut inputs = SavedInputs::of(self.compiled());
        inputs.archive(&mut archive);
        inputs.adopt_samples(self.compiled());
        if !inputs.fit(self.compiled()) {
            return refuse("its friction or drives are of another kind");
        }
        let before = self.write(fingerprint);
        let has_changed = self.set_inputs(&inputs);
        self.archive(&mut archive);
        if !(archive.is_good() && self.driver.fits(&self.system) && self.is_finite()) {
            // the checksum is right but the bytes cannot be read: back to the state before
            let mut archive = Archive::reading(&before[HEADER..]);
            inputs.archive(&mut archive);
            inputs.adopt_samples(self.compiled());
            self.set_inputs(&inputs);
            self.archive(&mut archive);
            return refuse(UNFIT);
        }
        self.y.resize(self.system.max_dim(), 0.0);
        Ok(has_changed)
    }
}

/// Identifies a machine and its solver.
pub(super) fn fingerprint(run: &Run, solver: &Solver) -> u64 {
    let compiled = run.compiled();
    let mut sum = Fnv::default();
    let shape = |c: &Contact| (c.joint, c.b, c.element, c.law.n_states(), c.is_event_driven(), c.stops);
    let contacts = compiled.inputs.contacts.iter().map(shape).collect::<Vec<_>>();
    let heated = (&compiled.model.heated, &compiled.model.heated_elements);
    let coupled = &compiled.model.coupled;
    let coupled = (&coupled.constraints, &coupled.springs, &coupled.closures);
    let Solver { options, control, formulation, kinks, constraints } = solver;
    let settings = (options, control, formulation, kinks, constraints, &compiled.inputs.effort_limits);
    // writing into a sum does not fail
    let _ = write!(sum, "{:?} {contacts:?} {heated:?} {coupled:?} {settings:?}", compiled.model.tree);
    sum.0
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.take(text.as_bytes());
        Ok(())
    }
}

/// Of everything but the checksum itself.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Fnv::default();
    sum.take(&bytes[..HEADER - 8]);
    sum.take(&bytes[HEADER..]);
    sum.0
}

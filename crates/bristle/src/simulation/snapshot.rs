//! A simulation as bytes, and back to the beginning.
//!
//! ```text
//!     "bristle\n" | version | fingerprint | length | checksum | what acts | memory
//! ```
//!
//! Words of eight bytes, little end first. The *fingerprint* tells links, joints, method, tolerances and formulation apart: a snapshot goes
//! back into a simulation of the same description, in this process or another one. *What acts*: efforts, wrenches, dampers,
//! springs, laws, loads and drives as they were. *Memory*: time, states, modes, energies, and everything that the next step would
//! have found in place, from the step-size controller and the factors of an implicit stepper to where Newton starts. So
//! the run goes on bit by bit as it would have without.
//!
//! The checksum is FNV-1a, 64 bits: h ← (h xor byte) · p with p odd, one to one in h and in the byte, so that a damage within one byte is
//! always seen, and any other but once in 2⁶⁴.

use super::{Past, Simulation, start};
use crate::compile::{Compiled, validate_friction};
use crate::component::{Damping, Drive, Effort, ExternalWrench, Friction, Load, Spring};
use crate::error::{Error, Result};
use crate::formulation::{Machine, Snapshot};
use bristle_friction::{FrictionLaw, Law};
use bristle_integrate::archive::{Archive, Archived};
use bristle_integrate::{Driver, System};
use bristle_multibody::spatial::Force;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

const MAGIC: [u8; 8] = *b"bristle\n";
const VERSION: u64 = 6;
/// Magic, version, fingerprint, length, checksum.
const HEADER: usize = 40;

/// Where it all began.
pub(super) struct Beginning {
    state: Snapshot,
    acts: Acts,
}

impl Beginning {
    /// What [`Simulation::reset`] goes back to: the state as it was given, bit by bit.
    pub fn new(state: &Snapshot, compiled: &Compiled) -> Self {
        Self { state: state.clone(), acts: Acts::of(compiled) }
    }

    /// The same for a machine of the same joints that has got other friction or drives: these stay.
    pub fn of_another(&self, old: &Compiled, new: &Compiled) -> Option<Self> {
        if old.model.joint_names != new.model.joint_names || old.model.kinds != new.model.kinds {
            return None;
        }
        let mut state = Snapshot::rest(new);
        state.mechanics.clone_from(&self.state.mechanics);
        for (c, bristle) in state.bristles.iter_mut().enumerate() {
            let same = (0..old.contacts.len()).find(|&k| old.contact_name(k) == new.contact_name(c));
            if let Some(before) = same.and_then(|k| self.state.bristles.get(k)) {
                *bristle = *before;
            }
        }
        let acts = Acts { effort: self.acts.effort.clone(), ..Acts::of(new) };
        Some(Self { state, acts })
    }
}

/// What acts in a machine and may change between steps.
#[derive(Debug, Clone, PartialEq, Default)]
struct Acts {
    effort: Vec<f64>,
    damping: Vec<f64>,
    /// Stiffness and rest.
    springs: Vec<(f64, f64)>,
    /// Body and wrench.
    wrenches: Vec<(usize, [f64; 6])>,
    given: Given,
}

/// The part of it that is written as text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Given {
    friction: Vec<(Law, Load)>,
    drives: Vec<Drive>,
}

impl Acts {
    fn of(compiled: &Compiled) -> Self {
        let friction = compiled.contacts.iter().map(|contact| (contact.law.clone(), contact.load.clone())).collect();
        let drives = compiled.drives.iter().map(|drive| drive.drive.clone()).collect();
        Self {
            effort: compiled.effort.clone(),
            damping: compiled.dampers.iter().map(|damper| damper.damping).collect(),
            springs: compiled.springs.iter().map(|spring| (spring.stiffness, spring.rest)).collect(),
            wrenches: compiled.wrenches.iter().map(|w| (w.body, w.wrench.to_array())).collect(),
            given: Given { friction, drives },
        }
    }

    /// Whether they are of the kind that `compiled` has, and such that they can act.
    fn fit(&self, compiled: &Compiled) -> bool {
        let Self { effort, damping, springs, wrenches, given } = self;
        let same_law = |(law, load): &(Law, Load), contact: &crate::compile::Contact| {
            law.n_states() == contact.law.n_states()
                && law.event_driven().is_some() == contact.is_event_driven()
                && std::mem::discriminant(load) == std::mem::discriminant(&contact.load)
        };
        let same_drive = |drive: &Drive, at: &Drive| std::mem::discriminant(drive) == std::mem::discriminant(at);
        let model = &compiled.model;
        let is_free = |k: usize| model.v_range(model.joint_of_velocity(k)).len() != 1;
        effort.len() == compiled.effort.len()
            && effort.iter().enumerate().all(|(k, tau)| *tau == 0.0 || tau.is_finite() && !is_free(k))
            && damping.iter().all(|d| d.is_finite() && *d > 0.0)
            && springs.iter().all(|(k, rest)| k.is_finite() && *k >= 0.0 && rest.is_finite())
            && wrenches.iter().flat_map(|w| &w.1).all(|x| x.is_finite())
            && given.friction.iter().all(|(law, load)| validate_friction(law, load, String::new).is_ok())
            && damping.len() == compiled.dampers.len()
            && springs.len() == compiled.springs.len()
            && wrenches.iter().all(|(body, _)| (1..compiled.model.n_bodies()).contains(body))
            && given.friction.len() == compiled.contacts.len()
            && given.friction.iter().zip(&compiled.contacts).all(|(given, contact)| same_law(given, contact))
            && given.drives.len() == compiled.drives.len()
            && given
                .drives
                .iter()
                .zip(&compiled.drives)
                .all(|(drive, at)| same_drive(drive, &at.drive) && compiled.check_drive(at.joint, drive).is_ok())
    }

    /// Lets them act in the machine. Whether that is a change.
    fn put(&self, system: &mut Machine) -> bool {
        if Acts::of(system.compiled()) == *self {
            return false;
        }
        let Self { effort, damping, springs, wrenches, given } = self;
        let compiled = system.compiled_mut();
        compiled.effort.clone_from(effort);
        compiled.dampers.iter_mut().zip(damping).for_each(|(at, damping)| at.damping = *damping);
        compiled.springs.iter_mut().zip(springs).for_each(|(at, spring)| (at.stiffness, at.rest) = *spring);
        compiled.wrenches.clear();
        compiled.wrenches.extend(
            wrenches
                .iter()
                .map(|(body, wrench)| crate::compile::WrenchAt { body: *body, wrench: Force::from_array(*wrench) }),
        );
        for (contact, (law, load)) in compiled.contacts.iter_mut().zip(&given.friction) {
            (contact.law, contact.load) = (law.clone(), load.clone());
            if let Some((bearing, arm)) = crate::bearing::Bearing::of(load) {
                (contact.bearing, contact.arm) = (Some(bearing), arm);
            }
        }
        given.drives.iter().enumerate().for_each(|(k, drive)| system.set_drive(k, drive.clone()));
        system.apply_wrenches();
        true
    }

    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { effort, damping, springs, wrenches, given } = self;
        archive.list(effort);
        archive.list(damping);
        archive.list(springs);
        archive.list(wrenches);
        let mut text = if archive.is_reading() { Vec::new() } else { ron::to_string(given).unwrap_or_default().into() };
        archive.bytes(&mut text);
        if archive.is_reading() {
            match ron::de::from_bytes(&text) {
                Ok(read) => *given = read,
                Err(_) => archive.refuse(),
            }
        }
    }
}

impl Archived for Past {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { initial, pressed, quad, heat, stats, counters } = self;
        initial.archive(archive);
        pressed.archive(archive);
        quad.archive(archive);
        heat.archive(archive);
        stats.archive(archive);
        counters.archive(archive);
    }
}

/// What of a simulation lasts, in hand to be written or read.
pub(crate) struct Memory<'a> {
    pub driver: &'a mut Driver,
    pub system: &'a mut Machine,
    pub state: &'a mut Snapshot,
    pub past: &'a mut Past,
    pub is_pushed: &'a mut bool,
    pub must_begin: &'a mut bool,
}

impl Memory<'_> {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.driver.archive(archive);
        self.system.archive(archive);
        self.state.archive(archive);
        self.past.archive(archive);
        self.is_pushed.archive(archive);
        self.must_begin.archive(archive);
    }

    /// Whether time and state are numbers that a machine can have.
    fn is_finite(&self) -> bool {
        let Snapshot { mechanics, bristles, integrals, .. } = &*self.state;
        let bristles = bristles.iter().flat_map(|bristle| [&bristle.z, &bristle.w]);
        let states = mechanics.q.iter().chain(&mechanics.v).chain(integrals).chain(bristles);
        [self.driver.t(), mechanics.t].iter().chain(self.driver.y()).chain(states).all(|x| x.is_finite())
    }

    /// As bytes: see the header of this file for their order.
    pub fn write(&mut self, fingerprint: u64) -> Vec<u8> {
        let mut archive = Archive::writing(Vec::with_capacity(4096));
        let mut header = [u64::from_le_bytes(MAGIC), VERSION, fingerprint, 0, 0];
        header.iter_mut().for_each(|word| archive.word(word));
        Acts::of(self.system.compiled()).archive(&mut archive);
        self.archive(&mut archive);
        let mut bytes = archive.into_bytes();
        let length = bytes.len() as u64;
        bytes[24..32].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&bytes);
        bytes[32..40].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// From bytes; whether something else acts than before. Bytes that are no such snapshot are refused, and nothing has changed then.
    pub fn read(&mut self, fingerprint: u64, bytes: &[u8]) -> Result<bool> {
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
        let mut acts = Acts::default();
        acts.archive(&mut archive);
        if !acts.fit(self.system.compiled()) {
            return refuse("its friction or drives are of another kind");
        }
        let before = self.write(fingerprint);
        let has_changed = acts.put(self.system);
        self.archive(&mut archive);
        if !(archive.is_good() && self.driver.fits(&*self.system) && self.is_finite()) {
            // checked bytes that cannot be read: back to where it was
            let mut archive = Archive::reading(&before[HEADER..]);
            acts.archive(&mut archive);
            acts.put(self.system);
            self.archive(&mut archive);
            return refuse("its parts do not fit together");
        }
        Ok(has_changed)
    }
}

impl Simulation {
    fn memory(&mut self) -> Memory<'_> {
        let Self { driver, system, state, past, is_pushed, must_begin, .. } = self;
        Memory { driver, system, state, past, is_pushed, must_begin }
    }

    /// Everything, as bytes: see the header of this file for their order. What a caller has put into the world is looked at first, as
    /// the next step would.
    pub fn snapshot(&mut self) -> Result<Vec<u8>> {
        self.look_at_world()?;
        if self.is_stale {
            self.write_back()?;
        }
        let fingerprint = self.fingerprint();
        Ok(self.memory().write(fingerprint))
    }

    /// Goes on from a snapshot of this machine, whatever has happened since. Bytes that are no such snapshot are refused, and nothing
    /// has changed then.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.look_at_machine()?;
        let fingerprint = self.fingerprint();
        let before = self.memory().write(fingerprint);
        let has_changed = self.memory().read(fingerprint, bytes)?;
        if let Err(error) = self.show() {
            // numbers that no machine can have: back to where it was
            self.memory().read(fingerprint, &before)?;
            self.show()?;
            return Err(Error::Snapshot { reason: format!("what it holds cannot be shown: {error}") });
        }
        if has_changed || self.is_touched {
            self.show_acts();
        }
        self.forget_edits();
        Ok(())
    }

    /// A machine that a caller has changed is compiled again; states and what acts are not looked at, whatever they are.
    fn look_at_machine(&mut self) -> Result<()> {
        if self.is_touched && !self.compiled().is_current(&self.world) {
            // laws and drives of the same kind are no other machine
            self.look_at_world()?;
        }
        Ok(())
    }

    /// Back to where it was made, with everything that acted then: states, time, energies, costs. Refused where the machine has been
    /// given other links or joints since; friction and drives that were put on it stay.
    pub fn reset(&mut self) -> Result<()> {
        self.look_at_machine()?;
        let Some(beginning) = self.beginning.take() else {
            return Err(Error::Begun);
        };
        let result = self.begin_again(&beginning);
        self.beginning = Some(beginning);
        result
    }

    fn begin_again(&mut self, beginning: &Beginning) -> Result<()> {
        if beginning.acts.put(&mut self.system) || self.is_touched {
            self.show_acts();
        }
        let compiled = self.system.compiled().clone();
        let (mut system, driver) = start(compiled, &beginning.state, &self.options, (self.formulation, self.kinks))?;
        self.state.clone_from(&beginning.state);
        system.look(driver.t(), driver.y())?;
        system.store(driver.t(), &mut self.state);
        let stored = system.energies(&self.state)?;
        let quad = vec![0.0; system.n_quadratures()];
        self.past = Past { initial: stored.stored(), pressed: stored.pressed, quad, ..Past::default() };
        (self.system, self.driver) = (system, driver);
        (self.is_pushed, self.must_begin) = (false, false);
        self.forget_edits();
        self.write_back()
    }

    /// Whatever callers have changed since counts for nothing.
    fn forget_edits(&mut self) {
        self.events.clear();
        self.n_told = 0;
        self.y.resize(self.system.max_dim(), 0.0);
        (self.is_touched, self.is_moved, self.is_stale) = (false, false, false);
    }

    /// What acts in the machine goes onto the entities.
    fn show_acts(&mut self) {
        let compiled = self.system.compiled().clone();
        for (i, entity) in compiled.index.joints() {
            let range = compiled.model.v_range(i);
            if range.len() == 1
                && self.world.get::<&Effort>(entity).map_or(0.0, |e| e.0) != compiled.effort[range.start]
            {
                self.put(entity, Effort(compiled.effort[range.start]));
            }
        }
        for at in &compiled.dampers {
            if let Some(entity) = compiled.index.joint_entity(at.joint) {
                self.put(entity, Damping(at.damping));
            }
        }
        for at in &compiled.springs {
            let joint = compiled.model.joint_of_velocity(at.v);
            if let Some(entity) = compiled.index.joint_entity(joint) {
                self.put(entity, Spring { stiffness: at.stiffness, rest: at.rest });
            }
        }
        for (i, entity) in compiled.index.links() {
            match compiled.wrenches.iter().find(|w| w.body == i) {
                Some(w) => {
                    let [mx, my, mz, fx, fy, fz] = w.wrench.to_array();
                    let (moment, force) = (Vector3::new(mx, my, mz), Vector3::new(fx, fy, fz));
                    self.put(entity, ExternalWrench { moment, force });
                }
                None => {
                    let _ = self.world.remove_one::<ExternalWrench>(entity);
                }
            }
        }
        for (c, contact) in compiled.contacts.iter().enumerate() {
            if let Some(entity) = compiled.contact_entity(c) {
                self.put(entity, Friction(contact.law.clone()));
                if contact.load != Load::Unit {
                    self.put(entity, contact.load.clone());
                }
            }
        }
        for at in &compiled.drives {
            if let Some(entity) = compiled.index.joint_entity(at.joint) {
                self.put(entity, at.drive.clone());
            }
        }
        self.is_touched = false;
    }

    /// What the machine has found goes onto the entities as it is, without another look.
    fn show(&mut self) -> Result<()> {
        let Self { world, system, driver, state, heat, past, results, .. } = self;
        for (k, heat) in heat.iter_mut().enumerate() {
            *heat = driver.quadratures()[2 + k] + past.quad[2 + k];
        }
        results.put(world, system, state, heat)
    }

    pub(super) fn fingerprint(&mut self) -> u64 {
        if let Some(known) = self.fingerprint {
            return known;
        }
        let compiled = self.system.compiled();
        let mut sum = Fnv::default();
        let shape = |c: &crate::compile::Contact| (c.joint, c.b, c.element, c.law.n_states(), c.is_event_driven());
        let contacts = compiled.contacts.iter().map(shape).collect::<Vec<_>>();
        let heated = (&compiled.heated, &compiled.heated_elements);
        let coupled = (&compiled.coupled.ties, &compiled.coupled.springs);
        // writing into a sum does not fail
        let _ = write!(
            sum,
            "{:?} {contacts:?} {heated:?} {coupled:?} {:?} {:?} {:?}",
            compiled.model, self.options, self.formulation, self.kinks
        );
        self.fingerprint = Some(sum.0);
        sum.0
    }
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

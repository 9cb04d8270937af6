//! Snapshot, restore and reset of a simulation; `snapshot` defines the bytes.

use super::{Pending, Simulation, put};
use crate::dynamics::Snapshot;
use crate::error::{Error, Result};
use crate::model::Compiled;
use crate::run::Run;
use crate::run::inputs::SavedInputs;
use crate::run::snapshot::fingerprint;
use crate::world::component::{Damping, Effort, ExternalWrench, Friction, Load, Offset, Spring};
use nalgebra::Vector3;

/// State and inputs at the start of a simulation.
pub(super) struct Beginning {
    state: Snapshot,
    inputs: SavedInputs,
}

impl Beginning {
    /// The target of [`Simulation::reset`]: the given state, bit for bit.
    pub fn new(state: &Snapshot, compiled: &Compiled) -> Self {
        Self { state: state.clone(), inputs: SavedInputs::of(compiled) }
    }

    /// The same for a machine of the same joints with other friction or drives, which stay.
    pub fn of_another(&self, old: &Compiled, new: &Compiled) -> Option<Self> {
        if old.model.tree.joint_names != new.model.tree.joint_names || old.model.tree.kinds != new.model.tree.kinds {
            return None;
        }
        let mut state = Snapshot::rest(new);
        state.mechanics.clone_from(&self.state.mechanics);
        for (c, bristle) in state.bristles.iter_mut().enumerate() {
            let same = (0..old.inputs.frictions().len()).find(|&k| old.contact_name(k) == new.contact_name(c));
            if let Some(before) = same.and_then(|k| self.state.bristles.get(k)) {
                *bristle = *before;
            }
        }
        let inputs = SavedInputs { effort: self.inputs.effort.clone(), ..SavedInputs::of(new) };
        Some(Self { state, inputs })
    }
}

impl Simulation {
    /// The complete state as bytes: see the header of `run/snapshot.rs` for their order. Changes in the world are
    /// applied first, as in the next step.
    pub fn snapshot(&mut self) -> Result<Vec<u8>> {
        self.look_at_world()?;
        if self.pending == Pending::Results {
            self.write_back()?;
        }
        let fingerprint = self.fingerprint();
        Ok(self.run.write(fingerprint))
    }

    /// Continues from a snapshot of this machine, at any time. Other bytes are refused, and nothing changes.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.look_at_machine()?;
        let fingerprint = self.fingerprint();
        let before = self.run.write(fingerprint);
        let has_changed = self.run.read(fingerprint, bytes)?;
        if let Err(error) = self.show() {
            // the state cannot be evaluated: back to the state before
            self.run.read(fingerprint, &before)?;
            self.show()?;
            return Err(Error::Snapshot { reason: format!("its state cannot be evaluated: {error}") });
        }
        if has_changed || self.pending >= Pending::World {
            self.show_inputs();
        }
        self.forget_edits();
        Ok(())
    }

    /// Compiles a machine that a caller has changed again; states and inputs are not read.
    fn look_at_machine(&mut self) -> Result<()> {
        if self.pending >= Pending::World && !self.compiled().is_current(&self.world) {
            // laws and drives of the same kind need no compilation
            self.look_at_world()?;
        }
        Ok(())
    }

    /// Goes back to the start with the inputs of that time: states, time, energies, work counts. Refused where links or
    /// joints have changed since; friction and drives that were added stay.
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
        if self.run.set_inputs(&beginning.inputs) || self.pending >= Pending::World {
            self.show_inputs();
        }
        let max_steps = self.run.max_steps;
        self.run = Run::new(self.compiled().clone(), &beginning.state, &self.solver)?;
        self.run.max_steps = max_steps;
        self.forget_edits();
        self.write_back()
    }

    /// Discards pending changes by callers.
    fn forget_edits(&mut self) {
        self.events.clear();
        self.n_reported = 0;
        self.pending = Pending::Nothing;
    }

    /// Writes the inputs of the run to the entities.
    fn show_inputs(&mut self) {
        let (world, compiled) = (&mut self.world, self.run.compiled());
        for (i, entity) in compiled.model.index.joints() {
            let range = compiled.model.tree.v_range(i);
            let shown = world.get::<&Effort>(entity).map_or(0.0, |e| e.0);
            // by bits: −0.0 is not 0.0
            if range.len() == 1 && shown.to_bits() != compiled.inputs.effort[range.start].to_bits() {
                put(world, entity, Effort(compiled.inputs.effort[range.start]));
            }
        }
        for (i, entity) in compiled.model.index.joints() {
            let range = compiled.model.tree.v_range(i);
            let shown = world.get::<&Offset>(entity).map_or(0.0, |offset| offset.0);
            if range.len() == 1 && shown.to_bits() != compiled.inputs.offset[range.start].to_bits() {
                put(world, entity, Offset(compiled.inputs.offset[range.start]));
            }
        }
        for at in &compiled.inputs.dampers {
            if let Some(entity) = compiled.model.index.joint_entity(at.joint) {
                put(world, entity, Damping(at.damping));
            }
        }
        for at in &compiled.inputs.springs {
            let joint = compiled.model.tree.joint_of_velocity(at.v);
            if let Some(entity) = compiled.model.index.joint_entity(joint) {
                put(world, entity, Spring { stiffness: at.stiffness, rest: at.rest });
            }
        }
        for (i, entity) in compiled.model.index.links() {
            match compiled.inputs.wrenches.iter().find(|w| w.body == i) {
                Some(w) => {
                    let [mx, my, mz, fx, fy, fz] = w.wrench.to_array();
                    let (moment, force) = (Vector3::new(mx, my, mz), Vector3::new(fx, fy, fz));
                    put(world, entity, ExternalWrench { moment, force });
                }
                None => {
                    let _ = world.remove_one::<ExternalWrench>(entity);
                }
            }
        }
        for (c, contact) in compiled.inputs.frictions().iter().enumerate() {
            if let Some(entity) = compiled.contact_entity(c) {
                put(world, entity, Friction(contact.law.clone()));
                if contact.load != Load::Unit {
                    put(world, entity, contact.load.clone());
                }
            }
        }
        for at in compiled.inputs.drives.iter() {
            if let Some(entity) = compiled.model.index.joint_entity(at.joint) {
                put(world, entity, at.drive.clone());
            }
        }
    }

    pub(super) fn fingerprint(&mut self) -> u64 {
        *self.fingerprint.get_or_insert_with(|| fingerprint(&self.run, &self.solver))
    }
}

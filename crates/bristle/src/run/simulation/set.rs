//! Setters of a simulation: changes act from the next call on, and the machine is not compiled again where the kinds
//! stay the same. See [`simulation`](super) for when a change is visible.
//!
//! A law can be replaced by another with as many states, a load by another of its kind, a signal by any other. Bristles
//! keep their deflection z, and the energy that a change adds to them shifts the start of the ledger. Where the kind
//! changes, for example with the first friction of a joint, the machine is compiled again: the same motion, at the cost
//! of a restart.

use super::{Handle, Pending, Simulation, Target, put};
use crate::error::{Error, Result};
use crate::model::compile::{check_state, placement_of, twist_of, validate_friction};
use crate::run;
use crate::run::inputs::{check_efforts, is_same_kind};
use crate::world::component::{Drive, Effort, ExternalWrench, FreeState, Friction, JointState, Load};
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::JointKind;
use hecs::{Component, Entity};
use nalgebra::Vector3;
use std::mem::discriminant;

impl Simulation {
    /// Sets the effort on a revolute or prismatic joint, N·m or N: the same as its [`Effort`] component, without
    /// reading the rest of the world.
    pub fn set_effort(&mut self, joint: impl Handle, effort: f64) -> Result<()> {
        let (i, entity) = self.joint_number(joint)?;
        let model = &self.compiled().model.tree;
        let (JointKind::Revolute { .. } | JointKind::Prismatic { .. }) = model.kinds[i] else {
            let reason = "which belongs on revolute and prismatic joints";
            return Err(Error::Misplaced { name: model.joint_names[i].clone(), component: "Effort", reason });
        };
        let k = model.v_index[i];
        self.run.set_effort(k, effort)?;
        put(&mut self.world, entity, Effort(effort));
        Ok(())
    }

    /// Sets the efforts on all joints at once, in the order of [`Simulation::velocities`]; those of free joints, which
    /// take wrenches, must be 0.
    pub fn set_efforts(&mut self, efforts: &[f64]) -> Result<()> {
        check_efforts(&self.compiled().model.tree, efforts)?;
        for i in 1..self.compiled().model.tree.n_bodies() {
            let compiled = self.compiled();
            let (range, entity) = (compiled.model.tree.v_range(i), compiled.model.index.joint_entity(i));
            if let (1, Some(entity)) = (range.len(), entity) {
                self.set_effort(entity, efforts[range.start])?;
            }
        }
        Ok(())
    }

    /// Sets the target of the drive of a joint to a constant: the position of a `Pull` or `Pid`, the effort of an
    /// `Effort`. A prescribed `Motion` cannot jump and is refused.
    pub fn set_target(&mut self, joint: impl Handle, target: f64) -> Result<()> {
        let (i, entity) = self.joint_number(joint)?;
        let k = self.run.drive(i)?;
        self.run.set_target(k, target)?;
        if let Ok(place) = self.world.query_one_mut::<&mut Drive>(entity) {
            place.clone_from(&self.run.compiled().inputs.drives[k].drive);
        }
        Ok(())
    }

    /// Sets the wrench on a link: moment about its origin, N·m, and force, N, in link axes.
    pub fn set_wrench(&mut self, link: impl Handle, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        let (i, entity) = self.link_number(link)?;
        let ([mx, my, mz], [fx, fy, fz]) = (moment, force);
        self.run.set_wrench(i, [mx, my, mz, fx, fy, fz])?;
        let wrench = ExternalWrench { moment: Vector3::from(moment), force: Vector3::from(force) };
        put(&mut self.world, entity, wrench);
        Ok(())
    }

    /// Sets the wrench on a link in world axes: moment about its origin, N·m, and force, N. It is turned into the axes
    /// that the link has now, and turns with the link from then on: set it before each step where a force keeps its
    /// direction in the world.
    pub fn set_world_wrench(&mut self, link: impl Handle, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        self.refresh()?;
        let (i, _) = self.link_number(link)?;
        let [moment, force] = self.run.in_link_axes(i, moment, force)?;
        self.set_wrench(link, moment, force)
    }

    /// Sets the friction law of a joint or coupling. A law with bristles where there were none starts with steady ones;
    /// those of a replaced law are removed.
    pub fn set_friction(&mut self, of: impl Handle, law: impl Into<Law>) -> Result<()> {
        let (entity, law) = (self.with_friction(of)?, law.into());
        let load = self.world.get::<&Load>(entity).ok();
        validate_friction(&law, load.as_deref().unwrap_or(&Load::Unit), || self.name_of(entity))?;
        drop(load);
        self.put(entity, Friction(law));
        Ok(())
    }

    /// Sets the load of a joint or coupling that has friction.
    pub fn set_load(&mut self, of: impl Handle, load: Load) -> Result<()> {
        let entity = self.with_friction(of)?;
        let Ok(law) = self.world.get::<&Friction>(entity) else {
            let (name, reason) = (self.name_of(entity), "but no `Friction` for it to scale");
            return Err(Error::Misplaced { name, component: "Load", reason });
        };
        validate_friction(&law.0, &load, || self.name_of(entity))?;
        drop(law);
        let kind = self.compiled().model.index.joint(entity).map(|i| self.compiled().model.tree.kinds[i]);
        let is_wrong = match load {
            Load::Pin { .. } | Load::Thrust { .. } => !matches!(kind, Some(JointKind::Revolute { .. })),
            Load::Guide { .. } => !matches!(kind, Some(JointKind::Prismatic { .. })),
            Load::Unit | Load::Constant(_) | Load::Signal { .. } | Load::Transmitted { .. } => false,
        };
        if is_wrong {
            let reason = "whose kind does not belong there: pins and thrust on hinges, guides on slides";
            return Err(Error::Misplaced { name: self.name_of(entity), component: "Load", reason });
        }
        self.put(entity, load);
        Ok(())
    }

    /// Sets position and velocity of a revolute or prismatic joint. The ledger does not book the energy of this
    /// change. Joints that gears or `mimic` couple to it follow; joints of a coupling of three or more are set one by
    /// one, to values that satisfy it. Bristles keep their deflection; it is the
    /// [`BristleState`](crate::world::component::BristleState) of the joint. [`Simulation::set_state`] also sets free
    /// joints.
    pub fn set_joint(&mut self, joint: impl Handle, position: f64, velocity: f64) -> Result<()> {
        let i = self.one_degree(joint)?;
        for (value, what) in [(position, "position"), (velocity, "velocity")] {
            if !value.is_finite() {
                return Err(Error::number(&self.compiled().model.tree.joint_names[i], what, value, "finite"));
            }
        }
        let k = self.compiled().model.tree.v_index[i];
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.push((k, position, velocity));
        self.carry_along(&mut moved);
        self.show_moves();
        for &(k, position, velocity) in &moved {
            let compiled = self.run.compiled();
            let i = compiled.model.tree.joint_of_velocity(k);
            self.edited.mechanics.q[compiled.model.tree.q_index[i]] = position;
            self.edited.mechanics.v[k] = velocity;
            if let Some(entity) = compiled.model.index.joint_entity(i) {
                self.put(entity, JointState { position, velocity });
            }
        }
        self.moved = moved;
        self.results.place(&mut self.run.system, &self.edited.mechanics);
        Ok(())
    }

    /// Sets the state of the whole machine: positions and velocities in the order of [`Simulation::positions`] and
    /// [`Simulation::velocities`], free joints included; bristles start steady. The ledger does not book the energy of
    /// this change. The next call that computes refuses a state that violates couplings, as with
    /// [`Simulation::set_joint`].
    pub fn set_state(&mut self, q: &[f64], v: &[f64]) -> Result<()> {
        check_state(&self.compiled().model.tree, q, v)?;
        self.show_moves();
        self.edited.mechanics.q.copy_from_slice(q);
        self.edited.mechanics.v.copy_from_slice(v);
        for i in 1..self.compiled().model.tree.n_bodies() {
            let compiled = self.run.compiled();
            let Some(entity) = compiled.model.index.joint_entity(i) else { continue };
            let (q, v) = (&q[compiled.model.tree.q_range(i)], &v[compiled.model.tree.v_range(i)]);
            match compiled.model.tree.kinds[i] {
                JointKind::Fixed => {}
                JointKind::Free => self.put(entity, FreeState { position: placement_of(q), velocity: twist_of(v) }),
                JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                    self.put(entity, JointState { position: q[0], velocity: v[0] });
                }
            }
        }
        let t = self.run.t();
        for c in 0..self.compiled().inputs.contacts.len() {
            let compiled = self.run.compiled();
            let (steady, entity) = (compiled.steady_bristle(c, t, v), compiled.contact_entity(c));
            self.edited.bristles[c] = steady;
            if let Some(entity) = entity.filter(|_| compiled.inputs.contacts[c].law.n_states() > 0) {
                self.put(entity, steady);
            }
        }
        self.results.place(&mut self.run.system, &self.edited.mechanics);
        Ok(())
    }

    /// From now on readers get the state as set by the caller.
    fn show_moves(&mut self) {
        if self.pending != Pending::State {
            self.edited.copy_from(&self.run.state);
            self.pending = Pending::State;
        }
    }

    /// Appends the joints that two-joint constraints couple to the first of `moved`: index of the velocity, position,
    /// rate.
    fn carry_along(&self, moved: &mut Vec<(usize, f64, f64)>) {
        let mut next = 0;
        while let Some(&(from, q, v)) = moved.get(next) {
            next += 1;
            for constraint in &self.compiled().model.coupled.constraints {
                // c q_a + d q_b = offset
                let (&[(a, c), (b, d)], Some(offset)) = (&constraint.terms[..], constraint.offset) else { continue };
                let (own, other, to) = if a == from { (c, d, b) } else { (d, c, a) };
                let is_tied = (a == from || b == from) && other != 0.0;
                if is_tied && moved.iter().all(|done| done.0 != to) {
                    moved.push((to, (offset - own * q) / other, -own * v / other));
                }
            }
        }
    }

    /// Entity of a joint, or of a coupling with friction.
    fn with_friction(&self, of: impl Handle) -> Result<Entity> {
        let compiled = self.compiled();
        match of.target().contact(compiled).and_then(|c| compiled.contact_entity(c)) {
            Some(entity) => Ok(entity),
            None => self.one_degree(of).and_then(|_| Ok(self.joint_number(of)?.1)),
        }
    }

    /// Its name.
    fn name_of(&self, entity: Entity) -> String {
        let compiled = self.compiled();
        match (compiled.model.index.joint(entity), Target::Entity(entity).contact(compiled)) {
            (Some(i), _) => compiled.model.tree.joint_names[i].clone(),
            (None, Some(c)) => compiled.contact_name(c).to_owned(),
            (None, None) => Target::Entity(entity).to_string(),
        }
    }

    /// Adds a component for the next reading of the world.
    fn put<T: Component>(&mut self, entity: Entity, component: T) {
        put(&mut self.world, entity, component);
        self.touch();
    }

    /// Applies laws, loads and drives of the world that are of the same kind as before; the run restarts with them.
    pub(super) fn adopt_parameters(&mut self) -> Result<()> {
        for c in 0..self.compiled().inputs.contacts.len() {
            let compiled = self.run.compiled();
            let contact = &compiled.inputs.contacts[c];
            let Some(entity) = compiled.contact_entity(c) else { continue };
            let Ok(law) = self.world.get::<&Friction>(entity) else { continue };
            let load = self.world.get::<&Load>(entity).ok();
            let load = load.as_deref().unwrap_or(&Load::Unit);
            let is_new = law.0 != contact.law || *load != contact.load;
            if is_new && is_same_kind(contact, &law.0, load) {
                self.run.check_contact(c, &law.0, load)?;
                self.run.put_contact(c, law.0.clone(), load.clone());
            }
        }
        for k in 0..self.compiled().inputs.drives.len() {
            let compiled = self.run.compiled();
            let at = &compiled.inputs.drives[k];
            let Some(entity) = compiled.model.index.joint_entity(at.joint) else { continue };
            let Ok(drive) = self.world.get::<&Drive>(entity) else { continue };
            // the speed of a prescribed motion bounds the steps: it is compiled again
            let is_same_kind = discriminant(&*drive) == discriminant(&at.drive) && !matches!(*drive, Drive::Motion(_));
            if *drive != at.drive && is_same_kind {
                self.run.set_drive(k, Drive::clone(&drive))?;
                self.run.pending = run::Pending::Restart;
            }
        }
        Ok(())
    }
}

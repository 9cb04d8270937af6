//! What a caller changes between steps: it holds from the next call on, and no machine is compiled anew where the kind of things
//! stays the same. See [`simulation`](super) for when it is seen.
//!
//! A law may become another of as many states, a load another of its kind, a signal any other. Bristles keep their deflection z, and the
//! energy that a change puts into them shifts the ledger's start. Where the kind changes, a joint gets its first friction
//! say, the machine is compiled again: the same motion, at the cost of a new start.

use super::{Handle, Simulation};
use crate::bearing::Bearing;
use crate::compile::{check_state, placement_of, twist_of, validate_friction};
use crate::component::{Drive, Effort, ExternalWrench, FreeState, Friction, JointState, Load};
use crate::error::{Error, Result};
use crate::signal::Signal;
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::JointKind;
use hecs::{Component, Entity};
use nalgebra::Vector3;

impl Simulation {
    /// Sets the effort on a revolute or prismatic joint, N·m or N: the same as its [`Effort`] component, without a look
    /// at the rest of the world.
    pub fn set_effort(&mut self, joint: impl Handle, effort: f64) -> Result<()> {
        let (i, joint) = self.joint_number(joint)?;
        let model = &self.system.compiled().model;
        let name = || model.joint_names[i].clone();
        if !effort.is_finite() {
            return Err(Error::Number { name: name(), what: "effort", value: effort, range: "finite" });
        }
        let (JointKind::Revolute { .. } | JointKind::Prismatic { .. }) = model.kinds[i] else {
            let reason = "which belongs on revolute and prismatic joints";
            return Err(Error::Misplaced { name: name(), component: "Effort", reason });
        };
        let k = model.v_index[i];
        if let Ok(place) = self.world.query_one_mut::<&mut Effort>(joint) {
            place.0 = effort;
        } else {
            // a joint that is gone meanwhile is found out when the world is looked at
            let _ = self.world.insert_one(joint, Effort(effort));
        }
        self.system.set_effort(k, effort);
        self.is_pushed = true;
        Ok(())
    }

    /// Sets the efforts on all joints at once, in the order of [`Simulation::velocities`]; those of free joints, which take wrenches, must be 0.
    pub fn set_efforts(&mut self, efforts: &[f64]) -> Result<()> {
        let model = &self.compiled().model;
        if efforts.len() != model.n_v {
            let (value, range) = (efforts.len() as f64, "the number of velocities of the machine");
            return Err(Error::Number { name: "efforts".into(), what: "length", value, range });
        }
        for i in 1..model.n_bodies() {
            let range =
                if model.v_range(i).len() == 1 { "finite" } else { "0: a free joint takes wrenches on its link" };
            let is_refused = |x: &f64| !(x.is_finite() && (model.v_range(i).len() == 1 || *x == 0.0));
            if let Some(&value) = efforts[model.v_range(i)].iter().find(|x| is_refused(x)) {
                return Err(Error::Number { name: model.joint_names[i].clone(), what: "effort", value, range });
            }
        }
        for i in 1..self.compiled().model.n_bodies() {
            let compiled = self.compiled();
            let (range, entity) = (compiled.model.v_range(i), compiled.index.joint_entity(i));
            if let (1, Some(entity)) = (range.len(), entity) {
                self.set_effort(entity, efforts[range.start])?;
            }
        }
        Ok(())
    }

    /// Sets what the drive of a joint follows to a constant: the position of a `Pull` or `Pid`, the effort of an `Effort`.
    /// A prescribed `Motion` cannot jump and is refused.
    pub fn set_target(&mut self, joint: impl Handle, target: f64) -> Result<()> {
        let (i, entity) = self.joint_number(joint)?;
        let (t, compiled) = (self.driver.t(), self.system.compiled_mut());
        let name = || compiled.model.joint_names[i].clone();
        if !target.is_finite() {
            return Err(Error::Number { name: name(), what: "target", value: target, range: "finite" });
        }
        let Some(k) = compiled.drives.iter().position(|drive| drive.joint == i) else {
            let with_drive: Vec<&str> =
                compiled.drives.iter().take(8).map(|at| compiled.model.joint_names[at.joint].as_str()).collect();
            let known = if with_drive.is_empty() {
                "none; a scene gives one by `drive: Pid(…)`, a URDF by an override of `joints.NAME.drive`, code by the `Drive` component".into()
            } else {
                with_drive.join(", ")
            };
            return Err(Error::Unknown { what: "drive on joint", name: name(), known });
        };
        let at = &mut compiled.drives[k];
        let signal = match &mut at.drive {
            Drive::Effort(signal) | Drive::Pull { target: signal, .. } | Drive::Pid { target: signal, .. } => signal,
            Drive::Motion(_) => {
                let (name, what) = (compiled.model.joint_names[i].clone(), "a jump of a prescribed motion".into());
                return Err(Error::Unsupported { name, what });
            }
        };
        *signal = Signal::Constant(target);
        if let Ok(place) = self.world.query_one_mut::<&mut Drive>(entity) {
            place.clone_from(&at.drive);
        }
        self.system.enter_piece(t);
        self.is_pushed = true;
        Ok(())
    }

    /// Sets the wrench on a link: moment about its origin, N·m, and force, N, in link axes.
    pub fn set_wrench(&mut self, link: impl Handle, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        let (i, entity) = self.link_number(link)?;
        if let Some(&value) = moment.iter().chain(&force).find(|x| !x.is_finite()) {
            let name = self.compiled().model.link_names[i].clone();
            return Err(Error::Number { name, what: "external wrench", value, range: "finite" });
        }
        self.put(entity, ExternalWrench { moment: Vector3::from(moment), force: Vector3::from(force) });
        Ok(())
    }

    /// Sets the friction law of a joint or coupling. A law that has bristles where there were none starts with steady ones; those of a law
    /// that is gone are gone.
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
        let kind = self.compiled().index.joint(entity).map(|i| self.compiled().model.kinds[i]);
        let is_wrong = match load {
            Load::Pin { .. } | Load::Thrust { .. } => !matches!(kind, Some(JointKind::Revolute { .. })),
            Load::Guide { .. } => !matches!(kind, Some(JointKind::Prismatic { .. })),
            Load::Unit | Load::Constant(_) | Load::Signal { .. } => false,
        };
        if is_wrong {
            let reason = "whose kind does not belong there: pins and thrust on hinges, guides on slides";
            return Err(Error::Misplaced { name: self.name_of(entity), component: "Load", reason });
        }
        self.put(entity, load);
        Ok(())
    }

    /// Puts a revolute or prismatic joint somewhere, with a velocity. The energy this takes is the caller's. Joints that gears and mimics tie to
    /// it go along; those of a coupling of three or more are set one by one, to values that it allows. Bristles keep their deflection; it is
    /// the [`BristleState`](crate::component::BristleState) of the joint. [`Simulation::set_state`] moves free joints too.
    pub fn set_joint(&mut self, joint: impl Handle, position: f64, velocity: f64) -> Result<()> {
        let i = self.one_degree(joint)?;
        for (value, what) in [(position, "position"), (velocity, "velocity")] {
            if !value.is_finite() {
                let name = self.compiled().model.joint_names[i].clone();
                return Err(Error::Number { name, what, value, range: "finite" });
            }
        }
        let k = self.compiled().model.v_index[i];
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.push((k, position, velocity));
        self.carry_along(&mut moved);
        self.show_moves();
        for &(k, position, velocity) in &moved {
            let compiled = self.system.compiled();
            let i = compiled.model.joint_of_velocity(k);
            self.edited.mechanics.q[compiled.model.q_index[i]] = position;
            self.edited.mechanics.v[k] = velocity;
            if let Some(entity) = compiled.index.joint_entity(i) {
                self.put(entity, JointState { position, velocity });
            }
        }
        self.moved = moved;
        self.results.place(&mut self.system, &self.edited.mechanics);
        Ok(())
    }

    /// Puts the whole machine somewhere: positions and velocities in the order of [`Simulation::positions`] and [`Simulation::velocities`],
    /// free joints included; bristles start steady. The energy this takes is the caller's. What couplings do not allow is refused by the next call
    /// that computes, as with [`Simulation::set_joint`].
    pub fn set_state(&mut self, q: &[f64], v: &[f64]) -> Result<()> {
        check_state(&self.compiled().model, q, v)?;
        self.show_moves();
        self.edited.mechanics.q.copy_from_slice(q);
        self.edited.mechanics.v.copy_from_slice(v);
        for i in 1..self.compiled().model.n_bodies() {
            let compiled = self.system.compiled();
            let Some(entity) = compiled.index.joint_entity(i) else { continue };
            let (q, v) = (&q[compiled.model.q_range(i)], &v[compiled.model.v_range(i)]);
            match compiled.model.kinds[i] {
                JointKind::Fixed => {}
                JointKind::Free => self.put(entity, FreeState { position: placement_of(q), velocity: twist_of(v) }),
                JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                    self.put(entity, JointState { position: q[0], velocity: v[0] });
                }
            }
        }
        let t = self.driver.t();
        for c in 0..self.compiled().contacts.len() {
            let compiled = self.system.compiled();
            let (steady, entity) = (compiled.steady_bristle(c, t, v), compiled.contact_entity(c));
            self.edited.bristles[c] = steady;
            if let Some(entity) = entity.filter(|_| compiled.contacts[c].law.n_states() > 0) {
                self.put(entity, steady);
            }
        }
        self.results.place(&mut self.system, &self.edited.mechanics);
        Ok(())
    }

    /// From now on the state is shown as callers put it.
    fn show_moves(&mut self) {
        if !self.is_moved {
            self.edited.copy_from(&self.state);
            self.is_moved = true;
        }
    }

    /// What two-joint ties tie to the first of `moved` comes behind it: velocity, where it is, how fast.
    fn carry_along(&self, moved: &mut Vec<(usize, f64, f64)>) {
        let mut next = 0;
        while let Some(&(from, q, v)) = moved.get(next) {
            next += 1;
            for tie in &self.compiled().coupled.ties {
                // c q_a + d q_b = offset
                let (&[(a, c), (b, d)], Some(offset)) = (&tie.terms[..], tie.offset) else { continue };
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
        match of.find_contact(compiled).and_then(|c| compiled.contact_entity(c)) {
            Some(entity) => Ok(entity),
            None => self.one_degree(of).and_then(|_| Ok(self.joint_number(of)?.1)),
        }
    }

    /// Its name.
    fn name_of(&self, entity: Entity) -> String {
        let compiled = self.compiled();
        match (compiled.index.joint(entity), entity.find_contact(compiled)) {
            (Some(i), _) => compiled.model.joint_names[i].clone(),
            (None, Some(c)) => compiled.contact_name(c).to_owned(),
            (None, None) => entity.text(),
        }
    }

    /// A component that the next look at the world finds.
    pub(super) fn put<T: Component>(&mut self, entity: Entity, component: T) {
        if let Ok(place) = self.world.query_one_mut::<&mut T>(entity) {
            *place = component;
        } else {
            // one that is gone meanwhile is found out when the world is looked at
            let _ = self.world.insert_one(entity, component);
        }
        self.is_touched = true;
    }

    /// Takes over laws, loads and drives of the world that are of the same kind as before. Whether there were any.
    pub(super) fn adopt_parameters(&mut self) -> Result<bool> {
        let mut is_adopted = false;
        let t = self.driver.t();
        for c in 0..self.compiled().contacts.len() {
            let compiled = self.system.compiled();
            let contact = &compiled.contacts[c];
            let Some(entity) = compiled.contact_entity(c) else { continue };
            let Ok(law) = self.world.get::<&Friction>(entity) else { continue };
            let load = self.world.get::<&Load>(entity).ok();
            let load = load.as_deref().unwrap_or(&Load::Unit);
            if law.0 == contact.law && *load == contact.load {
                continue;
            }
            let is_same_kind = law.0.n_states() == contact.law.n_states()
                && law.0.event_driven().is_some() == contact.is_event_driven()
                && std::mem::discriminant(load) == std::mem::discriminant(&contact.load);
            if !is_same_kind {
                continue;
            }
            validate_friction(&law.0, load, || compiled.contact_name(c).to_owned())?;
            let (law, load) = (law.0.clone(), load.clone());
            let contact = &mut self.system.compiled_mut().contacts[c];
            if let Some((bearing, arm)) = Bearing::of(&load) {
                (contact.bearing, contact.arm) = (Some(bearing), arm);
            }
            (contact.law, contact.load) = (law, load);
            is_adopted = true;
        }
        for k in 0..self.compiled().drives.len() {
            let compiled = self.system.compiled();
            let at = &compiled.drives[k];
            let Some(entity) = compiled.index.joint_entity(at.joint) else { continue };
            let Ok(drive) = self.world.get::<&Drive>(entity) else { continue };
            let is_same_kind = std::mem::discriminant(&*drive) == std::mem::discriminant(&at.drive);
            // how fast a prescribed motion turns bounds the steps: that one is compiled again
            if *drive == at.drive || !is_same_kind || matches!(*drive, Drive::Motion(_)) {
                continue;
            }
            compiled.check_drive(at.joint, &drive)?;
            let drive = Drive::clone(&drive);
            self.system.compiled_mut().drives[k].drive = drive;
            is_adopted = true;
        }
        if is_adopted {
            self.system.enter_piece(t);
        }
        Ok(is_adopted)
    }
}

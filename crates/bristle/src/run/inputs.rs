//! Inputs that callers set between steps, and the rules for them: each rule is here once, for simulations, batches and
//! snapshots.
//!
//! | input | rule |
//! |---|---|
//! | effort on a velocity | finite; 0 on free joints, which take wrenches |
//! | wrench on a link | finite |
//! | target of a drive | finite; a prescribed motion cannot jump |
//! | drive | of the same kind; a prescribed motion begins at the joint's position and velocity |
//! | friction law, load | valid, of the same kind: as many states, modes or none, kind of load |
//!
//! An input of another kind makes another machine; only a world can be given one.

use super::{Pending, Run};
use crate::error::{Error, Result};
use crate::model::bearing::Bearing;
use crate::model::compile::{check_drive, validate_friction};
use crate::model::{Compiled, Contact, WrenchAt};
use crate::signal::{Piece, Signal};
use crate::world::component::{Drive, Load};
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::Model;
use bristle_multibody::spatial::Force;
#[cfg(feature = "scene")]
use serde::{Deserialize, Serialize};
use std::mem::discriminant;
use std::sync::Arc;

/// Tolerance between a prescribed motion and the joint at its beginning, relative to the terms of both signals.
const MISS: f64 = 1e-9;

/// All inputs that callers may change between steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SavedInputs {
    pub effort: Vec<f64>,
    pub offset: Vec<f64>,
    pub damping: Vec<f64>,
    /// Stiffness and rest.
    pub springs: Vec<(f64, f64)>,
    /// Body and wrench.
    pub wrenches: Vec<(usize, [f64; 6])>,
    pub parameters: Parameters,
}

/// Friction and drives: the inputs that a snapshot writes as text.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
pub(super) struct Parameters {
    friction: Vec<(SavedLaw, Load)>,
    drives: Vec<Drive>,
}

/// A law, or the name of one that exists in code: the machine that a snapshot goes back to must have it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
enum SavedLaw {
    Law(Law),
    Custom(String),
}

impl SavedLaw {
    fn of(law: &Law) -> Self {
        if let Law::Custom(law) = law { Self::Custom(law.name().to_owned()) } else { Self::Law(law.clone()) }
    }

    /// The law itself, in a contact that has the present one; `None` where that is another.
    fn in_place_of<'a>(&'a self, present: &'a Law) -> Option<&'a Law> {
        match (self, present) {
            (Self::Law(law), _) => Some(law),
            (Self::Custom(name), Law::Custom(law)) if law.name() == name => Some(present),
            (Self::Custom(_), _) => None,
        }
    }
}

impl SavedInputs {
    pub fn of(compiled: &Compiled) -> Self {
        let saved = |contact: &Contact| (SavedLaw::of(&contact.law), contact.load.clone());
        let friction = compiled.inputs.frictions().iter().map(saved).collect();
        let drives = compiled.inputs.drives.iter().map(|drive| drive.drive.clone()).collect();
        Self {
            effort: compiled.inputs.effort.clone(),
            offset: compiled.inputs.offset.clone(),
            damping: compiled.inputs.dampers.iter().map(|damper| damper.damping).collect(),
            springs: compiled.inputs.springs.iter().map(|spring| (spring.stiffness, spring.rest)).collect(),
            wrenches: compiled.inputs.wrenches.iter().map(|w| (w.body, w.wrench.to_array())).collect(),
            parameters: Parameters { friction, drives },
        }
    }

    /// Gives the logs among the signals their samples, which a snapshot does not contain.
    pub fn adopt_samples(&mut self, compiled: &Compiled) {
        let Parameters { friction, drives } = &mut self.parameters;
        for ((_, load), contact) in friction.iter_mut().zip(compiled.inputs.contacts.iter()) {
            if let (Load::Signal { signal, .. }, Some(known)) = (load, contact.signal()) {
                signal.adopt_samples(known);
            }
        }
        for (drive, at) in drives.iter_mut().zip(compiled.inputs.drives.iter()) {
            let mut known = at.drive.clone();
            for ((_, signal), (_, known)) in drive.signals_mut().zip(known.signals_mut()) {
                signal.adopt_samples(known);
            }
        }
    }

    /// Whether the rules allow these inputs in this machine.
    pub fn fit(&self, compiled: &Compiled) -> bool {
        let Self { effort, offset, damping, springs, wrenches, parameters: Parameters { friction, drives } } = self;
        let model = &compiled.model.tree;
        effort.len() == compiled.inputs.effort.len()
            && effort.iter().enumerate().all(|(k, tau)| effort_range(model, k, *tau).is_none())
            && offset.len() == compiled.inputs.offset.len()
            && offset.iter().enumerate().all(|(k, tau)| effort_range(model, k, *tau).is_none())
            && damping.len() == compiled.inputs.dampers.len()
            && damping.iter().all(|d| d.is_finite() && *d > 0.0)
            && springs.len() == compiled.inputs.springs.len()
            && springs.iter().all(|(k, rest)| k.is_finite() && *k >= 0.0 && rest.is_finite())
            && wrenches.iter().all(|(body, w)| (1..model.n_bodies()).contains(body) && w.iter().all(|x| x.is_finite()))
            && friction.len() == compiled.inputs.frictions().len()
            && friction.iter().zip(compiled.inputs.contacts.iter()).all(|((law, load), contact)| {
                law.in_place_of(&contact.law).is_some_and(|law| {
                    is_same_kind(contact, law, load) && validate_friction(law, load, String::new).is_ok()
                })
            })
            && drives.len() == compiled.inputs.drives.len()
            && drives.iter().zip(compiled.inputs.drives.iter()).all(|(drive, at)| {
                discriminant(drive) == discriminant(&at.drive)
                    && check_drive(&compiled.model.tree, at.joint, drive).is_ok()
            })
    }
}

/// Whether a contact accepts this law and load without compilation.
pub(super) fn is_same_kind(contact: &Contact, law: &Law, load: &Load) -> bool {
    is_same_law(contact, law) && discriminant(load) == discriminant(&contact.load)
}

fn is_same_law(contact: &Contact, law: &Law) -> bool {
    law.n_states() == contact.law.n_states() && law.event_driven().is_some() == contact.is_event_driven()
}

/// The range that an effort on velocity `k` violates.
pub(super) fn effort_range(model: &Model, k: usize, effort: f64) -> Option<&'static str> {
    let is_single = model.v_range(model.joint_of_velocity(k)).len() == 1;
    match effort {
        _ if is_single && !effort.is_finite() => Some("finite"),
        _ if !is_single && effort != 0.0 => Some("0: a free joint takes wrenches on its link"),
        _ => None,
    }
}

pub(super) fn check_effort(model: &Model, k: usize, effort: f64) -> Result<()> {
    let Some(range) = effort_range(model, k, effort) else { return Ok(()) };
    Err(Error::number(&model.joint_names[model.joint_of_velocity(k)], "effort", effort, range))
}

/// Refuses the efforts on all velocities unless all are valid.
pub(super) fn check_efforts(model: &Model, efforts: &[f64]) -> Result<()> {
    if efforts.len() != model.n_v {
        let range = "the number of velocities of the machine";
        return Err(Error::number("efforts", "length", efforts.len() as f64, range));
    }
    efforts.iter().enumerate().try_for_each(|(k, &effort)| check_effort(model, k, effort))
}

impl Run {
    fn note_inputs(&mut self) {
        self.pending = self.pending.with_inputs();
    }

    /// The effort on velocity `k`.
    pub(super) fn set_effort(&mut self, k: usize, effort: f64) -> Result<()> {
        check_effort(&self.compiled().model.tree, k, effort)?;
        self.system.dynamics.set_effort(k, effort);
        self.note_inputs();
        Ok(())
    }

    /// The wrench on a body: moment about the link's origin, then force, in link axes.
    pub(super) fn set_wrench(&mut self, body: usize, wrench: [f64; 6]) -> Result<()> {
        if let Some(&value) = wrench.iter().find(|x| !x.is_finite()) {
            return Err(Error::number(
                &self.compiled().model.tree.link_names[body],
                "external wrench",
                value,
                "finite",
            ));
        }
        let wrench = WrenchAt { body, wrench: Force::from_array(wrench) };
        let wrenches = &mut self.system.dynamics.inputs_mut().wrenches;
        match wrenches.iter_mut().find(|at| at.body == body) {
            Some(at) => *at = wrench,
            // in the order of the links, as in a world
            None => wrenches.insert(wrenches.iter().take_while(|at| at.body < body).count(), wrench),
        }
        self.system.dynamics.apply_wrenches();
        self.note_inputs();
        Ok(())
    }

    /// The number of the drive of a joint.
    pub(super) fn drive(&self, joint: usize) -> Result<usize> {
        let compiled = self.compiled();
        let name_of = |joint: usize| compiled.model.tree.joint_names[joint].as_str();
        let how = "none; a scene gives one by `drive: Pid(…)`, a URDF by an override of `joints.NAME.drive`, code by \
                   the `Drive` component";
        compiled.inputs.drives.iter().position(|at| at.joint == joint).ok_or_else(|| {
            let how = compiled.inputs.drives.is_empty().then_some(how);
            Error::unknown(
                "drive on joint",
                name_of(joint),
                compiled.inputs.drives.iter().map(|at| name_of(at.joint)).chain(how),
            )
        })
    }

    /// A constant target for drive number `k`.
    pub(super) fn set_target(&mut self, k: usize, target: f64) -> Result<()> {
        let (t, model) = (self.t(), Arc::clone(&self.compiled().model));
        let at = &mut Arc::make_mut(&mut self.system.dynamics.inputs_mut().drives)[k];
        let name = || model.tree.joint_names[at.joint].clone();
        if !target.is_finite() {
            return Err(Error::number(name(), "target", target, "finite"));
        }
        let mut drive = at.drive.clone();
        match &mut drive {
            Drive::Effort(signal)
            | Drive::Pull { target: signal, .. }
            | Drive::Pid { target: signal, .. }
            | Drive::Servo { target: signal, .. } => {
                *signal = Signal::Constant(target);
                at.set(drive);
            }
            Drive::Motion(_) => {
                return Err(Error::Unsupported { name: name(), what: "a jump of a prescribed motion".into() });
            }
        }
        self.system.dynamics.enter_piece(t);
        self.note_inputs();
        Ok(())
    }

    /// Other numbers or another signal for drive number `k`.
    pub(super) fn set_drive(&mut self, k: usize, drive: Drive) -> Result<()> {
        let (t, compiled) = (self.t(), self.compiled());
        let at = &compiled.inputs.drives[k];
        let name = || compiled.model.tree.joint_names[at.joint].clone();
        check_drive(&compiled.model.tree, at.joint, &drive)?;
        if discriminant(&drive) != discriminant(&at.drive) {
            return Err(Error::Unsupported { name: name(), what: "another kind of drive, in a batch".into() });
        }
        if let Drive::Motion(signal) = &drive {
            let next = signal.sample(t, Piece::After(t));
            let (q, v) = (self.state.mechanics.q[at.q], self.state.mechanics.v[at.v]);
            let sizes = [at.signal(), signal].map(|signal| signal.sizes(t));
            let [size, speed] = [0, 1].map(|k| sizes[0][k] + sizes[1][k]);
            for (value, given, size, what) in
                [(q, next.value, size, "position"), (v, next.derivative, speed, "velocity")]
            {
                let fits = (value - given).abs() <= MISS * size;
                if !fits {
                    let path = format!("{what} at t = {t}");
                    let reason = format!("the joint is at {value:?}, the motion begins at {given:?}: it cannot jump");
                    return Err(Error::Signal { joint: name(), path, reason });
                }
            }
        }
        self.system.dynamics.set_drive(k, drive);
        self.system.dynamics.enter_piece(t);
        self.note_inputs();
        Ok(())
    }

    /// The number of the contact of a joint or coupling.
    pub(super) fn contact(&self, name: &str) -> Result<usize> {
        let compiled = self.compiled();
        let n = compiled.inputs.frictions().len();
        (0..n).find(|&c| compiled.contact_name(c) == name).ok_or_else(|| no_contact(compiled, name))
    }

    /// Refuses a law and load that a contact cannot take.
    pub(super) fn check_contact(&self, c: usize, law: &Law, load: &Load) -> Result<()> {
        let (compiled, contact) = (self.compiled(), &self.compiled().inputs.contacts[c]);
        let name = || compiled.contact_name(c).to_owned();
        validate_friction(law, load, name)?;
        if !is_same_law(contact, law) {
            let what = format!("another kind of law, `{}` for `{}`, in a batch", law.name(), contact.law.name());
            return Err(Error::Unsupported { name: name(), what });
        }
        if !is_same_kind(contact, law, load) {
            let what = format!("another kind of load, `{load:?}` for `{:?}`, in a batch", contact.load);
            return Err(Error::Unsupported { name: name(), what });
        }
        Ok(())
    }

    /// Law and load of a contact that can take them; bristles keep their deflection. The run restarts before its next
    /// step.
    pub(super) fn put_contact(&mut self, c: usize, law: Law, load: Load) {
        let t = self.t();
        put_contact(&mut Arc::make_mut(&mut self.system.dynamics.inputs_mut().contacts)[c], law, load);
        self.system.dynamics.enter_piece(t);
        self.pending = Pending::Restart;
    }

    /// Applies inputs that fit. Returns whether they differ from the present ones.
    pub(super) fn set_inputs(&mut self, saved: &SavedInputs) -> bool {
        if SavedInputs::of(self.compiled()).bits() == saved.bits() {
            return false;
        }
        let SavedInputs { effort, offset, damping, springs, wrenches, parameters } = saved;
        let Parameters { friction, drives } = parameters;
        let inputs = self.system.dynamics.inputs_mut();
        inputs.effort.clone_from(effort);
        inputs.offset.clone_from(offset);
        inputs.dampers.iter_mut().zip(damping).for_each(|(at, damping)| at.damping = *damping);
        inputs.springs.iter_mut().zip(springs).for_each(|(at, spring)| (at.stiffness, at.rest) = *spring);
        inputs.wrenches.clear();
        let wrench = |(body, wrench): &(usize, _)| WrenchAt { body: *body, wrench: Force::from_array(*wrench) };
        inputs.wrenches.extend(wrenches.iter().map(wrench));
        for (contact, (law, load)) in Arc::make_mut(&mut inputs.contacts).iter_mut().zip(friction) {
            let law = law.in_place_of(&contact.law).unwrap_or(&contact.law).clone();
            put_contact(contact, law, load.clone());
        }
        drives.iter().enumerate().for_each(|(k, drive)| self.system.dynamics.set_drive(k, drive.clone()));
        self.system.dynamics.apply_wrenches();
        true
    }
}

fn put_contact(contact: &mut Contact, law: Law, load: Load) {
    let armature = if let Some(Bearing::Transmitted(reducer)) = contact.bearing { reducer.armature } else { 0.0 };
    if let Some((bearing, arm)) = Bearing::of(&load, armature) {
        (contact.bearing, contact.arm) = (Some(bearing), arm);
    }
    (contact.law, contact.load) = (law, load);
}

/// The error for a joint or coupling without friction, with the names of some that have it.
pub(super) fn no_contact(compiled: &Compiled, name: impl ToString) -> Error {
    let known = (0..compiled.inputs.frictions().len()).map(|c| compiled.contact_name(c));
    Error::unknown("joint or coupling with friction", name, known)
}

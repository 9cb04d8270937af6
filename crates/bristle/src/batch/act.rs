//! What a caller changes in the copies: it holds from the next step on, and nothing is compiled anew.

use super::{Batch, Copy};
use crate::bearing::Bearing;
use crate::compile::{Contact, WrenchAt, check_state, validate_friction};
use crate::component::{Drive, Load};
use crate::error::{Error, Result};
use crate::signal::Signal;
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::Model;
use bristle_multibody::spatial::Force;

/// What a prescribed motion may miss the joint by where it takes over.
const MISS: f64 = 1e-9;

/// What an effort on velocity `k` has to be, where it is not.
pub(super) fn effort_range(model: &Model, k: usize, effort: f64) -> Option<&'static str> {
    let is_single = model.v_range(model.joint_of_velocity(k)).len() == 1;
    match effort {
        _ if is_single && !effort.is_finite() => Some("finite"),
        _ if !is_single && effort != 0.0 => Some("0: a free joint takes wrenches on its link"),
        _ => None,
    }
}

impl Batch {
    /// Efforts that act from the next step on; `n_v` × n. Those of free joints, which take wrenches on their links, must be 0, as in
    /// [`Simulation::set_efforts`](crate::Simulation::set_efforts).
    pub fn efforts_mut(&mut self) -> &mut [f64] {
        &mut self.effort.wanted
    }

    /// Names of the joints with a drive, in order.
    pub fn drive_names(&self) -> impl Iterator<Item = &str> {
        let compiled = self.copies.first().map(|copy| copy.system.compiled());
        compiled
            .into_iter()
            .flat_map(|compiled| compiled.drives.iter().map(|at| compiled.model.joint_names[at.joint].as_str()))
    }

    /// What the drives follow from the next step on, one per drive; × n. `None` is what the drive has of itself; a number is the
    /// position of a `Pull` or `Pid` and the effort of an `Effort`, as in [`Simulation::set_target`](crate::Simulation::set_target),
    /// until another one takes its place. A prescribed `Motion` cannot jump: see [`Batch::set_drive`].
    pub fn targets_mut(&mut self) -> &mut [Option<f64>] {
        let n_drives = self.copies.first().map_or(0, |copy| copy.system.compiled().drives.len());
        self.target.wanted.resize(n_drives * self.copies.len(), None);
        self.target.applied.resize(n_drives * self.copies.len(), None);
        &mut self.target.wanted
    }

    /// Wrenches on the links from the next step on, one per link; × n. Moment about the link's origin, N·m, then force, N, in link axes.
    pub fn wrenches_mut(&mut self) -> &mut [[f64; 6]] {
        let n = self.copies.len();
        let n_links = self.copies.first().map_or(0, |copy| copy.system.compiled().model.n_bodies() - 1);
        if self.wrench.wanted.len() != n_links * n {
            let mut now = vec![[0.0; 6]; n_links * n];
            for (i, copy) in self.copies.iter().enumerate() {
                for w in &copy.system.compiled().wrenches {
                    now[(w.body - 1) * n + i] = w.wrench.to_array();
                }
            }
            self.wrench = super::Acting::new(now);
        }
        &mut self.wrench.wanted
    }

    /// What was put into the arrays acts. A number that is none does not, and its copy is refused until it is mended.
    pub(super) fn act(&mut self) -> Result<()> {
        let n = self.copies.len();
        if let Some(copy) = self.copies.first() {
            let compiled = copy.system.compiled();
            for (k, at) in compiled.drives.iter().enumerate().filter(|(_, at)| matches!(at.drive, Drive::Motion(_))) {
                if self.target.wanted.get(k * n..(k + 1) * n).unwrap_or(&[]).iter().any(Option::is_some) {
                    let name = compiled.model.joint_names[at.joint].clone();
                    let what = "a jump of a prescribed motion".into();
                    return Err(Error::Unsupported { name, what });
                }
            }
        }
        let copies = &mut self.copies;
        copies.iter_mut().for_each(|copy| copy.refused = None);
        self.effort.apply(|k, &tau| {
            let model = &copies[k % n].system.compiled().model;
            match effort_range(model, k / n, tau) {
                None => {
                    copies[k % n].push(k / n, tau);
                    true
                }
                Some(range) => {
                    let name = model.joint_names[model.joint_of_velocity(k / n)].clone();
                    copies[k % n].refuse(Error::Number { name, what: "effort", value: tau, range });
                    false
                }
            }
        });
        self.target.apply(|k, &target| {
            let Some(target) = target else { return true };
            if target.is_finite() {
                copies[k % n].follow(k / n, Signal::Constant(target));
            } else {
                let compiled = copies[k % n].system.compiled();
                let name = compiled.model.joint_names[compiled.drives[k / n].joint].clone();
                let what = "target";
                copies[k % n].refuse(Error::Number { name, what, value: target, range: "finite" });
            }
            target.is_finite()
        });
        self.wrench.apply(|k, &wrench| match wrench.iter().find(|x| !x.is_finite()) {
            None => {
                copies[k % n].pull(k / n + 1, wrench);
                true
            }
            Some(&value) => {
                let name = copies[k % n].system.compiled().model.link_names[k / n + 1].clone();
                let what = "external wrench";
                copies[k % n].refuse(Error::Number { name, what, value, range: "finite" });
                false
            }
        });
        Ok(())
    }

    /// Puts a copy somewhere: positions and velocities in the order of [`Simulation::positions`](crate::Simulation::positions);
    /// bristles start steady.
    pub fn set_state(&mut self, copy: usize, q: &[f64], v: &[f64]) -> Result<()> {
        let at = self.at_mut(copy)?;
        let (t, compiled) = (at.driver.t(), at.system.compiled());
        check_state(&compiled.model, q, v)?;
        let mut state = at.state.clone();
        state.mechanics.q.copy_from_slice(q);
        state.mechanics.v.copy_from_slice(v);
        for (c, bristle) in state.bristles.iter_mut().enumerate() {
            *bristle = compiled.steady_bristle(c, t, v);
        }
        at.begin_at(state)?;
        self.gather(copy);
        Ok(())
    }

    /// Gives a joint or coupling of one copy another friction law of the same kind: as many states, with or without modes as before.
    /// Bristles keep their deflection.
    pub fn set_friction(&mut self, copy: usize, name: &str, law: impl Into<Law>) -> Result<()> {
        let law = law.into();
        let at = self.at_mut(copy)?;
        let c = at.contact(name)?;
        let contact = &at.system.compiled().contacts[c];
        validate_friction(&law, &contact.load, || name.to_owned())?;
        let is_same_kind =
            law.n_states() == contact.law.n_states() && law.event_driven().is_some() == contact.is_event_driven();
        if !is_same_kind {
            let what = format!("another kind of law, `{}` for `{}`, in a batch", law.name(), contact.law.name());
            return Err(Error::Unsupported { name: name.into(), what });
        }
        let contact = Contact { law, ..contact.clone() };
        at.begin_with(c, contact)?;
        self.gather(copy);
        Ok(())
    }

    /// Gives a joint or coupling of one copy another load of the same kind: another number, radius, length or signal.
    pub fn set_load(&mut self, copy: usize, name: &str, load: Load) -> Result<()> {
        let at = self.at_mut(copy)?;
        let c = at.contact(name)?;
        let contact = &at.system.compiled().contacts[c];
        validate_friction(&contact.law, &load, || name.to_owned())?;
        if std::mem::discriminant(&load) != std::mem::discriminant(&contact.load) {
            let what = format!("another kind of load, `{load:?}` for `{:?}`, in a batch", contact.load);
            return Err(Error::Unsupported { name: name.into(), what });
        }
        let mut contact = contact.clone();
        if let Some((bearing, arm)) = Bearing::of(&load) {
            (contact.bearing, contact.arm) = (Some(bearing), arm);
        }
        contact.load = load;
        at.begin_with(c, contact)?;
        self.gather(copy);
        Ok(())
    }

    /// Sets what the drive of a joint of one copy follows to a constant, as
    /// [`Simulation::set_target`](crate::Simulation::set_target) does.
    pub fn set_target(&mut self, copy: usize, joint: &str, target: f64) -> Result<()> {
        let k = self.at(copy)?.drive(joint)?;
        if !target.is_finite() {
            return Err(Error::Number { name: joint.into(), what: "target", value: target, range: "finite" });
        }
        if let Drive::Motion(_) = self.at(copy)?.system.compiled().drives[k].drive {
            return Err(Error::Unsupported { name: joint.into(), what: "a jump of a prescribed motion".into() });
        }
        let n = self.len();
        self.at_mut(copy)?.follow(k, Signal::Constant(target));
        self.target.put(k * n + copy, Some(target));
        Ok(())
    }

    /// Gives a joint of one copy another drive of the same kind: other gains, another signal. A prescribed `Motion` must take over where
    /// the joint is, with the velocity it has.
    pub fn set_drive(&mut self, copy: usize, joint: &str, drive: Drive) -> Result<()> {
        let n = self.len();
        let at = self.at_mut(copy)?;
        let k = at.drive(joint)?;
        let (t, compiled) = (at.driver.t(), at.system.compiled());
        let now = &compiled.drives[k];
        compiled.check_drive(now.joint, &drive)?;
        if std::mem::discriminant(&drive) != std::mem::discriminant(&now.drive) {
            return Err(Error::Unsupported { name: joint.into(), what: "another kind of drive, in a batch".into() });
        }
        if let Drive::Motion(signal) = &drive {
            let next = signal.sample(t, crate::signal::Piece::After(t));
            let (q, v) = (at.state.mechanics.q[now.q], at.state.mechanics.v[now.v]);
            for (value, told, what) in [(q, next.value, "position"), (v, next.derivative, "velocity")] {
                let fits = (value - told).abs() <= MISS * (1.0 + value.abs());
                if !fits {
                    let path = format!("{what} at t = {t}");
                    let reason = format!("the joint is at {value:?}, the motion begins at {told:?}: it cannot jump");
                    return Err(Error::Signal { joint: joint.into(), path, reason });
                }
            }
        }
        at.system.set_drive(k, drive);
        at.system.enter_piece(t);
        at.is_pushed = true;
        self.target.put(k * n + copy, None);
        Ok(())
    }

    /// Sets the wrench on a link of one copy: moment about its origin, N·m, and force, N, in link axes.
    pub fn set_wrench(&mut self, copy: usize, link: &str, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        let n = self.len();
        let at = self.at_mut(copy)?;
        let model = &at.system.compiled().model;
        let Some(body) = model.body(link).filter(|&body| body > 0) else {
            let known: Vec<&str> = model.link_names.iter().skip(1).take(8).map(String::as_str).collect();
            return Err(Error::Unknown { what: "link", name: link.into(), known: known.join(", ") });
        };
        if let Some(&value) = moment.iter().chain(&force).find(|x| !x.is_finite()) {
            return Err(Error::Number { name: link.into(), what: "external wrench", value, range: "finite" });
        }
        let [mx, my, mz] = moment;
        let [fx, fy, fz] = force;
        let wrench = [mx, my, mz, fx, fy, fz];
        at.pull(body, wrench);
        self.wrench.put((body - 1) * n + copy, wrench);
        Ok(())
    }
}

impl Copy {
    /// The first number that cannot act.
    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// The number of the contact of a joint or coupling.
    fn contact(&self, name: &str) -> Result<usize> {
        let compiled = self.system.compiled();
        let n = compiled.contacts.len();
        (0..n).find(|&c| compiled.contact_name(c) == name).ok_or_else(|| {
            let known: Vec<&str> = (0..n.min(8)).map(|c| compiled.contact_name(c)).collect();
            let (what, name) = ("joint or coupling with friction", name.to_owned());
            Error::Unknown { what, name, known: known.join(", ") }
        })
    }

    /// The number of the drive of a joint.
    fn drive(&self, joint: &str) -> Result<usize> {
        let compiled = self.system.compiled();
        let name_of = |joint: usize| compiled.model.joint_names[joint].as_str();
        compiled.drives.iter().position(|at| name_of(at.joint) == joint).ok_or_else(|| {
            let known: Vec<&str> = compiled.drives.iter().take(8).map(|at| name_of(at.joint)).collect();
            Error::Unknown { what: "drive on joint", name: joint.into(), known: known.join(", ") }
        })
    }

    /// A signal that a drive follows from the next step on.
    fn follow(&mut self, k: usize, target: Signal) {
        let t = self.driver.t();
        match &mut self.system.compiled_mut().drives[k].drive {
            Drive::Effort(signal) | Drive::Pull { target: signal, .. } | Drive::Pid { target: signal, .. } => {
                *signal = target;
            }
            Drive::Motion(_) => return,
        }
        self.system.enter_piece(t);
        self.is_pushed = true;
    }

    /// A wrench on a body from the next step on.
    fn pull(&mut self, body: usize, wrench: [f64; 6]) {
        let wrenches = &mut self.system.compiled_mut().wrenches;
        let wrench = Force::from_array(wrench);
        match wrenches.iter_mut().find(|at| at.body == body) {
            Some(at) => at.wrench = wrench,
            None => wrenches.push(WrenchAt { body, wrench }),
        }
        self.system.apply_wrenches();
        self.is_pushed = true;
    }
}

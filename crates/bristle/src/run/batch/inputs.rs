//! Inputs of the copies: they act from the next step on, without compilation.

use super::Batch;
use super::packs::LANES;
use crate::error::Result;
use crate::model::compile::check_state;
use crate::run::Run;
use crate::run::explain::unknown;
use crate::run::inputs::SavedInputs;
use crate::world::component::{Drive, Load};
use bristle_friction::Law;

impl Batch {
    /// Efforts that act from the next step on; `n_v` × n. Those of free joints, which take wrenches on their links,
    /// must be 0, as in [`Simulation::set_efforts`](crate::Simulation::set_efforts).
    pub fn efforts_mut(&mut self) -> &mut [f64] {
        &mut self.effort.wanted
    }

    /// Names of the joints with a drive, in order.
    pub fn drive_names(&self) -> impl Iterator<Item = &str> {
        let compiled = self.copies.first().map(|copy| copy.run.compiled());
        compiled.into_iter().flat_map(|compiled| {
            compiled.inputs.drives.iter().map(|at| compiled.model.tree.joint_names[at.joint].as_str())
        })
    }

    /// Targets of the drives from the next step on, one per drive; × n. `None` is the drive's own signal; a number is
    /// the position of a `Pull` or `Pid` and the effort of an `Effort`, as in
    /// [`Simulation::set_target`](crate::Simulation::set_target), until it is replaced. A prescribed `Motion` cannot
    /// jump: see [`Batch::set_drive`].
    pub fn targets_mut(&mut self) -> &mut [Option<f64>] {
        let n_drives = self.copies.first().map_or(0, |copy| copy.run.compiled().inputs.drives.len());
        self.target.wanted.resize(n_drives * self.copies.len(), None);
        self.target.applied.resize(n_drives * self.copies.len(), None);
        &mut self.target.wanted
    }

    /// Wrenches on the links from the next step on, one per link; × n. Moment about the link's origin, N·m, then force,
    /// N, in link axes.
    pub fn wrenches_mut(&mut self) -> &mut [[f64; 6]] {
        let n = self.copies.len();
        let n_links = self.copies.first().map_or(0, |copy| copy.run.compiled().model.tree.n_bodies() - 1);
        if self.wrench.wanted.len() != n_links * n {
            let mut now = vec![[0.0; 6]; n_links * n];
            for (i, copy) in self.copies.iter().enumerate() {
                for w in &copy.run.compiled().inputs.wrenches {
                    now[(w.body - 1) * n + i] = w.wrench.to_array();
                }
            }
            self.wrench = super::Acting::new(now);
        }
        &mut self.wrench.wanted
    }

    /// Inputs from the arrays to the copies. A refused input does not act, and its copy is not stepped until the input
    /// is corrected.
    pub(super) fn apply_inputs(&mut self) -> Result<()> {
        if self.target.has_changed() || self.wrench.has_changed() {
            self.unload();
        }
        let (n, copies, packs) = (self.copies.len(), &mut self.copies, &mut self.packs);
        copies.iter_mut().for_each(|copy| copy.refused = None);
        self.effort.apply(|k, &tau| {
            let (copy, pack) = (&mut copies[k % n], packs.get_mut(k % n / LANES));
            let in_lane = pack.and_then(|pack| pack.set_effort(k % n % LANES, &copy.run, k / n, tau));
            copy.set(|run| in_lane.unwrap_or_else(|| run.set_effort(k / n, tau)))
        });
        self.target
            .apply(|k, &target| copies[k % n].set(|run| target.map_or(Ok(()), |target| run.set_target(k / n, target))));
        self.wrench.apply(|k, &wrench| copies[k % n].set(|run| run.set_wrench(k / n + 1, wrench)));
        Ok(())
    }

    /// Changes several copies: `change(batch, k)` is called for the k-th of `copies` and changes state, friction, load
    /// or drive of that copy alone. If it is refused, the copies before are restored bit for bit, and nothing has
    /// changed.
    pub fn change_each(
        &mut self,
        copies: &[usize],
        mut change: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let fingerprint = self.fingerprint;
        copies.iter().try_for_each(|&copy| self.at(copy).map(drop))?;
        let mut checkpoints = Vec::with_capacity(copies.len());
        for (k, &copy) in copies.iter().enumerate() {
            let run = &mut self.at_mut(copy)?.run;
            checkpoints.push((SavedInputs::of(run.compiled()), run.write(fingerprint)));
            let Err(refusal) = change(self, k) else { continue };
            for (&copy, (inputs, state)) in copies.iter().zip(&checkpoints).rev().skip(1) {
                let run = &mut self.at_mut(copy)?.run;
                run.set_inputs(inputs);
                run.read(fingerprint, state)?;
                self.gather(copy);
            }
            return Err(refusal);
        }
        Ok(())
    }

    /// Sets the state of a copy: positions and velocities in the order of
    /// [`Simulation::positions`](crate::Simulation::positions); bristles start steady.
    pub fn set_state(&mut self, copy: usize, q: &[f64], v: &[f64]) -> Result<()> {
        let run = &mut self.at_mut(copy)?.run;
        let (t, compiled) = (run.t(), run.compiled());
        check_state(&compiled.model.tree, q, v)?;
        let before = run.state.clone();
        let mut state = before.clone();
        state.mechanics.q.copy_from_slice(q);
        state.mechanics.v.copy_from_slice(v);
        for (c, bristle) in state.bristles.iter_mut().enumerate() {
            *bristle = compiled.steady_bristle(c, t, v);
        }
        run.change(|run| run.state = state, |run| run.state = before)?;
        self.gather(copy);
        Ok(())
    }

    /// The friction law and load of a joint or coupling of one copy.
    pub fn contact(&self, copy: usize, name: &str) -> Result<(&Law, &Load)> {
        let run = &self.at(copy)?.run;
        let contact = &run.compiled().inputs.contacts[run.contact(name)?];
        Ok((&contact.law, &contact.load))
    }

    /// Gives a joint or coupling of one copy another friction law of the same kind: as many states, with or without
    /// modes as before. Bristles keep their deflection.
    pub fn set_friction(&mut self, copy: usize, name: &str, law: impl Into<Law>) -> Result<()> {
        let run = &self.at(copy)?.run;
        let c = run.contact(name)?;
        let load = run.compiled().inputs.contacts[c].load.clone();
        self.set_contact(copy, c, law.into(), load)
    }

    /// Gives a joint or coupling of one copy another load of the same kind: another number, radius, length or signal.
    pub fn set_load(&mut self, copy: usize, name: &str, load: Load) -> Result<()> {
        let run = &self.at(copy)?.run;
        let c = run.contact(name)?;
        let law = run.compiled().inputs.contacts[c].law.clone();
        self.set_contact(copy, c, law, load)
    }

    fn set_contact(&mut self, copy: usize, c: usize, law: Law, load: Load) -> Result<()> {
        let run = &mut self.at_mut(copy)?.run;
        run.check_contact(c, &law, &load)?;
        let contact = &run.compiled().inputs.contacts[c];
        let (state, before) = (run.state.clone(), (contact.law.clone(), contact.load.clone()));
        let undo = |run: &mut Run| {
            run.put_contact(c, before.0, before.1);
            run.state = state;
        };
        run.change(|run| run.put_contact(c, law, load), undo)?;
        self.gather(copy);
        Ok(())
    }

    /// Sets the target of the drive of a joint of one copy to a constant, as
    /// [`Simulation::set_target`](crate::Simulation::set_target) does.
    pub fn set_target(&mut self, copy: usize, joint: &str, target: f64) -> Result<()> {
        let (n, k) = (self.len(), self.drive_number(copy, joint)?);
        self.at_mut(copy)?.run.set_target(k, target)?;
        self.target.put(k * n + copy, Some(target));
        Ok(())
    }

    /// Gives a joint of one copy another drive of the same kind: other gains, another signal. A prescribed `Motion`
    /// must begin at the position and velocity of the joint.
    pub fn set_drive(&mut self, copy: usize, joint: &str, drive: Drive) -> Result<()> {
        let (n, k) = (self.len(), self.drive_number(copy, joint)?);
        self.at_mut(copy)?.run.set_drive(k, drive)?;
        self.target.put(k * n + copy, None);
        Ok(())
    }

    /// The drive of a joint of one copy.
    pub fn drive(&self, copy: usize, joint: &str) -> Result<&Drive> {
        let k = self.drive_number(copy, joint)?;
        Ok(&self.at(copy)?.run.compiled().inputs.drives[k].drive)
    }

    /// The number of the drive of a joint.
    fn drive_number(&self, copy: usize, joint: &str) -> Result<usize> {
        let run = &self.at(copy)?.run;
        let model = &run.compiled().model.tree;
        let number = model.joint(joint).filter(|&i| i > 0);
        run.drive(number.ok_or_else(|| unknown("joint", joint, &model.joint_names))?)
    }

    /// Sets the wrench on a link of one copy: moment about its origin, N·m, and force, N, in link axes.
    pub fn set_wrench(&mut self, copy: usize, link: &str, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        let n = self.len();
        let run = &mut self.at_mut(copy)?.run;
        let body = run.body(link)?;
        let ([mx, my, mz], [fx, fy, fz]) = (moment, force);
        let wrench = [mx, my, mz, fx, fy, fz];
        run.set_wrench(body, wrench)?;
        self.wrench.put((body - 1) * n + copy, wrench);
        Ok(())
    }

    /// The same in world axes, turned into the axes that the link has now: see
    /// [`Simulation::set_world_wrench`](crate::Simulation::set_world_wrench).
    pub fn set_world_wrench(&mut self, copy: usize, link: &str, moment: [f64; 3], force: [f64; 3]) -> Result<()> {
        let run = &mut self.at_mut(copy)?.run;
        let body = run.body(link)?;
        let [moment, force] = run.in_link_axes(body, moment, force)?;
        self.set_wrench(copy, link, moment, force)
    }
}

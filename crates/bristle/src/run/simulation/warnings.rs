//! Warnings: conditions that a user ought to know although the run continues.

use super::Simulation;
use crate::dynamics::{NearJam, Stiff, UnconvergedLoad};
use bristle_friction::{FrictionLaw, Law};
use bristle_integrate::{Method, Stats};

/// Number of steps limited by stability before a warning.
const MANY_STIFF: usize = 1000;

/// Number of steps with undamped bristles before a warning of accumulated errors: 1e-6 of a deflection in each, the
/// bound on a step, makes 1 %.
const MANY_RINGING: usize = 10_000;

/// The relative motions that the rows of a closure prevent, world axes.
const COMPONENTS: [&str; 6] =
    ["rotation about x", "rotation about y", "rotation about z", "shift along x", "shift along y", "shift along z"];

impl Simulation {
    /// Warnings of the scene, such as a law that is not passive: the first of [`Simulation::warnings`].
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What the start has done to close the loops of a machine, in sentences: the joints that it has moved from where
    /// they were given, and the constraints that are redundant there. They are no warnings.
    pub fn remarks(&self) -> Vec<String> {
        let (compiled, loops) = (self.compiled(), &self.run.system.dynamics.loops);
        let model = &compiled.model;
        let moved = loops.moved.iter().map(|&(v, given, found)| {
            let name = &model.tree.joint_names[model.joint_of[v]];
            format!("joint `{name}` starts at {found:?} in place of {given:?}: there the loops are closed")
        });
        let redundant = model.coupled.closures.iter().enumerate().filter_map(|(k, closure)| {
            let rows = loops.redundant.iter().filter(|&&row| loops.closure_of(row) == k);
            let what: Vec<&str> = rows.map(|row| COMPONENTS[closure.component(row - loops.first_row(k))]).collect();
            let (last, others) = what.split_last()?;
            let list = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
            let (rows, are) = if others.is_empty() { ("row", "is") } else { ("rows", "are") };
            Some(format!(
                "loop joint `{}`: the {rows} of {list} {are} redundant, implied by other constraints, and left out",
                closure.name
            ))
        });
        moved.chain(redundant).collect()
    }

    /// Warnings of the scene and of the run so far: bearings near jamming and bearings whose load did not converge in a
    /// real-time step, each with the first time; an explicit stepper most of whose steps are limited by stability;
    /// bristles that steps of a prescribed length deflect beyond the friction level; undamped bristles that ring under
    /// `GeneralizedAlpha`.
    pub fn warnings(&self) -> Vec<String> {
        let compiled = self.compiled();
        let near = self.run.system.dynamics.near_jams().iter().map(|NearJam { contact, t, margin }| {
            let joint = &compiled.model.tree.joint_names[compiled.inputs.contacts[*contact].joint];
            format!(
                "joint `{joint}` is near jamming at t = {t:?} s (margin {margin:.3e}): several accelerations are \
                 possible, the one continuous from no friction is taken"
            )
        });
        let indeterminate = self.run.system.dynamics.indeterminate_loads().iter().map(|&c| {
            format!(
                "the load of `{}` is not determined: redundant constraints of the loops leave its reaction open; the \
                 solution of least norm is taken",
                compiled.contact_name(c)
            )
        });
        let unconverged = self.run.system.dynamics.unconverged_loads();
        let unconverged = unconverged.iter().filter_map(|UnconvergedLoad { contact, t, largest }| {
            let joint = compiled.model.tree.joint_names.get(compiled.inputs.contacts.get(*contact)?.joint)?;
            Some(format!(
                "the load of joint `{joint}` had not converged within a real-time step, first at t = {t:?} s (it still \
                 changed by up to {largest:.1e} of itself): friction there is off by as much; near jamming no step is \
                 short enough"
            ))
        });
        self.notes
            .iter()
            .cloned()
            .chain(indeterminate)
            .chain(near)
            .chain(unconverged)
            .chain(self.overdeflected())
            .chain(self.ringing())
            .chain(self.stiffness())
            .collect()
    }

    /// Steps of a prescribed length that are too long for the bristles.
    fn overdeflected(&self) -> Option<String> {
        let (t, contact) = self.run.system.dynamics.overdeflected()?;
        let name = self.compiled().contact_name(contact);
        Some(format!(
            "the bristles of `{name}` are bent further than its friction can bend them, first at t = {t:?} s: steps \
             are too long for them, and friction is not to be trusted from there on; take shorter steps, step control \
             by error, or `RealTime`"
        ))
    }

    /// Bristles with σ₁ = 0 under error control of `GeneralizedAlpha`: numerical damping determines how long they ring,
    /// and the joint creeps in proportion. No tolerance of a step bounds the accumulated error.
    fn ringing(&self) -> Option<String> {
        let (options, n_steps) = (&self.solver.options, self.stats().n_accepted);
        let is_damped_by_method = matches!(options.method, Method::GeneralizedAlpha { .. });
        if !is_damped_by_method || !options.control.is_guarded() || n_steps < MANY_RINGING {
            return None;
        }
        let is_undamped = |law: &Law| match law.base() {
            Law::Dahl(_) => true,
            Law::LuGre(law) => law.sigma1 == 0.0,
            Law::LuGre2(law) => law.lugre.sigma1 == 0.0,
            Law::ElastoPlastic(law) => law.lugre.sigma1 == 0.0,
            _ => false,
        };
        let compiled = self.compiled();
        let name =
            compiled.contact_name(compiled.inputs.contacts.iter().position(|contact| is_undamped(&contact.law))?);
        Some(format!(
            "the bristles of `{name}` have no damping of their own (σ₁ = 0): where they ring, errors of \
             `GeneralizedAlpha` add up over {n_steps} steps, and positions in pre-sliding and friction may be off by \
             some per cent at any tolerance; take `Radau5`"
        ))
    }

    /// A stiff machine with an explicit stepper.
    fn stiffness(&self) -> Option<String> {
        let (Stats { n_stiff, n_accepted, .. }, compiled) = (self.stats(), self.compiled());
        let Stiff { t, h, joint, contact } = self.run.system.dynamics.stiff()?;
        if n_stiff < MANY_STIFF || 2 * n_stiff < n_accepted {
            return None;
        }
        // a snapshot may contain any number
        let name = match contact.filter(|&c| c < compiled.inputs.contacts.len()) {
            Some(c) if compiled.inputs.contacts[c].law.n_states() > 0 => {
                format!("the bristles of `{}`", compiled.contact_name(c))
            }
            Some(c) => format!("the friction of `{}`", compiled.contact_name(c)),
            None => format!("joint `{}`", compiled.model.tree.joint_names.get(joint)?),
        };
        Some(format!(
            "{name}: too stiff for an explicit stepper, which crawls: from t = {t:?} s on steps of {h:.1e} s, \
             {n_stiff} of {n_accepted} held down by stability and not by the tolerance; take `Radau5`, or `RealTime` \
             for steps of a fixed length"
        ))
    }
}

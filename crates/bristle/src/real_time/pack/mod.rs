//! `RealTime` steps of several machines of one model at once, one in each lane of a pack.
//!
//! The equations and the exchange of modes are those of `active_set`; here every number is a pack. Lanes differ in
//! numbers, modes and rounds: a lane whose modes are found keeps its solution while others iterate, and no operation
//! mixes lanes, so that a machine has the same bits whatever its neighbours do. A lane whose modes do not converge is
//! not advanced, and its machine takes that step alone.
//!
//! Packs cover trees of revolute, prismatic and fixed joints with dampers, springs, the drives `Effort`, `Pull` and
//! `Pid`, and friction of any law under given loads. All other machines step alone: [`applies`].

mod contacts;
mod exchange;
mod ledger;
mod modes;
mod verify;

use super::SignalTime;
use super::weights::Weights;
use crate::model::coupled::Coupled;
use crate::model::{Compiled, Contact, DriveAt, EffortLimitAt, Inputs, Model};
use crate::world::component::{Drive, Load, Open};
use bristle_multibody::MassOperator;
use bristle_multibody::spatial::{Mask, Scalar};
use contacts::{PackContact, form};
use std::sync::Arc;

/// A damper or spring on one velocity.
#[derive(Debug, Clone, Copy)]
struct Damper<S: Scalar> {
    v: usize,
    heat: usize,
    damping: S,
}

#[derive(Debug, Clone, Copy)]
struct Spring<S> {
    v: usize,
    stiffness: S,
    rest: S,
}

/// Machines in lanes: their state, their parameters, and scratch. See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct PackStep<S: Scalar> {
    model: Arc<Model>,
    operator: MassOperator<S>,
    /// Positions, velocities and accelerations; `n_v` each.
    pub q: Vec<S>,
    pub v: Vec<S>,
    pub a: Vec<S>,
    /// Accelerations of the last step: warm start of the next.
    last_acceleration: Vec<S>,
    integrals: Vec<S>,
    /// Efforts set by the caller, and constant ones; `n_v` each.
    pub effort: Vec<S>,
    offset: Vec<S>,
    contacts: Vec<PackContact<S>>,
    dampers: Vec<Damper<S>>,
    springs: Vec<Spring<S>>,
    /// Drives and friction of each lane.
    drives: Vec<Arc<[DriveAt]>>,
    /// Limits of efforts, and the part of each demand that does not act.
    effort_limits: Arc<[EffortLimitAt]>,
    cut: Vec<S>,
    frictions: Vec<Arc<[Contact]>>,
    /// Work, heat and work of changing loads since a lane was loaded.
    quad: Vec<S>,
    /// Rounds of the exchange of modes since a lane was loaded: in all, and in the longest solution.
    n_rounds: S,
    max_rounds: S,
    /// A = M + diag(armature), with contacts diag(total).
    armature: Vec<S>,
    total: Vec<S>,
    r: Vec<S>,
    bias: Vec<S>,
    mean: Vec<S>,
    mean_bias: Vec<S>,
    /// Mean positions of the step; M_kk there, and whether forces ask for it.
    middle: Vec<S>,
    inertia: Vec<S>,
    has_forces: bool,
    /// Signals of the drives at the middle of the step, and their weights.
    samples: Vec<S>,
    weights: Vec<Weights<S>>,
    /// Their efforts at the velocities of its beginning.
    of_drives: Vec<S>,
    x: Vec<S>,
    solution: Vec<S>,
    rhs: Vec<S>,
    held: Vec<S>,
    locked: Vec<S::Mask>,
    is_factored: bool,
    /// A x, the residual and the sizes of its terms; impulses and sizes of rows of stuck contacts.
    product: Vec<S>,
    residual: Vec<S>,
    size: Vec<S>,
    stuck_impulse: Vec<S>,
    row_size: Vec<S>,
}

/// Whether packs cover a machine, apart from its state.
pub(crate) fn applies(compiled: &Compiled) -> bool {
    let Model { tree, coupled, free, prescribed, .. } = &*compiled.model;
    let Inputs { effort: _, offset: _, wrenches, dampers: _, springs: _, drives, effort_limits, contacts } =
        &compiled.inputs;
    let Coupled { names: _, constraints, springs: between, closures } = coupled;
    let is_tree = free.is_empty() && constraints.is_empty() && between.is_empty() && closures.is_empty();
    let is_driven_by_efforts =
        drives.iter().all(|at| matches!(at.drive, Drive::Effort(_) | Drive::Pull { .. } | Drive::Pid { .. }));
    // a limited demand that depends on the velocities at the end of the step takes solutions of its own
    let is_given = |at: &DriveAt| matches!(at.drive, Drive::Effort(_));
    let are_limits_plain = effort_limits.iter().all(|limit| limit.drive.is_none_or(|k| is_given(&drives[k])));
    let mut has_dry = vec![false; tree.n_v];
    let mut is_covered = |contact: &Contact| {
        // every field is looked at: a new one has to be decided about
        let Contact { joint: _, v, b, element, law: _, load, arm: _, bearing, reverse, open, stops } = contact;
        let is_given = matches!(load, Load::Unit | Load::Constant(_) | Load::Signal { .. });
        let is_alone = !contact.is_event_driven() || !std::mem::replace(&mut has_dry[*v], true);
        let is_of_joint = b.is_none() && element.is_none() && reverse.is_none();
        let is_plain = bearing.is_none() && stops.is_none() && *open == Open::Law && form(contact).is_some();
        is_given && is_alone && is_of_joint && is_plain
    };
    tree.n_v > 0
        && tree.n_q == tree.n_v
        && is_tree
        && prescribed.is_empty()
        && wrenches.is_empty()
        && is_driven_by_efforts
        && are_limits_plain
        && contacts.iter().all(&mut is_covered)
}

impl<S: Scalar> PackStep<S> {
    /// Room for machines of the model of `compiled`, all of them as it is.
    pub fn new(compiled: &Compiled) -> Self {
        let (model, inputs) = (Arc::clone(&compiled.model), &compiled.inputs);
        let (n, n_drives) = (model.tree.n_v, inputs.drives.len());
        let zeros = || vec![S::ZERO; n];
        let n_integrals = inputs.drives.iter().filter(|drive| drive.has_integral()).count();
        let dampers = inputs.dampers.iter().map(|d| Damper {
            v: d.v,
            heat: 2 + model.heat_of_joint(d.joint),
            damping: S::splat(d.damping),
        });
        let springs =
            inputs.springs.iter().map(|s| Spring { v: s.v, stiffness: S::splat(s.stiffness), rest: S::splat(s.rest) });
        Self {
            operator: MassOperator::new(&model.tree),
            dampers: dampers.collect(),
            springs: springs.collect(),
            contacts: inputs.contacts.iter().map(|contact| PackContact::new(&model, contact)).collect(),
            drives: vec![Arc::clone(&inputs.drives); S::LANES],
            cut: vec![S::ZERO; inputs.effort_limits.len()],
            effort_limits: Arc::clone(&inputs.effort_limits),
            frictions: vec![Arc::clone(&inputs.contacts); S::LANES],
            quad: vec![S::ZERO; 2 + model.heated.len() + model.heated_elements.len()],
            n_rounds: S::ZERO,
            max_rounds: S::ZERO,
            q: zeros(),
            v: zeros(),
            a: zeros(),
            last_acceleration: zeros(),
            integrals: vec![S::ZERO; n_integrals],
            effort: zeros(),
            offset: zeros(),
            armature: zeros(),
            total: zeros(),
            r: zeros(),
            bias: zeros(),
            mean: zeros(),
            mean_bias: zeros(),
            middle: zeros(),
            inertia: zeros(),
            has_forces: !inputs.dampers.is_empty() || !inputs.springs.is_empty() || n_drives > 0,
            samples: vec![S::ZERO; n_drives],
            weights: vec![Weights::new(S::ZERO, S::ZERO, S::ZERO, S::ZERO); n_drives],
            of_drives: vec![S::ZERO; n_drives],
            x: zeros(),
            solution: zeros(),
            rhs: zeros(),
            held: zeros(),
            locked: vec![S::Mask::splat(false); n],
            is_factored: false,
            product: zeros(),
            residual: zeros(),
            size: zeros(),
            stuck_impulse: zeros(),
            row_size: zeros(),
            model,
        }
    }

    /// Friction of a contact in every lane, at the end of the last step.
    pub fn friction(&self, c: usize) -> S {
        self.contacts[c].friction
    }

    /// One step of length h of the machines in the lanes of `active`. Returns those that have been advanced; the
    /// others are where they were.
    pub fn step(&mut self, active: S::Mask, at: SignalTime, h: f64) -> S::Mask {
        self.try_step(active, at, h).unwrap_or(S::Mask::splat(false))
    }

    fn try_step(&mut self, active: S::Mask, at: SignalTime, h: f64) -> Result<S::Mask, bristle_multibody::Error> {
        self.assemble(at, h)?;
        self.set_laws(at, h);
        let h_lanes = S::splat(h);
        self.x.iter_mut().zip(&self.last_acceleration).for_each(|(x, a)| *x = h_lanes * *a);
        self.is_factored = false;
        let resolved = self.resolve_modes(active, super::convex_solver::COARSE, h)?;
        self.correct_bias()?;
        let resolved = self.resolve_modes(resolved, super::convex_solver::SOLVED, h)?;
        let solved = self.verify(resolved, h)?;
        Ok(self.finish(solved, h))
    }

    /// A and r at the start of the step: see `assemble`.
    fn assemble(&mut self, at: SignalTime, h: f64) -> Result<(), bristle_multibody::Error> {
        let Self {
            model,
            operator,
            q,
            v,
            effort,
            offset,
            armature,
            r,
            bias,
            drives,
            middle,
            last_acceleration,
            inertia,
            samples,
            weights,
            of_drives,
            integrals,
            ..
        } = self;
        let (tree, h_lanes) = (&model.tree, S::splat(h));
        let half = S::splat(0.5 * h);
        let state = q.iter().zip(&*v).zip(last_acceleration);
        middle.iter_mut().zip(state).for_each(|(middle, ((q, v), a))| *middle = *q + half * (*v + half * *a));
        operator.place(tree, middle)?;
        operator.bias_efforts(tree, &tree.gravity, v, bias)?;
        armature.iter_mut().zip(tree.armature()).for_each(|(to, armature)| *to = S::splat(*armature));
        if self.has_forces {
            operator.diagonal(tree, armature, inertia)?;
        }
        let given = effort.iter().zip(offset).map(|(effort, offset)| *effort + *offset);
        r.iter_mut().zip(given).zip(&*bias).for_each(|((r, given), bias)| *r = given - *bias);
        for d in &self.dampers {
            let theta = Weights::new(h_lanes, S::ZERO, d.damping, inertia[d.v]).theta;
            r[d.v] -= d.damping * v[d.v];
            armature[d.v] += h_lanes * theta * d.damping;
        }
        for s in &self.springs {
            let weights = Weights::new(h_lanes, s.stiffness, S::ZERO, inertia[s.v]);
            let h_v = h_lanes * v[s.v];
            r[s.v] -= s.stiffness * (weights.position(q[s.v], h_v, h_v) - s.rest);
            armature[s.v] += h_lanes * h_lanes * weights.beta * s.stiffness;
        }
        let mut n_integrals = 0;
        for k in 0..samples.len() {
            let first = &drives[0][k];
            let (at_v, has_integral) = (first.v, first.has_integral());
            let (mut added, mut slope) = ([0.0; 8], [0.0; 8]);
            let mut sampled = [0.0; 8];
            for lane in 0..S::LANES {
                let drive = &drives[lane][k];
                let signal = drive.signal().sample(at.middle.0, at.middle.1);
                let (q, v) = (q[at_v].lane(lane), v[at_v].lane(lane));
                let [in_q, in_v, in_integral] = drive.slopes(&signal.into());
                let stiffness = (h * in_integral - in_q).max(0.0);
                let of_lane = Weights::new(h, stiffness, (-in_v).max(0.0), inertia[at_v].lane(lane));
                let ahead = of_lane.position(q, h * v, h * v);
                let error = of_lane.eta * h * (signal.value - ahead);
                let integral = if has_integral { integrals[n_integrals].lane(lane) + error } else { 0.0 };
                added[lane] = drive.effort(&signal.into(), ahead, v, integral);
                // gains of the wrong sign stay explicit, so that A is positive definite
                let of_position = (of_lane.eta * h * in_integral - in_q).max(0.0);
                slope[lane] = h * (h * of_lane.beta * of_position + of_lane.theta * (-in_v).max(0.0));
                sampled[lane] = signal.value;
                weights[k].set_lane(lane, of_lane);
            }
            r[at_v] += S::from_lanes(|lane| added[lane]);
            of_drives[k] = S::from_lanes(|lane| added[lane]);
            armature[at_v] += S::from_lanes(|lane| slope[lane]);
            samples[k] = S::from_lanes(|lane| sampled[lane]);
            n_integrals += usize::from(has_integral);
        }
        for (cut, at) in self.cut.iter_mut().zip(self.effort_limits.iter()) {
            let demand = effort[at.v] + at.drive.map_or(S::ZERO, |k| of_drives[k]);
            let limit = S::splat(at.limit);
            *cut = demand - (-limit).larger(demand).smaller(limit);
            r[at.v] -= *cut;
        }
        Ok(())
    }

    /// Replaces the bias in r by the bias at the mean of the velocities at both ends.
    fn correct_bias(&mut self) -> Result<(), bristle_multibody::Error> {
        let Self { model, operator, v, r, bias, mean, mean_bias, x, .. } = self;
        let half = S::splat(0.5);
        mean.iter_mut().zip(&*v).zip(&*x).for_each(|((mean, v), x)| *mean = half * (*v + (*v + *x)));
        operator.bias_efforts(&model.tree, &model.tree.gravity, mean, mean_bias)?;
        for ((r, bias), mean) in r.iter_mut().zip(bias).zip(&*mean_bias) {
            *r += *bias - *mean;
            *bias = *mean;
        }
        Ok(())
    }
}

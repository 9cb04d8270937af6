//! Accelerations on both sides of (1), by Newton sweeps of the friction-loaded articulated-body recursion.
//!
//! With f(a) the reactions at accelerations a, S the joint axis, and κ the friction effort per normal load of a joint
//! that slides:
//!
//! ```text
//! g_i(a) = τ_i − S_iᵀ f_i − armature a_i − κ_i N(f_i) = 0
//! P_i = S_i + κ_i n̂(f_i),      M_P x = g,      a ← a + x,      f ← f + δf
//! ```
//!
//! N is homogeneous of degree one: the residual after a sweep is κ (n̂ᵀf − N(f)), n̂ being the direction before it,
//! which is of second order in the rotation of n̂. After a small rotation the next correction uses the same
//! factorisation. A sweep is O(n).
//!
//! **Start.** Within a step Newton starts from a linear extrapolation in time of the last two accelerations
//! (`predictor`): the rotation of n̂ that remains is of second order in the step, which usually saves one correction.
//! At the beginning and after events Newton starts from the accelerations without friction. If it ends where several
//! solutions are possible, or if it fails, continuation follows the branch from zero friction, see `branch`: a matrix
//! whose recursion has a pivot that is not positive may be regular all the same, and a dense factorisation replaces
//! the recursion there. The machine jams where the branch ends.

use super::Dynamics;
use super::diagnostics::{Counters, NearJam};
use super::failure::Failure;
use super::point::Point;
use super::scheme::{Scheme, TIGHT};
use crate::constraint::Constraints;
use crate::constraint::coordinates::Coordinates;
use crate::model::{Compiled, Model};
use crate::solver::Formulation;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Model as Tree, Work, aba_hybrid, axis_row, rnea, solve_rows};

/// Limit of the corrections; quadratic convergence takes five without a predictor.
const MAX_CORRECTIONS: usize = 40;

/// The factorisation is used again while corrections shrink by this factor.
const GOOD_RATE: f64 = 0.05;

/// Smallest D relative to its value without friction: a smaller one is a jam.
const MIN_PIVOT: f64 = 1e-6;

/// Scratch of Newton's iteration for accelerations.
#[derive(Debug, Clone)]
pub(crate) struct NewtonWork {
    /// Rows P of the friction-loaded recursion; `n_bodies`.
    pub rows: Vec<Motion>,
    /// n̂ of the contacts in them.
    pub n_hat: Vec<Motion>,
    /// Residual g of (1), and a correction x; `n_v`.
    pub residual: Vec<f64>,
    pub correction: Vec<f64>,
    /// Velocities in the equation of impulses: zero; `n_v`.
    pub zero: Vec<f64>,
}

impl NewtonWork {
    pub fn new(tree: &Tree, n_contacts: usize) -> Self {
        let zero = vec![0.0; tree.n_v];
        let rows = (0..tree.n_bodies()).map(|i| axis_row(tree, i)).collect();
        let n_hat = vec![Motion::ZERO; n_contacts];
        Self { rows, n_hat, residual: zero.clone(), correction: zero.clone(), zero }
    }
}

impl Dynamics {
    /// Accelerations of the joints that can move, with those of the others given. Needs `efforts`.
    pub(crate) fn accelerate(&mut self, t: f64, accuracy: f64) -> Result<(), Failure> {
        if self.is_constrained() {
            return self.accelerate_with_multipliers();
        }
        if self.scheme.formulation == Formulation::Jerk {
            // accelerations are unknowns
            return if self.has_loaded_loops() { self.find_closure_forces() } else { Ok(()) };
        }
        if !self.is_one_sweep() {
            self.state.predictor.predict(t, &self.coordinates.active, &mut self.point.a);
            self.coordinates.accelerations(&mut self.point.a);
        }
        match self.newton_or_sweep(accuracy) {
            Ok(()) => Ok(()),
            Err(failure) if self.compiled.model.reaction_loaded.is_empty() || failure.is_non_finite() => Err(failure),
            Err(failure) if self.loops.is_any() => match failure {
                Failure::NoAcceleration => self.follow_in_loops(accuracy),
                failure => Err(failure),
            },
            Err(_) => {
                self.state.predictor.predict(t, &self.coordinates.active, &mut self.point.a);
                self.coordinates.accelerations(&mut self.point.a);
                self.solve_densely(accuracy)
            }
        }
    }

    /// The same, starting from the accelerations in `a`.
    pub(crate) fn solve_accelerations(&mut self, accuracy: f64) -> Result<(), Failure> {
        match self.newton_or_sweep(accuracy) {
            Err(failure)
                if !self.compiled.model.reaction_loaded.is_empty()
                    && !failure.is_non_finite()
                    && !self.loops.is_any() =>
            {
                self.follow_branch(accuracy)
            }
            result => result,
        }
    }

    /// Whether accelerations follow from one sweep: no load is a reaction, no motion prescribed, no joint coupled.
    pub(crate) fn is_one_sweep(&self) -> bool {
        let model = &self.compiled.model;
        model.reaction_loaded.is_empty() && model.prescribed.is_empty() && !self.constraints.is_coupled()
    }

    /// Newton, or one sweep where no load is a reaction.
    fn newton_or_sweep(&mut self, accuracy: f64) -> Result<(), Failure> {
        if self.is_one_sweep() {
            let Self {
                compiled, work, point: Point { q, v, tau, a, .. }, coordinates: Coordinates { locked, .. }, ..
            } = self;
            a.copy_from_slice(aba_hybrid(&compiled.model.tree, work, q, v, tau, locked)?);
            return Ok(());
        }
        self.newton(1.0, accuracy)
    }

    /// Accelerations without a start value: the branch that is continuous from zero friction.
    pub(crate) fn accelerate_from_frictionless(&mut self) -> Result<(), Failure> {
        if !self.compiled.model.reaction_loaded.is_empty() {
            self.newton(0.0, TIGHT)?;
            if self.loops.is_any() {
                match self.newton(1.0, TIGHT) {
                    Err(Failure::NoAcceleration) => self.follow_in_loops(TIGHT)?,
                    result => result?,
                }
            } else if self.newton(1.0, TIGHT).is_err()
                || self.compiled.model.reaction_loaded.iter().any(|&c| self.margin(c) <= 0.0)
            {
                self.follow_branch(TIGHT)?;
            }
        } else {
            self.solve_accelerations(TIGHT)?;
        }
        self.state.predictor.forget(&self.point.a);
        Ok(())
    }

    /// Newton from `a`, with s κ in place of κ.
    fn newton(&mut self, s: f64, accuracy: f64) -> Result<(), Failure> {
        if self.has_loaded_loops() {
            return self.newton_in_loops(s, accuracy);
        } else if self.loops.is_any() {
            return self.accelerate_loops();
        }
        let Self { compiled, scheme, point, coordinates, constraints, work, newton, diagnostics, .. } = self;
        diagnostics.counters.n_acceleration_solves += 1;
        let (of, scratch) = ((&*coordinates, constraints), (work, newton));
        iterate((compiled, scheme), point, of, scratch, &mut diagnostics.counters, (s, accuracy))
    }

    /// Sᵀ IA S + armature − |κ| N(IA S) of a contact, from the present factorisation: positive if the solution of (1)
    /// is unique.
    pub(crate) fn margin(&self, c: usize) -> f64 {
        let contact = &self.compiled.inputs.contacts[c];
        // in loops the factorisation is another one
        let is_in_tree = !self.coordinates.locked[contact.joint] && !self.loops.is_any();
        let Some(bearing) = contact.bearing.filter(|_| is_in_tree) else {
            return f64::INFINITY;
        };
        let force = self.work.pivot_force(contact.joint);
        let change = bearing.largest_change(&force, &self.point.force[c]);
        self.work.pivot_unloaded(contact.joint) - self.point.kappa[c].abs() * change
    }

    /// Records bearings near jamming, each once.
    pub(crate) fn note_near_jams(&mut self, t: f64) {
        for k in 0..self.compiled.model.reaction_loaded.len() {
            let contact = self.compiled.model.reaction_loaded[k];
            let margin = self.margin(contact);
            if margin <= 0.0 && self.diagnostics.near_jams.iter().all(|near_jam| near_jam.contact != contact) {
                self.diagnostics.near_jams.push(NearJam { contact, t, margin });
            }
        }
    }
}

/// Newton in a tree, from the accelerations in `point`: see the module. Leaves the factorisation in `work` and the
/// loads in `point`.
fn iterate(
    (compiled, scheme): (&Compiled, &Scheme),
    point: &mut Point,
    (coordinates, constraints): (&Coordinates, &mut Constraints),
    (work, scratch): (&mut Work, &mut NewtonWork),
    counters: &mut Counters,
    (s, accuracy): (f64, f64),
) -> Result<(), Failure> {
    let Point { q, v, tau, motor, a, force, kappa, load, .. } = point;
    let NewtonWork { rows, n_hat, residual: b, correction: x, zero } = scratch;
    let (Model { tree: model, joint_of, .. }, contacts) = (&*compiled.model, &*compiled.inputs.contacts);
    let Coordinates { locked, is_stuck, .. } = coordinates;
    let v = if scheme.is_impulsive { zero } else { v };
    let required = rnea(model, work, q, v, a)?;
    b.iter_mut().zip(&*tau).zip(required).for_each(|((b, tau), required)| *b = tau - required);
    for &c in &compiled.model.reaction_loaded {
        let contact = &contacts[c];
        let Some(bearing) = contact.bearing else { continue };
        force[c] = bearing.reaction(work, contact.joint, motor[contact.v], a[contact.v]);
        load[c] = bearing.normal_load(&force[c], kappa[c]).0;
        b[contact.v] -= s * kappa[c] * load[c];
    }

    // relative residual of (1) before the last correction, and now; both unknown at first
    let (mut before, mut left) = (0.0, 1.0);
    for _ in 0..MAX_CORRECTIONS {
        // a factorisation with fast convergence is used again
        if left > GOOD_RATE * before {
            for &c in &compiled.model.reaction_loaded {
                let contact = &contacts[c];
                let Some(bearing) = contact.bearing else { continue };
                let place = (contact.joint, contact.v);
                n_hat[c] = bearing.normal_load(&force[c], kappa[c]).1;
                rows[contact.joint] = bearing.set_row(&n_hat[c], s * kappa[c], (model, work), place);
            }
            constraints.factor(coordinates, (model, work, rows), joint_of)?;
            counters.n_sweeps += 1;
        }
        x.copy_from_slice(solve_rows(model, work, b)?);
        counters.n_substitutions += 1;
        if !coordinates.dependent.is_empty() {
            constraints.correct(coordinates, (model, work, rows), joint_of, x, b)?;
            if !compiled.model.reaction_loaded.is_empty() {
                // one more substitution, for its effect on the reactions
                solve_rows(model, work, b)?;
            }
        }
        a.iter_mut().zip(&*x).for_each(|(a, x)| *a += x);
        if *is_stuck {
            // the friction of stuck joints follows from their reactions
            work.add_force_changes();
        }

        b.fill(0.0);
        (before, left) = (left, 0.0);
        for &c in &compiled.model.reaction_loaded {
            let (contact, k) = (&contacts[c], s * kappa[c]);
            let Some(bearing) = contact.bearing else { continue };
            let change = bearing.change(work, contact.joint, x[contact.v]);
            force[c] += change;
            let n = bearing.normal_load(&force[c], kappa[c]).0;
            let more = n - std::mem::replace(&mut load[c], n);
            if locked[contact.joint] {
                continue;
            }
            let axis = axis_row(model, contact.joint);
            b[contact.v] = k * (n_hat[c].dot(&change) - more);
            // rounding in the reactions of heavy neighbours bounds the attainable residual
            let rounding = 4.0 * f64::EPSILON / accuracy * size(&force[c], model.turns(contact.v));
            let scale = tau[contact.v].abs() + axis.dot(&force[c]).abs() + k.abs() * n + rounding;
            let here = if b[contact.v] == 0.0 { 0.0 } else { b[contact.v].abs() / scale };
            // a NaN propagates
            if here > left || here.is_nan() {
                left = here;
            }
        }
        if left <= accuracy {
            return refuse_runaway(compiled, coordinates, constraints, work);
        }
        if !left.is_finite() {
            return Err(bristle_multibody::Error::NonFinite { function: "newton" }.into());
        }
    }
    Err(Failure::NoAcceleration)
}

/// Refuses accelerations that diverge: where friction grows exactly as fast as inertia, they grow until the
/// relative residual is small, although (1) has no solution.
fn refuse_runaway(
    compiled: &Compiled,
    coordinates: &Coordinates,
    constraints: &Constraints,
    work: &Work,
) -> Result<(), Failure> {
    for &c in &compiled.model.reaction_loaded {
        let joint = compiled.inputs.contacts[c].joint;
        let inertia = work.pivot_value(joint);
        if !coordinates.locked[joint] && inertia < MIN_PIVOT * work.pivot_unloaded(joint) {
            let joint = compiled.model.tree.joint_names[joint].clone();
            return Err(bristle_multibody::Error::Jam { joint, inertia }.into());
        }
    }
    if !constraints.is_positive(coordinates) {
        return Err(Failure::NoAcceleration);
    }
    Ok(())
}

/// Magnitude of a reaction: of its moment for a rotary joint, of its force otherwise.
fn size(f: &bristle_multibody::spatial::Force, turns: bool) -> f64 {
    let [mx, my, mz, fx, fy, fz] = f.to_array().map(f64::abs);
    if turns { mx + my + mz } else { fx + fy + fz }
}

//! The convex problem of a step: all velocities and contact impulses at once.
//!
//! ```text
//! F(u) = R u + Wᵀ λ(ω) − b = 0,      ω = ω₀ + W u,      R = Tᵀ A T,   b = Tᵀ (h r − A u_p)              (1)
//! (R + Wᵀ λ' W) δ = −F                                                                            (2)
//! ```
//!
//! u is the change of the independent velocities over the step; ω₀ is the rate of each contact at u = 0. R is positive
//! definite and no λ falls with ω, so F is the gradient of a strictly convex function P: (1) has one solution, and (2)
//! is always solvable. A Newton step is taken whole if it halves the residual. Otherwise a line search takes it as far
//! as P falls: the slope δᵀF of P along δ is non-decreasing, so a bracket encloses the point where it vanishes. P falls
//! in every step, and where all λ are piecewise linear finitely many steps reach the solution.
//!
//! **Stuck contacts.** At ω = 0 dry friction is set-valued. It is replaced by the augmented Lagrangian force
//!
//! ```text
//! λ = λ̂ + ρ ω     between the limits of the impulse law,         ρ = 10⁶ / Σ W_j²/R_jj                 (3)
//! ```
//!
//! with the multiplier λ̂ and a penalty ρ that is large beside the inverse of the diagonal Delassus estimate. Each
//! multiplier update λ̂ ← λ (a proximal point iteration) leaves 10⁻⁶ of the slip, or at most n times that for n
//! contacts that lock one another. The warm start of λ̂ is the λ of the last step.
//!
//! **Redundant contacts** (two stuck clutches side by side) have the same ω however they distribute the load. The
//! distribution with the least Σ λ²/limit is wanted, as in the event-driven form: their penalties are proportional to
//! their limits, and λ̂ starts at 0.
//!
//! A contact at its limit that other contacts lock has ω = 0 in the end as they have, and counts as stuck.
//!
//! **Stops** are bounds of ω (`stops`): their impulse is an augmented Lagrangian too, with a multiplier of its own.

use super::factor::dot_all;
use super::impulse_law::ContactState;
use super::interior_point::{self, InteriorPoint};
use super::problem::Problem;
use super::reduced_coordinates::dot;
use super::step_matrix::StepMatrix;
use super::stops::contact_at;
use crate::stop;
use bristle_multibody::Error;

/// Evaluations of (1) in a solution at most. Three or four are usual.
const MAX_ROUNDS: usize = 200;

/// Residual of a row of (1), relative to the size of its terms, at which (1) is solved.
pub(super) const SOLVED: f64 = 1e-13;

/// The same where rounding errors allow no less.
pub(super) const ROUNDED: f64 = 1e-11;

/// The same at which velocities are accurate enough to evaluate the bias with.
pub(super) const COARSE: f64 = 1e-4;

/// The same below which Newton steps are taken whole again after a line search.
const CLOSE: f64 = 1e-6;

/// Rounding errors of ω, to which stiff contacts respond.
const ROUNDINGS: f64 = 16.0 * f64::EPSILON;

/// Impulses below this are zero: their squares underflow, so a motion that has died away cannot be resolved relative to
/// itself. √(2⁻¹⁰²²), whatever the units.
pub(super) const NO_EFFORT: f64 = 1.5e-154;

/// Penalty ρ, relative to the effective inertia 1/Σ W_j²/R_jj of the contact.
const PENALTY: f64 = 1e6;

/// Penalty ρ of a contact whose coordinate cannot move.
pub(super) const IMMOVABLE_PENALTY: f64 = 1e200;

/// The smallest limit that penalties of redundant contacts distinguish, relative to the largest.
const MIN_LIMIT: f64 = 1e-6;

/// A multiplier has converged when its last change is below one of: this part of itself,
const MULTIPLIER_TOLERANCE: f64 = 1e-10;
/// this part of the terms in the rows of its contact,
const ROW_TOLERANCE: f64 = 1e-12;
/// this part of the limit of its contact.
const LIMIT_TOLERANCE: f64 = 1e-15;

/// Multiplier updates at most, and at least where contacts are redundant.
const MAX_UPDATES: usize = 12;
const MIN_REDUNDANT_UPDATES: usize = 2;

/// Rounds with a line search before the interior-point method is called.
const INTERIOR_POINT_AFTER: usize = 12;

/// Evaluations of a line search at most: bisections to the last bit, and as many Newton steps.
const MAX_TRIALS: usize = 100;

/// Slope of P at the end of a line search, relative to the slope at its start.
const LEVEL: f64 = 1e-3;

/// How accurately (1) is to be solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Accuracy {
    /// Enough for the velocities at which the bias is evaluated.
    Coarse,
    /// To rounding.
    Full,
}

/// Why a step has no solution.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SolverError {
    /// The matrix of (2) has a pivot that is not positive.
    Mechanics(Error),
    /// [`MAX_ROUNDS`] were not enough; the contact with the largest residual.
    NotConverged { contact: usize },
    /// An end was asked for: see [`crate::stop`].
    Stopped,
}

impl From<Error> for SolverError {
    fn from(error: Error) -> Self {
        Self::Mechanics(error)
    }
}

/// Iterates and scratch of the solver; the arrays are made once. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct ConvexSolver {
    /// u, the change of the independent velocities.
    pub u: Vec<f64>,
    /// Contacts at u.
    pub states: Vec<ContactState>,
    /// λ/h of each contact after the last step: warm start of λ̂.
    pub last_effort: Vec<f64>,
    /// λ̂ and ρ of the dry contacts.
    pub multiplier: Vec<f64>,
    pub penalty: Vec<f64>,
    /// The same of stops.
    pub stop_multiplier: Vec<f64>,
    pub stop_penalty: Vec<f64>,
    /// ω₀.
    pub omega0: Vec<f64>,
    /// ω at the start of a Newton step, and its change W δ.
    omega_start: Vec<f64>,
    omega_step: Vec<f64>,
    /// The λ' of the factors of the matrix of (2), and whether there are any.
    slopes: Vec<f64>,
    is_factored: bool,
    /// The diagonal of R.
    pub diagonal: Vec<f64>,
    /// −F, the size of its terms, and δ; by independent velocity.
    residual: Vec<f64>,
    magnitude: Vec<f64>,
    delta: Vec<f64>,
    /// Impulses by which contacts respond to rounding errors of ω; by independent velocity.
    response: Vec<f64>,
    /// −δᵀF at the start of the Newton step.
    descent: f64,
    /// Rounds of all solutions since [`Self::start`], and of the longest.
    pub n_rounds: usize,
    pub max_rounds: usize,
}

impl ConvexSolver {
    /// Solver for n independent velocities.
    pub fn new(n: usize, n_contacts: usize) -> Self {
        let (per_contact, per_velocity) = (vec![0.0; n_contacts], vec![0.0; n]);
        Self {
            u: per_velocity.clone(),
            states: vec![ContactState::default(); n_contacts],
            last_effort: per_contact.clone(),
            multiplier: per_contact.clone(),
            penalty: per_contact.clone(),
            stop_multiplier: per_contact.clone(),
            stop_penalty: per_contact.clone(),
            omega0: per_contact.clone(),
            omega_start: per_contact.clone(),
            omega_step: per_contact.clone(),
            slopes: per_contact,
            is_factored: false,
            diagonal: per_velocity.clone(),
            response: per_velocity.clone(),
            residual: per_velocity.clone(),
            magnitude: per_velocity.clone(),
            delta: per_velocity,
            descent: 0.0,
            n_rounds: 0,
            max_rounds: 0,
        }
    }

    /// Prepares a step of length h with the warm start u = h · `last_acceleration`; `omega0` has been set.
    pub fn start(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut StepMatrix,
        h: f64,
        last_acceleration: &[f64],
    ) -> Result<(), SolverError> {
        let Problem { coordinates, compiled, laws, .. } = *problem;
        let contacts = &compiled.inputs.contacts;
        matrix.diagonal(compiled, coordinates, &mut self.diagonal)?;
        self.u.iter_mut().zip(last_acceleration).for_each(|(u, a)| *u = h * a);
        self.is_factored = false;
        let mut max_limit = 0.0_f64;
        for c in (0..contacts.len()).filter(|&c| contacts[c].is_event_driven()) {
            let delassus: f64 = coordinates.contacts[c].iter().map(|&(k, w)| w * w / self.diagonal[k]).sum();
            self.penalty[c] = if delassus > 0.0 { PENALTY / delassus } else { IMMOVABLE_PENALTY };
            self.multiplier[c] = 0.0;
            (self.stop_multiplier[c], self.stop_penalty[c]) = (0.0, self.penalty[c]);
            if coordinates.is_redundant[c] {
                max_limit = max_limit.max(laws[c].limit(self.last_effort[c]));
            } else if delassus > 0.0 {
                self.multiplier[c] = h * self.last_effort[c];
            }
        }
        if max_limit > 0.0 {
            // the largest limit gets the largest penalty
            let redundant = || (0..laws.len()).filter(|&c| coordinates.is_redundant[c]);
            let max_penalty = redundant().map(|c| self.penalty[c]).fold(0.0, f64::max);
            for c in redundant() {
                let limit = laws[c].limit(self.last_effort[c]).max(MIN_LIMIT * max_limit);
                self.penalty[c] = max_penalty * limit / max_limit;
            }
        }
        Ok(())
    }

    /// Solves (1) from the present u.
    pub fn solve(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut StepMatrix,
        interior_point: &mut InteriorPoint,
        accuracy: Accuracy,
    ) -> Result<(), SolverError> {
        let mut error = self.evaluate(problem, matrix)?;
        let (mut updates, mut is_guarded, mut is_approached) = (0, false, false);
        let enough = if accuracy == Accuracy::Coarse { COARSE } else { SOLVED };
        let mut round = 1;
        let is_found = loop {
            if error <= enough {
                if accuracy == Accuracy::Coarse || updates == MAX_UPDATES || !self.update_multipliers(problem, updates)
                {
                    break true;
                }
                updates += 1;
                error = self.evaluate(problem, matrix)?;
                if error <= enough {
                    continue;
                }
            }
            if round >= MAX_ROUNDS || error.is_nan() {
                break false;
            }
            if round >= INTERIOR_POINT_AFTER && is_guarded && !is_approached {
                (is_approached, is_guarded) = (true, false);
                round += self.approach(problem, matrix, interior_point)?;
                error = self.evaluate(problem, matrix)?;
                if error <= enough {
                    continue;
                }
            }
            self.find_direction(problem, matrix)?;
            if error <= CLOSE && self.is_step_rounding(problem) {
                error = 0.0;
                continue;
            }
            round += 1;
            self.advance(1.0);
            let next = self.evaluate(problem, matrix)?;
            let is_nearer = next <= 0.5 * error || next <= enough;
            let may_be_rounding = !is_nearer || next > enough && self.is_piece_unchanged();
            if may_be_rounding && self.is_residual_rounding(problem) {
                error = 0.0;
                continue;
            }
            error = next;
            if is_nearer && (!is_guarded || next <= CLOSE) {
                continue;
            }
            is_guarded = true;
            let alpha = self.line_search(problem, matrix)?;
            if alpha == 0.0 {
                break false;
            }
            if alpha != 1.0 {
                self.advance(alpha - 1.0);
                error = self.evaluate(problem, matrix)?;
                round += 1;
            }
        };
        self.n_rounds += round;
        self.max_rounds = self.max_rounds.max(round);
        match (!is_found).then(|| self.largest_residual(problem)).flatten() {
            Some(contact) => Err(SolverError::NotConverged { contact }),
            // without contacts (1) is solved or not a number, and the driver refuses numbers that are none
            None => Ok(()),
        }
    }

    /// u and multipliers by the interior-point method; returns the rounds it took.
    pub fn approach(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut StepMatrix,
        interior_point: &mut InteriorPoint,
    ) -> Result<usize, SolverError> {
        self.is_factored = false;
        let Self { u, multiplier, penalty, stop_multiplier, stop_penalty, omega0, diagonal, .. } = self;
        let contacts = interior_point::Contacts { omega0, penalty, diagonal, stop_multiplier, stop_penalty };
        interior_point.approach(problem, matrix, contacts, u, multiplier)
    }

    /// Evaluates −F and the contacts at u; returns the largest |F|, each row relative to its terms.
    fn evaluate(&mut self, problem: &Problem<'_>, matrix: &mut StepMatrix) -> Result<f64, SolverError> {
        if stop::is_asked() {
            return Err(SolverError::Stopped);
        }
        let Problem { b, coordinates, compiled, laws, .. } = *problem;
        let Self { u, states, omega0, residual, magnitude, .. } = self;
        matrix.residual(compiled, coordinates, [b, u], residual, magnitude)?;
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let row = &coordinates.contacts[c];
            let at = [self.multiplier[c], self.penalty[c], self.stop_multiplier[c], self.stop_penalty[c]];
            let state = contact_at(&laws[c], &contact.law, problem.bounds[c], omega0[c] + dot(row, u), at);
            for &(k, w) in row {
                residual[k] -= w * state.impulse();
                magnitude[k] += (w * state.lambda).abs() + (w * state.stop).abs() + (w * state.magnitude).abs();
            }
            states[c] = state;
        }
        let errors = residual.iter().zip(&*magnitude).map(|(residual, size)| residual.abs() / (size + NO_EFFORT));
        // NaN counts as the largest
        Ok(errors.fold(0.0, |max, error| if error > max || error.is_nan() { error } else { max }))
    }

    /// Multiplier update λ̂ ← λ. Returns whether a multiplier has not converged.
    fn update_multipliers(&mut self, problem: &Problem<'_>, updates: usize) -> bool {
        let Problem { coordinates, laws, .. } = *problem;
        let Self { states, multiplier, stop_multiplier, magnitude, .. } = self;
        let mut differs = false;
        for (c, state) in states.iter().enumerate() {
            if state.on_stop.is_some() || stop_multiplier[c] != 0.0 {
                let around = coordinates.contacts[c].iter().map(|&(k, w)| magnitude[k] / w.abs());
                let around = ROW_TOLERANCE * around.fold(f64::INFINITY, f64::min);
                let tolerance = f64::max(MULTIPLIER_TOLERANCE * state.stop.abs(), around);
                differs |= (state.stop - stop_multiplier[c]).abs() > tolerance;
                stop_multiplier[c] = state.stop;
            }
            if !state.is_stuck {
                // a sliding contact has the limit as its multiplier
                multiplier[c] = state.lambda;
                continue;
            }
            let around = coordinates.contacts[c].iter().map(|&(k, w)| magnitude[k] / w.abs());
            let tolerances = [
                MULTIPLIER_TOLERANCE * state.lambda.abs(),
                ROW_TOLERANCE * around.fold(f64::INFINITY, f64::min),
                LIMIT_TOLERANCE * laws[c].limit(state.lambda),
            ];
            differs |= (state.lambda - multiplier[c]).abs() > tolerances.into_iter().fold(0.0, f64::max);
            differs |= coordinates.is_redundant[c] && updates < MIN_REDUNDANT_UPDATES;
            multiplier[c] = state.lambda;
        }
        differs
    }

    /// Solves (2) for δ, and evaluates W δ and the descent −δᵀF.
    fn find_direction(&mut self, problem: &Problem<'_>, matrix: &mut StepMatrix) -> Result<(), SolverError> {
        let Problem { coordinates, compiled, .. } = *problem;
        if !self.is_factored || !self.is_piece_unchanged() {
            let Self { states, slopes, .. } = self;
            slopes.iter_mut().zip(&*states).for_each(|(slope, state)| *slope = state.slope);
            self.is_factored = false;
            matrix.factor(compiled, coordinates, slopes)?;
            self.is_factored = true;
        }
        let Self { states, omega_start, omega_step, residual, delta, .. } = self;
        delta.copy_from_slice(residual);
        matrix.solve(compiled, coordinates, delta)?;
        self.descent = dot_all(delta, residual);
        for (c, row) in coordinates.contacts.iter().enumerate() {
            (omega_start[c], omega_step[c]) = (states[c].omega, dot(row, delta));
        }
        Ok(())
    }

    /// Whether every contact is on the linear piece that δ was found with: then rounding alone is left of the residual.
    fn is_piece_unchanged(&self) -> bool {
        self.states.iter().zip(&self.slopes).all(|(state, slope)| state.slope == *slope)
    }

    /// Step length along δ, which u has taken whole by now: 1 if P still falls there, otherwise the point where its
    /// slope vanishes; 0 if P does not fall at all.
    fn line_search(&self, problem: &Problem<'_>, matrix: &mut StepMatrix) -> Result<f64, SolverError> {
        let Problem { coordinates, compiled, laws, .. } = *problem;
        let Self { omega_start, omega_step, delta, descent, .. } = self;
        let at = |c: usize, alpha: f64| {
            let omega = omega_start[c] + alpha * omega_step[c];
            let at = [self.multiplier[c], self.penalty[c], self.stop_multiplier[c], self.stop_penalty[c]];
            contact_at(&laws[c], &compiled.inputs.contacts[c].law, problem.bounds[c], omega, at)
        };
        let curvature = matrix.curvature(compiled, coordinates, delta)?;
        // δᵀF and its derivative
        let slope = |alpha: f64| {
            let (mut slope, mut rise) = (-descent + alpha * curvature, curvature);
            for c in (0..omega_step.len()).filter(|&c| omega_step[c] != 0.0) {
                let (start, here) = (at(c, 0.0), at(c, alpha));
                slope += omega_step[c] * (here.impulse() - start.impulse());
                rise += omega_step[c] * omega_step[c] * here.slope;
            }
            (slope, rise)
        };
        let (mut low, mut high, mut alpha) = (0.0, 1.0, 1.0);
        if *descent <= 0.0 {
            return Ok(0.0);
        }
        for _ in 0..MAX_TRIALS {
            let (here, rise) = slope(alpha);
            if here.abs() <= LEVEL * descent || here < 0.0 && alpha == 1.0 {
                break;
            }
            if here > 0.0 {
                high = alpha;
            } else {
                low = alpha;
            }
            let newton = alpha - here / rise;
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            // Newton steps may creep on the far side of a kink: bisect instead
            alpha = if newton > low && newton < high && (newton - alpha).abs() > 0.01 * (high - low) {
                newton
            } else {
                middle
            };
        }
        Ok(alpha)
    }

    /// Whether rounding explains the residual: rounding of its terms, of ω, to which stiff contacts respond, and of the
    /// velocities of bodies that are locked together.
    fn is_residual_rounding(&mut self, problem: &Problem<'_>) -> bool {
        let coordinates = problem.coordinates;
        let Self { u, states, omega0, residual, magnitude, diagonal, response, .. } = self;
        let speeds = problem.max_by_unit(magnitude.iter().zip(&*diagonal).map(|(size, r)| size / r));
        response.fill(0.0);
        for (c, row) in coordinates.contacts.iter().enumerate() {
            let omega = row.iter().fold(omega0[c].abs(), |sum, &(j, w)| sum + (w * u[j]).abs());
            row.iter().for_each(|&(k, w)| response[k] += w.abs() * states[c].slope * omega);
            // a rate that reaches its bound to rounding, where nothing else acts; in free fall the rate itself is the
            // rounding error of the others
            if problem.bounds[c].iter().any(|bound| bound.is_finite()) {
                let error: f64 = row.iter().map(|&(j, w)| w.abs() * speeds[problem.unit(j)]).sum();
                row.iter().for_each(|&(k, w)| response[k] += w.abs() * states[c].slope * error);
                let part = ROUNDED / ROUNDINGS;
                row.iter().for_each(|&(k, w)| response[k] += part * diagonal[k] * omega / w.abs());
            }
        }
        (0..u.len()).all(|k| {
            let response = response[k] + diagonal[k] * speeds[problem.unit(k)];
            residual[k].abs() <= ROUNDED * magnitude[k] + ROUNDINGS * response + NO_EFFORT
        })
    }

    /// Whether δ is below the rounding of the velocities themselves.
    fn is_step_rounding(&self, problem: &Problem<'_>) -> bool {
        let largest = problem.max_by_unit(self.u.iter().map(|u| u.abs()));
        let mut steps = self.delta.iter().enumerate();
        steps.all(|(k, step)| step.abs() <= f64::EPSILON * largest[problem.unit(k)])
    }

    /// u += part · δ.
    fn advance(&mut self, part: f64) {
        self.u.iter_mut().zip(&self.delta).for_each(|(u, delta)| *u += part * delta);
    }

    /// The contact whose rows have the largest residual.
    fn largest_residual(&self, problem: &Problem<'_>) -> Option<usize> {
        let rows = &problem.coordinates.contacts;
        let error = |c: usize| {
            let of_row = |&(k, _): &(usize, f64)| self.residual[k].abs() / (self.magnitude[k] + NO_EFFORT);
            rows[c].iter().map(of_row).fold(0.0, f64::max)
        };
        (0..rows.len()).max_by(|&a, &b| error(a).total_cmp(&error(b)))
    }
}

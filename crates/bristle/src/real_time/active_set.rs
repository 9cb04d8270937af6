//! The convex problem of a step on a tree, by exchange of modes: a primal–dual active-set method (Hintermüller, Ito and
//! Kunisch 2002), which is Newton's method for complementarity.
//!
//! ```text
//! A x + Wᵀ λ = h r,   ω = ω₀ + W x        in all velocities; prescribed changes are given, constraints obeyed      (1)
//! stuck       x = −ω₀, locked in the recursion;      remains while −λ₋ ≤ λ ≤ λ₊, else slides with that limit      (2)
//! forward     λ = λ₊ + k₊ ω;                         remains while ω ≥ 0, else sticks; backward alike
//! other laws  λ = λ(ω̄) + λ'(ω̄) (ω − ω̄);             ω̄ of the round before
//! on a stop   x = ω_bound − ω₀, locked alike;        remains while the stop pushes: λ exceeds friction; see `stops`
//! ```
//!
//! Every round solves (1) with linear contacts as a whole, not for a correction, so it needs no product; the modes of
//! the last step make one round enough as long as no contact changes its mode. A product at the end verifies (1).
//! Stuck joints are locked and not held by penalties, and λ follows from the efforts of the recursion.
//!
//! The method has no safeguard. Where the number of contacts on the wrong side stops falling, an interior-point method
//! finds modes to start again from, and where these do not converge either, the convex solver starts from the
//! beginning; all have the same solution. It does not apply where dry contacts connect joints, share a joint or act on
//! a dependent one: there the load distribution needs penalties.

use super::convex_solver::{
    Accuracy, COARSE, ConvexSolver, IMMOVABLE_PENALTY, NO_EFFORT, ROUNDED, SOLVED, SolverError,
};
use super::impulse_law::{ContactState, ImpulseLaw};
use super::problem::Problem;
use super::reduced_coordinates::ReducedCoordinates;
use super::step_matrix::restrict;
use super::stops::{StepStops, friction_interval};
use super::tree_matrix::TreeMatrix;
use crate::model::{Compiled, End};
use crate::stop;
use bristle_friction::Mode;
use bristle_multibody::Error;

/// Rounds at most, and rounds in which the number of contacts on the wrong side may stay as it was or grow.
pub(super) const MAX_ROUNDS: usize = 60;
pub(super) const PATIENCE: usize = 4;

/// Corrections of a solution by its residual at most. One is usual where rounding has left too much.
pub(super) const MAX_CORRECTIONS: usize = 3;

/// Iterates and scratch; the arrays are made once. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct ActiveSet {
    /// Modes of the dry contacts, and the stops that act.
    modes: Vec<Mode>,
    on_stop: Vec<Option<End>>,
    /// x, and h r less the constant parts of λ; all velocities.
    x: Vec<f64>,
    rhs: Vec<f64>,
    /// λ at ω = 0 and λ' of the linear contacts.
    linear: Vec<[f64; 2]>,
    /// Slopes and locked velocities, and those of the factors.
    slopes: Vec<f64>,
    locked: Vec<bool>,
    factored_slopes: Vec<f64>,
    factored_locked: Vec<bool>,
    is_factored: bool,
    /// A x, the residual of (1), the sizes of its terms and a correction, in all velocities.
    product: Vec<f64>,
    residual: Vec<f64>,
    size: Vec<f64>,
    correction: Vec<f64>,
    /// Residual and sizes in the independent velocities, and impulses of stuck contacts there.
    reduced: Vec<f64>,
    reduced_size: Vec<f64>,
    stuck_impulse: Vec<f64>,
}

/// The rate of contact c on a stop.
fn bound(problem: &Problem<'_>, c: usize, end: Option<End>) -> f64 {
    end.map_or(0.0, |end| problem.bounds[c][end as usize])
}

/// The bound that a rate ω is beyond, by more than the rounding of a rate that was ω₀ at the start.
fn passed([low, high]: [f64; 2], omega0: f64, omega: f64) -> Option<End> {
    let rounding = SOLVED * (omega0.abs() + omega.abs());
    if omega < low - rounding {
        Some(End::Lower)
    } else if omega > high + rounding {
        Some(End::Upper)
    } else {
        None
    }
}

/// Whether the impulse `lambda` of a contact on its stop, at the rate ω, is friction and an impulse into the range.
fn pushes(law: &ImpulseLaw, omega: f64, end: Option<End>, lambda: f64, slack: f64) -> bool {
    let [low, high] = friction_interval(law, omega);
    if end == Some(End::Upper) { lambda >= low - slack } else { lambda <= high + slack }
}

/// (1) beside its matrix and its contacts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Equations<'a> {
    /// h and r.
    pub h: f64,
    pub r: &'a [f64],
    /// Velocities at the start, and changes of the prescribed ones.
    pub v: &'a [f64],
    pub u_prescribed: &'a [f64],
}

impl ActiveSet {
    /// Whether each dry contact has an independent velocity of its own, or none: then its joint is prescribed.
    pub fn applies(compiled: &Compiled, coordinates: &ReducedCoordinates) -> bool {
        let mut has_dry = vec![false; compiled.model.tree.n_v];
        let mut dry = compiled.inputs.contacts.iter().enumerate().filter(|(_, contact)| contact.is_event_driven());
        dry.all(|(c, contact)| {
            let is_alone = match coordinates.contacts[c][..] {
                [] => true,
                [(i, _)] => coordinates.independent[i] == contact.v,
                _ => false,
            };
            contact.b.is_none() && is_alone && !std::mem::replace(&mut has_dry[contact.v], true)
        })
    }

    pub fn new(compiled: &Compiled, coordinates: &ReducedCoordinates) -> Self {
        let (n_v, n_contacts, n) =
            (compiled.model.tree.n_v, compiled.inputs.contacts.len(), coordinates.independent.len());
        let zeros = || vec![0.0; n_v];
        Self {
            modes: vec![Mode::Stuck; n_contacts],
            on_stop: vec![None; n_contacts],
            x: zeros(),
            rhs: zeros(),
            linear: vec![[0.0; 2]; n_contacts],
            slopes: vec![0.0; n_contacts],
            locked: vec![false; n_v],
            factored_slopes: vec![0.0; n_contacts],
            factored_locked: vec![false; n_v],
            is_factored: false,
            product: zeros(),
            residual: zeros(),
            size: zeros(),
            correction: zeros(),
            reduced: vec![0.0; n],
            reduced_size: vec![0.0; n],
            stuck_impulse: vec![0.0; n],
        }
    }

    /// Begins a step with the modes and closed stops at its start and the accelerations of the last one.
    pub fn start(
        &mut self,
        coordinates: &ReducedCoordinates,
        modes: &[Mode],
        stops: &StepStops,
        h: f64,
        last_acceleration: &[f64],
    ) {
        self.is_factored = false;
        for &c in &stops.of {
            self.on_stop[c] = stops.memory[c].closed.filter(|&end| stops.bounds[c][end as usize].is_finite());
        }
        self.modes.copy_from_slice(modes);
        coordinates.independent.iter().zip(last_acceleration).for_each(|(&k, a)| self.x[k] = h * a);
        coordinates.set_velocities(&mut self.x);
    }

    /// Takes over what the convex solver has found: modes, and velocities for the tangents of the next round.
    pub fn follow(&mut self, coordinates: &ReducedCoordinates, solver: &ConvexSolver) {
        self.is_factored = false;
        for (mode, state) in self.modes.iter_mut().zip(&solver.states) {
            let sign = if state.omega == 0.0 { state.lambda } else { state.omega };
            *mode = if state.is_stuck { Mode::Stuck } else { Mode::of_sign(sign) };
        }
        self.on_stop.iter_mut().zip(&solver.states).for_each(|(on_stop, state)| *on_stop = state.on_stop);
        coordinates.expand(solver.u.iter().copied(), &mut self.x);
    }

    /// Takes over what the interior-point method has found: velocities, and multipliers that are limits where a contact
    /// slides.
    pub fn follow_interior(&mut self, problem: &Problem<'_>, solver: &ConvexSolver) {
        self.is_factored = false;
        self.on_stop.fill(None);
        for (c, law) in problem.laws.iter().enumerate() {
            if let ImpulseLaw::Dry { forward, backward, .. } = law {
                let multiplier = solver.multiplier[c];
                self.modes[c] = match multiplier {
                    _ if multiplier == forward[0] => Mode::Forward,
                    _ if multiplier == -backward[0] => Mode::Backward,
                    _ => Mode::Stuck,
                };
            }
        }
        problem.coordinates.expand(solver.u.iter().copied(), &mut self.x);
    }

    /// Solves (1) and leaves u and contact states in `solver`. Returns false if the modes have not converged.
    pub fn solve(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut TreeMatrix,
        equations: Equations<'_>,
        solver: &mut ConvexSolver,
        accuracy: Accuracy,
    ) -> Result<bool, SolverError> {
        let Problem { coordinates, compiled, .. } = *problem;
        coordinates.prescribed.iter().for_each(|joint| self.x[joint.v] = equations.u_prescribed[joint.v]);
        let enough = if accuracy == Accuracy::Coarse { COARSE } else { SOLVED };
        let (mut round, mut fewest, mut patience) = (0, usize::MAX, PATIENCE);
        loop {
            if stop::is_asked() {
                return Err(SolverError::Stopped);
            }
            round += 1;
            self.linearize(problem, matrix, equations);
            if !self.is_factored || self.slopes != self.factored_slopes || self.locked != self.factored_locked {
                self.is_factored = false;
                matrix.factor_locked(compiled, &self.slopes, &self.locked)?;
                self.factored_slopes.copy_from_slice(&self.slopes);
                self.factored_locked.copy_from_slice(&self.locked);
                self.is_factored = true;
            }
            matrix.solve_locked(compiled, &self.rhs, &mut self.x)?;
            let n_wrong = self.exchange(problem, matrix, equations, enough);
            if n_wrong == 0 {
                break;
            }
            if n_wrong < fewest {
                (fewest, patience) = (n_wrong, PATIENCE);
            } else {
                patience -= 1;
            }
            if patience == 0 || round == MAX_ROUNDS {
                solver.n_rounds += round;
                return Ok(false);
            }
        }
        (solver.n_rounds, solver.max_rounds) = (solver.n_rounds + round, solver.max_rounds.max(round));
        let is_solved =
            accuracy == Accuracy::Coarse || self.verify(problem, matrix, equations)? && self.is_admissible(problem);
        if is_solved {
            self.finish(problem, equations, solver, accuracy);
        }
        Ok(is_solved)
    }

    /// The linear contacts of a round, locked joints with their x, and the right-hand side of (1).
    fn linearize(&mut self, problem: &Problem<'_>, matrix: &TreeMatrix, Equations { h, r, v, .. }: Equations<'_>) {
        let Problem { compiled, laws, .. } = *problem;
        let Self { modes, on_stop, x, rhs, linear, slopes, locked, .. } = self;
        rhs.iter_mut().zip(r).for_each(|(rhs, r)| *rhs = h * r);
        locked.copy_from_slice(&matrix.prescribed);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let omega0 = contact.rate(v);
            linear[c] = match (laws[c], modes[c]) {
                (ImpulseLaw::Dry { .. }, _) if matrix.prescribed[contact.v] => [0.0; 2],
                (ImpulseLaw::Dry { .. }, _) if on_stop[c].is_some() => {
                    locked[contact.v] = true;
                    x[contact.v] = bound(problem, c, on_stop[c]) - omega0;
                    [0.0; 2]
                }
                (ImpulseLaw::Dry { forward, backward, .. }, Mode::Stuck) if forward[0] + backward[0] > 0.0 => {
                    locked[contact.v] = true;
                    x[contact.v] = -omega0;
                    [0.0; 2]
                }
                (law @ ImpulseLaw::Dry { .. }, mode) => law.tangent(mode, omega0 + contact.rate(x)),
                (ref law, _) => {
                    let state = law.at(&contact.law, omega0 + contact.rate(x), 0.0, 0.0);
                    [state.lambda - state.slope * state.omega, state.slope]
                }
            };
            let [lambda, slope] = linear[c];
            slopes[c] = slope;
            contact.take(rhs, lambda + slope * omega0);
        }
    }

    /// Modes by (2). Returns the number of those that have changed and of tangents that disagree with their laws.
    fn exchange(
        &mut self,
        problem: &Problem<'_>,
        matrix: &TreeMatrix,
        Equations { v, .. }: Equations<'_>,
        enough: f64,
    ) -> usize {
        let Problem { compiled, laws, .. } = *problem;
        let Self { modes, on_stop, x, linear, .. } = self;
        let mut n_wrong = 0;
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let k = contact.v;
            let (omega, impulse) = (contact.rate(v) + contact.rate(x), matrix.effort[k] + matrix.diagonal[k] * x[k]);
            match laws[c] {
                ImpulseLaw::Dry { .. } if matrix.prescribed[k] => {}
                ref law @ ImpulseLaw::Dry { .. } if on_stop[c].is_some() => {
                    let lambda = matrix.reduced[k] - impulse;
                    let slack = SOLVED * (matrix.reduced[k].abs() + impulse.abs());
                    let omega = bound(problem, c, on_stop[c]);
                    if !pushes(law, omega, on_stop[c], lambda, slack) {
                        // the direction of motion there, or away from the stop
                        let away = on_stop[c].map_or(0.0, End::inward);
                        modes[c] = Mode::of_sign(if omega == 0.0 { away } else { omega });
                        on_stop[c] = None;
                        n_wrong += 1;
                    }
                }
                ImpulseLaw::Dry { .. } if passed(problem.bounds[c], contact.rate(v), omega).is_some() => {
                    on_stop[c] = passed(problem.bounds[c], contact.rate(v), omega);
                    n_wrong += 1;
                }
                law @ ImpulseLaw::Dry { forward, backward, power } => {
                    let is_empty = forward[0] + backward[0] <= 0.0;
                    let next = match modes[c] {
                        Mode::Stuck if is_empty && omega < 0.0 => Mode::Backward,
                        Mode::Stuck if is_empty => Mode::Forward,
                        Mode::Stuck => {
                            let lambda = matrix.reduced[k] - impulse;
                            let slack = SOLVED * (matrix.reduced[k].abs() + impulse.abs());
                            if lambda > forward[0] + slack {
                                Mode::Forward
                            } else if lambda < -backward[0] - slack {
                                Mode::Backward
                            } else {
                                Mode::Stuck
                            }
                        }
                        Mode::Forward if omega < 0.0 && is_empty => Mode::Backward,
                        Mode::Backward if omega > 0.0 && is_empty => Mode::Forward,
                        Mode::Forward if omega < 0.0 => Mode::Stuck,
                        Mode::Backward if omega > 0.0 => Mode::Stuck,
                        mode => mode,
                    };
                    let is_same = next == modes[c] || is_empty && linear[c] == law.tangent(next, omega);
                    // the tangent of a power of speed
                    let ([level, slope], (now, _)) = (linear[c], law.slide(next == Mode::Backward, omega.abs()));
                    let size = matrix.reduced[k].abs() + now + (matrix.diagonal[k] * x[k]).abs();
                    let is_curved = is_same && power.is_some() && next != Mode::Stuck;
                    let is_off = is_curved && (now - (level + slope * omega).abs()).abs() > enough * size + NO_EFFORT;
                    n_wrong += usize::from(!is_same || is_off);
                    modes[c] = next;
                }
                ref law => {
                    let (state, [lambda, slope]) = (law.at(&contact.law, omega, 0.0, 0.0), linear[c]);
                    let size = matrix.reduced[k].abs() + state.lambda.abs() + (matrix.diagonal[k] * x[k]).abs();
                    let is_close = (state.lambda - lambda - slope * omega).abs() <= enough * size + NO_EFFORT;
                    n_wrong += usize::from(!is_close);
                }
            }
        }
        n_wrong
    }

    /// Evaluates (1) at x by a product, and corrects x where more than rounding is left. Returns whether (1) holds.
    fn verify(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut TreeMatrix,
        equations: Equations<'_>,
    ) -> Result<bool, Error> {
        let Problem { coordinates, compiled, .. } = *problem;
        for correction in 0..=MAX_CORRECTIONS {
            matrix.multiply_all(compiled, &self.x, &mut self.product)?;
            // a sum is no larger than the sizes of its terms: a bound that is often good enough
            self.size.iter_mut().zip(&self.product).for_each(|(size, product)| *size = product.abs());
            self.evaluate(problem, matrix, equations);
            if self.is_within(SOLVED) {
                return Ok(true);
            }
            matrix.multiply_with_sizes(compiled, &self.x)?;
            self.size.copy_from_slice(matrix.product().1);
            self.evaluate(problem, matrix, equations);
            if self.is_within(if correction == MAX_CORRECTIONS { ROUNDED } else { SOLVED }) {
                return Ok(true);
            }
            self.rhs.fill(0.0);
            self.correction.fill(0.0);
            coordinates.independent.iter().zip(&self.reduced).for_each(|(&k, residual)| self.rhs[k] = *residual);
            matrix.solve_locked(compiled, &self.rhs, &mut self.correction)?;
            self.x.iter_mut().zip(&self.correction).for_each(|(x, correction)| *x += correction);
        }
        Ok(false)
    }

    /// h r − A x − Wᵀ λ of all contacts that are not stuck and the sizes of its terms, in the independent velocities.
    fn evaluate(&mut self, problem: &Problem<'_>, matrix: &TreeMatrix, Equations { h, r, v, .. }: Equations<'_>) {
        let Problem { coordinates, compiled, laws, .. } = *problem;
        let Self { x, linear, locked, residual, product, size, reduced, reduced_size, .. } = self;
        for (((residual, size), product), r) in residual.iter_mut().zip(&mut *size).zip(product).zip(r) {
            *residual = h * r - *product;
            *size += (h * r).abs();
        }
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let is_dry = matches!(laws[c], ImpulseLaw::Dry { .. });
            if is_dry && locked[contact.v] {
                continue;
            }
            let omega = contact.rate(v) + contact.rate(x);
            let [level, slope] = linear[c];
            let lambda = if is_dry { level + slope * omega } else { laws[c].at(&contact.law, omega, 0.0, 0.0).lambda };
            contact.take(residual, lambda);
            contact.take(size, -lambda.abs());
            contact.b.iter().for_each(|&b| size[b] += 2.0 * lambda.abs());
        }
        if coordinates.is_identity {
            reduced.copy_from_slice(residual);
            reduced_size.copy_from_slice(size);
        } else {
            restrict(&coordinates.rows, residual, reduced);
            reduced_size.fill(0.0);
            for (row, size) in coordinates.rows.iter().zip(&*size) {
                row.iter().for_each(|&(i, c)| reduced_size[i] += (c * size).abs());
            }
        }
        // the residual of a stuck joint is the impulse of its contact
        for (i, &k) in coordinates.independent.iter().enumerate() {
            self.stuck_impulse[i] = reduced[i];
            if locked[k] && !matrix.prescribed[k] {
                reduced[i] = 0.0;
            }
        }
    }

    /// Whether every residual is at most this part of the terms of its row.
    fn is_within(&self, part: f64) -> bool {
        let mut rows = self.reduced.iter().zip(&self.reduced_size);
        // a NaN is not
        rows.all(|(residual, size)| residual.abs() <= part * size + NO_EFFORT)
    }

    /// Whether stuck contacts hold no more than their limits, apart from rounding.
    fn is_admissible(&self, problem: &Problem<'_>) -> bool {
        let Problem { coordinates, compiled, laws, .. } = *problem;
        compiled.inputs.contacts.iter().enumerate().all(|(c, contact)| match (laws[c], &coordinates.contacts[c][..]) {
            (ImpulseLaw::Dry { forward, backward, .. }, &[(i, _), ..]) if self.locked[contact.v] => {
                let slack = ROUNDED * self.reduced_size[i] + NO_EFFORT;
                if self.on_stop[c].is_some() {
                    let omega = bound(problem, c, self.on_stop[c]);
                    return pushes(&laws[c], omega, self.on_stop[c], self.stuck_impulse[i], slack);
                }
                (-backward[0] - slack..=forward[0] + slack).contains(&self.stuck_impulse[i])
            }
            _ => true,
        })
    }

    /// u and the contacts at x.
    fn finish(
        &self,
        problem: &Problem<'_>,
        Equations { v, .. }: Equations<'_>,
        solver: &mut ConvexSolver,
        accuracy: Accuracy,
    ) {
        let Problem { coordinates, compiled, laws, .. } = *problem;
        solver.u.iter_mut().zip(&coordinates.independent).for_each(|(u, &k)| *u = self.x[k]);
        if accuracy == Accuracy::Coarse {
            return;
        }
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let omega = contact.rate(v) + contact.rate(&self.x);
            solver.states[c] = match (laws[c], &coordinates.contacts[c][..]) {
                (ImpulseLaw::Dry { .. }, []) => laws[c].at(&contact.law, omega, 0.0, IMMOVABLE_PENALTY),
                (ref law @ ImpulseLaw::Dry { .. }, &[(i, _), ..]) if self.on_stop[c].is_some() => {
                    let omega = bound(problem, c, self.on_stop[c]);
                    let [low, high] = friction_interval(law, omega);
                    let (total, on_stop) = (self.stuck_impulse[i], self.on_stop[c]);
                    // friction first
                    let lambda = total.max(low).min(high);
                    let is_stuck = omega == 0.0;
                    ContactState { omega, lambda, stop: total - lambda, slope: 0.0, magnitude: 0.0, is_stuck, on_stop }
                }
                (ImpulseLaw::Dry { forward, backward, .. }, &[(i, _), ..]) => {
                    let (is_stuck, [level, slope]) = (self.locked[contact.v], self.linear[c]);
                    // rounding may leave a stuck contact beyond its limit
                    let lambda = if is_stuck {
                        self.stuck_impulse[i].max(-backward[0]).min(forward[0])
                    } else {
                        level + slope * omega
                    };
                    let omega = if is_stuck { 0.0 } else { omega };
                    ContactState { omega, lambda, slope, is_stuck, ..ContactState::default() }
                }
                (ref law, _) => law.at(&contact.law, omega, 0.0, 0.0),
            };
        }
    }
}

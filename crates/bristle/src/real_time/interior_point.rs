//! Primal–dual interior-point method for dry contacts: the fallback of the convex solver (Wright 1997).
//!
//! ```text
//! R u + Wᵀ (f + k ω) = b,      ω₀ + W u = ω = p − m                       f: dry friction without its viscous part k ω
//! p (λ₊ − f) = μ,   m (λ₋ + f) = μ,        p, m > 0,  −λ₋ < f < λ₊                                   (1)
//! ```
//!
//! p and m are the speeds of forward and backward slip. At μ = 0, (1) is Coulomb friction as a complementarity problem.
//! Newton steps for (1) with μ falling towards 0 stay strictly inside the bounds and need about twenty rounds, however
//! many contacts break away together and however unevenly inertia is distributed. Each has the matrix of the convex
//! solver with
//!
//! ```text
//! δf = Θ (W δu + ω − μ/s + μ/t),     Θ = 1/(p/s + m/t),     s = λ₊ − f,  t = λ₋ + f                  (2)
//! ```
//!
//! as the slope Θ of a dry contact; the other laws have their tangents. The convex solver continues from the u and the
//! multipliers found here.

use super::convex_solver::SolverError;
use super::impulse_law::ImpulseLaw;
use super::max_by_unit;
use super::problem::Problem;
use super::reduced_coordinates::dot;
use super::step_matrix::StepMatrix;
use super::stops::stop_impulse;
use crate::stop;
use bristle_multibody::Error;

/// Rounds at most.
const MAX_ROUNDS: usize = 60;

/// Fraction of the distance to a bound that a step takes at most.
const STEP_FRACTION: f64 = 0.99;

/// μ of a round, relative to the mean complementarity before it: after long steps and after short ones.
const CENTERING: [f64; 2] = [0.05, 0.3];

/// μ at the end, relative to μ at the start.
const FINAL_MU: f64 = 1e-15;

/// Θ at most, relative to the penalty of the convex solver.
const MAX_THETA: f64 = 1e4;

/// Variables of (1) for the dry contacts; the arrays are made once. See the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct InteriorPoint {
    /// −λ₋ and λ₊. Contacts with an empty interval carry no friction and take no part.
    bounds: Vec<[f64; 2]>,
    /// s and t, both kept, so that each has full relative precision.
    s: Vec<f64>,
    t: Vec<f64>,
    p: Vec<f64>,
    m: Vec<f64>,
    /// Scales of p and m, linear and angular.
    speed_scale: [f64; 2],
    /// Θ, ω − μ/s + μ/t, and δf of (2).
    theta: Vec<f64>,
    shift: Vec<f64>,
    df: Vec<f64>,
    /// Slopes of all contacts, and δu.
    slopes: Vec<f64>,
    du: Vec<f64>,
    sizes: Vec<f64>,
}

/// ω₀ and penalties of the contacts, and the diagonal of R. Stops act by their augmented Lagrangian.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contacts<'a> {
    pub omega0: &'a [f64],
    pub penalty: &'a [f64],
    pub diagonal: &'a [f64],
    /// λ̂ and ρ of stops.
    pub stop_multiplier: &'a [f64],
    pub stop_penalty: &'a [f64],
}

impl InteriorPoint {
    /// For n independent velocities.
    pub fn new(n: usize, n_contacts: usize) -> Self {
        let numbers = vec![0.0; n_contacts];
        Self {
            bounds: vec![[0.0; 2]; n_contacts],
            s: numbers.clone(),
            t: numbers.clone(),
            p: numbers.clone(),
            m: numbers.clone(),
            speed_scale: [1.0; 2],
            theta: numbers.clone(),
            shift: numbers.clone(),
            df: numbers.clone(),
            slopes: numbers,
            du: vec![0.0; n],
            sizes: vec![0.0; n],
        }
    }

    /// f of contact c, from the bound it is closer to.
    fn friction(&self, c: usize) -> f64 {
        let ([low, high], s, t) = (self.bounds[c], self.s[c], self.t[c]);
        if s < t { high - s } else { low + t }
    }

    /// Contacts that take part.
    fn dry(&self) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.bounds.len()).filter(|&c| self.bounds[c][0] < self.bounds[c][1])
    }

    /// Brings u and the multipliers of dry contacts close to the solution; returns the rounds it took.
    pub fn approach(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut StepMatrix,
        known: Contacts<'_>,
        u: &mut [f64],
        multiplier: &mut [f64],
    ) -> Result<usize, SolverError> {
        self.initialize(problem, known, u);
        let (mut mu, mut centering) = (self.complementarity(), CENTERING[1]);
        let (enough, mut rounds) = (FINAL_MU * mu, 0);
        while mu > enough && rounds < MAX_ROUNDS {
            if stop::is_asked() {
                return Err(SolverError::Stopped);
            }
            rounds += 1;
            if !self.find_direction(problem, matrix, known, u, centering * mu)? {
                break;
            }
            let alpha = self.advance(problem, u, centering * mu);
            mu = self.complementarity();
            centering = CENTERING[usize::from(alpha < 0.9)];
        }
        self.set_multipliers(problem, known, u, multiplier);
        Ok(rounds)
    }

    /// A starting point well inside all bounds.
    fn initialize(&mut self, problem: &Problem<'_>, Contacts { omega0, diagonal, .. }: Contacts<'_>, u: &[f64]) {
        let Problem { b, coordinates, compiled, laws, is_angular, .. } = *problem;
        let contacts = &compiled.inputs.contacts;
        let speeds = coordinates.independent.iter().enumerate().map(|(k, &v)| (v, b[k].abs() / diagonal[k]));
        self.speed_scale = max_by_unit(speeds, is_angular).map(|speed| speed.max(f64::MIN_POSITIVE));
        for (c, law) in laws.iter().enumerate() {
            let [low, high] = match *law {
                ImpulseLaw::Dry { forward, backward, .. } if !coordinates.contacts[c].is_empty() => {
                    [-backward[0], forward[0]]
                }
                _ => [0.0; 2],
            };
            self.bounds[c] = [low, high];
            (self.s[c], self.t[c]) = (0.5 * (high - low), 0.5 * (high - low));
            let omega = omega0[c] + dot(&coordinates.contacts[c], u);
            let scale = self.speed_scale[usize::from(is_angular[contacts[c].v])];
            self.p[c] = omega.max(0.0) + scale;
            self.m[c] = (-omega).max(0.0) + scale;
        }
    }

    /// Sets λ̂ such that contacts that slide by now slide, and the others stick with friction f.
    fn set_multipliers(
        &self,
        problem: &Problem<'_>,
        Contacts { omega0, penalty, .. }: Contacts<'_>,
        u: &[f64],
        multiplier: &mut [f64],
    ) {
        let Problem { coordinates, compiled, is_angular, .. } = *problem;
        let contacts = &compiled.inputs.contacts;
        for c in self.dry() {
            let [low, high] = self.bounds[c];
            // a contact slides if its speed is larger than its distance from the bound, each relative to its scale
            let scale = self.speed_scale[usize::from(is_angular[contacts[c].v])];
            let slides = |speed: f64, distance: f64| speed * (high - low) > distance * scale;
            multiplier[c] = if coordinates.is_redundant[c] {
                // the penalty distributes the load
                0.0
            } else if slides(self.p[c], self.s[c]) {
                high
            } else if slides(self.m[c], self.t[c]) {
                low
            } else {
                self.friction(c) - penalty[c] * (omega0[c] + dot(&coordinates.contacts[c], u))
            };
        }
    }

    /// Newton step of (1) at μ with δf eliminated by (2). Returns whether the matrix is positive definite in spite of
    /// rounding.
    fn find_direction(
        &mut self,
        problem: &Problem<'_>,
        matrix: &mut StepMatrix,
        Contacts { omega0, penalty, stop_multiplier, stop_penalty, .. }: Contacts<'_>,
        u: &[f64],
        mu: f64,
    ) -> Result<bool, Error> {
        let Problem { b, coordinates, compiled, laws, .. } = *problem;
        matrix.residual(compiled, coordinates, [b, u], &mut self.du, &mut self.sizes)?;
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let row = &coordinates.contacts[c];
            let omega = omega0[c] + dot(row, u);
            let [low, high] = self.bounds[c];
            let (lambda, slope) = match laws[c] {
                ImpulseLaw::Dry { forward, backward, .. } => {
                    // the part of the law that grows with speed, and its slope
                    let (level, sign) = if omega > 0.0 { (forward[0], 1.0) } else { (backward[0], -1.0) };
                    let (grown, viscous) = laws[c].slide(omega <= 0.0, omega.abs());
                    let grown = sign * (grown - level);
                    if low < high {
                        let (s, t) = (self.s[c], self.t[c]);
                        let theta = 1.0 / (self.p[c] / s + self.m[c] / t);
                        // no stiffer than rounding permits
                        self.theta[c] = theta.min(MAX_THETA * penalty[c]);
                        self.shift[c] = omega - mu / s + mu / t;
                        let shift = self.theta[c] * self.shift[c];
                        (self.friction(c) + grown + shift, viscous + self.theta[c])
                    } else {
                        (grown, viscous)
                    }
                }
                ref law => {
                    let state = law.at(&contact.law, omega, 0.0, 0.0);
                    (state.lambda, state.slope)
                }
            };
            let (stop, stop_slope) = stop_impulse(problem.bounds[c], omega, stop_multiplier[c], stop_penalty[c]);
            self.slopes[c] = slope + stop_slope;
            row.iter().for_each(|&(i, w)| self.du[i] -= w * (lambda + stop));
        }
        if matrix.factor(compiled, coordinates, &self.slopes).is_err() {
            return Ok(false);
        }
        matrix.solve(compiled, coordinates, &mut self.du)?;
        Ok(true)
    }

    /// Takes the step as far as the bounds allow; returns the part of it that was taken.
    fn advance(&mut self, problem: &Problem<'_>, u: &mut [f64], mu: f64) -> f64 {
        let Self { bounds, s, t, p, m, theta, shift, df, du, .. } = self;
        let dry = || (0..bounds.len()).filter(|&c| bounds[c][0] < bounds[c][1]);
        // δp and δm of (1)
        let slip = |s: f64, t: f64, p: f64, m: f64, df: f64| ((mu - p * s + p * df) / s, (mu - m * t - m * df) / t);
        let to_bound = |x: f64, dx: f64| if dx < 0.0 { STEP_FRACTION * x / -dx } else { f64::INFINITY };
        let mut alpha = 1.0_f64;
        for c in dry() {
            df[c] = theta[c] * (dot(&problem.coordinates.contacts[c], du) + shift[c]);
            let (dp, dm) = slip(s[c], t[c], p[c], m[c], df[c]);
            let to_limits = to_bound(s[c], -df[c]).min(to_bound(t[c], df[c]));
            alpha = alpha.min(to_limits).min(to_bound(p[c], dp)).min(to_bound(m[c], dm));
        }
        for c in dry() {
            let (dp, dm) = slip(s[c], t[c], p[c], m[c], df[c]);
            s[c] -= alpha * df[c];
            t[c] += alpha * df[c];
            p[c] += alpha * dp;
            m[c] += alpha * dm;
        }
        u.iter_mut().zip(&*du).for_each(|(u, du)| *u += alpha * du);
        alpha
    }

    /// Mean of p s and m t.
    fn complementarity(&self) -> f64 {
        let (mut sum, mut n) = (0.0, 0.0);
        for c in self.dry() {
            sum += self.p[c] * self.s[c] + self.m[c] * self.t[c];
            n += 2.0;
        }
        if n == 0.0 { 0.0 } else { sum / n }
    }
}

//! The solution of (1) that is continuous from zero friction, by continuation in the friction: where it ends the
//! machine jams.
//!
//! With s from 0 to 1 the fraction of the friction that acts, T the dependence of all coordinates on the unknowns
//! (a = T a_u) and P = S + s κ n̂ as in `implicit`:
//!
//! ```text
//! G(a, s) = Tᵀ (τ − M a − c − s κ N(f(a))) = 0            −∂G/∂a = J = Tᵀ M_P T            −∂G/∂s = F = Tᵀ κ N
//! ```
//!
//! At s = 0 the solution is unique, and det J > 0. Pseudo-arclength continuation follows the curve G = 0: predictor
//! along the tangent, corrector in the hyperplane normal to it:
//!
//! ```text
//! (J  F) t = 0,  sign t_s = sign det J             ( J   F  ) (δa)   (G)
//!                                                  ( t_aᵀ t_s) (δs) = (0)
//! ```
//!
//! While det J > 0 the curve runs towards more friction, and the first point with s = 1 is the solution. It may end
//! before: at a **fold**, where det J = 0 and the curve turns back (the Painlevé paradox), or because accelerations
//! grow without bound. Beyond a fold the continuation goes on, to find whether other accelerations satisfy the
//! equations: on this curve, which for one bearing contains all solutions.
//!
//! **Which bearings.** At the end t_a is the direction u in which inertia and friction cancel: 0 = uᵀ J u = uᵀ M u + Σ
//! u_i s κ_i n̂_iᵀ δf_i(u). The error names the bearings with negative terms, the most negative first.
//!
//! **Determinant, not pivots.** The recursion of `implicit` needs D_i > 0 in every joint, tips first: D_i is the
//! pivot with all joints towards the base locked. It may pass through zero and be negative while det J = Π D_i > 0: D
//! of a joint towards the base then changes its sign through infinity at the same point. A tip that jams on a locked
//! base need not jam on a movable one. There, and where couplings matter, J is factored as a dense matrix with
//! pivoting: O(n³), and nowhere else.

mod jam;

use super::Dynamics;
use super::diagnostics::Counters;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::jacobian::load_rows;
use super::point::Point;
use super::scheme::{Scheme, TIGHT};
use crate::constraint::coordinates::Coordinates;
use crate::model::Compiled;
use bristle_integrate::linear::Lu;
use bristle_multibody::{Work, mass_rows, rnea};
use nalgebra::DMatrix;

/// Limit of the corrections: of Newton at given s, and of the corrector, which starts near the curve.
const MAX_CORRECTIONS: usize = 40;
const MAX_NEAR: usize = 8;

/// Relative residual of the points on the curve.
const ROUGH: f64 = 1e-9;

/// First and smallest step along the curve. The arc length is measured in s and in accelerations relative to the
/// largest one at its beginning. Where N = 0 the curve has a corner whose angle no short step reduces: the smallest
/// step passes it.
const FIRST_STEP: f64 = 1.0 / 16.0;
const MIN_STEP: f64 = 1e-9;

/// Largest step relative to the distance from the origin.
const LARGEST_STEP: f64 = 0.25;

/// Limit of the steps along the curve, and of the relative accelerations, beyond which they count as unbounded.
const MAX_STEPS: usize = 4000;
const INFINITE: f64 = 1e6;

/// Smallest det J relative to its value without friction: a smaller one is a jam. Where friction grows exactly as
/// fast as inertia, accelerations grow until the relative residual is small, although there is no solution.
const MIN_DETERMINANT: f64 = 1e-6;

/// Smallest cosine between the tangents at both ends of a step, and the cosine above which the next step may be longer.
const MIN_COSINE: f64 = 0.9;
const STRAIGHT: f64 = 0.99;

/// Bearings with less than this fraction of the most negative term are not named.
const NAMED: f64 = 0.1;

/// Reason why no accelerations exist on the branch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Jam {
    /// The bearings whose friction cancels inertia, largest contribution first.
    pub contacts: Vec<usize>,
    /// Fraction of the friction at which the branch ends.
    pub share: f64,
    /// Whether accelerations on another branch satisfy the equations.
    pub has_others: bool,
}

/// Scratch of dense Newton and of the continuation.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    /// M_P; `n_v` × `n_v`.
    mass: DMatrix<f64>,
    /// Factors of J; the sign of its determinant, 0 where it is negligible, and the logarithm of its magnitude without
    /// friction.
    lu: Lu,
    is_regular: bool,
    sign: f64,
    log_unloaded: f64,
    /// Factors of the matrix of the corrector.
    bordered: Lu,
    /// G and F, then a correction; `n_v` + 1.
    g: Vec<f64>,
    f: Vec<f64>,
    /// Accelerations without friction.
    start: Vec<f64>,
    /// The point (a, s) and the tangent there; the next ones; `n_v` + 1.
    y: Vec<f64>,
    t: Vec<f64>,
    y_next: Vec<f64>,
    t_next: Vec<f64>,
    /// Residual of (1), its friction at s = 1, and the direction u in which a branch ends; `n_v`.
    residual: Vec<f64>,
    friction: Vec<f64>,
    u: Vec<f64>,
    /// Magnitudes of the terms of (1), and of those of G; `n_v` + 1.
    size: Vec<f64>,
    scale: Vec<f64>,
}

impl Branch {
    fn new(n_v: usize) -> Self {
        let list = || vec![0.0; n_v + 1];
        Self {
            mass: DMatrix::zeros(n_v, n_v),
            lu: Lu::new(n_v),
            is_regular: false,
            sign: 0.0,
            log_unloaded: 0.0,
            bordered: Lu::new(n_v + 1),
            g: list(),
            f: list(),
            start: list(),
            y: list(),
            t: list(),
            y_next: list(),
            t_next: list(),
            residual: vec![0.0; n_v],
            friction: vec![0.0; n_v],
            u: vec![0.0; n_v],
            size: list(),
            scale: list(),
        }
    }
}

/// The structs that the continuation reads and changes, besides its own scratch.
struct Continuation<'a> {
    compiled: &'a Compiled,
    scheme: &'a Scheme,
    coordinates: &'a Coordinates,
    point: &'a mut Point,
    work: &'a mut Work,
    newton: &'a mut NewtonWork,
    counters: &'a mut Counters,
}

impl Dynamics {
    /// Dense Newton from the accelerations in `a`; if it does not end where det J > 0, the branch from zero friction.
    pub(crate) fn solve_densely(&mut self, accuracy: f64) -> Result<(), Failure> {
        let mut at = self.branch.take().unwrap_or_else(|| Box::new(Branch::new(self.point.v.len())));
        let mut continuation = self.continuation();
        let is_near = matches!(continuation.newton_near(&mut at, accuracy), Ok(true)) && at.sign > 0.0;
        let found = if is_near { Ok(()) } else { continuation.walk(&mut at, accuracy) };
        self.branch = Some(at);
        found
    }

    /// The branch from zero friction.
    pub(crate) fn follow_branch(&mut self, accuracy: f64) -> Result<(), Failure> {
        let mut at = self.branch.take().unwrap_or_else(|| Box::new(Branch::new(self.point.v.len())));
        let found = self.continuation().walk(&mut at, accuracy);
        self.branch = Some(at);
        found
    }

    fn continuation(&mut self) -> Continuation<'_> {
        let Self { compiled, scheme, coordinates, point, work, newton, diagnostics, .. } = self;
        Continuation { compiled, scheme, coordinates, point, work, newton, counters: &mut diagnostics.counters }
    }
}

impl Continuation<'_> {
    /// Newton with the full friction; compares det J with its value without friction.
    fn newton_near(&mut self, at: &mut Branch, accuracy: f64) -> Result<bool, Failure> {
        self.imbalance(at, 1.0)?;
        self.factor_densely(at, 0.0)?;
        self.newton_densely(at, 1.0, accuracy)
    }

    /// G, F and J at the accelerations in `a`; the largest component of G relative to its terms. Leaves reactions and
    /// loads.
    fn linearise(&mut self, at: &mut Branch, s: f64) -> Result<f64, Failure> {
        self.imbalance(at, s)?;
        self.factor_densely(at, s)?;
        let n = self.coordinates.active.len();
        at.scale[..n].fill(0.0);
        for i in 0..self.point.v.len() {
            let size =
                (0..self.point.v.len()).fold(at.size[i], |size, j| size + (at.mass[(i, j)] * self.point.a[j]).abs());
            self.coordinates.unknowns_of(i).for_each(|(k, c)| at.scale[k] += c.abs() * size);
        }
        let relative = |(g, size): (&f64, &f64)| if *g == 0.0 { 0.0 } else { g.abs() / size };
        let left = at.g[..n].iter().zip(&at.scale[..n]).map(relative);
        // a NaN propagates
        let left = left.fold(0.0, |most: f64, left| if left > most || left.is_nan() { left } else { most });
        if !left.is_finite() {
            return Err(bristle_multibody::Error::NonFinite { function: "newton" }.into());
        }
        Ok(left)
    }

    /// G and F, and the magnitudes of the terms of (1), at the accelerations in `a`. Leaves reactions and loads.
    fn imbalance(&mut self, at: &mut Branch, s: f64) -> Result<(), Failure> {
        let n = self.coordinates.active.len();
        let Self {
            compiled,
            work,
            newton: NewtonWork { zero, .. },
            scheme,
            point: Point { q, v, a, tau, motor, force, load, kappa, .. },
            ..
        } = self;
        let (model, contacts) = (&compiled.model.tree, &*compiled.inputs.contacts);
        let v = if scheme.is_impulsive { zero } else { v };
        let required = rnea(model, work, q, v, a)?;
        at.friction.fill(0.0);
        for (i, residual) in at.residual.iter_mut().enumerate() {
            *residual = tau[i] - required[i];
            at.size[i] = tau[i].abs() + required[i].abs();
        }
        for &c in &compiled.model.reaction_loaded {
            let contact = &contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            force[c] = bearing.reaction(work, contact.joint, motor[contact.v], a[contact.v]);
            load[c] = bearing.normal_load(&force[c], kappa[c]).0;
            let friction = kappa[c] * load[c];
            at.friction[contact.v] += friction;
            at.residual[contact.v] -= s * friction;
            at.size[contact.v] += s * friction.abs();
        }
        at.g[..n].fill(0.0);
        at.f[..n].fill(0.0);
        for i in 0..at.residual.len() {
            for (k, c) in self.coordinates.unknowns_of(i) {
                at.g[k] += c * at.residual[i];
                at.f[k] += c * at.friction[i];
            }
        }
        Ok(())
    }

    /// M_P and the factors of J for the reactions found last.
    fn factor_densely(&mut self, at: &mut Branch, s: f64) -> Result<(), Failure> {
        let n = self.coordinates.active.len();
        let Self { compiled, point, coordinates, work, newton, counters, .. } = self;
        let rows = load_rows(compiled, point, work, &mut newton.rows, s);
        mass_rows(&compiled.model.tree, work, &point.q, rows, &mut at.mass)?;
        counters.n_sweeps += 1;
        let matrix = at.lu.matrix_mut(n);
        matrix.clear();
        let n_v = at.mass.nrows();
        for i in 0..n_v {
            for (r, t_r) in coordinates.unknowns_of(i) {
                for j in 0..n_v {
                    coordinates.unknowns_of(j).for_each(|(c, t_c)| matrix[(r, c)] += t_r * at.mass[(i, j)] * t_c);
                }
            }
        }
        at.is_regular = at.lu.factor().is_ok();
        let (sign, log) = at.lu.determinant();
        if s == 0.0 {
            at.log_unloaded = log;
        }
        at.sign = if at.is_regular && log - at.log_unloaded > MIN_DETERMINANT.ln() { sign } else { 0.0 };
        Ok(())
    }

    /// Newton from `a` with s κ in place of κ; whether it converges.
    fn newton_densely(&mut self, at: &mut Branch, s: f64, accuracy: f64) -> Result<bool, Failure> {
        let n = self.coordinates.active.len();
        self.counters.n_acceleration_solves += 1;
        let mut before = f64::INFINITY;
        for k in 0..MAX_CORRECTIONS {
            let left = self.linearise(at, s)?;
            // no further progress: the residual is rounding
            if left <= accuracy || k > 6 && left <= 1e3 * accuracy && left >= 0.5 * before {
                return Ok(at.is_regular);
            }
            if !at.is_regular {
                return Ok(false);
            }
            before = left;
            at.lu.solve(&mut at.g[..n]);
            self.counters.n_substitutions += 1;
            self.coordinates.active.iter().zip(&at.g).for_each(|(&i, x)| self.point.a[i] += x);
            self.coordinates.accelerations(&mut self.point.a);
        }
        Ok(false)
    }

    /// Follows the curve from zero friction; leaves the accelerations at s = 1, or those without friction if the
    /// curve ends.
    fn walk(&mut self, at: &mut Branch, accuracy: f64) -> Result<(), Failure> {
        // the start is arbitrary: at s = 0 the equations are linear
        self.coordinates.active.iter().for_each(|&i| self.point.a[i] = 0.0);
        self.coordinates.accelerations(&mut self.point.a);
        if !self.newton_densely(at, 0.0, TIGHT.max(0.1 * accuracy))? {
            let joint = self.coordinates.active.first().map_or(0, |&i| self.compiled.model.joint_of[i]);
            let joint = self.compiled.model.tree.joint_names[joint].clone();
            return Err(bristle_multibody::Error::Singular { joint, inertia: 0.0 }.into());
        }
        self.coordinates.active.iter().zip(&mut at.start).for_each(|(&i, start)| *start = self.point.a[i]);
        if let Some(jam) = self.walk_on(at, accuracy)? {
            self.coordinates.active.iter().zip(&at.start).for_each(|(&i, start)| self.point.a[i] = *start);
            self.coordinates.accelerations(&mut self.point.a);
            // loads for the next selection, if this was a trial
            self.imbalance(at, 0.0)?;
            return Err(Failure::Jam(jam));
        }
        Ok(())
    }

    /// The continuation itself, from the solution at s = 0; the jam, if the branch ends before s = 1.
    fn walk_on(&mut self, at: &mut Branch, accuracy: f64) -> Result<Option<Jam>, Failure> {
        let n = self.coordinates.active.len();
        // the first point, its tangent (−J⁻¹ F, 1), and the scale of accelerations
        at.lu.solve(&mut at.f[..n]);
        let largest = |list: &[f64]| list.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let accelerations = self.coordinates.active.iter().map(|&i| self.point.a[i].abs()).fold(0.0, f64::max);
        let scale = accelerations.max(largest(&at.f[..n]));
        if scale == 0.0 {
            // without accelerations there are no loads
            at.t_next.fill(0.0);
            let is_found = self.newton_densely(at, 1.0, accuracy)?;
            return if is_found { Ok(None) } else { self.jam(at, 1.0).map(Some) };
        }
        for (k, &i) in self.coordinates.active.iter().enumerate() {
            (at.y[k], at.t[k]) = (self.point.a[i] / scale, -at.f[k] / scale);
        }
        (at.y[n], at.t[n]) = (0.0, 1.0);
        normalise(&mut at.t[..=n]);

        let mut h = FIRST_STEP;
        let mut fold: Option<Jam> = None;
        for _ in 0..MAX_STEPS {
            let (s, is_least) = (at.y[n], h <= MIN_STEP);
            let accepted = self.try_step(at, scale, h, is_least)?;
            if !accepted {
                if is_least {
                    break;
                }
                h = (0.5 * h).max(MIN_STEP);
                continue;
            }
            // s = 1: the solution, or another one
            if at.y_next[n] >= 1.0 {
                let along = (1.0 - s) / (at.y_next[n] - s);
                for (k, &i) in self.coordinates.active.iter().enumerate() {
                    self.point.a[i] = scale * (at.y[k] + along * (at.y_next[k] - at.y[k]));
                }
                self.coordinates.accelerations(&mut self.point.a);
                let is_solution = self.newton_densely(at, 1.0, accuracy)?;
                if let Some(jam) = &mut fold {
                    jam.has_others = is_solution && at.sign != 0.0;
                    break;
                }
                if is_solution && at.sign > 0.0 {
                    return Ok(None);
                }
                if is_least {
                    break;
                }
                h = (0.5 * h).max(MIN_STEP);
                continue;
            }
            if fold.is_none() && at.sign <= 0.0 {
                // t_s is nearly linear: s rises by so much on the way, perhaps to 1
                let (t, t_next) = (at.t[n], at.t_next[n].min(0.0));
                let rise = 0.5 * h * t * t / (t - t_next);
                if s + 1.5 * rise >= 1.0 && !is_least {
                    h = (0.5 * h).max(MIN_STEP);
                    continue;
                }
                let share = at.y_next[n];
                fold = Some(self.jam(at, share)?);
            }
            let cosine = dot(&at.t[..=n], &at.t_next[..=n]);
            std::mem::swap(&mut at.y, &mut at.y_next);
            std::mem::swap(&mut at.t, &mut at.t_next);
            let distance = at.y[..=n].iter().map(|y| y * y).sum::<f64>().sqrt();
            if largest(&at.y[..n]) > INFINITE || at.y[n] < 0.0 {
                break;
            }
            if cosine > STRAIGHT {
                h = (2.0 * h).min(LARGEST_STEP * distance.max(1.0));
            }
        }
        if fold.is_none() {
            let share = at.y[n];
            at.t_next.copy_from_slice(&at.t);
            fold = Some(self.jam(at, share)?);
        }
        Ok(fold)
    }

    /// One step of length `h` along the curve into `y_next` and `t_next`; whether it is acceptable. The smallest step
    /// is acceptable if it ends on the curve.
    fn try_step(&mut self, at: &mut Branch, scale: f64, h: f64, is_least: bool) -> Result<bool, Failure> {
        let n = self.coordinates.active.len();
        for k in 0..=n {
            at.y_next[k] = at.y[k] + h * at.t[k];
        }
        let (mut moved, mut is_on_curve) = (0.0, false);
        for _ in 0..MAX_NEAR {
            self.coordinates.active.iter().zip(&at.y_next).for_each(|(&i, y)| self.point.a[i] = scale * y);
            self.coordinates.accelerations(&mut self.point.a);
            let s = at.y_next[n];
            is_on_curve = self.linearise(at, s)? <= ROUGH;
            self.border(at, scale);
            if at.bordered.factor().is_err() {
                return Ok(false);
            }
            if is_on_curve {
                if !at.is_regular {
                    return Ok(false);
                }
                break;
            }
            // the correction, in the hyperplane normal to the tangent
            at.g[n] = 0.0;
            at.bordered.solve(&mut at.g[..=n]);
            at.y_next[..=n].iter_mut().zip(&at.g).for_each(|(y, x)| *y += x);
            moved += at.g[..=n].iter().map(|x| x * x).sum::<f64>().sqrt();
            if moved > if is_least { 1e3 } else { 0.5 } * h {
                return Ok(false);
            }
        }
        if !is_on_curve {
            return Ok(false);
        }
        // the tangent at the new point
        at.t_next[..n].fill(0.0);
        at.t_next[n] = 1.0;
        at.bordered.solve(&mut at.t_next[..=n]);
        normalise(&mut at.t_next[..=n]);
        if at.t_next[n] * at.sign < 0.0 {
            at.t_next[..=n].iter_mut().for_each(|t| *t = -*t);
        }
        Ok(is_least || dot(&at.t[..=n], &at.t_next[..=n]) >= MIN_COSINE)
    }

    /// The bordered matrix of the corrector, from M_P, F and the tangent at the beginning of the step.
    fn border(&self, at: &mut Branch, scale: f64) {
        let (n, n_v) = (self.coordinates.active.len(), at.mass.nrows());
        let matrix = at.bordered.matrix_mut(n + 1);
        matrix.clear();
        for i in 0..n_v {
            for (r, t_r) in self.coordinates.unknowns_of(i) {
                for j in 0..n_v {
                    self.coordinates
                        .unknowns_of(j)
                        .for_each(|(c, t_c)| matrix[(r, c)] += scale * t_r * at.mass[(i, j)] * t_c);
                }
            }
        }
        for k in 0..n {
            matrix[(k, n)] = at.f[k];
            matrix[(n, k)] = at.t[k];
        }
        matrix[(n, n)] = at.t[n];
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn normalise(x: &mut [f64]) {
    let length = dot(x, x).sqrt();
    x.iter_mut().for_each(|x| *x /= length);
}

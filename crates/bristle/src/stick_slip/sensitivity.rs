//! Forward sensitivities: derivatives of a run in parameters p, along its accepted steps and across its events.
//!
//! ```text
//! δẏ = f_y δy + f_p                                    between events                                          (1)
//! g_y δy + g_p + (g_t + g_y f) δt* = 0                 δt*: shift of an event g = 0                            (2)
//! δx⁺ = δx⁻ + (f⁻ − f⁺) δt*                            jump there: the saltation matrix for continuous x       (3)
//! δx⁺ = R_x (δx⁻ + f⁻ δt*) + R_p − f⁺ δt*              at an impact x⁺ = R(x⁻): see `impacts`                  (4)
//! ```
//!
//! x are all coordinates: positions, velocities, bristles and integrals, also of joints that are locked or dependent; y
//! are those among them that are unknowns at present. A locked joint has δv = 0 and keeps δq. From (2) and (3) follow
//! δv⁺ = δv⁻ a⁺/a⁻ at a reversal, δv⁺ = −a⁺ δt* at a break-away, δv⁺ = 0 where a joint comes to rest.
//!
//! (1) is solved by the Radau IIA method with three stages on the steps of the run (staggered direct method): with the
//! analytic Jacobian J_i at the interpolated states of its nodes c_i,
//!
//! ```text
//! K_i − h J_i Σ_j a_ij K_j = J_i δy + f_p,i            one factorisation for all parameters
//! ```
//!
//! Partial derivatives in p are central differences of the equations of two *twins*, compiled with p ± ε, at the same
//! point and in the same modes: no kink is crossed, and the equations are smooth there. Of (1) they are those of its
//! residual form F(t, y, ẏ; p) = 0 at the rates of the run,
//!
//! ```text
//! f_p = −(∂F/∂ẏ)⁻¹ F_p                                 A = M_P⁻¹ of the Jacobian in the rows of accelerations   (5)
//! ```
//!
//! so that a parameter takes two inverse dynamics, and accelerations are solved for once. Derivatives of event
//! functions and channels along δx are central differences of the equations themselves, in a *probe*.

mod full;
mod impacts;
mod servos;
mod values;

use super::machine::Machine;
use crate::dynamics::TIGHT;
use bristle_friction::FrictionLaw;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{EvalError, FiredEvent, Interpolant, System};
use nalgebra::DMatrix;

/// Nodes and coefficients of Radau IIA (Hairer, Wanner 1996, table IV.5.6); the weights are the last row.
const NODES: [f64; 3] = [0.155_051_025_721_682_2, 0.644_948_974_278_317_8, 1.0];
const RADAU: [[f64; 3]; 3] = [
    [0.196_815_477_223_660_4, -0.065_535_425_850_198_39, 0.023_770_974_348_220_15],
    [0.394_424_314_739_087_3, 0.292_073_411_665_228_5, -0.041_548_752_125_997_93],
    [0.376_403_062_700_467_5, 0.512_485_826_188_421_6, 1.0 / 9.0],
];

/// Half-width of differences along a direction, relative to the largest coordinates: the rounding error is then 1e-10,
/// the truncation error 1e-12.
const REACH: f64 = 1e-6;

/// Half-width of differences in time, relative to the step.
const INSTANT: f64 = 1e-4;

/// Where a prescribed velocity jumps, another one that changes by more than this, relative to the largest so far, has
/// jumped too: see `impulse`.
const JUMP: f64 = 1e-6;

/// The equations with p + ε and p − ε.
#[derive(Debug, Clone)]
pub(crate) struct Twin {
    pub plus: Machine,
    pub minus: Machine,
    /// 2ε.
    pub width: f64,
}

/// Reason why there are no sensitivities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An evaluation failed.
    Failed(EvalError),
    /// Velocities have jumped at a corner of a prescribed motion.
    Impulse,
    /// Impacts that are not one impact at neighbouring parameters.
    Simultaneous,
}

impl From<EvalError> for Refusal {
    fn from(error: EvalError) -> Self {
        Self::Failed(error)
    }
}

/// An event before its transition.
#[derive(Debug, Clone, Default)]
struct Before {
    x: Vec<f64>,
    rates: Vec<f64>,
    /// δt* of each parameter.
    shift: Vec<f64>,
    /// Number of events at this instant.
    n_fired: usize,
}

/// The interval of the last step, with δy at its start and its three nodes, one column per parameter.
#[derive(Debug, Clone, Default)]
struct Interval {
    t: f64,
    h: f64,
    nodes: Vec<DMatrix<f64>>,
}

/// δx of a run for each parameter; see the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Tangents {
    twins: Vec<Twin>,
    probe: Machine,
    /// δx of each parameter, at the end of the last step.
    dx: Vec<Vec<f64>>,
    /// Largest |x| so far.
    scale: Vec<f64>,
    interval: Interval,
    before: Before,
    /// A recent length of steps, s.
    h: f64,
    /// Samples of servos.
    held: servos::Held,
}

impl Tangents {
    /// Starts at the present state of `machine`; the twins stand at their own.
    pub fn new(machine: &Machine, twins: Vec<Twin>) -> Self {
        let difference = |twin: &Twin| {
            let (plus, minus) = (twin.plus.full(), twin.minus.full());
            plus.iter().zip(&minus).map(|(plus, minus)| (plus - minus) / twin.width).collect()
        };
        let dx = twins.iter().map(difference).collect();
        let scale = machine.full().iter().map(|x| x.abs()).collect();
        let mut probe = machine.clone();
        probe.dynamics.scheme.accuracy = TIGHT;
        let n = twins.len();
        let before = Before { shift: vec![0.0; n], ..Before::default() };
        let held = servos::Held::new(machine, &twins);
        let mut tangents = Self { twins, probe, dx, scale, interval: Interval::default(), before, h: 0.0, held };
        tangents.follow(machine);
        tangents.lock(machine);
        tangents.begin_interval();
        tangents
    }

    /// Bytes of the matrices of a step: three stages of Radau IIA, and Jacobians.
    pub fn matrix_bytes(machine: &Machine) -> u64 {
        let (contacts, point) = (&machine.dynamics.compiled.inputs.contacts, &machine.dynamics.point);
        let n_bristles: usize = contacts.iter().map(|contact| contact.law.n_states()).sum();
        let n = 2 * point.v.len() + n_bristles + point.integral.len();
        crate::memory::bytes::<f64>(&[12, n, n])
    }

    /// Probe and twins take over the modes of the run.
    fn follow(&mut self, machine: &Machine) {
        let (piece, next_corner) = (machine.dynamics.state.piece, machine.dynamics.state.next_corner);
        self.probe.follow(machine);
        (self.probe.dynamics.state.piece, self.probe.dynamics.state.next_corner) = (piece, next_corner);
        for twin in &mut self.twins {
            twin.plus.follow(machine);
            twin.minus.follow(machine);
        }
    }

    /// Locked joints have no δv.
    fn lock(&mut self, machine: &Machine) {
        let (n_v, coordinates) = (machine.dynamics.point.v.len(), &machine.dynamics.coordinates);
        for dx in &mut self.dx {
            for v in (0..n_v).filter(|&v| coordinates.locked[machine.dynamics.compiled.model.joint_of[v]]) {
                dx[n_v + v] = 0.0;
            }
        }
    }

    /// An interval of length 0 at the present δx.
    fn begin_interval(&mut self) {
        let places = self.probe.places();
        let columns = self.dx.len();
        let start = DMatrix::from_fn(places.len(), columns, |i, p| self.dx[p][places[i]]);
        self.interval.nodes.clear();
        self.interval.nodes.resize(4, start);
        self.interval.h = 0.0;
    }

    /// ∂f/∂p at (t, y) for each parameter, and the part of f_x δx that comes from coordinates that are no unknowns.
    /// `rates` are those of the probe, whose Jacobian was evaluated there.
    fn forcing(&mut self, t: f64, y: &[f64], rates: &[f64], into: &mut DMatrix<f64>) -> Result<(), EvalError> {
        let n = y.len();
        let (mut plus, mut minus) = (vec![0.0; n], vec![0.0; n]);
        let Self { twins, probe, .. } = self;
        let mobility = probe.dynamics.derivatives.as_ref().map(|matrices| &matrices[2]);
        let active = &probe.dynamics.coordinates.active;
        for (p, twin) in twins.iter_mut().enumerate() {
            // a load that is clamped is not so before the corners of both
            let corners = [&twin.plus, &twin.minus].into_iter().filter_map(|twin| twin.dynamics.state.next_corner);
            let t = corners.fold(t, f64::min);
            let Some(mobility) = mobility else {
                twin.plus.rhs(t, y, &mut plus)?;
                twin.minus.rhs(t, y, &mut minus)?;
                (0..n).for_each(|i| into[(i, p)] = (plus[i] - minus[i]) / twin.width);
                continue;
            };
            // (5): no accelerations are solved for
            twin.plus.residual(t, y, rates, &mut plus)?;
            twin.minus.residual(t, y, rates, &mut minus)?;
            plus.iter_mut().zip(&minus).for_each(|(plus, minus)| *plus = (*plus - minus) / twin.width);
            (0..n).for_each(|i| into[(i, p)] = -plus[i]);
            let m = active.len();
            for (k, &i) in active.iter().enumerate() {
                into[(m + k, p)] = -active.iter().zip(&plus[m..]).map(|(&j, r)| mobility[(i, j)] * r).sum::<f64>();
            }
        }
        self.force_samples(t, y, into)?;
        // joints at rest that would rest elsewhere
        let n_v = self.probe.dynamics.point.v.len();
        let is_inactive = |v: usize| self.probe.dynamics.coordinates.place(v).is_none();
        let inactive: Vec<usize> =
            (0..n_v).filter(|&v| is_inactive(v) && !self.probe.dynamics.compiled.model.is_prescribed(v)).collect();
        if inactive.is_empty() || self.dx.iter().all(|dx| inactive.iter().all(|&v| dx[v] == 0.0)) {
            return Ok(());
        }
        self.probe.dynamics.scatter(t, y);
        let x = self.probe.full();
        for p in 0..self.dx.len() {
            // beyond the part that follows the unknowns by (5) of `coordinates`
            let mut following = self.dx[p][..n_v].to_vec();
            inactive.iter().for_each(|&v| following[v] = 0.0);
            self.probe.dynamics.coordinates.rates(&mut following);
            let mut direction = vec![0.0; x.len()];
            inactive.iter().for_each(|&v| direction[v] = self.dx[p][v] - following[v]);
            let reach = self.reach(&direction);
            if reach == 0.0 {
                continue;
            }
            self.move_probe(&x, &direction, reach);
            self.probe.rhs(t, y, &mut plus)?;
            self.move_probe(&x, &direction, -reach);
            self.probe.rhs(t, y, &mut minus)?;
            (0..n).for_each(|i| into[(i, p)] += (plus[i] - minus[i]) / (2.0 * reach));
        }
        self.probe.put_full(&x);
        Ok(())
    }

    /// Length of a difference along `direction`: [`REACH`] of the coordinates; 0 without a direction.
    fn reach(&self, direction: &[f64]) -> f64 {
        let n_v = self.probe.dynamics.point.v.len();
        let largest = |range: std::ops::Range<usize>| self.scale[range].iter().fold(0.0_f64, |most, x| most.max(*x));
        let kinds = [0..n_v, n_v..2 * n_v, 2 * n_v..direction.len()];
        let mut share = 0.0_f64;
        for kind in kinds {
            let scale = largest(kind.clone());
            let length = direction[kind].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            if scale > 0.0 {
                share = share.max(length / scale);
            }
        }
        let length = direction.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        match share > 0.0 {
            true => REACH / share,
            // nothing has moved yet: the direction is the only scale there is
            false if length > 0.0 => REACH / length,
            false => 0.0,
        }
    }

    fn move_probe(&mut self, x: &[f64], direction: &[f64], by: f64) {
        self.probe.put_full(&moved_along(x, direction, by));
    }

    /// (1) over an accepted step of length `h` from `t`.
    pub fn step(&mut self, t: f64, h: f64, y: &Interpolant<'_>) -> Result<(), Refusal> {
        let (places, n_p) = (self.probe.places(), self.twins.len());
        let n = places.len();
        let start = DMatrix::from_fn(n, n_p, |i, p| self.dx[p][places[i]]);
        let mut matrix = DMatrix::identity(3 * n, 3 * n);
        let mut stages = DMatrix::zeros(3 * n, n_p);
        let (mut state, mut rates, mut jacobian) = (vec![0.0; n], vec![0.0; n], Matrix::new(n));
        let mut forcing = DMatrix::zeros(n, n_p);
        for (i, node) in NODES.iter().enumerate() {
            y(*node, &mut state);
            self.probe.jacobian(t + node * h, &state, &mut jacobian)?;
            // Newton's solution for the Jacobian serves both
            match self.probe.dynamics.is_one_sweep() {
                true => self.probe.rhs(t + node * h, &state, &mut rates)?,
                false => self.probe.dynamics.fill_rates(t + node * h, &mut rates)?,
            }
            self.forcing(t + node * h, &state, &rates, &mut forcing)?;
            let jacobian = DMatrix::from_fn(n, n, |r, c| jacobian[(r, c)]);
            for (j, a) in RADAU[i].iter().enumerate() {
                let mut block = matrix.view_mut((i * n, j * n), (n, n));
                block -= h * a * &jacobian;
            }
            stages.rows_mut(i * n, n).copy_from(&(&jacobian * &start + &forcing));
        }
        if n > 0 && !matrix.lu().solve_mut(&mut stages) {
            return Err(Refusal::Failed(EvalError::Retry));
        }
        let mut nodes = vec![start.clone()];
        for row in &RADAU {
            let mut node = start.clone();
            for (j, a) in row.iter().enumerate() {
                node += h * *a * stages.rows(j * n, n);
            }
            nodes.push(node);
        }
        self.interval = Interval { t, h, nodes };
        self.h = h.max(0.5 * self.h);
        // the largest coordinates, at the end
        y(1.0, &mut state);
        self.probe.dynamics.scatter(t + h, &state);
        for (scale, x) in self.scale.iter_mut().zip(self.probe.full()) {
            *scale = scale.max(x.abs());
        }
        Ok(())
    }

    /// δx of the unknowns at `t` within the last step: the cubic through its start and its nodes.
    fn interpolate(&mut self, t: f64) {
        let places = self.probe.places();
        let Interval { t: t0, h, nodes } = &self.interval;
        let theta = if *h > 0.0 { (t - t0) / h } else { 1.0 };
        let at = [0.0, NODES[0], NODES[1], NODES[2]];
        let weight =
            |i: usize| (0..4).filter(|&j| j != i).fold(1.0, |product, j| product * (theta - at[j]) / (at[i] - at[j]));
        let weights: [f64; 4] = std::array::from_fn(weight);
        let (n_v, coordinates) = (self.probe.dynamics.point.v.len(), &self.probe.dynamics.coordinates);
        for (p, dx) in self.dx.iter_mut().enumerate() {
            let before = if coordinates.dependent.is_empty() { vec![] } else { dx[..2 * n_v].to_vec() };
            for (k, &place) in places.iter().enumerate() {
                dx[place] = nodes.iter().zip(weights).map(|(node, weight)| weight * node[(k, p)]).sum();
            }
            // dependent coordinates follow: T of (5) in `coordinates` is constant
            for from in [0, n_v].into_iter().take(before.len()) {
                let mut change: Vec<f64> = (from..from + n_v).map(|k| dx[k] - before[k]).collect();
                coordinates.rates(&mut change);
                coordinates.dependent.iter().for_each(|&v| dx[from + v] += change[v]);
            }
        }
    }

    /// δx of all coordinates at (t, y), also of those that follow from the unknowns or from a signal.
    fn complete(&mut self, t: f64, y: &[f64]) {
        if self.probe.dynamics.coordinates.dependent.is_empty()
            && self.probe.dynamics.compiled.model.prescribed.is_empty()
        {
            return;
        }
        self.probe.dynamics.scatter(t, y);
        let x = self.probe.full();
        for p in 0..self.dx.len() {
            let direction = self.dx[p].clone();
            let reach = self.reach(&direction).max(f64::MIN_POSITIVE);
            let mut sides = [1.0, -1.0].map(|side| {
                self.move_probe(&x, &direction, side * reach);
                let mut moved = vec![0.0; y.len()];
                self.probe.dynamics.gather(&mut moved);
                self.probe.dynamics.scatter(t, &moved);
                self.probe.full()
            });
            let [plus, minus] = &mut sides;
            let twin = &mut self.twins[p];
            twin.plus.dynamics.scatter(t, y);
            twin.minus.dynamics.scatter(t, y);
            let (own_plus, own_minus) = (twin.plus.full(), twin.minus.full());
            for (k, dx) in self.dx[p].iter_mut().enumerate() {
                *dx = (plus[k] - minus[k]) / (2.0 * reach) + (own_plus[k] - own_minus[k]) / twin.width;
            }
        }
        self.probe.put_full(&x);
    }

    /// Half-width of differences in time.
    fn instant(&self, t: f64) -> f64 {
        (INSTANT * self.h).max(1e-9 * t.abs()).max(f64::MIN_POSITIVE)
    }

    /// Event functions and rates just before the transition of an event at (t, y): δt* by (2).
    pub fn before_event(&mut self, t: f64, y: &[f64], fired: &[FiredEvent]) -> Result<(), Refusal> {
        self.interpolate(t);
        self.complete(t, y);
        let mut dy = vec![0.0; y.len()];
        self.probe.rhs(t, y, &mut dy)?;
        let (x, rates) = (self.probe.full(), self.probe.full_rates(t));
        let mut shift = vec![0.0; self.twins.len()];
        let root = fired.iter().find_map(|fired| match fired {
            FiredEvent::Root { index, .. } => Some(*index),
            FiredEvent::Time => None,
        });
        if let Some(index) = root {
            let n = self.probe.n_events();
            let (mut plus, mut minus, mut moved) = (vec![0.0; n], vec![0.0; n], vec![0.0; y.len()]);
            let instant = self.instant(t);
            for (side, into) in [(instant, &mut plus), (-instant, &mut minus)] {
                moved.iter_mut().zip(y.iter().zip(&dy)).for_each(|(moved, (y, dy))| *moved = y + side * dy);
                self.probe.events(t + side, &moved, into)?;
            }
            self.probe.put_full(&x);
            let slope = (plus[index] - minus[index]) / (2.0 * instant);
            for (p, shift) in shift.iter_mut().enumerate() {
                let twin = &mut self.twins[p];
                twin.plus.events(t, y, &mut plus)?;
                twin.minus.events(t, y, &mut minus)?;
                let mut along = (plus[index] - minus[index]) / twin.width;
                let direction = self.dx[p].clone();
                let reach = self.reach_with_samples(self.reach(&direction), p);
                if reach > 0.0 {
                    for (side, into) in [(reach, &mut plus), (-reach, &mut minus)] {
                        self.move_probe(&x, &direction, side);
                        self.held.move_samples(&mut self.probe, p, side);
                        self.probe.dynamics.gather(&mut moved);
                        self.probe.events(t, &moved, into)?;
                    }
                    self.held.move_samples(&mut self.probe, p, 0.0);
                    along += (plus[index] - minus[index]) / (2.0 * reach);
                }
                // a grazing event has no derivative
                *shift = Some(-along / slope).filter(|shift| shift.is_finite()).unwrap_or(0.0);
            }
            self.probe.put_full(&x);
        }
        // the end of a summed sequence of bounces is a time event, too
        let is_corner = self.probe.dynamics.state.next_corner.is_some_and(|at| at <= t + 4.0 * f64::EPSILON * t.abs());
        if fired.contains(&FiredEvent::Time) && is_corner {
            for (twin, shift) in self.twins.iter_mut().zip(&mut shift) {
                if let (Some(plus), Some(minus), None) =
                    (twin.plus.dynamics.state.next_corner, twin.minus.dynamics.state.next_corner, root)
                {
                    *shift = (plus - minus) / twin.width;
                }
                twin.plus.enter_next_piece();
                twin.minus.enter_next_piece();
            }
        }
        self.before = Before { x, rates, shift, n_fired: fired.len() };
        Ok(())
    }

    /// δx after the transition of an event: (3) or (4).
    pub fn after_event(&mut self, machine: &Machine, t: f64, y: &[f64]) -> Result<(), Refusal> {
        let is_impact = self.strike(machine)?;
        self.follow(machine);
        let mut dy = vec![0.0; y.len()];
        self.probe.rhs(t, y, &mut dy)?;
        let (x, rates) = (self.probe.full(), self.probe.full_rates(t));
        let n_v = self.probe.dynamics.point.v.len();
        let fastest = self.scale[n_v..2 * n_v].iter().fold(0.0_f64, |most, v| most.max(*v));
        let has_jumped = |k: usize| (x[k] - self.before.x[k]).abs() > JUMP * fastest;
        let is_free = |k: &usize| !self.probe.dynamics.compiled.model.is_prescribed(k - n_v);
        if machine.jump.has_jumped && (n_v..2 * n_v).filter(is_free).any(has_jumped) {
            return Err(Refusal::Impulse);
        }
        for (dx, shift) in self.dx.iter_mut().zip(&self.before.shift) {
            for (dx, (before, after)) in dx.iter_mut().zip(self.before.rates.iter().zip(&rates)) {
                // (4) has the rates before in it already
                *dx += if is_impact { -after * shift } else { (before - after) * shift };
            }
        }
        self.lock(machine);
        self.renew_samples(machine, t);
        self.probe.put_full(&x);
        self.begin_interval();
        Ok(())
    }

    /// Ends the last step where it ends.
    pub fn finish_step(&mut self, t: f64, y: &[f64]) {
        self.interpolate(t);
        self.complete(t, y);
        self.begin_interval();
    }
}

/// x + by · direction.
fn moved_along(x: &[f64], direction: &[f64], by: f64) -> Vec<f64> {
    x.iter().zip(direction).map(|(x, d)| x + by * d).collect()
}

//! Closed loops in the equations of motion.
//!
//! With (9) of [`crate::constraint::loops`], v = T v_i and a = T a_i + γ, the equations of motion are
//!
//! ```text
//! Tᵀ (M (T a_i + γ) + c − τ) = 0                                                                        (10)
//! ```
//!
//! M of the tree alone may be singular, since the frame of a loop joint has no mass: Tᵀ M T is assembled and factored
//! as a whole. Constraint forces of closures follow from the dependent rows, like those of couplings, see
//! `distribution`.

use super::Dynamics;
use super::failure::Failure;
use super::implicit::NewtonWork;
use super::point::Point;
use crate::constraint::coordinates::lock;
use crate::constraint::loops::LoopFailure;
use crate::error::{Error, Result as RunResult};
use bristle_integrate::linear::Lu;
use bristle_multibody::spatial::Force;
use bristle_multibody::{Error as MechanicsError, JointKind, axis_row, chart_point, mass_rows, multiply_rows, rnea};
use nalgebra::{DMatrix, Vector3};

/// Positions of a scene close a loop to this, in m and rad.
const GIVEN: f64 = 1e-6;

/// Positions that move by more than this, relative to themselves and 1, are said to have moved.
const WRITTEN: f64 = 1e-11;

/// Corrections of the positions at the start.
const MAX_ASSEMBLY: usize = 100;

/// Given velocities satisfy closures to this, relative to the largest.
const GIVEN_RATE: f64 = 1e-6;

/// A rate below this, relative to the product of the magnitudes of its row and of the velocities, vanishes because its
/// terms cancel: some motion is left that keeps it zero.
const CANCELS: f64 = 1e-6;

/// So many columns of the mass matrix cost as much as one product with it.
const FEW: usize = 4;

/// Scratch of (10); allocated on first use.
#[derive(Debug, Clone)]
pub(crate) struct LoopWork {
    pub mass: DMatrix<f64>,
    pub lu: Lu,
    pub y: Vec<f64>,
    /// Magnitudes of the terms of a residual.
    pub scale: Vec<f64>,
    /// A column of T and its product with M.
    pub column: Vec<f64>,
    pub product: Vec<f64>,
    /// Right-hand side of the constraint forces.
    pub right: Vec<f64>,
}

impl LoopWork {
    fn new(n_v: usize) -> Self {
        let [y, scale, column, product] = std::array::from_fn(|_| vec![0.0; n_v]);
        let (mass, right) = (DMatrix::zeros(n_v, n_v), Vec::with_capacity(n_v));
        Self { mass, lu: Lu::new(n_v), y, scale, column, product, right }
    }
}

impl Dynamics {
    /// Dependent positions, T and q at the independent positions in `xi`. A failure shows in [`Dynamics::place`].
    pub(crate) fn close_loops(&mut self) {
        let Self { compiled, work, chart, loops, state, point: Point { xi, q, .. }, coordinates, .. } = self;
        loops.failure = loops.close(&compiled.model, work, chart, &state.q_ref, (xi, q)).err();
        if loops.failure.is_none() {
            loops.compose(&compiled.model, chart, coordinates);
        }
    }

    /// γ at the present point.
    pub(crate) fn drift_loops(&mut self) -> Result<(), Failure> {
        let Self { compiled, work, chart, loops, scheme, point: Point { q, v, .. }, coordinates, .. } = self;
        if let Some(failure) = loops.failure {
            return Err(failure.into());
        }
        if scheme.is_impulsive {
            coordinates.drift.fill(0.0);
            return Ok(());
        }
        Ok(loops.fill_drift(&compiled.model, work, chart, (q, v), coordinates)?)
    }

    /// Coordinates of the present modes, and a chart of the loops at the present positions. No contact sticks unless
    /// `may_stick`. Dependent velocities are chosen first among those that are `preferred`.
    pub(crate) fn lock_loops(&mut self, may_stick: bool, preferred: impl Fn(usize) -> bool) {
        let Self { compiled, scheme, state, point, constraints, chart, loops, work, .. } = self;
        lock((compiled, scheme), state, point, &mut chart.base, &mut constraints.elimination, may_stick);
        let model = &*compiled.model;
        chart.xi.copy_from_slice(&point.xi);
        let is_placed = chart_point(&model.tree, &state.q_ref, &point.xi, &mut point.q)
            .and_then(|()| loops.fill(model, work, &point.q));
        if is_placed.is_err() {
            loops.failure = Some(LoopFailure::NonFinite);
            return;
        }
        let is_free = |v: usize| model.tree.kinds[model.joint_of[v]] == JointKind::Free;
        let active = std::mem::take(&mut chart.base.active);
        // free joints last: Newton takes their chart coordinates for velocities, and converges linearly
        let is_first = |v: usize| preferred(v) && !is_free(v);
        loops.choose(chart, model, |v| active.binary_search(&v).is_ok(), is_first);
        loops.order(chart);
        chart.base.active = active;
        chart.slope.clear();
        chart.slope.resize(chart.dependent.len() * model.tree.n_v, 0.0);
        self.close_loops();
        self.loops.record_slope(&mut self.chart);
        self.coordinates.rates(&mut self.point.v);
        self.coordinates.accelerations(&mut self.point.a);
    }

    /// Chooses the chart anew where it has become steep; whether it did. Records the accepted point.
    pub(crate) fn accept_loops(&mut self) -> bool {
        let is_steep = self.loops.is_steep() && self.loops.failure.is_none();
        if is_steep {
            let before = self.chart.clone();
            self.lock();
            self.state.predictor.forget(&self.point.a);
            if self.chart.dependent.len() != before.dependent.len() {
                // a singular configuration: the chart before leads through it
                self.chart.copy_from(&before);
                self.close_loops();
            }
        }
        self.record_loop_motion();
        is_steep
    }

    /// Records positions and the direction of motion: that of the velocities, or of the accelerations at rest.
    pub(crate) fn record_loop_motion(&mut self) {
        if !self.loops.is_any() {
            return;
        }
        self.chart.xi.copy_from_slice(&self.point.xi);
        self.loops.record_slope(&mut self.chart);
        let is_at_rest = self.point.v.iter().all(|v| *v == 0.0);
        self.chart.v.copy_from_slice(if is_at_rest { &self.point.a } else { &self.point.v });
    }

    /// Whether a contact whose rate has come to zero can stick. At a dead centre it cannot: its own row vanishes, not
    /// the motion; locking it would stop the machine, and it only changes its direction.
    pub(crate) fn can_stick_in_loop(&self, c: usize) -> bool {
        if !self.loops.is_any() {
            return true;
        }
        let contact = &self.compiled.inputs.contacts[c];
        let (mut row, mut speed, mut rate, mut along) = (0.0, 0.0, 0.0, 0.0);
        let n = self.coordinates.active.len();
        for k in 0..n {
            let of =
                |v: usize| self.coordinates.unknowns_of(v).filter(|made| made.0 == k).map(|made| made.1).sum::<f64>();
            let (coefficient, v) =
                (of(contact.v) - contact.b.map_or(0.0, of), self.point.v[self.coordinates.active[k]]);
            row += coefficient * coefficient;
            speed += v * v;
            rate += coefficient * v;
        }
        for (v, last) in self.point.v.iter().zip(&self.chart.v) {
            along += v * last;
        }
        // the machine has stopped or turned back, or another motion is left
        along <= 0.0 || row == 0.0 && n == 0 || row > 0.0 && rate.abs() <= CANCELS * (row * speed).sqrt()
    }

    pub(crate) fn take_loop_work(&mut self) -> Box<LoopWork> {
        let n_v = self.point.v.len();
        self.loop_work.take().unwrap_or_else(|| Box::new(LoopWork::new(n_v)))
    }

    /// Factors of Tᵀ M_P T at the present point, P being the rows of Newton's iteration. Columns of T are multiplied by
    /// M in O(n) each where there are few of them; `is_placed` says that `work` is at the present positions.
    fn factor_loops(&mut self, is_placed: bool) -> Result<(), Failure> {
        let n_v = self.point.v.len();
        let mut scratch = self.take_loop_work();
        let Self { compiled, work, newton: NewtonWork { rows, .. }, point: Point { q, .. }, coordinates, .. } = self;
        let tree = &compiled.model.tree;
        let n = coordinates.active.len();
        let LoopWork { mass, lu, column, product, .. } = &mut *scratch;
        let reduced = lu.matrix_mut(n);
        reduced.clear();
        let mut filled = Ok(());
        if is_placed && FEW * n < n_v {
            for c in 0..n {
                let of = |v: usize| coordinates.unknowns_of(v).filter(|made| made.0 == c).map(|made| made.1).sum();
                column.iter_mut().enumerate().for_each(|(v, x)| *x = of(v));
                filled = filled.and_then(|()| multiply_rows(tree, work, rows, column, product));
                for (v, product) in product.iter().enumerate() {
                    coordinates.unknowns_of(v).for_each(|(r, t)| reduced[(r, c)] += t * product);
                }
            }
        } else {
            filled = mass_rows(tree, work, q, rows, mass);
            for i in 0..n_v {
                for (r, t_r) in coordinates.unknowns_of(i) {
                    for j in 0..n_v {
                        coordinates.unknowns_of(j).for_each(|(c, t_c)| reduced[(r, c)] += t_r * mass[(i, j)] * t_c);
                    }
                }
            }
        }
        let factored = lu.factor();
        self.loop_work = Some(scratch);
        filled?;
        factored.map_err(|_| {
            let v = self.coordinates.active.first().copied().unwrap_or(0);
            let joint = self.compiled.model.tree.joint_names[self.compiled.model.joint_of[v]].clone();
            Failure::Mechanics(MechanicsError::Singular { joint, inertia: 0.0 })
        })
    }

    /// Factors for [`Dynamics::solve_loops`] without friction under reactions.
    pub(crate) fn begin_loop_responses(&mut self) -> Result<(), Failure> {
        let tree = &self.compiled.model.tree;
        self.newton.rows.iter_mut().enumerate().for_each(|(i, row)| *row = axis_row(tree, i));
        self.factor_loops(false)
    }

    /// x = T (Tᵀ M T)⁻¹ Tᵀ b, with b in the residual of Newton's work and x in its correction. Needs `factor_loops`.
    pub(crate) fn solve_loops(&mut self) {
        let Self { newton: NewtonWork { residual: b, correction: x, .. }, coordinates, loop_work, .. } = self;
        let Some(LoopWork { lu, y, .. }) = loop_work.as_deref_mut() else { return };
        let y = &mut y[..coordinates.active.len()];
        y.fill(0.0);
        for (v, b) in b.iter().enumerate() {
            coordinates.unknowns_of(v).for_each(|(r, t)| y[r] += t * b);
        }
        lu.solve(y);
        for (v, x) in x.iter_mut().enumerate() {
            *x = coordinates.unknowns_of(v).fold(0.0, |sum, (r, t)| sum + t * y[r]);
        }
    }

    /// Accelerations by (10), friction under reactions aside.
    pub(crate) fn accelerate_loops(&mut self) -> Result<(), Failure> {
        let Self {
            compiled,
            work,
            newton: NewtonWork { rows, residual: b, zero, .. },
            scheme,
            point: Point { q, v, tau, a, .. },
            coordinates,
            diagnostics,
            ..
        } = self;
        let tree = &compiled.model.tree;
        diagnostics.counters.n_acceleration_solves += 1;
        diagnostics.counters.n_sweeps += 1;
        rows.iter_mut().enumerate().for_each(|(i, row)| *row = axis_row(tree, i));
        coordinates.active.iter().for_each(|&i| a[i] = 0.0);
        coordinates.accelerations(a);
        let v = if scheme.is_impulsive { zero } else { v };
        let required = rnea(tree, work, q, v, a)?;
        b.iter_mut().zip(&*tau).zip(required).for_each(|((b, tau), required)| *b = tau - required);
        self.factor_loops(true)?;
        self.solve_loops();
        let Self { newton: NewtonWork { correction: x, .. }, point: Point { a, .. }, .. } = self;
        a.iter_mut().zip(x).for_each(|(a, x)| *a += *x);
        Ok(())
    }

    /// Lets the constraint forces of closures act on the bodies as wrenches, besides those of callers.
    pub(crate) fn apply_closure_forces(&mut self) -> Result<(), MechanicsError> {
        let Self { compiled, work, loops, point: Point { closure_force, .. }, .. } = self;
        let model = &*compiled.model;
        loops.apply(model, closure_force, |body, wrench: Force| work.outside.add_wrench(&model.tree, body, wrench))
    }

    /// Assembles the loops at the start: brings given positions that close them to rounding, or solves for the joints
    /// at 0; then the velocities.
    pub(crate) fn start_loops(&mut self, t: f64) -> RunResult<()> {
        if !self.loops.is_any() {
            return Ok(());
        }
        let given_positions = self.point.xi.clone();
        self.assemble_loops(t)?;
        // dependent velocities first among those that are not given
        let given = self.point.v.clone();
        self.lock_loops(false, |v| given[v] == 0.0);
        if let Some(failure) = self.loops.failure {
            return Err(self.explain(t, failure.into()));
        }
        let model = &self.compiled.model;
        // slides relative to what turns at the size of the machine, too
        let length = |v: usize| if model.tree.turns(v) { self.loops.size } else { 1.0 };
        let speeds = (0..given.len()).map(|v| length(v) * self.point.v[v].abs().max(given[v].abs()));
        let largest = speeds.fold(0.0, f64::max);
        for (v, &given) in given.iter().enumerate() {
            let required = self.point.v[v];
            if given != 0.0 && length(v) * (given - required).abs() > GIVEN_RATE * largest {
                let joint = model.tree.joint_names[model.joint_of[v]].clone();
                let names: Vec<String> = model.coupled.closures.iter().map(|c| format!("`{}`", c.name)).collect();
                let couplings = names.join(", ");
                return Err(Error::NotCoupled { joint, what: "velocity", given, required, couplings });
            }
        }
        let Self { compiled, state, coordinates, loops, .. } = self;
        loops.freedom = coordinates.active.len();
        for (is_prescribed, contact) in state.prescribed_contacts.iter_mut().zip(compiled.inputs.contacts.iter()) {
            *is_prescribed = coordinates.is_prescribed(contact.v, contact.b, |v| compiled.model.is_prescribed(v));
        }
        self.find_remarks(&given_positions);
        self.record_loop_motion();
        if self.is_constrained() {
            self.loops.select(&self.chart);
            self.coordinates.clear();
            self.lock();
        }
        self.find_indeterminate().map_err(|source| Error::Mechanics { t, source })
    }

    /// Joints that the assembly has moved, by more than rounding of what is written in a scene, and redundant rows.
    fn find_remarks(&mut self, given: &[f64]) {
        let Self { compiled, point, loops, chart, .. } = self;
        let model = &*compiled.model;
        let is_loop_joint = |v: usize| model.coupled.closures.iter().any(|closure| closure.v == Some(v));
        let is_moved = |v: usize| (point.xi[v] - given[v]).abs() > WRITTEN * (1.0 + given[v].abs());
        let moved = (0..given.len()).filter(|&v| !is_loop_joint(v) && is_moved(v)).map(|v| (v, given[v], point.xi[v]));
        loops.moved = moved.collect();
        let mut redundant: Vec<usize> = loops.left_out(chart).collect();
        redundant.sort_unstable();
        loops.redundant = redundant;
    }

    /// Finds the contacts whose load reads a component of a reaction that is not orthogonal to the null space of Jᵀ.
    fn find_indeterminate(&mut self) -> Result<(), MechanicsError> {
        self.loops.indeterminate.clear();
        if !self.has_loaded_loops() {
            return Ok(());
        }
        self.loops.fill_whole_basis();
        let gravity = std::mem::take(&mut self.work.outside.gravity);
        let mut result = Ok(());
        for row in 0..self.loops.n_rows {
            if !self.loops.self_stress(row, &mut self.point.closure_force) {
                continue;
            }
            self.work.outside.clear_wrenches();
            let Self { compiled, newton: NewtonWork { zero, .. }, .. } = &*self;
            let (model, zero) = (std::sync::Arc::clone(&compiled.model), zero.clone());
            result = result.and_then(|()| self.apply_closure_forces());
            let q = self.point.q.clone();
            result = result.and_then(|()| rnea(&model.tree, &mut self.work, &q, &zero, &zero).map(|_| ()));
            let least = 1e-9 / self.loops.size;
            for &c in &model.reaction_loaded {
                let contact = &self.compiled.inputs.contacts[c];
                let Some(bearing) = contact.bearing else { continue };
                let parts = bearing.parts(&self.work.reaction(contact.joint), 0.0);
                let is_read = parts.iter().flatten().any(|part| part.abs() > least);
                if is_read && !self.loops.indeterminate.contains(&c) {
                    self.loops.indeterminate.push(c);
                }
            }
        }
        self.point.closure_force.fill(0.0);
        self.work.outside.gravity = gravity;
        self.apply_wrenches();
        result
    }

    /// Contacts whose load is a reaction that the loops do not determine.
    pub(crate) fn indeterminate_loads(&self) -> &[usize] {
        &self.loops.indeterminate
    }

    /// Positions that close the loops.
    fn assemble_loops(&mut self, t: f64) -> RunResult<()> {
        let given = self.point.xi.clone();
        // as given; then with the coordinates of the loop joints from the frames; then by moving the joints at 0
        for attempt in 0..3 {
            if attempt == 1 {
                self.place_loop_joints().map_err(|source| Error::Mechanics { t, source })?;
            }
            let model = &*self.compiled.model;
            let is_loop_joint = |v: usize| model.coupled.closures.iter().any(|closure| closure.v == Some(v));
            let may_move = |v: usize| attempt < 2 || given[v] == 0.0 || is_loop_joint(v);
            let may_move: Vec<bool> = (0..given.len()).map(may_move).collect();
            let steps = if attempt < 2 { 1 } else { MAX_ASSEMBLY };
            let mut before = f64::INFINITY;
            for _ in 0..steps {
                let gap = self.loop_gap().map_err(|source| Error::Mechanics { t, source })?;
                // joints that are left out take all of the correction, to rounding
                if gap <= GIVEN && (attempt < 2 || gap == 0.0 || gap >= before) {
                    return Ok(());
                }
                before = if gap <= GIVEN { gap } else { f64::INFINITY };
                if attempt == 2 && !self.close_by(&may_move) {
                    break;
                }
            }
        }
        let (closure, gap) = self.loops.widest();
        self.point.xi.copy_from_slice(&given);
        Err(self.explain(t, LoopFailure::Open { closure, gap }.into()))
    }

    /// The largest gap at the present positions, m or rad.
    pub(crate) fn loop_gap(&mut self) -> Result<f64, MechanicsError> {
        let Self { compiled, work, loops, state, point: Point { xi, q, .. }, .. } = self;
        chart_point(&compiled.model.tree, &state.q_ref, xi, q)?;
        loops.fill(&compiled.model, work, q)?;
        Ok(loops.widest().1)
    }

    /// The same where a coupling names one of them, before couplings start: a scene gives them no position.
    pub(crate) fn place_coupled_loop_joints(&mut self, t: f64) -> RunResult<()> {
        let coupled = &self.compiled.model.coupled;
        let is_named = |v: usize| coupled.constraints.iter().flat_map(|row| &row.terms).any(|term| term.0 == v);
        if !coupled.closures.iter().any(|closure| closure.v.is_some_and(is_named)) {
            return Ok(());
        }
        self.place_loop_joints().map_err(|source| Error::Mechanics { t, source })
    }

    /// Sets the coordinates of loop joints from the frames of both links.
    fn place_loop_joints(&mut self) -> Result<(), MechanicsError> {
        for k in 0..self.compiled.model.coupled.closures.len() {
            let Some(v) = self.compiled.model.coupled.closures[k].v else { continue };
            self.point.xi[v] = 0.0;
            self.loop_gap()?;
            let model = &*self.compiled.model;
            let [a, b] = self.loops.frames(model, k)?;
            let relative = a.inverse() * b;
            let axis = |axis: Vector3<f64>| axis.normalize();
            self.point.xi[v] = match model.tree.kinds[model.joint_of[v]] {
                JointKind::Revolute { axis: along } => {
                    // rotation about the axis, by its half angle
                    let q = relative.rotation;
                    2.0 * q.imag().dot(&axis(along)).atan2(q.w)
                }
                JointKind::Prismatic { axis: along } => relative.translation.vector.dot(&axis(along)),
                JointKind::Fixed | JointKind::Free => 0.0,
            };
            if self.point.xi[v] > std::f64::consts::PI && model.tree.turns(v) {
                self.point.xi[v] -= std::f64::consts::TAU;
            } else if self.point.xi[v] < -std::f64::consts::PI && model.tree.turns(v) {
                self.point.xi[v] += std::f64::consts::TAU;
            }
        }
        Ok(())
    }

    /// One step of Newton's method with the joints that `may_move`; `false` where none can.
    fn close_by(&mut self, may_move: &[bool]) -> bool {
        let Self { compiled, scheme, state, point, constraints, chart, loops, .. } = self;
        lock((compiled, scheme), state, point, &mut chart.base, &mut constraints.elimination, false);
        let model = &*compiled.model;
        let is_free = |v: usize| model.tree.kinds[model.joint_of[v]] == JointKind::Free;
        let active = std::mem::take(&mut chart.base.active);
        let moved = loops.step(
            chart,
            model,
            |v| active.binary_search(&v).is_ok() && !is_free(v) && may_move[v],
            |v, d| {
                point.xi[v] -= d;
            },
        );
        chart.base.active = active;
        chart.base.positions(&mut point.xi);
        moved
    }
}

//! Closed loops: configuration-dependent constraints between frames of two links.
//!
//! A closure makes a frame of body b coincide with a frame of body a (6 rows), or only their origins (3 rows). With J
//! the relative velocity of both frames, in world axes:
//!
//! ```text
//! g(q) = 0          J(q) v = 0          J a = −J̇ v =: β                                                   (8)
//! ```
//!
//! Couplings and stuck contacts are eliminated first: v = T₀ v₀, by (5). Then J T₀ v₀ = 0 is solved for as many
//! dependent velocities d as it has rank:
//!
//! ```text
//! v_d = T₁ v_i          a_d = T₁ a_i + γ          A T₁ = −(J T₀)_i,    A γ = β,    A = (J T₀)_d             (9)
//! q_d: Newton, A δ = −g, to rounding
//! ```
//!
//! T₁ and γ follow from q and v at every point. The choice of d, the **chart**, stays while a mode lasts, until T₁ has
//! grown: then complete pivoting chooses again. Unknowns of the integrator are the independent coordinates alone: loops
//! stay closed to rounding, whatever the length of a run.
//!
//! Rows of lengths are divided by the size of the machine, the largest lever in J, and columns of slides multiplied
//! by it. Over-constrained loops have redundant rows. Row pivoting at every point selects those of rank, so that T₁
//! does not depend on which rows are redundant.

mod chart;
mod drift;
mod forces;

use super::coordinates::Coordinates;
use super::{ABSENT, NEGLIGIBLE};
use crate::model::Model;
use bristle_multibody::{Error, Poses, Work, chart_point, jacobian, kinematics, poses};
pub(crate) use chart::Chart;
use nalgebra::Matrix6xX;

/// Iterations of Newton for the dependent positions: quadratic convergence takes five.
const MAX_CORRECTIONS: usize = 30;

/// Gaps below this, in the scaled units of the module and relative to the coordinates of the frames, are rounding.
const CLOSED: f64 = 4.0 * f64::EPSILON;

/// Gaps below this have converged as far as rounding permits, if the next correction is not smaller.
const NEARLY: f64 = 1e-13;

/// Total correction in one evaluation, in scaled units, beyond which another assembly of the loop might be found.
const FAR: f64 = 1.0;

/// Norms below this, relative to that of the column before, are rounding.
const DEPENDENT: f64 = 1e-9;

/// A chart is chosen anew where a scaled coefficient of T₁ exceeds this.
const STEEP: f64 = 4.0;

/// Why loops could not be closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LoopFailure {
    /// Newton has not converged near the last position: the closure with the largest gap, in m or rad.
    Open { closure: usize, gap: f64 },
    /// The rank of J has fallen.
    Singular { closure: usize },
    /// A number is not finite.
    NonFinite,
}

impl From<Error> for LoopFailure {
    fn from(_: Error) -> Self {
        Self::NonFinite
    }
}

/// Scratch of (8) and (9).
#[derive(Debug, Clone)]
pub(crate) struct Loops {
    n_v: usize,
    /// Number of rows of J, and the first row of each closure.
    pub n_rows: usize,
    first: Vec<usize>,
    /// J, row by row, and g; the same of one closure.
    pub rows: Vec<f64>,
    gap: Vec<f64>,
    sides: [Matrix6xX<f64>; 2],
    poses: Poses,
    zero: Vec<f64>,
    /// J T₀ with g or β as last column, before and after the elimination.
    table: Vec<f64>,
    reduced: Vec<f64>,
    /// Row and column scales of the module; those of the rows in the order of their pivots.
    row_scale: Vec<f64>,
    pivot_scale: Vec<f64>,
    column_scale: Vec<f64>,
    /// T of one dependent velocity, or coordinates in the basis.
    sum: Vec<f64>,
    /// The largest scaled coefficient of T₁; the size of the machine, m; the distance of its frames from the origin
    /// and 1, in units of it.
    steepest: f64,
    pub size: f64,
    extent: f64,
    /// Orthonormal basis of the range of J T₀, scaled rows, one vector after another; J with other rows of the joints.
    basis: Vec<f64>,
    pub loaded: Vec<f64>,
    /// Contacts whose load is a reaction that the loops do not determine.
    pub indeterminate: Vec<usize>,
    /// The last failure.
    pub failure: Option<LoopFailure>,
}

impl Loops {
    pub fn new(model: &Model) -> Self {
        let (n_v, closures) = (model.tree.n_v, &model.coupled.closures);
        let mut first = Vec::with_capacity(closures.len());
        let mut n_rows = 0;
        for closure in closures {
            first.push(n_rows);
            n_rows += closure.n_rows();
        }
        let width = n_v + 1;
        let side = || Matrix6xX::zeros(if n_rows > 0 { n_v } else { 0 });
        Self {
            n_v,
            n_rows,
            first,
            rows: vec![0.0; n_rows * n_v],
            gap: vec![0.0; n_rows],
            sides: [side(), side()],
            poses: Poses::new(&model.tree),
            zero: vec![0.0; n_v],
            table: vec![0.0; n_rows * width],
            reduced: vec![0.0; n_rows * width],
            row_scale: vec![1.0; n_rows],
            pivot_scale: vec![1.0; n_rows],
            column_scale: vec![1.0; n_v],
            sum: vec![0.0; n_v],
            steepest: 0.0,
            size: 1.0,
            extent: 1.0,
            basis: Vec::with_capacity(n_rows * (n_v + 1)),
            loaded: vec![0.0; n_rows * n_v],
            indeterminate: Vec::new(),
            failure: None,
        }
    }

    /// Whether the machine has loops.
    pub fn is_any(&self) -> bool {
        self.n_rows > 0
    }

    /// Whether the chart is to be chosen anew.
    pub fn is_steep(&self) -> bool {
        self.steepest > STEEP
    }

    /// The closure of a row.
    pub fn closure_of(&self, row: usize) -> usize {
        self.first.iter().rposition(|&first| first <= row).unwrap_or(0)
    }

    /// Poses at `q`, J and g.
    pub fn fill(&mut self, model: &Model, work: &mut Work, q: &[f64]) -> Result<(), Error> {
        kinematics(&model.tree, work, q, &self.zero)?;
        poses(&model.tree, work, &mut self.poses)?;
        let n_v = self.n_v;
        let (mut lever, mut reach) = (0.0_f64, 0.0_f64);
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            let [a, b] = closure.frames(model, &self.poses)?;
            for (side, (&body, frame)) in self.sides.iter_mut().zip(closure.bodies.iter().zip(&closure.placements)) {
                jacobian(&model.tree, &self.poses, body, &frame.translation.vector, side)?;
            }
            // rotation from a to b, world axes: exact to first order at the closed position
            let turn = (b.rotation * a.rotation.inverse()).scaled_axis();
            let shift = b.translation.vector - a.translation.vector;
            reach = reach.max(a.translation.vector.norm());
            for k in 0..closure.n_rows() {
                let from = closure.component(k);
                self.gap[first + k] = if from < 3 { turn[from] } else { shift[from - 3] };
                for v in 0..n_v {
                    let value = self.sides[1][(from, v)] - self.sides[0][(from, v)];
                    self.rows[(first + k) * n_v + v] = value;
                    if from >= 3 && model.tree.turns(v) {
                        lever = lever.max(value.abs());
                    }
                }
            }
        }
        let size = if lever > 0.0 { lever } else { 1.0 };
        (self.size, self.extent) = (size, 1.0 + reach / size);
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            for k in 0..closure.n_rows() {
                self.row_scale[first + k] = if closure.component(k) < 3 { 1.0 } else { 1.0 / size };
            }
        }
        for (v, scale) in self.column_scale.iter_mut().enumerate() {
            *scale = if model.tree.turns(v) { 1.0 } else { size };
        }
        Ok(())
    }

    /// J T₀, with `last` as last column.
    fn fill_table(&mut self, model: &Model, base: &Coordinates, last: impl Fn(usize) -> f64) {
        let (n_v, width) = (self.n_v, self.n_v + 1);
        self.table.fill(0.0);
        for (r, (row, into)) in self.rows.chunks_exact(n_v).zip(self.table.chunks_exact_mut(width)).enumerate() {
            for (v, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                match base.number[v] {
                    // locked joints have no velocity, unless it is prescribed
                    ABSENT if base.locked[model.joint_of[v]] && !model.is_prescribed(v) => {}
                    ABSENT => into[v] += value,
                    d => base.terms_of(d).iter().for_each(|&(i, c)| into[i] += c * value),
                }
            }
            into[n_v] = last(r);
        }
        self.reduced.copy_from_slice(&self.table);
        self.pivot_scale.copy_from_slice(&self.row_scale);
    }

    /// Gauss–Jordan of the table for the given dependent velocities, by row pivoting.
    fn eliminate(&mut self, dependent: &[usize]) -> Result<(), LoopFailure> {
        for (step, &column) in dependent.iter().enumerate() {
            let (row, size) = self.largest_row(step, column);
            if size == 0.0 || !size.is_finite() {
                let closure = self.closure_of(row);
                return Err(if size.is_nan() { LoopFailure::NonFinite } else { LoopFailure::Singular { closure } });
            }
            self.solve(step, row, column);
        }
        Ok(())
    }

    /// The row from `step` on with the largest scaled coefficient of a column, and that coefficient.
    fn largest_row(&self, step: usize, column: usize) -> (usize, f64) {
        let width = self.n_v + 1;
        let size = |row: usize| self.reduced[row * width + column].abs() * self.pivot_scale[row];
        let found = (step..self.n_rows).max_by(|&a, &b| size(a).total_cmp(&size(b)));
        found.map_or((0, 0.0), |row| (row, size(row)))
    }

    /// Makes `row` row number `step`, solved for `column`.
    fn solve(&mut self, step: usize, row: usize, column: usize) {
        let width = self.n_v + 1;
        if row != step {
            for k in 0..width {
                self.reduced.swap(row * width + k, step * width + k);
            }
            self.pivot_scale.swap(row, step);
        }
        let inverse = 1.0 / self.reduced[step * width + column];
        self.reduced[step * width..(step + 1) * width].iter_mut().for_each(|x| *x *= inverse);
        self.reduced[step * width + column] = 1.0;
        for other in (0..self.n_rows).filter(|&other| other != step) {
            let factor = self.reduced[other * width + column];
            if factor == 0.0 {
                continue;
            }
            for k in 0..width {
                let part = factor * self.reduced[step * width + k];
                self.reduced[other * width + k] -= part;
            }
            self.reduced[other * width + column] = 0.0;
        }
    }

    /// Chooses the dependent velocities by complete pivoting among those that `may_depend`. `prefers` says which are
    /// chosen first. Needs [`Loops::fill`].
    pub fn choose(
        &mut self,
        chart: &mut Chart,
        model: &Model,
        may_depend: impl Fn(usize) -> bool,
        prefers: impl Fn(usize) -> bool,
    ) {
        self.fill_table(model, &chart.base, |_| 0.0);
        self.pivot(chart, may_depend, prefers);
    }

    /// A step of Newton's method from a position that is not closed, of the velocities that `may_depend`: `subtract`
    /// gets each with its change. `false` where there are none. Needs [`Loops::fill`].
    pub fn step(
        &mut self,
        chart: &mut Chart,
        model: &Model,
        may_depend: impl Fn(usize) -> bool,
        mut subtract: impl FnMut(usize, f64),
    ) -> bool {
        let gap = std::mem::take(&mut self.gap);
        self.fill_table(model, &chart.base, |row| gap[row]);
        self.gap = gap;
        self.pivot(chart, may_depend, |_| true);
        let width = self.n_v + 1;
        for (step, &v) in chart.dependent.iter().enumerate() {
            // far from the solution a step of a radian, or of the size of the machine, is long enough
            let d = self.reduced[step * width + self.n_v] / self.column_scale[v];
            subtract(v, d.clamp(-1.0, 1.0) * self.column_scale[v]);
        }
        !chart.dependent.is_empty()
    }

    /// Records T₁ of the table eliminated last in the chart.
    pub fn record_slope(&self, chart: &mut Chart) {
        let width = self.n_v + 1;
        chart.slope.clear();
        for (step, &d) in chart.dependent.iter().enumerate() {
            let row = &self.reduced[step * width..step * width + self.n_v];
            chart.slope.extend(row.iter().enumerate().map(|(v, c)| if v == d { 0.0 } else { -c }));
        }
    }

    /// Complete pivoting of the table.
    fn pivot(&mut self, chart: &mut Chart, may_depend: impl Fn(usize) -> bool, prefers: impl Fn(usize) -> bool) {
        let width = self.n_v + 1;
        let largest = |loops: &Self| {
            let entries = (0..loops.n_rows).flat_map(|row| (0..loops.n_v).map(move |v| (row, v)));
            entries.fold(0.0_f64, |most, (row, v)| most.max(loops.scaled(row, v, width)))
        };
        let least = NEGLIGIBLE * largest(self);
        chart.dependent.clear();
        for preferred in [true, false] {
            while chart.dependent.len() < self.n_rows {
                let step = chart.dependent.len();
                let is_candidate =
                    |v: &usize| may_depend(*v) && prefers(*v) == preferred && !chart.dependent.contains(v);
                let mut found = (0, 0, least);
                for v in (0..self.n_v).filter(is_candidate) {
                    for row in step..self.n_rows {
                        let size = self.scaled(row, v, width);
                        if size > found.2 {
                            found = (row, v, size);
                        }
                    }
                }
                if found.2 <= least {
                    break;
                }
                self.solve(step, found.0, found.1);
                chart.dependent.push(found.1);
            }
        }
    }

    fn scaled(&self, row: usize, v: usize, width: usize) -> f64 {
        self.reduced[row * width + v].abs() * self.pivot_scale[row] * self.column_scale[v]
    }

    /// Closes the loops: dependent positions in `xi` by Newton from those of the chart; q; T₁. The independent ones and
    /// those that are prescribed are in `xi`.
    pub fn close(
        &mut self,
        model: &Model,
        work: &mut Work,
        chart: &Chart,
        q_ref: &[f64],
        (xi, q): (&mut [f64], &mut [f64]),
    ) -> Result<(), LoopFailure> {
        for (&d, slope) in chart.dependent.iter().zip(chart.slope.chunks_exact(self.n_v.max(1))) {
            let changes = slope.iter().zip(xi.iter().zip(&chart.xi)).filter(|(slope, _)| **slope != 0.0);
            xi[d] = changes.fold(chart.xi[d], |sum, (slope, (xi, from))| sum + slope * (xi - from));
        }
        let (mut before, mut total) = (f64::INFINITY, 0.0);
        for _ in 0..MAX_CORRECTIONS {
            chart.base.positions(xi);
            chart_point(&model.tree, q_ref, xi, q)?;
            self.fill(model, work, q)?;
            let gap = std::mem::take(&mut self.gap);
            self.fill_table(model, &chart.base, |row| gap[row]);
            self.gap = gap;
            self.eliminate(&chart.dependent)?;
            let width = self.n_v + 1;
            let mut size = 0.0_f64;
            for (step, &v) in chart.dependent.iter().enumerate() {
                size = size.max(self.reduced[step * width + self.n_v].abs() / self.column_scale[v]);
            }
            total += size;
            let gaps = self.gap.iter().zip(&self.row_scale).map(|(gap, scale)| gap.abs() * scale);
            let gap = gaps.fold(0.0, f64::max);
            // near a singular configuration further corrections would be rounding, however large
            if gap <= CLOSED * self.extent || (gap <= NEARLY * self.extent && size >= before) {
                return self.check(chart, size);
            }
            // false for NaN
            let converges = total <= FAR;
            if !converges {
                break;
            }
            for (step, &v) in chart.dependent.iter().enumerate() {
                xi[v] -= self.reduced[step * width + self.n_v];
            }
            before = size;
        }
        let (closure, gap) = self.widest();
        Err(LoopFailure::Open { closure, gap })
    }

    /// Whether rows that were not selected are closed too; the steepness of T₁.
    fn check(&mut self, chart: &Chart, size: f64) -> Result<(), LoopFailure> {
        let width = self.n_v + 1;
        let rest = (chart.dependent.len()..self.n_rows)
            .map(|row| self.reduced[row * width + self.n_v].abs() * self.pivot_scale[row])
            .fold(0.0, f64::max);
        if rest > 1e-9 + size {
            let (closure, gap) = self.widest();
            return Err(LoopFailure::Open { closure, gap });
        }
        self.steepest = 0.0;
        for (step, &d) in chart.dependent.iter().enumerate() {
            for v in (0..self.n_v).filter(|&v| v != d) {
                let value = self.reduced[step * width + v].abs() * self.column_scale[v] / self.column_scale[d];
                self.steepest = self.steepest.max(value);
            }
        }
        Ok(())
    }

    /// The closure with the largest gap, and that gap.
    pub fn widest(&self) -> (usize, f64) {
        let row = (0..self.n_rows).max_by(|&a, &b| self.gap[a].abs().total_cmp(&self.gap[b].abs())).unwrap_or(0);
        (self.closure_of(row), self.gap.get(row).map_or(0.0, |gap| gap.abs()))
    }

    /// (5) of all dependent velocities, T₀ and T₁ together, into `coordinates`, from the table eliminated last. The
    /// drift is zero until [`Loops::fill_drift`].
    pub fn compose(&mut self, model: &Model, chart: &Chart, coordinates: &mut Coordinates) {
        let (n_v, width, base) = (self.n_v, self.n_v + 1, &chart.base);
        let Coordinates { number, dependent, start, terms, constant, drift, locked, is_stuck, .. } = coordinates;
        locked.clone_from(&base.locked);
        *is_stuck = base.is_stuck;
        number.fill(ABSENT);
        dependent.clear();
        start.clear();
        terms.clear();
        constant.clear();
        drift.clear();
        let t1 = |step: usize, v: usize, reduced: &[f64]| -reduced[step * width + v];
        for (step, &d) in chart.dependent.iter().enumerate() {
            number[d] = dependent.len();
            dependent.push(d);
            start.push(terms.len());
            for v in (0..n_v).filter(|&v| v != d && self.reduced[step * width + v] != 0.0) {
                terms.push((v, t1(step, v, &self.reduced)));
            }
        }
        for (d, &v) in base.dependent.iter().enumerate() {
            number[v] = dependent.len();
            dependent.push(v);
            start.push(terms.len());
            self.sum.fill(0.0);
            for &(i, c) in base.terms_of(d) {
                match chart.dependent.iter().position(|&other| other == i) {
                    None => self.sum[i] += c,
                    Some(step) => {
                        for k in (0..n_v).filter(|&k| k != i) {
                            self.sum[k] += c * t1(step, k, &self.reduced);
                        }
                    }
                }
            }
            terms.extend(self.sum.iter().copied().enumerate().filter(|(_, c)| *c != 0.0));
        }
        start.push(terms.len());
        constant.resize(dependent.len(), 0.0);
        drift.resize(dependent.len(), 0.0);
        coordinates.fill_active(&model.joint_of);
    }
}

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
mod order;
mod rows;
mod table;

use super::coordinates::Coordinates;
use super::{ABSENT, NEGLIGIBLE};
use crate::model::Model;
use bristle_multibody::{Error, Poses, Work, chart_point, jacobian_columns, kinematics, poses};
pub(crate) use chart::Chart;
use nalgebra::Matrix6xX;
use order::order_of;
use table::Table;

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
    /// Velocities that each closure concerns: the joints between its links.
    concerned: Vec<Vec<usize>>,
    /// The closures that concern each velocity.
    closures_of: Vec<Vec<usize>>,
    /// The velocities in the order of elimination, and the place of each in it: see `order`.
    ordered: Vec<usize>,
    place: Vec<usize>,
    /// The last body on the way from the base to both links of each closure.
    top: Vec<usize>,
    /// J T₀ with g or β on the right, under elimination.
    reduced: Table,
    /// Row and column scales of the module.
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    /// T of one dependent velocity, or coordinates in the basis.
    sum: Vec<f64>,
    /// The independent velocities; scratch.
    independent: Vec<usize>,
    /// The largest scaled coefficient of T₁; the size of the machine, m; the distance of its frames from the origin
    /// and 1, in units of it.
    steepest: f64,
    pub size: f64,
    extent: f64,
    /// Orthonormal basis of the range of J T₀, scaled rows, one vector after another; J with other rows of the joints.
    basis: Vec<f64>,
    /// Closures in whose rows each of these vectors has entries, and the vectors of each closure.
    spans: Vec<Vec<usize>>,
    holders: Vec<Vec<usize>>,
    /// Marks of closures and of vectors.
    is_spanned: Vec<bool>,
    is_done: Vec<bool>,
    pub loaded: Vec<f64>,
    /// Rows of rank at the start, for the constrained equations.
    pub selected: Vec<usize>,
    /// Contacts whose load is a reaction that the loops do not determine.
    pub indeterminate: Vec<usize>,
    /// Velocities of joints that the start has moved, from where and to where, and the rows that were redundant there.
    pub moved: Vec<(usize, f64, f64)>,
    pub redundant: Vec<usize>,
    /// Degrees of freedom at the start, without stuck contacts.
    pub freedom: usize,
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
        let side = || Matrix6xX::zeros(if n_rows > 0 { n_v } else { 0 });
        let concerned: Vec<Vec<usize>> =
            closures.iter().map(|closure| model.tree.velocities_between(closure.bodies)).collect();
        let mut closures_of = vec![Vec::new(); n_v];
        for (closure, concerned) in concerned.iter().enumerate() {
            concerned.iter().for_each(|&v| closures_of[v].push(closure));
        }
        let ordered = order_of(&concerned, &closures_of);
        let mut place = vec![0; n_v];
        ordered.iter().enumerate().for_each(|(k, &v)| place[v] = k);
        Self {
            n_v,
            n_rows,
            first,
            rows: vec![0.0; n_rows * n_v],
            gap: vec![0.0; n_rows],
            sides: [side(), side()],
            poses: Poses::new(&model.tree),
            zero: vec![0.0; n_v],
            concerned,
            closures_of,
            ordered,
            place,
            top: closures.iter().map(|closure| model.tree.shared_ancestor(closure.bodies)).collect(),
            reduced: Table::new(n_rows, n_v),
            row_scale: vec![1.0; n_rows],
            column_scale: vec![1.0; n_v],
            sum: vec![0.0; n_v],
            independent: Vec::with_capacity(n_v),
            steepest: 0.0,
            size: 1.0,
            extent: 1.0,
            basis: Vec::with_capacity(n_rows * (n_v + 1)),
            // a vector depends on the others at the latest after n_rows of them
            spans: (0..=n_rows.min(n_v)).map(|_| Vec::with_capacity(closures.len())).collect(),
            holders: (0..closures.len()).map(|_| Vec::with_capacity(n_rows.min(n_v))).collect(),
            is_spanned: vec![false; closures.len()],
            is_done: Vec::with_capacity(n_rows),
            loaded: vec![0.0; n_rows * n_v],
            selected: Vec::new(),
            indeterminate: Vec::new(),
            moved: Vec::new(),
            redundant: Vec::new(),
            freedom: 0,
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

    /// The largest scaled coefficient of T₁.
    pub fn steepness(&self) -> f64 {
        self.steepest
    }

    /// Poses at `q`, J and g.
    pub fn fill(&mut self, model: &Model, work: &mut Work, q: &[f64]) -> Result<(), Error> {
        kinematics(&model.tree, work, q, &self.zero)?;
        poses(&model.tree, work, &mut self.poses)?;
        let n_v = self.n_v;
        let (mut lever, mut reach) = (0.0_f64, 0.0_f64);
        for ((closure, &first), &top) in model.coupled.closures.iter().zip(&self.first).zip(&self.top) {
            let [a, b] = closure.frames(model, &self.poses)?;
            // rotation from a to b, world axes: exact to first order at the closed position
            let turn = (b.rotation * a.rotation.inverse()).scaled_axis();
            let shift = b.translation.vector - a.translation.vector;
            reach = reach.max(a.translation.vector.norm());
            for k in 0..closure.n_rows() {
                let from = closure.component(k);
                self.gap[first + k] = if from < 3 { turn[from] } else { shift[from - 3] };
            }
            let Self { rows, poses, .. } = self;
            for (side, (&body, frame)) in closure.bodies.iter().zip(&closure.placements).enumerate() {
                let sign = if side == 0 { -1.0 } else { 1.0 };
                jacobian_columns(&model.tree, poses, (body, top), &frame.translation.vector, |v, [w, u]| {
                    for k in 0..closure.n_rows() {
                        let from = closure.component(k);
                        let value = sign * if from < 3 { w[from] } else { u[from - 3] };
                        rows[(first + k) * n_v + v] = value;
                        if from >= 3 && model.tree.turns(v) {
                            lever = lever.max(value.abs());
                        }
                    }
                })?;
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

    /// J T₀, with `right` on the right.
    fn fill_table(&mut self, model: &Model, base: &Coordinates, right: impl Fn(usize) -> f64) {
        let Self { n_v, reduced, rows, concerned, first, .. } = self;
        reduced.clear();
        for ((closure, &first), concerned) in model.coupled.closures.iter().zip(&*first).zip(&*concerned) {
            for r in first..first + closure.n_rows() {
                for &v in concerned {
                    let value = rows[r * *n_v + v];
                    match base.number[v] {
                        _ if value == 0.0 => {}
                        // locked joints have no velocity, unless it is prescribed
                        ABSENT if base.locked[model.joint_of[v]] && !model.is_prescribed(v) => {}
                        ABSENT => reduced.add(r, v, value),
                        d => base.terms_of(d).iter().for_each(|&(i, c)| reduced.add(r, i, c * value)),
                    }
                }
                reduced.set_right(r, right(r));
            }
        }
    }

    /// Solves the table for the given dependent velocities, by row pivoting.
    fn eliminate(&mut self, dependent: &[usize]) -> Result<(), LoopFailure> {
        for (step, &column) in dependent.iter().enumerate() {
            let size = |row: usize| self.reduced.at(row, column).abs() * self.row_scale[row];
            let found = self.reduced.open_rows(column, step).max_by(|&a, &b| size(a).total_cmp(&size(b)));
            let row = found.unwrap_or_else(|| self.reduced.row_at(step));
            let size = size(row);
            if size == 0.0 || !size.is_finite() {
                let closure = self.closure_of(row);
                return Err(if size.is_nan() { LoopFailure::NonFinite } else { LoopFailure::Singular { closure } });
            }
            self.reduced.solve(step, row, column);
        }
        self.reduced.substitute_back(dependent);
        Ok(())
    }

    /// The right-hand side of the row solved at `step`.
    fn solution(&self, step: usize) -> f64 {
        self.reduced.right(self.reduced.row_at(step))
    }

    /// Terms of dependent velocity number `step`, `d`: of T₁, in the order of columns.
    fn slopes(&self, step: usize, d: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let row = self.reduced.row_at(step);
        self.reduced.columns(row).iter().filter(move |&&v| v != d).map(move |&v| (v, -self.reduced.at(row, v)))
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
        for (step, &v) in chart.dependent.iter().enumerate() {
            // far from the solution a step of a radian, or of the size of the machine, is long enough
            let d = self.solution(step) / self.column_scale[v];
            subtract(v, d.clamp(-1.0, 1.0) * self.column_scale[v]);
        }
        !chart.dependent.is_empty()
    }

    /// Complete pivoting of the table.
    fn pivot(&mut self, chart: &mut Chart, may_depend: impl Fn(usize) -> bool, prefers: impl Fn(usize) -> bool) {
        let largest = (0..self.n_rows).flat_map(|row| self.reduced.columns(row).iter().map(move |&v| (row, v)));
        // entries are differences of those of J, which are 1 at most: what is left of a joint may be rounding alone
        let least = NEGLIGIBLE * largest.fold(1.0_f64, |most, (row, v)| most.max(self.scaled(row, v)));
        chart.dependent.clear();
        for preferred in [true, false] {
            while chart.dependent.len() < self.n_rows {
                let step = chart.dependent.len();
                let is_candidate = |v: usize| may_depend(v) && prefers(v) == preferred && !chart.dependent.contains(&v);
                let mut found = (0, 0, least);
                for v in (0..self.n_v).filter(|&v| is_candidate(v)) {
                    for row in self.reduced.open_rows(v, step) {
                        let size = self.scaled(row, v);
                        if size > found.2 {
                            found = (row, v, size);
                        }
                    }
                }
                if found.2 <= least {
                    break;
                }
                self.reduced.solve(step, found.0, found.1);
                chart.dependent.push(found.1);
            }
        }
        self.reduced.substitute_back(&chart.dependent);
    }

    fn scaled(&self, row: usize, v: usize) -> f64 {
        self.reduced.at(row, v).abs() * self.row_scale[row] * self.column_scale[v]
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
        if !chart.slope.is_empty() {
            // T₁ has nothing in the columns of dependent velocities
            self.sum.fill(0.0);
            chart.dependent.iter().for_each(|&d| self.sum[d] = 1.0);
            self.independent.clear();
            self.independent.extend((0..self.n_v).filter(|&v| self.sum[v] == 0.0));
        }
        for (&d, slope) in chart.dependent.iter().zip(chart.slope.chunks_exact(self.n_v.max(1))) {
            let changes = self.independent.iter().filter(|&&v| slope[v] != 0.0);
            xi[d] = changes.fold(chart.xi[d], |sum, &v| sum + slope[v] * (xi[v] - chart.xi[v]));
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
            let mut size = 0.0_f64;
            for (step, &v) in chart.dependent.iter().enumerate() {
                size = size.max(self.solution(step).abs() / self.column_scale[v]);
            }
            total += size;
            let gap = self.scaled_gap();
            // near a singular configuration further corrections would be rounding, however large
            let extent = self.extent_at(xi);
            if gap <= CLOSED * extent || (gap <= NEARLY * extent && size >= before) {
                return self.check(chart, size);
            }
            // false for NaN
            let converges = total <= FAR;
            if !converges {
                break;
            }
            for (step, &v) in chart.dependent.iter().enumerate() {
                xi[v] -= self.solution(step);
            }
            before = size;
        }
        let (closure, gap) = self.widest();
        Err(LoopFailure::Open { closure, gap })
    }

    fn scaled_gap(&self) -> f64 {
        let gaps = self.gap.iter().zip(&self.row_scale).map(|(gap, scale)| gap.abs() * scale);
        gaps.fold(0.0, f64::max)
    }

    /// Scaled magnitude of the numbers that a gap is made of: the extent, and the positions, which grow as cranks turn.
    fn extent_at(&self, xi: &[f64]) -> f64 {
        let positions = self.concerned.iter().flatten().map(|&v| xi[v].abs() / self.column_scale[v]);
        self.extent + positions.fold(0.0, f64::max)
    }

    /// Whether the gaps at `xi` are as small as rounding permits. Needs [`Loops::fill`] there.
    pub fn is_closed(&self, xi: &[f64]) -> bool {
        self.scaled_gap() <= NEARLY * self.extent_at(xi)
    }

    /// Whether rows that were not selected are closed too; the steepness of T₁.
    fn check(&mut self, chart: &Chart, size: f64) -> Result<(), LoopFailure> {
        let rest = (chart.dependent.len()..self.n_rows)
            .map(|step| self.solution(step).abs() * self.row_scale[self.reduced.row_at(step)])
            .fold(0.0, f64::max);
        if rest > 1e-9 + size {
            let (closure, gap) = self.widest();
            return Err(LoopFailure::Open { closure, gap });
        }
        self.steepest = 0.0;
        for (step, &d) in chart.dependent.iter().enumerate() {
            let scaled = |(v, slope): (usize, f64)| slope.abs() * self.column_scale[v] / self.column_scale[d];
            self.steepest = self.slopes(step, d).map(scaled).fold(self.steepest, f64::max);
        }
        Ok(())
    }

    /// (5) of all dependent velocities, T₀ and T₁ together, into `coordinates`, from the table eliminated last. The
    /// drift is zero until [`Loops::fill_drift`].
    pub fn compose(&mut self, model: &Model, chart: &Chart, coordinates: &mut Coordinates) {
        let base = &chart.base;
        let Coordinates { number, dependent, start, terms, constant, drift, locked, is_stuck, .. } = coordinates;
        locked.clone_from(&base.locked);
        *is_stuck = base.is_stuck;
        number.fill(ABSENT);
        dependent.clear();
        start.clear();
        terms.clear();
        constant.clear();
        drift.clear();
        for (step, &d) in chart.dependent.iter().enumerate() {
            number[d] = dependent.len();
            dependent.push(d);
            start.push(terms.len());
            let from = terms.len();
            terms.extend(self.slopes(step, d).filter(|(_, slope)| *slope != 0.0));
            terms[from..].sort_unstable_by_key(|term| term.0);
        }
        for (d, &v) in base.dependent.iter().enumerate() {
            number[v] = dependent.len();
            dependent.push(v);
            start.push(terms.len());
            let mut sum = std::mem::take(&mut self.sum);
            sum.fill(0.0);
            for &(i, c) in base.terms_of(d) {
                match chart.dependent.iter().position(|&other| other == i) {
                    None => sum[i] += c,
                    Some(step) => self.slopes(step, i).for_each(|(k, slope)| sum[k] += c * slope),
                }
            }
            self.sum = sum;
            terms.extend(self.sum.iter().copied().enumerate().filter(|(_, c)| *c != 0.0));
        }
        start.push(terms.len());
        constant.resize(dependent.len(), 0.0);
        drift.resize(dependent.len(), 0.0);
        coordinates.fill_active(&model.joint_of);
    }
}

//! Constraint forces of closures: the solution of least norm, self-stresses, and their wrenches on the links.
//!
//! Constraint forces λ act on the motion by T₀ᵀ Jᵀ λ. Where rows are redundant, λ is fixed up to the null space of that
//! matrix, the self-stresses. The solution of least norm, in the scaled rows of the [parent module](super), lies in the
//! range of J T₀.

use super::{ABSENT, Chart, DEPENDENT, Loops};
use crate::model::Model;
use bristle_multibody::spatial::{Force, Motion};
use bristle_multibody::{Error, Placement, Work, jacobian_rows, point_velocity};
use nalgebra::Vector3;

/// Entries of a vector of the basis below this, relative to the vector, are rounding of others that cancel.
const CANCELLED: f64 = 4e-15;

impl Loops {
    /// Both frames of a closure in the world. Needs [`Loops::fill`].
    pub fn frames(&self, model: &Model, closure: usize) -> Result<[Placement; 2], Error> {
        model.coupled.closures[closure].frames(model, &self.poses)
    }

    /// The wrenches of the constraint forces, link axes at the links' origins. Needs [`Loops::fill`].
    pub fn apply(
        &self,
        model: &Model,
        force: &[f64],
        mut add: impl FnMut(usize, Force) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            let mut parts = [0.0; 6];
            (0..closure.n_rows()).for_each(|k| parts[closure.component(k)] = force[first + k]);
            let [mx, my, mz, fx, fy, fz] = parts;
            for (k, sign) in [(0, -1.0), (1, 1.0)].into_iter().filter(|&(k, _)| closure.bodies[k] > 0) {
                let link = self.poses.link(&model.tree, closure.bodies[k])?;
                let force = link.rotation.inverse() * Vector3::new(fx, fy, fz) * sign;
                let moment = link.rotation.inverse() * Vector3::new(mx, my, mz) * sign;
                let at = closure.placements[k].translation.vector;
                add(closure.bodies[k], Force::new(moment + at.cross(&force), force))?;
            }
        }
        Ok(())
    }

    /// The rates of these wrenches while the links move and the constraint forces stay. Needs [`Loops::fill`], and the
    /// velocities in `work`.
    pub fn apply_rates(&self, model: &Model, work: &mut Work, force: &[f64]) -> Result<(), Error> {
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            let mut parts = [0.0; 6];
            (0..closure.n_rows()).for_each(|k| parts[closure.component(k)] = force[first + k]);
            let [mx, my, mz, fx, fy, fz] = parts;
            for (k, sign) in [(0, -1.0), (1, 1.0)].into_iter().filter(|&(k, _)| closure.bodies[k] > 0) {
                let body = closure.bodies[k];
                let turned = self.poses.link(&model.tree, body)?.rotation.inverse();
                let w = point_velocity(&model.tree, work, &self.poses, body, &Vector3::zeros())?.angular();
                // d/dt Rᵀ f = −ω × Rᵀ f in link axes
                let force = -(turned * w.cross(&(Vector3::new(fx, fy, fz) * sign)));
                let moment = -(turned * w.cross(&(Vector3::new(mx, my, mz) * sign)));
                let at = closure.placements[k].translation.vector;
                let rate = Force::new(moment + at.cross(&force), force);
                work.outside.add_wrench_rate(&model.tree, body, rate)?;
            }
        }
        Ok(())
    }

    /// The basis of constraint forces of least norm: the range of J T₀, by Gram–Schmidt of the dependent columns. Needs
    /// [`Loops::fill`] at the present positions.
    pub fn fill_basis(&mut self, chart: &Chart) {
        self.clear_basis();
        for &d in &chart.dependent {
            let mut basis = std::mem::take(&mut self.basis);
            basis.extend((0..self.n_rows).map(|row| self.column(chart, d, row) * self.row_scale[row]));
            self.basis = basis;
            if !self.orthonormalise() {
                // with an empty span
                self.basis.extend((0..self.n_rows).map(|_| 0.0));
            }
        }
    }

    /// Coefficient of velocity `d` in a row of J T₀. Needs [`Loops::fill`].
    fn column(&self, chart: &Chart, d: usize, row: usize) -> f64 {
        let base = &chart.base;
        let part = |&v: &usize| match base.number[v] {
            ABSENT if v == d => self.rows[row * self.n_v + v],
            ABSENT => 0.0,
            number => {
                let terms = base.terms_of(number).iter().filter(|term| term.0 == d);
                terms.map(|term| term.1 * self.rows[row * self.n_v + v]).sum()
            }
        };
        self.concerned[self.closure_of(row)].iter().map(part).sum()
    }

    /// Effort in the row of velocity `d` of a unit of basis vector `k`.
    pub fn column_times_basis(&self, chart: &Chart, d: usize, k: usize) -> f64 {
        (0..self.n_rows).map(|row| self.column(chart, d, row) * self.basis(k, row)).sum()
    }

    fn clear_basis(&mut self) {
        self.basis.clear();
        self.holders.iter_mut().for_each(Vec::clear);
    }

    /// The same for the range of J, of all joints.
    pub fn fill_whole_basis(&mut self) {
        self.clear_basis();
        for k in 0..self.n_v {
            let (v, first) = (self.ordered[k], self.basis.len());
            self.basis.resize(first + self.n_rows, 0.0);
            for &closure in &self.closures_of[v] {
                for row in self.rows_of(closure) {
                    self.basis[first + row] = self.rows[row * self.n_v + v] * self.row_scale[row];
                }
            }
            self.orthonormalise();
        }
    }

    /// Rows of a closure.
    fn rows_of(&self, closure: usize) -> std::ops::Range<usize> {
        self.first[closure]..self.first.get(closure + 1).copied().unwrap_or(self.n_rows)
    }

    /// Makes the last vector of the basis orthogonal to the others, of unit length; removes it and returns `false`
    /// where it depends on them. Vectors of loops without a joint in common need no product.
    fn orthonormalise(&mut self) -> bool {
        let n = self.n_rows;
        let first = self.basis.len() - n;
        let k = first / n;
        let (mut basis, mut spans) = (std::mem::take(&mut self.basis), std::mem::take(&mut self.spans));
        let (mut is_spanned, mut is_done) = (std::mem::take(&mut self.is_spanned), std::mem::take(&mut self.is_done));
        if spans.len() <= k {
            spans.push(Vec::new());
        }
        let (before, column) = basis.split_at_mut(first);
        let (spans_before, own) = spans.split_at_mut(k);
        let own = &mut own[0];
        own.clear();
        own.extend((0..self.first.len()).filter(|&c| column[self.rows_of(c)].iter().any(|x| *x != 0.0)));
        is_spanned.fill(false);
        own.iter().for_each(|&c| is_spanned[c] = true);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let size = norm(column);
        // twice is enough
        for _ in 0..2 {
            is_done.clear();
            is_done.resize(k, false);
            let mut at = 0;
            while let Some(&shared) = own.get(at) {
                at += 1;
                for &i in &self.holders[shared] {
                    if std::mem::replace(&mut is_done[i], true) {
                        continue;
                    }
                    let (other, span) = (&before[i * n..(i + 1) * n], &spans_before[i]);
                    let rows = span.iter().filter(|&&c| is_spanned[c]).flat_map(|&c| self.rows_of(c));
                    let part: f64 = rows.map(|row| other[row] * column[row]).sum();
                    for &c in span.iter().filter(|_| part != 0.0) {
                        if !std::mem::replace(&mut is_spanned[c], true) {
                            own.push(c);
                        }
                        self.rows_of(c).for_each(|row| column[row] -= part * other[row]);
                    }
                }
            }
        }
        let left = norm(column);
        let is_new = left > DEPENDENT * size;
        if is_new {
            // entries that cancel are rounding
            own.retain(|&c| {
                let is_any = column[self.rows_of(c)].iter().any(|x| x.abs() > CANCELLED * left);
                if !is_any {
                    column[self.rows_of(c)].fill(0.0);
                }
                is_any
            });
            column.iter_mut().for_each(|x| *x /= left);
            own.iter().for_each(|&c| self.holders[c].push(k));
        } else {
            own.clear();
            basis.truncate(first);
        }
        (self.basis, self.spans, self.is_spanned, self.is_done) = (basis, spans, is_spanned, is_done);
        is_new
    }

    /// P_v f of velocity `v` per unit of basis vector `k`, less that of the tree. Needs [`Loops::fill_loaded`].
    pub fn through(&self, v: usize, k: usize) -> f64 {
        (0..self.n_rows).map(|row| self.loaded[row * self.n_v + v] * self.basis(k, row)).sum()
    }

    /// Force of row `row` per unit of basis vector `k`.
    pub fn basis(&self, k: usize, row: usize) -> f64 {
        self.basis[k * self.n_rows + row] * self.row_scale[row]
    }

    /// Constraint forces of least norm with the same effect, into `force`. Needs [`Loops::fill_basis`].
    pub fn take_least(&mut self, force: &mut [f64]) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.clear();
        for (column, span) in self.basis.chunks_exact(self.n_rows.max(1)).zip(&self.spans) {
            let rows = span.iter().flat_map(|&c| self.rows_of(c));
            sum.push(rows.map(|row| column[row] * force[row] / self.row_scale[row]).sum());
        }
        force.fill(0.0);
        for (k, (part, span)) in sum.iter().zip(&self.spans).enumerate() {
            span.iter().flat_map(|&c| self.rows_of(c)).for_each(|row| force[row] += part * self.basis(k, row));
        }
        sum.resize(self.n_v, 0.0);
        self.sum = sum;
    }

    /// The part of a unit force in row `row` that has no effect on the motion, into `force`; `false` where there is
    /// none. Needs [`Loops::fill_whole_basis`].
    pub fn self_stress(&self, row: usize, force: &mut [f64]) -> bool {
        force.fill(0.0);
        force[row] = 1.0;
        for column in self.basis.chunks_exact(self.n_rows.max(1)) {
            force.iter_mut().zip(column).for_each(|(f, c)| *f -= column[row] * c);
        }
        let size = force.iter().map(|f| f * f).sum::<f64>().sqrt();
        force.iter_mut().zip(&self.row_scale).for_each(|(f, scale)| *f *= scale);
        size > DEPENDENT
    }

    /// J with the rows `of` the joints in place of their axes, into `loaded`. Needs [`Loops::fill`].
    pub fn fill_loaded(&mut self, model: &Model, of: &[Motion]) -> Result<(), Error> {
        let n_v = self.n_v;
        for (closure, &first) in model.coupled.closures.iter().zip(&self.first) {
            for (side, (&body, frame)) in self.sides.iter_mut().zip(closure.bodies.iter().zip(&closure.placements)) {
                jacobian_rows(&model.tree, &self.poses, body, &frame.translation.vector, of, side)?;
            }
            for k in 0..closure.n_rows() {
                let from = closure.component(k);
                for v in 0..n_v {
                    self.loaded[(first + k) * n_v + v] = self.sides[1][(from, v)] - self.sides[0][(from, v)];
                }
            }
        }
        Ok(())
    }
}

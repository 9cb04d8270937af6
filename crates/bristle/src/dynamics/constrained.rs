//! The constrained equations of closed loops, for comparison with the reduced form: a DAE for implicit steppers.
//!
//! ```text
//! q̇ = v        M a + c = τ + Jᵀ λ        g(q) = 0   (index 3)   or   J(q) v = 0   (index 2)                  (16)
//! ```
//!
//! Unknowns are positions and velocities of all joints of the tree and the multipliers λ of as many rows of the
//! closures as have rank at the start; redundant rows are left out. Generalized-α takes index 3 as it is (Arnold &
//! Brüls 2007), Radau5 index 3 or 2 with unknowns weighted by their index (Hairer & Wanner II, VII.4). Loops are closed
//! as far as the stepper solves its equations; velocities at index 3, and positions at index 2, are off by the error of
//! the method.
//!
//! Accelerations and multipliers at given (q, v), for initial values and rows,
//!
//! ```text
//! | M_P  −J_Pᵀ | | δa |   | τ − M a − c − κ N + Jᵀ λ |
//! | J     0    | | δλ | = | −J a − J̇ v              |                                                     (17)
//! ```
//!
//! There are no modes and no events: friction is smooth.

use super::Dynamics;
use super::closed_loops::LoopWork;
use super::failure::Failure;
use super::residual::unbalanced;
use crate::constraint::loops::LoopFailure;
use crate::solver::Constraints;
use bristle_integrate::linear::Lu;
use bristle_multibody::{accelerations, mass_rows};

/// Limit of the corrections of (17), and their relative size that ends them.
const MAX_CORRECTIONS: usize = 40;
const CONVERGED: f64 = 1e-13;

/// Relative corrections below this that no longer fall are rounding.
const STAGNANT: f64 = 1e-4;

impl Dynamics {
    /// Chooses the form in which closed loops enter the equations.
    pub(crate) fn set_constraints(&mut self, constraints: Constraints) {
        self.scheme.constraints = constraints;
    }

    /// Whether loops are constraints of the stepper.
    pub(crate) fn is_constrained(&self) -> bool {
        self.scheme.constraints != Constraints::Reduced
    }

    /// Number of multipliers among the unknowns.
    pub(crate) fn n_multipliers(&self) -> usize {
        // before the start every row may be one
        match (self.is_constrained(), self.loops.selected.len()) {
            (false, _) => 0,
            (true, 0) => self.loops.n_rows,
            (true, n) => n,
        }
    }

    /// Differentiation index of unknown `i`.
    pub(crate) fn index_of(&self, i: usize) -> u8 {
        let n = self.coordinates.active.len();
        let is_multiplier = i + self.n_multipliers() >= self.n_unknowns(n);
        match self.scheme.constraints {
            Constraints::Reduced => 1,
            Constraints::Index2 => 1 + u8::from(is_multiplier),
            Constraints::Index3 if is_multiplier => 3,
            Constraints::Index3 => 1 + u8::from((n..2 * n).contains(&i)),
        }
    }

    /// Takes over the multipliers.
    pub(crate) fn scatter_multipliers(&mut self, y: &[f64]) {
        self.point.closure_force.fill(0.0);
        self.loops.selected.iter().zip(y).for_each(|(&row, y)| self.point.closure_force[row] = *y);
    }

    /// Residual of the second row of (16), with reaction loads.
    pub(crate) fn unbalanced_with_multipliers(&mut self) -> Result<(), Failure> {
        self.loops.fill(&self.compiled.model, &mut self.work, &self.point.q)?;
        self.apply_closure_forces()?;
        let Self { compiled, point, work, residual, .. } = self;
        let result = unbalanced(compiled, point, work, &mut residual.residual).map(drop);
        self.apply_wrenches();
        result
    }

    /// The last row of (16) into the end of `r`.
    pub(crate) fn fill_closures(&self, r: &mut [f64]) {
        if !self.is_constrained() {
            return;
        }
        let (n_v, selected) = (self.point.v.len(), &self.loops.selected);
        let first = r.len() - selected.len();
        for (r, &row) in r[first..].iter_mut().zip(selected) {
            *r = if self.scheme.constraints == Constraints::Index3 {
                self.loops.gap(row)
            } else {
                let coefficients = &self.loops.rows[row * n_v..(row + 1) * n_v];
                coefficients.iter().zip(&self.point.v).map(|(c, v)| c * v).sum()
            };
        }
    }

    /// Accelerations and multipliers by (17). Needs `efforts`.
    pub(crate) fn accelerate_with_multipliers(&mut self) -> Result<(), Failure> {
        let mut scratch = self.take_loop_work();
        let result = self.iterate_multipliers(&mut scratch);
        self.loop_work = Some(scratch);
        result
    }

    fn iterate_multipliers(&mut self, scratch: &mut LoopWork) -> Result<(), Failure> {
        let (n_v, m) = (self.point.v.len(), self.loops.selected.len());
        let mut lu = Lu::new(n_v + m);
        let mut before = f64::INFINITY;
        for _ in 0..MAX_CORRECTIONS {
            self.unbalanced_with_multipliers()?;
            let mut right: Vec<f64> = self.residual.residual.iter().map(|left| -left).collect();
            self.load_loop_rows(1.0)?;
            let Self { compiled, work, newton, loops, point, .. } = self;
            let model = &*compiled.model;
            accelerations(&model.tree, work, &point.q, &point.v, &point.a)?;
            let bias = loops.bias(model, work)?;
            right.extend(loops.selected.iter().map(|&row| -bias[row]));
            mass_rows(&model.tree, work, &point.q, &newton.rows, &mut scratch.mass)?;
            let matrix = lu.matrix_mut(n_v + m);
            matrix.clear();
            for i in 0..n_v {
                (0..n_v).for_each(|j| matrix[(i, j)] = scratch.mass[(i, j)]);
                for (k, &row) in loops.selected.iter().enumerate() {
                    matrix[(i, n_v + k)] = -loops.loaded[row * n_v + i];
                    matrix[(n_v + k, i)] = loops.rows[row * n_v + i];
                }
            }
            let closure = loops.selected.first().map_or(0, |&row| loops.closure_of(row));
            let singular = Failure::Loop(LoopFailure::Singular { closure });
            lu.factor().map_err(|_| singular)?;
            lu.solve(&mut right);
            let (mut change, mut size) = (0.0_f64, 0.0_f64);
            for (a, step) in point.a.iter_mut().zip(&right) {
                *a += step;
                (change, size) = (change.max(step.abs()), size.max(a.abs()));
            }
            for (&row, step) in loops.selected.iter().zip(&right[n_v..]) {
                point.closure_force[row] += step;
            }
            // near a singular configuration further corrections are rounding
            if change <= CONVERGED * size || change <= STAGNANT * size && change >= 0.5 * before {
                return self.unbalanced_with_multipliers();
            }
            if !change.is_finite() {
                return Err(bristle_multibody::Error::NonFinite { function: "newton" }.into());
            }
            before = change;
        }
        Err(Failure::NoAcceleration)
    }
}

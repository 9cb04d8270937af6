//! A = M + diag + Σ k g gᵀ of a tree of joints, without a matrix: products and solutions in O(n).
//!
//! ```text
//! H = M + diag(armature + λ' of contacts on one joint)             factors by the articulated-body recursion
//! G x: constraints (G x = 0), springs and clutches between two joints, k their stiffness or slope
//! (H + Σ k g gᵀ) x = b, constraints obeyed:
//!     x = H⁻¹ (b − Gᵀ μ),      (G H⁻¹ Gᵀ + diag(1/k)) μ = G H⁻¹ b,       1/k = 0 for a constraint             (1)
//! ```
//!
//! (1) is the Schur complement of the rows, a dense matrix as large as their number. It costs a solution for each row;
//! without couplings there is none.

use super::factor::{factor, solve};
use super::reduced_coordinates::{ReducedCoordinates, Sparse, dot};
use super::step_matrix::{extend, restrict};
use crate::model::Compiled;
use bristle_multibody::{Error, MassOperator};

/// A of a step. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct TreeMatrix {
    pub operator: MassOperator,
    /// The diagonal of A beside M: armature, dampers, springs, drives.
    pub armature: Vec<f64>,
    /// Velocities whose motion is prescribed.
    pub prescribed: Vec<bool>,
    /// The rows g: constraints, springs between joints, contacts between joints; and their k.
    rows: Vec<Sparse>,
    stiffness: Vec<f64>,
    n_constraints: usize,
    /// The row of each contact between two joints.
    row_of_contact: Vec<Option<usize>>,
    velocity_of_contact: Vec<usize>,
    /// Gains of the springs in A.
    gains: Vec<f64>,
    /// Factors of the Schur complement, and the rows in it.
    schur: Vec<f64>,
    active: Vec<usize>,
    /// Rows of locked velocities alone.
    idle: Vec<usize>,
    mu: Vec<f64>,
    /// The diagonal of H beside M.
    pub diagonal: Vec<f64>,
    /// Scratch by velocity.
    x: Vec<f64>,
    y: Vec<f64>,
    sizes: Vec<f64>,
    pub effort: Vec<f64>,
    /// b − Gᵀ μ of the last solution.
    pub reduced: Vec<f64>,
}

/// Numbers that are none are found by their users.
fn allow_non_finite(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::NonFinite { .. }) => Ok(()),
        other => other,
    }
}

impl TreeMatrix {
    /// Rows of the Schur complement at most.
    pub fn n_rows(compiled: &Compiled, coordinates: &ReducedCoordinates) -> usize {
        let between = compiled.inputs.contacts.iter().filter(|contact| contact.b.is_some()).count();
        coordinates.dependent.len() + compiled.model.coupled.springs.len() + between
    }

    pub fn new(compiled: &Compiled, coordinates: &ReducedCoordinates) -> Self {
        let n_v = compiled.model.tree.n_v;
        let constraint = |dependent: &super::reduced_coordinates::Dependent| {
            let others = dependent.of.iter().map(|&(v, c)| (v, -c));
            std::iter::once((dependent.v, 1.0)).chain(others).collect()
        };
        let mut rows: Vec<Sparse> = coordinates.dependent.iter().map(constraint).collect();
        let n_constraints = rows.len();
        rows.extend(compiled.model.coupled.springs.iter().map(|spring| vec![(spring.a, 1.0), (spring.b, -1.0)]));
        let mut row_of_contact = Vec::with_capacity(compiled.inputs.contacts.len());
        for contact in compiled.inputs.contacts.iter() {
            row_of_contact.push(contact.b.map(|b| {
                rows.push(vec![(contact.v, 1.0), (b, -1.0)]);
                rows.len() - 1
            }));
        }
        let mut stiffness = vec![0.0; rows.len()];
        stiffness[..n_constraints].fill(f64::INFINITY);
        let mut prescribed = vec![false; n_v];
        coordinates.prescribed.iter().for_each(|joint| prescribed[joint.v] = true);
        let zeros = || vec![0.0; n_v];
        Self {
            operator: MassOperator::new(&compiled.model.tree),
            armature: zeros(),
            prescribed,
            schur: vec![0.0; rows.len() * rows.len()],
            active: Vec::with_capacity(rows.len()),
            idle: Vec::with_capacity(rows.len()),
            mu: vec![0.0; rows.len()],
            gains: vec![0.0; compiled.model.coupled.springs.len()],
            rows,
            stiffness,
            n_constraints,
            row_of_contact,
            velocity_of_contact: compiled.inputs.contacts.iter().map(|contact| contact.v).collect(),
            diagonal: zeros(),
            x: zeros(),
            y: zeros(),
            sizes: zeros(),
            effort: zeros(),
            reduced: zeros(),
        }
    }

    /// A = M at positions `q`.
    pub fn set_inertia(&mut self, compiled: &Compiled, q: &[f64]) -> Result<(), Error> {
        self.armature.copy_from_slice(compiled.model.tree.armature());
        self.gains.fill(0.0);
        self.operator.place(&compiled.model.tree, q)
    }

    /// Adds to the gain of a spring between joints.
    pub fn set_gain(&mut self, spring: usize, gain: f64) {
        self.gains[spring] += gain;
    }

    /// The springs between joints: row and gain.
    fn springs(&self) -> impl Iterator<Item = (&Sparse, f64)> {
        self.rows[self.n_constraints..].iter().zip(self.gains.iter().copied())
    }

    /// A x into `out`, both in all velocities.
    pub fn multiply_all(&mut self, compiled: &Compiled, x: &[f64], out: &mut [f64]) -> Result<(), Error> {
        allow_non_finite(self.operator.multiply(&compiled.model.tree, &self.armature, x, out))?;
        for (row, gain) in self.springs() {
            let force = gain * dot(row, x);
            row.iter().for_each(|&(k, g)| out[k] += g * force);
        }
        Ok(())
    }

    /// The same, and the sizes of the terms, for x in the scratch; into `y` and `sizes`.
    pub fn multiply_with_sizes(&mut self, compiled: &Compiled, x: &[f64]) -> Result<(), Error> {
        let Self { operator, armature, y, sizes, rows, gains, n_constraints, .. } = self;
        allow_non_finite(operator.multiply_with_sizes(&compiled.model.tree, armature, x, y, sizes))?;
        for (row, gain) in rows[*n_constraints..].iter().zip(&*gains) {
            let (force, size) = row.iter().fold((0.0, 0.0), |(f, s), &(k, g)| (f + g * x[k], s + (g * x[k]).abs()));
            for &(k, g) in row {
                y[k] += g * gain * force;
                sizes[k] += (g * gain).abs() * size;
            }
        }
        Ok(())
    }

    /// The product and the sizes that [`Self::multiply_with_sizes`] has left.
    pub fn product(&self) -> (&[f64], &[f64]) {
        (&self.y, &self.sizes)
    }

    /// See [`super::step_matrix::StepMatrix::residual`].
    pub fn residual(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        [b, u]: [&[f64]; 2],
        residual: &mut [f64],
        magnitude: &mut [f64],
    ) -> Result<(), Error> {
        let mut x = std::mem::take(&mut self.x);
        extend(&coordinates.rows, u, &mut x);
        let done = self.multiply_with_sizes(compiled, &x);
        self.x = x;
        done?;
        restrict(&coordinates.rows, &self.y, residual);
        magnitude.fill(0.0);
        for (row, size) in coordinates.rows.iter().zip(&self.sizes) {
            row.iter().for_each(|&(i, c)| magnitude[i] += (c * size).abs());
        }
        for ((residual, magnitude), b) in residual.iter_mut().zip(magnitude).zip(b) {
            *residual = b - *residual;
            *magnitude += b.abs();
        }
        Ok(())
    }

    /// See [`super::step_matrix::StepMatrix::diagonal`].
    pub fn diagonal(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let Self { operator, armature, y, rows, gains, n_constraints, .. } = self;
        allow_non_finite(operator.diagonal(&compiled.model.tree, armature, y))?;
        for (row, gain) in rows[*n_constraints..].iter().zip(gains) {
            row.iter().for_each(|&(k, g)| y[k] += g * g * *gain);
        }
        out.fill(0.0);
        for (row, y) in coordinates.rows.iter().zip(y) {
            row.iter().for_each(|&(i, c)| out[i] += c * c * *y);
        }
        Ok(())
    }

    /// δᵀ R δ.
    pub fn curvature(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        delta: &[f64],
    ) -> Result<f64, Error> {
        let (mut x, mut y) = (std::mem::take(&mut self.x), std::mem::take(&mut self.y));
        extend(&coordinates.rows, delta, &mut x);
        let done = self.multiply_all(compiled, &x, &mut y);
        let curvature = super::factor::dot_all(&x, &y);
        (self.x, self.y) = (x, y);
        done.map(|()| curvature)
    }

    /// Factorises A + Wᵀ λ' W under the constraints, with the slopes λ' of the contacts.
    pub fn factor(&mut self, compiled: &Compiled, slopes: &[f64]) -> Result<(), Error> {
        let prescribed = std::mem::take(&mut self.prescribed);
        let done = self.factor_locked(compiled, slopes, &prescribed);
        self.prescribed = prescribed;
        done
    }

    /// The same with the velocities of `locked` given.
    pub fn factor_locked(&mut self, compiled: &Compiled, slopes: &[f64], locked: &[bool]) -> Result<(), Error> {
        self.diagonal.copy_from_slice(&self.armature);
        for (c, slope) in slopes.iter().enumerate() {
            match self.row_of_contact[c] {
                Some(row) => self.stiffness[row] = *slope,
                None => self.diagonal[self.velocity_of_contact[c]] += slope,
            }
        }
        let n_constraints = self.n_constraints;
        self.stiffness[n_constraints..n_constraints + self.gains.len()].copy_from_slice(&self.gains);
        self.operator.factor(&compiled.model.tree, &self.diagonal, locked)?;
        self.factor_schur(compiled, locked)
    }

    /// Factors of the Schur complement of the rows that act.
    fn factor_schur(&mut self, compiled: &Compiled, locked: &[bool]) -> Result<(), Error> {
        let Self { operator, rows, stiffness, schur, active, idle, x, y, effort, .. } = self;
        active.clear();
        idle.clear();
        // a row of locked velocities alone has no equation; its impulse is known
        for row in (0..rows.len()).filter(|&row| stiffness[row] > 0.0) {
            let is_idle = rows[row].iter().all(|&(k, _)| locked[k]);
            if is_idle { idle.push(row) } else { active.push(row) }
        }
        let m = active.len();
        for (i, &row) in active.iter().enumerate() {
            y.fill(0.0);
            rows[row].iter().for_each(|&(k, g)| y[k] = g);
            x.fill(0.0);
            allow_non_finite(operator.solve(&compiled.model.tree, y, x, effort))?;
            for (j, &other) in active.iter().enumerate() {
                schur[i * m + j] = dot(&rows[other], x);
            }
            schur[i * m + i] += 1.0 / stiffness[row];
        }
        factor(&mut schur[..m * m], m).map_err(|at| {
            let row = &rows[active[at]];
            let joint = row.first().map_or(0, |term| compiled.model.tree.joint_of_velocity(term.0));
            Error::Singular { joint: compiled.model.tree.joint_names[joint].clone(), inertia: schur[at * m + at] }
        })
    }

    /// Solves with the factors for efforts `b`; `x` holds given velocities and receives the others, `effort` the
    /// efforts at the locked ones.
    pub fn solve_locked(&mut self, compiled: &Compiled, b: &[f64], x: &mut [f64]) -> Result<(), Error> {
        let Self { operator, rows, stiffness, schur, active, idle, mu, effort, reduced, .. } = self;
        let m = active.len();
        reduced.copy_from_slice(b);
        for &row in &*idle {
            let elongation = dot(&rows[row], x);
            // between prescribed velocities a constraint has no impulse of its own
            if elongation != 0.0 && stiffness[row].is_finite() {
                rows[row].iter().for_each(|&(k, g)| reduced[k] -= g * stiffness[row] * elongation);
            }
        }
        allow_non_finite(operator.solve(&compiled.model.tree, reduced, x, effort))?;
        if m == 0 {
            return Ok(());
        }
        for (mu, &row) in mu.iter_mut().zip(&*active) {
            *mu = dot(&rows[row], x);
        }
        solve(&schur[..m * m], &mut mu[..m], m);
        for (mu, &row) in mu.iter().zip(&*active) {
            rows[row].iter().for_each(|&(k, g)| reduced[k] -= g * mu);
        }
        allow_non_finite(operator.solve(&compiled.model.tree, reduced, x, effort))
    }

    /// See [`super::step_matrix::StepMatrix::solve`].
    pub fn solve(&mut self, compiled: &Compiled, coordinates: &ReducedCoordinates, u: &mut [f64]) -> Result<(), Error> {
        let (mut x, mut y) = (std::mem::take(&mut self.x), std::mem::take(&mut self.y));
        x.fill(0.0);
        y.fill(0.0);
        coordinates.independent.iter().zip(&*u).for_each(|(&k, u)| y[k] = *u);
        let done = self.solve_locked(compiled, &y, &mut x);
        u.iter_mut().zip(&coordinates.independent).for_each(|(u, &k)| *u = x[k]);
        (self.x, self.y) = (x, y);
        done
    }
}

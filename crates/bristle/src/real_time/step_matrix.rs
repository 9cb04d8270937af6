//! The matrix A of a step in all velocities and R = Tᵀ A T in the independent ones, in one of two forms:
//!
//! - **dense**: M by composite rigid bodies, R + Wᵀ λ' W by LᵀDL factors that skip the zeros between branches
//!   (`factor`). Drivetrains and small machines.
//! - **tree** (`tree_matrix`): products by inverse dynamics, solutions by the articulated-body recursion, O(n) each;
//!   couplings by a Schur complement.
//!
//! [`count`] predicts the multiplications of a step for both, once; the smaller number decides.

#![expect(non_snake_case, reason = "symbols follow the equations of the step")]

use super::active_set::ActiveSet;
use super::factor::{dot_all, factor, solve};
use super::reduced_coordinates::{ReducedCoordinates, Sparse, dot};
use super::tree_matrix::TreeMatrix;
use crate::memory;
use crate::model::{Compiled, Contact};
use bristle_multibody::{Error, Work, bias_efforts, crba};
use nalgebra::DMatrix;

/// A and R of one step, and factors of R + Wᵀ λ' W. See the [module](self).
#[derive(Debug, Clone)]
pub(super) enum StepMatrix {
    Dense(DenseMatrix),
    Tree(Box<TreeMatrix>),
}

/// The form of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatrixForm {
    Dense,
    Tree,
}

/// A and R with all their entries.
#[derive(Debug, Clone)]
pub(super) struct DenseMatrix {
    pub A: DMatrix<f64>,
    /// R, and factors of R + Wᵀ λ' W, row by row.
    R: Vec<f64>,
    L: Vec<f64>,
    n: usize,
}

/// Predicted multiplications of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub dense: f64,
    pub tree: f64,
}

/// Evaluations of the contacts, solutions and factorisations of a step by the convex solver.
const ROUNDS: f64 = 6.0;
const SOLUTIONS: f64 = 4.0;
const FACTORS: f64 = 2.0;

/// Multiplications of the recursions for one joint: a product, a solution, a factorisation (outer product and shift
/// of a 6×6 inertia), and frames and inertias in world axes.
const PRODUCT: f64 = 60.0;
const SOLUTION: f64 = 60.0;
const FACTOR: f64 = 140.0;
const FRAMES: f64 = 110.0;

/// Multiplications of composite inertias for one joint, and for an entry of M; sines and transforms of the two bias
/// evaluations in link axes; a contact in one round of the convex solver.
const INERTIA: f64 = 110.0;
const ENTRY: f64 = 9.0;
const TRANSFORMS: f64 = 120.0;
const CONTACT: f64 = 40.0;

/// Calls and loops of the exchange of modes, whatever the number of joints, in multiplications.
const OVERHEAD: f64 = 700.0;

/// Numbers that a vector instruction handles in dense rows, against a 3-vector in the recursions.
const LANES: f64 = 4.0 / 3.0;

/// Predicted multiplications of a step in both forms.
pub(super) fn count(compiled: &Compiled, coordinates: &ReducedCoordinates) -> Count {
    let model = &compiled.model.tree;
    let (n_bodies, n_v, n) = (model.n_bodies() as f64, model.n_v as f64, coordinates.independent.len() as f64);
    // velocities between each joint and the world
    let mut depth = vec![0_usize; model.n_bodies()];
    for i in 1..model.n_bodies() {
        depth[i] = depth[model.parent[i]] + model.v_range(i).len();
    }
    let depths = || (0..model.n_v).map(|k| depth[model.joint_of_velocity(k)] as f64);
    let entries: f64 = depths().sum();
    let rows = TreeMatrix::n_rows(compiled, coordinates) as f64;
    let rounds = ROUNDS * CONTACT * compiled.inputs.contacts.len() as f64;

    // rows between joints fill the factors of all that they connect
    let fill = if rows == 0.0 { depths().map(|d| 0.5 * d * d).sum() } else { n * n * n / 6.0 };
    let reduction = if coordinates.is_identity { n * n } else { 2.0 * n_v * n_v };
    let algebra = FACTORS * (fill + n * n) + SOLUTIONS * 2.0 * entries.min(n * n) + ROUNDS * n * n;
    let dense = (INERTIA + TRANSFORMS) * n_bodies + ENTRY * entries + (reduction + algebra) / LANES + rounds;

    // the exchange of modes verifies once; without bristles it factorises once. Rows take a second solution
    let is_dry = compiled.inputs.contacts.iter().all(Contact::is_event_driven);
    let (factors, solutions, products, rounds) = match (ActiveSet::applies(compiled, coordinates), is_dry) {
        (true, true) => (1.0, 2.0, 1.0, OVERHEAD),
        (true, false) => (FACTORS, 2.0, 1.0, OVERHEAD),
        // every product with the sizes of its terms
        (false, _) => (FACTORS, SOLUTIONS, 2.0 * ROUNDS, rounds),
    };
    let again = if rows == 0.0 { 1.0 } else { 2.0 };
    let joint = factors * (FACTOR + rows * SOLUTION) + solutions * again * SOLUTION + products * PRODUCT + FRAMES;
    Count { dense, tree: n_bodies * joint + factors * rows * rows * rows / 6.0 + rounds }
}

impl StepMatrix {
    /// The form that takes fewer multiplications.
    pub fn form(compiled: &Compiled, coordinates: &ReducedCoordinates) -> MatrixForm {
        if !compiled.model.coupled.closures.is_empty() {
            return MatrixForm::Dense;
        }
        let Count { dense, tree } = count(compiled, coordinates);
        if tree < dense { MatrixForm::Tree } else { MatrixForm::Dense }
    }

    pub fn new(compiled: &Compiled, coordinates: &ReducedCoordinates, form: MatrixForm) -> Self {
        match form {
            MatrixForm::Dense => {
                let (n_v, n) = (compiled.model.tree.n_v, coordinates.independent.len());
                Self::Dense(DenseMatrix { A: DMatrix::zeros(n_v, n_v), R: vec![0.0; n * n], L: vec![0.0; n * n], n })
            }
            MatrixForm::Tree => Self::Tree(Box::new(TreeMatrix::new(compiled, coordinates))),
        }
    }

    /// Bytes of its arrays that are not linear in the machine, before they are made.
    pub fn bytes(compiled: &Compiled, coordinates: &ReducedCoordinates, form: MatrixForm) -> u64 {
        let (n_v, n) = (compiled.model.tree.n_v, coordinates.independent.len());
        match form {
            MatrixForm::Dense => {
                memory::bytes::<f64>(&[n_v, n_v]).saturating_add(memory::bytes::<f64>(&[n, n]).saturating_mul(2))
            }
            MatrixForm::Tree => {
                let rows = TreeMatrix::n_rows(compiled, coordinates);
                memory::bytes::<f64>(&[rows, rows])
            }
        }
    }

    /// A = M at positions `q`.
    pub fn set_inertia(&mut self, compiled: &Compiled, work: &mut Work, q: &[f64]) -> Result<(), Error> {
        match self {
            Self::Dense(matrix) => crba(&compiled.model.tree, work, q, &mut matrix.A),
            Self::Tree(matrix) => matrix.set_inertia(compiled, q),
        }
    }

    /// Bias efforts at the positions of [`Self::set_inertia`] and velocities `v`.
    pub fn bias(
        &mut self,
        compiled: &Compiled,
        work: &mut Work,
        q: &[f64],
        v: &[f64],
        out: &mut [f64],
    ) -> Result<(), Error> {
        match self {
            Self::Dense(_) => out.copy_from_slice(bias_efforts(&compiled.model.tree, work, q, v)?),
            Self::Tree(matrix) => matrix.operator.bias(&compiled.model.tree, &work.outside, v, out)?,
        }
        Ok(())
    }

    /// M_kk of all velocities into `out`, before anything is added to A.
    pub fn inertias(&mut self, compiled: &Compiled, out: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::Dense(matrix) => {
                out.iter_mut().enumerate().for_each(|(k, out)| *out = matrix.A[(k, k)]);
                Ok(())
            }
            Self::Tree(matrix) => matrix.operator.diagonal(&compiled.model.tree, &matrix.armature, out),
        }
    }

    /// A_kk += `x`.
    pub fn add(&mut self, k: usize, x: f64) {
        match self {
            Self::Dense(matrix) => matrix.A[(k, k)] += x,
            Self::Tree(matrix) => matrix.armature[k] += x,
        }
    }

    /// Adds `gain` times the square of the difference of velocities a and b: spring-damper `spring` of the couplings.
    pub fn add_spring(&mut self, spring: usize, a: usize, b: usize, gain: f64) {
        match self {
            Self::Dense(DenseMatrix { A, .. }) => {
                A[(a, a)] += gain;
                A[(b, b)] += gain;
                A[(a, b)] -= gain;
                A[(b, a)] -= gain;
            }
            Self::Tree(matrix) => matrix.set_gain(spring, gain),
        }
    }

    /// R, once A is complete.
    pub fn reduce(&mut self, coordinates: &ReducedCoordinates) {
        let Self::Dense(DenseMatrix { A, R, n, .. }) = self else { return };
        if coordinates.is_identity {
            // T = 1, and A is symmetric: its columns are its rows
            R.copy_from_slice(A.as_slice());
            return;
        }
        R.fill(0.0);
        for (k, row) in coordinates.rows.iter().enumerate() {
            for &(i, c) in row {
                // chains side by side have nothing in common in A
                for (other, &a) in coordinates.rows.iter().zip(A.column(k).iter()).filter(|(_, a)| **a != 0.0) {
                    for &(j, d) in other {
                        R[i * *n + j] += c * d * a;
                    }
                }
            }
        }
    }

    /// A x into `out`, both in all velocities.
    pub fn multiply_all(&mut self, compiled: &Compiled, x: &[f64], out: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::Dense(DenseMatrix { A, .. }) => {
                out.iter_mut().enumerate().for_each(|(k, out)| *out = dot_all(A.column(k).as_slice(), x));
                Ok(())
            }
            Self::Tree(matrix) => matrix.multiply_all(compiled, x, out),
        }
    }

    /// b − R u into `residual`, and the sum of the sizes of its terms into `magnitude`.
    pub fn residual(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        [b, u]: [&[f64]; 2],
        residual: &mut [f64],
        magnitude: &mut [f64],
    ) -> Result<(), Error> {
        match self {
            Self::Dense(DenseMatrix { R, .. }) => {
                for (k, row) in R.chunks_exact(u.len().max(1)).enumerate() {
                    let (mut sum, mut terms) = (b[k], b[k].abs());
                    for (r, u) in row.iter().zip(u) {
                        sum -= r * u;
                        terms += (r * u).abs();
                    }
                    (residual[k], magnitude[k]) = (sum, terms);
                }
                Ok(())
            }
            Self::Tree(matrix) => matrix.residual(compiled, coordinates, [b, u], residual, magnitude),
        }
    }

    /// The diagonal of R into `out`. In the tree form products of two velocities that depend on the same one are left
    /// out: it is a scale.
    pub fn diagonal(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        out: &mut [f64],
    ) -> Result<(), Error> {
        match self {
            Self::Dense(DenseMatrix { R, n, .. }) => {
                out.iter_mut().enumerate().for_each(|(k, out)| *out = R[k * *n + k]);
                Ok(())
            }
            Self::Tree(matrix) => matrix.diagonal(compiled, coordinates, out),
        }
    }

    /// δᵀ R δ.
    pub fn curvature(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        delta: &[f64],
    ) -> Result<f64, Error> {
        match self {
            Self::Dense(DenseMatrix { R, .. }) => {
                Ok(R.chunks_exact(delta.len()).zip(delta).map(|(row, d)| d * dot_all(row, delta)).sum())
            }
            Self::Tree(matrix) => matrix.curvature(compiled, coordinates, delta),
        }
    }

    /// Factorises R + Wᵀ λ' W with the slopes λ' of the contacts.
    pub fn factor(
        &mut self,
        compiled: &Compiled,
        coordinates: &ReducedCoordinates,
        slopes: &[f64],
    ) -> Result<(), Error> {
        let DenseMatrix { R, L, n, .. } = match self {
            Self::Dense(matrix) => matrix,
            Self::Tree(matrix) => return matrix.factor(compiled, slopes),
        };
        let n = *n;
        L.copy_from_slice(R);
        for (contact, slope) in coordinates.contacts.iter().zip(slopes) {
            for &(i, w) in contact {
                for &(j, x) in contact.iter().take_while(|term| term.0 <= i) {
                    L[i * n + j] += slope * w * x;
                }
            }
        }
        factor(L, n).map_err(|row| {
            let model = &compiled.model.tree;
            let joint = model.joint_names[model.joint_of_velocity(coordinates.independent[row])].clone();
            Error::Singular { joint, inertia: L[row * n + row] }
        })
    }

    /// Replaces x by (R + Wᵀ λ' W)⁻¹ x.
    pub fn solve(&mut self, compiled: &Compiled, coordinates: &ReducedCoordinates, x: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::Dense(DenseMatrix { L, n, .. }) => {
                solve(L, x, *n);
                Ok(())
            }
            Self::Tree(matrix) => matrix.solve(compiled, coordinates, x),
        }
    }
}

/// Tᵀ y of efforts `y` in all velocities, into `out`.
pub(super) fn restrict(rows: &[Sparse], y: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (row, y) in rows.iter().zip(y) {
        row.iter().for_each(|&(i, c)| out[i] += c * y);
    }
}

/// T u into `out`, all velocities.
pub(super) fn extend(rows: &[Sparse], u: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(rows).for_each(|(out, row)| *out = dot(row, u));
}

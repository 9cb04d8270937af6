//! Linearisation and inverse dynamics of machines with closed loops.
//!
//! T depends on the configuration, so that ∂ẏ/∂y contains derivatives of T and γ: central differences give it, right to
//! some 1e-9 of its entries. ∂a/∂τ comes from differences too; without reaction loads a is linear in τ.
//!
//! Efforts that a motion requires are not unique in a loop: constraint forces do no work, and any efforts with the same
//! Tᵀτ cause the same motion. Inverse dynamics gives those of least norm,
//!
//! ```text
//! τ = T (Tᵀ T)⁻¹ Tᵀ τ°                   τ°: required efforts of the tree, (7) of `inverse`                 (13)
//! ```
//!
//! Friction under reactions depends on the constraint forces, and these on τ: (13) and the constraint forces at τ take
//! turns until both agree.

use super::Dynamics;
use super::failure::Failure;
use crate::constraint::Coordinates;
use crate::error::{Error, Result as RunResult};
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_integrate::linear::Matrix;
use bristle_multibody::accelerations;
use nalgebra::{DMatrix, DVector};

/// Step of central differences, relative to the scale of an unknown: the cube root of rounding.
const STEP: f64 = 6e-6;

/// Limit of the turns of (13) and the constraint forces, and the relative change of loads that ends them.
const MAX_TURNS: usize = 200;
const AGREED: f64 = 1e-13;

/// Accepted violation of a closure by requested positions, velocities and accelerations, relative to the largest term.
const MISS: f64 = 1e-7;

impl Dynamics {
    /// ∂ẏ/∂y at (t, y) into `jac`, and ∂a/∂τ into `by_effort`.
    pub(crate) fn difference_in_loops(
        &mut self,
        t: f64,
        y: &[f64],
        jac: &mut Matrix,
        by_effort: &mut DMatrix<f64>,
    ) -> Result<(), EvalError> {
        let n_y = y.len();
        let (mut at, mut rates) = (y.to_vec(), [vec![0.0; n_y], vec![0.0; n_y]]);
        for (j, &scale) in self.scales(y).iter().enumerate() {
            let h = STEP * scale;
            for (rates, side) in rates.iter_mut().zip([1.0, -1.0]) {
                at[j] = y[j] + side * h;
                self.fill_rhs(t, &at, rates)?;
            }
            at[j] = y[j];
            (0..n_y).for_each(|i| jac[(i, j)] = (rates[0][i] - rates[1][i]) / (2.0 * h));
        }
        let n_v = self.point.v.len();
        let mut sides = [vec![0.0; n_v], vec![0.0; n_v]];
        for k in 0..n_v {
            // an effort that no limit cuts
            let offset = self.compiled.inputs.offset[k];
            for (side, sign) in sides.iter_mut().zip([1.0, -1.0]) {
                self.compiled.inputs.offset[k] = offset + sign * STEP;
                let result = self.fill_rhs(t, y, &mut rates[0]);
                self.compiled.inputs.offset[k] = offset;
                result?;
                side.copy_from_slice(&self.point.a);
            }
            (0..n_v).for_each(|i| by_effort[(i, k)] = (sides[0][i] - sides[1][i]) / (2.0 * STEP));
        }
        self.fill_rhs(t, y, &mut rates[0])
    }

    /// Scale of each unknown: 1 rad, m, rad/s and m/s or more, and the level of friction for its states.
    fn scales(&self, y: &[f64]) -> Vec<f64> {
        let mut scales: Vec<f64> = y.iter().map(|y| y.abs().max(1.0)).collect();
        let mut next = self.per_velocity() * self.coordinates.active.len();
        for contact in self.compiled.inputs.contacts.iter() {
            let n_states = contact.law.n_states();
            if n_states > 0 {
                scales[next] = contact.law.largest_level();
            }
            next += n_states;
        }
        scales
    }

    /// The dependence of velocities through couplings and loops at the present positions, without stuck contacts.
    pub(crate) fn loop_dependence(&self) -> Coordinates {
        let mut copy = self.clone();
        copy.lock_loops(false, |v| self.chart.dependent.contains(&v));
        copy.coordinates
    }

    /// Tᵀ M T over the independent velocities, with prescribed ones among them.
    pub(crate) fn reduce_mass_in_loops(&self, mass: &DMatrix<f64>) -> DMatrix<f64> {
        let (coordinates, independent) = (self.loop_dependence(), self.independent());
        let mut t = DMatrix::zeros(mass.nrows(), independent.len());
        for (k, &v) in independent.iter().enumerate() {
            t[(v, k)] = 1.0;
        }
        for (d, &v) in coordinates.dependent.iter().enumerate() {
            for &(i, c) in coordinates.terms_of(d) {
                if let Ok(k) = independent.binary_search(&i) {
                    t[(v, k)] = c;
                }
            }
        }
        t.transpose() * mass * t
    }

    /// Efforts `tau` of the tree to those of least norm with the same effect, (13). The state is set to (q, v), and
    /// must be restored by the caller.
    pub(crate) fn least_efforts(&mut self, t: f64, a: &[f64], tau: &mut [f64]) -> RunResult<()> {
        for &k in &self.compiled.model.free {
            let range = self.compiled.model.tree.q_range(self.compiled.model.joint_of[k]);
            self.state.q_ref[range.clone()].copy_from_slice(&self.point.q[range]);
            self.point.xi[k..k + 6].fill(0.0);
        }
        self.refuse_open(t, a)?;
        self.lock_loops(false, |_| true);
        if let Some(failure) = self.loops.failure {
            return Err(self.explain(t, failure.into()));
        }
        let (n_v, n) = (tau.len(), self.coordinates.active.len());
        let mut matrix: DMatrix<f64> = DMatrix::zeros(n_v, n);
        for v in 0..n_v {
            self.coordinates.unknowns_of(v).for_each(|(k, c)| matrix[(v, k)] += c);
        }
        let right = matrix.transpose() * DVector::from_column_slice(tau);
        // T contains the identity: Tᵀ T is positive definite
        let solved: Option<DVector<f64>> = (matrix.transpose() * &matrix).lu().solve(&right);
        let Some(solved) = solved else { return Err(self.explain(t, Failure::NoAcceleration)) };
        let least: DVector<f64> = matrix * solved;
        tau.copy_from_slice(least.as_slice());
        Ok(())
    }

    /// The same with friction under reactions: `tau` lacks it, and gets it.
    pub(crate) fn least_efforts_under_loads(
        &mut self,
        t: f64,
        (q, v, a): (&[f64], &[f64], &[f64]),
        tau: &mut [f64],
    ) -> RunResult<()> {
        let (ideal, given) = (tau.to_vec(), self.point.tau.clone());
        let own = self.compiled.inputs.effort.clone();
        self.point.closure_force.fill(0.0);
        let mut before = f64::INFINITY;
        for _ in 0..MAX_TURNS {
            tau.copy_from_slice(&ideal);
            for &c in &self.compiled.model.reaction_loaded {
                tau[self.compiled.inputs.contacts[c].v] += self.point.kappa[c] * self.point.load[c];
            }
            self.least_efforts(t, a, tau)?;
            // the start of the loops has completed these
            self.point.q.copy_from_slice(q);
            self.point.v.copy_from_slice(v);
            self.point.a.copy_from_slice(a);
            let efforts = given.iter().zip(&own).zip(&*tau).map(|((given, own), tau)| given - own + tau);
            self.point.tau.iter_mut().zip(efforts).for_each(|(into, effort)| *into = effort);
            let loads = self.point.load.clone();
            self.find_closure_forces().map_err(|failure| self.explain(t, failure))?;
            let change = loads.iter().zip(&self.point.load).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let size = self.point.load.iter().fold(0.0_f64, |most, load| most.max(load.abs()));
            if change <= AGREED * size || change <= 1e-9 * size && change >= before {
                return Ok(());
            }
            before = change;
        }
        Err(self.explain(t, Failure::NoAcceleration))
    }

    /// Refuses positions, velocities and accelerations `a` that violate a closure.
    fn refuse_open(&mut self, t: f64, a: &[f64]) -> RunResult<()> {
        let mechanics = |source| Error::Mechanics { t, source };
        let Self { compiled, work, loops, point, .. } = self;
        let model = &*compiled.model;
        loops.fill(model, work, &point.q).map_err(mechanics)?;
        let (closure, gap) = loops.widest();
        let mut violations = vec![("positions", closure, gap / loops.size.max(1.0))];
        accelerations(&model.tree, work, &point.q, &point.v, &vec![0.0; a.len()]).map_err(mechanics)?;
        let bias = loops.bias(model, work).map_err(mechanics)?;
        for (row, coefficients) in loops.rows.chunks_exact(a.len().max(1)).enumerate() {
            let sum = |x: &[f64], from: f64| {
                let terms = coefficients.iter().zip(x).map(|(c, x)| c * x);
                let size = terms.clone().fold(from.abs(), |size, term| size.max(term.abs()));
                let sum = terms.sum::<f64>() + from;
                if size > 0.0 { sum.abs() / size } else { 0.0 }
            };
            violations.push(("velocities", loops.closure_of(row), sum(&point.v, 0.0)));
            violations.push(("accelerations", loops.closure_of(row), sum(a, bias[row])));
        }
        match violations.into_iter().find(|(_, _, miss)| miss.is_nan() || *miss > MISS) {
            None => Ok(()),
            Some((what, closure, miss)) => {
                let name = model.coupled.closures[closure].name.clone();
                let reason =
                    format!("the requested {what} violate this loop by {miss:e}: request values that satisfy it");
                Err(Error::Coupling { name, reason })
            }
        }
    }
}

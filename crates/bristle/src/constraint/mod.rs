//! Dependent coordinates: gears, planetary sets, linear couplings and stuck clutches.
//!
//! Each holonomic constraint Σ c q = offset makes one coordinate depend on the others. A row comes from a compiled
//! coupling, or from a stuck clutch, whose offset is q_a − q_b at the instant at which it stuck.
//! Elimination (Gauss–Jordan) gives
//!
//! ```text
//! q_d = offset_d + Σ T_di q_i        v_d = Σ T_di v_i        a_d = Σ T_di a_i                            (5)
//! ```
//!
//! with i among the unknowns and the joints of prescribed motion; locked joints enter the offset. A redundant row, one
//! that the rows before it imply (two stuck clutches between joints that a gear couples), adds no dependent coordinate.
//!
//! **Accelerations.** With G_d = e_d − Σ T_di e_i over the joints that can move, M a + c = τ + Gᵀλ and G a = 0. The
//! Delassus matrix G M⁻¹ Gᵀ gives the constraint forces λ:
//!
//! ```text
//! x = M⁻¹ b,     λ = −(G M⁻¹ Gᵀ)⁻¹ G x,     x + M⁻¹ Gᵀ λ                                               (6)
//! ```
//!
//! This takes one substitution per dependent coordinate with the present factorisation. A machine with many dependent
//! coordinates eliminates them instead, see `reduced`.
//!
//! **Rigid groups.** All joints of a rigid group (joined by stuck clutches) have the same row in (5), to the last bit:
//! v_a − v_b is 0.0.

pub(crate) mod coordinates;
pub(crate) mod coupling_start;
mod distribution;
mod elimination;
mod limit_analysis;
pub(crate) mod loops;
mod reduced;
mod sparse;

use crate::model::Compiled;
use crate::modes::MAX_EAGER;
use bristle_integrate::linear::Lu;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Error, Model, Work, factor_rows_at, solve_rows};
pub(crate) use coordinates::Coordinates;
use distribution::Distribution;
pub(crate) use elimination::{Elimination, Left};
use reduced::Reduced;

/// The tolerance of all eliminations. A coefficient smaller than this, relative to the coefficients that it is the
/// difference of, counts as zero: it is their rounding error. The smallest pivot, [`PIVOT`], lets rounding grow to
/// ε/PIVOT = 2e-12 in one step.
pub(crate) const NEGLIGIBLE: f64 = 1e-11;

/// A pivot may be this part of the largest candidate of its row: a coupling of a ratio up to 10,000 makes the joint
/// that it names first the dependent one, and rounding grows by the inverse at most (threshold pivoting, Duff,
/// Erisman & Reid 1986).
const PIVOT: f64 = 1e-4;

/// Marks a velocity that has no place in a list.
pub(crate) const ABSENT: usize = usize::MAX;

/// Scratch of the elimination, of (6), and of the distribution of constraint efforts.
#[derive(Debug, Clone)]
pub(crate) struct Constraints {
    pub elimination: Elimination,
    /// M⁻¹ Gᵀ, column by column; the reduced equations, where they replace (6); G M⁻¹ Gᵀ; λ; one row of G.
    reach: Vec<f64>,
    reduced: Option<Box<Reduced>>,
    delassus: Lu,
    lambda: Vec<f64>,
    unit: Vec<f64>,
    /// Distribution of the constraint efforts.
    distribution: Distribution,
    /// Positions and velocities that the couplings require at the start; `n_v` each.
    pub required: [Vec<f64>; 2],
}

impl Constraints {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, n_constraints) = (compiled.model.tree.n_v, compiled.model.coupled.constraints.len());
        let (n_contacts, elimination) = (compiled.inputs.contacts.len(), Elimination::new(compiled));
        let n_rows = n_constraints + compiled.inputs.contacts.iter().filter(|contact| contact.b.is_some()).count();
        let is_coupled = !elimination.columns.is_empty();
        let n_columns = elimination.columns.len();
        let n_closures: usize = compiled.model.coupled.closures.iter().map(|closure| closure.n_rows()).sum();
        let n_given = n_constraints + n_closures + compiled.inputs.drives.len();
        let n_carriers = if is_coupled { n_given + n_contacts } else { 0 };
        let is_small = n_rows.max(n_columns).max(n_carriers) <= MAX_EAGER;
        Self {
            reach: Vec::with_capacity(if is_small { n_rows * n_v } else { 0 }),
            reduced: (n_rows > reduced::FEW || Reduced::is_needed(compiled)).then(|| Box::new(Reduced::new(compiled))),
            delassus: Lu::new(n_rows),
            lambda: vec![0.0; n_rows],
            unit: vec![0.0; if n_rows > 0 { n_v } else { 0 }],
            distribution: Distribution::new(n_columns, n_carriers, if is_coupled { n_contacts } else { 0 }),
            required: [Vec::new(), Vec::new()],
            elimination,
        }
    }

    /// Whether the machine has couplings.
    pub fn is_coupled(&self) -> bool {
        !self.elimination.columns.is_empty()
    }
}

impl Constraints {
    /// The factors of M, at the transforms that `work` holds; M⁻¹ Gᵀ and the factors of the Delassus matrix G M⁻¹ Gᵀ.
    pub fn factor(
        &mut self,
        coordinates: &Coordinates,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
        joint_of: &[usize],
    ) -> Result<(), Error> {
        let is_done = match &mut self.reduced {
            Some(reduced) => reduced.factor_tree(coordinates, (model, work, rows))?,
            None => false,
        };
        if !is_done {
            factor_rows_at(model, work, rows, &coordinates.locked)?;
        }
        if let Some(reduced) = &mut self.reduced
            && reduced.factor(coordinates, (model, work, rows), joint_of)?
        {
            return Ok(());
        }
        self.factor_each(coordinates, model, work, joint_of)
    }

    /// The same by (6), with the present factors of M, never by the reduced equations.
    pub fn factor_each(
        &mut self,
        coordinates: &Coordinates,
        model: &Model,
        work: &mut Work,
        joint_of: &[usize],
    ) -> Result<(), Error> {
        let (m, n_v) = (coordinates.dependent.len(), model.n_v);
        if m == 0 {
            return Ok(());
        }
        if let Some(reduced) = &mut self.reduced {
            reduced.set_unused();
        }
        self.reach.resize(m * n_v, 0.0);
        for d in 0..m {
            self.unit[coordinates.dependent[d]] = 1.0;
            for &(i, c) in coordinates.terms_of(d) {
                self.unit[i] = if coordinates.locked[joint_of[i]] { 0.0 } else { -c };
            }
            let column = solve_rows(model, work, &self.unit)?;
            self.reach[d * n_v..(d + 1) * n_v].copy_from_slice(column);
            self.unit[coordinates.dependent[d]] = 0.0;
            for &(i, _) in coordinates.terms_of(d) {
                self.unit[i] = 0.0;
            }
        }
        let matrix = self.delassus.matrix_mut(m);
        for r in 0..m {
            for c in 0..m {
                matrix[(r, c)] = coordinates.across(r, &self.reach[c * n_v..(c + 1) * n_v]);
            }
        }
        let joint = joint_of[coordinates.dependent[0]];
        let singular = |_| Error::Singular { joint: model.joint_names[joint].clone(), inertia: 0.0 };
        self.delassus.factor().map_err(singular)
    }

    /// Whether the determinant of the Delassus matrix factored last is positive, as it always is without friction.
    pub fn is_positive(&self, coordinates: &Coordinates) -> bool {
        let reduced = self.reduced.as_ref().filter(|reduced| reduced.is_used());
        coordinates.dependent.is_empty()
            || reduced.map_or_else(|| self.delassus.determinant().0 > 0.0, |reduced| reduced.is_positive())
    }

    /// Corrects x = M⁻¹ b by (6) and adds Gᵀλ to `b`: the factors of the tree then give x.
    pub fn correct(
        &mut self,
        coordinates: &Coordinates,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
        joint_of: &[usize],
        x: &mut [f64],
        b: &mut [f64],
    ) -> Result<(), Error> {
        if let Some(reduced) = &mut self.reduced
            && reduced.correct(coordinates, (model, work, rows), joint_of, &mut self.lambda, (x, b))?
        {
            return Ok(());
        }
        self.correct_each(coordinates, joint_of, x, b);
        Ok(())
    }

    /// The same after [`Constraints::factor_each`].
    pub fn correct_each(&mut self, coordinates: &Coordinates, joint_of: &[usize], x: &mut [f64], b: &mut [f64]) {
        let (m, n_v) = (coordinates.dependent.len(), x.len());
        if m == 0 {
            return;
        }
        for d in 0..m {
            self.lambda[d] = -coordinates.across(d, x);
        }
        self.delassus.solve(&mut self.lambda[..m]);
        for d in 0..m {
            let lambda = self.lambda[d];
            b[coordinates.dependent[d]] += lambda;
            for &(i, c) in coordinates.terms_of(d) {
                if !coordinates.locked[joint_of[i]] {
                    b[i] -= c * lambda;
                }
            }
            x.iter_mut().zip(&self.reach[d * n_v..(d + 1) * n_v]).for_each(|(x, reach)| *x += lambda * reach);
        }
        coordinates.rates_of_change(x, joint_of);
    }
}

//! Armature transfer: inertia for a joint that has none, from the joint to which a coupling connects it.
//!
//! The motion of a motor with a massless rotor, geared to an arm, is well defined: the arm's inertia resists it. The
//! recursions over the tree, however, need an inertia in every joint. With q_a = r q_b + offset the armatures
//!
//! ```text
//! ρ on a,   −ρ r² on b          ½ ρ v_a² − ½ ρ r² v_b² = 0                                               (1)
//! ```
//!
//! add nothing to the kinetic energy of the pair: b transfers the armature ρ to a, and the motion is the same. Only the
//! constraint force changes,
//!
//! ```text
//! λ = λ' − ρ a_a                λ' as found with (1), for the row q_a − r q_b                              (2)
//! ```
//!
//! and mass matrices are reported without it. ρ r² is a thousandth of the least inertia along b and the joints
//! towards the base: enough for a, and little for b or a light parent. Couplings of three and more joints permit no
//! transfer: v_a² would contain products of the other velocities.
//!
//! Where the links of both joints have no mass, b transfers a millionth of the inertia that it feels at the neutral
//! configuration with all other joints free: the bodies beyond it resist. That inertia varies with the configuration,
//! hence the smaller part. Accelerations of a machine with transfers follow from the reduced equations
//! (`constraints/reduced`), which do not divide by ρ.

use crate::model::Model;
use bristle_multibody::{Work, crba, factor_with_armature, neutral};
use nalgebra::DMatrix;

/// Fraction of an inertia that is transferred.
const PART: f64 = 1e-3;

/// The same of an inertia that joint b feels by the bodies beyond its own.
const ARTICULATED_PART: f64 = 1e-6;

/// Velocities of a machine in which articulated inertias are looked for: each transfer takes a mass matrix.
const MAX_FELT: usize = 500;

/// Inertia of a times r² below this fraction of that of b counts as zero.
const NONE: f64 = 1e-12;

/// Armature transferred from one velocity to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmatureTransfer {
    /// The constraint between the two.
    pub constraint: usize,
    /// Coefficient of a in the constraint.
    pub coefficient: f64,
    /// Velocity a, and ρ, kg·m² or kg.
    pub to: (usize, f64),
    /// Velocity b, and ρ r².
    pub from: (usize, f64),
}

impl Model {
    /// Transfers armature to joints without inertia from joints coupled to them in pairs.
    pub(crate) fn transfer_armature(&mut self) {
        loop {
            let own = (0..self.coupled.constraints.len()).find_map(|constraint| self.find_transfer(constraint));
            let Some(transfer) = own.or_else(|| self.find_massless_transfer()) else { return };
            let ArmatureTransfer { to, from, .. } = transfer;
            self.tree.shift_armature(to.0, to.1);
            self.tree.shift_armature(from.0, -from.1);
            self.armature_transfers.push(transfer);
        }
    }

    /// A pair without mass of its own links, one of which feels the bodies beyond it and the other nothing.
    fn find_massless_transfer(&self) -> Option<ArmatureTransfer> {
        if self.tree.n_v > MAX_FELT {
            return None;
        }
        let is_bare = |v: usize| self.tree.own_inertia(v) == 0.0;
        let is_free = |k: usize| self.armature_transfers.iter().all(|transfer| transfer.constraint != k);
        let pairs: Vec<(usize, [(usize, f64); 2])> = (self.coupled.constraints.iter().enumerate())
            .filter_map(|(k, constraint)| {
                let &[first, second] = &constraint.terms[..] else { return None };
                (is_free(k) && is_bare(first.0) && is_bare(second.0)).then_some((k, [first, second]))
            })
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let articulated = self.articulated_inertias()?;
        pairs.into_iter().find_map(|(constraint, [first, second])| {
            [(first, second), (second, first)].into_iter().find_map(|((a, c_a), (b, c_b))| {
                let (r, taken) = (-c_b / c_a, ARTICULATED_PART * articulated[b]);
                let rho = taken / (r * r);
                let is_some = articulated[a] == 0.0 && rho.is_finite() && rho > 0.0;
                is_some.then_some(ArmatureTransfer { constraint, coefficient: c_a, to: (a, rho), from: (b, taken) })
            })
        })
    }

    /// The inertia that each velocity feels at the neutral configuration, all other joints free; 0 where that is
    /// rounding. With ε M_vv added to each, no pivot of the recursion vanishes.
    fn articulated_inertias(&self) -> Option<Vec<f64>> {
        const EPSILON: f64 = 1e-9;
        let tree = &self.tree;
        let (mut work, q) = (Work::new(tree), neutral(tree));
        let mut mass = DMatrix::zeros(tree.n_v, tree.n_v);
        crba(tree, &mut work, &q, &mut mass).ok()?;
        let added = |v: usize| if mass[(v, v)] > 0.0 { EPSILON * mass[(v, v)] } else { 1.0 };
        let mut armature: Vec<f64> = (0..tree.n_v).map(|v| tree.armature()[v] + added(v)).collect();
        // without what was taken, which leaves no mass matrix for links without mass in line (`constraints/reduced`)
        self.armature_transfers.iter().for_each(|transfer| armature[transfer.from.0] += 2.0 * transfer.from.1);
        factor_with_armature(tree, &mut work, &q, &vec![false; tree.n_bodies()], &armature).ok()?;
        let articulated = |v: usize| {
            let i = tree.joint_of_velocity(v);
            let (inertia, _) = if tree.v_range(i).len() == 1 { work.articulated(tree, i) } else { (0.0, 0.0) };
            let articulated = inertia - added(v);
            // the recursion is off by some ε in every joint
            if articulated > 1e3 * EPSILON * mass[(v, v)] { articulated } else { 0.0 }
        };
        Some((0..tree.n_v).map(articulated).collect())
    }

    fn find_transfer(&self, constraint: usize) -> Option<ArmatureTransfer> {
        let [first, second] = self.coupled.constraints[constraint].terms[..] else { return None };
        if self.armature_transfers.iter().any(|armature_transfers| armature_transfers.constraint == constraint) {
            return None;
        }
        [(first, second), (second, first)].into_iter().find_map(|((a, c_a), (b, c_b))| {
            let r = -c_b / c_a;
            let (own, other) = (self.tree.own_inertia(a), self.tree.own_inertia(b));
            if other <= 0.0 || own * r * r > NONE * other {
                return None;
            }
            let taken = PART * self.least_inertia(b);
            let rho = taken / (r * r);
            let is_some = rho.is_finite() && rho > 0.0;
            is_some.then_some(ArmatureTransfer { constraint, coefficient: c_a, to: (a, rho), from: (b, taken) })
        })
    }

    /// The least nonzero inertia along velocity `v` and the joints towards the base.
    fn least_inertia(&self, v: usize) -> f64 {
        let tree = &self.tree;
        let mut least = tree.own_inertia(v);
        let mut i = tree.parent[tree.joint_of_velocity(v)];
        while i != 0 {
            if tree.v_range(i).len() == 1 {
                let own = tree.own_inertia(tree.v_index[i]);
                least = if own > 0.0 { least.min(own) } else { least };
            }
            i = tree.parent[i];
        }
        least
    }

    /// Removes the transfers from a mass matrix.
    pub(crate) fn without_transfers(&self, mass: &mut DMatrix<f64>) {
        for ArmatureTransfer { to, from, .. } in &self.armature_transfers {
            mass[(to.0, to.0)] -= to.1;
            mass[(from.0, from.0)] += from.1;
        }
    }

    /// Removes the transfers from the constraint forces at accelerations `a`: (2).
    pub(crate) fn remove_transferred_force(&self, a: &[f64], constraint_force: &mut [f64]) {
        for ArmatureTransfer { constraint, coefficient, to, .. } in &self.armature_transfers {
            constraint_force[*constraint] -= to.1 * a[to.0] / coefficient;
        }
    }
}

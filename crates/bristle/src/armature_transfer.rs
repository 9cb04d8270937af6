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

use crate::model::Model;
use nalgebra::DMatrix;

/// Fraction of an inertia that is transferred.
const PART: f64 = 1e-3;

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
            let Some(armature_transfers) =
                (0..self.coupled.constraints.len()).find_map(|constraint| self.find_transfer(constraint))
            else {
                return;
            };
            let ArmatureTransfer { to, from, .. } = armature_transfers;
            self.tree.shift_armature(to.0, to.1);
            self.tree.shift_armature(from.0, -from.1);
            self.armature_transfers.push(armature_transfers);
        }
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

//! Joints without inertia that a coupling ties to one that has some.
//!
//! A motor whose rotor weighs nothing, geared to an arm, has a motion: the arm's inertia resists it. The sweeps over the tree ask
//! every joint for inertia of its own. With q_a = r q_b + offset the armatures
//!
//! ```text
//! ρ on a,   −ρ r² on b          ½ ρ v_a² − ½ ρ r² v_b² = 0                                               (1)
//! ```
//!
//! add nothing to what the two feel together, so a is lent ρ by b, and nothing moves otherwise than it would. Only the tie has to pass it on,
//!
//! ```text
//! λ = λ' − ρ a_a                λ' as found with (1), for the row q_a − r q_b                              (2)
//! ```
//!
//! and mass matrices are shown without it. ρ r² is a thousandth of the least inertia along b and the joints it hangs on: enough for a, and
//! too little for b or for a light parent to miss. Ties of three and more joints cannot lend so: v_a² would bring products of the others.

use crate::compile::Compiled;
use nalgebra::DMatrix;

/// What is lent of an inertia.
const PART: f64 = 1e-3;

/// Inertia of a, r² times, below this part of that of b is none.
const NONE: f64 = 1e-12;

/// Armature that one velocity has from another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmatureTransfer {
    /// The tie between the two, and the coefficient of a in it.
    pub constraint: usize,
    /// See `tie`.
    pub coefficient: f64,
    /// Velocity a, and ρ, kg·m² or kg.
    pub to: (usize, f64),
    /// Velocity b, and ρ r².
    pub from: (usize, f64),
}

impl Compiled {
    /// Lends inertia where joints have none of their own and a tie of two leads to one that has.
    pub(crate) fn transfer_armature(&mut self) {
        loop {
            let Some(armature_transfers) =
                (0..self.coupled.constraints.len()).find_map(|constraint| self.find_transfer(constraint))
            else {
                return;
            };
            let ArmatureTransfer { to, from, .. } = armature_transfers;
            self.model.shift_armature(to.0, to.1);
            self.model.shift_armature(from.0, -from.1);
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
            let (own, other) = (self.model.own_inertia(a), self.model.own_inertia(b));
            if other <= 0.0 || own * r * r > NONE * other {
                return None;
            }
            let taken = PART * self.least_inertia(b);
            let rho = taken / (r * r);
            let is_some = rho.is_finite() && rho > 0.0;
            is_some.then_some(ArmatureTransfer { constraint, coefficient: c_a, to: (a, rho), from: (b, taken) })
        })
    }

    /// The least inertia that is any, along velocity `v` and the joints it hangs on.
    fn least_inertia(&self, v: usize) -> f64 {
        let model = &self.model;
        let mut least = model.own_inertia(v);
        let mut i = model.parent[model.joint_of_velocity(v)];
        while i != 0 {
            if model.v_range(i).len() == 1 {
                let own = model.own_inertia(model.v_index[i]);
                least = if own > 0.0 { least.min(own) } else { least };
            }
            i = model.parent[i];
        }
        least
    }

    /// Takes what was lent out of a mass matrix.
    pub(crate) fn without_transfers(&self, mass: &mut DMatrix<f64>) {
        for ArmatureTransfer { to, from, .. } in &self.armature_transfers {
            mass[(to.0, to.0)] -= to.1;
            mass[(from.0, from.0)] += from.1;
        }
    }

    /// Takes what passes through ties to those that were lent, at accelerations `a`, out of their efforts: (2).
    pub(crate) fn without_passed(&self, a: &[f64], constraint_force: &mut [f64]) {
        for ArmatureTransfer { constraint, coefficient, to, .. } in &self.armature_transfers {
            constraint_force[*constraint] -= to.1 * a[to.0] / coefficient;
        }
    }
}

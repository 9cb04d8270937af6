//! Inertia along a joint: that of its own body, and armature added to it.
//!
//! ```text
//! D_i = S_iᵀ IA_i S_i + armature_i ≥ S_iᵀ I_i S_i + armature_i
//! ```
//!
//! for a joint whose parent is at rest: bodies beyond it only add.

use crate::{Model, axis_row};

impl Model {
    /// Armature of each velocity, kg·m² or kg; `n_v`.
    pub fn armature(&self) -> &[f64] {
        &self.armature
    }

    /// Sᵀ I S + armature of the body that velocity `k` of a joint of one degree moves, kg·m² or kg, without the
    /// bodies beyond it. 0 for a free joint.
    pub fn own_inertia(&self, k: usize) -> f64 {
        let i = self.joint_of_velocity(k);
        if self.v_range(i).len() != 1 {
            return 0.0;
        }
        let axis = axis_row(self, i);
        axis.dot(&self.node[i].I.times(&axis)) + self.armature[k]
    }

    /// Adds to the armature of velocity `k`, also a negative value: for an armature transfer between coupled joints
    /// that keeps their total inertia. [`Work`](crate::Work) has to be made afterwards.
    pub fn shift_armature(&mut self, k: usize, by: f64) {
        self.armature[k] += by;
    }
}

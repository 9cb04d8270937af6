//! The coordinates of the present modes: which velocities are unknowns, and which joints are locked.

use super::archive::copy_fields;

/// See the [module](self). Follows from the modes: see [`super::Machine::lock`].
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    /// Velocities that are unknowns, in order.
    pub active: Vec<usize>,
    /// Joints that are stuck or of prescribed motion; `n_bodies`.
    pub locked: Vec<bool>,
    /// Whether any is stuck.
    pub is_stuck: bool,
    /// Contacts whose motion follows from prescribed joints.
    pub prescribed_contacts: Vec<bool>,
}

impl Coordinates {
    pub fn new(n_v: usize, n_bodies: usize, n_contacts: usize) -> Self {
        Self {
            active: (0..n_v).collect(),
            locked: vec![false; n_bodies],
            is_stuck: false,
            prescribed_contacts: vec![false; n_contacts],
        }
    }

    /// Copies those of the same machine; allocates nothing.
    pub fn copy_from(&mut self, other: &Self) {
        copy_fields!(self, other, { active, locked, is_stuck, prescribed_contacts });
    }
}

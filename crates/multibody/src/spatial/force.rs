//! Force vectors: wrenches, reactions, momenta.

use super::V3;
use super::six::six_vector;
use nalgebra::Vector3;

/// A spatial force: moment about the frame's origin, and force. Also a momentum: angular and linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Force {
    pub(crate) moment: V3,
    pub(crate) force: V3,
}

six_vector!(Force, moment, force, "Moment about the origin, N·m.", "Force, N.");

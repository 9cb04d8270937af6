//! Force vectors: wrenches, reactions, momenta.

use super::six::six_vector;
use super::{Scalar, V3};
use nalgebra::Vector3;

/// A spatial force: moment about the frame's origin, and force. Also a momentum: angular and linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Force<S: Scalar = f64> {
    pub(crate) moment: V3<S>,
    pub(crate) force: V3<S>,
}

six_vector!(Force, moment, force, "Moment about the origin, N·m.", "Force, N.");

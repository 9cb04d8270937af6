//! Saturation: a demand u that acts up to a bound B, and the limit of the effort of a joint.
//!
//! ```text
//! regime 0      u acts                   event:  B − |u| + θ falls through 0
//! regime ±1     ±B acts                  event:  ±u − B + θ falls through 0            θ = 1e-10 B
//! ```
//!
//! Under error control the corners are located, and the effort follows the branch of its regime, a little beyond the
//! corner. In fixed steps the demand is clamped at each evaluation.
//!
//! **Effort limit of a joint.** u is the effort of its drive and of the caller together. Springs, dampers, friction and
//! the constant `offset` of the joint do not pass through its actuator, and are not limited.

/// θ relative to the bound.
const CORNER: f64 = 1e-10;

/// The regime that belongs to a demand.
pub(crate) fn regime_of(demand: f64, bound: f64) -> f64 {
    if demand > bound {
        1.0
    } else if demand < -bound {
        -1.0
    } else {
        0.0
    }
}

/// The event function of a regime.
pub(crate) fn corner(regime: f64, demand: f64, bound: f64) -> f64 {
    if bound <= 0.0 || !bound.is_finite() {
        return 1.0;
    }
    let inside = if regime == 0.0 { bound - demand.abs() } else { regime * demand - bound };
    inside + CORNER * bound
}

/// The limit of the effort of drive and caller on one joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffortLimitAt {
    /// Joint it belongs to.
    pub joint: usize,
    /// Its velocity.
    pub v: usize,
    /// B, N·m or N.
    pub limit: f64,
    /// The drive of the joint.
    pub drive: Option<usize>,
    /// The integral of that drive.
    pub(crate) integral: Option<usize>,
}

impl EffortLimitAt {
    /// The effort that acts: that of the regime in force, or the clamped demand where corners are not located.
    pub(crate) fn acting(&self, demand: f64, regime: Option<f64>) -> f64 {
        match regime.unwrap_or_else(|| regime_of(demand, self.limit)) {
            0.0 => demand,
            regime => regime * self.limit,
        }
    }
}

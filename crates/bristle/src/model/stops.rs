//! Stops at the ends of a joint's range.
//!
//! ```text
//! g = q − lower ≥ 0,     g = upper − q ≥ 0
//! ```
//!
//! A stop acts on the coordinate of its joint alone, by an effort that points into the range. It does not load the
//! bearing of the joint.

use bristle_friction::Mode;

/// The two stops of a joint. A bound that does not exist is infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stops {
    /// Smallest position, rad or m.
    pub lower: f64,
    /// Largest position, rad or m.
    pub upper: f64,
    /// Newton's restitution e, from 0 to 1: the speed after an impact is e times that before.
    pub restitution: f64,
    /// Whether the contact has the stops alone: its joint has no friction with modes.
    pub is_alone: bool,
}

/// One end of the range of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The smallest position.
    Lower,
    /// The largest position.
    Upper,
}

impl End {
    /// Both ends, in the order of arrays over them.
    pub const BOTH: [Self; 2] = [Self::Lower, Self::Upper];

    /// d: the direction into the range, +1 or −1.
    pub fn inward(self) -> f64 {
        if self == Self::Lower { 1.0 } else { -1.0 }
    }
}

impl Stops {
    /// The bound at an end.
    pub fn bound(&self, end: End) -> f64 {
        if end == End::Lower { self.lower } else { self.upper }
    }

    /// The gap g at an end.
    pub fn gap(&self, end: End, q: f64) -> f64 {
        if end == End::Lower { q - self.lower } else { self.upper - q }
    }

    /// The ends that exist.
    pub fn ends(&self) -> impl Iterator<Item = End> + use<> {
        let stops = *self;
        End::BOTH.into_iter().filter(move |&end| stops.bound(end).is_finite())
    }

    /// Magnitude of the bounds: the scale of rounding errors of a gap.
    pub fn size(&self) -> f64 {
        self.ends().fold(0.0, |most, end| f64::max(most, self.bound(end).abs()))
    }

    /// Rounding error of a gap, rad or m: two of its larger bound.
    pub fn rounding(&self) -> f64 {
        2.0 * f64::EPSILON * self.size()
    }
}

/// Limits of the effort of a contact at rest, against forward and against backward motion, with a closed stop at
/// `end`: the one against motion out of the range is infinite.
pub fn with_stop(limits: [f64; 2], end: Option<End>) -> [f64; 2] {
    match end {
        None => limits,
        Some(End::Lower) => [limits[0], f64::INFINITY],
        Some(End::Upper) => [f64::INFINITY, limits[1]],
    }
}

/// An impact on a stop, the end of a sequence of them, or a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopChange {
    /// Index of the contact.
    pub contact: usize,
    /// The end of the range.
    pub end: End,
    /// Whether it is a release.
    pub is_release: bool,
    /// Direction of motion before and after.
    pub from: Mode,
    /// See `from`.
    pub to: Mode,
}

impl Default for StopChange {
    fn default() -> Self {
        Self { contact: 0, end: End::Lower, is_release: false, from: Mode::Stuck, to: Mode::Stuck }
    }
}

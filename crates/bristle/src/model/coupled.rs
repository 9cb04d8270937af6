//! Couplings in flat arrays: rows on joint coordinates.
//!
//! | coupling | row | |
//! |---|---|---|
//! | `Gear` | q_a − ratio q_b = offset | constraint |
//! | `Planetary` | ω_s + ratio ω_r − (1 + ratio) ω_c = 0 | constraint; the initial positions give the offset |
//! | `Linear` | Σ c q = offset | constraint |
//! | `SpringDamper` | q_a − q_b | spring, damper |
//! | `Clutch`, `OneWayClutch` | q_a − q_b | contact |
//! | `Brake` | q_a | contact |
//!
//! | loop joint | frame of one link = frame of another | closure: rows that depend on the configuration |
//!
//! Couplings are in order of their names, whatever the order in which they were spawned.

use crate::model::Model;
use bristle_multibody::{Error, JointKind, Placement, Poses};

/// A closure of a loop: a frame of body b coincides with a frame of body a, or its origin does.
#[derive(Debug, Clone, PartialEq)]
pub struct Closure {
    /// Name of the loop joint.
    pub name: String,
    /// Bodies a and b; 0 is the world.
    pub bodies: [usize; 2],
    /// The frames, in the user's link axes.
    pub placements: [Placement; 2],
    /// Whether only the origins coincide.
    pub is_point: bool,
    /// Velocity of the joint between the first link and a massless frame, body a, if the loop joint has a coordinate.
    pub v: Option<usize>,
}

impl Closure {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        if self.is_point { 3 } else { 6 }
    }

    /// Component of the relative velocity (angular first, world axes) in row `k`.
    pub(crate) fn component(&self, k: usize) -> usize {
        if self.is_point { 3 + k } else { k }
    }

    /// Whether a free joint lies between both links, so that the closure acts on it.
    pub(crate) fn moves_free(&self, model: &Model) -> bool {
        let kind = |v: usize| model.tree.kinds[model.joint_of[v]];
        model.tree.velocities_between(self.bodies).into_iter().any(|v| kind(v) == JointKind::Free)
    }

    /// Both frames in the world.
    pub(crate) fn frames(&self, model: &Model, poses: &Poses) -> Result<[Placement; 2], Error> {
        let [a, b] = self.bodies;
        Ok([poses.link(&model.tree, a)? * self.placements[0], poses.link(&model.tree, b)? * self.placements[1]])
    }
}

/// A holonomic constraint Σ cᵢ qᵢ = offset.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintRow {
    /// Index of the coupling.
    pub element: usize,
    /// Velocities and their coefficients, in the order of the coupling.
    pub terms: Vec<(usize, f64)>,
    /// Right-hand side; `None` where the initial positions determine it.
    pub offset: Option<f64>,
}

/// A spring and a damper on q_a − q_b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringDamperAt {
    /// Index of the coupling.
    pub element: usize,
    /// Velocities of a and b.
    pub a: usize,
    /// See `a`.
    pub b: usize,
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// N·m·s/rad or N·s/m.
    pub damping: f64,
    /// q_a − q_b at which the spring is slack.
    pub rest: f64,
}

impl SpringDamperAt {
    /// Effort on a towards b, with positions and velocities by velocity index.
    pub fn effort(&self, q: &[f64], v: &[f64]) -> f64 {
        self.stiffness * (q[self.a] - q[self.b] - self.rest) + self.damping * (v[self.a] - v[self.b])
    }
}

/// The couplings of a world.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coupled {
    /// Names of all couplings.
    pub names: Vec<String>,
    /// The constraints.
    pub constraints: Vec<ConstraintRow>,
    /// Springs and dampers between joints.
    pub springs: Vec<SpringDamperAt>,
    /// Closures of loops, in order of their names.
    pub closures: Vec<Closure>,
}

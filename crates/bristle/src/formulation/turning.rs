//! Which turning joints can change the load of a stuck contact without any acceleration to tell of it.
//!
//! A load that follows the sine of an angle which moves at constant speed is invisible to error control, so that steps
//! are bounded by the turn of such angles while a contact is stuck. An angle counts if
//!
//! - it belongs to the same **part** of the machine: branches of the tree meet in the world, which does not move, so
//!   that they do not feel each other unless a coupling joins them; and
//! - its position is **felt** at all: not that of a balanced rotor, nor of a joint that turns a whole branch under
//!   gravity ([`bristle_multibody::unfelt`]).

use crate::compile::Compiled;
use bristle_multibody::{Unfelt, branches, unfelt};

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Turning {
    /// Number of parts, and the part of each velocity.
    pub n_parts: usize,
    pub part_of: Vec<usize>,
    /// Whether each velocity is angular, and why its position is not felt, if it is not.
    turns: Vec<(bool, Option<Unfelt>)>,
}

impl Turning {
    pub fn new(compiled: &Compiled) -> Self {
        let (model, branch) = (&compiled.model, branches(&compiled.model));
        let body = |v: usize| model.joint_of_velocity(v);
        // branches that couplings join, by the first of them
        let mut first = branch.clone();
        let mut join = |a: usize, b: usize| {
            let (a, b) = (first[body(a)], first[body(b)]);
            first.iter_mut().filter(|first| **first == a.max(b)).for_each(|first| *first = a.min(b));
        };
        for constraint in &compiled.coupled.constraints {
            constraint.terms.windows(2).for_each(|pair| join(pair[0].0, pair[1].0));
        }
        compiled.coupled.springs.iter().for_each(|spring| join(spring.a, spring.b));
        compiled.contacts.iter().filter_map(|contact| Some((contact.v, contact.b?))).for_each(|(a, b)| join(a, b));
        let mut parts: Vec<usize> = (0..model.n_v).map(|v| first[body(v)]).collect();
        parts.sort_unstable();
        parts.dedup();
        let part_of = (0..model.n_v).map(|v| parts.binary_search(&first[body(v)]).unwrap_or(0));
        let turns = (0..model.n_v).map(|v| (model.turns(v), unfelt(model, body(v))));
        Self { n_parts: parts.len(), part_of: part_of.collect(), turns: turns.collect() }
    }

    /// Whether the angle of velocity `v` is felt by others of its part, wrenches from outside acting or not.
    pub fn is_felt(&self, v: usize, has_wrenches: bool) -> bool {
        match self.turns[v] {
            (turns, None) => turns,
            (turns, Some(Unfelt::Balanced)) => turns && has_wrenches,
            (_, Some(Unfelt::Whole)) => false,
        }
    }
}

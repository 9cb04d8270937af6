//! Rotating joints that change the load of a stuck contact without a change of any acceleration.
//!
//! Error control does not see a load that follows the sine of an angle at constant speed. While a contact is stuck, the
//! rotation of such angles therefore bounds the step. An angle matters if
//!
//! - it belongs to the same **part** of the machine: branches of the tree meet in the world, which does not move, so
//!   that they do not affect each other unless a coupling joins them; and
//! - the dynamics **depend** on it: they do not on the angle of a balanced rotor, nor on that of a joint which carries
//!   a whole branch and leaves the direction of gravity unchanged ([`bristle_multibody::ignorable`]).

use super::Contact;
use crate::model::coupled::Coupled;
use bristle_multibody::{Ignorable, Model as Tree, branches, ignorable};

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Turning {
    /// Number of parts, and the part of each velocity.
    pub n_parts: usize,
    pub part_of: Vec<usize>,
    /// Whether each velocity is angular, and the reason why the dynamics do not depend on its position, if they do not.
    turns: Vec<(bool, Option<Ignorable>)>,
}

impl Turning {
    pub fn new(tree: &Tree, coupled: &Coupled, contacts: &[Contact]) -> Self {
        let branch = branches(tree);
        let body = |v: usize| tree.joint_of_velocity(v);
        // branches joined by couplings, represented by the first of them
        let mut first = branch.clone();
        let mut join = |a: usize, b: usize| {
            let (a, b) = (first[body(a)], first[body(b)]);
            first.iter_mut().filter(|first| **first == a.max(b)).for_each(|first| *first = a.min(b));
        };
        for constraint in &coupled.constraints {
            constraint.terms.windows(2).for_each(|pair| join(pair[0].0, pair[1].0));
        }
        let moved = |body: usize| tree.v_range(body).next();
        for closure in &coupled.closures {
            let ends = closure.bodies.map(|mut body| {
                // the joint next to the link that moves, towards the base
                while body != 0 && moved(body).is_none() {
                    body = tree.parent[body];
                }
                moved(body).filter(|_| body != 0)
            });
            if let [Some(a), Some(b)] = ends {
                join(a, b);
            }
        }
        coupled.springs.iter().for_each(|spring| join(spring.a, spring.b));
        contacts.iter().filter_map(|contact| Some((contact.v, contact.b?))).for_each(|(a, b)| join(a, b));
        let mut parts: Vec<usize> = (0..tree.n_v).map(|v| first[body(v)]).collect();
        parts.sort_unstable();
        parts.dedup();
        let part_of = (0..tree.n_v).map(|v| parts.binary_search(&first[body(v)]).unwrap_or(0));
        let turns = (0..tree.n_v).map(|v| (tree.turns(v), ignorable(tree, body(v))));
        Self { n_parts: parts.len(), part_of: part_of.collect(), turns: turns.collect() }
    }

    /// Whether the dynamics of its part depend on the angle of velocity `v`, with or without external wrenches.
    pub fn affects_dynamics(&self, v: usize, has_wrenches: bool) -> bool {
        match self.turns[v] {
            (turns, None) => turns,
            (turns, Some(Ignorable::Balanced)) => turns && has_wrenches,
            (_, Some(Ignorable::Whole)) => false,
        }
    }
}

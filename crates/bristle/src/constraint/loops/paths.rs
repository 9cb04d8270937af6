//! The joints between two links of a tree.

use crate::model::Model;

/// The last body on the way from the base to both.
pub(super) fn top(model: &Model, [mut a, mut b]: [usize; 2]) -> usize {
    while a != b {
        // parents come before their children
        if a > b {
            a = model.tree.parent[a];
        } else {
            b = model.tree.parent[b];
        }
    }
    a
}

/// Velocities of the joints between two links, in order: on the way from the base to one of them alone.
pub(crate) fn between(model: &Model, bodies: [usize; 2]) -> Vec<usize> {
    let tree = &model.tree;
    let is_above = |joint: usize, mut body: usize| {
        while body > joint {
            body = tree.parent[body];
        }
        body == joint
    };
    let is_between = |&joint: &usize| is_above(joint, bodies[0]) != is_above(joint, bodies[1]);
    (1..tree.n_bodies()).filter(is_between).flat_map(|joint| tree.v_range(joint)).collect()
}

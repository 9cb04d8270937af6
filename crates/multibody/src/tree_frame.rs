//! One frame for each tree: axes of the world, origin at the first joint that moves.
//!
//! Seen from there, what the bodies beyond a joint have in common is a plain sum, and what is passed along a branch is
//! not transformed on the way: a pair of related joints costs a product of six numbers with six. A force about that
//! origin has a moment that grows with the distance ρ: beside moments of size n at the joint, those of rounding are
//! ε ρ f. Whatever is divided by (pivots) is therefore computed in link coordinates.
//!
//! Numbers of consecutive degrees of freedom stand side by side in groups of four, and consecutive bodies that are each
//! the child of the one before, a **run**, are visited together.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::model::Model;
use crate::spatial::{Force, Motion, Pack4, Scalar, Transform};
use crate::work::Link;
use std::ops::Range;

/// `N` numbers of four consecutive degrees of freedom, or rows.
pub(crate) type Group<const N: usize> = [[f64; 4]; N];

/// Number of groups for `n` degrees of freedom.
pub(crate) fn n_groups(n: usize) -> usize {
    n.div_ceil(4)
}

/// Writes the numbers of degree of freedom `k`.
#[inline(always)]
pub(crate) fn put<const N: usize>(groups: &mut [Group<N>], k: usize, x: [f64; N]) {
    let group = &mut groups[k / 4];
    for (lanes, x) in group.iter_mut().zip(x) {
        lanes[k % 4] = x;
    }
}

/// The products of `c` with the numbers of four degrees of freedom.
#[inline(always)]
pub(crate) fn products<const N: usize>(c: &[Pack4; N], x: &Group<N>) -> Pack4 {
    let mut sum = c[0] * Pack4::new(x[0]);
    for k in 1..N {
        sum = c[k].times_add(Pack4::new(x[k]), sum);
    }
    sum
}

/// The same number in every lane.
#[inline(always)]
pub(crate) fn splat<const N: usize>(c: [f64; N]) -> [Pack4; N] {
    c.map(Pack4::splat)
}

/// Visits the groups that hold `range`: index of the group, and which of its lanes belong to it.
#[inline(always)]
pub(crate) fn each_group(range: Range<usize>, mut visit: impl FnMut(usize, Range<usize>)) {
    let mut k = range.start;
    while k < range.end {
        let (group, first) = (k / 4, k % 4);
        let last = (first + range.end - k).min(4);
        visit(group, first..last);
        k += last - first;
    }
}

/// Writes the lanes `lanes` of group `group` to entries of these numbers.
#[inline(always)]
pub(crate) fn write(x: Pack4, group: usize, lanes: Range<usize>, to: &mut [f64]) {
    if lanes.len() == 4 {
        x.write(&mut to[4 * group..]);
    } else {
        let to = &mut to[4 * group + lanes.start..4 * group + lanes.end];
        to.iter_mut().zip(lanes).for_each(|(to, lane)| *to = x.lane(lane));
    }
}

/// Writes the lanes `lanes` of group `group` to entries `stride` apart.
#[inline(always)]
pub(crate) fn write_apart(x: Pack4, group: usize, lanes: Range<usize>, to: &mut [f64], stride: usize) {
    for lane in lanes {
        to[(4 * group + lane) * stride] = x.lane(lane);
    }
}

/// Frames of the links in that of their tree, and the shape of the tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeFrames {
    /// From the tree's coordinates to those of the link; `n_bodies`.
    pub X: Vec<Transform>,
    /// First body of the run that each body belongs to; `n_bodies`.
    run: Vec<usize>,
    /// Trees that begin with fixed joints: the first body that moves, and all bodies.
    fixed_at_base: Vec<(usize, Vec<usize>)>,
}

impl TreeFrames {
    pub fn new(model: &Model) -> Self {
        let mut run: Vec<usize> = (0..model.n_bodies()).collect();
        for i in 2..model.n_bodies() {
            if model.parent[i] == i - 1 {
                run[i] = run[i - 1];
            }
        }
        let mut root: Vec<usize> = (0..model.n_bodies()).collect();
        for i in 1..model.n_bodies() {
            if model.parent[i] != 0 {
                root[i] = root[model.parent[i]];
            }
        }
        let fixed = |i: usize| model.v_range(i).is_empty();
        let fixed_at_base = (1..model.n_bodies()).filter(|&i| root[i] == i && fixed(i)).filter_map(|i| {
            let bodies: Vec<usize> = (i..model.n_bodies()).filter(|&k| root[k] == i).collect();
            Some((bodies.iter().copied().find(|&k| !fixed(k))?, bodies))
        });
        let fixed_at_base = fixed_at_base.collect();
        Self { X: vec![Transform::IDENTITY; model.n_bodies()], run, fixed_at_base }
    }

    /// Places the links by the transforms between them.
    pub fn place(&mut self, model: &Model, link: &[Link]) {
        for (i, node) in model.node.iter().enumerate().skip(1) {
            let X = &link[i].X;
            self.X[i] = if node.parent == 0 { X.without_translation() } else { X.after(&self.X[node.parent]) };
        }
        // from the origin outwards again, so that small offsets are never beside large ones
        for (first, bodies) in &self.fixed_at_base {
            let origin = self.X[*first].r;
            for &i in bodies {
                let above = &self.X[model.parent[i]];
                self.X[i].r = if model.parent[i] == 0 { -origin } else { above.Et.on_add(link[i].X.r, above.r) };
            }
        }
    }

    /// The runs from body `i` to the base: the first body of each and the last, which is on the way.
    #[inline(always)]
    pub fn runs_from<'a>(&'a self, model: &'a Model, i: usize) -> impl Iterator<Item = (usize, usize)> + 'a {
        let mut last = i;
        std::iter::from_fn(move || {
            (last != 0).then(|| {
                let (first, end) = (self.run[last], last);
                last = model.parent[first];
                (first, end)
            })
        })
    }

    /// A motion in the tree's coordinates.
    #[inline(always)]
    pub fn motion(&self, i: usize, m: &Motion) -> Motion {
        self.X[i].motion_back(m)
    }

    /// A force in the tree's coordinates.
    #[inline(always)]
    pub fn force(&self, i: usize, f: &Force) -> Force {
        self.X[i].force_back(f)
    }
}

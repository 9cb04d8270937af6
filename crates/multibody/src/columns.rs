//! M⁻¹ on many right-hand sides: the two sweeps of [`crate::solve`] with four columns in the four lanes.
//!
//! ```text
//! u = b − Sᵀ pA,   pA_p += Xᵀ (pA + U D⁻¹ u)                     tips to base
//! δ' = X δ_p,   x = D⁻¹ (u − Uᵀ δ'),   δ = δ' + S x              base to tips
//! ```
//!
//! Here a lane is a column of a matrix and a spatial vector is six registers: nothing is shuffled, nothing is padded.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite};
use crate::joint::Kernel;
use crate::model::{Model, Node};
use crate::spatial::{Force, Four, M3, Transform, V3};
use crate::work::{Pivot, Work};
use nalgebra::{DMatrix, Vector6};

/// Three, or six, numbers of four columns.
type Three = [Four; 3];
type Six = [Three; 2];

const NOTHING: Six = [[Four::ZERO; 3]; 2];

/// What four columns need on their way.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// Forces, then accelerations, of each body; `n_bodies`.
    pA: Vec<Six>,
    /// Right-hand sides, then solutions; `n_v`.
    b: Vec<Four>,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        Self { pA: vec![NOTHING; model.n_bodies()], b: vec![Four::ZERO; model.n_v] }
    }
}

/// Replaces every column b of `B` (`n_v` rows) by M⁻¹ b, with the pivots that `work` holds.
pub(crate) fn solve_columns(model: &Model, work: &mut Work, B: &mut DMatrix<f64>) -> Result<(), Error> {
    let n = model.n_v;
    if n == 0 {
        return Ok(());
    }
    let mut scratch = std::mem::take(&mut work.columns.b);
    for part in B.as_mut_slice().chunks_mut(4 * n) {
        // four columns side by side; the last part may hold fewer
        for (k, b) in scratch.iter_mut().enumerate() {
            *b = Four::new(std::array::from_fn(|lane| part.get(lane * n + k).copied().unwrap_or(0.0)));
        }
        solve_four(model, work, &mut scratch);
        for (lane, column) in part.chunks_mut(n).enumerate() {
            column.iter_mut().zip(&scratch).for_each(|(entry, x)| *entry = x.lane(lane));
        }
    }
    work.columns.b = scratch;
    check_finite("solve", B.as_slice())
}

fn solve_four(model: &Model, work: &mut Work, b: &mut [Four]) {
    work.columns.pA.fill(NOTHING);
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        let (above, below) = work.columns.pA.split_at_mut(i);
        let passed = reduce(node, work.locked[i], &work.pivot[i], below[0], b);
        if node.parent != 0 {
            add(&mut above[node.parent], &force_back(&work.link[i].X, &passed));
        }
    }
    work.columns.pA[0] = NOTHING;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.columns.pA.split_at_mut(i);
        let mut delta = motion(&work.link[i].X, &above[node.parent]);
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => {
                let x = &mut b[node.v..node.v + 6];
                match &work.free_pivot[i] {
                    Some(factor) if !work.locked[i] => {
                        for lane in 0..4 {
                            let solved = factor.solve(&Vector6::from_fn(|k, _| x[k].lane(lane)));
                            x.iter_mut().zip(solved.iter()).for_each(|(x, s)| x.set_lane(lane, *s));
                        }
                        x.iter_mut().zip(delta.as_flattened()).for_each(|(x, felt)| *x = *x - *felt);
                    }
                    _ => x.fill(Four::ZERO),
                }
                delta.as_flattened_mut().iter_mut().zip(&*x).for_each(|(delta, x)| *delta = *delta + *x);
            }
            Kernel::Revolute | Kernel::Prismatic => {
                let Pivot { U: Force { moment, force }, D_inv } = work.pivot[i];
                let felt = dot(moment, &delta[0], dot(force, &delta[1], Four::ZERO));
                let x = (b[node.v] - felt) * D_inv;
                let along = &mut delta[usize::from(node.kernel == Kernel::Prismatic)][2];
                *along = *along + x;
                b[node.v] = x;
            }
        }
        below[0] = delta;
    }
}

/// `u` into `b`, and what the parent feels.
#[inline(always)]
fn reduce(node: &Node, locked: bool, pivot: &Pivot, pA: Six, b: &mut [Four]) -> Six {
    match node.kernel {
        Kernel::Free if !locked => {
            let b = &mut b[node.v..node.v + 6];
            let tau = [[b[0], b[1], b[2]], [b[3], b[4], b[5]]];
            b.iter_mut().zip(pA.as_flattened()).for_each(|(b, pA)| *b = *b - *pA);
            tau
        }
        Kernel::Fixed | Kernel::Free => pA,
        Kernel::Revolute | Kernel::Prismatic => {
            let u = b[node.v] - pA[usize::from(node.kernel == Kernel::Prismatic)][2];
            b[node.v] = u;
            let w = u * pivot.D_inv;
            let (n, f) = (pivot.U.moment, pivot.U.force);
            [std::array::from_fn(|k| w.scale_add(n[k], pA[0][k])), std::array::from_fn(|k| w.scale_add(f[k], pA[1][k]))]
        }
    }
}

#[inline(always)]
fn add(sum: &mut Six, f: &Six) {
    sum.as_flattened_mut().iter_mut().zip(f.as_flattened()).for_each(|(sum, f)| *sum = *sum + *f);
}

/// `a·x + c`, with a the same for all columns.
#[inline(always)]
fn dot(a: V3, x: &Three, c: Four) -> Four {
    x[0].scale_add(a[0], x[1].scale_add(a[1], x[2].scale_add(a[2], c)))
}

/// `A x`.
#[inline(always)]
fn on(A: &M3, x: &Three) -> Three {
    let [a, b, c] = &A.0;
    std::array::from_fn(|k| x[0].scale_add(a[k], x[1].scale_add(b[k], x[2] * c[k])))
}

/// `c + r × x`.
#[inline(always)]
fn add_cross(c: &Three, r: V3, x: &Three) -> Three {
    [
        x[2].scale_add(r[1], x[1].scale_add(-r[2], c[0])),
        x[0].scale_add(r[2], x[2].scale_add(-r[0], c[1])),
        x[1].scale_add(r[0], x[0].scale_add(-r[1], c[2])),
    ]
}

/// `X m`.
#[inline(always)]
fn motion(X: &Transform, m: &Six) -> Six {
    [on(&X.E, &m[0]), on(&X.E, &add_cross(&m[1], -X.r, &m[0]))]
}

/// `Xᵀ f`.
#[inline(always)]
fn force_back(X: &Transform, f: &Six) -> Six {
    let force = on(&X.Et, &f[1]);
    [add_cross(&on(&X.Et, &f[0]), X.r, &force), force]
}

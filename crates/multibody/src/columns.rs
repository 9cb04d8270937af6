//! M⁻¹ on many right-hand sides: the two sweeps of [`crate::solve`] with a column of a matrix in each lane.
//!
//! ```text
//! u = b − Sᵀ pA,   pA_p += pA + (U D⁻¹) u          tips to base
//! x = D⁻¹ u − (D⁻¹ Uᵀ) δ_p,   δ = δ_p + S x        base to tips
//! ```
//!
//! in the [frame of the tree](crate::tree_frame): a spatial vector is six registers, and nothing is transformed. What a
//! body passes to the next before it, its parent, stays in registers. M_P⁻¹ (see [`crate::factor_rows`]) differs in the
//! component of a force, P for S, and of a motion, W for U.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite};
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{Force, M3, Motion, Pack, Scalar, Transform, V3};
use crate::tree_frame::TreeFrames;
use crate::work::Work;
use nalgebra::{Cholesky, DMatrix, LU, U6, Vector6};

/// Registers of four columns that are under way at once.
const REGISTERS: usize = 2;
/// Columns that are under way at once.
const LANES: usize = 4 * REGISTERS;

type Columns = Pack<REGISTERS>;
/// Three, or six, numbers of each column.
type Three = [Columns; 3];
type Six = [Columns; 6];

const NOTHING: Six = [Columns::ZERO; 6];

/// A joint of one degree in the frame of its tree. Each sweep waits for one product of six numbers with six and six
/// products after the other: signs and D⁻¹ are in the factors.
#[derive(Debug, Clone, Copy)]
struct Joint {
    S: [f64; 6],
    /// U D⁻¹.
    U: [f64; 6],
    /// −S, or −P.
    P: [f64; 6],
    /// −D⁻¹ U, or −D⁻¹ W.
    W: [f64; 6],
    D_inv: f64,
}

impl Joint {
    const NONE: Self = Self { S: [0.0; 6], U: [0.0; 6], P: [0.0; 6], W: [0.0; 6], D_inv: 0.0 };

    #[inline(always)]
    fn new(S: Motion, U: Force, P: Motion, W: Force, D_inv: f64) -> Self {
        let (U, P, W) = ((U * D_inv).to_array(), (-P).to_array(), (W * -D_inv).to_array());
        Self { S: S.to_array(), U, P, W, D_inv }
    }
}

/// What the columns of a matrix are before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sides {
    /// Right-hand sides with the opposite sign.
    Negative,
    /// Anything: those of the identity are meant.
    Identity,
}

/// Scratch of some columns.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    joint: Vec<Joint>,
    /// Whether a child of the body is not the next body.
    branches: Vec<bool>,
    /// Forces, then accelerations, of bodies that branch; `n_bodies`.
    pA: Vec<Six>,
    /// Right-hand sides, then solutions; `n_v`.
    b: Vec<Columns>,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        let mut branches = vec![false; model.n_bodies()];
        for i in 1..model.n_bodies() {
            branches[model.parent[i]] |= model.parent[i] != i - 1;
        }
        Self {
            joint: vec![Joint::NONE; model.n_bodies()],
            branches,
            pA: vec![NOTHING; model.n_bodies()],
            b: vec![Columns::ZERO; model.n_v],
        }
    }
}

/// The factors of free joints.
trait FreeJoints {
    /// Whether a free joint may move.
    fn moves(&self, i: usize) -> bool;
    /// Its acceleration under a force.
    fn solve(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>>;
}

/// Those of `aba` and `factor`.
struct Plain<'a> {
    free: &'a [Option<Cholesky<f64, U6>>],
    locked: &'a [bool],
}

impl FreeJoints for Plain<'_> {
    fn moves(&self, i: usize) -> bool {
        !self.locked[i]
    }

    fn solve(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>> {
        self.free[i].as_ref().map(|factor| factor.solve(u))
    }
}

/// Those of `factor_rows`.
struct Loaded<'a>(&'a [Option<LU<f64, U6, U6>>]);

impl FreeJoints for Loaded<'_> {
    fn moves(&self, i: usize) -> bool {
        self.0[i].is_some()
    }

    fn solve(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>> {
        self.0[i].as_ref().and_then(|factor| factor.solve(u))
    }
}

/// Replaces every column b of each matrix (`n_v` rows) by M⁻¹ b, with the pivots of `aba` or `factor` and the frames of
/// the trees that `work` holds.
pub(crate) fn solve_columns(model: &Model, work: &mut Work, B: [(&mut DMatrix<f64>, Sides); 3]) -> Result<(), Error> {
    let Work { pivot, free_pivot, locked, frames, columns, .. } = work;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        if node.kernel.n_v() == 1 {
            let (S, U) = (frames.motion(i, &node.kernel.axis(0)), frames.force(i, &pivot[i].U));
            columns.joint[i] = Joint::new(S, U, S, U, pivot[i].D_inv);
        }
    }
    solve_with(model, frames, columns, &Plain { free: free_pivot, locked }, B)
}

/// Replaces every column b of each matrix (`n_v` rows) by M_P⁻¹ b, with the pivots of `factor_rows` and the frames of
/// the trees that `work` holds.
pub(crate) fn solve_columns_rows(
    model: &Model,
    work: &mut Work,
    B: [(&mut DMatrix<f64>, Sides); 3],
) -> Result<(), Error> {
    let Work { rows, frames, columns, .. } = work;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        if node.kernel.n_v() == 1 {
            let pivot = &rows.pivot[i];
            let (S, P) = (frames.motion(i, &node.kernel.axis(0)), frames.motion(i, &pivot.P));
            let (U, W) = (frames.force(i, &pivot.U), frames.force(i, &pivot.W));
            columns.joint[i] = Joint::new(S, U, P, W, pivot.D_inv);
        }
    }
    solve_with(model, frames, columns, &Loaded(&rows.free), B)
}

fn solve_with(
    model: &Model,
    frames: &TreeFrames,
    scratch: &mut Scratch,
    free: &impl FreeJoints,
    matrices: [(&mut DMatrix<f64>, Sides); 3],
) -> Result<(), Error> {
    let n = model.n_v;
    if n == 0 {
        return Ok(());
    }
    for (B, sides) in matrices {
        for (first, part) in B.as_mut_slice().chunks_mut(LANES * n).enumerate() {
            // columns side by side; the last part may hold fewer
            match sides {
                Sides::Identity => {
                    scratch.b.fill(Columns::ZERO);
                    let diagonal = scratch.b[LANES * first..].iter_mut().take(LANES);
                    diagonal.enumerate().for_each(|(lane, b)| b.set_lane(lane, 1.0));
                }
                Sides::Negative if part.len() == LANES * n => {
                    let columns: [&[f64]; LANES] = std::array::from_fn(|lane| &part[lane * n..(lane + 1) * n]);
                    for (k, b) in scratch.b.iter_mut().enumerate() {
                        *b = -Columns::from_lanes(|lane| columns[lane][k]);
                    }
                }
                Sides::Negative => {
                    for (k, b) in scratch.b.iter_mut().enumerate() {
                        *b = -Columns::from_lanes(|lane| part.get(lane * n + k).copied().unwrap_or(0.0));
                    }
                }
            }
            solve_lanes(model, frames, scratch, free);
            for (lane, column) in part.chunks_mut(n).enumerate() {
                column.iter_mut().zip(&scratch.b).for_each(|(entry, x)| *entry = x.lane(lane));
            }
        }
        check_finite("solve", B.as_slice())?;
    }
    Ok(())
}

fn solve_lanes(model: &Model, frames: &TreeFrames, scratch: &mut Scratch, free: &impl FreeJoints) {
    let Scratch { joint, branches, pA: stored, b } = scratch;
    stored.iter_mut().zip(&*branches).for_each(|(pA, branches)| {
        if *branches {
            *pA = NOTHING;
        }
    });
    // what the body before receives
    let mut passed = NOTHING;
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        let mut pA = std::mem::replace(&mut passed, NOTHING);
        if branches[i] {
            add(&mut pA, &stored[i]);
        }
        match node.kernel {
            Kernel::Free if free.moves(i) => pass_through_free(&frames.X[i], &mut b[node.v..], &mut pA),
            Kernel::Fixed | Kernel::Free => {}
            Kernel::Revolute | Kernel::Prismatic => {
                let Joint { P, U, D_inv, .. } = &joint[i];
                let u = plus(b[node.v], P, &pA);
                b[node.v] = u * *D_inv;
                add_scaled(&mut pA, U, u);
            }
        }
        if node.parent + 1 == i {
            passed = pA;
        } else if node.parent != 0 {
            add(&mut stored[node.parent], &pA);
        }
    }
    // the acceleration of the body before
    let mut before = NOTHING;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let mut delta = match node.parent {
            0 => NOTHING,
            p if p + 1 == i => before,
            p => stored[p],
        };
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free if free.moves(i) => {
                move_free(&frames.X[i], free, i, &mut b[node.v..node.v + 6], &mut delta);
            }
            Kernel::Free => b[node.v..node.v + 6].fill(Columns::ZERO),
            Kernel::Revolute | Kernel::Prismatic => {
                let Joint { S, W, .. } = &joint[i];
                let x = plus(b[node.v], W, &delta);
                b[node.v] = x;
                add_scaled(&mut delta, S, x);
            }
        }
        if branches[i] {
            stored[i] = delta;
        }
        before = delta;
    }
}

/// A free joint passes the effort itself; the force on it is left in `b`, link coordinates.
fn pass_through_free(X: &Transform, b: &mut [Columns], pA: &mut Six) {
    let b = &mut b[..6];
    let effort: Six = std::array::from_fn(|k| b[k]);
    let (moment, force) = halves(pA);
    let own = join(&on(&X.E, &add_cross(&moment, -X.r, &force)), &on(&X.E, &force));
    b.iter_mut().zip(own).for_each(|(b, pA)| *b -= pA);
    let (moment, force) = halves(&effort);
    let force = on(&X.Et, &force);
    *pA = join(&add_cross(&on(&X.Et, &moment), X.r, &force), &force);
}

/// The accelerations of free joint `i`, and that of its body.
fn move_free(X: &Transform, free: &impl FreeJoints, i: usize, b: &mut [Columns], delta: &mut Six) {
    for lane in 0..LANES {
        let u = Vector6::from_fn(|k, _| b[k].lane(lane));
        let solved = free.solve(i, &u).unwrap_or(Vector6::zeros());
        b.iter_mut().zip(solved.iter()).for_each(|(x, s)| x.set_lane(lane, *s));
    }
    let whole: Six = std::array::from_fn(|k| b[k]);
    let (angular, linear) = halves(delta);
    let carried = join(&on(&X.E, &angular), &on(&X.E, &add_cross(&linear, -X.r, &angular)));
    b.iter_mut().zip(carried).for_each(|(x, carried)| *x -= carried);
    let (angular, linear) = halves(&whole);
    let angular = on(&X.Et, &angular);
    *delta = join(&angular, &add_cross(&on(&X.Et, &linear), X.r, &angular));
}

#[inline(always)]
fn halves([a, b, c, d, e, f]: &Six) -> (Three, Three) {
    ([*a, *b, *c], [*d, *e, *f])
}

#[inline(always)]
fn join([a, b, c]: &Three, [d, e, f]: &Three) -> Six {
    [*a, *b, *c, *d, *e, *f]
}

#[inline(always)]
fn add(sum: &mut Six, f: &Six) {
    sum.iter_mut().zip(f).for_each(|(sum, f)| *sum += *f);
}

/// `sum + a x`, with a the same for all columns.
#[inline(always)]
fn add_scaled(sum: &mut Six, a: &[f64; 6], x: Columns) {
    sum.iter_mut().zip(a).for_each(|(sum, a)| *sum = x.scale_add(*a, *sum));
}

/// `b + a·x`, with a the same for all columns.
#[inline(always)]
fn plus(b: Columns, a: &[f64; 6], x: &Six) -> Columns {
    let first = x[2].scale_add(a[2], x[1].scale_add(a[1], x[0].scale_add(a[0], b)));
    first + x[5].scale_add(a[5], x[4].scale_add(a[4], x[3] * a[3]))
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

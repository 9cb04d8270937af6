//! M⁻¹ on many right-hand sides: the two sweeps of [`crate::solve`] with four columns in the four lanes.
//!
//! ```text
//! u = b − Sᵀ pA,   pA_p += Xᵀ (pA + U D⁻¹ u)                     tips to base
//! δ' = X δ_p,   x = D⁻¹ (u − Uᵀ δ'),   δ = δ' + S x              base to tips
//! ```
//!
//! Here a lane is a column of a matrix and a spatial vector is six registers: nothing is shuffled, nothing is padded.
//! M_P⁻¹ (see [`crate::factor_rows`]) differs in the component of a force, P for S, and of a motion, W for U.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite};
use crate::joint::Kernel;
use crate::model::{Model, Node};
use crate::rows::RowPivot;
use crate::spatial::{Force, M3, Pack4, Scalar, Transform, V3};
use crate::work::{Link, Pivot, Work};
use nalgebra::{Cholesky, DMatrix, LU, U6, Vector6};

/// Three, or six, numbers of four columns.
type Three = [Pack4; 3];
type Six = [Three; 2];

const NOTHING: Six = [[Pack4::ZERO; 3]; 2];

/// Scratch of four columns.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// Forces, then accelerations, of each body; `n_bodies`.
    pA: Vec<Six>,
    /// Right-hand sides, then solutions; `n_v`.
    b: Vec<Pack4>,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        Self { pA: vec![NOTHING; model.n_bodies()], b: vec![Pack4::ZERO; model.n_v] }
    }
}

/// A factorised mass matrix, joint by joint.
trait Factored {
    /// Sᵀ pA, or Pᵀ pA, of a one-degree joint.
    fn read(&self, i: usize, kernel: Kernel, pA: &Six) -> Pack4;
    /// U and D⁻¹.
    fn column(&self, i: usize) -> (&Force, f64);
    /// The component of the parent's motion: U, or W.
    fn row(&self, i: usize) -> &Force;
    /// Whether a free joint may move.
    fn moves(&self, i: usize) -> bool;
    /// Its acceleration under a force.
    fn free(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>>;
}

/// The pivots of `aba` and `factor`.
struct Plain<'a> {
    pivot: &'a [Pivot],
    free: &'a [Option<Cholesky<f64, U6>>],
    locked: &'a [bool],
}

impl Factored for Plain<'_> {
    #[inline(always)]
    fn read(&self, _: usize, kernel: Kernel, pA: &Six) -> Pack4 {
        pA[usize::from(kernel == Kernel::Prismatic)][2]
    }

    #[inline(always)]
    fn column(&self, i: usize) -> (&Force, f64) {
        (&self.pivot[i].U, self.pivot[i].D_inv)
    }

    #[inline(always)]
    fn row(&self, i: usize) -> &Force {
        &self.pivot[i].U
    }

    fn moves(&self, i: usize) -> bool {
        !self.locked[i]
    }

    fn free(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>> {
        self.free[i].as_ref().map(|factor| factor.solve(u))
    }
}

/// The pivots of `factor_rows`.
struct Loaded<'a> {
    pivot: &'a [RowPivot],
    free: &'a [Option<LU<f64, U6, U6>>],
}

impl Factored for Loaded<'_> {
    #[inline(always)]
    fn read(&self, i: usize, _: Kernel, pA: &Six) -> Pack4 {
        let P = &self.pivot[i].P;
        dot(P.angular, &pA[0], dot(P.linear, &pA[1], Pack4::ZERO))
    }

    #[inline(always)]
    fn column(&self, i: usize) -> (&Force, f64) {
        (&self.pivot[i].U, self.pivot[i].D_inv)
    }

    #[inline(always)]
    fn row(&self, i: usize) -> &Force {
        &self.pivot[i].W
    }

    fn moves(&self, i: usize) -> bool {
        self.free[i].is_some()
    }

    fn free(&self, i: usize, u: &Vector6<f64>) -> Option<Vector6<f64>> {
        self.free[i].as_ref().and_then(|factor| factor.solve(u))
    }
}

/// Replaces every column b of `B` (`n_v` rows) by M⁻¹ b, with the pivots of `aba` or `factor` that `work` holds.
pub(crate) fn solve_columns(model: &Model, work: &mut Work, B: &mut DMatrix<f64>) -> Result<(), Error> {
    let Work { pivot, free_pivot, locked, link, columns, .. } = work;
    let factor = Plain { pivot, free: free_pivot, locked };
    solve_with(model, link, columns, &factor, B)
}

/// Replaces every column b of `B` (`n_v` rows) by M_P⁻¹ b, with the pivots of `factor_rows` that `work` holds.
pub(crate) fn solve_columns_rows(model: &Model, work: &mut Work, B: &mut DMatrix<f64>) -> Result<(), Error> {
    let Work { rows, link, columns, .. } = work;
    let factor = Loaded { pivot: &rows.pivot, free: &rows.free };
    solve_with(model, link, columns, &factor, B)
}

fn solve_with(
    model: &Model,
    link: &[Link],
    Scratch { pA, b }: &mut Scratch,
    factor: &impl Factored,
    B: &mut DMatrix<f64>,
) -> Result<(), Error> {
    let n = model.n_v;
    if n == 0 {
        return Ok(());
    }
    for part in B.as_mut_slice().chunks_mut(4 * n) {
        // four columns side by side; the last part may hold fewer
        for (k, b) in b.iter_mut().enumerate() {
            *b = Pack4::new(std::array::from_fn(|lane| part.get(lane * n + k).copied().unwrap_or(0.0)));
        }
        solve_four(model, link, pA, factor, b);
        for (lane, column) in part.chunks_mut(n).enumerate() {
            column.iter_mut().zip(&*b).for_each(|(entry, x)| *entry = x.lane(lane));
        }
    }
    check_finite("solve", B.as_slice())
}

fn solve_four(model: &Model, link: &[Link], pA: &mut [Six], factor: &impl Factored, b: &mut [Pack4]) {
    pA.fill(NOTHING);
    for i in (1..model.node.len()).rev() {
        let node = &model.node[i];
        let (above, below) = pA.split_at_mut(i);
        let passed = reduce(node, i, factor, below[0], b);
        if node.parent != 0 {
            add(&mut above[node.parent], &force_back(&link[i].X, &passed));
        }
    }
    pA[0] = NOTHING;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = pA.split_at_mut(i);
        let mut delta = motion(&link[i].X, &above[node.parent]);
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => {
                let x = &mut b[node.v..node.v + 6];
                if factor.moves(i) {
                    for lane in 0..4 {
                        let u = Vector6::from_fn(|k, _| x[k].lane(lane));
                        let solved = factor.free(i, &u).unwrap_or(Vector6::zeros());
                        x.iter_mut().zip(solved.iter()).for_each(|(x, s)| x.set_lane(lane, *s));
                    }
                    x.iter_mut().zip(delta.as_flattened()).for_each(|(x, propagated)| *x -= *propagated);
                } else {
                    x.fill(Pack4::ZERO);
                }
                delta.as_flattened_mut().iter_mut().zip(&*x).for_each(|(delta, x)| *delta += *x);
            }
            Kernel::Revolute | Kernel::Prismatic => {
                let (_, D_inv) = factor.column(i);
                let Force { moment, force } = *factor.row(i);
                let propagated = dot(moment, &delta[0], dot(force, &delta[1], Pack4::ZERO));
                let x = (b[node.v] - propagated) * D_inv;
                let along = &mut delta[usize::from(node.kernel == Kernel::Prismatic)][2];
                *along += x;
                b[node.v] = x;
            }
        }
        below[0] = delta;
    }
}

/// `u` into `b`, and the force propagated to the parent.
#[inline(always)]
fn reduce(node: &Node, i: usize, factor: &impl Factored, pA: Six, b: &mut [Pack4]) -> Six {
    match node.kernel {
        Kernel::Free if factor.moves(i) => {
            let b = &mut b[node.v..node.v + 6];
            let tau = [[b[0], b[1], b[2]], [b[3], b[4], b[5]]];
            b.iter_mut().zip(pA.as_flattened()).for_each(|(b, pA)| *b -= *pA);
            tau
        }
        Kernel::Fixed | Kernel::Free => pA,
        Kernel::Revolute | Kernel::Prismatic => {
            let u = b[node.v] - factor.read(i, node.kernel, &pA);
            b[node.v] = u;
            let (U, D_inv) = factor.column(i);
            let w = u * D_inv;
            let (n, f) = (U.moment, U.force);
            [std::array::from_fn(|k| w.scale_add(n[k], pA[0][k])), std::array::from_fn(|k| w.scale_add(f[k], pA[1][k]))]
        }
    }
}

#[inline(always)]
fn add(sum: &mut Six, f: &Six) {
    sum.as_flattened_mut().iter_mut().zip(f.as_flattened()).for_each(|(sum, f)| *sum += *f);
}

/// `a·x + c`, with a the same for all columns.
#[inline(always)]
fn dot(a: V3, x: &Three, c: Pack4) -> Pack4 {
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

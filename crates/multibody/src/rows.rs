//! Forward dynamics of joints that read their reaction along rows other than their axes: load-dependent friction in
//! O(n), with the rows as arguments.
//!
//! A joint's equation is `P_iᵀ f_i + armature q̈_i = τ_i`, where f_i is the force through the joint and the row P_i
//! stands still while f changes; P = S is the ordinary machine, P = S + r μ n̂ the linearisation of a pin with the load
//! n̂ᵀ f. The equations are linear in q̈ with the matrix M_P[i][j] = P_iᵀ ∂f_i/∂q̈_j + armature δ_ij, and its
//! factorisation is the articulated-body recursion with a left projector that differs from the right one:
//!
//! ```text
//! U = IA S     Wᵀ = Pᵀ IA     D = Pᵀ U + armature     u = b − Pᵀ pA
//! IA_p += Xᵀ (IA − U D⁻¹ Wᵀ) X         pA_p += Xᵀ (pA + U D⁻¹ u)               tips to base
//! δ' = X δ_p     x = D⁻¹ (u − Wᵀ δ')     δ = δ' + S x     δf = IA δ + pA         base to tips
//! ```
//!
//! Written so, a joint waits for u before it passes anything on, and for δ' before it knows x. With V = Xᵀ U D⁻¹ and
//! Y = Xᵀ W D⁻¹ made once, by the factorisation, both are under way at once, and it is waiting that takes the time in
//! a chain:
//!
//! ```text
//! pA_p += Xᵀ pA + V u                   x = D⁻¹ u − Yᵀ δ_p
//! ```
//!
//! IA is not symmetric. A locked or fixed joint has D⁻¹ = 0; a free joint reads its whole force (P = S), its pivot is
//! the 6×6 matrix IA. Armature enters D only. With an estimate (q̈, f) of accelerations and reactions, the residual
//! b = τ − Pᵀ f − armature q̈ gives the Newton step x and the change δf of every reaction along with it: q̈ + x and
//! f + δf fit together without another sweep of inverse dynamics.
//!
//! D ≤ 0 is a jam: the load grows faster with the joint's acceleration than its effort does.
//!
//! A load that reads the effort of the joint's armature, as the friction of a reducer between rotor and joint does,
//! multiplies that effort: armature stands for armature + change, see [`Work::change_armature`].

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::kinematics::transforms;
use crate::model::{Model, NOISE};
use crate::spatial::{Force, Motion, UnsymmetricInertia, V3};
use crate::work::Work;
use nalgebra::{LU, U6, Vector6};

/// Pivot of a one-degree joint; nothing but zeros for the others and while locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPivot {
    pub P: Motion,
    pub U: Force,
    pub W: Force,
    /// Xᵀ U D⁻¹ and Xᵀ W D⁻¹, axes of the parent.
    pub V: Force,
    pub Y: Force,
    pub D: f64,
    pub D_inv: f64,
    /// The value of D with P = S.
    pub D_S: f64,
}

impl RowPivot {
    const NONE: Self = Self {
        P: Motion::ZERO,
        U: Force::ZERO,
        W: Force::ZERO,
        V: Force::ZERO,
        Y: Force::ZERO,
        D: 0.0,
        D_inv: 0.0,
        D_S: 0.0,
    };
}

/// The factorisation, and the forces of its solutions. It is separate from that of `aba`, so that both may stand.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// Filled tips to base where the body has children; `n_bodies`.
    IA: Vec<UnsymmetricInertia>,
    pub pivot: Vec<RowPivot>,
    /// Pivots of free joints that are not locked; empty if the model has none.
    pub free: Vec<Option<LU<f64, U6, U6>>>,
    /// Articulated bias forces, then force changes; `n_bodies`.
    pub f: Vec<Force>,
    /// Rates of the joint forces, see [`crate::jerk_rows`]; `n_bodies`.
    pub f_rate: Vec<Force>,
    /// Forces of a product, see [`multiply_rows`]; `n_bodies`.
    product: Vec<Force>,
    /// Changes of the armatures in the rows; `n_v`.
    pub armature: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let has_free = model.node.iter().any(|node| node.kernel == Kernel::Free);
        Self {
            IA: vec![UnsymmetricInertia::ZERO; n],
            pivot: vec![RowPivot::NONE; n],
            free: if has_free { vec![None; n] } else { Vec::new() },
            f: vec![Force::ZERO; n],
            f_rate: vec![Force::ZERO; n],
            product: vec![Force::ZERO; n],
            armature: vec![0.0; model.n_v],
        }
    }
}

/// The row of joint `i` when nothing loads it: its axis in canonical coordinates. Zero for fixed and free joints and
/// the world, whose rows are ignored. Panics, like a slice, where there is no body `i`.
#[inline(always)]
pub fn axis_row(model: &Model, i: usize) -> Motion {
    match model.node[i].kernel {
        Kernel::Revolute => Motion::of(V3::Z, V3::ZERO),
        Kernel::Prismatic => Motion::of(V3::ZERO, V3::Z),
        Kernel::Fixed | Kernel::Free => Motion::ZERO,
    }
}

/// Fills `rows` (`n_bodies`) with the axes of the joints: the machine without loads.
pub fn unloaded_rows(model: &Model, rows: &mut [Motion]) -> Result<(), Error> {
    check_length("rows", rows.len(), model.n_bodies())?;
    rows.iter_mut().enumerate().for_each(|(i, row)| *row = axis_row(model, i));
    Ok(())
}

/// Factorises M_P at `q` with the rows P of the joints and those of `locked` at rest: M_P⁻¹ is then applied by
/// [`solve_rows`].
///
/// `rows` and `locked` have `n_bodies` entries. A row is in canonical axes (z along the joint axis), angular part
/// against the moment, linear part against the force. Rows of fixed, free and locked joints and of the world are
/// ignored. Fails with [`Error::Jam`] where D is not positive, with [`Error::Singular`] where it would not be without
/// the load either.
pub fn factor_rows(model: &Model, work: &mut Work, q: &[f64], rows: &[Motion], locked: &[bool]) -> Result<(), Error> {
    work.check(model, q, [])?;
    // the position of a joint on the world moves nothing that is factorised: a look at the numbers themselves
    check_finite("factor_rows", q)?;
    transforms(model, work, q);
    factor_rows_at(model, work, rows, locked)
}

/// The same at the configuration of the last function that took a `q` (`rnea`, say): its transforms are still in
/// `work`, and are used as they are. A state that has moved since needs [`factor_rows`].
pub fn factor_rows_at(model: &Model, work: &mut Work, rows: &[Motion], locked: &[bool]) -> Result<(), Error> {
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    check_length("rows", rows.len(), model.n_bodies())?;
    check_length("locked", locked.len(), model.n_bodies())?;
    (1..model.n_bodies()).rev().try_for_each(|i| eliminate(model, work, i, &rows[i], locked[i]))
}

/// `M_P⁻¹ b` after [`factor_rows`] or [`factor_rows_at`], at the same configuration; 0 for locked joints. The change
/// of every joint force that comes with it can be read by [`Work::force_change`]; the reactions of [`Work::reaction`]
/// stay as they are.
pub fn solve_rows<'w>(model: &Model, work: &'w mut Work, b: &[f64]) -> Result<&'w [f64], Error> {
    check_length("b", b.len(), model.n_v)?;
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    work.rows.f.fill(Force::ZERO);
    for i in (1..model.n_bodies()).rev() {
        reduce(model, work, i, b);
    }
    substitute(model, work, b);
    check_finite("solve_rows", &work.a)?;
    Ok(&work.a)
}

/// M_P x into `out` (`n_v`), at the configuration of the last function that took a `q`, whatever is locked: O(n),
/// without a matrix. Scratch is that of [`solve_rows`] but for the force changes, which stay.
pub fn multiply_rows(model: &Model, work: &mut Work, rows: &[Motion], x: &[f64], out: &mut [f64]) -> Result<(), Error> {
    check_length("work (made for another model?)", work.link.len(), model.n_bodies())?;
    check_length("rows", rows.len(), model.n_bodies())?;
    check_length("x", x.len(), model.n_v)?;
    check_length("out", out.len(), model.n_v)?;
    work.delta[0] = Motion::ZERO;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.delta.split_at_mut(i);
        below[0] = node.kernel.add_motion(&work.link[i].X.motion(&above[node.parent]), x, node.v);
        work.rows.product[i] = node.I.times(&below[0]);
    }
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        let f = work.rows.product[i];
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => out[node.v..node.v + 6].copy_from_slice(&f.to_array()),
            Kernel::Revolute | Kernel::Prismatic => {
                let armature = model.armature[node.v] + work.rows.armature[node.v];
                out[node.v] = rows[i].dot(&f) + armature * x[node.v];
            }
        }
        if node.parent != 0 {
            work.rows.product[node.parent] += work.link[i].X.force_back(&f);
        }
    }
    check_finite("multiply_rows", out)
}

/// Results of [`factor_rows`] and [`solve_rows`]. Functions of an index panic, like a slice, where there is no
/// body `i`.
impl Work {
    /// Adds `change` to the armature of velocity `k` in the matrix M_P of the rows: in [`factor_rows`],
    /// [`multiply_rows`], [`crate::mass_rows`] and the functions that use them. It stays until it is set again; inverse
    /// dynamics knows nothing of it. Panics, like a slice, where there is no velocity `k`.
    #[inline(always)]
    pub fn change_armature(&mut self, k: usize, change: f64) {
        self.rows.armature[k] = change;
    }

    /// The change of the armature of velocity `k`, see [`Work::change_armature`].
    #[inline(always)]
    pub fn armature_change(&self, k: usize) -> f64 {
        self.rows.armature[k]
    }

    /// D_i = P_iᵀ IA_i S_i + armature of the last [`factor_rows`]; 0 for locked, fixed and free joints.
    #[inline(always)]
    pub fn pivot_value(&self, i: usize) -> f64 {
        self.rows.pivot[i].D
    }

    /// S_iᵀ IA_i S_i + armature of the last [`factor_rows`]: D_i if this joint alone were unloaded; 0 for
    /// locked, fixed and free joints.
    #[inline(always)]
    pub fn pivot_unloaded(&self, i: usize) -> f64 {
        self.rows.pivot[i].D_S
    }

    /// U_i = IA_i S_i of the last [`factor_rows`], canonical axes: how the force through joint `i` answers its own
    /// acceleration, joints beyond it free to follow. Zero for locked, fixed and free joints.
    #[inline(always)]
    pub fn pivot_force(&self, i: usize) -> Force {
        self.rows.pivot[i].U
    }

    /// δf_i of the last [`solve_rows`]: how the force through joint `i` changes when the accelerations change by its
    /// result; canonical axes.
    #[inline(always)]
    pub fn force_change(&self, i: usize) -> Force {
        self.rows.f[i]
    }

    /// Adds every force change of the last [`solve_rows`] to the reactions, so that [`Work::reaction`] belongs to the
    /// accelerations after the step. To be called once a step.
    pub fn add_force_changes(&mut self) {
        self.link.iter_mut().zip(&self.rows.f).for_each(|(link, change)| link.f += *change);
    }
}

/// One step of the backward sweep for inertias: pivot of joint `i`, and the inertia it propagates to the parent.
#[inline(always)]
fn eliminate(model: &Model, work: &mut Work, i: usize, P: &Motion, locked: bool) -> Result<(), Error> {
    let node = &model.node[i];
    let Scratch { IA, pivot, free, armature, .. } = &mut work.rows;
    let (above, below) = IA.split_at_mut(i);
    // a leaf has no children; the first visited child initialises its parent
    let IA = if node.leaf { UnsymmetricInertia::of_body(&node.IA) } else { below[0] };
    pivot[i] = RowPivot::NONE;
    let left = match node.kernel {
        Kernel::Fixed => IA,
        Kernel::Free => {
            free[i] = None;
            if locked {
                IA
            } else {
                // nothing is propagated, but the parent must be initialised
                if node.first_visited {
                    above[node.parent] = UnsymmetricInertia::of_body(&model.node[node.parent].IA);
                }
                free[i] = Some(free_pivot(model, i, &IA)?);
                return Ok(());
            }
        }
        Kernel::Revolute | Kernel::Prismatic if locked => IA,
        Kernel::Revolute | Kernel::Prismatic => {
            let U = column(node.kernel, &IA);
            let own = model.armature[node.v];
            let (D, D_S) = (P.dot(&U) + (own + armature[node.v]), node.kernel.along(&U) + own);
            // rounding: of the body's inertia, and of the unloaded pivot, from which the load is taken
            if D <= node.noise.max(NOISE * D_S.abs()) || D.is_nan() {
                return Err(jam(model, i, D, D_S, node.noise));
            }
            let W = IA.row(P);
            let (D_inv, X) = (1.0 / D, &work.link[i].X);
            let (V, Y) = (X.force_back(&(U * D_inv)), X.force_back(&(W * D_inv)));
            pivot[i] = RowPivot { P: *P, U, W, V, Y, D, D_inv, D_S };
            IA.minus_outer(&U, &W, D_inv)
        }
    };
    if node.parent != 0 {
        let propagated = left.back(&work.link[i].X);
        above[node.parent] = if node.first_visited {
            propagated.with_body(&model.node[node.parent].IA)
        } else {
            propagated.plus(&above[node.parent])
        };
    }
    Ok(())
}

/// `IA S` of a one-degree joint.
#[inline(always)]
fn column(kernel: Kernel, IA: &UnsymmetricInertia) -> Force {
    match kernel {
        Kernel::Revolute => Force::of(IA.I.0[2], IA.G.0[2]),
        Kernel::Prismatic => Force::of(IA.H.0[2], IA.M.0[2]),
        Kernel::Fixed | Kernel::Free => Force::ZERO,
    }
}

/// One step of the backward sweep for forces.
#[inline(always)]
fn reduce(model: &Model, work: &mut Work, i: usize, b: &[f64]) {
    let node = &model.node[i];
    let (above, below) = work.rows.f.split_at_mut(i);
    let (pA, pivot) = (below[0], &work.rows.pivot[i]);
    let X = &work.link[i].X;
    let passed = match node.kernel {
        Kernel::Free if work.rows.free[i].is_some() => {
            let b = Force::from_slice(&b[node.v..]);
            work.u[model.v_range(i)].copy_from_slice(&(b - pA).to_array());
            X.force_back(&b)
        }
        Kernel::Fixed | Kernel::Free => X.force_back(&pA),
        Kernel::Revolute | Kernel::Prismatic => {
            let u = b[node.v] - pivot.P.dot(&pA);
            work.u[node.v] = u;
            X.force_back(&pA) + pivot.V * u
        }
    };
    if node.parent != 0 {
        above[node.parent] += passed;
    }
}

/// Forward sweep: accelerations from the reduced equations, and the forces that come with them.
#[inline(always)]
fn substitute(model: &Model, work: &mut Work, b: &[f64]) {
    work.delta[0] = Motion::ZERO;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.delta.split_at_mut(i);
        let propagated = work.link[i].X.motion(&above[node.parent]);
        let mut whole = None;
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Free => {
                let a = &mut work.a[node.v..node.v + 6];
                let u = Vector6::from_column_slice(&work.u[node.v..node.v + 6]);
                match work.rows.free[i].as_ref().and_then(|factor| factor.solve(&u)) {
                    Some(x) => {
                        a.iter_mut()
                            .zip(x.iter())
                            .zip(propagated.to_array())
                            .for_each(|((a, x), propagated)| *a = x - propagated);
                        whole = Some(Force::from_slice(&b[node.v..]));
                    }
                    None => a.fill(0.0),
                }
            }
            Kernel::Revolute | Kernel::Prismatic => {
                let pivot = &work.rows.pivot[i];
                work.a[node.v] = pivot.D_inv * work.u[node.v] - above[node.parent].dot(&pivot.Y);
            }
        }
        let delta = node.kernel.add_motion(&propagated, &work.a, node.v);
        below[0] = delta;
        let IA_delta = if node.leaf { node.I.times(&delta) } else { work.rows.IA[i].times(&delta) };
        // a free joint transmits its given effort
        work.rows.f[i] = whole.unwrap_or(IA_delta + work.rows.f[i]);
    }
}

/// Pivot of a free joint: all of its inertia.
#[inline(never)]
fn free_pivot(model: &Model, i: usize, IA: &UnsymmetricInertia) -> Result<LU<f64, U6, U6>, Error> {
    let matrix = IA.to_matrix();
    let factor = LU::new(matrix);
    // about the smallest moment of inertia of the body about its centre of mass: the inverse of the matrix turns
    // moments into angular accelerations by the inverse of that
    let inverse = (0..3).map(|k| factor.solve(&Vector6::ith(k, 1.0)).map_or(f64::INFINITY, |x| x[k]));
    let least = inverse.sum::<f64>().recip();
    let noise = NOISE * matrix.fixed_view::<3, 3>(0, 0).trace().abs();
    // NaN, wherever it is, reaches the sum of all entries
    let (determinant, nothing) = (factor.determinant(), matrix.sum() * 0.0);
    if least.abs() <= noise || determinant <= 0.0 || nothing.is_nan() {
        return Err(jam(model, i, determinant, least + nothing, noise));
    }
    Ok(factor)
}

/// Why a pivot is no pivot. Without its own load the joint's inertia is a rounding error, or there is enough of it (or
/// less than none, which takes the loads of other joints).
#[cold]
fn jam(model: &Model, i: usize, D: f64, D_S: f64, noise: f64) -> Error {
    if D.is_nan() || D_S.is_nan() {
        return Error::NonFinite { function: "factor_rows" };
    }
    let joint = model.joint_names[i].clone();
    if D_S.abs() <= noise { Error::Singular { joint, inertia: D_S } } else { Error::Jam { joint, inertia: D } }
}

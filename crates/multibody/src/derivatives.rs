//! Analytic derivatives of inverse and forward dynamics (Singh, Russell & Wensing 2022), in link coordinates.
//!
//! For a degree of freedom j with axis S_j (child frame), let
//!
//! ```text
//! Ψ̇_j = X v_p × S_j        Ψ̈_j = X a_p × S_j + X v_p × Ψ̇_j        Ṡ_j = v_j × S_j
//! ```
//!
//! With the composite inertia I^C, force f^C, and B^C = Σ of the bodies' ½(v×*I − I v× + (Iv)×̄*) over a subtree, the
//! force f_i through joint i, in link coordinates, changes as
//!
//! ```text
//! j = i or above i:   ∂f_i/∂q_j = 2B^C_i Ψ̇_j + I^C_i Ψ̈_j
//!                     ∂f_i/∂q̇_j = 2B^C_i S_j + I^C_i (Ψ̇_j + Ṡ_j)
//! j beyond i:         ∂f_i/∂q_j = 2B^C_j Ψ̇_j + I^C_j Ψ̈_j + S_j ×* f^C_j
//!                     ∂f_i/∂q̇_j = 2B^C_j S_j + I^C_j (Ψ̇_j + Ṡ_j)
//! ```
//!
//! and the derivative of any scalar `P·f_i` with P fixed in link i follows: `P = S_i` gives the efforts, the direction
//! of a pin load gives the load. For a rigid body 2B needs twelve numbers and acts on the angular part only:
//!
//! ```text
//! 2B = | ω×I + (ω×I)ᵀ − (v×h× + h×v×) − n×   0 |        (n, p) = I v,  h = m c
//!      |               −2 p×                  0 |
//! ```
//!
//! Forward dynamics: ∂q̈/∂x = −M⁻¹ ∂τ/∂x at the accelerations found, column by column with the articulated
//! factorisation. Everything is O(n · depth) or O(n²). For a free joint "∂/∂q" means along the chart of
//! [`crate::chart_point`].

#![expect(non_snake_case, reason = "symbols follow Singh, Russell & Wensing 2022")]

use crate::aba::aba_hybrid;
use crate::columns::solve_columns;
use crate::error::{Error, check_finite, check_length};
use crate::model::Model;
use crate::rnea::body_forces;
use crate::spatial::{Force, M3, Motion, RigidInertia, Transform, V3};
use crate::work::Work;
use nalgebra::DMatrix;
use std::ops::Range;

/// A scalar `P·f` of the force through one joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The joint (and body) whose reaction is read.
    pub body: usize,
    /// Its components: canonical axes (z along the joint axis), angular part against the moment, linear part against
    /// the force.
    pub projector: Motion,
}

/// Composite `2B`: angular motion to force.
#[derive(Debug, Clone, Copy)]
struct Gyro {
    B: M3,
    /// The same block transposed, for rows.
    Bt: M3,
    p: V3,
}

impl Gyro {
    const ZERO: Self = Self { B: M3::ZERO, Bt: M3::ZERO, p: V3::ZERO };

    #[inline(always)]
    fn of_body(I: &RigidInertia, V: &Motion) -> Self {
        let momentum = I.times(V);
        let (w, v, h) = (V.angular, V.linear, I.h);
        let wI = I.I.crossed(w);
        // v×h× + h×v× = v hᵀ + h vᵀ − 2 (v·h) 1
        let even = wI + wI.transpose() + M3::scaled_identity(2.0 * v.dot(h));
        let even = even.minus_outer(v, h).minus_outer(h, v);
        let odd = M3::skew(momentum.moment);
        Self { B: even - odd, Bt: even + odd, p: momentum.force }
    }

    /// `2B m`.
    #[inline(always)]
    fn times(&self, m: &Motion) -> Force {
        Force::of(self.B.on(m.angular), m.angular.cross(self.p) * 2.0)
    }

    /// `Pᵀ 2B`, which acts on angular parts only.
    #[inline(always)]
    fn row(&self, P: &Motion) -> V3 {
        self.Bt.on_add(P.angular, self.p.cross(P.linear) * 2.0)
    }

    /// The same seen from the parent frame.
    #[inline(always)]
    fn back(&self, X: &Transform) -> Self {
        let p = X.Et.on(self.p);
        // −2 r× p× = −2 p rᵀ + 2 (r·p) 1
        let twice = p * 2.0;
        let B = X.Et.matrix(&self.B.matrix(&X.E)).minus_outer(twice, X.r) + M3::scaled_identity(X.r.dot(twice));
        Self { B, Bt: B.transpose(), p }
    }
}

/// Scratch of the derivatives per velocity and per body.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    gyro: Vec<Gyro>,
    psi_d: Vec<Motion>,
    psi_dd: Vec<Motion>,
    /// `Ψ̇ + Ṡ`.
    spread: Vec<Motion>,
    /// First row of each body, one entry more than bodies.
    pub row_start: Vec<usize>,
    a: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        let (n, n_v) = (model.n_bodies(), model.n_v);
        Self {
            gyro: vec![Gyro::ZERO; n],
            psi_d: vec![Motion::ZERO; n_v],
            psi_dd: vec![Motion::ZERO; n_v],
            spread: vec![Motion::ZERO; n_v],
            row_start: vec![0; n + 1],
            a: vec![0.0; n_v],
        }
    }
}

/// The rows to contract with, by body.
pub(crate) trait Rows {
    fn of_body(&self, i: usize) -> Range<usize>;
    fn projector(&self, i: usize, row: usize) -> Motion;
}

/// `P = S`: the efforts.
struct Axes<'m>(&'m Model);

impl Rows for Axes<'_> {
    #[inline(always)]
    fn of_body(&self, i: usize) -> Range<usize> {
        self.0.v_range(i)
    }

    #[inline(always)]
    fn projector(&self, i: usize, row: usize) -> Motion {
        self.0.node[i].kernel.axis(row - self.0.v_index[i])
    }
}

/// Rows of the caller's, ordered by body.
pub(crate) struct Listed<'a> {
    pub rows: &'a [Row],
    pub start: &'a [usize],
}

impl Rows for Listed<'_> {
    #[inline(always)]
    fn of_body(&self, i: usize) -> Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    #[inline(always)]
    fn projector(&self, _: usize, row: usize) -> Motion {
        self.rows[row].projector
    }
}

/// Fills `dq` and `dv` (`n_v` × `n_v`) with ∂τ/∂q and ∂τ/∂q̇ of [`crate::rnea`] at `q`, `v`, `a`.
pub fn rnea_derivatives(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    dq: &mut DMatrix<f64>,
    dv: &mut DMatrix<f64>,
) -> Result<(), Error> {
    work.check(model, q, [("v", v), ("a", a)])?;
    contract(model, work, (q, v, a), &Axes(model), model.n_v, dq, dv)
}

/// Fills `dq` and `dv` (`rows.len()` × `n_v`) with ∂(P·f)/∂q and ∂(P·f)/∂q̇ for any scalars of the joint forces. Rows
/// come ordered by body.
pub fn rnea_derivatives_rows(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    rows: &[Row],
    dq: &mut DMatrix<f64>,
    dv: &mut DMatrix<f64>,
) -> Result<(), Error> {
    work.check(model, q, [("v", v), ("a", a)])?;
    let mut start = std::mem::take(&mut work.derivative.row_start);
    let result = index_rows(model, rows, &mut start)
        .and_then(|()| contract(model, work, (q, v, a), &Listed { rows, start: &start }, rows.len(), dq, dv));
    work.derivative.row_start = start;
    result
}

/// First row of each body.
pub(crate) fn index_rows(model: &Model, rows: &[Row], start: &mut [usize]) -> Result<(), Error> {
    let mut row = 0;
    for (i, start) in start.iter_mut().enumerate() {
        while rows.get(row).is_some_and(|r| r.body < i) {
            row += 1;
        }
        *start = row;
    }
    match rows.iter().find(|r| r.body == 0 || r.body >= model.n_bodies()) {
        Some(bad) => Err(Error::NoSuch { what: "joint", index: bad.body, count: model.n_joints() }),
        None if rows.is_sorted_by_key(|r| r.body) => Ok(()),
        None => Err(Error::Unordered { what: "rows" }),
    }
}

/// Fills `dq` and `dv` with the derivatives of the row values.
pub(crate) fn contract(
    model: &Model,
    work: &mut Work,
    (q, v, a): (&[f64], &[f64], &[f64]),
    rows: &impl Rows,
    n_rows: usize,
    dq: &mut DMatrix<f64>,
    dv: &mut DMatrix<f64>,
) -> Result<(), Error> {
    for (what, got, expected) in [
        ("rows of dq", dq.nrows(), n_rows),
        ("columns of dq", dq.ncols(), model.n_v),
        ("rows of dv", dv.nrows(), n_rows),
        ("columns of dv", dv.ncols(), model.n_v),
    ] {
        check_length(what, got, expected)?;
    }
    body_forces::<true>(model, work, q, v, a);
    axes_in_motion(model, work);
    let (dq, dv) = (dq.as_mut_slice(), dv.as_mut_slice());
    dq.fill(0.0);
    dv.fill(0.0);

    // tips to base: I^C, B^C, f^C of body i are complete when it is reached
    work.IC.iter_mut().zip(&model.node).for_each(|(IC, node)| *IC = node.I);
    for i in (1..model.n_bodies()).rev() {
        for k in model.v_range(i) {
            column(model, work, rows, n_rows, (i, k), dq, dv);
        }
        for row in rows.of_body(i) {
            let P = rows.projector(i, row);
            row_of(model, work, n_rows, (i, row, P), dq, dv);
        }
        let (p, X) = (model.parent[i], &work.link[i].X);
        if p != 0 {
            let (IC, gyro, f) = (work.IC[i].back(X), work.derivative.gyro[i].back(X), X.force_back(&work.link[i].f));
            work.IC[p] += IC;
            work.derivative.gyro[p].B += gyro.B;
            work.derivative.gyro[p].Bt += gyro.Bt;
            work.derivative.gyro[p].p += gyro.p;
            work.link[p].f += f;
        }
    }
    check_finite("rnea_derivatives", dq)?;
    check_finite("rnea_derivatives", dv)
}

/// Ψ̇, Ψ̈ and Ṡ of every degree of freedom, and 2B of every body alone.
fn axes_in_motion(model: &Model, work: &mut Work) {
    for i in 1..model.n_bodies() {
        let (p, X) = (model.parent[i], &work.link[i].X);
        let (v_p, a_p) = (X.motion(&work.link[p].vel), X.motion(&work.link[p].acc));
        let scratch = &mut work.derivative;
        scratch.gyro[i] = Gyro::of_body(&model.node[i].I, &work.link[i].vel);
        for (k, dof) in model.v_range(i).enumerate() {
            let S = model.node[i].kernel.axis(k);
            let psi_d = v_p.cross(&S);
            scratch.psi_d[dof] = psi_d;
            scratch.psi_dd[dof] = a_p.cross(&S) + v_p.cross(&psi_d);
            scratch.spread[dof] = psi_d + work.link[i].vel.cross(&S);
        }
    }
}

/// Change of the forces through the joints above body `i` with its degree `dof`.
#[inline(always)]
fn column(
    model: &Model,
    work: &Work,
    rows: &impl Rows,
    n_rows: usize,
    (i, dof): (usize, usize),
    dq: &mut [f64],
    dv: &mut [f64],
) {
    let (scratch, gyro, IC) = (&work.derivative, &work.derivative.gyro[i], &work.IC[i]);
    let S = model.node[i].kernel.axis(dof - model.v_index[i]);
    let mut by_q = gyro.times(&scratch.psi_d[dof]) + IC.times(&scratch.psi_dd[dof]) + S.cross_force(&work.link[i].f);
    let mut by_v = gyro.times(&S) + IC.times(&scratch.spread[dof]);
    let mut j = i;
    while model.parent[j] != 0 {
        by_q = work.link[j].X.force_back(&by_q);
        by_v = work.link[j].X.force_back(&by_v);
        j = model.parent[j];
        for row in rows.of_body(j) {
            let P = rows.projector(j, row);
            dq[dof * n_rows + row] = P.dot(&by_q);
            dv[dof * n_rows + row] = P.dot(&by_v);
        }
    }
}

/// How body `i`'s own degrees and those above it change `P·f_i`.
#[inline(always)]
fn row_of(
    model: &Model,
    work: &Work,
    n_rows: usize,
    (i, row, P): (usize, usize, Motion),
    dq: &mut [f64],
    dv: &mut [f64],
) {
    let scratch = &work.derivative;
    let (mut PB, mut PI) = (scratch.gyro[i].row(&P), work.IC[i].times(&P));
    let mut j = i;
    loop {
        for (k, dof) in model.v_range(j).enumerate() {
            let S = model.node[j].kernel.axis(k);
            dq[dof * n_rows + row] = PB.dot(scratch.psi_d[dof].angular) + scratch.psi_dd[dof].dot(&PI);
            dv[dof * n_rows + row] = PB.dot(S.angular) + scratch.spread[dof].dot(&PI);
        }
        if model.parent[j] == 0 {
            return;
        }
        PB = work.link[j].X.Et.on(PB);
        PI = work.link[j].X.force_back(&PI);
        j = model.parent[j];
    }
}

/// Fills ∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ = M⁻¹ (each `n_v` × `n_v`) of [`crate::aba_hybrid`]; rows of locked joints are
/// zero.
pub fn aba_derivatives(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    tau: &[f64],
    locked: &[bool],
    [dq, dv, dtau]: [&mut DMatrix<f64>; 3],
) -> Result<(), Error> {
    check_length("rows of dtau", dtau.nrows(), model.n_v)?;
    check_length("columns of dtau", dtau.ncols(), model.n_v)?;
    aba_hybrid(model, work, q, v, tau, locked)?;
    let mut a = std::mem::take(&mut work.derivative.a);
    a.copy_from_slice(&work.a);
    let derivatives = rnea_derivatives(model, work, q, v, &a, dq, dv);
    work.derivative.a = a;
    derivatives?;

    // the pivots of aba_hybrid still stand: M x = −∂τ/∂(…), all columns
    for D in [&mut *dq, &mut *dv] {
        D.neg_mut();
        solve_columns(model, work, D)?;
    }
    dtau.fill_with_identity();
    solve_columns(model, work, dtau)
}

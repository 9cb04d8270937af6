//! Analytic derivatives of inverse and forward dynamics (Singh, Russell & Wensing 2022).
//!
//! For a degree of freedom j with axis S_j, let, in link coordinates,
//!
//! ```text
//! Ψ̇_j = X v_p × S_j        Ψ̈_j = X a_p × S_j + X v_p × Ψ̇_j        Ṡ_j = v_j × S_j
//! ```
//!
//! With the composite inertia I^C, force f^C, and B^C = Σ of the bodies' ½(v×*I − I v× + (Iv)×̄*) over a subtree, the
//! force f_i through joint i, carried by the link, changes as
//!
//! ```text
//! j = i or above i:   ∂f_i/∂q_j = 2B^C_i Ψ̇_j + I^C_i Ψ̈_j
//!                     ∂f_i/∂q̇_j = 2B^C_i S_j + I^C_i (Ψ̇_j + Ṡ_j)
//! j beyond i:         ∂f_i/∂q_j = 2B^C_j Ψ̇_j + I^C_j Ψ̈_j + S_j ×* f^C_j
//!                     ∂f_i/∂q̇_j = 2B^C_j S_j + I^C_j (Ψ̇_j + Ṡ_j)
//! ```
//!
//! and the derivative of any scalar `P·f_i` with P fixed in link i follows: `P = S_i` gives the efforts, the direction
//! of a pin load gives the load. All of these are taken to the [frame of the tree](crate::tree_frame), where the sums
//! are plain ones and a pair of related joints is two products of six numbers with six and two of nine with nine, four
//! pairs at a time. For a rigid body 2B needs twelve numbers and acts on the angular part only:
//!
//! ```text
//! 2B = | ω×I + (ω×I)ᵀ − (v×h× + h×v×) − n×   0 |        (n, p) = I v,  h = m c
//!      |               −2 p×                  0 |
//! ```
//!
//! Forward dynamics: ∂q̈/∂x = −M⁻¹ ∂τ/∂x at the accelerations found, eight columns at a time with the articulated
//! factorisation. Everything is O(n · depth) or O(n²). For a free joint "∂/∂q" means along the chart of
//! [`crate::chart_point`].

#![expect(non_snake_case, reason = "symbols follow Singh, Russell & Wensing 2022")]

use crate::aba::aba_hybrid;
use crate::columns::{Sides, solve_columns};
use crate::error::{Error, check_finite, check_length};
use crate::model::Model;
use crate::rnea::body_forces;
use crate::spatial::{Force, M3, Motion, RigidInertia, Transform, V3};
use crate::tree_frame::{Group, TreeFrames, each_group, n_groups, products, put, splat, write, write_apart};
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

/// Scratch of the derivatives, in the frame of the tree.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    gyro: Vec<Gyro>,
    /// Forces through the joints; `n_bodies`.
    f: Vec<Force>,
    degrees: Vec<Degree>,
    /// S of four degrees of freedom.
    pub axes: Vec<Group<6>>,
    /// Of four degrees of freedom: Ψ̇ (angular part) and Ψ̈; S (angular part) and Ψ̇ + Ṡ.
    by_position: Vec<Group<9>>,
    by_velocity: Vec<Group<9>>,
    /// Projectors of four rows.
    pub projectors: Vec<Group<6>>,
    /// First row of each body, one entry more than bodies.
    pub row_start: Vec<usize>,
    a: Vec<f64>,
}

/// How the forces change with one degree of freedom.
#[derive(Debug, Clone, Copy)]
struct Degree {
    S: Motion,
    psi_d: Motion,
    psi_dd: Motion,
    /// Ψ̇ + Ṡ.
    spread: Motion,
}

impl Scratch {
    pub(crate) fn new(model: &Model) -> Self {
        let (n, n_v) = (model.n_bodies(), model.n_v);
        let still = Degree { S: Motion::ZERO, psi_d: Motion::ZERO, psi_dd: Motion::ZERO, spread: Motion::ZERO };
        Self {
            gyro: vec![Gyro::ZERO; n],
            f: vec![Force::ZERO; n],
            degrees: vec![still; n_v],
            axes: vec![[[0.0; 4]; 6]; n_groups(n_v)],
            by_position: vec![[[0.0; 4]; 9]; n_groups(n_v)],
            by_velocity: vec![[[0.0; 4]; 9]; n_groups(n_v)],
            projectors: vec![[[0.0; 4]; 6]; n_groups(n_v)],
            row_start: vec![0; n + 1],
            a: vec![0.0; n_v],
        }
    }
}

/// The rows to contract with, by body.
pub(crate) trait Rows {
    fn of_body(&self, i: usize) -> Range<usize>;
    /// From the first row of body `first` to the last of body `last`.
    fn of_run(&self, first: usize, last: usize) -> Range<usize>;
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
    fn of_run(&self, first: usize, last: usize) -> Range<usize> {
        self.0.v_range(first).start..self.0.v_range(last).end
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
    fn of_run(&self, first: usize, last: usize) -> Range<usize> {
        self.start[first]..self.start[last + 1]
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
    place(model, work, rows, n_rows);
    let (dq, dv) = (dq.as_mut_slice(), dv.as_mut_slice());
    dq.fill(0.0);
    dv.fill(0.0);

    // tips to base: I^C, B^C, f^C of body i are complete when it is reached
    let Work { derivative: scratch, frames, IC, .. } = work;
    for i in (1..model.n_bodies()).rev() {
        let p = model.parent[i];
        for dof in model.v_range(i) {
            let d = &scratch.degrees[dof];
            let (gyro, IC) = (&scratch.gyro[i], &IC[i]);
            let by_q = gyro.times(&d.psi_d) + IC.times(&d.psi_dd) + d.S.cross_force(&scratch.f[i]);
            let by_v = gyro.times(&d.S) + IC.times(&d.spread);
            let column = dof * n_rows..(dof + 1) * n_rows;
            let above = frames.runs_from(model, p).map(|(first, last)| rows.of_run(first, last));
            pass_up(above, &scratch.projectors, [(by_q, &mut dq[column.clone()]), (by_v, &mut dv[column])]);
        }
        for row in rows.of_body(i) {
            let P = rows.projector(i, row);
            let P = frames.motion(i, &P);
            let (PB, PI) = (scratch.gyro[i].row(&P), IC[i].times(&P));
            let c = splat([
                PB[0],
                PB[1],
                PB[2],
                PI.moment[0],
                PI.moment[1],
                PI.moment[2],
                PI.force[0],
                PI.force[1],
                PI.force[2],
            ]);
            for (first, last) in frames.runs_from(model, i) {
                each_group(model.v_range(first).start..model.v_range(last).end, |group, lanes| {
                    let by_q = products(&c, &scratch.by_position[group]);
                    write_apart(by_q, group, lanes.clone(), &mut dq[row..], n_rows);
                    let by_v = products(&c, &scratch.by_velocity[group]);
                    write_apart(by_v, group, lanes, &mut dv[row..], n_rows);
                });
            }
        }
        if p != 0 {
            let (above, below) = IC.split_at_mut(i);
            above[p] += below[0];
            let (above, below) = scratch.gyro.split_at_mut(i);
            above[p].B += below[0].B;
            above[p].Bt += below[0].Bt;
            above[p].p += below[0].p;
            let f = scratch.f[i];
            scratch.f[p] += f;
        }
    }
    check_finite("rnea_derivatives", dq)?;
    check_finite("rnea_derivatives", dv)
}

/// Products of forces with the projectors of the rows above, each into a column.
#[inline(always)]
pub(crate) fn pass_up<const N: usize>(
    above: impl Iterator<Item = Range<usize>>,
    projectors: &[Group<6>],
    forces: [(Force, &mut [f64]); N],
) {
    let mut columns = forces.map(|(f, column)| (splat(f.to_array()), column));
    for rows in above {
        each_group(rows, |group, lanes| {
            for (f, column) in &mut columns {
                write(products(f, &projectors[group]), group, lanes.clone(), column);
            }
        });
    }
}

/// The projectors of all rows in the frames of the trees.
pub(crate) fn place_rows(
    model: &Model,
    frames: &TreeFrames,
    rows: &impl Rows,
    n_rows: usize,
    projectors: &mut Vec<Group<6>>,
) {
    projectors.clear();
    projectors.resize(n_groups(n_rows), [[0.0; 4]; 6]);
    for i in 1..model.n_bodies() {
        for row in rows.of_body(i) {
            put(projectors, row, frames.motion(i, &rows.projector(i, row)).to_array());
        }
    }
}

/// In the frames of the trees: I, 2B and f of every body alone; S, Ψ̇, Ψ̈ and Ψ̇ + Ṡ of every degree of freedom; P of
/// every row.
fn place(model: &Model, work: &mut Work, rows: &impl Rows, n_rows: usize) {
    let Work { derivative: scratch, frames, IC, link, .. } = work;
    frames.place(model, link);
    place_rows(model, frames, rows, n_rows, &mut scratch.projectors);
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (parent, link) = (&link[node.parent], &link[i]);
        let (v_p, a_p) = (link.X.motion(&parent.vel), link.X.motion(&parent.acc));
        IC[i] = node.I.back(&frames.X[i]);
        scratch.gyro[i] = Gyro::of_body(&node.I, &link.vel).back(&frames.X[i]);
        scratch.f[i] = frames.force(i, &link.f);
        for (k, dof) in model.v_range(i).enumerate() {
            let S = node.kernel.axis(k);
            let psi_d = v_p.cross(&S);
            let psi_dd = a_p.cross(&S) + v_p.cross(&psi_d);
            let spread = psi_d + link.vel.cross(&S);
            let [S, psi_d, psi_dd, spread] = [S, psi_d, psi_dd, spread].map(|m| frames.motion(i, &m));
            scratch.degrees[dof] = Degree { S, psi_d, psi_dd, spread };
            put(&mut scratch.by_position, dof, beside(&psi_d, &psi_dd));
            put(&mut scratch.by_velocity, dof, beside(&S, &spread));
        }
    }
}

/// The angular part of one motion, then the other.
#[inline(always)]
fn beside(angular: &Motion, whole: &Motion) -> [f64; 9] {
    let (a, [b, c, d, e, f, g]) = (angular.angular, whole.to_array());
    [a[0], a[1], a[2], b, c, d, e, f, g]
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
    solve_columns(model, work, [(dq, Sides::Negative), (dv, Sides::Negative), (dtau, Sides::Identity)])
}

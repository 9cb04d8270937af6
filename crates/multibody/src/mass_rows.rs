//! Derivatives of row values of the joint forces by the accelerations, and by the state when the accelerations
//! follow from it.
//!
//! With the composite inertia I^C of the bodies beyond a joint,
//!
//! ```text
//! j = i or above i:   ∂(P·f_i)/∂q̈_j = Pᵀ I^C_i S_j
//! j beyond i:         ∂(P·f_i)/∂q̈_j = Pᵀ I^C_j S_j
//! ```
//!
//! in the [frame of the tree](crate::tree_frame). One row P_i for each joint gives the matrix M_P of
//! [`crate::factor_rows`], and where `P_iᵀ f_i + armature q̈_i = τ_i` holds with P at rest,
//!
//! ```text
//! ∂q̈/∂x = −M_P⁻¹ ∂(P f)/∂x,   x = q, q̇          ∂q̈/∂τ = M_P⁻¹
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::columns::{Sides, solve_columns_rows};
use crate::derivatives::{Listed, Row, Rows, contract, index_rows, pass_up, place_rows};
use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::kinematics::transforms;
use crate::model::Model;
use crate::rows::factor_rows;
use crate::spatial::Motion;
use crate::tree_frame::{each_group, products, put, splat, write_apart};
use crate::work::Work;
use nalgebra::DMatrix;
use std::ops::Range;

/// One row for each one-degree joint, the axes of free ones, none for those that are locked.
struct PerJoint<'a> {
    model: &'a Model,
    rows: &'a [Motion],
    locked: &'a [bool],
}

impl Rows for PerJoint<'_> {
    #[inline(always)]
    fn of_body(&self, i: usize) -> Range<usize> {
        if self.locked.get(i) == Some(&true) { 0..0 } else { self.model.v_range(i) }
    }

    #[inline(always)]
    fn of_run(&self, first: usize, last: usize) -> Range<usize> {
        self.model.v_range(first).start..self.model.v_range(last).end
    }

    #[inline(always)]
    fn projector(&self, i: usize, row: usize) -> Motion {
        match self.model.node[i].kernel {
            Kernel::Free => Motion::unit(row - self.model.v_index[i]),
            _ => self.rows[i],
        }
    }
}

/// Fills `out` (`n_v` × `n_v`) with `M_P[i][j] = P_iᵀ ∂f_i/∂q̈_j + armature δ_ij` at `q`, the matrix that
/// [`crate::factor_rows`] factorises when nothing is locked. `rows` as there: `n_bodies` entries, those of fixed and
/// free joints and of the world ignored; a free joint has its six axes.
pub fn mass_rows(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    rows: &[Motion],
    out: &mut DMatrix<f64>,
) -> Result<(), Error> {
    work.check(model, q, [])?;
    check_length("rows", rows.len(), model.n_bodies())?;
    let per_joint = PerJoint { model, rows, locked: &[] };
    inertias(model, work, q, &per_joint, model.n_v, out)?;
    let armature = model.armature.iter().zip(&work.rows.armature).enumerate();
    armature.for_each(|(k, (own, change))| out[(k, k)] += own + change);
    Ok(())
}

/// Fills `out` (`rows.len()` × `n_v`) with ∂(P·f)/∂q̈ for any scalars of the joint forces, the third beside the two of
/// [`crate::rnea_derivatives_rows`]. Rows come ordered by body, any number of them to a body. Armature acts inside the
/// joints and is not part of it.
pub fn rnea_inertia_rows(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    rows: &[Row],
    out: &mut DMatrix<f64>,
) -> Result<(), Error> {
    work.check(model, q, [])?;
    let mut start = std::mem::take(&mut work.derivative.row_start);
    let result = index_rows(model, rows, &mut start)
        .and_then(|()| inertias(model, work, q, &Listed { rows, start: &start }, rows.len(), out));
    work.derivative.row_start = start;
    result
}

/// Fills ∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ = M_P⁻¹ (each `n_v` × `n_v`) of joints that read their forces along `rows`, with P
/// fixed and the joints of `locked` at rest, at `q`, `v` and the accelerations `a` that solve their equations. Rows of
/// locked joints are zero, and so are their columns of ∂q̈/∂τ. For a free joint "∂/∂q" means along the chart of
/// [`crate::chart_point`].
pub fn rows_derivatives(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    v: &[f64],
    a: &[f64],
    rows: &[Motion],
    locked: &[bool],
    [dq, dv, dtau]: [&mut DMatrix<f64>; 3],
) -> Result<(), Error> {
    work.check(model, q, [("v", v), ("a", a)])?;
    check_length("rows of dtau", dtau.nrows(), model.n_v)?;
    check_length("columns of dtau", dtau.ncols(), model.n_v)?;
    // entries of locked joints must not be read
    check_finite("rows_derivatives", v)?;
    check_finite("rows_derivatives", a)?;
    factor_rows(model, work, q, rows, locked)?;
    contract(model, work, (q, v, a), &PerJoint { model, rows, locked }, model.n_v, dq, dv)?;

    // M_P x = −∂(P f)/∂(…), all columns
    solve_columns_rows(model, work, [(dq, Sides::Negative), (dv, Sides::Negative), (dtau, Sides::Identity)])
}

fn inertias(
    model: &Model,
    work: &mut Work,
    q: &[f64],
    rows: &impl Rows,
    n_rows: usize,
    out: &mut DMatrix<f64>,
) -> Result<(), Error> {
    check_length("rows of out", out.nrows(), n_rows)?;
    check_length("columns of out", out.ncols(), model.n_v)?;
    transforms(model, work, q);
    let out = out.as_mut_slice();
    out.fill(0.0);
    let Work { derivative: scratch, frames, IC, link, .. } = work;
    frames.place(model, link);
    place_rows(model, frames, rows, n_rows, &mut scratch.projectors);
    for (i, node) in model.node.iter().enumerate().skip(1) {
        IC[i] = node.I.back(&frames.X[i]);
        for (k, dof) in model.v_range(i).enumerate() {
            put(&mut scratch.axes, dof, frames.motion(i, &node.kernel.axis(k)).to_array());
        }
    }

    // tips to base: I^C of body i is complete when it is reached
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        // change of the forces through the joints above body i with its degrees
        for (k, dof) in model.v_range(i).enumerate() {
            let F = IC[i].times(&frames.motion(i, &node.kernel.axis(k)));
            let above = frames.runs_from(model, node.parent).map(|(first, last)| rows.of_run(first, last));
            pass_up(above, &scratch.projectors, [(F, &mut out[dof * n_rows..(dof + 1) * n_rows])]);
        }
        // change of the force through its joint with its own degrees and those above
        for row in rows.of_body(i) {
            let PI = splat(IC[i].times(&frames.motion(i, &rows.projector(i, row))).to_array());
            for (first, last) in frames.runs_from(model, i) {
                each_group(model.v_range(first).start..model.v_range(last).end, |group, lanes| {
                    write_apart(products(&PI, &scratch.axes[group]), group, lanes, &mut out[row..], n_rows);
                });
            }
        }
        if node.parent != 0 {
            let (above, below) = IC.split_at_mut(i);
            above[node.parent] += below[0];
        }
    }
    // the position of a joint on the world need not reach the matrix: a look at the numbers themselves
    check_finite("mass_rows", q)?;
    check_finite("mass_rows", out)
}

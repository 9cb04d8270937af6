//! Mass matrix: the composite-rigid-body algorithm (RBDA table 6.2).
//!
//! ```text
//! IC_p += IC_i seen from p        F = IC_i S_i        M_ii = S_iᵀ F + armature        M_ij = S_jᵀ F,  j from i to the world
//! ```
//!
//! Here alone the links keep their own origins but share the world's axes: of the n·depth transforms of F from joint to
//! joint only the change of origin is left, n ← n + r × f, and inertias are turned once each.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::model::Model;
use crate::spatial::{Force, Motion, V3};
use crate::trig::sin_cos;
use crate::work::{Frame, Work};
use nalgebra::DMatrix;

/// Fills `M` (`n_v` × `n_v`) with the mass matrix at `q`, both triangles. O(n · depth).
pub fn crba(model: &Model, work: &mut Work, q: &[f64], M: &mut DMatrix<f64>) -> Result<(), Error> {
    work.check(model, q, [])?;
    check_length("rows of M", M.nrows(), model.n_v)?;
    check_length("columns of M", M.ncols(), model.n_v)?;
    let (n_v, M) = (model.n_v, M.as_mut_slice());
    // by the kilobyte: long fills go byte by byte on some machines
    M.chunks_mut(128).for_each(|part| part.fill(0.0));

    // base to tips: axes, offsets and inertias of the links, world axes
    let mut sum = V3::ZERO;
    for (i, node) in model.node.iter().enumerate().skip(1) {
        let (above, below) = work.frame.split_at_mut(i);
        let (R_p, X_T) = (&above[node.parent].R, &node.X_T);
        let frame = &mut below[0];
        if node.kernel == Kernel::Revolute {
            let angle = sin_cos(q[node.q]);
            frame.R = R_p.matrix(&X_T.Et).turned(angle);
            frame.r = R_p.on(X_T.r);
            frame.axis = Motion::of(frame.R.0[2], V3::ZERO);
        } else {
            let X = node.kernel.transform(X_T, q, node.q);
            frame.R = R_p.matrix(&X.Et);
            frame.r = R_p.on(X.r);
            frame.axis = Motion::of(V3::ZERO, frame.R.0[2]);
        }
        work.IC[i] = node.I.turned(&frame.R);
        sum += frame.R.0[0] + frame.R.0[1] + frame.r;
    }

    // tips to base: composite inertias are complete when their joint is reached
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        let (above, below) = work.IC.split_at_mut(i);
        let (IC, frame, k) = (&below[0], &work.frame[i], node.v);
        let axis = frame.R.0[2];
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Revolute => {
                let F = IC.about(axis);
                M[k * n_v + k] = axis.dot(F.moment) + model.armature[k];
                climb(&work.frame, i, F, M, n_v, k);
            }
            Kernel::Prismatic => {
                M[k * n_v + k] = IC.mass + model.armature[k];
                climb(&work.frame, i, IC.along(axis), M, n_v, k);
            }
            Kernel::Free => {
                for l in 0..6 {
                    let axis = frame.R.0[l % 3];
                    let F = if l < 3 { IC.about(axis) } else { IC.along(axis) };
                    for (m, entry) in in_axes(frame, &F).into_iter().enumerate().take(l + 1) {
                        M[(k + l) * n_v + k + m] = entry;
                        M[(k + m) * n_v + k + l] = entry;
                    }
                    climb(&work.frame, i, F, M, n_v, k + l);
                }
            }
        }
        if node.parent != 0 {
            above[node.parent] += IC.shifted(frame.r);
        }
    }
    // every position reaches the frame of its joint
    check_finite("crba", &[sum.sum()])
}

/// `S_jᵀ F` for every joint j between body `i` and the world, into the row and the column of one velocity.
#[inline(always)]
fn climb(frame: &[Frame], i: usize, mut F: Force, M: &mut [f64], n_v: usize, column: usize) {
    let mut store = |row: usize, entry: f64| {
        M[row * n_v + column] = entry;
        M[column * n_v + row] = entry;
    };
    let mut here = &frame[i];
    while here.parent != 0 {
        F.moment += here.r.cross(F.force);
        here = &frame[here.parent];
        if here.n_v == 1 {
            store(here.v, here.axis.dot(&F));
        } else if here.n_v == 6 {
            in_axes(here, &F).into_iter().enumerate().for_each(|(l, F)| store(here.v + l, F));
        }
    }
}

/// A force in world axes by its six components in link axes.
fn in_axes(frame: &Frame, F: &Force) -> [f64; 6] {
    let [x, y, z] = frame.R.0;
    [x.dot(F.moment), y.dot(F.moment), z.dot(F.moment), x.dot(F.force), y.dot(F.force), z.dot(F.force)]
}

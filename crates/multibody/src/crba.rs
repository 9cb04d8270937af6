//! Mass matrix: the composite-rigid-body algorithm (RBDA table 6.2).
//!
//! ```text
//! IC_p += IC_i seen from p        F = IC_i S_i        M_ii = S_iᵀ F + armature   M_ij = S_jᵀ F,  j from i to the world
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
    for i in 1..model.node.len() {
        let node = &model.node[i];
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
        frame.IC = node.I.turned(&frame.R);
        sum += frame.R.0[0] + frame.R.0[1] + frame.r;
    }

    // tips to base: composite inertias are complete when their joint is reached
    for i in (1..model.node.len()).rev() {
        let (above, below) = work.frame.split_at_mut(i);
        let frame = &below[0];
        let (IC, axis, k) = (&frame.IC, frame.R.0[2], frame.v);
        if frame.kernel == Kernel::Revolute {
            let F = IC.about(axis);
            let own = axis.dot(F.moment) + frame.armature;
            climb(above, frame, F, M, n_v, k)[k] = own;
        } else if frame.kernel == Kernel::Prismatic {
            climb(above, frame, IC.along(axis), M, n_v, k)[k] = IC.mass + frame.armature;
        } else if frame.kernel == Kernel::Free {
            for l in 0..6 {
                let axis = frame.R.0[l % 3];
                let F = if l < 3 { IC.about(axis) } else { IC.along(axis) };
                climb(above, frame, F, M, n_v, k + l);
                for (m, entry) in in_axes(frame, &F).into_iter().enumerate().take(l + 1) {
                    M[(k + l) * n_v + k + m] = entry;
                    M[(k + m) * n_v + k + l] = entry;
                }
            }
        }
        if frame.parent != 0 {
            above[frame.parent].IC += IC.shifted(frame.r);
        }
    }
    // every position reaches the frame of its joint
    check_finite("crba", &[sum.sum()])
}

/// `S_jᵀ F` for every joint j between the body `from` and the world, into the row and the column of velocity `k`; the
/// column. `above` are the bodies before `from`. Consecutive bodies are handled in one loop.
#[inline(always)]
fn climb<'a>(above: &[Frame], from: &Frame, mut F: Force, M: &'a mut [f64], n_v: usize, k: usize) -> &'a mut [f64] {
    // velocities nearer to the world come before k: their rows on the left, column k on the right
    let (rows, column) = M.split_at_mut(k * n_v);
    let (mut here, mut before) = (from, above);
    loop {
        // bodies of one degree each, right before this one
        let run = &before[here.run..];
        let entries = &mut column[here.v - run.len()..here.v];
        let (mut r, mut mirrored) = (here.r, here.v * n_v + k);
        for (frame, entry) in run.iter().zip(entries).rev() {
            F.moment += r.cross(F.force);
            r = frame.r;
            *entry = frame.axis.dot(&F);
            mirrored -= n_v;
            rows[mirrored] = *entry;
        }
        let parent = here.before_run;
        if parent == 0 {
            return column;
        }
        F.moment += r.cross(F.force);
        (here, before) = (&above[parent], &above[..parent]);
        let mut store = |l: usize, entry: f64| {
            column[l] = entry;
            rows[l * n_v + k] = entry;
        };
        match here.kernel {
            Kernel::Revolute | Kernel::Prismatic => store(here.v, here.axis.dot(&F)),
            Kernel::Fixed => {}
            Kernel::Free => in_axes(here, &F).into_iter().enumerate().for_each(|(l, F)| store(here.v + l, F)),
        }
    }
}

/// A force in world axes by its six components in link axes.
fn in_axes(frame: &Frame, F: &Force) -> [f64; 6] {
    let [x, y, z] = frame.R.0;
    [x.dot(F.moment), y.dot(F.moment), z.dot(F.moment), x.dot(F.force), y.dot(F.force), z.dot(F.force)]
}

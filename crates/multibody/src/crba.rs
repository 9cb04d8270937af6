//! Mass matrix: the composite-rigid-body algorithm (RBDA table 6.2).
//!
//! ```text
//! IC_p += Xᵀ IC X        F = IC_i S_i        M_ii = S_iᵀ F + armature        M_ij = S_jᵀ F,  F ← Xᵀ F up the tree
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite, check_length};
use crate::joint::Kernel;
use crate::kinematics::transforms;
use crate::model::Model;
use crate::spatial::Force;
use crate::work::{Link, Work};
use nalgebra::DMatrix;

/// Fills `M` (`n_v` × `n_v`) with the mass matrix at `q`, both triangles. O(n · depth).
pub fn crba(model: &Model, work: &mut Work, q: &[f64], M: &mut DMatrix<f64>) -> Result<(), Error> {
    work.check(model, q, [])?;
    check_length("rows of M", M.nrows(), model.n_v)?;
    check_length("columns of M", M.ncols(), model.n_v)?;
    transforms(model, work, q);
    let (n_v, link, M) = (model.n_v, &work.link[..], M.as_mut_slice());
    // column by column: short fills are a few stores
    M.chunks_exact_mut(n_v.max(1)).for_each(|column| column.fill(0.0));
    work.IC.iter_mut().zip(&model.node).for_each(|(IC, node)| *IC = node.I);
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        let IC = &work.IC[i];
        match node.kernel {
            Kernel::Fixed => {}
            Kernel::Revolute => {
                let F = IC.about_z();
                M[node.v * n_v + node.v] = F.moment[2] + model.armature[node.v];
                climb(model, link, i, F, M, node.v);
            }
            Kernel::Prismatic => {
                let F = IC.along_z();
                M[node.v * n_v + node.v] = F.force[2] + model.armature[node.v];
                climb(model, link, i, F, M, node.v);
            }
            Kernel::Free => {
                for k in 0..6 {
                    let F = IC.times(&node.kernel.axis(k));
                    for (l, entry) in F.to_array().into_iter().enumerate().take(k + 1) {
                        M[(node.v + k) * n_v + node.v + l] = entry;
                        M[(node.v + l) * n_v + node.v + k] = entry;
                    }
                    climb(model, link, i, F, M, node.v + k);
                }
            }
        }
        if node.parent != 0 {
            let (above, below) = work.IC.split_at_mut(i);
            above[node.parent] += below[0].back(&link[i].X);
        }
    }
    // every position reaches the transform of its joint
    let zero: f64 = link.iter().map(|link| (link.X.E.0[0] + link.X.E.0[1] + link.X.r).sum() * 0.0).sum();
    check_finite("crba", &[zero])
}

/// `S_jᵀ F` for every joint j between body `i` and the world, into the row and the column of one velocity.
#[inline(always)]
fn climb(model: &Model, link: &[Link], i: usize, mut F: Force, M: &mut [f64], column: usize) {
    let n_v = model.n_v;
    let mut store = |row: usize, entry: f64| {
        M[row * n_v + column] = entry;
        M[column * n_v + row] = entry;
    };
    let (mut j, mut p) = (i, model.node[i].parent);
    while p != 0 {
        F = link[j].X.force_back(&F);
        let above = &model.node[p];
        if above.kernel == Kernel::Revolute {
            store(above.v, F.moment[2]);
        } else if above.kernel == Kernel::Prismatic {
            store(above.v, F.force[2]);
        } else if above.kernel == Kernel::Free {
            F.to_array().into_iter().enumerate().for_each(|(l, F)| store(above.v + l, F));
        }
        (j, p) = (p, above.parent);
    }
}

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
use crate::work::Work;
use nalgebra::DMatrix;

/// Fills `M` (`n_v` × `n_v`) with the mass matrix at `q`, both triangles. O(n · depth).
pub fn crba(model: &Model, work: &mut Work, q: &[f64], M: &mut DMatrix<f64>) -> Result<(), Error> {
    work.check(model, q, [])?;
    check_length("rows of M", M.nrows(), model.n_v)?;
    check_length("columns of M", M.ncols(), model.n_v)?;
    transforms(model, work, q);
    let (n_v, link, M) = (model.n_v, &work.link[..], M.as_mut_slice());
    M.fill(0.0);
    work.IC.iter_mut().zip(&model.node).for_each(|(IC, node)| *IC = node.I);
    for (i, node) in model.node.iter().enumerate().skip(1).rev() {
        for k in 0..node.kernel.n_v() {
            let column = node.v + k;
            let mut F = work.IC[i].times(&node.kernel.axis(k));

            // within the joint
            for l in 0..=k {
                store(M, n_v, node.v + l, column, node.kernel.axis(l).dot(&F));
            }
            M[column * n_v + column] += model.armature[column];

            // and with every joint between it and the world
            let (mut j, mut p) = (i, node.parent);
            while p != 0 {
                F = link[j].X.force_back(&F);
                let above = &model.node[p];
                match above.kernel {
                    Kernel::Revolute => store(M, n_v, above.v, column, F.moment[2]),
                    Kernel::Prismatic => store(M, n_v, above.v, column, F.force[2]),
                    Kernel::Free => {
                        F.to_array().into_iter().enumerate().for_each(|(l, F)| store(M, n_v, above.v + l, column, F));
                    }
                    Kernel::Fixed => {}
                }
                (j, p) = (p, above.parent);
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

/// Writes an entry and its mirror image.
#[inline(always)]
fn store(M: &mut [f64], n_v: usize, row: usize, column: usize, entry: f64) {
    M[row * n_v + column] = entry;
    M[column * n_v + row] = entry;
}

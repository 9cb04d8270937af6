//! Mass matrix: the composite-rigid-body algorithm (RBDA table 6.2).
//!
//! ```text
//! IC_p += Xᵀ IC X        F = IC_i S_i        M_ii = S_iᵀ F + armature        M_ij = S_jᵀ F,  F ← Xᵀ F up the tree
//! ```

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_finite, check_length};
use crate::kinematics::transforms;
use crate::model::Model;
use crate::work::Work;
use nalgebra::DMatrix;

/// Fills `M` (`n_v` × `n_v`) with the mass matrix at `q`, both triangles. O(n · depth).
pub fn crba(model: &Model, work: &mut Work, q: &[f64], M: &mut DMatrix<f64>) -> Result<(), Error> {
    work.check(model, q, &[])?;
    check_length("rows of M", M.nrows(), model.n_v)?;
    check_length("columns of M", M.ncols(), model.n_v)?;
    transforms(model, work, q);
    let (n, n_v) = (model.n_bodies(), model.n_v);
    let (X, IC, M) = (&work.X[..n], &mut work.IC[..n], M.as_mut_slice());
    M.fill(0.0);

    // composite inertias wait for their children
    IC.copy_from_slice(&model.I);
    for i in (1..n).rev() {
        let kernel = model.kernel[i];
        for k in 0..kernel.n_v() {
            let (column, S) = (model.v_index[i] + k, kernel.axis(k));
            let mut F = IC[i].times(&S);

            // within the joint
            for l in 0..=k {
                let entry = kernel.axis(l).dot(&F);
                M[(model.v_index[i] + l) * n_v + column] = entry;
                M[column * n_v + model.v_index[i] + l] = entry;
            }
            M[column * n_v + column] += model.armature[column];

            // and with every joint below it in the tree
            let mut j = i;
            while model.parent[j] != 0 {
                F = X[j].force_back(&F);
                j = model.parent[j];
                let mut entries = [0.0; 6];
                let vj = model.v_range(j);
                let entries = &mut entries[..vj.len()];
                model.kernel[j].effort(&F, entries);
                for (row, &entry) in vj.zip(entries.iter()) {
                    M[row * n_v + column] = entry;
                    M[column * n_v + row] = entry;
                }
            }
        }
        let p = model.parent[i];
        if p != 0 {
            let seen = IC[i].back(&X[i]);
            IC[p] += seen;
        }
    }
    // every position reaches the diagonal entry of some joint above it or its own transform
    let zero: f64 = X.iter().map(|X| X.E.m11 + X.E.m22 + X.r.x + X.r.y + X.r.z).sum::<f64>() * 0.0;
    check_finite("crba", &[zero])
}

//! The pivot of a free joint in the recursion of [`MassOperator`](super::MassOperator).

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::aba::free_pivot;
use crate::error::Error;
use crate::model::Model;
use crate::spatial::{ArticulatedInertia, Mask, Scalar};

/// L D Lᵀ of the 6×6 pivot of a free joint: no roots, so that results scale with units of powers of two to the bit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreePivot<S: Scalar> {
    L: [[S; 6]; 6],
    D_inv: [S; 6],
}

impl<S: Scalar> FreePivot<S> {
    pub fn new(model: &Model, i: usize, IA: &ArticulatedInertia<S>) -> Result<Self, Error> {
        let matrix = blocks(IA);
        let (mut L, mut D) = ([[S::ZERO; 6]; 6], [S::ZERO; 6]);
        for r in 0..6 {
            for c in 0..r {
                let sum = (0..c).fold(S::ZERO, |sum, k| sum + L[r][k] * D[k] * L[c][k]);
                L[r][c] = (matrix[r][c] - sum) / D[c];
            }
            D[r] = matrix[r][r] - (0..r).fold(S::ZERO, |sum, k| sum + L[r][k] * L[r][k] * D[k]);
        }
        let size = [0, 3].map(|k| matrix[k][k] + matrix[k + 1][k + 1] + matrix[k + 2][k + 2]);
        // seldom a pivot this small, or none: then a closer look
        let is_sound = |k: usize| (S::splat(1e-6) * size[k / 3]).is_below(D[k]);
        let is_sound = (1..6).fold(is_sound(0), |all, k| all & is_sound(k));
        for lane in (0..S::LANES).filter(|&lane| !is_sound.lane(lane)) {
            let looked = free_pivot(model, i, &IA.lane(lane));
            if S::LANES == 1 {
                looked?;
            } else if looked.is_err() {
                let is_bad = S::Mask::from_lanes(|k| k == lane);
                D = D.map(|D| S::splat(f64::NAN).or_else(is_bad, D));
            }
        }
        Ok(Self { L, D_inv: D.map(|D| S::splat(1.0) / D) })
    }

    pub fn solve(&self, mut x: [S; 6]) -> [S; 6] {
        for r in 0..6 {
            x[r] -= (0..r).fold(S::ZERO, |sum, k| sum + self.L[r][k] * x[k]);
        }
        x.iter_mut().zip(self.D_inv).for_each(|(x, D_inv)| *x = *x * D_inv);
        for r in (0..6).rev() {
            x[r] -= (r + 1..6).fold(S::ZERO, |sum, k| sum + self.L[k][r] * x[k]);
        }
        x
    }
}

/// The 6×6 matrix, row by row.
fn blocks<S: Scalar>(IA: &ArticulatedInertia<S>) -> [[S; 6]; 6] {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| match (r < 3, c < 3) {
            (true, true) => IA.I.0[c].part(r),
            (true, false) => IA.Ht.0[r].part(c - 3),
            (false, true) => IA.Ht.0[c].part(r - 3),
            (false, false) => IA.M.0[c - 3].part(r - 3),
        })
    })
}

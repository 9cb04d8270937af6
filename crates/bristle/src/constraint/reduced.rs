//! The equations without the dependent coordinates, for machines with many of them.
//!
//! With x = T y, y the changes of the independent velocities that can move, (6) of the [parent module](super) is
//!
//! ```text
//! Tᵀ M T y = Tᵀ b,        λ_d = (M x − b)_d                                                              (7)
//! ```
//!
//! since row d of G has its 1 where no other has anything. Parts of the machine that neither the tree nor a coupling
//! joins do not see each other: Tᵀ M T falls into a block for each, and one product M T e serves one velocity of
//! every part at once. A row of 3,000 joints that mimic one another has one independent velocity and takes one
//! product; (6) would take 3,000 substitutions and a matrix of 3,000 × 3,000. Which of the two is used is decided by
//! their cost alone, unless the machine has armature transfers: (6) divides by transferred inertias, (7) does not.
//!
//! **Factors of the tree.** Of M⁻¹ (7) needs nothing. Where loads are reactions, one substitution by the factors of the
//! tree gives the change of every force, M x = b + Gᵀλ. A transfer of ρ to joint a takes ρ r² from joint b, and where
//! links without mass follow one another, M is then indefinite: three hinges in line, only the last link of which has
//! mass. The factors are therefore those of M + P, P being twice what was taken, and the substitution is that of
//!
//! ```text
//! (M + P) x = b + Gᵀλ + P x                                                                              (8)
//! ```

use super::ABSENT;
use crate::constraint::coordinates::Coordinates;
use crate::model::Compiled;
use bristle_integrate::linear::Lu;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Error, Model, Work, factor_rows_at, multiply_rows};

/// So many rows are always eliminated by (6).
pub(super) const FEW: usize = 64;

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Reduced {
    is_used: bool,
    /// The machine has armature transfers.
    is_needed: bool,
    /// The part of each velocity.
    part_of: Vec<usize>,
    /// Independent velocities of each part, and the factors of its block.
    members: Vec<Vec<usize>>,
    blocks: Vec<Lu>,
    /// P of (8) by velocity; what the armatures were changed by before.
    taken: Vec<(usize, f64)>,
    changes: Vec<f64>,
    /// T e, M T e and a right-hand side; `n_v`, and as many as a part has.
    x: Vec<f64>,
    product: Vec<f64>,
    y: Vec<f64>,
}

impl Reduced {
    pub fn new(compiled: &Compiled) -> Self {
        let turning = &compiled.model.turning;
        let n_v = compiled.model.tree.n_v;
        let is_needed = Self::is_needed(compiled);
        // room for all velocities of a part, where it is certain to be used: no step allocates
        let mut sizes = vec![0; turning.n_parts];
        if is_needed {
            turning.part_of.iter().for_each(|&part| sizes[part] += 1);
        }
        let mut taken: Vec<(usize, f64)> = Vec::new();
        for (v, inertia) in compiled.model.armature_transfers.iter().map(|transfer| transfer.from) {
            let inertia = 2.0 * inertia;
            match taken.iter_mut().find(|entry| entry.0 == v) {
                Some(entry) => entry.1 += inertia,
                None => taken.push((v, inertia)),
            }
        }
        Self {
            is_used: false,
            is_needed,
            changes: vec![0.0; taken.len()],
            taken,
            members: sizes.iter().map(|&n| Vec::with_capacity(n)).collect(),
            blocks: sizes.iter().map(|&n| Lu::new(n)).collect(),
            part_of: turning.part_of.clone(),
            x: vec![0.0; n_v],
            product: vec![0.0; n_v],
            y: Vec::with_capacity(sizes.iter().copied().max().unwrap_or(0)),
        }
    }

    /// Whether the equations must be reduced, however few the rows.
    pub fn is_needed(compiled: &Compiled) -> bool {
        !compiled.model.armature_transfers.is_empty()
    }

    pub fn is_used(&self) -> bool {
        self.is_used
    }

    pub fn set_unused(&mut self) {
        self.is_used = false;
    }

    /// Whether det G M⁻¹ Gᵀ is positive: as det Tᵀ M T is, all pivots of M being positive.
    pub fn is_positive(&self) -> bool {
        self.blocks.iter().map(|block| block.determinant().0).product::<f64>() > 0.0
    }

    /// Factors of the tree for (8); `false` where they are those of M.
    pub fn factor_tree(
        &mut self,
        coordinates: &Coordinates,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
    ) -> Result<bool, Error> {
        if !self.is_needed || coordinates.dependent.is_empty() {
            return Ok(false);
        }
        for (change, &(v, inertia)) in self.changes.iter_mut().zip(&self.taken) {
            *change = work.armature_change(v);
            work.change_armature(v, *change + inertia);
        }
        let factored = factor_rows_at(model, work, rows, &coordinates.locked);
        self.changes.iter().zip(&self.taken).for_each(|(&change, &(v, _))| work.change_armature(v, change));
        factored.map(|()| true)
    }

    /// Factors of the blocks; `false` where (6) costs less.
    pub fn factor(
        &mut self,
        coordinates: &Coordinates,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
        joint_of: &[usize],
    ) -> Result<bool, Error> {
        self.members.iter_mut().for_each(Vec::clear);
        for v in (0..model.n_v).filter(|&v| !coordinates.locked[joint_of[v]] && coordinates.number[v] == ABSENT) {
            self.members[self.part_of[v]].push(v);
        }
        let cube = |n: usize| (n as f64).powi(3);
        let m = coordinates.dependent.len();
        let is_cheaper = || m > FEW && self.members.iter().map(|members| cube(members.len())).sum::<f64>() < cube(m);
        self.is_used = m > 0 && (self.is_needed || is_cheaper());
        if !self.is_used {
            return Ok(false);
        }
        let Self { members, blocks, x, product, .. } = self;
        for (members, block) in members.iter().zip(blocks.iter_mut()) {
            if block.capacity() < members.len() {
                *block = Lu::new(members.len());
            }
            block.matrix_mut(members.len());
        }
        let most = members.iter().map(Vec::len).max().unwrap_or(0);
        for column in 0..most {
            // one velocity of every part
            x.fill(0.0);
            members.iter().filter_map(|members| members.get(column)).for_each(|&v| x[v] = 1.0);
            coordinates.rates_of_change(x, joint_of);
            multiply_rows(model, work, rows, x, product)?;
            gather(coordinates, product, joint_of);
            for (members, block) in members.iter().zip(blocks.iter_mut()).filter(|(members, _)| column < members.len())
            {
                let matrix = block.matrix_mut(members.len());
                members.iter().enumerate().for_each(|(row, &v)| matrix[(row, column)] = product[v]);
            }
        }
        for (members, block) in members.iter().zip(blocks.iter_mut()) {
            let singular = |_| {
                let joint = members.first().map_or_else(String::new, |&v| model.joint_names[joint_of[v]].clone());
                Error::Singular { joint, inertia: 0.0 }
            };
            block.factor().map_err(singular)?;
        }
        Ok(true)
    }

    /// x by (7), and Gᵀλ and P x of (8) added to `b`; `false` where (6) is used.
    pub fn correct(
        &mut self,
        coordinates: &Coordinates,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
        joint_of: &[usize],
        lambda: &mut [f64],
        (x, b): (&mut [f64], &mut [f64]),
    ) -> Result<bool, Error> {
        if !self.is_used {
            return Ok(false);
        }
        let Self { members, blocks, product, y, .. } = self;
        product.copy_from_slice(b);
        gather(coordinates, product, joint_of);
        x.fill(0.0);
        for (members, block) in members.iter().zip(blocks) {
            y.clear();
            y.extend(members.iter().map(|&v| product[v]));
            block.solve(y);
            members.iter().zip(&*y).for_each(|(&v, y)| x[v] = *y);
        }
        coordinates.rates_of_change(x, joint_of);
        multiply_rows(model, work, rows, x, product)?;
        for (lambda, &v) in lambda.iter_mut().zip(&coordinates.dependent) {
            *lambda = product[v] - b[v];
        }
        for (d, &v) in coordinates.dependent.iter().enumerate() {
            let lambda = lambda[d];
            b[v] += lambda;
            for &(i, c) in coordinates.terms_of(d).iter().filter(|&&(i, _)| !coordinates.locked[joint_of[i]]) {
                b[i] -= c * lambda;
            }
        }
        // (8)
        self.taken.iter().for_each(|&(v, inertia)| b[v] += inertia * x[v]);
        Ok(true)
    }
}

/// Tᵀ: what dependent velocities have goes to those that they depend on.
fn gather(coordinates: &Coordinates, b: &mut [f64], joint_of: &[usize]) {
    for (d, &v) in coordinates.dependent.iter().enumerate() {
        let own = b[v];
        coordinates
            .terms_of(d)
            .iter()
            .filter(|&&(i, _)| !coordinates.locked[joint_of[i]])
            .for_each(|&(i, c)| b[i] += c * own);
    }
}

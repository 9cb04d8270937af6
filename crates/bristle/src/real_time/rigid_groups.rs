//! Rigid groups: exact velocities of joints that stuck contacts lock together. A linear solve leaves rounding
//! errors of zero slip. Joints that stuck contacts lock together form one group with one velocity, which is copied to
//! all of them: v_a − v_b is 0.0 whatever the ratios of the gears around; joints locked to the ground have velocity
//! 0.0. The constraints are eliminated over the groups, v_g = Σ T_gi v_i          i: independent groups and prescribed
//! joints                                  (1) A contact whose two joints have the same velocity because of other stuck
//! contacts is locked too, though it may be at its limit: it joins the groups.

use super::reduced_coordinates::{ROUNDING, Sparse, prescribed};
use crate::model::Compiled;
use bristle_integrate::archive::{Archive, Archived};

/// Groups of locked joints; the arrays are made once. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct RigidGroups {
    /// Number of velocities; index n is the ground.
    n: usize,
    /// The two ends of each contact.
    ends: Vec<[usize; 2]>,
    /// Rows of the constraints, and whether each velocity is prescribed.
    constraints: Vec<Sparse>,
    prescribed: Vec<bool>,
    /// Contacts that are stuck, and those that are locked: stuck or held by stuck ones.
    stuck: Vec<bool>,
    locked: Vec<bool>,
    /// The velocity that represents the group of each, ground included.
    representative: Vec<usize>,
    /// Rows in use, n numbers each, brought to reduced form, and the group that each gives.
    rows: Vec<f64>,
    pivots: Vec<usize>,
}

impl Archived for RigidGroups {
    /// The stuck contacts; the groups follow from them.
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.stuck.iter_mut().for_each(|stuck| stuck.archive(archive));
        if archive.is_reading() {
            self.update();
        }
    }
}

impl RigidGroups {
    /// Groups of a machine without stuck contacts.
    pub fn new(compiled: &Compiled) -> Self {
        let n = compiled.model.tree.n_v;
        let mut is_prescribed = vec![false; n];
        prescribed(compiled).iter().for_each(|joint| is_prescribed[joint.v] = true);
        let ends = compiled.inputs.contacts.iter().map(|contact| [contact.v, contact.b.unwrap_or(n)]).collect();
        let constraints = compiled.model.coupled.constraints.iter().map(|coupling| coupling.terms.clone()).collect();
        Self::of(n, ends, constraints, is_prescribed)
    }

    fn of(n: usize, ends: Vec<[usize; 2]>, constraints: Vec<Sparse>, prescribed: Vec<bool>) -> Self {
        let mut groups = Self {
            stuck: vec![false; ends.len()],
            locked: vec![false; ends.len()],
            representative: (0..=n).collect(),
            rows: vec![0.0; n * constraints.len()],
            pivots: Vec::with_capacity(constraints.len()),
            n,
            ends,
            constraints,
            prescribed,
        };
        groups.update();
        groups
    }

    /// Whether each contact is stuck.
    pub fn stuck(&self) -> &[bool] {
        &self.stuck
    }

    /// Whether contact c is locked, by itself or by others.
    pub fn is_locked(&self, c: usize) -> bool {
        self.locked[c]
    }

    /// Sets which contacts are stuck, and finds the groups if that has changed.
    pub fn set_stuck(&mut self, is_stuck: impl Fn(usize) -> bool) {
        let mut is_new = false;
        for (c, stuck) in self.stuck.iter_mut().enumerate() {
            let now = is_stuck(c);
            is_new |= now != *stuck;
            *stuck = now;
        }
        if is_new {
            self.update();
        }
    }

    /// Finds groups and (1), and adds contacts that other contacts lock until there are no more.
    fn update(&mut self) {
        self.locked.copy_from_slice(&self.stuck);
        loop {
            self.group();
            self.eliminate();
            let mut is_complete = true;
            for c in 0..self.ends.len() {
                if !self.locked[c] && self.moves_together(self.ends[c]) {
                    self.locked[c] = true;
                    is_complete = false;
                }
            }
            if is_complete {
                return;
            }
        }
    }

    /// The representative of a group is a prescribed joint, the ground, or its first joint, in this order. Every
    /// velocity refers to another of its group until all groups are found.
    fn group(&mut self) {
        let Self { n, ends, prescribed, locked, representative, .. } = self;
        representative.iter_mut().enumerate().for_each(|(v, representative)| *representative = v);
        for (&[a, b], _) in ends.iter().zip(&*locked).filter(|(_, locked)| **locked) {
            let (a, b) = (find(representative, a), find(representative, b));
            // a prescribed motion is not to be changed, not even by the ground
            let rank = |v: usize| if v == *n { 1 } else { 2 * usize::from(prescribed[v]) };
            let (first, other) = if (rank(b), a) > (rank(a), b) { (b, a) } else { (a, b) };
            representative[other] = first;
        }
        for v in 0..representative.len() {
            representative[v] = find(representative, v);
        }
    }

    /// Eliminates the constraints over the groups, (1): each gives the first of its own groups that may be a pivot.
    fn eliminate(&mut self) {
        let Self { n, constraints, prescribed, representative, rows, pivots, .. } = self;
        let n = *n;
        pivots.clear();
        for constraint in constraints {
            let (before, after) = rows.split_at_mut(n * pivots.len());
            let row = &mut after[..n];
            row.fill(0.0);
            for &(v, c) in constraint.iter().filter(|(v, _)| representative[*v] < n) {
                row[representative[v]] += c;
            }
            for (other, &pivot) in before.chunks_exact(n).zip(&*pivots) {
                subtract(row, other, pivot);
            }
            let largest = row.iter().fold(0.0_f64, |most, c| most.max(c.abs()));
            let magnitude = constraint.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
            let own = constraint.iter().map(|term| representative[term.0]).filter(|&v| v < n);
            let can_be = |&v: &usize| row[v].abs() > (ROUNDING * magnitude).max(1e-3 * largest) && !prescribed[v];
            let Some(pivot) = own.chain(0..n).find(can_be) else { continue };
            let c = row[pivot];
            row.iter_mut().for_each(|x| *x /= c);
            for other in before.chunks_exact_mut(n) {
                subtract(other, row, pivot);
            }
            pivots.push(pivot);
        }
    }

    /// Whether two velocities are equal for all values of the independent ones.
    fn moves_together(&self, [a, b]: [usize; 2]) -> bool {
        let (a, b) = (self.representative[a], self.representative[b]);
        if a == b {
            return true;
        }
        let row = |v: usize| self.pivots.iter().position(|&pivot| pivot == v).map(|k| &self.rows[k * self.n..]);
        let coefficient = |row: Option<&[f64]>, v: usize, k: usize| match row {
            Some(row) => {
                if k == v {
                    0.0
                } else {
                    -row[k]
                }
            }
            None => {
                if k == v {
                    1.0
                } else {
                    0.0
                }
            }
        };
        let rows = (row(a), row(b));
        if rows.0.is_none() && rows.1.is_none() {
            // two independent velocities, or one and the ground
            return false;
        }
        (0..self.n).all(|k| {
            let (a, b) = (coefficient(rows.0, a, k), coefficient(rows.1, b, k));
            (a - b).abs() <= ROUNDING * (a.abs() + b.abs())
        })
    }

    /// Makes velocities obey (1) and their groups, to the last bit.
    pub fn apply(&self, v: &mut [f64]) {
        for (row, &pivot) in self.rows.chunks_exact(self.n.max(1)).zip(&self.pivots) {
            let others = row.iter().zip(&*v).enumerate().filter(|(k, (c, _))| *k != pivot && **c != 0.0);
            v[pivot] = others.fold(0.0, |sum, (_, (c, v))| sum - c * v);
        }
        for k in 0..self.n {
            match self.representative[k] {
                representative if representative == k => {}
                representative => v[k] = v.get(representative).copied().unwrap_or(0.0),
            }
        }
    }
}

/// The representative of the group of v so far; the way to it is halved.
fn find(representative: &mut [usize], mut v: usize) -> usize {
    while representative[v] != v {
        representative[v] = representative[representative[v]];
        v = representative[v];
    }
    v
}

/// Removes column `pivot` from `row` by means of `other`, which has 1 there.
fn subtract(row: &mut [f64], other: &[f64], pivot: usize) {
    let factor = row[pivot];
    if factor != 0.0 {
        for (x, o) in row.iter_mut().zip(other).filter(|(_, o)| **o != 0.0) {
            let size = x.abs() + (factor * o).abs();
            *x -= factor * o;
            if x.abs() <= ROUNDING * size {
                *x = 0.0;
            }
        }
        row[pivot] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUND: usize = 4;

    #[test]
    fn joints_locked_to_the_ground_have_velocity_zero() {
        // v0 = v1, v1 = v2 and v2 = 0, and v0 = v2 once more; v3 geared to v0
        let ends = vec![[0, 1], [1, 2], [2, GROUND], [0, 2]];
        let mut groups = RigidGroups::of(4, ends, vec![vec![(3, 1.0), (0, -7.0)]], vec![false; 4]);
        groups.set_stuck(|_| true);
        let mut v = [1e-17, -3e-16, 2e-18, 5e-15];
        groups.apply(&mut v);
        assert_eq!(v, [0.0; 4]);
        assert!(v.iter().all(|v| v.is_sign_positive()));
    }

    #[test]
    fn prescribed_joint_represents_its_group() {
        let mut groups =
            RigidGroups::of(4, vec![[0, 1], [2, 1]], vec![vec![(0, 1.0), (3, -3.0)]], vec![false, false, true, false]);
        groups.set_stuck(|_| true);
        let mut v = [0.1, 0.2, 0.7, 0.3];
        groups.apply(&mut v);
        assert_eq!(v[..3], [0.7; 3]);
        assert!((v[3] - 0.7 / 3.0).abs() < 1e-16);
    }

    #[test]
    fn stuck_clutch_between_gears_has_no_slip() {
        // v0 = 3 v1, v2 = 0.7 v3, and a clutch between 0 and 2
        let constraints = vec![vec![(0, 1.0), (1, -3.0)], vec![(2, 1.0), (3, -0.7)]];
        let mut groups = RigidGroups::of(4, vec![[0, 2]], constraints, vec![false; 4]);
        groups.set_stuck(|_| true);
        for k in 1..200 {
            let x = (f64::from(k) * 0.377).sin();
            let mut v = [3.0 * x, x, 3.0 * x, 3.0 / 0.7 * x];
            groups.apply(&mut v);
            assert_eq!(v[0], v[2]);
            assert!((v[0] - 3.0 * v[1]).abs() < 1e-15 && (v[2] - 0.7 * v[3]).abs() < 1e-15);
        }
    }

    #[test]
    fn redundant_contact_is_locked() {
        // v0 = 2 v1 with v0 and v1 locked together: nothing moves; a brake on v0 holds nothing more
        let ends = vec![[0, 1], [0, GROUND], [2, 3]];
        let mut groups = RigidGroups::of(4, ends, vec![vec![(0, 1.0), (1, -2.0)]], vec![false; 4]);
        groups.set_stuck(|c| c == 0);
        assert!(groups.is_locked(0) && groups.is_locked(1) && !groups.is_locked(2));
        groups.set_stuck(|_| false);
        assert!((0..3).all(|c| !groups.is_locked(c)));
        // a gear of 1 : 1 made of two others
        let constraints = vec![vec![(0, 1.0), (1, -0.7)], vec![(1, 1.0), (2, -1.0 / 0.7)]];
        assert!(RigidGroups::of(4, vec![[0, 2]], constraints, vec![false; 4]).is_locked(0));
    }
}

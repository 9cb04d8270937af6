//! Rigid groups: exact velocities of joints that stuck contacts lock together.
//!
//! A linear solve leaves rounding errors of zero slip. Joints that stuck contacts lock together form one group with one
//! velocity, which is copied to all of them: v_a − v_b is 0.0 whatever the ratios of the gears around; joints locked to
//! the ground have velocity 0.0. The elimination of [`crate::constraint`] gives
//!
//! ```text
//! v_d = Σ T_di v_i          i: independent velocities, representatives of their groups, and prescribed joints      (1)
//! ```
//!
//! A contact whose two joints have the same velocity because of other stuck contacts is locked too, though it may be at
//! its limit: it joins the groups.

use super::reduced_coordinates::{Sparse, prescribed};
use crate::constraint::{Coordinates, Elimination};
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
    /// Whether each velocity is locked to the ground; `n`, like the offsets of (1), which do not matter.
    grounded: Vec<bool>,
    zeros: Vec<f64>,
    elimination: Elimination,
    /// (1).
    coordinates: Coordinates,
    /// Whether the constraints change from step to step, and whether they have changed since (1) was found.
    has_loops: bool,
    is_stale: bool,
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
        let has_loops = !compiled.model.coupled.closures.is_empty();
        let mut groups = Self::of(n, ends, constraints, is_prescribed);
        if has_loops {
            let n_rows = n + groups.ends.len();
            groups.elimination = Elimination::over(n, (0..n).collect(), n_rows);
            groups.coordinates = Coordinates::over(n, 0, n_rows);
            groups.has_loops = true;
            groups.update();
        }
        groups
    }

    fn of(n: usize, ends: Vec<[usize; 2]>, constraints: Vec<Sparse>, prescribed: Vec<bool>) -> Self {
        let between = ends.iter().filter(|ends| ends[1] < n);
        let n_rows = constraints.len() + between.clone().count();
        let columns = constraints.iter().flatten().map(|term| term.0).chain(between.flatten().copied()).collect();
        let mut groups = Self {
            stuck: vec![false; ends.len()],
            locked: vec![false; ends.len()],
            grounded: vec![false; n],
            zeros: vec![0.0; n],
            elimination: Elimination::over(n, columns, n_rows),
            coordinates: Coordinates::over(n, 0, n_rows),
            n,
            ends,
            constraints,
            prescribed,
            has_loops: false,
            is_stale: false,
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

    /// Takes the constraints from (5) of a machine with loops, at the start of a step.
    pub fn set_constraints(&mut self, of: &Coordinates) {
        self.constraints.resize_with(of.dependent.len(), Sparse::new);
        for (d, constraint) in self.constraints.iter_mut().enumerate() {
            constraint.clear();
            constraint.push((of.dependent[d], 1.0));
            constraint.extend(of.terms_of(d).iter().map(|&(i, c)| (i, -c)));
        }
        self.is_stale = true;
    }

    /// Sets which contacts are stuck, and finds the groups if that has changed.
    pub fn set_stuck(&mut self, is_stuck: impl Fn(usize) -> bool) {
        let mut is_new = false;
        for (c, stuck) in self.stuck.iter_mut().enumerate() {
            let now = is_stuck(c);
            is_new |= now != *stuck;
            *stuck = now;
        }
        if self.has_loops && !self.stuck.contains(&true) {
            // nothing is locked, and the velocities satisfy the constraints
            self.locked.fill(false);
        } else if is_new || self.is_stale {
            self.is_stale = false;
            self.update();
        }
    }

    /// Finds (1), and adds contacts that other contacts lock until there are no more.
    fn update(&mut self) {
        self.locked.copy_from_slice(&self.stuck);
        loop {
            self.eliminate();
            let Self { n, ends, locked, grounded, coordinates, .. } = self;
            let mut is_complete = true;
            for (locked, &[a, b]) in locked.iter_mut().zip(&*ends).filter(|(locked, _)| !**locked) {
                if coordinates.is_still(a, Some(b).filter(|b| b < n), |v| grounded[v]) {
                    *locked = true;
                    is_complete = false;
                }
            }
            if is_complete {
                return;
            }
        }
    }

    /// (1) for the contacts that are locked.
    fn eliminate(&mut self) {
        let Self { n, ends, constraints, prescribed, locked, grounded, zeros, elimination, coordinates, .. } = self;
        grounded.fill(false);
        for (&[a, b], _) in ends.iter().zip(&*locked).filter(|(_, locked)| **locked) {
            // a prescribed motion is not to be changed, not even by the ground
            grounded[a] |= b == *n && !prescribed[a];
        }
        let is_known = |v: usize| prescribed[v] || grounded[v];
        elimination.clear();
        // the groups first: the ratio of a gear between two of them is then exact
        for (&[a, b], _) in ends.iter().zip(&*locked).filter(|(ends, locked)| **locked && ends[1] < *n) {
            let added = elimination.add(&[(a, 1.0), (b, -1.0)], 0.0, is_known);
            if added.map_or_else(|left| left.is_implied, |()| true) {
                elimination.group(a, b);
            }
        }
        for constraint in constraints {
            // a redundant row adds nothing
            let _ = elimination.add_between_groups(constraint, 0.0, is_known);
        }
        elimination.finish(coordinates, zeros, |v| grounded[v]);
    }

    /// Makes velocities obey (1), to the last bit.
    pub fn apply(&self, v: &mut [f64]) {
        if self.has_loops && !self.stuck.contains(&true) {
            return;
        }
        v.iter_mut().zip(&self.grounded).filter(|(_, grounded)| **grounded).for_each(|(v, _)| *v = 0.0);
        self.coordinates.rates(v);
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

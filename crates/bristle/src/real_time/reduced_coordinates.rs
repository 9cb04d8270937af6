//! Reduced coordinates: the independent velocities that a step solves for.
//!
//! ```text
//! v = T y + P v_p          y independent, v_p prescribed;  T and P follow from the constraints G v = 0
//! q = T q_y + P q_p + c    for dependent joints, c from their initial positions
//! ```
//!
//! The constraints do not change, so neither do T, P and the rows W T of the contacts: they are found once.

use crate::component::Drive;
use crate::model::{Compiled, Contact};

/// Coefficients below this part of a row's largest are what rounding has left of zero.
pub(super) const ROUNDING: f64 = 1e-12;

/// A sparse row: columns and coefficients.
pub(super) type Sparse = Vec<(usize, f64)>;

/// A joint whose motion is prescribed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prescribed {
    /// Its velocity.
    pub v: usize,
    /// Its drive.
    pub drive: usize,
}

/// A velocity that constraints make a combination of others.
#[derive(Debug, Clone)]
pub(super) struct Dependent {
    /// Its index.
    pub v: usize,
    /// The independent or prescribed velocities it is made of, with their coefficients.
    pub of: Sparse,
    /// Constant of its position.
    pub offset: f64,
    /// The combination of constraints that makes its row.
    pub from: Sparse,
}

/// T and P. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct ReducedCoordinates {
    /// Whether every velocity is independent: T = 1.
    pub is_identity: bool,
    /// The independent velocities, in order.
    pub independent: Vec<usize>,
    /// Rows of T, by velocity; columns by position in `independent`.
    pub rows: Vec<Sparse>,
    /// Rows of P, by velocity; columns are velocities.
    pub rows_prescribed: Vec<Sparse>,
    pub dependent: Vec<Dependent>,
    pub prescribed: Vec<Prescribed>,
    /// Rows W T of the contacts, and W P.
    pub contacts: Vec<Sparse>,
    pub contacts_prescribed: Vec<Sparse>,
    /// Whether each contact is dry and its row is a combination of those of other dry contacts.
    pub is_redundant: Vec<bool>,
}

impl ReducedCoordinates {
    pub fn new(compiled: &Compiled) -> Self {
        let n_v = compiled.model.tree.n_v;
        let prescribed = prescribed(compiled);
        let is_prescribed = |v: usize| prescribed.iter().any(|joint| joint.v == v);
        let dependent = eliminate(compiled, &is_prescribed);
        let is_dependent = |v: usize| dependent.iter().any(|dependent| dependent.v == v);
        let independent: Vec<usize> = (0..n_v).filter(|&v| !is_prescribed(v) && !is_dependent(v)).collect();
        let (mut rows, mut rows_prescribed) = (vec![Sparse::new(); n_v], vec![Sparse::new(); n_v]);
        let mut place = |v: usize, other: usize, coefficient: f64| match independent.binary_search(&other) {
            Ok(column) => rows[v].push((column, coefficient)),
            Err(_) => rows_prescribed[v].push((other, coefficient)),
        };
        for v in 0..n_v {
            match dependent.iter().find(|dependent| dependent.v == v) {
                Some(dependent) => dependent.of.iter().for_each(|&(other, coefficient)| place(v, other, coefficient)),
                None => place(v, v, 1.0),
            }
        }
        let contact_rows = |of: &[Sparse]| {
            let row = |contact: &Contact| {
                let mut row = of[contact.v].clone();
                contact.b.iter().for_each(|&b| add(&mut row, &of[b], -1.0));
                row
            };
            compiled.inputs.contacts.iter().map(row).collect()
        };
        let contacts: Vec<Sparse> = contact_rows(&rows);
        let contacts_prescribed: Vec<Sparse> = contact_rows(&rows_prescribed);
        let is_identity = independent.len() == n_v;
        let dry = compiled.inputs.contacts.iter().map(|contact| contact.is_event_driven());
        let mut dry: Vec<bool> = dry.collect();
        peel(independent.len(), &contacts, &mut dry);
        let is_redundant = redundant_rows(independent.len(), &contacts, &dry);
        Self {
            is_identity,
            independent,
            rows,
            rows_prescribed,
            dependent,
            prescribed,
            contacts,
            contacts_prescribed,
            is_redundant,
        }
    }

    /// Sets the constants of dependent positions such that the positions `xi` satisfy the constraints.
    pub fn set_offsets(&mut self, xi: &[f64]) {
        for dependent in &mut self.dependent {
            dependent.offset = xi[dependent.v] - dot(&dependent.of, xi);
        }
    }

    /// Sets the dependent positions from the others.
    pub fn set_positions(&self, xi: &mut [f64]) {
        for dependent in &self.dependent {
            xi[dependent.v] = dot(&dependent.of, xi) + dependent.offset;
        }
    }

    /// Sets the dependent velocities from the others.
    pub fn set_velocities(&self, v: &mut [f64]) {
        for dependent in &self.dependent {
            v[dependent.v] = dot(&dependent.of, v);
        }
    }

    /// Sets all velocities, or all changes of velocity, from the independent ones `y`; prescribed ones are in `v`.
    pub fn expand(&self, y: impl Iterator<Item = f64>, v: &mut [f64]) {
        self.independent.iter().zip(y).for_each(|(&k, y)| v[k] = y);
        self.set_velocities(v);
    }
}

/// The joints whose motion a drive prescribes.
pub(super) fn prescribed(compiled: &Compiled) -> Vec<Prescribed> {
    let drives = compiled.inputs.drives.iter().enumerate();
    drives
        .filter(|(_, at)| matches!(at.drive, Drive::Motion(_)))
        .map(|(drive, at)| Prescribed { v: at.v, drive })
        .collect()
}

/// Σ c x.
pub(super) fn dot(row: &[(usize, f64)], x: &[f64]) -> f64 {
    row.iter().map(|&(k, c)| c * x[k]).fold(0.0, std::ops::Add::add)
}

/// row += factor · other, dropping what rounding leaves of zero.
fn add(row: &mut Sparse, other: &[(usize, f64)], factor: f64) {
    let largest = row.iter().chain(other).map(|(_, c)| c.abs()).fold(0.0, f64::max);
    for &(k, c) in other {
        match row.iter_mut().find(|(place, _)| *place == k) {
            Some((_, sum)) => *sum += factor * c,
            None => row.push((k, factor * c)),
        }
    }
    row.retain(|(_, c)| c.abs() > ROUNDING * largest);
    row.sort_by_key(|&(k, _)| k);
}

/// Gauss–Jordan: each tie gives one velocity by others that are not given by any tie. A tie that says nothing new gives
/// none.
fn eliminate(compiled: &Compiled, is_prescribed: &impl Fn(usize) -> bool) -> Vec<Dependent> {
    let mut dependent: Vec<Dependent> = Vec::new();
    for (k, constraint) in compiled.model.coupled.constraints.iter().enumerate() {
        // what is given already is put in
        let (mut row, mut from) = (Sparse::new(), vec![(k, 1.0)]);
        for &(v, c) in &constraint.terms {
            match dependent.iter().find(|dependent| dependent.v == v) {
                Some(dependent) => {
                    add(&mut row, &dependent.of, c);
                    add(&mut from, &dependent.from, -c);
                }
                None => add(&mut row, &[(v, c)], 1.0),
            }
        }
        // the first of its own that can be given, so that q_a is ratio · q_b and not q_b the quotient
        let largest = row.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
        let own = constraint.terms.iter().filter_map(|term| row.iter().find(|(v, _)| *v == term.0));
        let can_be = |&(v, c): &(usize, f64)| !is_prescribed(v) && c.abs() > 1e-3 * largest;
        let Some((v, c)) = own.chain(&row).copied().find(can_be) else { continue };
        let of: Sparse = row.iter().filter(|term| term.0 != v).map(|&(other, d)| (other, -d / c)).collect();
        from.iter_mut().for_each(|(_, part)| *part /= c);
        // and the new one into those before
        for before in &mut dependent {
            if let Some(at) = before.of.iter().position(|term| term.0 == v) {
                let (_, factor) = before.of.remove(at);
                add(&mut before.of, &of, factor);
                add(&mut before.from, &from, factor);
            }
        }
        dependent.push(Dependent { v, of, offset: 0.0, from });
    }
    dependent
}

/// Of each contact: whether its row, being one of those that are `dry`, is made of other such rows.
fn redundant_rows(n: usize, contacts: &[Sparse], dry: &[bool]) -> Vec<bool> {
    let rank = |left_out: Option<usize>| {
        let mut basis: Vec<(usize, Vec<f64>)> = Vec::new();
        for (_, terms) in contacts.iter().enumerate().filter(|&(c, _)| dry[c] && Some(c) != left_out) {
            let mut row = vec![0.0; n];
            terms.iter().for_each(|&(k, x)| row[k] = x);
            for (pivot, other) in &basis {
                let factor = row[*pivot];
                row.iter_mut().zip(other).for_each(|(x, o)| *x -= factor * o);
            }
            let largest = terms.iter().fold(0.0_f64, |most, (_, x)| most.max(x.abs()));
            let pivot = (0..n).max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs()));
            if let Some(pivot) = pivot.filter(|&pivot| row[pivot].abs() > 1e3 * ROUNDING * largest) {
                let c = row[pivot];
                row.iter_mut().for_each(|x| *x /= c);
                basis.push((pivot, row));
            }
        }
        basis.len()
    };
    let all = rank(None);
    (0..contacts.len()).map(|c| dry[c] && !contacts[c].is_empty() && rank(Some(c)) == all).collect()
}

/// Leaves those dry contacts each of whose velocities another one has, too: a row with a velocity of its own is not
/// made of others, and is taken out with its velocities until no such row is left.
fn peel(n: usize, contacts: &[Sparse], dry: &mut [bool]) {
    let mut n_rows = vec![0_usize; n];
    let mut rows_of = vec![Vec::new(); n];
    for (c, terms) in contacts.iter().enumerate().filter(|&(c, _)| dry[c]) {
        for &(k, _) in terms {
            n_rows[k] += 1;
            rows_of[k].push(c);
        }
    }
    let mut own: Vec<usize> = (0..n).filter(|&k| n_rows[k] == 1).collect();
    while let Some(k) = own.pop() {
        let Some(&c) = rows_of[k].iter().find(|&&c| dry[c]) else { continue };
        dry[c] = false;
        for &(k, _) in &contacts[c] {
            n_rows[k] -= 1;
            if n_rows[k] == 1 {
                own.push(k);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn contacts_with_a_velocity_of_their_own_are_not_redundant() {
        let mut n_redundant = [0; 2];
        for seed in 0..500 {
            let mut rng = Pcg64::seed_from_u64(seed);
            let (n, n_contacts) = (rng.random_range(2..7), rng.random_range(1..9));
            let row = |rng: &mut Pcg64| match rng.random_range(0..3) {
                0 => vec![(rng.random_range(0..n), 1.0)],
                _ => {
                    let mut row = Sparse::new();
                    (0..2).for_each(|k| add(&mut row, &[(rng.random_range(0..n), 1.0)], [1.0, -1.0][k]));
                    row
                }
            };
            let contacts: Vec<Sparse> = (0..n_contacts).map(|_| row(&mut rng)).collect();
            let all: Vec<bool> = (0..n_contacts).map(|_| rng.random_range(0..4) > 0).collect();
            let mut left = all.clone();
            peel(n, &contacts, &mut left);
            let redundant = redundant_rows(n, &contacts, &all);
            assert_eq!(redundant, redundant_rows(n, &contacts, &left), "seed {seed}: {contacts:?}");
            redundant.iter().for_each(|&is_redundant| n_redundant[usize::from(is_redundant)] += 1);
        }
        assert!(n_redundant.iter().all(|&n| n > 200), "{n_redundant:?}");
    }
}

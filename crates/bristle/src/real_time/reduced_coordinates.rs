//! Reduced coordinates: the independent velocities that a step solves for.
//!
//! ```text
//! v = T y + P v_p          y independent, v_p prescribed;  T and P follow from the constraints G v = 0
//! q = T q_y + P q_p + c    for dependent joints, c from their initial positions
//! ```
//!
//! The constraints of couplings do not change, so neither do T, P and the rows W T of the contacts: they are found
//! once. Closed loops change them with every step (`closed_loops`).

use crate::constraint::{Coordinates, Elimination, NEGLIGIBLE};
use crate::model::{Compiled, Contact};
use crate::world::component::Drive;

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
    /// Those of the couplings alone, with the constants of their positions.
    pub couplings: Vec<Dependent>,
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
                let other = contact.b.map_or(&[][..], |b| &of[b]);
                difference(&of[contact.v], other)
            };
            compiled.inputs.contacts.iter().map(row).collect()
        };
        let contacts: Vec<Sparse> = contact_rows(&rows);
        let contacts_prescribed: Vec<Sparse> = contact_rows(&rows_prescribed);
        let is_identity = independent.len() == n_v;
        let dry = compiled.inputs.contacts.iter().map(|contact| contact.is_event_driven() && !contact.is_stop_alone());
        let is_redundant = redundant_rows(independent.len(), &contacts, &dry.collect::<Vec<bool>>());
        Self {
            is_identity,
            independent,
            rows,
            rows_prescribed,
            couplings: dependent.clone(),
            dependent,
            prescribed,
            contacts,
            contacts_prescribed,
            is_redundant,
        }
    }

    /// Sets the constants of dependent positions such that the positions `xi` satisfy the constraints.
    pub fn set_offsets(&mut self, xi: &[f64]) {
        for dependent in &mut self.couplings {
            dependent.offset = xi[dependent.v] - dot(&dependent.of, xi);
        }
    }

    /// Sets the dependent positions from the others.
    pub fn set_positions(&self, xi: &mut [f64]) {
        for dependent in &self.couplings {
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

/// a − b, without coefficients that are rounding errors of zero.
pub(super) fn difference(a: &[(usize, f64)], b: &[(usize, f64)]) -> Sparse {
    let at = |row: &[(usize, f64)], k: usize| row.iter().find(|term| term.0 == k).map_or(0.0, |term| term.1);
    let mut columns: Vec<usize> = a.iter().chain(b).map(|term| term.0).collect();
    columns.sort_unstable();
    columns.dedup();
    let terms = columns.into_iter().map(|k| (k, at(a, k) - at(b, k), at(a, k).abs() + at(b, k).abs()));
    terms.filter(|(_, c, size)| c.abs() > NEGLIGIBLE * size).map(|(k, c, _)| (k, c)).collect()
}

/// Solves the constraints for dependent velocities by the elimination of [`crate::constraint`]. The right-hand side of
/// each constraint has a column of its own, which shows the combination of constraints that makes the row of each
/// dependent velocity.
fn eliminate(compiled: &Compiled, is_prescribed: &impl Fn(usize) -> bool) -> Vec<Dependent> {
    let (n_v, constraints) = (compiled.model.tree.n_v, &compiled.model.coupled.constraints);
    let columns = constraints.iter().flat_map(|constraint| constraint.terms.iter().map(|term| term.0));
    let columns = columns.chain(n_v..n_v + constraints.len()).collect();
    let mut elimination = Elimination::over(n_v + constraints.len(), columns, constraints.len());
    let largest = |terms: &[(usize, f64)]| terms.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
    for (k, constraint) in constraints.iter().enumerate() {
        let row: Sparse = constraint.terms.iter().copied().chain([(n_v + k, largest(&constraint.terms))]).collect();
        // a redundant row adds no dependent velocity
        let _ = elimination.add(&row, 0.0, |v| v >= n_v || is_prescribed(v));
    }
    let mut coordinates = Coordinates::over(n_v + constraints.len(), 0, constraints.len());
    elimination.finish(&mut coordinates, &[], |_| false);
    let dependent = coordinates.dependent.iter().enumerate().map(|(d, &v)| {
        let (of, from): (Sparse, Sparse) = coordinates.terms_of(d).iter().partition(|term| term.0 < n_v);
        let from = from.iter().map(|&(k, c)| (k - n_v, -c / largest(&constraints[k - n_v].terms))).collect();
        Dependent { v, of, offset: 0.0, from }
    });
    dependent.collect()
}

/// Of each contact: whether its row, being one of those that are `dry`, is a combination of other such rows. Every row
/// has a column of its own. The remainder of a row that the others imply shows which of them it is made of.
fn redundant_rows(n: usize, contacts: &[Sparse], dry: &[bool]) -> Vec<bool> {
    let mut elimination = Elimination::over(n + contacts.len(), (0..n + contacts.len()).collect(), contacts.len());
    let mut is_redundant = vec![false; contacts.len()];
    for (c, terms) in contacts.iter().enumerate().filter(|&(c, terms)| dry[c] && !terms.is_empty()) {
        let largest = terms.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
        let row: Sparse = terms.iter().copied().chain([(n + c, largest)]).collect();
        if elimination.add(&row, 0.0, |v| v >= n).is_err() {
            elimination.remainder().for_each(|(v, _)| is_redundant[v - n] = true);
        }
    }
    is_redundant
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn redundant_contacts_do_not_change_the_rank() {
        let mut n_redundant = [0; 2];
        for seed in 0..500 {
            let mut rng = Pcg64::seed_from_u64(seed);
            let (n, n_contacts) = (rng.random_range(2..7), rng.random_range(1..9));
            let row = |rng: &mut Pcg64| {
                let a = rng.random_range(0..n);
                let b = (a + rng.random_range(1..n)) % n;
                if rng.random_range(0..3) == 0 { vec![(a, 1.0)] } else { vec![(a, 1.0), (b, -1.0)] }
            };
            let contacts: Vec<Sparse> = (0..n_contacts).map(|_| row(&mut rng)).collect();
            let dry: Vec<bool> = (0..n_contacts).map(|_| rng.random_range(0..4) > 0).collect();
            let rank = |left_out: Option<usize>| {
                let mut matrix = DMatrix::zeros(n_contacts, n);
                for c in (0..n_contacts).filter(|&c| dry[c] && Some(c) != left_out) {
                    contacts[c].iter().for_each(|&(k, x)| matrix[(c, k)] = x);
                }
                matrix.rank(1e-9)
            };
            let expected: Vec<bool> = (0..n_contacts).map(|c| dry[c] && rank(Some(c)) == rank(None)).collect();
            assert_eq!(redundant_rows(n, &contacts, &dry), expected, "seed {seed}: {contacts:?}");
            expected.iter().for_each(|&is_redundant| n_redundant[usize::from(is_redundant)] += 1);
        }
        assert!(n_redundant.iter().all(|&n| n > 200), "{n_redundant:?}");
    }
}

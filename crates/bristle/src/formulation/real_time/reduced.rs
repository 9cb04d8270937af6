//! The velocities that a step solves for: those that are neither prescribed nor tied to others.
//!
//! ```text
//! v = T y + P v_p          y independent, v_p prescribed;  rows of T and P follow from the ties G v = 0
//! q = T q_y + P q_p + c    for joints that are tied, c from where they start
//! ```
//!
//! Ties do not change, so neither do T, P and the rows W T of the contacts: Gauss–Jordan elimination, once.

use crate::compile::Compiled;

/// Coefficients below this part of a row's largest are what rounding has left of zero.
pub(super) const ROUNDING: f64 = 1e-12;

/// Few numbers of many.
pub(super) type Sparse = Vec<(usize, f64)>;

/// A velocity that depends on others.
#[derive(Debug, Clone)]
pub(super) struct Tied {
    /// Which.
    pub v: usize,
    /// Velocities it follows, independent or prescribed, and by how much.
    pub of: Sparse,
    /// Constant of its position.
    pub offset: f64,
    /// The ties, and their parts, that make its row.
    pub from: Sparse,
}

/// T and P. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Reduced {
    /// Whether every velocity is solved for: T = 1.
    pub is_whole: bool,
    /// Velocities that are solved for, in order.
    pub independent: Vec<usize>,
    /// Rows of T, by velocity, with columns by place in `independent`.
    pub rows: Vec<Sparse>,
    /// Rows of P: prescribed velocities by index.
    pub led: Vec<Sparse>,
    pub tied: Vec<Tied>,
    /// Rows W T of the contacts, and W P.
    pub contacts: Vec<Sparse>,
    pub contacts_led: Vec<Sparse>,
    /// Of each contact: whether it is dry and may hold what other dry ones hold, its row being made of theirs.
    pub shares: Vec<bool>,
}

impl Reduced {
    /// For a machine in which `is_led` says which velocities are prescribed.
    pub fn new(compiled: &Compiled, is_led: impl Fn(usize) -> bool) -> Self {
        let n_v = compiled.model.n_v;
        let tied = eliminate(compiled, &is_led);
        let is_tied = |v: usize| tied.iter().any(|tied| tied.v == v);
        let independent: Vec<usize> = (0..n_v).filter(|&v| !is_led(v) && !is_tied(v)).collect();
        let (mut rows, mut led) = (vec![Sparse::new(); n_v], vec![Sparse::new(); n_v]);
        let mut place = |v: usize, other: usize, coefficient: f64| match independent.binary_search(&other) {
            Ok(column) => rows[v].push((column, coefficient)),
            Err(_) => led[v].push((other, coefficient)),
        };
        for v in 0..n_v {
            match tied.iter().find(|tied| tied.v == v) {
                Some(tied) => tied.of.iter().for_each(|&(other, coefficient)| place(v, other, coefficient)),
                None => place(v, v, 1.0),
            }
        }
        let contact_rows = |of: &[Sparse]| {
            let row = |contact: &crate::compile::Contact| {
                let mut row = of[contact.v].clone();
                contact.b.iter().for_each(|&b| add(&mut row, &of[b], -1.0));
                row
            };
            compiled.contacts.iter().map(row).collect()
        };
        let (contacts, contacts_led): (Vec<Sparse>, Vec<Sparse>) = (contact_rows(&rows), contact_rows(&led));
        let is_whole = independent.len() == n_v;
        let dry = compiled.contacts.iter().map(|contact| contact.is_event_driven());
        let shares = sharing(independent.len(), &contacts, &dry.collect::<Vec<bool>>());
        Self { is_whole, independent, rows, led, tied, contacts, contacts_led, shares }
    }

    /// Takes the constants of tied positions from where they are.
    pub fn begin(&mut self, xi: &[f64]) {
        for tied in &mut self.tied {
            tied.offset = xi[tied.v] - dot(&tied.of, xi);
        }
    }

    /// Tied positions.
    pub fn positions(&self, xi: &mut [f64]) {
        for tied in &self.tied {
            xi[tied.v] = dot(&tied.of, xi) + tied.offset;
        }
    }

    /// Tied velocities.
    pub fn velocities(&self, v: &mut [f64]) {
        for tied in &self.tied {
            v[tied.v] = dot(&tied.of, v);
        }
    }
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

/// Gauss–Jordan: each tie gives one velocity by others that are not given by any tie. A tie that says nothing new gives none.
fn eliminate(compiled: &Compiled, is_led: &impl Fn(usize) -> bool) -> Vec<Tied> {
    let mut tied: Vec<Tied> = Vec::new();
    for (k, tie) in compiled.coupled.ties.iter().enumerate() {
        // what is given already is put in
        let (mut row, mut from) = (Sparse::new(), vec![(k, 1.0)]);
        for &(v, c) in &tie.terms {
            match tied.iter().find(|tied| tied.v == v) {
                Some(tied) => {
                    add(&mut row, &tied.of, c);
                    add(&mut from, &tied.from, -c);
                }
                None => add(&mut row, &[(v, c)], 1.0),
            }
        }
        // the first of its own that can be given, so that q_a is ratio · q_b and not q_b the quotient
        let largest = row.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
        let own = tie.terms.iter().filter_map(|term| row.iter().find(|(v, _)| *v == term.0));
        let can_be = |&(v, c): &(usize, f64)| !is_led(v) && c.abs() > 1e-3 * largest;
        let Some((v, c)) = own.chain(&row).copied().find(can_be) else { continue };
        let of: Sparse = row.iter().filter(|term| term.0 != v).map(|&(other, d)| (other, -d / c)).collect();
        from.iter_mut().for_each(|(_, part)| *part /= c);
        // and the new one into those before
        for before in &mut tied {
            if let Some(at) = before.of.iter().position(|term| term.0 == v) {
                let (_, factor) = before.of.remove(at);
                add(&mut before.of, &of, factor);
                add(&mut before.from, &from, factor);
            }
        }
        tied.push(Tied { v, of, offset: 0.0, from });
    }
    tied
}

/// Of each contact: whether its row, being one of those that are `dry`, is made of other such rows.
fn sharing(n: usize, contacts: &[Sparse], dry: &[bool]) -> Vec<bool> {
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

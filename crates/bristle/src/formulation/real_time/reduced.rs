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
const ROUNDING: f64 = 1e-12;

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
        let (contacts, contacts_led) = (contact_rows(&rows), contact_rows(&led));
        let is_whole = independent.len() == n_v;
        Self { is_whole, independent, rows, led, tied, contacts, contacts_led }
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
        let pivot = row.iter().copied().filter(|&(v, _)| !is_led(v)).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let Some((v, c)) = pivot else { continue };
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

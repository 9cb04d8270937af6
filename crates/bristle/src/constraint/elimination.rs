//! Gauss–Jordan elimination of constraint rows: (5) of [`Coordinates`].
//!
//! A row that the rows before it imply (two stuck clutches between joints that a gear couples) adds no dependent
//! coordinate. All joints of a rigid group, joined by stuck clutches, have the same row, to the last bit.

use super::reduced::FEW;
use super::sparse::SparseRows;
use super::{ABSENT, NEGLIGIBLE, PIVOT};
use crate::constraint::coordinates::Coordinates;
use crate::model::Compiled;
use crate::modes::MAX_EAGER;

/// Scratch of the elimination. See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Elimination {
    /// Velocities that occur in constraints and clutches; index of each velocity of the machine among them.
    pub columns: Vec<usize>,
    pub column_of: Vec<usize>,
    /// The rows under elimination; the pivot column of each, in order; the row whose pivot each column is.
    rows: SparseRows,
    pivots: Vec<usize>,
    row_of: Vec<usize>,
    own: Vec<usize>,
    /// Representative velocity of the rigid group of each velocity.
    representative: Vec<usize>,
    /// Whether there are many rows: back substitution waits for the end of the elimination.
    pub is_deferred: bool,
}

/// The remainder of a row that could not be added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Left {
    /// Remainder of its right-hand side.
    pub offset: f64,
    /// Whether the rows before imply it. Otherwise only known velocities remain in it, and they may contradict it.
    pub is_implied: bool,
}

impl Elimination {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, constraints, contacts) =
            (compiled.model.tree.n_v, &compiled.model.coupled.constraints, &compiled.inputs.contacts);
        // carriers of effort: all contacts and all prescribed joints, provided that the machine has couplings
        let mut columns: Vec<usize> =
            constraints.iter().flat_map(|constraint| constraint.terms.iter().map(|term| term.0)).collect();
        if !constraints.is_empty() || contacts.iter().any(|contact| contact.element.is_some()) {
            columns.extend(contacts.iter().flat_map(|contact| [contact.v, contact.b.unwrap_or(contact.v)]));
            columns.extend(compiled.inputs.drives.iter().map(|drive| drive.v));
        }
        if !compiled.model.coupled.closures.is_empty() {
            columns.extend(0..n_v);
        }
        let n_rows = constraints.len() + contacts.iter().filter(|contact| contact.b.is_some()).count();
        Self::over(n_v, columns, n_rows)
    }

    /// Up to `n_rows` rows in some of `n_v` velocities, the `columns`.
    pub fn over(n_v: usize, mut columns: Vec<usize>, n_rows: usize) -> Self {
        columns.sort_unstable();
        columns.dedup();
        let mut column_of = vec![ABSENT; n_v];
        columns.iter().enumerate().for_each(|(k, &v)| column_of[v] = k);
        Self {
            // small machines allocate their matrices here, so that a step allocates nothing
            rows: SparseRows::new(n_rows, columns.len(), n_rows.max(columns.len()) <= MAX_EAGER),
            pivots: Vec::with_capacity(n_rows),
            row_of: vec![ABSENT; columns.len()],
            own: Vec::with_capacity(columns.len()),
            representative: (0..n_v).collect(),
            is_deferred: n_rows > FEW,
            columns,
            column_of,
        }
    }

    /// Starts an elimination.
    pub fn clear(&mut self) {
        self.pivots.clear();
        self.rows.clear();
        self.row_of.fill(ABSENT);
        self.representative.iter_mut().enumerate().for_each(|(v, representative)| *representative = v);
    }

    /// Joins velocities a and b to one rigid group: they get the same row of (5).
    pub fn group(&mut self, a: usize, b: usize) {
        let (a, b) = (self.representative[a], self.representative[b]);
        self.representative
            .iter_mut()
            .filter(|representative| **representative == b)
            .for_each(|representative| *representative = a);
    }

    /// Makes an independent velocity the representative of each rigid group that has one.
    fn choose_representatives(&mut self, locked: impl Fn(usize) -> bool) {
        for k in 0..self.columns.len() {
            let v = self.columns[k];
            let depends = self.row_of[k] != ABSENT;
            let old = self.representative[v];
            // a locked joint takes precedence over a joint whose prescribed motion stands still
            if !depends && old != v && (locked(v) || !locked(old)) {
                self.representative
                    .iter_mut()
                    .filter(|representative| **representative == old)
                    .for_each(|representative| *representative = v);
            }
        }
    }

    /// Adds the row Σ c q = offset. `is_known` names the velocities that cannot become dependent. Returns the
    /// remainder of the row if no other velocity is left in it.
    pub fn add(&mut self, terms: &[(usize, f64)], offset: f64, is_known: impl Fn(usize) -> bool) -> Result<(), Left> {
        self.add_row(terms, offset, is_known, false)
    }

    /// The same after the rows of rigid groups: a velocity that depends on another one of its group stands for it.
    pub fn add_between_groups(
        &mut self,
        terms: &[(usize, f64)],
        offset: f64,
        is_known: impl Fn(usize) -> bool,
    ) -> Result<(), Left> {
        self.add_row(terms, offset, is_known, true)
    }

    fn add_row(
        &mut self,
        terms: &[(usize, f64)],
        offset: f64,
        is_known: impl Fn(usize) -> bool,
        is_between_groups: bool,
    ) -> Result<(), Left> {
        let new = self.pivots.len();
        let Self { rows, row_of, columns, column_of, own, is_deferred, representative, .. } = self;
        rows.drop(new, |_| true);
        rows.set_right(new, offset);
        for &(v, c) in terms {
            rows.add(new, column_of[v], c);
        }
        let largest = rows.row(new).iter().fold(0.0_f64, |most, entry| most.max(entry.1.abs()));
        // rows whose pivot is one of its columns, in order of elimination
        own.clear();
        own.extend(terms.iter().map(|term| row_of[column_of[term.0]]).filter(|&row| row != ABSENT));
        own.sort_unstable();
        own.dedup();
        let mut next = 0;
        while let Some(&row) = own.get(next) {
            next += 1;
            let column = self.pivots[row];
            let factor = rows.at(new, column);
            if factor == 0.0 {
                continue;
            }
            rows.subtract(new, factor, row, column);
            if *is_deferred {
                // it may bring in columns that rows after it were solved for
                let later = rows.row(row).iter().map(|entry| row_of[entry.0]).filter(|&row| row != ABSENT);
                for later in later {
                    if let Err(place) = own.binary_search(&later) {
                        own.insert(place, later);
                    }
                }
            }
        }
        rows.drop(new, |c| c.abs() <= NEGLIGIBLE * largest);
        // pivot: the first of the row's own terms that may become dependent and is large enough, else any such column
        let candidates = rows.row(new).iter().filter(|entry| !is_known(columns[entry.0]));
        let least = PIVOT * candidates.fold(0.0_f64, |most, entry| most.max(entry.1.abs()));
        let all = rows.row(new).iter().map(|entry| entry.0);
        let own = terms.iter().flat_map(|term| {
            // another velocity of its group stands for one that depends on it
            let of_row = if is_between_groups { rows.row(new) } else { &[] };
            let is_mate = |k: usize| representative[columns[k]] == representative[term.0];
            let mates = of_row.iter().map(|entry| entry.0).filter(move |&k| is_mate(k));
            std::iter::once(column_of[term.0]).chain(mates)
        });
        let mut found = own.chain(all);
        let is_pivot = |&k: &usize| rows.at(new, k) != 0.0 && rows.at(new, k).abs() >= least && !is_known(columns[k]);
        let Some(column) = found.find(is_pivot) else {
            return Err(Left { offset: rows.right(new), is_implied: rows.row(new).is_empty() });
        };
        if *is_deferred {
            rows.normalise(new, column);
        } else {
            rows.solve(new, column);
        }
        row_of[column] = new;
        self.pivots.push(column);
        Ok(())
    }

    /// The terms of the row that could not be added last.
    pub fn remainder(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.rows.row(self.pivots.len()).iter().map(|&(k, c)| (self.columns[k], c))
    }

    /// Back substitution, from the last row to the first: removes the pivot columns of later rows from every row.
    /// With many rows it is deferred to the end of the elimination; in a train of gears each new row would otherwise
    /// change all others.
    fn substitute_back(&mut self) {
        let Self { rows, row_of, pivots, own, .. } = self;
        for row in (0..pivots.len()).rev() {
            own.clear();
            own.extend(
                rows.row(row).iter().map(|entry| row_of[entry.0]).filter(|&other| other != ABSENT && other != row),
            );
            for &other in &*own {
                let column = pivots[other];
                let factor = rows.at(row, column);
                rows.subtract(row, factor, other, column);
            }
        }
    }

    /// Ends an elimination: fills (5). `locked` joints are constant at `q`.
    pub fn finish(&mut self, coordinates: &mut Coordinates, q: &[f64], locked: impl Fn(usize) -> bool) {
        if self.is_deferred {
            self.substitute_back();
        }
        self.choose_representatives(&locked);
        let Self { rows, columns, column_of, row_of, pivots, representative: representatives, .. } = self;
        let Coordinates { number, dependent, start, terms, constant: constants, .. } = coordinates;
        number.fill(ABSENT);
        dependent.clear();
        start.clear();
        constants.clear();
        terms.clear();
        for (row, &column) in pivots.iter().enumerate() {
            number[columns[column]] = dependent.len();
            dependent.push(columns[column]);
            start.push(terms.len());
            let mut constant = rows.right(row);
            for &(k, c) in rows.row(row) {
                let v = columns[k];
                if k != column && locked(v) {
                    constant -= c * q[v];
                }
            }
            // a member of a rigid group follows the representative, or has the terms of its row
            let representative = representatives[columns[column]];
            match row_of[column_of[representative]] {
                ABSENT if locked(representative) => {}
                ABSENT => terms.push((representative, 1.0)),
                leads => {
                    for &(k, c) in rows.row(leads) {
                        let v = columns[k];
                        if v != representative && !locked(v) {
                            terms.push((v, -c));
                        }
                    }
                }
            }
            constants.push(constant);
        }
        start.push(terms.len());
    }
}

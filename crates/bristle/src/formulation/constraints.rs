//! Dependent coordinates: gears, planetary sets, linear couplings and stuck clutches.
//!
//! Each holonomic constraint Σ c q = offset makes one coordinate depend on the others. A row comes from a compiled
//! coupling, or from a stuck clutch, whose offset is q_a − q_b at the instant at which it stuck.
//! Elimination (Gauss–Jordan) gives
//!
//! ```text
//! q_d = offset_d + Σ T_di q_i        v_d = Σ T_di v_i        a_d = Σ T_di a_i                            (5)
//! ```
//!
//! with i among the unknowns and the joints of prescribed motion; locked joints enter the offset. A redundant row, one
//! that the rows before it imply (two stuck clutches between joints that a gear couples), adds no dependent coordinate.
//!
//! **Accelerations.** With G_d = e_d − Σ T_di e_i over the joints that can move, M a + c = τ + Gᵀλ and G a = 0. The
//! Delassus matrix G M⁻¹ Gᵀ gives the constraint forces λ:
//!
//! ```text
//! x = M⁻¹ b,     λ = −(G M⁻¹ Gᵀ)⁻¹ G x,     x + M⁻¹ Gᵀ λ                                               (6)
//! ```
//!
//! This takes one substitution per dependent coordinate with the present factorisation. A machine with many dependent
//! coordinates eliminates them instead, see `reduced`.
//!
//! **Rigid groups.** All joints of a rigid group (joined by stuck clutches) have the same row in (5), to the last bit:
//! v_a − v_b is 0.0.

mod distribution;
mod limit_analysis;
mod reduced;
mod sparse;

use crate::compile::Compiled;
use crate::modes::MAX_EAGER;
use bristle_integrate::archive::{Archive, Archived};
use bristle_integrate::linear::Lu;
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Error, Model, Work, solve_rows};
use distribution::Distribution;
use reduced::Reduced;
use sparse::SparseRows;

/// Coefficients smaller than this, relative to the largest of their row, count as zero: they are rounding errors of the
/// elimination.
const NOTHING: f64 = 1e-12;

/// Marks a velocity that has no place in a list.
const NOWHERE: usize = usize::MAX;

/// The constraints of a machine: (5) and (6).
#[derive(Debug, Clone)]
pub(super) struct Constraints {
    /// Right-hand sides of the compiled constraints.
    pub offset: Vec<f64>,
    /// The dependent velocities.
    pub dependent: Vec<usize>,
    /// Index of each velocity among the unknowns.
    place: Vec<usize>,
    /// Index of the first term of each dependent velocity; its offset; the terms (i, T_di).
    start: Vec<usize>,
    constant: Vec<f64>,
    terms: Vec<(usize, f64)>,
    /// Index of each velocity in `dependent`.
    number: Vec<usize>,

    /// Velocities that occur in constraints and clutches; index of each velocity of the machine among them.
    columns: Vec<usize>,
    column_of: Vec<usize>,
    /// The rows under elimination; the pivot column of each, in order; the row whose pivot each column is.
    rows: SparseRows,
    pivots: Vec<usize>,
    row_of: Vec<usize>,
    own: Vec<usize>,

    /// M⁻¹ Gᵀ, column by column; the reduced equations, where they replace (6); G M⁻¹ Gᵀ; λ; one row of G.
    reach: Vec<f64>,
    reduced: Option<Box<Reduced>>,
    delassus: Lu,
    lambda: Vec<f64>,
    unit: Vec<f64>,

    /// Distribution of the constraint efforts.
    distribution: Distribution,
    /// Representative velocity of the rigid group of each velocity.
    leader: Vec<usize>,
}

impl Archived for Constraints {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        // the model determines the columns; the other fields left out are scratch
        let Self {
            columns: _,
            column_of: _,
            rows: _,
            pivots: _,
            row_of: _,
            own: _,
            reach: _,
            reduced: _,
            delassus: _,
            lambda: _,
            unit: _,
            offset,
            dependent,
            place,
            start,
            constant,
            terms,
            number,
            distribution: _,
            leader,
        } = self;
        offset.archive(archive);
        archive.list(constant);
        archive.list(dependent);
        archive.list(start);
        place.archive(archive);
        number.archive(archive);
        archive.list(terms);
        leader.archive(archive);
    }
}

/// The remainder of a row that could not be added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Left {
    /// Remainder of its right-hand side.
    pub offset: f64,
    /// Whether the rows before imply it. Otherwise only known velocities remain in it, and they may contradict it.
    pub is_implied: bool,
}

impl Constraints {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, coupled) = (compiled.model.n_v, &compiled.coupled);
        let clutches = compiled.contacts.iter().filter(|contact| contact.b.is_some());
        let is_coupled =
            !coupled.constraints.is_empty() || compiled.contacts.iter().any(|contact| contact.element.is_some());
        // carriers of effort: all contacts and all prescribed joints, provided that the machine has couplings
        let mut columns: Vec<usize> =
            coupled.constraints.iter().flat_map(|constraint| constraint.terms.iter().map(|term| term.0)).collect();
        if is_coupled {
            columns.extend(compiled.contacts.iter().flat_map(|contact| [contact.v, contact.b.unwrap_or(contact.v)]));
            columns.extend(compiled.drives.iter().map(|drive| drive.v));
        }
        columns.sort_unstable();
        columns.dedup();
        let mut column_of = vec![NOWHERE; n_v];
        columns.iter().enumerate().for_each(|(k, &v)| column_of[v] = k);
        let n_rows = coupled.constraints.len() + clutches.count();
        let n_carriers =
            if is_coupled { coupled.constraints.len() + compiled.contacts.len() + compiled.drives.len() } else { 0 };
        // small machines allocate their matrices here, so that a step allocates nothing
        let is_small = n_rows.max(columns.len()).max(n_carriers) <= MAX_EAGER;
        let eager = |size: usize| if is_small { size } else { 0 };
        Self {
            offset: vec![0.0; coupled.constraints.len()],
            dependent: Vec::with_capacity(n_rows),
            place: (0..n_v).collect(),
            start: Vec::with_capacity(n_rows + 1),
            constant: Vec::with_capacity(n_rows),
            terms: Vec::with_capacity(eager(n_rows * columns.len())),
            number: vec![NOWHERE; n_v],
            rows: SparseRows::new(n_rows, columns.len(), is_small),
            pivots: Vec::with_capacity(n_rows),
            row_of: vec![NOWHERE; columns.len()],
            own: Vec::with_capacity(columns.len()),
            reach: Vec::with_capacity(eager(n_rows * n_v)),
            reduced: (n_rows > reduced::FEW).then(|| Box::new(Reduced::new(compiled))),
            delassus: Lu::new(n_rows),
            lambda: vec![0.0; n_rows],
            unit: vec![0.0; if n_rows > 0 { n_v } else { 0 }],
            distribution: Distribution::new(
                columns.len(),
                n_carriers,
                if is_coupled { compiled.contacts.len() } else { 0 },
            ),
            leader: (0..n_v).collect(),
            columns,
            column_of,
        }
    }

    /// Whether every index is in range, for these unknowns.
    pub fn fits(&self, active: &[usize]) -> bool {
        let (n_v, n) = (self.place.len(), self.dependent.len());
        let n_rows = self.lambda.len();
        let is_start = self.start.is_empty() && n == 0
            || self.start.len() == n + 1 && self.start.is_sorted() && self.start[n] <= self.terms.len();
        let mut places = self.place.iter().enumerate().filter(|(_, place)| **place != NOWHERE);
        let is_placed = places.all(|(v, &place)| active.get(place) == Some(&v));
        is_start
            && is_placed
            && self.constant.len() == n
            && n <= n_rows
            && self.dependent.iter().chain(self.terms.iter().map(|term| &term.0)).chain(&self.leader).all(|&v| v < n_v)
            && self.number.iter().all(|&d| d == NOWHERE || d < n)
    }

    /// Whether the machine has couplings.
    pub fn is_coupled(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Index of a velocity among the unknowns.
    pub fn place(&self, v: usize) -> Option<usize> {
        Some(self.place[v]).filter(|&place| place != NOWHERE)
    }

    /// Dependent velocities without terms: the constraints immobilise these joints.
    pub fn immovable(&self) -> impl Iterator<Item = usize> + '_ {
        self.dependent.iter().enumerate().filter(|&(d, _)| self.terms_of(d).is_empty()).map(|(_, &v)| v)
    }

    /// The unknowns on which velocity `v` depends, with their coefficients: itself, the terms of (5), or none.
    pub fn made_of(&self, v: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.place(v).map(|place| (place, 1.0));
        let others = self.number.get(v).filter(|&&d| d != NOWHERE).map_or(&[][..], |&d| self.terms_of(d));
        own.into_iter().chain(others.iter().filter_map(|&(i, c)| self.place(i).map(|place| (place, c))))
    }

    /// Whether q_a − q_b depends on prescribed joints and on no unknown.
    pub fn is_prescribed(&self, a: usize, b: Option<usize>, is_prescribed: impl Fn(usize) -> bool) -> bool {
        self.is_still(a, b, &is_prescribed) && !self.is_still(a, b, |v| !is_prescribed(v))
    }

    /// Whether q_a − q_b is constant: every joint on which it depends is locked (`is_locked`), or its coefficients
    /// cancel.
    pub fn is_still(&self, a: usize, b: Option<usize>, is_locked: impl Fn(usize) -> bool) -> bool {
        let part = |v: usize, i: usize| match self.number[v] {
            NOWHERE => f64::from(u8::from(v == i)),
            d => self.terms_of(d).iter().filter(|term| term.0 == i).map(|term| term.1).sum(),
        };
        let is_nothing = |i: usize| {
            let (a, b) = (part(a, i), b.map_or(0.0, |b| part(b, i)));
            is_locked(i) || (a - b).abs() <= NOTHING * (a.abs() + b.abs())
        };
        [Some(a), b].into_iter().flatten().all(|v| match self.number[v] {
            NOWHERE => is_nothing(v),
            d => self.terms_of(d).iter().all(|term| is_nothing(term.0)),
        })
    }

    /// Sum of the magnitudes of the terms of velocity `v` in (5); of a position, the offset is one of them.
    pub fn size(&self, v: usize, x: &[f64], has_constant: bool) -> f64 {
        let NOWHERE = self.number[v] else {
            let d = self.number[v];
            let constant = if has_constant { self.constant[d].abs() } else { 0.0 };
            return self.terms_of(d).iter().fold(constant, |size, &(i, c)| size + (c * x[i]).abs());
        };
        x[v].abs()
    }

    fn terms_of(&self, d: usize) -> &[(usize, f64)] {
        &self.terms[self.start[d]..self.start[d + 1]]
    }

    /// Dependent positions, by (5).
    pub fn positions(&self, q: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            q[v] = self.terms_of(d).iter().fold(self.constant[d], |sum, &(i, c)| sum + c * q[i]);
        }
    }

    /// Dependent velocities, or accelerations, by (5).
    pub fn rates(&self, x: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            x[v] = self.terms_of(d).iter().fold(0.0, |sum, &(i, c)| sum + c * x[i]);
        }
    }

    /// Tᵀτ: transfers the efforts on dependent joints to the joints on which they depend.
    pub fn gather_efforts(&self, tau: &mut [f64]) {
        for (d, &v) in self.dependent.iter().enumerate() {
            let taken = std::mem::take(&mut tau[v]);
            self.terms_of(d).iter().for_each(|&(i, c)| tau[i] += c * taken);
        }
    }

    /// Starts an elimination.
    pub fn clear(&mut self) {
        self.pivots.clear();
        self.rows.clear();
        self.row_of.fill(NOWHERE);
        self.leader.iter_mut().enumerate().for_each(|(v, leader)| *leader = v);
    }

    /// Joins velocities a and b to one rigid group: they get the same row of (5).
    pub fn group(&mut self, a: usize, b: usize) {
        let (a, b) = (self.leader[a], self.leader[b]);
        self.leader.iter_mut().filter(|leader| **leader == b).for_each(|leader| *leader = a);
    }

    /// Makes an independent velocity the representative of each rigid group that has one.
    fn choose_leaders(&mut self, locked: impl Fn(usize) -> bool) {
        for k in 0..self.columns.len() {
            let v = self.columns[k];
            let depends = self.row_of[k] != NOWHERE;
            let old = self.leader[v];
            // a locked joint takes precedence over a joint whose prescribed motion stands still
            if !depends && old != v && (locked(v) || !locked(old)) {
                self.leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = v);
            }
        }
    }

    /// Adds the row Σ c q = offset. `is_known` names the velocities that cannot become dependent. Returns the
    /// remainder of the row if no other velocity is left in it.
    pub fn add(&mut self, terms: &[(usize, f64)], offset: f64, is_known: impl Fn(usize) -> bool) -> Result<(), Left> {
        let (new, is_deferred) = (self.pivots.len(), self.reduced.is_some());
        let Self { rows, row_of, columns, column_of, own, .. } = self;
        rows.drop(new, |_| true);
        rows.set_right(new, offset);
        for &(v, c) in terms {
            rows.add(new, column_of[v], c);
        }
        let largest = rows.row(new).iter().fold(0.0_f64, |most, entry| most.max(entry.1.abs()));
        // rows whose pivot is one of its columns, in order of elimination
        own.clear();
        own.extend(terms.iter().map(|term| row_of[column_of[term.0]]).filter(|&row| row != NOWHERE));
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
            if is_deferred {
                // it may bring in columns that rows after it were solved for
                let later = rows.row(row).iter().map(|entry| row_of[entry.0]).filter(|&row| row != NOWHERE);
                for later in later {
                    if let Err(place) = own.binary_search(&later) {
                        own.insert(place, later);
                    }
                }
            }
        }
        rows.drop(new, |c| c.abs() <= NOTHING * largest);
        // pivot: the first of the row's own terms that may become dependent, else any other column
        let all = rows.row(new).iter().map(|entry| entry.0);
        let found = terms.iter().map(|term| column_of[term.0]).chain(all);
        let found = found.into_iter().find(|&k| rows.at(new, k) != 0.0 && !is_known(columns[k]));
        let Some(column) = found else {
            let left = Left { offset: rows.right(new), is_implied: rows.row(new).iter().all(|entry| entry.1 == 0.0) };
            rows.drop(new, |_| true);
            return Err(left);
        };
        if is_deferred {
            rows.normalise(new, column);
        } else {
            rows.solve(new, column);
        }
        row_of[column] = new;
        self.pivots.push(column);
        Ok(())
    }

    /// Back substitution, from the last row to the first: removes the pivot columns of later rows from every row. With many
    /// rows it is deferred to the end of the elimination; in a train of gears each new row would otherwise change all others.
    fn substitute_back(&mut self) {
        let Self { rows, row_of, pivots, own, .. } = self;
        for row in (0..pivots.len()).rev() {
            own.clear();
            own.extend(
                rows.row(row).iter().map(|entry| row_of[entry.0]).filter(|&other| other != NOWHERE && other != row),
            );
            for &other in &*own {
                let column = pivots[other];
                let factor = rows.at(row, column);
                rows.subtract(row, factor, other, column);
            }
        }
    }

    /// Ends an elimination: fills (5). `locked` joints are constant at `q`.
    pub fn finish(&mut self, q: &[f64], locked: impl Fn(usize) -> bool) {
        if self.reduced.is_some() {
            self.substitute_back();
        }
        self.choose_leaders(&locked);
        self.number.fill(NOWHERE);
        self.dependent.clear();
        self.start.clear();
        self.constant.clear();
        self.terms.clear();
        let Self {
            rows, columns, column_of, row_of, pivots, number, dependent, start, terms, constant: constants, ..
        } = self;
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
            let leader = self.leader[columns[column]];
            match row_of[column_of[leader]] {
                NOWHERE if locked(leader) => {}
                NOWHERE => terms.push((leader, 1.0)),
                leads => {
                    for &(k, c) in rows.row(leads) {
                        let v = columns[k];
                        if v != leader && !locked(v) {
                            terms.push((v, -c));
                        }
                    }
                }
            }
            constants.push(constant);
        }
        start.push(terms.len());
    }

    /// Lists the unknowns: velocities that are neither known nor dependent.
    pub fn fill_active(&mut self, active: &mut Vec<usize>, is_known: impl Fn(usize) -> bool) {
        active.clear();
        for v in 0..self.place.len() {
            let is_unknown = !is_known(v) && self.number[v] == NOWHERE;
            self.place[v] = if is_unknown { active.len() } else { NOWHERE };
            if is_unknown {
                active.push(v);
            }
        }
    }
}

impl Constraints {
    /// M⁻¹ Gᵀ and the factors of the Delassus matrix G M⁻¹ Gᵀ, with the present factorisation of M.
    pub fn factor(
        &mut self,
        model: &Model,
        work: &mut Work,
        rows: &[Motion],
        locked: &[bool],
        joint_of: &[usize],
    ) -> Result<(), Error> {
        if let Some(mut reduced) = self.reduced.take() {
            let result = reduced.factor(self, model, work, rows, locked, joint_of);
            self.reduced = Some(reduced);
            if result? {
                return Ok(());
            }
        }
        self.factor_each(model, work, locked, joint_of)
    }

    /// The same by (6), never by the reduced equations.
    pub fn factor_each(
        &mut self,
        model: &Model,
        work: &mut Work,
        locked: &[bool],
        joint_of: &[usize],
    ) -> Result<(), Error> {
        let constraints = self;
        let (m, n_v) = (constraints.dependent.len(), model.n_v);
        if m == 0 {
            return Ok(());
        }
        if let Some(reduced) = &mut constraints.reduced {
            reduced.set_unused();
        }
        constraints.reach.resize(m * n_v, 0.0);
        for d in 0..m {
            constraints.unit[constraints.dependent[d]] = 1.0;
            for &(i, c) in &constraints.terms[constraints.start[d]..constraints.start[d + 1]] {
                constraints.unit[i] = if locked[joint_of[i]] { 0.0 } else { -c };
            }
            let column = solve_rows(model, work, &constraints.unit)?;
            constraints.reach[d * n_v..(d + 1) * n_v].copy_from_slice(column);
            constraints.unit[constraints.dependent[d]] = 0.0;
            for &(i, _) in &constraints.terms[constraints.start[d]..constraints.start[d + 1]] {
                constraints.unit[i] = 0.0;
            }
        }
        let mut lu = std::mem::replace(&mut constraints.delassus, Lu::new(0));
        let matrix = lu.matrix_mut(m);
        for r in 0..m {
            for c in 0..m {
                matrix[(r, c)] = constraints.across(r, &constraints.reach[c * n_v..(c + 1) * n_v]);
            }
        }
        constraints.delassus = lu;
        let joint = joint_of[constraints.dependent[0]];
        let singular = |_| Error::Singular { joint: model.joint_names[joint].clone(), inertia: 0.0 };
        constraints.delassus.factor().map_err(singular)
    }

    /// Whether the determinant of the Delassus matrix factored last is positive, as it always is without friction.
    pub fn is_positive(&self) -> bool {
        let reduced = self.reduced.as_ref().filter(|reduced| reduced.is_used());
        self.dependent.is_empty()
            || reduced.map_or_else(|| self.delassus.determinant().0 > 0.0, |reduced| reduced.is_positive())
    }

    /// Corrects x = M⁻¹ b by (6) and adds Gᵀλ to `b`.
    pub fn correct(
        &mut self,
        (model, work, rows): (&Model, &mut Work, &[Motion]),
        locked: &[bool],
        joint_of: &[usize],
        x: &mut [f64],
        b: &mut [f64],
    ) -> Result<(), Error> {
        if let Some(mut reduced) = self.reduced.take() {
            let result = reduced.correct(self, (model, work, rows), locked, joint_of, x, b);
            self.reduced = Some(reduced);
            if result? {
                return Ok(());
            }
        }
        self.correct_each(locked, joint_of, x, b);
        Ok(())
    }

    /// The same after [`Constraints::factor_each`].
    pub fn correct_each(&mut self, locked: &[bool], joint_of: &[usize], x: &mut [f64], b: &mut [f64]) {
        let constraints = self;
        let (m, n_v) = (constraints.dependent.len(), x.len());
        if m == 0 {
            return;
        }
        for d in 0..m {
            constraints.lambda[d] = -constraints.across(d, x);
        }
        constraints.delassus.solve(&mut constraints.lambda[..m]);
        for d in 0..m {
            let lambda = constraints.lambda[d];
            b[constraints.dependent[d]] += lambda;
            for &(i, c) in &constraints.terms[constraints.start[d]..constraints.start[d + 1]] {
                if !locked[joint_of[i]] {
                    b[i] -= c * lambda;
                }
            }
            x.iter_mut().zip(&constraints.reach[d * n_v..(d + 1) * n_v]).for_each(|(x, reach)| *x += lambda * reach);
        }
        constraints.rates_of_change(x, |v| locked[joint_of[v]]);
    }
}

impl Constraints {
    /// G_d x over the joints that can move; x is 0 for the others.
    fn across(&self, d: usize, x: &[f64]) -> f64 {
        self.terms_of(d).iter().fold(x[self.dependent[d]], |sum, &(i, c)| sum - c * x[i])
    }

    /// Makes changes satisfy (5) to the last bit; known joints do not change.
    fn rates_of_change(&self, x: &mut [f64], is_known: impl Fn(usize) -> bool) {
        for (d, &v) in self.dependent.iter().enumerate() {
            let moving = self.terms_of(d).iter().filter(|&&(i, _)| !is_known(i));
            x[v] = moving.fold(0.0, |sum, &(i, c)| sum + c * x[i]);
        }
    }
}

//! Coordinates that depend on others: gears, planetary sets, linear couplings, and clutches that hold.
//!
//! Every row Σ c q = offset, of a tie or of a stuck clutch (q_a − q_b as it was when it stuck), makes one coordinate depend on the rest.
//! Elimination (Gauss–Jordan) gives
//!
//! ```text
//! q_d = offset_d + Σ T_di q_i        v_d = Σ T_di v_i        a_d = Σ T_di a_i                            (5)
//! ```
//!
//! with i among the unknowns and the joints that are led; joints that are held are in the offset. A row that the rows before it imply
//! (two clutches closing what a gear ties already) makes nothing depend on anything.
//!
//! **Accelerations.** With G_d = e_d − Σ T_di e_i over the joints that can move, M a + c = τ + Gᵀλ and G a = 0:
//!
//! ```text
//! x = M⁻¹ b,     λ = −(G M⁻¹ Gᵀ)⁻¹ G x,     x + M⁻¹ Gᵀ λ                                               (6)
//! ```
//!
//! one substitution per dependent coordinate, with the factorisation at hand. Many of them are taken out instead, see `reduced`.
//!
//! **Groups.** Joints that stuck clutches hold together have the same row in (5), to the last bit: v_a − v_b is 0.0.

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

/// Coefficients smaller than this, relative to the largest of their row, are none.
const NOTHING: f64 = 1e-12;

/// Not among the unknowns.
const NOWHERE: usize = usize::MAX;

/// (5) and (6) of a machine.
#[derive(Debug, Clone)]
pub(super) struct Constraints {
    /// Right-hand sides of the compiled ties.
    pub offset: Vec<f64>,
    /// Velocities that depend on others.
    pub dependent: Vec<usize>,
    /// Where each velocity stands among the unknowns.
    place: Vec<usize>,
    /// First term of each dependent velocity, and its offset.
    start: Vec<usize>,
    constant: Vec<f64>,
    terms: Vec<(usize, f64)>,
    /// Which dependent a velocity is.
    number: Vec<usize>,

    /// Velocities that ties and clutches touch; where each of all velocities stands among them.
    columns: Vec<usize>,
    column_of: Vec<usize>,
    /// Rows being eliminated; the column that each was solved for, in order; the row that was solved for each column.
    rows: SparseRows,
    pivots: Vec<usize>,
    row_of: Vec<usize>,
    own: Vec<usize>,

    /// M⁻¹ Gᵀ, column by column; G M⁻¹ Gᵀ; λ; a unit row. Or the equations without the dependent coordinates.
    reach: Vec<f64>,
    reduced: Option<Box<Reduced>>,
    delassus: Lu,
    lambda: Vec<f64>,
    unit: Vec<f64>,

    /// Who carries what.
    distribution: Distribution,
    /// Who speaks for the group of each velocity.
    leader: Vec<usize>,
}

impl Archived for Constraints {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        // which columns there are follows from the description; others are scratch
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
    /// Of its right-hand side.
    pub offset: f64,
    /// Whether the rows before imply it. Otherwise known velocities alone are left in it, which may contradict it.
    pub is_implied: bool,
}

impl Constraints {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_v, coupled) = (compiled.model.n_v, &compiled.coupled);
        let clutches = compiled.contacts.iter().filter(|contact| contact.b.is_some());
        let is_coupled =
            !coupled.constraints.is_empty() || compiled.contacts.iter().any(|contact| contact.element.is_some());
        // everything that may share in carrying: all that sticks or is led, where there are couplings at all
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
        // matrices of small machines have their room from the beginning, so that a step allocates nothing
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

    /// Whether everything that numbers something numbers something there is, with these unknowns.
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

    /// Whether couplings take part in the machine at all.
    pub fn is_coupled(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Where a velocity stands among the unknowns.
    pub fn place(&self, v: usize) -> Option<usize> {
        Some(self.place[v]).filter(|&place| place != NOWHERE)
    }

    /// Velocities that depend on nothing: joints that ties leave no motion.
    pub fn immovable(&self) -> impl Iterator<Item = usize> + '_ {
        self.dependent.iter().enumerate().filter(|&(d, _)| self.terms_of(d).is_empty()).map(|(_, &v)| v)
    }

    /// The unknowns that velocity `v` is made of, with their coefficients: itself, or what it depends on, or nothing.
    pub fn made_of(&self, v: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.place(v).map(|place| (place, 1.0));
        let others = self.number.get(v).filter(|&&d| d != NOWHERE).map_or(&[][..], |&d| self.terms_of(d));
        own.into_iter().chain(others.iter().filter_map(|&(i, c)| self.place(i).map(|place| (place, c))))
    }

    /// Whether q_a − q_b is made of no unknown but of joints that are led.
    pub fn is_prescribed(&self, a: usize, b: Option<usize>, is_prescribed: impl Fn(usize) -> bool) -> bool {
        self.is_still(a, b, &is_prescribed) && !self.is_still(a, b, |v| !is_prescribed(v))
    }

    /// Whether q_a − q_b cannot change: what it is made of is held, `is_held` says, or cancels.
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

    /// Size of the terms of dependent coordinate or rate `v` of `x`: that of a coordinate has a constant, too.
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

    /// Tᵀτ: what dependent joints take is for those that they depend on to give.
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

    /// Velocities a and b are held together: their rows of (5) are to be the same.
    pub fn group(&mut self, a: usize, b: usize) {
        let (a, b) = (self.leader[a], self.leader[b]);
        self.leader.iter_mut().filter(|leader| **leader == b).for_each(|leader| *leader = a);
    }

    /// Makes those speak for their groups that depend on nobody, where there are any.
    fn choose_leaders(&mut self, locked: impl Fn(usize) -> bool) {
        for k in 0..self.columns.len() {
            let v = self.columns[k];
            let depends = self.row_of[k] != NOWHERE;
            let old = self.leader[v];
            // a locked joint of a group comes before one whose motion is prescribed and stands still
            if !depends && old != v && (locked(v) || !locked(old)) {
                self.leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = v);
            }
        }
    }

    /// Adds the row Σ c q = offset; `is_known` says which velocities cannot depend on others. If the rows before leave nothing that
    /// could depend, the remainder of the row.
    pub fn add(&mut self, terms: &[(usize, f64)], offset: f64, is_known: impl Fn(usize) -> bool) -> Result<(), Left> {
        let (new, is_deferred) = (self.pivots.len(), self.reduced.is_some());
        let Self { rows, row_of, columns, column_of, own, .. } = self;
        rows.drop(new, |_| true);
        rows.set_right(new, offset);
        for &(v, c) in terms {
            rows.add(new, column_of[v], c);
        }
        let largest = rows.row(new).iter().fold(0.0_f64, |most, entry| most.max(entry.1.abs()));
        // rows that were solved for one of its columns, in their order
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
        // the first of the row's own that is free to depend, or any other
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

    /// Takes out of every row, the last first, the columns that later rows were solved for. Of many rows this is left to the end: in
    /// a row of gears, each of which gives the wheel before, everyone else would have to be changed for each.
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

    /// Ends an elimination: who depends on whom. `held` are constant at `q`; `led` are known but move.
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
            // what its group depends on, or the one that its group follows
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

    /// The unknowns: whoever is not known and does not depend.
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
    /// M⁻¹ Gᵀ and the factors of G M⁻¹ Gᵀ, with the factorisation at hand.
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

    /// The same, by (6) in any case.
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

    /// Whether the determinant of G M⁻¹ Gᵀ factored last is positive, as it is without friction.
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

    /// The same after [`Ties::factor_each`].
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

    /// Makes changes obey (5) to the last bit, what cannot move changing by nothing.
    fn rates_of_change(&self, x: &mut [f64], is_known: impl Fn(usize) -> bool) {
        for (d, &v) in self.dependent.iter().enumerate() {
            let moving = self.terms_of(d).iter().filter(|&&(i, _)| !is_known(i));
            x[v] = moving.fold(0.0, |sum, &(i, c)| sum + c * x[i]);
        }
    }
}

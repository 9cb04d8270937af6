//! Distribution of the efforts that inverse dynamics requires beyond the given ones.
//!
//! ```text
//! e = Gᵀλ − Rᵀf + u          constraint forces λ, drive efforts u of prescribed joints, friction f of stuck contacts
//! ```
//!
//! Elimination (Gauss–Jordan) solves for λ and u, then for as many f as possible. A contact whose f follows from e
//! alone is statically determinate. The others form groups of mutually redundant contacts, see
//! [`super::limit_analysis`]. Within a group f minimises Σ f²/limit subject to the limits; the group slips when its
//! limit set is empty.

use super::limit_analysis::LimitAnalysis;
use super::loops::Loops;
use super::sparse::SparseRows;
use super::{ABSENT, Constraints, Elimination, NEGLIGIBLE};
use crate::constraint::coordinates::sticks;
use crate::dynamics::event_state::limits_at_rest;
use crate::dynamics::point::Point;
use crate::dynamics::scheme::Scheme;
use crate::dynamics::state::State;
use crate::model::{Compiled, Contact};
use crate::modes::MAX_EAGER;
use bristle_multibody::spatial::Force;

/// A negative margin smaller than this counts as zero: rounding in the limit analysis.
const WITHIN: f64 = 1e-9;

/// Threshold pivoting in large systems, where fill-in matters: a pivot may be this part of the largest candidate.
const SOUND: f64 = 0.1;

/// Limit of a closed stop, relative to the largest effort or limit of its group.
const STRONG: f64 = 1e4;

/// Scratch, and the result found last.
#[derive(Debug, Clone)]
pub(super) struct Distribution {
    /// One equation per column in the carriers (constraints, prescribed joints, contacts), with its right-hand side.
    matrix: SparseRows,
    is_solved: Vec<bool>,
    /// The equation solved for each carrier; the effort of each carrier.
    equation: Vec<usize>,
    carried: Vec<f64>,
    /// The contacts; the index of the first among the carriers; which contacts have their group; one group, as
    /// indices into `contacts`.
    contacts: Vec<usize>,
    from: usize,
    is_found: Vec<bool>,
    members: Vec<usize>,
    group: LimitAnalysis,
    /// Per contact of the machine: the first contact of its group (none if determinate); the margin of the group; its
    /// slip in the mechanism by which the group gives way.
    leader: Vec<usize>,
    margin: Vec<f64>,
    slip: Vec<f64>,
}

impl Distribution {
    pub fn new(n_columns: usize, n_carriers: usize, n_contacts: usize) -> Self {
        Self {
            matrix: SparseRows::new(n_columns, n_carriers, n_columns.max(n_carriers) <= MAX_EAGER),
            is_solved: vec![false; n_columns],
            equation: vec![ABSENT; n_carriers],
            carried: vec![0.0; n_carriers],
            contacts: Vec::with_capacity(n_contacts),
            from: 0,
            is_found: Vec::with_capacity(n_contacts),
            members: Vec::with_capacity(n_contacts),
            group: LimitAnalysis::new(if n_carriers > 0 { n_contacts } else { 0 }),
            leader: vec![ABSENT; n_contacts],
            margin: vec![1.0; n_contacts],
            slip: vec![0.0; n_contacts],
        }
    }
}

impl Constraints {
    /// Constraint forces, friction of stuck contacts and drive efforts at the accelerations of `point`. `required` are
    /// the efforts that inverse dynamics requires beyond the given ones.
    pub(crate) fn distribute(
        &mut self,
        (compiled, scheme): (&Compiled, &Scheme),
        state: &State,
        point: &mut Point,
        (required, loops): (&[f64], &Loops),
    ) {
        let Distribution { contacts, leader, .. } = &mut self.distribution;
        contacts.clear();
        contacts.extend((0..state.mode.len()).filter(|&c| sticks((compiled, scheme), state, c)));
        leader.fill(ABSENT);
        self.eliminate(compiled, loops, Some(required));
        for k in 0..self.distribution.contacts.len() {
            if self.find_group(k) {
                self.distribution.distribute_in_group(&compiled.inputs.contacts, state, (&point.load, &point.force));
            }
        }
        self.carry();

        let Distribution { carried, contacts, from, .. } = &self.distribution;
        let n_constraints = point.constraint_force.len();
        let n_given = n_constraints + loops.n_rows;
        point.constraint_force.copy_from_slice(&carried[..n_constraints]);
        point.closure_force.copy_from_slice(&carried[n_constraints..n_given]);
        point.drive_effort.copy_from_slice(&carried[n_given..*from]);
        for (&c, effort) in contacts.iter().zip(&carried[*from..]) {
            point.friction[c] = *effort;
        }
        compiled.model.remove_transferred_force(&point.a, &mut point.constraint_force);
    }

    /// Whether contacts are redundant: the efforts on the machine do not determine the friction of those at rest.
    pub(crate) fn has_redundant(&mut self, compiled: &Compiled, loops: &Loops, contacts: &[usize]) -> bool {
        self.distribution.contacts.clear();
        self.distribution.contacts.extend_from_slice(contacts);
        self.eliminate(compiled, loops, None);
        let Distribution { equation, from, .. } = &self.distribution;
        equation[*from..from + contacts.len()].contains(&ABSENT)
    }
}

impl Distribution {
    /// Margin and efforts of the group found last, under these loads.
    fn distribute_in_group(&mut self, of: &[Contact], state: &State, (load, force): (&[f64], &[Force])) {
        let Self { matrix, equation, carried, contacts, from, members, group, leader, margin, slip, .. } = self;
        let from = *from;
        // basic variables first
        members.sort_by_key(|&k| equation[from + k] == ABSENT);
        let n_basic = members.iter().filter(|&&k| equation[from + k] != ABSENT).count();
        // a closed stop is as strong as necessary: far stronger than all efforts of the group
        let rights = members.iter().map(|&k| equation[from + k]).filter(|&row| row != ABSENT);
        let needed = rights.map(|row| matrix.right(row).abs()).fold(0.0, f64::max);
        let sides = |c: usize| of[c].sides(load[c], &force[c]);
        let strengths = members.iter().map(|&k| of[contacts[k]].strength(sides(contacts[k])));
        let largest = Some(strengths.fold(needed, f64::max)).filter(|most| *most > 0.0).unwrap_or(1.0);
        let limits = members.iter().map(|&k| {
            let (c, strength) = (contacts[k], of[contacts[k]].strength(sides(contacts[k])));
            let limits = limits_at_rest(&of[c], &state.stops[c], sides(c));
            let strength = if state.stops[c].closed.is_some() { strength.max(largest) } else { strength };
            (limits.map(|limit| limit.min(STRONG * largest)), strength)
        });
        group.fill(n_basic, limits, |i, j| {
            let row = equation[from + members[i]];
            if j == 0 { matrix.right(row) } else { -matrix.at(row, from + members[n_basic + j - 1]) }
        });
        if members.iter().all(|&k| of[contacts[k]].strength(sides(contacts[k])) == 0.0) {
            // no contact of it carries anything
            members.iter().for_each(|&k| carried[from + k] = 0.0);
            return;
        }
        let largest_margin = group.largest_margin();
        if largest_margin >= -WITHIN {
            group.distribute();
        }
        let first = members.iter().map(|&k| contacts[k]).min().unwrap_or(ABSENT);
        for (x, &k) in members.iter().enumerate() {
            let c = contacts[k];
            carried[from + k] = group.value[x + 1];
            leader[c] = first;
            slip[c] = group.slip[x + 1];
            margin[c] = largest_margin;
        }
    }
}

impl Constraints {
    /// Makes one group of `contacts`, with a margin and slips that another analysis has found.
    pub(crate) fn set_group(&mut self, contacts: &[usize], margin: f64, slips: &[f64]) {
        let Distribution { leader, margin: margins, slip, .. } = &mut self.distribution;
        for (&c, way) in contacts.iter().zip(slips) {
            leader[c] = contacts[0];
            margins[c] = margin;
            slip[c] = *way;
        }
    }

    /// Margin of the group of a stuck contact, as a fraction of the strengths, and the first contact of the group;
    /// `None` for a determinate contact.
    pub(crate) fn margin(&self, c: usize) -> Option<(f64, usize)> {
        let leader = *self.distribution.leader.get(c)?;
        (leader != ABSENT).then(|| (self.distribution.margin[c], leader))
    }

    /// Slip of a contact, up to a common factor, in the mechanism by which its group gives way.
    pub(crate) fn slip(&self, c: usize) -> f64 {
        self.distribution.slip[c]
    }

    /// Solves for constraint forces, drive efforts and as many of the contacts as there are equations.
    fn eliminate(&mut self, compiled: &Compiled, loops: &Loops, wanted: Option<&[f64]>) {
        let is_large = self.elimination.is_deferred;
        let Self {
            distribution: Distribution { matrix, is_solved, equation, contacts, .. },
            elimination: Elimination { columns, column_of, .. },
            ..
        } = self;
        let (n_constraints, prescribed) = (compiled.model.coupled.constraints.len(), &compiled.model.prescribed);
        let n_given = n_constraints + loops.n_rows;
        let from = n_given + prescribed.len();
        let count = from + contacts.len();
        matrix.clear();
        for (k, constraint) in compiled.model.coupled.constraints.iter().enumerate() {
            constraint.terms.iter().for_each(|&(v, c)| matrix.add(column_of[v], k, c));
        }
        for (k, row) in loops.rows.chunks_exact(compiled.model.tree.n_v.max(1)).enumerate() {
            let terms = row.iter().enumerate().filter(|(_, c)| **c != 0.0);
            terms.for_each(|(v, &c)| matrix.add(column_of[v], n_constraints + k, c));
        }
        for (k, prescribed) in prescribed.iter().enumerate() {
            matrix.add(column_of[prescribed.v], n_given + k, 1.0);
        }
        for (k, &c) in contacts.iter().enumerate() {
            let contact = &compiled.inputs.contacts[c];
            matrix.add(column_of[contact.v], from + k, -1.0);
            if let Some(b) = contact.b {
                matrix.add(column_of[b], from + k, 1.0);
            }
        }
        if let Some(wanted) = wanted {
            columns.iter().enumerate().for_each(|(k, &v)| matrix.set_right(k, wanted[v]));
        }
        equation.fill(ABSENT);
        is_solved.fill(false);
        for (carrier, solved_by) in equation.iter_mut().enumerate().take(count) {
            matrix.find_holders(carrier);
            let size = |k: usize| matrix.at(k, carrier).abs();
            let largest = matrix.holders().iter().map(|&k| size(k)).fold(0.0, f64::max);
            let unsolved = matrix.holders().iter().copied().filter(|&k| !is_solved[k]);
            let mut pivot = unsolved.clone().max_by(|&a, &b| size(a).total_cmp(&size(b)));
            if is_large {
                // the shortest equation that is sound, so that others stay short (Markowitz 1957, with threshold
                // pivoting)
                let best = pivot.map_or(0.0, size);
                pivot = unsolved.filter(|&k| size(k) >= SOUND * best).min_by_key(|&k| matrix.row(k).len());
            }
            let Some(pivot) = pivot else { continue };
            if size(pivot) <= NEGLIGIBLE * largest.max(1.0) {
                continue;
            }
            *solved_by = pivot;
            is_solved[pivot] = true;
            matrix.solve(pivot, carrier);
        }
        self.distribution.from = from;
        self.distribution.is_found.clear();
        self.distribution.is_found.resize(count - from, false);
    }

    /// Finds the group of contact number `k`; `false` if the contact is determinate or its group is already known.
    fn find_group(&mut self, k: usize) -> bool {
        let Distribution { matrix, equation, from, is_found, members, .. } = &mut self.distribution;
        if std::mem::replace(&mut is_found[k], true) {
            return false;
        }
        let from = *from;
        // whether f_a, a basic variable, depends on the nonbasic f_b
        let depends = |a: usize, b: usize| {
            let row = equation[from + a];
            row != ABSENT && equation[from + b] == ABSENT && matrix.at(row, from + b).abs() > NEGLIGIBLE
        };
        members.clear();
        members.push(k);
        let mut next = 0;
        while next < members.len() {
            let a = members[next];
            for (b, is_found) in is_found.iter_mut().enumerate() {
                if !*is_found && (depends(a, b) || depends(b, a)) {
                    *is_found = true;
                    members.push(b);
                }
            }
            next += 1;
        }
        members.len() > 1 || equation[from + k] == ABSENT
    }

    /// Efforts of all basic carriers from those of the nonbasic ones.
    fn carry(&mut self) {
        let Distribution { matrix, equation, from, is_found, carried, .. } = &mut self.distribution;
        let n = *from + is_found.len();
        for k in (0..n).filter(|&k| equation[k] != ABSENT) {
            let given =
                matrix.row(equation[k]).iter().filter(|(other, _)| *other >= *from && equation[*other] == ABSENT);
            carried[k] = given.fold(matrix.right(equation[k]), |rest, (other, c)| rest - c * carried[*other]);
        }
    }
}

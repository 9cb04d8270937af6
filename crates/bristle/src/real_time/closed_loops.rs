//! Closed loops in a `RealTime` step.
//!
//! T of the loops depends on the positions. A step takes T and the drift γ at the positions of its start, see
//! [`crate::constraint::loops`]:
//!
//! ```text
//! v₁ = T(q₀) y₁           Tᵀ (M (T (y₁ − y₀) + h γ) + …) = …                                               (1)
//! q₁: y-positions by y₁, the others by closing the loops;   v₁ ← T(q₁) y₁                                  (2)
//! ```
//!
//! M γ joins the bias: inverse dynamics at the acceleration γ gives both. Where all contacts of a loop stick, y₁ = 0
//! makes all of its velocities 0.0, whatever γ is. In (2) stuck joints are among the independent ones: see
//! `formulation::loop_steps`.
//!
//! Reactions contain the constraint forces of the closures: of least norm, with the same effect as the impulses that
//! (1) lacks in the rows of the dependent velocities.

use super::floating::settle;
use super::reduced_coordinates::{Dependent, ReducedCoordinates, Sparse, difference};
use super::{RealTime, Start, StepError};
use crate::constraint::coordinates::Coordinates;
use crate::constraint::loops::{Chart, LoopFailure, Loops};
use crate::constraint::{ABSENT, Elimination};
use crate::model::Compiled;
use bristle_integrate::linear::Lu;
use bristle_multibody::{Work, rnea};

/// Loops during a step; the arrays are made once.
#[derive(Debug, Clone)]
pub(crate) struct LoopStep {
    /// T and γ at the start of the step.
    pub coordinates: Coordinates,
    /// Rows and chart at the start of the step: borrowed from the machine during a step.
    pub loops: Loops,
    pub chart: Chart,
    /// Constraint forces of the closures.
    pub force: Vec<f64>,
    /// Bounds to which joints are to be brought, NaN for the others: see [`RealTime::find_landings`].
    pub target: Vec<f64>,
    /// 1 for each stuck joint; scratch.
    pub stuck: Vec<f64>,
    /// Elimination for redundant contacts; scratch.
    redundancy: Elimination,
    lu: Lu,
    y: Vec<f64>,
    row: Sparse,
}

impl LoopStep {
    /// None where the machine has no loops.
    pub fn new(compiled: &Compiled) -> Option<Box<Self>> {
        let loops = Loops::new(&compiled.model);
        if !loops.is_any() {
            return None;
        }
        let (n_v, n_contacts) = (compiled.model.tree.n_v, compiled.inputs.contacts.len());
        Some(Box::new(Self {
            coordinates: Coordinates::new(compiled),
            chart: Chart::new(compiled),
            force: vec![0.0; loops.n_rows],
            target: vec![f64::NAN; n_v],
            stuck: vec![0.0; n_v],
            redundancy: Elimination::over(n_v + n_contacts, (0..n_v + n_contacts).collect(), n_contacts),
            lu: Lu::new(n_v),
            y: vec![0.0; n_v],
            row: Sparse::with_capacity(n_v + 1),
            loops,
        }))
    }

    /// Takes over T: rows of the velocities and of the contacts.
    pub(super) fn reduce(&mut self, compiled: &Compiled, into: &mut ReducedCoordinates) {
        let Self { coordinates, redundancy, row, .. } = self;
        let ReducedCoordinates {
            is_identity,
            independent,
            rows,
            rows_prescribed,
            dependent,
            contacts,
            contacts_prescribed,
            is_redundant,
            ..
        } = into;
        independent.clear();
        independent.extend_from_slice(&coordinates.active);
        *is_identity = independent.len() == rows.len();
        dependent.resize_with(coordinates.dependent.len(), || Dependent {
            v: 0,
            of: Sparse::new(),
            offset: 0.0,
            from: Sparse::new(),
        });
        for (d, dependent) in dependent.iter_mut().enumerate() {
            dependent.v = coordinates.dependent[d];
            dependent.of.clear();
            dependent.of.extend_from_slice(coordinates.terms_of(d));
        }
        for v in 0..rows.len() {
            rows[v].clear();
            rows_prescribed[v].clear();
            let own = [(v, 1.0)];
            let terms = match coordinates.number[v] {
                ABSENT => &own[..],
                d => coordinates.terms_of(d),
            };
            for &(i, c) in terms {
                match coordinates.place(i) {
                    Some(place) => rows[v].push((place, c)),
                    None => rows_prescribed[v].push((i, c)),
                }
            }
        }
        for (of, into) in [(&*rows, contacts), (&*rows_prescribed, contacts_prescribed)] {
            for (row, contact) in into.iter_mut().zip(compiled.inputs.contacts.iter()) {
                match contact.b {
                    None => row.clone_from(&of[contact.v]),
                    Some(b) => *row = difference(&of[contact.v], &of[b]),
                }
            }
        }
        // see `redundant_rows`
        let n = rows.len();
        redundancy.clear();
        is_redundant.fill(false);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            let terms = &into.contacts[c];
            if !contact.is_event_driven() || terms.is_empty() {
                continue;
            }
            let largest = terms.iter().fold(0.0_f64, |most, (_, c)| most.max(c.abs()));
            row.clear();
            row.extend(terms.iter().copied().chain([(n + c, largest)]));
            if redundancy.add(row, 0.0, |v| v >= n).is_err() {
                redundancy.remainder().for_each(|(v, _)| into.is_redundant[v - n] = true);
            }
        }
    }

    /// M γ + c at the start of the step and velocities `v`.
    pub fn bias(
        &mut self,
        compiled: &Compiled,
        work: &mut Work,
        q: &[f64],
        v: &[f64],
        out: &mut [f64],
    ) -> Result<(), StepError> {
        let Self { coordinates, loops, chart, y, .. } = self;
        loops.fill_drift(&compiled.model, work, chart, (q, v), coordinates)?;
        y.fill(0.0);
        coordinates.dependent.iter().zip(&coordinates.drift).for_each(|(&d, drift)| y[d] = *drift);
        out.copy_from_slice(rnea(&compiled.model.tree, work, q, v, y)?);
        Ok(())
    }

    /// Adds γ to accelerations.
    pub fn add_drift(&self, a: &mut [f64]) {
        let Coordinates { dependent, drift, .. } = &self.coordinates;
        dependent.iter().zip(drift).for_each(|(&d, drift)| a[d] += drift);
    }

    /// Constraint forces of the closures, of least norm, from the impulses `lacking` in all velocities over h: those of
    /// couplings stay in it.
    pub fn find_forces(&mut self, lacking: &mut [f64], h: f64) -> Result<(), StepError> {
        let Self { loops, chart, force, lu, y, .. } = self;
        let n_d = chart.dependent.len();
        loops.fill_basis(chart);
        let matrix = lu.matrix_mut(n_d);
        matrix.clear();
        for (r, &d) in chart.dependent.iter().enumerate() {
            // T₀ᵀ Jᵀ in the rows of the dependent velocities, times the basis
            for k in 0..n_d {
                matrix[(r, k)] = loops.column_times_basis(chart, d, k);
            }
            y[r] = lacking[d];
            for (number, &v) in chart.base.dependent.iter().enumerate() {
                let terms = chart.base.terms_of(number).iter().filter(|term| term.0 == d);
                y[r] += terms.map(|term| term.1 * lacking[v]).sum::<f64>();
            }
        }
        if lu.factor().is_err() {
            return Err(StepError::Loop(LoopFailure::Singular { closure: 0 }));
        }
        lu.solve(&mut y[..n_d]);
        for (row, force) in force.iter_mut().enumerate() {
            *force = (0..n_d).map(|k| y[k] * loops.basis(k, row)).sum::<f64>() / h;
        }
        for (row, force) in loops.rows.chunks_exact(lacking.len().max(1)).zip(&*force) {
            lacking.iter_mut().zip(row).for_each(|(lacking, c)| *lacking -= h * c * force);
        }
        Ok(())
    }

    /// Reactions at accelerations `a` with the constraint forces of the closures, in `work`.
    pub fn react(&self, compiled: &Compiled, work: &mut Work, start: Start<'_>, a: &[f64]) -> Result<(), StepError> {
        let model = &*compiled.model;
        let applied =
            self.loops.apply(model, &self.force, |body, wrench| work.outside.add_wrench(&model.tree, body, wrench));
        let reacted = applied.and_then(|()| rnea(&model.tree, work, start.q, start.v, a).map(|_| ()));
        work.outside.clear_wrenches();
        for w in &compiled.inputs.wrenches {
            work.outside.set_wrench(&model.tree, w.body, w.wrench)?;
        }
        Ok(reacted?)
    }
}

impl RealTime {
    /// Finds the joints with stops that the last step has landed on their bounds, or that are beyond them at the
    /// positions `xi`; whether any is not at its bound.
    pub fn find_landings(&mut self, compiled: &Compiled, xi: &[f64]) -> Result<bool, StepError> {
        let Self { loops, stops, coordinates, end, .. } = self;
        let Some(step) = loops else { return Ok(false) };
        step.target.fill(f64::NAN);
        stops.landings(compiled, coordinates, &end.v, xi, &mut step.target)
    }

    /// Free joints once more, after the loops of their trees have been closed: their momentum stays.
    pub fn float_again(
        &self,
        compiled: &Compiled,
        work: &mut Work,
        q_ref: &[f64],
        (xi, q, v): (&mut [f64], &mut [f64], &mut [f64]),
        h: f64,
    ) -> Result<(), StepError> {
        if !self.floated.is_empty() {
            settle(&self.floated, &compiled.model.tree, work, q_ref, (xi, q, v), h)?;
        }
        Ok(())
    }

    /// Takes T at the start of a step; all arrays have the number of independent velocities that it has.
    pub fn take_loops(&mut self, compiled: &Compiled) {
        let Self { loops, coordinates, rigid_groups, .. } = self;
        let Some(step) = loops else { return };
        step.reduce(compiled, coordinates);
        rigid_groups.set_constraints(&step.coordinates);
    }
}

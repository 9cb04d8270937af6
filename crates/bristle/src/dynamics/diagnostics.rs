//! Observations during a run: work counters, warnings, and the cause of a failed evaluation.

use super::archive::saved;
use super::failure::Failure;
use crate::model::{End, StopChange};
use bristle_friction::Mode;
use bristle_integrate::archive::{Archive, Archived};

/// Observations of a machine so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics {
    /// Work counters of the accelerations.
    pub counters: Counters,
    /// Bearings that came near jamming, in order of time, each once.
    pub near_jams: Vec<NearJam>,
    /// First instant at which stability limited the step of an explicit stepper.
    pub stiff: Option<Stiff>,
    /// Time and contact of the first deflection larger than friction permits.
    pub overdeflected: Option<(f64, usize)>,
    /// Bearings whose loads had not converged in some `RealTime` step, each once.
    pub unconverged_loads: Vec<UnconvergedLoad>,
    /// Mode changes of the last event.
    pub changes: Vec<ModeChange>,
    /// Impacts and releases of the last event.
    pub stop_changes: Vec<StopChange>,
    /// Cause of the last failed evaluation.
    pub failure: Option<Failure>,
}

impl Diagnostics {
    pub fn new(n_contacts: usize) -> Self {
        Self {
            near_jams: Vec::with_capacity(n_contacts),
            unconverged_loads: Vec::with_capacity(n_contacts),
            changes: Vec::with_capacity(n_contacts),
            stop_changes: Vec::with_capacity(2 * n_contacts),
            ..Self::default()
        }
    }
}

saved!(Diagnostics { counters, stiff, overdeflected }
    lists { near_jams, unconverged_loads, changes, stop_changes } without { failure });

/// A contact that stuck, slipped or reversed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModeChange {
    /// Index of the contact.
    pub contact: usize,
    /// Mode before.
    pub from: Mode,
    /// Mode after.
    pub to: Mode,
}

/// Work counters of the accelerations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counters {
    /// Solutions of (1) with accelerations on both sides.
    pub n_acceleration_solves: usize,
    /// Sweeps of the friction-loaded recursion: factorisations.
    pub n_sweeps: usize,
    /// Substitutions with a factorisation, the last one or a sufficiently accurate older one.
    pub n_substitutions: usize,
    /// Evaluations of the differentiated equations.
    pub n_jerks: usize,
    /// Largest relative residual of (1) left by the integration of accelerations.
    pub drift: f64,
    /// Projections that removed it.
    pub n_projections: usize,
    /// Total of the iterations of the convex solver in `RealTime` steps.
    pub n_rounds: usize,
    /// Largest number of iterations in one solution.
    pub max_rounds: usize,
    /// `RealTime` steps with a reaction load that had not converged: see [`UnconvergedLoad`].
    pub n_unconverged_loads: usize,
}

impl Counters {
    /// Sum of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            n_acceleration_solves: self.n_acceleration_solves + other.n_acceleration_solves,
            n_sweeps: self.n_sweeps + other.n_sweeps,
            n_substitutions: self.n_substitutions + other.n_substitutions,
            n_jerks: self.n_jerks + other.n_jerks,
            drift: self.drift.max(other.drift),
            n_projections: self.n_projections + other.n_projections,
            n_rounds: self.n_rounds + other.n_rounds,
            max_rounds: self.max_rounds.max(other.max_rounds),
            n_unconverged_loads: self.n_unconverged_loads + other.n_unconverged_loads,
        }
    }
}

/// A bearing near jamming: (1) may have several solutions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NearJam {
    /// Index of the contact.
    pub contact: usize,
    /// Time of the first occurrence, s.
    pub t: f64,
    /// Sᵀ IA S + armature − r|μ| N(IA S), kg·m² or kg: not positive.
    pub margin: f64,
}

/// First instant at which stability limited the step of an explicit stepper.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stiff {
    /// Time, s.
    pub t: f64,
    /// Length of the steps there, s.
    pub h: f64,
    /// Joint of the stiffest unknown.
    pub joint: usize,
    /// The contact, if the stiffest unknown is a bristle state.
    pub contact: Option<usize>,
}

/// A bearing whose reaction load had not converged when a `RealTime` step ended its iterations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnconvergedLoad {
    /// Index of the contact.
    pub contact: usize,
    /// End of the first such step, s.
    pub t: f64,
    /// Largest relative change of the load in the last iteration of any step.
    pub largest: f64,
}

impl Archived for StopChange {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { contact, end, is_release, from, to } = self;
        contact.archive(archive);
        archive.choice(end, &End::BOTH);
        is_release.archive(archive);
        super::archive::archive_mode(from, archive);
        super::archive::archive_mode(to, archive);
    }
}

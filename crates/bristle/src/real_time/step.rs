//! Data of a step: state at its start, state and results at its end, errors.

use super::convex_solver::SolverError;
use crate::constraint::loops::LoopFailure;
use crate::model::Compiled;
use crate::model::servo::ServoState;
use crate::signal::Piece;
use bristle_friction::{Mode, State as BristleState};
use bristle_multibody::advance;

/// Why a step failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepError {
    /// A kernel of the tree dynamics refused.
    Mechanics(bristle_multibody::Error),
    /// The convex solver has not converged; the contact with the largest residual.
    NotConverged { contact: usize },
    /// A prescribed motion drives a joint into its stop at this bound.
    MotionIntoStop { contact: usize, bound: f64 },
    /// A joint is past its stop at this bound.
    PastStop { contact: usize, position: f64, bound: f64 },
    /// Closed loops could not be followed.
    Loop(LoopFailure),
    /// An end was asked for: see [`crate::stop`].
    Stopped,
}

impl From<LoopFailure> for StepError {
    fn from(failure: LoopFailure) -> Self {
        Self::Loop(failure)
    }
}

impl From<bristle_multibody::Error> for StepError {
    fn from(error: bristle_multibody::Error) -> Self {
        Self::Mechanics(error)
    }
}

impl From<SolverError> for StepError {
    fn from(error: SolverError) -> Self {
        match error {
            SolverError::Mechanics(error) => Self::Mechanics(error),
            SolverError::NotConverged { contact } => Self::NotConverged { contact },
            SolverError::Stopped => Self::Stopped,
        }
    }
}

/// State at the start of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    /// Centre of the charts, positions, and chart coordinates about the centre.
    pub q_ref: &'a [f64],
    pub q: &'a [f64],
    pub xi: &'a [f64],
    /// Mean positions q̄ of the step: see [`middle`].
    pub middle: &'a [f64],
    pub v: &'a [f64],
    /// States and mode of each contact.
    pub bristles: &'a [BristleState],
    pub modes: &'a [Mode],
    /// Normal loads at the end of the last step: where reaction loads start.
    pub loads: &'a [f64],
    /// Integrals of the controllers.
    pub integrals: &'a [f64],
    /// Servos, one per drive of any kind.
    pub servos: &'a [ServoState],
}

/// Where the signals of a step are sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalTime {
    /// The end of the step, for loads and prescribed motions.
    pub t: f64,
    pub piece: Piece,
    /// Its middle, for drives.
    pub middle: (f64, Piece),
    /// Whether this is the first, very short step: it takes accelerations of prescribed motions from their signals.
    pub is_first: bool,
}

impl SignalTime {
    /// Of a step of length `h` that ends at `t`.
    pub fn of_step(t: f64, h: f64) -> Self {
        let middle = t - 0.5 * h;
        // the sum of the steps differs from the time of a corner by rounding
        Self { t, piece: Piece::Before(t - 1e-6 * h), middle: (middle, Piece::Before(middle)), is_first: false }
    }

    /// Of the first, very short step.
    pub fn first(t: f64) -> Self {
        let piece = Piece::After(t);
        Self { t, piece, middle: (t, piece), is_first: true }
    }
}

/// Mean positions q̄ of a step of length `h` as predicted, q₀ ⊕ (½ h v₀ + ¼ h² a), into `out`; `a` holds the
/// accelerations of the step before and receives the displacement. q₀ for machines with closed loops.
pub(super) fn middle(
    compiled: &Compiled,
    start: Start<'_>,
    h: f64,
    a: &mut [f64],
    out: &mut [f64],
) -> Result<(), StepError> {
    if !compiled.model.coupled.closures.is_empty() {
        out.copy_from_slice(start.q);
        return Ok(());
    }
    a.iter_mut().zip(start.v).for_each(|(a, v)| *a = 0.5 * h * (v + 0.5 * h * *a));
    Ok(advance(&compiled.model.tree, start.q, a, out)?)
}

/// State and results at the end of a step.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// Velocities v₁, v₁ − v₀, accelerations.
    pub v: Vec<f64>,
    pub(super) change: Vec<f64>,
    /// The mean velocities v̄: forces do their work at them.
    pub(super) mean: Vec<f64>,
    pub a: Vec<f64>,
    /// Friction, load and mode of each contact.
    pub friction: Vec<f64>,
    pub load: Vec<f64>,
    pub modes: Vec<Mode>,
    /// Forces of the couplings, and efforts of prescribed motions in the order of their drives.
    pub constraint_force: Vec<f64>,
    pub prescribed_effort: Vec<f64>,
    /// Contacts whose reaction load had not converged, and its relative change in the last iteration.
    pub unconverged: Vec<(usize, f64)>,
    /// Chart coordinates and positions, states of the contacts, integrals.
    pub xi: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub bristles: Vec<BristleState>,
    pub integrals: Vec<f64>,
}

//! Data of a step: state at its start, state and results at its end, errors.

use super::convex_solver::SolverError;
use crate::constraint::loops::LoopFailure;
use crate::model::servo::ServoState;
use crate::signal::Piece;
use bristle_friction::{Mode, State as BristleState};

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
    pub t: f64,
    pub piece: Piece,
    /// Whether this is the first, very short step: it takes accelerations of prescribed motions from their signals.
    pub is_first: bool,
}

/// State and results at the end of a step.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// Velocities v₁, v₁ − v₀, accelerations.
    pub v: Vec<f64>,
    pub(super) change: Vec<f64>,
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

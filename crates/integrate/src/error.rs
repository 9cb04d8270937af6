//! Errors of a run, with the last accepted state.

/// The reason why a run ended early. `t` and `state` are the last accepted time and state, from which a run may be
/// resumed; `h` is the step that failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A tolerance, step, time or initial state that cannot be used.
    #[error("{what} = {value:?} cannot be used; wanted: {reason}")]
    Input {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The values accepted.
        reason: &'static str,
    },
    /// The equations have a form that the chosen stepper cannot take.
    #[error("a system with {what} needs an implicit stepper: Trapezoidal, Radau3, Radau5 or GeneralizedAlpha")]
    NeedsImplicit {
        /// The property that an explicit stepper cannot treat.
        what: &'static str,
    },
    /// The matrices of the stepper are more than is allowed, or than there is memory for.
    #[error(
        "{unknowns} unknowns: this stepper takes {} for its matrices, and {}; an explicit stepper takes none",
        size(*bytes),
        available(*limit)
    )]
    Memory {
        /// Unknowns of the system.
        unknowns: usize,
        /// Bytes of its matrices.
        bytes: u64,
        /// Bytes that they may take; 0 where there is no memory for them.
        limit: u64,
    },
    /// Error control asks for steps that time cannot resolve.
    #[error(
        "step {h:e} at t = {t:?} is too small to advance time (error {error:e} times the tolerance): try another \
         tolerance or stepper, and check the equations there for a jump"
    )]
    StepTooSmall {
        /// Last accepted time.
        t: f64,
        /// Step that failed.
        h: f64,
        /// Last error estimate in units of the tolerance; NaN if there was none.
        error: f64,
        /// Last accepted state.
        state: Vec<f64>,
    },
    /// Newton's iteration does not converge, with no smaller step to try.
    #[error("Newton does not converge at t = {t:?} with step {h:e}{}", advice(*is_controlled))]
    Newton {
        /// Last accepted time.
        t: f64,
        /// Step that failed.
        h: f64,
        /// Whether an error estimate chose the step.
        is_controlled: bool,
        /// Last accepted state.
        state: Vec<f64>,
    },
    /// The Newton matrix is singular, with no smaller step to try.
    #[error("the Newton matrix is singular at t = {t:?} with step {h:e}")]
    Singular {
        /// Last accepted time.
        t: f64,
        /// Step that failed.
        h: f64,
        /// Column without a pivot.
        column: usize,
        /// Last accepted state.
        state: Vec<f64>,
    },
    /// A derivative, residual or state is not finite, with no smaller step to try.
    #[error("a derivative, residual or state is not finite after t = {t:?} with step {h:e}")]
    NonFinite {
        /// Last accepted time.
        t: f64,
        /// Step that failed.
        h: f64,
        /// First component concerned.
        component: usize,
        /// Last accepted state.
        state: Vec<f64>,
    },
    /// The system refused to be evaluated.
    #[error("the equations cannot be evaluated after t = {t:?} with step {h:e}")]
    System {
        /// Last accepted time.
        t: f64,
        /// Step that failed.
        h: f64,
        /// The system's code; `None` if it kept asking for smaller steps.
        code: Option<usize>,
        /// Last accepted state.
        state: Vec<f64>,
    },
    /// Events follow one another faster than the budget: Zeno behaviour or chatter.
    #[error(
        "events follow one another without end at t = {t:?}: more than {burst} at once, and more than {rate} per step \
        of the time so far"
    )]
    EventBudget {
        /// Time of the event.
        t: f64,
        /// Step that led to it.
        h: f64,
        /// The event.
        event: crate::FiredEvent,
        /// Events without a step between them allowed per length of the run so far.
        rate: f64,
        /// Events allowed in quick succession.
        burst: usize,
        /// State just past the event, before switching.
        state: Vec<f64>,
    },
    /// The step budget of a call is used up.
    #[error("{steps} steps taken at t = {t:?}, step {h:e}: budget used up")]
    StepBudget {
        /// Last accepted time.
        t: f64,
        /// Step planned next.
        h: f64,
        /// Steps taken.
        steps: usize,
        /// Last accepted state.
        state: Vec<f64>,
    },
}

/// Advice where steps are prescribed.
fn advice(is_controlled: bool) -> &'static str {
    if is_controlled { "" } else { ": try a smaller step, or let an error estimate choose it" }
}

/// A number of bytes.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e5 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e8 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

/// A limit of bytes, or 0 where there is less memory than asked for.
fn available(limit: u64) -> String {
    if limit > 0 { format!("has up to {}", size(limit)) } else { "there is no memory for them".into() }
}

impl Error {
    /// Last accepted time, step and state; `None` for refused input.
    pub fn last(&self) -> Option<(f64, f64, &[f64])> {
        match self {
            Error::Input { .. } | Error::NeedsImplicit { .. } | Error::Memory { .. } => None,
            Error::StepTooSmall { t, h, state, .. }
            | Error::Newton { t, h, state, .. }
            | Error::Singular { t, h, state, .. }
            | Error::NonFinite { t, h, state, .. }
            | Error::System { t, h, state, .. }
            | Error::EventBudget { t, h, state, .. }
            | Error::StepBudget { t, h, state, .. } => Some((*t, *h, state)),
        }
    }
}

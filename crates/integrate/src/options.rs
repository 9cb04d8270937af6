//! Settings of a run, and their validation.

use crate::control::{ATOL, Control, is_valid_atol};
use crate::method::AnyStepper;
use crate::{Error, Form, GeneralizedAlpha, Method, Stepper, System};

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The stepper.
    pub method: Method,
    /// How large the steps are.
    pub control: Control,
    /// Absolute tolerance of each unknown under error control, instead of those that the system derives from the
    /// control's.
    pub atol: Option<Vec<f64>>,
    /// First step under error control; estimated if `None`.
    pub first_step: Option<f64>,
    /// Longest step.
    pub max_step: f64,
    /// Steps allowed in one call of [`crate::Driver::advance`].
    pub max_steps: usize,
    /// Relative tolerance of Newton's iteration where the steps are not error-controlled.
    pub newton_rtol: f64,
    /// Absolute tolerance of Newton's iteration where the steps are not error-controlled.
    pub newton_atol: f64,
    /// Points per step at which event functions are evaluated, the end included.
    pub event_samples: usize,
    /// Instants with events in every step that are allowed in as long a time as the run has lasted so far; events with
    /// steps between them cost nothing.
    pub event_rate: f64,
    /// Instants with events allowed in quick succession.
    pub event_burst: usize,
}

impl Options {
    /// Defaults for everything else.
    pub fn new(method: Method, control: Control) -> Self {
        Options {
            method,
            control,
            atol: None,
            first_step: None,
            max_step: f64::INFINITY,
            max_steps: 100_000_000,
            newton_rtol: 1e-10,
            newton_atol: 1e-12,
            event_samples: 4,
            event_rate: 1e7,
            event_burst: 256,
        }
    }
}

/// Refuses a state of the wrong length or with an entry that is not finite.
pub(crate) fn check_state<S: System>(system: &S, t: f64, y: &[f64]) -> Result<(), Error> {
    let refuse = |what, value, reason| Err(Error::Input { what, value, reason });
    if y.len() != system.dim() {
        return refuse("number of unknowns", y.len() as f64, "the system's active dimension");
    }
    if !t.is_finite() {
        return refuse("t", t, "finite");
    }
    match y.iter().find(|y| !y.is_finite()) {
        Some(&y) => refuse("state", y, "finite"),
        None => Ok(()),
    }
}

/// Refuses settings with which a run cannot start.
pub(crate) fn check_options<S: System>(system: &S, t: f64, y: &[f64], options: &Options) -> Result<(), Error> {
    let refuse = |what, value, reason| Err(Error::Input { what, value, reason });
    check_state(system, t, y)?;
    if let Method::GeneralizedAlpha { spectral_radius } = options.method {
        GeneralizedAlpha::check(spectral_radius)?;
    }
    options.control.validate()?;
    if let Some((rtol, _)) = options.control.tolerances() {
        if AnyStepper::new(options.method, 0, 0, false).error_exponent().is_none() {
            return refuse(
                "rtol",
                rtol,
                "a stepper with an error estimate (Dopri5, Radau5, GeneralizedAlpha), or a constant step for this one",
            );
        }
        if let Some(each) = &options.atol {
            if each.len() < system.max_dim().max(system.dim()) {
                return refuse("number of atol", each.len() as f64, "one for each unknown up to max_dim");
            }
            if let Some(&atol) = each.iter().find(|atol| !is_valid_atol(**atol, rtol)) {
                return refuse("atol", atol, ATOL);
            }
        }
    }
    if system.form() == Form::Mass && !options.method.is_implicit() {
        return Err(Error::NeedsImplicit { what: "a mass matrix" });
    }
    if options.event_samples == 0 {
        return refuse("event_samples", 0.0, "1 or more");
    }
    if options.first_step.is_some_and(|h| !(h > 0.0 && h.is_finite())) {
        return refuse("first_step", options.first_step.unwrap_or(0.0), "positive and finite");
    }
    if options.max_step.is_nan() || options.max_step <= 0.0 {
        return refuse("max_step", options.max_step, "positive");
    }
    if options.event_rate.is_nan() || options.event_rate < 0.0 {
        return refuse("event_rate", options.event_rate, "not negative");
    }
    let newton = [options.newton_rtol, options.newton_atol];
    match newton.iter().find(|tolerance| !(**tolerance > 0.0 && tolerance.is_finite())) {
        Some(&value) => refuse("newton tolerance", value, "positive and finite"),
        None => Ok(()),
    }
}

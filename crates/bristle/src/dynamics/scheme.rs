//! How the equations are solved: formulation, accuracy, thresholds.

use crate::solver::{Constraints, Control, Formulation, Kinks};

/// Relative residual of (1) for accelerations where no other accuracy is given.
pub(crate) const TIGHT: f64 = 1e-13;

/// How the equations are solved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    pub formulation: Formulation,
    /// Form in which closed loops enter the equations.
    pub constraints: Constraints,
    /// Whether an error estimate controls the steps.
    pub is_controlled: bool,
    /// Its relative and absolute tolerance.
    pub tolerances: Option<(f64, f64)>,
    /// The rule of prescribed steps, if the control is one.
    pub step_control: Control,
    /// Accepted residual of (1) during steps.
    pub accuracy: f64,
    /// θ of the event functions of kinks; `None` where kinks are no events.
    pub kink_tolerance: Option<f64>,
    /// Which kinks are events.
    pub kinks: Kinks,
    /// Upper bound of the rotation of a prescribed joint in one step, rad.
    pub motion_angle: f64,
    /// Upper bound of the phase of the fastest oscillation of prescribed motions in one step, rad.
    pub motion_phase: f64,
    /// The same as a step, s, for the quadrature of the work of prescribed motions.
    pub motion_step: f64,
    /// Whether `RealTime` makes the steps: every velocity is an unknown then, stuck or not.
    pub is_real_time: bool,
    /// Whether (1) is the equation of impulses, without velocities, gravity and finite efforts: see `impulse`.
    pub is_impulsive: bool,
}

impl Scheme {
    /// Tolerance of a position, rad or m; 0 where steps are not error-controlled.
    pub fn position_tolerance(&self, q: f64) -> f64 {
        self.tolerances.map_or(0.0, |(relative, absolute)| absolute + relative * q.abs())
    }

    /// Largest remaining time of a sequence of bounces that is summed, as a fraction of the elapsed one: see `stops`.
    pub fn zeno_fraction(&self) -> f64 {
        self.tolerances.map_or(1e-10, |(relative, _)| relative).clamp(1e-10, 1e-8).sqrt()
    }

    /// `tolerances` are the relative and the absolute one if steps are error-controlled.
    pub fn new(formulation: Formulation, tolerances: Option<(f64, f64)>) -> Self {
        let relative = tolerances.map(|(relative, _)| relative);
        Self {
            formulation,
            constraints: Constraints::Reduced,
            is_controlled: tolerances.is_some(),
            tolerances,
            step_control: Control::default(),
            accuracy: relative.map_or(1e-12, |relative| (0.01 * relative).max(TIGHT)),
            kink_tolerance: tolerances.map(|(_, absolute)| absolute),
            kinks: Kinks::Velocity,
            motion_angle: relative.map_or(f64::INFINITY, |relative| 2.0 * relative.powf(0.2)),
            motion_phase: 2.0 * relative.unwrap_or(1.0).powf(0.2),
            motion_step: f64::INFINITY,
            is_real_time: false,
            is_impulsive: false,
        }
    }
}

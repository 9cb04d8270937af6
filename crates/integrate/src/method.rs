//! The choice of stepper at run time.

use crate::archive::{Archive, Archived};
use crate::control::Rule;
use crate::linear::Shortage;
use crate::{
    Attempt, Dopri5, Euler, Failure, GeneralizedAlpha, LinearlyImplicitEuler, MixedEuler, Radau3, Radau5, Rk4, Stats,
    Step, Stepper, System, SystemStep, Trapezoidal,
};

/// The choice of a stepper.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum Method {
    /// Classical Runge–Kutta, order 4, prescribed steps.
    Rk4,
    /// Dormand–Prince, order 5(4), dense output.
    Dopri5,
    /// Trapezoidal rule, prescribed steps.
    Trapezoidal,
    /// Radau IIA with two stages, order 3, prescribed steps.
    Radau3,
    /// Radau IIA with three stages, order 5, dense output.
    Radau5,
    /// Generalized-α.
    GeneralizedAlpha {
        /// ρ∞, 0 … 1: how much of the highest frequencies is left after a step.
        #[cfg_attr(feature = "serde", serde(default = "spectral_radius"))]
        spectral_radius: f64,
    },
    /// The one-step map of the system itself, [`System::system_step`]; prescribed steps.
    RealTime,
    /// Explicit Euler, prescribed steps, for comparison.
    Euler,
    /// Mixed Euler: [`System::implicit_part`] implicit, the rest explicit; prescribed steps, for comparison.
    MixedEuler,
    /// One Newton step of backward Euler, prescribed steps, for comparison.
    LinearlyImplicitEuler,
}

#[cfg(feature = "serde")]
fn spectral_radius() -> f64 {
    0.8
}

impl Method {
    /// Its name as spelled in a scene.
    pub fn name(self) -> &'static str {
        match self {
            Method::Rk4 => "Rk4",
            Method::Dopri5 => "Dopri5",
            Method::Trapezoidal => "Trapezoidal",
            Method::Radau3 => "Radau3",
            Method::Radau5 => "Radau5",
            Method::GeneralizedAlpha { .. } => "GeneralizedAlpha",
            Method::RealTime => "RealTime",
            Method::Euler => "Euler",
            Method::MixedEuler => "MixedEuler",
            Method::LinearlyImplicitEuler => "LinearlyImplicitEuler",
        }
    }

    /// Does the stepper solve equations for the end of the step? Required by [`crate::Form::Mass`] and useful with
    /// [`crate::Form::Residual`].
    pub fn is_implicit(self) -> bool {
        matches!(self, Method::Trapezoidal | Method::Radau3 | Method::Radau5 | Method::GeneralizedAlpha { .. })
    }

    /// Does the stepper estimate its error, so that error control can choose the steps?
    pub fn has_error_estimate(self) -> bool {
        matches!(self, Method::Dopri5 | Method::Radau5 | Method::GeneralizedAlpha { .. })
    }

    /// The rule of error control that suits the stepper.
    pub fn rule(self) -> Rule {
        if self.is_implicit() { Rule::Predictive } else { Rule::Pi }
    }
}

/// Any of the steppers.
#[derive(Clone, Debug)]
pub(crate) enum AnyStepper {
    Euler(Euler),
    MixedEuler(MixedEuler),
    LinearlyImplicitEuler(LinearlyImplicitEuler),
    Rk4(Rk4),
    Dopri5(Dopri5),
    Trapezoidal(Trapezoidal),
    Radau3(Box<Radau3>),
    Radau5(Box<Radau5>),
    GeneralizedAlpha(Box<GeneralizedAlpha>),
    SystemStep(SystemStep),
}

impl AnyStepper {
    /// `is_prescribed`: steps are not chosen by their errors.
    pub fn new(method: Method, n_max: usize, n_quad: usize, is_prescribed: bool) -> Self {
        match method {
            Method::Euler => AnyStepper::Euler(Euler::new(n_max, n_quad)),
            Method::MixedEuler => AnyStepper::MixedEuler(MixedEuler::new(n_max, n_quad)),
            Method::LinearlyImplicitEuler => {
                AnyStepper::LinearlyImplicitEuler(LinearlyImplicitEuler::new(n_max, n_quad))
            }
            Method::Rk4 => AnyStepper::Rk4(Rk4::new(n_max, n_quad)),
            Method::Dopri5 => AnyStepper::Dopri5(Dopri5::new(n_max, n_quad)),
            Method::Trapezoidal => AnyStepper::Trapezoidal(Trapezoidal::new(n_max, n_quad)),
            Method::Radau3 => AnyStepper::Radau3(Box::new(Radau3::new(n_max, n_quad))),
            Method::Radau5 if is_prescribed => AnyStepper::Radau5(Box::new(Radau5::prescribed(n_max, n_quad))),
            Method::Radau5 => AnyStepper::Radau5(Box::new(Radau5::new(n_max, n_quad))),
            Method::GeneralizedAlpha { spectral_radius } => {
                AnyStepper::GeneralizedAlpha(Box::new(GeneralizedAlpha::new(n_max, n_quad, spectral_radius)))
            }
            Method::RealTime => AnyStepper::SystemStep(SystemStep::new(n_max, n_quad)),
        }
    }
}

/// Methods that call the same method of the chosen stepper.
macro_rules! delegate {
    ($(
        fn $method:ident$(<$S:ident: System>)?($self:ident: $Self:ty$(, $argument:ident: $kind:ty)*) $(-> $result:ty)?;
    )+) => {
        $(fn $method$(<$S: System>)?($self: $Self$(, $argument: $kind)*) $(-> $result)? {
            match $self {
                AnyStepper::Euler(stepper) => stepper.$method($($argument),*),
                AnyStepper::MixedEuler(stepper) => stepper.$method($($argument),*),
                AnyStepper::LinearlyImplicitEuler(stepper) => stepper.$method($($argument),*),
                AnyStepper::Rk4(stepper) => stepper.$method($($argument),*),
                AnyStepper::Dopri5(stepper) => stepper.$method($($argument),*),
                AnyStepper::Trapezoidal(stepper) => stepper.$method($($argument),*),
                AnyStepper::Radau3(stepper) => stepper.$method($($argument),*),
                AnyStepper::Radau5(stepper) => stepper.$method($($argument),*),
                AnyStepper::GeneralizedAlpha(stepper) => stepper.$method($($argument),*),
                AnyStepper::SystemStep(stepper) => stepper.$method($($argument),*),
            }
        })+
    };
}

impl Archived for AnyStepper {
    delegate! {
        fn archive(self: &mut Self, archive: &mut Archive<'_>);
    }
}

impl Stepper for AnyStepper {
    delegate! {
        fn order(self: &Self) -> usize;
        fn error_exponent(self: &Self) -> Option<f64>;
        fn matrix_bytes(self: &Self) -> u64;
        fn reserve(self: &mut Self) -> Result<(), Shortage>;
        fn restart(self: &mut Self, n: usize);
        fn step<S: System>(
            self: &mut Self, system: &mut S, step: Step<'_>, stats: &mut Stats
        ) -> Result<Attempt, Failure>;
        fn finish<S: System>(self: &mut Self, system: &mut S, stats: &mut Stats) -> Result<(), Failure>;
        fn has_dense_output(self: &Self) -> bool;
        fn stiff_component(self: &Self) -> Option<usize>;
        fn y_new(self: &Self) -> &[f64];
        fn interpolate(self: &Self, theta: f64, y: &mut [f64]);
        fn interpolate_quadratures(self: &Self, theta: f64, quad: &mut [f64]);
        fn accept(self: &mut Self);
        fn adjust_step(self: &Self, h: f64, h_new: f64) -> f64;
    }
}

//! How a scene is to be solved: formulation, method, step control, output.

use serde::{Deserialize, Serialize};

/// How loads that depend on acceleration are dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Formulation {
    /// Newton on the accelerations at each evaluation.
    #[default]
    Implicit,
    /// The equations differentiated once; acceleration is a state.
    Jerk,
    /// The equations handed unsolved to an implicit stepper.
    Residual,
}

/// Method and step control; what is left out follows from the scene, see [`Scene::method`](super::Scene::method).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// Integration method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Step control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// What of bristle laws is located as an event under error control.
    #[serde(default, skip_serializing_if = "Kinks::is_default")]
    pub kinks: Kinks,
}

/// Where bristle laws bend: what is located as an event under error control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Kinks {
    /// v = 0, where |v| has its kink.
    #[default]
    Velocity,
    /// ż = 0, as Aberger & Otter (2002) hint at break-away. At rest bristles tremble about it: the more of these there are, the
    /// tighter the tolerance.
    Deflection,
    /// Nothing.
    Off,
}

impl Kinks {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Integration methods.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Method {
    /// Classical Runge–Kutta, order 4.
    Rk4,
    /// Dormand–Prince, order 5(4), dense output.
    Dopri5,
    /// Trapezoidal rule.
    Trapezoidal,
    /// Radau IIA with two stages, order 3.
    Radau3,
    /// Radau IIA with three stages, order 5, dense output.
    Radau5,
    /// Generalised-α.
    GeneralizedAlpha {
        /// Spectral radius at infinite frequency, 0 to 1.
        #[serde(default = "spectral_radius")]
        spectral_radius: f64,
    },
    /// Fixed step, bounded work, stable with any friction law.
    RealTime,
    /// Explicit Euler, for comparison.
    Euler,
    /// Bristles implicit, the rest explicit, for comparison.
    MixedEuler,
    /// One Newton step of backward Euler, for comparison.
    LinearlyImplicitEuler,
}

fn spectral_radius() -> f64 {
    0.8
}

impl Method {
    /// Its name as spelled in a scene.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rk4 => "Rk4",
            Self::Dopri5 => "Dopri5",
            Self::Trapezoidal => "Trapezoidal",
            Self::Radau3 => "Radau3",
            Self::Radau5 => "Radau5",
            Self::GeneralizedAlpha { .. } => "GeneralizedAlpha",
            Self::RealTime => "RealTime",
            Self::Euler => "Euler",
            Self::MixedEuler => "MixedEuler",
            Self::LinearlyImplicitEuler => "LinearlyImplicitEuler",
        }
    }

    /// Whether it solves for the end of the step.
    pub fn is_implicit(&self) -> bool {
        !matches!(self, Self::Rk4 | Self::Dopri5 | Self::Euler | Self::MixedEuler | Self::LinearlyImplicitEuler)
    }

    /// Whether it estimates its error, so that steps can be chosen by it.
    pub fn has_error_estimate(&self) -> bool {
        matches!(self, Self::Dopri5 | Self::Radau5 | Self::GeneralizedAlpha { .. })
    }
}

/// How step sizes are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Control {
    /// One step size throughout.
    Constant {
        /// s
        step: f64,
    },
    /// By the error estimate, against rtol·|y| + atol.
    Error {
        /// Relative tolerance.
        #[serde(default = "rtol")]
        rtol: f64,
        /// Absolute tolerance.
        #[serde(default = "atol")]
        atol: f64,
    },
    /// By the error estimate and the textbook rule h⁺ = 0.8 h err^(−1/k), for comparison.
    Elementary {
        /// Relative tolerance.
        #[serde(default = "rtol")]
        rtol: f64,
        /// Absolute tolerance.
        #[serde(default = "atol")]
        atol: f64,
    },
    /// Δt = Δt_min + (Δt_max − Δt_min) tanh⁴ ν, ν = |V|/(v_s v̄_min)
    DymoreCoulomb {
        /// Smallest step, s.
        #[serde(default = "coulomb_min")]
        min: f64,
        /// Largest step, s.
        #[serde(default = "coulomb_max")]
        max: f64,
        /// Slip speed, in Stribeck velocities, below which steps shrink.
        #[serde(default = "dymore_v_min")]
        v_min: f64,
        /// Cap on the step, s. The manual lists T_s and does not define it: a guess.
        #[serde(default = "coulomb_t_s")]
        t_s: f64,
    },
    /// Ω Δt = Δτ_min · max(1, ν)^α, Ω = σ₀ v_s/μ_k
    DymoreLuGre {
        /// Smallest step in units of 1/Ω.
        #[serde(default = "lugre_min")]
        min: f64,
        /// Slip speed, in Stribeck velocities, above which steps grow.
        #[serde(default = "dymore_v_min")]
        v_min: f64,
        /// Exponent of growth.
        #[serde(default = "lugre_alpha")]
        alpha: f64,
        /// Cap on Ω Δt: a guess, as for the Coulomb rule.
        #[serde(default = "lugre_t_s")]
        t_s: f64,
    },
    /// One step inside a range of |v|/v_s, another outside.
    Velocity {
        /// Step inside the range, s.
        inside: f64,
        /// Step outside the range, s.
        outside: f64,
        /// From (included) and to (excluded), in Stribeck velocities.
        range: (f64, f64),
    },
    /// A fraction of the bristle's time constant T_c, at most `max`.
    TimeConstant {
        /// Largest step, s.
        max: f64,
        /// Fraction of T_c.
        #[serde(default = "third")]
        fraction: f64,
    },
    /// One step where T_c is below a threshold, another above.
    TimeConstantSwitch {
        /// Threshold of T_c, s.
        threshold: f64,
        /// Step below, s.
        below: f64,
        /// Step above, s.
        above: f64,
    },
}

fn rtol() -> f64 {
    1e-8
}

fn atol() -> f64 {
    1e-10
}

fn coulomb_min() -> f64 {
    1e-4
}

fn coulomb_max() -> f64 {
    1e-3
}

fn coulomb_t_s() -> f64 {
    1.0
}

fn dymore_v_min() -> f64 {
    5.0
}

fn lugre_min() -> f64 {
    0.02
}

fn lugre_alpha() -> f64 {
    1.2
}

fn lugre_t_s() -> f64 {
    5.0
}

fn third() -> f64 {
    0.333
}

impl Control {
    /// Whether steps are chosen by the error estimate.
    pub fn is_by_error(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::Elementary { .. })
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::Error { rtol: rtol(), atol: atol() }
    }
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Time between recorded rows, s.
    #[serde(default = "interval")]
    pub interval: f64,
    /// Rows at the end of every step of the integration instead, and nowhere else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steps: bool,
}

fn interval() -> f64 {
    0.01
}

impl Default for Output {
    fn default() -> Self {
        Self { interval: interval(), steps: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_rules_after_dymore_have_the_defaults_of_its_manual() {
        let coulomb = Control::DymoreCoulomb { min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 1.0 };
        let lugre = Control::DymoreLuGre { min: 0.02, v_min: 5.0, alpha: 1.2, t_s: 5.0 };
        assert_eq!(ron::from_str::<Control>("DymoreCoulomb()").unwrap(), coulomb);
        assert_eq!(ron::from_str::<Control>("DymoreLuGre()").unwrap(), lugre);
        assert_eq!(
            ron::from_str::<Control>("DymoreCoulomb(max: 0.01)").unwrap(),
            Control::DymoreCoulomb { min: 1e-4, max: 0.01, v_min: 5.0, t_s: 1.0 }
        );
    }
}

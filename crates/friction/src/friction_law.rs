//! The interface of all friction laws, and the values that pass through it.

use crate::{Finding, Mode};

/// Internal state of a law: `[s, w]`.
///
/// s = σ₀ z is the bristle deflection in units of friction per unit load; w is the second state of [`crate::LuGre2`],
/// in units of slip velocity. A law uses the first [`FrictionLaw::n_states`] of them and ignores the rest.
pub type State = [f64; 2];

/// Effort and state rates at one slip velocity and state, with all first partial derivatives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evaluation {
    /// Friction per unit load, positive when it opposes positive slip.
    pub effort: f64,
    /// ∂effort/∂v. At v = 0, where |v| has a kink, the mean of both sides.
    pub effort_v: f64,
    /// ∂effort/∂state.
    pub effort_state: State,
    /// (ṡ, ẇ), per second.
    pub rate: State,
    /// ∂rate/∂v. At v = 0 the mean of both sides.
    pub rate_v: State,
    /// `rate_state[i][j]` = ∂rateᵢ/∂stateⱼ.
    pub rate_state: [State; 2],
}

/// The end of one implicit (backward Euler) step of a law's own states: see [`FrictionLaw::implicit_step`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ImplicitStep {
    /// State at the end of the step.
    pub state: State,
    /// Friction per unit load over the step.
    pub effort: f64,
    /// d effort/dv, v being the slip velocity at the end of the step; never negative.
    pub effort_v: f64,
}

/// The questions every law answers, per unit load. `v` is the slip velocity.
pub trait FrictionLaw {
    /// Number of entries of [`State`] that the law uses: 0, 1 (s) or 2 (s, w).
    fn n_states(&self) -> usize;

    /// Reasons why the parameters are unusable; empty when the law can be used.
    fn validate(&self) -> Vec<Finding>;

    /// Warnings about a law that can be used.
    fn warnings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Effort, rates and their partial derivatives.
    fn evaluate(&self, v: f64, state: State) -> Evaluation;

    /// The state in which the rates vanish at constant slip velocity; zero at v = 0, where any deflection is steady.
    fn steady_state(&self, v: f64) -> State;

    /// Relaxation time of the deflection at constant slip velocity, s; infinite where nothing relaxes.
    fn time_constant(&self, v: f64) -> f64;

    /// Energy stored in the bristles per unit load, s²/(2σ₀).
    fn stored_energy(&self, state: State) -> f64;

    /// Power turned into heat per unit load: effort · v = d(stored)/dt + dissipated.
    fn dissipated_power(&self, v: f64, state: State) -> f64;

    /// One backward Euler step of length `h` of the states, from `state`, with slip velocity `v` at its end.
    ///
    /// Speed-dependent levels (g, σ₁), and the speed at which a deflection beyond its level decays, are taken at
    /// `v_level`: given the slip velocity at the start of the step, effort is a non-decreasing function of `v` and
    /// the step of a whole machine a convex problem. Laws without states return their effort at `v`.
    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep;

    /// Friction per unit load.
    fn effort(&self, v: f64, state: State) -> f64 {
        self.evaluate(v, state).effort
    }

    /// State rates.
    fn rates(&self, v: f64, state: State) -> State {
        self.evaluate(v, state).rate
    }

    /// Friction per unit load in steady sliding.
    fn steady_effort(&self, v: f64) -> f64 {
        self.effort(v, self.steady_state(v))
    }

    /// The state to start from: steady where there is slip, unloaded where there is none.
    fn initial_state(&self, v: f64) -> State {
        self.steady_state(v)
    }
}

/// The interface of a law with modes: it sticks below one level and slides on a curve.
///
/// [`FrictionLaw::evaluate`] gives such a law's effort with sign(0) = 0; while a mode is frozen use
/// [`EventDriven::sliding`].
pub trait EventDriven: FrictionLaw {
    /// Friction per unit load that a stuck joint can hold.
    fn stiction_level(&self) -> f64;

    /// Sliding level (≥ 0) at `speed` ≥ 0 and its slope in speed. At 0: the level just after break-away.
    fn kinetic_level(&self, speed: f64) -> (f64, f64);

    /// Effort and its slope in v while sliding in `mode`, continued smoothly past v = 0 so that an integrator can
    /// step across the reversal and locate it. Zero when stuck: friction is then whatever equilibrium requires.
    ///
    /// A viscous term with an exponent below 1 has no smooth continuation: it ends at v = 0.
    fn sliding(&self, mode: Mode, v: f64) -> (f64, f64) {
        let direction = mode.direction();
        let (level, slope) = self.kinetic_level(direction * v);
        (direction * level, direction.abs() * slope)
    }

    /// Coefficient k and exponent n of a term k |v|ⁿ sign(v) in the sliding level: see [`crate::PowerViscous`].
    fn power_term(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

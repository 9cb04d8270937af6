//! Laws that users write: closures of the slip velocity, or any type with [`CustomLaw`].
//!
//! ```text
//! dry      τ_f = level(|v|) sign(v)          v ≠ 0;   |τ_f| ≤ stiction while stuck                 (1)
//! smooth   τ_f = effort(v)                                                                        (2)
//! f'(x) ≈ (f(x + δ) − f(x − δ))/2δ,          δ = ∛ε max(|x|, v_s)                                   (3)
//! f'(x) ≈ (4 f(x + δ) − 3 f(x) − f(x + 2δ))/2δ   where x − δ < 0 in (1)                             (4)
//! ```
//!
//! v_s `stribeck_velocity` is the slip speed over which the law varies. Slopes by (3) have ten digits or so; Newton
//! asks for no more. Below speed 0, where an integrator looks for the reversal, a level goes on along its tangent.
//!
//! Such a law lives in the program: a scene file cannot hold it, and a snapshot holds its name and its state.

use std::fmt;
use std::sync::Arc;

use crate::{Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, State, check, sign};

/// A friction law of one's own: [`FrictionLaw`], and the scales that step control and events need.
///
/// Laws are pure functions of slip velocity and state; they must not allocate, and return a number for every input.
pub trait CustomLaw: FrictionLaw + Send + Sync + 'static {
    /// Its stick-slip side, if it has modes.
    fn event_driven(&self) -> Option<&dyn EventDriven> {
        None
    }

    /// The bristle stiffness σ₀ that scales the first state; 1 for laws without bristles.
    fn sigma0(&self) -> f64 {
        1.0
    }

    /// A typical level of sliding friction per unit load, > 0.
    fn coulomb_level(&self) -> f64;

    /// The slip speed over which the law varies, if it has one.
    fn stribeck_velocity(&self) -> Option<f64> {
        None
    }
}

/// A law of one's own, by name. Copies share it.
#[derive(Clone)]
pub struct Custom {
    name: Arc<str>,
    law: Arc<dyn CustomLaw>,
}

impl Custom {
    /// Any law. The name stands in messages and in snapshots.
    pub fn new(name: impl Into<Arc<str>>, law: impl CustomLaw) -> Self {
        Self { name: name.into(), law: Arc::new(law) }
    }

    /// Dry friction (1): a joint that is stuck holds `stiction`, one that slides has `level` of its slip speed, both
    /// per unit load. `level` is asked for speeds of 0 and more.
    pub fn dry(
        name: impl Into<Arc<str>>,
        stiction: f64,
        stribeck_velocity: f64,
        level: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Dry { stiction, stribeck_velocity, level })
    }

    /// Friction without stiction (2): an effort per unit load for every slip velocity. It should not fall with v, or
    /// only slowly: a joint would run away.
    pub fn smooth(
        name: impl Into<Arc<str>>,
        stribeck_velocity: f64,
        effort: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Smooth { stribeck_velocity, effort })
    }

    /// A law of which only the name is known: it cannot be used.
    #[cfg(feature = "serde")]
    pub(crate) fn absent(name: String) -> Self {
        Self::dry(name, f64::NAN, f64::NAN, |_| f64::NAN)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The law itself.
    pub fn law(&self) -> &dyn CustomLaw {
        &*self.law
    }
}

/// The same law, not an equal one: functions cannot be compared.
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.law, &other.law)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Custom({:?})", self.name)
    }
}

impl FrictionLaw for Custom {
    fn n_states(&self) -> usize {
        self.law.n_states()
    }

    fn validate(&self) -> Vec<Finding> {
        self.law.validate()
    }

    fn warnings(&self) -> Vec<Finding> {
        self.law.warnings()
    }

    fn evaluate(&self, v: f64, state: State) -> Evaluation {
        self.law.evaluate(v, state)
    }

    fn steady_state(&self, v: f64) -> State {
        self.law.steady_state(v)
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.law.time_constant(v)
    }

    fn stored_energy(&self, state: State) -> f64 {
        self.law.stored_energy(state)
    }

    fn dissipated_power(&self, v: f64, state: State) -> f64 {
        self.law.dissipated_power(v, state)
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        self.law.implicit_step(h, v, v_level, state)
    }

    fn effort(&self, v: f64, state: State) -> f64 {
        self.law.effort(v, state)
    }

    fn rates(&self, v: f64, state: State) -> State {
        self.law.rates(v, state)
    }

    fn steady_effort(&self, v: f64) -> f64 {
        self.law.steady_effort(v)
    }

    fn initial_state(&self, v: f64) -> State {
        self.law.initial_state(v)
    }
}

/// δ of (3).
fn difference(x: f64, v_s: f64) -> f64 {
    f64::EPSILON.cbrt() * x.abs().max(v_s)
}

/// (1).
struct Dry<F> {
    stiction: f64,
    stribeck_velocity: f64,
    level: F,
}

impl<F: Fn(f64) -> f64> Dry<F> {
    /// Level and slope at a speed ≥ 0.
    fn at(&self, speed: f64) -> (f64, f64) {
        let (f, d, level) = (&self.level, difference(speed, self.stribeck_velocity), (self.level)(speed));
        let slope = if speed > d {
            (f(speed + d) - f(speed - d)) / (2.0 * d)
        } else {
            (4.0 * f(speed + d) - 3.0 * level - f(speed + 2.0 * d)) / (2.0 * d)
        };
        (level, slope)
    }
}

impl<F: Fn(f64) -> f64 + Send + Sync + 'static> FrictionLaw for Dry<F> {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let level = (self.level)(0.0);
        check::not_negative(&mut found, "level", level);
        check::positive(&mut found, "stribeck_velocity", self.stribeck_velocity);
        // a stuck joint holds at least what it slides with
        if found.is_empty() && !(self.stiction >= level && self.stiction.is_finite()) {
            let range = format!("at least the level at speed 0, {level:?}");
            found.push(Finding::range("stiction", self.stiction, &range));
        }
        found
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        let (level, slope) = self.at(v.abs());
        Evaluation { effort: level * sign(v), effort_v: slope, ..Default::default() }
    }

    fn steady_state(&self, _: f64) -> State {
        [0.0; 2]
    }

    fn time_constant(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn stored_energy(&self, _: State) -> f64 {
        0.0
    }

    fn dissipated_power(&self, v: f64, _: State) -> f64 {
        (self.level)(v.abs()) * v.abs()
    }

    fn implicit_step(&self, _: f64, v: f64, _: f64, state: State) -> ImplicitStep {
        let now = self.evaluate(v, state);
        ImplicitStep { state, effort: now.effort, effort_v: now.effort_v.max(0.0) }
    }
}

impl<F: Fn(f64) -> f64 + Send + Sync + 'static> EventDriven for Dry<F> {
    fn stiction_level(&self) -> f64 {
        self.stiction
    }

    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        if speed >= 0.0 {
            return self.at(speed);
        }
        let (level, slope) = self.at(0.0);
        (level + slope * speed, slope)
    }
}

impl<F: Fn(f64) -> f64 + Send + Sync + 'static> CustomLaw for Dry<F> {
    fn event_driven(&self) -> Option<&dyn EventDriven> {
        Some(self)
    }

    fn coulomb_level(&self) -> f64 {
        (self.level)(0.0)
    }

    fn stribeck_velocity(&self) -> Option<f64> {
        Some(self.stribeck_velocity)
    }
}

/// (2).
struct Smooth<F> {
    stribeck_velocity: f64,
    effort: F,
}

impl<F: Fn(f64) -> f64 + Send + Sync + 'static> FrictionLaw for Smooth<F> {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::positive(&mut found, "stribeck_velocity", self.stribeck_velocity);
        let at_rest = (self.effort)(0.0);
        if !at_rest.is_finite() {
            found.push(Finding::range("effort", at_rest, "a number at v = 0"));
        }
        found
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        let (f, d) = (&self.effort, difference(v, self.stribeck_velocity));
        Evaluation { effort: f(v), effort_v: (f(v + d) - f(v - d)) / (2.0 * d), ..Default::default() }
    }

    fn steady_state(&self, _: f64) -> State {
        [0.0; 2]
    }

    fn time_constant(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn stored_energy(&self, _: State) -> f64 {
        0.0
    }

    fn dissipated_power(&self, v: f64, _: State) -> f64 {
        (self.effort)(v) * v
    }

    fn implicit_step(&self, _: f64, v: f64, _: f64, state: State) -> ImplicitStep {
        let now = self.evaluate(v, state);
        ImplicitStep { state, effort: now.effort, effort_v: now.effort_v.max(0.0) }
    }
}

impl<F: Fn(f64) -> f64 + Send + Sync + 'static> CustomLaw for Smooth<F> {
    fn coulomb_level(&self) -> f64 {
        let v_s = self.stribeck_velocity;
        (self.effort)(v_s).abs().max((self.effort)(-v_s).abs())
    }

    fn stribeck_velocity(&self) -> Option<f64> {
        Some(self.stribeck_velocity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Law, Mode, Stribeck, Tanh};
    use approx::assert_relative_eq;

    #[test]
    fn a_closure_of_the_level_is_stribeck() {
        let law = Stribeck {
            coulomb: 0.5,
            stiction: 0.8,
            stribeck_velocity: Some(0.02),
            exponent: 2.0,
            viscous: 0.3,
            peak: 1.0,
        };
        let own = Law::Custom(Custom::dry("own", 0.8, 0.02, move |v| law.kinetic_level(v).0));
        let (dry, given) = (own.event_driven().unwrap(), &law as &dyn EventDriven);
        assert_eq!((own.name(), own.n_states(), dry.stiction_level()), ("own", 0, 0.8));
        assert_eq!((own.coulomb_level(), own.stribeck_velocity(), own.largest_level()), (0.8, Some(0.02), 0.8));
        for v in [0.0, 1e-6, 1e-3, 0.02, 0.1, 3.0] {
            let (level, slope) = given.kinetic_level(v);
            assert_eq!(dry.kinetic_level(v).0, level);
            // slopes up to 0.3/0.02; differences have ten digits of that
            assert!((dry.kinetic_level(v).1 - slope).abs() < 1e-8, "{v}: {:?} {slope}", dry.kinetic_level(v));
            assert_eq!(own.evaluate(-v, [0.0; 2]).effort, law.evaluate(-v, [0.0; 2]).effort);
            assert_relative_eq!(own.dissipated_power(v, [0.0; 2]), law.dissipated_power(v, [0.0; 2]));
        }
        // past the reversal along the tangent
        let (level, slope) = dry.kinetic_level(0.0);
        assert_eq!(dry.sliding(Mode::Forward, -0.01), (level - 0.01 * slope, slope));
    }

    #[test]
    fn a_closure_of_the_effort_is_tanh() {
        let law = Tanh { coulomb: 2.0, stribeck_velocity: 0.01, viscous: 0.5 };
        let own = Custom::smooth("soft", 0.01, move |v| law.effort(v, [0.0; 2]));
        for v in [-1.0, -0.01, 0.0, 0.003, 0.02, 7.0] {
            let (own, given) = (own.evaluate(v, [0.0; 2]), law.evaluate(v, [0.0; 2]));
            assert_eq!(own.effort, given.effort);
            assert!((own.effort_v - given.effort_v).abs() < 1e-8 * 200.0, "{v}: {own:?} {given:?}");
        }
        assert!(own.law().event_driven().is_none());
    }

    #[test]
    fn unusable_closures_are_refused() {
        let found = |law: Custom| law.validate().iter().map(|finding| finding.parameter).collect::<Vec<_>>();
        assert_eq!(found(Custom::dry("a", 0.4, 0.01, |_| 0.5)), ["stiction"]);
        assert_eq!(found(Custom::dry("a", f64::NAN, 0.01, |_| 0.5)), ["stiction"]);
        assert_eq!(found(Custom::dry("a", 0.5, 0.0, |_| 0.5)), ["stribeck_velocity"]);
        assert_eq!(found(Custom::dry("a", 0.5, 0.1, |_| -0.5)), ["level"]);
        assert_eq!(found(Custom::smooth("a", 0.1, |v| 1.0 / v)), ["effort"]);
        assert!(found(Custom::dry("a", 0.5, 0.01, |_| 0.5)).is_empty());
    }

    #[test]
    fn a_law_equals_itself_and_its_copies() {
        let (a, b) = (Custom::dry("a", 1.0, 0.1, |_| 1.0), Custom::dry("a", 1.0, 0.1, |_| 1.0));
        assert_eq!(a, a.clone());
        assert_ne!(a, b);
    }
}

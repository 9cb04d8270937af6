//! Any law whose viscous term grows slower or faster than speed: the law without it, and a power of the slip velocity.
//!
//! ```text
//! τ_f = law(v, s) + k |v|ⁿ sign(v)                                       (1)
//! ```
//!
//! k `viscous` (`sigma2` of bristle laws), n `viscous_exponent`. Greased axes have n of 0.4 to 0.8. The units of k are
//! those of friction by slip velocity to the power of n.
//!
//! (1) never falls with v, and its heat k |v|ⁿ⁺¹ is never negative. For n < 1 its slope k n |v|ⁿ⁻¹ has a pole at v = 0.
//! A law with modes passes v = 0 at events, or sticks there: it needs a level above 0 for that, and 0 stands in for the
//! slope at v = 0 itself, where a Newton matrix lacks a term that is small there. A law without modes creeps through
//! v = 0 and would be infinitely stiff there. It has
//!
//! ```text
//! τ_f = law(v, s) + k v (v² + r²)^((n−1)/2),       r = v_s/1000          (2)
//! ```
//!
//! instead, which at the Stribeck velocity v_s differs from (1) by less than 1e-6 of it.

use crate::{Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, Law, State};

/// The smallest exponent: with less the term is a dry friction, which has laws of its own.
const MIN_EXPONENT: f64 = 0.3;

/// r of (2) as a part of v_s.
const CORE: f64 = 1e-3;

/// A law with a power of the slip velocity in place of its viscous term.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerViscous {
    /// The law, whose own viscous coefficient is 0.
    pub(crate) law: Box<Law>,
    /// Coefficient k, per unit load and power of slip velocity; ≥ 0.
    pub viscous: f64,
    /// Exponent n; > 0.3.
    pub viscous_exponent: f64,
}

/// k |v|ⁿ sign(v) and its slope; 0 in place of a pole at v = 0.
pub(crate) fn power(k: f64, n: f64, v: f64) -> (f64, f64) {
    if n == 1.0 {
        return (k * v, k);
    }
    let speed = v.abs();
    if speed == 0.0 || k == 0.0 {
        return (0.0, 0.0);
    }
    let per_speed = k * speed.powf(n - 1.0);
    (per_speed * v, n * per_speed)
}

impl PowerViscous {
    /// The viscous term of (1) or (2) and its slope.
    pub fn term(&self, v: f64) -> (f64, f64) {
        let (k, n, r) = (self.viscous, self.viscous_exponent, self.core());
        if r == 0.0 {
            return power(k, n, v);
        }
        let square = v * v + r * r;
        let per_speed = k * square.powf(0.5 * (n - 1.0));
        (per_speed * v, per_speed * (n * v * v + r * r) / square)
    }

    /// r of (2); 0 where (1) holds.
    fn core(&self) -> f64 {
        let has_pole = self.viscous_exponent < 1.0 && self.law.event_driven().is_none();
        if has_pole { self.law.stribeck_velocity().map_or(0.0, |v_s| CORE * v_s) } else { 0.0 }
    }

    /// The term by its coefficient, its exponent and v_s.
    pub(crate) fn term_slopes(&self, v: f64) -> [f64; 3] {
        let (k, n, r) = (self.viscous, self.viscous_exponent, self.core());
        let square = v * v + r * r;
        if square == 0.0 {
            return [0.0; 3];
        }
        let share = v * square.powf(0.5 * (n - 1.0));
        [share, 0.5 * k * share * square.ln(), k * share * (n - 1.0) * r / square * CORE]
    }

    /// The law without its viscous term.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The law with a linear viscous term of the same coefficient.
    pub(crate) fn linear(&self) -> Law {
        let mut law = Law::clone(&self.law);
        if let Some(viscous) = law.viscous_mut() {
            *viscous = self.viscous;
        }
        law
    }
}

impl FrictionLaw for PowerViscous {
    fn n_states(&self) -> usize {
        self.law.n_states()
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = self.linear().validate();
        let n = self.viscous_exponent;
        if !(n > MIN_EXPONENT && n.is_finite()) {
            let range = format!("greater than {MIN_EXPONENT:?}; 1 is viscous friction in proportion to speed");
            found.push(Finding::range("viscous_exponent", n, &range));
        } else if n < 1.0 && self.viscous > 0.0 {
            let level = self.law.event_driven().map(|law| law.stiction_level());
            if level == Some(0.0) {
                let reason = format!(
                    "`coulomb` is 0.0; with `viscous_exponent` {n:?}, below 1, it must be greater than 0: without it \
                    damping at rest is infinite"
                );
                found.push(Finding::new("coulomb", 0.0, reason));
            } else if level.is_none() && self.law.stribeck_velocity().is_none() {
                let reason = format!(
                    "`stribeck_velocity` is missing: with `viscous_exponent` {n:?}, below 1, a thousandth of it bounds \
                    the damping at rest"
                );
                found.push(Finding::new("stribeck_velocity", f64::NAN, reason));
            }
        }
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        self.linear().warnings()
    }

    fn evaluate(&self, v: f64, state: State) -> Evaluation {
        let (effort, slope) = self.term(v);
        let at = self.law.evaluate(v, state);
        Evaluation { effort: at.effort + effort, effort_v: at.effort_v + slope, ..at }
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
        self.law.dissipated_power(v, state) + self.term(v).0 * v
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        let (effort, slope) = self.term(v);
        let step = self.law.implicit_step(h, v, v_level, state);
        ImplicitStep { effort: step.effort + effort, effort_v: step.effort_v + slope, ..step }
    }
}

impl EventDriven for PowerViscous {
    fn stiction_level(&self) -> f64 {
        self.law.event_driven().map_or(0.0, |law| law.stiction_level())
    }

    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        // beyond rest nothing continues a term with a pole smoothly: it ends there
        let is_past_pole = speed < 0.0 && self.viscous_exponent < 1.0;
        let (effort, slope) = if is_past_pole { (0.0, 0.0) } else { self.term(speed) };
        let (level, level_slope) = self.law.event_driven().map_or((0.0, 0.0), |law| law.kinetic_level(speed));
        (level + effort, level_slope + slope)
    }

    fn power_term(&self) -> (f64, f64) {
        (self.viscous, self.viscous_exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coulomb, LuGre, Mode};
    use approx::assert_relative_eq;

    fn axis(n: f64) -> Law {
        Law::from(Coulomb { coulomb: 20.0, stiction: 25.0, viscous: 180.0 }).with_viscous_exponent(n)
    }

    #[test]
    fn friction_is_the_law_and_a_power_of_speed() {
        for v in [1e-9, 1e-3, 0.3, 2.0] {
            let expected = 20.0 + 180.0 * f64::exp(0.7 * f64::ln(v));
            assert_relative_eq!(axis(0.7).steady_effort(v), expected, max_relative = 1e-14);
            assert_relative_eq!(axis(0.7).steady_effort(-v), -expected, max_relative = 1e-14);
            assert_relative_eq!(axis(0.7).dissipated_power(-v, [0.0; 2]), expected * v, max_relative = 1e-14);
            assert_eq!(axis(1.0).steady_effort(v), 20.0 + 180.0 * v);
            let sliding = axis(2.0).event_driven().map(|law| law.sliding(Mode::Backward, -v).0);
            assert_relative_eq!(sliding.unwrap(), -20.0 - 180.0 * v * v, max_relative = 1e-14);
        }
        assert_eq!(axis(0.5).effort(0.0, [0.0; 2]), 0.0);
        assert!(axis(0.5).evaluate(5e-324, [0.0; 2]).effort_v.is_finite());
    }

    #[test]
    fn exponents_of_dry_friction_are_refused() {
        assert_eq!(axis(0.3).validate()[0].parameter, "viscous_exponent");
        assert!(axis(0.3).validate()[0].reason.contains("is 0.3; it must be greater than 0.3"));
        assert_eq!(axis(f64::NAN).validate()[0].parameter, "viscous_exponent");
        assert!(axis(0.31).validate().is_empty());
        let frictionless = Law::from(Coulomb { coulomb: 0.0, stiction: 0.0, viscous: 1.0 });
        assert_eq!(frictionless.clone().with_viscous_exponent(0.9).validate()[0].parameter, "coulomb");
        assert!(frictionless.with_viscous_exponent(1.5).validate().is_empty());
    }

    #[test]
    fn bristles_keep_their_law() {
        let lugre = LuGre {
            sigma0: 1e4,
            sigma1: 20.0,
            sigma2: 3.0,
            coulomb: 1.0,
            stiction: 1.4,
            stribeck_velocity: Some(0.01),
            exponent: 2.0,
            damping_velocity: None,
        };
        let law = Law::from(lugre).with_viscous_exponent(0.6);
        let (linear, power) = (lugre.evaluate(0.2, [0.5, 0.0]), law.evaluate(0.2, [0.5, 0.0]));
        assert_eq!(linear.rate, power.rate);
        // r = 1e-5 matters by (n − 1)/2 (r/v)² = 5e-10
        let difference = 3.0 * (0.2_f64.powf(0.6) - 0.2);
        assert_relative_eq!(power.effort - linear.effort, difference, max_relative = 2e-9);
        assert_relative_eq!(
            law.evaluate(0.0, [0.5, 0.0]).effort_v - 20.0,
            3.0 * 1e-5_f64.powf(-0.4),
            max_relative = 1e-12
        );
        // the condition of passivity is that of the linear term
        assert_eq!(law.warnings(), lugre.warnings());
        assert_eq!(law.sigma0(), 1e4);
        assert_eq!(law.name(), "LuGre");
    }
}

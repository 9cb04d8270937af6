//! Coulomb friction with a separate stiction level and a viscous part (event-driven).
//!
//! ```text
//! τ_f   = f_c sign(v) + k v                        v ≠ 0                 (1)
//! |τ_f| ≤ f_s, whatever equilibrium requires       v = 0, stuck          (2)
//! ```
//!
//! f_c `coulomb`, f_s `stiction`, k `viscous`. When a joint sticks and when it slips: `transition.rs`.

use crate::{Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, State, check, sign};

/// Dry friction of constant level. Levels are efforts under a unit load, coefficients under any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coulomb {
    /// Sliding level f_c, per unit load; ≥ 0.
    pub coulomb: f64,
    /// Level f_s that a stuck joint can hold, per unit load; ≥ coulomb.
    pub stiction: f64,
    /// Viscous coefficient k, per unit load and slip velocity; ≥ 0.
    pub viscous: f64,
}

impl FrictionLaw for Coulomb {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::not_negative(&mut found, "coulomb", self.coulomb);
        check::stiction(&mut found, self.coulomb, self.stiction);
        check::not_negative(&mut found, "viscous", self.viscous);
        found
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        // (1), with sign(0) = 0
        Evaluation { effort: self.coulomb * sign(v) + self.viscous * v, effort_v: self.viscous, ..Default::default() }
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
        self.coulomb * v.abs() + self.viscous * v * v
    }

    fn implicit_step(&self, _: f64, v: f64, _: f64, state: State) -> ImplicitStep {
        let now = self.evaluate(v, state);
        ImplicitStep { state, effort: now.effort, effort_v: now.effort_v }
    }
}

impl EventDriven for Coulomb {
    fn stiction_level(&self) -> f64 {
        self.stiction
    }

    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        (self.coulomb + self.viscous * speed, self.viscous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    const LAW: Coulomb = Coulomb { coulomb: 0.5, stiction: 0.8, viscous: 0.25 };

    #[test]
    fn sliding_friction_is_coulomb_plus_viscous() {
        assert_eq!(LAW.steady_effort(2.0), 1.0);
        assert_eq!(LAW.steady_effort(-2.0), -1.0);
        assert_eq!(LAW.steady_effort(0.0), 0.0);
        assert_eq!(LAW.stiction_level(), 0.8);
        assert_eq!(LAW.kinetic_level(0.0), (0.5, 0.25));
    }

    #[test]
    fn a_frozen_mode_continues_past_the_reversal() {
        assert_eq!(LAW.sliding(Mode::Forward, -0.1), (0.475, 0.25));
        assert_eq!(LAW.sliding(Mode::Backward, 0.1), (-0.475, 0.25));
        assert_eq!(LAW.sliding(Mode::Stuck, 0.0), (0.0, 0.0));
    }

    #[test]
    fn stiction_below_coulomb_is_refused() {
        let found = Coulomb { stiction: 0.4, ..LAW }.validate();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].parameter, "stiction");
        assert!(found[0].to_string().contains("is 0.4; it must be at least `coulomb`, 0.5"), "{}", found[0]);
        assert!(LAW.validate().is_empty());
    }
}

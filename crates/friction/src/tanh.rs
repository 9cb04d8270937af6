//! Smoothed Coulomb friction (Dymore user's manual, eq. 3).
//!
//! ```text
//! τ_f = f_c tanh(v/v_s) + k v                                            (1)
//! ```
//!
//! f_c `coulomb`, v_s `stribeck_velocity`, k `viscous`. No stiction: under any load a joint at rest creeps, at
//! v_s atanh(load/f_c). Cheap, and stiff when v_s is small.

use crate::{Evaluation, Finding, FrictionLaw, ImplicitStep, State, check};

/// Smoothed dry friction: no stiction, no memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tanh {
    /// Sliding level f_c, per unit load; ≥ 0.
    pub coulomb: f64,
    /// Slip speed v_s over which the sign is smoothed; > 0.
    pub stribeck_velocity: f64,
    /// Viscous coefficient k, per unit load and slip velocity; ≥ 0.
    pub viscous: f64,
}

impl FrictionLaw for Tanh {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::not_negative(&mut found, "coulomb", self.coulomb);
        check::positive(&mut found, "stribeck_velocity", self.stribeck_velocity);
        check::not_negative(&mut found, "viscous", self.viscous);
        found
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        // (1); 1/cosh² rather than 1 − tanh², which cancels
        let x = v / self.stribeck_velocity;
        let sech = x.cosh().recip();
        Evaluation {
            effort: self.coulomb * x.tanh() + self.viscous * v,
            effort_v: self.coulomb * sech * sech / self.stribeck_velocity + self.viscous,
            ..Default::default()
        }
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

    fn dissipated_power(&self, v: f64, state: State) -> f64 {
        self.evaluate(v, state).effort * v
    }

    fn implicit_step(&self, _: f64, v: f64, _: f64, state: State) -> ImplicitStep {
        let now = self.evaluate(v, state);
        ImplicitStep { state, effort: now.effort, effort_v: now.effort_v }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const LAW: Tanh = Tanh { coulomb: 2.0, stribeck_velocity: 0.01, viscous: 0.5 };

    #[test]
    fn effort_matches_exponentials() {
        // tanh x = (1 − e^(−2x))/(1 + e^(−2x))
        for v in [1e-5, 1e-3, 0.01, 0.05, 1.0] {
            let e = f64::exp(-2.0 * v / 0.01);
            assert_relative_eq!(LAW.steady_effort(v), 2.0 * (1.0 - e) / (1.0 + e) + 0.5 * v, max_relative = 1e-12);
        }
        assert_relative_eq!(LAW.evaluate(0.0, [0.0; 2]).effort_v, 200.5, max_relative = 1e-15);
    }

    #[test]
    fn far_from_rest_it_is_coulomb() {
        assert_eq!(LAW.steady_effort(10.0), 7.0);
        assert_eq!(LAW.evaluate(1e9, [0.0; 2]).effort_v, 0.5);
    }

    #[test]
    fn parameters_are_checked_by_name() {
        assert_eq!(Tanh { stribeck_velocity: 0.0, ..LAW }.validate()[0].parameter, "stribeck_velocity");
        assert_eq!(Tanh { coulomb: -1.0, ..LAW }.validate()[0].parameter, "coulomb");
        assert!(LAW.validate().is_empty());
    }
}

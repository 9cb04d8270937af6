//! Dahl's bristle friction (Dahl 1968, exponent 1).
//!
//! ```text
//! ż   = v − σ₀ |v| z / f_c                                               (1)
//! τ_f = σ₀ z                                                             (2)
//! ```
//!
//! f_c `coulomb`. In the scaled state s = σ₀ z: ṡ = σ₀ (v − |v| s/f_c). Rate-independent: s depends on the path alone,
//! ds/dx = σ₀ (1 − sign(v) s/f_c). It creeps under any load: there is no stiction. LuGre with σ₁ = σ₂ = 0 and f_s =
//! f_c.

use crate::{BristleStep, Evaluation, Finding, FrictionLaw, ImplicitStep, LuGre, State, check, sign};

/// One elastic bristle, constant level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dahl {
    /// Sliding level f_c, per unit load; > 0.
    pub coulomb: f64,
    /// Bristle stiffness σ₀, friction per unit load and deflection; > 0.
    pub sigma0: f64,
}

impl Dahl {
    /// The bristle over an implicit step of length `h` from `state`.
    pub(crate) fn bristle(&self, h: f64, v_level: f64, state: State) -> BristleStep {
        BristleStep::new(h * self.sigma0, v_level, self.coulomb, state[0], 0.0, 0.0)
    }

    /// The same bristle as LuGre.
    pub(crate) fn lugre(&self) -> LuGre {
        LuGre {
            sigma0: self.sigma0,
            sigma1: 0.0,
            sigma2: 0.0,
            coulomb: self.coulomb,
            stiction: self.coulomb,
            stribeck_velocity: None,
            exponent: 2.0,
            damping_velocity: None,
        }
    }
}

impl FrictionLaw for Dahl {
    fn n_states(&self) -> usize {
        1
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::positive(&mut found, "coulomb", self.coulomb);
        check::positive(&mut found, "sigma0", self.sigma0);
        found
    }

    fn evaluate(&self, v: f64, [s, _]: State) -> Evaluation {
        let (sigma0, f_c) = (self.sigma0, self.coulomb);
        Evaluation {
            // (2)
            effort: s,
            effort_state: [1.0, 0.0],
            // (1), times σ₀
            rate: [sigma0 * (v - v.abs() * (s / f_c)), 0.0],
            rate_v: [sigma0 * (1.0 - sign(v) * (s / f_c)), 0.0],
            rate_state: [[-sigma0 * (v.abs() / f_c), 0.0], [0.0; 2]],
            ..Default::default()
        }
    }

    fn steady_state(&self, v: f64) -> State {
        [self.coulomb * sign(v), 0.0]
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.coulomb / (self.sigma0 * v.abs())
    }

    fn stored_energy(&self, [s, _]: State) -> f64 {
        s * s / (2.0 * self.sigma0)
    }

    fn dissipated_power(&self, v: f64, [s, _]: State) -> f64 {
        s * (s / self.coulomb) * v.abs()
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        self.bristle(h, v_level, state).end(v, state[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const LAW: Dahl = Dahl { coulomb: 2.0, sigma0: 500.0 };

    /// Integrates (1) over a path of constant speed with the classical Runge–Kutta method.
    fn travel(mut s: f64, v: f64, distance: f64) -> f64 {
        let n = 20_000;
        let h = distance / v.abs() / f64::from(n);
        let rate = |s: f64| LAW.rates(v, [s, 0.0])[0];
        for _ in 0..n {
            let k1 = rate(s);
            let k2 = rate(s + 0.5 * h * k1);
            let k3 = rate(s + 0.5 * h * k2);
            let k4 = rate(s + h * k3);
            s += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
        }
        s
    }

    #[test]
    fn hysteresis_loop_matches_its_closed_form() {
        // ds/dx = σ₀(1 ∓ s/f_c) from s₀: s = ±f_c + (s₀ ∓ f_c) exp(∓σ₀ x/f_c), x the path travelled with sign
        let (f_c, sigma0, x) = (LAW.coulomb, LAW.sigma0, 0.006);
        let up = travel(0.0, 0.3, x);
        assert_relative_eq!(up, f_c * (1.0 - f64::exp(-sigma0 * x / f_c)), max_relative = 1e-12);
        let down = travel(up, -0.7, x);
        assert_relative_eq!(down, -f_c + (up + f_c) * f64::exp(-sigma0 * x / f_c), max_relative = 1e-12);
        // the loop between ±x/2 closes after many rounds, at s = ±f_c tanh(σ₀ x/(2 f_c)), whatever the speeds
        let mut s = down;
        for _ in 0..20 {
            s = travel(travel(s, 2.0, x), -0.01, x);
        }
        assert_relative_eq!(s, -f_c * f64::tanh(sigma0 * x / (2.0 * f_c)), max_relative = 1e-11);
    }

    #[test]
    fn relaxes_to_the_coulomb_level_in_its_time_constant() {
        let v = 0.02;
        let t_c = LAW.time_constant(v);
        assert_relative_eq!(t_c, 0.2, max_relative = 1e-15);
        assert_relative_eq!(travel(0.0, v, v * t_c), 2.0 * (1.0 - f64::exp(-1.0)), max_relative = 1e-12);
        assert_eq!(LAW.steady_effort(-v), -2.0);
        assert_eq!(LAW.time_constant(0.0), f64::INFINITY);
    }
}

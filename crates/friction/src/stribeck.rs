//! Stribeck friction: a sliding level that weakens with speed (event-driven).
//!
//! ```text
//! g(v)  = f_c + (f_s − f_c) exp(−|v/v_s|ⁿ)                               (1)
//! τ_f   = g(v) sign(v) + k v                       v ≠ 0                 (2)
//! |τ_f| ≤ p f_s, whatever equilibrium requires     v = 0, stuck          (3)
//! ```
//!
//! f_c `coulomb`, f_s `stiction`, v_s `stribeck_velocity`, n `exponent`, k `viscous`, p `peak`. The sliding level
//! just after break-away is f_s; a peak above 1 adds a jump. The level (1) is also that of the bristle laws. Source:
//! Armstrong-Hélouvry, Dupont, Canudas de Wit 1994; exponent and peak as in Modelica's friction elements.

use crate::{Evaluation, EventDriven, Finding, FrictionLaw, ImplicitStep, State, check, sign};

/// Dry friction that weakens with speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stribeck {
    /// Sliding level f_c far above the Stribeck velocity, per unit load; ≥ 0.
    pub coulomb: f64,
    /// Sliding level f_s at zero speed, per unit load; ≥ coulomb.
    pub stiction: f64,
    /// Slip speed v_s over which the level falls; > 0. Needed unless stiction = coulomb.
    pub stribeck_velocity: Option<f64>,
    /// Exponent n of the fall; > 0.
    pub exponent: f64,
    /// Viscous coefficient k, per unit load and slip velocity; ≥ 0.
    pub viscous: f64,
    /// Level that a stuck joint holds, as a multiple p of stiction; ≥ 1.
    pub peak: f64,
}

/// exp(−x) is 0.0 for any x greater than this: less than half of the smallest number, 2⁻¹⁰⁷⁵ = exp(−745.13…).
const NOTHING_LEFT: f64 = 745.2;

/// exp(−|v/v_s|ⁿ) and its derivative in v, which at v = 0 is the mean of both sides.
///
/// Without v_s there is nothing to weaken: 1 at any speed.
pub(crate) fn weakening(v_s: Option<f64>, n: f64, v: f64) -> (f64, f64) {
    let Some(v_s) = v_s else { return (1.0, 0.0) };
    let x = v.abs() / v_s;
    // x^(n−1): the two usual exponents without a call to pow; below 1 it has a pole at 0 where the mean is 0
    let x_n1 = if n == 2.0 {
        x
    } else if n == 1.0 {
        1.0
    } else if x > 0.0 {
        x.powf(n - 1.0)
    } else {
        0.0
    };
    let power = x * x_n1;
    // at speed nothing is left, which `exp` takes long to find out
    if power > NOTHING_LEFT {
        return (0.0, 0.0);
    }
    // a power beyond f64 is an exponential of zero, and so is its slope
    let e = (-power).exp();
    let slope = if e > 0.0 { -n * x_n1 * e / v_s * sign(v) } else { 0.0 };
    (e, slope)
}

impl Stribeck {
    /// g(v) of (1) and its derivative.
    fn level(&self, v: f64) -> (f64, f64) {
        let (e, de) = weakening(self.stribeck_velocity, self.exponent, v);
        let fall = self.stiction - self.coulomb;
        // rounding must not lift the sliding level above what holds
        ((self.coulomb + fall * e).min(self.stiction), fall * de)
    }
}

impl FrictionLaw for Stribeck {
    fn n_states(&self) -> usize {
        0
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::not_negative(&mut found, "coulomb", self.coulomb);
        check::stiction(&mut found, self.coulomb, self.stiction);
        check::stribeck_velocity(&mut found, self.coulomb, self.stiction, self.stribeck_velocity);
        check::positive(&mut found, "exponent", self.exponent);
        check::not_negative(&mut found, "viscous", self.viscous);
        check::peak(&mut found, self.peak);
        found
    }

    fn evaluate(&self, v: f64, _: State) -> Evaluation {
        // (2), with sign(0) = 0; g′ is odd, so g′ sign(v) is the slope of the level in speed
        let (g, dg) = self.level(v);
        Evaluation {
            effort: g * sign(v) + self.viscous * v,
            effort_v: dg * sign(v) + self.viscous,
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

    fn dissipated_power(&self, v: f64, _: State) -> f64 {
        self.level(v).0 * v.abs() + self.viscous * v * v
    }

    fn implicit_step(&self, _: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        let effort = self.level(v_level).0 * sign(v) + self.viscous * v;
        ImplicitStep { state, effort, effort_v: self.viscous }
    }
}

impl EventDriven for Stribeck {
    fn stiction_level(&self) -> f64 {
        self.peak * self.stiction
    }

    fn kinetic_level(&self, speed: f64) -> (f64, f64) {
        // below zero speed: exponent 1 leaves 0 with a slope and goes on straight; any other is mirrored
        let (g, dg) = if self.exponent == 1.0 && speed <= 0.0 {
            let fall = self.stiction - self.coulomb;
            let slope = self.stribeck_velocity.map_or(0.0, |v_s| -fall / v_s);
            (self.level(0.0).0 + slope * speed, slope)
        } else {
            self.level(speed)
        };
        (g + self.viscous * speed, dg + self.viscous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use approx::assert_relative_eq;

    /// The block of BENCHMARKS M04: F(v) = 5 + 10 exp(−2|v|) + |v|, stiction 15.015 N.
    const BLOCK: Stribeck = Stribeck {
        coulomb: 5.0,
        stiction: 15.0,
        stribeck_velocity: Some(0.5),
        exponent: 1.0,
        viscous: 1.0,
        peak: 1.001,
    };

    #[test]
    fn level_follows_the_curve_of_the_published_block() {
        for v in [1e-6, 0.1, 0.5, 3.0] {
            let f = 5.0 + 10.0 * f64::exp(-2.0 * v) + v;
            assert_relative_eq!(BLOCK.steady_effort(v), f, max_relative = 1e-15);
            assert_relative_eq!(BLOCK.steady_effort(-v), -f, max_relative = 1e-15);
            assert_relative_eq!(BLOCK.kinetic_level(v).0, f, max_relative = 1e-15);
        }
        assert_relative_eq!(BLOCK.stiction_level(), 15.015, max_relative = 1e-15);
        assert_eq!(BLOCK.kinetic_level(0.0), (15.0, -19.0));
    }

    #[test]
    fn a_frozen_mode_is_smooth_across_the_reversal() {
        // value and slope from both sides of v = 0, for the exponents with a smooth continuation
        for exponent in [1.0, 2.0, 3.0] {
            let law = Stribeck { exponent, ..BLOCK };
            for mode in [Mode::Forward, Mode::Backward] {
                let (below, slope_below) = law.sliding(mode, -1e-9);
                let (above, slope_above) = law.sliding(mode, 1e-9);
                assert!((above - below).abs() < 1e-7, "jump at exponent {exponent}");
                assert!((slope_above - slope_below).abs() < 1e-6, "kink at exponent {exponent}");
            }
        }
    }

    #[test]
    fn extreme_speeds_and_exponents_stay_finite() {
        for exponent in [0.3, 1.0, 2.0, 7.5] {
            let law = Stribeck { exponent, viscous: 0.0, ..BLOCK };
            for v in [0.0, 1e-300, 1e-160, 1e160, 1e300] {
                let at = law.evaluate(v, [0.0; 2]);
                assert!(at.effort.is_finite() && !at.effort_v.is_nan(), "exponent {exponent}, v {v}: {at:?}");
            }
        }
    }

    #[test]
    fn stribeck_velocity_is_required_with_weakening() {
        let found = Stribeck { stribeck_velocity: None, ..BLOCK }.validate();
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("`stiction`, 15.0, exceeds `coulomb`, 5.0"), "{}", found[0]);
        assert!(Stribeck { stribeck_velocity: None, stiction: 5.0, ..BLOCK }.validate().is_empty());
        assert_eq!(Stribeck { peak: 0.9, ..BLOCK }.validate()[0].parameter, "peak");
        assert_eq!(Stribeck { exponent: 0.0, ..BLOCK }.validate()[0].parameter, "exponent");
    }
}

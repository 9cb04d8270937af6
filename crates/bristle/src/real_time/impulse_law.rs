//! Impulse law of one contact over one step: its impulse λ as a non-decreasing function of the rate ω of its
//! coordinate.
//!
//! ```text
//! bristles, smooth laws   λ(ω) = h r N law(r ω)                                                              (1)
//! dry friction            λ(ω) = λ₊ + k₊ ω  for ω > 0,     −λ₋ + k₋ ω  for ω < 0,     λ(0) ∈ [−λ₋, λ₊]       (2)
//!                              + c |ω|ⁿ sign(ω)                               where the law has a power of speed
//! ```
//!
//! (1) eliminates the states of the law: they take one backward Euler step, in closed form for a single bristle (Dahl,
//! LuGre) and by Newton in a bracket for the other laws.
//!
//! The limits λ₊ and λ₋ of (2) are h r N times a friction level: the kinetic level in the direction in which the
//! contact slides already, the static level in any other. A contact that comes to rest is therefore held by stiction, a
//! contact that breaks away feels stiction for one step, and no level falls with ω within a step. The kinetic level is
//! that of the speed at the start of the step; the slopes k₊ and k₋ hold the part that grows with speed.
//!
//! At ω = 0 the solver replaces the set [−λ₋, λ₊] by the augmented Lagrangian force λ̂ + ρ ω, cut off at the limits.

use crate::model::{Contact, End};
use bristle_friction::{BristleStep, FrictionLaw, Law, Mode, State};

/// Impulse law of one contact over a step. See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ImpulseLaw {
    /// λ = scale · bristle(arm · ω).
    Bristle {
        /// Backward Euler step of the bristle from its state at the start.
        bristle: BristleStep,
        /// Lever r.
        arm: f64,
        /// h r N.
        scale: f64,
    },
    /// λ = scale · law(arm · ω).
    Smooth {
        /// Length of the step, s.
        h: f64,
        /// Slip velocity at the start of the step.
        v_level: f64,
        /// States of the law at the start of the step.
        state: State,
        /// Lever r.
        arm: f64,
        /// h r N for ω ≥ 0 and for ω < 0; the two are equal for a law with states.
        scale: [f64; 2],
    },
    /// Limit and slope in either direction.
    Dry {
        /// λ₊ and k₊.
        forward: [f64; 2],
        /// λ₋ and k₋.
        backward: [f64; 2],
        /// c and n forward and backward, where the law has such a term.
        power: Option<[[f64; 2]; 2]>,
    },
}

/// Rate and impulse of a contact at one iterate of the solver.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ContactState {
    /// Rate of the coordinate.
    pub omega: f64,
    /// Impulse of friction.
    pub lambda: f64,
    /// Impulse of the stops, with the same sign convention: see `stops`.
    pub stop: f64,
    /// d(λ + stop)/dω.
    pub slope: f64,
    /// Size of the terms that the impulses are sums of: a bound of their rounding error divided by ε.
    pub magnitude: f64,
    /// Whether the contact is dry and within its limits.
    pub is_stuck: bool,
    /// The stop that acts.
    pub on_stop: Option<End>,
}

impl ContactState {
    /// A contact without stops.
    fn friction(omega: f64, lambda: f64, slope: f64, magnitude: f64, is_stuck: bool) -> Self {
        Self { omega, lambda, slope, magnitude, is_stuck, stop: 0.0, on_stop: None }
    }

    /// λ + stop.
    pub fn impulse(&self) -> f64 {
        self.lambda + self.stop
    }
}

impl ImpulseLaw {
    /// Law of a contact with slip velocity `v_level` and states `state` at the start of the step, `mode` its mode if it
    /// is dry, under the normal loads `normal` for forward and backward slip.
    pub fn new(contact: &Contact, h: f64, mode: Mode, v_level: f64, state: State, normal: [f64; 2]) -> Self {
        let arm = contact.arm;
        if !contact.is_event_driven() {
            if let Some(bristle) = contact.law.bristle(h, v_level, state) {
                return Self::Bristle { bristle, arm, scale: h * arm * normal[0] };
            }
            return Self::Smooth { h, v_level, state, arm, scale: normal.map(|n| h * arm * n) };
        }
        let speed = v_level.abs();
        let side = |direction: Mode, n: f64| {
            // the tangent of the law, its power of speed apart
            let Some(law) = contact.law.towards(direction).event_driven() else { return [0.0; 2] };
            let (k, exponent) = law.power_term();
            let step = law.implicit_step(h, speed, speed, state);
            let (effort, effort_v) = if k == 0.0 {
                (step.effort, step.effort_v)
            } else {
                let per_speed = if speed > 0.0 { k * speed.powf(exponent - 1.0) } else { 0.0 };
                (step.effort - per_speed * speed, (step.effort_v - exponent * per_speed).max(0.0))
            };
            let (mut kinetic, mut slope) =
                if speed > 0.0 { (effort - effort_v * speed, effort_v) } else { (law.kinetic_level(0.0).0, effort_v) };
            if kinetic < 0.0 {
                // a tangent with a negative intercept would drive the contact: use the chord from the origin
                (kinetic, slope) = (0.0, effort / speed);
            }
            let level = if mode == direction { kinetic } else { law.stiction_level() };
            [h * arm * n * level, h * arm * arm * n * slope]
        };
        let powers = [(Mode::Forward, normal[0]), (Mode::Backward, normal[1])].map(|(direction, n)| {
            let (k, exponent) = contact.law.towards(direction).power_term();
            [h * arm * n * k * arm.powf(exponent), exponent]
        });
        let power = powers.iter().any(|power| power[0] != 0.0).then_some(powers);
        Self::Dry { forward: side(Mode::Forward, normal[0]), backward: side(Mode::Backward, normal[1]), power }
    }

    /// Impulse and slope of a dry contact that slides with `speed` ≥ 0, its direction given.
    pub fn slide(&self, is_backward: bool, speed: f64) -> (f64, f64) {
        let Self::Dry { forward, backward, power } = *self else { return (0.0, 0.0) };
        let [level, slope] = if is_backward { backward } else { forward };
        let (lambda, slope) = (level + slope * speed, slope);
        let Some(power) = power else { return (lambda, slope) };
        let [c, n] = power[usize::from(is_backward)];
        if speed <= 0.0 || c == 0.0 {
            return (lambda, slope);
        }
        let per_speed = c * speed.powf(n - 1.0);
        (lambda + per_speed * speed, slope + n * per_speed)
    }

    /// λ at ω = 0 and λ' of the tangent of a dry contact that slides in a direction, at the rate ω.
    pub fn tangent(&self, mode: Mode, omega: f64) -> [f64; 2] {
        let is_backward = mode == Mode::Backward;
        let sign = if is_backward { -1.0 } else { 1.0 };
        if let Self::Dry { forward, backward, power: None } = *self {
            let [level, slope] = if is_backward { backward } else { forward };
            return [sign * level, slope];
        }
        let speed = (sign * omega).max(0.0);
        let (lambda, slope) = self.slide(is_backward, speed);
        [sign * (lambda - slope * speed), slope]
    }

    /// λ and dλ/dω at ω. A dry contact has λ̂ + ρ ω between its limits: `multiplier` λ̂, `penalty` ρ.
    pub fn at(&self, law: &Law, omega: f64, multiplier: f64, penalty: f64) -> ContactState {
        match *self {
            Self::Bristle { ref bristle, arm, scale } => {
                let (effort, slope) = bristle.effort(arm * omega);
                let magnitude = scale * bristle.size();
                let (lambda, slope) = (scale * effort, scale * arm * slope);
                ContactState::friction(omega, lambda, slope, magnitude, false)
            }
            Self::Smooth { h, v_level, state, arm, scale } => {
                let step = law.implicit_step(h, arm * omega, v_level, state);
                let scale = scale[usize::from(omega < 0.0)];
                let (lambda, slope) = (scale * step.effort, scale * arm * step.effort_v);
                // s and σ₁ s/(h σ₀) cancel where a bristle is released
                let magnitude = slope * law.deflection(state).abs() / (h * arm);
                ContactState::friction(omega, lambda, slope, magnitude, false)
            }
            Self::Dry { .. } => {
                let augmented = multiplier + penalty * omega;
                let slide = |is_backward: bool, speed: f64| {
                    let (level, slope) = self.slide(is_backward, speed.max(0.0));
                    (level, if speed > 0.0 { slope } else { 0.0 })
                };
                let ((max, max_slope), (min, min_slope)) = (slide(false, omega), slide(true, -omega));
                let magnitude = multiplier.abs();
                if augmented > max {
                    ContactState::friction(omega, max, max_slope, magnitude, false)
                } else if augmented < -min {
                    ContactState::friction(omega, -min, min_slope, magnitude, false)
                } else {
                    ContactState::friction(omega, augmented, penalty, magnitude, true)
                }
            }
        }
    }

    /// States of the law at the end of a step with rate ω.
    pub fn state_after(&self, law: &Law, omega: f64, start: State) -> State {
        match *self {
            Self::Bristle { ref bristle, arm, .. } => [bristle.deflection(arm * omega).0, start[1]],
            Self::Smooth { h, v_level, state, arm, .. } => law.implicit_step(h, arm * omega, v_level, state).state,
            Self::Dry { .. } => start,
        }
    }

    /// Limit of a dry contact in the direction of `lambda`; 0 for other laws.
    pub fn limit(&self, lambda: f64) -> f64 {
        match self {
            Self::Dry { backward, .. } if lambda < 0.0 => backward[0],
            Self::Dry { forward, .. } => forward[0],
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::component::{Load, Open};
    use bristle_friction::{Coulomb, Dahl, LuGre, Stribeck, Table, Tanh};

    fn contact(law: Law) -> Contact {
        let (b, element, bearing, reverse) = (None, None, None, None);
        Contact {
            joint: 1,
            v: 0,
            b,
            element,
            law,
            load: Load::Unit,
            arm: 0.5,
            bearing,
            reverse,
            open: Open::Law,
            stops: None,
        }
    }

    fn laws() -> [Law; 6] {
        let lugre = LuGre {
            sigma0: 1e5,
            sigma1: 316.0,
            sigma2: 0.4,
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(1e-3),
            exponent: 2.0,
            damping_velocity: None,
        };
        let stribeck = Stribeck {
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(0.1),
            exponent: 2.0,
            viscous: 0.2,
            peak: 1.1,
        };
        [
            Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.3 }.into(),
            stribeck.into(),
            // a steep last segment: its tangent at speed 2 has a negative intercept
            Table { points: vec![(0.0, 0.5), (1.0, 0.6), (2.0, 5.0)], peak: 2.0 }.into(),
            Tanh { coulomb: 1.0, stribeck_velocity: 1e-3, viscous: 0.1 }.into(),
            Dahl { coulomb: 1.0, sigma0: 1e4 }.into(),
            lugre.into(),
        ]
    }

    /// λ(ω) never falls, and its difference quotients lie between the slopes of their ends, also across a limit.
    #[test]
    fn impulse_never_falls_with_rate() {
        for law in laws() {
            let contact = contact(law);
            for (v_level, s) in [(0.0, 0.0), (0.7, 0.9), (-2.0, -1.4), (1.9, 1.0), (1e-4, -0.2)] {
                for h in [1e-6, 1e-3, 0.1] {
                    let impulse = ImpulseLaw::new(&contact, h, Mode::of_sign(v_level), v_level, [s, 0.0], [3.0; 2]);
                    for multiplier in [0.0, h, -2.0 * h] {
                        let mut before: Option<ContactState> = None;
                        for k in -400..=400 {
                            let omega = 10.0 * (f64::from(k) / 400.0).powi(5);
                            let here = impulse.at(&contact.law, omega, multiplier, 1e3 * h);
                            let rounding =
                                8.0 * f64::EPSILON * (here.magnitude + here.lambda.abs() + here.slope * omega.abs());
                            let step = 1e-6 * (omega.abs() + 1e-6);
                            let next = impulse.at(&contact.law, omega + step, multiplier, 1e3 * h);
                            assert!(here.slope >= 0.0 && next.lambda >= here.lambda - rounding, "{impulse:?} {omega}");
                            if let Some(before) = before {
                                assert!(here.lambda >= before.lambda - rounding, "{impulse:?}: λ falls at {omega}");
                            }
                            // a difference quotient lies between the slopes of its two ends
                            let rise = (next.lambda - here.lambda) / step;
                            let (low, high) = (here.slope.min(next.slope), here.slope.max(next.slope));
                            let off = 1e-3 * high + 4.0 * rounding / step;
                            assert!(
                                rise >= low - off && rise <= high + off,
                                "{impulse:?} {omega}: {rise} {here:?} {next:?}"
                            );
                            before = Some(here);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn stiction_holds_contacts_at_rest() {
        let contact = contact(Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.2 }.into());
        let at = |mode, v_level, omega: f64, multiplier| {
            let impulse = ImpulseLaw::new(&contact, 1.0, mode, v_level, [0.0; 2], [2.0; 2]);
            let here = impulse.at(&contact.law, omega, multiplier, 1e9);
            (here.lambda, here.slope, here.is_stuck)
        };
        // levels 1 and 1.5 with r N = 1, and 0.1 per rate with r² N = 1/2
        assert_eq!(at(Mode::Stuck, 0.0, 0.0, 1.4), (1.4, 1e9, true));
        assert_eq!(at(Mode::Stuck, 0.0, 1e-10, 1.2), (1.2 + 0.1, 1e9, true));
        assert_eq!(at(Mode::Stuck, 0.0, 0.5, 1.4), (1.5 + 0.05, 0.1, false));
        assert_eq!(at(Mode::Forward, 1.0, 0.5, 1.0), (1.0 + 0.05, 0.1, false));
        assert_eq!(at(Mode::Forward, 1.0, 0.0, -1.4), (-1.4, 1e9, true));
        assert_eq!(at(Mode::Forward, 1.0, -0.5, 1.0), (-1.5 - 0.05, 0.1, false));
    }
}

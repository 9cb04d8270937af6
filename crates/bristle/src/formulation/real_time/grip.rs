//! One contact in one step: its impulse λ as a function of the rate ω of its coordinate, which never falls.
//!
//! ```text
//! bristles, smooth laws   λ(ω) = h r N law(r ω), the states of the law eliminated: one backward Euler step from where they are;
//!                         in closed form for one bristle (Dahl, LuGre), by Newton in a bracket for the others
//! dry friction            λ(ω) = up + k ω for ω > 0,   −down + k ω for ω < 0,   anything from −down to up at ω = 0
//! ```
//!
//! `up` and `down` are h r N times a level: the sliding one in the direction in which the contact slides already, the static one in
//! any other. So a contact that comes to rest is held by stiction, one that breaks away feels it for one step, and no
//! level falls with ω within a step. Sliding levels are those of the speed at the start; a part that grows with speed is k.
//!
//! At ω = 0 a dry contact is held by a spring that `balance` stretches until it holds, and is otherwise where its limits are.

use crate::compile::Contact;
use bristle_friction::{BristleStep, FrictionLaw, Law, Mode, State};

/// Impulse of one contact over a step. See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Grip {
    /// λ = scale · bristle(arm · ω).
    Bristle {
        /// From where it is at the start.
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
        /// Slip velocity at its start.
        v_level: f64,
        /// States there.
        state: State,
        /// Lever r.
        arm: f64,
        /// h r N for ω ≥ 0 and below: one and the same for a law with states.
        scale: [f64; 2],
    },
    /// Levels and slopes in either direction.
    Dry {
        /// For ω > 0.
        up: [f64; 2],
        /// For ω < 0.
        down: [f64; 2],
    },
}

/// Where a contact and the rest of the machine agree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Met {
    /// Rate of the coordinate.
    pub omega: f64,
    /// Impulse.
    pub lambda: f64,
    /// dλ/dω.
    pub slope: f64,
    /// Size of the terms that λ is made of, for its rounding.
    pub size: f64,
    /// Whether it is dry and stuck.
    pub is_held: bool,
}

impl Grip {
    /// Of a contact that slips at `v_level` (in `mode` if it is dry) with `state`, under the loads `normal` forwards and backwards.
    pub fn new(contact: &Contact, h: f64, mode: Mode, v_level: f64, state: State, normal: [f64; 2]) -> Self {
        let arm = contact.arm;
        let Some(law) = contact.law.event_driven() else {
            if let Some(bristle) = contact.law.bristle(h, v_level, state) {
                return Self::Bristle { bristle, arm, scale: h * arm * normal[0] };
            }
            return Self::Smooth { h, v_level, state, arm, scale: normal.map(|n| h * arm * n) };
        };
        let speed = v_level.abs();
        let step = law.implicit_step(h, speed, speed, state);
        let (mut kinetic, mut slope) = if speed > 0.0 {
            (step.effort - step.effort_v * speed, step.effort_v)
        } else {
            (law.kinetic_level(0.0).0, step.effort_v)
        };
        if kinetic < 0.0 {
            // a tangent that starts below zero would push: the chord from the origin instead
            (kinetic, slope) = (0.0, step.effort / speed);
        }
        let side = |direction: Mode, n: f64| {
            let level = if mode == direction { kinetic } else { law.stiction_level() };
            [h * arm * n * level, h * arm * arm * n * slope]
        };
        Self::Dry { up: side(Mode::Forward, normal[0]), down: side(Mode::Backward, normal[1]) }
    }

    /// λ and its slope at ω; a dry contact is held within its limits by a spring of stiffness `stick` from `anchor` on.
    pub fn at(&self, law: &Law, omega: f64, anchor: f64, stick: f64) -> Met {
        match *self {
            Self::Bristle { ref bristle, arm, scale } => {
                let (effort, slope) = bristle.effort(arm * omega);
                let size = scale * bristle.size();
                Met { omega, lambda: scale * effort, slope: scale * arm * slope, size, is_held: false }
            }
            Self::Smooth { h, v_level, state, arm, scale } => {
                let step = law.implicit_step(h, arm * omega, v_level, state);
                let scale = scale[usize::from(omega < 0.0)];
                // s and σ₁ s/(h σ₀), which cancel where a bristle is let go
                let (lambda, slope) = (scale * step.effort, scale * arm * step.effort_v);
                let size = slope * law.deflection(state).abs() / (h * arm);
                Met { omega, lambda, slope, size, is_held: false }
            }
            Self::Dry { up, down } => {
                let held = anchor + stick * omega;
                let slide = |[level, slope]: [f64; 2], speed: f64| {
                    (level + slope * speed.max(0.0), if speed > 0.0 { slope } else { 0.0 })
                };
                let ((most, rise), (least, fall)) = (slide(up, omega), slide(down, -omega));
                let size = anchor.abs();
                if held > most {
                    Met { omega, lambda: most, slope: rise, size, is_held: false }
                } else if held < -least {
                    Met { omega, lambda: -least, slope: fall, size, is_held: false }
                } else {
                    Met { omega, lambda: held, slope: stick, size, is_held: true }
                }
            }
        }
    }

    /// States at the end of a step with rate ω.
    pub fn state_after(&self, law: &Law, omega: f64, start: State) -> State {
        match *self {
            Self::Bristle { ref bristle, arm, .. } => [bristle.deflection(arm * omega).0, start[1]],
            Self::Smooth { h, v_level, state, arm, .. } => law.implicit_step(h, arm * omega, v_level, state).state,
            Self::Dry { .. } => start,
        }
    }

    /// Impulse that a dry contact can hold at most in the direction of `lambda`.
    pub fn strength(&self, lambda: f64) -> f64 {
        match self {
            Self::Dry { down, .. } if lambda < 0.0 => down[0],
            Self::Dry { up, .. } => up[0],
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::{Load, Open};
    use bristle_friction::{Coulomb, Dahl, LuGre, Stribeck, Table, Tanh};

    fn contact(law: Law) -> Contact {
        let (b, element, bearing, reverse) = (None, None, None, None);
        Contact { joint: 1, v: 0, b, element, law, load: Load::Unit, arm: 0.5, bearing, reverse, open: Open::Law }
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
            // a steep end: its tangent at speed 2 meets zero speed below zero
            Table { points: vec![(0.0, 0.5), (1.0, 0.6), (2.0, 5.0)], peak: 2.0 }.into(),
            Tanh { coulomb: 1.0, stribeck_velocity: 1e-3, viscous: 0.1 }.into(),
            Dahl { coulomb: 1.0, sigma0: 1e4 }.into(),
            lugre.into(),
        ]
    }

    /// Never falling, and with the slope it says, also where limits are reached.
    #[test]
    fn impulses_rise_with_the_rate() {
        for law in laws() {
            let contact = contact(law);
            for (v_level, s) in [(0.0, 0.0), (0.7, 0.9), (-2.0, -1.4), (1.9, 1.0), (1e-4, -0.2)] {
                for h in [1e-6, 1e-3, 0.1] {
                    let grip = Grip::new(&contact, h, Mode::of_sign(v_level), v_level, [s, 0.0], [3.0; 2]);
                    for anchor in [0.0, h, -2.0 * h] {
                        let mut before: Option<Met> = None;
                        for k in -400..=400 {
                            let omega = 10.0 * (f64::from(k) / 400.0).powi(5);
                            let met = grip.at(&contact.law, omega, anchor, 1e3 * h);
                            let rounding = 8.0 * f64::EPSILON * (met.size + met.lambda.abs() + met.slope * omega.abs());
                            let step = 1e-6 * (omega.abs() + 1e-6);
                            let next = grip.at(&contact.law, omega + step, anchor, 1e3 * h);
                            assert!(met.slope >= 0.0 && next.lambda >= met.lambda - rounding, "{grip:?} {omega}");
                            if let Some(before) = before {
                                assert!(met.lambda >= before.lambda - rounding, "{grip:?}: falls at {omega}");
                            }
                            // between two slopes, one of which is steeper
                            let rise = (next.lambda - met.lambda) / step;
                            let (low, high) = (met.slope.min(next.slope), met.slope.max(next.slope));
                            let off = 1e-3 * high + 4.0 * rounding / step;
                            assert!(
                                rise >= low - off && rise <= high + off,
                                "{grip:?} {omega}: {rise} {met:?} {next:?}"
                            );
                            before = Some(met);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn stiction_holds_what_comes_to_rest_and_what_is_at_rest() {
        let contact = contact(Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.2 }.into());
        let at = |mode, v_level, omega: f64, anchor| {
            let grip = Grip::new(&contact, 1.0, mode, v_level, [0.0; 2], [2.0; 2]);
            let met = grip.at(&contact.law, omega, anchor, 1e9);
            (met.lambda, met.slope, met.is_held)
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

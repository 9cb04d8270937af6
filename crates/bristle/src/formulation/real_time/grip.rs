//! One contact in one step: its impulse λ as a function of the rate ω of its coordinate, which never falls.
//!
//! ```text
//! bristles, smooth laws   λ(ω) = h r N law(r ω), the states of the law eliminated: one backward Euler step from where they are;
//!                         a quadratic equation for one bristle (Dahl, LuGre), Newton in a bracket for the others
//! dry friction            λ(ω) = up + k ω for ω > 0,   −down + k ω for ω < 0,   anything from −down to up at ω = 0
//! ```
//!
//! `up` and `down` are h r N times a level: the sliding one in the direction in which the contact slides already, the static one in
//! any other. So a contact that comes to rest is held by stiction, one that breaks away feels it for one step, and no
//! level falls with ω within a step. Sliding levels are those of the speed at the start; a part that grows with speed is k.
//!
//! Seen from a contact the rest of the machine is ω = y − D λ, a falling line. [`Grip::meet`] finds where it meets λ(ω): the proximal
//! map of the contact.

use crate::compile::Contact;
use bristle_friction::{BristleStep, FrictionLaw, Law, Mode, State};

/// Rounds of bisection and Newton together; each halves the bracket at worst, and 53 of them reach the last bit.
const MOST_ROUNDS: usize = 120;

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
    /// dλ/dω; infinite for a dry contact that is stuck.
    pub slope: f64,
    /// Size of the terms that λ is made of, for its rounding.
    pub size: f64,
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

    /// ω + D λ(ω) = y, one solution. `guess` is a rate near it.
    pub fn meet(&self, law: &Law, y: f64, d: f64, guess: f64) -> Met {
        match *self {
            Self::Bristle { ref bristle, arm, scale } => {
                let omega = bristle.meet(y, d * scale, arm);
                let (effort, slope) = bristle.effort(arm * omega);
                Met { omega, lambda: scale * effort, slope: scale * arm * slope, size: scale * bristle.size() }
            }
            Self::Dry { up, down } => {
                let slide = |[level, slope]: [f64; 2], direction: f64| {
                    let omega = (y - direction * d * level) / (1.0 + d * slope);
                    Met { omega, lambda: direction * level + slope * omega, slope, size: level }
                };
                if y > d * up[0] {
                    slide(up, 1.0)
                } else if y < -d * down[0] {
                    slide(down, -1.0)
                } else {
                    let lambda = if d > 0.0 { y / d } else { 0.0 };
                    Met { omega: 0.0, lambda, slope: f64::INFINITY, size: 0.0 }
                }
            }
            Self::Smooth { h, v_level, state, arm, scale } => {
                let at = |omega: f64| {
                    let step = law.implicit_step(h, arm * omega, v_level, state);
                    let scale = scale[usize::from(omega < 0.0)];
                    Met { omega, lambda: scale * step.effort, slope: scale * arm * step.effort_v, size: 0.0 }
                };
                if d == 0.0 || scale == [0.0; 2] {
                    return at(y);
                }
                // s and σ₁ s/(h σ₀), which cancel where a bristle is let go
                let rest = at(0.0);
                let size = rest.lambda.abs() + rest.slope * law.deflection(state).abs() / (h * arm);
                Met { size, ..search(at, rest, y, d, guess) }
            }
        }
    }
}

impl Grip {
    /// λ and its slope at ω; `None` for a dry contact at 0, which has many.
    pub fn at(&self, law: &Law, omega: f64) -> Option<Met> {
        match *self {
            Self::Bristle { ref bristle, scale, .. } => {
                Some(Met { size: scale * bristle.size(), ..self.softened(law, omega, 0.0) })
            }
            Self::Smooth { .. } => Some(self.softened(law, omega, 0.0)),
            Self::Dry { up, .. } if omega > 0.0 => {
                Some(Met { omega, lambda: up[0] + up[1] * omega, slope: up[1], size: 0.0 })
            }
            Self::Dry { down, .. } if omega < 0.0 => {
                Some(Met { omega, lambda: down[1] * omega - down[0], slope: down[1], size: 0.0 })
            }
            Self::Dry { .. } => None,
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

    /// λ and its slope at ω, where a dry contact that is stuck gives way a little: with stiffness `sticking`.
    pub fn softened(&self, law: &Law, omega: f64, sticking: f64) -> Met {
        match *self {
            Self::Bristle { ref bristle, arm, scale } => {
                let (effort, slope) = bristle.effort(arm * omega);
                Met { omega, lambda: scale * effort, slope: scale * arm * slope, size: 0.0 }
            }
            Self::Smooth { h, v_level, state, arm, scale } => {
                let step = law.implicit_step(h, arm * omega, v_level, state);
                let scale = scale[usize::from(omega < 0.0)];
                Met { omega, lambda: scale * step.effort, slope: scale * arm * step.effort_v, size: 0.0 }
            }
            Self::Dry { up, down } => {
                let [level, slope] = if omega > 0.0 { up } else { down };
                let (held, limit) = (sticking * omega, level + slope * omega.abs());
                if held.abs() <= limit {
                    Met { omega, lambda: held, slope: sticking.max(slope), size: 0.0 }
                } else {
                    Met { omega, lambda: limit.copysign(omega), slope, size: 0.0 }
                }
            }
        }
    }
}

/// ω + D λ(ω) = y for a smooth λ that never falls, `rest` being λ at 0: Newton in a bracket.
fn search(at: impl Fn(f64) -> Met, rest: Met, y: f64, d: f64, guess: f64) -> Met {
    // λ at the root lies on the same side of λ(0) as the root of 0
    let end = y - d * rest.lambda;
    let (mut low, mut high) = if end < 0.0 { (end, 0.0) } else { (0.0, end) };
    let newton = end / (1.0 + d * rest.slope);
    let mut met = at(if guess > low && guess < high { guess } else { newton });
    for _ in 0..MOST_ROUNDS {
        let Met { omega, lambda, slope, .. } = met;
        let gap = omega + d * lambda - y;
        if gap.abs() <= f64::EPSILON * (omega.abs() + d * lambda.abs()) {
            break;
        }
        if gap > 0.0 {
            high = omega;
        } else {
            low = omega;
        }
        let newton = omega - gap / (1.0 + d * slope);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        // what is left is rounding of λ
        if (next - omega).abs() <= f64::EPSILON * omega.abs() || low >= high {
            break;
        }
        met = at(next);
    }
    met
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::Load;
    use bristle_friction::{Coulomb, Dahl, LuGre, Stribeck, Table, Tanh};

    fn contact(law: Law) -> Contact {
        let (b, element, bearing, reverse) = (None, None, None, None);
        Contact { joint: 1, v: 0, b, element, law, load: Load::Unit, arm: 0.5, bearing, reverse }
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

    #[test]
    fn a_contact_meets_the_machine_wherever_that_is() {
        for law in laws() {
            let contact = contact(law);
            for (v_level, s) in [(0.0, 0.0), (0.7, 0.9), (-2.0, -1.4), (1.9, 1.0), (1e-4, -0.2)] {
                for h in [1e-6, 1e-3, 0.1] {
                    let mode = Mode::of_sign(v_level);
                    let grip = Grip::new(&contact, h, mode, v_level, [s, 0.0], [3.0; 2]);
                    for d in [1e-6, 1.0, 1e4] {
                        let mut before = f64::NEG_INFINITY;
                        for k in -40..=40 {
                            let y = 10.0 * (f64::from(k) / 40.0).powi(5);
                            let met = grip.meet(&contact.law, y, d, 0.3);
                            let size = met.omega.abs() + d * met.lambda.abs() + y.abs();
                            // a rounding of ω moves a stiff λ by more than rounding of λ; that of s₁ counts σ₁/(h σ₀) times
                            let stiff = d * met.slope.min(1e300) * met.omega.abs();
                            let rounding = f64::EPSILON * (size + stiff + d * met.size);
                            assert!(
                                (met.omega + d * met.lambda - y).abs() <= 4.0 * rounding,
                                "{grip:?} {d} {y} {met:?}"
                            );
                            assert!(met.omega >= before - rounding, "{grip:?}: falls at {y}");
                            before = met.omega;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn stiction_holds_what_comes_to_rest_and_what_is_at_rest() {
        let contact = contact(Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.0 }.into());
        let meet = |mode, v_level, y| {
            let grip = Grip::new(&contact, 1.0, mode, v_level, [0.0; 2], [2.0; 2]);
            grip.meet(&contact.law, y, 1.0, 0.0)
        };
        // levels 1 and 1.5 with r N = 1
        let stuck = |lambda| Met { omega: 0.0, lambda, slope: f64::INFINITY, size: 0.0 };
        assert_eq!(meet(Mode::Stuck, 0.0, 1.4), stuck(1.4));
        assert_eq!(meet(Mode::Forward, 1.0, -1.4), stuck(-1.4));
        assert_eq!(meet(Mode::Forward, 1.0, 1.4).omega, 1.4 - 1.0);
        assert_eq!(meet(Mode::Backward, -1.0, -1.4).omega, -(1.4 - 1.0));
        assert_eq!(meet(Mode::Stuck, 0.0, 1.75).omega, 0.25);
    }
}

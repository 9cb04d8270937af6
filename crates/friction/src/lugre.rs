//! LuGre bristle friction (Canudas de Wit, Olsson, Åström, Lischinsky 1995).
//!
//! ```text
//! ż     = v − σ₀ |v| z / g(v)                                            (1)
//! τ_f   = σ₀ z + σ₁(v) ż + σ₂ v                                          (2)
//! g(v)  = f_c + (f_s − f_c) exp(−|v/v_s|ⁿ)                               (3)
//! σ₁(v) = σ₁ exp(−(v/v_d)²)    or constant without v_d                   (4)
//! ```
//!
//! f_c `coulomb`, f_s `stiction`, v_s `stribeck_velocity`, n `exponent`, v_d `damping_velocity`. In the scaled state
//! s = σ₀ z: ṡ = σ₀ (v − |v| s/g). Steady sliding: s = sign(v) g(v). Relaxation time g/(σ₀|v|): stiff as soon as it
//! moves.
//!
//! Energy: stored s²/(2σ₀), heat s²|v|/g + σ₁ ż v + σ₂ v². With |s| ≤ f_s the heat cannot be negative if
//! σ₁ ≤ f_c σ₂/(f_s − f_c) (Barabanov, Ortega 2000); the classic parameters (1e5, √1e5, 0.4, 1, 1.5) break this by far.

use crate::stribeck::weakening;
use crate::{BristleStep, Evaluation, Finding, FrictionLaw, ImplicitStep, State, check, sign};

/// One elastic bristle with damping, weakening with speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LuGre {
    /// Bristle stiffness σ₀, friction per unit load and deflection; > 0.
    pub sigma0: f64,
    /// Bristle damping σ₁, friction per unit load and deflection rate; ≥ 0.
    pub sigma1: f64,
    /// Viscous coefficient σ₂, per unit load and slip velocity; ≥ 0.
    pub sigma2: f64,
    /// Sliding level f_c far above the Stribeck velocity, per unit load; > 0.
    pub coulomb: f64,
    /// Sliding level f_s at zero speed, per unit load; ≥ coulomb.
    pub stiction: f64,
    /// Slip speed v_s over which the level falls; > 0. Needed unless stiction = coulomb.
    pub stribeck_velocity: Option<f64>,
    /// Exponent n of the fall; > 0.
    pub exponent: f64,
    /// Slip speed v_d over which bristle damping fades; > 0. Without it σ₁ is constant.
    pub damping_velocity: Option<f64>,
}

/// The plastic fraction a(v, s) of the slip and its partial derivatives.
pub(crate) struct Plastic {
    pub a: f64,
    pub a_v: f64,
    pub a_s: f64,
}

impl Plastic {
    /// The bristle only springs back.
    pub const NONE: Plastic = Plastic { a: 0.0, a_v: 0.0, a_s: 0.0 };
    /// LuGre.
    pub const FULL: Plastic = Plastic { a: 1.0, a_v: 0.0, a_s: 0.0 };
}

impl LuGre {
    /// g(v) of (3) and its derivative: the magnitude of s in steady sliding.
    pub fn level(&self, v: f64) -> (f64, f64) {
        self.level_at(weakening(self.stribeck_velocity, self.exponent, v))
    }

    /// g and g′ from the weakening exp(−|v/v_s|ⁿ) and its derivative.
    pub(crate) fn level_at(&self, (e, de): (f64, f64)) -> (f64, f64) {
        let fall = self.stiction - self.coulomb;
        (self.coulomb + fall * e, fall * de)
    }

    /// σ₁(v) of (4) and its derivative.
    pub(crate) fn damping(&self, v: f64) -> (f64, f64) {
        let (e, de) = weakening(self.damping_velocity, 2.0, v);
        (self.sigma1 * e, self.sigma1 * de)
    }

    /// Effort and rates (1), (2) with g, g′ given and any plastic fraction a(v, s) of the slip: ż = v − a |v| s/g,
    /// LuGre's a = 1.
    pub(crate) fn evaluate_plastic(&self, v: f64, s: f64, (g, dg): (f64, f64), plastic: Plastic) -> Evaluation {
        let Plastic { a, a_v, a_s } = plastic;
        let (sigma1, dsigma1) = self.damping(v);
        let r = s / g;
        // (1) and its derivatives; r first, so that s = g cancels exactly
        let z_dot = v - a * (v.abs() * r);
        let z_dot_v = 1.0 - (a * sign(v) + a_v * v.abs()) * r + a * v.abs() * r * (dg / g);
        let z_dot_s = -(a * (v.abs() / g) + a_s * (v.abs() * r));
        Evaluation {
            // (2)
            effort: s + sigma1 * z_dot + self.sigma2 * v,
            effort_v: dsigma1 * z_dot + sigma1 * z_dot_v + self.sigma2,
            effort_state: [1.0 + sigma1 * z_dot_s, 0.0],
            rate: [self.sigma0 * z_dot, 0.0],
            rate_v: [self.sigma0 * z_dot_v, 0.0],
            rate_state: [[self.sigma0 * z_dot_s, 0.0], [0.0; 2]],
        }
    }

    /// Heat with g given and a plastic fraction `a` of the slip: a s²|v|/g + σ₁ ż v + σ₂ v².
    pub(crate) fn dissipated_plastic(&self, v: f64, s: f64, g: f64, a: f64) -> f64 {
        let r = s / g;
        let z_dot = v - a * (v.abs() * r);
        a * s * r * v.abs() + self.damping(v).0 * z_dot * v + self.sigma2 * v * v
    }

    /// The bristle over an implicit step of length `h` from `state`, g and σ₁ being those at `v_level`.
    pub(crate) fn bristle(&self, h: f64, v_level: f64, state: State) -> BristleStep {
        let (g, sigma1) = (self.level(v_level).0, self.damping(v_level).0);
        BristleStep::new(h * self.sigma0, v_level, g, state[0], sigma1, self.sigma2)
    }

    /// Effort over an implicit step from s to s₁(v), with ds₁/dv given: s₁ + σ₁ (s₁ − s)/(h σ₀) + σ₂ v.
    /// `damper` has σ₁.
    pub(crate) fn finish_step(
        &self,
        damper: &LuGre,
        h: f64,
        v: f64,
        v_level: f64,
        [s, w]: State,
        s1: f64,
        ds1: f64,
    ) -> ImplicitStep {
        // σ₁/k with k = h σ₀: as h → 0 the quotient is σ₁ v
        let per_k = damper.damping(v_level).0 / (h * self.sigma0);
        ImplicitStep {
            state: [s1, w],
            effort: s1 + per_k * (s1 - s) + self.sigma2 * v,
            effort_v: ds1 + per_k * ds1 + self.sigma2,
        }
    }
}

impl FrictionLaw for LuGre {
    fn n_states(&self) -> usize {
        1
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        check::positive(&mut found, "sigma0", self.sigma0);
        check::not_negative(&mut found, "sigma1", self.sigma1);
        check::not_negative(&mut found, "sigma2", self.sigma2);
        check::positive(&mut found, "coulomb", self.coulomb);
        check::stiction(&mut found, self.coulomb, self.stiction);
        check::stribeck_velocity(&mut found, self.coulomb, self.stiction, self.stribeck_velocity);
        check::positive(&mut found, "exponent", self.exponent);
        if let Some(v_d) = self.damping_velocity {
            check::positive(&mut found, "damping_velocity", v_d);
        }
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        // passivity: σ₁ (f_s − f_c) ≤ f_c σ₂, written without a division by zero
        let (fall, sigma1) = (self.stiction - self.coulomb, self.sigma1);
        if sigma1 * fall <= self.coulomb * self.sigma2 {
            return Vec::new();
        }
        let limit = self.coulomb * self.sigma2 / fall;
        let reason = format!(
            "not passive, friction may feed energy into the motion: `sigma1` = {sigma1} exceeds \
            coulomb·sigma2/(stiction − coulomb) = {}",
            check::rounded(limit)
        );
        vec![Finding::new("sigma1", sigma1, reason)]
    }

    fn evaluate(&self, v: f64, [s, _]: State) -> Evaluation {
        self.evaluate_plastic(v, s, self.level(v), Plastic::FULL)
    }

    fn steady_state(&self, v: f64) -> State {
        [self.level(v).0 * sign(v), 0.0]
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.level(v).0 / (self.sigma0 * v.abs())
    }

    fn stored_energy(&self, [s, _]: State) -> f64 {
        s * s / (2.0 * self.sigma0)
    }

    fn dissipated_power(&self, v: f64, [s, _]: State) -> f64 {
        self.dissipated_plastic(v, s, self.level(v).0, 1.0)
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        self.bristle(h, v_level, state).end(v, state[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    /// Table I of the 1995 paper; BENCHMARKS L.
    fn classic() -> LuGre {
        LuGre {
            sigma0: 1e5,
            sigma1: f64::sqrt(1e5),
            sigma2: 0.4,
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(1e-3),
            exponent: 2.0,
            damping_velocity: None,
        }
    }

    #[test]
    fn constant_velocity_relaxation_matches_l1() {
        let law = classic();
        let v = 2e-3;
        let t_c = law.time_constant(v);
        assert_abs_diff_eq!(law.effort(v, [0.0; 2]), 0.633255532034, epsilon = 5e-13);
        assert_abs_diff_eq!(law.steady_effort(v), 1.009957819444, epsilon = 5e-13);
        assert_abs_diff_eq!(t_c, 5.045789097222e-3, epsilon = 5e-16);
        // at constant v, s = g (1 − exp(−t/T_c))
        let s = law.steady_state(v)[0] * (1.0 - f64::exp(-5e-3 / t_c));
        assert_abs_diff_eq!(law.effort(v, [s, 0.0]), 0.870113485756, epsilon = 5e-13);
    }

    #[test]
    fn constant_velocity_relaxation_integrated_matches_l1() {
        // the same number from the rates alone: classical Runge–Kutta, 1000 steps of T_c/1000
        let (law, v, h) = (classic(), 2e-3, 5e-6);
        let rate = |s: f64| law.rates(v, [s, 0.0])[0];
        let mut s = 0.0;
        for _ in 0..1000 {
            let k1 = rate(s);
            let k2 = rate(s + 0.5 * h * k1);
            let k3 = rate(s + 0.5 * h * k2);
            let k4 = rate(s + h * k3);
            s += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
        }
        assert_abs_diff_eq!(law.effort(v, [s, 0.0]), 0.870113485756, epsilon = 1e-12);
    }

    /// Friction at v = 1.5e-3, decelerating and accelerating, in the periodic state under v = 1e-3 (1.5 + cos ωt).
    fn lag(omega: f64) -> (f64, f64) {
        let law = classic();
        let v = |t: f64| 1e-3 * (1.5 + f64::cos(omega * t));
        // σ₀ v/g < 250/s: three periods, and at least 0.3 s, forget the start; steps of a 4000th of a period or 25 µs
        let period = std::f64::consts::TAU / omega;
        let per_quarter = (period / 1e-4).ceil().max(1000.0) as usize;
        let h = period / (4 * per_quarter) as f64;
        let mut s = law.steady_state(v(0.0))[0];
        let mut efforts = (0.0, 0.0);
        for i in 0..12 * per_quarter {
            // cos ωt = 0 after one and three quarters of each period
            match i % (4 * per_quarter) {
                phase if phase == per_quarter => efforts.0 = law.effort(1.5e-3, [s, 0.0]),
                phase if phase == 3 * per_quarter => efforts.1 = law.effort(1.5e-3, [s, 0.0]),
                _ => {}
            }
            let t = h * i as f64;
            let rate = |t: f64, s: f64| law.rates(v(t), [s, 0.0])[0];
            let k1 = rate(t, s);
            let k2 = rate(t + 0.5 * h, s + 0.5 * h * k1);
            let k3 = rate(t + 0.5 * h, s + 0.5 * h * k2);
            let k4 = rate(t + h, s + h * k3);
            s += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
        }
        efforts
    }

    #[test]
    fn friction_lags_behind_velocity_as_in_l3() {
        for (omega, decelerating, accelerating) in [(1.0, 1.052703, 1.053923), (25.0, 1.043470, 1.079564)] {
            let (down, up) = lag(omega);
            assert_abs_diff_eq!(down, decelerating, epsilon = 5.1e-7);
            assert_abs_diff_eq!(up, accelerating, epsilon = 5.1e-7);
        }
    }

    #[test]
    fn steady_curve_matches_l1() {
        for (v, f) in [
            (1e-5, 1.499954002),
            (1e-4, 1.495064917),
            (5e-4, 1.389600392),
            (1e-3, 1.184339721),
            (5e-3, 1.002),
            (1e-2, 1.004),
        ] {
            assert_abs_diff_eq!(classic().steady_effort(v), f, epsilon = 5.1e-10);
            assert_abs_diff_eq!(classic().steady_effort(-v), -f, epsilon = 5.1e-10);
        }
    }

    #[test]
    fn steady_state_is_steady_to_the_last_bit() {
        for v in [1e-7, 1e-3, -0.2, 5.0] {
            assert_eq!(classic().rates(v, classic().steady_state(v)), [0.0; 2]);
        }
    }

    #[test]
    fn damping_velocity_fades_bristle_damping() {
        let law = LuGre { damping_velocity: Some(0.01), ..classic() };
        let constant = classic();
        // from z = 0, ż = v: the difference is σ₁ v (1 − exp(−(v/v_d)²))
        let v = 0.02;
        let expected = constant.sigma1 * v * (1.0 - f64::exp(-4.0));
        assert_relative_eq!(constant.effort(v, [0.0; 2]) - law.effort(v, [0.0; 2]), expected, max_relative = 1e-13);
        assert_eq!(constant.steady_effort(v), law.steady_effort(v));
    }

    #[test]
    fn classic_parameters_are_warned_about_with_both_sides() {
        let found = classic().warnings();
        assert_eq!(found.len(), 1);
        let text = found[0].to_string();
        assert!(text.contains("316.2277660168379") && text.contains("= 0.8"), "{text}");
        assert!(LuGre { sigma1: 0.8, ..classic() }.warnings().is_empty());
        assert!(LuGre { stiction: 1.0, sigma2: 0.0, ..classic() }.warnings().is_empty());
        assert!(classic().validate().is_empty());
    }

    #[test]
    fn parameters_are_checked_by_name() {
        let named = |law: LuGre| law.validate().iter().map(|f| f.parameter).collect::<Vec<_>>();
        assert_eq!(named(LuGre { sigma0: 0.0, ..classic() }), ["sigma0"]);
        assert_eq!(named(LuGre { sigma1: -1.0, sigma2: f64::NAN, ..classic() }), ["sigma1", "sigma2"]);
        assert_eq!(named(LuGre { coulomb: 0.0, ..classic() }), ["coulomb"]);
        assert_eq!(named(LuGre { stiction: 0.5, ..classic() }), ["stiction"]);
        assert_eq!(named(LuGre { stribeck_velocity: None, ..classic() }), ["stribeck_velocity"]);
        assert_eq!(named(LuGre { damping_velocity: Some(0.0), ..classic() }), ["damping_velocity"]);
    }

    #[test]
    fn classic_parameters_do_feed_energy_in() {
        // slip at 20 v_s, where g = f_c, with the bristle still bent to f_s: s²|v|/g + σ₁ v² (1 − s/g) + σ₂ v²
        let heat = 2.25 * 0.02 + f64::sqrt(1e5) * 4e-4 * -0.5 + 0.4 * 4e-4;
        assert!(heat < 0.0);
        assert_relative_eq!(classic().dissipated_power(0.02, [1.5, 0.0]), heat, max_relative = 1e-12);
    }
}

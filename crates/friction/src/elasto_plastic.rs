//! Elasto-plastic bristle friction (Dupont, Hayward, Armstrong, Altpeter 2002): LuGre that does not creep before
//! break-away.
//!
//! ```text
//! ż    = v − α(z, v) σ₀ |v| z / g(v)                                     (1)
//! τ_f  = σ₀ z + σ₁ ż + σ₂ v                                              (2)
//! α    = 0                                         sign z ≠ sign v, or |z| ≤ z_ba       (3)
//!      = ½ + ½ sin(π (|z| − ½(z_ss + z_ba))/(z_ss − z_ba))    between
//!      = 1                                         |z| ≥ z_ss = g(v)/σ₀
//! ```
//!
//! g and σ₁ as in `lugre.rs`, z_ba `breakaway`. Below z_ba the bristle is a spring (with damper σ₁) and slip is
//! elastic: what goes out comes back, so vibration below break-away causes no drift. Steady sliding is that of LuGre.
//!
//! The paper needs z_ba < z_ss(v) at every speed, hence z_ba < f_c/σ₀. Where stiction exceeds coulomb a user wants a
//! joint to hold loads between the two, so z_ba may approach f_s/σ₀ here and then falls with speed as g does:
//!
//! ```text
//! z_ba(v) = b_c + (b − b_c) exp(−|v/v_s|ⁿ),        b_c = min(b, 0.9 f_c/σ₀)              (4)
//! ```
//!
//! the paper's constant for b ≤ 0.9 f_c/σ₀. In the scaled state: s = σ₀ z, and α compares |s| with σ₀ z_ba and g.

use std::f64::consts::PI;

use crate::lugre::Plastic;
use crate::stribeck::weakening;
use crate::{Evaluation, Finding, FrictionLaw, ImplicitStep, LuGre, State, check, sign};

/// Share of the Coulomb deflection up to which break-away may be constant: the blend (3) keeps a tenth to rise in.
const CONSTANT_SHARE: f64 = 0.9;

/// LuGre that does not creep below its break-away deflection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElastoPlastic {
    /// The parameters it shares with LuGre, written in a scene without a level of their own.
    pub lugre: LuGre,
    /// Deflection z_ba below which slip is elastic, units of slip; 0 < breakaway < stiction/sigma0.
    pub breakaway: f64,
}

impl ElastoPlastic {
    /// exp(−|v/v_s|ⁿ) and its derivative, of which both levels are made.
    fn weakening(&self, v: f64) -> (f64, f64) {
        weakening(self.lugre.stribeck_velocity, self.lugre.exponent, v)
    }

    /// σ₀ z_ba(v) of (4) and its derivative, from the weakening.
    fn breakaway_at(&self, (e, de): (f64, f64)) -> (f64, f64) {
        let b = self.lugre.sigma0 * self.breakaway;
        let b_c = b.min(CONSTANT_SHARE * self.lugre.coulomb);
        (b_c + (b - b_c) * e, (b - b_c) * de)
    }

    /// How σ₀ z_ba(v) changes with σ₀ z_ba, with f_c and with the weakening e.
    pub(crate) fn breakaway_slopes(&self, e: f64) -> (f64, f64, f64) {
        let (b, b_c) = (self.lugre.sigma0 * self.breakaway, CONSTANT_SHARE * self.lugre.coulomb);
        if b <= b_c { (1.0, 0.0, 0.0) } else { (e, CONSTANT_SHARE * (1.0 - e), b - b_c) }
    }

    /// α at a slip velocity and a scaled deflection, and its derivatives in g and σ₀ z_ba.
    pub(crate) fn plastic_slopes(&self, v: f64, s: f64) -> (f64, f64, f64) {
        let e = self.weakening(v);
        let (b, g) = (self.breakaway_at(e).0, self.lugre.level_at(e).0);
        let of = |db: f64, dg: f64| Self::plastic(v, s, (b, db), (g, dg));
        (of(0.0, 0.0).a, of(0.0, 1.0).a_v, of(1.0, 0.0).a_v)
    }

    /// α of (3) for a slip velocity and a scaled deflection, between the levels σ₀ z_ba and g with their derivatives.
    fn plastic(v: f64, s: f64, (b, db): (f64, f64), (g, dg): (f64, f64)) -> Plastic {
        let u = s.abs();
        if s * v <= 0.0 || u <= b {
            return Plastic::NONE;
        }
        if u >= g {
            return Plastic::FULL;
        }
        // θ from −π/2 at b to π/2 at g, and its partial derivatives in u, g, b
        let width = g - b;
        let theta = PI * (u - 0.5 * (g + b)) / width;
        let half_cos = 0.5 * theta.cos();
        let theta_u = PI / width;
        let theta_g = -PI * (u - b) / (width * width);
        let theta_b = PI * (u - g) / (width * width);
        Plastic {
            a: 0.5 + 0.5 * theta.sin(),
            a_v: half_cos * (theta_g * dg + theta_b * db),
            a_s: half_cos * theta_u * sign(s),
        }
    }

    /// An implicit step in the direction of `v`, where the level is up forward and down backward, and `damper` has σ₁.
    pub(crate) fn step_within(
        &self,
        [up, down]: [f64; 2],
        damper: &LuGre,
        h: f64,
        v: f64,
        v_level: f64,
        state: State,
    ) -> ImplicitStep {
        let k = h * self.lugre.sigma0;
        let e = self.weakening(v_level);
        let (g, b) = (self.lugre.level_at(e).0, self.breakaway_at(e).0);
        // what lies beyond g decays at the speed of `v_level`, as LuGre's does, unless it is being unloaded
        let within = state[0].max(-down).min(up);
        let beyond = state[0] - within;
        let level = if v_level < 0.0 { down } else { up };
        let beyond = if beyond * v_level > 0.0 { beyond / (1.0 + k * v_level.abs() / level) } else { beyond };
        let (start, beyond) = if beyond * v < 0.0 { (within + beyond, 0.0) } else { (within, beyond) };
        // elastic: s₁ = s₀ + k v, unless that ends beyond break-away on the side of v
        let trial = start + k * v;
        if !(trial * v > 0.0 && trial.abs() > b) {
            return self.lugre.finish_step(damper, h, v, v_level, state, trial + beyond, k);
        }
        // at g, the end of the blend: LuGre's own step
        let c = k * v.abs() / g;
        let s1 = trial / (1.0 + c);
        if s1.abs() >= g {
            return self.lugre.finish_step(damper, h, v, v_level, state, s1 + beyond, 0.0);
        }
        // blend: φ(u) = u + c α(u) u − |trial| = 0 with c = k|v|/g; increasing, one root between LuGre's (α = 1) and
        // both g and |trial|
        let blend = |u: f64| {
            let theta = PI * (u - 0.5 * (g + b)) / (g - b);
            (0.5 + 0.5 * theta.sin(), 0.5 * theta.cos() * PI / (g - b))
        };
        let (mut low, mut high) = (s1.abs().max(b), trial.abs().min(g));
        let mut u = low;
        // Newton inside a shrinking bracket; bisection alone would need 53 rounds for the last bit
        for _ in 0..100 {
            let (a, a_u) = blend(u);
            let phi = u + c * a * u - trial.abs();
            if phi > 0.0 {
                high = u;
            } else {
                low = u;
            }
            let newton = u - phi / (1.0 + c * (a + u * a_u));
            let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
            let settled = (next - u).abs() <= f64::EPSILON * u;
            u = next;
            if settled {
                break;
            }
        }
        let (a, a_u) = blend(u);
        let ds1 = k * (1.0 - a * (u / g)) / (1.0 + c * (a + u * a_u));
        self.lugre.finish_step(damper, h, v, v_level, state, u * sign(v) + beyond, ds1)
    }
}

impl FrictionLaw for ElastoPlastic {
    fn n_states(&self) -> usize {
        1
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = self.lugre.validate();
        let limit = self.lugre.stiction / self.lugre.sigma0;
        if !(self.breakaway > 0.0 && self.breakaway < limit) {
            let range =
                format!("a deflection, greater than 0 and less than `stiction`/`sigma0`, {}", check::rounded(limit));
            let range_of = &["stiction", "sigma0"];
            found.push(Finding { range_of, ..Finding::range("breakaway", self.breakaway, &range) });
        }
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        self.lugre.warnings()
    }

    fn evaluate(&self, v: f64, [s, _]: State) -> Evaluation {
        let e = self.weakening(v);
        let g = self.lugre.level_at(e);
        self.lugre.evaluate_plastic(v, s, g, Self::plastic(v, s, self.breakaway_at(e), g))
    }

    fn steady_state(&self, v: f64) -> State {
        self.lugre.steady_state(v)
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.lugre.time_constant(v)
    }

    fn stored_energy(&self, state: State) -> f64 {
        self.lugre.stored_energy(state)
    }

    fn dissipated_power(&self, v: f64, [s, _]: State) -> f64 {
        let e = self.weakening(v);
        let g = self.lugre.level_at(e);
        self.lugre.dissipated_plastic(v, s, g.0, Self::plastic(v, s, self.breakaway_at(e), g).a)
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        let g = self.lugre.level(v_level).0;
        self.step_within([g; 2], &self.lugre, h, v, v_level, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    fn law(breakaway: f64) -> ElastoPlastic {
        let lugre = LuGre {
            sigma0: 1e5,
            sigma1: f64::sqrt(1e5),
            sigma2: 0.4,
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(1e-3),
            exponent: 2.0,
            damping_velocity: None,
        };
        ElastoPlastic { lugre, breakaway }
    }

    fn scaled_breakaway(law: &ElastoPlastic, v: f64) -> f64 {
        law.breakaway_at(law.weakening(v)).0
    }

    #[test]
    fn alpha_rises_from_breakaway_to_steady_deflection() {
        let law = law(0.7e-5);
        let v = 0.01; // g = f_c = 1 here
        let alpha = |s: f64, v: f64| {
            let e = law.weakening(v);
            ElastoPlastic::plastic(v, s, law.breakaway_at(e), law.lugre.level_at(e)).a
        };
        assert_eq!(alpha(0.7, v), 0.0);
        assert_relative_eq!(alpha(0.85, v), 0.5, max_relative = 1e-12);
        assert_relative_eq!(alpha(0.775, v), 0.5 - f64::sqrt(0.125), max_relative = 1e-10);
        assert_eq!(alpha(1.0, v), 1.0);
        assert_eq!(alpha(1.3, v), 1.0);
        // unloading is elastic
        assert_eq!(alpha(0.9, -v), 0.0);
        assert_eq!(alpha(-0.9, v), 0.0);
        assert_eq!(alpha(-0.85, -v), alpha(0.85, v));
    }

    #[test]
    fn breakaway_is_below_the_steady_deflection() {
        for breakaway in [0.1e-5, 0.89e-5, 0.95e-5, 1.2e-5, 1.49e-5] {
            let law = law(breakaway);
            assert!(law.validate().is_empty());
            assert_relative_eq!(scaled_breakaway(&law, 0.0), 1e5 * breakaway, max_relative = 1e-14);
            for i in 0..2000 {
                let v = 1e-5 * f64::from(i);
                assert!(scaled_breakaway(&law, v) < law.lugre.level(v).0);
            }
        }
        assert_eq!(scaled_breakaway(&law(0.5e-5), 0.7), scaled_breakaway(&law(0.5e-5), 0.0));
    }

    #[test]
    fn steady_sliding_is_that_of_lugre() {
        for v in [-0.3, 1e-4, 2e-3] {
            let law = law(0.8e-5);
            assert_eq!(law.steady_effort(v), law.lugre.steady_effort(v));
            assert_eq!(law.rates(v, law.steady_state(v)), [0.0; 2]);
        }
    }

    #[test]
    fn below_breakaway_slip_is_elastic() {
        let law = law(0.7e-5);
        for (v, s) in [(1e-3, 0.5), (-2e-3, 0.69), (0.5, -0.7)] {
            assert_eq!(law.rates(v, [s, 0.0])[0], 1e5 * v);
        }
    }

    /// Mass of 1 kg under the force 0.8 + 0.4 sin 2πt (BENCHMARKS L7); positions after each of `cycles` seconds.
    fn vibrate(law: &dyn FrictionLaw, cycles: usize) -> Vec<f64> {
        let (h, per_cycle) = (1e-4, 10_000);
        let rates = |t: f64, [_, v, s]: [f64; 3]| {
            let at = law.evaluate(v, [s, 0.0]);
            [v, 0.8 + 0.4 * f64::sin(2.0 * PI * t) - at.effort, at.rate[0]]
        };
        let moved = |y: [f64; 3], k: [f64; 3], h: f64| [y[0] + h * k[0], y[1] + h * k[1], y[2] + h * k[2]];
        let mut y = [0.0, 0.0, 0.8];
        let mut positions = vec![0.0];
        for cycle in 0..cycles {
            for i in 0..per_cycle {
                let t = cycle as f64 + h * f64::from(i);
                let k1 = rates(t, y);
                let k2 = rates(t + 0.5 * h, moved(y, k1, 0.5 * h));
                let k3 = rates(t + 0.5 * h, moved(y, k2, 0.5 * h));
                let k4 = rates(t + h, moved(y, k3, h));
                for j in 0..3 {
                    y[j] += h / 6.0 * (k1[j] + 2.0 * (k2[j] + k3[j]) + k4[j]);
                }
            }
            positions.push(y[0]);
        }
        positions
    }

    #[test]
    fn vibration_below_breakaway_causes_no_drift() {
        // L7: LuGre creeps 142.683 µm in 10 s
        let lugre = vibrate(&law(1.25e-5).lugre, 10);
        assert_abs_diff_eq!(1e6 * lugre[10], 142.683, epsilon = 5e-4);
        // elasto-plastic with break-away at 1.25 N > 1.2 N: none after the first cycle but the ringing's round-off
        let elastic = vibrate(&law(1.25e-5), 10);
        assert_abs_diff_eq!(elastic[10], elastic[1], epsilon = 1e-15);
    }

    #[test]
    fn breakaway_out_of_range_is_refused() {
        for breakaway in [0.0, -1e-6, 1.5e-5] {
            let found = law(breakaway).validate();
            assert_eq!(found[0].parameter, "breakaway");
            assert!(found[0].reason.contains("0.000015"), "{}", found[0]);
        }
        assert!(law(f64::NAN).validate()[0].reason.contains("numbers must be finite"));
    }
}

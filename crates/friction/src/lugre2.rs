//! LuGre friction with a second internal state (Acho, Moreno, Guerra 2004).
//!
//! ```text
//! ż   = v − σ₀ |v| z / g(v)                                              (1)
//! ẇ   = v − (w³/α − w)                                                   (2)
//! τ_f = σ₀ z + σ₁ ż + σ₂ (v + β w)                                       (3)
//! ```
//!
//! g and σ₁ as in `lugre.rs`. With no slip w = 0 is unstable and w = ±√α are stable: σ₂βw is a force that can feed
//! energy in. Under slip the steady w is the root of w³/α − w = v on the side of v; it is the stable one.
//!
//! For |v| ≤ b the paper bounds |w| by (bα)^⅓, which is false: b = 0.01 gives 0.31 for α = 3, while w settles near
//! √3 = 1.73. The bound that holds is max(|w(0)|, largest root of w³/α − w = b): beyond it w³/α − w > b ≥ |v|, so |w|
//! falls.

use crate::{Evaluation, Finding, FrictionLaw, ImplicitStep, LuGre, State, check, sign};

/// LuGre with a second internal state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LuGre2 {
    /// The parameters it shares with LuGre, written in a scene without a level of their own.
    pub lugre: LuGre,
    /// α of (2), slip velocity squared; > 0.
    pub alpha: f64,
    /// β of (3); ≥ 0.
    pub beta: f64,
}

/// The largest root of w³/α − w = b, b ≥ 0.
fn largest_root(alpha: f64, b: f64) -> f64 {
    // w = 2√(α/3) u turns the cubic into 4u³ − 3u = c, c = (3/2) b √(3/α): cos 3θ or cosh 3θ
    let scale = (alpha / 3.0).sqrt();
    let c = 1.5 * b / scale;
    let u = if c <= 1.0 { (c.acos() / 3.0).cos() } else { (c.acosh() / 3.0).cosh() };
    2.0 * scale * u
}

/// The root of w³ + p w = q that has the sign of q: the only one for p ≥ 0, the outermost for p < 0.
fn root_of_sign(p: f64, q: f64) -> f64 {
    if p < 0.0 {
        // w³/α − w = b with α = −p, b = |q|/α
        return q.signum() * largest_root(-p, q.abs() / -p);
    }
    // w = 2√(p/3) sinh θ, sinh 3θ = (3q/2p)√(3/p); a vanishing p leaves the cube root
    let scale = (p / 3.0).sqrt();
    let sinh_3 = q / (2.0 * scale * scale * scale);
    if sinh_3.is_finite() { 2.0 * scale * (sinh_3.asinh() / 3.0).sinh() } else { q.cbrt() }
}

impl LuGre2 {
    /// A bound on |w| for ever, for slip speeds up to `speed` and a start at `w`: the one that holds (see above).
    pub fn bound(&self, speed: f64, w: f64) -> f64 {
        w.abs().max(largest_root(self.alpha, speed))
    }

    /// Adds w at the end of an implicit step, and its effort, to the step of the bristle.
    pub(crate) fn step_second(&self, h: f64, v: f64, state: State, step: &mut ImplicitStep) {
        // (2): w₁³ h/α + (1 − h) w₁ = w₀ + h v, one root while h < 1
        let w1 = root_of_sign((1.0 - h) * self.alpha / h, (state[1] + h * v) * self.alpha / h);
        let dw1 = h / (1.0 - h + 3.0 * h * w1 * w1 / self.alpha);
        // (3)
        let sigma2_beta = self.lugre.sigma2 * self.beta;
        step.state[1] = w1;
        step.effort += sigma2_beta * w1;
        step.effort_v += sigma2_beta * dw1;
    }
}

impl FrictionLaw for LuGre2 {
    fn n_states(&self) -> usize {
        2
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = self.lugre.validate();
        check::positive(&mut found, "alpha", self.alpha);
        check::not_negative(&mut found, "beta", self.beta);
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        self.lugre.warnings()
    }

    fn evaluate(&self, v: f64, [s, w]: State) -> Evaluation {
        // (1) and LuGre's part of (3)
        let mut at = self.lugre.evaluate(v, [s, w]);
        // (3): the part of w
        let sigma2_beta = self.lugre.sigma2 * self.beta;
        at.effort += sigma2_beta * w;
        at.effort_state[1] = sigma2_beta;
        // (2)
        at.rate[1] = v - (w * w * w / self.alpha - w);
        at.rate_v[1] = 1.0;
        at.rate_state[1][1] = 1.0 - 3.0 * w * w / self.alpha;
        at
    }

    fn steady_state(&self, v: f64) -> State {
        [self.lugre.steady_state(v)[0], sign(v) * largest_root(self.alpha, v.abs())]
    }

    fn time_constant(&self, v: f64) -> f64 {
        self.lugre.time_constant(v)
    }

    fn stored_energy(&self, state: State) -> f64 {
        self.lugre.stored_energy(state)
    }

    fn dissipated_power(&self, v: f64, [s, w]: State) -> f64 {
        self.lugre.dissipated_power(v, [s, w]) + self.lugre.sigma2 * self.beta * w * v
    }

    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        let mut step = self.lugre.implicit_step(h, v, v_level, state);
        self.step_second(h, v, state, &mut step);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    fn classic() -> LuGre2 {
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
        LuGre2 { lugre, alpha: 3.0, beta: 1.0 }
    }

    #[test]
    fn roots_of_the_cubic_are_roots() {
        for alpha in [0.01, 1.0, 3.0, 250.0] {
            for b in [0.0, 1e-9, 0.01, 0.3, 0.9, 1.0, 4.0, 1e6] {
                let w = largest_root(alpha, b);
                assert_relative_eq!(w * w * w / alpha - w, b, max_relative = 1e-12, epsilon = 1e-13 * w);
                assert!(3.0 * w * w / alpha > 1.0, "w = {w} is not the stable root");
            }
        }
        for p in [0.0, 1e-12, 1.0, 3000.0, -2.0] {
            for q in [-5.0, -1e-8, 1e-3, 7.0] {
                let w: f64 = root_of_sign(p, q);
                // rounding of the two terms, not of their difference
                assert_abs_diff_eq!(
                    w * w * w + p * w,
                    q,
                    epsilon = 1e-14 * (q.abs() + (p * w).abs() + w.abs().powi(3))
                );
                assert!(w * q > 0.0);
            }
        }
    }

    /// Integrates (2) with slip of speed at most b that always pushes w outwards; returns the largest |w| seen.
    fn largest_w(law: &LuGre2, b: f64, mut w: f64) -> f64 {
        let h = 1e-3;
        let mut largest = w.abs();
        for _ in 0..60_000 {
            let v = b * if w < 0.0 { -1.0 } else { 1.0 };
            let rate = |w: f64| law.rates(v, [0.0, w])[1];
            let k1 = rate(w);
            let k2 = rate(w + 0.5 * h * k1);
            let k3 = rate(w + 0.5 * h * k2);
            let k4 = rate(w + h * k3);
            w += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
            largest = largest.max(w.abs());
        }
        largest
    }

    #[test]
    fn printed_bound_on_w_fails_and_the_true_one_holds() {
        let law = classic();
        let b = 0.01;
        let printed = (b * law.alpha).cbrt();
        let largest = largest_w(&law, b, 0.0);
        assert_abs_diff_eq!(printed, 0.3107, epsilon = 1e-4);
        assert!(largest > 5.0 * printed, "w reached only {largest}");
        assert!(largest <= law.bound(b, 0.0) + 1e-12);
        // and it is sharp: held at full speed, w arrives there
        assert_relative_eq!(largest, law.bound(b, 0.0), max_relative = 1e-9);
        // from outside it never grows
        assert_eq!(largest_w(&law, b, -2.5), law.bound(b, -2.5));
    }

    #[test]
    fn steady_state_is_steady_and_stable() {
        let law = classic();
        for v in [-2.0, -1e-3, 1e-6, 0.1, 0.7, 30.0] {
            let at = law.evaluate(v, law.steady_state(v));
            assert_eq!(at.rate[0], 0.0);
            assert_abs_diff_eq!(at.rate[1], 0.0, epsilon = 1e-12 * (1.0 + v.abs()));
            assert!(at.rate_state[1][1] < 0.0);
        }
        assert_eq!(law.steady_state(0.0), [0.0; 2]);
    }

    #[test]
    fn without_w_it_is_lugre() {
        let law = classic();
        for (v, s) in [(0.002, 0.3), (-0.01, 1.4)] {
            assert_eq!(law.effort(v, [s, 0.0]), law.lugre.effort(v, [s, 0.0]));
            assert_relative_eq!(law.effort(v, [s, 0.5]) - law.effort(v, [s, 0.0]), 0.2, max_relative = 1e-12);
        }
    }

    #[test]
    fn effort_matches_points_of_the_stick_slip_reference() {
        // (v, z, w, force) at t = 0.01, 3, 6, 9, 12, 15 s of reference/P4_lugre2_stick_slip.csv
        for (v, z, w, force) in [
            (2.2854202661289843e-06, 1.2175308879040642e-08, 1.2218946423688991e-08, 0.0019405766705214383),
            (3.3304409227247243e-06, 5.993328857853361e-06, 4.3416990227897556e-05, 0.599983958330976),
            (9.945006083830693e-06, 1.1989283827081651e-05, 0.0009543653969123639, 1.1999452481559567),
            (0.23954721115351893, 1.0000000000000033e-05, 0.7225956023755412, 1.3848571254113728),
            (4.333340524110134e-06, 8.299385012400994e-06, 1.7240245836138404, 1.5201621968832568),
            (4.111847253242547e-05, 1.4265200802710116e-05, 1.7320417484069053, 2.1199832231604425),
        ] {
            // σ₁ż cancels to 1e-9 of its terms in sliding
            assert_relative_eq!(classic().effort(v, [1e5 * z, w]), force, max_relative = 1e-11);
        }
    }

    #[test]
    fn parameters_are_checked_by_name() {
        assert_eq!(LuGre2 { alpha: 0.0, ..classic() }.validate()[0].parameter, "alpha");
        assert_eq!(LuGre2 { beta: -1.0, ..classic() }.validate()[0].parameter, "beta");
        assert!(classic().validate().is_empty());
        assert_eq!(classic().warnings()[0].parameter, "sigma1");
    }
}

//! One bristle over one backward Euler step, its levels known: effort as a function of the slip velocity at the end of the step.
//!
//! ```text
//! s₁(v)  = (s_in + k v)/(1 + k|v|/g) + s_out,        k = h σ₀                                  (1)
//! τ(v)   = s₁ + p (s₁ − s₀) + σ₂ v,                  p = σ₁/k                                  (2)
//! ```
//!
//! ṡ = σ₀ (v − |v| s/g) is linear in s. What of s₀ lies within ±g is implicit in v; what lies beyond only decays, and a fall with v would
//! spoil the step of a whole machine: it decays at the speed at the start, s_out = e/(1 + k|v₀|/g).
//!
//! Seen from a bristle of lever r and load c, the rest of a machine is a falling line, ω = y − D c τ(r ω). With u = |ω|, δ its sign, a = 1 + D c r σ₂ and
//! b = D c (1 + p) it meets (2) where
//!
//! ```text
//! a κ u² + B u − E = 0,    κ = k r/g,    E = δ (y − y₀) ≥ 0,    B = a + b k r (1 − δ s_in/g) − κ E       (3)
//! ```
//!
//! y₀ = D c τ(0) deciding the sign: one root that is not negative.

#![expect(non_snake_case, reason = "symbols follow the equations above")]

use crate::{ImplicitStep, sign};

/// What the module says, for one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BristleStep {
    /// k = h σ₀, and k/g.
    k: f64,
    k_g: f64,
    /// s₀; what of it is within ±g, the same by g, and what is left beyond after the step.
    start: f64,
    within: f64,
    share: f64,
    beyond: f64,
    /// p and σ₂.
    p: f64,
    sigma2: f64,
}

impl BristleStep {
    /// From deflection `s`, of a bristle with k = h σ₀, level `g` at the slip velocity `v_level` of the start, damping σ₁ and σ₂.
    pub(crate) fn new(k: f64, v_level: f64, g: f64, s: f64, sigma1: f64, sigma2: f64) -> Self {
        // not `clamp`, which would not take a level that is no number
        let within = s.max(-g).min(g);
        let k_g = k / g;
        let beyond = (s - within) / (1.0 + k_g * v_level.abs());
        // as h → 0 the quotient of (2) is σ₁ v
        Self { k, k_g, start: s, within, share: within / g, beyond, p: sigma1 / k, sigma2 }
    }

    /// Deflection (1) at slip velocity `v`, and its slope, never negative.
    #[inline]
    pub fn deflection(&self, v: f64) -> (f64, f64) {
        let decay = 1.0 / (1.0 + self.k_g * v.abs());
        // the slope in the form that cannot round below zero
        let slope = self.k * (1.0 - sign(v) * self.share) * (decay * decay);
        ((self.within + self.k * v) * decay + self.beyond, slope)
    }

    /// Effort (2) and its slope.
    #[inline]
    pub fn effort(&self, v: f64) -> (f64, f64) {
        let (s1, ds1) = self.deflection(v);
        (s1 + self.p * (s1 - self.start) + self.sigma2 * v, ds1 + self.p * ds1 + self.sigma2)
    }

    /// Size of the terms of τ, which cancel where a bristle is let go: what its rounding goes with.
    #[inline]
    pub fn size(&self) -> f64 {
        (1.0 + self.p) * (self.within + self.beyond).abs() + self.p * self.start.abs()
    }

    /// The end of the step, a second state `w` left alone.
    pub(crate) fn end(&self, v: f64, w: f64) -> ImplicitStep {
        let (effort, effort_v) = self.effort(v);
        ImplicitStep { state: [self.deflection(v).0, w], effort, effort_v }
    }

    /// (3): ω with ω + `dc` · τ(`arm` · ω) = `y`, for D c ≥ 0 and `arm` > 0.
    #[inline]
    pub fn meet(&self, y: f64, dc: f64, arm: f64) -> f64 {
        let Self { k, k_g, start, within, share, beyond, p, sigma2 } = *self;
        let s1 = within + beyond;
        let from_rest = y - dc * (s1 + p * (s1 - start));
        let (direction, E) = (sign(from_rest), from_rest.abs());
        let a = 1.0 + dc * arm * sigma2;
        let kappa = k_g * arm;
        let B = a + dc * (1.0 + p) * k * arm * (1.0 - direction * share) - kappa * E;
        let root = (B * B + 4.0 * a * kappa * E).sqrt();
        // no difference of numbers that are nearly the same
        let u = if B > 0.0 { 2.0 * E / (B + root) } else { (root - B) / (2.0 * a * kappa) };
        direction * u
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_where_bristle_and_machine_meet() {
        for (k, v0, g, s, sigma1, sigma2) in [
            (100.0, 0.0, 1.5, 0.0, 316.0, 0.4),
            (100.0, 0.7, 1.0, 1.4, 316.0, 0.0),
            (1e-2, -1e-4, 1.2, -0.9, 0.0, 0.1),
            (1e4, 1.9, 0.5, -0.5, 50.0, 2.0),
        ] {
            let bristle = BristleStep::new(k, v0, g, s, sigma1, sigma2);
            for dc in [0.0, 1e-9, 1e-3, 1.0, 1e4] {
                for arm in [0.02, 1.0] {
                    let mut before = f64::NEG_INFINITY;
                    for i in -60..=60 {
                        let y = 10.0 * (f64::from(i) / 60.0).powi(7);
                        let omega = bristle.meet(y, dc, arm);
                        let (effort, slope) = bristle.effort(arm * omega);
                        let size =
                            y.abs() + omega.abs() + dc * (bristle.size() + effort.abs() + slope * arm * omega.abs());
                        assert!(
                            (omega + dc * effort - y).abs() <= 8.0 * f64::EPSILON * size,
                            "{bristle:?} {dc} {arm} {y}: {omega}"
                        );
                        assert!(omega >= before, "{bristle:?} falls at {y}");
                        before = omega;
                    }
                }
            }
        }
    }
}

//! One bristle over one backward Euler step, its levels known: effort as a function of the slip velocity at the end
//! of the step.
//!
//! ```text
//! s₁(v)  = (s_in + k v)/(1 + k|v|/g) + s_out,        k = h σ₀                                  (1)
//! τ(v)   = s₁ + p (s₁ − s₀) + σ₂ v,                  p = σ₁/k                                  (2)
//! ```
//!
//! ṡ = σ₀ (v − |v| s/g) is linear in s. The part of s₀ within ±g is implicit in v; the part beyond only decays, and
//! a fall with v would spoil the step of a whole machine: it decays at the speed at the start, s_out = e/(1 +
//! k|v₀|/g).

use crate::{ImplicitStep, sign};

/// The equations of the module for one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BristleStep {
    /// k = h σ₀, and k/g.
    k: f64,
    k_g: f64,
    /// s₀; its part within ±g, the same by g, and the rest beyond after the step.
    start: f64,
    within: f64,
    share: f64,
    beyond: f64,
    /// p and σ₂.
    p: f64,
    sigma2: f64,
}

impl BristleStep {
    /// From deflection `s`, of a bristle with k = h σ₀, level `g` at the slip velocity `v_level` of the start,
    /// damping σ₁ and σ₂.
    pub(crate) fn new(k: f64, v_level: f64, g: f64, s: f64, sigma1: f64, sigma2: f64) -> Self {
        Self::towards(false, k, v_level, [g; 2], s, sigma1, sigma2)
    }

    /// The same for slip in one direction, where the level is up forward and down backward.
    pub(crate) fn towards(
        is_backward: bool,
        k: f64,
        v_level: f64,
        [up, down]: [f64; 2],
        s: f64,
        sigma1: f64,
        sigma2: f64,
    ) -> Self {
        let g = if is_backward { down } else { up };
        let (within, beyond) = within(k, v_level, [up, down], s);
        // as h → 0 the quotient of (2) is σ₁ v
        Self { k, k_g: k / g, start: s, within, share: within / g, beyond, p: sigma1 / k, sigma2 }
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

    /// Size of the terms of τ, which cancel where a bristle is released: the scale of its rounding.
    #[inline]
    pub fn size(&self) -> f64 {
        (1.0 + self.p) * (self.within + self.beyond).abs() + self.p * self.start.abs()
    }

    /// k, k/g, s₀, s_in, s_in/g, s_out, p and σ₂ of the module's equations: for evaluations of many bristles at
    /// once.
    #[inline]
    pub fn coefficients(&self) -> [f64; 8] {
        let Self { k, k_g, start, within, share, beyond, p, sigma2 } = *self;
        [k, k_g, start, within, share, beyond, p, sigma2]
    }

    /// The end of the step, a second state `w` left alone.
    pub(crate) fn end(&self, v: f64, w: f64) -> ImplicitStep {
        let (effort, effort_v) = self.effort(v);
        ImplicitStep { state: [self.deflection(v).0, w], effort, effort_v }
    }
}

/// The part of deflection `s` within the levels, and what is left of the rest after a step from `v_level`.
pub(crate) fn within(k: f64, v_level: f64, [up, down]: [f64; 2], s: f64) -> (f64, f64) {
    // not `clamp`, which would not take a level that is no number
    let within = s.max(-down).min(up);
    let g = if v_level < 0.0 { down } else { up };
    (within, (s - within) / (1.0 + k / g * v_level.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step of a whole machine has one solution because of this.
    #[test]
    fn effort_never_falls_and_has_the_slope_it_says() {
        for (k, v0, g, s, sigma1, sigma2) in [
            (100.0, 0.0, 1.5, 0.0, 316.0, 0.4),
            (100.0, 0.7, 1.0, 1.4, 316.0, 0.0),
            (1e-2, -1e-4, 1.2, -0.9, 0.0, 0.1),
            (1e4, 1.9, 0.5, -0.5, 50.0, 2.0),
        ] {
            let bristle = BristleStep::new(k, v0, g, s, sigma1, sigma2);
            let mut before = f64::NEG_INFINITY;
            for i in -60..=60 {
                let v = 10.0 * (f64::from(i) / 60.0).powi(7);
                let (effort, slope) = bristle.effort(v);
                assert!(effort >= before - 8.0 * f64::EPSILON * bristle.size(), "{bristle:?} falls at {v}");
                before = effort;
                // away from the kink at rest
                if i == 0 {
                    continue;
                }
                let dv = 1e-5 * v.abs();
                let rise = (bristle.effort(v + dv).0 - bristle.effort(v - dv).0) / (2.0 * dv);
                let rounding = f64::EPSILON * (bristle.size() + effort.abs()) / dv;
                assert!((rise - slope).abs() <= 1e-6 * slope + 8.0 * rounding, "{bristle:?} at {v}: {rise} {slope}");
            }
        }
    }
}

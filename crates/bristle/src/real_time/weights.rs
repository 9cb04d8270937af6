//! Where springs, dampers and drives act within a step.
//!
//! ```text
//! spring     −K (q₀ + h (α v₀ + β v₁))          α = ¼ (1 + s),  β = ¼ (1 + 3 s),  s = k/(k + 4),  k = h² K/m    (1)
//! damper     −d ((1 − θ) v₀ + θ v₁)             θ = ½ + ½ z/(z + 6),  z = h d/m                                (2)
//! integral   i₀ + η h (target − q of (1))       η = ½ (1 + s)                                                  (3)
//! ```
//!
//! With s = 0, (1) is the force at the mean of q₀ and q₁: of order two, and a free oscillation keeps its energy. For
//! s > 0 it is that force and the damper h s K at ¼ v₀ + ¾ v₁; with s = O(h²) the order stays, and an oscillation of
//! ω rad/s loses 1 − e^(−h³ ω⁴/8) of its amplitude each second. A spring that the step does not resolve has s → 1: its
//! oscillation is gone in a few steps. In (2) a damped joint has v₁/v₀ = (6 − 2 z)/(z² + 4 z + 6), the stability
//! function of Radau IIA: order two and more, and 0 for large z.
//!
//! **Stability.** With constant m the energy
//!
//! ```text
//! T + V(q) + Σ ⅛ h² s K v² + Σ ½ h (θ − ½) d v²                                                                (4)
//! ```
//!
//! never grows, for any h, K ≥ 0, d ≥ 0 and any mixture of them, whatever m the weights are made of: in a step it
//! loses h s K h v̄² + h d v̄², v̄ = ½ (v₀ + v₁). So m may be an estimate. It is M_kk at the middle of the step,
//! armature included; between two joints a and b it is M_aa M_bb/(M_aa + M_bb).

use bristle_multibody::spatial::{Mask, Scalar};

/// Where a force acts in a step of length h. See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weights<S: Scalar = f64> {
    pub alpha: S,
    pub beta: S,
    pub theta: S,
    pub eta: S,
}

impl Default for Weights {
    fn default() -> Self {
        Self::END
    }
}

impl Weights {
    /// Everything at the end of the step: order one.
    pub const END: Self = Self { alpha: 0.0, beta: 1.0, theta: 1.0, eta: 1.0 };
}

impl<S: Scalar> Weights<S> {
    /// Of a force with stiffness K ≥ 0 and damping d ≥ 0 on the inertia m.
    #[inline(always)]
    pub fn new(h: S, stiffness: S, damping: S, m: S) -> Self {
        // without inertia s = θ = 1, without a force s = 0
        let part = |x: S, y: S| (x / (x + y)).or_else(S::ZERO.is_below(x), S::ZERO);
        let (one, half, quarter) = (S::splat(1.0), S::splat(0.5), S::splat(0.25));
        let s = part(h * h * stiffness, S::splat(4.0) * m);
        let theta = half + half * part(h * damping, S::splat(6.0) * m);
        Self { alpha: quarter + quarter * s, beta: quarter + S::splat(0.75) * s, theta, eta: half * (one + s) }
    }

    /// Those of one lane.
    pub fn lane(&self, k: usize) -> Weights {
        let Self { alpha, beta, theta, eta } = self;
        Weights { alpha: alpha.lane(k), beta: beta.lane(k), theta: theta.lane(k), eta: eta.lane(k) }
    }

    /// Sets those of one lane.
    pub fn set_lane(&mut self, k: usize, of: Weights) {
        let is_lane = S::Mask::from_lanes(|lane| lane == k);
        let put = |to: &mut S, x: f64| *to = S::splat(x).or_else(is_lane, *to);
        put(&mut self.alpha, of.alpha);
        put(&mut self.beta, of.beta);
        put(&mut self.theta, of.theta);
        put(&mut self.eta, of.eta);
    }

    /// The position of (1) for h v₀ and h v₁.
    #[inline(always)]
    pub fn position(&self, q0: S, h_v0: S, h_v1: S) -> S {
        q0 + self.alpha * h_v0 + self.beta * h_v1
    }

    /// The velocity of (2).
    #[inline(always)]
    pub fn velocity(&self, v0: S, v1: S) -> S {
        v0 + self.theta * (v1 - v0)
    }
}

//! Coefficients of generalized-α for the spectral radius ρ at infinite frequency.
//!
//! ```text
//!     α_f = ρ/(1+ρ)          γ = ½ + α_f − α_m          β = ¼(½+γ)²
//!     α_m = (2ρ−1)/(1+ρ)                second order (Chung & Hulbert 1993)
//!     α_m = (3ρ−1)/(2(1+ρ))             first order (Jansen, Whiting & Hulbert 2000)
//!     (1−α_m) b₁ + α_m b₀ = (1−α_f) a₁ + α_f a₀
//! ```

/// Coefficients of one kind of rate, a or ż. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coefficients {
    pub alpha_m: f64,
    pub alpha_f: f64,
    pub beta: f64,
    pub gamma: f64,
}

impl Coefficients {
    fn new(alpha_m: f64, alpha_f: f64) -> Self {
        let gamma = 0.5 + alpha_f - alpha_m;
        Coefficients { alpha_m, alpha_f, beta: 0.25 * (0.5 + gamma) * (0.5 + gamma), gamma }
    }

    /// For a: Chung & Hulbert.
    pub fn second_order(rho: f64) -> Self {
        Self::new((2.0 * rho - 1.0) / (1.0 + rho), rho / (1.0 + rho))
    }

    /// For ż: Jansen, Whiting & Hulbert.
    pub fn first_order(rho: f64) -> Self {
        Self::new((3.0 * rho - 1.0) / (2.0 * (1.0 + rho)), rho / (1.0 + rho))
    }

    /// ∂a₁/∂b₁.
    pub fn mu(&self) -> f64 {
        (1.0 - self.alpha_m) / (1.0 - self.alpha_f)
    }

    /// a₁ from b₁, b₀, a₀.
    pub fn rate(&self, b1: f64, b0: f64, a0: f64) -> f64 {
        ((1.0 - self.alpha_m) * b1 + self.alpha_m * b0 - self.alpha_f * a0) / (1.0 - self.alpha_f)
    }

    /// b₁ from a₁, b₀, a₀.
    pub fn auxiliary(&self, a1: f64, b0: f64, a0: f64) -> f64 {
        ((1.0 - self.alpha_f) * a1 + self.alpha_f * a0 - self.alpha_m * b0) / (1.0 - self.alpha_m)
    }
}

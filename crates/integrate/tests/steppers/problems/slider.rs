//! A mass pulled through a spring over LuGre friction (Do, Ferri & Bauchau 2007), in their scaled states
//! y₁ = KX/F_c, y₂ = V/V_s, y₃ = σ₀Z/F_c and time τ = ω_n t.
//!
//! ```text
//!     y₁' = α y₂,   y₂' = (u − y₁ − f)/α,   ε y₃' = α d,   u = 0.1 K τ/(ω_n F_c)
//!     d = y₂ − |y₂| y₃/g,   f = y₃ + s₁ d + s₂ y₂,   g = 1 + γ exp(−y₂²)
//! ```
//!
//! The kink at y₂ = 0 is an event: between events the sign is frozen.

use super::Problem;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{Direction, EvalError, FiredEvent, Restart, StepRules, System};

/// The slider. See the [module](self).
#[derive(Clone, Debug)]
pub struct Slider {
    /// Sign that stands for that of y₂; `None` without events: the true sign.
    pub sign: Option<f64>,
    /// Located kinks.
    pub n_kinks: usize,
    /// Offer the analytic Jacobian?
    pub analytic: bool,
    /// The prescribed step from |V|/V_s and T_c.
    pub rule: fn(f64, f64) -> f64,
}

impl Slider {
    /// K V_s/(ω_n F_c) with K = 2, M = 1, V_s = 10⁻³, F_c = 1.
    pub const ALPHA: f64 = 1e-3 * std::f64::consts::SQRT_2;
    pub const GAMMA: f64 = 0.5;
    /// K/σ₀.
    pub const EPSILON: f64 = 2e-5;
    /// σ₁V_s/F_c, σ₁ = √1e5.
    pub const S1: f64 = 0.31622776601683794;
    pub const S2: f64 = 4e-4;
    /// u' = 0.1 K/(ω_n F_c).
    pub const PULL: f64 = 0.1 * std::f64::consts::SQRT_2;
    /// √2 · 20 s.
    pub const TAU_END: f64 = 20.0 * std::f64::consts::SQRT_2;

    /// Kinks located.
    pub fn with_event() -> Self {
        Slider { sign: Some(1.0), n_kinks: 0, analytic: true, rule: |_, _| f64::INFINITY }
    }

    /// Kinks stepped over.
    pub fn without_event() -> Self {
        Slider { sign: None, n_kinks: 0, analytic: true, rule: |_, _| f64::INFINITY }
    }

    fn speed(&self, y2: f64) -> (f64, f64) {
        let sign = self.sign.unwrap_or(if y2 == 0.0 { 0.0 } else { y2.signum() });
        (sign, sign * y2)
    }

    /// Friction force over F_c, which is 1 N.
    pub fn friction(&self, y: &[f64]) -> f64 {
        let g = 1.0 + Self::GAMMA * (-y[1] * y[1]).exp();
        let d = y[1] - y[1].abs() * y[2] / g;
        y[2] + Self::S1 * d + Self::S2 * y[1]
    }
}

impl System for Slider {
    fn dim(&self) -> usize {
        3
    }

    fn rhs(&mut self, tau: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let (_, speed) = self.speed(y[1]);
        let g = 1.0 + Self::GAMMA * (-y[1] * y[1]).exp();
        let d = y[1] - speed * y[2] / g;
        let f = y[2] + Self::S1 * d + Self::S2 * y[1];
        dy[0] = Self::ALPHA * y[1];
        dy[1] = (Self::PULL * tau - y[0] - f) / Self::ALPHA;
        dy[2] = Self::ALPHA / Self::EPSILON * d;
        Ok(())
    }

    fn jacobian(&mut self, _tau: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        let (sign, speed) = self.speed(y[1]);
        let bump = Self::GAMMA * (-y[1] * y[1]).exp();
        let g = 1.0 + bump;
        // g' = −2 y₂ (g − 1)
        let d_2 = 1.0 - sign * y[2] / g - speed * y[2] * 2.0 * y[1] * bump / (g * g);
        let d_3 = -speed / g;
        let (a, e) = (Self::ALPHA, Self::ALPHA / Self::EPSILON);
        #[rustfmt::skip]
        jac.as_mut_slice().copy_from_slice(&[
                 0.0,                             a,                            0.0,
            -1.0 / a, -(Self::S1 * d_2 + Self::S2) / a, -(1.0 + Self::S1 * d_3) / a,
                 0.0,                       e * d_2,                        e * d_3,
        ]);
        Ok(self.analytic)
    }

    fn n_events(&self) -> usize {
        usize::from(self.sign.is_some())
    }

    fn events(&mut self, _tau: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[1];
        Ok(())
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Any
    }

    fn switch(
        &mut self,
        _t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        for fired in fired {
            if let FiredEvent::Root { rising, .. } = fired {
                self.sign = Some(if *rising { 1.0 } else { -1.0 });
                self.n_kinks += 1;
            }
        }
        Ok(Restart::fresh(3))
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }
}

impl StepRules for Slider {
    fn prescribed_step(&mut self, _tau: f64, y: &[f64]) -> f64 {
        let g = 1.0 + Self::GAMMA * (-y[1] * y[1]).exp();
        let speed = y[1].abs();
        // T_c = ε g/(α |y₂|), in units of 1/ω_n
        (self.rule)(speed, Self::EPSILON * g / (Self::ALPHA * speed))
    }
}

impl Problem for Slider {
    const NAME: &'static str = "LuGre slider";

    // at rest: the pull sets it in motion forwards, so the sign starts at +1
    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![0.0; 3])
    }

    fn t_end(&self) -> f64 {
        Self::TAU_END
    }

    // L5 of the LuGre cases: X(20 s) = 1.2725964123237923 m, two codes agreeing to 7e-11
    fn reference(&self) -> Vec<f64> {
        vec![2.0 * 1.2725964123237923]
    }
}

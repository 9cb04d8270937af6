//! A step by its ends and the rates there: cubic Hermite interpolant, trapezoidal rule for the quadratures.
//!
//! ```text
//!     y(t + θh) = y₀ + θ (Δ + η (η (hẏ₀ − Δ) − θ (hẏ₁ − Δ))),     Δ = y₁ − y₀,   η = 1 − θ
//!     Q(t + θh) = Q₀ + hθ (r₀ + ½θ (r₁ − r₀))
//! ```
//!
//! The interpolant has order 4 (Hairer, Nørsett & Wanner, *Solving ODEs I*, eq. II.6.7).

use crate::linear::Lu;
use crate::newton::Linearised;
use crate::{Failure, Stats, Step, System};

/// The cubic on [0, 1] from 0 to `rise` with slopes `d0` and `d1` at the ends.
pub(crate) fn hermite(theta: f64, rise: f64, d0: f64, d1: f64) -> f64 {
    let eta = 1.0 - theta;
    theta * (rise + eta * (eta * (d0 - rise) - theta * (d1 - rise)))
}

/// Ends of a step. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct HermiteInterpolant {
    pub n: usize,
    pub t: f64,
    pub h: f64,
    pub y0: Vec<f64>,
    pub y1: Vec<f64>,
    pub dy0: Vec<f64>,
    pub dy1: Vec<f64>,
    /// `dy0` belongs to the point where the next step starts.
    has_rates: bool,
    /// Rates of the quadratures; `n_quad` each.
    quad0: Vec<f64>,
    quad1: Vec<f64>,
}

crate::archive::archived!(HermiteInterpolant { n, t, h, y0, y1, dy0, dy1, has_rates, quad0, quad1 };
    fits |it| it.n <= it.y0.len());

impl HermiteInterpolant {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let (zeros, rates) = (|| vec![0.0; n_max], || vec![0.0; n_quad]);
        HermiteInterpolant {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            dy0: zeros(),
            dy1: zeros(),
            has_rates: false,
            quad0: rates(),
            quad1: rates(),
        }
    }

    /// Sets the active dimension; the rates are unknown.
    pub fn restart(&mut self, n: usize) {
        (self.n, self.has_rates) = (n, false);
    }

    /// Begins a step. Where the rates at its start are unknown they are solved for, which overwrites J and M; returns
    /// whether they were.
    pub fn begin<S: System>(
        &mut self,
        system: &mut S,
        step: Step<'_>,
        linear: &mut Linearised,
        lu: &mut Lu,
        stats: &mut Stats,
    ) -> Result<bool, Failure> {
        let (n, Step { t, h, y, .. }) = (self.n, step);
        (self.t, self.h) = (t, h);
        self.y0[..n].copy_from_slice(y);
        if self.has_rates {
            return Ok(false);
        }
        linear.initial_rates(system, t, y, &mut self.dy0[..n], lu, stats)?;
        if !self.quad0.is_empty() {
            stats.n_quadrature += 1;
            system.quadratures(t, y, &self.dy0[..n], &mut self.quad0)?;
        }
        self.has_rates = true;
        Ok(true)
    }

    /// Rates of the quadratures at the end of the step.
    pub fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        if !self.quad1.is_empty() {
            let n = self.n;
            stats.n_quadrature += 1;
            system.quadratures(self.t + self.h, &self.y1[..n], &self.dy1[..n], &mut self.quad1)?;
        }
        Ok(())
    }

    /// y₁.
    pub fn end(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    /// y at t + θh.
    pub fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            let rise = self.y1[i] - self.y0[i];
            *y = self.y0[i] + hermite(theta, rise, self.h * self.dy0[i], self.h * self.dy1[i]);
        }
    }

    /// Q(t + θh) − Q₀.
    pub fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        for (i, quad) in quad.iter_mut().enumerate() {
            let (r0, r1) = (self.quad0[i], self.quad1[i]);
            *quad = self.h * theta * (r0 + 0.5 * theta * (r1 - r0));
        }
    }

    /// The end of the step is the start of the next.
    pub fn shift(&mut self) {
        std::mem::swap(&mut self.dy0, &mut self.dy1);
        std::mem::swap(&mut self.quad0, &mut self.quad1);
        self.has_rates = true;
    }
}

/// The part of [`Stepper`](crate::Stepper) that an interpolant in this field provides.
macro_rules! interpolated_by {
    ($field:ident) => {
        fn y_new(&self) -> &[f64] {
            self.$field.end()
        }

        fn interpolate(&self, theta: f64, y: &mut [f64]) {
            self.$field.interpolate(theta, y);
        }

        fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
            self.$field.interpolate_quadratures(theta, quad);
        }
    };
}
pub(crate) use interpolated_by;

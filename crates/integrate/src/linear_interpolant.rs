//! A step as a straight line, for the methods of order one.
//!
//! ```text
//!     y(t + θh) = y₀ + θ (y₁ − y₀),     Q(t + θh) = Q₀ + θ ΔQ
//! ```

use crate::{Failure, Stats, System};

/// Ends of a step, and the rise of the quadratures over it. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct LinearInterpolant {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    pub y1: Vec<f64>,
    /// ΔQ.
    pub quad: Vec<f64>,
}

crate::archive::archived!(LinearInterpolant { n, t, h, y0, y1, quad }; fits |it| it.n <= it.y0.len());

impl LinearInterpolant {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        LinearInterpolant {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: vec![0.0; n_max],
            y1: vec![0.0; n_max],
            quad: vec![0.0; n_quad],
        }
    }

    /// The active dimension.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Sets the active dimension.
    pub fn restart(&mut self, n: usize) {
        self.n = n;
    }

    /// A step begins.
    pub fn begin(&mut self, t: f64, h: f64, y: &[f64]) {
        (self.t, self.h) = (t, h);
        self.y0[..self.n].copy_from_slice(y);
    }

    /// y₁.
    pub fn end(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    /// ΔQ by the rates at the end of the step, as implicit methods have it; `slope` is scratch.
    pub fn integrate_from_end<S: System>(
        &mut self,
        system: &mut S,
        slope: &mut [f64],
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        if self.quad.is_empty() {
            return Ok(());
        }
        for (slope, (y1, y0)) in slope.iter_mut().zip(self.y1.iter().zip(&self.y0)) {
            *slope = (y1 - y0) / self.h;
        }
        stats.n_quadrature += 1;
        system.quadratures(self.t + self.h, &self.y1[..self.n], &slope[..self.n], &mut self.quad)?;
        self.quad.iter_mut().for_each(|rate| *rate *= self.h);
        Ok(())
    }

    /// y at t + θh.
    pub fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (y, (y0, y1)) in y.iter_mut().zip(self.y0.iter().zip(&self.y1)) {
            *y = y0 + theta * (y1 - y0);
        }
    }

    /// Q(t + θh) − Q₀.
    pub fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        quad.iter_mut().zip(&self.quad).for_each(|(out, rise)| *out = theta * rise);
    }
}

/// The part of [`Stepper`](crate::Stepper) that every method with a [`LinearInterpolant`] in its field `interpolant`
/// has.
macro_rules! order_one {
    () => {
        fn order(&self) -> usize {
            1
        }

        crate::hermite::interpolated_by!(interpolant);
    };
}
pub(crate) use order_one;

//! The classical Runge–Kutta method of order four (Kutta 1901; Hairer, Nørsett & Wanner, *Solving ODEs I*, table
//! II.1.2).
//!
//! ```text
//!     k₁ = f(t, y)          k₂ = f(t + h/2, y + h/2 k₁)
//!     k₃ = f(t + h/2, y + h/2 k₂)      k₄ = f(t + h, y + h k₃)
//!     y₁ = y + h/6 (k₁ + 2k₂ + 2k₃ + k₄)
//! ```
//!
//! Fixed step, no error estimate, stable for hλ in (−2.785, 0) and ±2.83i. The interpolant is the cubic Hermite
//! polynomial through both ends; its fourth order matches the method, and the derivative it needs at the end is the
//! next k₁. Choose it to reproduce published fixed-step runs; [`crate::Dopri5`] costs less at any accuracy.

use crate::hermite::hermite;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// Classical Runge–Kutta, order 4. See the [module](self).
#[derive(Clone, Debug)]
pub struct Rk4 {
    n: usize,
    h: f64,
    t: f64,
    /// k₁ belongs to the point the next step starts from.
    fresh: bool,
    y0: Vec<f64>,
    y1: Vec<f64>,
    stage: Vec<f64>,
    /// k₁ … k₄ and f(t₁, y₁); `n` each.
    k: [Vec<f64>; 5],
    /// The same for the quadratures.
    r: [Vec<f64>; 5],
}

crate::archive::archived!(Rk4 { n, h, t, fresh, y0, y1, stage, k, r }; fits |it| it.n <= it.y0.len());

impl Rk4 {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Rk4 {
            n: n_max,
            h: 0.0,
            t: 0.0,
            fresh: false,
            y0: zeros(),
            y1: zeros(),
            stage: zeros(),
            k: std::array::from_fn(|_| zeros()),
            r: std::array::from_fn(|_| vec![0.0; n_quad]),
        }
    }
}

/// f and the quadrature rates at one point.
pub(crate) fn evaluate<S: System>(
    system: &mut S,
    t: f64,
    y: &[f64],
    k: &mut [f64],
    r: &mut [f64],
    stats: &mut Stats,
) -> Result<(), Failure> {
    stats.n_rhs += 1;
    system.rhs(t, y, k)?;
    if !r.is_empty() {
        stats.n_quadrature += 1;
        system.quadratures(t, y, k, r)?;
    }
    Ok(())
}

impl Stepper for Rk4 {
    fn order(&self) -> usize {
        4
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.fresh = false;
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        let n = self.n;
        (self.t, self.h) = (t, h);
        self.y0[..n].copy_from_slice(y);
        if !self.fresh {
            evaluate(system, t, y, &mut self.k[0][..n], &mut self.r[0], stats)?;
            self.fresh = true;
        }
        // stages 2 to 4, each from the one before
        for (s, c) in [(1, 0.5), (2, 0.5), (3, 1.0)] {
            for i in 0..n {
                self.stage[i] = y[i] + c * h * self.k[s - 1][i];
            }
            evaluate(system, t + c * h, &self.stage[..n], &mut self.k[s][..n], &mut self.r[s], stats)?;
        }
        let [k1, k2, k3, k4, _] = &self.k;
        for i in 0..n {
            self.y1[i] = y[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
        }
        check_finite(&self.y1[..n])?;
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        let n = self.n;
        evaluate(system, self.t + self.h, &self.y1[..n], &mut self.k[4][..n], &mut self.r[4], stats)
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            let rise = self.y1[i] - self.y0[i];
            *y = self.y0[i] + hermite(theta, rise, self.h * self.k[0][i], self.h * self.k[4][i]);
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        let [r1, r2, r3, r4, r5] = &self.r;
        for (i, quad) in quad.iter_mut().enumerate() {
            let rise = self.h / 6.0 * (r1[i] + 2.0 * (r2[i] + r3[i]) + r4[i]);
            *quad = hermite(theta, rise, self.h * r1[i], self.h * r5[i]);
        }
    }

    fn accept(&mut self) {
        self.k.swap(0, 4);
        self.r.swap(0, 4);
        self.fresh = true;
    }
}

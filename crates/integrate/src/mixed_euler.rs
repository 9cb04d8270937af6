//! Mixed Euler: bristles implicit, the rest explicit (the mixed-mode integration of Dymola, Elmqvist et al. 1995, as used for LuGre
//! friction by Aberger & Otter 2002).
//!
//! With y = (x, z), z the [`System::implicit_part`],
//!
//! ```text
//!     x₁ = x + h f_x(t, x, z)
//!     z₁ = z + h f_z(t₁, x₁, z₁)          Newton in z alone, x₁ known
//! ```
//!
//! Order 1; stable however stiff z is by itself, but not where stiffness comes from x and z together. Linear interpolant. For
//! comparison only.

use crate::linear::Lu;
use crate::newton::{Iteration, Linearised};
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Stepper, System, Tolerance};

/// Bristles implicit, the rest explicit. See the [module](self).
#[derive(Clone, Debug)]
pub struct MixedEuler {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    y1: Vec<f64>,
    f: Vec<f64>,
    correction: Vec<f64>,
    is_set_up: bool,
    linear: Linearised,
    lu: Lu,
    r: Vec<f64>,
}

crate::archive::archived!(MixedEuler { n, t, h, y0, y1, f, correction, is_set_up, linear, lu, r });

impl MixedEuler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        MixedEuler {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            f: zeros(),
            correction: zeros(),
            is_set_up: false,
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
            r: vec![0.0; n_quad],
        }
    }
}

impl Stepper for MixedEuler {
    fn order(&self) -> usize {
        1
    }

    fn error_exponent(&self) -> Option<f64> {
        None
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.is_set_up = false;
    }

    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<Attempt, Failure> {
        let n = self.n;
        (self.t, self.h) = (t, h);
        if !self.is_set_up {
            self.linear.restart(system, n);
            self.is_set_up = true;
        }
        self.y0[..n].copy_from_slice(y);
        let part = system.implicit_part();
        let (start, m) = (part.start.min(n), part.end.min(n).saturating_sub(part.start.min(n)));

        // explicit for x, z held
        stats.n_rhs += 1;
        system.rhs(t, y, &mut self.f[..n])?;
        for i in 0..n {
            let is_implicit = (start..start + m).contains(&i);
            self.y1[i] = if is_implicit { y[i] } else { y[i] + h * self.f[i] };
        }
        check_finite(&self.y1[..n])?;

        // implicit for z: (1/h − ∂f_z/∂z) Δz = f_z − (z₁ − z)/h
        let mut iteration = Iteration::default();
        let mut is_done = m == 0;
        while !is_done {
            if iteration.is_first() || iteration.is_slow() {
                self.linear.update(system, t + h, &self.y1[..n], &self.f[..n], stats)?;
                stats.n_factor += 1;
                let matrix = self.lu.matrix_mut(m);
                for i in 0..m {
                    for j in 0..m {
                        matrix[(i, j)] = -self.linear.jac[(start + i, start + j)];
                    }
                    matrix[(i, i)] += 1.0 / h;
                }
                self.lu.factor()?;
            }
            stats.n_rhs += 1;
            system.rhs(t + h, &self.y1[..n], &mut self.f[..n])?;
            let correction = &mut self.correction[..m];
            for i in 0..m {
                let k = start + i;
                correction[i] = self.f[k] - (self.y1[k] - y[k]) / h;
            }
            self.lu.solve(correction);
            stats.n_solve += 1;
            stats.n_newton += 1;
            let z1 = &mut self.y1[start..start + m];
            z1.iter_mut().zip(correction.iter()).for_each(|(z, d)| *z += d);
            let mut norm: f64 = 0.0;
            for i in 0..m {
                let k = start + i;
                norm = norm.max((correction[i] / tolerance.scale(k, self.y1[k].abs())).abs());
            }
            is_done = iteration.is_done(norm)?;
        }
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        if !self.r.is_empty() {
            // rates at the end, where z is implicit
            let n = self.n;
            (0..n).for_each(|i| self.f[i] = (self.y1[i] - self.y0[i]) / self.h);
            stats.n_quadrature += 1;
            system.quadratures(self.t + self.h, &self.y1[..n], &self.f[..n], &mut self.r)?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.y0[i] + theta * (self.y1[i] - self.y0[i]);
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        for (i, quad) in quad.iter_mut().enumerate() {
            *quad = theta * self.h * self.r[i];
        }
    }

    fn accept(&mut self) {}
}

//! Mixed Euler: some unknowns implicit, the others explicit (the mixed-mode integration of Dymola, Elmqvist et al.
//! 1995; Aberger & Otter 2002).
//!
//! With y = (x, z), z the [`System::implicit_part`],
//!
//! ```text
//!     x₁ = x + h f_x(t, x, z)
//!     z₁ = z + h f_z(t₁, x₁, z₁)          Newton in z alone, x₁ known
//! ```
//!
//! Order 1; stable however stiff z is by itself, but not where stiffness comes from x and z together. Linear
//! interpolant. For comparison only.

use crate::linear::Lu;
use crate::linear_interpolant::{LinearInterpolant, order_one};
use crate::newton::{Iteration, Linearised, matrices};
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// Explicit for x, implicit for z. See the [module](self).
#[derive(Clone, Debug)]
pub struct MixedEuler {
    interpolant: LinearInterpolant,
    f: Vec<f64>,
    correction: Vec<f64>,
    linear: Linearised,
    lu: Lu,
}

crate::archive::archived!(MixedEuler { interpolant, f, correction, linear, lu };
    fits |it| it.linear.fits(it.interpolant.n()));

impl MixedEuler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        MixedEuler {
            interpolant: LinearInterpolant::new(n_max, n_quad),
            f: vec![0.0; n_max],
            correction: vec![0.0; n_max],
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
        }
    }
}

impl Stepper for MixedEuler {
    order_one!();
    matrices!(linear, lu);

    fn restart(&mut self, n: usize) {
        self.interpolant.restart(n);
        self.linear.restart();
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, tolerance } = step;
        let n = self.interpolant.n();
        self.linear.set_up(system, n);
        self.interpolant.begin(t, h, y);
        let y1 = &mut self.interpolant.y1;
        let part = system.implicit_part();
        let (start, m) = (part.start.min(n), part.end.min(n).saturating_sub(part.start.min(n)));

        // explicit for x, with z fixed
        stats.n_rhs += 1;
        system.rhs(t, y, &mut self.f[..n])?;
        for i in 0..n {
            let is_implicit = (start..start + m).contains(&i);
            y1[i] = if is_implicit { y[i] } else { y[i] + h * self.f[i] };
        }
        check_finite(&y1[..n])?;

        // implicit for z: (1/h − ∂f_z/∂z) Δz = f_z − (z₁ − z)/h
        let mut iteration = Iteration::default();
        let mut is_done = m == 0;
        while !is_done {
            if iteration.n() == 0 || iteration.is_slow() {
                self.linear.update(system, t + h, &y1[..n], &self.f[..n], stats)?;
                self.linear.factor_block(start, m, 1.0 / h, &mut self.lu, stats)?;
            }
            stats.n_rhs += 1;
            system.rhs(t + h, &y1[..n], &mut self.f[..n])?;
            let correction = &mut self.correction[..m];
            for i in 0..m {
                let k = start + i;
                correction[i] = self.f[k] - (y1[k] - y[k]) / h;
            }
            self.lu.solve(correction);
            stats.n_solve += 1;
            stats.n_newton += 1;
            let z1 = &mut y1[start..start + m];
            z1.iter_mut().zip(correction.iter()).for_each(|(z, d)| *z += d);
            let mut norm: f64 = 0.0;
            for i in 0..m {
                let k = start + i;
                norm = norm.max((correction[i] / tolerance.scale(k, y1[k].abs())).abs());
            }
            is_done = iteration.is_done(norm)?;
        }
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        // rates at the end, where z is implicit
        self.interpolant.integrate_from_end(system, &mut self.f, stats)
    }
}

//! Radau IIA with two stages, order 3 (Ehle 1969; Hairer & Wanner, *Solving ODEs II*, table IV.5.5).
//!
//! ```text
//!     A = | 5/12  −1/12 |      A⁻¹ = |  3/2   1/2 |      c = (1/3, 1)
//!         | 3/4    1/4  |            | −9/2   5/2 |
//! ```
//!
//! With λ = 2 + i√2 an eigenvalue of A⁻¹ and l = (1, (3/2 − λ)/(9/2)) its left eigenvector, the two real stage
//! increments z₁, z₂ are one complex unknown u = l·z, and a Newton correction is one complex system of the size of y:
//!
//! ```text
//!     (λ/h M − J) Δu = l·R,        z₂ = Im u / Im l₂,     z₁ = Re u − Re l₂ z₂
//! ```
//!
//! L-stable, stiffly accurate. Newton with J at the start of the step, to convergence; where that fails, because J
//! changes from stage to stage, with the J of each stage in one system of twice the size (`coupled_stages`). The
//! interpolant is the collocation parabola. For prescribed steps; under error control [`crate::Radau5`] is better in
//! every respect.

use crate::coupled_stages::CoupledStages;
use crate::linear::{Complex, ComplexLu};
use crate::newton::{Iteration, Linearised, matrices};
use crate::{Attempt, Failure, Stats, Step, Stepper, System, Tolerance};

const C: [f64; 2] = [1.0 / 3.0, 1.0];
/// A⁻¹.
const AI: [[f64; 2]; 2] = [[1.5, 0.5], [-4.5, 2.5]];
const LAMBDA: Complex = Complex::new(2.0, std::f64::consts::SQRT_2);
/// l₂.
const L2: Complex = Complex::new((1.5 - LAMBDA.re) / 4.5, -LAMBDA.im / 4.5);

/// Two-stage Radau IIA. See the [module](self).
#[derive(Clone, Debug)]
pub struct Radau3 {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    y1: Vec<f64>,
    /// y' at the start: predictor and, in the residual form, the point of linearisation.
    d0: Vec<f64>,
    fresh: bool,
    /// Stage increments.
    z: [Vec<f64>; 2],
    r: [Vec<f64>; 2],
    stage: Vec<f64>,
    rate: Vec<f64>,
    complex: Vec<Complex>,
    linear: Linearised,
    lu: ComplexLu,
    coupled: CoupledStages<2>,
    /// Quadrature rates at the stages.
    quad: [Vec<f64>; 2],
}

crate::archive::archived!(Radau3 { n, t, h, y0, y1, d0, fresh, z, r, stage, rate, complex, linear, lu, quad }
    without coupled; fits |it| it.n <= it.y0.len() && it.linear.fits(it.n));

impl Radau3 {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Radau3 {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            d0: zeros(),
            fresh: false,
            z: [zeros(), zeros()],
            r: [zeros(), zeros()],
            stage: zeros(),
            rate: zeros(),
            complex: vec![Complex::default(); n_max],
            linear: Linearised::new(n_max),
            lu: ComplexLu::new(n_max),
            coupled: CoupledStages::new(n_max, C, AI),
            quad: [vec![0.0; n_quad], vec![0.0; n_quad]],
        }
    }

    /// Stage s: Y into `stage`, Ẏ = (A⁻¹z)/h into `rate`.
    fn set_stage(&mut self, s: usize) {
        for i in 0..self.n {
            self.stage[i] = self.y0[i] + self.z[s][i];
            self.rate[i] = (AI[s][0] * self.z[0][i] + AI[s][1] * self.z[1][i]) / self.h;
        }
    }

    /// Starting values: the tangent.
    fn predict(&mut self) {
        for i in 0..self.n {
            (self.z[0][i], self.z[1][i]) = (self.h / 3.0 * self.d0[i], self.h * self.d0[i]);
        }
    }

    /// Newton with one Jacobian for both stages, u = l·z.
    fn simplified_newton<S: System>(
        &mut self,
        system: &mut S,
        step: Step<'_>,
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        let (n, Step { t, h, y, tolerance }) = (self.n, step);
        let c = LAMBDA * (1.0 / h);
        self.linear.update(system, t, y, &self.d0[..n], stats)?;
        stats.n_factor += 1;
        self.linear.factor(c, &mut self.lu)?;
        self.predict();
        let mut iteration = Iteration::default();
        loop {
            for s in 0..2 {
                self.set_stage(s);
                let (stage, rate) = (&self.stage[..n], &self.rate[..n]);
                self.linear.defect(system, t + C[s] * h, stage, rate, &mut self.r[s][..n], stats)?;
            }
            for i in 0..n {
                let (r1, r2) = (self.r[0][i], self.r[1][i]);
                self.complex[i] = Complex::new(r1 + L2.re * r2, L2.im * r2);
            }
            self.linear.solve(c, &self.lu, &mut self.complex[..n]);
            for i in 0..n {
                let u = self.complex[i];
                let d2 = u.im / L2.im;
                (self.r[0][i], self.r[1][i]) = (u.re - L2.re * d2, d2);
            }
            if iteration.is_done(self.correct(y, tolerance, stats))? {
                return Ok(());
            }
            // slow: J where the iteration is now
            if iteration.is_slow() {
                self.set_stage(1);
                self.linear.update(system, t + h, &self.stage[..n], &self.rate[..n], stats)?;
                stats.n_factor += 1;
                self.linear.factor(c, &mut self.lu)?;
            }
        }
    }

    /// Newton with the Jacobians of both stages, new in every iteration.
    fn full_newton<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<(), Failure> {
        self.predict();
        self.coupled.solve(system, &mut self.linear, step, &mut self.z, stats)?;
        (0..self.n).for_each(|i| self.y1[i] = step.y[i] + self.z[1][i]);
        Ok(())
    }

    /// Adds the corrections in `r` to z; their norm.
    fn correct(&mut self, y: &[f64], tolerance: &Tolerance, stats: &mut Stats) -> f64 {
        let n = self.n;
        stats.n_solve += 1;
        stats.n_newton += 1;
        for i in 0..n {
            self.z[0][i] += self.r[0][i];
            self.z[1][i] += self.r[1][i];
            self.y1[i] = y[i] + self.z[1][i];
        }
        let norm1 = tolerance.norm(&self.r[0][..n], y, &self.y1[..n]);
        norm1.max(tolerance.norm(&self.r[1][..n], y, &self.y1[..n]))
    }
}

impl Stepper for Radau3 {
    matrices!(linear, lu, coupled);

    fn order(&self) -> usize {
        3
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.fresh = false;
        self.linear.restart();
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        let n = self.n;
        (self.t, self.h) = (t, h);
        self.y0[..n].copy_from_slice(y);
        self.linear.set_up(system, n);
        if !self.fresh {
            self.linear.initial_rates(system, t, y, &mut self.d0[..n], &mut self.coupled.lu, stats)?;
            self.fresh = true;
        }

        match self.simplified_newton(system, step, stats) {
            Err(Failure::Newton { .. }) => self.full_newton(system, step, stats)?,
            other => other?,
        }
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        for s in 0..2 {
            if self.quad[s].is_empty() {
                break;
            }
            self.set_stage(s);
            stats.n_quadrature += 1;
            let (stage, rate) = (&self.stage[..self.n], &self.rate[..self.n]);
            system.quadratures(self.t + C[s] * self.h, stage, rate, &mut self.quad[s])?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        // the parabola through 0, z₁ at 1/3 and z₂ at 1
        let (w1, w2) = (4.5 * theta * (1.0 - theta), 0.5 * theta * (3.0 * theta - 1.0));
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.y0[i] + w1 * self.z[0][i] + w2 * self.z[1][i];
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        // the integral of the line through the rates at 1/3 and 1; weights 3/4, 1/4 at θ = 1
        let (w1, w2) = (0.75 * theta * (2.0 - theta), 0.25 * theta * (3.0 * theta - 2.0));
        for (i, quad) in quad.iter_mut().enumerate() {
            *quad = self.h * (w1 * self.quad[0][i] + w2 * self.quad[1][i]);
        }
    }

    fn accept(&mut self) {
        // stiffly accurate: the derivative at the end is that of the collocation parabola
        self.set_stage(1);
        std::mem::swap(&mut self.d0, &mut self.rate);
        self.fresh = true;
    }
}

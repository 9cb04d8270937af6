//! Dormand & Prince's Runge–Kutta pair of order 5(4) (*J. Comp. Appl. Math.* 6, 1980; Hairer, Nørsett & Wanner,
//! *Solving ODEs I*, table II.5.2), with the continuous extension of *ibid.* section II.6.
//!
//! ```text
//!     Yₛ = y + h Σⱼ aₛⱼ kⱼ,   kₛ = f(t + cₛ h, Yₛ),   s = 1 … 7
//!     y₁ = Y₇ (first same as last),     error = h Σ eₛ kₛ = O(h⁵)
//!     y(θ) = y + θ (Δ + (1−θ) (hk₁ − Δ + θ (2Δ − hk₁ − hk₇ + (1−θ) h Σ dₛ kₛ))),   Δ = y₁ − y
//! ```
//!
//! Order 5 with local extrapolation, six evaluations a step; the interpolant has local error O(h⁵). Stable for hλ in
//! (−3.3, 0). The method to choose where nothing is stiff.
//!
//! **Stiff?** Stages 6 and 7 are both at t + h, so |k₇ − k₆|/|Y₇ − Y₆| is a lower bound of the largest |λ| (*Solving
//! ODEs II*, section IV.2). Where h|λ| exceeds 3.25 step after step, fifteen times without six calm ones in between,
//! stability limits the steps, not the tolerance: [`Stepper::stiff_component`].

use crate::rk4::evaluate;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

const C: [f64; 7] = [0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];
#[rustfmt::skip]
const A: [[f64; 6]; 7] = [
    [0.0; 6],
    [1.0 / 5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// b − b̂.
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
/// The highest coefficient of the continuous extension.
const D: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// h|λ| beyond which a step is at the border of stability, and how many such steps make a stiff phase and how many
/// others end it.
const BORDER: f64 = 3.25;
const MANY: usize = 15;
const FEW: usize = 6;

/// Dormand–Prince 5(4). See the [module](self).
#[derive(Clone, Debug)]
pub struct Dopri5 {
    n: usize,
    h: f64,
    /// k₁ belongs to the point the next step starts from.
    fresh: bool,
    y0: Vec<f64>,
    y1: Vec<f64>,
    stage: Vec<f64>,
    /// Stage derivatives k₁ … k₇; `n` each.
    k: [Vec<f64>; 7],
    /// Quadrature rates at the stages; `n_quad` each.
    r: [Vec<f64>; 7],
    /// h Σ dₛ kₛ, filled by `finish`.
    top: Vec<f64>,
    /// Steps at the border of stability, and others since the last of them.
    at_border: usize,
    calm: usize,
    /// If the last accepted step was stiff: the unknown whose rate differs most between stages 6 and 7.
    stiff: Option<usize>,
}

crate::archive::archived!(Dopri5 { n, h, fresh, y0, y1, stage, k, r, top, at_border, calm } without stiff;
    fits |it| it.n <= it.y0.len() && it.at_border.max(it.calm) < crate::archive::MOST);

impl Dopri5 {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Dopri5 {
            n: n_max,
            h: 0.0,
            fresh: false,
            y0: zeros(),
            y1: zeros(),
            stage: zeros(),
            k: std::array::from_fn(|_| zeros()),
            r: std::array::from_fn(|_| vec![0.0; n_quad]),
            top: zeros(),
            at_border: 0,
            calm: 0,
            stiff: None,
        }
    }

    /// Whether the step just made was at the border of stability, and a stiff phase is on.
    fn look_for_stiffness(&mut self) {
        let (mut rate, mut way, mut most, mut component) = (0.0, 0.0, 0.0, 0);
        for i in 0..self.n {
            let difference = self.k[6][i] - self.k[5][i];
            // Y₇ − Y₆
            let apart = (0..6).map(|j| (A[6][j] - A[5][j]) * self.k[j][i]).sum::<f64>();
            rate += difference * difference;
            way += apart * apart;
            if difference.abs() > most {
                (most, component) = (difference.abs(), i);
            }
        }
        // h|λ| = h |k₇ − k₆|/(h |Σ …|)
        let is_at_border = rate > BORDER * BORDER * way;
        if is_at_border {
            self.calm = 0;
            self.at_border = self.at_border.saturating_add(1);
        } else {
            self.calm = self.calm.saturating_add(1);
            if self.calm >= FEW {
                self.at_border = 0;
            }
        }
        self.stiff = (is_at_border && self.at_border >= MANY).then_some(component);
    }
}

impl Stepper for Dopri5 {
    fn order(&self) -> usize {
        5
    }

    fn error_exponent(&self) -> Option<f64> {
        Some(5.0)
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.fresh = false;
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, tolerance } = step;
        let n = self.n;
        self.h = h;
        self.y0[..n].copy_from_slice(y);
        if !self.fresh {
            evaluate(system, t, y, &mut self.k[0][..n], &mut self.r[0], stats)?;
            self.fresh = true;
        }

        // stages 2 to 7; the seventh is the solution
        for s in 1..7 {
            let stage = &mut self.stage[..n];
            stage.copy_from_slice(y);
            for j in 0..s {
                let ha = h * A[s][j];
                if ha != 0.0 {
                    stage.iter_mut().zip(&self.k[j][..n]).for_each(|(y, k)| *y += ha * k);
                }
            }
            evaluate(system, t + C[s] * h, stage, &mut self.k[s][..n], &mut self.r[s], stats)?;
        }
        self.y1[..n].copy_from_slice(&self.stage[..n]);
        check_finite(&self.y1[..n])?;

        // embedded error, in the scratch of the stages
        for i in 0..n {
            self.stage[i] = h * weighted(&E, &self.k, i);
        }
        let error = tolerance.norm(&self.stage[..n], y, &self.y1[..n]);
        check_finite(&self.k[6][..n])?;
        Ok(Attempt::explicit(error))
    }

    fn finish<S: System>(&mut self, _system: &mut S, _stats: &mut Stats) -> Result<(), Failure> {
        for i in 0..self.n {
            self.top[i] = self.h * weighted(&D, &self.k, i);
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        let (h, k1, k7) = (self.h, &self.k[0], &self.k[6]);
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.y0[i] + extension(theta, self.y1[i] - self.y0[i], h * k1[i], h * k7[i], self.top[i]);
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        let h = self.h;
        for (i, quad) in quad.iter_mut().enumerate() {
            // the weights b are the last row of A
            let rise = h * (0..6).map(|s| A[6][s] * self.r[s][i]).sum::<f64>();
            *quad = extension(theta, rise, h * self.r[0][i], h * self.r[6][i], h * weighted(&D, &self.r, i));
        }
    }

    fn stiff_component(&self) -> Option<usize> {
        self.stiff
    }

    fn accept(&mut self) {
        self.look_for_stiffness();
        self.k.swap(0, 6);
        self.r.swap(0, 6);
        self.fresh = true;
    }
}

/// Σ wₛ kₛ of component i.
#[inline(always)]
fn weighted(w: &[f64; 7], k: &[Vec<f64>; 7], i: usize) -> f64 {
    (0..7).map(|s| w[s] * k[s][i]).sum()
}

/// The continuous extension on [0, 1] from 0 to `rise`, slopes `d0` and `d1` at the ends.
#[inline(always)]
fn extension(theta: f64, rise: f64, d0: f64, d1: f64, top: f64) -> f64 {
    let eta = 1.0 - theta;
    let bend = d0 - rise;
    theta * (rise + eta * (bend + theta * (rise - d1 - bend + eta * top)))
}

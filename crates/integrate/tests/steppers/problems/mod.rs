//! Test problems with known answers, shared by the tests and the work-precision bench.
//!
//! The stiff and non-stiff classics come from the IVP test set (Bari; Hairer & Wanner, *Solving ODEs II*, IV.10 and
//! VII.7); their end values are the published ones, which an independent computation confirmed to the digits stated at
//! each.
#![allow(dead_code, reason = "every test uses some of the problems")]

use bristle_integrate::linear::Matrix;
use bristle_integrate::{EvalError, FiredEvent, Form, Restart, System};

mod slider;
pub use slider::Slider;

/// A system with its interval and known end.
pub trait Problem: System + Clone {
    /// As printed in tables.
    const NAME: &'static str;
    /// Initial time and state.
    fn start(&self) -> (f64, Vec<f64>);
    /// End of the interval.
    fn t_end(&self) -> f64;
    /// Reference values of the leading components at the end.
    fn reference(&self) -> Vec<f64>;

    /// Largest relative error of the components that have a reference.
    fn error(&self, y: &[f64]) -> f64 {
        self.reference().iter().zip(y).map(|(exact, y)| ((y - exact) / exact).abs()).fold(0.0, f64::max)
    }
}

// ------------------------------------------------------------------------------------------------ van der Pol

/// Van der Pol's oscillator, ε = 10⁻⁶: y₁' = y₂, y₂' = ((1 − y₁²) y₂ − y₁)/ε.
#[derive(Clone, Debug)]
pub struct VanDerPol {
    /// ε.
    pub epsilon: f64,
    /// Offer the analytic Jacobian?
    pub analytic: bool,
}

impl Default for VanDerPol {
    fn default() -> Self {
        VanDerPol { epsilon: 1e-6, analytic: true }
    }
}

impl System for VanDerPol {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = y[1];
        dy[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) / self.epsilon;
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        jac[(0, 0)] = 0.0;
        jac[(0, 1)] = 1.0;
        jac[(1, 0)] = (-2.0 * y[0] * y[1] - 1.0) / self.epsilon;
        jac[(1, 1)] = (1.0 - y[0] * y[0]) / self.epsilon;
        Ok(self.analytic)
    }
}

impl Problem for VanDerPol {
    const NAME: &'static str = "van der Pol";

    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![2.0, 0.0])
    }

    fn t_end(&self) -> f64 {
        2.0
    }

    // confirmed to 1.7e-15; the test set's file has µ = 1000, t = 2000, whose y₂ is 10⁻³ of this one
    fn reference(&self) -> Vec<f64> {
        vec![1.706167732170469, -0.8928097010248125]
    }
}

// ------------------------------------------------------------------------------------------------ Robertson

/// Robertson's chemical reaction over eleven decades of time.
#[derive(Clone, Debug, Default)]
pub struct Robertson;

impl System for Robertson {
    fn dim(&self) -> usize {
        3
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let (r1, r2, r3) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]);
        dy[0] = -r1 + r2;
        dy[1] = r1 - r2 - r3;
        dy[2] = r3;
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        let (a, b, c) = (1e4 * y[2], 1e4 * y[1], 6e7 * y[1]);
        #[rustfmt::skip]
        jac.as_mut_slice().copy_from_slice(&[
            -0.04,      a,      b,
             0.04, -a - c,     -b,
              0.0,      c,    0.0,
        ]);
        Ok(true)
    }

    // y₂ never exceeds 4e-5
    fn absolute_tolerance(&self, atol: f64, each: &mut [f64]) {
        each.copy_from_slice(&[atol, 1e-6 * atol, atol]);
    }
}

impl Problem for Robertson {
    const NAME: &'static str = "Robertson";

    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![1.0, 0.0, 0.0])
    }

    fn t_end(&self) -> f64 {
        1e11
    }

    // confirmed to 7.9e-13
    fn reference(&self) -> Vec<f64> {
        vec![2.083340149701255e-8, 8.333360770334713e-14, 0.999999979166505]
    }
}

// ------------------------------------------------------------------------------------------------ HIRES

/// High irradiance response of a plant's photomorphogenesis: eight reactions.
#[derive(Clone, Debug, Default)]
pub struct Hires;

impl System for Hires {
    fn dim(&self) -> usize {
        8
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let bind = 280.0 * y[5] * y[7];
        dy[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
        dy[1] = 1.71 * y[0] - 8.75 * y[1];
        dy[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
        dy[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
        dy[4] = -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6];
        dy[5] = -bind + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
        dy[6] = bind - 1.81 * y[6];
        dy[7] = -bind + 1.81 * y[6];
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        let (a, b) = (280.0 * y[7], 280.0 * y[5]);
        #[rustfmt::skip]
        jac.as_mut_slice().copy_from_slice(&[
            -1.71,  0.43,   8.32,  0.0,    0.0,       0.0,   0.0,  0.0,
             1.71, -8.75,   0.0,   0.0,    0.0,       0.0,   0.0,  0.0,
             0.0,   0.0,  -10.03,  0.43,   0.035,     0.0,   0.0,  0.0,
             0.0,   8.32,   1.71, -1.12,   0.0,       0.0,   0.0,  0.0,
             0.0,   0.0,    0.0,   0.0,   -1.745,     0.43,  0.43, 0.0,
             0.0,   0.0,    0.0,   0.69,   1.71, -0.43 - a,  0.69,  -b,
             0.0,   0.0,    0.0,   0.0,    0.0,          a, -1.81,   b,
             0.0,   0.0,    0.0,   0.0,    0.0,         -a,  1.81,  -b,
        ]);
        Ok(true)
    }
}

impl Problem for Hires {
    const NAME: &'static str = "HIRES";

    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057])
    }

    fn t_end(&self) -> f64 {
        321.8122
    }

    // confirmed to 3.0e-13
    fn reference(&self) -> Vec<f64> {
        vec![
            7.371312573325668e-4,
            1.442485726316185e-4,
            5.888729740967575e-5,
            1.175651343283149e-3,
            2.386356198831331e-3,
            6.238968252742796e-3,
            2.849998395185769e-3,
            2.850001604814231e-3,
        ]
    }
}

// ------------------------------------------------------------------------------------------------ Pleiades

/// Seven stars in the plane with masses 1 … 7, not stiff: y = (x, y, ẋ, ẏ).
#[derive(Clone, Debug, Default)]
pub struct Pleiades;

impl System for Pleiades {
    fn dim(&self) -> usize {
        28
    }

    fn second_order(&self) -> usize {
        14
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[..14].copy_from_slice(&y[14..]);
        dy[14..].fill(0.0);
        for i in 0..7 {
            for j in 0..7 {
                if j != i {
                    let (dx, dz) = (y[j] - y[i], y[7 + j] - y[7 + i]);
                    let pull = (j + 1) as f64 / (dx * dx + dz * dz).powf(1.5);
                    dy[14 + i] += pull * dx;
                    dy[21 + i] += pull * dz;
                }
            }
        }
        Ok(())
    }
}

impl Problem for Pleiades {
    const NAME: &'static str = "Pleiades";

    fn start(&self) -> (f64, Vec<f64>) {
        let x = [3.0, 3.0, -1.0, -3.0, 2.0, -2.0, 2.0];
        let y = [3.0, -3.0, 2.0, 0.0, 0.0, -4.0, 4.0];
        let vx = [0.0, 0.0, 0.0, 0.0, 0.0, 1.75, -1.5];
        let vy = [0.0, 0.0, 0.0, -1.25, 1.0, 0.0, 0.0];
        (0.0, [x, y, vx, vy].concat())
    }

    fn t_end(&self) -> f64 {
        3.0
    }

    // confirmed to 4.2e-12
    fn reference(&self) -> Vec<f64> {
        vec![
            0.3706139143970502,
            3.237284092057233,
            -3.222559032418324,
            0.659709145577531,
            0.3425581707156584,
            1.562172101400631,
            -0.7003092922212495,
            -3.943437585517392,
            -3.27138097397255,
            5.225081843456543,
            -2.59061243497747,
            1.198213693392275,
            -0.2429682344935824,
            1.09144924042898,
            3.417003806314313,
            1.354584501625501,
            -2.590065597810775,
            2.025053734714242,
            -1.155815100160448,
            -0.8072988170223021,
            0.595239635420871,
            -3.74124496123401,
            0.377345968575063,
            0.9386858869551074,
            0.3667922227200571,
            -0.347404635380849,
            2.344915448180937,
            -1.947020434263292,
        ]
    }
}

// ------------------------------------------------------------------------------------------------ car axis

/// The car axis: a rod on two springs over a bumpy road, positions constrained (index 3). y = (p, v, λ), p = (x_l, y_l,
/// x_r, y_r).
///
/// ```text
///     ṗ = v,   K v̇ = F(t, p) + Gᵀλ,   0 = (x_l x_b + y_l y_b,  (x_l − x_r)² + (y_l − y_r)² − L²)
/// ```
#[derive(Clone, Debug, Default)]
pub struct CarAxis;

impl CarAxis {
    const L: f64 = 1.0;
    const L0: f64 = 0.5;
    /// M ε²/2.
    const K: f64 = 10.0 * 0.01 * 0.01 / 2.0;

    fn road(t: f64) -> (f64, f64) {
        let yb = 0.1 * (10.0 * t).sin();
        ((Self::L * Self::L - yb * yb).sqrt(), yb)
    }
}

impl System for CarAxis {
    fn dim(&self) -> usize {
        10
    }

    fn form(&self) -> Form {
        Form::Mass
    }

    fn second_order(&self) -> usize {
        4
    }

    fn mass(&mut self, m: &mut Matrix) {
        m.clear();
        for i in 0..4 {
            m[(i, i)] = 1.0;
            m[(4 + i, 4 + i)] = Self::K;
        }
    }

    fn index(&self, i: usize) -> u8 {
        [1, 2, 3][i / 4]
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let (xb, yb) = Self::road(t);
        let (xl, yl, xr, yr, lam1, lam2) = (y[0], y[1], y[2], y[3], y[8], y[9]);
        let (ll, lr) = (xl.hypot(yl), (xr - xb).hypot(yr - yb));
        let (sl, sr) = ((Self::L0 - ll) / ll, (Self::L0 - lr) / lr);
        dy[..4].copy_from_slice(&y[4..8]);
        dy[4] = sl * xl + lam1 * xb + 2.0 * lam2 * (xl - xr);
        dy[5] = sl * yl + lam1 * yb + 2.0 * lam2 * (yl - yr) - Self::K;
        dy[6] = sr * (xr - xb) - 2.0 * lam2 * (xl - xr);
        dy[7] = sr * (yr - yb) - 2.0 * lam2 * (yl - yr) - Self::K;
        dy[8] = xl * xb + yl * yb;
        dy[9] = (xl - xr).powi(2) + (yl - yr).powi(2) - Self::L * Self::L;
        Ok(())
    }
}

impl Problem for CarAxis {
    const NAME: &'static str = "car axis";

    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![0.0, 0.5, 1.0, 0.5, -0.5, 0.0, -0.5, 0.0, 0.0, 0.0])
    }

    fn t_end(&self) -> f64 {
        3.0
    }

    // positions, confirmed to 1e-12
    fn reference(&self) -> Vec<f64> {
        vec![0.04934557842754028, 0.49698946023017115, 1.0417425248854215, 0.37391102726536124]
    }
}

// ------------------------------------------------------------------------------------------------ simple pendulum

/// Simple pendulum (A01 of the multibody benchmark library): 1 kg on 1 m, from the horizontal at rest; q from hanging,
/// q(0) = −π/2. One quadrature, ∫ dE/dt dt = 0, and the event q = 0 on request.
#[derive(Clone, Debug)]
pub struct Pendulum {
    pub form: Form,
    pub with_event: bool,
    /// Times of the events so far.
    pub crossings: Vec<f64>,
}

impl Pendulum {
    pub const G: f64 = 9.81;
    /// 4 K(1/√2)/√g.
    pub const PERIOD: f64 = 2.367841947576237;

    pub fn new(form: Form) -> Self {
        Pendulum { form, with_event: false, crossings: vec![] }
    }

    /// ½ v² − g cos q, zero at the start.
    pub fn energy(y: &[f64]) -> f64 {
        0.5 * y[1] * y[1] - Self::G * y[0].cos()
    }
}

impl System for Pendulum {
    fn dim(&self) -> usize {
        2
    }

    fn form(&self) -> Form {
        self.form
    }

    fn second_order(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = y[1];
        dy[1] = -Self::G * y[0].sin();
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        jac.as_mut_slice().copy_from_slice(&[0.0, 1.0, -Self::G * y[0].cos(), 0.0]);
        Ok(true)
    }

    fn residual(&mut self, _t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        r[0] = dy[0] - y[1];
        r[1] = dy[1] + Self::G * y[0].sin();
        Ok(())
    }

    fn n_quadratures(&self) -> usize {
        1
    }

    // kinetic power plus potential power: the work of the ideal pivot
    fn quadratures(&mut self, _t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        rate[0] = y[1] * (dy[1] + Self::G * y[0].sin());
        Ok(())
    }

    fn n_events(&self) -> usize {
        usize::from(self.with_event)
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0];
        Ok(())
    }

    fn switch(
        &mut self,
        t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        self.crossings.push(t);
        Ok(Restart::unchanged(2))
    }
}

impl Problem for Pendulum {
    const NAME: &'static str = "pendulum";

    fn start(&self) -> (f64, Vec<f64>) {
        (0.0, vec![-std::f64::consts::FRAC_PI_2, 0.0])
    }

    fn t_end(&self) -> f64 {
        10.0
    }

    // from x = sin q = −0.275087462576122, y = −cos q = −0.961419205099124
    fn reference(&self) -> Vec<f64> {
        vec![(-0.275087462576122f64).atan2(0.961419205099124)]
    }
}

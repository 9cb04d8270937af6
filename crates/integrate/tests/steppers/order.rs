//! Every stepper, its interpolant and its quadratures converge with their nominal order on a smooth nonlinear problem.
//!
//! ```text
//!     y₁' = y₁ cos t,   y₂' = −y₂³/2      y₁ = exp(sin t),   y₂ = 1/√(1 + t)
//!     ∫ y₁ y₂² dt,      ∫ cos t · y₁ dt = exp(sin t) − 1
//! ```

use bristle_integrate::{Control, Driver, EvalError, Method, Options, System, Trace};

struct Smooth;

impl System for Smooth {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = y[0] * t.cos();
        dy[1] = -0.5 * y[1].powi(3);
        Ok(())
    }

    fn n_quadratures(&self) -> usize {
        2
    }

    fn quadratures(&mut self, t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        rate[0] = y[0] * t.cos();
        rate[1] = -2.0 * dy[1] / y[1].powi(3) * y[1].powi(2); // y₂², written with y' as energies are
        Ok(())
    }
}

fn exact(t: f64) -> [f64; 4] {
    [t.sin().exp(), 1.0 / (1.0 + t).sqrt(), t.sin().exp() - 1.0, (1.0 + t).ln()]
}

/// Largest errors over [0, 2]: state at steps, state between steps, quadratures at steps, quadratures between.
fn errors(method: Method, n_steps: usize) -> [f64; 4] {
    let h = 2.0 / n_steps as f64;
    let mut result = [0.0f64; 4];
    for (between, mut trace) in [(0, Trace::steps()), (1, Trace::uniform(0.0, h / 7.0))] {
        let mut options = Options::new(method, Control::Constant { step: h });
        (options.newton_rtol, options.newton_atol) = (1e-13, 1e-13);
        let mut driver = Driver::new(&mut Smooth, 0.0, &[1.0, 1.0], options).unwrap();
        driver.advance(&mut Smooth, 2.0, &mut trace).unwrap();
        assert_eq!(driver.stats().n_accepted, n_steps);
        for ((t, y), quad) in trace.t.iter().zip(&trace.y).zip(&trace.quad) {
            let exact = exact(*t);
            for i in 0..2 {
                result[between] = result[between].max((y[i] - exact[i]).abs());
                result[2 + between] = result[2 + between].max((quad[i] - exact[2 + i]).abs());
            }
        }
    }
    result
}

fn check(method: Method, n_steps: usize, nominal: [f64; 4]) {
    let (coarse, fine) = (errors(method, n_steps), errors(method, 2 * n_steps));
    let observed: [f64; 4] = std::array::from_fn(|i| (coarse[i] / fine[i]).log2());
    println!("{method:?}: observed {observed:.3?}, nominal {nominal:?}, errors {fine:?}");
    for (observed, nominal) in observed.iter().zip(nominal) {
        assert!((observed - nominal).abs() < 0.2, "{method:?}: {observed} instead of {nominal}");
    }
}

#[test]
fn euler_converges_with_order_one() {
    check(Method::Euler, 256, [1.0; 4]);
}

#[test]
fn mixed_euler_converges_with_order_one() {
    check(Method::MixedEuler, 256, [1.0; 4]);
}

#[test]
fn linearly_implicit_euler_has_order_one() {
    check(Method::LinearlyImplicitEuler, 256, [1.0; 4]);
}

#[test]
fn trapezoidal_converges_with_order_two() {
    check(Method::Trapezoidal, 64, [2.0; 4]);
}

#[test]
fn radau3_converges_with_order_three() {
    check(Method::Radau3, 64, [3.0; 4]);
}

#[test]
fn rk4_converges_with_order_four() {
    check(Method::Rk4, 64, [4.0; 4]);
}

#[test]
fn dopri5_converges_with_order_five() {
    check(Method::Dopri5, 64, [5.0; 4]);
}

#[test]
fn radau5_has_order_five_and_four_between() {
    check(Method::Radau5, 32, [5.0, 4.0, 5.0, 5.0]);
}

#[test]
fn generalized_alpha_converges_with_order_two() {
    for spectral_radius in [0.0, 0.8, 1.0] {
        check(Method::GeneralizedAlpha { spectral_radius }, 128, [2.0; 4]);
    }
}

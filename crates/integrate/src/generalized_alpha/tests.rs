//! Order, forms, damping and error estimate of generalized-α.

use super::*;
use crate::EvalError;
use crate::linear::Matrix;

/// A pendulum with a force that depends on its acceleration, a first-order state z and one quadrature:
///
/// ```text
///     (2 + cos q) a + 0.2 z √(1 + a²) + sin q + 0.1 v = cos t,      ż = v − √(v² + 0.1) z
/// ```
#[derive(Clone)]
struct Oscillator {
    form: Form,
    analytic: bool,
}

impl Oscillator {
    fn equation(t: f64, y: &[f64], a: f64) -> f64 {
        (2.0 + y[0].cos()) * a + 0.2 * y[2] * (1.0 + a * a).sqrt() + y[0].sin() + 0.1 * y[1] - t.cos()
    }

    fn d_a(y: &[f64], a: f64) -> f64 {
        2.0 + y[0].cos() + 0.2 * y[2] * a / (1.0 + a * a).sqrt()
    }

    fn rate(y: &[f64]) -> f64 {
        y[1] - (y[1] * y[1] + 0.1).sqrt() * y[2]
    }
}

impl System for Oscillator {
    fn dim(&self) -> usize {
        3
    }

    fn second_order(&self) -> usize {
        1
    }

    fn form(&self) -> Form {
        self.form
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let mut a = 0.0;
        for _ in 0..12 {
            a -= Self::equation(t, y, a) / Self::d_a(y, a);
        }
        dy.copy_from_slice(&[y[1], a, Self::rate(y)]);
        Ok(())
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        r.copy_from_slice(&[dy[0] - y[1], Self::equation(t, y, dy[1]), dy[2] - Self::rate(y)]);
        Ok(())
    }

    fn residual_jacobian(
        &mut self,
        _t: f64,
        y: &[f64],
        dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        let (q, v, z, a) = (y[0], y[1], y[2], dy[1]);
        let speed = (v * v + 0.1).sqrt();
        #[rustfmt::skip]
        df_dy.as_mut_slice().copy_from_slice(&[
            0.0, -1.0, 0.0,
            q.cos() - q.sin() * a, 0.1, 0.2 * (1.0 + a * a).sqrt(),
            0.0, v / speed * z - 1.0, speed,
        ]);
        df_ddy.as_mut_slice().copy_from_slice(&[1.0, 0.0, 0.0, 0.0, Self::d_a(y, a), 0.0, 0.0, 0.0, 1.0]);
        Ok(self.analytic)
    }

    fn n_quadratures(&self) -> usize {
        1
    }

    fn quadratures(&mut self, _t: f64, y: &[f64], _dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        rate[0] = y[1] * y[1];
        Ok(())
    }
}

const RESIDUAL: Oscillator = Oscillator { form: Form::Residual, analytic: true };

fn tight() -> Tolerance {
    Tolerance::new(1e-12, vec![1e-12; 3])
}

/// State, derivative and quadrature at t = 2 after `n` steps; with `uneven`, steps alternate in the ratio 3 : 1.
fn run(mut system: Oscillator, rho: f64, n: usize, uneven: bool) -> [f64; 7] {
    let mut stepper = GeneralizedAlpha::new(3, 1, rho);
    let mut stats = Stats::default();
    stepper.restart(3);
    let mut y = vec![1.0, 0.0, 0.2];
    let (mut t, mut work) = (0.0, 0.0);
    for i in 0..n {
        let h = 2.0 / n as f64 * if uneven { [1.5, 0.5][i % 2] } else { 1.0 };
        stepper.step(&mut system, Step { t, h, y: &y, tolerance: &tight() }, &mut stats).unwrap();
        stepper.finish(&mut system, &mut stats).unwrap();
        let mut quad = [0.0];
        stepper.interpolate_quadratures(1.0, &mut quad);
        work += quad[0];
        y.copy_from_slice(stepper.y_new());
        stepper.accept();
        t += h;
    }
    let dy = stepper.rates();
    [y[0], y[1], y[2], dy[0], dy[1], dy[2], work]
}

/// The same by the classical Runge–Kutta method.
fn reference() -> [f64; 7] {
    let mut system = Oscillator { form: Form::Explicit, analytic: false };
    let mut stepper = crate::rk4::Rk4::new(3, 1);
    let mut stats = Stats::default();
    stepper.restart(3);
    let (n, mut y, mut work) = (2000, vec![1.0, 0.0, 0.2], 0.0);
    let h = 2.0 / n as f64;
    for i in 0..n {
        stepper.step(&mut system, Step { t: i as f64 * h, h, y: &y, tolerance: &tight() }, &mut stats).unwrap();
        stepper.finish(&mut system, &mut stats).unwrap();
        let mut quad = [0.0];
        stepper.interpolate_quadratures(1.0, &mut quad);
        work += quad[0];
        y.copy_from_slice(stepper.y_new());
        stepper.accept();
    }
    let mut dy = [0.0; 3];
    system.rhs(2.0, &y, &mut dy).unwrap();
    [y[0], y[1], y[2], dy[0], dy[1], dy[2], work]
}

fn assert_order_two(system: &Oscillator, rho: f64, uneven: bool) {
    let exact = reference();
    let (coarse, fine) = (run(system.clone(), rho, 400, uneven), run(system.clone(), rho, 1600, uneven));
    for (i, name) in ["q", "v", "z", "v again", "a", "ż", "quadrature"].iter().enumerate() {
        let (e1, e2) = ((coarse[i] - exact[i]).abs(), (fine[i] - exact[i]).abs());
        let order = (e1 / e2).log2() / 2.0;
        assert!((order - 2.0).abs() < 0.2, "ρ∞ = {rho}: {name} has order {order:.2}, errors {e1:.1e} {e2:.1e}");
    }
}

#[test]
fn every_quantity_converges_with_order_two() {
    for rho in [0.0, 0.5, 0.8, 1.0] {
        assert_order_two(&RESIDUAL, rho, false);
    }
}

#[test]
fn unequal_steps_keep_order_two() {
    for rho in [0.0, 0.5, 0.8, 1.0] {
        assert_order_two(&RESIDUAL, rho, true);
    }
}

#[test]
fn forms_and_jacobians_agree() {
    let residual = run(RESIDUAL, 0.8, 100, true);
    let differences = run(Oscillator { form: Form::Residual, analytic: false }, 0.8, 100, true);
    let explicit = run(Oscillator { form: Form::Explicit, analytic: false }, 0.8, 100, true);
    for i in 0..7 {
        assert!((residual[i] - differences[i]).abs() < 1e-11, "{i}");
        assert!((residual[i] - explicit[i]).abs() < 1e-11, "{i}");
    }
}

#[test]
fn interpolant_is_as_good_as_the_ends() {
    let mut system = RESIDUAL;
    let mut stepper = GeneralizedAlpha::new(3, 1, 0.8);
    let mut stats = Stats::default();
    stepper.restart(3);
    let y = [1.0, 0.0, 0.2];
    let h = 0.1;
    let mut step = |stepper: &mut GeneralizedAlpha, h: f64| {
        stepper.step(&mut system, Step { t: 0.0, h, y: &y, tolerance: &tight() }, &mut stats).unwrap();
        stepper.finish(&mut system, &mut stats).unwrap();
    };
    step(&mut stepper, h);
    let mut middle = [0.0; 3];
    stepper.interpolate(0.5, &mut middle);
    let mut ends = [0.0; 3];
    stepper.interpolate(1.0, &mut ends);
    assert_eq!(ends, stepper.y_new());
    // the same point by a real step: both are O(h³)
    step(&mut stepper, 0.5 * h);
    for (a, b) in middle.iter().zip(stepper.y_new()) {
        assert!((a - b).abs() < h * h * h);
    }
}

#[test]
fn stiff_modes_shrink_by_the_spectral_radius() {
    /// Two stiff modes far beyond the step: a = −ω² q and ż = −λ z.
    struct Stiff;
    impl System for Stiff {
        fn dim(&self) -> usize {
            3
        }
        fn second_order(&self) -> usize {
            1
        }
        fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
            dy.copy_from_slice(&[y[1], -1e12 * y[0], -1e8 * y[2]]);
            Ok(())
        }
        fn jacobian(&mut self, _t: f64, _y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
            jac.as_mut_slice().copy_from_slice(&[0.0, 1.0, 0.0, -1e12, 0.0, 0.0, 0.0, 0.0, -1e8]);
            Ok(true)
        }
    }
    for rho in [0.5, 0.8, 0.9] {
        let mut stepper = GeneralizedAlpha::new(3, 0, rho);
        let mut stats = Stats::default();
        let tolerance = Tolerance::new(1e-10, vec![1e-200; 3]);
        stepper.restart(3);
        let mut y = vec![1.0, 0.0, 1.0];
        let mut sizes = vec![];
        for i in 0..100 {
            stepper.step(&mut Stiff, Step { t: i as f64, h: 1.0, y: &y, tolerance: &tolerance }, &mut stats).unwrap();
            y.copy_from_slice(stepper.y_new());
            stepper.accept();
            sizes.push((y[0].abs(), y[2].abs()));
        }
        // repeated eigenvalues −ρ∞ grow like a power of n before they decay: measure late
        let rate = |a: f64, b: f64| (b / a).powf(1.0 / 40.0);
        let ((q0, z0), (q1, z1)) = (sizes[59], sizes[99]);
        assert!((rate(z0, z1) - rho).abs() < 0.02, "z: {} for ρ∞ = {rho}", rate(z0, z1));
        assert!(rate(q0, q1) < rho + 0.05, "q: {} for ρ∞ = {rho}", rate(q0, q1));
    }
}

#[test]
fn the_estimate_follows_the_local_error() {
    let mut system = RESIDUAL;
    let mut errors = vec![];
    for h in [0.04, 0.02] {
        let mut stepper = GeneralizedAlpha::new(3, 0, 0.8);
        let mut stats = Stats::default();
        let tolerance = Tolerance::new(1e-9, vec![1e-9; 3]);
        stepper.restart(3);
        let mut y = vec![1.0, 0.0, 0.2];
        let (mut t, mut error) = (0.0, 0.0);
        while t < 0.999 {
            error = stepper.step(&mut system, Step { t, h, y: &y, tolerance: &tolerance }, &mut stats).unwrap().error;
            y.copy_from_slice(stepper.y_new());
            stepper.accept();
            t += h;
        }
        errors.push(error);
    }
    let exponent = (errors[0] / errors[1]).log2();
    assert!((exponent - 3.0).abs() < 0.3, "exponent {exponent}");
}

#[test]
fn spectral_radius_is_checked() {
    assert!(GeneralizedAlpha::check(0.0).is_ok() && GeneralizedAlpha::check(1.0).is_ok());
    let message = GeneralizedAlpha::check(1.1).unwrap_err().to_string();
    assert_eq!(message, "spectral_radius = 1.1 cannot be used; wanted: from 0 (all damping) to 1 (none)");
    assert!(GeneralizedAlpha::check(f64::NAN).is_err());
}

//! Generalized-α under the driver: the simple pendulum (A01), events, error control, a stiff bristle.

use crate::problems::{Pendulum, Problem, Slider};
use bristle_integrate::{Control, Driver, EvalError, Form, Method, Options, System, Trace};

fn method(spectral_radius: f64) -> Method {
    Method::GeneralizedAlpha { spectral_radius }
}

fn run(pendulum: &mut Pendulum, rho: f64, control: Control, t_end: f64) -> (Driver, Trace) {
    let (t, y) = pendulum.start();
    let mut driver = Driver::new(pendulum, t, &y, Options::new(method(rho), control)).unwrap();
    let mut trace = Trace::steps();
    driver.advance(pendulum, t_end, &mut trace).unwrap();
    (driver, trace)
}

#[test]
fn pendulum_converges_with_order_two() {
    for rho in [0.0, 0.8, 1.0] {
        let mut errors = vec![];
        for step in [1e-3, 5e-4, 2.5e-4] {
            let mut pendulum = Pendulum::new(Form::Residual);
            let (driver, _) = run(&mut pendulum, rho, Control::Constant { step }, 10.0);
            errors.push((driver.y()[0] - pendulum.reference()[0]).abs());
        }
        let order = (errors[0] / errors[2]).log2() / 2.0;
        assert!((order - 2.0).abs() < 0.1, "ρ∞ = {rho}: order {order}, errors {errors:?}");
    }
}

#[test]
fn energy_stays_bounded_without_dissipation() {
    // 1 000 periods of 237 steps; the amplitude of the energy error must not grow from the first to the last hundred
    let mut pendulum = Pendulum::new(Form::Residual);
    let t_end = 1000.0 * Pendulum::PERIOD;
    let (_, trace) = run(&mut pendulum, 1.0, Control::Constant { step: 0.01 }, t_end);
    let worst = |from: f64, to: f64| {
        let inside = trace.t.iter().zip(&trace.y).filter(|(t, _)| (from..to).contains(*t));
        inside.map(|(_, y)| Pendulum::energy(y).abs()).fold(0.0, f64::max)
    };
    let (early, late) = (worst(0.0, 0.1 * t_end), worst(0.9 * t_end, t_end));
    println!("largest energy error: {early:.3e} J in the first tenth, {late:.3e} J in the last");
    assert!(late < 1.02 * early, "{early:e} grows to {late:e}");

    // and shrinks with h²
    let mut pendulum = Pendulum::new(Form::Residual);
    let (_, fine) = run(&mut pendulum, 1.0, Control::Constant { step: 0.0025 }, 100.0);
    let fine = fine.y.iter().map(|y| Pendulum::energy(y).abs()).fold(0.0, f64::max);
    assert!((early / fine).log2() / 2.0 > 1.9, "{early:e} and {fine:e}");
}

#[test]
fn smaller_spectral_radius_dissipates_more() {
    let loss = |rho: f64| {
        let mut pendulum = Pendulum::new(Form::Residual);
        let (_, trace) = run(&mut pendulum, rho, Control::Constant { step: 0.02 }, 200.0);
        -Pendulum::energy(&trace.y[trace.y.len() - 1])
    };
    let (none, some, all) = (loss(1.0).abs(), loss(0.8), loss(0.0));
    assert!(none < 0.1 * some && some < all, "{none:e} {some:e} {all:e}");
}

#[test]
fn ideal_pivot_does_no_work() {
    // the residual holds at every step's end, so the quadrature of v·r vanishes to Newton's tolerance
    let mut pendulum = Pendulum::new(Form::Residual);
    let (driver, _) = run(&mut pendulum, 0.8, Control::Constant { step: 0.01 }, 10.0);
    assert!(driver.quadratures()[0].abs() < 1e-7, "{:e}", driver.quadratures()[0]);
}

#[test]
fn crossings_at_fixed_and_variable_steps() {
    // through the lowest point at ¼, ¾, … of the period
    for (control, tolerance) in [
        (Control::Constant { step: 1e-3 }, 2e-5), // 10 s at order 2: phase error 1e-5
        (Control::error(1e-8, 1e-10), 2e-5),
    ] {
        let mut pendulum = Pendulum { with_event: true, ..Pendulum::new(Form::Residual) };
        let (driver, trace) = run(&mut pendulum, 0.9, control, 10.0);
        assert_eq!(pendulum.crossings.len(), 8, "{control:?}");
        assert_eq!(driver.stats().n_events, 8);
        for (i, t) in pendulum.crossings.iter().enumerate() {
            let exact = (0.25 + 0.5 * i as f64) * Pendulum::PERIOD;
            assert!((t - exact).abs() < tolerance, "{control:?}: crossing {i} at {t} instead of {exact}");
            // the step ends just past the root: a real state, not the interpolant's
            let landed = trace.t.iter().position(|at| at == t).unwrap();
            assert!(trace.y[landed][0].abs() < 1e-13, "{:e}", trace.y[landed][0]);
        }
    }
}

#[test]
fn events_keep_the_order() {
    let error = |step: f64| {
        let mut pendulum = Pendulum { with_event: true, ..Pendulum::new(Form::Residual) };
        let (driver, _) = run(&mut pendulum, 0.8, Control::Constant { step }, 10.0);
        (driver.y()[0] - pendulum.reference()[0]).abs()
    };
    let (coarse, fine) = (error(1e-3), error(2.5e-4));
    let order = (coarse / fine).log2() / 2.0;
    assert!((order - 2.0).abs() < 0.2, "order {order}, errors {coarse:e} {fine:e}");
}

#[test]
fn error_control_keeps_the_tolerance() {
    for rtol in [1e-4, 1e-6, 1e-8] {
        for form in [Form::Explicit, Form::Residual] {
            let mut pendulum = Pendulum::new(form);
            let (driver, _) = run(&mut pendulum, 0.8, Control::error(rtol, rtol), 10.0);
            let error = (driver.y()[0] - pendulum.reference()[0]).abs();
            let stats = driver.stats();
            println!("{form:?} rtol {rtol:e}: error {error:.1e}, {stats:?}");
            // one tolerance a step, added up: nothing damps or amplifies a phase error
            assert!(error < stats.n_accepted as f64 * rtol, "{form:?} rtol {rtol:e}: {error:e}");
            assert!(stats.n_rejected * 10 < stats.n_accepted);
        }
    }
}

#[test]
fn stick_slip_of_a_stiff_bristle() {
    // do2007 in first-order form: λ reaches 2.6e4; X(20 s) known to 7e-11
    let mut slider = Slider::with_event();
    let (t, y) = slider.start();
    let control = Control::error(1e-6, 1e-8);
    let mut driver = Driver::new(&mut slider, t, &y, Options::new(method(0.5), control)).unwrap();
    driver.advance(&mut slider, Slider::TAU_END, &mut ()).unwrap();
    println!("{:?}, error {:e}", driver.stats(), slider.error(driver.y()));
    assert_eq!(slider.n_kinks, 8);
    assert!(slider.error(driver.y()) < 1e-4);
}

#[test]
fn fixed_steps_pass_break_away() {
    // the slider jumps from 0.8 to 1.5 Stribeck velocities within one step, with a kink at every reversal
    for spectral_radius in [0.5, 0.8, 1.0] {
        let mut slider = Slider::without_event();
        let (t, y) = slider.start();
        let options = Options::new(method(spectral_radius), Control::Constant { step: 5e-3 });
        let mut driver = Driver::new(&mut slider, t, &y, options).unwrap();
        driver.advance(&mut slider, Slider::TAU_END, &mut ()).unwrap();
        println!("ρ∞ = {spectral_radius}: error {:.1e}", slider.error(driver.y()));
        assert!(slider.error(driver.y()) < 1e-3);
    }
}

/// F05: a rotor with eccentricity on a pin whose friction follows the load, which follows the acceleration: J a + µ r
/// |R| = 0,
/// |R| = m e √(ω⁴ + a²). With c = µ r m e/J < 1 the acceleration is a = −κ ω², κ = c/√(1 − c²). Never solved for a.
struct Rotor {
    c: f64,
}

impl System for Rotor {
    fn dim(&self) -> usize {
        2
    }

    fn second_order(&self) -> usize {
        1
    }

    fn form(&self) -> Form {
        Form::Residual
    }

    fn rhs(&mut self, _t: f64, _y: &[f64], _dy: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal { code: 1 })
    }

    fn residual(&mut self, _t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        r[0] = dy[0] - y[1];
        r[1] = dy[1] + self.c * (y[1].powi(4) + dy[1] * dy[1]).sqrt();
        Ok(())
    }
}

#[test]
fn load_dependent_friction_needs_no_inner_solve() {
    let (c, omega0, t_end) = (0.2f64, 40.0, 0.5);
    let kappa = c / (1.0 - c * c).sqrt();
    let exact = omega0 / (1.0 + kappa * omega0 * t_end);
    let run = |method, control| {
        let mut rotor = Rotor { c };
        let mut driver = Driver::new(&mut rotor, 0.0, &[0.0, omega0], Options::new(method, control)).unwrap();
        driver.advance(&mut rotor, t_end, &mut ()).unwrap();
        (driver.y()[1] / exact - 1.0).abs()
    };
    let (coarse, fine) =
        (run(method(0.8), Control::Constant { step: 1e-3 }), run(method(0.8), Control::Constant { step: 2.5e-4 }));
    let order = (coarse / fine).log2() / 2.0;
    assert!((order - 2.0).abs() < 0.2, "order {order}, errors {coarse:e} {fine:e}");
    assert!(run(method(0.8), Control::error(1e-8, 1e-8)) < 1e-5);
    assert!(run(Method::Radau5, Control::error(1e-10, 1e-10)) < 1e-9);
}

#[test]
fn jammed_pin_is_an_error() {
    // c ≥ 1: no acceleration balances friction
    for method in [method(0.8), Method::Radau5] {
        let mut rotor = Rotor { c: 1.2 };
        let options = Options::new(method, Control::error(1e-6, 1e-6));
        let mut driver = Driver::new(&mut rotor, 0.0, &[0.0, 40.0], options).unwrap();
        let error = driver.advance(&mut rotor, 0.5, &mut ()).unwrap_err();
        assert_eq!(error.last().map(|(t, _, y)| (t, y.to_vec())), Some((0.0, vec![0.0, 40.0])), "{error}");
    }
}

//! The open integrator set: published end values at rtol = atol = 10⁻¹⁰.

mod problems;

use bristle_integrate::{Control, Driver, Method, Options, Stats};
use problems::{CarAxis, Hires, Pleiades, Problem, Robertson, VanDerPol};

/// Largest relative error of the reference components at the end, and the work.
fn run<P: Problem>(mut problem: P, method: Method, tolerance: f64) -> (f64, Stats) {
    let (t, y) = problem.start();
    let t_end = problem.t_end();
    let options = Options::new(method, Control::error(tolerance, tolerance));
    let mut driver = Driver::new(&mut problem, t, &y, options).unwrap();
    driver.advance(&mut problem, t_end, &mut ()).unwrap();
    let error = problem.error(driver.y());
    let Stats { n_accepted, n_rejected, n_rhs, n_jacobian, n_factor, n_newton, .. } = *driver.stats();
    println!(
        "{:12} {method:?} {tolerance:e}: error {error:.1e}, {n_accepted}+{n_rejected} steps, {n_rhs} rhs, {n_jacobian} jac, {n_factor} lu, {n_newton} newton",
        P::NAME
    );
    (error, *driver.stats())
}

#[test]
fn van_der_pol_has_seven_digits() {
    assert!(run(VanDerPol::default(), Method::Radau5, 1e-10).0 < 1e-7);
}

#[test]
fn robertson_has_seven_digits_in_components_far_below_the_tolerance() {
    assert!(run(Robertson, Method::Radau5, 1e-10).0 < 1e-7);
}

#[test]
fn hires_has_seven_digits() {
    assert!(run(Hires, Method::Radau5, 1e-10).0 < 1e-7);
}

#[test]
fn pleiades_has_seven_digits() {
    assert!(run(Pleiades, Method::Radau5, 1e-10).0 < 1e-7);
    assert!(run(Pleiades, Method::Dopri5, 1e-10).0 < 1e-7);
}

#[test]
fn car_axis_has_seven_digits_in_its_positions() {
    assert!(run(CarAxis, Method::Radau5, 1e-10).0 < 1e-7);
}

#[test]
fn jacobians_by_differences_lose_nothing_and_are_counted() {
    let (error, stats) = run(VanDerPol { analytic: false, ..VanDerPol::default() }, Method::Radau5, 1e-8);
    let (_, analytic) = run(VanDerPol::default(), Method::Radau5, 1e-8);
    assert!(error < 1e-8);
    assert_eq!(analytic.n_difference_columns, 0);
    assert_eq!(stats.n_difference_columns, 3 * stats.n_jacobian);
    assert!(stats.n_accepted < analytic.n_accepted * 11 / 10);
}

//! The open integrator set: published end values at rtol = atol = 10⁻¹⁰.

use crate::problems::{CarAxis, Hires, Pleiades, Problem, Robertson, VanDerPol};
use bristle_integrate::{Control, Driver, Method, Options, Stats};

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
        "{:12} {method:?} {tolerance:e}: error {error:.1e}, {n_accepted}+{n_rejected} steps, {n_rhs} rhs, \
        {n_jacobian} jac, {n_factor} lu, {n_newton} newton",
        P::NAME
    );
    (error, *driver.stats())
}

#[test]
fn van_der_pol_has_seven_digits() {
    assert!(run(VanDerPol::default(), Method::Radau5, 1e-10).0 < 1e-7);
}

/// y₂, which never exceeds 4e-5, with an absolute tolerance of its own, 10⁻¹⁶.
#[test]
fn robertson_with_small_components() {
    assert!(run(Robertson, Method::Radau5, 1e-10).0 < 1e-7);
}

/// `Radau5` with the same absolute tolerance for all three unknowns, whatever the problem prefers.
fn uniform(rtol: f64, atol: f64) -> Options {
    Options { atol: Some(vec![atol; 3]), ..Options::new(Method::Radau5, Control::error(rtol, atol)) }
}

/// The same with atol = 10⁻¹⁰ for all three: y₁ = 2e-8 and y₂ = 8e-14 end far below it.
#[test]
fn robertson_with_one_tolerance() {
    let (t, y) = Robertson.start();
    let mut driver = Driver::new(&mut Robertson, t, &y, uniform(1e-10, 1e-10)).unwrap();
    driver.advance(&mut Robertson, Robertson.t_end(), &mut ()).unwrap();
    println!(
        "Robertson, atol 1e-10: {} steps, relative error {:.1e}",
        driver.stats().n_accepted,
        Robertson.error(driver.y())
    );
    assert!(Robertson.error(driver.y()) < 1e-7);
}

/// A known property of the problem (Hairer & Wanner, section IV.10): once concentrations are negative the equations
/// themselves carry them further, and an absolute tolerance of 1e-4 forbids nothing of it. scipy's Radau does the same.
#[test]
fn robertson_diverges_at_loose_tolerance() {
    let end = |rtol, atol: f64| {
        let (t, y) = Robertson.start();
        let mut driver = Driver::new(&mut Robertson, t, &y, uniform(rtol, atol)).unwrap();
        driver.advance(&mut Robertson, Robertson.t_end(), &mut ()).map(|_| driver.y().to_vec())
    };
    assert!(end(1e-4, 1e-4).unwrap()[0] < -1e3);
    assert!(Robertson.error(&end(1e-4, 1e-8).unwrap()) < 1e-2);
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
fn jacobians_by_differences_are_as_good() {
    let (error, stats) = run(VanDerPol { analytic: false, ..VanDerPol::default() }, Method::Radau5, 1e-8);
    let (_, analytic) = run(VanDerPol::default(), Method::Radau5, 1e-8);
    assert!(error < 1e-8);
    assert_eq!(analytic.n_difference_columns, 0);
    assert_eq!(stats.n_difference_columns, 3 * stats.n_jacobian);
    assert!(stats.n_accepted < analytic.n_accepted * 11 / 10);
}

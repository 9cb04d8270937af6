//! Work-precision slopes: under error control the error falls with the number of steps as the order says, within a
//! fifth.

use crate::problems::{CarAxis, Hires, Pendulum, Pleiades, Problem, VanDerPol};
use bristle_integrate::{Control, Driver, Form, Method, Options, Trace};

/// Steps and end error.
fn run<P: Problem>(mut problem: P, method: Method, tol: f64) -> (f64, f64) {
    let ((t, y), t_end) = (problem.start(), problem.t_end());
    let mut driver = Driver::new(&mut problem, t, &y, Options::new(method, Control::error(tol, tol))).unwrap();
    driver.advance(&mut problem, t_end, &mut ()).unwrap();
    (driver.stats().n_accepted as f64, problem.error(driver.y()))
}

/// −d log error / d log steps between two tolerances: far apart, because single errors scatter by a factor of several.
fn slope<P: Problem>(problem: &P, method: Method, loose: f64, tight: f64) -> f64 {
    let (n1, e1) = run(problem.clone(), method, loose);
    let (n2, e2) = run(problem.clone(), method, tight);
    let slope = (e1 / e2).ln() / (n2 / n1).ln();
    println!("{} {method:?}: {n1} steps {e1:.1e}, {n2} steps {e2:.1e}, slope {slope:.2}", P::NAME);
    slope
}

#[test]
fn radau5_falls_with_order_five() {
    let within = |slope: f64| (slope - 5.0).abs() <= 1.0;
    assert!(within(slope(&VanDerPol::default(), Method::Radau5, 1e-4, 1e-10)));
    assert!(within(slope(&Hires, Method::Radau5, 1e-4, 1e-10)));
    assert!(within(slope(&Pleiades, Method::Radau5, 1e-4, 1e-10)));
    assert!(within(slope(&CarAxis, Method::Radau5, 1e-4, 1e-10)));
    assert!(within(slope(&Pendulum::new(Form::Explicit), Method::Radau5, 1e-5, 1e-10)));
}

#[test]
fn dopri5_falls_with_order_five() {
    let within = |slope: f64| (slope - 5.0).abs() <= 1.0;
    assert!(within(slope(&Pendulum::new(Form::Explicit), Method::Dopri5, 1e-5, 1e-11)));
    assert!(within(slope(&Pleiades, Method::Dopri5, 1e-9, 1e-12)));
}

#[test]
fn generalized_alpha_falls_with_order_two() {
    let alpha = Method::GeneralizedAlpha { spectral_radius: 0.8 };
    let within = |slope: f64| (slope - 2.0).abs() <= 0.4;
    assert!(within(slope(&Pendulum::new(Form::Residual), alpha, 1e-4, 1e-9)));
    assert!(within(slope(&VanDerPol::default(), alpha, 1e-5, 1e-8)));
    assert!(within(slope(&Hires, alpha, 1e-5, 1e-9)));
    assert!(within(slope(&CarAxis, alpha, 1e-4, 1e-7)));
}

#[test]
fn generalized_alpha_has_order_two_between() {
    // against Radau5 at 1e-12, sampled between the steps
    let sample = |method, control| {
        let mut pendulum = Pendulum::new(Form::Residual);
        let (t, y) = pendulum.start();
        let mut trace = Trace::uniform(0.0, 0.0137);
        let mut driver = Driver::new(&mut pendulum, t, &y, Options::new(method, control)).unwrap();
        driver.advance(&mut pendulum, 2.0, &mut trace).unwrap();
        trace.y
    };
    let exact = sample(Method::Radau5, Control::error(1e-12, 1e-12));
    let error = |step: f64| {
        let alpha = sample(Method::GeneralizedAlpha { spectral_radius: 0.8 }, Control::Constant { step });
        assert_eq!(alpha.len(), exact.len());
        let distance = |(a, b): (&Vec<f64>, &Vec<f64>)| (a[0] - b[0]).abs().max((a[1] - b[1]).abs());
        alpha.iter().zip(&exact).map(distance).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(0.01), error(0.0025));
    let order = (coarse / fine).log2() / 2.0;
    assert!((order - 2.0).abs() < 0.2, "order {order}: {coarse:e} {fine:e}");
}

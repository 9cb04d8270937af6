//! Every error has time, step and the last accepted state; nothing panics, nothing hangs.

use bristle_integrate::linear::Matrix;
use bristle_integrate::{Control, Driver, Error, EvalError, Form, Method, Options, System};

const ALPHA: Method = Method::GeneralizedAlpha { spectral_radius: 0.8 };

/// One unknown, everything else by closure.
struct Scalar<F: FnMut(f64, f64) -> Result<f64, EvalError>>(F);

impl<F: FnMut(f64, f64) -> Result<f64, EvalError>> System for Scalar<F> {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = (self.0)(t, y[0])?;
        Ok(())
    }
}

fn adaptive(method: Method) -> Options {
    Options::new(method, Control::error(1e-8, 1e-10))
}

fn fail<S: System>(mut system: S, y: &[f64], options: Options, t_end: f64) -> (Error, f64, Vec<f64>) {
    let mut driver = Driver::new(&mut system, 0.0, y, options).unwrap();
    let error = driver.advance(&mut system, t_end, &mut ()).unwrap_err();
    let (t, h, state) = error.last().unwrap();
    // time and state of the error are those of the driver
    assert_eq!((t, state), (driver.t(), driver.y()));
    assert!(h > 0.0, "{error}");
    assert!(state.iter().all(|y| y.is_finite()));
    (error.clone(), driver.t(), driver.y().to_vec())
}

#[test]
fn blow_up_ends_in_step_too_small() {
    // y' = y², y = 1/(1 − t)
    for method in [Method::Dopri5, Method::Radau5, ALPHA] {
        let (error, t, y) = fail(Scalar(|_, y| Ok(y * y)), &[1.0], adaptive(method), 2.0);
        assert!(matches!(error, Error::StepTooSmall { .. }), "{method:?}: {error}");
        assert!((t - 1.0).abs() < 1e-3, "{method:?}: {error}");
        assert!(y[0] > 1e3);
    }
}

#[test]
fn non_finite_values_keep_the_last_state() {
    let wall = |t: f64, y: f64| Ok(if t > 0.5 { f64::NAN } else { -y });
    for method in [Method::Dopri5, Method::Radau5] {
        let (error, t, y) = fail(Scalar(wall), &[1.0], adaptive(method), 1.0);
        assert!(matches!(error, Error::NonFinite { component: 0, .. }), "{error}");
        assert!(t <= 0.5 && t > 0.499, "{method:?}: {t}");
        assert!((y[0] - (-t).exp()).abs() < 1e-7);
    }
    for method in [
        Method::Euler,
        Method::Rk4,
        Method::Trapezoidal,
        Method::Radau3,
        Method::MixedEuler,
        Method::LinearlyImplicitEuler,
        ALPHA,
    ] {
        let options = Options::new(method, Control::Constant { step: 0.1 });
        let (error, t, _) = fail(Scalar(wall), &[1.0], options, 1.0);
        assert!(matches!(error, Error::NonFinite { component: 0, .. }), "{method:?}: {error}");
        assert!(t < 0.61, "{method:?}: {error}");
    }
}

#[test]
fn retry_and_fatal_errors() {
    let retry = |t: f64, y: f64| if t > 0.5 { Err(EvalError::Retry) } else { Ok(-y) };
    let stop = |t: f64, y: f64| if t > 0.5 { Err(EvalError::Fatal { code: 42 }) } else { Ok(-y) };
    for method in [Method::Dopri5, Method::Radau5] {
        let (error, t, _) = fail(Scalar(retry), &[1.0], adaptive(method), 1.0);
        assert!(matches!(error, Error::System { code: None, .. }), "{error}");
        assert!((t - 0.5).abs() < 1e-9);
        let (error, t, _) = fail(Scalar(stop), &[1.0], adaptive(method), 1.0);
        assert!(matches!(error, Error::System { code: Some(42), .. }), "{error}");
        assert!(t <= 0.5);
    }
}

/// 0 · y' = 0: every Newton matrix is zero.
struct Nothing;

impl System for Nothing {
    fn dim(&self) -> usize {
        2
    }

    fn form(&self) -> Form {
        Form::Mass
    }

    fn mass(&mut self, m: &mut Matrix) {
        m.clear();
    }

    fn rhs(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy.fill(0.0);
        Ok(())
    }
}

#[test]
fn a_singular_newton_matrix_is_named() {
    let (error, t, _) = fail(Nothing, &[1.0, 2.0], adaptive(Method::Radau5), 1.0);
    assert!(matches!(error, Error::Singular { column: 0, .. }), "{error}");
    assert_eq!(t, 0.0);
    for method in [Method::Radau3, Method::Trapezoidal] {
        let options = Options::new(method, Control::Constant { step: 0.1 });
        let (error, ..) = fail(Nothing, &[1.0, 2.0], options, 1.0);
        assert!(matches!(error, Error::Singular { column: 0, h: 0.1, .. }), "{error}");
    }
}

#[test]
fn newton_failure_at_fixed_step_is_an_error() {
    // backward steps of y' = 10 + y² with h = 1 have no real solution
    for method in [Method::Trapezoidal, Method::Radau3, Method::Radau5] {
        let options = Options::new(method, Control::Constant { step: 1.0 });
        let (error, t, _) = fail(Scalar(|_, y| Ok(10.0 + y * y)), &[0.0], options, 5.0);
        assert!(matches!(error, Error::Newton { h: 1.0, .. }), "{method:?}: {error}");
        assert_eq!(t, 0.0);
    }
}

#[test]
fn step_budget_ends_a_run() {
    let mut options = adaptive(Method::Dopri5);
    options.max_steps = 100;
    // stiff: an explicit method needs a million steps
    let (error, t, _) = fail(Scalar(|t: f64, y| Ok(1e6 * (t.cos() - y))), &[1.0], options, 10.0);
    assert!(matches!(error, Error::StepBudget { steps: 100, .. }), "{error}");
    assert!(t > 0.0 && t < 10.0);
}

#[test]
fn invalid_input_is_refused_by_name() {
    let mut decay = Scalar(|_, y: f64| Ok(-y));
    let mut refused = |y: &[f64], options: Options| match Driver::new(&mut decay, 0.0, y, options) {
        Err(Error::Input { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[1.0, 2.0], adaptive(Method::Dopri5)), "number of unknowns");
    assert_eq!(refused(&[f64::NAN], adaptive(Method::Dopri5)), "state");
    assert_eq!(refused(&[1.0], Options::new(Method::Rk4, Control::error(1e-6, 1e-6))), "rtol");
    assert_eq!(refused(&[1.0], Options::new(Method::Dopri5, Control::error(-1.0, 1e-6))), "rtol");
    assert_eq!(refused(&[1.0], Options::new(Method::Rk4, Control::Constant { step: 0.0 })), "step");
    assert_eq!(refused(&[1.0], Options { max_step: f64::NAN, ..adaptive(Method::Dopri5) }), "max_step");
    assert_eq!(refused(&[1.0], Options { first_step: Some(-1.0), ..adaptive(Method::Dopri5) }), "first_step");
    assert_eq!(refused(&[1.0], Options { atol: Some(vec![]), ..adaptive(Method::Dopri5) }), "number of atol");
    for atol in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&[1.0], Options { atol: Some(vec![atol]), ..adaptive(Method::Dopri5) }), "atol");
    }
    let mass = Driver::new(&mut Nothing, 0.0, &[0.0; 2], adaptive(Method::Dopri5)).unwrap_err();
    assert!(matches!(mass, Error::NeedsImplicit { .. }));
    let mut driver = Driver::new(&mut decay, 0.0, &[1.0], adaptive(Method::Dopri5)).unwrap();
    for t_end in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(driver.advance(&mut decay, t_end, &mut ()), Err(Error::Input { what: "t_end", .. })));
    }
    assert_eq!(driver.y(), [1.0]);
}

#[test]
fn run_continues_after_an_error() {
    let mut is_open = false;
    let mut gate = Scalar(|t: f64, y: f64| if t > 0.5 && !is_open { Err(EvalError::Retry) } else { Ok(-y) });
    let mut driver = Driver::new(&mut gate, 0.0, &[1.0], adaptive(Method::Dopri5)).unwrap();
    driver.advance(&mut gate, 1.0, &mut ()).unwrap_err();
    is_open = true;
    let mut gate = Scalar(|_: f64, y: f64| if is_open { Ok(-y) } else { Err(EvalError::Retry) });
    driver.invalidate(&mut gate).unwrap();
    driver.advance(&mut gate, 1.0, &mut ()).unwrap();
    assert!((driver.y()[0] - (-1.0f64).exp()).abs() < 1e-7);
}

//! The driver as an embedding program sees it.

use bristle_integrate::linear::Matrix;
use bristle_integrate::{
    Control, Driver, EvalError, FiredEvent, Method, Options, Restart, Sink, Sparsity, Stats, StepRules, System, Trace,
};

/// A pendulum, q from hanging, energy relative to the top; ∫ v dt as a quadrature.
#[derive(Clone, Default)]
struct Pendulum {
    /// Whole turns taken out of q by `accepted`.
    turns: f64,
    rewinds: bool,
}

impl System for Pendulum {
    fn dim(&self) -> usize {
        2
    }

    fn second_order(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], -9.81 * y[0].sin());
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        jac.as_mut_slice().copy_from_slice(&[0.0, 1.0, -9.81 * y[0].cos(), 0.0]);
        Ok(true)
    }

    fn n_quadratures(&self) -> usize {
        2
    }

    fn quadratures(&mut self, _t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        // ∫ v dt = Δq, ∫ v v̇ dt = ½ Δv²
        (rate[0], rate[1]) = (y[1], y[1] * dy[1]);
        Ok(())
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }
}

impl StepRules for Pendulum {
    fn accepted(&mut self, _t: f64, y: &mut [f64]) -> Result<bool, EvalError> {
        let turn = std::f64::consts::TAU;
        if !self.rewinds || y[0].abs() < turn {
            return Ok(false);
        }
        self.turns += y[0].signum();
        y[0] -= turn * y[0].signum();
        Ok(true)
    }
}

fn tight(method: Method) -> Options {
    Options::new(method, Control::error(1e-11, 1e-11))
}

#[test]
fn small_advances_equal_one_run() {
    for method in [Method::Dopri5, Method::Radau5] {
        let mut pendulum = Pendulum::default();
        let options = Options::new(method, Control::error(1e-9, 1e-9));
        let mut long = Driver::new(&mut pendulum, 0.0, &[2.0, 0.0], options.clone()).unwrap();
        long.advance(&mut pendulum, 10.0, &mut ()).unwrap();
        let mut short = Driver::new(&mut pendulum, 0.0, &[2.0, 0.0], options).unwrap();
        for k in 1..=10_000 {
            short.advance(&mut pendulum, f64::from(k) * 1e-3, &mut ()).unwrap();
        }
        assert_eq!(short.t(), 10.0);
        assert!((short.y()[0] - long.y()[0]).abs() < 1e-7, "{method:?}");
        let Stats { n_accepted, n_rhs, n_factor, .. } = *short.stats();
        // one step each, with what the stepper remembers: the first derivative, or the factors
        assert_eq!(n_accepted, 10_000);
        assert!(n_rhs <= 7 * 10_000 + 100, "{method:?}: {n_rhs}");
        assert!(n_factor < 1000, "{method:?}: {n_factor}");
    }
}

#[test]
fn samples_are_uniform() {
    for method in [Method::Dopri5, Method::Radau5] {
        let mut pendulum = Pendulum::default();
        let mut trace = Trace::uniform(0.0, 0.1);
        let mut driver = Driver::new(&mut pendulum, 0.0, &[1.0, 0.0], tight(method)).unwrap();
        // in pieces that do not fit the samples
        for t in [0.33, 1.0, 1.01, 5.0] {
            driver.advance(&mut pendulum, t, &mut trace).unwrap();
        }
        assert_eq!(trace.t.len(), 51);
        for (k, ((t, y), quad)) in trace.t.iter().zip(&trace.y).zip(&trace.quad).enumerate() {
            assert_eq!(*t, k as f64 * 0.1);
            let energy = 0.5 * y[1] * y[1] - 9.81 * y[0].cos();
            assert!((energy + 9.81 * 1f64.cos()).abs() < 2e-8, "{method:?}: {energy}");
            assert!((quad[0] - (y[0] - 1.0)).abs() < 1e-8, "{method:?}: {quad:?} {y:?}");
            assert!((quad[1] - 0.5 * y[1] * y[1]).abs() < 1e-8, "{method:?}: {quad:?} {y:?}");
        }
    }
}

#[test]
fn change_of_chart_keeps_the_solution() {
    // fast enough for 20 full turns and more
    for method in [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.9 }] {
        let control = if method == Method::Dopri5 { 1e-11 } else { 1e-9 };
        let options = Options::new(method, Control::error(control, control));
        let mut plain = Pendulum::default();
        let mut driver = Driver::new(&mut plain, 0.0, &[0.0, 15.0], options.clone()).unwrap();
        driver.advance(&mut plain, 3.0, &mut ()).unwrap();
        let mut rewound = Pendulum { rewinds: true, ..Pendulum::default() };
        let mut charted = Driver::new(&mut rewound, 0.0, &[0.0, 15.0], options).unwrap();
        charted.advance(&mut rewound, 3.0, &mut ()).unwrap();
        assert!(rewound.turns >= 5.0 && charted.stats().n_charts as f64 == rewound.turns);
        let q = charted.y()[0] + rewound.turns * std::f64::consts::TAU;
        // generalized-α, order 2, has this error with either chart
        let limit = if matches!(method, Method::GeneralizedAlpha { .. }) { 1e-4 } else { 1e-6 };
        assert!((q - driver.y()[0]).abs() < limit, "{method:?}: {q} {}", driver.y()[0]);
        // quadratures do not know about charts
        assert!((charted.quadratures()[0] - q).abs() < limit, "{method:?}");
    }
}

/// A chain of n reactions, tridiagonal, without an analytic Jacobian.
struct Chain {
    n: usize,
    sparsity: Option<Sparsity>,
}

impl System for Chain {
    fn dim(&self) -> usize {
        self.n
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let n = self.n;
        for i in 0..n {
            let left = if i > 0 { y[i - 1] } else { 1.0 };
            let right = if i + 1 < n { y[i + 1] } else { 0.0 };
            dy[i] = 1e3 * (left - 2.0 * y[i] + right) - y[i] * y[i];
        }
        Ok(())
    }

    fn sparsity(&self) -> Option<&Sparsity> {
        self.sparsity.as_ref()
    }
}

#[test]
fn finite_differences_go_by_groups_of_columns() {
    let n = 20;
    let mut tridiagonal = Sparsity::new(n);
    for i in 0..n {
        for j in i.saturating_sub(1)..(i + 2).min(n) {
            tridiagonal.insert(i, j);
        }
    }
    let run = |sparsity| {
        let mut chain = Chain { n, sparsity };
        let options = Options::new(Method::Radau5, Control::error(1e-8, 1e-8));
        let mut driver = Driver::new(&mut chain, 0.0, &vec![0.0; n], options).unwrap();
        driver.advance(&mut chain, 1.0, &mut ()).unwrap();
        (driver.y().to_vec(), *driver.stats())
    };
    let (dense, dense_stats) = run(None);
    let (grouped, stats) = run(Some(tridiagonal));
    // a tridiagonal matrix has three groups; one evaluation more is the base point
    assert_eq!(stats.n_difference_columns, 4 * stats.n_jacobian);
    assert_eq!(dense_stats.n_difference_columns, (n + 1) * dense_stats.n_jacobian);
    assert!(dense.iter().zip(&grouped).all(|(a, b)| (a - b).abs() < 1e-9));
}

/// Components of very different size, one of them below any uniform tolerance that suits the other.
struct Mixed;

impl System for Mixed {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = 1e3 * t.cos();
        dy[1] = 1e-9 * (50.0 * t).cos() * 50.0 + 0.0 * y[0];
        Ok(())
    }

    fn absolute_tolerance(&self, atol: f64, each: &mut [f64]) {
        (each[0], each[1]) = (1e3 * atol, 1e-9 * atol);
    }
}

#[test]
fn tolerances_are_per_component() {
    let mut driver =
        Driver::new(&mut Mixed, 0.0, &[0.0, 0.0], Options::new(Method::Dopri5, Control::error(1e-12, 1e-8))).unwrap();
    driver.advance(&mut Mixed, 1.0, &mut ()).unwrap();
    assert!((driver.y()[0] / (1e3 * 1f64.sin()) - 1.0).abs() < 1e-8);
    assert!((driver.y()[1] / (1e-9 * 50f64.sin()) - 1.0).abs() < 1e-6);
}

#[test]
fn relative_tolerance_with_a_zero_component() {
    for method in [Method::Dopri5, Method::Radau5] {
        let mut pendulum = Pendulum::default();
        let options = Options::new(method, Control::error(1e-8, 0.0));
        let mut driver = Driver::new(&mut pendulum, 0.0, &[0.0, 0.0], options).unwrap();
        driver.advance(&mut pendulum, 1.0, &mut ()).unwrap();
        assert_eq!(driver.y(), [0.0, 0.0]);
    }
}

/// Semi-implicit Euler as the system's own method, bouncing between walls at ±1.
struct OwnStepper {
    bounces: usize,
}

impl System for OwnStepper {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], 0.0);
        Ok(())
    }

    fn system_step(
        &mut self,
        _t: f64,
        h: f64,
        y: &[f64],
        y_new: &mut [f64],
        quad: &mut [f64],
    ) -> Result<(), EvalError> {
        y_new[1] = y[1];
        y_new[0] = y[0] + h * y_new[1];
        quad[0] = h * y_new[1].abs();
        Ok(())
    }

    fn n_quadratures(&self) -> usize {
        1
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0].abs() - 1.0;
        Ok(())
    }

    fn switch(
        &mut self,
        _t: f64,
        y: &mut [f64],
        _quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        if fired == [(FiredEvent::Root { index: 0, rising: true })] {
            self.bounces += 1;
            (y[0], y[1]) = (y[0].signum(), -y[1]);
        }
        Ok(Restart::fresh(2))
    }
}

#[test]
fn system_step_has_events_and_quadratures() {
    let mut system = OwnStepper { bounces: 0 };
    let options = Options::new(Method::RealTime, Control::Constant { step: 0.3 });
    let mut driver = Driver::new(&mut system, 0.0, &[0.0, 1.0], options).unwrap();
    driver.advance(&mut system, 10.0, &mut ()).unwrap();
    // walls at 1, 3, 5, 7, 9; then 1 s back from −1 … +1
    assert_eq!(system.bounces, 5);
    assert!((driver.y()[0] - 0.0).abs() < 1e-12, "{:?}", driver.y());
    assert!((driver.quadratures()[0] - 10.0).abs() < 1e-12);
}

/// Counts the calls of a sink.
#[derive(Default)]
struct Calls {
    steps: Vec<f64>,
    events: Vec<(f64, Vec<f64>)>,
}

impl Sink<OwnStepper> for Calls {
    fn step(&mut self, _system: &mut OwnStepper, t: f64, _y: &[f64], _quad: &[f64]) {
        self.steps.push(t);
    }

    fn event(&mut self, _system: &mut OwnStepper, t: f64, y: &[f64], _quad: &[f64], _fired: &[FiredEvent]) {
        self.events.push((t, y.to_vec()));
    }
}

#[test]
fn sink_sees_states_before_and_after_switch() {
    let mut system = OwnStepper { bounces: 0 };
    let mut calls = Calls::default();
    let options = Options::new(Method::Rk4, Control::Constant { step: 0.3 });
    let mut driver = Driver::new(&mut system, 0.0, &[0.0, 1.0], options).unwrap();
    driver.advance(&mut system, 1.5, &mut calls).unwrap();
    assert_eq!(calls.steps.len(), driver.stats().n_accepted);
    assert_eq!(calls.events.len(), 1);
    let (t, y) = &calls.events[0];
    assert!(calls.steps.contains(t) && (t - 1.0).abs() < 1e-12);
    assert_eq!(y[..], [1.0, -1.0]);
}

/// Always returns the same sample time.
struct Stubborn(usize);

impl Sink<Pendulum> for Stubborn {
    fn next_sample(&self) -> f64 {
        0.0
    }

    fn sample(&mut self, _system: &mut Pendulum, _t: f64, _y: &[f64], _quad: &[f64]) {
        self.0 += 1;
    }
}

#[test]
fn sink_with_constant_sample_time_does_not_hang() {
    let mut pendulum = Pendulum::default();
    let mut sink = Stubborn(0);
    let mut driver = Driver::new(&mut pendulum, 0.0, &[1.0, 0.0], tight(Method::Dopri5)).unwrap();
    driver.advance(&mut pendulum, 1.0, &mut sink).unwrap();
    assert_eq!(sink.0, 1 + driver.stats().n_accepted);
}

#[test]
fn run_continues_from_a_set_state() {
    let mut pendulum = Pendulum::default();
    let mut driver = Driver::new(&mut pendulum, 0.0, &[1.0, 0.0], tight(Method::Dopri5)).unwrap();
    driver.advance(&mut pendulum, 1.0, &mut ()).unwrap();
    driver.set_state(&mut pendulum, &[0.5, 0.0]).unwrap();
    driver.advance(&mut pendulum, 2.0, &mut ()).unwrap();
    let mut fresh = Driver::new(&mut pendulum, 0.0, &[0.5, 0.0], tight(Method::Dopri5)).unwrap();
    fresh.advance(&mut pendulum, 1.0, &mut ()).unwrap();
    assert!((driver.y()[0] - fresh.y()[0]).abs() < 1e-9);
    assert_eq!(driver.t(), 2.0);
}

/// y' = −y, that may not fall by more than a tenth of its start in a step, or be wrong by more than `bound`.
struct Decay {
    bound: f64,
    has_violation: bool,
    /// Largest difference between the rate of the interpolant and the equation's.
    defect: f64,
}

impl System for Decay {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = -y[0];
        Ok(())
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }
}

impl StepRules for Decay {
    fn bound_tolerances(&mut self, _t: f64, _h: f64, _y: &[f64], each: &mut [f64]) {
        each.fill(self.bound);
    }

    fn has_violation(&self) -> bool {
        self.has_violation
    }

    fn violation(&mut self, _t: f64, _h: f64, y0: &[f64], y: &[f64], dy: &[f64]) -> f64 {
        let violation = (y0[0] - y[0]).abs() / (0.1 * y0[0]);
        if violation <= 1.0 {
            self.defect = self.defect.max((dy[0] + y[0]).abs());
        }
        violation
    }
}

const ESTIMATING: [Method; 3] = [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }];

#[test]
fn step_rules_reject_violations() {
    for method in ESTIMATING {
        let options = Options::new(method, Control::error(0.5, 0.5));
        let run = |has_violation: bool| {
            let mut decay = Decay { bound: f64::INFINITY, has_violation, defect: 0.0 };
            let mut driver = Driver::new(&mut decay, 0.0, &[1.0], options.clone()).unwrap();
            let mut trace = Trace::steps();
            driver.advance(&mut decay, 3.0, &mut trace).unwrap();
            let worst = trace.y.windows(2).map(|pair| (pair[0][0] - pair[1][0]) / pair[0][0]).fold(0.0, f64::max);
            (worst, driver.stats().n_rejected, decay.defect)
        };
        let (worst, n_rejected, defect) = run(true);
        assert!(worst <= 0.1 + 1e-12 && n_rejected > 0, "{method:?}: {worst}");
        // Newton leaves a hundredth of the tolerance, which is 1 at y = 1
        assert!(defect > 0.0 && defect < 1e-2, "{method:?}: rates that are off by {defect:e}");
        assert!(run(false).0 > 0.2, "{method:?}: it did not need to be told");
    }
}

#[test]
fn step_rules_bound_tolerances() {
    for method in ESTIMATING {
        let mut steps = [0, 0];
        for (bound, steps) in [1e-8, f64::INFINITY].into_iter().zip(&mut steps) {
            let mut decay = Decay { bound, has_violation: false, defect: 0.0 };
            let options = Options::new(method, Control::error(0.1, 0.1));
            let mut driver = Driver::new(&mut decay, 0.0, &[1.0], options).unwrap();
            driver.advance(&mut decay, 1.0, &mut ()).unwrap();
            *steps = driver.stats().n_accepted;
            let error = (driver.y()[0] - f64::exp(-1.0)).abs();
            assert!(bound > 1.0 || error < 100.0 * bound, "{method:?}: {error:e}");
        }
        assert!(steps[0] > steps[1], "{method:?}: {steps:?}");
    }
}

/// At rest within |y| < 10; cannot be evaluated beyond.
struct Fenced;

impl System for Fenced {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = 1.0;
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = 10.0 - y[0];
        if y[0] < 10.0 { Ok(()) } else { Err(EvalError::Fatal { code: 7 }) }
    }
}

#[test]
fn refused_state_keeps_the_former() {
    let mut driver = Driver::new(&mut Fenced, 0.0, &[1.0], tight(Method::Dopri5)).unwrap();
    driver.advance(&mut Fenced, 2.0, &mut ()).unwrap();
    let before = driver.y().to_vec();
    assert!((before[0] - 3.0).abs() < 1e-12);
    assert!(driver.set_state(&mut Fenced, &[11.0]).is_err());
    assert_eq!(driver.y(), before);
    // and the run goes on from there
    driver.set_state(&mut Fenced, &before).unwrap();
    driver.advance(&mut Fenced, 3.0, &mut ()).unwrap();
    assert!((driver.y()[0] - 4.0).abs() < 1e-12);
}

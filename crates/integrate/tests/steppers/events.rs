//! Events: located, landed on, counted, bounded.

use bristle_integrate::{
    Control, Direction, Driver, Error, EvalError, FiredEvent, Method, Options, Restart, System, Trace,
};
use std::f64::consts::PI;

const ALL: [Method; 9] = [
    Method::Euler,
    Method::MixedEuler,
    Method::LinearlyImplicitEuler,
    Method::Rk4,
    Method::Trapezoidal,
    Method::Radau3,
    Method::Dopri5,
    Method::Radau5,
    Method::GeneralizedAlpha { spectral_radius: 0.9 },
];

/// y = (sin ωt, cos ωt) · amplitude with event functions cᵢ·(y − level).
#[derive(Clone)]
struct Oscillator {
    levels: Vec<f64>,
    directions: Vec<Direction>,
    /// Times and states just past each event.
    seen: Vec<(f64, f64, Vec<FiredEvent>)>,
}

impl Oscillator {
    fn new(levels: &[f64], directions: &[Direction]) -> Self {
        Oscillator { levels: levels.to_vec(), directions: directions.to_vec(), seen: vec![] }
    }
}

impl System for Oscillator {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], -y[0]);
        Ok(())
    }

    fn n_events(&self) -> usize {
        self.levels.len()
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g.iter_mut().zip(&self.levels).for_each(|(g, level)| *g = y[0] - level);
        Ok(())
    }

    fn direction(&self, index: usize) -> Direction {
        self.directions[index]
    }

    fn switch(&mut self, t: f64, y: &mut [f64], _quad: &mut [f64], fired: &[FiredEvent]) -> Result<Restart, EvalError> {
        self.seen.push((t, y[0], fired.to_vec()));
        Ok(Restart::unchanged(2))
    }
}

pub fn tight(method: Method) -> Options {
    Options::new(method, Control::error(1e-12, 1e-12))
}

fn run(oscillator: &mut Oscillator, options: Options, y: [f64; 2], t_end: f64) -> Driver {
    let mut driver = Driver::new(oscillator, 0.0, &y, options).unwrap();
    driver.advance(oscillator, t_end, &mut ()).unwrap();
    driver
}

#[test]
fn start_at_zero_is_not_fired_nor_missed() {
    // y = sin t: the root at t = 0 is where we start, those at π and 2π are events
    for method in [Method::Dopri5, Method::Radau5] {
        let mut oscillator = Oscillator::new(&[0.0], &[Direction::Any]);
        run(&mut oscillator, tight(method), [0.0, 1.0], 7.0);
        let times: Vec<f64> = oscillator.seen.iter().map(|seen| seen.0).collect();
        assert_eq!(times.len(), 2, "{method:?}: {times:?}");
        assert!((times[0] - PI).abs() < 1e-10 && (times[1] - 2.0 * PI).abs() < 1e-10, "{method:?}: {times:?}");
    }
    // one step over the whole half period and a root inside it
    let mut oscillator = Oscillator::new(&[0.0], &[Direction::Any]);
    run(&mut oscillator, Options::new(Method::Radau5, Control::Constant { step: 3.3 }), [0.0, 1.0], 3.3);
    assert_eq!(oscillator.seen.len(), 1);
}

#[test]
fn directions_select_roots() {
    let count = |direction| {
        let mut oscillator = Oscillator::new(&[0.5], &[direction]);
        run(&mut oscillator, tight(Method::Dopri5), [0.0, 1.0], 4.0 * PI);
        oscillator.seen.iter().map(|seen| (seen.0, seen.2[0])).collect::<Vec<_>>()
    };
    let rising = count(Direction::Rising);
    let falling = count(Direction::Falling);
    assert_eq!((rising.len(), falling.len(), count(Direction::Any).len()), (2, 2, 4));
    assert!((rising[1].0 - (2.0 * PI + PI / 6.0)).abs() < 1e-10);
    assert!((falling[0].0 - 5.0 * PI / 6.0).abs() < 1e-10);
    assert_eq!(rising[0].1, FiredEvent::Root { index: 0, rising: true });
    assert_eq!(falling[0].1, FiredEvent::Root { index: 0, rising: false });
}

#[test]
fn coincident_events_are_reported_together() {
    // the third differs from the first two by one part in 10¹⁰: another instant
    let mut oscillator = Oscillator::new(&[0.5, 0.5, 0.5 + 1e-10], &[Direction::Any; 3]);
    run(&mut oscillator, tight(Method::Dopri5), [0.0, 1.0], 1.0);
    let fired: Vec<usize> = oscillator.seen.iter().map(|seen| seen.2.len()).collect();
    assert_eq!(fired, [2, 1]);
}

#[test]
fn coincident_roots_respect_direction() {
    // sin t rises through ½ at π/6 and falls through it at 5π/6
    let mut oscillator = Oscillator::new(&[0.5, 0.5], &[Direction::Rising, Direction::Falling]);
    run(&mut oscillator, tight(Method::Dopri5), [0.0, 1.0], 4.0);
    let fired: Vec<&[FiredEvent]> = oscillator.seen.iter().map(|seen| &seen.2[..]).collect();
    let (rises, falls) = (FiredEvent::Root { index: 0, rising: true }, FiredEvent::Root { index: 1, rising: false });
    assert_eq!(fired, [&[rises][..], &[falls][..]]);
}

#[test]
fn every_stepper_lands_just_past_the_root() {
    for method in ALL {
        let mut oscillator = Oscillator::new(&[0.5], &[Direction::Any]);
        run(&mut oscillator, Options::new(method, Control::Constant { step: 0.01 }), [0.0, 1.0], PI);
        assert_eq!(oscillator.seen.len(), 2, "{method:?}");
        let past = [oscillator.seen[0].1 - 0.5, 0.5 - oscillator.seen[1].1];
        for past in past {
            // a real step ends beyond the level by the time resolution of the landing, not by the error of the
            // interpolant
            assert!(past > 0.0 && past < 1e-12, "{method:?}: {past:e}");
        }
    }
}

#[test]
fn event_times_converge_with_the_method() {
    let error = |step: f64| {
        let mut oscillator = Oscillator::new(&[0.5], &[Direction::Falling]);
        run(&mut oscillator, Options::new(Method::Rk4, Control::Constant { step }), [0.0, 1.0], PI);
        (oscillator.seen[0].0 - 5.0 * PI / 6.0).abs()
    };
    let order = (error(0.1) / error(0.05)).log2();
    assert!((order - 4.0).abs() < 0.2, "{order}");
}

#[test]
fn two_roots_within_one_step_are_found() {
    // sin t − 0.9999 is positive for 0.028 around π/2; steps of 1.0 sample every quarter
    for method in [Method::Rk4, Method::Dopri5, Method::Radau5] {
        let mut oscillator = Oscillator::new(&[0.99], &[Direction::Any]);
        run(&mut oscillator, Options::new(method, Control::Constant { step: 0.8 }), [0.0, 1.0], 3.0);
        assert_eq!(oscillator.seen.len(), 2, "{method:?}: {:?}", oscillator.seen);
        let root = 0.99f64.asin();
        // fixed steps of 0.8: the methods themselves are off by up to 1e-2 there
        assert!((oscillator.seen[0].0 - root).abs() < 0.03, "{method:?}: {:?}", oscillator.seen);
    }
}

/// A ball that bounces with restitution e: the bounces accumulate at t = t₁ (1 + e)/(1 − e).
struct Ball {
    restitution: f64,
    /// Put the ball on the ground exactly, so that its event function starts at zero, or leave it where the step ended,
    /// just below?
    on_ground: bool,
    bounces: Vec<f64>,
}

impl System for Ball {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], -9.81);
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0];
        Ok(())
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn switch(
        &mut self,
        t: f64,
        y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        self.bounces.push(t);
        y[1] *= -self.restitution;
        if self.on_ground {
            y[0] = 0.0;
        }
        Ok(Restart::fresh(2))
    }
}

#[test]
fn bouncing_ball_ends_in_zeno_error() {
    let fixed = |method| Options::new(method, Control::Constant { step: 0.01 });
    // all of them follow a parabola exactly
    for options in [tight(Method::Dopri5), tight(Method::Radau5), fixed(Method::Rk4), fixed(Method::Trapezoidal)] {
        let method = options.method;
        let mut ball = Ball { restitution: 0.8, on_ground: true, bounces: vec![] };
        let t1 = (2.0 / 9.81f64).sqrt();
        let mut driver = Driver::new(&mut ball, 0.0, &[1.0, 0.0], options).unwrap();
        let error = driver.advance(&mut ball, 10.0, &mut ()).unwrap_err();
        // bounce k at t₁ (1 + 2 Σ e^j, j = 1 … k)
        let mut exact = t1;
        for k in 0..20 {
            assert!((ball.bounces[k] - exact).abs() < 1e-11, "{method:?} bounce {k}: {} {exact}", ball.bounces[k]);
            exact += 2.0 * t1 * 0.8f64.powi(k as i32 + 1);
        }
        let zeno = t1 * 1.8 / 0.2;
        match error {
            Error::EventBudget { t, event, ref state, .. } => {
                assert!((t - zeno).abs() < 1e-9, "{method:?}: {t} {zeno}");
                assert_eq!(event, FiredEvent::Root { index: 0, rising: false });
                assert!(state[0].abs() < 1e-12 && driver.t() == t);
            }
            other => panic!("{method:?}: {other}"),
        }
        assert!(ball.bounces.len() < 500);
    }
}

#[test]
fn ball_just_below_ground_does_not_fall_through() {
    // steps far longer than a flight: no sample sees the ball above the ground
    let fixed = |method| Options::new(method, Control::Constant { step: 0.5 });
    let loose = |method| Options::new(method, Control::error(1e-6, 1e-6));
    let alpha = Method::GeneralizedAlpha { spectral_radius: 0.9 };
    let adaptive = [Method::Dopri5, Method::Radau5, alpha].map(loose);
    for options in adaptive.into_iter().chain([Method::Rk4, Method::Trapezoidal, Method::Radau3].map(fixed)) {
        let method = options.method;
        let mut ball = Ball { restitution: 0.5, on_ground: false, bounces: vec![] };
        let t1 = (2.0 / 9.81f64).sqrt();
        let mut driver = Driver::new(&mut ball, 0.0, &[1.0, 0.0], options).unwrap();
        driver.advance(&mut ball, 2.99 * t1, &mut ()).unwrap();
        // t₁ (3 − 2⁻ᵏ⁺¹) < 2.99 t₁ for k up to 7
        assert_eq!(ball.bounces.len(), 8, "{method:?}: {:?}", ball.bounces);
        for (k, bounce) in ball.bounces.iter().enumerate() {
            let exact = t1 * (3.0 - 0.5f64.powi(k as i32 - 1));
            assert!((bounce - exact).abs() < 1e-8, "{method:?} bounce {k}: {bounce} {exact}");
        }
    }
}

/// Two roots 0.02 apart of a function of time alone: a method steps over them with a step that grows without bound.
struct Clock {
    seen: Vec<f64>,
}

impl System for Clock {
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
        g[0] = (y[0] - 0.55) * (y[0] - 0.57);
        Ok(())
    }

    fn switch(
        &mut self,
        t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        self.seen.push(t);
        Ok(Restart::unchanged(1))
    }
}

#[test]
fn two_roots_before_the_first_sample_are_found() {
    for method in [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }] {
        let mut clock = Clock { seen: vec![] };
        let options = Options::new(method, Control::error(1e-6, 1e-6));
        let mut driver = Driver::new(&mut clock, 0.0, &[0.0], options).unwrap();
        driver.advance(&mut clock, 10.0, &mut ()).unwrap();
        assert!(driver.stats().n_accepted < 12, "{method:?}");
        assert_eq!(clock.seen.len(), 2, "{method:?}: {:?}", clock.seen);
        assert!(
            (clock.seen[0] - 0.55).abs() < 1e-9 && (clock.seen[1] - 0.57).abs() < 1e-9,
            "{method:?}: {:?}",
            clock.seen
        );
    }
}

/// y = t, with an event function t² that round-off makes negative just after the start, on interpolants only.
#[derive(Default)]
struct Rounded {
    /// Time of the last evaluation of the right-hand side: the end of a real step.
    t_last: f64,
}

impl System for Rounded {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, t: f64, _y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        self.t_last = t;
        dy[0] = 1.0;
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, t: f64, _y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = if t != self.t_last && t > 0.0 && t < 2e-13 { -1e-22 } else { t * t + 1e-250 };
        Ok(())
    }
}

#[test]
fn spurious_root_keeps_state_and_time_together() {
    let mut system = Rounded::default();
    let options = Options::new(Method::Rk4, Control::Constant { step: 1e-5 });
    let mut driver = Driver::new(&mut system, 0.0, &[0.0], options).unwrap();
    let mut trace = Trace::steps();
    driver.advance(&mut system, 1e-4, &mut trace).unwrap();
    assert!(trace.events.is_empty(), "{:?}", trace.events);
    assert!(driver.stats().n_landings > 5, "{:?}", driver.stats());
    for (t, y) in trace.t.iter().zip(&trace.y) {
        assert!((y[0] - t).abs() < 1e-15, "t {t:e}: off by {:e}", y[0] - t);
    }
}

/// Falling roots of two functions of time: one at 0.08; the other a dip from 0.078 to 0.162 that no sample of a step of
/// 1 sees.
struct HiddenDip {
    seen: Vec<(f64, Vec<FiredEvent>)>,
}

impl System for HiddenDip {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        dy[0] = 1.0;
        Ok(())
    }

    fn n_events(&self) -> usize {
        2
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = 0.08 - y[0];
        g[1] = 1.0 - 2.0 * (-((y[0] - 0.12) / 0.05).powi(2)).exp();
        Ok(())
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn switch(
        &mut self,
        t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        self.seen.push((t, fired.to_vec()));
        Ok(Restart::unchanged(1))
    }
}

#[test]
fn root_of_the_landing_step_fires_on_time() {
    for method in [Method::Rk4, Method::Dopri5, Method::Radau5] {
        let mut system = HiddenDip { seen: vec![] };
        let options = Options::new(method, Control::Constant { step: 1.0 });
        let mut driver = Driver::new(&mut system, 0.0, &[0.0], options).unwrap();
        driver.advance(&mut system, 1.1, &mut ()).unwrap();
        let seen: Vec<_> = system.seen.iter().map(|(t, fired)| (*t, fired.as_slice())).collect();
        let [(first, [FiredEvent::Root { index: 1, .. }]), (second, [FiredEvent::Root { index: 0, .. }])] = seen[..]
        else {
            panic!("{method:?}: {seen:?}")
        };
        // 2 exp(−x²) = 1
        let dip = 0.12 - 0.05 * 2.0_f64.ln().sqrt();
        assert!((first - dip).abs() < 1e-12 && (second - 0.08).abs() < 1e-12, "{method:?}: {first} {second}");
    }
}

/// q falls below a level by little, and comes back within the same step.
struct Dip {
    level: f64,
    seen: Vec<f64>,
}

impl Dip {
    const DECELERATION: f64 = 5.1;
    const BEGIN: f64 = 0.1368;
    /// Frequency of the deceleration, rad/s: enough for interpolants and steps to differ.
    const FREQUENCY: f64 = 20.0;
}

impl System for Dip {
    fn dim(&self) -> usize {
        2
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], Self::DECELERATION * (Self::FREQUENCY * (t - Self::BEGIN)).cos());
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0] - self.level;
        Ok(())
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn switch(&mut self, t: f64, _y: &mut [f64], _quad: &mut [f64], _: &[FiredEvent]) -> Result<Restart, EvalError> {
        self.seen.push(t);
        Ok(Restart::unchanged(2))
    }
}

/// The function is exactly zero for longer than rounding of time: a hundred units in the last place of t change q by
/// less than one of its own.
#[test]
fn a_function_that_is_zero_to_rounding_crosses() {
    let (begin, v) = (Dip::BEGIN, -4.15e-4_f64);
    for method in [Method::Dopri5, Method::Radau5] {
        for k in 0..200 {
            let gap = 1e-9 * (1.0 + 0.005 * f64::from(k));
            let mut dip = Dip { level: 0.342_840_863_857_418_3, seen: vec![] };
            let y = [dip.level + gap, v];
            let options = Options { first_step: Some(9e-4), ..Options::new(method, Control::error(1e-8, 1e-10)) };
            let mut driver = Driver::new(&mut dip, begin, &y, options).unwrap();
            driver.advance(&mut dip, begin + 1e-3, &mut ()).unwrap();
            // g₀ + v t + ½ a t² = 0 so early; a unit in the last place of q at that speed is 1.3e-13 s
            let root = (-v - (v * v - 2.0 * Dip::DECELERATION * (y[0] - dip.level)).sqrt()) / Dip::DECELERATION;
            assert!(dip.seen.len() == 1, "{method:?} {gap:e}: {:?}", dip.seen);
            assert!((dip.seen[0] - begin - root).abs() < 1e-12, "{method:?} {gap:e}: {:e}", dip.seen[0] - begin - root);
        }
    }
}

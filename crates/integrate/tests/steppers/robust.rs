//! For any behaviour of a system a run ends with a result or an error, never with a panic or a hang, and its state is
//! finite.

use bristle_integrate::{
    Control, Direction, Driver, EvalError, FiredEvent, Form, Method, Options, Restart, StepRules, System, Trace,
};

/// Marsaglia's xorshift64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// Misbehaves at random: wrong numbers, refusals, changing dimensions, events everywhere.
struct Hostile {
    random: Random,
    n: usize,
    n_events: usize,
    form: Form,
    /// One evaluation in this many misbehaves.
    rarity: usize,
}

impl Hostile {
    fn trouble(&mut self) -> Result<(), EvalError> {
        if !self.random.chance(self.rarity) {
            return Ok(());
        }
        Err(if self.random.chance(4) { EvalError::Fatal { code: 7 } } else { EvalError::Retry })
    }

    fn spoil(&mut self, values: &mut [f64]) {
        if !values.is_empty() && self.random.chance(self.rarity) {
            let i = self.random.below(values.len());
            values[i] = [f64::NAN, f64::INFINITY, -1e300, 0.0][self.random.below(4)];
        }
    }
}

impl System for Hostile {
    fn dim(&self) -> usize {
        self.n
    }

    fn max_dim(&self) -> usize {
        6
    }

    fn form(&self) -> Form {
        self.form
    }

    fn second_order(&self) -> usize {
        if self.n >= 4 { 1 } else { 0 }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        self.trouble()?;
        for i in 0..dy.len() {
            dy[i] = (3.0 * t + i as f64).sin() - 50.0 * y[i] * y[(i + 1) % y.len()];
        }
        if self.second_order() == 1 {
            dy[0] = y[1];
        }
        self.spoil(dy);
        Ok(())
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        self.rhs(t, y, r)?;
        r.iter_mut().zip(dy).for_each(|(r, dy)| *r = dy - *r);
        Ok(())
    }

    fn n_quadratures(&self) -> usize {
        1
    }

    fn quadratures(&mut self, _t: f64, y: &[f64], _dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        rate[0] = y.iter().sum();
        self.trouble()
    }

    fn n_events(&self) -> usize {
        self.n_events
    }

    fn max_events(&self) -> usize {
        3
    }

    fn events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        for (i, g) in g.iter_mut().enumerate() {
            *g = (10.0 * t).sin() - 0.3 * i as f64 + y.first().copied().unwrap_or(0.0);
        }
        self.spoil(g);
        self.trouble()
    }

    fn direction(&self, index: usize) -> Direction {
        [Direction::Any, Direction::Rising, Direction::Falling][index % 3]
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        // now and then one that has passed already
        Some((t * 4.0).ceil() / 4.0)
    }

    fn switch(
        &mut self,
        _t: f64,
        y: &mut [f64],
        quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        self.trouble()?;
        self.spoil(y);
        quad[0] += 1.0;
        self.n_events = self.random.below(4);
        if self.random.chance(3) {
            return Ok(Restart::unchanged(self.n));
        }
        // sometimes more than was announced
        let bound = if self.random.chance(50) { 9 } else { 7 };
        self.n = self.random.below(bound);
        for i in 0..self.n.min(y.len()) {
            y[i] = 0.1 * i as f64;
        }
        let step = if self.random.chance(20) { Some([0.0, -1.0, f64::NAN, 0.1][self.random.below(4)]) } else { None };
        Ok(Restart { step, ..Restart::fresh(self.n) })
    }

    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        Some(self)
    }
}

impl StepRules for Hostile {
    fn prescribed_step(&mut self, _t: f64, _y: &[f64]) -> f64 {
        [0.0, 0.01, 0.1, f64::NAN, f64::INFINITY][self.random.below(5)]
    }

    fn accepted(&mut self, _t: f64, _y: &mut [f64]) -> Result<bool, EvalError> {
        self.trouble()?;
        Ok(self.random.chance(10))
    }
}

#[test]
fn nothing_panics_and_nothing_hangs() {
    let mut random = Random(88172645463325252);
    let methods = [
        Method::Euler,
        Method::MixedEuler,
        Method::LinearlyImplicitEuler,
        Method::Rk4,
        Method::Dopri5,
        Method::Trapezoidal,
        Method::Radau3,
        Method::Radau5,
        Method::GeneralizedAlpha { spectral_radius: 0.7 },
        Method::RealTime,
    ];
    let controls = [
        Control::Constant { step: 0.05 },
        Control::error(1e-6, 1e-8),
        Control::error(1e-4, 1e-3), // with a tolerance of each unknown, below
        Control::error(1e-3, 0.0),
        Control::Prescribed,
    ];
    let (mut n_done, mut n_refused, mut n_failed) = (0, 0, 0);
    for _ in 0..20_000 {
        let mut system = Hostile {
            n: random.below(7),
            n_events: random.below(4),
            form: [Form::Explicit, Form::Mass, Form::Residual][random.below(3)],
            rarity: [20, 300, 10_000, usize::MAX][random.below(4)],
            random: random.clone(),
        };
        random.below(2);
        let method = methods[random.below(methods.len())];
        let mut options = Options::new(method, controls[random.below(controls.len())]);
        options.atol = (options.control == controls[2]).then(|| vec![1e-3; 6]);
        options.max_steps = 100;
        options.event_burst = 20;
        options.event_rate = 10.0;
        options.event_samples = random.below(6);
        let y = vec![0.1; system.n];
        let Ok(mut driver) = Driver::new(&mut system, 0.0, &y, options) else {
            n_refused += 1;
            continue;
        };
        let mut trace = Trace::uniform(0.0, 0.1);
        match driver.advance(&mut system, 2.0, &mut trace) {
            Ok(_) => n_done += 1,
            Err(_) => n_failed += 1,
        }
        assert!(driver.t() >= 0.0 && driver.t() <= 2.0);
        if system.rarity == usize::MAX {
            assert!(driver.y().iter().all(|y| y.is_finite()), "{method:?}: {:?}", driver.y());
        }
    }
    println!("{n_done} done, {n_failed} failed, {n_refused} refused");
    assert!(n_done > 500 && n_failed > 500 && n_refused > 500);
}

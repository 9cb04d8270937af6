//! The time of a driver whose steps have one length, for programs that make the steps of many systems at once.

use super::Driver;
use crate::clock::Clock;
use crate::{Control, Stepper};

/// The clock of a driver with constant steps: the steps that [`Driver::advance_by`] would take from here, one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedSteps {
    t: f64,
    step: f64,
    ticks: Clock,
    periods: Clock,
    period: Clock,
}

impl FixedSteps {
    /// Time reached, s.
    pub fn t(&self) -> f64 {
        self.t
    }

    /// Length of the steps, s; the last of a period may be shorter.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Begins a period of length `dt`: a call of [`Driver::advance_by`].
    pub fn begin(&mut self, dt: f64) {
        self.period = self.periods.after(self.t, dt);
    }

    /// The end of the period, s.
    pub fn end(&self) -> f64 {
        self.period.t()
    }

    /// Takes a step and returns its length, s; `None` at the end of the period.
    pub fn advance(&mut self) -> Option<f64> {
        let rest = self.end() - self.t;
        if rest <= 0.0 {
            self.periods = self.period;
            return None;
        }
        // exactly to the end if the step nearly reaches it
        if self.step * (1.0 + 1e-8) >= rest {
            self.t = self.end();
            return Some(rest);
        }
        self.ticks = self.ticks.after(self.t, self.step);
        self.t = self.ticks.t();
        Some(self.step)
    }
}

impl Driver {
    /// The clock, if steps have a constant length and nothing limits the next one.
    pub fn fixed_steps(&self) -> Option<FixedSteps> {
        let Control::Constant { step } = self.options.control else { return None };
        let is_free = self.h_cap == f64::INFINITY && !self.is_terminated && step > 0.0;
        let (step, period) = (step.min(self.options.max_step), self.periods);
        is_free.then_some(FixedSteps { t: self.t, step, ticks: self.ticks, periods: self.periods, period })
    }

    /// Sets the clock to one that tells the driver's time.
    pub fn set_clock(&mut self, clock: &FixedSteps) {
        (self.ticks, self.periods) = (clock.ticks, clock.periods);
    }

    /// Takes over `n` steps that were made elsewhere, on a system of the same dimension: the clock after them, the
    /// state there and the rise of the quadratures.
    pub fn take_steps(&mut self, clock: &FixedSteps, n: usize, y: &[f64], rise: impl Iterator<Item = f64>) {
        self.t = clock.t;
        self.set_clock(clock);
        self.y[..self.n].copy_from_slice(y);
        self.quad.iter_mut().zip(rise).for_each(|(quad, rise)| *quad += rise);
        self.stats.n_accepted += n;
        self.n_planned += n;
        self.stepper.restart(self.n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Options, System};

    struct Rest;

    impl System for Rest {
        fn dim(&self) -> usize {
            1
        }

        fn rhs(&mut self, _: f64, _: &[f64], dy: &mut [f64]) -> Result<(), crate::EvalError> {
            dy.fill(0.0);
            Ok(())
        }
    }

    /// The clock is that of the driver to the last bit, also where a period is no multiple of the step.
    #[test]
    fn clock_tells_the_time_of_the_driver() {
        for (step, dt) in [(1e-3, 1e-3), (1e-3, 7.3e-3), (0.1, 0.3), (3e-3, 1e-3), (1e-3, 2e-2)] {
            let options = Options::new(Method::Euler, Control::Constant { step });
            let mut driver = Driver::new(&mut Rest, 0.1, &[0.0], options).unwrap();
            let mut clock = driver.fixed_steps().unwrap();
            for _ in 0..1000 {
                driver.advance_by(&mut Rest, dt, &mut ()).unwrap();
                clock.begin(dt);
                while clock.advance().is_some() {}
                assert_eq!(Some(clock), driver.fixed_steps());
            }
        }
    }
}

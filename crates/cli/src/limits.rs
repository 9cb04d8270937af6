//! Causes that end a run early: the user, a shortage of memory, a number of steps, a time on the clock. Each is looked
//! at after every step, every row and every attempt at a step; rows so far are kept, and the message says which it was.

use crate::interrupt::Interrupt;
use clap::Args;
use std::time::{Duration, Instant};

/// Steps of a run where nothing else is said: hours to days of computing.
const MAX_STEPS: u64 = 10_000_000_000;

/// Limits of a run, as they are given.
#[derive(Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Limits of the run")]
pub struct Budget {
    /// Steps of the integration at most: beyond, the run fails and its rows are kept
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    max_steps: u64,
    /// Time on the clock at most, s, reading the scene and starting the machine included: beyond, the run fails and its
    /// rows are kept; no limit by default
    #[arg(long, value_name = "S", value_parser = seconds, allow_hyphen_values = true)]
    max_time: Option<Duration>,
}

/// A length of time.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "give a number of seconds that is not negative, such as 3600".into())
}

/// Limits of a run that is under way.
#[derive(Debug, Clone)]
pub struct Limits {
    interrupt: Interrupt,
    budget: Budget,
    start: Instant,
    n_steps: u64,
}

impl Limits {
    /// The clock runs since `start`.
    pub fn new(interrupt: Interrupt, budget: Budget, start: Instant) -> Self {
        Self { interrupt, budget, start, n_steps: 0 }
    }

    /// One more step.
    pub fn count_step(&mut self) {
        self.n_steps += 1;
    }

    /// Whether one of them is met.
    pub fn is_met(&self) -> bool {
        self.interrupt.is_asked() || self.n_steps >= self.budget.max_steps || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.budget.max_time.is_some_and(|time| self.start.elapsed() >= time)
    }

    /// Which of them.
    pub fn reason(&self) -> String {
        if self.interrupt.is_asked() {
            self.interrupt.reason().into()
        } else if self.n_steps >= self.budget.max_steps {
            format!("the limit of {} steps is met (--max-steps)", self.budget.max_steps)
        } else {
            let time = self.budget.max_time.unwrap_or_default().as_secs_f64();
            format!("the limit of {time} s on the clock is met (--max-time)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_run_counts() {
        let budget = Budget { max_steps: 1, max_time: Some(Duration::from_secs(5)) };
        let Some(start) = Instant::now().checked_sub(Duration::from_secs(6)) else { return };
        assert!(Limits::new(Interrupt::default(), budget, start).is_met());
        assert!(!Limits::new(Interrupt::default(), budget, Instant::now()).is_met());
    }
}

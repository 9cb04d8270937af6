//! Instants at which rows are recorded.

/// Instants at which rows are recorded: multiples of an interval, and the end; or the ends of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Samples {
    interval: f64,
    /// Rows at the ends of steps instead.
    is_every_step: bool,
    /// A whole number of samples per second, where there is one: k/100 is a rounder number than k·0.01.
    per_second: Option<f64>,
}

impl Samples {
    pub fn new(interval: f64, is_every_step: bool) -> Self {
        let rate = (1.0 / interval).round();
        let is_whole = rate >= 1.0 && rate.is_finite() && (rate * interval - 1.0).abs() < 1e-12;
        Self { interval, is_every_step, per_second: is_whole.then_some(rate) }
    }

    /// Time between instants, s.
    pub fn interval(&self) -> f64 {
        self.interval
    }

    /// Whether rows are recorded at the ends of steps instead.
    pub fn is_every_step(&self) -> bool {
        self.is_every_step
    }

    /// Instant number `k`.
    pub fn at(&self, k: u64) -> f64 {
        let k = k as f64;
        self.per_second.map_or(k * self.interval, |rate| k / rate)
    }

    /// Number of the first instant after `t`, rounding errors aside.
    pub fn after(&self, t: f64) -> u64 {
        // a cast of a number out of range saturates
        ((t / self.interval + 1e-9).floor() as u64).saturating_add(1)
    }

    /// Whether `t` and `end` are the same instant up to rounding errors.
    pub fn coincide(&self, t: f64, end: f64) -> bool {
        (t - end).abs() <= 1e-9 * self.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_round_numbers() {
        let samples = Samples::new(0.01, false);
        assert_eq!(samples.at(7), 0.07);
        assert_eq!(samples.at(123456), 1234.56);
        assert_eq!(
            (samples.after(0.0), samples.after(0.07), samples.after(0.0699), samples.after(0.075)),
            (1, 8, 7, 8)
        );
        assert_eq!(Samples::new(0.3, false).at(2), 0.6);
        assert_eq!(Samples::new(1000.0, false).at(3), 3000.0);
    }
}

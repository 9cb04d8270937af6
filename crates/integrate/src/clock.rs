//! Time that is counted, not summed.
//!
//! ```text
//!     t = t₀ + n h
//! ```
//!
//! A sum of n rounded steps is off by up to n roundings, 1.6e-6 s after 1e7 steps of 1 ms. As long as steps of one
//! length follow one another the clock counts them, and time is rounded twice for any n. Another length, or a time that
//! is not the clock's, begins a new count there.

/// Steps of one length. See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Clock {
    /// Where the count began, s.
    start: f64,
    /// Length of the steps, s.
    h: f64,
    /// How many there were: a whole number, exact up to 2⁵³.
    n: f64,
}

crate::archive::archived!(Clock { start, h, n });

impl Clock {
    /// The clock after one more step of length `h` from time `t`.
    pub fn after(self, t: f64, h: f64) -> Self {
        let is_same = h == self.h && t == self.t();
        let (start, n) = if is_same { (self.start, self.n) } else { (t, 0.0) };
        Self { start, h, n: n + 1.0 }
    }

    /// Time of the clock, s.
    pub fn t(self) -> f64 {
        self.start + self.n * self.h
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_time_has_no_drift() {
        let mut clock = Clock::default();
        for _ in 0..10_000_000 {
            clock = clock.after(clock.t(), 1e-3);
        }
        assert_eq!(clock.t(), 1e4);
        // another length or another time begins a new count
        let clock = clock.after(clock.t(), 0.25).after(1e4 + 0.25, 0.25);
        assert_eq!(clock.t(), 1e4 + 0.5);
        assert_eq!(clock.after(7.0, 0.25).t(), 7.25);
    }
}

//! Where Newton for accelerations starts: along the straight line in time through the last two that were found.
//!
//! ```text
//! a(t) ≈ a₁ + (t − t₁)/(t₁ − t₀) (a₁ − a₀)
//! ```
//!
//! Stages of a step are not in order of time, and some coincide: of two found at the same time the later counts. Far from both, and
//! after an event, which makes accelerations jump, the last one found is taken as it is.

use bristle_integrate::archive::{Archive, Archived};

/// The line is followed over this many times the distance between its points: the last ninth of a Dormand–Prince step has
/// to do for stages of the next, and for looks back at the whole step.
const FAR: f64 = 10.0;

/// Accelerations found before.
#[derive(Debug, Clone)]
pub(super) struct Predictor {
    /// Found last, and before that at another time.
    last: Vec<f64>,
    before: Vec<f64>,
    /// When, s; NaN where that is not known.
    t_last: f64,
    t_before: f64,
}

impl Predictor {
    pub fn new(n_v: usize) -> Self {
        Self { last: vec![0.0; n_v], before: vec![0.0; n_v], t_last: f64::NAN, t_before: f64::NAN }
    }

    /// `a` was found at `t`.
    pub fn record(&mut self, t: f64, a: &[f64]) {
        if t != self.t_last {
            std::mem::swap(&mut self.last, &mut self.before);
            self.t_before = self.t_last;
        }
        self.last.copy_from_slice(a);
        self.t_last = t;
    }

    /// `a` is all there is to go by.
    pub fn forget(&mut self, a: &[f64]) {
        self.last.copy_from_slice(a);
        (self.t_last, self.t_before) = (f64::NAN, f64::NAN);
    }

    /// Those of the velocities in `active` found last, into `a`.
    pub fn recall(&self, active: &[usize], a: &mut [f64]) {
        active.iter().for_each(|&i| a[i] = self.last[i]);
    }

    /// What they may be at `t`, into `a`.
    pub fn predict(&self, t: f64, active: &[usize], a: &mut [f64]) {
        let along = (t - self.t_last) / (self.t_last - self.t_before);
        // a NaN is not near
        if along.abs() <= FAR {
            active.iter().for_each(|&i| a[i] = self.last[i] + along * (self.last[i] - self.before[i]));
        } else {
            self.recall(active, a);
        }
    }
}

impl Archived for Predictor {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { last, before, t_last, t_before } = self;
        last.archive(archive);
        before.archive(archive);
        t_last.archive(archive);
        t_before.archive(archive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerations_are_extended_along_a_line_and_no_further() {
        let (mut predictor, mut a) = (Predictor::new(2), [0.0; 2]);
        let mut at = |predictor: &Predictor, t: f64| {
            predictor.predict(t, &[1], &mut a);
            a
        };
        predictor.record(1.0, &[5.0, 3.0]);
        assert_eq!(at(&predictor, 1.5), [0.0, 3.0], "one alone is no line");
        predictor.record(1.5, &[5.0, 3.25]);
        predictor.record(1.5, &[5.0, 3.5]);
        assert_eq!(at(&predictor, 2.0), [0.0, 4.0]);
        assert_eq!(at(&predictor, 1.0), [0.0, 3.0]);
        assert_eq!(at(&predictor, 7.0), [0.0, 3.5], "too far");
        predictor.forget(&[5.0, -1.0]);
        assert_eq!(at(&predictor, 1.6), [0.0, -1.0], "an event");
    }
}

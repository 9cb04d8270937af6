//! Start of Newton for accelerations: linear extrapolation in time of the last two solutions.
//!
//! ```text
//! a(t) ≈ a₁ + (t − t₁)/(t₁ − t₀) (a₁ − a₀)
//! ```
//!
//! Stages of a step are not in order of time, and some coincide: of two solutions at the same time the later one
//! counts. Far from both, and after an event, at which accelerations jump, the last solution is the start.

use super::archive::archived;

/// Limit of the extrapolation in units of the distance between the two times: the last ninth of a Dormand–Prince step
/// must serve the stages of the next one, and evaluations anywhere in the last step.
const FAR: f64 = 10.0;

/// The last two solutions.
#[derive(Debug)]
pub(crate) struct Predictor {
    /// The last solution, and the one before at another time.
    last: Vec<f64>,
    before: Vec<f64>,
    /// Their times, s; NaN where unknown.
    t_last: f64,
    t_before: f64,
}

impl Clone for Predictor {
    fn clone(&self) -> Self {
        Self { last: self.last.clone(), before: self.before.clone(), ..*self }
    }

    /// Copies another one of the same length; allocates nothing.
    fn clone_from(&mut self, other: &Self) {
        self.last.clone_from(&other.last);
        self.before.clone_from(&other.before);
        (self.t_last, self.t_before) = (other.t_last, other.t_before);
    }
}

impl Predictor {
    pub fn new(n_v: usize) -> Self {
        Self { last: vec![0.0; n_v], before: vec![0.0; n_v], t_last: f64::NAN, t_before: f64::NAN }
    }

    /// Records the solution `a` at `t`.
    pub fn record(&mut self, t: f64, a: &[f64]) {
        if t != self.t_last {
            std::mem::swap(&mut self.last, &mut self.before);
            self.t_before = self.t_last;
        }
        self.last.copy_from_slice(a);
        self.t_last = t;
    }

    /// Discards both; `a` is the only start.
    pub fn forget(&mut self, a: &[f64]) {
        self.last.copy_from_slice(a);
        (self.t_last, self.t_before) = (f64::NAN, f64::NAN);
    }

    /// Copies the last solution into `a` for the velocities in `active`.
    pub fn recall(&self, active: &[usize], a: &mut [f64]) {
        active.iter().for_each(|&i| a[i] = self.last[i]);
    }

    /// Extrapolates to `t`, into `a`.
    pub fn predict(&self, t: f64, active: &[usize], a: &mut [f64]) {
        let along = (t - self.t_last) / (self.t_last - self.t_before);
        // false for NaN
        if along.abs() <= FAR {
            active.iter().for_each(|&i| a[i] = self.last[i] + along * (self.last[i] - self.before[i]));
        } else {
            self.recall(active, a);
        }
    }
}

archived!(Predictor { last, before, t_last, t_before });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extrapolation_is_linear_and_bounded() {
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

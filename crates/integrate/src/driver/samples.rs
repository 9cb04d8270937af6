//! Samples within a step: y(t + θh) and Q(t + θh) of the interpolant, 0 < θ ≤ 1.

use super::Driver;
use crate::{Sink, Stepper, System};

impl Driver {
    /// Samples within the step just made, of length `h` to `t_new`. A stepper without dense output knows its results at
    /// the ends of steps only: a sample that rounding has put just before or behind the end is taken there.
    pub(super) fn emit_samples<S: System>(&mut self, system: &mut S, sink: &mut dyn Sink<S>, t_new: f64, h: f64) {
        let (t, n) = (self.t, self.n);
        let near = if self.stepper.has_dense_output() { 0.0 } else { 1e-9 * h };
        while sink.next_sample() <= t_new + near && !sink.is_stopped() {
            let at = sink.next_sample();
            let is_end = at >= t_new - near;
            let theta = if is_end { 1.0 } else { ((at - t) / h).clamp(0.0, 1.0) };
            if is_end {
                self.y_at[..n].copy_from_slice(self.stepper.y_new());
            } else {
                self.stepper.interpolate(theta, &mut self.y_at[..n]);
            }
            self.stepper.interpolate_quadratures(theta, &mut self.quad_at);
            self.quad_at.iter_mut().zip(&self.quad).for_each(|(at, start)| *at += start);
            sink.sample(system, at, &self.y_at[..n], &self.quad_at);
            // a sink that asks for the same time again gets it with the next step
            if sink.next_sample() <= at {
                break;
            }
        }
    }
}

//! Output: a [`Sink`] receives samples, steps and events as they happen.

use crate::{FiredEvent, System};

/// y(t + θh) of an accepted step into the slice, 0 ≤ θ ≤ 1.
pub type Interpolant<'a> = dyn Fn(f64, &mut [f64]) + 'a;

/// Receives output, a few calls in each step. Every method may use the system, which still has the discrete state of
/// that step.
pub trait Sink<S: System> {
    /// The next time at which a sample is wanted; must grow with every call of `sample`.
    fn next_sample(&self) -> f64 {
        f64::INFINITY
    }

    /// The state at `next_sample`, from the interpolant.
    fn sample(&mut self, _system: &mut S, _t: f64, _y: &[f64], _quad: &[f64]) {}

    /// The state after an accepted step; at an event, before `switch`.
    fn step(&mut self, _system: &mut S, _t: f64, _y: &[f64], _quad: &[f64]) {}

    /// Whether [`Sink::interval`] and [`Sink::before_event`] are wanted.
    fn follows_steps(&self) -> bool {
        false
    }

    /// An accepted step of length `h` from `t`, before its samples, if [`Sink::follows_steps`].
    fn interval(&mut self, _system: &mut S, _t: f64, _h: f64, _y: &Interpolant<'_>) {}

    /// Events fired at t; the state is the one before `switch`. Called if [`Sink::follows_steps`].
    fn before_event(&mut self, _system: &mut S, _t: f64, _y: &[f64], _fired: &[FiredEvent]) {}

    /// Events fired at t; the state is the one after `switch`.
    fn event(&mut self, _system: &mut S, _t: f64, _y: &[f64], _quad: &[f64], _fired: &[FiredEvent]) {}

    /// Whether the run is to end where it is; asked before every step, between attempts at it, and between its samples.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// No output.
impl<S: System> Sink<S> for () {}

/// Keeps states in memory: every step, or samples at uniform times, and the events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Start and interval of uniform samples; every accepted step if `None`.
    uniform: Option<(f64, f64)>,
    /// Times.
    pub t: Vec<f64>,
    /// States at these times.
    pub y: Vec<Vec<f64>>,
    /// Quadratures at these times.
    pub quad: Vec<Vec<f64>>,
    /// Events, each with its time.
    pub events: Vec<(f64, FiredEvent)>,
}

impl Trace {
    /// Keeps every accepted step.
    pub fn steps() -> Self {
        Trace::default()
    }

    /// Keeps samples at `start`, `start + interval`, …
    pub fn uniform(start: f64, interval: f64) -> Self {
        Trace { uniform: Some((start, interval)), ..Trace::default() }
    }

    fn push(&mut self, t: f64, y: &[f64], quad: &[f64]) {
        self.t.push(t);
        self.y.push(y.to_vec());
        self.quad.push(quad.to_vec());
    }
}

impl<S: System> Sink<S> for Trace {
    fn next_sample(&self) -> f64 {
        self.uniform.map_or(f64::INFINITY, |(start, interval)| start + self.t.len() as f64 * interval)
    }

    fn sample(&mut self, _system: &mut S, t: f64, y: &[f64], quad: &[f64]) {
        self.push(t, y, quad);
    }

    fn step(&mut self, _system: &mut S, t: f64, y: &[f64], quad: &[f64]) {
        if self.uniform.is_none() {
            self.push(t, y, quad);
        }
    }

    fn event(&mut self, _system: &mut S, t: f64, _y: &[f64], _quad: &[f64], fired: &[FiredEvent]) {
        self.events.extend(fired.iter().map(|&fired| (t, fired)));
    }
}

//! The loop: step, controller, events, output, budgets, statistics.
//!
//! ```text
//!     plan h ─▶ step ─▶ error? ─▶ sign changes on the interpolant? ─▶ output ─▶ accept ─▶ switch ─▶ accepted
//!       ▲         rejected │                     │ yes: step again, to just past the first root
//!       └──────────────────┴─────────────────────┘
//! ```
//!
//! A [`Driver`] keeps time, state and the memory of the stepper between calls of [`Driver::advance`], so that an
//! embedding program may advance it by small intervals: each call shortens one step and does not restart. For output at
//! many times a [`Sink`] gets it from the interpolant, which shortens no step. A driver does not own the system: pass
//! the same one every time.
//!
//! **Time** is counted where steps are of one length, those of a fixed-step rule and those of [`Driver::advance_by`]: n
//! steps of h end at t₀ + n h to rounding.

mod first_step;
mod fixed_steps;
mod landing;
mod samples;
mod switching;

use crate::clock::Clock;
use crate::control::ErrorControl;
use crate::events::Locator;
use crate::linear::Shortage;
use crate::method::AnyStepper;
use crate::options::{check_options, check_state};
use crate::step_rules::violation;
use crate::{
    Attempt, Error, EvalError, Failure, FiredEvent, Options, Sink, Stats, Step, StepRules, Stepper, System, Tolerance,
};
pub use fixed_steps::FixedSteps;
use landing::{MAX_DOUBTS, Search};

/// How a call of [`Driver::advance`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the time asked for.
    Reached,
    /// At an event that said [`Restart::terminate`](crate::Restart::terminate).
    Terminated,
    /// At the request of the sink: [`Sink::is_stopped`].
    Stopped,
}

/// Largest size of a stepper's matrices in bytes: 10,000 unknowns of Radau5.
pub const MAX_MATRIX_BYTES: u64 = 4_000_000_000;

/// A run in progress. See the [module](self).
#[derive(Clone, Debug)]
pub struct Driver {
    options: Options,
    stepper: AnyStepper,
    control: ErrorControl,
    tolerance: Tolerance,
    t: f64,
    /// Counts steps of a fixed length.
    ticks: Clock,
    /// Counts calls of [`Driver::advance_by`].
    periods: Clock,
    /// Active unknowns.
    n: usize,
    /// The state; `max_dim`, the active unknowns first.
    y: Vec<f64>,
    quad: Vec<f64>,
    stats: Stats,
    /// Step planned next under error control; 0 if it has to be estimated.
    h_next: f64,
    /// Bound on the first step after an event.
    h_cap: f64,
    locator: Locator,
    /// Scratch: a state, quadratures, event functions, derivatives.
    y_at: Vec<f64>,
    quad_at: Vec<f64>,
    g: Vec<f64>,
    g_slope: Vec<f64>,
    f0: Vec<f64>,
    f1: Vec<f64>,
    fired: Vec<FiredEvent>,
    /// Events still allowed in quick succession, as of `tokens_t`; steps of the planned length since then; where the
    /// run began.
    tokens: f64,
    tokens_t: f64,
    n_planned: usize,
    t_begin: f64,
    is_terminated: bool,
    /// The stepper has its matrices.
    is_reserved: bool,
}

crate::archive::archived!(Driver {
    stepper, control, tolerance, t, ticks, periods, n, y, quad, stats, h_next, h_cap, locator, y_at, quad_at, g,
    g_slope, f0, f1, tokens, tokens_t, n_planned, t_begin, is_terminated
} without options, fired, is_reserved; fits |it| it.n <= it.y.len());

impl Driver {
    /// Starts at (t, y); `y` has the system's active dimension.
    pub fn new<S: System>(system: &mut S, t: f64, y: &[f64], options: Options) -> Result<Self, Error> {
        let n = system.dim();
        let n_max = system.max_dim().max(n);
        let n_quad = system.n_quadratures();
        check_options(system, t, y, &options)?;
        let max_events = system.max_events().max(system.n_events());
        let mut state = vec![0.0; n_max];
        state[..n].copy_from_slice(y);
        let mut driver = Driver {
            stepper: AnyStepper::new(options.method, n_max, n_quad, options.control.tolerances().is_none()),
            control: ErrorControl::new(options.control.rule(options.method)),
            tolerance: Tolerance::new(options.newton_rtol, vec![options.newton_atol; n_max]),
            t,
            ticks: Clock::default(),
            periods: Clock::default(),
            n,
            y: state,
            quad: vec![0.0; n_quad],
            stats: Stats::default(),
            h_next: options.first_step.unwrap_or(0.0),
            h_cap: f64::INFINITY,
            locator: Locator::new(max_events, options.event_samples),
            y_at: vec![0.0; n_max],
            quad_at: vec![0.0; n_quad],
            g: vec![0.0; max_events],
            g_slope: vec![0.0; max_events],
            f0: vec![0.0; n_max],
            f1: vec![0.0; n_max],
            fired: Vec::with_capacity(max_events + 1),
            tokens: options.event_burst as f64,
            tokens_t: t,
            n_planned: 0,
            t_begin: t,
            is_terminated: false,
            is_reserved: false,
            options,
        };
        driver.restart(system)?;
        Ok(driver)
    }

    /// Whether everything is of the size that the system has: not so, perhaps, after it was read from an
    /// [`archive`](crate::archive).
    pub fn fits<S: System>(&self, system: &S) -> bool {
        let (n, n_events) = (self.n, system.n_events());
        let is_set_up = n_events == 0 || self.locator.n() == n_events;
        n <= self.y.len() && n == system.dim() && self.stepper.y_new().len() == n && is_set_up
    }

    /// Time reached.
    pub fn t(&self) -> f64 {
        self.t
    }

    /// The state at [`Driver::t`]; active unknowns only.
    pub fn y(&self) -> &[f64] {
        &self.y[..self.n]
    }

    /// The quadratures at [`Driver::t`].
    pub fn quadratures(&self) -> &[f64] {
        &self.quad
    }

    /// Cost of the run so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The system or its inputs have changed from outside, between calls: y and f are new. The planned step is kept.
    pub fn invalidate<S: System>(&mut self, system: &mut S) -> Result<(), Error> {
        self.restart(system)
    }

    /// Largest number of steps in one call of [`Driver::advance`]: [`Options::max_steps`](crate::Options::max_steps),
    /// from now on.
    pub fn set_max_steps(&mut self, steps: usize) {
        self.options.max_steps = steps;
    }

    /// Sets the quadratures to zero.
    pub fn reset_quadratures(&mut self) {
        self.quad.fill(0.0);
    }

    /// Replaces the state (and the dimension, if the system's has changed), keeping time and statistics. Where that is
    /// refused the state is what it was; a state has to be set, this one or another, before the next step.
    pub fn set_state<S: System>(&mut self, system: &mut S, y: &[f64]) -> Result<(), Error> {
        check_state(system, self.t, y)?;
        let n = y.len();
        if n > self.y.len() {
            return Err(Error::Input { what: "dimension", value: n as f64, reason: "at most max_dim at construction" });
        }
        let before = self.n;
        self.y_at[..before].copy_from_slice(&self.y[..before]);
        self.n = n;
        self.y[..n].copy_from_slice(y);
        self.is_terminated = false;
        let restarted = self.restart(system);
        if restarted.is_err() {
            // refused: back to the former state, for a system that is back to its own
            self.n = before;
            self.y[..before].copy_from_slice(&self.y_at[..before]);
        }
        restarted
    }

    /// Advances by `dt`, or to an event that terminates: n calls with one `dt` end n·dt after the first began, to
    /// rounding.
    pub fn advance_by<S: System>(&mut self, system: &mut S, dt: f64, sink: &mut dyn Sink<S>) -> Result<Outcome, Error> {
        let periods = self.periods.after(self.t, dt);
        let outcome = self.advance(system, periods.t(), sink)?;
        if self.t == periods.t() {
            self.periods = periods;
        }
        Ok(outcome)
    }

    /// Advances to `t_end`, exactly, or to an event that terminates.
    pub fn advance<S: System>(&mut self, system: &mut S, t_end: f64, sink: &mut dyn Sink<S>) -> Result<Outcome, Error> {
        if !t_end.is_finite() || t_end < self.t {
            return Err(Error::Input { what: "t_end", value: t_end, reason: "finite and not before the present time" });
        }
        self.reserve()?;
        // samples due at the present time
        let mut last = f64::NEG_INFINITY;
        while sink.next_sample() <= self.t && sink.next_sample() > last && !self.is_terminated {
            last = sink.next_sample();
            sink.sample(system, self.t, &self.y[..self.n], &self.quad);
        }
        let mut steps = 0;
        while self.t < t_end && !self.is_terminated {
            if sink.is_stopped() {
                return Ok(Outcome::Stopped);
            }
            if steps == self.options.max_steps {
                return Err(Error::StepBudget { t: self.t, h: self.h_next, steps, state: self.y().to_vec() });
            }
            self.step(system, t_end, sink)?;
            steps += 1;
        }
        Ok(if self.is_terminated { Outcome::Terminated } else { Outcome::Reached })
    }

    /// Bytes of the stepper's matrices.
    pub fn matrix_bytes(&self) -> u64 {
        self.stepper.matrix_bytes()
    }

    /// Room for the matrices of the stepper, before its first step.
    fn reserve(&mut self) -> Result<(), Error> {
        if self.is_reserved {
            return Ok(());
        }
        let (unknowns, bytes) = (self.y.len(), self.stepper.matrix_bytes());
        if bytes > MAX_MATRIX_BYTES {
            return Err(Error::Memory { unknowns, bytes, limit: MAX_MATRIX_BYTES });
        }
        self.stepper.reserve().map_err(|Shortage| Error::Memory { unknowns, bytes, limit: 0 })?;
        self.is_reserved = true;
        Ok(())
    }

    /// Bounds on the tolerances of a step of length `h` from here: [`StepRules::bound_tolerances`], for this stepper.
    fn bound_tolerances<S: System>(&mut self, system: &mut S, h: f64) {
        let y = &self.y[..self.n];
        if let Some(rules) = system.step_rules() {
            rules.bound_tolerances(self.t, h, y, &mut self.tolerance.bound[..self.n]);
        }
        if self.stepper.estimates_itself() {
            self.tolerance.halve_steps(y);
        }
    }

    /// Accepts exactly one step, not beyond `t_end`; none if the sink stops the run before an attempt succeeds.
    pub fn step<S: System>(&mut self, system: &mut S, t_end: f64, sink: &mut dyn Sink<S>) -> Result<(), Error> {
        let (t, n) = (self.t, self.n);
        let time_event = system.next_time_event(t).filter(|&event| event > t);
        let t_stop = time_event.map_or(t_end, |event| event.min(t_end));
        let is_adaptive = self.options.control.tolerances().is_some();
        let exponent = self.stepper.error_exponent().unwrap_or(1.0);
        let h_cap = self.h_cap;

        let is_guarded = self.options.control.is_guarded();
        // functions of the state alone: a first step is estimated with these bounds
        if is_guarded {
            self.bound_tolerances(system, self.h_next);
        }
        let mut wanted = self.plan(system, t_stop)?;
        // shortened for the sake of an event that may follow at once
        let is_capped = wanted == h_cap;
        let h_lost = 8.0 * f64::EPSILON * t.abs();
        let mut h;
        let mut lands;
        let (mut has_failed, mut n_doubts) = (false, 0);
        let landing;
        let mut attempt = Attempt::explicit(f64::NAN);
        let mut is_first = true;
        loop {
            // a request to stop does not wait for an accepted attempt: there may be many
            if !std::mem::take(&mut is_first) && sink.is_stopped() {
                self.h_cap = h_cap;
                return Ok(());
            }
            // exactly to the stop if the step nearly reaches it
            let rest = t_stop - t;
            lands = wanted * (1.0 + 1e-8) >= rest;
            h = if lands { rest } else { wanted };
            if is_guarded {
                self.bound_tolerances(system, h);
            }

            if let Some(rules) = system.step_rules() {
                rules.attempt(t, h);
            }
            let step = Step { t, h, y: &self.y[..n], tolerance: &self.tolerance };
            let result = self.stepper.step(system, step, &mut self.stats);
            let result = match result {
                Ok(made) if is_adaptive && !self.control.accepts(made.error) => Ok(Search::Rejected(h, made)),
                Ok(made) => {
                    // interpolant, then the step rules, then sign changes, then a real step to the first
                    let finished = self.stepper.finish(system, &mut self.stats);
                    let Driver { y, y_at, f0, f1, .. } = self;
                    let scratch = [&mut y_at[..n], &mut f0[..n], &mut f1[..n]];
                    let violation =
                        if is_guarded { violation(system, &self.stepper, t, h, &y[..n], scratch) } else { 0.0 };
                    attempt = Attempt { error: made.error.max(violation), ..made };
                    finished.and_then(|()| match is_adaptive && !self.control.accepts(attempt.error) {
                        true => Ok(Search::Rejected(h, attempt)),
                        false => self.find_events(system, h),
                    })
                }
                Err(failure) => Err(failure),
            };
            match result {
                Ok(Search::Clear) => {
                    landing = None;
                    break;
                }
                Ok(Search::Landed(offset)) => {
                    landing = Some(offset);
                    break;
                }
                Ok(Search::Doubtful) if !is_adaptive || n_doubts == MAX_DOUBTS || 0.5 * h <= h_lost => {
                    landing = Some(h);
                    break;
                }
                Ok(Search::Doubtful) => {
                    self.stats.n_rejected += 1;
                    n_doubts += 1;
                    wanted = 0.5 * h;
                }
                Ok(Search::Rejected(h, made)) => {
                    self.stats.n_rejected += 1;
                    wanted = self.control.rejected(h, &made, exponent);
                    if wanted <= h_lost || wanted < f64::MIN_POSITIVE {
                        let state = self.y().to_vec();
                        return Err(Error::StepTooSmall { t, h, error: made.error, state });
                    }
                }
                Err(failure) => {
                    self.stats.n_failed += 1;
                    has_failed = true;
                    let factor = match failure {
                        Failure::Newton { factor } => factor.clamp(0.1, 0.9),
                        Failure::Singular { .. } => 0.5,
                        Failure::NonFinite { .. } | Failure::System(EvalError::Retry) => 0.25,
                        Failure::System(EvalError::Fatal { .. }) => 0.0,
                    };
                    wanted = factor * h;
                    if !is_adaptive || wanted <= h_lost || wanted < f64::MIN_POSITIVE {
                        return Err(self.failed(failure, h));
                    }
                }
            }
        }

        // the end of the step
        let h_taken = landing.unwrap_or(h);
        let is_shortened = h_taken < h;
        let t_new = if is_shortened {
            t + h_taken
        } else if lands {
            t_stop
        } else if is_adaptive {
            t + h
        } else {
            self.ticks = self.ticks.after(t, h);
            self.ticks.t()
        };
        self.collect_fired(system, landing.is_some());
        if time_event == Some(t_new) {
            self.fired.push(FiredEvent::Time);
        }

        if sink.follows_steps() {
            let (y0, stepper) = (&self.y[..n], &self.stepper);
            sink.interval(system, t, h_taken, &|theta, y| match theta {
                0.0 => y.copy_from_slice(y0),
                1.0 => y.copy_from_slice(stepper.y_new()),
                _ => stepper.interpolate(theta, y),
            });
        }
        self.emit_samples(system, sink, t_new, h_taken);
        self.y[..n].copy_from_slice(self.stepper.y_new());
        self.stepper.interpolate_quadratures(1.0, &mut self.quad_at);
        self.quad.iter_mut().zip(&self.quad_at).for_each(|(quad, rise)| *quad += rise);
        self.t = t_new;
        self.stats.n_accepted += 1;

        // the next step; a step shortened by a stop or an event does not determine it
        if is_adaptive {
            let mut proposed = self.control.accepted(h, &attempt, exponent);
            // a step that failed would fail again
            if has_failed {
                proposed = proposed.min(h);
            }
            self.h_next = if lands { proposed.max(wanted) } else { self.stepper.adjust_step(h, proposed) };
        }
        self.stepper.accept();
        if let Some(component) = self.stepper.stiff_component() {
            self.stats.n_stiff += 1;
            if let Some(rules) = system.step_rules() {
                rules.stability_limited(self.t, h_taken, component);
            }
        }
        sink.step(system, self.t, &self.y[..n], &self.quad);

        if !self.fired.is_empty() {
            let since_last = self.t - self.tokens_t;
            self.spend_event(h_taken)?;
            self.switch(system, sink, h_taken, since_last)?;
        } else if !is_capped {
            self.n_planned += 1;
        }
        self.run_hook(system, h_taken)
    }

    /// [`StepRules::accepted`], after which y may be in another chart.
    fn run_hook<S: System>(&mut self, system: &mut S, h: f64) -> Result<(), Error> {
        let n = self.n;
        let Some(rules) = system.step_rules() else { return Ok(()) };
        match rules.accepted(self.t, &mut self.y[..n]) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.stats.n_charts += 1;
                self.stepper.restart(n);
                Ok(())
            }
            Err(error) => Err(self.failed(error.into(), h)),
        }
    }

    /// Recomputes everything that depends on y or f.
    fn restart<S: System>(&mut self, system: &mut S) -> Result<(), Error> {
        let n = self.n;
        self.stepper.restart(n);
        match self.options.control.tolerances() {
            Some((rtol, atol)) => {
                self.tolerance.rtol = rtol;
                match &self.options.atol {
                    None => system.absolute_tolerance(atol, &mut self.tolerance.atol[..n]),
                    Some(each) => self.tolerance.atol[..n].copy_from_slice(&each[..n]),
                }
            }
            None => system.absolute_tolerance(self.options.newton_atol, &mut self.tolerance.atol[..n]),
        }
        let n_events = system.n_events();
        if n_events > self.g.len() {
            return Err(Error::Input { what: "events", value: n_events as f64, reason: "at most max_events" });
        }
        if n_events > 0 {
            self.stats.n_event_evaluations += 1;
            let values = self.locator.start_values(n_events);
            if let Err(error) = system.events(self.t, &self.y[..n], values) {
                return Err(self.failed(error.into(), 0.0));
            }
            self.locator.begin();
        }
        Ok(())
    }

    /// A failure with the last accepted state.
    fn failed(&self, failure: Failure, h: f64) -> Error {
        let (t, state) = (self.t, self.y().to_vec());
        let is_controlled = self.options.control.tolerances().is_some();
        match failure {
            Failure::Newton { .. } => Error::Newton { t, h, is_controlled, state },
            Failure::Singular { column } => Error::Singular { t, h, column, state },
            Failure::NonFinite { component } => Error::NonFinite { t, h, component, state },
            Failure::System(EvalError::Retry) => Error::System { t, h, code: None, state },
            Failure::System(EvalError::Fatal { code }) => Error::System { t, h, code: Some(code), state },
        }
    }
}

//! The loop: step, controller, events, output, budgets, statistics.
//!
//! ```text
//!     plan h ─▶ step ─▶ error? ─▶ sign changes on the interpolant? ─▶ output ─▶ accept ─▶ switch ─▶ accepted
//!       ▲         rejected │                     │ yes: step again, to just past the first root
//!       └──────────────────┴─────────────────────┘
//! ```
//!
//! A [`Driver`] keeps time, state and everything a stepper remembers between calls of [`Driver::advance`], so that an embedding program
//! may advance it by small intervals: each call costs a step cut short, no new start. Where only output is wanted at many times, a
//! [`Sink`] gets it from the interpolant, which cuts nothing. A driver does not own the system: pass the same one every time.
//!
//! **Landing on an event.** The root is located on the interpolant, then a real step is taken to it; where the interpolant was not
//! accurate enough for the step to end just past the root, the step is corrected by a secant, within a bracket of real steps that is
//! halved where the secant leaves it: at a loose tolerance interpolant and steps differ by more than a secant bridges. The
//! interpolant's state is never adopted.
//! If the real step shows no sign change (a grazing root that only the interpolant had) nothing fires. If it shows one that the search
//! had missed, of a function that changed its sign before the root, the shorter step is searched for that one; or the whole step, if the
//! root that was found was the interpolant's alone, which is then disregarded.
//!
//! **Time** is counted where steps are of one length, those of a fixed-step rule and those of [`Driver::advance_by`]: n steps of h end
//! at t₀ + n h to rounding.

use crate::clock::Clock;
use crate::control::{Control, ErrorControl};
use crate::events::{Locator, counts};
use crate::linear::Shortage;
use crate::method::AnyStepper;
use crate::options::{check_options, check_state};
use crate::step_rules::violation;
use crate::{
    Attempt, Error, EvalError, Failure, FiredEvent, Form, Options, Restart, Sink, Stats, StepRules, Stepper, System,
    Tolerance,
};

/// How a call of [`Driver::advance`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the time asked for.
    Reached,
    /// At an event that said [`Restart::terminate`].
    Terminated,
    /// Where it was when the sink had enough: [`Sink::is_stopped`].
    Stopped,
}

/// Real steps taken towards one root at most: eight times further each time, they leave any round-off behind.
const MAX_LANDINGS: usize = 12;

/// How late a step of length `h` may end after a root: far below the tolerance, and below what Newton leaves open.
fn late(t: f64, h: f64, rtol: f64) -> f64 {
    (1e-3 * rtol * h).max(32.0 * f64::EPSILON * t.abs().max((t + h).abs()))
}

/// Bytes of a stepper's matrices at most: 10,000 unknowns of Radau5.
pub const MAX_MATRIX_BYTES: u64 = 4_000_000_000;

/// What a search for events came to.
enum Search {
    /// There is none.
    Clear,
    /// The step now ends here, just past one.
    Landed(f64),
    /// A step of this length, to the end or to an event, is not accurate enough.
    Rejected(f64, Attempt),
}

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
    stepper, control, tolerance, t, ticks, periods, n, y, quad, stats, h_next, h_cap, locator, y_at, quad_at, g, g_slope, f0, f1, tokens,
    tokens_t, n_planned, t_begin, is_terminated
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

    /// Whether everything is of the size that the system has: not so, perhaps, after it was read from an [`archive`](crate::archive).
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

    /// What the run cost so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The step planned next under error control; 0 if it is still to be estimated.
    pub fn next_step(&self) -> f64 {
        self.h_next
    }

    /// The system or its inputs have changed from outside, between calls: y and f are new. The planned step is kept.
    pub fn invalidate<S: System>(&mut self, system: &mut S) -> Result<(), Error> {
        self.restart(system)
    }

    /// Steps that one call of [`Driver::advance`] may take: [`Options::max_steps`](crate::Options::max_steps), from now on.
    pub fn set_most_steps(&mut self, steps: usize) {
        self.options.max_steps = steps;
    }

    /// The quadratures begin at zero again.
    pub fn forget_quadratures(&mut self) {
        self.quad.fill(0.0);
    }

    /// Replaces the state (and the dimension, if the system's has changed), keeping time and statistics. Where that is refused the state is
    /// what it was; a state has to be set, this one or another, before the next step.
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
            // refused: the state is what it was, for a system that is
            self.n = before;
            self.y[..before].copy_from_slice(&self.y_at[..before]);
        }
        restarted
    }

    /// Advances by `dt`, or to an event that terminates: n calls with one `dt` end n·dt after the first began, to rounding.
    pub fn advance_by<S: System, K: Sink<S>>(
        &mut self,
        system: &mut S,
        dt: f64,
        sink: &mut K,
    ) -> Result<Outcome, Error> {
        let periods = self.periods.after(self.t, dt);
        let outcome = self.advance(system, periods.t(), sink)?;
        if self.t == periods.t() {
            self.periods = periods;
        }
        Ok(outcome)
    }

    /// Advances to `t_end`, exactly, or to an event that terminates.
    pub fn advance<S: System, K: Sink<S>>(
        &mut self,
        system: &mut S,
        t_end: f64,
        sink: &mut K,
    ) -> Result<Outcome, Error> {
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

    /// Accepts exactly one step, not beyond `t_end`; none if the sink has had enough before an attempt succeeds.
    pub fn step<S: System, K: Sink<S>>(&mut self, system: &mut S, t_end: f64, sink: &mut K) -> Result<(), Error> {
        let (t, n) = (self.t, self.n);
        let time_event = system.next_time_event(t).filter(|&event| event > t);
        let t_stop = time_event.map_or(t_end, |event| event.min(t_end));
        let is_adaptive = self.options.control.tolerances().is_some();
        let exponent = self.stepper.error_exponent().unwrap_or(1.0);
        let h_cap = self.h_cap;

        let is_guarded = self.options.control.is_guarded();
        // of the state alone, whatever was attempted last: a first step is estimated with these bounds
        if is_guarded {
            self.bound_tolerances(system, self.h_next);
        }
        let mut wanted = self.plan(system, t_stop)?;
        // shortened for the sake of an event that may follow at once
        let is_capped = wanted == h_cap;
        let h_lost = 8.0 * f64::EPSILON * t.abs();
        let mut h;
        let mut lands;
        let mut has_failed = false;
        let landing;
        let mut attempt = Attempt::explicit(f64::NAN);
        let mut is_first = true;
        loop {
            // attempts may be many: whoever has had enough need not wait for one that is accepted
            if !std::mem::take(&mut is_first) && sink.is_stopped() {
                self.h_cap = h_cap;
                return Ok(());
            }
            // the rest of the way if the step nearly reaches it
            let rest = t_stop - t;
            lands = wanted * (1.0 + 1e-8) >= rest;
            h = if lands { rest } else { wanted };
            if is_guarded {
                self.bound_tolerances(system, h);
            }

            let result = self.stepper.step(system, t, h, &self.y[..n], &self.tolerance, &mut self.stats);
            let result = match result {
                Ok(made) if is_adaptive && !self.control.accepts(made.error) => Ok(Search::Rejected(h, made)),
                Ok(made) => {
                    // interpolant, then the system's own opinion, then sign changes, then a real step to the first
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

        // where the step really ends
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

        // output from the interpolant, then the end of the step. A system that makes its own steps knows its loads and modes at their ends
        // only: a sample that rounding has put just before or behind the end is taken there
        let is_own = self.options.method == crate::Method::RealTime;
        let near = if is_own { 1e-9 * h_taken } else { 0.0 };
        while sink.next_sample() <= t_new + near && !sink.is_stopped() {
            let at = sink.next_sample();
            let is_end = at >= t_new - near;
            let theta = if is_end { 1.0 } else { ((at - t) / h_taken).clamp(0.0, 1.0) };
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
        self.y[..n].copy_from_slice(self.stepper.y_new());
        self.stepper.interpolate_quadratures(1.0, &mut self.quad_at);
        self.quad.iter_mut().zip(&self.quad_at).for_each(|(quad, rise)| *quad += rise);
        self.t = t_new;
        self.stats.n_accepted += 1;

        // the next step; one cut short by the end of the way or by an event says little about it
        if is_adaptive {
            let mut proposed = self.control.accepted(h, &attempt, exponent);
            // what failed at once would fail again
            if has_failed {
                proposed = proposed.min(h);
            }
            self.h_next = if lands { proposed.max(wanted) } else { self.stepper.settle(h, proposed) };
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

    /// The step to try first.
    fn plan<S: System>(&mut self, system: &mut S, t_stop: f64) -> Result<f64, Error> {
        let n = self.n;
        let rest = t_stop - self.t;
        let wanted = match self.options.control {
            Control::Constant { step } => step,
            Control::Prescribed => {
                system.step_rules().map_or(f64::INFINITY, |rules| rules.prescribed_step(self.t, &self.y[..n]))
            }
            Control::Error { .. } | Control::Elementary { .. } => {
                if self.h_next == 0.0 {
                    self.h_next = self.estimate_step(system, rest)?;
                }
                let h_max = system.step_rules().map_or(f64::INFINITY, |rules| rules.max_step(self.t, &self.y[..n]));
                // no shorter than time resolves: a step that is then too long for the tolerance is rejected, an error
                self.h_next.min(h_max).max(16.0 * f64::EPSILON * self.t.abs())
            }
        };
        let wanted = wanted.min(std::mem::replace(&mut self.h_cap, f64::INFINITY));
        if wanted.is_nan() || wanted <= 0.0 {
            return Err(Error::Input { what: "step", value: wanted, reason: "positive" });
        }
        Ok(wanted.min(self.options.max_step))
    }

    /// First step after Hairer, Nørsett & Wanner, *Solving ODEs I*, section II.4: an explicit Euler step that changes y by
    /// a hundredth, and from it the second derivative. Where they take the unit of time as it comes, here it is one of the
    /// motion's own, so that the step does not depend on what time is measured in.
    fn estimate_step<S: System>(&mut self, system: &mut S, rest: f64) -> Result<f64, Error> {
        let n = self.n;
        if n == 0 {
            return Ok(rest);
        }
        if system.form() != Form::Explicit {
            // y' is not at hand: start small and let the controller grow
            return Ok(1e-5 * rest);
        }
        let Driver { t, y, y_at, f0, f1, tolerance, stats, .. } = self;
        let (y, moved, f0, f1) = (&y[..n], &mut y_at[..n], &mut f0[..n], &mut f1[..n]);
        // an unknown at zero without an absolute tolerance has no measure yet, and says nothing
        let norm = |x: &[f64]| {
            let known = (0..n).filter(|&i| tolerance.is_known(i, y[i].abs()));
            let sum: f64 = known.map(|i| (x[i] / tolerance.scale(i, y[i].abs())).powi(2)).sum();
            (sum / n as f64).sqrt()
        };
        let exponent = self.stepper.error_exponent().unwrap_or(5.0);
        let mut estimate = || -> Result<f64, EvalError> {
            stats.n_rhs += 2;
            system.rhs(*t, y, f0)?;
            let (d0, d1) = (norm(y), norm(f0));
            let is_known = d0 >= 1e-5 && d1 * rest >= 1e-5;
            let h = if is_known { (0.01 * d0 / d1).min(rest) } else { 1e-6 * rest };
            (0..n).for_each(|i| moved[i] = y[i] + h * f0[i]);
            system.rhs(*t + h, moved, f1)?;
            f1.iter_mut().zip(f0.iter()).for_each(|(f1, f0)| *f1 -= f0);
            let d2 = norm(f1) / h;
            // the unit of time: y by ẏ or √(y/ÿ), whichever is longer; else the time in which ẏ changes, or the way ahead.
            // The factor 4 is a calibration, not a result: it makes the unit about the 1 s of the book for HIRES, whose
            // end errors scatter with the first step by as much as the slopes in `tests/steppers/slopes.rs` allow
            let units = [4.0 * (d0 / d1).max((d0 / d2).sqrt()), d1 / d2, rest];
            let unit = units.into_iter().find(|unit| *unit > 0.0 && unit.is_finite()).unwrap_or(rest);
            let steepest = (unit * d1).max(unit * unit * d2);
            let h1 = if steepest <= 1e-15 {
                (1e-3 * h).max(1e-6 * rest)
            } else {
                unit * (0.01 / steepest).powf(1.0 / exponent)
            };
            Ok((100.0 * h).min(h1).min(rest))
        };
        match estimate() {
            Ok(h) if h > 0.0 => Ok(h),
            Ok(_) | Err(EvalError::Retry) => Ok(1e-6 * rest),
            Err(trouble) => Err(self.failed(trouble.into(), 0.0)),
        }
    }

    /// Looks for sign changes on the step just made and takes a real step to just past the first.
    fn find_events<S: System>(&mut self, system: &mut S, h: f64) -> Result<Search, Failure> {
        self.locator.consider_all();
        let mut search = self.land(system, h)?;
        let mut from = h;
        for _ in 0..MAX_LANDINGS {
            match search {
                Search::Landed(target) if self.has_missed(system, target) => {
                    // a sign change that only the interpolant had has hidden those that follow it
                    if target == from && !self.locator.disregard(&self.g) {
                        return Ok(search);
                    }
                    from = target;
                    search = match self.land(system, target)? {
                        Search::Clear => return Ok(Search::Landed(target)),
                        found => found,
                    };
                }
                found => return Ok(found),
            }
        }
        Ok(search)
    }

    /// Has a function that the search did not find changed its sign well before the end of the step that has just landed?
    fn has_missed<S: System>(&self, system: &S, target: f64) -> bool {
        (0..system.n_events()).any(|i| {
            let (g, slope) = (self.g[i], (self.g[i] - self.g_slope[i]) / (0.01 * target));
            let is_found = self.locator.found().iter().any(|crossing| crossing.index == i);
            let has_fired = self.locator.is_crossed(i, g) && counts(system.direction(i), g > 0.0);
            let since = g / slope;
            !is_found && has_fired && !(0.0..=late(self.t, target, self.tolerance.rtol)).contains(&since)
        })
    }

    fn land<S: System>(&mut self, system: &mut S, h: f64) -> Result<Search, Failure> {
        let n = self.n;
        let n_events = system.n_events();
        if n_events == 0 {
            return Ok(Search::Clear);
        }
        let is_adaptive = self.options.control.tolerances().is_some();
        let is_guarded = self.options.control.is_guarded();
        let Driver { t, y, y_at, f0, f1, stepper, control, stats, locator, tolerance, g, g_slope, .. } = self;
        let t = *t;
        let (y, y_at) = (&y[..n], &mut y_at[..n]);
        let (g, g_slope) = (&mut g[..n_events], &mut g_slope[..n_events]);
        let ulp = f64::EPSILON * t.abs().max((t + h).abs());

        // modes stay frozen: everything up to `switch` sees the same equations
        (0..n_events).for_each(|i| locator.set_direction(i, system.direction(i)));
        let found = locator.search(h, 2.0 * ulp, 16.0 * ulp, |s, g| {
            if s == h {
                y_at.copy_from_slice(stepper.y_new());
            } else {
                stepper.interpolate(s / h, y_at);
            }
            stats.n_event_evaluations += 1;
            system.events(t + s, y_at, g)
        })?;
        let Some(last) = found.last() else { return Ok(Search::Clear) };

        // real steps, corrected by the secant until they end just past the root
        let mut target = last.after;
        let late = late(t, target, tolerance.rtol);
        // a bracket in lengths of real steps: the root lies after `low`, and before `high` if that is known
        let mut low = 0.0;
        let mut high = if locator.is_crossed_at_end() { h } else { f64::INFINITY };
        // first by rounding, then by what Newton may leave open
        let mut nudge = 4.0 * ulp;
        let mut trial = 1;
        loop {
            stats.n_landings += 1;
            let attempt = stepper.step(system, t, target, y, tolerance, stats)?;
            // a shorter step may see what a longer one stepped over
            if is_adaptive && !control.accepts(attempt.error) {
                return Ok(Search::Rejected(target, attempt));
            }
            stepper.finish(system, stats)?;
            if is_guarded {
                let violation = violation(system, stepper, t, target, y, [y_at, &mut f0[..n], &mut f1[..n]]);
                if !control.accepts(violation) {
                    return Ok(Search::Rejected(target, Attempt { error: violation, ..attempt }));
                }
            }
            stats.n_event_evaluations += 2;
            system.events(t + target, stepper.y_new(), g)?;
            stepper.interpolate(0.99, y_at);
            system.events(t + 0.99 * target, y_at, g_slope)?;
            // time by which the slowest function is ahead of (negative) or behind (positive) its root
            let found = locator.found();
            let mut behind = f64::NEG_INFINITY;
            for crossing in found {
                let i = crossing.index;
                let slope = (g[i] - g_slope[i]) / (0.01 * target);
                let distance = -g[i] / slope;
                behind = behind.max(if distance.is_finite() { distance } else { 0.0 });
            }
            let is_crossed = found.iter().all(|crossing| locator.is_crossed(crossing.index, g[crossing.index]));
            let past = if is_crossed { (-behind).min(target - low) } else { f64::INFINITY };
            // where rounding hides the root, the tolerance's share of the step is near enough
            if past <= late || trial > 3 && past <= 1e3 * late || trial == MAX_LANDINGS {
                return Ok(Search::Landed(target));
            }
            if is_crossed {
                high = target;
            } else if target == h {
                // only the interpolant had it
                return Ok(Search::Landed(target));
            } else {
                low = target;
            }
            let ahead = target + behind + nudge;
            // the secant; where it leaves the bracket, or does not get there, the bracket is halved
            let is_inside = ahead > low && ahead < high.min(h) && (trial < 4 || trial % 2 == 0);
            target = match () {
                () if is_inside => ahead,
                () if high.is_finite() => 0.5 * (low + high),
                () => h,
            };
            nudge = (8.0 * nudge).max(0.1 * late);
            trial += 1;
        }
    }

    /// What has changed sign by the end of the step; `has_landed` says that `g` holds the values there.
    fn collect_fired<S: System>(&mut self, system: &mut S, has_landed: bool) {
        self.fired.clear();
        let n_events = system.n_events();
        if n_events == 0 {
            return;
        }
        if !has_landed {
            self.locator.advance_to_end();
            return;
        }
        for (index, &value) in self.g[..n_events].iter().enumerate() {
            let rising = value > 0.0;
            if self.locator.is_crossed(index, value) && counts(system.direction(index), rising) {
                self.fired.push(FiredEvent::Root { index, rising });
            }
        }
        self.locator.advance(&self.g[..n_events]);
    }

    /// A bucket of `event_burst` tokens; every instant with events takes one. Time events are known in advance and
    /// free.
    ///
    /// It fills by the run's own scales, whatever the unit of time: half a token for every step of the length that was
    /// planned, since events with such
    /// steps between them are resolved, however quickly they follow one another; and `event_rate` tokens per length of
    /// the run so far. Chatter and
    /// Zeno behaviour have an event in every step, and so many of them in a time that is nothing beside the run.
    fn spend_event(&mut self, h: f64) -> Result<(), Error> {
        if self.fired.iter().all(|fired| *fired == FiredEvent::Time) {
            return Ok(());
        }
        let Options { event_rate: rate, event_burst: burst, .. } = self.options;
        let share = (self.t - self.tokens_t) / (self.t - self.t_begin).max(f64::MIN_POSITIVE);
        let filled = self.tokens + 0.5 * self.n_planned as f64 + rate * share;
        self.tokens = filled.min(burst as f64) - 1.0;
        (self.tokens_t, self.n_planned) = (self.t, 0);
        if self.tokens >= 0.0 {
            return Ok(());
        }
        Err(Error::EventBudget { t: self.t, h, event: self.fired[0], rate, burst, state: self.y().to_vec() })
    }

    fn switch<S: System, K: Sink<S>>(
        &mut self,
        system: &mut S,
        sink: &mut K,
        h: f64,
        since_last: f64,
    ) -> Result<(), Error> {
        for fired in &self.fired {
            match fired {
                FiredEvent::Time => self.stats.n_time_events += 1,
                FiredEvent::Root { .. } => self.stats.n_events += 1,
            }
        }
        let restart = system.switch(self.t, &mut self.y, &mut self.quad, &self.fired);
        let Restart { dim, fresh, terminate, step } = restart.map_err(|trouble| self.failed(trouble.into(), h))?;
        if dim > self.y.len() {
            return Err(Error::Input { what: "dimension", value: dim as f64, reason: "at most max_dim" });
        }
        self.is_terminated = terminate;
        if fresh || dim != self.n || system.n_events() != self.locator.n() {
            // events that follow one another faster and faster must not be stepped over
            self.h_cap = (100.0 * since_last).max(64.0 * f64::EPSILON * self.t.abs()).max(f64::MIN_POSITIVE);
            // nothing is known of a system with other unknowns
            if dim != self.n {
                self.control.reset();
                self.h_next = 0.0;
            }
            self.n = dim;
            check_state(system, self.t, &self.y[..dim])?;
            self.restart(system)?;
        }
        if let Some(step) = step {
            self.h_next = step;
        }
        sink.event(system, self.t, &self.y[..self.n], &self.quad, &self.fired);
        Ok(())
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
            Err(trouble) => Err(self.failed(trouble.into(), h)),
        }
    }

    /// Everything that depends on y or f is made anew.
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
            if let Err(trouble) = system.events(self.t, &self.y[..n], values) {
                return Err(self.failed(trouble.into(), 0.0));
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

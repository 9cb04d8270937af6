//! After an event: the budget of events, [`System::switch`] and a new start.
//!
//! The budget is a token bucket: each instant with state events takes one of at most B tokens, and between two events
//! that are Δt and n planned steps apart it gains
//!
//! ```text
//!     n/2 + ρ Δt/(t − t₀)
//! ```
//!
//! tokens, ρ being `event_rate`, B `event_burst` and t₀ the start of the run: scales of the run, whatever the unit of
//! time. Events with planned steps between them are resolved, however quickly they follow one another. Chattering and
//! Zeno behaviour have an event in every step, and very many of them in a time that is negligible beside the run.

use super::Driver;
use crate::options::check_state;
use crate::{Error, FiredEvent, Options, Restart, Sink, System};

impl Driver {
    /// Takes a token, or refuses. Time events are known in advance and free.
    pub(super) fn spend_event(&mut self, h: f64) -> Result<(), Error> {
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

    /// Calls [`System::switch`] and starts anew where y, f or the dimension has changed.
    pub(super) fn switch<S: System>(
        &mut self,
        system: &mut S,
        sink: &mut dyn Sink<S>,
        h: f64,
        since_last: f64,
    ) -> Result<(), Error> {
        for fired in &self.fired {
            match fired {
                FiredEvent::Time => self.stats.n_time_events += 1,
                FiredEvent::Root { .. } => self.stats.n_events += 1,
            }
        }
        if sink.follows_steps() {
            sink.before_event(system, self.t, &self.y[..self.n], &self.fired);
        }
        let restart = system.switch(self.t, &mut self.y, &mut self.quad, &self.fired);
        let Restart { dim, fresh, terminate, step } = restart.map_err(|error| self.failed(error.into(), h))?;
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
}

//! Landing on an event.
//!
//! The root is located on the interpolant, then a real step is taken to it. Where the interpolant was not accurate
//! enough for that step to end just past the root, the step is corrected by a secant,
//!
//! ```text
//!     s ← s − g(s)/ġ(s),
//! ```
//!
//! within a bracket of real steps that is halved where the secant leaves it: at a loose tolerance interpolant and steps
//! differ by more than a secant bridges. The interpolant's state is never adopted.
//!
//! If the real step shows no sign change (a grazing root that only the interpolant had) nothing fires; under error
//! control the step is halved a few times first, because output from that interpolant would contradict the equations.
//! If it shows a sign change before the root that the search had missed, the shorter step is searched for it; or the
//! whole step, if only the interpolant had the root that was found, which is then disregarded.

use super::Driver;
use crate::events::counts;
use crate::step_rules::violation;
use crate::{Attempt, Failure, FiredEvent, Step, Stepper, System};

/// Largest number of real steps towards one root: eight times further each time, they exceed any round-off.
const MAX_LANDINGS: usize = 12;

/// Largest number of halvings of a step because only its interpolant has a sign change: each leaves a tenth or less of
/// the interpolant's error, and a function that grazes zero by rounding stays doubtful in any step.
pub(super) const MAX_DOUBTS: usize = 4;

/// How late a step of length `h` may end after a root: far below the tolerance and the error left by Newton.
fn late(t: f64, h: f64, rtol: f64) -> f64 {
    (1e-3 * rtol * h).max(32.0 * f64::EPSILON * t.abs().max((t + h).abs()))
}

/// The result of a search for events.
pub(super) enum Search {
    /// There is none.
    Clear,
    /// The step now ends here, just past one.
    Landed(f64),
    /// There is none, but the interpolant has one: the step, to its end, contradicts its own output.
    Doubtful,
    /// A step of this length, to the end or to an event, is not accurate enough.
    Rejected(f64, Attempt),
}

impl Driver {
    /// Looks for sign changes on the step just made and takes a real step to just past the first.
    pub(super) fn find_events<S: System>(&mut self, system: &mut S, h: f64) -> Result<Search, Failure> {
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
                Search::Landed(target) if target == h && !self.has_fired(system) => return Ok(Search::Doubtful),
                found => return Ok(found),
            }
        }
        Ok(search)
    }

    /// Has any function changed its sign at the end of the step that has just landed?
    fn has_fired<S: System>(&self, system: &S) -> bool {
        let fired = |(i, &g): (usize, &f64)| self.locator.is_crossed(i, g) && counts(system.direction(i), g > 0.0);
        self.g[..system.n_events()].iter().enumerate().any(fired)
    }

    /// Has a function that the search did not find changed its sign well before the end of the step that has just
    /// landed?
    fn has_missed<S: System>(&self, system: &S, target: f64) -> bool {
        (0..system.n_events()).any(|i| {
            let (g, slope) = (self.g[i], (self.g[i] - self.g_slope[i]) / (0.01 * target));
            let is_found = self.locator.found().iter().any(|crossing| crossing.index == i);
            let has_fired = self.locator.is_crossed(i, g) && counts(system.direction(i), g > 0.0);
            let since = g / slope;
            !is_found && has_fired && !(0.0..=late(self.t, target, self.tolerance.rtol)).contains(&since)
        })
    }

    /// Takes real steps of at most `h` to just past the first sign change found on the interpolant.
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
        // first by rounding, then by the error that Newton may leave
        let mut nudge = 4.0 * ulp;
        let mut trial = 1;
        loop {
            stats.n_landings += 1;
            let attempt = stepper.step(system, Step { t, h: target, y, tolerance }, stats)?;
            // a shorter step may show an error that a longer one stepped over
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
            // time of the slowest function before (negative) or after (positive) its root
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
            // a function that is zero to rounding has not crossed yet: on, until it leaves rounding behind
            let is_at_root = high.is_infinite() && behind.abs() <= 1e3 * late;
            let is_inside = ahead > low && ahead < high.min(h) && (trial < 4 || trial % 2 == 0 || is_at_root);
            target = match () {
                () if is_inside => ahead,
                () if high.is_finite() => 0.5 * (low + high),
                () => h,
            };
            nudge = (8.0 * nudge).max(0.1 * late);
            trial += 1;
        }
    }

    /// Collects the functions that have changed sign by the end of the step; with `has_landed`, `g` has their values
    /// there.
    pub(super) fn collect_fired<S: System>(&mut self, system: &mut S, has_landed: bool) {
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
}

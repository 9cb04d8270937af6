//! Rest after an impact: bounces that are summed, and slips that are none.
//!
//! **Zeno.** A joint accelerated towards its stop bounces infinitely often in finite time. With u the speed of a
//! rebound, a₁ the deceleration on the way up and a₂ the acceleration on the way down (friction makes them differ),
//! flights and speeds are geometric sequences with the ratio r,
//!
//! ```text
//! flight = u (1/a₁ + 1/√(a₁a₂)),      r = e √(a₂/a₁),      T = flight/(1 − r)         (1)
//! ```
//!
//! and the joint rests after T. Over T the accelerations change by T ȧ/a, relatively: where T is less than the
//! fraction √rtol of the time since the first bounce, the error of T is below the tolerance. The impact is then
//! plastic, the joint rests at its bound, and the end of the bounces is recorded at t + T. The same holds for
//! rebounds that are lower than the resolution of gaps, and where the steps can no longer follow: a bounce lower than
//! the tolerance that is not slower than the one before. Impacts on several stops excite one another in such sequences,
//! also with e = 0: a joint that leaves its stop by an impact elsewhere for less than that time stays on it.
//!
//! **Slip of stuck contacts.** Friction has no impulse, and an impact sets stuck contacts free; dry friction stops them
//! again after a slip of
//!
//! ```text
//! s = u²/(2 a)                                                                         (2)
//! ```
//!
//! with u the speed after the impact and a the deceleration. During that time the friction of the slip may lift joints
//! off their stops, which fall back and set the contacts free again: machines with light links, such as hands, repeat
//! this without end, every microsecond, over distances of 10⁻¹⁴ rad. Where s is below the resolution of
//! positions, a thousandth of the absolute tolerance, the contact stays stuck through a plastic impact: u is zero. The
//! velocities are those after the slip: with e = 0, an impact is the projection of v⁻ onto the stops, by the metric M,
//! and the impulse of friction that follows projects the result onto stops and contacts, as both do at once. With e > 0
//! that is not so: the slip takes speed from the rebound.

use super::{Machine, RESOLUTION};
use crate::dynamics::event_state::StopState;
use crate::dynamics::failure::Failure;
use bristle_friction::Mode;

/// A speed above the last one by more than this, relatively, begins a new sequence of bounces.
const SLOWER: f64 = 1e-9;

impl Machine {
    /// Finds the stops that their joints leave for so short a time that further bounces are summed by (1), and the
    /// contacts that slip by less than the resolution after (2); whether there are any new ones. They are held then,
    /// and the impact is to be solved again.
    pub(super) fn find_rests(&mut self, t: f64) -> Result<bool, Failure> {
        let (n_stops, n_rows) = (self.impact.n_stops, self.impact.stops.len());
        let (n_contacts, mut is_any) = (self.dynamics.state.mode.len(), false);
        let has_left = (0..n_stops).any(|i| self.is_left(i));
        if !has_left && !(0..n_contacts).any(|c| self.is_set_free(c)) {
            return Ok(false);
        }
        // the modes after the impact, as a trial
        self.resolve_modes(t)?;
        self.find_accelerations(t)?;
        let resolution = RESOLUTION * self.dynamics.scheme.kink_tolerance.unwrap_or(0.0);
        for c in 0..n_contacts {
            let v = self.dynamics.compiled.inputs.contacts[c].v;
            let (u, a) = (self.dynamics.point.v[v], self.dynamics.point.a[v]);
            if self.is_set_free(c) && u * a < 0.0 && u * u <= 2.0 * a.abs() * resolution {
                self.impact.keep_stuck(c);
            }
        }
        for i in 0..n_stops {
            if self.is_left(i)
                && let Some(rest) = self.time_to_rest(t, i)?
            {
                self.impact.rests[i] = Some(rest);
                self.impact.restitution[i] = 0.0;
                is_any = true;
            }
        }
        if self.impact.stops.len() > n_rows {
            is_any = true;
            self.dynamics.unlock();
            self.fill_impact()?;
        }
        if !is_any {
            // back to the state after the impact
            self.solve_impact()?;
        }
        Ok(is_any)
    }

    /// Whether the joint of stop number i leaves it.
    fn is_left(&self, i: usize) -> bool {
        let (c, end) = self.impact.stops[i];
        let v = self.dynamics.point.v[self.dynamics.compiled.inputs.contacts[c].v];
        self.impact.rests[i].is_none() && end.inward() * v > 0.0
    }

    /// Whether a plastic impact has set contact c free, by which one joint was stuck.
    fn is_set_free(&self, c: usize) -> bool {
        let contacts = &self.dynamics.compiled.inputs.contacts;
        let contact = &contacts[c];
        let mut struck = self.impact.stops.iter().zip(&self.impact.restitution);
        let is_plastic = struck.all(|(&(c, _), e)| *e == 0.0 || self.impact.before[contacts[c].v] == 0.0);
        is_plastic
            && !self.dynamics.loops.is_any()
            && contact.is_event_driven()
            && !contact.is_stop_alone()
            && contact.b.is_none()
            && self.impact.mode[c] == Mode::Stuck
            && self.impact.before[contact.v] == 0.0
            && self.dynamics.point.v[contact.v] != 0.0
            && !self.impact.stops.iter().any(|&(other, _)| other == c)
    }

    /// T of stop number i, by (1), if the bounces after this rebound are to be summed.
    fn time_to_rest(&mut self, t: f64, i: usize) -> Result<Option<f64>, Failure> {
        let (c, end) = self.impact.stops[i];
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let (v, e) = (contact.v, self.impact.restitution[i]);
        let Some(stops) = contact.stops else { return Ok(None) };
        let is_dry = !contact.is_stop_alone();
        let u = end.inward() * self.dynamics.point.v[v];
        self.find_accelerations(t)?;
        let up = -end.inward() * self.dynamics.point.a[v];
        let elapsed = t - self.begun(t, i);
        let is_low = u * u <= 2.0 * up * self.gap_resolution(&stops) || self.is_lost(t, i);
        let shortest = self.dynamics.scheme.zeno_fraction() * elapsed;
        if !(up > 0.0 && (u <= up * shortest || is_low)) {
            return Ok(None);
        }
        let mut down = up;
        // with one degree of freedom all contacts turn back together
        let is_single = self.dynamics.coordinates.active.len() == 1;
        if is_single || is_dry && self.dynamics.state.mode[c] != Mode::Stuck {
            let turn = |machine: &mut Self| {
                let modes = machine.dynamics.state.mode.iter_mut().enumerate();
                modes
                    .filter(|(k, _)| is_single || *k == c)
                    .for_each(|(_, mode)| *mode = Mode::of_sign(-mode.direction()));
            };
            turn(self);
            let found = self.find_accelerations(t);
            turn(self);
            found?;
            down = -end.inward() * self.dynamics.point.a[v];
        }
        let ratio = e * (down / up).sqrt();
        let flight = u * (1.0 / up + 1.0 / (up * down).sqrt());
        // without a loss of its own, the joint rests only where its bounces are below the resolution
        let rest = if ratio < 1.0 { flight / (1.0 - ratio) } else { flight };
        let is_short = down > 0.0 && (ratio < 1.0 && rest <= shortest || is_low);
        Ok(is_short.then_some(rest))
    }

    /// Accelerations of the present modes.
    fn find_accelerations(&mut self, t: f64) -> Result<(), Failure> {
        self.dynamics.place()?;
        self.dynamics.efforts(t);
        self.dynamics.accelerate_from_frictionless()
    }

    /// Time of the first impact of the sequence of bounces to which impact number i belongs. Each bounce is slower than
    /// the one before, or lost, and follows it within the time of all before; a joint that another stop kicks has no
    /// speed yet.
    pub(super) fn begun(&self, t: f64, i: usize) -> f64 {
        let (stop, is_next, is_slower) = self.follows(t, i);
        if is_next && (is_slower || self.is_lost(t, i)) { stop.begun } else { t }
    }

    /// Whether impact number i follows a flight too low for the tolerance, and yet is not slower than the one before:
    /// errors of the steps keep the bounces going then.
    fn is_lost(&self, t: f64, i: usize) -> bool {
        let (stop, is_next, is_slower) = self.follows(t, i);
        let (c, end) = self.impact.stops[i];
        let contact = &self.dynamics.compiled.inputs.contacts[c];
        let bound = contact.stops.map_or(0.0, |stops| stops.bound(end));
        let height = 0.25 * self.impact.before[contact.v].abs() * (t - stop.last);
        is_next && !is_slower && height <= self.dynamics.scheme.position_tolerance(bound)
    }

    /// The stop of impact number i before it; whether the impact follows those before on the same stop soon enough for
    /// one sequence, and is slower.
    fn follows(&self, t: f64, i: usize) -> (&StopState, bool, bool) {
        let (c, end) = self.impact.stops[i];
        let stop = &self.impact.stops_before[c];
        let speed = self.impact.before[self.dynamics.compiled.inputs.contacts[c].v].abs();
        let is_soon = stop.last == stop.begun || t - stop.last <= stop.last - stop.begun;
        (stop, stop.bouncing == Some(end) && is_soon, speed <= stop.speed * (1.0 + SLOWER))
    }
}

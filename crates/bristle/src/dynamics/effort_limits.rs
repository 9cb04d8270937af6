//! Limits of the efforts of joints: demands, regimes and the event functions of their corners. See
//! [`crate::model::saturation`].

use super::Dynamics;
use super::efforts::drive_sample;
use super::point::Point;
use super::scheme::Scheme;
use super::state::State;
use crate::model::Compiled;
use crate::model::saturation::{corner, regime_of};

/// The regime of effort limit number `k` where corners are located.
pub(super) fn regime_in_force(scheme: &Scheme, state: &State, k: usize) -> Option<f64> {
    scheme.kink_tolerance.map(|_| state.limit_regimes[k])
}

/// Effort of drive and caller on the joint of limit number `k` at the point of evaluation, whatever the limit.
fn demand((compiled, scheme): (&Compiled, &Scheme), state: &State, point: &Point, k: usize, t: f64) -> f64 {
    let at = compiled.inputs.effort_limits[k];
    let of_drive = at.drive.map_or(0.0, |k| {
        let drive = &compiled.inputs.drives[k];
        let (q, v) = (point.xi[drive.v], point.v[drive.v]);
        let sample = drive_sample((compiled, scheme), state, k, t, q, v);
        drive.effort(&sample, q, v, at.integral.map_or(0.0, |k| point.integral[k]))
    });
    compiled.inputs.effort[at.v] + of_drive
}

/// Part of the demand that does not act.
pub(super) fn excess(of: (&Compiled, &Scheme), state: &State, point: &Point, k: usize, t: f64) -> f64 {
    let demand = demand(of, state, point, k, t);
    demand - of.0.inputs.effort_limits[k].acting(demand, regime_in_force(of.1, state, k))
}

/// Whether the effort of limit number `k` does not depend on its demand.
pub(super) fn is_saturated(of: (&Compiled, &Scheme), state: &State, point: &Point, k: usize, t: f64) -> bool {
    let by_demand = || regime_of(demand(of, state, point, k, t), of.0.inputs.effort_limits[k].limit);
    regime_in_force(of.1, state, k).unwrap_or_else(by_demand) != 0.0
}

impl Dynamics {
    fn demand_of_limit(&self, k: usize, t: f64) -> f64 {
        demand((&self.compiled, &self.scheme), &self.state, &self.point, k, t)
    }

    /// Sets the regimes of all limits to those of the point of evaluation.
    pub(crate) fn set_limit_regimes(&mut self, t: f64) {
        for k in 0..self.state.limit_regimes.len() {
            let limit = self.compiled.inputs.effort_limits[k].limit;
            self.state.limit_regimes[k] = regime_of(self.demand_of_limit(k, t), limit);
        }
    }

    /// Event function of limit number `k`.
    pub(crate) fn limit_margin(&self, k: usize, t: f64) -> f64 {
        let limit = self.compiled.inputs.effort_limits[k].limit;
        corner(self.state.limit_regimes[k], self.demand_of_limit(k, t), limit)
    }

    /// Performs the event of limit number `k`.
    pub(crate) fn pass_limit(&mut self, k: usize, t: f64) {
        let demand = self.demand_of_limit(k, t);
        let regime = &mut self.state.limit_regimes[k];
        *regime = if *regime == 0.0 { demand.signum() } else { 0.0 };
    }

    /// Effort of drive and caller that acts on velocity `v`, at the point evaluated last, N·m or N.
    pub(crate) fn acting_effort(&self, t: f64, v: usize) -> f64 {
        match self.compiled.inputs.effort_limits.iter().position(|at| at.v == v) {
            Some(k) => {
                let regime = regime_in_force(&self.scheme, &self.state, k);
                self.compiled.inputs.effort_limits[k].acting(self.demand_of_limit(k, t), regime)
            }
            None => self.compiled.inputs.effort[v] + self.drive_effort(t, v),
        }
    }
}

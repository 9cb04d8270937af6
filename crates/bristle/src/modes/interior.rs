//! Interior-point method for the convex problem, for machines whose active set is far from its start.
//!
//! With s = up − f and t = down + f the distances of an effort from its limits, and a = p − m, the conditions (1) and
//! (2) of the [parent module](super) are those of complementarity at μ = 0:
//!
//! ```text
//! a = a₀ − W f = p − m,        p s = μ,     m t = μ,        p, m, s, t > 0                                   (4)
//! ```
//!
//! Newton's step for (4), Θ being the slope of the effort in the acceleration,
//!
//! ```text
//! Δf = Θ (a⁺ − g),     g = γ_s/s − γ_t/t,     Θ = 1/(p/s + m/t)                                              (5)
//! a⁺ = a₀ − W (f + Δf)      or, in a tree,      (M + Θ) a⁺ = τ − c − f + Θ g                                  (6)
//! ```
//!
//! costs one factorisation: in a tree, the articulated-body recursion with other armatures, O(n). γ is μ less the
//! products of second order, Mehrotra's predictor and corrector (Wright, *Primal-Dual Interior-Point Methods*, 1997,
//! chapter 10). Twenty to forty rounds reduce μ by fourteen digits, for any number of joints. The end of the path
//! gives an active set: a joint is at its limit where its distance has fallen further than its acceleration, each
//! relative to its start. The active-set method continues from that set; it alone decides complementarity.

use super::{Levels, ModeError, ModeWork, RestDynamics, Side};

/// Limit of the rounds; the path ends long before, or rounding permits no further progress.
const MAX_ROUNDS: usize = 80;

/// Largest fraction of the way to a bound in one step (Wright 1997, section 10.2).
const WITHIN: f64 = 0.995;

/// μ at the end, relative to the start: half its digits separate distances from accelerations, see
/// [`ModeWork::follow_path`].
const ENOUGH: f64 = 1e-16;

/// Two successive steps shorter than this fraction of Newton's are due to rounding.
const SHORTEST: f64 = 1e-6;

/// Distances, accelerations and steps of the joints at rest; n each. Allocated once.
#[derive(Debug, Clone, Default)]
pub(super) struct Interior {
    /// Distances from both limits, and the accelerations p and m that belong to each.
    room: Vec<[f64; 2]>,
    part: Vec<[f64; 2]>,
    /// Steps of `room` and `part` in the predictor.
    room_step: Vec<[f64; 2]>,
    part_step: Vec<[f64; 2]>,
    /// Θ and g of (5), Δf and a⁺.
    theta: Vec<f64>,
    g: Vec<f64>,
    step: Vec<f64>,
    a: Vec<f64>,
    /// Efforts and statuses at the end of the path.
    friction: Vec<f64>,
    hold: Vec<Side>,
}

/// Whether a joint takes part: its two limits are finite and not both zero.
fn is_limited(limit: Levels) -> bool {
    limit[0] + limit[1] > 0.0 && limit[0].is_finite()
}

impl Interior {
    pub fn resize(&mut self, n: usize) {
        let Self { room, part, room_step, part_step, theta, g, step, a, friction, hold } = self;
        for pairs in [room, part, room_step, part_step] {
            pairs.resize(n, [0.0; 2]);
        }
        for list in [theta, g, step, a, friction] {
            list.resize(n, 0.0);
        }
        hold.resize(n, Side::Stuck);
    }

    /// Mean of the products p s and m t.
    fn mean(&self, limit: &[Levels]) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (i, _) in limit.iter().enumerate().filter(|(_, limit)| is_limited(**limit)) {
            sum += self.room[i][0] * self.part[i][0] + self.room[i][1] * self.part[i][1];
            count += 2.0;
        }
        sum / f64::max(count, 1.0)
    }

    /// The same after the fraction `alpha` of the predictor's step.
    fn mean_after(&self, limit: &[Levels], alpha: f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (i, _) in limit.iter().enumerate().filter(|(_, limit)| is_limited(**limit)) {
            for side in 0..2 {
                let room = self.room[i][side] + alpha * self.room_step[i][side];
                sum += room * (self.part[i][side] + alpha * self.part_step[i][side]);
            }
            count += 2.0;
        }
        sum / f64::max(count, 1.0)
    }

    /// One Newton step for (4) with γ = `mu`, less the products of second order if `is_corrector`.
    fn newton<H: RestDynamics>(
        &mut self,
        limit: &[Levels],
        f: &[f64],
        machine: &mut H,
        (mu, is_corrector): (f64, bool),
    ) -> Result<(), ModeError> {
        let Self { room, part, room_step, part_step, theta, g, step, a, .. } = self;
        let gamma = |room_step: f64, part_step: f64| if is_corrector { mu - room_step * part_step } else { mu };
        for (i, &limit) in limit.iter().enumerate() {
            let ([s, t], [p, m]) = (room[i], part[i]);
            (theta[i], g[i]) = match is_limited(limit) {
                true => {
                    let gammas = [0, 1].map(|side| gamma(room_step[i][side], part_step[i][side]));
                    (1.0 / (p / s + m / t), gammas[0] / s - gammas[1] / t)
                }
                // frictionless, or locked without limits
                false => (if limit == [0.0; 2] { 0.0 } else { f64::INFINITY }, 0.0),
            };
        }
        machine.newton(theta, f, g, step, a, !is_corrector)?;
        for (i, _) in limit.iter().enumerate().filter(|(_, limit)| is_limited(**limit)) {
            for (side, change) in [-step[i], step[i]].into_iter().enumerate() {
                let gamma = gamma(room_step[i][side], part_step[i][side]);
                part_step[i][side] = (gamma - part[i][side] * change) / room[i][side] - part[i][side];
                room_step[i][side] = change;
            }
        }
        Ok(())
    }

    /// The fraction of the step, at most 1, that respects the bounds.
    fn reach(&self, limit: &[Levels]) -> f64 {
        let mut reach = f64::INFINITY;
        for (i, _) in limit.iter().enumerate().filter(|(_, limit)| is_limited(**limit)) {
            for side in 0..2 {
                for (x, step) in
                    [(self.room[i][side], self.room_step[i][side]), (self.part[i][side], self.part_step[i][side])]
                {
                    if step < 0.0 {
                        reach = reach.min(-x / step);
                    }
                }
            }
        }
        (WITHIN * reach).min(1.0)
    }
}

impl ModeWork {
    /// Saves efforts and statuses, in case an exchange makes them worse.
    pub(super) fn keep_path(&mut self) {
        self.interior.friction.copy_from_slice(&self.selection.friction);
        self.interior.hold.copy_from_slice(&self.hold);
    }

    /// Restores them.
    pub(super) fn return_to_path(&mut self) {
        self.selection.friction.copy_from_slice(&self.interior.friction);
        self.hold.copy_from_slice(&self.interior.hold);
    }

    /// Follows the path from the middle of the limits, and leaves efforts and statuses at its end, or at the first
    /// number that is not finite.
    pub(super) fn follow_path<H: RestDynamics>(&mut self, machine: &mut H) {
        let n = self.hold.len();
        let Self { interior, limit, selection, hold, .. } = self;
        interior.resize(n);
        let f = &mut selection.friction;

        // efforts in the middle; μ is the mean of |a| times half the width of the limits, at first the same for all
        let half = |limit: Levels| 0.5 * (limit[0] + limit[1]);
        for i in (0..n).filter(|&i| is_limited(limit[i])) {
            f[i] = 0.5 * (limit[i][0] - limit[i][1]);
            hold[i] = Side::Stuck;
        }
        interior.theta.iter_mut().zip(&*limit).for_each(|(theta, limit)| {
            *theta = if limit[0].is_infinite() { f64::INFINITY } else { 0.0 };
        });
        interior.g.fill(0.0);
        let Interior { theta, g, step, a, .. } = &mut *interior;
        if machine.newton(theta, f, g, step, a, true).is_err() {
            return;
        }
        selection.n_factor += 1;
        let (mut sum, mut count) = (0.0, 0.0);
        for i in (0..n).filter(|&i| is_limited(limit[i])) {
            sum += interior.a[i].abs() * half(limit[i]);
            count += 1.0;
        }
        let start = sum / f64::max(count, 1.0);
        if !(start.is_finite() && start > 0.0) {
            return;
        }
        for i in (0..n).filter(|&i| is_limited(limit[i])) {
            interior.room[i] = [half(limit[i]); 2];
            interior.part[i] = [start / half(limit[i]); 2];
        }

        let (mut mu, mut short) = (start, 0);
        for _ in 0..MAX_ROUNDS {
            // predictor: directly to μ = 0; its step length determines the next μ
            if crate::stop::is_asked() || interior.newton(limit, f, machine, (0.0, false)).is_err() {
                break;
            }
            let share = interior.mean_after(limit, interior.reach(limit)) / mu;
            let checkpoint_bytes = share.clamp(0.0, 1.0).powi(3);
            if interior.newton(limit, f, machine, (checkpoint_bytes * mu, true)).is_err() {
                break;
            }
            selection.n_factor += 1;
            let alpha = interior.reach(limit);
            for i in 0..n {
                if limit[i][0].is_infinite() {
                    f[i] += interior.step[i];
                }
                if !is_limited(limit[i]) {
                    continue;
                }
                for side in 0..2 {
                    interior.room[i][side] += alpha * interior.room_step[i][side];
                    interior.part[i][side] += alpha * interior.part_step[i][side];
                }
                // from the nearer limit
                let [s, t] = interior.room[i];
                f[i] = if s < t { limit[i][0] - s } else { t - limit[i][1] };
            }
            mu = interior.mean(limit);
            short = if alpha < SHORTEST { short + 1 } else { 0 };
            if mu <= ENOUGH * start || short > 1 || !mu.is_finite() {
                break;
            }
        }

        // the active set
        for i in 0..n {
            hold[i] = if limit[i] == [0.0; 2] { Side::AtLimit(1.0) } else { Side::Stuck };
            if !is_limited(limit[i]) {
                continue;
            }
            let h = half(limit[i]);
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                if interior.room[i][side] / h < interior.part[i][side] * h / start {
                    f[i] = sign * limit[i][side];
                    hold[i] = Side::AtLimit(sign);
                }
            }
        }
    }
}

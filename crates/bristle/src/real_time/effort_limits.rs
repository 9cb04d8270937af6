//! Limits of efforts in a step.
//!
//! ```text
//! u(v₁) = u₀ − s (v₁ − v₀),     s ≥ 0        demand of drive and caller at the end of the step
//! τ = clamp(u(v₁), ±B)                       effort that acts
//! ```
//!
//! τ never rises with v₁, so that the step keeps its one solution. It is found by active sets: first the limits that
//! u₀ exceeds are in force, then those that u(v₁) of the solution before exceeds. Where these do not converge within
//! [`ROUNDS`] solutions, each limited effort is held at the clamped demand found last; no effort ever exceeds its
//! limit.

use super::Start;
use crate::model::Compiled;
use crate::model::saturation::regime_of;

/// Solutions of a step after which limited efforts are held.
const ROUNDS: usize = 6;

/// A demand this close to the limit, relative to it, is at the limit: a few rounding errors.
const ROUNDING: f64 = 1e-13;

/// Limited efforts of one step.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitedEfforts {
    /// u₀ and s of each drive, and of each limit.
    pub drives: Vec<[f64; 2]>,
    demands: Vec<[f64; 2]>,
    /// Effort that acts whatever v₁; `None`: the demand.
    fixed: Vec<Option<f64>>,
    /// Whether `fixed` is final in this step.
    is_held: bool,
}

impl LimitedEfforts {
    pub fn new(compiled: &Compiled) -> Self {
        let (n_drives, n) = (compiled.inputs.drives.len(), compiled.inputs.effort_limits.len());
        Self { drives: vec![[0.0; 2]; n_drives], demands: vec![[0.0; 2]; n], fixed: vec![None; n], is_held: false }
    }

    /// Sets the demands of the limits from those of the drives, and in a new step the efforts that are fixed.
    pub fn set_demands(&mut self, compiled: &Compiled, is_new: bool) {
        self.is_held &= !is_new;
        for (k, at) in compiled.inputs.effort_limits.iter().enumerate() {
            let [of_drive, slope] = at.drive.map_or([0.0; 2], |drive| self.drives[drive]);
            let u = compiled.inputs.effort[at.v] + of_drive;
            self.demands[k] = [u, slope];
            if is_new {
                let regime = regime_of(u, at.limit);
                self.fixed[k] = (regime != 0.0).then_some(regime * at.limit);
            }
        }
    }

    /// Difference between a fixed effort and the demand at v₀, of limit number `k`.
    pub fn cut(&self, k: usize) -> Option<f64> {
        self.fixed[k].map(|effort| effort - self.demands[k][0])
    }

    /// The effort that acts whatever v₁, of limit number `k`.
    pub fn fixed(&self, k: usize) -> Option<f64> {
        self.fixed[k]
    }

    /// Sets the limits in force from the velocities `v1` of solution number `round`. Returns whether they have changed.
    pub fn update(&mut self, compiled: &Compiled, start: Start<'_>, v1: &[f64], round: usize) -> bool {
        if self.is_held {
            return false;
        }
        let mut has_changed = false;
        for (k, limit) in compiled.inputs.effort_limits.iter().enumerate() {
            let [u, slope] = self.demands[k];
            let u = u - slope * (v1[limit.v] - start.v[limit.v]);
            let clamped = u.clamp(-limit.limit, limit.limit);
            let is_right = match self.fixed[k] {
                None => u.abs() <= limit.limit * (1.0 + ROUNDING),
                Some(effort) => slope == 0.0 || (effort * u >= 0.0 && u.abs() >= limit.limit * (1.0 - ROUNDING)),
            };
            has_changed |= !is_right;
            if !is_right {
                // a limit is left to the demand first: from one limit to the other a stiff drive would alternate
                self.fixed[k] = if self.fixed[k].is_none() { Some(clamped) } else { None };
            }
        }
        if has_changed && round >= ROUNDS {
            self.is_held = true;
            for (k, limit) in compiled.inputs.effort_limits.iter().enumerate() {
                let [u, slope] = self.demands[k];
                let u = u - slope * (v1[limit.v] - start.v[limit.v]);
                self.fixed[k] = Some(u.clamp(-limit.limit, limit.limit));
            }
        }
        has_changed
    }
}

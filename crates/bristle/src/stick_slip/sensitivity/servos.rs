//! Derivatives of the samples that servos hold.
//!
//! ```text
//! δe_k = ∂e/∂p + s (kp (−δq) − kd δrate)        at a sample, s = 0 where the duty is at its limit, otherwise 1
//! δẏ  += (∂f/∂e) δe_k                           until the next sample
//! ```
//!
//! Sample instants are times of the clock: they do not move with the parameters. ∂e/∂p comes from twins, at the same
//! point; δrate is δv, or the difference of the δq of the samples between which the velocity is measured.

use super::Tangents;
use crate::model::servo::{MAX_DIFFERENCE, ServoState};
use crate::stick_slip::machine::Machine;
use bristle_integrate::{EvalError, System};
use nalgebra::DMatrix;

/// Half-width of differences in a held sample, relative to the largest so far: efforts are linear in it.
const REACH: f64 = 1e-6;

/// The samples of the servos of a run, and their derivatives.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// Drives that are sampled servos.
    drives: Vec<usize>,
    /// Their states.
    states: Vec<ServoState>,
    /// δ of the held sample and of the positions behind it, by parameter and servo.
    pub d_held: Vec<Vec<f64>>,
    d_past: Vec<Vec<[f64; MAX_DIFFERENCE]>>,
    /// Largest sample so far, at least 1e-30.
    scale: Vec<f64>,
    /// Scratch for ∂f/∂e.
    plus: Vec<f64>,
    minus: Vec<f64>,
}

impl Machine {
    fn sampled_servos(&self) -> Vec<usize> {
        let drives = self.dynamics.compiled.inputs.drives.iter().enumerate();
        drives.filter(|(_, at)| at.servo().is_some_and(|servo| servo.is_sampled())).map(|(k, _)| k).collect()
    }
}

impl Held {
    /// The samples at the start; the twins have taken their own.
    pub fn new(machine: &Machine, twins: &[super::Twin]) -> Self {
        let drives = machine.sampled_servos();
        let states: Vec<ServoState> = drives.iter().map(|&k| machine.dynamics.state.servos[k]).collect();
        let (mut d_held, mut d_past) = (Vec::new(), Vec::new());
        for twin in twins {
            let pair = |k: &usize| (&twin.plus.dynamics.state.servos[*k], &twin.minus.dynamics.state.servos[*k]);
            let held = drives.iter().map(pair).map(|(plus, minus)| (plus.held - minus.held) / twin.width);
            d_held.push(held.collect());
            let past = drives
                .iter()
                .map(pair)
                .map(|(plus, minus)| std::array::from_fn(|i| (plus.past[i] - minus.past[i]) / twin.width));
            d_past.push(past.collect());
        }
        let scale = states.iter().map(|state| state.held.abs().max(1e-30)).collect();
        Self { drives, states, d_held, d_past, scale, plus: Vec::new(), minus: Vec::new() }
    }

    /// Moves the samples of `machine` along those of parameter `p`; by 0 they are those of the run.
    pub fn move_samples(&self, machine: &mut Machine, p: usize, by: f64) {
        for (s, &k) in self.drives.iter().enumerate() {
            let derivative = if by == 0.0 { 0.0 } else { self.d_held[p][s] };
            machine.dynamics.state.servos[k].held = self.states[s].held + by * derivative;
            machine.dynamics.point.known = None;
        }
    }
}

impl Tangents {
    /// Renews the derivatives of the samples that `machine` has taken at `t`; δx is that of the instant.
    pub(super) fn renew_samples(&mut self, machine: &Machine, t: f64) {
        let Self { held, twins, dx, .. } = self;
        let n_v = machine.dynamics.point.v.len();
        for (s, &k) in held.drives.iter().enumerate() {
            let (before, after) = (held.states[s], machine.dynamics.state.servos[k]);
            if after.number == before.number {
                continue;
            }
            let drive = &machine.dynamics.compiled.inputs.drives[k];
            let (q, v) = (machine.dynamics.point.xi[drive.v], machine.dynamics.point.v[drive.v]);
            let Some(servo) = drive.servo() else { continue };
            let is_inside = after.held.abs() < servo.duty_limit;
            for (p, twin) in twins.iter().enumerate() {
                let sample = |of: &Machine| {
                    let (drive, mut state) = (&of.dynamics.compiled.inputs.drives[k], before);
                    let target = drive.signal().sample(t, of.dynamics.state.piece).value;
                    if let Some(servo) = drive.servo() {
                        servo.sample(target, t, q, v, &mut state);
                    }
                    state.held
                };
                let mut derivative = (sample(&twin.plus) - sample(&twin.minus)) / twin.width;
                let (d_q, past) = (dx[p][drive.v], &mut held.d_past[p][s]);
                if is_inside {
                    let d_rate = match servo.difference {
                        0 => dx[p][n_v + drive.v],
                        n => (d_q - past[n.min(MAX_DIFFERENCE) - 1]) / (n as f64 * servo.period),
                    };
                    derivative -= servo.kp * d_q + servo.kd * d_rate;
                }
                held.d_held[p][s] = derivative;
                past.rotate_right(1);
                past[0] = d_q;
            }
            held.states[s] = after;
            held.scale[s] = held.scale[s].max(after.held.abs());
        }
    }

    /// Adds (∂f/∂e) δe at (t, y).
    pub(super) fn force_samples(&mut self, t: f64, y: &[f64], into: &mut DMatrix<f64>) -> Result<(), EvalError> {
        for s in 0..self.held.drives.len() {
            let (k, half) = (self.held.drives[s], REACH * self.held.scale[s]);
            if self.held.d_held.iter().all(|d_held| d_held[s] == 0.0) {
                continue;
            }
            let (mut plus, mut minus) = (std::mem::take(&mut self.held.plus), std::mem::take(&mut self.held.minus));
            plus.resize(y.len(), 0.0);
            minus.resize(y.len(), 0.0);
            let held = self.held.states[s].held;
            let mut at = |x: f64, into: &mut [f64]| {
                self.probe.dynamics.state.servos[k].held = x;
                self.probe.dynamics.point.known = None;
                self.probe.rhs(t, y, into)
            };
            at(held + half, &mut plus)?;
            at(held - half, &mut minus)?;
            self.probe.dynamics.state.servos[k].held = held;
            self.probe.dynamics.point.known = None;
            for (p, d_held) in self.held.d_held.iter().enumerate() {
                for i in 0..y.len() {
                    into[(i, p)] += (plus[i] - minus[i]) / (2.0 * half) * d_held[s];
                }
            }
            (self.held.plus, self.held.minus) = (plus, minus);
        }
        Ok(())
    }

    /// Length of a difference along δx and δe of parameter `p`: `reach` of δx where it has one.
    pub(super) fn reach_with_samples(&self, reach: f64, p: usize) -> f64 {
        let along = self.held.d_held[p].iter().zip(&self.held.scale);
        let share = along.map(|(derivative, scale)| derivative.abs() / scale).fold(0.0, f64::max);
        if reach == 0.0 && share > 0.0 { REACH / share } else { reach }
    }
}

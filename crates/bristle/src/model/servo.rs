//! Servo drives: a position controller, its amplifier and a DC motor.
//!
//! ```text
//! e = error_gain (kp (target(t − delay) − q) − kd q̇)              duty, or volts without a supply            (1)
//! u = supply clamp(e, ±duty_limit), clamped to ±voltage_limit                                                (2)
//! τ = constant/resistance (u − constant q̇)                        with back-EMF                              (3)
//! τ = constant u                                                  without resistance: current is controlled
//! ```
//!
//! τ = 0 while the servo is not enabled: its motor is open. With a `period` T > 0, e is sampled at t = k T and held;
//! `difference: n` takes (q_k − q_{k−n})/(n T) for q̇ in (1), as encoders without tachometer do. Samples are time
//! events. Without a period (2) is continuous; its corners are located under error control, for the demand supply e
//! and the bound B(t) of (2): see [`super::saturation`]. The ledger books τ q̇, the work at the shaft; the heat of
//! the winding is not modelled.

use crate::signal::{Piece, Sample, Signal};
use crate::world::component::Drive;
use bristle_integrate::archive::{Archive, Archived};

/// The longest `difference`, samples.
pub(crate) const MAX_DIFFERENCE: usize = 8;

/// State of a servo between steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ServoState {
    /// The clamped e of the last sample, and the number of that sample; −1 before the first.
    pub held: f64,
    pub number: f64,
    /// Positions at the samples before, the last one first.
    pub past: [f64; MAX_DIFFERENCE],
    /// −1, 0 or 1: the regime of a continuous servo.
    pub regime: f64,
}

impl Default for ServoState {
    fn default() -> Self {
        Self { held: 0.0, number: -1.0, past: [0.0; MAX_DIFFERENCE], regime: 0.0 }
    }
}

impl Archived for ServoState {
    fn archive(&mut self, archive: &mut Archive<'_>) {
        let Self { held, number, past, regime } = self;
        held.archive(archive);
        number.archive(archive);
        past.archive(archive);
        regime.archive(archive);
    }
}

/// A drive at one time: the sample of its signal, and (3) as a function of position and velocity,
/// stiffness (target − q) + constant − damping q̇.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveSample {
    /// The signal.
    pub signal: Sample,
    /// The terms of a servo and their rates.
    pub(crate) stiffness: [f64; 2],
    pub(crate) constant: [f64; 2],
    pub(crate) damping: [f64; 2],
}

/// The parameters of a servo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Servo<'a> {
    pub kp: f64,
    pub kd: f64,
    pub difference: usize,
    pub period: f64,
    pub supply: Option<&'a Signal>,
    pub enable: Option<&'a Signal>,
    pub duty_limit: f64,
    pub voltage_limit: f64,
    pub constant: f64,
    pub resistance: Option<f64>,
}

impl<'a> Servo<'a> {
    /// Of a drive, if it is one; the gains include `error_gain`.
    pub fn of(drive: &'a Drive) -> Option<Self> {
        let Drive::Servo {
            kp,
            kd,
            error_gain,
            difference,
            period,
            supply,
            enable,
            duty_limit,
            voltage_limit,
            constant,
            resistance,
            ..
        } = drive
        else {
            return None;
        };
        let default_duty = if supply.is_some() { 1.0 } else { f64::INFINITY };
        Some(Self {
            kp: error_gain * kp,
            kd: error_gain * kd,
            difference: *difference,
            period: *period,
            supply: supply.as_ref(),
            enable: enable.as_ref(),
            duty_limit: duty_limit.unwrap_or(default_duty),
            voltage_limit: voltage_limit.unwrap_or(f64::INFINITY),
            constant: *constant,
            resistance: *resistance,
        })
    }

    /// Whether e is sampled.
    pub fn is_sampled(&self) -> bool {
        self.period > 0.0
    }

    /// Whether its regime changes by events.
    pub fn has_corners(&self) -> bool {
        !self.is_sampled() && (self.duty_limit.is_finite() || self.voltage_limit.is_finite())
    }

    /// Supply and its rate.
    fn supply(&self, t: f64, piece: Piece) -> [f64; 2] {
        self.supply.map_or([1.0, 0.0], |supply| {
            let sample = supply.sample(t, piece);
            [sample.value, sample.derivative]
        })
    }

    /// B of the header and its rate.
    fn bound(&self, [supply, rate]: [f64; 2]) -> [f64; 2] {
        let by_duty = self.duty_limit * supply.abs();
        // no supply is no voltage, whatever the duty
        let by_duty = if by_duty.is_nan() { 0.0 } else { by_duty };
        if by_duty < self.voltage_limit {
            [by_duty, self.duty_limit * rate * supply.signum()]
        } else {
            [self.voltage_limit, 0.0]
        }
    }

    /// Number of the last sample instant up to `t`, rounding aside.
    pub fn number(&self, t: f64) -> f64 {
        (t / self.period + 1e-9).floor()
    }

    /// Takes a sample at (t, q, v) if one is due; whether it has.
    pub fn sample(&self, target: f64, t: f64, q: f64, v: f64, state: &mut ServoState) -> bool {
        let number = self.number(t);
        if !self.is_sampled() || number == state.number {
            return false;
        }
        if state.number < 0.0 {
            // before the first sample the joint stood where it is, or moved as it does
            for (k, past) in state.past.iter_mut().enumerate() {
                *past = q - v * (k as f64 + 1.0) * self.period;
            }
        }
        let rate = match self.difference {
            0 => v,
            n => (q - state.past[n.min(MAX_DIFFERENCE) - 1]) / (n as f64 * self.period),
        };
        let e = self.kp * (target - q) - self.kd * rate;
        state.held = e.max(-self.duty_limit).min(self.duty_limit);
        state.past.rotate_right(1);
        state.past[0] = q;
        state.number = number;
        true
    }

    /// supply e of a continuous servo, and B.
    pub fn demand(&self, target: f64, t: f64, piece: Piece, q: f64, v: f64) -> (f64, f64) {
        let supply = self.supply(t, piece);
        (supply[0] * (self.kp * (target - q) - self.kd * v), self.bound(supply)[0])
    }

    /// The terms of (3); `regime` is the one in force, or that of the demand at (q, v).
    pub fn terms(&self, signal: Sample, t: f64, piece: Piece, state: &ServoState, regime: f64) -> DriveSample {
        let mut terms = DriveSample { signal, ..Default::default() };
        if !self.enable.is_none_or(|enable| enable.is_on(t, piece)) {
            return terms;
        }
        let supply = self.supply(t, piece);
        let per_volt = self.resistance.map_or(self.constant, |resistance| self.constant / resistance);
        let bound = self.bound(supply);
        if self.is_sampled() {
            let u = supply[0] * state.held;
            let is_clamped = u.abs() > self.voltage_limit;
            let u = if is_clamped { [self.voltage_limit * u.signum(), 0.0] } else { [u, supply[1] * state.held] };
            terms.constant = u.map(|u| per_volt * u);
        } else if regime != 0.0 {
            terms.constant = bound.map(|bound| per_volt * regime * bound);
        } else {
            terms.stiffness = supply.map(|supply| per_volt * supply * self.kp);
            terms.damping = supply.map(|supply| per_volt * supply * self.kd);
        }
        if self.resistance.is_some() {
            terms.damping[0] += per_volt * self.constant;
        }
        terms
    }
}

impl From<Sample> for DriveSample {
    /// Of a drive that is no servo.
    fn from(signal: Sample) -> Self {
        Self { signal, ..Default::default() }
    }
}

impl DriveSample {
    /// Effort of a servo.
    pub(crate) fn servo_effort(&self, q: f64, v: f64) -> f64 {
        self.stiffness[0] * (self.signal.value - q) + self.constant[0] - self.damping[0] * v
    }

    /// Its rate along the motion.
    pub(crate) fn servo_rate(&self, q: f64, v: f64, a: f64) -> f64 {
        self.stiffness[0] * (self.signal.derivative - v)
            + self.stiffness[1] * (self.signal.value - q)
            + self.constant[1]
            - self.damping[0] * a
            - self.damping[1] * v
    }
}

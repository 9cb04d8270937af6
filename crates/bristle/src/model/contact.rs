//! Friction in one joint or coupling: law × load.

use super::stops::Stops;
use crate::model::bearing::Bearing;
use crate::signal::{Piece, Sample, Signal};
use crate::world::component::{Load, Open};
use bristle_friction::{EventDriven, FrictionLaw, Law, Mode};
use bristle_multibody::spatial::Force;

/// Friction in one joint or coupling. Its coordinate is that of the joint, or q_a − q_b of a clutch.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    /// Joint it belongs to; for a clutch, joint a.
    pub joint: usize,
    /// Its velocity.
    pub v: usize,
    /// Velocity of the other joint of a clutch, b.
    pub b: Option<usize>,
    /// Index of the coupling, if it belongs to one.
    pub element: Option<usize>,
    /// Friction per unit load.
    pub law: Law,
    /// Source of the normal load.
    pub load: Load,
    /// Lever, m: slip velocity = arm · joint velocity, effort = arm · N · law; 1 where slip is the joint velocity.
    pub arm: f64,
    /// Bearing that turns the joint's reaction into the load; `None` where the load is given.
    pub bearing: Option<Bearing>,
    /// For a one-way clutch: its load against negative slip, as a multiple of its largest load.
    pub reverse: Option<f64>,
    /// Behaviour of its bristles while the load is 0.
    pub open: Open,
    /// Stops of its joint, which share the contact: at most one contact of a joint has them.
    pub stops: Option<Stops>,
}

impl Contact {
    /// Normal load and its rate, for the clamped sample `signal` of its signal; 0 where the load is a reaction.
    pub fn normal(&self, signal: &Sample) -> (f64, f64) {
        match self.load {
            Load::Unit => (1.0, 0.0),
            Load::Constant(n) => (n, 0.0),
            Load::Signal { max, geometry, .. } => (max * geometry * signal.value, max * geometry * signal.derivative),
            Load::Pin { .. } | Load::Thrust { .. } | Load::Guide { .. } | Load::Transmitted { .. } => (0.0, 0.0),
        }
    }

    /// The same in one direction: against negative slip the load of a one-way clutch is a multiple of its largest load.
    pub fn normal_towards(&self, is_backward: bool, signal: &Sample) -> (f64, f64) {
        match self.reverse {
            Some(factor) if is_backward => (factor * self.largest(), 0.0),
            _ => self.normal(signal),
        }
    }

    /// The largest possible normal load; 0 where the load is a reaction.
    pub fn largest(&self) -> f64 {
        match self.load {
            Load::Unit => 1.0,
            Load::Constant(n) => n,
            Load::Signal { max, geometry, .. } => max * geometry,
            Load::Pin { .. } | Load::Thrust { .. } | Load::Guide { .. } | Load::Transmitted { .. } => 0.0,
        }
    }

    /// Loads against forward and against backward motion, where it is `n` forward and the reaction is `f`.
    pub(crate) fn sides(&self, n: f64, f: &Force) -> [f64; 2] {
        match self.bearing {
            Some(bearing) if bearing.is_transmitted() => bearing.sides(f),
            _ if self.reverse.is_some() => [n, self.normal_towards(true, &Sample::default()).0],
            _ => [n, n],
        }
    }

    /// Limits of the effort while it is stuck, against forward and against backward motion, under these loads.
    pub(crate) fn limits(&self, [n, backward]: [f64; 2]) -> [f64; 2] {
        let [up, down] = self.stiction();
        [self.arm * up * n, self.arm * down * backward]
    }

    /// Stiction levels of its law against forward and against backward motion; 0 for a law without modes.
    pub(crate) fn stiction(&self) -> [f64; 2] {
        self.dry(|law| law.stiction_level())
    }

    /// Sliding levels of its law at zero speed, forward and backward; 0 for a law without modes.
    pub(crate) fn kinetic(&self) -> [f64; 2] {
        self.dry(|law| law.kinetic_level(0.0).0)
    }

    fn dry(&self, level: impl Fn(&dyn EventDriven) -> f64) -> [f64; 2] {
        [Mode::Forward, Mode::Backward].map(|mode| self.law.towards(mode).event_driven().map_or(0.0, &level))
    }

    /// The larger of both limits, the backward one of a one-way clutch divided by its lock factor.
    pub(crate) fn strength(&self, n: [f64; 2]) -> f64 {
        let [up, down] = self.limits(n);
        up.max(down / self.reverse.unwrap_or(1.0))
    }

    /// Whether its load is 0 just after `t`, in both directions, and up to the next corner of its signal.
    pub fn is_open(&self, t: f64) -> bool {
        if self.bearing.is_some() || self.reverse.is_some() && self.largest() > 0.0 {
            return false;
        }
        // between corners a signal is monotone, and a clamped one is zero nowhere or everywhere
        let Some(signal) = self.signal() else { return self.largest() == 0.0 };
        let middle = signal.next_corner_clamped(t).map_or(t + 1.0, |corner| 0.5 * (t + corner));
        self.normal(&signal.sample_clamped(middle, Piece::After(t))).0 == 0.0
    }

    /// Whether its bristles keep their deflection under a load `n` of rate `n_rate`. A load that just leaves or
    /// reaches 0 counts as zero.
    #[inline]
    pub fn is_frozen(&self, n: f64, n_rate: f64) -> bool {
        self.open == Open::Frozen && n == 0.0 && n_rate == 0.0
    }

    /// Whether its law has no dry part, so that it cannot stick.
    pub fn never_sticks(&self) -> bool {
        self.law.event_driven().is_some_and(|law| law.stiction_level() == 0.0)
    }

    /// Whether it acts against negative slip: by its mode, or by the sign of its deflection or of the slip of a
    /// smooth law.
    #[inline]
    pub fn acts_backward(&self, mode: Mode, is_bent_backward: bool) -> bool {
        if self.is_event_driven() { mode == Mode::Backward } else { is_bent_backward }
    }

    /// Rate of its coordinate.
    #[inline]
    pub fn rate(&self, v: &[f64]) -> f64 {
        match self.b {
            None => v[self.v],
            Some(b) => v[self.v] - v[b],
        }
    }

    /// Whether this rate is a rounding error of the difference of two velocities.
    pub fn is_rounding(&self, v: &[f64]) -> bool {
        self.b.is_some_and(|b| self.rate(v).abs() <= 4.0 * f64::EPSILON * (v[self.v].abs() + v[b].abs()))
    }

    /// Subtracts a friction effort from the efforts on its joints.
    #[inline]
    pub fn take(&self, tau: &mut [f64], effort: f64) {
        tau[self.v] -= effort;
        if let Some(b) = self.b {
            tau[b] += effort;
        }
    }

    /// Signal of the load.
    pub fn signal(&self) -> Option<&Signal> {
        if let Load::Signal { signal, .. } = &self.load { Some(signal) } else { None }
    }

    /// Whether its load depends on a sign other than that of its mode: of its deflection, or of the slip of a smooth
    /// law.
    pub fn has_two_sides(&self) -> bool {
        self.reverse.is_some() && !self.is_event_driven()
    }

    /// Whether its load depends on the sign of its deflection.
    pub fn bends_two_ways(&self) -> bool {
        self.reverse.is_some() && self.law.n_states() > 0
    }

    /// Whether it has stops and no friction.
    pub fn is_stop_alone(&self) -> bool {
        self.stops.is_some_and(|stops| stops.is_alone)
    }

    /// Whether its modes change by events.
    pub fn is_event_driven(&self) -> bool {
        self.law.event_driven().is_some()
    }
}

//! Signals: given functions of time for efforts, prescribed motions and loads.
//!
//! ```text
//! Constant(c)                                c
//! Ramp(rate, start)                          rate · (t − start), 0 before start
//! Sine(amplitude, frequency, phase, offset)  amplitude · sin(frequency · t + phase) + offset, frequency in rad/s
//! Table([(t, value), …])                     linear between points, constant beyond both ends
//! Steps([(t, value), …])                     each value from its time on, 0 before the first
//! Piecewise([(t, signal), …])                each signal from its time on, 0 before the first
//! Sum([signal, …])                           the sum of all
//! Log(file, column, time, hold)              two columns of a CSV file, read once: see `log`
//! ```
//!
//! Signals are functions of absolute time, also inside `Piecewise`. Numbers left out are 0. At a jump or corner the
//! value and derivatives are those just after it; [`Piece`] selects the other side, or extends one smooth piece
//! across a corner.
//!
//! **Corners.** [`Signal::next_corner`] gives the times of corners, jumps and extrema (time events). Between two of
//! them a signal is smooth and monotone, so its values at both ends bound it. The extrema of a sum are not those of
//! its terms. For a sum with sines the list holds the corners and extrema of the terms, their quarter periods (so
//! that no step spans more than a quarter of the fastest sine), and the sum's own extrema. A search finds these: it
//! marches from one of these times to the next in steps over which the slope cannot vanish, |f′|/max|f″|, or of a
//! 512th of the interval where that is more. It can miss a pair of extrema closer than that: ripple below 2e-6 of them.
//!
//! **Rounding.** Time and the angle ωt + φ are rounded: two times closer than 4ε(|t| + |φ|/ω) are one corner. Every
//! corner is later than the one before by at least an ulp, and the search for it is bounded. A sine whose quarter
//! period is below that, at ωt beyond 1e15, has no corners: no floating-point time separates its extrema.

mod log;
mod switch;
#[cfg(test)]
mod tests;
mod validate;

pub use log::{Hold, Samples};
#[cfg(feature = "scene")]
use serde::{Deserialize, Serialize};
pub use validate::SignalFinding;

/// A given function of time.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub enum Signal {
    /// A constant value.
    Constant(f64),
    /// rate · (t − start), 0 before start.
    Ramp {
        /// Slope, per second.
        #[cfg_attr(feature = "scene", serde(default))]
        rate: f64,
        /// Time at which it leaves 0, s.
        #[cfg_attr(feature = "scene", serde(default))]
        start: f64,
    },
    /// amplitude · sin(frequency · t + phase) + offset.
    Sine {
        /// Half the distance between the extrema.
        #[cfg_attr(feature = "scene", serde(default))]
        amplitude: f64,
        /// Angular frequency, rad/s.
        #[cfg_attr(feature = "scene", serde(default))]
        frequency: f64,
        /// Angle at t = 0, rad.
        #[cfg_attr(feature = "scene", serde(default))]
        phase: f64,
        /// Mean value.
        #[cfg_attr(feature = "scene", serde(default))]
        offset: f64,
    },
    /// Linear between points (t, value), constant before the first and after the last.
    Table(Vec<(f64, f64)>),
    /// Each value from its time on; 0 before the first.
    Steps(Vec<(f64, f64)>),
    /// Each signal from its time on; 0 before the first.
    Piecewise(Vec<(f64, Signal)>),
    /// The sum of all.
    Sum(Vec<Signal>),
    /// Two columns of a CSV file; see [`Signal::log`].
    Log {
        /// The file; in a scene, relative to its folder.
        file: String,
        /// Name of the column with the values.
        column: String,
        /// Name of the column with the times, s.
        #[cfg_attr(feature = "scene", serde(default = "time_column"))]
        time: String,
        /// Interpolation between two samples.
        #[cfg_attr(feature = "scene", serde(default))]
        hold: Hold,
        /// The samples, once they have been read.
        #[cfg_attr(feature = "scene", serde(skip))]
        samples: Samples,
    },
}

/// The time of our own results.
#[cfg(feature = "scene")]
fn time_column() -> String {
    "t".into()
}

/// A signal and its first three derivatives at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// The value.
    pub value: f64,
    /// d/dt, per second.
    pub derivative: f64,
    /// d²/dt², per second squared.
    pub second_derivative: f64,
    /// d³/dt³, per second cubed.
    pub third_derivative: f64,
}

/// Selects a smooth piece of a signal.
///
/// All stages of a step from t₀ to a jump at t₁ must use the piece that is valid just after t₀: `Piece::After(t0)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Piece {
    /// The piece valid just before the given time.
    Before(f64),
    /// The piece valid just after the given time.
    After(f64),
}

impl Piece {
    /// Whether a part that begins at `t` has begun in this piece.
    fn has_begun(self, t: f64) -> bool {
        match self {
            Piece::Before(piece) => t < piece,
            Piece::After(piece) => t <= piece,
        }
    }
}

impl Default for Signal {
    fn default() -> Signal {
        Signal::Constant(0.0)
    }
}

impl Signal {
    /// Value at `t`; at a jump, the value after it.
    pub fn value(&self, t: f64) -> f64 {
        self.sample(t, Piece::After(t)).value
    }

    /// Value just before `t`: differs from [`Signal::value`] where the signal jumps.
    pub fn value_before(&self, t: f64) -> f64 {
        self.sample(t, Piece::Before(t)).value
    }

    /// First derivative at `t`; at a corner, after it.
    pub fn derivative(&self, t: f64) -> f64 {
        self.sample(t, Piece::After(t)).derivative
    }

    /// Second derivative at `t`; at a corner, after it.
    pub fn second_derivative(&self, t: f64) -> f64 {
        self.sample(t, Piece::After(t)).second_derivative
    }

    /// The smooth piece `piece`, evaluated at `t`, also where `t` lies outside of it.
    pub fn sample(&self, t: f64, piece: Piece) -> Sample {
        match self {
            Signal::Constant(c) => Sample { value: *c, ..Default::default() },
            Signal::Ramp { rate, start } => line(0.0, *start, if piece.has_begun(*start) { *rate } else { 0.0 }, t),
            Signal::Sine { amplitude, frequency, phase, offset } => {
                let (sin, cos) = (frequency * t + phase).sin_cos();
                let (wave, slope) = (amplitude * sin, amplitude * frequency * cos);
                Sample {
                    value: wave + offset,
                    derivative: slope,
                    second_derivative: -frequency * frequency * wave,
                    third_derivative: -frequency * frequency * slope,
                }
            }
            Signal::Table(points) => polygon(points, t, piece),
            Signal::Log { hold: Hold::Linear, samples, .. } => polygon(samples.points(), t, piece),
            Signal::Log { hold: Hold::Previous, samples, .. } => {
                // the first value holds before it, too
                let points = samples.points();
                let begun = points.partition_point(|p| piece.has_begun(p.0)).max(1);
                Sample { value: points.get(begun - 1).map_or(0.0, |p| p.1), ..Default::default() }
            }
            Signal::Steps(points) => {
                let begun = points.partition_point(|p| piece.has_begun(p.0));
                Sample { value: begun.checked_sub(1).map_or(0.0, |i| points[i].1), ..Default::default() }
            }
            Signal::Piecewise(parts) => {
                let begun = parts.partition_point(|p| piece.has_begun(p.0));
                begun.checked_sub(1).map_or(Sample::default(), |i| parts[i].1.sample(t, piece))
            }
            Signal::Sum(terms) => terms.iter().fold(Sample::default(), |sum, term| {
                let term = term.sample(t, piece);
                Sample {
                    value: sum.value + term.value,
                    derivative: sum.derivative + term.derivative,
                    second_derivative: sum.second_derivative + term.second_derivative,
                    third_derivative: sum.third_derivative + term.third_derivative,
                }
            }),
        }
    }

    /// The first corner, jump or extremum after `after` (not at it), if there is one. See above for sums.
    pub fn next_corner(&self, after: f64) -> Option<f64> {
        self.corner(after, false)
    }

    /// As [`Signal::next_corner`]; with `quarters`, sines also stop at their zeros.
    fn corner(&self, after: f64, quarters: bool) -> Option<f64> {
        match self {
            Signal::Constant(_) => None,
            Signal::Ramp { start, .. } => Some(*start).filter(|t| *t > after),
            Signal::Sine { amplitude, frequency, phase, .. } => {
                // a sine without amplitude has no extrema
                if *amplitude == 0.0 { None } else { next_angle(*frequency, *phase, quarters, after) }
            }
            Signal::Table(points) | Signal::Steps(points) => next_time(points, after),
            Signal::Log { samples, .. } => next_time(samples.points(), after),
            Signal::Piecewise(parts) => {
                let begun = parts.partition_point(|p| p.0 <= after);
                let inside = begun.checked_sub(1).and_then(|i| parts[i].1.corner(after, quarters));
                earliest(inside, parts.get(begun).map(|p| p.0))
            }
            Signal::Sum(terms) => {
                let end = terms.iter().fold(None, |first, term| earliest(first, term.corner(after, true)))?;
                Some(self.extremum_between(after, end).unwrap_or(end))
            }
        }
    }

    /// The first extremum strictly between two times without a corner between them.
    fn extremum_between(&self, from: f64, to: f64) -> Option<f64> {
        let piece = Piece::After(from);
        let bend = self.largest_second_derivative(piece);
        if bend == 0.0 {
            return None;
        }
        let slope = |t: f64| self.sample(t, piece).derivative;
        // not shorter than the resolution of time: every iteration advances, 512 times at most and once for the end
        let rounding = time_rounding(from.abs().max(to.abs()));
        let shortest = ((to - from) / 512.0).max(rounding);
        // start a little later: `from` may be the last extremum
        let mut t = from + 0.125 * shortest.max(8.0 * rounding);
        let mut before = slope(t);
        while t < to {
            let next = (t + (before.abs() / bend).max(shortest)).min(to);
            let now = slope(next);
            if before * now < 0.0 {
                let extremum = bisect(t, next, |t| slope(t) * before <= 0.0);
                // an extremum that coincides with the corner at the end is that corner
                return Some(extremum).filter(|t| *t < to - rounding.max(1e-9 * (to - from)));
            }
            (t, before) = (next, now);
        }
        None
    }

    /// A bound on |f″| over a smooth piece.
    fn largest_second_derivative(&self, piece: Piece) -> f64 {
        match self {
            Signal::Sine { amplitude, frequency, .. } => amplitude.abs() * frequency * frequency,
            Signal::Piecewise(parts) => {
                let begun = parts.partition_point(|p| piece.has_begun(p.0));
                begun.checked_sub(1).map_or(0.0, |i| parts[i].1.largest_second_derivative(piece))
            }
            Signal::Sum(terms) => terms.iter().map(|term| term.largest_second_derivative(piece)).sum(),
            _ => 0.0,
        }
    }

    /// The smooth piece `piece` clamped to 0 … 1, for a load; constant where it is clamped.
    pub fn sample_clamped(&self, t: f64, piece: Piece) -> Sample {
        // it passes 0 and 1 at corners only: the state at the beginning of a piece is valid to its end, where
        // rounding may put the value on either side
        let Piece::After(start) = piece else { return clamped(self.sample(t, piece)) };
        let begin = self.sample(start, piece);
        if is_beyond(-begin.value, -begin.derivative, -begin.second_derivative) {
            Sample::default()
        } else if is_beyond(begin.value - 1.0, begin.derivative, begin.second_derivative) {
            Sample { value: 1.0, ..Default::default() }
        } else {
            let sample = self.sample(t, piece);
            Sample { value: sample.value.clamp(0.0, 1.0), ..sample }
        }
    }

    /// As [`Signal::next_corner`], for the signal clamped to 0 … 1: also the times at which it passes 0 or 1.
    pub fn next_corner_clamped(&self, after: f64) -> Option<f64> {
        let corner = self.next_corner(after);
        earliest(corner, earliest(self.crossing(after, corner, 0.0), self.crossing(after, corner, 1.0)))
    }

    /// Time at which the piece just after `after`, monotone up to the next corner, passes `level`.
    fn crossing(&self, after: f64, corner: Option<f64>, level: f64) -> Option<f64> {
        let piece = Piece::After(after);
        let start = self.sample(after, piece);
        let gap = start.value - level;
        let Some(corner) = corner else {
            // without a further corner the signal is linear
            let t = after - gap / start.derivative;
            return (t > after && t.is_finite()).then_some(t);
        };
        let end = self.sample(corner, piece).value - level;
        if gap * end < 0.0 {
            Some(bisect(after, corner, |t| (self.sample(t, piece).value - level) * gap <= 0.0))
        } else {
            None
        }
    }

    /// The first time after 0 at which the value jumps.
    pub fn first_jump(&self) -> Option<f64> {
        let mut times = Vec::new();
        self.breaks_into(&mut times);
        times.sort_by(f64::total_cmp);
        times.into_iter().find(|&t| t > 0.0 && (self.value(t) - self.value_before(t)).abs() > 1e-12 * self.size(t))
    }

    /// A bound on the terms of its value up to `t`, for the rounding error of their sum.
    fn size(&self, t: f64) -> f64 {
        let largest = |points: &[(f64, f64)]| points.iter().fold(0.0_f64, |most, point| most.max(point.1.abs()));
        match self {
            Signal::Constant(c) => c.abs(),
            Signal::Ramp { rate, start } => rate.abs() * (t.abs() + start.abs()),
            Signal::Sine { amplitude, offset, .. } => amplitude.abs() + offset.abs(),
            Signal::Table(points) | Signal::Steps(points) => largest(points),
            Signal::Log { samples, .. } => samples.largest(),
            Signal::Piecewise(parts) => parts.iter().fold(0.0, |most, (_, part)| part.size(t).max(most)),
            Signal::Sum(terms) => terms.iter().map(|term| term.size(t)).sum(),
        }
    }

    /// Rounding of `t` and of the angles of its sines, s: times that are closer are one.
    pub(crate) fn time_rounding(&self, t: f64) -> f64 {
        match self {
            Signal::Sine { frequency, phase, .. } if *frequency != 0.0 => {
                time_rounding(t.abs() + (phase / frequency).abs())
            }
            Signal::Piecewise(parts) => {
                let begun = parts.partition_point(|p| p.0 <= t);
                let near = &parts[begun.saturating_sub(2)..begun];
                near.iter().fold(time_rounding(t.abs()), |most, (_, part)| part.time_rounding(t).max(most))
            }
            Signal::Sum(terms) => terms.iter().fold(0.0, |most, term| term.time_rounding(t).max(most)),
            _ => time_rounding(t.abs()),
        }
    }

    /// Error of its derivative at `t` by rounding of t, of the angles ωt + φ, and of sums and differences, on either
    /// side of a corner: what is less may as well be zero.
    pub(crate) fn slope_rounding(&self, t: f64) -> f64 {
        16.0 * f64::EPSILON * self.sizes(t)[1]
    }

    /// A bound on the terms of its derivative, those of a sine times its angle.
    fn slope_size(&self, t: f64, piece: Piece) -> f64 {
        match self {
            Signal::Constant(_) | Signal::Steps(_) | Signal::Log { hold: Hold::Previous, .. } => 0.0,
            Signal::Ramp { rate, .. } => rate.abs(),
            Signal::Sine { amplitude, frequency, phase, .. } => {
                (amplitude * frequency).abs() * (1.0 + (frequency * t).abs() + phase.abs())
            }
            Signal::Table(points) => polygon_slope_size(points, piece),
            Signal::Log { samples, .. } => polygon_slope_size(samples.points(), piece),
            Signal::Piecewise(parts) => {
                let begun = parts.partition_point(|p| piece.has_begun(p.0));
                begun.checked_sub(1).map_or(0.0, |i| parts[i].1.slope_size(t, piece))
            }
            Signal::Sum(terms) => terms.iter().map(|term| term.slope_size(t, piece)).sum(),
        }
    }

    /// Bounds on the terms of its value and of its derivative at `t`.
    pub(crate) fn sizes(&self, t: f64) -> [f64; 2] {
        [self.size(t), self.slope_size(t, Piece::Before(t)).max(self.slope_size(t, Piece::After(t)))]
    }

    /// Largest angular frequency of its sines, rad/s; 0 without sines.
    pub fn largest_frequency(&self) -> f64 {
        match self {
            Signal::Sine { frequency, .. } => frequency.abs(),
            Signal::Piecewise(parts) => parts.iter().map(|(_, part)| part.largest_frequency()).fold(0.0, f64::max),
            Signal::Sum(terms) => terms.iter().map(Signal::largest_frequency).fold(0.0, f64::max),
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Table(_) | Signal::Steps(_) | Signal::Log { .. } => 0.0,
        }
    }

    /// Collects the times at which a part may jump.
    fn breaks_into(&self, times: &mut Vec<f64>) {
        match self {
            Signal::Steps(points) => times.extend(points.iter().map(|p| p.0)),
            Signal::Piecewise(parts) => parts.iter().for_each(|(t, part)| {
                times.push(*t);
                part.breaks_into(times);
            }),
            Signal::Sum(terms) => terms.iter().for_each(|term| term.breaks_into(times)),
            Signal::Log { hold: Hold::Previous, samples, .. } => times.extend(samples.points().iter().map(|p| p.0)),
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Sine { .. } | Signal::Table(_) | Signal::Log { .. } => {
            }
        }
    }
}

/// Straight lines between points, constant beyond both ends.
fn polygon(points: &[(f64, f64)], t: f64, piece: Piece) -> Sample {
    let begun = points.partition_point(|p| piece.has_begun(p.0));
    match (begun.checked_sub(1).map(|i| points[i]), points.get(begun)) {
        (None, None) => Sample::default(),
        (Some(a), Some(b)) => line(a.1, a.0, (b.1 - a.1) / (b.0 - a.0), t),
        (Some(locked), None) | (None, Some(&locked)) => Sample { value: locked.1, ..Default::default() },
    }
}

/// A bound on the terms of its slope.
fn polygon_slope_size(points: &[(f64, f64)], piece: Piece) -> f64 {
    let begun = points.partition_point(|p| piece.has_begun(p.0));
    match (begun.checked_sub(1).map(|i| points[i]), points.get(begun)) {
        (Some(a), Some(b)) => (a.1.abs() + b.1.abs()) / (b.0 - a.0),
        _ => 0.0,
    }
}

/// The first time of a list after `after`.
fn next_time(points: &[(f64, f64)], after: f64) -> Option<f64> {
    points.get(points.partition_point(|p| p.0 <= after)).map(|p| p.0)
}

/// The line through (t₀, y₀) with the given slope.
fn line(y0: f64, t0: f64, slope: f64, t: f64) -> Sample {
    Sample { value: y0 + slope * (t - t0), derivative: slope, ..Sample::default() }
}

/// The earlier of two optional times.
fn earliest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The next time at which frequency · t + phase is an odd multiple of π/2 (with `quarters`: any multiple).
fn next_angle(frequency: f64, phase: f64, quarters: bool, after: f64) -> Option<f64> {
    use std::f64::consts::{FRAC_PI_2, PI};
    // a negative frequency passes the same angles
    let (omega, phase) = if frequency < 0.0 { (-frequency, -phase) } else { (frequency, phase) };
    let (first, spacing) = if quarters { (0.0, FRAC_PI_2) } else { (FRAC_PI_2, PI) };
    // rounding may place the last angle on either side of `after`: take a time clearly later
    let clearly = after + (1e-9 * FRAC_PI_2 / omega).max(time_rounding(after.abs() + phase.abs() / omega));
    let k = ((omega * clearly + phase - first) / spacing).floor();
    (0..=2).map(|i| ((k + f64::from(i)) * spacing + first - phase) / omega).find(|t| *t > clearly && t.is_finite())
}

/// Distance below which two times are the same angle of a sine: a few rounding errors of t and of ωt.
fn time_rounding(t: f64) -> f64 {
    4.0 * f64::EPSILON * t
}

/// The first time, to the last bit, at which `passed` is true, given that it is at `high` and not at `low`.
fn bisect(mut low: f64, mut high: f64, passed: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + 0.5 * (high - low);
        if !(middle > low && middle < high) {
            return high;
        }
        if passed(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

/// The sample clamped to 0 … 1 by its value alone.
fn clamped(sample: Sample) -> Sample {
    if sample.value <= 0.0 {
        Sample::default()
    } else if sample.value >= 1.0 {
        Sample { value: 1.0, ..Default::default() }
    } else {
        sample
    }
}

/// Whether a quantity of magnitude 1 is past zero just after a time at which it and two derivatives are given. A
/// crossing is located up to rounding: for a smaller value the derivatives decide. A derivative belongs to an
/// extremum if the second derivative cancels it within rounding, that is, if the quantity changes by no more than
/// d²/|2 s|.
fn is_beyond(gap: f64, derivative: f64, second: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    if gap.abs() > ROUNDING {
        gap > 0.0
    } else if derivative * derivative > 2.0 * ROUNDING * second.abs() {
        derivative > 0.0
    } else {
        second >= 0.0
    }
}

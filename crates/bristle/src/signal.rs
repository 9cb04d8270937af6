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
//! 512th of the interval where that is more. It can miss only a pair of extrema closer than that, a ripple below 2e-6
//! of the sines' amplitudes.
//!
//! **Rounding.** Time and the angle ωt + φ are rounded: two times closer than 4ε(|t| + |φ|/ω) are one corner. Every
//! corner is later than the one before by at least an ulp, and the search for it is bounded. A sine whose quarter
//! period is below that, at ωt beyond 1e15, has no corners: no floating-point time separates its extrema.

use serde::{Deserialize, Serialize};

/// A given function of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Signal {
    /// A constant value.
    Constant(f64),
    /// rate · (t − start), 0 before start.
    Ramp {
        /// Slope, per second.
        #[serde(default)]
        rate: f64,
        /// Time at which it leaves 0, s.
        #[serde(default)]
        start: f64,
    },
    /// amplitude · sin(frequency · t + phase) + offset.
    Sine {
        /// Half the distance between the extrema.
        #[serde(default)]
        amplitude: f64,
        /// Angular frequency, rad/s.
        #[serde(default)]
        frequency: f64,
        /// Angle at t = 0, rad.
        #[serde(default)]
        phase: f64,
        /// Mean value.
        #[serde(default)]
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

/// An unusable number in a signal.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalFinding {
    /// Its path, outermost first: `Sum[1].Sine.amplitude`, `Table[3]`.
    pub path: String,
    /// The number; NaN where one is missing.
    pub value: f64,
    /// The rule that it violates, as a sentence.
    pub reason: String,
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
            Signal::Table(points) => {
                let begun = points.partition_point(|p| piece.has_begun(p.0));
                match (begun.checked_sub(1).map(|i| points[i]), points.get(begun)) {
                    (None, None) => Sample::default(),
                    (Some(a), Some(b)) => line(a.1, a.0, (b.1 - a.1) / (b.0 - a.0), t),
                    (Some(locked), None) | (None, Some(&locked)) => Sample { value: locked.1, ..Default::default() },
                }
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
            Signal::Table(points) | Signal::Steps(points) => points.iter().map(|p| p.0).find(|t| *t > after),
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
            Signal::Constant(_) | Signal::Steps(_) => 0.0,
            Signal::Ramp { rate, .. } => rate.abs(),
            Signal::Sine { amplitude, frequency, phase, .. } => {
                (amplitude * frequency).abs() * (1.0 + (frequency * t).abs() + phase.abs())
            }
            Signal::Table(points) => {
                let begun = points.partition_point(|p| piece.has_begun(p.0));
                match (begun.checked_sub(1).map(|i| points[i]), points.get(begun)) {
                    (Some(a), Some(b)) => (a.1.abs() + b.1.abs()) / (b.0 - a.0),
                    _ => 0.0,
                }
            }
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
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Table(_) | Signal::Steps(_) => 0.0,
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
            Signal::Constant(_) | Signal::Ramp { .. } | Signal::Sine { .. } | Signal::Table(_) => {}
        }
    }

    /// The defects of the signal: numbers that are not finite, times that do not increase, empty lists.
    pub fn validate(&self) -> Vec<SignalFinding> {
        let mut found = Vec::new();
        self.validate_into(&mut found, String::new());
        found
    }

    fn validate_into(&self, found: &mut Vec<SignalFinding>, path: String) {
        let mut finite = |name: &str, value: f64| {
            if !value.is_finite() {
                found.push(SignalFinding {
                    path: format!("{path}{name}"),
                    value,
                    reason: "must be a finite number".into(),
                });
            }
        };
        match self {
            Signal::Constant(c) => finite("Constant", *c),
            Signal::Ramp { rate, start } => {
                finite("Ramp.rate", *rate);
                finite("Ramp.start", *start);
            }
            Signal::Sine { amplitude, frequency, phase, offset } => {
                finite("Sine.amplitude", *amplitude);
                finite("Sine.frequency", *frequency);
                finite("Sine.phase", *phase);
                finite("Sine.offset", *offset);
            }
            Signal::Table(points) | Signal::Steps(points) => {
                let name = if matches!(self, Signal::Table(_)) { "Table" } else { "Steps" };
                for (i, p) in points.iter().enumerate() {
                    finite(&format!("{name}[{i}]"), p.1);
                }
                validate_times(found, &format!("{path}{name}"), points.iter().map(|p| p.0));
            }
            Signal::Piecewise(parts) => {
                validate_times(found, &format!("{path}Piecewise"), parts.iter().map(|p| p.0));
                for (i, (_, part)) in parts.iter().enumerate() {
                    part.validate_into(found, format!("{path}Piecewise[{i}]."));
                }
            }
            Signal::Sum(terms) => {
                if terms.is_empty() {
                    let reason = "must have at least one signal".into();
                    found.push(SignalFinding { path: format!("{path}Sum"), value: f64::NAN, reason });
                }
                for (i, term) in terms.iter().enumerate() {
                    term.validate_into(found, format!("{path}Sum[{i}]."));
                }
            }
        }
    }
}

/// Checks that the times of a list are finite and increase, and that there are some.
fn validate_times(found: &mut Vec<SignalFinding>, path: &str, times: impl ExactSizeIterator<Item = f64>) {
    if times.len() == 0 {
        found.push(SignalFinding { path: path.into(), value: f64::NAN, reason: "must have at least one entry".into() });
    }
    let mut before = f64::NEG_INFINITY;
    for (i, t) in times.enumerate() {
        if !t.is_finite() {
            let reason = "its time must be a finite number".into();
            found.push(SignalFinding { path: format!("{path}[{i}]"), value: t, reason });
        } else if t <= before {
            let reason = format!(
                "times must increase: this one must be later than {before} (for a jump use Steps or Piecewise)"
            );
            found.push(SignalFinding { path: format!("{path}[{i}]"), value: t, reason });
        }
        before = t;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use approx::{assert_abs_diff_eq, assert_relative_eq};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;
    use std::f64::consts::PI;

    fn read(text: &str) -> Result<Signal, ron::error::SpannedError> {
        ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME).from_str(text)
    }

    fn sine(amplitude: f64, frequency: f64, phase: f64) -> Signal {
        Signal::Sine { amplitude, frequency, phase, offset: 0.0 }
    }

    /// All corners up to `until`.
    fn corners(signal: &Signal, until: f64) -> Vec<f64> {
        let mut times = Vec::new();
        let mut t = 0.0;
        while let Some(next) = signal.next_corner(t) {
            assert!(next > t, "{signal:?}: corner {next} after {t}");
            if next > until {
                break;
            }
            times.push(next);
            t = next;
        }
        times
    }

    #[test]
    fn signals_read_as_the_design_spells_them() {
        assert_eq!(read("Constant(2.5)").unwrap(), Signal::Constant(2.5));
        assert_eq!(read("Ramp(rate: 0.4)").unwrap(), Signal::Ramp { rate: 0.4, start: 0.0 });
        assert_eq!(
            read("Sine(amplitude: 0.2, frequency: 1.0)").unwrap(),
            Signal::Sine { amplitude: 0.2, frequency: 1.0, phase: 0.0, offset: 0.0 }
        );
        assert_eq!(read("Table([(0, 1), (2.0, 3.0)])").unwrap(), Signal::Table(vec![(0.0, 1.0), (2.0, 3.0)]));
        assert_eq!(read("Steps([(0.0, 0.0), (0.5, 1.0)])").unwrap(), Signal::Steps(vec![(0.0, 0.0), (0.5, 1.0)]));
        let nested =
            read("Piecewise([(0.0, Ramp(rate: 0.4)), (3.0, Sum([Constant(1.0), Sine(amplitude: 1.0)]))])").unwrap();
        assert_eq!(
            nested,
            Signal::Piecewise(vec![
                (0.0, Signal::Ramp { rate: 0.4, start: 0.0 }),
                (3.0, Signal::Sum(vec![Signal::Constant(1.0), sine(1.0, 0.0, 0.0)]))
            ])
        );
        assert_eq!(read(&ron::to_string(&nested).unwrap()).unwrap(), nested);
        assert!(read("Sine(amplitude: 0.2, omega: 1.0)").unwrap_err().to_string().contains("omega"));
        assert!(read("Square(amplitude: 0.2)").is_err());
    }

    #[test]
    fn values_on_both_sides_of_corners_and_jumps() {
        let ramp = Signal::Ramp { rate: 2.0, start: 1.0 };
        assert_eq!((ramp.value(0.5), ramp.value(1.0), ramp.value(2.5)), (0.0, 0.0, 3.0));
        assert_eq!((ramp.derivative(1.0), ramp.sample(1.0, Piece::Before(1.0)).derivative), (2.0, 0.0));

        let table = Signal::Table(vec![(1.0, 1.0), (2.0, 3.0), (4.0, 3.0), (5.0, 0.0)]);
        for (t, value) in [(0.0, 1.0), (1.0, 1.0), (1.5, 2.0), (2.0, 3.0), (3.0, 3.0), (4.5, 1.5), (9.0, 0.0)] {
            assert_eq!(table.value(t), value);
            assert_eq!(table.value_before(t), value);
        }
        assert_eq!((table.derivative(1.0), table.derivative(4.0), table.derivative(5.0)), (2.0, -3.0, 0.0));

        let steps = Signal::Steps(vec![(0.5, 1.0), (1.0, -2.0)]);
        assert_eq!((steps.value(0.4), steps.value_before(0.5), steps.value(0.5)), (0.0, 0.0, 1.0));
        assert_eq!((steps.value_before(1.0), steps.value(1.0)), (1.0, -2.0));

        let parts =
            Signal::Piecewise(vec![(0.0, Signal::Ramp { rate: 0.4, start: 0.0 }), (3.0, Signal::Constant(0.0))]);
        assert_eq!((parts.value_before(3.0), parts.value(3.0)), (0.4 * 3.0, 0.0));
        // one piece extended across a jump, as a step that ends at the jump needs it
        assert_eq!(parts.sample(3.0, Piece::After(2.0)).value, 0.4 * 3.0);
        assert_eq!(parts.sample(5.0, Piece::After(2.0)).value, 2.0);
        assert_eq!(parts.value(-1.0), 0.0);
    }

    /// A random signal, nested up to two deep.
    fn random_signal(rng: &mut Pcg64, depth: u32) -> Signal {
        let mut number = |low: f64, high: f64| rng.random_range(low..high);
        let points = |rng: &mut Pcg64| {
            let mut t = rng.random_range(-1.0..1.0);
            (0..4)
                .map(|_| {
                    t += rng.random_range(0.1..2.0);
                    (t, rng.random_range(-2.0..2.0))
                })
                .collect::<Vec<_>>()
        };
        match number(0.0, if depth == 0 { 5.0 } else { 7.0 }) as u32 {
            0 => Signal::Constant(number(-2.0, 2.0)),
            1 => Signal::Ramp { rate: number(-1.0, 1.0), start: number(-1.0, 3.0) },
            2 => Signal::Sine {
                amplitude: number(-2.0, 2.0),
                frequency: number(-8.0, 8.0),
                phase: number(-7.0, 7.0),
                offset: number(-1.0, 1.0),
            },
            3 => Signal::Table(points(rng)),
            4 => Signal::Steps(points(rng)),
            5 => Signal::Piecewise(points(rng).iter().map(|p| (p.0, random_signal(rng, depth - 1))).collect()),
            _ => Signal::Sum((0..3).map(|_| random_signal(rng, depth - 1)).collect()),
        }
    }

    #[test]
    fn derivatives_match_differences_of_one_piece() {
        let mut rng = Pcg64::seed_from_u64(1);
        for _ in 0..2000 {
            let signal = random_signal(&mut rng, 2);
            let t = rng.random_range(-1.0..8.0);
            let piece = Piece::After(t);
            let (h, at) = (1e-4, signal.sample(t, piece));
            let (down, up) = (signal.sample(t - h, piece), signal.sample(t + h, piece));
            assert_abs_diff_eq!(at.derivative, (up.value - down.value) / (2.0 * h), epsilon = 2e-5);
            assert_abs_diff_eq!(at.second_derivative, (up.derivative - down.derivative) / (2.0 * h), epsilon = 2e-4);
        }
    }

    #[test]
    fn between_corners_signals_are_smooth_and_monotone() {
        let mut rng = Pcg64::seed_from_u64(2);
        for _ in 0..300 {
            let signal = random_signal(&mut rng, 2);
            let mut from = 0.0;
            for to in corners(&signal, 8.0).into_iter().chain([8.0]) {
                let piece = Piece::After(from);
                // no jump inside: the piece after `from` is the signal up to `to`
                let samples: Vec<f64> = (0..=50).map(|i| from + (to - from) * f64::from(i) / 50.0).collect();
                for &t in &samples[..50] {
                    assert_eq!(signal.value(t), signal.sample(t, piece).value, "{signal:?} at {t}");
                }
                assert_eq!(signal.value_before(to), signal.sample(to, piece).value);
                // no extremum inside: values lie between those at the ends, up to the accepted ripple of sums (nine
                // sines of up to 2)
                let (a, b) = (signal.value(from), signal.value_before(to));
                for &t in &samples {
                    let value = signal.sample(t, piece).value;
                    assert!(value >= a.min(b) - 4e-5 && value <= a.max(b) + 4e-5, "{signal:?} between {from} and {to}");
                }
                from = to;
            }
        }
    }

    #[test]
    fn extrema_of_a_sine_are_its_corners() {
        let times = corners(&sine(0.3, 2.0, 0.5), 10.0);
        assert_eq!(times.len(), 7);
        for (k, t) in times.iter().enumerate() {
            assert_relative_eq!(*t, (PI / 2.0 + PI * k as f64 - 0.5) / 2.0, max_relative = 1e-15);
        }
        assert_eq!(corners(&sine(0.3, -2.0, -0.5), 10.0), times);
        assert_eq!(corners(&sine(0.0, 2.0, 0.0), 10.0), []);
        assert_eq!(corners(&sine(1.0, 0.0, 0.3), 10.0), []);
    }

    #[test]
    fn the_extremum_of_a_ramp_and_a_sine_is_found_exactly() {
        // d/dt (sin 3t + t) = 0 at cos 3t = −1/3
        let sum = Signal::Sum(vec![sine(1.0, 3.0, 0.0), Signal::Ramp { rate: 1.0, start: 0.0 }]);
        let first = f64::acos(-1.0 / 3.0) / 3.0;
        let second = (2.0 * PI - f64::acos(-1.0 / 3.0)) / 3.0;
        let times = corners(&sum, 2.0 * PI / 3.0 - 1e-3);
        for extremum in [first, second] {
            assert!(times.iter().any(|t| (t - extremum).abs() < 1e-14), "{extremum} not among {times:?}");
        }
        // quarter periods and two extrema, nothing else
        assert_eq!(times.len(), 5);
    }

    #[test]
    fn extrema_of_random_sums_of_sines_are_found() {
        let mut rng = Pcg64::seed_from_u64(3);
        for _ in 0..100 {
            let waves: Vec<Signal> = (0..3)
                .map(|_| sine(rng.random_range(0.2..1.0), rng.random_range(0.5..9.0), rng.random_range(-3.0..3.0)))
                .collect();
            let sum = Signal::Sum(waves);
            let times = corners(&sum, 10.0);
            // on a fine grid, no value lies outside those at the two corners around it, up to the ripple of the header
            let mut k = 0;
            for i in 0..20_000 {
                let t = 5e-4 * f64::from(i);
                while k < times.len() && times[k] <= t {
                    k += 1;
                }
                let (Some(&to), Some(from)) =
                    (times.get(k), if k == 0 { Some(0.0) } else { times.get(k - 1).copied() })
                else {
                    continue;
                };
                let (f, a, b) = (sum.value(t), sum.value(from), sum.value(to));
                assert!(f >= a.min(b) - 6e-6 && f <= a.max(b) + 6e-6, "{sum:?}: extremum near {t} missed");
            }
        }
    }

    #[test]
    fn a_clamped_signal_has_corners_where_it_is_cut() {
        // the first clutch of BENCHMARKS M01: cos(0.4 π t), open from 1.25 s, loaded again from 3.75 s
        let force = sine(1.0, 0.4 * PI, PI / 2.0);
        let mut t = 0.0;
        let mut times = Vec::new();
        while times.len() < 4 {
            t = force.next_corner_clamped(t).unwrap();
            times.push(t);
        }
        for (t, expected) in times.iter().zip([1.25, 2.5, 3.75, 5.0]) {
            assert_abs_diff_eq!(*t, expected, epsilon = 1e-14);
        }
        assert_eq!(force.sample_clamped(2.0, Piece::After(2.0)), Sample::default());
        // linear signals without end are clamped, too
        let ramp = Signal::Ramp { rate: 0.25, start: 1.0 };
        assert_eq!(ramp.next_corner_clamped(0.0), Some(1.0));
        assert_eq!(ramp.next_corner_clamped(1.0), Some(5.0));
        assert_eq!(ramp.next_corner_clamped(5.0), None);
        assert_eq!(ramp.sample_clamped(9.0, Piece::After(9.0)).value, 1.0);
    }

    #[test]
    fn unusable_signals_are_refused_with_their_place() {
        let found =
            read("Sum([Constant(1.0), Piecewise([(0.0, Table([(1.0, 0.0), (1.0, 2.0)]))]), Sine(amplitude: inf)])")
                .unwrap()
                .validate();
        let paths: Vec<&str> = found.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["Sum[1].Piecewise[0].Table[1]", "Sum[2].Sine.amplitude"]);
        assert!(found[0].reason.contains("later than 1"));
        for empty in ["Table([])", "Steps([])", "Piecewise([])", "Sum([])"] {
            assert_eq!(read(empty).unwrap().validate().len(), 1, "{empty}");
        }
        assert!(read("Ramp(rate: -1.0, start: -3.0)").unwrap().validate().is_empty());
    }

    /// A dither late in a run: at ωt of 1e7 … 1e17 corners follow one another without repetition, and none is lost
    /// while time resolves them.
    #[test]
    fn corners_of_sums_advance_at_any_time() {
        let mut rng = Pcg64::seed_from_u64(4);
        for _ in 0..300 {
            let frequency = 10_f64.powf(rng.random_range(0.0..6.0));
            let start = 10_f64.powf(rng.random_range(0.0..11.0));
            let terms = vec![
                sine(rng.random_range(0.1..2.0), frequency, rng.random_range(-7.0..7.0)),
                Signal::Constant(rng.random_range(-1.0..1.0)),
            ];
            let sum = Signal::Sum(if rng.random() {
                terms
            } else {
                [terms, vec![sine(0.5, frequency * rng.random_range(0.1..3.0), 0.0)]].concat()
            });
            let (mut t, quarter) = (start, 0.5 * PI / frequency);
            let mut n = 0;
            while let Some(next) = sum.next_corner(t).filter(|t| *t < start + 20.0 * quarter) {
                assert!(next > t, "{sum:?}: {next} after {t}");
                (t, n) = (next, n + 1);
                assert!(n <= 300, "{sum:?} from {start}: corners crowd at {t}");
            }
            if frequency * start < 1e13 {
                assert!(n >= 19, "{sum:?} from {start}: {n} corners");
            }
        }
        // scenes that made no progress in the past
        for (frequency, start) in [(62832.0, 500.0), (1000.0, 1e5)] {
            let sum = Signal::Sum(vec![sine(1.0, frequency, 0.3), Signal::Constant(0.5)]);
            let (mut t, mut n) = (start, 0);
            while let Some(next) = sum.next_corner(t).filter(|t| *t < start + 2.0 * PI / frequency * 100.0) {
                (t, n) = (next, n + 1);
            }
            // four quarters in each period, and no corner twice
            assert!((399..=401).contains(&n), "{n}");
        }
    }

    #[test]
    fn unusable_signals_still_answer() {
        // signals that `validate` refuses must not hang or panic either
        for odd in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300, 5e-324] {
            let sum = Signal::Sum(vec![
                Signal::Sine { amplitude: odd, frequency: odd, phase: odd, offset: odd },
                sine(1.0, 3.0, 0.0),
                sine(1.0, odd, 0.0),
                Signal::Table(vec![(odd, odd), (0.0, odd)]),
                Signal::Piecewise(vec![(odd, Signal::Ramp { rate: odd, start: odd }), (0.0, Signal::Sum(vec![]))]),
            ]);
            for t in [odd, 0.0, 1e18] {
                let _ = (sum.value(t), sum.value_before(t), sum.next_corner(t), sum.next_corner_clamped(t));
            }
        }
    }
}

//! Signals as servos see them: late, on or off; and whether an effort that follows one jumps.

use super::{Piece, Sample, Signal, earliest, is_beyond};

impl Signal {
    /// The same signal, later by `delay`, s.
    pub(crate) fn delayed(&self, delay: f64) -> Signal {
        let later = |points: &[(f64, f64)]| points.iter().map(|&(t, y)| (t + delay, y)).collect();
        match self {
            Signal::Constant(c) => Signal::Constant(*c),
            Signal::Ramp { rate, start } => Signal::Ramp { rate: *rate, start: start + delay },
            Signal::Sine { amplitude, frequency, phase, offset } => Signal::Sine {
                amplitude: *amplitude,
                frequency: *frequency,
                phase: phase - frequency * delay,
                offset: *offset,
            },
            Signal::Table(points) => Signal::Table(later(points)),
            Signal::Steps(points) => Signal::Steps(later(points)),
            Signal::Piecewise(parts) => {
                Signal::Piecewise(parts.iter().map(|(t, part)| (t + delay, part.delayed(delay))).collect())
            }
            Signal::Sum(terms) => Signal::Sum(terms.iter().map(|term| term.delayed(delay)).collect()),
            Signal::Log { file, column, time, hold, samples } => Signal::Log {
                file: file.clone(),
                column: column.clone(),
                time: time.clone(),
                hold: *hold,
                samples: samples.delayed(delay),
            },
        }
    }

    /// Whether it is 0.5 or more in a piece; it passes 0.5 at the times of [`Signal::next_switch`].
    pub(crate) fn is_on(&self, t: f64, piece: Piece) -> bool {
        let at = if let Piece::After(start) = piece { start } else { t };
        let Sample { value, derivative, second_derivative, .. } = self.sample(at, piece);
        is_beyond(value - 0.5, derivative, second_derivative)
    }

    /// As [`Signal::next_corner`], with the times at which it passes 0.5.
    pub(crate) fn next_switch(&self, after: f64) -> Option<f64> {
        let corner = self.next_corner(after);
        earliest(corner, self.crossing(after, corner, 0.5))
    }

    /// Whether its value does not jump at `t`, from the piece `before` to the piece `after`, rounding aside.
    pub(crate) fn is_continuous(&self, t: f64, before: Piece, after: Piece) -> bool {
        let jump = self.sample(t, before).value - self.sample(t, after).value;
        jump.abs() <= 16.0 * f64::EPSILON * self.size(t)
    }
}

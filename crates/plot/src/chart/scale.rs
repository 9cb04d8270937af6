//! An axis as it is drawn: linear, or logarithmic with ticks at decades.

use super::super::decimate::is_drawable;
use super::super::ticks::{Axis, superscript};
use super::Side;

/// Values go through [`Scale::through`], then along [`Axis::place`].
pub struct Scale {
    pub is_log: bool,
    pub axis: Axis,
}

impl Scale {
    /// Over the values, or over the range that is given; a snug axis ends at its values, others at ticks beyond them.
    pub fn new(side: &Side, values: impl Iterator<Item = f64>, is_snug: bool, length: f64) -> Self {
        let is_log = side.is_log;
        let through = |x: f64| if is_log { x.log10() } else { x };
        let (low, high) = side.range.map_or_else(
            || {
                let seen = values.map(through).filter(|&x| is_drawable(x));
                seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
            },
            |(low, high)| (through(low), through(high)),
        );
        let none = if is_snug || is_log { (0.0, 1.0) } else { (0.0, 0.0) };
        let (low, high) = if low <= high { (low, high) } else { none };
        let max_ticks = if length > 600.0 { 10 } else { 8 };
        let axis = match side.range {
            Some(_) if is_log => decades(Axis::exact(low, high, 10)),
            None if is_log => decades(Axis::exact((low - 0.05).floor(), (high + 0.05).ceil(), 10)),
            Some(_) => Axis::exact(low, high, max_ticks),
            None if is_snug && high > low => Axis::exact(low, high, max_ticks),
            None => Axis::around(low, high, 6),
        };
        Self { is_log, axis }
    }

    /// Place of a value, 0 to 1 within the axis.
    pub fn place(&self, x: f64) -> f64 {
        self.axis.place(if self.is_log { x.log10() } else { x })
    }

    pub fn label(&self, tick: f64) -> String {
        if self.is_log { power(tick.round() as i32) } else { self.axis.label(tick) }
    }

    /// The power of ten that labels are multiplied with; empty for none.
    pub fn factor(&self) -> String {
        if self.is_log { String::new() } else { self.axis.factor() }
    }
}

/// Ticks at whole powers of ten only.
fn decades(mut axis: Axis) -> Axis {
    axis.ticks.retain(|tick| (tick - tick.round()).abs() < 1e-9);
    axis
}

/// 10ᵏ as text.
fn power(k: i32) -> String {
    match k {
        0 => "1".into(),
        1 => "10".into(),
        k => format!("10{}", superscript(k)),
    }
}

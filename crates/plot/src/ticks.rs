//! Round numbers along an axis.
//!
//! The step is 1, 2 or 5 times a power of ten, the smallest that gives no more than the wanted number of ticks
//! (Heckbert 1990).

/// Numbers below are drawn as zero: powers of ten end at 1e-308.
const TINY: f64 = 1e-300;

/// An axis: its ends and its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Places of the ticks, in order.
    pub ticks: Vec<f64>,
    /// Power of ten that the labels leave out.
    pub exponent: i32,
    /// Decimals of the labels.
    decimals: usize,
}

impl Axis {
    /// An axis from `low` to `high` exactly, with at most `most` ticks between them.
    pub fn exact(low: f64, high: f64, most: usize) -> Self {
        let step = step(high - low, most);
        // a tick that misses an end by rounding belongs to it
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let count = if step > 0.0 { (last - first) as usize + 1 } else { 1 };
        // + 0.0: no negative zero
        let ticks: Vec<f64> = (0..count.min(most + 2)).map(|k| (first + k as f64) * step + 0.0).collect();
        let largest = low.abs().max(high.abs());
        let magnitude = if largest > TINY { largest.log10().floor() as i32 } else { 0 };
        let exponent = if (-3..5).contains(&magnitude) { 0 } else { magnitude };
        let smallest = (step.log10() + 1e-9).floor() as i32;
        let decimals = (exponent - smallest).clamp(0, 15) as usize;
        Self { low, high, ticks, exponent, decimals }
    }

    /// An axis with room for values from `low` to `high`: a margin on either side, something even where they are equal.
    pub fn around(low: f64, high: f64, most: usize) -> Self {
        let largest = low.abs().max(high.abs());
        // differences below rounding are none
        let margin = if largest < TINY {
            1.0
        } else if high - low > 1e-13 * largest {
            0.06 * (high - low)
        } else {
            0.1 * largest
        };
        Self::exact(low - margin, high + margin, most)
    }

    /// The label of a tick: digits without the power of ten.
    pub fn label(&self, tick: f64) -> String {
        let text = format!("{:.*}", self.decimals, tick / 10_f64.powi(self.exponent));
        // a true minus; no sign on zero
        match text.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
            Some(rest) => format!("−{rest}"),
            None => text,
        }
    }

    /// The power of ten that the labels leave out, `×10⁻⁹`; empty where there is none.
    pub fn factor(&self) -> String {
        if self.exponent == 0 { String::new() } else { format!("×10{}", superscript(self.exponent)) }
    }

    /// Place of a value: 0 at the lower end, 1 at the upper.
    pub fn place(&self, value: f64) -> f64 {
        let length = self.high - self.low;
        if length > 0.0 { (value - self.low) / length } else { 0.5 }
    }
}

/// The smallest of 1, 2, 5 × 10ᵏ that divides `length` into no more than `most` parts.
fn step(length: f64, most: usize) -> f64 {
    let rough = length / most.max(1) as f64;
    if !(rough.is_finite() && rough > TINY) {
        return 1.0;
    }
    let power = 10_f64.powi(rough.log10().floor() as i32);
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

pub fn superscript(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    number.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|&tick| axis.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        let axis = Axis::exact(0.0, 8.0, 8);
        assert_eq!(labels(&axis), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
        let axis = Axis::exact(-0.73, 1.21, 5);
        assert_eq!(labels(&axis), ["−0.5", "0.0", "0.5", "1.0"]);
        let axis = Axis::exact(0.0, 120.0, 8);
        assert_eq!(labels(&axis), ["0", "20", "40", "60", "80", "100", "120"]);
    }

    #[test]
    fn small_and_large_numbers_share_a_power_of_ten() {
        let axis = Axis::exact(-3.1e-12, 1.2e-12, 5);
        assert_eq!(
            (labels(&axis), axis.factor()),
            (["−3", "−2", "−1", "0", "1"].map(String::from).into(), "×10⁻¹²".into())
        );
        let axis = Axis::exact(0.0, 2.5e7, 5);
        assert_eq!((labels(&axis).pop(), axis.factor()), (Some("2.5".into()), "×10⁷".into()));
        let axis = Axis::around(-5e-324, 4e-320, 4);
        assert_eq!(labels(&axis), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    }

    #[test]
    fn equal_values_have_a_margin() {
        for c in [0.0, 1.0, -2e-9, 7e9, 1.0 + 1e-15] {
            let axis = Axis::around(c, c, 5);
            assert!(axis.low < c && c < axis.high && axis.ticks.len() >= 2, "{axis:?}");
        }
        // rounding noise on a constant is not stretched over the height
        let axis = Axis::around(1.0, 1.0 + 1e-15, 5);
        assert!(axis.high - axis.low > 0.1);
    }

    #[test]
    fn any_range_has_few_ticks() {
        for e in -298..299 {
            for f in [1.0, 1.7, 3.3, 9.99] {
                let (low, high) = (-0.3 * f * 10_f64.powi(e), f * 10_f64.powi(e));
                let n = Axis::exact(low, high, 6).ticks.len();
                assert!((2..=8).contains(&n), "{low} {high}: {n}");
            }
        }
    }
}

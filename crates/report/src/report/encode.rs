//! Numbers in few characters: places and times in sixteen bits, values in single precision, in base 64 (RFC 4648).
//!
//! ```text
//! x ≈ low + (high − low) n / 65535,    n = 0 … 65535
//! ```
//!
//! Sixteen bits are fine enough for any screen, some thousand pixels high. Values are read by people as well: a
//! velocity that is zero must say so.

use bristle_plot::base64;

/// Largest number of sixteen bits.
const MOST: f64 = 65535.0;

/// Lowest and highest of the finite values; (0, 0) if there are none.
pub fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// The number that stands for `x` between `low` and `high`.
pub fn quantize(x: f64, low: f64, high: f64) -> u16 {
    if high > low { ((x - low) / (high - low) * MOST).round().clamp(0.0, MOST) as u16 } else { 0 }
}

/// Numbers of sixteen bits as text, low byte first.
pub fn shorts(numbers: &[u16]) -> String {
    base64(&numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
}

/// Numbers in single precision as text, low byte first; those beyond it at its ends.
pub fn floats(numbers: impl Iterator<Item = f64>) -> String {
    let most = f64::from(f32::MAX);
    base64(&numbers.flat_map(|x| (x.clamp(-most, most) as f32).to_le_bytes()).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_as_in_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(shorts(&[0xffff, 0xfffe, 0x00ff]), "///+//8A");
        // 1.0 is 3f800000
        assert_eq!(
            floats([0.0, 1.0, 1e300].into_iter()),
            base64(&[0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0xff, 0xff, 0x7f, 0x7f])
        );
    }

    #[test]
    fn numbers_come_back_within_half_a_step() {
        let (low, high) = (-3.2, 17.5);
        for k in 0..=1000 {
            let x = low + (high - low) * f64::from(k) / 1000.0;
            let back = low + (high - low) * f64::from(quantize(x, low, high)) / MOST;
            assert!((back - x).abs() <= 0.5 * (high - low) / MOST * (1.0 + 1e-9));
        }
        assert_eq!((quantize(1.0, 1.0, 1.0), quantize(9.0, 0.0, 1.0), quantize(-9.0, 0.0, 1.0)), (0, 65535, 0));
        assert_eq!(extent([f64::NAN, 2.0, -1.0]), (-1.0, 2.0));
        assert_eq!(extent([]), (0.0, 0.0));
    }
}

//! Numbers for people.

/// A number with this many significant digits.
pub fn digits(x: f64, n: usize) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        "0".into()
    } else if !x.is_finite() {
        "–".into()
    } else if (1e-3..1e6).contains(&magnitude) {
        let decimals = n as i32 - 1 - magnitude.log10().floor() as i32;
        format!("{x:.*}", decimals.max(0) as usize)
    } else {
        format!("{x:.*e}", n.saturating_sub(1))
    }
}

/// Three digits.
pub fn significant(x: f64) -> String {
    digits(x, 3)
}

/// A whole number with its thousands apart.
pub fn grouped(n: usize, between: char) -> String {
    let text = n.to_string();
    let mut out = String::new();
    for (k, digit) in text.chars().enumerate() {
        if k > 0 && (text.len() - k).is_multiple_of(3) {
            out.push(between);
        }
        out.push(digit);
    }
    out
}

/// `1 joint`, `2 joints`
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_given_digits() {
        assert_eq!(
            [digits(3.985e-4, 3), digits(0.1501, 3), digits(28284.0, 4), digits(1.5, 3), digits(f64::INFINITY, 3)],
            ["3.98e-4", "0.150", "28284", "1.50", "–"].map(String::from)
        );
        assert_eq!(
            ["0", "1.23", "123", "12346", "0.0123", "1.00e9"].map(String::from),
            [0.0, 1.234, 123.4, 12346.0, 0.01234, 1e9].map(significant)
        );
    }

    #[test]
    fn thousands_are_separated_and_one_is_singular() {
        assert_eq!([7, 402_046, 2_828_427].map(|n| grouped(n, ',')), ["7", "402,046", "2,828,427"].map(String::from));
        assert_eq!([0, 999, 1000].map(|n| grouped(n, '_')), ["0", "999", "1_000"].map(String::from));
        assert_eq!([count(1, "joint"), count(2, "joint")], ["1 joint", "2 joints"].map(String::from));
    }
}

//! Path data: the few letters of SVG that pictures are drawn with.
//!
//! ```text
//! M x y   go there              l dx dy   line from here        h dx   line to the side
//! z       line to the start                                     v dy   line downwards
//! ```
//!
//! Only `M` is absolute; all others are relative to the pen. Numbers have tenths of a pixel.

/// One movement of the pen, to a place in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Moves to the place.
    Move(f64, f64),
    /// Draws a line to the place.
    Line(f64, f64),
    /// Draws a line to the last `M`.
    Close,
}

/// Movements of the pen. Other letters are left out.
pub fn steps(data: &str) -> Vec<Step> {
    let letters = data.match_indices(|c: char| c.is_ascii_alphabetic()).map(|(k, _)| k);
    let bounds: Vec<usize> = letters.chain([data.len()]).collect();
    let mut steps = Vec::with_capacity(bounds.len());
    let (mut x, mut y) = (0.0, 0.0);
    for pair in bounds.windows(2) {
        let (letter, rest) = data[pair[0]..pair[1]].split_at(1);
        let (first, second) = numbers(rest);
        match letter {
            "M" => (x, y) = (first, second),
            "l" => (x, y) = (x + first, y + second),
            "h" => x += first,
            "v" => y += first,
            _ => {}
        }
        match letter {
            "M" => steps.push(Step::Move(x, y)),
            "l" | "h" | "v" => steps.push(Step::Line(x, y)),
            "z" => steps.push(Step::Close),
            _ => {}
        }
    }
    steps
}

/// Up to two numbers; 0 where there is none. A sign separates as well as a space.
fn numbers(text: &str) -> (f64, f64) {
    let text = text.trim();
    let second = text.char_indices().skip(1).find(|&(_, c)| c == ' ' || c == '-').map_or(text.len(), |(k, _)| k);
    let (first, second) = text.split_at(second);
    let number = |text: &str| text.trim().parse().unwrap_or(0.0);
    (number(first), number(second))
}

/// A number of tenths, in its shortest form: 12 is `1.2`, 30 is `3`, −5 is `-.5`.
pub fn tenth(n: i64) -> String {
    let (sign, whole, rest) = (if n < 0 { "-" } else { "" }, n.abs() / 10, n.abs() % 10);
    match (whole, rest) {
        (_, 0) => format!("{sign}{whole}"),
        (0, _) => format!("{sign}.{rest}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}

/// A coordinate to a tenth of a pixel.
pub fn tenths(x: f64) -> String {
    tenth((10.0 * x).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([12, 30, -5, 0, -47, 10].map(tenth), ["1.2", "3", "-.5", "0", "-4.7", "1"]);
        assert_eq!(tenths(-0.04), "0");
    }

    #[test]
    fn written_paths_read_back() {
        use Step::{Close, Line, Move};
        assert_eq!(
            steps("M76 12.5h826M1.5-3l2-1v-6z"),
            [Move(76.0, 12.5), Line(902.0, 12.5), Move(1.5, -3.0), Line(3.5, -4.0), Line(3.5, -10.0), Close]
        );
        assert_eq!(steps("M10-20l-.5 .5h0"), [Move(10.0, -20.0), Line(9.5, -19.5), Line(9.5, -19.5)]);
        assert_eq!(steps(""), []);
        assert_eq!(steps("q1 2 Mé l"), [Move(0.0, 0.0), Line(0.0, 0.0)]);
    }
}

//! Letters as outlines.
//!
//! `fonts/` has the outlines of DejaVu Sans Condensed for Latin, Greek, Cyrillic, sub- and superscripts, arrows and
//! the signs of mathematics, as `fonts/outlines.py` writes them. Any other letter (Chinese, emoji) is a box, so that
//! nothing goes unseen. Letters stand one after the other: no pairs, no right-to-left.

use tiny_skia::{Path, PathBuilder};

/// A glyph on each line, in the order of their code points: `LETTER ADVANCE M x y L x y Q x1 y1 x y ...`, y upwards.
const REGULAR: &str = include_str!("../../fonts/regular.txt");
const BOLD: &str = include_str!("../../fonts/bold.txt");
/// Units of the outlines to the size of the font.
const UNITS_PER_EM: f32 = 2048.0;
/// Of the box for a letter that is not there, in parts of the size: gap to its neighbours, width, height, line.
const BOX: (f32, f32, f32, f32) = (0.07, 0.5, 0.72, 0.06);

/// Fonts that are part of the program.
pub struct Font {
    regular: Face,
    bold: Face,
}

/// Letters in the order of their code points, each with its advance and outline.
type Face = Vec<(char, &'static str)>;

/// A line of text from (0, 0) on, y downwards.
pub struct Line {
    /// Outlines of the letters, to be filled; `None` where there is nothing but blanks.
    pub outline: Option<Path>,
    /// How far it goes, px.
    pub width: f32,
}

impl Font {
    /// The font of all pictures.
    pub fn new() -> Self {
        Self { regular: face(REGULAR), bold: face(BOLD) }
    }

    /// A text at a size in px, up to the first letter beyond `most` px.
    pub fn line(&self, text: &str, size: f32, is_bold: bool, most: f32) -> Line {
        let mut path = PathBuilder::new();
        let mut x = 0.0;
        for c in text.chars().map(visible) {
            if x > most {
                break;
            }
            let glyph = self.find(c, is_bold);
            let advance = glyph.and_then(|glyph| push_glyph(&mut path, glyph, x, size));
            x += advance.unwrap_or_else(|| push_box(&mut path, x, size));
        }
        Line { outline: path.finish(), width: x }
    }

    /// Advance and outline of a letter; not bold where bold has none.
    fn find(&self, c: char, is_bold: bool) -> Option<&'static str> {
        let bold = is_bold.then_some(&self.bold);
        bold.into_iter().chain([&self.regular]).find_map(|face| {
            let place = face.binary_search_by_key(&c, |glyph| glyph.0).ok()?;
            Some(face[place].1)
        })
    }
}

fn face(glyphs: &'static str) -> Face {
    let glyph = |line: &'static str| {
        let mut chars = line.chars();
        Some((chars.next()?, chars.as_str()))
    };
    glyphs.split('\n').filter_map(glyph).collect()
}

/// Blanks of any kind are one, control characters the sign for what cannot be shown: as in SVG.
fn visible(c: char) -> char {
    match c {
        c if c.is_whitespace() => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// An empty box on the baseline; gives how far it goes.
fn push_box(path: &mut PathBuilder, x: f32, size: f32) -> f32 {
    let (gap, width, height, line) = (BOX.0 * size, BOX.1 * size, BOX.2 * size, BOX.3 * size);
    let (left, right) = (x + gap, x + gap + width);
    // the hole runs the other way round
    for [from, to, top, bottom] in [[left, right, -height, 0.0], [right - line, left + line, line - height, -line]] {
        path.move_to(from, top);
        path.line_to(to, top);
        path.line_to(to, bottom);
        path.line_to(from, bottom);
        path.close();
    }
    width + 2.0 * gap
}

/// A glyph on the baseline; gives how far it goes. `None` where it cannot be read.
fn push_glyph(path: &mut PathBuilder, glyph: &str, x: f32, size: f32) -> Option<f32> {
    let scale = size / UNITS_PER_EM;
    let mut words = glyph.split_ascii_whitespace();
    let advance: f32 = words.next()?.parse().ok()?;
    let mut is_open = false;
    while let Some(letter) = words.next() {
        // a place in units, y upwards, is one in px, y downwards
        let mut place = || {
            let [right, up]: [f32; 2] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
            Some((x + scale * right, -scale * up))
        };
        let (x1, y1) = place()?;
        match letter {
            "M" => {
                if is_open {
                    path.close();
                }
                is_open = true;
                path.move_to(x1, y1);
            }
            "L" => path.line_to(x1, y1),
            "Q" => {
                let (x, y) = place()?;
                path.quad_to(x1, y1, x, y);
            }
            _ => return None,
        }
    }
    if is_open {
        path.close();
    }
    Some(scale * advance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Font::new().line(text, 12.0, false, 1e3)
    }

    /// Everything that pictures write by themselves is in the font, and no letter is drawn as nothing.
    #[test]
    fn letters_of_our_own_are_there() {
        let font = Font::new();
        let own = "abcxyzABCXYZ0123456789.,()[]/_-+ ΣΔσταωμφθ₀₁₂·°²³⁰¹⁴⁵⁶⁷⁸⁹⁻…×−–—→≤≥′äöüßéñøЖя\u{fffd}";
        for c in own.chars() {
            for is_bold in [false, true] {
                assert!(font.find(c, is_bold).is_some(), "{c}");
                assert!(c == ' ' || font.line(&c.to_string(), 12.0, is_bold, 1e3).outline.is_some(), "{c}");
            }
        }
    }

    /// Every line of the tables is a glyph that can be found and read, near its place on the line.
    #[test]
    fn tables_of_outlines_are_whole() {
        let font = Font::new();
        for (text, is_bold) in [(REGULAR, false), (BOLD, true)] {
            assert!(text.lines().count() > 1700);
            for line in text.lines() {
                let c = line.chars().next().unwrap();
                let glyph = font.find(c, is_bold).unwrap();
                assert_eq!((visible(c), format!("{c}{glyph}")), (c, line.to_string()));
                let mut path = PathBuilder::new();
                let advance = push_glyph(&mut path, glyph, 0.0, 1.0).unwrap();
                assert!((0.0..2.0).contains(&advance), "{c}: {advance}");
                // combining accents stand left of their place
                if let Some(bounds) = path.finish().map(|path| path.bounds()) {
                    let is_near = bounds.left() > -1.0 && bounds.right() < 2.0 && bounds.top() > -1.5;
                    assert!(is_near && bounds.bottom() < 0.6, "{c}: {bounds:?}");
                }
            }
        }
    }

    #[test]
    fn broken_outlines_are_refused() {
        for glyph in ["", " x", " 10 M", " 10 M 1", " 10 M 1 x", " 10 M 1 2 Q 3 4 5", " 10 C 1 2", " 10 1 2"] {
            assert_eq!(push_glyph(&mut PathBuilder::new(), glyph, 0.0, 12.0), None, "{glyph:?}");
        }
        assert_eq!(push_glyph(&mut PathBuilder::new(), " 512", 0.0, 12.0), Some(3.0));
    }

    /// A full stop is a rectangle: its corners and its advance are those of the design, 2048 units to the size.
    #[test]
    fn places_are_in_units_of_the_font() {
        let stop = Font::new().line("..", 2048.0, false, 1e4);
        let bounds = stop.outline.unwrap().bounds();
        assert_eq!((stop.width, bounds.left(), bounds.top(), bounds.bottom()), (2.0 * 585.0, 197.0, -254.0, 0.0));
        assert_eq!(bounds.right(), 585.0 + 387.0);
    }

    #[test]
    fn letters_that_are_not_there_are_boxes() {
        for text in ["摩擦", "🦀", "\u{10ffff}", "\u{1}"] {
            let drawn = line(text);
            let bounds = drawn.outline.unwrap().bounds();
            assert!(
                bounds.width() > 4.0 && bounds.height() > 6.0 && bounds.right() <= drawn.width,
                "{text}: {bounds:?}"
            );
        }
        // a box has its own place
        assert_eq!(line("a摩b").width, line("a").width + line("摩").width + line("b").width);
    }

    #[test]
    fn blanks_take_room_and_long_texts_end() {
        let blank = line(" \t\n\u{3000}");
        assert!(blank.outline.is_none() && (blank.width - 4.0 * line(" ").width).abs() < 1e-3);
        assert_eq!((line("").width, line("").outline.is_none()), (0.0, true));
        let long = Font::new().line(&"x".repeat(1_000_000), 12.0, false, 100.0);
        assert!((100.0..112.0).contains(&long.width));
    }

    /// Digits stand on the baseline; a minus lies at half their height.
    #[test]
    fn letters_stand_on_their_line() {
        let digit = line("1").outline.unwrap().bounds();
        assert!(digit.bottom().abs() < 0.1 && (-9.5..-8.0).contains(&digit.top()), "{digit:?}");
        let minus = line("−").outline.unwrap().bounds();
        assert!((-6.0..-2.0).contains(&minus.top()) && minus.bottom() < -2.0, "{minus:?}");
    }
}

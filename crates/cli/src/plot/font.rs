//! Letters as outlines.
//!
//! DejaVu Sans Condensed has Latin, Greek, Cyrillic, sub- and superscripts and the signs of mathematics. What it has not (Chinese,
//! most emoji) is a box, so that nothing goes unseen. Letters stand one after the other: no pairs, no right-to-left.

use anyhow::{Context, Result};
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Of the box for a letter that is not there, in parts of the size: how far it stands from its neighbours, width, height, line.
const BOX: (f32, f32, f32, f32) = (0.07, 0.5, 0.72, 0.06);

/// Fonts that are part of the program.
pub struct Font {
    regular: Face<'static>,
    bold: Face<'static>,
}

/// A line of text from (0, 0) on, y downwards.
pub struct Line {
    /// Outlines of the letters, to be filled; `None` where there is nothing but blanks.
    pub outline: Option<Path>,
    /// How far it goes, px.
    pub width: f32,
}

impl Font {
    /// The font of all pictures.
    pub fn new() -> Result<Self> {
        let face = |bytes| Face::parse(bytes, 0).context("the font of pictures cannot be read");
        Ok(Self { regular: face(dejavu::sans_condensed::regular())?, bold: face(dejavu::sans_condensed::bold())? })
    }

    /// A text at a size in px, up to the first letter beyond `most` px.
    pub fn line(&self, text: &str, size: f32, is_bold: bool, most: f32) -> Line {
        let mut path = PathBuilder::new();
        let mut x = 0.0;
        for c in text.chars().map(visible) {
            if x > most {
                break;
            }
            x += match self.find(c, is_bold) {
                Some((face, glyph)) => {
                    let scale = size / f32::from(face.units_per_em());
                    face.outline_glyph(glyph, &mut Pen { path: &mut path, x, scale });
                    scale * f32::from(face.glyph_hor_advance(glyph).unwrap_or(face.units_per_em()))
                }
                None => push_box(&mut path, x, size),
            };
        }
        Line { outline: path.finish(), width: x }
    }

    /// Where a letter is; not bold where bold has none.
    fn find(&self, c: char, is_bold: bool) -> Option<(&Face<'static>, GlyphId)> {
        let bold = is_bold.then_some(&self.bold);
        bold.into_iter().chain([&self.regular]).find_map(|face| Some((face, face.glyph_index(c)?)))
    }
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

/// Draws the outline of a glyph, which has y upwards, in px.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, -self.scale * y)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Font::new().unwrap().line(text, 12.0, false, 1e3)
    }

    /// Everything that pictures write by themselves is in the font, and no letter is drawn as nothing.
    #[test]
    fn letters_of_our_own_are_there() {
        let font = Font::new().unwrap();
        let own = "abcxyzABCXYZ0123456789.,()[]/_-+ ΣΔσταωμφθ₀₁₂·°²³⁰¹⁴⁵⁶⁷⁸⁹⁻…×−–—→≤≥′äöüßéñøЖя\u{fffd}";
        for c in own.chars() {
            for is_bold in [false, true] {
                assert!(font.find(c, is_bold).is_some(), "{c}");
                assert!(c == ' ' || font.line(&c.to_string(), 12.0, is_bold, 1e3).outline.is_some(), "{c}");
            }
        }
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
        let long = Font::new().unwrap().line(&"x".repeat(1_000_000), 12.0, false, 100.0);
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

//! The stylesheet of pictures: one table of rules, written as CSS into SVG and looked up when pixels are painted.
//!
//! A rule is for an element (`path`), for a class (`.grid`), for a class against others (`.event.event`) or for curves,
//! whose classes begin with a c. As in CSS the more specific rule has precedence, then the later one. Pixels are
//! painted on light ground.

use super::palette::{DARK, DASHES, LIGHT};
use std::fmt::Write;

const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',Arial,sans-serif";
/// The first class is that of a colour, .c0 and on.
const CURVES: &str = "[class^=c]";

/// One property of a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Property {
    /// The font, at a size in px.
    Font(f32),
    /// Another size, px.
    Size(f32),
    Bold,
    Anchor(Anchor),
    Fill(&'static str),
    NoFill,
    Stroke(&'static str),
    /// Width of strokes, px.
    Width(f32),
    /// Lengths of dashes and gaps, px.
    Dashes(&'static str),
    Opacity(f32),
    RoundCorners,
    Ends(Ends),
}

/// Where the place of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// On its left.
    Start,
    /// In its middle.
    Middle,
    /// On its right.
    End,
}

/// Line caps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// At the end of the line.
    Butt,
    /// Half a circle beyond it.
    Round,
}

struct Rule {
    selector: String,
    properties: Vec<Property>,
}

/// On light ground: texts, then the background of the curves, then the curves.
fn light() -> Vec<Rule> {
    use Property::{
        Anchor as At, Bold, Dashes, Ends as Cap, Fill, Font, NoFill, Opacity, RoundCorners, Size, Stroke, Width,
    };
    let mut rules = vec![
        rule("text", &[Font(12.0), Fill("#444")]),
        rule(".title", &[Size(16.0), Bold, Fill("#111")]),
        rule(".head", &[Bold, Fill("#111")]),
        rule(".small", &[Size(10.0)]),
        rule(".n", &[At(Anchor::Middle)]),
        rule(".v", &[At(Anchor::End)]),
        rule("path", &[NoFill]),
        rule(".ground", &[Fill("#fff")]),
        rule(".grid", &[Stroke("#e4e4e4")]),
        rule(".frame", &[NoFill, Stroke("#999")]),
        rule(".row", &[Fill("#efefef")]),
        rule(".stuck", &[Opacity(0.13)]),
        rule(".held", &[Opacity(0.85)]),
        rule(".event.event", &[Width(1.0)]),
        rule(".dot.dot", &[Width(5.0)]),
        rule(".along.along", &[Width(8.0), Opacity(0.2), Cap(Ends::Butt)]),
        rule(CURVES, &[Width(1.5), RoundCorners, Cap(Ends::Round)]),
    ];
    rules.extend(colors(&LIGHT));
    rules.extend((1..DASHES.len()).map(|k| rule(&format!(".d{k}"), &[Dashes(DASHES[k])])));
    rules
}

/// Differences on dark ground.
fn dark() -> Vec<Rule> {
    use Property::{Fill, Opacity, Stroke};
    let mut rules = vec![
        rule("text", &[Fill("#bbb")]),
        rule(".title,.head", &[Fill("#eee")]),
        rule(".ground", &[Fill("#15171b")]),
        rule(".grid", &[Stroke("#2b2e34")]),
        rule(".frame", &[Stroke("#666")]),
        rule(".row", &[Fill("#24272d")]),
        rule(".stuck", &[Opacity(0.2)]),
        rule(".along.along", &[Opacity(0.3)]),
    ];
    rules.extend(colors(&DARK));
    rules
}

/// Each colour as that of a stroke and of an area.
fn colors(colors: &[&'static str]) -> impl Iterator<Item = Rule> {
    colors.iter().enumerate().flat_map(|(k, color)| {
        [rule(&format!(".c{k}"), &[Property::Stroke(color)]), rule(&format!(".f{k}"), &[Property::Fill(color)])]
    })
}

fn rule(selector: &str, properties: &[Property]) -> Rule {
    Rule { selector: selector.to_owned(), properties: properties.to_vec() }
}

/// The table as CSS, for light ground and for dark.
pub fn css() -> String {
    let mut css = String::new();
    light().iter().for_each(|rule| rule.write(&mut css));
    css.push_str("@media (prefers-color-scheme:dark){");
    dark().iter().for_each(|rule| rule.write(&mut css));
    css.push('}');
    css
}

impl Rule {
    fn write(&self, css: &mut String) {
        let properties: Vec<String> = self.properties.iter().map(Property::css).collect();
        let _ = write!(css, "{}{{{}}}", self.selector, properties.join(";"));
    }

    fn is_for(&self, element: &str, class: &str) -> bool {
        match self.selector.strip_prefix('.') {
            Some(names) => names.split('.').all(|name| class.split(' ').any(|class| class == name)),
            None => self.selector == element || self.selector == CURVES && class.starts_with('c'),
        }
    }

    /// Specificity: elements, then classes, then classes twice.
    fn rank(&self) -> usize {
        self.selector.matches(['.', '[']).count()
    }
}

impl Property {
    fn css(&self) -> String {
        match self {
            Self::Font(size) => format!("font:{size}px {FONTS}"),
            Self::Size(size) => format!("font-size:{size}px"),
            Self::Bold => "font-weight:600".into(),
            Self::Anchor(Anchor::Start) => "text-anchor:start".into(),
            Self::Anchor(Anchor::Middle) => "text-anchor:middle".into(),
            Self::Anchor(Anchor::End) => "text-anchor:end".into(),
            Self::Fill(color) => format!("fill:{color}"),
            Self::NoFill => "fill:none".into(),
            Self::Stroke(color) => format!("stroke:{color}"),
            Self::Width(width) => format!("stroke-width:{width}"),
            Self::Dashes(lengths) => format!("stroke-dasharray:{lengths}"),
            Self::Opacity(part) => format!("opacity:{}", part.to_string().trim_start_matches('0')),
            Self::RoundCorners => "stroke-linejoin:round".into(),
            Self::Ends(Ends::Butt) => "stroke-linecap:butt".into(),
            Self::Ends(Ends::Round) => "stroke-linecap:round".into(),
        }
    }
}

/// Red, green and blue.
pub type Color = [u8; 3];

/// The style of one shape by all rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Colour of the area, if it is filled.
    pub fill: Option<Color>,
    /// Colour of the line, if there is one.
    pub stroke: Option<Color>,
    /// Width of the line, px.
    pub width: f32,
    /// Lengths of dashes and gaps, px; empty for a line that is drawn through.
    pub dashes: Vec<f32>,
    /// Whether corners of lines are round.
    pub has_round_corners: bool,
    /// Line cap.
    pub ends: Ends,
    /// Opacity, 0 to 1.
    pub opacity: f32,
    /// Size of letters, px.
    pub size: f32,
    /// Whether letters are bold.
    pub is_bold: bool,
    /// Where the place of a text is.
    pub anchor: Anchor,
}

/// The rules for light ground, for lookups.
pub struct Looks(Vec<Rule>);

impl Default for Looks {
    fn default() -> Self {
        Self::new()
    }
}

impl Looks {
    /// All rules, the specific ones last.
    pub fn new() -> Self {
        let mut rules = light();
        rules.sort_by_key(Rule::rank);
        Self(rules)
    }

    /// The style of an element with these classes.
    pub fn of(&self, element: &str, class: &str) -> Look {
        let mut look = Look {
            fill: Some([0, 0, 0]),
            stroke: None,
            width: 1.0,
            dashes: Vec::new(),
            has_round_corners: false,
            ends: Ends::Butt,
            opacity: 1.0,
            size: 16.0,
            is_bold: false,
            anchor: Anchor::Start,
        };
        let rules = self.0.iter().filter(|rule| rule.is_for(element, class));
        for property in rules.flat_map(|rule| &rule.properties) {
            match *property {
                Property::Font(size) | Property::Size(size) => look.size = size,
                Property::Bold => look.is_bold = true,
                Property::Anchor(anchor) => look.anchor = anchor,
                Property::Fill(color) => look.fill = Some(rgb(color)),
                Property::NoFill => look.fill = None,
                Property::Stroke(color) => look.stroke = Some(rgb(color)),
                Property::Width(width) => look.width = width,
                Property::Dashes(lengths) => look.dashes = lengths.split(' ').flat_map(str::parse).collect(),
                Property::Opacity(part) => look.opacity = part,
                Property::RoundCorners => look.has_round_corners = true,
                Property::Ends(ends) => look.ends = ends,
            }
        }
        look
    }
}

/// `#0072b2`, or `#fff` for `#ffffff`.
fn rgb(color: &str) -> Color {
    let digits: Vec<u8> = color.chars().skip(1).map(|c| c.to_digit(16).unwrap_or(0) as u8).collect();
    match digits[..] {
        [r, g, b] => [17 * r, 17 * g, 17 * b],
        [r, r0, g, g0, b, b0] => [16 * r + r0, 16 * g + g0, 16 * b + b0],
        _ => [0, 0, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a browser, computed by hand.
    #[test]
    fn more_specific_rule_has_precedence() {
        let looks = Looks::new();
        let curve = looks.of("path", "c1 d1");
        assert_eq!((curve.fill, curve.stroke, curve.width), (None, Some([0xd5, 0x5e, 0x00]), 1.5));
        assert_eq!((&curve.dashes[..], curve.ends, curve.has_round_corners), (&[7.0, 3.0][..], Ends::Round, true));
        // a class twice precedes curves in general, which are later
        assert_eq!(looks.of("path", "c0 event").width, 1.0);
        let along = looks.of("path", "c0 along");
        assert_eq!((along.width, along.opacity, along.ends), (8.0, 0.2, Ends::Butt));
        // a class precedes the element
        let stuck = looks.of("path", "stuck f0");
        assert_eq!((stuck.fill, stuck.stroke, stuck.opacity), (Some([0x00, 0x72, 0xb2]), None, 0.13));
        let title = looks.of("text", "title");
        assert_eq!((title.size, title.is_bold, title.fill), (16.0, true, Some([0x11; 3])));
        assert_eq!((looks.of("text", "name").size, looks.of("text", "v").anchor), (12.0, Anchor::End));
    }

    #[test]
    fn every_colour_has_its_digits() {
        for rule in light().iter().chain(&dark()) {
            for property in &rule.properties {
                if let Property::Fill(color) | Property::Stroke(color) = property {
                    let digits = color.strip_prefix('#').unwrap();
                    assert!([3, 6].contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit()), "{color}");
                }
            }
        }
        assert_eq!((rgb("#fff"), rgb("#0072b2")), ([255; 3], [0x00, 0x72, 0xb2]));
    }
}

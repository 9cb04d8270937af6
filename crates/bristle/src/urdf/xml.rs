//! The XML of a robot: elements, attributes and numbers, each with its place; problems and unused elements.

use std::collections::HashMap;
use std::ops::Range;

use roxmltree::{Attribute, Node};

use super::document::{at_offset, xacro};
use super::{Repaired, Understood, Unused};
use crate::scene::error::{MAX_PROBLEMS, Problem, closest, did_you_mean};
use crate::scene::span::{Sources, Span};

/// Different things of one element that are named as left over; more are counted.
const MAX_LEFT: usize = 100;

/// Shapes, looks, and how bodies touch: they do not bear on motion.
const LOOKS: [&str; 7] = ["visual", "collision", "material", "sensor", "contact", "self_filter", "collision_checking"];

/// Whether a transmission hands an effort to its joint as it is: a simple one with a reduction of 1.
fn is_direct(transmission: Node) -> bool {
    let is_number = |node: Node, expected: f64| {
        node.text().is_some_and(|text| text.trim().parse::<f64>().is_ok_and(|number| number == expected))
    };
    transmission.descendants().filter(Node::is_element).all(|node| match node.tag_name().name() {
        "type" => node.text().is_some_and(|text| text.trim().ends_with("SimpleTransmission")),
        "mechanicalReduction" => is_number(node, 1.0),
        "offset" => is_number(node, 0.0),
        "transmission" | "joint" | "actuator" | "hardwareInterface" => true,
        _ => false,
    })
}

/// Advice for an element that is not used.
fn help_for(element: &str) -> &'static str {
    match element {
        "safety_controller" | "calibration" => {
            "nothing acts on it here: take it out, or leave out `--strict`, which ignores it and says so"
        }
        "transmission" | "ros2_control" => {
            "reductions and controllers in it do not act here: give `armature` in a friction file; without \
            `--strict` it is ignored, and said to be"
        }
        "gazebo" => {
            "settings of another simulator are not looked into: without `--strict` they are ignored, and said to be"
        }
        _ => "take it out, or leave out `--strict`, which ignores it and says so",
    }
}

/// Place of the name in the opening tag of an element; of a text, its first character.
pub(super) fn tag(sources: &Sources, node: Node) -> Span {
    let (source, start) = (&sources.0[0], node.range().start);
    if !node.is_element() {
        return at_offset(source, start);
    }
    let start = start.saturating_add(1);
    let rest = &source.text[start..];
    let length = rest.find(|c: char| c.is_whitespace() || c == '/' || c == '>').unwrap_or(rest.len());
    Span { source: 0, start: start as u32, end: start.saturating_add(length) as u32 }
}

/// A text with the place it was read from.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    pub text: &'t str,
    pub place: Span,
}

/// Something of a file that was replaced.
pub(super) struct Repair {
    /// The value found, and its replacement.
    pub what: String,
    /// The same without names and numbers, to count repairs by.
    pub group: &'static str,
}

/// Results of reading a robot.
pub(super) struct Findings {
    /// The text is source 0.
    pub sources: Sources,
    pub problems: Vec<Problem>,
    /// Unused parts of the element being read, with advice where they matter.
    left: Vec<(Span, Unused, &'static str)>,
    /// Repaired parts of the element being read, with advice.
    mended: Vec<(Span, Repaired, &'static str)>,
    /// The elements that were understood; places of unused and of repaired parts, and advice for them.
    pub lines: Vec<Line>,
}

/// An element that was understood, with places and advice for its unused and its repaired parts.
pub(super) struct Line {
    pub understood: Understood,
    pub unused: Vec<(Span, &'static str)>,
    pub repaired: Vec<(Span, &'static str)>,
}

impl Findings {
    pub fn new(sources: Sources) -> Self {
        Self { sources, problems: Vec::new(), left: Vec::new(), mended: Vec::new(), lines: Vec::new() }
    }

    pub fn problem(&mut self, place: Span, reason: impl Into<String>, help: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::at(&self.sources, place, reason.into(), help.into()));
        }
    }

    /// Names that may have been meant.
    pub fn suggest(&self, name: &str, known: &[&str]) -> String {
        if self.problems.len() < MAX_PROBLEMS { did_you_mean(name, "there are", known) } else { String::new() }
    }

    /// Something of the element being read is not understood, or bears on motion.
    pub fn unused(&mut self, place: Span, what: impl Into<String>) {
        let what = what.into();
        self.leave(place, what.clone(), (what, 1), Some(help_for("")));
    }

    /// The same of whole elements of one name.
    pub fn unused_element(&mut self, place: Span, element: &str, what: impl Into<String>, count: usize) {
        self.leave(place, what.into(), (format!("`{element}`"), count), Some(help_for(element)));
    }

    /// Something of the element being read is known and does not bear on motion.
    pub fn set_aside(&mut self, place: Span, element: &str, what: impl Into<String>, count: usize) {
        self.leave(place, what.into(), (format!("`{element}`"), count), None);
    }

    fn leave(&mut self, place: Span, what: String, (group, count): (String, usize), help: Option<&'static str>) {
        let position = self.sources.0[0].position(place.start as usize);
        self.left.push((place, Unused { what, group, count, position, matters: help.is_some() }, help.unwrap_or("")));
    }

    /// Something of the element being read was replaced.
    pub fn repaired(&mut self, place: Span, repair: Repair, help: &'static str) {
        let position = self.sources.0[0].position(place.start as usize);
        self.mended.push((place, Repaired { what: repair.what, group: repair.group, position }, help));
    }

    /// Add a line for the element that was read, with its unused and repaired parts. Returns the index of the line.
    pub fn say(&mut self, subject: String, meaning: String) -> usize {
        let line = self.lines.len();
        let understood = Understood { subject, meaning, unused: Vec::new(), repaired: Vec::new() };
        self.lines.push(Line { understood, unused: Vec::new(), repaired: Vec::new() });
        self.append(line, "");
        line
    }

    /// Say more in a line.
    pub fn append(&mut self, line: usize, more: &str) {
        let Some(line) = self.lines.get_mut(line) else { return };
        line.understood.meaning += more;
        for (place, unused, help) in self.left.drain(..) {
            line.understood.unused.push(unused);
            line.unused.push((place, help));
        }
        for (place, repaired, help) in self.mended.drain(..) {
            line.understood.repaired.push(repaired);
            line.repaired.push((place, help));
        }
    }

    /// Say it only where something was left over.
    pub fn say_leftovers(&mut self, subject: String, meaning: String) {
        if !self.left.is_empty() || !self.mended.is_empty() {
            self.say(subject, meaning);
        }
    }

    /// Place of the name in the opening tag.
    pub fn tag(&self, node: Node) -> Span {
        tag(&self.sources, node)
    }

    /// A range of the text; of one that does not fall between characters, its element.
    fn span(&self, range: Range<usize>, node: Node) -> Span {
        match self.sources.0[0].text.get(range.clone()) {
            Some(_) => Span { source: 0, start: range.start as u32, end: range.end as u32 },
            None => self.tag(node),
        }
    }

    /// Place of the value of an attribute.
    fn value_place(&self, node: Node, attribute: &Attribute) -> Span {
        self.span(attribute.range_value(), node)
    }

    /// An attribute.
    pub fn attribute<'t>(&self, node: Node<'t, '_>, name: &str) -> Option<Text<'t>> {
        let attribute = node.attributes().find(|a| a.namespace().is_none() && a.name() == name)?;
        Some(Text { text: attribute.value(), place: self.value_place(node, &attribute) })
    }

    /// An attribute that must be there.
    pub fn required<'t>(&mut self, node: Node<'t, '_>, name: &str) -> Option<Text<'t>> {
        let found = self.attribute(node, name);
        if found.is_none() {
            let tag = node.tag_name().name();
            self.problem(
                self.tag(node),
                format!("`<{tag}>` has no `{name}`"),
                format!("write `<{tag} … {name}=\"…\">`"),
            );
        }
        found
    }

    /// A child element that must be there.
    pub fn required_child<'d, 't>(&mut self, node: Node<'d, 't>, name: &str, example: &str) -> Option<Node<'d, 't>> {
        let found = child(node, name);
        if found.is_none() {
            let tag = node.tag_name().name();
            let of = self.attribute(node, "name").map_or_else(String::new, |n| format!(" `{}`", n.text));
            self.problem(self.tag(node), format!("`<{tag}>`{of} has no `<{name}>`"), format!("write `{example}`"));
        }
        found
    }

    /// N numbers between spaces.
    pub fn numbers<const N: usize>(&mut self, what: &str, given: Text) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        let mut count = 0usize;
        for word in given.text.split_whitespace() {
            // place of the word, where the value stands in the file as it is
            let mut place = given.place;
            if self.sources.text(place) == given.text {
                let before = (word.as_ptr() as usize).saturating_sub(given.text.as_ptr() as usize);
                place.start = place.start.saturating_add(before as u32);
                place.end = place.start.saturating_add(word.len() as u32);
            }
            let number = match word.parse::<f64>() {
                Ok(number) if number.is_finite() => number,
                Ok(_) => {
                    self.problem(place, format!("`{what}` is {word}: numbers must be finite"), "");
                    return None;
                }
                Err(_) => {
                    let help = match word {
                        _ if word.contains("${") => xacro().1,
                        _ if word.contains(',') => "write a decimal point, and spaces between numbers".into(),
                        _ => String::new(),
                    };
                    self.problem(place, format!("`{what}`: `{}` is not a number", shortened(word)), help);
                    return None;
                }
            };
            if let Some(slot) = numbers.get_mut(count) {
                *slot = number;
            }
            count = count.saturating_add(1);
        }
        if count == N {
            return Some(numbers);
        }
        let wanted = if N == 1 { "one number".to_owned() } else { format!("{N} numbers with spaces between") };
        self.problem(given.place, format!("`{what}` takes {wanted}, found {count}"), "");
        None
    }

    /// A bound: one number, or none in so many words, `inf`.
    pub fn bound(&mut self, what: &str, given: Text) -> Option<f64> {
        let word = given.text.trim();
        let sign = if word.starts_with('-') { -1.0 } else { 1.0 };
        match word.trim_start_matches(['-', '+']).to_ascii_lowercase().as_str() {
            "inf" | "infinity" => Some(sign * f64::INFINITY),
            _ => self.number(what, given),
        }
    }

    /// One number.
    pub fn number(&mut self, what: &str, given: Text) -> Option<f64> {
        self.numbers::<1>(what, given).map(|[x]| x)
    }

    /// Look over an element: children that may stand there once (`known`) or any number of times (`many`), children
    /// of other programs (`foreign`), and its attributes. A probable misspelling is a problem; the rest is left over.
    pub fn look_over(&mut self, node: Node, attributes: &[&str], known: &[&str], many: &[&str], foreign: &[&str]) {
        let owner = node.tag_name().name().to_owned();
        let (mut n_unused, mut n_more) = (0usize, 0usize);
        for attribute in node.attributes() {
            let name = attribute.name();
            if attribute.namespace().is_none() && attributes.contains(&name) {
                continue;
            }
            let place = self.span(attribute.range_qname(), node);
            match &closest(name, attributes.iter().copied())[..] {
                [] if n_unused == MAX_LEFT => n_more = n_more.saturating_add(1),
                [] => {
                    n_unused = n_unused.saturating_add(1);
                    self.unused(place, format!("attribute `{}` of `{owner}`", shortened(name)));
                }
                _ => {
                    let help = self.suggest(name, attributes);
                    self.problem(place, format!("unknown attribute `{name}` in `<{owner}>`"), help);
                }
            }
        }

        if n_more > 0 {
            self.unused(self.tag(node), format!("{n_more} more attributes of `{owner}`"));
        }

        let mut seen: Vec<&str> = Vec::new();
        let mut skipped: Vec<(&str, Span, usize)> = Vec::new();
        let mut skipped_of: HashMap<&str, usize> = HashMap::new();
        for inner in node.children() {
            if inner.is_text() && !inner.text().unwrap_or("").trim().is_empty() {
                self.unused(self.tag(inner), format!("text in `{owner}`"));
            }
            if !inner.is_element() {
                continue;
            }
            let (name, place) = (inner.tag_name().name(), self.tag(inner));
            if self.sources.text(place).starts_with("xacro:") {
                let (reason, help) = xacro();
                self.problem(place, reason, help);
            } else if is_own(node, inner) && known.contains(&name) {
                let is_again = |first| name == "axis" && is_same(first, inner);
                if seen.contains(&name) && child(node, name).is_some_and(is_again) {
                    self.unused(place, format!("another `{name}` like the first"));
                } else if seen.contains(&name) && name == "inertial" {
                    // a link has one: other programs take the first
                    let what = "`inertial` given twice: the first".to_owned();
                    let help = "without `--strict` the first is taken, and named";
                    self.repaired(place, Repair { what, group: "`inertial` given twice: the first" }, help);
                } else if seen.contains(&name) {
                    self.problem(place, format!("`<{name}>` is given twice in `<{owner}>`"), "keep one of them");
                }
                seen.push(name);
            } else if is_own(node, inner) && many.contains(&name) {
                continue;
            } else if let Some(&group) = skipped_of.get(name) {
                skipped[group].2 = skipped[group].2.saturating_add(1);
            } else {
                let names: Vec<&str> = known.iter().chain(many).copied().collect();
                if !foreign.contains(&name) && !closest(name, names.iter().copied()).is_empty() {
                    let help = self.suggest(name, &names);
                    self.problem(place, format!("unknown element `<{name}>` in `<{owner}>`"), help);
                } else {
                    skipped_of.insert(name, skipped.len());
                    skipped.push((name, place, 1));
                }
            }
        }
        // of elements that are known, all; of others, some and how many more
        let mut n_unknown = 0usize;
        let more: Vec<Span> = skipped
            .extract_if(.., |group| {
                n_unknown = n_unknown.saturating_add(usize::from(!foreign.contains(&group.0)));
                n_unknown > MAX_LEFT && !foreign.contains(&group.0)
            })
            .map(|group| group.1)
            .collect();
        if let Some(&place) = more.first() {
            self.unused(place, format!("{} more elements in `{owner}`", more.len()));
        }
        for (name, place, count) in skipped {
            let what = if count == 1 { "" } else { &format!("{count} × ") };
            let what = format!("{what}`{}`", shortened(name));
            let is_idle = || name == "transmission" && children(node, "transmission").all(is_direct);
            if foreign.contains(&name) && (LOOKS.contains(&name) || is_idle()) {
                self.set_aside(place, name, what, count)
            } else {
                self.unused_element(place, name, what, count)
            }
        }
    }
}

/// Whether an element is of the robot's own language: of no namespace, or of that of the element around it.
fn is_own(around: Node, inner: Node) -> bool {
    let namespace = inner.tag_name().namespace();
    namespace.is_none() || namespace == around.tag_name().namespace()
}

/// The first child element of a name.
pub(super) fn child<'d, 't>(node: Node<'d, 't>, name: &str) -> Option<Node<'d, 't>> {
    node.children().find(|n| n.is_element() && is_own(node, *n) && n.tag_name().name() == name)
}

/// Whether two elements without children say the same.
fn is_same(a: Node, b: Node) -> bool {
    let said = |node: Node| {
        let mut said: Vec<(String, String)> =
            node.attributes().map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned())).collect();
        said.sort();
        said
    };
    !a.has_children() && !b.has_children() && said(a) == said(b)
}

/// All child elements of a name.
pub(super) fn children<'d, 't>(node: Node<'d, 't>, name: &'static str) -> impl Iterator<Item = Node<'d, 't>> {
    node.children().filter(move |n| n.is_element() && is_own(node, *n) && n.tag_name().name() == name)
}

/// A number for a message, without rows of zeros.
pub(super) fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-6..1e9).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

/// Names of any length, for a message.
fn shortened(name: &str) -> String {
    if name.chars().count() > 40 { name.chars().take(39).chain(['…']).collect() } else { name.to_owned() }
}

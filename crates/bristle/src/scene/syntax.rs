//! Text to a tree of values with their places: the part of RON that scenes use.
//!
//! ```text
//! value = number | "text" | word | [ value, … ] | word? ( value, … ) | word? ( key: value, … )
//! ```
//!
//! Comments (`//`, nested `/* */`), raw strings, trailing commas and `#![enable(…)]` lines as in RON. Words are kept as
//! places, numbers as `f64`. Depth and number of values are bounded, so that no input can exhaust stack or memory.
//!
//! What is wrong is noted and reading goes on, so that all of it is said at once:
//!
//! - a value that is none, a comma, colon or quote forgotten: that value alone is [`Value::Lost`];
//! - brackets that do not balance: the entry is lost, and reading goes on where the next one begins, if the lines are
//!   indented so that this is beyond doubt (see [`resume`](Parser::resume)); otherwise it ends there, and the message says so.

mod brackets;
mod recover;
mod scan;

use super::error::MAX_PROBLEMS;
use super::span::{Sources, Span};
pub(crate) use brackets::MAX_DEPTH;
pub(super) use scan::Parsed;
use scan::Scanner;

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// From the first to the last character of the value.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// What can stand in a scene file.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `1.0e-3`
    Number(f64),
    /// `"elbow"`
    Text(Box<str>),
    /// `Dopri5`: its text is what the span covers.
    Word,
    /// `[a, b]`
    List(Vec<Node>),
    /// `(a, b)` or `Name(a, b)`; also empty parentheses.
    Tuple { name: Option<Span>, items: Vec<Node> },
    /// `(key: a)` or `Name(key: a)`
    Fields { name: Option<Span>, fields: Vec<Field> },
    /// Something that cannot be read; why is among the problems.
    Lost,
}

/// `key: value`
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Place of the key.
    pub key: Span,
    /// What it is given.
    pub value: Node,
}

impl Node {
    /// The place to point at: the name in front of parentheses if the text has one, otherwise the value.
    pub fn head(&self) -> Span {
        match &self.value {
            Value::Tuple { name: Some(name), .. } | Value::Fields { name: Some(name), .. } => {
                if name.source == self.span.source { *name } else { self.span }
            }
            Value::Tuple { .. } | Value::Fields { .. } | Value::List(_) => {
                Span { end: self.span.start.saturating_add(1), ..self.span }
            }
            _ => self.span,
        }
    }

    /// What it is, for a message.
    pub fn describe(&self, sources: &Sources) -> String {
        let short = |text: &str| -> String {
            if text.chars().count() > 24 { text.chars().take(23).chain(['…']).collect() } else { text.to_owned() }
        };
        match &self.value {
            Value::Number(_) => format!("the number {}", short(sources.text(self.span))),
            Value::Text(text) => format!("the text \"{}\"", short(text)),
            Value::Word => format!("`{}`", short(sources.text(self.span))),
            Value::List(_) => "a list `[…]`".into(),
            Value::Lost => "what cannot be read".into(),
            Value::Tuple { name: None, items } => match items.len() {
                1 => "`(…)` with one value".into(),
                n => format!("`(…)` with {n} values"),
            },
            Value::Fields { name: None, .. } => "`(…)` with named fields".into(),
            Value::Tuple { name: Some(name), .. } | Value::Fields { name: Some(name), .. } => {
                format!("`{}(…)`", short(sources.text(*name)))
            }
        }
    }
}

/// Why a text is not a tree of values.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub span: Span,
    pub reason: String,
    pub help: String,
}

/// What was read of a text.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The value.
    pub root: Node,
    /// What is wrong, in the order in which it was found.
    pub problems: Vec<SyntaxError>,
    /// Lists and parentheses of which something is missing.
    pub incomplete: Vec<Span>,
}

/// Values in all: a link with its joint takes about fifty.
const MAX_VALUES: usize = 4_000_000;

/// Parse the text from byte `from` on as one value.
pub(crate) fn parse(text: &str, source: u32, from: usize) -> Tree {
    let mut parser = Parser::new(text, source, from);
    let root = parser.document(from);
    Tree { root, problems: parser.problems, incomplete: parser.incomplete }
}

/// Reads values, and notes what is wrong.
pub(super) struct Parser<'a> {
    pub scan: Scanner<'a>,
    depth: usize,
    n_values: usize,
    pub problems: Vec<SyntaxError>,
    incomplete: Vec<Span>,
    /// Brackets do not balance: the way back to where reading can go on.
    pub stop: Option<Stop>,
    /// What stood here was skipped, and with it perhaps a comma.
    forgives: bool,
    /// The text is one value.
    is_document: bool,
}

/// Why reading cannot simply go on.
pub(super) struct Stop {
    pub error: SyntaxError,
    /// Where that was noticed.
    at: usize,
    /// Up to where everything was read.
    read_to: usize,
    /// Nothing helps: junk, or the end of the file inside a comment.
    is_final: bool,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, source: u32, from: usize) -> Self {
        Self {
            scan: Scanner::new(text, source, from),
            depth: 0,
            n_values: 0,
            problems: Vec::new(),
            incomplete: Vec::new(),
            stop: None,
            forgives: false,
            is_document: false,
        }
    }
}

impl Parser<'_> {
    /// One value and nothing else.
    fn document(&mut self, from: usize) -> Node {
        let is_override = from > 0;
        self.is_document = !is_override;
        let missing = Node { span: self.scan.span(from..from), value: Value::Lost };
        if let Err(error) = self.scan.skip_attributes() {
            self.problems.push(error);
            return missing;
        }
        if self.scan.peek().is_none() {
            self.problems.push(if is_override {
                self.scan.error_here("the value is missing", "write `path=value`")
            } else {
                let help = "a scene is written `Scene(links: […], joints: […])`";
                self.scan.error(from..self.scan.text.len(), "the file is empty", help)
            });
            return missing;
        }
        let root = self.value();
        self.blank();
        let is_lost = matches!(root.value, Value::Lost);
        if self.stop.is_none() && !is_lost && self.scan.peek().is_some() {
            let help = if is_override { "give one value" } else { "a file holds one `Scene(…)`" };
            self.incomplete.push(root.span);
            self.stop(self.scan.error_here("unexpected text after the end", help));
        }
        if let Some(Stop { mut error, read_to, .. }) = self.stop.take() {
            // how far what else is said can be trusted
            if !is_override && !is_lost {
                let before = &self.scan.text[..read_to.min(self.scan.text.len())];
                let line = before.bytes().filter(|&b| b == b'\n').count().saturating_add(1);
                let column = before.chars().rev().take_while(|&c| c != '\n').count().saturating_add(1);
                let note = format!("the file was read only to line {line}, column {column}");
                let between = match error.help.as_str() {
                    "" => "",
                    help if help.ends_with('?') => " ",
                    _ => "; ",
                };
                error.help += &format!("{between}{note}");
            }
            self.problems.push(error);
        }
        root
    }

    /// Whether the value that just ended was to go on: a comma and something else stand behind it.
    fn is_followed_by_more(&self) -> bool {
        let mut ahead = self.scan;
        let is_comma = self.is_document && ahead.skip_blank().is_ok() && ahead.peek() == Some(b',');
        ahead.advance(usize::from(is_comma));
        is_comma && ahead.skip_blank().is_ok() && ahead.peek().is_some()
    }

    /// Any value. What cannot be read is lost, and reading stands behind it, unless there is a [`Stop`].
    pub fn value(&mut self) -> Node {
        self.blank();
        let start = self.scan.at;
        self.n_values = self.n_values.saturating_add(1);
        if self.n_values > MAX_VALUES {
            let reason = format!("more than {MAX_VALUES} values in one file");
            self.halt(self.scan.error_here(reason, "split the scene"));
        }
        if self.stop.is_some() {
            return Node { span: self.scan.span(start..start), value: Value::Lost };
        }
        let mut is_incomplete = false;
        let value = match self.scan.peek() {
            Some(b'"') => match self.scan.text_value() {
                Ok(text) => Value::Text(text.into()),
                // up to where it probably ends
                Err(error) => {
                    self.forgives = matches!(self.scan.peek(), Some(b'\n' | b'\r'));
                    let is_whole = self.scan.text[..self.scan.at].ends_with('"');
                    let text = self.scan.text[start..self.scan.at].trim_matches(['"', ' ', '\t']);
                    self.report(error);
                    if is_whole { Value::Lost } else { Value::Text(text.into()) }
                }
            },
            Some(b'r') if self.scan.starts_with("r\"") || self.scan.starts_with("r#") => match self.scan.raw_text() {
                Ok(text) => Value::Text(text.into()),
                Err(error) => {
                    self.halt(error);
                    Value::Lost
                }
            },
            Some(b'[') => self.brackets('[', ']', None, &mut is_incomplete),
            Some(b'(') => self.brackets('(', ')', None, &mut is_incomplete),
            Some(b'+' | b'-' | b'.' | b'0'..=b'9') => match self.scan.number() {
                Ok(number) => Value::Number(number),
                Err(error) => self.lost(error),
            },
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let word = self.scan.word();
                let end = self.scan.at;
                self.blank();
                if self.stop.is_none() && self.scan.peek() == Some(b'(') {
                    let name = self.scan.span(word);
                    self.brackets('(', ')', Some(name), &mut is_incomplete)
                } else {
                    self.scan.at = end;
                    match &self.scan.text[word] {
                        "inf" => Value::Number(f64::INFINITY),
                        "NaN" => Value::Number(f64::NAN),
                        _ => Value::Word,
                    }
                }
            }
            found => {
                let (reason, help) = match found {
                    None => ("a value is missing: the file ends here".into(), ""),
                    Some(b'{') => (
                        "scenes have no `{…}`".into(),
                        "write fields in parentheses, `Link(name: …, mass: …)`, and lists in brackets, `[…]`",
                    ),
                    Some(b'\'') => ("a value cannot begin with `'`".into(), "write text in double quotes, \"…\""),
                    Some(_) => (format!("expected a value, found {}", self.scan.found()), ""),
                };
                let error = self.scan.error_here(reason, help);
                if found.is_none() {
                    self.stop(error);
                    Value::Lost
                } else {
                    let value = self.lost(error);
                    self.skip_entry();
                    value
                }
            }
        };
        let span = self.scan.span(start..self.scan.at.max(start));
        if is_incomplete {
            self.incomplete.push(span);
        }
        Node { span, value }
    }

    /// White space and comments; a comment without an end is the end.
    fn blank(&mut self) {
        if let Err(error) = self.scan.skip_blank() {
            self.halt(error);
        }
    }

    /// Note what is wrong.
    pub fn report(&mut self, error: SyntaxError) {
        if self.problems.len().saturating_add(1) >= MAX_PROBLEMS {
            self.halt(error);
        } else {
            self.problems.push(error);
        }
    }

    fn lost(&mut self, error: SyntaxError) -> Value {
        self.report(error);
        Value::Lost
    }

    /// Brackets do not balance; the first reason counts.
    fn stop(&mut self, error: SyntaxError) {
        let at = self.scan.at;
        self.stop.get_or_insert(Stop { error, at, read_to: at, is_final: false });
    }

    /// There is no going on.
    fn halt(&mut self, error: SyntaxError) {
        self.stop(error);
        self.stop.iter_mut().for_each(|stop| stop.is_final = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<f64> {
        match parse(text, 0, 0).root.value {
            Value::Number(x) => Some(x),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_read_as_written() {
        for (text, x) in
            [("1", 1.0), ("-2.5e-3", -2.5e-3), (".5", 0.5), ("1.", 1.0), ("1_000", 1000.0), ("0x1F", 31.0), ("+3", 3.0)]
        {
            assert_eq!(number(text), Some(x), "{text}");
        }
        assert_eq!(number("-0.0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        for text in ["1.0.0", "1e", "--1", "30deg", "-", ".", "1e5e5", "0x"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn text_escapes_and_comments() {
        let text = r##"/* a /* nested */ comment */ [ "a\"\u{e9}\x41", r#"b"c"#, ] // end"##;
        let Value::List(items) = parse(text, 0, 0).root.value else { panic!("a list") };
        let texts: Vec<_> = items.iter().map(|n| if let Value::Text(t) = &n.value { &**t } else { "" }).collect();
        assert_eq!(texts, ["a\"éA", "b\"c"]);
    }

    #[test]
    fn depth_is_bounded() {
        const MAX_DEPTH: usize = brackets::MAX_DEPTH;
        let deep = "[".repeat(1_000_000);
        assert!(parse(&deep, 0, 0).problems[0].reason.contains("nested"));
        let shut = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert!(parse(&shut, 0, 0).problems.is_empty());
    }
}

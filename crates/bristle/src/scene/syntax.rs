//! Text to a tree of values with their places: the part of RON that scenes use.
//!
//! ```text
//! value = number | "text" | word | [ value, … ] | word? ( value, … ) | word? ( key: value, … )
//! ```
//!
//! Comments (`//`, nested `/* */`), raw strings, trailing commas and `#![enable(…)]` lines are as in RON. Words are
//! kept as places, numbers as `f64`. Depth and number of values are bounded, so that no input can exhaust stack or
//! memory.
//!
//! Parsing ends at the first syntax error. Errors of type and meaning are found later, all at once, in the tree.

mod scan;

use super::span::{Sources, Span};
use scan::Scanner;

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// From the first to the last character of the value.
    pub span: Span,
    /// The value itself.
    pub value: Value,
}

/// The kinds of value in a scene file.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `1.0e-3`
    Number(f64),
    /// `"elbow"`
    Text(Box<str>),
    /// `Dopri5`: the span covers its text.
    Word,
    /// `[a, b]`
    List(Vec<Node>),
    /// `(a, b)` or `Name(a, b)`; also empty parentheses.
    Tuple { name: Option<Span>, items: Vec<Node> },
    /// `(key: a)` or `Name(key: a)`
    Fields { name: Option<Span>, fields: Vec<Field> },
}

/// `key: value`
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Place of the key.
    pub key: Span,
    /// Its value.
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

    /// The kind of value, for a message.
    pub fn describe(&self, sources: &Sources) -> String {
        let short = |text: &str| -> String {
            if text.chars().count() > 24 { text.chars().take(23).chain(['…']).collect() } else { text.to_owned() }
        };
        match &self.value {
            Value::Number(_) => format!("the number {}", short(sources.text(self.span))),
            Value::Text(text) => format!("the text \"{}\"", short(text)),
            Value::Word => format!("`{}`", short(sources.text(self.span))),
            Value::List(_) => "a list `[…]`".into(),
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

/// The first syntax error of a text.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub span: Span,
    pub reason: String,
    pub help: String,
}

pub(crate) type Parsed<T> = Result<T, SyntaxError>;

/// Maximum number of values in a file: a link with its joint takes about fifty.
const MAX_VALUES: usize = 4_000_000;

/// Maximum depth of values inside values: a scene needs about ten, nested signals a few more.
pub(crate) const MAX_DEPTH: usize = 64;

/// Parse the text of a scene as one value.
pub(crate) fn parse(text: &str, source: u32) -> Parsed<Node> {
    let mut parser = Parser::new(text, source, 0);
    parser.scan.skip_attributes()?;
    if parser.scan.peek().is_none() {
        let help = "a scene is written `Scene(links: […], joints: […])`";
        return Err(parser.scan.error(0..text.len(), "the file is empty", help));
    }
    let root = parser.value()?;
    let end = parser.scan.at;
    parser.scan.skip_blank()?;
    if parser.scan.peek().is_none() {
        return Ok(root);
    }
    let unexpected = parser.scan.error_here("unexpected text after the end", "a file holds one `Scene(…)`");
    // `Scene(gravity: (0, 0, -9.81)), links: …`
    let is_comma = parser.scan.peek() == Some(b',');
    parser.scan.advance(1);
    if is_comma && parser.scan.skip_blank().is_ok() && parser.scan.peek().is_some() {
        let help = "is it, or one before it, a bracket too many?";
        return Err(parser.scan.error(end.saturating_sub(1)..end, "the scene ends here, but more text follows", help));
    }
    Err(unexpected)
}

/// Parse the value of an override, which begins at byte `from` of the text.
pub(crate) fn parse_override(text: &str, source: u32, from: usize) -> Parsed<Node> {
    let mut parser = Parser::new(text, source, from);
    parser.scan.skip_attributes()?;
    if parser.scan.peek().is_none() {
        return Err(parser.scan.error_here("the value is missing", "write `path=value`"));
    }
    let root = parser.value()?;
    parser.scan.skip_blank()?;
    match parser.scan.peek() {
        None => Ok(root),
        Some(_) => Err(parser.scan.error_here("unexpected text after the end", "give one value")),
    }
}

/// Reads values until the first error.
pub(super) struct Parser<'a> {
    pub scan: Scanner<'a>,
    depth: usize,
    n_values: usize,
    /// The first pair of brackets that closes on a line indented less than the line where it opens: in case of an
    /// unbalanced bracket the missing one probably belongs between them.
    suspect: Option<(usize, usize)>,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, source: u32, from: usize) -> Self {
        Self { scan: Scanner::new(text, source, from), depth: 0, n_values: 0, suspect: None }
    }
}

impl Parser<'_> {
    /// Any value.
    pub fn value(&mut self) -> Parsed<Node> {
        self.scan.skip_blank()?;
        let start = self.scan.at;
        self.n_values = self.n_values.saturating_add(1);
        if self.n_values > MAX_VALUES {
            return Err(self.scan.error_here(format!("more than {MAX_VALUES} values in one file"), "split the scene"));
        }
        let value = match self.scan.peek() {
            Some(b'"') => Value::Text(self.scan.text_value()?.into()),
            Some(b'r') if self.scan.starts_with("r\"") || self.scan.starts_with("r#") => {
                Value::Text(self.scan.raw_text()?.into())
            }
            Some(b'[') => self.list()?,
            Some(b'(') => self.parentheses(None)?,
            Some(b'+' | b'-' | b'.' | b'0'..=b'9') => Value::Number(self.scan.number()?),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let word = self.scan.word();
                self.scan.skip_blank()?;
                if self.scan.peek() == Some(b'(') {
                    self.parentheses(Some(self.scan.span(word)))?
                } else {
                    self.scan.at = word.end;
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
                    Some(b',') => (
                        "expected a value, found `,`".into(),
                        "is a value or a closing bracket missing before it, or is it a comma too many?",
                    ),
                    Some(b'\'') => ("a value cannot begin with `'`".into(), "write text in double quotes, \"…\""),
                    Some(_) => (format!("expected a value, found {}", self.scan.found()), ""),
                };
                return Err(self.scan.error_here(reason, help));
            }
        };
        Ok(Node { span: self.scan.span(start..self.scan.at), value })
    }

    /// `[a, b]`
    fn list(&mut self) -> Parsed<Value> {
        let open = self.open()?;
        let mut items = Vec::new();
        while !self.is_closed(open, '[', ']')? {
            let item = self.value()?;
            let end = self.scan.at;
            self.scan.skip_blank()?;
            if self.scan.peek() == Some(b':') && matches!(item.value, Value::Word) {
                let line = self.line_number(open);
                let help = format!("is a bracket too many before it, or the `[` on line {line} not closed?");
                return Err(SyntaxError { span: item.span, reason: "a field cannot stand in a list".into(), help });
            }
            items.push(item);
            self.separator(open, '[', ']', end)?;
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(Value::List(items))
    }

    /// `(a, b)` or `(key: a)`, with or without a name in front.
    fn parentheses(&mut self, name: Option<Span>) -> Parsed<Value> {
        let open = self.open()?;
        let (mut items, mut fields) = (Vec::new(), Vec::new());
        while !self.is_closed(open, '(', ')')? {
            let key = self.key()?;
            // `(0.0, 1.0, mass: 1.0`: a field of the parentheses around these
            if let Some(key) = key
                && name.is_none()
                && !items.is_empty()
            {
                let key = &self.scan.text[key.start as usize..key.end as usize];
                let reason = format!("this `(` is not closed before `{key}`");
                return Err(self.scan.error(open..open.saturating_add(1), reason, "close it with `)`"));
            }
            let value = self.value()?;
            let (end, head) = (self.scan.at, value.head());
            match key {
                Some(key) => fields.push(Field { key, value }),
                None => items.push(value),
            }
            self.separator(open, '(', ')', end)?;
            if !items.is_empty() && !fields.is_empty() {
                let reason = "values with and without a name in one pair of parentheses".into();
                let line = self.line_number(open);
                let is_open = format!("write `key: value`; or is the `(` on line {line} not closed before this?");
                let help = self.missing_bracket().unwrap_or(is_open);
                return Err(SyntaxError { span: key.unwrap_or(head), reason, help });
            }
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(if fields.is_empty() { Value::Tuple { name, items } } else { Value::Fields { name, fields } })
    }

    /// Move over an opening bracket. Returns its place.
    fn open(&mut self) -> Parsed<usize> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            let reason = format!("nested more than {MAX_DEPTH} deep");
            return Err(self.scan.error_here(reason, "no scene needs this: look for a bracket too many"));
        }
        self.scan.advance(1);
        Ok(self.scan.at.saturating_sub(1))
    }

    /// Move over the closing bracket, if it is next. The end of the file or another closing bracket is an error.
    pub fn is_closed(&mut self, open: usize, bracket: char, close: char) -> Parsed<bool> {
        self.scan.skip_blank()?;
        match self.scan.peek() {
            Some(found) if char::from(found) == close => {
                self.note_suspect(open);
                self.scan.advance(1);
                Ok(true)
            }
            None => {
                let help = self.missing_bracket().unwrap_or_default();
                Err(self.scan.error(open..open.saturating_add(1), format!("this `{bracket}` is never closed"), help))
            }
            Some(b')' | b']' | b'}') => {
                let reason = format!("expected `{close}`, found {}", self.scan.found());
                let is_open = format!("the `{bracket}` on line {} is still open", self.line_number(open));
                Err(self.scan.error_here(reason, self.missing_bracket().unwrap_or(is_open)))
            }
            Some(_) => Ok(false),
        }
    }

    /// Move over the comma after an entry that ends at `end`. None is needed before a closing bracket.
    pub fn separator(&mut self, open: usize, bracket: char, close: char, end: usize) -> Parsed<()> {
        self.scan.skip_blank()?;
        match self.scan.peek() {
            Some(b',') => self.scan.advance(1),
            Some(b')' | b']' | b'}') | None => {
                if self.is_closed(open, bracket, close)? {
                    self.scan.at = self.scan.at.saturating_sub(1);
                }
            }
            Some(_) => return Err(self.comma_missing(close, end)),
        }
        Ok(())
    }

    /// Compare the indentation of a closing bracket that begins its line with that of the line of the opening one.
    fn note_suspect(&mut self, open: usize) {
        let (text, close) = (self.scan.text, self.scan.at);
        let is_space = |c: char| c == ' ' || c == '\t';
        let before = text[..close].trim_end_matches(is_space);
        if self.suspect.is_none() && before.len() > open && before.ends_with('\n') {
            let line = &text[text[..open].rfind('\n').map_or(0, |n| n.saturating_add(1))..];
            let indentation = line.len().saturating_sub(line.trim_start_matches(is_space).len());
            if close.saturating_sub(before.len()) < indentation {
                self.suspect = Some((open, close));
            }
        }
    }

    /// The probable place of a missing bracket, for a message.
    fn missing_bracket(&self) -> Option<String> {
        let (open, close) = self.suspect?;
        let (bracket, closing) = (&self.scan.text[open..=open], &self.scan.text[close..=close]);
        let (from, to) = (self.line_number(open), self.line_number(close));
        Some(format!("is a `{closing}` missing? The `{bracket}` on line {from} is closed only on line {to}"))
    }

    /// The error of a missing comma after an entry that ends at `end`.
    fn comma_missing(&self, close: char, end: usize) -> SyntaxError {
        let text = self.scan.text;
        let found = text[self.scan.at..].chars().next().unwrap_or(' ');
        if found.is_alphanumeric() && !found.is_ascii() {
            let reason = format!("`{found}` cannot stand here");
            return self.scan.error_here(reason, "names are written with the letters a to z");
        }
        let is_word_before = text[..end].ends_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let help = match found {
            '*' | '/' | '+' | '-' | '^' => "write the number itself: there is no arithmetic",
            _ if is_word_before => "is a `:` or a comma missing?",
            _ => "is a comma missing?",
        };
        // a comma forgotten at the end of a line is missing there, not at the start of the next
        let here = if text[end..self.scan.at].contains('\n') { end } else { self.scan.at };
        let length = text[here..].chars().next().map_or(0, char::len_utf8);
        self.scan.error(here..here.saturating_add(length), format!("expected `,` or `{close}`"), help)
    }

    /// `key:`, if a key is next.
    fn key(&mut self) -> Parsed<Option<Span>> {
        let mut ahead = self.scan;
        if ahead.peek() == Some(b'"') {
            let start = ahead.at;
            let Ok(text) = ahead.text_value() else { return Ok(None) };
            let quoted = start..ahead.at;
            ahead.skip_blank()?;
            if ahead.peek() != Some(b':') {
                return Ok(None);
            }
            return Err(ahead.error(quoted, "names of fields have no quotes", format!("write `{text}: …`")));
        }
        let word = ahead.word();
        if !self.scan.text[word.clone()].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Ok(None);
        }
        ahead.skip_blank()?;
        match ahead.peek() {
            Some(b':') => {
                self.scan.at = ahead.at.saturating_add(1);
                Ok(Some(self.scan.span(word)))
            }
            Some(b'=') => {
                let help = format!("write `{}: …`", &self.scan.text[word]);
                Err(ahead.error_here("fields are given with `:`, not `=`", help))
            }
            _ => Ok(None),
        }
    }

    /// The line of a place, from 1.
    fn line_number(&self, at: usize) -> usize {
        self.scan.text[..at].bytes().filter(|&b| b == b'\n').count().saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<f64> {
        match parse(text, 0).ok()?.value {
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
        let Value::List(items) = parse(text, 0).unwrap().value else { panic!("a list") };
        let texts: Vec<_> = items.iter().map(|n| if let Value::Text(t) = &n.value { &**t } else { "" }).collect();
        assert_eq!(texts, ["a\"éA", "b\"c"]);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(1_000_000);
        assert!(parse(&deep, 0).unwrap_err().reason.contains("nested"));
        let shut = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert!(parse(&shut, 0).is_ok());
    }
}

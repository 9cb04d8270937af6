//! Text to a tree of values with their places: the part of RON that scenes use.
//!
//! ```text
//! value = number | "text" | word | [ value, … ] | word? ( value, … ) | word? ( key: value, … )
//! ```
//!
//! Comments (`//`, nested `/* */`), raw strings, trailing commas and `#![enable(…)]` lines as in RON. Words are kept as
//! places, numbers as `f64`. Depth and number of values are bounded, so that no input can exhaust stack or memory.

use super::span::{Sources, Span};

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
                Span { end: self.span.start + 1, ..self.span }
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

/// Values inside values: a scene needs about ten, nested signals a few more.
const MAX_DEPTH: usize = 64;

/// Values in all: a link with its joint takes about fifty.
const MAX_VALUES: usize = 4_000_000;

/// Parse the text from byte `from` on as one value.
pub(crate) fn parse(text: &str, source: u32, from: usize) -> Result<Node, SyntaxError> {
    let mut parser = Parser::new(text, source, from);
    parser.skip_attributes()?;
    if parser.peek().is_none() && from > 0 {
        return Err(parser.error_here("the value is missing", "write `path=value`"));
    }
    if parser.peek().is_none() {
        return Err(parser.error(
            from..text.len(),
            "the file is empty",
            "a scene is written `Scene(links: […], joints: […])`",
        ));
    }
    let node = parser.value()?;
    parser.skip_blank()?;
    if parser.peek().is_some() {
        let help = if from > 0 { "give one value" } else { "a file holds one `Scene(…)`" };
        return Err(parser.error_here("unexpected text after the end", help));
    }
    Ok(node)
}

pub(super) struct Parser<'a> {
    text: &'a str,
    source: u32,
    pub(super) at: usize,
    depth: usize,
    n_values: usize,
}

pub(super) type Parsed<T> = Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, source: u32, from: usize) -> Self {
        Self { text, source, at: from, depth: 0, n_values: 0 }
    }
}

impl Parser<'_> {
    pub(super) fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span { source: self.source, start: range.start as u32, end: range.end as u32 }
    }

    pub(super) fn error(
        &self,
        range: std::ops::Range<usize>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) -> SyntaxError {
        SyntaxError { span: self.span(range), reason: reason.into(), help: help.into() }
    }

    /// An error at the next character.
    pub(super) fn error_here(&self, reason: impl Into<String>, help: impl Into<String>) -> SyntaxError {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        self.error(self.at..self.at + length, reason, help)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn starts_with(&self, what: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(what.as_bytes())
    }

    /// Move over bytes while they are of a kind; all kinds asked for are ASCII.
    fn take_while(&mut self, kind: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
        let start = self.at;
        while self.peek().is_some_and(&kind) {
            self.at += 1;
        }
        start..self.at
    }

    /// What stands here, for a message.
    pub(super) fn found(&self) -> String {
        match self.text[self.at..].chars().next() {
            None => "the end of the file".into(),
            Some(c) if c.is_control() => format!("the character {:?}", c),
            Some(c) => format!("`{c}`"),
        }
    }

    /// White space and comments.
    pub(super) fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            self.take_while(|b| b.is_ascii_whitespace());
            if self.starts_with("\u{feff}") {
                self.at += '\u{feff}'.len_utf8();
            } else if self.starts_with("//") {
                self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n);
            } else if self.starts_with("/*") {
                self.block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn block_comment(&mut self) -> Parsed<()> {
        let start = self.at;
        let mut open = 0;
        loop {
            if self.starts_with("/*") {
                open += 1;
                self.at += 2;
            } else if self.starts_with("*/") {
                open -= 1;
                self.at += 2;
            } else if self.at < self.text.len() {
                self.at += 1;
            } else {
                return Err(self.error(start..start + 2, "this comment is never closed", "close it with `*/`"));
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// `#![enable(…)]`: what scenes need is always on, so these lines are read over.
    pub(super) fn skip_attributes(&mut self) -> Parsed<()> {
        self.skip_blank()?;
        while self.starts_with("#") {
            let start = self.at;
            let length = self.text[start..].find([']', '\n']).unwrap_or(self.text.len() - start);
            if !self.starts_with("#![enable(") || self.text.as_bytes().get(start + length) != Some(&b']') {
                let end = (start + length).max(start + 1);
                return Err(self.error(
                    start..end,
                    "this is not an attribute",
                    "write `#![enable(implicit_some)]`, or nothing",
                ));
            }
            self.at = start + length + 1;
            self.skip_blank()?;
        }
        Ok(())
    }

    pub(super) fn value(&mut self) -> Parsed<Node> {
        self.skip_blank()?;
        self.n_values += 1;
        if self.n_values > MAX_VALUES {
            return Err(self.error_here(format!("more than {MAX_VALUES} values in one file"), "split the scene"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'"') => Value::Text(self.text_value()?.into()),
            Some(b'r') if self.starts_with("r\"") || self.starts_with("r#") => Value::Text(self.raw_text()?.into()),
            Some(b'[') => Value::List(self.list()?),
            Some(b'(') => self.parentheses(None)?,
            Some(b'+' | b'-' | b'.' | b'0'..=b'9') => Value::Number(self.number()?),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let word = self.word();
                let end = self.at;
                self.skip_blank()?;
                if self.peek() == Some(b'(') {
                    self.parentheses(Some(self.span(word)))?
                } else {
                    self.at = end;
                    match &self.text[word] {
                        "inf" => Value::Number(f64::INFINITY),
                        "NaN" => Value::Number(f64::NAN),
                        _ => Value::Word,
                    }
                }
            }
            Some(b'{') => {
                return Err(self.error_here(
                    "scenes have no `{…}`",
                    "write fields in parentheses, `Link(name: …, mass: …)`, and lists in brackets, `[…]`",
                ));
            }
            Some(b'\'') => {
                return Err(self.error_here("a value cannot begin with `'`", "write text in double quotes, \"…\""));
            }
            None => return Err(self.error_here("a value is missing: the file ends here", "")),
            Some(_) => return Err(self.error_here(format!("expected a value, found {}", self.found()), "")),
        };
        Ok(Node { span: self.span(start..self.at), value })
    }

    fn word(&mut self) -> std::ops::Range<usize> {
        self.take_while(|b| b.is_ascii_alphanumeric() || b == b'_')
    }

    fn number(&mut self) -> Parsed<f64> {
        let start = self.at;
        let mut last = 0;
        // a sign belongs to the number at its start and after the `e` of a decimal exponent
        while let Some(byte) = self.peek() {
            let sign = matches!(byte, b'+' | b'-');
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || sign && matches!(last, 0 | b'e' | b'E'))
            {
                break;
            }
            last = byte;
            self.at += 1;
        }
        let written = &self.text[start..self.at];
        read_number(written).ok_or_else(|| {
            let help = if written.ends_with("deg") {
                "angles are in radians"
            } else {
                "numbers are written `2`, `0.5`, `1.0e-3`"
            };
            self.error(start..self.at, format!("`{written}` is not a number"), help)
        })
    }

    pub(super) fn text_value(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.error(start..start + 1, "this text is never closed", "close it with `\"`"));
            };
            let from = self.at;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(text),
                '\n' => {
                    return Err(self.error(
                        start..start + 1,
                        "this text does not end on its line",
                        "close it with `\"`",
                    ));
                }
                '\\' => text.push(self.escape().ok_or_else(|| {
                    let end = self.text[from..].char_indices().nth(2).map_or(self.text.len(), |c| from + c.0);
                    self.error(from..end, "unknown escape in text", r#"a backslash is written `\\`, a quote `\"`"#)
                })?),
                _ => text.push(c),
            }
        }
    }

    /// The character an escape stands for; the backslash is behind us.
    fn escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += if c.is_ascii() { 1 } else { 0 };
        match c {
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'0' => Some('\0'),
            b'\\' | b'"' | b'\'' => Some(c as char),
            b'x' => {
                let digits = self.text.get(self.at..self.at + 2)?;
                self.at += 2;
                u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii).map(char::from)
            }
            b'u' => {
                let rest = self.text[self.at..].strip_prefix('{')?;
                let digits = &rest[..rest.find('}')?];
                self.at += digits.len() + 2;
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)
            }
            _ => None,
        }
    }

    /// `r"…"`, `r#"…"#`
    fn raw_text(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let hashes = self.take_while(|b| b == b'#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        if self.peek() == Some(b'"') {
            let from = self.at + 1;
            if let Some(length) = self.text[from..].find(&end) {
                self.at = from + length + end.len();
                return Ok(self.text[from..from + length].to_owned());
            }
        }
        Err(self.error(start..start + 1, "this raw text is never closed", format!("close it with `{end}`")))
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error_here(
                format!("nested more than {MAX_DEPTH} deep"),
                "no scene needs this: look for a bracket too many",
            ));
        }
        Ok(())
    }

    fn list(&mut self) -> Parsed<Vec<Node>> {
        let open = self.at;
        self.deeper()?;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blank()?;
            if self.peek() == Some(b']') {
                break;
            }
            self.need_more(open, '[', ']')?;
            items.push(self.value()?);
            self.separator(open, '[', ']')?;
        }
        self.at += 1;
        self.depth -= 1;
        Ok(items)
    }

    fn parentheses(&mut self, name: Option<Span>) -> Parsed<Value> {
        let open = self.at;
        self.deeper()?;
        self.at += 1;
        let (mut items, mut fields) = (Vec::new(), Vec::new());
        loop {
            self.skip_blank()?;
            if self.peek() == Some(b')') {
                break;
            }
            self.need_more(open, '(', ')')?;
            let start = self.at;
            if let Some(key) = self.key()? {
                fields.push(Field { key, value: self.value()? });
            } else {
                items.push(self.value()?);
            }
            let end = self.at;
            self.separator(open, '(', ')')?;
            if !items.is_empty() && !fields.is_empty() {
                return Err(self.error(
                    start..end,
                    "values with and without a name in one pair of parentheses",
                    "name them all: `key: value`",
                ));
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(if fields.is_empty() { Value::Tuple { name, items } } else { Value::Fields { name, fields } })
    }

    /// `key:`, if that is what stands here.
    fn key(&mut self) -> Parsed<Option<Span>> {
        let start = self.at;
        if self.peek() == Some(b'"') {
            let text = self.text_value()?;
            let end = self.at;
            self.skip_blank()?;
            if self.peek() == Some(b':') {
                return Err(self.error(start..end, "names of fields have no quotes", format!("write `{text}: …`")));
            }
            self.at = start;
            return Ok(None);
        }
        if !self.peek().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') {
            return Ok(None);
        }
        let word = self.word();
        self.skip_blank()?;
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(Some(self.span(word)))
            }
            Some(b'=') => {
                let help = format!("write `{}: …`", &self.text[word]);
                Err(self.error_here("fields are given with `:`, not `=`", help))
            }
            _ => {
                self.at = start;
                Ok(None)
            }
        }
    }

    /// An error if the file ends inside brackets, or another kind of bracket closes here.
    pub(super) fn need_more(&self, open: usize, bracket: char, close: char) -> Parsed<()> {
        match self.peek() {
            None => Err(self.error(open..open + 1, format!("this `{bracket}` is never closed"), "")),
            Some(found @ (b')' | b']' | b'}')) if char::from(found) != close => {
                let line = self.text[..open].bytes().filter(|&b| b == b'\n').count() + 1;
                let reason = format!("expected `{close}`, found {}", self.found());
                Err(self.error_here(reason, format!("the `{bracket}` on line {line} is still open")))
            }
            Some(_) => Ok(()),
        }
    }

    /// A comma, or the closing bracket, which is left for the caller.
    pub(super) fn separator(&mut self, open: usize, bracket: char, close: char) -> Parsed<()> {
        let end = self.at;
        self.skip_blank()?;
        self.need_more(open, bracket, close)?;
        if self.peek() == Some(b',') {
            self.at += 1;
            return Ok(());
        }
        if self.peek() == Some(close as u8) {
            return Ok(());
        }
        let found = self.text[self.at..].chars().next().unwrap_or(' ');
        if found.is_alphanumeric() && !found.is_ascii() {
            return Err(
                self.error_here(format!("`{found}` cannot stand here"), "names are written with the letters a to z")
            );
        }
        let after_word = self.text[..end].ends_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let help = match found {
            '*' | '/' | '+' | '-' | '^' => "write the number itself: there is no arithmetic",
            _ if after_word => "is a `:` or a comma missing?",
            _ => "is a comma missing?",
        };
        // a comma forgotten at the end of a line is missed there, not at the start of the next
        let here = if self.text[end..self.at].contains('\n') { end } else { self.at };
        let length = self.text[here..].chars().next().map_or(0, char::len_utf8);
        Err(self.error(here..here + length, format!("expected `,` or `{close}`"), help))
    }
}

/// Decimal, hexadecimal, octal, binary; underscores between digits; a type suffix as in Rust.
fn read_number(written: &str) -> Option<f64> {
    let (sign, rest) = match written.as_bytes().first()? {
        b'-' => (-1.0, &written[1..]),
        b'+' => (1.0, &written[1..]),
        _ => (1.0, written),
    };
    if rest == "inf" {
        return Some(sign * f64::INFINITY);
    }
    if rest == "NaN" {
        return Some(f64::NAN);
    }
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            return u32::from_str_radix(&digits.replace('_', ""), radix).ok().map(|n| sign * f64::from(n));
        }
    }
    let plain = rest.replace('_', "");
    let plain = plain.strip_suffix("f64").or_else(|| plain.strip_suffix("f32")).unwrap_or(&plain);
    if !plain.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    // the sign is parsed with the digits, so that -0.0 keeps it
    plain.parse::<f64>().ok().map(|x| if sign < 0.0 { -x } else { x })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<f64> {
        match parse(text, 0, 0).ok()?.value {
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
        let Value::List(items) = parse(text, 0, 0).unwrap().value else { panic!("a list") };
        let texts: Vec<_> = items.iter().map(|n| if let Value::Text(t) = &n.value { &**t } else { "" }).collect();
        assert_eq!(texts, ["a\"éA", "b\"c"]);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(1_000_000);
        assert!(parse(&deep, 0, 0).unwrap_err().reason.contains("nested"));
        let shut = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert!(parse(&shut, 0, 0).is_ok());
    }
}

//! Characters to words, numbers and texts: the lowest layer of reading a scene.

use super::{Parsed, SyntaxError};
use crate::scene::span::Span;

/// A place in a text. Errors with one are made here.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    pub text: &'a str,
    source: u32,
    /// The next byte.
    pub at: usize,
}

/// Whether a byte may stand in a name.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The byte at a place: an ASCII character, such as a bracket.
pub(super) fn one_byte(at: usize) -> std::ops::Range<usize> {
    at..at.saturating_add(1)
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, source: u32, at: usize) -> Self {
        Self { text, source, at }
    }
}

impl Scanner<'_> {
    pub fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span { source: self.source, start: range.start as u32, end: range.end as u32 }
    }

    pub fn error(
        &self,
        range: std::ops::Range<usize>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) -> SyntaxError {
        SyntaxError { span: self.span(range), reason: reason.into(), help: help.into() }
    }

    /// An error at the next character.
    pub fn error_here(&self, reason: impl Into<String>, help: impl Into<String>) -> SyntaxError {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        self.error(self.at..self.at.saturating_add(length), reason, help)
    }

    /// Move on, to the end of the text at most.
    pub fn advance(&mut self, n_bytes: usize) {
        self.at = self.at.saturating_add(n_bytes).min(self.text.len());
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub fn starts_with(&self, what: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(what.as_bytes())
    }

    /// Move over bytes while they are of a kind; all kinds asked for are ASCII.
    fn take_while(&mut self, kind: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
        let start = self.at;
        while self.peek().is_some_and(&kind) {
            self.advance(1);
        }
        start..self.at
    }

    /// The next character, for a message.
    pub fn found(&self) -> String {
        match self.text[self.at..].chars().next() {
            None => "the end of the file".into(),
            Some(c) if c.is_control() => format!("the character {:?}", c),
            Some(c) => format!("`{c}`"),
        }
    }

    /// White space and comments.
    pub fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            self.take_while(|b| b.is_ascii_whitespace());
            if self.starts_with("\u{feff}") {
                self.advance('\u{feff}'.len_utf8());
            } else if self.starts_with("//") {
                self.advance(self.text[self.at..].find('\n').unwrap_or(self.text.len()));
            } else if self.starts_with("/*") {
                self.block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn block_comment(&mut self) -> Parsed<()> {
        let start = self.at;
        let mut open = 0usize;
        loop {
            if self.starts_with("/*") {
                open = open.saturating_add(1);
                self.advance(2);
            } else if self.starts_with("*/") {
                open = open.saturating_sub(1);
                self.advance(2);
            } else if self.at < self.text.len() {
                self.advance(1);
            } else {
                return Err(self.error(
                    start..start.saturating_add(2),
                    "this comment is never closed",
                    "close it with `*/`",
                ));
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// `#![enable(…)]`: the extensions that scenes need are always on, so these lines are skipped.
    pub fn skip_attributes(&mut self) -> Parsed<()> {
        self.skip_blank()?;
        while self.starts_with("#") {
            let start = self.at;
            let end = self.text[start..].find([']', '\n']).map_or(self.text.len(), |n| start.saturating_add(n));
            if !self.starts_with("#![enable(") || self.text.as_bytes().get(end) != Some(&b']') {
                let end = end.max(start.saturating_add(1));
                return Err(self.error(
                    start..end,
                    "this is not an attribute",
                    "write `#![enable(implicit_some)]`, or nothing",
                ));
            }
            self.at = end;
            self.advance(1);
            self.skip_blank()?;
        }
        Ok(())
    }

    /// A name.
    pub fn word(&mut self) -> std::ops::Range<usize> {
        self.take_while(is_word)
    }

    /// `-1.0e-3`
    pub fn number(&mut self) -> Parsed<f64> {
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
            self.advance(1);
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

    /// `"…"`
    pub fn text_value(&mut self) -> Parsed<String> {
        let start = self.at;
        let open = |reason: &str| Err(self.error(start..start.saturating_add(1), reason, "close it with `\"`"));
        let mut text = String::new();
        let mut scan = Scanner { at: start.saturating_add(1), ..*self };
        loop {
            let from = scan.at;
            let Some(c) = self.text[from..].chars().next() else { return open("this text is never closed") };
            scan.advance(c.len_utf8());
            match c {
                '"' => break,
                '\n' => return open("this text does not end on its line"),
                '\\' => text.push(scan.escape().ok_or_else(|| {
                    let end =
                        self.text[from..].char_indices().nth(2).map_or(self.text.len(), |c| from.saturating_add(c.0));
                    self.error(from..end, "unknown escape in text", r#"a backslash is written `\\`, a quote `\"`"#)
                })?),
                _ => text.push(c),
            }
        }
        // `"world, child: "upper"`: the quote that ends this text was to begin another
        if scan.peek().is_some_and(is_word) && text.contains([',', ')', ']']) {
            return open("this text is not closed");
        }
        self.at = scan.at;
        Ok(text)
    }

    /// The character an escape stands for; the backslash is behind us.
    fn escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.advance(usize::from(c.is_ascii()));
        match c {
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'0' => Some('\0'),
            b'\\' | b'"' | b'\'' => Some(c as char),
            b'x' => {
                let digits = self.text.get(self.at..self.at.saturating_add(2))?;
                self.advance(2);
                u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii).map(char::from)
            }
            b'u' => {
                let rest = self.text[self.at..].strip_prefix('{')?;
                let digits = &rest[..rest.find('}')?];
                self.advance(digits.len().saturating_add(2));
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)
            }
            _ => None,
        }
    }

    /// `r"…"`, `r#"…"#`
    pub fn raw_text(&mut self) -> Parsed<String> {
        let start = self.at;
        self.advance(1);
        let hashes = self.take_while(|b| b == b'#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        if self.peek() == Some(b'"')
            && let Some((content, _)) = self.text[self.at.saturating_add(1)..].split_once(&end)
        {
            self.advance(content.len().saturating_add(end.len()).saturating_add(1));
            return Ok(content.to_owned());
        }
        Err(self.error(one_byte(start), "this raw text is never closed", format!("close it with `{end}`")))
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

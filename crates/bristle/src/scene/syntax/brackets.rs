//! What stands between brackets, and what is wrong with it.

use super::scan::{Parsed, is_word, one_byte};
use super::{Field, Node, Parser, Span, SyntaxError, Value};

/// Values inside values: a scene needs about ten, nested signals a few more.
pub(crate) const MAX_DEPTH: usize = 64;

/// What is open when reading ends too early is kept down to the lists of a scene: whole elements, no halves.
const KEPT_DEPTH: usize = 2;

/// A pair of brackets that is being read.
pub(super) struct Bracket {
    pub open: usize,
    pub kind: char,
    pub close: char,
    /// Column of the first entry, if that begins a line.
    pub column: Option<usize>,
    /// Where the last entry begins.
    pub last: usize,
    /// Whether a name stands in front.
    pub has_name: bool,
}

/// One of the things between brackets.
struct Entry {
    key: Option<Span>,
    node: Node,
}

impl Entry {
    /// A word without a key.
    fn is_word(&self) -> bool {
        self.key.is_none() && matches!(self.node.value, Value::Word)
    }
}

/// What stands between brackets.
#[derive(Default)]
pub(super) struct Content {
    pub items: Vec<Node>,
    pub fields: Vec<Field>,
    /// An item is not what the text says.
    pub is_broken: bool,
    /// Something is missing.
    pub is_incomplete: bool,
}

impl Parser<'_> {
    /// `[a, b]`, `(a, b)` or `(key: a)`
    pub(super) fn brackets(&mut self, kind: char, close: char, name: Option<Span>, is_incomplete: &mut bool) -> Value {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            let reason = format!("nested more than {MAX_DEPTH} deep");
            self.halt(self.scan.error_here(reason, "no scene needs this: look for a bracket too many"));
        }
        let mut bracket =
            Bracket { open: self.scan.at, kind, close, column: None, last: self.scan.at, has_name: name.is_some() };
        self.scan.advance(1);
        let mut content = Content::default();
        loop {
            self.blank();
            if self.stop.is_none() && self.scan.peek() == Some(close as u8) {
                let place = one_byte(self.scan.at);
                self.scan.advance(1);
                if self.depth > 1 || !self.is_followed_by_more() {
                    break;
                }
                let help = "is it, or one before it, a bracket too many?";
                self.stop(self.scan.error(place, format!("this `{close}` ends the scene, but there is more"), help));
            }
            if self.stop.is_none() && !self.entry(&mut bracket, &mut content) {
                break;
            }
            if self.stop.is_some() {
                content.is_incomplete = true;
                if !self.resume(&bracket, &mut content) {
                    break;
                }
            }
        }
        self.depth = self.depth.saturating_sub(1);
        *is_incomplete = content.is_incomplete;
        if let Some(stop) = &mut self.stop
            && self.depth >= KEPT_DEPTH
        {
            // the whole element is not looked at
            stop.read_to = stop.read_to.min(name.map_or(bracket.open, |name| name.start as usize));
            return Value::Lost;
        }
        let Content { items, fields, is_broken, .. } = content;
        match (kind, fields.is_empty()) {
            ('[', _) => Value::List(items),
            (_, true) if is_broken => Value::Lost,
            (_, true) => Value::Tuple { name, items },
            (_, false) => Value::Fields { name, fields },
        }
    }

    /// One entry and the comma after it. Returns whether there may be another.
    fn entry(&mut self, bracket: &mut Bracket, content: &mut Content) -> bool {
        if let Err(error) = self.need_more(bracket.open, bracket.kind, bracket.close) {
            self.stop(error);
            return true;
        }
        let start = self.scan.at;
        // a comma alone under the line that opened: the bracket before it is gone
        if self.scan.peek() == Some(b',') && self.column_if_first(start) == Some(self.indentation(bracket.open)) {
            let reason = format!("this `{}` is never closed", bracket.kind);
            self.report(self.scan.error(one_byte(bracket.open), reason, ""));
            return false;
        }
        if bracket.last == bracket.open {
            bracket.column = self.column_if_first(start);
        }
        let key = if bracket.kind == '(' { self.key() } else { None };
        if self.stop.is_some() {
            return true;
        }
        // `(0.0, 1.0, mass: 1.0`: a field of what is around these parentheses
        if key.is_some() && !bracket.has_name && !content.items.is_empty() {
            self.report(self.scan.error(one_byte(bracket.open), "this `(` is not closed", ""));
            self.scan.at = start;
            self.forgives = true;
            return false;
        }
        // an element of the list around this begins: this one was not closed
        if key.is_none()
            && !content.fields.is_empty()
            && self.column_if_first(start).is_some_and(|column| column <= self.indentation(bracket.open))
        {
            let reason = format!("the `(` on line {} is not closed before this", self.line_number(bracket.open));
            self.stop(self.scan.error_here(reason, ""));
            return true;
        }

        bracket.last = start;
        let node = self.value();
        let mut entry = Entry { key, node };
        let end = self.scan.at;
        self.blank();
        if self.stop.is_none() {
            match self.scan.peek() {
                Some(b',') => self.scan.advance(1),
                Some(b':') if bracket.kind == '[' && entry.is_word() => {
                    return self.field_in_list(bracket, content, start);
                }
                Some(b')' | b']' | b'}') | None => {
                    if let Err(error) = self.need_more(bracket.open, bracket.kind, bracket.close) {
                        self.stop(error);
                    }
                }
                Some(_) if self.forgives => {}
                Some(_) => self.comma_missing(bracket, content, &mut entry, end),
            }
        }
        self.forgives = false;

        // values with names, or values without; a comma too many stands for none
        let Entry { key, node } = entry;
        let is_lost = matches!(node.value, Value::Lost);
        match key {
            Some(key) => content.fields.push(Field { key, value: node }),
            None if is_lost && node.span.start == node.span.end => {}
            None => content.items.push(node),
        }
        if bracket.kind == '(' && !content.items.is_empty() && !content.fields.is_empty() {
            if self.stop.is_none() && !is_lost {
                let reason = "values with and without a name in one pair of parentheses";
                self.report(self.scan.error(start..end, reason, "name them all: `key: value`"));
            }
            content.items.clear();
            content.is_incomplete = true;
        }
        true
    }

    /// `key:`, if that is what stands here.
    fn key(&mut self) -> Option<Span> {
        let start = self.scan.at;
        if self.scan.peek() == Some(b'"') {
            let mut ahead = self.scan;
            let text = ahead.text_value().ok()?;
            let end = ahead.at;
            ahead.skip_blank().ok()?;
            if ahead.peek() != Some(b':') {
                return None;
            }
            self.scan.at = ahead.at;
            self.scan.advance(1);
            self.report(self.scan.error(start..end, "names of fields have no quotes", format!("write `{text}: …`")));
            return Some(self.scan.span(start.saturating_add(1)..end.saturating_sub(1)));
        }
        if !self.scan.peek().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') {
            return None;
        }
        let mut ahead = self.scan;
        let word = ahead.word();
        ahead.skip_blank().ok()?;
        match ahead.peek() {
            Some(b':') => {}
            Some(b'=') => {
                let help = format!("write `{}: …`", &self.scan.text[word.clone()]);
                self.report(ahead.error_here("fields are given with `:`, not `=`", help));
            }
            _ => return None,
        }
        self.scan.at = ahead.at;
        self.scan.advance(1);
        Some(self.scan.span(word))
    }

    /// Whether `key:` stands at a place.
    pub(super) fn is_key_at(&self, at: usize) -> bool {
        let mut ahead = self.scan;
        ahead.at = at;
        let begins = ahead.peek().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        ahead.word();
        begins && ahead.skip_blank().is_ok() && matches!(ahead.peek(), Some(b':' | b'='))
    }

    /// That a comma is missing after what ends at `end`.
    pub fn comma_error(&self, close: char, end: usize) -> SyntaxError {
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
        // a comma forgotten at the end of a line is missed there, not at the start of the next
        let here = if text[end..self.scan.at].contains('\n') { end } else { self.scan.at };
        let length = text[here..].chars().next().map_or(0, char::len_utf8);
        self.scan.error(here..here.saturating_add(length), format!("expected `,` or `{close}`"), help)
    }

    /// Something else than a comma or the closing bracket stands after an entry.
    fn comma_missing(&mut self, bracket: &Bracket, content: &mut Content, entry: &mut Entry, end: usize) {
        let error = self.comma_error(bracket.close, end);
        // what was lost already has been said to be
        if !matches!(entry.node.value, Value::Lost) {
            self.report(error);
        }

        let found = self.scan.text[self.scan.at..].chars().next().unwrap_or(' ');
        let is_same_line = !self.scan.text[end..self.scan.at].contains('\n');
        let begins_value = matches!(found, '"' | '(' | '[' | '.' | '_') || found.is_ascii_alphanumeric();
        let is_field = bracket.kind == '(' && (entry.key.is_some() || !content.fields.is_empty());
        let begins_line = !is_same_line && is_word(found as u8) && found.is_ascii();
        if bracket.kind == '(' && (begins_line || self.is_key_at(self.scan.at)) {
            // the next field begins
        } else if bracket.kind == '(' && is_same_line && begins_value && entry.is_word() {
            // `mass 1.0`
            *entry = Entry { key: Some(entry.node.span), node: self.value() };
            self.skip_comma();
        } else if begins_value && !is_field {
            // the next item begins
        } else {
            entry.node.value = Value::Lost;
            content.is_broken = true;
            self.skip_entry();
            self.skip_comma();
        }
    }

    /// `key:` stands in a list. Returns whether there may be another entry.
    fn field_in_list(&mut self, bracket: &Bracket, content: &mut Content, start: usize) -> bool {
        content.is_incomplete = true;
        let line = self.line_number(bracket.open);
        if self.column_if_first(start) == Some(self.indentation(bracket.open)) {
            // it stands under the key that the list belongs to
            self.report(self.scan.error(one_byte(bracket.open), "this `[` is never closed", ""));
            self.scan.at = start;
            self.forgives = true;
            return false;
        }
        if let Some(last) = content.items.last() {
            self.incomplete.push(last.span);
        }
        let end = self.scan.at;
        let help = format!("is a bracket too many before it, or the `[` on line {line} not closed?");
        let error = self.scan.error(start..end, "a field cannot stand in a list", help);
        self.stop(error);
        true
    }

    /// An error if the file ends inside brackets, or another kind of bracket closes here.
    pub fn need_more(&self, open: usize, bracket: char, close: char) -> Parsed<()> {
        match self.scan.peek() {
            None => Err(self.scan.error(one_byte(open), format!("this `{bracket}` is never closed"), "")),
            Some(found @ (b')' | b']' | b'}')) if char::from(found) != close => {
                let reason = format!("expected `{close}`, found {}", self.scan.found());
                let line = self.line_number(open);
                Err(self.scan.error_here(reason, format!("the `{bracket}` on line {line} is still open")))
            }
            Some(_) => Ok(()),
        }
    }
}

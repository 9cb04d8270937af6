//! From the tree of values to typed data, through serde: every mismatch becomes a problem at its place.
//!
//! The reader goes on after a problem: it leaves out an unknown field and puts a placeholder for a wrong value or a
//! missing field. It records the places of these ([`Unreadable`]), so that one pass finds all errors of type, and the
//! checks of meaning draw no conclusion from a placeholder.

mod access;
mod cursor;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, Deserialize, Expected};

use super::error::{MAX_PROBLEMS, Problem, closest, did_you_mean};
use super::span::{Sources, Span};
use super::syntax::{Field, Node, Value};
use super::unreadable::Unreadable;
use cursor::{Content, Cursor};

/// Reads typed data and gathers problems.
pub(crate) struct Reader<'a> {
    sources: &'a Sources,
    problems: RefCell<Vec<Problem>>,
    unreadable: RefCell<Unreadable>,
    /// An element of a list could not be read even with placeholders, and is missing from the list.
    has_gaps: Cell<bool>,
}

/// The problems of a file, and the places of the placeholders.
pub(crate) struct Findings {
    pub problems: Vec<Problem>,
    pub unreadable: Unreadable,
    /// Elements are missing from lists.
    pub has_gaps: bool,
}

impl<'a> Reader<'a> {
    pub fn new(sources: &'a Sources) -> Self {
        Self { sources, problems: RefCell::default(), unreadable: RefCell::default(), has_gaps: Cell::new(false) }
    }

    /// The problems that were found, with the places of the placeholders.
    pub fn into_findings(self) -> Findings {
        let (problems, unreadable) = (self.problems.into_inner(), self.unreadable.into_inner());
        Findings { problems, unreadable, has_gaps: self.has_gaps.get() }
    }

    /// One value; `None` if it could not be read, which is then a problem.
    pub fn value<T: Deserialize<'a>>(&'a self, key: &'a str, node: &'a Node) -> Option<T> {
        // a field that is found to be missing has a placeholder the next time
        loop {
            let before = self.unreadable.borrow().n_fields();
            match T::deserialize(Cursor { reader: self, node, key }) {
                Ok(value) => return Some(value),
                Err(_) if self.unreadable.borrow().n_fields() > before && !self.is_full() => {}
                Err(_) => {
                    self.unreadable.borrow_mut().node(node);
                    self.has_gaps.set(true);
                    return None;
                }
            }
        }
    }

    /// The elements of a list that could be read.
    pub fn list<T: Deserialize<'a>>(&'a self, key: &'a str, node: &'a Node) -> Vec<T> {
        match &node.value {
            Value::List(items) => items.iter().filter_map(|item| self.value(key, item)).collect(),
            _ => {
                Cursor { reader: self, node, key }.mismatch("a list in brackets, `[…]`");
                Vec::new()
            }
        }
    }

    /// The known fields of a struct.
    pub fn fields(&'a self, node: &'a Node, name: &str, known: &[&str]) -> Vec<(&'a str, &'a Node)> {
        let cursor = Cursor { reader: self, node, key: "" };
        match cursor.content(name) {
            Some(Content::Named(fields)) => {
                self.known(node, name, known, fields).0.iter().map(|f| (self.sources.text(f.0), f.1)).collect()
            }
            _ => {
                cursor.mismatch(&format!("`{name}(…)`"));
                Vec::new()
            }
        }
    }

    /// Whether further problems would not be kept.
    fn is_full(&self) -> bool {
        self.problems.borrow().len() >= MAX_PROBLEMS
    }

    fn report(&self, span: Span, key: &str, reason: String, help: String) -> ReadError {
        if !self.is_full() {
            let problem = Problem { path: key.to_owned(), ..Problem::at(self.sources, span, reason, help) };
            // a value that is read again has the same problems again
            let mut problems = self.problems.borrow_mut();
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        ReadError::Reported
    }

    /// The fields that exist, each once; unknown and repeated ones are problems. Also the names that unknown fields
    /// were probably meant to have.
    fn known<'k>(
        &self,
        node: &Node,
        owner: &str,
        known: &[&'k str],
        fields: &'a [Field],
    ) -> (Vec<(Span, &'a Node)>, Vec<&'k str>) {
        let mut kept: Vec<(Span, &Node)> = Vec::with_capacity(fields.len());
        let mut meant = Vec::new();
        for field in fields {
            let key = self.sources.text(field.key);
            if !known.contains(&key) {
                if self.is_full() {
                    continue;
                }
                let help = did_you_mean(key, &format!("the fields of `{owner}` are"), known);
                meant.extend(closest(key, known.iter().copied()));
                self.report(field.key, key, format!("unknown field `{key}` in `{owner}`"), help);
            } else if kept.iter().any(|k| self.sources.text(k.0) == key) {
                self.report(field.key, key, format!("`{key}` is given twice in `{owner}`"), "keep one of them".into());
                self.unreadable.borrow_mut().doubt(node, key);
            } else {
                kept.push((field.key, &field.value));
            }
        }
        meant.iter().for_each(|field| self.unreadable.borrow_mut().doubt(node, field));
        (kept, meant)
    }
}

/// The reason why a value could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It is among the problems already.
    Reported,
    /// A value of the wrong type, with the expected one.
    Type(String),
    /// A field without a default was left out.
    Missing(&'static str),
    /// Anything else.
    Other(String, String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported => f.write_str("reported"),
            Self::Type(expected) => write!(f, "expected {expected}"),
            Self::Missing(field) => write!(f, "missing field `{field}`"),
            Self::Other(reason, _) => f.write_str(reason),
        }
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string(), String::new())
    }
    fn invalid_type(_: de::Unexpected, expected: &dyn Expected) -> Self {
        Self::Type(spelled(expected))
    }
    fn invalid_value(_: de::Unexpected, expected: &dyn Expected) -> Self {
        Self::Type(spelled(expected))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::Other(format!("unknown `{variant}`"), did_you_mean(variant, "one of", expected))
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::Other(format!("unknown field `{field}`"), did_you_mean(field, "the fields are", expected))
    }
    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
    fn duplicate_field(field: &'static str) -> Self {
        Self::Other(format!("`{field}` is given twice"), "keep one of them".into())
    }
}

/// The type that a visitor expects, as it is spelled in a scene: `Link(…)` for "struct Link".
fn spelled(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.strip_prefix("struct ") {
        Some(name) => format!("`{name}(…)`"),
        None => text,
    }
}

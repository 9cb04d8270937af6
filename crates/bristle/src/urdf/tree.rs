//! The tree of values that a RON scene would give, made from a robot: the same reader and the same checks take it from
//! there, and the problems they find are shown at their places in the robot's file.
//!
//! The words of the scene language (`joints`, `Revolute`, …) do not stand in that file; they are kept in a text of
//! their own.

use std::collections::HashMap;

use crate::scene::span::{Source, Span};
use crate::scene::syntax::{Field, Node, Value};

/// Index of the text of words among the sources.
const SOURCE: u32 = 1;

/// The words used so far.
#[derive(Default)]
pub(super) struct Words {
    text: String,
    places: HashMap<&'static str, Span>,
}

impl Words {
    /// Place of a word.
    pub fn word(&mut self, word: &'static str) -> Span {
        *self.places.entry(word).or_insert_with(|| {
            let start = self.text.len() as u32;
            self.text.push_str(word);
            Span { source: SOURCE, start, end: self.text.len() as u32 }
        })
    }

    /// `Name(key: value, …)`, or `(key: value, …)` where the name is empty; shown at `place`.
    pub fn fields(&mut self, place: Span, name: &'static str, fields: Vec<(&'static str, Node)>) -> Node {
        let name = if name.is_empty() { None } else { Some(self.word(name)) };
        let fields = fields.into_iter().map(|(key, value)| Field { key: self.word(key), value }).collect();
        Node { span: place, value: Value::Fields { name, fields } }
    }

    /// `Name(value, …)` or `Name`; shown at `place`.
    pub fn variant(&mut self, place: Span, name: &'static str, items: Vec<Node>) -> Node {
        Node { span: place, value: Value::Tuple { name: Some(self.word(name)), items } }
    }

    /// Whether a place is that of a word.
    pub fn is(&self, place: Span, word: &str) -> bool {
        self.places.get(word) == Some(&place)
    }

    /// The text of all words.
    pub fn into_source(self) -> Source {
        Source::new("words of the scene language".into(), self.text)
    }
}

/// A number.
pub(super) fn number(place: Span, x: f64) -> Node {
    Node { span: place, value: Value::Number(x) }
}

/// Text.
pub(super) fn text(place: Span, text: &str) -> Node {
    Node { span: place, value: Value::Text(text.into()) }
}

/// `(x, y, z)`
pub(super) fn vector(place: Span, x: [f64; 3]) -> Node {
    tuple(place, x.map(|x| number(place, x)).into())
}

/// `(a, b)`
pub(super) fn tuple(place: Span, items: Vec<Node>) -> Node {
    Node { span: place, value: Value::Tuple { name: None, items } }
}

/// `[a, b]`
pub(super) fn list(place: Span, items: Vec<Node>) -> Node {
    Node { span: place, value: Value::List(items) }
}

//! The places of values that could not be read and have a placeholder.
//!
//! A problem of meaning is reported only if the value itself, all values that it is compared with, and all names that
//! it could refer to were read from the file.

use std::collections::HashSet;

use super::origin::{Document, Step};
use super::span::Span;
use super::syntax::{Node, Value};

/// Places of placeholders and of doubtful fields.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    /// Values that could not be read.
    nodes: HashSet<Span>,
    /// Fields that are missing and have a placeholder, with the place of their struct.
    fields: HashSet<(Span, String)>,
    /// Fields that are given twice, or are probably meant by an unknown name.
    doubtful: HashSet<(Span, String)>,
}

impl Unreadable {
    /// A value could not be read.
    pub fn node(&mut self, node: &Node) {
        self.nodes.insert(node.span);
    }

    /// A field of a value is missing.
    pub fn field(&mut self, owner: &Node, field: &str) {
        self.fields.insert((owner.span, field.to_owned()));
    }

    /// A field of a value is given twice, or is probably meant by an unknown name.
    pub fn doubt(&mut self, owner: &Node, field: &str) {
        self.doubtful.insert((owner.span, field.to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.fields.is_empty() && self.doubtful.is_empty()
    }

    /// Whether a value itself could not be read.
    pub fn is_at(&self, node: &Node) -> bool {
        self.nodes.contains(&node.span)
    }

    /// Number of missing fields.
    pub fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// Whether a field has a placeholder because it is missing.
    pub fn lacks(&self, owner: &Node, field: &str) -> bool {
        !self.fields.is_empty() && self.fields.contains(&(owner.span, field.to_owned()))
    }

    /// Whether the value at the end of a path is, or belongs to, a placeholder.
    pub fn is_on(&self, document: &Document, steps: &[Step]) -> bool {
        let mut node = &document.root;
        for step in steps {
            if self.nodes.contains(&node.span) {
                return true;
            }
            match document.next(node, *step) {
                Some(next) => node = next,
                None => {
                    let Step::Key(key) = step else { return false };
                    let field = (node.span, (*key).to_owned());
                    return self.fields.contains(&field) || self.doubtful.contains(&field);
                }
            }
        }
        self.nodes.contains(&node.span)
    }

    /// Whether the value at the end of a path is, belongs to, or holds a placeholder.
    pub fn touches(&self, document: &Document, steps: &[Step]) -> bool {
        if self.is_on(document, steps) {
            return true;
        }
        let mut node = &document.root;
        for step in steps {
            match document.next(node, *step) {
                Some(next) => node = next,
                None => return false,
            }
        }
        self.is_in(node)
    }

    /// Whether a list, or the given field of one of its elements, is a placeholder.
    pub fn hides(&self, document: &Document, list: &str, field: &str) -> bool {
        let steps = [Step::Key(list)];
        if self.is_on(document, &steps) {
            return true;
        }
        let Some(node) = document.next(&document.root, steps[0]) else { return false };
        let Value::List(items) = &node.value else { return false };
        (0..items.len()).any(|i| self.is_on(document, &[steps[0], Step::Index(i), Step::Key(field)]))
    }

    fn is_in(&self, node: &Node) -> bool {
        let mut fields = self.fields.iter().chain(&self.doubtful);
        if self.nodes.contains(&node.span) || fields.any(|field| field.0 == node.span) {
            return true;
        }
        match &node.value {
            Value::List(items) | Value::Tuple { items, .. } => items.iter().any(|item| self.is_in(item)),
            Value::Fields { fields, .. } => fields.iter().any(|field| self.is_in(&field.value)),
            Value::Number(_) | Value::Text(_) | Value::Word => false,
        }
    }
}

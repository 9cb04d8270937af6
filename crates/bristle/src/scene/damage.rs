//! Where a scene could not be read as it stands, so that nothing is concluded from what was put there instead.
//!
//! Three questions are asked before a problem of meaning is reported: is the value itself what the file says, is
//! everything that it is judged with, and are all names known that it could refer to?

use std::collections::HashSet;

use super::origin::{Document, Step};
use super::span::Span;
use super::syntax::{Node, Value};

/// Places with stand-ins.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// Values that could not be read.
    nodes: HashSet<Span>,
    /// Fields that are missing, with the place of what they belong to: these have stand-ins.
    fields: HashSet<(Span, String)>,
    /// Fields that are given twice, or were meant to be there under a name that does not exist.
    doubtful: HashSet<(Span, String)>,
    /// Lists and parentheses that could be read only in part: what they do not say, the file may.
    incomplete: HashSet<Span>,
}

impl Damage {
    /// Of these something is missing.
    pub fn incomplete(spans: Vec<Span>) -> Self {
        Self { incomplete: spans.into_iter().collect(), ..Self::default() }
    }

    /// Whether something of a value is missing.
    pub fn is_incomplete(&self, node: &Node) -> bool {
        self.incomplete.contains(&node.span)
    }

    /// A value could not be read.
    pub fn node(&mut self, node: &Node) {
        self.nodes.insert(node.span);
    }

    /// A field of a value is missing.
    pub fn field(&mut self, owner: &Node, field: &str) {
        self.fields.insert((owner.span, field.to_owned()));
    }

    /// A field of a value was meant to be there under a name that does not exist, or is given twice.
    pub fn doubt(&mut self, owner: &Node, field: &str) {
        self.doubtful.insert((owner.span, field.to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        [&self.nodes, &self.incomplete].iter().all(|set| set.is_empty())
            && [&self.fields, &self.doubtful].iter().all(|set| set.is_empty())
    }

    /// Whether a value itself could not be read.
    pub fn is_at(&self, node: &Node) -> bool {
        self.nodes.contains(&node.span)
    }

    /// How many fields are missing.
    pub fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// Whether a field is to be there as a stand-in.
    pub fn lacks(&self, owner: &Node, field: &str) -> bool {
        !self.fields.is_empty() && self.fields.contains(&(owner.span, field.to_owned()))
    }

    /// Whether what a way leads to is, or belongs to, a stand-in.
    pub fn is_on(&self, document: &Document, steps: &[Step]) -> bool {
        let mut node = &document.root;
        for step in steps {
            if self.nodes.contains(&node.span) {
                return true;
            }
            match document.next(node, *step) {
                Some(next) => node = next,
                None if self.is_incomplete(node) => return true,
                None => {
                    let Step::Key(key) = step else { return false };
                    let field = (node.span, (*key).to_owned());
                    return self.fields.contains(&field) || self.doubtful.contains(&field);
                }
            }
        }
        self.nodes.contains(&node.span)
    }

    /// Whether what a way leads to is, belongs to, or holds a stand-in.
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

    /// Whether one of the elements of a list, or the list, has a stand-in for a field.
    pub fn hides(&self, document: &Document, list: &str, field: &str) -> bool {
        let steps = [Step::Key(list)];
        if self.is_on(document, &steps) {
            return true;
        }
        let Some(node) = document.next(&document.root, steps[0]) else { return false };
        let Value::List(items) = &node.value else { return false };
        self.is_incomplete(node)
            || (0..items.len()).any(|i| self.is_on(document, &[steps[0], Step::Index(i), Step::Key(field)]))
    }

    fn is_in(&self, node: &Node) -> bool {
        let mut fields = self.fields.iter().chain(&self.doubtful);
        if self.nodes.contains(&node.span) || self.is_incomplete(node) || fields.any(|field| field.0 == node.span) {
            return true;
        }
        match &node.value {
            Value::List(items) | Value::Tuple { items, .. } => items.iter().any(|item| self.is_in(item)),
            Value::Fields { fields, .. } => fields.iter().any(|field| self.is_in(&field.value)),
            Value::Number(_) | Value::Text(_) | Value::Word => false,
            Value::Lost => true,
        }
    }
}

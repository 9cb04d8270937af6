//! The origin of a scene: its text, and the place of every value in it.

use std::fmt;
use std::sync::Arc;

use super::Scene;
use super::error::{Help, Problem};
use super::span::{Position, Sources, Span};
use super::syntax::{Node, Value};

/// The texts a scene was read from and the tree of values in them.
#[derive(Debug)]
pub(crate) struct Document {
    pub sources: Sources,
    pub root: Node,
}

/// The text behind a scene, if it was read from one. Two scenes that say the same are equal wherever they came from.
#[derive(Clone, Default)]
pub struct Origin(pub(crate) Option<Arc<Document>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(document) => write!(f, "Origin({:?})", document.sources.0[0].name),
            None => f.write_str("Origin(none)"),
        }
    }
}

impl Origin {
    /// The text the scene was read from, without overrides.
    pub fn text(&self) -> Option<&str> {
        self.0.as_ref().map(|document| document.sources.0[0].text.as_str())
    }

    /// The name of the file, as the caller gave it.
    pub fn file(&self) -> Option<&str> {
        self.0.as_ref().map(|document| document.sources.0[0].name.as_str())
    }
}

impl Scene {
    /// Line and column of the value that a path names, such as `joints.elbow.friction`; `None` if the file does not
    /// give it.
    ///
    /// Elements of lists go by name or by number from 0. A place within an override counts in `path=value`.
    pub fn span_of(&self, path: &str) -> Option<Position> {
        let document = self.origin.0.as_ref()?;
        let (node, rest) = document.find(path);
        let span = node.head();
        rest.is_empty().then(|| document.sources.0[span.source as usize].position(span.start as usize))
    }

    /// A problem with the value that a path names, at its place, or at the nearest place around it that the file has.
    ///
    /// For stages after reading: a well-formed scene may still be impossible to simulate.
    pub fn problem(&self, path: &str, reason: impl Into<String>, help: impl Into<Help>) -> Problem {
        let (reason, help) = (reason.into(), help.into());
        match &self.origin.0 {
            Some(document) => {
                let head = document.find(path).0.head();
                Problem { path: path.to_owned(), ..Problem::at(&document.sources, head, reason, help) }
            }
            None => Problem::without_place("scene", path, reason, help),
        }
    }
}

impl Document {
    /// The deepest node along a path, and what of the path is left over.
    pub fn find<'p>(&self, path: &'p str) -> (&Node, &'p str) {
        let (mut node, mut rest) = (&self.root, path);
        while !rest.is_empty() {
            match step(node, &self.sources, rest) {
                Some((next, left)) => (node, rest) = (next, left),
                None => break,
            }
        }
        (node, rest)
    }
}

impl Document {
    /// The number at a path.
    pub fn number(&self, path: &str) -> Option<f64> {
        let (node, rest) = self.find(path);
        match &node.value {
            Value::Number(x) if rest.is_empty() => Some(*x),
            _ => None,
        }
    }
}

/// The first segment of a path, and the rest.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// One step along a path: the node, and what of the path is left.
fn step<'n, 'p>(node: &'n Node, sources: &Sources, path: &'p str) -> Option<(&'n Node, &'p str)> {
    let (segment, rest) = split(path);
    match &node.value {
        Value::Fields { fields, .. } => {
            fields.iter().find(|f| sources.text(f.key) == segment).map(|f| (&f.value, rest))
        }
        Value::List(items) => element(items, sources, path).map(|(i, rest)| (&items[i], rest)),
        Value::Tuple { items, .. } => match segment.parse::<usize>() {
            Ok(i) => items.get(i).map(|item| (item, rest)),
            // `drive.amplitude` means the amplitude in `drive: Effort(Sine(amplitude: …))`
            Err(_) if items.len() == 1 => Some((&items[0], path)),
            Err(_) => None,
        },
        _ => None,
    }
}

/// Which element of a list a path begins with: by name, names with dots included, or by number.
pub(crate) fn element<'p>(items: &[Node], sources: &Sources, path: &'p str) -> Option<(usize, &'p str)> {
    let mut best: Option<(usize, &str)> = None;
    for (i, item) in items.iter().enumerate() {
        let Some(name) = name_of(item, sources) else { continue };
        let Some(rest) = path.strip_prefix(name) else { continue };
        let rest = if rest.is_empty() {
            rest
        } else if let Some(rest) = rest.strip_prefix('.') {
            rest
        } else {
            continue;
        };
        if best.is_none_or(|b| rest.len() < b.1.len()) {
            best = Some((i, rest));
        }
    }
    let (segment, rest) = split(path);
    best.or_else(|| segment.parse().ok().filter(|&i: &usize| i < items.len()).map(|i| (i, rest)))
}

/// The `name` field of an element.
pub(crate) fn name_of<'n>(node: &'n Node, sources: &'n Sources) -> Option<&'n str> {
    let Value::Fields { fields, .. } = &node.value else { return None };
    let field = fields.iter().find(|f| sources.text(f.key) == "name")?;
    match &field.value.value {
        Value::Text(name) => Some(name),
        Value::Word => Some(sources.text(field.value.span)),
        _ => None,
    }
}

/// One step of a path whose list elements are known by number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl Document {
    /// One step from a node.
    pub fn next<'n>(&self, node: &'n Node, step: Step) -> Option<&'n Node> {
        match (step, &node.value) {
            (Step::Key(key), Value::Fields { fields, .. }) => {
                fields.iter().find(|f| self.sources.text(f.key) == key).map(|f| &f.value)
            }
            (Step::Key(_), _) => None,
            (Step::Index(i), Value::List(items) | Value::Tuple { items, .. }) => items.get(i),
            (Step::Index(_), _) => None,
        }
    }

    /// The place of the deepest node along a path of steps.
    pub fn place(&self, steps: &[Step]) -> Span {
        self.deepest(steps).0.head()
    }

    /// The deepest node along a path of steps, and whether it is the last of them.
    pub fn deepest(&self, steps: &[Step]) -> (&Node, bool) {
        let mut node = &self.root;
        for step in steps {
            match self.next(node, *step) {
                Some(next) => node = next,
                None => return (node, false),
            }
        }
        (node, true)
    }

    /// The largest number of the machine, and its path.
    pub fn largest(&self) -> Option<(String, f64)> {
        let Value::Fields { fields, .. } = &self.root.value else { return None };
        let mut found = None;
        for field in fields {
            let key = self.sources.text(field.key);
            if matches!(key, "gravity" | "links" | "joints" | "couplings") {
                self.larger(&field.value, key, &mut found);
            }
        }
        found
    }

    fn larger(&self, node: &Node, path: &str, found: &mut Option<(String, f64)>) {
        match &node.value {
            Value::Number(x) if found.as_ref().is_none_or(|(_, most)| x.abs() > most.abs()) => {
                *found = Some((path.to_owned(), *x));
            }
            Value::Fields { fields, .. } => {
                for field in fields {
                    self.larger(&field.value, &format!("{path}.{}", self.sources.text(field.key)), found);
                }
            }
            Value::List(items) | Value::Tuple { items, .. } => {
                for (i, item) in items.iter().enumerate() {
                    let name = name_of(item, &self.sources).map_or_else(|| i.to_string(), str::to_owned);
                    self.larger(item, &format!("{path}.{name}"), found);
                }
            }
            _ => {}
        }
    }
}

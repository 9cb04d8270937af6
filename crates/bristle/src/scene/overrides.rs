//! Overrides: other values put into the tree before it is read, so that they pass the same checks.

use super::error::{Problem, SceneError, did_you_mean};
use super::origin::{element, name_of, split};
use super::span::{Sources, Span};
use super::syntax::{Field, MAX_DEPTH, Node, Value};

/// Put `value` at `path`; `source` is the text `path=value` of the override.
pub(crate) fn set(root: &mut Node, sources: &Sources, source: u32, path: &str, value: Node) -> Result<(), SceneError> {
    let mut value = Some(value);
    let (mut node, mut rest) = (root, path);
    let mut depth = 0usize;
    loop {
        depth = depth.saturating_add(1);
        // place of the next segment in the override
        let (segment, after) = split(rest);
        let start = path.len().saturating_sub(rest.len());
        let place = Span { source, start: start as u32, end: start.saturating_add(segment.len()) as u32 };
        let refuse = |reason: String, help: String| Err(Problem::at(sources, place, reason, help).into());
        if depth > MAX_DEPTH {
            return refuse(format!("the path has more than {MAX_DEPTH} parts"), "no value lies so deep".into());
        }
        if segment.is_empty() {
            return refuse("the path has an empty part".into(), "write it like `joints.elbow.damping=0.1`".into());
        }

        // a name alone has no fields yet, but may get some
        match &node.value {
            Value::Word => node.value = Value::Fields { name: Some(node.span), fields: Vec::new() },
            Value::Tuple { name, items } if items.is_empty() => {
                node.value = Value::Fields { name: *name, fields: Vec::new() };
            }
            _ => {}
        }

        (node, rest) = match &mut node.value {
            Value::Fields { fields, .. } => {
                let i = fields.iter().position(|f| sources.text(f.key) == segment).unwrap_or_else(|| {
                    let empty = Node { span: place, value: Value::Fields { name: None, fields: Vec::new() } };
                    fields.push(Field { key: place, value: empty });
                    fields.len().saturating_sub(1)
                });
                (&mut fields[i].value, after)
            }
            Value::List(items) => match element(items, sources, rest) {
                Some((i, left)) => (&mut items[i], left),
                None => {
                    let names: Vec<&str> = items.iter().filter_map(|item| name_of(item, sources)).collect();
                    return refuse(
                        format!("there is no `{segment}` in this list"),
                        did_you_mean(segment, "there are", &names),
                    );
                }
            },
            Value::Tuple { items, .. } => match segment.parse::<usize>() {
                Ok(i) if i < items.len() => (&mut items[i], after),
                Ok(_) => {
                    return refuse(format!("there are only {} values, counted from 0", items.len()), String::new());
                }
                Err(_) if items.len() == 1 => (&mut items[0], rest),
                Err(_) => {
                    return refuse(
                        format!("there is no `{segment}` here"),
                        "values without names go by number, from 0".into(),
                    );
                }
            },
            Value::Number(_) | Value::Text(_) | Value::Word => {
                return refuse(format!("there is no `{segment}` here: this is a plain value"), "set it whole".into());
            }
        };
        if rest.is_empty() {
            if let Some(value) = value.take() {
                *node = value;
            }
            return Ok(());
        }
    }
}

//! A friction file: laws and loads for the joints of a machine that is described elsewhere.
//!
//! ```ron
//! {
//!     "elbow": (friction: LuGre(sigma0: 1.0e4, sigma1: 50.0, coulomb: 0.5), load: Pin(radius: 0.02)),
//!     "wrist": (friction: Coulomb(coulomb: 0.1, stiction: 0.15), damping: 0.01, armature: 0.002),
//!     "finger_*": (friction: Coulomb(coulomb: 0.01)),    // revolute and prismatic joints whose names begin so
//!     "*": (friction: Coulomb(coulomb: 0.3)),            // every other revolute and prismatic joint
//! }
//! ```
//!
//! In a name `*` stands for any characters, or none. A joint takes the entry with its own name; else that of the first
//! pattern in the file that fits; else that of `"*"`. A pattern that no joint takes is refused.
//!
//! The fields of an entry replace those of the machine's own file; fields that it leaves out stay. A load on a joint
//! that ends up without friction is refused: it would do nothing. So is a load alone on a joint of a robot whose
//! friction is `<dynamics friction>`: that is an effort, and under a load levels are coefficients.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::scene::SceneError;
use crate::scene::error::{MAX_PROBLEMS, Problem, did_you_mean};
use crate::scene::load::{MAX_BYTES, read_text, too_large};
use crate::scene::map::{self, Entry};
use crate::scene::origin::name_of;
use crate::scene::read::Reader;
use crate::scene::span::{Source, Sources, Span};
use crate::scene::syntax::{Field, Node, Value};

/// The pattern that fits every joint.
const EVERY: &str = "*";

/// The fields of an entry.
const FIELDS: [&str; 5] = ["friction", "load", "damping", "armature", "bristle"];

/// A friction file: its text, and the name it goes by in messages.
#[derive(Debug, Clone, PartialEq)]
pub struct FrictionFile {
    /// The file, as the caller names it.
    pub file: String,
    /// Its text.
    pub text: String,
}

impl FrictionFile {
    /// Read a file. Its contents are checked when they are applied to a machine.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        let (text, file) = read_text(path.as_ref(), "friction files are text in RON", "friction.ron")?;
        Ok(Self { file, text })
    }

    /// A text in place of a file.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }
}

/// The fields that the file puts on one joint.
pub(super) struct Given {
    pub joint: String,
    /// In words, such as `LuGre, load Pin`.
    pub what: String,
    /// Place of the load, if the entry gives one.
    pub load: Option<Span>,
    /// It gives no law, and the machine's own file does.
    pub keeps_law: bool,
    /// It comes from a pattern.
    pub is_pattern: bool,
}

/// Problems with the load of a pattern, once for all its joints: the pattern is right for others, and the joints that
/// cannot take its load need entries of their own.
pub(super) fn fold(problems: &mut Vec<Problem>, given: &[Given], file: &str) {
    let joint_of = |problem: &Problem| {
        let joint = problem.path.strip_prefix("joints.")?.strip_suffix(".load")?;
        let is_taken = |given: &&Given| given.is_pattern && given.joint == joint;
        (problem.file == file).then(|| given.iter().find(is_taken)).flatten().map(|given| given.joint.as_str())
    };
    let mut folded: Vec<(Problem, usize)> = Vec::new();
    for mut problem in problems.drain(..) {
        let Some(joint) = joint_of(&problem) else {
            folded.push((problem, 0));
            continue;
        };
        let first =
            folded.iter_mut().find(|(first, _)| joint_of(first).is_some() && first.position == problem.position);
        match first {
            Some((_, others)) => *others = others.saturating_add(1),
            None => {
                let own = format!("give `{joint}` an entry of its own, and there {}", problem.help);
                problem.help = own.into();
                folded.push((problem, 0));
            }
        }
    }
    problems.extend(folded.into_iter().map(|(mut problem, others)| {
        if others > 0 {
            let joints = if others == 1 { "joint" } else { "joints" };
            problem.reason += &format!("; {others} more {joints} of this entry cannot take it");
        }
        problem
    }));
}

/// Put the entries of the file on the joints of a scene's tree of values.
pub(super) fn put(root: &mut Node, sources: &mut Sources, file: &FrictionFile) -> Result<Vec<Given>, SceneError> {
    if file.text.len() as u64 > MAX_BYTES {
        return Err(too_large(&file.file, file.text.len() as u64).into());
    }
    let source = sources.0.len() as u32;
    sources.0.push(Source::new(file.file.clone(), file.text.clone()));
    let entries = map::parse(&file.text, source).map_err(|error| error.problem(sources))?;

    // the joints there are, and whether they have an axis
    let mut none = Vec::new();
    let joints = joints_of(root, sources, &mut none);
    let names: Vec<Option<String>> = joints.iter().map(|joint| name_of(joint, sources).map(str::to_owned)).collect();
    let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let index: HashMap<&str, usize> =
        names.iter().enumerate().filter_map(|(i, name)| Some((name.as_deref()?, i))).collect();
    let moves: Vec<bool> = joints.iter().map(|joint| is_single(joint, sources)).collect();
    let has_law: Vec<bool> = joints.iter().map(|joint| has_field(joint, "friction", sources)).collect();

    // who gets what; the names must exist, each once
    let mut problems = Vec::new();
    let mut of_joint: Vec<Option<usize>> = vec![None; joints.len()];
    let mut refuse = |place: Span, reason: String, help: String| {
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem::at(sources, place, reason, help));
        }
    };
    let mut seen = HashSet::new();
    for (e, entry) in entries.iter().enumerate() {
        let first = seen.insert(entry.name.as_str());
        match index.get(entry.name.as_str()) {
            _ if entry.name.chars().any(char::is_control) => {
                refuse(entry.place, "a name cannot hold line ends or control characters".into(), String::new());
            }
            _ if !first => refuse(entry.place, format!("`{}` is given twice", entry.name), "keep one of them".into()),
            Some(&i) => of_joint[i] = Some(e),
            None if entry.name.contains('*') => {}
            None => {
                let help = did_you_mean(&entry.name, "the joints are", &known);
                refuse(entry.place, format!("there is no joint `{}`", entry.name), help);
            }
        }
    }
    // patterns in the order of the file, the one for every joint last
    let is_pattern = |name: &str| name.contains('*') && !index.contains_key(name);
    let mut patterns: Vec<usize> = (0..entries.len()).filter(|&e| is_pattern(&entries[e].name)).collect();
    patterns.sort_by_key(|&e| entries[e].name == EVERY);
    for e in patterns {
        let pattern = entries[e].name.as_str();
        let mut is_used = pattern == EVERY;
        for ((slot, name), _) in of_joint.iter_mut().zip(&names).zip(&moves).filter(|(_, moves)| **moves) {
            if slot.is_none() && name.as_deref().is_some_and(|name| fits(pattern, name)) {
                *slot = Some(e);
                is_used = true;
            }
        }
        if !is_used {
            let reason = format!("no joint that moves takes `{pattern}`");
            let help = "`*` stands for any characters; entries with a joint's own name and patterns above come first";
            refuse(entries[e].place, reason, help.into());
        }
    }

    // their fields by name; values are checked with the whole scene
    for entry in &entries {
        if let Some(help) = is_bare(entry, sources) {
            let found = entry.value.describe(sources);
            refuse(entry.value.head(), format!("expected `(friction: …, load: …)`, found {found}"), help);
        }
    }
    let reader = Reader::new(sources);
    let in_shape = |entry: &&Entry| is_bare(entry, sources).is_none();
    let said: Vec<Vec<(&str, &Node)>> = entries
        .iter()
        .map(|entry| Some(entry).filter(in_shape).map_or(Vec::new(), |entry| fields_of(&reader, entry)))
        .collect();
    let mut given = Vec::new();
    let mut fields_for: Vec<Vec<Field>> = Vec::new();
    for ((name, entry), has_law) in names.iter().zip(&of_joint).zip(has_law) {
        let Some(e) = *entry else {
            fields_for.push(Vec::new());
            continue;
        };
        let what: Vec<String> = said[e].iter().map(|(key, node)| in_words(key, node, sources)).collect();
        let load = said[e].iter().find(|(key, _)| *key == "load").map(|(_, node)| node.span);
        let keeps_law = has_law && said[e].iter().all(|(key, _)| *key != "friction");
        let (joint, is_pattern) = (name.clone().unwrap_or_default(), is_pattern(&entries[e].name));
        given.push(Given { joint, what: what.join(", "), load, keeps_law, is_pattern });
        fields_for.push(field_nodes(&entries[e].value, &said[e], sources));
    }
    drop(said);
    problems.extend(reader.into_findings().problems);
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.position);
        return Err(SceneError { problems });
    }
    for (joint, fields) in joints_of(root, sources, &mut none).iter_mut().zip(fields_for) {
        let Value::Fields { fields: own, .. } = &mut joint.value else { continue };
        for field in fields {
            let key = sources.text(field.key);
            match own.iter_mut().find(|own| sources.text(own.key) == key) {
                Some(own) => *own = field,
                None => own.push(field),
            }
        }
    }
    Ok(given)
}

/// Whether a name is a pattern with each `*` replaced by some characters or none.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        // the earliest place leaves most to the parts after it
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at.saturating_add(part.len())..];
    }
    rest.ends_with(last)
}

/// The joints of a tree of values; none where it has no list of them.
fn joints_of<'n>(root: &'n mut Node, sources: &Sources, none: &'n mut Vec<Node>) -> &'n mut Vec<Node> {
    if let Value::Fields { fields, .. } = &mut root.value {
        for field in fields {
            if sources.text(field.key) == "joints"
                && let Value::List(joints) = &mut field.value.value
            {
                return joints;
            }
        }
    }
    none
}

/// Whether a joint is given something of that name.
fn has_field(joint: &Node, key: &str, sources: &Sources) -> bool {
    let Value::Fields { fields, .. } = &joint.value else { return false };
    fields.iter().any(|field| sources.text(field.key) == key)
}

/// Advice for a law or a number in place of an entry.
fn is_bare(entry: &Entry, sources: &Sources) -> Option<String> {
    match &entry.value.value {
        Value::Fields { name: Some(name), .. } | Value::Tuple { name: Some(name), .. }
            if sources.text(*name) != entry.name =>
        {
            Some(format!("write `\"{}\": (friction: {}(…))`", entry.name, sources.text(*name)))
        }
        Value::Number(_) => Some(format!(
            "write `\"{}\": (friction: Coulomb(coulomb: {}))`",
            entry.name,
            sources.text(entry.value.span)
        )),
        _ => None,
    }
}

/// Whether a joint has one coordinate.
fn is_single(joint: &Node, sources: &Sources) -> bool {
    let Value::Fields { fields, .. } = &joint.value else { return false };
    fields.iter().filter(|field| sources.text(field.key) == "kind").any(|field| match &field.value.value {
        Value::Fields { name: Some(name), .. } => matches!(sources.text(*name), "Revolute" | "Prismatic"),
        _ => false,
    })
}

/// The fields of an entry; unknown ones are reported.
fn fields_of<'a>(reader: &'a Reader<'a>, entry: &'a Entry) -> Vec<(&'a str, &'a Node)> {
    reader.fields(&entry.value, &entry.name, &FIELDS)
}

/// `LuGre`, `load Pin`, `damping 0.1`
fn in_words(key: &str, node: &Node, sources: &Sources) -> String {
    let value = match &node.value {
        Value::Fields { name: Some(name), .. } | Value::Tuple { name: Some(name), .. } => sources.text(*name),
        Value::Number(_) | Value::Word => sources.text(node.span),
        _ => "…",
    };
    if key == "friction" { value.to_owned() } else { format!("{key} {value}") }
}

/// The fields themselves, in the order of the entry.
fn field_nodes(entry: &Node, said: &[(&str, &Node)], sources: &Sources) -> Vec<Field> {
    let Value::Fields { fields, .. } = &entry.value else { return Vec::new() };
    fields.iter().filter(|field| said.iter().any(|(key, _)| *key == sources.text(field.key))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name) in
            [("a*", "a"), ("a*", "ab"), ("*_joint", "left_joint"), ("*a*a*", "banana"), ("a*a", "aa")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a*", "ba"), ("*_joint", "joint"), ("a*a", "a"), ("a*b*c", "acb"), ("*é", "e")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}

//! From a file, or its text, to a checked scene.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::damage::Damage;
use super::error::{MAX_PROBLEMS, Problem, SceneError};
use super::origin::{Document, Origin};
use super::overrides;
use super::read::{Findings, Reader};
use super::span::{OVERRIDE, Source, Sources, Span};
use super::syntax::{self, Node, SyntaxError, Value};
use super::{Joint, Link, Scene};

/// Larger files are refused, bytes: a 10,000-link chain takes about 3 MB.
pub(crate) const MAX_BYTES: u64 = 50_000_000;

const FIELDS: [&str; 10] =
    ["version", "name", "gravity", "links", "joints", "couplings", "formulation", "solver", "duration", "output"];

impl Scene {
    /// Read and check a scene file.
    pub fn load(path: impl AsRef<Path>) -> Result<Scene, SceneError> {
        Self::load_with(path, &[])
    }

    /// Read a scene file, put other values in the places named, and check the result; see [`Scene::parse_with`].
    pub fn load_with(path: impl AsRef<Path>, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let (text, file) = read_text(path.as_ref(), "scene files are text in RON", "scene.ron")?;
        Self::parse_with(&text, &file, overrides)
    }

    /// Read and check the text of a scene; `file` is the name it goes by in messages.
    pub fn parse(text: &str, file: &str) -> Result<Scene, SceneError> {
        Self::parse_with(text, file, &[])
    }

    /// Read a text, put other values in the places named, and check the result.
    ///
    /// An override is a path and a value as it would be written in the file:
    /// `("joints.elbow.friction.coulomb", "0.3")`, `("solver.method", "Radau5")`, `("gravity.2", "-1.62")`.
    /// Elements of lists go by name or by number from 0; fields that the file leaves out are added.
    pub fn parse_with(text: &str, file: &str, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        Self::assemble(Draft::read(text, file)?, overrides)
    }

    /// The scene that a tree of values describes, with other values in the places named, checked.
    pub(crate) fn assemble(draft: Draft, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let Draft { mut sources, mut root, problems: mut of_syntax, damage } = draft;
        for (path, value) in overrides {
            let source = sources.0.len() as u32;
            sources.0.push(Source::new(OVERRIDE.into(), format!("{path}={value}")));
            let tree = syntax::parse(&sources.0[source as usize].text, source, path.len() + 1);
            if !tree.problems.is_empty() {
                of_syntax.extend(placed(&sources, tree.problems));
                continue;
            }
            // in a file that could not be read whole, what is named may be there
            match overrides::set(&mut root, &sources, source, path, tree.root) {
                Err(error) if of_syntax.is_empty() => return Err(error),
                Err(_) | Ok(()) => {}
            }
        }
        if matches!(root.value, Value::Lost) {
            return Err(refusal(of_syntax));
        }

        // typed data, then what the types cannot say; of another version only that it is one
        let reader = Reader::new(&sources, damage);
        let mut scene = read(&reader, &root);
        let Findings { mut problems, damage, has_gaps } = reader.into_findings();
        scene.origin = Origin(Some(Arc::new(Document { sources, root })));
        if of_syntax.is_empty() && (problems.is_empty() || scene.version != 1) {
            scene.validate()?;
            return Ok(scene);
        }
        if !has_gaps {
            problems.extend(scene.problems_of_meaning(&damage));
        }
        problems.extend(of_syntax);
        Err(refusal(problems))
    }
}

/// A file as a tree of values, before it is known what they say.
pub(crate) struct Draft {
    /// The texts.
    pub sources: Sources,
    /// The tree.
    pub root: Node,
    /// What is wrong with the text itself.
    problems: Vec<Problem>,
    /// Where something is missing.
    damage: Damage,
}

impl Draft {
    /// The tree of values of a text. What is wrong with the text is said together with what is wrong with the scene.
    pub fn read(text: &str, file: &str) -> Result<Self, SceneError> {
        if text.len() as u64 > MAX_BYTES {
            return Err(too_large(file, text.len() as u64).into());
        }
        let sources = Sources(vec![Source::new(file.to_owned(), text.to_owned())]);
        let tree = syntax::parse(text, 0, 0);
        let problems = placed(&sources, tree.problems);
        Ok(Self { problems, damage: Damage::incomplete(tree.incomplete), root: tree.root, sources })
    }

    /// A tree that was not read from a text of its own.
    pub fn new(sources: Sources, root: Node) -> Self {
        Self { sources, root, problems: Vec::new(), damage: Damage::default() }
    }

    /// An error if the text could not be read whole.
    pub fn whole(self) -> Result<Self, SceneError> {
        if self.problems.is_empty() { Ok(self) } else { Err(refusal(self.problems)) }
    }
}

/// Problems in the order of the file, overrides last, not too many.
fn refusal(mut problems: Vec<Problem>) -> SceneError {
    problems.sort_by_key(|p| (p.overridden.is_some(), p.position));
    problems.truncate(MAX_PROBLEMS);
    SceneError { problems }
}

/// The text of a file and its name for messages. `what` says what such files are, `such_as` names one.
pub(crate) fn read_text(path: &Path, what: &str, such_as: &str) -> Result<(String, String), SceneError> {
    let file = path.display().to_string();
    let refuse = |reason: String, help: String| Problem::without_place(&file, "", reason, help);
    let unreadable = |error: std::io::Error| refuse(format!("cannot read the file: {error}"), String::new());

    // no more is read than may be: some files have no length, or no end
    let opened = File::open(path).map_err(unreadable)?;
    let about = opened.metadata().map_err(unreadable)?;
    if about.is_dir() {
        return Err(refuse("this is a directory".into(), format!("name a file, such as `{such_as}`")).into());
    }
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(&file, about.len().max(MAX_BYTES + 1)).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        // up to the first wrong byte the text is what it was; a mark stands for that byte
        let start = error.utf8_error().valid_up_to();
        let sources = Sources(vec![Source::new(file.clone(), String::from_utf8_lossy(error.as_bytes()).into_owned())]);
        let span = Span { source: 0, start: start as u32, end: (start + '\u{fffd}'.len_utf8()) as u32 };
        Problem::at(&sources, span, "this is not UTF-8 text".into(), format!("{what}; save it as UTF-8"))
    })?;
    Ok((text, file))
}

/// What is wrong with a text, with its lines.
pub(crate) fn placed(sources: &Sources, errors: Vec<SyntaxError>) -> Vec<Problem> {
    let problem = |SyntaxError { span, reason, help }| Problem::at(sources, span, reason, help);
    errors.into_iter().map(problem).collect()
}

pub(crate) fn too_large(file: &str, bytes: u64) -> Problem {
    let limit = MAX_BYTES / 1_000_000;
    // of what is hardly too large, or was not read to its end, the size says nothing
    let reason = match bytes as f64 / 1e6 {
        size if size < limit as f64 + 0.05 => format!("the file is too large; the limit is {limit} MB"),
        size => format!("the file has {size:.1} MB; the limit is {limit} MB"),
    };
    Problem::without_place(file, "", reason, "is it the right file?")
}

/// Every field that is given; the others keep their defaults.
fn read<'a>(reader: &'a Reader<'a>, root: &'a Node) -> Scene {
    let mut scene = Scene::default();
    fn put<T>(place: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *place = value;
        }
    }
    for (key, node) in reader.fields(root, "Scene", &FIELDS) {
        match key {
            "version" => put(&mut scene.version, reader.value(key, node)),
            "name" => put(&mut scene.name, reader.value(key, node)),
            "gravity" => put(&mut scene.gravity, reader.value(key, node)),
            "links" => scene.links = reader.list::<Link>(key, node),
            "joints" => scene.joints = reader.list::<Joint>(key, node),
            "couplings" => scene.couplings = reader.list(key, node),
            "formulation" => put(&mut scene.formulation, reader.value(key, node)),
            "solver" => put(&mut scene.solver, reader.value(key, node)),
            "duration" => put(&mut scene.duration, reader.value(key, node)),
            "output" => put(&mut scene.output, reader.value(key, node)),
            _ => {}
        }
    }
    scene
}

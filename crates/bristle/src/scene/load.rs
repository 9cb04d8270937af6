//! From a file, or its text, to a checked scene.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{MAX_PROBLEMS, Problem, SceneError};
use super::origin::{Document, Origin};
use super::overrides;
use super::read::{Findings, Reader};
use super::span::{OVERRIDE, Source, Sources, Span};
use super::syntax::{self, Node, SyntaxError};
use super::{Joint, Link, Load, Scene};
use crate::signal::Signal;

/// Larger files are refused, bytes: a 10,000-link chain takes about 3 MB.
pub(crate) const MAX_BYTES: u64 = 50_000_000;

const FIELDS: [&str; 10] =
    ["version", "name", "gravity", "links", "joints", "couplings", "formulation", "solver", "duration", "output"];

impl Scene {
    /// Read and check a scene file.
    pub fn load(path: impl AsRef<Path>) -> Result<Scene, SceneError> {
        Self::load_with(path, &[])
    }

    /// Read a scene file, replace the values that overrides name, and check the result; see [`Scene::parse_with`].
    pub fn load_with(path: impl AsRef<Path>, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let (text, file) = read_text(path.as_ref(), "scene files are text in RON", "scene.ron")?;
        Self::parse_with(&text, &file, overrides)
    }

    /// Read and check the text of a scene; `file` is the name it goes by in messages.
    pub fn parse(text: &str, file: &str) -> Result<Scene, SceneError> {
        Self::parse_with(text, file, &[])
    }

    /// Read a text, replace the values that overrides name, and check the result.
    ///
    /// An override is a path and a value as it would be written in the file:
    /// `("joints.elbow.friction.coulomb", "0.3")`, `("solver.method", "Radau5")`, `("gravity.2", "-1.62")`.
    /// Elements of lists go by name or by number from 0; fields that the file leaves out are added.
    pub fn parse_with(text: &str, file: &str, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        Self::assemble(Document::read(text, file)?, overrides)
    }

    /// The scene that a tree of values describes, after the overrides have replaced values in it, checked.
    pub(crate) fn assemble(document: Document, overrides: &[(&str, &str)]) -> Result<Scene, SceneError> {
        let Document { mut sources, mut root } = document;
        for (path, value) in overrides {
            let source = sources.0.len() as u32;
            sources.0.push(Source::new(OVERRIDE.into(), format!("{path}={value}")));
            let text = &sources.0[source as usize].text;
            let value = syntax::parse_override(text, source, path.len().saturating_add(1))
                .map_err(|error| error.problem(&sources))?;
            overrides::set(&mut root, &sources, source, path, value)?;
        }

        // typed data, then meaning; of a file of another version only the version is reported
        let reader = Reader::new(&sources);
        let mut scene = read(&reader, &root);
        let Findings { mut problems, unreadable, has_gaps } = reader.into_findings();
        scene.origin = Origin(Some(Arc::new(Document { sources, root })));
        problems.extend(scene.read_logs());
        if problems.is_empty() || scene.version != 1 {
            scene.validate()?;
            return Ok(scene);
        }
        if !has_gaps {
            problems.extend(scene.problems_of_meaning(&unreadable));
        }
        Err(refusal(problems))
    }
}

impl Scene {
    /// The folder that files of the scene are relative to.
    fn folder(&self) -> &Path {
        self.origin.file().and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""))
    }

    /// The files of its `Log` signals, which were read with it: no output may replace them.
    pub fn log_files(&self) -> Vec<PathBuf> {
        let folder = self.folder();
        let mut found = Vec::new();
        let mut put = |signal: &Signal| {
            let mut files = Vec::new();
            signal.log_files(&mut files);
            found.extend(files.into_iter().map(|file| folder.join(file)));
        };
        for joint in &self.joints {
            // only a copy hands its signals out
            if joint.drive.is_some() || matches!(joint.load, Load::Signal { .. }) {
                joint.clone().signals_mut().for_each(|(_, signal)| put(signal));
            }
        }
        for coupling in &self.couplings {
            if let Some(Load::Signal { signal, .. }) = coupling.clone().load_mut() {
                put(signal);
            }
        }
        found
    }

    /// Reads the files of all `Log` signals, relative to the folder of the scene; the problems with them.
    fn read_logs(&mut self) -> Vec<Problem> {
        let folder = self.folder().to_owned();
        let mut refused: Vec<(String, String)> = Vec::new();
        for joint in &mut self.joints {
            let name = joint.name.clone();
            for (path, signal) in joint.signals_mut() {
                let path = format!("joints.{name}.{path}");
                signal.read_logs(&folder, &path, &mut |path, reason| refused.push((path, reason)));
            }
        }
        for coupling in &mut self.couplings {
            let name = coupling.name().to_owned();
            if let Some(Load::Signal { signal, .. }) = coupling.load_mut() {
                let path = format!("couplings.{name}.load.signal");
                signal.read_logs(&folder, &path, &mut |path, reason| refused.push((path, reason)));
            }
        }
        refused.into_iter().map(|(path, reason)| self.problem(&path, reason, "")).collect()
    }
}

impl Document {
    /// The tree of values of a text, or its first syntax error.
    pub fn read(text: &str, file: &str) -> Result<Self, SceneError> {
        if text.len() as u64 > MAX_BYTES {
            return Err(too_large(file, text.len() as u64).into());
        }
        let sources = Sources(vec![Source::new(file.to_owned(), text.to_owned())]);
        let root = syntax::parse(text, 0).map_err(|error| error.problem(&sources))?;
        Ok(Self { sources, root })
    }
}

/// The first [`MAX_PROBLEMS`] problems in the order of the file, overrides last.
fn refusal(mut problems: Vec<Problem>) -> SceneError {
    problems.sort_by_key(|p| (p.overridden.is_some(), p.position));
    problems.truncate(MAX_PROBLEMS);
    SceneError { problems }
}

/// The text of a file and its name for messages. `what` describes such files, `such_as` is the name of one.
pub(crate) fn read_text(path: &Path, what: &str, such_as: &str) -> Result<(String, String), SceneError> {
    let file = path.display().to_string();
    let refuse = |reason: String, help: String| Problem::without_place(&file, "", reason, help);
    let unreadable = |error: std::io::Error| refuse(format!("cannot read the file: {error}"), String::new());

    // reading stops at the limit: some files have no length, or no end
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
        // the text is unchanged up to the first invalid byte, which is shown as a replacement character
        let start = error.utf8_error().valid_up_to();
        let sources = Sources(vec![Source::new(file.clone(), String::from_utf8_lossy(error.as_bytes()).into_owned())]);
        let span = Span { source: 0, start: start as u32, end: start.saturating_add('\u{fffd}'.len_utf8()) as u32 };
        Problem::at(&sources, span, "this is not UTF-8 text".into(), format!("{what}; save it as UTF-8"))
    })?;
    Ok((text, file))
}

impl SyntaxError {
    /// The error with the line it points at.
    pub fn problem(self, sources: &Sources) -> Problem {
        Problem::at(sources, self.span, self.reason, self.help)
    }
}

pub(crate) fn too_large(file: &str, bytes: u64) -> Problem {
    let limit = MAX_BYTES / 1_000_000;
    // the size is not shown if it rounds to the limit, or if the file was not read to its end
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

//! Fit files: `Fit(scene: …, logs: […], free: {…})` in RON.
//!
//! ```ron
//! Fit(
//!     scene: "axis.ron",                                 // or a robot, with `friction: "friction.ron"` for its laws
//!     set: { "solver.control": "Error(rtol: 1e-6)" },    // values of the scene, as by `--set`
//!     logs: [
//!         Log(
//!             file: "train.csv", time: "t_s", skip: 0.05,
//!             set: { "joints.slide.drive.target": Column("reference_m") },     // or Held("…"), Value("400.0")
//!             compare: [Compare(channel: "slide.drive", column: "force_N", band: 60.0)],
//!         ),
//!     ],
//!     hold_out: [Log(file: "pulses.csv", like: 0)],
//!     free: {
//!         "links.carriage.mass": Free(95.0, (10.0, 500.0)),
//!         "joints.slide.friction.stiction": Excess("coulomb", 1.0, (0.0, 50.0)),
//!         "logs.*.delay": Tied(0.0, (0.0, 0.03)),
//!     },
//!     prior: { "links.carriage.mass": (95.0, 2.0) },
//!     method: OutputError(starts: 8),                    // simulate: Windows(0.5): pieces from measured states
//! )
//! ```
//!
//! Files are found beside the fit file.

use super::log::place;
use super::{Compare, Fit, Freedom, Hold, Initial, Input, Log, Method};
use crate::error::Result;
use crate::scene::load::read_text;
use crate::scene::{Problem, Scene, SceneError};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A map in the order of the file.
#[derive(Debug)]
struct Entries<T>(Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map, `{ \"path\": value, … }`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "Fit")]
struct FitText {
    scene: String,
    #[serde(default)]
    friction: Option<String>,
    #[serde(default)]
    set: Entries<String>,
    logs: Vec<LogText>,
    #[serde(default)]
    hold_out: Vec<LogText>,
    free: Entries<FreeText>,
    #[serde(default)]
    prior: Entries<(f64, f64)>,
    #[serde(default)]
    method: MethodText,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "Log")]
struct LogText {
    file: String,
    #[serde(default)]
    like: Option<usize>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    skip: Option<f64>,
    #[serde(default)]
    set: Entries<SetText>,
    #[serde(default)]
    compare: Vec<CompareText>,
    #[serde(default)]
    initial: Option<InitialText>,
}

#[derive(Debug, Deserialize)]
enum SetText {
    /// Linear between rows.
    Column(String),
    /// The last row's value.
    Held(String),
    /// As it would be written in the scene.
    Value(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename = "Compare")]
struct CompareText {
    channel: String,
    column: String,
    #[serde(default)]
    band: Option<f64>,
    #[serde(default)]
    noise: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum InitialText {
    Measured,
    Estimated,
    Scene,
}

#[derive(Debug, Deserialize)]
enum FreeText {
    /// Start, (low, high).
    Free(f64, (f64, f64)),
    /// One value for all that `*` stands for.
    Tied(f64, (f64, f64)),
    /// Above the number of this name beside it.
    Excess(String, f64, (f64, f64)),
    /// Of `logs.*.initial`: as measured.
    Measured,
    /// Of `logs.*.initial`: part of the fit.
    Estimated,
}

#[derive(Debug, Deserialize)]
enum MethodText {
    OutputError {
        #[serde(default)]
        simulate: Option<SimulateText>,
        #[serde(default)]
        starts: Option<usize>,
        #[serde(default)]
        seed: Option<u64>,
    },
    InverseDynamics {
        band: f64,
    },
}

impl Default for MethodText {
    fn default() -> Self {
        Self::OutputError { simulate: None, starts: None, seed: None }
    }
}

#[derive(Debug, Deserialize)]
enum SimulateText {
    /// Whole logs.
    ClosedLoop,
    /// Windows of so many seconds.
    Windows(f64),
}

/// A fit file that was read.
#[derive(Debug, Clone)]
pub struct FitFile {
    /// The fit.
    pub fit: Fit,
    /// Files that it reads, itself first.
    pub inputs: Vec<PathBuf>,
}

impl FitFile {
    /// Reads a fit file, its scene and its logs; `overrides` are put into the scene as by `--set`.
    pub fn load(path: impl AsRef<Path>, overrides: &[(&str, &str)]) -> Result<Self> {
        let path = path.as_ref();
        let (text, file) = read_text(path, "fit files are text in RON", "axis.fit.ron")?;
        let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let read: FitText = options.from_str(&text).map_err(|error| {
            let at = offset(&text, error.span.start.line, error.span.start.col);
            place(
                &file,
                &text,
                at..at,
                &error.code.to_string(),
                "see `bristle fit --help` for how a fit file is written",
            )
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut inputs = vec![path.to_owned(), folder.join(&read.scene)];
        let mut all: Vec<(&str, &str)> =
            read.set.0.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        all.extend_from_slice(overrides);
        let friction = read.friction.as_ref().map(|file| folder.join(file));
        inputs.extend(friction.clone());
        let mut fit = Fit::new(&scene(&folder.join(&read.scene), friction.as_deref(), &all)?);
        let find = |what: &str| text.find(&format!("\"{what}\"")).map_or(0..0, |at| at..at + what.len() + 2);
        for (k, log) in read.logs.iter().enumerate() {
            inputs.push(folder.join(&log.file));
            let log = log.build(folder, &fit.logs, (&file, &text))?;
            fit = fit.log(log);
            debug_assert_eq!(fit.logs.len(), k + 1);
        }
        for log in &read.hold_out {
            inputs.push(folder.join(&log.file));
            let log = log.build(folder, &fit.logs, (&file, &text))?;
            fit = fit.hold_out(log);
        }
        for (path, free) in read.free.0 {
            let (start, bounds, is_tied, over) = match free {
                FreeText::Free(start, bounds) => (start, bounds, false, None),
                FreeText::Tied(start, bounds) => (start, bounds, true, None),
                FreeText::Excess(over, start, bounds) => (start, bounds, false, Some(over)),
                FreeText::Measured | FreeText::Estimated => {
                    let initial =
                        if matches!(free, FreeText::Measured) { Initial::Measured } else { Initial::Estimated };
                    let which = path.strip_prefix("logs.").and_then(|rest| rest.strip_suffix(".initial"));
                    let reason = "only `logs.*.initial` is `Measured` or `Estimated`";
                    let which = which
                        .ok_or_else(|| place(&file, &text, find(&path), reason, "write `Free(start, (low, high))`"))?;
                    for (k, log) in fit.logs.iter_mut().enumerate() {
                        if which == "*" || which == k.to_string() {
                            log.initial = initial;
                        }
                    }
                    continue;
                }
            };
            fit.freedoms.push(Freedom { path, start, bounds, is_tied, over });
        }
        fit.priors = read.prior.0;
        match read.method {
            MethodText::OutputError { simulate, starts, seed } => {
                fit = fit.starts(starts.unwrap_or(1)).seed(seed.unwrap_or(1));
                if let Some(SimulateText::Windows(seconds)) = simulate {
                    fit = fit.windows(seconds);
                }
            }
            MethodText::InverseDynamics { band } => fit = fit.method(Method::InverseDynamics { band }),
        }
        // a path that is none has its place here, not in the scene
        for freedom in &fit.freedoms {
            if let Err(error) =
                fit.expand(freedom).and_then(|parameters| parameters.iter().try_for_each(|p| fit.exists(p)))
            {
                let reason = error.to_string();
                let first = reason.lines().next().unwrap_or_default().trim_start_matches("error: ");
                return Err(place(&file, &text, find(&freedom.path), first, "paths are those of `bristle run --set`"));
            }
        }
        Ok(Self { fit, inputs })
    }
}

impl LogText {
    fn build(&self, folder: &Path, logs: &[Log], (file, text): (&str, &str)) -> Result<Log> {
        let at = text.find(&format!("\"{}\"", self.file)).map_or(0..0, |at| at..at + self.file.len() + 2);
        let mut log = Log::read(folder.join(&self.file))?;
        if let Some(k) = self.like {
            let missing = || place(file, text, at, &format!("there is no log {k} to be like"), "logs count from 0");
            log = log.like(logs.get(k).ok_or_else(missing)?);
        }
        log.time = self.time.clone().unwrap_or(log.time);
        log.skip = self.skip.unwrap_or(log.skip);
        for (path, set) in &self.set.0 {
            log.inputs.retain(|input| input.path != *path);
            log.values.retain(|(other, _)| other != path);
            let (column, hold) = match set {
                SetText::Column(column) => (column, Hold::Linear),
                SetText::Held(column) => (column, Hold::Last),
                SetText::Value(value) => {
                    log.values.push((path.clone(), value.clone()));
                    continue;
                }
            };
            log.inputs.push(Input { path: path.clone(), column: column.clone(), hold });
        }
        if !self.compare.is_empty() {
            let each = self.compare.iter().map(|CompareText { channel, column, band, noise }| Compare {
                channel: channel.clone(),
                column: column.clone(),
                band: *band,
                noise: *noise,
            });
            log.compare = each.collect();
        }
        if let Some(initial) = self.initial {
            log.initial = match initial {
                InitialText::Measured => Initial::Measured,
                InitialText::Estimated => Initial::Estimated,
                InitialText::Scene => Initial::Scene,
            };
        }
        log.check()?;
        Ok(log)
    }
}

/// A scene, or a robot by its extension, with a friction file if there is one; `overrides` as by `--set`.
pub fn scene(path: &Path, friction: Option<&Path>, overrides: &[(&str, &str)]) -> Result<Scene> {
    #[cfg(feature = "urdf")]
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("urdf")) {
        let friction = friction.map(crate::urdf::FrictionFile::load).transpose()?;
        let options = crate::urdf::Options { friction, ..Default::default() };
        return crate::urdf::load(path, &options)?.scene.with_overrides(overrides);
    }
    if let Some(friction) = friction {
        let file = path.display().to_string();
        let reason = format!("`friction: {}` is for robots (URDF)", friction.display());
        let help = "a scene has its laws in its own file".to_owned();
        return Err(SceneError::from(Problem::without_place(&file, "friction", reason, help)).into());
    }
    Ok(Scene::load_with(path, overrides)?)
}

/// Byte offset of a line and a column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(before..).unwrap_or_default();
    before + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.trim_end().len(), |(at, _)| at)
}

impl Fit {
    /// Refuses a parameter that the scene does not have.
    pub(super) fn exists(&self, parameter: &super::Parameter) -> Result<()> {
        use super::parameter::Role;
        let number = |path: &String| self.scene.number(path).unwrap_or(parameter.start);
        let numbers: Vec<(String, f64)> = match &parameter.role {
            Role::Paths(paths) => paths.iter().map(|path| (path.clone(), number(path))).collect(),
            // one that is not written would be below the other
            Role::Excess(pairs) => {
                let above = |over: &String| self.scene.number(over).unwrap_or(0.0) + parameter.start;
                pairs.iter().map(|(path, over)| (path.clone(), above(over))).collect()
            }
            Role::Delay(_) | Role::Initial { .. } => return Ok(()),
        };
        self.scene.with_numbers(&numbers).map(drop)
    }
}

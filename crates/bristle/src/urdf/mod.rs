//! Robots from URDF files, as scenes.
//!
//! ```text
//! robot.urdf ─xml─▶ elements with places ─robot, link, joint─▶ the tree of values a RON scene has ─scene─▶ Scene
//!                                                friction.ron ─────────┘
//! ```
//!
//! Reading goes through the same checks as a RON scene, and problems are shown at their places in the URDF file.
//! Nothing is dropped in silence: every joint has a line with its meaning in the scene and its unused parts
//! ([`Understood`]).
//!
//! ```
//! use bristle::urdf;
//!
//! let text = r#"<robot name="arm">
//!   <link name="base"/>
//!   <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
//!     <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
//!   <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
//!     <axis xyz="0 1 0"/><dynamics damping="0.1" friction="0.5"/>
//!     <limit lower="-1" upper="1" effort="50" velocity="2"/></joint>
//! </robot>"#;
//! let robot = urdf::read(text, "arm.urdf")?;
//! assert_eq!(robot.scene.joints[1].damping, 0.1);
//! assert_eq!(
//!     robot.lines[2].to_string(),
//!     "joint `shoulder`: revolute about (0, 1, 0), `base` to `upper`, damping 0.1 N·m·s/rad, friction 0.5 N·m: \
//!      Coulomb, effort to 50 N·m, stops at -1 and 1 rad; not used: `velocity` 2 of `limit`"
//! );
//! # Ok::<(), bristle::scene::SceneError>(())
//! ```
//!
//! # What is understood
//!
//! | URDF | scene |
//! |---|---|
//! | `link` with `inertial` | `Link`: mass, centre of mass; the inertia turned into link axes |
//! | `link` without | a link without mass, and a line that says so |
//! | the root link | held by a `Fixed` joint `world_to_NAME`, or `Free` with [`Options::floating`] |
//! | a root `world` | the world; with [`Options::floating`] the link that is `fixed` to it floats |
//! | `joint` `revolute`, `continuous`, `prismatic` | `Revolute`, `Prismatic`; the axis made unit, x if left out |
//! | `joint` `fixed`, `floating` | `Fixed`, `Free` |
//! | `joint` `planar` | `Prismatic` `NAME_x` and `NAME_y`, then `Revolute` `NAME`; links between have no mass |
//! | `origin` `xyz`, `rpy` (or `quat_xyzw`) | `placement` |
//! | `dynamics` `damping` | `damping` |
//! | `dynamics` `friction` | an effort: `friction: Coulomb(coulomb: …)` |
//! | `mimic` | a `Gear` named `NAME_mimic`; its joint starts where the other one puts it |
//! | `limit` `lower`, `upper` | `limits: Limits(lower, upper)`: stops; left out with [`Options::no_limits`] |
//! | `limit` `effort` | `effort_limit` |
//! | `limit` `velocity`, `safety_controller`, `calibration` | read and checked, not used |
//! | `visual`, `collision`, `material`, `sensor` | counted, not used: shapes and looks |
//! | `contact`, `self_filter`, `collision_checking` of a link | the same: bodies do not touch |
//! | `transmission`, `ros2_control`, `gazebo`, what else there is | counted, not used |
//!
//! Gravity is (0, 0, −9.81) m/s². Element and attribute names that look misspelt are refused. A robot may have a
//! default namespace.
//!
//! With [`Options::strict`] whatever is left over and bears on motion is refused too, at its place:
//! `safety_controller`, `calibration`, `transmission`, `ros2_control`, `gazebo`, `damping` and
//! `friction` of a joint without an axis, and elements, attributes and text that URDF does not have. Shapes and
//! looks, simple transmissions with a reduction of 1, the axis of a joint that has none and limits of
//! velocity are named, strict or not.
//!
//! Repaired, and named in [`Import::notes`]; refused with [`Options::strict`]:
//!
//! - an inertia that no body has: the nearest one that a body has;
//! - `inertial` given twice: the first; `inertial` without `mass`: 0 kg;
//! - rotational inertia without mass: a mass that nothing notices, with a radius of gyration of 1 km;
//! - `mimic` of a joint that is not there, or where not both have one coordinate: left out;
//! - a `limit` whose `lower` is not below its `upper`: left out;
//! - limits of a joint that follows another by `mimic`, where they exclude 0 or its start: left out;
//! - a joint that feels no inertia at position 0: `armature`, 10⁻⁴ of the robot's mass, for revolute joints times the
//!   square of the longest `origin` of a joint (of the largest radius of gyration, where all joints share an origin).
//!
//! A change of an inertia below rounding, ε m L² with the longest `origin` L, is none. A joint whose limits exclude
//! position 0 starts at the nearest bound; a note says so.
//!
//! Refused with place and reason besides: XML that is none, document types and entities, files above 50 MB, elements
//! nested deeply, numbers that are not finite, names given twice or leading nowhere, several roots, loops.
//!
//! # Friction on a stock robot
//!
//! A [`FrictionFile`] gives laws and loads by joint name, so that the URDF stays as it is; in
//! a name `*` stands for any characters, and `"*"` is every other joint that moves.
//!
//! ```
//! # let text = r#"<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="2"/>
//! #   <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
//! #   <joint name="elbow" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"#;
//! use bristle::urdf::{self, FrictionFile, Options};
//!
//! let friction = r#"{ "elbow": (friction: Coulomb(coulomb: 0.2, stiction: 0.3), load: Constant(40.0)) }"#;
//! let options = Options { friction: Some(FrictionFile::new("friction.ron", friction)), ..Options::default() };
//! let robot = urdf::read_with(text, "arm.urdf", &options)?;
//! assert!(robot.scene.joints[1].friction.is_some());
//! # Ok::<(), bristle::scene::SceneError>(())
//! ```

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod articulated;
mod document;
mod frame;
mod friction;
mod joint;
mod limits;
mod link;
mod notes;
mod robot;
mod tree;
mod xml;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use crate::scene::load::read_text;
use crate::scene::origin::Document;
use crate::scene::span::{Source, Sources};
use crate::scene::{Position, Problem, Scene, SceneError};
pub use friction::FrictionFile;
use friction::Given;
use tree::Words;
use xml::Findings;

/// Options of reading a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The root link floats, with a free joint, instead of being fixed to the world.
    pub floating: bool,
    /// Refuse unused parts that bear on motion ([`Unused::matters`]).
    pub strict: bool,
    /// Leave out all limits of joints: no stops, no effort limits.
    pub no_limits: bool,
    /// Friction put on top.
    pub friction: Option<FrictionFile>,
    /// Paths in the scene and values for them, as in [`Scene::parse_with`].
    pub overrides: Vec<(String, String)>,
}

/// A machine as it was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The scene.
    pub scene: Scene,
    /// The meaning of each element of the file: the robot, links that are remarkable, every joint, the root.
    pub lines: Vec<Understood>,
    /// The same in a few lines: the robot and its root, repairs, and counts of what is not used.
    pub notes: Vec<String>,
}

/// The meaning of one element in the scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    /// Which one, such as ``joint `elbow` ``.
    pub subject: String,
    /// Its counterpart in the scene.
    pub meaning: String,
    /// Its parts that are not in the scene.
    pub unused: Vec<Unused>,
    /// Its parts that are in the scene with other values.
    pub repaired: Vec<Repaired>,
}

/// Something that no machine can have, and was replaced; [`Options::strict`] refuses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The value found, and its replacement.
    pub what: String,
    /// The same without names and numbers, such as `` `mimic` of a joint that is not there: left out ``.
    pub group: &'static str,
    /// Its place.
    pub position: Position,
}

/// Something that is not used.
#[derive(Debug, Clone, PartialEq)]
pub struct Unused {
    /// Its name and value, such as `` `limit` (lower -1, upper 1) ``.
    pub what: String,
    /// The same without values, such as `` `limit` ``.
    pub group: String,
    /// How many of them there are.
    pub count: usize,
    /// Its place.
    pub position: Position,
    /// It is not understood, or bears on motion: [`Options::strict`] refuses it. Shapes and looks do not.
    pub matters: bool,
}

impl fmt::Display for Understood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.meaning)?;
        for (i, unused) in self.unused.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "; not used: " } else { ", " }, unused.what)?;
        }
        for (i, repaired) in self.repaired.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "; repaired: " } else { ", " }, repaired.what)?;
        }
        Ok(())
    }
}

/// Reads and checks the text of a URDF file; `file` is the name it goes by in messages.
pub fn read(text: &str, file: &str) -> Result<Import, SceneError> {
    read_with(text, file, &Options::default())
}

/// The same, with [`Options`].
pub fn read_with(text: &str, file: &str, options: &Options) -> Result<Import, SceneError> {
    let mut found = Findings::new(Sources(vec![Source::new(file.to_owned(), text.to_owned())]));
    let text = document::without_late_declaration(text);
    let document = document::parse(&text, &found.sources)?;
    let mut words = Words::default();
    let root = robot::read(&mut found, &mut words, document.root_element(), options);
    let Findings { mut sources, mut problems, lines, .. } = found;
    if options.strict {
        for line in &lines {
            let Understood { subject, unused, repaired, .. } = &line.understood;
            for (unused, (place, help)) in unused.iter().zip(&line.unused).filter(|(unused, _)| unused.matters) {
                let reason = format!("{subject}: {} is not used", unused.what);
                problems.push(Problem::at(&sources, *place, reason, *help));
            }
            for (repaired, (place, help)) in repaired.iter().zip(&line.repaired) {
                problems.push(Problem::at(&sources, *place, format!("{subject}: {}", repaired.what), *help));
            }
        }
    }
    let Some(mut root) = root.filter(|_| problems.is_empty()) else {
        problems.sort_by_key(|problem| problem.position);
        return Err(SceneError { problems });
    };
    sources.0.push(words.into_source());
    let mut lines: Vec<Understood> = lines.into_iter().map(|line| line.understood).collect();
    let (loads, given) = put_friction(&mut root, &mut sources, options, &mut lines, true)?;
    finish(Document { sources, root }, lines, (loads, given), options)
}

/// Reads and checks a URDF file.
pub fn load(path: impl AsRef<Path>, options: &Options) -> Result<Import, SceneError> {
    let (text, file) = read_text(path.as_ref(), "URDF files are XML", "robot.urdf")?;
    read_with(&text, &file, options)
}

/// Reads and checks a machine from a scene in RON or a robot in URDF, whichever the file holds. For scenes there is
/// nothing to say of what was understood: all of it was.
pub fn load_scene(path: impl AsRef<Path>, options: &Options) -> Result<Import, SceneError> {
    let (text, file) = read_text(path.as_ref(), "scenes are text in RON, robots in URDF", "scene.ron")?;
    read_scene(&text, &file, options)
}

/// The same from a text; `file` is the name it goes by in messages, and says by its extension what the text is where
/// the text itself does not.
pub fn read_scene(text: &str, file: &str, options: &Options) -> Result<Import, SceneError> {
    let named =
        Path::new(file).extension().is_some_and(|e| e.eq_ignore_ascii_case("urdf") || e.eq_ignore_ascii_case("xml"));
    if named || text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        return read_with(text, file, options);
    }
    if options.floating {
        let reason = "a scene says itself which of its links float".to_owned();
        return Err(Problem::without_place(file, "", reason, "write `kind: Free` on the joint").into());
    }
    let mut document = Document::read(text, file)?;
    let mut lines = Vec::new();
    let (loads, given) = put_friction(&mut document.root, &mut document.sources, options, &mut lines, false)?;
    finish(document, lines, (loads, given), options)
}

/// A load that a friction file puts on a joint.
struct Loaded {
    joint: String,
    /// The problem if that joint has no friction.
    idle: Problem,
    /// The problem in any case, unless an override gives the friction.
    twisted: Option<Problem>,
}

/// Puts the friction file on the tree, and into the lines; which loads there are, and what
/// it puts on which joint. In a scene a law is as it was
/// written, whatever its load.
fn put_friction(
    root: &mut crate::scene::syntax::Node,
    sources: &mut Sources,
    options: &Options,
    lines: &mut Vec<Understood>,
    is_urdf: bool,
) -> Result<(Vec<Loaded>, Vec<Given>), SceneError> {
    let Some(file) = &options.friction else { return Ok((Vec::new(), Vec::new())) };
    let mut loads = Vec::new();
    let entries = friction::put(root, sources, file)?;
    let line_of: HashMap<String, usize> = lines.iter().enumerate().map(|(i, line)| (line.subject.clone(), i)).collect();
    for given in &entries {
        let subject = format!("joint `{}`", given.joint);
        let more = format!("from {}: {}", file.file, given.what);
        match line_of.get(&subject) {
            Some(&i) => lines[i].meaning += &format!("; {more}"),
            None => lines.push(Understood { subject, meaning: more, unused: Vec::new(), repaired: Vec::new() }),
        }
        if let Some(place) = given.load {
            let reason = format!("joint `{}` has no friction for this load to press on", given.joint);
            let help = "give the entry a law, such as `friction: Coulomb(coulomb: 0.1)`, or leave `load` out";
            let idle = Problem::at(sources, place, reason, help);
            // under a load the levels of a law are coefficients
            let twisted = (is_urdf && given.keeps_law).then(|| {
                let reason = format!(
                    "joint `{}` has its friction from `<dynamics friction>`, an effort, which this load would \
                    make a coefficient",
                    given.joint
                );
                let help = "give `friction: …` beside the load, such as `friction: Coulomb(coulomb: 0.1)`, or \
                    leave `load` out";
                Problem::at(sources, place, reason, help)
            });
            loads.push(Loaded { joint: given.joint.clone(), idle, twisted });
        }
    }
    Ok((loads, entries))
}

/// From the tree of values to a checked scene. An error of the friction file that concerns many joints is reported
/// once.
fn finish(
    document: Document,
    lines: Vec<Understood>,
    (loads, given): (Vec<Loaded>, Vec<Given>),
    options: &Options,
) -> Result<Import, SceneError> {
    let overrides: Vec<(&str, &str)> =
        options.overrides.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
    let scene = Scene::assemble(document, &overrides).map_err(|mut error| {
        error.problems.dedup_by(|b, a| (&a.file, a.position, &a.reason) == (&b.file, b.position, &b.reason));
        friction::fold(&mut error.problems, &given, options.friction.as_ref().map_or("", |file| &file.file));
        error
    })?;
    // joints that have no friction even now
    let smooth: HashSet<&str> =
        scene.joints.iter().filter(|joint| joint.friction.is_none()).map(|joint| joint.name.as_str()).collect();
    let is_overridden = |joint: &str| {
        let path = format!("joints.{joint}.friction");
        overrides.iter().any(|(given, _)| given.strip_prefix(&path).is_some_and(|x| x.is_empty() || x.starts_with('.')))
    };
    let wrong = loads.into_iter().filter_map(|Loaded { joint, idle, twisted }| {
        if smooth.contains(joint.as_str()) { Some(idle) } else { twisted.filter(|_| !is_overridden(&joint)) }
    });
    let mut problems: Vec<Problem> = wrong.collect();
    if !problems.is_empty() {
        // one entry may stand for many joints
        problems.sort_by_key(|problem| problem.position);
        problems.dedup_by_key(|problem| problem.position);
        return Err(SceneError { problems });
    }
    let notes = notes::notes(&lines, &given, options.friction.as_ref().map_or("", |file| &file.file));
    Ok(Import { scene, lines, notes })
}

//! `bristle dynamics`: forward and inverse dynamics, mass matrix, energies and reactions for a file of states.
//!
//! One JSON object a line in, one a line out, in the order of `joints`. A free joint has seven positions, x, y, z and
//! the quaternion w, x, y, z, and six of everything else, angular then linear, in child axes; in `joints` it stands six
//! times, as NAME.wx … NAME.vz. Dependent joints of couplings that are left out get their coupled values. A state that
//! cannot be evaluated has `{"error": …, "line": …}` in its place, and the others are answered all the same.

use crate::Outcome;
use crate::settings::assignment;
use bristle::mechanics::Mechanics;
use bristle::multibody::{JointKind, Model, neutral};
use bristle::urdf::{self, FrictionFile, Options};
use clap::Args;
use nalgebra::DMatrix;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Mechanics of a scene or robot at given states.
#[derive(Args)]
#[command(override_usage = "bristle dynamics [OPTIONS] --states <FILE> <MODEL>")]
#[command(after_help = "Examples:
  bristle dynamics robot.urdf --states states.jsonl > answers.jsonl
  bristle dynamics robot.urdf --friction friction.ron --states states.jsonl
  echo '{\"position\": {\"hinge\": 0.1}}' | bristle dynamics scenes/single_pendulum.ron --states - --friction

One JSON object a line, names that are left out are 0:
  {\"position\": {\"elbow\": 0.1}, \"velocity\": {\"elbow\": 1.0}, \"effort\": {\"elbow\": 2.0}}
`effort` (or neither) asks for forward dynamics, `acceleration` for inverse dynamics, both for both.
Joints that couplings tie may be left out too; efforts are then those of `independent`, the others carry nothing.
Free joints take lists: position [x, y, z, qw, qx, qy, qz], the others [wx, wy, wz, vx, vy, vz] in child axes.
A line that cannot be answered has {\"error\": \"…\", \"line\": N} in its place; blank lines have none.

Exit codes: 0 done, 1 a state could not be evaluated, 2 the model or a line was refused.")]
pub struct Dynamics {
    /// Scene (RON) or robot (URDF)
    #[arg(value_name = "MODEL", required_unless_present = "friction")]
    model: Option<PathBuf>,
    /// States, one JSON object a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    states: PathBuf,
    /// With the friction and damping of the joints, which are ideal otherwise; a friction FILE is put on top, as for
    /// `run`
    #[arg(long, value_name = "FILE")]
    friction: Option<Option<PathBuf>>,
    /// Let the root link of a robot float instead of fixing it to the world
    #[arg(long)]
    floating: bool,
    /// Leave out the limits of a robot; `dynamics` itself takes any position and any effort
    #[arg(long)]
    no_limits: bool,
    /// Refuse whatever of a robot is repaired, or left over and bears on motion
    #[arg(long)]
    strict: bool,
    /// Any value by its path, such as joints.elbow.damping=0.1; may be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// No notes on elements that are left out
    #[arg(short, long)]
    quiet: bool,
}

/// Lines of the input that are reported on standard error; the output has them all.
const MAX_REPORTED: usize = 20;

/// Why it ended early.
enum End {
    Refused(String),
    Failed(String),
    /// The reader of the results has seen enough.
    Closed,
}

impl Dynamics {
    pub fn execute(self) -> Outcome {
        match self.run() {
            Ok(()) | Err(End::Closed) => Outcome::Done,
            Err(End::Refused(message)) => {
                say(&message);
                Outcome::Refused
            }
            Err(End::Failed(message)) => {
                say(&message);
                Outcome::Failed
            }
        }
    }

    /// The model, whether friction takes part, and the file it may come from.
    fn model(&self) -> Result<(&Path, bool, Option<&Path>), End> {
        match (&self.model, &self.friction) {
            (Some(model), None) => Ok((model, false, None)),
            (Some(model), Some(file)) => Ok((model, true, file.as_deref())),
            // `--friction MODEL`: without a model the name is not that of a file on top of it
            (None, Some(Some(model))) => Ok((model, true, None)),
            (None, _) => Err(End::Refused("error: no MODEL is named: a scene (RON) or robot (URDF)".into())),
        }
    }

    fn run(&self) -> Result<(), End> {
        let (model, with_friction, friction) = self.model()?;
        let said = |error: bristle::scene::SceneError| End::Refused(error.to_string());
        let friction = friction.map(FrictionFile::load).transpose().map_err(said)?;
        let options = Options {
            floating: self.floating,
            strict: self.strict,
            no_limits: self.no_limits,
            friction,
            overrides: self.set.clone(),
        };
        let import = urdf::load_scene(model, &options).map_err(said)?;
        let refused = |error: bristle::Error| End::Refused(crate::error_text::message(&error, model));
        let mut mechanics = Mechanics::new(&import.scene, with_friction).map_err(refused)?;
        if !self.quiet {
            import.notes.iter().for_each(|note| say!("{note}"));
            say_left_out(&import.scene, with_friction);
        }

        let (name, states): (String, Box<dyn BufRead>) = if self.states == Path::new("-") {
            ("standard input".into(), Box::new(io::stdin().lock()))
        } else {
            let name = self.states.display().to_string();
            let file = File::open(&self.states).map_err(|error| End::Refused(format!("error: {name}: {error}")))?;
            (name, Box::new(BufReader::new(file)))
        };
        let mut out = BufWriter::new(io::stdout().lock());
        let columns = columns(mechanics.model());
        let (mut n_refused, mut n_failed) = (0, 0);
        for (number, line) in (1..).zip(states.lines()) {
            if bristle::memory::has_run_out() {
                out.flush().map_err(ended)?;
                return Err(End::Failed(format!("error: memory ran out\n --> {name}:{number}")));
            }
            let answer = match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => evaluate(&line, &mut mechanics, &columns),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    Err(LineError::Line("this is not text in UTF-8".into(), None))
                }
                Err(error) => {
                    out.flush().map_err(ended)?;
                    return Err(End::Refused(format!("error: {error}\n --> {name}:{number}")));
                }
            };
            let answer = answer.unwrap_or_else(|error| {
                let (reason, column) = match error {
                    LineError::Line(reason, column) => {
                        n_refused += 1;
                        (reason, column.map_or_else(String::new, |column| format!(":{column}")))
                    }
                    LineError::State(reason) => {
                        n_failed += 1;
                        (reason, String::new())
                    }
                };
                if n_refused + n_failed <= MAX_REPORTED {
                    say!("error: {reason}\n --> {name}:{number}{column}");
                }
                serde_json::json!({"error": reason, "line": number}).to_string()
            });
            writeln!(out, "{answer}").map_err(ended)?;
        }
        out.flush().map_err(ended)?;
        let n = n_refused + n_failed;
        let message = if n > MAX_REPORTED {
            format!(
                "error: {n} lines have no answer; the first {MAX_REPORTED} are printed above, all are in the output"
            )
        } else {
            String::new()
        };
        match (n_refused, n_failed) {
            (0, 0) => Ok(()),
            (0, _) => Err(End::Failed(message)),
            _ => Err(End::Refused(message)),
        }
    }
}

/// The reason why a line has no answer.
enum LineError {
    /// It cannot be read; at which column, where that is known.
    Line(String, Option<usize>),
    /// It says a state for which there is no answer.
    State(String),
}

/// The answer to one line.
fn evaluate(line: &str, mechanics: &mut Mechanics, columns: &[String]) -> Result<String, LineError> {
    let line = Line::read(line)?;
    let refused = |reason: String| LineError::Line(reason, None);
    let mut state = State::new(&line, mechanics).map_err(refused)?;
    let State { q, v, a, .. } = &mut state;
    mechanics.complete(q, v, a.as_deref_mut()).map_err(|error| refused(error.to_string()))?;
    let answer = answer(mechanics, columns, &state).map_err(|error| LineError::State(error.to_string()))?;
    serde_json::to_string(&answer).map_err(|error| LineError::State(error.to_string()))
}

/// Notes the elements of the scene that play no part.
fn say_left_out(scene: &bristle::Scene, with_friction: bool) {
    let count = |what: &str, n: usize| {
        if n > 0 {
            say!("note: {what} of {n} joint{} left out", if n == 1 { " is" } else { "s is" });
        }
    };
    let joints = &scene.joints;
    if !with_friction {
        count("friction", joints.iter().filter(|joint| joint.friction.is_some()).count());
        count("damping", joints.iter().filter(|joint| joint.damping != 0.0).count());
        use bristle::scene::Coupling::{Brake, Clutch, OneWayClutch, SpringDamper};
        for coupling in &scene.couplings {
            let name = coupling.name();
            match coupling {
                Clutch { .. } | Brake { .. } | OneWayClutch { .. } => {
                    say!("note: coupling `{name}` is left out: it is friction");
                }
                SpringDamper { damping, .. } if *damping != 0.0 => {
                    say!("note: the damping of coupling `{name}` is left out");
                }
                _ => {}
            }
        }
    }
    count("the drive", joints.iter().filter(|joint| joint.drive.is_some()).count());
}

/// Says it, unless all is said.
fn say(message: &str) {
    if !message.is_empty() {
        say!("{message}");
    }
}

fn ended(error: io::Error) -> End {
    match error.kind() {
        io::ErrorKind::BrokenPipe => End::Closed,
        _ => End::Failed(format!("error: standard output: {error}")),
    }
}

/// A line of the input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    position: Named,
    #[serde(default)]
    velocity: Named,
    effort: Option<Named>,
    acceleration: Option<Named>,
}

impl Line {
    fn read(line: &str) -> Result<Self, LineError> {
        // a list would be taken for the fields in their order
        let found = match line.trim_start().chars().next() {
            Some('[') => Some("a list"),
            Some('"') => Some("text"),
            Some('-' | '0'..='9') => Some("a number"),
            _ => None,
        };
        if let Some(found) = found {
            let reason = format!("expected an object, such as {{\"position\": {{\"elbow\": 0.1}}}}, found {found}");
            return Err(LineError::Line(reason, None));
        }
        serde_json::from_str(line).map_err(|error| {
            let said = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let said = said.strip_suffix(&place).unwrap_or(&said);
            let reason = if error.is_eof() {
                "the line ends before its object does".to_owned()
            } else if error.is_syntax() {
                format!("this is not JSON: {said}")
            } else {
                said.to_owned()
            };
            LineError::Line(reason, Some(error.column()))
        })
    }
}

/// Numbers by joint, each joint once.
#[derive(Default)]
struct Named(Vec<(String, Numbers)>);

/// One number, or those of a free joint.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number, or a list of numbers for a free joint")]
enum Numbers {
    One(f64),
    Many(Vec<f64>),
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = Named;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object with a number for each joint, such as {\"elbow\": 0.1}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut entries: Vec<(String, Numbers)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom(format!("joint `{name}` is given twice")));
                    }
                    entries.push((name, map.next_value()?));
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(ByName)
    }
}

/// A line in the order of the model.
struct State {
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Option<Vec<f64>>,
    a: Option<Vec<f64>>,
}

impl State {
    fn new(line: &Line, mechanics: &Mechanics) -> Result<Self, String> {
        let model = mechanics.model();
        let mut state = Self { q: neutral(model), v: vec![0.0; model.n_v], tau: None, a: None };
        put(mechanics, "position", &line.position, &mut state.q, Model::q_range)?;
        put(mechanics, "velocity", &line.velocity, &mut state.v, Model::v_range)?;
        for (what, given, into) in
            [("effort", &line.effort, &mut state.tau), ("acceleration", &line.acceleration, &mut state.a)]
        {
            if let Some(given) = given {
                put(mechanics, what, given, into.insert(vec![0.0; model.n_v]), Model::v_range)?;
            }
        }
        for i in 1..model.n_bodies() {
            if let [_, _, _, w, x, y, z] = state.q[model.q_range(i)] {
                let norm = (w * w + x * x + y * y + z * z).sqrt();
                // rounded data are welcome, anything else is a mistake
                if (norm - 1.0).abs() > 1e-6 {
                    let name = &model.joint_names[i];
                    return Err(format!("position of `{name}`: the quaternion has length {norm}; it must be 1"));
                }
                state.q[model.q_range(i)][3..].iter_mut().for_each(|part| *part /= norm);
            }
        }
        Ok(state)
    }
}

/// Puts numbers given by name into their places.
fn put(
    mechanics: &Mechanics,
    what: &str,
    given: &Named,
    into: &mut [f64],
    range: fn(&Model, usize) -> std::ops::Range<usize>,
) -> Result<(), String> {
    for (name, numbers) in &given.0 {
        let i = mechanics.joint(name).map_err(|error| format!("{what}: {error}"))?;
        let place = &mut into[range(mechanics.model(), i)];
        let numbers = match numbers {
            Numbers::One(number) => std::slice::from_ref(number),
            Numbers::Many(numbers) => numbers,
        };
        if numbers.len() != place.len() {
            let takes = match place.len() {
                0 => "none: it is fixed".to_owned(),
                1 => "one".to_owned(),
                n => format!("{n}, in a list"),
            };
            return Err(format!("{what} of `{name}` has {} numbers; it takes {takes}", numbers.len()));
        }
        place.copy_from_slice(numbers);
    }
    Ok(())
}

/// The content of `joints`: the name of each velocity.
fn columns(model: &Model) -> Vec<String> {
    let mut names = Vec::with_capacity(model.n_v);
    for i in 1..model.n_bodies() {
        let name = &model.joint_names[i];
        match model.kinds[i] {
            JointKind::Fixed => {}
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => names.push(name.clone()),
            JointKind::Free => names.extend(["wx", "wy", "wz", "vx", "vy", "vz"].map(|part| format!("{name}.{part}"))),
        }
    }
    names
}

/// A line of the output.
#[derive(Serialize)]
struct Answer<'a> {
    joints: &'a [String],
    acceleration: Vec<f64>,
    effort: Vec<f64>,
    mass_matrix: Vec<Vec<f64>>,
    /// Where couplings tie joints: those that do not depend on others, and the inertia over them.
    #[serde(skip_serializing_if = "Option::is_none")]
    independent: Option<Vec<&'a String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduced_mass_matrix: Option<Vec<Vec<f64>>>,
    kinetic: f64,
    potential: f64,
    reactions: Reactions,
}

/// Reactions by joint, in order.
struct Reactions(Vec<(String, Wrench)>);

/// At the joint's origin, parent on child, child axes.
#[derive(Serialize)]
struct Wrench {
    force: [f64; 3],
    moment: [f64; 3],
}

impl Serialize for Reactions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, wrench)| (name, wrench)))
    }
}

fn answer<'a>(
    mechanics: &mut Mechanics,
    columns: &'a [String],
    State { q, v, tau, a }: &State,
) -> bristle::Result<Answer<'a>> {
    let n_v = columns.len();
    let (acceleration, effort) = match (tau, a) {
        (None, None) => (mechanics.forward(q, v, &vec![0.0; n_v])?, vec![0.0; n_v]),
        (Some(tau), None) => (mechanics.forward(q, v, tau)?, tau.clone()),
        (None, Some(a)) => (a.clone(), mechanics.inverse(q, v, a)?),
        (Some(tau), Some(a)) => (mechanics.forward(q, v, tau)?, mechanics.inverse(q, v, a)?),
    };
    let rows = |mass: &DMatrix<f64>| mass.row_iter().map(|row| row.iter().copied().collect()).collect();
    let mass_matrix = rows(mechanics.mass_matrix(q)?);
    let free = mechanics.independent();
    let is_coupled = free.len() < n_v;
    let independent = is_coupled.then(|| free.iter().map(|&k| &columns[k]).collect());
    let reduced_mass_matrix =
        if is_coupled { Some(mechanics.reduced_mass_matrix(q)?).map(|mass| rows(&mass)) } else { None };
    let (kinetic, potential) = mechanics.energies(q, v)?;
    let wrenches: Vec<Wrench> = mechanics
        .reactions(q, v, &acceleration)?
        .iter()
        .map(|reaction| Wrench { force: reaction.wrench.force().into(), moment: reaction.wrench.moment().into() })
        .collect();
    let numbers = acceleration.iter().chain(&effort).chain([&kinetic, &potential]);
    let forces = wrenches.iter().flat_map(|wrench| wrench.force.iter().chain(&wrench.moment));
    if let Some(&value) = numbers.chain(forces).find(|x| !x.is_finite()) {
        let (name, what) = ("state".into(), "a result");
        return Err(bristle::Error::Number {
            name,
            what,
            value,
            range: "finite: are the numbers of this state too large?",
        });
    }
    let reactions = Reactions(mechanics.model().joint_names.iter().cloned().zip(wrenches).skip(1).collect());
    Ok(Answer {
        joints: columns,
        acceleration,
        effort,
        mass_matrix,
        independent,
        reduced_mass_matrix,
        kinetic,
        potential,
        reactions,
    })
}

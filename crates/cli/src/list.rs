//! `bristle list`: elements of scenes, and the example scenes, with one line each.

use crate::Outcome;
use bristle::{Error, Scene, Simulation};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// List joints, friction laws, loads, steppers and scenes.
#[derive(Args)]
#[command(after_help = "Examples:
  bristle list
  bristle list laws loads
  bristle list scenes --folder scenes

Entries that are read but cannot be run yet are marked.")]
pub struct List {
    /// The kind to list; everything if left out
    #[arg(value_enum, value_name = "WHAT")]
    what: Vec<What>,
    /// Where scenes are
    #[arg(long, value_name = "DIR", default_value = "scenes")]
    folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Joints,
    Limits,
    Laws,
    Loads,
    Drives,
    Couplings,
    Signals,
    Steppers,
    Controllers,
    Kinks,
    Constraints,
    Formulations,
    Scenes,
}

/// Notation and description.
type Entry = (&'static str, &'static str);

const JOINTS: &[Entry] = &[
    ("Revolute(axis: (0.0, 0.0, 1.0))", "turns about an axis through the joint origin; rad"),
    ("Prismatic(axis: (1.0, 0.0, 0.0))", "slides along an axis; m"),
    ("Fixed", "does not move"),
    ("Free", "moves in all six directions; `position: Placement(…)`, `velocity: Twist(…)`"),
];

const LIMITS: &[Entry] = &[(
    "Limits(lower: -1.0, upper: 0.5, restitution: 0.6)",
    "stops at the ends of the range, with impacts and resting contact; either bound may be left out. The largest \
     effort of drive and caller together is `effort_limit: 87.0`, a field of its own",
)];

const LAWS: &[Entry] = &[
    ("Coulomb(coulomb: 0.4, stiction: 0.6, viscous: 0.0)", "dry friction; stuck below stiction, exactly"),
    (
        "Stribeck(coulomb: 0.4, stiction: 0.6, stribeck_velocity: 0.01, exponent: 2.0, viscous: 0.0, peak: 1.0)",
        "dry friction that falls with speed; stuck below peak × stiction, exactly",
    ),
    ("Table(points: [(0.0, 1.0), (1.0, 1.4)], peak: 1.5)", "dry friction from points (speed, level); stuck exactly"),
    ("Tanh(coulomb: 0.4, stribeck_velocity: 0.01, viscous: 0.0)", "smooth approximation; creeps under load"),
    ("Dahl(coulomb: 0.4, sigma0: 1.0e4)", "bristle: a spring that yields at the Coulomb level"),
    (
        "LuGre(sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 0.001, \
        exponent: 2.0, damping_velocity: 0.1)",
        "bristle with Stribeck effect and damping (Canudas de Wit et al. 1995); damping fades with speed if \
        `damping_velocity` is given",
    ),
    (
        "LuGre2(sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 0.001, \
        exponent: 2.0, alpha: 3.0, beta: 1.0)",
        "LuGre with a second internal state (Acho et al. 2004); may have `damping_velocity`",
    ),
    (
        "ElastoPlastic(sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: \
        0.001, exponent: 2.0, breakaway: 7.0e-6)",
        "LuGre without drift: purely elastic below break-away (Dupont et al. 2002); may have `damping_velocity`",
    ),
    (
        "Coulomb(coulomb: 20.0, viscous: 180.0, viscous_exponent: 0.6)",
        "a viscous term k |v|ⁿ sign v; in every law with `viscous` or `sigma2` but LuGre2",
    ),
    (
        "Directional(forward: Coulomb(coulomb: 20.0), backward: Coulomb(coulomb: 25.0, viscous: 240.0))",
        "one law for each direction of slip, both of one kind; holds between −backward and +forward",
    ),
];

const LOADS: &[Entry] = &[
    ("Unit", "N = 1: the levels of the law are efforts"),
    ("Constant(5.0)", "N is given"),
    ("Signal(max: 20.0, signal: Steps([(0.0, 0.0), (0.5, 1.0)]), geometry: 1.0)", "N follows a signal: brakes"),
    ("Pin(radius: 0.02)", "N is the radial part of the joint reaction, at a radius"),
    ("Thrust(radius: 0.02)", "N is the axial part of the joint reaction, at a radius"),
    (
        "Transmitted(preload: 0.01, driving: 0.2, back_driving: 0.3)",
        "N grows with the effort through a reducer, drive effort − armature · q̈; also driving_squared, …",
    ),
    ("Guide(length: 0.1)", "N is the lateral part of the reaction of a slider, tilting included if it has a length"),
];

const DRIVES: &[Entry] = &[
    ("Effort(Sine(amplitude: 0.2, frequency: 1.0))", "a torque or force that follows a signal"),
    ("Pull(stiffness: 2.0, target: Ramp(rate: 0.1))", "a spring whose far end moves"),
    ("Pid(kp: 3.0, ki: 4.0, kd: 6.0, target: Constant(1.0))", "a controller; its integral is a state"),
    ("Motion(Sine(amplitude: 0.2, frequency: 1.0))", "a prescribed position"),
    (
        "Servo(kp: 20.0, kd: 0.1, target: Constant(1.0), delay: 0.01, period: 0.005, voltage_limit: 12.0, constant: \
        0.4, resistance: 4.0)",
        "a sampled controller with saturation and a DC motor; also error_gain, difference, supply, duty_limit, enable",
    ),
];

const COUPLINGS: &[Entry] = &[
    ("Gear(name: \"c\", joints: (\"j\", \"k\"), ratio: 50.0, offset: 0.0)", "q_j = ratio × q_k + offset, exactly"),
    (
        "Gear(name: \"c\", joints: (\"j\", \"k\"), ratio: 50.0, efficiency: (0.9, 0.7), friction: (0.01, 0.5))",
        "with losses: of the mesh while j drives and while k drives, of the bearings of both shafts",
    ),
    (
        "Planetary(name: \"c\", sun: \"j\", ring: \"k\", carrier: \"l\", ratio: 2.0)",
        "ω_sun + ratio × ω_ring = (1 + ratio) × ω_carrier, exactly",
    ),
    ("Linear(name: \"c\", terms: [(\"j\", 1.0), (\"k\", -2.0)], offset: 0.0)", "Σ c q = offset, exactly"),
    (
        "SpringDamper(name: \"c\", joints: (\"j\", \"k\"), stiffness: 160.0, damping: 1.0, rest: 0.0)",
        "a spring and a damper on q_j − q_k",
    ),
    (
        "Clutch(name: \"c\", joints: (\"j\", \"k\"), friction: Coulomb(coulomb: 0.5), load: Signal(max: 20.0, signal: \
        Steps([(0.0, 0.0), (0.5, 1.0)])))",
        "friction on q_j − q_k, any law",
    ),
    (
        "Clutch(name: \"c\", joints: (\"j\", \"k\"), friction: LuGre(sigma0: 1e5, sigma1: 300.0, coulomb: 0.5), load: \
        Signal(max: 10.0, signal: Ramp(rate: 1.0)), open: Frozen)",
        "open: Frozen keeps the bristles as they were while the load is 0; default Law: they follow their law",
    ),
    (
        "Brake(name: \"c\", joint: \"j\", friction: Coulomb(coulomb: 0.5), load: Constant(10.0))",
        "friction between a joint and its parent, besides the joint's own",
    ),
    (
        "OneWayClutch(name: \"c\", joints: (\"j\", \"k\"), friction: Coulomb(coulomb: 0.5), load: Signal(max: 20.0, \
        signal: Constant(0.0)), lock_factor: 100.0)",
        "a clutch in parallel with a freewheel: locks against j falling behind k",
    ),
    (
        "LoopJoint(name: \"c\", kind: Revolute(axis: (0.0, 0.0, 1.0)), links: (\"block\", \"disc\"), friction: \
        Coulomb(coulomb: 0.1))",
        "a joint that closes a chain of links; Prismatic, Spherical and Fixed too; either link may be \"world\"",
    ),
];

const SIGNALS: &[Entry] = &[
    ("Constant(1.0)", "always the same"),
    ("Ramp(rate: 0.1, start: 0.0)", "rate × (t − start), 0 before"),
    (
        "Sine(amplitude: 1.0, frequency: 6.28, phase: 0.0, offset: 0.0)",
        "amplitude × sin(frequency × t + phase) + offset",
    ),
    ("Table([(0.0, 0.0), (1.0, 2.0)])", "straight lines between points, ends held"),
    ("Steps([(0.0, 0.0), (0.5, 1.0)])", "jumps"),
    ("Piecewise([(0.0, Constant(0.0)), (1.0, Ramp(rate: 2.0, start: 1.0))])", "one signal after another"),
    ("Sum([Constant(1.0), Sine(amplitude: 0.1, frequency: 6.0)])", "signals added up"),
    (
        "Log(file: \"run.csv\", column: \"force_N\", time: \"t_s\", hold: Linear)",
        "a column of a CSV file, relative to the scene; hold: Linear or Previous",
    ),
];

const STEPPERS: &[Entry] = &[
    ("Dopri5", "Dormand–Prince 5(4), dense output: the default"),
    ("Radau5", "Radau IIA, 3 stages, order 5, stiff: the default with bristles"),
    ("Radau3", "Radau IIA, 2 stages, order 3, stiff"),
    ("GeneralizedAlpha(spectral_radius: 0.8)", "order 2, damping of high frequencies as asked for"),
    ("Trapezoidal", "order 2, no damping"),
    ("Rk4", "classical Runge–Kutta, order 4"),
    ("RealTime", "order 2 between changes of mode, fixed step, bounded work, stable with any friction law"),
    ("Euler", "explicit, order 1, for comparison"),
    ("MixedEuler", "bristles implicit, the rest explicit, for comparison"),
    ("LinearlyImplicitEuler", "one Newton step of backward Euler, for comparison"),
];

const CONTROLLERS: &[Entry] = &[
    ("Error(rtol: 1e-8, atol: 1e-10)", "by the error estimate: the default"),
    ("Elementary(rtol: 1e-8, atol: 1e-10)", "by the error estimate and the textbook rule, for comparison"),
    ("Constant(step: 1e-3)", "one step size throughout"),
    (
        "DymoreCoulomb(min: 1e-4, max: 1e-3, v_min: 5.0, t_s: 1.0)",
        "shorter where slip is slow; t_s caps the step (our guess: the manual does not define it)",
    ),
    (
        "DymoreLuGre(min: 0.02, v_min: 5.0, alpha: 1.2, t_s: 5.0)",
        "in units of the bristle's time; t_s as above, on Ω Δt",
    ),
    ("Velocity(inside: 1e-4, outside: 1e-3, range: (0.1, 5.0))", "two steps, by the speed of slip"),
    ("TimeConstant(max: 1e-3, fraction: 0.333)", "a fraction of the bristle's time constant"),
    ("TimeConstantSwitch(threshold: 1e-3, below: 1e-4, above: 1e-3)", "two steps, by the bristle's time constant"),
];

const KINKS: &[Entry] = &[
    ("Velocity", "v = 0, where |v| has its kink: the default"),
    ("Deflection", "ż = 0, the hint of Aberger & Otter (2002); more of them the tighter the tolerance"),
    ("Off", "nothing"),
];

const CONSTRAINTS: &[Entry] = &[
    ("Reduced", "dependent velocities are eliminated at every point, with any method: the default"),
    ("Index3", "all joints with multipliers, closed in positions, by Radau5 or GeneralizedAlpha; smooth friction"),
    ("Index2", "the same, closed in velocities; positions drift"),
];

const FORMULATIONS: &[Entry] = &[
    ("Implicit", "loads that depend on acceleration solved by Newton at each evaluation: the default"),
    ("Jerk", "the equations differentiated once, acceleration a state; no iteration"),
    ("Residual", "the equations handed unsolved to an implicit stepper"),
];

/// A machine on which everything can be tried.
const TRIAL: &str = r#"Scene(
    links: [
        Link(name: "block", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)),
        Link(name: "disc", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)),
        Link(name: "wheel", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)),
    ],
    joints: [Joint(name: "j", parent: "world", child: "block", kind: Revolute(axis: (0.0, 0.0, 1.0)),
        friction: LuGre(sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5,
            stribeck_velocity: 0.001)),
        Joint(name: "k", parent: "world", child: "disc", kind: Revolute(axis: (0.0, 0.0, 1.0))),
        Joint(name: "l", parent: "world", child: "wheel", kind: Revolute(axis: (0.0, 0.0, 1.0)))],
)"#;

impl List {
    pub fn execute(self) -> Outcome {
        let parts = if self.what.is_empty() { What::value_variants() } else { &self.what[..] };
        let mut text = String::new();
        let mut outcome = Outcome::Done;
        for part in parts {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push('\n');
            }
            if *part == What::Scenes {
                match scenes(&self.folder) {
                    Ok(scenes) => text += &scenes,
                    Err(error) => {
                        // everything was asked for, and there is everything but scenes
                        let (level, there) = if self.what.is_empty() {
                            ("note", "no scenes here")
                        } else {
                            outcome = Outcome::Refused;
                            ("error", "no scenes to list")
                        };
                        let folder = self.folder.display();
                        say!("{level}: {there}, {folder}: {error}; name their folder with --folder");
                    }
                }
                continue;
            }
            let (title, entries) = part.entries();
            let _ = writeln!(text, "{title}");
            for (written, what) in entries {
                let yet = if is_supported(*part, written) { "" } else { " [not yet supported]" };
                let _ = writeln!(text, "  {written}\n      {what}{yet}");
            }
        }
        crate::print(&format!("{}\n", text.trim_end()));
        outcome
    }
}

impl What {
    fn entries(self) -> (&'static str, &'static [Entry]) {
        match self {
            Self::Joints => ("Kinds of joints, `kind: …` of a joint", JOINTS),
            Self::Limits => ("Stops, `limits: …` of a revolute or prismatic joint", LIMITS),
            Self::Laws => ("Friction laws, `friction: …` of a joint; effort per unit load", LAWS),
            Self::Loads => ("Loads, `load: …` of a joint: the normal force N that scales its law", LOADS),
            Self::Drives => ("Drives, `drive: …` of a joint", DRIVES),
            Self::Couplings => ("Couplings between joints, in `couplings: […]` of a scene", COUPLINGS),
            Self::Signals => ("Signals over time, in drives and loads", SIGNALS),
            Self::Steppers => ("Steppers, `method: …` of the solver or --method", STEPPERS),
            Self::Controllers => ("Step control, `control: …` of the solver or --control", CONTROLLERS),
            Self::Kinks => ("Kinks of bristle laws located as events, `Solver(kinks: …)`", KINKS),
            Self::Constraints => ("Closed loops in the equations, `Solver(constraints: …)`", CONSTRAINTS),
            Self::Formulations => ("Formulations, `formulation: …` of the scene or --formulation", FORMULATIONS),
            Self::Scenes => ("Scenes", &[]),
        }
    }
}

/// Elements of the trial machine.
fn overrides(part: What, written: &str) -> Vec<(&'static str, String)> {
    let one = |path| vec![(path, written.to_owned())];
    match part {
        // nothing acts in a joint without an axis
        What::Joints => one("joints.k.kind"),
        What::Limits => one("joints.j.limits"),
        What::Laws => one("joints.j.friction"),
        // a slider has lateral forces only
        What::Loads if written.starts_with("Guide") => {
            vec![("joints.j.kind", "Prismatic(axis: (1.0, 0.0, 0.0))".into()), ("joints.j.load", written.into())]
        }
        // a reducer needs a law with stick and slip
        What::Loads if written.starts_with("Transmitted") => {
            vec![("joints.j.friction", "Coulomb(coulomb: 1.0)".into()), ("joints.j.load", written.into())]
        }
        What::Loads => one("joints.j.load"),
        What::Drives => one("joints.j.drive"),
        // losses are those of a motor's shaft, which has no friction of its own
        What::Couplings if written.contains("efficiency") => {
            vec![("couplings", format!("[{}]", written.replace("(\"j\", \"k\")", "(\"k\", \"l\")")))]
        }
        What::Couplings => vec![("couplings", format!("[{written}]"))],
        What::Signals => vec![("joints.j.drive", format!("Effort({written})"))],
        What::Steppers if matches!(written, "Dopri5" | "Radau5") => one("solver.method"),
        What::Steppers => vec![("solver.method", written.into()), ("solver.control", "Constant(step: 1e-3)".into())],
        What::Controllers => one("solver.control"),
        What::Kinks => one("solver.kinks"),
        What::Constraints => {
            let closing =
                "[LoopJoint(name: \"c\", kind: Revolute(axis: (0.0, 0.0, 1.0)), links: (\"block\", \"disc\"))]";
            let method = ("solver.method", "Radau5".to_owned());
            vec![("solver.constraints", written.to_owned()), method, ("couplings", closing.to_owned())]
        }
        What::Formulations if written == "Residual" => {
            vec![("formulation", written.into()), ("solver.method", "Radau5".into())]
        }
        What::Formulations => one("formulation"),
        What::Scenes => Vec::new(),
    }
}

/// Whether the library can run it.
fn is_supported(part: What, written: &str) -> bool {
    // the file that a log names is not here
    written.starts_with("Log(") || built(part, written).is_ok()
}

fn built(part: What, written: &str) -> Result<Simulation, Error> {
    let overrides = overrides(part, written);
    let overrides: Vec<(&str, &str)> = overrides.iter().map(|(path, value)| (*path, value.as_str())).collect();
    Simulation::new(&Scene::parse_with(TRIAL, "trial", &overrides)?)
}

/// The scenes of a folder, with the first sentence of their comment.
fn scenes(folder: &Path) -> std::io::Result<String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ron") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut list = format!("Scenes in {}\n", folder.display());
    for path in paths {
        let about = fs::read_to_string(&path).map_or_else(|error| error.to_string(), |text| first_sentence(&text));
        let _ = writeln!(list, "  {}\n      {about}", path.display());
    }
    Ok(list)
}

/// The comment at the head of a scene, up to the end of its first sentence.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.trim_start().strip_prefix("//")).map(str::trim);
    let comment = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    // a full stop after an abbreviation, or within a name, ends nothing
    let is_end = |at: &usize| {
        let (before, after) = (&comment[..*at], comment[at + 2..].chars().next());
        let word = before.rsplit([' ', '(']).next().unwrap_or("");
        let is_initial = word.len() == 1 && word.chars().all(char::is_alphabetic);
        let is_short = is_initial || ABBREVIATIONS.contains(&word);
        !is_short && after.is_none_or(|c| !c.is_lowercase())
    };
    match comment.match_indices(". ").map(|found| found.0).find(is_end) {
        Some(end) => comment[..=end].to_owned(),
        None => comment,
    }
}

/// Words that are written with a full stop.
const ABBREVIATIONS: [&str; 9] = ["al", "e.g", "i.e", "cf", "Fig", "fig", "eq", "Eq", "vol"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_listed_is_read() {
        for part in What::value_variants() {
            for (written, _) in part.entries().1 {
                match built(*part, written) {
                    Ok(_) | Err(Error::Unsupported { .. }) => {}
                    // read as far as its file
                    Err(error) if written.starts_with("Log(") => {
                        assert!(error.to_string().contains("cannot read `run.csv`"), "{error}");
                    }
                    // a place in the scene is given to what is not there yet
                    Err(error) => assert!(error.to_string().contains("not yet supported"), "{written}: {error}"),
                }
            }
        }
    }

    #[test]
    fn the_first_sentence_of_a_scene() {
        let text = "// A pendulum,\n// with friction. Look for its end.\n//\n// More.\nScene(";
        assert_eq!(first_sentence(text), "A pendulum, with friction.");
        assert_eq!(first_sentence("Scene()"), "");
        let text = "// The belt of Canudas de Wit et al. 1995, fig. 3. It sticks.\nScene(";
        assert_eq!(first_sentence(text), "The belt of Canudas de Wit et al. 1995, fig. 3.");
    }
}

//! What the types cannot say: ranges, names, and that the joints make a tree.

mod couplings;
mod settings;
mod tree;

use std::collections::HashMap;

use bristle_friction::{FrictionLaw, Law};
use nalgebra::Matrix3;

use super::damage::Damage;
use super::error::{Help, Level, MAX_PROBLEMS, Problem, SceneError, did_you_mean};
use super::origin::{Document, Step};
use super::{Coordinate, Coupling, Drive, Formulation, Inertia, Joint, Kind, Link, Load};
use super::{Placement, Rate, Rotation, Scene, Signal, has_bristle};

/// What is said once for the whole scene, and judged together.
const SETTINGS: [&str; 6] = ["version", "gravity", "formulation", "solver", "duration", "output"];

/// Principal moments may break their inequalities by this part of their sum: data are rounded.
const INERTIA_SLACK: f64 = 1e-9;

impl Scene {
    /// Check everything, and report all that is wrong at once.
    pub fn validate(&self) -> Result<(), SceneError> {
        if self.version != 1 {
            let reason = format!("version {} of the format is not known", self.version);
            return Err(self.problem("version", reason, "this program reads version 1").into());
        }
        let problems = self.problems_of_meaning(&Damage::default());
        if problems.is_empty() { Ok(()) } else { Err(SceneError { problems }) }
    }

    /// What is wrong with a scene of which some values are stand-ins, leaving out what may follow from these.
    pub(crate) fn problems_of_meaning(&self, damage: &Damage) -> Vec<Problem> {
        let mut check = Check { scene: self, damage, problems: Vec::new() };
        check.settings();
        check.names();
        check.links();
        check.joints();
        check.tree();
        check.couplings();
        check.into_problems()
    }

    /// What a valid scene says that its author may not mean: laws that can feed energy in, loads that scale nothing.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut check = Check { scene: self, damage: &Damage::default(), problems: Vec::new() };
        check.doubts();
        let mut problems = check.into_problems();
        problems.iter_mut().for_each(|problem| problem.level = Level::Warning);
        problems
    }
}

/// A place in a scene, as the way to it.
#[derive(Clone, Copy)]
struct At<'a> {
    up: Option<&'a At<'a>>,
    step: Step<'a>,
}

impl<'a> At<'a> {
    fn field(key: &'a str) -> Self {
        At { up: None, step: Step::Key(key) }
    }

    fn key(&'a self, key: &'a str) -> Self {
        At { up: Some(self), step: Step::Key(key) }
    }

    fn index(&'a self, i: usize) -> Self {
        At { up: Some(self), step: Step::Index(i) }
    }

    fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = self.up.map(At::steps).unwrap_or_default();
        steps.push(self.step);
        steps
    }

    /// The field this is, or is an element of.
    fn name(&self) -> &'a str {
        match self.step {
            Step::Key(key) => key,
            Step::Index(_) => self.up.map_or("", At::name),
        }
    }
}

/// What a number must be.
#[derive(Clone, Copy)]
enum Must {
    BeFinite,
    NotBeNegative,
    BePositive,
    NotBeZero,
    BeAtLeast(f64),
    BeWithin(f64, f64),
}

const CONTROL: &str = "a name cannot hold line ends or control characters";

struct Check<'s> {
    scene: &'s Scene,
    damage: &'s Damage,
    problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    /// What is wrong with something beside the other fields of its link, joint, coupling, or of the settings.
    fn report(&mut self, at: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_sound(|damage, document| {
            let steps = at.steps();
            let around = match steps[..] {
                [Step::Key("links" | "joints" | "couplings"), element @ Step::Index(_), ..] => vec![steps[0], element],
                [Step::Key("links" | "joints" | "couplings"), ..] => vec![steps[0]],
                _ => Vec::new(),
            };
            match around[..] {
                [] => SETTINGS.iter().any(|key| damage.touches(document, &[Step::Key(key)])),
                _ => damage.touches(document, &around),
            }
        }) {
            self.push(at, reason, help);
        }
    }

    /// What is wrong with something by itself.
    fn report_alone(&mut self, at: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_sound(|damage, document| damage.touches(document, &at.steps())) {
            self.push(at, reason, help);
        }
    }

    /// What is wrong with one part of something, judged with the other parts.
    fn report_part(&mut self, whole: At, part: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_sound(|damage, document| damage.touches(document, &whole.steps())) {
            self.push(part, reason, help);
        }
    }

    /// Whether all names of the elements of a list are what the file says.
    fn knows(&self, list: &str, field: &str) -> bool {
        self.is_sound(|damage, document| damage.hides(document, list, field))
    }

    /// Whether a value is given on top of the file.
    fn is_override(&self, at: At) -> bool {
        let document = self.scene.origin.0.as_deref();
        document.is_some_and(|document| document.sources.is_override(document.place(&at.steps())))
    }

    /// Whether a value is written down.
    fn is_given(&self, at: At) -> bool {
        let document = self.scene.origin.0.as_deref();
        document.is_some_and(|document| document.deepest(&at.steps()).1)
    }

    /// Whether no stand-in is where a question asks for one.
    fn is_sound(&self, is_damaged: impl Fn(&Damage, &Document) -> bool) -> bool {
        let document = self.scene.origin.0.as_deref();
        self.damage.is_empty() || !document.is_some_and(|document| is_damaged(self.damage, document))
    }

    fn push(&mut self, at: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        let steps = at.steps();
        let path = self.path(&steps);
        let problem = match &self.scene.origin.0 {
            Some(document) => {
                Problem { path, ..Problem::at(&document.sources, document.place(&steps), reason.into(), help) }
            }
            None => Problem::without_place("scene", &path, reason.into(), help),
        };
        self.problems.push(problem);
    }

    /// In the order of the file, overrides last.
    fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|p| (p.overridden.is_some(), p.position));
        self.problems
    }

    /// Names that may have been meant; empty when nobody will read it.
    fn suggest<'k>(&self, name: &str, known: impl Iterator<Item = &'k str>) -> String {
        if self.problems.len() >= MAX_PROBLEMS {
            return String::new();
        }
        did_you_mean(name, "there are", &known.collect::<Vec<_>>())
    }

    /// `joints.elbow.friction.coulomb`: elements go by name.
    fn path(&self, steps: &[Step]) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            parts.push(match (step, steps[0]) {
                (Step::Key(key), _) => (*key).to_owned(),
                (Step::Index(i), Step::Key("links")) if n == 1 => self.scene.links[*i].name.clone(),
                (Step::Index(i), Step::Key("joints")) if n == 1 => self.scene.joints[*i].name.clone(),
                (Step::Index(i), Step::Key("couplings")) if n == 1 => self.scene.couplings[*i].name().to_owned(),
                (Step::Index(i), _) => i.to_string(),
            });
        }
        parts.join(".")
    }

    /// Whether a number is what it must be; if not, it is reported.
    fn number(&mut self, at: At, value: f64, must: Must) -> bool {
        let (fine, range) = match must {
            Must::BeFinite => (true, String::new()),
            Must::NotBeNegative => (value >= 0.0, "0 or more".into()),
            Must::BePositive => (value > 0.0, "greater than 0".into()),
            Must::NotBeZero => (value != 0.0, "other than 0".into()),
            Must::BeAtLeast(low) => (value >= low, format!("{low} or more")),
            Must::BeWithin(low, high) => ((low..=high).contains(&value), format!("from {low} to {high}")),
        };
        if !value.is_finite() {
            self.report_alone(at, format!("`{}` is {value}: numbers must be finite", at.name()), "");
        } else if !fine {
            self.report_alone(at, format!("`{}` is {value:?}; it must be {range}", at.name()), "");
        }
        fine && value.is_finite()
    }

    fn finite(&mut self, at: At, values: &[f64]) -> bool {
        values.iter().enumerate().all(|(i, &value)| self.number(at.index(i), value, Must::BeFinite))
    }

    /// Names are there, and unique: links among links, joints and couplings together since both name channels.
    fn names(&mut self) {
        let scene = self.scene;
        // a title may have lines and tabs
        if scene.name.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            self.report_alone(
                At::field("name"),
                "a title cannot hold control characters other than line ends and tabs",
                "",
            );
        }
        let list =
            |key: &'static str, names: Vec<&'s str>| names.into_iter().enumerate().map(move |(i, n)| (key, i, n));
        let links = list("links", scene.links.iter().map(|link| link.name.as_str()).collect());
        let joints = list("joints", scene.joints.iter().map(|joint| joint.name.as_str()).collect());
        let couplings = list("couplings", scene.couplings.iter().map(Coupling::name).collect());

        let world = "`world` is what links and joints hang from";
        let energy = "`energy.…` are the columns of the energy balance";
        self.unique(links, &[("world", world)]);
        self.unique(joints.chain(couplings), &[("energy", energy), ("world", world)]);
    }

    fn unique(&mut self, names: impl Iterator<Item = (&'static str, usize, &'s str)>, reserved: &[(&str, &str)]) {
        let mut seen: HashMap<&str, (&str, usize)> = HashMap::new();
        for (list, i, name) in names {
            let (list, what) = (At::field(list), list.trim_end_matches('s'));
            let element = list.index(i);
            let at = element.key("name");
            if name.trim().is_empty() {
                self.report_alone(at, format!("this {what} has no name"), "results are named after it");
            } else if name.chars().any(char::is_control) {
                self.report_alone(at, CONTROL, "");
            } else if what != "link" && name.starts_with(['=', '+', '-', '@']) {
                // `-3+1.position` in the header of a table would be computed
                let reason = format!("the name of a {what} cannot begin with `{}`", &name[..1]);
                self.report_alone(at, reason, "results are named after it, and spreadsheets take that for a formula");
            } else if what != "link" && (name.contains("..") || name.ends_with('.')) {
                // `../x.position.npy` in an archive would leave its folder
                let reason = format!("the name of a {what} cannot hold `..`, nor end with `.`");
                self.report_alone(at, reason, "results are named after it, and `..` leads out of an archive");
            } else if let Some((_, why)) = reserved.iter().find(|reserved| reserved.0 == name) {
                self.report_alone(at, format!("`{name}` cannot be the name of a {what}"), *why);
            } else if let Some((other, _)) = seen.insert(name, (what, i)) {
                let by = if other == what { format!("another {what}") } else { format!("a {other}") };
                self.report_alone(at, format!("the name `{name}` is taken by {by}"), "names must be unique");
            }
        }
    }

    fn links(&mut self) {
        let scene = self.scene;
        if scene.links.is_empty() {
            self.report_alone(
                At::field("links"),
                "a scene needs at least one link",
                "write `links: [Link(name: …, mass: …)]`",
            );
        }
        let links = At::field("links");
        for (i, link) in scene.links.iter().enumerate() {
            self.link(links.index(i), link);
        }
    }

    fn link(&mut self, at: At, link: &Link) {
        let heavy = self.number(at.key("mass"), link.mass, Must::NotBeNegative);
        self.finite(at.key("center_of_mass"), &link.center_of_mass);
        let inertia = at.key("inertia");
        let finite = match link.inertia {
            Inertia::Diagonal(x, y, z) => self.finite(inertia, &[x, y, z]),
            Inertia::Full { ixx, iyy, izz, ixy, ixz, iyz } => {
                [("ixx", ixx), ("iyy", iyy), ("izz", izz), ("ixy", ixy), ("ixz", ixz), ("iyz", iyz)]
                    .into_iter()
                    .all(|(key, value)| self.number(inertia.key(key), value, Must::BeFinite))
            }
        };
        if !finite {
            return;
        }

        // principal moments, scaled by the largest entry so that nothing overflows
        let rows = link.inertia.matrix();
        let scale = rows.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
        if scale == 0.0 {
            return;
        }
        let mut moments = match link.inertia {
            Inertia::Diagonal(x, y, z) => [x / scale, y / scale, z / scale],
            Inertia::Full { .. } => (Matrix3::from_fn(|r, c| rows[r][c] / scale)).symmetric_eigenvalues().into(),
        };
        moments.sort_by(f64::total_cmp);
        let [a, b, c] = moments;
        let slack = INERTIA_SLACK * (a + b + c).abs();
        let (low, rest, high) = (a * scale, (a + b) * scale, c * scale);
        if a < -slack {
            let reason =
                format!("the inertia of `{}` has a negative principal moment, {} kg·m²", link.name, rounded(low));
            self.report_alone(
                inertia,
                reason,
                "moments of inertia are 0 or more; a large product of inertia also does this",
            );
        } else if c > a + b + slack {
            let reason = format!(
                "no body has the inertia of `{}`: its largest principal moment, {}, exceeds the sum of the others, {}",
                link.name,
                rounded(high),
                rounded(rest)
            );
            self.report_alone(inertia, reason, "is it about the centre of mass, and in kg·m²?");
        } else if heavy && link.mass == 0.0 {
            let reason = format!("`{}` has rotational inertia but no mass", link.name);
            self.report(inertia, reason, "give it a `mass`; a rotor without one is `armature` on its joint");
        }
    }

    fn joints(&mut self) {
        let scene = self.scene;
        let joints = At::field("joints");
        for (i, joint) in scene.joints.iter().enumerate() {
            self.joint(joints.index(i), joint);
        }
    }

    fn joint(&mut self, at: At, joint: &Joint) {
        if let Some(axis) = joint.kind.axis() {
            let kind = at.key("kind");
            if self.finite(kind.key("axis"), &axis) && axis == [0.0; 3] {
                self.report_alone(
                    kind.key("axis"),
                    format!("the axis of `{}` is zero", joint.name),
                    "write a direction, such as (0, 0, 1)",
                );
            }
        }
        self.placement(at.key("placement"), &joint.placement);
        self.initial_state(at, joint);
        if !joint.kind.is_single() {
            self.nothing_acts(at, joint);
            return;
        }

        self.number(at.key("damping"), joint.damping, Must::NotBeNegative);
        self.number(at.key("armature"), joint.armature, Must::NotBeNegative);
        if let Some(spring) = joint.spring {
            let at = at.key("spring");
            self.number(at.key("stiffness"), spring.stiffness, Must::NotBeNegative);
            self.number(at.key("rest"), spring.rest, Must::BeFinite);
        }
        if let Some(law) = &joint.friction {
            self.law(at.key("friction"), law);
        }
        if let Some(bristle) = joint.bristle {
            let at = at.key("bristle");
            self.number(at.key("z"), bristle.z, Must::BeFinite);
            self.number(at.key("w"), bristle.w, Must::BeFinite);
            if !joint.friction.as_ref().is_some_and(has_bristle) {
                let reason =
                    format!("`{}` has an initial bristle state but no friction law with a bristle", joint.name);
                self.report(at, reason, "leave `bristle` out, or use `Dahl`, `LuGre`, `LuGre2` or `ElastoPlastic`");
            } else if bristle.w != 0.0 && !matches!(joint.friction, Some(Law::LuGre2(_))) {
                let reason =
                    format!("`{}` starts with w = {:?}, a state that only `LuGre2` has", joint.name, bristle.w);
                self.report(at.key("w"), reason, "leave `w` out, or use `LuGre2`");
            }
        }
        self.load(at.key("load"), &joint.load);
        let (needs, load) = match joint.load {
            Load::Pin { .. } => ("Revolute", "Pin"),
            Load::Thrust { .. } => ("Revolute", "Thrust"),
            Load::Guide { .. } => ("Prismatic", "Guide"),
            Load::Unit | Load::Constant(_) | Load::Signal { .. } => ("", ""),
        };
        if !needs.is_empty() && needs != kind_name(&joint.kind) {
            let reason =
                format!("`{load}` is the load of a `{needs}` joint; `{}` is `{}`", joint.name, kind_name(&joint.kind));
            let help =
                if needs == "Revolute" { "write `Guide`" } else { "write `Pin(radius: …)` or `Thrust(radius: …)`" };
            self.report(at.key("load"), reason, help);
        }
        if let Some(drive) = &joint.drive {
            self.drive(at.key("drive"), drive);
        }
    }

    fn placement(&mut self, at: At, placement: &Placement) {
        self.finite(at.key("translation"), &placement.translation);
        let rotation = at.key("rotation");
        match placement.rotation {
            Rotation::Rpy(roll, pitch, yaw) => _ = self.finite(rotation, &[roll, pitch, yaw]),
            Rotation::Quaternion { w, x, y, z } => {
                let parts = [("w", w), ("x", x), ("y", y), ("z", z)];
                let finite = parts.iter().all(|(key, value)| self.number(rotation.key(key), *value, Must::BeFinite));
                if finite && parts.iter().all(|part| part.1 == 0.0) {
                    self.report_alone(
                        rotation,
                        "a quaternion of zeros is no rotation",
                        "no rotation is Quaternion(w: 1, x: 0, y: 0, z: 0)",
                    );
                }
            }
        }
    }

    /// Position and velocity are of the kind the joint has.
    fn initial_state(&mut self, at: At, joint: &Joint) {
        let (name, kind) = (&joint.name, kind_name(&joint.kind));
        let (position, velocity) = (at.key("position"), at.key("velocity"));
        match (joint.position, joint.kind) {
            (Coordinate::Scalar(q), Kind::Revolute { .. } | Kind::Prismatic { .. }) => {
                self.number(position, q, Must::BeFinite);
            }
            (Coordinate::Placement(placement), Kind::Free) => self.placement(position, &placement),
            (Coordinate::Scalar(0.0), _) => {}
            (_, Kind::Fixed) => {
                self.report(position, format!("`{name}` is fixed: it has no position"), "move it with `placement`");
            }
            (Coordinate::Scalar(_), _) => {
                let help = "write `Placement(translation: (x, y, z), rotation: Quaternion(w: 1, x: 0, y: 0, z: 0))`";
                self.report(position, format!("the position of `{name}`, a free joint, is not one number"), help);
            }
            (Coordinate::Placement(_), _) => {
                let help = "the frame of the joint in its parent is `placement`";
                self.report(position, format!("the position of `{name}`, `{kind}`, is one number"), help);
            }
        }
        match (joint.velocity, joint.kind) {
            (Rate::Scalar(v), Kind::Revolute { .. } | Kind::Prismatic { .. }) => {
                self.number(velocity, v, Must::BeFinite);
            }
            (Rate::Twist(twist), Kind::Free) => {
                self.finite(velocity.key("angular"), &twist.angular);
                self.finite(velocity.key("linear"), &twist.linear);
            }
            (Rate::Scalar(0.0), _) => {}
            (_, Kind::Fixed) => self.report(velocity, format!("`{name}` is fixed: it has no velocity"), ""),
            (Rate::Scalar(_), _) => {
                let help = "write `Twist(angular: (x, y, z), linear: (x, y, z))`";
                self.report(velocity, format!("the velocity of `{name}`, a free joint, is not one number"), help);
            }
            (Rate::Twist(_), _) => {
                self.report(velocity, format!("the velocity of `{name}`, `{kind}`, is one number"), "");
            }
        }
    }

    /// Fixed and free joints have no axis for anything to act along.
    fn nothing_acts(&mut self, at: At, joint: &Joint) {
        let given = [
            ("damping", joint.damping != 0.0),
            ("armature", joint.armature != 0.0),
            ("spring", joint.spring.is_some()),
            ("friction", joint.friction.is_some()),
            ("load", joint.load != Load::Unit),
            ("bristle", joint.bristle.is_some()),
            ("drive", joint.drive.is_some()),
        ];
        for (key, given) in given {
            if given {
                let reason = format!("`{}` is `{}`: it cannot have `{key}`", joint.name, kind_name(&joint.kind));
                self.report(at.key(key), reason, "this acts along the axis of a `Revolute` or `Prismatic` joint");
            }
        }
    }

    fn law(&mut self, at: At, law: &Law) {
        for finding in law.validate() {
            let parameter = at.key(finding.parameter);
            if let Some((i, k)) = finding.point {
                let point = parameter.index(i);
                self.report_part(at, point.index(k), finding.reason, "");
                continue;
            }
            // point at what was said last: a value on top of the file may put another one out of its range
            let is_cause = |other: &&&str| self.is_override(at.key(other)) && !self.is_override(parameter);
            match finding.range_of.iter().find(is_cause) {
                Some(cause) => {
                    let help = format!("set `{}` too", self.path(&parameter.steps()));
                    self.report_part(at, at.key(cause), finding.reason, help);
                }
                None => self.report_part(at, parameter, finding.reason, ""),
            }
        }
    }

    fn load(&mut self, at: At, load: &Load) {
        match load {
            Load::Unit | Load::Guide { length: None } => {}
            Load::Constant(n) => _ = self.number(at.index(0), *n, Must::NotBeNegative),
            Load::Pin { radius } | Load::Thrust { radius } => {
                self.number(at.key("radius"), *radius, Must::BePositive);
            }
            Load::Guide { length: Some(length) } => _ = self.number(at.key("length"), *length, Must::BePositive),
            Load::Signal { max, signal, geometry } => {
                self.signal(at.key("signal"), signal);
                self.number(at.key("max"), *max, Must::NotBeNegative);
                self.number(at.key("geometry"), *geometry, Must::BePositive);
            }
        }
    }

    fn drive(&mut self, at: At, drive: &Drive) {
        match drive {
            Drive::Effort(signal) | Drive::Motion(signal) => self.signal(at.index(0), signal),
            Drive::Pull { stiffness, target } => {
                self.signal(at.key("target"), target);
                self.number(at.key("stiffness"), *stiffness, Must::NotBeNegative);
            }
            Drive::Pid { kp, ki, kd, target } => {
                self.signal(at.key("target"), target);
                self.number(at.key("kp"), *kp, Must::NotBeNegative);
                self.number(at.key("ki"), *ki, Must::NotBeNegative);
                self.number(at.key("kd"), *kd, Must::NotBeNegative);
            }
        }
    }

    fn signal(&mut self, at: At, signal: &Signal) {
        let list = at.index(0);
        match signal {
            Signal::Constant(c) => _ = self.number(list, *c, Must::BeFinite),
            Signal::Ramp { rate, start } => {
                self.number(at.key("rate"), *rate, Must::BeFinite);
                self.number(at.key("start"), *start, Must::BeFinite);
            }
            Signal::Sine { amplitude, frequency, phase, offset } => {
                let parts = [("amplitude", amplitude), ("frequency", frequency), ("phase", phase), ("offset", offset)];
                for (key, value) in parts {
                    self.number(at.key(key), *value, Must::BeFinite);
                }
            }
            Signal::Table(points) | Signal::Steps(points) => {
                let linear = matches!(signal, Signal::Table(_));
                let jump =
                    if linear { "for a jump use `Steps` or `Piecewise`" } else { "each value holds from its time on" };
                self.times(list, points.iter().map(|point| point.0), jump);
                for (i, point) in points.iter().enumerate() {
                    let entry = list.index(i);
                    self.number(entry.index(1), point.1, Must::BeFinite);
                }
            }
            Signal::Piecewise(parts) => {
                self.times(list, parts.iter().map(|part| part.0), "each signal holds from its time on");
                for (i, part) in parts.iter().enumerate() {
                    let entry = list.index(i);
                    self.signal(entry.index(1), &part.1);
                }
            }
            Signal::Sum(terms) => {
                if terms.is_empty() {
                    self.report_alone(list, "a sum needs at least one signal", "");
                }
                for (i, term) in terms.iter().enumerate() {
                    self.signal(list.index(i), term);
                }
            }
        }
    }

    /// The times of a list increase, and there are some.
    fn times(&mut self, at: At, times: impl ExactSizeIterator<Item = f64>, help: &str) {
        if times.len() == 0 {
            self.report_alone(at, "this list needs at least one entry", "write `[(time, value), …]`");
        }
        let mut before = f64::NEG_INFINITY;
        for (i, t) in times.enumerate() {
            let entry = at.index(i);
            if self.number(entry.index(0), t, Must::BeFinite) && t <= before {
                let reason = format!("times must increase: {t:?} comes after {before:?}");
                self.report_alone(entry.index(0), reason, help);
            }
            before = t;
        }
    }
}

impl Check<'_> {
    fn doubts(&mut self) {
        let scene = self.scene;
        let (joints, couplings) = (At::field("joints"), At::field("couplings"));
        for (i, joint) in scene.joints.iter().enumerate() {
            let at = joints.index(i);
            match &joint.friction {
                Some(law) => {
                    self.doubtful_law(at.key("friction"), law);
                    self.doubtful_bristle(at, joint, law);
                }
                None if joint.load != Load::Unit => {
                    let reason = format!("`{}` has a load but no friction for it to scale", joint.name);
                    self.report(at.key("load"), reason, "add `friction: …`, or leave `load` out");
                }
                None => {}
            }
        }
        for (i, coupling) in scene.couplings.iter().enumerate() {
            let at = couplings.index(i);
            if let Some((law, load)) = coupling.friction() {
                self.doubtful_law(at.key("friction"), law);
                if scene.formulation == Formulation::Jerk && has_bristle(law) {
                    let reason = format!(
                        "`formulation: Jerk` takes very short steps with the bristles of `{}`, whose load is no reaction and gains nothing by it",
                        coupling.name()
                    );
                    self.report(at.key("friction"), reason, "write `Implicit` or `Residual`: the motion is the same");
                }
                let largest = match load {
                    Load::Constant(n) => *n,
                    Load::Signal { max, geometry, .. } => max * geometry,
                    _ => 1.0,
                };
                if matches!(coupling, Coupling::OneWayClutch { .. }) && largest == 0.0 {
                    let reason = format!(
                        "one-way clutch `{}` is free both ways: it locks with `lock_factor` times its largest load, which is 0",
                        coupling.name()
                    );
                    let help = "for a freewheel that drags nothing forward, write `load: Signal(max: …, signal: Constant(0.0))`";
                    self.report(at.key("load"), reason, help);
                }
            }
        }
    }

    /// A bristle bent further than it can get by itself: z in other units, most likely.
    fn doubtful_bristle(&mut self, at: At, joint: &Joint, law: &Law) {
        let Some(bristle) = joint.bristle else { return };
        let (bent, level) = (law.sigma0() * bristle.z.abs(), law.largest_level());
        if bent > level * (1.0 + 1e-9) {
            let reason = format!(
                "the bristle of `{}` starts bent to {:?} where its law lets go at {:?}: it throws the joint",
                joint.name,
                rounded(bent),
                rounded(level)
            );
            let help = format!("z is a deflection, in rad or m: at most {:?} here", rounded(level / law.sigma0()));
            self.report(at.key("bristle").key("z"), reason, help);
        }
    }

    fn doubtful_law(&mut self, at: At, law: &Law) {
        for finding in law.warnings() {
            self.report(at.key(finding.parameter), finding.reason, "");
        }
    }
}

/// To seven digits, for a message.
fn rounded(x: f64) -> f64 {
    format!("{x:.6e}").parse().unwrap_or(x)
}

fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Revolute { .. } => "Revolute",
        Kind::Prismatic { .. } => "Prismatic",
        Kind::Fixed => "Fixed",
        Kind::Free => "Free",
    }
}

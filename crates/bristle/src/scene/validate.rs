//! What the types cannot say: ranges, names, and that the joints make a tree.

use std::collections::HashMap;

use bristle_friction::{FrictionLaw, Law};
use nalgebra::Matrix3;

use super::error::{Level, MAX_PROBLEMS, Problem, SceneError, closest, did_you_mean};
use super::origin::Step;
use super::span::OVERRIDE;
use super::{
    Control, Coordinate, Coupling, Drive, Formulation, Inertia, Joint, Kind, Kinks, Link, Load, Method, Output,
};
use super::{Placement, Rate, Rotation, Scene, Signal, has_bristle};

/// More rows than these in one recording are a mistake in `interval`.
const MAX_ROWS: f64 = 1e8;

/// Principal moments may break their inequalities by this part of their sum: data are rounded.
const INERTIA_SLACK: f64 = 1e-9;

impl Scene {
    /// Check everything, and report all that is wrong at once.
    pub fn validate(&self) -> Result<(), SceneError> {
        if self.version != 1 {
            let reason = format!("version {} of the format is not known", self.version);
            return Err(self.problem("version", reason, "this program reads version 1").into());
        }
        let mut check = Check { scene: self, problems: Vec::new() };
        check.settings();
        check.names();
        check.links();
        check.joints();
        check.tree();
        check.couplings();

        let problems = check.into_problems();
        if problems.is_empty() { Ok(()) } else { Err(SceneError { problems }) }
    }

    /// What a valid scene says that its author may not mean: laws that can feed energy in, loads that scale nothing.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut check = Check { scene: self, problems: Vec::new() };
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

struct Check<'s> {
    scene: &'s Scene,
    problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    fn report(&mut self, at: At, reason: impl Into<String>, help: impl Into<String>) {
        if self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        let steps = at.steps();
        let path = self.path(&steps);
        let problem = match &self.scene.origin.0 {
            Some(document) => {
                Problem { path, ..Problem::at(&document.sources, document.place(&steps), reason.into(), help.into()) }
            }
            None => Problem::without_place("scene", &path, reason.into(), help.into()),
        };
        self.problems.push(problem);
    }

    /// In the order of the file, overrides last.
    fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|p| (p.file == OVERRIDE, p.position));
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
            self.report(at, format!("`{}` is {value}: numbers must be finite", at.name()), "");
        } else if !fine {
            self.report(at, format!("`{}` is {value:?}; it must be {range}", at.name()), "");
        }
        fine && value.is_finite()
    }

    fn finite(&mut self, at: At, values: &[f64]) -> bool {
        values.iter().enumerate().all(|(i, &value)| self.number(at.index(i), value, Must::BeFinite))
    }

    fn settings(&mut self) {
        let scene = self.scene;
        self.finite(At::field("gravity"), &scene.gravity);
        let long = self.number(At::field("duration"), scene.duration, Must::BePositive);

        let output = At::field("output");
        let Output { interval, steps } = scene.output;
        if self.number(output.key("interval"), interval, Must::BePositive) && long && !steps {
            let rows = scene.duration / interval;
            if rows > MAX_ROWS {
                let reason = format!("this would record {rows:.1e} rows; the limit is {MAX_ROWS:.0e}");
                self.report(output.key("interval"), reason, "a larger `interval`, or a shorter `duration`");
            }
        }

        // method and control, and whether they fit
        let solver = At::field("solver");
        let (method, control) = (solver.key("method"), solver.key("control"));
        if let Some(Method::GeneralizedAlpha { spectral_radius }) = scene.solver.method {
            self.number(method.key("spectral_radius"), spectral_radius, Must::BeWithin(0.0, 1.0));
        }
        self.control(control, scene.control());
        let is_error_controlled = matches!(scene.control(), Control::Error { .. } | Control::Elementary { .. });
        if scene.solver.kinks != Kinks::default() && !is_error_controlled {
            let help = "leave `kinks` out, or write `control: Error(rtol: 1e-8, atol: 1e-10)`";
            self.report(solver.key("kinks"), "kinks are located only where errors control the steps", help);
        }
        if scene.method() == Method::RealTime && !matches!(scene.control(), Control::Constant { .. }) {
            let help = "write `control: Constant(step: 1e-3)` with the step of your control loop";
            self.report(control, "`RealTime` takes a constant step", help);
        }
        if scene.method() == Method::RealTime && scene.formulation != Formulation::Implicit {
            let help = "leave it out, or write `formulation: Implicit`";
            self.report(At::field("formulation"), "`RealTime` has its own way with loads", help);
        } else if scene.formulation == Formulation::Residual && !scene.method().is_implicit() {
            let chosen = if scene.solver.method.is_some() { "" } else { ", the default," };
            let reason =
                format!("`Residual` needs an implicit method; `{}`{chosen} is explicit", scene.method().name());
            self.report(At::field("formulation"), reason, "write `solver: Solver(method: Radau5)`");
        }
    }

    fn control(&mut self, at: At, control: Control) {
        let mut positive = |key: &str, value: f64| self.number(at.key(key), value, Must::BePositive);
        match control {
            Control::Constant { step } => _ = positive("step", step),
            Control::Error { rtol, atol } | Control::Elementary { rtol, atol } => {
                self.number(at.key("rtol"), rtol, Must::NotBeNegative);
                self.number(at.key("atol"), atol, Must::NotBeNegative);
                if rtol == 0.0 && atol == 0.0 {
                    self.report(at, "`rtol` and `atol` are both 0", "write `Error(rtol: 1e-8, atol: 1e-10)`");
                }
            }
            Control::DymoreCoulomb { min, max, v_min, t_s } => {
                positive("v_min", v_min);
                positive("t_s", t_s);
                if positive("min", min) && positive("max", max) && min > max {
                    self.report(at.key("min"), format!("`min` is {min}, more than `max`, {max}"), "");
                }
            }
            Control::DymoreLuGre { min, v_min, alpha, t_s } => {
                positive("min", min);
                positive("v_min", v_min);
                positive("t_s", t_s);
                self.number(at.key("alpha"), alpha, Must::NotBeNegative);
            }
            Control::Velocity { inside, outside, range: (from, to) } => {
                positive("inside", inside);
                positive("outside", outside);
                let range = at.key("range");
                self.number(range.index(0), from, Must::NotBeNegative);
                if self.number(range.index(1), to, Must::BePositive) && from >= to {
                    self.report(range, format!("the range from {from} to {to} is empty"), "write it as (from, to)");
                }
            }
            Control::TimeConstant { max, fraction } => {
                positive("max", max);
                positive("fraction", fraction);
            }
            Control::TimeConstantSwitch { threshold, below, above } => {
                positive("threshold", threshold);
                positive("below", below);
                positive("above", above);
            }
        }
    }

    /// Names are there, and unique: links among links, joints and couplings together since both name channels.
    fn names(&mut self) {
        let scene = self.scene;
        let list =
            |key: &'static str, names: Vec<&'s str>| names.into_iter().enumerate().map(move |(i, n)| (key, i, n));
        let links = list("links", scene.links.iter().map(|link| link.name.as_str()).collect());
        let joints = list("joints", scene.joints.iter().map(|joint| joint.name.as_str()).collect());
        let couplings = list("couplings", scene.couplings.iter().map(Coupling::name).collect());

        self.unique(links, "world", "`world` is what links hang from; it has no mass");
        self.unique(joints.chain(couplings), "energy", "`energy.…` are the columns of the energy balance");
    }

    fn unique(&mut self, names: impl Iterator<Item = (&'static str, usize, &'s str)>, reserved: &str, why: &str) {
        let mut seen: HashMap<&str, (&str, usize)> = HashMap::new();
        for (list, i, name) in names {
            let (list, what) = (At::field(list), list.trim_end_matches('s'));
            let element = list.index(i);
            let at = element.key("name");
            if name.trim().is_empty() {
                self.report(at, format!("this {what} has no name"), "results are named after it");
            } else if name.chars().any(char::is_control) {
                self.report(at, "a name cannot hold line ends or control characters", "");
            } else if name == reserved {
                self.report(at, format!("`{reserved}` cannot be the name of a {what}"), why);
            } else if let Some((other, _)) = seen.insert(name, (what, i)) {
                let by = if other == what { format!("another {what}") } else { format!("a {other}") };
                self.report(at, format!("the name `{name}` is taken by {by}"), "names must be unique");
            }
        }
    }

    fn links(&mut self) {
        let scene = self.scene;
        if scene.links.is_empty() {
            self.report(
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
            self.report(inertia, reason, "moments of inertia are 0 or more; a large product of inertia also does this");
        } else if c > a + b + slack {
            let reason = format!(
                "no body has the inertia of `{}`: its largest principal moment, {}, exceeds the sum of the others, {}",
                link.name,
                rounded(high),
                rounded(rest)
            );
            self.report(inertia, reason, "is it about the centre of mass, and in kg·m²?");
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
                self.report(
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
                    self.report(
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
            self.report(at.key(finding.parameter), finding.reason, "");
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
                    self.report(list, "a sum needs at least one signal", "");
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
            self.report(at, "this list needs at least one entry", "write `[(time, value), …]`");
        }
        let mut before = f64::NEG_INFINITY;
        for (i, t) in times.enumerate() {
            let entry = at.index(i);
            if self.number(entry.index(0), t, Must::BeFinite) && t <= before {
                let reason = format!("times must increase: {t:?} comes after {before:?}");
                self.report(entry.index(0), reason, help);
            }
            before = t;
        }
    }

    /// Every link is carried by exactly one joint, and the way up from it ends at the world.
    fn tree(&mut self) {
        let scene = self.scene;
        let joints = At::field("joints");
        let index: HashMap<&str, usize> = scene.links.iter().enumerate().map(|(i, l)| (l.name.as_str(), i)).collect();
        let names = || scene.links.iter().map(|link| link.name.as_str());

        // the joint that carries each link; links that a mistake elsewhere leaves without one are excused
        let mut carrier: Vec<Option<usize>> = vec![None; scene.links.len()];
        let mut excused = vec![false; scene.links.len()];
        for (j, joint) in scene.joints.iter().enumerate() {
            let at = joints.index(j);
            if joint.parent != "world" && !index.contains_key(joint.parent.as_str()) {
                let help = self.suggest(&joint.parent, std::iter::once("world").chain(names()));
                self.report(at.key("parent"), format!("there is no link `{}`", joint.parent), help);
            }
            let Some(&child) = index.get(joint.child.as_str()) else {
                let (reason, help, meant) = if joint.child == "world" {
                    let reason = "`world` cannot be carried by a joint".to_owned();
                    (reason, "swap `parent` and `child`".to_owned(), vec![joint.parent.as_str()])
                } else {
                    let help = self.suggest(&joint.child, names());
                    let meant = if help.is_empty() { Vec::new() } else { closest(&joint.child, names()) };
                    (format!("there is no link `{}`", joint.child), help, meant)
                };
                self.report(at.key("child"), reason, help);
                for link in meant.into_iter().filter_map(|name| index.get(name)) {
                    excused[*link] = true;
                }
                continue;
            };
            if joint.parent == joint.child {
                self.report(at.key("child"), format!("`{}` joins `{}` to itself", joint.name, joint.child), "");
            } else if let Some(other) = carrier[child] {
                let reason = format!("`{}` is already the child of `{}`", joint.child, scene.joints[other].name);
                self.report(at.key("child"), reason, "a link has one parent; closed chains are not supported yet");
                continue;
            }
            carrier[child] = Some(j);
        }

        // up from every link; those on the way of an earlier walk are known
        const NEW: usize = usize::MAX;
        let mut walk = vec![NEW; scene.links.len()];
        let links = At::field("links");
        for start in 0..scene.links.len() {
            let Some(first) = carrier[start] else {
                let name = &scene.links[start].name;
                let counts = index[name.as_str()] == start; // of links with the same name, one does
                if counts && !excused[start] && !name.trim().is_empty() {
                    let help = format!("add a joint with `child: \"{name}\"`; `kind: Free` lets it float");
                    let element = links.index(start);
                    self.report(element.key("name"), format!("no joint carries the link `{name}`"), help);
                }
                continue;
            };
            let (mut link, mut joint) = (start, first);
            while walk[link] == NEW {
                walk[link] = start;
                let parent = scene.joints[joint].parent.as_str();
                let Some(&up) = index.get(parent) else { break };
                let Some(next) = carrier[up] else { break };
                (link, joint) = (up, next);
                if walk[link] == start && scene.joints[joint].parent != scene.joints[joint].child {
                    self.cycle(&carrier, &index, link, joint);
                }
            }
        }
    }

    /// Report the loop through a link.
    fn cycle(&mut self, carrier: &[Option<usize>], index: &HashMap<&str, usize>, link: usize, joint: usize) {
        let scene = self.scene;
        let mut around = vec![scene.links[link].name.as_str()];
        let mut at = link;
        while let Some(j) = carrier[at] {
            let parent = scene.joints[j].parent.as_str();
            around.push(parent);
            match index.get(parent) {
                Some(&up) if up != link && around.len() <= 8 => at = up,
                Some(&up) if up != link => {
                    around.push("…");
                    break;
                }
                _ => break,
            }
        }
        around.reverse();
        let joints = At::field("joints");
        let element = joints.index(joint);
        let reason = format!("the joints make a loop: {}", around.join(" → "));
        self.report(
            element.key("parent"),
            reason,
            "one of these links must hang from outside the loop, in the end from \"world\"",
        );
    }

    fn couplings(&mut self) {
        let scene = self.scene;
        let index: HashMap<&str, usize> = scene.joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect();
        let couplings = At::field("couplings");
        for (i, coupling) in scene.couplings.iter().enumerate() {
            let at = couplings.index(i);
            match coupling {
                Coupling::Gear { joints, ratio, offset, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("ratio"), *ratio, Must::NotBeZero);
                    self.number(at.key("offset"), *offset, Must::BeFinite);
                }
                Coupling::Planetary { sun, ring, carrier, ratio, .. } => {
                    let named = [("sun", sun), ("ring", ring), ("carrier", carrier)];
                    for (n, (key, name)) in named.into_iter().enumerate() {
                        self.joint_name(&index, at.key(key), name);
                        if named[..n].iter().any(|other| other.1 == name) {
                            self.report(at.key(key), format!("`{name}` is named twice"), "");
                        }
                    }
                    self.number(at.key("ratio"), *ratio, Must::NotBeZero);
                }
                Coupling::Linear { terms, offset, .. } => {
                    let at_terms = at.key("terms");
                    if terms.is_empty() {
                        self.report(
                            at_terms,
                            "a linear coupling needs terms",
                            "write `terms: [(\"a\", 1.0), (\"b\", -2.0)]`",
                        );
                    }
                    for (t, (name, coefficient)) in terms.iter().enumerate() {
                        let term = at_terms.index(t);
                        self.joint_name(&index, term.index(0), name);
                        if terms[..t].iter().any(|other| other.0 == *name) {
                            self.report(term.index(0), format!("`{name}` is named twice"), "add up its coefficients");
                        }
                        if self.number(term.index(1), *coefficient, Must::BeFinite) && *coefficient == 0.0 {
                            self.report(
                                term.index(1),
                                format!("the coefficient of `{name}` is 0"),
                                "leave the term out",
                            );
                        }
                    }
                    self.number(at.key("offset"), *offset, Must::BeFinite);
                }
                Coupling::SpringDamper { joints, stiffness, damping, rest, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("stiffness"), *stiffness, Must::NotBeNegative);
                    self.number(at.key("damping"), *damping, Must::NotBeNegative);
                    self.number(at.key("rest"), *rest, Must::BeFinite);
                }
                Coupling::Clutch { joints, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                }
                Coupling::Brake { joint, .. } => self.joint_name(&index, at.key("joint"), joint),
                Coupling::OneWayClutch { joints, lock_factor, .. } => {
                    self.joint_names(&index, at.key("joints"), &[&joints[0], &joints[1]]);
                    self.number(at.key("lock_factor"), *lock_factor, Must::BeAtLeast(1.0));
                }
            }
            if let Some((law, load)) = coupling.friction() {
                self.law(at.key("friction"), law);
                self.load(at.key("load"), load);
                if !matches!(load, Load::Unit | Load::Constant(_) | Load::Signal { .. }) {
                    let reason = format!("`{}` has no reaction to take its load from", coupling.name());
                    self.report(at.key("load"), reason, "write `Unit`, `Constant(…)` or `Signal(max: …, signal: …)`");
                }
            }
        }
    }

    /// Two different joints with one coordinate each.
    fn joint_names(&mut self, index: &HashMap<&str, usize>, at: At, names: &[&str; 2]) {
        for (i, name) in names.iter().enumerate() {
            self.joint_name(index, at.index(i), name);
        }
        if names[0] == names[1] {
            self.report(at.index(1), format!("`{}` is coupled to itself", names[1]), "name two different joints");
        }
    }

    fn joint_name(&mut self, index: &HashMap<&str, usize>, at: At, name: &str) {
        let joints = &self.scene.joints;
        match index.get(name) {
            Some(&j) if joints[j].kind.is_single() => {}
            Some(&j) => {
                let reason = format!("`{name}` is `{}`: it has no coordinate to couple", kind_name(&joints[j].kind));
                self.report(at, reason, "name a `Revolute` or `Prismatic` joint");
            }
            None => {
                let help = self.suggest(name, joints.iter().map(|joint| joint.name.as_str()));
                self.report(at, format!("there is no joint `{name}`"), help);
            }
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
                Some(law) => self.doubtful_law(at.key("friction"), law),
                None if joint.load != Load::Unit => {
                    let reason = format!("`{}` has a load but no friction for it to scale", joint.name);
                    self.report(at.key("load"), reason, "add `friction: …`, or leave `load` out");
                }
                None => {}
            }
        }
        for (i, coupling) in scene.couplings.iter().enumerate() {
            let at = couplings.index(i);
            if let Some((law, _)) = coupling.friction() {
                self.doubtful_law(at.key("friction"), law);
            }
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

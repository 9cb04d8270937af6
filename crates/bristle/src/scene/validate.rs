//! Errors of meaning, which the types do not exclude: values out of range, dangling names, joints that make no tree.

mod couplings;
mod gears;
mod joint;
mod limits;
mod link;
mod names;
mod settings;
mod signal;
mod tree;
mod warnings;

use super::Scene;
use super::error::{Help, Level, MAX_PROBLEMS, Problem, SceneError, did_you_mean};
use super::origin::{Document, Step};
use super::unreadable::Unreadable;
use joint::kind_name;

/// The fields with settings of the whole scene, which are checked together.
const SETTINGS: [&str; 6] = ["version", "gravity", "formulation", "solver", "duration", "output"];

impl Scene {
    /// Check the whole scene, and report all errors of meaning at once.
    pub fn validate(&self) -> Result<(), SceneError> {
        if self.version != 1 {
            let reason = format!("version {} of the format is not known", self.version);
            return Err(self.problem("version", reason, "this program reads version 1").into());
        }
        let problems = self.problems_of_meaning(&Unreadable::default());
        if problems.is_empty() { Ok(()) } else { Err(SceneError { problems }) }
    }

    /// The errors of meaning of a scene with placeholders, without those that may follow from a placeholder.
    pub(crate) fn problems_of_meaning(&self, unreadable: &Unreadable) -> Vec<Problem> {
        let mut check = Check { scene: self, unreadable, problems: Vec::new() };
        check.settings();
        check.names();
        check.links();
        check.joints();
        check.tree();
        check.couplings();
        check.into_problems()
    }

    /// Parts of a valid scene that its author may not intend: laws that can feed energy in, loads that scale nothing.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut check = Check { scene: self, unreadable: &Unreadable::default(), problems: Vec::new() };
        check.warnings();
        let mut problems = check.into_problems();
        problems.iter_mut().for_each(|problem| problem.level = Level::Warning);
        problems
    }
}

/// A place in a scene, as the path to it.
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

/// The range that a number must lie in.
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
    unreadable: &'s Unreadable,
    problems: Vec<Problem>,
}

impl<'s> Check<'s> {
    /// Report a value that does not fit the other fields of its link, joint or coupling, or the other settings.
    fn report(&mut self, at: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_readable(|unreadable, document| {
            let steps = at.steps();
            let around = match steps[..] {
                [Step::Key("links" | "joints" | "couplings"), element @ Step::Index(_), ..] => vec![steps[0], element],
                [Step::Key("links" | "joints" | "couplings"), ..] => vec![steps[0]],
                _ => Vec::new(),
            };
            match around[..] {
                [] => SETTINGS.iter().any(|key| unreadable.touches(document, &[Step::Key(key)])),
                _ => unreadable.touches(document, &around),
            }
        }) {
            self.push(at, reason, help);
        }
    }

    /// Report a value that is wrong by itself.
    fn report_alone(&mut self, at: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_readable(|unreadable, document| unreadable.touches(document, &at.steps())) {
            self.push(at, reason, help);
        }
    }

    /// Report one part of a value that does not fit the other parts.
    fn report_part(&mut self, whole: At, part: At, reason: impl Into<String>, help: impl Into<Help>) {
        if self.is_readable(|unreadable, document| unreadable.touches(document, &whole.steps())) {
            self.push(part, reason, help);
        }
    }

    /// Whether the given field was read from the file for all elements of a list.
    fn knows(&self, list: &str, field: &str) -> bool {
        self.is_readable(|unreadable, document| unreadable.hides(document, list, field))
    }

    /// Whether a value is given by an override.
    fn is_override(&self, at: At) -> bool {
        let document = self.scene.origin.0.as_deref();
        document.is_some_and(|document| document.sources.is_override(document.place(&at.steps())))
    }

    /// Whether the file or an override gives a value.
    fn is_given(&self, at: At) -> bool {
        let document = self.scene.origin.0.as_deref();
        document.is_some_and(|document| document.deepest(&at.steps()).1)
    }

    /// Whether a question about placeholders is answered with no.
    fn is_readable(&self, is_unreadable: impl Fn(&Unreadable, &Document) -> bool) -> bool {
        let document = self.scene.origin.0.as_deref();
        self.unreadable.is_empty() || !document.is_some_and(|document| is_unreadable(self.unreadable, document))
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

    /// A suggestion of similar names; empty when no further problems are kept.
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

    /// Whether a number lies in its range; if not, it is reported.
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
}

/// To seven digits, for a message.
fn rounded(x: f64) -> f64 {
    format!("{x:.6e}").parse().unwrap_or(x)
}

//! Options that change what a scene says: each is an override of the file, checked and refused like the file itself.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::sweep::Range;
use bristle::scene::{Advice, Control, SceneError};
use bristle::urdf::{self, FrictionFile, Import, Options};
use bristle::{Scene, Simulation};
use clap::Args;
use std::path::{Path, PathBuf};

/// Values in place of the scene's.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "In place of what the scene says")]
pub struct Settings {
    /// Simulated time, s
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    until: Option<String>,
    /// Integration method, such as Dopri5, Rk4, Radau5 or 'GeneralizedAlpha(spectral_radius: 0.6)'
    #[arg(long, value_name = "M")]
    method: Option<String>,
    /// Step control, such as 'Error(rtol: 1e-9, atol: 1e-9)' or 'Constant(step: 1e-3)'
    #[arg(long, value_name = "C", conflicts_with_all = ["step", "rtol", "atol"])]
    control: Option<String>,
    /// Constant step, s: short for --control 'Constant(step: H)'
    #[arg(long, value_name = "H", allow_hyphen_values = true, conflicts_with_all = ["rtol", "atol"])]
    step: Option<String>,
    /// Relative tolerance of step control by error
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    rtol: Option<String>,
    /// Absolute tolerance of step control by error
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    atol: Option<String>,
    /// Implicit, Jerk or Residual
    #[arg(long, value_name = "F")]
    formulation: Option<String>,
    /// A friction file: laws and loads by joint name, such as { "elbow": (friction: Coulomb(coulomb: 0.3)) }
    #[arg(long, value_name = "FILE")]
    friction: Option<PathBuf>,
    /// Let the root link of a URDF robot float instead of fixing it to the world
    #[arg(long)]
    floating: bool,
    /// Leave out the limits of a URDF robot: no stops at the ends of ranges, no largest efforts
    #[arg(long)]
    no_limits: bool,
    /// Refuse whatever of a URDF robot is repaired, or left over and bears on motion; scenes are always read so
    #[arg(long)]
    strict: bool,
    /// Any value by its path, such as joints.elbow.friction.coulomb=0.3; may be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// Paths in a scene that `--with` gives a value.
    #[arg(skip)]
    with: Vec<String>,
}

/// `path=value`, split.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() && !value.trim().is_empty() => {
            Ok((path.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as path=value, such as joints.elbow.damping=0.1".into()),
    }
}

impl Settings {
    /// Settings from one text, `key=value` separated by commas: the names are those of the options (`method=Rk4`,
    /// `step=1e-3`, `rtol=1e-9`) or paths as `--set` takes them. Commas inside parentheses separate nothing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for part in split_outside_brackets(text, ',').into_iter().filter(|part| !part.trim().is_empty()) {
            let (key, value) = assignment(part).map_err(|help| format!("`{}`: {help}", part.trim()))?;
            let path = match key.as_str() {
                "until" => "duration",
                "method" => "solver.method",
                "control" | "step" | "rtol" | "atol" => "solver.control",
                path => path,
            };
            settings.with.push(path.to_owned());
            match key.as_str() {
                "until" => settings.until = Some(value),
                "method" => settings.method = Some(value),
                "control" => settings.control = Some(value),
                "step" => settings.step = Some(value),
                "rtol" => settings.rtol = Some(value),
                "atol" => settings.atol = Some(value),
                "formulation" => settings.formulation = Some(value),
                "friction" => settings.friction = Some(value.into()),
                _ => settings.set.push((key, value)),
            }
        }
        let rules = [settings.control.is_some(), settings.step.is_some(), settings.has_tolerances()];
        if rules.iter().filter(|&&is_given| is_given).count() > 1 {
            return Err("`control`, `step` and the tolerances exclude one another: give one of them".into());
        }
        Ok(settings)
    }

    /// These, and where they say nothing, `others`.
    pub fn or(&self, others: &Self) -> Self {
        let of_step =
            |settings: &Self| settings.control.is_some() || settings.step.is_some() || settings.has_tolerances();
        // step control is one choice
        let step = if of_step(self) { self } else { others };
        Self {
            until: self.until.clone().or_else(|| others.until.clone()),
            method: self.method.clone().or_else(|| others.method.clone()),
            control: step.control.clone(),
            step: step.step.clone(),
            rtol: step.rtol.clone(),
            atol: step.atol.clone(),
            formulation: self.formulation.clone().or_else(|| others.formulation.clone()),
            friction: self.friction.clone().or_else(|| others.friction.clone()),
            floating: self.floating || others.floating,
            strict: self.strict || others.strict,
            no_limits: self.no_limits || others.no_limits,
            // later ones win
            set: others.set.iter().chain(&self.set).cloned().collect(),
            with: self.with.iter().chain(&others.with).cloned().collect(),
        }
    }

    /// Takes those of `--set` out that are ranges, FROM:TO:N.
    pub fn take_ranges(&mut self) -> Result<Vec<Range>, String> {
        let mut ranges: Vec<Range> = Vec::new();
        let mut rest: Vec<(String, String)> = Vec::new();
        for (path, value) in self.set.drain(..) {
            match Range::parse(&path, &value) {
                Some(range) => ranges.push(range?),
                None => rest.push((path, value)),
            }
        }
        match rest.iter().find(|(path, _)| ranges.iter().any(|range| range.path == *path)) {
            Some((path, _)) => Err(format!("`{path}` is given a range and a value: keep one of them")),
            None => {
                self.set = rest;
                Ok(ranges)
            }
        }
    }

    /// The friction file, where there is one.
    pub fn friction_file(&self) -> Option<&Path> {
        self.friction.as_deref()
    }

    /// Another `--set`.
    pub fn put(&mut self, path: &str, value: String) {
        self.set.push((path.to_owned(), value));
    }

    fn has_tolerances(&self) -> bool {
        self.rtol.is_some() || self.atol.is_some()
    }

    /// A scene error in the words of the command line: an override goes by the option it came from, and what to write
    /// instead by the option to give.
    pub fn in_options(&self, mut error: SceneError) -> SceneError {
        for problem in &mut error.problems {
            let Some(path) = problem.overridden.as_deref() else { continue };
            let is_set = self.set.iter().any(|(set, _)| set == path);
            let is_with = self.with.iter().any(|with| with == path);
            problem.file = match path {
                _ if is_with => "--with",
                _ if is_set => "--set",
                "duration" => "--until",
                "solver.method" => "--method",
                "formulation" => "--formulation",
                "solver.control" if self.step.is_some() => "--step",
                "solver.control" if self.control.is_some() => "--control",
                "solver.control" if self.rtol.is_none() || problem.path.ends_with("atol") => "--atol",
                "solver.control" => "--rtol",
                _ => "--set",
            }
            .into();
            for advice in &mut problem.help.0 {
                let Advice::Set { path, value } = *advice else { continue };
                let (option, value) = match path {
                    "solver.method" => ("method", value),
                    "solver.control" => ("step", "1e-3"),
                    _ => (path, value),
                };
                let text =
                    if is_with { format!("write `{option}={value}`") } else { format!("give `--{option} {value}`") };
                *advice = Advice::Text(text);
            }
        }
        error
    }

    /// The machine of a scene with these values; its errors in the words of the command line.
    pub fn simulation(&self, scene: &Scene) -> bristle::Result<Simulation> {
        Simulation::new(scene).map_err(|error| match error {
            bristle::Error::Scene(error) => self.in_options(error).into(),
            error => error,
        })
    }

    /// The scene with these values in their places, from RON or URDF.
    pub fn load(&self, path: &Path) -> Result<Scene, SceneError> {
        self.import(path).map(|import| import.scene)
    }

    /// The same, with the imported elements of a robot.
    pub fn import(&self, path: &Path) -> Result<Import, SceneError> {
        self.import_with(path, self.overrides(path)).map_err(|error| self.in_options(error))
    }

    fn import_with(&self, path: &Path, overrides: Vec<(String, String)>) -> Result<Import, SceneError> {
        let friction = self.friction.as_ref().map(FrictionFile::load).transpose()?;
        urdf::load_scene(
            path,
            &Options { floating: self.floating, strict: self.strict, no_limits: self.no_limits, friction, overrides },
        )
    }

    /// Paths in a scene file, and the values in their places.
    pub fn overrides(&self, path: &Path) -> Vec<(String, String)> {
        let mut overrides = self.set.clone();
        let control = match (&self.control, &self.step) {
            (Some(control), _) => Some(control.clone()),
            (None, Some(step)) => Some(format!("Constant(step: {step})")),
            (None, None) if self.has_tolerances() => {
                // a tolerance that is not given keeps the scene's value, or else the default
                let (mut r, mut a) = (1e-8, 1e-10);
                if let Ok(import) = self.import_with(path, overrides.clone())
                    && let Control::Error { rtol, atol } = import.scene.control()
                {
                    (r, a) = (rtol, atol);
                }
                let (r, a) = (format!("{r:?}"), format!("{a:?}"));
                let (rtol, atol) = (self.rtol.as_ref().unwrap_or(&r), self.atol.as_ref().unwrap_or(&a));
                Some(format!("Error(rtol: {rtol}, atol: {atol})"))
            }
            (None, None) => None,
        };
        let given = [
            ("duration", &self.until),
            ("solver.method", &self.method),
            ("solver.control", &control),
            ("formulation", &self.formulation),
        ];
        overrides.extend(given.iter().filter_map(|(path, value)| Some(((*path).to_owned(), (*value).clone()?))));
        overrides
    }
}

/// The parts between separators that stand in no bracket and no quotes.
pub fn split_outside_brackets(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0_i32, false);
    for (k, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' | '[' if !is_quoted => depth = depth.saturating_add(1),
            ')' | ']' if !is_quoted => depth = depth.saturating_sub(1),
            _ if letter == separator && !is_quoted && depth <= 0 => {
                parts.push(&text[start..k]);
                start = k.saturating_add(letter.len_utf8());
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_separate_nothing() {
        let parts = split_outside_brackets("method=Rk4, gravity=(0, 0, -1.6),name=\"a, b\"", ',');
        assert_eq!(parts, ["method=Rk4", " gravity=(0, 0, -1.6)", "name=\"a, b\""]);
    }

    #[test]
    fn one_text_names_options_and_paths() {
        let settings = Settings::parse("method=Rk4,step=1e-3, joints.elbow.damping = 0.1").unwrap();
        assert_eq!((settings.method.as_deref(), settings.step.as_deref()), (Some("Rk4"), Some("1e-3")));
        assert_eq!(settings.set, [("joints.elbow.damping".to_owned(), "0.1".to_owned())]);
        assert!(Settings::parse("step=1e-3,rtol=1e-9").is_err() && Settings::parse("method").is_err());
    }

    #[test]
    fn settings_of_one_side_win_over_common_ones() {
        let common = Settings::parse("rtol=1e-6,until=3,method=Rk4").unwrap();
        let both = Settings::parse("step=0.1,method=Euler").unwrap().or(&common);
        assert_eq!((both.rtol, both.step.as_deref()), (None, Some("0.1")));
        assert_eq!((both.until.as_deref(), both.method.as_deref()), (Some("3"), Some("Euler")));
    }
}

//! Free parameters: their bounds, and the scale in which a fit moves them.
//!
//! ```text
//! u = ln p                      bounds above zero: a level is known by its factor
//! u = p / s                     else, with s the start, or a tenth of the range
//! stiction = coulomb + excess   a level above another one keeps above it, with a gradient
//! ```

use crate::error::{Error, Result};
use crate::scene::{Problem, Scene, SceneError};

/// The number of a scene or of a log that a parameter changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Role {
    /// Numbers of the scene, all of the same value.
    Paths(Vec<String>),
    /// Numbers of the scene, each above another one by the value.
    Excess(Vec<(String, String)>),
    /// The delay of a log, s.
    Delay(Vec<usize>),
    /// A number of the scene in one log: an initial state.
    Initial { log: usize, path: String },
}

/// A free parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name: the path in the scene; `logs.0.delay` and `logs.0.joints.x.position` belong to a log.
    pub path: String,
    /// Start of the fit.
    pub start: f64,
    /// Bounds.
    pub bounds: (f64, f64),
    /// Mean and standard deviation that are known beforehand.
    pub prior: Option<(f64, f64)>,
    pub(crate) role: Role,
}

impl Parameter {
    /// The numbers it moves, each by one name.
    pub(crate) fn moves(&self) -> Vec<String> {
        match &self.role {
            Role::Paths(paths) => paths.clone(),
            Role::Excess(pairs) => pairs.iter().map(|(path, _)| path.clone()).collect(),
            Role::Delay(logs) => logs.iter().map(|log| format!("logs.{log}.delay")).collect(),
            Role::Initial { log, path } => vec![format!("logs.{log}.{path}")],
        }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.bounds.0 > 0.0
    }

    /// s of u = p / s.
    fn scale(&self) -> f64 {
        let range = 0.1 * (self.bounds.1 - self.bounds.0);
        let size = if self.start == 0.0 || range < self.start.abs() { range } else { self.start.abs() };
        if size.is_finite() && size > 0.0 { size } else { 1.0 }
    }

    pub(crate) fn scaled(&self, p: f64) -> f64 {
        if self.is_log() { p.ln() } else { p / self.scale() }
    }

    pub(crate) fn unscaled(&self, u: f64) -> f64 {
        let p = if self.is_log() { u.exp() } else { u * self.scale() };
        p.clamp(self.bounds.0, self.bounds.1)
    }

    /// dp/du at p.
    pub(crate) fn slope(&self, p: f64) -> f64 {
        if self.is_log() { p } else { self.scale() }
    }

    /// Refuses bounds that are none, and a start outside of them.
    pub(crate) fn check(&self, scene: &Scene) -> Result<()> {
        let (low, high) = self.bounds;
        let refuse = |reason: String| Err(refusal(scene, &self.path, reason, "write `Free(start, (low, high))`"));
        if low >= high || low.is_nan() || high.is_nan() {
            return refuse(format!("the bounds ({low:?}, {high:?}) of `{}` are none: low < high", self.path));
        }
        if !(low..=high).contains(&self.start) {
            return refuse(format!(
                "the start {:?} of `{}` is outside its bounds ({low:?}, {high:?})",
                self.start, self.path
            ));
        }
        if let Some((mean, deviation)) = self.prior {
            if !(deviation > 0.0 && (deviation * deviation).is_normal()) {
                return refuse(format!("the deviation {deviation:?} of the prior of `{}` must be positive", self.path));
            }
            if !mean.is_finite() {
                return refuse(format!("the mean {mean:?} of the prior of `{}` must be finite", self.path));
            }
        }
        Ok(())
    }
}

/// A refusal that names a path.
pub(crate) fn refusal(scene: &Scene, path: &str, reason: String, help: &str) -> Error {
    let file = scene.origin.file().unwrap_or("fit");
    Error::from(SceneError::from(Problem::without_place(file, path, reason, help.to_owned())))
}

/// The paths that a pattern with `*` in place of names stands for; a path without one stands for itself.
pub(crate) fn expand(scene: &Scene, pattern: &str) -> Result<Vec<String>> {
    let parts: Vec<&str> = pattern.split('.').collect();
    let Some(k) = parts.iter().position(|part| part.contains('*')) else { return Ok(vec![pattern.to_owned()]) };
    let names: Vec<&str> = match parts[..k] {
        ["joints"] => scene.joints.iter().map(|joint| joint.name.as_str()).collect(),
        ["links"] => scene.links.iter().map(|link| link.name.as_str()).collect(),
        ["couplings"] => scene.couplings.iter().map(|coupling| coupling.name()).collect(),
        _ => vec![],
    };
    let (before, after) = parts[k].split_once('*').unwrap_or((parts[k], ""));
    let fits =
        |name: &&str| name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after);
    let rest = parts[k + 1..].join(".");
    let mut found = Vec::new();
    for name in names.into_iter().filter(fits) {
        let path = format!("{}.{name}.{rest}", parts[..k].join("."));
        // joints that have no such law or drive are left out
        if scene.with_numbers(&[(path.clone(), scene.number(&path).unwrap_or(0.0))]).is_ok() {
            found.push(path);
        }
    }
    if found.is_empty() {
        let help = "`*` stands for names of links, joints or couplings: `joints.*.friction.coulomb`";
        return Err(refusal(scene, pattern, format!("`{pattern}` stands for nothing in this scene"), help));
    }
    Ok(found)
}

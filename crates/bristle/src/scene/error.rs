//! Problems of a scene: reason, place and correction.

use std::borrow::Cow;
use std::fmt;

use super::span::{Position, Sources, Span};

/// A scene that was refused: every problem that could be found, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneError {
    /// The problems; never empty.
    pub problems: Vec<Problem>,
}

/// Severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The scene cannot be used.
    Error,
    /// The scene can be used, but may not mean what its author thinks.
    Warning,
}

/// One thing wrong with a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Severity.
    pub level: Level,
    /// File as it was named by the caller; `override` for an override; `scene` for one made in code.
    pub file: String,
    /// Line and column, from 1; `None` where there is no text to point at.
    pub position: Option<Position>,
    /// The line pointed at, cut to a readable length.
    pub line: String,
    /// The marked characters of `line`: first, number.
    pub mark: (usize, usize),
    /// Path in the scene, such as `joints.elbow.friction.coulomb`; of a text that cannot be read the field alone; may
    /// be empty.
    pub path: String,
    /// The reason.
    pub reason: String,
    /// The path of the override in which the problem is; `None` where it is in a file or in code.
    pub overridden: Option<String>,
    /// The correction; may be empty.
    pub help: Help,
}

/// A correction: parts of a sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Help(pub Vec<Advice>);

/// A part of a [`Help`].
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// As it is.
    Text(String),
    /// To set a value on top of the file; a command line has its own way to say so.
    Set {
        /// The value's path, such as `solver.method`.
        path: &'static str,
        /// The value, as a scene spells it.
        value: &'static str,
    },
}

impl Help {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One more part.
    pub(crate) fn and(mut self, text: impl Into<Help>) -> Self {
        self.0.extend(text.into().0);
        self
    }

    /// To set a value on top of the file.
    pub(crate) fn set(path: &'static str, value: &'static str) -> Self {
        Self(vec![Advice::Set { path, value }])
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Advice::Text(text)] })
    }
}

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|advice| match advice {
            Advice::Text(text) => f.write_str(text),
            Advice::Set { path, value } => write!(f, "set `{path}={value}`"),
        })
    }
}

/// Maximum number of problems that are kept.
pub(crate) const MAX_PROBLEMS: usize = 100;

/// Characters of the source line shown before and after the mark.
const CONTEXT: usize = 90;

impl Problem {
    /// A problem without a place in any text.
    pub(crate) fn without_place(file: &str, path: &str, reason: String, help: impl Into<Help>) -> Self {
        Self {
            level: Level::Error,
            file: file.to_owned(),
            position: None,
            line: String::new(),
            mark: (0, 0),
            path: path.to_owned(),
            reason,
            overridden: None,
            help: help.into(),
        }
    }

    /// A problem at a place.
    pub(crate) fn at(sources: &Sources, span: Span, reason: String, help: impl Into<Help>) -> Self {
        let source = &sources.0[span.source as usize];
        let position = source.position(span.start as usize);
        let line = source.line(position.line);
        let column = (span.start as usize).saturating_sub(source.line_start(position.line));
        let (before, after) = line.split_at(column.min(line.len()));

        // the line, or the part of a long one near the mark
        let (lead, trail) =
            if line.chars().nth(2 * CONTEXT).is_none() { (usize::MAX, usize::MAX) } else { (CONTEXT, CONTEXT) };
        let cut = before.char_indices().rev().nth(lead.saturating_sub(1)).map_or(0, |c| c.0);
        let shown = before[cut..].chars().count();
        let from = shown.saturating_add(usize::from(cut > 0));

        // the marked characters: up to the end of the span or of the line, at least one
        let marked = sources.text(span).chars().take(CONTEXT).take_while(|&c| c != '\n' && c != '\r').count();
        let end = after.char_indices().nth(trail).map_or(after.len(), |c| c.0);
        let mark = (from, marked.clamp(1, after[..end].chars().count().max(1)));

        let (front, back) = (if cut > 0 { "…" } else { "" }, if end < after.len() { "…" } else { "" });
        let line: String = [front, &before[cut..], &after[..end], back].concat();
        let line = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();

        let (level, file, path) = (Level::Error, source.name.clone(), String::new());
        let overridden =
            sources.is_override(span).then(|| source.text.split('=').next().unwrap_or_default().to_owned());
        Self { level, file, position: Some(position), line, mark, path, reason, overridden, help: help.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.level == Level::Error { "error" } else { "warning" };
        write!(f, "{level}: {}", printable(&self.reason))?;
        let mut margin = 1;
        if let Some(Position { line, column }) = self.position {
            let number = line.to_string();
            margin = number.len();
            write!(f, "\n{:margin$}--> {}:{line}:{column}", "", printable(&self.file))?;
            write!(f, "\n{:margin$} |\n{number} | {}", "", self.line.trim_end())?;
            let mut letters = self.line.chars();
            let from: usize = letters.by_ref().take(self.mark.0).map(cells).sum();
            let length: usize = letters.take(self.mark.1).map(cells).sum::<usize>().max(1);
            write!(f, "\n{:margin$} | {:from$}{:^<length$}", "", "", "")?;
        } else {
            write!(f, "\n --> {}", printable(&self.file))?;
            if !self.path.is_empty() {
                write!(f, ": {}", printable(&self.path))?;
            }
        }
        if !self.help.is_empty() {
            write!(f, "\n{:margin$} = {}", "", printable(&self.help.to_string()))?;
        }
        Ok(())
    }
}

/// A text of one or more lines for a terminal: control characters, which could move its cursor or change its title,
/// and marks that turn the direction of writing are shown by their numbers, `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| {
        c == '\n' || c == '\t' || !(c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    if text.chars().all(is_plain) {
        return text.into();
    }
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// Number of cells that a letter takes in a terminal: East Asian letters and pictures two, accents on the letter
/// before none.
fn cells(letter: char) -> usize {
    match u32::from(letter) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                write!(f, "\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        if self.problems.len() >= MAX_PROBLEMS {
            write!(f, "\n\nthere may be more problems than these {MAX_PROBLEMS}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}
impl std::error::Error for SceneError {}

impl From<Problem> for SceneError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// The candidates a misspelt name was probably meant to be: the nearest one, or several equally near.
pub(crate) fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // longer names than these are not misspelt but something else
    if name.is_empty() || name.len() > 64 {
        return Vec::new();
    }
    let lower = name.to_lowercase();
    let length = name.chars().count();
    let allowed = match length {
        1 => 0, // any letter would do
        _ => (length / 3).max(1).saturating_mul(EDIT),
    };
    let (mut best, mut nearest) = (Vec::new(), allowed);
    for candidate in candidates {
        let other = candidate.to_lowercase();
        let begins = lower.len() >= 3 && (other.starts_with(&lower) || lower.starts_with(&other));
        if !begins && other.chars().count().abs_diff(length).saturating_mul(EDIT) > allowed {
            continue;
        }
        let mut distance = edit_distance(&lower, &other);
        if distance > allowed && begins {
            distance = allowed; // `stribeck` for `stribeck_velocity`
        }
        if distance < nearest {
            best.clear();
        }
        if distance <= nearest {
            nearest = distance;
            best.push(candidate);
        }
    }
    best
}

/// Cost of an insertion, deletion or replacement; two swapped neighbours, the commonest slip, cost 1.
const EDIT: usize = 2;

/// The cheapest way to turn `a` into `b`.
#[expect(clippy::arithmetic_side_effects, reason = "`a` has 64 letters at most, `b` 32 more: see the first lines")]
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 32 {
        return usize::MAX;
    }
    // three rows of the usual table: two rows back for swaps, one back, and the current one
    let (mut before, mut last): (Vec<usize>, Vec<usize>) =
        (vec![0; b.len() + 1], (0..=b.len()).map(|j| EDIT * j).collect());
    for i in 1..=a.len() {
        let mut row = vec![EDIT * i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + EDIT * usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + EDIT).min(row[j - 1] + EDIT);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// "did you mean `x`?", or the names there are, or nothing.
pub(crate) fn did_you_mean(name: &str, what: &str, candidates: &[&str]) -> String {
    // a name that is there twice is suggested once
    let mut seen = std::collections::HashSet::new();
    let candidates: Vec<&str> = candidates.iter().copied().filter(|candidate| seen.insert(*candidate)).collect();
    match &closest(name, candidates.iter().copied())[..] {
        [] => {}
        [one] => return format!("did you mean `{one}`?"),
        [one, other] => return format!("did you mean `{one}` or `{other}`?"),
        [one, other, ..] => return format!("did you mean `{one}`, `{other}`, …?"),
    }
    match candidates[..] {
        [] => String::new(),
        _ if candidates.len() > 20 => String::new(),
        _ => format!("{what}: {}", candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near_and_only_near() {
        let names = ["sigma0", "sigma1", "coulomb", "stribeck_velocity", "mass"];
        assert_eq!(closest("sigma_0", names), ["sigma0"]);
        assert_eq!(closest("Colomb", names), ["coulomb"]);
        assert_eq!(closest("mas", names), ["mass"]);
        assert_eq!(closest("amss", names), ["mass"]);
        assert_eq!(closest("stribeck", names), ["stribeck_velocity"]);
        assert_eq!(closest("sigma2", names), ["sigma0", "sigma1"]);
        assert_eq!(closest("iyx", ["ixx", "iyy", "ixy"]), ["ixy"]);
        assert_eq!(did_you_mean("mas", "there are", &["mass", "mass"]), "did you mean `mass`?");
        assert_eq!(did_you_mean("wheel", "there are", &["arm", "arm", "leg"]), "there are: `arm`, `leg`");
        assert!(closest("wheel", names).is_empty() && closest("x", ["z", "w"]).is_empty());
    }
}

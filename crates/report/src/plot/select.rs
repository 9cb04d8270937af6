//! Which channels a picture shows: by name, by pattern, or the usual ones.
//!
//! In a pattern `*` stands for any characters, `?` for one, everything else for itself.

use super::phases::{self, Slow};
use super::quantity::{Channel, Motions, Quantity};
use crate::results::Results;
use anyhow::{Result, bail};
use bristle::Scene;
use bristle_plot::decimate::is_drawable;

/// Curves of one panel unless more are asked for: beyond a dozen, colours and legend tell nothing apart.
pub const MAX_CURVES: usize = 12;

/// Part of the range of the values in a panel by which a stop may lie outside it and still be drawn: an impact may be
/// between two rows, and far stops would press the curves flat.
const NEAR: f64 = 0.1;

/// Selection from a table of results.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Names and patterns; the usual channels where there are none.
    pub patterns: Vec<String>,
    /// Kinds of the joints, for units, where they are known.
    pub motions: Motions,
    /// Joints and couplings with bristles, for stick phases, where they are known.
    pub bristles: Vec<Slow>,
    /// Joints with stops and the bounds of their positions, where they are known.
    pub stops: Vec<(String, Vec<f64>)>,
    /// Stands over the picture; nothing does if it is empty.
    pub title: String,
    /// Times between which to show, s; all of them where `None`.
    pub from: Option<f64>,
    /// The later of them.
    pub to: Option<f64>,
}

impl Selection {
    /// The usual channels, with the facts of a scene: units, bristles, stops, its name as the title.
    pub fn of(scene: &Scene) -> Self {
        let bounds = |joint: &bristle::scene::Joint| {
            let limits = joint.limits.as_ref()?;
            Some((joint.name.clone(), limits.lower.into_iter().chain(limits.upper).collect()))
        };
        Self {
            motions: Motions::of(scene),
            bristles: phases::bristles(scene),
            stops: scene.joints.iter().filter_map(bounds).collect(),
            title: scene.name.clone(),
            ..Self::default()
        }
    }
}

/// Curves that share an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Their quantity.
    pub title: String,
    /// Their unit; empty for pure numbers.
    pub unit: &'static str,
    /// Whether the stick phases of their joints belong in it.
    pub is_of_joints: bool,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Number of channels of the same kind that were left out.
    pub left_out: usize,
}

/// One channel in a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Column of the table.
    pub column: usize,
    /// Name in the legend; empty where the title says it all.
    pub label: String,
    /// Joint it belongs to.
    pub owner: String,
    /// Number of its colour.
    pub color: usize,
    /// Stops of the joint that are near its motion, if the curve is a position.
    pub bounds: Vec<f64>,
}

/// The panels of a selection, in order: one for each quantity and unit. Refuses patterns that match nothing.
pub fn panels(results: &Results, selection: &Selection) -> Result<Vec<Panel>> {
    let is_usual = selection.patterns.is_empty();
    let columns = if is_usual { usual(results) } else { chosen(results, &selection.patterns)? };

    // one panel for each quantity and unit
    let mut groups: Vec<Group<'_>> = Vec::new();
    for column in columns {
        let channel = Channel::of(&results.names[column], &selection.motions);
        let key = (channel.quantity, channel.unit);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push((column, channel)),
            None => groups.push((key, vec![(column, channel)])),
        }
    }
    groups.sort_by_key(|group| group.0.0);

    // a joint keeps its colour from panel to panel
    let mut owners: Vec<&str> = Vec::new();
    for (_, channel) in groups.iter().flat_map(|group| &group.1) {
        if channel.owner != "energy" && !owners.contains(&channel.owner) {
            owners.push(channel.owner);
        }
    }
    let panel = |((quantity, unit), mut channels): Group<'_>| {
        let left_out = if is_usual { channels.len().saturating_sub(MAX_CURVES) } else { 0 };
        channels.truncate(channels.len() - left_out);
        let one_each = (1..channels.len()).all(|k| channels[k].1.owner != channels[k - 1].1.owner);
        let of_joints = !matches!(quantity, Quantity::Energy | Quantity::Balance | Quantity::Other);
        let values = channels.iter().flat_map(|(column, _)| results.columns[*column].iter().copied());
        let (low, high) = values
            .filter(|x| is_drawable(*x))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let margin = NEAR * (high - low);
        let curves = channels.iter().enumerate().map(|(k, (column, channel))| {
            let owner = owners.iter().position(|owner| *owner == channel.owner);
            let color = if one_each && of_joints { owner.unwrap_or(k) } else { k };
            let name = results.names[*column].as_str();
            let label = match quantity {
                // the title says the rest, or all of it
                Quantity::Balance => "",
                Quantity::Energy => name.strip_prefix("energy.").unwrap_or(name),
                _ if of_joints && one_each => channel.owner,
                _ => name,
            };
            let stops = selection.stops.iter().filter(|stop| quantity == Quantity::Position && stop.0 == channel.owner);
            let is_near = |bound: &f64| low - margin <= *bound && *bound <= high + margin;
            let bounds = stops.flat_map(|stop| stop.1.iter().copied()).filter(is_near).collect();
            Curve { column: *column, label: label.to_owned(), owner: channel.owner.to_owned(), color, bounds }
        });
        let curves = curves.collect();
        Panel { title: quantity.title().to_owned(), unit, is_of_joints: of_joints, curves, left_out }
    };
    Ok(groups.into_iter().map(panel).collect())
}

/// A quantity with its unit, and the channels that measure it.
type Group<'a> = ((Quantity, &'static str), Vec<(usize, Channel<'a>)>);

/// Positions, velocities, friction, loads and energies; energies that stay zero and loads that stay the same tell
/// nothing.
fn usual(results: &Results) -> Vec<usize> {
    let motions = Motions::default();
    let is_shown = |&k: &usize| {
        let values = &results.columns[k];
        let differs_from = |rest: f64| values.iter().any(|&x| is_drawable(x) && x != rest);
        match Channel::of(&results.names[k], &motions).quantity {
            Quantity::Energy => differs_from(0.0),
            Quantity::Load => differs_from(values.first().copied().unwrap_or(0.0)),
            quantity => quantity.is_usual(),
        }
    };
    let usual: Vec<usize> = (0..results.names.len()).filter(is_shown).collect();
    // a table of something else: all of it
    if usual.is_empty() { (0..results.names.len()).filter(|&k| results.names[k] != "t").collect() } else { usual }
}

/// Columns that match any of the patterns, in the order of the patterns, each once.
fn chosen(results: &Results, patterns: &[String]) -> Result<Vec<usize>> {
    let mut columns = Vec::new();
    let mut unknown = Vec::new();
    for pattern in patterns {
        if pattern == "t" {
            bail!("`t` is the axis of time; name a channel that is drawn over it");
        }
        let matching =
            (0..results.names.len()).filter(|&k| results.names[k] != "t" && matches(pattern, &results.names[k]));
        let before = columns.len();
        let mut is_known = false;
        for k in matching {
            is_known = true;
            if !columns[..before].contains(&k) {
                columns.push(k);
            }
        }
        if !is_known {
            unknown.push(explain(pattern, &results.names));
        }
    }
    if unknown.is_empty() { Ok(columns) } else { bail!("{}", unknown.join("\n")) }
}

/// Advice for a pattern that matches nothing.
pub fn explain(pattern: &str, names: &[String]) -> String {
    let mut near: Vec<(usize, &String)> =
        names.iter().filter(|name| *name != "t").map(|name| (distance(pattern, name), name)).collect();
    near.sort();
    let limit = pattern.chars().count().max(6) / 2;
    let near: Vec<String> =
        near.into_iter().filter(|near| near.0 <= limit).take(3).map(|(_, name)| format!("`{name}`")).collect();
    let first = || {
        let first: Vec<String> =
            names.iter().filter(|name| *name != "t").take(6).map(|name| format!("`{name}`")).collect();
        first.join(", ")
    };
    if pattern.contains(['*', '?']) {
        return match meant(pattern, names) {
            Some(meant) => format!("no channel matches `{pattern}`; did you mean `{meant}`?"),
            None => format!("no channel matches `{pattern}`; there are {}, …", first()),
        };
    }
    match near.is_empty() {
        false => format!("there is no channel `{pattern}`; did you mean {}?", near.join(", ")),
        true => format!("there is no channel `{pattern}`; there are {}, …", first()),
    }
}

/// A pattern that matches something, where the part before or after its last dot is misspelt.
fn meant(pattern: &str, names: &[String]) -> Option<String> {
    let (owner, quantity) = pattern.rsplit_once('.')?;
    let parts = names.iter().filter_map(|name| name.rsplit_once('.'));
    let apart = |wanted: &str, there: &str| {
        let apart = distance(wanted, there);
        (!wanted.contains(['*', '?']) && apart <= wanted.chars().count() / 2).then_some(apart)
    };
    let owners = parts.clone().filter_map(|part| Some((apart(owner, part.0)?, format!("{}.{quantity}", part.0))));
    let quantities = parts.filter_map(|part| Some((apart(quantity, part.1)?, format!("{owner}.{}", part.1))));
    let matching = owners.chain(quantities).filter(|(_, meant)| names.iter().any(|name| matches(meant, name)));
    matching.min_by_key(|(apart, _)| *apart).map(|(_, meant)| meant)
}

/// Whether a name is as a pattern says. `*` is tried shortest first and lengthened on failure: no more than the product
/// of both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // the last star, and where what it stands for ends
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some('?') => (p, n) = (p + 1, n + 1),
            Some(c) if *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match &mut star {
                Some((at, end)) => {
                    *end += 1;
                    (p, n) = (*at + 1, *end);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Insertions, deletions and replacements that make one text another (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let replaced = diagonal + usize::from(c != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&str]) -> Results {
        let columns = (0..names.len()).map(|k| vec![0.0, k as f64]).collect();
        Results { names: names.iter().map(|name| (*name).to_owned()).collect(), columns, events: Vec::new() }
    }

    fn arm() -> Results {
        table(&[
            "t",
            "elbow.position",
            "elbow.velocity",
            "elbow.acceleration",
            "shoulder.position",
            "shoulder.velocity",
            "shoulder.friction",
            "energy.kinetic",
            "energy.balance",
        ])
    }

    fn select(patterns: &[&str]) -> Selection {
        Selection { patterns: patterns.iter().map(|p| (*p).to_owned()).collect(), ..Selection::default() }
    }

    fn titles(panels: &[Panel]) -> Vec<(&str, usize)> {
        panels.iter().map(|panel| (panel.title.as_str(), panel.curves.len())).collect()
    }

    #[test]
    fn patterns_match_as_said() {
        for (pattern, name, is_match) in [
            ("*.velocity", "elbow.velocity", true),
            ("*.velocity", "elbow.velocity.wx", false),
            ("elbow.*", "elbow.position", true),
            ("*a*b*", "xaxxbx", true),
            ("*a*b", "ab ab a", false),
            ("?", "é", true),
            ("?", "", false),
            ("**", "", true),
            ("a[b]", "a[b]", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
        // many stars end soon
        assert!(!matches(&"*a".repeat(30), &"a".repeat(29)));
    }

    #[test]
    fn the_usual_channels_have_a_panel_each() {
        let panels = panels(&arm(), &Selection::default()).unwrap();
        assert_eq!(
            titles(&panels),
            [("position", 2), ("velocity", 2), ("friction", 1), ("energy", 1), ("energy balance", 1)]
        );
        // the shoulder has one colour everywhere
        assert_eq!((panels[0].curves[1].color, panels[2].curves[0].color), (1, 1));
        assert_eq!(panels[0].curves[1].label, "shoulder");
    }

    #[test]
    fn constant_channels_are_left_out() {
        let mut table = table(&["t", "pin.load", "unit.load", "energy.elastic", "energy.kinetic"]);
        table.columns[2] = vec![1.0, 1.0];
        table.columns[3] = vec![0.0, 0.0];
        let panels = panels(&table, &Selection::default()).unwrap();
        assert_eq!(titles(&panels), [("normal load", 1), ("energy", 1)]);
        assert_eq!((panels[0].curves[0].label.as_str(), panels[1].curves[0].label.as_str()), ("pin", "kinetic"));
    }

    #[test]
    fn names_and_patterns_choose() {
        let arm = arm();
        let panels = panels(&arm, &select(&["*.velocity", "elbow.*"])).unwrap();
        assert_eq!(titles(&panels), [("position", 1), ("velocity", 2), ("acceleration", 1)]);
    }

    #[test]
    fn unmatched_selection_lists_channels() {
        let arm = arm();
        let message = |patterns: &[&str]| panels(&arm, &select(patterns)).unwrap_err().to_string();
        assert_eq!(message(&["elbow.velocty"]), "there is no channel `elbow.velocty`; did you mean `elbow.velocity`?");
        let all = "no channel matches `*.speed`; there are `elbow.position`, `elbow.velocity`";
        assert!(message(&["*.speed"]).starts_with(all), "{}", message(&["*.speed"]));
        assert_eq!(message(&["elbwo.*"]), "no channel matches `elbwo.*`; did you mean `elbow.*`?");
        assert_eq!(message(&["*.velocty"]), "no channel matches `*.velocty`; did you mean `*.velocity`?");
        assert!(message(&["qqqqqqqqqqqqqqq"]).contains("there are `elbow.position`, `elbow.velocity`"));
        assert_eq!(message(&["nope.*", "elbow.positoin"]).lines().count(), 2);
        assert!(message(&["t"]).contains("axis of time"));
    }

    #[test]
    fn long_selection_is_cut_with_a_note() {
        let names: Vec<String> = (0..40).map(|k| format!("pin{k}.position")).collect();
        let chain = table(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let cut = panels(&chain, &Selection::default()).unwrap();
        assert_eq!((cut[0].curves.len(), cut[0].left_out), (12, 28));
        let all = panels(&chain, &select(&["*"])).unwrap();
        assert_eq!((all[0].curves.len(), all[0].left_out), (40, 0));
    }
}

//! `<limit>`: stops and the largest effort of a joint.
//!
//! | attribute | scene |
//! |---|---|
//! | `lower`, `upper` | `limits: Limits(lower, upper)`: stops without rebound; one left out is 0, as in URDF |
//! | `effort` | `effort_limit` |
//! | `velocity`, and others | named as not used: controllers keep them, joints do not |
//!
//! A `continuous` joint has no bounds, an infinite bound is none, and an effort of 0 is none: exporters write zeros for
//! what they do not know. A range without room is left out, and named. A joint whose range does not contain 0 starts at
//! the nearest bound, and that is named.

use roxmltree::Node as Xml;

use super::articulated::Axis;
use super::joint::Joint;
use super::tree::{self, Words};
use super::xml::{Findings, Repair, child, short};
use crate::scene::span::Span;
use crate::scene::syntax::Node;

/// A `<limit>` as it was read.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub place: Span,
    /// Bounds, and whether the joint may have some.
    range: Option<[f64; 2]>,
    /// The largest effort and its place.
    effort: Option<(f64, Span)>,
}

/// How limits are understood.
pub(super) const STOPS: &str = ", stops at ";
pub(super) const EFFORT: &str = ", effort to ";
pub(super) const START: &str = ", starts at ";

/// Attributes of a limit.
const KEYS: [&str; 7] = ["lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"];

impl Limit {
    /// Reads the limit of a joint; the outer `None` where something is wrong with it.
    pub fn read(found: &mut Findings, xml: Xml, is_bounded: bool) -> Option<Option<Self>> {
        let Some(node) = child(xml, "limit") else { return Some(None) };
        found.look_over(node, &KEYS, &[], &[], &[]);
        let (mut bounds, mut effort) = ([None; 2], None);
        for key in KEYS {
            let Some(given) = found.attribute(node, key) else { continue };
            let x = found.bound(key, given)?;
            match key {
                "lower" => bounds[0] = Some(x),
                "upper" => bounds[1] = Some(x),
                "effort" => effort = Some((x, given.place)),
                _ if x.is_finite() => {
                    let group = format!("limit of {key}");
                    found.set_aside(given.place, &group, format!("`{key}` {} of `limit`", short(x)), 1);
                }
                _ => {}
            }
        }
        let range = (bounds != [None; 2]).then(|| bounds.map(|bound| bound.unwrap_or(0.0)));
        let place = found.tag(node);
        if let Some([lower, upper]) = range.filter(|_| !is_bounded) {
            let what =
                format!("`limit` (lower {}, upper {}): a `continuous` joint has none", short(lower), short(upper));
            found.set_aside(place, "limit", what, 1);
        }
        Some(Some(Self { place, range: range.filter(|_| is_bounded), effort }))
    }

    /// The position nearest to 0 within the bounds.
    pub fn start(&self) -> f64 {
        self.range.filter(|[lower, upper]| lower < upper).map_or(0.0, |[lower, upper]| 0.0_f64.clamp(lower, upper))
    }

    /// In words.
    fn shown(&self) -> String {
        let range = self.range.map(|[lower, upper]| format!("lower {}, upper {}", short(lower), short(upper)));
        let effort = self.effort.map(|(effort, _)| format!("effort {}", short(effort)));
        let shown: Vec<String> = range.into_iter().chain(effort).collect();
        format!("`limit` ({})", shown.join(", "))
    }
}

/// The elements beside the limit that nothing here keeps: read, checked, and named as not used.
pub(super) fn set_aside(found: &mut Findings, xml: Xml) -> Option<()> {
    const READ: [(&str, &[&str]); 2] = [
        ("safety_controller", &["soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"]),
        ("calibration", &["rising", "falling", "reference_position"]),
    ];
    for (element, keys) in READ {
        let Some(node) = child(xml, element) else { continue };
        found.look_over(node, keys, &[], &[], &[]);
        let mut said = Vec::new();
        for key in keys {
            let Some(given) = found.attribute(node, key) else { continue };
            said.push(format!("{key} {}", short(found.bound(key, given)?)));
        }
        let values = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
        found.unused_element(found.tag(node), element, format!("`{element}`{values}"), 1);
    }
    Some(())
}

/// Gives a joint its stops and its effort limit. `follows`: the position at which a `mimic` starts it; `is_used`:
/// limits are asked for.
pub(super) fn put(found: &mut Findings, words: &mut Words, joint: &mut Joint, follows: Option<f64>, is_used: bool) {
    let Some(limit) = joint.limit else { return };
    let mut meaning = String::new();
    if !is_used {
        found.set_aside(limit.place, "limit", limit.shown(), 1);
    } else if !joint.is_single {
        let what = format!("{}: the joint has {}", limit.shown(), joint.coordinates());
        found.set_aside(limit.place, "limit", what, 1);
    } else {
        if let Some(effort) = limit.effort {
            meaning += &put_effort(found, joint, effort);
        }
        if let Some(range) = limit.range {
            meaning += &put_range(found, words, joint, limit.place, range, follows);
        }
    }
    found.append(joint.line, &meaning);
}

fn put_effort(found: &mut Findings, joint: &mut Joint, (effort, place): (f64, Span)) -> String {
    if effort.is_infinite() && effort > 0.0 {
        return String::new();
    }
    if effort <= 0.0 {
        found.set_aside(place, "limit of effort 0 or less", format!("`effort` {} of `limit`", short(effort)), 1);
        return String::new();
    }
    joint.fields.push(("effort_limit", tree::number(place, effort)));
    let unit = if matches!(joint.axis, Axis::Prismatic(_)) { "N" } else { "N·m" };
    format!("{EFFORT}{} {unit}", short(effort))
}

fn put_range(
    found: &mut Findings,
    words: &mut Words,
    joint: &mut Joint,
    place: Span,
    [lower, upper]: [f64; 2],
    follows: Option<f64>,
) -> String {
    const HELP: &str = "without `--strict` this is done, and named; `--no-limits` leaves all limits out";
    let shown = format!("{} to {}", short(lower), short(upper));
    if lower == f64::NEG_INFINITY && upper == f64::INFINITY {
        return String::new();
    }
    if lower >= upper || lower == f64::INFINITY || upper == f64::NEG_INFINITY {
        let what = format!("`limit` from {shown} leaves no room: left out");
        found.repaired(place, Repair { what, group: "`limit` that leaves no room: left out" }, HELP);
        return String::new();
    }
    let is_outside = |position: f64| position < lower || position > upper;
    if let Some(position) = follows.filter(|&position| is_outside(position) || is_outside(0.0)) {
        let what = format!("`mimic` starts it at {}, its limits are {shown}: left out", short(position));
        found.repaired(place, Repair { what, group: "`limit` that excludes the start of a `mimic`: left out" }, HELP);
        return String::new();
    }
    let bounds = [("lower", lower), ("upper", upper)].into_iter().filter(|(_, bound)| bound.is_finite());
    let bounds: Vec<(&'static str, Node)> = bounds.map(|(key, bound)| (key, tree::number(place, bound))).collect();
    joint.fields.push(("limits", words.fields(place, "Limits", bounds)));
    let start = 0.0_f64.clamp(lower, upper);
    let unit = if matches!(joint.axis, Axis::Prismatic(_)) { "m" } else { "rad" };
    let stops = format!("{STOPS}{} and {} {unit}", short(lower), short(upper));
    if start == 0.0 {
        return stops;
    }
    // a URDF says nothing of the start: the nearest one is no repair
    joint.fields.push(("position", tree::number(place, start)));
    format!("{stops}{START}{}", short(start))
}

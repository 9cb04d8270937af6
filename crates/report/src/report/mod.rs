//! The report of a run: one HTML file that needs nothing besides itself.
//!
//! ```text
//! Results ─frames─▶ poses ─┐
//!    ├────curves─▶ panels ─┼─▶ data ─┐
//!    └────phases───────────┘         ├─▶ page with style and script
//! Stats, warnings, scene ──tables────┘
//! ```
//!
//! The page draws; it computes no mechanics. Poses and curves have a share of the file each, so that a report stays
//! below a megabyte however long the run was.

mod curves;
mod encode;
mod frames;
mod tables;

pub use tables::escape;

use crate::plot::{phases, select};
use crate::results::{EventCounts, Results};
use anyhow::{Result, bail};
use bristle::Scene;
use bristle::integrate::Stats;
use bristle::multibody::Model;
use bristle::scene::{Coupling, LoopKind};
use bristle_plot::palette;
use bristle_plot::ticks::Axis;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PAGE: &str = include_str!("assets/report.html");
const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: [&str; 7] = [
    include_str!("assets/page.js"),
    include_str!("assets/machine.js"),
    include_str!("assets/shapes.js"),
    include_str!("assets/drivetrain.js"),
    include_str!("assets/stage.js"),
    include_str!("assets/curves.js"),
    include_str!("assets/player.js"),
];

/// Data of a run for its report.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The scene that was run.
    pub scene: &'a Scene,
    /// Its machine, compiled.
    pub model: &'a Model,
    /// The recorded results.
    pub results: &'a Results,
    /// Counts of the solver.
    pub stats: &'a Stats,
    /// How long it took.
    pub wall: Duration,
    /// Warnings.
    pub warnings: &'a [String],
    /// Values given in place of the scene's, by their paths.
    pub overrides: &'a [(String, String)],
    /// Why the run ended before its time, if it did.
    pub failure: Option<&'a str>,
}

/// The report as HTML.
pub fn html(facts: &Facts<'_>) -> Result<String> {
    let results = facts.results;
    let t = crate::plot::times(results)?;
    let (start, end) = (t[0], t[t.len() - 1]);
    let data = data(facts, t)?;
    let file = facts.scene.origin.file().map(Path::new).and_then(Path::file_name).map(|name| name.to_string_lossy());
    let file = file.unwrap_or_default();
    let title = if facts.scene.name.is_empty() { &*file } else { facts.scene.name.as_str() };
    let title = if title.is_empty() { "a run" } else { title };
    let mut summary = vec![
        file.to_string(),
        counted(facts.model.n_joints(), "joint"),
        format!("{} to {} s", short(start), short(end)),
        facts.scene.method().name().to_owned(),
    ];
    summary.extend(EventCounts::of(results.events.iter().map(|event| event.event)).in_words());
    summary.retain(|part| !part.is_empty());
    let summary = summary.join(" · ");
    // `<` would end the script; JSON can say it in another way
    let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let parts = [
        ("title", tables::escape(title)),
        ("summary", tables::escape(&summary)),
        ("style", STYLE.to_owned()),
        ("warnings", tables::warnings(facts)),
        ("ledger", tables::ledger(facts.scene, results)),
        ("statistics", tables::statistics(facts, end - start)),
        ("source", tables::source(facts)),
        ("data", data),
        ("script", SCRIPT.concat()),
    ];
    fill(PAGE, &parts)
}

/// Refuses names of reports that are not HTML.
pub fn check_name(path: &Path) -> Result<()> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    if !matches!(extension.as_deref(), Some("html" | "htm")) {
        bail!("{}: reports are written as .html", path.display());
    }
    Ok(())
}

/// The data that the script draws.
fn data(facts: &Facts<'_>, t: &[f64]) -> Result<Value> {
    let (model, results) = (facts.model, facts.results);
    let selection = select::Selection::of(facts.scene);
    let panels = select::panels(results, &selection)?;
    let animation = frames::Animation::new(model, results)?;
    let mut stuck = phases::phases(results, t);
    stuck.extend(phases::slow(results, t, &selection.bristles));
    let (start, end) = (t[0], t[t.len() - 1]);
    // one instant has no extent
    let window = if start < end { (start, end) } else { (start - 0.5, end + 0.5) };
    let ticks = |most| {
        let axis = Axis::exact(window.0, window.1, most);
        axis.ticks.iter().map(|&tick| json!([tick, axis.label(tick)])).collect::<Vec<_>>()
    };
    let lengths = |dash: &str| dash.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<f64>>();
    Ok(json!({
        "start": start, "end": end, "window": [window.0, window.1],
        "factor": Axis::exact(window.0, window.1, 8).factor(),
        "ticks": ticks(8), "fewTicks": ticks(4),
        "light": palette::LIGHT, "dark": palette::DARK,
        "dashes": palette::DASHES.map(lengths),
        "links": animation.links(model, results, &closing_points(facts), &selection.stops),
        "frames": animation.frames(t), "view": animation.view(model),
        "phases": curves::phases(&stuck, t), "contacts": curves::phases(&phases::contacts(results, t), t),
        "couplings": couplings(facts),
        "panels": curves::curves(&panels, results, t),
    }))
}

/// Points of links at which loop joints close chains, in the axes of their links: a bone leads to each. On the first
/// link of a hinge or slide that is its joint.
fn closing_points(facts: &Facts<'_>) -> Vec<(String, [f64; 3])> {
    let mut points = Vec::new();
    for coupling in &facts.scene.couplings {
        let Coupling::LoopJoint { kind, links, placements, .. } = coupling else { continue };
        let has_joint = matches!(kind, LoopKind::Revolute { .. } | LoopKind::Prismatic { .. });
        let ends = links.iter().zip(placements).skip(usize::from(has_joint));
        points.extend(ends.map(|(link, placement)| (link.clone(), placement.translation)));
    }
    points
}

/// Couplings of joints, by the places of their links.
fn couplings(facts: &Facts<'_>) -> Value {
    let model = facts.model;
    let of = |coupling: &Coupling| {
        let joints: Vec<&str> = match coupling {
            Coupling::Gear { joints, .. }
            | Coupling::SpringDamper { joints, .. }
            | Coupling::Clutch { joints, .. }
            | Coupling::OneWayClutch { joints, .. } => joints.iter().map(String::as_str).collect(),
            Coupling::Planetary { sun, ring, carrier, .. } => vec![sun, carrier, ring],
            Coupling::Linear { terms, .. } => terms.iter().map(|term| term.0.as_str()).collect(),
            Coupling::Brake { joint, .. } => vec![joint],
            // links are named by the joints that carry them
            Coupling::LoopJoint { links, .. } => {
                let carried = |link: &String| facts.scene.joints.iter().find(|joint| joint.child == *link);
                links.iter().filter_map(carried).map(|joint| joint.name.as_str()).collect()
            }
        };
        let links: Vec<usize> = joints.iter().filter_map(|name| Some(model.joint(name)? - 1)).collect();
        json!({ "name": coupling.name(), "kind": coupling.kind(), "links": links })
    };
    Value::Array(facts.scene.couplings.iter().map(of).collect())
}

/// A page with every `{{name}}` replaced; the parts themselves are left alone.
fn fill(page: &str, parts: &[(&str, String)]) -> Result<String> {
    let mut out = String::with_capacity(page.len() + parts.iter().map(|part| part.1.len()).sum::<usize>());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else { bail!("the page has `{{{{` without an end") };
        let Some((_, part)) = parts.iter().find(|part| part.0 == name) else { bail!("the page asks for `{name}`") };
        out.push_str(part);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A time with as many digits as a reader wants.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-3..1e6).contains(&x.abs()) {
        return format!("{x:.3e}");
    }
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;

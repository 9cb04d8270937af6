//! Results as a chart: panels over one axis of time, stick phases behind the curves and in rows below them, stops as
//! broken lines.

use super::phases::Phases;
use super::select::Panel;
use bristle_plot::chart::{self, Row, stack};
use bristle_plot::picture::Picture;
use std::borrow::Cow;

/// Joints whose stick phases are shaded over the whole height of a panel. With more of them nothing could be told
/// apart: then each curve is shaded along itself.
const MAX_SHADED: usize = 3;

/// The times and values that the panels draw from.
pub struct Data<'a> {
    /// Times of the rows, s.
    pub t: &'a [f64],
    /// All columns of the table.
    pub columns: &'a [Vec<f64>],
    /// Stick phases of the joints that have any, and when joints rested on their stops.
    pub phases: &'a [Phases],
    pub contacts: &'a [Phases],
    /// From when to when, s.
    pub window: (f64, f64),
}

/// The whole picture.
pub fn draw<'a>(title: &str, panels: &[Panel], data: &Data<'a>) -> Picture {
    let is_shown = |span: &(f64, f64)| span.1 >= data.window.0 && span.0 <= data.window.1;
    let shown: Vec<&'a Phases> = data.phases.iter().filter(|phases| phases.stuck.iter().any(is_shown)).collect();
    let charted: Vec<chart::Panel<'_>> = panels.iter().map(|panel| charted(panel, &shown, data)).collect();
    let row = |name: String, k: usize, phases: &'a Phases| Row {
        name,
        color: panels.iter().find_map(|panel| color_of(panel, &phases.joint)).unwrap_or(k),
        spans: Cow::Borrowed(&phases.stuck),
    };
    let stuck = shown.iter().enumerate().map(|(k, phases)| row(phases.joint.clone(), k, phases));
    let resting = data.contacts.iter().filter(|phases| phases.stuck.iter().any(is_shown));
    let rows = stuck.chain(resting.enumerate().map(|(k, phases)| row(format!("{} stop", phases.joint), k, phases)));
    stack(title, "time", "s", data.window, &charted, ("stuck", &rows.collect::<Vec<_>>()))
}

/// One panel with the stick phases and changes of mode of its joints.
fn charted<'a>(panel: &Panel, shown: &[&'a Phases], data: &Data<'a>) -> chart::Panel<'a> {
    let of_panel = |phases: &&Phases| color_of(panel, &phases.joint).is_some();
    let color = |phases: &Phases| color_of(panel, &phases.joint).unwrap_or(0);
    let shaded: Vec<&'a Phases> = shown.iter().copied().filter(of_panel).collect();
    let is_along = shaded.len() > MAX_SHADED;
    let curves = panel.curves.iter().map(|curve| {
        let along = shaded.iter().find(|phases| is_along && phases.joint == curve.owner);
        chart::Curve {
            label: curve.label.clone(),
            x: Cow::Borrowed(data.t),
            y: Cow::Borrowed(&data.columns[curve.column]),
            color: curve.color,
            along: along.map_or(Cow::Borrowed(&[][..]), |phases| Cow::Borrowed(&phases.stuck[..])),
            ..chart::Curve::default()
        }
    });
    let mut charted = chart::Panel::new(&panel.title, "", "");
    charted.curves = curves.collect();
    let bounds = panel.curves.iter().flat_map(|curve| curve.bounds.iter().map(|&bound| (curve.color, bound)));
    charted.curves.extend(bounds.map(|(color, bound)| chart::Curve {
        x: Cow::Owned(vec![data.window.0, data.window.1]),
        y: Cow::Owned(vec![bound; 2]),
        color,
        style: chart::Style::Dashed,
        ..chart::Curve::default()
    }));
    charted.unit = panel.unit.to_owned();
    charted.left_out = panel.left_out;
    if !is_along {
        charted.shades = shaded.iter().map(|phases| (color(phases), Cow::Borrowed(&phases.stuck[..]))).collect();
    }
    let marked = data.phases.iter().filter(of_panel);
    charted.marks = marked.map(|phases| (color(phases), Cow::Borrowed(&phases.changes[..]))).collect();
    charted
}

fn color_of(panel: &Panel, joint: &str) -> Option<usize> {
    panel.curves.iter().find(|curve| panel.is_of_joints && curve.owner == joint).map(|curve| curve.color)
}

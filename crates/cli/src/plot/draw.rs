//! Panels as SVG: one above the other over one axis of time.
//!
//! The picture takes its colours from classes, with another set for dark ground, so that it can stand in any page.
//! Curves are cut down to what their columns of pixels can show ([`super::decimate`]).

use super::decimate::{is_drawable, runs};
use super::palette::{DARK, DASHES, LIGHT};
use super::phases::{Phases, merged};
use super::select::{Curve, Panel};
use super::ticks::Axis;
use std::fmt::Write;

const WIDTH: f64 = 920.0;
/// Room left and right of the panels, px.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 18.0;
const PLOT: f64 = WIDTH - LEFT - RIGHT;
const HEIGHT: f64 = 150.0;
/// Of a line of the legend, and of a row of stick phases.
const LINE: f64 = 18.0;
const ROW: f64 = 16.0;
/// Joints whose stick phases are shaded over the whole height of a panel; with more of them nothing could be told apart.
const MOST_SHADED: usize = 3;

/// The times and values that the panels draw from.
pub struct Data<'a> {
    /// Times of the rows, s.
    pub t: &'a [f64],
    /// All columns of the table.
    pub columns: &'a [Vec<f64>],
    /// Stick phases of the joints that have any.
    pub phases: &'a [Phases],
    /// From when to when, s.
    pub window: (f64, f64),
}

/// The whole picture.
pub fn draw(title: &str, panels: &[Panel], data: &Data<'_>) -> String {
    let time = Axis::exact(data.window.0, data.window.1, 10);
    let mut body = String::new();
    let mut y = 14.0;
    if !title.is_empty() {
        y += 14.0;
        let _ = writeln!(body, r#"<text class="title" x="{LEFT}" y="{y:.1}">{}</text>"#, escape(title));
        y += 12.0;
    }
    let shown: Vec<&Phases> = data.phases.iter().filter(|phases| !phases.stuck.is_empty()).collect();
    for panel in panels {
        y = draw_panel(&mut body, y, panel, &shown, data, &time) + 16.0;
    }
    if !shown.is_empty() {
        y = draw_rows(&mut body, y, &shown, panels, &time) + 16.0;
    }
    // the labels of time, once
    y += 2.0;
    for &tick in &time.ticks {
        let _ =
            writeln!(body, r#"<text class="n" x="{:.1}" y="{y:.1}">{}</text>"#, x_of(&time, tick), time.label(tick));
    }
    y += 20.0;
    let unit = if time.factor().is_empty() { "s".to_owned() } else { format!("{} s", time.factor()) };
    let _ = writeln!(body, r#"<text class="n" x="{:.1}" y="{y:.1}">time ({unit})</text>"#, LEFT + PLOT / 2.0);
    let height = y + 12.0;
    let head = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" role="img">"#
    );
    let name = if title.is_empty() { "results over time" } else { title };
    format!(
        "{head}\n<title>{}</title>\n<style>{}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        escape(name),
        style()
    )
}

/// One panel from `y` downwards; gives where it ends.
fn draw_panel(out: &mut String, y: f64, panel: &Panel, phases: &[&Phases], data: &Data<'_>, time: &Axis) -> f64 {
    let (low, high) = extent(panel, data);
    let axis = Axis::around(low, high, 6);
    let top = legend(out, y, panel, &axis);
    let bottom = top + HEIGHT;
    // a window cuts through curves; what lies beyond it is kept near
    let y_of = |value: f64| bottom - HEIGHT * axis.place(value).clamp(-0.02, 1.02);

    // ground: stick phases, then the grid
    let of_panel = |phases: &&Phases| panel.is_of_joints && panel.curves.iter().any(|c| c.owner == phases.joint);
    let shaded: Vec<&Phases> = phases.iter().copied().filter(of_panel).collect();
    if shaded.len() <= MOST_SHADED {
        for phases in shaded {
            let color = color_of(panel, &phases.joint).unwrap_or(0);
            let path = bars(&phases.stuck, time, top, HEIGHT);
            let _ = writeln!(out, r#"<path class="stuck f{}" d="{path}"/>"#, color % LIGHT.len());
        }
    }
    for &tick in &axis.ticks {
        let y = y_of(tick);
        let _ = writeln!(out, r#"<path class="grid" d="M{LEFT} {y:.1}h{PLOT}"/>"#);
        let _ =
            writeln!(out, r#"<text class="v" x="{:.1}" y="{:.1}">{}</text>"#, LEFT - 7.0, y + 4.0, axis.label(tick));
    }
    for &tick in &time.ticks {
        let _ = writeln!(out, r#"<path class="grid" d="M{:.1} {top:.1}v{HEIGHT}"/>"#, x_of(time, tick));
    }
    let _ = writeln!(out, r#"<rect class="frame" x="{LEFT}" y="{top:.1}" width="{PLOT}" height="{HEIGHT}"/>"#);

    // a window cuts through curves: nothing is drawn beyond the frame, but for half the width of a line
    let clip = format!("panel-{top:.0}");
    let (above, high) = (top - 1.0, HEIGHT + 2.0);
    let _ = writeln!(
        out,
        r#"<clipPath id="{clip}"><rect x="{LEFT}" y="{above:.1}" width="{PLOT}" height="{high:.1}"/></clipPath><g clip-path="url(#{clip})">"#
    );
    // changes of mode, as marks on the lower edge
    for phases in data.phases.iter().filter(|phases| of_panel(phases)) {
        let path = marks(&phases.changes, time, bottom);
        let color = color_of(panel, &phases.joint).unwrap_or(0);
        let _ = writeln!(out, r#"<path class="c{} event" d="{path}"/>"#, color % LIGHT.len());
    }
    for curve in &panel.curves {
        let path = path(curve, data, time, &y_of);
        let _ = writeln!(out, r#"<path class="{}" d="{path}"/>"#, classes(curve.color));
    }
    out.push_str("</g>\n");
    bottom
}

/// Title, unit and names of the curves above a panel; gives where the panel begins.
fn legend(out: &mut String, y: f64, panel: &Panel, axis: &Axis) -> f64 {
    let mut y = y + 12.0;
    let unit = [axis.factor(), panel.unit.to_owned()].join(" ").trim().to_owned();
    let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
    let (low, high) = (LEFT, WIDTH - RIGHT);
    let heading = format!("{}{unit}", panel.title);
    let _ = writeln!(out, r#"<text class="head" x="{LEFT}" y="{y:.1}">{}</text>"#, escape(&heading));
    let mut x = low + width_of(&heading) * 1.08 + 20.0;
    let named = panel.curves.iter().filter(|curve| !curve.label.is_empty());
    let mut entries: Vec<(Option<usize>, String)> =
        named.map(|curve| (Some(curve.color), curve.label.clone())).collect();
    if panel.left_out > 0 {
        entries.push((None, format!("… and {} more", panel.left_out)));
    }
    for (color, label) in entries {
        let width = width_of(&label) + 40.0;
        if x + width > high && x > low {
            (x, y) = (low, y + LINE);
        }
        if let Some(color) = color {
            let _ = writeln!(out, r#"<path class="{}" d="M{x:.1} {:.1}h20"/>"#, classes(color), y - 4.0);
        }
        let _ = writeln!(out, r#"<text class="name" x="{:.1}" y="{y:.1}">{}</text>"#, x + 25.0, escape(&label));
        x += width;
    }
    y + 8.0
}

/// A row for each joint, filled while it is stuck; gives where they end.
fn draw_rows(out: &mut String, y: f64, phases: &[&Phases], panels: &[Panel], time: &Axis) -> f64 {
    let mut y = y + 12.0;
    let _ = writeln!(out, r#"<text class="head" x="{LEFT}" y="{y:.1}">stuck</text>"#);
    y += 8.0;
    for (k, phases) in phases.iter().enumerate() {
        let color = panels.iter().find_map(|panel| color_of(panel, &phases.joint)).unwrap_or(k) % LIGHT.len();
        let _ = writeln!(out, r#"<rect class="row" x="{LEFT}" y="{y:.1}" width="{PLOT}" height="{:.1}"/>"#, ROW - 4.0);
        let path = bars(&phases.stuck, time, y, ROW - 4.0);
        let _ = writeln!(out, r#"<path class="held f{color}" d="{path}"/>"#);
        let name = shortened(&phases.joint, LEFT - 10.0);
        let _ = writeln!(out, r#"<text class="v" x="{:.1}" y="{:.1}">{}</text>"#, LEFT - 7.0, y + 10.0, escape(&name));
        y += ROW;
    }
    y
}

/// A curve as path data: tenths of a pixel, each point relative to the one before.
fn path(curve: &Curve, data: &Data<'_>, time: &Axis, y_of: &dyn Fn(f64) -> f64) -> String {
    let values = &data.columns[curve.column];
    let mut path = String::new();
    for run in runs(data.t, values, data.window.0, data.window.1, PLOT as usize) {
        let mut at = (0, 0);
        for (k, &row) in run.iter().enumerate() {
            let x = x_of(time, data.t[row]).clamp(LEFT - 4.0, LEFT + PLOT + 4.0);
            let to = ((10.0 * x).round() as i64, (10.0 * y_of(values[row])).round() as i64);
            path.push(if k == 0 { 'M' } else { 'l' });
            path.push_str(&tenth(to.0 - at.0));
            // a sign separates as well as a space
            let y = tenth(to.1 - at.1);
            if !y.starts_with('-') {
                path.push(' ');
            }
            path.push_str(&y);
            at = to;
        }
        if run.len() == 1 {
            // a lonely point is a dot: round ends draw it
            path.push_str("h0");
        }
    }
    path
}

/// A number of tenths, as short as it can be written: 12 is `1.2`, 30 is `3`, −5 is `-.5`.
pub fn tenth(n: i64) -> String {
    let (sign, whole, rest) = (if n < 0 { "-" } else { "" }, n.abs() / 10, n.abs() % 10);
    match (whole, rest) {
        (_, 0) => format!("{sign}{whole}"),
        (0, _) => format!("{sign}.{rest}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}

/// Spans of time as bars of one height; those a pixel cannot part are one.
fn bars(spans: &[(f64, f64)], time: &Axis, top: f64, height: f64) -> String {
    let pixels: Vec<(f64, f64)> = spans
        .iter()
        .filter(|span| span.1 >= time.low && span.0 <= time.high)
        .map(|span| (x_of(time, span.0.max(time.low)), x_of(time, span.1.min(time.high))))
        .collect();
    let mut path = String::new();
    for (from, to) in merged(&pixels, 0.5) {
        let width = (to - from).max(0.4);
        let _ =
            write!(path, "M{} {}h{}v{}h-{}z", tenths(from), tenths(top), tenths(width), tenths(height), tenths(width));
    }
    path
}

/// Short strokes up from `bottom`, no two nearer than half a pixel.
fn marks(times: &[f64], time: &Axis, bottom: f64) -> String {
    let mut path = String::new();
    let mut last = f64::NEG_INFINITY;
    for &t in times.iter().filter(|&&t| t >= time.low && t <= time.high) {
        let x = x_of(time, t);
        if x - last >= 0.5 {
            let _ = write!(path, "M{} {}v-6", tenths(x), tenths(bottom));
            last = x;
        }
    }
    path
}

/// Lowest and highest value of a panel within the window.
fn extent(panel: &Panel, data: &Data<'_>) -> (f64, f64) {
    let (from, to) = data.window;
    let mut extent = (f64::INFINITY, f64::NEG_INFINITY);
    for curve in &panel.curves {
        for (&t, &x) in data.t.iter().zip(&data.columns[curve.column]) {
            if is_drawable(x) && from <= t && t <= to {
                extent = (extent.0.min(x), extent.1.max(x));
            }
        }
    }
    if extent.0 <= extent.1 { extent } else { (0.0, 0.0) }
}

fn color_of(panel: &Panel, joint: &str) -> Option<usize> {
    panel.curves.iter().find(|curve| panel.is_of_joints && curve.owner == joint).map(|curve| curve.color)
}

fn classes(color: usize) -> String {
    let round = color / LIGHT.len() % DASHES.len();
    format!("c{} d{round}", color % LIGHT.len())
}

fn x_of(time: &Axis, t: f64) -> f64 {
    LEFT + PLOT * time.place(t)
}

/// A coordinate to a tenth of a pixel.
fn tenths(x: f64) -> String {
    tenth((10.0 * x).round() as i64)
}

/// How wide a text is at the size of the legend, px: letters of common fonts are half as wide as high.
fn width_of(text: &str) -> f64 {
    6.8 * text.chars().count() as f64
}

/// A name that fits into `width` px.
fn shortened(name: &str, width: f64) -> String {
    let most = (width / 6.4) as usize;
    if name.chars().count() <= most {
        name.to_owned()
    } else {
        name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    }
}

/// A text as it stands in XML; control characters, which XML has no way to write, are replaced.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

pub fn style() -> String {
    let mut style = String::from(
        "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',Arial,sans-serif;fill:#444}\
         .title{font-size:16px;font-weight:600;fill:#111}.head{font-weight:600;fill:#111}.n{text-anchor:middle}.v{text-anchor:end}\
         path{fill:none}.ground{fill:#fff}.grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999}.row{fill:#efefef}\
         .stuck{opacity:.13}.held{opacity:.85}.event.event{stroke-width:1}\
         [class^=c]{stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}",
    );
    let colors = |style: &mut String, colors: &[&str]| {
        for (k, color) in colors.iter().enumerate() {
            let _ = write!(style, ".c{k}{{stroke:{color}}}.f{k}{{fill:{color}}}");
        }
    };
    colors(&mut style, &LIGHT);
    for (k, dash) in DASHES.iter().enumerate().skip(1) {
        let _ = write!(style, ".d{k}{{stroke-dasharray:{dash}}}");
    }
    style.push_str(
        "@media (prefers-color-scheme:dark){text{fill:#bbb}.title,.head{fill:#eee}.ground{fill:#15171b}\
         .grid{stroke:#2b2e34}.frame{stroke:#666}.row{fill:#24272d}.stuck{opacity:.2}",
    );
    colors(&mut style, &DARK);
    style.push('}');
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([12, 30, -5, 0, -47, 10].map(tenth), ["1.2", "3", "-.5", "0", "-4.7", "1"]);
        assert_eq!(tenths(-0.04), "0");
    }

    /// Steps add up to the places themselves, without drift.
    #[test]
    fn a_path_ends_where_its_curve_does() {
        let t: Vec<f64> = (0..3000).map(|k| f64::from(k) * 1e-3).collect();
        let columns = vec![t.iter().map(|t| (7.0 * t).sin()).collect::<Vec<f64>>()];
        let data = Data { t: &t, columns: &columns, phases: &[], window: (0.0, 2.999) };
        let time = Axis::exact(0.0, 2.999, 10);
        let curve = Curve { column: 0, label: String::new(), owner: String::new(), color: 0 };
        let path = path(&curve, &data, &time, &|x| 100.0 - 50.0 * x);
        let (mut x, mut y) = (0.0, 0.0);
        for step in path[1..].split('l') {
            let gap = step.find(' ').or_else(|| step[1..].find('-').map(|k| k + 1)).unwrap();
            x += step[..gap].parse::<f64>().unwrap();
            y += step[gap..].trim().parse::<f64>().unwrap();
        }
        assert!((x - (LEFT + PLOT)).abs() < 0.06 && (y - (100.0 - 50.0 * columns[0][2999])).abs() < 0.06, "{x} {y}");
    }
}

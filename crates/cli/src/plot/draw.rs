//! Panels as SVG: one above the other over one axis of time.
//!
//! The picture takes its colours from classes, with another set for dark ground, so that it can stand in any page.
//! Curves are cut down to what their columns of pixels can show ([`super::decimate`]).

use super::decimate::runs;
use super::palette::{DARK, DASHES, LIGHT};
use super::phases::{Phases, merged};
use super::select::Panel;
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
/// Joints whose stick phases are shaded over the whole height of a panel. With more of them nothing could be told apart: then
/// each curve is shaded along itself.
const MOST_SHADED: usize = 3;
/// So many gaps that a pixel cannot show are left out; with more of them density takes their place, in steps of 1/8.
const FINE_GAPS: usize = 20;
const LEVELS: usize = 8;

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
    let is_shown = |span: &(f64, f64)| span.1 >= data.window.0 && span.0 <= data.window.1;
    let shown: Vec<&Phases> = data.phases.iter().filter(|phases| phases.stuck.iter().any(is_shown)).collect();
    for panel in panels {
        y = draw_panel(&mut body, y, panel, &shown, data, &time) + 16.0;
    }
    if !shown.is_empty() {
        y = draw_rows(&mut body, y, &shown, panels, &time) + 16.0;
    }
    // the labels of time, once
    y += 2.0;
    for &tick in &time.ticks {
        let label = time.label(tick);
        // the last one stays within the picture
        let x = x_of(&time, tick).min(WIDTH - 2.0 - width_of(&label) / 2.0);
        let _ = writeln!(body, r#"<text class="n" x="{x:.1}" y="{y:.1}">{label}</text>"#);
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
    let drawn: Vec<Vec<Vec<(f64, f64)>>> = panel.curves.iter().map(|c| points(data, &data.columns[c.column])).collect();
    let (low, high) = extent(drawn.iter().flatten().flatten().map(|point| point.1));
    let axis = Axis::around(low, high, 6);
    let top = legend(out, y, panel, &axis);
    let bottom = top + HEIGHT;
    let y_of = |value: f64| bottom - HEIGHT * axis.place(value);

    // ground: stick phases, then the grid
    let of_panel = |phases: &&Phases| panel.is_of_joints && panel.curves.iter().any(|c| c.owner == phases.joint);
    let shaded: Vec<&Phases> = phases.iter().copied().filter(of_panel).collect();
    let is_along = shaded.len() > MOST_SHADED;
    if !is_along {
        for phases in &shaded {
            let color = color_of(panel, &phases.joint).unwrap_or(0);
            write_bars(out, &format!("stuck f{}", color % LIGHT.len()), bars(&phases.stuck, time, top, HEIGHT));
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

    // nothing is drawn beyond the frame, but for half the width of a line
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
    if is_along {
        for (curve, drawn) in panel.curves.iter().zip(&drawn) {
            let Some(phases) = shaded.iter().find(|phases| phases.joint == curve.owner) else { continue };
            let path = path(drawn, time, &y_of, Some(&phases.stuck));
            let _ = writeln!(out, r#"<path class="c{} along" d="{path}"/>"#, curve.color % LIGHT.len());
        }
    }
    for (curve, drawn) in panel.curves.iter().zip(&drawn) {
        let path = path(drawn, time, &y_of, None);
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
        write_bars(out, &format!("held f{color}"), bars(&phases.stuck, time, y, ROW - 4.0));
        let name = shortened(&phases.joint, LEFT - 10.0);
        let _ = writeln!(out, r#"<text class="v" x="{:.1}" y="{:.1}">{}</text>"#, LEFT - 7.0, y + 10.0, escape(&name));
        y += ROW;
    }
    y
}

/// What is drawn of a curve, as runs of points (time, value): rows within the window, and where a line to a row beyond it
/// leaves it.
fn points(data: &Data<'_>, values: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let (from, to) = data.window;
    let at = |a: (f64, f64), b: (f64, f64), t: f64| (t, a.1 + (b.1 - a.1) * ((t - a.0) / (b.0 - a.0)));
    let mut all = Vec::new();
    for run in runs(data.t, values, from, to, PLOT as usize) {
        let mut points: Vec<(f64, f64)> = run.into_iter().map(|row| (data.t[row], values[row])).collect();
        // the rows beside the window are one before and one after
        match points[..] {
            [first, second, ..] if first.0 < from => points[0] = at(first, second, from),
            [first] if first.0 < from => points.clear(),
            _ => {}
        }
        let n = points.len();
        match points[..] {
            [.., before, last] if last.0 > to => points[n - 1] = at(before, last, to),
            [last] if last.0 > to => points.clear(),
            _ => {}
        }
        if !points.is_empty() {
            all.push(points);
        }
    }
    all
}

/// Runs of points as path data: tenths of a pixel, each relative to the one before. With `spans`, what lies in these alone.
fn path(drawn: &[Vec<(f64, f64)>], time: &Axis, y_of: &dyn Fn(f64) -> f64, spans: Option<&[(f64, f64)]>) -> String {
    // a row of the table is at an end of a span, give or take a rounding
    let slack = 1e-9 * (time.high - time.low).abs();
    let span_of = |t: f64| -> Option<usize> {
        let Some(spans) = spans else { return Some(0) };
        let next = spans.partition_point(|span| span.1 + slack < t);
        spans.get(next).filter(|span| span.0 - slack <= t).map(|_| next)
    };
    let mut path = String::new();
    for run in drawn {
        let (mut at, mut within, mut n) = ((0, 0), None, 0);
        // a lonely point is a dot: round ends draw it
        let end = |path: &mut String, n: usize| {
            if n == 1 {
                path.push_str("h0")
            }
        };
        for &(t, x) in run {
            let now = span_of(t);
            if now != within {
                end(&mut path, n);
                (at, within, n) = ((0, 0), now, 0);
            }
            if now.is_none() {
                continue;
            }
            let to = ((10.0 * x_of(time, t)).round() as i64, (10.0 * y_of(x)).round() as i64);
            path.push(if n == 0 { 'M' } else { 'l' });
            path.push_str(&tenth(to.0 - at.0));
            // a sign separates as well as a space
            let y = tenth(to.1 - at.1);
            if !y.starts_with('-') {
                path.push(' ');
            }
            path.push_str(&y);
            at = to;
            n += 1;
        }
        end(&mut path, n);
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

/// Spans of time as bars of one height, each path with the part of its time that is filled. Spans that pixels can part are drawn as
/// they are; where they are finer, columns of pixels are as dense as the spans in them.
fn bars(spans: &[(f64, f64)], time: &Axis, top: f64, height: f64) -> Vec<(f64, String)> {
    let pixels: Vec<(f64, f64)> = spans
        .iter()
        .filter(|span| span.1 >= time.low && span.0 <= time.high)
        .map(|span| (x_of(time, span.0.max(time.low)), x_of(time, span.1.min(time.high))))
        .collect();
    let bar = |path: &mut String, from: f64, width: f64| {
        let (left, wide) = (tenths(from), tenths(width.max(0.4)));
        let _ = write!(path, "M{left} {}h{wide}v{}h-{wide}z", tenths(top), tenths(height));
    };
    let is_fine = pixels.windows(2).filter(|pair| pair[1].0 - pair[0].1 < 0.5).count() > FINE_GAPS;
    if !is_fine {
        let mut path = String::new();
        merged(&pixels, 0.5).into_iter().for_each(|(from, to)| bar(&mut path, from, to - from));
        return vec![(1.0, path)];
    }
    let mut levels = vec![String::new(); LEVELS];
    let mut run = (LEFT, 0);
    let covered = coverage(&pixels, LEFT, PLOT as usize);
    for (k, part) in covered.iter().copied().chain([0.0]).enumerate() {
        let level = if k < covered.len() { (part * LEVELS as f64).round() as usize } else { 0 };
        let x = LEFT + k as f64;
        if level != run.1 || k == covered.len() {
            if run.1 > 0 {
                bar(&mut levels[run.1 - 1], run.0, x - run.0);
            }
            run = (x, level);
        }
    }
    let parts = levels.into_iter().enumerate().filter(|(_, path)| !path.is_empty());
    parts.map(|(level, path)| ((level + 1) as f64 / LEVELS as f64, path)).collect()
}

/// Bars, thinner where less of the time is filled.
fn write_bars(out: &mut String, class: &str, bars: Vec<(f64, String)>) {
    for (part, path) in bars {
        let density = if part < 1.0 { format!(r#" fill-opacity="{part}""#) } else { String::new() };
        let _ = writeln!(out, r#"<path class="{class}"{density} d="{path}"/>"#);
    }
}

/// How much of each of `n` columns, one wide and the first at `left`, spans cover.
fn coverage(spans: &[(f64, f64)], left: f64, n: usize) -> Vec<f64> {
    let mut covered = vec![0.0; n];
    for &(from, to) in spans {
        let first = (from - left).floor().max(0.0) as usize;
        for (k, part) in covered.iter_mut().enumerate().skip(first) {
            let x = left + k as f64;
            if x >= to {
                break;
            }
            *part += (to.min(x + 1.0) - from.max(x)).max(0.0);
        }
    }
    covered.iter().map(|part: &f64| part.min(1.0)).collect()
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

/// Lowest and highest value.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let extent = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
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
         .stuck{opacity:.13}.held{opacity:.85}.event.event{stroke-width:1}.along.along{stroke-width:8;opacity:.2;stroke-linecap:butt}\
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
         .grid{stroke:#2b2e34}.frame{stroke:#666}.row{fill:#24272d}.stuck{opacity:.2}.along.along{opacity:.3}",
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
        let path = path(&points(&data, &columns[0]), &time, &|x| 100.0 - 50.0 * x, None);
        let (mut x, mut y) = (0.0, 0.0);
        for step in path[1..].split('l') {
            let gap = step.find(' ').or_else(|| step[1..].find('-').map(|k| k + 1)).unwrap();
            x += step[..gap].parse::<f64>().unwrap();
            y += step[gap..].trim().parse::<f64>().unwrap();
        }
        assert!((x - (LEFT + PLOT)).abs() < 0.06 && (y - (100.0 - 50.0 * columns[0][2999])).abs() < 0.06, "{x} {y}");
    }

    /// A window cuts through lines: between two rows, past an end, beside a gap.
    #[test]
    fn a_window_cuts_lines_where_they_are() {
        let t = [0.0, 1.0, 2.0, 3.0];
        let columns = vec![vec![0.0, 10.0, 30.0, f64::NAN]];
        let drawn = |from, to| {
            let data = Data { t: &t, columns: &columns, phases: &[], window: (from, to) };
            points(&data, &columns[0])
        };
        assert_eq!(drawn(0.25, 0.75), [[(0.25, 2.5), (0.75, 7.5)]]);
        assert_eq!(drawn(0.5, 1.5), [[(0.5, 5.0), (1.0, 10.0), (1.5, 20.0)]]);
        assert_eq!(drawn(1.5, 4.0), [[(1.5, 20.0), (2.0, 30.0)]]);
        assert_eq!(drawn(2.5, 2.75), Vec::<Vec<(f64, f64)>>::new());
        assert_eq!(drawn(-1.0, 5.0), [[(0.0, 0.0), (1.0, 10.0), (2.0, 30.0)]]);
    }

    /// Of more joints than can be shaded one over the other, each curve is shaded along itself.
    #[test]
    fn a_curve_is_shaded_along_its_stick_phases() {
        let run = vec![(0.0, 1.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)];
        let time = Axis::exact(0.0, 4.0, 5);
        let along = path(&[run], &time, &|x| 10.0 * x, Some(&[(0.0, 1.0), (3.0, 4.0)]));
        assert_eq!(along.matches('M').count(), 2);
        let begin = tenths(x_of(&time, 3.0));
        assert!(along.starts_with(&format!("M{LEFT} 10l")) && along.contains(&format!("M{begin} 0l")), "{along}");
    }

    /// Phases finer than pixels are as dense as they are long: a joint that is stuck half of the time is not shown as stuck.
    #[test]
    fn phases_finer_than_pixels_show_their_share_of_the_time() {
        let time = Axis::exact(0.0, 1000.0, 10);
        let spans: Vec<(f64, f64)> = (0..4000).map(|k| (0.25 * f64::from(k), 0.25 * f64::from(k) + 0.125)).collect();
        let found = bars(&spans, &time, 0.0, 10.0);
        assert!(found.iter().all(|(part, _)| (part - 0.5).abs() < 0.13), "{found:?}");
        let covered = coverage(&[(1.5, 3.0), (3.25, 3.5)], 1.0, 4);
        assert_eq!(covered, [0.5, 1.0, 0.25, 0.0]);
        // few and wide: as they are
        assert_eq!(bars(&[(0.0, 100.0), (500.0, 1000.0)], &time, 0.0, 10.0).len(), 1);
    }
}

//! Panels as a picture: one above the other over one axis of time.
//!
//! Curves are cut down to what their columns of pixels can show ([`super::decimate`]).

use super::decimate::runs;
use super::palette::{DASHES, LIGHT};
use super::path::{tenth, tenths};
use super::phases::{Phases, merged};
use super::picture::{Area, Picture, Px, Shape};
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
pub fn draw(title: &str, panels: &[Panel], data: &Data<'_>) -> Picture {
    let time = Axis::exact(data.window.0, data.window.1, 10);
    let mut shapes = Vec::new();
    let mut y = 14.0;
    if !title.is_empty() {
        y += 14.0;
        shapes.push(heading("title", y, title));
        y += 12.0;
    }
    let is_shown = |span: &(f64, f64)| span.1 >= data.window.0 && span.0 <= data.window.1;
    let shown: Vec<&Phases> = data.phases.iter().filter(|phases| phases.stuck.iter().any(is_shown)).collect();
    for panel in panels {
        y = draw_panel(&mut shapes, y, panel, &shown, data, &time) + 16.0;
    }
    if !shown.is_empty() {
        y = draw_rows(&mut shapes, y, &shown, panels, &time) + 16.0;
    }
    // the labels of time, once
    y += 2.0;
    for &tick in &time.ticks {
        let label = time.label(tick);
        // the last one stays within the picture
        let x = x_of(&time, tick).min(WIDTH - 2.0 - width_of(&label) / 2.0);
        shapes.push(Shape::text("n", x, y, label));
    }
    y += 20.0;
    let unit = if time.factor().is_empty() { "s".to_owned() } else { format!("{} s", time.factor()) };
    shapes.push(Shape::text("n", LEFT + PLOT / 2.0, y, format!("time ({unit})")));
    let name = if title.is_empty() { "results over time" } else { title };
    Picture { name: name.to_owned(), width: WIDTH, height: y + 12.0, shapes }
}

/// One panel from `y` downwards; gives where it ends.
fn draw_panel(out: &mut Vec<Shape>, y: f64, panel: &Panel, phases: &[&Phases], data: &Data<'_>, time: &Axis) -> f64 {
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
            let class = format!("stuck f{}", color % LIGHT.len());
            out.extend(bars(&class, &phases.stuck, time, top, HEIGHT));
        }
    }
    for &tick in &axis.ticks {
        let y = y_of(tick);
        out.push(Shape::path("grid", format!("M{LEFT} {y:.1}h{PLOT}")));
        out.push(Shape::text("v", LEFT - 7.0, y + 4.0, axis.label(tick)));
    }
    for &tick in &time.ticks {
        out.push(Shape::path("grid", format!("M{:.1} {top:.1}v{HEIGHT}", x_of(time, tick))));
    }
    out.push(Shape::Rect { class: "frame", area: across(top, Px::Fixed(HEIGHT)) });

    // nothing is drawn beyond the frame, but for half the width of a line
    let mut within = Vec::new();
    // changes of mode, as marks on the lower edge
    for phases in data.phases.iter().filter(|phases| of_panel(phases)) {
        let path = marks(&phases.changes, time, bottom);
        let color = color_of(panel, &phases.joint).unwrap_or(0);
        within.push(Shape::path(format!("c{} event", color % LIGHT.len()), path));
    }
    if is_along {
        for (curve, drawn) in panel.curves.iter().zip(&drawn) {
            let Some(phases) = shaded.iter().find(|phases| phases.joint == curve.owner) else { continue };
            let path = path(drawn, time, &y_of, Some(&phases.stuck));
            within.push(Shape::path(format!("c{} along", curve.color % LIGHT.len()), path));
        }
    }
    for (curve, drawn) in panel.curves.iter().zip(&drawn) {
        within.push(Shape::path(classes(curve.color), path(drawn, time, &y_of, None)));
    }
    let area = across(top - 1.0, Px::Tenth(HEIGHT + 2.0));
    out.push(Shape::Clip { id: format!("panel-{top:.0}"), area, shapes: within });
    bottom
}

/// Title, unit and names of the curves above a panel; gives where the panel begins.
fn legend(out: &mut Vec<Shape>, y: f64, panel: &Panel, axis: &Axis) -> f64 {
    let mut y = y + 12.0;
    let unit = [axis.factor(), panel.unit.to_owned()].join(" ").trim().to_owned();
    let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
    let (low, high) = (LEFT, WIDTH - RIGHT);
    let head = format!("{}{unit}", panel.title);
    out.push(heading("head", y, &head));
    let mut x = low + width_of(&head) * 1.08 + 20.0;
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
            out.push(Shape::path(classes(color), format!("M{x:.1} {:.1}h20", y - 4.0)));
        }
        out.push(Shape::text("name", x + 25.0, y, label));
        x += width;
    }
    y + 8.0
}

/// A row for each joint, filled while it is stuck; gives where they end.
fn draw_rows(out: &mut Vec<Shape>, y: f64, phases: &[&Phases], panels: &[Panel], time: &Axis) -> f64 {
    let mut y = y + 12.0;
    out.push(heading("head", y, "stuck"));
    y += 8.0;
    for (k, phases) in phases.iter().enumerate() {
        let color = panels.iter().find_map(|panel| color_of(panel, &phases.joint)).unwrap_or(k) % LIGHT.len();
        out.push(Shape::Rect { class: "row", area: across(y, Px::Tenth(ROW - 4.0)) });
        out.extend(bars(&format!("held f{color}"), &phases.stuck, time, y, ROW - 4.0));
        out.push(Shape::text("v", LEFT - 7.0, y + 10.0, shortened(&phases.joint, LEFT - 10.0)));
        y += ROW;
    }
    y
}

/// A text on the left edge of the panels.
fn heading(class: &'static str, y: f64, text: &str) -> Shape {
    Shape::Text { class, x: Px::Fixed(LEFT), y: Px::Tenth(y), text: text.to_owned() }
}

/// From the left edge of the panels to the right.
fn across(y: f64, height: Px) -> Area {
    Area { x: Px::Fixed(LEFT), y: Px::Tenth(y), width: Px::Fixed(PLOT), height }
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

/// Spans of time as bars of one height. Spans that pixels can part are drawn as they are; where they are finer, columns of pixels are
/// as dense as the spans in them.
fn bars(class: &str, spans: &[(f64, f64)], time: &Axis, top: f64, height: f64) -> Vec<Shape> {
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
        return vec![Shape::path(class, path)];
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
    let bars = parts.map(|(level, data)| {
        let fill_opacity = (level + 1) as f64 / LEVELS as f64;
        Shape::Path { class: class.to_owned(), fill_opacity, data }
    });
    bars.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let found = bars("held", &spans, &time, 0.0, 10.0);
        let is_half =
            |bar: &Shape| matches!(bar, Shape::Path { fill_opacity, .. } if (fill_opacity - 0.5).abs() < 0.13);
        assert!(found.iter().all(is_half), "{found:?}");
        let covered = coverage(&[(1.5, 3.0), (3.25, 3.5)], 1.0, 4);
        assert_eq!(covered, [0.5, 1.0, 0.25, 0.0]);
        // few and wide: as they are
        assert_eq!(bars("held", &[(0.0, 100.0), (500.0, 1000.0)], &time, 0.0, 10.0).len(), 1);
    }
}

//! Curves y over x: axes linear or logarithmic, one panel or several in a grid.
//!
//! Unlike the pictures of results ([`crate::plot`]) these are not tied to time: loops, scatter and spectra are drawn as well. A curve
//! whose x runs forwards is cut down to what its columns of pixels can show.

use crate::plot::palette::{DASHES, LIGHT};
use crate::plot::ticks::Axis;
use crate::plot::{decimate, escape, picture_style, tenth};
use std::fmt::Write;

const WIDTH: f64 = 920.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
/// Heights of a panel with one and with several columns.
const TALL: f64 = 260.0;
const LOW: f64 = 210.0;

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Line.
    #[default]
    Line,
    /// Broken line.
    Dashed,
    /// Points alone.
    Points,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
struct Curve {
    label: String,
    x: Vec<f64>,
    y: Vec<f64>,
    style: Style,
    color: usize,
    /// What stands beside each point; empty where nothing does.
    names: Vec<String>,
}

/// A pair of axes with its curves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    title: String,
    x: Side,
    y: Side,
    curves: Vec<Curve>,
    /// Spans of x that are shaded.
    spans: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Side {
    label: String,
    is_log: bool,
    range: Option<(f64, f64)>,
}

impl Panel {
    /// Axes with what stands along them.
    pub fn new(title: &str, x: &str, y: &str) -> Self {
        let side = |label: &str| Side { label: label.into(), ..Side::default() };
        Self { title: title.into(), x: side(x), y: side(y), ..Self::default() }
    }

    /// Logarithmic x.
    pub fn log_x(mut self) -> Self {
        self.x.is_log = true;
        self
    }

    /// Logarithmic y.
    pub fn log_y(mut self) -> Self {
        self.y.is_log = true;
        self
    }

    /// Ends of the x axis.
    pub fn x_range(mut self, low: f64, high: f64) -> Self {
        self.x.range = Some((low, high));
        self
    }

    /// Ends of the y axis.
    pub fn y_range(mut self, low: f64, high: f64) -> Self {
        self.y.range = Some((low, high));
        self
    }

    /// A curve, in the next colour.
    pub fn curve(self, label: &str, x: &[f64], y: &[f64], style: Style) -> Self {
        let color = self.curves.len();
        self.colored(label, x, y, style, color)
    }

    /// A curve in a colour of its own, by number.
    pub fn colored(mut self, label: &str, x: &[f64], y: &[f64], style: Style, color: usize) -> Self {
        self.curves.push(Curve { label: label.into(), x: x.to_vec(), y: y.to_vec(), style, color, names: Vec::new() });
        self
    }

    /// Points with their names beside them: name, x, y.
    pub fn points(self, label: &str, points: &[(&str, f64, f64)], color: usize) -> Self {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|point| (point.1, point.2)).unzip();
        let mut panel = self.colored(label, &x, &y, Style::Points, color);
        if let Some(curve) = panel.curves.last_mut() {
            curve.names = points.iter().map(|point| point.0.to_owned()).collect();
        }
        panel
    }

    /// Puts names beside the points of the last curve.
    pub fn named(mut self, names: Vec<String>) -> Self {
        if let Some(curve) = self.curves.last_mut() {
            curve.names = names;
        }
        self
    }

    /// Shades spans of x.
    pub fn shade(mut self, spans: &[(f64, f64)]) -> Self {
        self.spans.extend_from_slice(spans);
        self
    }
}

/// The panels in a grid of so many columns, as SVG.
pub fn draw(title: &str, columns: usize, panels: &[Panel]) -> String {
    let columns = columns.max(1);
    let height = if columns == 1 { TALL } else { LOW };
    let cell = WIDTH / columns as f64;
    let mut body = String::new();
    let mut y = 8.0;
    if !title.is_empty() {
        y += 18.0;
        let _ = writeln!(body, r#"<text class="title" x="{LEFT}" y="{y:.1}">{}</text>"#, escape(title));
        y += 6.0;
    }
    for (row, panels) in panels.chunks(columns).enumerate() {
        let mut bottom = y;
        // panels of a row stand on one line
        let legends = panels.iter().map(|panel| legend_lines(panel, cell - LEFT - RIGHT)).max().unwrap_or(0);
        for (k, panel) in panels.iter().enumerate() {
            let place = Place {
                left: cell * k as f64 + LEFT,
                top: y + 18.0 + 18.0 * legends as f64,
                width: cell - LEFT - RIGHT,
                height,
                number: row * columns + k,
            };
            draw_panel(&mut body, panel, &place);
            bottom = f64::max(bottom, place.top + height + 44.0);
        }
        y = bottom + 4.0;
    }
    let name = if title.is_empty() { "curves" } else { title };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.0}\" width=\"{WIDTH}\" height=\"{y:.0}\" role=\"img\">\n\
         <title>{}</title>\n<style>{}.dot{{stroke-width:5}}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        escape(name),
        picture_style()
    )
}

/// Where a panel stands.
struct Place {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    number: usize,
}

/// An axis as it is drawn: values go through `value`, then along [`Axis::place`].
struct Scale {
    is_log: bool,
    axis: Axis,
}

impl Scale {
    fn new(side: &Side, values: impl Iterator<Item = f64>, is_snug: bool) -> Self {
        let is_log = side.is_log;
        let through = |x: f64| if is_log { x.log10() } else { x };
        let (low, high) = side.range.map_or_else(
            || {
                let seen = values.map(through).filter(|&x| decimate::is_drawable(x));
                seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
            },
            |(low, high)| (through(low), through(high)),
        );
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let axis = if is_log {
            let mut axis = Axis::exact((low - 0.05).floor(), (high + 0.05).ceil(), 10);
            if side.range.is_some() {
                axis = Axis::exact(low, high, 10);
            }
            // decades only
            axis.ticks.retain(|tick| (tick - tick.round()).abs() < 1e-9);
            axis
        } else if side.range.is_some() || is_snug && high > low {
            Axis::exact(low, high, 8)
        } else {
            Axis::around(low, high, 6)
        };
        Self { is_log, axis }
    }

    fn place(&self, x: f64) -> f64 {
        self.axis.place(if self.is_log { x.log10() } else { x })
    }

    fn label(&self, tick: f64) -> String {
        if self.is_log { power(tick.round() as i32) } else { self.axis.label(tick) }
    }

    fn title(&self, side: &Side) -> String {
        let factor = if self.is_log { String::new() } else { self.axis.factor() };
        if factor.is_empty() { side.label.clone() } else { format!("{} ({factor})", side.label) }
    }
}

/// 10ᵏ as it is written.
fn power(k: i32) -> String {
    match k {
        0 => "1".into(),
        1 => "10".into(),
        k => format!("10{}", crate::plot::ticks::superscript(k)),
    }
}

/// Lines of the legend over a panel: none where no curve has a name.
fn legend_lines(panel: &Panel, width: f64) -> usize {
    let mut lines = 0;
    legend(panel, width, |_, line, _| lines = line + 1);
    lines
}

/// Places the names of curves: x, line, curve.
fn legend(panel: &Panel, width: f64, mut put: impl FnMut(f64, usize, &Curve)) {
    let (mut x, mut line) = (0.0, 0);
    for curve in panel.curves.iter().filter(|curve| !curve.label.is_empty()) {
        let wide = 6.6 * curve.label.chars().count() as f64 + 40.0;
        if x > 0.0 && x + wide > width {
            (x, line) = (0.0, line + 1);
        }
        put(x, line, curve);
        x += wide;
    }
}

fn draw_panel(out: &mut String, panel: &Panel, place: &Place) {
    let Place { left, top, width, height, number } = *place;
    let bottom = top + height;
    let x = Scale::new(&panel.x, panel.curves.iter().flat_map(|curve| curve.x.iter().copied()), true);
    // of what can be seen
    let seen = |curve: &Curve, k: usize| (0.0..=1.0).contains(&x.place(curve.x[k]));
    let in_view = panel.curves.iter().flat_map(|curve| {
        let n = curve.x.len().min(curve.y.len());
        (0..n).filter(move |&k| seen(curve, k)).map(|k| curve.y[k])
    });
    let y = Scale::new(&panel.y, in_view.collect::<Vec<f64>>().into_iter(), false);
    let x_of = |value: f64| left + width * x.place(value);
    let y_of = |value: f64| bottom - height * y.place(value);

    // heading and legend
    let lines = legend_lines(panel, width);
    let head = top - 8.0 - 18.0 * lines as f64;
    let _ = writeln!(out, r#"<text class="head" x="{left:.1}" y="{head:.1}">{}</text>"#, escape(&panel.title));
    legend(panel, width, |dx, line, curve| {
        let (x, y) = (left + dx, head + 18.0 * (line + 1) as f64);
        let _ = writeln!(out, r#"<path class="{}" d="M{x:.1} {:.1}h{}"/>"#, classes(curve), y - 4.0, stroke(curve));
        let _ = writeln!(out, r#"<text class="name" x="{:.1}" y="{y:.1}">{}</text>"#, x + 25.0, escape(&curve.label));
    });

    // ground
    for &(from, to) in &panel.spans {
        let (from, to) = (x_of(from).clamp(left, left + width), x_of(to).clamp(left, left + width));
        let _ = writeln!(
            out,
            r#"<rect class="stuck f6" x="{from:.1}" y="{top:.1}" width="{:.1}" height="{height}"/>"#,
            to - from
        );
    }
    for &tick in &x.axis.ticks {
        let at = left + width * x.axis.place(tick);
        let _ = writeln!(out, r#"<path class="grid" d="M{at:.1} {top:.1}v{height}"/>"#);
        let _ = writeln!(out, r#"<text class="n" x="{at:.1}" y="{:.1}">{}</text>"#, bottom + 16.0, x.label(tick));
    }
    for &tick in &y.axis.ticks {
        let at = bottom - height * y.axis.place(tick);
        let _ = writeln!(out, r#"<path class="grid" d="M{left:.1} {at:.1}h{width:.1}"/>"#);
        let _ = writeln!(out, r#"<text class="v" x="{:.1}" y="{:.1}">{}</text>"#, left - 6.0, at + 4.0, y.label(tick));
    }
    let _ = writeln!(
        out,
        r#"<rect class="frame" x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height}"/>
<text class="n" x="{:.1}" y="{:.1}">{}</text>
<text class="n" transform="translate({:.1} {:.1})rotate(-90)">{}</text>
<clipPath id="p{number}"><rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height}"/></clipPath>
<g clip-path="url(#p{number})">"#,
        left + width / 2.0,
        bottom + 34.0,
        escape(&x.title(&panel.x)),
        left - 62.0,
        top + height / 2.0,
        escape(&y.title(&panel.y)),
    );
    for curve in &panel.curves {
        let path = path(curve, width, &x, &x_of, &y_of);
        let _ = writeln!(out, r#"<path class="{}" d="{path}"/>"#, classes(curve));
    }
    out.push_str("</g>\n");
    name_points(out, panel, (left, top, width, height), &x_of, &y_of);
}

/// Names of points, each at the first free place beside its point: no name on another, nor on a point.
fn name_points(
    out: &mut String,
    panel: &Panel,
    (left, top, width, height): (f64, f64, f64, f64),
    x_of: &dyn Fn(f64) -> f64,
    y_of: &dyn Fn(f64) -> f64,
) {
    type Box = (f64, f64, f64, f64);
    let apart = |a: &Box, b: &Box| a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
    let drawn = |curve: &Curve| -> Vec<(f64, f64)> {
        curve.x.iter().zip(&curve.y).map(|(&x, &y)| (x_of(x), y_of(y))).collect()
    };
    let mut taken: Vec<Box> = Vec::new();
    for curve in panel.curves.iter().filter(|curve| !curve.names.is_empty()) {
        taken.extend(drawn(curve).into_iter().map(|(x, y)| (x - 3.0, y - 3.0, x + 3.0, y + 3.0)));
    }
    for curve in &panel.curves {
        for (name, (x, y)) in curve.names.iter().zip(drawn(curve)) {
            if name.is_empty() || !decimate::is_drawable(x) || !decimate::is_drawable(y) {
                continue;
            }
            let wide = 5.6 * name.chars().count() as f64 + 2.0;
            // right, left, above, below, then further off
            let places = (0..6).flat_map(|k| {
                let far = 12.0 * f64::from(k);
                [
                    (x + 6.0, y + far),
                    (x - 6.0 - wide, y + far),
                    (x + 6.0, y - far),
                    (x - 6.0 - wide, y - far),
                    (x - 0.5 * wide, y - 10.0 - far),
                    (x - 0.5 * wide, y + 10.0 + far),
                ]
            });
            let of = |(x, y): (f64, f64)| (x, y - 6.0, x + wide, y + 5.0);
            let is_free = |place: &Box| {
                let inside = place.0 >= left && place.1 >= top && place.2 <= left + width && place.3 <= top + height;
                inside && taken.iter().all(|other| apart(place, other))
            };
            let Some(place) = places.map(of).find(is_free) else { continue };
            // a line to the point where the name is not right beside it
            let (end_x, end_y) = (x.clamp(place.0, place.2), y.clamp(place.1, place.3));
            if (end_x - x).hypot(end_y - y) > 8.0 {
                let _ = writeln!(out, r#"<path class="grid" d="M{x:.1} {y:.1}L{end_x:.1} {end_y:.1}"/>"#);
            }
            taken.push(place);
            let _ = writeln!(
                out,
                r#"<text class="name" style="font-size:10px" x="{:.1}" y="{:.1}">{}</text>"#,
                place.0,
                place.3 - 2.0,
                escape(name)
            );
        }
    }
}

fn classes(curve: &Curve) -> String {
    let color = curve.color % LIGHT.len();
    match curve.style {
        Style::Line => format!("c{color} d{}", curve.color / LIGHT.len() % DASHES.len()),
        Style::Dashed => format!("c{color} d1"),
        Style::Points => format!("c{color} dot"),
    }
}

/// Length of the stroke in the legend.
fn stroke(curve: &Curve) -> f64 {
    if curve.style == Style::Points { 0.0 } else { 20.0 }
}

/// Path data in tenths of a pixel, each point relative to the one before; points that stay within the same tenth are left out.
fn path(curve: &Curve, width: f64, x: &Scale, x_of: &dyn Fn(f64) -> f64, y_of: &dyn Fn(f64) -> f64) -> String {
    let n = curve.x.len().min(curve.y.len());
    let (xs, ys) = (&curve.x[..n], &curve.y[..n]);
    let runs_forwards = !x.is_log && curve.style != Style::Points && xs.windows(2).all(|pair| pair[0] <= pair[1]);
    let runs: Vec<Vec<usize>> = if runs_forwards {
        decimate::runs(xs, ys, x.axis.low, x.axis.high, width as usize)
    } else {
        let is_there = |&k: &usize| decimate::is_drawable(x_of(xs[k])) && decimate::is_drawable(y_of(ys[k]));
        vec![(0..n).filter(is_there).collect()]
    };
    // far outside, a place is as good as another: numbers stay short
    let tenths = |x: f64| (10.0 * x.clamp(-1e4, 1e4)).round() as i64;
    let mut path = String::new();
    for run in runs {
        let mut at: Option<(i64, i64)> = None;
        for k in run {
            let to = (tenths(x_of(xs[k])), tenths(y_of(ys[k])));
            let (from, letter) = match at {
                Some(from) if curve.style != Style::Points => (from, 'l'),
                _ => ((0, 0), 'M'),
            };
            if at == Some(to) {
                continue;
            }
            path.push(letter);
            path.push_str(&tenth(to.0 - from.0));
            let dy = tenth(to.1 - from.1);
            if !dy.starts_with('-') {
                path.push(' ');
            }
            path.push_str(&dy);
            if curve.style == Style::Points {
                path.push_str("h0");
            }
            at = Some(to);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_parts() {
        let x: Vec<f64> = (1..200).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 1e-6 * x * x).collect();
        let panel = Panel::new("work", "steps", "error").log_x().log_y().curve("a <b>", &x, &y, Style::Points);
        let loops = Panel::new("loop", "x", "F").curve(
            "",
            &x.iter().map(|t| t.cos()).collect::<Vec<_>>(),
            &x.iter().map(|t| t.sin()).collect::<Vec<_>>(),
            Style::Line,
        );
        let svg = draw("two", 2, &[panel, loops]);
        assert!(svg.contains("a &lt;b&gt;") && svg.contains("10⁻⁶") && svg.contains("100") == svg.contains("10²"));
        assert_eq!(svg.matches("<clipPath").count(), 2);
        assert_eq!(svg.matches('M').count() - svg.matches("class=\"grid\"").count() - 1, 199 + 1);
    }

    #[test]
    fn nothing_to_draw_is_drawn() {
        let svg = draw("", 1, &[Panel::new("", "x", "y").curve("none", &[f64::NAN], &[1.0], Style::Line)]);
        assert!(svg.ends_with("</svg>\n"));
    }
}

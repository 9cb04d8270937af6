//! Panels of curves as a picture: one above the other over one x axis, or in a grid with axes of their own.
//!
//! Axes are linear or logarithmic. A curve with ascending x is reduced to the points that its columns of pixels can
//! show ([`super::decimate`]); loops, scatter and spectra are drawn point by point.

mod curve;
mod names;
mod scale;
mod shade;

use super::palette::{DASHES, LIGHT};
use super::picture::{Area, Picture, Px, Shape};
use scale::Scale;
use std::borrow::Cow;

const WIDTH: f64 = 920.0;
/// Room left and right of a panel, px.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 18.0;
/// Heights of a panel in a stack, in a grid of one column and in a wider grid, px.
const STACKED: f64 = 150.0;
const TALL: f64 = 260.0;
const LOW: f64 = 210.0;
/// Of a line of the legend, and of a row of spans.
const LINE: f64 = 18.0;
const ROW: f64 = 16.0;
/// Colour of spans that belong to no curve: grey.
const GREY: usize = 6;

/// The style of a curve.
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

/// Spans of x, each with start and end.
pub type Spans<'a> = Cow<'a, [(f64, f64)]>;

/// One curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve<'a> {
    /// Name in the legend; empty for none.
    pub label: String,
    pub x: Cow<'a, [f64]>,
    pub y: Cow<'a, [f64]>,
    pub style: Style,
    /// Number of its colour.
    pub color: usize,
    /// Texts beside the points; empty where there is none.
    pub names: Vec<String>,
    /// Spans of x in which the curve is shaded along itself.
    pub along: Spans<'a>,
}

/// A pair of axes with its curves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel<'a> {
    pub title: String,
    /// Unit of y; empty for none.
    pub unit: String,
    x: Side,
    y: Side,
    pub curves: Vec<Curve<'a>>,
    /// Spans of x that are shaded over the whole height, each set with the number of its colour.
    pub shades: Vec<(usize, Spans<'a>)>,
    /// Values of x that are marked on the lower edge, each set with the number of its colour.
    pub marks: Vec<(usize, Cow<'a, [f64]>)>,
    /// Number of curves that were left out.
    pub left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Side {
    label: String,
    is_log: bool,
    range: Option<(f64, f64)>,
}

/// Spans of x as a row below a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    pub name: String,
    /// Number of its colour.
    pub color: usize,
    pub spans: Spans<'a>,
}

impl<'a> Panel<'a> {
    /// Axes with the texts along them.
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
        let (x, y) = (Cow::Owned(x.to_vec()), Cow::Owned(y.to_vec()));
        self.curves.push(Curve { label: label.into(), x, y, style, color, ..Curve::default() });
        self
    }

    /// Points with their names beside them: name, x, y.
    pub fn points(self, label: &str, points: &[(&str, f64, f64)], color: usize) -> Self {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|point| (point.1, point.2)).unzip();
        let names = points.iter().map(|point| point.0.to_owned()).collect();
        self.colored(label, &x, &y, Style::Points, color).named(names)
    }

    /// Adds names beside the points of the last curve.
    pub fn named(mut self, names: Vec<String>) -> Self {
        if let Some(curve) = self.curves.last_mut() {
            curve.names = names;
        }
        self
    }

    /// Shades spans of x.
    pub fn shade(mut self, spans: &[(f64, f64)]) -> Self {
        self.shades.push((GREY, Cow::Owned(spans.to_vec())));
        self
    }

    /// Title, text along y, factor and unit.
    fn head(&self, y: &Scale) -> String {
        let name = match (self.title.as_str(), self.y.label.as_str()) {
            (title, "") => title.to_owned(),
            ("", label) => label.to_owned(),
            (title, label) => format!("{title}: {label}"),
        };
        let unit = [y.factor(), self.unit.clone()].join(" ").trim().to_owned();
        if unit.is_empty() { name } else { format!("{name} ({unit})") }
    }
}

/// The panels in a grid of `columns` columns, as SVG.
pub fn draw(title: &str, columns: usize, panels: &[Panel<'_>]) -> String {
    super::svg(&grid(title, columns, panels))
}

/// The panels in a grid of `columns` columns.
pub fn grid(title: &str, columns: usize, panels: &[Panel<'_>]) -> Picture {
    let columns = columns.max(1);
    let (cell, height) = (WIDTH / columns as f64, if columns == 1 { TALL } else { LOW });
    let mut shapes = Vec::new();
    let mut y = title_of(&mut shapes, title);
    for panels in panels.chunks(columns) {
        let frame = |k: usize| Frame { left: cell * k as f64 + LEFT, top: y, width: cell - LEFT - RIGHT, height };
        let planned: Vec<Plan> = panels.iter().enumerate().map(|(k, panel)| Plan::new(panel, frame(k))).collect();
        // panels of a row stand on one line
        let top = planned.iter().map(|plan| plan.legend(&mut Vec::new())).fold(y, f64::max);
        for mut plan in planned {
            plan.legend(&mut shapes);
            plan.frame.top = top;
            plan.draw(&mut shapes);
            x_labels(&mut shapes, &plan.frame, &plan.x, top + height + 16.0, &plan.panel.x.label);
        }
        y = top + height + 52.0;
    }
    let name = if title.is_empty() { "curves" } else { title };
    Picture { name: name.to_owned(), width: WIDTH, height: y, shapes }
}

/// The panels one above the other over one x axis from `window.0` to `window.1`, and rows of spans below them.
pub fn stack(
    title: &str,
    x_label: &str,
    unit: &str,
    window: (f64, f64),
    panels: &[Panel<'_>],
    rows: (&str, &[Row<'_>]),
) -> Picture {
    let mut shapes = Vec::new();
    let mut y = title_of(&mut shapes, title);
    let side = Side { range: Some(window), ..Side::default() };
    let mut frame = Frame { left: LEFT, top: y, width: WIDTH - LEFT - RIGHT, height: STACKED };
    for panel in panels {
        let panel = Panel { x: side.clone(), ..panel.clone() };
        frame.top = y;
        let mut plan = Plan::new(&panel, frame);
        plan.frame.top = plan.legend(&mut shapes);
        plan.draw(&mut shapes);
        y = plan.frame.bottom() + 16.0;
    }
    frame.top = y;
    let x = Scale::new(&side, std::iter::empty(), true, frame.width);
    if !rows.1.is_empty() {
        y = draw_rows(&mut shapes, &frame, &x, rows) + 16.0;
    }
    let unit = [x.factor(), unit.to_owned()].join(" ").trim().to_owned();
    x_labels(&mut shapes, &frame, &x, y + 2.0, &format!("{x_label} ({unit})"));
    let name = if title.is_empty() { "results over time" } else { title };
    Picture { name: name.to_owned(), width: WIDTH, height: y + 34.0, shapes }
}

/// The title; returns the top of the panels.
fn title_of(out: &mut Vec<Shape>, title: &str) -> f64 {
    if title.is_empty() {
        return 14.0;
    }
    out.push(Shape::text("title", LEFT, 28.0, title));
    40.0
}

/// Labels of the x axis, and the text below them.
fn x_labels(out: &mut Vec<Shape>, frame: &Frame, x: &Scale, y: f64, title: &str) {
    for &tick in &x.axis.ticks {
        let label = x.label(tick);
        // the last one stays within the picture
        let at = (frame.left + frame.width * x.axis.place(tick)).min(WIDTH - 2.0 - width_of(&label) / 2.0);
        out.push(Shape::text("n", at, y, label));
    }
    out.push(Shape::text("n", frame.left + frame.width / 2.0, y + 20.0, title));
}

/// A row for each set of spans; returns their lower end.
fn draw_rows(out: &mut Vec<Shape>, frame: &Frame, x: &Scale, (title, rows): (&str, &[Row<'_>])) -> f64 {
    let mut y = frame.top + 12.0;
    out.push(Shape::text("head", frame.left, y, title));
    y += 8.0;
    for row in rows {
        let frame = Frame { top: y, height: ROW - 4.0, ..*frame };
        out.push(Shape::Rect { class: "row", area: frame.area(0.0) });
        let class = format!("held f{}", row.color % LIGHT.len());
        out.extend(shade::bars(&class, &row.spans, x, &frame));
        out.push(Shape::text("v", frame.left - 7.0, y + 10.0, shortened(&row.name, LEFT - 10.0)));
        y += ROW;
    }
    y
}

/// The place of a panel, px.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// With a margin above and below.
    fn area(&self, margin: f64) -> Area {
        Area {
            x: Px::Fixed(self.left),
            y: Px::Tenth(self.top - margin),
            width: Px::Fixed(self.width),
            height: Px::Tenth(self.height + 2.0 * margin),
        }
    }

    fn x_of(&self, x: &Scale, value: f64) -> f64 {
        self.left + self.width * x.place(value)
    }

    fn y_of(&self, y: &Scale, value: f64) -> f64 {
        self.bottom() - self.height * y.place(value)
    }
}

/// A panel with its scales, ready to be drawn.
struct Plan<'a> {
    panel: &'a Panel<'a>,
    frame: Frame,
    x: Scale,
    y: Scale,
    /// Points of each curve that are drawn, in runs without gaps.
    drawn: Vec<curve::Runs>,
}

impl<'a> Plan<'a> {
    fn new(panel: &'a Panel<'a>, frame: Frame) -> Self {
        let x = Scale::new(&panel.x, panel.curves.iter().flat_map(|c| c.x.iter().copied()), true, frame.width);
        let drawn: Vec<curve::Runs> = panel.curves.iter().map(|c| curve::points(c, &x, frame.width)).collect();
        // of the points in view
        let in_view = |point: &&(f64, f64)| (0.0..=1.0).contains(&x.place(point.0));
        let values = drawn.iter().flatten().flatten().filter(in_view).map(|point| point.1);
        let y = Scale::new(&panel.y, values, false, frame.height);
        Self { panel, frame, x, y, drawn }
    }

    /// The head and the names of the curves, from the top of the frame on; returns the top of the panel.
    fn legend(&self, out: &mut Vec<Shape>) -> f64 {
        let Frame { left, top, width, .. } = self.frame;
        let mut y = top + 12.0;
        let head = self.panel.head(&self.y);
        let mut x = left + width_of(&head) * 1.08 + 20.0;
        out.push(Shape::text("head", left, y, head));
        let named = self.panel.curves.iter().filter(|curve| !curve.label.is_empty());
        let mut entries: Vec<(Option<&Curve<'_>>, String)> =
            named.map(|curve| (Some(curve), curve.label.clone())).collect();
        if self.panel.left_out > 0 {
            entries.push((None, format!("… and {} more", self.panel.left_out)));
        }
        for (curve, label) in entries {
            let wide = width_of(&label) + 40.0;
            if x + wide > left + width && x > left {
                (x, y) = (left, y + LINE);
            }
            if let Some(curve) = curve {
                let (from, length) = if curve.style == Style::Points { (x + 10.0, 0) } else { (x, 20) };
                out.push(Shape::path(classes(curve), format!("M{from:.1} {:.1}h{length}", y - 4.0)));
            }
            out.push(Shape::text("name", x + 25.0, y, label));
            x += wide;
        }
        y + 8.0
    }

    /// Everything in the frame.
    fn draw(&self, out: &mut Vec<Shape>) {
        let Self { panel, frame, x, y, drawn } = self;
        let Frame { left, top, width, height } = *frame;

        // ground: spans, then the grid
        for (color, spans) in &panel.shades {
            out.extend(shade::bars(&format!("stuck f{}", color % LIGHT.len()), spans, x, frame));
        }
        for &tick in &y.axis.ticks {
            let at = frame.bottom() - height * y.axis.place(tick);
            out.push(Shape::path("grid", format!("M{left} {at:.1}h{width}")));
            out.push(Shape::text("v", left - 7.0, at + 4.0, y.label(tick)));
        }
        for &tick in &x.axis.ticks {
            let at = left + width * x.axis.place(tick);
            out.push(Shape::path("grid", format!("M{at:.1} {top:.1}v{height}")));
        }
        out.push(Shape::Rect { class: "frame", area: frame.area(0.0) });

        // nothing is drawn beyond the frame, except half the width of a line
        let mut within = Vec::new();
        for (color, places) in &panel.marks {
            within.push(Shape::path(format!("c{} event", color % LIGHT.len()), shade::marks(places, x, frame)));
        }
        let place = |point: (f64, f64)| (frame.x_of(x, point.0), frame.y_of(y, point.1));
        for (curve, runs) in panel.curves.iter().zip(drawn).filter(|(curve, _)| !curve.along.is_empty()) {
            // a row of the table is at an end of a span, give or take a rounding
            let slack = 1e-9 * (x.axis.high - x.axis.low).abs();
            let path = curve::path(&curve::within(runs, &curve.along, slack), Style::Line, &place);
            within.push(Shape::path(format!("c{} along", curve.color % LIGHT.len()), path));
        }
        for (curve, runs) in panel.curves.iter().zip(drawn) {
            within.push(Shape::path(classes(curve), curve::path(runs, curve.style, &place)));
        }
        let id = format!("panel-{left:.0}-{top:.0}");
        out.push(Shape::Clip { id, area: frame.area(1.0), shapes: within });
        names::name_points(out, panel, frame, &place);
    }
}

fn classes(curve: &Curve<'_>) -> String {
    let color = curve.color % LIGHT.len();
    match curve.style {
        Style::Line => format!("c{color} d{}", curve.color / LIGHT.len() % DASHES.len()),
        Style::Dashed => format!("c{color} d1"),
        Style::Points => format!("c{color} dot"),
    }
}

/// The width of a text at the size of the legend, px: letters of common fonts are half as wide as high.
fn width_of(text: &str) -> f64 {
    6.8 * text.chars().count() as f64
}

/// A name that fits into `width` px.
fn shortened(name: &str, width: f64) -> String {
    let max = (width / 6.4) as usize;
    if name.chars().count() <= max {
        name.to_owned()
    } else {
        name.chars().take(max.saturating_sub(1)).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests;

//! A curve as path data.

use super::super::decimate::{is_drawable, runs};
use super::super::path::tenth;
use super::scale::Scale;
use super::{Curve, Style};

/// Points (x, y) in runs without gaps.
pub type Runs = Vec<Vec<(f64, f64)>>;

/// The points of a curve that are drawn on `width` pixels. Where x ascends on a linear axis: the points that columns of
/// pixels can show, within the axis, and the points where lines leave it. Otherwise all points.
pub fn points(curve: &Curve<'_>, x: &Scale, width: f64) -> Runs {
    let n = curve.x.len().min(curve.y.len());
    let (xs, ys) = (&curve.x[..n], &curve.y[..n]);
    let runs_forwards = !x.is_log && curve.style != Style::Points && xs.windows(2).all(|pair| pair[0] <= pair[1]);
    if !runs_forwards {
        let all = xs.iter().copied().zip(ys.iter().copied());
        return vec![all.filter(|&(at, y)| is_drawable(x.place(at)) && is_drawable(y)).collect()];
    }
    let (from, to) = (x.axis.low, x.axis.high);
    let at = |a: (f64, f64), b: (f64, f64), x: f64| (x, a.1 + (b.1 - a.1) * ((x - a.0) / (b.0 - a.0)));
    let mut all = Vec::new();
    for run in runs(xs, ys, from, to, width as usize) {
        let mut points: Vec<(f64, f64)> = run.into_iter().map(|row| (xs[row], ys[row])).collect();
        // the points beside the axis are one before and one after
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

/// The parts of runs within `spans`, widened by `slack`.
pub fn within(runs: &Runs, spans: &[(f64, f64)], slack: f64) -> Runs {
    let span_of = |x: f64| -> Option<usize> {
        let next = spans.partition_point(|span| span.1 + slack < x);
        spans.get(next).filter(|span| span.0 - slack <= x).map(|_| next)
    };
    let parts = runs.iter().flat_map(|run| run.chunk_by(|a, b| span_of(a.0) == span_of(b.0)));
    parts.filter(|part| span_of(part[0].0).is_some()).map(<[(f64, f64)]>::to_vec).collect()
}

/// Runs as path data in tenths of a pixel, each point relative to the one before; `place` maps a point to pixels.
/// Points without a place are left out.
pub fn path(runs: &Runs, style: Style, place: &dyn Fn((f64, f64)) -> (f64, f64)) -> String {
    // places far outside are clamped: numbers stay short
    let tenths = |x: f64| (10.0 * x.clamp(-1e4, 1e4)).round() as i64;
    let mut path = String::new();
    for run in runs {
        let (mut from, mut n) = ((0, 0), 0);
        for (x, y) in run.iter().map(|&point| place(point)).filter(|(x, y)| !x.is_nan() && !y.is_nan()) {
            let to = (tenths(x), tenths(y));
            let is_start = n == 0 || style == Style::Points;
            if is_start {
                from = (0, 0);
            }
            path.push(if is_start { 'M' } else { 'l' });
            path.push_str(&tenth(to.0 - from.0));
            // a sign separates as well as a space
            let y = tenth(to.1 - from.1);
            if !y.starts_with('-') {
                path.push(' ');
            }
            path.push_str(&y);
            if style == Style::Points {
                path.push_str("h0");
            }
            from = to;
            n += 1;
        }
        // a single point is a dot, drawn by round ends
        if n == 1 && style != Style::Points {
            path.push_str("h0");
        }
    }
    path
}

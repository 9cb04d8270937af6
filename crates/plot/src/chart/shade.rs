//! Spans of x as bars, and places as marks.

use super::super::path::tenths;
use super::super::picture::Shape;
use super::super::spans::merged;
use super::Frame;
use super::scale::Scale;
use std::fmt::Write;

/// Number of gaps below a pixel that are left out; with more of them density replaces them, in steps of 1/8.
const FINE_GAPS: usize = 20;
const LEVELS: usize = 8;

/// Spans as bars of the height of the frame. Spans that pixels can separate are drawn exactly; finer ones as columns of
/// pixels with the density of the spans in them.
pub fn bars(class: &str, spans: &[(f64, f64)], x: &Scale, frame: &Frame) -> Vec<Shape> {
    let place = |value: f64| frame.left + frame.width * x.place(value).clamp(0.0, 1.0);
    let is_seen = |span: &&(f64, f64)| x.place(span.1) >= 0.0 && x.place(span.0) <= 1.0;
    let pixels: Vec<(f64, f64)> = spans.iter().filter(is_seen).map(|span| (place(span.0), place(span.1))).collect();
    let bar = |path: &mut String, from: f64, width: f64| {
        let (left, wide) = (tenths(from), tenths(width.max(0.4)));
        let _ = write!(path, "M{left} {}h{wide}v{}h-{wide}z", tenths(frame.top), tenths(frame.height));
    };
    let is_fine = pixels.windows(2).filter(|pair| pair[1].0 - pair[0].1 < 0.5).count() > FINE_GAPS;
    if !is_fine {
        let mut path = String::new();
        merged(&pixels, 0.5).into_iter().for_each(|(from, to)| bar(&mut path, from, to - from));
        return vec![Shape::path(class, path)];
    }
    let mut levels = vec![String::new(); LEVELS];
    let mut run = (frame.left, 0);
    let covered = coverage(&pixels, frame.left, frame.width as usize);
    for (k, part) in covered.iter().copied().chain([0.0]).enumerate() {
        let level = if k < covered.len() { (part * LEVELS as f64).round() as usize } else { 0 };
        let x = frame.left + k as f64;
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

/// The part of each of `n` columns, one wide and the first at `left`, that spans cover.
pub fn coverage(spans: &[(f64, f64)], left: f64, n: usize) -> Vec<f64> {
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

/// Short strokes up from the lower edge, no two nearer than half a pixel.
pub fn marks(places: &[f64], x: &Scale, frame: &Frame) -> String {
    let mut path = String::new();
    let mut last = f64::NEG_INFINITY;
    for at in places.iter().map(|&at| x.place(at)).filter(|at| (0.0..=1.0).contains(at)) {
        let at = frame.left + frame.width * at;
        if at - last >= 0.5 {
            let _ = write!(path, "M{} {}v-6", tenths(at), tenths(frame.bottom()));
            last = at;
        }
    }
    path
}

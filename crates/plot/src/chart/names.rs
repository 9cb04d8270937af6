//! Names of points, each at the first free place beside its point: no name on another, nor on a point.

use super::super::decimate::is_drawable;
use super::super::picture::Shape;
use super::{Curve, Frame, Panel};

/// Left, top, right, bottom, px.
type Box = (f64, f64, f64, f64);

pub fn name_points(out: &mut Vec<Shape>, panel: &Panel<'_>, frame: &Frame, place: &dyn Fn((f64, f64)) -> (f64, f64)) {
    let Frame { left, top, width, height } = *frame;
    let apart = |a: &Box, b: &Box| a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
    let drawn = |curve: &Curve<'_>| -> Vec<(f64, f64)> {
        curve.x.iter().zip(curve.y.iter()).map(|(&x, &y)| place((x, y))).collect()
    };
    let mut taken: Vec<Box> = Vec::new();
    for curve in panel.curves.iter().filter(|curve| !curve.names.is_empty()) {
        taken.extend(drawn(curve).into_iter().map(|(x, y)| (x - 3.0, y - 3.0, x + 3.0, y + 3.0)));
    }
    for curve in &panel.curves {
        for (name, (x, y)) in curve.names.iter().zip(drawn(curve)) {
            if name.is_empty() || !is_drawable(x) || !is_drawable(y) {
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
                out.push(Shape::path("grid", format!("M{x:.1} {y:.1}l{:.1} {:.1}", end_x - x, end_y - y)));
            }
            taken.push(place);
            out.push(Shape::text("name small", place.0, place.3 - 2.0, name.clone()));
        }
    }
}

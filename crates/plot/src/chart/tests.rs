use super::super::ticks::Axis;
use super::curve::{path, points, within};
use super::*;

const FRAME: Frame = Frame { left: LEFT, top: 0.0, width: WIDTH - LEFT - RIGHT, height: 10.0 };

fn scale(low: f64, high: f64) -> Scale {
    Scale { is_log: false, axis: Axis::exact(low, high, 10) }
}

fn curve<'a>(x: &'a [f64], y: &'a [f64]) -> Curve<'a> {
    Curve { x: Cow::Borrowed(x), y: Cow::Borrowed(y), ..Curve::default() }
}

#[test]
fn chart_has_its_parts() {
    let x: Vec<f64> = (1..200).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 1e-6 * x * x).collect();
    let panel = Panel::new("work", "steps", "error").log_x().log_y().curve("a <b>", &x, &y, Style::Points);
    let (cos, sin): (Vec<f64>, Vec<f64>) = x.iter().map(|t| (t.cos(), t.sin())).unzip();
    let loops = Panel::new("loop", "x", "F").curve("", &cos, &sin, Style::Line);
    let svg = draw("two", 2, &[panel, loops]);
    assert!(svg.contains("a &lt;b&gt;") && svg.contains("10⁻⁶") && svg.contains("100") == svg.contains("10²"));
    assert!(svg.contains(">work: error<") && svg.contains(">steps<"));
    assert_eq!(svg.matches("<clipPath").count(), 2);
    // each point, the legend's, and one line for the loop
    assert_eq!(svg.matches('M').count() - svg.matches("class=\"grid\"").count() - 1, 199 + 1);
}

#[test]
fn empty_chart_is_drawn() {
    let svg = draw("", 1, &[Panel::new("", "x", "y").curve("none", &[f64::NAN], &[1.0], Style::Line)]);
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
    assert!(draw("", 0, &[Panel::default()]).ends_with("</svg>\n"));
}

/// Values that a logarithmic axis cannot show.
#[test]
fn zeros_on_logarithmic_axes_are_left_out() {
    let (x, y) = ([0.0, 1.0, 10.0, 100.0], [1.0, 0.0, 1e-3, -1.0]);
    for style in [Style::Line, Style::Points] {
        let svg = draw("", 1, &[Panel::new("", "x", "y").log_x().log_y().curve("", &x, &y, style)]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

/// Every name is in the picture, and none on another.
#[test]
fn names_do_not_overlap() {
    let points: Vec<(&str, f64, f64)> = (0..8).map(|k| ("a name", f64::from(k) * 1e-3, 1.0)).collect();
    let picture = grid("", 1, &[Panel::new("", "x", "y").points("", &points, 0).x_range(0.0, 1.0)]);
    let names: Vec<(f64, f64)> = picture
        .shapes
        .iter()
        .filter_map(|shape| match shape {
            Shape::Text { class: "name small", x, y, .. } => Some((x.value(), y.value())),
            _ => None,
        })
        .collect();
    assert_eq!(names.len(), points.len());
    for (k, a) in names.iter().enumerate() {
        for b in &names[..k] {
            assert!((a.1 - b.1).abs() > 10.0 || (a.0 - b.0).abs() > 33.0, "{a:?} {b:?}");
        }
    }
}

/// Steps add up to the places themselves, without drift.
#[test]
fn path_ends_at_its_curve() {
    let t: Vec<f64> = (0..3000).map(|k| f64::from(k) * 1e-3).collect();
    let y: Vec<f64> = t.iter().map(|t| (7.0 * t).sin()).collect();
    let x = scale(0.0, 2.999);
    let path =
        path(&points(&curve(&t, &y), &x, FRAME.width), Style::Line, &|(t, y)| (FRAME.x_of(&x, t), 100.0 - 50.0 * y));
    let (mut at, mut y_at) = (0.0, 0.0);
    for step in path[1..].split('l') {
        let gap = step.find(' ').or_else(|| step[1..].find('-').map(|k| k + 1)).unwrap();
        at += step[..gap].parse::<f64>().unwrap();
        y_at += step[gap..].trim().parse::<f64>().unwrap();
    }
    assert!((at - (LEFT + FRAME.width)).abs() < 0.06 && (y_at - (100.0 - 50.0 * y[2999])).abs() < 0.06, "{at} {y_at}");
}

/// A window cuts through lines: between two rows, past an end, beside a gap.
#[test]
fn window_clips_lines() {
    let (t, y) = ([0.0, 1.0, 2.0, 3.0], [0.0, 10.0, 30.0, f64::NAN]);
    let drawn = |from, to| points(&curve(&t, &y), &scale(from, to), FRAME.width);
    assert_eq!(drawn(0.25, 0.75), [[(0.25, 2.5), (0.75, 7.5)]]);
    assert_eq!(drawn(0.5, 1.5), [[(0.5, 5.0), (1.0, 10.0), (1.5, 20.0)]]);
    assert_eq!(drawn(1.5, 4.0), [[(1.5, 20.0), (2.0, 30.0)]]);
    assert_eq!(drawn(2.5, 2.75), Vec::<Vec<(f64, f64)>>::new());
    assert_eq!(drawn(-1.0, 5.0), [[(0.0, 0.0), (1.0, 10.0), (2.0, 30.0)]]);
}

/// With many joints each curve is shaded along itself.
#[test]
fn curve_is_shaded_along_its_spans() {
    let run = vec![(0.0, 1.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)];
    let parts = within(&vec![run], &[(0.0, 1.0), (3.0, 4.0)], 1e-9);
    assert_eq!(parts, [[(0.0, 1.0), (1.0, 1.0)], [(3.0, 0.0), (4.0, 0.0)]]);
    let x = scale(0.0, 4.0);
    let along = path(&parts, Style::Line, &|(t, y)| (FRAME.x_of(&x, t), 10.0 * y));
    assert!(along.starts_with(&format!("M{LEFT} 10l")) && along.matches('M').count() == 2, "{along}");
}

/// Phases finer than pixels are drawn with their density: a joint that is stuck half of the time is not drawn as stuck.
#[test]
fn fine_spans_are_drawn_by_density() {
    let x = scale(0.0, 1000.0);
    let spans: Vec<(f64, f64)> = (0..4000).map(|k| (0.25 * f64::from(k), 0.25 * f64::from(k) + 0.125)).collect();
    let found = shade::bars("held", &spans, &x, &FRAME);
    let is_half = |bar: &Shape| matches!(bar, Shape::Path { fill_opacity, .. } if (fill_opacity - 0.5).abs() < 0.13);
    assert!(found.iter().all(is_half), "{found:?}");
    assert_eq!(shade::coverage(&[(1.5, 3.0), (3.25, 3.5)], 1.0, 4), [0.5, 1.0, 0.25, 0.0]);
    // few and wide: drawn exactly
    assert_eq!(shade::bars("held", &[(0.0, 100.0), (500.0, 1000.0)], &x, &FRAME).len(), 1);
}

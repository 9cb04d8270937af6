//! The curves of a report: panels as in a picture, cut down to a share of the file each.

use super::encode::{extent, floats, quantize, shorts};
use crate::plot::phases::Phases;
use crate::plot::select::{Curve, Panel};
use crate::results::Results;
use bristle_plot::decimate::runs;
use bristle_plot::ticks::Axis;
use serde_json::{Value, json};

/// Characters that all curves together may take.
const BUDGET: usize = 380_000;
/// Columns that a wide screen has for a curve.
const COLUMNS: usize = 700;
/// Characters per point: a time of sixteen bits and a value of thirty-two in base 64; and points per column at most.
const PER_POINT: f64 = 8.0;
const PER_COLUMN: usize = 4;
/// Stick phases of one joint at most, and how many stand for more.
const MAX_PHASES: usize = 3000;
const FEW_PHASES: usize = 2000;

/// The panels as the page reads them.
pub fn curves(panels: &[Panel], results: &Results, t: &[f64]) -> Value {
    let n: usize = panels.iter().map(|panel| panel.curves.len()).sum();
    let points = BUDGET as f64 / PER_POINT / n.max(1) as f64;
    let columns = (points as usize / PER_COLUMN).clamp(16, COLUMNS);
    let of = |panel: &Panel| {
        let values = panel.curves.iter().flat_map(|curve| results.columns[curve.column].iter().copied());
        let bounds = panel.curves.iter().flat_map(|curve| curve.bounds.iter().copied());
        let (low, high) = extent(values.filter(|x| bristle_plot::decimate::is_drawable(*x)).chain(bounds));
        let axis = Axis::around(low, high, 6);
        let ticks: Vec<Value> = axis.ticks.iter().map(|&tick| json!([tick, axis.label(tick)])).collect();
        let unit = [axis.factor(), panel.unit.to_owned()].join(" ").trim().to_owned();
        let curves: Vec<Value> = panel.curves.iter().map(|curve| one(curve, results, t, columns)).collect();
        json!({
            "title": panel.title, "unit": unit, "exponent": axis.exponent, "ofJoints": panel.is_of_joints,
            "leftOut": panel.left_out, "low": axis.low, "high": axis.high, "ticks": ticks, "curves": curves,
        })
    };
    Value::Array(panels.iter().map(of).collect())
}

/// One curve: times, values, and where each run of them ends.
fn one(curve: &Curve, results: &Results, t: &[f64], columns: usize) -> Value {
    let values = &results.columns[curve.column];
    let (start, end) = (t[0], t[t.len() - 1]);
    let runs = runs(t, values, start, end, columns);
    let rows = || runs.iter().flatten().copied();
    let times: Vec<u16> = rows().map(|k| quantize(t[k], start, end)).collect();
    let mut ends = Vec::with_capacity(runs.len());
    for run in &runs {
        ends.push(ends.last().unwrap_or(&0) + run.len());
    }
    json!({
        "label": curve.label, "owner": curve.owner, "color": curve.color, "bounds": curve.bounds,
        "ends": ends, "t": shorts(&times), "x": floats(rows().map(|k| values[k])),
    })
}

/// Stick phases, and changes of mode to a ten-thousandth of the time; what cannot be told apart there is one.
pub fn phases(phases: &[Phases], t: &[f64]) -> Value {
    let (start, end) = (t[0], t[t.len() - 1]);
    let gap = (end - start) * 1e-4;
    let of = |phases: &Phases| {
        let stuck = thinned(&phases.stuck, start, end);
        let mut changes: Vec<f64> = Vec::new();
        for &t in &phases.changes {
            if changes.last().is_none_or(|last| t - last >= gap) {
                changes.push(t);
            }
        }
        json!({
            "joint": phases.joint, "changes": changes.into_iter().map(short).collect::<Vec<_>>(),
            "stuck": stuck.into_iter().map(|(from, to)| [short(from), short(to)]).collect::<Vec<_>>(),
        })
    };
    Value::Array(
        phases.iter().filter(|phases| !phases.changes.is_empty() || !phases.stuck.is_empty()).map(of).collect(),
    )
}

/// As many spans as a page can hold. Of too many, one in each of [`FEW_PHASES`] equal parts of the time, as long as
/// those in it together.
fn thinned(spans: &[(f64, f64)], start: f64, end: f64) -> Vec<(f64, f64)> {
    let wide = (end - start) / FEW_PHASES as f64;
    if spans.len() <= MAX_PHASES || wide <= 0.0 {
        return spans.to_vec();
    }
    let mut covered = vec![0.0; FEW_PHASES];
    for &(from, to) in spans {
        let first = (((from - start) / wide) as usize).min(FEW_PHASES - 1);
        for (k, part) in covered.iter_mut().enumerate().skip(first) {
            let begin = start + k as f64 * wide;
            if begin >= to {
                break;
            }
            *part += (to.min(begin + wide) - from.max(begin)).max(0.0);
        }
    }
    let begin = |k: usize| start + k as f64 * wide;
    covered.iter().enumerate().filter(|(_, part)| **part > 0.0).map(|(k, part)| (begin(k), begin(k) + part)).collect()
}

/// A time with nine digits: no more than a picture needs.
fn short(t: f64) -> f64 {
    format!("{t:.8e}").parse().unwrap_or(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_phases_keep_their_share_of_the_time() {
        let spans: Vec<(f64, f64)> = (0..10_000).map(|k| (f64::from(k), f64::from(k) + 0.3)).collect();
        let total = |spans: &[(f64, f64)]| spans.iter().map(|span| span.1 - span.0).sum::<f64>();
        let few = thinned(&spans, 0.0, 10_000.0);
        assert!(few.len() <= FEW_PHASES && (total(&few) - 3000.0).abs() < 1e-6, "{} {}", few.len(), total(&few));
        assert!(few.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert_eq!(thinned(&spans[..100], 0.0, 10_000.0), spans[..100]);
    }
}

//! Growing horizons: a far start is fitted to the beginning of the logs before it is fitted to all of them.
//!
//! ```text
//! p₀ → min over [0, T/8] → min over [0, T/4] → min over [0, T/2] → all
//! ```
//!
//! Wrong levels shift every reversal and every break-away, and the shifts add up: over a whole log the sum of squares
//! has many minima in which some events take the place of others. Over its beginning there are few. Each part is
//! followed for a few iterations only; a start that the parts do not improve stays as it was.

use super::model::{FitModel, Prepared};
use super::solve::{Watch, cost, descend_briefly, evaluate, spread};

/// Parts of the logs that are fitted to, one after the other.
const PARTS: [f64; 3] = [0.125, 0.25, 0.5];

/// Iterations in each part.
const ITERATIONS: usize = 12;

/// Compared rows of a part at least, per parameter.
const ROWS: usize = 10;

impl Prepared {
    /// Its compared rows up to a part of its span.
    fn part(&self, part: f64, n_least: usize) -> Self {
        let [first, last] = [self.t.first(), self.t.last()].map(|t| t.copied().unwrap_or(0.0));
        let n = self.t.partition_point(|t| *t <= first + part * (last - first)).max(n_least).min(self.t.len());
        let cut = |columns: &[Vec<f64>]| columns.iter().map(|x| x[..n].to_vec()).collect();
        Self { t: self.t[..n].to_vec(), measured: cut(&self.measured), raw: cut(&self.raw), ..self.clone() }
    }
}

/// A start after fits to growing parts of the logs, or the start itself if it is better over all of them.
pub(super) fn approach(model: &FitModel, start: &[f64], watch: &Watch<'_>) -> Vec<f64> {
    if model.inverse.is_some() || model.window.is_some() {
        return start.to_vec();
    }
    let n_least = ROWS * model.parameters.len();
    let mut p = start.to_vec();
    for part in PARTS {
        let logs = model.logs.iter().map(|log| log.part(part, n_least)).collect();
        let shorter = FitModel { logs, ..model.clone() };
        if let Ok(end) = descend_briefly(&shorter, &p, ITERATIONS, watch) {
            p = end;
        }
    }
    let noise = spread(model);
    let of = |p: &[f64]| evaluate(model, p, false, watch).map_or(f64::INFINITY, |at| cost(model, &at, &noise));
    if of(&p) < of(start) { p } else { start.to_vec() }
}

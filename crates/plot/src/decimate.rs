//! Fewer points, the same picture.
//!
//! A curve of a million rows on a strip of n columns: of each column only four points can be seen, the first, the
//! lowest, the highest and the last (Jugel et al. 2014, "M4"). The line through them covers the same pixels as the
//! whole curve, and no peak is lost, however narrow.

/// Rows to draw on `n` columns over the times `from..=to`, as runs without gaps: the curve is broken where values are
/// not finite. `t` must not descend. The rows next to the window on both sides are included.
pub fn runs(t: &[f64], x: &[f64], from: f64, to: f64, n: usize) -> Vec<Vec<usize>> {
    let first = t.partition_point(|&t| t < from).saturating_sub(1);
    let end = (t.partition_point(|&t| t <= to) + 1).min(t.len()).min(x.len());
    let per_time = if to > from { n.max(1) as f64 / (to - from) } else { 0.0 };
    let column_of = |k: usize| ((t[k] - from) * per_time).floor();

    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut run = Vec::new();
    let mut column: Option<Column> = None;
    for k in first..end {
        if !is_drawable(x[k]) {
            column.take().into_iter().for_each(|column| column.close(&mut run));
            if !run.is_empty() {
                runs.push(std::mem::take(&mut run));
            }
            continue;
        }
        match &mut column {
            Some(column) if column.at == column_of(k) => column.add(k, x),
            column => {
                let before = column.replace(Column::new(column_of(k), k));
                before.into_iter().for_each(|before| before.close(&mut run));
            }
        }
    }
    column.into_iter().for_each(|column| column.close(&mut run));
    if !run.is_empty() {
        runs.push(run);
    }
    runs
}

/// Whether a value can be drawn: finite, and small enough that differences are finite too.
pub fn is_drawable(x: f64) -> bool {
    x.abs() <= 1e300
}

/// Visible rows of one column.
struct Column {
    at: f64,
    first: usize,
    lowest: usize,
    highest: usize,
    last: usize,
}

impl Column {
    fn new(at: f64, k: usize) -> Self {
        Self { at, first: k, lowest: k, highest: k, last: k }
    }

    fn add(&mut self, k: usize, x: &[f64]) {
        if x[k] < x[self.lowest] {
            self.lowest = k;
        }
        if x[k] > x[self.highest] {
            self.highest = k;
        }
        self.last = k;
    }

    /// In order of time, each row once.
    fn close(self, run: &mut Vec<usize>) {
        let mut rows = [self.first, self.lowest, self.highest, self.last];
        rows.sort_unstable();
        for k in rows {
            if run.last() != Some(&k) {
                run.push(k);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(n: usize) -> Vec<f64> {
        (0..n).map(|k| k as f64 * 1e-3).collect()
    }

    #[test]
    fn peaks_of_one_row_are_kept() {
        let n = 1_000_000;
        let t = times(n);
        let mut x: Vec<f64> = t.iter().map(|t| (0.37 * t).sin()).collect();
        let peaks = [1, 7, 12_345, 499_999, 777_777, n - 2];
        for (i, &k) in peaks.iter().enumerate() {
            x[k] = if i % 2 == 0 { 5.0 + i as f64 } else { -5.0 - i as f64 };
        }
        let runs = runs(&t, &x, t[0], t[n - 1], 800);
        assert_eq!(runs.len(), 1);
        let kept = &runs[0];
        // the end lies on the border of one more column
        assert!(kept.len() <= 4 * 801, "{}", kept.len());
        assert!(peaks.iter().all(|k| kept.contains(k)));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, n - 1));
    }

    /// Against a search by brute force: lowest and highest of every column are those of all rows.
    #[test]
    fn columns_have_the_extent_of_their_rows() {
        let n = 5000;
        let t = times(n);
        let mut state = 1_u64;
        let x: Vec<f64> = (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f64
            })
            .collect();
        let (from, to, columns) = (t[0], t[n - 1], 37);
        let kept = runs(&t, &x, from, to, columns).concat();
        let extents = |rows: &[usize]| {
            let mut extents = vec![(f64::INFINITY, f64::NEG_INFINITY); columns + 1];
            for &k in rows {
                let e = &mut extents[((t[k] - from) * columns as f64 / (to - from)).floor() as usize];
                *e = (e.0.min(x[k]), e.1.max(x[k]));
            }
            extents
        };
        assert_eq!(extents(&kept), extents(&(0..n).collect::<Vec<_>>()));
    }

    #[test]
    fn few_rows_are_kept_and_gaps_break_curves() {
        let t = times(6);
        let x = [1.0, 2.0, f64::NAN, 3.0, f64::INFINITY, 0.0];
        assert_eq!(runs(&t, &x, 0.0, 0.005, 500), [vec![0, 1], vec![3], vec![5]]);
        assert_eq!(runs(&[], &[], 0.0, 1.0, 10), Vec::<Vec<usize>>::new());
        assert_eq!(runs(&[2.0], &[1.0], 2.0, 2.0, 10), [[0]]);
    }

    #[test]
    fn window_includes_neighbours() {
        let t = times(100);
        let kept = runs(&t, &t, 0.0205, 0.0295, 1000).concat();
        assert_eq!(kept, (20..=30).collect::<Vec<_>>());
    }
}

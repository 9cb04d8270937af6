//! Rows of loops: whose they are, which of them pivots were found in, and their gaps.

use super::{Chart, Loops};

impl Loops {
    /// Selects the rows of the pivots found last.
    pub fn select(&mut self, chart: &Chart) {
        let rows = (0..chart.dependent.len()).map(|step| self.reduced.row_at(step));
        self.selected.clear();
        self.selected.extend(rows);
    }

    /// The first row of a closure.
    pub fn first_row(&self, closure: usize) -> usize {
        self.first[closure]
    }

    /// The rows that no pivot was found in: they follow from the others.
    pub fn left_out(&self, chart: &Chart) -> impl Iterator<Item = usize> + '_ {
        (chart.dependent.len()..self.n_rows).map(|step| self.reduced.row_at(step))
    }

    /// The gap in a row. Needs [`Loops::fill`].
    pub fn gap(&self, row: usize) -> f64 {
        self.gap[row]
    }

    /// The closure of a row.
    pub fn closure_of(&self, row: usize) -> usize {
        self.first.iter().rposition(|&first| first <= row).unwrap_or(0)
    }

    /// The closure with the largest gap, and that gap.
    pub fn widest(&self) -> (usize, f64) {
        let row = (0..self.n_rows).max_by(|&a, &b| self.gap[a].abs().total_cmp(&self.gap[b].abs())).unwrap_or(0);
        (self.closure_of(row), self.gap.get(row).map_or(0.0, |gap| gap.abs()))
    }
}

//! Rows under elimination with their right-hand sides, sparse: forward through the rows without a pivot, then back
//! substitution, so that a row of a chain of loops is touched by its neighbours alone.
//!
//! A closure concerns the joints between its two links alone, however many loops a machine has: every row knows its
//! columns and every column its rows, so that solving a row costs what the loops beside it cost. The values lie in full
//! rows, for access without a search.

/// See the [module](self). The arrays are made once.
#[derive(Debug, Clone)]
pub(super) struct Table {
    n_v: usize,
    value: Vec<f64>,
    right: Vec<f64>,
    /// Whether a row has a column; the columns of each row, the rows of each column.
    has: Vec<bool>,
    columns: Vec<Vec<usize>>,
    rows: Vec<Vec<usize>>,
    /// The rows in the order of their pivots, and the place of each row in it.
    order: Vec<usize>,
    place: Vec<usize>,
    /// The columns of the pivot row.
    pivot: Vec<usize>,
}

impl Table {
    pub fn new(n_rows: usize, n_v: usize) -> Self {
        let width = if n_rows > 0 { n_v } else { 0 };
        Self {
            n_v,
            value: vec![0.0; n_rows * n_v],
            right: vec![0.0; n_rows],
            has: vec![false; n_rows * n_v],
            columns: (0..n_rows).map(|_| Vec::with_capacity(width)).collect(),
            rows: (0..width).map(|_| Vec::with_capacity(n_rows)).collect(),
            order: (0..n_rows).collect(),
            place: (0..n_rows).collect(),
            pivot: Vec::with_capacity(width),
        }
    }

    /// All rows empty, in their own order.
    pub fn clear(&mut self) {
        let Self { n_v, value, has, columns, rows, order, place, .. } = self;
        for (row, columns) in columns.iter_mut().enumerate() {
            for &v in &*columns {
                value[row * *n_v + v] = 0.0;
                has[row * *n_v + v] = false;
            }
            columns.clear();
        }
        rows.iter_mut().for_each(Vec::clear);
        order.iter_mut().enumerate().for_each(|(k, row)| *row = k);
        place.iter_mut().enumerate().for_each(|(k, step)| *step = k);
    }

    /// Adds to a coefficient.
    pub fn add(&mut self, row: usize, v: usize, value: f64) {
        let at = row * self.n_v + v;
        if !self.has[at] {
            self.has[at] = true;
            self.columns[row].push(v);
            self.rows[v].push(row);
        }
        self.value[at] += value;
    }

    pub fn set_right(&mut self, row: usize, value: f64) {
        self.right[row] = value;
    }

    /// The row at a place of the order.
    pub fn row_at(&self, step: usize) -> usize {
        self.order[step]
    }

    /// The columns that a row may have, in any order.
    pub fn columns(&self, row: usize) -> &[usize] {
        &self.columns[row]
    }

    /// The rows that may have a column and have no pivot yet, those from place `step` on.
    pub fn open_rows(&self, v: usize, step: usize) -> impl Iterator<Item = usize> + '_ {
        self.rows[v].iter().copied().filter(move |&row| self.place[row] >= step)
    }

    pub fn at(&self, row: usize, v: usize) -> f64 {
        self.value[row * self.n_v + v]
    }

    pub fn right(&self, row: usize) -> f64 {
        self.right[row]
    }

    /// Moves `row` to place `step` of the order, solves it for `column`, and takes the column out of the rows without a
    /// pivot. The others lose it in [`Table::substitute_back`].
    pub fn solve(&mut self, step: usize, row: usize, column: usize) {
        let Self { n_v, value, right, columns, order, place, pivot, .. } = self;
        let n_v = *n_v;
        let (from, other) = (place[row], order[step]);
        order.swap(from, step);
        (place[row], place[other]) = (step, from);
        pivot.clear();
        pivot.extend(columns[row].iter().copied().filter(|&v| value[row * n_v + v] != 0.0));
        let inverse = 1.0 / value[row * n_v + column];
        pivot.iter().for_each(|&v| value[row * n_v + v] *= inverse);
        value[row * n_v + column] = 1.0;
        right[row] *= inverse;
        for k in 0..self.rows[column].len() {
            let other = self.rows[column][k];
            if self.place[other] > step {
                self.subtract(other, row, column);
            }
        }
    }

    /// Takes `column` out of row `other` by the solved row `row`, whose columns are in `pivot`.
    fn subtract(&mut self, other: usize, row: usize, column: usize) {
        let Self { n_v, value, right, has, columns, rows, pivot, .. } = self;
        let n_v = *n_v;
        let factor = value[other * n_v + column];
        if factor == 0.0 {
            return;
        }
        for &v in &*pivot {
            let at = other * n_v + v;
            if !has[at] {
                has[at] = true;
                columns[other].push(v);
                rows[v].push(other);
            }
            value[at] -= factor * value[row * n_v + v];
        }
        value[other * n_v + column] = 0.0;
        right[other] -= factor * right[row];
    }

    /// Takes the pivot `solved` of every step out of the rows of the steps before it, from the last to the first.
    pub fn substitute_back(&mut self, solved: &[usize]) {
        for (step, &column) in solved.iter().enumerate().rev() {
            let row = self.order[step];
            let Self { n_v, value, columns, pivot, .. } = self;
            pivot.clear();
            pivot.extend(columns[row].iter().copied().filter(|&v| value[row * *n_v + v] != 0.0));
            for k in 0..self.rows[column].len() {
                let other = self.rows[column][k];
                if self.place[other] < step {
                    self.subtract(other, row, column);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// Against LU of the full matrix, from another crate.
    #[test]
    fn sparse_rows_solve_like_full_ones() {
        for seed in 0..50 {
            let mut rng = Pcg64::seed_from_u64(seed);
            let n = rng.random_range(2..12);
            let mut full: DMatrix<f64> = DMatrix::from_diagonal_element(n, n, 3.0);
            for _ in 0..2 * n {
                full[(rng.random_range(0..n), rng.random_range(0..n))] += rng.random_range(-1.0..1.0);
            }
            let right = DVector::from_fn(n, |_, _| rng.random_range(-1.0..1.0));
            let mut table = Table::new(n, n);
            for _ in 0..2 {
                // the second time in rows that were used
                table.clear();
                for row in 0..n {
                    (0..n).filter(|&v| full[(row, v)] != 0.0).for_each(|v| table.add(row, v, full[(row, v)]));
                    table.set_right(row, right[row]);
                }
                for column in 0..n {
                    let row = table
                        .open_rows(column, column)
                        .max_by(|&a, &b| table.at(a, column).abs().total_cmp(&table.at(b, column).abs()));
                    table.solve(column, row.unwrap(), column);
                }
                table.substitute_back(&(0..n).collect::<Vec<_>>());
            }
            let Some(expected) = full.lu().solve(&right) else { continue };
            for column in 0..n {
                let found = table.right(table.row_at(column));
                assert!((found - expected[column]).abs() < 1e-9 * expected.amax().max(1.0), "seed {seed}");
            }
        }
    }
}

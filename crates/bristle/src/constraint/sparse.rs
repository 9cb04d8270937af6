//! Sparse rows under elimination (Gauss–Jordan): Σ c x = right-hand side.
//!
//! A gear has two coefficients and a planetary set three, however many joints the machine has: rows keep what is not
//! zero, in order of columns, and every column knows the rows that may have it. Solving a row for one of its columns
//! takes that column out of all other rows. Numbers are those of the elimination with full rows, bit for bit.

/// No row.
const NONE: usize = usize::MAX;

/// See the [module](self). Rows keep their room when they are cleared.
#[derive(Debug, Clone, Default)]
pub(super) struct SparseRows {
    rows: Vec<Vec<(usize, f64)>>,
    right: Vec<f64>,
    /// The last row that got each column, as a place in `links`: row, and the place of the one before it. A row may
    /// be there that has lost the column since, or be there twice.
    last: Vec<usize>,
    links: Vec<(usize, usize)>,
    /// A row being made, and the rows of a column.
    sum: Vec<(usize, f64)>,
    holders: Vec<usize>,
}

impl SparseRows {
    /// Up to `n_rows` rows over `n_columns` columns; small ones have all their room from the beginning.
    pub fn new(n_rows: usize, n_columns: usize, is_small: bool) -> Self {
        let width = if is_small { n_columns } else { 0 };
        Self {
            rows: (0..n_rows).map(|_| Vec::with_capacity(width)).collect(),
            right: vec![0.0; n_rows],
            last: vec![NONE; n_columns],
            links: Vec::with_capacity(4 * n_rows * width),
            sum: Vec::with_capacity(n_columns),
            holders: Vec::with_capacity(n_rows),
        }
    }

    /// All rows empty.
    pub fn clear(&mut self) {
        self.rows.iter_mut().for_each(Vec::clear);
        self.right.fill(0.0);
        self.last.fill(NONE);
        self.links.clear();
    }

    /// Coefficients that are not zero, in order of columns.
    pub fn row(&self, row: usize) -> &[(usize, f64)] {
        &self.rows[row]
    }

    pub fn right(&self, row: usize) -> f64 {
        self.right[row]
    }

    pub fn set_right(&mut self, row: usize, value: f64) {
        self.right[row] = value;
    }

    /// The coefficient of a column.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let entries = &self.rows[row];
        entries.binary_search_by_key(&column, |entry| entry.0).map_or(0.0, |k| entries[k].1)
    }

    fn link(&mut self, row: usize, column: usize) {
        self.links.push((row, self.last[column]));
        self.last[column] = self.links.len() - 1;
    }

    /// Adds to a coefficient.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        match self.rows[row].binary_search_by_key(&column, |entry| entry.0) {
            Ok(k) => self.rows[row][k].1 += value,
            Err(k) => {
                self.rows[row].insert(k, (column, value));
                self.link(row, column);
            }
        }
    }

    /// Leaves out of a row what `is_nothing`.
    pub fn drop(&mut self, row: usize, is_nothing: impl Fn(f64) -> bool) {
        self.rows[row].retain(|entry| !is_nothing(entry.1));
    }

    /// `row` less `factor` times another, whose `column` it loses.
    pub fn subtract(&mut self, row: usize, factor: f64, other: usize, column: usize) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.clear();
        let (mut a, mut b) = (0, 0);
        loop {
            let (mine, its) = (self.rows[row].get(a).copied(), self.rows[other].get(b).copied());
            let (k, value) = match (mine, its) {
                (None, None) => break,
                (Some(mine), its) if its.is_none_or(|its| mine.0 < its.0) => {
                    a += 1;
                    mine
                }
                (mine, Some(its)) => {
                    b += 1;
                    let own = mine.filter(|mine| mine.0 == its.0);
                    if own.is_some() {
                        a += 1;
                    } else if its.0 != column {
                        self.link(row, its.0);
                    }
                    (its.0, own.map_or(0.0, |own| own.1) - factor * its.1)
                }
                // the guard takes the rest
                (Some(mine), None) => {
                    a += 1;
                    mine
                }
            };
            if k != column && value != 0.0 {
                sum.push((k, value));
            }
        }
        self.right[row] -= factor * self.right[other];
        std::mem::swap(&mut self.rows[row], &mut sum);
        self.sum = sum;
    }

    /// The rows that have a column, in increasing order.
    pub fn find_holders(&mut self, column: usize) {
        self.holders.clear();
        let mut place = self.last[column];
        while let Some(&(row, before)) = self.links.get(place) {
            self.holders.push(row);
            place = before;
        }
        self.holders.sort_unstable();
        self.holders.dedup();
        let rows = &self.rows;
        self.holders.retain(|&row| rows[row].binary_search_by_key(&column, |entry| entry.0).is_ok());
    }

    /// As they were found last.
    pub fn holders(&self) -> &[usize] {
        &self.holders
    }

    /// Solves `row` for `column`: its coefficient becomes 1 there, 0 in all other rows.
    pub fn solve(&mut self, row: usize, column: usize) {
        self.normalise(row, column);
        self.take_out(row, column);
    }

    /// Makes the coefficient of `column` in `row` 1.
    pub fn normalise(&mut self, row: usize, column: usize) {
        let inverse = 1.0 / self.at(row, column);
        self.rows[row].iter_mut().for_each(|entry| entry.1 *= inverse);
        self.right[row] *= inverse;
        if let Ok(k) = self.rows[row].binary_search_by_key(&column, |entry| entry.0) {
            self.rows[row][k].1 = 1.0;
        }
    }

    /// Takes the column that `row` was solved for out of all other rows.
    fn take_out(&mut self, row: usize, column: usize) {
        self.find_holders(column);
        let holders = std::mem::take(&mut self.holders);
        for &other in holders.iter().filter(|&&other| other != row) {
            let factor = self.at(other, column);
            self.subtract(other, factor, row, column);
        }
        self.holders = holders;
        // whoever is left has been dealt with
        self.last[column] = NONE;
        self.link(row, column);
    }
}

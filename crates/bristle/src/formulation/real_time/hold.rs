//! Velocities made exact where contacts are stuck: what a linear solve leaves of zero becomes 0.0.
//!
//! Rows Σ c y + p = 0 of the stuck contacts, p from prescribed motions, are brought to reduced form, and each gives one velocity by others.

/// Coefficients below this are what rounding has left of zero; rows begin with 1 and gear ratios.
const ROUNDING: f64 = 1e-12;

/// Scratch for rows; made once.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    n: usize,
    /// Rows in use, n + 1 numbers each, the last one −p.
    rows: Vec<f64>,
    /// Pivot of each.
    pivots: Vec<usize>,
}

impl Hold {
    /// For `n` velocities and up to `n_contacts` rows.
    pub fn new(n: usize, n_contacts: usize) -> Self {
        Self { n, rows: vec![0.0; (n + 1) * n_contacts], pivots: Vec::with_capacity(n_contacts) }
    }

    /// No rows.
    pub fn clear(&mut self) {
        self.pivots.clear();
    }

    /// Adds a row; one that follows from those before is dropped.
    pub fn add(&mut self, terms: &[(usize, f64)], led: f64) {
        let (width, used) = (self.n + 1, self.pivots.len());
        let (before, after) = self.rows.split_at_mut(width * used);
        let row = &mut after[..width];
        row.fill(0.0);
        terms.iter().for_each(|&(k, c)| row[k] = c);
        row[self.n] = -led;
        // what is given already is put in
        for (other, &pivot) in before.chunks_exact(width).zip(&self.pivots) {
            subtract(row, other, pivot);
        }
        let mut pivot = 0;
        for k in 1..self.n {
            if row[k].abs() > row[pivot].abs() {
                pivot = k;
            }
        }
        let c = row[pivot];
        if self.n == 0 || c.abs() <= ROUNDING {
            return;
        }
        row.iter_mut().for_each(|x| *x /= c);
        for other in before.chunks_exact_mut(width) {
            subtract(other, row, pivot);
        }
        self.pivots.push(pivot);
    }

    /// Puts the held velocities where the rows say.
    pub fn apply(&self, y: &mut [f64]) {
        for (row, &pivot) in self.rows.chunks_exact(self.n + 1).zip(&self.pivots) {
            let others = row[..self.n].iter().zip(&*y).enumerate().filter(|(k, (c, _))| *k != pivot && **c != 0.0);
            y[pivot] = others.fold(row[self.n], |sum, (_, (c, y))| sum - c * y) + 0.0;
        }
    }
}

/// Removes column `pivot` from `row` by means of `other`, which has 1 there.
fn subtract(row: &mut [f64], other: &[f64], pivot: usize) {
    let factor = row[pivot];
    if factor != 0.0 {
        row.iter_mut().zip(other).for_each(|(x, o)| *x -= factor * o);
        row[pivot] = 0.0;
        row.iter_mut().for_each(|x| {
            if x.abs() <= ROUNDING {
                *x = 0.0;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_stuck_contacts_end_in_zeros() {
        // y0 = y1, y1 = y2 and y2 = 0, twice over; y3 geared to y0
        let mut hold = Hold::new(4, 5);
        for terms in [vec![(0, 1.0), (1, -1.0)], vec![(1, 1.0), (2, -1.0)], vec![(2, 1.0)], vec![(0, 1.0), (2, -1.0)]] {
            hold.add(&terms, 0.0);
        }
        hold.add(&[(3, 1.0), (0, -7.0)], 0.0);
        let mut y = [1e-17, -3e-16, 2e-18, 5e-15];
        hold.apply(&mut y);
        assert_eq!(y, [0.0; 4]);
        assert!(y.iter().all(|y| y.is_sign_positive()));
    }

    #[test]
    fn what_is_led_leads() {
        let mut hold = Hold::new(2, 2);
        hold.add(&[(0, 1.0), (1, -1.0)], 0.0);
        hold.add(&[(1, 1.0)], -0.25);
        let mut y = [0.1, 0.2];
        hold.apply(&mut y);
        assert_eq!(y, [0.25, 0.25]);
    }
}

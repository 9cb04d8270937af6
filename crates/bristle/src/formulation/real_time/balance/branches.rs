//! Contacts that share, one change at a time.
//!
//! Every dry contact is stuck, or slides one way or the other: with all of them on their branches (1) of the balance is linear. The first
//! that cannot stay on its branch changes, and the rest is solved again. D + E is positive definite, so that no set of branches comes back
//! (Murty 1974, for linear complementarity); smooth contacts follow their tangents meanwhile.

use super::{BALANCED, factor, felt, fill_matrix, share, substitute};
use crate::formulation::real_time::grip::Met;

/// Changes of branch, one at a time.
const MOST_CHANGES: usize = 100;

/// What a change of branches, one at a time, works on.
pub(super) struct Branches<'a> {
    pub delassus: &'a [f64],
    pub free: &'a [f64],
    pub dry: &'a [bool],
    pub pins: &'a mut [(Met, f64)],
    pub matrix: &'a mut [f64],
    pub swaps: &'a mut [usize],
    pub step: &'a mut [f64],
    pub slopes: &'a mut [Met],
    /// Velocity that is none.
    pub none: f64,
}

impl Branches<'_> {
    /// Solves (1) with every dry contact on its branch, lets the first change that cannot stay on it, and so on; smooth contacts follow
    /// their tangents. `evaluate` looks where the contacts are met, and how far off the worst is. The rounds it took, and what is left.
    pub fn change(
        self,
        lambda: &mut [f64],
        met: &mut [Met],
        gap: &mut [f64],
        evaluate: &impl Fn(&[f64], &mut [Met], &mut [f64]) -> (f64, usize),
    ) -> (usize, (f64, usize)) {
        let Self { delassus, free, dry, pins, matrix, swaps, step, slopes, none } = self;
        let n = free.len();
        let mut worst = evaluate(lambda, met, gap);
        for (c, pin) in pins.iter_mut().enumerate() {
            *pin = (met[c], felt(delassus, free, lambda, c).0);
        }
        for round in 1..=MOST_CHANGES {
            // λ = λ_pin + S (y − y_pin), y = ω* − (D − diag D) λ
            for (c, &(pin, y)) in pins.iter().enumerate() {
                slopes[c] = pin;
                step[c] = pin.lambda + share(pin.slope, delassus[c * n + c], 1.0) * (free[c] - y);
            }
            fill_matrix(matrix, delassus, slopes, 1.0);
            if !(factor(matrix, swaps, n) && substitute(matrix, swaps, step)) {
                return (round, worst);
            }
            lambda.copy_from_slice(step);
            worst = evaluate(lambda, met, gap);
            if worst.0 <= BALANCED {
                return (round, worst);
            }
            let cannot_stay = |c: usize| {
                let (old, new) = (pins[c].0, met[c]);
                let is_other = old.slope.is_infinite() != new.slope.is_infinite()
                    || new.slope.is_finite() && (old.lambda < 0.0) != (new.lambda < 0.0);
                let ((_, size), d) = (felt(delassus, free, lambda, c), delassus[c * n + c]);
                is_other && d * gap[c].abs() > BALANCED * (size + d * lambda[c].abs() + none)
            };
            let first = (0..n).find(|&c| dry[c] && cannot_stay(c));
            if first.is_none() && !dry.contains(&false) {
                return (round, worst);
            }
            for c in (0..n).filter(|&c| !dry[c] || Some(c) == first) {
                pins[c] = (met[c], felt(delassus, free, lambda, c).0);
            }
        }
        (MOST_CHANGES, worst)
    }
}

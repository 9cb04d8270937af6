//! Verification of the solutions by a product, and corrections where more than rounding is left: `active_set` with
//! masks.

use super::super::active_set::MAX_CORRECTIONS;
use super::super::convex_solver::{NO_EFFORT, ROUNDED, SOLVED};
use super::PackStep;
use super::contacts::Form;
use bristle_multibody::Error;
use bristle_multibody::spatial::{Mask, Scalar};

impl<S: Scalar> PackStep<S> {
    /// The lanes of `settled` in which the equations hold and stuck contacts are within their limits.
    pub(super) fn verify(&mut self, settled: S::Mask, h: f64) -> Result<S::Mask, Error> {
        let (mut open, mut solved) = (settled, S::Mask::splat(false));
        for correction in 0..=MAX_CORRECTIONS {
            let Self { operator, model, armature, x, product, size, .. } = &mut *self;
            operator.multiply(&model.tree, armature, x, product)?;
            // a sum is no larger than the sizes of its terms: a bound that is often good enough
            size.iter_mut().zip(&*product).for_each(|(size, product)| *size = product.size());
            let is_within = self.evaluate(open, h, SOLVED);
            (solved, open) = (solved | (open & is_within), open & !is_within);
            if !open.any() {
                break;
            }
            let Self { operator, model, armature, x, product, size, .. } = &mut *self;
            operator.multiply_with_sizes(&model.tree, armature, x, product, size)?;
            let part = if correction == MAX_CORRECTIONS { ROUNDED } else { SOLVED };
            let is_within = self.evaluate(open, h, part);
            (solved, open) = (solved | (open & is_within), open & !is_within);
            if !open.any() || correction == MAX_CORRECTIONS {
                break;
            }
            let Self { operator, model, residual, solution, held, x, .. } = &mut *self;
            solution.fill(S::ZERO);
            operator.solve(&model.tree, residual, solution, held)?;
            x.iter_mut().zip(&*solution).for_each(|(x, more)| *x = (*x + *more).or_else(open, *x));
        }
        Ok(solved & self.is_admissible())
    }

    /// The residual, 0 in the rows of stuck contacts, whose impulses it is. Returns the lanes in which every row is at
    /// most this part of its terms; `open` lanes take over impulses and sizes.
    fn evaluate(&mut self, open: S::Mask, h: f64, part: f64) -> S::Mask {
        let Self { contacts, frictions, r, v, x, locked, product, residual, size, .. } = self;
        let (h, part) = (S::splat(h), S::splat(part));
        for (((residual, size), product), r) in residual.iter_mut().zip(&mut *size).zip(product).zip(r) {
            *residual = h * *r - *product;
            *size += (h * *r).size();
        }
        for (c, contact) in contacts.iter().enumerate() {
            let (k, omega) = (contact.v, v[contact.v] + x[contact.v]);
            let [level, slope] = contact.linear;
            let lambda = if contact.form == Form::Dry {
                S::ZERO.or_else(contact.stuck, level + slope * omega)
            } else {
                contact.at(frictions, c, omega)[0]
            };
            residual[k] -= lambda;
            size[k] += lambda.size();
        }
        let mut is_within = S::Mask::splat(true);
        for k in 0..residual.len() {
            self.stuck_impulse[k] = residual[k].or_else(open, self.stuck_impulse[k]);
            self.row_size[k] = size[k].or_else(open, self.row_size[k]);
            residual[k] = S::ZERO.or_else(locked[k], residual[k]);
            // a NaN is not
            is_within = is_within & residual[k].size().is_at_most(part * size[k] + S::splat(NO_EFFORT));
        }
        is_within
    }

    /// Whether stuck contacts hold no more than their limits, apart from rounding.
    fn is_admissible(&self) -> S::Mask {
        let mut is_admissible = S::Mask::splat(true);
        for contact in self.contacts.iter().filter(|contact| contact.form == Form::Dry) {
            let (impulse, size) = (self.stuck_impulse[contact.v], self.row_size[contact.v]);
            let slack = S::splat(ROUNDED) * size + S::splat(NO_EFFORT);
            let is_held =
                impulse.is_at_most(contact.forward[0] + slack) & (-contact.backward[0] - slack).is_at_most(impulse);
            is_admissible = is_admissible & (is_held | !contact.stuck);
        }
        is_admissible
    }
}

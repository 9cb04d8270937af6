//! Exchange of modes in every lane: `active_set` with masks.

use super::super::active_set::{MAX_ROUNDS, PATIENCE};
use super::super::convex_solver::{NO_EFFORT, SOLVED};
use super::PackStep;
use super::contacts::{Form, PackContact};
use bristle_multibody::Error;
use bristle_multibody::spatial::{Mask, Scalar};

/// λ and λ' of a dry contact that slides in the direction of `mode`.
#[inline(always)]
fn piece<S: Scalar>(contact: &PackContact<S>, mode: S) -> [S; 2] {
    let is_backward = mode.is_below(S::ZERO);
    let [level, slope] = contact.backward;
    [(-level).or_else(is_backward, contact.forward[0]), slope.or_else(is_backward, contact.forward[1])]
}

impl<S: Scalar> PackStep<S> {
    /// Solves the equations of the step with consistent modes in the lanes of `active`. Returns the lanes whose modes
    /// have been found. `enough`: relative error of the tangents of laws that are not dry.
    pub(super) fn resolve_modes(&mut self, active: S::Mask, enough: f64, h: f64) -> Result<S::Mask, Error> {
        let (mut open, mut settled) = (active, S::Mask::splat(false));
        let (mut fewest, mut patience) = (S::splat(f64::MAX), S::splat(PATIENCE as f64));
        let (mut rounds, one) = (S::ZERO, S::splat(1.0));
        for _ in 0..MAX_ROUNDS {
            rounds += one.or_else(open, S::ZERO);
            self.linearize(open, h);
            if !self.is_factored {
                self.operator.factor(&self.model.tree, &self.total, &self.locked)?;
                self.is_factored = true;
            }
            self.solution.copy_from_slice(&self.x);
            self.operator.solve(&self.model.tree, &self.rhs, &mut self.solution, &mut self.held)?;
            self.x.iter_mut().zip(&self.solution).for_each(|(x, solution)| *x = solution.or_else(open, *x));
            let n_wrong = self.exchange(open, enough);
            let is_right = n_wrong.equals(S::ZERO) & open;
            settled = settled | is_right;
            open = open & !is_right;
            if !open.any() {
                break;
            }
            let is_better = n_wrong.is_below(fewest);
            fewest = n_wrong.or_else(is_better, fewest);
            patience = S::splat(PATIENCE as f64).or_else(is_better, patience - one);
            open = open & S::ZERO.is_below(patience);
        }
        self.n_rounds += rounds;
        self.max_rounds = rounds.larger(self.max_rounds);
        Ok(settled)
    }

    /// The linear contacts of a round, locked joints with their x, and the right-hand side; in the lanes of `open`.
    fn linearize(&mut self, open: S::Mask, h: f64) {
        let Self { contacts, frictions, r, v, x, rhs, total, armature, locked, is_factored, .. } = self;
        let (h, zero) = (S::splat(h), S::ZERO);
        rhs.iter_mut().zip(r).for_each(|(rhs, r)| *rhs = h * *r);
        locked.fill(S::Mask::splat(false));
        total.copy_from_slice(armature);
        for (c, contact) in contacts.iter_mut().enumerate() {
            let (k, omega0) = (contact.v, v[contact.v]);
            let linear = if contact.form == Form::Dry {
                let has_level = zero.is_below(contact.forward[0] + contact.backward[0]);
                let is_stuck = contact.trial.equals(zero) & has_level;
                contact.stuck = (is_stuck & open) | (contact.stuck & !open);
                x[k] = (-omega0).or_else(is_stuck & open, x[k]);
                piece(contact, contact.trial).map(|part| zero.or_else(is_stuck, part))
            } else {
                let omega = omega0 + x[k];
                let [lambda, slope] = contact.at(frictions, c, omega);
                [lambda - slope * omega, slope]
            };
            // a lane that has settled keeps its own: its factors are those of its solution
            let [old_level, old_slope] = contact.linear;
            contact.linear = [linear[0].or_else(open, old_level), linear[1].or_else(open, old_slope)];
            let [level, slope] = contact.linear;
            rhs[k] -= level + slope * omega0;
            total[k] += slope;
            locked[k] = locked[k] | contact.stuck;
            let is_other = (contact.stuck & !contact.factored_stuck) | (contact.factored_stuck & !contact.stuck);
            if is_other.any() || slope != contact.factored_slope {
                *is_factored = false;
            }
            (contact.factored_slope, contact.factored_stuck) = (slope, contact.stuck);
        }
    }

    /// Modes by the solution. Returns the number of those that have changed and of tangents that disagree with their
    /// laws, in every lane.
    fn exchange(&mut self, open: S::Mask, enough: f64) -> S {
        let Self { contacts, frictions, v, x, rhs, held, total, .. } = self;
        let (zero, one, mut n_wrong) = (S::ZERO, S::splat(1.0), S::ZERO);
        for (c, contact) in contacts.iter_mut().enumerate() {
            let k = contact.v;
            let (omega, stretch) = (v[k] + x[k], total[k] * x[k]);
            if contact.form == Form::Dry {
                let ([forward, _], [backward, _]) = (contact.forward, contact.backward);
                let is_empty = (forward + backward).is_at_most(zero);
                let (is_behind, is_ahead) = (omega.is_below(zero), zero.is_below(omega));
                // stuck: the impulse is that of the equations
                let impulse = held[k] + stretch;
                let lambda = rhs[k] - impulse;
                let slack = S::splat(SOLVED) * (rhs[k].size() + impulse.size());
                let broken = one.or_else(
                    (forward + slack).is_below(lambda),
                    (-one).or_else(lambda.is_below(-backward - slack), zero),
                );
                let of_stuck = (-one).or_else(is_behind, one).or_else(is_empty, broken);
                let of_forward = (-one).or_else(is_empty, zero).or_else(is_behind, one);
                let of_backward = one.or_else(is_empty, zero).or_else(is_ahead, -one);
                let mode = contact.trial;
                let next = of_backward.or_else(mode.is_below(zero), of_forward.or_else(zero.is_below(mode), of_stuck));
                let [level, slope] = piece(contact, next);
                let is_piece = contact.linear[0].equals(level) & contact.linear[1].equals(slope);
                let is_same = next.equals(mode) | (is_empty & is_piece);
                n_wrong += zero.or_else(is_same, one);
                contact.trial = next.or_else(open, mode);
            } else {
                let ([lambda, _], [level, slope]) = (contact.at(frictions, c, omega), contact.linear);
                let size = rhs[k].size() + lambda.size() + stretch.size();
                let error = (lambda - level - slope * omega).size();
                let is_close = error.is_at_most(S::splat(enough) * size + S::splat(NO_EFFORT));
                n_wrong += zero.or_else(is_close, one);
            }
        }
        n_wrong
    }
}

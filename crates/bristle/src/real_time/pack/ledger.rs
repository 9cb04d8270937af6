//! The end of a step: velocities, positions, states of the laws, energies; in the lanes that have been solved.

use super::super::velocities::UNLOADED_SLIP;
use super::PackStep;
use super::contacts::Form;
use bristle_multibody::spatial::{Mask, Scalar};

impl<S: Scalar> PackStep<S> {
    /// Completes the step in the lanes of `solved`. Returns those whose numbers are finite; the others stay.
    pub(super) fn finish(&mut self, solved: S::Mask, h: f64) -> S::Mask {
        let zero = S::ZERO;
        // v₁ replaces x
        for k in 0..self.x.len() {
            self.x[k] = zero.or_else(self.locked[k], self.v[k] + self.x[k]);
        }
        self.finish_contacts();
        let h_lanes = S::splat(h);
        let mut sum = zero;
        for (q, v1) in self.middle.iter().zip(&self.x) {
            sum += (*q + h_lanes * *v1) * zero;
        }
        for (c, contact) in self.contacts.iter().enumerate() {
            sum += contact.state_after(&self.frictions, c, contact.omega)[0] * zero + contact.lambda * zero;
        }
        let done = solved & sum.equals(zero);
        if done.any() {
            self.add_energies(done, h);
            self.commit(done, h);
        }
        done
    }

    /// Rates and impulses of the contacts at v₁.
    fn finish_contacts(&mut self) {
        let Self { contacts, frictions, x: v1, stuck_impulse, .. } = self;
        let zero = S::ZERO;
        for (c, contact) in contacts.iter_mut().enumerate() {
            let (k, omega) = (contact.v, v1[contact.v]);
            if contact.form == Form::Dry {
                let [level, slope] = contact.linear;
                // rounding may leave a stuck contact beyond its limit
                let held = (-contact.backward[0]).larger(stuck_impulse[k]).smaller(contact.forward[0]);
                contact.lambda = held.or_else(contact.stuck, level + slope * omega);
                let is_rest = contact.stuck | (contact.lambda * omega).is_below(zero);
                contact.omega = zero.or_else(is_rest, omega);
            } else {
                (contact.lambda, contact.omega) = (contact.at(frictions, c, omega)[0], omega);
            }
        }
    }

    /// Adds work, heat and work of changing loads: see `ledger` of a single machine.
    fn add_energies(&mut self, done: S::Mask, h: f64) {
        let Self {
            contacts,
            frictions,
            drives,
            samples,
            weights,
            integrals,
            effort,
            offset,
            q,
            v,
            x: v1,
            mean,
            quad,
            ..
        } = self;
        let (h_lanes, half) = (S::splat(h), S::splat(0.5));
        // v̄
        mean.iter_mut().zip(&*v).zip(&*v1).for_each(|((mean, v), v1)| *mean = *v + half * (*v1 - *v));
        let mut work = S::ZERO;
        for ((effort, offset), mean) in effort.iter().zip(&*offset).zip(&*mean) {
            work = (*effort + *offset).times_add(*mean, work);
        }
        let mut n_integrals = 0;
        for (k, sample) in samples.iter().enumerate() {
            let (at_v, has_integral) = (drives[0][k].v, drives[0][k].has_integral());
            work += S::from_lanes(|lane| {
                let (v0, v1, value) = (v[at_v].lane(lane), v1[at_v].lane(lane), sample.lane(lane));
                let of_lane = weights[k].lane(lane);
                let q = of_lane.position(q[at_v].lane(lane), h * v0, h * v1);
                let error = of_lane.eta * h * (value - q);
                let integral = if has_integral { integrals[n_integrals].lane(lane) + error } else { 0.0 };
                let signal = crate::signal::Sample { value, ..Default::default() };
                drives[lane][k].effort(&signal.into(), q, of_lane.velocity(v0, v1), integral) * mean[at_v].lane(lane)
            });
            n_integrals += usize::from(has_integral);
        }
        for (cut, at) in self.cut.iter().zip(self.effort_limits.iter()) {
            work -= *cut * mean[at.v];
        }
        quad[0] += (h_lanes * work).or_else(done, S::ZERO);
        for d in &self.dampers {
            let v = mean[d.v];
            quad[d.heat] += (h_lanes * d.damping * v * v).or_else(done, S::ZERO);
        }
        for (c, contact) in contacts.iter_mut().enumerate() {
            let mut dissipated = contact.lambda * mean[contact.v];
            if contact.form == Form::Dry {
                let is_mixed = contact.omega.equals(S::ZERO) | (contact.omega * v[contact.v]).is_below(S::ZERO);
                dissipated = S::ZERO.or_else(is_mixed, dissipated);
            }
            if contact.n_states > 0 {
                let after = contact.state_after(frictions, c, contact.omega);
                let before = contact.stored_energy(frictions, c, contact.state);
                let after = contact.stored_energy(frictions, c, after);
                let load = contact.normal[0];
                let stored = load * (after - before);
                dissipated -= stored;
                quad[1] += (load * after - contact.bristle_load * before - stored).or_else(done, S::ZERO);
                contact.bristle_load = load.or_else(done, contact.bristle_load);
            }
            quad[contact.heat] += dissipated.or_else(done, S::ZERO);
        }
    }

    /// The state at the end of the step.
    fn commit(&mut self, done: S::Mask, h: f64) {
        let Self { contacts, frictions, drives, samples, integrals, middle, q, v, a, x: v1, last_acceleration, .. } =
            self;
        let (h, zero) = (S::splat(h), S::ZERO);
        // without load the slip of a resting contact is rounding
        let mut max_speed = [zero; 2];
        let tree = &self.model.tree;
        for (k, v1) in v1.iter().enumerate() {
            let max = &mut max_speed[usize::from(tree.turns(k))];
            *max = max.larger(v1.size());
        }
        for (c, contact) in contacts.iter_mut().enumerate() {
            let omega = contact.omega;
            let state = contact.state_after(frictions, c, omega);
            contact.state = [state[0].or_else(done, contact.state[0]), state[1].or_else(done, contact.state[1])];
            contact.friction = (contact.lambda / h).or_else(done, contact.friction);
            let is_backward = omega.is_below(zero) | (omega.equals(zero) & contact.lambda.is_below(zero));
            contact.load = contact.normal[1].or_else(is_backward, contact.normal[0]).or_else(done, contact.load);
            contact.at_rest = (contact.stuck & done) | (contact.at_rest & !done);
            if contact.form == Form::Dry {
                let slow = S::splat(UNLOADED_SLIP) * max_speed[usize::from(tree.turns(contact.v))];
                let is_unloaded = contact.normal[0].equals(zero) & contact.normal[1].equals(zero);
                let keeps = is_unloaded & omega.size().is_at_most(slow);
                let one = S::splat(1.0);
                let mode = one.or_else(zero.is_below(omega), (-one).or_else(omega.is_below(zero), zero));
                contact.mode = mode.or_else(done & !keeps, contact.mode);
            }
        }
        for k in 0..q.len() {
            let rate = (v1[k] - v[k]) / h;
            let (q0, half) = (q[k], S::splat(0.5));
            q[k] = (q0 + h * (v[k] + half * (v1[k] - v[k]))).or_else(done, q0);
            middle[k] = half * (q0 + q[k]);
            a[k] = rate.or_else(done, a[k]);
            last_acceleration[k] = rate.or_else(done, last_acceleration[k]);
            v[k] = v1[k].or_else(done, v[k]);
        }
        let with_integral = drives[0].iter().zip(&*samples).filter(|(drive, _)| drive.has_integral());
        for (integral, (drive, sample)) in integrals.iter_mut().zip(with_integral) {
            *integral = (*integral + h * (*sample - middle[drive.v])).or_else(done, *integral);
        }
    }
}

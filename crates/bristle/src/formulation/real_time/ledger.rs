//! What a real-time step does, in joules: all at the velocities v₁ of its end.
//!
//! ```text
//! work   h (τᵀ v₁ + Σ f_ext · v_link)                      drives with their efforts at the end of the step
//! heat   h d v₁²,   λ ω − N (E(s₁) − E(s₀))                E = s²/(2σ₀)
//! load   N₁ E(s₁) − N₀ E(s₀) − N (E(s₁) − E(s₀))          N₀, N₁ the loads of the bristles before and after
//!        −N (E(s₁) − E(s₀)) where N is a reaction, the stored energy being added when the ledger is read
//! ```

use super::factor::dot_all;
use super::{Failure, Machine, RealTime, load_signal};
use bristle_friction::FrictionLaw;
use bristle_multibody::{kinematics, point_velocity, poses};
use nalgebra::Vector3;

impl Machine {
    /// Efforts of ties and of prescribed motions: what (1) leaves over in the rows of tied and led joints.
    pub(super) fn carried_efforts(&mut self, rt: &mut RealTime, h: f64) {
        if self.driven.is_empty() && rt.reduced.tied.is_empty() {
            return;
        }
        let RealTime { reduced, balance, A, r, change, zero: left, .. } = rt;
        for (k, left) in left.iter_mut().enumerate() {
            *left = dot_all(A.column(k).as_slice(), change) - h * r[k];
        }
        for (contact, met) in self.compiled.contacts.iter().zip(&balance.met) {
            contact.take(left, -met.lambda);
        }
        for driven in &mut self.driven {
            let passed = reduced.tied.iter().map(|tied| {
                let factor = tied.of.iter().find(|term| term.0 == driven.v).map_or(0.0, |term| term.1);
                factor * left[tied.v]
            });
            driven.effort = (left[driven.v] + passed.sum::<f64>()) / h;
        }
        for (k, effort) in self.tie_effort.iter_mut().enumerate() {
            let carried = reduced.tied.iter().map(|tied| {
                let part = tied.from.iter().find(|term| term.0 == k).map_or(0.0, |term| term.1);
                part * left[tied.v]
            });
            *effort = carried.sum::<f64>() / h;
        }
        left.iter_mut().zip(&*change).for_each(|(a, change)| *a = change / h);
        self.compiled.without_passed(left, &mut self.tie_effort);
        left.fill(0.0);
    }

    /// Work, heat and work of loads over the step. `state`, `load` and `q` are still those at its start.
    pub(super) fn book(&mut self, rt: &mut RealTime, h: f64, t1: f64, quad: &mut [f64]) -> Result<(), Failure> {
        let v1 = &rt.v1;
        quad[0] += h * self.wrench_power(v1)?;
        let Self { compiled, xi, state, .. } = &*self;
        quad[0] += h * dot_all(&compiled.effort, v1);
        quad[0] += h * self.driven.iter().map(|driven| driven.effort * v1[driven.v]).sum::<f64>();
        let mut integrals = self.integral.iter();
        for (drive, signal) in compiled.drives.iter().zip(&rt.samples) {
            let (v, q) = (v1[drive.v], xi[drive.v] + h * v1[drive.v]);
            let integral = if drive.has_integral() { integrals.next().copied() } else { None };
            let integral = integral.map_or(0.0, |integral| integral + h * (signal.value - q));
            quad[0] += h * drive.effort(signal, q, v, integral) * v;
        }
        let heat = &mut quad[2..];
        for d in &compiled.dampers {
            let at = compiled.heat_of_joint(d.joint);
            heat[at] += h * d.damping * v1[d.v] * v1[d.v];
        }
        for s in &compiled.coupled.springs {
            let rate = v1[s.a] - v1[s.b];
            heat[compiled.heat_of_element(s.element)] += h * s.damping * rate * rate;
        }
        for (c, contact) in compiled.contacts.iter().enumerate() {
            let (met, n) = (rt.balance.met[c], rt.normal[c][0]);
            let mut warm = met.lambda * met.omega;
            if contact.law.n_states() > 0 {
                let end = self.bristles_after(rt, c);
                let (before, after) = (contact.law.stored_energy(state[c]), contact.law.stored_energy(end));
                let stored = n * (after - before);
                warm -= stored;
                quad[1] -= stored;
                if contact.bearing.is_none() {
                    let bent = contact.normal_towards(end[0] < 0.0, &load_signal(contact.signal(), t1, self.piece)).0;
                    quad[1] += bent * after - rt.bent[c] * before;
                    rt.bent[c] = bent;
                }
            }
            quad[2 + compiled.heat_of(contact)] += warm;
        }
        Ok(())
    }

    /// Power of the wrenches that callers apply, at the positions of the start and velocities `v`.
    fn wrench_power(&mut self, v: &[f64]) -> Result<f64, Failure> {
        let Self { compiled, work, q, poses: places, .. } = self;
        let model = &compiled.model;
        if compiled.wrenches.is_empty() {
            return Ok(0.0);
        }
        kinematics(model, work, q, v)?;
        poses(model, work, places)?;
        let mut power = 0.0;
        for w in &compiled.wrenches {
            let rotation = places.link(model, w.body)?.rotation;
            let velocity = point_velocity(model, work, places, w.body, &Vector3::zeros())?;
            // velocities in world axes, wrenches in the link's
            power += velocity.linear().dot(&(rotation * w.wrench.force()));
            power += velocity.angular().dot(&(rotation * w.wrench.moment()));
        }
        Ok(power)
    }
}

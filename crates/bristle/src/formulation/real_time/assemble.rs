//! The matrices of a step: A and its factor in the velocities that are solved for, v* and D.

use super::cholesky::{backward, cholesky, forward};
use super::reduced::dot;
use super::{At, Failure, Machine, RealTime};
use crate::component::Drive;
use bristle_multibody::{crba, rnea};

impl Machine {
    /// A, the efforts of (3), and what prescribed velocities do.
    pub(super) fn assemble_step(&mut self, rt: &mut RealTime, h: f64, at: At) -> Result<(), Failure> {
        let Self { compiled, work, q, v, xi, .. } = self;
        let RealTime { A, r, bias, u_led, zero, .. } = rt;
        crba(&compiled.model, work, q, A)?;
        bias.copy_from_slice(rnea(&compiled.model, work, q, v, zero)?);
        r.iter_mut().zip(&compiled.effort).zip(&*bias).for_each(|((r, effort), bias)| *r = effort - bias);
        for d in &compiled.dampers {
            r[d.v] -= d.damping * v[d.v];
            A[(d.v, d.v)] += h * d.damping;
        }
        for s in &compiled.springs {
            r[s.v] -= s.stiffness * (q[s.q] + h * v[s.v] - s.rest);
            A[(s.v, s.v)] += h * h * s.stiffness;
        }
        for s in &compiled.coupled.springs {
            let rate = v[s.a] - v[s.b];
            let effort = s.stiffness * (xi[s.a] - xi[s.b] + h * rate - s.rest) + s.damping * rate;
            r[s.a] -= effort;
            r[s.b] += effort;
            let gain = h * (s.damping + h * s.stiffness);
            A[(s.a, s.a)] += gain;
            A[(s.b, s.b)] += gain;
            A[(s.a, s.b)] -= gain;
            A[(s.b, s.a)] -= gain;
        }
        u_led.fill(0.0);
        let mut integrals = self.integral.iter();
        for drive in &compiled.drives {
            let signal = drive.signal().sample(at.t, at.piece);
            let (k, ahead) = (drive.v, q[drive.q] + h * v[drive.v]);
            match drive.drive {
                Drive::Motion(_) if at.is_first => u_led[k] = h * signal.second_derivative,
                Drive::Motion(_) => u_led[k] = (signal.value - xi[k]) / h - v[k],
                Drive::Effort(_) | Drive::Pull { .. } => r[k] += drive.effort(&signal, ahead, v[k], 0.0),
                Drive::Pid { .. } => {
                    let integral = integrals.next().map_or(0.0, |integral| integral + h * (signal.value - ahead));
                    r[k] += drive.effort(&signal, ahead, v[k], integral);
                }
            }
            // gains that would push away from the target stay explicit, and A positive definite
            let [in_q, in_v, in_integral] = drive.slopes();
            A[(k, k)] += h * (h * (h * in_integral - in_q).max(0.0) + (-in_v).max(0.0));
        }
        Ok(())
    }

    /// Bias at the mean of the velocities before and after instead. Whether that makes a difference.
    pub(super) fn correct_bias(&mut self, rt: &mut RealTime) -> Result<bool, Failure> {
        let Self { compiled, work, q, v, a, .. } = self;
        let RealTime { r, bias, zero, v1, .. } = rt;
        // the mean into `a`, which the results will fill
        a.iter_mut().zip(&*v).zip(&*v1).for_each(|((a, v), v1)| *a = 0.5 * (v + v1));
        let mut differs = false;
        for ((r, bias), &mean) in r.iter_mut().zip(bias).zip(rnea(&compiled.model, work, q, a, zero)?) {
            *r += *bias - mean;
            differs |= (*bias - mean).abs() > 1e-14 * (bias.abs() + mean.abs());
            *bias = mean;
        }
        Ok(differs)
    }

    /// Reduced A and its factor, and D.
    pub(super) fn reduce_step(&mut self, rt: &mut RealTime) -> Result<(), Failure> {
        let RealTime { reduced, balance, A, L, X, u_led, .. } = rt;
        let (n, n_contacts) = (reduced.independent.len(), reduced.contacts.len());
        // prescribed changes of what is tied
        for tied in &reduced.tied {
            u_led[tied.v] = dot(&reduced.led[tied.v], u_led);
        }
        // Tᵀ A T, lower half
        L.fill(0.0);
        for (k, row) in reduced.rows.iter().enumerate() {
            for &(i, c) in row {
                for (other, &a) in reduced.rows.iter().zip(A.column(k).iter()) {
                    for &(j, d) in other {
                        if j <= i {
                            L[i * n + j] += c * d * a;
                        }
                    }
                }
            }
        }
        cholesky(L, n).map_err(|k| self.singular(reduced.independent[k], L[k * n + k]))?;
        for c in 0..n_contacts {
            let x = &mut X[c * n..(c + 1) * n];
            x.fill(0.0);
            reduced.contacts[c].iter().for_each(|&(k, coefficient)| x[k] = coefficient);
            let first = reduced.contacts[c].first().map_or(n, |term| term.0);
            forward(L, x, n, first);
        }
        for c in 0..n_contacts {
            for other in 0..=c {
                let d = X[c * n..(c + 1) * n].iter().zip(&X[other * n..(other + 1) * n]).map(|(a, b)| a * b).sum();
                balance.delassus[c * n_contacts + other] = d;
                balance.delassus[other * n_contacts + c] = d;
            }
        }
        Ok(())
    }

    /// v* − v₀ in the velocities that are solved for, and W v*.
    pub(super) fn free_step(&self, rt: &mut RealTime, h: f64) {
        let RealTime { reduced, balance, A, L, y, r, u_led, .. } = rt;
        let n = y.len();
        let is_led = u_led.iter().any(|&u| u != 0.0);
        // Tᵀ (h r − A u)
        y.fill(0.0);
        for (k, row) in reduced.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let mut effort = h * r[k];
            if is_led {
                effort -= A.column(k).iter().zip(&*u_led).map(|(a, u)| a * u).sum::<f64>();
            }
            row.iter().for_each(|&(i, c)| y[i] += c * effort);
        }
        forward(L, y, n, 0);
        backward(L, y, n);
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let changes = dot(&reduced.contacts[c], y) + dot(&reduced.contacts_led[c], u_led);
            balance.free[c] = contact.rate(&self.v) + changes;
        }
    }

    fn singular(&self, v: usize, inertia: f64) -> Failure {
        let joint = self.compiled.model.joint_names[self.joint_of[v]].clone();
        Failure::Mechanics(bristle_multibody::Error::Singular { joint, inertia })
    }
}

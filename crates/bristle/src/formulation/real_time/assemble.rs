//! The matrix and the efforts of a step, in all velocities and in those that are solved for.

use super::reduced::dot;
use super::{At, Failure, Machine, RealTime};
use crate::component::Drive;
use bristle_multibody::{bias_efforts, crba};

impl Machine {
    /// A, the efforts of (3), and what prescribed velocities do.
    pub(super) fn assemble_step(&mut self, rt: &mut RealTime, h: f64, at: At) -> Result<(), Failure> {
        let Self { compiled, work, q, v, xi, .. } = self;
        let RealTime { A, r, bias, u_led, samples, .. } = rt;
        crba(&compiled.model, work, q, A)?;
        bias.copy_from_slice(bias_efforts(&compiled.model, work, q, v)?);
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
        for (drive, sample) in compiled.drives.iter().zip(samples) {
            let signal = drive.signal().sample(at.t, at.piece);
            *sample = signal;
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
        let RealTime { r, bias, v1, .. } = rt;
        // the mean into `a`, which the results will fill
        a.iter_mut().zip(&*v).zip(&*v1).for_each(|((a, v), v1)| *a = 0.5 * (v + v1));
        let mut differs = false;
        for ((r, bias), &mean) in r.iter_mut().zip(bias).zip(bias_efforts(&compiled.model, work, q, a)?) {
            *r += *bias - mean;
            differs |= (*bias - mean).abs() > 1e-14 * (bias.abs() + mean.abs());
            *bias = mean;
        }
        Ok(differs)
    }

    /// A in the velocities that are solved for.
    pub(super) fn reduce_step(&self, rt: &mut RealTime) {
        let RealTime { reduced, A, R, u_led, .. } = rt;
        let n = reduced.independent.len();
        // prescribed changes of what is tied
        for tied in &reduced.tied {
            u_led[tied.v] = dot(&reduced.led[tied.v], u_led);
        }
        // Tᵀ A T
        if reduced.is_whole {
            // T = 1, and columns of A are its rows
            R.copy_from_slice(A.as_slice());
            return;
        }
        R.fill(0.0);
        for (k, row) in reduced.rows.iter().enumerate() {
            for &(i, c) in row {
                for (other, &a) in reduced.rows.iter().zip(A.column(k).iter()) {
                    for &(j, d) in other {
                        R[i * n + j] += c * d * a;
                    }
                }
            }
        }
    }

    /// b of `balance`.
    pub(super) fn pull(&self, rt: &mut RealTime, h: f64) {
        let RealTime { reduced, A, b, r, u_led, .. } = rt;
        if reduced.is_whole {
            // T = 1
            b.iter_mut().zip(&*r).for_each(|(b, r)| *b = h * r);
            return;
        }
        let is_led = u_led.iter().any(|&u| u != 0.0);
        b.fill(0.0);
        for (k, row) in reduced.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let mut effort = h * r[k];
            if is_led {
                effort -= A.column(k).iter().zip(&*u_led).map(|(a, u)| a * u).sum::<f64>();
            }
            row.iter().for_each(|&(i, c)| b[i] += c * effort);
        }
    }

    /// That the k-th of the velocities that are solved for moves nothing.
    pub(super) fn singular(&self, rt: &RealTime, k: usize) -> Failure {
        let joint = self.compiled.model.joint_names[self.joint_of[rt.reduced.independent[k]]].clone();
        Failure::Mechanics(bristle_multibody::Error::Singular { joint, inertia: rt.L[k * rt.u.len() + k] })
    }
}

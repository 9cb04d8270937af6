//! A step in which nothing is stuck: Newton on the velocities themselves.
//!
//! ```text
//! F(u) = R u + Wᵀ λ(ω₀ + W u) − b = 0,      R = Tᵀ A T,   b = Tᵀ (h r − A u_led)                  (1)
//! (R + Wᵀ λ' W) δ = −F                                                                          (2)
//! ```
//!
//! u is the change of the velocities that are solved for, from that of the last step on. R is positive definite and no λ falls, so (2) always
//! has its solution, by Cholesky's factors, and F is the gradient of a convex function. Where contacts slide or bend evenly two or three
//! rounds end it, at a fraction of what D = W A⁻¹ Wᵀ alone costs. A contact that is stuck or stops has no λ(0), and one that turns
//! over within a step may keep (2) from getting nearer: then the step is left to `balance`, which takes all of them.

use super::cholesky::{backward, cholesky, forward};
use super::reduced::dot;
use super::{At, Failure, Machine, RealTime};

/// Rounds before it is left to `balance`.
const MOST_ROUNDS: usize = 6;

/// |F| of a row, relative to its terms, at which (1) is solved.
const SOLVED: f64 = 1e-13;

/// The same where rounding allows no more.
const ROUNDED: f64 = 1e-11;

/// The same at which velocities are good enough to correct the bias with.
const NEARBY: f64 = 1e-4;

/// Efforts smaller than this, N·m s or N s, are none.
const NO_EFFORT: f64 = 1e-60;

impl Machine {
    /// Velocities at the end of the step and contacts, as `balance` would find them; `false` where they are left to it.
    pub(super) fn glide(&mut self, rt: &mut RealTime, h: f64, at: At) -> Result<bool, Failure> {
        if at.is_first || rt.grips.is_empty() || !self.is_plain() {
            return Ok(false);
        }
        rt.u.iter_mut().zip(&rt.pace).for_each(|(u, pace)| *u = h * pace);
        self.pull(rt, h);
        let (mut is_corrected, mut before) = (false, f64::INFINITY);
        for round in 1..=MOST_ROUNDS {
            let Some(off) = self.evaluate(rt) else { return Ok(false) };
            self.counters.n_rounds += 1;
            self.counters.most_rounds = self.counters.most_rounds.max(round);
            // NaN is no progress
            let is_at_a_stand = off.is_nan() || off > 0.5 * before;
            if is_corrected && (off <= SOLVED || is_at_a_stand && off <= ROUNDED) {
                self.spread(rt);
                std::mem::swap(&mut rt.balance.met, &mut rt.met);
                return Ok(true);
            }
            if is_at_a_stand {
                return Ok(false);
            }
            before = off;
            if off > SOLVED && !newton(rt) {
                return Ok(false);
            }
            if !is_corrected && off <= NEARBY {
                self.spread(rt);
                if self.correct_bias(rt)? {
                    self.pull(rt, h);
                    before = f64::INFINITY;
                }
                is_corrected = true;
            }
        }
        Ok(false)
    }

    /// b of (1).
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

    /// −F into `y`, contacts into `met`; the largest of F, each relative to its terms. `None` where a contact has no λ.
    fn evaluate(&self, rt: &mut RealTime) -> Option<f64> {
        let RealTime { reduced, grips, met: contacts, R, b, u, y, y1: size, u_led, .. } = rt;
        for ((y, size), (b, row)) in y.iter_mut().zip(size.iter_mut()).zip(b.iter().zip(R.chunks_exact(u.len().max(1))))
        {
            (*y, *size) = (*b, b.abs());
            for (r, u) in row.iter().zip(&*u) {
                *y -= r * u;
                *size += (r * u).abs();
            }
        }
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let change = dot(&reduced.contacts[c], u) + dot(&reduced.contacts_led[c], u_led);
            let met = grips[c].at(&contact.law, contact.rate(&self.v) + change)?;
            for &(k, w) in &reduced.contacts[c] {
                y[k] -= w * met.lambda;
                size[k] += (w * met.lambda).abs() + (w * met.size).abs();
            }
            contacts[c] = met;
        }
        let off = y.iter().zip(size).map(|(y, size)| y.abs() / (*size + NO_EFFORT));
        Some(off.fold(0.0, |worst, off| if off > worst || off.is_nan() { off } else { worst }))
    }

    /// v₁ from the change of velocities.
    fn spread(&self, rt: &mut RealTime) {
        let RealTime { reduced, hold, u, u_led, v1, .. } = rt;
        for (u, &k) in u.iter().zip(&reduced.independent) {
            v1[k] = self.v[k] + u;
        }
        for driven in &self.driven {
            v1[driven.v] = self.v[driven.v] + u_led[driven.v];
        }
        reduced.velocities(v1);
        // gears to the last bit
        hold.stick(|_| false);
        hold.apply(v1);
    }
}

/// (2): u moved on. Whether its matrix has factors.
fn newton(rt: &mut RealTime) -> bool {
    let RealTime { reduced, met: contacts, R, L, u, y, .. } = rt;
    let n = u.len();
    L.copy_from_slice(R);
    for (contact, met) in reduced.contacts.iter().zip(&*contacts) {
        for &(i, w) in contact {
            for &(j, x) in contact.iter().take_while(|term| term.0 <= i) {
                L[i * n + j] += met.slope * w * x;
            }
        }
    }
    if cholesky(L, n).is_err() {
        return false;
    }
    forward(L, y, n);
    backward(L, y, n);
    u.iter_mut().zip(&*y).for_each(|(u, y)| *u += y);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Describe, prismatic, revolute};
    use crate::compile::{compile, read_bristles, read_state};
    use crate::component::{Coupling, Drive, Name};
    use crate::formulation::Snapshot;
    use crate::scene::Formulation;
    use crate::signal::{Piece, Signal};
    use bristle_friction::{Coulomb, Dahl, LuGre, Tanh};
    use bristle_integrate::System;
    use bristle_multibody::LinkInertia;
    use hecs::World;

    /// An arm that swings, a wheel geared to it, and a joint that is led.
    fn machine() -> (Machine, Vec<f64>) {
        let lugre = LuGre {
            sigma0: 1e4,
            sigma1: 20.0,
            sigma2: 0.3,
            coulomb: 0.5,
            stiction: 0.8,
            stribeck_velocity: Some(0.05),
            exponent: 2.0,
            damping_velocity: None,
        };
        let mut world = World::new();
        let links: Vec<_> = (0..5)
            .map(|k| {
                world.spawn_link(&format!("{k}"), LinkInertia::diagonal(1.0, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06))
            })
            .collect();
        let a = revolute("a", [0.0, 1.0, 0.2]).to(links[0]).velocity(2.0).friction(lugre.into());
        let b = revolute("b", [1.0, 0.0, 0.0]).from(links[0]).to(links[1]).at([0.0, 0.0, -0.5]);
        let c = prismatic("c", [0.0, 0.0, 1.0]).from(links[1]).to(links[2]).velocity(0.8).spring(50.0, 0.0);
        let wheel = revolute("wheel", [0.0, 0.0, 1.0]).to(links[3]).velocity(-6.0);
        let led = revolute("led", [0.0, 1.0, 0.0]).from(links[2]).to(links[4]).at([0.1, 0.0, -0.2]);
        let along = Signal::Sine { amplitude: 0.4, frequency: 9.0, phase: 0.0, offset: 0.0 };
        let [a, _, _, wheel, _] = [
            world.spawn_joint(a),
            world.spawn_joint(
                b.velocity(-1.0).friction(Tanh { coulomb: 0.3, stribeck_velocity: 0.1, viscous: 0.1 }.into()),
            ),
            world.spawn_joint(c.friction(Coulomb { coulomb: 9.0, stiction: 14.0, viscous: 0.5 }.into())),
            world.spawn_joint(wheel.friction(Dahl { coulomb: 0.2, sigma0: 300.0 }.into())),
            world.spawn_joint(led.velocity(3.6).drive(Drive::Motion(along))),
        ];
        world.spawn((Name("gear".into()), Coupling::Gear { joints: [wheel, a], ratio: -3.0, offset: 0.0 }));
        let compiled = compile(&world).unwrap();
        let mut state = Snapshot::rest(&compiled);
        read_state(&world, &compiled, &mut state.mechanics).unwrap();
        read_bristles(&world, &compiled, 0.0, &state.mechanics.v, &mut state.bristles).unwrap();
        let mut machine = Machine::new(compiled, Formulation::Implicit, None);
        machine.make_real_time();
        let mut y = vec![0.0; machine.max_dim()];
        machine.begin(&state, &mut y).unwrap();
        y.truncate(machine.dim());
        (machine, y)
    }

    /// Every step by both routes, which share neither matrix nor unknowns.
    #[test]
    fn velocities_and_impulses_are_those_of_the_balance() {
        let (mut machine, mut y) = machine();
        let (h, mut glided, mut largest) = (1e-3, 0, 0.0_f64);
        for k in 0..1000 {
            let t1 = f64::from(k + 1) * h;
            let mut rt = machine.real_time.take().unwrap();
            machine.take_unknowns(&y);
            machine.piece = Piece::Before(t1 - 1e-6 * h);
            let at = At { t: t1, piece: machine.piece, is_first: false };
            machine.prepare_step(&mut rt, h, at).unwrap();
            let is_glided = machine.glide(&mut rt, h, at).unwrap();
            let found = (rt.v1.clone(), rt.balance.met.clone());
            machine.prepare_step(&mut rt, h, at).unwrap();
            machine.balance_step(&mut rt, h, at).unwrap();
            if is_glided {
                glided += 1;
                for (a, b) in found.0.iter().zip(&rt.v1) {
                    largest = largest.max((a - b).abs() / (1.0 + b.abs()));
                }
                for (a, b) in found.1.iter().zip(&rt.balance.met) {
                    largest = largest.max((a.lambda - b.lambda).abs() / (h + b.lambda.abs()));
                }
            }
            machine.real_time = Some(rt);
            let before = y.clone();
            let mut quad = vec![0.0; machine.n_quadratures()];
            machine.real_time_step(t1 - h, h, &before, &mut y, &mut quad).unwrap();
        }
        // the slider stands still for part of the time
        assert!((400..1000).contains(&glided), "{glided}");
        assert!(largest < 1e-10, "{largest:.1e}");
    }
}

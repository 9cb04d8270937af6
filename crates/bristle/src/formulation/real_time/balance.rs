//! All velocities and contacts of a step at once.
//!
//! ```text
//! F(u) = R u + Wᵀ λ(ω) − b = 0,      ω = ω₀ + W u,      R = Tᵀ A T,   b = Tᵀ (h r − A u_led)          (1)
//! (R + Wᵀ λ' W) δ = −F                                                                          (2)
//! ```
//!
//! u is the change of the velocities that are solved for, from that of the last step on. R is positive definite and no λ falls, so F is the
//! gradient of a convex function P and has one zero, and (2) always has its solution. A Newton step is taken whole where it halves the error;
//! otherwise as far as P falls along it: its slope δᵀF rises all the way, so that a bracket finds where it is level. Every step leads
//! down, and where contacts are straight lines finitely many of them end it.
//!
//! **Stuck.** A dry contact at rest has any λ between its limits. It is held by a spring,
//!
//! ```text
//! λ = λ̂ + k ω     within the limits of the grip,         k = 10⁶ / Σ W_j²/R_jj                        (3)
//! ```
//!
//! stiff beside what it holds, and λ̂ is moved to the λ that was found until nothing yields any more (the proximal point method): each time leaves
//! 10⁻⁶ of the slip, of n contacts that hold one another at most n times that. λ̂ begins as the λ of the last step.
//!
//! **Sharing.** Contacts that may do the same work (two stuck clutches side by side) have the same ω however they share it. They share by
//! strength, as everywhere: of all λ that with the least Σ λ²/strength. For that their springs are as stiff as they are strong, and λ̂ begins at 0.
//!
//! Who is at its limit while others hold has ω = 0 in the end like them, and is stuck.

use super::factor::{dot_all, factor, solve};
use super::grip::Met;
use super::reduced::{Sparse, dot};
use super::{Failure, Machine, RealTime, fastest};

/// Evaluations of (1) in a solution at most. Three or four are usual.
pub(super) const MOST_ROUNDS: usize = 200;

/// |F| of a row, relative to its terms, at which (1) is solved.
const SOLVED: f64 = 1e-13;

/// The same where rounding allows no more.
const ROUNDED: f64 = 1e-11;

/// The same at which velocities are good enough to correct the bias with.
const NEARBY: f64 = 1e-4;

/// The same from which Newton steps are taken whole.
const CLOSE: f64 = 1e-6;

/// Roundings of ω, that stiff contacts answer to.
const ROUNDINGS: f64 = 16.0 * f64::EPSILON;

/// Efforts smaller than this, N·m s or N s, are none: their squares are below the normal numbers, so that what has died away
/// can no longer be solved for relative to itself. √(2⁻¹⁰²²), whatever the units.
const NO_EFFORT: f64 = 1.5e-154;

/// Stiffness of what is stuck, relative to the inertia it holds.
const STIFF: f64 = 1e6;

/// The same of what holds nothing that could move.
const RIGID: f64 = 1e200;

/// Strength below which a contact counts as this strong, relative to the strongest it shares with.
const WEAKEST: f64 = 1e-6;

/// Change of λ̂ that is none: relative to itself, to the terms of its rows, to the limit of its contact. How often it is moved at most, and at
/// least where contacts share.
const HELD: f64 = 1e-10;
const HELD_AROUND: f64 = 1e-12;
const HELD_AT_MOST: f64 = 1e-15;
const MOST_MOVES: usize = 12;
const SHARED_MOVES: usize = 2;

/// Rounds before an interior path is taken.
const TRIED: usize = 12;

/// Evaluations of a line search at most: bisections to the last bit, and as many Newton steps.
const MOST_TRIALS: usize = 100;

/// Slope of P at the end of a line search, relative to that at its start.
const LEVEL: f64 = 1e-3;

/// How well (1) is to be solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// For a first look at velocities and loads.
    Draft,
    /// To rounding.
    Solution,
}

/// What [`Machine::balance`] works with; arrays are made once. See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Balance {
    /// Where each contact stands.
    pub met: Vec<Met>,
    /// λ/h of each after the last step.
    pub effort: Vec<f64>,
    /// λ̂ and k of those that are dry.
    pub anchor: Vec<f64>,
    pub stick: Vec<f64>,
    /// ω₀, ω at the start of a line, dω along it.
    pub still: Vec<f64>,
    from: Vec<f64>,
    rate: Vec<f64>,
    /// λ' of the factors in `L`, none before the first.
    slopes: Vec<f64>,
    pub is_factored: bool,
    /// In the velocities that are solved for: −F, the size of its terms, δ.
    left: Vec<f64>,
    size: Vec<f64>,
    pub step: Vec<f64>,
    /// −δᵀF at the start of the line.
    fall: f64,
}

impl Balance {
    /// For n velocities that are solved for.
    pub fn new(n: usize, n_contacts: usize) -> Self {
        let (per_contact, per_velocity) = (vec![0.0; n_contacts], vec![0.0; n]);
        Self {
            met: vec![Met::default(); n_contacts],
            effort: per_contact.clone(),
            anchor: per_contact.clone(),
            stick: per_contact.clone(),
            still: per_contact.clone(),
            from: per_contact.clone(),
            rate: per_contact.clone(),
            slopes: per_contact,
            is_factored: false,
            left: per_velocity.clone(),
            size: per_velocity.clone(),
            step: per_velocity,
            fall: 0.0,
        }
    }
}

impl Machine {
    /// Where a solution starts: as the last step went on.
    pub(super) fn start_balance(&self, rt: &mut RealTime, h: f64) {
        let RealTime { reduced, balance, grips, R, u, u_led, pace, .. } = rt;
        let n = u.len();
        u.iter_mut().zip(&*pace).for_each(|(u, pace)| *u = h * pace);
        balance.is_factored = false;
        let mut strongest = 0.0_f64;
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            balance.still[c] = contact.rate(&self.v) + dot(&reduced.contacts_led[c], u_led);
            if !contact.is_event_driven() {
                continue;
            }
            let yields: f64 = reduced.contacts[c].iter().map(|&(k, w)| w * w / R[k * n + k]).sum();
            balance.stick[c] = if yields > 0.0 { STIFF / yields } else { RIGID };
            balance.anchor[c] = 0.0;
            if reduced.shares[c] {
                strongest = strongest.max(grips[c].strength(balance.effort[c]));
            } else if yields > 0.0 {
                balance.anchor[c] = h * balance.effort[c];
            }
        }
        if strongest > 0.0 {
            // the strongest as stiff as the stiffest
            let shared = || (0..grips.len()).filter(|&c| reduced.shares[c]);
            let stiffest = shared().map(|c| balance.stick[c]).fold(0.0, f64::max);
            for c in shared() {
                let strength = grips[c].strength(balance.effort[c]).max(WEAKEST * strongest);
                balance.stick[c] = stiffest * strength / strongest;
            }
        }
    }

    /// Solves (1) with the grips as they are, from the u that there is.
    pub(super) fn balance(&mut self, rt: &mut RealTime, wanted: Wanted) -> Result<(), Failure> {
        let mut off = self.evaluate(rt);
        let (mut moves, mut is_guarded, mut is_approached) = (0, false, false);
        let enough = if wanted == Wanted::Draft { NEARBY } else { SOLVED };
        let mut round = 1;
        let found = loop {
            if off <= enough {
                if wanted == Wanted::Draft || moves == MOST_MOVES || !self.move_anchors(rt, moves) {
                    break true;
                }
                moves += 1;
                off = self.evaluate(rt);
                if off <= enough {
                    continue;
                }
            }
            if round >= MOST_ROUNDS || off.is_nan() {
                break false;
            }
            if round >= TRIED && is_guarded && !is_approached {
                (is_approached, is_guarded) = (true, false);
                round += self.approach(rt);
                off = self.evaluate(rt);
                if off <= enough {
                    continue;
                }
            }
            direction(rt).map_err(|k| self.singular(rt, k))?;
            if off <= CLOSE && is_lost(rt) {
                off = 0.0;
                continue;
            }
            round += 1;
            along(rt, 1.0);
            let next = self.evaluate(rt);
            let is_nearer = next <= 0.5 * off || next <= enough;
            let may_be_rounding = !is_nearer || next > enough && is_straight(&rt.balance.met, &rt.balance.slopes);
            if may_be_rounding && is_rounding(rt) {
                off = 0.0;
                continue;
            }
            off = next;
            if is_nearer && (!is_guarded || next <= CLOSE) {
                continue;
            }
            is_guarded = true;
            let alpha = self.line_search(rt);
            if alpha == 0.0 {
                break false;
            }
            if alpha != 1.0 {
                along(rt, alpha - 1.0);
                off = self.evaluate(rt);
                round += 1;
            }
        };
        self.counters.n_rounds += round;
        self.counters.most_rounds = self.counters.most_rounds.max(round);
        match (!found).then(|| furthest(rt)).flatten() {
            Some(contact) => Err(Failure::Unbalanced { contact }),
            // without contacts it is solved, or not a number, which is seen where steps are looked at
            None => Ok(()),
        }
    }

    /// −F into `left`, contacts into `met`; the largest |F|, each relative to its terms.
    fn evaluate(&self, rt: &mut RealTime) -> f64 {
        let RealTime { reduced, balance, grips, R, b, u, .. } = rt;
        let Balance { met, anchor, stick, still, left, size, .. } = balance;
        for (k, row) in R.chunks_exact(u.len().max(1)).enumerate() {
            let (mut sum, mut terms) = (b[k], b[k].abs());
            for (r, u) in row.iter().zip(&*u) {
                sum -= r * u;
                terms += (r * u).abs();
            }
            (left[k], size[k]) = (sum, terms);
        }
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let row = &reduced.contacts[c];
            let here = grips[c].at(&contact.law, still[c] + dot(row, u), anchor[c], stick[c]);
            for &(k, w) in row {
                left[k] -= w * here.lambda;
                size[k] += (w * here.lambda).abs() + (w * here.size).abs();
            }
            met[c] = here;
        }
        let off = left.iter().zip(&*size).map(|(left, size)| left.abs() / (size + NO_EFFORT));
        // NaN is far off
        off.fold(0.0, |most, off| if off > most || off.is_nan() { off } else { most })
    }

    /// λ̂ to the λ that was found. Whether that makes a difference.
    fn move_anchors(&self, rt: &mut RealTime, moves: usize) -> bool {
        let RealTime { reduced, balance, grips, .. } = rt;
        let Balance { met, anchor, size, .. } = balance;
        let mut differs = false;
        for (c, met) in met.iter().enumerate() {
            if !met.is_held {
                // of those that slide, the limit they are at
                anchor[c] = met.lambda;
                continue;
            }
            // beside itself, what else pushes there, or what it could hold
            let around = reduced.contacts[c].iter().map(|&(k, w)| size[k] / w.abs()).fold(f64::INFINITY, f64::min);
            let none = [HELD * met.lambda.abs(), HELD_AROUND * around, HELD_AT_MOST * grips[c].strength(met.lambda)];
            differs |= (met.lambda - anchor[c]).abs() > none.into_iter().fold(0.0, f64::max);
            differs |= reduced.shares[c] && moves < SHARED_MOVES;
            anchor[c] = met.lambda;
        }
        differs
    }

    /// How far along δ, which u has taken by now, P falls: all the way if it still does there, otherwise to where it is level. 0 if it does
    /// not fall at all.
    fn line_search(&self, rt: &RealTime) -> f64 {
        let RealTime { balance, grips, R, .. } = rt;
        let Balance { anchor, stick, from, rate, step, fall, .. } = balance;
        let at = |c: usize, alpha: f64| {
            grips[c].at(&self.compiled.contacts[c].law, from[c] + alpha * rate[c], anchor[c], stick[c])
        };
        let delta = &step[..];
        let bend: f64 = R.chunks_exact(step.len()).zip(step).map(|(row, step)| step * dot_all(row, delta)).sum();
        // δᵀF and how it rises
        let slope = |alpha: f64| {
            let (mut slope, mut rise) = (-fall + alpha * bend, bend);
            for c in (0..rate.len()).filter(|&c| rate[c] != 0.0) {
                let (start, here) = (at(c, 0.0), at(c, alpha));
                slope += rate[c] * (here.lambda - start.lambda);
                rise += rate[c] * rate[c] * here.slope;
            }
            (slope, rise)
        };
        let (mut low, mut high, mut alpha) = (0.0, 1.0, 1.0);
        if *fall <= 0.0 {
            return 0.0;
        }
        for _ in 0..MOST_TRIALS {
            let (here, rise) = slope(alpha);
            if here.abs() <= LEVEL * fall || here < 0.0 && alpha == 1.0 {
                break;
            }
            if here > 0.0 {
                high = alpha;
            } else {
                low = alpha;
            }
            let newton = alpha - here / rise;
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            // from the far side of a bend Newton may creep
            alpha = if newton > low && newton < high && (newton - alpha).abs() > 0.01 * (high - low) {
                newton
            } else {
                middle
            };
        }
        alpha
    }
}

/// δ of (2) from −F, what it does to ω, and how P falls along it; or the row in which the matrix is not positive.
fn direction(rt: &mut RealTime) -> Result<(), usize> {
    let RealTime { reduced, balance, R, L, .. } = rt;
    let Balance { met, slopes, is_factored, from, rate, left, step, fall, .. } = balance;
    let n = step.len();
    if !*is_factored || !is_straight(met, slopes) {
        L.copy_from_slice(R);
        for ((contact, met), slope) in reduced.contacts.iter().zip(&*met).zip(slopes) {
            *slope = met.slope;
            for &(i, w) in contact {
                for &(j, x) in contact.iter().take_while(|term| term.0 <= i) {
                    L[i * n + j] += met.slope * w * x;
                }
            }
        }
        *is_factored = false;
        factor(L, n)?;
        *is_factored = true;
    }
    step.copy_from_slice(left);
    solve(L, step, n);
    *fall = dot_all(step, left);
    for ((met, contact), (from, rate)) in met.iter().zip(&reduced.contacts).zip(from.iter_mut().zip(rate)) {
        (*from, *rate) = (met.omega, dot(contact, step));
    }
    Ok(())
}

/// Whether every contact is on the line that δ took it for: then nothing but rounding is left.
fn is_straight(met: &[Met], slopes: &[f64]) -> bool {
    met.iter().zip(slopes).all(|(met, slope)| met.slope == *slope)
}

/// Whether rounding explains what is left of F: of its terms, of ω, which stiff contacts answer to, and of the velocities of all that is held together.
fn is_rounding(rt: &RealTime) -> bool {
    let RealTime { reduced, balance, R, u, turns, .. } = rt;
    let n = u.len();
    let turns = |k: usize| turns[reduced.independent[k]];
    let mut fastest = [0.0_f64; 2];
    for k in 0..n {
        let fastest = &mut fastest[usize::from(turns(k))];
        *fastest = fastest.max(balance.size[k] / R[k * n + k]);
    }
    let loose = |k: usize| {
        let of_contact = |(c, row): (usize, &Sparse)| {
            let w = row.iter().find(|term| term.0 == k).map_or(0.0, |term| term.1.abs());
            let omega = row.iter().fold(balance.still[c].abs(), |sum, &(j, w)| sum + (w * u[j]).abs());
            if w == 0.0 { 0.0 } else { w * balance.met[c].slope * omega }
        };
        reduced.contacts.iter().enumerate().map(of_contact).sum::<f64>() + R[k * n + k] * fastest[usize::from(turns(k))]
    };
    (0..n).all(|k| balance.left[k].abs() <= ROUNDED * balance.size[k] + ROUNDINGS * loose(k) + NO_EFFORT)
}

/// Whether a step is rounding of the velocities themselves.
fn is_lost(rt: &RealTime) -> bool {
    let RealTime { reduced, balance, u, turns, .. } = rt;
    let of = || reduced.independent.iter().copied();
    let largest = fastest(of().zip(u.iter().map(|u| u.abs())), turns);
    of().zip(&balance.step).all(|(k, step)| step.abs() <= f64::EPSILON * largest[usize::from(turns[k])])
}

/// u further by a part of δ.
fn along(rt: &mut RealTime, part: f64) {
    rt.u.iter_mut().zip(&rt.balance.step).for_each(|(u, step)| *u += part * step);
}

/// The contact in whose rows most is left over.
fn furthest(rt: &RealTime) -> Option<usize> {
    let RealTime { reduced, balance, .. } = rt;
    let off = |c: usize| {
        let of_row = |&(k, _): &(usize, f64)| balance.left[k].abs() / (balance.size[k] + NO_EFFORT);
        reduced.contacts[c].iter().map(of_row).fold(0.0, f64::max)
    };
    (0..reduced.contacts.len()).max_by(|&a, &b| off(a).total_cmp(&off(b)))
}

#[cfg(test)]
mod tests {
    use super::super::At;
    use super::super::grip::Grip;
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
        machine.make_real_time(1e-3);
        let mut y = vec![0.0; machine.max_dim()];
        machine.begin(&state, &mut y).unwrap();
        y.truncate(machine.dim());
        (machine, y)
    }

    /// One step of h = 1 ms from y, prepared and solved.
    fn solved(machine: &mut Machine, y: &[f64], t1: f64, h: f64) -> Box<RealTime> {
        let mut rt = machine.real_time.take().unwrap();
        machine.take_unknowns(y);
        machine.piece = Piece::Before(t1 - 1e-6 * h);
        machine.solve_step(&mut rt, h, At { t: t1, piece: machine.piece, is_first: false }).unwrap();
        rt
    }

    /// Momentum with the impulses of the contacts, by the matrix of all velocities; every dry contact at its limit, on the side it slides to, or
    /// within its limits and at rest.
    #[test]
    fn momentum_is_kept_and_dry_contacts_obey_their_limits() {
        let (mut machine, mut y) = machine();
        let (h, mut stuck) = (1e-3, 0);
        for k in 0..1000 {
            let t1 = f64::from(k + 1) * h;
            let mut rt = solved(&mut machine, &y, t1, h);
            let n = machine.v.len();
            let mut left: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|j| rt.A[(i, j)] * (rt.v1[j] - machine.v[j])).sum::<f64>() - h * rt.r[i])
                .collect();
            for (contact, met) in machine.compiled.contacts.iter().zip(&rt.balance.met) {
                contact.take(&mut left, -met.lambda);
            }
            // along every motion that is free: those of T
            for (i, _) in rt.reduced.independent.iter().enumerate() {
                let along: f64 = (0..n)
                    .flat_map(|v| rt.reduced.rows[v].iter().filter(|term| term.0 == i).map(move |term| (v, term.1)))
                    .map(|(v, c)| c * left[v])
                    .sum();
                assert!(along.abs() < 1e-11, "{along:.1e} of momentum in step {k}");
            }
            for (c, grip) in rt.grips.iter().enumerate() {
                let (Grip::Dry { up, down }, met) = (grip, rt.balance.met[c]) else { continue };
                let rate = machine.compiled.contacts[c].rate(&rt.v1);
                let limits = (-down[0] - 1e-12 * h, up[0] + 1e-12 * h);
                if met.is_held {
                    stuck += 1;
                    assert!(rate == 0.0 && met.lambda > limits.0 && met.lambda < limits.1, "{met:?}");
                } else {
                    let [level, slope] = if rate > 0.0 { *up } else { down.map(|x| -x) };
                    let expected = level + slope.abs() * rate;
                    assert!((met.lambda - expected).abs() < 1e-12 * h, "{met:?} {expected}");
                }
            }
            rt.turned.fill(false);
            machine.real_time = Some(rt);
            let before = y.clone();
            let mut quad = vec![0.0; machine.n_quadratures()];
            machine.real_time_step(t1 - h, h, &before, &mut y, &mut quad).unwrap();
        }
        // the slider stands still for part of the time
        assert!((20..900).contains(&stuck), "{stuck}");
    }
}

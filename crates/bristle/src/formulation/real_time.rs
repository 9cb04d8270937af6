//! `RealTime`: a fixed step that friction cannot make unstable, in bounded time.
//!
//! ```text
//! M (v₁ − v₀) = h (τ(t₁) − c(q₀, v̄) − K (q₀ + h v₁ − rest) − d v₁) − Wᵀ λ(W v₁)                   (1)
//! q₁ = q₀ + h v₁,                 free joints by their momentum (`floating`)                       (2)
//! ```
//!
//! c is the bias with gravity, v̄ = v₀ at first and then, once, the mean of v₀ and the v₁ that was found; K and d gather springs, dampers, `Pull` and `Pid` drives and the spring-dampers between joints; λ are the
//! impulses of the contacts, a row of W for each. With A = M + h d + h² K, positive definite, (1) is
//!
//! ```text
//! A (v₁ − v₀) + Wᵀ λ(W v₁) = h r,     r = τ − c − K (q₀ + h v₀ − rest) − d v₀                       (3)
//! ```
//!
//! Bristles are eliminated from λ(ω) in closed form and λ(ω) never falls (`grip`), so (3) has one solution (`balance`); a contact that is
//! stuck gets slip velocity 0.0 exactly (`hold`), and its position keeps every bit. Ties between joints and prescribed motions
//! are eliminated first (`reduced`): a driven joint moves at the velocity that takes it to where its signal is at t₁. A load that is a
//! reaction is that of the accelerations (v₁ − v₀)/h, found by a short fixed-point iteration. Signals are sampled at t₁,
//! just before what begins there begins; nothing is located, and changes of mode are noted at ends of steps.
//!
//! **Order** 1. **Stability**: (3) is stable whatever h, stiffness, damping and friction are. Gravity and c are not implicit:
//! h has to resolve the swing of pendulums.
//!
//! **Energy.** Work, heat and energies of the ledger are those of (1), at the velocities v₁. What is missing from the balance is what the
//! method itself takes: ½ (v₁ − v₀)ᵀ M (v₁ − v₀) + ½ h² v₁ᵀ K v₁ each step, as much as h times the power of accelerations and springs; what M and
//! gravity change with q within a step is of the same order and of either sign.

#![expect(non_snake_case, reason = "symbols follow the equations above")]

mod assemble;
mod balance;
mod factor;
mod floating;
mod grip;
mod hold;
mod interior;
mod ledger;
mod reduced;

use super::efforts::load_signal;
use super::machine::{Failure, Machine, ModeChange, Unsettled};
use crate::compile::Contact;
use crate::signal::{Piece, Sample};
use balance::{Balance, Wanted};
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::Trouble;
use bristle_integrate::archive::{Archive, Archived};
use bristle_multibody::rnea;
use grip::Grip;
use hold::Hold;
use interior::Interior;
use nalgebra::DMatrix;
use reduced::Reduced;

/// Solutions of (3) in a step at most, each with the reactions of the one before.
const MOST_LOADS: usize = 10;

/// Change of a load, relative, at which it is settled.
const SETTLED: f64 = 1e-9;

/// Change of a load in the last solution, relative, that is worth a word.
const UNSETTLED: f64 = 1e-6;

/// Slip of a contact without a load that is none, relative to the fastest of its kind.
const LOOSE: f64 = 1e-12;

/// The step whose accelerations and friction stand for those at the start, relative to the others.
const FIRST_LOOK: f64 = 1e-6;

/// What a real-time step works with; made once.
#[derive(Debug, Clone)]
pub(super) struct RealTime {
    reduced: Reduced,
    balance: Balance,
    interior: Interior,
    hold: Hold,
    grips: Vec<Grip>,
    /// A; the same in the velocities that are solved for, rows one after the other; its factors with contacts.
    A: DMatrix<f64>,
    R: Vec<f64>,
    L: Vec<f64>,
    /// In the velocities that are solved for: efforts times h, change of velocity, that of the last step by its length.
    b: Vec<f64>,
    u: Vec<f64>,
    pace: Vec<f64>,
    /// Per velocity: efforts, the bias in them, change of velocity that is prescribed, velocities at the end and how they have changed, zeros.
    r: Vec<f64>,
    bias: Vec<f64>,
    u_led: Vec<f64>,
    v1: Vec<f64>,
    change: Vec<f64>,
    zero: Vec<f64>,
    xi1: Vec<f64>,
    q1: Vec<f64>,
    /// Signals of the drives at the end of the step.
    samples: Vec<Sample>,
    /// Of each contact: loads forwards and backwards in the present solution, those that its grip was made with, and that of its bent bristles after the last step.
    normal: Vec<[f64; 2]>,
    gripped: Vec<[f64; 2]>,
    bent: Vec<f64>,
    /// Of one-way clutches with bristles: whether they have changed sides within the step.
    turned: Vec<bool>,
    /// Whether each velocity is angular: speeds are compared with their like.
    turns: Vec<bool>,
    /// Length of the step that stands for the start, s.
    first_look: f64,
}

impl Archived for RealTime {
    /// What a step finds from the one before: efforts of the contacts, how velocities changed, the loads of bent bristles, the places
    /// of tied joints, who holds whom.
    fn archive(&mut self, archive: &mut Archive<'_>) {
        self.balance.effort.archive(archive);
        self.pace.archive(archive);
        self.bent.archive(archive);
        self.reduced.tied.iter_mut().for_each(|tied| tied.offset.archive(archive));
        self.hold.archive(archive);
    }
}

/// The largest of the speeds of velocities by index, linear and angular ones apart.
fn fastest(speeds: impl Iterator<Item = (usize, f64)>, turns: &[bool]) -> [f64; 2] {
    let mut most = [0.0_f64; 2];
    for (k, speed) in speeds {
        let most = &mut most[usize::from(turns[k])];
        *most = most.max(speed);
    }
    most
}

/// Where the signals of a step are sampled.
#[derive(Debug, Clone, Copy)]
struct At {
    t: f64,
    piece: Piece,
    /// The first look takes accelerations of prescribed motions from their signals.
    is_first: bool,
}

impl RealTime {
    fn new(machine: &Machine, first_look: f64) -> Self {
        let compiled = &machine.compiled;
        let (n_v, n_contacts) = (compiled.model.n_v, compiled.contacts.len());
        let reduced = Reduced::new(compiled, |v| machine.driven.iter().any(|driven| driven.v == v));
        let n = reduced.independent.len();
        Self {
            balance: Balance::new(n, n_contacts),
            interior: Interior::new(n_contacts),
            hold: Hold::new(compiled, |v| machine.driven.iter().any(|driven| driven.v == v)),
            grips: vec![Grip::Dry { up: [0.0; 2], down: [0.0; 2] }; n_contacts],
            A: DMatrix::zeros(n_v, n_v),
            R: vec![0.0; n * n],
            L: vec![0.0; n * n],
            b: vec![0.0; n],
            u: vec![0.0; n],
            pace: vec![0.0; n],
            r: vec![0.0; n_v],
            bias: vec![0.0; n_v],
            u_led: vec![0.0; n_v],
            v1: vec![0.0; n_v],
            change: vec![0.0; n_v],
            zero: vec![0.0; n_v],
            xi1: vec![0.0; n_v],
            q1: machine.q.clone(),
            samples: vec![Sample::default(); compiled.drives.len()],
            normal: vec![[0.0; 2]; n_contacts],
            gripped: vec![[0.0; 2]; n_contacts],
            bent: vec![0.0; n_contacts],
            turned: vec![false; n_contacts],
            turns: (0..n_v).map(|k| compiled.model.turns(k)).collect(),
            first_look,
            reduced,
        }
    }

    /// Velocities between the ends of a step, or with prescribed ones as their signals have them: what the step holds moves alike.
    pub fn hold_together(&self, v: &mut [f64]) {
        self.hold.apply(v);
    }
}

impl Machine {
    /// From here on the machine makes its own steps, of this length, s.
    pub(crate) fn make_real_time(&mut self, step: f64) {
        self.real_time = Some(Box::new(RealTime::new(self, FIRST_LOOK * step)));
    }

    /// Whether it does.
    pub(crate) fn is_real_time(&self) -> bool {
        self.real_time.is_some()
    }

    /// The start: all velocities are unknowns, and accelerations, loads and friction are those of a very short step.
    pub(super) fn begin_real_time(&mut self, t: f64, y: &mut [f64]) -> Result<(), Failure> {
        self.active.clear();
        self.active.extend(0..self.v.len());
        self.changes.clear();
        let Some(mut rt) = self.real_time.take() else { return Ok(()) };
        rt.reduced.begin(&self.xi);
        rt.balance.effort.fill(0.0);
        rt.pace.fill(0.0);
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let signal = load_signal(contact.signal(), t, self.piece);
            rt.bent[c] = contact.normal_towards(self.state[c][0] < 0.0, &signal).0;
        }
        let at = At { t, piece: Piece::After(t), is_first: true };
        let h = rt.first_look;
        let mut solved = self.solve_step(&mut rt, h, at);
        if solved.is_ok() {
            self.carried_efforts(&mut rt, h);
            self.take_results(&rt, h);
            // what breaks away at once slides from the first row on
            if !self.changes.is_empty() {
                solved = self.solve_step(&mut rt, h, at);
                self.carried_efforts(&mut rt, h);
                self.take_results(&rt, h);
                self.changes.clear();
            }
        }
        self.real_time = Some(rt);
        self.gather(y);
        solved
    }

    /// One step from (t, y).
    pub(super) fn real_time_step(
        &mut self,
        t: f64,
        h: f64,
        y: &[f64],
        y_new: &mut [f64],
        quad: &mut [f64],
    ) -> Result<(), Trouble> {
        let Some(mut rt) = self.real_time.take() else { return Err(Trouble::Fatal { code: usize::MAX }) };
        self.take_unknowns(y);
        let t1 = t + h;
        // times that are sums of steps miss a corner by rounding
        self.piece = Piece::Before(t1 - 1e-6 * h);
        let at = At { t: t1, piece: self.piece, is_first: false };
        let made = self.solve_step(&mut rt, h, at).and_then(|()| self.finish_step(&mut rt, h, t1, quad));
        if made.is_ok() {
            self.gather(y_new);
        }
        self.real_time = Some(rt);
        made.map_err(|failure| {
            self.failure = Some(failure);
            Trouble::Fatal { code: 0 }
        })
    }

    /// Centres charts; the rest of a step is done.
    pub(super) fn accept_real_time(&mut self, y: &mut [f64]) -> Result<bool, Trouble> {
        if self.free.is_empty() {
            return Ok(false);
        }
        self.take_unknowns(y);
        let moved = self.move_charts().map_err(|_| Trouble::Retry)?;
        if moved {
            self.gather(y);
        }
        Ok(moved)
    }

    /// Unknowns to arrays, prescribed velocities as the last step had them.
    fn take_unknowns(&mut self, y: &[f64]) {
        let n = self.v.len();
        self.xi.copy_from_slice(&y[..n]);
        self.v.copy_from_slice(&y[n..2 * n]);
        let mut rest = y[2 * n..].iter();
        for (state, contact) in self.state.iter_mut().zip(&self.compiled.contacts) {
            state[..contact.law.n_states()].iter_mut().zip(&mut rest).for_each(|(s, y)| *s = *y);
        }
        self.integral.iter_mut().zip(rest).for_each(|(integral, y)| *integral = *y);
    }

    /// (3): velocities at the end of the step into `rt.v1`, contacts into `rt.balance`, with the loads and on the sides that come of it.
    fn solve_step(&mut self, rt: &mut RealTime, h: f64, at: At) -> Result<(), Failure> {
        self.prepare_step(rt, h, at)?;
        self.start_balance(rt, h);
        self.pull(rt, h);
        // the first solution serves to correct the bias: a draft will do, unless more is read from it
        let is_plain = self.is_plain();
        for round in 1..=MOST_LOADS {
            for (c, contact) in self.compiled.contacts.iter().enumerate() {
                if rt.normal[c] != rt.gripped[c] {
                    self.grip(rt, c, contact, h);
                }
            }
            if round == 1 && is_plain {
                self.balance(rt, Wanted::Draft)?;
                self.spread(rt);
                if self.correct_bias(rt)? {
                    self.pull(rt, h);
                }
                continue;
            }
            self.balance(rt, Wanted::Solution)?;
            self.end_velocities(rt, at);
            let is_last = round == MOST_LOADS;
            let mut is_settled = self.read_loads(rt, h, is_last.then_some(at.t))?;
            if is_last {
                break;
            }
            is_settled &= self.sides_agree(rt, at);
            if round == 1 && self.correct_bias(rt)? {
                self.pull(rt, h);
                is_settled = false;
            }
            if is_settled {
                break;
            }
        }
        Ok(())
    }

    /// Matrices, efforts and grips.
    fn prepare_step(&mut self, rt: &mut RealTime, h: f64, at: At) -> Result<(), Failure> {
        self.place()?;
        self.assemble_step(rt, h, at)?;
        self.reduce_step(rt);
        rt.turned.fill(false);
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            rt.normal[c] = self.normal_loads(c, self.state[c][0] < 0.0, at);
            self.grip(rt, c, contact, h);
        }
        Ok(())
    }

    /// Whether neither loads nor sides are read from a solution.
    fn is_plain(&self) -> bool {
        self.pressed.is_empty() && !self.compiled.contacts.iter().any(|c| c.bends_two_ways())
    }

    /// The grip of contact c under its loads.
    fn grip(&self, rt: &mut RealTime, c: usize, contact: &Contact, h: f64) {
        let slip = contact.arm * contact.rate(&self.v);
        rt.grips[c] = Grip::new(contact, h, self.mode[c], slip, self.state[c], rt.normal[c]);
        rt.gripped[c] = rt.normal[c];
    }

    /// Loads of contact c forwards and backwards; its bristles, if it has any, bent backward or not.
    fn normal_loads(&self, c: usize, is_backward: bool, at: At) -> [f64; 2] {
        let contact = &self.compiled.contacts[c];
        if contact.bearing.is_some() {
            return [self.load[c]; 2];
        }
        let signal = load_signal(contact.signal(), at.t, at.piece);
        let towards = |is_backward| contact.normal_towards(is_backward, &signal).0;
        if contact.law.n_states() == 0 { [towards(false), towards(true)] } else { [towards(is_backward); 2] }
    }

    /// One-way clutches with bristles: whether each ends the step on the side whose load it had; one that does not gets the other, once.
    ///
    /// Bent backward, with the greater load, and let go forward: with the smaller load it goes further forward. Bent forward and pushed
    /// back: the greater load may stop it short of the turn, and the step ends within rounding of the side it is given.
    fn sides_agree(&self, rt: &mut RealTime, at: At) -> bool {
        let mut agree = true;
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            if !contact.bends_two_ways() || rt.turned[c] {
                continue;
            }
            let is_backward = self.bristles_after(rt, c)[0] < 0.0;
            if is_backward != (self.state[c][0] < 0.0) {
                rt.turned[c] = true;
                rt.normal[c] = self.normal_loads(c, is_backward, at);
                agree = false;
            }
        }
        agree
    }

    /// States of contact c at the end of the step.
    fn bristles_after(&self, rt: &RealTime, c: usize) -> bristle_friction::State {
        let contact = &self.compiled.contacts[c];
        if contact.is_frozen(rt.normal[c][0], 0.0) {
            return self.state[c];
        }
        rt.grips[c].state_after(&contact.law, rt.balance.met[c].omega, self.state[c])
    }

    /// v₁ from the change of velocities.
    fn spread(&self, rt: &mut RealTime) {
        let RealTime { reduced, u, u_led, v1, .. } = rt;
        for (u, &k) in u.iter().zip(&reduced.independent) {
            v1[k] = self.v[k] + u;
        }
        for driven in &self.driven {
            v1[driven.v] = self.v[driven.v] + u_led[driven.v];
        }
        reduced.velocities(v1);
    }

    /// v₁ with the contacts as they are met; what is stuck exactly so.
    fn end_velocities(&self, rt: &mut RealTime, at: At) {
        self.spread(rt);
        let RealTime { reduced, balance, hold, u, u_led, v1, change, .. } = rt;
        hold.stick(|c| balance.met[c].is_held);
        hold.apply(v1);
        change.iter_mut().zip(&*v1).zip(&self.v).for_each(|((change, v1), v)| *change = v1 - v);
        if at.is_first {
            // so little that the difference of velocities would be rounding
            reduced.independent.iter().zip(&*u).for_each(|(&k, u)| change[k] = *u);
            self.driven.iter().for_each(|driven| change[driven.v] = u_led[driven.v]);
            reduced.velocities(change);
            hold.apply(change);
        }
        for (c, met) in balance.met.iter_mut().enumerate() {
            // at its limit, and held by others; or what a spring has yielded
            if self.compiled.contacts[c].is_event_driven() && (hold.is_held(c) || met.lambda * met.omega < 0.0) {
                met.omega = 0.0;
            }
        }
    }

    /// Loads that are reactions, from the accelerations of the step. Whether they are those it was made with. After the `last` solution, at
    /// that time, they stay what it was made with, and those that had not settled are noted.
    fn read_loads(&mut self, rt: &mut RealTime, h: f64, last: Option<f64>) -> Result<bool, Failure> {
        if self.pressed.is_empty() {
            return Ok(true);
        }
        let Self { compiled, work, q, v, a, pressed, unsettled, counters, .. } = self;
        a.iter_mut().zip(&rt.change).for_each(|(a, change)| *a = change / h);
        rnea(&compiled.model, work, q, v, a)?;
        let (mut is_settled, mut is_noted) = (true, false);
        for &c in &*pressed {
            let contact = &compiled.contacts[c];
            let Some(bearing) = contact.bearing else { continue };
            let n = bearing.press(&work.reaction(contact.joint)).0;
            let off = (n - rt.normal[c][0]).abs();
            // NaN is not settled
            is_settled &= off <= SETTLED * n;
            let Some(t) = last else {
                rt.normal[c] = [n; 2];
                continue;
            };
            if off > UNSETTLED * n.max(rt.normal[c][0]) {
                is_noted = true;
                let change = off / n.max(rt.normal[c][0]);
                match unsettled.iter_mut().find(|seen| seen.contact == c) {
                    Some(seen) => seen.largest = seen.largest.max(change),
                    None => unsettled.push(Unsettled { contact: c, t, largest: change }),
                }
            }
        }
        counters.n_unsettled += usize::from(is_noted);
        Ok(is_settled)
    }

    /// Accelerations, friction, loads and modes of the step.
    fn take_results(&mut self, rt: &RealTime, h: f64) {
        self.a.iter_mut().zip(&rt.change).for_each(|(a, change)| *a = change / h);
        self.changes.clear();
        let fastest = fastest(rt.v1.iter().map(|v| v.abs()).enumerate(), &rt.turns);
        for (c, met) in rt.balance.met.iter().enumerate() {
            self.friction[c] = met.lambda / h;
            let is_backward = met.omega < 0.0 || (met.omega == 0.0 && met.lambda < 0.0);
            self.load[c] = rt.normal[c][usize::from(is_backward)];
            // one without a load goes where rounding takes it
            let fastest = fastest[usize::from(rt.turns[self.compiled.contacts[c].v])];
            let is_loose = rt.normal[c] == [0.0; 2] && met.omega.abs() <= LOOSE * fastest;
            if self.compiled.contacts[c].is_event_driven() && !is_loose {
                let (from, to) = (self.mode[c], Mode::of_sign(met.omega));
                self.mode[c] = to;
                if from != to {
                    self.changes.push(ModeChange { contact: c, from, to });
                }
            }
        }
    }

    /// The end of the step: positions, states, integrals, the ledger.
    fn finish_step(&mut self, rt: &mut RealTime, h: f64, t1: f64, quad: &mut [f64]) -> Result<(), Failure> {
        self.carried_efforts(rt, h);
        // (2)
        let RealTime { reduced, v1, xi1, samples, .. } = &mut *rt;
        xi1.iter_mut().zip(&self.xi).zip(&*v1).for_each(|((xi1, xi), v1)| *xi1 = xi + h * v1);
        for driven in &self.driven {
            xi1[driven.v] = samples[driven.drive].value;
        }
        reduced.positions(xi1);
        self.float(rt, h)?;
        self.book(rt, h, t1, quad)?;
        let RealTime { xi1, samples, .. } = &*rt;
        let compiled = &self.compiled;
        let pids = compiled.drives.iter().zip(samples).filter(|(drive, _)| drive.has_integral());
        for (integral, (drive, signal)) in self.integral.iter_mut().zip(pids) {
            *integral += h * (signal.value - xi1[drive.v]);
        }
        for c in 0..self.mode.len() {
            if self.compiled.contacts[c].law.n_states() > 0 {
                self.state[c] = self.bristles_after(rt, c);
                self.backward[c] = self.state[c][0] < 0.0;
            }
        }
        for (pace, &k) in rt.pace.iter_mut().zip(&rt.reduced.independent) {
            *pace = rt.change[k] / h;
        }
        rt.balance.effort.iter_mut().zip(&rt.balance.met).for_each(|(effort, met)| *effort = met.lambda / h);
        self.take_results(rt, h);
        self.xi.copy_from_slice(&rt.xi1);
        self.v.copy_from_slice(&rt.v1);
        Ok(())
    }
}

//! A machine with friction: an ordinary differential equation whose unknowns change at events.
//!
//! ```text
//! M(q) a + c(q, v) = τ − d v − k (q − q_rest) − τ_f               (1)
//! ξ̇ = chart rate of v at ξ,   v̇ = a                               (2)
//! τ_f = r N(t) law(r v, s),   ṡ = rates of the law                (3)
//! İ = target − q                                                  (4)
//! ```
//!
//! **Unknowns** y = (ξ, v, s, I): positions and velocities of the joints that can move, bristle states s = σ₀ z and w of all
//! contacts, integrals of the controllers. ξ are the positions themselves, except for free joints, where they are chart
//! coordinates about `q_ref`; the chart moves along with the motion, at accepted steps.
//!
//! **Modes.** A stuck joint is locked: it leaves the unknowns, its velocity is 0.0 and its position keeps every bit. Its friction is
//! what equilibrium requires, τ_f = τ − (M a + c) at the accelerations of the others. A sliding joint follows the branch of its law
//! that belongs to its direction, also a little beyond v = 0. Modes are chosen at the start and at events, see `rest`.
//!
//! **Events**, one function per contact, positive while nothing happens:
//!
//! ```text
//! sliding   direction · v + ε                   falls through 0: the joint comes to rest
//! stuck     r N stiction − |τ_f|                falls through 0: it breaks away
//! bristle   heading · v + θ                     the kink of |v|, only under error control
//! ```
//!
//! None of them starts at zero. θ is the absolute tolerance: below it a kink does not matter, and a bristle that trembles about
//! zero velocity makes no events. ε is a thousandth of it: a joint that has just left rest has v = 0 on the right side, and round-off
//! in an interpolant does not call it back. A joint stuck exactly at its limit, or beyond it by rounding, has that much more to go.
//! Corners, jumps and extrema of signals are events in time.

use crate::compile::Compiled;
use crate::component::BristleState;
use crate::error::{Error, Result};
use crate::formulation::rest::{Rest, Touched};
use crate::modes::ModeError;
use crate::signal::{Piece, Sample, Signal};
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::linear::Matrix;
use bristle_integrate::{Direction, Fired, Restart, Slip, System, Trouble};
use bristle_multibody::{
    JointKind, Poses, Reaction, State, Work, aba_hybrid, chart_point, chart_rate, neutral, poses, reactions, rnea,
};
use nalgebra::DMatrix;

/// Rotation from the chart's centre at which the chart moves, rad: far from the 2π at which it ends, and seldom enough
/// that the evaluation lost with each move does not count.
const CHART_RADIUS: f64 = 0.5;

/// ε where steps are not error-controlled, rad/s or m/s.
const LEAST_VELOCITY: f64 = 1e-15;

/// What a snapshot of a machine holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Time, positions, velocities.
    pub mechanics: State,
    /// Bristles, one per contact.
    pub bristles: Vec<BristleState>,
    /// Integrals of the controllers, in order.
    pub integrals: Vec<f64>,
}

impl Snapshot {
    /// Everything at position 0, at rest, unloaded.
    pub fn rest(compiled: &Compiled) -> Self {
        Self {
            mechanics: State::rest(&compiled.model),
            bristles: vec![BristleState::default(); compiled.contacts.len()],
            integrals: vec![0.0; compiled.drives.iter().filter(|drive| drive.has_integral()).count()],
        }
    }
}

/// A contact that stuck, let go or turned round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModeChange {
    /// Which contact.
    pub contact: usize,
    /// Mode before.
    pub from: Mode,
    /// Mode after.
    pub to: Mode,
}

/// Turn of the moving joints in one step, rad, while a joint is held. The event locator looks at the break-away function four
/// times a step: a load that follows the sine of an angle, or of twice that angle, and peaks 0.1 % above the limit is above it for
/// 0.089 or 0.045 rad.
const TURN: f64 = 0.125;

/// What an evaluation met, for the error that follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    Mechanics(bristle_multibody::Error),
    Modes { joint: usize, source: ModeError },
}

/// Equations (1) to (4) of a compiled machine. See above.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) compiled: Compiled,
    pub(super) work: Work,
    /// Centre of the chart: 0 for one-degree joints; `n_q`.
    q_ref: Vec<f64>,
    /// First chart coordinates of the free joints.
    pub(super) free: Vec<usize>,
    /// Joint of each velocity; `n_v`.
    joint_of: Vec<usize>,

    /// Velocities that are unknowns, in order.
    pub(super) active: Vec<usize>,
    /// Joints that are stuck; `n_bodies`.
    pub(super) held: Vec<bool>,
    /// Of every contact; `Stuck` for those whose law has no modes.
    pub(super) mode: Vec<Mode>,
    /// What a stuck contact holds beyond its limit: rounding only.
    pub(super) slack: Vec<f64>,
    /// Direction of slip of a bristle since its last kink, ±1.
    heading: Vec<f64>,
    /// θ of the kinks' event functions; `None` where they are no events.
    kinks: Option<f64>,
    /// ε of joints that slide.
    pub(super) leaving: f64,
    /// Piece of the signals that holds, and the time at which the next begins.
    pub(super) piece: Piece,
    next_corner: Option<f64>,

    /// At the point of evaluation: chart coordinates, velocities, efforts, accelerations, `n_v` each; positions, `n_q`.
    pub(super) xi: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) tau: Vec<f64>,
    pub(super) a: Vec<f64>,
    pub(super) q: Vec<f64>,
    /// States, their rates, friction efforts and normal loads there; one per contact.
    pub(super) state: Vec<bristle_friction::State>,
    rate: Vec<bristle_friction::State>,
    pub(super) friction: Vec<f64>,
    load: Vec<f64>,
    /// Integrals there.
    pub(super) integral: Vec<f64>,

    pub(super) poses: Poses,
    reactions: Vec<Reaction>,
    pub(super) rest: Rest,
    /// Modes before the last switch, and what has changed in it.
    before: Vec<Mode>,
    changes: Vec<ModeChange>,
    /// ∂a/∂q, ∂a/∂v, ∂a/∂τ; made when first asked for.
    pub(super) derivatives: Option<Box<[DMatrix<f64>; 3]>>,
    failure: Option<Failure>,
}

impl Machine {
    /// The equations of `compiled`. `kinks` is the absolute tolerance if steps are error-controlled: kinks of bristle laws are
    /// events then.
    pub fn new(compiled: Compiled, kinks: Option<f64>) -> Self {
        let model = &compiled.model;
        let (n_v, n_contacts) = (model.n_v, compiled.contacts.len());
        let free = (1..model.n_bodies()).filter(|&i| model.kinds[i] == JointKind::Free);
        let mut machine = Self {
            work: Work::new(model),
            q_ref: neutral(model),
            free: free.map(|i| model.v_index[i]).collect(),
            joint_of: (0..n_v).map(|k| model.joint_of_velocity(k)).collect(),
            active: (0..n_v).collect(),
            held: vec![false; model.n_bodies()],
            mode: vec![Mode::Stuck; n_contacts],
            slack: vec![0.0; n_contacts],
            heading: vec![1.0; n_contacts],
            kinks,
            leaving: kinks.map_or(LEAST_VELOCITY, |tolerance| 1e-3 * tolerance),
            piece: Piece::After(0.0),
            next_corner: None,
            xi: vec![0.0; n_v],
            v: vec![0.0; n_v],
            tau: vec![0.0; n_v],
            a: vec![0.0; n_v],
            q: neutral(model),
            state: vec![[0.0; 2]; n_contacts],
            rate: vec![[0.0; 2]; n_contacts],
            friction: vec![0.0; n_contacts],
            load: vec![0.0; n_contacts],
            integral: vec![0.0; compiled.drives.iter().filter(|drive| drive.has_integral()).count()],
            poses: Poses::new(model),
            reactions: vec![Reaction::ZERO; model.n_bodies()],
            rest: Rest::new(n_contacts, n_v),
            before: vec![Mode::Stuck; n_contacts],
            changes: Vec::with_capacity(n_contacts),
            derivatives: None,
            failure: None,
            compiled,
        };
        machine.apply_wrenches();
        machine
    }

    /// The machine.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Reads efforts, dampers, springs and wrenches again from the world.
    pub fn read_actions(&mut self, world: &hecs::World) -> Result<()> {
        self.compiled.read_actions(world)?;
        self.apply_wrenches();
        Ok(())
    }

    /// Sets the effort a caller applies to velocity `k`.
    pub(crate) fn set_effort(&mut self, k: usize, effort: f64) {
        self.compiled.effort[k] = effort;
    }

    fn apply_wrenches(&mut self) {
        let outside = &mut self.work.outside;
        outside.clear_wrenches();
        for w in &self.compiled.wrenches {
            // the bodies are the model's own
            let applied = outside.set_wrench(&self.compiled.model, w.body, w.wrench);
            debug_assert!(applied.is_ok());
        }
    }

    /// Starts from a snapshot: chooses the modes and puts the unknowns into `y` (`max_dim`).
    pub fn begin(&mut self, from: &Snapshot, y: &mut [f64]) -> Result<()> {
        let model = &self.compiled.model;
        let State { t, q, v } = &from.mechanics;
        for i in 1..model.n_bodies() {
            let (q, xi) = (&q[model.q_range(i)], &mut self.xi[model.v_range(i)]);
            if let [q] = q {
                xi[0] = *q;
            } else {
                self.q_ref[model.q_range(i)].copy_from_slice(q);
                xi.fill(0.0);
            }
        }
        self.v.copy_from_slice(v);
        self.integral.copy_from_slice(&from.integrals);
        for (c, contact) in self.compiled.contacts.iter().enumerate() {
            let v = v[contact.v];
            self.state[c] = contact.law.state_of(from.bristles[c].z, from.bristles[c].w);
            self.heading[c] = if v < 0.0 { -1.0 } else { 1.0 };
            self.mode[c] = if contact.is_event_driven() { Mode::of_sign(v) } else { Mode::Stuck };
        }
        self.enter_piece(*t);
        self.rest.touched.fill(Touched::No);
        self.settle(*t).map_err(|failure| self.explain(*t, failure))?;
        self.gather(y);
        Ok(())
    }

    /// What acts from outside has changed at once, at (t, y): chooses the modes again. `y` has length `max_dim`.
    pub fn reconsider(&mut self, t: f64, y: &mut [f64]) -> Result<()> {
        self.scatter(y);
        self.rest.touched.fill(Touched::No);
        self.settle(t).map_err(|failure| self.explain(t, failure))?;
        self.gather(y);
        Ok(())
    }

    /// Takes the pieces of the signals that hold just after `t`.
    fn enter_piece(&mut self, t: f64) {
        self.piece = Piece::After(t);
        let drives = self.compiled.drives.iter().filter_map(|drive| drive.signal().next_corner(t));
        let loads = self.compiled.contacts.iter().filter_map(|c| c.signal()?.next_corner_clamped(t));
        self.next_corner = drives.chain(loads).reduce(f64::min);
    }

    /// Evaluates everything at (t, y), for results.
    pub fn look(&mut self, t: f64, y: &[f64]) -> Result<()> {
        self.scatter(y);
        let result = self.place().and_then(|()| {
            self.efforts(t);
            self.accelerate()?;
            self.hold()
        });
        // at the centre of the chart the configuration is the one it was put at, bit for bit
        let model = &self.compiled.model;
        for &k in &self.free {
            if self.xi[k..k + 6].iter().all(|&xi| xi == 0.0) {
                let range = model.q_range(self.joint_of[k]);
                self.q[range.clone()].copy_from_slice(&self.q_ref[range]);
            }
        }
        result.map_err(|source| Error::Mechanics { t, source })
    }

    /// Stores what was looked at last.
    pub fn store(&self, t: f64, into: &mut Snapshot) {
        into.mechanics.t = t;
        into.mechanics.q.copy_from_slice(&self.q);
        into.mechanics.v.copy_from_slice(&self.v);
        into.integrals.copy_from_slice(&self.integral);
        for ((bristle, contact), state) in into.bristles.iter_mut().zip(&self.compiled.contacts).zip(&self.state) {
            *bristle = BristleState { z: contact.law.deflection(*state), w: state[1] };
        }
    }

    /// Accelerations where it was looked at last; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        &self.a
    }

    /// Friction efforts there, one per contact, positive with positive slip.
    pub fn friction(&self) -> &[f64] {
        &self.friction
    }

    /// Normal loads there, one per contact.
    pub fn loads(&self) -> &[f64] {
        &self.load
    }

    /// Modes, one per contact.
    pub fn modes(&self) -> &[Mode] {
        &self.mode
    }

    /// Mode changes of the last event.
    pub fn changes(&self) -> &[ModeChange] {
        &self.changes
    }

    /// Link poses and joint reactions where it was looked at last.
    pub(crate) fn poses_and_reactions(&mut self, t: f64) -> Result<(&Compiled, &Poses, &[Reaction])> {
        let Self { compiled, work, poses: places, reactions: forces, q, v, a, .. } = self;
        reactions(&compiled.model, work, q, v, a, forces)
            .and_then(|()| poses(&compiled.model, work, places))
            .map_err(|source| Error::Mechanics { t, source })?;
        Ok((compiled, places, forces))
    }

    /// Unknown number `k` in words, and its joint.
    pub(crate) fn unknown(&self, k: usize) -> (&'static str, usize) {
        let n = self.active.len();
        if k < 2 * n {
            return (if k < n { "position" } else { "velocity" }, self.joint_of[self.active[k % n]]);
        }
        let states = self.compiled.contacts.iter().flat_map(|c| (0..c.law.n_states()).map(move |_| c.joint));
        let integrals = self.compiled.drives.iter().filter(|d| d.has_integral()).map(|d| d.joint);
        let mut joints = states.map(|j| ("bristle state", j)).chain(integrals.map(|j| ("integral", j)));
        joints.nth(k - 2 * n).unwrap_or(("unknown", 0))
    }

    /// The joint of event function `index`.
    pub(crate) fn joint_of_event(&self, index: usize) -> usize {
        self.contact_of_event(index).map_or(0, |c| self.compiled.contacts[c].joint)
    }

    /// What the last failed evaluation met.
    pub(crate) fn take_failure(&mut self, t: f64) -> Option<Error> {
        self.failure.take().map(|failure| self.explain(t, failure))
    }

    fn explain(&self, t: f64, failure: Failure) -> Error {
        match failure {
            Failure::Mechanics(source) => Error::Mechanics { t, source },
            Failure::Modes { joint, source } => {
                let joint = self.compiled.model.joint_names[joint].clone();
                Error::Modes { t, joint, reason: source.to_string() }
            }
        }
    }

    /// Unknowns to arrays; what is stuck keeps its place.
    pub(super) fn scatter(&mut self, y: &[f64]) {
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            self.xi[i] = y[k];
            self.v[i] = y[n + k];
        }
        let mut next = 2 * n;
        for (state, contact) in self.state.iter_mut().zip(&self.compiled.contacts) {
            for s in &mut state[..contact.law.n_states()] {
                *s = y[next];
                next += 1;
            }
        }
        let n_integrals = self.integral.len();
        self.integral.copy_from_slice(&y[next..next + n_integrals]);
    }

    /// Arrays to unknowns.
    fn gather(&self, y: &mut [f64]) {
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            y[k] = self.xi[i];
            y[n + k] = self.v[i];
        }
        let mut next = 2 * n;
        for (state, contact) in self.state.iter().zip(&self.compiled.contacts) {
            for s in &state[..contact.law.n_states()] {
                y[next] = *s;
                next += 1;
            }
        }
        y[next..next + self.integral.len()].copy_from_slice(&self.integral);
    }

    /// Which joints are stuck, and so which velocities are unknowns.
    pub(super) fn lock(&mut self) {
        self.held.fill(false);
        for (contact, mode) in self.compiled.contacts.iter().zip(&self.mode) {
            if contact.is_event_driven() && *mode == Mode::Stuck {
                self.held[contact.joint] = true;
                self.v[contact.v] = 0.0;
            }
        }
        self.active.clear();
        self.active.extend((0..self.v.len()).filter(|&k| !self.held[self.joint_of[k]]));
    }

    /// Positions from chart coordinates.
    pub(super) fn place(&mut self) -> std::result::Result<(), bristle_multibody::Error> {
        chart_point(&self.compiled.model, &self.q_ref, &self.xi, &mut self.q)
    }

    /// Right-hand side of (1) without the friction of stuck joints; (3) for all others.
    pub(super) fn efforts(&mut self, t: f64) {
        let Self { compiled, tau, q, v, piece, .. } = self;
        tau.copy_from_slice(&compiled.effort);
        let mut integrals = self.integral.iter();
        for drive in &compiled.drives {
            let integral = if drive.has_integral() { integrals.next().copied() } else { None };
            let signal = drive.signal().sample(t, *piece);
            tau[drive.v] += drive.effort(&signal, q[drive.q], v[drive.v], integral.unwrap_or(0.0));
        }
        for d in &compiled.dampers {
            tau[d.v] -= d.damping * v[d.v];
        }
        for s in &compiled.springs {
            tau[s.v] -= s.stiffness * (q[s.q] - s.rest);
        }
        for (c, contact) in compiled.contacts.iter().enumerate() {
            let slip = contact.arm * v[contact.v];
            let per_load = match contact.law.event_driven() {
                Some(law) => law.sliding(self.mode[c], slip).0,
                None => {
                    let now = contact.law.evaluate(slip, self.state[c]);
                    self.rate[c] = now.rate;
                    now.effort
                }
            };
            let (n, _) = contact.normal(&load_signal(contact.signal(), t, *piece));
            self.load[c] = n;
            self.friction[c] = contact.arm * n * per_load;
            tau[contact.v] -= self.friction[c];
        }
    }

    /// (1) for the joints that can move; 0 for those that are stuck.
    fn accelerate(&mut self) -> std::result::Result<(), bristle_multibody::Error> {
        let Self { compiled, work, q, v, tau, held, a, .. } = self;
        aba_hybrid(&compiled.model, work, q, v, tau, held).map(|found| a.copy_from_slice(found))
    }

    /// Friction of the stuck joints: what equilibrium requires.
    fn hold(&mut self) -> std::result::Result<(), bristle_multibody::Error> {
        let Self { compiled, work, q, v, tau, held, a, friction, .. } = self;
        if held.contains(&true) {
            let required = rnea(&compiled.model, work, q, v, a)?;
            for (contact, friction) in compiled.contacts.iter().zip(friction) {
                if held[contact.joint] {
                    *friction = tau[contact.v] - required[contact.v];
                }
            }
        }
        Ok(())
    }

    /// What a stuck contact can hold, by the load found last.
    pub(super) fn limit(&self, c: usize) -> f64 {
        let contact = &self.compiled.contacts[c];
        let level = contact.law.event_driven().map_or(0.0, |law| law.stiction_level());
        contact.arm * self.load[c] * level
    }

    /// The event functions of stuck contacts start off zero, whatever rounding says.
    pub(super) fn set_slack(&mut self, t: f64) -> std::result::Result<(), bristle_multibody::Error> {
        self.slack.fill(0.0);
        if self.held.contains(&true) {
            self.place()?;
            self.efforts(t);
            self.accelerate()?;
            self.hold()?;
            for c in 0..self.slack.len() {
                let (limit, required) = (self.limit(c), self.friction[c].abs());
                self.slack[c] = (required - limit).max(0.0) + 4.0 * f64::EPSILON * required.max(limit);
            }
        }
        Ok(())
    }

    /// The contact of an event function: all with modes, and those with kinks if they are events.
    fn contact_of_event(&self, index: usize) -> Option<usize> {
        (0..self.mode.len()).filter(|&c| self.has_event(c)).nth(index)
    }

    fn has_event(&self, c: usize) -> bool {
        let contact = &self.compiled.contacts[c];
        contact.is_event_driven() || (self.kinks.is_some() && contact.law.n_states() > 0)
    }

    /// Keeps what went wrong. A state that is not finite may come from too large a step; the rest will not go away.
    pub(super) fn trouble(&mut self, error: bristle_multibody::Error) -> Trouble {
        let may_go_away = matches!(error, bristle_multibody::Error::NonFinite { .. });
        self.failure = Some(Failure::Mechanics(error));
        if may_go_away { Trouble::Retry } else { Trouble::Fatal { code: 0 } }
    }
}

/// A load's signal, clamped; at rest where there is none.
pub(super) fn load_signal(signal: Option<&Signal>, t: f64, piece: Piece) -> Sample {
    signal.map_or(Sample::default(), |signal| signal.sample_clamped(t, piece))
}

impl System for Machine {
    fn dim(&self) -> usize {
        self.max_dim() - 2 * (self.v.len() - self.active.len())
    }

    fn max_dim(&self) -> usize {
        let n_states: usize = self.compiled.contacts.iter().map(|contact| contact.law.n_states()).sum();
        2 * self.v.len() + n_states + self.integral.len()
    }

    fn second_order(&self) -> usize {
        // in the chart of a free joint ξ̇ is not v
        if self.free.is_empty() { self.active.len() } else { 0 }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> std::result::Result<(), Trouble> {
        self.scatter(y);
        self.place().map_err(|e| self.trouble(e))?;
        self.efforts(t);
        self.accelerate().map_err(|e| self.trouble(e))?;

        // (2); ξ̇ into τ, which has done its work
        chart_rate(&self.compiled.model, &self.xi, &self.v, &mut self.tau).map_err(|e| self.trouble(e))?;
        let n = self.active.len();
        for (k, &i) in self.active.iter().enumerate() {
            dy[k] = self.tau[i];
            dy[n + k] = self.a[i];
        }
        // (3)
        let mut next = 2 * n;
        for (rate, contact) in self.rate.iter().zip(&self.compiled.contacts) {
            for rate in &rate[..contact.law.n_states()] {
                dy[next] = *rate;
                next += 1;
            }
        }
        // (4)
        for drive in self.compiled.drives.iter().filter(|drive| drive.has_integral()) {
            dy[next] = drive.signal().sample(t, self.piece).value - self.q[drive.q];
            next += 1;
        }
        Ok(())
    }

    fn jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> std::result::Result<bool, Trouble> {
        self.fill_jacobian(t, y, jac)
    }

    fn n_quadratures(&self) -> usize {
        2 + self.compiled.heated.len()
    }

    fn quadratures(&mut self, t: f64, y: &[f64], _dy: &[f64], rate: &mut [f64]) -> std::result::Result<(), Trouble> {
        self.fill_ledger(t, y, rate)
    }

    fn n_events(&self) -> usize {
        (0..self.mode.len()).filter(|&c| self.has_event(c)).count()
    }

    fn events(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> std::result::Result<(), Trouble> {
        self.scatter(y);
        if self.held.contains(&true) {
            self.place().map_err(|e| self.trouble(e))?;
            self.efforts(t);
            self.accelerate().and_then(|()| self.hold()).map_err(|e| self.trouble(e))?;
        }
        let mut g = g.iter_mut();
        for c in 0..self.mode.len() {
            let contact = &self.compiled.contacts[c];
            let v = self.v[contact.v];
            let value = match (self.mode[c], contact.is_event_driven()) {
                (Mode::Stuck, true) => self.limit(c) + self.slack[c] - self.friction[c].abs(),
                (sliding, true) => sliding.direction() * v + self.leaving,
                (_, false) => match self.kinks {
                    Some(theta) if contact.law.n_states() > 0 => self.heading[c] * v + theta,
                    _ => continue,
                },
            };
            if let Some(g) = g.next() {
                *g = value;
            }
        }
        Ok(())
    }

    fn direction(&self, _index: usize) -> Direction {
        Direction::Falling
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        self.next_corner.filter(|&corner| corner > t)
    }

    fn longest_step(&self, _t: f64, y: &[f64]) -> f64 {
        if !self.held.contains(&true) {
            return f64::INFINITY;
        }
        // what the joints that turn will have turned in a step h: |v| h + ½ |a| h² = TURN, all of them together
        let n = self.active.len();
        let (mut speed, mut growth) = (0.0, 0.0);
        for (k, &i) in self.active.iter().enumerate() {
            if self.compiled.model.turns(i) {
                speed += y[n + k].abs();
                growth += self.a[i].abs();
            }
        }
        2.0 * TURN / (speed + (speed * speed + 2.0 * growth * TURN).sqrt())
    }

    fn switch(
        &mut self,
        t: f64,
        y: &mut [f64],
        quad: &mut [f64],
        fired: &[Fired],
    ) -> std::result::Result<Restart, Trouble> {
        self.scatter(y);
        self.changes.clear();
        self.rest.touched.fill(Touched::No);
        let (mut is_fresh, mut is_touched) = (false, false);
        for fired in fired {
            match *fired {
                Fired::Time => {
                    let before = self.piece;
                    self.enter_piece(t);
                    // an extremum changes nothing; a corner or a jump does
                    is_fresh |= !self.is_smooth(t, before);
                    quad[1] += self.load_jump(t, before);
                }
                Fired::Root { index, .. } => {
                    let Some(c) = self.contact_of_event(index) else { continue };
                    is_fresh = true;
                    if self.compiled.contacts[c].is_event_driven() {
                        is_touched = true;
                        self.rest.touched[c] =
                            if self.mode[c] == Mode::Stuck { Touched::BreaksAway } else { Touched::ComesToRest };
                    } else {
                        self.heading[c] = -self.heading[c];
                    }
                }
            }
        }
        if !is_fresh {
            return Ok(Restart::unchanged(self.dim()));
        }
        if is_touched || fired.contains(&Fired::Time) {
            self.before.copy_from_slice(&self.mode);
            if let Err(failure) = self.settle(t) {
                self.failure = Some(failure);
                return Err(Trouble::Fatal { code: 0 });
            }
            for (contact, (&from, &to)) in self.before.iter().zip(&self.mode).enumerate() {
                if from != to {
                    self.changes.push(ModeChange { contact, from, to });
                }
            }
            self.gather(y);
        }
        Ok(Restart::fresh(self.dim()))
    }

    fn accepted(&mut self, _t: f64, y: &mut [f64]) -> std::result::Result<bool, Trouble> {
        if self.free.is_empty() {
            return Ok(false);
        }
        let mut moved = false;
        self.scatter(y);
        let model = &self.compiled.model;
        for &k in &self.free {
            let [tx, ty, tz] = [self.xi[k], self.xi[k + 1], self.xi[k + 2]];
            if tx * tx + ty * ty + tz * tz > CHART_RADIUS * CHART_RADIUS {
                if !moved {
                    chart_point(model, &self.q_ref, &self.xi, &mut self.q).map_err(|_| Trouble::Retry)?;
                }
                moved = true;
                let range = model.q_range(self.joint_of[k]);
                self.q_ref[range.clone()].copy_from_slice(&self.q[range]);
                self.xi[k..k + 6].fill(0.0);
            }
        }
        if moved {
            self.gather(y);
        }
        Ok(moved)
    }

    fn n_slips(&self) -> usize {
        self.compiled.contacts.len()
    }

    fn slips(&mut self, _t: f64, y: &[f64], slips: &mut [Slip]) {
        self.scatter(y);
        for (slip, contact) in slips.iter_mut().zip(&self.compiled.contacts) {
            let (v, law) = (contact.arm * self.v[contact.v], &contact.law);
            let v_s = law.stribeck_velocity();
            *slip = Slip {
                speed: v_s.map_or(f64::INFINITY, |v_s| v.abs() / v_s),
                rate: match v_s {
                    Some(v_s) if law.n_states() > 0 => law.sigma0() * v_s / law.coulomb_level(),
                    _ => f64::INFINITY,
                },
                time_constant: law.time_constant(v),
            };
        }
    }
}

impl Machine {
    /// Whether no signal has a corner at `t`, `before` being the piece up to it.
    fn is_smooth(&self, t: f64, before: Piece) -> bool {
        let after = self.piece;
        let drives = self.compiled.drives.iter().map(|drive| drive.signal());
        let mut signals = drives.chain(self.compiled.contacts.iter().filter_map(|contact| contact.signal()));
        // a clamped signal has corners where it meets 0 and 1, by whichever side it comes
        signals.all(|s| s.sample(t, before) == s.sample(t, after))
            && self.compiled.contacts.iter().filter_map(|contact| contact.signal()).all(|s| {
                let value = s.sample(t, after).value;
                (1e-9..=1.0 - 1e-9).contains(&value) || s.derivative(t) == 0.0
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Describe, free, prismatic, revolute};
    use crate::compile::{compile, read_bristles, read_state};
    use crate::component::{Drive, ExternalWrench, Load};
    use bristle_friction::{Coulomb, LuGre, LuGre2};
    use bristle_multibody::LinkInertia;
    use hecs::World;

    const LUGRE: LuGre = LuGre {
        sigma0: 50.0,
        sigma1: 0.3,
        sigma2: 0.4,
        coulomb: 1.0,
        stiction: 1.5,
        stribeck_velocity: Some(0.5),
        exponent: 2.0,
        damping_velocity: None,
    };

    /// Four joints with springs, dampers, drives, a wrench and friction of all kinds; the last one is stuck.
    fn arm(is_floating: bool) -> World {
        let mut world = World::new();
        let links: Vec<_> = (0..4)
            .map(|k| {
                let inertia = LinkInertia::diagonal(1.0 + k as f64, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06);
                world.spawn_link(&format!("link {k}"), inertia)
            })
            .collect();
        let root = if is_floating {
            free("a")
        } else {
            revolute("a", [0.3, 1.0, 0.1])
                .position(0.4)
                .velocity(1.0)
                .friction(LuGre2 { lugre: LUGRE, alpha: 3.0, beta: 1.0 }.into())
        };
        world.spawn_joint(root.to(links[0]));
        let slide = prismatic("b", [1.0, 0.5, 0.0]).from(links[0]).to(links[1]).at([0.2, 0.0, 0.1]);
        let slide = slide.position(0.1).velocity(-0.7).spring(30.0, 0.02).damping(2.0);
        let load = Load::Signal { max: 3.0, signal: Signal::Ramp { rate: 0.5, start: 0.0 }, geometry: 1.0 };
        let pid = Drive::Pid { kp: 3.0, ki: 4.0, kd: 6.0, target: Signal::Constant(1.0) };
        world.spawn_joint(slide.friction(LUGRE.into()).load(load).drive(pid));
        let hinge = revolute("c", [0.0, 0.2, 1.0]).from(links[1]).to(links[2]).at([0.0, 0.3, 0.0]);
        let drive = Drive::Effort(Signal::Sine { amplitude: 2.0, frequency: 3.0, phase: 0.0, offset: 1.0 });
        let dry = Coulomb { coulomb: 0.4, stiction: 0.6, viscous: 0.1 };
        world.spawn_joint(hinge.velocity(0.9).damping(0.3).drive(drive).friction(dry.into()));
        let stuck = revolute("d", [1.0, 0.0, 1.0]).from(links[2]).to(links[3]).at([0.0, 0.3, 0.0]).position(0.3);
        let strong = Coulomb { coulomb: 400.0, stiction: 400.0, viscous: 0.1 };
        world.spawn_joint(
            stuck.friction(strong.into()).drive(Drive::Pull { stiffness: 5.0, target: Signal::default() }),
        );
        let wrench = ExternalWrench { moment: [0.1, 0.2, 0.3].into(), force: [1.0, -2.0, 0.5].into() };
        world.insert_one(links[2], wrench).unwrap();
        world
    }

    fn begun(world: &World) -> (Machine, Snapshot, Vec<f64>) {
        let mut system = Machine::new(compile(world).unwrap(), None);
        let mut at = Snapshot::rest(&system.compiled);
        read_state(world, &system.compiled, &mut at.mechanics).unwrap();
        let v = at.mechanics.v.clone();
        read_bristles(world, &system.compiled, &v, &mut at.bristles).unwrap();
        let mut y = vec![0.0; system.max_dim()];
        system.begin(&at, &mut y).unwrap();
        y.truncate(system.dim());
        (system, at, y)
    }

    #[test]
    fn jacobian_agrees_with_differences() {
        let (mut system, _, mut y) = begun(&arm(false));
        // three joints that move, bristles s, w and s, one integral
        assert_eq!(y.len(), 2 * 3 + 3 + 1);
        // bristles off their steady state
        (y[6], y[7], y[8], y[9]) = (0.8, 0.3, -0.5, 0.2);
        assert_differences(&mut system, &mut y);
    }

    fn assert_differences(system: &mut Machine, y: &mut [f64]) {
        let n = y.len();
        let mut jac = Matrix::new(n);
        jac.resize(n);
        assert!(system.jacobian(0.3, y, &mut jac).unwrap());
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            let (y_j, h) = (y[j], 1e-6);
            y[j] = y_j + h;
            system.rhs(0.3, y, &mut up).unwrap();
            y[j] = y_j - h;
            system.rhs(0.3, y, &mut down).unwrap();
            y[j] = y_j;
            for i in 0..n {
                let difference = (up[i] - down[i]) / (2.0 * h);
                // central differences: h² and eps/h, times entries up to some hundreds
                assert!((jac[(i, j)] - difference).abs() < 1e-6, "({i}, {j}): {} {difference}", jac[(i, j)]);
            }
        }
    }

    #[test]
    fn jacobian_with_stuck_joints_in_between() {
        let mut world = World::new();
        let mut parent = None;
        for k in 0..6 {
            let inertia = LinkInertia::diagonal(1.0 + k as f64, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06);
            let link = world.spawn_link(&format!("link {k}"), inertia);
            let axis = [0.3, 1.0 - 0.3 * k as f64, 0.2 * k as f64];
            let name = format!("joint {k}");
            let joint = if k == 2 || k == 3 { prismatic(&name, axis) } else { revolute(&name, axis) };
            let mut joint = joint.to(link).at([0.1, 0.2, 0.3]).position(0.1 * k as f64).armature(0.05);
            joint = if k % 2 == 1 {
                joint.friction(Coulomb { coulomb: 1e4, stiction: 1e4, viscous: 0.0 }.into())
            } else {
                joint
                    .velocity(1.0 - 0.5 * k as f64)
                    .friction(Coulomb { coulomb: 0.5, stiction: 0.5, viscous: 0.2 }.into())
            };
            if let Some(parent) = parent {
                joint = joint.from(parent);
            }
            world.spawn_joint(joint);
            parent = Some(link);
        }
        let (mut system, _, mut y) = begun(&world);
        assert_eq!(system.held, [false, false, true, false, true, false, true]);
        assert_differences(&mut system, &mut y);
    }

    #[test]
    fn ledger_rates_are_those_of_the_stored_energy() {
        // along the motion: d(stored)/dt = work in + load work − heat, by differences along a short exact step
        for is_floating in [false, true] {
            let (mut system, mut at, y) = begun(&arm(is_floating));
            let (n, t) = (y.len(), 0.3);
            let mut dy = vec![0.0; n];
            let mut rate = vec![0.0; system.n_quadratures()];
            system.rhs(t, &y, &mut dy).unwrap();
            system.quadratures(t, &y, &dy, &mut rate).unwrap();
            let mut stored = |h: f64| {
                let moved: Vec<f64> = y.iter().zip(&dy).map(|(y, dy)| y + h * dy).collect();
                system.look(t + h, &moved).unwrap();
                system.store(t + h, &mut at);
                system.energies(&at).unwrap().stored()
            };
            let power = (stored(1e-5) - stored(-1e-5)) / 2e-5;
            let booked = rate[0] + rate[1] - rate[2..].iter().sum::<f64>();
            assert!(rate[1] > 0.0, "a growing load feeds the bristles");
            assert_eq!(rate.len(), if is_floating { 5 } else { 6 });
            assert_eq!(rate[rate.len() - 1], 0.0, "what is stuck makes no heat");
            assert!((power - booked).abs() < 1e-6 * booked.abs().max(1.0), "{power} {booked}");
        }
    }

    #[test]
    fn friction_of_a_stuck_joint_is_what_keeps_it_there() {
        // inverse dynamics at the accelerations found: efforts less friction are what the motion needs
        let (mut system, _, y) = begun(&arm(false));
        system.look(0.3, &y).unwrap();
        let Machine { compiled, work, q, v, a, tau, friction, .. } = &mut system;
        let required = rnea(&compiled.model, work, q, v, a).unwrap();
        assert_eq!((v[3], a[3], q[3]), (0.0, 0.0, 0.3));
        assert!(friction[3].abs() > 1.0);
        for (k, &required) in required.iter().enumerate() {
            let effort = tau[k] - if k == 3 { friction[3] } else { 0.0 };
            assert!((effort - required).abs() < 1e-12 * required.abs().max(1.0), "{k}: {effort} {required}");
        }
    }

    #[test]
    fn moving_the_chart_leaves_the_configuration() {
        let (mut system, mut at, mut y) = begun(&arm(true));
        y[..6].copy_from_slice(&[0.5, -0.4, 0.3, 1.0, 2.0, 3.0]);
        system.look(0.0, &y).unwrap();
        system.store(0.0, &mut at);
        let (before, energies) = (at.clone(), system.energies(&at).unwrap());
        assert!(system.accepted(0.0, &mut y).unwrap());
        assert_eq!(y[..6], [0.0; 6]);
        system.look(0.0, &y).unwrap();
        system.store(0.0, &mut at);
        assert_eq!(before, at);
        assert_eq!(energies, system.energies(&at).unwrap());
        // near its centre it stays
        y[0] = 0.1;
        assert!(!system.accepted(0.0, &mut y).unwrap());
    }

    #[test]
    fn singular_machines_and_bad_numbers_are_told_apart() {
        let mut world = World::new();
        let ghost = world.spawn_link("ghost", LinkInertia::point(0.0, [0.0; 3].into()));
        world.spawn_joint(revolute("loose", [0.0, 0.0, 1.0]).to(ghost));
        let (mut system, _, y) = begun(&world);
        assert_eq!(system.rhs(0.0, &y, &mut [0.0; 2]), Err(Trouble::Fatal { code: 0 }));
        assert!(system.take_failure(0.0).unwrap().to_string().contains("`loose`"));

        let (mut system, _, mut y) = begun(&arm(false));
        y[4] = f64::NAN;
        assert_eq!(system.rhs(0.0, &y, &mut [0.0; 10]), Err(Trouble::Retry));
    }
}

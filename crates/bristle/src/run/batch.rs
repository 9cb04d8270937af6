//! Many copies of one machine, stepped together over threads.
//!
//! Copies share nothing while they are stepped, so the result does not depend on the number of threads or on the
//! distribution of copies: the same bits for one thread and for sixteen. A batch has no world: states and results are
//! arrays, laid out by coordinate. With n copies, entry `k · n + i` belongs to copy i:
//!
//! | array | k | |
//! |---|---|---|
//! | [`Batch::positions`] | coordinate, as in [`Simulation::position_names`] | read |
//! | [`Batch::velocities`], [`Batch::accelerations`] | velocity, as in [`Simulation::velocity_names`] | read |
//! | [`Batch::friction_efforts`], [`Batch::loads`] | contact, as in [`Simulation::contact_names`] | read |
//! | [`Batch::modes`], [`Batch::bristles`] | the same | read |
//! | [`Batch::poses`], [`Batch::link_velocities`] | link, as in [`Simulation::link_names`] | read |
//! | [`Batch::reactions`] | joint, as in [`Simulation::reaction_names`] | read |
//! | [`Batch::efforts_mut`] | velocity; 0 on free joints, which take wrenches | acts from the next step on |
//! | [`Batch::targets_mut`] | drive, as in [`Batch::drive_names`] | acts from the next step on |
//! | [`Batch::wrenches_mut`] | link, as in [`Simulation::link_names`] | acts from the next step on |
//!
//! Friction laws, loads, drives and states are set copy by copy, and a refused call changes nothing;
//! [`Batch::snapshot`] and [`Batch::restore`] exchange bytes with [`Simulation::snapshot`]. [`Batch::rollout`] takes
//! many steps in one call: a copy's memory stays in the cache of its core, which matters where copies are small and
//! many.
//!
//! With `RealTime`, copies of a tree of revolute and prismatic joints without couplings, reaction loads, stops,
//! wrenches and prescribed motions step four at a time, one in each lane of a pack: see [`crate::real_time`]. Lanes do
//! not mix, so that a copy has the same bits in any company of two or more. Beside a [`Simulation`], whose bits a batch
//! of one copy has, it agrees to rounding where all friction is dry; with other laws to the accuracy of the coarse
//! solution at which the bias is evaluated, 1e-4 of the change of velocity in a step.

mod inputs;
mod packs;
mod query;
mod snapshot;

use super::inputs::effort_range;
use super::links::LinkVelocity;
use super::simulation::{Ledger, Simulation};
use super::{Run, check_dt};
use crate::error::{Error, Result};
use crate::memory;
use crate::parallel::*;
use crate::stop;
use crate::world::component::BristleState;
use bristle_friction::Mode;
use bristle_multibody::{Model, Placement, Reaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest number of copies.
const MAX_COPIES: usize = 10_000_000;

/// Largest number of threads.
pub const MAX_THREADS: usize = 1024;

/// Copies of a machine in motion. See the [module](self).
pub struct Batch {
    copies: Vec<Copy>,
    pool: Option<ThreadPool>,
    /// The request to end a rollout.
    stop: Option<Arc<AtomicBool>>,
    /// Room for copies in lanes, where packs cover the machine.
    packs: Vec<packs::Pack>,
    /// Of the machine, as in snapshots.
    fingerprint: u64,
    n_q: usize,
    n_v: usize,
    n_contacts: usize,
    position: Vec<f64>,
    velocity: Vec<f64>,
    acceleration: Vec<f64>,
    friction: Vec<f64>,
    /// Filled on request.
    load: Vec<f64>,
    mode: Vec<Mode>,
    bristle: Vec<BristleState>,
    pose: Vec<Placement>,
    link_velocity: Vec<LinkVelocity>,
    reaction: Vec<Reaction>,
    /// Inputs as the caller set them and as applied to the copies. Targets and wrenches are empty until first
    /// requested.
    effort: Acting<f64>,
    target: Acting<Option<f64>>,
    wrench: Acting<[f64; 6]>,
}

/// Inputs as set by the caller, and as applied.
#[derive(Default)]
struct Acting<T> {
    wanted: Vec<T>,
    applied: Vec<T>,
}

impl<T: Clone + PartialEq> Acting<T> {
    fn new(values: Vec<T>) -> Self {
        Self { applied: values.clone(), wanted: values }
    }

    /// Whether something is wanted that does not act yet.
    fn has_changed(&self) -> bool {
        self.wanted != self.applied
    }

    /// Calls `apply` with the number of each entry that has changed, and its value; it returns whether the value was
    /// accepted.
    fn apply(&mut self, mut apply: impl FnMut(usize, &T) -> bool) {
        for (k, (wanted, applied)) in self.wanted.iter().zip(&mut self.applied).enumerate() {
            if wanted != applied && apply(k, wanted) {
                applied.clone_from(wanted);
            }
        }
    }

    /// Sets entry `k` in both lists.
    fn put(&mut self, k: usize, value: T) {
        for list in [&mut self.wanted, &mut self.applied] {
            if let Some(place) = list.get_mut(k) {
                place.clone_from(&value);
            }
        }
    }
}

/// One copy.
struct Copy {
    run: Run,
    failure: Option<Error>,
    /// The refusal of a number in the arrays of the batch.
    refused: Option<Error>,
}

/// Trajectories of a batch, copy after copy: entry `(i · steps + s) · n_q + k` is coordinate k of copy i after step s.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollout {
    /// Positions; n × steps × `n_q`. NaN after the failure of a copy.
    pub position: Vec<f64>,
    /// Velocities; n × steps × `n_v`.
    pub velocity: Vec<f64>,
}

impl Batch {
    /// `n` copies of a simulation at its present state, on as many threads as there are cores.
    pub fn new(sim: &mut Simulation, n: usize) -> Result<Self> {
        // a copy takes some kilobytes
        if n > MAX_COPIES {
            return Err(Error::number("batch", "number of copies", n as f64, "at most 10 million"));
        }
        let (fingerprint, run) = sim.settled()?;
        memory::check(format!("{n} copies of the machine"), run.bytes().saturating_mul(n as u64))?;
        let compiled = run.compiled();
        let (n_q, n_v, n_contacts) =
            (compiled.model.tree.n_q, compiled.model.tree.n_v, compiled.inputs.frictions().len());
        let effort = compiled.inputs.effort.iter().flat_map(|&tau| std::iter::repeat_n(tau, n)).collect();
        let n_packs = if n > 1 && packs::covers(run) { n.div_ceil(packs::LANES) } else { 0 };
        let mut batch = Self {
            packs: (0..n_packs).map(|_| packs::Pack::default()).collect(),
            copies: (0..n).map(|_| Copy { run: run.clone(), failure: None, refused: None }).collect(),
            pool: None,
            stop: None,
            fingerprint,
            n_q,
            n_v,
            n_contacts,
            position: vec![0.0; n * n_q],
            velocity: vec![0.0; n * n_v],
            acceleration: vec![0.0; n * n_v],
            friction: vec![0.0; n * n_contacts],
            load: Vec::new(),
            mode: Vec::new(),
            bristle: Vec::new(),
            pose: Vec::new(),
            link_velocity: Vec::new(),
            reaction: Vec::new(),
            effort: Acting::new(effort),
            target: Acting::default(),
            wrench: Acting::default(),
        };
        (0..n).for_each(|i| batch.gather(i));
        Ok(batch)
    }

    /// Internal steps that a copy may take in one step, as in [`Settings::max_steps`](crate::Settings::max_steps); more
    /// are an error. The simulation's number at first.
    pub fn set_max_steps(&mut self, steps: usize) {
        self.copies.iter_mut().for_each(|copy| copy.run.max_steps = steps);
    }

    /// The batch on its own pool of `threads` threads, from 1 to [`MAX_THREADS`].
    pub fn with_threads(mut self, threads: usize) -> Result<Self> {
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(Error::number("batch", "number of threads", threads as f64, "from 1 to 1024"));
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Io { path: "threads".into(), source: std::io::Error::other(error) })?;
        self.pool = Some(pool);
        Ok(self)
    }

    /// A flag that ends a rollout when another thread sets it: copies fail with
    /// [`Error::Stopped`] and stay at the state that they reached.
    pub fn set_stop(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    /// Number of copies.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there are no copies.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Time of a copy, s.
    pub fn time(&self, copy: usize) -> Result<f64> {
        let t = self.at(copy)?.run.t();
        let in_lane = self.packs.get(copy / packs::LANES).and_then(|pack| pack.time(copy % packs::LANES));
        Ok(in_lane.unwrap_or(t))
    }

    /// The present energy ledger of a copy.
    pub fn energy(&mut self, copy: usize) -> Result<Ledger> {
        self.at_mut(copy)?.run.energy()
    }

    /// Positions; `n_q` × n.
    pub fn positions(&self) -> &[f64] {
        &self.position
    }

    /// Velocities; `n_v` × n.
    pub fn velocities(&self) -> &[f64] {
        &self.velocity
    }

    /// Accelerations; `n_v` × n.
    pub fn accelerations(&self) -> &[f64] {
        &self.acceleration
    }

    /// Friction efforts, one per joint or coupling with friction; × n.
    pub fn friction_efforts(&self) -> &[f64] {
        &self.friction
    }

    /// Normal loads, one per joint or coupling with friction; × n. Gathered when asked for.
    pub fn loads(&mut self) -> &[f64] {
        self.unload();
        gather_contacts(&self.copies, &mut self.load, self.n_contacts, |copy| copy.run.system.dynamics.loads());
        &self.load
    }

    /// Modes, `Stuck` where a law has none; × n. Gathered when asked for.
    pub fn modes(&mut self) -> &[Mode] {
        self.unload();
        gather_contacts(&self.copies, &mut self.mode, self.n_contacts, |copy| copy.run.system.dynamics.modes());
        &self.mode
    }

    /// Bristle states, 0 where a law has none; × n. Gathered when asked for.
    pub fn bristles(&mut self) -> &[BristleState] {
        self.unload();
        gather_contacts(&self.copies, &mut self.bristle, self.n_contacts, |copy| &copy.run.state.bristles);
        &self.bristle
    }

    /// Advances every copy by exactly `dt`. Where copies fail, or an input in the arrays is refused, the first failure
    /// is the error. All other copies have advanced, and the failed ones stay at the state that they reached; see
    /// [`Batch::failures`].
    pub fn step(&mut self, dt: f64) -> Result<()> {
        check_dt(dt)?;
        self.apply_inputs()?;
        if self.packs.is_empty() {
            let copies = &mut self.copies;
            let step = || copies.par_iter_mut().for_each(|copy| copy.failure = copy.step(dt).err());
            on(self.pool.as_ref(), step);
        } else {
            self.run_packs(dt, 1, &[], Vec::new());
        }
        self.finish()
    }

    /// Advances every copy by `steps` times `dt`, and stores their states after each step: the same bits as `steps`
    /// calls of [`Batch::step`]. `efforts` are those of each step, copy after copy like the [`Rollout`], n × steps ×
    /// `n_v`; if empty, the present efforts stay.
    pub fn rollout(&mut self, dt: f64, steps: usize, efforts: &[f64], into: &mut Rollout) -> Result<()> {
        check_dt(dt)?;
        let (n_q, n_v, n) = (self.n_q, self.n_v, self.len());
        let fits =
            |per: usize| n.checked_mul(steps).and_then(|m| m.checked_mul(per)).filter(|m| *m < isize::MAX as usize / 8);
        let range = "fewer: their states do not fit into memory";
        let too_many = || Error::number("batch", "number of steps", steps as f64, range);
        let (Some(qs), Some(vs)) = (fits(n_q), fits(n_v)) else { return Err(too_many()) };
        if !efforts.is_empty() && efforts.len() != vs {
            let range = "copies × steps × velocities, or none";
            return Err(Error::number("batch", "number of efforts", efforts.len() as f64, range));
        }
        if let Some(copy) = self.copies.first() {
            refuse_efforts(efforts, steps, &copy.run.compiled().model.tree)?;
        }
        for (list, n) in [(&mut into.position, qs), (&mut into.velocity, vs)] {
            let more = n.saturating_sub(list.len());
            memory::handled(|| list.try_reserve_exact(more)).map_err(|_| too_many())?;
        }
        self.apply_inputs()?;
        into.position.resize(qs, f64::NAN);
        into.velocity.resize(vs, f64::NAN);
        // copy by copy, whatever the number of coordinates
        let (mut positions, mut velocities) = (into.position.as_mut_slice(), into.velocity.as_mut_slice());
        let mut rows = Vec::with_capacity(n);
        for _ in 0..n {
            let (position, rest) = std::mem::take(&mut positions).split_at_mut(steps * n_q);
            positions = rest;
            let (velocity, rest) = std::mem::take(&mut velocities).split_at_mut(steps * n_v);
            velocities = rest;
            rows.push((position, velocity));
        }
        if self.packs.is_empty() {
            let (copies, stop) = (&mut self.copies, self.stop.as_ref());
            let run = || {
                copies.par_iter_mut().zip(rows).enumerate().for_each(|(i, (copy, (position, velocity)))| {
                    let efforts = efforts.get(i * steps * n_v..(i + 1) * steps * n_v);
                    let rolled = stoppable(stop, || copy.rollout(dt, steps, efforts, position, velocity));
                    copy.failure = rolled.err();
                });
            };
            on(self.pool.as_ref(), run);
        } else {
            self.run_packs(dt, steps, efforts, rows);
        }
        if !efforts.is_empty() && steps > 0 {
            self.unload();
            for (i, copy) in self.copies.iter().enumerate() {
                copy.run
                    .compiled()
                    .inputs
                    .effort
                    .iter()
                    .enumerate()
                    .for_each(|(k, tau)| self.effort.put(k * n + i, *tau));
            }
        }
        self.finish()
    }

    /// The same for copies in lanes.
    fn run_packs(&mut self, dt: f64, steps: usize, efforts: &[f64], rows: Vec<packs::Row<'_>>) {
        let per_pack = packs::LANES * steps * self.n_v;
        let is_short = packs::is_short(&self.copies, dt, steps);
        let stop = self.stop.as_ref();
        let mut rows = rows.into_iter();
        let groups = self.copies.chunks_mut(packs::LANES).zip(&mut self.packs).enumerate();
        let mut jobs: Vec<packs::Job<'_>> = groups
            .map(|(i, (copies, pack))| {
                let last = efforts.len().min((i + 1) * per_pack);
                let efforts = efforts.get(i * per_pack..last).unwrap_or(&[]);
                packs::Job { rows: rows.by_ref().take(copies.len()).collect(), copies, pack, efforts }
            })
            .collect();
        if is_short {
            return jobs.iter_mut().for_each(|job| stoppable(stop, || job.run(dt, steps)));
        }
        on(self.pool.as_ref(), || jobs.par_iter_mut().for_each(|job| stoppable(stop, || job.run(dt, steps))));
    }

    /// Copies that failed in the last call of [`Batch::step`] or [`Batch::rollout`], with their errors.
    pub fn failures(&self) -> impl Iterator<Item = (usize, &Error)> {
        self.copies.iter().enumerate().filter_map(|(i, copy)| Some((i, copy.failure.as_ref()?)))
    }

    /// After an advance: results to arrays, the first failure as the error.
    fn finish(&mut self) -> Result<()> {
        (0..self.len()).for_each(|i| self.gather(i));
        let Some((copy, error)) = self.failures().next() else { return Ok(()) };
        let (is_refused, reason) = (error.is_refusal(), error.to_string());
        Err(Error::Copy { copy, reason, is_refused })
    }

    /// Puts the copies that are in lanes back.
    fn unload(&mut self) {
        self.packs.iter_mut().zip(self.copies.chunks_mut(packs::LANES)).for_each(|(pack, copies)| pack.unload(copies));
    }

    /// A copy, whose state may be in a lane.
    fn at(&self, copy: usize) -> Result<&Copy> {
        self.copies.get(copy).ok_or_else(|| no_such(copy, self.len()))
    }

    fn at_mut(&mut self, copy: usize) -> Result<&mut Copy> {
        let (n, i) = (self.len(), copy / packs::LANES);
        if let (Some(pack), Some(copies)) = (self.packs.get_mut(i), self.copies.chunks_mut(packs::LANES).nth(i)) {
            pack.unload(copies);
        }
        self.copies.get_mut(copy).ok_or_else(|| no_such(copy, n))
    }

    /// Writes a copy to the arrays.
    fn gather(&mut self, i: usize) {
        let (n, copy) = (self.copies.len(), &self.copies[i]);
        if let Some(pack) = self.packs.get(i / packs::LANES) {
            let Self { position, velocity, acceleration, friction, .. } = self;
            if pack.gather(i % packs::LANES, n, i, [position, velocity, acceleration, friction]) {
                return;
            }
        }
        let state = &copy.run.state.mechanics;
        let spread = |from: &[f64], to: &mut [f64]| from.iter().enumerate().for_each(|(k, x)| to[k * n + i] = *x);
        spread(&state.q, &mut self.position);
        spread(&state.v, &mut self.velocity);
        spread(copy.run.system.dynamics.accelerations(), &mut self.acceleration);
        spread(copy.run.system.dynamics.friction(), &mut self.friction);
    }
}

/// One value per contact of every copy, by contact.
fn gather_contacts<T: Clone + Default>(copies: &[Copy], to: &mut Vec<T>, m: usize, of: impl Fn(&Copy) -> &[T]) {
    let n = copies.len();
    to.resize(n * m, T::default());
    for (i, copy) in copies.iter().enumerate() {
        of(copy).iter().take(m).enumerate().for_each(|(k, x)| to[k * n + i].clone_from(x));
    }
}

impl Copy {
    /// Sets an input if the rules allow it; stores the first refusal.
    fn set(&mut self, set: impl FnOnce(&mut Run) -> Result<()>) -> bool {
        let result = set(&mut self.run);
        let is_set = result.is_ok();
        self.refused = self.refused.take().or(result.err());
        is_set
    }

    fn step(&mut self, dt: f64) -> Result<()> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let result = self.run.step(dt, &mut ());
        result.and(self.run.evaluate_at())
    }

    /// Steps with efforts, states after each.
    fn rollout(
        &mut self,
        dt: f64,
        steps: usize,
        efforts: Option<&[f64]>,
        position: &mut [f64],
        velocity: &mut [f64],
    ) -> Result<()> {
        position.fill(f64::NAN);
        velocity.fill(f64::NAN);
        let (n_q, n_v) = (self.run.state.mechanics.q.len(), self.run.state.mechanics.v.len());
        for s in 0..steps {
            if stop::is_asked() {
                return Err(stop::error(self.run.t()));
            }
            let efforts = efforts.and_then(|efforts| efforts.get(s * n_v..(s + 1) * n_v));
            for (k, &tau) in efforts.unwrap_or(&[]).iter().enumerate() {
                if self.run.compiled().inputs.effort[k] != tau {
                    self.run.set_effort(k, tau)?;
                }
            }
            self.step(dt)?;
            position[s * n_q..(s + 1) * n_q].copy_from_slice(&self.run.state.mechanics.q);
            velocity[s * n_v..(s + 1) * n_v].copy_from_slice(&self.run.state.mechanics.v);
        }
        Ok(())
    }
}

/// Calls `work` on the threads of a pool, or on those of all.
fn on(pool: Option<&ThreadPool>, work: impl FnOnce() + Send) {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Calls `work`, on any thread, until the flag is set.
fn stoppable<T>(flag: Option<&Arc<AtomicBool>>, work: impl FnOnce() -> T) -> T {
    let Some(flag) = flag.cloned() else { return work() };
    stop::until(move || flag.load(Ordering::Relaxed), work)
}

/// Efforts of a rollout: which copy, which step.
fn refuse_efforts(efforts: &[f64], steps: usize, model: &Model) -> Result<()> {
    let n_v = model.n_v.max(1);
    let refused = |(k, x): (usize, &f64)| Some((k, effort_range(model, k, *x)?));
    let rows = efforts.chunks(n_v).enumerate();
    let found =
        rows.filter_map(|(row, tau)| tau.iter().enumerate().find_map(refused).map(|(k, range)| (row * n_v + k, range)));
    let Some((at, range)) = { found }.next() else { return Ok(()) };
    let (copy, step) = (at / (steps * n_v).max(1), at / n_v % steps.max(1));
    Err(Error::number(format!("copy {copy}, step {step}"), "effort", efforts[at], range))
}

fn no_such(copy: usize, n: usize) -> Error {
    let known = n.checked_sub(1).map(|last| format!("0 to {last}"));
    Error::unknown("copy", copy, known.as_deref())
}

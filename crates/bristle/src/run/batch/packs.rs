//! Copies in lanes: `RealTime` steps of several copies at once.
//!
//! Copies next to one another that packs cover ([`applies`]) and whose clocks agree are put into the lanes of a pack
//! and stepped there; they are unloaded when something else is asked of them. Where clocks differ, as after the reset
//! of a single copy, each group with the same clock has its turn, a group of one included. A step in which a lane
//! does not converge is done by the copy alone. No lane depends on its neighbours, so that a copy has the same bits in
//! any company.

use super::Copy;
use crate::error::Result;
use crate::real_time::SignalTime;
use crate::real_time::pack::{PackStep, applies};
use crate::run::inputs::check_effort;
use crate::run::{Pending, Run, Until};
use crate::stop;
use bristle_integrate::FixedSteps;
use bristle_multibody::spatial::{Mask, Pack4, Scalar};

/// The numbers of a pack.
type Lanes = Pack4;

/// Copies in a pack.
pub(super) const LANES: usize = Lanes::LANES;

/// Room for copies in lanes, made when they are first stepped, and the copies that are in it.
#[derive(Default)]
pub(super) struct Pack {
    room: Option<Box<PackStep<Lanes>>>,
    loaded: Option<Loaded>,
}

/// Copies in lanes: their state is there, and their runs are behind.
#[derive(Clone, Copy)]
struct Loaded {
    live: [bool; LANES],
    clock: FixedSteps,
    /// Steps of each lane since it was loaded, and the length of the last.
    n_taken: [usize; LANES],
    h: f64,
}

impl Pack {
    /// Time of a copy that is in a lane, s.
    pub fn time(&self, lane: usize) -> Option<f64> {
        self.loaded.filter(|loaded| loaded.live[lane]).map(|loaded| loaded.clock.t())
    }

    /// Sets an effort of a copy that is in a lane; `None` if it is not.
    pub fn set_effort(&mut self, lane: usize, run: &Run, k: usize, effort: f64) -> Option<Result<()>> {
        self.loaded.filter(|loaded| loaded.live[lane])?;
        let checked = check_effort(&run.compiled().model.tree, k, effort);
        if checked.is_ok() {
            self.room.as_mut()?.effort[k].set_lane(lane, effort);
        }
        Some(checked)
    }

    /// Positions, velocities, accelerations and friction of a copy that is in a lane to the arrays of n copies, where
    /// it is number i. Returns whether it is in one.
    pub fn gather(&self, lane: usize, n: usize, i: usize, [q, v, a, friction]: [&mut [f64]; 4]) -> bool {
        let (Some(room), true) = (&self.room, self.loaded.is_some_and(|loaded| loaded.live[lane])) else {
            return false;
        };
        for (to, from) in [(q, &room.q), (v, &room.v), (a, &room.a)] {
            from.iter().enumerate().for_each(|(k, x)| to[k * n + i] = x.lane(lane));
        }
        (0..friction.len() / n).for_each(|c| friction[c * n + i] = room.friction(c).lane(lane));
        true
    }

    /// Puts the copies that are in lanes back.
    pub fn unload(&mut self, copies: &mut [Copy]) {
        if self.loaded.is_some() {
            Job { copies, pack: self, rows: Vec::new(), efforts: &[] }.unload();
        }
    }
}

/// Positions and velocities of a copy after each step.
pub(super) type Row<'a> = (&'a mut [f64], &'a mut [f64]);

/// Copies next to one another, and the room for their trajectories.
pub(super) struct Job<'a> {
    pub copies: &'a mut [Copy],
    pub pack: &'a mut Pack,
    /// Positions and velocities after each step, copy by copy; none for a step without a trajectory.
    pub rows: Vec<Row<'a>>,
    /// Efforts of each step, copy after copy; none if those that act stay.
    pub efforts: &'a [f64],
}

/// Whether packs cover the machine of a run.
pub(super) fn covers(run: &Run) -> bool {
    run.system.dynamics.is_real_time() && applies(run.compiled())
}

/// Steps between two looks at the request to end, which cost some per cent of a short step.
const LOOK: usize = 16;

/// Updates of a velocity, some 40 µs of them, below which one thread is done before a second one has woken up.
const SHORT: f64 = 400.0;

/// Whether `steps` times `dt` of these copies are too little work for more than one thread.
pub(super) fn is_short(copies: &[Copy], dt: f64, steps: usize) -> bool {
    let Some(run) = copies.first().map(|copy| &copy.run) else { return true };
    let n_steps = run.driver.fixed_steps().map_or(f64::INFINITY, |clock| (dt / clock.step()).ceil());
    n_steps * (copies.len() * steps * run.state.mechanics.v.len()) as f64 <= SHORT
}

impl Job<'_> {
    /// Advances the copies by `steps` times `dt`; their failures are theirs.
    pub fn run(&mut self, dt: f64, steps: usize) {
        self.rows.iter_mut().for_each(|(position, velocity)| {
            position.fill(f64::NAN);
            velocity.fill(f64::NAN);
        });
        let mut left: [bool; LANES] = std::array::from_fn(|lane| lane < self.copies.len());
        if self.pack.loaded.is_some_and(|loaded| loaded.live == left && self.may_go_on(&loaded, dt)) {
            left = [false; LANES];
            self.run_loaded(dt, steps);
        }
        // in groups of the same clock; one group alone stays in the lanes
        while left.contains(&true) {
            self.unload();
            let Some(live) = self.load(dt, &left) else { break };
            left.iter_mut().zip(live).for_each(|(left, live)| *left &= !live);
            self.run_loaded(dt, steps);
        }
        for lane in (0..LANES).filter(|&lane| left[lane]) {
            self.run_alone(lane, dt, steps);
        }
    }

    /// Steps the copies that are in lanes.
    fn run_loaded(&mut self, dt: f64, steps: usize) {
        if let Some(loaded) = self.pack.loaded {
            self.pack.loaded = Some(self.run_lanes(loaded, dt, steps));
        }
    }

    /// Whether a period `dt` is within the rules of a run.
    fn has_steps(run: &Run, clock: &FixedSteps, dt: f64) -> bool {
        dt > 0.0 && dt / clock.step() + 2.0 <= run.max_steps as f64
    }

    /// Whether the copies in lanes may step on there.
    fn may_go_on(&self, loaded: &Loaded, dt: f64) -> bool {
        let lanes = self.copies.iter().zip(loaded.live).filter(|(_, live)| *live);
        let is_ready = |copy: &Copy| copy.refused.is_none() && Self::has_steps(&copy.run, &loaded.clock, dt);
        !stop::is_asked() && lanes.map(|(copy, _)| copy).all(is_ready)
    }

    /// Puts the copies that are in lanes back.
    fn unload(&mut self) {
        let Some(Loaded { live, clock, n_taken, h }) = self.pack.loaded.take() else { return };
        for lane in (0..LANES).filter(|&lane| live[lane]) {
            if let Err(error) = self.store(lane, &clock, n_taken[lane], h) {
                self.copies[lane].failure = Some(error);
            }
        }
    }

    fn run_alone(&mut self, lane: usize, dt: f64, steps: usize) {
        let n = self.copies[lane].run.state.mechanics.v.len() * steps;
        let efforts = self.efforts.get(lane * n..(lane + 1) * n).filter(|_| !self.efforts.is_empty());
        let copy = &mut self.copies[lane];
        let result = match self.rows.get_mut(lane) {
            Some((position, velocity)) => copy.rollout(dt, steps, efforts, position, velocity),
            None => copy.step(dt),
        };
        copy.failure = result.err();
    }

    /// Puts copies of those `left` that can be stepped together into lanes: the first that can, and all whose clocks
    /// agree with its clock. Returns the lanes, or `None` if there are none.
    fn load(&mut self, dt: f64, left: &[bool; LANES]) -> Option<[bool; LANES]> {
        let (mut live, mut clock) = ([false; LANES], None);
        let is_open = !stop::is_asked();
        for (lane, copy) in self.copies.iter_mut().enumerate().filter(|(lane, _)| is_open && left[*lane]) {
            let run = &mut copy.run;
            let is_ready = copy.refused.is_none() && (run.pending != Pending::Inputs || run.resolve().is_ok());
            let Some(steps) = run.driver.fixed_steps().filter(|_| is_ready && run.pending == Pending::Nothing) else {
                continue;
            };
            let compiled = run.compiled();
            let room = self.pack.room.get_or_insert_with(|| Box::new(PackStep::new(compiled)));
            if room.fits(compiled) && compiled.inputs.wrenches.is_empty() && Self::has_steps(run, &steps, dt) {
                live[lane] = *clock.get_or_insert(steps) == steps;
            }
        }
        let (room, first) = (self.pack.room.as_mut()?, live.iter().position(|live| *live)?);
        let clock = clock?;
        for (lane, is_live) in live.into_iter().enumerate() {
            // an empty lane does what the first one does
            let from = if is_live { lane } else { first };
            self.copies[from].run.system.load_lane(room, lane);
        }
        self.pack.loaded = Some(Loaded { live, clock, n_taken: [0; LANES], h: 0.0 });
        Some(live)
    }

    /// Steps the copies in lanes.
    fn run_lanes(&mut self, loaded: Loaded, dt: f64, steps: usize) -> Loaded {
        let Loaded { mut live, mut clock, mut n_taken, mut h } = loaded;
        self.copies.iter_mut().zip(live).filter(|(_, live)| *live).for_each(|(copy, _)| copy.failure = None);
        let mut n_until_look = 0_usize;
        for s in 0..steps {
            self.set_efforts(&live, s, steps);
            clock.begin(dt);
            let mut present = live;
            loop {
                let before = clock;
                let Some(length) = clock.advance() else { break };
                let is_stopped = n_until_look == 0 && stop::is_asked();
                n_until_look = n_until_look.checked_sub(1).unwrap_or(LOOK - 1);
                let done = self.step_lanes(&present, &clock, length, is_stopped);
                for lane in 0..LANES {
                    if done.lane(lane) {
                        n_taken[lane] += 1;
                    } else if std::mem::take(&mut present[lane]) {
                        // this copy alone, to the end of the period
                        let n = std::mem::take(&mut n_taken[lane]);
                        let result = self.finish_alone(lane, &before, clock.end(), n, h);
                        live[lane] = result.is_ok();
                        self.copies[lane].failure = result.err();
                    }
                }
                h = length;
            }
            for lane in (0..LANES).filter(|&lane| live[lane] && !present[lane]) {
                let run = &mut self.copies[lane].run;
                run.driver.set_clock(&clock);
                if let Some(room) = &mut self.pack.room {
                    run.system.load_lane(room, lane);
                }
            }
            self.keep_states(&live, s);
        }
        Loaded { live, clock, n_taken, h }
    }

    /// One step of length `h`, to the time of `clock`, of the lanes that are present. Returns those that took it.
    fn step_lanes(
        &mut self,
        present: &[bool; LANES],
        clock: &FixedSteps,
        h: f64,
        is_stopped: bool,
    ) -> <Lanes as Scalar>::Mask {
        let active = Mask::from_lanes(|lane| present[lane]);
        let at = SignalTime::of_step(clock.t(), h);
        let done = self.pack.room.as_mut().filter(|_| !is_stopped).map(|pack| pack.step(active, at, h));
        done.unwrap_or(Mask::splat(false)) & active
    }

    /// Efforts of step `s` to the lanes.
    fn set_efforts(&mut self, live: &[bool; LANES], s: usize, steps: usize) {
        let Some(pack) = &mut self.pack.room else { return };
        let n = pack.effort.len();
        for lane in (0..LANES).filter(|&lane| live[lane] && !self.efforts.is_empty()) {
            let first = (lane * steps + s) * n;
            let efforts = self.efforts.get(first..first + n).unwrap_or(&[]);
            pack.effort.iter_mut().zip(efforts).for_each(|(to, tau)| to.set_lane(lane, *tau));
        }
    }

    /// States after step `s` to the trajectories.
    fn keep_states(&mut self, live: &[bool; LANES], s: usize) {
        let Some(pack) = &self.pack.room else { return };
        for (lane, (position, velocity)) in self.rows.iter_mut().enumerate().filter(|(lane, _)| live[*lane]) {
            let copy = |to: &mut [f64], from: &[Lanes]| {
                to[s * from.len()..(s + 1) * from.len()].iter_mut().zip(from).for_each(|(to, x)| *to = x.lane(lane));
            };
            copy(position, &pack.q);
            copy(velocity, &pack.v);
        }
    }

    /// A lane back to its copy, `n` steps after it was loaded, the last of length `h`.
    fn store(&mut self, lane: usize, clock: &FixedSteps, n: usize, h: f64) -> Result<()> {
        let (Some(pack), run) = (&self.pack.room, &mut self.copies[lane].run) else { return Ok(()) };
        for (k, effort) in pack.effort.iter().enumerate() {
            if run.compiled().inputs.effort[k] != effort.lane(lane) {
                run.set_effort(k, effort.lane(lane))?;
            }
        }
        if n == 0 {
            return Ok(());
        }
        run.system.take_lane(pack, lane, clock.t(), h, &mut run.y);
        let n_unknowns = run.driver.y().len();
        run.driver.take_steps(clock, n, &run.y[..n_unknowns], pack.quad(lane));
        run.evaluate_at()
    }

    /// A copy that its lane leaves at `clock`, alone to the end of the period.
    fn finish_alone(&mut self, lane: usize, clock: &FixedSteps, end: f64, n: usize, h: f64) -> Result<()> {
        self.store(lane, clock, n, h)?;
        let run = &mut self.copies[lane].run;
        let advanced = run.advance(Until::Time(end), &mut ());
        advanced.and(run.evaluate_at())
    }
}

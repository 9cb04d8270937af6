//! Copies in lanes: `RealTime` steps of several copies at once.
//!
//! Copies next to one another that packs cover ([`applies`]) and whose clocks agree are put into the lanes of a pack,
//! stepped there, and put back. Any other copy, and a step in which a lane does not settle, is done by the copy alone.
//! No lane depends on its neighbours, so that a copy has the same bits in any company.

use super::Copy;
use crate::error::Result;
use crate::real_time::SignalTime;
use crate::real_time::pack::{PackStep, applies};
use crate::run::{Pending, Run, Until};
use crate::signal::Piece;
use crate::stop;
use bristle_integrate::FixedSteps;
use bristle_multibody::spatial::{Mask, Pack4, Scalar};

/// The numbers of a pack.
type Lanes = Pack4;

/// Copies in a pack.
pub(super) const LANES: usize = Lanes::LANES;

/// A pack of copies, made when they are first stepped.
pub(super) type Pack = Option<Box<PackStep<Lanes>>>;

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
    run.system.is_real_time() && applies(run.compiled())
}

impl Job<'_> {
    /// Advances the copies by `steps` times `dt`; their failures are theirs.
    pub fn run(&mut self, dt: f64, steps: usize) {
        self.rows.iter_mut().for_each(|(position, velocity)| {
            position.fill(f64::NAN);
            velocity.fill(f64::NAN);
        });
        let (mut live, clock) = self.load(dt);
        for lane in (0..self.copies.len()).filter(|&lane| !live[lane]) {
            self.run_alone(lane, dt, steps);
        }
        if let Some(clock) = clock {
            self.run_lanes(&mut live, clock, dt, steps);
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

    /// Puts the copies that can be stepped together into lanes. Returns those, and their clock.
    fn load(&mut self, dt: f64) -> ([bool; LANES], Option<FixedSteps>) {
        let (mut live, mut clock) = ([false; LANES], None);
        let is_worthwhile = self.copies.len() > 1 && dt > 0.0 && !stop::is_asked();
        for (lane, copy) in self.copies.iter_mut().enumerate().filter(|_| is_worthwhile) {
            let run = &mut copy.run;
            let is_ready = copy.refused.is_none() && (run.pending != Pending::Inputs || run.resolve().is_ok());
            let Some(steps) = run.driver.fixed_steps().filter(|_| is_ready && run.pending == Pending::Nothing) else {
                continue;
            };
            let compiled = run.compiled();
            let pack = self.pack.get_or_insert_with(|| Box::new(PackStep::new(compiled)));
            let has_steps = dt / steps.step() + 2.0 <= run.max_steps as f64;
            let is_alike = *clock.get_or_insert(steps) == steps;
            live[lane] = has_steps && is_alike && compiled.inputs.wrenches.is_empty() && pack.fits(compiled);
        }
        let n_live = live.iter().filter(|live| **live).count();
        let (Some(pack), Some(first)) = (&mut self.pack, live.iter().position(|live| *live).filter(|_| n_live > 1))
        else {
            return ([false; LANES], None);
        };
        for lane in 0..LANES {
            // an empty lane does what the first one does
            let from = if live[lane] { lane } else { first };
            self.copies[from].run.system.load_lane(pack, lane);
        }
        (live, clock)
    }

    /// Steps the copies in lanes and puts them back.
    fn run_lanes(&mut self, live: &mut [bool; LANES], mut clock: FixedSteps, dt: f64, steps: usize) {
        // steps of each lane since it was loaded, and the length of the last
        let (mut n_taken, mut h) = ([0; LANES], 0.0);
        for s in 0..steps {
            self.set_efforts(live, s, steps);
            clock.begin(dt);
            let mut present = *live;
            loop {
                let before = clock;
                let Some(length) = clock.advance() else { break };
                let done = self.step_lanes(&present, &clock, length);
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
                if let Some(pack) = &mut *self.pack {
                    run.system.load_lane(pack, lane);
                }
            }
            self.keep_states(live, s);
        }
        for lane in (0..LANES).filter(|&lane| live[lane]) {
            self.copies[lane].failure = self.store(lane, &clock, n_taken[lane], h).err();
        }
    }

    /// One step of length `h`, to the time of `clock`, of the lanes that are present. Returns those that took it.
    fn step_lanes(&mut self, present: &[bool; LANES], clock: &FixedSteps, h: f64) -> <Lanes as Scalar>::Mask {
        let active = Mask::from_lanes(|lane| present[lane]);
        let at = SignalTime { t: clock.t(), piece: Piece::Before(clock.t() - 1e-6 * h), is_first: false };
        let done = self.pack.as_mut().filter(|_| !stop::is_asked()).map(|pack| pack.step(active, at, h));
        done.unwrap_or(Mask::splat(false)) & active
    }

    /// Efforts of step `s` to the lanes.
    fn set_efforts(&mut self, live: &[bool; LANES], s: usize, steps: usize) {
        let Some(pack) = &mut *self.pack else { return };
        let n = pack.effort.len();
        for lane in (0..LANES).filter(|&lane| live[lane] && !self.efforts.is_empty()) {
            let first = (lane * steps + s) * n;
            let efforts = self.efforts.get(first..first + n).unwrap_or(&[]);
            pack.effort.iter_mut().zip(efforts).for_each(|(to, tau)| to.set_lane(lane, *tau));
        }
    }

    /// States after step `s` to the trajectories.
    fn keep_states(&mut self, live: &[bool; LANES], s: usize) {
        let Some(pack) = &*self.pack else { return };
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
        let (Some(pack), run) = (&*self.pack, &mut self.copies[lane].run) else { return Ok(()) };
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

//! A world and its motion: run to a time, or step by step.
//!
//! States live on the entities: after every call the world carries them, with poses, accelerations and reactions, for a
//! user's own systems to read. Whatever a caller changes in the world ([`Simulation::world_mut`]) holds from the next call on:
//! efforts, wrenches, dampers, springs and states are read again, and a machine that has other links or joints than
//! before is compiled again. Time and the energy ledger go on; energy put in by hand shifts the ledger's start, so that
//! [`Ledger::balance`] stays a measure of the integration.
//!
//! Without the world: [`Simulation::set_effort`], [`Simulation::set_target`] and their like act from the next call on;
//! [`Simulation::position`] and its like read by name or entity, [`Simulation::positions`] and its like whole arrays;
//! [`Simulation::snapshot`] keeps everything for later.
//!
//! When a change is seen:
//!
//! | changed by | positions, velocities, bristles, poses | accelerations, friction, loads, modes, reactions; components |
//! |---|---|---|
//! | [`Simulation::set_joint`], [`Simulation::set_state`] | at once | by the next call that computes |
//! | every other setter | – | by the next call that computes |
//! | [`Simulation::world_mut`] | by the next call that computes | by the next call that computes |
//!
//! Calls that compute take `&mut self`: [`Simulation::step`] and the runs, and every question about the machine,
//! [`Simulation::energy`], [`Simulation::mass_matrix`], [`Simulation::jacobian`], [`Simulation::inverse_dynamics`],
//! [`Simulation::efforts_for`], [`Simulation::linearize`]: each takes in first what has changed, and answers for the machine as it is
//! then. [`Simulation::refresh`] does that and nothing else. Asking does not change the motion. Results of `RealTime` belong to a step:
//! efforts, wrenches and targets change them with the next one.

mod act;
mod explain;
mod ledger;
pub(crate) mod mechanics;
mod read;
pub(crate) mod restart;
mod rows;
mod settings;
pub(crate) mod snapshot;
mod warnings;

pub(crate) use explain::explain;
pub use ledger::Ledger;
pub(crate) use ledger::{Past, ledger};
pub use mechanics::Linearization;
pub use read::{Handle, ModeEvent};
pub use settings::Settings;

use crate::compile::{Compiled, compile, read_bristles, read_integrals, read_state};
use crate::component::{BristleState, Friction};
use crate::error::{Error, Result};
use crate::formulation::{Counters, Machine, Snapshot};
use crate::record::{MOST_NUMBERS, Record, Recording, Samples};
use crate::scene::{self, Scene};
use crate::spawn::{refuse_unsupported, spawn};
use crate::write_back::WriteBack;
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::{Control, Driver, Method, Options, Outcome, Sink, Stats, System};
use explain::{placed, unknown};
use hecs::{Entity, World};
use rows::{Recorder, channels};

/// How far to go.
enum Until {
    /// To a time, s.
    Time(f64),
    /// For a length of time, s, which is counted as long as it is the same.
    After(f64),
}

/// A world in motion. See the [module](self).
pub struct Simulation {
    world: World,
    system: Machine,
    driver: Driver,
    options: Options,
    formulation: scene::Formulation,
    kinks: scene::Kinks,
    samples: Samples,
    /// At the driver's time.
    state: Snapshot,
    /// The state as a caller left it: shown in place of `state` while `is_moved`, scratch otherwise.
    edited: Snapshot,
    /// Scratch: unknowns, `max_dim`; heat of each joint that has any.
    y: Vec<f64>,
    heat: Vec<f64>,
    /// Scratch: velocities that move together, where they are put and how fast.
    moved: Vec<(usize, f64, f64)>,
    past: Past,
    /// Poses of the links; `n_bodies`, the first of them the world's.
    results: WriteBack,
    /// Mode changes since the last call to `step`, and how many of them are its own; scratch for them: modes before.
    events: Vec<ModeEvent>,
    n_told: usize,
    modes: Vec<Mode>,
    /// Where it all began; `None` once the machine is another.
    beginning: Option<Box<snapshot::Beginning>>,
    /// Tells machines and settings apart; made when first asked for.
    fingerprint: Option<u64>,
    /// A caller had the world in hand.
    is_touched: bool,
    /// A caller put joints elsewhere, and the machine has not begun there yet.
    is_moved: bool,
    /// A caller changed an effort.
    is_pushed: bool,
    /// Something was taken in since results were put on the entities.
    is_stale: bool,
    /// Something failed or was refused: the next step begins anew where it stands.
    must_begin: bool,
    /// Internal steps that one call of [`Simulation::step`] may take.
    most_steps: usize,
    /// What was noticed when the scene was read.
    notes: Vec<String>,
}

impl Simulation {
    /// The world of a scene, with its solver settings.
    pub fn new(scene: &Scene) -> Result<Self> {
        refuse_unsupported(scene)?;
        let (formulation, scene::Output { interval, steps }) = (scene.formulation, scene.output);
        let (method, control, kinks) = (scene.method(), scene.control(), scene.solver.kinks);
        let settings = Settings { method, control, formulation, kinks, interval, steps, ..Settings::default() };
        let mut world = World::new();
        spawn(scene, &mut world)?;
        let mut sim = Self::with_settings(world, settings).map_err(|error| placed(scene, error))?;
        sim.notes = scene.warnings().iter().map(|note| format!("{}: {}", note.path, note.reason)).collect();
        Ok(sim)
    }

    /// The world of a robot in a URDF file, its root fixed; [`urdf::load`](crate::urdf::load) floats it, puts friction on its
    /// joints, and says what was understood of the file.
    #[cfg(feature = "urdf")]
    pub fn from_urdf(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::new(&crate::urdf::load(path, &crate::urdf::Options::default())?.scene)
    }

    /// The same with friction put on its joints: the URDF stays as it came, a friction file says law and load by joint name. See
    /// [`urdf`](crate::urdf) for how it is written.
    #[cfg(feature = "urdf")]
    pub fn from_urdf_with_friction(
        robot: impl AsRef<std::path::Path>,
        friction: impl AsRef<std::path::Path>,
    ) -> Result<Self> {
        let friction = Some(crate::urdf::FrictionFile::load(friction)?);
        Self::new(&crate::urdf::load(robot, &crate::urdf::Options { friction, ..Default::default() })?.scene)
    }

    /// A world built in code, with default [`Settings`]; `Radau5` where a friction law has bristles.
    pub fn from_world(world: World) -> Result<Self> {
        let has_bristles = world.query::<&Friction>().iter().any(|friction| friction.0.n_states() > 0);
        let method = if has_bristles { scene::Method::Radau5 } else { scene::Method::Dopri5 };
        Self::with_settings(world, Settings { method, ..Settings::default() })
    }

    /// A world built in code.
    pub fn with_settings(world: World, settings: Settings) -> Result<Self> {
        let options = settings.options()?;
        let compiled = compile(&world)?;
        let mut state = Snapshot::rest(&compiled);
        read_snapshot(&world, &compiled, &mut state)?;
        let (mut system, driver) = start(compiled, &state, &options, (settings.formulation, settings.kinks))?;
        let beginning = snapshot::Beginning::new(&state, system.compiled());
        // joints that are led start where their drives say
        system.look(state.mechanics.t, driver.y())?;
        system.store(state.mechanics.t, &mut state);
        let stored = system.energies(&state)?;
        let quad = vec![0.0; system.n_quadratures()];
        let past = Past { initial: stored.stored(), pressed: stored.pressed, quad, ..Past::default() };
        let mut sim = Self {
            world,
            y: vec![0.0; system.max_dim()],
            heat: vec![0.0; n_heated(system.compiled())],
            moved: Vec::with_capacity(8),
            system,
            driver,
            options,
            formulation: settings.formulation,
            kinks: settings.kinks,
            samples: Samples::new(settings.interval, settings.steps),
            edited: state.clone(),
            state,
            past,
            results: WriteBack::default(),
            // room for the changes of most steps: one that has more grows it, once
            events: Vec::with_capacity(64),
            n_told: 0,
            modes: Vec::new(),
            beginning: Some(Box::new(beginning)),
            fingerprint: None,
            is_touched: false,
            is_moved: false,
            is_pushed: false,
            is_stale: false,
            must_begin: false,
            most_steps: settings.most_steps,
            notes: Vec::new(),
        };
        sim.system.keep();
        sim.write_back()?;
        Ok(sim)
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        self.driver.t()
    }

    /// The world, with states and results on its entities.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to be changed: see the [module](self) for what becomes of it.
    pub fn world_mut(&mut self) -> &mut World {
        self.is_touched = true;
        &mut self.world
    }

    /// The world, given back.
    pub fn into_world(self) -> World {
        self.world
    }

    /// The machine as it is integrated.
    pub fn compiled(&self) -> &Compiled {
        self.system.compiled()
    }

    /// Positions in model order; `n_q`.
    pub fn positions(&self) -> &[f64] {
        &self.shown().mechanics.q
    }

    /// Velocities in model order; `n_v`.
    pub fn velocities(&self) -> &[f64] {
        &self.shown().mechanics.v
    }

    /// The state, as a caller has left it.
    fn shown(&self) -> &Snapshot {
        if self.is_moved { &self.edited } else { &self.state }
    }

    /// Accelerations in model order; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        self.system.accelerations()
    }

    /// What the run cost so far.
    pub fn stats(&self) -> Stats {
        *self.driver.stats() + self.past.stats
    }

    /// What accelerations that depend on themselves have cost so far, and how well an integrated acceleration keeps to its equation.
    pub fn counters(&self) -> Counters {
        self.system.counters().and(self.past.counters)
    }

    /// The entity of a joint, by name.
    pub fn joint(&self, name: &str) -> Result<Entity> {
        let compiled = self.compiled();
        let found = compiled.model.joint(name).and_then(|i| compiled.index.joint_entity(i));
        found.ok_or_else(|| unknown("joint", name, &compiled.model.joint_names))
    }

    /// The entity of a link, by name.
    pub fn link(&self, name: &str) -> Result<Entity> {
        let compiled = self.compiled();
        let found = compiled.model.body(name).and_then(|i| compiled.index.link_entity(i));
        found.ok_or_else(|| unknown("link", name, &compiled.model.link_names))
    }

    /// Advances by `dt` (n calls with one `dt` end n·dt later, to rounding), in as many internal steps as it takes, up to [`Settings::most_steps`]. [`Simulation::events`] are those on the
    /// way.
    ///
    /// What is refused has not happened: a state, effort or parameter that cannot be leaves the motion where it was, and the next call
    /// says so again until it is mended. A step that fails half-way, as when numbers run away, leaves the simulation where it got to, and the next call
    /// begins anew from there. [`Simulation::restore`], [`Simulation::reset`] and setting the state get it out of anything; by the last
    /// of these the energy ledger begins anew where it has run away.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        check_dt(dt)?;
        // what let go when a caller asked in between belongs to this step
        self.events.drain(..self.n_told.min(self.events.len()));
        self.n_told = 0;
        self.look_at_world()?;
        self.reconsider()?;
        let mut watch = read::Watch(std::mem::take(&mut self.events));
        self.driver.set_most_steps(self.most_steps);
        let result = self.advance(Until::After(dt), &mut watch);
        self.driver.set_most_steps(usize::MAX);
        self.events = watch.0;
        self.n_told = self.events.len();
        result
    }

    /// Takes in what has changed, without a step: readers tell of the machine as it is now. See the [module](self).
    pub fn refresh(&mut self) -> Result<()> {
        self.look_at_world()?;
        if self.is_pushed {
            self.reconsider()?;
            self.is_stale = true;
        }
        if self.is_stale { self.write_back() } else { Ok(()) }
    }

    /// Internal steps that one call of [`Simulation::step`] may take before it is an error: see [`Settings::most_steps`].
    pub fn set_most_steps(&mut self, steps: usize) {
        self.most_steps = steps;
    }

    /// The same as it is.
    pub(crate) fn most_steps(&self) -> usize {
        self.most_steps
    }

    /// Runs to time `t` and records on the way: the present state, every output interval, and the end.
    pub fn run_until(&mut self, t: f64) -> Result<Recording> {
        let mut recording = self.recording();
        self.run_into(t, &mut recording)?;
        Ok(recording)
    }

    /// The same into a recording made by [`Simulation::recording`], which keeps what was reached if the run fails.
    pub fn run_into(&mut self, t: f64, recording: &mut Recording) -> Result<()> {
        self.look_at_world()?;
        if recording.names() != channels(self.compiled()) {
            *recording = self.recording();
        }
        let now = self.driver.t();
        let rows = (t - now) / self.samples.interval();
        if !self.samples.is_every_step() && rows * recording.names().len() as f64 > MOST_NUMBERS as f64 {
            let (name, what, value) = ("output".into(), "interval", self.samples.interval());
            return Err(Error::Number { name, what, value, range: "longer: a recording has room for 1e9 numbers" });
        }
        let is_continued = recording.rows().next_back().is_some_and(|row| row[0] == now);
        self.run_recorder(t, recording, is_continued)
    }

    /// Runs to time `t` and hands each row to `output` as it comes: the columns are those of [`Simulation::recording`].
    /// Nothing is kept here, so there is no limit on the number of rows; [`Record`] may end the run early, which is
    /// [`Error::Stopped`].
    pub fn run_with(&mut self, t: f64, output: &mut dyn Record) -> Result<()> {
        self.look_at_world()?;
        self.run_recorder(t, output, false)
    }

    /// Records from now, or from the next instant if now is recorded already, to `t`.
    fn run_recorder(&mut self, t: f64, output: &mut dyn Record, is_continued: bool) -> Result<()> {
        let now = self.driver.t();
        let mut recorder = Recorder::new(output, self.past.clone(), self.samples, &self.state, now..t);
        if is_continued {
            recorder.plan();
        }
        let result = self.advance(Until::Time(t), &mut recorder);
        // what could not be recorded came first
        recorder.into_error().map_or(result, Err)
    }

    /// What moves it, for copies.
    pub(crate) fn parts(&mut self) -> Result<(u64, &Machine, &Driver, &Snapshot, &Past)> {
        self.look_at_world()?;
        self.reconsider()?;
        Ok((self.fingerprint(), &self.system, &self.driver, &self.state, &self.past))
    }

    /// An empty recording with the channels of this simulation.
    pub fn recording(&self) -> Recording {
        Recording::new(channels(self.compiled()))
    }

    /// The energy ledger, now.
    pub fn energy(&mut self) -> Result<Ledger> {
        self.refresh()?;
        ledger(&mut self.system, &self.state, self.driver.quadratures(), &self.past)
    }

    /// Advances the driver and puts the result into the world, also where it failed half-way.
    fn advance<K: Sink<Machine>>(&mut self, until: Until, sink: &mut K) -> Result<()> {
        self.reconsider()?;
        let result = match until {
            Until::Time(t) => self.driver.advance(&mut self.system, t, sink),
            Until::After(dt) => self.driver.advance_by(&mut self.system, dt, sink),
        };
        let result = match result {
            Ok(Outcome::Stopped) => Err(Error::Stopped { t: self.driver.t() }),
            Ok(Outcome::Reached | Outcome::Terminated) => Ok(()),
            // a time that is none, or in the past: nothing has happened
            Err(error @ (bristle_integrate::Error::Input { .. } | bristle_integrate::Error::Memory { .. })) => {
                return Err(Error::Integrate(error));
            }
            Err(error) => {
                self.must_begin = true;
                Err(explain(error, &mut self.system))
            }
        };
        let written = self.write_back();
        result.and(written)
    }

    /// After a push, what was stuck may have to let go at once.
    fn reconsider(&mut self) -> Result<()> {
        if !(self.is_pushed || self.must_begin) {
            return Ok(());
        }
        self.modes.clear();
        self.modes.extend_from_slice(self.system.modes());
        if self.must_begin {
            self.begin()?;
        } else {
            // refused, it is to be tried again
            self.must_begin = true;
            restart::reconsider(&mut self.system, &mut self.driver, &mut self.y)?;
            self.must_begin = false;
        }
        self.is_pushed = false;
        self.note_changes();
        Ok(())
    }

    /// From the state at hand.
    fn begin(&mut self) -> Result<()> {
        self.must_begin = true;
        restart::begin(&mut self.system, &mut self.driver, &self.state, &mut self.y)?;
        self.must_begin = false;
        Ok(())
    }

    fn write_back(&mut self) -> Result<()> {
        let Self { world, system, driver, state, heat, past, results, .. } = self;
        // accelerations may be more than can be said; where it is, is not
        let looked = system.look(driver.t(), driver.y());
        system.store(driver.t(), state);
        looked?;
        for (k, heat) in heat.iter_mut().enumerate() {
            *heat = driver.quadratures()[2 + k] + past.quad[2 + k];
        }
        results.put(world, system, state, heat)?;
        self.is_stale = false;
        Ok(())
    }

    /// Reads what a caller may have changed.
    fn look_at_world(&mut self) -> Result<()> {
        if !self.is_touched {
            return Ok(());
        }
        let taken = self.take_in();
        let was_moved = std::mem::take(&mut self.is_moved);
        if taken.is_err() && was_moved {
            // refused: what is shown is where it is
            self.results.place(&mut self.system, &self.state.mechanics);
        }
        taken
    }

    /// The world as it is now.
    fn take_in(&mut self) -> Result<()> {
        // none where numbers have run away
        let before = self.system.energies(&self.state).ok();
        self.must_begin |= self.adopt_parameters()?;
        if self.compiled().is_current(&self.world) {
            self.system.read_actions(&self.world)?;
            self.edited.mechanics.t = self.driver.t();
            read_snapshot(&self.world, self.system.compiled(), &mut self.edited)?;
            if self.edited != self.state || self.must_begin {
                std::mem::swap(&mut self.edited, &mut self.state);
                if let Err(error) = self.begin() {
                    std::mem::swap(&mut self.edited, &mut self.state);
                    return Err(error);
                }
            }
            self.is_pushed = true;
        } else {
            self.compile_again()?;
        }
        let after = self.system.energies(&self.state)?;
        self.past.shift(&mut self.driver, before, &after);
        self.is_touched = false;
        self.is_stale = true;
        Ok(())
    }

    /// Compiles the world as it is now; joints that remain keep their states and their heat.
    fn compile_again(&mut self) -> Result<()> {
        let compiled = compile(&self.world)?;
        let mut state = Snapshot::rest(&compiled);
        state.mechanics.t = self.driver.t();
        read_snapshot(&self.world, &compiled, &mut state)?;

        // the ledger so far, by entity
        let old = self.system.compiled();
        let so_far: Vec<f64> = self.driver.quadratures().iter().zip(&self.past.quad).map(|(a, b)| a + b).collect();
        let mut quad = so_far[..2].to_vec();
        for &joint in &compiled.heated {
            let entity = compiled.index.joint_entity(joint);
            let same = old.heated.iter().position(|&joint| old.index.joint_entity(joint) == entity);
            quad.push(same.map_or(0.0, |k| so_far[2 + k]));
        }
        for &k in &compiled.heated_elements {
            let entity = compiled.coupled.elements[k].entity;
            let same = old.heated_elements.iter().position(|&k| old.coupled.elements[k].entity == entity);
            quad.push(same.map_or(0.0, |k| so_far[2 + old.heated.len() + k]));
        }
        let heat = so_far[2..].iter().sum::<f64>() - quad[2..].iter().sum::<f64>();
        let with_bristles = (0..old.contacts.len()).filter(|&c| old.contacts[c].law.n_states() > 0);
        let with_bristles: Vec<Entity> = with_bristles.filter_map(|c| old.contact_entity(c)).collect();

        let beginning = self.beginning.as_ref().and_then(|beginning| beginning.of_another(old, &compiled));
        let (system, driver) = start(compiled, &state, &self.options, (self.formulation, self.kinks))?;
        let stats = self.stats();
        let counters = self.counters();
        let Past { initial, pressed, .. } = self.past;
        self.past = Past { initial, pressed, quad, heat: self.past.heat + heat, stats, counters };
        self.y = vec![0.0; system.max_dim()];
        self.heat = vec![0.0; n_heated(system.compiled())];
        self.edited = state.clone();
        (self.system, self.driver, self.state) = (system, driver, state);
        self.beginning = beginning.map(Box::new);
        self.fingerprint = None;
        self.must_begin = false;
        self.drop_bristles(&with_bristles);
        Ok(())
    }

    /// Bristles of laws that have none any more go from the entities that had some, so that the next law does not find them.
    fn drop_bristles(&mut self, had: &[Entity]) {
        for &entity in had {
            let compiled = self.system.compiled();
            let has_some = |c: usize| compiled.contacts[c].law.n_states() > 0;
            if !entity.find_contact(compiled).is_some_and(has_some) {
                let _ = self.world.remove_one::<BristleState>(entity);
            }
        }
    }
}

/// Refuses a length of time that is none.
pub(crate) fn check_dt(dt: f64) -> Result<()> {
    let range = "finite and not negative";
    if dt.is_finite() && dt >= 0.0 {
        Ok(())
    } else {
        Err(Error::Number { name: "step".into(), what: "dt", value: dt, range })
    }
}

/// Joints and couplings that have their heat in the ledger.
fn n_heated(compiled: &Compiled) -> usize {
    compiled.heated.len() + compiled.heated_elements.len()
}

/// States as the entities carry them.
fn read_snapshot(world: &World, compiled: &Compiled, into: &mut Snapshot) -> Result<()> {
    read_state(world, compiled, &mut into.mechanics)?;
    read_bristles(world, compiled, into.mechanics.t, &into.mechanics.v, &mut into.bristles)?;
    read_integrals(world, compiled, &mut into.integrals)
}

/// A system at a state, and the driver that moves it.
fn start(
    compiled: Compiled,
    state: &Snapshot,
    options: &Options,
    (formulation, kinks): (scene::Formulation, scene::Kinks),
) -> Result<(Machine, Driver)> {
    // kinks of bristle laws matter to those who estimate errors, down to the tolerance
    let mut system = Machine::new(compiled, formulation, options.control.tolerances());
    system.set_kinks(kinks);
    // other controls have been refused
    if let (Method::RealTime, Control::Constant { step }) = (options.method, &options.control) {
        system.make_real_time(*step);
    }
    let mut y = vec![0.0; system.max_dim()];
    system.begin(state, &mut y)?;
    let n = system.dim();
    let driver = Driver::new(&mut system, state.mechanics.t, &y[..n], options.clone());
    let driver = driver.map_err(|error| explain(error, &mut system))?;
    Ok((system, driver))
}

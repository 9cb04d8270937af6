//! A world and its motion: run to a time, or step by step.
//!
//! States are components of the entities: after every call the world has them, with poses, accelerations and reactions,
//! for a user's own systems to read. Changes in the world ([`Simulation::world_mut`]) act from the next call on:
//! efforts, wrenches, dampers, springs and states are read again, and a machine with other links or joints than before
//! is compiled again. Time and the energy ledger continue; energy that a change adds shifts the start of the ledger, so
//! that [`Ledger::balance`] remains a measure of the integration.
//!
//! Without the world: setters such as [`Simulation::set_effort`] and [`Simulation::set_target`] act from the next call
//! on; [`Simulation::position`] and similar functions read by name or entity, [`Simulation::positions`] and similar
//! ones whole arrays; [`Simulation::snapshot`] saves the complete state.
//!
//! When a change is visible:
//!
//! | changed by | positions, velocities, bristles, poses | all other results, components |
//! |---|---|---|
//! | [`Simulation::set_joint`], [`Simulation::set_state`] | at once | by the next call that computes |
//! | every other setter | – | by the next call that computes |
//! | [`Simulation::world_mut`] | by the next call that computes | by the next call that computes |
//!
//! Calls that compute take `&mut self`: [`Simulation::step`] and the runs, and every query of the machine,
//! [`Simulation::energy`], [`Simulation::mass_matrix`], [`Simulation::jacobian`], [`Simulation::inverse_dynamics`],
//! [`Simulation::efforts_for`], [`Simulation::linearize`]: each applies pending changes first, and then answers for the
//! present machine. [`Simulation::refresh`] applies changes and does nothing else. Queries do not change the motion.
//! Results of `RealTime` belong to a step: efforts, wrenches and targets change them with the next step.

mod read;
mod read_world;
mod restore;
mod set;
mod warnings;

pub use super::ledger::Ledger;
pub use super::links::LinkVelocity;
pub use super::query::{Coordinate, Linearization};
pub use super::settings::Settings;
pub use read::{Handle, ModeEvent, Target};
pub use read_world::ReadWorld;

#[cfg(feature = "scene")]
use super::explain::placed;
use super::explain::unknown;
use super::ledger::Past;
use super::recorder::Recorder;
use super::settings::Solver;
use super::write_back::WriteBack;
use super::{Run, Until, check_dt};
use crate::dynamics::{Counters, Snapshot};
use crate::error::{Error, Result};
use crate::model::Compiled;
use crate::model::compile::{compile, read_actions, read_bristles, read_integrals, read_state};
use crate::record::{MAX_NUMBERS, Record, Recording, Samples, channels};
#[cfg(feature = "scene")]
use crate::scene::Scene;
use crate::solver::Method;
use crate::stick_slip::Machine;
use crate::world::component::{BristleState, Friction};
#[cfg(feature = "scene")]
use crate::world::spawn::{refuse_unsupported, spawn};
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::{Sink, Stats};
use hecs::{Component, Entity, World};
use restore::Beginning;
use std::sync::Arc;

/// Differences between world and run, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    Nothing,
    /// The run is ahead: its results are not on the entities.
    Results,
    /// The world may be ahead: a caller may have changed it.
    World,
    /// The same, and `edited` is the state that readers get: a caller has set states of joints.
    State,
}

/// A world in motion. See the [module](self).
pub struct Simulation {
    world: World,
    pub(super) run: Run,
    solver: Solver,
    pending: Pending,
    samples: Samples,
    /// The state as set by a caller, while [`Pending::State`]; scratch otherwise.
    edited: Snapshot,
    /// Scratch: velocities that are coupled to one another, their positions and rates.
    moved: Vec<(usize, f64, f64)>,
    results: WriteBack,
    /// Events since the last call to `step`, and how many of them it has reported; scratch: modes before.
    events: Vec<ModeEvent>,
    n_reported: usize,
    modes: Vec<Mode>,
    /// State and inputs at the start; `None` once the machine has changed.
    beginning: Option<Box<Beginning>>,
    /// Identifies machine and settings; computed on first use.
    fingerprint: Option<u64>,
    /// Warnings of the scene.
    notes: Vec<String>,
}

impl Simulation {
    /// The world of a scene, with its solver settings.
    #[cfg(feature = "scene")]
    pub fn new(scene: &Scene) -> Result<Self> {
        refuse_unsupported(scene)?;
        let (formulation, crate::solver::Output { interval, steps }) = (scene.formulation, scene.output);
        let (method, control, kinks) = (scene.method(), scene.control(), scene.solver.kinks);
        let constraints = scene.solver.constraints;
        let settings =
            Settings { method, control, formulation, kinks, constraints, interval, steps, ..Settings::default() };
        let mut world = World::new();
        spawn(scene, &mut world)?;
        let mut sim = Self::with_settings(world, settings).map_err(|error| placed(scene, error))?;
        sim.notes = scene.warnings().iter().map(|note| format!("{}: {}", note.path, note.reason)).collect();
        Ok(sim)
    }

    /// The world of a robot in a URDF file, its root fixed; [`urdf::load`](crate::urdf::load) floats it, puts friction
    /// on its joints, and reports how it read the file.
    #[cfg(feature = "urdf")]
    pub fn from_urdf(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::new(&crate::urdf::load(path, &crate::urdf::Options::default())?.scene)
    }

    /// The same with friction on its joints: the URDF stays unchanged, a friction file gives law and load by joint
    /// name. See [`urdf`](crate::urdf) for its format.
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
        let method = if has_bristles { Method::Radau5 } else { Method::Dopri5 };
        Self::with_settings(world, Settings { method, ..Settings::default() })
    }

    /// A world built in code.
    pub fn with_settings(world: World, settings: Settings) -> Result<Self> {
        let solver = Solver::new(&settings)?;
        let compiled = compile(&world)?;
        let mut state = Snapshot::rest(&compiled);
        read_snapshot(&world, &compiled, &mut state)?;
        let beginning = Beginning::new(&state, &compiled);
        let mut run = Run::new(compiled, &state, &solver)?;
        run.max_steps = settings.max_steps;
        let mut sim = Self {
            world,
            run,
            solver,
            pending: Pending::Nothing,
            samples: Samples::new(settings.interval, settings.steps),
            edited: state,
            moved: Vec::with_capacity(8),
            results: WriteBack::default(),
            // room for the mode changes of most steps: a step with more of them enlarges it, once
            events: Vec::with_capacity(64),
            n_reported: 0,
            modes: Vec::new(),
            beginning: Some(Box::new(beginning)),
            fingerprint: None,
            notes: Vec::new(),
        };
        sim.write_back()?;
        Ok(sim)
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        self.run.t()
    }

    /// The world, with states and results on its entities, to be read.
    pub fn world(&self) -> ReadWorld<'_> {
        ReadWorld(&self.world)
    }

    /// The world, to be changed: see the [module](self) for the effect of changes.
    pub fn world_mut(&mut self) -> &mut World {
        self.touch();
        &mut self.world
    }

    /// Returns the world.
    pub fn into_world(self) -> World {
        self.world
    }

    /// The compiled machine.
    pub fn compiled(&self) -> &Compiled {
        self.run.compiled()
    }

    /// Positions in model order; `n_q`.
    pub fn positions(&self) -> &[f64] {
        &self.shown().mechanics.q
    }

    /// Velocities in model order; `n_v`.
    pub fn velocities(&self) -> &[f64] {
        &self.shown().mechanics.v
    }

    /// The state that readers get: as set by a caller, otherwise that of the run.
    fn shown(&self) -> &Snapshot {
        if self.pending == Pending::State { &self.edited } else { &self.run.state }
    }

    /// Accelerations in model order; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        self.run.system.dynamics.accelerations()
    }

    /// Work counts of the run so far.
    pub fn stats(&self) -> Stats {
        *self.run.driver.stats() + self.run.past.stats
    }

    /// Work counts of the implicit accelerations so far, and the drift of integrated accelerations.
    pub fn counters(&self) -> Counters {
        self.run.system.dynamics.counters().and(self.run.past.counters)
    }

    /// The entity of a joint, by name.
    pub fn joint(&self, name: &str) -> Result<Entity> {
        let compiled = self.compiled();
        let found = compiled.model.tree.joint(name).and_then(|i| compiled.model.index.joint_entity(i));
        found.ok_or_else(|| unknown("joint", name, &compiled.model.tree.joint_names))
    }

    /// The entity of a link, by name.
    pub fn link(&self, name: &str) -> Result<Entity> {
        let compiled = self.compiled();
        let found = compiled.model.tree.body(name).and_then(|i| compiled.model.index.link_entity(i));
        found.ok_or_else(|| unknown("link", name, &compiled.model.tree.link_names))
    }

    /// Advances by `dt` (n calls with one `dt` end n·dt later, to rounding), in up to [`Settings::max_steps`] internal
    /// steps. [`Simulation::events`] are the mode changes on the way.
    ///
    /// A refusal changes nothing: after an invalid state, effort or parameter the motion stays where it was, and the
    /// next call reports the same error until the input is corrected. A step that fails half-way, for example because
    /// the motion diverges, leaves the simulation at the state that it reached, and the next call restarts from there.
    /// [`Simulation::restore`], [`Simulation::reset`] and setting the state recover from any failure; the last of these
    /// starts the energy ledger anew where it is not finite.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        check_dt(dt)?;
        // break-aways found by queries between steps belong to this step
        self.events.drain(..self.n_reported.min(self.events.len()));
        self.n_reported = 0;
        self.look_at_world()?;
        self.resolve()?;
        let mut watch = read::Watch(std::mem::take(&mut self.events));
        let result = self.run.step(dt, &mut watch);
        self.events = watch.0;
        self.n_reported = self.events.len();
        result.and(self.write_back())
    }

    /// Applies pending changes, without a step: after it readers give the present machine. See the [module](self).
    pub fn refresh(&mut self) -> Result<()> {
        self.look_at_world()?;
        if matches!(self.run.pending, super::Pending::Inputs | super::Pending::Restart) {
            self.resolve()?;
            self.pending = Pending::Results;
        }
        if self.pending == Pending::Results { self.write_back() } else { Ok(()) }
    }

    /// Internal steps that one call of [`Simulation::step`] may take; more are an error: see [`Settings::max_steps`].
    pub fn set_max_steps(&mut self, steps: usize) {
        self.run.max_steps = steps;
    }

    /// Runs to time `t` and records on the way: the present state, every output interval, and the end.
    pub fn run_until(&mut self, t: f64) -> Result<Recording> {
        let mut recording = self.recording();
        self.run_into(t, &mut recording)?;
        Ok(recording)
    }

    /// The same into a recording made by [`Simulation::recording`]; after a failure it contains the rows so far.
    pub fn run_into(&mut self, t: f64, recording: &mut Recording) -> Result<()> {
        self.look_at_world()?;
        if recording.names() != channels(self.compiled()) {
            *recording = self.recording();
        }
        let now = self.run.t();
        let rows = (t - now) / self.samples.interval();
        if !self.samples.is_every_step() && rows * recording.names().len() as f64 > MAX_NUMBERS as f64 {
            let range = "longer: a recording has room for 1e9 numbers";
            return Err(Error::number("output", "interval", self.samples.interval(), range));
        }
        let is_continued = recording.rows().next_back().is_some_and(|row| row[0] == now);
        self.run_recorder(t, recording, is_continued)
    }

    /// Runs to time `t` and passes each row to `output` at once: the columns are those of [`Simulation::recording`].
    /// Rows are not stored, so their number is not limited; [`Record`] may end the run early, with [`Error::Stopped`].
    pub fn run_with(&mut self, t: f64, output: &mut dyn Record) -> Result<()> {
        self.look_at_world()?;
        self.run_recorder(t, output, false)
    }

    /// Records from the present time, or from the next instant if it is recorded already, to `t`.
    fn run_recorder(&mut self, t: f64, output: &mut dyn Record, is_continued: bool) -> Result<()> {
        let now = self.run.t();
        let mut recorder = Recorder::new(output, self.run.past.clone(), self.samples, &self.run.state, now..t);
        if is_continued {
            recorder.plan();
        }
        let result = self.advance(Until::Time(t), &mut recorder);
        // an error of recording came first
        recorder.into_error().map_or(result, Err)
    }

    /// The fingerprint and the run, with all changes applied, for copies.
    pub(super) fn settled(&mut self) -> Result<(u64, &Run)> {
        self.look_at_world()?;
        self.resolve()?;
        Ok((self.fingerprint(), &self.run))
    }

    /// An empty recording with the channels of this simulation.
    pub fn recording(&self) -> Recording {
        Recording::new(channels(self.compiled()))
    }

    /// The present energy ledger.
    pub fn energy(&mut self) -> Result<Ledger> {
        self.refresh()?;
        self.run.energy()
    }

    /// Advances the run and writes the result to the world, also after a failure half-way.
    fn advance(&mut self, until: Until, sink: &mut dyn Sink<Machine>) -> Result<()> {
        self.resolve()?;
        let result = self.run.advance(until, sink);
        result.and(self.write_back())
    }

    /// Does the pending work of the run, and records the mode changes.
    fn resolve(&mut self) -> Result<()> {
        if self.run.pending == super::Pending::Nothing {
            return Ok(());
        }
        self.modes.clear();
        self.modes.extend_from_slice(self.run.system.dynamics.modes());
        self.run.resolve()?;
        self.note_changes();
        Ok(())
    }

    /// Evaluates the run at its present state and writes the results to the entities.
    fn write_back(&mut self) -> Result<()> {
        self.run.evaluate_at()?;
        self.show()?;
        self.pending = Pending::Nothing;
        Ok(())
    }

    /// Writes the results of the run to the entities.
    fn show(&mut self) -> Result<()> {
        self.results.put(&mut self.world, &mut self.run)
    }

    /// Reads the world before a computation.
    fn touch(&mut self) {
        self.pending = self.pending.max(Pending::World);
    }

    /// Reads the components that a caller may have changed.
    fn look_at_world(&mut self) -> Result<()> {
        if self.pending < Pending::World {
            return Ok(());
        }
        let taken = self.take_in();
        if taken.is_ok() {
            self.pending = Pending::Results;
        } else if self.pending == Pending::State {
            // refused: readers get the state of the run
            self.pending = Pending::World;
            self.results.place(&mut self.run.system, &self.run.state.mechanics);
        }
        taken
    }

    /// Applies the present world to the run.
    fn take_in(&mut self) -> Result<()> {
        // none where energies are not finite
        let before = self.run.stored();
        self.adopt_parameters()?;
        if self.compiled().is_current(&self.world) {
            let model = Arc::clone(&self.run.compiled().model);
            read_actions(&self.world, &model, self.run.system.dynamics.inputs_mut())?;
            self.run.system.dynamics.apply_wrenches();
            self.edited.mechanics.t = self.run.t();
            read_snapshot(&self.world, self.run.compiled(), &mut self.edited)?;
            if self.edited != self.run.state || self.run.pending.is_restart() {
                std::mem::swap(&mut self.edited, &mut self.run.state);
                if let Err(error) = self.run.restart() {
                    std::mem::swap(&mut self.edited, &mut self.run.state);
                    return Err(error);
                }
            }
            self.run.pending = self.run.pending.with_inputs();
        } else {
            self.compile_again()?;
        }
        self.run.shift_ledger(before)
    }

    /// Compiles the present world; joints that remain keep their states and their heat.
    fn compile_again(&mut self) -> Result<()> {
        let compiled = compile(&self.world)?;
        let mut state = Snapshot::rest(&compiled);
        state.mechanics.t = self.run.t();
        read_snapshot(&self.world, &compiled, &mut state)?;

        // the ledger so far, by entity
        let (old, past) = (self.run.compiled(), &self.run.past);
        let so_far: Vec<f64> = self.run.driver.quadratures().iter().zip(&past.quad).map(|(a, b)| a + b).collect();
        let mut quad = so_far[..2].to_vec();
        for &joint in &compiled.model.heated {
            let entity = compiled.model.index.joint_entity(joint);
            let same = old.model.heated.iter().position(|&joint| old.model.index.joint_entity(joint) == entity);
            quad.push(same.map_or(0.0, |k| so_far[2 + k]));
        }
        for &k in &compiled.model.heated_elements {
            let entity = compiled.model.index.coupling_entity(k);
            let same = old.model.heated_elements.iter().position(|&k| old.model.index.coupling_entity(k) == entity);
            quad.push(same.map_or(0.0, |k| so_far[2 + old.model.heated.len() + k]));
        }
        let heat = past.heat + (so_far[2..].iter().sum::<f64>() - quad[2..].iter().sum::<f64>());
        let with_bristles = (0..old.inputs.contacts.len()).filter(|&c| old.inputs.contacts[c].law.n_states() > 0);
        let with_bristles: Vec<Entity> = with_bristles.filter_map(|c| old.contact_entity(c)).collect();

        let beginning = self.beginning.as_ref().and_then(|beginning| beginning.of_another(old, &compiled));
        let mut run = Run::start(compiled, state.clone(), &self.solver)?;
        let Past { initial, reaction_loaded, .. } = self.run.past;
        run.past = Past { initial, reaction_loaded, quad, heat, stats: self.stats(), counters: self.counters() };
        run.max_steps = self.run.max_steps;
        (self.run, self.edited) = (run, state);
        self.beginning = beginning.map(Box::new);
        self.fingerprint = None;
        self.drop_bristles(&with_bristles);
        Ok(())
    }

    /// Removes bristle states from entities whose law has none any more, so that a later law does not find them.
    fn drop_bristles(&mut self, had: &[Entity]) {
        for &entity in had {
            let compiled = self.run.compiled();
            let has_some = |c: usize| compiled.inputs.contacts[c].law.n_states() > 0;
            if !Target::Entity(entity).contact(compiled).is_some_and(has_some) {
                let _ = self.world.remove_one::<BristleState>(entity);
            }
        }
    }
}

/// States read from the entities.
fn read_snapshot(world: &World, compiled: &Compiled, into: &mut Snapshot) -> Result<()> {
    read_state(world, compiled, &mut into.mechanics)?;
    read_bristles(world, compiled, into.mechanics.t, &into.mechanics.v, &mut into.bristles)?;
    read_integrals(world, compiled, &mut into.integrals)
}

/// Replaces or adds a component; the next reading of the world detects an entity that no longer exists.
fn put<T: Component>(world: &mut World, entity: Entity, component: T) {
    if let Ok(place) = world.query_one_mut::<&mut T>(entity) {
        *place = component;
    } else {
        let _ = world.insert_one(entity, component);
    }
}

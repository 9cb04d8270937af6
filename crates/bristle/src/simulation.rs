//! A world and its motion: run to a time, or step by step.
//!
//! States live on the entities: after every call the world carries them, with poses, accelerations and reactions, for a
//! user's own systems to read. Whatever a caller changes in the world ([`Simulation::world_mut`]) holds from the next call on:
//! efforts, wrenches, dampers, springs and states are read again, and a machine that has other links or joints than
//! before is compiled again. Time and the energy ledger go on; energy put in by hand shifts the ledger's start, so that
//! [`Ledger::balance`] stays a measure of the integration.
//!
//! Without the world: [`Simulation::set_effort`], [`Simulation::set_target`] and their like act from the next step on;
//! [`Simulation::position`] and its like read by name or entity, [`Simulation::positions`] and its like whole arrays;
//! [`Simulation::snapshot`] keeps everything for later.

mod act;
mod mechanics;
mod read;
pub(crate) mod snapshot;

pub use mechanics::Linearization;
pub use read::{Handle, ModeEvent};

use crate::compile::{Compiled, compile, read_bristles, read_integrals, read_state};
use crate::component::{Effort, Friction};
use crate::error::{Error, Result};
use crate::formulation::{Counters, Machine, NearJam, Snapshot, Stiff, Unsettled};
use crate::record::{Event, MOST_NUMBERS, Record, Recording, Samples};
use crate::scene::{self, Scene};
use crate::spawn::{refuse_unsupported, spawn};
use crate::write_back::WriteBack;
use bristle_friction::{FrictionLaw, Mode};
use bristle_integrate::control::Atol;
use bristle_integrate::{Control, Driver, Fired, Method, Options, Outcome, Sink, Stats, System};
use bristle_multibody::JointKind;
use hecs::{Entity, World};

/// Steps that stability holds down before it is worth a word.
const MANY_STIFF: usize = 1000;

/// How a world is to be simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Integration method.
    pub method: scene::Method,
    /// Step control.
    pub control: scene::Control,
    /// What is done about loads that depend on accelerations.
    pub formulation: scene::Formulation,
    /// What of bristle laws is located as an event under error control.
    pub kinks: scene::Kinks,
    /// Time between recorded rows, s.
    pub interval: f64,
    /// Rows at the end of every step of the integration instead.
    pub steps: bool,
}

impl Default for Settings {
    /// `Dopri5`, error control with rtol 1e-8 and atol 1e-10, the implicit formulation, a row every 0.01 s.
    fn default() -> Self {
        let scene::Output { interval, steps } = scene::Output::default();
        Self {
            method: scene::Method::Dopri5,
            control: scene::Control::default(),
            formulation: scene::Formulation::default(),
            kinks: scene::Kinks::default(),
            interval,
            steps,
        }
    }
}

/// Where the energy is and where it went, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ledger {
    /// Of motion, armature included.
    pub kinetic: f64,
    /// Of height, zero at the world origin.
    pub potential: f64,
    /// Of springs.
    pub elastic: f64,
    /// Of bristles.
    pub bristle: f64,
    /// Put into bristles by changing loads.
    pub load: f64,
    /// Work of efforts, drives and external wrenches.
    pub input: f64,
    /// Heat of dampers and friction.
    pub dissipated: f64,
    /// Stored + dissipated − input − load − stored at the start: 0 but for errors of integration.
    pub balance: f64,
}

/// What the ledger remembers of the time before the present driver began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// Stored energy at the start, and what callers have put in by hand since.
    initial: f64,
    /// The same of bristles whose load is a reaction.
    pressed: f64,
    /// Quadratures, laid out like the system's.
    quad: Vec<f64>,
    /// Heat of joints that are gone.
    heat: f64,
    stats: Stats,
    counters: Counters,
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
    /// Scratch: the state as a caller left it.
    edited: Snapshot,
    /// Scratch: unknowns, `max_dim`; heat of each joint that has any.
    y: Vec<f64>,
    heat: Vec<f64>,
    past: Past,
    /// Poses of the links; `n_bodies`, the first of them the world's.
    results: WriteBack,
    /// Mode changes since the last call to `step`, and scratch for them: modes before.
    events: Vec<ModeEvent>,
    modes: Vec<Mode>,
    /// Where it all began; `None` once the machine is another.
    beginning: Option<Box<snapshot::Beginning>>,
    /// Tells machines and settings apart; made when first asked for.
    fingerprint: Option<u64>,
    /// A caller had the world in hand.
    is_touched: bool,
    /// A caller changed an effort.
    is_pushed: bool,
}

impl Simulation {
    /// The world of a scene, with its solver settings.
    pub fn new(scene: &Scene) -> Result<Self> {
        refuse_unsupported(scene)?;
        let (formulation, scene::Output { interval, steps }) = (scene.formulation, scene.output);
        let (method, control, kinks) = (scene.method(), scene.control(), scene.solver.kinks);
        let settings = Settings { method, control, formulation, kinks, interval, steps };
        let mut world = World::new();
        spawn(scene, &mut world)?;
        Self::with_settings(world, settings).map_err(|error| placed(scene, error))
    }

    /// The world of a robot in a URDF file, its root fixed; [`urdf::load`](crate::urdf::load) floats it, puts friction on its
    /// joints, and says what was understood of the file.
    pub fn from_urdf(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::new(&crate::urdf::load(path, &crate::urdf::Options::default())?.scene)
    }

    /// The same with friction put on its joints: the URDF stays as it came, a friction file says law and load by joint name. See
    /// [`urdf`](crate::urdf) for how it is written.
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
        if !(settings.interval.is_finite() && settings.interval > 0.0) {
            let (name, what, value) = ("output".into(), "interval", settings.interval);
            return Err(Error::Number { name, what, value, range: "positive and finite" });
        }
        let options = Options::new(method(settings.method), control(settings.control));
        refuse_settings(&settings)?;
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
            modes: Vec::new(),
            beginning: Some(Box::new(beginning)),
            fingerprint: None,
            is_touched: false,
            is_pushed: false,
        };
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
        &self.state.mechanics.q
    }

    /// Velocities in model order; `n_v`.
    pub fn velocities(&self) -> &[f64] {
        &self.state.mechanics.v
    }

    /// Accelerations in model order; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        self.system.accelerations()
    }

    /// What the run cost so far.
    pub fn stats(&self) -> Stats {
        add(self.driver.stats(), &self.past.stats)
    }

    /// What accelerations that depend on themselves have cost so far, and how well an integrated acceleration keeps to its equation.
    pub fn counters(&self) -> Counters {
        self.system.counters().and(self.past.counters)
    }

    /// What a user ought to know although the run goes on: bearings near jamming, and bearings whose load had not settled when the rounds of
    /// a real-time step ended, each with the time it was first seen; an explicit stepper whose steps stability holds down, most of them.
    pub fn warnings(&self) -> Vec<String> {
        let compiled = self.compiled();
        let near = self.system.near_jams().iter().map(|NearJam { contact, t, margin }| {
            let joint = &compiled.model.joint_names[compiled.contacts[*contact].joint];
            format!(
                "joint `{joint}` is near jamming at t = {t:?} s (margin {margin:.3e}): several accelerations are possible, \
                 the one continuous from no friction is taken"
            )
        });
        let unsettled = self.system.unsettled().iter().filter_map(|Unsettled { contact, t, largest }| {
            let joint = compiled.model.joint_names.get(compiled.contacts.get(*contact)?.joint)?;
            Some(format!(
                "the load of joint `{joint}` had not settled within a real-time step, first at t = {t:?} s (it still changed by up to \
                 {largest:.1e} of itself): friction there is off by as much; near jamming no step is short enough"
            ))
        });
        near.chain(unsettled).chain(self.stiffness()).collect()
    }

    /// A stiff machine in the hands of an explicit stepper.
    fn stiffness(&self) -> Option<String> {
        let (Stats { n_stiff, n_accepted, .. }, compiled) = (self.stats(), self.compiled());
        let Stiff { t, h, joint, contact } = self.system.stiff()?;
        if n_stiff < MANY_STIFF || 2 * n_stiff < n_accepted {
            return None;
        }
        // a number that a snapshot may have brought
        let name = match contact.filter(|&c| c < compiled.contacts.len()) {
            Some(c) => format!("the bristles of `{}`", compiled.contact_name(c)),
            None => format!("joint `{}`", compiled.model.joint_names.get(joint)?),
        };
        Some(format!(
            "{name}: too stiff for an explicit stepper, which crawls: from t = {t:?} s on steps of {h:.1e} s, {n_stiff} of {n_accepted} \
             held down by stability and not by the tolerance; take `Radau5`, or `RealTime` for steps of a fixed length"
        ))
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

    /// Sets the effort on a revolute or prismatic joint, N·m or N: the same as its [`Effort`] component, without a look
    /// at the rest of the world.
    pub fn set_effort(&mut self, joint: impl Handle, effort: f64) -> Result<()> {
        let (i, joint) = self.joint_number(joint)?;
        let model = &self.system.compiled().model;
        let name = || model.joint_names[i].clone();
        if !effort.is_finite() {
            return Err(Error::Number { name: name(), what: "effort", value: effort, range: "finite" });
        }
        let (JointKind::Revolute { .. } | JointKind::Prismatic { .. }) = model.kinds[i] else {
            let reason = "which belongs on revolute and prismatic joints";
            return Err(Error::Misplaced { name: name(), component: "Effort", reason });
        };
        let k = model.v_index[i];
        if let Ok(place) = self.world.query_one_mut::<&mut Effort>(joint) {
            place.0 = effort;
        } else {
            // a joint that is gone meanwhile is found out when the world is looked at
            let _ = self.world.insert_one(joint, Effort(effort));
        }
        self.system.set_effort(k, effort);
        self.is_pushed = true;
        Ok(())
    }

    /// Sets the efforts on all joints at once, in the order of [`Simulation::velocities`]; those of free joints, which take wrenches, must be 0.
    pub fn set_efforts(&mut self, efforts: &[f64]) -> Result<()> {
        let model = &self.compiled().model;
        if efforts.len() != model.n_v {
            let (value, range) = (efforts.len() as f64, "the number of velocities of the machine");
            return Err(Error::Number { name: "efforts".into(), what: "length", value, range });
        }
        for i in 1..model.n_bodies() {
            let range =
                if model.v_range(i).len() == 1 { "finite" } else { "0: a free joint takes wrenches on its link" };
            let is_refused = |x: &f64| !(x.is_finite() && (model.v_range(i).len() == 1 || *x == 0.0));
            if let Some(&value) = efforts[model.v_range(i)].iter().find(|x| is_refused(x)) {
                return Err(Error::Number { name: model.joint_names[i].clone(), what: "effort", value, range });
            }
        }
        for i in 1..self.compiled().model.n_bodies() {
            let compiled = self.compiled();
            let (range, entity) = (compiled.model.v_range(i), compiled.index.joint_entity(i));
            if let (1, Some(entity)) = (range.len(), entity) {
                self.set_effort(entity, efforts[range.start])?;
            }
        }
        Ok(())
    }

    /// Advances by exactly `dt`, in as many internal steps as it takes. [`Simulation::events`] are those on the way.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        self.events.clear();
        self.look_at_world()?;
        self.reconsider()?;
        let mut watch = read::Watch(std::mem::take(&mut self.events));
        let result = self.advance(self.driver.t() + dt, &mut watch);
        self.events = watch.0;
        result
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
        if recording.names() != self.channels() {
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
        let mut recorder = Recorder {
            past: self.past.clone(),
            samples: self.samples,
            k: self.samples.after(now),
            next: now,
            end: t,
            state: self.state.clone(),
            row: Vec::new(),
            output,
            is_stopped: false,
            error: None,
        };
        if is_continued {
            recorder.plan();
        }
        let result = self.advance(t, &mut recorder);
        // what could not be recorded came first
        recorder.error.map_or(result, Err)
    }

    /// What moves it, for copies.
    pub(crate) fn parts(&mut self) -> Result<(u64, &Machine, &Driver, &Snapshot, &Past)> {
        self.look_at_world()?;
        self.reconsider()?;
        Ok((self.fingerprint(), &self.system, &self.driver, &self.state, &self.past))
    }

    /// An empty recording with the channels of this simulation.
    pub fn recording(&self) -> Recording {
        Recording::new(self.channels())
    }

    /// The energy ledger, now.
    pub fn energy(&mut self) -> Result<Ledger> {
        ledger(&mut self.system, &self.state, self.driver.quadratures(), &self.past)
    }

    /// Advances the driver and puts the result into the world, also where it failed half-way.
    fn advance<K: Sink<Machine>>(&mut self, t: f64, sink: &mut K) -> Result<()> {
        self.reconsider()?;
        let result = self.driver.advance(&mut self.system, t, sink);
        let result = match result {
            Ok(Outcome::Stopped) => Err(Error::Stopped { t: self.driver.t() }),
            Ok(Outcome::Reached | Outcome::Terminated) => Ok(()),
            // a time that is none, or in the past: nothing has happened
            Err(error @ bristle_integrate::Error::Input { .. }) => return Err(Error::Integrate(error)),
            Err(error) => Err(explain(error, &mut self.system)),
        };
        let written = self.write_back();
        result.and(written)
    }

    /// After a push, what was stuck may have to let go at once.
    fn reconsider(&mut self) -> Result<()> {
        if !self.is_pushed {
            return Ok(());
        }
        self.is_pushed = false;
        let n = self.driver.y().len();
        self.y[..n].copy_from_slice(self.driver.y());
        self.modes.clear();
        self.modes.extend_from_slice(self.system.modes());
        self.system.reconsider(self.driver.t(), &mut self.y)?;
        self.note_changes();
        self.set_unknowns()
    }

    /// Gives the driver the unknowns in `self.y`.
    fn set_unknowns(&mut self) -> Result<()> {
        let n = self.system.dim();
        let set = self.driver.set_state(&mut self.system, &self.y[..n]);
        set.map_err(|error| explain(error, &mut self.system))
    }

    fn write_back(&mut self) -> Result<()> {
        let Self { world, system, driver, state, heat, past, results, .. } = self;
        system.look(driver.t(), driver.y())?;
        system.store(driver.t(), state);
        for (k, heat) in heat.iter_mut().enumerate() {
            *heat = driver.quadratures()[2 + k] + past.quad[2 + k];
        }
        results.put(world, system, state, heat)
    }

    /// Reads what a caller may have changed.
    fn look_at_world(&mut self) -> Result<()> {
        if !self.is_touched {
            return Ok(());
        }
        let before = self.system.energies(&self.state)?;
        let is_adopted = self.adopt_parameters()?;
        if self.compiled().is_current(&self.world) {
            self.system.read_actions(&self.world)?;
            self.edited.mechanics.t = self.state.mechanics.t;
            read_snapshot(&self.world, self.system.compiled(), &mut self.edited)?;
            if self.edited != self.state || is_adopted {
                std::mem::swap(&mut self.edited, &mut self.state);
                self.system.begin(&self.state, &mut self.y)?;
                self.set_unknowns()?;
            }
            self.is_pushed = true;
        } else {
            self.compile_again()?;
        }
        let after = self.system.energies(&self.state)?;
        self.past.initial += after.stored() - before.stored();
        self.past.pressed += after.pressed - before.pressed;
        self.is_touched = false;
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

        let (system, driver) = start(compiled, &state, &self.options, (self.formulation, self.kinks))?;
        let stats = self.stats();
        let counters = self.counters();
        let Past { initial, pressed, .. } = self.past;
        self.past = Past { initial, pressed, quad, heat: self.past.heat + heat, stats, counters };
        self.y = vec![0.0; system.max_dim()];
        self.heat = vec![0.0; n_heated(system.compiled())];
        self.edited = state.clone();
        (self.system, self.driver, self.state) = (system, driver, state);
        (self.beginning, self.fingerprint) = (None, None);
        Ok(())
    }

    fn channels(&self) -> Vec<String> {
        let compiled = self.compiled();
        let mut names = vec!["t".to_owned()];
        let mut contacts = compiled.contacts.iter().peekable();
        let mut heated = compiled.heated.iter().peekable();
        for i in 1..compiled.model.n_bodies() {
            let joint = &compiled.model.joint_names[i];
            let mut channels = |what: &[&str]| names.extend(what.iter().map(|what| format!("{joint}.{what}")));
            match compiled.model.kinds[i] {
                JointKind::Fixed => {}
                JointKind::Free => {
                    channels(&["position.x", "position.y", "position.z"]);
                    channels(&["position.qw", "position.qx", "position.qy", "position.qz"]);
                    for what in ["velocity", "acceleration"] {
                        for part in ["wx", "wy", "wz", "vx", "vy", "vz"] {
                            channels(&[&format!("{what}.{part}")]);
                        }
                    }
                }
                JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                    channels(&["position", "velocity", "acceleration"]);
                    if let Some(contact) = contacts.next_if(|c| c.joint == i && c.element.is_none()) {
                        channels(&["friction", "load"]);
                        channels(if contact.is_event_driven() { &["mode"] } else { &[] });
                        channels(&["z", "w"][..contact.law.n_states()]);
                    }
                    channels(if heated.next_if_eq(&&i).is_some() { &["dissipated"] } else { &[] });
                }
            }
        }
        for (k, element) in compiled.coupled.elements.iter().enumerate() {
            let mut channels = |what: &[&str]| names.extend(what.iter().map(|what| format!("{}.{what}", element.name)));
            if compiled.coupled.ties.iter().any(|tie| tie.element == k) {
                channels(&["effort"]);
            } else if let Some(contact) = compiled.contacts.iter().find(|contact| contact.element == Some(k)) {
                channels(&["position", "velocity", "friction", "load"]);
                channels(if contact.is_event_driven() { &["mode"] } else { &[] });
                channels(&["z", "w"][..contact.law.n_states()]);
                channels(&["dissipated"]);
            } else {
                channels(&["position", "velocity", "effort", "dissipated"]);
            }
        }
        let energies = ["kinetic", "potential", "elastic", "bristle", "load", "input", "dissipated", "balance"];
        names.extend(energies.map(|energy| format!("energy.{energy}")));
        names
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
    let tolerances = match options.control.tolerances() {
        Some((rtol, Atol::Uniform(atol))) => Some((rtol, *atol)),
        _ => None,
    };
    let mut system = Machine::new(compiled, formulation, tolerances);
    system.set_kinks(kinks);
    if options.method == Method::Own {
        system.make_real_time();
    }
    let mut y = vec![0.0; system.max_dim()];
    system.begin(state, &mut y)?;
    let n = system.dim();
    let driver = Driver::new(&mut system, state.mechanics.t, &y[..n], options.clone());
    let driver = driver.map_err(|error| explain(error, &mut system))?;
    Ok((system, driver))
}

/// Makes rows from the interpolant.
struct Recorder<'r> {
    output: &'r mut dyn Record,
    past: Past,
    samples: Samples,
    /// Number of the instant after `next`.
    k: u64,
    next: f64,
    end: f64,
    state: Snapshot,
    row: Vec<f64>,
    /// The output has had enough.
    is_stopped: bool,
    error: Option<Error>,
}

impl Recorder<'_> {
    /// The instant after `next`: the last one is the end, exactly.
    fn plan(&mut self) {
        if self.next >= self.end || self.samples.is_every_step() {
            self.next = f64::INFINITY;
            return;
        }
        let at = self.samples.at(self.k);
        self.k = self.k.saturating_add(1);
        self.next = if at >= self.end || self.samples.coincide(at, self.end) { self.end } else { at };
    }

    fn record(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) -> Result<()> {
        let Self { state, row, past, .. } = self;
        system.look(t, y)?;
        system.store(t, state);
        let ledger = ledger(system, state, quad, past)?;
        let compiled = system.compiled();
        let (model, a) = (&compiled.model, system.accelerations());
        row.clear();
        row.push(t);
        let mut contacts = compiled.contacts.iter().enumerate().peekable();
        let mut heats = compiled.heated.iter().zip(quad[2..].iter().zip(&past.quad[2..])).peekable();
        for i in 1..model.n_bodies() {
            row.extend_from_slice(&state.mechanics.q[model.q_range(i)]);
            row.extend_from_slice(&state.mechanics.v[model.v_range(i)]);
            row.extend_from_slice(&a[model.v_range(i)]);
            if let Some((c, contact)) = contacts.next_if(|(_, c)| c.joint == i && c.element.is_none()) {
                row.extend([system.friction()[c], system.loads()[c]]);
                if contact.is_event_driven() {
                    row.push(system.modes()[c].direction());
                }
                let bristle = state.bristles[c];
                row.extend_from_slice(&[bristle.z, bristle.w][..contact.law.n_states()]);
            }
            if let Some((_, (now, past))) = heats.next_if(|heat| *heat.0 == i) {
                row.push(now + past);
            }
        }
        let heat = |k: usize| {
            let k = 2 + compiled.heat_of_element(k);
            quad[k] + past.quad[k]
        };
        let coupled = &compiled.coupled;
        for k in 0..coupled.elements.len() {
            if let Some(tie) = coupled.ties.iter().position(|tie| tie.element == k) {
                row.push(system.tie_efforts()[tie]);
            } else if let Some(c) = compiled.contacts.iter().position(|contact| contact.element == Some(k)) {
                let contact = &compiled.contacts[c];
                row.extend(system.relative(contact.v, contact.b));
                row.extend([system.friction()[c], system.loads()[c]]);
                if contact.is_event_driven() {
                    row.push(system.modes()[c].direction());
                }
                let bristle = state.bristles[c];
                row.extend_from_slice(&[bristle.z, bristle.w][..contact.law.n_states()]);
                row.push(heat(k));
            } else if let Some(s) = coupled.springs.iter().position(|spring| spring.element == k) {
                row.extend(system.relative(coupled.springs[s].a, Some(coupled.springs[s].b)));
                row.extend([system.spring_effort(s), heat(k)]);
            }
        }
        let Ledger { kinetic, potential, elastic, bristle, load, input, dissipated, balance } = ledger;
        row.extend([kinetic, potential, elastic, bristle, load, input, dissipated, balance]);
        self.output.row(row)
    }
}

impl Recorder<'_> {
    fn note_changes(&mut self, system: &Machine, t: f64) {
        let compiled = system.compiled();
        for change in system.changes() {
            let joint = compiled.contact_name(change.contact).to_owned();
            let recorded = self.output.event(Event { t, joint, from: change.from, to: change.to });
            self.error = self.error.take().or(recorded.err());
        }
    }
}

impl Sink<Machine> for Recorder<'_> {
    fn next_sample(&self) -> f64 {
        self.next
    }

    fn sample(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) {
        if self.error.is_none() {
            self.error = self.record(system, t, y, quad).err();
        }
        self.plan();
    }

    fn step(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) {
        if self.samples.is_every_step() && self.error.is_none() {
            self.error = self.record(system, t, y, quad).err();
        }
        if system.is_real_time() {
            // no events: what has changed in the step is noted at its end
            self.note_changes(system, t);
        }
        self.is_stopped |= self.output.step(t).is_break();
    }

    fn event(&mut self, system: &mut Machine, t: f64, _y: &[f64], _quad: &[f64], _fired: &[Fired]) {
        self.note_changes(system, t);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped || self.error.is_some()
    }
}

pub(crate) fn ledger(system: &mut Machine, state: &Snapshot, quad: &[f64], past: &Past) -> Result<Ledger> {
    let stored = system.energies(state)?;
    let input = quad[0] + past.quad[0];
    let load = quad[1] + past.quad[1] + (stored.pressed - past.pressed);
    let dissipated = past.heat + quad[2..].iter().chain(&past.quad[2..]).sum::<f64>();
    Ok(Ledger {
        kinetic: stored.kinetic,
        potential: stored.potential,
        elastic: stored.elastic,
        bristle: stored.bristle,
        load,
        input,
        dissipated,
        balance: stored.stored() + dissipated - input - load - past.initial,
    })
}

/// Names in place of numbers.
pub(crate) fn explain(error: bristle_integrate::Error, system: &mut Machine) -> Error {
    use bristle_integrate::Error as Integrate;
    let met = error.last().and_then(|(t, ..)| system.take_failure(t));
    let name = |system: &Machine, joint: usize| system.compiled().model.joint_names[joint].clone();
    match (error, met) {
        // numbers ran away on the way to the next step: that of the largest one says where
        (error, Some(Error::Mechanics { t, source: bristle_multibody::Error::NonFinite { .. } }))
            if error.last().is_some_and(|last| !last.2.is_empty()) =>
        {
            let (_, h, state) = error.last().unwrap_or((t, 0.0, &[]));
            let largest = state.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map_or(0, |y| y.0);
            let (quantity, joint) = system.unknown(largest);
            Error::Diverged { quantity, joint: name(system, joint), t, step: h }
        }
        (Integrate::System { .. } | Integrate::StepTooSmall { .. } | Integrate::Newton { .. }, Some(met)) => met,
        (Integrate::NonFinite { t, h, component, .. }, _) => {
            let (quantity, joint) = system.unknown(component);
            Error::Diverged { quantity, joint: name(system, joint), t, step: h }
        }
        (Integrate::EventBudget { t, event: Fired::Root { index, .. }, burst, .. }, _) => {
            Error::ModeCycle { t, joint: name(system, system.joint_of_event(index)), burst }
        }
        (error @ (Integrate::StepTooSmall { .. } | Integrate::Newton { .. }), None) => {
            // a residual form that cannot be solved has no pivots to tell of a jam by
            let jam = error.last().and_then(|(t, _, state)| system.near_jam(t, state));
            jam.unwrap_or(Error::Integrate(error))
        }
        (error, _) => Error::Integrate(error),
    }
}

fn unknown(what: &'static str, name: &str, names: &[String]) -> Error {
    let known: Vec<&str> = names.iter().skip(1).take(8).map(String::as_str).collect();
    Error::Unknown { what, name: name.into(), known: known.join(", ") }
}

/// What keeps a scene from starting has its place there.
fn placed(scene: &Scene, error: Error) -> Error {
    let path = match &error {
        Error::Unsupported { .. } => "solver.method".into(),
        Error::Integrate(bristle_integrate::Error::Input { what, .. }) => format!("solver.control.{what}"),
        Error::Jam { joint, .. } | Error::NoAcceleration { joint, .. } => format!("joints.{joint}.load"),
        Error::Mechanics { source: bristle_multibody::Error::Singular { joint, .. }, .. } => format!("joints.{joint}"),
        Error::Modes { joint: name, .. } | Error::Friction { joint: name, .. } => of_element(scene, name, "friction"),
        Error::Signal { joint, .. } => format!("joints.{joint}.drive"),
        Error::Coupling { name, .. } => of_element(scene, name, ""),
        _ => return error,
    };
    Error::Scene(scene.problem(&path, error.to_string(), "").into())
}

/// The path of a joint or coupling, or of a field of it.
fn of_element(scene: &Scene, name: &str, field: &str) -> String {
    let list = if scene.joints.iter().any(|joint| joint.name == name) { "joints" } else { "couplings" };
    format!("{list}.{name}{}{field}", if field.is_empty() { "" } else { "." })
}

/// Refuses what `RealTime` cannot be told: it has one step, and its own way with loads.
fn refuse_settings(settings: &Settings) -> Result<()> {
    let is_constant = matches!(settings.control, scene::Control::Constant { .. });
    if settings.method != scene::Method::RealTime || is_constant && settings.formulation == scene::Formulation::Implicit
    {
        return Ok(());
    }
    let what = if is_constant {
        "a formulation other than `Implicit` with `RealTime`, which has its own way with loads,"
    } else {
        "step control other than `Constant(step: …)` with `RealTime`"
    };
    Err(Error::Unsupported { name: "solver".into(), what: what.into() })
}

fn method(method: scene::Method) -> Method {
    match method {
        scene::Method::Euler => Method::Euler,
        scene::Method::MixedEuler => Method::MixedEuler,
        scene::Method::LinearlyImplicitEuler => Method::LinearlyImplicitEuler,
        scene::Method::Rk4 => Method::Rk4,
        scene::Method::Dopri5 => Method::Dopri5,
        scene::Method::Trapezoidal => Method::Trapezoidal,
        scene::Method::Radau3 => Method::Radau3,
        scene::Method::Radau5 => Method::Radau5,
        scene::Method::GeneralizedAlpha { spectral_radius } => Method::GeneralizedAlpha { spectral_radius },
        scene::Method::RealTime => Method::Own,
    }
}

fn control(control: scene::Control) -> Control {
    match control {
        scene::Control::Constant { step } => Control::Constant { step },
        scene::Control::Error { rtol, atol } => Control::error(rtol, atol),
        scene::Control::Elementary { rtol, atol } => Control::Elementary { rtol, atol: Atol::Uniform(atol) },
        scene::Control::DymoreCoulomb { min, max, v_min, t_s } => Control::DymoreCoulomb { min, max, v_min, t_s },
        scene::Control::DymoreLuGre { min, v_min, alpha, t_s } => Control::DymoreLuGre { min, v_min, alpha, t_s },
        scene::Control::Velocity { inside, outside, range } => Control::Velocity { inside, outside, range },
        scene::Control::TimeConstant { max, fraction } => Control::TimeConstant { max, fraction },
        scene::Control::TimeConstantSwitch { threshold, below, above } => {
            Control::TimeConstantSwitch { threshold, below, above }
        }
    }
}

fn add(a: &Stats, b: &Stats) -> Stats {
    let mut sum = *a;
    for (sum, b) in [
        (&mut sum.n_accepted, b.n_accepted),
        (&mut sum.n_rejected, b.n_rejected),
        (&mut sum.n_failed, b.n_failed),
        (&mut sum.n_rhs, b.n_rhs),
        (&mut sum.n_residual, b.n_residual),
        (&mut sum.n_jacobian, b.n_jacobian),
        (&mut sum.n_difference_columns, b.n_difference_columns),
        (&mut sum.n_factor, b.n_factor),
        (&mut sum.n_solve, b.n_solve),
        (&mut sum.n_newton, b.n_newton),
        (&mut sum.n_quadrature, b.n_quadrature),
        (&mut sum.n_events, b.n_events),
        (&mut sum.n_time_events, b.n_time_events),
        (&mut sum.n_event_evaluations, b.n_event_evaluations),
        (&mut sum.n_landings, b.n_landings),
        (&mut sum.n_charts, b.n_charts),
        (&mut sum.n_stiff, b.n_stiff),
    ] {
        *sum += b;
    }
    sum
}

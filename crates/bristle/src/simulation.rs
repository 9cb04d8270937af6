//! A world and its motion: run to a time, or step by step.
//!
//! States live on the entities: after every call the world carries them, with poses, accelerations and reactions, for a
//! user's own systems to read. Whatever a caller changes in the world ([`Simulation::world_mut`]) holds from the next call on:
//! efforts, wrenches, dampers, springs and states are read again, and a machine that has other links or joints than
//! before is compiled again. Time and the energy ledger go on; energy put in by hand shifts the ledger's start, so that
//! [`Ledger::balance`] stays a measure of the integration.

use crate::compile::{Compiled, compile, read_state};
use crate::component::Effort;
use crate::error::{Error, Result};
use crate::formulation::{Formulation, Smooth};
use crate::record::{Recording, Samples};
use crate::scene::{self, Scene};
use crate::spawn::{refuse_unsupported, spawn};
use bristle_integrate::{Control, Driver, Method, Options, Sink, Stats, System};
use bristle_multibody::{JointKind, State};
use hecs::{Entity, World};

/// Numbers in a recording at most: they stay in memory, 8 GB of it.
const MOST_NUMBERS: f64 = 1e9;

/// How a world is to be simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Integration method.
    pub method: scene::Method,
    /// Step control.
    pub control: scene::Control,
    /// Time between recorded rows, s.
    pub interval: f64,
}

impl Default for Settings {
    /// `Dopri5`, error control with rtol 1e-8 and atol 1e-10, a row every 0.01 s.
    fn default() -> Self {
        let interval = scene::Output::default().interval;
        Self { method: scene::Method::Dopri5, control: scene::Control::default(), interval }
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
struct Past {
    /// Stored energy at the start, and what callers have put in by hand since.
    initial: f64,
    /// Quadratures, laid out like the system's.
    quad: Vec<f64>,
    /// Heat of dampers that are gone.
    heat: f64,
    stats: Stats,
}

/// The equations in use.
type Equations = Smooth;

/// A world in motion. See the [module](self).
pub struct Simulation {
    world: World,
    system: Equations,
    driver: Driver,
    options: Options,
    samples: Samples,
    /// At the driver's time.
    state: State,
    /// Accelerations there; `n_v`.
    a: Vec<f64>,
    /// Scratch: the state as a caller left it.
    edited: State,
    past: Past,
    /// A caller had the world in hand.
    is_touched: bool,
    /// A caller changed an effort.
    is_pushed: bool,
}

impl Simulation {
    /// The world of a scene, with its solver settings.
    pub fn new(scene: &Scene) -> Result<Self> {
        refuse_unsupported(scene)?;
        let settings = Settings { method: scene.method(), control: scene.control(), interval: scene.output.interval };
        let mut world = World::new();
        spawn(scene, &mut world)?;
        // what the solver refuses has its place in the scene
        let refused = |path, reason: String| Error::Scene(scene.problem(path, reason, "").into());
        Self::with_settings(world, settings).map_err(|error| match error {
            Error::Unsupported { what, .. } => refused("solver.method", format!("{what} is not yet supported")),
            Error::Integrate(error @ bristle_integrate::Error::Input { .. }) => refused("solver", error.to_string()),
            error => error,
        })
    }

    /// A world built in code, with default [`Settings`].
    pub fn from_world(world: World) -> Result<Self> {
        Self::with_settings(world, Settings::default())
    }

    /// A world built in code.
    pub fn with_settings(world: World, settings: Settings) -> Result<Self> {
        if !(settings.interval.is_finite() && settings.interval > 0.0) {
            let (name, what, value) = ("output".into(), "interval", settings.interval);
            return Err(Error::Number { name, what, value, range: "positive and finite" });
        }
        let options = Options::new(method(settings.method)?, control(settings.control));
        let compiled = compile(&world)?;
        let mut state = State::rest(&compiled.model);
        read_state(&world, &compiled, &mut state)?;
        let (mut system, driver) = start(compiled, &state, &options)?;
        let initial = system.energies(&state)?.stored();
        let past = Past { initial, quad: vec![0.0; system.n_quadratures()], heat: 0.0, stats: Stats::default() };
        let a = vec![0.0; state.v.len()];
        let samples = Samples::new(settings.interval);
        let (is_touched, is_pushed) = (false, false);
        let edited = state.clone();
        let mut sim = Self { world, system, driver, options, samples, state, a, edited, past, is_touched, is_pushed };
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
        &self.state.q
    }

    /// Velocities in model order; `n_v`.
    pub fn velocities(&self) -> &[f64] {
        &self.state.v
    }

    /// Accelerations in model order; `n_v`.
    pub fn accelerations(&self) -> &[f64] {
        &self.a
    }

    /// What the run cost so far.
    pub fn stats(&self) -> Stats {
        add(self.driver.stats(), &self.past.stats)
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
    pub fn set_effort(&mut self, joint: Entity, effort: f64) -> Result<()> {
        let compiled = self.system.compiled();
        let model = &compiled.model;
        let unknown = || unknown("joint", &format!("{joint:?}"), &model.joint_names);
        let i = compiled.index.joint(joint).ok_or_else(unknown)?;
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

    /// Advances by exactly `dt`, in as many internal steps as it takes.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        self.look_at_world()?;
        self.advance(self.driver.t() + dt, &mut ())
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
        if rows * recording.names().len() as f64 > MOST_NUMBERS {
            let (name, what, value) = ("output".into(), "interval", self.samples.interval());
            return Err(Error::Number { name, what, value, range: "longer: a recording has room for 1e9 numbers" });
        }
        let is_continued = recording.rows().next_back().is_some_and(|row| row[0] == now);
        let mut recorder = Recorder {
            past: self.past.clone(),
            samples: self.samples,
            k: self.samples.after(now),
            next: now,
            end: t,
            state: self.state.clone(),
            row: Vec::with_capacity(recording.names().len()),
            recording,
            error: None,
        };
        if is_continued {
            recorder.plan();
        }
        let result = self.advance(t, &mut recorder);
        // what could not be recorded came first
        recorder.error.map_or(result, Err)
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
    fn advance<K: Sink<Equations>>(&mut self, t: f64, sink: &mut K) -> Result<()> {
        if self.is_pushed {
            self.is_pushed = false;
            let valid = self.driver.invalidate(&mut self.system);
            valid.map_err(|error| explain(error, &mut self.system))?;
        }
        let result = self.driver.advance(&mut self.system, t, sink);
        let result = result.map(|_| ()).map_err(|error| explain(error, &mut self.system));
        self.system.state(self.driver.t(), self.driver.y(), &mut self.state)?;
        let written = self.write_back();
        result.and(written)
    }

    fn write_back(&mut self) -> Result<()> {
        let Self { world, system, state, a, .. } = self;
        a.copy_from_slice(system.acceleration(state)?);
        system.write_back(world, state, a)
    }

    /// Reads what a caller may have changed.
    fn look_at_world(&mut self) -> Result<()> {
        if !self.is_touched {
            return Ok(());
        }
        let before = self.system.energies(&self.state)?.stored();
        if self.compiled().is_current(&self.world) {
            self.system.read_actions(&self.world)?;
            self.edited.t = self.state.t;
            read_state(&self.world, self.system.compiled(), &mut self.edited)?;
            if self.edited != self.state {
                std::mem::swap(&mut self.edited, &mut self.state);
                let mut y = self.driver.y().to_vec();
                self.system.begin(&self.state, &mut y);
                let set = self.driver.set_state(&mut self.system, &y);
                set.map_err(|error| explain(error, &mut self.system))?;
            }
            self.is_pushed = true;
        } else {
            self.compile_again()?;
        }
        self.past.initial += self.system.energies(&self.state)?.stored() - before;
        self.is_touched = false;
        Ok(())
    }

    /// Compiles the world as it is now; joints that remain keep their states and their heat.
    fn compile_again(&mut self) -> Result<()> {
        let compiled = compile(&self.world)?;
        let mut state = State::rest(&compiled.model);
        state.t = self.driver.t();
        read_state(&self.world, &compiled, &mut state)?;

        // the ledger so far, by entity
        let old = self.system.compiled();
        let so_far: Vec<f64> = self.driver.quadratures().iter().zip(&self.past.quad).map(|(a, b)| a + b).collect();
        let mut quad = vec![so_far[0]];
        for damper in &compiled.dampers {
            let entity = compiled.index.joint_entity(damper.joint);
            let same = old.dampers.iter().position(|d| old.index.joint_entity(d.joint) == entity);
            quad.push(same.map_or(0.0, |k| so_far[1 + k]));
        }
        let heat = so_far[1..].iter().sum::<f64>() - quad[1..].iter().sum::<f64>();

        let (system, driver) = start(compiled, &state, &self.options)?;
        let stats = self.stats();
        self.past = Past { initial: self.past.initial, quad, heat: self.past.heat + heat, stats };
        self.a = vec![0.0; state.v.len()];
        self.edited = state.clone();
        (self.system, self.driver, self.state) = (system, driver, state);
        Ok(())
    }

    fn channels(&self) -> Vec<String> {
        let compiled = self.compiled();
        let mut names = vec!["t".to_owned()];
        let mut dampers = compiled.dampers.iter().peekable();
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
                    if dampers.next_if(|d| d.joint == i).is_some() {
                        channels(&["dissipated"]);
                    }
                }
            }
        }
        let energies = ["kinetic", "potential", "elastic", "bristle", "load", "input", "dissipated", "balance"];
        names.extend(energies.map(|energy| format!("energy.{energy}")));
        names
    }
}

/// A system at a state, and the driver that moves it.
fn start(compiled: Compiled, state: &State, options: &Options) -> Result<(Equations, Driver)> {
    let mut system = Equations::new(compiled);
    let mut y = vec![0.0; system.dim()];
    system.begin(state, &mut y);
    let driver = Driver::new(&mut system, state.t, &y, options.clone());
    let driver = driver.map_err(|error| explain(error, &mut system))?;
    Ok((system, driver))
}

/// Fills a recording from the interpolant.
struct Recorder<'r> {
    recording: &'r mut Recording,
    past: Past,
    samples: Samples,
    /// Number of the instant after `next`.
    k: u64,
    next: f64,
    end: f64,
    state: State,
    row: Vec<f64>,
    error: Option<Error>,
}

impl Recorder<'_> {
    /// The instant after `next`: the last one is the end, exactly.
    fn plan(&mut self) {
        if self.next >= self.end {
            self.next = f64::INFINITY;
            return;
        }
        let at = self.samples.at(self.k);
        self.k = self.k.saturating_add(1);
        self.next = if at >= self.end || self.samples.coincide(at, self.end) { self.end } else { at };
    }

    fn record(&mut self, system: &mut impl Formulation, t: f64, y: &[f64], quad: &[f64]) -> Result<()> {
        let Self { state, row, past, .. } = self;
        system.state(t, y, state)?;
        let ledger = ledger(system, state, quad, past)?;
        let a = system.acceleration(state)?;
        row.clear();
        row.push(t);
        // joints, in order; their share of `a` is copied out because the machine belongs to the system too
        let split = row.len();
        row.extend_from_slice(a);
        let compiled = system.compiled();
        let model = &compiled.model;
        let mut heats = compiled.dampers.iter().zip(quad[1..].iter().zip(&past.quad[1..])).peekable();
        for i in 1..model.n_bodies() {
            row.extend_from_slice(&state.q[model.q_range(i)]);
            row.extend_from_slice(&state.v[model.v_range(i)]);
            for k in model.v_range(i) {
                row.push(row[split + k]);
            }
            if let Some((_, (now, past))) = heats.next_if(|heat| heat.0.joint == i) {
                row.push(now + past);
            }
        }
        row.drain(split..split + model.n_v);
        let Ledger { kinetic, potential, elastic, bristle, load, input, dissipated, balance } = ledger;
        row.extend([kinetic, potential, elastic, bristle, load, input, dissipated, balance]);
        self.recording.push(row);
        Ok(())
    }
}

impl<F: Formulation> Sink<F> for Recorder<'_> {
    fn next_sample(&self) -> f64 {
        self.next
    }

    fn sample(&mut self, system: &mut F, t: f64, y: &[f64], quad: &[f64]) {
        if self.error.is_none() {
            self.error = self.record(system, t, y, quad).err();
        }
        self.plan();
    }
}

fn ledger(system: &mut impl Formulation, state: &State, quad: &[f64], past: &Past) -> Result<Ledger> {
    let stored = system.energies(state)?;
    let (input, heats) = (quad[0] + past.quad[0], quad[1..].iter().chain(&past.quad[1..]));
    let dissipated = past.heat + heats.sum::<f64>();
    Ok(Ledger {
        kinetic: stored.kinetic,
        potential: stored.potential,
        elastic: stored.elastic,
        bristle: stored.bristle,
        load: 0.0,
        input,
        dissipated,
        balance: stored.stored() + dissipated - input - past.initial,
    })
}

/// Names in place of numbers.
fn explain(error: bristle_integrate::Error, system: &mut impl Formulation) -> Error {
    use bristle_integrate::Error as Integrate;
    let met = system.take_failure();
    let model = &system.compiled().model;
    match (error, met) {
        (Integrate::System { t, .. }, Some(source)) => Error::Mechanics { t, source },
        (Integrate::NonFinite { t, h, component, .. }, _) if component < 2 * model.n_v => {
            let quantity = if component < model.n_v { "position" } else { "velocity" };
            let joint = model.joint_names[model.joint_of_velocity(component % model.n_v)].clone();
            Error::Diverged { quantity, joint, t, step: h }
        }
        (error, _) => Error::Integrate(error),
    }
}

fn unknown(what: &'static str, name: &str, names: &[String]) -> Error {
    let known: Vec<&str> = names.iter().skip(1).take(8).map(String::as_str).collect();
    Error::Unknown { what, name: name.into(), known: known.join(", ") }
}

fn method(method: scene::Method) -> Result<Method> {
    Ok(match method {
        scene::Method::Euler => Method::Euler,
        scene::Method::MixedEuler => Method::MixedEuler,
        scene::Method::Rk4 => Method::Rk4,
        scene::Method::Dopri5 => Method::Dopri5,
        scene::Method::Trapezoidal => Method::Trapezoidal,
        scene::Method::Radau3 => Method::Radau3,
        scene::Method::Radau5 => Method::Radau5,
        scene::Method::GeneralizedAlpha { spectral_radius } => Method::GeneralizedAlpha { spectral_radius },
        scene::Method::RealTime => {
            let what = format!("method `{}`", method.name());
            return Err(Error::Unsupported { name: "solver".into(), what });
        }
    })
}

fn control(control: scene::Control) -> Control {
    match control {
        scene::Control::Constant { step } => Control::Constant { step },
        scene::Control::Error { rtol, atol } => Control::error(rtol, atol),
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
    ] {
        *sum += b;
    }
    sum
}

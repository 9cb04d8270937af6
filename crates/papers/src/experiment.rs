//! One run of a scene of the papers by the engine, as in `bristle run`: the file is read and checked, values are
//! replaced as with `--set`, and the simulation records rows.
//!
//! A failed run is a result, too: it has its rows so far and the reason of its end.

use super::series::range;
use bristle::component::{BristleState, Friction, Name};
use bristle::hecs::Entity;
use bristle::integrate::Stats;
use bristle::{Error, Event, Record, Scene, Simulation};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A scene under `scenes/papers/`, built in so that the command works anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperScene {
    /// Its path in the repository.
    pub path: &'static str,
    /// The file.
    pub text: &'static str,
}

/// A scene under `scenes/papers/` by its path there.
macro_rules! paper_scene {
    ($path:literal) => {
        $crate::experiment::PaperScene {
            path: concat!("scenes/papers/", $path),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/papers/", $path)),
        }
    };
}
pub(crate) use paper_scene;

/// A run that is being prepared.
#[derive(Debug, Clone)]
pub struct Experiment {
    scene: PaperScene,
    set: Vec<(String, String)>,
    channels: Vec<String>,
    most_steps: usize,
    stops: Option<f64>,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Found {
    /// Times of the rows.
    pub t: Vec<f64>,
    /// The requested channels, in that order.
    columns: Vec<Vec<f64>>,
    /// Changes of mode.
    pub events: Vec<Event>,
    /// Costs.
    pub stats: Stats,
    /// Time it took.
    pub wall: Duration,
    /// Shortest and longest step.
    pub step: (f64, f64),
    /// The reason why the run ended early.
    pub failure: Option<String>,
}

impl Found {
    /// Channel number `k` of those asked for.
    pub fn column(&self, k: usize) -> &[f64] {
        &self.columns[k]
    }

    /// Smallest and largest value of channel number `k`.
    pub fn range(&self, k: usize) -> (f64, f64) {
        range(self.columns[k].iter().copied())
    }

    /// Largest value of channel number `k`.
    pub fn largest(&self, k: usize) -> f64 {
        self.range(k).1
    }

    /// Largest magnitude of channel number `k`.
    pub fn magnitude(&self, k: usize) -> f64 {
        self.columns[k].iter().fold(0.0, |max, x| x.abs().max(max))
    }
}

impl Experiment {
    /// A scene without changes.
    pub fn new(scene: PaperScene) -> Self {
        Self { scene, set: Vec::new(), channels: Vec::new(), most_steps: usize::MAX, stops: None }
    }

    /// Replaces a value of the file.
    pub fn set(mut self, path: &str, value: impl Into<String>) -> Self {
        self.set.push((path.to_owned(), value.into()));
        self
    }

    /// Replaces values of the file.
    pub fn set_all(self, values: impl IntoIterator<Item = (String, String)>) -> Self {
        values.into_iter().fold(self, |run, (path, value)| run.set(&path, value))
    }

    /// The same value for a field of several couplings.
    pub fn couplings(self, names: &[&str], field: &str, value: &str) -> Self {
        names.iter().fold(self, |run, name| run.set(&format!("couplings.{name}.{field}"), value))
    }

    /// Replaces a number of the file.
    pub fn number(self, path: &str, value: f64) -> Self {
        self.set(path, format!("{value:?}"))
    }

    /// Method and step control.
    pub fn solver(self, method: &str, control: &str) -> Self {
        self.set("solver.method", method).set("solver.control", control)
    }

    /// Error control.
    pub fn tolerance(self, method: &str, rtol: f64, atol: f64) -> Self {
        self.solver(method, &format!("Error(rtol: {rtol:?}, atol: {atol:?})"))
    }

    /// A constant step.
    pub fn step(self, method: &str, step: f64) -> Self {
        self.solver(method, &format!("Constant(step: {step:?})"))
    }

    /// Rows every `interval`.
    pub fn every(self, interval: f64) -> Self {
        self.number("output.interval", interval)
    }

    /// Rows at the end of every step.
    pub fn every_step(self) -> Self {
        self.set("output.steps", "true")
    }

    /// Channels to keep.
    pub fn keep(mut self, channels: &[&str]) -> Self {
        self.channels = channels.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Ends a run after this number of steps.
    pub fn at_most(mut self, steps: usize) -> Self {
        self.most_steps = steps;
        self
    }

    /// Ends a step at every multiple of this time, as programs do that call an integrator from one output point to the
    /// next.
    pub fn stop_every(mut self, interval: f64) -> Self {
        self.stops = Some(interval);
        self
    }

    /// The scene with the replaced values.
    pub fn scene(&self) -> Result<Scene, Error> {
        let set: Vec<(&str, &str)> = self.set.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        Ok(Scene::parse_with(self.scene.text, self.scene.path, &set)?)
    }

    /// The simulation at its start, for experiments that step it themselves.
    pub fn simulation(&self) -> Result<Simulation, Error> {
        Simulation::new(&self.scene()?)
    }

    /// Runs. An error is a refused scene; a failed run is a result.
    pub fn run(&self) -> Result<Found, Error> {
        let scene = self.scene()?;
        self.go_on(&mut Simulation::new(&scene)?, scene.duration)
    }

    /// Runs a simulation of this on to time `end`.
    pub fn go_on(&self, sim: &mut Simulation, end: f64) -> Result<Found, Error> {
        let recording = sim.recording();
        let place = |name: &String| recording.names().iter().position(|known| known == name);
        let mut picked = Vec::with_capacity(self.channels.len());
        for name in &self.channels {
            let known = || recording.names().join(", ");
            picked.push(place(name).ok_or_else(|| Error::Unknown {
                what: "channel",
                name: name.clone(),
                known: known(),
            })?);
        }
        let mut kept = Kept {
            t: Vec::new(),
            columns: vec![Vec::new(); picked.len()],
            picked,
            events: Vec::new(),
            last: sim.time(),
            step: (f64::INFINITY, 0.0),
            left: self.most_steps,
            is_again: false,
        };
        let start = Instant::now();
        let result = match self.stops {
            None => sim.run_with(end, &mut kept),
            Some(interval) => (1..=(end / interval).ceil() as usize).try_for_each(|k| {
                sim.run_with((k as f64 * interval).min(end), &mut kept)?;
                // the next piece begins with the last row of this one
                kept.is_again = true;
                Ok(())
            }),
        };
        let wall = start.elapsed();
        let Kept { t, columns, events, step, .. } = kept;
        let failure = match result {
            Ok(()) => None,
            Err(Error::Stopped { t }) => Some(format!("given up at t = {t:.3} after {} steps", self.most_steps)),
            Err(error) => Some(error.to_string()),
        };
        Ok(Found { t, columns, events, stats: sim.stats(), wall, step, failure })
    }
}

/// σ₀z of a joint: the state that is integrated.
pub fn bristle_effort(sim: &mut Simulation, joint: &str) -> Result<f64, Error> {
    Ok(sigma0(sim, joint)? * sim.bristle(joint)?.z)
}

/// The entity of a joint or coupling.
fn entity(sim: &mut Simulation, name: &str) -> Result<Entity, Error> {
    if let Ok(joint) = sim.joint(name) {
        return Ok(joint);
    }
    let mut query = sim.world_mut().query::<(Entity, &Name)>();
    let found = query.iter().find(|(_, named)| named.0 == name).map(|(entity, _)| entity);
    found.ok_or_else(|| Error::Unknown { what: "coupling", name: name.into(), known: String::new() })
}

/// Changes σ₀z of a coupling by one unit in the last place, away from 0, through its public state.
pub fn kick_coupling(sim: &mut Simulation, name: &str) -> Result<(), Error> {
    let entity = entity(sim, name)?;
    if let Ok(mut state) = sim.world_mut().get::<&mut BristleState>(entity) {
        state.z = if state.z < 0.0 { state.z.next_down() } else { state.z.next_up() };
    }
    Ok(())
}

/// Increases σ₀z of a joint by some units in the last place, through its public state. Returns the new value.
pub fn kick(sim: &mut Simulation, joint: &str, ulps: u32) -> Result<f64, Error> {
    let sigma0 = sigma0(sim, joint)?;
    let mut z = sim.bristle(joint)?.z;
    let wanted = (0..ulps).fold(sigma0 * z, |effort, _| effort.next_up());
    // the deflection whose product is the required number
    while sigma0 * z < wanted {
        z = z.next_up();
    }
    let entity = sim.joint(joint)?;
    if ulps > 0
        && let Ok(mut state) = sim.world_mut().get::<&mut BristleState>(entity)
    {
        state.z = z;
    }
    Ok(sigma0 * z)
}

fn sigma0(sim: &mut Simulation, joint: &str) -> Result<f64, Error> {
    let entity = sim.joint(joint)?;
    let world = sim.world_mut();
    Ok(world.get::<&Friction>(entity).map_or(f64::NAN, |friction| friction.0.sigma0()))
}

/// Records the requested channels.
struct Kept {
    picked: Vec<usize>,
    t: Vec<f64>,
    columns: Vec<Vec<f64>>,
    events: Vec<Event>,
    /// End of the last step, and shortest and longest step so far.
    last: f64,
    step: (f64, f64),
    /// Steps that may still be taken.
    left: usize,
    /// Whether the next row is recorded already.
    is_again: bool,
}

impl Record for Kept {
    fn row(&mut self, row: &[f64]) -> Result<(), Error> {
        if std::mem::take(&mut self.is_again) {
            return Ok(());
        }
        self.t.push(row[0]);
        for (column, &k) in self.columns.iter_mut().zip(&self.picked) {
            column.push(row[k]);
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), Error> {
        self.events.push(event);
        Ok(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        let h = t - self.last;
        if h > 0.0 {
            self.step = (self.step.0.min(h), self.step.1.max(h));
        }
        self.last = t;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

//! Sensitivities: recorded channels and their derivatives in parameters of the scene, exact along an event-located run.
//!
//! ```text
//! y(t; p),        ∂y/∂p = lim (y(t; p + ε) − y(t; p − ε)) / 2ε
//! ```
//!
//! without differences of runs: `stick_slip::sensitivity` integrates the variational equations beside the run and
//! carries them across its events. A parameter is a number of the scene, by its path as in `--set`.
//!
//! ```
//! use bristle::prelude::*;
//!
//! let text = r#"Scene(
//!     links: [Link(name: "body", mass: 2.0)],
//!     joints: [Joint(name: "slide", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
//!         velocity: 3.0, friction: Coulomb(coulomb: 4.0))],
//!     duration: 1.0,
//! )"#;
//! let scene = Scene::parse(text, "slide.ron")?;
//! let run = Simulation::sensitivities(&scene, &["joints.slide.friction.coulomb"])?;
//! // x = 3 t − ½ (4/2) t²: ∂x/∂coulomb = −½ t²/2
//! let slope = run.derivative("slide.position", "joints.slide.friction.coulomb")?;
//! assert!((slope.last().unwrap() + 0.25).abs() < 1e-9);
//! # Ok::<(), Error>(())
//! ```

mod wanted;

use super::simulation::Simulation;
use super::{Run, Until};
use crate::error::{Error, Result};
use crate::memory;
use crate::record::{Samples, channels};
use crate::scene::origin::Document;
use crate::scene::{Coupling, Scene, SceneError};
use crate::solver::{Formulation, Method};
use crate::stick_slip::{Machine, Refusal, Tangents, Twin};
use crate::stop;
use bristle_integrate::driver::MAX_MATRIX_BYTES;
use bristle_integrate::{FiredEvent, Interpolant, Sink, System};
use nalgebra::DMatrix;
use wanted::{ReadError, Wanted};

/// Rounding of a sample instant k T against the time of a row, relative: the row is taken after the sample.
const SAME_INSTANT: f64 = 1e-12;

/// Relative half-width of the differences of twins: both errors, of truncation and of rounding, are about 1e-10.
const WIDTH: f64 = 1e-5;

/// Channels over time and their derivatives in parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivities {
    /// Names of the channels: the columns of the matrices.
    pub channels: Vec<String>,
    /// Paths of the parameters.
    pub parameters: Vec<String>,
    /// Times of the rows, s.
    pub t: Vec<f64>,
    /// The channels, one row per time.
    pub values: DMatrix<f64>,
    /// Their derivatives, one matrix per parameter.
    pub derivatives: Vec<DMatrix<f64>>,
    /// Their rates in time, per second, if they were asked for.
    pub rates: Option<DMatrix<f64>>,
}

impl Sensitivities {
    /// A channel over time.
    pub fn channel(&self, name: &str) -> Result<Vec<f64>> {
        Ok(self.values.column(self.column(name)?).iter().copied().collect())
    }

    /// The derivative of a channel in a parameter, over time.
    pub fn derivative(&self, channel: &str, parameter: &str) -> Result<Vec<f64>> {
        let known = || Error::unknown("parameter", parameter, self.parameters.iter().map(String::as_str));
        let p = self.parameters.iter().position(|path| path == parameter).ok_or_else(known)?;
        Ok(self.derivatives[p].column(self.column(channel)?).iter().copied().collect())
    }

    fn column(&self, name: &str) -> Result<usize> {
        let known = || Error::unknown("channel", name, self.channels.iter().map(String::as_str));
        self.channels.iter().position(|channel| channel == name).ok_or_else(known)
    }
}

/// A scene with a parameter a little larger and a little smaller.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub plus: Scene,
    pub minus: Scene,
    /// Distance of the two in the parameter.
    pub width: f64,
}

/// Rows that are wanted of a run.
pub(crate) struct Request<'a> {
    pub channels: &'a [String],
    /// Times, s, not decreasing; before the start of the run the machine stands as it starts.
    pub times: &'a [f64],
    /// Rates of the channels, too.
    pub has_rates: bool,
    /// Whether the run is to end early.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl Scene {
    /// Times of the rows of a run of this scene, s.
    pub fn output_times(&self) -> Vec<f64> {
        let samples = Samples::new(self.output.interval, false);
        let mut times: Vec<f64> = (0..).map(|k| samples.at(k)).take_while(|&t| t < self.duration).collect();
        times.retain(|&t| !samples.coincide(t, self.duration));
        times.push(self.duration);
        times
    }

    /// The channels that have derivatives: all but heat, energies and modes.
    pub fn differentiable_channels(&self) -> Result<Vec<String>> {
        Ok(differentiable(&channels(Simulation::new(self)?.compiled())))
    }

    /// [`Simulation::sensitivities`] of some channels at given times, s, in increasing order; later ones than
    /// `duration` extend the run.
    pub fn sensitivities_at(&self, paths: &[&str], names: &[String], times: &[f64]) -> Result<Sensitivities> {
        let mut last = 0.0;
        for &t in times {
            if !(last..f64::INFINITY).contains(&t) {
                return Err(Error::number(
                    "sensitivities",
                    "a time",
                    t,
                    "finite, not negative, and in increasing order",
                ));
            }
            last = t;
        }
        let scene = self.with_origin()?;
        let pairs: Result<Vec<Pair>> = paths.iter().map(|path| scene.pair(path)).collect();
        let request = Request { channels: names, times, has_rates: false, is_stopped: &stop::is_asked };
        let mut run = curves(self, &pairs?, &request)?;
        run.parameters = paths.iter().map(|&path| path.to_owned()).collect();
        Ok(run)
    }

    /// The number at `path`.
    pub fn number(&self, path: &str) -> Result<f64> {
        let document = Document::read(&self.to_ron()?, "scene")?;
        document.number(path).ok_or_else(|| {
            let help = "write the path of a number as in `--set`: `joints.slide.friction.coulomb`";
            let reason = format!("there is no number at `{path}`; one that is left out has to be written first");
            Error::from(SceneError::from(self.problem(path, reason, help)))
        })
    }

    /// The same scene with an origin that says what it says: defaults that the file leaves out stay left out, so that a
    /// stiction that is not given follows its Coulomb level.
    pub(crate) fn with_origin(&self) -> Result<Self> {
        match self.with_overrides(&[]) {
            Ok(scene) if scene == *self => Ok(scene),
            _ => Ok(Self::parse(&self.to_ron()?, self.origin.file().unwrap_or("scene"))?),
        }
    }

    /// This scene with other values at some paths, as by `--set`: `("joints.slide.friction.coulomb", "4.0")`. What the
    /// file of the scene leaves out stays left out, so that a stiction that is not given follows its Coulomb level.
    pub fn with_overrides(&self, overrides: &[(&str, &str)]) -> Result<Self> {
        Ok(match &self.origin.0 {
            Some(origin) => {
                let document = Document { sources: origin.sources.clone(), root: origin.root.clone() };
                Self::assemble(document, overrides)?
            }
            None => Self::parse_with(&self.to_ron()?, "scene", overrides)?,
        })
    }

    /// This scene with other numbers at some paths.
    pub(crate) fn with_numbers(&self, numbers: &[(String, f64)]) -> Result<Self> {
        let texts: Vec<(&str, String)> = numbers.iter().map(|(path, x)| (path.as_str(), format!("{x:?}"))).collect();
        let overrides: Vec<(&str, &str)> = texts.iter().map(|(path, x)| (*path, x.as_str())).collect();
        self.with_overrides(&overrides)
    }

    /// Two scenes about this one; to one side only where the other is refused.
    fn pair(&self, path: &str) -> Result<Pair> {
        let at = self.number(path)?;
        let half = WIDTH * if at == 0.0 { 1.0 } else { at.abs() };
        Self::pair_of(|by| self.with_numbers(&[(path.to_owned(), at + by)]), half)
    }

    /// The scenes `at(half)` and `at(−half)`; to one side only where the other is refused.
    pub(crate) fn pair_of(at: impl Fn(f64) -> Result<Self>, half: f64) -> Result<Pair> {
        match (at(half), at(-half)) {
            (Ok(plus), Ok(minus)) => Ok(Pair { plus, minus, width: 2.0 * half }),
            // a bound: a shorter difference, since it is of first order only
            (Ok(_), Err(_)) => Ok(Pair { plus: at(0.01 * half)?, minus: at(0.0)?, width: 0.01 * half }),
            (Err(_), Ok(_)) => Ok(Pair { plus: at(0.0)?, minus: at(-0.01 * half)?, width: 0.01 * half }),
            (Err(error), Err(_)) => Err(error),
        }
    }
}

impl Simulation {
    /// The channels of a run of a scene over its `duration`, at its output instants, and their derivatives in the
    /// parameters at `paths`: numbers of the scene, as `joints.slide.friction.coulomb`, `links.arm.mass`, `gravity.2`,
    /// `joints.slide.position`. With the inputs and at the times of a log: [`Scene::sensitivities`].
    ///
    /// Heat, energies and modes have no derivatives here. Impacts on stops are differentiated through. Machines with
    /// free joints or loops, `RealTime`, jumps at corners of a prescribed motion and several impacts at one instant are
    /// refused, and so are tables, and matrices of a step, above 4 GB.
    pub fn sensitivities(scene: &Scene, paths: &[&str]) -> Result<Sensitivities> {
        let names = scene.differentiable_channels()?;
        let n_times = (scene.duration / scene.output.interval).ceil() as usize;
        check_table(n_times, names.len(), 1 + paths.len())?;
        scene.sensitivities_at(paths, &names, &scene.output_times())
    }
}

/// The channels that have derivatives, and the efforts of drives.
fn differentiable(names: &[String]) -> Vec<String> {
    let has_none = |name: &str| {
        name == "t" || name.starts_with("energy.") || name.ends_with(".dissipated") || name.ends_with(".mode")
    };
    names.iter().filter(|name| !has_none(name)).cloned().collect()
}

/// Refuses more rows than there is room for, as they come and in the matrices made of them.
fn check_table(n_times: usize, n_channels: usize, n_tables: usize) -> Result<()> {
    let bytes = memory::bytes::<f64>(&[2, n_times, n_channels, n_tables]);
    memory::check_below("the table of derivatives", bytes, MAX_MATRIX_BYTES)
}

/// Runs `base` and differentiates it by `pairs`; without pairs it is a run alone.
pub(crate) fn curves(base: &Scene, pairs: &[Pair], request: &Request<'_>) -> Result<Sensitivities> {
    let mut run = start(base, !pairs.is_empty())?;
    let mut twins = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let (plus, minus) = (start(&pair.plus, true)?.system, start(&pair.minus, true)?.system);
        if !run.system.is_alike(&plus) || !run.system.is_alike(&minus) {
            let what = "a derivative in a parameter that changes the structure of the machine".into();
            return Err(Error::Unsupported { name: "sensitivities".into(), what });
        }
        twins.push(Twin { plus, minus, width: pair.width });
    }
    let wanted = Wanted::new(&run.system, request.channels)?;
    let n_tables = 1 + pairs.len() + usize::from(request.has_rates);
    check_table(request.times.len(), request.channels.len(), n_tables)?;
    let t_start = run.t();
    let mut times: Vec<f64> = request.times.iter().map(|t| t.max(t_start)).collect();
    times.dedup();
    let end = times.last().copied().unwrap_or(t_start);
    if n_tables > 1 {
        let what = "the matrices of the derivatives of this machine";
        memory::check_below(what, Tangents::matrix_bytes(&run.system), MAX_MATRIX_BYTES)?;
    }
    let tangents = if pairs.is_empty() && !request.has_rates { None } else { Some(Tangents::new(&run.system, twins)) };
    if tangents.as_ref().is_some_and(|tangents| tangents.is_start_on_moving_stop(&run.system)) {
        let what = "a start at rest on a stop whose distance depends on a parameter: start before or after it".into();
        return Err(Error::Unsupported { name: "sensitivities".into(), what });
    }
    let mut sink = Follower {
        tangents,
        wanted,
        times: &times,
        n_parameters: pairs.len(),
        has_rates: request.has_rates,
        is_stopped: request.is_stopped,
        t: t_start,
        values: Vec::with_capacity(times.len()),
        derivatives: Vec::with_capacity(times.len()),
        error: None,
    };
    let result = run.advance(Until::Time(end), &mut sink);
    if let Some(error) = sink.error {
        return Err(error);
    }
    result?;
    if (request.is_stopped)() {
        return Err(stop::error(run.t()));
    }
    // the last row, if it waits for an instant that rounding has put behind the end
    let (t, y) = (run.driver.t(), run.driver.y().to_vec());
    while sink.values.len() < times.len() && sink.error.is_none() {
        sink.take(&mut run.system, t, &y);
    }
    if let Some(error) = sink.error {
        return Err(error);
    }
    Ok(sink.table(request, t_start))
}

/// A run at the start of a scene; the equations are in the implicit form, which all formulations agree with.
fn start(scene: &Scene, is_followed: bool) -> Result<Run> {
    let refuse = |what: &str| Err(Error::Unsupported { name: "sensitivities".into(), what: what.into() });
    if is_followed && scene.method() == Method::RealTime {
        return refuse("`RealTime`, which locates no events: choose `Dopri5` or `Radau5`");
    }
    let is_loop = |coupling: &Coupling| matches!(coupling, Coupling::LoopJoint { .. });
    if is_followed && scene.couplings.iter().any(is_loop) {
        return refuse("a loop joint");
    }
    let run = if scene.formulation == Formulation::Implicit {
        Simulation::new(scene)?.run
    } else {
        Simulation::new(&Scene { formulation: Formulation::Implicit, ..scene.clone() })?.run
    };
    if is_followed && run.system.has_charts() {
        return refuse("a free joint or a loop joint");
    }
    Ok(run)
}

/// Follows the steps of a run.
struct Follower<'a> {
    tangents: Option<Tangents>,
    wanted: Wanted,
    times: &'a [f64],
    n_parameters: usize,
    has_rates: bool,
    is_stopped: &'a dyn Fn() -> bool,
    /// End of the last step, s.
    t: f64,
    values: Vec<Vec<f64>>,
    derivatives: Vec<Vec<Vec<f64>>>,
    error: Option<Error>,
}

impl Follower<'_> {
    fn refuse(&mut self, t: f64, refusal: Refusal) {
        let error = match refusal {
            Refusal::Failed(_) => Error::NotFinite { t, what: "a sensitivity".into() },
            Refusal::Impulse => {
                let what = format!("a velocity that jumps (at t = {t} s), of which there are no sensitivities");
                Error::Unsupported { name: "sensitivities".into(), what }
            }
            Refusal::Simultaneous => {
                let what = format!("several impacts at one instant (t = {t} s), which have no derivative");
                Error::Unsupported { name: "sensitivities".into(), what }
            }
        };
        self.error.get_or_insert(error);
    }

    /// A row, or the error of it.
    fn take(&mut self, system: &mut Machine, t: f64, y: &[f64]) {
        match self.record(system, t, y) {
            Ok(()) => {}
            Err(ReadError::Error(error)) => self.error = Some(error),
            Err(ReadError::Eval(error)) => self.refuse(t, error.into()),
        }
    }

    fn record(&mut self, system: &mut Machine, t: f64, y: &[f64]) -> std::result::Result<(), ReadError> {
        let Self { tangents, wanted, has_rates, .. } = self;
        let mut row = Vec::with_capacity(wanted.places.len());
        wanted.read(system, t, y, &mut row)?;
        self.values.push(row);
        if let Some(tangents) = tangents {
            let all = tangents.derive(t, y, *has_rates, |system, t, y, into| wanted.read(system, t, y, into))?;
            self.derivatives.push(all);
        }
        Ok(())
    }

    /// The rows as matrices.
    fn table(self, request: &Request<'_>, t_start: f64) -> Sensitivities {
        let (n, m) = (request.times.len(), request.channels.len());
        let clamped: Vec<f64> = request.times.iter().map(|t| t.max(t_start)).collect();
        // rows of one instant were recorded once
        let mut row = 0;
        let rows: Vec<usize> = (0..n)
            .map(|k| {
                row += usize::from(k > 0 && clamped[k] != clamped[k - 1]);
                row
            })
            .collect();
        let of = |p: usize| DMatrix::from_fn(n, m, |i, j| self.derivatives[rows[i]][p][j]);
        let rates = self.has_rates.then(|| {
            let moves = |i: usize| f64::from(u8::from(request.times[i] >= t_start));
            DMatrix::from_fn(n, m, |i, j| moves(i) * self.derivatives[rows[i]][self.n_parameters][j])
        });
        Sensitivities {
            channels: request.channels.to_vec(),
            parameters: vec![],
            t: request.times.to_vec(),
            values: DMatrix::from_fn(n, m, |i, j| self.values[rows[i]][j]),
            derivatives: (0..self.n_parameters).map(of).collect(),
            rates,
        }
    }
}

impl Sink<Machine> for Follower<'_> {
    fn next_sample(&self) -> f64 {
        self.times.get(self.values.len()).copied().unwrap_or(f64::INFINITY)
    }

    fn sample(&mut self, system: &mut Machine, t: f64, y: &[f64], _quad: &[f64]) {
        // a controller logs what it puts out at the instant, not what it put out until then
        let is_instant = |event: f64| event - t <= SAME_INSTANT * t.abs();
        if self.error.is_none() && !system.next_time_event(self.t).is_some_and(is_instant) {
            self.take(system, t, y);
        }
    }

    fn step(&mut self, _system: &mut Machine, t: f64, y: &[f64], _quad: &[f64]) {
        self.t = t;
        if let Some(tangents) = &mut self.tangents {
            tangents.finish_step(t, y);
        }
    }

    fn follows_steps(&self) -> bool {
        self.tangents.is_some()
    }

    fn interval(&mut self, _system: &mut Machine, t: f64, h: f64, y: &Interpolant<'_>) {
        if let Some(tangents) = &mut self.tangents
            && let Err(refusal) = tangents.step(t, h, y)
        {
            self.refuse(t, refusal);
        }
    }

    fn before_event(&mut self, _system: &mut Machine, t: f64, y: &[f64], fired: &[FiredEvent]) {
        if let Some(tangents) = &mut self.tangents
            && let Err(refusal) = tangents.before_event(t, y, fired)
        {
            self.refuse(t, refusal);
        }
    }

    fn event(&mut self, system: &mut Machine, t: f64, y: &[f64], _quad: &[f64], _fired: &[FiredEvent]) {
        if let Some(tangents) = &mut self.tangents
            && let Err(refusal) = tangents.after_event(system, t, y)
        {
            self.refuse(t, refusal);
        }
        while self.error.is_none() && self.next_sample() <= t + SAME_INSTANT * t.abs() {
            self.take(system, t, y);
        }
    }

    fn is_stopped(&self) -> bool {
        self.error.is_some() || (self.is_stopped)()
    }
}

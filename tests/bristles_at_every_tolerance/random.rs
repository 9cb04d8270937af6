//! Random machines with bristles, and the features of their runs that are compared.
//!
//! ```text
//! pull      a block pulled by a spring whose other end moves at constant speed
//! push      a block pushed by a force that rises, waits, reverses and returns
//! swing     a block on a spring, released: it comes to rest
//! shake     a block under a force that is the sum of two sines
//! chain     two or three hinges with gravity, all with bristles, pushed by sines
//! pins      the same, the load of each hinge being its own reaction
//! ```
//!
//! σ₀ 1e2 … 1e6 per load, the other scales from the machine: f_c/√(σ₀ m) is the speed at which the kinetic energy is
//! that of a fully deflected bristle.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::{Event, Record};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// A scene as text, and the quantities to compare.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Kind and laws.
    pub name: String,
    text: String,
    /// s.
    pub duration: f64,
    /// Joints with bristles, and the rate at which each breaks away.
    pub contacts: Vec<(String, f64)>,
}

fn log(rng: &mut Pcg64, from: f64, to: f64) -> f64 {
    (from.ln() + rng.random::<f64>() * (to / from).ln()).exp()
}

/// A law for an inertia `m` in units of slip and a load, of level `f` with that load; its description, and the speed
/// scale.
fn law(rng: &mut Pcg64, kind: usize, m: f64, load: f64, f: f64) -> (String, f64) {
    let level = f / load;
    let sigma0 = log(rng, 1e2, 1e6) * level;
    let own = level / (sigma0 * m / load).sqrt();
    let rise = [1.0, 1.2, 1.5][rng.random_range(0..3)];
    let sigma1 = [0.0, 0.3, 1.0][rng.random_range(0..3)] * (sigma0 * m / load).sqrt();
    let sigma2 = rng.random_range(0.0..0.5) * level;
    let v_s = log(rng, 0.1, 10.0) * own;
    let faded = if rng.random() { format!("damping_velocity: {v_s:e}, ") } else { String::new() };
    let shared = format!(
        "sigma0: {sigma0:e}, sigma1: {sigma1:e}, sigma2: {sigma2:e}, coulomb: {level:e}, stiction: {:e}, \
         stribeck_velocity: {v_s:e}, {faded}",
        rise * level
    );
    match kind {
        0 => (format!("Dahl(sigma0: {sigma0:e}, coulomb: {level:e})"), own),
        1 => (format!("LuGre({shared})"), v_s),
        2 => (format!("LuGre2({shared}alpha: {:e}, beta: {:e})", rng.random_range(0.5..3.0), 0.3), v_s),
        _ => (format!("ElastoPlastic(breakaway: {:e}, {shared})", 0.7 * level / sigma0), v_s),
    }
}

impl Machine {
    /// The machine of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let rng = &mut rng;
        let kind = rng.random_range(0..6);
        let which = rng.random_range(0..4);
        let name = format!(
            "{} {seed}, {}",
            ["pull", "push", "swing", "shake", "chain", "pins"][kind],
            ["Dahl", "LuGre", "LuGre2", "ElastoPlastic"][which]
        );
        if kind < 4 {
            return Self::slider(rng, kind, which, name);
        }
        let n = rng.random_range(2..4);
        let (mut links, mut joints, mut contacts) = (String::new(), String::new(), Vec::new());
        let is_pinned = kind == 5;
        let duration = rng.random_range(1.5..3.0);
        for i in 0..n {
            let (m, l) = (rng.random_range(0.5..2.0), rng.random_range(0.3..0.6));
            let inertia = m * l * l / 12.0;
            let parent = if i == 0 { "world".to_owned() } else { format!("l{}", i - 1) };
            let _ = write!(
                links,
                "Link(name: \"l{i}\", mass: {m}, center_of_mass: (0, 0, {}), \
                 inertia: Diagonal({inertia}, {inertia}, {})),",
                -0.5 * l,
                0.01 * inertia
            );
            let weight = m * 9.81 * l * (n - i) as f64;
            let f = weight * rng.random_range(0.05..0.4);
            // of the hinge alone, and a load that is about the weight
            let (arm, load) = if is_pinned { (0.02, m * 9.81 * (n - i) as f64) } else { (1.0, 1.0) };
            let f = if is_pinned { (0.5 * load * arm).min(f) } else { f };
            let (law, speed) = law(rng, which, 4.0 * inertia / (arm * arm), load, f / arm);
            let _ = write!(
                joints,
                "Joint(name: \"j{i}\", parent: \"{parent}\", child: \"l{i}\", kind: Revolute(axis: (0, -1, 0)), \
                 position: {}, placement: Placement(translation: (0, 0, {})), friction: {law}, \
                 {} drive: Effort(Sine(amplitude: {}, frequency: {}, phase: {}))),",
                rng.random_range(-1.0..1.0),
                if i == 0 { 0.0 } else { -0.4 },
                if is_pinned { "load: Pin(radius: 0.02)," } else { "" },
                weight * rng.random_range(0.0..0.5),
                rng.random_range(0.3..2.0),
                rng.random_range(0.0..6.0)
            );
            contacts.push((format!("j{i}"), speed / arm));
        }
        let text = format!(
            "Scene(version: 1, name: \"random\", gravity: (0, 0, -9.81), links: [{links}], joints: [{joints}], \
             duration: {duration})"
        );
        Self { name, text, duration, contacts }
    }

    fn slider(rng: &mut Pcg64, kind: usize, which: usize, name: String) -> Self {
        let (m, f) = (log(rng, 0.1, 10.0), log(rng, 0.1, 10.0));
        let (law, speed) = law(rng, which, m, 1.0, f);
        // a spring that friction extends to `reach`, and its period
        let reach = log(rng, 0.01, 1.0);
        let k = f / reach;
        let period = std::f64::consts::TAU * (m / k).sqrt();
        let (drive, own, duration) = match kind {
            0 => {
                let rate = reach / period * log(rng, 0.05, 1.0);
                let drive = format!("drive: Pull(stiffness: {k:e}, target: Ramp(rate: {rate:e}))");
                (drive, String::new(), 3.0 * reach / rate)
            }
            1 => {
                let (most, unit) = (f * rng.random_range(0.7..1.05), log(rng, 0.1, 10.0));
                let at = |n: f64, x: f64| format!("({:e}, {:e})", n * unit, x * most);
                let points = [at(0.0, 0.0), at(1.0, 1.0), at(2.0, 1.0), at(4.0, -0.9), at(6.0, 0.95)].join(", ");
                (format!("drive: Effort(Table([{points}]))"), String::new(), 6.0 * unit)
            }
            2 => {
                let start = reach * rng.random_range(2.0..8.0);
                (String::new(), format!("position: {start:e}, stiffness: {k:e},"), 4.0 * period)
            }
            _ => {
                let (a, b) = (f * rng.random_range(0.8..1.6), f * rng.random_range(0.1..0.6));
                let slow = log(rng, 0.1, 3.0);
                let drive = format!(
                    "drive: Effort(Sum([Sine(amplitude: {a:e}, frequency: {slow:e}), Sine(amplitude: {b:e}, \
                     frequency: {:e})]))",
                    2.7 * slow
                );
                (drive, String::new(), 3.0 / slow)
            }
        };
        let text = format!(
            "Scene(version: 1, name: \"random\", gravity: (0, 0, 0), links: [Link(name: \"block\", mass: {m:e})], \
             joints: [Joint(name: \"slide\", parent: \"world\", child: \"block\", kind: Prismatic(axis: (1, 0, 0)), \
             friction: {law}, {own} {drive})], duration: {duration:e})"
        );
        Self { name, text, duration, contacts: vec![("slide".to_owned(), speed)] }
    }

    /// The scene with these solver settings.
    pub fn scene(&self, method: Method, (rtol, atol): (f64, f64), formulation: Formulation) -> Result<Scene, String> {
        let mut scene = Scene::parse(&self.text, &self.name).map_err(|error| format!("{error}\n{}", self.text))?;
        scene.solver.method = Some(method);
        scene.solver.control = Some(Control::Error { rtol, atol });
        scene.formulation = formulation;
        scene.output.interval = self.duration / 2000.0;
        Ok(scene)
    }

    /// The scene as text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Rows of one contact.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Position of the joint, rad or m.
    pub q: Vec<f64>,
    /// Velocity.
    pub v: Vec<f64>,
    /// Friction effort.
    pub f: Vec<f64>,
}

/// A run of a machine.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// s.
    pub t: Vec<f64>,
    /// For each contact.
    pub rows: Vec<Rows>,
    /// Accepted.
    pub steps: usize,
    /// Evaluations of the right-hand side, steps rejected, events.
    pub counts: [usize; 3],
    /// Whether a warning says that bristles ring.
    pub is_warned: bool,
}

/// A recording that ends its run after a number of steps.
struct Bounded {
    rows: Recording,
    left: usize,
}

impl Record for Bounded {
    fn row(&mut self, row: &[f64]) -> Result<(), Error> {
        self.rows.row(row)
    }

    fn event(&mut self, event: Event) -> Result<(), Error> {
        self.rows.event(event)
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs a scene of a machine; an error also where it takes more than `most` steps.
pub fn run(machine: &Machine, scene: &Scene, most: usize) -> Result<Shown, String> {
    let mut shown = Shown::default();
    let mut sim = Simulation::new(scene).map_err(|error| error.to_string())?;
    let mut record = Bounded { rows: sim.recording(), left: most };
    let outcome = sim.run_with(machine.duration, &mut record);
    if record.left == 0 {
        return Err(format!("more than {most} steps"));
    }
    outcome.map_err(|error| error.to_string())?;
    let channel = |name: &str| -> Result<Vec<f64>, String> {
        Ok(record.rows.channel(name).map_err(|error| error.to_string())?.collect())
    };
    shown.t = channel("t")?;
    for (name, _) in &machine.contacts {
        let [q, v, f] = ["position", "velocity", "friction"].map(|what| channel(&format!("{name}.{what}")));
        shown.rows.push(Rows { q: q?, v: v?, f: f? });
    }
    shown.is_warned = sim.warnings().iter().any(|warning| warning.contains("have no damping of their own"));
    let stats = sim.stats();
    (shown.steps, shown.counts) = (stats.n_accepted, [stats.n_rhs, stats.n_rejected, stats.n_events]);
    Ok(shown)
}

/// How two runs differ: times of break-away, peaks of friction, friction and position at every row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Off {
    /// Relative; infinite where one run breaks away more often.
    pub time: f64,
    /// Relative.
    pub peak: f64,
    /// Distance to the band of the other run within 1 % of the time, in units of the range of positions.
    pub position: f64,
    /// The same of friction, in units of the largest.
    pub friction: f64,
}

impl Off {
    /// 1 % of time, 2 % of friction and position.
    pub fn is_right(&self) -> bool {
        self.time <= 0.01 && self.peak <= 0.02 && self.position <= 0.02 && self.friction <= 0.02
    }

    /// The largest in units of the allowed difference.
    pub fn size(&self) -> f64 {
        (self.time / 0.01).max(self.peak / 0.02).max(self.position / 0.02).max(self.friction / 0.02)
    }
}

/// Times at which the speed rises through `rate` after it was below for a hundredth of the run.
fn break_aways(t: &[f64], v: &[f64], rate: f64) -> Vec<f64> {
    let (mut times, mut since) = (Vec::new(), f64::NEG_INFINITY);
    let rest = 0.01 * t[t.len() - 1];
    for k in 0..t.len() {
        let speed = v[k].abs();
        if speed < rate {
            continue;
        }
        if k > 0 && t[k] - since > rest && v[k - 1].abs() < rate {
            let before = v[k - 1].abs();
            times.push(t[k - 1] + (t[k] - t[k - 1]) * (rate - before) / (speed - before));
        }
        since = t[k];
    }
    times
}

/// Distance of `a` from the band that `b` has within 1 % of the time, at worst; in units of `size`.
fn band(t: &[f64], a: &[f64], b: &[f64], size: f64) -> f64 {
    let mut most = 0.0_f64;
    for k in 0..t.len().min(a.len()) {
        let reach = 1 + (0.01 * k as f64) as usize;
        let near = &b[k.saturating_sub(reach)..(k + reach + 1).min(b.len())];
        let (low, high) = near.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        most = most.max(low - a[k]).max(a[k] - high);
    }
    most / size.max(f64::MIN_POSITIVE)
}

/// The difference of `a` from `b`, with the rates of break-away multiplied by `factor`.
pub fn difference(machine: &Machine, a: &Shown, b: &Shown, factor: f64) -> Off {
    let mut off = Off::default();
    for ((of_a, of_b), (_, rate)) in a.rows.iter().zip(&b.rows).zip(&machine.contacts) {
        let (x, y) = (break_aways(&a.t, &of_a.v, factor * rate), break_aways(&b.t, &of_b.v, factor * rate));
        let (low, high) = of_b.q.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        off.position = off.position.max(band(&a.t, &of_a.q, &of_b.q, high - low));
        let most = |f: &[f64]| f.iter().fold(0.0_f64, |most, f| most.max(f.abs()));
        off.friction = off.friction.max(band(&a.t, &of_a.f, &of_b.f, most(&of_b.f)));
        off.peak = off.peak.max((most(&of_a.f) - most(&of_b.f)).abs() / most(&of_b.f).max(f64::MIN_POSITIVE));
        if x.len() != y.len() {
            off.time = f64::INFINITY;
        } else {
            off.time = x.iter().zip(&y).fold(off.time, |most, (x, y)| most.max((x - y).abs() / y));
        }
    }
    off
}

/// The tight run, if the machine has a unique answer: another tolerance, 1e-4 more mass or another rate of break-away
/// does not change it.
pub fn reference(machine: &Machine, most: usize) -> Option<Shown> {
    let scene = machine.scene(Method::Radau5, (1e-10, 1e-13), Formulation::Implicit).ok()?;
    let tight = run(machine, &scene, most).ok()?;
    let looser = machine.scene(Method::Radau5, (1e-9, 1e-12), Formulation::Implicit).ok()?;
    let mut heavier = scene.clone();
    heavier.links.iter_mut().for_each(|link| link.mass *= 1.0 + 1e-4);
    let others = [run(machine, &looser, most).ok()?, run(machine, &heavier, most).ok()?];
    let count = |factor: f64| -> Vec<usize> {
        let of = |(rows, (_, rate)): (&Rows, &(String, f64))| break_aways(&tight.t, &rows.v, factor * rate).len();
        tight.rows.iter().zip(&machine.contacts).map(of).collect()
    };
    let is_clear = count(0.9) == count(1.0) && count(1.1) == count(1.0);
    let is_same = others.iter().all(|other| difference(machine, other, &tight, 1.0).size() < 0.1);
    (is_clear && is_same).then_some(tight)
}

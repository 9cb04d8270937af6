//! Load-dependent friction in three formulations, beside the same pendulums without friction (Lee, Hesterman, Jones 1997).
//!
//! Speed is compared at equal accuracy. Each way of solving a pendulum is run against a reference of its own equations, and its
//! tolerance is moved, by bisection of log rtol with atol = rtol/100, until the error is the one asked for:
//!
//! ```text
//! error = max |q − q_ref| over all joints and four instants, which steps end on: no interpolant takes part
//! ```
//!
//! Then all ways take turns, and the quickest run of each counts. The motion without friction with its turning points located has
//! friction of level zero: events, mode choice and restarts are those of the motion with friction, its forces are not.

use bristle::friction::Coulomb;
use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use std::time::{Duration, Instant};

/// Instants at which errors are looked at.
const INSTANTS: usize = 4;

/// How far a run's error may be from the one asked for, as a factor, before the search for its tolerance ends.
const CLOSE: f64 = 1.2;

/// Halvings of the range of tolerances at most.
const HALVINGS: usize = 14;

/// A pendulum of one or more links, each on a pin with dry friction.
#[derive(Debug, Clone, PartialEq)]
pub struct Pendulum {
    /// For tables.
    pub name: &'static str,
    links: Vec<PinnedLink>,
    gravity: f64,
    /// Time simulated, s: shorter than it takes errors of the motion without friction to grow beyond a thousandfold.
    pub duration: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct PinnedLink {
    mass: f64,
    /// From the pin to the centre of mass and to the next pin, m.
    center: f64,
    length: f64,
    /// About the centre of mass, kg·m².
    inertia: f64,
    position: f64,
    velocity: f64,
    /// Of the pin, m.
    radius: f64,
    coulomb: f64,
    stiction: f64,
}

impl Pendulum {
    /// Lee's single pendulum, with the numbers of `scenes/single_pendulum_pin.ron`.
    pub fn single() -> Self {
        let link = PinnedLink {
            mass: 1.0,
            center: 0.5,
            length: 1.0,
            inertia: 1.0 / 12.0,
            position: std::f64::consts::FRAC_PI_2,
            velocity: 0.0,
            radius: 0.1,
            coulomb: 0.4,
            stiction: 0.6,
        };
        Self { name: "single", links: vec![link], gravity: 9.81, duration: 5.0 }
    }

    /// Lee's double pendulum, with the numbers of `scenes/double_pendulum_pin.ron`.
    pub fn double() -> Self {
        let upper = PinnedLink { radius: 0.08, ..Self::single().links[0] };
        let lower = PinnedLink {
            mass: 0.5,
            center: 0.4,
            length: 0.8,
            inertia: 0.5 * 0.64 / 12.0,
            position: 0.5,
            radius: 0.1,
            ..upper
        };
        Self { name: "double", links: vec![upper, lower], gravity: 9.81, duration: 3.0 }
    }

    /// A chain of `n` equal rods, let go bent.
    pub fn chain(name: &'static str, n: usize) -> Self {
        let link = PinnedLink {
            mass: 1.0,
            center: 0.15,
            length: 0.3,
            inertia: 0.0075,
            position: 0.1,
            velocity: 0.0,
            radius: 0.02,
            coulomb: 0.2,
            stiction: 0.25,
        };
        let mut links = vec![link; n];
        links[0].position = 1.2;
        Self { name, links, gravity: 9.81, duration: 1.5 }
    }

    /// A chain of `n` equal rods that hangs, every joint a little bent and turning. Bent much more it would stretch as it falls, and
    /// parts of it would not be loaded at all.
    pub fn chain_in_motion(n: usize) -> Self {
        let mut chain = Self::chain("chain", n);
        for (k, link) in chain.links.iter_mut().enumerate() {
            link.position = 0.01 * (1.7 * k as f64).sin();
            link.velocity = if k % 2 == 0 { 0.5 } else { -0.5 };
        }
        chain
    }

    /// Those that are compared.
    pub fn all() -> [Self; 3] {
        [Self::single(), Self::double(), Self::chain("ten-link", 10)]
    }

    /// Number of links.
    pub fn n_links(&self) -> usize {
        self.links.len()
    }

    /// The machine, solved in one of the ways.
    pub fn world(&self, way: Way) -> World {
        let mut world = World::new();
        world.set_gravity([0.0, -self.gravity, 0.0]);
        let mut parent: Option<(Entity, f64)> = None;
        for (k, link) in self.links.iter().enumerate() {
            let inertia =
                LinkInertia::diagonal(link.mass, [0.0, -link.center, 0.0].into(), link.inertia, 0.0, link.inertia);
            let body = world.spawn_link(&format!("link {k}"), inertia);
            let mut joint = revolute(&format!("pin {k}"), [0.0, 0.0, 1.0]).to(body);
            joint = joint.position(link.position).velocity(link.velocity);
            if let Some((parent, length)) = parent {
                joint = joint.from(parent).at([0.0, -length, 0.0]);
            }
            let law = |coulomb, stiction| Coulomb { coulomb, stiction, viscous: 0.0 }.into();
            let joint = match way {
                Way::Frictionless => joint,
                Way::Crossings => joint.friction(law(0.0, 0.0)),
                Way::Implicit | Way::Jerk | Way::Residual => {
                    joint.friction(law(link.coulomb, link.stiction)).load(Load::Pin { radius: link.radius })
                }
            };
            world.spawn_joint(joint);
            parent = Some((body, link.length));
        }
        world
    }
}

/// A way of solving a pendulum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// No friction.
    Frictionless,
    /// No friction, turning points located.
    Crossings,
    /// Accelerations by Newton at every evaluation.
    Implicit,
    /// Accelerations as unknowns.
    Jerk,
    /// Accelerations by the implicit stepper.
    Residual,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Frictionless, Self::Crossings, Self::Implicit, Self::Jerk, Self::Residual];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frictionless => "frictionless",
            Self::Crossings => "… crossings located",
            Self::Implicit => "implicit",
            Self::Jerk => "jerk",
            Self::Residual => "residual",
        }
    }

    /// The stepper it is solved with.
    pub fn method(self) -> Method {
        if self == Self::Residual { Method::Radau5 } else { Method::Dopri5 }
    }

    /// What is done about loads that depend on accelerations.
    pub fn formulation(self) -> Formulation {
        match self {
            Self::Frictionless | Self::Crossings | Self::Implicit => Formulation::Implicit,
            Self::Jerk => Formulation::Jerk,
            Self::Residual => Formulation::Residual,
        }
    }

    /// The equations whose solution a run of this is compared with.
    fn reference(self) -> Self {
        match self {
            Self::Frictionless | Self::Crossings => Self::Frictionless,
            Self::Implicit | Self::Jerk | Self::Residual => Self::Implicit,
        }
    }
}

/// What one way of solving one pendulum took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Which way.
    pub way: Way,
    /// Relative tolerance that brings the error.
    pub rtol: f64,
    /// The error, rad.
    pub error: f64,
    /// The quickest run.
    pub time: Duration,
    /// Steps accepted.
    pub steps: usize,
    /// Evaluations of the right-hand side or of the residual.
    pub evaluations: usize,
    /// Factorisations of the friction-loaded recursion (of Newton matrices in the residual form).
    pub sweeps: usize,
    /// Substitutions with them.
    pub substitutions: usize,
    /// Events.
    pub events: usize,
}

/// How much trouble to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Error at which all are compared, rad.
    pub error: f64,
    /// Runs of each, of which the quickest counts.
    pub repeats: usize,
}

impl Effort {
    /// For tables.
    pub const FULL: Self = Self { error: 1e-7, repeats: 40 };
    /// For a first look, and for tests.
    pub const QUICK: Self = Self { error: 1e-5, repeats: 3 };
}

/// A run: time it took, positions at the instants, and the simulation as it was left.
fn run(pendulum: &Pendulum, way: Way, rtol: f64) -> Result<(Duration, Vec<f64>, Simulation), Error> {
    let control = Control::Error { rtol, atol: 0.01 * rtol };
    let settings = Settings { method: way.method(), control, formulation: way.formulation(), ..Settings::default() };
    let mut sim = Simulation::with_settings(pendulum.world(way), settings)?;
    let mut positions = Vec::with_capacity(INSTANTS * pendulum.n_links());
    let start = Instant::now();
    for _ in 0..INSTANTS {
        sim.step(pendulum.duration / INSTANTS as f64)?;
        positions.extend_from_slice(sim.positions());
    }
    Ok((start.elapsed(), positions, sim))
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// All ways of solving a pendulum, at the same error. `progress` is told what is being done.
pub fn measure(pendulum: &Pendulum, effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Vec<Measured>, Error> {
    progress(&format!("{}: references", pendulum.name));
    let reference = |way| run(pendulum, way, 1e-12).map(|(_, positions, _)| positions);
    let references = [reference(Way::Frictionless)?, reference(Way::Implicit)?];
    let exact = |way: Way| &references[usize::from(way.reference() == Way::Implicit)];

    let mut measured = Vec::new();
    for way in Way::ALL {
        progress(&format!("{}: {}: tolerance", pendulum.name, way.name()));
        let (rtol, error) = tolerance(effort.error, |rtol| {
            run(pendulum, way, rtol).map(|(_, positions, _)| difference(&positions, exact(way)))
        })?;
        let (time, _, sim) = run(pendulum, way, rtol)?;
        let (stats, counters) = (sim.stats(), sim.counters());
        let is_residual = way == Way::Residual;
        measured.push(Measured {
            way,
            rtol,
            error,
            time,
            steps: stats.n_accepted,
            evaluations: stats.n_rhs + stats.n_residual,
            sweeps: if is_residual { stats.n_factor } else { counters.n_sweeps + counters.n_jerks },
            substitutions: if is_residual { stats.n_solve } else { counters.n_substitutions + counters.n_jerks },
            events: stats.n_events,
        });
    }
    for round in 1..effort.repeats {
        progress(&format!("{}: run {} of {}", pendulum.name, round + 1, effort.repeats));
        for measured in &mut measured {
            measured.time = measured.time.min(run(pendulum, measured.way, measured.rtol)?.0);
        }
    }
    Ok(measured)
}

/// The relative tolerance whose run has an error close to the one asked for, and its error.
fn tolerance(wanted: f64, mut error: impl FnMut(f64) -> Result<f64, Error>) -> Result<(f64, f64), Error> {
    // decimal exponents: a tight one, a loose one
    let (mut tight, mut loose) = (-11.5, -2.0);
    let mut best = (f64::NAN, f64::NAN, f64::INFINITY);
    for _ in 0..HALVINGS {
        let exponent = 0.5 * (tight + loose);
        let rtol = 10f64.powf(exponent);
        let found = error(rtol)?;
        let off = (found / wanted).ln().abs();
        if off < best.2 {
            best = (rtol, found, off);
        }
        if off < CLOSE.ln() {
            break;
        }
        if found > wanted { loose = exponent } else { tight = exponent }
    }
    Ok((best.0, best.1))
}

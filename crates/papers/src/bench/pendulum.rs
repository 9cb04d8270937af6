//! Load-dependent friction in three formulations, beside the same pendulums without friction (Lee, Hesterman, Jones
//! 1997).
//!
//! Speed is compared at equal accuracy. Each variant of a pendulum is compared with a reference of its own equations,
//! and its tolerance is adjusted, by bisection of log rtol with atol = rtol/100, until the error is the required one:
//!
//! ```text
//! error = max |q − q_ref| over all joints and four instants, at which steps end: no interpolant is involved
//! ```
//!
//! Then all variants alternate, with the minimum of three runs in each round. The time of a variant is the minimum of
//! all its runs; the ratio of two variants is the median over the rounds of the ratio within a round, with a 95 %
//! confidence interval of the median ([`Ratio`]): a disturbance longer than a round slows both sides of a pair, and a
//! shorter one affects one run of three. The motion without friction with its turning points located has friction of
//! level zero: events, mode selection and restarts are those of the motion with friction, its forces are not.

use bristle::friction::{Coulomb, Law};
use bristle::hecs::World;
use bristle::scene::{Control, Coordinate, Formulation, Inertia, Joint, Kind, Link, Load, Method, Rate};
use bristle::{Error, Scene, Simulation, spawn};
use std::time::{Duration, Instant};

/// Number of instants at which errors are taken.
const INSTANTS: usize = 4;

/// Factor between the error of a run and the required one at which the search for its tolerance ends.
const CLOSE: f64 = 1.2;

/// Largest number of halvings of the range of tolerances.
const HALVINGS: usize = 14;

/// Runs of a variant in a round, of which the fastest counts: a time slice of another program, longer than a run,
/// affects one of them.
const IN_A_ROUND: usize = 3;

/// A pendulum of one or more links, each on a pin with dry friction.
#[derive(Debug, Clone, PartialEq)]
pub struct Pendulum {
    /// For tables.
    pub name: &'static str,
    /// With dry friction in its pins.
    pub scene: Scene,
    /// Time simulated, s: shorter than it takes errors of the motion without friction to grow beyond a thousandfold.
    pub duration: f64,
}

/// The scenes of the paper.
macro_rules! paper_scene {
    ($file:literal) => {
        include_str!(concat!("../../scenes/papers/lee1997/", $file))
    };
}

impl Pendulum {
    /// Lee's single pendulum.
    pub fn single() -> Result<Self, Error> {
        let scene = Scene::parse(paper_scene!("single.ron"), "scenes/papers/lee1997/single.ron")?;
        Ok(Self { name: "single", scene, duration: 5.0 })
    }

    /// Lee's double pendulum.
    pub fn double() -> Result<Self, Error> {
        let scene = Scene::parse(paper_scene!("double.ron"), "scenes/papers/lee1997/double.ron")?;
        Ok(Self { name: "double", scene, duration: 3.0 })
    }

    /// A chain of `n` equal rods, released from a bent position.
    pub fn chain(name: &'static str, n: usize) -> Self {
        let bent = |k: usize| if k == 0 { 1.2 } else { 0.1 };
        Self { name, scene: rods(n, bent, |_| 0.0), duration: 1.5 }
    }

    /// A chain of `n` equal rods that hangs, every joint a little bent and in motion. A strongly bent chain would
    /// stretch as it falls, and parts of it would have no load.
    pub fn chain_in_motion(n: usize) -> Self {
        let turning = |k: usize| if k.is_multiple_of(2) { 0.5 } else { -0.5 };
        Self { name: "chain", scene: rods(n, |k| 0.01 * (1.7 * k as f64).sin(), turning), duration: 1.5 }
    }

    /// The pendulums that are compared.
    pub fn all() -> Result<[Self; 3], Error> {
        Ok([Self::single()?, Self::double()?, Self::chain("ten-link", 10)])
    }

    /// Number of links.
    pub fn n_links(&self) -> usize {
        self.scene.links.len()
    }

    /// The scene with the friction of a variant.
    pub fn scene(&self, way: Way) -> Scene {
        let mut scene = self.scene.clone();
        for joint in &mut scene.joints {
            match way {
                Way::Frictionless => (joint.friction, joint.load) = (None, Load::Unit),
                Way::Crossings => (joint.friction, joint.load) = (Some(dry(0.0, 0.0)), Load::Unit),
                Way::Implicit | Way::Jerk | Way::Residual => {}
            }
        }
        scene.formulation = way.formulation();
        scene
    }

    /// Its world.
    pub fn world(&self, way: Way) -> Result<World, Error> {
        let mut world = World::new();
        spawn(&self.scene(way), &mut world)?;
        Ok(world)
    }
}

fn dry(coulomb: f64, stiction: f64) -> Law {
    Law::Coulomb(Coulomb { coulomb, stiction, viscous: 0.0 })
}

/// Equal rods on pins, one below the other, with the positions and velocities of their joints.
fn rods(n: usize, position: impl Fn(usize) -> f64, velocity: impl Fn(usize) -> f64) -> Scene {
    let link = |k: usize| Link {
        name: format!("link {k}"),
        mass: 1.0,
        center_of_mass: [0.0, -0.15, 0.0],
        inertia: Inertia::Diagonal(0.0075, 0.0, 0.0075),
    };
    let joint = |k: usize| {
        let parent = if k == 0 { "world".to_owned() } else { format!("link {}", k - 1) };
        let axis = [0.0, 0.0, 1.0];
        let mut joint = Joint::new(format!("pin {k}"), parent, format!("link {k}"), Kind::Revolute { axis });
        if k > 0 {
            joint.placement.translation = [0.0, -0.3, 0.0];
        }
        joint.position = Coordinate::Scalar(position(k));
        joint.velocity = Rate::Scalar(velocity(k));
        joint.friction = Some(dry(0.2, 0.25));
        joint.load = Load::Pin { radius: 0.02 };
        joint
    };
    let (links, joints) = ((0..n).map(link).collect(), (0..n).map(joint).collect());
    Scene { gravity: [0.0, -9.81, 0.0], links, joints, ..Scene::default() }
}

/// A variant of a pendulum: its friction and formulation.
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

    /// Formulation of loads that depend on accelerations.
    pub fn formulation(self) -> Formulation {
        match self {
            Self::Frictionless | Self::Crossings | Self::Implicit => Formulation::Implicit,
            Self::Jerk => Formulation::Jerk,
            Self::Residual => Formulation::Residual,
        }
    }

    /// The equations of the reference for this variant.
    fn reference(self) -> Self {
        match self {
            Self::Frictionless | Self::Crossings => Self::Frictionless,
            Self::Implicit | Self::Jerk | Self::Residual => Self::Implicit,
        }
    }
}

/// Cost of one variant of one pendulum.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Which way.
    pub way: Way,
    /// Relative tolerance that gives the error.
    pub rtol: f64,
    /// The error, rad.
    pub error: f64,
    /// Time of the fastest run.
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
    /// Times of all rounds, s; the same rounds for all variants.
    rounds: Vec<f64>,
}

/// The ratio of two times from alternating runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Median over the rounds.
    pub median: f64,
    /// Ends of a confidence interval of the median, at least 95 % for any distribution of the noise (sign test); the
    /// smallest and the largest ratio where there are fewer than six rounds.
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// Time of `a` over time of `b`.
    pub fn of(a: &Measured, b: &Measured) -> Self {
        Self::new(a.rounds.iter().zip(&b.rounds).map(|(a, b)| a / b).collect())
    }

    fn new(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let n = ratios.len();
        if n == 0 {
            return Self { median: f64::NAN, low: f64::NAN, high: f64::NAN };
        }
        // the k smallest and the k largest may go while P(fewer than k of n tosses are heads) ≤ 2.5 %
        let (mut k, mut tail, mut term) = (0, 0.0, 0.5_f64.powi(n as i32));
        while 2 * (k + 1) < n && tail + term <= 0.025 {
            tail += term;
            term *= (n - k) as f64 / (k + 1) as f64;
            k += 1;
        }
        let k = k.saturating_sub(1);
        Self { median: 0.5 * (ratios[(n - 1) / 2] + ratios[n / 2]), low: ratios[k], high: ratios[n - 1 - k] }
    }
}

/// Effort of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Error at which all are compared, rad.
    pub error: f64,
    /// Number of rounds.
    pub repeats: usize,
}

impl Effort {
    /// For tables.
    pub const FULL: Self = Self { error: 1e-7, repeats: 40 };
    /// For a first look, and for tests.
    pub const QUICK: Self = Self { error: 1e-5, repeats: 3 };
}

/// A run: its time, positions at the instants, and the simulation at its end.
fn run(pendulum: &Pendulum, way: Way, rtol: f64) -> Result<(Duration, Vec<f64>, Simulation), Error> {
    let control = Control::Error { rtol, atol: 0.01 * rtol };
    let mut scene = pendulum.scene(way);
    (scene.solver.method, scene.solver.control) = (Some(way.method()), Some(control));
    let mut sim = Simulation::new(&scene)?;
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

/// All variants of a pendulum, at the same error. `progress` receives the present task.
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
            rounds: Vec::with_capacity(effort.repeats),
        });
    }
    for round in 0..effort.repeats {
        progress(&format!("{}: round {} of {}", pendulum.name, round + 1, effort.repeats));
        for measured in &mut measured {
            let mut time = run(pendulum, measured.way, measured.rtol)?.0;
            for _ in 1..IN_A_ROUND {
                time = time.min(run(pendulum, measured.way, measured.rtol)?.0);
            }
            measured.time = measured.time.min(time);
            measured.rounds.push(time.as_secs_f64());
        }
    }
    Ok(measured)
}

/// The relative tolerance whose run has an error close to the required one, and its error.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the 95 % interval of the median, as in tables of the sign test.
    #[test]
    fn interval_of_the_median_by_the_sign_test() {
        for (n, low, high) in [(5, 1, 5), (6, 1, 6), (9, 2, 8), (20, 6, 15), (21, 6, 16), (40, 14, 27)] {
            // largest first, so that sorting matters
            let ratio = Ratio::new((1..=n).rev().map(f64::from).collect());
            assert_eq!((ratio.low, ratio.high), (f64::from(low), f64::from(high)), "{n}");
            assert_eq!(ratio.median, 0.5 * f64::from(n + 1));
        }
        assert!(Ratio::new(Vec::new()).median.is_nan());
    }
}

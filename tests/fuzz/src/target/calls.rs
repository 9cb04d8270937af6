//! Calls in any order with any numbers and names: the first byte of a case is the machine, the others choose calls and
//! arguments.
//!
//! A call succeeds or is refused; after it states are finite, arrays have their lengths, and `reset` or a snapshot of
//! the start recovers.

use super::Target;
use super::machine::{N_MACHINES, check_finite, machine};
use bristle::friction::{Coulomb, Dahl, Law, LuGre, Stribeck, Table, Tanh};
use bristle::prelude::*;
use bristle::signal::Signal;

pub static TARGET: Target = Target { name: "calls", run, folders: &["corpus/calls"], made, tokens: &[] };

const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1e-300,
    1e-9,
    1e-3,
    0.7,
    1.0,
    -7.5,
    300.0,
    1e12,
    1e200,
    1e300,
    -1e300,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Internal steps that one call may take.
const MAX_STEPS: usize = 50;
/// Calls of one case.
const MAX_CALLS: usize = 40;

/// Some sequences for each machine: all bytes in order, and backwards.
fn made() -> Vec<Vec<u8>> {
    let up = |k: usize| [k as u8].into_iter().chain(0..=255).collect();
    let down = |k: usize| [k as u8].into_iter().chain((0..=255).rev()).collect();
    (0..N_MACHINES).flat_map(|k| [up(k), down(k)]).collect()
}

/// Choices, byte by byte; zeros behind the end.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n.max(1)
    }

    fn x(&mut self) -> f64 {
        match self.below(24) {
            k if k < NUMBERS.len() => NUMBERS[k],
            k => 0.1 * (k as f64) - 2.0,
        }
    }

    fn three(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.x())
    }

    /// A name of the machine, or an unknown one.
    fn name(&mut self, names: &[String]) -> String {
        let k = self.below(names.len() + 2);
        names.get(k).cloned().unwrap_or_else(|| ["", "world"][k % 2].to_owned())
    }

    /// Numbers, nearly the right count.
    fn list(&mut self, n: usize) -> Vec<f64> {
        let n = [n, n, n, n, n + 1, n.saturating_sub(1)][self.below(6)];
        (0..n).map(|_| self.x()).collect()
    }

    fn pairs(&mut self) -> Vec<(f64, f64)> {
        (0..self.below(4)).map(|_| (self.x(), self.x())).collect()
    }

    fn time(&mut self) -> f64 {
        let x = self.x();
        if x > 1e-3 && x.is_finite() { 1e-3 } else { x }
    }

    fn law(&mut self) -> Law {
        let [p, q, r] = self.three();
        match self.below(6) {
            0 => Coulomb { coulomb: p, stiction: q, viscous: r }.into(),
            1 => {
                let (stribeck_velocity, exponent) = (Some(self.x()), self.x());
                Stribeck { coulomb: p, stiction: q, stribeck_velocity, exponent, viscous: r, peak: self.x() }.into()
            }
            2 => Table { points: self.pairs(), peak: p }.into(),
            3 => Tanh { coulomb: p, stribeck_velocity: q, viscous: r }.into(),
            4 => Dahl { coulomb: p, sigma0: q }.into(),
            _ => LuGre {
                coulomb: p,
                stiction: q,
                sigma0: r,
                sigma1: self.x(),
                sigma2: self.x(),
                stribeck_velocity: Some(self.x()),
                exponent: self.x(),
                damping_velocity: None,
            }
            .into(),
        }
    }

    fn load(&mut self) -> Load {
        let x = self.x();
        match self.below(6) {
            0 => Load::Unit,
            1 => Load::Constant(x),
            2 => Load::Pin { radius: x },
            3 => Load::Thrust { radius: x },
            4 => Load::Guide { length: Some(x) },
            _ => Load::Signal { max: x, signal: self.signal(), geometry: self.x() },
        }
    }

    fn signal(&mut self) -> Signal {
        let [p, q, r] = self.three();
        match self.below(5) {
            0 => Signal::Constant(p),
            1 => Signal::Sine { amplitude: p, frequency: q, phase: r, offset: self.x() },
            2 => Signal::Table(self.pairs()),
            3 => Signal::Steps(self.pairs()),
            _ => Signal::Ramp { rate: p, start: q },
        }
    }

    fn drive(&mut self) -> Drive {
        let ([kp, ki, kd], target) = (self.three(), self.signal());
        match self.below(4) {
            0 => Drive::Effort(target),
            1 => Drive::Pull { stiffness: kp, target },
            2 => Drive::Pid { kp, ki, kd, target },
            _ => Drive::Motion(target),
        }
    }
}

fn run(bytes: &[u8]) -> bool {
    let Some((&k, content)) = bytes.split_first() else { return false };
    let mut sim = machine(usize::from(k));
    sim.set_max_steps(MAX_STEPS);
    let Ok(start) = sim.snapshot() else { panic!("no snapshot of a machine at its start") };
    let mut choices = Choices(content.iter());
    let mut kept = start.clone();
    let mut is_other_machine = false;
    let mut n_done = 0;
    for _ in 0..MAX_CALLS {
        if choices.0.as_slice().is_empty() {
            break;
        }
        let names: Vec<String> = sim.reaction_names().iter().chain(sim.link_names()).map(ToString::to_string).collect();
        let (name, other) = (choices.name(&names), choices.name(&names));
        let (n_q, n_v) = (sim.positions().len(), sim.velocities().len());
        let result = match choices.below(26) {
            0 => sim.set_effort(&name, choices.x()),
            1 => sim.set_efforts(&choices.list(n_v)),
            2 => sim.set_target(&name, choices.x()),
            3 => sim.set_wrench(&name, choices.three(), choices.three()),
            4 => {
                is_other_machine = true;
                sim.set_friction(&name, choices.law())
            }
            5 => {
                is_other_machine = true;
                sim.set_load(&name, choices.load())
            }
            6 => sim.set_joint(&name, choices.x(), choices.x()),
            7 => sim.set_state(&choices.list(n_q), &choices.list(n_v)),
            8 => {
                let (q, v, a) = (choices.list(n_q), choices.list(n_v), choices.list(n_v));
                sim.inverse_dynamics(&q, &v, &a, &mut choices.list(n_v))
            }
            9 => sim.efforts_for(&choices.list(n_v), &mut choices.list(n_v)),
            10 => sim.linearize().map(drop),
            11 => sim.jacobian(&name, choices.three()).map(drop),
            12 => sim.mass_matrix().map(drop),
            13 => sim.snapshot().map(|bytes| kept = bytes),
            14 => sim.restore(&kept),
            15 => sim.reset(),
            16 => sim.position(&name).and(sim.velocity(&other)).and(sim.acceleration(&name)).map(drop),
            17 => sim.friction_effort(&name).and(sim.load(&other)).map(drop),
            18 => sim.reaction(&name).map(drop).and(sim.pose(&other).map(drop)),
            19 => sim.energy().map(drop),
            20 => sim.refresh(),
            21 => {
                // a random component
                let entity = sim.joint(&name).or(sim.link(&name)).unwrap_or(Entity::DANGLING);
                is_other_machine = true;
                let (p, q) = (choices.x(), choices.x());
                let world = sim.world_mut();
                match choices.below(4) {
                    0 => _ = world.insert_one(entity, choices.drive()),
                    1 => _ = world.insert_one(entity, JointState { position: p, velocity: q }),
                    2 => _ = world.insert_one(entity, Damping(p)),
                    _ => _ = world.remove_one::<Friction>(entity),
                }
                Ok(())
            }
            _ => sim.step(choices.time()),
        };
        n_done += usize::from(result.is_ok());
        check_finite(&sim);
        assert_eq!((sim.loads().len(), sim.bristles().len()), (sim.modes().len(), sim.friction_efforts().len()));
        assert_eq!((sim.reactions().len(), sim.poses().len()), (sim.reaction_names().len(), sim.link_names().len()));
    }
    // recovers from everything except another machine: laws of another kind make one
    let restored = sim.restore(&start);
    assert!(restored.is_ok() || is_other_machine, "{restored:?}");
    if restored.is_ok() {
        let Ok(after) = sim.snapshot() else { panic!("no snapshot of the start, restored") };
        let differs = after.iter().zip(&start).skip(40).position(|(a, b)| a != b);
        assert!(after == start, "the start, restored, is another one from byte 40 + {differs:?} of {}", start.len());
    }
    n_done > 0
}

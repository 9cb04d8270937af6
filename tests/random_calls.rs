//! Random sequences of calls with any numbers, names and lengths: errors, never a panic, and a refusal changes nothing.

use crate::embedding::{MACHINES, Make, geared, lugre};
use bristle::batch::Rollout;
use bristle::friction::{Coulomb, Dahl, ElastoPlastic, FrictionLaw, Law, LuGre, LuGre2, Stribeck, Table, Tanh};
use bristle::mechanics::Mechanics;
use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::signal::Signal;
use bristle::{Event, Record};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::ops::ControlFlow;

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
const NAMES: [&str; 12] =
    ["a", "b", "c", "d", "", "world", "link 0", "link 2", "throw", "motor", "stage", "\u{1F980} no such thing"];

/// Random numbers and names.
struct Dice(Pcg64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    fn x(&mut self) -> f64 {
        NUMBERS[self.below(NUMBERS.len())]
    }

    fn three(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.x())
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }

    /// A list of nearly the right length, of any numbers or of tame ones.
    fn list(&mut self, n: usize) -> Vec<f64> {
        let n = [n, n, n, n + 1, n.saturating_sub(1), 0][self.below(6)];
        let is_tame = self.below(2) == 0;
        (0..n).map(|_| if is_tame { 0.1 * self.below(9) as f64 } else { self.x() }).collect()
    }

    /// A duration that is short, zero or invalid.
    fn time(&mut self) -> f64 {
        let x = self.x();
        if x.abs() <= 1e-3 || !x.is_finite() || x < 0.0 { x } else { 1e-3 }
    }

    fn law(&mut self) -> Law {
        let [p, q, r] = self.three();
        let bristle = LuGre {
            coulomb: p,
            stiction: q,
            sigma0: r,
            sigma1: self.x(),
            stribeck_velocity: Some(self.x()),
            ..lugre()
        };
        match self.below(8) {
            0 => Coulomb { coulomb: p, stiction: q, viscous: r }.into(),
            1 => {
                let (stribeck_velocity, exponent) = (Some(self.x()), self.x());
                Stribeck { coulomb: p, stiction: q, stribeck_velocity, exponent, viscous: r, peak: self.x() }.into()
            }
            2 => Table { points: (0..self.below(4)).map(|_| (self.x(), self.x())).collect(), peak: p }.into(),
            3 => Tanh { coulomb: p, stribeck_velocity: q, viscous: r }.into(),
            4 => Dahl { coulomb: p, sigma0: q }.into(),
            5 => bristle.into(),
            6 => LuGre2 { lugre: bristle, alpha: self.x(), beta: self.x() }.into(),
            _ => ElastoPlastic { lugre: bristle, breakaway: self.x() }.into(),
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
            2 => Signal::Table((0..self.below(4)).map(|_| (self.x(), self.x())).collect()),
            3 => Signal::Steps((0..self.below(4)).map(|_| (self.x(), self.x())).collect()),
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

const GEARED: [Make; 2] =
    [|| geared(Method::Radau5, Control::default()), || geared(Method::RealTime, Control::Constant { step: 1e-3 })];

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

#[test]
fn random_calls_do_not_panic() {
    let machines = [MACHINES[0], MACHINES[3], MACHINES[4], MACHINES[6], MACHINES[8], GEARED[0], GEARED[1]];
    for (m, make) in machines.into_iter().enumerate() {
        let mut dice = Dice(Pcg64::seed_from_u64(40 + m as u64));
        let (mut sim, mut kept, mut errors) = (make(), Vec::new(), 0);
        let mut recording = sim.recording();
        for _ in 0..400 {
            let (name, other, p, q) = (dice.name(), dice.name(), dice.x(), dice.x());
            let (n_q, n_v) = (sim.positions().len(), sim.velocities().len());
            let result = match dice.below(30) {
                0 => sim.set_effort(name, p),
                1 => sim.set_efforts(&dice.list(n_v)),
                2 => sim.set_target(name, p),
                3 => sim.set_wrench(name, dice.three(), dice.three()),
                4 => sim.set_friction(name, dice.law()),
                5 => sim.set_load(name, dice.load()),
                6 => sim.set_joint(name, p, q),
                7 => {
                    let (at, v, a) = (dice.list(n_q), dice.list(n_v), dice.list(n_v));
                    sim.inverse_dynamics(&at, &v, &a, &mut dice.list(n_v))
                }
                8 => sim.efforts_for(&dice.list(n_v), &mut dice.list(n_v)),
                9 => sim.linearize().map(|_| ()),
                10 => sim.jacobian(name, dice.three()).map(|_| ()),
                11 => sim.mass_matrix().and(sim.reduced_mass_matrix()).map(|_| assert!(sim.independent().len() <= n_v)),
                12 => sim.snapshot().map(|bytes| kept = bytes),
                13 => sim.restore(&kept),
                14 => {
                    let mut bad = kept.clone();
                    let at = dice.below(bad.len().max(1));
                    bad.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << dice.below(8));
                    let is_refused = sim.restore(&bad).is_err();
                    assert!(is_refused);
                    Ok(())
                }
                15 => sim.reset(),
                16 => sim.position(name).and(sim.velocity(other)).and(sim.acceleration(name)).map(|_| ()),
                17 => sim.friction_effort(name).and(sim.load(other)).map(|_| ()),
                18 => sim.mode(name).map(|_| ()).and(sim.bristle(other).map(|_| ())),
                19 => sim.reaction(name).map(|_| ()).and(sim.pose(other).map(|_| ())),
                20 => sim.joint(name).map(|_| ()).and(sim.link(other).map(|_| ())),
                21 => sim.energy().map(|_| ()),
                // a machine that a target of 1e12 spins up takes millions of steps for a millisecond: these have no
                // budget
                22 => sim.run_until(sim.time() + dice.time().min(1e-9)).map(|_| ()),
                23 => sim.run_into(sim.time() + dice.time().min(1e-9), &mut recording),
                24 => {
                    let mut other = Bounded { rows: sim.recording(), left: 20_000 };
                    sim.run_with(sim.time() + dice.time(), &mut other)
                }
                25 => {
                    // a random component, on an entity that may not belong to the machine
                    let entity = sim.joint(name).or(sim.link(name)).unwrap_or(Entity::DANGLING);
                    let world = sim.world_mut();
                    let _ = match dice.below(4) {
                        0 => world.insert_one(entity, dice.drive()),
                        1 => world.insert_one(entity, JointState { position: p, velocity: q }),
                        2 => world.insert_one(entity, Damping(p)),
                        _ => world.remove_one::<Friction>(entity).map(|_| ()).map_err(|_| hecs_gone()),
                    };
                    Ok(())
                }
                _ => sim.step(dice.time()),
            };
            let lengths =
                [sim.positions().len(), sim.velocities().len(), sim.accelerations().len(), sim.reaction_names().len()];
            assert!(lengths.iter().all(|n| *n < 100) && sim.contact_names().len() == sim.modes().len());
            assert_eq!((sim.loads().len(), sim.bristles().len()), (sim.modes().len(), sim.friction_efforts().len()));
            assert_eq!(
                (sim.reactions().len(), sim.poses().len()),
                (sim.reaction_names().len(), sim.link_names().len())
            );
            let _ = (sim.events(), sim.stats(), sim.counters(), sim.warnings(), sim.compiled(), sim.world());
            if result.is_err() {
                errors += 1;
                // a machine in an invalid state stays there
                if errors % 20 == 0 {
                    sim = make();
                }
            }
        }
        assert!(errors > 50, "machine {m}: {errors}");
        assert!(!sim.into_world().is_empty());
    }
}

fn hecs_gone() -> bristle::hecs::NoSuchEntity {
    bristle::hecs::NoSuchEntity
}

#[test]
fn random_calls_on_batch_do_not_panic() {
    for (m, make) in [MACHINES[1], MACHINES[8], GEARED[0], GEARED[1]].into_iter().enumerate() {
        let mut dice = Dice(Pcg64::seed_from_u64(80 + m as u64));
        let fresh = || Batch::new(&mut make(), 3).unwrap().with_threads(2).unwrap();
        let (mut batch, mut kept, mut errors, mut rollout) = (fresh(), Vec::new(), 0, Rollout::default());
        let (n_q, n_v) = (batch.positions().len() / 3, batch.velocities().len() / 3);
        for _ in 0..300 {
            let (copy, name, p) = (dice.below(4), dice.name(), dice.x());
            let at = dice.below(3);
            let result = match dice.below(18) {
                0 => batch.set_state(copy, &dice.list(n_q), &dice.list(n_v)),
                1 => batch.set_friction(copy, name, dice.law()),
                2 => batch.set_load(copy, name, dice.load()),
                3 => batch.set_target(copy, name, p),
                4 => batch.set_drive(copy, name, dice.drive()),
                5 => batch.set_wrench(copy, name, dice.three(), dice.three()),
                6 => batch.snapshot(copy).map(|bytes| kept = bytes),
                7 => batch.restore(copy, &kept),
                8 => batch.time(copy).map(|_| ()).and(batch.energy(copy).map(|_| ())),
                9 => {
                    let k = dice.below(n_v);
                    batch.efforts_mut()[k * 3 + at] = p;
                    batch.step(1e-3)
                }
                10 => {
                    let n = batch.targets_mut().len();
                    batch.targets_mut().get_mut(dice.below(n.max(1))).into_iter().for_each(|x| *x = Some(p));
                    batch.step(1e-3)
                }
                11 => {
                    let n = batch.wrenches_mut().len();
                    batch.wrenches_mut()[dice.below(n)][dice.below(6)] = p;
                    batch.step(1e-3)
                }
                12 => {
                    let steps = [0, 1, 2, usize::MAX, usize::MAX / 8][dice.below(5)];
                    batch.rollout(dice.time(), steps, &dice.list(3 * steps.min(2) * n_v), &mut rollout)
                }
                _ => batch.step(dice.time()),
            };
            assert_eq!(batch.loads().len(), batch.friction_efforts().len());
            assert_eq!(batch.modes().len(), batch.bristles().len());
            assert!(batch.len() == 3 && !batch.is_empty() && batch.drive_names().count() < 9);
            assert_eq!(batch.accelerations().len(), batch.velocities().len());
            if result.is_err() {
                errors += 1;
                let _ = batch.failures().count();
                if errors % 10 == 0 {
                    batch = fresh();
                }
            }
        }
        assert!(errors > 50, "machine {m}: {errors}");
        let mut none = Batch::new(&mut make(), 0).unwrap();
        none.step(0.1).unwrap();
        none.rollout(0.1, 3, &[], &mut rollout).unwrap();
        assert!(
            none.is_empty()
                && none.targets_mut().is_empty()
                && none.wrenches_mut().is_empty()
                && none.snapshot(0).is_err()
        );
    }
}

#[test]
fn random_worlds_do_not_panic() {
    let mut dice = Dice(Pcg64::seed_from_u64(120));
    let (mut made, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut world = World::new();
        let [p, q, r] = dice.three();
        let inertia = LinkInertia::diagonal(dice.x(), dice.three().into(), p, q, r);
        let link = if dice.below(3) == 0 { inertia } else { LinkInertia::rod(1.0, [0.3, 0.0, 0.0].into()) };
        let link = world.spawn_link(dice.name(), link);
        let axis = if dice.below(3) == 0 { dice.three() } else { [0.0, 1.0, 0.0] };
        let mut joint = if dice.below(2) == 0 { revolute(dice.name(), axis) } else { prismatic(dice.name(), axis) };
        if dice.below(2) == 0 {
            joint = joint.friction(dice.law()).load(dice.load());
        }
        if dice.below(3) == 0 {
            joint = joint.drive(dice.drive()).damping(dice.x()).spring(dice.x(), dice.x());
        }
        let joint = world.spawn_joint(joint.to(link).position(dice.x()));
        if dice.below(3) == 0 {
            world.spawn((
                Name("tie".into()),
                Coupling::Gear { joints: [joint, link], ratio: dice.x(), offset: dice.x() },
            ));
        }
        let methods = [Method::Dopri5, Method::Radau5, Method::RealTime, Method::Rk4, Method::Trapezoidal];
        let control = match dice.below(4) {
            0 => Control::Constant { step: if dice.below(2) == 0 { 1e-3 } else { dice.time() } },
            1 => Control::Error { rtol: dice.x(), atol: dice.x() },
            2 => Control::TimeConstant { max: 1e-3, fraction: dice.x() },
            _ => Control::default(),
        };
        let formulation = [Formulation::Implicit, Formulation::Jerk, Formulation::Residual][dice.below(3)];
        let interval = if dice.below(4) == 0 { dice.x() } else { 0.01 };
        let settings =
            Settings { method: methods[dice.below(5)], control, formulation, interval, ..Settings::default() };
        // steps of no length would take for ever
        if matches!(control, Control::Constant { step } if step > 0.0 && step < 1e-6) {
            continue;
        }
        match Simulation::with_settings(world, settings) {
            Ok(mut sim) => {
                made += 1;
                let _ = sim.linearize();
                if !matches!(control, Control::TimeConstant { .. }) {
                    let _ = sim.step(1e-9);
                }
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(made > 10 && refused > 50, "{made} {refused}");

    // laws and their slopes
    for _ in 0..3000 {
        let (law, v, state) = (dice.law(), dice.x(), [dice.x(), dice.x()]);
        let _ = (law.evaluate(v, state), law.parameter_slopes(dice.x(), v, state), law.validate());
    }
    assert!(Simulation::from_urdf("nowhere.urdf").is_err());
    assert!(Simulation::from_urdf_with_friction("nowhere.urdf", "nowhere.ron").is_err());

    // mechanics at any states
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/coupled_clutches.ron");
    let mut mechanics = Mechanics::new(&Scene::load(path).unwrap(), true).unwrap();
    let (n_q, n_v) = (mechanics.model().n_q, mechanics.model().n_v);
    for _ in 0..400 {
        let (mut q, mut v, mut a) = (dice.list(n_q), dice.list(n_v), dice.list(n_v));
        let _ = mechanics.joint(dice.name());
        let _ = mechanics.complete(&mut q, &mut v, Some(&mut a));
        let _ = mechanics.forward(&q, &v, &a);
        let _ = mechanics.inverse(&q, &v, &a);
        let _ = mechanics.mass_matrix(&q).is_ok();
        let _ = (mechanics.reduced_mass_matrix(&q), mechanics.energies(&q, &v), mechanics.independent());
        let _ = mechanics.reactions(&q, &v, &a).is_ok();
    }
}

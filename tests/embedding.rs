//! A simulation in a program: snapshots, resets, setters and readers.

mod queries;

pub use queries::geared;

use bristle::component::{BristleState, Friction};
use bristle::friction::{Coulomb, Law, LuGre};
use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

pub fn lugre() -> LuGre {
    LuGre {
        sigma0: 1e3,
        sigma1: 3.0,
        sigma2: 0.1,
        coulomb: 0.2,
        stiction: 0.3,
        stribeck_velocity: Some(0.1),
        exponent: 2.0,
        damping_velocity: None,
    }
}

pub const DRY: Coulomb = Coulomb { coulomb: 5.0, stiction: 6.0, viscous: 0.05 };

/// Three links on hinges under alternating efforts: dry friction that sticks and slips, a pin, bristles, a controller.
fn arm(method: Method, control: Control, formulation: Formulation, with_free: bool) -> Simulation {
    let mut world = World::new();
    let links: Vec<Entity> =
        (0..3).map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.0, 0.0].into()))).collect();
    let axis = [0.0, 1.0, 0.0];
    let push = Drive::Effort(Signal::Sine { amplitude: 8.0, frequency: 9.0, phase: 0.0, offset: 0.0 });
    let hold = Drive::Pid { kp: 20.0, ki: 30.0, kd: 1.0, target: Signal::Steps(vec![(0.0, 0.2), (0.7, -0.3)]) };
    let pin = Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 };
    world.spawn_joint(revolute("a", axis).to(links[0]).position(1.5).friction(DRY.into()).drive(push));
    let b = revolute("b", axis).from(links[0]).to(links[1]).at([0.5, 0.0, 0.0]).friction(pin.into());
    world.spawn_joint(b.load(Load::Pin { radius: 0.05 }).damping(0.02).spring(1.0, 0.1));
    let c = revolute("c", axis).from(links[1]).to(links[2]).at([0.5, 0.0, 0.0]).friction(lugre().into());
    world.spawn_joint(c.drive(hold));
    if with_free {
        let top = world.spawn_link("top", LinkInertia::diagonal(2.0, [0.0, 0.0, 0.0].into(), 0.1, 0.2, 0.25));
        world.spawn_joint(free("throw").twist([1.0, 6.0, 0.1], [0.0, 0.0, 3.0]).to(top));
    }
    Simulation::with_settings(world, Settings { method, control, formulation, ..Settings::default() }).unwrap()
}

pub type Make = fn() -> Simulation;

/// Every stepper, every formulation, with and without a chart.
pub const MACHINES: [Make; 9] = [
    || arm(Method::Dopri5, Control::default(), Formulation::Implicit, true),
    || arm(Method::Radau5, Control::default(), Formulation::Implicit, false),
    || arm(Method::Radau5, Control::Error { rtol: 1e-6, atol: 1e-8 }, Formulation::Residual, false),
    || arm(Method::Dopri5, Control::Error { rtol: 1e-6, atol: 1e-8 }, Formulation::Jerk, false),
    || arm(Method::Rk4, Control::Constant { step: 4e-5 }, Formulation::Implicit, true),
    || {
        let method = Method::GeneralizedAlpha { spectral_radius: 0.8 };
        arm(method, Control::Error { rtol: 1e-5, atol: 1e-7 }, Formulation::Implicit, false)
    },
    || arm(Method::Trapezoidal, Control::Constant { step: 1e-3 }, Formulation::Implicit, false),
    || arm(Method::Radau3, Control::Constant { step: 1e-3 }, Formulation::Implicit, false),
    || arm(Method::RealTime, Control::Constant { step: 1e-3 }, Formulation::Implicit, true),
];

/// Inputs of a controller at step `k`: an effort, a target, changing friction.
pub fn command(sim: &mut Simulation, k: usize) {
    sim.set_effort("b", 0.3 * (0.1 * k as f64).sin()).unwrap();
    if k % 7 == 3 {
        sim.set_target("c", 0.1 * (k % 5) as f64).unwrap();
    }
    if k % 11 == 5 {
        sim.set_friction("a", Coulomb { coulomb: 5.0 - 0.01 * (k % 13) as f64, ..DRY }).unwrap();
        sim.set_wrench("link 2", [0.0; 3], [0.1 * (k % 3) as f64, 0.0, 0.2]).unwrap();
    }
}

/// Runs every machine, saves it after every step, and continues from `n` of these points in a new simulation.
fn go_on_from_snapshots(n: usize, seed: u64) {
    let mut random = Pcg64::seed_from_u64(seed);
    for (m, make) in MACHINES.iter().enumerate() {
        // the run without snapshots, and with a snapshot after every step, not always at the end of a period
        let (mut plain, mut kept) = (make(), make());
        let mut points = Vec::new();
        let periods: Vec<f64> = (0..150).map(|_| random.random_range(1e-4..0.02)).collect();
        let mut stuck = 0;
        for (k, &dt) in periods.iter().enumerate() {
            for sim in [&mut plain, &mut kept] {
                command(sim, k);
                sim.step(dt).unwrap();
            }
            stuck += usize::from(kept.mode("a").unwrap() == bristle::friction::Mode::Stuck);
            points.push(kept.snapshot().unwrap());
        }
        assert!(plain.snapshot().unwrap() == points[149], "machine {m}: looking changes nothing");
        assert!((5..145).contains(&stuck), "machine {m}: it sticks and it slips, {stuck}");
        let mut other = make();
        for _ in 0..n.div_ceil(MACHINES.len()) {
            let from = random.random_range(0..points.len() - 1);
            other.restore(&points[from]).unwrap();
            let to = (from + random.random_range(1..4)).min(149);
            for (k, &dt) in periods.iter().enumerate().take(to + 1).skip(from + 1) {
                command(&mut other, k);
                other.step(dt).unwrap();
            }
            assert!(other.snapshot().unwrap() == points[to], "machine {m}, from {from} to {to}");
        }
    }
}

#[test]
fn restore_continues_bit_for_bit() {
    go_on_from_snapshots(160, 1);
}

#[test]
fn coupled_machines_continue_bit_for_bit() {
    for scene in ["coupled_clutches", "one_way_clutch", "series_elastic_joint"] {
        let path = format!("{}/../../scenes/{scene}.ron", env!("CARGO_MANIFEST_DIR"));
        let scene = Scene::load(path).unwrap();
        let (mut sim, mut other) = (Simulation::new(&scene).unwrap(), Simulation::new(&scene).unwrap());
        let mut points = Vec::new();
        for k in 0..60 {
            sim.step(0.02 + 0.001 * (k % 7) as f64).unwrap();
            points.push(sim.snapshot().unwrap());
        }
        for from in (0..50).step_by(7) {
            other.restore(&points[from]).unwrap();
            for k in from + 1..from + 9 {
                other.step(0.02 + 0.001 * (k % 7) as f64).unwrap();
            }
            assert!(other.snapshot().unwrap() == points[from + 8], "{from}");
        }
    }
}

#[test]
fn restore_continues_from_any_time() {
    go_on_from_snapshots(10_000, 2);
}

/// Flips, overwrites, cuts off, adds and exchanges bytes of a snapshot: all are refused, and nothing has changed.
fn refuse_damaged(n: usize) {
    let mut random = Pcg64::seed_from_u64(3);
    let mut sim = MACHINES[1]();
    sim.step(0.3).unwrap();
    let good = sim.snapshot().unwrap();
    for k in 0..n {
        let mut bad = good.clone();
        let at = random.random_range(0..bad.len());
        match k % 5 {
            0 => bad[at] ^= 1 << random.random_range(0..8),
            1 => bad[at..].iter_mut().take(8).for_each(|byte| *byte = random.random()),
            2 => bad.truncate(at),
            3 => bad.extend((0..=at % 40).map(|_| random.random::<u8>())),
            _ => {
                let other = random.random_range(0..bad.len());
                bad.swap(at, other);
            }
        }
        if bad == good {
            continue;
        }
        let error = sim.restore(&bad).unwrap_err();
        assert!(matches!(error, Error::Snapshot { .. }), "{error}");
    }
    assert!(sim.snapshot().unwrap() == good);
    sim.restore(&good).unwrap();
    assert!(sim.snapshot().unwrap() == good);
}

#[test]
fn damaged_snapshots_are_refused() {
    refuse_damaged(100_000);
}

/// FNV-1a of everything but the checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |h: u64, &byte: &u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes[..32].iter().chain(&bytes[40..]).fold(0xcbf2_9ce4_8422_2325, step)
}

/// Snapshots of every machine with changed words and a correct checksum are refused or continue; nothing panics.
fn forge_snapshots(n: usize, seed: u64) {
    let mut random = Pcg64::seed_from_u64(seed);
    let coupled: Make = || geared(Method::Radau5, Control::default());
    let clutches: Make = || {
        let path = format!("{}/../../scenes/coupled_clutches.ron", env!("CARGO_MANIFEST_DIR"));
        Simulation::new(&Scene::load(path).unwrap()).unwrap()
    };
    let words = [f64::NAN.to_bits(), f64::INFINITY.to_bits(), 0, 1, 2, u64::MAX, 1e300_f64.to_bits(), 1 << 40];
    let (mut accepted, mut refused) = (0, 0);
    for make in MACHINES.into_iter().chain([coupled, clutches]) {
        let mut sim = make();
        (0..10).for_each(|_| sim.step(0.01).unwrap());
        let whole = sim.snapshot().unwrap();
        let mut other = make();
        other.set_max_steps(100);
        for _ in 0..n.div_ceil(MACHINES.len() + 2) {
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(40..bytes.len());
                match random.random_range(0..3) {
                    0 => bytes[at] ^= 1 << random.random_range(0..8),
                    1 => bytes[at] = random.random(),
                    _ => {
                        let word = words[random.random_range(0..words.len())];
                        let at = (at / 8 * 8).min(bytes.len() - 8);
                        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
            let sum = checksum(&bytes);
            bytes[32..40].copy_from_slice(&sum.to_le_bytes());
            if other.restore(&bytes).is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            let (mut tau, a) = (vec![0.0; other.velocities().len()], vec![0.0; other.velocities().len()]);
            let _ = (other.step(0.01), other.energy(), other.linearize(), other.efforts_for(&a, &mut tau));
            let _ = (other.warnings(), other.mass_matrix(), other.snapshot());
        }
        other.restore(&whole).unwrap();
        other.set_max_steps(100_000);
        sim.step(0.01).unwrap();
        other.step(0.01).unwrap();
        assert_eq!(sim.positions(), other.positions(), "what was refused has left nothing");
    }
    assert!(accepted > n / 10 && refused > n / 20, "{accepted} {refused}");
}

/// 3,000 of them, or the number in `BRISTLE_FORGED`: 100,000 take a minute.
#[test]
fn forged_snapshots_do_not_panic() {
    forge_snapshots(std::env::var("BRISTLE_FORGED").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000), 9);
}

/// −0.0 equals 0.0 and has other bits.
#[test]
fn snapshots_restore_sign_of_zero() {
    for make in MACHINES {
        let mut sim = make();
        let start = sim.snapshot().unwrap();
        sim.set_effort("b", -0.0).unwrap();
        assert!(sim.snapshot().unwrap() != start);
        sim.restore(&start).unwrap();
        assert!(sim.snapshot().unwrap() == start);
    }
}

#[test]
fn foreign_snapshots_are_refused() {
    let mut sim = MACHINES[0]();
    let bytes = MACHINES[1]().snapshot().unwrap();
    let error = sim.restore(&bytes).unwrap_err().to_string();
    assert!(error.contains("another machine"), "{error}");
    let mut bytes = sim.snapshot().unwrap();
    bytes[8] = 10;
    let error = sim.restore(&bytes).unwrap_err().to_string();
    assert!(error.contains("version 10, this program reads version 9"), "{error}");
    let error = sim.restore(b"nonsense").unwrap_err().to_string();
    assert!(error.contains("shorter than its own header"), "{error}");
}

#[test]
fn reset_equals_new_simulation() {
    for make in MACHINES {
        let (mut fresh, mut sim) = (make(), make());
        let first = fresh.snapshot().unwrap();
        for k in 0..30 {
            command(&mut sim, k);
            sim.step(0.01).unwrap();
        }
        sim.reset().unwrap();
        assert!(sim.snapshot().unwrap() == first, "everything is as at the beginning");
        assert_eq!((sim.time(), sim.stats()), (0.0, fresh.stats()));
        let (a, b) = (sim.run_until(0.5).unwrap(), fresh.run_until(0.5).unwrap());
        assert!(a.rows().eq(b.rows()));
    }
}

#[test]
fn arrays_names_and_components_agree() {
    let mut sim = MACHINES[0]();
    sim.step(0.37).unwrap();
    assert_eq!(sim.reaction_names(), ["a", "b", "c", "throw"]);
    assert_eq!(sim.link_names(), ["link 0", "link 1", "link 2", "top"]);
    assert_eq!(sim.contact_names().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!((sim.positions().len(), sim.velocities().len(), sim.accelerations().len()), (10, 9, 9));
    for (k, name) in ["a", "b", "c"].into_iter().enumerate() {
        let joint = sim.joint(name).unwrap();
        let state = *sim.world().get::<&JointState>(joint).unwrap();
        assert_eq!((sim.position(name).unwrap(), sim.velocity(joint).unwrap()), (state.position, state.velocity));
        assert_eq!((sim.positions()[k], sim.velocities()[k]), (state.position, state.velocity));
        assert_eq!(sim.acceleration(name).unwrap(), sim.world().get::<&Acceleration>(joint).unwrap().0);
        assert_eq!(sim.friction_effort(joint).unwrap(), sim.world().get::<&FrictionEffort>(joint).unwrap().0);
        assert_eq!(sim.friction_efforts()[k], sim.friction_effort(name).unwrap());
        assert_eq!(sim.load(name).unwrap(), sim.world().get::<&NormalLoad>(joint).unwrap().0);
        assert_eq!(sim.reaction(name).unwrap(), *sim.world().get::<&Reaction>(joint).unwrap());
        assert_eq!(sim.reactions()[k], sim.reaction(joint).unwrap());
        let link = sim.link_names()[k].clone();
        let pose = sim.world().get::<&Pose>(sim.link(&link).unwrap()).unwrap().0;
        assert_eq!((sim.pose(&link).unwrap(), sim.poses()[k]), (pose, pose));
    }
    assert_eq!(sim.mode("a").unwrap(), sim.world().get::<&SlipMode>(sim.joint("a").unwrap()).unwrap().0);
    let bristle = *sim.world().get::<&BristleState>(sim.joint("c").unwrap()).unwrap();
    assert_eq!((sim.bristle("c").unwrap(), sim.bristles()[2]), (bristle, bristle));

    let error = sim.position("throw").unwrap_err().to_string();
    assert!(error.contains("is a free joint") && error.contains("`set_state`"), "{error}");
    let error = sim.position("d").unwrap_err().to_string();
    assert!(error.contains("there is no joint `d`; there is a, b, c, throw"), "{error}");
    let error = sim.friction_effort("throw").unwrap_err().to_string();
    assert!(error.contains("no joint or coupling with friction `throw`; there is a, b, c"), "{error}");
    assert!(sim.position("world").is_err() && sim.pose("world").is_err());
}

#[test]
fn step_events_equal_recorded_events() {
    let (mut stepped, mut recorded) = (MACHINES[1](), MACHINES[1]());
    let mut seen = Vec::new();
    for _ in 0..100 {
        stepped.step(0.03).unwrap();
        let names: Vec<&str> = stepped.contact_names().collect();
        seen.extend(stepped.events().iter().map(|e| (names[e.contact].to_owned(), e.from, e.to, e.t)));
    }
    let recording = recorded.run_until(stepped.time()).unwrap();
    assert!(recording.events().len() > 6, "{}", recording.events().len());
    assert_eq!(seen.len(), recording.events().len());
    for (seen, event) in seen.iter().zip(recording.events()) {
        assert_eq!((&seen.0, seen.1, seen.2), (&event.joint, event.from, event.to));
        // steps end elsewhere: the same instant to the tolerance
        assert!((seen.3 - event.t).abs() < 1e-6, "{} {}", seen.3, event.t);
    }
    // mode changes of fixed steps are recorded at their ends
    let (mut stepped, mut recorded) = (MACHINES[8](), MACHINES[8]());
    let mut seen = Vec::new();
    for _ in 0..1000 {
        stepped.step(1e-3).unwrap();
        seen.extend(stepped.events().iter().map(|e| (e.from, e.to, e.t)));
    }
    let recording = recorded.run_until(stepped.time()).unwrap();
    assert!(seen.len() > 4, "{}", seen.len());
    assert_eq!(seen, recording.events().iter().map(|e| (e.from, e.to, e.t)).collect::<Vec<_>>());
    // a push that breaks a joint away at once is an event, too
    let mut world = World::new();
    let link = world.spawn_link("link", LinkInertia::rod(1.0, [0.0, 0.0, -0.5].into()));
    world.spawn_joint(revolute("hinge", [0.0, 1.0, 0.0]).to(link).friction(DRY.into()));
    let mut sim = Simulation::from_world(world).unwrap();
    sim.step(0.1).unwrap();
    assert!(sim.events().is_empty());
    sim.set_effort("hinge", 9.0).unwrap();
    sim.step(0.1).unwrap();
    let event = sim.events()[0];
    use bristle::friction::Mode::{Forward, Stuck};
    assert_eq!((event.t, event.contact, event.from, event.to), (0.1, 0, Stuck, Forward));
}

#[test]
fn set_friction_equals_scene_friction() {
    // a disc that turns at 3 rad/s: a = −τ_f / I
    let mut world = World::new();
    let disc = world.spawn_link("disc", LinkInertia::diagonal(1.0, [0.0; 3].into(), 1.0, 0.5, 1.0));
    let law = Coulomb { coulomb: 0.2, stiction: 0.2, viscous: 0.0 };
    let spin = revolute("spin", [0.0, 1.0, 0.0]).to(disc).friction(law.into()).load(Load::Constant(2.0));
    world.spawn_joint(spin.velocity(3.0));
    let mut sim = Simulation::from_world(world).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.velocity("spin").unwrap() - (3.0 - 0.5 * 0.4 / 0.5)).abs() < 1e-12);
    sim.set_friction("spin", Coulomb { coulomb: 0.5, stiction: 0.5, viscous: 0.0 }).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.velocity("spin").unwrap() - (2.6 - 0.5 * 1.0 / 0.5)).abs() < 1e-12);
    sim.set_load("spin", Load::Constant(1.0)).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.velocity("spin").unwrap() - (1.6 - 0.5 * 0.5 / 0.5)).abs() < 1e-12);
    assert_eq!(sim.load("spin").unwrap(), 1.0);
    // the machine was not compiled again, and the ledger balances
    assert!(sim.energy().unwrap().balance.abs() < 1e-12);
    sim.reset().unwrap();
    assert_eq!(sim.world().get::<&Friction>(sim.joint("spin").unwrap()).unwrap().0, Law::from(law));
    // another kind of law: compiled again, the motion continues
    sim.step(0.5).unwrap();
    sim.set_friction("spin", lugre()).unwrap();
    sim.step(0.1).unwrap();
    assert!((sim.velocity("spin").unwrap() - 2.6).abs() < 0.2);
    // reset keeps the added law; another joint is another machine
    sim.reset().unwrap();
    assert_eq!((sim.time(), sim.velocity("spin").unwrap()), (0.0, 3.0));
    assert_eq!(sim.world().get::<&Friction>(sim.joint("spin").unwrap()).unwrap().0, Law::from(lugre()));
    let disc = sim.link("disc").unwrap();
    let more = sim.world_mut().spawn_link("more", LinkInertia::diagonal(1.0, [0.0; 3].into(), 1.0, 0.5, 1.0));
    sim.world_mut().spawn_joint(revolute("another", [0.0, 1.0, 0.0]).from(disc).to(more));
    sim.step(0.1).unwrap();
    assert!(sim.reset().unwrap_err().to_string().contains("other links or joints than it began with"));
}

#[test]
fn invalid_inputs_change_nothing() {
    let mut sim = MACHINES[1]();
    sim.step(0.1).unwrap();
    let before = sim.snapshot().unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(sim.set_effort("a", bad).is_err());
        assert!(sim.set_target("c", bad).is_err());
        assert!(sim.set_wrench("link 0", [0.0; 3], [0.0, bad, 0.0]).is_err());
        assert!(sim.set_joint("a", bad, 0.0).is_err());
        assert!(sim.set_friction("a", Coulomb { coulomb: bad, ..DRY }).is_err());
        assert!(sim.set_load("a", Load::Constant(bad)).is_err());
        assert!(sim.step(bad).is_err());
    }
    assert!(sim.step(-1.0).is_err());
    assert!(sim.set_target("b", 0.0).unwrap_err().to_string().contains("no drive on joint `b`"));
    assert!(sim.set_load("a", Load::Guide { length: None }).unwrap_err().to_string().contains("guides on slides"));
    assert!(sim.set_friction("nobody", DRY).is_err());
    assert!(sim.snapshot().unwrap() == before);
}

#[test]
fn drive_follows_set_target() {
    let mut sim = MACHINES[1]();
    let c = sim.joint("c").unwrap();
    let Drive::Pid { kp, ki, kd, .. } = Drive::clone(&sim.world().get::<&Drive>(c).unwrap()) else { panic!() };
    let mut given = MACHINES[1]();
    let drive = Drive::Pid { kp, ki, kd, target: Signal::Constant(0.6) };
    given.world_mut().insert_one(c, drive).unwrap();
    sim.set_target("c", 0.6).unwrap();
    for _ in 0..20 {
        sim.step(0.01).unwrap();
        given.step(0.01).unwrap();
    }
    assert!(sim.positions().iter().zip(given.positions()).all(|(a, b)| (a - b).abs() < 1e-7));
}

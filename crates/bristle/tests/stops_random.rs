//! Random machines with stops: trees and chains, friction of all kinds, springs, couplings, free bases. The energy
//! ledger closes through impacts, and no joint passes a stop.
//!
//! `BRISTLE_MACHINES` sets the number of machines, `BRISTLE_SEED` runs one of them.

use bristle::component::{Coupling, Friction, Load, Name};
use bristle::friction::{Coulomb, Law, LuGre};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::{EventKind, Settings};

/// Numbers of a linear congruential generator.
struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }

    fn chance(&mut self, of: f64) -> bool {
        self.between(0.0, 1.0) < of
    }
}

/// A range of a joint.
struct Range {
    name: String,
    lower: f64,
    upper: f64,
}

fn machines() -> u64 {
    std::env::var("BRISTLE_MACHINES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// The machines to run: `BRISTLE_SEED` selects one.
fn chosen() -> impl Iterator<Item = (u64, bool)> {
    let only: Option<u64> = std::env::var("BRISTLE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..machines(), |seed| seed..seed + 1);
    seeds.flat_map(|seed| [(seed, false), (seed, true)])
}

/// A machine of one to five joints and the ranges of its joints; a plain one has Coulomb friction under given loads.
fn machine(seed: u64, is_coupled: bool, is_plain: bool) -> (World, Vec<Range>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 7);
    let r = &mut random;
    (0..8).for_each(|_| _ = r.between(0.0, 1.0));
    let mut world = World::new();
    world.set_gravity([0.0, -9.81, 0.0]);
    let n = 1 + (seed % 5) as usize;
    let mut links = Vec::new();
    let (mut ranges, mut joints) = (Vec::new(), Vec::new());
    if !is_plain && seed % 7 == 3 {
        let base = world.spawn_link("base", LinkInertia::diagonal(2.0, [0.03, -0.02, 0.04].into(), 0.05, 0.06, 0.07));
        world.spawn_joint(free("float").to(base).twist([0.3, -0.2, 0.5], [0.1, 0.2, 0.0]));
        links.push(base);
    }
    // two to three coupled joints: Σ c q = offset
    let n_coupled = if is_coupled && n > 1 { 2 + usize::from(n > 2 && r.chance(0.5)) } else { 0 };
    let coefficients: Vec<f64> =
        (0..n_coupled).map(|_| r.between(0.4, 2.5) * if r.chance(0.5) { 1.0 } else { -1.0 }).collect();
    let (mut sum_q, mut sum_v) = (0.0, 0.0);
    for i in 0..n {
        let link = world.spawn_link(
            &format!("l{i}"),
            LinkInertia::rod(r.between(0.3, 2.0), [r.between(-0.3, 0.3), -0.5, 0.1].into()),
        );
        let (name, axis) = (format!("j{i}"), [r.between(-1.0, 1.0), r.between(-1.0, 1.0), 1.0]);
        let is_revolute = r.chance(0.7);
        let mut joint = if is_revolute { revolute(&name, axis) } else { prismatic(&name, axis) };
        if !links.is_empty() && r.chance(0.8) {
            let parent = links[(r.between(0.0, links.len() as f64) as usize).min(links.len() - 1)];
            joint = joint.from(parent).at([0.0, -0.5, 0.0]);
        }
        let (q, mut v) = (r.between(-0.5, 0.5), r.between(-3.0, 3.0));
        if let Some(&c) = coefficients.get(i) {
            if i == n_coupled - 1 {
                v = -sum_v / c;
            }
            (sum_q, sum_v) = (sum_q + c * q, sum_v + c * v);
        }
        joint = joint.to(link).position(q).velocity(v);
        if r.chance(0.8) {
            let (lower, upper) = (q - r.between(0.0, 0.5), q + r.between(0.05, 0.5));
            ranges.push(Range { name, lower, upper });
            joint = joint.limits(lower, upper).restitution(if r.chance(0.4) { 0.0 } else { r.between(0.0, 1.0) });
        }
        let coulomb = r.between(0.01, 1.0);
        if r.chance(0.5) {
            joint = joint.friction(Law::Coulomb(Coulomb { coulomb, stiction: 1.3 * coulomb, viscous: 0.0 }));
        } else if !is_plain && r.chance(0.4) {
            let stribeck_velocity = Some(0.05);
            let (stiction, exponent) = (1.3 * coulomb, 2.0);
            joint = joint.friction(Law::LuGre(LuGre {
                sigma0: 1e4,
                sigma1: 20.0,
                sigma2: 0.1,
                coulomb,
                stiction,
                stribeck_velocity,
                exponent,
                damping_velocity: None,
            }));
        } else if !is_plain && is_revolute && r.chance(0.5) {
            joint = joint.friction(Law::Coulomb(Coulomb { coulomb: 0.2, stiction: 0.3, viscous: 0.0 }));
            joint = joint.load(Load::Pin { radius: 0.02 });
        }
        if r.chance(0.3) {
            joint = joint.spring(r.between(0.0, 30.0), q).damping(r.between(0.0, 0.3));
        }
        joints.push(world.spawn_joint(joint));
        links.push(link);
    }
    if n_coupled == 2 && r.chance(0.5) {
        let ratio = -coefficients[1] / coefficients[0];
        let joints = [joints[0], joints[1]];
        world.spawn((Name("gear".into()), Coupling::Gear { joints, ratio, offset: sum_q / coefficients[0] }));
    } else if n_coupled > 0 {
        let terms = joints.iter().copied().zip(coefficients).collect();
        world.spawn((Name("sum".into()), Coupling::Linear { terms, offset: sum_q }));
    }
    if is_coupled && n > 3 && r.chance(0.5) {
        let law = Law::Coulomb(Coulomb { coulomb: 1.0, stiction: 1.2, viscous: 0.0 });
        let joints = [joints[n - 2], joints[n - 1]];
        world.spawn((Name("clutch".into()), Coupling::Clutch { joints }, Friction(law), Load::Constant(0.7)));
    }
    (world, ranges)
}

/// Conditions on every run: positions within the ranges, stops that push into the range.
fn check(label: &str, recording: &Recording, ranges: &[Range]) -> Result<(), String> {
    for Range { name, lower, upper } in ranges {
        let channel = |what: &str| recording.channel(&format!("{name}.{what}")).unwrap().collect::<Vec<f64>>();
        for (q, stop) in channel("position").into_iter().zip(channel("stop")) {
            if !(lower - 1e-10..=upper + 1e-10).contains(&q) {
                return Err(format!("{label}, {name}: {q} is outside {lower}, {upper}"));
            }
            // a stop pushes into the range; it acts on its own side
            if stop != 0.0 && (stop > 0.0) != (q < 0.5 * (lower + upper)) {
                return Err(format!("{label}, {name}: {stop} at {q}"));
            }
        }
    }
    Ok(())
}

fn real_time(step: f64) -> Settings {
    let control = Control::Constant { step };
    Settings { method: Method::RealTime, control, ..Settings::default() }
}

/// One machine: its balance, relative to its energies, and its impacts.
fn run(seed: u64, is_coupled: bool, settings: Settings) -> Result<(f64, usize), String> {
    let (world, ranges) = machine(seed, is_coupled, settings.method != Method::RealTime);
    let label = format!("machine {seed}, coupled {is_coupled}, {:?} {:?}", settings.method, settings.control);
    let explain = |e: Error| format!("{label}: {e}");
    let recording =
        Simulation::with_settings(world, settings).and_then(|mut sim| sim.run_until(1.0)).map_err(explain)?;
    check(&label, &recording, &ranges)?;
    let size = |name: &str| recording.channel(name).unwrap().fold(0.0_f64, |most, x| most.max(x.abs()));
    let energy = size("energy.kinetic") + size("energy.potential") + size("energy.elastic");
    let n_impacts = recording.events().iter().filter(|event| event.kind == EventKind::Stop).count();
    Ok((size("energy.balance") / energy, n_impacts))
}

/// The balance of `RealTime` lacks its numerical dissipation, which is of order h.
#[test]
fn real_time_keeps_random_machines_within_their_stops() {
    let (mut n_impacts, mut worst, mut failures) = (0, 0.0_f64, Vec::new());
    for (seed, is_coupled) in chosen() {
        match (run(seed, is_coupled, real_time(1e-3)), run(seed, is_coupled, real_time(1e-4))) {
            (Ok((coarse, more)), Ok((fine, most))) => {
                n_impacts += more + most;
                worst = worst.max(fine);
                // ten times shorter steps; impacts fall into steps at random, so that single machines vary
                if fine > 0.5 * coarse + 3e-3 {
                    failures.push(format!("machine {seed}, coupled {is_coupled}: balance {coarse:e} {fine:e}"));
                }
            }
            (first, second) => failures.extend([first.err(), second.err()].into_iter().flatten()),
        }
    }
    println!("RealTime: {} machines, {n_impacts} impacts, worst balance {worst:e}", chosen().count());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The tolerance of the integration is 1e-8: the balance holds a hundred times that.
#[test]
fn the_ledger_closes_through_impacts() {
    let (mut n_impacts, mut worst, mut failures) = (0, 0.0_f64, Vec::new());
    for (seed, is_coupled) in chosen() {
        let method = [Method::Dopri5, Method::Radau5][(seed % 2) as usize];
        match run(seed, is_coupled, Settings { method, ..Settings::default() }) {
            Ok((balance, n)) => {
                (n_impacts, worst) = (n_impacts + n, worst.max(balance));
                if balance > 1e-6 {
                    failures.push(format!("machine {seed}, coupled {is_coupled}: balance {balance:e}"));
                }
            }
            Err(error) => failures.push(error),
        }
    }
    let n = chosen().count();
    println!("event-driven: {n} machines, {n_impacts} impacts, worst balance {worst:e}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

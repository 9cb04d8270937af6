//! Random machines: the recursion and the dense matrix give the same step.

use super::step_matrix::MatrixForm;
use super::*;
use crate::dynamics::Snapshot;
use crate::model::compile::{compile, read_bristles, read_state};
use crate::signal::Signal;
use crate::world::builder::{Describe, free, prismatic, revolute};
use crate::world::component::{Coupling, Drive, Friction, Load, Name};
use bristle_friction::{Coulomb, Dahl, Law, LuGre, Tanh};
use bristle_multibody::{LinkInertia, chart_point, configuration_difference, neutral};
use hecs::World;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Length of the steps, s.
const H: f64 = 1e-3;

fn law(rng: &mut Pcg64) -> Law {
    let level = rng.random_range(0.05..2.0);
    let stiction = level * rng.random_range(1.0..1.5);
    match rng.random_range(0..8) {
        0 => Tanh { coulomb: level, stribeck_velocity: 0.05, viscous: 0.1 }.into(),
        1 => Dahl { coulomb: level, sigma0: 500.0 }.into(),
        2 => LuGre {
            sigma0: 1e4,
            sigma1: 20.0,
            sigma2: 0.3,
            coulomb: level,
            stiction,
            stribeck_velocity: Some(0.05),
            exponent: 2.0,
            damping_velocity: None,
        }
        .into(),
        _ => Coulomb { coulomb: level, stiction, viscous: 0.1 * level }.into(),
    }
}

/// A random tree, with couplings and prescribed joints, and with pins that their reactions load, if asked.
fn machine(seed: u64, n: usize, is_coupled: bool, has_pins: bool) -> (Compiled, Snapshot) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut world = World::new();
    let real = |rng: &mut Pcg64, size: f64| rng.random_range(-size..size);
    let triple = |rng: &mut Pcg64, size: f64| [real(rng, size), real(rng, size), real(rng, size)];
    let mut links = Vec::new();
    let mut joints = Vec::new();
    for k in 0..n {
        let mass = rng.random_range(0.2..2.0);
        let [x, y, z] = [0.0; 3].map(|_: f64| mass * rng.random_range(0.02..0.03));
        let inertia = LinkInertia::diagonal(mass, triple(&mut rng, 0.2).into(), x, y, z);
        links.push(world.spawn_link(&format!("l{k}"), inertia));
        let name = format!("j{k:02}");
        if k == 0 && seed.is_multiple_of(3) {
            let twist = (triple(&mut rng, 2.0), triple(&mut rng, 1.0));
            world.spawn_joint(free(&name).to(links[0]).twist(twist.0, twist.1));
            continue;
        }
        let is_revolute = rng.random_range(0..4) > 0;
        let kind = if is_revolute { revolute } else { prismatic };
        let mut joint = kind(&name, triple(&mut rng, 1.0)).to(links[k]).at(triple(&mut rng, 0.3));
        if k > 0 && rng.random_range(0..10) > 0 {
            joint = joint.from(links[rng.random_range(k.saturating_sub(3)..k)]);
        }
        let velocity = if rng.random_range(0..3) == 0 { 0.0 } else { real(&mut rng, 3.0) };
        joint = joint.position(real(&mut rng, 1.0)).velocity(velocity);
        match rng.random_range(0..8) {
            0 => joint = joint.spring(30.0, 0.2),
            1 => joint = joint.damping(0.3),
            2 => joint = joint.effort(2.0),
            _ => {}
        }
        if rng.random_range(0..6) > 0 {
            joint = joint.friction(law(&mut rng));
            if has_pins && is_revolute && rng.random_range(0..3) == 0 {
                joint = joint.load(Load::Pin { radius: 0.02 });
            }
        }
        if is_coupled && rng.random_range(0..8) == 0 {
            let frequency = rng.random_range(1.0..5.0);
            joint = joint.velocity(0.3 * frequency).position(0.0);
            let along = Signal::Sine { amplitude: 0.3, frequency, phase: 0.0, offset: 0.0 };
            world.spawn_joint(joint.drive(Drive::Motion(along)));
            continue;
        }
        joints.push(world.spawn_joint(joint));
    }
    let pairs: Vec<_> = joints.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    for (k, &joints) in pairs.iter().enumerate().filter(|_| is_coupled) {
        let name = Name(format!("c{k}"));
        match rng.random_range(0..8) {
            0 | 1 => {
                world.spawn((name, Coupling::Linear { terms: vec![(joints[0], 1.0), (joints[1], 1.7)], offset: 0.0 }));
            }
            2 => {
                let (stiffness, damping) = (40.0, 0.5);
                world.spawn((name, Coupling::SpringDamper { joints, stiffness, damping, rest: 0.0 }));
            }
            3 => {
                world.spawn((name, Coupling::Clutch { joints }, Friction(law(&mut rng)), Load::Constant(1.5)));
            }
            4 => {
                world.spawn((name, Coupling::Brake { joint: joints[0] }, Friction(law(&mut rng)), Load::Constant(0.5)));
            }
            _ => {}
        }
    }
    let compiled = compile(&world).unwrap();
    let mut state = Snapshot::rest(&compiled);
    read_state(&world, &compiled, &mut state.mechanics).unwrap();
    read_bristles(&world, &compiled, 0.0, &state.mechanics.v, &mut state.bristles).unwrap();
    (compiled, state)
}

/// The largest differences of velocities, relative to the largest velocity, and of friction, relative to the largest
/// effort.
#[derive(Debug, Default)]
struct Difference {
    velocity: f64,
    friction: f64,
}

impl Difference {
    fn update(&mut self, dense: &RealTime, tree: &RealTime) {
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let largest = |a: &[f64]| a.iter().map(|a| a.abs()).fold(1e-3, f64::max);
        self.velocity = self.velocity.max(distance(&dense.end.v, &tree.end.v) / largest(&dense.end.v));
        let effort = largest(&dense.equations.r).max(largest(&dense.end.friction));
        for c in 0..dense.contacts.laws.len() {
            let difference = (dense.end.friction[c] - tree.end.friction[c]).abs() / effort;
            // how redundant contacts distribute their load is found by penalties, to a few updates of multipliers
            let weight = if dense.coordinates.is_redundant[c] { 1e-3 } else { 1.0 };
            self.friction = self.friction.max(weight * difference);
        }
    }
}

/// Of solutions of (3), and of whole steps, with the bias of a coarse solution.
#[derive(Debug, Default)]
struct Worst {
    solution: Difference,
    step: Difference,
}

impl Worst {
    /// Multipliers of the dense form converge to 1e-10 of themselves; the coarse solution leaves up to 1e-4 of h a.
    fn check(&self, seed: u64) {
        let is_right = self.solution.velocity < 1e-10 && self.solution.friction < 1e-9;
        assert!(is_right && self.step.velocity < 1e-5 && self.step.friction < 1e-5, "seed {seed}: {self:?}");
    }
}

/// Steps of both forms from the same states, those of the dense form, and the number of stuck contacts and changes of
/// mode.
fn compare(seed: u64, n: usize, [is_coupled, has_pins]: [bool; 2], n_steps: usize) -> (Worst, [usize; 2]) {
    compare_on(machine(seed, n, is_coupled, has_pins), n_steps)
}

fn compare_on((compiled, state): (Compiled, Snapshot), n_steps: usize) -> (Worst, [usize; 2]) {
    let make = |form| RealTime::with_form(&compiled, H, ReducedCoordinates::new(&compiled), form);
    let (mut dense, mut tree) = (make(MatrixForm::Dense), make(MatrixForm::Tree));
    let (mut work, q_ref) = (Work::new(&compiled.model.tree), neutral(&compiled.model.tree));
    let mut q = state.mechanics.q.clone();
    configuration_difference(&compiled.model.tree, &q_ref, &q, &mut dense.end.xi).unwrap();
    dense.end.v.copy_from_slice(&state.mechanics.v);
    let v = &mut dense.end.v;
    dense.coordinates.set_velocities(v);
    for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
        dense.end.bristles[c] = contact.law.state_of(state.bristles[c].z, state.bristles[c].w);
        dense.end.modes[c] = Mode::of_sign(contact.rate(&dense.end.v));
    }
    let (mut worst, mut counts) = (Worst::default(), [0; 2]);
    let mut quad = vec![0.0; 2 + compiled.model.heated.len() + compiled.model.heated_elements.len()];
    for k in 0..n_steps {
        let End { xi, v, bristles, modes, load, integrals, .. } = dense.end.clone();
        let servos = vec![crate::model::servo::ServoState::default(); compiled.inputs.drives.len()];
        chart_point(&compiled.model.tree, &q_ref, &xi, &mut q).unwrap();
        let half: Vec<f64> = v.iter().map(|v| 0.5 * H * v).collect();
        let mut middle = q.clone();
        bristle_multibody::advance(&compiled.model.tree, &q, &half, &mut middle).unwrap();
        let start = Start {
            q_ref: &q_ref,
            q: &q,
            xi: &xi,
            middle: &middle,
            v: &v,
            bristles: &bristles,
            modes: &modes,
            loads: &load,
            integrals: &integrals,
            servos: &servos,
        };
        let (h, t1) = (H, H * (k + 1) as f64);
        if k == 0 {
            // offsets of dependent positions, loads of bristles
            let at = SignalTime::first(0.0);
            dense.reset(&compiled, start, at);
            tree.reset(&compiled, start, at);
        }
        let at = SignalTime::of_step(t1, H);
        // (3) alone, then the whole step
        for rt in [&mut dense, &mut tree] {
            prepare(rt, &compiled, &mut work, start, h, at).unwrap();
            solve_velocities(rt, &compiled, start, h, Accuracy::Full).unwrap();
            end_velocities(rt, &compiled, start, h, at);
            read_contacts(rt, &compiled, start, h);
        }
        worst.solution.update(&dense, &tree);
        step(&mut dense, &compiled, &mut work, start, at, h, &mut quad).unwrap();
        step(&mut tree, &compiled, &mut work, start, at, h, &mut quad).unwrap();
        worst.step.update(&dense, &tree);
        counts[0] += dense.solver.states.iter().filter(|state| state.is_stuck).count();
        counts[1] += dense.end.modes.iter().zip(&modes).filter(|(a, b)| a != b).count();
        // the same warm start
        tree.solver.last_effort.copy_from_slice(&dense.solver.last_effort);
        tree.last_acceleration.copy_from_slice(&dense.last_acceleration);
        tree.contacts.bristle_load.copy_from_slice(&dense.contacts.bristle_load);
    }
    (worst, counts)
}

/// Trees, a third of them on a free base.
#[test]
fn recursion_and_matrix_give_the_same_step_on_trees() {
    let mut totals = [0; 2];
    for seed in 0..60 {
        let (worst, counts) = compare(seed, 3 + (seed % 25) as usize, [false; 2], 40);
        worst.check(seed);
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    assert!(totals[0] > 1000 && totals[1] > 100, "{totals:?}");
}

/// Gears, spring-dampers, clutches, brakes and prescribed joints besides.
#[test]
fn recursion_equals_matrix_with_couplings() {
    let mut totals = [0; 2];
    for seed in 100..160 {
        let (worst, counts) = compare(seed, 4 + (seed % 15) as usize, [true, false], 40);
        worst.check(seed);
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    assert!(totals[0] > 1000 && totals[1] > 100, "{totals:?}");
}

/// A hanging chain with dry hinges, some of which stiff spring-dampers connect.
fn chain_with_springs(seed: u64) -> (Compiled, Snapshot) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (n, mut world) = (rng.random_range(6..20), World::new());
    let (mut links, mut joints) = (Vec::new(), Vec::new());
    for k in 0..n {
        let mass = rng.random_range(0.5..2.0);
        let [x, y, z] = [0.01 * mass; 3];
        links.push(world.spawn_link(&format!("l{k}"), LinkInertia::diagonal(mass, [0.0, 0.0, -0.15].into(), x, y, z)));
        let axis = if rng.random_range(0..5) < 3 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
        let mut joint = revolute(&format!("j{k:02}"), axis).to(links[k]).at([0.0, 0.0, -0.3]);
        if k > 0 {
            joint = joint.from(links[k - 1]);
        }
        let coulomb = rng.random_range(0.05..1.0) * (n - k) as f64 * 0.3;
        let velocity = if rng.random_range(0..2) == 0 { 0.0 } else { rng.random_range(-1.0..1.0) };
        joint = joint.position(rng.random_range(-0.3..0.3)).velocity(velocity);
        joints.push(world.spawn_joint(joint.friction(Coulomb { coulomb, stiction: coulomb, viscous: 0.0 }.into())));
    }
    for k in 0..2 {
        let first = rng.random_range(0..n);
        let joints = [joints[first], joints[(first + rng.random_range(1..n)) % n]];
        let (stiffness, damping) = (10_f64.powf(rng.random_range(1.0..4.0)), 10_f64.powf(rng.random_range(-1.0..1.5)));
        world.spawn((Name(format!("c{k}")), Coupling::SpringDamper { joints, stiffness, damping, rest: 0.0 }));
    }
    let compiled = compile(&world).unwrap();
    let mut state = Snapshot::rest(&compiled);
    read_state(&world, &compiled, &mut state.mechanics).unwrap();
    (compiled, state)
}

/// Two joints that come to rest in the same step feel the spring between them.
#[test]
fn springs_count_against_limits_at_rest() {
    let mut totals = [0; 2];
    for seed in 300..400 {
        let (worst, counts) = compare_on(chain_with_springs(seed), 60);
        // stiff springs are large terms
        let is_right = worst.solution.velocity < 1e-9 && worst.solution.friction < 1e-6;
        assert!(is_right, "seed {seed}: {worst:?}");
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    assert!(totals[0] > 1000 && totals[1] > 100, "{totals:?}");
}

/// Reaction loads are iterated to 1e-9 of themselves; a bearing near jamming amplifies that.
#[test]
fn recursion_equals_matrix_under_reaction_loads() {
    for seed in 200..240 {
        let (worst, _) = compare(seed, 3 + (seed % 12) as usize, [seed.is_multiple_of(2), true], 20);
        let differences = [&worst.step.velocity, &worst.step.friction];
        assert!(differences.iter().all(|&&worst| worst < 1e-7), "seed {seed}: {worst:?}");
    }
}

/// Thousands of dry hinges start and step. By inverse dynamics, in link axes: efforts of the accelerations at the
/// start are those of friction, which keeps its limits and opposes slip.
#[test]
fn thousands_of_dry_joints_start_and_step() {
    for (n, is_branched, stiction) in [(3000, false, 0.3), (3000, true, 0.6), (1000, false, 0.6)] {
        let mut rng = Pcg64::seed_from_u64(n as u64);
        let mut world = World::new();
        let mut links: Vec<hecs::Entity> = Vec::new();
        for k in 0..n {
            links.push(
                world
                    .spawn_link(&format!("l{k}"), LinkInertia::diagonal(1.0, [0.1, 0.0, 0.0].into(), 0.01, 0.01, 0.01)),
            );
            let axis =
                if is_branched { [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]][k % 3] } else { [0.0, 1.0, 0.0] };
            let mut joint = revolute(&format!("j{k:05}"), axis).to(links[k]).at([0.2, 0.0, 0.0]);
            if k > 0 {
                let parent = if is_branched { rng.random_range(k.saturating_sub(50)..k) } else { k - 1 };
                joint = joint.from(links[parent]);
            }
            world.spawn_joint(joint.friction(Coulomb { coulomb: 0.3, stiction, viscous: 0.0 }.into()));
        }
        let compiled = compile(&world).unwrap();
        let mut rt = RealTime::new(&compiled, 1e-3);
        let (mut work, q_ref) = (Work::new(&compiled.model.tree), neutral(&compiled.model.tree));
        let mut quad = vec![0.0; 2 + compiled.model.heated.len()];
        for k in 0..4 {
            let End { xi, v, bristles, modes, load, integrals, .. } = rt.end.clone();
            let servos = vec![crate::model::servo::ServoState::default(); compiled.inputs.drives.len()];
            let start = Start {
                q_ref: &q_ref,
                q: &xi,
                xi: &xi,
                middle: &xi,
                v: &v,
                bristles: &bristles,
                modes: &modes,
                loads: &load,
                integrals: &integrals,
                servos: &servos,
            };
            if k > 0 {
                let t1 = 1e-3 * f64::from(k);
                let at = SignalTime::of_step(t1, 1e-3);
                step(&mut rt, &compiled, &mut work, start, at, 1e-3, &mut quad).unwrap();
                continue;
            }
            let modes = rt.end.modes.clone();
            // an end that is asked for is heard between rounds
            let stopped =
                crate::stop::until(|| true, || initialize(&mut rt, &compiled, &mut work, start, 0.0).unwrap_err());
            assert_eq!(stopped, StepError::Stopped);
            initialize(&mut rt, &compiled, &mut work, start, 0.0).unwrap();
            let mut n_stuck = 0;
            let mut sizes = vec![0.0; compiled.model.tree.n_v];
            let mut operator = bristle_multibody::MassOperator::new(&compiled.model.tree);
            operator.place(&compiled.model.tree, &xi).unwrap();
            let mut product = sizes.clone();
            let armature = compiled.model.tree.armature();
            operator.multiply_with_sizes(&compiled.model.tree, armature, &rt.end.a, &mut product, &mut sizes).unwrap();
            let required = bristle_multibody::rnea(&compiled.model.tree, &mut work, &xi, &v, &rt.end.a).unwrap();
            for c in 0..n {
                let (friction, a) = (rt.end.friction[c], rt.end.a[c]);
                let size = sizes[c] + rt.equations.r[c].abs() + friction.abs();
                assert!((required[c] + friction).abs() <= 1e-10 * size, "{n} {c}: {} {friction} {size}", required[c]);
                assert!(friction.abs() <= stiction * (1.0 + 1e-9) && a * friction >= 0.0, "{n} {c}: {friction} {a}");
                n_stuck += usize::from(a == 0.0);
            }
            assert!(n_stuck > 10, "{n_stuck}");
            (rt.end.xi, rt.end.v, rt.end.bristles, rt.end.modes) = (xi, v, bristles, modes);
        }
    }
}

//! The machine against finite differences, energies and inverse dynamics.

use super::Machine;
use crate::constraint::coordinates::Coordinates;
use crate::dynamics::point::Point;
use crate::dynamics::{Dynamics, Snapshot};
use crate::model::Model;
use crate::model::compile::{compile, read_bristles, read_state};
use crate::signal::Signal;
use crate::solver::Formulation;
use crate::world::builder::{Describe, free, prismatic, revolute};
use crate::world::component::{Drive, ExternalWrench, Load};
use bristle_friction::{Coulomb, LuGre, LuGre2};
use bristle_integrate::linear::Matrix;
use bristle_integrate::{EvalError, StepRules, System};
use bristle_multibody::{LinkInertia, rnea};
use hecs::World;

const LUGRE: LuGre = LuGre {
    sigma0: 50.0,
    sigma1: 0.3,
    sigma2: 0.4,
    coulomb: 1.0,
    stiction: 1.5,
    stribeck_velocity: Some(0.5),
    exponent: 2.0,
    damping_velocity: None,
};

/// Four joints with springs, dampers, drives, a wrench and friction of all kinds; the last one is stuck.
fn arm(is_floating: bool) -> World {
    let mut world = World::new();
    let links: Vec<_> = (0..4)
        .map(|k| {
            let inertia = LinkInertia::diagonal(1.0 + k as f64, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06);
            world.spawn_link(&format!("link {k}"), inertia)
        })
        .collect();
    let root = if is_floating {
        free("a")
    } else {
        revolute("a", [0.3, 1.0, 0.1])
            .position(0.4)
            .velocity(1.0)
            .friction(LuGre2 { lugre: LUGRE, alpha: 3.0, beta: 1.0 }.into())
    };
    world.spawn_joint(root.to(links[0]));
    let slide = prismatic("b", [1.0, 0.5, 0.0]).from(links[0]).to(links[1]).at([0.2, 0.0, 0.1]);
    let slide = slide.position(0.1).velocity(-0.7).spring(30.0, 0.02).damping(2.0);
    let load = Load::Signal { max: 3.0, signal: Signal::Ramp { rate: 0.5, start: 0.0 }, geometry: 1.0 };
    let pid = Drive::Pid { kp: 3.0, ki: 4.0, kd: 6.0, target: Signal::Constant(1.0) };
    world.spawn_joint(slide.friction(LUGRE.into()).load(load).drive(pid));
    let hinge = revolute("c", [0.0, 0.2, 1.0]).from(links[1]).to(links[2]).at([0.0, 0.3, 0.0]);
    let drive = Drive::Effort(Signal::Sine { amplitude: 2.0, frequency: 3.0, phase: 0.0, offset: 1.0 });
    let dry = Coulomb { coulomb: 0.4, stiction: 0.6, viscous: 0.1 };
    world.spawn_joint(hinge.velocity(0.9).damping(0.3).drive(drive).friction(dry.into()));
    let stuck = revolute("d", [1.0, 0.0, 1.0]).from(links[2]).to(links[3]).at([0.0, 0.3, 0.0]).position(0.3);
    let strong = Coulomb { coulomb: 400.0, stiction: 400.0, viscous: 0.1 };
    world.spawn_joint(stuck.friction(strong.into()).drive(Drive::Pull { stiffness: 5.0, target: Signal::default() }));
    let wrench = ExternalWrench { moment: [0.1, 0.2, 0.3].into(), force: [1.0, -2.0, 0.5].into() };
    world.insert_one(links[2], wrench).unwrap();
    world
}

fn begun(world: &World) -> (Machine, Snapshot, Vec<f64>) {
    let mut system = Machine::new(compile(world).unwrap(), Formulation::Implicit, None);
    let mut at = Snapshot::rest(&system.dynamics.compiled);
    read_state(world, &system.dynamics.compiled, &mut at.mechanics).unwrap();
    let v = at.mechanics.v.clone();
    read_bristles(world, &system.dynamics.compiled, 0.0, &v, &mut at.bristles).unwrap();
    let mut y = vec![0.0; system.max_dim()];
    system.begin(&at, &mut y).unwrap();
    y.truncate(system.dim());
    (system, at, y)
}

#[test]
fn jacobian_agrees_with_differences() {
    let (mut system, _, mut y) = begun(&arm(false));
    // three joints that move, bristles s, w and s, one integral
    assert_eq!(y.len(), 2 * 3 + 3 + 1);
    // bristles off their steady state
    (y[6], y[7], y[8], y[9]) = (0.8, 0.3, -0.5, 0.2);
    assert_differences(&mut system, &mut y);
}

fn assert_differences(system: &mut Machine, y: &mut [f64]) {
    let n = y.len();
    let mut jac = Matrix::new(n);
    jac.resize(n);
    assert!(system.jacobian(0.3, y, &mut jac).unwrap());
    let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        let (y_j, h) = (y[j], 1e-6);
        y[j] = y_j + h;
        system.rhs(0.3, y, &mut up).unwrap();
        y[j] = y_j - h;
        system.rhs(0.3, y, &mut down).unwrap();
        y[j] = y_j;
        for i in 0..n {
            let difference = (up[i] - down[i]) / (2.0 * h);
            // central differences: h² and eps/h, times entries up to some hundreds
            assert!((jac[(i, j)] - difference).abs() < 1e-6, "({i}, {j}): {} {difference}", jac[(i, j)]);
        }
    }
}

#[test]
fn jacobian_with_stuck_joints_in_between() {
    let mut world = World::new();
    let mut parent = None;
    for k in 0..6 {
        let inertia = LinkInertia::diagonal(1.0 + k as f64, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06);
        let link = world.spawn_link(&format!("link {k}"), inertia);
        let axis = [0.3, 1.0 - 0.3 * k as f64, 0.2 * k as f64];
        let name = format!("joint {k}");
        let joint = if k == 2 || k == 3 { prismatic(&name, axis) } else { revolute(&name, axis) };
        let mut joint = joint.to(link).at([0.1, 0.2, 0.3]).position(0.1 * k as f64).armature(0.05);
        joint = if k % 2 == 1 {
            joint.friction(Coulomb { coulomb: 1e4, stiction: 1e4, viscous: 0.0 }.into())
        } else {
            joint.velocity(1.0 - 0.5 * k as f64).friction(Coulomb { coulomb: 0.5, stiction: 0.5, viscous: 0.2 }.into())
        };
        if let Some(parent) = parent {
            joint = joint.from(parent);
        }
        world.spawn_joint(joint);
        parent = Some(link);
    }
    let (mut system, _, mut y) = begun(&world);
    assert_eq!(system.dynamics.coordinates.locked, [false, false, true, false, true, false, true]);
    assert_differences(&mut system, &mut y);
}

#[test]
fn ledger_rates_are_those_of_the_stored_energy() {
    // along the motion: d(stored)/dt = work in + load work − heat, by differences along a short exact step
    for is_floating in [false, true] {
        let (mut system, mut at, y) = begun(&arm(is_floating));
        let (n, t) = (y.len(), 0.3);
        let mut dy = vec![0.0; n];
        let mut rate = vec![0.0; system.n_quadratures()];
        system.rhs(t, &y, &mut dy).unwrap();
        system.quadratures(t, &y, &dy, &mut rate).unwrap();
        let mut stored = |h: f64| {
            let moved: Vec<f64> = y.iter().zip(&dy).map(|(y, dy)| y + h * dy).collect();
            system.evaluate_at(t + h, &moved).unwrap();
            system.dynamics.store(t + h, &mut at);
            system.dynamics.energies(&at).unwrap().stored()
        };
        let power = (stored(1e-5) - stored(-1e-5)) / 2e-5;
        let booked = rate[0] + rate[1] - rate[2..].iter().sum::<f64>();
        assert!(rate[1] > 0.0, "a growing load feeds the bristles");
        assert_eq!(rate.len(), if is_floating { 5 } else { 6 });
        assert_eq!(rate[rate.len() - 1], 0.0, "what is stuck makes no heat");
        assert!((power - booked).abs() < 1e-6 * booked.abs().max(1.0), "{power} {booked}");
    }
}

#[test]
fn stuck_friction_balances_inverse_dynamics() {
    // inverse dynamics at these accelerations: efforts less friction equal the required efforts
    let (mut system, _, y) = begun(&arm(false));
    system.evaluate_at(0.3, &y).unwrap();
    let Dynamics { compiled, work, point: Point { q, v, a, tau, friction, .. }, .. } = &mut system.dynamics;
    let required = rnea(&compiled.model.tree, work, q, v, a).unwrap();
    assert_eq!((v[3], a[3], q[3]), (0.0, 0.0, 0.3));
    assert!(friction[3].abs() > 1.0);
    for (k, &required) in required.iter().enumerate() {
        let effort = tau[k] - if k == 3 { friction[3] } else { 0.0 };
        assert!((effort - required).abs() < 1e-12 * required.abs().max(1.0), "{k}: {effort} {required}");
    }
}

#[test]
fn moving_the_chart_leaves_the_configuration() {
    let (mut system, mut at, mut y) = begun(&arm(true));
    y[..6].copy_from_slice(&[0.5, -0.4, 0.3, 1.0, 2.0, 3.0]);
    system.evaluate_at(0.0, &y).unwrap();
    system.dynamics.store(0.0, &mut at);
    let (before, energies) = (at.clone(), system.dynamics.energies(&at).unwrap());
    assert!(system.accepted(0.0, &mut y).unwrap());
    assert_eq!(y[..6], [0.0; 6]);
    system.evaluate_at(0.0, &y).unwrap();
    system.dynamics.store(0.0, &mut at);
    assert_eq!(before, at);
    assert_eq!(energies, system.dynamics.energies(&at).unwrap());
    // near its centre it stays
    y[0] = 0.1;
    assert!(!system.accepted(0.0, &mut y).unwrap());
}

#[test]
fn singular_and_non_finite_failures_differ() {
    let mut world = World::new();
    let ghost = world.spawn_link("ghost", LinkInertia::point(0.0, [0.0; 3].into()));
    world.spawn_joint(revolute("loose", [0.0, 0.0, 1.0]).to(ghost));
    // the start is refused, and so is an evaluation without one
    let mut system = Machine::new(compile(&world).unwrap(), Formulation::Implicit, None);
    let mut y = [0.0; 2];
    let refused = system.begin(&Snapshot::rest(&system.dynamics.compiled), &mut y).unwrap_err();
    assert!(refused.to_string().contains("`loose`"), "{refused}");
    assert_eq!(system.rhs(0.0, &y, &mut [0.0; 2]), Err(EvalError::Fatal { code: 0 }));
    assert!(system.dynamics.take_failure(0.0).unwrap().to_string().contains("`loose`"));

    let (mut system, _, mut y) = begun(&arm(false));
    y[4] = f64::NAN;
    assert_eq!(system.rhs(0.0, &y, &mut [0.0; 10]), Err(EvalError::Retry));
}

/// A pseudo-random number in −1 … 1.
fn random(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A random tree of twenty joints, most of them with friction, half of that by reactions, some stuck.
fn tree(seed: u64) -> World {
    let mut seed = seed;
    let mut world = World::new();
    let mut links = Vec::new();
    for k in 0..20 {
        let mut r = || random(&mut seed);
        let inertia =
            LinkInertia::diagonal(1.0 + 0.5 * r(), [0.2 * r(), 0.2 * r(), 0.2 * r()].into(), 0.04, 0.05, 0.06);
        let link = world.spawn_link(&format!("link {k:02}"), inertia);
        let axis = [r(), r(), 1.2 + r()];
        let slides = k % 4 == 3;
        let name = format!("joint {k:02}");
        let joint = if slides { prismatic(&name, axis) } else { revolute(&name, axis) };
        let is_stuck = k % 7 == 5;
        let mut joint = joint.to(link).at([0.3 * r(), 0.3 * r(), 0.3]).position(r()).armature(0.02);
        if !is_stuck {
            joint = joint.velocity(0.3 + r().abs());
        }
        let dry = Coulomb { coulomb: 0.1 + 0.1 * r().abs(), stiction: 0.3, viscous: 0.05 };
        let load = match (k % 5, slides) {
            (0, _) => Load::Constant(2.0),
            (1, false) | (4, false) => Load::Pin { radius: 0.03 },
            (2, false) => Load::Thrust { radius: 0.03 },
            (_, false) => Load::Unit,
            (1, true) => Load::Guide { length: None },
            (_, true) => Load::Guide { length: Some(0.8) },
        };
        joint = if is_stuck {
            joint.friction(Coulomb { coulomb: 1e5, stiction: 1e5, viscous: 0.0 }.into())
        } else if k % 3 == 0 {
            joint
                .friction(LuGre { coulomb: 0.1, stiction: 0.15, sigma1: 0.01, sigma2: 0.02, ..LUGRE }.into())
                .load(load)
        } else {
            joint.friction(dry.into()).load(load)
        };
        let parent = (k > 0).then(|| links[((k - 1) as f64 * (0.5 + 0.5 * r().abs())) as usize]);
        world.spawn_joint(if let Some(parent) = parent { joint.from(parent) } else { joint });
        links.push(link);
    }
    world
}

/// Residual of the equations of motion at accelerations `a` of the joints that can move, by inverse dynamics alone.
fn unbalanced(system: &mut Machine, a: &[f64]) -> Vec<f64> {
    let Dynamics {
        compiled, work, point: Point { q, v, tau, kappa, .. }, coordinates: Coordinates { active, .. }, ..
    } = &mut system.dynamics;
    let Model { reaction_loaded, .. } = &*compiled.model;
    let required = rnea(&compiled.model.tree, work, q, v, a).unwrap().to_vec();
    let mut left: Vec<f64> = required.iter().zip(&*tau).map(|(r, tau)| r - tau).collect();
    for &c in reaction_loaded {
        let contact = &compiled.inputs.contacts[c];
        left[contact.v] += kappa[c] * contact.bearing.unwrap().normal_load(&work.reaction(contact.joint), 1.0).0;
    }
    active.iter().map(|&i| left[i]).collect()
}

#[test]
fn accelerations_of_random_trees_solve_the_full_system() {
    for seed in 0..40 {
        let (mut system, _, y) = begun(&tree(seed));
        assert!(system.dynamics.compiled.model.reaction_loaded.len() >= 8 && system.dynamics.coordinates.is_stuck);
        system.evaluate_at(0.0, &y).unwrap();
        let found = system.dynamics.point.a.clone();
        // a dense Newton of the same equations with a Jacobian by differences, from the accelerations without friction
        let (n, active) = (system.dynamics.coordinates.active.len(), system.dynamics.coordinates.active.clone());
        let mut a = vec![0.0; system.dynamics.point.v.len()];
        for _ in 0..30 {
            let g = nalgebra::DVector::from_vec(unbalanced(&mut system, &a));
            let mut jacobian = nalgebra::DMatrix::zeros(n, n);
            for (c, &j) in active.iter().enumerate() {
                let (mut up, mut down) = (a.clone(), a.clone());
                up[j] += 1e-4;
                down[j] -= 1e-4;
                let (up, down) = (unbalanced(&mut system, &up), unbalanced(&mut system, &down));
                up.iter().zip(&down).enumerate().for_each(|(r, (up, down))| jacobian[(r, c)] = (up - down) / 2e-4);
            }
            let x = jacobian.lu().solve(&g).unwrap();
            active.iter().zip(x.iter()).for_each(|(&j, x)| a[j] -= x);
        }
        let scale = a.iter().fold(1.0_f64, |most, a| most.max(a.abs()));
        for (k, (found, a)) in found.iter().zip(&a).enumerate() {
            assert!((found - a).abs() < 1e-11 * scale, "seed {seed}, {k}: {found} {a}");
        }
    }
}

#[test]
fn jerks_are_rates_of_accelerations() {
    for seed in 0..20 {
        let world = tree(seed);
        let (mut system, _, y) = begun(&world);
        let mut differentiated = Machine::new(compile(&world).unwrap(), Formulation::Jerk, None);
        let mut at = Snapshot::rest(&differentiated.dynamics.compiled);
        read_state(&world, &differentiated.dynamics.compiled, &mut at.mechanics).unwrap();
        let v = at.mechanics.v.clone();
        read_bristles(&world, &differentiated.dynamics.compiled, 0.0, &v, &mut at.bristles).unwrap();
        let mut z = vec![0.0; differentiated.max_dim()];
        differentiated.begin(&at, &mut z).unwrap();
        z.truncate(differentiated.dim());
        let mut dz = z.clone();
        differentiated.rhs(0.0, &z, &mut dz).unwrap();
        let n = system.dynamics.coordinates.active.len();
        let jerk = dz[2 * n..3 * n].to_vec();

        // accelerations a moment before and after, along the motion: q and v to third order, states to second
        let mut dy = y.clone();
        system.rhs(0.0, &y, &mut dy).unwrap();
        let h = 1e-4;
        let mut at = |h: f64| {
            let mut moved: Vec<f64> = y.iter().zip(&dy).map(|(y, dy)| y + h * dy).collect();
            for k in 0..n {
                moved[k] += h * h / 2.0 * dy[n + k] + h * h * h / 6.0 * jerk[k];
                moved[n + k] += h * h / 2.0 * jerk[k];
            }
            let mut rates = vec![0.0; moved.len()];
            system.rhs(h, &moved, &mut rates).unwrap();
            rates[n..2 * n].to_vec()
        };
        let (up, down, up2, down2) = (at(h), at(-h), at(2.0 * h), at(-2.0 * h));
        let scale = jerk.iter().fold(1.0_f64, |most, j| most.max(j.abs()));
        for k in 0..n {
            let difference = (8.0 * (up[k] - down[k]) - (up2[k] - down2[k])) / (12.0 * h);
            assert!((jerk[k] - difference).abs() < 1e-6 * scale, "seed {seed}, {k}: {} {difference}", jerk[k]);
        }
    }
}

#[test]
fn derivatives_with_loads_agree_with_differences() {
    for seed in 0..5 {
        let (mut system, _, mut y) = begun(&tree(seed));
        let n = y.len();
        let mut jac = Matrix::new(n);
        jac.resize(n);
        assert!(system.jacobian(0.3, &y, &mut jac).unwrap());
        let mut base = vec![0.0; n];
        system.rhs(0.3, &y, &mut base).unwrap();
        let scale = jac.as_mut_slice().iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            let (y_j, h) = (y[j], 1e-5);
            y[j] = y_j + h;
            system.rhs(0.3, &y, &mut up).unwrap();
            y[j] = y_j - h;
            system.rhs(0.3, &y, &mut down).unwrap();
            y[j] = y_j;
            for i in 0..n {
                let difference = (up[i] - down[i]) / (2.0 * h);
                assert!((jac[(i, j)] - difference).abs() < 1e-6 * scale, "({i}, {j}): {} {difference}", jac[(i, j)]);
            }
        }
    }
}

#[test]
fn residual_agrees_with_the_explicit_form() {
    for seed in 0..5 {
        let world = tree(seed);
        let (mut system, _, mut y) = begun(&world);
        let n = y.len();
        let mut dy = vec![0.0; n];
        system.rhs(0.3, &y, &mut dy).unwrap();
        let solves = {
            system.dynamics.scheme.formulation = Formulation::Residual;
            system.dynamics.diagnostics.counters.n_acceleration_solves
        };
        let mut r = vec![0.0; n];
        system.residual(0.3, &y, &dy, &mut r).unwrap();
        assert!(r.iter().all(|r| r.abs() < 1e-9), "{r:?}");

        let (mut df_dy, mut df_ddy) = (Matrix::new(n), Matrix::new(n));
        df_dy.resize(n);
        df_ddy.resize(n);
        assert!(system.residual_jacobian(0.3, &y, &dy, &mut df_dy, &mut df_ddy).unwrap());
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            for of_rates in [false, true] {
                let h = 1e-5;
                let mut at = |h: f64, r: &mut [f64]| {
                    let x = if of_rates { &mut dy } else { &mut y };
                    let checkpoint_bytes = x[j];
                    x[j] += h;
                    system.residual(0.3, &y, &dy, r).unwrap();
                    (if of_rates { &mut dy } else { &mut y })[j] = checkpoint_bytes;
                };
                at(h, &mut up);
                at(-h, &mut down);
                let matrix = if of_rates { &df_ddy } else { &df_dy };
                for i in 0..n {
                    let difference = (up[i] - down[i]) / (2.0 * h);
                    assert!((matrix[(i, j)] - difference).abs() < 2e-5, "({i}, {j}): {} {difference}", matrix[(i, j)]);
                }
            }
        }
        // no solution for accelerations was necessary
        assert_eq!(system.dynamics.diagnostics.counters.n_acceleration_solves, solves);
    }
}

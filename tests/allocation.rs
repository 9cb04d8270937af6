//! A step does not allocate.

#[path = "counting.rs"]
mod counting;

use bristle::prelude::*;
use bristle::scene::{Control, Method};
use counting::allocations;

#[test]
fn a_step_does_not_allocate() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1.0; 10]))) > 0, "the counter works");
    for (method, control) in [
        (Method::Dopri5, Control::default()),
        (Method::Radau5, Control::default()),
        (Method::Rk4, Control::Constant { step: 1e-3 }),
        (Method::RealTime, Control::Constant { step: 1e-3 }),
    ] {
        let mut world = World::new();
        let base = world.spawn_link("base", LinkInertia::diagonal(2.0, [0.1, 0.0, 0.2].into(), 0.1, 0.2, 0.25));
        let arm = world.spawn_link("arm", LinkInertia::rod(1.0, [0.5, 0.0, 0.0].into()));
        // Jacobians of free joints come from finite differences in the steppers
        let root = if method == Method::Radau5 {
            revolute("root", [1.0, 0.0, 0.0])
        } else {
            free("root").twist([1.0, 2.0, 3.0], [0.0; 3])
        };
        world.spawn_joint(root.to(base));
        let hinge =
            world.spawn_joint(revolute("hinge", [0.0, 1.0, 0.0]).from(base).to(arm).damping(0.1).spring(2.0, 0.1));
        let settings = Settings { method, control, ..Settings::default() };
        let mut sim = Simulation::with_settings(world, settings).unwrap();
        // steps, efforts by call, efforts by component, results on entities
        let mut steps = |n: usize| {
            for k in 0..n {
                sim.set_effort(hinge, 0.01 * k as f64).unwrap();
                sim.step(0.01).unwrap();
                sim.world_mut().get::<&mut Effort>(hinge).unwrap().0 = -0.5;
                sim.step(0.01).unwrap();
            }
        };
        // the first ones fill caches
        steps(5);
        let count = allocations(|| steps(100));
        assert_eq!(count, 0, "{method:?}");
    }
}

#[test]
fn stick_slip_does_not_allocate() {
    use bristle::friction::{Coulomb, LuGre};
    use bristle::signal::Signal;
    let lugre = LuGre {
        sigma0: 1e3,
        sigma1: 3.0,
        sigma2: 0.1,
        coulomb: 0.2,
        stiction: 0.3,
        stribeck_velocity: Some(0.1),
        exponent: 2.0,
        damping_velocity: None,
    };
    let fixed = Control::Constant { step: 1e-3 };
    for (method, control) in
        [(Method::Dopri5, Control::default()), (Method::Radau5, Control::default()), (Method::RealTime, fixed)]
    {
        let mut world = World::new();
        let links: Vec<Entity> = (0..3)
            .map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.0, 0.0].into())))
            .collect();
        let axis = [0.0, 1.0, 0.0];
        let drive = Drive::Effort(Signal::Sine { amplitude: 8.0, frequency: 9.0, phase: 0.0, offset: 0.0 });
        let dry = Coulomb { coulomb: 2.0, stiction: 3.0, viscous: 0.0 };
        world.spawn_joint(revolute("a", axis).to(links[0]).position(1.5).friction(dry.into()).drive(drive));
        world.spawn_joint(revolute("b", axis).from(links[0]).to(links[1]).at([0.5, 0.0, 0.0]).friction(dry.into()));
        world.spawn_joint(revolute("c", axis).from(links[1]).to(links[2]).at([0.5, 0.0, 0.0]).friction(lugre.into()));
        let settings = Settings { method, control, ..Settings::default() };
        let mut sim = Simulation::with_settings(world, settings).unwrap();
        sim.step(0.5).unwrap();
        let before = sim.stats().n_events;
        let count = allocations(|| (0..200).for_each(|_| sim.step(0.01).unwrap()));
        // a real-time step locates nothing
        assert!(
            method == Method::RealTime || sim.stats().n_events > before + 10,
            "joints stick and slip: {:?}",
            sim.stats()
        );
        assert_eq!(count, 0, "{method:?}");
    }
}

#[test]
fn gears_and_clutches_do_not_allocate() {
    let path = |name: &str| format!("{}/../../scenes/{name}.ron", env!("CARGO_MANIFEST_DIR"));
    for name in ["coupled_clutches", "gearbox_three_speed", "gearbox_three_speed_lugre", "series_elastic_joint"] {
        let mut sim = Simulation::new(&Scene::load(path(name)).unwrap()).unwrap();
        // every call has been made once
        for _ in 0..20 {
            sim.step(0.01).unwrap();
        }
        let count = allocations(|| (0..100).for_each(|_| sim.step(0.01).unwrap()));
        assert_eq!(count, 0, "{name}");
    }
    // setting a joint also sets geared joints
    let mut sim = crate::embedding::geared(Method::Radau5, Control::default());
    let mut steps = |n: u32| {
        for k in 0..n {
            sim.set_joint("arm", 0.1 * f64::from(k % 5), 0.2).unwrap();
            sim.set_effort("arm", 0.1).unwrap();
            sim.step(1e-3).unwrap();
            sim.set_wrench("link 2", [0.0; 3], [0.1, 0.0, 0.0]).unwrap();
            sim.step(1e-3).unwrap();
        }
    };
    steps(20);
    assert_eq!(allocations(|| steps(20)), 0);
}

#[test]
fn reaction_loaded_friction_does_not_allocate() {
    use bristle::friction::Coulomb;
    use bristle::scene::Formulation;
    for (formulation, method) in [
        (Formulation::Implicit, Method::Dopri5),
        (Formulation::Implicit, Method::Radau5),
        (Formulation::Jerk, Method::Dopri5),
        (Formulation::Residual, Method::Radau5),
    ] {
        let mut world = World::new();
        let axis = [0.0, 1.0, 0.0];
        let mut parent = None;
        for k in 0..4 {
            let link = world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.0, 0.0].into()));
            let dry = Coulomb { coulomb: 0.2, stiction: 0.3, viscous: 0.0 };
            let mut joint = revolute(&format!("pin {k}"), axis).to(link).position(0.2 * f64::from(k));
            joint = joint.friction(dry.into()).load(Load::Pin { radius: 0.03 });
            if let Some(parent) = parent {
                joint = joint.from(parent).at([0.5, 0.0, 0.0]);
            }
            world.spawn_joint(joint);
            parent = Some(link);
        }
        let settings = Settings { method, formulation, ..Settings::default() };
        let mut sim = Simulation::with_settings(world, settings).unwrap();
        sim.step(0.3).unwrap();
        let before = sim.stats().n_events;
        let count = allocations(|| (0..200).for_each(|_| sim.step(0.01).unwrap()));
        assert!(sim.stats().n_events > before + 10, "pins stick and slip: {:?}", sim.stats());
        assert_eq!(count, 0, "{formulation:?} {method:?}");
    }
}

/// All setters and queries of a controller between steps.
#[test]
fn setters_and_inverse_dynamics_do_not_allocate() {
    use crate::embedding::{DRY, MACHINES, lugre};
    use bristle::friction::Coulomb;
    type Act = fn(&mut Simulation, f64);
    let acts: [(&str, Act); 13] = [
        ("effort", |sim, x| sim.set_effort("b", 0.1 * x).unwrap()),
        ("efforts", |sim, x| {
            let mut efforts = [0.0; 9];
            let n = sim.velocities().len();
            efforts[0] = 0.1 * x;
            sim.set_efforts(&efforts[..n]).unwrap();
        }),
        ("effort component", |sim, x| {
            let joint = sim.joint("b").unwrap();
            sim.world_mut().get::<&mut Effort>(joint).unwrap().0 = 0.1 * x;
        }),
        ("wrench", |sim, x| sim.set_wrench("link 2", [0.0; 3], [0.1 * x, 0.0, 0.1]).unwrap()),
        ("wrench component", |sim, x| {
            let link = sim.link("link 2").unwrap();
            sim.world_mut().get::<&mut ExternalWrench>(link).unwrap().force.x = 0.1 * x;
        }),
        ("target", |sim, x| sim.set_target("c", 0.1 * x).unwrap()),
        ("joint", |sim, x| sim.set_joint("b", 0.1 * x, 0.0).unwrap()),
        ("state", |sim, x| {
            let (mut q, mut v) = ([0.0; 10], [0.0; 9]);
            let (n_q, n_v) = (sim.positions().len(), sim.velocities().len());
            q[..n_q].copy_from_slice(sim.positions());
            v[..n_v].copy_from_slice(sim.velocities());
            v[0] += 1e-3 * x;
            sim.set_state(&q[..n_q], &v[..n_v]).unwrap();
        }),
        ("dry law", |sim, x| sim.set_friction("a", Coulomb { coulomb: 3.0 + 0.1 * x, ..DRY }).unwrap()),
        ("bristles", |sim, x| {
            let law = bristle::friction::LuGre { sigma2: 0.1 + 0.01 * x, ..lugre() };
            sim.set_friction("c", law).unwrap();
        }),
        ("load", |sim, x| sim.set_load("b", Load::Pin { radius: 0.05 + 1e-3 * x }).unwrap()),
        ("inverse dynamics", |sim, x| {
            let (a, mut tau) = ([0.1 * x; 9], [0.0; 9]);
            let n = sim.velocities().len();
            sim.efforts_for(&a[..n], &mut tau[..n]).unwrap();
            let mut q = [0.0; 10];
            let n_q = sim.positions().len();
            q[..n_q].copy_from_slice(sim.positions());
            sim.inverse_dynamics(&q[..n_q], &[0.0; 9][..n], &a[..n], &mut tau[..n]).unwrap();
        }),
        ("questions", |sim, x| {
            sim.set_effort("b", 0.1 * x).unwrap();
            sim.refresh().unwrap();
            std::hint::black_box(sim.energy().unwrap());
        }),
    ];
    for (m, make) in MACHINES.iter().enumerate() {
        let mut sim = make();
        sim.set_wrench("link 2", [0.0; 3], [0.0; 3]).unwrap();
        for (name, act) in acts {
            let mut steps = |n: u32| {
                for k in 0..n {
                    act(&mut sim, f64::from(k % 7));
                    sim.step(1e-3).unwrap();
                }
            };
            steps(20);
            let count = allocations(|| steps(40));
            assert_eq!(count, 0, "machine {m}, {name}");
        }
    }
}

//! Changes by a caller between steps, and when readers and queries see them.

use crate::embedding::{DRY, MACHINES, command, lugre};
use bristle::friction::{Coulomb, Law, Mode};
use bristle::prelude::*;

/// Two simulations in the same state: all readers and queries agree.
fn assert_alike(ours: &mut Simulation, other: &mut Simulation, what: &str) {
    let near = |a: &[f64], b: &[f64], of: &str| {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{what}, {of}: {a} {b}");
        }
    };
    let poses = |sim: &Simulation| -> Vec<f64> {
        sim.poses().iter().flat_map(|pose| pose.translation.vector.iter().copied().collect::<Vec<_>>()).collect()
    };
    let links = |sim: &Simulation| -> Vec<f64> {
        let entities = sim.link_names().iter().map(|name| sim.link(name).unwrap());
        entities.flat_map(|e| { *sim.world().get::<&Pose>(e).unwrap() }.0.translation.vector.data.0[0]).collect()
    };
    let n = ours.velocities().len();
    let (mut tau, mut tau_other) = (vec![0.0; n], vec![0.0; n]);
    ours.efforts_for(&vec![0.1; n], &mut tau).unwrap();
    other.efforts_for(&vec![0.1; n], &mut tau_other).unwrap();
    near(&tau, &tau_other, "efforts");
    near(ours.mass_matrix().unwrap().as_slice(), other.mass_matrix().unwrap().as_slice(), "mass matrix");
    let last = ours.link_names().last().unwrap().clone();
    let point = [0.1, 0.2, 0.3];
    near(ours.jacobian(&last, point).unwrap().as_slice(), other.jacobian(&last, point).unwrap().as_slice(), "jacobian");
    let (e, e_other) = (ours.energy().unwrap(), other.energy().unwrap());
    near(&[e.kinetic, e.potential, e.elastic], &[e_other.kinetic, e_other.potential, e_other.elastic], "energy");
    near(ours.positions(), other.positions(), "positions");
    near(ours.velocities(), other.velocities(), "velocities");
    near(ours.accelerations(), other.accelerations(), "accelerations");
    near(ours.friction_efforts(), other.friction_efforts(), "friction");
    near(ours.loads(), other.loads(), "loads");
    assert_eq!(ours.modes(), other.modes(), "{what}");
    let forces = |sim: &Simulation| -> Vec<f64> {
        sim.reactions().iter().flat_map(|r| [r.axial_force, r.radial_force, r.axial_moment, r.bending_moment]).collect()
    };
    near(&forces(ours), &forces(other), "reactions");
    near(&poses(ours), &poses(other), "poses");
    near(&links(ours), &links(other), "poses of entities");
    let (a, b) = (ours.linearize().unwrap(), other.linearize().unwrap());
    assert_eq!(a.unknowns, b.unknowns);
    near(a.a.as_slice(), b.a.as_slice(), "linearisation");
}

#[test]
fn queries_see_new_inputs() {
    type Edit = fn(&mut Simulation);
    let edits: [(&str, Edit); 7] = [
        ("joint", |sim| sim.set_joint("a", -0.7, 0.9).unwrap()),
        ("two joints", |sim| {
            sim.set_joint("a", -0.7, 0.9).unwrap();
            sim.set_joint("c", 0.3, -2.0).unwrap();
        }),
        ("law", |sim| sim.set_friction("a", Coulomb { coulomb: 2.0, stiction: 2.5, viscous: 0.3 }).unwrap()),
        ("load", |sim| sim.set_load("b", Load::Pin { radius: 0.08 }).unwrap()),
        ("wrench", |sim| sim.set_wrench("link 2", [0.0; 3], [1.0, 0.0, 40.0]).unwrap()),
        ("effort", |sim| sim.set_effort("a", 30.0).unwrap()),
        ("component", |sim| {
            let joint = sim.joint("b").unwrap();
            *sim.world_mut().get::<&mut JointState>(joint).unwrap() = JointState { position: 0.4, velocity: -0.2 };
        }),
    ];
    for (m, make) in MACHINES.iter().enumerate() {
        for (name, edit) in edits {
            // results of a real-time step belong to the step
            if m == 8 && ["wrench", "effort"].contains(&name) {
                continue;
            }
            let (mut asked, mut stepped) = (make(), make());
            let mut balance = 0.0;
            for sim in [&mut asked, &mut stepped] {
                (0..5).for_each(|_| sim.step(0.01).unwrap());
                balance = sim.energy().unwrap().balance;
                edit(sim);
            }
            stepped.step(0.0).unwrap();
            assert_alike(&mut asked, &mut stepped, &format!("machine {m}, {name}"));
            let change = asked.energy().unwrap().balance - balance;
            assert!(change.abs() < 1e-9, "machine {m}, {name}: what callers put in is no error, {change}");
        }
    }
}

#[test]
fn set_joint_is_visible_at_once() {
    let mut sim = MACHINES[0]();
    sim.step(0.1).unwrap();
    let (pose, bristle) = (sim.pose("link 2").unwrap(), sim.bristle("c").unwrap());
    sim.set_joint("a", 0.25, 0.5).unwrap();
    assert_eq!((sim.position("a").unwrap(), sim.velocity("a").unwrap()), (0.25, 0.5));
    assert!(sim.positions().contains(&0.25) && sim.velocities().contains(&0.5));
    assert_eq!(sim.bristle("c").unwrap(), bristle, "bristles keep their deflection");
    let moved = sim.pose("link 2").unwrap();
    assert_ne!(moved, pose);
    sim.refresh().unwrap();
    assert!((sim.pose("link 2").unwrap().translation.vector - moved.translation.vector).norm() < 1e-12);
    assert_eq!(sim.position("a").unwrap(), 0.25);
    // a whole state, free joints included
    let (mut q, v) = (sim.positions().to_vec(), vec![0.1; sim.velocities().len()]);
    q[0] += 0.1;
    let first = sim.compiled().model.tree.joint("throw").map(|i| sim.compiled().model.tree.q_index[i]).unwrap();
    q[first..first + 7].copy_from_slice(&[1.0, 2.0, 3.0, 0.6, 0.0, 0.8, 0.0]);
    sim.set_state(&q, &v).unwrap();
    assert_eq!((sim.positions(), sim.velocities()), (&q[..], &v[..]));
    assert_eq!(sim.pose("top").unwrap().translation.vector.data.0[0], [1.0, 2.0, 3.0]);
    sim.step(1e-3).unwrap();
    assert!((sim.pose("top").unwrap().translation.x - 1.0).abs() < 1e-3);
    assert!(sim.energy().unwrap().balance.abs() < 1e-4, "{:?}", sim.energy());
    // an invalid state is refused, and nothing has changed
    let before = sim.positions().to_vec();
    q[first + 3] = 2.0;
    for refused in [sim.set_state(&q, &v), sim.set_state(&q[1..], &v), sim.set_state(&before, &[f64::NAN; 9])] {
        assert!(refused.is_err_and(|error| error.is_refusal()));
    }
    assert_eq!(sim.positions(), before);
    let error = sim.inverse_dynamics(&q, &v, &v, &mut vec![0.0; v.len()]).unwrap_err().to_string();
    assert!(error.contains("norm of the quaternion of `throw`"), "{error}");
    let mut batch = Batch::new(&mut sim, 1).unwrap();
    let error = batch.set_state(0, &q, &v).unwrap_err().to_string();
    assert!(error.contains("norm of the quaternion of `throw`"), "{error}");
}

#[test]
fn refused_state_is_not_visible() {
    let mut world = World::new();
    let links: Vec<Entity> =
        (0..3).map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.0, 0.0].into()))).collect();
    let joints: Vec<Entity> =
        (0..3).map(|k| world.spawn_joint(revolute(&format!("j{k}"), [0.0, 1.0, 0.0]).to(links[k]))).collect();
    let terms = joints.iter().map(|&joint| (joint, 1.0)).collect();
    world.spawn((Name("sum".into()), Coupling::Linear { terms, offset: 0.0 }));
    let mut sim = Simulation::from_world(world).unwrap();
    let put = |sim: &mut Simulation, places: &[f64]| {
        places.iter().enumerate().for_each(|(k, &q)| sim.set_joint(&format!("j{k}"), q, 0.0).unwrap());
    };
    put(&mut sim, &[0.5, -0.2, -0.3]);
    sim.refresh().unwrap();
    let pose = sim.pose("link 0").unwrap();
    put(&mut sim, &[0.7]);
    assert_eq!(sim.position("j0").unwrap(), 0.7, "on the way to a state that is allowed");
    assert!(sim.refresh().is_err() && sim.step(0.1).is_err());
    assert_eq!((sim.position("j0").unwrap(), sim.pose("link 0").unwrap()), (0.5, pose));
    put(&mut sim, &[0.7, -0.4]);
    sim.refresh().unwrap();
    assert_eq!(sim.position("j0").unwrap(), 0.7);
}

#[test]
fn queries_between_steps_change_no_bit() {
    for (m, make) in MACHINES.iter().enumerate() {
        let (mut plain, mut asked) = (make(), make());
        let n = plain.velocities().len();
        let mut tau = vec![0.0; n];
        for k in 0..40 {
            for sim in [&mut plain, &mut asked] {
                command(sim, k);
                if k == 17 {
                    sim.set_joint("a", 1.0, 0.0).unwrap();
                }
            }
            asked.refresh().unwrap();
            asked.efforts_for(&vec![0.1; n], &mut tau).unwrap();
            asked.mass_matrix().unwrap();
            asked.jacobian("link 2", [0.1, 0.0, 0.0]).unwrap();
            asked.energy().unwrap();
            asked.linearize().unwrap();
            for sim in [&mut plain, &mut asked] {
                sim.step(0.01).unwrap();
            }
            assert_eq!(plain.positions(), asked.positions(), "machine {m}, step {k}");
            assert_eq!(plain.events(), asked.events(), "machine {m}, step {k}");
        }
    }
}

#[test]
fn snapshot_after_failure_continues_bit_for_bit() {
    for (m, make) in MACHINES.iter().enumerate() {
        let (mut sim, mut other) = (make(), make());
        (0..7).for_each(|_| sim.step(0.01).unwrap());
        sim.set_max_steps(3);
        assert!(sim.step(0.5).is_err(), "machine {m}");
        sim.set_max_steps(100_000);
        let bytes = sim.snapshot().unwrap();
        other.restore(&bytes).unwrap();
        let mut batch = Batch::new(&mut make(), 1).unwrap();
        batch.restore(0, &bytes).unwrap();
        for _ in 0..10 {
            sim.step(0.01).unwrap();
            other.step(0.01).unwrap();
            batch.step(0.01).unwrap();
            assert_eq!(sim.positions(), other.positions(), "machine {m}");
            assert_eq!(sim.positions(), batch.positions(), "machine {m}, a copy");
        }
    }
}

#[test]
fn new_law_starts_with_steady_bristles() {
    let mut sim = MACHINES[0]();
    let entity = sim.joint("a").unwrap();
    sim.set_friction("a", lugre()).unwrap();
    (0..20).for_each(|_| sim.step(0.01).unwrap());
    assert_ne!(sim.bristle("a").unwrap(), BristleState::default());
    sim.set_friction("a", DRY).unwrap();
    sim.step(0.01).unwrap();
    assert_eq!(sim.bristle("a").unwrap(), BristleState::default());
    assert!(sim.world().get::<&BristleState>(entity).is_err());
    let mut other = MACHINES[0]();
    other.restore(&sim.snapshot().unwrap()).unwrap();
    for sim in [&mut sim, &mut other] {
        sim.set_joint("a", 0.5, 0.7).unwrap();
        sim.set_friction("a", lugre()).unwrap();
        sim.refresh().unwrap();
        let (law, z) = (Law::from(lugre()), sim.bristle("a").unwrap().z);
        use bristle::friction::FrictionLaw;
        assert!((z - law.deflection(law.initial_state(0.7))).abs() < 1e-12, "{z}");
        (0..5).for_each(|_| sim.step(0.01).unwrap());
    }
    assert_eq!(sim.positions(), other.positions());
    // removing the friction removes its bristles
    sim.world_mut().remove_one::<bristle::component::Friction>(entity).unwrap();
    sim.step(0.01).unwrap();
    assert!(sim.world().get::<&BristleState>(entity).is_err() && sim.mode("b").unwrap() != Mode::default());
}

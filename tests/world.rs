//! Worlds: order, edits, results on entities, refusals.

mod refused;

use bristle::compile::{compile, read_state};
use bristle::multibody::{JointKind, State};
use bristle::prelude::*;
use nalgebra::{UnitQuaternion, Vector3};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A user's own component: it moves entities to other archetypes.
struct Paint(#[expect(dead_code, reason = "only there to be different")] u8);
struct Temperature(#[expect(dead_code, reason = "only there to be different")] f64);

/// A tree of eight joints of all kinds, described as plain data.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const PARENTS: [Option<usize>; 8] = [None, Some(0), Some(0), Some(1), Some(1), None, Some(5), Some(3)];

fn joint(k: usize, links: &[Entity]) -> JointBuilder {
    let x = 0.1 + 0.05 * k as f64;
    let name = format!("joint {}", NAMES[k]);
    let joint = match k {
        3 => fixed(&name),
        5 => free(&name).twist([0.3, -2.0, 0.7], [1.0, 0.2, 0.0]),
        6 => prismatic(&name, [0.0, 1.0, 0.2]).position(0.05).spring(40.0, 0.01),
        _ => revolute(&name, [x, 1.0, 0.3 - x]).position(0.2 * k as f64).velocity(-0.5 + x).damping(0.02 * k as f64),
    };
    let joint = joint.to(links[k]).at([0.3, -x, 0.1]).turned(x, 0.3, -x);
    match PARENTS[k] {
        Some(parent) => joint.from(links[parent]),
        None => joint,
    }
}

fn inertia(k: usize) -> LinkInertia {
    let x = 0.1 * (k + 1) as f64;
    LinkInertia::diagonal(1.0 + x, [0.2, 0.1 * x, -0.3].into(), 0.02 + 0.01 * x, 0.03, 0.025)
}

/// The same tree, spawned in another order, with other components and gaps beside it.
fn shuffled(seed: u64) -> World {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut world = World::new();
    // entities that come and go leave holes in the numbering
    let passing: Vec<_> = (0..rng.random_range(0..20)).map(|_| world.spawn((Temperature(1.0),))).collect();
    let mut order: Vec<usize> = (0..8).collect();
    order.shuffle(&mut rng);
    let mut links = [Entity::DANGLING; 8];
    for &k in &order {
        links[k] = world.spawn_link(NAMES[k], inertia(k));
        if rng.random() {
            world.insert_one(links[k], Paint(1)).unwrap();
        }
    }
    for entity in passing {
        world.despawn(entity).unwrap();
    }
    order.shuffle(&mut rng);
    for &k in &order {
        let mut builder = joint(k, &links);
        if rng.random() {
            builder = builder.with(Temperature(300.0));
        }
        if rng.random() {
            builder = builder.with(Paint(2));
        }
        world.spawn_joint(builder);
    }
    world
}

#[test]
fn spawn_order_and_archetype_do_not_matter() {
    let run = |world: World| {
        let mut sim = Simulation::from_world(world).unwrap();
        let recording = sim.run_until(1.0).unwrap();
        (sim.compiled().model.tree.clone(), recording)
    };
    let (model, recording) = run(shuffled(0));
    assert_eq!(model.n_joints(), 8);
    assert!(recording.last("energy.dissipated").unwrap() > 0.0);
    for seed in 1..20 {
        let (other_model, other) = run(shuffled(seed));
        assert_eq!(model, other_model, "seed {seed}");
        assert_eq!(recording.names(), other.names());
        for (row, other_row) in recording.rows().zip(other.rows()) {
            let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(row), bits(other_row), "seed {seed}, t = {}", row[0]);
        }
    }
}

#[test]
fn index_goes_both_ways() {
    let world = shuffled(3);
    let compiled = compile(&world).unwrap();
    assert_eq!(compiled.model.index.joints().len(), 8);
    for (i, entity) in compiled.model.index.joints() {
        assert_eq!(compiled.model.index.joint(entity), Some(i));
        assert_eq!(compiled.model.index.joint_entity(i), Some(entity));
        assert_eq!(world.get::<&Name>(entity).unwrap().0, compiled.model.tree.joint_names[i]);
    }
    for (i, entity) in compiled.model.index.links() {
        assert_eq!(compiled.model.index.link(entity), Some(i));
        assert_eq!(world.get::<&Name>(entity).unwrap().0, compiled.model.tree.link_names[i]);
        // a link has the number of the joint that carries it
        let joint = compiled.model.index.joint_entity(i).unwrap();
        assert_eq!(world.get::<&Joint>(joint).unwrap().child, entity);
    }
    assert_eq!((compiled.model.index.joint_entity(0), compiled.model.index.joint_entity(9)), (None, None));
}

/// Names of the links and joints of a chain.
fn chain(n: usize) -> (World, Vec<Entity>, Vec<Entity>) {
    let mut world = World::new();
    let links: Vec<_> = (0..n).map(|k| world.spawn_link(&format!("link {k}"), inertia(k))).collect();
    let mut joints = Vec::new();
    for k in 0..n {
        let mut joint = revolute(&format!("joint {k}"), [0.0, 1.0, 0.0]).to(links[k]).position(0.3).at([0.5, 0.0, 0.0]);
        if k > 0 {
            joint = joint.from(links[k - 1]);
        }
        joints.push(world.spawn_joint(joint.damping(0.1)));
    }
    (world, links, joints)
}

#[test]
fn recompiling_keeps_remaining_states() {
    let (world, links, joints) = chain(4);
    let mut sim = Simulation::from_world(world).unwrap();
    sim.run_until(0.7).unwrap();
    let state = |sim: &Simulation, k: usize| *sim.world().get::<&JointState>(joints[k]).unwrap();
    let before: Vec<_> = (0..4).map(|k| state(&sim, k)).collect();
    let heat = sim.energy().unwrap().dissipated;
    assert!(heat > 0.0);

    // another mass
    sim.world_mut().get::<&mut Link>(links[1]).unwrap().mass = 5.0;
    sim.step(0.0).unwrap();
    assert_eq!(sim.compiled().model.tree.mass_and_center(2).0, 5.0);
    assert_eq!((0..4).map(|k| state(&sim, k)).collect::<Vec<_>>(), before);
    assert_eq!(sim.time(), 0.7);

    // the last link gone
    sim.world_mut().despawn(links[3]).unwrap();
    let error = sim.step(0.1).unwrap_err().to_string();
    assert!(error.contains("joint `joint 3`") && error.contains("child"), "{error}");
    sim.world_mut().despawn(joints[3]).unwrap();
    sim.step(0.0).unwrap();
    assert_eq!(sim.compiled().model.tree.n_joints(), 3);
    assert_eq!((0..3).map(|k| state(&sim, k)).collect::<Vec<_>>(), before[..3]);
    // its heat is not lost
    assert!((sim.energy().unwrap().dissipated - heat).abs() < 1e-14 * heat);

    // another joint, sorted before all others
    let world = sim.world_mut();
    let extra = world.spawn_link("extra", inertia(2));
    let new = world.spawn_joint(prismatic("a new joint", [1.0, 0.0, 0.0]).to(extra).position(0.25).velocity(-1.0));
    sim.step(0.0).unwrap();
    assert_eq!(sim.compiled().model.index.joint(new), Some(1));
    assert_eq!((0..3).map(|k| state(&sim, k)).collect::<Vec<_>>(), before[..3]);
    assert_eq!(*sim.world().get::<&JointState>(new).unwrap(), JointState { position: 0.25, velocity: -1.0 });

    // and the ledger still closes from here on
    let start = sim.energy().unwrap();
    sim.step(0.5).unwrap();
    let end = sim.energy().unwrap();
    assert!(end.dissipated > start.dissipated);
    assert!(end.balance.abs() < 1e-7 * end.dissipated, "{end:?}");
}

#[test]
fn edited_world_equals_built_world() {
    // the state at an edit is all that matters afterwards
    let (world, links, joints) = chain(3);
    let mut sim = Simulation::from_world(world).unwrap();
    sim.run_until(0.4).unwrap();
    sim.world_mut().get::<&mut Link>(links[2]).unwrap().mass = 3.0;
    sim.world_mut().get::<&mut JointState>(joints[0]).unwrap().velocity = 2.0;
    sim.step(0.0).unwrap();

    let (fresh, links, fresh_joints) = chain(3);
    fresh.get::<&mut Link>(links[2]).unwrap().mass = 3.0;
    for (old, new) in joints.iter().zip(&fresh_joints) {
        *fresh.get::<&mut JointState>(*new).unwrap() = *sim.world().get::<&JointState>(*old).unwrap();
    }
    let mut fresh = Simulation::from_world(fresh).unwrap();
    assert_eq!(sim.accelerations(), fresh.accelerations());
    sim.step(0.5).unwrap();
    fresh.step(0.5).unwrap();
    for (a, b) in sim.positions().iter().zip(fresh.positions()) {
        assert!((a - b).abs() < 1e-8, "{a} {b}");
    }
}

#[test]
fn efforts_act_from_next_step() {
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let block = world.spawn_link("block", LinkInertia::point(2.0, [0.0; 3].into()));
    let slide = world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(block));
    let mut sim = Simulation::from_world(world).unwrap();
    // three ways to push with 4 N: the velocity grows by 2 m/s each second
    sim.set_effort(slide, 4.0).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.velocities()[0] - 1.0).abs() < 1e-12);
    assert_eq!(sim.world().get::<&Effort>(slide).unwrap().0, 4.0);
    sim.world_mut().insert_one(slide, Effort(-4.0)).unwrap();
    sim.step(0.5).unwrap();
    assert!(sim.velocities()[0].abs() < 1e-12);
    sim.world_mut().remove_one::<Effort>(slide).unwrap();
    sim.world_mut().insert_one(block, ExternalWrench { force: [4.0, 0.0, 0.0].into(), ..Default::default() }).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.velocities()[0] - 1.0).abs() < 1e-12);
    assert!((sim.time() - 1.5).abs() < 1e-15);
    // work: ½ m v² gained, lost, and gained
    let energy = sim.energy().unwrap();
    assert!((energy.input - 1.0).abs() < 1e-10 && energy.balance.abs() < 1e-10, "{energy:?}");
    // refusals
    assert!(sim.set_effort(slide, f64::NAN).is_err());
    assert!(sim.set_effort(block, 1.0).is_err());
    assert!(sim.step(-1.0).is_err());
    assert!(sim.step(f64::INFINITY).is_err());
    assert!(sim.step(0.1).is_ok());
}

#[test]
fn set_states_keep_energy_balance() {
    let (world, _, joints) = chain(2);
    let mut sim = Simulation::from_world(world).unwrap();
    sim.step(0.3).unwrap();
    *sim.world_mut().get::<&mut JointState>(joints[1]).unwrap() = JointState { position: 2.0, velocity: 5.0 };
    sim.step(0.3).unwrap();
    assert_ne!(sim.positions()[1], 2.0);
    let energy = sim.energy().unwrap();
    assert!(energy.kinetic > 1.0 && energy.balance.abs() < 1e-6, "{energy:?}");
}

#[test]
fn results_are_on_the_entities() {
    let world = shuffled(7);
    let mut sim = Simulation::from_world(world).unwrap();
    sim.step(0.25).unwrap();
    let compiled = sim.compiled().clone();
    let mut state = State::rest(&compiled.model.tree);
    read_state(sim.world_mut(), &compiled, &mut state).unwrap();
    sim.refresh().unwrap();
    // what was written reads back bit for bit
    assert_eq!(state.q, sim.positions());
    assert_eq!(state.v, sim.velocities());
    let (mut n_one, mut n_free) = (0, 0);
    for (i, entity) in compiled.model.index.joints() {
        if let Ok(a) = sim.world().get::<&Acceleration>(entity) {
            assert_eq!(a.0, sim.accelerations()[compiled.model.tree.v_index[i]]);
            n_one += 1;
        }
        if let Ok(a) = sim.world().get::<&FreeAcceleration>(entity) {
            assert_eq!(a.0.angular.as_slice(), &sim.accelerations()[compiled.model.tree.v_range(i)][..3]);
            n_free += 1;
        }
        assert!(sim.world().satisfies::<&Reaction>(entity));
    }
    assert_eq!((n_one, n_free), (6, 1));

    // poses: each link is where its parent and its joint put it
    for (i, entity) in compiled.model.index.links() {
        let joint = compiled.model.index.joint_entity(i).unwrap();
        let joint = *sim.world().get::<&Joint>(joint).unwrap();
        let parent = joint.parent.map_or(Placement::identity(), |p| sim.world().get::<&Pose>(p).unwrap().0);
        let q = &state.q[compiled.model.tree.q_range(i)];
        let mut moved = Placement::identity();
        match joint.kind {
            JointKind::Fixed => {}
            JointKind::Revolute { axis } => {
                moved.rotation = UnitQuaternion::from_axis_angle(&nalgebra::Unit::new_normalize(axis), q[0]);
            }
            JointKind::Prismatic { axis } => moved.translation.vector = axis.normalize() * q[0],
            JointKind::Free => {
                moved = sim.world().get::<&FreeState>(compiled.model.index.joint_entity(i).unwrap()).unwrap().position;
                assert_eq!(moved.translation.vector.as_slice(), &q[..3]);
            }
        }
        let expected = parent * joint.placement * moved;
        let pose = sim.world().get::<&Pose>(entity).unwrap().0;
        let distance = (pose.translation.vector - expected.translation.vector).norm();
        assert!(distance < 1e-13 && pose.rotation.angle_to(&expected.rotation) < 1e-7, "{pose} {expected}");
    }
}

#[test]
fn reactions_balance_the_weight_of_a_machine_at_rest() {
    // welded together, everything hangs on the first joint
    let mut world = World::new();
    let (a, b) = (world.spawn_link("a", inertia(1)), world.spawn_link("b", inertia(2)));
    let first = world.spawn_joint(fixed("first").to(a).at([0.4, 0.0, 0.0]));
    world.spawn_joint(fixed("second").from(a).to(b).at([0.0, 0.7, 0.0]));
    let sim = Simulation::from_world(world).unwrap();
    let (moment, force) = crate::analytic::parts(&sim.world().get::<&Reaction>(first).unwrap());
    let weight = |k: usize| 9.81 * inertia(k).mass;
    assert!((force.z - weight(1) - weight(2)).abs() < 1e-12);
    // moments about the first joint: r × (0, 0, w) = (y w, −x w, 0)
    let (ra, rb) = (inertia(1).center_of_mass, inertia(2).center_of_mass + Vector3::new(0.0, 0.7, 0.0));
    assert!((moment.x - ra.y * weight(1) - rb.y * weight(2)).abs() < 1e-12);
    assert!((moment.y + ra.x * weight(1) + rb.x * weight(2)).abs() < 1e-12);
    assert!(moment.z.abs() < 1e-12 && force.xy().norm() < 1e-12);
}

#[test]
fn massless_tip_is_named() {
    let mut world = World::new();
    let ghost = world.spawn_link("ghost", LinkInertia::point(0.0, [0.0; 3].into()));
    world.spawn_joint(revolute("loose", [0.0, 0.0, 1.0]).to(ghost));
    let message = Simulation::from_world(world).err().unwrap().to_string();
    assert!(message.contains("`loose`") && message.contains("t = 0"), "{message}");
}

#[test]
fn empty_world_runs() {
    let mut sim = Simulation::from_world(World::new()).unwrap();
    let recording = sim.run_until(1.0).unwrap();
    assert_eq!(recording.len(), 101);
    assert_eq!(recording.last("energy.balance").unwrap(), 0.0);
}

#[test]
fn unknown_names_are_refused_with_known_ones() {
    let (world, ..) = chain(2);
    let sim = Simulation::from_world(world).unwrap();
    assert_eq!(sim.joint("elbow").unwrap_err().to_string(), "there is no joint `elbow`; there is joint 0, joint 1");
    assert!(sim.link("link 1").is_ok() && sim.link("world").is_err());
    assert!(sim.recording().last("joint 0.position").is_err());
}

#[test]
fn steps_equal_runs() {
    // a hundred small steps and one run reach the same state within the tolerance
    let mut one = Simulation::from_world(chain(3).0).unwrap();
    let mut many = Simulation::from_world(chain(3).0).unwrap();
    let recording = one.run_until(1.0).unwrap();
    for _ in 0..100 {
        many.step(0.01).unwrap();
    }
    for (a, b) in one.positions().iter().zip(many.positions()) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
    // a run in two parts records the same instants, the seam once
    let mut parts = Simulation::from_world(chain(3).0).unwrap();
    let mut both = parts.recording();
    parts.run_into(0.355, &mut both).unwrap();
    parts.run_into(1.0, &mut both).unwrap();
    let times: Vec<f64> = both.channel("t").unwrap().collect();
    let mut expected: Vec<f64> = recording.channel("t").unwrap().collect();
    expected.insert(36, 0.355);
    assert_eq!(times, expected);
    assert_eq!(times[7], 0.07);
}

#[test]
fn ten_thousand_links_compile_and_move() {
    let mut world = World::new();
    let mut parent = None;
    for k in 0..10_000 {
        let link = world.spawn_link(&format!("link {k}"), LinkInertia::rod(0.1, [0.0, 0.0, -0.1].into()));
        let mut joint = revolute(&format!("joint {k}"), [0.0, 1.0, 0.0]).to(link).position(1e-3).damping(0.01);
        if let Some(parent) = parent {
            joint = joint.from(parent).at([0.0, 0.0, -0.1]);
        }
        world.spawn_joint(joint);
        parent = Some(link);
    }
    let mut sim = Simulation::from_world(world).unwrap();
    assert_eq!(sim.compiled().model.tree.n_v, 10_000);
    sim.step(1e-6).unwrap();
    // each joint adds a milliradian: the last one sits at the sum of the links before it
    let z: f64 = (1..10_000).map(|k| -0.1 * (1e-3 * f64::from(k)).cos()).sum();
    let tip = sim.world().get::<&Pose>(parent.unwrap()).unwrap().0.translation.z;
    assert!((tip - z).abs() < 1e-8, "{tip} {z}");
    assert_eq!(sim.recording().names().len(), 1 + 4 * 10_000 + 8);
}

#[test]
fn too_large_recordings_are_refused() {
    let mut sim = Simulation::from_world(chain(2).0).unwrap();
    let error = sim.run_until(1e9).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("interval of `output` is 0.01"), "{error}");
    assert_eq!(sim.time(), 0.0);
    assert!(sim.run_until(f64::NAN).is_err() && sim.run_until(f64::INFINITY).is_err());
    sim.run_until(0.1).unwrap();
    assert!(sim.run_until(0.05).is_err());
}

#[test]
fn no_sequence_of_calls_panics() {
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 5e-324, 1.0, 3.0];
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let (mut n_good, mut n_bad) = (0, 0);
    for _ in 0..200 {
        let (world, mut links, mut joints) = chain(3);
        let mut sim = Simulation::from_world(world).unwrap();
        for _ in 0..20 {
            let number = |rng: &mut Pcg64Mcg| numbers[rng.random_range(0..numbers.len())];
            let x = number(&mut rng);
            let k = rng.random_range(0..links.len());
            let (link, joint) = (links[k], joints[k]);
            match rng.random_range(0..12) {
                0 => _ = sim.set_effort(joint, x),
                1 => _ = sim.world_mut().insert_one(joint, Spring { stiffness: x, rest: number(&mut rng) }),
                2 => _ = sim.world_mut().insert_one(joint, Damping(x)),
                3 => _ = sim.world_mut().insert_one(joint, JointState { position: x, velocity: number(&mut rng) }),
                4 => _ = sim.world_mut().get::<&mut Link>(link).map(|mut link| link.mass = x),
                5 => _ = sim.world_mut().despawn(if rng.random() { link } else { joint }),
                6 => _ = sim.world_mut().remove::<(Name,)>(if rng.random() { link } else { joint }),
                7 => {
                    _ = sim
                        .world_mut()
                        .insert_one(link, ExternalWrench { force: [x, 0.0, 1.0].into(), ..Default::default() })
                }
                8 => {
                    links.push(sim.world_mut().spawn_link(&format!("link {x}"), inertia(1)));
                    joints.push(
                        sim.world_mut()
                            .spawn_joint(prismatic(&format!("joint {x}"), [x, 0.0, 1.0]).to(links[links.len() - 1])),
                    );
                }
                9 => sim.world_mut().clear(),
                10 => _ = sim.world_mut().get::<&mut Joint>(joint).map(|mut joint| joint.armature = x),
                _ => sim.world_mut().set_gravity([0.0, x, number(&mut rng)]),
            }
            let dt = if rng.random_range(0..4) == 0 { number(&mut rng) } else { 0.01 };
            let dt = if dt.is_finite() { dt.min(0.02) } else { dt };
            match sim.step(dt) {
                Ok(()) => n_good += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    n_bad += 1;
                }
            }
            // after any refusal the state of the simulation is finite
            assert!(sim.time().is_finite() && sim.positions().iter().chain(sim.velocities()).all(|x| x.is_finite()));
        }
    }
    assert!(n_good > 500 && n_bad > 500, "{n_good} {n_bad}");
}

#[test]
fn refused_edit_keeps_ledger() {
    let (world, _, joints) = chain(3);
    let mut sim = Simulation::from_world(world).unwrap();
    let mut recording = sim.run_until(0.5).unwrap();
    let heat = recording.last("joint 2.dissipated").unwrap();
    assert!(heat > 0.0);
    sim.world_mut().get::<&mut Damping>(joints[1]).unwrap().0 = f64::NAN;
    assert!(sim.step(0.1).is_err());
    sim.world_mut().get::<&mut Damping>(joints[1]).unwrap().0 = 0.2;
    sim.run_into(0.6, &mut recording).unwrap();
    let after = recording.last("joint 2.dissipated").unwrap();
    assert!(after >= heat && after < 2.0 * heat, "{heat} {after}");
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-7);
}

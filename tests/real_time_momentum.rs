//! Free-floating machines in fixed steps: momentum of all links, computed from their poses and the velocities of their
//! centres of mass.

use bristle::component::Coupling;
use bristle::friction::{Coulomb, LuGre, Stribeck};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn settings(h: f64) -> Settings {
    Settings { method: Method::RealTime, control: Control::Constant { step: h }, ..Settings::default() }
}

/// Linear momentum, angular momentum about the centre of mass, mass and the sizes of their terms, of links `names`,
/// world axes: each link's own by the velocity of its centre of mass and its angular velocity.
struct Momentum {
    mass: f64,
    center: Vector3<f64>,
    linear: Vector3<f64>,
    angular: Vector3<f64>,
    linear_size: f64,
    angular_size: f64,
}

fn momentum(sim: &mut Simulation, links: &[(String, LinkInertia)]) -> Momentum {
    let v = nalgebra::DVector::from_column_slice(sim.velocities());
    let mut parts = Vec::new();
    for (name, link) in links {
        let c = link.center_of_mass;
        let twist = sim.jacobian(name.as_str(), [c.x, c.y, c.z]).unwrap() * &v;
        let (omega, velocity) =
            (Vector3::new(twist[0], twist[1], twist[2]), Vector3::new(twist[3], twist[4], twist[5]));
        let pose = sim.pose(name.as_str()).unwrap();
        let (to_world, i) = (pose.rotation.to_rotation_matrix(), &link.inertia);
        let inertia = Matrix3::new(i.xx, i.xy, i.xz, i.xy, i.yy, i.yz, i.xz, i.yz, i.zz);
        let spin = to_world * (inertia * (to_world.inverse() * omega));
        parts.push((link.mass, pose * nalgebra::Point3::from(c), velocity, spin));
    }
    let mass: f64 = parts.iter().map(|part| part.0).sum();
    let center = parts.iter().map(|part| part.1.coords * part.0).sum::<Vector3<f64>>() / mass;
    let (mut linear, mut angular, mut linear_size, mut angular_size) = (Vector3::zeros(), Vector3::zeros(), 0.0, 0.0);
    for (m, at, velocity, spin) in &parts {
        let p = velocity * *m;
        let l = (at.coords - center).cross(&p) + spin;
        linear += p;
        angular += l;
        linear_size += p.norm();
        angular_size += l.norm();
    }
    Momentum { mass, center, linear, angular, linear_size, angular_size }
}

fn number(rng: &mut Pcg64, size: f64) -> f64 {
    rng.random_range(-size..size)
}

fn vector(rng: &mut Pcg64, size: f64) -> Vector3<f64> {
    Vector3::new(number(rng, size), number(rng, size), number(rng, size))
}

fn inertia(rng: &mut Pcg64) -> LinkInertia {
    // a box, so that the inertia is that of a body
    let [a, b, c] = [0.1, 0.2, 0.4].map(|size: f64| size * rng.random_range(0.5..1.5));
    let m = rng.random_range(0.3..3.0);
    let moment = |b: f64, c: f64| m / 12.0 * (b * b + c * c);
    LinkInertia::diagonal(m, vector(rng, 0.2), moment(b, c), moment(a, c), moment(a, b))
}

/// Elements of the joints of a random machine.
#[derive(Clone, Copy, PartialEq)]
enum Joints {
    /// No friction, no springs.
    Bare,
    /// Friction of every kind, springs, dampers, couplings.
    Full,
}

/// A tree of `n` links that floats; the names and inertias of its links.
fn tree(rng: &mut Pcg64, n: usize, joints: Joints, gravity: Vector3<f64>) -> (World, Vec<(String, LinkInertia)>) {
    let mut world = World::new();
    world.spawn((bristle::component::Gravity(gravity),));
    let mut links = Vec::new();
    let mut entities = Vec::new();
    let mut turning = Vec::new();
    for i in 0..n {
        let (name, link) = (format!("link{i}"), inertia(rng));
        let entity = world.spawn_link(&name, link);
        links.push((name, link));
        let at = vector(rng, 0.4);
        if i == 0 {
            let turn = UnitQuaternion::new(vector(rng, 2.0));
            let pose = Isometry3::from_parts(Translation3::from(vector(rng, 1.0)), turn);
            let base = free("base").to(entity).at(at).turned(0.3, -0.2, 0.9).pose(pose);
            world.spawn_joint(base.twist(vector(rng, 4.0), vector(rng, 2.0)));
        } else {
            let parent = entities[rng.random_range(0..i)];
            let axis = vector(rng, 1.0);
            let slides = rng.random_range(0..4) == 0;
            let name = format!("j{i}");
            let joint = if slides { prismatic(&name, axis) } else { revolute(&name, axis) };
            let mut joint = joint.from(parent).to(entity).at(at).velocity(number(rng, if slides { 0.5 } else { 5.0 }));
            if joints == Joints::Full {
                let level = rng.random_range(0.02..0.5);
                joint = match rng.random_range(0..5) {
                    0 => joint.friction(Coulomb { coulomb: level, stiction: 1.5 * level, viscous: 0.01 }.into()),
                    1 => joint.friction(
                        LuGre {
                            sigma0: 1e4,
                            sigma1: 30.0,
                            sigma2: 0.02,
                            coulomb: level,
                            stiction: 1.4 * level,
                            stribeck_velocity: Some(0.05),
                            exponent: 2.0,
                            damping_velocity: None,
                        }
                        .into(),
                    ),
                    2 if !slides => joint
                        .friction(Coulomb { coulomb: 0.2, stiction: 0.3, viscous: 0.0 }.into())
                        .load(Load::Pin { radius: 0.02 }),
                    3 => joint.friction(
                        Stribeck {
                            coulomb: level,
                            stiction: 1.4 * level,
                            stribeck_velocity: Some(0.1),
                            exponent: 2.0,
                            viscous: 0.0,
                            peak: 1.0,
                        }
                        .into(),
                    ),
                    _ => joint.damping(0.02),
                };
                if slides || rng.random_range(0..2) == 0 {
                    joint = joint.spring(rng.random_range(1.0..200.0), 0.1);
                }
            } else if slides {
                joint = joint.spring(rng.random_range(1.0..20.0), 0.1);
            }
            let joint = world.spawn_joint(joint);
            if !slides {
                turning.push(joint);
            }
        }
        entities.push(entity);
    }
    if joints == Joints::Full && turning.len() > 3 {
        let joints = [turning[0], turning[1]];
        let sea = Coupling::SpringDamper { joints, stiffness: 5.0, damping: 0.1, rest: 0.2 };
        world.spawn((bristle::component::Name("sea".into()), sea));
        world.spawn((
            bristle::component::Name("clutch".into()),
            Coupling::Clutch { joints: [turning[2], turning[3]] },
            bristle::component::Friction(Coulomb { coulomb: 0.1, stiction: 0.1, viscous: 0.0 }.into()),
        ));
    }
    (world, links)
}

fn floating(seed: u64, joints: Joints, gravity: Vector3<f64>, h: f64) -> (Simulation, Vec<(String, LinkInertia)>) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (world, links) = tree(&mut rng, 2 + seed as usize % 6, joints, gravity);
    (Simulation::with_settings(world, settings(h)).unwrap(), links)
}

fn stored(sim: &mut Simulation) -> f64 {
    let ledger = sim.energy().unwrap();
    ledger.kinetic + ledger.elastic + ledger.bristle
}

/// Friction, springs, dampers and couplings do not change the momentum of a floating machine; gravity changes it by m g
/// t, and the centre of mass falls freely, at any step.
#[test]
fn floating_momentum_follows_external_forces() {
    let (mut worst, mut stuck) = ([0.0_f64; 3], 0);
    for seed in 0..24 {
        for h in [8e-3, 1e-3] {
            let gravity = if seed % 3 == 0 { Vector3::zeros() } else { Vector3::new(1.0, -2.0, -9.81) };
            let (mut sim, links) = floating(seed, Joints::Full, gravity, h);
            let before = momentum(&mut sim, &links);
            let recording = sim.run_until(1.0).unwrap();
            stuck += recording.events().iter().filter(|event| event.to == bristle::friction::Mode::Stuck).count();
            let after = momentum(&mut sim, &links);
            let size = before.linear_size + before.mass * gravity.norm();
            let moved = before.linear / before.mass + gravity * 0.5;
            let off = [
                (after.linear - before.linear - gravity * before.mass).norm() / size,
                (after.angular - before.angular).norm() / before.angular_size.max(after.angular_size),
                (after.center - before.center - moved).norm() / (moved.norm() + before.center.norm()),
            ];
            worst.iter_mut().zip(off).for_each(|(worst, off)| *worst = worst.max(off));
        }
    }
    // rounding of a thousand steps
    println!("momentum off by {worst:?}, {stuck} times stuck");
    assert!(worst.iter().all(|off| *off < 1e-12) && stuck > 20, "{worst:?} {stuck}");
}

/// In one step momentum changes by h times the force, as it acts at the middle of the step, q₀ ⊕ ½ h v₀.
#[test]
fn wrenches_change_floating_momentum() {
    let (h, gravity) = (1e-3, Vector3::new(0.0, 0.0, -9.81));
    for seed in 0..8 {
        let (mut sim, links) = floating(seed, Joints::Full, gravity, h);
        let mut rng = Pcg64::seed_from_u64(seed + 77);
        let (moment, force) = (vector(&mut rng, 3.0), vector(&mut rng, 20.0));
        let last = links.last().unwrap().0.clone();
        sim.set_wrench(last.as_str(), moment.into(), force.into()).unwrap();
        let before = momentum(&mut sim, &links);
        let (mut middle, _) = floating(seed, Joints::Full, gravity, h);
        let way: Vec<f64> = sim.velocities().iter().map(|v| 0.5 * h * v).collect();
        let mut q = sim.positions().to_vec();
        bristle::multibody::advance(&sim.compiled().model.tree, sim.positions(), &way, &mut q).unwrap();
        middle.set_state(&q, sim.velocities()).unwrap();
        let pose = middle.pose(last.as_str()).unwrap();
        let center = momentum(&mut middle, &links).center;
        sim.step(h).unwrap();
        let after = momentum(&mut sim, &links);
        let (f, n) = (pose.rotation * force, pose.rotation * moment);
        let expected = (f + gravity * before.mass) * h;
        let turning = (n + (pose.translation.vector - center).cross(&f)) * h;
        assert!((after.linear - before.linear - expected).norm() < 1e-13 * before.linear_size, "{seed}");
        assert!((after.angular - before.angular - turning).norm() < 1e-13 * before.angular_size, "{seed}");
    }
}

/// A body without symmetry that turns about its middle axis and tumbles over (Dzhanibekov): energy and momentum to
/// rounding, its motion by an independent method to second order.
#[test]
fn tumbling_body_converges_with_order_two() {
    let body = |settings: Settings| {
        let mut world = World::new();
        world.spawn((bristle::component::Gravity(Vector3::zeros()),));
        let link = LinkInertia::diagonal(1.0, [0.05, -0.1, 0.2].into(), 0.1, 0.2, 0.27);
        let entity = world.spawn_link("body", link);
        world.spawn_joint(free("base").to(entity).twist([0.01, 5.0, 0.02], [1.0, 0.5, 0.0]));
        (Simulation::with_settings(world, settings).unwrap(), vec![("body".to_owned(), link)])
    };
    let tight = Settings { control: Control::Error { rtol: 1e-12, atol: 1e-13 }, ..Settings::default() };
    let (mut exact, _) = body(tight);
    exact.run_until(4.0).unwrap();
    let mut errors = Vec::new();
    for h in [1e-2, 5e-3, 2.5e-3, 1.25e-3] {
        let (mut sim, links) = body(settings(h));
        let (before, energy) = (momentum(&mut sim, &links), stored(&mut sim));
        sim.run_until(4.0).unwrap();
        let after = momentum(&mut sim, &links);
        assert!((after.linear - before.linear).norm() < 1e-12 * before.linear_size, "{h}");
        assert!((after.angular - before.angular).norm() < 1e-12 * before.angular_size, "{h}");
        assert!((stored(&mut sim) - energy).abs() < 1e-11 * energy, "{h}: {}", stored(&mut sim) / energy - 1.0);
        let turn = exact.pose("body").unwrap().rotation.angle_to(&sim.pose("body").unwrap().rotation);
        errors.push(turn);
    }
    println!("{errors:?}");
    assert!(errors[3] < 0.02, "{errors:?}");
    for pair in errors[1..].windows(2) {
        assert!((3.4..4.6).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
}

/// The method takes energy from moving joints and adds none: without friction and dampers a machine loses a little,
/// with stuck joints nothing.
#[test]
fn floating_energy_does_not_grow() {
    for seed in 0..12 {
        for joints in [Joints::Bare, Joints::Full] {
            let (mut sim, _) = floating(seed, joints, Vector3::zeros(), 2e-3);
            let start = stored(&mut sim);
            let mut largest = 0.0_f64;
            for _ in 0..20 {
                sim.run_until(sim.time() + 0.2).unwrap();
                largest = largest.max(stored(&mut sim) / start - 1.0);
            }
            assert!(largest < 2e-3, "{seed}: {largest}");
        }
    }
}

/// All joints stuck: one rigid body, whose energy and momentum are conserved, while joints keep every bit of their
/// positions.
#[test]
fn stuck_floating_machine_is_rigid() {
    let mut rng = Pcg64::seed_from_u64(5);
    let mut world = World::new();
    world.spawn((bristle::component::Gravity(Vector3::zeros()),));
    let (a, b, c) = (inertia(&mut rng), inertia(&mut rng), inertia(&mut rng));
    let [first, second, third] = [("a", a), ("b", b), ("c", c)].map(|(name, link)| world.spawn_link(name, link));
    world.spawn_joint(free("base").to(first).twist([1.0, 20.0, -3.0], [1.0, 0.5, 0.0]));
    let dry = Coulomb { coulomb: 500.0, stiction: 500.0, viscous: 0.0 };
    for (name, parent, child) in [("j", first, second), ("k", second, third)] {
        let joint = revolute(name, vector(&mut rng, 1.0)).from(parent).to(child).at([0.3, 0.1, 0.0]).position(0.7);
        world.spawn_joint(joint.friction(dry.into()));
    }
    let mut sim = Simulation::with_settings(world, settings(1e-3)).unwrap();
    let links = vec![("a".to_owned(), a), ("b".to_owned(), b), ("c".to_owned(), c)];
    let (before, energy) = (momentum(&mut sim, &links), stored(&mut sim));
    sim.run_until(5.0).unwrap();
    let after = momentum(&mut sim, &links);
    assert!((stored(&mut sim) / energy - 1.0).abs() < 1e-11);
    assert!((after.angular - before.angular).norm() < 1e-11 * before.angular_size);
    for joint in ["j", "k"] {
        assert_eq!((sim.position(joint).unwrap(), sim.velocity(joint).unwrap()), (0.7, 0.0));
    }
}

/// A free body in the frame of a swinging arm: neither affects the other.
#[test]
fn free_body_in_moving_frame_flies_straight() {
    let mut world = World::new();
    world.spawn((bristle::component::Gravity(Vector3::new(0.0, 0.0, -9.81)),));
    let arm = LinkInertia::rod(2.0, [0.4, 0.0, 0.0].into());
    let ball = LinkInertia::diagonal(0.5, [0.02, 0.01, 0.0].into(), 0.01, 0.02, 0.025);
    let [arm_link, ball_link] = [("arm", arm), ("ball", ball)].map(|(name, link)| world.spawn_link(name, link));
    world.spawn_joint(revolute("swing", [0.0, 1.0, 0.0]).to(arm_link).velocity(3.0).damping(0.1));
    let flies = free("flies").from(arm_link).to(ball_link).at([0.4, 0.0, 0.1]).turned(0.1, 0.2, 0.3);
    world.spawn_joint(flies.twist([1.0, -2.0, 5.0], [0.3, 0.2, 0.1]));
    let mut sim = Simulation::with_settings(world, settings(1e-3)).unwrap();
    let ball = vec![("ball".to_owned(), ball)];
    let before = momentum(&mut sim, &ball);
    sim.run_until(1.0).unwrap();
    let after = momentum(&mut sim, &ball);
    let gravity = Vector3::new(0.0, 0.0, -9.81);
    assert!((after.linear - before.linear - gravity * 0.5).norm() < 1e-11 * after.linear_size);
    assert!((after.angular - before.angular).norm() < 1e-11 * after.angular_size);
    let fallen = before.center + before.linear / 0.5 + gravity * 0.5;
    assert!((after.center - fallen).norm() < 1e-10, "{} {fallen}", after.center);
}

/// A body that spins at 100 rad/s, 0.1 rad in a step, flies straight for ten seconds.
#[test]
fn spinning_body_is_not_deflected() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/defects/near_rt_free_deflection.ron");
    let mut sim = Simulation::new(&Scene::load(path).unwrap()).unwrap();
    sim.run_until(10.0).unwrap();
    let at = sim.pose("b").unwrap().translation.vector;
    assert!((at - Vector3::new(10.0, 0.0, 0.0)).norm() < 1e-10, "{at}");
}

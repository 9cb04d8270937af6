//! Linearisations against differences of whole simulations.

use crate::embedding::lugre;
use bristle::component::{BristleState, FreeState};
use bristle::friction::{Coulomb, ElastoPlastic, Law, LuGre, Table};
use bristle::multibody::{advance, chart_rate};
use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::simulation::Linearization;

/// ẏ about the state of `sim`, by differences of whole simulations: y moved, an effort or a parameter changed.
#[test]
fn linearisation_equals_differences() {
    // all slide; the laws are of four kinds, one under the joint's own reaction
    let build = |shift: &dyn Fn(&mut [f64; 8])| {
        let mut x = [0.3, 0.4, 1.1, 0.2, 0.3, 0.1, 0.5, 0.25];
        shift(&mut x);
        let mut world = World::new();
        let links: Vec<Entity> = (0..3)
            .map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.1, 0.0].into())))
            .collect();
        let axis = [0.0, 1.0, 0.0];
        let pin = Coulomb { coulomb: x[0], stiction: 0.6, viscous: x[1] };
        let tanh = bristle::friction::Tanh { coulomb: x[2], stribeck_velocity: 0.5, viscous: x[3] };
        let bristle = LuGre { coulomb: x[4], stiction: 0.45, sigma1: 3.0 + x[5], sigma2: x[6], sigma0: 1e3, ..lugre() };
        let a = revolute("a", axis).to(links[0]).position(0.4).velocity(0.7).friction(pin.into());
        world.spawn_joint(a.load(Load::Pin { radius: 0.07 }));
        let b = revolute("b", axis).from(links[0]).to(links[1]).at([0.5, 0.0, 0.0]).velocity(-0.4);
        world.spawn_joint(b.friction(tanh.into()).damping(0.1).spring(2.0, 0.3).load(Load::Constant(1.3)));
        let c = revolute("c", axis).from(links[1]).to(links[2]).at([0.5, 0.0, 0.0]).velocity(0.15);
        let c = world.spawn_joint(c.friction(bristle.into()).load(Load::Constant(2.0)));
        world.insert_one(c, BristleState { z: x[7] * 1e-3, w: 0.0 }).unwrap();
        Simulation::with_settings(world, Settings { method: Method::Radau5, ..Settings::default() }).unwrap()
    };
    let mut sim = build(&|_| {});
    let linear = sim.linearize().unwrap();
    assert_eq!(
        linear.unknowns,
        ["a.position", "b.position", "c.position", "a.velocity", "b.velocity", "c.velocity", "c.s"]
    );
    let expected = [
        "a.coulomb",
        "a.viscous",
        "b.coulomb",
        "b.stribeck_velocity",
        "b.viscous",
        "c.coulomb",
        "c.stiction",
        "c.stribeck_velocity",
        "c.exponent",
        "c.sigma0",
        "c.sigma1",
        "c.sigma2",
    ];
    assert_eq!(linear.parameters, expected);
    let accelerations = |sim: &Simulation| sim.accelerations().to_vec();
    let check = |what: &str, column: [f64; 3], plus: Vec<f64>, minus: Vec<f64>, h: f64| {
        for k in 0..3 {
            let difference = (plus[k] - minus[k]) / (2.0 * h);
            let scale = 1.0 + difference.abs();
            assert!((column[k] - difference).abs() < 1e-6 * scale, "{what}, {k}: {} {difference}", column[k]);
        }
    };
    let column = |m: &nalgebra::DMatrix<f64>, j: usize| [m[(3, j)], m[(4, j)], m[(5, j)]];
    let h = 1e-6;
    // positions and velocities
    for (j, name) in ["a", "b", "c"].into_iter().enumerate() {
        for is_velocity in [false, true] {
            let moved = |h: f64| {
                let mut sim = build(&|_| {});
                let (q, v) = (sim.position(name).unwrap(), sim.velocity(name).unwrap());
                let (dq, dv) = if is_velocity { (0.0, h) } else { (h, 0.0) };
                sim.set_joint(name, q + dq, v + dv).unwrap();
                sim.step(0.0).unwrap();
                accelerations(&sim)
            };
            let j = if is_velocity { 3 + j } else { j };
            check(&format!("unknown {j}"), column(&linear.a, j), moved(h), moved(-h), h);
        }
        let pushed = |h: f64| {
            let mut sim = build(&|_| {});
            sim.set_effort(name, h).unwrap();
            sim.step(0.0).unwrap();
            accelerations(&sim)
        };
        check(&format!("effort on {name}"), column(&linear.b, j), pushed(h), pushed(-h), h);
    }
    // s = σ₀ z
    let bent = |h: f64| accelerations(&build(&|x| x[7] += h));
    check("bristle", column(&linear.a, 6), bent(h), bent(-h), h);
    // parameters: columns of P beside the number of x
    for (j, k) in [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4), (10, 5), (11, 6)] {
        let changed = |h: f64| accelerations(&build(&|x| x[k] += h));
        check(expected[j], column(&linear.p, j), changed(h), changed(-h), h);
        assert!(column(&linear.p, j).iter().any(|x| x.abs() > 1e-6), "{}: it slides, so it matters", expected[j]);
    }
    // rates of the bristle in its parameters: ṡ = σ₀ (v − |v| s/g), by hand
    let (v, s, g) = (0.15_f64, 0.25, 0.3 + 0.15 * (-(0.15_f64 / 0.1).powi(2)).exp());
    let e = (-(0.15_f64 / 0.1).powi(2)).exp();
    let by_hand = [1e3 * v * s / (g * g) * (1.0 - e), 1e3 * v * s / (g * g) * e, v - v * s / g];
    for (j, by_hand) in [5, 6, 9].into_iter().zip(by_hand) {
        assert!((linear.p[(6, j)] - by_hand).abs() < 1e-9 * by_hand.abs(), "{j}: {} {by_hand}", linear.p[(6, j)]);
    }
}

/// The laws of the machine below, by joint.
fn laws() -> [(&'static str, Law); 4] {
    let pin = Coulomb { coulomb: 0.3, stiction: 0.6, viscous: 0.05 };
    let table = Table { points: vec![(0.0, 0.5), (0.2, 0.4), (1.0, 0.7)], peak: 1.0 };
    let plastic = ElastoPlastic { lugre: LuGre { coulomb: 0.4, stiction: 0.6, ..lugre() }, breakaway: 0.3e-3 };
    let stuck = Coulomb { coulomb: 50.0, stiction: 60.0, viscous: 0.0 };
    [("a", pin.into()), ("b", table.into()), ("c", plastic.into()), ("d", stuck.into())]
}

/// A floating body with an arm of four joints: a pin, a table, an elasto-plastic bristle, and one that is stuck; the
/// last two are on a branch of their own. With `is_geared`, a gear couples `c` to `a`.
fn floating(method: Method, control: Control, formulation: Formulation, is_geared: bool) -> Simulation {
    let mut world = World::new();
    let body = |m: f64| LinkInertia::diagonal(m, [0.1, 0.02, 0.05].into(), 0.1 * m, 0.12 * m, 0.07 * m);
    let base = world.spawn_link("base", body(5.0));
    let links: Vec<Entity> = (0..4).map(|k| world.spawn_link(&format!("link {k}"), body(1.0))).collect();
    world.spawn_joint(free("throw").twist([0.4, -0.7, 0.3], [0.5, 0.1, -0.2]).to(base));
    let joints = [
        revolute("a", [0.0, 1.0, 0.2]).from(base).to(links[0]).at([0.3, 0.0, 0.0]).position(0.4).velocity(0.6),
        prismatic("b", [1.0, 0.0, 0.0]).from(links[0]).to(links[1]).at([0.3, 0.1, 0.0]).velocity(-0.5),
        revolute("c", [1.0, 0.0, 0.3]).from(base).to(links[2]).at([-0.3, 0.0, 0.0]).velocity(0.3),
        revolute("d", [0.0, 0.0, 1.0]).from(links[2]).to(links[3]).at([-0.3, 0.0, 0.0]),
    ];
    let mut entities = Vec::new();
    for (joint, (name, law)) in joints.into_iter().zip(laws()) {
        let load = if name == "a" { Load::Pin { radius: 0.06 } } else { Load::Constant(1.4) };
        entities.push(world.spawn_joint(joint.friction(law).load(load).damping(0.1)));
    }
    world.insert_one(entities[2], BristleState { z: 0.4e-3, w: 0.0 }).unwrap();
    if is_geared {
        let gear = Coupling::Gear { joints: [entities[2], entities[0]], ratio: 0.5, offset: 0.1 };
        world.spawn((Name("gear".into()), gear));
    }
    Simulation::with_settings(world, Settings { method, control, formulation, ..Settings::default() }).unwrap()
}

fn steady(is_geared: bool) -> Simulation {
    floating(Method::Radau5, Control::default(), Formulation::Implicit, is_geared)
}

/// Accelerations with the unknown `name` moved by h.
fn accelerations_moved(is_geared: bool, name: &str, h: f64) -> Vec<f64> {
    let mut sim = steady(is_geared);
    let (joint, what) = name.split_once('.').unwrap();
    let entity = sim.joint(joint).unwrap();
    if joint == "throw" {
        let part = ["rotation.x", "rotation.y", "rotation.z", "displacement.x", "displacement.y", "displacement.z"];
        let rate = ["velocity.wx", "velocity.wy", "velocity.wz", "velocity.vx", "velocity.vy", "velocity.vz"];
        let state = *sim.world().get::<&FreeState>(entity).unwrap();
        let mut moved = state;
        if let Some(k) = part.iter().position(|part| *part == what) {
            // a displacement of the free joint alone: its velocities come first
            let model = sim.compiled().model.tree.clone();
            let (mut d, mut q) = (vec![0.0; model.n_v], vec![0.0; model.n_q]);
            let at = model.v_index[model.joint("throw").unwrap()];
            d[at + k] = h;
            advance(&model, sim.positions(), &d, &mut q).unwrap();
            let [x, y, z, qw, qx, qy, qz] = q[model.q_range(model.joint("throw").unwrap())].try_into().unwrap();
            let rotation = nalgebra::UnitQuaternion::new_normalize(nalgebra::Quaternion::new(qw, qx, qy, qz));
            moved.position = Placement::from_parts(nalgebra::Translation3::new(x, y, z), rotation);
        } else {
            let k = rate.iter().position(|rate| *rate == what).unwrap();
            let twist = &mut moved.velocity;
            *(if k < 3 { &mut twist.angular[k] } else { &mut twist.linear[k - 3] }) += h;
        }
        sim.world_mut().insert_one(entity, moved).unwrap();
    } else if what == "s" {
        let bristle = *sim.world().get::<&BristleState>(entity).unwrap();
        sim.world_mut().insert_one(entity, BristleState { z: bristle.z + h / 1e3, ..bristle }).unwrap();
    } else {
        let (dq, dv) = if what == "position" { (h, 0.0) } else { (0.0, h) };
        let (q, v) = (sim.position(joint).unwrap(), sim.velocity(joint).unwrap());
        // geared joints move with it
        sim.set_joint(joint, q + dq, v + dv).unwrap();
    }
    sim.step(0.0).unwrap();
    sim.accelerations().to_vec()
}

/// The rows of v̇ in a linearisation, by velocity.
fn rows(sim: &Simulation, linear: &Linearization) -> Vec<(usize, usize)> {
    let model = &sim.compiled().model.tree;
    let mut found = Vec::new();
    for (row, name) in linear.unknowns.iter().enumerate() {
        let Some((joint, what)) = name.split_once(".velocity") else { continue };
        let parts = [".wx", ".wy", ".wz", ".vx", ".vy", ".vz"];
        let part = parts.iter().position(|part| *part == what).unwrap_or(0);
        found.push((row, model.v_index[model.joint(joint).unwrap()] + part));
    }
    found
}

#[test]
fn floating_linearisation_equals_differences() {
    for is_geared in [false, true] {
        let mut sim = steady(is_geared);
        let linear = sim.linearize().unwrap();
        let n = if is_geared { 8 } else { 9 };
        assert_eq!(linear.unknowns.len(), 2 * n + 1, "{:?}", linear.unknowns);
        assert!(!linear.unknowns.iter().any(|name| name.starts_with("d.")), "what is stuck is no unknown");
        let velocities = rows(&sim, &linear);
        assert_eq!(velocities.len(), n);
        let h = 1e-5;
        for (j, name) in linear.unknowns.iter().enumerate() {
            let (up, down) = (accelerations_moved(is_geared, name, h), accelerations_moved(is_geared, name, -h));
            for &(row, v) in &velocities {
                let difference = (up[v] - down[v]) / (2.0 * h);
                let ours = linear.a[(row, j)];
                let scale = 1.0 + difference.abs();
                assert!((ours - difference).abs() < 1e-6 * scale, "{name} in {row}: {ours} {difference}");
            }
        }
        // rates of the chart about the present configuration
        let model = sim.compiled().model.tree.clone();
        let at = model.v_index[model.joint("throw").unwrap()];
        let place = |name: &str| linear.unknowns.iter().position(|other| other == name).unwrap();
        let (first, first_rate) = (place("throw.rotation.x"), place("throw.velocity.wx"));
        for j in 0..6 {
            let rate = |h: f64| {
                let (mut xi, mut rate) = (vec![0.0; model.n_v], vec![0.0; model.n_v]);
                xi[at + j] = h;
                chart_rate(&model, &xi, sim.velocities(), &mut rate).unwrap();
                rate
            };
            let (up, down) = (rate(h), rate(-h));
            for k in 0..6 {
                let difference = (up[at + k] - down[at + k]) / (2.0 * h);
                assert!((linear.a[(first + k, first + j)] - difference).abs() < 1e-9, "{k} {j}");
                assert_eq!(linear.a[(first + k, first_rate + j)], f64::from(u8::from(k == j)));
            }
        }
        // efforts, and wrenches on the base through those of the free joint
        for joint in ["a", "b", "c"] {
            let pushed = |h: f64| {
                let mut sim = steady(is_geared);
                sim.set_effort(joint, h).unwrap();
                sim.step(0.0).unwrap();
                sim.accelerations().to_vec()
            };
            let (up, down) = (pushed(h), pushed(-h));
            let column = model.v_index[model.joint(joint).unwrap()];
            for &(row, v) in &velocities {
                let difference = (up[v] - down[v]) / (2.0 * h);
                assert!((linear.b[(row, column)] - difference).abs() < 1e-6 * (1.0 + difference.abs()), "{joint}");
            }
        }
    }
}

#[test]
fn table_and_bristle_parameters_have_columns() {
    let mut sim = steady(false);
    let linear = sim.linearize().unwrap();
    let velocities = rows(&sim, &linear);
    let s_row = linear.unknowns.iter().position(|name| name == "c.s").unwrap();
    let h = 1e-6;
    let with = |joint: &str, law: Law| {
        let mut sim = steady(false);
        // the state is s = σ₀ z
        let (z, sigma0) = (sim.bristle("c").unwrap().z, law.sigma0());
        sim.set_friction(joint, law).unwrap();
        if joint == "c" {
            let entity = sim.joint("c").unwrap();
            sim.world_mut().insert_one(entity, BristleState { z: z * 1e3 / sigma0, w: 0.0 }).unwrap();
        }
        sim.step(0.0).unwrap();
        sim.accelerations().to_vec()
    };
    let change = |joint: &str, name: &str, h: f64| -> Law {
        let mut law = laws().into_iter().find(|law| law.0 == joint).unwrap().1;
        match (&mut law, name) {
            (Law::Table(law), "points[1].level") => law.points[1].1 += h,
            (Law::Table(law), "points[2].level") => law.points[2].1 += h,
            (Law::Table(law), "points[1].speed") => law.points[1].0 += h,
            (Law::Table(law), "points[2].speed") => law.points[2].0 += h,
            (Law::ElastoPlastic(law), "breakaway") => law.breakaway += h * 1e-3,
            (Law::ElastoPlastic(law), "coulomb") => law.lugre.coulomb += h,
            (Law::ElastoPlastic(law), "sigma0") => law.lugre.sigma0 += h,
            (Law::ElastoPlastic(law), "stribeck_velocity") => {
                law.lugre.stribeck_velocity = law.lugre.stribeck_velocity.map(|v| v + h);
            }
            (law, other) => panic!("{law:?} {other}"),
        }
        law
    };
    for (joint, name, scale) in [
        ("b", "points[1].level", 1.0),
        ("b", "points[2].level", 1.0),
        ("b", "points[1].speed", 1.0),
        ("b", "points[2].speed", 1.0),
        ("c", "breakaway", 1e-3),
        ("c", "coulomb", 1.0),
        ("c", "sigma0", 1.0),
        ("c", "stribeck_velocity", 1.0),
    ] {
        let whole = format!("{joint}.{name}");
        let j = linear.parameters.iter().position(|other| *other == whole).unwrap();
        let (up, down) = (with(joint, change(joint, name, h)), with(joint, change(joint, name, -h)));
        let mut largest = linear.p[(s_row, j)].abs();
        for &(row, v) in &velocities {
            let difference = (up[v] - down[v]) / (2.0 * h * scale);
            let ours = linear.p[(row, j)];
            assert!(
                (ours - difference).abs() < 1e-6 * (1.0 + difference.abs()),
                "{whole} in {row}: {ours} {difference}"
            );
            largest = largest.max(ours.abs());
        }
        assert!(largest > 1e-5, "{whole}: it slides, so it matters");
    }
    // zero where the joint is stuck
    for (j, name) in linear.parameters.iter().enumerate().filter(|(_, name)| name.starts_with("d.")) {
        assert!(linear.p.column(j).iter().all(|x| *x == 0.0), "{name}");
    }
}

#[test]
fn linearisation_is_independent_of_solver() {
    let expected = steady(true).linearize().unwrap();
    for (method, control, formulation) in [
        (Method::Dopri5, Control::default(), Formulation::Jerk),
        (Method::Radau5, Control::default(), Formulation::Residual),
        (Method::RealTime, Control::Constant { step: 1e-3 }, Formulation::Implicit),
    ] {
        let found = floating(method, control, formulation, true).linearize().unwrap();
        assert_eq!((&found.unknowns, &found.parameters), (&expected.unknowns, &expected.parameters), "{method:?}");
        let near = |a: &nalgebra::DMatrix<f64>, b: &nalgebra::DMatrix<f64>| {
            // Newton for the pin's load, to a hundredth of the relative tolerance
            (a - b).amax() <= 1e-9 * b.amax()
        };
        assert!(near(&found.a, &expected.a) && near(&found.b, &expected.b), "{method:?} {formulation:?}");
        assert!(near(&found.p, &expected.p), "{method:?} {formulation:?}");
    }
}

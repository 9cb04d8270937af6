//! Time of a `RealTime` step with dry friction in every joint: chains of 16 to 256 hinges, a tree of 36 joints, an arm
//! and a double pendulum. `benches/peers/mujoco_real_time.py` runs it beside MuJoCo and prints the table. Output: one
//! line of JSON with nanoseconds of a step, the minimum of several rollouts of 200 steps.
//!
//! Machines are those of `benches/models.json`; a chain of n hinges has the first n links of `chain128`, repeated.

use bristle::batch::Rollout;
use bristle::friction::{Coulomb, Law};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use serde_json::Value;
use std::time::Instant;

const STEPS: usize = 200;
const FRICTION: f64 = 0.2;

/// Number k of a list.
fn number(list: &Value, k: usize) -> f64 {
    list[k].as_f64().unwrap_or_default()
}

fn triple(list: &Value) -> [f64; 3] {
    std::array::from_fn(|k| number(list, k))
}

/// The first n links of a model, repeated in a row if it has less.
fn machine(model: &Value, n: usize) -> Result<Simulation, Error> {
    let law: Law = Coulomb { coulomb: FRICTION, stiction: FRICTION, viscous: 0.0 }.into();
    let n_links = model["links"].as_array().map_or(0, Vec::len);
    let mut world = World::new();
    let mut spawned: Vec<(&str, Entity)> = Vec::new();
    for k in 0..n {
        let (link, joint) = (&model["links"][k % n_links], &model["joints"][k % n_links]);
        let mut inertia = LinkInertia::point(link["mass"].as_f64().unwrap_or_default(), triple(&link["com"]).into());
        let [xx, xy, xz, yy, yz, zz] = std::array::from_fn(|k| number(&link["inertia"], k));
        inertia.inertia = bristle::multibody::spatial::Symmetric3 { xx, yy, zz, xy, xz, yz };
        let child = world.spawn_link(&format!("b{k}"), inertia);
        let kind = if joint["type"] == "prismatic" { prismatic } else { revolute };
        let [roll, pitch, yaw] = triple(&joint["rpy"]);
        let mut described = kind(&format!("j{k:03}"), triple(&joint["axis"])).to(child).turned(roll, pitch, yaw);
        // a repeated chain continues at its end
        let first_offset = triple(&model["joints"][1]["xyz"]);
        described = described.at(if k > 0 && k % n_links == 0 { first_offset } else { triple(&joint["xyz"]) });
        let parent = spawned.iter().find(|(name, _)| joint["parent"] == *name).filter(|_| k < n_links);
        if let Some(&(_, parent)) = parent.or(if k < n_links { None } else { spawned.last() }) {
            described = described.from(parent);
        }
        let position = (0.7 * (k + 1) as f64).sin() * 0.5;
        world.spawn_joint(described.position(position).friction(law.clone()));
        spawned.push((link["name"].as_str().unwrap_or_default(), child));
    }
    let control = Control::Constant { step: 1e-3 };
    Simulation::with_settings(world, Settings { method: Method::RealTime, control, ..Settings::default() })
}

fn main() -> Result<(), Error> {
    let models: Value = serde_json::from_str(include_str!("models.json")).unwrap_or_default();
    let find = |name: &str| models.as_array().and_then(|models| models.iter().find(|model| model["name"] == name));
    let asked: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    let chains = [16, 32, 64, 128, 256].map(|n| (format!("chain{n}"), "chain128", n));
    let others = [("pend2", 2), ("arm7", 7), ("tree36", 36)].map(|(name, n)| (name.to_string(), name, n));
    let mut times = serde_json::Map::new();
    for (name, model, n) in others.into_iter().chain(chains) {
        let Some(model) = find(model).filter(|_| asked.is_empty() || asked.contains(&name)) else { continue };
        let mut sim = machine(model, n)?;
        let mut batch = Batch::new(&mut sim, 1)?.with_threads(1)?;
        let state = batch.snapshot(0)?;
        let mut rollout = Rollout::default();
        let (mut least, mut spent, mut n_steps) = (f64::INFINITY, 0.0, 0);
        while spent < 1.0 || n_steps < 5 * STEPS {
            batch.restore(0, &state)?;
            let clock = Instant::now();
            batch.rollout(1e-3, STEPS, &[], &mut rollout)?;
            let time = clock.elapsed().as_secs_f64();
            (least, spent, n_steps) = (least.min(time / STEPS as f64), spent + time, n_steps + STEPS);
        }
        eprintln!("{name}: {:.0} ns, {:.0} ns per joint", 1e9 * least, 1e9 * least / n as f64);
        times.insert(name, (1e9 * least).into());
    }
    println!("{}", Value::Object(times));
    Ok(())
}

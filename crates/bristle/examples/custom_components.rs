//! A user's own components beside those of the machine: a controller, and friction that falls as the joint warms up.

use bristle::component::{Dissipated, Friction};
use bristle::friction::Coulomb;
use bristle::prelude::*;

/// Keeps a joint turning.
struct Controller {
    speed: f64,
    gain: f64,
}

/// Grease: the level falls by `slope` per kelvin; heat goes into `capacity` and leaves at `loss`.
struct TemperatureDependentFriction {
    cold: Coulomb,
    slope: f64,
    capacity: f64,
    loss: f64,
    kelvin: f64,
    heat: f64,
}

/// A system: joints that are controlled get their efforts.
fn control(sim: &mut Simulation) {
    for (state, controller, effort) in &mut sim.world_mut().query::<(&JointState, &Controller, &mut Effort)>() {
        effort.0 = controller.gain * (controller.speed - state.velocity);
    }
}

/// Another one: heat since the last call warms the grease, which changes the law.
fn warm_up(sim: &mut Simulation, dt: f64) {
    let world = sim.world_mut();
    for (grease, heat, friction) in
        &mut world.query::<(&mut TemperatureDependentFriction, &Dissipated, &mut Friction)>()
    {
        let power = (heat.0 - grease.heat) / dt - grease.loss * grease.kelvin;
        grease.heat = heat.0;
        grease.kelvin += power * dt / grease.capacity;
        let level = grease.cold.coulomb * (1.0 - grease.slope * grease.kelvin).max(0.1);
        friction.0 = Coulomb { coulomb: level, stiction: level, ..grease.cold }.into();
    }
}

pub fn main() -> Result<(), Error> {
    let mut world = World::new();
    let wheel = world.spawn_link("wheel", LinkInertia::diagonal(2.0, [0.0; 3].into(), 0.1, 0.1, 0.2));
    let cold = Coulomb { coulomb: 1.0, stiction: 1.0, viscous: 0.02 };
    let axle = world.spawn_joint(revolute("axle", [0.0, 0.0, 1.0]).to(wheel).friction(cold.into()));
    let grease = TemperatureDependentFriction { cold, slope: 0.01, capacity: 20.0, loss: 0.5, kelvin: 0.0, heat: 0.0 };
    world.insert(axle, (Controller { speed: 10.0, gain: 2.0 }, Effort(0.0), grease)).expect("the axle is there");

    let mut sim = Simulation::from_world(world)?;
    for step in 0..20_000 {
        control(&mut sim);
        warm_up(&mut sim, 1e-2);
        sim.step(1e-2)?;
        if step % 4000 == 3999 {
            let kelvin = sim.world().get::<&TemperatureDependentFriction>(axle).map_or(0.0, |grease| grease.kelvin);
            let friction = sim.friction_effort("axle")?;
            println!("t = {:5.1} s: {kelvin:5.2} K warmer, friction {friction:.4} N m", sim.time());
        }
    }
    // cold: 1 N m and 0.2 N m of viscous friction
    assert!(sim.friction_effort("axle")? < 1.05);
    Ok(())
}

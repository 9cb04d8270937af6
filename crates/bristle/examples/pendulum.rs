//! A pendulum with pin friction, built in code: it swings, and stops for good.

use bristle::friction::Coulomb;
use bristle::prelude::*;

pub fn main() -> Result<(), Error> {
    let mut world = World::new();
    let rod = world.spawn_link("rod", LinkInertia::rod(1.0, [0.0, 0.0, -1.0].into()));
    let friction = Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 };
    let hinge = revolute("hinge", [0.0, 1.0, 0.0]).to(rod).position(1.0).friction(friction.into());
    world.spawn_joint(hinge.load(Load::Pin { radius: 0.1 }));

    let mut sim = Simulation::from_world(world)?;
    for _ in 0..2000 {
        sim.step(0.01)?;
        for event in sim.events() {
            println!("t = {:6.3} s: {:?} -> {:?}", event.t, event.from, event.to);
        }
    }
    let energy = sim.energy()?;
    println!("angle {:.6} rad, velocity {:?} rad/s", sim.position("hinge")?, sim.velocity("hinge")?);
    println!("heat {:.6} J, balance {:.1e} J", energy.dissipated, energy.balance);
    assert_eq!(sim.velocity("hinge")?, 0.0);
    Ok(())
}

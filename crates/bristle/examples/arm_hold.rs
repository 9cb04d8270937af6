//! An arm that its friction holds against gravity: an hour later it is where it was, to the last bit.

use bristle::friction::Coulomb;
use bristle::prelude::*;

pub fn main() -> Result<(), Error> {
    let mut world = World::new();
    let upper = world.spawn_link("upper", LinkInertia::rod(2.0, [0.5, 0.0, 0.0].into()));
    let lower = world.spawn_link("lower", LinkInertia::rod(1.0, [0.4, 0.0, 0.0].into()));
    let dry = |level| Coulomb { coulomb: 0.8 * level, stiction: level, viscous: 0.1 };
    let axis = [0.0, 1.0, 0.0];
    world.spawn_joint(revolute("shoulder", axis).to(upper).position(0.2).friction(dry(15.0).into()));
    let elbow = revolute("elbow", axis).from(upper).to(lower).at([0.5, 0.0, 0.0]);
    world.spawn_joint(elbow.position(-0.5).friction(dry(3.0).into()));

    let mut sim = Simulation::from_world(world)?;
    let before = sim.positions().to_vec();
    sim.step(3600.0)?;
    assert_eq!(sim.positions(), before);
    println!("after {} s: {:?}, moved by nothing", sim.time(), sim.positions());

    // a push beyond what the elbow can hold
    sim.set_effort("elbow", 4.0)?;
    sim.step(0.5)?;
    println!("pushed: elbow at {:.4} rad, {:?}", sim.position("elbow")?, sim.mode("elbow")?);
    assert!(sim.position("elbow")? > before[1]);
    Ok(())
}

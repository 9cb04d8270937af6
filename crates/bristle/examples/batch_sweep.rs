//! Two hundred double pendulums at once, each with a friction of its own: who comes to rest first?

use bristle::friction::Coulomb;
use bristle::prelude::*;

pub fn main() -> Result<(), Error> {
    let mut world = World::new();
    let upper = world.spawn_link("upper", LinkInertia::rod(1.0, [0.0, 0.0, -0.5].into()));
    let lower = world.spawn_link("lower", LinkInertia::rod(1.0, [0.0, 0.0, -0.5].into()));
    let dry = |level| Coulomb { coulomb: level, stiction: level, viscous: 0.0 };
    let axis = [0.0, 1.0, 0.0];
    world.spawn_joint(revolute("shoulder", axis).to(upper).position(1.0).friction(dry(0.1).into()));
    let elbow = revolute("elbow", axis).from(upper).to(lower).at([0.0, 0.0, -0.5]);
    world.spawn_joint(elbow.position(0.5).friction(dry(0.1).into()));

    let n = 200;
    let level = |i: usize| 0.05 + 0.5 * i as f64 / n as f64;
    let mut batch = Batch::new(&mut Simulation::from_world(world)?, n)?;
    for i in 0..n {
        batch.set_friction(i, "shoulder", dry(level(i)))?;
        batch.set_friction(i, "elbow", dry(level(i)))?;
    }
    let mut rest = vec![f64::NAN; n];
    for _ in 0..400 {
        batch.step(0.05)?;
        let (shoulder, elbow) = batch.velocities().split_at(n);
        for i in 0..n {
            if rest[i].is_nan() && shoulder[i] == 0.0 && elbow[i] == 0.0 {
                rest[i] = batch.time(i)?;
            }
        }
    }
    for i in (0..n).step_by(20) {
        println!("friction {:.3} N m: at rest after {:.2} s", level(i), rest[i]);
    }
    println!("{} of {n} have come to rest", rest.iter().filter(|t| t.is_finite()).count());
    assert!(rest[n - 1] < rest[n / 2]);
    Ok(())
}

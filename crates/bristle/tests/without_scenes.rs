//! A machine built in code: the part of the library that remains without the feature `scene`.

use bristle::friction::Coulomb;
use bristle::prelude::*;

const LEVEL: f64 = 0.8;
const MASS: f64 = 2.0;

fn dry(level: f64) -> Coulomb {
    Coulomb { coulomb: level, stiction: level, viscous: 0.0 }
}

/// A rod of length 1 m on a dry hinge, at angle `position` from hanging.
fn rod(position: f64) -> Simulation {
    let mut world = World::new();
    let rod = world.spawn_link("rod", LinkInertia::rod(MASS, [0.0, 0.0, -1.0].into()));
    let hinge = revolute("hinge", [0.0, 1.0, 0.0]).to(rod).position(position);
    world.spawn_joint(hinge.friction(dry(LEVEL).into()));
    Simulation::from_world(world).unwrap()
}

/// The gravity torque at angle q is m g ½ sin q: friction holds it below the level, and not above.
#[test]
fn dry_hinge_holds_below_its_level() {
    let held = (LEVEL / (MASS * 9.81 * 0.5)).asin();
    let (mut stays, mut falls) = (rod(0.99 * held), rod(1.01 * held));
    stays.step(1.0).unwrap();
    falls.step(1.0).unwrap();
    assert_eq!(stays.position("hinge").unwrap(), 0.99 * held);
    assert!(falls.position("hinge").unwrap() < 1.01 * held);
}

#[test]
fn snapshot_continues_bit_for_bit() {
    let mut sim = rod(1.0);
    sim.step(0.3).unwrap();
    let snapshot = sim.snapshot().unwrap();
    sim.step(0.5).unwrap();
    let end = sim.position("hinge").unwrap();
    sim.restore(&snapshot).unwrap();
    sim.step(0.5).unwrap();
    assert_eq!(sim.position("hinge").unwrap(), end);
}

/// Friction that has changed since is restored from the text in a snapshot, or refused where there is no such text.
#[test]
fn snapshot_never_mixes_frictions() {
    let mut batch = Batch::new(&mut rod(1.0), 1).unwrap();
    let before = batch.snapshot(0).unwrap();
    batch.set_friction(0, "hinge", dry(0.1)).unwrap();
    let restored = batch.restore(0, &before);
    let level = if cfg!(feature = "scene") { LEVEL } else { 0.1 };
    assert_eq!(restored.is_ok(), cfg!(feature = "scene"), "{restored:?}");
    assert_eq!(batch.contact(0, "hinge").unwrap().0, &dry(level).into());
    // undone together with a later refusal
    let refused = batch.change_each(&[0, 0], |batch, k| match k {
        0 => batch.set_friction(0, "hinge", dry(0.4)),
        _ => batch.set_friction(0, "no such joint", dry(0.4)),
    });
    assert!(refused.is_err());
    assert_eq!(batch.contact(0, "hinge").unwrap().0, &dry(level).into());
}

//! A controller that knows the friction of its joint: the same motion with and without its knowledge.

use bristle::friction::LuGre;
use bristle::prelude::*;

fn arm() -> Result<Simulation, Error> {
    let mut world = World::new();
    let link = world.spawn_link("link", LinkInertia::rod(1.5, [0.0, 0.0, -0.6].into()));
    let friction = LuGre {
        sigma0: 2e3,
        sigma1: 10.0,
        sigma2: 0.2,
        coulomb: 0.8,
        stiction: 1.1,
        stribeck_velocity: Some(0.05),
        exponent: 2.0,
        damping_velocity: None,
    };
    world.spawn_joint(revolute("joint", [0.0, 1.0, 0.0]).to(link).friction(friction.into()));
    Simulation::from_world(world)
}

/// Follows 0.3 sin 2t at 1 kHz; the largest error after the first second, rad.
fn track(knows_friction: bool) -> Result<f64, Error> {
    let mut sim = arm()?;
    let (kp, kd, mut worst) = (60.0, 8.0, 0.0_f64);
    let mut tau = [0.0];
    for _ in 0..5000 {
        let t = sim.time();
        let (q_d, v_d, a_d) = (0.3 * (2.0 * t).sin(), 0.6 * (2.0 * t).cos(), -1.2 * (2.0 * t).sin());
        let (q, v) = (sim.position("joint")?, sim.velocity("joint")?);
        // computed torque: what the wanted acceleration takes, friction included as it is at this moment
        let a = a_d + kd * (v_d - v) + kp * (q_d - q);
        sim.inverse_dynamics(&[q], &[v], &[a], &mut tau)?;
        let friction = if knows_friction { 0.0 } else { sim.friction_effort("joint")? };
        sim.set_effort("joint", tau[0] - friction)?;
        sim.step(1e-3)?;
        if sim.time() > 1.0 {
            worst = worst.max((0.3 * (2.0 * sim.time()).sin() - sim.position("joint")?).abs());
        }
    }
    Ok(worst)
}

pub fn main() -> Result<(), Error> {
    let (without, with) = (track(false)?, track(true)?);
    println!("largest tracking error: {without:.2e} rad without, {with:.2e} rad with friction compensation");
    assert!(with < 0.2 * without);
    Ok(())
}

//! An inverted pendulum with friction, held upright by state feedback from the linearised equations.

use bristle::friction::Tanh;
use bristle::nalgebra::{DMatrix, RowDVector};
use bristle::prelude::*;

/// K of u = −K y for the least ∫ yᵀy + u² dt: the Riccati equation, integrated backwards until it stands still.
fn lqr(a: &DMatrix<f64>, b: &DMatrix<f64>) -> RowDVector<f64> {
    let n = a.nrows();
    let mut s = DMatrix::identity(n, n);
    for _ in 0..200_000 {
        let gain = b.transpose() * &s;
        let rate = a.transpose() * &s + &s * a - gain.transpose() * gain + DMatrix::identity(n, n);
        s += 1e-4 * &rate;
        if rate.amax() < 1e-10 {
            break;
        }
    }
    (b.transpose() * s).row(0).into_owned()
}

pub fn main() -> Result<(), Error> {
    let mut world = World::new();
    let cart = world.spawn_link("cart", LinkInertia::diagonal(1.0, [0.0; 3].into(), 0.1, 0.1, 0.1));
    let pole = world.spawn_link("pole", LinkInertia::rod(0.3, [0.0, 0.0, 0.8].into()));
    let friction = Tanh { coulomb: 0.3, stribeck_velocity: 0.2, viscous: 0.1 };
    world.spawn_joint(prismatic("rail", [1.0, 0.0, 0.0]).to(cart).friction(friction.into()));
    world.spawn_joint(revolute("hinge", [0.0, 1.0, 0.0]).from(cart).to(pole));

    let mut sim = Simulation::from_world(world)?;
    let linear = sim.linearize()?;
    println!("unknowns {:?}, friction parameters {:?}", linear.unknowns, linear.parameters);
    let rail = linear.b.columns(0, 1).into_owned();
    let gain = lqr(&linear.a, &rail);
    println!("gains {gain:.3}");

    sim.set_joint("hinge", 0.2, 0.0)?;
    for _ in 0..8000 {
        let y = sim.positions().iter().chain(sim.velocities());
        let effort: f64 = gain.iter().zip(y).map(|(k, y)| -k * y).sum();
        sim.set_effort("rail", effort)?;
        sim.step(1e-3)?;
    }
    println!(
        "after {:.0} s: rail {:.1e} m, pole {:.1e} rad",
        sim.time(),
        sim.position("rail")?,
        sim.position("hinge")?
    );
    assert!(sim.position("hinge")?.abs() < 0.01);
    Ok(())
}

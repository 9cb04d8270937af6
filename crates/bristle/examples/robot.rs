//! A stock robot with friction from a file and a controller at 1 kHz: its torques with and without friction.

use bristle::prelude::*;
use std::io::Write;

/// One period of a controller that has every joint follow 0.5 sin 3t.
fn follow(sim: &mut Simulation, torque: &mut [f64]) -> Result<(), Error> {
    let t = sim.time();
    let (q, v, a) = (0.5 * (3.0 * t).sin(), 1.5 * (3.0 * t).cos(), -4.5 * (3.0 * t).sin());
    let moves = sim.positions().iter().zip(sim.velocities());
    let wanted: Vec<f64> = moves.map(|(x, x_rate)| a + 100.0 * (q - x) + 20.0 * (v - x_rate)).collect();
    sim.efforts_for(&wanted, torque)?; // with friction; at rest against what is wanted
    sim.set_efforts(torque)?;
    sim.step(1e-3)
}

/// Writes the torques of both joints, with friction and without, into a table.
pub fn compare(
    robot: &str,
    friction: &str,
    table: impl AsRef<std::path::Path>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut with = Simulation::from_urdf_with_friction(robot, friction)?;
    let mut without = Simulation::from_urdf(robot)?;
    let mut file = std::io::BufWriter::new(std::fs::File::create(table)?);
    writeln!(
        file,
        "t,shoulder with friction.effort,shoulder without.effort,elbow with friction.effort,elbow without.effort"
    )?;
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    for _ in 0..4000 {
        let t = with.time();
        follow(&mut with, &mut a)?;
        follow(&mut without, &mut b)?;
        writeln!(file, "{t},{},{},{},{}", a[0], b[0], a[1], b[1])?;
    }
    println!("at the end {a:.3?} N m, of which friction {:.3?}; without {b:.3?} N m", with.friction_efforts());
    Ok(())
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let table = std::env::temp_dir().join("torques.csv");
    compare(&format!("{here}/robot.urdf"), &format!("{here}/friction.ron"), &table)
}

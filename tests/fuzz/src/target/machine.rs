//! Machines of the cases, and a short run of one.

use bristle::prelude::*;
use std::path::Path;
use std::sync::OnceLock;

/// Internal steps that a case may take: it is about errors, not about motions.
const MAX_STEPS: usize = 100;

/// Starts and steps a scene; results are finite or an error.
pub fn start(scene: &Scene) {
    // large machines have tests of their own
    if scene.joints.len() > 60 {
        return;
    }
    if let Ok(mut sim) = Simulation::new(scene) {
        look(&mut sim);
    }
}

/// One step and some queries.
pub fn look(sim: &mut Simulation) {
    sim.set_max_steps(MAX_STEPS);
    let _ = sim.step(1e-4);
    check_finite(sim);
    if let Ok(energy) = sim.energy() {
        assert!(
            format!("{energy:?}").split(|c: char| !c.is_alphanumeric()).all(|w| w != "NaN" && w != "inf"),
            "{energy:?}"
        );
    }
}

/// Positions, velocities and time are always finite.
pub fn check_finite(sim: &Simulation) {
    let states = sim.positions().iter().chain(sim.velocities());
    assert!(states.chain([&sim.time()]).all(|x| x.is_finite()), "a state that is not finite at t = {}", sim.time());
}

/// Scenes with every kind of joint, law, load and coupling, and several solvers.
const MACHINES: [(&str, &[(&str, &str)]); 10] = [
    ("arm_3dof", &[]),
    ("coupled_clutches", &[]),
    ("coupled_clutches", &[("solver", "Solver(method: RealTime, control: Constant(step: 0.001))")]),
    ("double_pendulum_pin", &[]),
    ("double_pendulum_lugre", &[("solver", "Solver(method: Radau5, control: Error(rtol: 1e-5, atol: 1e-7))")]),
    ("one_way_clutch", &[]),
    ("tumbling_body", &[]),
    ("gearbox_three_speed", &[("solver", "Solver(method: RealTime, control: Constant(step: 0.001))")]),
    ("pid_hunting", &[]),
    ("guide_block", &[]),
];

/// One of them at its start.
pub fn machine(k: usize) -> Simulation {
    static SCENES: OnceLock<Vec<Scene>> = OnceLock::new();
    let scenes = SCENES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
        let load = |&(name, overrides): &(&str, &[(&str, &str)])| {
            Scene::load_with(folder.join(format!("{name}.ron")), overrides).unwrap_or_else(|error| panic!("{error}"))
        };
        MACHINES.iter().map(load).collect()
    });
    match Simulation::new(&scenes[k % scenes.len()]) {
        Ok(sim) => sim,
        Err(error) => panic!("{}: {error}", MACHINES[k % scenes.len()].0),
    }
}

pub const N_MACHINES: usize = MACHINES.len();

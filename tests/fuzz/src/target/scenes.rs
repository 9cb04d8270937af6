//! Scenes: read or refused with a place; a scene is the same after saving, and starts or is refused.

use super::{Target, check_refusal, machine, nothing};
use bristle::Scene;

pub static TARGET: Target = Target {
    name: "scenes",
    run,
    folders: &[
        "../../scenes",
        "../../crates/bristle/tests/scenes_good",
        "../../crates/bristle/tests/scenes_bad",
        "../data",
    ],
    made: nothing,
    tokens: &TOKENS,
};

pub const TOKENS: [&str; 72] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "#",
    "=",
    "r#\"",
    "\\u{",
    "0x",
    "None",
    "Some(",
    "\r\n",
    "\u{feff}",
    "é",
    "🦀",
    "\u{202e}",
    "\0",
    "world",
    "Link(",
    "Joint(",
    "Free",
    "Fixed",
    "Revolute(axis: (0, 1, 0))",
    "Prismatic(axis: (0, 0, 1))",
    "friction: Coulomb(coulomb: 0.3)",
    "friction: LuGre(sigma0: 1e4, coulomb: 1)",
    "friction: Dahl(coulomb: 1, sigma0: 1e3)",
    "friction: Table(points: [(0, 1), (1, 2)])",
    "load: Pin(radius: 0.1)",
    "load: Thrust(radius: 0.1)",
    "load: Guide(length: 0.1)",
    "load: Constant(3)",
    "Sum([",
    "Product([",
    "Piecewise([(0,",
    "Sine(amplitude: 1, frequency: 1e5)",
    "Ramp(rate: 1)",
    "Steps([(0, 1), (0.1, -1)])",
    "Motion(",
    "Pid(kp: 1, ki: 1, kd: 1, target: ",
    "Effort(",
    "Pull(stiffness: 10, target: ",
    "method: RealTime, control: Constant(step: 0.001)",
    "method: Radau5",
    "method: GeneralizedAlpha(spectral_radius: 0.8)",
    "method: Rk4, control: Constant(step: 1e-3)",
    "formulation: Jerk",
    "formulation: Residual",
    "control: Error(rtol: 1e-6, atol: 1e-8)",
    "Gear(",
    "Clutch(",
    "OneWayClutch(",
    "Brake(",
    "Planetary(",
    "Linear(",
    "Spring(",
    "mass: ",
    "inertia: Diagonal(1, 1, 1)",
    "gravity: (0, 0, 0)",
    "duration: ",
    "damping: ",
    "armature: ",
    "LoopJoint(",
];

fn run(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match Scene::parse(&text, "case.ron") {
        Ok(scene) => {
            check_saved(&scene);
            let _: Vec<String> = scene.warnings().iter().map(ToString::to_string).collect();
            machine::start(&scene);
            true
        }
        Err(error) => {
            check_refusal(&error, &text);
            false
        }
    }
}

/// A saved scene reads back as the same scene.
pub fn check_saved(scene: &Scene) {
    let saved = match scene.to_ron() {
        Ok(saved) => saved,
        Err(error) => panic!("a scene that was read is not saved: {error}"),
    };
    match Scene::parse(&saved, "saved.ron") {
        Ok(again) => assert!(again == *scene, "saving changed what the scene says"),
        Err(error) => panic!("saved and refused: {error}"),
    }
}

//! The largest fixed step of each stepper on one LuGre slider, pulled by a spring (Canudas de Wit et al. 1995; Aberger & Otter 2002, table 1).
//!
//! A step is stable if 20 s of the run end with speeds below twice the true largest, 0.3698 m/s, and friction below 1.6 N (it is 1.4766 N), at that
//! step and at all smaller ones of the list.

use bristle::{Error, Scene, Simulation};
use std::fmt::Write;

const STEPS: [f64; 15] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 9e-4, 1e-3, 2e-3, 4e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2];

/// What is tried, and what the paper says of it.
const METHODS: [(&str, &str); 8] = [
    ("Euler", "0.9e-3"),
    ("MixedEuler", "2e-3"),
    ("Rk4", "1e-3"),
    ("LinearlyImplicitEuler", ""),
    ("Trapezoidal", ""),
    ("Radau3", ""),
    ("GeneralizedAlpha(spectral_radius: 0.8)", ""),
    ("RealTime", ""),
];

/// Largest stable steps, s.
pub fn table(is_quick: bool, progress: &mut impl FnMut(&str)) -> Result<String, String> {
    let steps = if is_quick { &STEPS[7..9] } else { &STEPS };
    let mut text = String::from(
        "Largest stable fixed step on the LuGre slider, s\n\n| | largest | aberger2002 |\n|---|---|---|\n",
    );
    for (method, published) in METHODS {
        progress(&format!("slider, {method}"));
        let stable = steps.iter().take_while(|&&h| is_stable(method, h)).last();
        let stable = stable.map_or("none".to_owned(), |h| format!("{h:e}"));
        let _ = writeln!(text, "| `{method}` | {stable} | {published} |");
    }
    let _ = writeln!(text, "\nSteps tried: {:?}", steps);
    Ok(text)
}

/// Whether a run of 20 s stays near what is true.
pub fn is_stable(method: &str, h: f64) -> bool {
    let interval = h.max(1e-3);
    let text = format!(
        "Scene(links: [Link(name: \"block\", mass: 1.0)], gravity: (0.0, 0.0, 0.0), joints: [Joint(name: \"slide\", parent: \"world\", \
         child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: LuGre(sigma0: 1e5, sigma1: 316.22776601683796, sigma2: 0.4, \
         coulomb: 1.0, stiction: 1.5, stribeck_velocity: 1e-3), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1)))], solver: \
         Solver(method: {method}, control: Constant(step: {h:?})), output: Output(interval: {interval:?}))"
    );
    let run = || -> Result<[f64; 2], Error> {
        let recording = Simulation::new(&Scene::parse(&text, "slider")?)?.run_until(20.0)?;
        let largest = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x.abs()) })
        };
        let speed = largest(&mut recording.channel("slide.velocity")?);
        Ok([speed, largest(&mut recording.channel("slide.friction")?)])
    };
    run().is_ok_and(|[speed, friction]| speed < 2.0 * 0.3698 && friction < 1.6)
}

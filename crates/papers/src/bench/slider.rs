//! The largest fixed step of each stepper on one LuGre slider, pulled by a spring (Canudas de Wit et al. 1995; Aberger
//! & Otter 2002, table 1).
//!
//! Two questions, over 20 s of the run, at that step and at all smaller ones of the list:
//!
//! - *bounded*: speeds stay below twice the true largest, 0.3698 m/s, and friction below 1.6 N (it is 1.4766 N);
//! - *right*: in addition, the final position of the block is within 1/38 of its path, 1.2726 m, of the reference: the
//!   criterion of the report on aberger2002 for its bearing, 0.05 rad of 1.9 rad.
//!
//! A method that damps unresolved motions stays bounded at steps at which it is no longer right.

use bristle::{Error, Scene, Simulation};
use std::fmt::Write;

const STEPS: [f64; 15] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 9e-4, 1e-3, 2e-3, 4e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2];

/// Steppers, and the paper's result for them.
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

/// Position of the block after 20 s, m, by `Radau5` at 1e-11.
pub const END: f64 = 1.2726;

/// Largest steps, s.
pub fn table(is_quick: bool, progress: &mut impl FnMut(&str)) -> Result<String, String> {
    let steps = if is_quick { &STEPS[7..9] } else { &STEPS };
    let mut text = String::from(
        "Largest fixed step on the LuGre slider, s: bounded, and right at the end; in the paper, on its bearing, the \
         largest that converged\n\n| | bounded | right | aberger2002 |\n|---|---|---|---|\n",
    );
    for (method, published) in METHODS {
        progress(&format!("slider, {method}"));
        let runs: Vec<Option<f64>> = steps.iter().map(|&h| bounded(method, h)).collect();
        let up_to = |holds: &dyn Fn(&Option<f64>) -> bool| {
            let last = steps.iter().zip(&runs).take_while(|(_, run)| holds(run)).last();
            last.map_or("none".to_owned(), |(h, _)| format!("{h:e}"))
        };
        let right = |end: f64| (end - END).abs() < END / 38.0;
        let (stable, right) = (up_to(&|run| run.is_some()), up_to(&|run| run.is_some_and(right)));
        let _ = writeln!(text, "| `{method}` | {stable} | {right} | {published} |");
    }
    let _ = writeln!(text, "\nSteps tried: {:?}", steps);
    Ok(text)
}

/// Final position of a run of 20 s, m, if it stays bounded.
pub fn bounded(method: &str, h: f64) -> Option<f64> {
    let interval = h.max(1e-3);
    let text = format!(
        "Scene(links: [Link(name: \"block\", mass: 1.0)], gravity: (0.0, 0.0, 0.0), joints: [Joint(name: \"slide\", \
         parent: \"world\", child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: LuGre(sigma0: 1e5, \
         sigma1: 316.22776601683796, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 1e-3), drive: \
         Pull(stiffness: 2.0, target: Ramp(rate: 0.1)))], solver: Solver(method: {method}, control: Constant(step: \
         {h:?})), output: Output(interval: {interval:?}))"
    );
    let run = || -> Result<[f64; 3], Error> {
        let recording = Simulation::new(&Scene::parse(&text, "slider")?)?.run_until(20.0)?;
        let largest = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x.abs()) })
        };
        let speed = largest(&mut recording.channel("slide.velocity")?);
        Ok([speed, largest(&mut recording.channel("slide.friction")?), recording.last("slide.position")?])
    };
    let [speed, friction, end] = run().ok()?;
    (speed < 2.0 * 0.3698 && friction < 1.6).then_some(end)
}

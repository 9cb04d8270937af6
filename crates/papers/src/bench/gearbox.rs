//! A gearbox with LuGre clutches at fixed steps: the parameter sets of Aberger & Otter (2002), with which no fixed step
//! was stable there.
//!
//! The gearbox is `scenes/gearbox_three_speed_lugre.ron`, 4 s, three gears. Each set is run with the inertia of the
//! small shafts at 1, 0.1 and 0.01 kg·m². An error is the largest difference of the output speed from a tight `Radau5`
//! run, relative to the largest speed.

use bristle::{Scene, Simulation};
use std::fmt::Write;
use std::time::Instant;

/// The gearbox.
pub const SCENE: &str = include_str!("../../scenes/gearbox_three_speed_lugre.ron");

/// Friction of the clutches.
pub struct Set {
    pub sigma0: f64,
    pub sigma1: f64,
    pub coulomb: f64,
    stiction: f64,
    stribeck_velocity: f64,
    /// Largest normal force: all gearboxes transmit the same torque.
    pub load: f64,
}

const fn printed(sigma0: f64, sigma1: f64) -> Set {
    Set { sigma0, sigma1, coulomb: 0.5, stiction: 0.5, stribeck_velocity: 1e-3, load: 10.0 }
}

const fn table7(sigma0: f64, sigma1: f64) -> Set {
    Set { sigma0, sigma1, coulomb: 0.12, stiction: 0.144, stribeck_velocity: 0.5, load: 42.0 }
}

/// Tables 6 and 7 of the paper and their variants.
pub const SETS: [Set; 7] = [
    printed(1e5, 300.0),
    printed(1e4, 300.0),
    printed(1e5, 30.0),
    table7(1e5, 0.03),
    table7(1e4, 0.003),
    table7(1e4, 0.3),
    table7(1e4, 3.0),
];

/// Inertias of the small shafts, kg·m².
pub const INERTIAS: [f64; 3] = [1.0, 0.1, 0.01];
/// Fixed steps, s.
pub const STEPS: [f64; 3] = [4e-3, 1e-3, 0.25e-3];
/// Methods beside `RealTime`.
pub const OTHERS: [&str; 4] = ["Rk4", "MixedEuler", "LinearlyImplicitEuler", "Radau3"];

/// Two tables: errors at fixed steps, and times of steps.
pub fn table(is_quick: bool, progress: &mut impl FnMut(&str)) -> Result<String, String> {
    let (sets, inertias) = if is_quick { (&SETS[..1], &INERTIAS[1..2]) } else { (&SETS[..], &INERTIAS[..]) };
    let mut text = String::from(
        "Largest error of the output speed, relative to the largest; steps of 4, 1 and 0.25 ms. `–`: the run failed or \
         blew up\n\n",
    );
    let _ = write!(text, "{:>7} {:>7} {:>7}", "σ₀", "σ₁", "inertia");
    for method in std::iter::once("RealTime").chain(OTHERS) {
        let _ = write!(text, "  {method:^26}");
    }
    text.push('\n');
    for set in sets {
        for &inertia in inertias {
            progress(&format!("gearbox, σ₀ = {:e}, σ₁ = {}, inertia {inertia}", set.sigma0, set.sigma1));
            let reference =
                speeds(set, inertia, "Radau5", "Error(rtol: 1e-9, atol: 1e-11)").map_err(|e| e.to_string())?;
            let _ = write!(text, "{:>7.0e} {:>7} {:>7}", set.sigma0, set.sigma1, inertia);
            for method in std::iter::once("RealTime").chain(OTHERS) {
                for step in STEPS {
                    let control = format!("Constant(step: {step:?})");
                    let error = speeds(set, inertia, method, &control).ok().map(|found| difference(&found, &reference));
                    let shown = error.filter(|e| *e < 1.0).map_or("–".into(), |e| format!("{e:.1e}"));
                    let _ = write!(text, " {shown:>8}");
                }
                text.push(' ');
            }
            text.push('\n');
        }
    }
    text.push('\n');
    text += &times(is_quick, progress)?;
    Ok(text)
}

/// Median and worst time of a step of 1 ms.
fn times(is_quick: bool, progress: &mut impl FnMut(&str)) -> Result<String, String> {
    progress("gearbox, time of a step");
    let run = || -> bristle::Result<(f64, f64, f64)> {
        let mut sim = simulation(&SETS[0], INERTIAS[1], "RealTime", "Constant(step: 1e-3)")?;
        let mut times = Vec::with_capacity(4000);
        for _ in 0..if is_quick { 100 } else { 4000 } {
            let start = Instant::now();
            sim.step(1e-3)?;
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let sum: f64 = times.iter().sum();
        Ok((times[times.len() / 2], times[times.len() - 1], times.len() as f64 * 1e-3 / sum))
    };
    let (median, worst, factor) = run().map_err(|error| error.to_string())?;
    let (median, worst) = (1e6 * median, 1e6 * worst);
    Ok(format!(
        "RealTime at 1 ms: {median:.1} µs a step in the median, {worst:.0} µs at worst, {factor:.0} × real time\n"
    ))
}

/// Paths of the values of a set in the scene.
pub fn values(set: &Set, inertia: f64) -> Vec<(String, String)> {
    let mut given: Vec<(String, String)> = Vec::new();
    for clutch in ["c1", "c2", "b1", "b2"] {
        let place = |field: &str| format!("couplings.{clutch}.{field}");
        given.extend([
            (place("friction.sigma0"), format!("{:?}", set.sigma0)),
            (place("friction.sigma1"), format!("{:?}", set.sigma1)),
            (place("friction.coulomb"), format!("{:?}", set.coulomb)),
            (place("friction.stiction"), format!("{:?}", set.stiction)),
            (place("friction.stribeck_velocity"), format!("{:?}", set.stribeck_velocity)),
            (place("load.max"), format!("{:?}", set.load)),
        ]);
    }
    for link in ["sun shaft", "ring shaft", "sun wheel"] {
        given.push((format!("links.{link}.inertia"), format!("Diagonal({inertia:?}, {inertia:?}, {inertia:?})")));
    }
    given
}

fn simulation(set: &Set, inertia: f64, method: &str, control: &str) -> bristle::Result<Simulation> {
    let mut given = values(set, inertia);
    given.push(("solver.method".into(), method.into()));
    given.push(("solver.control".into(), control.into()));
    let given: Vec<(&str, &str)> = given.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
    Simulation::new(&Scene::parse_with(SCENE, "gearbox_three_speed_lugre.ron", &given)?)
}

/// The output speed over time.
pub fn speeds(set: &Set, inertia: f64, method: &str, control: &str) -> bristle::Result<Vec<f64>> {
    let mut sim = simulation(set, inertia, method, control)?;
    Ok(sim.run_until(4.0)?.channel("output.velocity")?.collect())
}

/// Largest difference of a speed from the reference, relative to the largest speed there.
pub fn difference(found: &[f64], reference: &[f64]) -> f64 {
    let largest = reference.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    // NaN counts as the largest error
    found.iter().zip(reference).fold(0.0_f64, |worst, (a, b)| {
        let error = (a - b).abs() / largest;
        if error.is_nan() { f64::INFINITY } else { worst.max(error) }
    })
}

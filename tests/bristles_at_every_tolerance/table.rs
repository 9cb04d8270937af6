//! The scenes, steppers and tolerances of the table, and the features of a run.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use std::path::Path;

/// A scene, and the quantities to compare.
pub struct Case {
    /// In the table.
    pub name: &'static str,
    /// Below `scenes`.
    pub file: &'static str,
    /// In the text of the scene, to be replaced.
    pub replace: (&'static str, &'static str),
    /// s.
    pub duration: f64,
    /// Between rows, s.
    pub interval: f64,
    /// Contacts with bristles, and the rate at which each breaks away: Stribeck velocity over lever arm, rad/s or m/s.
    pub contacts: &'static [(&'static str, f64)],
}

/// Relative, and absolute too.
pub const TOLERANCES: [f64; 6] = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10];

const fn alpha(spectral_radius: f64) -> Method {
    Method::GeneralizedAlpha { spectral_radius }
}

/// Steppers with an error estimate.
pub const METHODS: [Method; 6] = [Method::Dopri5, Method::Radau5, alpha(0.0), alpha(0.5), alpha(0.8), alpha(1.0)];

const AS_IS: (&str, &str) = ("Scene(", "Scene(");

/// Scenes that differ in kind.
pub const CASES: [Case; 9] = [
    Case {
        name: "slider",
        file: "stick_slip_lugre.ron",
        replace: AS_IS,
        duration: 20.0,
        interval: 1e-3,
        contacts: &[("slide", 1e-3)],
    },
    Case {
        name: "pins",
        file: "papers/dymore/double_lugre.ron",
        replace: AS_IS,
        duration: 3.0,
        interval: 2.5e-4,
        contacts: &[("shoulder", 0.125), ("elbow", 0.1)],
    },
    Case {
        name: "gearbox",
        file: "gearbox_three_speed_lugre.ron",
        replace: AS_IS,
        duration: 4.0,
        interval: 2.5e-4,
        contacts: &[("c1", 1e-3), ("c2", 1e-3), ("b1", 1e-3), ("b2", 1e-3)],
    },
    Case {
        name: "hunting",
        file: "pid_hunting.ron",
        replace: AS_IS,
        duration: 25.0,
        interval: 2e-4,
        contacts: &[("slide", 1e-3)],
    },
    Case {
        name: "elasto-plastic",
        file: "stick_slip_lugre.ron",
        replace: ("LuGre(", "ElastoPlastic(breakaway: 1.2e-5, "),
        duration: 20.0,
        interval: 1e-3,
        contacts: &[("slide", 1e-3)],
    },
    Case {
        name: "second order",
        file: "stick_slip_lugre2.ron",
        replace: AS_IS,
        duration: 15.0,
        interval: 1e-3,
        contacts: &[("slide", 1e-3)],
    },
    Case {
        name: "double pendulum",
        file: "double_pendulum_lugre.ron",
        replace: AS_IS,
        duration: 3.0,
        interval: 5e-5,
        contacts: &[("shoulder", 0.01), ("elbow", 0.01)],
    },
    Case {
        name: "pre-sliding",
        file: "presliding.ron",
        replace: AS_IS,
        duration: 120.0,
        interval: 1e-2,
        contacts: &[("slide", 1e-3)],
    },
    Case {
        name: "series-elastic",
        file: "series_elastic_joint.ron",
        replace: AS_IS,
        duration: 4.0,
        interval: 5e-4,
        contacts: &[("motor", 0.5)],
    },
];

/// A contact below its Stribeck velocity for this time has stuck, s: a reversal takes a millisecond.
const REST: f64 = 0.02;

/// Features of a run.
#[derive(Debug, Default)]
pub struct Shown {
    /// Times of break-away, s, and peaks, one more; for each contact.
    pub contacts: Vec<(Vec<f64>, Vec<f64>)>,
    /// Accepted.
    pub steps: usize,
}

/// The scene of a case with these solver settings.
pub fn scene(case: &Case, method: Method, (rtol, atol): (f64, f64), formulation: Formulation) -> Result<Scene, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(case.file);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let text = text.replacen(case.replace.0, case.replace.1, 1);
    let mut scene = Scene::parse(&text, case.file).map_err(|error| error.to_string())?;
    scene.solver.method = Some(method);
    scene.solver.control = Some(Control::Error { rtol, atol });
    scene.formulation = formulation;
    scene.output.interval = case.interval;
    Ok(scene)
}

/// Runs a case.
pub fn run(case: &Case, method: Method, tolerances: (f64, f64), formulation: Formulation) -> Result<Shown, String> {
    let scene = scene(case, method, tolerances, formulation)?;
    let shown = || -> Result<Shown, Error> {
        let mut sim = Simulation::new(&scene)?;
        let recording = sim.run_until(case.duration)?;
        let channel = |name: String| recording.channel(&name).map(Iterator::collect::<Vec<f64>>);
        let t = channel("t".to_owned())?;
        let mut shown = Shown { steps: sim.stats().n_accepted, ..Shown::default() };
        for &(name, rate) in case.contacts {
            let (v, f) = (channel(format!("{name}.velocity"))?, channel(format!("{name}.friction"))?);
            shown.contacts.push(look(&t, &v, &f, rate));
        }
        Ok(shown)
    };
    shown().map_err(|error| error.to_string())
}

/// Times of break-away and peaks.
fn look(t: &[f64], v: &[f64], friction: &[f64], rate: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut times, mut peaks) = (Vec::new(), vec![0.0_f64]);
    let mut since = t[0];
    for k in 0..t.len() {
        let speed = v[k].abs();
        if speed >= rate {
            if t[k] - since > REST {
                let before = v[k - 1].abs();
                times.push(t[k - 1] + (t[k] - t[k - 1]) * (rate - before) / (speed - before));
                peaks.push(0.0);
            }
            since = t[k];
        }
        if let Some(peak) = peaks.last_mut() {
            *peak = peak.max(friction[k].abs());
        }
    }
    (times, peaks)
}

/// Relative differences of times and peaks; infinite where one run breaks away more often than the other.
pub fn difference(a: &Shown, b: &Shown) -> (f64, f64) {
    let (mut time, mut peak) = (0.0_f64, 0.0_f64);
    for ((times_a, peaks_a), (times_b, peaks_b)) in a.contacts.iter().zip(&b.contacts) {
        if times_a.len() != times_b.len() {
            return (f64::INFINITY, f64::INFINITY);
        }
        let most = peaks_b.iter().fold(0.0_f64, |most, peak| most.max(*peak));
        time = times_a.iter().zip(times_b).fold(time, |most, (a, b)| most.max((a - b).abs() / b));
        // a contact without load has nothing to compare
        let peaks = peaks_a.iter().zip(peaks_b).map(|(a, b)| (a - b).abs() / b.max(1e-6 * most).max(f64::MIN_POSITIVE));
        peak = peaks.fold(peak, f64::max);
    }
    (time, peak)
}

/// At 1e-11.
pub fn tight(case: &Case) -> Result<Shown, String> {
    run(case, Method::Radau5, (1e-11, 1e-13), Formulation::Implicit)
}

/// 1 % and 2 %.
pub fn is_right((time, peak): (f64, f64)) -> bool {
    time <= 0.01 && peak <= 0.02
}

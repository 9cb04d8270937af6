//! A six-axis arm from its URDF, with motors that drive two axes at once: inverse dynamics and output error.
//!
//! ```text
//! θ₅ = 45 q₅        θ₆ = 32 (q₅ + q₆)        friction, encoders and torques of the wrist are those of its motors
//! ```
//!
//! The log is a run of the arm under position controllers, with noise.

use bristle::fit::{Fit, FitFile, Fitted, Log, Method, Table};
use bristle::prelude::*;
use bristle::urdf::{self, Options};

/// Joints with a motor, and their encoders.
const DRIVEN: [&str; 6] = ["axis_1", "axis_2", "axis_3", "axis_4", "motor_5", "motor_6"];

/// What the arm of the log has in place of the numbers of the file.
const TRUTH: [(&str, f64); 9] = [
    ("joints.axis_1.friction.coulomb", 11.0),
    ("joints.axis_2.damping", 7.5),
    ("joints.axis_3.friction.coulomb", 5.6),
    ("joints.axis_4.friction.coulomb", 2.1),
    ("joints.motor_5.friction.coulomb", 0.031),
    ("joints.motor_5.damping", 0.0009),
    ("joints.motor_6.friction.coulomb", 0.022),
    ("joints.motor_6.damping", 0.0007),
    ("links.flange.mass", 1.3),
];

const COUPLINGS: &str = "[Gear(name: \"wrist_5\", joints: (\"motor_5\", \"axis_5\"), ratio: 45.0), Linear(name: \
                         \"wrist_6\", terms: [(\"motor_6\", 1.0), (\"axis_5\", -32.0), (\"axis_6\", -32.0)])]";

/// The arm of the file with its coupled wrist and its controllers.
fn arm() -> Scene {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wrist.urdf");
    let robot = urdf::load(path, &Options::default()).unwrap().scene;
    let mut set = vec![
        ("couplings".to_owned(), COUPLINGS.to_owned()),
        ("solver.control".into(), "Error(rtol: 1e-6, atol: 1e-8)".into()),
    ];
    for (k, joint) in DRIVEN.iter().enumerate() {
        let k = k as f64;
        let (kp, kd, size) = [(3e3, 150.0, 1.0), (0.5, 0.004, 40.0)][usize::from(joint.starts_with("motor"))];
        let target = format!(
            "Sum([Sine(amplitude: {:?}, frequency: {:?}), Sine(amplitude: {:?}, frequency: {:?})])",
            0.4 * size,
            4.2 + 0.8 * k,
            0.15 * size,
            11.0 - 0.9 * k
        );
        set.push((format!("joints.{joint}.drive"), format!("Pid(kp: {kp:?}, kd: {kd:?}, target: {target})")));
    }
    let set: Vec<(&str, &str)> = set.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
    robot.with_overrides(&set).unwrap_or_else(|error| panic!("{error}"))
}

/// Uniform noise of deviation 1: SplitMix64.
fn noise(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 12.0_f64.sqrt()
}

/// Encoders and torques of the motors over `seconds`, every `step` s.
fn log(arm: &Scene, seconds: f64, step: f64) -> Log {
    let set: Vec<(&str, String)> = TRUTH.iter().map(|(path, x)| (*path, format!("{x:?}"))).collect();
    let mut set: Vec<(&str, &str)> = set.iter().map(|(path, x)| (*path, x.as_str())).collect();
    let interval = format!("{step:?}");
    set.push(("output.interval", &interval));
    let truth = arm.with_overrides(&set).unwrap();
    let run = Simulation::new(&truth).unwrap().run_until(seconds).unwrap();
    let mut state = 7;
    let mut names = vec!["t".to_owned()];
    let mut columns: Vec<Vec<f64>> = vec![run.channel("t").unwrap().collect()];
    for joint in DRIVEN {
        let is_motor = joint.starts_with("motor");
        for (what, deviation) in [("position", 1e-5), ("drive", 0.02)] {
            let deviation = deviation * if is_motor { [40.0, 0.02][usize::from(what == "drive")] } else { 1.0 };
            let channel = format!("{joint}.{what}");
            columns.push(run.channel(&channel).unwrap().map(|x| x + deviation * noise(&mut state)).collect());
            names.push(channel);
        }
    }
    let mut log = Log::new(Table { file: "wrist.csv".into(), names: names.clone(), columns });
    for channel in &names[1..] {
        log = log.compare(channel, channel);
    }
    log
}

/// Starts up to a factor 3 from the truth.
fn fit(arm: &Scene, log: &Log) -> Fit {
    let mut fit = Fit::new(arm).log(log);
    for (k, (path, truth)) in TRUTH.iter().enumerate() {
        let start = truth * [3.0, 0.4, 0.6][k % 3];
        fit = fit.free(path, start, 0.05 * truth..=20.0 * truth);
    }
    fit
}

fn errors(fitted: &Fitted) -> Vec<(String, f64, f64)> {
    let each = fitted.parameters().iter().zip(TRUTH);
    each.map(|(p, (path, truth))| (path.to_owned(), p.value / truth - 1.0, p.deviation / truth)).collect()
}

#[test]
fn inverse_dynamics_of_a_coupled_wrist() {
    let arm = arm();
    let log = log(&arm, 6.0, 1e-3);
    let fitted = fit(&arm, &log).method(Method::InverseDynamics { band: 20.0 }).solve().unwrap();
    assert_eq!(fitted.outcomes()[0].iterations, 1);
    for (path, off, deviation) in errors(&fitted) {
        // reversals of friction are smoothed a little differently in model and log
        assert!(off.abs() < 4.0 * deviation + 0.03, "{path}: {off} ± {deviation}");
    }
}

#[test]
fn output_error_of_a_coupled_wrist() {
    // the wrist is free, the arm is known
    let (known, wrist) = TRUTH.split_at(4);
    let known: Vec<(&str, String)> = known.iter().map(|(path, x)| (*path, format!("{x:?}"))).collect();
    let known: Vec<(&str, &str)> = known.iter().map(|(path, x)| (*path, x.as_str())).collect();
    let arm = arm().with_overrides(&known).unwrap();
    let log = log(&arm, 0.8, 5e-3);
    let fit = wrist
        .iter()
        .fold(Fit::new(&arm).log(&log), |fit, (path, truth)| fit.free(path, 1.5 * truth, 0.05 * truth..=20.0 * truth));
    let fitted = fit.solve().unwrap();
    for (p, (path, truth)) in fitted.parameters().iter().zip(wrist) {
        assert!(p.deviation < 0.05 * truth, "{path}: ± {}", p.deviation);
        assert!((p.value - truth).abs() < 4.0 * p.deviation, "{path}: {} ± {}, not {truth}", p.value, p.deviation);
    }
    assert!(fitted.outcomes()[0].is_converged);
}

/// The joints that encoders do not see start where the couplings put them.
#[test]
fn windows_start_where_encoders_of_motors_say() {
    let arm = arm();
    // the logged efforts in place of the controllers
    let drives = DRIVEN.map(|joint| format!("joints.{joint}.drive"));
    let drives = drives.each_ref().map(|path| (path.as_str(), "Effort(Constant(0.0))"));
    let driven = arm.with_overrides(&drives).unwrap();
    let mut log = log(&arm, 1.0, 2e-3);
    log.compare.retain(|compare| compare.channel.ends_with("position"));
    for joint in DRIVEN {
        log = log.input(&format!("joints.{joint}.drive.0"), &format!("{joint}.drive"));
    }
    let at = |fit: Fit| fit.windows(0.1).solve().unwrap();
    let fit = TRUTH.iter().fold(Fit::new(&driven).log(&log), |fit, (path, truth)| {
        fit.free(path, 1.5 * truth, 0.05 * truth..=20.0 * truth)
    });
    let fitted = at(fit);
    for (path, off, _) in errors(&fitted).into_iter().filter(|(path, ..)| path.ends_with("coulomb")) {
        assert!(off.abs() < 0.2, "{path}: {off}");
    }
}

/// The same from files, as the command reads them.
#[test]
fn a_fit_file_takes_a_robot_with_its_couplings() {
    let folder = std::env::temp_dir().join(format!("bristle-wrist-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wrist.urdf");
    std::fs::copy(path, folder.join("wrist.urdf")).unwrap();
    let log = log(&arm(), 4.0, 1e-3);
    let mut text = log.table.names.join(",") + "\n";
    for i in 0..log.table.columns[0].len() {
        let row: Vec<String> = log.table.columns.iter().map(|column| format!("{:?}", column[i])).collect();
        text += &(row.join(",") + "\n");
    }
    std::fs::write(folder.join("wrist.csv"), text).unwrap();
    let compare: String = log.compare.iter().map(|c| format!("(channel: {0:?}, column: {0:?}),", c.channel)).collect();
    // the dampings of axis 5 and of its motor would be one number
    let damping: String = DRIVEN
        .iter()
        .map(|joint| {
            let start = if joint.starts_with("motor") { 1e-3 } else { 1.0 };
            format!("\"joints.{joint}.damping\": Free({start:?}, (1e-6, 50.0)),")
        })
        .collect();
    let file = format!(
        "Fit(scene: \"wrist.urdf\", set: {{ \"couplings\": {COUPLINGS:?} }},
            logs: [(file: \"wrist.csv\", compare: [{compare}])],
            free: {{
                \"joints.axis_*.friction.coulomb\": Free(1.0, (1e-2, 50.0)),
                \"joints.motor_*.friction.coulomb\": Free(0.01, (1e-4, 5.0)), {damping}
                \"links.flange.mass\": Free(1.0, (0.1, 10.0)),
            }},
            method: InverseDynamics(band: 15.0))"
    );
    let name = folder.join("wrist.fit.ron");
    std::fs::write(&name, file).unwrap();
    let read = FitFile::load(&name, &[]).unwrap_or_else(|error| panic!("{error}"));
    let said = read.fit.check().unwrap_or_else(|error| panic!("{error}"));
    assert!(said.iter().any(|line| line.contains("this log tells joints.axis_1.friction.coulomb")), "{said:?}");
    let fitted = read.fit.solve().unwrap_or_else(|error| panic!("{error}"));
    for (path, truth) in TRUTH {
        let p = fitted.parameters().iter().find(|p| p.path == path).unwrap();
        assert!((p.value / truth - 1.0).abs() < 0.1, "{path}: {} ± {}, {truth}", p.value, p.deviation);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

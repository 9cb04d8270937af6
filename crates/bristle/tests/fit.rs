//! Fits of logs whose truth is known, and logs that cannot be fitted.

use bristle::fit::{Fit, FitFile, Fitted, Log, Method, Table};
use bristle::friction::Law;
use bristle::prelude::*;
use bristle::signal::Signal;
use std::time::Instant;

/// `axis.csv` was integrated by another program with steps of 1 µs: see the fit file for its parameters.
#[test]
fn the_parameters_of_an_axis_are_found_from_all_starts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/fit/axis.fit.ron");
    let fitted = FitFile::load(path, &[]).unwrap().fit.solve().unwrap();
    // mass, damping, coulomb, stiction − coulomb
    for (found, truth) in fitted.parameters().iter().zip([3.2, 4.5, 5.5, 2.0]) {
        let off = (found.value - truth).abs();
        assert!(off < 3.0 * found.deviation, "{}: {} ± {}, not {truth}", found.path, found.value, found.deviation);
        assert!(found.deviation < 0.01 * truth, "{}: ± {}", found.path, found.deviation);
    }
    assert_eq!(fitted.n_same(), 4);
}

#[test]
fn a_cell_that_is_no_number_has_its_place() {
    let error = Table::parse("t,x\n0,1\n1,nan\n", "run.csv").unwrap_err().to_string();
    assert!(error.contains("run.csv:3:3"), "{error}");
}

/// The arm of the scenes without drives, and with prescribed motions.
fn arm() -> (Scene, Scene) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/robot_arm_6dof.ron");
    let mut arm = Scene::load(path).unwrap();
    for joint in &mut arm.joints {
        joint.drive = None;
        if let Some(Law::Coulomb(law)) = &mut joint.friction {
            // above every level that is tried; joints with a prescribed motion do not stick
            law.stiction = 1e3;
        }
    }
    let mut moved = arm.clone();
    for (k, joint) in moved.joints.iter_mut().enumerate() {
        let k = k as f64;
        let sine = |amplitude, frequency| Signal::Sine { amplitude, frequency, phase: 0.7 * k, offset: 0.0 };
        let sum = vec![sine(0.4, 1.3 + 0.37 * k), sine(0.25, 4.1 - 0.41 * k), sine(0.1, 7.3 - 0.2 * k)];
        joint.drive = Some(Drive::Motion(Signal::Sum(sum)));
        joint.position = Default::default();
    }
    (arm, moved)
}

/// Inverse dynamics of `seconds` at 1 kHz, every joint's level, damping and armature free, and a mass.
fn identify(seconds: f64) -> (Scene, Fitted) {
    let (arm, moved) = arm();
    let mut moved = Scene { duration: seconds, ..moved };
    moved.output.interval = 1e-3;
    let run = Simulation::new(&moved).unwrap().run_until(seconds).unwrap();
    let names: Vec<String> = arm.joints.iter().map(|joint| joint.name.clone()).collect();
    let channels = names.iter().flat_map(|name| [format!("{name}.position"), format!("{name}.drive")]);
    let channels: Vec<String> = std::iter::once("t".to_owned()).chain(channels).collect();
    let columns = channels.iter().map(|channel| run.channel(channel).unwrap().collect()).collect();
    let mut log = Log::new(Table { file: "arm.csv".into(), names: channels.clone(), columns });
    for channel in &channels[1..] {
        log = log.compare(channel, channel);
    }
    let mut fit = Fit::new(&arm).log(log).method(Method::InverseDynamics { band: 20.0 });
    for name in &names {
        fit = fit.free(&format!("joints.{name}.friction.coulomb"), 1.0, 0.01..=500.0);
        fit = fit.free(&format!("joints.{name}.damping"), 1.0, 0.01..=200.0);
        fit = fit.free(&format!("joints.{name}.armature"), 0.1, 1e-3..=20.0);
    }
    let begin = Instant::now();
    let fitted = fit.free("links.flange.mass", 1.0, 0.1..=10.0).solve().unwrap_or_else(|error| panic!("{error}"));
    println!("{} rows, {:.2} s", run.len(), begin.elapsed().as_secs_f64());
    (arm, fitted)
}

#[test]
fn six_axes_are_identified_in_one_step_from_far_away() {
    let (arm, fitted) = identify(3.0);
    for p in fitted.parameters() {
        let truth = arm.number(&p.path).unwrap();
        // reversals of friction are smoothed a little differently in model and log
        let off = (p.value - truth).abs();
        assert!(off < 4.0 * p.deviation + 0.02 * truth, "{}: {} ± {}, {truth}", p.path, p.value, p.deviation);
    }
    assert_eq!(fitted.outcomes()[0].iterations, 1);
}

#[test]
#[ignore = "a measurement of time: 45,000 rows"]
fn six_axes_over_forty_five_seconds() {
    identify(45.0);
}

/// An axis that is driven by its logged force, which is `offset` N more than the one that acts.
fn driven_axis(offset: f64) -> Fit {
    driven_axis_with(offset, 0.0, true)
}

/// The same with a deterministic error of `noise` m in the measured positions, with or without measured velocities.
fn driven_axis_with(offset: f64, noise: f64, has_velocity: bool) -> Fit {
    let text = "Scene(gravity: (0, 0, 0), links: [Link(name: \"c\", mass: 5.0)], joints: [Joint(name: \"x\", parent: \
                \"world\", child: \"c\", kind: Prismatic(axis: (1, 0, 0)), friction: Coulomb(coulomb: 6.0, viscous: \
                12.0), drive: Effort(Sum([Sine(amplitude: 30.0, frequency: 3.0), Sine(amplitude: 12.0, frequency: \
                7.1)])))], output: (interval: 0.005), duration: 4.0)";
    let scene = Scene::parse(text, "axis.ron").unwrap();
    let run = Simulation::new(&scene).unwrap().run_until(4.0).unwrap();
    let column = |channel: &str| run.channel(channel).unwrap().collect::<Vec<f64>>();
    let force = column("x.drive").into_iter().map(|force| force + offset).collect();
    // a low-discrepancy sequence in place of chance
    let error = |k: usize| noise * (12.0_f64.sqrt() * ((0.618_033_988_749_894_9 * k as f64).fract() - 0.5));
    let position = column("x.position").into_iter().enumerate().map(|(k, x)| x + error(k)).collect();
    let columns = vec![column("t"), position, column("x.velocity"), force];
    let names = ["t", "x", "v", "f"].map(String::from).to_vec();
    let log = Log::new(Table { file: "run.csv".into(), names, columns });
    let log = log.input("joints.x.drive.0", "f").compare("x.position", "x");
    let log = if has_velocity { log.compare("x.velocity", "v") } else { log };
    Fit::new(&scene)
        .log(log)
        .free("links.c.mass", 4.0, 0.5..=50.0)
        .free("joints.x.friction.coulomb", 4.0, 0.1..=60.0)
        .free("joints.x.friction.viscous", 8.0, 0.1..=100.0)
}

#[test]
fn windows_are_less_misled_by_a_run_that_drifts() {
    let truth = [5.0, 6.0, 12.0];
    let off = |fitted: &Fitted| -> Vec<f64> {
        fitted.parameters().iter().zip(truth).map(|(p, truth)| (p.value - truth).abs()).collect()
    };
    // a linear column of a force that is a sum of sines, between rows of 5 ms
    let exact = off(&driven_axis(0.0).windows(0.4).solve().unwrap());
    assert!(exact.iter().zip(truth).all(|(off, truth)| *off < 2e-3 * truth), "{exact:?}");
    let (whole, windows) = (driven_axis(2.0).solve().unwrap(), driven_axis(2.0).windows(0.4).solve().unwrap());
    assert!(windows.errors()[0].rms < 0.5 * whole.errors()[0].rms);
    let (whole, windows) = (off(&whole), off(&windows));
    assert!(windows.iter().zip(&whole).all(|(windows, whole)| 3.0 * windows < *whole), "{windows:?} {whole:?}");
    let error = driven_axis(0.0).windows(0.0).solve().unwrap_err().to_string();
    assert!(error.contains("windows of 0 s"), "{error}");
}

/// Windows begin where nobody measures a velocity: slopes of positions are late at every reversal.
#[test]
fn windows_find_their_own_velocities() {
    for noise in [0.0, 2e-5] {
        let fitted = driven_axis_with(0.0, noise, false).windows(0.25).solve().unwrap();
        for (p, truth) in fitted.parameters().iter().zip([5.0, 6.0, 12.0]) {
            let off = (p.value - truth).abs();
            println!("{noise:e} {}: {} ± {}", p.path, p.value, p.deviation);
            assert!(off < 4e-3 * truth, "noise {noise}, {}: {} ± {}, not {truth}", p.path, p.value, p.deviation);
        }
    }
}

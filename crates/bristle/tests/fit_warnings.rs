//! What a fit says of parameters that a log does not tell, and of logs that are not what they seem.

use bristle::fit::{Fit, Log, Table};
use bristle::prelude::*;

/// A joint `x` on a link, with fields.
fn scene(kind: &str, fields: &str) -> Scene {
    let text = format!(
        "Scene(links: [Link(name: \"b\", mass: 2.0, center_of_mass: (0, 0, -0.2))], joints: [Joint(name: \"x\", \
         parent: \"world\", child: \"b\", kind: {kind}, {fields})], output: (interval: 0.01), duration: 2.0)"
    );
    Scene::parse(&text, "truth.ron").unwrap_or_else(|error| panic!("{error}"))
}

/// Time and position of a run.
fn table(scene: &Scene) -> Table {
    let run = Simulation::new(scene).unwrap().run_until(scene.duration).unwrap();
    let columns = ["t", "x.position"].map(|channel| run.channel(channel).unwrap().collect());
    Table { file: "run.csv".into(), names: vec!["t".into(), "x".into()], columns: columns.into() }
}

fn log(scene: &Scene) -> Log {
    let log = Log::new(table(scene)).compare("x.position", "x");
    log.initial(bristle::fit::Initial::Scene)
}

const HINGE: &str = "Revolute(axis: (0, 1, 0))";
const SLIDE: &str = "Prismatic(axis: (1, 0, 0))";

/// The one warning that names all of these.
fn said<'a>(warnings: &'a [String], names: &[&str]) -> &'a str {
    let found: Vec<&String> =
        warnings.iter().filter(|warning| names.iter().all(|name| warning.contains(name))).collect();
    assert_eq!(found.len(), 1, "{names:?}: {warnings:?}");
    found[0]
}

#[test]
fn a_motor_gain_acts_together_with_both_coefficients_of_its_reducer() {
    // (1 − μ) and (1 + μ) times the gain are all that acts
    let fields = "position: 0.4, friction: Coulomb(coulomb: 1.0), load: Transmitted(preload: 0.2, driving: 0.3, \
                  back_driving: 0.2), drive: Servo(kp: 9.0, constant: 1.0, target: \
                  Sine(amplitude: 0.9, frequency: 4.0))";
    let scene = scene(HINGE, fields);
    let mut noisy = table(&scene);
    noisy.columns[1].iter_mut().enumerate().for_each(|(k, x)| *x += 1e-3 * (1.7 * (k * k) as f64).sin());
    let fit = Fit::new(&scene)
        .log(Log::new(noisy).compare("x.position", "x").initial(bristle::fit::Initial::Scene))
        .free("joints.x.drive.constant", 1.2, 0.2..=5.0)
        .free("joints.x.load.driving", 0.3, 0.01..=0.9)
        .free("joints.x.load.back_driving", 0.2, 0.01..=2.0)
        .free("joints.x.load.preload", 0.3, 0.01..=2.0);
    let fitted = fit.solve().unwrap();
    let names = ["joints.x.drive.constant", "load.driving", "load.back_driving"];
    let warning = said(fitted.warnings(), &names);
    assert!(warning.contains("give nearly the same curves") && warning.contains("fix one of them"), "{warning}");
    // the direction, tried by simulation, changes nothing, where each of the three alone does
    let weak = fitted.identifiability();
    let (channel, change) = weak.largest_change.clone().unwrap();
    let size = weak.tried.iter().map(|(path, tried)| {
        let p = fitted.parameters().iter().find(|p| p.path == *path).unwrap();
        (tried / p.value).ln().abs()
    });
    assert!(channel == "x.position" && change < 1e-3 && size.fold(0.0, f64::max) > 0.03, "{change:e} {weak:?}");
    // a prior settles it
    let fitted = fit.prior("joints.x.drive.constant", 1.0, 0.01).solve().unwrap();
    for (p, truth) in fitted.parameters().iter().zip([1.0, 0.3, 0.2, 0.2]) {
        assert!(
            (p.value - truth).abs() < 0.05 * truth && p.deviation > 0.0,
            "{}: {} ± {}",
            p.path,
            p.value,
            p.deviation
        );
    }
    let gain = &fitted.parameters()[0];
    // what is known of it is what the prior says
    assert!((gain.deviation / 0.01 - 1.0).abs() < 0.2, "{}", gain.deviation);
}

#[test]
fn a_radius_acts_together_with_its_level() {
    let scene = scene(HINGE, "position: 0.9, friction: Coulomb(coulomb: 0.4), load: Pin(radius: 0.05)");
    let fit = Fit::new(&scene).log(log(&scene));
    let fit = fit.free("joints.x.friction.coulomb", 0.35, 0.02..=5.0).free("joints.x.load.radius", 0.05, 0.002..=0.5);
    let fitted = fit.solve().unwrap();
    let warning = said(fitted.warnings(), &["friction.coulomb", "load.radius"]);
    assert!(warning.contains("give nearly the same curves"), "{warning}");
    let product = fitted.parameters()[0].value * fitted.parameters()[1].value;
    assert!((product - 0.02).abs() < 1e-5, "{product}");
}

#[test]
fn a_stiction_that_never_acts_is_left_at_its_start() {
    // slows down and stays
    let scene = scene(SLIDE, "velocity: 2.0, friction: Coulomb(coulomb: 3.0, stiction: 4.0)");
    let fit = Fit::new(&scene).log(log(&scene)).free("joints.x.friction.coulomb", 2.0, 0.1..=50.0);
    let fitted = fit.excess("joints.x.friction.stiction", "coulomb", 0.7, 0.0..=20.0).solve().unwrap();
    let warning = said(fitted.warnings(), &["friction.stiction"]);
    assert!(
        warning.contains("no influence on these logs (no break-away depends on it): left at its start 0.7"),
        "{warning}"
    );
    assert!(!fitted.parameters()[1].is_identifiable && fitted.parameters()[1].value == 0.7);
    assert!((fitted.parameters()[0].value - 3.0).abs() < 1e-5);
}

#[test]
fn a_stiffness_that_the_log_does_not_resolve_is_named() {
    let law = "LuGre(coulomb: 3.0, stiction: 4.0, stribeck_velocity: 0.1, sigma0: 2.0e7, sigma1: 900.0, sigma2: 1.0)";
    let scene =
        scene(SLIDE, &format!("velocity: 2.0, friction: {law}, drive: Effort(Sine(amplitude: 6.0, frequency: 5.0))"));
    let mut log = log(&scene);
    log.compare[0].noise = Some(0.02);
    let fit = Fit::new(&scene).log(log).free("joints.x.friction.coulomb", 2.5, 0.1..=50.0);
    let fitted = fit.free("joints.x.friction.sigma0", 1.0e7, 1.0e5..=1.0e9).solve().unwrap();
    let warning = said(fitted.warnings(), &["friction.sigma0"]);
    // the start stays, or moves without being told by the log
    assert!(warning.contains("no influence") || warning.contains("no longer tell it"), "{warning}");
}

#[test]
fn a_check_points_at_gaps_units_and_saturation() {
    let scene = scene(
        SLIDE,
        "velocity: 2.0, friction: Coulomb(coulomb: 3.0), drive: Effort(Sine(amplitude: 9.0, frequency: 8.0))",
    );
    let at = |change: &dyn Fn(&mut Table)| -> Vec<String> {
        let mut table = table(&scene);
        change(&mut table);
        let log = Log::new(table).compare("x.position", "x").initial(bristle::fit::Initial::Scene);
        Fit::new(&scene).log(log).free("joints.x.friction.coulomb", 3.0, 0.1..=50.0).check().unwrap()
    };
    assert_eq!(at(&|_| {}), ["run.csv: at the start values this log tells joints.x.friction.coulomb"]);
    let gap = at(&|table| table.columns.iter_mut().for_each(|column| drop(column.drain(40..60))));
    said(&gap, &["1 gap(s)", "lasts 0.2100 s"]);
    let units = at(&|table| table.columns[1].iter_mut().for_each(|x| *x *= 1e3));
    said(&units, &["1000.000 times the simulation", "milli-units"]);
    let limit = at(&|table| {
        table.columns[1].iter_mut().enumerate().for_each(|(k, x)| *x = if k % 40 < 15 { 0.25 } else { x.min(0.24) });
    });
    said(&limit, &["stays at 0.25", "saturation"]);
    // a clock that goes back is refused with its row
    let mut back = table(&scene);
    back.columns[0][7] = 0.0;
    let error = Fit::new(&scene).log(Log::new(back).compare("x.position", "x")).free("links.b.mass", 1.0, 0.1..=9.0);
    let error = error.solve().unwrap_err().to_string();
    assert!(error.contains("goes back or stands still: row 8"), "{error}");
}

#[test]
fn curves_and_their_derivatives_are_those_of_the_fit() {
    let scene = scene(
        SLIDE,
        "velocity: 2.0, friction: Coulomb(coulomb: 3.0), drive: Effort(Sine(amplitude: 9.0, frequency: 8.0))",
    );
    let log = log(&scene);
    let fit = Fit::new(&scene).log(&log).free("joints.x.friction.coulomb", 2.0, 0.1..=50.0).free(
        "links.b.mass",
        1.0,
        0.1..=9.0,
    );
    let fitted = fit.solve().unwrap();
    let (y, dy) = scene.sensitivities(&log, fitted.paths()).unwrap();
    assert_eq!((y.shape(), dy.len()), ((201, 1), 2));
    let at =
        |path: &str, x: f64| table(&scene.with_overrides(&[(path, &format!("{x:?}"))]).unwrap()).columns[1].clone();
    for (path, dy) in fitted.paths().iter().zip(&dy) {
        let x = scene.number(path).unwrap();
        let (plus, minus) = (at(path, x * (1.0 + 1e-4)), at(path, x * (1.0 - 1e-4)));
        for i in (0..201).step_by(20) {
            let slope = (plus[i] - minus[i]) / (2e-4 * x);
            assert!((dy[(i, 0)] - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{path} {i}: {} {slope}", dy[(i, 0)]);
            assert!((y[(i, 0)] - log.table.columns[1][i]).abs() < 1e-8);
        }
    }
    // the fitted scene is a file
    let file = std::env::temp_dir().join(format!("bristle-fitted-{}.ron", std::process::id()));
    fitted.scene().save(&file).unwrap();
    assert_eq!(&Scene::load(&file).unwrap().joints, &fitted.scene().joints);
    std::fs::remove_file(file).unwrap();
}

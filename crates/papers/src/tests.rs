//! The figures that must hold, from a shortened run.

use super::document::count;
use super::scoreboard::Verdict;
use super::{Effort, Progress, aberger2002, acho2004, do2007, dymore, lee1997};

const SILENT: Progress<'static> = Progress(&|_| {});

/// Within this part of the expected value.
fn assert_near(what: &str, found: f64, expected: f64, part: f64) {
    assert!((found / expected - 1.0).abs() < part, "{what}: {found:e}, expected {expected:e}");
}

#[test]
fn do2007_holds() {
    let report = do2007::report(Effort::Short, &SILENT).unwrap();
    // recomputed independently; the interval is no multiple of the step, so a last, shorter step may be counted or not
    for (row, steps, max, rms) in [
        ("rk4_constant", 28_284.0, 3.985e-4, 5.174e-6),
        ("rk4_time_constant", 402_046.0, 2.0e-4, 2.4e-6),
        ("rk4_velocity", 31_645.0, 6.2e-4, 9.3e-6),
        ("trapezoidal", 5_657.0, 0.1501, 3.373e-3),
        ("radau3_constant", 2_829.0, 9.59e-2, 2.19e-3),
        ("radau3_velocity", 1_432.0, 9.51e-2, 2.19e-3),
        ("radau3_time_constant", 1_213.0, 0.319, 1.02e-2),
    ] {
        let ours = |what: &str| report.ours(&format!("{row}.{what}"));
        assert!((ours("steps") - steps).abs() <= 1.0, "{row}: {} steps", ours("steps"));
        assert_near(row, ours("max"), max, 0.02);
        assert_near(row, ours("rms"), rms, 0.02);
    }
    // twelve printed numbers from one error of the clock; counts are printed to four digits, the rest to three
    for row in ["rk4_time_constant", "rk4_velocity", "radau3_velocity", "radau3_time_constant"] {
        for (what, part) in [("points", 5e-4), ("max", 5e-3), ("rms", 5e-3)] {
            let name = format!("slipped.{row}.{what}");
            let quantity = report.quantities.iter().find(|quantity| quantity.name == name).unwrap();
            assert_near(&name, quantity.ours, quantity.printed.unwrap(), part);
        }
    }
    // with the correct clock the paper's program is the engine
    assert!(report.ours("program.apart_from_engine") < 0.01, "{}", report.ours("program.apart_from_engine"));
    assert_near("loose", report.ours("loose.max"), 9.33e-2, 2e-3);
    assert_near("loose", report.ours("loose.rms"), 2.11e-3, 2e-3);
    assert_near("refined", report.ours("refined.rms"), 1.89e-7, 0.02);
    assert_near("ringing", report.ours("ringing.y3_percent"), 0.0089, 0.05);
    assert_near("ringing of ode45", report.ours("ringing.y3_percent_ode45"), 0.0102, 0.02);
    assert_near("points of ode45", report.ours("refined.points"), 159_445.0, 1e-3);
    assert_near("fastest", report.ours("baseline.fastest"), 369.816, 1e-5);
    for (what, expected) in [("real", -111.9448), ("imaginary", 193.5700), ("magnitude", 223.6090)] {
        assert_near(what, report.ours(&format!("stuck.{what}")), expected, 1e-6);
    }
    assert!(report.ours("stuck.zero") < 1e-9);
    assert_near("largest eigenvalue", report.ours("lambda_max"), 2.6150e4, 0.02);
    // the perturbation: one bit, which only affects Runge–Kutta beyond its limit
    assert_eq!([report.ours("kick.ulps"), report.ours("no_kick.ulps")], [1.0, 0.0]);
    assert_eq!([report.ours("no_kick.survives"), report.ours("kick.survives")], [1.0, 0.0]);
    assert_eq!([report.ours("kick_1e-4.survives"), report.ours("kick_radau3.survives")], [1.0, 1.0]);
    assert_near("largest friction", report.ours("no_kick.largest"), 1.4766, 1e-4);
    // the three figures of ode45 by themselves; twelve numbers explained, one row fitted
    let verdicts = |begin: &str| -> Vec<Verdict> {
        report.claims.iter().filter(|claim| claim.claim.starts_with(begin)).map(|claim| claim.verdict).collect()
    };
    assert_eq!(verdicts("ode45"), [Verdict::Explained, Verdict::NotComparable, Verdict::NotComparable]);
    assert_eq!(verdicts("Radau-IIA (constant)"), [Verdict::Fitted]);
    for row in ["Runge–Kutta (time", "Runge–Kutta (velocity", "Radau-IIA (velocity", "Radau-IIA (time"] {
        assert_eq!(verdicts(row), [Verdict::Explained], "{row}");
    }
    assert!(report.ours("refined.points.high") / report.ours("refined.points.low") < 1.01);
    assert!(report.ours("gain_over_rk4_constant") > 20.0);
    // the guide has the present number of steps of error control
    let guide = include_str!("../../bristle/docs/papers.md");
    let steps = count(report.ours("radau5_1e-5.steps") as usize);
    assert!(guide.contains(&format!("order five needs {steps} steps")), "{steps}");
    assert!(report.ours("ringing.loose") > 10.0 * report.ours("ringing.tight"));
}

#[test]
fn lee1997_holds() {
    let report = lee1997::report(Effort::Short, &SILENT).unwrap();
    // the sentence on figure 5
    assert!((report.ours("figure5.sticks") - 0.7).abs() < 0.01, "{}", report.ours("figure5.sticks"));
    assert!((report.ours("figure5.stays") - 0.1).abs() < 0.01, "{}", report.ours("figure5.stays"));
    assert_eq!(report.ours("single.changes"), 7.0);
    assert_eq!(report.ours("double.changes"), 20.0);
    assert!(report.ours("single.worst_event") < 1e-8, "{}", report.ours("single.worst_event"));
    assert!(report.ours("single.rest_error") < 1e-8, "{}", report.ours("single.rest_error"));
    assert!(report.ours("double.elbow_error") < 1e-8, "{}", report.ours("double.elbow_error"));
    // times depend on the machine; that no printed ratio is reproduced does not
    let table_1: Vec<Verdict> =
        report.claims.iter().filter(|claim| claim.place == "table 1").map(|claim| claim.verdict).collect();
    assert!(table_1.len() == 3 && table_1.iter().all(|verdict| *verdict != Verdict::Reproduced), "{table_1:?}");
    for pendulum in ["single", "double"] {
        // nor does the work: explicit and implicit form have about as many evaluations
        let work = report.ours(&format!("{pendulum}.implicit_over_explicit.evaluations"));
        assert!(work > 0.5 && work < 2.0, "{pendulum}: {work}");
        for form in ["jerk_dopri5", "residual_radau5", "implicit_radau5"] {
            let apart = report.ours(&format!("{pendulum}.{form}.apart"));
            assert!(apart < 1e-7, "{pendulum} {form}: {apart:e}");
        }
        // the same motion in all forms, compared at the same error
        let events = ["explicit", "implicit", "residual"].map(|way| report.ours(&format!("{pendulum}.{way}.events")));
        assert!(events.iter().all(|n| *n == events[0]), "{events:?}");
        for way in ["explicit", "implicit", "residual", "frictionless", "crossings"] {
            assert_near(way, report.ours(&format!("{pendulum}.{way}.error")), 1e-5, 0.7);
        }
    }
}

#[test]
fn acho2004_holds() {
    let report = acho2004::report(Effort::Short, &SILENT).unwrap();
    // both hunt
    assert_near("swing", report.ours("pid.swing_first"), 0.1278, 0.02);
    assert!(report.ours("pid.swing_second") > 0.1);
    assert!(report.ours("stick_slip.position_error") < 1e-8);
    assert_eq!([report.ours("stick_slip.slips_first"), report.ours("stick_slip.slips_second")], [2.0, 1.0]);
    // loop over loop at first, one loop in the end
    for figure in ["figure5", "figure6"] {
        assert!(report.ours(&format!("{figure}.drift_last_period")) < 1e-9);
        assert_near("climb", report.ours(&format!("{figure}.climb")), 0.4 * 3f64.sqrt(), 0.02);
        assert_near("w", report.ours(&format!("{figure}.w_end")), 3f64.sqrt(), 1e-3);
    }
    assert_near("first order", report.ours("presliding.span_first"), 54.9, 0.02);
    assert!(report.ours("presliding.span_second") > 1e5);
    for b in ["0.01", "0.3", "2"] {
        let ours = |what: &str| report.ours(&format!("bounds.{b}.{what}"));
        assert!(ours("w") <= ours("true") && ours("w") > ours("printed"), "{b}");
        assert!(ours("z_over_bound") <= 1.0, "{b}");
    }
    assert_near("printed bound", report.ours("bounds.0.01.printed"), 0.31, 0.01);
    assert_near("slope of figure 8", report.ours("figure8.slope_at_0"), -1.0, 1e-9);
    for factor in ["0.25", "1", "4"] {
        assert!(report.ours(&format!("bands.ramp.{factor}.second")) > 0.1, "{factor}");
    }
}

#[test]
fn dymore_holds() {
    let report = dymore::report(Effort::Short, &SILENT).unwrap();
    assert!(report.ours("figure1.error") < 1e-12);
    assert!(report.ours("dahl.apart") < 1e-7);
    // where dry friction sticks, the continuous law creeps
    assert!(report.ours("creep.rate") > 1e-3);
    // error control needs fewer steps at equal error, also where the method is the same
    assert!(report.ours("slider.radau3.gain_in_steps") > 50.0);
    assert!(report.ours("single_tanh.radau3.gain_in_steps") > 20.0);
    assert!(report.ours("least_gain_in_steps") > 1.0);
    assert_eq!(report.ours("cap.5.steps"), report.ours("cap.50.steps"));
    assert!(report.ours("slider.radau3.error") < 1e-3);
}

#[test]
fn aberger2002_holds() {
    let report = aberger2002::report(Effort::Short, &SILENT).unwrap();
    let ours = |name: &str| report.ours(name);
    // fixed steps end at output points as in the paper, so their numbers are the paper's
    for (row, steps) in [("rk4", 25_000.0), ("euler", 30_000.0), ("mixed", 12_500.0)] {
        assert_eq!(ours(&format!("lugre.{row}.steps")), steps, "{row}");
    }
    assert_near("shortest step of Euler", ours("lugre.euler.shortest_step"), 0.1e-3, 1e-6);
    // three slips, two events each, three each in the Modelica library: the printed 9
    for row in ["radau5", "rk4", "euler", "dopri5", "alpha"] {
        assert_eq!(ours(&format!("classic.{row}.events")), 6.0, "{row}");
    }
    assert_eq!(3.0 * ours("classic.slips"), 9.0);
    assert_eq!(ours("lugre.radau5_velocity.events"), ours("lugre.dopri5.events"));
    // break-away, known from a tight run of another code, and at the peak of the classic table
    for row in ["radau5", "radau5_velocity", "dopri5", "rk4", "alpha_1e-7"] {
        let found = ours(&format!("lugre.{row}.break_away"));
        assert!((found - 1.4765).abs() < 1e-3, "{row}: {found}");
    }
    assert_near("classic break-away", ours("classic.radau5.break_away"), 1.5, 1e-6);
    assert!(ours("lugre.radau5.angle_error") < 1e-5 && ours("classic.radau5.angle_error") < 1e-5);

    // one unit in the last place: explicit methods fall back to their limit, the others are not affected
    assert!(ours("longest.euler") >= 0.9 && ours("longest.euler_kicked") < 0.1);
    assert!(ours("longest.rk4_kicked") <= 0.15 && ours("longest.rk4") > ours("longest.rk4_kicked"));
    assert!(ours("longest.mixed") >= 2.0 && ours("longest.real_time") == 10.0);
    assert!(ours("longest.classic_rk4") >= 7.0 && ours("longest.classic_euler") >= 4.0);

    // scaling, with unbounded tolerances: it decides the motion of an explicit method, and digits of an implicit one
    // where kinks are located (2.4e-6 and 2.5e-6 rad where they are not)
    assert!(ours("scaling.dopri5.1e-4.unscaled.off.angle") > 10.0 * ours("scaling.dopri5.1e-4.scaled.off.angle"));
    for kinks in ["velocity", "deflection"] {
        let angle = |scale: &str| ours(&format!("scaling.radau5.1e-6.{scale}.{kinks}.angle"));
        assert!(angle("unscaled") > 2.5 * angle("scaled"), "{kinks}");
    }
    assert_eq!(ours("scaling.radau5.1e-6.scaled.off.events"), 0.0);
    assert!(ours("scaling.radau5.1e-6.scaled.deflection.events") > ours("scaling.radau5.1e-6.scaled.velocity.events"));

    // at low speed LuGre friction rises by the Stribeck effect, the classic table does not: 1 + 0.4 ω
    assert!(ours("lugre.stop") > 1.02 && (ours("classic.stop") - 1.002).abs() <= 0.002);
    // peaks of B1, swings of B2; the largest acceleration is left open, for the ramp is not printed
    for (claim, verdict) in [
        ("B1 has a peak", Verdict::Reproduced),
        ("B2 oscillates", Verdict::Reproduced),
        ("The largest acceleration", Verdict::NotComparable),
    ] {
        let found = report.claims.iter().find(|found| found.claim.starts_with(claim)).unwrap();
        assert_eq!(found.verdict, verdict, "{found:?}");
    }

    // the gearbox
    assert_eq!([ours("fixed.realtime.failed"), ours("fixed.realtime.wrong")], [0.0, 0.0]);
    assert!(ours("fixed.realtime.worst") < 4e-3 && ours("fixed.rk4.failed") > 0.0);
    assert!(ours("gearbox.speed_difference") < 1e-3);
    assert!(ours("peaks.soft.c1") > ours("peaks.printed.c1") && ours("peaks.printed.c1") > 5.05);
    assert!(ours("gearbox.little_damped.acceleration.least") < ours("gearbox.printed.acceleration.least") - 0.1);
    // one ulp: Runge–Kutta falls back to the sliding eigenvalue, h σ₀ω/g < 2.785
    for name in ["law", "frozen", "stribeck"] {
        let (step, slip) = (ours(&format!("explicit.{name}.kicked")), ours(&format!("explicit.{name}.fastest")));
        assert!(step > 0.0 && step * 1e5 * slip / 0.5 < 1.1 * 2.785, "{name}: {step:e} at {slip} rad/s");
        assert!(ours(&format!("explicit.{name}.real_time")) < 5e-3);
    }
    assert!(ours("explicit.law.plain") > 3.0 * ours("explicit.law.kicked"));
    assert!(ours("explicit.fast.fastest") > 100.0 && ours("explicit.fast.kicked") == 0.0);
    assert!(ours("explicit.fast.real_time") < 5e-3, "{}", ours("explicit.fast.real_time"));
    assert!(ours("gearbox.jump.c2.frozen") > 3.0 * ours("gearbox.jump.c2.law"), "{}", ours("gearbox.jump.c2.frozen"));
    // normal forces that jump act on frozen bristles at the full slip, those that rise slowly do not
    assert!(ours("bands.peak_frozen.high") > 10.0 && ours("bands.peak_law.high") < 1.5);
    assert!(ours("bands.real_time.high") < 5e-3);
    // the car
    assert_eq!(ours("car.stable"), ours("car.runs"));
    assert_eq!(ours("car.rk4.through"), 0.0);
    assert!(ours("car.lambda") > 1e8 && ours("car.law.loss") < 0.01 && ours("car.law.acceleration") < 10.0);
    assert!(ours("car.jump.acceleration") > 5.0 * ours("car.law.acceleration"));
    // N g + N σ₁g/(σ₀h) and N σ₁g/σ₀ at 1 ms; no peak with steady bristles
    assert_near("peak", ours("engagement.peak_1ms"), 20.0, 1e-3);
    assert_near("momentum", ours("engagement.momentum_1ms"), 0.015, 1e-3);
    assert!(ours("engagement.peak_finest") > 2e4);
    assert_near("no peak", ours("engagement.bent"), 5.0, 1e-9);
    // locks and releases three times each
    assert_eq!(ours("one_way.jumps"), 6.0);
    assert!(ours("one_way.softness") < 0.01 && ours("one_way.real_time") < 0.005);
}

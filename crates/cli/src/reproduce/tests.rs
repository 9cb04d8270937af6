//! The figures that must hold, from a shortened run.

use super::{Effort, Progress, do2007};

const SILENT: Progress = Progress { is_shown: false };

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
    assert_near("fastest", report.ours("baseline.fastest"), 369.816, 1e-5);
    for (what, expected) in [("real", -111.9448), ("imaginary", 193.5700), ("magnitude", 223.6090)] {
        assert_near(what, report.ours(&format!("stuck.{what}")), expected, 1e-6);
    }
    assert!(report.ours("stuck.zero") < 1e-9);
    assert_near("largest eigenvalue", report.ours("lambda_max"), 2.6150e4, 0.02);
    // the kick: one bit, and only Runge–Kutta beyond its limit minds
    assert_eq!([report.ours("kick.ulps"), report.ours("no_kick.ulps")], [1.0, 0.0]);
    assert_eq!([report.ours("no_kick.survives"), report.ours("kick.survives")], [1.0, 0.0]);
    assert_eq!([report.ours("kick_1e-4.survives"), report.ours("kick_radau3.survives")], [1.0, 1.0]);
    assert_near("largest friction", report.ours("no_kick.largest"), 1.4766, 1e-4);
    assert!(report.ours("gain_over_rk4_constant") > 20.0);
    assert!(report.ours("ringing.loose") > 10.0 * report.ours("ringing.tight"));
}

//! The scripts in `tests/witnesses`, which share no code with the engine, against the numbers in the reports and their
//! tests.
//!
//! They need `python3` and nothing else. Without Python the tests print a note and pass: the numbers of the scripts are
//! also in the tests of the reports.

use std::path::Path;
use std::process::Command;

/// Words of each line that a script prints; `None` without Python.
fn lines(script: &str, arguments: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witnesses").join(script);
    let Ok(output) = Command::new("python3").arg(path).args(arguments).output() else {
        eprintln!("no python3: {script} was not run");
        return None;
    };
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect())
}

fn number(word: &str) -> f64 {
    word.parse().unwrap()
}

#[test]
fn clock_error_reproduces_the_print() {
    let Some(lines) = lines("do2007_clock.py", &["--quick"]) else { return };
    // steps, max E and RMS; the last as printed, to three digits and a baseline ten times as coarse
    for (name, clock, steps, max, rms) in [
        ("radau3_velocity", "correct", 1432.0, 0.0951, 2.19e-3),
        ("radau3_velocity", "slipped", 1435.0, 0.497, 2.63e-2),
        ("radau3_time_constant", "correct", 1213.0, 0.319, 1.02e-2),
        ("radau3_time_constant", "slipped", 1215.0, 0.490, 3.24e-2),
        ("radau3_constant", "correct", 2829.0, 0.0959, 2.19e-3),
        ("radau3_constant_loose", "correct", 2829.0, 0.0933, 2.11e-3),
        ("trapezoidal", "correct", 5657.0, 0.150, 3.37e-3),
    ] {
        let line = lines.iter().find(|line| line[0] == name && line[1] == clock).unwrap();
        assert_eq!(number(&line[2]), steps, "{line:?}");
        assert!((number(&line[3]) / max - 1.0).abs() < 5e-3, "{line:?}");
        assert!((number(&line[4]) / rms - 1.0).abs() < 6e-3, "{line:?}");
    }
}

#[test]
fn turns_and_sticks_of_the_pendulums() {
    let Some(lines) = lines("lee1997_pendulums.py", &[]) else { return };
    let source = include_str!("../src/lee1997/mod.rs");
    let events = |pendulum: &str, joint: &str| -> Vec<String> {
        lines.iter().filter(|line| line[0] == pendulum && line[1] == joint).map(|line| line[3].clone()).collect()
    };
    // the constants of the report are those of the script, except the last digit
    let near = |value: f64| {
        let is_near = |word: &str| word.parse::<f64>().is_ok_and(|found| (found - value).abs() < 3e-10);
        source.split(|c: char| !(c.is_ascii_digit() || c == '.')).any(is_near)
    };
    let turns = events("single", "0");
    assert_eq!(turns.len(), 7);
    assert!(turns.iter().all(|turn| near(number(turn))), "{turns:?}");
    let rest = lines.iter().find(|line| line[0] == "single" && line[1] == "rest").unwrap();
    assert!(near(-number(&rest[2])), "{rest:?}");
    let sticks: Vec<&Vec<String>> = lines.iter().filter(|line| line[0] == "double" && line[1] == "1").collect();
    let k = sticks.iter().position(|line| line[2] == "0").unwrap();
    assert!(near(number(&sticks[k][3])) && near(number(&sticks[k + 1][3])), "{:?}", sticks[k]);
    assert_eq!(events("double", "0").len() + events("double", "1").len(), 20);
}

#[test]
fn second_order_stick_slip() {
    let Some(lines) = lines("acho2004_stick_slip.py", &[]) else { return };
    let source = include_str!("../src/acho2004.rs");
    let (_, constant) = source.split_once("POSITION_AT_15: f64 = ").unwrap();
    let constant = number(constant.split(';').next().unwrap());
    assert!((number(&lines[0][1]) - constant).abs() < 1e-10, "{:?}", lines[0]);
    assert!((number(&lines[1][1]) - 0.3107).abs() < 1e-4 && (number(&lines[1][2]) - 1.7370).abs() < 1e-4);
}

#[test]
fn one_ulp_shows_the_limit_of_explicit_steps() {
    let Some(lines) = lines("aberger2002_sliding.py", &[]) else { return };
    for line in &lines {
        let [h_lambda, plain, kicked] = [2, 3, 4].map(|k| number(&line[k]));
        // exactly at rest without it, at any step; with it the stability polynomial of the method decides
        assert_eq!(plain, 0.0, "{line:?}");
        assert_eq!(kicked < 1e-15, h_lambda < 2.785, "{line:?}");
    }
    assert_eq!(lines.len(), 12);
}

#[test]
fn output_points_and_ringing_of_ode45() {
    let Some(lines) = lines("do2007_ode45.py", &[]) else { return };
    // print: 1.476e5 points; about 0.01 % in the text on figure 15
    assert!((number(&lines[0][1]) / 159_445.0 - 1.0).abs() < 1e-3, "{:?}", lines[0]);
    assert!((number(&lines[1][2]) - 0.0102).abs() < 2e-4, "{:?}", lines[1]);
}

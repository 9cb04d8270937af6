//! `bristle fit` holds the promises of the other commands: files are complete or not there, inputs are left alone,
//! limits and signals end it, numbers without a meaning are refused.

use super::{Temporary, bristle_in, root, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

/// A copy of the example of a fit with 100 rows and one start, each file changed by a function.
struct Case(Temporary);

impl Case {
    fn new(name: &str, change: impl Fn(&str, String) -> String) -> Self {
        let folder = Temporary::folder(&format!("fit-{name}"));
        for file in ["axis.fit.ron", "axis.ron", "axis.csv"] {
            let text = std::fs::read_to_string(root().join("crates/bristle/examples/fit").join(file)).unwrap();
            let text = match file {
                "axis.csv" => text.lines().take(101).flat_map(|line| [line, "\n"]).collect(),
                _ => text.replace("starts: 4", "starts: 1"),
            };
            std::fs::write(folder.0.join(file), change(file, text)).unwrap();
        }
        Self(folder)
    }

    /// One of the files with `from` in place of `to`.
    fn with(name: &str, file: &str, from: &str, to: &str) -> Self {
        Self::new(name, |this, text| {
            assert!(this != file || text.contains(from), "{file} has no {from}");
            if this == file { text.replace(from, to) } else { text }
        })
    }

    fn fit(&self, arguments: &[&str]) -> (i32, String) {
        let output = bristle_in(self.path(), &[&["fit", "axis.fit.ron", "--json"], arguments].concat());
        (output.status.code().unwrap_or(-1), stderr(&output))
    }

    fn path(&self) -> &Path {
        &self.0.0
    }

    /// The files in the folder, in order.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut files: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        files
    }
}

const INPUTS: [&str; 3] = ["axis.csv", "axis.fit.ron", "axis.ron"];

#[test]
fn numbers_without_a_meaning_are_refused() {
    let fit = "axis.fit.ron";
    let (noise, mass) = ("noise: 2e-5", "Free(2.0, (0.2, 20.0))");
    for (k, (from, to, said)) in [
        (noise, "noise: 0.0", "the noise of `slide.position` is 0.0"),
        (noise, "noise: NaN", "the noise of `slide.position` is NaN"),
        (noise, "noise: 1e-320", "the noise of `slide.position` is 1e-320"),
        (noise, "band: -1.0", "the band of `slide.position` is -1.0 Hz"),
        (noise, "band: inf", "the band of `slide.position` is inf Hz"),
        ("time: \"t_s\",", "time: \"t_s\", skip: -1.0,", "`skip: -1.0` leaves fewer than three of 100 rows"),
        ("time: \"t_s\",", "time: \"t_s\", skip: 0.985,", "`skip: 0.985` leaves fewer than three of 100 rows"),
        ("time: \"t_s\",", "time: \"t_s\", skip: NaN,", "`skip: NaN` leaves fewer than three"),
        (mass, "Free(2.0, (NaN, 20.0))", "the bounds (NaN, 20.0) of `links.carriage.mass` are none"),
        ("    method", "    prior: {\"links.carriage.mass\": (inf, 1.0)},\n    method", "the mean inf of the prior"),
        (
            "    method",
            "    prior: {\"links.carriage.mass\": (1.0, 0.0)},\n    method",
            "the deviation 0.0 of the prior",
        ),
        ("OutputError(starts: 1)", "InverseDynamics(band: 0.0)", "the band of inverse dynamics is 0.0 Hz"),
        ("starts: 1", "starts: 1000000000000", "1000000000000 starts are too many; the limit is 100000"),
        ("free: {", "free: { \"links.*.mass\": Free(1.0, (0.1, 9.0)),", "`links.carriage.mass` is free twice"),
        ("free: {", "free: { \"logs.0.delay\": Free(0.0, (0.0, 1e300)),", "of `logs.0.delay` exceed a log of 0.99 s"),
    ]
    .into_iter()
    .enumerate()
    {
        let case = Case::with(&format!("number-{k}"), fit, from, to);
        let (code, text) = case.fit(&["--max-time", "20"]);
        assert!(code == 2 && text.contains(said), "{to}: {code} {text}");
        assert_eq!(case.files(), INPUTS);
    }
}

#[test]
fn logs_that_cannot_be_meant_are_refused() {
    let csv = "axis.csv";
    for (k, (from, to, said)) in [
        ("force_N", "force\u{1b}[31m_N", "a name cannot hold control characters"),
        ("force_N", "position_m", "two columns have the name `position_m`"),
        ("0.856", "1e200", "values of `force_N` are too large"),
        ("0.856", "nan", "`nan` is no finite number"),
        ("0.01,", "-1e308,", "goes back or stands still"),
    ]
    .into_iter()
    .enumerate()
    {
        let case = Case::with(&format!("log-{k}"), csv, from, to);
        let (code, text) = case.fit(&["--max-time", "20"]);
        assert!(code == 2 && text.contains(said) && !text.contains('\u{1b}'), "{to:?}: {code} {text}");
        assert_eq!(case.files(), INPUTS);
    }
    // the mark of spreadsheets is no part of the first name
    let case = Case::with("mark", csv, "t_s,", "\u{feff}t_s,");
    assert_eq!(case.fit(&["--check"]).0, 0);
    let case = Case::with("huge", csv, "\n0.01,", "\n1e308,");
    assert_eq!(case.fit(&["--check"]).0, 2);
}

#[test]
fn a_limit_on_the_clock_ends_a_fit_with_what_it_has() {
    // thousands of starts take minutes
    let case = Case::with("late", "axis.fit.ron", "starts: 1", "starts: 5000");
    let start = Instant::now();
    let (code, said) = case.fit(&["--max-time", "3"]);
    assert!(code == 1 && said.contains("the limit of 3 s on the clock is met (--max-time)"), "{code} {said}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(case.files().iter().all(|file| !file.contains("partial")));
    let (code, said) = case.fit(&["--check", "--max-time", "0"]);
    assert!(code == 1 && said.contains("(--max-time)"), "{code} {said}");
}

#[test]
fn files_that_are_read_stay_as_they_are() {
    let log = "t,x\n0,0\n1,1\n2,0\n";
    let scene = "Scene(links: [Link(name: \"a\", mass: 1)], joints: [Joint(name: \"j\", parent: \"world\", \
        child: \"a\", kind: Prismatic(axis: (1, 0, 0)), drive: Effort(Sum([Log(file: \"o.csv\", column: \"x\")])))], \
        duration: 0.1)";
    let folder = Temporary::folder("scene-with-log");
    let (file, path) = (folder.0.join("o.csv"), folder.0.join("s.ron"));
    std::fs::write(&path, scene).unwrap();
    std::fs::write(&file, log).unwrap();
    std::fs::create_dir_all(folder.0.join("sub")).unwrap();
    let refused = |arguments: &[&str]| {
        let output = bristle_in(&folder.0, arguments);
        let said = stderr(&output);
        assert!(
            output.status.code() == Some(2) && said.contains("this is the file that is read"),
            "{arguments:?}: {said}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), log, "{arguments:?}");
    };
    for arguments in [
        &["run", "s.ron", "--out", "o.csv"][..],
        &["run", "s.ron", "--out", "sub/../o.csv"],
        &["run", "s.ron", "--out", "p.csv", "--events", "o.csv"],
        &[
            "run",
            "s.ron",
            "--set",
            "joints.j.drive=Effort(Log(file: \"sub/../o.csv\", column: \"x\"))",
            "--out",
            "o.csv",
        ],
        &["sweep", "s.ron", "--set", "links.a.mass=1:2:2", "--out", "o.csv"],
    ] {
        refused(arguments);
    }
    // rows on their way go by the name of the log
    std::fs::write(&path, scene.replace("o.csv", "o.partial.csv")).unwrap();
    std::fs::rename(&file, folder.0.join("o.partial.csv")).unwrap();
    for out in ["o.csv", "o.npz"] {
        let output = bristle_in(&folder.0, &["run", "s.ron", "--out", out]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(folder.0.join("o.partial.csv")).unwrap(), log);
    }
    // the same of a fit: a log, and a log of its scene
    let case = Case::with("own-log", "axis.fit.ron", "file: \"axis.csv\"", "file: \"axis.fit.csv\"");
    std::fs::rename(case.path().join("axis.csv"), case.path().join("axis.fit.csv")).unwrap();
    let (code, said) = case.fit(&[]);
    assert!(code == 2 && said.contains("axis.fit.csv: this is the file that is read"), "{said}");
    let as_log = "target: Log(file: \"axis.fit.csv\", column: \"reference_m\", time: \"t_s\")";
    let case = Case::with("scene-log", "axis.ron", "target: Constant(0.0)", as_log);
    std::fs::copy(case.path().join("axis.csv"), case.path().join("axis.fit.csv")).unwrap();
    let (code, said) = case.fit(&[]);
    assert!(code == 2 && said.contains("axis.fit.csv: this is the file that is read"), "{said}");
}

#[test]
fn names_with_commas_and_quotation_marks_are_cells() {
    let named = |text: String| text.replace("slide", "sl,\\\"ide");
    let case = Case::new("names", |file, text| if file == "axis.csv" { text } else { named(text) });
    let (code, said) = case.fit(&["--max-time", "60"]);
    assert!(code == 0 || code == 1, "{said}");
    let table = std::fs::read_to_string(case.path().join("axis.fit.csv")).unwrap();
    assert!(table.contains("\n\"joints.sl,\"\"ide.damping\",") && !table.contains("NaN"), "{table}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_fit_with_the_best_so_far() {
    use std::process::{Command, Stdio};
    let case = Case::with("signal", "axis.fit.ron", "starts: 1", "starts: 5000");
    let child = Command::new(env!("CARGO_BIN_EXE_bristle"))
        .args(["fit", "axis.fit.ron", "-q"])
        .current_dir(case.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(case.files().iter().all(|file| !file.contains("partial")), "{:?}", case.files());
    assert!(case.files().contains(&"axis.fitted.ron".to_owned()), "{:?}", case.files());
}

/// Gaps, clocks and units are the first that is said.
#[test]
fn doubtful_logs_are_pointed_at_before_the_fit() {
    let milli = |text: String| -> String {
        let rows = text.lines().enumerate().map(|(k, line)| match line.split_once(',') {
            Some((t, rest)) if k > 0 => format!("{},{rest}\n", 1e3 * t.parse::<f64>().unwrap()),
            _ => format!("{line}\n"),
        });
        rows.collect()
    };
    let case = Case::new("milliseconds", |file, text| if file == "axis.csv" { milli(text) } else { text });
    let (code, said) = case.fit(&["--max-time", "0.5"]);
    assert!(code != 2 && said.starts_with("warning: axis.csv: the clock `t_s` advances by 10 a row"), "{code} {said}");
    let gap = |text: String| {
        text.lines().enumerate().filter(|(k, _)| !(40..70).contains(k)).map(|(_, l)| format!("{l}\n")).collect()
    };
    let case = Case::new("gap", |file, text| if file == "axis.csv" { gap(text) } else { text });
    let (_, said) = case.fit(&["--max-time", "20"]);
    assert!(said.starts_with("warning: axis.csv: 1 gap(s)") && said.matches("gap(s)").count() == 1, "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn other_outputs_survive_an_unwritable_one() {
    // the page does not fit into 4 kB
    let case = Case::new("full", |_, text| text);
    let command = format!("ulimit -f 4; trap '' XFSZ; exec {} fit axis.fit.ron -q", env!("CARGO_BIN_EXE_bristle"));
    let output = std::process::Command::new("bash").args(["-c", &command]).current_dir(case.path()).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("cannot write axis.fit.html: File too large"), "{said}");
    assert_eq!(case.files(), ["axis.csv", "axis.fit.csv", "axis.fit.ron", "axis.fitted.ron", "axis.ron"]);
}

#[test]
fn limits_end_a_comparison_and_are_named() {
    for (limit, said) in [(["--max-steps", "100"], "(--max-steps)"), (["--max-time", "0.5"], "(--max-time)")] {
        let settings = ["compare", "scenes/double_pendulum.ron", "--with", "method=Rk4,step=1e-7"];
        let output = super::bristle(&[&settings[..], &limit].concat());
        assert!(output.status.code() == Some(1) && stderr(&output).contains(said), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

/// One row per law, the best by hold-out first; laws by name take their levels from the scene and their scales from the
/// log.
#[test]
fn laws_are_compared_by_name() {
    let case = Case::new("laws", |file, text| match file {
        "axis.fit.ron" => text.replace("    free:", "    hold_out: [Log(file: \"axis.csv\", like: 0)],\n    free:"),
        _ => text,
    });
    let output =
        bristle_in(case.path(), &["fit", "axis.fit.ron", "-q", "--law", "joints.slide.friction=Coulomb,Stribeck,Tanh"]);
    let (said, rows) = (stderr(&output), String::from_utf8_lossy(&output.stdout).into_owned());
    assert_eq!(output.status.code(), Some(0), "{said}");
    let rows: Vec<&str> = rows.lines().collect();
    for (law, numbers) in [("Coulomb(", 4), ("Stribeck(", 5), ("Tanh(", 4)] {
        let row = rows.iter().find(|row| row.starts_with(law)).unwrap_or_else(|| panic!("{law}: {rows:?}"));
        let values = row.rsplit("   ").next().unwrap().split(", ").count();
        assert!(row.contains("hold-out") && values == numbers, "{row}");
    }
    let held = |row: &&str| row.split("hold-out").nth(1)?.trim_start().split(' ').next()?.parse::<f64>().ok();
    let errors: Vec<f64> = rows.iter().filter_map(held).collect();
    assert!(errors.len() == 3 && errors.is_sorted(), "{rows:?}");
    let output = bristle_in(case.path(), &["fit", "axis.fit.ron", "--law", "joints.slide.friction=Table"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("write its numbers"), "{}", stderr(&output));
}

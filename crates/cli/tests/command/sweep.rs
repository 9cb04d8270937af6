//! `bristle sweep`.

use super::*;
use std::process::Stdio;

const SCENE: &str = "scenes/double_pendulum_coulomb.ron";

const SETS: [&str; 6] =
    ["--set", "joints.shoulder.friction.coulomb=0.02:0.1:3", "--set", "joints.elbow.velocity=-1:1:4", "--until", "0.3"];

fn sweep(out: &str, more: &[&str]) -> Output {
    let arguments = ["sweep", SCENE, "--out", out];
    bristle(&[&arguments[..], &SETS, more].concat())
}

/// One range, whose values may be refused: stiction is 0.35.
fn sweep_elbow(out: &str, range: &str, more: &[&str]) -> Output {
    let set = format!("joints.elbow.friction.coulomb={range}");
    let arguments = ["sweep", SCENE, "--out", out, "--until", "0.05", "--set", &set];
    bristle(&[&arguments[..], more].concat())
}

/// Fields of a table.
fn fields(path: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn killed_sweep_continues_to_the_same_table() {
    let whole = Temporary::new("sweep.csv");
    let done = sweep(whole.path(), &["--threads", "1"]);
    assert!(done.status.success(), "{}", stderr(&done));
    let table = std::fs::read_to_string(whole.path()).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 13);
    assert!(lines[0].starts_with("point,joints.shoulder.friction.coulomb,joints.elbow.velocity,t,"), "{}", lines[0]);
    assert!(lines[6].starts_with("5,0.06,-0.33333333333333337,0.3,"), "{}", lines[6]);

    // cut off in the middle of a line, and before the first row
    for n in [table.len() * 2 / 3, lines[0].len() + 1, 10, 0] {
        let part = Temporary::with("sweep-part.csv", &table[..n]);
        let done = sweep(part.path(), &["--threads", "2"]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert_eq!(std::fs::read_to_string(part.path()).unwrap(), table, "cut at {n}");
    }
    // parts of it
    for (i, first) in [(1, 0), (2, 1), (3, 2)] {
        let part = Temporary::new("sweep-shard.csv");
        assert!(sweep(part.path(), &["--shard", &format!("{i}/3")]).status.success());
        let rows = std::fs::read_to_string(part.path()).unwrap();
        assert!(rows.lines().skip(1).eq(lines[1..].iter().skip(first).step_by(3).copied()), "shard {i}");
    }
    // one point beside a run
    let run = Temporary::new("sweep-run.csv");
    let values = ["--set", "joints.shoulder.friction.coulomb=0.1", "--set", "joints.elbow.velocity=1.0"];
    let arguments = ["run", SCENE, "--until", "0.3", "--out", run.path()];
    assert!(bristle(&[&arguments[..], &values].concat()).status.success());
    let run = std::fs::read_to_string(run.path()).unwrap();
    let number = |field: &str| field.parse::<f64>().unwrap();
    let row: Vec<&str> = lines[12].split(',').collect();
    let end: Vec<f64> = run.lines().last().unwrap().split(',').map(number).collect();
    assert_eq!(row[3..row.len() - 1].iter().map(|field| number(field)).collect::<Vec<f64>>(), end);
}

#[test]
fn rows_are_written_at_once() {
    let folder = Temporary::folder("sweep-killed");
    let out = folder.0.join("sweep.csv");
    let out = out.to_str().unwrap();
    // steps so small that nobody waits for the end
    let set = "joints.elbow.velocity=1:2:30";
    let slow = ["--threads", "1", "--set", set, "--until", "20", "--method", "Rk4", "--step", "1e-4"];
    let arguments = [&["sweep", SCENE, "--out", out][..], &slow].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
    let mut child = command.args(&arguments).current_dir(root()).stderr(Stdio::null()).spawn().unwrap();
    // whole lines, the first of them the header
    let rows = || std::fs::read_to_string(out).unwrap_or_default().matches('\n').count().saturating_sub(1);
    // one thread: any row there is was written by itself
    while rows() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let seen = rows();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!((1..4).contains(&seen), "{seen} rows at once");
    assert!(rows() >= seen);
}

#[cfg(unix)]
#[test]
fn interrupted_sweep_keeps_its_rows() {
    // one point is over at once, the other would take for ever; done before its turn, the short one waits beside the
    // table
    for (name, set, file) in
        [("after", "duration=0.1:1e7:2", "sweep.csv"), ("before", "duration=1e7:0.1:2", "sweep.ahead.csv")]
    {
        let folder = Temporary::folder(&format!("sweep-interrupted-{name}"));
        let out = folder.0.join("sweep.csv");
        let arguments = ["sweep", SCENE, "--out", out.to_str().unwrap(), "--threads", "2", "--set", set];
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        command
            .args(arguments)
            .args(["--method", "Rk4", "--step", "1e-3", "--set", "output.interval=5"])
            .current_dir(root());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let rows = || {
            let text = std::fs::read_to_string(folder.0.join(file)).unwrap_or_default();
            text.lines().filter(|line| !line.starts_with('#')).count()
        };
        while rows() < 2 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("interrupted: 1 of 2 points are done and kept"), "{said}");
        assert_eq!(rows(), 2);
    }
}

#[test]
fn a_table_of_another_sweep_is_not_continued() {
    let table = Temporary::new("sweep-other.csv");
    assert!(sweep(table.path(), &[]).status.success());
    for more in [["--rtol", "1e-4"], ["--set", "joints.shoulder.damping=0:1:2"], ["--shard", "2/3"]] {
        let refused = sweep(table.path(), &more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("give a new"), "{}", stderr(&refused));
    }
    // values that differ in the middle only
    let other = Temporary::new("sweep-middle.csv");
    assert!(sweep_elbow(other.path(), "0.1:0.3:3", &[]).status.success());
    assert_eq!(sweep_elbow(other.path(), "0.2:0.3:3", &[]).status.code(), Some(2));
}

#[test]
fn a_failed_point_is_a_row_like_any_other() {
    for (name, range, failed) in [("up", "0.3:0.6:4", [1, 2, 3]), ("down", "0.6:0.3:4", [0, 1, 2])] {
        let table = Temporary::new(&format!("sweep-{name}.csv"));
        // the same words and the same code when nothing is left to do
        for again in [false, true] {
            let output = sweep_elbow(table.path(), range, &[]);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("4 points, 3 failed") && said.contains("3 of 4 points failed"), "{said}");
            assert_eq!(said.contains("4 of 4 points are there already"), again, "{said}");
        }
        let rows = fields(table.path());
        let error = rows[0].iter().position(|name| name == "error").unwrap();
        assert_eq!((rows.len(), error + 1), (5, rows[0].len()));
        for (k, row) in rows[1..].iter().enumerate() {
            assert_eq!(row.len(), rows[0].len(), "{row:?}");
            let is_failed = failed.contains(&k);
            assert_eq!(row[error].contains("`stiction` is 0.35; it must be"), is_failed, "{row:?}");
            assert_eq!(row[error].is_empty(), !is_failed, "{row:?}");
            assert!(row[2..error].iter().all(|field| field.is_empty() == is_failed), "{row:?}");
        }
        let mut values: Vec<&str> = rows[1..].iter().map(|row| row[1].as_str()).collect();
        values.sort_unstable();
        assert_eq!(values, ["0.3", "0.4", "0.5", "0.6"]);
    }
}

#[test]
fn missing_channels_are_empty() {
    // no damping, no heat: first in one range, last in the other
    let table = Temporary::new("sweep-heat.csv");
    let sets = ["--set", "joints.shoulder.damping=0:2:3", "--set", "joints.elbow.damping=1:0:3"];
    let arguments = ["sweep", "scenes/arm_3dof.ron", "--until", "0.02", "--out", table.path()];
    let output = bristle(&[&arguments[..], &sets].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = fields(table.path());
    assert_eq!(rows.len(), 10);
    for (joint, column) in [("shoulder", 1), ("elbow", 2)] {
        let heat = rows[0].iter().position(|name| *name == format!("{joint}.dissipated")).unwrap();
        assert_eq!(rows[0][heat - 1], format!("{joint}.acceleration"));
        for row in &rows[1..] {
            assert_eq!(row.len(), rows[0].len());
            assert_eq!(row[heat].is_empty(), row[column] == "0.0", "{row:?}");
        }
    }
}

#[test]
fn common_reason_refuses_the_sweep() {
    // too large on one side, below 0 on the other
    let table = Temporary::new("sweep-reasons.csv");
    let output = sweep_elbow(table.path(), "-0.5:0.5:2", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let rows = fields(table.path());
    let last = |k: usize| rows[k].last().unwrap().as_str();
    assert!(last(1).starts_with("`coulomb` is -0.5;") && last(2).starts_with("`stiction` is 0.35;"), "{rows:?}");

    for (range, more, words) in [
        ("-0.5:-0.1:7", &[][..], &["`coulomb` is -0.5; it must be", "refused for the same reason"][..]),
        ("0.1:0.3:3", &["--set", "joints.nobody.damping=0:1:2"], &["there is no `nobody`", "for the same reason"]),
        ("0.1:0.3:3", &["--set", "joints.elbow.damping=x"], &["--set"]),
        ("0.1:0.3:3", &["--set", "joints.elbow.friction.coulomb=0.1"], &["a range and a value"]),
        ("1:2", &[], &["FROM:TO:N"]),
        ("a:b:c", &[], &["FROM:TO:N", "`joints.elbow.friction.coulomb=a:b:c`"]),
        ("0:1:x", &[], &["FROM:TO:N"]),
        ("0.2", &[], &["nothing to sweep", "FROM:TO:N", "bristle run"]),
        ("0.1:0.3:3", &["--shard", "4/3"], &["i from 1 to n"]),
        ("0.1:0.3:3", &["--threads", "20000"], &["from 1 to 1024"]),
        ("0.1:0.3:3", &["--threads", "0"], &["from 1 to 1024"]),
    ] {
        let never = Temporary::new("sweep-never.csv");
        let output = sweep_elbow(never.path(), range, more);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{range} {more:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{range} {more:?}: {said}");
        assert!(!never.0.exists(), "{range} {more:?}");
    }
}

#[test]
fn quiet_sweep_has_no_summary() {
    let table = Temporary::new("sweep-said.csv");
    let said = stderr(&sweep_elbow(table.path(), "0.1:0.3:5", &[]));
    assert!(said.starts_with(&format!("{}: 5 points, none failed, ", table.path())), "{said}");
    assert!(said.trim_end().ends_with(" s") && said.lines().count() == 1, "{said}");
    let values: Vec<String> = fields(table.path())[1..].iter().map(|row| row[1].clone()).collect();
    assert_eq!(values, ["0.1", "0.15", "0.2", "0.25", "0.3"]);

    let quiet = Temporary::new("sweep-quiet.csv");
    let output = sweep_elbow(quiet.path(), "0.1:0.3:5", &["-q"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    // of a failure it speaks all the same
    let failing = Temporary::new("sweep-quiet-failing.csv");
    let output = sweep_elbow(failing.path(), "0.3:0.4:2", &["-q"]);
    assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 1));
}

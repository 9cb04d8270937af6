//! `bristle sweep`.

use super::*;

const SETS: [&str; 6] =
    ["--set", "joints.shoulder.friction.coulomb=0.02:0.1:3", "--set", "joints.elbow.velocity=-1:1:4", "--until", "0.3"];

fn sweep(out: &str, more: &[&str]) -> Output {
    let arguments = ["sweep", "scenes/double_pendulum_coulomb.ron", "--out", out];
    bristle(&[&arguments[..], &SETS, more].concat())
}

#[test]
fn a_killed_sweep_goes_on_to_the_same_table_on_any_number_of_threads() {
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
    let arguments = ["run", "scenes/double_pendulum_coulomb.ron", "--until", "0.3", "--out", run.path()];
    assert!(bristle(&[&arguments[..], &values].concat()).status.success());
    let run = std::fs::read_to_string(run.path()).unwrap();
    let number = |row: &str, k: usize| row.split(',').nth(k).unwrap().parse::<f64>().unwrap();
    assert!((number(lines[12], 4) - number(run.lines().last().unwrap(), 1)).abs() < 1e-8);
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
    for bad in [["--shard", "4/3"], ["--set", "joints.elbow.damping=0:1:x"], ["--set", "joints.nobody.damping=0:1:2"]] {
        let other = Temporary::new("sweep-bad.csv");
        assert_eq!(sweep(other.path(), &bad).status.code(), Some(2), "{bad:?}");
    }
}

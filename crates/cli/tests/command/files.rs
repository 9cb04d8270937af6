//! Files of the user: none is replaced but the one that was named as the output, and none is lost to another run.

use super::lost::{endless, wait_for_rows};
use super::{Temporary, bristle_in, root, stderr};
use std::path::Path;
use std::process::{Command, Stdio};

const ROBOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bristle/examples/robot.urdf");
const PENDULUM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/single_pendulum.ron");

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Rows are locked until the columns made of them have their name.
#[test]
fn columns_have_all_rows() {
    let folder = Temporary::folder("columns-race");
    let start = |until: &str| {
        let arguments = ["run", PENDULUM, "--out", "o.npz", "-q", "--json", "--until", until];
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        command.args(arguments).current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = start("1000");
    let columns = folder.0.join("o.partial.columns");
    while !columns.exists() && first.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let second = start("1").wait_with_output().unwrap();
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", stderr(&first));
    let size = std::fs::metadata(folder.0.join("o.npz")).unwrap().len();
    // a column of 8 bytes for each of 100 001 rows, or all of the second run
    if second.status.success() {
        assert!(size < 100_000, "{size}");
    } else {
        assert_eq!(second.status.code(), Some(2));
        assert!(stderr(&second).contains("another run is writing this file"), "{}", stderr(&second));
        assert!(size > 8 * 100_001 * 5, "{size}");
    }
    assert_eq!(names_in(&folder.0), ["o.npz"]);
}

#[test]
fn inputs_are_not_replaced() {
    let folder = Temporary::folder("own-input");
    std::fs::copy(ROBOT, folder.0.join("self.urdf")).unwrap();
    std::fs::copy(ROBOT, folder.0.join("o.partial.ron")).unwrap();
    std::fs::write(folder.0.join("f.ron"), "{\"*\": (friction: Coulomb(coulomb: 0.1))}").unwrap();
    let before = names_in(&folder.0);
    let friction = std::fs::read(folder.0.join("f.ron")).unwrap();
    for arguments in [
        &["import", "self.urdf", "--out", "self.urdf"][..],
        &["import", "self.urdf", "--out", "./self.urdf", "-q"],
        &["import", "self.urdf", "--friction", "f.ron", "--out", "f.ron"],
        &["import", "o.partial.ron", "--out", "o.ron"],
        &["check", "self.urdf", "--friction", "f.ron", "--save", "f.ron"],
        &["run", "self.urdf", "--friction", "f.ron", "--until", "0.1", "--out", "-", "--stats", "f.ron"],
    ] {
        let output = bristle_in(&folder.0, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("this is the file that is read"), "{}", stderr(&output));
    }
    assert_eq!(names_in(&folder.0), before);
    let robot = std::fs::read(ROBOT).unwrap();
    assert!(["self.urdf", "o.partial.ron"].iter().all(|name| std::fs::read(folder.0.join(name)).unwrap() == robot));
    assert_eq!(std::fs::read(folder.0.join("f.ron")).unwrap(), friction);
}

#[cfg(target_os = "linux")]
#[test]
fn failed_import_keeps_the_old_scene() {
    let folder = Temporary::folder("import-full");
    std::fs::write(folder.0.join("old.ron"), "OLD").unwrap();
    let output = super::lost::bristle_on_a_full_disk(&folder.0, 1, &["import", ROBOT, "--out", "old.ron", "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("old.ron: File too large"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(folder.0.join("old.ron")).unwrap(), "OLD");
    assert_eq!(names_in(&folder.0), ["old.ron"]);
}

#[test]
fn sweep_keeps_foreign_files() {
    let folder = Temporary::folder("foreign-ahead");
    let sweep = |out: &str| {
        let values = "joints.hinge.damping=0:1:3";
        bristle_in(&folder.0, &["sweep", PENDULUM, "--until", "0.1", "--set", values, "--out", out])
    };
    // the table of a sweep of that name, with the same points
    assert_eq!(sweep("a.ahead.csv").status.code(), Some(0));
    let table = std::fs::read(folder.0.join("a.ahead.csv")).unwrap();
    for content in [&table[..], b"precious,data\n1,2\n", b"\xff\xfe"] {
        std::fs::write(folder.0.join("a.ahead.csv"), content).unwrap();
        let output = sweep("a.csv");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("a.ahead.csv: this file is not of this sweep"), "{}", stderr(&output));
        assert_eq!(std::fs::read(folder.0.join("a.ahead.csv")).unwrap(), content);
        assert_eq!(names_in(&folder.0), ["a.ahead.csv"]);
    }
}

/// Every output, and every file on its way.
#[cfg(unix)]
#[test]
fn links_and_pipes_are_refused() {
    let folder = Temporary::folder("links");
    let victim = folder.0.join("victim.txt");
    std::fs::write(&victim, "VICTIM").unwrap();
    for (partial, outputs) in [
        ("o.partial.csv", &["--out", "o.csv"][..]),
        ("o.partial.csv", &["--out", "o.npz"]),
        ("o.partial.npz", &["--out", "o.npz"]),
        ("o.partial.json", &["--out", "o.json"]),
        ("e.partial.csv", &["--out", "o.csv", "--events", "e.csv"]),
        ("s.partial.json", &["--out", "o.csv", "--stats", "s.json"]),
        ("p.partial.svg", &["--out", "o.csv", "--plot", "p.svg"]),
        ("r.partial.html", &["--out", "o.csv", "--report", "r.html"]),
    ] {
        for is_link in [true, false] {
            let path = folder.0.join(partial);
            if is_link {
                std::os::unix::fs::symlink("victim.txt", &path).unwrap();
            } else {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            }
            let output = bristle_in(&folder.0, &[&["run", PENDULUM, "--until", "0.1", "-q"], outputs].concat());
            assert_eq!(output.status.code(), Some(2), "{partial}: {}", stderr(&output));
            assert!(stderr(&output).contains(partial), "{}", stderr(&output));
            std::fs::remove_file(&path).unwrap();
            assert_eq!(names_in(&folder.0), ["victim.txt"], "{partial}");
        }
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "VICTIM");
}

#[cfg(unix)]
#[test]
fn rows_that_somebody_replaces_end_the_run() {
    let out = Temporary::new("replaced-rows.csv");
    let partial = Temporary::new("replaced-rows.partial.csv");
    let child = endless(out.path());
    wait_for_rows(&partial.0);
    std::fs::remove_file(&partial.0).unwrap();
    std::fs::write(&partial.0, "of somebody else").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("removed or replaced while it was being written") && !said.contains("rows that"), "{said}");
    assert_eq!(std::fs::read_to_string(&partial.0).unwrap(), "of somebody else");
    assert!(!out.0.exists() && root().exists());
}

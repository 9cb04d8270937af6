//! Under a limit of memory (`ulimit -v`) a machine that is too large is refused with its size; whatever runs out of
//! memory ends with a message and an exit code, never by a signal.

use super::{Temporary, root, stderr};
use std::process::{Command, Output};

/// The command within `megabytes` of address space.
fn within(megabytes: usize, arguments: &[&str]) -> Output {
    let limit = format!("ulimit -v {}; exec \"$0\" \"$@\"", 1024 * megabytes);
    let mut bash = Command::new("bash");
    bash.args(["-c", &limit, env!("CARGO_BIN_EXE_bristle")]).args(arguments).current_dir(root()).output().unwrap()
}

/// A chain of n hinges about y, each with this friction; `more` beside links and joints.
fn chain(n: usize, friction: &str, more: &str) -> String {
    let links = (0..n)
        .map(|i| format!("Link(name:\"l{i}\",mass:1,center_of_mass:(0.1,0,0),inertia:Diagonal(0.01,0.01,0.01)),"));
    let joints = (0..n).map(|i| {
        let parent = if i == 0 { "world".to_owned() } else { format!("l{}", i - 1) };
        format!(
            "Joint(name:\"j{i}\",parent:\"{parent}\",child:\"l{i}\",kind:Revolute(axis:(0,1,0)),\
             placement:Placement(translation:(0.2,0,0)),friction:{friction}),"
        )
    });
    let (links, joints): (String, String) = (links.collect(), joints.collect());
    format!("Scene(links:[{links}],joints:[{joints}],{more})")
}

const LUGRE: &str = "LuGre(sigma0:1e3,sigma1:1,coulomb:0.3)";
const COULOMB: &str = "Coulomb(coulomb:0.3,stiction:0.3)";

/// 36 GB of matrices for a stepper that needs them; none for a check, nor for steps of `RealTime`.
#[test]
fn ten_thousand_joints_load_and_step_in_one_gigabyte() {
    for (name, friction) in [("bristles.ron", LUGRE), ("dry.ron", COULOMB)] {
        let scene = Temporary::with(name, &chain(10_000, friction, "duration:0.001"));
        let checked = within(1024, &["check", scene.path()]);
        assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
        let real_time = ["run", scene.path(), "--method", "RealTime", "--step", "1e-3", "--out", "-", "-q"];
        let run = within(1024, &real_time);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    }
    let scene = Temporary::with("matrices.ron", &chain(10_000, LUGRE, "duration:0.001"));
    let run = within(1024, &["run", scene.path(), "--out", "-", "-q"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(stderr(&run).contains("this stepper takes 36.0 GB for its matrices"), "{}", stderr(&run));
}

/// Springs between thousands of joints leave `RealTime` no structure.
#[test]
fn many_couplings_are_refused_with_their_size() {
    let n = 12_000;
    let spring =
        |i: usize| format!("SpringDamper(name:\"s{i}\",joints:(\"j{i}\",\"j{}\"),stiffness:1.0,damping:0.1),", i + 1);
    let springs: String = (0..n - 1).map(spring).collect();
    let scene = chain(n, COULOMB, &format!("couplings:[{springs}],duration:0.001"));
    let scene = Temporary::with("springs.ron", &scene);
    let run = within(1024, &["run", scene.path(), "--method", "RealTime", "--step", "1e-3", "--out", "-", "-q"]);
    let said = stderr(&run);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("the matrices of `RealTime`") && said.contains(" GB"), "{said}");
}

#[test]
fn a_huge_mass_matrix_is_refused_with_its_size() {
    let scene = Temporary::with("dynamics.ron", &chain(10_000, COULOMB, "duration:0.001"));
    let state = Temporary::with("state.jsonl", "{}\n");
    let said = within(700, &["dynamics", scene.path(), "--states", state.path()]);
    assert_ne!(said.status.code(), None, "{}", stderr(&said));
    assert!(stderr(&said).contains("there is no memory for the mass matrix, which takes 0.8 GB"), "{}", stderr(&said));
}

/// Rows that are kept for a picture meet the limit as they grow: there is no picture then, and the table is written as
/// it comes.
#[test]
fn recordings_are_limited_and_tables_are_not() {
    let scene = Temporary::with("rows.ron", &chain(2, COULOMB, "duration:100,output:Output(interval:1e-4)"));
    let [csv, npz, svg] = ["rows.csv", "rows.npz", "rows.svg"].map(Temporary::new);
    let step = ["run", scene.path(), "--method", "RealTime", "--step", "1e-3", "-q"];
    let run = |arguments: &[&str]| within(160, &[&step[..], arguments].concat());
    for table in [&csv, &npz] {
        let said = run(&["--out", table.path()]);
        assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    }
    let rows = std::fs::read(&csv.0).unwrap();
    std::fs::remove_file(&csv.0).unwrap();
    let said = run(&["--out", csv.path(), "--plot", svg.path()]);
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert!(stderr(&said).contains("nothing is drawn: there is no memory for "), "{}", stderr(&said));
    assert!(stderr(&said).contains(" MB") && !svg.0.exists(), "{}", stderr(&said));
    assert!(std::fs::read(&csv.0).unwrap() == rows, "the table has changed");
}

/// Arrays that are too small to be asked for beforehand: a reserve ends the run, or a message the program. Limits from
/// the least in which the program starts to one in which everything fits.
#[test]
fn no_limit_of_memory_ends_the_program_by_a_signal() {
    let scene = Temporary::with("short.ron", &chain(1500, COULOMB, "duration:0.01,output:Output(interval:1e-3)"));
    let robot = Temporary::with("short.urdf", &robot(6000));
    let state = Temporary::with("short.jsonl", &"{}\n".repeat(3));
    let [table, imported, points] = ["short.csv", "imported.ron", "points.csv"].map(Temporary::new);
    let real_time = ["--method", "RealTime", "--step", "1e-3"];
    let grid = ["--set", "joints.j0.friction.coulomb=0.2:0.3:3", "--threads", "2", "--out", points.path()];
    let commands: [(&str, Vec<&str>); 5] = [
        ("run", [&["run", scene.path(), "--out", table.path(), "-q"], &real_time[..]].concat()),
        ("check", vec!["check", scene.path()]),
        ("sweep", [&["sweep", scene.path()], &real_time[..], &grid[..]].concat()),
        ("import", vec!["import", robot.path(), "--out", imported.path(), "-q"]),
        ("dynamics", vec!["dynamics", scene.path(), "--states", state.path(), "-q"]),
    ];
    for (name, arguments) in commands {
        let (mut n_short, mut n_done) = (0, 0);
        for megabytes in [18, 20, 22, 24, 26, 28, 30, 33, 36, 40, 46, 54, 64, 80, 1024] {
            let _ = std::fs::remove_file(&points.0);
            let said = within(megabytes, &arguments);
            let (code, text) = (said.status.code(), stderr(&said));
            assert!(matches!(code, Some(0..=2)), "{name} in {megabytes} MB: {:?}: {text}", said.status);
            assert!(code == Some(0) || text.contains("error: "), "{name} in {megabytes} MB: {text}");
            n_short += usize::from(code == Some(1) && text.contains("memory ran out"));
            n_done += usize::from(code == Some(0));
        }
        assert!(n_short > 0 && n_done > 0, "{name}: {n_short} limits were too short, {n_done} were not");
    }
}

/// Events of a run are kept in memory: where they take all there is, the run ends at its next step with its rows.
#[test]
fn a_run_that_takes_all_memory_keeps_its_rows() {
    // a slider that changes its mode 2,000 times a second
    let drive = "drive:Effort(Sine(amplitude:2,frequency:3141.6,phase:0,offset:0))";
    let scene = format!(
        "Scene(links:[Link(name:\"l\",mass:1e-3)],joints:[Joint(name:\"slide\",parent:\"world\",child:\"l\",\
         kind:Prismatic(axis:(1,0,0)),friction:Coulomb(coulomb:1),{drive})],duration:9e4,\
         output:Output(interval:1e-3),gravity:(0,0,0))"
    );
    let scene = Temporary::with("events.ron", &scene);
    let [csv, partial] = ["events.csv", "events.partial.csv"].map(Temporary::new);
    let arguments = ["run", scene.path(), "--method", "RealTime", "--step", "1e-4", "--max-time", "100"];
    let said = within(30, &[&arguments[..], &["--out", csv.path(), "-q"]].concat());
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert!(stderr(&said).contains("memory ran out at t = "), "{}", stderr(&said));
    let rows = std::fs::read_to_string(&partial.0).unwrap();
    assert!(rows.lines().count() > 1000 && rows.ends_with('\n') && !csv.0.exists());
}

/// A robot of n links in a row.
fn robot(n: usize) -> String {
    let inertia = "<inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/>";
    let link = |i: usize| format!("<link name=\"l{i}\"><inertial><mass value=\"1\"/>{inertia}</inertial></link>");
    let joint = |i: usize| {
        let ends = format!("<parent link=\"l{i}\"/><child link=\"l{}\"/>", i + 1);
        format!("<joint name=\"j{i}\" type=\"continuous\">{ends}</joint>")
    };
    let parts: String = (0..n).map(link).chain((0..n - 1).map(joint)).collect();
    format!("<robot name=\"r\">{parts}</robot>")
}

/// Every point of a sweep has its row; that of a machine too large says why.
#[test]
fn a_sweep_of_a_machine_too_large_says_so_in_its_rows() {
    let scene = Temporary::with("sweep.ron", &chain(4000, LUGRE, "duration:0.001"));
    let table = Temporary::new("sweep.csv");
    let grid = ["--set", "joints.j0.friction.coulomb=0.2:0.3:2", "--threads", "1", "--out", table.path()];
    let said = within(1024, &[&["sweep", scene.path()], &grid[..]].concat());
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    let rows = std::fs::read_to_string(&table.0).unwrap();
    assert_eq!(
        rows.matches("this stepper takes 5.8 GB for its matrices").count(),
        2,
        "{}",
        &rows[..rows.len().min(2000)]
    );
}

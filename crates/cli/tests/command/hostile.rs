//! Files made to do harm: a megabyte takes seconds at most, names do not reach the terminal as commands, nor lead out
//! of a folder.

use super::{Temporary, bristle, stderr};
use std::time::{Duration, Instant};

fn robot(inside: &str) -> String {
    let link = "<inertial><mass value=\"1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" \
        izz=\"1\"/></inertial>";
    format!(
        "<robot name=\"r\"><link name=\"b\"/><link name=\"t\">{link}</link><joint name=\"j\" \
        type=\"continuous\"><parent link=\"b\"/>\
         <child link=\"t\"/></joint>{inside}</robot>"
    )
}

fn joined(n: usize, text: impl Fn(usize) -> String) -> String {
    (0..n).map(text).collect()
}

/// Message and exit code for a file; the run takes seconds at most, also without optimisation.
fn quickly(name: &str, text: &str, before: &[&str], after: &[&str]) -> (i32, String) {
    let file = Temporary::with(name, text);
    let start = Instant::now();
    let output = bristle(&[before, &[file.path()], after].concat());
    assert!(start.elapsed() < Duration::from_secs(10), "{name}: {:?}", start.elapsed());
    (output.status.code().unwrap_or(-1), stderr(&output))
}

#[test]
fn a_megabyte_of_xml_is_read_or_refused_at_once() {
    let attributes = robot(&format!("<x {}/>", joined(100_000, |i| format!("a{i}=\"\" "))));
    let (code, said) = quickly("attributes.urdf", &attributes, &["check"], &[]);
    assert!(code == 2 && said.contains("an element with more than 1000 attributes"), "{said}");

    let namespaces = robot(&format!("<x {}/>", joined(20_000, |i| format!("xmlns:a{i}=\"u{i}\" "))));
    let (code, said) = quickly("namespaces.urdf", &namespaces, &["check"], &[]);
    assert!(code == 2 && said.contains("more than 250 namespaces in one file"), "{said}");

    // what is allowed: many different elements, in one line; some are named, the rest is counted
    let elements = robot(&joined(100_000, |i| format!("<a{i}/>")));
    let (code, said) = quickly("elements.urdf", &elements, &["check"], &[]);
    assert!(code == 0 && said.contains("`a99`") && said.contains("99900 more elements in `robot`"), "{said}");
    let attributes = robot("").replace("<joint ", &format!("<joint {}", joined(900, |i| format!("a{i}=\"\" "))));
    let (code, said) = quickly("nine-hundred.urdf", &attributes, &["check"], &[]);
    assert!(code == 0 && said.contains("attribute `a99` of `joint`") && said.contains("800 more attributes"), "{said}");

    // comments, text and instructions are no tags
    let quoted = robot(&format!("<!-- {} --><![CDATA[<x {0}]]><?x {0} ?>", "a=1 ".repeat(2000)));
    assert_eq!(quickly("quoted.urdf", &quoted, &["check"], &[]).0, 0);
}

#[test]
fn long_mimic_chains_are_linear() {
    let joint = |i: usize, leader: usize| {
        format!(
            "<link name=\"l{i}\"/><joint name=\"j{i}\" type=\"continuous\"><parent link=\"b\"/><child link=\"l{i}\"/>\
             <mimic joint=\"j{leader}\" multiplier=\"-1\" offset=\"1\"/></joint>"
        )
    };
    // leaders after their followers; the last one follows `j`
    let n = 8000;
    let chain = robot(&joined(n, |i| joint(i, i + 1)).replace(&format!("\"j{n}\""), "\"j\""));
    let file = Temporary::with("mimic.urdf", &chain);
    let start = Instant::now();
    let output = bristle(&["import", file.path(), "-q"]);
    assert!(output.status.success() && start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // q = 1 − q_leader: a coupling for each follower, which places it
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((text.matches("ratio: -1.0").count(), text.matches("offset: 1.0").count()), (n, n));
    let ring = robot(&joined(50, |i| joint(i, (i + 1) % 50)));
    let (code, said) = quickly("ring.urdf", &ring, &["check"], &[]);
    assert!(code == 2 && said.contains("ends up following itself"), "{said}");
}

#[test]
fn wide_tables_are_compared_in_time() {
    let n = 200_000;
    let header = format!("t,{}\n", joined(n, |i| format!("c{i},")).trim_end_matches(','));
    let text = header + &format!("0{}\n1{}\n", ",0".repeat(n), ",1".repeat(n));
    let file = Temporary::with("wide-too.csv", &text);
    assert_eq!(quickly("wide.csv", &text, &["compare"], &[file.path(), "--tolerance", "0"]).0, 0);
}

#[test]
fn control_characters_in_names_are_refused() {
    let scene = |name: &str, joint: &str| {
        format!(
            "Scene(name: \"{name}\", links: [Link(name: \"a\", mass: 1)], joints: [Joint(name: \"{joint}\", \
            parent: \"world\", \
             child: \"a\", kind: Prismatic(axis: (1, 0, 0)))], duration: 0.1)"
        )
    };
    let escape = "\\u{1b}]0;title\\u{7}";
    let plain = Temporary::with("plain.ron", &scene("s", "j"));
    let friction =
        Temporary::with("escape-friction.ron", &format!("{{\"{escape}\": (friction: Coulomb(coulomb: 1))}}"));
    let states = Temporary::with("escape-states.jsonl", "{\"position\": {\"\\u001b[31mred\": 1}}\n");
    let table = Temporary::with("escape.csv", "t,\x1b[31mred\n0,1\n");
    let [named, joint] = [scene(escape, "j"), scene("s", escape)].map(|text| text);
    let [named, joint] = [("escape-name.ron", named), ("escape-joint.ron", joint)].map(|(n, t)| Temporary::with(n, &t));
    let robot = Temporary::with("escape.urdf", &robot("").replace("\"r\"", "\"r&#27;[31m\""));
    for arguments in [
        &["run", named.path(), "--out", "-"][..],
        &["check", joint.path()],
        &["check", plain.path(), "--friction", friction.path()],
        &["dynamics", plain.path(), "--states", states.path()],
        &["plot", table.path(), "--list"],
        &["compare", table.path(), table.path()],
        &["check", robot.path()],
        &["check", "\x1b[31mno-such-file.ron"],
    ] {
        let output = bristle(arguments);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let said = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(said.iter().all(|&byte| byte == b'\n' || byte == b'\t' || byte >= 0x20), "{arguments:?}: {said:?}");
        assert!(!said.is_empty());
    }
    // what spreadsheets would compute, and what leads out of an archive
    for (name, reason) in
        [("=1+1", "cannot begin with `=`"), ("@x", "with `@`"), ("-x", "with `-`"), ("../x", "`..`"), ("x.", "`.`")]
    {
        let (code, said) = quickly("name.ron", &scene("s", name), &["check"], &[]);
        assert!(code == 2 && said.contains(reason), "{name}: {said}");
    }
    assert_eq!(quickly("slash.ron", &scene("s", "arm/joint-1.a"), &["check"], &[]).0, 0);
}

#[test]
fn paths_of_overrides_are_not_endless() {
    let path = vec!["a"; 20_000].join(".") + "=1";
    let output = bristle(&["check", "scenes/single_pendulum.ron", "--set", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the path has more than 64 parts"), "{}", stderr(&output));
}

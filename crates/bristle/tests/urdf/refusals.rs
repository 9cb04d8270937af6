//! Robots that cannot be used and what is said about them: each `bad/NAME.urdf` is refused with the text of `NAME.txt`.
//!
//! `BLESS=1 cargo test` writes the texts anew.

use std::fs;
use std::path::PathBuf;

use bristle::urdf::{self, FrictionFile, Options};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/urdf/bad"))
}

#[test]
fn bad_robots_are_refused_with_exact_messages() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".urdf").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 60, "only {} bad robots", names.len());

    let mut wrong = Vec::new();
    for name in names {
        let text = fs::read_to_string(folder().join(format!("{name}.urdf"))).unwrap();
        let said = match urdf::read(&text, &format!("{name}.urdf")) {
            Ok(_) => "accepted\n".to_owned(),
            Err(error) => format!("{error}\n"),
        };
        let golden = folder().join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected || said == "accepted\n" {
            wrong.push(format!("── {name}: expected\n{expected}── got\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_that_are_too_large_or_no_files_are_refused() {
    let large = format!("<robot>{}</robot>", " ".repeat(50_000_000));
    let error = urdf::read(&large, "large.urdf").unwrap_err().to_string();
    assert!(error.contains("large.urdf") && error.contains("the limit is 50 MB"), "{error}");

    let many = format!("<robot>{}</robot>", "<a/>".repeat(2_000_001));
    let error = urdf::read(&many, "many.urdf").unwrap_err().to_string();
    assert!(error.contains("more than 2000000 elements"), "{error}");

    let said = |path: &str| urdf::load(path, &Options::default()).unwrap_err().to_string();
    assert!(said("no/such/robot.urdf").contains("cannot read the file"));
    assert!(said(env!("CARGO_MANIFEST_DIR")).contains("directory"));
    #[cfg(unix)]
    assert!(said("/dev/zero").contains("the limit is 50 MB"));
}

#[test]
fn nesting_without_end_is_refused_without_overflow() {
    let deep = "<robot>".to_owned() + &"<a>".repeat(1_000_000);
    assert!(urdf::read(&deep, "deep.urdf").unwrap_err().to_string().contains("ends inside an element"));
    let shut = format!("<robot>{}{}</robot>", "<a>".repeat(500_000), "</a>".repeat(500_000));
    assert!(urdf::read(&shut, "deep.urdf").unwrap_err().to_string().contains("nested more than 64 deep"));
}

const ARM: &str = r#"<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="lower"><inertial><mass
value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="tool"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
<joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/></joint>
<joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/></joint></robot>"#;

#[test]
fn friction_files_are_refused_at_their_own_places() {
    for (text, place, reason) in [
        ("", ":1:1", "expected `{`, found the end of the file"),
        ("(friction: 1)", ":1:1", "expected `{`"),
        ("{", ":1:1", "this `{` is never closed"),
        ("{} x", ":1:4", "unexpected text after the end"),
        ("{ shoulder: () }", ":1:3", "expected a name in double quotes"),
        ("{ \"shoulder\" () }", ":1:14", "expected `:`"),
        ("{ \"shoulder\": 0.3 }", ":1:15", "write `\"shoulder\": (friction: Coulomb(coulomb: 0.3))`"),
        ("{ \"shoulder\": Coulomb(coulomb: 0.3) }", ":1:15", "write `\"shoulder\": (friction: Coulomb(…))`"),
        ("{ \"mo*\": (damping: 1.0) }", ":1:3", "no joint that moves takes `mo*`"),
        ("{ \"sho*\": (damping: 1.0), \"*ulder\": (damping: 2.0) }", ":1:27", "no joint that moves takes `*ulder`"),
        ("{\n \"sholder\": (damping: 1.0) }", ":2:2", "did you mean `shoulder`?"),
        ("{ \"mount\": (damping: 1.0) }", ":1:22", "`mount` is `Fixed`: it cannot have `damping`"),
        ("{ \"shoulder\": (frction: Coulomb(coulomb: 1.0)) }", ":1:16", "did you mean `friction`?"),
        ("{ \"shoulder\": (friction: Colomb(coulomb: 1.0)) }", ":1:26", "did you mean `Coulomb`?"),
        ("{ \"shoulder\": (friction: Coulomb(coulomb: -1.0)) }", ":1:43", "`coulomb` is -1.0; it must be 0 or more"),
        ("{ \"shoulder\": (friction: Coulomb(coulomb: NaN)) }", ":1:43", "numbers must be finite"),
        ("{ \"shoulder\": (friction: (coulomb: 1.0)) }", ":1:26", "expected one of `Coulomb`"),
        ("{ \"slide\": (friction: Coulomb(coulomb: 1.0), load: Pin(radius: 0.1)) }", ":1:52", "`Pin` is the load"),
        ("{ \"shoulder\": (damping: 1.0), \"shoulder\": (damping: 2.0) }", ":1:31", "`shoulder` is given twice"),
        ("{ \"*\": (friction: Coulomb(coulomb: -1.0)) }", ":1:36", "`coulomb` is -1.0; it must be 0 or more"),
        ("{ \"shoulder\": (damping: 1.0, damping: 2.0) }", ":1:30", "`damping` is given twice"),
        ("{ \"shoulder\": (bristle: (z: 0.1)) }", ":1:25", "no friction law with a bristle"),
        (
            "{ \"shoulder\": (load: Pin(radius: 0.1)) }",
            ":1:22",
            "joint `shoulder` has no friction for this load to press on",
        ),
        ("{ \"*\": (damping: 1.0, load: Constant(2.0)) }", ":1:29", "joint `shoulder` has no friction for this load"),
    ] {
        let options = Options { friction: Some(FrictionFile::new("friction.ron", text)), ..Options::default() };
        let error = urdf::read_with(ARM, "arm.urdf", &options).unwrap_err().to_string();
        assert!(error.contains(&format!("friction.ron{place}\n")), "{text}: {error}");
        assert!(error.contains(reason), "{text}: no `{reason}` in {error}");
        assert_eq!(error.matches("error: ").count(), 1, "{text}: {error}");
    }
}

#[test]
fn names_come_before_patterns_and_patterns_before_all() {
    let text =
        "{ \"*\": (damping: 1.0), \"s*\": (damping: 2.0), \"sho*r\": (damping: 3.0), \"slide\": (damping: 4.0) }";
    let damping = |text: &str| {
        let options = Options { friction: Some(FrictionFile::new("friction.ron", text)), ..Options::default() };
        let scene = urdf::read_with(ARM, "arm.urdf", &options).map(|import| import.scene)?;
        Ok::<_, bristle::scene::SceneError>([scene.joints[1].damping, scene.joints[2].damping])
    };
    // `s*` is first in the file, so `sho*r` is left without a joint
    assert!(damping(text).unwrap_err().to_string().contains("no joint that moves takes `sho*r`"));
    let text = text.replace(", \"sho*r\": (damping: 3.0)", "");
    assert_eq!(damping(&text).unwrap(), [2.0, 4.0]);
    assert_eq!(damping("{ \"*\": (damping: 1.0), \"*lder\": (damping: 3.0) }").unwrap(), [3.0, 1.0]);
}

#[test]
fn a_load_alone_is_for_joints_that_have_friction() {
    let with = |text: &str, overrides: &[(&str, &str)]| {
        let robot = ARM.replace("<child link=\"upper\"/>", "<child link=\"upper\"/><dynamics friction=\"0.2\"/>");
        let overrides = overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
        let friction = Some(FrictionFile::new("friction.ron", text));
        urdf::read_with(&robot, "arm.urdf", &Options { friction, overrides, ..Options::default() })
    };
    // friction of the robot itself is an effort: a load would make it a coefficient
    let pin = "{ \"shoulder\": (load: Pin(radius: 0.1)) }";
    let error = with(pin, &[]).unwrap_err().to_string();
    assert!(error.contains("friction.ron:1:22") && error.contains("from `<dynamics friction>`, an effort"), "{error}");
    assert!(error.contains("give `friction: …` beside the load"), "{error}");
    // that of the file, or of an override, is meant so
    let load = |text: &str, overrides: &[(&str, &str)]| with(text, overrides).unwrap().scene.joints[1].load.clone();
    let is_pin = bristle::scene::Load::Pin { radius: 0.1 };
    let both = "{ \"shoulder\": (friction: Coulomb(coulomb: 0.3), load: Pin(radius: 0.1)) }";
    assert_eq!(load(both, &[]), is_pin);
    assert_eq!(load(pin, &[("joints.shoulder.friction", "Coulomb(coulomb: 0.3)")]), is_pin);
    assert_eq!(load(pin, &[("joints.shoulder.friction.coulomb", "0.3")]), is_pin);
    let every = "{ \"*\": (load: Constant(2.0)) }";
    let shoulder = ("joints.shoulder.friction", "Coulomb(coulomb: 0.3)");
    assert!(with(every, &[shoulder]).unwrap_err().to_string().contains("`slide` has no friction"));
    assert!(with(every, &[shoulder, ("joints.slide.friction", "Coulomb(coulomb: 0.3)")]).is_ok());
}

//! Details of stock robots: rounding, scales, and messages that fit each joint.

use bristle::Simulation;
use bristle::urdf::{self, FrictionFile, Options};

fn inertial(mass: &str, inertia: [&str; 6]) -> String {
    let [ixx, iyy, izz, ixy, ixz, iyz] = inertia;
    format!(
        "<inertial><origin xyz=\"0.02 -0.11 0\"/><mass value=\"{mass}\"/><inertia ixx=\"{ixx}\" iyy=\"{iyy}\" \
         izz=\"{izz}\" ixy=\"{ixy}\" ixz=\"{ixz}\" iyz=\"{iyz}\"/></inertial>"
    )
}

fn one_joint(inertial: &str, joint: &str) -> String {
    format!(
        "<robot name=\"r\"><link name=\"base\"/><link name=\"tip\">{inertial}</link>\
         <joint name=\"j\" {joint}<parent link=\"base\"/><child link=\"tip\"/></joint></robot>"
    )
}

#[test]
fn repairs_below_rounding_are_none() {
    let strict = Options { strict: true, ..Options::default() };
    let read = |products: &str| {
        let text = one_joint(&inertial("1.3", ["0", "0", "0", "0", products, "0"]), "type=\"continuous\">");
        urdf::read_with(&text, "r.urdf", &strict)
    };
    // a product of inertia beside 1.3 kg at 0.11 m: ε m L² is 4e-18 kg·m²
    assert!(read("2.4e-35").unwrap().notes.iter().all(|note| !note.contains("repaired")));
    let error = read("2.4e-10").unwrap_err().to_string();
    assert!(error.contains("principal moment -2.400e-10 kg·m² is negative"), "{error}");
}

#[test]
fn armature_scale_with_one_common_origin() {
    let text = r#"<robot name="r"><link name="base"/><link name="ring"/><link name="ball">
<inertial><origin xyz="0 0 0.2"/><mass value="3"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="tilt" type="continuous"><parent link="base"/><child link="ring"/><axis xyz="1 0 0"/></joint>
<joint name="spin" type="continuous"><parent link="ring"/><child link="ball"/><axis xyz="0 0 1"/></joint></robot>"#;
    let import = urdf::read(text, "r.urdf").unwrap();
    let armature = |name: &str| import.scene.joints.iter().find(|joint| joint.name == name).unwrap().armature;
    // radius of gyration of a point mass 0.2 m from the origin: tr I/2m = 0.2²
    assert!((armature("spin") - 1e-4 * 3.0 * 0.04).abs() < 1e-18, "{}", armature("spin"));
    assert_eq!(armature("tilt"), 0.0);
    Simulation::new(&import.scene).unwrap().step(0.1).unwrap();
}

#[test]
fn transmissions_that_do_nothing_are_not_refused() {
    let strict = Options { strict: true, ..Options::default() };
    let robot = one_joint(&inertial("1", ["1", "1", "1", "0", "0", "0"]), "type=\"continuous\">");
    let read = |reduction: &str| {
        let transmission = format!(
            "<transmission name=\"t\"><type>transmission_interface/SimpleTransmission</type><joint name=\"j\"/>\
             <actuator name=\"m\"><mechanicalReduction>{reduction}</mechanicalReduction></actuator></transmission>"
        );
        urdf::read_with(&robot.replace("</robot>", &(transmission + "</robot>")), "r.urdf", &strict)
    };
    assert!(read("1").unwrap().notes.iter().any(|note| note.contains("not used: 1 × `transmission`")));
    let error = read("50").unwrap_err().to_string();
    assert!(error.contains("`transmission` is not used"), "{error}");
}

#[test]
fn planar_joints_say_what_they_become() {
    let text = one_joint(&inertial("1", ["1", "1", "1", "0", "0", "0"]), "type=\"planar\"><axis xyz=\"0 0 1\"/>")
        .replace("</joint>", "<dynamics damping=\"0.5\"/><mimic joint=\"j\"/></joint>");
    let import = urdf::read(&text, "r.urdf").unwrap();
    let line = import.lines.iter().find(|line| line.subject == "joint `j`").unwrap().to_string();
    assert!(line.contains("`j_x` along (1, 0, 0), `j_y` along (0, 1, 0), then `j` about the axis"), "{line}");
    assert!(line.contains("`damping` 0.5: the joint has three coordinates, and this is for one"), "{line}");
    assert!(line.contains("`mimic` of `j` on a joint with three coordinates: left out"), "{line}");
}

#[test]
fn a_pattern_with_an_unfit_load_names_the_joint() {
    let link = |name: &str| format!("<link name=\"{name}\">{}</link>", inertial("1", ["1", "1", "1", "0", "0", "0"]));
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
                 <limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/></joint>"
        )
    };
    let text = format!(
        "<robot name=\"r\"><link name=\"base\"/>{}{}{}{}{}{}</robot>",
        link("a"),
        link("b"),
        link("c"),
        joint("turn", "revolute", "base", "a"),
        joint("left", "prismatic", "a", "b"),
        joint("right", "prismatic", "a", "c")
    );
    let read = |friction: &str| {
        let friction = Some(FrictionFile::new("friction.ron", friction));
        urdf::read_with(&text, "r.urdf", &Options { friction, ..Options::default() })
    };
    let pattern = r#"{ "*": (friction: Coulomb(coulomb: 0.1), load: Pin(radius: 0.02)) }"#;
    let error = read(pattern).unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
    let text = error.to_string();
    assert!(text.contains("give `left` an entry of its own, and there write `Guide`"), "{text}");
    assert!(text.contains("1 more joint of this entry cannot take it"), "{text}");
    // which works
    let own = r#"{ "left": (friction: Coulomb(coulomb: 0.1), load: Guide),
        "right": (friction: Coulomb(coulomb: 0.1), load: Guide),
        "*": (friction: Coulomb(coulomb: 0.1), load: Pin(radius: 0.02)) }"#;
    assert!(read(own).is_ok());
}

#[test]
fn repetitions_that_say_nothing_new_are_read() {
    let body = inertial("1", ["3", "3", "3", "0.1", "0.2", "0.3"]);
    let joint = "type=\"continuous\"><axis xyz=\"0 1 0\"/>";
    let plain = urdf::read(&one_joint(&body, joint), "r.urdf").unwrap();
    let strict = Options { strict: true, ..Options::default() };

    // the other half of a symmetric matrix
    let lower = |ixy: &str| body.replace("<inertia ", &format!("<inertia iyx=\"{ixy}\" izx=\"0.2\" izy=\"0.3\" "));
    let both = urdf::read_with(&one_joint(&lower("0.1"), joint), "r.urdf", &strict).unwrap();
    assert_eq!(both.scene.links, plain.scene.links);
    let error = urdf::read_with(&one_joint(&lower("-0.1"), joint), "r.urdf", &strict).unwrap_err().to_string();
    assert!(error.contains("`iyx` of `inertia`, which differs from `ixy` is not used"), "{error}");
    let alone = body.replace("ixy=", "iyx=");
    assert!(urdf::read(&one_joint(&alone, joint), "r.urdf").unwrap_err().to_string().contains("`iyx`"));

    // a second axis like the first; another one is refused
    let twice = |axis: &str| one_joint(&body, &format!("{joint}<axis xyz=\"{axis}\"/>"));
    assert_eq!(urdf::read(&twice("0 1 0"), "r.urdf").unwrap().scene.joints, plain.scene.joints);
    assert!(urdf::read_with(&twice("0 1 0"), "r.urdf", &strict).is_err());
    assert!(urdf::read(&twice("0 0 1"), "r.urdf").unwrap_err().to_string().contains("given twice"));

    // an XML declaration behind an empty line; places of what follows stay
    let text = one_joint(&body, joint);
    let late = urdf::read(&format!("\n<?xml version=\"1.0\"?>\n{text}"), "r.urdf").unwrap();
    assert_eq!(late.scene.links, plain.scene.links);
    let bad = format!("\n<?xml version=\"1.0\"?>\n{}", text.replace("\"3\"", "\"x\""));
    assert!(urdf::read(&bad, "r.urdf").unwrap_err().to_string().contains("r.urdf:3:"));
}

#[test]
fn what_only_concerns_contact_or_merging_is_honoured() {
    let strict = Options { strict: true, ..Options::default() };
    let body =
        inertial("1", ["1", "1", "1", "0", "0", "0"]) + "<contact><friction value=\"1\"/></contact><self_filter/>";
    let text = one_joint(&body, "type=\"continuous\" dont_collapse=\"true\">");
    assert!(urdf::read_with(&text, "r.urdf", &strict).is_ok());
    // a start at a bound is said, and is no repair
    let limited = "type=\"revolute\"><limit lower=\"-2.5\" upper=\"-0.5\" effort=\"20\"/>";
    let import = urdf::read_with(&one_joint(&body, limited), "r.urdf", &strict).unwrap();
    assert!(
        import.notes.iter().any(|note| note.contains("start at the nearest bound: `j` at -0.5")),
        "{:?}",
        import.notes
    );
}

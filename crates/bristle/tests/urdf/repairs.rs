//! Robots with parts that no machine can have: repaired and named, or refused if `strict`.
//!
//! Each `repaired/NAME.urdf` loads with the notes in `NAME.txt`, and with `strict` it is refused with the text after
//! them. `BLESS=1 cargo test` writes the texts anew.

use std::fs;
use std::path::PathBuf;

use bristle::multibody::moment_defect;
use bristle::scene::{Inertia, Scene};
use bristle::urdf::{self, Options};
use bristle::{Simulation, mechanics::Mechanics};
use nalgebra::Matrix3;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/urdf/repaired"))
}

fn read(name: &str) -> (String, urdf::Import) {
    let text = fs::read_to_string(folder().join(format!("{name}.urdf"))).unwrap();
    let import = urdf::read(&text, &format!("{name}.urdf")).unwrap();
    (text, import)
}

#[test]
fn repairs_are_named_or_refused() {
    let names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".urdf").map(str::to_owned))
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let (text, import) = read(&name);
        let strict = Options { strict: true, ..Options::default() };
        let refused = urdf::read_with(&text, &format!("{name}.urdf"), &strict).unwrap_err();
        let said = format!("{}\n\n{refused}\n", import.notes.join("\n"));
        let golden = folder().join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&golden).unwrap_or_default(), "{name}");
        assert!(import.notes.iter().any(|note| note.starts_with("repaired: ")), "{name}");
        // it runs, and the scene that is written is as good
        let mut sim = Simulation::new(&import.scene).unwrap();
        sim.run_until(0.01).unwrap();
        let again = Scene::parse(&import.scene.to_ron().unwrap(), "again.ron").unwrap();
        assert_eq!(again, import.scene, "{name}");
    }
}

#[test]
fn repaired_inertia_is_the_nearest_that_a_body_has() {
    for name in ["inertia_indefinite", "inertia_triangle"] {
        let (_, import) = read(name);
        let mut n_boundary = 0;
        for link in &import.scene.links {
            let Inertia::Full { .. } = link.inertia else { continue };
            let rows = link.inertia.matrix();
            let moments: [f64; 3] = Matrix3::from_fn(|r, c| rows[r][c]).symmetric_eigenvalues().into();
            assert_eq!(moment_defect(moments), None, "{name}");
            // a repaired one has a second moment of zero
            let half = moments.iter().sum::<f64>() / 2.0;
            n_boundary += usize::from(moments.iter().any(|m| (half - m).abs() < 1e-12 * half));
        }
        assert!(n_boundary > 0, "{name}");
    }
}

#[test]
fn joints_without_inertia_get_armature() {
    let (_, import) = read("massless_fingers");
    let armature = |name: &str| import.scene.joints.iter().find(|joint| joint.name == name).unwrap().armature;
    // 3 kg, and 0.5 m between joints
    assert!((armature("thumb") - 3e-4 * 0.25).abs() < 1e-18);
    assert!((armature("nod") - 3e-4 * 0.25).abs() < 1e-18, "a mass on the axis resists nothing");
    assert!((armature("slide") - 3e-4).abs() < 1e-18);
    // coupled to a joint that carries mass
    assert_eq!(armature("tip"), 0.0);
    assert_eq!(armature("turn"), 0.0);
}

#[test]
fn planar_joint_moves_in_its_plane() {
    let text = r#"<robot name="puck"><link name="table"/>
<link name="puck"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.2"/></inertial></link>
<joint name="glide" type="planar"><parent link="table"/><child link="puck"/>
<origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint></robot>"#;
    let import = urdf::read_with(text, "puck.urdf", &Options { strict: true, ..Options::default() }).unwrap();
    let mut mechanics = Mechanics::new(&import.scene, false).unwrap();
    let names: Vec<&str> = mechanics.model().joint_names.iter().map(String::as_str).collect();
    for name in ["glide", "glide_x", "glide_y"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // M = [[m, 0, −m c s], [0, m, m c c], [·, ·, I + m c²]] at angle θ, c = 0.3 m: at θ = 90° with x, y, θ in order
    let q = [0.4, -0.2, std::f64::consts::FRAC_PI_2];
    let mass = mechanics.mass_matrix(&q).unwrap();
    let expected = [[2.0, 0.0, -0.6], [0.0, 2.0, 0.0], [-0.6, 0.0, 0.2 + 2.0 * 0.09]];
    for (r, row) in expected.iter().enumerate() {
        for (c, x) in row.iter().enumerate() {
            assert!((mass[(r, c)] - x).abs() < 1e-14, "{mass}");
        }
    }
}

//! Hands: massless links behind joints that mimic one another.

use bristle::mechanics::Mechanics;
use bristle::urdf;

/// Fingers on a palm. All spread with one massless drive through massless knuckles; in each, the middle and distal
/// joints follow the proximal one, and only the distal or the proximal link has mass.
fn hand() -> String {
    let inertial = r#"<inertial><origin xyz="0.01 0.02 0.03"/><mass value="0.02"/>
        <inertia ixx="3e-6" ixy="1e-7" ixz="0" iyy="4e-6" iyz="2e-7" izz="2e-6"/></inertial>"#;
    let mut text = String::from(r#"<robot name="hand"><link name="palm"/><link name="drive"/>"#);
    let joint = |name: &str, parent: &str, child: &str, origin: &str, axis: &str, mimic: &str| {
        format!(
            r#"<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
            <origin {origin}/><axis xyz="{axis}"/>{mimic}</joint>"#
        )
    };
    text += &joint("spread", "palm", "drive", "xyz=\"0 0 0\"", "0 0 1", "");
    let links = ["k", "p", "m", "d"];
    for (f, (spread, mass)) in [("0.5", "d"), ("-0.5", "d"), ("0.7", "p")].into_iter().enumerate() {
        for link in links {
            text += &format!(r#"<link name="{link}{f}">{}</link>"#, if link == mass { inertial } else { "" });
        }
        let mimic = |leader: &str, ratio: &str| format!(r#"<mimic joint="{leader}" multiplier="{ratio}"/>"#);
        let base = format!("xyz=\"0.04 {} 0.01\" rpy=\"0.3 0.2 {f}\"", 0.02 * f as f64);
        text += &joint(&format!("spread{f}"), "palm", &format!("k{f}"), &base, "0 0 1", &mimic("spread", spread));
        let along = "xyz=\"0.03 0 0\"";
        text += &joint(&format!("prox{f}"), &format!("k{f}"), &format!("p{f}"), along, "0 1 0", "");
        let (prox, mid) = (format!("prox{f}"), format!("mid{f}"));
        text += &joint(&mid, &format!("p{f}"), &format!("m{f}"), along, "0 1 0", &mimic(&prox, "1.36"));
        text += &joint(&format!("dist{f}"), &format!("m{f}"), &format!("d{f}"), along, "0 1 0", &mimic(&mid, "1.04"));
    }
    text + "</robot>"
}

/// Fingers of three parallel hinges in line, of which only the last link has mass, or the last two; joints follow the
/// first or the second, some of them directly and some through one another; all spread with one drive.
fn in_line() -> String {
    let inertial = r#"<inertial><origin xyz="0.007 0 0"/><mass value="0.02"/>
        <inertia ixx="1e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="2e-5"/></inertial>"#;
    let mut text = String::from(r#"<robot name="in_line"><link name="palm"/><link name="drive"/>"#);
    let joint = |name: &str, parent: &str, child: &str, origin: &str, mimic: &str| {
        format!(
            r#"<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
            <origin {origin}/><axis xyz="0 0 1"/>{mimic}</joint>"#
        )
    };
    text += &joint("spread", "palm", "drive", "xyz=\"0 0 0\"", "");
    let mimic = |leader: &str, ratio: f64| format!(r#"<mimic joint="{leader}" multiplier="{ratio}"/>"#);
    // who follows whom: of hinges 1 and 2, the leader and the ratio
    let fingers: [[Option<(usize, f64)>; 2]; 4] = [
        [Some((0, 1.3588)), Some((0, 1.42093))],
        [None, Some((1, 1.0454))],
        [Some((0, 1.3588)), None],
        [Some((0, 1.01511)), Some((1, 1.44889))],
    ];
    for (f, follows) in fingers.into_iter().enumerate() {
        for (k, link) in ["k", "p", "m", "d"].into_iter().enumerate() {
            let has_mass = k == 3 || (k == 2 && f == 2);
            text += &format!(r#"<link name="{link}{f}">{}</link>"#, if has_mass { inertial } else { "" });
        }
        let base = format!("xyz=\"0.02 {} 0.05\" rpy=\"-1.5707 -1.5707 0\"", 0.02 * f as f64);
        text += &joint(&format!("spread{f}"), "palm", &format!("k{f}"), &base, &mimic("spread", 0.5));
        text += &joint(&format!("j0{f}"), &format!("k{f}"), &format!("p{f}"), "rpy=\"1.5707 0 0\"", "");
        for (k, (parent, child)) in [("p", "m"), ("m", "d")].into_iter().enumerate() {
            let tie = follows[k].map_or(String::new(), |(leader, ratio)| mimic(&format!("j{leader}{f}"), ratio));
            let along = format!("xyz=\"{} 0 0\"", [0.05004, 0.032][k]);
            text += &joint(&format!("j{}{f}", k + 1), &format!("{parent}{f}"), &format!("{child}{f}"), &along, &tie);
        }
    }
    text + "</robot>"
}

/// In line the mass matrix of the tree is singular; that of the reduced coordinates has a condition below 100.
#[test]
fn fingers_in_line_need_no_armature() {
    let scene = urdf::read(&in_line(), "in_line.urdf").unwrap().scene;
    assert!(scene.joints.iter().all(|joint| joint.armature == 0.0), "nothing needs a repair");
    let mut mechanics = Mechanics::new(&scene, false).unwrap();
    let independent = mechanics.independent();
    let n = mechanics.model().n_v;
    for s in 0..40 {
        let wave = |k: usize, phase: f64| (1.7 * k as f64 + phase * f64::from(s)).sin();
        // the first state is in line and at rest
        let fill = |size: f64, phase: f64| {
            let mut x = vec![0.0; n];
            independent.iter().for_each(|&k| x[k] = if s == 0 { 0.0 } else { size * wave(k, phase) });
            x
        };
        let (mut q, mut v, mut tau) = (fill(0.8, 0.7), fill(3.0, 1.1), fill(0.05, 1.9));
        independent.iter().for_each(|&k| tau[k] += 1e-3);
        mechanics.complete(&mut q, &mut v, None).unwrap();
        let a = mechanics.forward(&q, &v, &tau).unwrap();
        let back = mechanics.inverse(&q, &v, &a).unwrap();
        for &k in &independent {
            assert!((back[k] - tau[k]).abs() < 1e-13, "state {s}, velocity {k}: {} {}", back[k], tau[k]);
        }
    }
    // and it moves
    let mut sim = bristle::Simulation::new(&scene).unwrap();
    sim.run_until(0.05).unwrap();
    assert!(sim.energy().unwrap().balance.abs() < 1e-9);
}

/// Forward dynamics with the inverse, which divides by no inertia, to rounding: the reduced mass matrix has a condition
/// below 10³.
#[test]
fn massless_links_behind_mimics_are_solved_to_rounding() {
    let scene = urdf::read(&hand(), "hand.urdf").unwrap().scene;
    assert!(scene.joints.iter().all(|joint| joint.armature == 0.0), "nothing needs a repair");
    let mut mechanics = Mechanics::new(&scene, false).unwrap();
    let independent = mechanics.independent();
    let n = mechanics.model().n_v;
    assert_eq!((n, independent.len()), (13, 4));
    for s in 0..40 {
        let wave = |k: usize, phase: f64| (1.7 * k as f64 + phase * f64::from(s)).sin();
        let fill = |size: f64, phase: f64| {
            let mut x = vec![0.0; n];
            independent.iter().for_each(|&k| x[k] = size * wave(k, phase) + 1e-3);
            x
        };
        let (mut q, mut v, tau) = (fill(1.0, 0.7), fill(3.0, 1.1), fill(0.05, 1.9));
        mechanics.complete(&mut q, &mut v, None).unwrap();
        let a = mechanics.forward(&q, &v, &tau).unwrap();
        let back = mechanics.inverse(&q, &v, &a).unwrap();
        for &k in &independent {
            assert!((back[k] - tau[k]).abs() < 1e-13, "state {s}, velocity {k}: {} {}", back[k], tau[k]);
        }
    }
}

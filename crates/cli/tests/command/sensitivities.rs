//! `run --sensitivities`: its table, its name among the others, its limits.

use super::{Temporary, bristle, bristle_in, stderr};

/// x = 3 t − ½ (4/2) t² while it slides, until t = 1.5 s.
const SLIDE: &str = "Scene(gravity: (0, 0, 0), links: [Link(name: \"body\", mass: 2.0)], joints: [Joint(name: \
    \"slide\", parent: \"world\", child: \"body\", kind: Prismatic(axis: (1, 0, 0)), velocity: 3.0, friction: \
    Coulomb(coulomb: 4.0))], duration: 1.0, output: Output(interval: 0.25))";
const FRICTION: &str = "joints.slide.friction.coulomb";

#[test]
fn derivatives_stand_beside_the_results() {
    let folder = Temporary::folder("derivatives");
    std::fs::write(folder.0.join("slide.ron"), SLIDE).unwrap();
    let output = bristle_in(&folder.0, &["run", "slide.ron", "--out", "x.csv", "--sensitivities", FRICTION]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(folder.0.join("x.sensitivities.csv")).unwrap();
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let column = |name: &str| {
        let k = names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
        text.lines().skip(1).map(|line| line.split(',').nth(k).unwrap().parse().unwrap()).collect::<Vec<f64>>()
    };
    let slope = column(&format!("d(slide.position)/d({FRICTION})"));
    assert_eq!(slope.len(), 5);
    for (t, slope) in column("t").into_iter().zip(slope) {
        assert!((slope + 0.25 * t * t).abs() < 1e-9, "t {t}: {slope}");
    }
    // no other output, and no file that is read, has its name
    for (more, reason) in [
        (["--events", "x.sensitivities.csv"], "two outputs cannot share a file"),
        (["--set", "output.interval=0.5"], ""),
        (["--events", "x.sensitivities.partial.csv"], "goes by that name until it is complete"),
    ] {
        let arguments = ["run", "slide.ron", "-q", "--out", "x.csv", "--sensitivities", FRICTION];
        let output = bristle_in(&folder.0, &[&arguments[..], &more].concat());
        let code = if reason.is_empty() { 0 } else { 2 };
        assert!(output.status.code() == Some(code) && stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn derivatives_beyond_memory_are_refused_with_their_size() {
    let (scene, out) = (Temporary::with("slide.ron", SLIDE), Temporary::new("slide.csv"));
    let run = |scene: &str, path: &str, more: &[&str]| {
        let output = bristle(
            &[&["run", scene, "-q", "--out", out.path(), "--sensitivities", path, "--max-time", "20"], more].concat(),
        );
        (output.status.code(), stderr(&output))
    };
    let (code, said) = run(scene.path(), FRICTION, &["--until", "9e4", "--set", "output.interval=1e-3"]);
    assert!(code == Some(2) && said.contains("GB are the limit"), "{said}");

    let n = 5000;
    let links: String = (0..n).map(|i| format!("Link(name:\"l{i}\",mass:1),")).collect();
    let joint = |i: usize| {
        format!("Joint(name:\"j{i}\",parent:\"world\",child:\"l{i}\",kind:Prismatic(axis:(1,0,0)),damping:1.0),")
    };
    let joints: String = (0..n).map(joint).collect();
    let many = Temporary::with("many.ron", &format!("Scene(links:[{links}],joints:[{joints}],duration:0.01)"));
    let (code, said) = run(many.path(), "links.l0.mass", &[]);
    assert!(code == Some(2) && said.contains("the matrices of the derivatives") && said.contains("9.6 GB"), "{said}");
    assert!(!out.0.exists());
}

#[test]
fn limits_end_derivatives_and_say_so() {
    let (scene, out) = (Temporary::with("late.ron", SLIDE), Temporary::new("late.csv"));
    let table = Temporary::new("late.sensitivities.csv");
    let drive = "joints.slide.drive=Effort(Sine(amplitude: 9.0, frequency: 50.0))";
    let arguments = ["run", scene.path(), "--out", out.path(), "--sensitivities", FRICTION, "--max-time", "0.5"];
    let output = bristle(&[&arguments[..], &["--until", "1e5", "--set", drive]].concat());
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("before the derivatives were complete"), "{said}");
    assert!(said.contains("--max-time") && !out.0.exists() && !table.0.exists(), "{said}");
}

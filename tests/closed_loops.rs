//! Closed loops with friction in every joint, against reference data: two independent routes (maximal coordinates with
//! projection, and minimal coordinates) that agree to better than 1e-9.

use bristle::prelude::*;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops").join(name)
}

/// Positions over time, by channel.
fn reference(name: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = std::fs::read_to_string(data(&format!("{name}.csv"))).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect();
    (names, lines.map(row).collect())
}

/// Times of the events after the start at which modes change.
fn reference_events(name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(data(&format!("{name}.events"))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains(" start "));
    let changes = lines.filter(|line| !line.contains("passes zero"));
    changes.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

fn run(scene: &Scene) -> Recording {
    let mut sim = Simulation::new(scene).unwrap_or_else(|error| panic!("{error}"));
    sim.run_until(scene.duration).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a case; positions within 1e-7 and events within 1e-8 s, as the reference permits.
fn assert_matches(name: &str) -> Recording {
    let scene = Scene::load(data(&format!("{name}.ron"))).unwrap();
    let recording = run(&scene);
    let (names, rows) = reference(name);
    let t: Vec<f64> = recording.channel("t").unwrap().collect();
    for (k, channel) in names.iter().enumerate().skip(1) {
        let found: Vec<f64> = recording.channel(channel).unwrap().collect();
        for row in &rows {
            let at = t.iter().position(|t| (t - row[0]).abs() < 1e-9).unwrap();
            assert!((found[at] - row[k]).abs() < 1e-7, "{name}, {channel} at {}: {} {}", row[0], found[at], row[k]);
        }
    }
    // events of one instant count once
    let mut times: Vec<f64> = recording.events().iter().map(|event| event.t).collect();
    times.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let expected = reference_events(name);
    assert_eq!(times.len(), expected.len(), "{name}: {times:?} {expected:?}");
    for (found, expected) in times.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-8, "{name}: {found} {expected}");
    }
    recording
}

#[test]
fn four_bar_swings_turns_at_dead_centres_and_holds() {
    let recording = assert_matches("four_bar");
    // the loop is closed at every row: tips of coupler and rocker, and the angle of the loop joint
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.position")));
    let [v_a, v_b, v_c, v_d] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.velocity")));
    for k in 0..a.len() {
        let at = |length: f64, angle: f64| [length * angle.cos(), length * angle.sin()];
        let [crank, coupler, rocker] = [at(0.25, a[k]), at(0.55, a[k] + b[k]), at(0.4, d[k])];
        assert!((crank[0] + coupler[0] - rocker[0] - 0.6).abs() < 1e-14);
        assert!((crank[1] + coupler[1] - rocker[1] - 0.05).abs() < 1e-14);
        assert!((a[k] + b[k] + c[k] - d[k]).abs() < 1e-14);
        assert!((v_a[k] + v_b[k] + v_c[k] - v_d[k]).abs() < 1e-12);
    }
    // stuck: bit for bit
    for name in ["a", "b", "c", "d"] {
        let (mode, v) = (channel(&format!("{name}.mode")), channel(&format!("{name}.velocity")));
        let position = channel(&format!("{name}.position"));
        let held: Vec<usize> = (0..mode.len()).filter(|&k| mode[k] == 0.0).collect();
        assert!(held.len() > 10, "{name} is held at the end");
        assert!(held.iter().all(|&k| v[k] == 0.0 && position[k] == position[held[0]]), "{name}");
    }
}

#[test]
fn four_bar_passes_many_dead_centres() {
    assert_matches("four_bar_spin");
}

#[test]
fn four_bar_breaks_away_under_a_sine_torque() {
    assert_matches("four_bar_sine");
}

#[test]
fn five_bar_sticks_in_one_joint_while_the_rest_moves() {
    assert_matches("five_bar");
}

#[test]
fn over_constrained_loops_run_as_they_are() {
    assert_matches("bricard");
    assert_matches("three_cranks");
}

#[test]
fn pins_of_a_four_bar_rub_under_their_own_reactions() {
    assert_matches("four_bar_pin");
    assert_matches("four_bar_pin_stiction");
}

/// Torque and angle lie a few parts in a million on either side of the threshold of the reference.
#[test]
fn a_slider_crank_coasts_holds_starts_and_locks_itself() {
    for name in
        ["slider_crank_coast", "slider_crank_hold", "slider_crank_start", "self_locking_hold", "self_locking_start"]
    {
        assert_matches(name);
    }
}

/// A hundred-millionth below the thresholds of the reference it holds, as much above it starts.
#[test]
fn thresholds_of_sticking_are_those_of_the_reference() {
    let read = |name: &str| std::fs::read_to_string(data(name)).unwrap();
    let starts = |text: &str| {
        let mut sim = Simulation::new(&Scene::parse(text, "slider-crank").unwrap()).unwrap();
        sim.run_until(1e-3).unwrap();
        sim.velocities().iter().any(|v| *v != 0.0)
    };
    let (torque, angle) = (0.7766185417017467_f64, 0.06618383401651892_f64);
    let [pushed, dead] = [read("slider_crank_hold.ron"), read("self_locking_hold.ron")];
    for (factor, expected) in [(1.0 - 1e-8, false), (1.0 + 1e-8, true)] {
        let text = pushed.replace("Constant(0.776617765083205)", &format!("Constant({:?})", torque * factor));
        assert_eq!(starts(&text), expected, "torque");
        let a = angle * factor;
        let b = -(0.12 * a.sin() / 0.35).asin() - a;
        let s = 0.12 * a.cos() + 0.35 * (a + b).cos();
        let text = dead.replace("position: 0.0661837678326849", &format!("position: {a:?}"));
        let text = text.replace("position: -0.08886072658392874", &format!("position: {b:?}"));
        let text = text.replace("position: 0.4696472895295455", &format!("position: {s:?}"));
        assert_eq!(starts(&text), expected, "angle");
    }
}

#[test]
fn gears_and_bristles_in_a_loop() {
    let scene = Scene::load(data("geared_lugre.ron")).unwrap();
    let recording = run(&scene);
    let (names, rows) = reference("geared_lugre");
    for (k, channel) in names.iter().enumerate().skip(1) {
        let last = rows.last().unwrap();
        let t: Vec<f64> = recording.channel("t").unwrap().collect();
        let at = t.iter().position(|t| (t - last[0]).abs() < 1e-9).unwrap();
        let found = recording.channel(channel).unwrap().nth(at).unwrap();
        assert!((found - last[k]).abs() < 1e-7, "{channel}: {found} {}", last[k]);
    }
}

/// The four-bar of the reference cut at the rocker's pivot `d` in place of `c`.
fn cut_elsewhere(friction: &str, load: &str) -> [Scene; 2] {
    let links = r#"links: [
        Link(name: "crank", mass: 0.8, center_of_mass: (0.125, 0.0, 0.0), inertia: Diagonal(0.003, 0.003, 0.004)),
        Link(name: "coupler", mass: 1.1, center_of_mass: (0.26, 0.06, 0.0), inertia: Diagonal(0.03, 0.03, 0.035)),
        Link(name: "rocker", mass: 0.9, center_of_mass: (0.2, 0.0, 0.0), inertia: Diagonal(0.009, 0.009, 0.012))]"#;
    let z = "Revolute(axis: (0.0, 0.0, 1.0))";
    let [a, b, c, d] = [1.0, -0.5515711310945666, 1.045_550_094_755_736, 1.4939789636611693];
    let tree = format!(
        "Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {z}, position: {a:?}, {friction}{load}), \
         Joint(name: \"b\", parent: \"crank\", child: \"coupler\", kind: {z}, position: {b:?}, \
            placement: Placement(translation: (0.25, 0.0, 0.0)), {friction}{load})"
    );
    let at_d = "Placement(translation: (0.6, 0.05, 0.0))";
    let tip = "Placement(translation: (0.55, 0.0, 0.0))";
    // the rocker on its pivot, or on the coupler: then its frame lies at its far end
    let first = format!(
        "{tree}, Joint(name: \"d\", parent: \"world\", child: \"rocker\", kind: {z}, position: {d:?}, \
         placement: {at_d}, \
         {friction}{load})], couplings: [LoopJoint(name: \"c\", kind: {z}, links: (\"coupler\", \"rocker\"), \
         placements: ({tip}, Placement(translation: (0.4, 0.0, 0.0))), {friction}{load})]"
    );
    let far = links.replace("(0.2, 0.0, 0.0)", "(-0.2, 0.0, 0.0)");
    let second = format!(
        "{tree}, Joint(name: \"c\", parent: \"coupler\", child: \"rocker\", kind: {z}, position: {c:?}, \
         placement: {tip}, {friction}{load})], couplings: [LoopJoint(name: \"d\", kind: {z}, \
         links: (\"world\", \"rocker\"), placements: ({at_d}, Placement(translation: (-0.4, 0.0, 0.0))), \
         {friction}{load})]"
    );
    [(links, first), (far.as_str(), second)].map(|(links, joints)| {
        let text = format!(
            "Scene(gravity: (0.0, -9.81, 0.0), {links}, joints: [{joints}, duration: 3.0, \
             solver: Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12)), output: Output(interval: 0.05))"
        );
        Scene::parse(&text, "four-bar").unwrap_or_else(|error| panic!("{error}"))
    })
}

/// Where a loop is cut does not matter: motion, friction, loads and reactions are the same.
#[test]
fn results_do_not_depend_on_the_cut() {
    for (friction, load) in [
        ("friction: Coulomb(coulomb: 0.2, stiction: 0.25)", ""),
        ("friction: Coulomb(coulomb: 0.3)", ", load: Pin(radius: 0.02)"),
        ("friction: Tanh(coulomb: 0.2, stribeck_velocity: 0.1)", ", load: Pin(radius: 0.02)"),
    ] {
        let [first, second] = cut_elsewhere(friction, load).map(|scene| run(&scene));
        for joint in ["a", "b", "c", "d"] {
            for (what, tolerance) in [("position", 1e-7), ("velocity", 1e-6), ("friction", 1e-6), ("load", 1e-5)] {
                let channel = |r: &Recording| r.channel(&format!("{joint}.{what}")).unwrap().collect::<Vec<f64>>();
                let mode = first.channel(&format!("{joint}.mode")).map(|mode| mode.collect::<Vec<f64>>());
                for (k, (x, y)) in channel(&first).iter().zip(channel(&second)).enumerate() {
                    // how redundant stuck contacts share a load is not determined
                    let is_stuck = mode.as_ref().is_ok_and(|mode| mode[k] == 0.0);
                    let is_compared = !is_stuck || ["position", "velocity"].contains(&what);
                    assert!(!is_compared || (x - y).abs() < tolerance, "{friction}, {joint}.{what}, row {k}: {x} {y}");
                }
            }
        }
    }
}

/// Newton for the crank and for the whole loop: reactions have the constraint forces of the closure in them.
#[test]
fn reactions_of_a_loop_satisfy_newton() {
    let turned = |[x, y]: [f64; 2], angle: f64| [x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()];
    for scene in cut_elsewhere("damping: 0.1", "") {
        let mut sim = Simulation::new(&scene).unwrap();
        for until in [0.2, 0.7] {
            sim.run_until(until).unwrap();
            let force = |joint: &str| {
                let force = sim.reaction(joint).unwrap().wrench.force();
                [force[0], force[1]]
            };
            let [q, v, a] = [sim.position("a"), sim.velocity("a"), sim.acceleration("a")].map(Result::unwrap);
            // in axes of the crank: m (r̈ − g) of its centre, 0.125 m from `a`
            let weight = [-9.81 * q.sin(), -9.81 * q.cos()];
            let needed = [0.8 * (-0.125 * v * v - weight[0]), 0.8 * (0.125 * a - weight[1])];
            let (own, next) = (force("a"), turned(force("b"), sim.position("b").unwrap()));
            for k in 0..2 {
                assert!((own[k] - next[k] - needed[k]).abs() < 1e-9, "t {until}: {own:?} {next:?} {needed:?}");
            }
            assert!(next[0].hypot(next[1]) > 1.0, "{next:?}");
        }
    }
}

/// A loop that its friction holds: forces and moments of every link are in equilibrium, friction as recorded. The force
/// in the joint that closes the loop is that of the rocker's balance.
#[test]
fn a_held_loop_is_in_equilibrium() {
    let turned = |[x, y]: [f64; 2], angle: f64| [x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()];
    let moment = |[x, y]: [f64; 2], [fx, fy]: [f64; 2]| x * fy - y * fx;
    for (cut, scene) in cut_elsewhere("friction: Coulomb(coulomb: 8.0)", "").iter().enumerate() {
        let mut sim = Simulation::new(scene).unwrap();
        let recording = sim.run_until(0.1).unwrap();
        let [a, b] = ["a", "b"].map(|joint| sim.position(joint).unwrap());
        let (crank, coupler) = (a, a + b);
        // the rocker from its pivot d to the coupler
        let rocker = if cut == 0 { sim.position("d").unwrap() } else { coupler + sim.position("c").unwrap() };
        let force = |joint: &str, angle: f64| {
            let force = sim.reaction(joint).unwrap().wrench.force();
            turned([force[0], force[1]], angle)
        };
        let weight = |mass: f64| [0.0, -9.81 * mass];
        let (of_a, of_b) = (force("a", crank), force("b", coupler));
        let of_c = if cut == 0 { force("d", rocker).map(|x| -x) } else { force("c", rocker) };
        let of_c = if cut == 0 { [of_c[0], of_c[1] - weight(0.9)[1]] } else { of_c };
        for k in 0..2 {
            assert!((of_a[k] - of_b[k] + weight(0.8)[k]).abs() < 1e-9, "crank: {of_a:?} {of_b:?}");
            assert!((of_b[k] - of_c[k] + weight(1.1)[k]).abs() < 1e-9, "coupler: {of_b:?} {of_c:?}");
        }
        // moments about a, b and d
        let friction = |joint: &str| {
            assert_eq!(recording.last(&format!("{joint}.mode")).unwrap(), 0.0);
            recording.last(&format!("{joint}.friction")).unwrap()
        };
        let of_crank = moment(turned([0.125, 0.0], crank), weight(0.8)) - moment(turned([0.25, 0.0], crank), of_b);
        let of_coupler =
            moment(turned([0.26, 0.06], coupler), weight(1.1)) - moment(turned([0.55, 0.0], coupler), of_c);
        let of_rocker = moment(turned([0.2, 0.0], rocker), weight(0.9)) + moment(turned([0.4, 0.0], rocker), of_c);
        assert!((of_crank - friction("a") + friction("b")).abs() < 1e-9, "cut {cut}, crank: {of_crank}");
        assert!((of_coupler - friction("b") + friction("c")).abs() < 1e-9, "cut {cut}, coupler: {of_coupler}");
        assert!((of_rocker - friction("c") - friction("d")).abs() < 1e-9, "cut {cut}, rocker: {of_rocker}");
    }
}

#[test]
fn a_loop_that_cannot_close_is_refused_with_its_gap() {
    let [mut scene, _] = cut_elsewhere("damping: 0.1", "");
    scene.joints[1].position = bristle::scene::Coordinate::Scalar(-0.6);
    let error = Simulation::new(&scene).err().unwrap().to_string();
    assert!(error.contains("`c`") && error.contains("stays open by"), "{error}");
}

/// Positions that are left out are solved for.
#[test]
fn joints_without_a_position_are_placed_by_the_loop() {
    let [given, _] = cut_elsewhere("damping: 0.1", "");
    let mut left_out = given.clone();
    left_out.joints[1].position = bristle::scene::Coordinate::default();
    left_out.joints[2].position = bristle::scene::Coordinate::default();
    let [given, solved] = [given, left_out].map(|scene| Simulation::new(&scene).unwrap());
    let (a, b) = (given.positions()[0], solved.positions()[0]);
    assert!((a - b).abs() < 1e-14, "{a} {b}: the joint that is given stays");
    // what has moved is said, and so are redundant rows, once
    let [of_given, of_solved] = [&given, &solved].map(|sim| sim.remarks());
    let redundant = "loop joint `c`: the rows of rotation about x, rotation about y and shift along z are redundant";
    assert!(of_given.len() == 1 && of_given[0].starts_with(redundant), "{of_given:?}");
    assert_eq!(of_solved.len(), 3, "{of_solved:?}");
    for joint in ["b", "d"] {
        let start = format!("joint `{joint}` starts at ");
        assert!(of_solved.iter().any(|r| r.starts_with(&start) && r.contains("in place of 0.0")), "{of_solved:?}");
    }
    // the other assembly of the same crank angle is as good
    let tip = |q: &[f64]| 0.25 * q[0].sin() + 0.55 * (q[0] + q[1]).sin() - 0.4 * q[3].sin() - 0.05;
    assert!(tip(given.positions()).abs() < 1e-14 && tip(solved.positions()).abs() < 1e-14);
}

/// A slide at its dead centre, given with the rounding error of its velocity.
#[test]
fn a_velocity_that_is_rounding_of_zero_is_taken() {
    let rod = "Link(name: \"rod\", mass: 0.5, center_of_mass: (0.17, 0.0, 0.0), inertia: Diagonal(0.1, 0.1, 0.1))";
    let slider = "Link(name: \"slider\", mass: 0.7, inertia: Diagonal(0.001, 0.001, 0.001))";
    let joints = |speed: &str| {
        format!(
            "Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {Z}, velocity: 8.0), \
             Joint(name: \"b\", parent: \"crank\", child: \"rod\", kind: {Z}, \
                placement: Placement(translation: (0.12, 0.0, 0.0))), \
             Joint(name: \"s\", parent: \"world\", child: \"slider\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
                position: 0.47, velocity: {speed})"
        )
    };
    let pin = format!(
        "LoopJoint(name: \"c\", kind: {Z}, links: (\"rod\", \"slider\"), \
         placements: (Placement(translation: (0.35, 0.0, 0.0)), Placement()))"
    );
    let links = format!("{CRANK}, {rod}, {slider}");
    let sim = Simulation::new(&scene_of(&links, &joints("1e-16"), &pin)).unwrap_or_else(|error| panic!("{error}"));
    assert!(sim.velocity("s").unwrap().abs() < 1e-15);
    // what is no rounding is refused
    let error = Simulation::new(&scene_of(&links, &joints("1e-3"), &pin)).err().unwrap().to_string();
    assert!(error.contains("`s`") && error.contains("velocity"), "{error}");
}

#[test]
fn a_snapshot_of_a_loop_goes_on_bit_by_bit() {
    let scene = Scene::load(data("four_bar.ron")).unwrap();
    let mut sim = Simulation::new(&scene).unwrap();
    sim.run_until(1.0).unwrap();
    let snapshot = sim.snapshot().unwrap();
    let mut other = Simulation::new(&scene).unwrap();
    other.restore(&snapshot).unwrap();
    sim.run_until(2.5).unwrap();
    other.run_until(2.5).unwrap();
    assert_eq!(sim.positions(), other.positions());
    assert_eq!(sim.velocities(), other.velocities());
}

fn scene_of(links: &str, joints: &str, couplings: &str) -> Scene {
    let text = format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [{links}], joints: [{joints}], couplings: [{couplings}], \
         duration: 2.0, solver: Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12)), \
         output: Output(interval: 0.05))"
    );
    Scene::parse(&text, "loop").unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts that channels of two scenes agree.
fn assert_same(scenes: &[Scene; 2], channels: &[&str], tolerance: f64) {
    let [first, second] = [run(&scenes[0]), run(&scenes[1])];
    for name in channels {
        let [x, y] = [&first, &second].map(|r| r.channel(name).unwrap().collect::<Vec<f64>>());
        let worst = x.iter().zip(&y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        let moved = x.iter().map(|value| (value - x[0]).abs()).fold(0.0, f64::max);
        assert!(worst < tolerance && moved > 1e-3, "{name}: {worst:e}, moved {moved}");
    }
}

const Z: &str = "Revolute(axis: (0.0, 0.0, 1.0))";
const CRANK: &str =
    "Link(name: \"crank\", mass: 0.8, center_of_mass: (0.125, 0.0, 0.0), inertia: Diagonal(0.003, 0.003, 0.004))";
const COUPLER: &str =
    "Link(name: \"coupler\", mass: 1.1, center_of_mass: (0.26, 0.06, 0.0), inertia: Diagonal(0.03, 0.03, 0.035))";
const FRICTION: &str = "friction: Coulomb(coulomb: 0.15, stiction: 0.2)";

/// Crank and coupler of the four-bar, and the rocker's pivot.
fn chain() -> String {
    format!(
        "Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {Z}, position: 1.0, {FRICTION}), \
         Joint(name: \"b\", parent: \"crank\", child: \"coupler\", kind: {Z}, position: -0.5515711310945666, \
            placement: Placement(translation: (0.25, 0.0, 0.0)), {FRICTION}), \
         Joint(name: \"d\", parent: \"world\", child: \"rocker\", kind: {Z}, position: 1.4939789636611693, \
            placement: Placement(translation: (0.6, 0.05, 0.0)), {FRICTION})"
    )
}

const TIPS: &str = "links: (\"coupler\", \"rocker\"), \
    placements: (Placement(translation: (0.55, 0.0, 0.0)), Placement(translation: (0.4, 0.0, 0.0)))";

/// In the plane a ball joint is a hinge.
#[test]
fn a_ball_joint_closes_a_plane_loop_like_a_hinge() {
    let links = format!(
        "{CRANK}, {COUPLER}, \
         Link(name: \"rocker\", mass: 0.9, center_of_mass: (0.2, 0.0, 0.0), inertia: Diagonal(0.009, 0.009, 0.012))"
    );
    let scenes = [Z, "Spherical"]
        .map(|kind| scene_of(&links, &chain(), &format!("LoopJoint(name: \"c\", kind: {kind}, {TIPS})")));
    assert_same(&scenes, &["a.position", "b.position", "d.position", "a.friction", "energy.dissipated"], 1e-8);
}

/// A rocker cut in two and welded together again.
#[test]
fn a_weld_closes_a_loop_like_one_link() {
    let half =
        "Link(name: \"rocker\", mass: 0.9, center_of_mass: (0.2, 0.0, 0.0), inertia: Diagonal(0.009, 0.009, 0.012))";
    let stub =
        "Link(name: \"stub\", mass: 0.3, center_of_mass: (-0.1, 0.0, 0.0), inertia: Diagonal(0.001, 0.001, 0.001))";
    // about the common centre of mass, 0.225 m from the pivot
    let whole = "Link(name: \"rocker\", mass: 1.2, center_of_mass: (0.225, 0.0, 0.0), \
        inertia: Diagonal(0.01, 0.01225, 0.01525))";
    let joint = format!(
        "Joint(name: \"c\", parent: \"coupler\", child: \"stub\", kind: {Z}, position: 1.0455500947557359, \
         placement: Placement(translation: (0.55, 0.0, 0.0)), {FRICTION})"
    );
    let weld = "LoopJoint(name: \"weld\", kind: Fixed, links: (\"rocker\", \"stub\"), \
        placements: (Placement(translation: (0.4, 0.0, 0.0)), Placement()))";
    let scenes = [
        scene_of(&format!("{CRANK}, {COUPLER}, {half}, {stub}"), &format!("{}, {joint}", chain()), weld),
        scene_of(
            &format!("{CRANK}, {COUPLER}, {whole}"),
            &chain(),
            &format!("LoopJoint(name: \"c\", kind: {Z}, {TIPS}, {FRICTION})"),
        ),
    ];
    assert_same(&scenes, &["a.position", "b.position", "c.position", "d.position", "energy.kinetic"], 1e-8);
}

/// A slider-crank cut at the slide, or at the pin of the slider.
#[test]
fn a_slide_closes_a_loop_like_a_hinge_elsewhere() {
    let rod =
        "Link(name: \"rod\", mass: 0.5, center_of_mass: (0.17, 0.0, 0.0), inertia: Diagonal(0.001, 0.005, 0.005))";
    let slider = "Link(name: \"slider\", mass: 0.7, inertia: Diagonal(0.001, 0.001, 0.001))";
    let links = format!("{CRANK}, {rod}, {slider}");
    let (a, b) = (0.4_f64, -(0.4 + (0.12 * 0.4_f64.sin() / 0.35).asin()));
    let s = 0.12 * a.cos() + 0.35 * (a + b).cos();
    let c = -(a + b);
    let slide = "Prismatic(axis: (1.0, 0.0, 0.0))";
    for load in ["", ", load: Guide(length: 0.3)"] {
        let both = format!(
            "Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {Z}, position: {a:?}, \
                velocity: 8.0, {FRICTION}), \
             Joint(name: \"b\", parent: \"crank\", child: \"rod\", kind: {Z}, position: {b:?}, \
                placement: Placement(translation: (0.12, 0.0, 0.0)))"
        );
        let friction = format!("friction: Coulomb(coulomb: 0.2){load}");
        let scenes = [
            scene_of(
                &links,
                &format!(
                    "{both}, Joint(name: \"s\", parent: \"world\", child: \"slider\", kind: {slide}, \
                     position: {s:?}, {friction})"
                ),
                &format!(
                    "LoopJoint(name: \"c\", kind: {Z}, links: (\"rod\", \"slider\"), \
                     placements: (Placement(translation: (0.35, 0.0, 0.0)), Placement()))"
                ),
            ),
            scene_of(
                &links,
                &format!(
                    "{both}, Joint(name: \"c\", parent: \"rod\", child: \"slider\", kind: {Z}, position: {c:?}, \
                     placement: Placement(translation: (0.35, 0.0, 0.0)))"
                ),
                &format!("LoopJoint(name: \"s\", kind: {slide}, links: (\"world\", \"slider\"), {friction})"),
            ),
        ];
        assert_same(&scenes, &["a.position", "s.position", "c.position", "energy.dissipated"], 1e-7);
    }
}

/// Features that loops do not support yet are refused, never ignored.
#[test]
fn unsupported_combinations_are_refused_by_name() {
    let rod = "Link(name: \"rod\", mass: 1.0, center_of_mass: (0.3, 0.0, 0.0), inertia: Diagonal(0.01, 0.05, 0.05))";
    let mut scene = scene_of(
        rod,
        "Joint(name: \"f\", parent: \"world\", child: \"rod\", kind: Free)",
        "LoopJoint(name: \"c\", kind: Spherical, links: (\"world\", \"rod\"))",
    );
    scene.solver.method = Some(bristle::scene::Method::RealTime);
    scene.solver.control = Some(bristle::scene::Control::Constant { step: 1e-3 });
    let error = Simulation::new(&scene).err().unwrap().to_string();
    assert!(error.contains("`c`") && error.contains("free joints") && error.contains("Dopri5"), "{error}");
}

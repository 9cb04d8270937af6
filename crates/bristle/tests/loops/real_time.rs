//! `RealTime` with closed loops: order one towards the references, closed at every row, exact rest.

use bristle::prelude::*;
use bristle::scene::{Control, Method};
use rand::SeedableRng;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops").join(name)
}

fn real_time(mut scene: Scene, step: f64) -> Scene {
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step });
    scene
}

fn load(name: &str, step: f64) -> Scene {
    real_time(Scene::load(data(&format!("{name}.ron"))).unwrap(), step)
}

fn run(scene: &Scene) -> Recording {
    let mut sim = Simulation::new(scene).unwrap_or_else(|error| panic!("{error}"));
    sim.run_until(scene.duration).unwrap_or_else(|error| panic!("{error}"))
}

fn channel(recording: &Recording, name: &str) -> Vec<f64> {
    recording.channel(name).unwrap().collect()
}

/// Largest difference of positions from the reference.
fn error(name: &str, step: f64) -> f64 {
    let text = std::fs::read_to_string(data(&format!("{name}.csv"))).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let recording = run(&load(name, step));
    let t = channel(&recording, "t");
    let mut worst = 0.0_f64;
    for (k, name) in names.iter().enumerate().filter(|(_, name)| name.ends_with(".position")) {
        let found = channel(&recording, name);
        for row in &rows {
            let at = t.iter().position(|t| (t - row[0]).abs() < 1e-9).unwrap();
            worst = worst.max((found[at] - row[k]).abs());
        }
    }
    worst
}

/// Four-bar, five-bar with a joint that sticks while the others move, over-constrained loops, pins, gears and bristles.
#[test]
fn real_time_converges_with_order_one_in_loops() {
    for (name, largest) in [
        ("four_bar", 1e-2),
        ("four_bar_sine", 1e-2),
        ("four_bar_pin", 1e-2),
        ("slider_crank_coast", 0.2),
        ("five_bar", 1e-2),
        ("bricard", 1e-2),
        ("three_cranks", 1e-2),
        ("geared_lugre", 0.2),
    ] {
        let [coarse, fine] = [error(name, 1e-3), error(name, 1e-4)];
        // ten times smaller steps; cancellation of errors may make the coarse one small
        assert!(coarse < largest && fine < 0.2 * coarse, "{name}: {coarse:e} {fine:e}");
    }
}

/// A few parts in a million on either side of the threshold of self-locking: the fixed step holds and starts as well.
#[test]
fn self_locking_holds_and_starts() {
    assert_eq!(error("self_locking_hold", 1e-3), 0.0);
    let recording = run(&load("self_locking_start", 1e-3));
    let position = channel(&recording, "a.position");
    assert!((position[position.len() - 1] - position[0]).abs() > 1e-3);
}

/// Rows at the ends of steps and between them.
#[test]
fn loops_are_closed_at_every_row() {
    for interval in [0.01, 0.007] {
        let mut scene = load("four_bar", 2e-3);
        scene.output.interval = interval;
        let recording = run(&scene);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| channel(&recording, &format!("{name}.position")));
        let [va, vb, vc, vd] = ["a", "b", "c", "d"].map(|name| channel(&recording, &format!("{name}.velocity")));
        for k in 0..a.len() {
            let at = |length: f64, angle: f64| [length * angle.cos(), length * angle.sin()];
            let [crank, coupler, rocker] = [at(0.25, a[k]), at(0.55, a[k] + b[k]), at(0.4, d[k])];
            assert!((crank[0] + coupler[0] - rocker[0] - 0.6).abs() < 1e-13, "row {k}");
            assert!((crank[1] + coupler[1] - rocker[1] - 0.05).abs() < 1e-13, "row {k}");
            assert!((a[k] + b[k] + c[k] - d[k]).abs() < 1e-13, "row {k}");
            assert!((va[k] + vb[k] + vc[k] - vd[k]).abs() < 1e-12, "row {k}");
            let tip = va[k] * crank[1] + (va[k] + vb[k]) * coupler[1] - vd[k] * rocker[1];
            assert!(tip.abs() < 1e-12, "row {k}: {tip:e}");
        }
    }
}

/// Stuck joints keep every bit, also while the rest of the loop moves.
#[test]
fn stuck_joints_of_loops_keep_every_bit() {
    for (name, joints) in [("four_bar", "abcd"), ("five_bar", "abedc")] {
        let recording = run(&load(name, 1e-3));
        let mut n_stuck = 0;
        for joint in joints.chars() {
            let [mode, v, q] =
                ["mode", "velocity", "position"].map(|what| channel(&recording, &format!("{joint}.{what}")));
            for k in 1..mode.len() {
                if mode[k] == 0.0 && mode[k - 1] == 0.0 {
                    assert!(v[k] == 0.0 && q[k] == q[k - 1], "{name}, {joint}, row {k}: {} {}", v[k], q[k] - q[k - 1]);
                    n_stuck += 1;
                }
            }
        }
        assert!(n_stuck > 100, "{name}: {n_stuck}");
    }
}

/// Dry friction under reactions in loops of two degrees of freedom: friction follows load, heat follows friction.
#[test]
fn pins_of_a_five_bar_rub_under_their_reactions() {
    // a dry pin in place of every friction
    let text = std::fs::read_to_string(data("five_bar.ron")).unwrap();
    let lines = text.lines().map(|line| match line.find("friction:") {
        Some(at) => format!("{}friction: Coulomb(coulomb: 0.2), load: Pin(radius: 0.02),\n", &line[..at]),
        None => format!("{line}\n"),
    });
    let scene = Scene::parse(&lines.collect::<String>(), "five-bar").unwrap_or_else(|error| panic!("{error}"));
    let scene = real_time(scene, 1e-4);
    let recording = run(&scene);
    for joint in &scene.joints {
        let of = |what: &str| channel(&recording, &format!("{}.{what}", joint.name));
        let (friction, load, v, mode) = (of("friction"), of("load"), of("velocity"), of("mode"));
        for k in (0..v.len()).filter(|&k| mode[k] != 0.0) {
            let expected = 0.2 * 0.02 * load[k] * mode[k];
            assert!((friction[k] - expected).abs() < 1e-6 * expected.abs() + 1e-9, "{} row {k}", joint.name);
        }
    }
    let balance = channel(&recording, "energy.balance").iter().fold(0.0_f64, |most, e| most.max(e.abs()));
    let heat = *channel(&recording, "energy.dissipated").last().unwrap();
    assert!(heat > 0.05 && balance < 0.02 * heat, "{heat} {balance}");
}

#[test]
fn a_snapshot_of_loops_goes_on_bit_by_bit() {
    for name in ["five_bar", "four_bar_pin"] {
        let scene = load(name, 1e-3);
        let mut sim = Simulation::new(&scene).unwrap();
        sim.run_until(1.3).unwrap();
        let snapshot = sim.snapshot().unwrap();
        let mut other = Simulation::new(&scene).unwrap();
        other.restore(&snapshot).unwrap();
        sim.run_until(1.6).unwrap();
        other.run_until(1.6).unwrap();
        assert_eq!(sim.positions(), other.positions(), "{name}");
        assert_eq!(sim.velocities(), other.velocities(), "{name}");
    }
}

/// Forty parallelograms stay parallelograms through singular positions.
#[test]
fn forty_four_bars_stay_parallel() {
    let solver = "Solver(method: RealTime, control: Constant(step: 1e-3))";
    let recording = run(&crate::references::n_four_bar(40, "", solver, 2.0));
    let (first, last) = (channel(&recording, "a0.position"), channel(&recording, "a40.position"));
    assert!(first.iter().zip(&last).all(|(a, b)| (a - b).abs() < 1e-9));
    assert!(first[first.len() - 1] < -3.0, "{first:?}");
}

/// A block on a prescribed cart that nothing pushes stays where it is in space, to rounding, in a machine with a loop,
/// too: its velocity is that which takes the cart to the value of its signal.
#[test]
fn a_block_on_a_prescribed_cart_stays_in_place() {
    let text = std::fs::read_to_string(data("four_bar.ron")).unwrap();
    let x = "kind: Prismatic(axis: (1.0, 0.0, 0.0))";
    let joints = format!(
        "joints: [Joint(name: \"rail\", parent: \"world\", child: \"cart\", {x}, drive: Motion(Sine(amplitude: 0.2, \
         frequency: 3.0))), Joint(name: \"slide\", parent: \"cart\", child: \"block\", {x}, velocity: -0.6),"
    );
    let links = "links: [Link(name: \"cart\", mass: 1.0), Link(name: \"block\", mass: 2.0),";
    let text = text.replacen("links: [", links, 1).replacen("joints: [", &joints, 1);
    let mut scene = real_time(Scene::parse(&text, "four-bar").unwrap_or_else(|error| panic!("{error}")), 2e-3);
    scene.duration = 2.0;
    let recording = run(&scene);
    let rows = channel(&recording, "rail.position").into_iter().zip(channel(&recording, "slide.position"));
    for (t, (rail, slide)) in channel(&recording, "t").into_iter().zip(rows) {
        assert!((rail - 0.2 * (3.0 * t).sin()).abs() < 1e-14, "t {t}: {rail}");
        assert!((rail + slide).abs() < 1e-12, "t {t}: {rail} {slide}");
    }
}

/// Largest differences of positions from those of `Dopri5`, at steps of 1 ms and 0.1 ms, and the finer run.
fn against_dopri5(scene: &Scene) -> ([f64; 2], Recording) {
    let exact = run(scene);
    let names: Vec<String> = exact.names().iter().filter(|name| name.contains(".position")).cloned().collect();
    let mut errors = [0.0_f64; 2];
    let runs = [1e-3, 1e-4].map(|step| run(&real_time(scene.clone(), step)));
    for (error, run) in errors.iter_mut().zip(&runs) {
        for name in &names {
            let pairs = exact.channel(name).unwrap().zip(run.channel(name).unwrap());
            *error = pairs.map(|(a, b)| (a - b).abs()).fold(*error, f64::max);
        }
    }
    let [_, fine] = runs;
    (errors, fine)
}

/// A dry clutch between both cranks of a five-bar slips, sticks while they move, and slips again.
#[test]
fn a_clutch_between_the_cranks_of_a_five_bar() {
    let text = std::fs::read_to_string(data("five_bar.ron")).unwrap();
    let clutch = "couplings: [Clutch(name: \"k\", joints: (\"a\", \"e\"), friction: Coulomb(coulomb: 1.5)),";
    let text = text.replacen("couplings: [", clutch, 1);
    // ten times less friction in the joints: it moves while the clutch sticks
    let lines = text.lines().map(|line| match line.find("friction: Coulomb(") {
        Some(_) if !line.contains("Clutch") => line.replace("(coulomb: 0.", "(coulomb: 0.0"),
        _ => line.to_owned(),
    });
    let mut scene = Scene::parse(&lines.collect::<Vec<_>>().join("\n"), "five-bar").unwrap();
    scene.duration = 1.5;
    let (errors, fine) = against_dopri5(&scene);
    assert!(errors[0] < 5e-2 && errors[1] < 0.3 * errors[0], "{errors:?}");
    let [a, e, mode] = ["a.velocity", "e.velocity", "k.mode"].map(|name| channel(&fine, name));
    let stuck: Vec<usize> = (0..mode.len()).filter(|&k| mode[k] == 0.0 && a[k].abs() > 0.1).collect();
    assert!(stuck.len() > 20, "{}", stuck.len());
    assert!(stuck.iter().all(|&k| a[k] == e[k]), "no slip, to the last bit");
}

/// Two clutches hold four joints of a six-bar of three degrees of freedom together: one of these depends on the others.
#[test]
fn a_clutch_between_dependent_joints_is_refused_by_name() {
    let mut rng = rand_pcg::Pcg64::seed_from_u64(3);
    let (bars, corners) = crate::random::random(&mut rng, 5);
    let solver = "Solver(method: RealTime, control: Constant(step: 0.001))";
    let text = crate::random::text(&bars, &corners, &[], "damping: 0.01", solver);
    let clutch = |name: &str, joints: &str| {
        format!("Clutch(name: \"{name}\", joints: ({joints}), friction: Coulomb(coulomb: 1e3)), ")
    };
    let clutches = clutch("k", "\"j0\", \"j1\"") + &clutch("m", "\"j2\", \"j3\"");
    let text = text.replacen("couplings: [", &format!("couplings: [{clutches}"), 1);
    let mut sim = Simulation::new(&Scene::parse(&text, "six-bar").unwrap()).unwrap();
    let error = sim.run_until(0.5).err().unwrap().to_string();
    assert!(error.contains("clutch") && error.contains("`k`") | error.contains("`m`"), "{error}");
}

/// A four-bar on a floating base: loops within its tree leave its momentum alone.
#[test]
fn a_floating_four_bar_keeps_its_momentum() {
    let z = "kind: Revolute(axis: (0.0, 0.0, 1.0))";
    let rub = "friction: Coulomb(coulomb: 0.1)";
    let text = format!(
        "Scene(gravity: (0.0, 0.0, 0.0), links: [
            Link(name: \"base\", mass: 3.0, center_of_mass: (0.1, 0.05, 0.02), inertia: Diagonal(0.03, 0.04, 0.05)),
            Link(name: \"crank\", mass: 0.8, center_of_mass: (0.125, 0.0, 0.0), inertia: Diagonal(0.003, 0.003, 0.004)),
            Link(name: \"coupler\", mass: 1.1, center_of_mass: (0.26, 0.06, 0.0), inertia: Diagonal(0.03, 0.03, 0.035)),
            Link(name: \"rocker\", mass: 0.9, center_of_mass: (0.2, 0.0, 0.0), inertia: Diagonal(0.009, 0.009, 0.012))],
         joints: [
            Joint(name: \"f\", parent: \"world\", child: \"base\", kind: Free,
                velocity: Twist(angular: (0.3, 1.0, -0.4), linear: (0.1, 0.2, 0.0))),
            Joint(name: \"a\", parent: \"base\", child: \"crank\", {z}, position: 1.0, velocity: 12.0, {rub}),
            Joint(name: \"b\", parent: \"crank\", child: \"coupler\", {z}, position: -0.5515711310945666,
                placement: Placement(translation: (0.25, 0.0, 0.0)), {rub}),
            Joint(name: \"d\", parent: \"base\", child: \"rocker\", {z}, position: 1.4939789636611693,
                placement: Placement(translation: (0.6, 0.05, 0.0)), {rub})],
         couplings: [LoopJoint(name: \"c\", {z}, links: (\"coupler\", \"rocker\"),
            placements: (Placement(translation: (0.55, 0.0, 0.0)), Placement(translation: (0.4, 0.0, 0.0))), {rub},
            load: Pin(radius: 0.02))],
         solver: Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12)), duration: 1.0,
         output: Output(interval: 0.01))"
    );
    let scene = Scene::parse(&text, "floating four-bar").unwrap_or_else(|error| panic!("{error}"));
    let (errors, _) = against_dopri5(&scene);
    assert!(errors[0] < 0.1 && errors[1] < 0.2 * errors[0], "{errors:?}");
    // momentum about the origin and linear, from masses, centres and inertias of the scene
    let mut sim = Simulation::new(&real_time(scene.clone(), 1e-3)).unwrap();
    let momentum = |sim: &mut Simulation| {
        let (mut linear, mut angular) = (nalgebra::Vector3::zeros(), nalgebra::Vector3::zeros());
        for link in &scene.links {
            let pose = sim.pose(link.name.as_str()).unwrap();
            let velocity = sim.link_velocity(link.name.as_str(), link.center_of_mass).unwrap();
            let (spin, p) = (velocity.angular, velocity.linear * link.mass);
            let arm = pose.rotation * nalgebra::Vector3::from(link.center_of_mass);
            let [[xx, ..], [_, yy, _], [.., zz]] = link.inertia.matrix();
            let own = nalgebra::Vector3::new(xx, yy, zz).component_mul(&(pose.rotation.inverse() * spin));
            linear += p;
            angular += (pose.translation.vector + arm).cross(&p) + pose.rotation * own;
        }
        (linear, angular)
    };
    let (p, l) = momentum(&mut sim);
    sim.run_until(1.0).unwrap();
    let (p1, l1) = momentum(&mut sim);
    assert!((p1 - p).norm() < 1e-11 * p.norm() && (l1 - l).norm() < 1e-11 * l.norm(), "{p} {p1} {l} {l1}");
}

/// A crank that turns for long: gaps are as small as the rounding of its angle, here of some 7,000 rad.
#[test]
fn a_crank_turns_for_long_and_its_loop_stays_closed() {
    let text = std::fs::read_to_string(data("four_bar.ron")).unwrap();
    let lines = text.lines().map(|line| match line.find("friction:") {
        Some(at) => format!("{}damping: 0.02,\n", &line[..at]),
        None => format!("{line}\n"),
    });
    let text = lines.collect::<String>().replacen("name: \"a\",", "name: \"a\", drive: Effort(Constant(1.5)),", 1);
    let mut scene = real_time(Scene::parse(&text, "four-bar").unwrap_or_else(|error| panic!("{error}")), 5e-3);
    (scene.duration, scene.output.interval) = (250.0, 2.5);
    let recording = run(&scene);
    let [a, b, d] = ["a", "b", "d"].map(|name| channel(&recording, &format!("{name}.position")));
    assert!(a[a.len() - 1].abs() > 3000.0, "{}", a[a.len() - 1]);
    for k in 0..a.len() {
        let at = |length: f64, angle: f64| [length * angle.cos(), length * angle.sin()];
        let [crank, coupler, rocker] = [at(0.25, a[k]), at(0.55, a[k] + b[k]), at(0.4, d[k])];
        let rounding = 1e-14 + 4.0 * f64::EPSILON * a[k].abs();
        assert!((crank[0] + coupler[0] - rocker[0] - 0.6).abs() < rounding, "row {k}");
        assert!((crank[1] + coupler[1] - rocker[1] - 0.05).abs() < rounding, "row {k}");
    }
}

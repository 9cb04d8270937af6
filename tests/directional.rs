//! Friction of real axes: directions, powers of speed, offsets, logs.

use bristle::friction::{Coulomb, Directional, Law, Stribeck};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::{Recording, Simulation};

/// A block of 2 kg on a slide; `rest` are further fields of its joint and of the scene.
fn block(fields: &str, duration: f64) -> Scene {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"c\", mass: 2.0)], joints: [Joint(name: \"s\", parent: \
         \"world\", child: \"c\", kind: Prismatic(axis: (1, 0, 0)), {fields})], duration: {duration:?})"
    );
    Scene::parse(&text, "block.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scene: &Scene) -> (Simulation, Recording) {
    let mut sim = Simulation::new(scene).unwrap();
    let recording = sim.run_until(scene.duration).unwrap();
    (sim, recording)
}

const PAIR: &str = "friction: Directional(forward: Coulomb(coulomb: 1.0, stiction: 1.5, viscous: 0.8), backward: \
                    Coulomb(coulomb: 1.4, stiction: 2.2, viscous: 1.0))";

#[test]
fn a_stuck_joint_holds_between_its_two_levels() {
    // the effort reaches 1.5 at 1.5 s one way, 2.2 at 2.2 s the other
    for (rate, leaves, mode) in [(1.0, 1.5, 1.0), (-1.0, 2.2, -1.0)] {
        for method in [Method::Dopri5, Method::Radau5] {
            let mut scene = block(&format!("{PAIR}, drive: Effort(Ramp(rate: {rate:?}))"), 3.0);
            scene.solver.method = Some(method);
            let (_, recording) = run(&scene);
            let events = recording.events();
            assert_eq!(events.len(), 1, "{events:?}");
            assert!((events[0].t - leaves).abs() < 1e-9, "{method:?} {rate}: {events:?}");
            assert_eq!(recording.last("s.mode").unwrap(), mode);
            let stuck = recording.channel("t").unwrap().zip(recording.channel("s.velocity").unwrap());
            assert!(stuck.filter(|(t, _)| *t < leaves).all(|(_, v)| v == 0.0));
        }
    }
}

#[test]
fn each_direction_decays_by_its_own_law() {
    // m v̇ = −f − k v: v = (v₀ + f/k) exp(−k t/m) − f/k
    for (v0, f, k) in [(1.0, 1.0, 0.8), (-1.0, 1.4, 1.0)] {
        let (_, recording) = run(&block(&format!("{PAIR}, velocity: {v0:?}"), 0.5));
        let v = (1.0 + f / k) * f64::exp(-k * 0.5 / 2.0) - f / k;
        let error = recording.last("s.velocity").unwrap() - v * f64::signum(v0);
        assert!(error.abs() < 1e-9, "{error:e}");
    }
}

#[test]
fn a_power_of_speed_stops_a_joint_in_finite_time() {
    // with f = 1e-9 of dry friction: v = (v₀^(1−n) − (1−n) k t/m)^(1/(1−n)), rest at T = m v₀^(1−n)/((1−n) k)
    for n in [0.4, 0.5, 0.8, 1.7] {
        let law = format!("friction: Coulomb(coulomb: 1.0e-9, viscous: 3.0, viscous_exponent: {n:?}), velocity: 1.3");
        for method in [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }] {
            let mut scene = block(&law, 0.5);
            scene.solver.method = Some(method);
            let (_, recording) = run(&scene);
            let base = f64::powf(1.3, 1.0 - n) - (1.0 - n) * 3.0 * 0.5 / 2.0;
            let error = recording.last("s.velocity").unwrap() - base.powf(1.0 / (1.0 - n));
            // the dry part takes 5e-10·0.5 of the speed; α to its own tolerance
            let tolerance = if method == Method::Dopri5 || method == Method::Radau5 { 1e-7 } else { 1e-5 };
            assert!(error.abs() < tolerance, "{n} {method:?}: {error:e}");
            let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
            assert!(worst < tolerance * 1.69, "{n} {method:?}: balance {worst:e}");
        }
    }
    let (_, recording) =
        run(&block("friction: Coulomb(coulomb: 0.01, viscous: 3.0, viscous_exponent: 0.5), velocity: 1.0", 2.0));
    assert_eq!(recording.last("s.velocity").unwrap(), 0.0);
    // m v̇ = −f − k √v, u = √v: T = (2m/k) (u₀ − (f/k) ln(1 + k u₀/f))
    let (f, k) = (0.01, 3.0);
    let rest = 4.0 / k * (1.0 - f / k * f64::ln(1.0 + k / f));
    let stop = recording.events()[0].t;
    assert!((stop - rest).abs() < 1e-7, "{stop} {rest}");
}

/// Laws whose parts differ by direction and speed, in steps of `RealTime`, tend to the located solution.
#[test]
fn real_time_tends_to_the_located_solution() {
    let power = |c: &str| c.replace("viscous: 0.8", "viscous: 0.8, viscous_exponent: 0.6");
    let lugre = "friction: Directional(forward: LuGre(sigma0: 1e4, sigma1: 50.0, sigma2: 1.0, viscous_exponent: 0.7, \
                 coulomb: 1.0, stiction: 1.3, stribeck_velocity: 0.01), backward: LuGre(sigma0: 1e4, sigma1: 30.0, \
                 sigma2: 0.4, coulomb: 1.5, stiction: 2.0, stribeck_velocity: 0.01))";
    let plastic = lugre.replace("LuGre(", "ElastoPlastic(breakaway: 5.0e-5, ");
    let tanh = "friction: Tanh(coulomb: 0.5, stribeck_velocity: 0.01, viscous: 3.0, viscous_exponent: 0.5)";
    for law in [PAIR, &power(PAIR), lugre, &plastic, tanh] {
        let fields = format!("{law}, velocity: 1.0, offset: 0.3, drive: Effort(Sine(amplitude: 4.0, frequency: 3.0))");
        let mut scene = block(&fields, 4.0);
        let (_, located) = run(&scene);
        scene.solver.method = Some(Method::RealTime);
        let error = |step: f64, scene: &mut Scene| {
            scene.solver.control = Some(Control::Constant { step });
            let (_, recording) = run(scene);
            (recording.last("s.position").unwrap() - located.last("s.position").unwrap()).abs()
        };
        let errors = [2e-3, 2e-4].map(|step| error(step, &mut scene));
        // order 1, less where a power of speed has its pole
        assert!(errors[0] < 5e-3 && errors[1] < 0.35 * errors[0].max(1e-5), "{law}: {errors:?}");
    }
}

#[test]
fn formulations_agree_on_a_directional_pin() {
    let text = "Scene(links: [Link(name: \"l\", mass: 1.0, center_of_mass: (0.5, 0, 0), inertia: \
                Diagonal(0.01, 0.08, 0.08))], joints: [Joint(name: \"j\", parent: \"world\", child: \"l\", kind: \
                Revolute(axis: (0, 1, 0)), friction: Directional(forward: Coulomb(coulomb: 0.2, stiction: 0.3, \
                viscous: 0.1), backward: Coulomb(coulomb: 0.4, stiction: 0.5)), load: \
                Pin(radius: 0.05))], duration: 4.0)";
    let end = |method: &str, formulation: &str| {
        let overrides = [("solver.method", method), ("formulation", formulation)];
        let (_, recording) = run(&Scene::parse_with(text, "pin.ron", &overrides).unwrap());
        let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
        assert!(worst < 1e-6, "{formulation}: {worst:e}");
        (recording.last("j.position").unwrap(), recording.events().len())
    };
    let (reference, n) = end("Radau5", "Implicit");
    assert!(n > 3);
    for (method, formulation) in [("Dopri5", "Implicit"), ("Dopri5", "Jerk"), ("Radau5", "Residual")] {
        let (position, events) = end(method, formulation);
        assert!((position - reference).abs() < 1e-6 && events == n, "{formulation}: {position} {reference}");
    }
}

#[test]
fn an_offset_is_work_put_in() {
    let (_, recording) = run(&block("offset: 0.7, damping: 0.5", 2.0));
    // m v̇ = o − d v
    let v = 0.7 / 0.5 * (1.0 - f64::exp(-0.5));
    assert!((recording.last("s.velocity").unwrap() - v).abs() < 1e-9);
    let input = 0.7 * recording.last("s.position").unwrap();
    assert!((recording.last("energy.input").unwrap() - input).abs() < 1e-8);
    // inverse dynamics count it among the known efforts
    let mut sim = Simulation::new(&block("offset: 0.7", 1.0)).unwrap();
    let mut tau = [0.0];
    sim.efforts_for(&[3.0], &mut tau).unwrap();
    assert!((tau[0] - (6.0 - 0.7)).abs() < 1e-12);
}

#[test]
fn a_log_drives_like_its_table() {
    let folder = std::env::temp_dir().join(format!("bristle_directional_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let points: Vec<(f64, f64)> =
        (0..=200).map(|k| (0.01 * f64::from(k), f64::sin(0.37 * f64::from(k)) * 3.0)).collect();
    let mut text = String::from("t_s,other,force\n");
    points.iter().for_each(|(t, f)| text += &format!("{t:?},0,{f:?}\n"));
    std::fs::write(folder.join("run.csv"), text).unwrap();
    let scene = |drive: &str| {
        let text = format!(
            "Scene(gravity: (0, 0, 0), links: [Link(name: \"c\", mass: 2.0)], joints: [Joint(name: \"s\", parent: \
             \"world\", child: \"c\", kind: Prismatic(axis: (1, 0, 0)), {PAIR}, drive: Effort({drive}))], duration: \
             2.0)"
        );
        std::fs::write(folder.join("block.ron"), text).unwrap();
        Scene::load(folder.join("block.ron")).unwrap_or_else(|error| panic!("{error}"))
    };
    let log = scene("Log(file: \"run.csv\", column: \"force\", time: \"t_s\")");
    let table = scene(&format!("Table({points:?})"));
    let ((mut sim, a), (_, b)) = (run(&log), run(&table));
    for channel in ["s.position", "s.velocity", "s.drive", "energy.input"] {
        assert!((a.last(channel).unwrap() - b.last(channel).unwrap()).abs() < 1e-10, "{channel}");
    }
    // no restarts at samples: about six evaluations a step
    assert!(sim.stats().n_rhs < 8 * sim.stats().n_accepted, "{:?}", sim.stats());
    let (saved, mut other) = (sim.snapshot().unwrap(), Simulation::new(&log).unwrap());
    other.restore(&saved).unwrap();
    sim.step(0.1).unwrap();
    other.step(0.1).unwrap();
    assert_eq!(sim.positions(), other.positions());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn laws_in_code_are_those_of_scenes() {
    let side = |coulomb| Stribeck {
        coulomb,
        stiction: 1.5 * coulomb,
        stribeck_velocity: Some(0.1),
        exponent: 2.0,
        viscous: 0.3,
        peak: 1.0,
    };
    let law = Law::from(Directional::new(Law::from(side(1.0)).with_viscous_exponent(0.5), side(2.0)));
    let mut scene = block("velocity: 1.0", 1.0);
    scene.joints[0].friction = Some(law);
    let again = Scene::parse(&scene.to_ron().unwrap(), "again.ron").unwrap();
    assert_eq!(again.joints[0].friction, scene.joints[0].friction);
    let refused = Coulomb { coulomb: 1.0, stiction: 0.5, viscous: 0.0 };
    scene.joints[0].friction = Some(Directional::new(refused, refused).into());
    assert!(scene.validate().unwrap_err().to_string().contains("stiction"));
}

//! Friction laws that users write: the same motion as the laws of the library that they repeat.

use bristle::friction::{
    Custom, CustomLaw, Evaluation, Finding, FrictionLaw, ImplicitStep, Law, LuGre, State, Stribeck,
};
use bristle::prelude::*;
use bristle::scene::{Control, Method, Solver};

/// A block on a moving spring: it sticks and slips.
const BLOCK: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "block", mass: 1.0)],
    joints: [Joint(name: "slide", parent: "world", child: "block", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
        drive: Pull(stiffness: 40.0, target: Ramp(rate: 0.0973)))],
    duration: 4.0,
)"#;

const STRIBECK: Stribeck =
    Stribeck { coulomb: 1.0, stiction: 1.6, stribeck_velocity: Some(0.05), exponent: 2.0, viscous: 0.4, peak: 1.0 };

const LUGRE: LuGre = LuGre {
    sigma0: 1e4,
    sigma1: 60.0,
    sigma2: 0.4,
    coulomb: 1.0,
    stiction: 1.6,
    stribeck_velocity: Some(0.05),
    exponent: 2.0,
    damping_velocity: None,
};

fn stribeck_by_closure() -> Custom {
    Custom::dry("own Stribeck", 1.6, 0.05, |speed: f64| 1.0 + 0.6 * (-(speed / 0.05).powi(2)).exp() + 0.4 * speed)
}

/// LuGre under another name, every answer that of the library.
struct OwnLuGre;

impl FrictionLaw for OwnLuGre {
    fn n_states(&self) -> usize {
        1
    }
    fn validate(&self) -> Vec<Finding> {
        Vec::new()
    }
    fn evaluate(&self, v: f64, state: State) -> Evaluation {
        LUGRE.evaluate(v, state)
    }
    fn steady_state(&self, v: f64) -> State {
        LUGRE.steady_state(v)
    }
    fn time_constant(&self, v: f64) -> f64 {
        LUGRE.time_constant(v)
    }
    fn stored_energy(&self, state: State) -> f64 {
        LUGRE.stored_energy(state)
    }
    fn dissipated_power(&self, v: f64, state: State) -> f64 {
        LUGRE.dissipated_power(v, state)
    }
    fn implicit_step(&self, h: f64, v: f64, v_level: f64, state: State) -> ImplicitStep {
        LUGRE.implicit_step(h, v, v_level, state)
    }
}

impl CustomLaw for OwnLuGre {
    fn sigma0(&self) -> f64 {
        LUGRE.sigma0
    }
    fn coulomb_level(&self) -> f64 {
        LUGRE.stiction
    }
    fn stribeck_velocity(&self) -> Option<f64> {
        LUGRE.stribeck_velocity
    }
}

fn scene(law: impl Into<Law>, method: Option<(Method, Control)>) -> Scene {
    let mut scene = Scene::parse(BLOCK, "block.ron").unwrap();
    scene.joints[0].friction = Some(law.into());
    if let Some((method, control)) = method {
        scene.solver = Solver { method: Some(method), control: Some(control), ..Solver::default() };
    }
    scene
}

fn run(scene: &Scene) -> (Simulation, Recording) {
    let mut sim = Simulation::new(scene).unwrap();
    let recording = sim.run_until(scene.duration).unwrap();
    (sim, recording)
}

fn worst(a: &Recording, b: &Recording, channel: &str) -> f64 {
    let (a, b) = (a.channel(channel).unwrap(), b.channel(channel).unwrap());
    assert_eq!(a.len(), b.len());
    a.zip(b).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()))
}

#[test]
fn a_closure_of_a_level_equals_its_law() {
    let tight = || Some((Method::Dopri5, Control::Error { rtol: 1e-10, atol: 1e-12 }));
    let ((_, own), (_, given)) = (run(&scene(stribeck_by_closure(), tight())), run(&scene(STRIBECK, tight())));
    // integration errors of 1e-10 grow over some ten slips
    assert!(worst(&own, &given, "slide.position") < 1e-8, "{}", worst(&own, &given, "slide.position"));
    let events = |recording: &Recording| recording.events().iter().map(|event| event.t).collect::<Vec<_>>();
    let (own_events, given_events) = (events(&own), events(&given));
    assert!(own_events.len() == given_events.len() && own_events.len() > 4, "{own_events:?} {given_events:?}");
    for (a, b) in own_events.iter().zip(&given_events) {
        assert!((a - b).abs() < 1e-8, "{a} {b}");
    }
    // stuck is 0.0, and the ledger closes
    assert!(own.channel("slide.velocity").unwrap().filter(|v| *v == 0.0).count() > 50);
    let worst_balance = own.channel("energy.balance").unwrap().fold(0.0, |worst: f64, x| worst.max(x.abs()));
    assert!(worst_balance < 1e-8, "{worst_balance}");
}

#[test]
fn closure_runs_in_real_time_and_implicitly() {
    // Radau5: slopes by differences have ten digits. RealTime is of first order, and the library takes the viscous part
    // of its laws, which a closure does not tell apart, implicitly: h times some 0.1 m/s
    for (method, control, bound) in [
        (Method::RealTime, Control::Constant { step: 1e-3 }, 2e-4),
        (Method::Radau5, Control::Error { rtol: 1e-8, atol: 1e-10 }, 1e-6),
    ] {
        let settings = || Some((method, control));
        let (_, own) = run(&scene(stribeck_by_closure(), settings()));
        let (_, given) = run(&scene(STRIBECK, settings()));
        let off = worst(&own, &given, "slide.position");
        assert!(off < bound, "{method:?} {off}");
        // it has moved, and stood still
        assert!(own.last("slide.position").unwrap() > 0.2);
        assert!(own.channel("slide.velocity").unwrap().filter(|v| *v == 0.0).count() > 50);
    }
}

#[test]
fn bristles_of_ones_own_have_the_bits_of_lugre() {
    let settings = || Some((Method::Radau5, Control::Error { rtol: 1e-6, atol: 1e-8 }));
    let own = Custom::new("own LuGre", OwnLuGre);
    let ((mut sim, own), (_, given)) = (run(&scene(own, settings())), run(&scene(LUGRE, settings())));
    for channel in ["slide.position", "slide.z", "slide.friction", "energy.bristle"] {
        assert!(worst(&own, &given, channel) < 1e-9, "{channel} {}", worst(&own, &given, channel));
    }
    assert!(sim.energy().unwrap().balance.abs() < 1e-4);
}

#[test]
fn snapshots_name_custom_laws() {
    let own = || Custom::new("own LuGre", OwnLuGre);
    let mut first = Simulation::new(&scene(own(), None)).unwrap();
    first.run_until(1.3).unwrap();
    let bytes = first.snapshot().unwrap();
    let mut second = Simulation::new(&scene(own(), None)).unwrap();
    second.restore(&bytes).unwrap();
    first.step(0.4).unwrap();
    second.step(0.4).unwrap();
    assert_eq!((first.positions(), first.bristles()), (second.positions(), second.bristles()));
    // another name is another law, and a law of the library is none
    for other in [Law::from(Custom::new("another", OwnLuGre)), Law::from(LUGRE)] {
        let error = Simulation::new(&scene(other, None)).unwrap().restore(&bytes).unwrap_err().to_string();
        assert!(error.contains("friction"), "{error}");
    }
}

#[test]
fn copies_of_a_batch_share_the_law() {
    let mut sim = Simulation::new(&scene(stribeck_by_closure(), None)).unwrap();
    let mut batch = Batch::new(&mut sim, 3).unwrap();
    for _ in 0..20 {
        batch.step(0.05).unwrap();
        sim.step(0.05).unwrap();
    }
    assert_eq!(batch.positions(), [sim.positions()[0]; 3]);
    // and take another one of their kind at run time
    batch.set_friction(1, "slide", Custom::dry("slippery", 0.2, 0.05, |_| 0.1)).unwrap();
    batch.step(0.5).unwrap();
    assert!(batch.positions()[1] > batch.positions()[0] && batch.positions()[0] == batch.positions()[2]);
}

#[test]
fn scenes_refuse_to_be_written_with_code_in_them() {
    let scene = scene(stribeck_by_closure(), None);
    let error = scene.to_ron().unwrap_err().to_string();
    assert!(error.contains("`slide` has the law `own Stribeck`, which exists in code alone"), "{error}");
    // nor is a name read as a law
    let text = BLOCK.replace("drive:", "friction: Custom(name: \"x\"), drive:");
    assert!(Scene::parse(&text, "block.ron").is_err());
}

#[test]
fn unusable_closures_are_refused_by_joint_and_law() {
    let error = Simulation::new(&scene(Custom::dry("rubber", 0.5, 0.05, |_| 0.6), None)).err().unwrap().to_string();
    assert!(error.contains("rubber") && error.contains("slide") && error.contains("stiction"), "{error}");
}

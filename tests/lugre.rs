//! Bristle friction in time, against tables computed independently (Radau with an exact Jacobian, checked with LSODA).

use crate::stick_slip::{assert_near, simulation, slider};
use bristle::friction::LuGre;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use std::f64::consts::{FRAC_PI_2, PI};

/// The parameters of Canudas de Wit, Olsson, Åström and Lischinsky (1995).
const PARAMETERS: &str =
    "sigma0: 1e5, sigma1: 316.22776601683796, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 1e-3";

/// Bristles are micrometres: absolute tolerances below that.
const FINE: &str = "Error(rtol: 1e-10, atol: 1e-15)";

fn run(joint: &str, interval: f64, until: f64) -> Recording {
    let fields = format!("{}, output: Output(interval: {interval:?})", slider(1.0, joint));
    simulation(&fields, "Radau5", FINE).run_until(until).unwrap_or_else(|error| panic!("{error}"))
}

fn channel(recording: &Recording, name: &str) -> Vec<f64> {
    recording.channel(name).unwrap().collect()
}

#[test]
fn stick_slip() {
    // L5: 1 kg pulled through 2 N/m at 0.1 m/s
    let joint = format!("friction: LuGre({PARAMETERS}), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))");
    let recording = run(&joint, 1e-4, 20.0);
    assert_near("x at 20 s", recording.last("slide.position").unwrap(), 1.2725964123237923, 1e-9);
    let (t, x) = (channel(&recording, "t"), channel(&recording, "slide.position"));
    let spring: Vec<f64> = t.iter().zip(&x).map(|(t, x)| 2.0 * (0.1 * t - x)).collect();
    let peaks: Vec<usize> = (1..t.len() - 1)
        .filter(|&k| spring[k] > 1.0 && spring[k - 1] < spring[k] && spring[k] >= spring[k + 1])
        .collect();
    assert_eq!(peaks.len(), 2);
    for (&k, (time, force)) in peaks.iter().zip([(7.6454, 1.5079878335430066), (14.0081, 1.507987833473132)]) {
        assert_near("time of a peak", t[k], time, 1.5e-4);
        // flat at the top: a row off by half a step is off by its square
        assert_near("force of a peak", spring[k], force, 1e-8);
    }
    let fastest = channel(&recording, "slide.velocity").into_iter().fold(0.0, f64::max);
    assert_near("fastest", fastest, 0.3698159989269699, 1e-7);
}

#[test]
fn break_away_force_falls_with_the_rate_of_the_force() {
    // L4: largest friction before the velocity reaches 1e-2
    for (rate, expected) in
        [(1.0, 1.4324150268905051), (2.0, 1.3944159472251816), (5.0, 1.3132085956650208), (20.0, 1.0986141375074585)]
    {
        let recording = run(
            &format!("friction: LuGre({PARAMETERS}), drive: Effort(Ramp(rate: {rate:?}))"),
            1e-5,
            1.45 / rate + 0.2,
        );
        let (v, friction) = (channel(&recording, "slide.velocity"), channel(&recording, "slide.friction"));
        let end = v.iter().position(|&v| v >= 1e-2).unwrap();
        let most = friction[..end].iter().fold(0.0, |most: f64, &f| most.max(f));
        assert_near("break-away", most, expected, 2e-6);
    }
}

#[test]
fn pre_sliding_hysteresis() {
    // L2, in micrometres
    let force = "Table([(0.0, 0.0), (20.0, 1.425), (40.0, 1.425), (80.0, -1.425), (120.0, 1.425)])";
    let recording = run(&format!("friction: LuGre({PARAMETERS}), drive: Effort({force})"), 20.0, 120.0);
    let expected = [
        0.0,
        4.48933931405864e-05,
        4.511710524563046e-05,
        3.5101921003995245e-05,
        -9.79372828023e-06,
        8.037143776127811e-08,
        4.4976020719679544e-05,
    ];
    for (x, expected) in channel(&recording, "slide.position").into_iter().zip(expected) {
        assert_near("position", x, expected, 1e-12);
    }
}

#[test]
fn vibration_drift_lugre_but_not_elasto_plastic() {
    // L7: 0.8 + 0.4 sin 2πt N, peak 1.2 of 1.5
    let drive = format!("drive: Effort(Sine(amplitude: 0.4, frequency: {:?}, offset: 0.8))", 2.0 * PI);
    let recording = run(&format!("friction: LuGre({PARAMETERS}), bristle: (z: 8e-6), {drive}"), 10.0, 50.0);
    let expected = [
        0.0,
        0.00014268291176601532,
        0.000285539574116473,
        0.0004283962364649514,
        0.0005712528988152085,
        0.0007141095611645685,
    ];
    for (x, expected) in channel(&recording, "slide.position").into_iter().zip(expected) {
        assert_near("creep", x, expected, 1e-10);
    }
    // bristles that only spring back below 1.3 N
    let recording = run(
        &format!("friction: ElastoPlastic({PARAMETERS}, breakaway: 1.3e-5), bristle: (z: 8e-6), {drive}"),
        1.0,
        50.0,
    );
    let x = channel(&recording, "slide.position");
    assert!((x[50] - x[10]).abs() < 1e-12, "elasto-plastic drift {:e}", x[50] - x[10]);
    let dry = slider(1.0, &format!("friction: Coulomb(coulomb: 1.0, stiction: 1.5), {drive}"));
    let recording = simulation(&dry, "Dopri5", "Error()").run_until(50.0).unwrap();
    assert_eq!(recording.last("slide.position").unwrap().to_bits(), 0);
}

#[test]
fn frictional_lag() {
    // L3: v = 1e-3 (1.5 + cos ωt), given to a mass so large that friction does not slow it
    let mass = 1e12;
    for (w, decelerating, accelerating) in
        [(1.0, 1.0527032149308722, 1.053922974622429), (25.0, 1.0434703282666224, 1.0795640731823697)]
    {
        let joint = format!(
            "velocity: 2.5e-3, friction: LuGre({PARAMETERS}), drive: Effort(Sine(amplitude: {:?}, frequency: {w:?}))",
            -mass * 1e-3 * w
        );
        let quarter = FRAC_PI_2 / w;
        let fields = format!("{}, output: Output(interval: {quarter:?})", slider(mass, &joint));
        let recording = simulation(&fields, "Radau5", FINE).run_until(20.0 * quarter).unwrap();
        let friction = channel(&recording, "slide.friction");
        // four periods on the state is periodic: T_c is milliseconds, and 25 rad/s leaves 60 of them
        assert_near("decelerating", friction[17], decelerating, 1e-6);
        assert_near("accelerating", friction[19], accelerating, 1e-6);
    }
}

#[test]
fn second_order_lugre_stick_slip() {
    // P4: rows (t, x, v, z, w) of an independent integration
    let joint = format!(
        "friction: LuGre2({PARAMETERS}, alpha: 3.0, beta: 1.0), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))"
    );
    let recording = run(&joint, 2.5, 15.0);
    let rows = [
        [2.5, 6.0721374615639445e-06, 2.997771736094193e-06, 4.993436194597068e-06, 2.509646619490141e-05],
        [5.0, 1.6455049430352976e-05, 5.985807055669394e-06, 9.991917618103142e-06, 0.0003464627521690343],
        [7.5, 0.0007886851839101453, 0.026251505132303593, 1.0000000000000423e-05, 0.005088678266441524],
        [10.0, 0.43991299693073865, 1.4373578709759265e-07, 5.562705165354457e-06, 1.409679645155523],
        [12.5, 0.439920504741867, 5.181089643245832e-06, 9.278954678926536e-06, 1.729086632772617],
        [15.0, 0.439951342511893, 4.111847253242547e-05, 1.4265200802710116e-05, 1.7320417484069053],
    ];
    for (k, row) in rows.iter().enumerate() {
        for (name, expected) in ["t", "slide.position", "slide.velocity", "slide.z", "slide.w"].iter().zip(row) {
            let value = channel(&recording, name)[k + 1];
            assert_near(name, value, *expected, 1e-7 * expected.abs().max(1e-2));
        }
    }
}

/// In fast slip the bristle relaxes in 30 µs, a fraction of these steps: Newton must converge at break-away without
/// smaller ones.
#[test]
fn fixed_radau_steps_pass_break_away() {
    let joint = format!("friction: LuGre({PARAMETERS}), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))");
    for (step, tolerance) in [(1e-3, 1e-6), (3e-4, 1e-7)] {
        let mut sim = simulation(&slider(1.0, &joint), "Radau5", &format!("Constant(step: {step:?})"));
        let end = sim.run_until(20.0).unwrap_or_else(|error| panic!("{step}: {error}"));
        assert_near("x at 20 s", end.last("slide.position").unwrap(), 1.2725964123237923, tolerance);
    }
}

#[test]
fn step_rules_use_slip_and_time_constants() {
    let joint = format!("friction: LuGre({PARAMETERS}), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))");
    let steps = |control: &str| {
        let mut sim = simulation(&slider(1.0, &joint), "Radau3", control);
        sim.step(1.0).unwrap();
        sim.stats().n_accepted
    };
    // stuck at some 2e-6 m/s: ν = 2e-3, so Ω Δt is the smallest, 0.02, with Ω = σ₀ v_s/μ_k = 100/s
    assert_eq!(steps("DymoreLuGre(min: 0.02, v_min: 5.0, alpha: 1.2, t_s: 5.0)"), 5000);
    // outside the range of speeds
    assert_eq!(steps("Velocity(inside: 1e-4, outside: 1e-3, range: (0.1, 5.0))"), 1000);
    // T_c = 1.5/(1e5 · 2e-6): seconds
    assert_eq!(steps("TimeConstant(max: 1e-2)"), 100);
    assert_eq!(steps("TimeConstantSwitch(threshold: 0.1, below: 1e-4, above: 2e-3)"), 500);
}

#[test]
fn bristles_start_steady_or_as_given() {
    let z = |joint: &str| {
        let sim = simulation(&slider(1.0, &format!("friction: LuGre({PARAMETERS}), {joint}")), "Radau5", FINE);
        let slide = sim.joint("slide").unwrap();
        sim.world().get::<&BristleState>(slide).unwrap().z
    };
    assert_near("sliding", z("velocity: 1.0"), 1e-5, 1e-20);
    assert_near("sliding back", z("velocity: -1.0"), -1e-5, 1e-20);
    assert_eq!(z("velocity: 0.0"), 0.0);
    assert_near("given", z("velocity: 1.0, bristle: (z: 3e-6)"), 3e-6, 1e-20);
}

#[test]
fn controller_hunts_about_target() {
    // acho2004: k_p = 3, k_i = 4, k_v = 6, target 1. The integral winds up while the mass sticks off its target, then
    // it slips past
    let joint = format!("friction: LuGre({PARAMETERS}), drive: Pid(kp: 3.0, ki: 4.0, kd: 6.0, target: Constant(1.0))");
    let recording = run(&joint, 0.01, 150.0);
    let x = channel(&recording, "slide.position");
    let late = &x[8000..];
    let (least, most) = late.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(least < 0.98 && most > 1.02, "a limit cycle about 1: {least} {most}");
    let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    assert!(worst < 1e-8, "{worst:e}");
}

/// A block on a stiff bristle, pushed, with an explicit stepper.
fn stiff_block(method: Method, sigma0: f64) -> Simulation {
    let mut world = World::new();
    let block = world.spawn_link("block", LinkInertia::diagonal(1.0, [0.0; 3].into(), 0.1, 0.1, 0.1));
    let law = LuGre {
        sigma0,
        sigma1: 0.0,
        sigma2: 0.4,
        coulomb: 1.0,
        stiction: 1.5,
        stribeck_velocity: Some(0.2),
        exponent: 2.0,
        damping_velocity: None,
    };
    world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(block).velocity(0.3).friction(law.into()));
    let control = Control::Error { rtol: 1e-6, atol: 1e-8 };
    Simulation::with_settings(world, Settings { method, control, ..Settings::default() }).unwrap()
}

#[test]
fn warning_of_explicit_stepper_on_stiff_bristles() {
    let mut sim = stiff_block(Method::Dopri5, 1e9);
    sim.step(1e-4).unwrap();
    let [warning] = &sim.warnings()[..] else { panic!("{:?} {:?}", sim.warnings(), sim.stats()) };
    for part in ["bristles of `slide`", "stability", "Radau5", "RealTime"] {
        assert!(warning.contains(part), "{warning}");
    }
    // the relaxation time is g/(σ₀ |v|), the method stable up to 3.3 of it
    let (bound, steps) = (3.3 * 1.0 / (1e9 * 0.3), 1e-4 / sim.stats().n_accepted as f64);
    assert!((0.5 * bound..1.5 * bound).contains(&steps), "{steps:e} {bound:e}");
    // an implicit stepper takes long steps without a warning; so does the explicit one with soft bristles
    let mut implicit = stiff_block(Method::Radau5, 1e9);
    implicit.step(1e-4).unwrap();
    assert!(implicit.warnings().is_empty() && implicit.stats().n_accepted < 200, "{:?}", implicit.stats());
    let mut soft = stiff_block(Method::Dopri5, 1e2);
    soft.step(2.0).unwrap();
    assert!(soft.warnings().is_empty() && soft.stats().n_stiff < soft.stats().n_accepted / 2, "{:?}", soft.stats());
}

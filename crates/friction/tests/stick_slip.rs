//! A mass pulled over LuGre friction by a spring (BENCHMARKS L5), with a fixed implicit step: the use the implicit step
//! is for.

use bristle_friction::{ElastoPlastic, FrictionLaw, LuGre};

const CLASSIC: LuGre = LuGre {
    sigma0: 1e5,
    sigma1: 316.227_766_016_837_94,
    sigma2: 0.4,
    coulomb: 1.0,
    stiction: 1.5,
    stribeck_velocity: Some(1e-3),
    exponent: 2.0,
    damping_velocity: None,
};

/// Features of a run.
#[derive(Debug)]
struct Run {
    x_end: f64,
    v_max: f64,
    peak: f64,
}

/// 1 kg on a spring of 2 N/m whose end moves at 0.1 m/s, 20 s in steps of `h`.
fn pull(law: &dyn FrictionLaw, h: f64) -> Run {
    let (m, k) = (1.0, 2.0);
    let (mut x, mut v, mut state) = (0.0, 0.0, [0.0; 2]);
    let mut run = Run { x_end: 0.0, v_max: 0.0, peak: 0.0 };
    for i in 1..=(20.0 / h).round() as usize {
        let end = 0.1 * h * i as f64;
        // m (v₁ − v)/h = k (end − x − h v₁) − τ(v₁): rising in v₁, so Newton in a bracket
        let (mut low, mut high) = (-10.0, 10.0);
        let mut v1: f64 = v;
        for _ in 0..100 {
            let step = law.implicit_step(h, v1, v, state);
            let gap = m * (v1 - v) / h - k * (end - x - h * v1) + step.effort;
            if gap > 0.0 {
                high = v1;
            } else {
                low = v1;
            }
            let newton = v1 - gap / (m / h + k * h + step.effort_v);
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let settled = (next - v1).abs() <= 1e-15;
            v1 = next;
            if settled {
                break;
            }
        }
        state = law.implicit_step(h, v1, v, state).state;
        v = v1;
        x += h * v;
        run.v_max = run.v_max.max(v);
        run.peak = run.peak.max(k * (end - x));
    }
    run.x_end = x;
    run
}

#[test]
fn implicit_step_converges_to_stick_slip() {
    // x(20) = 1.272596412, v_max = 0.369816, spring peak 1.507988; first order: ten times the steps, a tenth of the
    // error
    let error = |h: f64| {
        let run = pull(&CLASSIC, h);
        ((run.x_end - 1.272596412).abs(), (run.v_max - 0.369816).abs(), (run.peak - 1.507988).abs())
    };
    let (coarse, fine) = (error(1e-3), error(1e-4));
    assert!(coarse.0 < 5e-3 && coarse.1 < 5e-3 && coarse.2 < 5e-3, "{coarse:?}");
    assert!(fine.0 < 5e-4 && fine.1 < 5e-4 && fine.2 < 5e-4, "{fine:?}");
}

#[test]
fn implicit_step_is_stable_at_4_ms() {
    // explicit methods stop at 1 ms (PAPERS aberger2002): σ₀ v/g is 3.7e4/s while slipping
    for sigma1 in [316.227_766_016_837_94, 30.0, 0.3, 0.003] {
        let lugre = LuGre { sigma1, ..CLASSIC };
        let plastic = ElastoPlastic { lugre, breakaway: 0.8e-5 };
        for run in [pull(&lugre, 4e-3), pull(&plastic, 4e-3)] {
            assert!((run.v_max - 0.37).abs() < 0.03 && (run.peak - 1.5).abs() < 0.05, "σ₁ = {sigma1}: {run:?}");
        }
    }
}

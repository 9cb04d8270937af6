//! The LuGre slider of Do, Ferri & Bauchau (2007), kinks at v = 0 located: friction-force error at Radau5's own step
//! points against steps.
//!
//! The reference is another method, Dormand–Prince at 10⁻¹² with the same events, advanced to each of the step points.
//! scipy's Radau with the same event restarts: 573 steps for 1.9e-5, 911 for 1.1e-6, 2,584 for 3.1e-9.
//!
//! At loose tolerances a run is off by 0.15 now and then: coming to a stop from y₂ ≈ 11 a step ends on the kink with no
//! stage inside the Stribeck range |y₂| < 3. No error estimate can see what no stage has seen; an event at the edge of
//! that range would.

use crate::problems::Slider;
use bristle_integrate::{Control, Driver, Method, Options, Trace};

struct Run {
    trace: Trace,
    n_steps: usize,
    n_events: usize,
}

fn radau5(rtol: f64, atol: f64) -> Run {
    let mut slider = Slider::with_event();
    let mut trace = Trace::steps();
    let control = Control::error(rtol, atol);
    let mut driver = Driver::new(&mut slider, 0.0, &[0.0; 3], Options::new(Method::Radau5, control)).unwrap();
    driver.advance(&mut slider, Slider::TAU_END, &mut trace).unwrap();
    let stats = *driver.stats();
    assert_eq!(stats.n_difference_columns, 0);
    Run { trace, n_steps: stats.n_accepted, n_events: stats.n_events }
}

/// Largest friction-force errors at the runs' own step points, all against one pass of the reference.
fn errors(runs: &[Run]) -> Vec<f64> {
    let mut points: Vec<(f64, usize, usize)> = vec![];
    for (r, run) in runs.iter().enumerate() {
        points.extend(run.trace.t.iter().enumerate().map(|(k, &t)| (t, r, k)));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut slider = Slider::with_event();
    let options = Options::new(Method::Dopri5, Control::error(1e-12, 1e-12));
    let mut reference = Driver::new(&mut slider, 0.0, &[0.0; 3], options).unwrap();
    let mut worst = vec![0.0f64; runs.len()];
    for (t, r, k) in points {
        reference.advance(&mut slider, t, &mut ()).unwrap();
        let error = slider.friction(&runs[r].trace.y[k]) - slider.friction(reference.y());
        worst[r] = worst[r].max(error.abs());
    }
    worst
}

#[test]
fn lugre_slider_accuracy_and_steps() {
    // quarter decades, two ratios: the curve is ragged, since break-away amplifies local errors some hundredfold and
    // they may cancel
    let atols = (0..17).map(|k| 10f64.powf(-5.0 - 0.25 * f64::from(k)));
    let runs: Vec<Run> = atols.flat_map(|atol| [radau5(atol, atol), radau5(0.1 * atol, atol)]).collect();
    let errors = errors(&runs);
    for (run, error) in runs.iter().zip(&errors) {
        println!("{:5} steps  {error:.1e}", run.n_steps);
        // two stops, four reversals each
        assert_eq!(run.n_events, 8);
    }
    let best = |limit: usize| {
        let within = runs.iter().zip(&errors).filter(|(run, _)| run.n_steps <= limit);
        within.map(|(_, &error)| error).fold(f64::INFINITY, f64::min)
    };
    assert!(best(600) <= 1e-5, "{:e} within 600 steps", best(600));
    assert!(best(2200) <= 1e-8, "{:e} within 2200 steps", best(2200));
}

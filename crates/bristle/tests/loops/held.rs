//! Results of machines that dry pins have brought to rest, against Newton's laws for every bar by itself.
//!
//! More joints stick than there are equations, so that friction is one of many distributions. Whichever it is, it has
//! to be an equilibrium: with the recorded torques of friction, the bars in maximal coordinates do not accelerate, the
//! forces in their joints are the recorded loads, and no torque exceeds μ r N.

use crate::random::{G, maximal, random, text};
use bristle::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const TIGHT: &str = "Solver(method: Dopri5, control: Error(rtol: 1e-8, atol: 1e-10))";

/// Rows at rest that agree, among machines of `n` bars; with stops of the first joint, those in touch.
fn rows_at_rest(
    n: usize,
    seeds: std::ops::Range<u64>,
    (mu, radius): (f64, f64),
    solver: &str,
    has_stops: bool,
) -> usize {
    let pin = format!("friction: Coulomb(coulomb: {mu:?}), load: Pin(radius: {radius:?})");
    let (mut n_rows, is_fixed) = (0, solver.contains("RealTime"));
    for seed in seeds {
        let mut rng = Pcg64::seed_from_u64(seed);
        let (mut bars, corners) = random(&mut rng, n);
        let given: Vec<f64> = (0..n - 2).map(|_| rng.random_range(-1.0..1.0)).collect();
        let text = text(&bars, &corners, &given, &pin, solver);
        let text = text.replace("duration: 0.001, output: Output(interval: 0.001)", "output: Output(interval: 0.1)");
        let stops = format!(
            "name: \"j0\", limits: Limits(lower: {:?}, upper: {:?}, restitution: 0.3), ",
            bars[0].angle - rng.random_range(0.02..0.4),
            bars[0].angle + rng.random_range(0.02..0.4)
        );
        let text = if has_stops { text.replacen("name: \"j0\", ", &stops, 1) } else { text };
        let scene = Scene::parse(&text, "held loop").unwrap();
        let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let recording = match sim.run_until(3.0) {
            Ok(recording) => recording,
            // such large pins may jam in motion
            Err(bristle::Error::Jam { .. } | bristle::Error::NoAcceleration { .. }) => continue,
            Err(error) => panic!("{n} bars, seed {seed}: {error}"),
        };
        let names: Vec<String> = (0..n).map(|k| format!("j{k}")).chain(["l".to_owned()]).collect();
        let channel = |what: &str| -> Vec<Vec<f64>> {
            names.iter().map(|j| recording.channel(&format!("{j}.{what}")).unwrap().collect()).collect()
        };
        let [q, v, a, load, friction] = ["position", "velocity", "acceleration", "load", "friction"].map(channel);
        // accelerations of a fixed step are those of the way to its end
        let is_at_rest = |row: usize| v.iter().all(|v| v[row] == 0.0) && (is_fixed || a.iter().all(|a| a[row] == 0.0));
        for row in (1..q[0].len()).filter(|&row| is_at_rest(row - 1) && is_at_rest(row)) {
            let mut angle = 0.0;
            for (k, bar) in bars.iter_mut().enumerate() {
                angle += q[k][row];
                (bar.angle, bar.rate) = (angle, 0.0);
            }
            let stop = if has_stops { recording.channel("j0.stop").unwrap().nth(row).unwrap() } else { 0.0 };
            if has_stops && stop == 0.0 {
                continue;
            }
            let of_stop = |joint: usize| if joint == 0 { stop } else { 0.0 };
            let label = format!("{n} bars, seed {seed}, row {row}");
            let (accelerations, loads) = maximal(&bars, G, |joint, _| of_stop(joint) - friction[joint][row]).unwrap();
            let (without, _) = maximal(&bars, G, |_, _| 0.0).unwrap();
            let scale = without.iter().fold(0.0_f64, |most, a| most.max(a.abs()));
            for a in accelerations {
                assert!(a.abs() < 1e-9 * scale, "{label}: {a} of {scale}");
            }
            let largest = loads.iter().fold(0.0_f64, |most, x| most.max(*x));
            for (j, expected) in loads.iter().enumerate() {
                let found = load[j][row];
                assert!((found - expected).abs() < 1e-8 * largest, "{label}, joint {j}: {found} {expected}");
                let limit = mu * radius * expected;
                assert!(friction[j][row].abs() <= limit + 1e-8 * largest * radius, "{label}, joint {j}: over {limit}");
            }
            n_rows += 1;
        }
    }
    n_rows
}

#[test]
fn loads_of_held_four_bars_balance() {
    let n_rows = rows_at_rest(3, 0..12, (0.5, 0.15), TIGHT, false);
    assert!(n_rows > 40, "{n_rows}");
}

#[test]
fn loads_of_held_five_bars_balance() {
    let n_rows = rows_at_rest(4, 0..24, (0.5, 0.15), TIGHT, false);
    assert!(n_rows > 40, "{n_rows}");
}

#[test]
fn loads_of_held_loops_balance_in_fixed_steps() {
    let fixed = "Solver(method: RealTime, control: Constant(step: 0.002))";
    let n_rows = rows_at_rest(3, 0..8, (0.5, 0.15), fixed, false);
    assert!(n_rows > 20, "{n_rows}");
}

#[test]
fn loads_of_loops_on_their_stops_balance() {
    let n_rows = rows_at_rest(3, 0..16, (0.3, 0.05), TIGHT, true);
    assert!(n_rows > 40, "{n_rows}");
    let n_rows = rows_at_rest(4, 0..48, (0.4, 0.12), TIGHT, true);
    assert!(n_rows > 20, "{n_rows}");
}

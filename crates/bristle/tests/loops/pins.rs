//! Dry friction in the pins of loops with several degrees of freedom: joints that stick while others move, and machines
//! that are held and break away, against maximal coordinates.
//!
//! A stuck joint has an unknown torque that makes its relative acceleration vanish; sliding joints have μ r |λ|, by a
//! fixed-point iteration of their own. At break-away nothing accelerates yet, while every joint of the impending motion
//! is at its static limit against it: that determines the torque of the motor there.

use crate::random::{Bar, G, maximal, random, text};
use bristle::prelude::*;
use nalgebra::{DMatrix, DVector, Vector2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const TIGHT: &str = "Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12))";

/// Relative acceleration of joint j from those of the bars.
fn relative(accelerations: &[f64], j: usize) -> f64 {
    let after = accelerations.get(j).copied().unwrap_or(0.0);
    after - if j > 0 { accelerations[j - 1] } else { 0.0 }
}

/// Accelerations, loads and torques with friction of coefficient `levels[j]`, signed, in sliding joints, and unknown
/// torques in the `stuck` ones, besides given efforts. The torques solve for relative accelerations that vanish.
fn with_stuck(
    bars: &[Bar],
    g: Vector2<f64>,
    levels: &[f64],
    efforts: &[f64],
    stuck: &[usize],
) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut torque = vec![0.0; stuck.len()];
    let at = |torque: &[f64]| {
        maximal(bars, g, |joint, load| {
            let own = stuck.iter().position(|&j| j == joint);
            own.map_or(levels[joint] * load, |k| torque[k]) + efforts[joint]
        })
    };
    // loads depend on the torques: Newton with differences, from a system that is nearly linear
    for _ in 0..40 {
        let (found, loads) = at(&torque)?;
        let left = DVector::from_iterator(stuck.len(), stuck.iter().map(|&j| relative(&found, j)));
        if left.amax() < 1e-11 * found.iter().fold(1.0, |most: f64, a| most.max(a.abs())) {
            return Some((found, loads, torque));
        }
        let mut slopes = DMatrix::zeros(stuck.len(), stuck.len());
        for k in 0..stuck.len() {
            let mut more = torque.clone();
            more[k] += 1e-3;
            let (other, _) = at(&more)?;
            stuck.iter().enumerate().for_each(|(r, &j)| slopes[(r, k)] = (relative(&other, j) - left[r]) / 1e-3);
        }
        let step = slopes.lu().solve(&left)?;
        torque.iter_mut().zip(step.iter()).for_each(|(torque, step)| *torque -= step);
    }
    None
}

/// Every row of a motion in which joints stick while others move.
#[test]
fn pins_stick_while_the_rest_of_the_loop_moves() {
    let (mu, radius) = (0.4, 0.08);
    let pin = format!("friction: Coulomb(coulomb: {mu:?}), load: Pin(radius: {radius:?})");
    let (mut n_rows, mut n_sticking) = (0, 0);
    for seed in 0..24 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(4..6);
        let (mut bars, corners) = random(&mut rng, n);
        let given: Vec<f64> =
            (0..n - 2).map(|_| rng.random_range(0.5..2.0) * [-1.0, 1.0][rng.random_range(0..2)]).collect();
        let text = text(&bars, &corners, &given, &pin, TIGHT);
        let text = text.replace("duration: 0.001, output: Output(interval: 0.001)", "output: Output(interval: 0.01)");
        let scene = Scene::parse(&text, "random loop").unwrap();
        let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let recording = sim.run_until(1.0).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let names: Vec<String> = (0..n).map(|k| format!("j{k}")).chain(["l".to_owned()]).collect();
        let channel = |what: &str| -> Vec<Vec<f64>> {
            names.iter().map(|j| recording.channel(&format!("{j}.{what}")).unwrap().collect()).collect()
        };
        let [q, v, a, load, mode] = ["position", "velocity", "acceleration", "load", "mode"].map(channel);
        for row in 0..q[0].len() {
            let stuck: Vec<usize> = (0..=n).filter(|&j| mode[j][row] == 0.0).collect();
            let is_moving = v.iter().any(|v| v[row] != 0.0);
            if !is_moving {
                continue;
            }
            assert!(stuck.iter().all(|&j| v[j][row] == 0.0), "seed {seed}");
            let (mut angle, mut rate) = (0.0, 0.0);
            for (k, bar) in bars.iter_mut().enumerate() {
                (angle, rate) = (angle + q[k][row], rate + v[k][row]);
                (bar.angle, bar.rate) = (angle, rate);
            }
            let levels: Vec<f64> = (0..=n).map(|j| -mu * radius * mode[j][row]).collect();
            let Some((expected, loads, torques)) = with_stuck(&bars, G, &levels, &[0.0; 7], &stuck) else {
                continue;
            };
            let scale = expected.iter().fold(1.0_f64, |most, a| most.max(a.abs()));
            if scale > 1e3 {
                continue; // nearly singular
            }
            let largest = loads.iter().fold(0.0_f64, |most, x| most.max(*x));
            let mut sum = 0.0;
            for (k, expected) in expected.iter().enumerate() {
                sum += a[k][row];
                assert!((sum - expected).abs() < 1e-7 * scale, "seed {seed}, row {row}, bar {k}: {sum} {expected}");
            }
            for j in 0..=n {
                let miss = (load[j][row] - loads[j]).abs();
                assert!(miss < 1e-7 * largest, "seed {seed}, row {row}, joint {j}: {} {}", load[j][row], loads[j]);
            }
            for (torque, &j) in torques.iter().zip(&stuck) {
                assert!(torque.abs() <= mu * radius * loads[j] * (1.0 + 1e-6), "seed {seed}, row {row}, joint {j}");
            }
            n_rows += 1;
            n_sticking += usize::from(!stuck.is_empty());
        }
    }
    assert!(n_rows > 1000 && n_sticking > 30, "{n_rows} {n_sticking}");
}

/// A five-bar without gravity, held by its pins under the growing torque of a motor. Torques in balance load the pins:
/// those of a force F at the fixed end of the chain, (P_end − P_j) × F, do no work.
#[test]
fn a_stuck_five_bar_breaks_away() {
    let (mu, radius, slope) = (0.4, 0.05, 0.5);
    let pin = format!("friction: Coulomb(coulomb: {mu:?}), load: Pin(radius: {radius:?})");
    let (mut n_compared, mut n_stuck, mut n_locked) = (0, 0, 0);
    for seed in 0..60 {
        let mut rng = Pcg64::seed_from_u64(1000 + seed);
        let (bars, corners) = random(&mut rng, 4);
        let force = Vector2::new(rng.random_range(-30.0..30.0), rng.random_range(-30.0..30.0));
        let offsets: Vec<f64> = (0..4).map(|j| (corners[4] - corners[j]).perp(&force)).collect();
        let mut text =
            text(&bars, &corners, &[], &pin, TIGHT).replace("gravity: (0.0, -9.81, 0.0)", "gravity: (0.0, 0.0, 0.0)");
        for (j, offset) in offsets.iter().enumerate() {
            let motor = if j == 0 { format!("drive: Effort(Ramp(rate: {slope:?})), ") } else { String::new() };
            let with = format!("name: \"j{j}\", {motor}offset: {offset:?}, parent");
            text = text.replacen(&format!("name: \"j{j}\", parent"), &with, 1);
        }
        let scene = Scene::parse(&text, "five-bar").unwrap_or_else(|error| panic!("{error}"));
        // pins as large as the bars may lock themselves: no limits and loads agree then
        let Ok(mut sim) = Simulation::new(&scene) else {
            n_locked += 1;
            continue;
        };
        let names: Vec<String> = (0..4).map(|k| format!("j{k}")).chain(["l".to_owned()]).collect();
        // mode changes up to the first row in motion: a contact at its limit may slide before, at velocity zero
        let (mut events, mut is_held, mut moving) = (Vec::new(), true, f64::INFINITY);
        for k in 1..200 {
            let recording = sim.run_until(0.1 * f64::from(k)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let channel =
                |j: &String, what: &str| -> Vec<f64> { recording.channel(&format!("{j}.{what}")).unwrap().collect() };
            is_held &= k > 1 || names.iter().all(|j| channel(j, "mode")[0] == 0.0);
            events.extend(recording.events().iter().cloned());
            let rows = recording.channel("t").unwrap().enumerate();
            let moves = |row: usize| names.iter().any(|j| channel(j, "velocity")[row] != 0.0);
            moving = rows.filter(|&(row, _)| moves(row)).map(|(_, t)| t).fold(f64::INFINITY, f64::min);
            if moving.is_finite() || !is_held {
                break;
            }
        }
        let Some(first) = events.iter().rfind(|event| event.t < moving).filter(|_| is_held) else { continue };
        let mut slip = [0.0; 5];
        for event in events.iter().filter(|event| event.t <= first.t) {
            let j = names.iter().position(|name| *name == event.joint).unwrap();
            slip[j] = event.to.direction();
        }
        let stuck: Vec<usize> = (0..5).filter(|&j| slip[j] == 0.0).collect();
        assert!(stuck.len() < 3, "seed {seed}: {stuck:?}");
        // the torque of the motor at which the sliding joints at their limits leave no acceleration, by bisection
        let levels: Vec<f64> = slip.iter().map(|s| -mu * radius * s).collect();
        let along = |motor: f64| {
            let efforts = [offsets[0] + motor, offsets[1], offsets[2], offsets[3], 0.0];
            let found = with_stuck(&bars, Vector2::zeros(), &levels, &efforts, &stuck)?;
            Some(((0..5).map(|j| slip[j] * relative(&found.0, j)).sum::<f64>(), found))
        };
        let (mut low, mut high) = (slope * (first.t - 1e-3), slope * (first.t + 1e-3));
        let (Some(at_low), Some(at_high)) = (along(low), along(high)) else { continue };
        assert!(at_low.0 * at_high.0 < 0.0, "seed {seed}: {} {}, slip {slip:?}", at_low.0, at_high.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            let Some(at) = along(middle) else { break };
            if at.0 * at_high.0 > 0.0 { high = middle } else { low = middle }
        }
        let expected = high / slope;
        assert!((first.t - expected).abs() < 1e-7 * (1.0 + expected), "seed {seed}: {} {expected}", first.t);
        let (_, (_, loads, torques)) = along(high).unwrap();
        for (torque, &j) in torques.iter().zip(&stuck) {
            assert!(torque.abs() <= mu * radius * loads[j] * (1.0 + 1e-6), "seed {seed}, joint {j}");
        }
        n_compared += 1;
        n_stuck += stuck.len();
    }
    assert!(n_compared > 3 && n_stuck > 3 && n_locked < 4, "{n_compared} {n_stuck} {n_locked}");
}

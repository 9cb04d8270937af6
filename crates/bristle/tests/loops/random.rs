//! Random plane loops with friction against maximal coordinates: Newton–Euler of every bar with one pair of multipliers
//! per joint, solved densely.
//!
//! ```text
//! m a_c = m g + Σ ±λ_j         I θ̈ = Σ r × (±λ_j) ± τ_f       a_A(P_j) = a_B(P_j) for every joint j
//! τ_f = f sign(ω),  or  μ r |λ_j| sign(ω) by a fixed-point iteration
//! ```

use bristle::prelude::*;
use nalgebra::{DMatrix, DVector, Vector2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

pub struct Bar {
    length: f64,
    mass: f64,
    inertia: f64,
    com: Vector2<f64>,
    pub angle: f64,
    pub rate: f64,
}

pub const G: Vector2<f64> = Vector2::new(0.0, -9.81);

fn turned(angle: f64, p: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(angle.cos() * p.x - angle.sin() * p.y, angle.sin() * p.x + angle.cos() * p.y)
}

/// Angular accelerations of the bars, and force of each joint; `friction` gives the torque of joint j on the bar after
/// it from the size of its force.
pub fn maximal(bars: &[Bar], g: Vector2<f64>, friction: impl Fn(usize, f64) -> f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let (n, m) = (bars.len(), bars.len() + 1);
    let size = 3 * n + 2 * m;
    let mut matrix: DMatrix<f64> = DMatrix::zeros(size, size);
    let mut right: DVector<f64> = DVector::zeros(size);
    for (k, bar) in bars.iter().enumerate() {
        (matrix[(3 * k, 3 * k)], matrix[(3 * k + 1, 3 * k + 1)]) = (bar.mass, bar.mass);
        matrix[(3 * k + 2, 3 * k + 2)] = bar.inertia;
        right[3 * k + 1] = bar.mass * g.y;
        // joint k acts at its near end, joint k + 1 at its far end with the opposite force
        for (joint, at, sign) in [(k, 0.0, 1.0), (k + 1, bar.length, -1.0)] {
            let r = turned(bar.angle, Vector2::new(at, 0.0) - bar.com);
            let column = 3 * n + 2 * joint;
            let rows = [(3 * k, [1.0, 0.0]), (3 * k + 1, [0.0, 1.0]), (3 * k + 2, [-r.y, r.x])];
            for (row, parts) in rows {
                for (axis, part) in parts.into_iter().enumerate() {
                    matrix[(row, column + axis)] -= sign * part;
                    matrix[(column + axis, row)] += sign * part;
                }
            }
            for axis in 0..2 {
                right[column + axis] += sign * bar.rate * bar.rate * r[axis];
            }
        }
    }
    let lu = matrix.lu();
    let mut load = vec![0.0; m];
    for _ in 0..300 {
        let mut b = right.clone();
        for (joint, &load) in load.iter().enumerate() {
            let torque = friction(joint, load);
            if joint < n {
                b[3 * joint + 2] += torque;
            }
            if joint > 0 {
                b[3 * joint - 1] -= torque;
            }
        }
        let x = lu.solve(&b)?;
        let next: Vec<f64> = (0..m).map(|j| x[3 * n + 2 * j].hypot(x[3 * n + 2 * j + 1])).collect();
        let change = next.iter().zip(&load).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        load = next;
        if change < 1e-11 * load.iter().fold(1.0, |most: f64, x| most.max(*x)) {
            return Some(((0..n).map(|k| x[3 * k + 2]).collect(), load));
        }
    }
    None
}

/// A polygon with corners in a ring, so that its bars are of similar lengths; the last joint closes it.
pub fn random(rng: &mut Pcg64, n: usize) -> (Vec<Bar>, Vec<Vector2<f64>>) {
    let corners: Vec<Vector2<f64>> = (0..=n)
        .map(|k| {
            let angle = 2.8 - 4.5 * k as f64 / n as f64 + rng.random_range(-0.25..0.25);
            turned(angle, Vector2::new(rng.random_range(0.6..1.2), 0.0))
        })
        .collect();
    let bars = corners.windows(2).map(|ends| {
        let (along, length) = (ends[1] - ends[0], (ends[1] - ends[0]).norm());
        Bar {
            length,
            mass: rng.random_range(0.5..2.0),
            inertia: rng.random_range(0.02..0.2),
            com: Vector2::new(length * rng.random_range(0.2..0.8), rng.random_range(-0.1..0.1)),
            angle: along.y.atan2(along.x),
            rate: 0.0,
        }
    });
    (bars.collect(), corners)
}

pub fn scene(bars: &[Bar], corners: &[Vector2<f64>], given: &[f64], friction: &str, solver: &str) -> Scene {
    let text = text(bars, corners, given, friction, solver);
    Scene::parse(&text, "random loop").unwrap_or_else(|error| panic!("{error}"))
}

pub fn text(bars: &[Bar], corners: &[Vector2<f64>], given: &[f64], friction: &str, solver: &str) -> String {
    let z = "Revolute(axis: (0.0, 0.0, 1.0))";
    let (mut links, mut joints, mut before) = (String::new(), String::new(), 0.0);
    for (k, bar) in bars.iter().enumerate() {
        let Bar { mass, inertia, com, angle, .. } = bar;
        links += &format!(
            "Link(name: \"bar {k}\", mass: {mass:?}, center_of_mass: ({:?}, {:?}, 0.0), \
             inertia: Diagonal({inertia:?}, {inertia:?}, {inertia:?})), ",
            com.x, com.y
        );
        let (parent, at) = match k {
            0 => ("world".to_owned(), corners[0]),
            _ => (format!("bar {}", k - 1), Vector2::new(bars[k - 1].length, 0.0)),
        };
        joints += &format!(
            "Joint(name: \"j{k}\", parent: \"{parent}\", child: \"bar {k}\", kind: {z}, position: {:?}, \
             velocity: {:?}, placement: Placement(translation: ({:?}, {:?}, 0.0)), {friction}), ",
            angle - before,
            given.get(k).copied().unwrap_or(0.0),
            at.x,
            at.y
        );
        before = *angle;
    }
    let (last, end) = (bars.len() - 1, corners[bars.len()]);
    format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [{links}], joints: [{joints}], couplings: [LoopJoint(name: \"l\", \
         kind: {z}, links: (\"bar {last}\", \"world\"), placements: (Placement(translation: ({:?}, 0.0, 0.0)), \
         Placement(translation: ({:?}, {:?}, 0.0))), {friction})], solver: {solver}, duration: 0.001, \
         output: Output(interval: 0.001))",
        bars[last].length, end.x, end.y
    )
}

#[test]
fn random_loops_agree_with_maximal_coordinates() {
    let tight = "Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12))";
    let fixed = "Solver(method: RealTime, control: Constant(step: 0.001))";
    let (coulomb, mu, radius) = (0.4, 0.3, 0.02);
    let unit = format!("friction: Coulomb(coulomb: {coulomb:?})");
    let pin = format!("friction: Coulomb(coulomb: {mu:?}), load: Pin(radius: {radius:?})");
    let mut n_compared = [0; 4];
    for seed in 0..120 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let n = rng.random_range(3..7);
        let (mut bars, corners) = random(&mut rng, n);
        // as many rates as there are degrees of freedom
        let given: Vec<f64> =
            (0..n - 2).map(|_| rng.random_range(0.5..2.0) * [-1.0, 1.0][rng.random_range(0..2)]).collect();
        for (case, (friction, solver, tolerance)) in
            [(&unit, tight, 1e-8), (&pin, tight, 1e-8), (&unit, fixed, 1e-6), (&pin, fixed, 1e-5)]
                .into_iter()
                .enumerate()
        {
            let is_pin = case % 2 == 1;
            let scene = scene(&bars, &corners, &given, friction, solver);
            let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let recording = sim.run_until(0.001).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let first = |name: String| recording.channel(&name).unwrap().next().unwrap();
            let names: Vec<String> = (0..n).map(|k| format!("j{k}")).chain(["l".to_owned()]).collect();
            let rates: Vec<f64> = names.iter().map(|name| first(format!("{name}.velocity"))).collect();
            if rates.iter().any(|rate| rate.abs() < 0.05) {
                continue; // near a dead centre directions are a matter of rounding
            }
            let mut sum = 0.0;
            for (bar, rate) in bars.iter_mut().zip(&rates) {
                sum += rate;
                bar.rate = sum;
            }
            // the rate of joint j on the bar after it; the loop joint counts the world relative to the last bar
            let torque = |joint: usize, load: f64| {
                let level = if is_pin { mu * radius * load } else { coulomb };
                -level * rates[joint].signum()
            };
            let Some((expected, loads)) = maximal(&bars, G, torque) else { continue };
            let scale = expected.iter().fold(1.0_f64, |most, a| most.max(a.abs()));
            if scale > 1e3 {
                continue; // nearly singular
            }
            let mut sum = 0.0;
            for (k, expected) in expected.iter().enumerate() {
                sum += first(format!("j{k}.acceleration"));
                let miss = (sum - expected).abs();
                assert!(miss < tolerance * scale, "seed {seed}, case {case}, bar {k}: {sum} {expected}");
            }
            for (joint, name) in names.iter().enumerate().filter(|_| is_pin) {
                let (found, expected) = (first(format!("{name}.load")), loads[joint]);
                let largest = loads.iter().fold(0.0_f64, |most, x| most.max(*x));
                assert!(
                    (found - expected).abs() < tolerance * largest,
                    "seed {seed}, case {case}, {name}: {found} {expected}"
                );
            }
            n_compared[case] += 1;
        }
    }
    assert!(n_compared[0] > 60 && n_compared[1] > 60 && n_compared[2] > 60 && n_compared[3] > 60, "{n_compared:?}");
}

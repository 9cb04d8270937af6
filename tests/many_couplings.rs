//! Machines with many couplings, which have another elimination: accelerations against the full equations
//!
//! ```text
//! [M  Gᵀ] [ a ]   [τ − c]
//! [G  0 ] [−λ ] = [  0  ]
//! ```
//!
//! with M and c of the same tree without couplings and the rows G written down here; and one clutch among a hundred
//! gears in closed form.

use bristle::prelude::*;
use nalgebra::{DMatrix, DVector};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Rows of couplings and their text.
struct Rows {
    rows: Vec<Vec<(usize, f64)>>,
    text: String,
}

impl Rows {
    fn gear(&mut self, a: usize, b: usize, ratio: f64) {
        let k = self.rows.len();
        self.rows.push(vec![(a, 1.0), (b, -ratio)]);
        self.text += &format!("Gear(name: \"g{k}\", joints: (\"j{a:03}\", \"j{b:03}\"), ratio: {ratio:?}), ");
    }

    fn mimic(&mut self, a: usize, b: usize, ratio: f64) {
        let k = self.rows.len();
        self.rows.push(vec![(a, 1.0), (b, -ratio)]);
        let terms = format!("[(\"j{a:03}\", 1.0), (\"j{b:03}\", {:?})]", -ratio);
        self.text += &format!("Linear(name: \"m{k}\", terms: {terms}), ");
    }

    fn planetary(&mut self, [sun, ring, carrier]: [usize; 3], ratio: f64) {
        let k = self.rows.len();
        self.rows.push(vec![(sun, 1.0), (ring, ratio), (carrier, -1.0 - ratio)]);
        self.text += &format!(
            "Planetary(name: \"p{k}\", sun: \"j{sun:03}\", ring: \"j{ring:03}\", carrier: \"j{carrier:03}\", \
             ratio: {ratio:?}), "
        );
    }

    fn matrix(&self, n: usize) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.rows.len(), n);
        for (k, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|&(v, c)| matrix[(k, v)] += c);
        }
        matrix
    }
}

/// `m` couplings, each of which brings in a joint that those before it do not have. With `is_row` every joint is geared
/// to the next.
fn couplings(rng: &mut Pcg64, n: usize, m: usize, is_row: bool) -> Rows {
    let mut rows = Rows { rows: Vec::new(), text: String::new() };
    let mut order: Vec<usize> = (0..n).collect();
    if !is_row {
        order.shuffle(rng);
    }
    for k in n - m..n {
        let ratio = rng.random_range(0.6..1.6) * [1.0, -1.0][rng.random_range(0..2)];
        let new = order[k];
        let before = if is_row { order[k - 1] } else { order[rng.random_range(0..k)] };
        match rng.random_range(0..if is_row { 4 } else { 6 }) {
            0 | 1 => rows.gear(new, before, ratio),
            2 => rows.gear(before, new, ratio),
            3 => rows.mimic([new, before][k % 2], [before, new][k % 2], ratio),
            _ => {
                let third = order[rng.random_range(0..k)];
                let sides = [[new, before, third], [before, new, third], [third, before, new]][rng.random_range(0..3)];
                match third == before {
                    true => rows.gear(new, before, ratio),
                    false => rows.planetary(sides, rng.random_range(1.2..3.0)),
                }
            }
        }
    }
    rows
}

/// A tree of links with joints `j000`, `j001`, …: a chain, or a star of short arms.
fn scene(seed: u64, n: usize, is_chain: bool, state: [&[f64]; 2], friction: &[f64], couplings: &str) -> Simulation {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (mut links, mut joints) = (String::new(), String::new());
    for (k, (q, v)) in state[0].iter().zip(state[1]).enumerate().take(n) {
        let [ix, iy, iz] = [0; 3].map(|_| rng.random_range(0.5..0.9));
        links += &format!(
            "Link(name: \"l{k:03}\", mass: 0.3, center_of_mass: (0.03, {:?}, 0.01), \
             inertia: Diagonal({ix:?}, {iy:?}, {iz:?})), ",
            rng.random_range(-0.05..0.05)
        );
        let parent = match if is_chain { k } else { k % 5 } {
            0 => "world".to_owned(),
            _ => format!("l{:03}", k - 1),
        };
        let axis = ["(0, 1, 0)", "(1, 0, 0)", "(0, 0.6, 0.8)"][rng.random_range(0..3)];
        let dry = friction.get(k).filter(|level| **level > 0.0);
        let dry = dry.map_or(String::new(), |level| format!("friction: Coulomb(coulomb: {level:?}), "));
        joints += &format!(
            "Joint(name: \"j{k:03}\", parent: \"{parent}\", child: \"l{k:03}\", kind: Revolute(axis: {axis}), \
             {dry}position: {:?}, velocity: {:?}, placement: Placement(translation: (0.05, 0, 0))), ",
            q, v
        );
    }
    let text = format!("Scene(links: [{links}], joints: [{joints}], couplings: [{couplings}])");
    Simulation::new(&Scene::parse(&text, "many couplings").unwrap()).unwrap()
}

/// M, c and the place of each joint among the velocities, of the tree without couplings and friction.
fn open(seed: u64, n: usize, is_chain: bool, q: &[f64], v: &[f64]) -> (DMatrix<f64>, DVector<f64>) {
    let mut open = scene(seed, n, is_chain, [q, v], &[], "");
    let names: Vec<&str> = open.compiled().model.tree.joint_names[1..].iter().map(String::as_str).collect();
    assert!(names.iter().enumerate().all(|(k, name)| *name == format!("j{k:03}")), "{names:?}");
    let mut bias = vec![0.0; n];
    open.inverse_dynamics(q, v, &vec![0.0; n], &mut bias).unwrap();
    (open.mass_matrix().unwrap(), DVector::from_vec(bias))
}

/// The projection of x onto the motions that satisfy the couplings.
fn allowed(pseudo_inverse: &DMatrix<f64>, g: &DMatrix<f64>, x: &DVector<f64>) -> DVector<f64> {
    let mut x = x.clone();
    // twice: the rest is rounding
    (0..2).for_each(|_| x -= pseudo_inverse * (g * &x));
    x
}

/// a of the full equations.
fn accelerations(mass: &DMatrix<f64>, g: &DMatrix<f64>, right: &DVector<f64>) -> DVector<f64> {
    let (n, m) = (mass.nrows(), g.nrows());
    let mut full = DMatrix::zeros(n + m, n + m);
    full.view_mut((0, 0), (n, n)).copy_from(mass);
    full.view_mut((n, 0), (m, n)).copy_from(g);
    full.view_mut((0, n), (n, m)).copy_from(&g.transpose());
    let mut b = DVector::zeros(n + m);
    b.rows_mut(0, n).copy_from(right);
    let lu = full.clone().full_piv_lu();
    let mut x = lu.solve(&b).unwrap();
    // one refinement
    x += lu.solve(&(&b - &full * &x)).unwrap();
    x.rows(0, n).into()
}

fn random(rng: &mut Pcg64, n: usize) -> DVector<f64> {
    DVector::from_fn(n, |_, _| rng.random_range(-1.0..1.0))
}

fn assert_same(what: &str, found: &[f64], expected: &DVector<f64>) {
    let size = expected.amax();
    let (k, difference) =
        (0..found.len()).map(|k| (k, (found[k] - expected[k]).abs())).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(difference <= 1e-9 * size, "{what}, joint {k}: {} is not {}; {size}", found[k], expected[k]);
}

/// (n, m, whether they are in a row): with few independent velocities and with many, which are found in different ways.
const SIZES: [(usize, usize, bool); 5] =
    [(100, 80, false), (100, 99, true), (150, 70, false), (200, 190, false), (240, 100, true)];

#[test]
fn accelerations_solve_the_full_equations() {
    for (seed, (n, m, is_row)) in SIZES.into_iter().enumerate() {
        for is_chain in [true, false] {
            let seed = seed as u64;
            let mut rng = Pcg64::seed_from_u64(seed);
            let rows = couplings(&mut rng, n, m, is_row);
            let g = rows.matrix(n);
            let inverse = g.clone().pseudo_inverse(1e-12).unwrap();
            let [q, v] = [0; 2].map(|_| allowed(&inverse, &g, &random(&mut rng, n)));
            let (mass, bias) = open(seed, n, is_chain, q.as_slice(), v.as_slice());
            let what = format!("{n} joints, {m} couplings, in a row: {is_row}, chain: {is_chain}");

            // without friction
            let state = [q.as_slice(), v.as_slice()];
            let free = scene(seed, n, is_chain, state, &[], &rows.text);
            assert_same(&what, free.accelerations(), &accelerations(&mass, &g, &-&bias));

            // all joints slide in the direction of their velocity
            let levels: Vec<f64> = (0..n).map(|k| if k % 3 == 0 { 0.0 } else { rng.random_range(0.05..0.5) }).collect();
            let friction = DVector::from_fn(n, |k, _| -levels[k] * v[k].signum());
            let sliding = scene(seed, n, is_chain, state, &levels, &rows.text);
            assert_same(
                &format!("{what}, sliding"),
                sliding.accelerations(),
                &accelerations(&mass, &g, &(friction - bias)),
            );
        }
    }
}

/// From rest the accelerations are those that minimise ½ aᵀM a + cᵀa + Σ level |a| among all that satisfy the
/// couplings.
#[test]
fn joints_at_rest_obey_gauss_principle() {
    for (seed, (n, m, is_row)) in [(100, 80, false), (120, 70, true), (150, 70, false)].into_iter().enumerate() {
        let seed = 100 + seed as u64;
        let mut rng = Pcg64::seed_from_u64(seed);
        let rows = couplings(&mut rng, n, m, is_row);
        let g = rows.matrix(n);
        let inverse = g.clone().pseudo_inverse(1e-12).unwrap();
        let q = allowed(&inverse, &g, &random(&mut rng, n));
        let rest = vec![0.0; n];
        let (mass, bias) = open(seed, n, false, q.as_slice(), &rest);
        let levels = (0..n).map(|k| if k % 4 == 0 { 10.0_f64.powf(rng.random_range(-3.0..1.0)) } else { 0.0 });
        let levels: Vec<f64> = levels.collect();
        let sim = scene(seed, n, false, [q.as_slice(), &rest], &levels, &rows.text);
        let a = DVector::from_column_slice(sim.accelerations());
        assert!((&g * &a).amax() <= 1e-12 * a.amax());

        // joints that stay at rest as constraints of their own, friction of the others against their accelerations
        let stuck: Vec<usize> = (0..n).filter(|&k| levels[k] > 0.0 && a[k] == 0.0).collect();
        let slides = (0..n).filter(|&k| levels[k] > 0.0 && a[k] != 0.0).count();
        assert!(stuck.len() > 1 && slides > 2, "{} stick, {slides} slide", stuck.len());
        let friction = DVector::from_fn(n, |k, _| if a[k] == 0.0 { 0.0 } else { -levels[k] * a[k].signum() });
        let mut held = g.clone().resize_vertically(m + stuck.len(), 0.0);
        stuck.iter().enumerate().for_each(|(k, &v)| held[(m + k, v)] = 1.0);
        // redundant rows are left out: an orthonormal basis of the row space
        let svd = held.svd(false, true);
        let rank = svd.singular_values.iter().filter(|s| **s > 1e-9 * svd.singular_values[0]).count();
        let basis = svd.v_t.unwrap().rows(0, rank).into_owned();
        assert_same(&format!("{n} joints from rest"), a.as_slice(), &accelerations(&mass, &basis, &(friction - &bias)));

        // no motion that satisfies the couplings lowers it
        let slope = &mass * &a + &bias;
        let sizes = mass.abs() * a.abs() + bias.abs();
        for k in 0..2000 {
            let mut d = random(&mut rng, n);
            if k < 2 * n {
                d.fill(0.0);
                d[k / 2] = [1.0, -1.0][k % 2];
            }
            let d = allowed(&inverse, &g, &d);
            let change = |k: usize| match a[k] {
                0.0 => levels[k] * d[k].abs(),
                a => levels[k] * a.signum() * d[k],
            };
            let terms: Vec<f64> = (0..n).flat_map(|k| [slope[k] * d[k], change(k)]).collect();
            let size: f64 = terms.iter().map(|term| term.abs()).sum::<f64>() + sizes.dot(&d.abs());
            assert!(terms.iter().sum::<f64>() >= -1e-9 * size, "{n} joints, direction {k}: {terms:?}");
        }
    }
}

/// A clutch between two trains of geared rotors with inertia Σ ratio² I at the clutch: it locks where the slip Δω
/// vanishes, and breaks away where the part of the ramp that it transmits reaches its level.
#[test]
fn clutch_among_gears_equals_two_rotors() {
    let mut rng = Pcg64::seed_from_u64(7);
    let (level, rate, slip) = (3.0, 2.0, 1.5);
    let (mut links, mut joints, mut rows) =
        (String::new(), String::new(), Rows { rows: Vec::new(), text: String::new() });
    let mut inertia = [0.0; 2];
    for (train, inertia) in inertia.iter_mut().enumerate() {
        let mut ratio = 1.0;
        for k in 50 * train..50 * (train + 1) {
            let own = rng.random_range(0.01..0.05);
            if k > 50 * train {
                // ω of the one before is c ω of this one, or the other way round
                let c = rng.random_range(0.8..1.25) * [1.0, -1.0][k % 2];
                match k % 3 {
                    0 => rows.gear(k, k - 1, c),
                    1 => rows.gear(k - 1, k, c),
                    _ => rows.mimic(k, k - 1, c),
                }
                ratio *= if k % 3 == 1 { 1.0 / c } else { c };
            }
            *inertia += ratio * ratio * own;
            links += &format!("Link(name: \"l{k:03}\", mass: 1, inertia: Diagonal(1, 1, {own:?})), ");
            let driven = if k == 0 { format!("drive: Effort(Ramp(rate: {rate:?})), ") } else { String::new() };
            let velocity = if train == 0 { slip * ratio } else { 0.0 };
            joints += &format!(
                "Joint(name: \"j{k:03}\", parent: \"world\", child: \"l{k:03}\", \
                 {driven}kind: Revolute(axis: (0, 0, 1)), velocity: {velocity:?}), "
            );
        }
    }
    let clutch =
        format!("Clutch(name: \"clutch\", joints: (\"j000\", \"j050\"), friction: Coulomb(coulomb: {level:?})), ");
    let text = format!(
        "Scene(links: [{links}], joints: [{joints}], couplings: [{}{clutch}], duration: 10, \
         solver: Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12)))",
        rows.text
    );
    let [a, b] = inertia;
    // Δω₀ + ½ rate t²/a − level t (1/a + 1/b) = 0
    let (p, x) = (level * (1.0 / a + 1.0 / b), 0.5 * rate / a);
    let locks = 2.0 * slip / (p + (p * p - 4.0 * x * slip).sqrt());
    let lets_go = level * (a + b) / (rate * b);
    assert!(rows.rows.len() == 98 && locks < 0.9 * lets_go, "{locks} {lets_go}");

    let mut sim = Simulation::new(&Scene::parse(&text, "trains").unwrap()).unwrap();
    let end = lets_go + 0.5;
    let recording = sim.run_until(end).unwrap();
    let times: Vec<f64> = recording.events().iter().map(|event| event.t).collect();
    assert_eq!(times.len(), 2, "{:?}", recording.events());
    assert!((times[0] - locks).abs() < 1e-9 * locks, "{} {locks}", times[0]);
    assert!((times[1] - lets_go).abs() < 1e-9 * lets_go, "{} {lets_go}", times[1]);
    // momentum of both trains: the clutch adds nothing to a ω_a + b ω_b
    let [first, second] = ["j000.velocity", "j050.velocity"].map(|name| recording.last(name).unwrap());
    let expected = [0.5 * (end * end - lets_go * lets_go) * rate - 0.5 * level, 0.5 * level];
    let together = (a * slip + 0.5 * rate * lets_go * lets_go) / (a + b);
    for (found, expected) in [(first, together + expected[0] / a), (second, together + expected[1] / b)] {
        assert!((found - expected).abs() < 1e-8 * expected.abs(), "{found} {expected}");
    }
}

//! Random spatial chains of hinges about any axes, closed by a ball joint or a hinge on the world, against maximal
//! coordinates: accelerations of all bodies and forces of all joints from one linear system,
//!
//! ```text
//! m a = m g + Σ f,     I α + ω × I ω = Σ (r × f + m),     equal accelerations of both links in each joint
//! ```

use bristle::prelude::*;
use nalgebra::{DMatrix, DVector, Matrix3, Rotation3, Unit, Vector3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const G: Vector3<f64> = Vector3::new(0.0, 0.0, -9.81);

/// A link on a hinge at `at` of the link before it; the axis is the same in both.
struct Link {
    at: Vector3<f64>,
    axis: Unit<Vector3<f64>>,
    center: Vector3<f64>,
    mass: f64,
    inertia: Vector3<f64>,
    start: f64,
}

fn vector(rng: &mut Pcg64, size: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-size..size))
}

fn chain(rng: &mut Pcg64, n: usize) -> Vec<Link> {
    let link = |_| Link {
        at: vector(rng, 0.5),
        axis: Unit::new_normalize(vector(rng, 1.0) + Vector3::new(0.0, 0.0, 0.3)),
        center: vector(rng, 0.2),
        mass: rng.random_range(0.5..2.0),
        inertia: Vector3::new(0.02, 0.03, rng.random_range(0.015..0.045)),
        start: rng.random_range(-1.0..1.0),
    };
    (0..n).map(link).collect()
}

/// Origin and rotation of each link.
fn poses(chain: &[Link], q: &[f64]) -> Vec<(Vector3<f64>, Matrix3<f64>)> {
    let (mut p, mut r) = (Vector3::zeros(), Matrix3::identity());
    let next = |(link, q): (&Link, &f64)| {
        p += r * link.at;
        r *= Rotation3::from_axis_angle(&link.axis, *q).into_inner();
        (p, r)
    };
    chain.iter().zip(q).map(next).collect()
}

fn written(v: &Vector3<f64>) -> String {
    format!("({:?}, {:?}, {:?})", v.x, v.y, v.z)
}

/// The scene; the loop joint holds a point of the last link, and a hinge its axis z, where the chain puts them.
fn scene(chain: &[Link], is_hinge: bool, friction: &str, rates: &[f64]) -> Scene {
    let (mut links, mut joints) = (String::new(), String::new());
    for (k, link) in chain.iter().enumerate() {
        let parent = if k == 0 { "world".to_owned() } else { format!("link {}", k - 1) };
        links += &format!(
            "Link(name: \"link {k}\", mass: {:?}, center_of_mass: {}, inertia: Diagonal{}), ",
            link.mass,
            written(&link.center),
            written(&link.inertia)
        );
        joints += &format!(
            "Joint(name: \"j{k}\", parent: \"{parent}\", child: \"link {k}\", kind: Revolute(axis: {}), position: \
             {:?}, \
             velocity: {:?}, placement: Placement(translation: {}), {friction}), ",
            written(&link.axis),
            link.start,
            rates.get(k).copied().unwrap_or(0.0),
            written(&link.at)
        );
    }
    let last = chain.len() - 1;
    let start: Vec<f64> = chain.iter().map(|link| link.start).collect();
    let (p, r) = poses(chain, &start)[last];
    let tip = p + r * TIP;
    let turn = nalgebra::UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(r));
    let kind = if is_hinge { "Revolute(axis: (0.0, 0.0, 1.0))" } else { "Spherical" };
    let text = format!(
        "Scene(gravity: (0.0, 0.0, -9.81), links: [{links}], joints: [{joints}], couplings: [LoopJoint(name: \"l\", \
         kind: {kind}, links: (\"world\", \"link {last}\"), placements: (Placement(translation: {}, rotation: \
         Quaternion(w: {:?}, x: {:?}, y: {:?}, z: {:?})), Placement(translation: {})))], \
         solver: Solver(method: Dopri5, control: Error(rtol: 1e-10, atol: 1e-12)), duration: 0.2, \
         output: Output(interval: 0.05))",
        written(&tip),
        turn.w,
        turn.i,
        turn.j,
        turn.k,
        written(&TIP)
    );
    Scene::parse(&text, "spatial loop").unwrap_or_else(|error| panic!("{error}"))
}

const TIP: Vector3<f64> = Vector3::new(0.3, -0.2, 0.1);

/// Accelerations of the joints under given efforts.
fn maximal(chain: &[Link], is_hinge: bool, q: &[f64], v: &[f64], effort: &[f64]) -> Option<Vec<f64>> {
    let n = chain.len();
    let poses = poses(chain, q);
    let mut omega = vec![Vector3::zeros(); n];
    for k in 0..n {
        let before = if k == 0 { Vector3::zeros() } else { omega[k - 1] };
        omega[k] = before + poses[k].1 * chain[k].axis.into_inner() * v[k];
    }
    let center = |k: usize| poses[k].0 + poses[k].1 * chain[k].center;
    let n_rows = 5 * n + if is_hinge { 5 } else { 3 };
    let size = 6 * n + n_rows;
    let (mut matrix, mut right) = (DMatrix::<f64>::zeros(size, size), DVector::<f64>::zeros(size));
    for k in 0..n {
        let turned = poses[k].1 * Matrix3::from_diagonal(&chain[k].inertia) * poses[k].1.transpose();
        matrix.view_mut((6 * k, 6 * k), (3, 3)).copy_from(&(Matrix3::identity() * chain[k].mass));
        matrix.view_mut((6 * k + 3, 6 * k + 3), (3, 3)).copy_from(&turned);
        let axis = poses[k].1 * chain[k].axis.into_inner();
        let next = chain.get(k + 1).map_or(Vector3::zeros(), |next| poses[k + 1].1 * next.axis.into_inner());
        let torque = axis * effort[k] - next * effort.get(k + 1).copied().unwrap_or(0.0);
        right.fixed_rows_mut::<3>(6 * k).copy_from(&(G * chain[k].mass));
        right.fixed_rows_mut::<3>(6 * k + 3).copy_from(&(torque - omega[k].cross(&(turned * omega[k]))));
    }
    // rows: c · (acceleration of the later link − that of the earlier one) = what their rates make of it
    let mut row = 6 * n;
    let mut add = |c: &Vector3<f64>, at: Option<Vector3<f64>>, links: [Option<usize>; 2], rest: f64| {
        let mut bias = rest;
        for (sign, k) in [(-1.0, links[0]), (1.0, links[1])] {
            let Some(k) = k else { continue };
            let (linear, angular) = match at {
                Some(at) => {
                    let arm = at - center(k);
                    bias -= sign * c.dot(&omega[k].cross(&omega[k].cross(&arm)));
                    (*c, arm.cross(c))
                }
                None => (Vector3::zeros(), *c),
            };
            for i in 0..3 {
                for (column, value) in [(6 * k + i, sign * linear[i]), (6 * k + 3 + i, sign * angular[i])] {
                    matrix[(row, column)] = value;
                    matrix[(column, row)] = -value;
                }
            }
        }
        right[row] = bias;
        row += 1;
    };
    let across = |axis: &Vector3<f64>| {
        let first = axis.cross(&if axis.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() }).normalize();
        [first, axis.cross(&first)]
    };
    let unit = [Vector3::x(), Vector3::y(), Vector3::z()];
    for k in 0..n {
        let links = [k.checked_sub(1), Some(k)];
        let axis = poses[k].1 * chain[k].axis.into_inner();
        let before = links[0].map_or(Vector3::zeros(), |k| omega[k]);
        unit.iter().for_each(|c| add(c, Some(poses[k].0), links, 0.0));
        across(&axis).iter().for_each(|c| add(c, None, links, c.dot(&before.cross(&axis)) * v[k]));
    }
    let (p, r) = poses[n - 1];
    unit.iter().for_each(|c| add(c, Some(p + r * TIP), [None, Some(n - 1)], 0.0));
    if is_hinge {
        across(&(r * Vector3::z())).iter().for_each(|c| add(c, None, [None, Some(n - 1)], 0.0));
    }
    let found = matrix.lu().solve(&right)?;
    let angular = |k: usize| Vector3::new(found[6 * k + 3], found[6 * k + 4], found[6 * k + 5]);
    let joint = |k: usize| {
        let before = if k == 0 { Vector3::zeros() } else { angular(k - 1) };
        (poses[k].1 * chain[k].axis.into_inner()).dot(&(angular(k) - before))
    };
    Some((0..n).map(joint).collect())
}

#[test]
fn spatial_loops_accelerate_like_maximal_coordinates() {
    let mut n_compared = [0; 2];
    for seed in 0..60 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let is_hinge = seed % 2 == 1;
        let n = if is_hinge { rng.random_range(6..8) } else { rng.random_range(4..7) };
        let chain = chain(&mut rng, n);
        let freedom = n - if is_hinge { 5 } else { 3 };
        let rates: Vec<f64> = (0..freedom).map(|_| rng.random_range(0.5..2.0)).collect();
        let level = 0.3;
        let scene = scene(&chain, is_hinge, &format!("friction: Coulomb(coulomb: {level:?})"), &rates);
        let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(sim.freedom(), freedom, "seed {seed}");
        assert!(!sim.remarks().iter().any(|remark| remark.contains("redundant")), "{:?}", sim.remarks());
        let recording = match sim.run_until(0.2) {
            Ok(recording) => recording,
            Err(error) => {
                assert!(error.to_string().contains("singular"), "seed {seed}: {error}");
                continue;
            }
        };
        let channel =
            |what: &str, k: usize| -> Vec<f64> { recording.channel(&format!("j{k}.{what}")).unwrap().collect() };
        let of = |what: &str| -> Vec<Vec<f64>> { (0..n).map(|k| channel(what, k)).collect() };
        let [q, v, a, mode, friction] = ["position", "velocity", "acceleration", "mode", "friction"].map(of);
        for row in 0..q[0].len() {
            let at = |x: &[Vec<f64>]| -> Vec<f64> { x.iter().map(|x| x[row]).collect() };
            let (q, v, a, mode) = (at(&q), at(&v), at(&a), at(&mode));
            // sliding joints by their direction, stuck ones by the effort that was recorded
            let stuck = at(&friction);
            let effort: Vec<f64> =
                (0..n).map(|k| if mode[k] == 0.0 { -stuck[k] } else { -level * v[k].signum() }).collect();
            let Some(expected) = maximal(&chain, is_hinge, &q, &v, &effort) else { continue };
            let scale = expected.iter().fold(1.0_f64, |most, a| most.max(a.abs()));
            if scale > 1e4 || v.iter().zip(&mode).any(|(v, mode)| *mode != 0.0 && v.abs() < 1e-3) {
                continue; // nearly singular, or turning back
            }
            for (k, (a, expected)) in a.iter().zip(&expected).enumerate() {
                assert!((a - expected).abs() < 1e-8 * scale, "seed {seed}, row {row}, j{k}: {a} {expected}");
            }
            n_compared[usize::from(is_hinge)] += 1;
        }
    }
    assert!(n_compared[0] > 60 && n_compared[1] > 60, "{n_compared:?}");
}

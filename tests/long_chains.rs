//! Long hanging chains with dry friction in every hinge, and loads that vanish with the accelerations: modes are
//! consistent at every row and at every tolerance.

use bristle::friction::Mode;
use bristle::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const CHAIN_50: &str = include_str!("data/defects/chain_50_coulomb_cycles.ron");
const VANISHING_LOAD: &str = include_str!("data/defects/unconverged_loads.ron");

/// A chain that hangs from the world along −z; lengths, masses, angles between neighbours and friction levels of its
/// links.
struct Chain {
    length: Vec<f64>,
    mass: Vec<f64>,
    angle: Vec<f64>,
    level: Vec<f64>,
    axis: Vec<[f64; 2]>,
}

impl Chain {
    /// Hinges along y where `is_planar`, else along any horizontal axis; few or all of them bent; all levels the same,
    /// or each its own.
    fn random(seed: u64, n: usize, is_planar: bool) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let coulomb = 10.0_f64.powf(rng.random_range(-3.5..-1.0));
        let (is_same, is_sparse) = (rng.random_bool(0.5), rng.random_bool(0.5));
        let mut each = |low: f64, high: f64| (0..n).map(|_| rng.random_range(low..high)).collect::<Vec<f64>>();
        let (length, mass, axis) = (each(0.03, 0.3), each(0.03, 0.5), each(-3.0, 3.0));
        let (mut angle, bent, level) = (each(-0.15, 0.15), each(0.0, 1.0), each(0.3, 3.0));
        angle.iter_mut().zip(bent).filter(|(_, bent)| is_sparse && *bent > 0.2).for_each(|(angle, _)| *angle = 0.0);
        let axis = axis.into_iter().map(|x| if is_planar { [0.0, 1.0] } else { [x.cos(), x.sin()] }).collect();
        let level = level.into_iter().map(|level| if is_same { coulomb } else { coulomb * level }).collect();
        Self { length, mass, angle, level, axis }
    }

    fn n(&self) -> usize {
        self.mass.len()
    }

    /// About the centre of a link, across it.
    fn inertia(&self, k: usize) -> f64 {
        self.mass[k] * self.length[k] * self.length[k] / 12.0
    }

    fn scene(&self, rtol: f64) -> Scene {
        let (mut links, mut joints) = (String::new(), String::new());
        for k in 0..self.n() {
            let (m, half, i) = (self.mass[k], -0.5 * self.length[k], self.inertia(k));
            links += &format!(
                "Link(name: \"l{k}\", mass: {m}, center_of_mass: (0, 0, {half}), inertia: Diagonal({i}, {i}, {})),",
                0.1 * i
            );
            let (parent, at) = match k {
                0 => ("world".to_owned(), 0.0),
                _ => (format!("l{}", k - 1), -self.length[k - 1]),
            };
            let ([x, y], position, level) = (self.axis[k], self.angle[k], self.level[k]);
            joints += &format!(
                "Joint(name: \"j{k}\", parent: \"{parent}\", child: \"l{k}\", kind: Revolute(axis: ({x}, {y}, 0)), \
                 placement: Placement(translation: (0, 0, {at})), position: {position}, \
                 friction: Coulomb(coulomb: {level})),"
            );
        }
        let solver = format!("Solver(method: Dopri5, control: Error(rtol: {rtol:e}, atol: {:e}))", 0.01 * rtol);
        let text = format!(
            "Scene(links: [{links}], joints: [{joints}], solver: {solver}, duration: 1.0, \
             output: Output(interval: 0.002))"
        );
        Scene::parse(&text, "chain").unwrap_or_else(|error| panic!("{error}"))
    }

    /// Of a plane chain at rest, by Newton and Euler in the plane of the world: the effort in each hinge beyond its
    /// friction `f` that the accelerations `a` would take, and the size of the terms of which that is the difference.
    fn unbalanced(&self, a: &[f64], f: &[f64]) -> Vec<(f64, f64)> {
        let n = self.n();
        // hinges and centres in (x, z); a turn about y moves (dx, dz) by (dz, −dx)
        let (mut hinge, mut centre, mut direction) = (vec![[0.0, 0.0]], Vec::new(), 0.0_f64);
        for k in 0..n {
            direction += self.angle[k];
            let (end, way) = (hinge[k], [-direction.sin(), -direction.cos()]);
            centre.push([0, 1].map(|x| end[x] + 0.5 * self.length[k] * way[x]));
            hinge.push([0, 1].map(|x| end[x] + self.length[k] * way[x]));
        }
        let turned = |from: [f64; 2], to: [f64; 2]| [to[1] - from[1], from[0] - to[0]];
        // force and moment of each link, with the sizes of the terms
        let links: Vec<[[f64; 3]; 2]> = (0..n)
            .map(|k| {
                let mut acceleration = [[0.0, 9.81, 0.0]; 2];
                for j in 0..=k {
                    let [x, z] = turned(hinge[j], centre[k]);
                    for (sum, term) in acceleration[0].iter_mut().zip([x, z, 1.0]) {
                        *sum += a[j] * term;
                    }
                    for (size, term) in acceleration[1].iter_mut().zip([x, z, 1.0]) {
                        *size += (a[j] * term).abs();
                    }
                }
                acceleration.map(|[x, z, turn]| [self.mass[k] * x, self.mass[k] * z, self.inertia(k) * turn])
            })
            .collect();
        let balance = |i: usize| {
            (i..n).fold((f[i], f[i].abs()), |(sum, size), k| {
                let ([x, z], [[fx, fz, moment], sizes]) = (turned(hinge[i], centre[k]), links[k]);
                let terms = x.abs() * sizes[0] + z.abs() * sizes[1] + sizes[2];
                (sum + x * fx + z * fz + moment, size + terms)
            })
        };
        (0..n).map(balance).collect()
    }
}

/// Every row of a run: stuck hinges do not move and stay within their level, sliding ones have it against their motion,
/// and the energy balances to the tolerance. Returns the numbers of stuck and sliding hinges.
fn assert_rows(what: &str, recording: &Recording, levels: &[f64], rtol: f64) -> [usize; 2] {
    let channel = |name: String| recording.channel(&name).unwrap().collect::<Vec<f64>>();
    let mut count = [0; 2];
    for (k, &level) in levels.iter().enumerate() {
        let [modes, velocities, frictions] =
            ["mode", "velocity", "friction"].map(|quantity| channel(format!("j{k}.{quantity}")));
        for (row, ((mode, v), f)) in modes.iter().zip(&velocities).zip(&frictions).enumerate() {
            let place = || format!("{what}, j{k}, row {row}: mode {mode}, v {v:e}, f {f}, level {level}");
            if *mode == 0.0 {
                count[0] += 1;
                assert!(v.to_bits() == 0 && f.abs() <= level * (1.0 + 1e-9), "{}", place());
            } else {
                count[1] += 1;
                // an interpolated row may be past the root by the error of the interpolant
                assert!(*f == mode * level && mode * v >= -0.01 * rtol, "{}", place());
            }
        }
    }
    let [balance, kinetic, heat] = ["balance", "kinetic", "dissipated"].map(|part| channel(format!("energy.{part}")));
    let turned_over = kinetic.iter().zip(&heat).map(|(kinetic, heat)| kinetic + heat).fold(0.0, f64::max);
    let worst = balance.iter().fold(0.0_f64, |worst, balance| worst.max(balance.abs()));
    // rows are interpolated: a few times the error of a step
    assert!(worst <= 10.0 * rtol * turned_over, "{what}: energy off by {worst:e} of {turned_over}");
    count
}

fn with_tolerance(text: &str, rtol: f64) -> Scene {
    let control = format!("Error(rtol: {rtol:e}, atol: {:e})", 0.01 * rtol);
    Scene::parse_with(text, "defect", &[("solver.control", &control)]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn stick_slip_chain_of_fifty_runs() {
    for rtol in [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10] {
        let mut scene = with_tolerance(CHAIN_50, rtol);
        scene.output.interval = 0.002;
        let mut sim = Simulation::new(&scene).unwrap();
        let recording = sim.run_until(0.06).unwrap_or_else(|error| panic!("rtol {rtol:e}: {error}"));
        let [stuck, sliding] = assert_rows(&format!("rtol {rtol:e}"), &recording, &[0.002; 50], rtol);
        assert!(stuck > 100 && sliding > 100, "{stuck} stuck, {sliding} sliding");
    }
}

#[test]
fn random_chains_run() {
    let mut count = [0; 2];
    for seed in 0..14 {
        let n = 45 + 7 * seed as usize;
        let chain = Chain::random(seed, n, seed % 2 == 0);
        let rtol = [1e-3, 1e-6, 1e-8][seed as usize % 3];
        let what = format!("seed {seed}, {n} links, rtol {rtol:e}");
        let mut sim = Simulation::new(&chain.scene(rtol)).unwrap();
        let recording = sim.run_until(0.03).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = assert_rows(&what, &recording, &chain.level, rtol);
        count = [0, 1].map(|k| count[k] + found[k]);
    }
    assert!(count.iter().all(|&count| count > 2000), "{count:?}");
}

/// (1) and (2) of `modes` have one solution where levels are equal.
#[test]
fn modes_of_500_links_satisfy_newton_euler() {
    let mut count = [0; 2];
    for seed in 100..106 {
        let n = [60, 200, 500][seed as usize % 3];
        let chain = Chain::random(seed, n, true);
        let mut sim = Simulation::new(&chain.scene(1e-6)).unwrap();
        sim.run_until(0.0).unwrap();
        let a = sim.accelerations().to_vec();
        for (k, (left, size)) in chain.unbalanced(&a, sim.friction_efforts()).into_iter().enumerate() {
            // a rounding error in each of n terms
            assert!(left.abs() <= 2e-16 * n as f64 * size, "seed {seed}, j{k}: {left:e} of {size:e}");
            let (mode, f, level) = (sim.modes()[k], sim.friction_efforts()[k], chain.level[k]);
            let place = || format!("seed {seed}, j{k}: {mode:?}, a {:e}, f {f}, level {level}", a[k]);
            if mode == Mode::Stuck {
                count[0] += 1;
                assert!(a[k] == 0.0 && f.abs() <= level * (1.0 + 1e-10), "{}", place());
            } else {
                count[1] += 1;
                assert!(f == mode.direction() * level && a[k] * mode.direction() > 0.0, "{}", place());
            }
        }
    }
    assert!(count.iter().all(|&count| count > 300), "{count:?}");
}

/// A pin without gravity has no load without acceleration: the impending motion determines its limit and its direction.
#[test]
fn modes_where_load_vanishes_with_acceleration() {
    let finish = |rtol: f64| {
        let mut sim = Simulation::new(&with_tolerance(VANISHING_LOAD, rtol)).unwrap();
        let recording = sim.run_until(1.2).unwrap_or_else(|error| panic!("rtol {rtol:e}: {error}"));
        let events: Vec<_> =
            recording.events().iter().map(|event| (event.joint.clone(), event.from, event.to)).collect();
        let times: Vec<f64> = recording.events().iter().map(|event| event.t).collect();
        (sim.position("j0").unwrap(), sim.position("j1").unwrap(), events, times)
    };
    let tight = finish(1e-11);
    // the clutch slips where the drive reaches its limit, and the pin with it, backward
    let (ts, drive) = ([0.06954862410199421, 0.3143055272593762], [4.912437711644802, -5.641692961408108]);
    let limit = 0.5538673564415004 * 6.894701135237044;
    let break_away = ts[0] + (ts[1] - ts[0]) * (drive[0] + limit) / (drive[0] - drive[1]);
    println!("{tight:?} {break_away}");
    for rtol in [1e-2, 1e-4, 1e-6, 1e-8, 1e-9, 1e-10] {
        let (j0, j1, events, times) = finish(rtol);
        let slips = events.iter().position(|event| event.0 == "c0" && event.2 == Mode::Forward).unwrap();
        assert!((times[slips] - break_away).abs() < 1e-9, "rtol {rtol:e}: {events:?} {times:?}");
        assert!((j0 - tight.0).abs() < 100.0 * rtol && (j1 - tight.1).abs() < 100.0 * rtol, "rtol {rtol:e}: {j0} {j1}");
    }
}

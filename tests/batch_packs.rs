//! Copies of a batch in lanes: `RealTime` steps of several copies at once, against copies that step alone.
//!
//! A batch of one copy has no lanes and takes the steps of a `Simulation`.

use bristle::batch::Rollout;
use bristle::friction::{Coulomb, Dahl, ElastoPlastic, Law, LuGre, LuGre2, Mode, Stribeck, Table, Tanh};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

struct Random(Pcg64);

impl Random {
    fn real(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }
}

/// A law of one of nine kinds, or none; `scale` makes copies differ in parameters.
fn law(kind: usize, level: f64, scale: f64) -> Option<Law> {
    let (c, s) = (level * scale, 1.4 * level * scale);
    let lugre = LuGre {
        sigma0: 300.0 * level,
        sigma1: 2.0 * level,
        sigma2: 0.02,
        coulomb: c,
        stiction: s,
        stribeck_velocity: Some(0.05),
        exponent: 2.0,
        damping_velocity: None,
    };
    Some(match kind {
        0 => Coulomb { coulomb: c, stiction: s, viscous: 0.0 }.into(),
        1 => Coulomb { coulomb: c, stiction: c, viscous: 0.1 }.into(),
        2 => {
            Stribeck { coulomb: c, stiction: s, stribeck_velocity: Some(0.1), exponent: 2.0, viscous: 0.02, peak: 1.0 }
                .into()
        }
        3 => Table { points: vec![(0.0, s), (0.3, c), (2.0, 1.2 * c)], peak: 1.0 }.into(),
        4 => Tanh { coulomb: c, stribeck_velocity: 0.02, viscous: 0.05 }.into(),
        5 => Dahl { coulomb: c, sigma0: 300.0 * level }.into(),
        6 => lugre.into(),
        7 => ElastoPlastic { lugre, breakaway: 0.5 * c / (300.0 * level) }.into(),
        8 => LuGre2 { lugre, alpha: 0.5, beta: 50.0 }.into(),
        _ => return None,
    })
}

/// A random tree with friction; the kinds of the laws of its joints, and their levels.
struct Machine {
    sim: Simulation,
    laws: Vec<(usize, f64)>,
}

fn machine(seed: u64) -> Machine {
    let mut random = Random(Pcg64::seed_from_u64(seed));
    let n = 1 + random.below(6);
    let (mut world, mut links, mut laws) = (World::new(), Vec::new(), Vec::new());
    for k in 0..n {
        let inertia = LinkInertia::diagonal(random.real(0.5, 2.0), [0.2, 0.0, -0.1].into(), 0.03, 0.04, 0.05);
        let link = world.spawn_link(&format!("link {k}"), inertia);
        let axis = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, 0.4, 0.5]][random.below(3)];
        let kind = if random.below(4) == 0 { prismatic } else { revolute };
        let mut joint = kind(&format!("joint {k}"), axis).to(link).at([0.3, 0.1, 0.0]).armature(random.real(0.0, 0.1));
        if k > 0 && random.below(5) > 0 {
            joint = joint.from(links[random.below(k)]);
        }
        if random.below(3) == 0 {
            joint = joint.damping(random.real(0.1, 1.0));
        }
        if random.below(3) == 0 {
            joint = joint.spring(random.real(5.0, 50.0), 0.1);
        }
        let (which, level) = (random.below(10), random.real(0.2, 3.0));
        if let Some(law) = law(which, level, 1.0) {
            laws.push((which, level));
            joint = joint.friction(law);
            joint = match random.below(3) {
                0 => joint,
                1 => joint.load(Load::Constant(random.real(0.5, 2.0))),
                _ => joint.load(Load::Signal {
                    signal: Signal::Sine { amplitude: 0.3, frequency: 5.0, phase: 0.0, offset: 0.6 },
                    max: 2.0,
                    geometry: 1.0,
                }),
            };
        } else {
            laws.push((9, 0.0));
        }
        let target = Signal::Sine { amplitude: 0.5, frequency: 3.0, phase: 0.2, offset: 0.0 };
        joint = match random.below(5) {
            0 => joint.drive(Drive::Pid { kp: 30.0, ki: 20.0, kd: 2.0, target }),
            1 => joint.drive(Drive::Effort(Signal::Constant(1.0))),
            2 => joint.drive(Drive::Pull { stiffness: 20.0, target }),
            _ => joint,
        };
        world.spawn_joint(joint);
        links.push(link);
    }
    let control = Control::Constant { step: 2e-3 };
    let settings = Settings { method: Method::RealTime, control, ..Settings::default() };
    Machine { sim: Simulation::with_settings(world, settings).unwrap(), laws }
}

/// State and friction of copy `i` of the experiment on machine `seed`, in `copy` of a batch.
fn prepare(batch: &mut Batch, copy: usize, i: usize, laws: &[(usize, f64)], seed: u64) {
    let mut random = Random(Pcg64::seed_from_u64(1000 * seed + i as u64));
    let n = laws.len();
    let q: Vec<f64> = (0..n).map(|_| random.real(-1.0, 1.0)).collect();
    let v: Vec<f64> =
        (0..n).map(|k| if random.below(3) == 0 { 0.0 } else { random.real(-1.0, 1.0) * (k + 1) as f64 }).collect();
    batch.set_state(copy, &q, &v).unwrap();
    for (k, &(which, level)) in laws.iter().enumerate() {
        if let Some(law) = law(which, level, random.real(0.5, 1.5)) {
            batch.set_friction(copy, &format!("joint {k}"), law).unwrap();
        }
    }
}

/// Effort on joint `k` of copy `i` in step `s`.
fn effort(i: usize, s: usize, k: usize) -> f64 {
    ((i + 3 * k) as f64 + 0.05 * s as f64).sin()
}

/// A batch of the copies `which` of an experiment.
fn batch_of(seed: u64, which: &[usize]) -> (Batch, Vec<(usize, f64)>) {
    let Machine { mut sim, laws } = machine(seed);
    let mut batch = Batch::new(&mut sim, which.len()).unwrap().with_threads(1).unwrap();
    which.iter().enumerate().for_each(|(copy, &i)| prepare(&mut batch, copy, i, &laws, seed));
    (batch, laws)
}

fn step(batch: &mut Batch, which: &[usize], s: usize, n_v: usize, dt: f64) -> Result<(), Error> {
    let n = which.len();
    for (copy, &i) in which.iter().enumerate() {
        (0..n_v).for_each(|k| batch.efforts_mut()[k * n + copy] = effort(i, s, k));
    }
    batch.step(dt)
}

/// All that can be read of copy `i` of a batch.
fn results(batch: &mut Batch, copy: usize) -> (Vec<f64>, Vec<Mode>, f64) {
    let n = batch.len();
    let of = |list: &[f64]| -> Vec<f64> { list.iter().skip(copy).step_by(n).copied().collect() };
    let lists =
        [of(batch.positions()), of(batch.velocities()), of(batch.accelerations()), of(batch.friction_efforts())];
    let bristles = batch.bristles().iter().skip(copy).step_by(n).map(|bristle| bristle.z).collect();
    let loads = of(batch.loads());
    let modes = batch.modes().iter().skip(copy).step_by(n).copied().collect();
    let balance = batch.energy(copy).unwrap().balance;
    (lists.into_iter().chain([loads, bristles]).flatten().collect(), modes, balance)
}

/// Lanes agree with copies that step alone, to rounding where all friction is dry and to the accuracy of the coarse
/// solution otherwise: for trees with every law, load and drive that packs cover,
/// copies that differ in friction, state and efforts. Stuck joints have velocity 0.0 in both.
#[test]
fn copies_in_lanes_agree_with_copies_alone() {
    let (mut n_stuck, mut n_slid, mut n_dry) = (0, 0, 0);
    for seed in 0..60 {
        let which: Vec<usize> = (0..7).collect();
        let (mut batch, laws) = batch_of(seed, &which);
        let n = laws.len();
        let is_dry = laws.iter().all(|law| law.0 < 4 || law.0 == 9);
        n_dry += usize::from(is_dry);
        let mut worst = 0.0_f64;
        // the velocity of each contact with modes
        let sim = machine(seed).sim;
        let velocity = |name: &str| sim.coordinates().iter().find(|joint| joint.name == name).unwrap().v;
        let number = |name: &str| name.rsplit(' ').next().and_then(|k| k.parse::<usize>().ok()).unwrap();
        let has_modes = |name: &str| laws[number(name)].0 < 4;
        let dry: Vec<Option<usize>> = sim.contact_names().map(|name| has_modes(name).then(|| velocity(name))).collect();
        let mut alone: Vec<Batch> = which.iter().map(|&i| batch_of(seed, &[i]).0).collect();
        for s in 0..40 {
            // periods of one step, of several, and of no whole number of them
            let dt = [2e-3, 6e-3, 3e-3, 1e-3][s % 4];
            step(&mut batch, &which, s, n, dt).unwrap();
            for (i, one) in alone.iter_mut().enumerate() {
                step(one, &[i], s, n, dt).unwrap();
                assert_eq!(one.time(0).unwrap(), batch.time(i).unwrap());
                let ((x, modes, balance), (y, modes_alone, balance_alone)) = (results(&mut batch, i), results(one, 0));
                assert_eq!(modes, modes_alone, "seed {seed}, copy {i}, step {s}");
                let scale = y.iter().fold(1.0_f64, |max, y| max.max(y.abs()));
                for (x, y) in x.iter().zip(&y) {
                    worst = worst.max((x - y).abs() / scale);
                }
                worst = worst.max((balance - balance_alone).abs() / scale);
                // laws that are not dry are solved coarsely where only the bias is evaluated with the result
                // dry ones to 1e-13 of the terms of a row, which forty steps of a swinging tree make larger
                let tolerance = if is_dry { 1e-8 } else { 1e-5 };
                assert!(worst < tolerance, "seed {seed}, copy {i}, step {s}: {worst}\n{x:?}\n{y:?}");
                for (&v, _) in dry.iter().zip(&modes).filter(|(_, mode)| **mode == Mode::Stuck) {
                    if let Some(v) = v {
                        assert_eq!(batch.velocities()[v * 7 + i], 0.0, "seed {seed}, copy {i}, velocity {v}");
                        n_stuck += 1;
                    }
                }
                n_slid += modes.iter().filter(|mode| **mode != Mode::Stuck).count();
            }
        }
    }
    assert!(n_stuck > 1000 && n_slid > 1000 && n_dry > 5, "{n_stuck} {n_slid} {n_dry}");
}

/// A copy has the same bits in any company, on any number of threads, and in a rollout.
#[test]
fn copies_do_not_depend_on_their_neighbours() {
    for seed in 100..115 {
        let run = |which: &[usize], threads: usize| {
            let (batch, laws) = batch_of(seed, which);
            let mut batch = batch.with_threads(threads).unwrap();
            (0..30).for_each(|s| step(&mut batch, which, s, laws.len(), 2e-3).unwrap());
            let results: Vec<_> = (0..which.len()).map(|copy| results(&mut batch, copy)).collect();
            (which.to_vec(), results)
        };
        let (_, all) = run(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1);
        let companies = [&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..], &[9, 3, 7, 0, 5, 1], &[2, 8], &[1, 3, 5, 7, 9]];
        for (which, results) in companies.into_iter().zip([3, 2, 1, 2]).map(|(which, threads)| run(which, threads)) {
            which.iter().zip(&results).for_each(|(&i, results)| assert_eq!(*results, all[i], "seed {seed}, copy {i}"));
        }
        // the same efforts in one call
        let which: Vec<usize> = (0..10).collect();
        let (mut batch, laws) = batch_of(seed, &which);
        let n = laws.len();
        let efforts: Vec<f64> =
            which.iter().flat_map(|&i| (0..30).flat_map(move |s| (0..n).map(move |k| effort(i, s, k)))).collect();
        let mut rollout = Rollout::default();
        batch.rollout(2e-3, 30, &efforts, &mut rollout).unwrap();
        for (i, alone) in all.iter().enumerate() {
            let (x, modes, _) = results(&mut batch, i);
            assert_eq!((&x, &modes), (&alone.0, &alone.1), "seed {seed}, copy {i}");
            assert_eq!(rollout.position[(i * 30 + 29) * n..(i * 30 + 30) * n], x[..n]);
        }
    }
}

/// The same where neighbours are at other times: copies that are put back in the middle, each at its own step, take the
/// steps of copies that start together.
#[test]
fn copies_have_independent_clocks() {
    for seed in 120..130 {
        let which = [0, 1, 2, 3, 4, 5, 6];
        let mut batch = batch_of(seed, &which).0;
        let starts: Vec<_> = (0..7).map(|copy| batch.snapshot(copy).unwrap()).collect();
        (0..12).for_each(|_| batch.step(2e-3).unwrap());
        let together: Vec<_> = (0..7).map(|copy| results(&mut batch, copy)).collect();

        let mut apart = batch_of(seed, &which).0;
        for s in 0..18 {
            // copy 1 begins again after step 3, copy 2 after step 5, copies 5 and 6 after step 6
            [(3, 1), (5, 2), (6, 5), (6, 6)].into_iter().filter(|(after, _)| *after == s).for_each(|(_, copy)| {
                apart.restore(copy, &starts[copy]).unwrap();
            });
            apart.step(2e-3).unwrap();
            for (copy, together) in together.iter().enumerate() {
                let begun = [0, 3, 5, 0, 0, 6, 6][copy];
                if s + 1 == begun + 12 {
                    let (x, modes, balance) = results(&mut apart, copy);
                    assert_eq!((&x, &modes), (&together.0, &together.1), "seed {seed}, copy {copy}");
                    // heat and work are summed from one loading of a lane to the next
                    assert!((balance - together.2).abs() < 1e-12, "seed {seed}, copy {copy}: {balance}");
                }
            }
        }
    }
}

/// Copies that are changed together change all or none, bit for bit.
#[test]
fn a_refused_change_of_several_copies_changes_none() {
    let which = [0, 1, 2, 3, 4];
    let (mut batch, laws) = batch_of(400, &which);
    (0..5).for_each(|s| step(&mut batch, &which, s, laws.len(), 2e-3).unwrap());
    let before: Vec<_> = (0..5).map(|copy| batch.snapshot(copy).unwrap()).collect();
    let states: Vec<Vec<f64>> = (0..3).map(|k| vec![if k < 2 { 0.1 } else { f64::NAN }; laws.len()]).collect();
    let zero = vec![0.0; laws.len()];
    let copies = [3, 3, 0];
    assert!(batch.change_each(&copies, |batch, k| batch.set_state(copies[k], &states[k], &zero)).is_err());
    assert!(batch.change_each(&[1, 5], |batch, _| batch.set_state(1, &states[0], &zero)).is_err());
    let after: Vec<_> = (0..5).map(|copy| batch.snapshot(copy).unwrap()).collect();
    assert!(before == after);
    batch.change_each(&[3, 4], |batch, k| batch.set_state(3 + k, &states[0], &zero)).unwrap();
    assert_eq!(batch.positions()[3], 0.1);
}

/// A copy that runs away is reported and stays where it got to; its neighbours have the bits they have without it.
#[test]
fn a_failed_copy_does_not_disturb_its_neighbours() {
    let mut n_failed = 0;
    for seed in 200..210 {
        let run = |fails: bool| {
            let which: Vec<usize> = (0..6).collect();
            let (mut batch, laws) = batch_of(seed, &which);
            let n = laws.len();
            let mut failures = Vec::new();
            for s in 0..20 {
                for (copy, &i) in which.iter().enumerate() {
                    (0..n).for_each(|k| batch.efforts_mut()[k * 6 + copy] = effort(i, s, k));
                }
                if fails && s == 5 {
                    (0..n).for_each(|k| batch.efforts_mut()[k * 6 + 2] = 1e308);
                }
                if batch.step(2e-3).is_err() {
                    failures.push(batch.failures().map(|(copy, _)| copy).collect::<Vec<_>>());
                }
            }
            let results: Vec<_> = (0..6).filter(|&i| i != 2).map(|i| results(&mut batch, i)).collect();
            (results, failures, batch.positions().iter().all(|q| q.is_finite()))
        };
        let (with, failures, is_finite) = run(true);
        let (without, none, _) = run(false);
        assert!(none.is_empty() && is_finite, "{none:?}");
        assert!(failures.iter().all(|copies| copies == &[2]), "{failures:?}");
        n_failed += failures.len();
        assert_eq!(with, without, "seed {seed}");
    }
    assert!(n_failed > 0);
}

/// Bytes of a copy from a lane go on in a simulation, and those of a simulation in a lane.
#[test]
fn lane_snapshots_equal_simulation_snapshots() {
    for seed in 300..306 {
        let which = [0, 1, 2, 3, 4];
        let (mut batch, laws) = batch_of(seed, &which);
        (0..10).for_each(|s| step(&mut batch, &which, s, laws.len(), 2e-3).unwrap());
        let bytes = batch.snapshot(3).unwrap();
        let mut sim = machine(seed).sim;
        sim.restore(&bytes).unwrap();
        (0..10).for_each(|_| batch.step(2e-3).unwrap());
        (0..10).for_each(|_| sim.step(2e-3).unwrap());
        let (x, ..) = results(&mut batch, 3);
        for (k, q) in sim.positions().iter().enumerate() {
            assert!((q - x[k]).abs() < 1e-9, "seed {seed}: {q} {}", x[k]);
        }
        let restored = sim.snapshot().unwrap();
        batch.restore(1, &restored).unwrap();
        assert_eq!(results(&mut batch, 1).0[..laws.len()], *sim.positions());
        batch.step(2e-3).unwrap();
    }
}

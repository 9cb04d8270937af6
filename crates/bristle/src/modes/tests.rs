//! Mode selection, against enumeration and by hand.

mod chains;

use super::*;
use Mode::{Backward, Forward, Stuck};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A problem that owns its arrays.
#[derive(Debug, Clone)]
struct Problem {
    w: DMatrix<f64>,
    a0: Vec<f64>,
    stiction: Vec<f64>,
    kinetic: Vec<f64>,
    breaking: Vec<usize>,
}

/// The same levels in both directions.
fn both(levels: &[f64]) -> Vec<Levels> {
    levels.iter().map(|&level| [level; 2]).collect()
}

impl Problem {
    fn select(&self) -> Result<Selection, ModeError> {
        let rest = AtRest {
            delassus: self.w.as_slice(),
            free_acceleration: &self.a0,
            stiction: &both(&self.stiction),
            kinetic: &both(&self.kinetic),
            breaking: &self.breaking,
        };
        select(&rest, &mut ModeWork::default()).cloned()
    }

    fn n(&self) -> usize {
        self.a0.len()
    }

    /// a = a₀ − W f.
    fn acceleration(&self, f: &[f64]) -> DVector<f64> {
        DVector::from_column_slice(&self.a0) - &self.w * DVector::from_column_slice(f)
    }

    /// The conditions (2), to `tolerance` of the accelerations without friction and of the limits.
    fn assert_consistent(&self, chosen: &Selection, tolerance: f64) {
        let a = self.acceleration(&chosen.friction);
        let size = self.a0.iter().fold(1e-300, |m: f64, a| m.max(a.abs()));
        for i in 0..self.n() {
            let (f, mode) = (chosen.friction[i], chosen.mode[i]);
            assert!((a[i] - chosen.acceleration[i]).abs() <= tolerance * size, "(1) at {i}: {self:?} {chosen:?}");
            match mode {
                Stuck => {
                    assert_eq!(chosen.acceleration[i], 0.0);
                    assert!(f.abs() <= self.stiction[i] * (1.0 + tolerance), "{i} holds too much: {self:?} {chosen:?}");
                }
                _ => {
                    assert_eq!(f, mode.direction() * self.kinetic[i]);
                    assert!(chosen.acceleration[i] * mode.direction() >= 0.0, "{i} goes the wrong way");
                }
            }
        }
    }
}

/// Random symmetric positive definite matrix: joints of a machine coupled by `coupling`.
fn random_delassus(rng: &mut Pcg64, n: usize, coupling: f64) -> DMatrix<f64> {
    let b = DMatrix::from_fn(n, n, |_, _| rng.random_range(-1.0..1.0));
    &b * b.transpose() * (coupling / n as f64) + DMatrix::from_diagonal_element(n, n, rng.random_range(0.05..1.0))
}

fn random_problem(rng: &mut Pcg64, n: usize, stiction_over_kinetic: f64) -> Problem {
    let w = random_delassus(rng, n, 3.0);
    let kinetic: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..2.0)).collect();
    let stiction = kinetic.iter().map(|k| k * rng.random_range(1.0..=stiction_over_kinetic)).collect();
    // loads of the size of the limits: some joints stick, some slip
    let load = DVector::from_fn(n, |_, _| rng.random_range(-2.0..2.0));
    Problem { a0: (&w * load).as_slice().to_vec(), w, stiction, kinetic, breaking: vec![] }
}

/// (3) by projected Gauss–Seidel, run until nothing changes any more.
fn gauss_seidel(w: &DMatrix<f64>, a0: &[f64], limit: &[f64]) -> Vec<f64> {
    let n = a0.len();
    let mut f = vec![0.0; n];
    for _ in 0..200_000 {
        let mut change: f64 = 0.0;
        for i in 0..n {
            let a = a0[i] - (0..n).map(|j| w[(i, j)] * f[j]).sum::<f64>();
            let next = (f[i] + a / w[(i, i)]).clamp(-limit[i], limit[i]);
            change = change.max((next - f[i]).abs());
            f[i] = next;
        }
        if change < 1e-15 {
            break;
        }
    }
    f
}

/// All 3ⁿ combinations of modes with equal levels that satisfy (2).
fn enumerate(p: &Problem) -> Vec<Vec<Mode>> {
    let n = p.n();
    let mut answers = Vec::new();
    for code in 0..3_usize.pow(n as u32) {
        let modes: Vec<Mode> = (0..n).map(|i| [Backward, Stuck, Forward][code / 3_usize.pow(i as u32) % 3]).collect();
        // one linear system in (f where stuck, a where slipping)
        let mut matrix = DMatrix::zeros(n, n);
        let mut rhs = DVector::from_column_slice(&p.a0);
        for j in 0..n {
            if modes[j] == Stuck {
                matrix.set_column(j, &p.w.column(j));
            } else {
                matrix[(j, j)] = 1.0;
                rhs -= p.w.column(j) * (modes[j].direction() * p.kinetic[j]);
            }
        }
        let x = matrix.lu().solve(&rhs).unwrap();
        let holds = |i: usize| match modes[i] {
            Stuck => x[i].abs() <= p.kinetic[i],
            slipping => x[i] * slipping.direction() > 0.0,
        };
        if (0..n).all(holds) {
            answers.push(modes);
        }
    }
    answers
}

#[test]
fn thirty_joints_agree_with_an_independent_solution() {
    let mut rng = Pcg64::seed_from_u64(1);
    let mut modes = [0; 3];
    for _ in 0..200 {
        let p = random_problem(&mut rng, 30, 1.0);
        let chosen = p.select().unwrap();
        p.assert_consistent(&chosen, 1e-11);
        let f = gauss_seidel(&p.w, &p.a0, &p.kinetic);
        for i in 0..30 {
            // Gauss–Seidel stops when its steps are 1e-15; the matrix conditions that to some 1e-13
            assert!((chosen.friction[i] - f[i]).abs() < 1e-11, "{i}: {} ≠ {}", chosen.friction[i], f[i]);
            modes[(chosen.mode[i].direction() + 1.0) as usize] += 1;
        }
        assert_eq!(chosen.n_problems, 1);
    }
    // the loads were neither too small nor too large to decide anything
    assert!(modes.iter().all(|&count| count > 1000), "{modes:?}");
}

#[test]
fn few_joints_agree_with_enumeration() {
    let mut rng = Pcg64::seed_from_u64(2);
    for n in 1..=6 {
        for _ in 0..60 {
            let p = random_problem(&mut rng, n, 1.0);
            assert_eq!(enumerate(&p), [p.select().unwrap().mode]);
        }
    }
}

#[test]
fn accelerations_minimise_the_convex_function() {
    // ½(a−a₀)ᵀW⁻¹(a−a₀) + Σ ℓ|a| is no smaller anywhere nearby
    let mut rng = Pcg64::seed_from_u64(3);
    let p = random_problem(&mut rng, 12, 1.0);
    let m = p.w.clone().try_inverse().unwrap();
    let value = |a: &DVector<f64>| {
        let d = a - DVector::from_column_slice(&p.a0);
        0.5 * d.dot(&(&m * &d)) + a.iter().zip(&p.kinetic).map(|(a, l)| l * a.abs()).sum::<f64>()
    };
    let a = DVector::from_column_slice(&p.select().unwrap().acceleration);
    for _ in 0..10_000 {
        let size = 10_f64.powf(rng.random_range(-5.0..0.5));
        let other = &a + DVector::from_fn(12, |_, _| size * rng.random_range(-1.0..1.0));
        assert!(value(&other) >= value(&a) - 1e-12);
    }
}

/// The selection rule of the module, written plainly with Gauss–Seidel for every convex problem.
fn naive_rule(p: &Problem) -> Vec<Mode> {
    let n = p.n();
    let mut limit: Vec<f64> =
        (0..n).map(|i| if p.stiction[i] > p.kinetic[i] { f64::INFINITY } else { p.kinetic[i] }).collect();
    let mut f = gauss_seidel(&p.w, &p.a0, &limit);
    for &e in &p.breaking {
        limit[e] = p.kinetic[e];
        f = gauss_seidel(&p.w, &p.a0, &limit);
    }
    while let Some(worst) = (0..n)
        .filter(|&i| limit[i].is_infinite() && f[i].abs() > p.stiction[i])
        .max_by(|&i, &j| (f[i].abs() / p.stiction[i]).total_cmp(&(f[j].abs() / p.stiction[j])))
    {
        limit[worst] = p.kinetic[worst];
        f = gauss_seidel(&p.w, &p.a0, &limit);
    }
    (0..n).map(|i| if f[i].abs() < limit[i] { Stuck } else { Mode::of_sign(f[i]) }).collect()
}

#[test]
fn stiction_above_the_sliding_level_follows_the_rule() {
    let mut rng = Pcg64::seed_from_u64(4);
    let (mut problems, mut events) = (0, 0);
    for _ in 0..150 {
        let mut p = random_problem(&mut rng, 12, 1.6);
        let chosen = p.select().unwrap();
        p.assert_consistent(&chosen, 1e-11);
        assert_eq!(chosen.mode, naive_rule(&p));
        problems += chosen.n_problems;
        // the same with a joint brought exactly to its limit by scaling the load
        let hold = gauss_seidel(&p.w, &p.a0, &[f64::INFINITY; 12]);
        let ratio = |i: usize| hold[i].abs() / p.stiction[i];
        let first = (0..12).max_by(|&i, &j| ratio(i).total_cmp(&ratio(j))).unwrap();
        let scale = 1.0 / ratio(first);
        if p.stiction.iter().zip(&p.kinetic).all(|(s, k)| s > k) {
            p.a0.iter_mut().for_each(|a| *a *= scale);
            assert_eq!(p.select().unwrap().mode, [Stuck; 12], "exactly at the limit, without an event, all hold");
            p.breaking = vec![first];
            let chosen = p.select().unwrap();
            p.assert_consistent(&chosen, 1e-11);
            assert_eq!(chosen.mode, naive_rule(&p));
            assert_ne!(chosen.mode[first], Stuck);
            events += 1;
        }
    }
    assert!(problems > 450 && events > 100, "{problems} problems, {events} events");
}

#[test]
fn selection_is_independent_of_numbering() {
    let mut rng = Pcg64::seed_from_u64(5);
    for _ in 0..50 {
        let p = random_problem(&mut rng, 30, 1.5);
        let chosen = p.select().unwrap();
        p.assert_consistent(&chosen, 1e-11);
        assert!(chosen.n_problems <= 31);
        // renumbered
        let mut order: Vec<usize> = (0..30).collect();
        for i in (1..30).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        let pick = |x: &[f64]| order.iter().map(|&i| x[i]).collect::<Vec<_>>();
        let other = Problem {
            w: DMatrix::from_fn(30, 30, |r, c| p.w[(order[r], order[c])]),
            a0: pick(&p.a0),
            stiction: pick(&p.stiction),
            kinetic: pick(&p.kinetic),
            breaking: vec![],
        };
        let modes: Vec<Mode> = order.iter().map(|&i| chosen.mode[i]).collect();
        assert_eq!(other.select().unwrap().mode, modes);
        // mirrored
        let mirror = Problem { a0: p.a0.iter().map(|a| -a).collect(), ..p.clone() };
        let mirrored = mirror.select().unwrap();
        assert_eq!(mirrored.friction, chosen.friction.iter().map(|f| -f).collect::<Vec<_>>());
    }
}

fn two(coupling: f64, load: [f64; 2], stiction: [f64; 2], kinetic: [f64; 2], breaking: &[usize]) -> Problem {
    let w = DMatrix::from_row_slice(2, 2, &[1.0, coupling, coupling, 1.0]);
    let a0 = &w * DVector::from_column_slice(&load);
    Problem {
        a0: a0.as_slice().to_vec(),
        w,
        stiction: stiction.to_vec(),
        kinetic: kinetic.to_vec(),
        breaking: breaking.to_vec(),
    }
}

#[test]
fn joint_at_its_limit_slips_only_at_its_event() {
    for (stiction, kinetic) in [(1.0, 1.0), (1.0, 0.6)] {
        for side in [1.0, -1.0] {
            let w = DMatrix::from_element(1, 1, 2.0);
            let at = |load: f64, breaking: &[usize]| {
                let p = Problem {
                    w: w.clone(),
                    a0: vec![2.0 * load * side],
                    stiction: vec![stiction],
                    kinetic: vec![kinetic],
                    breaking: breaking.to_vec(),
                };
                let chosen = p.select().unwrap();
                (chosen.mode[0], chosen.friction[0] * side, chosen.acceleration[0] * side)
            };
            let away = Mode::of_sign(side);
            assert_eq!(at(0.7, &[]), (Stuck, 0.7, 0.0));
            assert_eq!(at(1.0, &[]), (Stuck, 1.0, 0.0));
            assert_eq!(at(1.0, &[0]), (away, kinetic, 2.0 * (1.0 - kinetic)));
            let (mode, friction, a) = at(1.25, &[]);
            assert_eq!((mode, friction), (away, kinetic));
            assert!((a - 2.0 * (1.25 - kinetic)).abs() < 1e-15);
            // an event located a little early or late is an event
            for load in [1.0 - 1e-9, 1.0 + 1e-9] {
                assert_eq!(at(load, &[0]).0, away);
            }
        }
    }
}

#[test]
fn levels_that_differ_by_rounding_are_equal() {
    for kinetic in [1.0 - 1e-15, 1.0, 1.0 + 1e-15] {
        let p = two(0.3, [1.5, 0.5], [1.0, 1.0], [kinetic, 1.0], &[]);
        let chosen = p.select().unwrap();
        assert_eq!(chosen.mode, [Forward, Stuck]);
        assert_eq!(chosen.n_problems, 1);
    }
}

#[test]
fn break_away_can_spread_to_a_neighbour() {
    // joint 0 sticks at 1.0 of 1.0 and drops to 0.4; W transfers the difference, 0.6·0.5, to joint 1 at 0.8
    let p = two(0.5, [1.0, 0.8], [1.0, 1.0], [0.4, 0.5], &[0]);
    let chosen = p.select().unwrap();
    assert_eq!(chosen.mode, [Forward, Forward]);
    p.assert_consistent(&chosen, 1e-14);
    // with a smaller load joint 1 sticks
    let p = two(0.5, [1.0, 0.6], [1.0, 1.0], [0.4, 0.5], &[0]);
    let chosen = p.select().unwrap();
    assert_eq!(chosen.mode, [Forward, Stuck]);
    assert!((chosen.friction[1] - 0.9).abs() < 1e-15);
}

#[test]
fn event_drops_before_a_larger_violation() {
    // joint 1 is 10 % over its stiction, joint 0 exactly at it; strong negative coupling: the first to drop unloads
    // the other
    let (stiction, kinetic) = ([1.0, 1.0], [0.2, 0.2]);
    let first = two(-0.9, [1.0, 1.1], stiction, kinetic, &[0]).select().unwrap();
    assert_eq!(first.mode, [Forward, Stuck]);
    let second = two(-0.9, [1.0, 1.1], stiction, kinetic, &[]).select().unwrap();
    assert_eq!(second.mode, [Stuck, Forward]);
}

#[test]
fn equal_ratios_drop_together() {
    // mirror images: both at 1.2; one alone would unload the other
    for breaking in [&[] as &[usize], &[0], &[1], &[0, 1]] {
        let chosen = two(-0.9, [1.2, 1.2], [1.0, 1.0], [0.8, 0.8], breaking).select().unwrap();
        assert_eq!(chosen.mode, [Forward, Forward], "{breaking:?}");
        assert_eq!(chosen.friction, [0.8, 0.8]);
    }
    // and at the limit exactly, by an event of either
    for kinetic in [0.8, 1.0] {
        for breaking in [&[0], &[1]] {
            let chosen = two(-0.9, [1.0, -1.0], [1.0, 1.0], [kinetic; 2], breaking).select().unwrap();
            assert_eq!(chosen.mode, [Forward, Backward]);
        }
    }
    // rounding does not separate equal ratios
    let chosen = two(-0.9, [1.2, 1.2 * (1.0 + 1e-14)], [1.0, 1.0], [0.8, 0.8], &[]).select().unwrap();
    assert_eq!(chosen.mode, [Forward, Forward]);
}

#[test]
fn unloaded_joint_sticks_again() {
    // 0 drops by 0.05, which overloads 1; 1 drops by 0.46, which overloads 2; 2 drops by 0.75 and unloads 0
    let w = DMatrix::from_row_slice(3, 3, &[1.0, 0.5, -0.4, 0.5, 1.0, 0.5, -0.4, 0.5, 1.0]);
    let load = DVector::from_column_slice(&[1.0, 0.96, 0.85]);
    let a0 = (&w * load).as_slice().to_vec();
    let p = Problem { w, a0, stiction: vec![1.0; 3], kinetic: vec![0.95, 0.5, 0.1], breaking: vec![0] };
    let chosen = p.select().unwrap();
    p.assert_consistent(&chosen, 1e-14);
    assert_eq!(chosen.mode, [Stuck, Forward, Forward]);
    // f₀ = 1 + 0.5·0.46 − 0.4·0.75
    assert!((chosen.friction[0] - 0.93).abs() < 1e-15);
    assert_eq!(chosen.n_problems, 4);
}

#[test]
fn frictionless_joint_never_sticks() {
    let p = two(0.5, [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], &[]);
    let chosen = p.select().unwrap();
    assert_eq!(chosen.mode, [Forward, Stuck]);
    assert_eq!(chosen.friction[0], 0.0);
    p.assert_consistent(&chosen, 1e-14);
    // stiction without a sliding level: no friction after break-away
    let chosen = two(0.0, [-1.0, 0.0], [1.0, 1.0], [0.0, 1.0], &[0]).select().unwrap();
    assert_eq!((chosen.mode[0], chosen.friction[0]), (Backward, 0.0));
}

#[test]
fn selection_without_joints_is_empty() {
    let p = Problem { w: DMatrix::zeros(0, 0), a0: vec![], stiction: vec![], kinetic: vec![], breaking: vec![] };
    assert!(p.select().unwrap().mode.is_empty());
}

#[test]
fn unusable_input_names_the_joint() {
    let good = two(0.5, [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], &[]);
    let mut p = good.clone();
    p.a0[1] = f64::NAN;
    assert_eq!(p.select().unwrap_err(), ModeError::Unusable { joint: 1 });
    let mut p = good.clone();
    p.kinetic[0] = 2.0;
    assert_eq!(p.select().unwrap_err(), ModeError::Unusable { joint: 0 });
    let mut p = good;
    p.w.fill(1.0);
    assert_eq!(p.select().unwrap_err(), ModeError::Dependent { joint: 1 });
}

#[test]
fn degenerate_problems_terminate() {
    // integer loads, limits and couplings: many efforts land exactly on limits, many accelerations exactly on zero
    let mut rng = Pcg64::seed_from_u64(6);
    for _ in 0..3000 {
        let n = rng.random_range(2..=8);
        let b = DMatrix::from_fn(n, n, |_, _| f64::from(rng.random_range(-1..=1)));
        let w = &b * b.transpose() + DMatrix::identity(n, n);
        let kinetic: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(0..=2))).collect();
        let stiction = kinetic.iter().map(|k| k + f64::from(rng.random_range(0..=1))).collect();
        let load = DVector::from_fn(n, |_, _| f64::from(rng.random_range(-3..=3)));
        let breaking = if rng.random_bool(0.5) { vec![rng.random_range(0..n)] } else { vec![] };
        let p = Problem { a0: (&w * load).as_slice().to_vec(), w, stiction, kinetic, breaking };
        let chosen = p.select().unwrap();
        if p.breaking.is_empty() {
            p.assert_consistent(&chosen, 1e-11);
        }
    }
}

#[test]
fn ill_conditioned_chains_are_decided() {
    // serial chain of 30 equal links hanging sideways: M_ij = Σ over links beyond both joints, cond some 1e6
    let n = 30;
    let mass = DMatrix::from_fn(n, n, |i, j| (i.max(j)..n).map(|k| (k + 1 - i) as f64 * (k + 1 - j) as f64).sum());
    let m: Vec<f64> = mass.as_slice().to_vec();
    let rest: Vec<usize> = (0..n).collect();
    let mut w = vec![0.0; n * n];
    delassus(&m, n, &rest, &mut ModeWork::new(n), &mut w).unwrap();
    // gravity torque at each joint, limits from just above to just below it
    let gravity: Vec<f64> = (0..n).map(|i| (i..n).map(|k| (k + 1 - i) as f64).sum()).collect();
    let w = DMatrix::from_row_slice(n, n, &w);
    let w = (&w + w.transpose()) * 0.5;
    let a0 = (&w * DVector::from_column_slice(&gravity)).as_slice().to_vec();
    let level = |share: f64| gravity.iter().map(|g| share * g).collect::<Vec<_>>();
    let with = |stiction: f64, kinetic: f64| Problem {
        w: w.clone(),
        a0: a0.clone(),
        stiction: level(stiction),
        kinetic: level(kinetic),
        breaking: vec![],
    };
    assert_eq!(with(1.05, 0.8).select().unwrap().mode, [Stuck; 30]);
    let p = with(0.95, 0.95);
    p.assert_consistent(&p.select().unwrap(), 1e-9);
    let p = with(0.99, 0.6);
    p.assert_consistent(&p.select().unwrap(), 1e-9);
}

#[test]
fn delassus_is_a_block_of_the_inverse_mass_matrix() {
    let mut rng = Pcg64::seed_from_u64(7);
    let m = random_delassus(&mut rng, 7, 2.0);
    let inverse = m.clone().try_inverse().unwrap();
    let rest = [1, 4, 5];
    let mut w = [0.0; 9];
    delassus(m.as_slice(), 7, &rest, &mut ModeWork::default(), &mut w).unwrap();
    for (r, &i) in rest.iter().enumerate() {
        for (c, &j) in rest.iter().enumerate() {
            assert!((w[r * 3 + c] - inverse[(i, j)]).abs() < 1e-13);
        }
    }
}

#[test]
fn work_is_reused_for_problems_of_any_size() {
    let mut rng = Pcg64::seed_from_u64(8);
    let mut work = ModeWork::new(3);
    for n in [3, 17, 1, 8, 17] {
        let p = random_problem(&mut rng, n, 1.3);
        let rest = AtRest {
            delassus: p.w.as_slice(),
            free_acceleration: &p.a0,
            stiction: &both(&p.stiction),
            kinetic: &both(&p.kinetic),
            breaking: &[],
        };
        assert_eq!(select(&rest, &mut work).unwrap().mode, p.select().unwrap().mode);
    }
}

#[test]
fn arrays_of_different_lengths_are_refused() {
    let (one, two) = ([[1.0; 2]; 1], [[1.0; 2]; 2]);
    let chosen = |delassus: &[f64], stiction: &[Levels], breaking: &[usize]| {
        let rest = AtRest { delassus, free_acceleration: &[1.0, 1.0], stiction, kinetic: &two, breaking };
        select(&rest, &mut ModeWork::default()).map(|selection| selection.mode.len())
    };
    let identity = [1.0, 0.0, 0.0, 1.0];
    assert_eq!(chosen(&identity, &two, &[]), Ok(2));
    assert_eq!(chosen(&identity, &one, &[]), Err(ModeError::Unusable { joint: 1 }));
    assert_eq!(chosen(&identity[..2], &two, &[]), Err(ModeError::Unusable { joint: 1 }));
    assert_eq!(chosen(&identity, &two, &[7]), Err(ModeError::Unusable { joint: 7 }));
}

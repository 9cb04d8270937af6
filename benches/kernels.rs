//! Time and instruction counts of the tree kernels on the machines of `models.json`.
//!
//! ```text
//! cargo bench --bench kernels                         times (criterion)
//! cargo bench --bench kernels -- --count aba arm7     20,000 calls and nothing else, for an instruction counter
//! cargo bench --bench kernels -- --times aba rnea     ns per call, minimum over many repeats, as plain text
//! cargo bench --bench kernels -- --packs              ns per machine of packs of machines, as plain text
//! benches/count.sh                                    instructions per call under callgrind, every kernel and machine
//! ```

use bristle_multibody::spatial::{Mask, Motion, Pack4, Pack8, Scalar};
use bristle_multibody::*;
use criterion::{BenchmarkId, Criterion};
use nalgebra::{DMatrix, Vector3};
use std::hint::black_box;
use std::time::{Duration, Instant};

#[path = "../crates/multibody/tests/support/mod.rs"]
mod support;

const KERNELS: [&str; 13] = [
    "aba",
    "aba_hybrid",
    "rnea",
    "crba",
    "rnea_derivatives",
    "aba_derivatives",
    "jerk",
    "reactions",
    "kinematics",
    "factor_rows",
    "solve_rows",
    "jerk_begin",
    "jerk_rows",
];

/// A machine with a state to evaluate it at.
struct Bench {
    model: Model,
    work: Work,
    q: Vec<f64>,
    v: Vec<f64>,
    x: Vec<f64>,
    locked: Vec<bool>,
    none: Vec<bool>,
    /// Every joint a pin that loads its own reaction a little.
    rows: Vec<Motion>,
    reaction: Vec<Reaction>,
    matrix: [DMatrix<f64>; 3],
}

impl Bench {
    fn new(model: Model) -> Self {
        let mut random = support::Random::new(7);
        let n = model.n_v;
        let zeros = || DMatrix::zeros(n, n);
        let mut bench = Self {
            work: Work::new(&model),
            q: random.reals(n, 1.0),
            v: random.reals(n, 1.0),
            x: random.reals(n, 1.0),
            locked: (0..model.n_bodies()).map(|i| i % 3 == 0).collect(),
            none: vec![false; model.n_bodies()],
            rows: (0..model.n_bodies())
                .map(|i| axis_row(&model, i) + Motion::new(Vector3::zeros(), random.vector(1e-3)))
                .collect(),
            reaction: vec![Reaction::ZERO; model.n_bodies()],
            matrix: [zeros(), zeros(), zeros()],
            model,
        };
        // input of `solve_rows` and `jerk_rows`
        bench.call("jerk_begin");
        bench.call("factor_rows");
        bench
    }

    /// One call of a kernel; returns a part of its result, so that it is not optimised away.
    #[inline(always)]
    fn call(&mut self, kernel: &str) -> f64 {
        let Self { model, work, q, v, x, locked, none, rows, reaction, matrix: [a, b, c] } = self;
        let (q, v, x) = (black_box(&q[..]), black_box(&v[..]), black_box(&x[..]));
        let done: Result<f64, Error> = match kernel {
            "aba" => aba(model, work, q, v, x).map(|a| a[0]),
            "aba_hybrid" => aba_hybrid(model, work, q, v, x, locked).map(|a| a[0]),
            "rnea" => rnea(model, work, q, v, x).map(|tau| tau[0]),
            "crba" => crba(model, work, q, a).map(|()| a[(0, 0)]),
            "rnea_derivatives" => rnea_derivatives(model, work, q, v, x, a, b).map(|()| a[(0, 0)]),
            "aba_derivatives" => {
                locked.fill(false);
                aba_derivatives(model, work, q, v, x, locked, [a, b, c]).map(|()| a[(0, 0)])
            }
            "jerk" => {
                locked.fill(false);
                jerk(model, work, q, v, x, v, locked).map(|j| j[0])
            }
            "reactions" => reactions(model, work, q, v, x, reaction).map(|()| reaction[1].radial_force),
            "factor_rows" => factor_rows(model, work, q, rows, none).map(|()| work.pivot_value(1)),
            "solve_rows" => solve_rows(model, work, x).map(|a| a[0]),
            "jerk_begin" => jerk_begin(model, work, q, v, x).map(|()| 0.0),
            "jerk_rows" => jerk_rows(model, work, v, rows, none).map(|j| j[0]),
            _ => kinematics(model, work, q, v).map(|()| 0.0),
        };
        done.expect("a finite state")
    }
}

/// Kernels on a pack of machines: ns per machine.
fn packs<S: Scalar>(name: &str, model: &Model) {
    let (n, mut random) = (model.n_v, support::Random::new(7));
    let mut numbers = || -> Vec<S> { (0..n).map(|_| S::from_lanes(|_| random.real(-1.0, 1.0))).collect() };
    let (q, v, x, armature) = (numbers(), numbers(), numbers(), vec![S::ZERO; n]);
    let (mut operator, mut out, mut effort) = (MassOperator::<S>::new(model), numbers(), numbers());
    let none = vec![S::Mask::splat(false); n];
    let print = |kernel: &str, call: &mut dyn FnMut() -> Result<f64, Error>| {
        let time = best(|| call().expect("a finite state"));
        println!("{kernel} {name} {} lanes {:.1}", S::LANES, time / S::LANES as f64);
    };
    let mut done = |operator: &mut MassOperator<S>, kernel: &str| -> Result<f64, Error> {
        let (q, v, x) = (black_box(&q[..]), black_box(&v[..]), black_box(&x[..]));
        match kernel {
            "place" => operator.place(model, q)?,
            "factor" => operator.factor(model, &armature, &none)?,
            "solve" => operator.solve(model, x, &mut out, &mut effort)?,
            "bias" => operator.bias_efforts(model, &model.gravity, v, &mut out)?,
            "rnea" => {
                operator.place(model, q)?;
                operator.inverse_dynamics(model, v, x, &mut out)?;
            }
            _ => {
                operator.place(model, q)?;
                operator.forward_dynamics(model, v, x, &mut out)?;
            }
        }
        Ok(out[0].lane(0))
    };
    for kernel in ["aba", "rnea", "place", "factor", "solve", "bias"] {
        print(kernel, &mut || done(&mut operator, kernel));
    }
}

/// ns per call: repeats long enough for the clock, the quickest of forty.
fn best(mut call: impl FnMut() -> f64) -> f64 {
    let mut time = |calls: u32| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        start.elapsed()
    };
    let mut calls = 16;
    while time(calls) < Duration::from_millis(2) {
        calls *= 2;
    }
    let least = (0..40).map(|_| time(calls)).min().unwrap_or_default();
    least.as_secs_f64() * 1e9 / f64::from(calls)
}

/// A chain of hinges about x, y, z in turn, longer than those of the file.
fn chain(n: usize) -> Model {
    let (mut builder, mut random) = (ModelBuilder::new(), support::Random::new(1));
    for k in 0..n {
        let parent = if k == 0 { "world".to_string() } else { format!("b{}", k - 1) };
        builder.link(&format!("b{k}"), random.inertia(1.0));
        let joint = JointSpec::revolute(&format!("j{k}"), &parent, &format!("b{k}"), Vector3::ith(k % 3, 1.0));
        builder.joint(joint.at(Vector3::new(0.2, 0.0, 0.0)));
    }
    builder.build().expect("a machine")
}

fn main() {
    let mut machines = support::machines(include_str!("models.json"));
    machines.push(("chain256".into(), chain(256)));
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--count") {
        let (kernel, name) = (arguments[at + 1].clone(), &arguments[at + 2]);
        let calls: usize = arguments.get(at + 3).and_then(|n| n.parse().ok()).unwrap_or(20_000);
        let model = machines.into_iter().find(|(n, _)| n == name).expect("a machine of models.json").1;
        let mut bench = Bench::new(model);
        // the name is matched once: the loop is the kernel alone
        let sum: f64 = match KERNELS.iter().find(|k| **k == kernel) {
            Some(&"aba") => (0..calls).map(|_| bench.call("aba")).sum(),
            Some(&"rnea") => (0..calls).map(|_| bench.call("rnea")).sum(),
            Some(&"crba") => (0..calls).map(|_| bench.call("crba")).sum(),
            Some(kernel) => (0..calls).map(|_| bench.call(kernel)).sum(),
            None => panic!("kernels are {KERNELS:?}"),
        };
        black_box(sum);
        return;
    }

    if arguments.iter().any(|a| a == "--packs") {
        for (name, model) in &machines {
            packs::<f64>(name, model);
            packs::<Pack4>(name, model);
            packs::<Pack8>(name, model);
        }
        return;
    }

    if let Some(at) = arguments.iter().position(|a| a == "--times") {
        for (name, model) in &machines {
            let mut bench = Bench::new(model.clone());
            for kernel in arguments[at + 1..].iter().filter_map(|a| KERNELS.iter().find(|k| *k == a)) {
                println!("{kernel} {name} {:.1}", best(|| bench.call(kernel)));
            }
        }
        return;
    }

    let mut criterion = Criterion::default().configure_from_args();
    for kernel in KERNELS {
        let mut group = criterion.benchmark_group(kernel);
        for (name, model) in &machines {
            // dense results of the long chains are limited by memory
            if model.n_v > 64 && ["crba", "rnea_derivatives", "aba_derivatives"].contains(&kernel) {
                continue;
            }
            let mut bench = Bench::new(model.clone());
            group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(|| bench.call(kernel)));
        }
        group.finish();
    }
    criterion.final_summary();
}

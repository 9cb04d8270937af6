//! One machine with every kind of contact, a gear and a prescribed joint, checked in every step.

#![expect(non_snake_case, reason = "symbols follow the equations of the step")]

use super::step_matrix::MatrixForm;
use super::*;
use crate::dynamics::Snapshot;
use crate::model::compile::{compile, read_bristles, read_state};
use crate::signal::Signal;
use crate::world::builder::{Describe, prismatic, revolute};
use crate::world::component::{Coupling, Drive, Name};
use bristle_friction::{Coulomb, Dahl, LuGre, Tanh};
use bristle_multibody::{LinkInertia, neutral};
use hecs::World;

/// A swinging arm, a wheel geared to it, and a prescribed joint; at its initial state.
fn machine() -> (Compiled, Snapshot) {
    let lugre = LuGre {
        sigma0: 1e4,
        sigma1: 20.0,
        sigma2: 0.3,
        coulomb: 0.5,
        stiction: 0.8,
        stribeck_velocity: Some(0.05),
        exponent: 2.0,
        damping_velocity: None,
    };
    let mut world = World::new();
    let links: Vec<_> = (0..5)
        .map(|k| {
            world.spawn_link(&format!("{k}"), LinkInertia::diagonal(1.0, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06))
        })
        .collect();
    let a = revolute("a", [0.0, 1.0, 0.2]).to(links[0]).velocity(2.0).friction(lugre.into());
    let b = revolute("b", [1.0, 0.0, 0.0]).from(links[0]).to(links[1]).at([0.0, 0.0, -0.5]);
    let c = prismatic("c", [0.0, 0.0, 1.0]).from(links[1]).to(links[2]).velocity(0.8).spring(50.0, 0.0);
    let wheel = revolute("wheel", [0.0, 0.0, 1.0]).to(links[3]).velocity(-6.0);
    let prescribed = revolute("prescribed", [0.0, 1.0, 0.0]).from(links[2]).to(links[4]).at([0.1, 0.0, -0.2]);
    let along = Signal::Sine { amplitude: 0.4, frequency: 9.0, phase: 0.0, offset: 0.0 };
    let [a, _, _, wheel, _] = [
        world.spawn_joint(a),
        world
            .spawn_joint(b.velocity(-1.0).friction(Tanh { coulomb: 0.3, stribeck_velocity: 0.1, viscous: 0.1 }.into())),
        world.spawn_joint(c.friction(Coulomb { coulomb: 9.0, stiction: 14.0, viscous: 0.5 }.into())),
        world.spawn_joint(wheel.friction(Dahl { coulomb: 0.2, sigma0: 300.0 }.into())),
        world.spawn_joint(prescribed.velocity(3.6).drive(Drive::Motion(along))),
    ];
    world.spawn((Name("gear".into()), Coupling::Gear { joints: [wheel, a], ratio: -3.0, offset: 0.0 }));
    let compiled = compile(&world).unwrap();
    let mut state = Snapshot::rest(&compiled);
    read_state(&world, &compiled, &mut state.mechanics).unwrap();
    read_bristles(&world, &compiled, 0.0, &state.mechanics.v, &mut state.bristles).unwrap();
    (compiled, state)
}

/// Length of the steps, s.
const H: f64 = 1e-3;

/// The state of a machine that the step functions work on.
struct Run {
    compiled: Compiled,
    work: Work,
    q_ref: Vec<f64>,
    q: Vec<f64>,
    rt: RealTime,
}

impl Run {
    fn new(compiled: Compiled, state: &Snapshot, form: MatrixForm) -> Self {
        let mut rt = RealTime::with_form(&compiled, H, ReducedCoordinates::new(&compiled), form);
        // joints of one degree: chart coordinates are positions
        rt.end.xi.copy_from_slice(&state.mechanics.q);
        rt.end.v.copy_from_slice(&state.mechanics.v);
        for (c, contact) in compiled.inputs.contacts.iter().enumerate() {
            rt.end.bristles[c] = contact.law.state_of(state.bristles[c].z, state.bristles[c].w);
        }
        let (work, q_ref) = (Work::new(&compiled.model.tree), neutral(&compiled.model.tree));
        Self { work, q_ref, q: state.mechanics.q.clone(), rt, compiled }
    }

    /// Calls `function` with the state at the end of the last step as its start.
    fn call<T>(&mut self, function: impl FnOnce(&mut RealTime, &Compiled, &mut Work, Start<'_>) -> T) -> T {
        let Self { compiled, work, q_ref, q, rt } = self;
        let End { xi, v, bristles, modes, load, integrals, .. } = rt.end.clone();
        let servos = vec![crate::model::servo::ServoState::default(); compiled.inputs.drives.len()];
        q.copy_from_slice(&xi);
        let middle: Vec<f64> = xi.iter().zip(&v).map(|(xi, v)| xi + 0.5 * H * v).collect();
        let start = Start {
            q_ref,
            q,
            xi: &xi,
            middle: &middle,
            v: &v,
            bristles: &bristles,
            modes: &modes,
            loads: &load,
            integrals: &integrals,
            servos: &servos,
        };
        function(rt, compiled, work, start)
    }
}

/// A by composite rigid bodies; the machine has one spring, with its weight, and no dampers.
fn matrix(compiled: &Compiled, work: &mut Work, q: &[f64], h: f64, beta: f64) -> nalgebra::DMatrix<f64> {
    let n = compiled.model.tree.n_v;
    let mut A = nalgebra::DMatrix::zeros(n, n);
    bristle_multibody::crba(&compiled.model.tree, work, q, &mut A).unwrap();
    assert!(
        compiled.inputs.springs.len() == 1
            && compiled.inputs.dampers.is_empty()
            && compiled.model.coupled.springs.is_empty()
    );
    compiled.inputs.springs.iter().for_each(|s| A[(s.v, s.v)] += h * h * beta * s.stiffness);
    A
}

/// Momentum with the contact impulses, by the matrix of all velocities; every dry contact slides at its limit in its
/// direction, or rests within its limits.
#[test]
fn momentum_balances_within_dry_limits() {
    [MatrixForm::Dense, MatrixForm::Tree].into_iter().for_each(check_momentum_and_limits);
}

fn check_momentum_and_limits(form: MatrixForm) {
    let (compiled, state) = machine();
    let mut run = Run::new(compiled, &state, form);
    run.call(|rt, compiled, work, start| {
        let end = rt.end.clone();
        initialize(rt, compiled, work, start, 0.0).unwrap();
        // the first call leaves the state as it is
        (rt.end.xi, rt.end.v, rt.end.bristles) = (end.xi, end.v, end.bristles);
    });
    let (h, mut n_stuck) = (H, 0);
    for k in 0..1000 {
        let t1 = f64::from(k + 1) * h;
        let at = SignalTime::of_step(t1, h);
        run.call(|rt, compiled, work, start| {
            solve(rt, compiled, work, start, h, at).unwrap();
            let n = start.v.len();
            let RealTime { equations, coordinates, contacts, solver, end, .. } = &*rt;
            let A = matrix(compiled, work, start.middle, h, equations.springs[0].beta);
            let mut residual: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|j| A[(i, j)] * (end.v[j] - start.v[j])).sum::<f64>() - h * equations.r[i])
                .collect();
            for (contact, state) in compiled.inputs.contacts.iter().zip(&solver.states) {
                contact.take(&mut residual, -state.lambda);
            }
            // along every independent motion, a column of T
            for (i, _) in coordinates.independent.iter().enumerate() {
                let along: f64 = (0..n)
                    .flat_map(|v| coordinates.rows[v].iter().filter(|term| term.0 == i).map(move |term| (v, term.1)))
                    .map(|(v, c)| c * residual[v])
                    .sum();
                assert!(along.abs() < 1e-11, "{along:.1e} of momentum in step {k}");
            }
            for (c, law) in contacts.laws.iter().enumerate() {
                let (ImpulseLaw::Dry { forward, backward, .. }, state) = (law, solver.states[c]) else { continue };
                let rate = compiled.inputs.contacts[c].rate(&end.v);
                let limits = (-backward[0] - 1e-12 * h, forward[0] + 1e-12 * h);
                if state.is_stuck {
                    n_stuck += 1;
                    assert!(rate == 0.0 && state.lambda > limits.0 && state.lambda < limits.1, "{state:?}");
                } else {
                    let [level, slope] = if rate > 0.0 { *forward } else { backward.map(|x| -x) };
                    let expected = level + slope.abs() * rate;
                    assert!((state.lambda - expected).abs() < 1e-12 * h, "{state:?} {expected}");
                }
            }
            let mut quad = vec![0.0; 2 + compiled.model.heated.len() + compiled.model.heated_elements.len()];
            complete(rt, compiled, work, start, h, at, &mut quad).unwrap();
        });
    }
    // the slider rests for part of the time
    assert!((20..900).contains(&n_stuck), "{n_stuck}");
}

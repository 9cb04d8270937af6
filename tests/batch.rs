//! Batches: every copy equals a simulation, on any number of threads.

use crate::embedding::{DRY, MACHINES, geared, lugre};
use bristle::batch::Rollout;
use bristle::friction::{Coulomb, LuGre, Mode};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;

#[test]
fn batch_equals_simulations_on_any_threads() {
    let run = |threads: usize| {
        let mut batch = Batch::new(&mut MACHINES[1](), 20).unwrap().with_threads(threads).unwrap();
        for i in 0..20 {
            batch.set_state(i, &[1.5 - 0.05 * i as f64, 0.01 * i as f64, 0.0], &[0.0, 0.1, 0.0]).unwrap();
            batch.set_friction(i, "a", Coulomb { coulomb: 3.0 + 0.1 * i as f64, ..DRY }).unwrap();
        }
        for k in 0..15 {
            batch.efforts_mut()[20..40].iter_mut().enumerate().for_each(|(i, tau)| *tau = 0.1 * (i + k) as f64);
            batch.step(0.02).unwrap();
        }
        (batch.positions().to_vec(), batch.velocities().to_vec(), batch.friction_efforts().to_vec())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(16));
    // copy 7 beside a simulation, to the tolerance: the simulation writes its states to the world
    let mut sim = MACHINES[1]();
    sim.set_friction("a", Coulomb { coulomb: 3.7, ..DRY }).unwrap();
    for (name, q, v) in [("a", 1.5 - 0.35, 0.0), ("b", 0.07, 0.1), ("c", 0.0, 0.0)] {
        sim.set_joint(name, q, v).unwrap();
    }
    for k in 0..15 {
        sim.set_effort("b", 0.1 * (7 + k) as f64).unwrap();
        sim.step(0.02).unwrap();
    }
    for k in 0..3 {
        assert!((one.0[k * 20 + 7] - sim.positions()[k]).abs() < 1e-6, "{} {}", one.0[k * 20 + 7], sim.positions()[k]);
    }
    let mut batch = Batch::new(&mut MACHINES[0](), 2).unwrap();
    assert!(batch.set_state(2, &[0.0; 10], &[0.0; 9]).is_err() && batch.set_state(0, &[0.0; 3], &[0.0; 3]).is_err());
    assert!(batch.set_friction(0, "a", lugre()).unwrap_err().to_string().contains("another kind of law"));
    batch.efforts_mut()[0] = f64::NAN;
    assert!(batch.step(0.1).is_err());
}

/// An arm with a hinge under a constant load, a controller, a prescribed joint, and a gear; every copy has other
/// inputs.
fn machine(method: Method, control: Control) -> Simulation {
    let mut world = World::new();
    let links: Vec<Entity> =
        (0..4).map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.4, 0.0, 0.1].into()))).collect();
    let axis = [0.0, 1.0, 0.0];
    let dry = Coulomb { coulomb: 0.5, stiction: 0.6, viscous: 0.05 };
    let hold = Drive::Pid { kp: 60.0, ki: 10.0, kd: 4.0, target: Signal::Constant(0.2) };
    let lead = Drive::Motion(Signal::Sine { amplitude: 0.3, frequency: 2.0, phase: 0.0, offset: 0.0 });
    let a = revolute("a", axis).to(links[0]).friction(dry.into()).load(Load::Constant(2.0));
    world.spawn_joint(a.drive(hold));
    let b = revolute("b", axis).from(links[0]).to(links[1]).at([0.4, 0.0, 0.0]).friction(dry.into());
    let b = world.spawn_joint(b.load(Load::Pin { radius: 0.03 }).velocity(0.4));
    let c =
        world.spawn_joint(revolute("c", axis).from(links[0]).to(links[2]).at([0.4, 0.1, 0.0]).friction(lugre().into()));
    world.spawn((Name("gear".into()), Coupling::Gear { joints: [c, b], ratio: 2.0, offset: 0.0 }));
    world.spawn_joint(revolute("d", axis).from(links[1]).to(links[3]).at([0.4, 0.0, 0.0]).drive(lead));
    Simulation::with_settings(world, Settings { method, control, ..Settings::default() }).unwrap()
}

/// Inputs of copy i at step k, for a copy and for a simulation.
fn target(i: usize, k: usize) -> f64 {
    0.2 + 0.01 * ((i + k) % 7) as f64
}

fn load(i: usize) -> f64 {
    1.5 + 0.1 * i as f64
}

#[test]
fn inputs_of_copies_do_not_depend_on_threads() {
    const N: usize = 12;
    for (method, control, tolerance) in [
        (Method::Radau5, Control::Error { rtol: 1e-7, atol: 1e-9 }, 1e-5),
        (Method::RealTime, Control::Constant { step: 1e-3 }, 1e-8),
    ] {
        let run = |threads: usize| {
            let mut batch = Batch::new(&mut machine(method, control), N).unwrap().with_threads(threads).unwrap();
            assert_eq!(batch.drive_names().collect::<Vec<_>>(), ["a", "d"]);
            for i in 0..N {
                batch.set_load(i, "a", Load::Constant(load(i))).unwrap();
                batch.set_load(i, "b", Load::Pin { radius: 0.03 + 0.001 * i as f64 }).unwrap();
                batch
                    .set_friction(i, "c", bristle::friction::LuGre { sigma1: 2.0 + 0.1 * i as f64, ..lugre() })
                    .unwrap();
            }
            let (mut loads, mut bytes) = (Vec::new(), Vec::new());
            for k in 0..12 {
                batch.targets_mut()[..N].iter_mut().enumerate().for_each(|(i, x)| *x = Some(target(i, k)));
                batch.wrenches_mut()[2 * N..3 * N]
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, w)| w[5] = 0.2 * (i + k) as f64);
                batch.efforts_mut()[0] = 0.01 * k as f64;
                batch.step(0.02).unwrap();
                loads.extend_from_slice(batch.loads());
            }
            (0..N).for_each(|i| bytes.push(batch.snapshot(i).unwrap()));
            assert!(
                batch.modes().iter().any(|mode| *mode != Mode::Stuck) && batch.bristles().iter().any(|b| b.z != 0.0)
            );
            assert!(batch.energy(3).unwrap().balance.abs() < if method == Method::Radau5 { 1e-4 } else { 0.5 });
            (batch.positions().to_vec(), batch.velocities().to_vec(), loads, bytes)
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(16));

        // copy 5 beside a simulation with the same inputs
        let mut sim = machine(method, control);
        sim.set_load("a", Load::Constant(load(5))).unwrap();
        sim.set_load("b", Load::Pin { radius: 0.035 }).unwrap();
        sim.set_friction("c", bristle::friction::LuGre { sigma1: 2.5, ..lugre() }).unwrap();
        let link = sim.link_names()[2].clone();
        for k in 0..12 {
            sim.set_target("a", target(5, k)).unwrap();
            sim.set_wrench(link.as_str(), [0.0; 3], [0.0, 0.0, 0.2 * (5 + k) as f64]).unwrap();
            sim.step(0.02).unwrap();
        }
        for (k, q) in sim.positions().iter().enumerate() {
            // a simulation with new inputs reads its world and restarts there
            assert!((one.0[k * N + 5] - q).abs() <= tolerance, "{method:?}: {} {q}", one.0[k * N + 5]);
        }
        // and its snapshot continues in a simulation
        let mut other = machine(method, control);
        other.restore(&one.3[5]).unwrap();
        assert_eq!(other.positions()[0], one.0[5]);
        other.step(0.02).unwrap();
    }
}

#[test]
fn copy_continues_from_snapshot_bit_for_bit() {
    for make in [MACHINES[0], MACHINES[1], MACHINES[8], || geared(Method::Radau5, Control::default())] {
        let mut batch = Batch::new(&mut make(), 3).unwrap();
        batch.step(0.1).unwrap();
        batch.efforts_mut()[1] = 0.7;
        batch.step(0.05).unwrap();
        let kept = batch.snapshot(1).unwrap();
        batch.step(0.07).unwrap();
        let expected = batch.snapshot(1).unwrap();
        // elsewhere in the batch, and in a simulation
        batch.restore(2, &kept).unwrap();
        batch.restore(1, &kept).unwrap();
        assert_eq!(batch.time(2).unwrap(), 0.1 + 0.05);
        assert_eq!(batch.efforts_mut()[2], 0.7, "what acts comes along");
        batch.step(0.07).unwrap();
        assert!(batch.snapshot(1).unwrap() == expected && batch.snapshot(2).unwrap() == expected);
        let mut sim = make();
        sim.restore(&kept).unwrap();
        sim.step(0.07).unwrap();
        assert!(sim.snapshot().unwrap() == expected);
        // damaged snapshots are refused, and nothing has changed
        let mut bad = kept.clone();
        bad[kept.len() / 2] ^= 4;
        assert!(batch.restore(0, &bad).is_err() && batch.restore(3, &kept).is_err() && batch.snapshot(3).is_err());
        assert!(batch.snapshot(1).unwrap() == expected);
    }
}

#[test]
fn rollout_equals_steps() {
    const N: usize = 5;
    for make in [MACHINES[1], MACHINES[8]] {
        let mut sim = make();
        let (n_q, n_v) = (sim.positions().len(), sim.velocities().len());
        let (mut stepped, mut rolled) = (Batch::new(&mut sim, N).unwrap(), Batch::new(&mut sim, N).unwrap());
        let effort = |i: usize, s: usize, k: usize| if k == 1 { 0.1 * (i + s) as f64 } else { 0.0 };
        let steps = 8;
        let mut efforts = Vec::new();
        for i in 0..N {
            (0..steps).for_each(|s| efforts.extend((0..n_v).map(|k| effort(i, s, k))));
        }
        let mut rollout = Rollout::default();
        rolled.rollout(0.01, steps, &efforts, &mut rollout).unwrap();
        for s in 0..steps {
            for (j, tau) in stepped.efforts_mut().iter_mut().enumerate() {
                *tau = effort(j % N, s, j / N);
            }
            stepped.step(0.01).unwrap();
            for i in 0..N {
                for k in 0..n_q {
                    assert_eq!(stepped.positions()[k * N + i], rollout.position[(i * steps + s) * n_q + k]);
                }
                for k in 0..n_v {
                    assert_eq!(stepped.velocities()[k * N + i], rollout.velocity[(i * steps + s) * n_v + k]);
                }
            }
        }
        assert_eq!(stepped.positions(), rolled.positions());
        assert_eq!(stepped.efforts_mut(), rolled.efforts_mut());
        assert!(rolled.rollout(0.01, 3, &efforts, &mut rollout).is_err());
        assert!(rolled.rollout(0.01, usize::MAX, &[], &mut rollout).is_err());
    }
}

#[test]
fn failed_copies_are_named() {
    let mut batch = Batch::new(&mut machine(Method::Dopri5, Control::default()), 3).unwrap();
    batch.set_wrench(1, "link 0", [0.0, 1e300, 0.0], [0.0; 3]).unwrap();
    let error = batch.step(0.1).unwrap_err().to_string();
    assert!(error.starts_with("copy 1: "), "{error}");
    assert_eq!(batch.failures().map(|failure| failure.0).collect::<Vec<_>>(), [1]);
    assert_eq!((batch.time(0).unwrap(), batch.time(2).unwrap()), (0.1, 0.1));
    batch.set_wrench(1, "link 0", [0.0; 3], [0.0; 3]).unwrap();

    // a prescribed motion continues at the present position, or is refused
    let mut batch = Batch::new(&mut machine(Method::Dopri5, Control::default()), 2).unwrap();
    batch.step(0.1).unwrap();
    let error = batch.set_target(0, "d", 0.3).unwrap_err().to_string();
    assert!(error.contains("`d`: a jump of a prescribed motion"), "{error}");
    // in the arrays it stops its own copy, until it is corrected
    let (d, t) = (batch.drive_names().position(|name| name == "d").unwrap(), batch.time(0).unwrap());
    batch.targets_mut()[2 * d] = Some(0.3);
    let error = batch.step(0.01).unwrap_err().to_string();
    assert!(error.starts_with("copy 0: `d`: a jump of a prescribed motion"), "{error}");
    assert_eq!(batch.failures().map(|failure| failure.0).collect::<Vec<_>>(), [0]);
    assert_eq!((batch.time(0).unwrap(), batch.time(1).unwrap() > t), (t, true));
    let mut batch = Batch::new(&mut machine(Method::Dopri5, Control::default()), 2).unwrap();
    batch.step(0.1).unwrap();
    let at = |t: f64| 0.3 * (2.0 * t).sin();
    let jump = Drive::Motion(Signal::Constant(1.0));
    let error = batch.set_drive(0, "d", jump).unwrap_err().to_string();
    assert!(error.contains("it cannot jump"), "{error}");
    // the same sine written another way
    let shifted = Signal::Sine { amplitude: -0.3, frequency: 2.0, phase: std::f64::consts::PI, offset: 0.0 };
    batch.set_drive(0, "d", Drive::Motion(shifted)).unwrap();
    batch.step(0.1).unwrap();
    let (q, n) = (batch.positions().to_vec(), batch.len());
    for k in 0..q.len() / n {
        assert!((q[k * n] - q[k * n + 1]).abs() < 1e-7, "{k}: {} {}", q[k * n], q[k * n + 1]);
    }
    assert!(q.iter().any(|q| (q - at(0.2)).abs() < 1e-12));
    for bad in ["", "e", "link 0"] {
        assert!(batch.set_target(0, bad, 0.1).is_err() && batch.set_load(0, bad, Load::Constant(1.0)).is_err());
    }
    assert!(
        batch.set_load(0, "a", Load::Pin { radius: 0.1 }).unwrap_err().to_string().contains("another kind of load")
    );
    assert!(batch.set_load(0, "a", Load::Constant(-1.0)).is_err() && batch.set_target(9, "a", 0.0).is_err());
    batch.targets_mut()[0] = Some(f64::NAN);
    assert!(batch.step(0.1).is_err());
}

#[test]
fn too_many_threads_are_refused() {
    for threads in [0, 1025, 20_000, usize::MAX] {
        let refused = Batch::new(&mut MACHINES[1](), 2).unwrap().with_threads(threads);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("number of threads") && said.contains("from 1 to 1024"), "{said}");
    }
}

#[test]
fn changes_of_copies_keep_energy_balance() {
    // dry friction with a pin, bristles, a chart; bristles under a reaction; steps of a fixed length
    let pressed = || {
        let mut sim = MACHINES[1]();
        sim.set_load("c", Load::Pin { radius: 0.1 }).unwrap();
        sim
    };
    for (m, mut sim) in [MACHINES[0](), MACHINES[1](), pressed(), MACHINES[8]()].into_iter().enumerate() {
        sim.step(0.1).unwrap();
        let mut batch = Batch::new(&mut sim, 2).unwrap();
        let balance = |batch: &mut Batch, copy: usize| batch.energy(copy).unwrap().balance;
        let (q, v) = (sim.positions().to_vec(), vec![0.3; sim.velocities().len()]);
        let before = balance(&mut batch, 1);
        batch.set_state(1, &q, &v).unwrap();
        assert!((balance(&mut batch, 1) - before).abs() < 1e-9, "machine {m}: {}", balance(&mut batch, 1));
        batch.step(0.05).unwrap();
        let before = balance(&mut batch, 1);
        batch.set_friction(1, "c", LuGre { sigma0: 3e3, ..lugre() }).unwrap();
        assert!((balance(&mut batch, 1) - before).abs() < 1e-9, "machine {m}: {}", balance(&mut batch, 1));
        batch.step(0.05).unwrap();
        // steps of a fixed length have an error of their own
        let far = if m == 3 { 0.1 } else { 1e-6 };
        assert!(balance(&mut batch, 1).abs() < far, "machine {m}: {}", balance(&mut batch, 1));
    }
}

#[test]
fn refused_change_keeps_copy() {
    let mut sim = MACHINES[0]();
    sim.step(0.05).unwrap();
    let mut batch = Batch::new(&mut sim, 3).unwrap();
    // a pin that jams
    let law = Coulomb { coulomb: 500.0, stiction: 500.0, viscous: 0.0 };
    assert!(batch.set_friction(0, "b", law).is_err());
    assert!(batch.set_load(1, "b", Load::Pin { radius: 50.0 }).is_err());
    for _ in 0..10 {
        batch.step(0.01).unwrap();
    }
    for k in batch.positions().chunks(3) {
        assert_eq!(k, [k[2]; 3]);
    }
}

#[test]
fn invalid_duration_changes_nothing() {
    for make in MACHINES {
        let mut sim = make();
        sim.step(0.1).unwrap();
        let (mut plain, mut asked) = (Batch::new(&mut sim, 2).unwrap(), Batch::new(&mut sim, 2).unwrap());
        for dt in [f64::NAN, -1.0, f64::INFINITY] {
            let error = asked.step(dt).unwrap_err().to_string();
            assert!(error.contains("dt"), "{error}");
            assert!(asked.rollout(dt, 2, &[], &mut Rollout::default()).is_err());
        }
        for _ in 0..10 {
            plain.step(0.01).unwrap();
            asked.step(0.01).unwrap();
        }
        assert_eq!(plain.positions(), asked.positions());
    }
}

#[test]
fn copies_have_step_and_memory_budget() {
    let mut sim = MACHINES[0]();
    sim.set_max_steps(500);
    let mut batch = Batch::new(&mut sim, 2).unwrap();
    assert!(batch.step(1e6).is_err() && batch.failures().count() == 2);
    batch.set_max_steps(20_000);
    batch.step(0.1).unwrap();
    let mut into = Rollout::default();
    let error = batch.rollout(0.1, 1 << 44, &[], &mut into).unwrap_err().to_string();
    assert!(error.contains("do not fit into memory"), "{error}");
    batch.rollout(1e-3, 2, &[], &mut into).unwrap();
}

#[test]
fn batch_refuses_efforts_on_free_joints() {
    let mut sim = MACHINES[0]();
    let model = &sim.compiled().model.tree;
    let (k, n_v) = (model.v_index[model.joint("throw").unwrap()] + 5, model.n_v);
    let mut efforts = vec![0.0; n_v];
    efforts[k] = 10.0;
    let refused = "a free joint takes wrenches on its link";
    assert!(sim.set_efforts(&efforts).unwrap_err().to_string().contains(refused));
    let mut batch = Batch::new(&mut sim, 2).unwrap();
    batch.efforts_mut()[2 * k + 1] = 10.0;
    let error = batch.step(0.01).unwrap_err().to_string();
    assert!(error.contains(refused) && error.contains("`throw`"), "{error}");
    assert_eq!((batch.time(0).unwrap(), batch.time(1).unwrap()), (0.01, 0.0));
    batch.efforts_mut()[2 * k + 1] = 0.0;
    batch.step(0.01).unwrap();
    let error = batch.rollout(0.01, 1, &efforts.repeat(2), &mut Rollout::default()).unwrap_err().to_string();
    assert!(error.contains(refused) && error.contains("copy 0, step 0"), "{error}");
}

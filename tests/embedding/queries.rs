//! Inverse dynamics, mass matrix and Jacobian of a simulation in a program.

use super::*;

#[test]
fn inverse_dynamics_inverts_forward_dynamics() {
    let mut sim = MACHINES[1]();
    sim.step(0.31).unwrap();
    let (q, v) = (sim.positions().to_vec(), sim.velocities().to_vec());
    let wanted = [1.5, -2.0, 0.7].map(|a: f64| a);
    let mut tau = [0.0; 3];
    sim.inverse_dynamics(&q, &v, &wanted, &mut tau).unwrap();
    assert!(v.iter().all(|v| *v != 0.0), "all slide: {v:?}");
    for (k, name) in ["a", "b", "c"].into_iter().enumerate() {
        sim.set_effort(name, tau[k]).unwrap();
    }
    sim.step(0.0).unwrap();
    for (a, wanted) in sim.accelerations().iter().zip(wanted) {
        // Newton and the condition of M
        assert!((a - wanted).abs() < 1e-9, "{a} {wanted}");
    }
    assert!(sim.inverse_dynamics(&q, &v, &wanted[..2], &mut tau).is_err());
    assert!(sim.inverse_dynamics(&q, &v, &[f64::NAN; 3], &mut tau).is_err());
}

/// Two hinges behind a gear, a third that mimics the second, friction everywhere, a spring between two of them.
pub fn geared(method: Method, control: Control) -> Simulation {
    let mut world = World::new();
    let links: Vec<Entity> =
        (0..4).map(|k| world.spawn_link(&format!("link {k}"), LinkInertia::rod(1.0, [0.5, 0.0, 0.1].into()))).collect();
    let axis = [0.0, 1.0, 0.0];
    let pin = Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 };
    let motor = world.spawn_joint(revolute("motor", axis).to(links[0]).friction(lugre().into()));
    let arm = revolute("arm", axis).to(links[1]).at([0.0, 0.5, 0.0]).position(0.3).velocity(0.8);
    let arm = world.spawn_joint(arm.friction(pin.into()).load(Load::Pin { radius: 0.05 }));
    let hand = revolute("hand", axis).from(links[1]).to(links[2]).at([0.5, 0.0, 0.0]).damping(0.2);
    let hand = world.spawn_joint(hand.friction(Coulomb { coulomb: 0.1, stiction: 0.2, viscous: 0.1 }.into()));
    let last = world.spawn_joint(revolute("last", axis).from(links[2]).to(links[3]).at([0.5, 0.0, 0.0]).velocity(0.1));
    world.spawn((Name("stage".into()), Coupling::Gear { joints: [motor, arm], ratio: -12.0, offset: 0.0 }));
    world.spawn((Name("copy".into()), Coupling::Linear { terms: vec![(hand, 1.0), (arm, -0.5)], offset: 0.1 }));
    let sea = Coupling::SpringDamper { joints: [arm, last], stiffness: 8.0, damping: 0.3, rest: 0.0 };
    world.spawn((Name("sea".into()), sea));
    Simulation::with_settings(world, Settings { method, control, ..Settings::default() }).unwrap()
}

#[test]
fn inverse_dynamics_with_gears() {
    let mut sim = geared(Method::Radau5, Control::default());
    sim.step(0.05).unwrap();
    let number = |sim: &Simulation, name: &str| sim.reaction_names().iter().position(|n| n == name).unwrap();
    let [motor, arm, hand, last] = ["motor", "arm", "hand", "last"].map(|name| number(&sim, name));
    assert_eq!(sim.independent().len(), 2);
    assert!(sim.independent().contains(&arm) && sim.independent().contains(&last));
    let (q, v) = (sim.positions().to_vec(), sim.velocities().to_vec());
    let mut wanted = [0.0; 4];
    (wanted[arm], wanted[motor], wanted[hand], wanted[last]) = (2.0, -24.0, 1.0, -3.0);
    let mut tau = [1.0; 4];
    sim.inverse_dynamics(&q, &v, &wanted, &mut tau).unwrap();
    assert_eq!((tau[motor], tau[hand]), (0.0, 0.0));
    for (name, k) in [("arm", arm), ("last", last)] {
        sim.set_effort(name, tau[k]).unwrap();
    }
    sim.step(0.0).unwrap();
    let worst = sim.accelerations().iter().zip(wanted).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    // Newton for the pin, to a hundredth of the relative tolerance
    assert!(worst < 1e-8, "{:?} {wanted:?}", sim.accelerations());
    // the same at the motor: the gear transmits it with ratio −12
    sim.set_effort("arm", 0.0).unwrap();
    sim.set_effort("motor", tau[arm] / -12.0).unwrap();
    sim.step(0.0).unwrap();
    let worst = sim.accelerations().iter().zip(wanted).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(worst < 1e-8, "{:?} {wanted:?}", sim.accelerations());

    // energy is that of the independent joints
    let mass = sim.reduced_mass_matrix().unwrap();
    let rates = nalgebra::DVector::from_iterator(2, sim.independent().into_iter().map(|k| v[k]));
    let kinetic = 0.5 * rates.dot(&(mass * &rates));
    assert!((kinetic - sim.energy().unwrap().kinetic).abs() < 1e-12 * kinetic);
    // a motion that violates the gear is refused by its name
    wanted[motor] = 24.0;
    let error = sim.inverse_dynamics(&q, &v, &wanted, &mut tau).unwrap_err().to_string();
    assert!(
        error.contains("`stage`: it couples `motor`, `arm`, and the requested accelerations violate it by 4.8e1"),
        "{error}"
    );
}

#[test]
fn queries_do_not_change_run() {
    let geared: [Make; 2] =
        [|| geared(Method::Radau5, Control::default()), || geared(Method::RealTime, Control::Constant { step: 1e-3 })];
    for make in [MACHINES[0], MACHINES[1], MACHINES[3], MACHINES[5], MACHINES[8], geared[0], geared[1]] {
        let (mut asked, mut plain) = (make(), make());
        for _ in 0..40 {
            asked.step(0.013).unwrap();
            plain.step(0.013).unwrap();
            let (q, v, n) = (asked.positions().to_vec(), asked.velocities().to_vec(), asked.velocities().len());
            let before = asked.accelerations().to_vec();
            let friction = asked.friction_efforts().to_vec();
            asked.inverse_dynamics(&q, &v.iter().map(|v| 2.0 * v).collect::<Vec<_>>(), &v, &mut vec![0.0; n]).unwrap();
            asked.mass_matrix().unwrap();
            asked.jacobian("link 2", [0.5, 0.0, 0.0]).unwrap();
            asked.linearize().unwrap();
            assert_eq!((asked.accelerations(), asked.friction_efforts()), (&before[..], &friction[..]));
        }
        assert_eq!((asked.positions(), asked.velocities()), (plain.positions(), plain.velocities()));
        assert_eq!(asked.stats(), plain.stats());
    }
}

#[test]
fn mass_matrix_and_jacobian_agree_with_energy() {
    let mut sim = MACHINES[1]();
    sim.step(0.2).unwrap();
    let v = nalgebra::DVector::from_column_slice(sim.velocities());
    let mass = sim.mass_matrix().unwrap();
    let kinetic = 0.5 * v.dot(&(mass * &v));
    assert!((kinetic - sim.energy().unwrap().kinetic).abs() < 1e-12 * kinetic);
    // the velocity of the tip follows from its Jacobian
    let tip = |sim: &Simulation| sim.pose("link 2").unwrap().transform_point(&[0.5, 0.0, 0.0].into());
    let rate = sim.jacobian("link 2", [0.5, 0.0, 0.0]).unwrap() * &v;
    let (h, before) = (1e-6, tip(&sim));
    sim.step(h).unwrap();
    let moved = (tip(&sim) - before) / h;
    for k in 0..3 {
        // the acceleration times h/2
        assert!((moved[k] - rate[3 + k]).abs() < 1e-3, "{moved} {rate}");
    }
}

//! Mirroring, names, welds and order do not matter; limits of stiff and of vanishing friction.

use bristle::friction::{Coulomb, Law, LuGre};
use bristle::prelude::*;
use bristle::scene::{Control, Method};

/// Description of a double pendulum with dry hinges.
struct Description<'a> {
    /// Laws of shoulder and elbow.
    laws: [Law; 2],
    /// −1 for the mirror image.
    sign: f64,
    /// Names of links and joints.
    names: [&'a str; 4],
    /// A weld in the middle of the lower link.
    is_welded: bool,
    /// Elbow and lower link first.
    is_reversed: bool,
}

impl Description<'_> {
    fn new(laws: [Law; 2]) -> Self {
        let names = ["upper", "lower", "shoulder", "elbow"];
        Self { laws, sign: 1.0, names, is_welded: false, is_reversed: false }
    }

    fn world(&self) -> World {
        let [upper, lower, shoulder, elbow] = self.names;
        let mut world = World::new();
        let rod = |mass: f64, length: f64| LinkInertia::rod(mass, [0.0, 0.0, -length].into());
        let lower_rod = if self.is_welded { LinkInertia::rod(0.8, [0.0, 0.0, -0.3].into()) } else { rod(1.2, 0.45) };
        let spawn = |world: &mut World, name: &str| match name == upper {
            true => world.spawn_link(upper, rod(2.0, 0.6)),
            false => world.spawn_link(lower, lower_rod),
        };
        let (first, second) = if self.is_reversed { (lower, upper) } else { (upper, lower) };
        let a = spawn(&mut world, first);
        let b = spawn(&mut world, second);
        let (upper, lower) = if self.is_reversed { (b, a) } else { (a, b) };
        if self.is_welded {
            let tip = world.spawn_link("tip", LinkInertia::rod(0.4, [0.0, 0.0, -0.15].into()));
            world.spawn_joint(fixed("weld").from(lower).to(tip).at([0.0, 0.0, -0.3]));
        }
        let axis = [0.0, -1.0, 0.0];
        let make = [
            revolute(shoulder, axis).to(upper).position(1.2 * self.sign).friction(self.laws[0].clone()),
            revolute(elbow, axis)
                .from(upper)
                .to(lower)
                .at([0.0, 0.0, -0.6])
                .position(0.9 * self.sign)
                .friction(self.laws[1].clone()),
        ];
        if self.is_reversed {
            make.into_iter().rev().for_each(|joint| _ = world.spawn_joint(joint));
        } else {
            make.into_iter().for_each(|joint| _ = world.spawn_joint(joint));
        }
        world
    }

    /// Positions and velocities of shoulder and elbow at `t`.
    fn run(&self, method: Method, t: f64) -> [f64; 4] {
        let control = Control::Error { rtol: 1e-12, atol: 1e-13 };
        let mut sim =
            Simulation::with_settings(self.world(), Settings { method, control, interval: 0.1, ..Settings::default() })
                .unwrap();
        sim.step(t).unwrap_or_else(|error| panic!("{error}"));
        let state = |name: &str| *sim.world().get::<&JointState>(sim.joint(name).unwrap()).unwrap();
        let (a, b) = (state(self.names[2]), state(self.names[3]));
        [a.position, b.position, a.velocity, b.velocity]
    }
}

fn dry() -> [Law; 2] {
    [
        Coulomb { coulomb: 0.6, stiction: 0.8, viscous: 0.0 }.into(),
        Coulomb { coulomb: 0.25, stiction: 0.35, viscous: 0.0 }.into(),
    ]
}

fn distance(a: [f64; 4], b: [f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn mirroring_names_and_welds_do_not_matter() {
    let plain = Description::new(dry()).run(Method::Dopri5, 3.0);
    assert!((plain[0] + 0.445954392179).abs() < 1e-8, "F08: {plain:?}");
    let mirrored = Description { sign: -1.0, ..Description::new(dry()) }.run(Method::Dopri5, 3.0);
    assert!(distance(plain, mirrored.map(|x| -x)) < 1e-9);
    let renamed = Description { names: ["b", "a", "z", "y"], ..Description::new(dry()) }.run(Method::Dopri5, 3.0);
    assert!(distance(plain, renamed) < 1e-9);
    let welded = Description { is_welded: true, ..Description::new(dry()) }.run(Method::Dopri5, 3.0);
    assert!(distance(plain, welded) < 1e-9, "{:e}", distance(plain, welded));
}

#[test]
fn spawn_order_changes_no_bit() {
    let bristles = LuGre {
        sigma0: 1e4,
        sigma1: 10.0,
        sigma2: 0.01,
        coulomb: 0.2,
        stiction: 0.3,
        stribeck_velocity: Some(0.01),
        exponent: 2.0,
        damping_velocity: None,
    };
    for (laws, method) in [(dry(), Method::Dopri5), ([dry()[0].clone(), bristles.into()], Method::Radau5)] {
        let plain = Description::new(laws.clone()).run(method, 2.0);
        let reversed = Description { is_reversed: true, ..Description::new(laws) }.run(method, 2.0);
        assert_eq!(plain.map(f64::to_bits), reversed.map(f64::to_bits));
    }
}

#[test]
fn stiff_bristles_approach_dry_friction() {
    // equal levels; the distance falls as σ₀^−½ because σ₁ grows as √σ₀
    let level = [0.6, 0.25];
    let dry = level.map(|coulomb| Coulomb { coulomb, stiction: coulomb, viscous: 0.0 }.into());
    let exact = Description::new(dry).run(Method::Dopri5, 1.0);
    let mut last = f64::MAX;
    for sigma0 in [1e3_f64, 1e4, 1e5, 1e6] {
        let bristles = level.map(|coulomb| {
            let law = LuGre {
                sigma0,
                sigma1: sigma0.sqrt(),
                sigma2: 0.0,
                coulomb,
                stiction: coulomb,
                stribeck_velocity: None,
                exponent: 2.0,
                damping_velocity: None,
            };
            law.into()
        });
        let found = distance(Description::new(bristles).run(Method::Radau5, 1.0), exact);
        assert!(found < 0.5 * last, "{sigma0:e}: {found:e} after {last:e}");
        last = found;
    }
    assert!(last < 5e-3, "{last:e}");
}

#[test]
fn vanishing_friction_is_no_friction() {
    let free = Coulomb { coulomb: 0.0, stiction: 0.0, viscous: 0.0 };
    let exact = Description::new([free.into(), free.into()]).run(Method::Dopri5, 1.0);
    let at = |mu: f64| {
        let law: Law = Coulomb { coulomb: mu, stiction: mu, viscous: 0.0 }.into();
        distance(Description::new([law.clone(), law]).run(Method::Dopri5, 1.0), exact)
    };
    let (coarse, fine) = (at(1e-3), at(1e-4));
    assert!(fine < 0.2 * coarse && at(1e-7) < 1e-5, "{coarse:e} {fine:e}");
}

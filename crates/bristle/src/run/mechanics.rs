//! Forward and inverse dynamics of a scene at given states, without integration.
//!
//! ```text
//! M a + c + K (q − q₀) = τ                                       joints without friction
//! M a + c + K (q − q₀) + d v + τ_f = τ,   τ_f = r N φ(r v, z)    with friction: law φ, load N, lever r
//! ```
//!
//! Springs belong to the machine and always act; drives do not, since the effort τ takes their place. Dampers, clutches
//! and brakes act together with friction or not at all. Bristles are steady at the slip velocity unless the scene gives
//! their state; signals are taken at t = 0. For a joint at rest with event-driven friction, forward dynamics selects
//! the mode; inverse dynamics takes the level of sliding in the direction of a, and no friction where a = 0.
//!
//! Constraints hold. The efforts of inverse dynamics are those in which dependent joints have effort 0 (see
//! [`Simulation::independent`](crate::Simulation::independent)), and a motion that a coupling does not allow is refused
//! by its name.

use crate::dynamics::Snapshot;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::compile::{check_length, compile};
use crate::run::query::{check_finite, fill_mass_matrix};
use crate::scene::error::closest;
use crate::scene::{Bristle, Coupling, Load, Scene};
use crate::solver::Formulation;
use crate::stick_slip::Machine;
use crate::world::component::BristleState;
use crate::world::spawn::{refuse_unsupported, spawn};
use bristle_friction::FrictionLaw;
use bristle_integrate::System;
use bristle_multibody::{Model, Reaction, kinetic_energy, potential_energy, reactions};
use hecs::World;
use nalgebra::DMatrix;

/// The mechanics of a scene, at any state. Positions, velocities, accelerations and efforts are in the order of the
/// [`Model`].
pub struct Mechanics {
    /// Of the scene without drives and stops; without friction and dampers if joints are ideal.
    machine: Machine,
    /// Bristle states of each contact, where the scene gives them.
    bristles: Vec<Option<Bristle>>,
    /// State of the present call.
    state: Snapshot,
    /// Scratch: unknowns; `max_dim`.
    y: Vec<f64>,
    reactions: Vec<Reaction>,
    mass: DMatrix<f64>,
}

impl Mechanics {
    /// The mechanics of a scene; joints are ideal unless `with_friction`.
    pub fn new(scene: &Scene, with_friction: bool) -> Result<Self> {
        let mut scene = scene.clone();
        for joint in &mut scene.joints {
            // stops are no part of one-shot mechanics: any position may be asked about
            (joint.drive, joint.limits, joint.effort_limit) = (None, None, None);
            if !with_friction {
                (joint.friction, joint.load, joint.bristle) = (None, Load::Unit, None);
                joint.damping = 0.0;
            }
        }
        if !with_friction {
            scene.couplings.retain(|coupling| !is_friction(coupling));
            for coupling in &mut scene.couplings {
                if let Coupling::SpringDamper { damping, .. } = coupling {
                    *damping = 0.0;
                }
            }
        }
        refuse_unsupported(&scene)?;
        let mut world = World::new();
        spawn(&scene, &mut world)?;
        let compiled = compile(&world)?;
        let bristle_of = |c: usize| {
            let name = compiled.contact_name(c);
            scene.joints.iter().find(|joint| joint.name == *name).and_then(|joint| joint.bristle)
        };
        let bristles = (0..compiled.inputs.contacts.len()).map(bristle_of).collect();
        let state = Snapshot::rest(&compiled);
        let (n_bodies, n_v) = (compiled.model.tree.n_bodies(), compiled.model.tree.n_v);
        memory::check("the mass matrix", memory::bytes::<f64>(&[n_v, n_v]))?;
        let machine = Machine::new(compiled, Formulation::Implicit, None);
        Ok(Self {
            bristles,
            state,
            y: vec![0.0; machine.max_dim()],
            reactions: vec![Reaction::ZERO; n_bodies],
            mass: DMatrix::zeros(n_v, n_v),
            machine,
        })
    }

    /// The machine.
    pub fn model(&self) -> &Model {
        &self.machine.dynamics.compiled().model.tree
    }

    /// The number of a joint by name.
    pub fn joint(&self, name: &str) -> Result<usize> {
        let names = &self.model().joint_names[1..];
        self.model().joint(name).ok_or_else(|| {
            let mut known = closest(name, names.iter().map(String::as_str));
            if known.is_empty() {
                known = names.iter().map(String::as_str).collect();
            }
            Error::unknown("joint", name, known)
        })
    }

    /// Computes positions, velocities and accelerations of dependent joints that are 0 from the couplings; other values
    /// that violate a coupling are refused.
    pub fn complete(&mut self, q: &mut [f64], v: &mut [f64], a: Option<&mut [f64]>) -> Result<()> {
        self.check([("q", q.len()), ("v", v.len()), ("a", a.as_ref().map_or(v.len(), |a| a.len()))])?;
        self.load_state(q, v)?;
        self.machine.dynamics.store_joints(q, v);
        if let Some(a) = a {
            self.machine.dynamics.complete_accelerations(a);
        }
        Ok(())
    }

    /// Accelerations under the efforts `tau`; `n_v`. As at the start of a simulation, modes of joints at rest are
    /// selected and loads that depend on the motion are solved for.
    pub fn forward(&mut self, q: &[f64], v: &[f64], tau: &[f64]) -> Result<Vec<f64>> {
        self.check([("q", q.len()), ("v", v.len()), ("tau", tau.len())])?;
        self.remember(q, v);
        tau.iter().enumerate().for_each(|(k, &tau)| self.machine.dynamics.set_effort(k, tau));
        self.machine.begin(&self.state, &mut self.y)?;
        let n = self.machine.dim();
        self.machine.evaluate_at(0.0, &self.y[..n])?;
        Ok(self.machine.dynamics.accelerations().to_vec())
    }

    /// Efforts for the accelerations `a`; `n_v`.
    pub fn inverse(&mut self, q: &[f64], v: &[f64], a: &[f64]) -> Result<Vec<f64>> {
        self.check([("q", q.len()), ("v", v.len()), ("a", a.len())])?;
        self.load_state(q, v)?;
        let mut tau = vec![0.0; a.len()];
        self.machine.dynamics.required(0.0, q, v, a, &mut tau)?;
        Ok(tau)
    }

    /// The mass matrix of the tree; `n_v` × `n_v`.
    pub fn mass_matrix(&mut self, q: &[f64]) -> Result<&DMatrix<f64>> {
        fill_mass_matrix(&mut self.machine, 0.0, q, &mut self.mass)?;
        Ok(&self.mass)
    }

    /// Independent velocities, in order.
    pub fn independent(&self) -> Vec<usize> {
        self.machine.dynamics.independent()
    }

    /// The mass matrix over the [`Mechanics::independent`] velocities, constraints included.
    pub fn reduced_mass_matrix(&mut self, q: &[f64]) -> Result<DMatrix<f64>> {
        if self.machine.dynamics.loops.is_any() {
            self.load_state(q, &vec![0.0; self.model().n_v])?;
        }
        self.mass_matrix(q)?;
        let reduced = self.machine.dynamics.reduce_mass(&self.mass);
        check_finite(0.0, "the reduced mass matrix", reduced.as_slice())?;
        Ok(reduced)
    }

    /// Kinetic energy, armature included, and potential energy of height, zero at the world origin, J.
    pub fn energies(&mut self, q: &[f64], v: &[f64]) -> Result<(f64, f64)> {
        let (compiled, work) = self.machine.dynamics.scratch();
        let kinetic = kinetic_energy(&compiled.model.tree, work, q, v).map_err(failed)?;
        let potential = potential_energy(&compiled.model.tree, work, q).map_err(failed)?;
        check_finite(0.0, "an energy", &[kinetic, potential])?;
        Ok((kinetic, potential))
    }

    /// Reactions, parent on child, while the machine moves with `a`; `n_bodies`, the first one the world's.
    pub fn reactions(&mut self, q: &[f64], v: &[f64], a: &[f64]) -> Result<&[Reaction]> {
        let (compiled, work) = self.machine.dynamics.scratch();
        reactions(&compiled.model.tree, work, q, v, a, &mut self.reactions).map_err(failed)?;
        Ok(&self.reactions)
    }

    /// Refuses arrays that do not fit.
    fn check(&self, given: [(&str, usize); 3]) -> Result<()> {
        let n_v = self.model().n_v;
        let mut checks = given.into_iter().zip([self.model().n_q, n_v, n_v]);
        checks.try_for_each(|((what, length), n)| check_length(what, length, n))
    }

    /// Stores the state; bristles are steady where the scene does not give them.
    fn remember(&mut self, q: &[f64], v: &[f64]) {
        self.state.mechanics.q.copy_from_slice(q);
        self.state.mechanics.v.copy_from_slice(v);
        let contacts = self.machine.dynamics.compiled().inputs.contacts.iter().zip(&self.bristles);
        for (state, (contact, given)) in self.state.bristles.iter_mut().zip(contacts) {
            let law = &contact.law;
            let steady = law.initial_state(contact.arm * contact.rate(v));
            *state = given.map_or(BristleState { z: law.deflection(steady), w: steady[1] }, |Bristle { z, w }| {
                BristleState { z, w }
            });
        }
    }

    fn load_state(&mut self, q: &[f64], v: &[f64]) -> Result<()> {
        self.remember(q, v);
        self.machine.load_state(&self.state)
    }
}

/// Whether a coupling consists of friction alone.
fn is_friction(coupling: &Coupling) -> bool {
    matches!(coupling, Coupling::Clutch { .. } | Coupling::Brake { .. } | Coupling::OneWayClutch { .. })
}

fn failed(source: bristle_multibody::Error) -> Error {
    Error::Mechanics { t: 0.0, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Coordinate, Joint, Kind, Link, Open, Rate, Spring};
    use bristle_friction::{Coulomb, LuGre, Tanh};

    /// A chain of hinges and slides, each with another law, some springs and dampers.
    fn chain(n: usize) -> Scene {
        let mut scene = Scene::default();
        for k in 0..n {
            let (x, name) = (k as f64, format!("j{k}"));
            let mut link = Link { name: format!("l{k}"), mass: 1.0 + 0.3 * x, ..Link::default() };
            link.center_of_mass = [0.1, 0.2 * x.sin(), -0.3];
            link.inertia = crate::scene::Inertia::Diagonal(0.02, 0.03, 0.025);
            scene.links.push(link);
            let axis = [x.cos(), 1.0, 0.3 * x];
            let kind = if k % 3 == 2 { Kind::Prismatic { axis } } else { Kind::Revolute { axis } };
            let parent = if k == 0 { "world".into() } else { format!("l{}", k - 1) };
            let mut joint = Joint::new(name, parent, format!("l{k}"), kind);
            joint.placement.translation = [0.4, 0.0, -0.1 * x];
            joint.damping = 0.1 * (k % 2) as f64;
            joint.spring = (k % 4 == 1).then_some(Spring { stiffness: 5.0, rest: 0.2 });
            joint.friction = Some(match k % 3 {
                0 => Coulomb { coulomb: 0.5, stiction: 0.7, viscous: 0.1 }.into(),
                1 => Tanh { coulomb: 0.4, stribeck_velocity: 0.2, viscous: 0.0 }.into(),
                _ => LuGre {
                    sigma0: 1e4,
                    sigma1: 30.0,
                    sigma2: 0.2,
                    coulomb: 0.3,
                    stiction: 0.4,
                    stribeck_velocity: Some(0.1),
                    exponent: 2.0,
                    damping_velocity: None,
                }
                .into(),
            });
            joint.load = match k {
                0 | 2 => Load::Unit,
                3 => Load::Pin { radius: 0.02 },
                4 => Load::Thrust { radius: 0.03 },
                5 => Load::Guide { length: Some(0.8) },
                _ => Load::Constant(1.7),
            };
            // the scene's state and drives have no effect
            (joint.position, joint.velocity) = (Coordinate::Scalar(9.0), Rate::Scalar(9.0));
            joint.drive = Some(crate::scene::Drive::Effort(crate::scene::Signal::Constant(100.0)));
            scene.joints.push(joint);
        }
        scene
    }

    #[test]
    fn forward_inverts_inverse_dynamics() {
        let n = 7;
        let scene = chain(n);
        for with_friction in [false, true] {
            let mut mechanics = Mechanics::new(&scene, with_friction).unwrap();
            for s in 0..20 {
                let wave = |k: usize, phase: f64| (1.3 * k as f64 + phase * s as f64).sin();
                let q: Vec<f64> = (0..n).map(|k| wave(k, 1.0)).collect();
                let v: Vec<f64> = (0..n).map(|k| 2.0 * wave(k, 2.0) + 0.01).collect();
                let a: Vec<f64> = (0..n).map(|k| 5.0 * wave(k, 3.0)).collect();
                let tau = mechanics.inverse(&q, &v, &a).unwrap();
                let back = mechanics.forward(&q, &v, &tau).unwrap();
                // digits are lost with the condition of M, some 1e3 here
                let worst = a.iter().zip(&back).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
                assert!(worst < 1e-10, "{with_friction}, {s}: {worst:e}");
            }
        }
    }

    #[test]
    fn friction_and_damping_add_to_ideal_efforts() {
        let scene = chain(2);
        let (q, v, a) = ([0.3, -0.2], [1.5, -0.4], [0.1, 0.2]);
        let ideal = Mechanics::new(&scene, false).unwrap().inverse(&q, &v, &a).unwrap();
        let whole = Mechanics::new(&scene, true).unwrap().inverse(&q, &v, &a).unwrap();
        // Coulomb with unit load; tanh under 1.7 with a damper
        let expected = [0.5 + 0.1 * 1.5, 1.7 * 0.4 * (-0.4_f64 / 0.2).tanh() - 0.1 * 0.4];
        for k in 0..2 {
            assert!((whole[k] - ideal[k] - expected[k]).abs() < 1e-13, "{k}: {whole:?} {ideal:?}");
        }
        // at rest: the level of sliding where a ≠ 0, no friction where a = 0
        let mut mechanics = Mechanics::new(&scene, true).unwrap();
        let at_rest = |a: [f64; 2], mechanics: &mut Mechanics| {
            let whole = mechanics.inverse(&q, &[0.0; 2], &a).unwrap();
            whole[0] - Mechanics::new(&scene, false).unwrap().inverse(&q, &[0.0; 2], &a).unwrap()[0]
        };
        assert!((at_rest([-3.0, 0.0], &mut mechanics) + 0.5).abs() < 1e-13);
        assert_eq!(at_rest([0.0, 1.0], &mut mechanics), 0.0);
    }

    #[test]
    fn pin_load_is_reaction() {
        // a point mass that swings with 3 rad/s at 0.4 rad from the vertical, with a = 0
        let (m, l, r, mu, v, q) = (2.0, 0.5, 0.05, 0.3, 3.0, 0.4_f64);
        let mut scene = Scene::default();
        let link = Link { name: "bob".into(), mass: m, center_of_mass: [0.0, 0.0, -l], ..Link::default() };
        scene.links.push(link);
        let mut joint = Joint::new("hinge", "world", "bob", Kind::Revolute { axis: [0.0, 1.0, 0.0] });
        joint.friction = Some(Coulomb { coulomb: mu, stiction: mu, viscous: 0.0 }.into());
        joint.load = Load::Pin { radius: r };
        scene.joints.push(joint);
        let tau = Mechanics::new(&scene, true).unwrap().inverse(&[q], &[v], &[0.0]).unwrap()[0];
        let (along, across) = (m * l * v * v + m * 9.81 * q.cos(), m * 9.81 * q.sin());
        let expected = m * 9.81 * l * q.sin() + r * mu * along.hypot(across);
        assert!((tau - expected).abs() < 1e-13, "{tau} {expected}");
    }

    /// The chain with a gear, a linear coupling of three joints, a spring between joints, a clutch and a brake.
    fn coupled_chain() -> Scene {
        let mut scene = chain(7);
        let joints = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let friction: bristle_friction::Law = Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 }.into();
        scene.couplings = vec![
            Coupling::Gear {
                name: "stage".into(),
                joints: joints("j0", "j1"),
                ratio: 3.0,
                offset: 0.2,
                efficiency: [1.0; 2],
                friction: [0.0; 2],
            },
            Coupling::Linear {
                name: "rope".into(),
                terms: vec![("j3".into(), 1.0), ("j4".into(), -0.5), ("j1".into(), 2.0)],
                offset: -0.1,
            },
            Coupling::SpringDamper {
                name: "sea".into(),
                joints: joints("j5", "j6"),
                stiffness: 30.0,
                damping: 0.7,
                rest: 0.1,
            },
            Coupling::Clutch {
                name: "clutch".into(),
                joints: joints("j4", "j6"),
                friction: friction.clone(),
                load: Load::Constant(1.2),
                open: Open::Law,
            },
            Coupling::Brake {
                name: "brake".into(),
                joint: "j5".into(),
                friction,
                load: Load::Constant(0.8),
                open: Open::Law,
            },
        ];
        scene
    }

    #[test]
    fn forward_inverts_inverse_dynamics_with_couplings() {
        let (n, scene) = (7, coupled_chain());
        for with_friction in [false, true] {
            let mut mechanics = Mechanics::new(&scene, with_friction).unwrap();
            // the first joint that each constraint names depends
            assert_eq!(mechanics.independent(), [1, 2, 4, 5, 6]);
            for s in 0..20 {
                let wave = |k: usize, phase: f64| (1.3 * k as f64 + phase * s as f64).sin();
                let fill = |size: f64, phase: f64| -> Vec<f64> {
                    (0..n).map(|k| if k == 0 || k == 3 { 0.0 } else { size * wave(k, phase) + 0.01 }).collect()
                };
                let (mut q, mut v, mut a) = (fill(1.0, 1.0), fill(2.0, 2.0), fill(5.0, 3.0));
                mechanics.complete(&mut q, &mut v, Some(&mut a)).unwrap();
                assert!((q[0] - 3.0 * q[1] - 0.2).abs() < 1e-14 && (a[3] - 0.5 * a[4] + 2.0 * a[1]).abs() < 1e-13);
                let tau = mechanics.inverse(&q, &v, &a).unwrap();
                assert_eq!((tau[0], tau[3]), (0.0, 0.0), "joints that depend carry nothing");
                let back = mechanics.forward(&q, &v, &tau).unwrap();
                // digits are lost with the condition of M, some 1e3 here
                let worst = a.iter().zip(&back).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
                assert!(worst < 1e-10, "{with_friction}, {s}: {worst:e}");
                // constraint forces have no power: τ·v is that of the joints without constraints
                let mut apart = scene.clone();
                apart.couplings.retain(|c| !matches!(c, Coupling::Gear { .. } | Coupling::Linear { .. }));
                let alone = Mechanics::new(&apart, with_friction).unwrap().inverse(&q, &v, &a).unwrap();
                let power = |tau: &[f64]| tau.iter().zip(&v).map(|(tau, v)| tau * v).sum::<f64>();
                assert!((power(&tau) - power(&alone)).abs() < 1e-10 * (1.0 + power(&tau).abs()));
            }
        }
    }

    #[test]
    fn gear_ratio_squares_motor_inertia() {
        // two wheels on parallel axes, q_m = 20 q_w: as seen from the wheel I + 20² I_m
        let mut scene = Scene { gravity: [0.0; 3], ..Scene::default() };
        for (name, inertia) in [("m", 0.001), ("w", 0.3)] {
            let mut link = Link { name: format!("{name} body"), mass: 1.0, ..Link::default() };
            link.inertia = crate::scene::Inertia::Diagonal(inertia, inertia, inertia);
            scene.links.push(link);
            let axis = Kind::Revolute { axis: [0.0, 0.0, 1.0] };
            scene.joints.push(Joint::new(name, "world", format!("{name} body"), axis));
        }
        let joints = ["m".to_owned(), "w".to_owned()];
        scene.couplings.push(Coupling::Gear {
            name: "stage".into(),
            joints,
            ratio: 20.0,
            offset: 0.0,
            efficiency: [1.0; 2],
            friction: [0.0; 2],
        });
        let mut mechanics = Mechanics::new(&scene, false).unwrap();
        let whole = mechanics.reduced_mass_matrix(&[0.0; 2]).unwrap();
        assert!((whole[(0, 0)] - (0.3 + 400.0 * 0.001)).abs() < 1e-14 && whole.len() == 1);
        assert_eq!(mechanics.mass_matrix(&[0.0; 2]).unwrap()[(0, 1)], 0.0);
        let w = mechanics.joint("w").unwrap() - 1;
        let mut a = [0.0; 2];
        a[w] = 1.5;
        mechanics.complete(&mut [0.0; 2], &mut [0.0; 2], Some(&mut a)).unwrap();
        assert_eq!(a[1 - w], 30.0);
        let tau = mechanics.inverse(&[0.0; 2], &[0.0; 2], &a).unwrap();
        assert!((tau[w] - 0.7 * 1.5).abs() < 1e-13 && tau[1 - w] == 0.0, "{tau:?}");
        // a motion that violates the gear is refused by its name
        for (v, a) in [([0.0; 2], [1.0; 2]), ([1.0; 2], a)] {
            let error = mechanics.inverse(&[0.0; 2], &v, &a).unwrap_err().to_string();
            assert!(
                error.contains("`stage`: it couples `m`, `w`") || error.contains("its couplings put it"),
                "{error}"
            );
        }
    }

    #[test]
    fn unknown_names_and_wrong_lengths_are_refused() {
        let mut mechanics = Mechanics::new(&chain(2), false).unwrap();
        let error = mechanics.joint("j9").unwrap_err().to_string();
        assert!(error.contains("there is no joint `j9`; there is j0, j1"), "{error}");
        assert!(mechanics.forward(&[0.0; 3], &[0.0; 2], &[0.0; 2]).is_err());
        assert!(mechanics.inverse(&[0.0; 2], &[0.0; 2], &[]).is_err());
        assert!(mechanics.complete(&mut [0.0; 2], &mut [], None).is_err());
    }
}

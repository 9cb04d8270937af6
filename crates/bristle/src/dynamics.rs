//! One-shot mechanics: forward and inverse dynamics of a scene at states that a caller gives, nothing integrated.
//!
//! ```text
//! M a + c + K (q − q₀) = τ                                       joints without friction
//! M a + c + K (q − q₀) + d v + τ_f = τ,   τ_f = r N φ(r v, z)    with friction: law φ, load N, lever r
//! ```
//!
//! Springs belong to the machine and always act; drives do not, since the effort τ takes their place. Dampers act together with friction
//! or not at all. Bristles are steady at the slip velocity unless the scene gives their state; signals are taken at t = 0.
//! A joint that sticks or slips by events and stands still: forward dynamics chooses its mode; inverse dynamics takes the level of
//! sliding in the direction of a, and no friction where a = 0.

use crate::compile::{Compiled, Contact, compile, placement_of, twist_of};
use crate::component::{Effort, ExternalWrench, FreeState, JointState};
use crate::error::{Error, Result};
use crate::scene::error::closest;
use crate::scene::{Bristle, Load, Scene, SceneError};
use crate::signal::{Piece, Sample};
use crate::simulation::Simulation;
use crate::spawn::{refuse_unsupported, spawn};
use bristle_friction::FrictionLaw;
use bristle_multibody::spatial::Force;
use bristle_multibody::{
    JointKind, Model, Reaction, Work, aba, crba, kinetic_energy, potential_energy, reactions, rnea,
};
use hecs::World;
use nalgebra::{DMatrix, Vector3};

/// The mechanics of a scene, at any state. Positions, velocities, accelerations and efforts are in the order of the [`Model`].
pub struct Mechanics {
    /// The scene without drives, and without friction and dampers where they are not wanted.
    scene: Scene,
    compiled: Compiled,
    /// What the scene says of the bristles of each contact.
    bristles: Vec<Option<Bristle>>,
    with_friction: bool,
    work: Work,
    reactions: Vec<Reaction>,
    mass: DMatrix<f64>,
}

impl Mechanics {
    /// The mechanics of a scene; joints are ideal unless `with_friction`. Couplings are refused.
    pub fn new(scene: &Scene, with_friction: bool) -> Result<Self> {
        let refused = scene.couplings.iter().map(|coupling| {
            let reason = format!("coupling `{}`, a `{}`, is not yet supported here", coupling.name(), coupling.kind());
            scene.problem(
                &format!("couplings.{}", coupling.name()),
                reason,
                "take it out for the mechanics of the rest",
            )
        });
        let problems: Vec<_> = refused.collect();
        if !problems.is_empty() {
            return Err(SceneError { problems }.into());
        }

        let mut scene = scene.clone();
        for joint in &mut scene.joints {
            joint.drive = None;
            if !with_friction {
                (joint.friction, joint.load, joint.bristle) = (None, Load::Unit, None);
                joint.damping = 0.0;
            }
        }
        refuse_unsupported(&scene)?;
        let mut world = World::new();
        spawn(&scene, &mut world)?;
        let compiled = compile(&world)?;
        let bristle_of = |contact: &Contact| {
            let name = &compiled.model.joint_names[contact.joint];
            scene.joints.iter().find(|joint| joint.name == *name).and_then(|joint| joint.bristle)
        };
        Ok(Self {
            bristles: compiled.contacts.iter().map(bristle_of).collect(),
            work: Work::new(&compiled.model),
            reactions: vec![Reaction::ZERO; compiled.model.n_bodies()],
            mass: DMatrix::zeros(compiled.model.n_v, compiled.model.n_v),
            scene,
            compiled,
            with_friction,
        })
    }

    /// The machine.
    pub fn model(&self) -> &Model {
        &self.compiled.model
    }

    /// The number of a joint by name.
    pub fn joint(&self, name: &str) -> Result<usize> {
        let names = &self.model().joint_names[1..];
        self.model().joint(name).ok_or_else(|| {
            let mut known = closest(name, names.iter().map(String::as_str));
            if known.is_empty() {
                known = names.iter().take(8).map(String::as_str).collect();
            }
            Error::Unknown { what: "joint", name: name.into(), known: known.join(", ") }
        })
    }

    /// Accelerations under the efforts `tau`; `n_v`.
    pub fn forward(&mut self, q: &[f64], v: &[f64], tau: &[f64]) -> Result<Vec<f64>> {
        if self.with_friction {
            return forward_with_friction(&self.scene, &self.compiled.model, q, v, tau);
        }
        let mut tau = tau.to_vec();
        for spring in &self.compiled.springs {
            tau[spring.v] -= spring.stiffness * (q[spring.q] - spring.rest);
        }
        let a = aba(&self.compiled.model, &mut self.work, q, v, &tau).map_err(failed)?;
        Ok(a.to_vec())
    }

    /// Efforts for the accelerations `a`; `n_v`.
    pub fn inverse(&mut self, q: &[f64], v: &[f64], a: &[f64]) -> Result<Vec<f64>> {
        let Self { compiled, work, bristles, .. } = self;
        let mut tau = rnea(&compiled.model, work, q, v, a).map_err(failed)?.to_vec();
        for spring in &compiled.springs {
            tau[spring.v] += spring.stiffness * (q[spring.q] - spring.rest);
        }
        for damper in &compiled.dampers {
            tau[damper.v] += damper.damping * v[damper.v];
        }
        for (contact, bristle) in compiled.contacts.iter().zip(bristles) {
            let k = contact.v;
            tau[k] += friction_effort(contact, *bristle, v[k], a[k], &work.reaction(contact.joint));
        }
        Ok(tau)
    }

    /// The mass matrix; `n_v` × `n_v`.
    pub fn mass_matrix(&mut self, q: &[f64]) -> Result<&DMatrix<f64>> {
        crba(&self.compiled.model, &mut self.work, q, &mut self.mass).map_err(failed)?;
        Ok(&self.mass)
    }

    /// Kinetic energy, armature included, and potential energy of height, zero at the world origin, J.
    pub fn energies(&mut self, q: &[f64], v: &[f64]) -> Result<(f64, f64)> {
        let Self { compiled, work, .. } = self;
        let kinetic = kinetic_energy(&compiled.model, work, q, v).map_err(failed)?;
        Ok((kinetic, potential_energy(&compiled.model, work, q).map_err(failed)?))
    }

    /// Reactions, parent on child, while the machine moves with `a`; `n_bodies`, the first one the world's.
    pub fn reactions(&mut self, q: &[f64], v: &[f64], a: &[f64]) -> Result<&[Reaction]> {
        reactions(&self.compiled.model, &mut self.work, q, v, a, &mut self.reactions).map_err(failed)?;
        Ok(&self.reactions)
    }
}

/// As a simulation begins at this state: modes of joints at rest are chosen, loads that depend on the motion found.
fn forward_with_friction(scene: &Scene, model: &Model, q: &[f64], v: &[f64], tau: &[f64]) -> Result<Vec<f64>> {
    let mut world = World::new();
    spawn(scene, &mut world)?;
    let index = compile(&world)?.index;
    for (i, entity) in index.joints() {
        let (q, v, tau) = (&q[model.q_range(i)], &v[model.v_range(i)], &tau[model.v_range(i)]);
        let gone = |_| Error::Unknown { what: "joint", name: model.joint_names[i].clone(), known: String::new() };
        match model.kinds[i] {
            JointKind::Fixed => {}
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                let state = JointState { position: q[0], velocity: v[0] };
                world.insert(entity, (state, Effort(tau[0]))).map_err(gone)?;
            }
            JointKind::Free => {
                let state = FreeState { position: placement_of(q), velocity: twist_of(v) };
                world.insert_one(entity, state).map_err(gone)?;
                // an effort on all six coordinates is a wrench on the link
                let (moment, force) = (Vector3::new(tau[0], tau[1], tau[2]), Vector3::new(tau[3], tau[4], tau[5]));
                let link = index.link_entity(i).ok_or_else(|| gone(hecs::NoSuchEntity))?;
                world.insert_one(link, ExternalWrench { moment, force }).map_err(gone)?;
            }
        }
    }
    Ok(Simulation::from_world(world)?.accelerations().to_vec())
}

/// r N φ(r v, z), while f goes through the joint.
fn friction_effort(contact: &Contact, bristle: Option<Bristle>, v: f64, a: f64, f: &Force) -> f64 {
    let (r, law) = (contact.arm, &contact.law);
    let load = match (contact.bearing, contact.signal()) {
        (Some(bearing), _) => bearing.press(f).0,
        (None, Some(signal)) => contact.normal(&signal.sample_clamped(0.0, Piece::After(0.0))).0,
        (None, None) => contact.normal(&Sample::default()).0,
    };
    let state = bristle.map_or_else(|| law.initial_state(r * v), |Bristle { z, w }| law.state_of(z, w));
    let level = match law.event_driven() {
        Some(law) if v == 0.0 => law.kinetic_level(0.0).0 * f64::from(i8::from(a > 0.0) - i8::from(a < 0.0)),
        _ => law.effort(r * v, state),
    };
    r * load * level
}

fn failed(source: bristle_multibody::Error) -> Error {
    Error::Mechanics { t: 0.0, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Coordinate, Joint, Kind, Link, Rate, Spring};
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
            // neither the scene's state nor its drives play a part
            (joint.position, joint.velocity) = (Coordinate::Scalar(9.0), Rate::Scalar(9.0));
            joint.drive = Some(crate::scene::Drive::Effort(crate::scene::Signal::Constant(100.0)));
            scene.joints.push(joint);
        }
        scene
    }

    #[test]
    fn forward_dynamics_undoes_inverse_dynamics_with_and_without_friction() {
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
    fn friction_and_damping_are_what_lies_between() {
        let scene = chain(2);
        let (q, v, a) = ([0.3, -0.2], [1.5, -0.4], [0.1, 0.2]);
        let ideal = Mechanics::new(&scene, false).unwrap().inverse(&q, &v, &a).unwrap();
        let whole = Mechanics::new(&scene, true).unwrap().inverse(&q, &v, &a).unwrap();
        // Coulomb with unit load; tanh under 1.7 with a damper
        let expected = [0.5 + 0.1 * 1.5, 1.7 * 0.4 * (-0.4_f64 / 0.2).tanh() - 0.1 * 0.4];
        for k in 0..2 {
            assert!((whole[k] - ideal[k] - expected[k]).abs() < 1e-13, "{k}: {whole:?} {ideal:?}");
        }
        // standing still: the level of sliding where it starts to move, nothing where it stays
        let mut mechanics = Mechanics::new(&scene, true).unwrap();
        let at_rest = |a: [f64; 2], mechanics: &mut Mechanics| {
            let whole = mechanics.inverse(&q, &[0.0; 2], &a).unwrap();
            whole[0] - Mechanics::new(&scene, false).unwrap().inverse(&q, &[0.0; 2], &a).unwrap()[0]
        };
        assert!((at_rest([-3.0, 0.0], &mut mechanics) + 0.5).abs() < 1e-13);
        assert_eq!(at_rest([0.0, 1.0], &mut mechanics), 0.0);
    }

    #[test]
    fn pins_press_with_what_the_hinge_carries() {
        // a point mass that swings with 3 rad/s at 0.4 rad from hanging: the rod pulls, and a brake holds a = 0
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

    #[test]
    fn couplings_and_names_that_do_not_exist_are_refused() {
        let mut scene = chain(2);
        let mechanics = Mechanics::new(&scene, false).unwrap();
        let error = mechanics.joint("j9").unwrap_err().to_string();
        assert!(error.contains("there is no joint `j9`; there is j0, j1"), "{error}");
        scene.couplings.push(crate::scene::Coupling::Gear {
            name: "stage".into(),
            joints: ["j0".into(), "j1".into()],
            ratio: 2.0,
            offset: 0.0,
        });
        let error = Mechanics::new(&scene, false).err().unwrap().to_string();
        assert!(error.contains("coupling `stage`, a `Gear`, is not yet supported"), "{error}");
    }
}

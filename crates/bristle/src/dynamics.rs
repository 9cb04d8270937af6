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

use crate::compile::{Compiled, compile, placement_of, twist_of};
use crate::component::{Effort, ExternalWrench, FreeState, JointState};
use crate::error::{Error, Result};
use crate::scene::error::closest;
use crate::scene::{Bristle, Kind, Load, Scene, SceneError};
use crate::simulation::Simulation;
use crate::spawn::{refuse_unsupported, spawn};
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::{
    JointKind, Model, Reaction, Work, aba, crba, kinetic_energy, potential_energy, reactions, rnea,
};
use hecs::World;
use nalgebra::{DMatrix, Vector3};

/// Friction and damping of one joint.
#[derive(Debug, Clone)]
struct Resistance {
    /// The joint.
    joint: usize,
    /// Its axis, child axes.
    axis: Vector3<f64>,
    damping: f64,
    friction: Option<(Law, Load, Option<Bristle>)>,
}

/// The mechanics of a scene, at any state. Positions, velocities, accelerations and efforts are in the order of the [`Model`].
pub struct Mechanics {
    /// The machine without friction, dampers and drives.
    compiled: Compiled,
    work: Work,
    /// The scene without drives, where friction is wanted.
    with_friction: Option<Scene>,
    /// What resists motion; empty where friction is left out.
    resistance: Vec<Resistance>,
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

        // ideal joints
        let mut bare = scene.clone();
        for joint in &mut bare.joints {
            (joint.drive, joint.friction, joint.load, joint.bristle) = (None, None, Load::Unit, None);
            joint.damping = 0.0;
        }
        let mut world = World::new();
        spawn(&bare, &mut world)?;
        let compiled = compile(&world)?;

        // what resists
        let mut resistance = Vec::new();
        let with_friction = if with_friction {
            let mut undriven = scene.clone();
            undriven.joints.iter_mut().for_each(|joint| joint.drive = None);
            refuse_unsupported(&undriven)?;
            for joint in &scene.joints {
                let Some(i) = compiled.model.joint(&joint.name) else { continue };
                let (Kind::Revolute { axis } | Kind::Prismatic { axis }) = joint.kind else { continue };
                let friction = joint.friction.clone().map(|law| (law, joint.load.clone(), joint.bristle));
                let axis = Vector3::from(axis).normalize();
                resistance.push(Resistance { joint: i, axis, damping: joint.damping, friction });
            }
            Some(undriven)
        } else {
            None
        };
        let (n_bodies, n_v) = (compiled.model.n_bodies(), compiled.model.n_v);
        Ok(Self {
            work: Work::new(&compiled.model),
            compiled,
            resistance,
            with_friction,
            reactions: vec![Reaction::ZERO; n_bodies],
            mass: DMatrix::zeros(n_v, n_v),
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
        if let Some(scene) = &self.with_friction {
            return forward_with_friction(scene, &self.compiled.model, q, v, tau);
        }
        let mut tau = tau.to_vec();
        self.add_springs(q, -1.0, &mut tau);
        let a = aba(&self.compiled.model, &mut self.work, q, v, &tau).map_err(failed)?;
        Ok(a.to_vec())
    }

    /// Efforts for the accelerations `a`; `n_v`.
    pub fn inverse(&mut self, q: &[f64], v: &[f64], a: &[f64]) -> Result<Vec<f64>> {
        let Self { compiled, work, .. } = self;
        let mut tau = rnea(&compiled.model, work, q, v, a).map_err(failed)?.to_vec();
        self.add_springs(q, 1.0, &mut tau);
        if self.with_friction.is_some() {
            self.reactions(q, v, a)?;
            for resistance in &self.resistance {
                let k = self.compiled.model.v_index[resistance.joint];
                tau[k] += resistance.effort(v[k], a[k], &self.reactions[resistance.joint]);
            }
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

    /// `tau` += `sign` · K (q − q₀)
    fn add_springs(&self, q: &[f64], sign: f64, tau: &mut [f64]) {
        for spring in &self.compiled.springs {
            tau[spring.v] += sign * spring.stiffness * (q[spring.q] - spring.rest);
        }
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

impl Resistance {
    /// d v + r N φ(r v, z), at the reaction of the joint.
    fn effort(&self, v: f64, a: f64, reaction: &Reaction) -> f64 {
        let mut effort = self.damping * v;
        if let Some((law, load, bristle)) = &self.friction {
            let (n, r) = self.press(load, reaction);
            let slip = r * v;
            let state = match bristle {
                Some(Bristle { z, w }) => law.state_of(*z, *w),
                None => law.initial_state(slip),
            };
            let level = match law.event_driven() {
                Some(law) if v == 0.0 => law.kinetic_level(0.0).0 * f64::from(i8::from(a > 0.0) - i8::from(a < 0.0)),
                _ => law.effort(slip, state),
            };
            effort += r * n * level;
        }
        effort
    }

    /// N and the lever r. With p and m the force and moment across the axis ẑ, a guide of length L has the edge forces p/2 ± m × ẑ/L.
    fn press(&self, load: &Load, reaction: &Reaction) -> (f64, f64) {
        match load {
            Load::Unit => (1.0, 1.0),
            Load::Constant(n) => (*n, 1.0),
            Load::Pin { radius } => (reaction.radial_force, *radius),
            Load::Thrust { radius } => (reaction.axial_force.abs(), *radius),
            Load::Guide { length: None } => (reaction.radial_force, 1.0),
            Load::Guide { length: Some(length) } => {
                let (m, f) = (reaction.wrench.moment(), reaction.wrench.force());
                let across = f - self.axis * self.axis.dot(&f);
                let (half, couple) = (across * 0.5, m.cross(&self.axis) / *length);
                ((half + couple).norm() + (half - couple).norm(), 1.0)
            }
            Load::Signal { max, signal, geometry } => (max * signal.value(0.0).clamp(0.0, 1.0) * geometry, 1.0),
        }
    }
}

fn failed(source: bristle_multibody::Error) -> Error {
    Error::Mechanics { t: 0.0, source }
}

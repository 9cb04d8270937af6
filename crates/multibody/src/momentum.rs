//! Centre of mass, momentum and energy of the whole machine.
//!
//! Momenta and composite inertias are passed from the tips to the base like forces; the sum at body 0 is the whole
//! machine's, about the world origin.

use crate::error::{Error, check_finite};
use crate::kinematics::{sweep, transforms};
use crate::model::Model;
use crate::spatial::{Force, RigidInertia};
use crate::work::Work;
use nalgebra::Vector3;

/// Momentum of the machine, world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Momentum {
    /// Linear momentum, kg·m/s.
    pub linear: Vector3<f64>,
    /// Angular momentum about the world origin, kg·m²/s.
    pub angular: Vector3<f64>,
    /// Angular momentum about the centre of mass, kg·m²/s.
    pub angular_about_center: Vector3<f64>,
}

/// The machine as one rigid body at `q`, world frame.
fn composite(model: &Model, work: &mut Work, q: &[f64]) -> RigidInertia {
    transforms(model, work, q);
    work.IC.iter_mut().zip(&model.node).for_each(|(composite, node)| *composite = node.I);
    for i in (1..model.n_bodies()).rev() {
        let seen = work.IC[i].back(&work.link[i].X);
        work.IC[model.parent[i]] += seen;
    }
    work.IC[0]
}

/// Mass and centre of mass at `q`, in the world. The centre of nothing is the origin.
pub fn center_of_mass(model: &Model, work: &mut Work, q: &[f64]) -> Result<(f64, Vector3<f64>), Error> {
    work.check(model, q, [])?;
    let whole = composite(model, work, q);
    let h = whole.h.to_vector();
    check_finite("center_of_mass", h.as_slice())?;
    let c = if whole.mass > 0.0 { h / whole.mass } else { Vector3::zeros() };
    Ok((whole.mass, c))
}

/// Linear and angular momentum at `q`, `v`. Armature is a property of the joint coordinate and carries none.
pub fn momentum(model: &Model, work: &mut Work, q: &[f64], v: &[f64]) -> Result<Momentum, Error> {
    work.check(model, q, [("v", v)])?;
    let (_, c) = center_of_mass(model, work, q)?;
    sweep::<false>(model, work, q, v, &[]);
    work.link[0].f = Force::ZERO;
    for i in 1..model.n_bodies() {
        work.link[i].f = model.node[i].I.times(&work.link[i].vel);
    }
    for i in (1..model.n_bodies()).rev() {
        let seen = work.link[i].X.force_back(&work.link[i].f);
        work.link[model.parent[i]].f += seen;
    }
    let h = work.link[0].f;
    check_finite("momentum", &h.to_array())?;
    Ok(Momentum { linear: h.force(), angular: h.moment(), angular_about_center: h.moment() - c.cross(&h.force()) })
}

/// Kinetic energy at `q`, `v`, armature included, J: ½ Σ v_i · I_i v_i + ½ Σ armature q̇².
pub fn kinetic_energy(model: &Model, work: &mut Work, q: &[f64], v: &[f64]) -> Result<f64, Error> {
    work.check(model, q, [("v", v)])?;
    sweep::<false>(model, work, q, v, &[]);
    let bodies: f64 =
        (1..model.n_bodies()).map(|i| work.link[i].vel.dot(&model.node[i].I.times(&work.link[i].vel))).sum();
    let rotors: f64 = model.armature.iter().zip(v).map(|(armature, v)| armature * v * v).sum();
    let energy = 0.5 * (bodies + rotors);
    check_finite("kinetic_energy", &[energy])?;
    Ok(energy)
}

/// Potential energy at `q` under the gravity of `work.outside`, zero at the world origin, J: −m g·c.
pub fn potential_energy(model: &Model, work: &mut Work, q: &[f64]) -> Result<f64, Error> {
    work.check(model, q, [])?;
    let g = work.outside.gravity;
    let energy = -g.dot(&composite(model, work, q).h.to_vector());
    check_finite("potential_energy", &[energy])?;
    Ok(energy)
}

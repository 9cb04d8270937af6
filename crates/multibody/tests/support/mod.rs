//! Machines to try the algorithms on: random trees, and trees read from JSON.
#![allow(dead_code, non_snake_case)] // each test target uses its own part of this; symbols follow Featherstone

use bristle_multibody::spatial::{Force, Symmetric3};
use bristle_multibody::*;
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

/// A seeded source of random numbers.
pub struct Random(Pcg64Mcg);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Uniform in [low, high).
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.real(0.0, 1.0) * n as f64) as usize).min(n - 1)
    }

    pub fn vector(&mut self, size: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| self.real(-size, size))
    }

    pub fn rotation(&mut self) -> UnitQuaternion<f64> {
        UnitQuaternion::new(self.vector(3.0))
    }

    pub fn reals(&mut self, n: usize, size: f64) -> Vec<f64> {
        (0..n).map(|_| self.real(-size, size)).collect()
    }

    /// A solid of random shape: principal moments of a box, turned at random.
    pub fn inertia(&mut self, mass: f64) -> LinkInertia {
        let side = Vector3::from_fn(|_, _| self.real(0.05, 0.4));
        let d = side.component_mul(&side);
        let principal = Vector3::new(d.y + d.z, d.x + d.z, d.x + d.y) * (mass / 12.0);
        let R = self.rotation().to_rotation_matrix().into_inner();
        let I = R * Matrix3::from_diagonal(&principal) * R.transpose();
        LinkInertia { mass, center_of_mass: self.vector(0.3), inertia: Symmetric3::from_upper(&I) }
    }
}

/// Which joints a random tree may have.
#[derive(Clone, Copy, PartialEq)]
pub enum Mix {
    /// Revolute, prismatic, fixed, and free ones now and then.
    Everything,
    /// A free base, then revolute and prismatic joints; no gravity.
    Floating,
}

/// A random tree of `n` joints: oblique axes, random placements, masses spread over six decades, some armature.
pub fn random_tree(random: &mut Random, n: usize, mix: Mix) -> Model {
    let mut builder = ModelBuilder::new();
    builder.gravity(if mix == Mix::Floating { Vector3::zeros() } else { random.vector(10.0) });
    let decades = random.real(0.0, 6.0);
    for k in 0..n {
        let mass = 10f64.powf(random.real(-0.5, 0.5) * decades);
        builder.link(&format!("l{k}"), random.inertia(mass));
        let parent = match k {
            0 => "world".into(),
            _ if mix == Mix::Everything && random.below(20) == 0 => "world".into(),
            // chains and bushes alike
            _ => format!("l{}", if random.below(2) == 0 { k - 1 } else { random.below(k) }),
        };
        let axis = if random.below(3) == 0 { Vector3::ith(random.below(3), -1.0) } else { random.vector(1.0) };
        let kind = match (mix, random.below(20)) {
            (Mix::Floating, _) if k == 0 => JointKind::Free,
            (Mix::Everything, 0) => JointKind::Free,
            (Mix::Everything, 1 | 2) if k > 0 => JointKind::Fixed,
            (_, 3..=7) => JointKind::Prismatic { axis },
            _ => JointKind::Revolute { axis },
        };
        let mut joint = JointSpec::new(&format!("j{k:03}"), &parent, &format!("l{k}"), kind);
        joint.placement = Isometry3::from_parts(Translation3::from(random.vector(0.5)), random.rotation());
        if !matches!(kind, JointKind::Free | JointKind::Fixed) && random.below(4) == 0 {
            joint.armature = mass * random.real(0.0, 0.1);
        }
        builder.joint(joint);
    }
    builder.build().expect("a random tree is a machine")
}

/// A random configuration, quaternions normalised.
pub fn random_position(random: &mut Random, model: &Model) -> Vec<f64> {
    let d = random.reals(model.n_v, 2.0);
    let mut q = vec![0.0; model.n_q];
    advance(model, &neutral(model), &d, &mut q).expect("finite");
    q
}

/// `q ⊕ h e_k`.
pub fn nudged(model: &Model, q: &[f64], k: usize, h: f64) -> Vec<f64> {
    let mut d = vec![0.0; model.n_v];
    d[k] = h;
    let mut out = vec![0.0; model.n_q];
    chart_point(model, q, &d, &mut out).expect("finite");
    out
}

/// `q ⊕ h v + ½ h² a …`: along the motion with accelerations `a`, to third order in h, for one-degree joints and free
/// joints alike.
pub fn moved(model: &Model, q: &[f64], v: &[f64], a: &[f64], h: f64) -> Vec<f64> {
    let d: Vec<f64> = v.iter().zip(a).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
    let mut out = vec![0.0; model.n_q];
    advance(model, q, &d, &mut out).expect("finite");
    out
}

pub fn random_wrench(random: &mut Random, size: f64) -> Force {
    Force::new(random.vector(size), random.vector(size))
}

pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Machines of a JSON file, in its order.
pub fn machines(json: &str) -> Vec<(String, Model)> {
    let value: Value = serde_json::from_str(json).expect("JSON");
    value.as_array().expect("a list").iter().map(|m| (text(&m["name"]), machine(m))).collect()
}

fn machine(m: &Value) -> Model {
    let mut builder = ModelBuilder::new();
    for link in m["links"].as_array().expect("links") {
        let i = numbers(&link["inertia"]);
        let c = numbers(&link["com"]);
        builder.link(
            &text(&link["name"]),
            LinkInertia {
                mass: link["mass"].as_f64().expect("mass"),
                center_of_mass: Vector3::new(c[0], c[1], c[2]),
                inertia: Symmetric3 { xx: i[0], xy: i[1], xz: i[2], yy: i[3], yz: i[4], zz: i[5] },
            },
        );
    }
    for joint in m["joints"].as_array().expect("joints") {
        let (xyz, rpy, axis) = (numbers(&joint["xyz"]), numbers(&joint["rpy"]), numbers(&joint["axis"]));
        let axis = Vector3::new(axis[0], axis[1], axis[2]);
        let kind = match joint["type"].as_str() {
            Some("prismatic") => JointKind::Prismatic { axis },
            _ => JointKind::Revolute { axis },
        };
        builder.joint(
            JointSpec::new(&text(&joint["name"]), &text(&joint["parent"]), &text(&joint["child"]), kind)
                .at(Vector3::new(xyz[0], xyz[1], xyz[2]))
                .turned(rpy[0], rpy[1], rpy[2]),
        );
    }
    builder.build().expect("a published machine")
}

pub fn text(v: &Value) -> String {
    v.as_str().expect("text").into()
}

pub fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().expect("numbers").iter().map(|x| x.as_f64().expect("number")).collect()
}

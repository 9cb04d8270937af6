//! Kinematics and Newton–Euler of random machines in world coordinates, link by link, straight from the definitions.

use crate::random_machines::{Bearing, GRAVITY, Kind, Machine};
use nalgebra::{Matrix3, Quaternion, Rotation3, Unit, UnitQuaternion, Vector3};
use std::collections::HashMap;

type V3 = Vector3<f64>;

/// One row of a recording by name.
pub struct Row<'a> {
    pub columns: &'a HashMap<String, usize>,
    pub values: &'a [f64],
}

impl Row<'_> {
    pub fn get(&self, name: &str) -> f64 {
        self.values[*self.columns.get(name).unwrap_or_else(|| panic!("no channel {name}"))]
    }

    fn triple(&self, joint: usize, names: [&str; 3]) -> V3 {
        V3::from(names.map(|name| self.get(&format!("j{joint}.{name}"))))
    }
}

#[derive(Clone, Copy)]
pub struct Link {
    rotation: Matrix3<f64>,
    origin: V3,
    omega: V3,
    alpha: V3,
    a: V3,
    /// Joint axis, world.
    pub axis: V3,
}

/// Poses and velocities of all links: world coordinates, straight from the definitions.
pub fn motion(machine: &Machine, row: &Row) -> Vec<Link> {
    let world = Link {
        rotation: Matrix3::identity(),
        origin: V3::zeros(),
        omega: V3::zeros(),
        alpha: V3::zeros(),
        a: V3::zeros(),
        axis: V3::zeros(),
    };
    let mut links: Vec<Link> = Vec::new();
    for (k, j) in machine.joints.iter().enumerate() {
        let parent = j.parent.map_or(world, |p| links[p]);
        let frame = parent.rotation * Rotation3::from_euler_angles(j.rpy[0], j.rpy[1], j.rpy[2]).matrix();
        let at = parent.origin + parent.rotation * j.translation;
        let axis = frame * j.axis;
        let carried = |point: V3| {
            let r = point - parent.origin;
            parent.a + parent.alpha.cross(&r) + parent.omega.cross(&parent.omega.cross(&r))
        };
        let x = |name: &str| row.get(&format!("j{k}.{name}"));
        links.push(match j.kind {
            Kind::Free => {
                let q = Quaternion::new(x("position.qw"), x("position.qx"), x("position.qy"), x("position.qz"));
                let rotation = frame * UnitQuaternion::from_quaternion(q).to_rotation_matrix().matrix();
                let w = row.triple(k, ["velocity.wx", "velocity.wy", "velocity.wz"]);
                let v = row.triple(k, ["velocity.vx", "velocity.vy", "velocity.vz"]);
                let dw = row.triple(k, ["acceleration.wx", "acceleration.wy", "acceleration.wz"]);
                let dv = row.triple(k, ["acceleration.vx", "acceleration.vy", "acceleration.vz"]);
                let position = row.triple(k, ["position.x", "position.y", "position.z"]);
                Link {
                    rotation,
                    origin: at + frame * position,
                    omega: rotation * w,
                    alpha: rotation * dw,
                    a: rotation * (dv + w.cross(&v)),
                    axis,
                }
            }
            Kind::Revolute => Link {
                rotation: frame * Rotation3::from_axis_angle(&Unit::new_normalize(j.axis), x("position")).matrix(),
                origin: at,
                omega: parent.omega + axis * x("velocity"),
                alpha: parent.alpha + axis * x("acceleration") + parent.omega.cross(&axis) * x("velocity"),
                a: carried(at),
                axis,
            },
            Kind::Prismatic => {
                let origin = at + axis * x("position");
                let coriolis = 2.0 * parent.omega.cross(&axis) * x("velocity");
                Link {
                    rotation: frame,
                    origin,
                    omega: parent.omega,
                    alpha: parent.alpha,
                    a: carried(origin) + axis * x("acceleration") + coriolis,
                    axis,
                }
            }
        });
    }
    links
}

/// Force and moment about the link's origin through each joint.
pub fn reactions(machine: &Machine, links: &[Link]) -> Vec<(V3, V3)> {
    let mut through = vec![(V3::zeros(), V3::zeros()); links.len()];
    for k in (0..links.len()).rev() {
        let (j, link) = (&machine.joints[k], &links[k]);
        let r = link.rotation * j.center;
        let a = link.a + link.alpha.cross(&r) + link.omega.cross(&link.omega.cross(&r));
        let force = j.mass * (a - V3::from(GRAVITY));
        let inertia = link.rotation * Matrix3::from_diagonal(&j.inertia) * link.rotation.transpose();
        let moment = inertia * link.alpha + link.omega.cross(&(inertia * link.omega));
        through[k].0 += force;
        through[k].1 += moment + r.cross(&force);
        if let Some(p) = j.parent {
            let (force, moment) = through[k];
            through[p].0 += force;
            through[p].1 += moment + (link.origin - links[p].origin).cross(&force);
        }
    }
    through
}

/// Effort per unit of the law's level: lever times normal load.
pub fn lever_load(bearing: Bearing, axis: V3, (force, moment): (V3, V3)) -> f64 {
    let across = |v: V3| v - axis * axis.dot(&v);
    match bearing {
        Bearing::Unit => 1.0,
        Bearing::Pin(radius) => radius * across(force).norm(),
        Bearing::Thrust(radius) => radius * axis.dot(&force).abs(),
        Bearing::Guide => across(force).norm(),
        Bearing::Edges(length) => {
            let (half, couple) = (0.5 * across(force), moment.cross(&axis) / length);
            (half + couple).norm() + (half - couple).norm()
        }
    }
}

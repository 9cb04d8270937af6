//! Animation of the machine: poses of the links at instants spread over the run, and the shape of each link.
//!
//! Poses come from the recorded positions through the same kinematics that the simulation uses; the page only applies
//! them. A link is drawn as a bone from its joint to the joints it carries, and as the uniform box of the same mass and
//! inertia about its centre of mass. With principal moments I₁, I₂, I₃ its edges are
//!
//! ```text
//! s₁² = 6 (I₂ + I₃ − I₁) / m, and so on round
//! ```
//!
//! A thin rod is its own box. A body that turns about an axis through its centre of mass and carries nothing is a wheel
//! or the end of a shaft: with I about its axis it is drawn as the uniform disc of radius √(2 I/m).
//!
//! A stop is a wall on the parent where the child would be at the bound: beside the joint of a revolute one, along its
//! bone; across the rail of a slide.

use super::encode::{extent, quantize, shorts};
use crate::results::Results;
use anyhow::{Context, Result};
use bristle::multibody::{JointKind, Model, Placement, Poses, Work, kinematics, poses};
use nalgebra::Vector3;
use serde_json::{Value, json};

/// Characters that all poses together may take.
const BUDGET: usize = 280_000;
/// Characters of a pose: three numbers for its place and four for its quaternion, of sixteen bits, in base 64.
const PER_POSE: f64 = 7.0 * 8.0 / 3.0;

/// Poses of all links at some rows.
pub struct Animation {
    /// Rows of the table.
    rows: Vec<usize>,
    /// Poses of the links, world excepted, at each of the rows.
    poses: Vec<Vec<Placement>>,
}

impl Animation {
    /// Runs through the recorded positions; as many of them as there is room for.
    pub fn new(model: &Model, results: &Results) -> Result<Self> {
        let positions = positions(model, results)?;
        let (n_rows, n_links) = (results.len(), model.n_joints());
        let most = (BUDGET as f64 / PER_POSE / n_links.max(1) as f64) as usize;
        let n = n_rows.min(most.max(2));
        let rows: Vec<usize> = (0..n).map(|k| if n > 1 { k * (n_rows - 1) / (n - 1) } else { 0 }).collect();
        let (mut work, mut places) = (Work::new(model), Poses::new(model));
        let (mut q, v) = (vec![0.0; model.n_q], vec![0.0; model.n_v]);
        let mut at = |row: usize| -> Result<Vec<Placement>> {
            q.iter_mut().zip(&positions).for_each(|(q, column)| *q = column[row]);
            kinematics(model, &mut work, &q, &v)?;
            poses(model, &work, &mut places)?;
            Ok((1..model.n_bodies()).map(|i| places.link(model, i)).collect::<Result<_, _>>()?)
        };
        let poses = rows.iter().map(|&row| at(row)).collect::<Result<_>>()?;
        Ok(Self { rows, poses })
    }

    /// The poses as the page reads them.
    pub fn frames(&self, t: &[f64]) -> Value {
        let (start, end) = (t[0], t[t.len() - 1]);
        let axis = |k: usize| extent(self.poses.iter().flatten().map(|pose| pose.translation.vector[k]));
        let box_ = [axis(0), axis(1), axis(2)];
        let times: Vec<u16> = self.rows.iter().map(|&row| quantize(t[row], start, end)).collect();
        let mut numbers = Vec::with_capacity(7 * self.poses.iter().map(Vec::len).sum::<usize>());
        for pose in self.poses.iter().flatten() {
            for (x, (low, high)) in pose.translation.vector.iter().zip(box_) {
                numbers.push(quantize(*x, low, high));
            }
            let r = &pose.rotation;
            numbers.extend([r.w, r.i, r.j, r.k].map(|x| quantize(x, -1.0, 1.0)));
        }
        json!({
            "times": shorts(&times), "low": box_.map(|b| b.0), "high": box_.map(|b| b.1), "poses": shorts(&numbers),
        })
    }

    /// The shape of each link, in its own axes; `closing` are points at which loop joints close chains, `stops` has
    /// names of joints and bounds of their positions.
    pub fn links(
        &self,
        model: &Model,
        results: &Results,
        closing: &[(String, [f64; 3])],
        stops: &[(String, Vec<f64>)],
    ) -> Value {
        let Some(first) = self.poses.first() else { return json!([]) };
        let link = |i: usize| {
            let parent = model.parent[i];
            let base = if parent == 0 { Placement::identity() } else { first[parent - 1] };
            let in_parent = base.inverse() * first[i - 1];
            let origin = in_parent.translation.vector;
            let (kind, axis) = match model.kinds[i] {
                JointKind::Fixed => ("fixed", None),
                JointKind::Free => ("free", None),
                JointKind::Revolute { axis } => ("revolute", Some(axis.normalize())),
                JointKind::Prismatic { axis } => ("prismatic", Some(axis.normalize())),
            };
            // where the joint is on its parent; a slide begins before and ends after its travel
            let (mut joint, mut rail) = (origin, None);
            if let (JointKind::Prismatic { .. }, Some(axis)) = (model.kinds[i], axis) {
                let name = format!("{}.position", model.joint_names[i]);
                let q = results.channel(&name).unwrap_or(&[]);
                let along = in_parent.rotation * axis;
                joint = origin - along * q.first().copied().unwrap_or(0.0);
                let (low, high) = extent(q.iter().copied());
                rail = Some([joint + along * low, joint + along * high].map(list));
            }
            let (mass, center) = model.mass_and_center(i);
            let bounds = stops.iter().find(|(joint, _)| *joint == model.joint_names[i]).map_or(&[][..], |stop| &stop.1);
            let stops = walls(model, (i, &in_parent), results, first, bounds);
            let closes: Vec<[f64; 3]> =
                closing.iter().filter(|(link, _)| *link == model.link_names[i]).map(|(_, at)| *at).collect();
            json!({
                "name": model.link_names[i], "joint": model.joint_names[i], "kind": kind, "parent": parent as i64 - 1,
                "axis": axis.map(list), "at": list(joint), "rail": rail, "closes": closes,
                "mass": mass, "center": list(center),
                "box": solid(model, i, mass), "disc": disc(model, i, mass, &center),
                "stops": stops,
            })
        };
        Value::Array((1..model.n_bodies()).map(link).collect())
    }

    /// Where to look from: right, up and towards the eye, in world axes; along the common axis of a planar machine.
    pub fn view(&self, model: &Model) -> Value {
        let normal = self.normal(model);
        let gravity = model.gravity;
        let vertical = if gravity.norm() > 0.0 { -gravity.normalize() } else { Vector3::z() };
        let (toward, up) = match normal {
            Some(n) => {
                // up against gravity where the plane has such a direction
                let candidates = [vertical, Vector3::z(), Vector3::y()];
                let across = candidates.iter().map(|c| c - n * n.dot(c)).find(|across| across.norm() > 0.1);
                (n, across.unwrap_or_else(Vector3::x).normalize())
            }
            None => {
                let away = if vertical.x.abs() < 0.9 { Vector3::x() } else { Vector3::y() };
                ((away - vertical * vertical.dot(&away)).normalize(), vertical)
            }
        };
        let right = up.cross(&toward);
        // of the two sides of a plane, the one from which x, or else y, or else z runs to the right
        let largest = right.iter().copied().fold(0.0_f64, |most, x| if x.abs() > most.abs() + 1e-9 { x } else { most });
        let (right, toward) = if largest < 0.0 && normal.is_some() { (-right, -toward) } else { (right, toward) };
        json!({ "right": list(right), "up": list(up), "toward": list(toward), "planar": normal.is_some() })
    }

    /// Direction across the plane of motion, if all moves in parallel planes.
    fn normal(&self, model: &Model) -> Option<Vector3<f64>> {
        let first = self.poses.first()?;
        let in_world = |i: usize, axis: Vector3<f64>| first[i - 1].rotation * axis.normalize();
        let (mut turns, mut slides) = (Vec::new(), Vec::new());
        for i in 1..model.n_bodies() {
            match model.kinds[i] {
                JointKind::Fixed => {}
                JointKind::Free => return None,
                JointKind::Revolute { axis } => turns.push(in_world(i, axis)),
                JointKind::Prismatic { axis } => slides.push(in_world(i, axis)),
            }
        }
        let n = match (turns.first(), slides.first()) {
            (Some(n), _) => *n,
            // slides alone: across two of them, or across one and what lies furthest beside it, or gravity
            (None, Some(s)) => {
                let beside = beside(model, first, *s);
                let others = slides.iter().copied().chain([beside, model.gravity, Vector3::z(), Vector3::y()]);
                let across = others.map(|other| s.cross(&other)).find(|across| across.norm() > 1e-6);
                across.unwrap_or_else(Vector3::z).normalize()
            }
            (None, None) => return None,
        };
        let is_planar = turns.iter().all(|turn| turn.cross(&n).norm() < 1e-6)
            && slides.iter().all(|slide| slide.dot(&n).abs() < 1e-6);
        is_planar.then_some(n)
    }
}

/// The way across a direction to what lies furthest beside the first link: joints and centres of mass.
fn beside(model: &Model, poses: &[Placement], direction: Vector3<f64>) -> Vector3<f64> {
    let mut furthest = Vector3::zeros();
    let Some(start) = poses.first() else { return furthest };
    for (i, pose) in (1..model.n_bodies()).zip(poses) {
        let (_, center) = model.mass_and_center(i);
        let place = pose.translation.vector;
        for point in [place, place + pose.rotation * center] {
            let way = point - start.translation.vector;
            let across = way - direction * direction.dot(&way);
            if across.norm() > furthest.norm() {
                furthest = across;
            }
        }
    }
    furthest
}

/// The columns of `q`, in its order.
fn positions<'r>(model: &Model, results: &'r Results) -> Result<Vec<&'r [f64]>> {
    let mut columns = Vec::with_capacity(model.n_q);
    for i in 1..model.n_bodies() {
        let parts: &[&str] = match model.kinds[i] {
            JointKind::Fixed => &[],
            JointKind::Free => &[".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"],
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => &[""],
        };
        for part in parts {
            let name = format!("{}.position{part}", model.joint_names[i]);
            columns.push(results.channel(&name).with_context(|| format!("the results have no channel `{name}`"))?);
        }
    }
    Ok(columns)
}

/// Edges of the uniform box with the inertia of a link, half as long and in its axes; `None` for a point.
fn solid(model: &Model, i: usize, mass: f64) -> Option<[[f64; 3]; 3]> {
    let eigen = model.inertia_about_center(i).symmetric_eigen();
    let moments = eigen.eigenvalues;
    let edge = |k: usize| (6.0 * (moments.sum() - 2.0 * moments[k]) / mass).max(0.0).sqrt();
    let edges = [edge(0), edge(1), edge(2)];
    let is_solid = edges.iter().all(|edge| edge.is_finite()) && edges.iter().any(|edge| *edge > 1e-9);
    is_solid.then(|| [0, 1, 2].map(|k| list(eigen.eigenvectors.column(k) * (0.5 * edges[k]))))
}

/// Radius of the uniform disc with the inertia of a balanced link about the axis it turns on; `None` for other links.
fn disc(model: &Model, i: usize, mass: f64, center: &Vector3<f64>) -> Option<f64> {
    let JointKind::Revolute { axis } = model.kinds[i] else { return None };
    let axis = axis.normalize();
    let radius = (2.0 * axis.dot(&(model.inertia_about_center(i) * axis)) / mass).sqrt();
    let is_balanced = center.cross(&axis).norm() <= 1e-6 * radius;
    let carries = (1..model.n_bodies()).any(|child| model.parent[child] == i);
    (radius.is_finite() && radius > 0.0 && is_balanced && !carries).then_some(radius)
}

/// The stops of a joint in axes of its parent: where each is, the direction along the wall (none across a rail), and
/// the direction out of the range; `in_parent` is the link at the first of the rows.
fn walls(
    model: &Model,
    (i, in_parent): (usize, &Placement),
    results: &Results,
    first: &[Placement],
    bounds: &[f64],
) -> Vec<Value> {
    let name = format!("{}.position", model.joint_names[i]);
    let Some(&q) = results.channel(&name).and_then(|q| q.first()) else { return Vec::new() };
    let middle = bounds.iter().sum::<f64>() / bounds.len().max(1) as f64;
    let is_upper = |bound: f64| if bounds.len() > 1 { bound > middle } else { bound > q };
    // the farthest of what it carries, or its own centre of mass
    let carried = (1..model.n_bodies()).filter(|&k| model.parent[k] == i);
    let children = carried.map(|k| (first[i - 1].inverse() * first[k - 1]).translation.vector);
    let own = model.mass_and_center(i).1;
    let farthest = children.chain([own]).fold(own, |far, c| if c.norm() > far.norm() { c } else { far });
    let wall = |&bound: &f64| {
        let side = if is_upper(bound) { 1.0 } else { -1.0 };
        match model.kinds[i] {
            JointKind::Revolute { axis } => {
                let axis = axis.normalize();
                let turned = in_parent.rotation * nalgebra::UnitQuaternion::new(axis * (bound - q));
                let across = farthest - axis * axis.dot(&farthest);
                let other = if axis.x.abs() < 0.9 { Vector3::x() } else { Vector3::y() };
                let across = if across.norm() > 1e-9 * farthest.norm() { across } else { axis.cross(&other) };
                let (along, out) = (turned * across.normalize(), turned * axis.cross(&across.normalize()) * side);
                Some(json!({ "at": list(in_parent.translation.vector), "along": list(along), "out": list(out) }))
            }
            JointKind::Prismatic { axis } => {
                let along = in_parent.rotation * axis.normalize();
                let at = in_parent.translation.vector + along * (bound - q);
                Some(json!({ "at": list(at), "along": Value::Null, "out": list(along * side) }))
            }
            _ => None,
        }
    };
    bounds.iter().filter_map(wall).collect()
}

fn list(v: Vector3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z].map(|x| format!("{x:.5e}").parse().unwrap_or(x))
}

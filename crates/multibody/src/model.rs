//! The machine: links and joints in parent-before-child order, built once, then shared by reference.
//!
//! A joint frame sits in its parent link at `placement`; the child link's frame is the joint frame at position 0. The
//! builder turns every link frame by a constant rotation so that the joint axis becomes z (for axes along ±x, ±y, ±z
//! by permuting coordinates, without a rounding error), and folds that rotation into the constant transforms `X_T` and
//! the inertias. Order: depth first, siblings by joint name. It depends on names and topology alone.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::ModelError;
use crate::joint::{JointKind, Kernel};
use crate::principal_moments::{MomentDefect, moment_defect, principal_axes};
use crate::spatial::{ArticulatedInertia, RigidInertia, Symmetric3, Transform};
use nalgebra::{Isometry3, Matrix3, Translation3, UnitQuaternion, Vector3};
use std::collections::HashMap;

/// Position and orientation of one frame in another.
pub type Placement = Isometry3<f64>;

/// Mass properties of a link, in link axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkInertia {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in the link frame, m.
    pub center_of_mass: Vector3<f64>,
    /// Rotational inertia about the centre of mass, link axes, kg·m².
    pub inertia: Symmetric3,
}

impl LinkInertia {
    /// A point mass.
    pub fn point(mass: f64, center_of_mass: Vector3<f64>) -> Self {
        Self { mass, center_of_mass, inertia: Symmetric3::default() }
    }

    /// Principal moments along the link axes.
    pub fn diagonal(mass: f64, center_of_mass: Vector3<f64>, ixx: f64, iyy: f64, izz: f64) -> Self {
        Self { mass, center_of_mass, inertia: Symmetric3 { xx: ixx, yy: iyy, zz: izz, ..Symmetric3::default() } }
    }

    /// A uniform thin rod from the origin to `tip`.
    pub fn rod(mass: f64, tip: Vector3<f64>) -> Self {
        let (l2, d) = (tip.norm_squared(), tip);
        let entry = |i: usize, j: usize| mass / 12.0 * (if i == j { l2 } else { 0.0 } - d[i] * d[j]);
        Self {
            mass,
            center_of_mass: tip * 0.5,
            inertia: Symmetric3 {
                xx: entry(0, 0),
                xy: entry(0, 1),
                xz: entry(0, 2),
                yy: entry(1, 1),
                yz: entry(1, 2),
                zz: entry(2, 2),
            },
        }
    }

    /// The reason why these mass properties are impossible, if they are.
    pub fn defect(&self) -> Option<String> {
        let I = &self.inertia;
        let numbers = [I.xx, I.xy, I.xz, I.yy, I.yz, I.zz, self.mass];
        if !numbers.iter().chain(self.center_of_mass.iter()).all(|x| x.is_finite()) {
            return Some("a number is not finite".into());
        }
        if self.mass < 0.0 {
            return Some(format!("mass {} is negative", self.mass));
        }
        let moments = principal_axes(&I.to_matrix()).1;
        match moment_defect(moments) {
            Some(MomentDefect::Negative(low)) => return Some(format!("a principal moment is negative ({low:e})")),
            Some(MomentDefect::Triangle { largest, others }) => {
                return Some(format!(
                    "the largest principal moment ({largest:e}) exceeds the sum of the other two ({others:e})"
                ));
            }
            None => {}
        }
        if self.mass == 0.0 && moments.iter().any(|&moment| moment > 0.0) {
            return Some("it has rotational inertia but no mass".into());
        }
        None
    }
}

/// A joint as its user describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSpec {
    /// Its name.
    pub name: String,
    /// Parent link, or `"world"`.
    pub parent: String,
    /// Child link.
    pub child: String,
    /// The motion it allows.
    pub kind: JointKind,
    /// Joint frame in the parent link.
    pub placement: Placement,
    /// Reflected inertia added to the joint's own coordinate, kg·m² or kg.
    pub armature: f64,
}

impl JointSpec {
    /// A joint at the parent's origin, without armature.
    pub fn new(name: &str, parent: &str, child: &str, kind: JointKind) -> Self {
        let placement = Placement::identity();
        Self { name: name.into(), parent: parent.into(), child: child.into(), kind, placement, armature: 0.0 }
    }

    /// A hinge about `axis`.
    pub fn revolute(name: &str, parent: &str, child: &str, axis: Vector3<f64>) -> Self {
        Self::new(name, parent, child, JointKind::Revolute { axis })
    }

    /// A slide along `axis`.
    pub fn prismatic(name: &str, parent: &str, child: &str, axis: Vector3<f64>) -> Self {
        Self::new(name, parent, child, JointKind::Prismatic { axis })
    }

    /// The joint frame moved to `translation` in the parent link.
    pub fn at(mut self, translation: Vector3<f64>) -> Self {
        self.placement.translation = Translation3::from(translation);
        self
    }

    /// The joint frame turned by fixed-axis roll, pitch, yaw, rad.
    pub fn turned(mut self, roll: f64, pitch: f64, yaw: f64) -> Self {
        self.placement.rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
        self
    }

    /// With reflected inertia.
    pub fn with_armature(mut self, armature: f64) -> Self {
        self.armature = armature;
        self
    }
}

/// An inertia this small beside those it was computed from is their rounding: a thin rod about its own axis.
pub(crate) const NOISE: f64 = 16.0 * f64::EPSILON;

/// The data of one joint and its body that the sweeps read, side by side in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// Constant part of the transform, canonical parent to canonical child at position 0.
    pub X_T: Transform,
    /// Rigid inertia, canonical frame.
    pub I: RigidInertia,
    /// The same as an articulated inertia: where the backward recursion starts.
    pub IA: ArticulatedInertia,
    pub parent: usize,
    /// First position and first velocity.
    pub q: usize,
    pub v: usize,
    /// Inertia along the joint that is no more than the rounding of the body's own.
    pub noise: f64,
    pub kernel: Kernel,
    /// No body hangs on this one.
    pub leaf: bool,
    /// Of its parent's children the last in order, and so the first on the way from the tips to the base.
    pub first_felt: bool,
    /// First of the bodies that lie before this one without a gap, each the parent of the next, all on joints of one
    /// degree; the body itself if its parent is not among them.
    pub run: usize,
}

/// The machine in flat arrays. Body 0 is the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Parent body of each body; 0 for the world itself.
    pub parent: Vec<usize>,
    /// First position of each joint in `q`.
    pub q_index: Vec<usize>,
    /// First velocity of each joint in `v`.
    pub v_index: Vec<usize>,
    /// Joint names; entry 0 is `"world"`.
    pub joint_names: Vec<String>,
    /// Link names; entry 0 is `"world"`.
    pub link_names: Vec<String>,
    /// Joint kinds as the user gave them.
    pub kinds: Vec<JointKind>,
    /// Gravity, world axes, m/s².
    pub gravity: Vector3<f64>,
    /// Length of `q`.
    pub n_q: usize,
    /// Length of `v`.
    pub n_v: usize,
    /// Joints and bodies as the sweeps read them; `n_bodies`.
    pub(crate) node: Vec<Node>,
    /// Reflected inertia per velocity; `n_v`.
    pub(crate) armature: Vec<f64>,
    /// Rotation from the user's link axes to canonical axes.
    pub(crate) to_canonical: Vec<Matrix3<f64>>,
    /// Body that carries each velocity; `n_v`.
    pub(crate) body_of_v: Vec<usize>,
}

/// Functions of an index panic, like a slice, where the model has no such body or velocity.
impl Model {
    /// Number of joints, fixed ones included.
    pub fn n_joints(&self) -> usize {
        self.parent.len() - 1
    }

    /// Number of bodies, the world included.
    pub fn n_bodies(&self) -> usize {
        self.parent.len()
    }

    /// Range of joint `i` in `q`; empty for a fixed joint.
    #[inline(always)]
    pub fn q_range(&self, i: usize) -> std::ops::Range<usize> {
        self.q_index[i]..self.q_index[i] + self.node[i].kernel.n_q()
    }

    /// Range of joint `i` in `v`; empty for a fixed joint.
    #[inline(always)]
    pub fn v_range(&self, i: usize) -> std::ops::Range<usize> {
        self.v_index[i]..self.v_index[i] + self.node[i].kernel.n_v()
    }

    /// Joint that carries velocity `k`.
    pub fn joint_of_velocity(&self, k: usize) -> usize {
        self.body_of_v[k]
    }

    /// Whether velocity `k` is an angular one.
    pub fn turns(&self, k: usize) -> bool {
        let i = self.body_of_v[k];
        match self.node[i].kernel {
            Kernel::Revolute => true,
            Kernel::Free => k < self.v_index[i] + 3,
            Kernel::Fixed | Kernel::Prismatic => false,
        }
    }

    /// Index of a joint by name.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joint_names.iter().skip(1).position(|n| n == name).map(|i| i + 1)
    }

    /// Index of the body of a link by name; the world is 0.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.link_names.iter().position(|n| n == name)
    }

    /// Mass properties of a body in the user's link axes: mass and centre of mass.
    pub fn mass_and_center(&self, i: usize) -> (f64, Vector3<f64>) {
        let I = &self.node[i].I;
        let c = if I.mass > 0.0 { I.h.to_vector() / I.mass } else { Vector3::zeros() };
        (I.mass, self.to_canonical[i].transpose() * c)
    }

    /// Rotational inertia of a body about its centre of mass, user's link axes, kg·m².
    pub fn inertia_about_center(&self, i: usize) -> Matrix3<f64> {
        let I = &self.node[i].I;
        let A = &self.to_canonical[i];
        let c = if I.mass > 0.0 { I.h.to_vector() / I.mass } else { Vector3::zeros() };
        let point = RigidInertia::about_center(I.mass, c, Symmetric3::default()).I;
        A.transpose() * (I.I.to_matrix() - point.to_matrix()) * A
    }

    /// Rotation from the user's axes of link `i` to its canonical axes, in which the joint axis is z.
    pub fn canonical_axes(&self, i: usize) -> &Matrix3<f64> {
        &self.to_canonical[i]
    }
}

/// Collects links and joints in any order.
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    gravity: Vector3<f64>,
    links: Vec<(String, LinkInertia)>,
    joints: Vec<JointSpec>,
}

impl Default for ModelBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelBuilder {
    /// Nothing yet; gravity (0, 0, −9.81) m/s².
    pub fn new() -> Self {
        Self { gravity: Vector3::new(0.0, 0.0, -9.81), links: Vec::new(), joints: Vec::new() }
    }

    /// Sets gravity, world axes, m/s².
    pub fn gravity(&mut self, gravity: Vector3<f64>) -> &mut Self {
        self.gravity = gravity;
        self
    }

    /// Adds a link.
    pub fn link(&mut self, name: &str, inertia: LinkInertia) -> &mut Self {
        self.links.push((name.into(), inertia));
        self
    }

    /// Adds a joint.
    pub fn joint(&mut self, joint: JointSpec) -> &mut Self {
        self.joints.push(joint);
        self
    }

    /// Checks everything and lays out the arrays. O(n log n).
    pub fn build(&self) -> Result<Model, ModelError> {
        if !self.gravity.iter().all(|x| x.is_finite()) {
            return Err(ModelError::NonFinite { name: "model".into(), what: "gravity" });
        }
        let links = self.index_links()?;
        let (above, children) = self.index_joints(&links)?;
        let order = self.depth_first(children);
        if order.len() < self.joints.len() {
            return Err(self.find_cycle(&links, &above, &order));
        }
        if let Some((name, _)) = self.links.iter().zip(&above).find(|(_, joint)| joint.is_none()).map(|(l, _)| l) {
            return Err(ModelError::Unattached { link: name.clone() });
        }
        self.lay_out(&links, &order)
    }

    /// Link names to positions in `links`; inertias checked.
    fn index_links(&self) -> Result<HashMap<&str, usize>, ModelError> {
        let mut links = HashMap::with_capacity(self.links.len());
        for (k, (name, inertia)) in self.links.iter().enumerate() {
            if name == "world" || links.insert(name.as_str(), k).is_some() {
                return Err(ModelError::DuplicateName { name: name.clone(), what: "link" });
            }
            if let Some(reason) = inertia.defect() {
                return Err(ModelError::NonPhysicalInertia { link: name.clone(), reason });
            }
        }
        Ok(links)
    }

    /// The joint above each link, and the joints below each link (last entry: below the world); joints checked.
    #[expect(clippy::type_complexity, reason = "two small tables")]
    fn index_joints(&self, links: &HashMap<&str, usize>) -> Result<(Vec<Option<usize>>, Vec<Vec<usize>>), ModelError> {
        let mut above: Vec<Option<usize>> = vec![None; self.links.len()];
        let mut below = vec![Vec::new(); self.links.len() + 1];
        let mut names = HashMap::with_capacity(self.joints.len());
        for (k, joint) in self.joints.iter().enumerate() {
            if joint.name == "world" || names.insert(joint.name.as_str(), k).is_some() {
                return Err(ModelError::DuplicateName { name: joint.name.clone(), what: "joint" });
            }
            joint.check()?;
            let missing = |link: &str| ModelError::MissingLink { joint: joint.name.clone(), link: link.into() };
            let parent = match joint.parent.as_str() {
                "world" => self.links.len(),
                name => *links.get(name).ok_or_else(|| missing(name))?,
            };
            if joint.child == "world" {
                return Err(ModelError::WorldIsChild { joint: joint.name.clone() });
            }
            let child = *links.get(joint.child.as_str()).ok_or_else(|| missing(&joint.child))?;
            if let Some(first) = above[child].replace(k) {
                return Err(ModelError::TwoParents {
                    link: joint.child.clone(),
                    first: self.joints[first].name.clone(),
                    second: joint.name.clone(),
                });
            }
            below[parent].push(k);
        }
        Ok((above, below.into_iter().collect()))
    }

    /// Joints reachable from the world, parents first, siblings by name.
    fn depth_first(&self, mut below: Vec<Vec<usize>>) -> Vec<usize> {
        for joints in &mut below {
            joints.sort_by(|&a, &b| self.joints[b].name.cmp(&self.joints[a].name));
        }
        let child: HashMap<&str, usize> = self.links.iter().enumerate().map(|(k, (n, _))| (n.as_str(), k)).collect();
        let mut stack = std::mem::take(&mut below[self.links.len()]);
        let mut order = Vec::with_capacity(self.joints.len());
        while let Some(k) = stack.pop() {
            order.push(k);
            if let Some(&link) = child.get(self.joints[k].child.as_str()) {
                stack.append(&mut below[link]);
            }
        }
        order
    }

    /// Names the ring that keeps some joints from reaching the world.
    fn find_cycle(&self, links: &HashMap<&str, usize>, above: &[Option<usize>], order: &[usize]) -> ModelError {
        let mut reached = vec![false; self.joints.len()];
        order.iter().for_each(|&k| reached[k] = true);
        let mut k = reached.iter().position(|r| !r).unwrap_or(0);
        let mut seen = Vec::new();
        loop {
            if let Some(start) = seen.iter().position(|&s| s == k) {
                let joints = seen[start..].iter().map(|&s: &usize| self.joints[s].name.clone()).collect();
                return ModelError::Cycle { joints };
            }
            seen.push(k);
            let parent = &self.joints[k].parent;
            match links.get(parent.as_str()).map(|&l| above[l]) {
                Some(Some(up)) => k = up,
                // the joint hangs on a link that itself hangs on nothing
                _ => return ModelError::Unattached { link: parent.clone() },
            }
        }
    }

    fn lay_out(&self, links: &HashMap<&str, usize>, order: &[usize]) -> Result<Model, ModelError> {
        let n = order.len() + 1;
        let mut m = Model {
            parent: vec![0],
            q_index: vec![0],
            v_index: vec![0],
            joint_names: vec!["world".into()],
            link_names: vec!["world".into()],
            kinds: vec![JointKind::Fixed],
            gravity: self.gravity,
            n_q: 0,
            n_v: 0,
            node: vec![Node {
                X_T: Transform::IDENTITY,
                I: RigidInertia::ZERO,
                IA: RigidInertia::ZERO.articulated(),
                parent: 0,
                q: 0,
                v: 0,
                noise: 0.0,
                kernel: Kernel::Fixed,
                leaf: false,
                first_felt: false,
                run: 0,
            }],
            armature: Vec::new(),
            to_canonical: vec![Matrix3::identity()],
            body_of_v: Vec::new(),
        };
        let mut body = vec![0; self.links.len()];
        for i in 1..n {
            let joint = &self.joints[order[i - 1]];
            let link = links[joint.child.as_str()];
            body[link] = i;
            let p = links.get(joint.parent.as_str()).map_or(0, |&l| body[l]);
            let (kernel, A) = joint.canonical();

            // X_T = turn to canonical ∘ placement ∘ turn back from the parent's canonical axes
            let A_p = m.to_canonical[p];
            let R = joint.placement.rotation.to_rotation_matrix().into_inner();
            let X_T = Transform::new(A * R.transpose() * A_p.transpose(), A_p * joint.placement.translation.vector);

            // the body in canonical axes
            let inertia = &self.links[link].1;
            let I_c = Symmetric3::from_upper(&(A * inertia.inertia.to_matrix() * A.transpose()));
            let I = RigidInertia::about_center(inertia.mass, A * inertia.center_of_mass, I_c);

            m.parent.push(p);
            m.q_index.push(m.n_q);
            m.v_index.push(m.n_v);
            m.joint_names.push(joint.name.clone());
            m.link_names.push(joint.child.clone());
            m.kinds.push(joint.kind);
            let straight = p + 1 == i && m.node[p].kernel.n_v() == 1;
            let run = if straight { m.node[p].run } else { i };
            m.node.push(Node {
                X_T,
                I,
                IA: I.articulated(),
                parent: p,
                q: m.n_q,
                v: m.n_v,
                noise: if kernel == Kernel::Revolute { NOISE * I.I.to_matrix().trace() } else { 0.0 },
                kernel,
                leaf: true,
                first_felt: false,
                run,
            });
            m.to_canonical.push(A);
            m.n_q += kernel.n_q();
            m.n_v += kernel.n_v();
            m.armature.resize(m.n_v, joint.armature);
            m.body_of_v.resize(m.n_v, i);
        }
        let mut felt = vec![false; n];
        for i in (1..n).rev() {
            let p = m.parent[i];
            m.node[p].leaf = false;
            m.node[i].first_felt = !std::mem::replace(&mut felt[p], true);
        }
        Ok(m)
    }
}

impl JointSpec {
    fn check(&self) -> Result<(), ModelError> {
        let non_finite = |what| Err(ModelError::NonFinite { name: self.name.clone(), what });
        if !self.placement.translation.vector.iter().all(|x| x.is_finite()) {
            return non_finite("translation");
        }
        let rotation = self.placement.rotation.quaternion().norm();
        if !rotation.is_finite() {
            return non_finite("rotation");
        }
        if (rotation - 1.0).abs() > 1e-9 {
            return Err(ModelError::NotARotation { joint: self.name.clone() });
        }
        if !self.armature.is_finite() {
            return non_finite("armature");
        }
        let has_one_degree = matches!(self.kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. });
        if self.armature < 0.0 || (self.armature != 0.0 && !has_one_degree) {
            return Err(ModelError::Armature { joint: self.name.clone(), armature: self.armature });
        }
        if let JointKind::Revolute { axis } | JointKind::Prismatic { axis } = self.kind {
            if !axis.iter().all(|x| x.is_finite()) {
                return non_finite("axis");
            }
            if axis.amax() == 0.0 {
                return Err(ModelError::ZeroAxis { joint: self.name.clone() });
            }
        }
        Ok(())
    }

    /// Kernel, and the rotation that makes the axis z.
    fn canonical(&self) -> (Kernel, Matrix3<f64>) {
        match self.kind {
            JointKind::Fixed => (Kernel::Fixed, Matrix3::identity()),
            JointKind::Free => (Kernel::Free, Matrix3::identity()),
            JointKind::Revolute { axis } => (Kernel::Revolute, axis_to_z(axis)),
            JointKind::Prismatic { axis } => (Kernel::Prismatic, axis_to_z(axis)),
        }
    }
}

/// A rotation whose third row is the direction of `axis`. Coordinate axes give signed permutations.
fn axis_to_z(axis: Vector3<f64>) -> Matrix3<f64> {
    let z = (axis / axis.amax()).normalize();
    // the coordinate axis after the one nearest to z, made orthogonal to z
    let near = z.iamax();
    let mut x = Vector3::zeros();
    x[(near + 1) % 3] = z[near].signum();
    let x = (x - z * z.dot(&x)).normalize();
    let y = z.cross(&x);
    Matrix3::from_rows(&[x.transpose(), y.transpose(), z.transpose()])
}

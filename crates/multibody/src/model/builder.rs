//! From a description to flat arrays.
//!
//! The builder turns every link frame by a constant rotation so that the joint axis becomes z (for axes along ±x, ±y,
//! ±z by permuting coordinates, without a rounding error), and folds that rotation into the constant transforms `X_T`
//! and the inertias. Order: depth first, siblings by joint name. It depends on names and topology alone.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use super::{JointSpec, LinkInertia, Model, NOISE, Node};
use crate::error::ModelError;
use crate::joint::{JointKind, Kernel};
use crate::spatial::{RigidInertia, Symmetric3, Transform};
use nalgebra::{Matrix3, Vector3};
use std::collections::HashMap;

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
                first_visited: false,
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
                first_visited: false,
                run,
            });
            m.to_canonical.push(A);
            m.n_q += kernel.n_q();
            m.n_v += kernel.n_v();
            m.armature.resize(m.n_v, joint.armature);
            m.body_of_v.resize(m.n_v, i);
        }
        let mut visited = vec![false; n];
        for i in (1..n).rev() {
            let p = m.parent[i];
            m.node[p].leaf = false;
            m.node[i].first_visited = !std::mem::replace(&mut visited[p], true);
        }
        Ok(m)
    }
}

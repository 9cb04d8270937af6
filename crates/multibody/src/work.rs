//! Scratch, made for a model, owned by the caller; and the state that a snapshot holds.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::{Error, check_body, check_length};
use crate::joint::Kernel;
use crate::model::{Model, Node};
use crate::spatial::{ArticulatedInertia, Force, M3, Motion, RigidInertia, Transform, V3};
use nalgebra::{Cholesky, U6, Vector3};

/// The state of a mechanism, as a snapshot holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Time, s.
    pub t: f64,
    /// Positions; `n_q`.
    pub q: Vec<f64>,
    /// Velocities; `n_v`.
    pub v: Vec<f64>,
}

impl State {
    /// Every joint at position 0 and at rest.
    pub fn rest(model: &Model) -> Self {
        Self { t: 0.0, q: crate::chart::neutral(model), v: vec![0.0; model.n_v] }
    }
}

/// Wrenches that act on the links from outside. They stay until changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outside {
    /// Gravity, world axes, m/s². Starts as the model's.
    pub gravity: Vector3<f64>,
    /// Its rate of change, m/s³: for `jerk` under moving gravity.
    pub gravity_rate: Vector3<f64>,
    /// Wrench on each body, canonical axes, at the link's origin; `n_bodies`.
    pub(crate) wrench: Vec<Force>,
    /// Rate of change of the same; `n_bodies`.
    pub(crate) wrench_rate: Vec<Force>,
}

impl Outside {
    /// Lets `wrench` act on body `i`: moment about the link's origin and force, in the user's link axes.
    pub fn set_wrench(&mut self, model: &Model, i: usize, wrench: Force) -> Result<(), Error> {
        check_body(i, model.n_bodies().min(self.wrench.len()))?;
        let A = &model.to_canonical[i];
        self.wrench[i] = Force::new(A * wrench.moment(), A * wrench.force());
        Ok(())
    }

    /// Adds `wrench` to the one that acts on body `i`: moment about the link's origin and force, in the user's link
    /// axes.
    pub fn add_wrench(&mut self, model: &Model, i: usize, wrench: Force) -> Result<(), Error> {
        check_body(i, model.n_bodies().min(self.wrench.len()))?;
        let A = &model.to_canonical[i];
        self.wrench[i] += Force::new(A * wrench.moment(), A * wrench.force());
        Ok(())
    }

    /// Rate of change of the wrench on body `i`, in the user's link axes: for `jerk`.
    pub fn set_wrench_rate(&mut self, model: &Model, i: usize, rate: Force) -> Result<(), Error> {
        check_body(i, model.n_bodies().min(self.wrench_rate.len()))?;
        let A = &model.to_canonical[i];
        self.wrench_rate[i] = Force::new(A * rate.moment(), A * rate.force());
        Ok(())
    }

    /// Adds `rate` to the rate of change of the wrench on body `i`, in the user's link axes.
    pub fn add_wrench_rate(&mut self, model: &Model, i: usize, rate: Force) -> Result<(), Error> {
        check_body(i, model.n_bodies().min(self.wrench_rate.len()))?;
        let A = &model.to_canonical[i];
        self.wrench_rate[i] += Force::new(A * rate.moment(), A * rate.force());
        Ok(())
    }

    /// Takes all wrenches away.
    pub fn clear_wrenches(&mut self) {
        self.wrench.fill(Force::ZERO);
        self.wrench_rate.fill(Force::ZERO);
    }
}

/// One link in the middle of a sweep, canonical frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// Parent-to-child transform; filled by every function that takes `q`.
    pub X: Transform,
    /// Spatial velocity; filled by every function that takes `v`.
    pub vel: Motion,
    /// Spatial acceleration with gravity riding on the base, `a_0 = −g`. In `aba`: with q̈ = 0.
    pub acc: Motion,
    /// Force through the joint (`rnea`), articulated bias force (`aba`).
    pub f: Force,
}

impl Link {
    const REST: Self = Self { X: Transform::IDENTITY, vel: Motion::ZERO, acc: Motion::ZERO, f: Force::ZERO };
}

/// A link's frame in world axes, with the data read on the way to the base.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Canonical link axes to world axes.
    pub R: M3,
    /// From the parent's origin to the link's.
    pub r: V3,
    /// The component of a force along the joint: its axis against the moment (revolute) or the force (prismatic).
    pub axis: Motion,
    /// The link and, on the way from the tips to the base, the bodies beyond it.
    pub IC: RigidInertia,
    pub parent: usize,
    /// First velocity.
    pub v: usize,
    /// See [`Node::run`], and the parent of its first body.
    pub run: usize,
    pub before_run: usize,
    /// Reflected inertia of a joint of one degree.
    pub armature: f64,
    pub kernel: Kernel,
}

impl Frame {
    fn at_rest(model: &Model, node: &Node) -> Self {
        let Node { parent, v, kernel, run, .. } = *node;
        let armature = if kernel.n_v() == 1 { model.armature[v] } else { 0.0 };
        let (R, IC, before_run) = (M3::IDENTITY, RigidInertia::ZERO, model.parent[run]);
        Self { R, r: V3::ZERO, axis: Motion::ZERO, IC, parent, v, run, before_run, armature, kernel }
    }
}

/// Contribution of a joint to the articulated factorisation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pivot {
    /// `IA S`.
    pub U: Force,
    /// `1 / (Sᵀ IA S + armature)`; 0 for a joint that cannot move.
    pub D_inv: f64,
}

/// Scratch for every algorithm of this crate. Canonical frames throughout.
#[derive(Debug, Clone)]
pub struct Work {
    /// Wrenches from outside.
    pub outside: Outside,
    /// Transform, velocity, acceleration and force of each link; `n_bodies`.
    pub(crate) link: Vec<Link>,
    /// Rates of the forces through the joints (`rnea_rate`); `n_bodies`.
    pub(crate) f_rate: Vec<Force>,
    /// Articulated inertias (`aba`, `factor`); `n_bodies`.
    pub(crate) IA: Vec<ArticulatedInertia>,
    /// Traces of the rotational and linear blocks that the children propagate: see `resistance`.
    pub(crate) beyond: Vec<[f64; 2]>,
    /// Pivots (`aba`, `factor`); `n_bodies`.
    pub(crate) pivot: Vec<Pivot>,
    /// Factorised 6×6 pivot of each free joint (`aba`, `factor`); `n_bodies` where a model has free joints, else empty.
    pub(crate) free_pivot: Vec<Option<Cholesky<f64, U6>>>,
    /// `u = τ − Sᵀ pA` (`aba`, `solve`); `n_v`.
    pub(crate) u: Vec<f64>,
    /// Accelerations beyond `acc` (`aba`, `solve`), rates of `acc` (`rnea_rate`); `n_bodies`.
    pub(crate) delta: Vec<Motion>,
    /// Composite inertias, canonical axes (derivatives, momentum) or world axes (`crba`); `n_bodies`.
    pub(crate) IC: Vec<RigidInertia>,
    /// Axes and offsets of the links in world axes (`crba`); `n_bodies`.
    pub(crate) frame: Vec<Frame>,
    /// Results per velocity; `n_v` each.
    pub(crate) a: Vec<f64>,
    pub(crate) tau: Vec<f64>,
    /// The joints that `factor` locked; `n_bodies`.
    pub(crate) locked: Vec<bool>,
    /// Frames of the links in those of their trees (derivatives, `solve_columns`).
    pub(crate) frames: crate::tree_frame::TreeFrames,
    pub(crate) derivative: crate::derivatives::Scratch,
    pub(crate) columns: crate::columns::Scratch,
    pub(crate) rows: crate::rows::Scratch,
}

impl Work {
    /// Scratch for `model`. The only allocation there is.
    pub fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let has_free = model.node.iter().any(|node| node.kernel == Kernel::Free);
        Self {
            outside: Outside {
                gravity: model.gravity,
                gravity_rate: Vector3::zeros(),
                wrench: vec![Force::ZERO; n],
                wrench_rate: vec![Force::ZERO; n],
            },
            link: model.node.iter().map(|node| Link { X: node.X_T, ..Link::REST }).collect(),
            f_rate: vec![Force::ZERO; n],
            IA: vec![RigidInertia::ZERO.articulated(); n],
            beyond: vec![[0.0; 2]; n],
            pivot: vec![Pivot { U: Force::ZERO, D_inv: 0.0 }; n],
            free_pivot: if has_free { vec![None; n] } else { Vec::new() },
            u: vec![0.0; model.n_v],
            delta: vec![Motion::ZERO; n],
            IC: vec![RigidInertia::ZERO; n],
            frame: model.node.iter().map(|node| Frame::at_rest(model, node)).collect(),
            a: vec![0.0; model.n_v],
            tau: vec![0.0; model.n_v],
            locked: vec![false; n],
            frames: crate::tree_frame::TreeFrames::new(model),
            derivative: crate::derivatives::Scratch::new(model),
            columns: crate::columns::Scratch::new(model),
            rows: crate::rows::Scratch::new(model),
        }
    }
    /// `Ok` if this scratch and these slices fit the model.
    #[inline(always)]
    pub(crate) fn check<const N: usize>(
        &self,
        model: &Model,
        q: &[f64],
        per_velocity: [(&'static str, &[f64]); N],
    ) -> Result<(), Error> {
        check_length("work (made for another model?)", self.link.len(), model.n_bodies())?;
        check_length("q", q.len(), model.n_q)?;
        per_velocity.into_iter().try_for_each(|(what, x)| check_length(what, x.len(), model.n_v))
    }
}

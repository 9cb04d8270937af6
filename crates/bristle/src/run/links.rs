//! Links and joints of a run where it stands: poses, velocities, Jacobians and reactions, for simulations and batches.
//!
//! ```text
//! (ω, v) = J(q) q̇        angular velocity of a link and velocity of a point on it, world axes
//! w_B = (Rᵀ m, Rᵀ f)      a wrench given in world axes, in those of the link, R = R_WB(q)
//! ```

use super::Run;
use super::explain::unknown;
use super::query::check_finite;
use crate::error::{Error, Result};
use bristle_multibody::{Placement, Reaction, jacobian, point_velocity};
use nalgebra::{Matrix6xX, Vector3};

/// Velocity of a link, world axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkVelocity {
    /// Angular velocity, rad/s.
    pub angular: Vector3<f64>,
    /// Velocity of a point on the link, m/s: its origin unless another one is asked for.
    pub linear: Vector3<f64>,
}

impl Run {
    /// The number of a link by name; the world is none.
    pub(super) fn body(&self, link: &str) -> Result<usize> {
        let model = &self.compiled().model.tree;
        let body = model.body(link).filter(|&body| body > 0);
        body.ok_or_else(|| unknown("link", link, &model.link_names))
    }

    /// Jacobian of a point on link `i`, given in link axes; 6 × `n_v`, angular part first, world axes.
    pub(super) fn jacobian(&mut self, i: usize, point: [f64; 3]) -> Result<Matrix6xX<f64>> {
        let (t, state) = (self.driver.t(), &self.state.mechanics);
        let placed = self.system.dynamics.links_at(&state.q, &state.v).and_then(|(compiled, _, places)| {
            let mut found = Matrix6xX::zeros(compiled.model.tree.n_v);
            jacobian(&compiled.model.tree, places, i, &Vector3::from(point), &mut found)?;
            Ok(found)
        });
        let found = placed.map_err(|source| Error::Mechanics { t, source })?;
        check_finite(t, "the Jacobian", found.as_slice())?;
        Ok(found)
    }

    /// Velocity of link `i`, and of a point on it, given in link axes.
    pub(super) fn link_velocity(&mut self, i: usize, point: [f64; 3]) -> Result<LinkVelocity> {
        let (t, state) = (self.driver.t(), &self.state.mechanics);
        let moved = self.system.dynamics.links_at(&state.q, &state.v).and_then(|(compiled, work, places)| {
            point_velocity(&compiled.model.tree, work, places, i, &Vector3::from(point))
        });
        let moved = moved.map_err(|source| Error::Mechanics { t, source })?;
        let found = LinkVelocity { angular: moved.angular(), linear: moved.linear() };
        check_finite(t, "the velocity of a link", found.angular.as_slice())?;
        check_finite(t, "the velocity of a link", found.linear.as_slice())?;
        Ok(found)
    }

    /// Hands number, pose and velocity of every link to `take`, in order.
    pub(super) fn each_link(&mut self, mut take: impl FnMut(usize, Placement, LinkVelocity)) -> Result<()> {
        let (t, state) = (self.driver.t(), &self.state.mechanics);
        let taken = self.system.dynamics.links_at(&state.q, &state.v).and_then(|(compiled, work, places)| {
            let model = &compiled.model.tree;
            (1..model.n_bodies()).try_for_each(|i| {
                let moved = point_velocity(model, work, places, i, &Vector3::zeros())?;
                let velocity = LinkVelocity { angular: moved.angular(), linear: moved.linear() };
                take(i, places.link(model, i)?, velocity);
                Ok(())
            })
        });
        taken.map_err(|source| Error::Mechanics { t, source })
    }

    /// Reactions in the joints, fixed ones included, in order.
    pub(super) fn joint_reactions(&mut self) -> Result<&[Reaction]> {
        let t = self.driver.t();
        let (_, _, reactions) = self.system.dynamics.poses_and_reactions(t)?;
        Ok(&reactions[1..])
    }

    /// A wrench on link `i` in world axes, moment about its origin and force, in the axes that the link has now.
    pub(super) fn in_link_axes(&mut self, i: usize, moment: [f64; 3], force: [f64; 3]) -> Result<[[f64; 3]; 2]> {
        let (t, state) = (self.driver.t(), &self.state.mechanics);
        let placed = self.system.dynamics.links_at(&state.q, &state.v);
        let pose = placed.and_then(|(compiled, _, places)| places.link(&compiled.model.tree, i));
        let pose = pose.map_err(|source| Error::Mechanics { t, source })?;
        Ok([moment, force].map(|part| pose.rotation.inverse_transform_vector(&Vector3::from(part)).into()))
    }
}

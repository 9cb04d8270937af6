//! Links and joints of all copies: arrays by link or joint, gathered when asked for, or one copy's Jacobian.

use super::Batch;
use crate::error::Result;
use crate::run::links::LinkVelocity;
use bristle_multibody::{Placement, Reaction};
use nalgebra::Matrix6xX;

impl Batch {
    /// Link frames in the world, one per link as in [`Simulation::link_names`](crate::Simulation::link_names); × n.
    /// Gathered when asked for.
    pub fn poses(&mut self) -> Result<&[Placement]> {
        self.gather_links()?;
        Ok(&self.pose)
    }

    /// Velocities of the links, those of their origins, world axes, one per link as in
    /// [`Simulation::link_names`](crate::Simulation::link_names); × n. Gathered when asked for.
    pub fn link_velocities(&mut self) -> Result<&[LinkVelocity]> {
        self.gather_links()?;
        Ok(&self.link_velocity)
    }

    /// Forces and moments that the joints transmit, parent on child, at the joint origin, in child axes, one per joint
    /// as in [`Simulation::reaction_names`](crate::Simulation::reaction_names); × n. Gathered when asked for.
    pub fn reactions(&mut self) -> Result<&[Reaction]> {
        self.unload();
        let n = self.copies.len();
        for (i, copy) in self.copies.iter_mut().enumerate() {
            let reactions = copy.run.joint_reactions()?;
            self.reaction.resize(reactions.len() * n, Reaction::ZERO);
            reactions.iter().enumerate().for_each(|(k, reaction)| self.reaction[k * n + i] = *reaction);
        }
        Ok(&self.reaction)
    }

    /// Jacobian of a point on a link of one copy, the point given in link axes: world axes, angular part first;
    /// 6 × `n_v`. The same as [`Simulation::jacobian`](crate::Simulation::jacobian).
    pub fn jacobian(&mut self, copy: usize, link: &str, point: [f64; 3]) -> Result<Matrix6xX<f64>> {
        let run = &mut self.at_mut(copy)?.run;
        let body = run.body(link)?;
        run.jacobian(body, point)
    }

    fn gather_links(&mut self) -> Result<()> {
        self.unload();
        let n = self.copies.len();
        let n_links = self.copies.first().map_or(0, |copy| copy.run.compiled().model.tree.n_bodies() - 1);
        self.pose.resize(n * n_links, Placement::identity());
        self.link_velocity.resize(n * n_links, LinkVelocity::default());
        let (poses, velocities) = (&mut self.pose, &mut self.link_velocity);
        for (i, copy) in self.copies.iter_mut().enumerate() {
            copy.run.each_link(|body, pose, velocity| {
                let k = (body - 1) * n + i;
                (poses[k], velocities[k]) = (pose, velocity);
            })?;
        }
        Ok(())
    }
}

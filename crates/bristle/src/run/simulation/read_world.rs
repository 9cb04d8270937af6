//! The world of a simulation, to be read.
//!
//! A `hecs::World` lends components to be changed even where it is only borrowed, by a look at its own counters. Such
//! changes would escape the simulation. Through this view they do not compile:
//!
//! ```compile_fail
//! # use bristle::prelude::*;
//! # fn main() -> Result<(), Error> {
//! let mut sim = Simulation::new(&Scene::load("scenes/pendulum_lugre.ron")?)?;
//! let hinge = sim.joint("hinge")?;
//! sim.world().get::<&mut Effort>(hinge).unwrap().0 = 3.0; // `world_mut` is for that
//! # Ok(())
//! # }
//! ```

use hecs::{ComponentError, ComponentRefShared, Entity, Query, QueryBorrow, QueryShared, World};

/// A world that cannot be changed. [`Simulation::world_mut`](crate::Simulation::world_mut) is the one that can.
#[derive(Clone, Copy)]
pub struct ReadWorld<'w>(pub(super) &'w World);

impl<'w> ReadWorld<'w> {
    /// A component of an entity, as `get::<&Pose>(link)`.
    pub fn get<T: ComponentRefShared<'w>>(self, entity: Entity) -> Result<T::Ref, ComponentError> {
        self.0.get::<T>(entity)
    }

    /// All entities with certain components, as `query::<(&Name, &JointState)>()`.
    pub fn query<Q: Query + QueryShared>(self) -> QueryBorrow<'w, Q> {
        self.0.query::<Q>()
    }

    /// Whether an entity has certain components.
    pub fn satisfies<Q: Query>(self, entity: Entity) -> bool {
        self.0.satisfies::<Q>(entity)
    }

    /// Whether an entity exists.
    pub fn contains(self, entity: Entity) -> bool {
        self.0.contains(entity)
    }
}

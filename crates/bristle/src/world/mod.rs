//! The world in which a machine is described: components of entities, a builder for code, entities from a scene.

pub mod builder;
pub mod component;
mod drive;
#[cfg(feature = "scene")]
pub mod spawn;

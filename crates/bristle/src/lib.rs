//! Multibody dynamics in which joint friction is a first-class citizen.
//!
//! ```text
//! scenes/*.ron ─scene─▶ Scene ─spawn─▶ World ─compile─▶ Arc<Model> + Inputs    (the model is immutable)
//!                                        ▲                      │
//!                                    write back       dynamics, stick_slip
//!                                        │                      ▼
//!                     Recording ◀─record─ Simulation ◀─step─ integrate
//! ```
//!
//! ```
//! use bristle::prelude::*;
//!
//! fn main() -> Result<(), Error> {
//!     # std::env::set_current_dir("../..").unwrap();
//!     let scene = Scene::load("scenes/single_pendulum.ron")?;
//!     let mut sim = Simulation::new(&scene)?;
//!     let recording = sim.run_until(10.0)?;
//!     println!("final angle {:.6} rad", recording.last("hinge.position")?);
//!     # std::env::set_current_dir(std::env::temp_dir()).unwrap();
//!     recording.write_csv("pendulum.csv")
//! }
//! ```
//!
//! Describe a machine as a RON [`scene`], a [`urdf`] robot or in a [`hecs::World`] ([`component`], [`builder`]), run
//! it with [`Simulation`], read the [`Recording`].
//!
//! The [`guide`] describes friction in time, [`guide::formulations`] loads that are reactions and the three ways to
//! solve for them.
//!
//! Features, on by default: `parallel` runs the copies of a [`Batch`] on all cores (rayon); `scene` reads scene files,
//! with fits, sensitivities and one-shot mechanics of scenes (serde, ron); `urdf` reads robots (roxmltree, and
//! `scene`). Without them remain the builder, `Simulation` and `Batch`, settings and recordings; snapshots then do not
//! hold friction and drives, and are refused where these have changed.
//!
//! Effort is N·m or N, angles are radians, z is up. Spatial vectors have the angular part first.

#![warn(missing_docs)]
// Asserts are for our own mistakes; whatever comes from outside is an error.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

pub mod atomic_file;
mod constraint;
pub mod dynamics;
pub mod error;
#[cfg(feature = "scene")]
pub mod fit;
pub mod memory;
pub mod model;
pub mod modes;
mod parallel;
pub mod record;
#[cfg(test)]
mod rooms;
pub mod run;
#[cfg(feature = "scene")]
pub mod scene;
pub mod signal;
pub mod solver;
pub mod stick_slip;
pub mod stop;
#[cfg(feature = "urdf")]
pub mod urdf;
pub mod world;

pub use bristle_friction as friction;
pub use bristle_integrate as integrate;
pub use bristle_multibody as multibody;
pub use hecs;

pub use error::{Error, Result};
pub use model::compile::{self, compile};
pub use model::{Compiled, Inputs, Model};
pub use nalgebra;
pub use record::{Event, EventKind, Record, Recording, csv, stream};
pub use run::WriteBack;
pub use run::batch::{self, Batch};
#[cfg(feature = "scene")]
pub use run::mechanics;
#[cfg(feature = "scene")]
pub use run::sensitivities::{self, Sensitivities};
pub use run::simulation::{self, Settings, Simulation};
#[cfg(feature = "scene")]
pub use scene::Scene;
#[cfg(feature = "scene")]
pub use world::spawn::spawn;
pub use world::{builder, component};

#[doc = include_str!("../docs/friction.md")]
pub mod guide {
    #[doc = include_str!("../docs/formulations.md")]
    pub mod formulations {}
    #[doc = include_str!("../docs/drives.md")]
    pub mod drives {}
    #[doc = include_str!("../docs/fit.md")]
    pub mod fit {}
    #[doc = include_str!("../docs/stops.md")]
    pub mod stops {}
    // the first definition of a link counts: here what it is about, in the repository the file
    #[doc = "[guide]: crate::guide"]
    #[doc = "[step]: crate::Simulation::step"]
    #[doc = "[events]: crate::Simulation::events"]
    #[doc = "[names]: crate::Simulation::velocity_names"]
    #[doc = "[reset]: crate::Simulation::reset"]
    #[doc = "[snapshot]: crate::Simulation::snapshot"]
    #[doc = "[restore]: crate::Simulation::restore"]
    #[doc = "[set_friction]: crate::Simulation::set_friction"]
    #[doc = "[set_load]: crate::Simulation::set_load"]
    #[doc = "[linearize]: crate::Simulation::linearize"]
    #[doc = "[inverse_dynamics]: crate::Simulation::inverse_dynamics"]
    #[doc = "[independent]: crate::Simulation::independent"]
    #[doc = "[Batch]: crate::Batch"]
    #[doc = include_str!("../docs/robot.md")]
    pub mod robot {}
    // the first definition of a picture counts: here as data, in the repository as files
    #[doc = include_str!("../docs/papers/pictures.md")]
    #[doc = include_str!("../docs/papers.md")]
    pub mod papers {}
}

#[doc = "[guide]: crate::guide"]
#[doc = "[Coupling]: crate::world::component::Coupling"]
#[doc = "[Open]: crate::world::component::Open"]
#[doc = include_str!("../docs/couplings.md")]
pub mod couplings {}

#[doc = include_str!("../docs/loops.md")]
pub mod loops {}

#[doc = include_str!("../docs/real_time.md")]
pub mod real_time;

/// Imports for most programs.
pub mod prelude {
    pub use crate::batch::Batch;
    pub use crate::error::Error;
    pub use crate::record::Recording;
    #[cfg(feature = "scene")]
    pub use crate::scene::Scene;
    pub use crate::simulation::{Settings, Simulation};
    pub use crate::world::builder::{Describe, JointBuilder, fixed, free, loop_joint, prismatic, revolute, spherical};
    pub use crate::world::component::*;
    pub use bristle_multibody::{LinkInertia, Placement};
    pub use hecs::{Entity, World};
}

/// The samples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

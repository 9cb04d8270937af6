//! Spatial vectors and inertias (Featherstone 2008, chapter 2), angular part first.
//!
//! Motions and forces are different types and only the products that mean something exist. A transform is a rotation
//! and a translation, an inertia its blocks; no 6×6 product is ever formed. Each operation is written once, here.
//! Vectors and matrices of nalgebra go in and come out; in between, 3-vectors are padded to four lanes. The types are
//! generic over the [`Scalar`]: one machine, or a [`Pack`] of several.

mod articulated;
mod force;
mod lane;
mod motion;
mod pack;
mod register;
mod rigid;
mod scalar;
mod six;
mod symmetric;
mod transform;
mod unsymmetric;

pub use articulated::ArticulatedInertia;
pub use force::Force;
pub use motion::Motion;
pub use pack::{Pack, Pack4, Pack8, PackMask};
pub use rigid::RigidInertia;
pub use scalar::{Mask, Scalar};
pub use symmetric::Symmetric3;
pub use transform::Transform;

pub(crate) use lane::{M3, V3};
pub(crate) use unsymmetric::UnsymmetricInertia;

#![warn(missing_docs)]

pub mod linear;

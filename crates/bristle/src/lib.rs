#![warn(missing_docs)]

pub mod scene;

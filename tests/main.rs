//! Physics tests: correctness argued by independent routes.

mod allocation;
mod analytic;
mod scenes;
mod world;

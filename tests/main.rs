//! Physics tests: correctness argued by independent routes.

mod after_errors;
mod allocation;
mod analytic;
mod any_calls;
mod batch;
mod complementarity;
mod couplings;
mod embedding;
mod energy;
mod examples;
mod lent_inertia;
mod linearization;
mod lugre;
mod motion;
mod reaction_loads;
mod real_time;
mod real_time_couplings;
mod real_time_held;
mod real_time_limits;
mod recording;
mod redundant;
mod scene_checks;
mod scenes;
mod stick_slip;
mod symmetry;
mod world;

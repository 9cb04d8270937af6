//! Closed loops: references, stops, pins in machines of several degrees of freedom, formulations, constrained
//! equations, fixed steps, long runs.

mod constrained;
mod couplings;
mod embedding;
mod formulations;
mod free;
mod held;
mod long;
mod pins;
mod random;
mod real_time;
mod references;
mod spatial;
mod stops;

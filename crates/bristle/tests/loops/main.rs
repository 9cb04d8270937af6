//! Closed loops: stops, pins in machines of several degrees of freedom, formulations, long runs.

mod formulations;
mod long;
mod pins;
mod random;
mod stops;

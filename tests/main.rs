//! Physics tests.

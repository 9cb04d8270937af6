//! Placeholder until the crate has its signals.

use serde::{Deserialize, Serialize};

/// A number over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Signal {
    /// The same at all times.
    Constant(f64),
}

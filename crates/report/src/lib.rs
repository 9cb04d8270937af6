//! Results of a run as files: tables, pictures, and the interactive report.
//!
//! | module | files |
//! |---|---|
//! | [`results`] | tables: `.csv`, `.npz`, `.json` |
//! | [`plot`] | curves over time: `.svg`, `.png` |
//! | [`sweep`] | rows of a table of many runs |
//! | [`report`] | the machine in motion with its curves, ledger and statistics: `.html` |
//!
//! The command `bristle` and the Python module share this code.

// Asserts are for our own mistakes; whatever comes from outside is an error.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

pub mod plot;
pub mod report;
pub mod results;
pub mod sweep;

/// A setting as it stands in a scene.
pub fn written(setting: &impl serde::Serialize) -> String {
    let config = ron::ser::PrettyConfig::new().compact_structs(true).compact_arrays(true);
    ron::ser::to_string_pretty(setting, config).unwrap_or_else(|_| "?".into())
}

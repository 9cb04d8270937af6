//! Results over time: named channels, a table of them in memory, and rows as they come.
//!
//! - `channels`: names of the channels of a machine;
//! - `recording`: a table in memory;
//! - [`csv`]: tables as text; [`stream`]: the same row by row into a file;
//! - `samples`: the instants of the rows.

mod channels;
pub mod csv;
mod recording;
mod samples;
pub mod stream;

pub(crate) use channels::channels;
pub(crate) use recording::MAX_NUMBERS;
pub use recording::{Event, EventKind, Record, Recording};
pub(crate) use samples::Samples;

//! Charts: curves y over x as a picture.
//!
//! ```text
//! panels ─decimate─▶ points to draw ─chart─▶ Picture ─svg─▶ .svg
//! ```
//!
//! Curves over time with stick phases (`bristle plot`, `bristle run --plot`) and the figures of papers (`bristle
//! reproduce`) are drawn by the same code: panels are in a stack over one axis ([`chart::stack`]) or in a grid with
//! axes of their own ([`chart::grid`]). A picture is a list of shapes; the command paints the same shapes as pixels.

mod base64;
pub mod chart;
pub mod decimate;
pub mod format;
pub mod palette;
pub mod path;
pub mod picture;
pub mod spans;
pub mod style;
mod svg;
pub mod ticks;

pub use base64::base64;
pub use svg::{escape, svg};

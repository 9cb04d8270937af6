//! Steppers, step control and event location for ordinary and differential-algebraic equations.
//!
//! Everything that advances a state in time, knowing nothing of links or friction:
//!
//! - [`system`]: what is asked of the equations;
//! - [`stepper`]: what a method offers, and one file per method;
//! - [`control`]: how large the next step is;
//! - [`events`]: where on an interpolant a function changes sign;
//! - [`driver`]: the loop that puts them together;
//! - [`guide`]: which stepper to choose, with measured costs.
#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "formulas over several vectors are read by index")]

pub mod control;
pub mod driver;
pub mod error;
pub mod events;
pub mod guide {
    #![doc = include_str!("../docs/which_stepper.md")]
}
pub mod linear;
pub mod stats;
pub mod stepper;
pub mod system;

pub mod dopri5;
pub mod euler;
pub mod generalized_alpha;
mod method;
pub mod mixed_euler;
mod newton;
pub mod own;
pub mod radau3;
pub mod radau5;
pub mod rk4;
pub mod trapezoidal;

pub use control::Control;
pub use dopri5::Dopri5;
pub use driver::{Driver, Options, Outcome, Sink, Trace};
pub use error::Error;
pub use euler::Euler;
pub use generalized_alpha::GeneralizedAlpha;
pub use method::Method;
pub use mixed_euler::MixedEuler;
pub use own::Own;
pub use radau3::Radau3;
pub use radau5::Radau5;
pub use rk4::Rk4;
pub use stats::Stats;
pub use stepper::{Attempt, Failure, Stepper, Tolerance};
pub use system::{Direction, Fired, Form, Restart, Slip, Sparsity, System, Trouble};
pub use trapezoidal::Trapezoidal;

//! Steppers, step control and event location for ordinary and differential-algebraic equations.
//!
//! Methods that advance a state in time, for any system of equations:
//!
//! - [`system`]: the interface of the equations;
//! - [`stepper`]: the interface of a method, with one file per method;
//! - [`control`]: how large the next step is; [`step_rules`]: bounds that a system adds;
//! - [`events`]: where on an interpolant a function changes sign;
//! - [`driver`]: the loop that puts them together;
//! - [`archive`]: the memory of a run as bytes;
//! - [`guide`]: which stepper to choose, with measured costs.
//!
//! A system has a dimension and a right-hand side; everything else has a default. A ball dropped from 1 m, until it
//! hits the ground:
//!
//! ```
//! use bristle_integrate::{Control, Driver, Error, FiredEvent, Method, Options, Outcome, Restart, System, EvalError};
//!
//! struct Ball;
//!
//! impl System for Ball {
//!     fn dim(&self) -> usize {
//!         2
//!     }
//!     fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
//!         (dy[0], dy[1]) = (y[1], -9.81);
//!         Ok(())
//!     }
//!     fn n_events(&self) -> usize {
//!         1
//!     }
//!     fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
//!         g[0] = y[0];
//!         Ok(())
//!     }
//!     fn switch(
//!         &mut self,
//!         _t: f64,
//!         _y: &mut [f64],
//!         _quad: &mut [f64],
//!         _fired: &[FiredEvent],
//!     ) -> Result<Restart, EvalError> {
//!         Ok(Restart::terminate(2))
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let options = Options::new(Method::Dopri5, Control::error(1e-8, 1e-10));
//! let mut driver = Driver::new(&mut Ball, 0.0, &[1.0, 0.0], options)?;
//! assert_eq!(driver.advance(&mut Ball, 10.0, &mut ())?, Outcome::Terminated);
//! assert!((driver.t() - (2.0f64 / 9.81).sqrt()).abs() < 1e-12);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "formulas over several vectors are read by index")]
// Asserts are for our own mistakes; invalid input is an error.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

pub mod archive;
mod clock;
pub mod control;
mod coupled_stages;
pub mod driver;
pub mod error;
pub mod events;
mod hermite;
mod linear_interpolant;
pub mod guide {
    #![doc = include_str!("../docs/which_stepper.md")]
}
pub mod linear;
pub mod stats;
pub mod step_rules;
pub mod stepper;
pub mod system;

pub mod dopri5;
pub mod euler;
pub mod generalized_alpha;
pub mod linearly_implicit_euler;
mod method;
pub mod mixed_euler;
mod newton;
mod options;
mod output;
pub mod radau3;
pub mod radau5;
pub mod request;
pub mod rk4;
pub mod system_step;
pub mod trapezoidal;

pub use control::Control;
pub use dopri5::Dopri5;
pub use driver::{Driver, FixedSteps, Outcome};
pub use error::Error;
pub use euler::Euler;
pub use generalized_alpha::GeneralizedAlpha;
pub use linearly_implicit_euler::LinearlyImplicitEuler;
pub use method::Method;
pub use mixed_euler::MixedEuler;
pub use options::Options;
pub use output::{Interpolant, Sink, Trace};
pub use radau3::Radau3;
pub use radau5::Radau5;
pub use rk4::Rk4;
pub use stats::Stats;
pub use step_rules::StepRules;
pub use stepper::{Attempt, Failure, Step, Stepper, Tolerance};
pub use system::{Direction, EvalError, FiredEvent, Form, Restart, Sparsity, System};
pub use system_step::SystemStep;
pub use trapezoidal::Trapezoidal;

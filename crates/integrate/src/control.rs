//! To be written. What the driver calls:
//!
//! ```text
//!     Control (enum, as the user writes it: Constant, Error, DymoreCoulomb, …)
//!       tolerances(&self) -> Option<(rtol, atol)>              Some for Error
//!       rule_step(&self, slips: &[Slip]) -> Option<f64>        None for Error
//!     ErrorControl (the memory of Error)
//!       new(), reset()                                          reset after an event
//!       accepts(error) -> bool
//!       accepted(h, &Attempt, exponent k) -> next h             PI / Gustafsson, error ~ h^k
//!       rejected(h, &Attempt, exponent k) -> h to try
//! ```

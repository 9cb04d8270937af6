//! A machine and its driver started anew, at a state or after a push: both of them, or neither.

use super::explain;
use crate::error::Result;
use crate::formulation::{Machine, Snapshot};
use bristle_integrate::{Driver, System};

/// At a state. `y` is scratch, `max_dim`.
pub(crate) fn begin(system: &mut Machine, driver: &mut Driver, at: &Snapshot, y: &mut [f64]) -> Result<()> {
    system.keep();
    let begun = system.begin(at, y).and_then(|()| hand_over(system, driver, y));
    if begun.is_err() {
        system.put_back();
    }
    begun
}

/// Where it is, after something that acts has changed: what is stuck may have to let go.
pub(crate) fn reconsider(system: &mut Machine, driver: &mut Driver, y: &mut [f64]) -> Result<()> {
    let n = driver.y().len();
    y[..n].copy_from_slice(driver.y());
    if system.is_real_time() {
        // every step chooses anew
        return hand_over(system, driver, y);
    }
    system.keep();
    let reconsidered = system.reconsider(driver.t(), y).and_then(|()| hand_over(system, driver, y));
    if reconsidered.is_err() {
        system.put_back();
    }
    reconsidered
}

/// Unknowns to the driver.
fn hand_over(system: &mut Machine, driver: &mut Driver, y: &[f64]) -> Result<()> {
    let n = system.dim();
    driver.set_state(system, &y[..n]).map_err(|error| explain(error, system))
}

//! Machines in which the load of a reducer is not defined yet: those whose velocities may jump, and those whose efforts
//! follow from a prescribed motion or from loops.

use super::not_negative;
use crate::error::{Error, Result};
use crate::model::bearing::Bearing;
use crate::model::coupled::Coupled;
use crate::model::{Contact, DriveAt};
use crate::world::component::{Drive, Load};
use bristle_friction::Law;
use bristle_multibody::Model as Tree;

/// Refuses laws without modes and coefficients out of their range.
pub(super) fn check(law: &Law, load: &Load, name: impl Fn() -> String + Copy) -> Result<()> {
    let Some(coefficients) = load.coefficients() else { return Ok(()) };
    if law.event_driven().is_none() {
        let reason = "a transmitted load, which acts on `Coulomb`, `Stribeck` and `Table` alone".into();
        return Err(Error::Friction { joint: name(), law: law.name().to_owned(), reason });
    }
    coefficients.into_iter().try_for_each(|(what, x)| not_negative(x, what, name))
}

/// Refuses reducers beside prescribed motions, stops and loops.
pub(super) fn refuse(tree: &Tree, coupled: &Coupled, drives: &[DriveAt], contacts: &[Contact]) -> Result<()> {
    let is_reducer = |contact: &&Contact| contact.bearing.is_some_and(Bearing::is_transmitted);
    let Some(contact) = contacts.iter().find(is_reducer) else { return Ok(()) };
    let beside = if drives.iter().any(|at| matches!(at.drive, Drive::Motion(_))) {
        "a `Motion` drive: follow the motion with a `Servo` or `Pid`"
    } else if contacts.iter().any(|contact| contact.stops.is_some()) {
        "`limits`"
    } else if !coupled.closures.is_empty() {
        "a loop joint"
    } else {
        return Ok(());
    };
    let what = format!("a `Transmitted` load in a machine with {beside}");
    Err(Error::Unsupported { name: tree.joint_names[contact.joint].clone(), what })
}
